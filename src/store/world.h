// SPDX-License-Identifier: MIT
// The world's state: records, clusters, chunks, columns. README.md states the invariants.
//
//   id ──> record {generation, place} ──> chunk ──> column of a type ──> block of rows
//            (index.c)   chunk id, slot     (chunk.c)                      (block.c)
//
// Vocabulary: a *slot* is a row within its chunk; a *place* packs chunk id and slot into 32 bits; the
// *epoch* counts moments at which somebody outside may have looked: what was written since is stamped with it.
#ifndef ORRI_STORE_WORLD_H
#define ORRI_STORE_WORLD_H

#include "base/env.h"
#include "base/util.h"
#include "schema/schema.h"
#include <orrery/store.h>

// ---- numbers --------------------------------------------------------------------------------------

#define ORRI_SLOT_BITS 11
#define ORRI_SLOT_MASK (ORR_CHUNK_CAPACITY - 1)
_Static_assert(1u << ORRI_SLOT_BITS == ORR_CHUNK_CAPACITY, "slot bits and capacity must agree");

// Generation word of a record and upper half of an id: dead bit, 7 bits salt, 24 bits generation. An id never
// has the dead bit, so a dead (or marked) record equals no id.
#define ORRI_DEAD            0x80000000u
#define ORRI_GENERATION_BITS 24
#define ORRI_GENERATION_MASK 0x00FFFFFFu
#ifndef ORRI_GENERATION_MAX // The store's tests make it small, to see the wrap.
#define ORRI_GENERATION_MAX ORRI_GENERATION_MASK
#endif
#ifndef ORRI_CHUNKS_MAX // Likewise.
#define ORRI_CHUNKS_MAX ORR_CHUNKS_MAX
#endif
#define ORRI_INDEX_NONE  UINT32_MAX // No entity has this index: ends the free list, marks a hole.
#define ORRI_PAGE_BITS   12
#define ORRI_PAGE_SIZE   (1u << ORRI_PAGE_BITS)
#define ORRI_PAGE_MASK   (ORRI_PAGE_SIZE - 1)
#define ORRI_LEVELS      6 // Sizes of a growing first chunk below the full one.
#define ORRI_BITS_BYTES  (ORR_CHUNK_CAPACITY / 8)
#define ORRI_BLOCK_ALIGN 64

// ---- blocks (block.c) -------------------------------------------------------------------------------

typedef struct orri_source orri_source;

// Memory for several blocks of one size, one after another. Freed with its last block.
typedef struct orri_extent {
    orri_source* source;             // Who takes blocks from it; NULL once the source is gone.
    struct orri_extent *prev, *next; // All extents of the source.
    struct orri_extent *partial_prev, *partial_next; // Those with a free block.
    void* free_first; // Blocks given back, linked through their first bytes.
    size_t size;      // Bytes in all, for the allocator.
    size_t block_size;
    uint32_t offset;                              // Of the first block.
    uint32_t block_count, block_used, block_free; // In all, handed out ever, given back.
} orri_extent;

// Gives out blocks of one size. Extents grow with the number of blocks, so that neighbours stay neighbours.
struct orri_source {
    orri_extent *first, *partial;
    size_t block_size;
    uint32_t block_live; // Blocks in use.
    uint32_t stagger;    // Offset of the first block, so that columns do not alias in the cache.
};

// ---- columns, chunks --------------------------------------------------------------------------------

struct orri_share;

// One block as seen by readers and writers. `data` is NULL for enable bits that are all on, and points at
// a constant byte for markers.
typedef struct orri_column {
    uint8_t* data;
    uint64_t version;         // Epoch of the last write. Never goes back.
    uint64_t tick;            // World tick of the last write. State.
    struct orri_share* share; // Somebody holds this very block; NULL: nobody.
} orri_column;

typedef struct orri_column_cold {
    orri_extent* extent; // Where the block comes from; NULL for markers and absent bits.
    uint64_t hash;       // Of the rows, if hash_version == version.
    uint64_t hash_version;
} orri_column_cold;

typedef struct orri_cluster orri_cluster;

// columns[0 … n-1] are the types of the cluster in order, [n] the row ids (uint32_t entity index), then for each
// multiple type its counts (uint16_t per row) and its instance ids (one uint32_t per instance). In the same order, from
// column_count / 2 on, the enable bits: of the types one per instance, of the row ids one per entity, of the others none.
// Cold parts follow in the same order.
typedef struct orri_chunk {
    orri_cluster* cluster;
    uint32_t* ids;         // The data of the row ids' column.
    uint64_t stamp;        // Epoch in which all columns were stamped (rows came, went or moved).
    uint32_t id;           // In the directory; part of every place.
    uint32_t number;       // Within the cluster: holds rows number * capacity …
    uint32_t capacity;     // Rows it has memory for.
    uint32_t share_count;  // Columns somebody holds.
    uint32_t column_count; // Twice that of the cluster.
    orri_column columns[];
} orri_chunk;

static inline orri_column_cold* orri_chunk_cold(const orri_chunk* chunk)
{
    return (orri_column_cold*)(uintptr_t)(chunk->columns + chunk->column_count);
}

// True when the values of a column pass to a holder if the chunk goes. A marker has none to pass.
static inline bool orri_column_held(const orri_chunk* chunk, uint32_t column)
{
    return chunk->columns[column].share != NULL && orri_chunk_cold(chunk)[column].extent != NULL;
}

// ---- clusters -----------------------------------------------------------------------------------------

// A cluster that has a type, and the type's column there.
typedef struct orri_table_cluster {
    orri_cluster* cluster;
    uint64_t sequence;
    uint32_t column;
} orri_table_cluster;

// A type table: where the column of one type is, by chunk id. `hot` is the part that orr_component_get() reads.
// Flat, since pages of 128 chunks made a get by id 40% slower (3.6 against 2.5 ns). A chunk that is far, for how rare
// the type is, is not in it and is found through its cluster: otherwise 1000 types in 20,000 chunks took 280 MB.
typedef struct orri_table {
    orr_hot_table hot; // First: the hot pointer is the table.
    uint16_t* column;  // [hot.capacity]; index of the column, plus 1.
    uint32_t live;     // Chunks that have the type.
    bool multiple;     // Then it covers no chunk: rows differ in size from cluster to cluster.
    const orri_type* type;
    uint32_t* instance_last;      // The world's.
    orri_table_cluster* clusters; // All clusters with the type, in order of creation.
    uint32_t cluster_count, cluster_capacity;
    bool needed;                    // By another type (needs.h).
    struct orri_relation* relation; // Who refers to whom (relation.h); NULL: nothing is indexed.
    orri_source small[ORRI_LEVELS]; // First blocks of growing chunks.
} orri_table;

typedef struct orri_cluster_column {
    const orri_type* type; // NULL for the row ids, counts and instance ids.
    orri_table* table;     // Likewise.
    uint32_t size;         // Bytes of a row: of a value, or of all instances there is room for.
    uint16_t
        counts; // Of a multiple type: the column of its counts; the ids are the next one. 0: unique.
    uint8_t shift;      // A row has room for 1 << shift instances.
    bool has_bits;      // Every chunk has enable bits for it.
    bool by_value;      // Not to be written in place: it has indexed references.
    uint64_t version;   // The largest of its blocks, ever.
    orri_source source; // Of full blocks.
} orri_cluster_column;

