// SPDX-License-Identifier: MIT
// Batches: many rows leave clusters at once. One pass looks up and marks all entities; room is made
// in every target cluster; rows move in runs and leave holes; the holes are filled once at the end,
// with rows from the tail, and the tail is cut. A batch is at least twice as fast as single moves:
// there is no call for each row, and no row moves to fill a gap and then leaves itself.
//
// The mark is ORRI_DEAD in the record. It reveals an entity that is listed twice.
#include "store/pool/pool.h"
#include "store/relation/relation.h"
#include "store/world/access.h"

#define BATCH_AHEAD 16 // Distance, in entities, at which records are prefetched.
#define BATCH_STAYS 0  // In `places`: the row stays where it is.

// A batch while it is carried out.
typedef struct batch_work {
    orr_world* world;
    const char* call;
    uint32_t* places; // [count] Places before anything moves, or BATCH_STAYS.
    uint32_t count;
    orri_cluster** clusters; // Clusters that rows leave, by first mention.
    uint32_t cluster_count, cluster_capacity;
    // Add and remove: the type; add: the values (may be NULL).
    orr_type type;
    const orri_type* value_type;
    const uint8_t* values;
} batch_work;

// ---- beginning and ending -----------------------------------------------------------------------

static orr_result batch_begin(batch_work* b)
{
    b->places = ORRI_ALLOC(&b->world->env, ORR_MEMORY_TEMP, uint32_t, b->count);
    return b->places != NULL ? ORR_OK : orri_refuse_memory(&b->world->env, "starting a batch");
}

// Clears the scratch fields of all clusters (S10) and frees the lists.
static void batch_end(batch_work* b)
{
    for (uint32_t i = 0; i < b->cluster_count; i++) {
        orri_cluster* cluster = b->clusters[i];
        if (cluster->batch_transition != NULL) {
            cluster->batch_transition->to->batch_incoming = 0;
        }
        cluster->batch_count = cluster->batch_base = cluster->batch_used = 0;
        cluster->batch_transition = NULL;
        cluster->batch_created = false;
    }
    ORRI_RELEASE(&b->world->env, ORR_MEMORY_TEMP, b->clusters, b->cluster_capacity);
    ORRI_FREE(&b->world->env, ORR_MEMORY_TEMP, uint32_t, b->places, b->count);
}

// Counts a row that leaves a cluster. False when refused (not reported).
static bool batch_count_row(batch_work* b, orri_cluster* cluster)
{
    if (cluster->batch_count == 0) {
        if (!ORRI_RESERVE(&b->world->env, ORR_MEMORY_TEMP, &b->clusters, &b->cluster_capacity,
                          b->cluster_count + 1)) {
            return false;
        }
        b->clusters[b->cluster_count++] = cluster;
    }
    cluster->batch_count++;
    return true;
}

static void batch_unmark(batch_work* b, const orr_entity* entities, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        orri_record_at(b->world, orri_id_index(entities[i]))->generation &= ~ORRI_DEAD;
    }
}

// Called after the marks are cleared: an entity that is alive now was refused because of its own
// mark.
static orr_result batch_refuse_entity(batch_work* b, orr_entity entity)
{
    if (orri_record_find(b->world, entity) == NULL) {
        return orri_refuse_entity(b->world, b->call, entity, b->type);
    }
    orri_id_text name = orri_entity_format(b->world, entity);
    return orri_refuse(&b->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_ENTITY_REFUSED,
                       "%s: entity %s is listed twice", b->call, name.text);
}

