// SPDX-License-Identifier: MIT
// Shares: copy-on-write of blocks and index pages. A share is a block (or page) as it was at one
// moment, kept for a snapshot or a reader while the world changes.
//
// States of a share (invariant S18):
//   ATTACHED  attached != NULL           uses the world's bytes, except for the rows in its log
//   LEANING   base != NULL               has the values of its base, except for the rows in its log
//   OWNED     neither, and not lost      has memory of its own
//   LOST      lost                       its values could not be kept
//
// Before a write to a shared block, the attached share is handled according to its kind:
//   history  The share gets a copy, and the world writes on in place, so that columns stay
//            contiguous. If the copy is refused memory the share is lost; the write never fails. If
//            only a few rows are written, the share may stay attached and log their old bytes instead
//            (row_log.h).
//   frozen   The share keeps the block, and the world gets a copy, so that pointers of readers stay
//            valid. If the copy is refused memory the write fails.
#ifndef ORRI_STORE_COW_SHARE_H
#define ORRI_STORE_COW_SHARE_H

#include "store/world/world.h"

typedef enum orri_share_kind {
    ORRI_SHARE_HISTORY,
    ORRI_SHARE_FROZEN,
} orri_share_kind;

typedef struct orri_share {
    // First cache line: what a write to a shared row reads.
    uint32_t refs; // Holders. 0: the share exists only because others lean on it.
    uint32_t rows; // Of the block at that moment (records, for a page).
    orri_share_kind kind;
    uint32_t frozen;  // Holders that may keep a pointer. While there are any, the kind is frozen.
    uint32_t log_max; // Rows that may be logged. 0: every write needs a copy.
    uint32_t row_size;
    bool lost;  // LOST: data is NULL.
    void* data; // Read only. The values, except for the rows in `log`. NULL if LEANING or LOST.
    // Rows that differ from the block below, with their bytes (row_log.h). ATTACHED: the block
    // below is the world's; LEANING: its base. NULL: ATTACHED and nothing was written, or OWNED.
    struct orri_row_log* log;
    uint64_t* marks; // ATTACHED: bits of the rows in `log`. NULL: not made yet.
    // ATTACHED: the field of the column or page that points at this share, and the counter of
    // attached shares there.
    struct orri_share** attached;
    uint32_t* counter;
    size_t size;           // Bytes of the rows.
    const orri_type* type; // NULL for row ids, enable bits and pages.
    // Multiple types with hooks or owned handles: instances that each row had. A copy, since the
    // column of the counts is a block of its own and may have changed.
    uint16_t* counts;
    // OWNED: where the memory of `data` comes from. An extent or, if NULL, the allocator under
    // `purpose`.
    orri_extent* extent;
    size_t owned_size;
    size_t align;
    orr_memory_purpose purpose;
    uint64_t round; // Number of the last count of bytes that included this share (snapshot.h).
    // The share it leans on; the first share that leans on it.
    struct orri_share *base, *lean_first;
    struct orri_share *lean_prev, *lean_next; // Other shares with the same base.
    struct orri_share* path_next;             // Scratch of orri_row_log_rewind().
} orri_share;

// Shares a column of a chunk (any of chunk->column_count; a column without data gives a share of 0
// bytes). A block that was not written since the last call is shared by the same orri_share. NULL
// when refused (reported).
orri_share* orri_share_column(orr_world* world, orri_chunk* chunk, uint32_t column,
                              orri_share_kind kind);
// Shares an index page.
orri_share* orri_share_page(orr_world* world, uint32_t page, orri_share_kind kind);
// One holder less.
void orri_share_release(orr_world* world, orri_share* share);
// Frees a share without holders, unless other shares lean on it; then likewise its base.
void orri_share_collect(orr_world* world, orri_share* share);
// True when nothing was written to the block since: the share has the world's bytes.
static inline bool orri_share_clean(const orri_share* share)
{
    return share->attached != NULL && share->log == NULL;
}

// For chunk.c and entity_index.c: the block is about to be written. Afterwards it is not shared. A
// history share gets a copy or is lost. False: a frozen share's copy was refused memory (silent).
bool orri_share_detach_column(orr_world* world, orri_chunk* chunk, uint32_t column);
bool orri_share_detach_page(orr_world* world, uint32_t page);
// For zero_copy.c: shares a plain column that has rows, frozen, without checking that the world is
// open. NULL when refused (silent).
orri_share* orri_share_freeze_column(orr_world* world, orri_chunk* chunk, uint32_t column);
// Call it before that share is released. If only history holders are left the share becomes a
// history share, which is lost rather than making a write fail.
void orri_share_unfreeze(orr_world* world, orri_share* share);
// The world gets this block (of the same size) for a column; the attached share, which is frozen,
// keeps the old one. Touches no other column.
void orri_share_replace_column(orr_world* world, orri_chunk* chunk, uint32_t column, void* block,
                               orri_extent* extent);
// For restore.c: detaches the share of a column or page, if any, and never loses it. False: the
// copy was refused memory (silent), and nothing has changed.
bool orri_share_try_detach_column(orr_world* world, orri_chunk* chunk, uint32_t column);
bool orri_share_try_detach_page(orr_world* world, uint32_t page);
// For restore.c: the share's `data` is about to be read. A share with a log, attached or leaning,
// gets values of its own. False when refused (silent).
bool orri_share_materialize(orr_world* world, orri_share* share);
// For restore.c: the values of an OWNED share were moved back to where they came from. Frees its
// memory and attaches it again. No other share may be attached there.
void orri_share_reattach_column(orr_world* world, orri_share* share, orri_chunk* chunk,
                                uint32_t column);
void orri_share_reattach_page(orr_world* world, orri_share* share, uint32_t page);
// The values of a share at `data`, as cells.
static inline orri_cells orri_share_cells(const orri_share* share, void* data)
{
    return (orri_cells){share->type, data, share->counts, share->row_size};
}
// The chunk is being destroyed: the attached share takes over the block with its values, without a
// copy.
void orri_share_hand_over(orr_world* world, orri_chunk* chunk, uint32_t column);

#endif
