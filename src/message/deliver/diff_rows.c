// SPDX-License-Identifier: MIT
// Step 3 of a diff: rows. Looks at chunks whose row ids or enable bits were written since the last
// diff, at rows whose pinned types changed, and, for a fresh reader, at everything. A row whose
// head equals the baseline, in a cluster of which each reader selects all rows or none, is skipped
// with one comparison.
//
// For each row that differs it finds the readers that knew it (before) and those that select it now
// (after). All messages follow from these two sets. Once their batches exist, head, members and
// values are stored in the baseline.
#include "message/deliver/baseline.h"

// The comparison of one cluster.
typedef struct diff_rows_scan {
    orri_diff* diff;
    orri_cluster* cluster;
    orri_shape* shape;
    bool all_or_none;              // Every reader selects all rows or none.
    bool settled;                  // all_or_none, and every reader that selects them knows them.
    bool enabled;                  // A reader tracks enable bits.
    const uint64_t *always, *some; // Readers that select all rows; some rows.
    uint32_t multiple_old;         // The old shape for which `multiple` was found; 0: none.
    bool multiple;
    uint64_t *before, *after;
} diff_rows_scan;

// ---- what the world has -------------------------------------------------------------------------

static void diff_rows_match(diff_rows_scan* s, const orri_baseline_cluster* record)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    uint64_t fresh = 0;
    s->always = orri_match_all(record);
    s->some = orri_match_some(record);
    s->all_or_none = !orri_set_any(s->some, baseline->words);
    for (uint32_t w = 0; w < baseline->words; w++) {
        fresh |= s->always[w] & baseline->fresh[w];
    }
    // After a travel readers may know rows by enable bits that do not exist any more.
    s->settled = s->all_or_none && fresh == 0 && !s->diff->travels;
}

// For 64 rows: which of them each reader selects.
static void diff_rows_masks(const diff_rows_scan* s, const orri_chunk* chunk, uint32_t word,
                            uint64_t all)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    for (uint32_t w = 0; w < baseline->words && !s->all_or_none; w++) {
        for (uint64_t left = s->some[w]; left != 0; left &= left - 1) {
            orri_reader* reader = baseline->on[w * 64 + (uint32_t)__builtin_ctzll(left)];
            reader->mask = orri_query_mask(
                reader->query, orri_entry_leaves(reader->query, reader->map), chunk, word, all);
        }
    }
}

// The readers that knew the row's entity and those that select it now.
static void diff_rows_sets(const diff_rows_scan* s, uint32_t bit, uint32_t index, bool known)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    for (uint32_t w = 0; w < baseline->words; w++) {
        s->before[w] = 0;
        s->after[w] = s->always[w];
        for (uint64_t left = s->all_or_none ? 0 : s->some[w]; left != 0; left &= left - 1) {
            const orri_reader* reader = baseline->on[w * 64 + (uint32_t)__builtin_ctzll(left)];
            s->after[w] |= (reader->mask >> bit & 1) != 0 ? left & -left : 0;
        }
    }
    for (uint32_t r = 0; known && r < baseline->on_count; r++) {
        if (orri_bit_get(baseline->on[r]->members.words, index)) {
            orri_bit_set(s->before, r, true);
        }
    }
}

// True when the entity of a row got or lost a pinned type: one that the reader's query names, or
// (NULL) any.
static bool diff_rows_gained(const diff_rows_scan* s, const orri_chunk* chunk, uint32_t slot,
                             const orri_reader* reader)
{
    const orri_diff* diff = s->diff;
    bool gained = false;
    for (uint32_t p = 0; diff->gained != NULL && p < diff->pool_count && !gained; p++) {
        const uint64_t* rows = diff->gained[(size_t)p * diff->suspect_count + chunk->id];
        orr_type type = {diff->world->pinned.list[p]->type->id};
        gained = rows != NULL && orri_bit_get(rows, slot) &&
                 (reader == NULL || orri_reader_names(reader, type));
    }
    return gained;
}

