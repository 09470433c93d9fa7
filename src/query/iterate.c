// SPDX-License-Identifier: MIT
// Iteration. An iterator finds up to ORR_HOT_SPANS spans at a time, so that advancing from one to
// the next is a few loads in the caller's loop. If a whole cluster matches, a span is a chunk; if
// rows are selected one by one, a span is a run of matching rows.
//
// A span never crosses a chunk, even if the next chunk is adjacent in memory. Otherwise the end of
// a run would depend on memory, and with it every sum that is computed run by run. Nothing would be
// gained: advancing costs 2 ns, a loop over a chunk 400 ns and more.
#include "query/query.h"
#include "store/publish/publish.h"

#define ITERATE_AHEAD        8u // How many clusters ahead are prefetched.
#define ITERATE_AHEAD_FIELDS 4u // How many columns of them are prefetched.
// Most stamps of a chunk that `changed` terms read: values and enable bits of each term, and the
// enable bits of the entities.
#define ITERATE_STAMPS_MAX (2 * ORR_TERMS_MAX + 1)

_Static_assert(offsetof(orr_world, epoch) == offsetof(orr_world, tick) + sizeof(uint64_t),
               "the clock is tick and epoch");
_Static_assert(sizeof(orr_hot_column) == sizeof(orri_column) &&
                   offsetof(orr_hot_column, data) == offsetof(orri_column, data) &&
                   offsetof(orr_hot_column, version) == offsetof(orri_column, version),
               "orr_hot_column must have the layout of orri_column");

// ---- beginning and ending -----------------------------------------------------------------------

// In real time other pipelines advance the world's clock; the iterator uses the clock of its own
// system.
static void iterate_init_here(orr_iter* it)
{
    it->clock = orri_clock_here(it->world);
    it->dt = 0;
    it->tick = it->clock[0];
    if (orri_this_thread.era != NULL) {
        it->era_now = orri_this_thread.era;
        it->era = *it->era_now;
    }
}

// Sets `each` field by field. Copying the struct as a whole would stall the processor (store
// forwarding).
static void iterate_init(orr_iter* it, orr_query* query, uint64_t since)
{
    orr_world* world = query->world;
    it->count = 0;
    if (ORR_LIKELY(!world->realtime)) {
        it->dt = world->context->dt;
        it->tick = world->context->run_tick != 0 ? world->context->run_tick : world->tick;
    }
    it->commands = NULL;
    it->unit = 0;
    it->now = NULL;
    it->query = query;
    it->world = world;
    it->field_count = query->field_count;
    it->clock = &world->tick;
    it->era_now = &world->loops.era;
    it->era = world->loops.era;
    it->each.since = since;
    it->each.only_group = false;
    it->each.group = 0;
    it->counted = false;
    it->listed = false;
    it->span_stride = sizeof(orr_hot_span);
    it->fields = query->hot_fields;
    it->pinned_first = 0;
    it->entry = it->chunk = it->slot = it->mask_word = 0;
    it->entry_end = query->entry_count;
    it->chunk_end = UINT32_MAX;
    it->mask = it->position = 0;
    it->span_left = 0;
    if (ORR_UNLIKELY(world->realtime)) {
        iterate_init_here(it);
    }
}

// Uses the whole run cache. orr_iter_fill() then finds no further spans.
static void iterate_use_cache(orr_iter* it)
{
    const orr_query* query = it->query;
    it->listed = true;
    it->span_stride = query->cache_stride;
    it->span_left = query->cache_count;
    it->next = (orr_hot_span*)(void*)query->cache;
    it->entry = query->entry_count;
}

void orri_iter_rewind(orr_iter* it)
{
    it->entry = it->chunk = it->slot = it->mask_word = 0;
    it->mask = it->position = 0;
    it->span_left = 0;
    if (it->listed) {
        iterate_use_cache(it);
    }
}

// True if the iteration may use the run cache.
static bool iterate_may_use_cache(const orr_iter* it)
{
    return !it->each.only_group && !it->query->has_changed;
}

