// SPDX-License-Identifier: MIT
// Matches clusters and rows against terms. Types and tags are tested once per cluster. Enable bits
// and pinned types are tested by row, 64 rows at a time.
//
// A disabled component counts as absent in required, excluding and any-of terms.
#include "query/query.h"
#include "store/world/access.h"

// ---- clusters -----------------------------------------------------------------------------------

static orri_match match_not(orri_match match)
{
    return match == ORRI_MATCH_ALL    ? ORRI_MATCH_NONE
           : match == ORRI_MATCH_NONE ? ORRI_MATCH_ALL
                                      : ORRI_MATCH_SOME;
}

static orri_match match_or(orri_match a, orri_match b)
{
    return a > b ? a : b;
}

static orri_match match_and(orri_match a, orri_match b)
{
    return a < b ? a : b;
}

// Which rows of a column have their component in an enable state.
static orri_match match_state(bool has_bits, orr_enable_state state)
{
    if (state == ORR_EITHER) {
        return ORRI_MATCH_ALL;
    }
    if (has_bits) {
        return ORRI_MATCH_SOME;
    }
    return state == ORR_ENABLED ? ORRI_MATCH_ALL : ORRI_MATCH_NONE;
}

// Which rows have the type or tag of a term, whatever the kind of the term.
static orri_match match_presence(const orr_world* world, const orri_cluster* cluster,
                                 const orr_term* term)
{
    if (term->type.id == 0) {
        return orri_cluster_has_tag(cluster, term->tag) ? ORRI_MATCH_ALL : ORRI_MATCH_NONE;
    }
    if (orri_type_at(&world->schema, term->type)->info.storage == ORR_PINNED) {
        return ORRI_MATCH_SOME;
    }
    int32_t column = orri_cluster_find_column(cluster, term->type);
    return column >= 0 ? match_state(cluster->columns[column].has_bits, term->state)
                       : ORRI_MATCH_NONE;
}

// True for the first term of an any-of group. The whole group is tested at its first term.
static bool match_first_of_group(const orri_leaf* leaf, uint32_t t)
{
    for (uint32_t i = 0; i < t; i++) {
        if (leaf->terms[i].kind == ORR_ANY && leaf->terms[i].group == leaf->terms[t].group) {
            return false;
        }
    }
    return true;
}

static orri_match match_group(const orr_world* world, const orri_leaf* leaf, uint32_t first,
                              const orri_cluster* cluster)
{
    orri_match match = ORRI_MATCH_NONE;
    for (uint32_t t = first; t < leaf->term_count; t++) {
        if (leaf->terms[t].kind == ORR_ANY && leaf->terms[t].group == leaf->terms[first].group) {
            match = match_or(match, match_presence(world, cluster, &leaf->terms[t]));
        }
    }
    return match;
}

static orri_match match_term(const orr_world* world, const orri_leaf* leaf, uint32_t t,
                             const orri_cluster* cluster)
{
    const orr_term* term = &leaf->terms[t];
    switch (term->kind) {
    case ORR_REQUIRED:
        return match_presence(world, cluster, term);
    case ORR_WITHOUT:
        return match_not(match_presence(world, cluster, term));
    case ORR_ANY:
        return match_first_of_group(leaf, t) ? match_group(world, leaf, t, cluster)
                                             : ORRI_MATCH_ALL;
    default:
        return ORRI_MATCH_ALL;
    }
}

// True if a leaf can select transient entities: some term selects a transient type. A leaf with a
// predicate never does, because the cluster of transient entities is not passed to predicates.
static bool match_selects_transient(const orr_world* world, const orri_leaf* leaf)
{
    bool selects = false;
    for (uint32_t t = 0; t < leaf->term_count; t++) {
        const orr_term* term = &leaf->terms[t];
        const orri_type* type = orri_type_at(&world->schema, term->type);
        selects = selects || (type != NULL && type->info.transient &&
                              (term->kind == ORR_REQUIRED || term->kind == ORR_ANY));
    }
    return selects && leaf->predicate == NULL;
}

orri_match orri_leaf_match(const orr_world* world, const orri_leaf* leaf,
                           const orri_cluster* cluster, uint32_t* failed)
{
    if (ORR_UNLIKELY(cluster->transient) && !match_selects_transient(world, leaf)) {
        return ORRI_MATCH_NONE;
    }
    orri_match match = ORRI_MATCH_ALL;
    for (uint32_t t = 0; t < leaf->term_count; t++) {
        match = match_and(match, match_term(world, leaf, t, cluster));
        if (match == ORRI_MATCH_NONE) {
            if (failed != NULL) {
                *failed = t;
            }
            return match;
        }
    }
    bool has_bits = cluster->columns[orri_cluster_entity_column(cluster)].has_bits;
    match = match_and(match, match_state(has_bits, leaf->entities));
    if (leaf->predicate != NULL && match != ORRI_MATCH_NONE) {
        // Counts as a loop, so that the predicate cannot change the clusters.
        orri_loop_open((orr_world*)(uintptr_t)world);
        bool wanted = leaf->predicate(leaf->user, world, orri_cluster_handle(cluster));
        orri_loop_close((orr_world*)(uintptr_t)world);
        match = wanted ? match : ORRI_MATCH_NONE;
    }
    if (failed != NULL) {
        *failed = leaf->term_count;
    }
    return match;
}