struct orri_plan;

// Begins on a cache line; the first one holds what walking, creating, moving and destroying rows reads.
struct orri_cluster {
    orri_chunk* chunk_first; // chunks[0]; NULL: none. Most clusters have no other.
    orri_chunk** chunks;
    uint32_t row_count, row_capacity; // Rows it has, and has chunks for.
    uint32_t type_count, chunk_count;
    bool direct;                  // Plain and without bits: rows may go the short ways.
    bool direct_new;              // And without multiple types: they may come the short way too.
    bool plain;                   // All types are.
    bool has_bits;                // Some column has.
    uint32_t column_count;        // Of columns without their bits.
    uint32_t* sizes;              // [column_count], of rows: what a move of one row reads.
    orri_cluster_column* columns; // [column_count], as in a chunk.
    struct orri_plan* edge_last;  // The edge taken last; NULL: none.
    // Second line.
    uint32_t index; // Number; the handle has index + 1.
    uint32_t generation;
    uint32_t tag_count;
    uint32_t bucket_next;       // index1 in the look-up's chain.
    uint32_t chunk_capacity;    // Of `chunks`.
    uint8_t level_first;        // Level of a new first chunk.
    const uint16_t* capacities; // [type_count], instances a row has room for; 1 for unique types.
    const orr_type* types;      // [type_count], ascending index1.
    const orr_tag* tags;        // [tag_count], ascending.
    uint64_t type_bloom, tag_bloom; // One bit per type or tag: a quick no.
    uint64_t hash;                  // Of the identity, for look-up only.
    uint64_t identity_hash;         // Of type names, layouts and tags; part of the world's hash.
    orri_cluster *prev, *next;      // In creation order.
    uint64_t sequence;              // Ascends with the order of creation. Not state.
    struct orri_plan *plans_from, *plans_to;
    // Scratch of a batch (batch.c), 0 outside: rows that leave, how they go, first target row, rows gone, and where
    // to look for the next row that fills a gap.
    uint32_t batch_count, batch_base, batch_used, batch_tail;
    uint32_t bits_added;     // How often a column got enable bits: then queries match it anew.
    uint32_t batch_incoming; // Rows that come to it.
    struct orri_plan* batch_plan;
    bool batch_created; // The target is new.
    // Scratch of a change set (change.h), likewise: on its list, and the route of the group in hand, plus 1.
    bool batch_listed;
    uint32_t batch_route;
    bool doomed;  // Scratch of clearing and deleting; false outside.
    bool indexed; // Some type has indexed references.
};
_Static_assert(offsetof(orri_cluster, index) <= 64, "the hot part of a cluster is one line");

typedef struct orri_cluster_slot {
    orri_cluster* cluster; // NULL: free.
    uint32_t generation;   // Of the cluster here, or of the next one.
    uint32_t free_next;    // index1.
} orri_cluster_slot;

// How rows get from one cluster to another: which columns stay, come and go.
typedef struct orri_plan_pair {
    uint16_t from, to;
    uint32_t size;
} orri_plan_pair;

typedef struct orri_plan {
    orri_cluster *from, *to;
    struct orri_plan *pair_next, *edge_next; // Chains of the two look-ups.
    struct orri_plan *from_prev, *from_next; // All plans of `from`.
    struct orri_plan *to_prev, *to_next;     // All plans to `to`.
    uint64_t edge;                           // Type and direction; 0: not an edge.
    uint32_t kept_count, new_count, dropped_count, resized_count;
    bool simple;          // Nothing of it needs a hook or a count.
    bool plain;           // Kept columns move by memcpy.
    bool dropped_plain;   // Dropped ones need no destruct.
    bool indexed;         // An added or dropped one has indexed references.
    orri_plan_pair* kept; // [kept_count]
    uint16_t* added;      // [new_count], columns of `to`.
    uint16_t* dropped;    // [dropped_count], columns of `from`.
    // [resized_count], multiple types that are kept with another capacity. `kept` lists neither them nor their counts
    // and ids, but those of the others.
    orri_plan_pair* resized;
} orri_plan;

// ---- index ------------------------------------------------------------------------------------------

// generation: as in the id; with ORRI_DEAD: of the next id here.
// place: chunk id << ORRI_SLOT_BITS | slot; dead: next free index.
typedef orr_hot_record orri_record;

typedef struct orri_page_meta {
    uint64_t version; // As of columns.
    struct orri_share* share;
    uint64_t hash, hash_version;
} orri_page_meta;

// The pages themselves, and the number of indexes ever given, are in orr_hot_world.
typedef struct orri_index {
    orri_page_meta* metas;
    uint32_t page_count, page_capacity, meta_capacity;
    uint32_t free_first; // LIFO; ORRI_INDEX_NONE: empty.
    uint32_t free_count, live_count;
    uint32_t share_count; // Pages somebody holds.
} orri_index;

typedef struct orri_tag_entry {
    orr_tag tag;
    char* name; // Allocated with its length + 1.
} orri_tag_entry;

// ---- the modules below ----------------------------------------------------------------------------------

typedef struct orri_pool orri_pool;     // pool.h
typedef struct orri_names orri_names;   // name.c
typedef struct orri_needs orri_needs;   // needs.c
typedef struct orri_bundle orri_bundle; // bundle.h

// Who is told of structure: filled by the query module with the first query of a world. NULL functions: nobody.
typedef struct orri_listener {
    // A cluster was made, or one of its columns got enable bits. False (reported): that is refused and undone.
    bool (*cluster_match)(orr_world* world, orri_cluster* cluster);
    void (*cluster_gone)(orr_world* world, const orri_cluster* cluster);
    // An entity got or lost a value, or it was switched on or off. The pool shows it already; a lost value's
    // memory is still there.
    void (*pinned_changed)(orr_world* world, const orri_pool* pool, uint32_t index);
    // Rows are about to come, go or move: queries forget where they lie. Called when world->listed is not 0, and clears it.
    void (*structure_change)(orr_world* world);
    // Somebody is about to look at versions or ticks of blocks: writes not yet stamped are stamped (orri_world_settle()).
    void (*settle)(orr_world* world);
    void (*world_gone)(orr_world* world); // Gives back all memory of the module.
} orri_listener;

struct orri_queries;
struct orri_messages;
struct orri_schedule;
typedef struct orr_query orr_query;

// A module below that keeps something with the world: messages, systems. NULL functions: nothing to do.
typedef struct orri_tenant {
    void (*gone)(orr_world* world);                      // The world ends: gives back all memory.
    uint64_t (*digest)(orr_world* world, uint64_t hash); // Its part of the world's hash.
    orr_result (*validate)(orr_world* world);            // Its invariants. Reports.
} orri_tenant;

typedef enum orri_tenant_id {
    ORRI_TENANT_MESSAGES,
    ORRI_TENANT_SCHEDULE,
    ORRI_TENANT_COUNT,
} orri_tenant_id;