// Looks up and marks all entities, and fills `places`. `moves` tells whether rows of a cluster
// leave it (NULL: always).
static orr_result batch_collect(batch_work* b, const orr_entity* entities,
                                bool (*moves)(const batch_work* b, const orri_cluster* cluster))
{
    orr_world* world = b->world;
    const orri_chunk* chunk = NULL;
    bool chunk_moves = false;
    for (uint32_t i = 0; i < b->count; i++) {
        if (i + BATCH_AHEAD < b->count) {
            uint32_t ahead = orri_id_index(entities[i + BATCH_AHEAD]);
            if (ahead < world->hot.count) {
                __builtin_prefetch(orri_record_at(world, ahead), 1);
            }
        }
        orri_record* record = orri_record_find(world, entities[i]);
        if (ORR_UNLIKELY(record == NULL)) {
            batch_unmark(b, entities, i);
            return batch_refuse_entity(b, entities[i]);
        }
        if (orri_place_chunk(world, record->place) != chunk) {
            chunk = orri_place_chunk(world, record->place);
            chunk_moves = moves == NULL || moves(b, chunk->cluster);
        }
        if ((world->index.share_count > 0 &&
             !orri_index_prepare(world, orri_id_index(entities[i]))) ||
            (chunk_moves && !batch_count_row(b, chunk->cluster))) {
            batch_unmark(b, entities, i);
            return orri_refuse_memory(&world->env, "collecting a batch");
        }
        record = orri_record_at(world, orri_id_index(entities[i]));
        b->places[i] = chunk_moves ? record->place : BATCH_STAYS;
        record->generation |= ORRI_DEAD;
    }
    return ORR_OK;
}

// ---- preparing: everything that can be refused --------------------------------------------------

// Prepares all shared blocks and index pages of a source cluster for writing: any row of it may
// fill a gap.
static bool batch_prepare_source(orr_world* world, orri_cluster* cluster)
{
    for (uint32_t i = 0; i < cluster->chunk_count; i++) {
        orri_chunk* chunk = cluster->chunks[i];
        if (!orri_chunk_prepare(world, chunk)) {
            return false;
        }
        uint32_t rows = world->index.share_count > 0 ? orri_chunk_rows(chunk) : 0;
        for (uint32_t row = 0; row < rows; row++) {
            if (!orri_index_prepare(world, orri_chunk_ids(chunk)[row])) {
                return false;
            }
        }
    }
    return true;
}

// Makes room for the rows of one source cluster in its target.
static bool batch_prepare_target(orr_world* world, orri_cluster* from)
{
    // Several clusters can have the same target: those that differ only in the capacity of the
    // removed type. Incoming rows of other sources are made accessible again, since their chunk may
    // have grown.
    orri_cluster* to = from->batch_transition->to;
    uint64_t incoming = (uint64_t)to->batch_incoming + from->batch_count;
    if (incoming > UINT32_MAX - to->row_count ||
        !orri_cluster_reserve(world, to, (uint32_t)incoming) ||
        !orri_transition_prepare_bits(world, from->batch_transition)) {
        return false;
    }
    from->batch_base = to->row_count + to->batch_incoming;
    to->batch_incoming = (uint32_t)incoming;
    uint32_t end = to->row_count + to->batch_incoming;
    for (uint32_t row = to->row_count & ~ORRI_SLOT_MASK; row < end; row += ORR_CHUNK_CAPACITY) {
        orri_chunk* chunk = orri_cluster_chunk_of(to, row);
        if (!orri_chunk_prepare(world, chunk)) {
            return false;
        }
        uint32_t first = row > to->row_count ? row : to->row_count;
        uint32_t stop = end - row < ORR_CHUNK_CAPACITY ? end - row : ORR_CHUNK_CAPACITY;
        orri_rows_open(chunk, first & ORRI_SLOT_MASK, stop - (first & ORRI_SLOT_MASK));
    }
    return true;
}

// Undoes the preparation of clusters[0 … count - 1], the last first, so that the free list of
// cluster numbers is as before.
static void batch_abandon(batch_work* b, uint32_t count)
{
    while (count-- > 0) {
        orri_cluster* from = b->clusters[count];
        if (from->batch_transition == NULL) {
            continue;
        }
        orri_cluster* to = from->batch_transition->to;
        to->batch_incoming = 0;
        orri_cluster_trim(b->world, to);
        if (to->row_count < to->row_capacity && to->chunk_count > 0) {
            orri_chunk* last = to->chunks[to->chunk_count - 1];
            uint32_t rows = orri_chunk_rows(last);
            orri_rows_close(last, rows, last->capacity - rows);
        }
        if (from->batch_created) {
            orri_cluster_undo(b->world, to);
        }
        from->batch_transition = NULL;
    }
}

