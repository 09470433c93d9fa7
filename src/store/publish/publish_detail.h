// SPDX-License-Identifier: MIT
// What the files of publishing share: publish.c (blocks, publications), zero_copy.c (live blocks that are shown), remap.c (rows that
// move), owners.c (whose values a block has), instances.c (of multiple types), pinned.c (of pinned ones), view.c (what a pipeline sees).
//
//   type ──> editions, newest first ──> by chunk id ──> block: values, counted by the editions that have it
//     │                                  (pinned: by block of the pool)   │
//     └─────> rolls, by the same number <─────────────────────────────────┘ of multiple and pinned types: whose values
//   view ──> by type: the edition it pinned
//
// Invariants, outside of a call:
//  1. A chunk is followed when it has a published type and has had rows. Every edition of a type, the one that waits to be shown too, has a
//     block for exactly the followed chunks with that type.
//  2. A block has as many values as the chunk had rows when followed, in the order of the ids kept for it.
//  3. refs of a block: the editions it is in. refs of an edition: the views that pinned it, and one for the newest.
//  4. The columns of a view are live, but for the types it pinned: there they are of its edition.
//  5. A lent block has the data of its share, which is frozen. The live block is lent until it is written: that column has the same share then.
//  6. Blocks of a multiple or pinned type at one number, of whatever edition, have one roll, which is that of the type. It says what the live block says
//     when followed: instances and their ids by row, owners by slot. So ids, counts, owners and switches are read where they live; only values are copied.
//  7. A pool has a block in every edition for exactly those of its blocks in which a slot was used.
#ifndef ORRI_STORE_PUBLISH_PUBLISH_DETAIL_H
#define ORRI_STORE_PUBLISH_PUBLISH_DETAIL_H

#include "base/sync.h"
#include "store/publish/publish.h"
#include <orrery/kinds.h>

#define ORRI_EDITION_FULL \
    4 // Blocks for 16, 64, 256, 1024 rows, a full chunk's. With rolls: for 1, 2, 4 … values,
#define ORRI_EDITION_MOST    21 // up to so many: ORR_INSTANCES_MAX in every row of a chunk.
#define ORRI_EDITION_LENT    22 // Lent ones are headers alone.
#define ORRI_EDITION_CLASSES 23
#define ORRI_EDITION_HEADER  (2 * ORRI_BLOCK_ALIGN)
_Static_assert(1u << ORRI_EDITION_MOST == ORR_CHUNK_CAPACITY * ORR_INSTANCES_MAX, "see above");

// Where the values of a published type live.
typedef enum orri_published_kind {
    ORRI_PUBLISHED_ROWS,  // In columns, one in a row.
    ORRI_PUBLISHED_CELLS, // In columns, several in a row: multiple types.
    ORRI_PUBLISHED_POOL,  // In blocks of a pool: pinned types.
} orri_published_kind;

// Whose values a block has: of each row how many, and whose. A slot of a pool is a row with one value or none.
typedef struct orri_owners {
    uint64_t stamp; // Of what it was taken from: instance ids of a chunk, owners of a pool's block.
    uint32_t rows;
    uint8_t shift;      // A row has room for 1 << shift values.
    uint16_t* counts;   // [rows]
    uint32_t* ids;      // [rows << shift], of instances; NULL: pinned.
    orr_entity* owners; // [rows]; NULL: multiple.
} orri_owners;

typedef struct orri_owners_place {
    orri_owners* now;
    orri_owners* next; // Scratch of following: takes its place,
    bool changes;      // if it does; NULL then: nothing is there any more.
} orri_owners_place;