// What the running system may do with the world (guard.c). Bits by type index; NULL: none.
typedef struct orri_guard {
    const char* system;                   // Its name.
    const uint64_t *any_read, *any_write; // By id, of any entity, and in queries of its own.
    const orr_query* query;               // Its own query; NULL: none.
    const orr_tag* any_tags;              // Tags that queries of its own may ask for.
    uint32_t any_tag_count;
    bool indirect;
    bool posted;                // It is the function of a transaction that runs.
    bool parallel;              // Its runs go to several workers at once.
    bool alone;                 // Nobody runs beside it, and it is called by one worker.
    bool owns;                  // It changes values with owned strings or arrays.
    uint32_t type_count;        // Bits there are.
    _Atomic uint64_t* breaches; // Counted here.
} orri_guard;

// What this thread does at this moment, while systems run side by side.
typedef struct orri_here {
    const orr_world* world; // NULL: nothing.
    const orri_guard* guard;
    const void* system; // Of the schedule.
    orr_hot_table**
        tables; // What reading by id may see, world->table_capacity of them; NULL: the guard is asked.
} orri_here;
extern _Thread_local orri_here orri_here_now;

// Entities that are about to be created (apply.h), by index: they count as alive for who refers to them.
typedef struct orri_ahead {
    uint64_t* bits;
    uint32_t end; // Bits there are.
} orri_ahead;

// Something kept for some entities: pages by index >> ORRI_PAGE_BITS, made when first needed; NULL: none.
typedef struct orri_pages {
    void** list;
    uint32_t capacity;
} orri_pages;

// ---- the world ----------------------------------------------------------------------------------------

struct orr_world {
    orr_hot_world
        hot; // First: what the inline functions of store.h read. Its tables are those below, or the
             // part of them that the running system may see.
    orr_hot_table** tables; // By type index.
    uint32_t table_capacity;
    uint32_t table_changes; // Counts new entries of `tables`.
    orri_env env;
    orri_schema schema;
    uint64_t tick, epoch; // Side by side: the inline functions of query.h read both.
    uint64_t seed;
    uint64_t share_live;  // Shares not yet released.
    uint64_t pinned_live; // Values in pools: 0 tells a destroyer that there is nothing to look for.
    uint32_t salt;        // Already shifted into the generation word.
    uint32_t entities_max, clusters_max, tags_max;

    orri_index index;

    orri_chunk** chunks; // Directory by chunk id; [0] is never used.
    uint32_t* chunk_free;
    uint32_t chunk_count, chunk_capacity, chunk_free_capacity, chunk_free_count;

    orri_source row_small[ORRI_LEVELS]; // First blocks of row ids.
    orri_source bits;

    orri_cluster_slot* slots;
    uint32_t slot_count, slot_capacity, slot_free; // slot_free is index1.
    uint32_t cluster_count;
    orri_cluster *cluster_first, *cluster_last; // Creation order.
    orri_cluster* cluster_empty;                // Of entities without anything; NULL until needed.
    uint32_t* cluster_buckets;                  // index1.
    uint32_t cluster_bucket_count;
    orri_plan **plan_pairs, **plan_edges; // Buckets, the same number of both.
    uint32_t plan_bucket_count, plan_count;

    orri_tag_entry* tags; // In order of naming.
    uint32_t tag_count, tag_capacity;
    uint32_t *tag_names, *tag_values; // Look-up by name and by value (tag.c).
    uint32_t tag_table_size;          // A power of two, or 0.

    orr_error_handler on_error;
    void* on_error_user;
    orr_appender* appender; // Open one; NULL: none.
    orr_entity* append_entities;
    uint32_t
        append_run_fresh; // Of the open run: how many ids were fresh, the rest came from the free list.

    orri_listener listener;
    struct orri_queries* queries; // Of the query module.
    // Open iterations: structure stays as it is meanwhile. An iteration of an earlier era has ended.
    _Atomic uint32_t iterating;
    // Some query keeps a list of where rows lie, which must not move before it is told; some has writes to stamp.
    _Atomic uint32_t listed, owing;
    uint32_t
        relation_count; // Types with indexed references: when not 0, deaths are told (relation.h).
    uint32_t iteration_era;
    uint64_t cluster_sequence; // Clusters ever made.
    uint32_t instance_last;    // The orr_component_id given last. Not state.

    // Pinned values (pool.h). All pools by type index, NULL: none; and those there are, in order of types.
    orri_pool **pools, **pool_list;
    uint32_t pool_capacity, pool_count, pool_list_capacity;
    orri_names* names;    // Look-up of names (name.c); NULL: nobody ever had one.
    orr_entity singleton; // The world's own entity; null, or dead: it has none.
    struct orri_relation* relations;
    orri_needs* needs; // By type index (needs.c).
    uint32_t needs_capacity;
    orri_bundle** bundles; // In order of registration.
    uint32_t bundle_count, bundle_capacity;
    struct orri_messages* messages; // Of the message module.
    struct orri_schedule* schedule; // Of the schedule module.
    orri_tenant tenants[ORRI_TENANT_COUNT];
    uint32_t workers; // Of the desc, as what follows.
    orr_pool pool;
    uint64_t stuck_ns;
    double rate_hz;              // Of the desc.
    _Atomic uint32_t in_handler; // Error handlers that run, within each other.
    bool in_system;              // The function of a system runs.
    float dt;                    // Of the tick under way; 0 between ticks.
    // Of the system that runs; NULL: none, or it is not watched. While several run, one that allows nothing: ask orri_guard_of().
    const orri_guard* guard;
    bool
        abreast; // Systems may run on several threads: who they are, each thread knows (orri_here_now).
    // A tick is under way, so structure is changed by messages only: `iterating` is not 0 then. What to say to who tries.
    const char* busy;
    const orri_ahead* ahead; // NULL outside of a change set.
    orri_pages
        relation_marks; // Bits: scratch of a destruction, 0 outside. No page: nobody there refers.
};

// ---- ids ----------------------------------------------------------------------------------------------

static inline uint32_t orri_id_index(orr_entity entity)
{
    return (uint32_t)entity.id;
}

static inline uint32_t orri_id_generation(orr_entity entity)
{
    return (uint32_t)(entity.id >> 32);
}

static inline orr_entity orri_id_make(uint32_t index, uint32_t generation)
{
    return (orr_entity){(uint64_t)generation << 32 | index};
}

// Null and the types of other worlds give an index larger than any.
static inline uint32_t orri_type_index(const orr_world* world, orr_type type)
{
    return type.index1 - world->hot.type_base;
}

static inline orri_record* orri_record_at(const orr_world* world, uint32_t index)
{
    return &world->hot.pages[index >> ORRI_PAGE_BITS][index & ORRI_PAGE_MASK];
}

// The record of a live entity; NULL for any other id.
static inline orri_record* orri_record_find(const orr_world* world, orr_entity entity)
{
    // One compare refuses an index that was never given and an id with the dead bit, which none has: a made-up
    // one would equal a dead record.
    if (ORR_UNLIKELY((entity.id & ORR_HOT_ID_MASK) >= world->hot.count)) {
        return NULL;
    }
    orri_record* record = orri_record_at(world, orri_id_index(entity));
    return ORR_LIKELY(record->generation == orri_id_generation(entity)) ? record : NULL;
}

