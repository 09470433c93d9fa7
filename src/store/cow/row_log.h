// SPDX-License-Identifier: MIT
// Row logs: how a history share keeps a block of which only a few rows were written since.
//
//     older ──log──> old ──log──> newest ──log──> the world's block, or a copy
//
// An attached share with a log is the world's block, with the logged rows on top. When a new
// snapshot shares a block whose attached share has a log, the new share is attached instead, and
// the old share leans on it: the old share has the values of the new one (its base), with its own
// log on top. So each write logs a row at most once, for the newest share. When a whole column is
// written, or the log grows too long, the newest share gets a copy; shares that lean on it still
// do.
//
// Going back to a share (orri_row_log_rewind()) copies no block: each logged row is swapped with
// the row of the world, and the base then leans on the share.
//
// A share without holders stays while two or more shares lean on it. If only one does, this one
// takes over its values (orri_row_log_fold()). All shares of such a tree belong to one column of
// one chunk (or one index page), so a thread that may write the column may also write the logs.
#ifndef ORRI_STORE_COW_ROW_LOG_H
#define ORRI_STORE_COW_ROW_LOG_H

#include "store/cow/share.h"

// Initial values of world->cow.row_log_shift and row_log_least: log at most 1 row in 16, and only
// in blocks of 2048 bytes or more. From 1 row in 25 on a copy is as fast, and a small block is
// copied faster than logged (bench/README.md).
#define ORRI_ROW_LOG_SHIFT 4
#define ORRI_ROW_LOG_LEAST 2048

// The old bytes of rows, in no order, no row twice. One allocation: the values, then the row
// numbers (uint16_t).
typedef struct orri_row_log {
    uint32_t count, capacity;
    uint32_t row_size;
    uint32_t pad; // Values start at a multiple of 16 bytes.
    uint8_t values[];
} orri_row_log;

// The row numbers of a log, in the order of its values.
static inline const uint16_t* orri_row_log_rows(const orri_row_log* log)
{
    return (
        const uint16_t*)(const void*)(log->values +
                                      (((size_t)log->capacity * log->row_size + 1) & ~(size_t)1));
}

// Sets log_max of a new share, from its size and type.
void orri_row_log_set_limit(const orr_world* world, orri_share* share);
// Call it before rows of an attached block are written, and no others: logs their bytes. False when
// the share needs a copy instead: it is frozen, its type has hooks or owned handles, the log is
// full, or memory is refused (silent).
bool orri_row_log_add(orr_world* world, orri_share* share, uint32_t slot, uint32_t count);
// True when a row is logged, or was not part of the block when it was shared.
bool orri_row_log_has(const orri_share* share, uint32_t row);
// Prefetches the memory that orri_row_log_add() will access for a row.
static inline void orri_row_log_prefetch(const orri_share* share, uint32_t slot)
{
    if (share->log != NULL && share->marks != NULL) {
        uint32_t at = share->log->count;
        __builtin_prefetch(&share->marks[slot / 64], 1);
        __builtin_prefetch(share->log->values + (size_t)at * share->row_size, 1);
        __builtin_prefetch(orri_row_log_rows(share->log) + at, 1);
    }
}
// Writes the logged rows over `data`, which has the values of the block below. Frees the log.
void orri_row_log_apply(orr_world* world, orri_share* share, void* data);
// Attaches a new share in the place of `old`, which has a log and leans on the new share from now
// on. The new share's `rows` must be set.
void orri_row_log_supersede(orr_world* world, orri_share* old, orri_share* share);
// The only share that leans on `share` takes over its values, so that `share` can be freed. False:
// several lean on it, or memory was refused (silent).
bool orri_row_log_fold(orr_world* world, orri_share* share);
// Ends leaning. The base is not collected.
void orri_row_log_unlink(orri_share* share);
// Writes the values of a share of a plain type, in any state but LOST: share->size bytes.
void orri_row_log_read(const orri_share* share, void* values);
// A LEANING share becomes OWNED. False when refused (silent).
bool orri_row_log_materialize(orr_world* world, orri_share* share);
// Marks all shares that lean on a lost share, directly or not, as lost.
void orri_row_log_lose(orr_world* world, orri_share* share);
// Frees the log without reading it.
void orri_row_log_drop(orr_world* world, orri_share* share);

// True when orri_row_log_rewind() is possible: `share` is `attached`, or leans on it (directly or
// not) with the same number of rows, and no holder of `attached` keeps a pointer.
bool orri_row_log_can_rewind(const orri_share* share, const orri_share* attached);
// Gives the world's block the values of `share`, which becomes the attached share. All other shares
// keep their values. Cannot fail.
void orri_row_log_rewind(orr_world* world, orri_share* share, orri_share* attached);

// Bytes of the log and its marks.
size_t orri_row_log_bytes(const orri_share* share);
// Checks invariant S18 of a share and of all shares that lean on it, directly or not. `rows`: rows
// of the world's block, if the share is attached (otherwise any).
bool orri_row_log_valid(const orri_share* share, uint32_t rows);

#endif
