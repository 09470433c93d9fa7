// SPDX-License-Identifier: MIT
// The world's data structures: blocks, columns, chunks, clusters, entity records, and struct
// orr_world itself. src/store/README.md states the invariants (S1 to S19). world.h declares the
// functions that work on these structures.
//
//   id ──> record {generation, place} ──> chunk ──> column of a type ──> block of rows
//            (entity_index.c)   chunk id, slot     (chunk.c)                      (block.c)
//
// Terms:
//   row      an entity's position within its cluster, counted from 0
//   slot     a row's position within its chunk: row % ORR_CHUNK_CAPACITY
//   place    chunk id and slot packed into 32 bits; what a record stores
//   block    the memory of one column of one chunk
//   epoch    a counter that advances whenever later writes must differ from earlier ones:
//            with a tick, a hash, a new share, a publication. A write stamps its block with the
//            current epoch: this is the block's version.
//   share    a block or index page that a snapshot or reader uses together with the world
//            (cow/share.h)
//   state    what the world's hash covers and a replay must reproduce. Everything else is derived
//            or cached.
#ifndef ORRI_STORE_WORLD_WORLD_STRUCT_H
#define ORRI_STORE_WORLD_WORLD_STRUCT_H

#include "base/env.h"
#include "base/util.h"
#include "schema/schema.h"
#include <orrery/store.h>

// ---- numbers ------------------------------------------------------------------------------------

#define ORRI_SLOT_BITS 11
#define ORRI_SLOT_MASK (ORR_CHUNK_CAPACITY - 1)
_Static_assert(1u << ORRI_SLOT_BITS == ORR_CHUNK_CAPACITY, "slot bits and capacity must agree");

// Generation word of a record, and upper half of an id: 1 dead bit, 7 bits salt, 24 bits
// generation. No id has the dead bit, so the record of a dead entity (or of one that a batch
// marked) equals no id.
#define ORRI_DEAD            0x80000000u
#define ORRI_GENERATION_BITS 24
#define ORRI_GENERATION_MASK 0x00FFFFFFu
#ifndef ORRI_GENERATION_MAX // Tests build the store with a small value, to reach the wrap-around.
#define ORRI_GENERATION_MAX ORRI_GENERATION_MASK
#endif
#ifndef ORRI_CHUNKS_MAX // Tests make this small, too.
#define ORRI_CHUNKS_MAX ORR_CHUNKS_MAX
#endif
#define ORRI_INDEX_NONE  UINT32_MAX // No entity's index. Ends the free list and marks a hole.
#define ORRI_PAGE_BITS   12         // Records of the entity index are in pages of 4096.
#define ORRI_PAGE_SIZE   (1u << ORRI_PAGE_BITS)
#define ORRI_PAGE_MASK   (ORRI_PAGE_SIZE - 1)
#define ORRI_LEVELS      6 // Sizes that a growing first chunk passes through before the full size.
#define ORRI_BITS_BYTES  (ORR_CHUNK_CAPACITY / 8)
#define ORRI_BLOCK_ALIGN 64

// ---- blocks (block.c) ---------------------------------------------------------------------------

typedef struct orri_source orri_source;

// Memory for several blocks of one size, side by side. Freed together with its last block.
typedef struct orri_extent {
    orri_source* source; // The source that hands out its blocks; NULL: the source was terminated.
    struct orri_extent *prev, *next; // All extents of the source.
    // Extents of the source that have a free block.
    struct orri_extent *partial_prev, *partial_next;
    void* free_first; // Blocks that were returned, linked through their first bytes.
    size_t size;      // Bytes of the whole allocation.
    size_t block_size;
    uint32_t offset; // Of the first block, from the start of the extent.
    // Blocks in all; blocks ever handed out; of these, blocks that were returned.
    uint32_t block_count, block_used, block_free;
} orri_extent;

// Hands out blocks of one size. Each new extent is larger, so that the blocks of a column lie next
// to each other.
struct orri_source {
    orri_extent *first, *partial; // All extents; extents with a free block.
    size_t block_size;
    uint32_t block_live; // Blocks in use.
    // Offset of the first block: different columns fall into different cache sets.
    uint32_t stagger;
};

// ---- columns, chunks ----------------------------------------------------------------------------

struct orri_share;