// Values of one type in one chunk, or in one block of its pool. Nobody writes them while an edition has the block.
typedef struct orri_edition_block {
    struct orri_edition_block* next; // Free, or fresh of the same edition.
    uint8_t* data; // Behind this header, on lines of its own; of a marker its byte.
    uint64_t version, tick;
    uint64_t
        source; // Version of the live block it was copied from; 0: of none, so it is copied anew.
    struct orri_share* share; // Whose data it is, if lent; NULL: its own.
    uint32_t refs, rows;
    uint16_t column; // Of the type in the chunk.
    uint8_t level;   // Class of its size.
    // Of the newest one: what the owner writes next there is to be lent; and that was decided, by the first group of systems that may write it.
    bool lend, decided;
    const orri_owners* roll; // NULL: a unique type.
} orri_edition_block;
_Static_assert(sizeof(orri_edition_block) <= ORRI_EDITION_HEADER &&
                   offsetof(orri_edition_block, roll) <= ORRI_BLOCK_ALIGN,
               "what a look for changes needs is one line");

// A type's blocks of one moment.
typedef struct orri_edition {
    struct orri_edition* next;   // The one before; or spare.
    orri_edition_block** blocks; // By chunk id, or number of the pool's block.
    orri_edition_block* fresh;   // Before it is shown: blocks that changed.
    uint32_t capacity, refs;
} orri_edition;

typedef struct orri_published_type {
    const orri_type* type;
    orr_type handle;
    orri_published_kind kind;
    uint32_t size;
    orri_owners_place* rolls; // As blocks of editions.
    uint32_t roll_capacity;
    orri_edition* editions; // Those that somebody sees, the newest first.
    orri_edition* pending;  // Copied, and not shown yet; NULL: nothing changed.
    orri_edition* making;   // Scratch of a copy.
    uint64_t tick;
    uint32_t made_first, made_end; // Scratch of following: its part of publisher->made.
    // Under the mutex: spare editions; free blocks by class, how many, and how many blocks there are in all.
    orri_edition* spare;
    orri_edition_block* free[ORRI_EDITION_CLASSES];
    uint32_t free_count, block_count;
    // Lending (floor): some system overwrites it; how many blocks are lent, and kept for the next time: their shares, linked through the blocks.
    bool lends;
    uint32_t lent_count, kept_count;
    struct orri_share* kept;
} orri_published_type;

// A live block that is replaced when all are there.
typedef struct orri_reclaimed {
    orri_chunk* chunk;
    void* block;
    orri_extent* extent;
    uint32_t column;
    bool overwritten;
} orri_reclaimed;

// The rows of a followed chunk as they were when it was looked at last.
typedef struct orri_remapped {
    const orri_chunk* chunk; // NULL: not followed.
    uint64_t stamp;          // Of the chunk.
    orr_entity* ids;         // [capacity]
    uint32_t rows, capacity;
} orri_remapped;

// A chunk whose rows, or identity, are not as they were. Scratch of following.
typedef struct orri_remap_change {
    orri_chunk* chunk; // NULL: nothing of it is published any more.
    uint32_t id;
    uint32_t rows; // Now.
    uint32_t from; // Where its rows begin in publisher->from; unused when `same`.
    bool same;     // Rows are as they were.
} orri_remap_change;

typedef struct orri_remap_block {
    orri_edition* edition;
    orri_edition_block* block;
    uint32_t id;
} orri_remap_block;

typedef struct orri_remap_slot {
    uint64_t id;    // Of the entity; 0: free.
    uint32_t place; // Where it was.
} orri_remap_slot;

// Columns of one chunk as a view sees them.
typedef struct orri_view_chunk {
    uint64_t sequence; // Of the chunk's cluster.
    uint32_t count;    // Columns without bits.
    orri_column columns[];
} orri_view_chunk;

typedef struct orri_remap_view {
    orri_view* view;
    orri_view_chunk* made;
    uint32_t id;
} orri_remap_view;

typedef struct orri_view_type {
    orri_published_type* type;
    orri_edition* edition; // NULL: nothing pinned yet.
    orr_hot_table table;
} orri_view_type;

struct orri_view {
    orri_view* next;
    orri_publisher* publisher;
    orri_view_type* types;
    uint32_t type_count;
    uint16_t* slots1; // By type index: 1 + which of `types`; 0: none.
    uint32_t slot_count;
    orri_view_chunk** chunks; // By chunk id; NULL: it has none of the types.
    uint32_t capacity;        // Of `chunks` and of all tables.
    bool pinned;
};

