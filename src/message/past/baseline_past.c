// SPDX-License-Identifier: MIT
// Records where the baseline differs from the world: changes by calls between ticks that readers
// have not received yet. Of each such entity everything that the baseline says is recorded. Usually
// there is none, and finding that out costs a look at versions; where something was written since
// the last diff, entities are compared.
//
// After a travel the baseline is first made equal to the world (orri_diff_travel()). Then the
// recorded entities get their recorded baseline, so that the next diff finds the same differences.
// Readers outside of the state know these entities as they are: they receive EntityRemoved for
// them, and with the next diff they receive them again like all readers.
#include "message/past/baseline_past.h"

// The search. Suspects are entities that may differ.
typedef struct baseline_past_scan {
    orri_diff diff;
    orri_bitset suspects;
    orri_baseline_past* past;
    bool any, failed;
} baseline_past_scan;

// ---- finding what was written since the last diff -----------------------------------------------

static void baseline_past_suspect(baseline_past_scan* s, uint32_t index)
{
    const struct orri_baseline* baseline = s->diff.baseline;
    if (!s->any) {
        uint64_t heads = (uint64_t)baseline->head_count << ORRI_PAGE_BITS;
        uint64_t count = s->diff.world->hot.count;
        s->any = true;
        s->failed =
            !orri_bitset_reserve(s->diff.world, &s->suspects, heads > count ? heads : count);
    }
    if (!s->failed && index / 64 < s->suspects.count) {
        orri_bit_set(s->suspects.words, index, true);
    }
}

static void baseline_past_suspect_rows(baseline_past_scan* s, const orri_chunk* chunk)
{
    for (uint32_t slot = 0, rows = orri_chunk_rows(chunk); slot < rows; slot++) {
        baseline_past_suspect(s, orri_chunk_ids(chunk)[slot]);
    }
}

// Destroyed entities.
static void baseline_past_scan_heads(baseline_past_scan* s)
{
    const orr_world* world = s->diff.world;
    const struct orri_baseline* baseline = s->diff.baseline;
    uint32_t pages = (uint32_t)(((uint64_t)world->hot.count + ORRI_PAGE_MASK) >> ORRI_PAGE_BITS);
    for (uint32_t page = 0; page < baseline->head_count; page++) {
        bool same = page < pages && world->index.metas[page].version <= baseline->index_mark;
        if (same || *orri_heads_known(baseline, page << ORRI_PAGE_BITS) == 0) {
            continue;
        }
        for (uint32_t i = 0; i < ORRI_PAGE_SIZE; i++) {
            uint32_t index = page << ORRI_PAGE_BITS | i,
                     generation = baseline->heads[page][i].generation;
            if (generation != 0 && (index >= world->hot.count ||
                                    orri_record_at(world, index)->generation != generation)) {
                baseline_past_suspect(s, index);
            }
        }
    }
}

// True when row ids, enable bits or instance counts of a chunk were written.
static bool baseline_past_rows_written(const orri_cluster* cluster, const orri_chunk* chunk,
                                       uint64_t mark)
{
    bool written = chunk->columns[cluster->type_count].version > mark;
    for (uint32_t c = 0; cluster->has_bits && c <= cluster->type_count && !written; c++) {
        uint32_t counts = c < cluster->type_count ? cluster->columns[c].counts : 0;
        written = chunk->columns[cluster->column_count + c].version > mark ||
                  (counts != 0 && chunk->columns[counts].version > mark);
    }
    return written;
}

static void baseline_past_scan_rows(baseline_past_scan* s)
{
    uint64_t mark = s->diff.baseline->row_mark;
    for (const orri_cluster* c = s->diff.world->clusters.first; c != NULL; c = c->next) {
        bool look = c->has_bits || c->columns[c->type_count].version > mark;
        for (uint32_t i = 0; look && i < c->chunk_count; i++) {
            if (baseline_past_rows_written(c, c->chunks[i], mark)) {
                baseline_past_suspect_rows(s, c->chunks[i]);
            }
        }
    }
}

