// SPDX-License-Identifier: MIT
// Telling, third step: rows. Looks at the chunks whose row ids or enable bits were written since the last tell, at rows whose
// pinned types changed, and, for a reader that is new, at everything. A row whose head is as it was told, in a cluster
// of which each reader selects all rows or none, is passed over with one compare.
//
// Of each row that differs: who had selected it (before) and who does (after). From these follow all messages; once their batches
// are made, head, members and values are noted.
#include "message/deliver/baseline.h"

typedef struct diff_rows_scan {
    orri_diff* tell;
    orri_cluster* cluster;
    orri_shape* shape;
    bool flat;                     // Every reader selects all rows or none.
    bool steady;                   // And was told so.
    bool switches;                 // Somebody is told of switches.
    const uint64_t *always, *some; // Readers that select all rows, and some.
    uint32_t multiple_old;         // For a shape before: instances are listed; 0: for none.
    bool multiple;
    uint64_t *before, *after;
} diff_rows_scan;

// ---- what is there -----------------------------------------------------------------------------------------------

static void diff_rows_match(diff_rows_scan* s, const orri_baseline_cluster* record)
{
    const struct orri_baseline* told = s->tell->told;
    uint64_t fresh = 0;
    s->always = orri_match_all(record);
    s->some = orri_match_some(record);
    s->flat = !orri_set_any(s->some, told->words);
    for (uint32_t w = 0; w < told->words; w++) {
        fresh |= s->always[w] & told->fresh[w];
    }
    // Who went back may have been told otherwise: of bits that are not there any more.
    s->steady = s->flat && fresh == 0 && !s->tell->travels;
}

// Of 64 rows, which each reader selects.
static void diff_rows_masks(const diff_rows_scan* s, const orri_chunk* chunk, uint32_t word,
                            uint64_t all)
{
    const struct orri_baseline* told = s->tell->told;
    for (uint32_t w = 0; w < told->words && !s->flat; w++) {
        for (uint64_t left = s->some[w]; left != 0; left &= left - 1) {
            orri_reader* reader = told->on[w * 64 + (uint32_t)__builtin_ctzll(left)];
            reader->mask = orri_query_mask(
                reader->query, orri_entry_leaves(reader->query, reader->map), chunk, word, all);
        }
    }
}

static void diff_rows_sets(const diff_rows_scan* s, uint32_t bit, uint32_t index, bool known)
{
    const struct orri_baseline* told = s->tell->told;
    for (uint32_t w = 0; w < told->words; w++) {
        s->before[w] = 0;
        s->after[w] = s->always[w];
        for (uint64_t left = s->flat ? 0 : s->some[w]; left != 0; left &= left - 1) {
            const orri_reader* reader = told->on[w * 64 + (uint32_t)__builtin_ctzll(left)];
            s->after[w] |= (reader->mask >> bit & 1) != 0 ? left & -left : 0;
        }
    }
    for (uint32_t r = 0; known && r < told->on_count; r++) {
        if (orri_bit_get(told->on[r]->members.words, index)) {
            orri_bit_set(s->before, r, true);
        }
    }
}

// True when the entity of a row got or lost a pinned type: one that the reader's query names, or (NULL) any.
static bool diff_rows_gained(const diff_rows_scan* s, const orri_chunk* chunk, uint32_t slot,
                             const orri_reader* reader)
{
    const orri_diff* tell = s->tell;
    bool gained = false;
    for (uint32_t p = 0; tell->gained != NULL && p < tell->pool_count && !gained; p++) {
        const uint64_t* rows = tell->gained[(size_t)p * tell->suspect_count + chunk->id];
        orr_type type = {tell->world->pinned.list[p]->type->id};
        gained = rows != NULL && orri_bit_get(rows, slot) &&
                 (reader == NULL || orri_reader_asks(reader, type));
    }
    return gained;
}