struct orri_publisher {
    orr_world* world;
    orri_mutex mutex; // Around counters and lists, while systems run.
    orri_published_type** types;
    uint32_t type_count, type_capacity;
    orri_view* views;
    orri_remapped* followed; // By chunk id.
    uint32_t followed_capacity;
    bool cells;      // Some type is multiple.
    uint64_t looked; // Rows of chunks with a larger stamp came, went or moved since following.
    // Scratch of following, kept for the next time.
    orri_remap_change* changes;
    uint32_t change_count, change_capacity;
    orri_remap_block* made;
    uint32_t made_count, made_capacity;
    orri_remap_view* made_views;
    uint32_t made_view_count, made_view_capacity;
    uint32_t* from; // By row of the changes: its old place; 0: it had none.
    uint32_t from_count, from_capacity;
    orri_remap_slot* slots;
    uint32_t slot_capacity;
    // Of reclaiming.
    orri_reclaimed* reclaimed;
    uint32_t reclaimed_count, reclaimed_capacity;
    _Atomic uint64_t copied;
};

// ---- publish.c ------------------------------------------------------------------------------------------

orri_published_type* orri_published_find(const orri_publisher* publisher, orr_type type);
// With room for so many values, raw, counted once; NULL when refused (silent).
orri_edition_block* orri_edition_block_take(orri_publisher* publisher, orri_published_type* type,
                                            uint32_t values);
// A header for a lent one; likewise.
orri_edition_block* orri_edition_block_take_lent(orri_publisher* publisher,
                                                 orri_published_type* type);
// One edition less has it.
void orri_edition_block_drop(orri_publisher* publisher, orri_published_type* type,
                             orri_edition_block* block);
// Empty, with room for so many chunks; NULL when refused (silent).
orri_edition* orri_edition_take(orri_publisher* publisher, orri_published_type* type,
                                uint32_t capacity);
bool orri_edition_reserve(orri_publisher* publisher, orri_edition* edition, uint32_t capacity);
void orri_edition_hold(orri_publisher* publisher, orri_edition* edition);
void orri_edition_release(orri_publisher* publisher, orri_published_type* type,
                          orri_edition* edition);
// Of a chunk in an edition; NULL: none.
static inline orri_edition_block* orri_edition_at(const orri_edition* edition, uint32_t id)
{
    return id < edition->capacity ? edition->blocks[id] : NULL;
}

// Everything that the newest edition has and the one in the making has not.
void orri_edition_complete(orri_publisher* publisher, const orri_published_type* type);
// Gives up the one in the making.
void orri_edition_undo(orri_publisher* publisher, orri_published_type* type);

// ---- zero_copy.c ---------------------------------------------------------------------------------------

// True when what was written there is lent, not copied.
static inline bool orri_zero_copy_wanted(const orri_published_type* type,
                                         const orri_edition_block* old, const orr_world* world,
                                         const orri_chunk* chunk)
{
    return ORR_UNLIKELY(type->lends) && old->lend && world->append.open == NULL &&
           orri_chunk_rows(chunk) > 0;
}
// A lent block that no edition has any more. Floor.
void orri_zero_copy_end(orri_publisher* publisher, orri_published_type* type,
                        orri_edition_block* block);
// Gives back blocks that are kept, but for so many.
void orri_zero_copy_trim(orri_publisher* publisher, orri_published_type* type, uint32_t most);

// ---- owners.c ---------------------------------------------------------------------------------------

// Raw, but for rows and shift; NULL when refused (silent).
orri_owners* orri_owners_make(orri_publisher* publisher, const orri_published_type* type,
                              uint32_t rows, uint8_t shift);
void orri_owners_free(orri_publisher* publisher, orri_owners* roll);
static inline uint32_t orri_owners_values(const orri_owners* roll)
{
    return roll->rows << roll->shift;
}
// Copies all values to raw memory. False when a hook refuses; then none is made.
bool orri_owners_copy(const orri_published_type* type, const orri_owners* roll, uint8_t* to,
                      const uint8_t* from);
// Copies one; likewise.
bool orri_owners_copy_one(const orri_published_type* type, uint8_t* to, const uint8_t* from);
// Ends all values of rows before `rows`.
void orri_owners_destruct(const orri_published_type* type, const orri_owners* roll, uint8_t* data,
                          uint32_t rows);