// The newest version of a column with its counts and ids.
static uint64_t baseline_past_version(const orri_chunk* chunk, uint32_t column)
{
    uint32_t counts = chunk->cluster->columns[column].counts;
    uint64_t version = chunk->columns[column].version;
    for (uint32_t i = 0; counts != 0 && i < 2; i++) {
        uint64_t other = chunk->columns[counts + i].version;
        version = other > version ? other : version;
    }
    return version;
}

static void baseline_past_scan_cluster(baseline_past_scan* s, const orri_cluster* cluster,
                                       uint32_t column)
{
    const struct orri_baseline* baseline = s->diff.baseline;
    const orri_baseline_cluster* record =
        cluster->index < baseline->cluster_count ? &baseline->clusters[cluster->index] : NULL;
    bool known = record != NULL && record->shape != NULL && record->sequence == cluster->sequence;
    uint64_t seen = known ? record->seen[column] : 0;
    bool multiple = cluster->columns[column].counts != 0;
    if (!multiple && cluster->columns[column].version <= seen) {
        return;
    }
    for (uint32_t i = 0; i < cluster->chunk_count; i++) {
        if (baseline_past_version(cluster->chunks[i], column) > seen) {
            baseline_past_suspect_rows(s, cluster->chunks[i]);
        }
    }
}

static void baseline_past_scan_pool(baseline_past_scan* s, const orri_baseline_type* type)
{
    const orri_pool* pool = orri_pool_find(s->diff.world, (orr_type){type->type->id});
    uint64_t mark = type->mark > type->value_mark ? type->mark : type->value_mark;
    bool look = pool != NULL && pool->version > mark;
    for (uint32_t b = 0; look && b < pool->block_count; b++) {
        uint32_t first = b << pool->slot_bits, last = first + (1u << pool->slot_bits);
        uint32_t end = pool->slot_count > type->owner_count ? pool->slot_count : type->owner_count;
        last = last < end ? last : end;
        for (uint32_t slot = first; pool->blocks[b].version > mark && slot < last; slot++) {
            uint32_t owners[2] = {slot < pool->slot_count ? orri_pool_owner(pool, slot)
                                                          : ORRI_INDEX_NONE,
                                  slot < type->owner_count ? type->owners[slot] : ORRI_INDEX_NONE};
            for (uint32_t i = 0; i < 2; i++) {
                if (owners[i] != ORRI_INDEX_NONE) {
                    baseline_past_suspect(s, owners[i]);
                }
            }
        }
    }
}

static void baseline_past_scan_values(baseline_past_scan* s)
{
    const struct orri_baseline* baseline = s->diff.baseline;
    const orr_world* world = s->diff.world;
    for (uint32_t t = 0; t < baseline->type_count; t++) {
        const orri_baseline_type* type = &baseline->types[t];
        if (type->pinned) {
            if (type->watched) {
                baseline_past_scan_pool(s, type);
            }
            continue;
        }
        if (!type->tracked || t >= world->tables.capacity) {
            continue;
        }
        const orri_table* table = (const orri_table*)(const void*)world->tables.list[t];
        const orri_table_cluster* entry;
        for (uint32_t i = 0; (entry = orri_table_next(table, &i)) != NULL;) {
            baseline_past_scan_cluster(s, entry->cluster, entry->column);
        }
    }
}

// ---- comparing an entity with its baseline ------------------------------------------------------

static orri_head baseline_past_head(const struct orri_baseline* baseline, uint32_t index)
{
    return index >> ORRI_PAGE_BITS < baseline->head_count ? *orri_head_at(baseline, index)
                                                          : (orri_head){0};
}

// True when the types or tags differ.
static bool baseline_past_reshaped(const orri_shape* shape, const orri_cluster* cluster)
{
    return shape->type_count != cluster->type_count || shape->tag_count != cluster->tag_count ||
           (shape->type_count > 0 &&
            memcmp(shape->types, cluster->types, shape->type_count * sizeof *shape->types) != 0) ||
           (shape->tag_count > 0 &&
            memcmp(shape->tags, cluster->tags, shape->tag_count * sizeof *shape->tags) != 0);
}