// Prepares all source clusters. `direction` is an ORRI_EDGE_ value; -1: the transitions are known,
// or rows are destroyed.
static orr_result batch_prepare(batch_work* b, int direction)
{
    orr_world* world = b->world;
    for (uint32_t i = 0; i < b->cluster_count; i++) {
        orri_cluster* from = b->clusters[i];
        from->batch_tail = from->row_count;
        if (direction >= 0) {
            from->batch_transition = orri_transition_edge(world, b->call, from, b->type, direction,
                                                          &from->batch_created);
            if (from->batch_transition == NULL) {
                batch_abandon(b, i);
                return orri_env_result(&world->env);
            }
        }
        if (!batch_prepare_source(world, from) ||
            (from->batch_transition != NULL && !batch_prepare_target(world, from))) {
            batch_abandon(b, i + 1);
            return orri_refuse_room(world, b->call);
        }
    }
    return ORR_OK;
}

// ---- making new values --------------------------------------------------------------------------

// True for the column that the given values go to.
static bool batch_has_values(const batch_work* b, const orri_cluster* to, uint32_t column)
{
    return b->values != NULL && to->columns[column].type == b->value_type;
}

// Destructs the presets in the first `column_count` new columns; in the last of them only
// `rows_of_last` rows.
static void batch_destruct_new(batch_work* b, const orri_cluster* from, uint32_t column_count,
                               uint32_t rows_of_last)
{
    const orri_transition* transition = from->batch_transition;
    for (uint32_t i = 0; i < column_count; i++) {
        uint32_t rows = i + 1 == column_count ? rows_of_last : from->batch_count;
        if (!batch_has_values(b, transition->to, transition->added[i])) {
            orri_column_destruct(transition->to, transition->added[i], from->batch_base, rows);
        }
    }
}

// Makes presets in all new columns but the one of the given values. False when a hook refuses
// (reported).
static bool batch_construct_cluster(batch_work* b, orri_cluster* from)
{
    const orri_transition* transition = from->batch_transition;
    for (uint32_t i = 0; i < transition->new_count; i++) {
        if (!batch_has_values(b, transition->to, transition->added[i]) &&
            !orri_column_construct(transition->to, transition->added[i], from->batch_base,
                                   from->batch_count)) {
            batch_destruct_new(b, from, i, from->batch_count);
            (void)orri_refuse_hook(b->world, b->call,
                                   transition->to->columns[transition->added[i]].type);
            return false;
        }
    }
    return true;
}

// Copies the given values, which hooks may refuse, one by one into the rows they will have. Undoes
// all copies on refusal (reported).
static bool batch_copy_values(batch_work* b)
{
    uint32_t size = b->value_type->info.size;
    uint32_t i = 0;
    for (; i < b->count; i++) {
        if (b->places[i] == BATCH_STAYS) {
            continue;
        }
        orri_cluster* from = orri_place_chunk(b->world, b->places[i])->cluster;
        int32_t column = orri_cluster_find_column(from->batch_transition->to, b->type);
        uint32_t row = from->batch_base + from->batch_used;
        if (!orri_cells_make(orri_cluster_chunk_of(from->batch_transition->to, row),
                             (uint32_t)column, row & ORRI_SLOT_MASK, 1,
                             b->values + (size_t)i * size)) {
            break;
        }
        from->batch_used++;
    }
    bool done = i == b->count;
    for (uint32_t k = 0; k < b->cluster_count; k++) {
        orri_cluster* from = b->clusters[k];
        if (!done) {
            int32_t column = orri_cluster_find_column(from->batch_transition->to, b->type);
            orri_column_destruct(from->batch_transition->to, (uint32_t)column, from->batch_base,
                                 from->batch_used);
        }
        from->batch_used = 0;
    }
    if (!done) {
        (void)orri_refuse_hook(b->world, b->call, b->value_type);
    }
    return done;
}

// Makes all values of new columns, except plain given values, which are copied when the rows move.
static orr_result batch_construct(batch_work* b)
{
    for (uint32_t i = 0; i < b->cluster_count; i++) {
        if (!batch_construct_cluster(b, b->clusters[i])) {
            while (i-- > 0) {
                batch_destruct_new(b, b->clusters[i], b->clusters[i]->batch_transition->new_count,
                                   b->clusters[i]->batch_count);
            }
            return ORR_ERR_HOOK;
        }
    }
    if (b->values != NULL && !b->value_type->plain && !batch_copy_values(b)) {
        return ORR_ERR_HOOK;
    }
    return ORR_OK;
}

