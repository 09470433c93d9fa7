// SPDX-License-Identifier: MIT
// Pinned sets: the entities that have all pinned types that a query requires. The store notifies
// listen.c of every pinned value that is added or removed; the change is logged once, whatever the
// number of queries. When a query is iterated next, its set reads the log, in constant time per
// change. Iteration follows cluster and row. That order, and the pointers to the values, are
// updated at the same time, if members changed or rows moved.
#include "query/query.h"
#include "store/publish/publish.h"

#define PINNED_MATCHES_HIDDEN UINT64_MAX // Sort key of a member whose cluster does not match.

// ---- membership ---------------------------------------------------------------------------------

// Slot that holds the position + 1 of an entity; NULL: there is no page. Transient entities have
// their own pages.
static uint32_t* pinned_matches_position(const orri_pinned_matches* matches, uint32_t index)
{
    bool transient = orri_index_transient(index);
    const orri_positions* positions = &matches->positions[transient];
    uint32_t number = transient ? orri_transient_number(index) : index,
             page = number >> ORRI_PAGE_BITS;
    return page < positions->capacity && positions->pages[page] != NULL
               ? &positions->pages[page][number & ORRI_PAGE_MASK]
               : NULL;
}

// True if the entity has all required pinned types in the required states.
static bool pinned_matches_belongs(const orr_query* query, uint32_t index)
{
    const orri_pinned_matches* matches = query->pinned_matches;
    for (uint32_t t = 0; t < matches->required_count; t++) {
        const orri_required* term = &matches->required[t];
        if (!orri_pinned_has(orri_pool_find(query->world, term->type), index, term->state)) {
            return false;
        }
    }
    return true;
}

// Lists the required pinned types. False if there is no memory.
static bool pinned_matches_find_required(orr_query* query)
{
    orri_pinned_matches* matches = query->pinned_matches;
    const orri_leaf* leaf = &query->leaves[0];
    matches->required =
        ORRI_ALLOC(&query->world->env, ORR_MEMORY_QUERY, orri_required, leaf->term_count);
    for (uint32_t t = 0; matches->required != NULL && t < leaf->term_count; t++) {
        const orri_type* type = orri_type_at(&query->world->schema, leaf->terms[t].type);
        if (leaf->terms[t].kind == ORR_REQUIRED && type != NULL &&
            type->info.storage == ORR_PINNED) {
            matches->required[matches->required_count++] =
                (orri_required){leaf->terms[t].type, leaf->terms[t].state, 0};
        }
    }
    return matches->required != NULL;
}

// Makes sure that the entity has a page. False if there is no memory.
static bool pinned_matches_reserve_page(orr_query* query, uint32_t index)
{
    bool transient = orri_index_transient(index);
    orri_positions* positions = &query->pinned_matches->positions[transient];
    orri_env* env = &query->world->env;
    uint32_t number = transient ? orri_transient_number(index) : index;
    uint32_t page = number >> ORRI_PAGE_BITS, old = positions->capacity;
    if (!ORRI_RESERVE(env, ORR_MEMORY_QUERY, &positions->pages, &positions->capacity, page + 1)) {
        return false;
    }
    for (uint32_t p = old; p < positions->capacity; p++) {
        positions->pages[p] = NULL;
    }
    if (positions->pages[page] == NULL) {
        positions->pages[page] = ORRI_ALLOC_ZERO(env, ORR_MEMORY_QUERY, uint32_t, ORRI_PAGE_SIZE);
    }
    return positions->pages[page] != NULL;
}

// Adds or removes an entity according to its pinned values. The caller has reserved memory.
static void pinned_matches_update(orr_query* query, uint32_t index)
{
    orri_pinned_matches* matches = query->pinned_matches;
    uint32_t* position = pinned_matches_position(matches, index);
    bool belongs = pinned_matches_belongs(query, index);
    matches->dirty = true;
    if (belongs && *position == 0) {
        ORR_ASSERT(matches->count < matches->capacity);
        matches->items[matches->count++] = (orri_ranked){PINNED_MATCHES_HIDDEN, index, 0};
        *position = matches->count;
    } else if (!belongs && position != NULL && *position != 0) {
        uint32_t last = --matches->count;
        orri_ranked moved = matches->items[last];
        matches->items[*position - 1] = moved;
        *pinned_matches_position(matches, moved.index) = *position;
        *position = 0;
    }
}

