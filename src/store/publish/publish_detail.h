// SPDX-License-Identifier: MIT
// Structures and functions that the files of this folder share. README.md lists the invariants P1
// to P7.
//
//   type ──> editions, newest first ──> by chunk id ──> block of values, counted by editions
//     │                                  (pinned types: by block of the pool)   │
//     └────> owner lists, by the same number <──────────────────────────────────┘
//            (multiple and pinned types: whose values a block has)
//   view ──> by type: the edition it pinned
#ifndef ORRI_STORE_PUBLISH_PUBLISH_DETAIL_H
#define ORRI_STORE_PUBLISH_PUBLISH_DETAIL_H

#include "base/sync.h"
#include "store/publish/publish.h"
#include <orrery/kinds.h>

// Size classes (levels) of published blocks.
// Unique types: room for 16, 64, 256, 1024 rows, and at this level for a full chunk.
#define ORRI_EDITION_FULL 4
// Multiple and pinned types: room for 1 << level values, up to ORR_INSTANCES_MAX in every row of a
// chunk.
#define ORRI_EDITION_LEVEL_MAX 21
// Zero-copy blocks: a header without values.
#define ORRI_EDITION_ZERO_COPY 22
#define ORRI_EDITION_CLASSES   23
// Bytes before the values of a block.
#define ORRI_EDITION_HEADER (2 * ORRI_BLOCK_ALIGN)
_Static_assert(1u << ORRI_EDITION_LEVEL_MAX == ORR_CHUNK_CAPACITY * ORR_INSTANCES_MAX,
               "the largest level holds all instances of a chunk");

// Where the values of a published type are stored.
typedef enum orri_published_kind {
    ORRI_PUBLISHED_ROWS,  // Unique types: in columns, one value in a row.
    ORRI_PUBLISHED_CELLS, // Multiple types: in columns, several values in a row.
    ORRI_PUBLISHED_POOL,  // Pinned types: in blocks of a pool.
} orri_published_kind;

// The owners of the values in a block of a multiple or pinned type, as of the last remap. A slot of
// a pool counts as a row with one value or none.
typedef struct orri_owners {
    uint64_t stamp; // Version of the source: instance ids of a chunk, or owners of a pool's block.
    uint32_t rows;
    uint8_t shift;        // A row has room for 1 << shift values.
    uint16_t* counts;     // [rows] Values of each row.
    uint32_t* ids;        // [rows << shift] Instance ids; NULL: pinned.
    orr_entity* entities; // [rows] Owner of each slot, null: free; NULL: multiple.
} orri_owners;

// The owner list at one number (chunk id, or block of the pool) of a type.
typedef struct orri_owner_list {
    orri_owners* now;  // NULL: none.
    orri_owners* next; // Remap only: replaces `now` if `changes`. NULL then: the block is gone.
    bool changes;      // Remap only.
} orri_owner_list;

// Published values of one type in one chunk, or in one block of its pool. Never written while an
// edition has the block.
typedef struct orri_edition_block {
    struct orri_edition_block* next; // Next free block, or next fresh block of the edition.
    // Values behind this header, aligned; for a marker its constant byte; zero-copy: the data of
    // `share`.
    uint8_t* data;
    uint64_t version; // Epoch in which the block was shown or remapped.
    uint64_t tick;    // Tick of the owner when it was shown.
    // Version of the live block it is a copy of; 0: of no single version, so the next publishing
    // copies it.
    uint64_t source;
    // Zero-copy: frozen share of the live block; NULL: the block has its own values.
    struct orri_share* share;
    uint32_t refs; // Editions that have the block.
    uint32_t rows;
    uint16_t column; // Column of the type in the chunk.
    uint8_t level;   // Size class.
    // In the newest edition: the owner's next write there is published without a copy. `decided` is
    // set once the first group of systems that may write the block has been asked (orri_reclaim).
    bool zero_copy, decided;
    const orri_owners* owners; // NULL: a unique type.
} orri_edition_block;
_Static_assert(sizeof(orri_edition_block) <= ORRI_EDITION_HEADER &&
                   offsetof(orri_edition_block, owners) <= ORRI_BLOCK_ALIGN,
               "the fields that the search for changes reads are one cache line");