// An iteration that reads stamps, or stamps blocks itself, first stamps all earlier writes. Called
// before the iteration is counted as open.
static void iterate_settle(const orr_iter* it)
{
    if (!iterate_may_use_cache(it) && (it->query->has_changed || it->query->writes)) {
        orri_world_settle(it->world);
    }
}

// Registers with the order and chooses the source of spans.
static void iterate_open(orr_iter* it)
{
    orr_query* query = it->query;
    bool cached = iterate_may_use_cache(it);
    if (ORR_UNLIKELY(query->order != NULL)) {
        orri_order_open(query);
    }
    if (cached && orri_run_cache_ready(query)) {
        iterate_use_cache(it);
    } else if (cached && query->writes) {
        orri_world_settle(query->world);
    }
}

void orri_iter_open(orr_iter* it, orr_query* query, uint64_t since)
{
    iterate_init(it, query, since);
    iterate_settle(it);
    iterate_open(it);
}

void orri_iter_open_units(orr_iter* it, orr_query* query, uint64_t since, uint32_t first,
                          uint32_t last)
{
    iterate_init(it, query, since);
    if (query->units_cached) {
        iterate_use_cache(it);
        // An empty cache is NULL, which may have no offset.
        it->next = last > first ? (orr_hot_span*)(void*)(query->cache + first * query->cache_stride)
                                : NULL;
        it->span_left = last - first;
    } else {
        it->entry_end = it->entry;
    }
}

bool orri_iter_next_unit(orr_iter* it, uint32_t unit)
{
    const orr_query* query = it->query;
    if (!query->units_cached) {
        it->entry = query->units[unit].entry;
        it->entry_end = it->entry + 1;
        it->chunk = query->units[unit].chunk;
        it->chunk_end = it->chunk + 1;
        it->slot = it->mask_word = 0;
        it->span_left = 0;
        it->era = *it->era_now;
    }
    return orr_iter_next(it);
}

void orri_iter_close(orr_iter* it)
{
    if (it->listed) {
        orri_run_cache_mark_unstamped(it->query);
    }
    if (ORR_UNLIKELY(it->query->order != NULL)) {
        orri_order_close(it->query);
    }
    it->era = 0;
}

// Reason why a parallel system may not loop over a query that it declared; NULL: it may.
static const char* iterate_parallel_error(const orr_query* query, const orri_access* access)
{
    if (access->query == query && query->writes) {
        return "loops over its own query, which writes: another worker could process the same "
               "rows; loop over a query of types that it does not write, and name them in .by_id; "
               "or remove .parallel";
    }
    return NULL;
}

// True if a loop would update the order or pinned set of the query while another system may do the
// same.
static bool iterate_must_be_alone(const orr_query* query, const orri_access* access)
{
    // In real time a system that is alone in its pipeline may run at the same time as systems of
    // other pipelines. Its own query is used by no other system.
    bool alone = ORR_LIKELY(!query->world->realtime) || access->query == query
                     ? access->alone
                     : access->alone_realtime;
    return !alone && (query->order != NULL || query->pinned_matches != NULL);
}

// True if the running system has declared access to all types and tags of the query for all
// entities. Reports a violation otherwise.
static bool iterate_declared(const orr_query* query, const char* call)
{
    const orr_world* world = query->world;
    const orri_access* access = orri_access_of(world);
    static const orr_entity no_entity = {0};
    if (query->field_count == 0 && access->by_id_read == NULL) {
        return orri_access_reads(world, call, (orr_type){0}, no_entity); // Nothing is declared.
    }
    // All terms are checked, also excluding ones, because every term influences which rows are
    // selected.
    for (uint32_t l = 0; l < query->leaf_count; l++) {
        for (uint32_t t = 0; t < query->leaves[l].term_count; t++) {
            const orr_term* term = &query->leaves[l].terms[t];
            bool allowed = term->type.id == 0 ? orri_access_tags(world, call, term->tag)
                           : term->access == ORR_WRITE
                               ? orri_access_writes(world, call, term->type, no_entity)
                               : orri_access_reads(world, call, term->type, no_entity);
            if (!allowed) {
                return false;
            }
        }
    }
    return true;
}