// Of readers that it enters or leaves without having moved: those of which the cause is a pinned type that it got or lost.
// @return how many of them; `*others`: for how many it was switched.
static uint32_t diff_rows_split(const diff_rows_scan* s, const orri_chunk* chunk, uint32_t slot,
                                uint64_t* gained, uint32_t* others)
{
    const struct orri_baseline* told = s->tell->told;
    uint32_t count = 0;
    *others = 0;
    memset(gained, 0, told->words * sizeof *gained);
    for (uint32_t r = 0; r < told->on_count; r++) {
        if (orri_bit_get(s->before, r) == orri_bit_get(s->after, r)) {
            continue;
        }
        if (diff_rows_gained(s, chunk, slot, told->on[r])) {
            orri_bit_set(gained, r, true);
            count++;
        } else {
            (*others)++;
        }
    }
    return count;
}

// ---- messages of a piece -------------------------------------------------------------------------------------------

static uint64_t* diff_rows_to(const diff_rows_scan* s, uint32_t run)
{
    return s->tell->told->piece.to + (size_t)run * s->tell->told->words;
}

static bool diff_rows_deal_added(const diff_rows_scan* s, bool fresh)
{
    const struct orri_baseline* told = s->tell->told;
    const orri_runs* piece = &told->piece;
    for (uint32_t i = 0; i < piece->run_count * told->words; i++) {
        uint64_t wanted = fresh ? told->fresh[i % told->words] : ~told->fresh[i % told->words];
        piece->to[i] = piece->after[i] & ~piece->before[i] & wanted;
    }
    return orri_runs_deal(s->tell, &(orri_deal){.kind = ORR_ENTITY_ADDED,
                                                .shape = s->shape,
                                                .forced = fresh ? ORR_CAUSE_READER : -1});
}

static bool diff_rows_deal_left(const diff_rows_scan* s)
{
    const struct orri_baseline* told = s->tell->told;
    const orri_runs* piece = &told->piece;
    for (uint32_t i = 0; i < piece->run_count * told->words; i++) {
        piece->to[i] = piece->before[i] & ~piece->after[i];
    }
    return orri_runs_deal(s->tell, &(orri_deal){.kind = ORR_ENTITY_REMOVED, .forced = -1});
}

// Readers of a set that stay with a run get its message.
static void diff_rows_to_stay(const diff_rows_scan* s, uint32_t run, const uint64_t* set)
{
    const struct orri_baseline* told = s->tell->told;
    const orri_runs* piece = &told->piece;
    uint64_t* to = diff_rows_to(s, run);
    for (uint32_t w = 0; w < told->words; w++) {
        size_t i = (size_t)run * told->words + w;
        to[w] = set != NULL ? piece->before[i] & piece->after[i] & set[w] : 0;
    }
}

static const orri_shape* diff_rows_old(const diff_rows_scan* s, const orri_run* run)
{
    return run->shape1 != 0 ? orri_shape_at(s->tell->told, run->shape1) : NULL;
}

static bool diff_rows_deal_tags(const diff_rows_scan* s)
{
    const struct orri_baseline* told = s->tell->told;
    bool any = false;
    for (uint32_t i = 0; i < told->piece.run_count; i++) {
        const orri_shape* old = diff_rows_old(s, &told->piece.runs[i]);
        bool differs = old != NULL && !orri_shape_same_tags(old, s->shape);
        diff_rows_to_stay(s, i, differs ? told->taggers : NULL);
        any = any || differs;
    }
    orr_type tags = orr_type_find(s->tell->world, orr_desc_orr_tags.name);
    return !any ||
           orri_runs_deal(s->tell, &(orri_deal){.kind = ORR_COMPONENT_CHANGED,
                                                .type = orri_type_at(&s->tell->world->schema, tags),
                                                .shape = s->shape,
                                                .forced = ORR_CAUSE_COMPONENT});
}