// All published blocks of a type at one moment. Its state follows from the pointer that leads to
// it:
//
//   state      reached by                     refs              next state
//   making     orri_published_type.making     1                 pending, or spare if refused
//   pending    orri_published_type.pending    1                 newest, or spare if replaced
//   newest     first of .editions             1 + views         older
//   older      others of .editions            views             spare, when the last view leaves it
//   spare      .spare                         0                 making
typedef struct orri_edition {
    struct orri_edition* next; // The edition before this one; or the next spare one.
    // [capacity] By chunk id, or number of the pool's block; NULL: none.
    orri_edition_block** blocks;
    // Making and pending: blocks that the newest edition does not have.
    orri_edition_block* fresh;
    uint32_t capacity, refs;
} orri_edition;

typedef struct orri_published_type {
    const orri_type* type;
    orr_type handle;
    orri_published_kind kind;
    uint32_t size;                // Bytes of a value.
    orri_owner_list* owner_lists; // [owner_list_capacity] By the same number as blocks of editions.
    uint32_t owner_list_capacity;
    orri_edition* editions; // Newest first; older ones while a view sees them.
    orri_edition* pending;  // Copied, and not shown yet; NULL: nothing changed.
    orri_edition* making;   // Used within orri_publish_copy() and orri_publish_zero_copy() only.
    uint64_t tick;          // Owner's tick of the last orri_publish_show().
    uint32_t made_first, made_end; // Remap only: its range in publisher->made.
    // Under the publisher's mutex: spare editions; free blocks by level and their number; number of
    // all blocks.
    orri_edition* spare;
    orri_edition_block* free[ORRI_EDITION_CLASSES];
    uint32_t free_count, block_count;
    // Zero-copy, changed by turn calls only.
    bool zero_copy;           // Some system overwrites the type.
    uint32_t zero_copy_count; // Zero-copy blocks that editions have.
    uint32_t spare_count;     // Length of `spare_shares`.
    // Shares of full-size blocks that no edition has any more, kept as the next live blocks; linked
    // through the first bytes of their data.
    struct orri_share* spare_shares;
} orri_published_type;

// A replacement for a live block, prepared by orri_reclaim().
typedef struct orri_reclaimed {
    orri_chunk* chunk;
    void* block;
    orri_extent* extent; // Where `block` comes from.
    uint32_t column;
    bool overwritten; // The block has any values and counts as written.
} orri_reclaimed;

// The rows of a tracked chunk as of the last remap (P1, P2).
typedef struct orri_tracked_chunk {
    const orri_chunk* chunk; // NULL: not tracked.
    uint64_t stamp;          // chunk->stamp at that time.
    orr_entity* ids;         // [rows] Entities of the rows, with generation.
    uint32_t rows, capacity;
} orri_tracked_chunk;

// A chunk whose rows or identity changed since the last remap. Remap only, as all structs below up
// to orri_remap_slot.
typedef struct orri_remap_change {
    orri_chunk* chunk; // NULL: the chunk is gone, or has no published type any more.
    uint32_t id;
    uint32_t rows; // Rows now.
    uint32_t from; // First entry of its rows in publisher->from; unused when `same`.
    bool same;     // The rows did not change.
} orri_remap_change;

// A rebuilt block of an edition.
typedef struct orri_remap_block {
    orri_edition* edition;
    orri_edition_block* block; // NULL: the edition has no block there any more.
    uint32_t id;
} orri_remap_block;

// An entry of the hash table from entity to its old place.
typedef struct orri_remap_slot {
    uint64_t id;    // Entity; 0: free.
    uint32_t place; // Chunk id and slot as of the last remap.
} orri_remap_slot;

// Columns of one chunk as a view shows them.
typedef struct orri_view_chunk {
    // Sequence of the chunk's cluster, to recognise another chunk with the same id.
    uint64_t sequence;
    uint32_t count; // Columns, without enable bits.
    orri_column columns[];
} orri_view_chunk;

// New columns of a view for a chunk. Remap only.
typedef struct orri_remap_view {
    orri_view* view;
    orri_view_chunk* made;
    uint32_t id;
} orri_remap_view;

// One type of a view.
typedef struct orri_view_type {
    orri_published_type* type;
    orri_edition* edition; // The edition that the view shows; NULL: nothing pinned yet.
    orr_hot_table table;   // Data by chunk id, or by block of the pool.
} orri_view_type;

struct orri_view {
    orri_view* next;
    orri_publisher* publisher;
    orri_view_type* types;
    uint32_t type_count;
    // [slot_count] By type index: 1 + index in `types`; 0: the view does not have the type.
    uint16_t* slots1;
    uint32_t slot_count;
    orri_view_chunk** chunks; // [capacity] By chunk id; NULL: the chunk has no type of the view.
    uint32_t capacity;        // Chunk ids that `chunks` and all tables have room for.
    bool pinned;              // orri_view_pin() was called.
};