// True when a reader knows the entity and does not select it, or the other way round.
static bool baseline_past_members_differ(const struct orri_baseline* baseline,
                                         const orri_chunk* chunk, uint32_t slot, uint32_t index)
{
    for (uint32_t r = 0; r < baseline->on_count; r++) {
        orri_reader* reader = baseline->on[r];
        orri_reader_match(reader, chunk->cluster);
        bool selects = reader->match == ORRI_MATCH_ALL ||
                       (reader->match == ORRI_MATCH_SOME &&
                        orri_query_row(reader->query, reader->map, chunk, slot));
        if (!reader->fresh && selects != orri_bitset_has(&reader->members, index)) {
            return true;
        }
    }
    return false;
}

// True when a reader knows the value.
static bool baseline_past_known(const struct orri_baseline* baseline,
                                const orri_baseline_type* type, uint32_t index)
{
    const uint64_t* trackers = orri_baseline_trackers(baseline, type);
    bool known = false;
    for (uint32_t r = 0; r < baseline->on_count && !known; r++) {
        known = orri_bit_get(trackers, r) && orri_bitset_has(&baseline->on[r]->members, index);
    }
    return known;
}

static bool baseline_past_cell_differs(const orri_baseline_type* type, const orri_chunk* chunk,
                                       uint32_t column, uint32_t slot, uint32_t index)
{
    const orri_baseline_cell* cell = orri_baseline_cell_at(type, index);
    orri_baseline_instances now = orri_baseline_instances_at(chunk, column, slot);
    size_t size = type->type->info.size;
    bool differs = cell == NULL || cell->count != now.count;
    for (uint32_t i = 0; i < now.count && !differs; i++) {
        differs = cell->ids[i] != now.ids[i] ||
                  (size > 0 &&
                   orri_baseline_differs(type, cell->values + i * size, now.values + i * size));
    }
    return differs;
}

static bool baseline_past_values_differ(const baseline_past_scan* s, const orri_chunk* chunk,
                                        uint32_t slot, uint32_t index)
{
    const struct orri_baseline* baseline = s->diff.baseline;
    const orr_world* world = s->diff.world;
    const orri_cluster* cluster = chunk->cluster;
    for (uint32_t c = 0; c < cluster->type_count; c++) {
        const orri_baseline_type* type =
            orri_baseline_tracked(baseline, orri_type_index(world, cluster->types[c]));
        if (type == NULL || !baseline_past_known(baseline, type, index)) {
            continue;
        }
        const uint8_t* value = type->multiple ? NULL : orri_baseline_at(type, index);
        bool differs = type->multiple ? baseline_past_cell_differs(type, chunk, c, slot, index)
                                      : type->type->info.size > 0 && value != NULL &&
                                            orri_baseline_differs(
                                                type, value, orri_cells_at(chunk, c, slot).data);
        if (differs) {
            return true;
        }
    }
    for (uint32_t p = 0; p < world->pinned.count; p++) {
        const orri_pool* pool = world->pinned.list[p];
        orr_type id = {pool->type->id};
        const orri_baseline_type* type =
            orri_baseline_tracked(baseline, orri_type_index(world, id));
        const uint8_t* now = orri_pool_get(pool, index);
        bool present = type != NULL && orri_bitset_has(&type->present, index);
        if (type == NULL || !baseline_past_known(baseline, type, index)) {
            continue;
        }
        if (present != (now != NULL) ||
            (present && pool->size > 0 &&
             orri_baseline_differs(type, now, orri_baseline_at(type, index)))) {
            return true;
        }
    }
    return false;
}

static bool baseline_past_differs(const baseline_past_scan* s, uint32_t index)
{
    const orr_world* world = s->diff.world;
    const struct orri_baseline* baseline = s->diff.baseline;
    orri_head head = baseline_past_head(baseline, index);
    bool alive = index < world->hot.count &&
                 (orri_record_at(world, index)->generation & ORRI_DEAD) == 0;
    if (!alive || head.generation != orri_record_at(world, index)->generation) {
        return alive || head.generation != 0;
    }
    uint32_t place = orri_record_at(world, index)->place, slot = orri_place_slot(place);
    const orri_chunk* chunk = orri_place_chunk(world, place);
    return baseline_past_reshaped(orri_shape_at(baseline, head.shape1), chunk->cluster) ||
           baseline_past_members_differ(baseline, chunk, slot, index) ||
           (baseline->enabled_any &&
            orri_diff_enabled_row(&s->diff, chunk, slot, index) == ORRI_ENABLED_DIFFERS) ||
           baseline_past_values_differ(s, chunk, slot, index);
}

