// SPDX-License-Identifier: MIT
// Clusters: one per set of types (with the capacities of the multiple types) and tags. The order of
// creation and the free list of cluster indexes are state; the hash table that finds clusters is
// derived.
#include "store/relation/relation.h"
#include "store/table/required_types.h"
#include "store/world/access.h"
#include "store/world/commit_scope.h"

#define CLUSTER_STAGGER  192u // Bytes by which the blocks of neighbouring columns are offset.
#define CLUSTER_GAPS_MIN 16u  // Up to this many gaps a list of clusters is not compacted.

// ---- identity -----------------------------------------------------------------------------------

// The identity of a cluster. Types and tags ascend.
typedef struct cluster_set {
    const orr_type* types;
    const uint16_t* capacities; // NULL: 1 each.
    const orr_tag* tags;
    uint32_t type_count, tag_count;
} cluster_set;

static uint16_t cluster_capacity(const cluster_set* set, uint32_t i)
{
    return set->capacities != NULL ? set->capacities[i] : 1;
}

// Hash of an identity for the look-up. Depends on type ids, so it is not state.
static uint64_t cluster_hash(const cluster_set* set)
{
    uint64_t hash = orri_hash_word(set->type_count, set->tag_count);
    for (uint32_t i = 0; i < set->type_count; i++) {
        hash =
            orri_hash_word(hash, (uint64_t)(cluster_capacity(set, i) - 1) << 32 | set->types[i].id);
    }
    for (uint32_t i = 0; i < set->tag_count; i++) {
        hash = orri_hash_word(hash, set->tags[i]);
    }
    return hash;
}

static bool cluster_equals(const orri_cluster* cluster, const cluster_set* set)
{
    if (cluster->type_count != set->type_count || cluster->tag_count != set->tag_count) {
        return false;
    }
    for (uint32_t i = 0; i < set->type_count; i++) {
        if (cluster->types[i].id != set->types[i].id ||
            cluster->capacities[i] != cluster_capacity(set, i)) {
            return false;
        }
    }
    return set->tag_count == 0 ||
           memcmp(cluster->tags, set->tags, set->tag_count * sizeof *set->tags) == 0;
}

// Finds a cluster by identity, whose hash is known.
static orri_cluster* cluster_lookup_hashed(const orr_world* world, uint64_t hash,
                                           const cluster_set* set)
{
    if (world->clusters.bucket_count == 0) {
        return NULL;
    }
    uint32_t id = world->clusters.buckets[hash & (world->clusters.bucket_count - 1)];
    while (id != 0) {
        orri_cluster* cluster = world->clusters.slots[id - 1].cluster;
        if (cluster->hash == hash && cluster_equals(cluster, set)) {
            return cluster;
        }
        id = cluster->bucket_next;
    }
    return NULL;
}

orri_cluster* orri_cluster_lookup_sized(const orr_world* world, const orr_type* types,
                                        const uint16_t* capacities, uint32_t type_count,
                                        const orr_tag* tags, uint32_t tag_count)
{
    cluster_set set = {types, capacities, tags, type_count, tag_count};
    return cluster_lookup_hashed(world, cluster_hash(&set), &set);
}

int32_t orri_cluster_find_column(const orri_cluster* cluster, orr_type type)
{
    uint32_t low = 0, high = cluster->type_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (cluster->types[middle].id < type.id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < cluster->type_count && cluster->types[low].id == type.id ? (int32_t)low : -1;
}

bool orri_cluster_has_tag(const orri_cluster* cluster, orr_tag tag)
{
    for (uint32_t i = 0; i < cluster->tag_count && cluster->tags[i] <= tag; i++) {
        if (cluster->tags[i] == tag) {
            return true;
        }
    }
    return false;
}

// ---- creating -----------------------------------------------------------------------------------

// Doubles the hash table when it is full.
static bool cluster_grow_buckets(orr_world* world)
{
    if (world->clusters.count < world->clusters.bucket_count) {
        return true;
    }
    uint32_t count = world->clusters.bucket_count == 0 ? 16 : world->clusters.bucket_count * 2;
    uint32_t* buckets = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_CLUSTER, uint32_t, count);
    if (buckets == NULL) {
        return false;
    }
    for (orri_cluster* cluster = world->clusters.first; cluster != NULL; cluster = cluster->next) {
        uint32_t bucket = (uint32_t)cluster->hash & (count - 1);
        cluster->bucket_next = buckets[bucket];
        buckets[bucket] = cluster->index + 1;
    }
    ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, uint32_t, world->clusters.buckets,
              world->clusters.bucket_count);
    world->clusters.buckets = buckets;
    world->clusters.bucket_count = count;
    return true;
}

