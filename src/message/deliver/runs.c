// SPDX-License-Identifier: MIT
// Pieces: runs of rows to which something happened, and who is to hear of it. A piece is told as a whole or not at all, so what
// was told is always known. Dealing makes one batch for all readers that get the same rows; a reader that gets other
// rows than the rest gets a batch of its own.
#include "message/deliver/baseline.h"

#define RUNS_RUNS_MIN 512u

// ---- memory ----------------------------------------------------------------------------------------------------

static void runs_free_runs(orr_world* world, orri_runs* piece, uint32_t* picks, uint32_t words)
{
    size_t sets = (size_t)piece->run_capacity * words;
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, orri_run, piece->runs, piece->run_capacity);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, uint64_t, piece->before, sets);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, uint64_t, piece->after, sets);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, uint64_t, piece->to, sets);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, uint32_t, picks, piece->run_capacity);
}

void orri_runs_term(orr_world* world, struct orri_baseline* told)
{
    orri_runs* piece = &told->piece;
    runs_free_runs(world, piece, told->picks, told->piece_words);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, uint64_t, told->set, 5 * told->piece_words);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, told->groups, told->group_capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, piece->items, piece->item_capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, piece->lones, piece->lone_capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, told->columns, told->column_capacity);
    *piece = (orri_runs){0};
    told->picks = NULL;
    told->groups = told->set = NULL;
    told->columns = NULL;
    told->group_capacity = told->column_capacity = told->piece_words = 0;
}

// What lists runs, so many of them; all or nothing. `out` gets what is there already.
static bool runs_make_runs(orr_world* world, const struct orri_baseline* told, uint32_t capacity,
                           orri_runs* out, uint32_t** out_picks)
{
    orri_env* env = &world->env;
    const orri_runs* old = &told->piece;
    size_t sets = (size_t)capacity * told->words, used = (size_t)old->run_count * told->words;
    orri_runs made = *old;
    made.run_capacity = capacity;
    made.runs = ORRI_ALLOC(env, ORR_MEMORY_MESSAGE, orri_run, capacity);
    made.before = ORRI_ALLOC(env, ORR_MEMORY_MESSAGE, uint64_t, sets);
    made.after = ORRI_ALLOC(env, ORR_MEMORY_MESSAGE, uint64_t, sets);
    made.to = ORRI_ALLOC(env, ORR_MEMORY_MESSAGE, uint64_t, sets);
    uint32_t* picks = ORRI_ALLOC(env, ORR_MEMORY_MESSAGE, uint32_t, capacity);
    if (made.runs == NULL || made.before == NULL || made.after == NULL || made.to == NULL ||
        picks == NULL) {
        runs_free_runs(world, &made, picks, told->words);
        return false;
    }
    if (old->run_count > 0) {
        memcpy(made.runs, old->runs, old->run_count * sizeof *made.runs);
        memcpy(made.before, old->before, used * sizeof *made.before);
        memcpy(made.after, old->after, used * sizeof *made.after);
    }
    *out = made;
    *out_picks = picks;
    return true;
}

bool orri_runs_grow(orr_world* world, struct orri_baseline* told)
{
    orri_runs made;
    uint32_t* picks;
    if (!runs_make_runs(world, told, 2 * told->piece.run_capacity, &made, &picks)) {
        (void)orri_refuse_memory(&world->env, "listing rows to tell readers of");
        return false;
    }
    runs_free_runs(world, &told->piece, told->picks, told->words);
    told->piece = made;
    told->picks = picks;
    return true;
}

bool orri_runs_prepare(orr_world* world, struct orri_baseline* told)
{
    if (told->piece.runs != NULL && told->piece_words == told->words) {
        return true;
    }
    orri_runs_term(world, told);
    told->piece_words = told->words;
    told->set = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_MESSAGE, uint64_t, 5 * told->words);
    if (told->set == NULL ||
        !runs_make_runs(world, told, RUNS_RUNS_MIN, &told->piece, &told->picks)) {
        orri_runs_term(world, told);
        return false;
    }
    return true;
}