bool orri_owner_lists_reserve(orri_publisher* publisher, orri_published_type* type,
                              uint32_t capacity);
// The roll at a number; NULL: none.
static inline orri_owners* orri_owners_at(const orri_published_type* type, uint32_t id)
{
    return id < type->roll_capacity ? type->rolls[id].now : NULL;
}
// What following made takes its place, or is given up. Blocks that have it are there no more.
void orri_owner_lists_swap(orri_publisher* publisher, orri_published_type* type);
void orri_owner_lists_undo(orri_publisher* publisher, orri_published_type* type);
void orri_owner_lists_free(orri_publisher* publisher, orri_published_type* type);

// ---- instances.c ---------------------------------------------------------------------------------------

// True when instances of a multiple type came or went there since its roll was taken, or there is none.
bool orri_published_cell_stale(const orri_published_type* type, const orri_chunk* chunk);
// The roll of a chunk as it is. NULL when refused (silent).
orri_owners* orri_published_cell_owners(orri_publisher* publisher, const orri_published_type* type,
                                        const orri_chunk* chunk, uint32_t column);
// The values of a block, of the rows of a change: as the edition had them, by instance; who is new gets the live one. False when a hook refuses;
// then none is made.
bool orri_published_cell_fill(const orri_publisher* publisher, const orri_published_type* type,
                              const orri_edition* edition, const orri_remap_change* change,
                              orri_edition_block* block);
// Checks that a roll says what is there.
bool orri_published_cell_agrees(const orri_published_type* type, const orri_chunk* chunk,
                                const orri_owners* roll);

// ---- pinned.c ---------------------------------------------------------------------------------------

// Blocks of its pool in which a slot was used.
uint32_t orri_published_pool_blocks(const orri_publisher* publisher,
                                    const orri_published_type* type);
// True when some block's owners are not those of its roll.
bool orri_published_pool_stale(const orri_publisher* publisher, const orri_published_type* type);
// The blocks of such a type that follow, in all editions: into publisher->made. False when refused (reported).
bool orri_remap_build_pool(orri_publisher* publisher, orri_published_type* type);
bool orri_published_pool_agrees(const orri_publisher* publisher, const orri_published_type* type,
                                uint32_t number, const orri_owners* roll);

// ---- remap.c -------------------------------------------------------------------------------------

// As orri_publish_remap(); chunks with `added` (may be NULL) are looked at in any case.
ORR_NODISCARD orr_result orri_remap_run(orri_publisher* publisher,
                                        const orri_published_type* added);
// Where a row of a change was; 0: nowhere.
static inline uint32_t orri_remap_from(const orri_publisher* publisher,
                                       const orri_remap_change* change, uint32_t row)
{
    return change->same ? change->id << ORRI_SLOT_BITS | row : publisher->from[change->from + row];
}
// Room in an edition and in publisher->made, and a block that was made for it (NULL: there is none any more). False when refused (silent).
bool orri_remap_reserve(orri_publisher* publisher, orri_edition* edition, uint32_t capacity,
                        uint32_t more);
void orri_remap_add(orri_publisher* publisher, orri_edition* edition, uint32_t id,
                    orri_edition_block* block);

// ---- view.c ---------------------------------------------------------------------------------------------

bool orri_view_reserve(orri_view* view, uint32_t capacity);
// True when the chunk has one of its types.
bool orri_view_shows(const orri_view* view, const orri_chunk* chunk);
// NULL when refused (silent).
orri_view_chunk* orri_view_chunk_make(orri_view* view, const orri_chunk* chunk);
// All columns of a chunk anew; NULL: it shows nothing of it any more. `made` (may be NULL) replaces what there was.
void orri_view_refresh(orri_view* view, uint32_t id, const orri_chunk* chunk,
                       orri_view_chunk* made);
void orri_view_chunk_free(orri_view* view, orri_view_chunk* entry);
// The tables of pinned types anew.
void orri_view_refresh_pools(orri_view* view);

#endif
