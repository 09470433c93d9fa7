// SPDX-License-Identifier: MIT
// Holding a block or an index page as it is now, while the world goes on.
//
// A share is attached while nobody has written to the block since: holder and world then use the same bytes.
// The first write detaches it. Frozen: the holder keeps the block, the world gets a copy, so a pointer the
// holder has stays good. History: the holder gets the copy, the world writes on in place, so columns stay
// contiguous; if the copy is refused the share is lost, never the write. If only some rows are written, a history share may stay attached and log their old
// bytes instead (row_log.h).
#ifndef ORRI_STORE_COW_SHARE_H
#define ORRI_STORE_COW_SHARE_H

#include "store/world/world.h"

typedef enum orri_share_kind {
    ORRI_SHARE_HISTORY,
    ORRI_SHARE_FROZEN,
} orri_share_kind;

typedef struct orri_share {
    // What a write to a held row looks at, in one line.
    uint32_t refs;
    uint32_t rows; // Of the block at that moment (records, for a page).
    orri_share_kind kind;
    uint32_t frozen;  // Holders that may keep a pointer; while there are any, the kind is frozen.
    uint32_t log_max; // How many rows may be logged. 0: a copy it must be.
    uint32_t row_size;
    bool lost;  // The copy was refused: data is NULL.
    void* data; // Read only. What it is, but for the rows of `log`. NULL if it leans.
    // Rows with other bytes than the block they lie over has (row_log.h). Attached: than the world's. Else it has a base, of which it is a variant, and no data. NULL: none.
    struct orri_row_log* log;
    uint64_t* marks; // Attached: which rows `log` has. NULL: to be made.
    // Attached: the place that points back at this share, and what counts it. NULL: detached.
    struct orri_share** attached;
    uint32_t* counter;
    size_t size;           // Bytes of the rows.
    const orri_type* type; // NULL for row ids, enable bits and pages.
    // Of a multiple type with hooks or owned handles: how many instances each row had. The count's own column may go on.
    uint16_t* counts;
    // Detached: who owns the memory. An extent, or (NULL) the allocator under `purpose`.
    orri_extent* extent;
    size_t owned_size;
    size_t align;
    orr_memory_purpose purpose;
    uint64_t round;                       // Of the last count of bytes that came by (snapshot.h).
    struct orri_share *base, *lean_first; // What it leans on; the first of those that lean on it.
    struct orri_share *lean_prev, *lean_next; // Others with the same base.
    struct orri_share* path_next;             // Scratch of going back.
} orri_share;

// Takes hold of a column of a chunk (any of chunk->column_count; one without data gives a share of 0 bytes).
// Several holders of one block share one orri_share. NULL when memory is refused.
orri_share* orri_share_column(orr_world* world, orri_chunk* chunk, uint32_t column,
                              orri_share_kind kind);
// Takes hold of an index page.
orri_share* orri_share_page(orr_world* world, uint32_t page, orri_share_kind kind);
void orri_share_release(orr_world* world, orri_share* share);
// One that nobody holds goes, unless others lean on it; and then what it leaned on, likewise.
void orri_share_collect(orr_world* world, orri_share* share);
// True when nobody wrote since: it has the world's bytes.
static inline bool orri_share_clean(const orri_share* share)
{
    return share->attached != NULL && share->log == NULL;
}

// For chunk.c and entity_index.c: the block is about to be written. On success nothing is attached any more.
// Frozen only: false when memory is refused.
bool orri_share_detach_column(orr_world* world, orri_chunk* chunk, uint32_t column);
bool orri_share_detach_page(orr_world* world, uint32_t page);
// For zero_copy.c: takes hold of a plain column that has rows, frozen, without asking whether the world is open. NULL when memory is refused
// (silent).
orri_share* orri_share_freeze_column(orr_world* world, orri_chunk* chunk, uint32_t column);
// Before that is released: others may hold it for history, and then lose it rather than stand in the way of a write.
void orri_share_unfreeze(orr_world* world, orri_share* share);
// The world gets this block of the same size for its own, and the share, which is frozen, keeps the one it has. Touches nothing of other columns.
void orri_share_replace_column(orr_world* world, orri_chunk* chunk, uint32_t column, void* block,
                               orri_extent* extent);
// For going back (restore.c). Whoever holds the block, or page, gets it for its own; the world may write on. False when refused (silent): as before.
bool orri_share_try_detach_column(orr_world* world, orri_chunk* chunk, uint32_t column);
bool orri_share_try_detach_page(orr_world* world, uint32_t page);
// The same for one that will be read, wherever it is attached: nothing to do if it has the bytes that it holds.
bool orri_share_materialize(orr_world* world, orri_share* share);
// What the share has was moved, or copied, to where it came from: its own memory goes, and it is attached again. Nobody else may be.
void orri_share_reattach_column(orr_world* world, orri_share* share, orri_chunk* chunk,
                                uint32_t column);
void orri_share_reattach_page(orr_world* world, orri_share* share, uint32_t page);
// The values of a share, as cells.
static inline orri_cells orri_share_cells(const orri_share* share, void* data)
{
    return (orri_cells){share->type, data, share->counts, share->row_size};
}
// The chunk is going away: the share takes the block with its values over, without a copy.
void orri_share_hand_over(orr_world* world, orri_chunk* chunk, uint32_t column);

#endif
