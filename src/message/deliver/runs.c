// SPDX-License-Identifier: MIT
// Run lists: runs of rows to which something happened, and their receivers. A run list is
// dispatched completely or not at all, so that the baseline is always exact. Dispatching makes one
// batch for all readers that receive the same rows; a reader that receives other rows gets a batch
// of its own.
#include "message/deliver/baseline.h"

#define RUNS_RUNS_MIN 512u

// ---- memory -------------------------------------------------------------------------------------

static void runs_free_runs(orr_world* world, orri_runs* run_list, uint32_t* picks, uint32_t words)
{
    size_t sets = (size_t)run_list->run_capacity * words;
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, orri_run, run_list->runs, run_list->run_capacity);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, uint64_t, run_list->before, sets);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, uint64_t, run_list->after, sets);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, uint64_t, run_list->to, sets);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, uint32_t, picks, run_list->run_capacity);
}

void orri_runs_term(orr_world* world, struct orri_baseline* baseline)
{
    orri_runs* run_list = &baseline->run_list;
    runs_free_runs(world, run_list, baseline->picks, baseline->run_list_words);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, uint64_t, baseline->set,
              5 * baseline->run_list_words);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, baseline->groups, baseline->group_capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, run_list->items, run_list->item_capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, run_list->sparse_rows,
                 run_list->sparse_row_capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, baseline->columns, baseline->column_capacity);
    *run_list = (orri_runs){0};
    baseline->picks = NULL;
    baseline->groups = baseline->set = NULL;
    baseline->columns = NULL;
    baseline->group_capacity = baseline->column_capacity = baseline->run_list_words = 0;
}

// Allocates the arrays for `capacity` runs, all or nothing, and copies the existing runs to `out`.
static bool runs_make_runs(orr_world* world, const struct orri_baseline* baseline,
                           uint32_t capacity, orri_runs* out, uint32_t** out_picks)
{
    orri_env* env = &world->env;
    const orri_runs* old = &baseline->run_list;
    size_t sets = (size_t)capacity * baseline->words,
           used = (size_t)old->run_count * baseline->words;
    orri_runs made = *old;
    made.run_capacity = capacity;
    made.runs = ORRI_ALLOC(env, ORR_MEMORY_MESSAGE, orri_run, capacity);
    made.before = ORRI_ALLOC(env, ORR_MEMORY_MESSAGE, uint64_t, sets);
    made.after = ORRI_ALLOC(env, ORR_MEMORY_MESSAGE, uint64_t, sets);
    made.to = ORRI_ALLOC(env, ORR_MEMORY_MESSAGE, uint64_t, sets);
    uint32_t* picks = ORRI_ALLOC(env, ORR_MEMORY_MESSAGE, uint32_t, capacity);
    if (made.runs == NULL || made.before == NULL || made.after == NULL || made.to == NULL ||
        picks == NULL) {
        runs_free_runs(world, &made, picks, baseline->words);
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

bool orri_runs_grow(orr_world* world, struct orri_baseline* baseline)
{
    orri_runs made;
    uint32_t* picks;
    if (!runs_make_runs(world, baseline, 2 * baseline->run_list.run_capacity, &made, &picks)) {
        (void)orri_refuse_memory(&world->env, "listing rows that changed");
        return false;
    }
    runs_free_runs(world, &baseline->run_list, baseline->picks, baseline->words);
    baseline->run_list = made;
    baseline->picks = picks;
    return true;
}

bool orri_runs_prepare(orr_world* world, struct orri_baseline* baseline)
{
    if (baseline->run_list.runs != NULL && baseline->run_list_words == baseline->words) {
        return true;
    }
    orri_runs_term(world, baseline);
    baseline->run_list_words = baseline->words;
    baseline->set = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_MESSAGE, uint64_t, 5 * baseline->words);
    if (baseline->set == NULL ||
        !runs_make_runs(world, baseline, RUNS_RUNS_MIN, &baseline->run_list, &baseline->picks)) {
        orri_runs_term(world, baseline);
        return false;
    }
    return true;
}

void orri_runs_clear(struct orri_baseline* baseline)
{
    orri_runs* run_list = &baseline->run_list;
    run_list->run_count = run_list->item_count = run_list->sparse_row_count = 0;
}

// ---- runs ---------------------------------------------------------------------------------------

// True when a run continues the last one.
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

void orri_runs_push(struct orri_baseline* baseline, const orri_run* run, const uint64_t* before,
                    const uint64_t* after)
{
    orri_runs* run_list = &baseline->run_list;
    uint32_t words = baseline->words, last = run_list->run_count - 1;
    if (run_list->run_count > 0 && runs_joins(&run_list->runs[last], run) &&
        (before == NULL ||
         orri_set_equal(run_list->before + (size_t)last * words, before, words)) &&
        orri_set_equal(run_list->after + (size_t)last * words, after, words)) {
        run_list->runs[last].count += run->count;
        return;
    }
    size_t at = (size_t)run_list->run_count * words;
    runs_copy_set(run_list->before + at, before, words);
    runs_copy_set(run_list->after + at, after, words);
    run_list->runs[run_list->run_count++] = *run;
}

bool orri_runs_item(orr_world* world, orri_runs* run_list, orr_component_id id, const void* value)
{
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &run_list->items, &run_list->item_capacity,
                      run_list->item_count + 1)) {
        (void)orri_refuse_memory(&world->env, "listing components that changed");
        return false;
    }
    run_list->items[run_list->item_count++] = (orri_item){id, value};
    return true;
}

