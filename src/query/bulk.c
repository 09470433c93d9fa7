// SPDX-License-Identifier: MIT
// Calls that change all entities that match a query. If whole clusters match and their target
// clusters are empty, chunks are transferred without touching a row. Otherwise the entities are
// listed and passed to the store's batch calls. In both cases the call is done completely, or
// refused without effect.
#include "query/query.h"
#include "store/world/access.h"

// ---- whole clusters -----------------------------------------------------------------------------

// One transition for each cluster that a call changes.
typedef struct bulk_edge {
    orri_transition** transitions; // [count]
    bool* created;                 // [count]: the transition's target cluster is new.
    uint32_t count, capacity;
} bulk_edge;

// True if every entry matches with all its rows.
static bool bulk_all_whole(const orr_query* query)
{
    bool whole = query->pinned_matches == NULL;
    for (uint32_t e = 0; e < query->entry_count && whole; e++) {
        const orri_cluster* cluster = query->entries[e].cluster;
        whole = cluster == NULL || cluster->row_count == 0 ||
                orri_entry_match(query, e) == ORRI_MATCH_ALL;
    }
    return whole;
}

// Frees the lists. With `undo`, deletes the clusters that were created for the call.
static void bulk_edge_end(orr_world* world, bulk_edge* edge, bool undo)
{
    for (uint32_t i = edge->count; undo && i-- > 0;) {
        if (edge->created[i]) {
            orri_cluster_undo(world, edge->transitions[i]->to);
        }
    }
    ORRI_FREE(&world->env, ORR_MEMORY_TEMP, orri_transition*, edge->transitions, edge->capacity);
    ORRI_FREE(&world->env, ORR_MEMORY_TEMP, bool, edge->created, edge->capacity);
}

// Lists the clusters that the call changes; `out` may be NULL to count only. The list is complete
// before a cluster is created, because a new cluster can change the entries.
static uint32_t bulk_list_clusters(const orr_query* query, orr_type type, int direction,
                                   orri_cluster** out)
{
    uint32_t count = 0;
    for (uint32_t e = 0; e < query->entry_count; e++) {
        orri_cluster* cluster = query->entries[e].cluster;
        if (cluster != NULL && cluster->row_count > 0 &&
            (orri_cluster_find_column(cluster, type) >= 0) == (direction == ORRI_EDGE_REMOVE)) {
            if (out != NULL) {
                out[count] = cluster;
            }
            count++;
        }
    }
    return count;
}

// Finds the transitions of all clusters that the call changes. `*fits` becomes true if all of them
// can transfer whole chunks.
static orr_result bulk_edge_begin(orr_query* query, const char* call, orr_type type, int direction,
                                  bulk_edge* edge, bool* fits)
{
    orr_world* world = query->world;
    uint32_t count = bulk_list_clusters(query, type, direction, NULL);
    orri_cluster** clusters = ORRI_ALLOC(&world->env, ORR_MEMORY_TEMP, orri_cluster*, count);
    edge->transitions = ORRI_ALLOC(&world->env, ORR_MEMORY_TEMP, orri_transition*, count);
    edge->created = ORRI_ALLOC(&world->env, ORR_MEMORY_TEMP, bool, count);
    edge->capacity = count;
    orr_result result = ORR_OK;
    if (clusters == NULL || edge->transitions == NULL || edge->created == NULL) {
        result = orri_refuse_memory(&world->env, "changing all entities of a query");
    } else {
        (void)bulk_list_clusters(query, type, direction, clusters);
    }
    *fits = true;
    for (uint32_t i = 0; i < count && result == ORR_OK; i++) {
        orri_transition* transition =
            orri_transition_edge(world, call, clusters[i], type, direction, &edge->created[i]);
        if (transition == NULL) {
            result = orri_env_result(&world->env);
            break;
        }
        edge->transitions[edge->count++] = transition;
        // A type that needs others adds them too, so several clusters can have the same target.
        // Then rows must be copied.
        *fits = *fits && orri_transition_moves_chunks(transition) &&
                transition->to->batch_incoming == 0;
        transition->to->batch_incoming = 1; // Temporary mark: the cluster is a target.
    }
    for (uint32_t i = 0; i < edge->count; i++) {
        edge->transitions[i]->to->batch_incoming = 0;
    }
    ORRI_FREE(&world->env, ORR_MEMORY_TEMP, orri_cluster*, clusters, count);
    return result;
}

