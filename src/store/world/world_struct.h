// SPDX-License-Identifier: MIT
// What a world is made of: records, clusters, chunks, columns. README.md states the invariants; world.h has what is done with it.
//
//   id ──> record {generation, place} ──> chunk ──> column of a type ──> block of rows
//            (entity_index.c)   chunk id, slot     (chunk.c)                      (block.c)
//
// Vocabulary: a *slot* is a row within its chunk; a *place* packs chunk id and slot into 32 bits; the
// *epoch* counts moments at which somebody outside may have looked: what was written since is stamped with it.
#ifndef ORRI_STORE_WORLD_WORLD_STRUCT_H
#define ORRI_STORE_WORLD_WORLD_STRUCT_H

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
static inline bool orri_column_shared(const orri_chunk* chunk, uint32_t column)
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
    bool needed;                    // By another type (required_types.h).
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

struct orri_transition;

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
    struct orri_transition* edge_last; // The edge taken last; NULL: none.
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
    struct orri_transition *transitions_from, *transitions_to;
    // Scratch of a batch (batch.c), 0 outside: rows that leave, how they go, first target row, rows gone, and where
    // to look for the next row that fills a gap.
    uint32_t batch_count, batch_base, batch_used, batch_tail;
    uint32_t bits_added;     // How often a column got enable bits: then queries match it anew.
    uint32_t batch_incoming; // Rows that come to it.
    struct orri_transition* batch_plan;
    bool batch_created; // The target is new.
    // Scratch of a change set (change_detail.h), likewise: on its list, and the route of the group in hand, plus 1.
    bool batch_listed;
    uint32_t batch_route;
    bool clearing;  // Scratch of clearing and deleting; false outside.
    bool indexed;   // Some type has indexed references.
    bool transient; // Of transient entities: in no list, without a number (transient.h).
};
_Static_assert(offsetof(orri_cluster, index) <= 64, "the hot part of a cluster is one line");

typedef struct orri_cluster_slot {
    orri_cluster* cluster; // NULL: free.
    uint32_t generation;   // Of the cluster here, or of the next one.
    uint32_t free_next;    // index1.
} orri_cluster_slot;

// How rows get from one cluster to another: which columns stay, come and go.
typedef struct orri_transition_pair {
    uint16_t from, to;
    uint32_t size;
} orri_transition_pair;

typedef struct orri_transition {
    orri_cluster *from, *to;
    struct orri_transition *pair_next, *edge_next; // Chains of the two look-ups.
    struct orri_transition *from_prev, *from_next; // All plans of `from`.
    struct orri_transition *to_prev, *to_next;     // All plans to `to`.
    uint64_t edge;                                 // Type and direction; 0: not an edge.
    uint32_t kept_count, new_count, dropped_count, resized_count;
    bool simple;                // Nothing of it needs a hook or a count.
    bool plain;                 // Kept columns move by memcpy.
    bool dropped_plain;         // Dropped ones need no destruct.
    bool indexed;               // An added or dropped one has indexed references.
    orri_transition_pair* kept; // [kept_count]
    uint16_t* added;            // [new_count], columns of `to`.
    uint16_t* dropped;          // [dropped_count], columns of `from`.
    // [resized_count], multiple types that are kept with another capacity. `kept` lists neither them nor their counts
    // and ids, but those of the others.
    orri_transition_pair* resized;
} orri_transition;

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

// Transient entities (transient.h).
typedef struct orri_transient {
    uint32_t count; // Ids ever given.
    uint32_t page_count,
        page_capacity; // Before the first page of the index, and room for them there.
    uint32_t* free;    // Indexes that can be given again, the last one first. Has room for all.
    uint32_t free_count, free_capacity, live_count;
    orri_cluster* cluster; // Of all of them; NULL until needed.
} orri_transient;

typedef struct orri_tag_entry {
    orr_tag tag;
    char* name; // Allocated with its length + 1.
} orri_tag_entry;

// ---- the modules below ----------------------------------------------------------------------------------

typedef struct orri_pool orri_pool;                     // pool.h
typedef struct orri_names orri_names;                   // entity_name.c
typedef struct orri_required_types orri_required_types; // required_types.c
typedef struct orri_bundle orri_bundle;                 // bundle.h