// ---- dispatching --------------------------------------------------------------------------------

static const uint64_t* runs_receivers(const struct orri_baseline* baseline, uint32_t run)
{
    return baseline->run_list.to + (size_t)run * baseline->words;
}

// Destroyed entities have no place and are sent in the order of indexes. Shell sort, since most
// lists are sorted already.
static void runs_sort(const orri_runs* run_list, uint32_t* picks, uint32_t count)
{
    for (uint32_t gap = count / 2; gap > 0; gap /= 2) {
        for (uint32_t i = gap; i < count; i++) {
            uint32_t pick = picks[i], k = i;
            for (; k >= gap && run_list->runs[picks[k - gap]].index > run_list->runs[pick].index;
                 k -= gap) {
                picks[k] = picks[k - gap];
            }
            picks[k] = pick;
        }
    }
}

// Builds one batch of the picked runs. False when refused (reported).
static bool runs_make(orri_diff* diff, const orri_dispatch* dispatch, const orri_run* like,
                      uint32_t pick_count, const uint64_t* receivers)
{
    orri_runs* run_list = &diff->baseline->run_list;
    bool forced = dispatch->forced >= 0;
    uint32_t first = diff->baseline->picks[0];
    if (dispatch->kind == ORR_ENTITY_REMOVED) {
        runs_sort(run_list, diff->baseline->picks, pick_count);
    }
    orr_cause cause = forced ? (orr_cause)dispatch->forced : (orr_cause)like->cause;
    cause = diff->travels && cause != ORR_CAUSE_READER ? ORR_CAUSE_TRAVEL : cause;
    orri_batch* made = orri_batch_build(
        diff, &(orri_batch_desc){.kind = dispatch->kind,
                                 .cause = cause,
                                 .system = dispatch->forced == ORR_CAUSE_READER ? (orr_system){0, 0}
                                                                                : like->source,
                                 .type = dispatch->type,
                                 .shape = dispatch->shape,
                                 .items = dispatch->items,
                                 .picks = diff->baseline->picks,
                                 .pick_count = pick_count,
                                 .receivers = receivers});
    if (made == NULL) {
        return false;
    }
    made->order = first;
    if (run_list->last[dispatch->kind] != NULL) {
        run_list->last[dispatch->kind]->next = made;
    } else {
        run_list->first[dispatch->kind] = made;
    }
    run_list->last[dispatch->kind] = made;
    return true;
}

