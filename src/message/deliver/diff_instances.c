// SPDX-License-Identifier: MIT
// Step 2 of a diff: instances of multiple types, and pinned values. Both are sent as items, because
// an entity may have gained, changed and lost several.
//
// Pinned values are found by the blocks of their pools: the entity that has a slot now, and the one
// that had it at the last diff, may have gained, lost or changed a value. Their rows are marked as
// suspects, so that messages come in the order of clusters and rows, and so that diff_rows.c can
// look at their readers.
#include "message/deliver/baseline.h"

#define DIFF_INSTANCES_MASK_WORDS (ORR_CHUNK_CAPACITY / 64)

// ---- rows whose pinned types changed ------------------------------------------------------------

static void diff_instances_free_masks(orr_world* world, uint64_t** masks, uint32_t count)
{
    for (uint32_t i = 0; masks != NULL && i < count; i++) {
        ORRI_FREE(&world->env, ORR_MEMORY_TEMP, uint64_t, masks[i], DIFF_INSTANCES_MASK_WORDS);
    }
    ORRI_FREE(&world->env, ORR_MEMORY_TEMP, uint64_t*, masks, count);
}

void orri_diff_suspects_free(orri_diff* diff)
{
    diff_instances_free_masks(diff->world, diff->suspects, diff->suspect_count);
    diff_instances_free_masks(diff->world, diff->gained, diff->suspect_count * diff->pool_count);
    diff->suspects = diff->gained = NULL;
}

static bool diff_instances_begin_masks(orri_diff* diff)
{
    orri_env* env = &diff->world->env;
    if (diff->suspects == NULL) {
        diff->suspect_count = diff->world->chunks.count;
        diff->pool_count = diff->world->pinned.count;
        diff->suspects = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, uint64_t*, diff->suspect_count);
        diff->gained = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, uint64_t*,
                                       diff->suspect_count * diff->pool_count);
    }
    return diff->suspects != NULL && diff->gained != NULL;
}

// Sets the bit of a row. False when refused.
static bool diff_instances_mark(orri_diff* diff, uint64_t** masks, uint32_t place)
{
    uint64_t** mask = &masks[place >> ORRI_SLOT_BITS];
    if (*mask == NULL) {
        *mask = ORRI_ALLOC_ZERO(&diff->world->env, ORR_MEMORY_TEMP, uint64_t,
                                DIFF_INSTANCES_MASK_WORDS);
    }
    if (*mask != NULL) {
        orri_bit_set(*mask, orri_place_slot(place), true);
    }
    return *mask != NULL;
}

// Marks the row of an entity. `gained`: where to mark that it got or lost the type; NULL: it did
// not.
static bool diff_instances_suspect_one(orri_diff* diff, uint32_t index, uint64_t** gained)
{
    if (index >= diff->world->hot.count) {
        return true;
    }
    const orri_record* record = orri_record_at(diff->world, index);
    if ((record->generation & ORRI_DEAD) != 0) {
        return true;
    }
    return diff_instances_mark(diff, diff->suspects, record->place) &&
           (gained == NULL || diff_instances_mark(diff, gained, record->place));
}

static bool diff_instances_suspect_block(orri_diff* diff, const orri_baseline_type* type,
                                         const orri_pool* pool, uint32_t block, uint64_t** gained)
{
    uint32_t first = block << pool->slot_bits, last = first + (1u << pool->slot_bits);
    // After a travel there may be fewer slots than in the baseline.
    uint32_t end = pool->slot_count > type->owner_count ? pool->slot_count : type->owner_count;
    last = last < end ? last : end;
    for (uint32_t slot = first; slot < last; slot++) {
        uint32_t now = slot < pool->slot_count ? orri_pool_owner(pool, slot) : ORRI_INDEX_NONE;
        uint32_t old = slot < type->owner_count ? type->owners[slot] : ORRI_INDEX_NONE;
        bool marked =
            (now == ORRI_INDEX_NONE ||
             diff_instances_suspect_one(diff, now, now != old ? gained : NULL)) &&
            (old == ORRI_INDEX_NONE || old == now || diff_instances_suspect_one(diff, old, gained));
        if (!marked) {
            return false;
        }
    }
    return true;
}

