// SPDX-License-Identifier: MIT
// The run cache: the spans of a query, kept from one iteration to the next while no row of the
// world is created, destroyed or moved and nothing is enabled or disabled. A loop then reads one
// array from front to back, whatever the number of clusters.
//
// Stamps are delayed too. Stamping a block touches two cache lines that the loop itself does not
// need; with many small clusters that costs more than the work. So a write through the cache is
// noted in the span's cell, and the block is stamped before the stamps are needed: by a hash, a
// `changed` term, a snapshot or a move of rows. Blocks that a snapshot shares must be copied before
// they are written, so there is no run cache while any block is shared.
#include "query/query.h"

#define RUN_CACHE_RUNS_MAX 16u // Most runs per chunk, on average, that are cached.
#define RUN_CACHE_AHEAD    8u  // How many clusters ahead are prefetched.

static orr_hot_span* run_cache_span(const orr_query* query, uint32_t i)
{
    return (orr_hot_span*)(void*)(query->cache + i * query->cache_stride);
}

static orr_hot_cell* run_cache_cells(orr_hot_span* span)
{
    return (orr_hot_cell*)(void*)(span + 1);
}

// ---- filling ------------------------------------------------------------------------------------

static bool run_cache_reserve(orr_query* query, uint32_t needed)
{
    if (needed <= query->cache_capacity) {
        return true;
    }
    orri_env* env = &query->world->env;
    uint32_t capacity = query->cache_capacity < 4 ? 4 : query->cache_capacity * 2;
    capacity = capacity > needed ? capacity : needed;
    uint8_t* cache = orri_alloc(env, ORR_MEMORY_QUERY, orri_size_mul(query->cache_stride, capacity),
                                ORRI_BLOCK_ALIGN);
    if (cache == NULL) {
        return false;
    }
    if (query->cache_count > 0) {
        memcpy(cache, query->cache, query->cache_count * query->cache_stride);
    }
    orri_free(env, ORR_MEMORY_QUERY, query->cache, query->cache_capacity * query->cache_stride,
              ORRI_BLOCK_ALIGN);
    query->cache = cache;
    query->cache_capacity = capacity;
    return true;
}

// Adds a span. False if there is no memory.
static inline bool run_cache_push(orr_query* query, const uint16_t* map, orri_chunk* chunk,
                                  uint32_t slot, uint32_t count)
{
    if (ORR_UNLIKELY(query->cache_count == query->cache_capacity) &&
        !run_cache_reserve(query, query->cache_count + 1)) {
        return false;
    }
    orr_hot_span* span = run_cache_span(query, query->cache_count++);
    *span = (orr_hot_span){(orr_hot_column*)(void*)chunk->columns, map, chunk, slot, count};
    for (uint32_t f = 0; f < query->field_count; f++) {
        uint8_t* data = NULL;
        if (map[f] != ORRI_COLUMN_NONE) {
            data = chunk->columns[map[f]].data;
            // Most runs begin at slot 0, and then the column of the cluster is not read.
            data += slot > 0 ? (size_t)slot * chunk->cluster->columns[map[f]].size : 0;
        }
        run_cache_cells(span)[f] = (orr_hot_cell){data, 0, 0};
    }
    return true;
}

// Adds the runs of matching rows of a chunk that is tested by row. False if there is no memory.
static bool run_cache_add_runs(orr_query* query, const uint16_t* map, orri_chunk* chunk)
{
    uint32_t rows = orri_chunk_rows(chunk), first = 0, run = 0;
    for (uint32_t word = 0; word * 64 < rows; word++) {
        uint32_t left = rows - word * 64;
        uint64_t all = left < 64 ? ((uint64_t)1 << left) - 1 : UINT64_MAX;
        uint64_t mask = orri_query_mask(query, orri_entry_leaves(query, map), chunk, word, all);
        for (uint32_t bit = 0; bit < 64 && word * 64 + bit < rows; bit++) {
            if (mask >> bit & 1) {
                first = run == 0 ? word * 64 + bit : first;
                run++;
            } else if (run > 0) {
                if (!run_cache_push(query, map, chunk, first, run)) {
                    return false;
                }
                run = 0;
            }
        }
    }
    return run == 0 || run_cache_push(query, map, chunk, first, run);
}

