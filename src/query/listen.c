// SPDX-License-Identifier: MIT
// Receives the store's notifications (orri_listener) and passes them to the queries of the world,
// in order of their creation: clusters that are created or deleted, pinned values that are added or
// removed.
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

static bool listen_cluster_room(orr_world* world, uint32_t count)
{
    for (orr_query* query = world->queries->first; query != NULL; query = query->next) {
        if (!orri_entries_room(query, count)) {
            return false;
        }
    }
    return true;
}

// ---- pinned types: a log for each type that some query requires ---------------------------------

#define LISTEN_LOG_MIN 4096u // Changes that a log keeps at least.

orri_watch* orri_watch_of(const orr_world* world, orr_type type)
{
    uint32_t index = orri_type_index(world, type);
    return index < world->queries->watch_capacity ? &world->queries->watches[index] : NULL;
}

// Makes room for one more change: grows the log, or discards it. False if not even one change fits.
static bool listen_log_room(orr_world* world, orri_watch* watch, const orri_pool* pool)
{
    uint32_t most = pool->live / 2 * 4 > LISTEN_LOG_MIN ? pool->live / 2 * 4 : LISTEN_LOG_MIN;
    if (watch->capacity < most && ORRI_RESERVE(&world->env, ORR_MEMORY_QUERY, &watch->log,
                                               &watch->capacity, watch->count + 1)) {
        return true;
    }
    watch->base += watch->count;
    watch->count = 0;
    return watch->capacity > 0;
}

static void listen_pinned_changed(orr_world* world, const orri_pool* pool, uint32_t index)
{
    orri_watch* watch = orri_watch_of(world, (orr_type){pool->type->id});
    if (watch == NULL || watch->readers == 0) {
        return;
    }
    if (ORR_LIKELY(watch->count < watch->capacity) || listen_log_room(world, watch, pool)) {
        watch->log[watch->count++] = index;
    } else {
        watch->base++; // The change could not be kept: all queries rebuild their sets.
    }
}

static bool listen_watch_type(orr_world* world, orr_type type)
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
    queries->watches[index].readers++;
    return true;
}

// Stops watching the first `count` required types of a query.
static void listen_unwatch(orr_query* query, uint32_t count)
{
    for (uint32_t t = 0; t < count; t++) {
        orri_watch* watch = orri_watch_of(query->world, query->pinned_matches->required[t].type);
        if (--watch->readers == 0) {
            watch->base += watch->count;
            watch->count = 0;
        }
    }
}

static bool listen_watch_all(orr_world* world, orr_query* query)
{
    for (uint32_t t = 0; query->pinned_matches != NULL && t < query->pinned_matches->required_count;
         t++) {
        if (!listen_watch_type(world, query->pinned_matches->required[t].type)) {
            listen_unwatch(query, t);
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
        ORRI_RELEASE(&world->env, ORR_MEMORY_QUERY, queries->watches[w].log,
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
            (void)orri_refuse_memory(&world->env, "creating a query");
            return false;
        }
        world->queries->structure = 1;
        world->listener = (orri_listener){listen_cluster_match,   listen_cluster_gone,
                                          listen_cluster_room,    listen_pinned_changed,
                                          orri_run_caches_forget, orri_run_caches_settle,
                                          listen_world_gone};
    }
    if (!listen_watch_all(world, query)) {
        (void)orri_refuse_memory(&world->env, "creating a query");
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
    world->queries->refreshed += query->order != NULL || query->pinned_matches != NULL;
    return true;
}

void orri_unlisten(orr_query* query)
{
    struct orri_queries* queries = query->world->queries;
    listen_unwatch(query,
                   query->pinned_matches != NULL ? query->pinned_matches->required_count : 0);
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
    queries->refreshed -= query->order != NULL || query->pinned_matches != NULL;
}

#undef LISTEN_LOG_MIN