static bool batch_prepare_relations_all(batch_work* b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->places[i] == BATCH_STAYS) {
            continue;
        }
        const orri_chunk* chunk = orri_place_chunk(b->world, b->places[i]);
        orri_cluster* from = chunk->cluster;
        uint32_t row = from->batch_base + from->batch_used++;
        if (from->batch_transition->indexed &&
            !orri_relation_prepare_move(b->world, from->batch_transition, row,
                                        orri_chunk_ids(chunk)[orri_place_slot(b->places[i])])) {
            return false;
        }
    }
    return true;
}

// Makes the pages for the links of new values (relation.h). Destructs all values on refusal.
static orr_result batch_prepare_relations(batch_work* b)
{
    bool done = b->world->relations.count == 0 || batch_prepare_relations_all(b);
    for (uint32_t k = 0; k < b->cluster_count; k++) {
        orri_cluster* from = b->clusters[k];
        const orri_transition* transition = from->batch_transition;
        from->batch_used = 0;
        for (uint32_t i = 0; !done && i < transition->new_count; i++) {
            // Values of plain types are not made yet, and need no destruct.
            orri_column_destruct(transition->to, transition->added[i], from->batch_base,
                                 from->batch_count);
        }
    }
    return done ? ORR_OK : orri_refuse_memory(&b->world->env, "indexing entity references");
}

// ---- moving -------------------------------------------------------------------------------------

// Number of items from `i` on, at most `room`, whose rows are adjacent in one chunk.
static uint32_t batch_run(const batch_work* b, uint32_t i, uint32_t room)
{
    uint32_t place = b->places[i];
    uint32_t most = ORR_CHUNK_CAPACITY - orri_place_slot(place);
    most = most < room ? most : room;
    most = most < b->count - i ? most : b->count - i;
    uint32_t run = 1;
    while (run < most && b->places[i + run] == place + run) {
        run++;
    }
    return run;
}

void orri_batch_keep(const orri_transition* transition, orri_chunk* target, uint32_t target_slot,
                     orri_chunk* chunk, uint32_t slot, uint32_t run)
{
    for (uint32_t i = 0; i < transition->kept_count; i++) {
        orri_transition_pair pair = transition->kept[i];
        uint8_t* to = target->columns[pair.to].data + (size_t)target_slot * pair.size;
        uint8_t* from = chunk->columns[pair.from].data + (size_t)slot * pair.size;
        const orri_type* type = transition->plain ? NULL
                                                  : transition->from->columns[pair.from].type;
        if (type != NULL && !type->plain) {
            orri_cells_move(orri_cells_at(target, pair.to, target_slot),
                            orri_cells_at(chunk, pair.from, slot), run);
        } else if (run == 1) {
            orri_value_move(to, from, pair.size);
        } else {
            memcpy(to, from, (size_t)run * pair.size);
        }
    }
    if (ORR_UNLIKELY(transition->resized_count > 0)) {
        orri_cells_resize(transition, target, target_slot, chunk, slot, run);
    }
}

void orri_batch_drop(const orri_transition* transition, orri_chunk* chunk, uint32_t slot,
                     uint32_t run)
{
    for (uint32_t i = 0; !transition->dropped_plain && i < transition->dropped_count; i++) {
        orri_cells_destruct(orri_cells_at(chunk, transition->dropped[i], slot), run);
    }
}

// Copies plain given values into the new column of a run of rows.
static void batch_set_values(const batch_work* b, const orri_transition* transition,
                             orri_chunk* target, uint32_t target_slot, uint32_t i, uint32_t run)
{
    uint32_t size = b->value_type->info.size;
    int32_t column = orri_cluster_find_column(transition->to, b->type);
    uint8_t* to = target->columns[column].data + (size_t)target_slot * size;
    const uint8_t* from = b->values + (size_t)i * size;
    if (transition->to->columns[column].counts != 0) {
        (void)orri_cells_make(target, (uint32_t)column, target_slot, run,
                              from); // No hook: no refusal.
        return;
    }
    if (run == 1) {
        orri_value_move(to, from, size);
    } else {
        memcpy(to, from, (size_t)run * size);
    }
    if (b->value_type->info.has_padding) {
        orri_rows_clean(b->value_type, to, run);
    }
}