// The rows of runs that somebody gets become items: of a multiple type all instances, from the world or as told.
static bool diff_rows_list_instances(const diff_rows_scan* s, const orri_baseline_type* type,
                                     int32_t column)
{
    orri_runs* piece = &s->tell->told->piece;
    piece->item_count = 0;
    for (uint32_t i = 0; i < piece->run_count; i++) {
        orri_run* run = &piece->runs[i];
        run->item = piece->item_count;
        if (!orri_set_any(diff_rows_to(s, i), s->tell->told->words)) {
            continue;
        }
        const orri_baseline_cell* cell = column < 0 ? orri_baseline_cell_at(type, run->index)
                                                    : NULL;
        orri_baseline_instances now = {0};
        if (column >= 0) {
            now = orri_baseline_instances_at(run->chunk, (uint32_t)column, run->slot);
        } else if (cell != NULL) {
            now = (orri_baseline_instances){.count = cell->count, .ids = cell->ids};
        }
        for (uint32_t k = 0; k < now.count; k++) {
            const void* value = column >= 0 ? now.values + (size_t)k * type->type->info.size : NULL;
            if (!orri_runs_item(s->tell->world, piece, now.ids[k], value)) {
                return false;
            }
        }
        run->item_count = piece->item_count - run->item;
    }
    return true;
}

// One type, of the cluster (column) or no longer (-1), in the runs whose shape before lacks or has it.
static bool diff_rows_deal_type(const diff_rows_scan* s, const orri_baseline_type* type,
                                int32_t column)
{
    const struct orri_baseline* told = s->tell->told;
    orr_type id = {type->type->id};
    bool any = false;
    for (uint32_t i = 0; i < told->piece.run_count; i++) {
        orri_run* run = &told->piece.runs[i];
        const orri_shape* old = diff_rows_old(s, run);
        bool differs = old != NULL && orri_shape_has(old, id) != (column >= 0);
        run->column = (uint32_t)column;
        diff_rows_to_stay(s, i, differs ? orri_baseline_trackers(told, type) : NULL);
        any = any || (differs && orri_set_any(diff_rows_to(s, i), told->words));
    }
    if (!any) {
        return true;
    }
    if (type->multiple && !diff_rows_list_instances(s, type, column)) {
        return false;
    }
    return orri_runs_deal(
        s->tell, &(orri_deal){.kind = column >= 0 ? ORR_COMPONENT_ADDED : ORR_COMPONENT_REMOVED,
                              .type = type->type,
                              .items = type->multiple,
                              .forced = ORR_CAUSE_COMPONENT});
}

static orri_baseline_type* diff_rows_tracked(const diff_rows_scan* s, orr_type type)
{
    return orri_baseline_tracked(s->tell->told, orri_type_index(s->tell->world, type));
}

// Types that the entities got. Most pieces have none: their shape was told, or nothing was.
static bool diff_rows_deal_got(const diff_rows_scan* s)
{
    for (uint32_t c = 0; c < s->shape->type_count; c++) {
        const orri_baseline_type* type = diff_rows_tracked(s, s->shape->types[c]);
        if (type != NULL && !diff_rows_deal_type(s, type, (int32_t)c)) {
            return false;
        }
    }
    return true;
}

// The first type past `after` that some of them lost; null: there is none.
static orr_type diff_rows_next_lost(const diff_rows_scan* s, orr_type after)
{
    const orri_runs* piece = &s->tell->told->piece;
    uint32_t last = 0;
    orr_type next = {0};
    for (uint32_t i = 0; i < piece->run_count; i++) {
        const orri_shape* old = diff_rows_old(s, &piece->runs[i]);
        if (old == NULL || old == s->shape || piece->runs[i].shape1 == last) {
            continue;
        }
        last = piece->runs[i].shape1;
        for (uint32_t t = 0; t < old->type_count; t++) {
            orr_type type = old->types[t];
            if (type.id > after.id && (next.id == 0 || type.id < next.id) &&
                diff_rows_tracked(s, type) != NULL && !orri_shape_has(s->shape, type)) {
                next = type;
            }
        }
    }
    return next;
}