// Adds the spans of a cluster. False if there is no memory, or if runs are too many and short: then
// testing rows during the loop is cheaper than a cache.
static bool run_cache_add_cluster(orr_query* query, const uint16_t* map,
                                  const orri_cluster* cluster)
{
    uint32_t before = query->cache_count;
    for (uint32_t i = 0; i < cluster->chunk_count; i++) {
        orri_chunk* chunk = cluster->chunks[i];
        bool added = map[query->field_count] == ORRI_MATCH_ALL
                         ? run_cache_push(query, map, chunk, 0, orri_chunk_rows(chunk))
                         : run_cache_add_runs(query, map, chunk);
        if (!added || query->cache_count - before > (i + 1) * RUN_CACHE_RUNS_MAX) {
            return false;
        }
    }
    return true;
}

static inline const orri_cluster* run_cache_ahead(const orr_query* query, uint32_t entry)
{
    return entry + RUN_CACHE_AHEAD < query->entry_count
               ? query->entries[entry + RUN_CACHE_AHEAD].cluster
               : NULL;
}

// Number of chunks of all clusters with rows: of runs, if all rows match.
static uint32_t run_cache_chunks(const orr_query* query)
{
    uint32_t count = 0;
    for (uint32_t e = 0; e < query->entry_count; e++) {
        const orri_cluster* cluster = query->entries[e].cluster;
        __builtin_prefetch(run_cache_ahead(query, e));
        count += cluster != NULL && cluster->row_count > 0 ? cluster->chunk_count : 0;
    }
    return count;
}

// Adds the spans of an entry. False as for run_cache_add_cluster().
static inline bool run_cache_add_entry(orr_query* query, const uint16_t* map,
                                       const orri_cluster* cluster)
{
    // Most clusters have one chunk, and all its rows match.
    if (ORR_LIKELY(map[query->field_count] == ORRI_MATCH_ALL &&
                   cluster->row_count <= ORR_CHUNK_CAPACITY)) {
        return run_cache_push(query, map, cluster->chunk_first, 0, cluster->row_count);
    }
    return run_cache_add_cluster(query, map, cluster);
}

// Fills the cache. False if runs are too many or there is no memory: loops then work without a
// cache.
static bool run_cache_make(orr_query* query)
{
    query->cache_count = 0;
    // Room for all at once: growing step by step took longer than everything else.
    if (!run_cache_reserve(query, run_cache_chunks(query))) {
        return false;
    }
    const uint16_t* map = query->maps;
    for (uint32_t e = 0; e < query->entry_count; e++, map += query->map_stride) {
        const orri_cluster* cluster = query->entries[e].cluster;
        const orri_cluster* ahead = run_cache_ahead(query, e);
        __builtin_prefetch(ahead != NULL ? ahead->chunk_first : NULL);
        if (cluster != NULL && cluster->row_count > 0 &&
            !run_cache_add_entry(query, map, cluster)) {
            return false;
        }
    }
    return true;
}

static bool run_cache_current(const orr_query* query)
{
    return query->cache_structure == query->world->queries->structure;
}

// Sets a flag. Storing to an atomic costs as much as a small loop, and mostly the flag is set
// already.
static inline void run_cache_raise(_Atomic uint32_t* flag)
{
    if (*flag == 0) {
        *flag = 1;
    }
}