// ---- recording ----------------------------------------------------------------------------------

// Appends bytes, padded to 16.
static void baseline_past_put_bytes(orri_baseline_past* past, const void* data, size_t size)
{
    if (size > 0) {
        memcpy(past->bytes + past->byte_count, data, size);
    }
    past->byte_count += (uint32_t)((size + 15) & ~(size_t)15);
}

orri_baseline_instances orri_instances_now(const orr_world* world, const orri_baseline_type* type,
                                           uint32_t index)
{
    static const uint32_t none = 0;
    orri_baseline_instances now = {0};
    orr_type id = {type->type->id};
    if (index >= world->hot.count || (orri_record_at(world, index)->generation & ORRI_DEAD) != 0) {
        return now;
    }
    if (type->pinned) {
        const orri_pool* pool = orri_pool_find(world, id);
        const uint8_t* value = pool != NULL ? orri_pool_get(pool, index) : NULL;
        return (orri_baseline_instances){value != NULL, &none, value};
    }
    uint32_t place = orri_record_at(world, index)->place, slot = orri_place_slot(place);
    const orri_chunk* chunk = orri_place_chunk(world, place);
    int32_t column = orri_cluster_find_column(chunk->cluster, id);
    if (column < 0) {
        return now;
    }
    return type->multiple ? orri_baseline_instances_at(chunk, (uint32_t)column, slot)
                          : (orri_baseline_instances){
                                1, &none, orri_cells_at(chunk, (uint32_t)column, slot).data};
}

// True when a value with hooks has exactly the bytes of the entity's value.
static bool baseline_past_same(const orr_world* world, const orri_baseline_type* type,
                               uint32_t index, const void* baseline, uint32_t count)
{
    if (!type->type->info.has_hooks) {
        return false;
    }
    orri_baseline_instances now = orri_instances_now(world, type, index);
    return now.count == count &&
           memcmp(now.values, baseline, (size_t)count * type->type->info.size) == 0;
}

static bool baseline_past_keep_value(baseline_past_scan* s, orri_baseline_type* type,
                                     uint32_t index)
{
    orri_baseline_past* past = s->past;
    orri_env* env = &s->diff.world->env;
    const orri_baseline_cell* cell = type->multiple ? orri_baseline_cell_at(type, index) : NULL;
    const uint8_t* value = type->multiple ? NULL : orri_baseline_at(type, index);
    bool counted = type->owned || type->pinned;
    bool present = type->multiple ? cell != NULL
                   : counted      ? orri_bitset_has(&type->present, index)
                                  : value != NULL;
    size_t size = type->type->info.size, count = cell != NULL ? cell->count : 1;
    size_t bytes = present ? count * size + count * (cell != NULL ? 5 : 0) + 48 : 0;
    if (bytes > UINT32_MAX - past->byte_count ||
        !ORRI_RESERVE(env, ORR_MEMORY_MESSAGE, &past->values, &past->value_capacity,
                      past->value_count + 1) ||
        !ORRI_RESERVE(env, ORR_MEMORY_MESSAGE, &past->bytes, &past->byte_capacity,
                      past->byte_count + (uint32_t)bytes)) {
        return false;
    }
    past->values[past->value_count++] =
        (orri_past_value){(uint32_t)(type - s->diff.baseline->types),
                          (uint32_t)count,
                          past->byte_count,
                          present,
                          false,
                          orri_bitset_has(&type->off, index)};
    if (present) {
        const void* from = cell != NULL ? (const void*)cell->values : (const void*)value;
        past->values[past->value_count - 1].same =
            baseline_past_same(s->diff.world, type, index, from, (uint32_t)count);
        orri_rows_retain(type->type, from, (uint32_t)count);
        baseline_past_put_bytes(past, from, count * size);
    }
    if (cell != NULL) {
        baseline_past_put_bytes(past, cell->ids, count * sizeof *cell->ids);
        baseline_past_put_bytes(past, cell->off, count);
    }
    return true;
}