// Types that they lost, in the order of types as those they got: not in the order in which rows show them, since not every
// reader has every row.
static bool diff_rows_deal_lost(const diff_rows_scan* s)
{
    orr_type type = diff_rows_next_lost(s, (orr_type){0});
    while (type.id != 0) {
        if (!diff_rows_deal_type(s, diff_rows_tracked(s, type), -1)) {
            return false;
        }
        type = diff_rows_next_lost(s, type);
    }
    return true;
}

// True when some row was told as something else and is still with somebody.
static bool diff_rows_reshaped(const diff_rows_scan* s)
{
    const struct orri_baseline* told = s->tell->told;
    for (uint32_t i = 0; i < told->piece.run_count; i++) {
        const orri_run* run = &told->piece.runs[i];
        if (run->shape1 != 0 && run->shape1 != s->shape->number1) {
            return true;
        }
    }
    return false;
}

static bool diff_rows_deal(const diff_rows_scan* s)
{
    return diff_rows_deal_added(s, false) &&
           (!s->tell->told->fresh_any || diff_rows_deal_added(s, true)) &&
           (!diff_rows_reshaped(s) || (diff_rows_deal_got(s) && diff_rows_deal_lost(s) &&
                                       (!s->tell->told->tag_any || diff_rows_deal_tags(s)))) &&
           (!s->switches || orri_diff_switches(s->tell, s->shape)) && diff_rows_deal_left(s);
}

// ---- noting ----------------------------------------------------------------------------------------------------------

bool orri_run_stale(const orri_diff* tell, const orri_run* run, const orri_baseline_type* type)
{
    const struct orri_baseline* told = tell->told;
    if (!orri_diff_skips(tell, type) || run->shape1 == 0 ||
        !orri_shape_has(orri_shape_at(told, run->shape1), (orr_type){type->type->id})) {
        return false;
    }
    const uint64_t* trackers = orri_baseline_trackers(told, type);
    bool known = false;
    for (uint32_t r = 0; r < told->on_count && !known; r++) {
        known = orri_bit_get(trackers, r) && orri_bitset_has(&told->on[r]->members, run->index);
    }
    return known;
}

// True when the value of a type is to be noted: somebody hears of it now, and nobody was told of it before.
static bool diff_rows_notes(const diff_rows_scan* s, uint32_t i, const orri_baseline_type* type)
{
    const struct orri_baseline* told = s->tell->told;
    if (ORR_UNLIKELY(orri_run_stale(s->tell, &told->piece.runs[i], type))) {
        return false;
    }
    const uint64_t* before = told->piece.before + (size_t)i * told->words;
    const uint64_t* after = told->piece.after + (size_t)i * told->words;
    const uint64_t* trackers = orri_baseline_trackers(told, type);
    const orri_shape* old = diff_rows_old(s, &told->piece.runs[i]);
    bool had = old != NULL && (type->pinned || orri_shape_has(old, (orr_type){type->type->id}));
    bool stays = orri_set_stays(before, after, trackers, told->words);
    return stays ? !had : orri_set_enters(before, after, trackers, told->words);
}

static bool diff_rows_reserve_type(const diff_rows_scan* s, orri_baseline_type* type,
                                   uint32_t column)
{
    const orri_runs* piece = &s->tell->told->piece;
    for (uint32_t i = 0; i < piece->run_count; i++) {
        const orri_run* run = &piece->runs[i];
        if (!diff_rows_notes(s, i, type)) {
            continue;
        }
        const uint16_t* counts =
            type->multiple ? orri_cells_at(run->chunk, column, run->slot).counts : NULL;
        for (uint32_t k = 0; counts != NULL && k < run->count; k++) {
            if (!orri_baseline_room_cell(s->tell->world, type, run->index + k, counts[k])) {
                return false;
            }
        }
        if (counts == NULL && !orri_baseline_room(s->tell->world, type, run->index)) {
            return false;
        }
    }
    return true;
}

