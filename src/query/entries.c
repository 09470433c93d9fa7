// SPDX-License-Identifier: MIT
// Entries: the clusters that match a query, in order of creation (with group_by: by key first),
// each with a map from field to column. All clusters are matched when the query is created;
// afterwards single clusters, when they are created, get enable bits, or are deleted. A deleted
// cluster leaves a gap. Gaps are closed when more than half of the entries are gaps, so that
// deleting thousands of clusters does not move the list each time.
#include "query/query.h"
#include "store/world/access.h"
#include "store/world/commit_scope.h"

#define ENTRIES_MIN   8u // Smallest capacity.
#define ENTRIES_AHEAD 8u // How many clusters ahead are prefetched.

// ---- one entry ----------------------------------------------------------------------------------

// Key of a cluster in the order of entries.
static uint64_t entries_group(const orr_query* query, const orri_cluster* cluster)
{
    if (query->group_by == NULL || cluster->transient) {
        return query->group_by == NULL ? 0 : UINT64_MAX; // Transient entities come last.
    }
    orri_loop_open(query->world); // As for a predicate, see orri_leaf_match().
    uint64_t group = query->group_by(query->group_user, query->world, orri_cluster_handle(cluster));
    orri_loop_close(query->world);
    return group;
}

static uint16_t* entries_map(const orr_query* query, uint32_t entry)
{
    return query->maps + (size_t)entry * query->map_stride;
}

static void entries_fill_map(const orr_query* query, const orri_cluster* cluster, uint16_t* map)
{
    for (uint32_t f = 0; f < query->field_count; f++) {
        int32_t column =
            query->fields[f].pinned ? -1 : orri_cluster_find_column(cluster, query->fields[f].type);
        map[f] = column >= 0 ? (uint16_t)column : ORRI_COLUMN_NONE;
    }
}

// Number of the first entry that is not before (group, sequence).
static uint32_t entries_lower(const orr_query* query, uint64_t group, uint64_t sequence)
{
    uint32_t low = 0, high = query->entry_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        uint64_t middle_group = query->groups != NULL ? query->groups[middle] : 0;
        bool before = middle_group != group ? middle_group < group
                                            : query->entries[middle].sequence < sequence;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low;
}

uint32_t orri_entries_find(const orr_query* query, const orri_cluster* cluster)
{
    uint32_t entry = entries_lower(query, entries_group(query, cluster), cluster->sequence);
    return entry < query->entry_count && query->entries[entry].cluster == cluster ? entry
                                                                                  : UINT32_MAX;
}

// ---- room ---------------------------------------------------------------------------------------

// Grows the arrays for `needed` entries. False if refused (reported).
static bool entries_reserve(orr_query* query, uint32_t needed)
{
    if (needed <= query->entry_capacity) {
        return true;
    }
    orri_env* env = &query->world->env;
    uint32_t capacity = query->entry_capacity < ENTRIES_MIN ? ENTRIES_MIN : query->entry_capacity;
    while (capacity < needed) {
        capacity *= 2;
    }
    orri_entry* entries = ORRI_ALLOC(env, ORR_MEMORY_QUERY, orri_entry, capacity);
    uint16_t* maps =
        ORRI_ALLOC(env, ORR_MEMORY_QUERY, uint16_t, (size_t)capacity * query->map_stride);
    uint64_t* groups =
        query->group_by != NULL ? ORRI_ALLOC(env, ORR_MEMORY_QUERY, uint64_t, capacity) : NULL;
    if (entries == NULL || maps == NULL || (query->group_by != NULL && groups == NULL)) {
        ORRI_FREE(env, ORR_MEMORY_QUERY, orri_entry, entries, capacity);
        ORRI_FREE(env, ORR_MEMORY_QUERY, uint16_t, maps, (size_t)capacity * query->map_stride);
        ORRI_FREE(env, ORR_MEMORY_QUERY, uint64_t, groups, capacity);
        (void)orri_refuse_memory(env, "keeping the clusters that match a query");
        return false;
    }
    if (query->entry_count > 0) {
        memcpy(entries, query->entries, query->entry_count * sizeof *entries);
        memcpy(maps, query->maps, (size_t)query->entry_count * query->map_stride * sizeof *maps);
    }
    if (groups != NULL && query->entry_count > 0) {
        memcpy(groups, query->groups, query->entry_count * sizeof *groups);
    }
    orri_entries_term(query);
    query->entries = entries;
    query->maps = maps;
    query->groups = groups;
    query->entry_capacity = capacity;
    return true;
}

bool orri_entries_room(orr_query* query, uint32_t count)
{
    return entries_reserve(query, query->entry_count + count);
}