void orri_runs_clear(struct orri_baseline* told)
{
    orri_runs* piece = &told->piece;
    piece->run_count = piece->item_count = piece->lone_count = 0;
}

// ---- runs --------------------------------------------------------------------------------------------------------

static bool runs_joins(const orri_run* last, const orri_run* run)
{
    return last->chunk == run->chunk && last->index + last->count == run->index &&
           (run->chunk == NULL || last->slot + last->count == run->slot) && !last->alone &&
           !run->alone && (run->index & ORRI_BASELINE_MASK) != 0 && last->shape1 == run->shape1 &&
           last->cause == run->cause && last->source.id == run->source.id &&
           last->source.generation == run->source.generation;
}

static void runs_copy_set(uint64_t* to, const uint64_t* from, uint32_t words)
{
    for (uint32_t w = 0; w < words; w++) {
        to[w] = from != NULL ? from[w] : 0;
    }
}

void orri_runs_push(struct orri_baseline* told, const orri_run* run, const uint64_t* before,
                    const uint64_t* after)
{
    orri_runs* piece = &told->piece;
    uint32_t words = told->words, last = piece->run_count - 1;
    if (piece->run_count > 0 && runs_joins(&piece->runs[last], run) &&
        (before == NULL || orri_set_equal(piece->before + (size_t)last * words, before, words)) &&
        orri_set_equal(piece->after + (size_t)last * words, after, words)) {
        piece->runs[last].count += run->count;
        return;
    }
    size_t at = (size_t)piece->run_count * words;
    runs_copy_set(piece->before + at, before, words);
    runs_copy_set(piece->after + at, after, words);
    piece->runs[piece->run_count++] = *run;
}

bool orri_runs_item(orr_world* world, orri_runs* piece, orr_component_id id, const void* value)
{
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &piece->items, &piece->item_capacity,
                      piece->item_count + 1)) {
        (void)orri_refuse_memory(&world->env, "listing components to tell readers of");
        return false;
    }
    piece->items[piece->item_count++] = (orri_item){id, value};
    return true;
}

// ---- dealing -------------------------------------------------------------------------------------------------------

static const uint64_t* runs_to(const struct orri_baseline* told, uint32_t run)
{
    return told->piece.to + (size_t)run * told->words;
}

// Who is gone has no place: told in order of index. Gaps of a shell sort, since most lists are sorted already.
static void runs_sort(const orri_runs* piece, uint32_t* picks, uint32_t count)
{
    for (uint32_t gap = count / 2; gap > 0; gap /= 2) {
        for (uint32_t i = gap; i < count; i++) {
            uint32_t pick = picks[i], k = i;
            for (; k >= gap && piece->runs[picks[k - gap]].index > piece->runs[pick].index;
                 k -= gap) {
                picks[k] = picks[k - gap];
            }
            picks[k] = pick;
        }
    }
}

static bool runs_make(orri_diff* tell, const orri_deal* deal, const orri_run* like,
                      uint32_t pick_count, const uint64_t* receivers)
{
    orri_runs* piece = &tell->told->piece;
    bool forced = deal->forced >= 0;
    uint32_t first = tell->told->picks[0];
    if (deal->kind == ORR_ENTITY_REMOVED) {
        runs_sort(piece, tell->told->picks, pick_count);
    }
    orr_cause cause = forced ? (orr_cause)deal->forced : (orr_cause)like->cause;
    cause = tell->travels && cause != ORR_CAUSE_READER ? ORR_CAUSE_TRAVEL : cause;
    orri_batch* made = orri_batch_build(
        tell, &(orri_batch_plan){.kind = deal->kind,
                                 .cause = cause,
                                 .system = deal->forced == ORR_CAUSE_READER ? (orr_system){0, 0}
                                                                            : like->source,
                                 .type = deal->type,
                                 .shape = deal->shape,
                                 .items = deal->items,
                                 .picks = tell->told->picks,
                                 .pick_count = pick_count,
                                 .receivers = receivers});
    if (made == NULL) {
        return false;
    }
    made->order = first;
    if (piece->last[deal->kind] != NULL) {
        piece->last[deal->kind]->next = made;
    } else {
        piece->first[deal->kind] = made;
    }
    piece->last[deal->kind] = made;
    return true;
}