static inline orri_chunk* orri_place_chunk(const orr_world* world, uint32_t place)
{
    return world->chunks[place >> ORRI_SLOT_BITS];
}

static inline uint32_t orri_place_slot(uint32_t place)
{
    return place & ORRI_SLOT_MASK;
}

static inline uint32_t orri_place_make(const orri_chunk* chunk, uint32_t slot)
{
    return chunk->id << ORRI_SLOT_BITS | slot;
}

// ---- chunks: small helpers used everywhere ---------------------------------------------------------------

static inline uint32_t orri_chunk_rows(const orri_chunk* chunk)
{
    uint32_t first = chunk->number << ORRI_SLOT_BITS;
    uint32_t rows = chunk->cluster->row_count;
    uint32_t left = rows > first ? rows - first : 0;
    return left < ORR_CHUNK_CAPACITY ? left : ORR_CHUNK_CAPACITY;
}

static inline uint32_t* orri_chunk_ids(const orri_chunk* chunk)
{
    return chunk->ids;
}

static inline orri_column* orri_chunk_bits(orri_chunk* chunk, uint32_t column)
{
    return &chunk->columns[chunk->column_count / 2 + column];
}

static inline orri_chunk* orri_cluster_chunk_of(const orri_cluster* cluster, uint32_t row)
{
    return ORR_LIKELY(row < ORR_CHUNK_CAPACITY) ? cluster->chunk_first
                                                : cluster->chunks[row >> ORRI_SLOT_BITS];
}

// For chunks that are not in the table.
ORRI_COLD int32_t orri_table_column_far(const orr_world* world, uint32_t type_index,
                                        uint32_t chunk_id);
// The column of a type in a chunk; -1 if it has none.
static inline int32_t orri_table_column(const orr_world* world, uint32_t type_index,
                                        uint32_t chunk_id)
{
    if (ORR_UNLIKELY(type_index >= world->table_capacity)) {
        return -1;
    }
    const orri_table* table = (const orri_table*)(const void*)world->tables[type_index];
    return ORR_LIKELY(chunk_id < table->hot.capacity)
               ? (int32_t)table->column[chunk_id] - 1
               : orri_table_column_far(world, type_index, chunk_id);
}

// Copies a plain value; the common sizes without a call.
static inline void orri_value_move(void* to, const void* from, uint32_t size)
{
    if (size == 8) {
        memcpy(to, from, 8);
    } else if (size == 16) {
        memcpy(to, from, 16);
    } else if (size == 4) {
        memcpy(to, from, 4);
    } else if (size == 12) {
        memcpy(to, from, 12);
    } else {
        memcpy(to, from, size);
    }
}

static inline void orri_value_zero(void* to, uint32_t size)
{
    if (size == 8) {
        memset(to, 0, 8);
    } else if (size == 16) {
        memset(to, 0, 16);
    } else if (size == 4) {
        memset(to, 0, 4);
    } else {
        memset(to, 0, size);
    }
}

// Writes the preset of a plain type.
static inline void orri_value_preset(const orri_type* type, void* to, uint32_t size)
{
    if (ORR_LIKELY(type->zero_preset)) {
        orri_value_zero(to, size);
    } else {
        memcpy(to, type->preset, size);
    }
}

// ---- refusals (refuse.c) --------------------------------------------------------------------------------

// "7v1" in a buffer that lives as long as the expression's block.
typedef struct orri_id_text {
    char text[128];
} orri_id_text;
orri_id_text orri_id_format(orr_entity entity);
// The same with its name, if it is alive and has one, cut when it is long: "bob (7v1)". For messages.
orri_id_text orri_entity_format(const orr_world* world, orr_entity entity);
const char* orri_type_label(const orr_world* world, orr_type type);
// As orr_entity_enabled() and orr_component_enabled(), for the library itself.
bool orri_entity_enabled(const orr_world* world, orr_entity entity);
bool orri_component_enabled(const orr_world* world, orr_entity entity, orr_type type);

// These report and return the result. `call` is the public function's name.
ORRI_COLD orr_result orri_refuse_entity(const orr_world* world, const char* call, orr_entity entity,
                                        orr_type type);
ORRI_COLD orr_result orri_refuse_type(const orr_world* world, const char* call, orr_type type);
ORRI_COLD orr_result orri_refuse_cluster(const orr_world* world, const char* call,
                                         orr_cluster cluster);
ORRI_COLD orr_result orri_refuse_argument(const orr_world* world, const char* call,
                                          const char* what);
ORRI_COLD orr_result orri_refuse_hook(const orr_world* world, const char* call,
                                      const orri_type* type);
// A type with indexed references is not written in place.
ORRI_COLD orr_result orri_refuse_in_place(const orr_world* world, const char* call,
                                          const orri_type* type);
// A cluster could not grow: for want of memory, or because the world has all the chunks it may have.
ORRI_COLD orr_result orri_refuse_room(const orr_world* world, const char* call);
// ORR_OK unless an appender or an iteration is open.
orr_result orri_check_open(const orr_world* world, const char* call);
// True when nothing keeps rows from moving: the quick form of the above.
static inline bool orri_world_open(const orr_world* world)
{
    return world->appender == NULL && (world->iterating | world->listed) == 0;
}
// Before versions or ticks of blocks are looked at.
static inline void orri_world_settle(const orr_world* world)
{
    if (ORR_UNLIKELY(world->owing != 0)) {
        world->listener.settle((orr_world*)(uintptr_t)world);
    }
}
// The same, and nobody is told of deaths: one row may go at once.
static inline bool orri_world_quiet(const orr_world* world)
{
    return world->appender == NULL &&
           (world->iterating | world->listed | world->relation_count) == 0;
}
// True when destroying an entity may mean more: others refer to it by indexed fields.
static inline bool orri_world_related(const orr_world* world)
{
    return world->relation_count != 0;
}
// True for types whose values may not be written in place.
static inline bool orri_type_written_by_set(const orri_type* type)
{
    return type->indexed_count != 0 || strcmp(type->info.name, "orr_name") == 0;
}
// The world as the env's owner; const is cast away for reporting only, which is not state.
static inline orri_env* orri_env_of(const orr_world* world)
{
    return (orri_env*)(uintptr_t)&world->env;
}

// ---- guard.c: what a running system may reach ------------------------------------------------------------