// Values of the types of the baseline shape, and of pinned types.
static bool baseline_past_keep_values(baseline_past_scan* s, const orri_shape* shape,
                                      uint32_t index)
{
    const orr_world* world = s->diff.world;
    for (uint32_t i = 0; i < shape->type_count + world->pinned.count; i++) {
        bool pinned = i >= shape->type_count;
        orr_type id = pinned ? (orr_type){world->pinned.list[i - shape->type_count]->type->id}
                             : shape->types[i];
        orri_baseline_type* type =
            orri_baseline_tracked(s->diff.baseline, orri_type_index(world, id));
        if (type != NULL && !baseline_past_keep_value(s, type, index)) {
            return false;
        }
    }
    return true;
}

static void baseline_past_keep_members(baseline_past_scan* s, uint32_t index)
{
    orri_baseline_past* past = s->past;
    if (past->words == 0) {
        return; // All readers are outside of the state.
    }
    uint64_t* set = past->members + (size_t)past->count * past->words;
    memset(set, 0, past->words * sizeof *set);
    const struct orri_baseline* baseline = s->diff.baseline;
    for (uint32_t r = 0, n = 0; r < baseline->on_count; r++) {
        if (!baseline->on[r]->outside) {
            orri_bit_set(set, n++, orri_bitset_has(&baseline->on[r]->members, index));
        }
    }
}

static bool baseline_past_keep(baseline_past_scan* s, uint32_t index)
{
    orri_baseline_past* past = s->past;
    orri_env* env = &s->diff.world->env;
    if (!ORRI_RESERVE(env, ORR_MEMORY_MESSAGE, &past->entities, &past->capacity, past->count + 1) ||
        !ORRI_RESERVE(env, ORR_MEMORY_MESSAGE, &past->members, &past->member_capacity,
                      (past->count + 1) * past->words)) {
        return false;
    }
    orri_head head = baseline_past_head(s->diff.baseline, index);
    orri_shape* shape = head.generation != 0 ? orri_shape_at(s->diff.baseline, head.shape1) : NULL;
    baseline_past_keep_members(s, index);
    uint32_t first = past->value_count;
    if (shape != NULL) {
        shape->refs++;
    }
    past->entities[past->count++] =
        (orri_past_entity){.index = index,
                           .generation = head.generation,
                           .shape = shape,
                           .off = orri_bitset_has(&s->diff.baseline->off, index),
                           .value = first};
    bool kept = shape == NULL || baseline_past_keep_values(s, shape, index);
    past->entities[past->count - 1].value_count = past->value_count - first;
    return kept;
}

// Records the slots of pinned types whose blocks were written.
static bool baseline_past_keep_owners(baseline_past_scan* s)
{
    orri_baseline_past* past = s->past;
    orr_world* world = s->diff.world;
    for (uint32_t p = 0; p < world->pinned.count; p++) {
        const orri_pool* pool = world->pinned.list[p];
        uint32_t index = orri_type_index(world, (orr_type){pool->type->id});
        const orri_baseline_type* type = &s->diff.baseline->types[index];
        if (!type->watched || pool->version <= type->mark) {
            continue;
        }
        uint32_t* owners = ORRI_ALLOC(&world->env, ORR_MEMORY_MESSAGE, uint32_t, type->owner_count);
        if (owners == NULL || !ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &past->owners,
                                            &past->owner_capacity, past->owner_count + 1)) {
            ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, uint32_t, owners, type->owner_count);
            return false;
        }
        if (type->owner_count > 0) {
            memcpy(owners, type->owners, type->owner_count * sizeof *owners);
        }
        past->owners[past->owner_count++] = (orri_past_owners){index, type->owner_count, owners};
    }
    return true;
}