static void cluster_table_init(orr_world* world, orri_table* table, const orri_type* type)
{
    table->type = type;
    table->multiple = type->info.multiplicity == ORR_MULTIPLE;
    table->instance_last = &world->instance_last;
    table->hot.size = type->info.size;
    const orr_type_info* info = &type->info;
    table->direct_set = type->plain && info->size > 0 && !table->multiple && !info->has_padding &&
                        !info->has_entities && !info->has_owned && !type->has_range;
    for (uint32_t level = 0; level < ORRI_LEVELS; level++) {
        orri_source_init(&table->small[level], orri_block_bytes(table->hot.size, level), 0);
    }
}

// The table of a type, created if missing. NULL when refused (silent).
static orri_table* cluster_table_obtain(orr_world* world, orr_type type)
{
    uint32_t index = orri_type_index(world, type);
    uint32_t old = world->tables.capacity;
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_WORLD, &world->tables.list, &world->tables.capacity,
                      index + 1)) {
        return NULL;
    }
    for (uint32_t i = old; i < world->tables.capacity; i++) {
        world->tables.list[i] = &orri_table_none.hot;
    }
    // While a system runs with access checks, hot.tables are its own; orri_access_leave() sets
    // these.
    if (ORR_LIKELY(orri_access_none(world))) {
        world->hot.tables = world->tables.list;
        world->hot.table_capacity = world->tables.capacity;
    }
    if (world->tables.list[index] == &orri_table_none.hot) {
        orri_table* table = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_CLUSTER, orri_table, 1);
        if (table == NULL) {
            return NULL;
        }
        cluster_table_init(world, table, orri_type_at(&world->schema, type));
        table->needed = orri_required_types_needed(world, index);
        if (table->type->indexed_count > 0) {
            table->relation = orri_relation_create(world, table->type);
            if (table->relation == NULL) {
                ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, orri_table, table, 1);
                return NULL;
            }
        }
        world->tables.list[index] = &table->hot;
        world->tables.changes++;
    }
    return (orri_table*)(void*)world->tables.list[index];
}

// Columns of a set: types, row ids, and two more for each multiple type.
static uint32_t cluster_column_count(const orr_world* world, const cluster_set* set)
{
    uint32_t count = set->type_count + 1;
    for (uint32_t i = 0; i < set->type_count; i++) {
        const orri_type* type = orri_type_at(&world->schema, set->types[i]);
        count += type->info.multiplicity == ORR_MULTIPLE ? 2 : 0;
    }
    return count;
}

// Bytes of a cluster, which is one allocation with its columns, types, sizes, capacities and tags.
static size_t cluster_bytes(uint32_t column_count, uint32_t type_count, uint32_t tag_count)
{
    return sizeof(orri_cluster) + column_count * (sizeof(orri_cluster_column) + sizeof(uint32_t)) +
           tag_count * sizeof(orr_tag) + type_count * (sizeof(orr_type) + sizeof(uint16_t));
}