// Of the system this thread runs. Not NULL where world->guard is not.
static inline const orri_guard* orri_guard_of(const orr_world* world)
{
    return ORR_UNLIKELY(world->abreast) && orri_here_now.world == world ? orri_here_now.guard
                                                                        : world->guard;
}
// Systems may run on several threads from now on, each between orri_here_enter() and orri_here_leave(). `watched`: with guards; reading by
// id finds what `tables` (may be NULL) have for all of them, and otherwise the thread's own.
void orri_guard_abreast(orr_world* world, bool watched, orr_hot_table** tables);
void orri_guard_alone(orr_world* world);
// What the thread did before, a system of another world perhaps, is returned, and taken up again at the end.
static inline orri_here orri_here_enter(const orr_world* world, const orri_guard* guard,
                                        const void* system, orr_hot_table** tables)
{
    orri_here before = orri_here_now;
    orri_here_now = (orri_here){world, guard, system, tables};
    return before;
}
static inline void orri_here_leave(orri_here before)
{
    orri_here_now = before;
}
// While it runs. `tables` (may be NULL: no types) are those the inline functions may see, world->table_capacity of them.
void orri_guard_enter(orr_world* world, const orri_guard* guard, orr_hot_table** tables);
void orri_guard_leave(orr_world* world);
// Fills such tables. To be done again when world->table_changes has changed.
void orri_guard_tables(const orr_world* world, const orri_guard* guard, orr_hot_table** tables);
// True when allowed; otherwise the breach is reported and counted. `entity` may be null.
ORRI_COLD bool orri_guard_reads_long(const orr_world* world, const char* call, orr_type type,
                                     orr_entity entity);
ORRI_COLD bool orri_guard_writes_long(const orr_world* world, const char* call, orr_type type,
                                      orr_entity entity);
// What stands for names, tags and switches: orr_name, orr_tags, orr_enabled.
ORRI_COLD bool orri_guard_builtin_long(const orr_world* world, const char* call, const char* name,
                                       orr_entity entity);
// Where entities are: for who reaches something by id.
ORRI_COLD bool orri_guard_places_long(const orr_world* world, const char* call, orr_entity entity);
static inline bool orri_guard_reads(const orr_world* world, const char* call, orr_type type,
                                    orr_entity entity)
{
    return ORR_LIKELY(world->guard == NULL) || orri_guard_reads_long(world, call, type, entity);
}
static inline bool orri_guard_writes(const orr_world* world, const char* call, orr_type type,
                                     orr_entity entity)
{
    return ORR_LIKELY(world->guard == NULL) || orri_guard_writes_long(world, call, type, entity);
}
static inline bool orri_guard_builtin(const orr_world* world, const char* call, const char* name,
                                      orr_entity entity)
{
    return ORR_LIKELY(world->guard == NULL) || orri_guard_builtin_long(world, call, name, entity);
}
// Making and counting strings and arrays.
ORRI_COLD bool orri_guard_owns_long(const orr_world* world, const char* call);
static inline bool orri_guard_owns(const orr_world* world, const char* call)
{
    return ORR_LIKELY(world->guard == NULL) || orri_guard_owns_long(world, call);
}
static inline bool orri_guard_places(const orr_world* world, const char* call, orr_entity entity)
{
    return ORR_LIKELY(world->guard == NULL) || orri_guard_places_long(world, call, entity);
}
// A running system changes structure; both may be null.
ORRI_COLD orr_result orri_refuse_structure(const orr_world* world, const char* call, orr_type type,
                                           orr_entity entity);
// As orri_check_open(), and names what it is about.
static inline orr_result orri_check_open_of(const orr_world* world, const char* call, orr_type type,
                                            orr_entity entity)
{
    return ORR_LIKELY(world->guard == NULL) ? orri_check_open(world, call)
                                            : orri_refuse_structure(world, call, type, entity);
}
// The same for a tag that a query asks for.
ORRI_COLD bool orri_guard_tags_long(const orr_world* world, const char* call, orr_tag tag);
static inline bool orri_guard_tags(const orr_world* world, const char* call, orr_tag tag)
{
    return ORR_LIKELY(world->guard == NULL) || orri_guard_tags_long(world, call, tag);
}
// For calls that make no sense inside a system.
ORRI_COLD orr_result orri_refuse_running(const orr_world* world, const char* call);

// ---- virtual.c: types that stand for switches and tags ----------------------------------------------------

// True for orr_enabled and orr_tags: every entity counts as having them, none stores them.
bool orri_type_virtual(const orri_type* type);
ORRI_COLD orr_result orri_refuse_virtual(const orr_world* world, const char* call,
                                         const orri_type* type);
// The desc of a component type that the library brings along (orr_name too); NULL: no such name.
const orr_type_desc* orri_builtin_desc(const char* name);

// ---- block.c ----------------------------------------------------------------------------------------------

void orri_source_init(orri_source* source, size_t block_size, uint32_t stagger);
// Extents that still have blocks in use live on without it.
void orri_source_term(orri_source* source, orri_env* env);
// A block, all of it poisoned; NULL when refused. `wanted` more are expected right after.
void* orri_block_take(orri_source* source, orri_env* env, uint32_t wanted, orri_extent** out);
// A block of any size (a multiple of 64 bytes) without a source: an extent of its own.
void* orri_block_take_alone(orri_env* env, size_t bytes, orri_extent** out);
void orri_block_give(orri_extent* extent, orri_env* env, void* block);

// ---- index.c ----------------------------------------------------------------------------------------------

orr_result orri_index_init(orr_world* world);
void orri_index_term(orr_world* world);
// Makes sure that the next `count` ids can be given without fail.
orr_result orri_index_reserve(orr_world* world, const char* call, uint32_t count);
// Gives back pages that no id has reached: what a refused reserve, or a reserve that led to nothing, had made.
void orri_index_trim(orr_world* world);
// True for the id of an entity that is about to be created; world->ahead is not NULL (index_ahead.c).
bool orri_ahead_has(const orr_world* world, orr_entity entity);
// Makes sure that the record of an index can be written without fail.
bool orri_index_prepare(orr_world* world, uint32_t index);
bool orri_index_prepare_all(orr_world* world);
ORRI_COLD void orri_page_stamp(orr_world* world, uint32_t page);
// True when the record can be written at once: it was stamped in this epoch, so nobody holds its page.
static inline bool orri_index_fresh(const orr_world* world, uint32_t index)
{
    return world->index.metas[index >> ORRI_PAGE_BITS].version == world->epoch;
}
static inline orri_record* orri_index_write(orr_world* world, uint32_t index)
{
    uint32_t page = index >> ORRI_PAGE_BITS;
    if (ORR_UNLIKELY(world->index.metas[page].version != world->epoch)) {
        orri_page_stamp(world, page);
    }
    return &world->hot.pages[page][index & ORRI_PAGE_MASK];
}
// True when the next id can be given at once: its page is there and was stamped in this epoch.
static inline bool orri_index_ready(const orr_world* world)
{
    uint32_t next = world->index.free_first;
    if (next == ORRI_INDEX_NONE) {
        next = world->hot.count;
        if (next >= world->entities_max || next >> ORRI_PAGE_BITS >= world->index.page_count) {
            return false;
        }
    }
    return orri_index_fresh(world, next);
}
static inline orr_entity orri_index_give_one(orr_world* world, uint32_t place)
{
    orri_index* index = &world->index;
    uint32_t number = index->free_first;
    orri_record* record;
    if (number != ORRI_INDEX_NONE) {
        record = orri_index_write(world, number);
        index->free_first = record->place;
        index->free_count--;
        record->generation &= ~ORRI_DEAD;
    } else {
        number = world->hot.count++;
        record = orri_index_write(world, number);
        record->generation = world->salt | 1;
    }
    record->place = place;
    index->live_count++;
    return orri_id_make(number, record->generation);
}
// Gives `count` ids to rows of one chunk from `slot` on; writes records, row ids and, if not NULL, `out`.
void orri_index_give(orr_world* world, orri_chunk* chunk, uint32_t slot, uint32_t count,
                     orr_entity* out);