// True when two runs can be in one batch.
static bool runs_same_key(const orri_dispatch* dispatch, const orri_run* a, const orri_run* b)
{
    return dispatch->forced == ORR_CAUSE_READER ||
           ((dispatch->forced >= 0 || a->cause == b->cause) && a->source.id == b->source.id &&
            a->source.generation == b->source.generation);
}

// Collects the runs with the key of run `first`. `*same`: all have the same receivers.
static uint32_t runs_take_class(struct orri_baseline* baseline, const orri_dispatch* dispatch,
                                uint32_t first, bool* same)
{
    const orri_runs* run_list = &baseline->run_list;
    uint32_t count = 0;
    *same = true;
    for (uint32_t i = first; i < run_list->run_count; i++) {
        if (orri_set_any(runs_receivers(baseline, i), baseline->words) &&
            runs_same_key(dispatch, &run_list->runs[first], &run_list->runs[i])) {
            baseline->picks[count++] = i;
            *same = *same && orri_set_equal(runs_receivers(baseline, first),
                                            runs_receivers(baseline, i), baseline->words);
        }
    }
    return count;
}

// Transposes the receivers: for each reader a bit for each of its runs. `all`: every receiver of
// the class.
static bool runs_transpose(orri_diff* diff, uint32_t count, uint64_t* all)
{
    struct orri_baseline* baseline = diff->baseline;
    baseline->group_words = (baseline->run_list.run_count + 63) / 64;
    uint32_t words = baseline->on_count * baseline->group_words;
    if (!ORRI_RESERVE(&diff->world->env, ORR_MEMORY_MESSAGE, &baseline->groups,
                      &baseline->group_capacity, words)) {
        (void)orri_refuse_memory(&diff->world->env, "grouping readers that receive different rows");
        return false;
    }
    memset(baseline->groups, 0, words * sizeof *baseline->groups);
    runs_copy_set(all, NULL, baseline->words);
    for (uint32_t p = 0; p < count; p++) {
        const uint64_t* to = runs_receivers(baseline, baseline->picks[p]);
        for (uint32_t w = 0; w < baseline->words; w++) {
            all[w] |= to[w];
            for (uint64_t left = to[w]; left != 0; left &= left - 1) {
                uint32_t reader = w * 64 + (uint32_t)__builtin_ctzll(left);
                orri_bit_set(baseline->groups + (size_t)reader * baseline->group_words,
                             baseline->picks[p], true);
            }
        }
    }
    return true;
}

// Takes the readers of `left` that get the same runs as the first of them. Returns that first
// reader; UINT32_MAX: none is left.
static uint32_t runs_take_group(struct orri_baseline* baseline, uint64_t* left, uint64_t* group)
{
    uint32_t first = UINT32_MAX;
    for (uint32_t r = 0; r < baseline->on_count; r++) {
        group[r / 64] = r % 64 == 0 ? 0 : group[r / 64];
        if (!orri_bit_get(left, r)) {
            continue;
        }
        first = first == UINT32_MAX ? r : first;
        if (memcmp(baseline->groups + (size_t)r * baseline->group_words,
                   baseline->groups + (size_t)first * baseline->group_words,
                   baseline->group_words * sizeof *baseline->groups) == 0) {
            orri_bit_set(group, r, true);
            orri_bit_set(left, r, false);
        }
    }
    return first;
}