// The row enters or leaves readers without having changed its shape. Finds the readers for which
// the cause is a pinned type that it got or lost. Returns their number; `*others`: readers for
// which the cause is an enable bit.
static uint32_t diff_rows_split(const diff_rows_scan* s, const orri_chunk* chunk, uint32_t slot,
                                uint64_t* gained, uint32_t* others)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    uint32_t count = 0;
    *others = 0;
    memset(gained, 0, baseline->words * sizeof *gained);
    for (uint32_t r = 0; r < baseline->on_count; r++) {
        if (orri_bit_get(s->before, r) == orri_bit_get(s->after, r)) {
            continue;
        }
        if (diff_rows_gained(s, chunk, slot, baseline->on[r])) {
            orri_bit_set(gained, r, true);
            count++;
        } else {
            (*others)++;
        }
    }
    return count;
}

// ---- messages of a run list ---------------------------------------------------------------------

static uint64_t* diff_rows_to(const diff_rows_scan* s, uint32_t run)
{
    return s->diff->baseline->run_list.to + (size_t)run * s->diff->baseline->words;
}

// EntityAdded for readers that the rows enter; fresh readers get another cause.
static bool diff_rows_dispatch_added(const diff_rows_scan* s, bool fresh)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    const orri_runs* run_list = &baseline->run_list;
    for (uint32_t i = 0; i < run_list->run_count * baseline->words; i++) {
        uint64_t wanted = fresh ? baseline->fresh[i % baseline->words]
                                : ~baseline->fresh[i % baseline->words];
        run_list->to[i] = run_list->after[i] & ~run_list->before[i] & wanted;
    }
    return orri_runs_dispatch(s->diff, &(orri_dispatch){.kind = ORR_ENTITY_ADDED,
                                                        .shape = s->shape,
                                                        .forced = fresh ? ORR_CAUSE_READER : -1});
}

// EntityRemoved for readers that the rows leave.
static bool diff_rows_dispatch_left(const diff_rows_scan* s)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    const orri_runs* run_list = &baseline->run_list;
    for (uint32_t i = 0; i < run_list->run_count * baseline->words; i++) {
        run_list->to[i] = run_list->before[i] & ~run_list->after[i];
    }
    return orri_runs_dispatch(s->diff, &(orri_dispatch){.kind = ORR_ENTITY_REMOVED, .forced = -1});
}

// Receivers of a run: readers of `set` that knew it and still select it.
static void diff_rows_to_stay(const diff_rows_scan* s, uint32_t run, const uint64_t* set)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    const orri_runs* run_list = &baseline->run_list;
    uint64_t* to = diff_rows_to(s, run);
    for (uint32_t w = 0; w < baseline->words; w++) {
        size_t i = (size_t)run * baseline->words + w;
        to[w] = set != NULL ? run_list->before[i] & run_list->after[i] & set[w] : 0;
    }
}

static const orri_shape* diff_rows_old(const diff_rows_scan* s, const orri_run* run)
{
    return run->shape1 != 0 ? orri_shape_at(s->diff->baseline, run->shape1) : NULL;
}

static bool diff_rows_dispatch_tags(const diff_rows_scan* s)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    bool any = false;
    for (uint32_t i = 0; i < baseline->run_list.run_count; i++) {
        const orri_shape* old = diff_rows_old(s, &baseline->run_list.runs[i]);
        bool differs = old != NULL && !orri_shape_same_tags(old, s->shape);
        diff_rows_to_stay(s, i, differs ? baseline->tag_readers : NULL);
        any = any || differs;
    }
    orr_type tags = orr_type_find(s->diff->world, orr_desc_orr_tags.name);
    return !any ||
           orri_runs_dispatch(s->diff,
                              &(orri_dispatch){.kind = ORR_COMPONENT_CHANGED,
                                               .type = orri_type_at(&s->diff->world->schema, tags),
                                               .shape = s->shape,
                                               .forced = ORR_CAUSE_COMPONENT});
}