// The opposite of the last give, for ids nobody has seen: the free list is as before.
void orri_index_undo(orr_world* world, const orri_chunk* chunk, uint32_t slot, uint32_t count,
                     uint32_t fresh_count);
ORRI_COLD void orri_index_retire(orri_record* record);
// Removes the pinned values of entities that are about to die (pool.c). They are still alive and in their rows.
ORRI_COLD void orri_pinned_drop(orr_world* world, const uint32_t* indexes, uint32_t count);
// Kills one entity; its record may be written, and its row is still there.
static inline void orri_index_kill_one(orr_world* world, uint32_t index, orri_record* record)
{
    if (ORR_UNLIKELY(world->pinned_live != 0)) {
        orri_pinned_drop(world, &index, 1);
    }
    uint32_t generation = record->generation | ORRI_DEAD;
    world->index.live_count--;
    if (ORR_UNLIKELY((generation & ORRI_GENERATION_MASK) == ORRI_GENERATION_MAX)) {
        orri_index_retire(record);
        return;
    }
    *record = (orri_record){generation + 1, world->index.free_first};
    world->index.free_first = index;
    world->index.free_count++;
}
// Kills the entities of some indexes, in order; their records must be prepared, and their rows are still there.
void orri_index_kill(orr_world* world, const uint32_t* indexes, uint32_t count);

// ---- chunk.c ----------------------------------------------------------------------------------------------

// Makes sure that all columns of a chunk can be written without fail.
bool orri_chunk_prepare(orr_world* world, orri_chunk* chunk);
bool orri_column_prepare(orr_world* world, orri_chunk* chunk, uint32_t column);
ORRI_COLD void orri_chunk_stamp_all(orr_world* world, orri_chunk* chunk);
void orri_column_stamp_one(orr_world* world, orri_chunk* chunk, uint32_t column);
// Stamps all columns with tick and epoch. The chunk must be prepared.
static inline void orri_chunk_stamp(orr_world* world, orri_chunk* chunk)
{
    if (ORR_UNLIKELY(chunk->stamp != world->epoch)) {
        orri_chunk_stamp_all(world, chunk);
    }
}
// A column to write, prepared and stamped; NULL when a copy was refused (reported).
static inline uint8_t* orri_column_write(orr_world* world, orri_chunk* chunk, uint32_t column)
{
    if (ORR_UNLIKELY(chunk->columns[column].version != world->epoch)) {
        if (!orri_column_prepare(world, chunk, column)) {
            return NULL;
        }
        orri_column_stamp_one(world, chunk, column);
    }
    return chunk->columns[column].data;
}
// Makes room for `count` more rows: grows the first chunk, adds chunks. All or nothing.
bool orri_cluster_reserve(orr_world* world, orri_cluster* cluster, uint32_t count);
// Frees chunks without rows and poisons what holds no row.
ORRI_COLD void orri_cluster_trim(orr_world* world, orri_cluster* cluster);
// Frees all chunks; rows must be gone or belong to shares.
void orri_cluster_free_chunks(orr_world* world, orri_cluster* cluster);
// Makes enable bits for a column (type_count: of the entities) in every chunk, all on.
bool orri_cluster_add_bits(orr_world* world, orri_cluster* cluster, uint32_t column);
// Enters or leaves a chunk's columns in the type tables; room must be reserved. After a block was replaced: refresh.
void orri_chunk_enter(orri_chunk* chunk);
void orri_chunk_leave(const orri_chunk* chunk);
void orri_chunk_refresh(orri_chunk* chunk);
// A row changes its place within a cluster: values, row id, bits, record. `to` is raw before, `from` after.
void orri_row_relocate(orr_world* world, orri_chunk* to, uint32_t to_slot, orri_chunk* from,
                       uint32_t from_slot);
// Unpoisons `count` rows before they are made; poisons them after they are gone. Nothing without ASan.
#ifdef ORRI_ASAN
void orri_rows_open(orri_chunk* chunk, uint32_t slot, uint32_t count);
void orri_rows_close(orri_chunk* chunk, uint32_t slot, uint32_t count);
#else
static inline void orri_rows_open(orri_chunk* chunk, uint32_t slot, uint32_t count)
{
    (void)chunk, (void)slot, (void)count;
}
static inline void orri_rows_close(orri_chunk* chunk, uint32_t slot, uint32_t count)
{
    (void)chunk, (void)slot, (void)count;
}
#endif
extern uint8_t orri_marker_byte[ORRI_BLOCK_ALIGN];
extern orri_table orri_table_none;
// Bytes of a block of a level (ORRI_LEVELS: a full one) for values of a size.
size_t orri_block_bytes(uint32_t size, uint32_t level);
uint8_t orri_chunk_level_first(size_t row_bytes);
// Bytes of the enable bits of a column.
static inline size_t orri_bits_bytes(const orri_cluster_column* column)
{
    return (size_t)ORRI_BITS_BYTES << column->shift;
}
// A block for a chunk's column; NULL when refused.
void* orri_chunk_block(orr_world* world, const orri_chunk* chunk, uint32_t column, uint32_t wanted,
                       orri_extent** out);
// For relinking (relink.c): headers without blocks or id, pages of the tables, single blocks.
orri_chunk* orri_chunk_alloc(orr_world* world, orri_cluster* cluster);
void orri_chunk_free(orr_world* world, orri_chunk* chunk);
bool orri_chunk_reserve_tables(orr_world* world, const orri_cluster* cluster, uint32_t chunk_id);
bool orri_column_take(orr_world* world, orri_chunk* chunk, uint32_t column, uint32_t wanted);
void orri_column_give(orr_world* world, orri_chunk* chunk, uint32_t column);

// ---- cluster.c --------------------------------------------------------------------------------------------

// NULL for a stale or null handle.
static inline orri_cluster* orri_cluster_at(const orr_world* world, orr_cluster handle)
{
    uint32_t index = handle.index1 - 1;
    if (ORR_UNLIKELY(index >= world->slot_count)) {
        return NULL;
    }
    const orri_cluster_slot* slot = &world->slots[index];
    return ORR_LIKELY(slot->generation == handle.generation) ? slot->cluster : NULL;
}
static inline orr_cluster orri_cluster_handle(const orri_cluster* cluster)
{
    return (orr_cluster){cluster->index + 1, cluster->generation};
}
// Types ascending, tags ascending, no doubles, all valid.
orri_cluster* orri_cluster_lookup(const orr_world* world, const orr_type* types,
                                  uint32_t type_count, const orr_tag* tags, uint32_t tag_count);
// Looks up or creates. `*created` tells. NULL when refused (reported). Rows have room for one instance of each type.
orri_cluster* orri_cluster_obtain(orr_world* world, const char* call, const orr_type* types,
                                  uint32_t type_count, const orr_tag* tags, uint32_t tag_count,
                                  bool* created);