// Lays out the allocation, and copies the identity into it.
static void cluster_init_identity(orri_cluster* cluster, const cluster_set* set,
                                  uint32_t column_count)
{
    cluster->columns = (orri_cluster_column*)(void*)(cluster + 1);
    orr_tag* own_tags = (orr_tag*)(void*)(cluster->columns + column_count);
    orr_type* own_types = (orr_type*)(void*)(own_tags + set->tag_count);
    cluster->sizes = (uint32_t*)(void*)(own_types + set->type_count);
    uint16_t* own_capacities = (uint16_t*)(void*)(cluster->sizes + column_count);
    for (uint32_t i = 0; i < set->type_count; i++) {
        own_types[i] = set->types[i];
        own_capacities[i] = cluster_capacity(set, i);
        cluster->type_bloom |= (uint64_t)1 << (set->types[i].id & 63);
    }
    for (uint32_t i = 0; i < set->tag_count; i++) {
        own_tags[i] = set->tags[i];
        cluster->tag_bloom |= (uint64_t)1 << (orri_hash_word(0, set->tags[i]) & 63);
    }
    cluster->types = own_types;
    cluster->capacities = own_capacities;
    cluster->tags = own_tags;
    cluster->type_count = set->type_count;
    cluster->tag_count = set->tag_count;
    cluster->column_count = column_count;
}

// The identity's part of the world's hash: layouts, capacities, tags; no numbers that depend on the
// process.
static uint64_t cluster_identity_hash(const orri_cluster* cluster)
{
    uint64_t hash = orri_hash_word(cluster->type_count, cluster->tag_count);
    for (uint32_t i = 0; i < cluster->type_count; i++) {
        hash = orri_hash_word(hash, cluster->columns[i].type->info.layout_hash);
        if (cluster->columns[i].counts != 0) {
            hash = orri_hash_word(hash, cluster->capacities[i]);
        }
    }
    for (uint32_t i = 0; i < cluster->tag_count; i++) {
        hash = orri_hash_word(hash, cluster->tags[i]);
    }
    return hash;
}

// Sets up the columns of the types, and the columns of counts and ids of multiple types.
static bool cluster_init_types(orr_world* world, orri_cluster* cluster)
{
    uint32_t next = cluster->type_count + 1;
    cluster->plain = true;
    for (uint32_t c = 0; c < cluster->type_count; c++) {
        orri_cluster_column* column = &cluster->columns[c];
        column->table = cluster_table_obtain(world, cluster->types[c]);
        if (column->table == NULL) {
            return false;
        }
        column->type = column->table->type;
        column->size = column->table->hot.size * cluster->capacities[c];
        cluster->plain = cluster->plain && column->type->trivial;
        column->by_value = column->type->indexed_count > 0;
        cluster->indexed = cluster->indexed || column->by_value;
        cluster->indexed_preset |= column->by_value && !column->type->zero_preset;
        if (column->table->multiple) {
            while (1u << column->shift < cluster->capacities[c]) {
                column->shift++;
            }
            column->counts = (uint16_t)next;
            cluster->columns[next++].size = sizeof(uint16_t);
            cluster->columns[next++].size = cluster->capacities[c] * (uint32_t)sizeof(uint32_t);
        }
    }
    return true;
}

// Sets up all columns, their sources, and the flags that follow from the types.
static bool cluster_init_columns(orr_world* world, orri_cluster* cluster)
{
    size_t row_bytes = 0;
    if (!cluster_init_types(world, cluster)) {
        return false;
    }
    cluster->columns[cluster->type_count].size = sizeof(uint32_t);
    cluster->words = cluster->plain;
    for (uint32_t c = 0; c < cluster->column_count; c++) {
        orri_cluster_column* column = &cluster->columns[c];
        cluster->sizes[c] = column->size;
        cluster->words = cluster->words && orri_size_short(column->size);
        row_bytes += column->size;
        // Without stagger the same row of all columns would fall into the same cache sets.
        orri_source_init(&column->source, orri_block_bytes(column->size, ORRI_LEVELS),
                         c % 16 * CLUSTER_STAGGER);
    }
    orri_cluster_set_direct(cluster);
    cluster->row_bytes = row_bytes;
    cluster->level_first = orri_chunk_level_first(row_bytes);
    cluster->identity_hash = cluster_identity_hash(cluster);
    return true;
}

// ---- lists of clusters by type ------------------------------------------------------------------

// Makes room for one more cluster in the lists of its types.
static bool cluster_index_reserve(orr_world* world, orri_cluster* cluster)
{
    for (uint32_t c = 0; c < cluster->type_count; c++) {
        orri_table* table = cluster->columns[c].table;
        if (!ORRI_RESERVE(&world->env, ORR_MEMORY_CLUSTER, &table->clusters,
                          &table->cluster_capacity, table->cluster_count + 1)) {
            return false;
        }
    }
    return true;
}