// Lists the instances of all runs with a receiver as items: from the world, or (column -1) from the
// baseline.
static bool diff_rows_list_instances(const diff_rows_scan* s, const orri_baseline_type* type,
                                     int32_t column)
{
    orri_runs* run_list = &s->diff->baseline->run_list;
    run_list->item_count = 0;
    for (uint32_t i = 0; i < run_list->run_count; i++) {
        orri_run* run = &run_list->runs[i];
        run->item = run_list->item_count;
        if (!orri_set_any(diff_rows_to(s, i), s->diff->baseline->words)) {
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
            if (!orri_runs_item(s->diff->world, run_list, now.ids[k], value)) {
                return false;
            }
        }
        run->item_count = run_list->item_count - run->item;
    }
    return true;
}

// One type that the cluster has (column) or has no longer (-1), for the runs whose old shape lacks
// or has it.
static bool diff_rows_dispatch_type(const diff_rows_scan* s, const orri_baseline_type* type,
                                    int32_t column)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    orr_type id = {type->type->id};
    bool any = false;
    for (uint32_t i = 0; i < baseline->run_list.run_count; i++) {
        orri_run* run = &baseline->run_list.runs[i];
        const orri_shape* old = diff_rows_old(s, run);
        bool differs = old != NULL && orri_shape_has(old, id) != (column >= 0);
        run->column = (uint32_t)column;
        diff_rows_to_stay(s, i, differs ? orri_baseline_trackers(baseline, type) : NULL);
        any = any || (differs && orri_set_any(diff_rows_to(s, i), baseline->words));
    }
    if (!any) {
        return true;
    }
    if (type->multiple && !diff_rows_list_instances(s, type, column)) {
        return false;
    }
    return orri_runs_dispatch(
        s->diff, &(orri_dispatch){.kind = column >= 0 ? ORR_COMPONENT_ADDED : ORR_COMPONENT_REMOVED,
                                  .type = type->type,
                                  .items = type->multiple,
                                  .forced = ORR_CAUSE_COMPONENT});
}

static orri_baseline_type* diff_rows_tracked(const diff_rows_scan* s, orr_type type)
{
    return orri_baseline_tracked(s->diff->baseline, orri_type_index(s->diff->world, type));
}

// Types that entities gained. Most run lists have none: the shape is unchanged, or the entities are
// new.
static bool diff_rows_dispatch_got(const diff_rows_scan* s)
{
    for (uint32_t c = 0; c < s->shape->type_count; c++) {
        const orri_baseline_type* type = diff_rows_tracked(s, s->shape->types[c]);
        if (type != NULL && !diff_rows_dispatch_type(s, type, (int32_t)c)) {
            return false;
        }
    }
    return true;
}