// A system may use its own query, and queries of types that it declared.
bool orri_query_allowed(const orr_query* query, const char* call)
{
    const orri_access* access = orri_access_of(query->world);
    return access == NULL || access->query == query || iterate_declared(query, call);
}

bool orri_query_loop_allowed(const orr_query* query, const char* call)
{
    const orri_access* access = orri_access_of(query->world);
    const char* parallel_error =
        access != NULL && access->parallel ? iterate_parallel_error(query, access) : NULL;
    bool needs_alone = access != NULL && iterate_must_be_alone(query, access);
    if (ORR_LIKELY(parallel_error == NULL && !needs_alone)) {
        // A parallel system can overlap with the system before it, which may still write other
        // rows. So a loop over the parallel system's own query needs its types declared too.
        return access != NULL && access->parallel ? iterate_declared(query, call)
                                                  : orri_query_allowed(query, call);
    }
    (*access->violations)++;
    (void)orri_refuse(orri_env_of(query->world), ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
                      "%s: system '%s' %s%s%s", call, access->system,
                      parallel_error != NULL ? "is parallel and " : "",
                      parallel_error != NULL
                          ? parallel_error
                          : "loops over a query with an order or pinned types, which the loop "
                            "updates, so no other system may run at the same time; ",
                      parallel_error != NULL ? ""
                      : access->parallel     ? "remove .parallel and set .alone"
                                             : "set .alone");
    return false;
}

// May this thread begin the loop? Outside of systems a loop that writes is refused while readers
// cannot be notified of a travel.
ORRI_COLD static bool iterate_allowed(const orr_query* query)
{
    if (orri_access_checked(query->world)) {
        return orri_query_loop_allowed(query, "ORR_EACH");
    }
    bool writes = false;
    for (uint32_t f = 0; f < query->field_count && !writes; f++) {
        writes = query->fields[f].access == ORR_WRITE;
    }
    return !writes || orri_travel_notified(query->world, "ORR_EACH") == ORR_OK;
}

orr_iter* orr_iter_begin(orr_iter* it, orr_query* query, const orr_each* each)
{
    ORR_ASSERT(it != NULL);
    ORR_ASSERT(query != NULL && "the query is NULL: creating it was refused; see the error before");
    if (query == NULL) {
        static const uint32_t never = 0;
        *it = (orr_iter){.era_now = &never}; // A loop without runs.
        return it;
    }
    iterate_init(it, query, 0);
    if (each != NULL) {
        it->each = *each;
    }
    if (ORR_UNLIKELY(query->world->running.access != NULL) && !iterate_allowed(query)) {
        it->era = 0;
        return it;
    }
    if (ORR_UNLIKELY(query->order != NULL || query->pinned_matches != NULL) &&
        !orri_query_refresh(query)) {
        it->era = 0;
        return it;
    }
    iterate_settle(it);
    orri_loop_open(query->world);
    it->counted = true;
    iterate_open(it);
    return it;
}

void orr_iter_end(orr_iter* it)
{
    ORR_ASSERT(it != NULL);
    // Iterations of an earlier era ended with their tick and are no longer counted.
    if (it->counted && it->era == *it->era_now) {
        orri_loop_close(it->world);
        if (it->listed) {
            orri_run_cache_mark_unstamped(it->query);
        }
        if (ORR_UNLIKELY(it->query->order != NULL)) {
            orri_order_close(it->query);
        }
    }
    it->counted = false;
    it->era = 0;
    it->span_left = 0;
}

// ---- spans --------------------------------------------------------------------------------------

// Appends a span.
static void iterate_push(orr_iter* it, const uint16_t* map, orri_chunk* chunk, uint32_t slot,
                         uint32_t count)
{
    const orri_column* columns = orri_columns_here(it->world, chunk);
    it->spans[it->span_left++] =
        (orr_hot_span){(orr_hot_column*)(uintptr_t)columns, map, chunk, slot, count};
}

// True if the loop reads values of the type that another pipeline published.
static bool iterate_published(const orr_iter* it, orr_type type)
{
    const orri_view* view = orri_view_here(it->world);
    return view != NULL && orri_view_has(view, type);
}

