// SPDX-License-Identifier: MIT
// Public calls on queries without a loop: count, has, first, single, at, entities.
#include "query/query.h"

uint64_t orri_query_count_rows(const orr_query* query, const uint16_t* matches,
                               const orri_cluster* cluster)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < cluster->chunk_count; i++) {
        const orri_chunk* chunk = cluster->chunks[i];
        uint32_t rows = orri_chunk_rows(chunk);
        for (uint32_t word = 0; word * 64 < rows; word++) {
            uint32_t left = rows - word * 64;
            uint64_t all = left < 64 ? ((uint64_t)1 << left) - 1 : UINT64_MAX;
            uint64_t mask = orri_query_mask(query, matches, chunk, word, all);
            count += (uint64_t)__builtin_popcountll(mask);
        }
    }
    return count;
}

uint64_t orr_query_count(const orr_query* query)
{
    ORR_ASSERT(query != NULL);
    if (!orri_query_allowed(query, "orr_query_count")) {
        return 0;
    }
    if (query->pinned_matches != NULL) {
        return orri_pinned_matches_count(query);
    }
    uint64_t count = 0;
    for (uint32_t e = 0; e < query->entry_count; e++) {
        const orri_cluster* cluster = query->entries[e].cluster;
        if (cluster != NULL) {
            count += orri_entry_match(query, e) == ORRI_MATCH_ALL
                         ? cluster->row_count
                         : orri_query_count_rows(
                               query, orri_entry_leaves(query, orri_entry_map(query, e)), cluster);
        }
    }
    return count;
}

bool orr_query_has(const orr_query* query, orr_entity entity)
{
    ORR_ASSERT(query != NULL);
    return orri_query_allowed(query, "orr_query_has") && orri_query_has(query, entity);
}

bool orri_query_has(const orr_query* query, orr_entity entity)
{
    const orri_record* record = orri_record_find(query->world, entity);
    if (record == NULL && orri_transient_alive(query->world, entity)) {
        record = orri_transient_find(query->world, entity);
    }
    if (record == NULL) {
        return false;
    }
    const orri_chunk* chunk = orri_place_chunk(query->world, record->place);
    uint32_t entry = orri_entries_find(query, chunk->cluster);
    return entry != UINT32_MAX && orri_query_row(query, orri_entry_map(query, entry), chunk,
                                                 orri_place_slot(record->place));
}

uint64_t orr_query_entities(orr_query* query, uint64_t first, orr_entity* out, uint64_t out_count)
{
    ORR_ASSERT(query != NULL);
    if (out == NULL && out_count > 0) {
        (void)orri_refuse_argument(query->world, "orr_query_entities", "out is NULL");
        return 0;
    }
    uint64_t passed = 0, written = 0;
    orr_iter it;
    orr_iter_begin(&it, query, NULL);
    while (written < out_count && orr_iter_next(&it)) {
        uint64_t skip = first > passed ? first - passed : 0;
        for (uint64_t i = skip; i < it.count && written < out_count; i++) {
            out[written++] = orr_iter_entity(&it, (uint32_t)i);
        }
        passed += it.count;
    }
    orr_iter_end(&it);
    return written;
}

orr_entity orr_query_at(orr_query* query, uint64_t position)
{
    orr_entity found = {0};
    (void)orr_query_entities(query, position, &found, 1);
    return found;
}

orr_entity orr_query_first(orr_query* query)
{
    return orr_query_at(query, 0);
}

orr_entity orr_query_single(orr_query* query)
{
    orr_entity found[2] = {{0}, {0}};
    if (!orri_query_allowed(query, "orr_query_single") || orr_query_prepare(query) != ORR_OK) {
        return found[0]; // Reported: the number of entities is not known.
    }
    uint64_t count = orr_query_entities(query, 0, found, 2);
    if (count == 1) {
        return found[0];
    }
    char text[160];
    (void)orr_query_print(query, text, sizeof text);
    (void)orri_refuse(
        &query->world->env, ORR_ERR_STATE, ORR_LOG_ID_QUERY_REFUSED,
        "orr_query_single: \"%s\" matches %llu entities; it must match exactly one. Use "
        "orr_query_first() where there may be none or several",
        query->name != NULL ? query->name : text,
        (unsigned long long)(count == 0 ? 0 : orr_query_count(query)));
    return (orr_entity){0};
}