static bool runs_same_key(const orri_deal* deal, const orri_run* a, const orri_run* b)
{
    return deal->forced == ORR_CAUSE_READER ||
           ((deal->forced >= 0 || a->cause == b->cause) && a->source.id == b->source.id &&
            a->source.generation == b->source.generation);
}

// The runs with the key of the first that is left; they leave the piece. `*same`: all go to the same readers.
static uint32_t runs_take_class(struct orri_baseline* told, const orri_deal* deal, uint32_t first,
                                bool* same)
{
    const orri_runs* piece = &told->piece;
    uint32_t count = 0;
    *same = true;
    for (uint32_t i = first; i < piece->run_count; i++) {
        if (orri_set_any(runs_to(told, i), told->words) &&
            runs_same_key(deal, &piece->runs[first], &piece->runs[i])) {
            told->picks[count++] = i;
            *same = *same && orri_set_equal(runs_to(told, first), runs_to(told, i), told->words);
        }
    }
    return count;
}

// For each reader, a bit for each of its runs; for the whole class at the end.
static bool runs_turn(orri_diff* tell, uint32_t count, uint64_t* all)
{
    struct orri_baseline* told = tell->told;
    told->group_words = (told->piece.run_count + 63) / 64;
    uint32_t words = told->on_count * told->group_words;
    if (!ORRI_RESERVE(&tell->world->env, ORR_MEMORY_MESSAGE, &told->groups, &told->group_capacity,
                      words)) {
        (void)orri_refuse_memory(&tell->world->env, "telling readers different things");
        return false;
    }
    memset(told->groups, 0, words * sizeof *told->groups);
    runs_copy_set(all, NULL, told->words);
    for (uint32_t p = 0; p < count; p++) {
        const uint64_t* to = runs_to(told, told->picks[p]);
        for (uint32_t w = 0; w < told->words; w++) {
            all[w] |= to[w];
            for (uint64_t left = to[w]; left != 0; left &= left - 1) {
                uint32_t reader = w * 64 + (uint32_t)__builtin_ctzll(left);
                orri_bit_set(told->groups + (size_t)reader * told->group_words, told->picks[p],
                             true);
            }
        }
    }
    return true;
}

// Readers of `left` that get the same runs as the first of them; they leave it.
static uint32_t runs_take_group(struct orri_baseline* told, uint64_t* left, uint64_t* group)
{
    uint32_t first = UINT32_MAX;
    for (uint32_t r = 0; r < told->on_count; r++) {
        group[r / 64] = r % 64 == 0 ? 0 : group[r / 64];
        if (!orri_bit_get(left, r)) {
            continue;
        }
        first = first == UINT32_MAX ? r : first;
        if (memcmp(told->groups + (size_t)r * told->group_words,
                   told->groups + (size_t)first * told->group_words,
                   told->group_words * sizeof *told->groups) == 0) {
            orri_bit_set(group, r, true);
            orri_bit_set(left, r, false);
        }
    }
    return first;
}

static bool runs_deal_mixed(orri_diff* tell, const orri_deal* deal, uint32_t count)
{
    struct orri_baseline* told = tell->told;
    const orri_run* like = &told->piece.runs[told->picks[0]];
    uint64_t *left = told->set, *group = told->set + told->words;
    if (!runs_turn(tell, count, left)) {
        return false;
    }
    for (;;) {
        uint32_t reader = runs_take_group(told, left, group);
        if (reader == UINT32_MAX) {
            return true;
        }
        uint32_t picked = 0;
        for (uint32_t i = 0; i < told->piece.run_count; i++) {
            if (orri_bit_get(told->groups + (size_t)reader * told->group_words, i)) {
                told->picks[picked++] = i;
            }
        }
        if (!runs_make(tell, deal, like, picked, group)) {
            return false;
        }
    }
}