static bool diff_instances_suspect_type(orri_diff* diff, const orri_baseline_type* type)
{
    const orri_pool* pool = orri_pool_find(diff->world, (orr_type){type->type->id});
    uint32_t number = 0;
    while (pool != NULL && diff->world->pinned.list[number] != pool) {
        number++;
    }
    if (!type->watched || pool == NULL || pool->version <= type->mark) {
        return true;
    }
    bool done = diff_instances_begin_masks(diff);
    for (uint32_t b = 0; done && b < pool->block_count; b++) {
        if (pool->blocks[b].version > type->mark) {
            done = diff_instances_suspect_block(
                diff, type, pool, b, diff->gained + (size_t)number * diff->suspect_count);
        }
    }
    if (!done) {
        (void)orri_refuse_memory(&diff->world->env, "finding pinned values that changed");
    }
    return done;
}

bool orri_diff_suspect(orri_diff* diff, const orri_baseline_type* only)
{
    const struct orri_baseline* baseline = diff->baseline;
    if (only != NULL) {
        return diff_instances_suspect_type(diff, only);
    }
    for (uint32_t p = 0; p < diff->world->pinned.count; p++) {
        uint32_t index =
            orri_type_index(diff->world, (orr_type){diff->world->pinned.list[p]->type->id});
        if (!diff_instances_suspect_type(diff, &baseline->types[index])) {
            return false;
        }
    }
    return true;
}

// ---- which entity has which slot ----------------------------------------------------------------

bool orri_diff_owners_reserve(orri_diff* diff)
{
    orr_world* world = diff->world;
    for (uint32_t p = 0; p < world->pinned.count; p++) {
        const orri_pool* pool = world->pinned.list[p];
        uint32_t index = orri_type_index(world, (orr_type){pool->type->id});
        orri_baseline_type* type = &diff->baseline->types[index];
        uint32_t old = type->owner_count;
        if (!type->watched) {
            continue;
        }
        if (!ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &type->owners, &type->owner_count,
                          pool->slot_count)) {
            (void)orri_refuse_memory(&world->env,
                                     "storing pinned values that were sent to readers");
            return false;
        }
        for (uint32_t i = old; i < type->owner_count; i++) {
            type->owners[i] = ORRI_INDEX_NONE;
        }
    }
    return true;
}

void orri_diff_owners_keep(orri_diff* diff)
{
    const orr_world* world = diff->world;
    for (uint32_t p = 0; p < world->pinned.count; p++) {
        const orri_pool* pool = world->pinned.list[p];
        uint32_t index = orri_type_index(world, (orr_type){pool->type->id});
        orri_baseline_type* type = &diff->baseline->types[index];
        for (uint32_t b = 0; type->watched && b < pool->block_count; b++) {
            uint32_t first = b << pool->slot_bits, end = first + (1u << pool->slot_bits);
            uint32_t most = end < type->owner_count ? end : type->owner_count;
            end = end < pool->slot_count ? end : pool->slot_count;
            if (pool->blocks[b].version <= type->mark) {
                continue;
            }
            if (end > first) {
                memcpy(type->owners + first, pool->blocks[b].owners,
                       (end - first) * sizeof *type->owners);
            }
            for (uint32_t slot = end > first ? end : first; slot < most; slot++) {
                type->owners[slot] = ORRI_INDEX_NONE;
            }
        }
        type->mark = type->watched ? world->epoch : type->mark;
    }
}

// ---- common to both -----------------------------------------------------------------------------

// The comparison of one type.
typedef struct diff_instances_scan {
    orri_diff* diff;
    orri_baseline_type* type;
    uint64_t* row;                      // Receivers of the current row.
    const orri_baseline_cluster* match; // Sets of readers of the current cluster.
} diff_instances_scan;

// Finds the readers that track the type, know the entity and still select it. For a type in chunks
// the entity must have had it in the baseline: a type that it gained is sent with its row.
static bool diff_instances_readers(const diff_instances_scan* s, const orri_chunk* chunk,
                                   uint32_t slot)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    uint32_t index = orri_chunk_ids(chunk)[slot];
    const orri_head* head = orri_head_at(baseline, index);
    orr_type type = {s->type->type->id};
    memset(s->row, 0, baseline->words * sizeof *s->row);
    if (head->generation != orri_record_at(s->diff->world, index)->generation ||
        !(s->type->pinned || orri_shape_has(orri_shape_at(baseline, head->shape1), type))) {
        return false;
    }
    const uint64_t* trackers = orri_baseline_trackers(baseline, s->type);
    for (uint32_t w = 0; w < baseline->words; w++) {
        uint64_t some = orri_match_some(s->match)[w];
        for (uint64_t left = (orri_match_all(s->match)[w] | some) & trackers[w]; left != 0;
             left &= left - 1) {
            const orri_reader* reader = baseline->on[w * 64 + (uint32_t)__builtin_ctzll(left)];
            bool knows = (left & -left & some) != 0 ? orri_reader_knows(reader, chunk, slot, index)
                                                    : orri_bitset_has(&reader->members, index);
            s->row[w] |= knows ? left & -left : 0;
        }
    }
    return orri_set_any(s->row, baseline->words);
}