// The first entry of a list, which ascends by sequence, with this sequence or a later one.
static uint32_t cluster_index_find(const orri_table* table, uint64_t sequence)
{
    uint32_t low = 0, high = table->cluster_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (table->clusters[middle].sequence < sequence) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// Enters a cluster in order of creation. Usually it is the youngest and goes to the end. One that is
// restored takes the gap that it left, if that is still there.
static void cluster_index_enter(orri_cluster* cluster)
{
    for (uint32_t c = 0; c < cluster->type_count; c++) {
        orri_table* table = cluster->columns[c].table;
        uint32_t at = cluster_index_find(table, cluster->sequence);
        orri_table_cluster* entry = &table->clusters[at];
        if (at < table->cluster_count && entry->sequence == cluster->sequence) {
            table->gap_count--;
        } else {
            memmove(entry + 1, entry, (table->cluster_count - at) * sizeof *entry);
            table->cluster_count++;
        }
        *entry = (orri_table_cluster){cluster, cluster->sequence, c};
    }
}

// Closes all gaps of a list.
static void cluster_index_compact(orri_table* table)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < table->cluster_count; i++) {
        if (table->clusters[i].cluster != NULL) {
            table->clusters[kept++] = table->clusters[i];
        }
    }
    table->cluster_count = kept;
    table->gap_count = 0;
}

// Removes a cluster from the lists of its types. It leaves a gap: closing each gap at once would
// move, for n clusters that are deleted one by one, n * n / 2 entries.
static void cluster_index_leave(const orri_cluster* cluster)
{
    for (uint32_t c = 0; c < cluster->type_count; c++) {
        orri_table* table = cluster->columns[c].table;
        uint32_t at = cluster_index_find(table, cluster->sequence);
        ORR_ASSERT(at < table->cluster_count && table->clusters[at].cluster == cluster);
        table->clusters[at].cluster = NULL;
        table->gap_count++;
        while (table->cluster_count > 0 &&
               table->clusters[table->cluster_count - 1].cluster == NULL) {
            table->cluster_count--;
            table->gap_count--;
        }
        if (table->gap_count > CLUSTER_GAPS_MIN && table->gap_count > table->cluster_count / 2) {
            cluster_index_compact(table);
        }
    }
}

// A cluster in no list, with room reserved in all lists. NULL when refused (silent).
static orri_cluster* cluster_alloc(orr_world* world, const cluster_set* set)
{
    if (!cluster_grow_buckets(world) ||
        !ORRI_RESERVE(&world->env, ORR_MEMORY_CLUSTER, &world->clusters.slots,
                      &world->clusters.slot_capacity, world->clusters.slot_count + 1)) {
        return NULL;
    }
    uint32_t column_count = cluster_column_count(world, set);
    size_t bytes = cluster_bytes(column_count, set->type_count, set->tag_count);
    orri_cluster* cluster =
        orri_alloc_zero(&world->env, ORR_MEMORY_CLUSTER, bytes, ORRI_BLOCK_ALIGN);
    if (cluster == NULL) {
        return NULL;
    }
    cluster_init_identity(cluster, set, column_count);
    if (!cluster_init_columns(world, cluster) || !cluster_index_reserve(world, cluster)) {
        orri_free(&world->env, ORR_MEMORY_CLUSTER, cluster, bytes, ORRI_BLOCK_ALIGN);
        return NULL;
    }
    return cluster;
}

// Gives a cluster an index: the index freed last, or a fresh one.
static void cluster_slot_take(orr_world* world, orri_cluster* cluster)
{
    if (world->clusters.slot_free != 0) {
        cluster->index = world->clusters.slot_free - 1;
        world->clusters.slot_free = world->clusters.slots[cluster->index].free_next;
    } else {
        cluster->index = world->clusters.slot_count++;
        world->clusters.slots[cluster->index] = (orri_cluster_slot){.generation = 1};
    }
    orri_cluster_slot* slot = &world->clusters.slots[cluster->index];
    slot->cluster = cluster;
    slot->free_next = 0;
    cluster->generation = slot->generation;
}