// A class whose runs have different receivers: one batch for each group of readers.
static bool runs_dispatch_mixed(orri_diff* diff, const orri_dispatch* dispatch, uint32_t count)
{
    struct orri_baseline* baseline = diff->baseline;
    const orri_run* like = &baseline->run_list.runs[baseline->picks[0]];
    uint64_t *left = baseline->set, *group = baseline->set + baseline->words;
    if (!runs_transpose(diff, count, left)) {
        return false;
    }
    for (;;) {
        uint32_t reader = runs_take_group(baseline, left, group);
        if (reader == UINT32_MAX) {
            return true;
        }
        uint32_t picked = 0;
        for (uint32_t i = 0; i < baseline->run_list.run_count; i++) {
            if (orri_bit_get(baseline->groups + (size_t)reader * baseline->group_words, i)) {
                baseline->picks[picked++] = i;
            }
        }
        if (!runs_make(diff, dispatch, like, picked, group)) {
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

// Sorts batches by their first runs, so that the order of a reader's messages does not depend on
// other readers.
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

// Sorts the batches of one kind that were made after `before`.
static void runs_order_since(orri_runs* run_list, orr_message_kind kind, orri_batch* before)
{
    orri_batch** link = before != NULL ? &before->next : &run_list->first[kind];
    *link = runs_order(*link);
    for (orri_batch* made = *link; made != NULL; made = made->next) {
        run_list->last[kind] = made;
    }
}

// One class: runs with the same cause and source as the first. Afterwards they have no receivers.
static bool runs_dispatch_class(orri_diff* diff, const orri_dispatch* dispatch, uint32_t first)
{
    struct orri_baseline* baseline = diff->baseline;
    bool same;
    uint32_t count = runs_take_class(baseline, dispatch, first, &same);
    bool made = same ? runs_make(diff, dispatch, &baseline->run_list.runs[first], count,
                                 runs_receivers(baseline, first))
                     : runs_dispatch_mixed(diff, dispatch, count);
    for (uint32_t i = first; made && i < baseline->run_list.run_count; i++) {
        if (i == first ||
            runs_same_key(dispatch, &baseline->run_list.runs[first], &baseline->run_list.runs[i])) {
            runs_copy_set(baseline->run_list.to + (size_t)i * baseline->words, NULL,
                          baseline->words);
        }
    }
    return made;
}

// After a travel: readers that are part of the state receive nothing.
static void runs_mask(struct orri_baseline* baseline)
{
    for (uint32_t i = 0; i < baseline->run_list.run_count * baseline->words; i++) {
        baseline->run_list.to[i] &= baseline->outside_readers[i % baseline->words];
    }
}

bool orri_runs_dispatch(orri_diff* diff, const orri_dispatch* dispatch)
{
    struct orri_baseline* baseline = diff->baseline;
    orri_batch* before = baseline->run_list.last[dispatch->kind];
    uint32_t classes = 0;
    if (ORR_UNLIKELY(diff->travels)) {
        runs_mask(baseline);
    }
    for (uint32_t first = 0; first < baseline->run_list.run_count; first++) {
        if (orri_set_any(runs_receivers(baseline, first), baseline->words)) {
            classes++;
            if (!runs_dispatch_class(diff, dispatch, first)) {
                return false;
            }
        }
    }
    if (classes > 1) {
        runs_order_since(&baseline->run_list, dispatch->kind, before);
    }
    return true;
}

// ---- end of a run list --------------------------------------------------------------------------

void orri_runs_keep(orri_diff* diff)
{
    orri_runs* run_list = &diff->baseline->run_list;
    for (uint32_t k = 0; k < ORRI_KINDS; k++) {
        if (run_list->first[k] != NULL) {
            struct orri_baseline* baseline = diff->baseline;
            if (baseline->out_last[k] != NULL) {
                baseline->out_last[k]->next = run_list->first[k];
            } else {
                baseline->out_first[k] = run_list->first[k];
            }
            baseline->out_last[k] = run_list->last[k];
            run_list->first[k] = run_list->last[k] = NULL;
        }
    }
    orri_runs_clear(diff->baseline);
}

void orri_runs_abandon(orri_diff* diff)
{
    orri_runs* run_list = &diff->baseline->run_list;
    for (uint32_t k = 0; k < ORRI_KINDS; k++) {
        while (run_list->first[k] != NULL) {
            orri_batch* made = run_list->first[k];
            run_list->first[k] = made->next;
            orri_batch_free(diff->world, made);
        }
        run_list->last[k] = NULL;
    }
    orri_runs_clear(diff->baseline);
}

#undef RUNS_RUNS_MIN