static bool diff_rows_reserve_pinned(const diff_rows_scan* s, orri_baseline_type* type,
                                     const orri_pool* pool)
{
    const orri_runs* piece = &s->tell->told->piece;
    for (uint32_t i = 0; i < piece->run_count; i++) {
        const orri_run* run = &piece->runs[i];
        bool any = false;
        for (uint32_t k = 0; k < run->count && !any && diff_rows_notes(s, i, type); k++) {
            any = orri_pool_slot1(pool, run->index + k) != 0;
        }
        if (any && !orri_baseline_room(s->tell->world, type, run->index)) {
            return false;
        }
    }
    return true;
}

static bool diff_rows_reserve(const diff_rows_scan* s)
{
    orr_world* world = s->tell->world;
    for (uint32_t c = 0; c < s->shape->type_count; c++) {
        orri_baseline_type* type = diff_rows_tracked(s, s->shape->types[c]);
        if (type != NULL && !diff_rows_reserve_type(s, type, c)) {
            return false;
        }
    }
    for (uint32_t p = 0; p < world->pinned.count; p++) {
        const orri_pool* pool = world->pinned.list[p];
        orri_baseline_type* type = diff_rows_tracked(s, (orr_type){pool->type->id});
        if (type != NULL && pool->live > 0 && !diff_rows_reserve_pinned(s, type, pool)) {
            return false;
        }
    }
    return true;
}

static void diff_rows_keep_type(const orri_run* run, orri_baseline_type* type, uint32_t column)
{
    if (!type->multiple) {
        orri_baseline_put(type, run->index, orri_cells_at(run->chunk, column, run->slot).data,
                          run->count);
        return;
    }
    for (uint32_t k = 0; k < run->count; k++) {
        orri_baseline_instances now = orri_baseline_instances_at(run->chunk, column, run->slot + k);
        orri_baseline_put_cell(type, run->index + k, &now);
    }
}

static void diff_rows_keep_pinned(const diff_rows_scan* s, const orri_run* run,
                                  orri_baseline_type* type, const orri_pool* pool)
{
    for (uint32_t k = 0; k < run->count; k++) {
        const uint8_t* value = orri_pool_get(pool, run->index + k);
        if (value != NULL) {
            orri_baseline_put(type, run->index + k, value, 1);
        } else {
            orri_baseline_drop(s->tell->world, type, run->index + k);
        }
    }
}

// What the entities of a run no longer have is no longer told.
static void diff_rows_keep_lost(const diff_rows_scan* s, const orri_run* run)
{
    const orri_shape* old = diff_rows_old(s, run);
    for (uint32_t t = 0; old != NULL && old != s->shape && t < old->type_count; t++) {
        orri_baseline_type* type = diff_rows_tracked(s, old->types[t]);
        if (type != NULL && !orri_shape_has(s->shape, old->types[t])) {
            for (uint32_t k = 0; k < run->count; k++) {
                orri_baseline_drop(s->tell->world, type, run->index + k);
            }
        }
    }
}

static void diff_rows_keep_values(const diff_rows_scan* s, uint32_t i)
{
    const orri_run* run = &s->tell->told->piece.runs[i];
    const orr_world* world = s->tell->world;
    for (uint32_t c = 0; c < s->shape->type_count; c++) {
        orri_baseline_type* type = diff_rows_tracked(s, s->shape->types[c]);
        if (type != NULL && diff_rows_notes(s, i, type)) {
            diff_rows_keep_type(run, type, c);
        }
    }
    for (uint32_t p = 0; p < world->pinned.count; p++) {
        const orri_pool* pool = world->pinned.list[p];
        orri_baseline_type* type = diff_rows_tracked(s, (orr_type){pool->type->id});
        if (type != NULL && diff_rows_notes(s, i, type)) {
            diff_rows_keep_pinned(s, run, type, pool);
        }
    }
}

static void diff_rows_keep_heads(const diff_rows_scan* s, const orri_run* run)
{
    struct orri_baseline* told = s->tell->told;
    if (run->shape1 == s->shape->number1) {
        return;
    }
    orri_head* heads = orri_head_at(told, run->index);
    const orri_record* records = orri_record_at(s->tell->world, run->index);
    for (uint32_t k = 0; k < run->count; k++) {
        heads[k] = (orri_head){records[k].generation, s->shape->number1};
    }
    s->shape->refs += run->count;
    *orri_heads_known(told, run->index) += run->shape1 == 0 ? run->count : 0;
    if (run->shape1 != 0) {
        orri_shape_release(s->tell->world, told, orri_shape_at(told, run->shape1), run->count);
    }
}