// The first type after `after` that an entity of the run list lost; null: none.
static orr_type diff_rows_next_lost(const diff_rows_scan* s, orr_type after)
{
    const orri_runs* run_list = &s->diff->baseline->run_list;
    uint32_t last = 0;
    orr_type next = {0};
    for (uint32_t i = 0; i < run_list->run_count; i++) {
        const orri_shape* old = diff_rows_old(s, &run_list->runs[i]);
        if (old == NULL || old == s->shape || run_list->runs[i].shape1 == last) {
            continue;
        }
        last = run_list->runs[i].shape1;
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

// Types that entities lost, in the order of types. Not in the order in which rows show them, since
// not every reader has every row, and its messages must not depend on other readers' rows.
static bool diff_rows_dispatch_lost(const diff_rows_scan* s)
{
    orr_type type = diff_rows_next_lost(s, (orr_type){0});
    while (type.id != 0) {
        if (!diff_rows_dispatch_type(s, diff_rows_tracked(s, type), -1)) {
            return false;
        }
        type = diff_rows_next_lost(s, type);
    }
    return true;
}

// True when some row had another shape in the baseline.
static bool diff_rows_reshaped(const diff_rows_scan* s)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    for (uint32_t i = 0; i < baseline->run_list.run_count; i++) {
        const orri_run* run = &baseline->run_list.runs[i];
        if (run->shape1 != 0 && run->shape1 != s->shape->number1) {
            return true;
        }
    }
    return false;
}

// All messages of a run list. False when refused (reported).
static bool diff_rows_dispatch(const diff_rows_scan* s)
{
    return diff_rows_dispatch_added(s, false) &&
           (!s->diff->baseline->fresh_any || diff_rows_dispatch_added(s, true)) &&
           (!diff_rows_reshaped(s) ||
            (diff_rows_dispatch_got(s) && diff_rows_dispatch_lost(s) &&
             (!s->diff->baseline->tag_any || diff_rows_dispatch_tags(s)))) &&
           (!s->enabled || orri_diff_enabled(s->diff, s->shape)) && diff_rows_dispatch_left(s);
}

// ---- storing in the baseline --------------------------------------------------------------------

bool orri_run_from_baseline(const orri_diff* diff, const orri_run* run,
                            const orri_baseline_type* type)
{
    const struct orri_baseline* baseline = diff->baseline;
    if (!orri_diff_skips(diff, type) || run->shape1 == 0 ||
        !orri_shape_has(orri_shape_at(baseline, run->shape1), (orr_type){type->type->id})) {
        return false;
    }
    const uint64_t* trackers = orri_baseline_trackers(baseline, type);
    bool known = false;
    for (uint32_t r = 0; r < baseline->on_count && !known; r++) {
        known = orri_bit_get(trackers, r) && orri_bitset_has(&baseline->on[r]->members, run->index);
    }
    return known;
}

// True when the value of a type is to be stored: a reader learns it now, and no reader knew it
// before.
static bool diff_rows_notes(const diff_rows_scan* s, uint32_t i, const orri_baseline_type* type)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    if (ORR_UNLIKELY(orri_run_from_baseline(s->diff, &baseline->run_list.runs[i], type))) {
        return false;
    }
    const uint64_t* before = baseline->run_list.before + (size_t)i * baseline->words;
    const uint64_t* after = baseline->run_list.after + (size_t)i * baseline->words;
    const uint64_t* trackers = orri_baseline_trackers(baseline, type);
    const orri_shape* old = diff_rows_old(s, &baseline->run_list.runs[i]);
    bool had = old != NULL && (type->pinned || orri_shape_has(old, (orr_type){type->type->id}));
    bool stays = orri_set_stays(before, after, trackers, baseline->words);
    return stays ? !had : orri_set_enters(before, after, trackers, baseline->words);
}

static bool diff_rows_reserve_type(const diff_rows_scan* s, orri_baseline_type* type,
                                   uint32_t column)
{
    const orri_runs* run_list = &s->diff->baseline->run_list;
    for (uint32_t i = 0; i < run_list->run_count; i++) {
        const orri_run* run = &run_list->runs[i];
        if (!diff_rows_notes(s, i, type)) {
            continue;
        }
        const uint16_t* counts =
            type->multiple ? orri_cells_at(run->chunk, column, run->slot).counts : NULL;
        for (uint32_t k = 0; counts != NULL && k < run->count; k++) {
            if (!orri_baseline_room_cell(s->diff->world, type, run->index + k, counts[k])) {
                return false;
            }
        }
        if (counts == NULL && !orri_baseline_room(s->diff->world, type, run->index)) {
            return false;
        }
    }
    return true;
}

static bool diff_rows_reserve_pinned(const diff_rows_scan* s, orri_baseline_type* type,
                                     const orri_pool* pool)
{
    const orri_runs* run_list = &s->diff->baseline->run_list;
    for (uint32_t i = 0; i < run_list->run_count; i++) {
        const orri_run* run = &run_list->runs[i];
        bool any = false;
        for (uint32_t k = 0; k < run->count && !any && diff_rows_notes(s, i, type); k++) {
            any = orri_pool_slot1(pool, run->index + k) != 0;
        }
        if (any && !orri_baseline_room(s->diff->world, type, run->index)) {
            return false;
        }
    }
    return true;
}