static orri_batch* runs_merge(orri_batch* a, orri_batch* b)
{
    orri_batch* first = NULL;
    orri_batch** link = &first;
    while (a != NULL && b != NULL) {
        orri_batch** from = b->order < a->order ? &b : &a;
        orri_batch* taken = *from;
        *from = taken->next;
        *link = taken;
        link = &taken->next;
    }
    *link = a != NULL ? a : b;
    return first;
}

// By their first runs, so that a reader's messages do not stand in the order in which others get theirs.
static orri_batch* runs_order(orri_batch* list)
{
    if (list == NULL || list->next == NULL) {
        return list;
    }
    orri_batch *middle = list, *end = list->next;
    while (end != NULL && end->next != NULL) {
        middle = middle->next;
        end = end->next->next;
    }
    orri_batch* rest = middle->next;
    middle->next = NULL;
    return runs_merge(runs_order(list), runs_order(rest));
}

// Batches of one kind that were made since `before` was the last.
static void runs_order_since(orri_runs* piece, orr_message_kind kind, orri_batch* before)
{
    orri_batch** link = before != NULL ? &before->next : &piece->first[kind];
    *link = runs_order(*link);
    for (orri_batch* made = *link; made != NULL; made = made->next) {
        piece->last[kind] = made;
    }
}

// One cause and source: the runs like the first; they go to nobody else from now on.
static bool runs_deal_class(orri_diff* tell, const orri_deal* deal, uint32_t first)
{
    struct orri_baseline* told = tell->told;
    bool same;
    uint32_t count = runs_take_class(told, deal, first, &same);
    bool made = same ? runs_make(tell, deal, &told->piece.runs[first], count, runs_to(told, first))
                     : runs_deal_mixed(tell, deal, count);
    for (uint32_t i = first; made && i < told->piece.run_count; i++) {
        if (i == first || runs_same_key(deal, &told->piece.runs[first], &told->piece.runs[i])) {
            runs_copy_set(told->piece.to + (size_t)i * told->words, NULL, told->words);
        }
    }
    return made;
}

// Readers that are part of the state hear nothing.
static void runs_mask(struct orri_baseline* told)
{
    for (uint32_t i = 0; i < told->piece.run_count * told->words; i++) {
        told->piece.to[i] &= told->outsiders[i % told->words];
    }
}

bool orri_runs_deal(orri_diff* tell, const orri_deal* deal)
{
    struct orri_baseline* told = tell->told;
    orri_batch* before = told->piece.last[deal->kind];
    uint32_t classes = 0;
    if (ORR_UNLIKELY(tell->travels)) {
        runs_mask(told);
    }
    for (uint32_t first = 0; first < told->piece.run_count; first++) {
        if (orri_set_any(runs_to(told, first), told->words)) {
            classes++;
            if (!runs_deal_class(tell, deal, first)) {
                return false;
            }
        }
    }
    if (classes > 1) {
        runs_order_since(&told->piece, deal->kind, before);
    }
    return true;
}

// ---- what became of it ---------------------------------------------------------------------------------------------

void orri_runs_keep(orri_diff* tell)
{
    orri_runs* piece = &tell->told->piece;
    for (uint32_t k = 0; k < ORRI_KINDS; k++) {
        if (piece->first[k] != NULL) {
            struct orri_baseline* told = tell->told;
            if (told->out_last[k] != NULL) {
                told->out_last[k]->next = piece->first[k];
            } else {
                told->out_first[k] = piece->first[k];
            }
            told->out_last[k] = piece->last[k];
        }
        piece->first[k] = piece->last[k] = NULL;
    }
    orri_runs_clear(tell->told);
}

void orri_runs_abandon(orri_diff* tell)
{
    orri_runs* piece = &tell->told->piece;
    for (uint32_t k = 0; k < ORRI_KINDS; k++) {
        while (piece->first[k] != NULL) {
            orri_batch* made = piece->first[k];
            piece->first[k] = made->next;
            orri_batch_free(tell->world, made);
        }
        piece->last[k] = NULL;
    }
    orri_runs_clear(tell->told);
}

#undef RUNS_RUNS_MIN