// Enters a cluster into the hash table and the lists of its types. Its index, sequence and hash
// must be set.
static void cluster_enter(orr_world* world, orri_cluster* cluster)
{
    uint32_t bucket = (uint32_t)cluster->hash & (world->clusters.bucket_count - 1);
    cluster->bucket_next = world->clusters.buckets[bucket];
    world->clusters.buckets[bucket] = cluster->index + 1;
    world->clusters.count++;
    cluster_index_enter(cluster);
    if (cluster->type_count == 0 && cluster->tag_count == 0) {
        world->clusters.empty = cluster;
    }
}

// Appends a cluster to the order of creation, and enters it.
static void cluster_link(orr_world* world, orri_cluster* cluster)
{
    cluster->prev = world->clusters.last;
    if (world->clusters.last != NULL) {
        world->clusters.last->next = cluster;
    } else {
        world->clusters.first = cluster;
    }
    world->clusters.last = cluster;
    cluster->sequence = ++world->clusters.sequence;
    cluster_enter(world, cluster);
}

orri_cluster* orri_cluster_obtain(orr_world* world, const char* call, const orr_type* types,
                                  uint32_t type_count, const orr_tag* tags, uint32_t tag_count,
                                  bool* created)
{
    return orri_cluster_obtain_sized(world, call, types, NULL, type_count, tags, tag_count,
                                     created);
}

orri_cluster* orri_cluster_obtain_like(orr_world* world, const char* call, const orri_cluster* like,
                                       const orr_type* types, uint32_t type_count,
                                       const orr_tag* tags, uint32_t tag_count, bool* created)
{
    uint16_t capacities[ORR_CLUSTER_TYPES_MAX];
    bool sized = like->column_count > like->type_count + 1 && type_count <= ORR_CLUSTER_TYPES_MAX;
    for (uint32_t i = 0; sized && i < type_count; i++) {
        int32_t column = orri_cluster_find_column(like, types[i]);
        capacities[i] = column >= 0 ? like->capacities[column] : 1;
    }
    return orri_cluster_obtain_sized(world, call, types, sized ? capacities : NULL, type_count,
                                     tags, tag_count, created);
}

// Creates the cluster of a set that has none. NULL when refused (reported).
static orri_cluster* cluster_make(orr_world* world, const char* call, const cluster_set* set,
                                  uint64_t hash)
{
    if (orri_required_types_check_set(world, call, set->types, set->type_count) != ORR_OK) {
        return NULL;
    }
    orri_cluster* cluster = cluster_alloc(world, set);
    if (cluster == NULL) {
        (void)orri_refuse_memory(&world->env, "creating a cluster");
        return NULL;
    }
    cluster->hash = hash;
    cluster_slot_take(world, cluster);
    cluster_link(world, cluster);
    if (world->listener.cluster_match != NULL && !world->listener.cluster_match(world, cluster)) {
        orri_cluster_undo(world, cluster);
        return NULL;
    }
    return cluster;
}

orri_cluster* orri_cluster_obtain_sized(orr_world* world, const char* call, const orr_type* types,
                                        const uint16_t* capacities, uint32_t type_count,
                                        const orr_tag* tags, uint32_t tag_count, bool* created)
{
    cluster_set set = {types, capacities, tags, type_count, tag_count};
    uint64_t hash = cluster_hash(&set);
    orri_cluster* cluster = cluster_lookup_hashed(world, hash, &set);
    *created = false;
    if (cluster != NULL) {
        return cluster;
    }
    if (world->clusters.count >= world->limits.clusters || type_count > ORR_CLUSTER_TYPES_MAX ||
        tag_count > ORR_CLUSTER_TAGS_MAX) {
        (void)orri_refuse(
            &world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_CLUSTER_REFUSED,
            "%s: a cluster of %u types and %u tags would exceed a limit (%u types, %u "
            "tags, %u clusters in this world: clusters_max)",
            call, type_count, tag_count, ORR_CLUSTER_TYPES_MAX, ORR_CLUSTER_TAGS_MAX,
            world->limits.clusters);
        return NULL;
    }
    cluster = orri_commit_scope_registry(world) ? cluster_make(world, call, &set, hash) : NULL;
    *created = cluster != NULL;
    return cluster;
}