static bool diff_rows_reserve(const diff_rows_scan* s)
{
    orr_world* world = s->diff->world;
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
            orri_baseline_drop(s->diff->world, type, run->index + k);
        }
    }
}

// Removes the values of types that the entities of a run have no longer.
static void diff_rows_keep_lost(const diff_rows_scan* s, const orri_run* run)
{
    const orri_shape* old = diff_rows_old(s, run);
    for (uint32_t t = 0; old != NULL && old != s->shape && t < old->type_count; t++) {
        orri_baseline_type* type = diff_rows_tracked(s, old->types[t]);
        if (type != NULL && !orri_shape_has(s->shape, old->types[t])) {
            for (uint32_t k = 0; k < run->count; k++) {
                orri_baseline_drop(s->diff->world, type, run->index + k);
            }
        }
    }
}

static void diff_rows_keep_values(const diff_rows_scan* s, uint32_t i)
{
    const orri_run* run = &s->diff->baseline->run_list.runs[i];
    const orr_world* world = s->diff->world;
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

// Stores generation and shape.
static void diff_rows_keep_heads(const diff_rows_scan* s, const orri_run* run)
{
    struct orri_baseline* baseline = s->diff->baseline;
    if (run->shape1 == s->shape->number1) {
        return;
    }
    orri_head* heads = orri_head_at(baseline, run->index);
    const orri_record* records = orri_record_at(s->diff->world, run->index);
    for (uint32_t k = 0; k < run->count; k++) {
        heads[k] = (orri_head){records[k].generation, s->shape->number1};
    }
    s->shape->refs += run->count;
    *orri_heads_known(baseline, run->index) += run->shape1 == 0 ? run->count : 0;
    if (run->shape1 != 0) {
        orri_shape_release(s->diff->world, baseline, orri_shape_at(baseline, run->shape1),
                           run->count);
    }
}

// Stores which readers know the entities.
static void diff_rows_keep_members(const diff_rows_scan* s, uint32_t i)
{
    struct orri_baseline* baseline = s->diff->baseline;
    const orri_run* run = &baseline->run_list.runs[i];
    for (uint32_t w = 0; w < baseline->words; w++) {
        uint64_t before = baseline->run_list.before[(size_t)i * baseline->words + w];
        uint64_t after = baseline->run_list.after[(size_t)i * baseline->words + w];
        for (uint64_t left = before ^ after; left != 0; left &= left - 1) {
            uint32_t bit = (uint32_t)__builtin_ctzll(left);
            orri_reader* reader = baseline->on[w * 64 + bit];
            bool enters = (after >> bit & 1) != 0;
            orri_bits_fill(reader->members.words, run->index, run->count, enters);
        }
    }
}

// Dispatches the run list and updates the baseline. False when refused (reported).
static bool diff_rows_flush(const diff_rows_scan* s)
{
    orri_runs* run_list = &s->diff->baseline->run_list;
    if (run_list->run_count == 0) {
        return true;
    }
    if (!diff_rows_reserve(s) || !diff_rows_dispatch(s)) {
        return false;
    }
    for (uint32_t i = 0; i < run_list->run_count; i++) {
        const orri_run* run = &run_list->runs[i];
        diff_rows_keep_lost(s, run);
        diff_rows_keep_values(s, i);
        if (s->enabled) {
            orri_diff_enabled_keep(s->diff, s->shape, run);
        }
        diff_rows_keep_members(s, i);
        diff_rows_keep_heads(s, run); // Last: it may free the old shape.
    }
    orri_runs_keep(s->diff);
    return true;
}

// ---- finding differences ------------------------------------------------------------------------

// True when a shape has a tracked multiple type. Then runs have one row, since instances are listed
// by row.
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
    if (s->multiple_old != old) { // Cached: neighbouring rows usually come from the same shape.
        s->multiple_old = old;
        s->multiple = diff_rows_multiple(s, s->shape) ||
                      diff_rows_multiple(s, orri_shape_at(s->diff->baseline, old));
    }
    return s->multiple;
}