// The same with capacities: of each type (NULL: 1), or as in another cluster that has the type.
orri_cluster* orri_cluster_lookup_sized(const orr_world* world, const orr_type* types,
                                        const uint16_t* capacities, uint32_t type_count,
                                        const orr_tag* tags, uint32_t tag_count);
orri_cluster* orri_cluster_obtain_sized(orr_world* world, const char* call, const orr_type* types,
                                        const uint16_t* capacities, uint32_t type_count,
                                        const orr_tag* tags, uint32_t tag_count, bool* created);
orri_cluster* orri_cluster_obtain_like(orr_world* world, const char* call, const orri_cluster* like,
                                       const orr_type* types, uint32_t type_count,
                                       const orr_tag* tags, uint32_t tag_count, bool* created);
// Undoes the last creation: as if it had never been.
void orri_cluster_undo(orr_world* world, orri_cluster* cluster);
// The empty cluster, created if missing.
orri_cluster* orri_cluster_of_nothing(orr_world* world, const char* call, bool* created);
// The same, though it be one more than clusters_max: where entities are that a change set had no cluster for.
orri_cluster* orri_cluster_refuge(orr_world* world, const char* call, bool* created);
// True when a set has no cluster, and clusters_max allows for none more.
bool orri_cluster_barred(const orr_world* world, const orr_type* types, const uint16_t* capacities,
                         uint32_t type_count, const orr_tag* tags, uint32_t tag_count);
// Of some types, at least one, the table of that which the fewest clusters have: what has all of them is in there.
const orri_table* orri_table_rarest(const orr_world* world, const orr_type* types, uint32_t count);
// -1 if the cluster lacks the type.
int32_t orri_cluster_find_column(const orri_cluster* cluster, orr_type type);
// The column whose enable bits are those of the entities.
static inline uint32_t orri_cluster_entity_column(const orri_cluster* cluster)
{
    return cluster->type_count;
}
bool orri_cluster_has_tag(const orri_cluster* cluster, orr_tag tag);
orr_result orri_check_storable(const orr_world* world, const char* call, orr_type type);
// Destroys all rows of a cluster. False when index pages are held and memory is refused (nothing is done).
bool orri_cluster_kill_rows(orr_world* world, orri_cluster* cluster);
void orri_clusters_term(orr_world* world);
// Kills the rows and the cluster. All records must be prepared.
void orri_cluster_destroy(orr_world* world, orri_cluster* cluster);

// ---- plan.c -----------------------------------------------------------------------------------------------

enum {
    ORRI_EDGE_ADD = 0,
    ORRI_EDGE_REMOVE = 1
};
// The plan from a cluster to the one with a type more or less. `*created` (may be NULL) tells whether the target
// is new. NULL when refused (reported).
orri_plan* orri_plan_edge_find(orr_world* world, const char* call, orri_cluster* from,
                               orr_type type, int direction, bool* created);
static inline orri_plan* orri_plan_edge(orr_world* world, const char* call, orri_cluster* from,
                                        orr_type type, int direction, bool* created)
{
    uint64_t edge = (uint64_t)type.index1 << 1 | (unsigned)direction;
    *created = false;
    if (ORR_LIKELY(from->edge_last != NULL && from->edge_last->edge == edge)) {
        return from->edge_last;
    }
    return orri_plan_edge_find(world, call, from, type, direction, created);
}
orri_plan* orri_plan_pair_get(orr_world* world, orri_cluster* from, orri_cluster* to);
// The plan to the cluster that differs in the capacity of one multiple type only. As orri_plan_edge().
orri_plan* orri_plan_resize(orr_world* world, const char* call, orri_cluster* from, uint32_t column,
                            uint16_t capacity, bool* created);
// Forgets all plans of a cluster.
void orri_plans_drop(orr_world* world, orri_cluster* cluster);

// ---- entity.c --------------------------------------------------------------------------------------------

// Creates rows at the end of a cluster. All or nothing.
orr_result orri_rows_create(orr_world* world, const char* call, orri_cluster* cluster,
                            uint32_t count, const orr_column_data* data, uint32_t data_count,
                            orr_entity* out);

// Copies values into raw rows of a column, across chunks. On a hook's refusal nothing is made.
bool orri_column_copy(orri_cluster* cluster, uint32_t column, uint32_t first, uint32_t count,
                      const void* values);

// ---- tag.c -----------------------------------------------------------------------------------------------

void orri_tags_term(orr_world* world);

// What every move of rows is checked for: no appender open, both clusters there.
orr_result orri_check_move(const orr_world* world, const char* call, orr_cluster from,
                           orr_cluster to, orri_cluster** out_from, orri_cluster** out_to);

// ---- mover.c: one row leaves a cluster ------------------------------------------------------------------

// Moves one row. `value` (may be NULL) initialises the column of `value_type` in the target instead of its preset.
orr_result orri_move_one(orr_world* world, const char* call, const orri_plan* plan, uint32_t index,
                         const orri_type* value_type, const void* value);
// Removes one row whose values are gone (moved out or destructed): the last row fills the gap. Its chunk, the
// last chunk and the last row's record must be prepared.
void orri_row_remove(orr_world* world, orri_chunk* chunk, uint32_t slot);
// Makes sure that one row can be removed without fail.
bool orri_row_prepare_remove(orr_world* world, orri_chunk* chunk, uint32_t index);
// The short way of both, for a direct cluster whose chunks and records were stamped in this epoch: then nothing can be
// refused and nothing needs a stamp.
static inline bool orri_row_stamped(const orr_world* world, const orri_chunk* chunk,
                                    const orri_chunk* last, uint32_t last_row, uint32_t index)
{
    return chunk->stamp == world->epoch && last->stamp == world->epoch &&
           orri_index_fresh(world, index) &&
           orri_index_fresh(world, last->ids[last_row & ORRI_SLOT_MASK]);
}
// The last row fills the gap. The row's own values are gone or copied.
static inline void orri_row_close_gap(orr_world* world, orri_cluster* cluster, orri_chunk* chunk,
                                      uint32_t place, orri_chunk* last, uint32_t last_row)
{
    uint32_t slot = orri_place_slot(place), last_slot = last_row & ORRI_SLOT_MASK;
    if (last != chunk || last_slot != slot) {
        const uint32_t* sizes = cluster->sizes;
        for (uint32_t c = 0; c < cluster->column_count; c++) {
            orri_value_move(chunk->columns[c].data + (size_t)slot * sizes[c],
                            last->columns[c].data + (size_t)last_slot * sizes[c], sizes[c]);
        }
        orri_record_at(world, orri_chunk_ids(chunk)[slot])->place = place;
    }
    cluster->row_count = last_row;
    orri_rows_close(last, last_slot, 1);
    if (ORR_UNLIKELY(last_slot == 0)) {
        orri_cluster_trim(world, cluster);
    }
}
// Makes sure that the target of a plan has the enable bits that its source has.
bool orri_plan_prepare_bits(orr_world* world, const orri_plan* plan);
// Sets the enable bits of new rows in the target: as in the source for kept columns, else on.
void orri_plan_move_bits(const orri_plan* plan, orri_chunk* to, uint32_t to_slot, orri_chunk* from,
                         uint32_t from_slot, uint32_t count);