orri_cluster* orri_cluster_make_transient(orr_world* world)
{
    cluster_set set = {0};
    orri_cluster* cluster = cluster_alloc(world, &set);
    if (cluster == NULL) {
        (void)orri_refuse_memory(&world->env, "creating a cluster");
        return NULL;
    }
    cluster->transient = true;
    cluster->index = UINT32_MAX;    // Its handle is null.
    cluster->sequence = UINT64_MAX; // Last in the order of queries.
    if (world->listener.cluster_match != NULL && !world->listener.cluster_match(world, cluster)) {
        orri_cluster_free_transient(world, cluster);
        return NULL;
    }
    return cluster;
}

bool orri_cluster_over_limit(const orr_world* world, const orr_type* types,
                             const uint16_t* capacities, uint32_t type_count, const orr_tag* tags,
                             uint32_t tag_count)
{
    cluster_set set = {types, capacities, tags, type_count, tag_count};
    return world->clusters.count >= world->limits.clusters &&
           cluster_lookup_hashed(world, cluster_hash(&set), &set) == NULL;
}

orri_cluster* orri_cluster_fallback(orr_world* world, const char* call, bool* created)
{
    cluster_set set = {0};
    orri_cluster* cluster = world->clusters.empty;
    *created = cluster == NULL;
    return cluster != NULL ? cluster : cluster_make(world, call, &set, cluster_hash(&set));
}

orri_cluster* orri_cluster_obtain_empty(orr_world* world, const char* call, bool* created)
{
    if (ORR_LIKELY(world->clusters.empty != NULL)) {
        *created = false;
        return world->clusters.empty;
    }
    return orri_cluster_obtain(world, call, NULL, 0, NULL, 0, created);
}

// ---- destroying ---------------------------------------------------------------------------------

// Removes a cluster from the hash table, the lists of its types, and the order of creation.
static void cluster_unlink(orr_world* world, orri_cluster* cluster)
{
    uint32_t* link =
        &world->clusters.buckets[(uint32_t)cluster->hash & (world->clusters.bucket_count - 1)];
    while (*link != cluster->index + 1) {
        link = &world->clusters.slots[*link - 1].cluster->bucket_next;
    }
    *link = cluster->bucket_next;
    cluster_index_leave(cluster);
    if (cluster->prev != NULL) {
        cluster->prev->next = cluster->next;
    } else {
        world->clusters.first = cluster->next;
    }
    if (cluster->next != NULL) {
        cluster->next->prev = cluster->prev;
    } else {
        world->clusters.last = cluster->prev;
    }
    world->clusters.count--;
    if (world->clusters.empty == cluster) {
        world->clusters.empty = NULL;
    }
}

// Frees the struct and its list of chunks.
static void cluster_free(orr_world* world, orri_cluster* cluster)
{
    ORRI_RELEASE(&world->env, ORR_MEMORY_CLUSTER, cluster->chunks, cluster->chunk_capacity);
    orri_free(&world->env, ORR_MEMORY_CLUSTER, cluster,
              cluster_bytes(cluster->column_count, cluster->type_count, cluster->tag_count),
              ORRI_BLOCK_ALIGN);
}

void orri_cluster_free_transient(orr_world* world, orri_cluster* cluster)
{
    ORR_ASSERT(cluster->row_count == 0 && cluster->transient);
    if (world->listener.cluster_gone != NULL) {
        world->listener.cluster_gone(world, cluster);
    }
    orri_cluster_free_chunks(world, cluster);
    for (uint32_t c = 0; c < cluster->column_count; c++) {
        orri_source_term(&cluster->columns[c].source, &world->env);
    }
    cluster_free(world, cluster);
}