// One block, with the stamps of its last write. `data` is NULL for enable bits that are all on, and
// points at a constant byte for markers (types without fields).
typedef struct orri_column {
    uint8_t* data;
    uint64_t version;         // Epoch of the last write. Never decreases.
    uint64_t tick;            // World tick of the last write. State.
    struct orri_share* share; // The attached share of this block; NULL: the block is not shared.
} orri_column;

// The part of a column that reads and writes of values do not need.
typedef struct orri_column_cold {
    orri_extent* extent; // The extent of the block; NULL for markers and for absent enable bits.
    uint64_t hash;       // Hash of the rows. Valid if hash_version == version.
    uint64_t hash_version;
} orri_column_cold;

typedef struct orri_cluster orri_cluster;

// Up to ORR_CHUNK_CAPACITY rows of a cluster. With n types, m of them multiple, columns[] holds:
//   [0 … n-1]     values of the cluster's types, in the cluster's order
//   [n]           row ids: a uint32_t entity index per row
//   [n+1 … n+2m]  for each multiple type: a uint16_t count per row, then a uint32_t id per instance
//   second half   (from column_count / 2 on) enable bits in the same order: one per instance for
//                 the types, one per entity for the row ids, none for counts and instance ids
// The orri_column_cold parts follow after columns[], in the same order.
typedef struct orri_chunk {
    orri_cluster* cluster;
    uint32_t* ids;  // Data of the row ids' column.
    uint64_t stamp; // Epoch in which all columns were stamped: a row was added, removed or moved.
    uint32_t id;    // In world->chunks.list; part of every place.
    // Within the cluster: the chunk holds rows from number * ORR_CHUNK_CAPACITY on.
    uint32_t number;
    uint32_t capacity;     // Rows that the blocks have memory for.
    uint32_t share_count;  // Columns that are shared.
    uint32_t column_count; // Twice the cluster's column_count: columns and their enable bits.
    orri_column columns[];
} orri_chunk;

static inline orri_column_cold* orri_chunk_cold(const orri_chunk* chunk)
{
    return (orri_column_cold*)(uintptr_t)(chunk->columns + chunk->column_count);
}

// True when a share takes over the values of a column if the chunk is destroyed. A marker has no
// values.
static inline bool orri_column_shared(const orri_chunk* chunk, uint32_t column)
{
    return chunk->columns[column].share != NULL && orri_chunk_cold(chunk)[column].extent != NULL;
}

// ---- clusters -----------------------------------------------------------------------------------

// Entry of a type table: a cluster that has the type, and the type's column there.
typedef struct orri_table_cluster {
    orri_cluster* cluster;
    uint64_t sequence; // The cluster's.
    uint32_t column;
} orri_table_cluster;

// A type table: where the column of one type is, by chunk id. `hot` is the part that
// orr_component_get() reads. The table is one flat array: pages of 128 chunks made a get by id 40%
// slower (3.6 against 2.5 ns). It covers only chunk ids up to a limit that grows with the number of
// chunks that have the type; the columns of chunks beyond are found through their cluster. Without
// the limit, 1000 types in 20,000 chunks took 280 MB.
typedef struct orri_table {
    orr_hot_table hot; // First member: a pointer to it is a pointer to the table.
    uint16_t* column;  // [hot.capacity] column index + 1 by chunk id; 0: the chunk lacks the type.
    uint32_t live;     // Chunks that have the type.
    bool multiple; // A multiple type. Its table covers no chunk: row sizes differ between clusters.
    // Values are written by a plain copy, without checks: orr_set() of what the entity has.
    bool direct_set;
    const orri_type* type;
    uint32_t* instance_last; // Points at world->instance_last.
    // All clusters with the type, in order of creation, and gaps of deleted ones: see
    // orri_table_next().
    orri_table_cluster* clusters;
    uint32_t cluster_count, cluster_capacity; // With gaps.
    uint32_t gap_count;             // Not more than half of cluster_count, unless that is small.
    bool needed;                    // Another type requires this one (required_types.h).
    struct orri_relation* relation; // Lists of referrers (relation.h); NULL: no field is indexed.
    orri_source small[ORRI_LEVELS]; // Blocks of first chunks that are not full size, by level.
} orri_table;

// The next cluster with the type, from entry `*i` on; `*i` moves behind it. NULL: there are no more.
static inline const orri_table_cluster* orri_table_next(const orri_table* table, uint32_t* i)
{
    while (*i < table->cluster_count) {
        const orri_table_cluster* entry = &table->clusters[(*i)++];
        if (ORR_LIKELY(entry->cluster != NULL)) {
            return entry;
        }
    }
    return NULL;
}