// Appends a row that differs. If it enters readers by an enable bit and others by a pinned type, it
// becomes two runs, since the causes differ.
static bool diff_rows_push(const diff_rows_scan* s, orri_run* run, bool moved)
{
    struct orri_baseline* baseline = s->diff->baseline;
    uint32_t words = baseline->words, others = 0;
    if (!orri_runs_room(s->diff)) {
        return false;
    }
    if (run->shape1 != 0 && !moved && diff_rows_gained(s, run->chunk, run->slot, NULL)) {
        uint64_t *gained = baseline->set,
                 *part = baseline->set + words; // Both are free until the list is dispatched.
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
            orri_runs_push(baseline, run, gained, part);
            run->cause = ORR_CAUSE_ENABLED;
            run->shape1 = s->shape->number1; // The first run has stored it by then.
        }
    }
    orri_runs_push(baseline, run, s->before, s->after);
    return true;
}

static orr_cause diff_rows_cause(bool known, bool moved)
{
    if (!known) {
        return ORR_CAUSE_CREATED;
    }
    return moved ? ORR_CAUSE_COMPONENT : ORR_CAUSE_ENABLED;
}

// Compares one row with the baseline.
static bool diff_rows_row(diff_rows_scan* s, orri_chunk* chunk, uint32_t slot)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    uint32_t index = orri_chunk_ids(chunk)[slot];
    const orri_record* record = orri_record_at(s->diff->world, index);
    const orri_head* head = orri_head_at(baseline, index);
    bool known = head->generation == record->generation;
    bool same = known && head->shape1 == s->shape->number1;
    orri_enabled_state state = s->enabled ? orri_diff_enabled_row(s->diff, chunk, slot, index)
                                          : ORRI_ENABLED_ALL;
    if (same && s->settled && state != ORRI_ENABLED_DIFFERS) {
        return true;
    }
    diff_rows_sets(s, slot & 63, index, known);
    if (same && state != ORRI_ENABLED_DIFFERS &&
        orri_set_equal(s->before, s->after, baseline->words)) {
        return true;
    }
    bool moved = known && !same &&
                 !orri_shape_same(orri_shape_at(baseline, head->shape1), s->shape);
    return diff_rows_push(s,
                          &(orri_run){.chunk = chunk,
                                      .slot = slot,
                                      .index = index,
                                      .count = 1,
                                      .shape1 = known ? head->shape1 : 0,
                                      .cause = (uint8_t)diff_rows_cause(known, moved),
                                      .source = orri_diff_source(s->diff, index),
                                      .alone = state != ORRI_ENABLED_ALL ||
                                               (known && !same && diff_rows_alone(s, head->shape1)),
                                      .any_disabled = state != ORRI_ENABLED_ALL},
                          moved);
}

// Number of rows from here on, at most `most`, of new entities with consecutive indexes: what a
// bulk creation leaves behind.
static uint32_t diff_rows_count_new(const diff_rows_scan* s, const orri_chunk* chunk, uint32_t slot,
                                    uint32_t most)
{
    const uint32_t* ids = orri_chunk_ids(chunk) + slot;
    const orri_head* heads = orri_head_at(s->diff->baseline, ids[0]);
    uint32_t room = ORRI_BASELINE_SIZE - (ids[0] & ORRI_BASELINE_MASK), n = 0;
    most = s->diff->by_commit ? 1 : most < room ? most : room;
    bool none = *orri_heads_known(s->diff->baseline, ids[0]) == 0;
    while (n < most && ids[n] == ids[0] + n && (none || heads[n].generation == 0)) {
        n++;
    }
    return n;
}