// ---- memory -------------------------------------------------------------------------------------

// True if the set keeps pointers for a field. Only for required types, whose values exist exactly
// for members. Values of other types can be added and removed without a change of the set, so loops
// look in the pool.
static bool pinned_matches_keeps(const orr_query* query, uint32_t field)
{
    const orri_pinned_matches* matches = query->pinned_matches;
    for (uint32_t t = 0; t < matches->required_count; t++) {
        if (matches->required[t].type.id == query->fields[field].type.id) {
            return true;
        }
    }
    return false;
}

// Grows all arrays. If memory is refused, the old arrays stay.
static bool pinned_matches_grow(orr_query* query, uint32_t needed)
{
    orri_pinned_matches* matches = query->pinned_matches;
    orri_env* env = &query->world->env;
    uint32_t old = matches->capacity;
    uint32_t capacity = old < 32 ? 64 : old * 2;
    capacity = capacity > needed ? capacity : needed;
    orri_ranked* items = ORRI_ALLOC(env, ORR_MEMORY_QUERY, orri_ranked, capacity);
    orri_ranked* scratch = ORRI_ALLOC(env, ORR_MEMORY_QUERY, orri_ranked, capacity);
    void** pointers[ORR_TERMS_MAX] = {NULL};
    bool made = items != NULL && scratch != NULL;
    for (uint32_t f = 0; made && f < query->field_count; f++) {
        if (pinned_matches_keeps(query, f)) {
            pointers[f] = ORRI_ALLOC(env, ORR_MEMORY_QUERY, void*, capacity);
            made = pointers[f] != NULL;
        }
    }
    if (made && matches->count > 0) {
        memcpy(items, matches->items, matches->count * sizeof *items);
    }
    // Free what is not needed: the new memory if some of it was refused, otherwise the old memory.
    ORRI_FREE(env, ORR_MEMORY_QUERY, orri_ranked, made ? matches->items : items,
              made ? old : capacity);
    ORRI_FREE(env, ORR_MEMORY_QUERY, orri_ranked, made ? matches->scratch : scratch,
              made ? old : capacity);
    for (uint32_t f = 0; f < query->field_count; f++) {
        ORRI_FREE(env, ORR_MEMORY_QUERY, void*, made ? matches->pointers[f] : pointers[f],
                  made ? old : capacity);
        matches->pointers[f] = made ? pointers[f] : matches->pointers[f];
        query->hot_fields[f].pinned = matches->pointers[f];
    }
    if (made) {
        matches->items = items;
        matches->scratch = scratch;
        matches->capacity = capacity;
        matches->dirty = true; // The pointers must be found again.
    }
    return made;
}

// Updates the set for one entity whose pinned values changed. False if refused (reported).
static bool pinned_matches_follow(orr_query* query, uint32_t index)
{
    orri_pinned_matches* matches = query->pinned_matches;
    if ((matches->count == matches->capacity && !pinned_matches_grow(query, matches->count + 1)) ||
        (pinned_matches_position(matches, index) == NULL &&
         !pinned_matches_reserve_page(query, index))) {
        (void)orri_refuse_memory(&query->world->env,
                                 "bringing the pinned set of a query up to date");
        matches->built = false; // The next refresh rebuilds the set.
        return false;
    }
    pinned_matches_update(query, index);
    return true;
}

// The smallest pool of the required types; NULL: one type has no pool, so no entity matches.
static const orri_pool* pinned_matches_smallest(const orr_query* query)
{
    const orri_pool* smallest = NULL;
    for (uint32_t t = 0; t < query->pinned_matches->required_count; t++) {
        const orri_pool* pool =
            orri_pool_find(query->world, query->pinned_matches->required[t].type);
        if (pool == NULL) {
            return NULL;
        }
        smallest = smallest == NULL || pool->live < smallest->live ? pool : smallest;
    }
    return smallest;
}