// True if `changed` terms filter blocks. Without a mark everything counts as changed, also clusters
// without the term's type.
static bool iterate_filters_changed(const orr_iter* it)
{
    return it->query->has_changed && it->each.since != 0;
}

// True if a component of the type, or an entity, was enabled or disabled since the mark. That is a
// change too.
static bool iterate_enable_changed(const orr_iter* it, const orri_chunk* chunk, uint32_t column)
{
    uint32_t half = chunk->column_count / 2;
    uint32_t entities = orri_cluster_entity_column(chunk->cluster);
    return chunk->cluster->has_bits && (chunk->columns[half + column].version > it->each.since ||
                                        chunk->columns[half + entities].version > it->each.since);
}

// True if the values of a term were written since the mark; values of other pipelines, if they were
// published since then.
static bool iterate_written(const orr_iter* it, const orri_chunk* chunk, orr_type type,
                            uint32_t column)
{
    if (iterate_published(it, type)) {
        return orri_columns_here(it->world, chunk)[column].version > orri_this_thread.since_view;
    }
    return chunk->columns[column].version > it->each.since;
}

// True if a chunk has a change that some `changed` term asks for.
static bool iterate_changed(const orr_iter* it, const orri_chunk* chunk)
{
    const orri_leaf* leaf = &it->query->leaves[0];
    for (uint32_t t = 0; t < leaf->term_count; t++) {
        if (leaf->terms[t].changed) {
            int32_t column = orri_cluster_find_column(chunk->cluster, leaf->terms[t].type);
            if (column >= 0 && (iterate_written(it, chunk, leaf->terms[t].type, (uint32_t)column) ||
                                iterate_enable_changed(it, chunk, (uint32_t)column))) {
                return true;
            }
        }
    }
    return false;
}

// False if no block of the cluster can have changed; costs one comparison per term. Changes of
// enable bits are known by chunk only, so a cluster with enable bits is never excluded.
static bool iterate_cluster_changed(const orr_iter* it, const orri_cluster* cluster)
{
    const orri_leaf* leaf = &it->query->leaves[0];
    for (uint32_t t = 0; t < leaf->term_count; t++) {
        if (leaf->terms[t].changed) {
            int32_t column = orri_cluster_find_column(cluster, leaf->terms[t].type);
            if (column >= 0 && (cluster->has_bits || iterate_published(it, leaf->terms[t].type) ||
                                cluster->columns[column].version > it->each.since)) {
                return true;
            }
        }
    }
    return false;
}

// End of the chunks to visit in a cluster.
static inline uint32_t iterate_chunk_end(const orr_iter* it, const orri_cluster* cluster)
{
    return cluster->chunk_count < it->chunk_end ? cluster->chunk_count : it->chunk_end;
}

// Lists the columns of a cluster whose stamps tell about changes of the `changed` terms: values,
// and enable bits. Returns their number, at most ITERATE_STAMPS_MAX.
static uint32_t iterate_stamps(const orr_query* query, const orri_cluster* cluster, uint32_t* out)
{
    const orri_leaf* leaf = &query->leaves[0];
    uint32_t count = 0;
    for (uint32_t t = 0; t < leaf->term_count; t++) {
        int32_t column =
            leaf->terms[t].changed ? orri_cluster_find_column(cluster, leaf->terms[t].type) : -1;
        if (column >= 0) {
            out[count++] = (uint32_t)column;
            if (cluster->has_bits) {
                out[count++] = cluster->column_count + (uint32_t)column;
            }
        }
    }
    if (count > 0 && cluster->has_bits) {
        out[count++] = cluster->column_count + orri_cluster_entity_column(cluster);
    }
    return count;
}

static inline bool iterate_newer(const orri_chunk* chunk, const uint32_t* stamps, uint32_t count,
                                 uint64_t since)
{
    bool newer = false;
    for (uint32_t i = 0; i < count; i++) {
        newer |= chunk->columns[stamps[i]].version > since;
    }
    return newer;
}

