// SPDX-License-Identifier: MIT
// What the store tells: clusters that come and go, pinned values that come and go. All queries of a world hear it, in
// order of their creation.
#include "query/query.h"

static bool listen_cluster_match(orr_world* world, orri_cluster* cluster)
{
    for (orr_query* query = world->queries->first; query != NULL; query = query->next) {
        if (!orri_entries_match(query, cluster)) {
            return false;
        }
    }
    return true;
}

static void listen_cluster_gone(orr_world* world, const orri_cluster* cluster)
{
    for (orr_query* query = world->queries->first; query != NULL; query = query->next) {
        orri_entries_drop(query, cluster);
    }
}

// ---- pinned types: only queries that name the type are told -----------------------------------------------------

static const orri_watch* listen_watch(const orr_world* world, const orri_pool* pool)
{
    static const orri_watch none = {0};
    uint32_t index = orri_type_index(world, (orr_type){pool->type->index1});
    return index < world->queries->watch_capacity ? &world->queries->watches[index] : &none;
}

static bool listen_pinned_reserve(orr_world* world, const orri_pool* pool, uint32_t index,
                                  uint32_t count)
{
    const orri_watch* watch = listen_watch(world, pool);
    for (uint32_t i = 0; i < watch->count; i++) {
        if (!orri_working_reserve(watch->queries[i], index, count)) {
            return false;
        }
    }
    return true;
}

static void listen_pinned_changed(orr_world* world, const orri_pool* pool, uint32_t index)
{
    const orri_watch* watch = listen_watch(world, pool);
    for (uint32_t i = 0; i < watch->count; i++) {
        orri_working_update(watch->queries[i], index);
    }
}

static bool listen_watch_type(orr_world* world, orr_query* query, orr_type type)
{
    struct orri_queries* queries = world->queries;
    uint32_t index = orri_type_index(world, type), old = queries->watch_capacity;
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_QUERY, &queries->watches, &queries->watch_capacity,
                      index + 1)) {
        return false;
    }
    for (uint32_t i = old; i < queries->watch_capacity; i++) {
        queries->watches[i] = (orri_watch){0};
    }
    orri_watch* watch = &queries->watches[index];
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_QUERY, &watch->queries, &watch->capacity,
                      watch->count + 1)) {
        return false;
    }
    watch->queries[watch->count++] = query;
    return true;
}

static void listen_unwatch(orr_query* query)
{
    struct orri_queries* queries = query->world->queries;
    for (uint32_t w = 0; w < queries->watch_capacity; w++) {
        orri_watch* watch = &queries->watches[w];
        uint32_t kept = 0;
        for (uint32_t i = 0; i < watch->count; i++) {
            if (watch->queries[i] != query) {
                watch->queries[kept++] = watch->queries[i];
            }
        }
        watch->count = kept;
    }
}

// All pinned terms but optional ones decide who is in a working set.
static bool listen_watch_all(orr_world* world, orr_query* query)
{
    const orri_leaf* leaf = &query->leaves[0];
    for (uint32_t t = 0; query->working != NULL && t < leaf->term_count; t++) {
        const orri_type* type = orri_type_at(&world->schema, leaf->terms[t].type);
        if (type != NULL && type->info.storage == ORR_PINNED &&
            !listen_watch_type(world, query, leaf->terms[t].type)) {
            listen_unwatch(query);
            return false;
        }
    }
    return true;
}

static void listen_world_gone(orr_world* world)
{
    struct orri_queries* queries = world->queries;
    while (queries->first != NULL) {
        orr_query* query = queries->first;
        queries->first = query->next;
        orri_query_free(query);
    }
    for (uint32_t w = 0; w < queries->watch_capacity; w++) {
        ORRI_RELEASE(&world->env, ORR_MEMORY_QUERY, queries->watches[w].queries,
                     queries->watches[w].capacity);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_QUERY, queries->watches, queries->watch_capacity);
    ORRI_FREE(&world->env, ORR_MEMORY_QUERY, struct orri_queries, queries, 1);
    world->queries = NULL;
}

bool orri_listen(orr_world* world, orr_query* query)
{
    if (world->queries == NULL) {
        world->queries = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_QUERY, struct orri_queries, 1);
        if (world->queries == NULL) {
            (void)orri_refuse_memory(&world->env, "making a query");
            return false;
        }
        world->queries->structure = 1;
        world->listener = (orri_listener){
            listen_cluster_match, listen_cluster_gone, listen_pinned_reserve, listen_pinned_changed,
            orri_lists_forget,    orri_lists_settle,   listen_world_gone};
    }
    if (!listen_watch_all(world, query)) {
        (void)orri_refuse_memory(&world->env, "making a query");
        return false;
    }
    query->prev = world->queries->last;
    if (query->prev != NULL) {
        query->prev->next = query;
    } else {
        world->queries->first = query;
    }
    world->queries->last = query;
    world->queries->count++;
    return true;
}

void orri_unlisten(orr_query* query)
{
    struct orri_queries* queries = query->world->queries;
    listen_unwatch(query);
    if (query->prev != NULL) {
        query->prev->next = query->next;
    } else {
        queries->first = query->next;
    }
    if (query->next != NULL) {
        query->next->prev = query->prev;
    } else {
        queries->last = query->prev;
    }
    queries->count--;
}