void orri_entries_term(orr_query* query)
{
    orri_env* env = &query->world->env;
    ORRI_FREE(env, ORR_MEMORY_QUERY, orri_entry, query->entries, query->entry_capacity);
    ORRI_FREE(env, ORR_MEMORY_QUERY, uint16_t, query->maps,
              (size_t)query->entry_capacity * query->map_stride);
    ORRI_FREE(env, ORR_MEMORY_QUERY, uint64_t, query->groups, query->entry_capacity);
    query->entries = NULL;
    query->maps = NULL;
    query->groups = NULL;
    query->entry_capacity = 0;
}

static void entries_move(orr_query* query, uint32_t to, uint32_t from, uint32_t count)
{
    memmove(query->entries + to, query->entries + from, count * sizeof *query->entries);
    memmove(entries_map(query, to), entries_map(query, from),
            (size_t)count * query->map_stride * sizeof *query->maps);
    if (query->groups != NULL) {
        memmove(query->groups + to, query->groups + from, count * sizeof *query->groups);
    }
}

static void entries_close_gaps(orr_query* query)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < query->entry_count; i++) {
        if (query->entries[i].cluster != NULL) {
            entries_move(query, kept++, i, 1);
        }
    }
    query->entry_count = kept;
    query->entry_dead = 0;
}

static void entries_remove(orr_query* query, uint32_t entry)
{
    query->entries[entry].cluster = NULL;
    query->changes++;
    if (++query->entry_dead * 2 > query->entry_count) {
        entries_close_gaps(query);
    }
}

// ---- matching -----------------------------------------------------------------------------------

// Adds an entry at its place. False if refused (reported).
static bool entries_insert(orr_query* query, orri_cluster* cluster, const uint16_t* leaves,
                           orri_match match)
{
    if (!entries_reserve(query, query->entry_count + 1)) {
        return false;
    }
    uint64_t group = entries_group(query, cluster);
    uint32_t entry = query->entry_count;
    if (entry > 0 &&
        (query->groups != NULL || query->entries[entry - 1].sequence >= cluster->sequence)) {
        entry = entries_lower(query, group, cluster->sequence);
        entries_move(query, entry + 1, entry, query->entry_count - entry);
    }
    query->entries[entry] = (orri_entry){cluster, cluster->sequence};
    uint16_t* map = entries_map(query, entry);
    entries_fill_map(query, cluster, map);
    map[query->field_count] = (uint16_t)match;
    memcpy(map + query->field_count + 1, leaves, query->leaf_count * sizeof *leaves);
    if (query->groups != NULL) {
        query->groups[entry] = group;
    }
    query->entry_count++;
    query->changes++;
    return true;
}

// True if a cluster certainly lacks a required type. One comparison excludes most clusters.
static bool entries_ruled_out(const orr_query* query, const orri_cluster* cluster)
{
    return (cluster->type_bloom & query->required_bloom) != query->required_bloom;
}

bool orri_entries_match(orr_query* query, orri_cluster* cluster)
{
    // In real time, systems that run during a commit iterate their entries; only a commit that owns
    // all clusters may change them.
    ORR_ASSERT(query->world->change.commit_scope == NULL ||
               query->world->change.commit_scope->recording);
    if (entries_ruled_out(query, cluster)) {
        return true;
    }
    uint16_t leaves[ORRI_NODES_MAX];
    orri_match match = orri_query_match(query, cluster, leaves);
    uint32_t entry = orri_entries_find(query, cluster);
    if (entry != UINT32_MAX) {
        uint16_t* map = entries_map(query, entry);
        map[query->field_count] = (uint16_t)match;
        memcpy(map + query->field_count + 1, leaves, query->leaf_count * sizeof *leaves);
        if (match == ORRI_MATCH_NONE) {
            entries_remove(query, entry);
        }
        return true;
    }
    return match == ORRI_MATCH_NONE || entries_insert(query, cluster, leaves, match);
}

void orri_entries_drop(orr_query* query, const orri_cluster* cluster)
{
    if (entries_ruled_out(query, cluster)) {
        return;
    }
    uint32_t entry = orri_entries_find(query, cluster);
    if (entry != UINT32_MAX) {
        entries_remove(query, entry);
    }
}

// ---- building: visits only clusters that can match ----------------------------------------------

// Table of the rarest type that every entity of a leaf has; NULL: there is none.
static const orri_table* entries_anchor_leaf(const orr_query* query, const orri_leaf* leaf)
{
    orr_type types[ORR_TERMS_MAX];
    uint32_t count = 0;
    for (uint32_t t = 0; t < leaf->term_count; t++) {
        const orr_term* term = &leaf->terms[t];
        if (term->kind == ORR_REQUIRED && term->type.id != 0 &&
            orri_type_at(&query->world->schema, term->type)->info.storage == ORR_CHUNK) {
            types[count++] = term->type;
        }
    }
    return count > 0 ? orri_table_rarest(query->world, types, count) : NULL;
}