// Moves a run of rows to its target and leaves holes.
static void batch_move_run(const batch_work* b, orri_chunk* chunk, uint32_t slot, uint32_t i,
                           uint32_t run)
{
    orr_world* world = b->world;
    orri_cluster* from = chunk->cluster;
    const orri_transition* transition = from->batch_transition;
    uint32_t row = from->batch_base + from->batch_used;
    orri_chunk* target = orri_cluster_chunk_of(transition->to, row);
    uint32_t target_slot = row & ORRI_SLOT_MASK;
    orri_chunk_stamp(world, target);
    orri_batch_keep(transition, target, target_slot, chunk, slot, run);
    orri_batch_drop(transition, chunk, slot, run);
    if (b->values != NULL && b->value_type->plain) {
        batch_set_values(b, transition, target, target_slot, i, run);
    }
    if (ORR_UNLIKELY(transition->to->has_bits)) {
        orri_transition_move_bits(transition, target, target_slot, chunk, slot, run);
    }
    uint32_t* ids = orri_chunk_ids(chunk) + slot;
    uint32_t* target_ids = orri_chunk_ids(target) + target_slot;
    uint32_t place = orri_place_make(target, target_slot);
    for (uint32_t k = 0; k < run; k++) {
        orri_record* record = orri_index_write(world, ids[k]);
        record->generation &= ~ORRI_DEAD;
        record->place = place + k;
        target_ids[k] = ids[k];
        ids[k] = ORRI_INDEX_NONE;
    }
    for (uint32_t k = 0; transition->indexed && k < run; k++) {
        orri_relation_moved(world, transition, row + k, target_ids[k]);
    }
    from->batch_used += run;
}

static void batch_move_all(const batch_work* b)
{
    for (uint32_t i = 0, run; i < b->count; i += run) {
        run = 1;
        uint32_t place = b->places[i];
        if (place == BATCH_STAYS) {
            continue;
        }
        orri_chunk* chunk = orri_place_chunk(b->world, place);
        uint32_t row = chunk->cluster->batch_base + chunk->cluster->batch_used;
        run = batch_run(b, i, ORR_CHUNK_CAPACITY - (row & ORRI_SLOT_MASK));
        orri_chunk_stamp(b->world, chunk);
        batch_move_run(b, chunk, orri_place_slot(place), i, run);
    }
}

static void batch_kill_all(const batch_work* b)
{
    for (uint32_t i = 0, run; i < b->count; i += run) {
        orri_chunk* chunk = orri_place_chunk(b->world, b->places[i]);
        const orri_cluster* cluster = chunk->cluster;
        uint32_t slot = orri_place_slot(b->places[i]);
        run = batch_run(b, i, ORR_CHUNK_CAPACITY);
        orri_chunk_stamp(b->world, chunk);
        for (uint32_t c = 0; !cluster->plain && c < cluster->type_count; c++) {
            orri_cells_destruct(orri_cells_at(chunk, c, slot), run);
        }
        uint32_t* ids = orri_chunk_ids(chunk) + slot;
        orri_index_kill(b->world, ids, run);
        for (uint32_t k = 0; k < run; k++) {
            ids[k] = ORRI_INDEX_NONE;
        }
    }
}

// ---- filling the gaps ---------------------------------------------------------------------------

void orri_batch_fill_hole(orr_world* world, orri_chunk* chunk, uint32_t slot)
{
    orri_cluster* cluster = chunk->cluster;
    uint32_t tail = cluster->batch_tail;
    orri_chunk* last;
    do {
        tail--;
        last = orri_cluster_chunk_of(cluster, tail);
    } while (orri_chunk_ids(last)[tail & ORRI_SLOT_MASK] == ORRI_INDEX_NONE);
    cluster->batch_tail = tail;
    orri_chunk_stamp_rows(world, last);
    orri_row_relocate(world, chunk, slot, last, tail & ORRI_SLOT_MASK);
}