// A column, as all chunks of a cluster have it.
typedef struct orri_cluster_column {
    const orri_type* type; // NULL for row ids, counts and instance ids.
    orri_table* table;     // NULL for the same.
    uint32_t size; // Bytes of a row: of a value, or of all instances that a row has room for.
    // Multiple types: the column of the counts; the instance ids are in the column after it. 0: a
    // unique type.
    uint16_t counts;
    uint8_t shift;      // A row has room for 1 << shift instances.
    bool has_bits;      // Every chunk has enable bits for this column.
    bool by_value;      // Not writable in place, since it has indexed references: orr_set() only.
    uint64_t version;   // Largest version of its blocks, also of blocks that no longer exist.
    orri_source source; // Blocks of full size.
} orri_cluster_column;

struct orri_transition;

// The rows of all entities with the same types, capacities and tags. Starts on a cache line; the
// first line holds what iterating, creating, moving and destroying rows reads.
struct orri_cluster {
    orri_chunk* chunk_first; // chunks[0]; NULL: no chunk. Most clusters have only one.
    orri_chunk** chunks;
    uint32_t row_count, row_capacity; // Rows in use; rows that there is memory for.
    uint32_t type_count, chunk_count;
    bool direct;           // `words`, no enable bits: rows take the short paths.
    bool direct_new;       // Also no multiple type: creating rows takes the short path, too.
    bool words;            // `plain`, and orri_size_short() of all columns.
    bool has_bits;         // At least one column has enable bits.
    uint32_t column_count; // Columns without their enable bits.
    uint32_t* sizes;       // [column_count] bytes of a row. Copy of columns[].size for moves.
    orri_cluster_column* columns;      // [column_count] in the order of orri_chunk.columns.
    struct orri_transition* edge_last; // Edge used last; NULL: none.
    // Second cache line.
    uint32_t index; // In world->clusters.slots; a handle's id is index + 1.
    uint32_t generation;
    uint32_t tag_count;
    uint32_t bucket_next;    // Next in the hash chain: index + 1; 0: end.
    uint32_t chunk_capacity; // Of `chunks`.
    uint8_t level_first;     // Level at which a new first chunk starts.
    bool plain;              // All types are trivial: no values need a hook or a reference count.
    const uint16_t* capacities; // [type_count] instances a row has room for; 1 for unique types.
    const orr_type* types;      // [type_count] ascending by id.
    const orr_tag* tags;        // [tag_count] ascending.
    uint64_t type_bloom, tag_bloom; // One bit per type or tag (hashed to 64): a quick "has not".
    uint64_t hash;                  // Of the identity, for look-up only. Not state.
    uint64_t identity_hash;         // Of type names, layouts and tags. Part of the world's hash.
    orri_cluster *prev, *next;      // In order of creation. The order is state.
    // Unique for ever, ascending in order of creation. A restored cluster gets its own back.
    // Not state.
    uint64_t sequence;
    // Cached transitions from and to this cluster.
    struct orri_transition *transitions_from, *transitions_to;
    // Scratch of a change set (change_detail.h), 0 outside of it: rows that leave; position of the
    // search for rows that fill gaps; rows that arrive; route of the group being processed, plus 1;
    // the cluster is on the set's list.
    uint32_t batch_count, batch_tail, batch_incoming, batch_route;
    bool batch_listed;
    // How often a column got enable bits. When it changes, queries match the cluster again.
    uint32_t bits_added;
    // Scratch of clearing and deleting clusters, false outside: all its rows are destroyed.
    bool clearing;
    bool indexed; // At least one type has indexed references.
    // At least one of these types has a preset that is not zero and may refer to an entity.
    bool indexed_preset;
    // The cluster of transient entities: in no list, without an index (transient.h).
    bool transient;
    size_t row_bytes; // Of a row in all columns.
    // The chunk that was given up last, kept for the next row (parked.c); NULL: none.
    orri_chunk* parked;
    // The cluster is in the list of world->chunks.parked_first: it has a parked chunk, or had one
    // that is in use again. So a chunk that is parked and used in turn stays on the list.
    bool parked_listed;
    size_t parked_bytes; // What the cluster counts in world->chunks.parked_bytes.
    orri_cluster *parked_prev, *parked_next;
};
_Static_assert(offsetof(orri_cluster, index) <= 64, "the hot part of a cluster is one line");