// The same for a whole query.
static const orri_table* entries_anchor(const orr_query* query)
{
    const orri_table* stack[ORRI_NODES_MAX] = {NULL};
    uint32_t depth = 0;
    for (uint32_t n = 0; n < query->node_count; n++) {
        const orri_set_node* node = &query->nodes[n];
        if (node->set == ORR_SET_NONE) {
            stack[depth++] = entries_anchor_leaf(query, &query->leaves[node->leaf]);
            continue;
        }
        const orri_table *right = stack[--depth], *left = stack[depth - 1];
        if (node->set == ORR_UNION) {
            left = NULL;
        } else if (node->set == ORR_INTERSECTION && left == NULL) {
            left = right;
        }
        stack[depth - 1] = left;
    }
    return stack[0];
}

// True if types and tags alone decide, unless a cluster has enable bits. Such queries match and map
// a cluster in one pass, which makes creating a query over thousands of clusters fast.
static bool entries_plain(const orr_query* query)
{
    const orri_leaf* leaf = &query->leaves[0];
    bool plain = query->node_count == 1 && leaf->predicate == NULL && query->group_by == NULL &&
                 leaf->entities != ORR_DISABLED && !query->by_row;
    for (uint32_t t = 0; t < leaf->term_count && plain; t++) {
        const orri_type* type = orri_type_at(&query->world->schema, leaf->terms[t].type);
        plain = leaf->terms[t].kind != ORR_ANY &&
                (type == NULL || type->info.storage != ORR_PINNED);
    }
    return plain;
}

// Matches a cluster without enable bits against a plain query and fills its map; false if it does
// not match. Fields are in the order of their terms. `anchor` is a type whose column is known
// already.
static inline bool entries_match_plain(const orr_query* query, const orri_cluster* cluster,
                                       uint32_t anchor, uint32_t anchor_column, uint16_t* map)
{
    const orri_leaf* leaf = &query->leaves[0];
    for (uint32_t t = 0; t < leaf->term_count; t++) {
        const orr_term* term = &leaf->terms[t];
        if (term->type.id == 0) {
            if (orri_cluster_has_tag(cluster, term->tag) != (term->kind == ORR_REQUIRED)) {
                return false;
            }
            continue;
        }
        int32_t column = term->type.id == anchor ? (int32_t)anchor_column
                                                 : orri_cluster_find_column(cluster, term->type);
        if ((term->kind == ORR_REQUIRED && column < 0) ||
            (term->kind == ORR_WITHOUT && column >= 0)) {
            return false;
        }
        if (term->kind != ORR_WITHOUT) {
            *map++ = column >= 0 ? (uint16_t)column : ORRI_COLUMN_NONE;
        }
    }
    map[0] = map[1] = ORRI_MATCH_ALL;
    return true;
}

// Enters clusters from number `i` on until one has enable bits. Returns the number of that cluster,
// or cluster_count. The caller has reserved memory.
static uint32_t entries_build_plain(orr_query* query, const orri_table* table, uint32_t i)
{
    uint32_t anchor = table->type->id;
    uint32_t n = query->entry_count;
    uint16_t* map = entries_map(query, n);
    for (; i < table->cluster_count; i++) {
        orri_cluster* cluster = table->clusters[i].cluster;
        if (ORR_UNLIKELY(cluster == NULL)) {
            continue; // A gap.
        }
        if (i + ENTRIES_AHEAD < table->cluster_count) {
            __builtin_prefetch(table->clusters[i + ENTRIES_AHEAD].cluster);
        }
        if (cluster->has_bits) {
            break;
        }
        if (entries_match_plain(query, cluster, anchor, table->clusters[i].column, map)) {
            query->entries[n++] = (orri_entry){cluster, table->clusters[i].sequence};
            map += query->map_stride;
        }
    }
    query->entry_count = n;
    return i;
}

bool orri_entries_build(orr_query* query)
{
    const orri_table* table = entries_anchor(query);
    orri_cluster* cluster = query->world->clusters.first;
    uint32_t count = table != NULL ? table->cluster_count : query->world->clusters.count;
    bool plain = table != NULL && entries_plain(query);
    uint16_t leaves[ORRI_NODES_MAX];
    if (plain && !entries_reserve(query, count)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        i = plain ? entries_build_plain(query, table, i) : i;
        if (i == count) {
            break;
        }
        cluster = table != NULL ? table->clusters[i].cluster : cluster;
        if (cluster == NULL) {
            continue; // A gap.
        }
        if (!entries_ruled_out(query, cluster)) {
            orri_match match = orri_query_match(query, cluster, leaves);
            if (match != ORRI_MATCH_NONE && !entries_insert(query, cluster, leaves, match)) {
                return false;
            }
        }
        cluster = cluster->next;
    }
    orri_cluster* transient = query->world->transient.cluster;
    return transient == NULL || orri_entries_match(query, transient);
}

#undef ENTRIES_MIN
#undef ENTRIES_AHEAD