static bool baseline_past_begin(baseline_past_scan* s)
{
    const struct orri_baseline* baseline = s->diff.baseline;
    orri_env* env = &s->diff.world->env;
    orri_baseline_past* past = s->past =
        ORRI_ALLOC_ZERO(env, ORR_MEMORY_MESSAGE, orri_baseline_past, 1);
    uint32_t count = 0;
    for (uint32_t r = 0; r < baseline->on_count; r++) {
        count += !baseline->on[r]->outside;
    }
    uint64_t* serials = past != NULL ? ORRI_ALLOC(env, ORR_MEMORY_MESSAGE, uint64_t, count) : NULL;
    if (serials == NULL) {
        return false;
    }
    past->serials = serials;
    past->words = (count + 63) / 64;
    for (uint32_t r = 0; r < baseline->on_count; r++) {
        if (!baseline->on[r]->outside) {
            serials[past->reader_count++] = baseline->on[r]->serial;
        }
    }
    return true;
}

// Records the suspects that differ.
static bool baseline_past_collect(baseline_past_scan* s)
{
    for (uint32_t w = 0; w < s->suspects.count; w++) {
        for (uint64_t left = s->suspects.words[w]; left != 0; left &= left - 1) {
            uint32_t index = w * 64 + (uint32_t)__builtin_ctzll(left);
            if (baseline_past_differs(s, index) &&
                ((s->past == NULL && !baseline_past_begin(s)) || !baseline_past_keep(s, index))) {
                return false;
            }
        }
    }
    return s->past == NULL || baseline_past_keep_owners(s);
}

bool orri_baseline_remember(orr_world* world, orri_baseline_past** out)
{
    *out = NULL;
    if (!orri_has_readers(world)) {
        return true;
    }
    if (orri_diff_quiet(world) && world->messages->baseline->dirty_note_count == 0) {
        return true; // Readers know everything.
    }
    baseline_past_scan s = {.diff = {.world = world, .baseline = world->messages->baseline}};
    if (!orri_baseline_refresh(world, s.diff.baseline)) {
        return false;
    }
    orri_world_settle(world);
    baseline_past_scan_heads(&s);
    baseline_past_scan_rows(&s);
    baseline_past_scan_values(&s);
    bool done = !s.failed && baseline_past_collect(&s);
    orri_bitset_free(world, &s.suspects);
    if (!done) {
        orri_baseline_past_free(world, s.past);
        (void)orri_refuse_memory(&world->env, "recording changes that readers have not received");
        return false;
    }
    *out = s.past;
    return true;
}

void orri_baseline_past_free(orr_world* world, orri_baseline_past* past)
{
    if (past == NULL) {
        return;
    }
    struct orri_baseline* baseline = world->messages->baseline;
    for (uint32_t i = 0; i < past->value_count; i++) {
        const orri_past_value* value = &past->values[i];
        if (value->present) {
            orri_rows_release(world->schema.types[value->type_index], past->bytes + value->at,
                              value->count);
        }
    }
    for (uint32_t i = 0; i < past->count; i++) {
        if (past->entities[i].shape != NULL) {
            orri_shape_release(world, baseline, past->entities[i].shape, 1);
        }
    }
    orri_env* env = &world->env;
    for (uint32_t i = 0; i < past->owner_count; i++) {
        ORRI_FREE(env, ORR_MEMORY_MESSAGE, uint32_t, past->owners[i].owners, past->owners[i].count);
    }
    ORRI_RELEASE(env, ORR_MEMORY_MESSAGE, past->owners, past->owner_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_MESSAGE, past->entities, past->capacity);
    ORRI_RELEASE(env, ORR_MEMORY_MESSAGE, past->members, past->member_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_MESSAGE, past->values, past->value_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_MESSAGE, past->bytes, past->byte_capacity);
    if (past->serials != NULL) {
        ORRI_FREE(env, ORR_MEMORY_MESSAGE, uint64_t, past->serials, past->reader_count);
    }
    ORRI_FREE(env, ORR_MEMORY_MESSAGE, orri_baseline_past, past, 1);
}

size_t orri_baseline_past_bytes(const orri_baseline_past* past)
{
    size_t bytes = 0;
    for (uint32_t i = 0; past != NULL && i < past->owner_count; i++) {
        bytes += past->owners[i].count * sizeof(uint32_t);
    }
    return past == NULL ? 0
                        : bytes + sizeof *past + past->capacity * sizeof *past->entities +
                              past->member_capacity * sizeof *past->members +
                              past->value_capacity * sizeof *past->values + past->byte_capacity;
}