// Who is told of structure: filled by the query module with the first query of a world. NULL functions: nobody.
typedef struct orri_listener {
    // A cluster was made, or one of its columns got enable bits. False (reported): that is refused and undone.
    bool (*cluster_match)(orr_world* world, orri_cluster* cluster);
    void (*cluster_gone)(orr_world* world, const orri_cluster* cluster);
    // Makes sure that so many clusters can be matched without fail. False: reported.
    bool (*cluster_room)(orr_world* world, uint32_t count);
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
typedef struct orri_extension {
    void (*gone)(orr_world* world);                    // The world ends: gives back all memory.
    uint64_t (*hash)(orr_world* world, uint64_t hash); // Its part of the world's hash.
    orr_result (*validate)(orr_world* world);          // Its invariants. Reports.
} orri_extension;

typedef enum orri_extension_id {
    ORRI_EXTENSION_MESSAGES,
    ORRI_EXTENSION_SCHEDULE,
    ORRI_EXTENSION_HISTORY,
    ORRI_EXTENSION_COUNT,
} orri_extension_id;

typedef struct orri_access orri_access; // access.h

// Entities that are about to be created (change_set.h), by index: they count as alive for who refers to them.
typedef struct orri_reserved_ids {
    uint64_t* bits;
    uint32_t end; // Bits there are.
} orri_reserved_ids;

typedef struct orri_retired {
    void* memory;
    size_t size, align;
    orr_memory_purpose purpose;
} orri_retired;

// Something kept for some entities: pages by index >> ORRI_PAGE_BITS, made when first needed; NULL: none.
typedef struct orri_pages {
    void** list;
    uint32_t capacity;
} orri_pages;

// ---- the world: parts by owner ---------------------------------------------------------------------------

// Where the columns of each type are (table/chunk.c).
typedef struct orri_type_tables {
    orr_hot_table** list; // By type index.
    uint32_t capacity;
    uint32_t changes; // Counts new entries of the list.
} orri_type_tables;

// Limits of the desc, with defaults filled in.
typedef struct orri_limits {
    uint32_t entities, clusters, tags;
} orri_limits;

// Blocks that snapshots and readers share with the world (cow/).
typedef struct orri_cow {
    _Atomic uint64_t live;   // Shares not yet released.
    _Atomic uint64_t losses; // Shares ever lost for want of memory.
    uint64_t frozen;         // Live shares that are frozen. Only these can refuse a write.
    orri_mutex mutex;        // Around copies that several workers may make at the same time.
    // A share logs single rows until 1 in (1 << row_log_shift) rows is logged, then copies the block.
    // Blocks of fewer than row_log_least bytes are copied at once (row_log.h).
    uint32_t row_log_shift, row_log_least;
    struct orri_snapshots*
        snapshots; // The newest share of everything (snapshot.c); NULL: no snapshot.
} orri_cow;

// All chunks of the world (table/chunk.c).
typedef struct orri_chunks {
    orri_chunk** list; // By chunk id; [0] is never used.
    uint32_t* free;    // Ids that can be given again.
    uint32_t count, capacity, free_capacity, free_count;
    orri_source row_small[ORRI_LEVELS]; // First blocks of row ids.
    orri_source bits;                   // Blocks of enable bits.
} orri_chunks;

// All clusters of the world (table/cluster.c).
typedef struct orri_clusters {
    orri_cluster_slot* slots;
    uint32_t slot_count, slot_capacity, slot_free; // slot_free is an index + 1.
    uint32_t count;
    orri_cluster *first, *last; // In order of creation.
    orri_cluster* empty;        // The cluster of entities without components; NULL until needed.
    uint32_t* buckets;          // Look-up by identity: index + 1.
    uint32_t bucket_count;
    uint64_t sequence; // Clusters ever made.
} orri_clusters;

// Cached transitions between clusters (table/transition.c).
typedef struct orri_transitions {
    orri_transition **pairs, **edges; // Two look-ups with bucket_count buckets each.
    uint32_t bucket_count, count;
} orri_transitions;

// Named tags (api/tag.c).
typedef struct orri_tags {
    orri_tag_entry* entries; // In order of naming.
    uint32_t count, capacity;
    uint64_t state, states;   // Number of this list of names, and how many there ever were.
    uint32_t *names, *values; // Look-up by name and by value.
    uint32_t table_size;      // Of both look-ups: a power of two, or 0.
} orri_tags;

// The user's error handler.
typedef struct orri_error_state {
    orr_error_handler handler;
    void* user;
    _Atomic uint32_t in_handler; // Nested calls of the handler, all on one thread.
} orri_error_state;

// The open appender (api/appender.c).
typedef struct orri_append_state {
    orr_appender* open; // NULL: none.
    orr_entity* entities;
    uint32_t run_fresh; // Fresh ids of the open run; the rest came from the free list.
} orri_append_state;

// Open iterations and what queries cached of the rows.
typedef struct orri_loops {
    _Atomic uint32_t iterating; // Open iterations. While there are some, structure does not change.
    _Atomic uint32_t
        cached; // Queries that cache where rows lie; they are notified before rows move.
    _Atomic uint32_t unstamped; // Queries with writes that are not stamped yet.
    uint32_t era;               // An iteration of an earlier era has ended.
} orri_loops;

// Pinned values (pool/pool.h).
typedef struct orri_pinned_pools {
    uint64_t live; // Values in all pools; 0: destroying an entity need not look for any.
    orri_pool **pools,
        **list; // By type index, NULL: none; and the existing ones in order of types.
    uint32_t capacity, count, list_capacity;
} orri_pinned_pools;

// Types with indexed references (relation/relation.h).
typedef struct orri_relations {
    uint32_t count; // When not 0, every destruction looks for referrers.
    struct orri_relation* first;
    orri_pages marks; // Bits: scratch of a destruction, 0 outside. No page: nobody there refers.
} orri_relations;

// Types that bring others along (table/required_types.c).
typedef struct orri_required_lists {
    orri_required_types* list; // By type index.
    uint32_t capacity;
} orri_required_lists;

typedef struct orri_bundles {
    orri_bundle** list; // In order of registration.
    uint32_t count, capacity;
} orri_bundles;

// Called at the ends of ticks; set by the history module. NULL: nothing to do.
typedef struct orri_tick_hooks {
    // A tick that the world counts begins (also by orr_tick_advance()). Nothing of it is done, nothing can keep it from beginning.
    void (*begins)(orr_world* world);
    // All of the tick is done. In lockstep, or at a sync point of real time.
    void (*ended)(orr_world* world);
    // Real time: should the pipelines stop at a sync point for the tick that the first pipeline ended?
    bool (*sync_wanted)(const orr_world* world);
    // Real time: the pipelines stand at that sync point, or the run has ended.
    void (*synced)(orr_world* world);
} orri_tick_hooks;

// Settings of the desc that the schedule reads.
typedef struct orri_world_settings {
    uint32_t workers;
    orr_pool pool;
    uint64_t stuck_ns;
    double rate_hz;
    bool atomic_sections;
} orri_world_settings;

// The system that runs.
typedef struct orri_running {
    bool in_system; // The function of a system runs.
    bool in_tick;   // A tick runs at this moment; false while a refused tick waits.
    // Several threads may run systems: each thread knows its own (orri_this_thread).
    bool parallel;
    // What the running system may reach; NULL: no system runs, or it is not checked. While several run: an access that allows nothing;
    // ask orri_access_of().
    const orri_access* access;
} orri_running;

// The tick under way, as calls to the world see it. In real time each pipeline has its own; orr_world.context is that of the pipeline
// whose turn it is.
typedef struct orri_tick_context {
    // Text for refused calls: a tick is under way, so structure changes by messages only. NULL: no tick. While it is set, `iterating` is not 0.
    const char* busy;
    float dt;          // Of the tick; 0 between ticks.
    uint64_t run_tick; // The pipeline's tick; 0 between ticks.
    struct orri_command_buffers*
        commands; // Where systems record changes; NULL: the world's own buffers.
} orri_tick_context;

// A change of structure under way.
typedef struct orri_change_state {
    const orri_reserved_ids* reserved_ids; // NULL outside of a change set.
    // In real time, while a commit is done: the clusters it may touch (commit_scope.h). NULL: all of them, no system runs.
    struct orri_commit_scope* commit_scope;
    orri_retired* retired; // Memory that running systems may still read; freed when none runs.
    uint32_t retired_count, retired_capacity;
} orri_change_state;

// ---- the world ----------------------------------------------------------------------------------------

struct orr_world {
    // First: what the inline functions of store.h read. Its tables are `tables` below, or the part of them that the running system may see.
    orr_hot_world hot;
    orri_type_tables tables;
    orri_env env;
    orri_schema schema;
    uint64_t tick, epoch; // Side by side: the inline functions of query.h read both.
    uint64_t seed;
    orri_cow cow;
    orri_pinned_pools pinned;
    uint32_t salt; // Already shifted into the generation word.
    orri_limits limits;

    orri_index index;
    orri_transient transient;
    orri_chunks chunks;
    orri_clusters clusters;
    orri_transitions transitions;
    orri_tags tags;
    orri_error_state errors;
    orri_append_state append;

    orri_listener listener;
    orri_loops loops;
    orri_relations relations;
    uint32_t instance_last; // The orr_component_id given last. Not state.
    orri_names* names;      // Look-up of names (entity_name.c); NULL: no entity ever had a name.
    orr_entity singleton;   // The world's own entity; null, or dead: it has none.
    orri_required_lists required;
    orri_bundles bundles;

    // Of the modules below, each made when first needed.
    struct orri_queries* queries;
    struct orri_messages* messages;
    struct orri_schedule* schedule;
    struct orri_history* history;
    struct orri_publisher*
        publisher; // Values as other pipelines see them (publish.h); NULL: nothing is published.
    orri_extension extensions[ORRI_EXTENSION_COUNT];
    orri_tick_hooks tick_hooks;
    uint64_t timeline;   // Counts travels back. Not state.
    bool stretch_warned; // The warning that no system moves stretchers was logged.

    orri_world_settings settings;
    orri_running running;
    // Pipelines run at the same time. All work of their ticks but the systems themselves is done one pipeline at a time, by the thread that has
    // the turn; `running` and `loops` do not change meanwhile, and queries cache nothing.
    bool realtime;
    orri_tick_context* context;    // Never NULL.
    orri_tick_context own_context; // Of lockstep.
    orri_change_state change;
};

#endif