// An index of the cluster directory.
typedef struct orri_cluster_slot {
    orri_cluster* cluster; // NULL: free.
    uint32_t generation;   // Of the cluster here, or of the next one.
    uint32_t free_next;    // Free list: index + 1; 0: end.
} orri_cluster_slot;

// A column that a transition keeps: its position in the source and in the target, and the bytes of
// a row.
typedef struct orri_transition_pair {
    uint16_t from, to;
    uint32_t size;
} orri_transition_pair;

// How rows move from one cluster to another: which columns are kept, added and dropped. Cached, not
// state.
typedef struct orri_transition {
    orri_cluster *from, *to;
    struct orri_transition *pair_next, *edge_next; // Hash chains of the two look-ups.
    struct orri_transition *from_prev, *from_next; // All transitions of `from`.
    struct orri_transition *to_prev, *to_next;     // All transitions to `to`.
    // Type and direction, if the transition adds or removes one type; 0: not an edge.
    uint64_t edge;
    uint32_t kept_count, new_count, dropped_count, resized_count;
    bool plain; // Kept columns are moved by memcpy.
    // No column needs a hook, a reference count, a link, a preset or a resize, and all kept and added
    // ones have an orri_size_short().
    bool words;
    bool dropped_plain; // Dropped columns need no destruct.
    bool indexed;       // An added or dropped column has indexed references.
    // [kept_count] with the counts and ids of multiple types of equal capacity.
    orri_transition_pair* kept;
    uint16_t* added;   // [new_count] columns of `to`.
    uint16_t* dropped; // [dropped_count] columns of `from`.
    // [resized_count] multiple types that are kept with another capacity. Neither they nor their
    // counts and ids are in `kept`.
    orri_transition_pair* resized;
} orri_transition;

// ---- entity index -------------------------------------------------------------------------------

// A record, by entity index:
//   alive: generation as in the id; place is chunk id << ORRI_SLOT_BITS | slot
//   dead:  generation of the next id at this index, with ORRI_DEAD; place is the next index of the
//          free list
typedef orr_hot_record orri_record;

// Stamps of an index page, as a block has them.
typedef struct orri_page_meta {
    uint64_t version;            // Epoch of the last write, as orri_column.version.
    struct orri_share* share;    // Attached share; NULL: the page is not shared.
    uint64_t hash, hash_version; // Hash of the records. Valid if hash_version == version.
} orri_page_meta;

// A record of the free list whose place in the list is known (change/free_samples.c).
typedef struct orri_free_sample {
    uint32_t index;
    uint32_t generation; // Of the record, with ORRI_DEAD.
    uint32_t depth;      // Number of records behind it in the free list.
} orri_free_sample;

// The entity index. Its pages, and the number of indexes ever given out, are in orr_hot_world.
typedef struct orri_index {
    orri_page_meta* metas; // By page.
    // The next two are written with one store, so they are aligned to 8: otherwise destroying an
    // entity takes 3 ns longer (of 7), since the store is not forwarded to the next load.
    uint32_t free_first; // Last in, first out; ORRI_INDEX_NONE: empty. State.
    uint32_t free_count;
    uint32_t live_count;
    uint32_t share_count; // Pages that are shared.
    uint32_t page_count, page_capacity, meta_capacity;
    orri_free_sample* samples; // Ascending in depth. A cache.
    uint32_t sample_count, sample_capacity;
    uint32_t samples_lost; // Samples removed from the middle since all were made.
} orri_index;

// Transient entities (transient.h). Nothing of this is state.
typedef struct orri_transient {
    uint32_t count; // Indexes ever given out.
    // Pages of their records. They precede the first page of the entity index in hot.pages;
    // page_capacity is the room reserved there.
    uint32_t page_count, page_capacity;
    uint32_t* free; // Indexes to be given out again, last in, first out. Has room for all of them.
    uint32_t free_count, free_capacity, live_count;
    orri_cluster* cluster; // Holds all transient entities; NULL until the first is created.
} orri_transient;

typedef struct orri_tag_entry {
    orr_tag tag;
    char* name; // Allocated with its length + 1.
} orri_tag_entry;

// ---- interfaces of other modules ----------------------------------------------------------------

typedef struct orri_pool orri_pool;                     // pool.h
typedef struct orri_names orri_names;                   // entity_name.c
typedef struct orri_required_types orri_required_types; // required_types.c
typedef struct orri_bundle orri_bundle;                 // bundle.h