// Dispatches the runs of one kind of message.
static bool diff_instances_dispatch(const diff_instances_scan* s, orr_message_kind kind)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    const orri_runs* run_list = &baseline->run_list;
    for (uint32_t i = 0; i < run_list->run_count; i++) {
        for (uint32_t w = 0; w < baseline->words; w++) {
            size_t at = (size_t)i * baseline->words + w;
            run_list->to[at] = run_list->runs[i].kind == kind ? run_list->after[at] : 0;
        }
    }
    return orri_runs_dispatch(s->diff, &(orri_dispatch){.kind = kind,
                                                        .type = s->type->type,
                                                        .items = true,
                                                        .forced = kind == ORR_COMPONENT_CHANGED
                                                                      ? ORR_CAUSE_WRITTEN
                                                                      : ORR_CAUSE_COMPONENT});
}

static bool diff_instances_dispatch_all(const diff_instances_scan* s)
{
    return s->diff->baseline->run_list.run_count == 0 ||
           (diff_instances_dispatch(s, ORR_COMPONENT_ADDED) &&
            diff_instances_dispatch(s, ORR_COMPONENT_CHANGED) &&
            diff_instances_dispatch(s, ORR_COMPONENT_REMOVED));
}

// Appends a run of one entity; its items follow.
static void diff_instances_push(const diff_instances_scan* s, orr_message_kind kind,
                                orri_chunk* chunk, uint32_t slot)
{
    orri_runs* run_list = &s->diff->baseline->run_list;
    uint32_t index = orri_chunk_ids(chunk)[slot];
    orri_runs_push(s->diff->baseline,
                   &(orri_run){.chunk = chunk,
                               .slot = slot,
                               .index = index,
                               .count = 1,
                               .source = orri_diff_source(s->diff, index),
                               .item = run_list->item_count,
                               .kind = (uint8_t)kind,
                               .alone = true},
                   NULL, s->row);
}

static bool diff_instances_item(const diff_instances_scan* s, orr_component_id id,
                                const void* value)
{
    orri_runs* run_list = &s->diff->baseline->run_list;
    if (!orri_runs_item(s->diff->world, run_list, id, value)) {
        return false;
    }
    run_list->runs[run_list->run_count - 1].item_count++;
    return true;
}

// ---- instances ----------------------------------------------------------------------------------

// Dispatches the run list and stores the instances in the baseline.
static bool diff_instances_flush_instances(const diff_instances_scan* s)
{
    orri_runs* run_list = &s->diff->baseline->run_list;
    if (!diff_instances_dispatch_all(s)) {
        return false;
    }
    for (uint32_t i = 0; i < run_list->run_count; i++) {
        const orri_run* run = &run_list->runs[i];
        orri_baseline_instances now =
            orri_baseline_instances_at(run->chunk, run->column, run->slot);
        orri_baseline_put_cell(s->type, run->index, &now);
    }
    orri_runs_keep(s->diff);
    return true;
}

static uint32_t diff_instances_find(const uint32_t* ids, uint32_t count, uint32_t id)
{
    uint32_t i = 0;
    while (i < count && ids[i] != id) {
        i++;
    }
    return i;
}