static bool diff_rows_push_new(diff_rows_scan* s, orri_chunk* chunk, uint32_t slot, uint32_t count)
{
    struct orri_baseline* baseline = s->diff->baseline;
    uint32_t index = orri_chunk_ids(chunk)[slot];
    memset(s->before, 0, baseline->words * sizeof *s->before);
    if (!orri_runs_room(s->diff)) {
        return false;
    }
    orri_runs_push(baseline,
                   &(orri_run){.chunk = chunk,
                               .slot = slot,
                               .index = index,
                               .count = count,
                               .cause = ORR_CAUSE_CREATED,
                               .source = orri_diff_source(s->diff, index)},
                   s->before, s->always);
    return true;
}

// Number of rows from here on, at most `most`, of entities with consecutive indexes that the
// baseline has alive and with shape `shape1`.
static uint32_t diff_rows_count_heads(const diff_rows_scan* s, const uint32_t* ids, uint32_t shape1,
                                      uint32_t most)
{
    const orri_head* heads = orri_head_at(s->diff->baseline, ids[0]);
    const orri_record* records = orri_record_at(s->diff->world, ids[0]);
    uint32_t n = 0;
    while (n < most && ids[n] == ids[0] + n && heads[n].shape1 == shape1 &&
           heads[n].generation == records[n].generation) {
        n++;
    }
    return n;
}

// Number of bits from `first` on, at most `most` and within one word, that equal the first.
static uint32_t diff_rows_count_bits(const uint64_t* words, uint32_t first, uint32_t most)
{
    uint64_t bits = words[first >> 6] >> (first & 63), differ = (bits & 1) != 0 ? ~bits : bits;
    uint32_t left = 64 - (first & 63), n = differ != 0 ? (uint32_t)__builtin_ctzll(differ) : 64;
    n = n < left ? n : left;
    return n < most ? n : most;
}

// Number of rows from here on, at most `most`, of entities with consecutive indexes that came from
// the same other shape and that the same readers knew: what adding a type to many entities leaves
// behind. 0: the row is not one of these.
static uint32_t diff_rows_count_moved(diff_rows_scan* s, const orri_chunk* chunk, uint32_t slot,
                                      uint32_t most)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    const uint32_t* ids = orri_chunk_ids(chunk) + slot;
    uint32_t index = ids[0], shape1 = orri_head_at(baseline, index)->shape1;
    uint32_t room = ORRI_BASELINE_SIZE - (index & ORRI_BASELINE_MASK);
    most = most < room ? most : room;
    if (most < 2 || s->diff->by_commit || ids[1] != index + 1 || shape1 == 0 ||
        shape1 == s->shape->number1) {
        return 0;
    }
    uint32_t n = diff_rows_count_heads(s, ids, shape1, most);
    if (n < 2 || orri_shape_same(orri_shape_at(baseline, shape1), s->shape) ||
        diff_rows_alone(s, shape1)) {
        return 0;
    }
    for (uint32_t r = 0; r < baseline->on_count; r++) {
        n = diff_rows_count_bits(baseline->on[r]->members.words, index, n);
    }
    return n;
}

static bool diff_rows_push_moved(diff_rows_scan* s, orri_chunk* chunk, uint32_t slot,
                                 uint32_t count)
{
    struct orri_baseline* baseline = s->diff->baseline;
    uint32_t index = orri_chunk_ids(chunk)[slot];
    diff_rows_sets(s, slot & 63, index, true);
    if (!orri_runs_room(s->diff)) {
        return false;
    }
    orri_runs_push(baseline,
                   &(orri_run){.chunk = chunk,
                               .slot = slot,
                               .index = index,
                               .count = count,
                               .shape1 = orri_head_at(baseline, index)->shape1,
                               .cause = ORR_CAUSE_COMPONENT,
                               .source = orri_diff_source(s->diff, index)},
                   s->before, s->after);
    return true;
}