// Writes one plain value to all rows of a column. The column is new, so no snapshot shares its
// blocks.
static void bulk_fill(orr_world* world, orri_cluster* cluster, orr_type type, const void* value)
{
    int32_t column = orri_cluster_find_column(cluster, type);
    size_t size = cluster->columns[column].size;
    for (uint32_t i = 0; size > 0 && i < cluster->chunk_count; i++) {
        orri_chunk* chunk = cluster->chunks[i];
        uint8_t* data = orri_column_write(world, chunk, (uint32_t)column);
        ORR_ASSERT(data != NULL);
        uint32_t rows = orri_chunk_rows(chunk);
        for (uint32_t row = 0; row < rows; row++) {
            orri_value_move(data + row * size, value, (uint32_t)size);
        }
        orri_rows_clean(cluster->columns[column].type, data, rows);
    }
}

// ---- by entity ----------------------------------------------------------------------------------

// Lists the entities of the query that have the type (ORRI_EDGE_REMOVE) or lack it (ORRI_EDGE_ADD),
// or all (direction -1). The list has `*count` entities and memory for `*capacity`. NULL if refused
// (reported).
static orr_entity* bulk_list(orr_query* query, orr_type type, int direction, uint32_t* capacity,
                             uint32_t* count)
{
    orr_world* world = query->world;
    *capacity = (uint32_t)orr_query_count(query);
    orr_entity* list = ORRI_ALLOC(&world->env, ORR_MEMORY_TEMP, orr_entity, *capacity);
    if (list == NULL) {
        (void)orri_refuse_memory(&world->env, "listing the entities of a query");
        return NULL;
    }
    uint32_t found = (uint32_t)orr_query_entities(query, 0, list, *capacity);
    *count = 0;
    for (uint32_t i = 0; i < found; i++) {
        if (orri_id_transient(list[i]) && direction >= 0) {
            continue; // Adding and removing skip transient entities.
        }
        if (direction < 0 ||
            orr_component_has(world, list[i], type) == (direction == ORRI_EDGE_REMOVE)) {
            list[(*count)++] = list[i];
        }
    }
    if (found < *capacity) { // A refresh was refused (reported).
        ORRI_FREE(&world->env, ORR_MEMORY_TEMP, orr_entity, list, *capacity);
        return NULL;
    }
    return list;
}

static orr_result bulk_add_listed(orr_query* query, const orri_type* type, const orr_entity* list,
                                  uint32_t count, const void* value)
{
    orr_world* world = query->world;
    size_t size = type->info.size;
    orr_type handle = {type->id};
    if (value == NULL || size == 0 || count == 0) {
        return orr_component_add_many(world, list, count, handle, NULL);
    }
    uint8_t* values =
        orri_alloc(&world->env, ORR_MEMORY_TEMP, orri_size_mul(size, count), ORRI_BLOCK_ALIGN);
    if (values == NULL) {
        return orri_refuse_memory(&world->env, "adding a component to all entities of a query");
    }
    for (uint32_t i = 0; i < count; i++) {
        memcpy(values + i * size, value, size);
    }
    orr_result result = orr_component_add_many(world, list, count, handle, values);
    orri_free(&world->env, ORR_MEMORY_TEMP, values, size * count, ORRI_BLOCK_ALIGN);
    return result;
}

// ---- the calls ----------------------------------------------------------------------------------

// Checks that the call is allowed and the type exists. NULL if refused; `*result` is the reason.
static const orri_type* bulk_check(const orr_query* query, const char* call, orr_type type,
                                   orr_result* result)
{
    const orri_type* found = orri_type_at(&query->world->schema, type);
    *result = found != NULL ? orri_check_open_of(query->world, call, type, (orr_entity){0})
                            : orri_refuse_type(query->world, call, type);
    return *result == ORR_OK ? found : NULL;
}