// Appends the instances with one kind of difference as a run. Usually there are none, and ids are
// at the same positions.
static bool diff_instances_compare(const diff_instances_scan* s, const orri_run* at_row,
                                   const orri_baseline_instances* now,
                                   const orri_baseline_cell* baseline, orr_message_kind kind)
{
    orri_runs* run_list = &s->diff->baseline->run_list;
    bool gone = kind == ORR_COMPONENT_REMOVED;
    uint32_t count = gone ? baseline->count : now->count,
             other = gone ? now->count : baseline->count;
    const uint32_t *ids = gone ? baseline->ids : now->ids,
                   *others = gone ? now->ids : baseline->ids;
    size_t size = s->type->type->info.size;
    bool pushed = false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i < other && others[i] == ids[i] ? i
                                                       : diff_instances_find(others, other, ids[i]);
        const uint8_t* value = gone ? NULL : now->values + i * size;
        bool differs = kind == ORR_COMPONENT_CHANGED
                           ? at < other &&
                                 orri_baseline_differs(s->type, value, baseline->values + at * size)
                           : at == other;
        if (!differs) {
            continue;
        }
        if (!pushed) {
            diff_instances_push(s, kind, at_row->chunk, at_row->slot);
            run_list->runs[run_list->run_count - 1].column = at_row->column;
            pushed = true;
        }
        if (!diff_instances_item(s, ids[i], value)) {
            return false;
        }
    }
    return true;
}

static bool diff_instances_instances_row(const diff_instances_scan* s, orri_chunk* chunk,
                                         uint32_t column, uint32_t slot)
{
    uint32_t index = orri_chunk_ids(chunk)[slot];
    if (!diff_instances_readers(s, chunk, slot)) {
        return true;
    }
    if (!orri_runs_room(s->diff)) {
        return false;
    }
    orri_run row = {.chunk = chunk, .slot = slot, .column = column};
    orri_baseline_instances now = orri_baseline_instances_at(chunk, column, slot);
    if (!orri_baseline_room_cell(s->diff->world, s->type, index, now.count)) {
        return false;
    }
    const orri_baseline_cell* baseline = orri_baseline_cell_at(s->type, index);
    return diff_instances_compare(s, &row, &now, baseline, ORR_COMPONENT_ADDED) &&
           diff_instances_compare(s, &row, &now, baseline, ORR_COMPONENT_CHANGED) &&
           diff_instances_compare(s, &row, &now, baseline, ORR_COMPONENT_REMOVED);
}

// The newest version of values, counts and ids.
static uint64_t diff_instances_version(const orri_chunk* chunk, uint32_t column)
{
    const orri_column* columns = chunk->columns;
    uint32_t counts = chunk->cluster->columns[column].counts;
    uint64_t version = columns[column].version;
    version = columns[counts].version > version ? columns[counts].version : version;
    return columns[counts + 1].version > version ? columns[counts + 1].version : version;
}

static bool diff_instances_cluster(diff_instances_scan* s, orri_cluster* cluster, uint32_t column,
                                   uint64_t rows_before)
{
    const orri_baseline_cluster* record = orri_baseline_match(s->diff, cluster);
    if (record == NULL) {
        return false;
    }
    s->match = record;
    for (uint32_t i = 0; i < cluster->chunk_count; i++) {
        orri_chunk* chunk = cluster->chunks[i];
        uint32_t rows = diff_instances_version(chunk, column) > record->seen[column]
                            ? orri_chunk_rows(chunk)
                            : 0;
        if (orri_diff_range_ends(s->diff, orri_diff_range(rows_before, i)) &&
            !diff_instances_flush_instances(s)) {
            return false;
        }
        for (uint32_t slot = 0; slot < rows; slot++) {
            if (!diff_instances_instances_row(s, chunk, column, slot)) {
                return false;
            }
        }
    }
    return true;
}

// True for clusters that need no look.
static bool diff_instances_skips(const orri_cluster* cluster, const orr_query* query)
{
    return cluster->row_count == 0 ||
           (query != NULL && orri_entries_find(query, cluster) == UINT32_MAX);
}

bool orri_diff_instances(orri_diff* diff, orri_baseline_type* type, const orr_query* query)
{
    struct orri_baseline* baseline = diff->baseline;
    uint32_t index = (uint32_t)(type - baseline->types);
    if (index >= diff->world->tables.capacity) {
        return true;
    }
    const orri_table* table = (const orri_table*)(const void*)diff->world->tables.list[index];
    diff_instances_scan s = {diff, type, baseline->set + 2 * baseline->words, NULL};
    uint64_t rows_before = 0;
    const orri_table_cluster* entry;
    for (uint32_t i = 0; (entry = orri_table_next(table, &i)) != NULL;) {
        if (diff_instances_skips(entry->cluster, query)) {
            continue;
        }
        if (!diff_instances_cluster(&s, entry->cluster, entry->column, rows_before)) {
            return false;
        }
        rows_before += entry->cluster->row_count;
    }
    if (!diff_instances_flush_instances(&s)) {
        return false;
    }
    for (uint32_t i = 0; (entry = orri_table_next(table, &i)) != NULL;) {
        if (!diff_instances_skips(entry->cluster, query)) {
            baseline->clusters[entry->cluster->index].seen[entry->column] = diff->world->epoch;
        }
    }
    return true;
}