struct orri_publisher {
    orr_world* world;
    orri_mutex mutex; // Around reference counts and free lists, while systems run.
    orri_published_type** types;
    uint32_t type_count, type_capacity;
    orri_view* views;
    orri_tracked_chunk* tracked; // [tracked_capacity] By chunk id.
    uint32_t tracked_capacity;
    bool cells;           // Some type is multiple.
    uint64_t remap_epoch; // Rows of chunks with a larger stamp changed since the last remap.
    // Scratch of remap, kept for the next time.
    orri_remap_change* changes;
    uint32_t change_count, change_capacity;
    orri_remap_block* made;
    uint32_t made_count, made_capacity;
    orri_remap_view* made_views;
    uint32_t made_view_count, made_view_capacity;
    uint32_t* from; // By row of the changes: its old place; 0: it had none.
    uint32_t from_count, from_capacity;
    orri_remap_slot* slots; // Hash table of rows that are not where they were.
    uint32_t slot_capacity;
    // Blocks between orri_reclaim() and orri_reclaim_end().
    orri_reclaimed* reclaimed;
    uint32_t reclaimed_count, reclaimed_capacity;
    _Atomic uint64_t copied; // orri_publish_copied().
};

// ---- publish.c ----------------------------------------------------------------------------------

// NULL: the type is not published.
orri_published_type* orri_published_find(const orri_publisher* publisher, orr_type type);
// A block with room for `values` raw values and one reference. NULL when refused (not reported).
orri_edition_block* orri_edition_block_take(orri_publisher* publisher, orri_published_type* type,
                                            uint32_t values);
// A header for a zero-copy block; likewise.
orri_edition_block* orri_edition_block_take_zero_copy(orri_publisher* publisher,
                                                      orri_published_type* type);
// Drops the reference of one edition.
void orri_edition_block_drop(orri_publisher* publisher, orri_published_type* type,
                             orri_edition_block* block);
// An empty edition with one reference, and room for `capacity` blocks. NULL when refused (not
// reported).
orri_edition* orri_edition_take(orri_publisher* publisher, orri_published_type* type,
                                uint32_t capacity);
bool orri_edition_reserve(orri_publisher* publisher, orri_edition* edition, uint32_t capacity);
// Adds a reference.
void orri_edition_retain(orri_publisher* publisher, orri_edition* edition);
// Drops a reference. The last one ends the edition and the blocks that no other edition has.
void orri_edition_release(orri_publisher* publisher, orri_published_type* type,
                          orri_edition* edition);
// The block of a chunk in an edition; NULL: none.
static inline orri_edition_block* orri_edition_at(const orri_edition* edition, uint32_t id)
{
    return id < edition->capacity ? edition->blocks[id] : NULL;
}

// Adds all blocks of the newest edition that the edition in the making lacks.
void orri_edition_complete(orri_publisher* publisher, const orri_published_type* type);
// Discards the edition in the making.
void orri_edition_discard(orri_publisher* publisher, orri_published_type* type);

// ---- zero_copy.c --------------------------------------------------------------------------------

// True when the block that the owner wrote is shown itself instead of a copy.
static inline bool orri_zero_copy_wanted(const orri_published_type* type,
                                         const orri_edition_block* old, const orr_world* world,
                                         const orri_chunk* chunk)
{
    return ORR_UNLIKELY(type->zero_copy) && old->zero_copy && world->append.open == NULL &&
           orri_chunk_rows(chunk) > 0;
}
// Ends a zero-copy block that no edition has any more. Turn.
void orri_zero_copy_end(orri_publisher* publisher, orri_published_type* type,
                        orri_edition_block* block);
// Releases spare shares until at most `most` are left.
void orri_zero_copy_trim(orri_publisher* publisher, orri_published_type* type, uint32_t most);

// ---- owners.c -----------------------------------------------------------------------------------

// An owner list of which only rows and shift are set. NULL when refused (not reported).
orri_owners* orri_owners_make(orri_publisher* publisher, const orri_published_type* type,
                              uint32_t rows, uint8_t shift);
void orri_owners_free(orri_publisher* publisher, orri_owners* owners);
static inline uint32_t orri_owners_values(const orri_owners* owners)
{
    return owners->rows << owners->shift;
}
// Copies all values to raw memory. False when a hook refuses; then no value is left.
bool orri_owners_copy(const orri_published_type* type, const orri_owners* owners, uint8_t* to,
                      const uint8_t* from);
// Copies one value; likewise.
bool orri_owners_copy_one(const orri_published_type* type, uint8_t* to, const uint8_t* from);
// Destructs the values of the first `rows` rows.
void orri_owners_destruct(const orri_published_type* type, const orri_owners* owners, uint8_t* data,
                          uint32_t rows);