// Callbacks into the query module, which the store must not include. Set with the first query of a
// world; NULL functions: no query exists.
typedef struct orri_listener {
    // A cluster was created, or one of its columns got enable bits. False (reported): refused; the
    // caller undoes it.
    bool (*cluster_match)(orr_world* world, orri_cluster* cluster);
    // A cluster is about to be destroyed.
    void (*cluster_gone)(orr_world* world, const orri_cluster* cluster);
    // Makes sure that `count` clusters can be matched without failing. False: reported.
    bool (*cluster_room)(orr_world* world, uint32_t count);
    // The entity at `index` got or lost a pinned value, or the value was enabled or disabled. The
    // pool already shows the change; the memory of a lost value is still readable.
    void (*pinned_changed)(orr_world* world, const orri_pool* pool, uint32_t index);
    // Rows are about to be added, removed or moved: queries drop what they cached about positions
    // of rows. Called when loops.cached is not 0, and clears it.
    void (*structure_change)(orr_world* world);
    // Versions or ticks of blocks are about to be read: writes not stamped yet are stamped
    // (orri_world_settle()).
    void (*settle)(orr_world* world);
    // The world is destroyed: frees all memory of the module.
    void (*world_gone)(orr_world* world);
} orri_listener;

struct orri_queries;
struct orri_messages;
struct orri_schedule;
typedef struct orr_query orr_query;

// Callbacks of a module that keeps data with the world. NULL functions: nothing to do.
typedef struct orri_extension {
    void (*gone)(orr_world* world); // The world is destroyed: frees all memory.
    // Adds the module's state to the world's hash.
    uint64_t (*hash)(orr_world* world, uint64_t hash);
    orr_result (*validate)(orr_world* world); // Checks the module's invariants. Reports.
} orri_extension;

typedef enum orri_extension_id {
    ORRI_EXTENSION_MESSAGES,
    ORRI_EXTENSION_SCHEDULE,
    ORRI_EXTENSION_HISTORY,
    ORRI_EXTENSION_COUNT,
} orri_extension_id;

typedef struct orri_access orri_access; // access.h

// Entities that a change set is about to create (change_set.h), as bits by index. References to
// them are accepted as if they were alive.
typedef struct orri_reserved_ids {
    uint64_t* bits;
    uint32_t end; // Number of bits.
} orri_reserved_ids;

// Memory that orri_retire() frees later (commit_scope.h).
typedef struct orri_retired {
    void* memory;
    size_t size, align;
    orr_memory_purpose purpose;
} orri_retired;

// Data that only some entities have: pages by index >> ORRI_PAGE_BITS, allocated when first needed;
// NULL: none.
typedef struct orri_pages {
    void** list;
    uint32_t capacity;
} orri_pages;

// ---- the world: parts by owner ------------------------------------------------------------------

// The type tables (table/chunk.c).
typedef struct orri_type_tables {
    orr_hot_table** list; // By type index; &orri_table_none.hot: no cluster has the type.
    uint32_t capacity;
    // Counts new entries of the list. Tables made for systems are out of date when it differs.
    uint32_t changes;
} orri_type_tables;

// Limits of the desc, with defaults filled in.
typedef struct orri_limits {
    uint32_t entities, clusters, tags;
} orri_limits;

// Blocks that snapshots and readers share with the world (cow/).
typedef struct orri_cow {
    _Atomic uint64_t live;   // Shares that exist.
    _Atomic uint64_t losses; // Shares ever lost because a copy was refused memory.
    uint64_t frozen;         // Frozen shares that exist. Only a frozen share can make a write fail.
    orri_mutex mutex;        // Held during copies that several workers may make at the same time.
    // A share logs single rows until 1 in (1 << row_log_shift) rows is logged, then copies the
    // block. Blocks of fewer than row_log_least bytes are copied at once (row_log.h).
    uint32_t row_log_shift, row_log_least;
    // The newest share of everything (snapshot.c); NULL: no snapshot.
    struct orri_snapshots* snapshots;
} orri_cow;