// Removes a cluster from all lists and frees its memory, except for the struct. It keeps its index.
static void cluster_leave(orr_world* world, orri_cluster* cluster)
{
    ORR_ASSERT(cluster->row_count == 0);
    if (world->listener.cluster_gone != NULL) {
        world->listener.cluster_gone(world, cluster);
    }
    orri_transitions_drop(world, cluster);
    orri_cluster_free_chunks(world, cluster);
    cluster_unlink(world, cluster);
    for (uint32_t c = 0; c < cluster->column_count; c++) {
        orri_source_term(&cluster->columns[c].source, &world->env);
    }
}

// Destroys a cluster without rows. `was_visible`: callers may have its handle, so the next cluster
// of its index needs a new generation.
static void cluster_destroy(orr_world* world, orri_cluster* cluster, bool was_visible)
{
    cluster_leave(world, cluster);
    orri_cluster_slot* slot = &world->clusters.slots[cluster->index];
    slot->cluster = NULL;
    slot->generation += was_visible;
    if (slot->generation == 0 && was_visible) {
        // All generations are used up: the index is never given out again.
    } else if (!was_visible && cluster->index + 1 == world->clusters.slot_count &&
               slot->generation == 1) {
        world->clusters.slot_count--;
    } else {
        slot->free_next = world->clusters.slot_free;
        world->clusters.slot_free = cluster->index + 1;
    }
    cluster_free(world, cluster);
}

void orri_cluster_undo(orr_world* world, orri_cluster* cluster)
{
    cluster_destroy(world, cluster, false);
}

// Ends the entities of a chunk and destructs their values.
static void cluster_kill_chunk(orr_world* world, orri_chunk* chunk, uint32_t rows)
{
    const orri_cluster* cluster = chunk->cluster;
    const uint32_t* ids = orri_chunk_ids(chunk);
    orri_index_kill(world, ids, rows);
    for (uint32_t c = 0; !cluster->plain && c < cluster->type_count; c++) {
        // Values of a shared block belong to its share from now on.
        if (!cluster->columns[c].type->plain && !orri_column_shared(chunk, c)) {
            orri_cells_destruct(orri_cells_at(chunk, c, 0), rows);
        }
    }
}

bool orri_cluster_kill_rows(orr_world* world, orri_cluster* cluster)
{
    for (uint32_t row = 0; world->index.share_count > 0 && row < cluster->row_count; row++) {
        const orri_chunk* chunk = orri_cluster_chunk_of(cluster, row);
        if (!orri_index_prepare(world, orri_chunk_ids(chunk)[row & ORRI_SLOT_MASK])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < cluster->chunk_count; i++) {
        orri_chunk* chunk = cluster->chunks[i];
        cluster_kill_chunk(world, chunk, orri_chunk_rows(chunk));
    }
    for (uint32_t c = 0; cluster->row_count > 0 && c < cluster->column_count; c++) {
        cluster->columns[c].version = world->epoch;
    }
    orri_cluster_free_chunks(world, cluster);
    return true;
}

void orri_cluster_destroy(orr_world* world, orri_cluster* cluster)
{
    bool killed = orri_cluster_kill_rows(world, cluster);
    ORR_ASSERT(killed);
    (void)killed;
    cluster_destroy(world, cluster, true);
}

void orri_clusters_term(orr_world* world)
{
    while (world->clusters.last != NULL) {
        cluster_destroy(world, world->clusters.last, true);
    }
    orri_relations_term(world);
    orri_required_types_term(world);
    for (uint32_t i = 0; i < world->tables.capacity; i++) {
        orri_table* table = (orri_table*)(void*)world->tables.list[i];
        if (table == &orri_table_none) {
            continue;
        }
        ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, uint8_t*, table->hot.data, table->hot.capacity);
        ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, uint16_t, table->column, table->hot.capacity);
        for (uint32_t level = 0; level < ORRI_LEVELS; level++) {
            orri_source_term(&table->small[level], &world->env);
        }
        ORRI_RELEASE(&world->env, ORR_MEMORY_CLUSTER, table->clusters, table->cluster_capacity);
        ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, orri_table, table, 1);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_WORLD, world->tables.list, world->tables.capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_CLUSTER, world->clusters.slots,
                 world->clusters.slot_capacity);
    ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, uint32_t, world->clusters.buckets,
              world->clusters.bucket_count);
}