static void diff_rows_keep_members(const diff_rows_scan* s, uint32_t i)
{
    struct orri_baseline* told = s->tell->told;
    const orri_run* run = &told->piece.runs[i];
    for (uint32_t w = 0; w < told->words; w++) {
        uint64_t before = told->piece.before[(size_t)i * told->words + w];
        uint64_t after = told->piece.after[(size_t)i * told->words + w];
        for (uint64_t left = before ^ after; left != 0; left &= left - 1) {
            uint32_t bit = (uint32_t)__builtin_ctzll(left);
            orri_reader* reader = told->on[w * 64 + bit];
            bool enters = (after >> bit & 1) != 0;
            orri_bits_fill(reader->members.words, run->index, run->count, enters);
        }
    }
}

static bool diff_rows_flush(const diff_rows_scan* s)
{
    orri_runs* piece = &s->tell->told->piece;
    if (piece->run_count == 0) {
        return true;
    }
    if (!diff_rows_reserve(s) || !diff_rows_deal(s)) {
        return false;
    }
    for (uint32_t i = 0; i < piece->run_count; i++) {
        const orri_run* run = &piece->runs[i];
        diff_rows_keep_lost(s, run);
        diff_rows_keep_values(s, i);
        if (s->switches) {
            orri_diff_switches_keep(s->tell, s->shape, run);
        }
        diff_rows_keep_members(s, i);
        diff_rows_keep_heads(s, run); // Last: it may end the shape before.
    }
    orri_runs_keep(s->tell);
    return true;
}

// ---- looking ------------------------------------------------------------------------------------------------------------

// True when a shape has a multiple type that somebody tracks: then runs are of one row, since instances are listed by row.
static bool diff_rows_multiple(const diff_rows_scan* s, const orri_shape* shape)
{
    bool found = false;
    for (uint32_t t = 0; t < shape->type_count && !found; t++) {
        const orri_baseline_type* type = diff_rows_tracked(s, shape->types[t]);
        found = type != NULL && type->multiple;
    }
    return found;
}

static bool diff_rows_alone(diff_rows_scan* s, uint32_t old)
{
    if (s->multiple_old != old) { // Mostly rows come from one shape after another.
        s->multiple_old = old;
        s->multiple = diff_rows_multiple(s, s->shape) ||
                      diff_rows_multiple(s, orri_shape_at(s->tell->told, old));
    }
    return s->multiple;
}

// A row that differs. If it is switched for some and gains a pinned type for others it is two runs, since causes differ.
static bool diff_rows_push(const diff_rows_scan* s, orri_run* run, bool moved)
{
    struct orri_baseline* told = s->tell->told;
    uint32_t words = told->words, others = 0;
    if (!orri_runs_room(s->tell)) {
        return false;
    }
    if (run->shape1 != 0 && !moved && diff_rows_gained(s, run->chunk, run->slot, NULL)) {
        uint64_t *gained = told->set, *part = told->set + words; // Both free until it is dealt.
        run->cause = diff_rows_split(s, run->chunk, run->slot, gained, &others) > 0
                         ? ORR_CAUSE_COMPONENT
                         : ORR_CAUSE_ENABLED;
        if (run->cause == ORR_CAUSE_COMPONENT && others > 0) {
            for (uint32_t w = 0; w < words; w++) {
                part[w] = s->after[w] & gained[w];
                s->after[w] &= ~gained[w];
                gained[w] &= s->before[w];
                s->before[w] &= ~gained[w];
            }
            orri_runs_push(told, run, gained, part);
            run->cause = ORR_CAUSE_ENABLED;
            run->shape1 = s->shape->number1; // The first has noted that by then.
        }
    }
    orri_runs_push(told, run, s->before, s->after);
    return true;
}