// Tries to transfer whole chunks. `*done` becomes true if that was done, or if the call is refused;
// otherwise the call must be done by entity.
static orr_result bulk_whole(orr_query* query, const char* call, const orri_type* type,
                             int direction, const void* value, bool* done)
{
    orr_world* world = query->world;
    orr_type handle = {type->id};
    *done = false;
    if (type->info.storage == ORR_PINNED || (value != NULL && !type->plain) ||
        type->info.multiplicity == ORR_MULTIPLE || !bulk_all_whole(query)) {
        return ORR_OK;
    }
    bulk_edge edge = {0};
    bool fits;
    orr_result result = bulk_edge_begin(query, call, handle, direction, &edge, &fits);
    if (result == ORR_OK && fits) {
        result = orri_chunk_transfer_many(world, edge.transitions, edge.count);
        for (uint32_t i = 0; result == ORR_OK && value != NULL && i < edge.count; i++) {
            bulk_fill(world, edge.transitions[i]->to, handle, value);
        }
    }
    *done = result != ORR_OK || fits;
    bulk_edge_end(world, &edge, result != ORR_OK || !fits);
    return result;
}

orr_result orr_query_add(orr_query* query, orr_type type, const void* value)
{
    ORR_ASSERT(query != NULL);
    orr_world* world = query->world;
    orr_result result;
    const orri_type* found = bulk_check(query, "orr_query_add", type, &result);
    if (found != NULL && value != NULL) {
        result = orri_check_references(world, "orr_query_add", found, NULL, value, 1);
    }
    if (result != ORR_OK) {
        return result;
    }
    bool done;
    result = bulk_whole(query, "orr_query_add", found, ORRI_EDGE_ADD, value, &done);
    if (done) {
        return result;
    }
    uint32_t capacity, count;
    orr_entity* list = bulk_list(query, type, ORRI_EDGE_ADD, &capacity, &count);
    if (list == NULL) {
        return orri_env_result(&world->env);
    }
    result = bulk_add_listed(query, found, list, count, value);
    ORRI_FREE(&world->env, ORR_MEMORY_TEMP, orr_entity, list, capacity);
    return result;
}

orr_result orr_query_remove(orr_query* query, orr_type type)
{
    ORR_ASSERT(query != NULL);
    orr_world* world = query->world;
    orr_result result;
    const orri_type* found = bulk_check(query, "orr_query_remove", type, &result);
    if (found == NULL) {
        return result;
    }
    bool done;
    result = bulk_whole(query, "orr_query_remove", found, ORRI_EDGE_REMOVE, NULL, &done);
    if (done) {
        return result;
    }
    uint32_t capacity, count;
    orr_entity* list = bulk_list(query, type, ORRI_EDGE_REMOVE, &capacity, &count);
    if (list == NULL) {
        return orri_env_result(&world->env);
    }
    result = orr_component_remove_many(world, list, count, type);
    ORRI_FREE(&world->env, ORR_MEMORY_TEMP, orr_entity, list, capacity);
    return result;
}

// Destroys all rows of all entries.
static orr_result bulk_clear(orr_query* query)
{
    orr_world* world = query->world;
    if (!orri_index_prepare_all(world)) {
        return orri_refuse_memory(&world->env, "copying shared pages of the entity index");
    }
    for (uint32_t e = 0; e < query->entry_count; e++) {
        if (query->entries[e].cluster != NULL) {
            (void)orri_cluster_kill_rows(world, query->entries[e].cluster);
        }
    }
    return ORR_OK;
}

orr_result orr_query_destroy_entities(orr_query* query)
{
    ORR_ASSERT(query != NULL);
    orr_world* world = query->world;
    orr_result result = orri_check_open(world, "orr_query_destroy_entities");
    if (result != ORR_OK) {
        return result;
    }
    if (bulk_all_whole(query) && !orri_world_related(world)) {
        return bulk_clear(query);
    }
    uint32_t capacity, count;
    orr_entity* list = bulk_list(query, (orr_type){0}, -1, &capacity, &count);
    if (list == NULL) {
        return orri_env_result(&world->env);
    }
    uint32_t transient = count; // Transient entities come last.
    while (transient > 0 && orri_id_transient(list[transient - 1])) {
        transient--;
    }
    result = orr_destroy_many(world, list, transient);
    for (uint32_t i = transient; result == ORR_OK && i < count; i++) {
        orri_transient_destroy(world, list[i]);
    }
    ORRI_FREE(&world->env, ORR_MEMORY_TEMP, orr_entity, list, capacity);
    return result;
}