// Finds spans in a cluster whose rows all match, in chunks that were written since the mark. The
// columns are looked up once for the cluster: mostly few of many chunks were written, so the loop
// reads little more than one stamp of each.
static void iterate_whole_changed(orr_iter* it, const orri_cluster* cluster, const uint16_t* map)
{
    uint32_t stamps[ITERATE_STAMPS_MAX];
    uint32_t count = iterate_stamps(it->query, cluster, stamps);
    uint32_t chunk = it->chunk, end = iterate_chunk_end(it, cluster);
    for (; chunk < end && it->span_left < ORR_HOT_SPANS; chunk++) {
        if (iterate_newer(cluster->chunks[chunk], stamps, count, it->each.since)) {
            iterate_push(it, map, cluster->chunks[chunk], 0,
                         orri_chunk_rows(cluster->chunks[chunk]));
        }
    }
    it->chunk = chunk;
}

// Finds spans in a cluster whose rows all match.
static void iterate_whole(orr_iter* it, const orri_cluster* cluster, const uint16_t* map)
{
    bool filters = iterate_filters_changed(it);
    if (filters && orri_view_here(it->world) == NULL) { // Nothing is published.
        iterate_whole_changed(it, cluster, map);
        return;
    }
    while (it->chunk < iterate_chunk_end(it, cluster) && it->span_left < ORR_HOT_SPANS) {
        orri_chunk* chunk = cluster->chunks[it->chunk++];
        if (!filters || iterate_changed(it, chunk)) {
            iterate_push(it, map, chunk, 0, orri_chunk_rows(chunk));
        }
    }
}

// Bits of the matching rows among the 64 rows from 64 * word on; the last word is cached.
static uint64_t iterate_mask(orr_iter* it, const orri_chunk* chunk, const uint16_t* map,
                             uint32_t word, uint32_t rows)
{
    if (it->mask_word != word + 1) {
        uint32_t left = rows - word * 64;
        uint64_t all = left < 64 ? ((uint64_t)1 << left) - 1 : UINT64_MAX;
        it->mask = orri_query_mask(it->query, orri_entry_leaves(it->query, map), chunk, word, all);
        it->mask_word = word + 1;
    }
    return it->mask;
}

// Finds the next run of matching rows from it->slot on; false at the end of the chunk.
static bool iterate_run(orr_iter* it, const orri_chunk* chunk, const uint16_t* map, uint32_t rows,
                        uint32_t* first, uint32_t* count)
{
    uint32_t slot = it->slot;
    while (slot < rows) {
        uint64_t mask = iterate_mask(it, chunk, map, slot / 64, rows) >> (slot & 63);
        if (mask != 0) {
            slot += (uint32_t)__builtin_ctzll(mask);
            break;
        }
        slot = (slot | 63) + 1;
    }
    *first = slot;
    while (slot < rows) {
        uint64_t off = ~(iterate_mask(it, chunk, map, slot / 64, rows) >> (slot & 63));
        uint32_t ones = off != 0 ? (uint32_t)__builtin_ctzll(off) : 64;
        uint32_t left = 64 - (slot & 63);
        slot += ones < left ? ones : left;
        if (ones < left) {
            break;
        }
    }
    *count = slot - *first;
    it->slot = slot;
    return slot > *first;
}

// Finds spans in a cluster of which some rows match.
static void iterate_some(orr_iter* it, const orri_cluster* cluster, const uint16_t* map)
{
    while (it->chunk < iterate_chunk_end(it, cluster) && it->span_left < ORR_HOT_SPANS) {
        orri_chunk* chunk = cluster->chunks[it->chunk];
        uint32_t rows = orri_chunk_rows(chunk), first, count;
        bool skip = it->slot == 0 && iterate_filters_changed(it) && !iterate_changed(it, chunk);
        if (!skip && iterate_run(it, chunk, map, rows, &first, &count)) {
            iterate_push(it, map, chunk, first, count);
        } else {
            it->chunk++;
            it->slot = it->mask_word = 0;
        }
    }
}

static void iterate_next_entry(orr_iter* it)
{
    it->entry++;
    it->chunk = it->slot = it->mask_word = 0;
}