static orr_cause diff_rows_cause(bool known, bool moved)
{
    if (!known) {
        return ORR_CAUSE_CREATED;
    }
    return moved ? ORR_CAUSE_COMPONENT : ORR_CAUSE_ENABLED;
}

static bool diff_rows_row(diff_rows_scan* s, orri_chunk* chunk, uint32_t slot)
{
    const struct orri_baseline* told = s->tell->told;
    uint32_t index = orri_chunk_ids(chunk)[slot];
    const orri_record* record = orri_record_at(s->tell->world, index);
    const orri_head* head = orri_head_at(told, index);
    bool known = head->generation == record->generation;
    bool same = known && head->shape1 == s->shape->number1;
    orri_switching switched = s->switches ? orri_diff_switched(s->tell, chunk, slot, index)
                                          : ORRI_SWITCH_ON;
    if (same && s->steady && switched != ORRI_SWITCH_DIFFERS) {
        return true;
    }
    diff_rows_sets(s, slot & 63, index, known);
    if (same && switched != ORRI_SWITCH_DIFFERS &&
        orri_set_equal(s->before, s->after, told->words)) {
        return true;
    }
    bool moved = known && !same && !orri_shape_same(orri_shape_at(told, head->shape1), s->shape);
    return diff_rows_push(s,
                          &(orri_run){.chunk = chunk,
                                      .slot = slot,
                                      .index = index,
                                      .count = 1,
                                      .shape1 = known ? head->shape1 : 0,
                                      .cause = (uint8_t)diff_rows_cause(known, moved),
                                      .source = orri_diff_source(s->tell, index),
                                      .alone = switched != ORRI_SWITCH_ON ||
                                               (known && !same && diff_rows_alone(s, head->shape1)),
                                      .switched = switched != ORRI_SWITCH_ON},
                          moved);
}

// How many rows from here on, at most `most`, are of new entities with indexes that follow each other: what bulk creation
// leaves behind.
static uint32_t diff_rows_count_new(const diff_rows_scan* s, const orri_chunk* chunk, uint32_t slot,
                                    uint32_t most)
{
    const uint32_t* ids = orri_chunk_ids(chunk) + slot;
    const orri_head* heads = orri_head_at(s->tell->told, ids[0]);
    uint32_t room = ORRI_BASELINE_SIZE - (ids[0] & ORRI_BASELINE_MASK), n = 0;
    most = s->tell->by_commit ? 1 : most < room ? most : room;
    bool none = *orri_heads_known(s->tell->told, ids[0]) == 0;
    while (n < most && ids[n] == ids[0] + n && (none || heads[n].generation == 0)) {
        n++;
    }
    return n;
}

static bool diff_rows_push_new(diff_rows_scan* s, orri_chunk* chunk, uint32_t slot, uint32_t count)
{
    struct orri_baseline* told = s->tell->told;
    uint32_t index = orri_chunk_ids(chunk)[slot];
    memset(s->before, 0, told->words * sizeof *s->before);
    if (!orri_runs_room(s->tell)) {
        return false;
    }
    orri_runs_push(told,
                   &(orri_run){.chunk = chunk,
                               .slot = slot,
                               .index = index,
                               .count = count,
                               .cause = ORR_CAUSE_CREATED,
                               .source = orri_diff_source(s->tell, index)},
                   s->before, s->always);
    return true;
}

static bool diff_rows_word(diff_rows_scan* s, orri_chunk* chunk, uint32_t word, uint64_t wanted)
{
    uint32_t rows = orri_chunk_rows(chunk) - word * 64;
    diff_rows_masks(s, chunk, word, rows < 64 ? ((uint64_t)1 << rows) - 1 : UINT64_MAX);
    for (uint64_t left = wanted; left != 0;) {
        uint32_t bit = (uint32_t)__builtin_ctzll(left), slot = word * 64 + bit;
        uint64_t gap = ~(left >> bit);
        uint32_t most = gap != 0 ? (uint32_t)__builtin_ctzll(gap) : 64;
        uint32_t count = s->flat && !s->switches ? diff_rows_count_new(s, chunk, slot, most) : 0;
        if (!(count > 0 ? diff_rows_push_new(s, chunk, slot, count)
                        : diff_rows_row(s, chunk, slot))) {
            return false;
        }
        uint32_t next = bit + (count > 0 ? count : 1);
        left &= next < 64 ? UINT64_MAX << next : 0;
    }
    return true;
}