// Compares up to 64 rows; `wanted` has a bit for each.
static bool diff_rows_word(diff_rows_scan* s, orri_chunk* chunk, uint32_t word, uint64_t wanted)
{
    uint32_t rows = orri_chunk_rows(chunk) - word * 64;
    diff_rows_masks(s, chunk, word, rows < 64 ? ((uint64_t)1 << rows) - 1 : UINT64_MAX);
    for (uint64_t left = wanted; left != 0;) {
        uint32_t bit = (uint32_t)__builtin_ctzll(left), slot = word * 64 + bit;
        uint64_t gap = ~(left >> bit);
        uint32_t most = gap != 0 ? (uint32_t)__builtin_ctzll(gap) : 64;
        bool alike = s->all_or_none && !s->enabled; // The same readers select neighbouring rows.
        uint32_t fresh = alike ? diff_rows_count_new(s, chunk, slot, most) : 0;
        uint32_t moved = alike && fresh == 0 ? diff_rows_count_moved(s, chunk, slot, most) : 0;
        if (!(fresh > 0   ? diff_rows_push_new(s, chunk, slot, fresh)
              : moved > 0 ? diff_rows_push_moved(s, chunk, slot, moved)
                          : diff_rows_row(s, chunk, slot))) {
            return false;
        }
        uint32_t next = bit + (fresh > 0 ? fresh : moved > 0 ? moved : 1);
        left &= next < 64 ? UINT64_MAX << next : 0;
    }
    return true;
}

// True when a row of the chunk may have become selected or unselected without moving: an enable bit
// was written; or a row whose instances are all disabled got an enabled one, which writes no bit.
static bool diff_rows_bits_written(const diff_rows_scan* s, const orri_chunk* chunk)
{
    const orri_cluster* cluster = s->cluster;
    uint64_t mark = s->diff->baseline->row_mark;
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
    const orri_diff* diff = s->diff;
    uint32_t rows = orri_chunk_rows(chunk);
    const uint64_t* suspects = diff->suspects != NULL ? diff->suspects[chunk->id] : NULL;
    all = all || chunk->columns[s->cluster->type_count].version > diff->baseline->row_mark ||
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

// True when a fresh reader selects rows of the cluster.
static bool diff_rows_for_fresh(const diff_rows_scan* s)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    uint64_t any = 0;
    for (uint32_t w = 0; baseline->fresh_any && w < baseline->words; w++) {
        any |= baseline->fresh[w] & (s->always[w] | s->some[w]);
    }
    return any != 0;
}

static bool diff_rows_cluster(diff_rows_scan* s, orri_cluster* cluster)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    if (cluster->row_count == 0 ||
        (cluster->columns[cluster->type_count].version <= baseline->row_mark &&
         !cluster->has_bits && !baseline->fresh_any && s->diff->suspects == NULL &&
         !s->diff->travels)) {
        return true;
    }
    const orri_baseline_cluster* record = orri_baseline_match(s->diff, cluster);
    if (record == NULL) {
        return false;
    }
    s->cluster = cluster;
    s->shape = record->shape;
    s->multiple_old = 0;
    diff_rows_match(s, record);
    bool all = diff_rows_for_fresh(s) || record->bits_changed;
    for (uint32_t i = 0; i < cluster->chunk_count; i++) {
        if ((orri_diff_range_ends(s->diff, orri_diff_range(0, i)) && !diff_rows_flush(s)) ||
            !diff_rows_chunk(s, cluster->chunks[i], all)) {
            return false;
        }
    }
    return diff_rows_flush(s);
}

bool orri_diff_rows(orri_diff* diff)
{
    struct orri_baseline* baseline = diff->baseline;
    diff_rows_scan s = {.diff = diff,
                        .enabled = baseline->enabled_any,
                        .before = baseline->set + 2 * baseline->words,
                        .after = baseline->set + 3 * baseline->words};
    bool done = true;
    for (orri_cluster* c = diff->world->clusters.first; done && c != NULL; c = c->next) {
        done = diff_rows_cluster(&s, c);
    }
    return done;
}
