// SPDX-License-Identifier: MIT
// Units: the chunks of a query, numbered in order, so that workers can divide them. The units
// depend only on the place of rows, not on enable bits, the run cache or the worker, so that data
// kept per unit is the same in every run.
#include "query/query.h"

// Appends the chunks of an entry. False if there is no memory.
static bool units_add_cluster(orr_query* query, uint32_t entry, const orri_cluster* cluster)
{
    uint32_t needed = query->unit_count + cluster->chunk_count;
    if (!ORRI_RESERVE(&query->world->env, ORR_MEMORY_QUERY, &query->units, &query->unit_capacity,
                      needed)) {
        return false;
    }
    for (uint32_t i = 0; i < cluster->chunk_count; i++) {
        query->units[query->unit_count++] = (orri_unit){entry, i};
    }
    return true;
}

static bool units_count(orr_query* query)
{
    query->unit_count = 0;
    query->unit_structure = 0;
    for (uint32_t e = 0; e < query->entry_count; e++) {
        const orri_cluster* cluster = query->entries[e].cluster;
        if (cluster != NULL && cluster->row_count > 0 && !units_add_cluster(query, e, cluster)) {
            (void)orri_refuse_memory(&query->world->env, "counting the chunks of a query");
            return false;
        }
    }
    query->unit_structure = query->world->queries->structure;
    query->unit_changes = query->changes;
    return true;
}

// True if the run cache has exactly one span for each unit: all rows match.
static bool units_are_cached(orr_query* query)
{
    if (!orri_run_cache_ready(query) || query->cache_count != query->unit_count) {
        return false;
    }
    // Equal counts are not sufficient: one chunk can have two runs and another none.
    for (uint32_t e = 0; e < query->entry_count; e++) {
        const orri_cluster* cluster = query->entries[e].cluster;
        if (cluster != NULL && cluster->row_count > 0 &&
            orri_entry_match(query, e) != ORRI_MATCH_ALL) {
            return false;
        }
    }
    return true;
}

bool orri_units_ready(orr_query* query)
{
    ORR_ASSERT(query->order == NULL && query->pinned_matches == NULL);
    bool right = query->unit_structure == query->world->queries->structure &&
                 query->unit_changes == query->changes;
    if (!right && !units_count(query)) {
        return false;
    }
    query->units_cached = units_are_cached(query);
    // From now on the store notifies this module before rows move.
    query->world->loops.cached = 1;
    return true;
}

uint32_t orri_unit_rows(const orr_query* query, uint32_t unit)
{
    const orri_unit* at = &query->units[unit];
    return orri_chunk_rows(query->entries[at->entry].cluster->chunks[at->chunk]);
}

void orri_units_term(orr_query* query)
{
    ORRI_RELEASE(&query->world->env, ORR_MEMORY_QUERY, query->units, query->unit_capacity);
    query->units = NULL;
    query->unit_count = query->unit_capacity = 0;
}