// Whether a row can be selected now that was not, or the other way round, without having moved: something was switched; or a
// row whose instances are all off got one that is on, which writes no bit.
static bool diff_rows_bits_written(const diff_rows_scan* s, const orri_chunk* chunk)
{
    const orri_cluster* cluster = s->cluster;
    uint64_t mark = s->tell->told->row_mark;
    bool written = false;
    for (uint32_t c = 0; cluster->has_bits && c <= cluster->type_count; c++) {
        uint32_t counts = c < cluster->type_count ? cluster->columns[c].counts : 0;
        written = written || chunk->columns[cluster->column_count + c].version > mark ||
                  (counts != 0 && chunk->columns[counts].version > mark);
    }
    return written;
}

static bool diff_rows_chunk(diff_rows_scan* s, orri_chunk* chunk, bool all)
{
    const orri_diff* tell = s->tell;
    uint32_t rows = orri_chunk_rows(chunk);
    const uint64_t* suspects = tell->suspects != NULL ? tell->suspects[chunk->id] : NULL;
    all = all || chunk->columns[s->cluster->type_count].version > tell->told->row_mark ||
          diff_rows_bits_written(s, chunk);
    for (uint32_t word = 0; word * 64 < rows && (all || suspects != NULL); word++) {
        uint32_t left = rows - word * 64;
        uint64_t wanted = left < 64 ? ((uint64_t)1 << left) - 1 : UINT64_MAX;
        wanted &= all ? UINT64_MAX : suspects[word];
        if (wanted != 0 && !diff_rows_word(s, chunk, word, wanted)) {
            return false;
        }
    }
    return true;
}

// True when a reader that must be told of everything selects rows of the cluster.
static bool diff_rows_for_fresh(const diff_rows_scan* s)
{
    const struct orri_baseline* told = s->tell->told;
    uint64_t any = 0;
    for (uint32_t w = 0; told->fresh_any && w < told->words; w++) {
        any |= told->fresh[w] & (s->always[w] | s->some[w]);
    }
    return any != 0;
}

static bool diff_rows_cluster(diff_rows_scan* s, orri_cluster* cluster)
{
    const struct orri_baseline* told = s->tell->told;
    if (cluster->row_count == 0 ||
        (cluster->columns[cluster->type_count].version <= told->row_mark && !cluster->has_bits &&
         !told->fresh_any && s->tell->suspects == NULL && !s->tell->travels)) {
        return true;
    }
    const orri_baseline_cluster* record = orri_baseline_match(s->tell, cluster);
    if (record == NULL) {
        return false;
    }
    s->cluster = cluster;
    s->shape = record->shape;
    s->multiple_old = 0;
    diff_rows_match(s, record);
    bool all = diff_rows_for_fresh(s) || record->rebit;
    for (uint32_t i = 0; i < cluster->chunk_count; i++) {
        if ((orri_section_ends(s->tell, orri_section(0, i)) && !diff_rows_flush(s)) ||
            !diff_rows_chunk(s, cluster->chunks[i], all)) {
            return false;
        }
    }
    return diff_rows_flush(s);
}

bool orri_diff_rows(orri_diff* tell)
{
    struct orri_baseline* told = tell->told;
    diff_rows_scan s = {.tell = tell,
                        .switches = told->switch_any,
                        .before = told->set + 2 * told->words,
                        .after = told->set + 3 * told->words};
    bool done = true;
    for (orri_cluster* c = tell->world->clusters.first; done && c != NULL; c = c->next) {
        done = diff_rows_cluster(&s, c);
    }
    return done;
}