bool orri_pinned_matches_create(orr_query* query)
{
    query->pinned_matches =
        ORRI_ALLOC_ZERO(&query->world->env, ORR_MEMORY_QUERY, orri_pinned_matches, 1);
    if (query->pinned_matches == NULL || !pinned_matches_find_required(query)) {
        (void)orri_refuse_memory(&query->world->env, "creating a query");
        return false;
    }
    return true;
}

void orri_pinned_matches_destroy(orr_query* query)
{
    orri_pinned_matches* matches = query->pinned_matches;
    orri_env* env = &query->world->env;
    if (matches == NULL) {
        return;
    }
    for (uint32_t s = 0; s < 2; s++) {
        const orri_positions* positions = &matches->positions[s];
        for (uint32_t p = 0; p < positions->capacity; p++) {
            ORRI_FREE(env, ORR_MEMORY_QUERY, uint32_t, positions->pages[p], ORRI_PAGE_SIZE);
        }
        ORRI_RELEASE(env, ORR_MEMORY_QUERY, positions->pages, positions->capacity);
    }
    ORRI_FREE(env, ORR_MEMORY_QUERY, orri_required, matches->required, query->leaves[0].term_count);
    ORRI_FREE(env, ORR_MEMORY_QUERY, orri_ranked, matches->items, matches->capacity);
    ORRI_FREE(env, ORR_MEMORY_QUERY, orri_ranked, matches->scratch, matches->capacity);
    for (uint32_t f = 0; f < query->field_count; f++) {
        ORRI_FREE(env, ORR_MEMORY_QUERY, void*, matches->pointers[f], matches->capacity);
    }
    ORRI_FREE(env, ORR_MEMORY_QUERY, orri_pinned_matches, matches, 1);
    query->pinned_matches = NULL;
}

// ---- refreshing ---------------------------------------------------------------------------------

// Builds the set from the smallest pool. False if refused (reported).
static bool pinned_matches_build(orr_query* query)
{
    orri_pinned_matches* matches = query->pinned_matches;
    for (uint32_t i = 0; i < matches->count; i++) {
        *pinned_matches_position(matches, matches->items[i].index) = 0;
    }
    matches->count = 0;
    matches->built = true;
    const orri_pool* pool = pinned_matches_smallest(query);
    for (uint32_t slot = 0; pool != NULL && slot < pool->slot_count; slot++) {
        uint32_t owner = orri_pool_owner(pool, slot);
        if (owner != ORRI_INDEX_NONE && !pinned_matches_follow(query, owner)) {
            return false;
        }
    }
    return true;
}

// Reads the logs since the last refresh, or rebuilds the set if a log was discarded. False if
// refused (reported).
bool orri_pinned_matches_reserve(orr_query* query)
{
    orri_pinned_matches* matches = query->pinned_matches;
    for (uint32_t t = 0; t < matches->required_count; t++) {
        const orri_watch* watch = orri_watch_of(query->world, matches->required[t].type);
        matches->built = matches->built && matches->required[t].seen >= watch->base;
    }
    bool rebuilt = !matches->built;
    if (rebuilt && !pinned_matches_build(query)) {
        return false;
    }
    for (uint32_t t = 0; t < matches->required_count; t++) {
        orri_required* term = &matches->required[t];
        orri_watch* watch = orri_watch_of(query->world, term->type);
        for (uint64_t i = term->seen - watch->base; !rebuilt && i < watch->count; i++) {
            if (!pinned_matches_follow(query, watch->log[i])) {
                return false;
            }
        }
        if (watch->readers == 1) {
            watch->base += watch->count;
            watch->count = 0;
        }
        term->seen = watch->base + watch->count;
    }
    matches->dirty = matches->dirty || rebuilt;
    return true;
}