void orri_batch_cut(orr_world* world, orri_cluster* cluster)
{
    uint32_t rows = cluster->row_count - cluster->batch_count;
    orri_chunk* last = rows > 0 ? orri_cluster_chunk_of(cluster, rows - 1) : NULL;
    uint32_t before = last != NULL ? orri_chunk_rows(last) : 0;
    cluster->row_count = rows;
    if (last != NULL) {
        orri_rows_close(last, orri_chunk_rows(last), before - orri_chunk_rows(last));
    }
    orri_cluster_trim(world, cluster);
}

static void batch_fill_gaps(batch_work* b)
{
    orr_world* world = b->world;
    bool all_empty = true;
    for (uint32_t i = 0; i < b->cluster_count; i++) {
        all_empty = all_empty && b->clusters[i]->row_count == b->clusters[i]->batch_count;
    }
    for (uint32_t i = 0; !all_empty && i < b->count; i++) {
        if (b->places[i] == BATCH_STAYS) {
            continue;
        }
        orri_chunk* chunk = orri_place_chunk(world, b->places[i]);
        uint32_t slot = orri_place_slot(b->places[i]);
        uint32_t row = chunk->number * ORR_CHUNK_CAPACITY + slot;
        if (row < chunk->cluster->row_count - chunk->cluster->batch_count) {
            orri_batch_fill_hole(world, chunk, slot);
        }
    }
    for (uint32_t i = 0; i < b->cluster_count; i++) {
        orri_cluster* cluster = b->clusters[i];
        if (cluster->batch_transition != NULL) {
            cluster->batch_transition->to->row_count += cluster->batch_count;
        }
        orri_batch_cut(world, cluster);
    }
}

// ---- the calls ----------------------------------------------------------------------------------

static bool batch_lacks_type(const batch_work* b, const orri_cluster* cluster)
{
    return orri_cluster_find_column(cluster, b->type) < 0;
}

static bool batch_has_type(const batch_work* b, const orri_cluster* cluster)
{
    return orri_cluster_find_column(cluster, b->type) >= 0;
}

// Checks the arguments that all batches have.
static orr_result batch_check(const orr_world* world, const char* call, orr_type type,
                              const orr_entity* entities, uint32_t count)
{
    static const orr_entity nobody = {0};
    orr_result result =
        orri_check_open_of(world, call, type, entities != NULL && count > 0 ? entities[0] : nobody);
    if (result == ORR_OK && entities == NULL && count > 0) {
        result = orri_refuse_argument(world, call, "entities is NULL");
    }
    return result;
}

orr_result orr_destroy_many(orr_world* world, const orr_entity* entities, uint32_t count)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_destroy_many";
    orr_result result = batch_check(world, call, (orr_type){0}, entities, count);
    if (result != ORR_OK || count == 0) {
        return result;
    }
    return world->relations.count != 0
               ? orri_relation_destroy(world, call, entities, count)
               : orri_destroy_batch(world, call, entities, count, NULL, NULL);
}

orr_result orri_destroy_batch(orr_world* world, const char* call, const orr_entity* entities,
                              uint32_t count, void (*before)(void* user), void* user)
{
    batch_work b = {.world = world, .call = call, .count = count};
    orr_result result = batch_begin(&b);
    if (result != ORR_OK) {
        return result;
    }
    result = batch_collect(&b, entities, NULL);
    if (result == ORR_OK) {
        // Marks are cleared before anything can be refused, because an error handler may read the
        // world.
        batch_unmark(&b, entities, count);
        result = batch_prepare(&b, -1);
        if (result == ORR_OK && before != NULL) {
            before(user);
        }
        if (result == ORR_OK) {
            batch_kill_all(&b);
            batch_fill_gaps(&b);
        }
    }
    batch_end(&b);
    return result;
}

// Values of a multiple type are allowed only for entities that lack it: otherwise it is not clear
// which instance they are for.
static orr_result batch_check_lacking(const batch_work* b, const orr_entity* entities)
{
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->places[i] == BATCH_STAYS) {
            orri_id_text name = orri_entity_format(b->world, entities[i]);
            return orri_refuse(&b->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_ENTITY_REFUSED,
                               "%s: entity %s has %s already; add one more with orr_instance_add() "
                               "or set one with orr_instance_set()",
                               b->call, name.text, b->value_type->info.name);
        }
    }
    return ORR_OK;
}