// ---- restoring (restore.c) ----------------------------------------------------------------------

orri_cluster* orri_cluster_revive(orr_world* world, const orr_type* types,
                                  const uint16_t* capacities, uint32_t type_count,
                                  const orr_tag* tags, uint32_t tag_count, uint32_t others)
{
    cluster_set set = {types, capacities, tags, type_count, tag_count};
    orri_cluster* cluster = cluster_alloc(world, &set);
    for (uint32_t c = 0; cluster != NULL && c < type_count; c++) {
        orri_table* table = cluster->columns[c].table;
        if (!ORRI_RESERVE(&world->env, ORR_MEMORY_CLUSTER, &table->clusters,
                          &table->cluster_capacity, table->cluster_count + others + 1)) {
            cluster_free(world, cluster);
            return NULL;
        }
    }
    if (cluster != NULL) {
        cluster->hash = cluster_hash(&set);
    }
    return cluster;
}

void orri_cluster_abandon(orr_world* world, orri_cluster* cluster)
{
    for (uint32_t c = 0; c < cluster->column_count; c++) {
        orri_source_term(&cluster->columns[c].source, &world->env);
    }
    cluster_free(world, cluster);
}

void orri_cluster_admit(orr_world* world, orri_cluster* cluster)
{
    world->clusters.slots[cluster->index].cluster = cluster;
    cluster_enter(world, cluster);
}

void orri_cluster_expel(orr_world* world, orri_cluster* cluster)
{
    cluster_leave(world, cluster);
    world->clusters.slots[cluster->index].cluster = NULL;
    cluster_free(world, cluster);
}

// ---- public calls: clearing and deleting --------------------------------------------------------

// Destroys all rows of a cluster, with their cascade.
static orr_result cluster_clear(orr_world* world, const char* call, orr_cluster handle,
                                orri_cluster** out)
{
    orr_result result = orri_check_open(world, call);
    if (result != ORR_OK) {
        return result;
    }
    orri_cluster* cluster = orri_cluster_at(world, handle);
    if (cluster == NULL) {
        return orri_refuse_cluster(world, call, handle);
    }
    *out = cluster;
    if (world->relations.count != 0) {
        cluster->clearing = true;
        result = orri_relation_destroy_clusters(world, call, cluster);
        cluster->clearing = false;
        return result;
    }
    return orri_cluster_kill_rows(world, cluster)
               ? ORR_OK
               : orri_refuse_memory(&world->env, "copying a shared page of the entity index");
}

orr_result orr_cluster_clear(orr_world* world, orr_cluster handle)
{
    ORR_ASSERT(world != NULL);
    orri_cluster* cluster = NULL;
    return cluster_clear(world, "orr_cluster_clear", handle, &cluster);
}

orr_result orr_cluster_delete(orr_world* world, orr_cluster handle)
{
    ORR_ASSERT(world != NULL);
    orri_cluster* cluster = NULL;
    orr_result result = cluster_clear(world, "orr_cluster_delete", handle, &cluster);
    if (result == ORR_OK) {
        cluster_destroy(world, cluster, true);
    }
    return result;
}

orr_result orr_entities_destroy_all(orr_world* world)
{
    ORR_ASSERT(world != NULL);
    orr_result result = orri_check_open(world, "orr_entities_destroy_all");
    if (result != ORR_OK) {
        return result;
    }
    // Prepare everything first, so that a refusal leaves all entities alive.
    if (!orri_index_prepare_all(world)) {
        return orri_refuse_memory(&world->env, "copying shared pages of the entity index");
    }
    for (orri_cluster* cluster = world->clusters.first; cluster != NULL; cluster = cluster->next) {
        bool killed = orri_cluster_kill_rows(world, cluster);
        ORR_ASSERT(killed);
        (void)killed;
    }
    orri_relations_reset(world);
    return ORR_OK;
}

#undef CLUSTER_STAGGER
#undef CLUSTER_GAPS_MIN