// Values of rows are made in raw memory, across chunks: row first … first + count - 1 of a column. On a
// hook's refusal nothing is made.
bool orri_column_construct(orri_cluster* cluster, uint32_t column, uint32_t first, uint32_t count);
void orri_column_destruct(orri_cluster* cluster, uint32_t column, uint32_t first, uint32_t count);

// ---- component.c: values of entities that have the type already --------------------------------------------

// Values to be set later without fail. `places` (may be NULL: all) has 0 where the entity takes part.
typedef struct orri_staged {
    const orri_type* type;
    const orr_entity* entities;
    const uint32_t* places;
    uint32_t count;
    const uint8_t* values;
    uint8_t* copies; // Of values that are not plain; NULL otherwise.
    uint32_t copy_count, copy_capacity;
} orri_staged;

orr_result orri_stage_values(orr_world* world, const char* call, const orri_type* type,
                             const orr_entity* entities, const uint32_t* places, uint32_t count,
                             const void* values, orri_staged* out);
// Sets the values, or throws the copies away.
void orri_stage_end(orr_world* world, orri_staged* staged, bool set);
// Refuses values with references to entities that are not alive, unless the entity's own value (of `entities`, may be
// NULL) refers to them already; and values with owned handles that are gone.
orr_result orri_check_references(const orr_world* world, const char* call, const orri_type* type,
                                 const orr_entity* entities, const void* values, uint32_t count);
// The same for one value that replaces `old` (may be NULL).
orr_result orri_check_value(const orr_world* world, const char* call, const orri_type* type,
                            const void* old, const void* value);

// ---- cell.c: what a row has of a type ------------------------------------------------------------------

// Cells of a column from some row on. A cell is a value or, of a multiple type, 1 to `capacity` instances; bytes
// past the last one are zero.
typedef struct orri_cells {
    const orri_type* type;
    uint8_t* data;
    const uint16_t* counts; // NULL: a unique type.
    uint32_t size;          // Bytes of a cell.
} orri_cells;

static inline orri_cells orri_cells_at(const orri_chunk* chunk, uint32_t column, uint32_t slot)
{
    const orri_cluster_column* entry = &chunk->cluster->columns[column];
    const uint16_t* counts =
        entry->counts != 0 ? (const uint16_t*)(const void*)chunk->columns[entry->counts].data + slot
                           : NULL;
    return (orri_cells){entry->type, chunk->columns[column].data + (size_t)slot * entry->size,
                        counts, entry->size};
}
// Destructs the values of some rows.
void orri_cells_destruct(orri_cells cells, uint32_t rows);
// Moves values to raw cells of the same or another size that has room; `from` is raw afterwards.
void orri_cells_move(orri_cells to, orri_cells from, uint32_t rows);
// Copies values to raw cells of the same size. On a hook's refusal nothing is made.
bool orri_cells_copy(orri_cells to, orri_cells from, uint32_t rows);
// Makes one value in each raw cell: of `values`, one after another, or (NULL) the preset. Of a multiple type counts and
// ids are made too. On a hook's refusal nothing is made.
bool orri_cells_make(orri_chunk* chunk, uint32_t column, uint32_t slot, uint32_t rows,
                     const void* values);
// Copies all instances of a cell with new ids, counts included.
bool orri_cell_duplicate(orri_chunk* to, uint32_t to_slot, const orri_chunk* from,
                         uint32_t from_slot, uint32_t column);
// Moves the cells of a plan's resized types, with counts and ids; orri_cells_fit() was true.
void orri_cells_resize(const orri_plan* plan, orri_chunk* to, uint32_t to_slot, orri_chunk* from,
                       uint32_t from_slot, uint32_t rows);
// ORR_ERR_CAPACITY (reported) when a row of first … first + count - 1 has more instances than the target has room for.
orr_result orri_cells_fit(const orr_world* world, const char* call, const orri_plan* plan,
                          uint32_t first, uint32_t count);
uint64_t orri_cells_hash(orri_cells cells, uint32_t rows, uint64_t seed);
// Ids with this bit name instances that were sent and are not there yet.
#define ORRI_PROVISIONAL 0x80000000u
// The next instance id: never 0 nor provisional, and none of `ids`.
uint32_t orri_instance_number(uint32_t* last, const uint32_t* ids, uint32_t count);
// Makes a value of a multiple type in raw memory: a copy, or (NULL) the preset. False when a hook refuses (not reported).
bool orri_instance_make(const orri_type* type, void* to, const void* value);
// Moves such a value into a row that was just made or moved and has room for it, after those there are.
void orri_instance_put(orr_world* world, uint32_t index, orr_type type, void* made);
// For calls that cannot take a multiple type: which ones can.
ORRI_COLD orr_result orri_refuse_multiple(const orr_world* world, const char* call, orr_type type);

// For change sets. The instances of a type that a live entity has; 0 if it has none. Everything else must be prepared.
uint32_t orri_instances_of(const orr_world* world, uint32_t index, orr_type type,
                           const uint32_t** ids);
bool orri_instances_prepare(orr_world* world, uint32_t index, orr_type type);
// Removes one; none may be left, if a move follows that brings others.
void orri_instance_take(orr_world* world, uint32_t index, orr_type type, uint32_t id);
// Moves a value in the place of another.
void orri_instance_replace(orr_world* world, uint32_t index, orr_type type, uint32_t id,
                           void* made);
// True when a row with room for `capacity` instances may get twice as much.
bool orri_instance_room_left(const orri_type* type, uint32_t capacity);

// ---- batch.c: many rows leave clusters ------------------------------------------------------------------

// For change sets: values of a run of rows move along a plan, or end; a hole is filled with the last row of the tail; the
// tail is cut off.
void orri_batch_keep(const orri_plan* plan, orri_chunk* target, uint32_t target_slot,
                     orri_chunk* chunk, uint32_t slot, uint32_t run);
void orri_batch_drop(const orri_plan* plan, orri_chunk* chunk, uint32_t slot, uint32_t run);
void orri_batch_fill_hole(orr_world* world, orri_chunk* chunk, uint32_t slot);
void orri_batch_cut(orr_world* world, orri_cluster* cluster);

// Destroys all or none, and asks nobody what else must go (relation.h does). `before` is called when nothing can be
// refused any more and nothing has been done.
orr_result orri_destroy_batch(orr_world* world, const char* call, const orr_entity* entities,
                              uint32_t count, void (*before)(void* user), void* user);
// Moves rows first … first + count - 1 along a plan. All or nothing.
orr_result orri_rows_move_range(orr_world* world, const char* call, orri_plan* plan, uint32_t first,
                                uint32_t count);

// ---- relink.c: whole chunks change cluster ------------------------------------------------------------------

// True when all rows of a plan's source can be handed over at once: the target is empty.
static inline bool orri_plan_relinks(const orri_plan* plan)
{
    return plan->to->row_count == 0 && plan->resized_count == 0;
}
// Hands all rows of the plans' sources over. Sources and targets are all different, targets empty. All or nothing.
orr_result orri_relink_many(orr_world* world, orri_plan* const* plans, uint32_t count);

#endif