uint64_t orri_pinned_matches_count(const orr_query* query)
{
    uint64_t count = 0;
    const orri_pool* pool = pinned_matches_smallest(query);
    for (uint32_t slot = 0; pool != NULL && slot < pool->slot_count; slot++) {
        uint32_t owner = orri_pool_owner(pool, slot);
        if (owner != ORRI_INDEX_NONE) {
            uint32_t place = orri_record_at(query->world, owner)->place;
            const orri_chunk* chunk = orri_place_chunk(query->world, place);
            uint32_t entry = orri_entries_find(query, chunk->cluster);
            count += entry != UINT32_MAX && orri_query_row(query, orri_entry_map(query, entry),
                                                           chunk, orri_place_slot(place));
        }
    }
    return count;
}

// True if members, entries or rows changed since the last refresh.
static bool pinned_matches_stale(const orr_query* query)
{
    const orri_pinned_matches* matches = query->pinned_matches;
    if (matches->dirty || matches->entries_mark != query->changes) {
        return true;
    }
    for (uint32_t e = 0; e < query->entry_count; e++) {
        const orri_cluster* cluster = query->entries[e].cluster;
        if (cluster != NULL &&
            cluster->columns[orri_cluster_entity_column(cluster)].version > matches->mark) {
            return true;
        }
    }
    return false;
}

// Sets the sort keys of all members.
static void pinned_matches_rank(orr_query* query)
{
    orri_pinned_matches* matches = query->pinned_matches;
    const orri_cluster* cluster = NULL;
    uint32_t entry = UINT32_MAX;
    matches->visible = 0;
    for (uint32_t i = 0; i < matches->count; i++) {
        orri_ranked* item = &matches->items[i];
        uint32_t place = orri_record_at(query->world, item->index)->place;
        const orri_chunk* chunk = orri_place_chunk(query->world, place);
        if (chunk->cluster != cluster) {
            cluster = chunk->cluster;
            entry = orri_entries_find(query, cluster);
        }
        uint32_t row = chunk->number * ORR_CHUNK_CAPACITY + orri_place_slot(place);
        item->key = entry != UINT32_MAX ? (uint64_t)entry << 32 | row : PINNED_MATCHES_HIDDEN;
        matches->visible += entry != UINT32_MAX;
    }
}

// Finds the pointers and positions of all members.
static void pinned_matches_point(orr_query* query)
{
    orri_pinned_matches* matches = query->pinned_matches;
    for (uint32_t f = 0; f < query->field_count; f++) {
        for (uint32_t i = 0; matches->pointers[f] != NULL && i < matches->count; i++) {
            matches->pointers[f][i] = (void*)(uintptr_t)orri_pinned_here(
                query->world, query->fields[f].type, matches->items[i].index);
        }
    }
    for (uint32_t i = 0; i < matches->count; i++) {
        *pinned_matches_position(matches, matches->items[i].index) = i + 1;
    }
}

// True if values are published by another pipeline. Their addresses change with each tick of that
// pipeline.
static bool pinned_matches_viewed(const orr_query* query)
{
    const orri_view* view = orri_view_here(query->world);
    for (uint32_t f = 0; view != NULL && f < query->field_count; f++) {
        if (query->pinned_matches->pointers[f] != NULL &&
            orri_view_has(view, query->fields[f].type)) {
            return true;
        }
    }
    return false;
}

bool orri_pinned_matches_refresh(orr_query* query)
{
    orri_pinned_matches* matches = query->pinned_matches;
    if (!orri_pinned_matches_reserve(query)) {
        return false;
    }
    bool viewed = pinned_matches_viewed(query);
    bool addresses_change = viewed || matches->viewed;
    matches->viewed = viewed;
    if (pinned_matches_stale(query)) {
        pinned_matches_rank(query);
        orri_ranked_sort(matches->items, matches->count, matches->scratch);
        pinned_matches_point(query);
        matches->dirty = false;
        matches->entries_mark = query->changes;
        matches->mark = orri_version_mark(query->world);
    } else if (ORR_UNLIKELY(addresses_change)) {
        pinned_matches_point(query);
    }
    return true;
}

#undef PINNED_MATCHES_HIDDEN