bool orri_run_cache_ready(orr_query* query)
{
    orr_world* world = query->world;
    if (query->order != NULL || query->pinned_matches != NULL || query->has_changed ||
        world->cow.live != 0 || world->append.open != NULL || world->realtime) {
        return false;
    }
    if (!run_cache_current(query)) {
        bool free = false;
        if (query->cache_failed == world->queries->structure ||
            !atomic_compare_exchange_strong(&query->cache_filling, &free, true)) {
            return false; // No waiting: the loop works without a cache.
        }
        if (!run_cache_current(query)) {
            query->cache_structure = 0;
            bool made = run_cache_make(query);
            query->cache_failed = made ? 0 : world->queries->structure;
            query->cache_structure = made ? world->queries->structure : 0;
        }
        query->cache_filling = false;
        if (query->cache_structure == 0) {
            return false;
        }
    }
    run_cache_raise(&world->loops.cached);
    orri_run_cache_mark_unstamped(query);
    return true;
}

void orri_run_cache_mark_unstamped(orr_query* query)
{
    if (query->writes) {
        run_cache_raise(&query->unstamped);
        run_cache_raise(&query->world->loops.unstamped);
    }
}

void orri_run_cache_term(orr_query* query)
{
    orri_free(&query->world->env, ORR_MEMORY_QUERY, query->cache,
              query->cache_capacity * query->cache_stride, ORRI_BLOCK_ALIGN);
    query->cache = NULL;
    query->cache_count = query->cache_capacity = 0;
}

// ---- stamping noted writes ----------------------------------------------------------------------

static void run_cache_stamp(orr_world* world, const orr_hot_span* span, uint32_t field,
                            uint64_t tick, uint64_t version)
{
    orri_chunk* chunk = span->chunk;
    uint32_t column = span->map[field];
    orri_column* entry = &chunk->columns[column];
    uint64_t* newest = &chunk->cluster->columns[column].version;
    orri_written_note(world, version);
    if (entry->version < version) {
        entry->version = version;
        entry->tick = tick;
    }
    if (__atomic_load_n(newest, __ATOMIC_RELAXED) < version) {
        __atomic_store_n(newest, version, __ATOMIC_RELAXED);
    }
}

// Loops on other threads may write at the same time. A write noted after its cell was read is found
// next time.
void orri_run_cache_settle(orr_query* query)
{
    for (uint32_t i = 0; i < query->cache_count; i++) {
        orr_hot_span* span = run_cache_span(query, i);
        for (uint32_t f = 0; f < query->field_count; f++) {
            orr_hot_cell* cell = &run_cache_cells(span)[f];
            if (__atomic_load_n(&cell->version, __ATOMIC_RELAXED) == 0) {
                continue;
            }
            uint64_t version = __atomic_exchange_n(&cell->version, 0, __ATOMIC_ACQUIRE);
            uint64_t tick = __atomic_load_n(&cell->tick, __ATOMIC_RELAXED);
            if (cell->data != NULL) {
                run_cache_stamp(query->world, span, f, tick, version);
            }
        }
    }
}

void orri_run_caches_settle(orr_world* world)
{
    struct orri_queries* queries = world->queries;
    orri_mutex_lock(world->env.platform, &queries->settling);
    // Flags are cleared before the cells are read, never after. A loop sets them when it begins,
    // and again when it has ended, after `iterating` was decremented. If a loop ended before its
    // flag was cleared, its cells are visible here through `iterating`; if it ends later, it sets
    // the flag again.
    world->loops.unstamped = 0;
    for (orr_query* query = queries->first; query != NULL; query = query->next) {
        if (query->unstamped) {
            query->unstamped = 0;
            bool open = world->loops.iterating != 0;
            orri_run_cache_settle(query);
            if (open || world->loops.iterating != 0) {
                orri_run_cache_mark_unstamped(query); // An open loop may write again.
            }
        }
    }
    orri_mutex_unlock(world->env.platform, &queries->settling);
}

void orri_run_caches_forget(orr_world* world)
{
    orri_world_settle(world);
    world->queries->structure++;
    world->loops.cached = 0;
}

#undef RUN_CACHE_RUNS_MAX
#undef RUN_CACHE_AHEAD