// True if the current entry has the wanted group. Without group_by every entry has group 0.
static bool iterate_group_wanted(const orr_iter* it)
{
    const uint64_t* groups = it->query->groups;
    return !it->each.only_group || (groups != NULL ? groups[it->entry] : 0) == it->each.group;
}

// True if no row of the entry can be visited.
static bool iterate_skips(const orr_iter* it, const orri_cluster* cluster)
{
    return cluster == NULL || cluster->row_count == 0 || !iterate_group_wanted(it) ||
           (iterate_filters_changed(it) && it->chunk == 0 && !iterate_cluster_changed(it, cluster));
}

// Small clusters are numerous, and each needs a few cache lines in different places: header,
// columns, stamps, values. They are prefetched while earlier clusters are processed.
static inline void iterate_fetch_ahead(const orr_query* query, uint32_t entry)
{
    if (entry + ITERATE_AHEAD >= query->entry_count) {
        return;
    }
    __builtin_prefetch(query->entries[entry + ITERATE_AHEAD].cluster);
    uint32_t next = entry + ITERATE_AHEAD / 2;
    const orri_cluster* near = query->entries[next].cluster;
    if (near == NULL || near->chunk_first == NULL) {
        return;
    }
    const uint16_t* map = orri_entry_map(query, next);
    for (uint32_t f = 0; f < query->field_count && f < ITERATE_AHEAD_FIELDS; f++) {
        if (map[f] != ORRI_COLUMN_NONE) {
            __builtin_prefetch(&near->chunk_first->columns[map[f]], 1);
            if (query->fields[f].access == ORR_WRITE) {
                __builtin_prefetch(&near->columns[map[f]].version, 1);
            }
        }
    }
}

static inline void iterate_fetch_values(const orr_query* query, const uint16_t* map,
                                        const orri_chunk* chunk)
{
    // In real time other threads may replace blocks at this moment.
    uint32_t fields = ORR_UNLIKELY(query->world->realtime) ? 0 : query->field_count;
    for (uint32_t f = 0; f < fields && f < ITERATE_AHEAD_FIELDS; f++) {
        if (map[f] != ORRI_COLUMN_NONE) {
            __builtin_prefetch(chunk->columns[map[f]].data, 1);
            __builtin_prefetch(chunk->columns[map[f]].data + 64, 1);
        }
    }
}

// Finds the next spans in the entries.
static void iterate_fill_entries(orr_iter* it)
{
    const orr_query* query = it->query;
    while (it->entry < it->entry_end && it->span_left < ORR_HOT_SPANS) {
        orri_cluster* cluster = query->entries[it->entry].cluster;
        iterate_fetch_ahead(query, it->entry);
        if (iterate_skips(it, cluster)) {
            iterate_next_entry(it);
            continue;
        }
        const uint16_t* map = orri_entry_map(query, it->entry);
        bool whole = map[query->field_count] == ORRI_MATCH_ALL;
        if (ORR_LIKELY(whole && cluster->row_count <= ORR_CHUNK_CAPACITY && !query->has_changed)) {
            iterate_push(it, map, cluster->chunk_first, 0, cluster->row_count);
            iterate_fetch_values(query, map, cluster->chunk_first);
            it->entry++;
            continue;
        }
        if (whole) {
            iterate_whole(it, cluster, map);
        } else {
            iterate_some(it, cluster, map);
        }
        if (it->chunk >= iterate_chunk_end(it, cluster)) {
            iterate_next_entry(it);
        }
    }
}

// ---- spans of an order or a pinned set, one at a time -------------------------------------------

// Finds the chunk and slot of an entity and the map of its entry; `*map` is NULL if it has no
// entry.
static orri_chunk* iterate_locate(orr_iter* it, uint32_t index, uint32_t* slot,
                                  const uint16_t** map)
{
    uint32_t place = orri_record_at(it->world, index)->place;
    orri_chunk* chunk = orri_place_chunk(it->world, place);
    *slot = orri_place_slot(place);
    // Consecutive entities are mostly in one cluster, so the last entry is kept in `entry`.
    if (it->entry >= it->query->entry_count ||
        it->query->entries[it->entry].cluster != chunk->cluster) {
        it->entry = orri_entries_find(it->query, chunk->cluster);
    }
    *map = it->entry != UINT32_MAX ? orri_entry_map(it->query, it->entry) : NULL;
    return chunk;
}