// All chunks of the world (table/chunk.c).
typedef struct orri_chunks {
    orri_chunk** list; // By chunk id; [0] is never used.
    uint32_t* free;    // Ids to be given out again. Has room for all.
    uint32_t count, capacity, free_capacity, free_count;
    orri_source row_small[ORRI_LEVELS]; // Row ids of first chunks that are not full size, by level.
    orri_source bits;                   // Enable bits of unique types.
    // Clusters with `parked_listed`, in the order in which they came onto the list.
    orri_cluster *parked_first, *parked_last;
    uint32_t parked_listed, parked_count; // Clusters on the list; parked chunks.
    // Bytes of the chunks that these clusters have or had parked, beyond those of their rows.
    uint64_t parked_bytes;
    uint64_t parked_refusals; // env.refusals when a chunk was parked last.
} orri_chunks;

// All clusters of the world (table/cluster.c).
typedef struct orri_clusters {
    orri_cluster_slot* slots; // By cluster index.
    uint32_t slot_count, slot_capacity;
    uint32_t slot_free; // First of the free list, index + 1; 0: empty. State.
    uint32_t count;
    orri_cluster *first, *last; // In order of creation.
    orri_cluster* empty;        // The cluster without types and tags; NULL: not created yet.
    uint32_t* buckets;          // Hash table by identity: index + 1.
    uint32_t bucket_count;
    uint64_t sequence; // Clusters ever created.
} orri_clusters;

// Cached transitions between clusters (table/transition.c).
typedef struct orri_transitions {
    orri_transition **pairs, **edges; // Two hash tables with bucket_count buckets each.
    uint32_t bucket_count, count;
} orri_transitions;

// Named tags (api/tag.c).
typedef struct orri_tags {
    orri_tag_entry* entries; // In order of naming. State.
    uint32_t count, capacity;
    // Number of this list of names; numbers ever used. Equal numbers: equal lists.
    uint64_t state, states;
    uint32_t *names, *values; // Hash tables by name and by value.
    uint32_t table_size;      // Of both hash tables: a power of two, or 0.
} orri_tags;

// The user's error handler.
typedef struct orri_error_state {
    orr_error_handler handler;
    void* user;
    _Atomic uint32_t in_handler; // Nesting depth of handler calls, all on one thread.
    // Notes a refusal during a tick; NULL: the world has no systems. Set by the schedule.
    void (*note)(orr_world* world, orr_result result, orr_log_id id, const char* text);
    _Atomic bool noted; // Something went wrong in a system since the schedule looked last.
} orri_error_state;

// The open appender (api/appender.c).
typedef struct orri_append_state {
    orr_appender* open; // NULL: none.
    orr_entity* entities;
    uint32_t run_fresh; // Ids of the open run that are fresh; the others came from the free list.
} orri_append_state;

// Open iterations, and what queries cached about rows.
typedef struct orri_loops {
    _Atomic uint32_t iterating; // Open iterations. While there are any, structure does not change.
    // Not 0: queries cached positions of rows, and are notified before rows move.
    _Atomic uint32_t cached;
    _Atomic uint32_t unstamped; // Not 0: queries made writes that are not stamped yet.
    uint32_t era; // Advances with each tick. An iteration of an earlier era has ended.
} orri_loops;

// Pinned values (pool/pool.h).
typedef struct orri_pinned_pools {
    uint64_t live;     // Values in all pools; 0: destroying an entity skips the pools.
    orri_pool** pools; // By type index; NULL: the type has no pool.
    orri_pool** list;  // The pools that exist, ascending by type.
    uint32_t capacity, count, list_capacity; // Of pools; of list.
} orri_pinned_pools;

// Types with indexed references (relation/relation.h).
typedef struct orri_relations {
    uint32_t count; // Relations. When not 0, every destruction looks for referrers.
    struct orri_relation* first;
    // Bits by entity index: scratch of a cascade, 0 outside. No page: no referrer there.
    orri_pages marks;
} orri_relations;

// Types that require other types (table/required_types.c).
typedef struct orri_required_lists {
    orri_required_types* list; // By type index.
    uint32_t capacity;
} orri_required_lists;

typedef struct orri_bundles {
    orri_bundle** list; // In order of registration.
    uint32_t count, capacity;
    uint32_t* table; // Hash table by name with open addressing: 1 + position in the list; 0: free.
    uint32_t table_size; // 0 or a power of two; at most half of it is used.
} orri_bundles;