// Moves the rows that were collected: prepare, construct, move, fill gaps.
static orr_result batch_transfer(batch_work* b, int direction)
{
    orr_result result = batch_prepare(b, direction);
    if (result != ORR_OK) {
        return result;
    }
    result = batch_construct(b);
    if (result == ORR_OK) {
        result = batch_prepare_relations(b);
    }
    if (result != ORR_OK) {
        batch_abandon(b, b->cluster_count);
        return result;
    }
    batch_move_all(b);
    batch_fill_gaps(b);
    return ORR_OK;
}

static orr_result batch_add_or_remove(batch_work* b, const orr_entity* entities, int direction)
{
    orr_result result = batch_begin(b);
    if (result != ORR_OK) {
        return result;
    }
    result =
        batch_collect(b, entities, direction == ORRI_EDGE_ADD ? batch_lacks_type : batch_has_type);
    if (result == ORR_OK) {
        orri_staged staged = {0};
        bool sets = direction == ORRI_EDGE_ADD && b->values != NULL;
        batch_unmark(b, entities, b->count);
        if (sets && b->value_type->info.multiplicity == ORR_MULTIPLE) {
            sets = false;
            result = batch_check_lacking(b, entities);
        }
        if (sets) {
            result = orri_stage_values(b->world, b->call, b->value_type, entities, b->places,
                                       b->count, b->values, &staged);
        }
        if (result == ORR_OK) {
            result = batch_transfer(b, direction);
        }
        if (sets) {
            orri_stage_end(b->world, &staged, result == ORR_OK);
        }
    }
    batch_end(b);
    return result;
}

// Finds the type; it must be pinned or of a kind that clusters store.
static orr_result batch_check_type(batch_work* b)
{
    b->value_type = orri_type_at(&b->world->schema, b->type);
    return b->value_type != NULL && orri_type_pinned(b->value_type)
               ? ORR_OK
               : orri_check_storable(b->world, b->call, b->type);
}

orr_result orr_component_add_many(orr_world* world, const orr_entity* entities, uint32_t count,
                                  orr_type type, const void* values)
{
    ORR_ASSERT(world != NULL);
    batch_work b = {.world = world,
                    .call = "orr_component_add_many",
                    .count = count,
                    .type = type,
                    .values = values};
    orr_result result = batch_check(world, b.call, type, entities, count);
    if (result == ORR_OK) {
        result = batch_check_type(&b);
    }
    if (result != ORR_OK || count == 0) {
        return result;
    }
    if (values != NULL) {
        result = orri_check_references(world, b.call, b.value_type, entities, values, count);
        if (result != ORR_OK) {
            return result;
        }
    }
    return orri_type_pinned(b.value_type)
               ? orri_pinned_add_many(world, b.call, entities, count, b.value_type, values)
               : batch_add_or_remove(&b, entities, ORRI_EDGE_ADD);
}

orr_result orr_component_remove_many(orr_world* world, const orr_entity* entities, uint32_t count,
                                     orr_type type)
{
    ORR_ASSERT(world != NULL);
    batch_work b = {
        .world = world, .call = "orr_component_remove_many", .count = count, .type = type};
    orr_result result = batch_check(world, b.call, type, entities, count);
    if (result == ORR_OK) {
        result = batch_check_type(&b);
    }
    if (result != ORR_OK || count == 0) {
        return result;
    }
    return orri_type_pinned(b.value_type)
               ? orri_pinned_remove_many(world, b.call, entities, count, b.value_type)
               : batch_add_or_remove(&b, entities, ORRI_EDGE_REMOVE);
}

orr_result orri_rows_move_range(orr_world* world, const char* call, orri_transition* transition,
                                uint32_t first, uint32_t count)
{
    batch_work b = {.world = world, .call = call, .count = count};
    orr_result result = batch_begin(&b);
    if (result != ORR_OK) {
        return result;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = first + i;
        b.places[i] =
            orri_place_make(orri_cluster_chunk_of(transition->from, row), row & ORRI_SLOT_MASK);
    }
    if (!batch_count_row(&b, transition->from)) {
        result = orri_refuse_memory(&world->env, "starting a batch");
    } else {
        transition->from->batch_count = count;
        transition->from->batch_transition = transition;
        result = batch_transfer(&b, -1);
    }
    batch_end(&b);
    return result;
}

#undef BATCH_AHEAD
#undef BATCH_STAYS