bool orri_owner_lists_reserve(orri_publisher* publisher, orri_published_type* type,
                              uint32_t capacity);
// The owner list at a number; NULL: none.
static inline orri_owners* orri_owner_list_at(const orri_published_type* type, uint32_t id)
{
    return id < type->owner_list_capacity ? type->owner_lists[id].now : NULL;
}
// After a remap: replaces the owner lists that changed, or discards the new ones. No block refers
// to the discarded lists any more.
void orri_owner_lists_swap(orri_publisher* publisher, orri_published_type* type);
void orri_owner_lists_discard(orri_publisher* publisher, orri_published_type* type);
void orri_owner_lists_free(orri_publisher* publisher, orri_published_type* type);

// ---- instances.c --------------------------------------------------------------------------------

// True when instances of a multiple type were added or removed in the chunk since the last remap,
// or the chunk has no owner list.
bool orri_published_instances_stale(const orri_published_type* type, const orri_chunk* chunk);
// Makes the owner list of a chunk as it is now. NULL when refused (not reported).
orri_owners* orri_published_instances_owners(orri_publisher* publisher,
                                             const orri_published_type* type,
                                             const orri_chunk* chunk, uint32_t column);
// Fills a rebuilt block: each instance gets the value that the edition had for it, and a new
// instance the live value. False when a hook refuses; then no value is left.
bool orri_published_instances_fill(const orri_publisher* publisher, const orri_published_type* type,
                                   const orri_edition* edition, const orri_remap_change* change,
                                   orri_edition_block* block);
// True when an owner list describes the live instances of the chunk.
bool orri_published_instances_agree(const orri_published_type* type, const orri_chunk* chunk,
                                    const orri_owners* owners);

// ---- pinned.c -----------------------------------------------------------------------------------

// Number of blocks of the pool in which a slot was ever used (P7).
uint32_t orri_published_pool_blocks(const orri_publisher* publisher,
                                    const orri_published_type* type);
// True when owners in some block changed since the last remap.
bool orri_published_pool_stale(const orri_publisher* publisher, const orri_published_type* type);
// Rebuilds the changed blocks of a pinned type for all editions, into publisher->made. False when
// refused (reported).
bool orri_remap_build_pool(orri_publisher* publisher, orri_published_type* type);
// True when an owner list describes the live owners of a block of the pool.
bool orri_published_pool_agree(const orri_publisher* publisher, const orri_published_type* type,
                               uint32_t number, const orri_owners* owners);

// ---- remap.c ------------------------------------------------------------------------------------

// As orri_publish_remap(). Chunks with the type `added` (may be NULL) count as changed.
ORR_NODISCARD orr_result orri_remap_run(orri_publisher* publisher,
                                        const orri_published_type* added);
// The place of a row of a change as of the last remap; 0: the entity had none.
static inline uint32_t orri_remap_from(const orri_publisher* publisher,
                                       const orri_remap_change* change, uint32_t row)
{
    return change->same ? change->id << ORRI_SLOT_BITS | row : publisher->from[change->from + row];
}
// Reserves room in an edition, and for `more` rebuilt blocks in publisher->made. False when refused
// (not reported).
bool orri_remap_reserve(orri_publisher* publisher, orri_edition* edition, uint32_t capacity,
                        uint32_t more);
// Adds a rebuilt block (NULL: the edition loses its block) to publisher->made.
void orri_remap_add(orri_publisher* publisher, orri_edition* edition, uint32_t id,
                    orri_edition_block* block);

// ---- view.c -------------------------------------------------------------------------------------

// Makes room for `capacity` chunk ids, and for all blocks of pinned types. False when refused (not
// reported).
bool orri_view_reserve(orri_view* view, uint32_t capacity);
// True when the chunk has a type of the view.
bool orri_view_shows(const orri_view* view, const orri_chunk* chunk);
// Columns for a chunk. NULL when refused (not reported).
orri_view_chunk* orri_view_chunk_make(orri_view* view, const orri_chunk* chunk);
// Sets all columns of a chunk (NULL: the view shows nothing of it any more). `made` (may be NULL)
// replaces the columns there were.
void orri_view_refresh(orri_view* view, uint32_t id, const orri_chunk* chunk,
                       orri_view_chunk* made);
void orri_view_chunk_free(orri_view* view, orri_view_chunk* entry);
// Sets the tables of all pinned types.
void orri_view_refresh_pools(orri_view* view);

#endif