// Called at the start and the end of ticks; set by the history module. NULL: nothing to do.
typedef struct orri_tick_hooks {
    // A tick that the world counts is about to begin (also by orr_tick_advance()). It cannot be
    // refused any more.
    void (*begins)(orr_world* world);
    // All work of the tick is done. In lockstep, or at a sync point of real time.
    void (*ended)(orr_world* world);
    // Real time: should the pipelines stop at a sync point for the tick that the first pipeline
    // ended?
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

// The running system.
typedef struct orri_running {
    bool in_system; // A system's function runs.
    bool in_tick;   // A tick runs at this moment; false while a refused tick waits to be continued.
    // A function of the program runs, between ticks, for a call that uses the world afterwards: a
    // posted call in lockstep, on_tick of a replay, or `done` of orr_run_until().
    bool in_callback;
    // Several threads may run systems; each thread's system is in orri_this_thread (access.h).
    bool parallel;
    // Access rights of the running system. NULL: no system runs, or access checks are off. While
    // `parallel`: an access that allows nothing, which covers threads that run no system. Read it
    // with orri_access_of().
    const orri_access* access;
    // Not NULL: a travel was made, and memory was refused when readers were to be notified of it.
    // The world may not change before they are, so that calls that change it call this first
    // (orri_travel_notified() in access.h). Set by orri_travel_pending_set().
    orr_result (*notify_travel)(orr_world* world);
} orri_running;

// The current tick, as calls on the world see it. In real time each pipeline has its own;
// orr_world.context is the context of the pipeline whose turn it is.
typedef struct orri_tick_context {
    // Error text for calls that change structure during a tick (only messages may). NULL: no tick.
    // While it is set, loops.iterating is not 0.
    const char* busy;
    float dt;          // Of the tick; 0 between ticks.
    uint64_t run_tick; // The pipeline's tick; 0 between ticks.
    // Where systems record changes; NULL: the world's own buffers.
    struct orri_command_buffers* commands;
} orri_tick_context;

// The change of structure in progress.
typedef struct orri_change_state {
    const orri_reserved_ids* reserved_ids; // NULL outside of a change set.
    // Real time, during a commit: the clusters that it may change (commit_scope.h). NULL: all; no
    // system runs.
    struct orri_commit_scope* commit_scope;
    orri_retired* retired; // Memory that running systems may still read; freed when no system runs.
    uint32_t retired_count, retired_capacity;
} orri_change_state;

// ---- the world ----------------------------------------------------------------------------------

struct orr_world {
    // First: read by the inline functions of store.h. hot.tables is tables.list below or, while a
    // system runs with access checks, the part of it that the system may read. Aligned to a cache
    // line, so that speed does not depend on where the world was allocated.
    _Alignas(64) orr_hot_world hot;
    orri_type_tables tables;
    orri_env env;
    orri_schema schema;
    uint64_t tick, epoch; // Adjacent: the inline functions of query.h read both.
    // Largest epoch in which a block or an index page was stamped (S7c): `noted` by writes whose
    // rows the module message has noted (deliver/dirty_rows.c), `written` by all others.
    uint64_t written, noted;
    uint64_t seed;
    orri_cow cow;
    orri_pinned_pools pinned;
    uint32_t salt; // Of ids, already shifted to its bits of the generation word.
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
    uint32_t instance_last; // The orr_component_id given out last. Not state.
    uint32_t instance_sent; // Number of the next id with ORRI_INSTANCE_SENT. Not state.
    orri_names* names;      // Hash table of names (entity_name.c); NULL: no entity ever had a name.
    orr_entity singleton;   // The world's own entity; null or dead: it has none.
    orri_required_lists required;
    orri_bundles bundles;

    // Data of other modules, created when first needed.
    struct orri_queries* queries;
    struct orri_messages* messages;
    struct orri_schedule* schedule;
    struct orri_history* history;
    // Values as other pipelines see them (publish.h); NULL: nothing is published.
    struct orri_publisher* publisher;
    orri_extension extensions[ORRI_EXTENSION_COUNT];
    orri_tick_hooks tick_hooks;
    uint64_t timeline;   // Counts travels back. Not state.
    bool stretch_warned; // The warning that the playback system is missing was logged.

    orri_world_settings settings;
    orri_running running;
    // Pipelines run at the same time, each on its thread. Only systems run concurrently: all other
    // work of a tick is done by the thread that has the turn. Meanwhile `running` and `loops` do
    // not change, and queries cache nothing.
    bool realtime;
    orri_tick_context* context;    // Never NULL.
    orri_tick_context own_context; // The context in lockstep.
    orri_change_state change;
};

#endif