// ---- pinned values ------------------------------------------------------------------------------

// Dispatches the run list and stores the values in the baseline.
static bool diff_instances_flush_pinned(const diff_instances_scan* s)
{
    orri_runs* run_list = &s->diff->baseline->run_list;
    if (!diff_instances_dispatch_all(s)) {
        return false;
    }
    for (uint32_t i = 0; i < run_list->run_count; i++) {
        const orri_run* run = &run_list->runs[i];
        if (run->kind == ORR_COMPONENT_REMOVED) {
            orri_baseline_drop(s->diff->world, s->type, run->index);
        } else {
            orri_baseline_put(s->type, run->index, run_list->items[run->item].value, 1);
        }
    }
    orri_runs_keep(s->diff);
    return true;
}

static bool diff_instances_pinned_row(const diff_instances_scan* s, const orri_pool* pool,
                                      orri_chunk* chunk, uint32_t slot)
{
    uint32_t index = orri_chunk_ids(chunk)[slot];
    const uint8_t* now = orri_pool_get(pool, index);
    bool present = orri_bitset_has(&s->type->present, index);
    if ((now == NULL && !present) || !diff_instances_readers(s, chunk, slot)) {
        return true;
    }
    if (s->diff->values_only && (now == NULL || !present)) {
        s->diff->pinned_left = true;
        return true;
    }
    if (now != NULL && present &&
        (pool->size == 0 ||
         !orri_baseline_differs(s->type, now, orri_baseline_at(s->type, index)))) {
        return true;
    }
    if (!orri_runs_room(s->diff)) {
        return false;
    }
    diff_instances_push(s,
                        now == NULL ? ORR_COMPONENT_REMOVED
                        : present   ? ORR_COMPONENT_CHANGED
                                    : ORR_COMPONENT_ADDED,
                        chunk, slot);
    return (now == NULL || orri_baseline_room(s->diff->world, s->type, index)) &&
           diff_instances_item(s, 0, now);
}

static bool diff_instances_pinned_chunk(const diff_instances_scan* s, const orri_pool* pool,
                                        orri_chunk* chunk, const uint64_t* rows)
{
    for (uint32_t w = 0; w < DIFF_INSTANCES_MASK_WORDS; w++) {
        for (uint64_t left = rows[w]; left != 0; left &= left - 1) {
            if (!diff_instances_pinned_row(s, pool, chunk,
                                           w * 64 + (uint32_t)__builtin_ctzll(left))) {
                return false;
            }
        }
    }
    return true;
}

bool orri_diff_pinned(orri_diff* diff, orri_baseline_type* type)
{
    const orri_pool* pool = orri_pool_find(diff->world, (orr_type){type->type->id});
    diff_instances_scan s = {diff, type, diff->baseline->set + 2 * diff->baseline->words, NULL};
    if (diff->suspects == NULL || pool == NULL || pool->version <= type->mark) {
        return true;
    }
    diff->pinned_left = false;
    uint64_t rows_before = 0;
    for (orri_cluster* c = diff->world->clusters.first; c != NULL; c = c->next) {
        s.match = NULL;
        for (uint32_t i = 0; i < c->chunk_count; i++) {
            orri_chunk* chunk = c->chunks[i];
            const uint64_t* rows = diff->suspects[chunk->id];
            if (rows != NULL && s.match == NULL) {
                s.match = orri_baseline_match(diff, c);
                if (s.match == NULL) {
                    return false;
                }
            }
            if (orri_diff_range_ends(diff, orri_diff_range(rows_before, i)) &&
                !diff_instances_flush_pinned(&s)) {
                return false;
            }
            if (rows != NULL && !diff_instances_pinned_chunk(&s, pool, chunk, rows)) {
                return false;
            }
        }
        rows_before += c->row_count;
    }
    if (!diff_instances_flush_pinned(&s)) {
        return false;
    }
    type->value_mark = diff->pinned_left ? type->value_mark : diff->world->epoch;
    return true;
}

#undef DIFF_INSTANCES_MASK_WORDS