orri_match orri_query_match(const orr_query* query, const orri_cluster* cluster,
                            uint16_t* out_leaves)
{
    orri_match stack[ORRI_NODES_MAX];
    uint32_t depth = 0;
    for (uint32_t n = 0; n < query->node_count; n++) {
        const orri_set_node* node = &query->nodes[n];
        if (node->set == ORR_SET_NONE) {
            orri_match match =
                orri_leaf_match(query->world, &query->leaves[node->leaf], cluster, NULL);
            out_leaves[node->leaf] = (uint16_t)match;
            stack[depth++] = match;
            continue;
        }
        orri_match right = stack[--depth], left = stack[depth - 1];
        stack[depth - 1] = node->set == ORR_UNION          ? match_or(left, right)
                           : node->set == ORR_INTERSECTION ? match_and(left, right)
                                                           : match_and(left, match_not(right));
    }
    return stack[0];
}

// ---- rows ---------------------------------------------------------------------------------------

// Bits of the rows from 64 * word on that are enabled; for a multiple type, those with an enabled
// instance.
static uint64_t match_bits_on(const orri_chunk* chunk, uint32_t column, const uint64_t* bits,
                              uint32_t word)
{
    const orri_cluster_column* entry = &chunk->cluster->columns[column];
    if (entry->counts == 0) {
        return bits[word];
    }
    const uint16_t* counts = (const uint16_t*)(const void*)chunk->columns[entry->counts].data;
    uint32_t left = orri_chunk_rows(chunk) - word * 64;
    uint64_t on = 0;
    for (uint32_t row = 0; row < 64 && row < left; row++) {
        uint32_t first = (word * 64 + row) << entry->shift;
        bool any = false;
        for (uint32_t i = 0; i < counts[word * 64 + row]; i++) {
            any = any || orri_bit_get(bits, first + i);
        }
        on |= (uint64_t)any << row;
    }
    return on;
}

static uint64_t match_rows_state(const orri_chunk* chunk, uint32_t column, orr_enable_state state,
                                 uint32_t word)
{
    const uint64_t* bits =
        (const uint64_t*)(const void*)orri_chunk_bits((orri_chunk*)(uintptr_t)chunk, column)->data;
    if (state == ORR_EITHER) {
        return UINT64_MAX;
    }
    uint64_t on = bits != NULL ? match_bits_on(chunk, column, bits, word) : UINT64_MAX;
    return state == ORR_ENABLED ? on : ~on;
}

static uint64_t match_rows_pinned(const orr_world* world, const orri_chunk* chunk,
                                  const orr_term* term, uint32_t word, uint64_t rows)
{
    const orri_pool* pool = orri_pool_find(world, term->type);
    uint64_t found = 0;
    for (uint64_t left = pool != NULL ? rows : 0; left != 0; left &= left - 1) {
        uint32_t bit = (uint32_t)__builtin_ctzll(left);
        uint32_t index = orri_chunk_ids(chunk)[word * 64 + bit];
        if (orri_pinned_has(pool, index, term->state)) {
            found |= (uint64_t)1 << bit;
        }
    }
    return found;
}

static uint64_t match_rows_presence(const orr_world* world, const orri_chunk* chunk,
                                    const orr_term* term, uint32_t word, uint64_t rows)
{
    if (term->type.id == 0) {
        return orri_cluster_has_tag(chunk->cluster, term->tag) ? rows : 0;
    }
    if (orri_type_at(&world->schema, term->type)->info.storage == ORR_PINNED) {
        return match_rows_pinned(world, chunk, term, word, rows);
    }
    int32_t column = orri_cluster_find_column(chunk->cluster, term->type);
    return column >= 0 ? rows & match_rows_state(chunk, (uint32_t)column, term->state, word) : 0;
}

static uint64_t match_rows_group(const orr_world* world, const orri_leaf* leaf, uint32_t first,
                                 const orri_chunk* chunk, uint32_t word, uint64_t rows)
{
    uint64_t found = 0;
    for (uint32_t t = first; t < leaf->term_count; t++) {
        if (leaf->terms[t].kind == ORR_ANY && leaf->terms[t].group == leaf->terms[first].group) {
            found |= match_rows_presence(world, chunk, &leaf->terms[t], word, rows & ~found);
        }
    }
    return found;
}

static uint64_t match_rows_leaf(const orr_world* world, const orri_leaf* leaf,
                                const orri_chunk* chunk, uint32_t word, uint64_t rows)
{
    rows &=
        match_rows_state(chunk, orri_cluster_entity_column(chunk->cluster), leaf->entities, word);
    for (uint32_t t = 0; t < leaf->term_count && rows != 0; t++) {
        const orr_term* term = &leaf->terms[t];
        if (term->kind == ORR_REQUIRED) {
            rows &= match_rows_presence(world, chunk, term, word, rows);
        } else if (term->kind == ORR_WITHOUT) {
            rows &= ~match_rows_presence(world, chunk, term, word, rows);
        } else if (term->kind == ORR_ANY && match_first_of_group(leaf, t)) {
            rows &= match_rows_group(world, leaf, t, chunk, word, rows);
        }
    }
    return rows;
}

uint64_t orri_query_mask(const orr_query* query, const uint16_t* matches, const orri_chunk* chunk,
                         uint32_t word, uint64_t rows)
{
    uint64_t stack[ORRI_NODES_MAX];
    uint32_t depth = 0;
    for (uint32_t n = 0; n < query->node_count; n++) {
        const orri_set_node* node = &query->nodes[n];
        if (node->set == ORR_SET_NONE) {
            uint16_t match = matches[node->leaf];
            stack[depth++] =
                match == ORRI_MATCH_SOME
                    ? match_rows_leaf(query->world, &query->leaves[node->leaf], chunk, word, rows)
                : match == ORRI_MATCH_ALL ? rows
                                          : 0;
            continue;
        }
        uint64_t right = stack[--depth], left = stack[depth - 1];
        stack[depth - 1] = node->set == ORR_UNION          ? left | right
                           : node->set == ORR_INTERSECTION ? left & right
                                                           : left & ~right;
    }
    return stack[0];
}