// Finds the next span: items from it->position on whose rows are contiguous. With `check`, tests
// whether each row matches.
static void iterate_fill_items(orr_iter* it, const orri_ranked* items, uint32_t count, bool check)
{
    while (it->position < count && it->span_left == 0) {
        uint32_t slot, run = 1;
        const uint16_t* map;
        orri_chunk* chunk = iterate_locate(it, items[it->position].index, &slot, &map);
        bool wanted = map != NULL && iterate_group_wanted(it) &&
                      (!check || orri_query_row(it->query, map, chunk, slot)) &&
                      (!iterate_filters_changed(it) || iterate_changed(it, chunk));
        uint64_t first = it->position++;
        if (!wanted) {
            continue;
        }
        while (it->position < count && slot + run < orri_chunk_rows(chunk) &&
               orri_chunk_ids(chunk)[slot + run] == items[it->position].index &&
               (!check || orri_query_row(it->query, map, chunk, slot + run))) {
            run++;
            it->position++;
        }
        iterate_push(it, map, chunk, slot, run);
        it->pinned_first = first;
    }
}

bool orri_query_row(const orr_query* query, const uint16_t* map, const orri_chunk* chunk,
                    uint32_t slot)
{
    if (map[query->field_count] == ORRI_MATCH_ALL) {
        return true;
    }
    uint64_t bit = (uint64_t)1 << (slot & 63);
    return orri_query_mask(query, orri_entry_leaves(query, map), chunk, slot / 64, bit) != 0;
}

// Finds the position of an entity in the pinned set, for its pinned values.
static bool iterate_find_item(orr_iter* it, uint32_t index)
{
    const orri_pinned_matches* matches = it->query->pinned_matches;
    for (uint32_t i = 0; i < matches->visible; i++) {
        if (matches->items[i].index == index) {
            it->pinned_first = i;
            return true;
        }
    }
    return false;
}

bool orri_iter_open_row(orr_iter* it, orr_query* query, uint32_t index)
{
    iterate_init(it, query, 0);
    if (query->writes) {
        orri_world_settle(query->world);
    }
    uint32_t slot;
    const uint16_t* map;
    orri_chunk* chunk = iterate_locate(it, index, &slot, &map);
    if (map == NULL || !orri_query_row(query, map, chunk, slot) ||
        (query->pinned_matches != NULL && !iterate_find_item(it, index))) {
        return false;
    }
    if (ORR_UNLIKELY(query->order != NULL)) {
        orri_order_open(query);
    }
    iterate_push(it, map, chunk, slot, 1);
    it->now = it->spans;
    it->count = 1;
    it->span_left = 0;
    it->entry = it->entry_end;
    return true;
}

bool orr_iter_fill(orr_iter* it)
{
    ORR_ASSERT(it != NULL);
    if (it->era == 0 || it->era != *it->era_now) {
        if (it->era != 0) {
            (void)orri_refuse(orri_env_of(it->world), ORR_ERR_STATE, ORR_LOG_ID_QUERY_REFUSED,
                              "orr_iter_next: the tick advanced while the query was iterated; the "
                              "iteration ends here. Advance the tick between loops");
        }
        orr_iter_end(it);
        return false;
    }
    it->span_left = 0;
    it->next = it->spans;
    const orr_query* query = it->query;
    if (query->order != NULL) {
        iterate_fill_items(it, query->order->items, query->order->count, false);
    } else if (query->pinned_matches != NULL) {
        iterate_fill_items(it, query->pinned_matches->items, query->pinned_matches->visible, true);
    } else {
        iterate_fill_entries(it);
    }
    if (it->span_left == 0) {
        orr_iter_end(it);
        return false;
    }
    return true;
}

#undef ITERATE_AHEAD
#undef ITERATE_AHEAD_FIELDS
#undef ITERATE_STAMPS_MAX
