// SPDX-License-Identifier: MIT
// Logs of rows: what a history share has of a block of which only a few rows were written since.
//
//     older ──log──> old ──log──> newest ──log──> the world's block, or a copy
//
// A share that is attached is the world's block with the rows of its log on top. When the next holder comes and rows were logged, it gets a share of its own that is
// attached, and the one before leans on that: it is what its *base* is, with its own log on top. So each write logs one row once, for the newest. A whole column
// written, or a log that grows long, gives the newest a copy; those that lean on it do so still. What leans is turned round when the world goes back, so that nothing is copied: an
// entry of a log and the row of the world change places, and the base leans on who was its variant.
//
// A share that nobody holds stays while several lean on it; if it is one, that one takes over what it has. All are of one column of a chunk: who may write that, may log.
#ifndef ORRI_STORE_COW_ROW_LOG_H
#define ORRI_STORE_COW_ROW_LOG_H

#include "store/cow/share.h"

// As a world begins (world->cow.row_log_shift, world->cow.row_log_least). From a row in twenty-five on a copy is as fast, and a small block is copied faster than logged (bench/README.md).
#define ORRI_ROW_LOG_SHIFT 4
#define ORRI_ROW_LOG_LEAST 2048

// Rows in no order, none twice. One piece of memory: the values, then the rows.
typedef struct orri_row_log {
    uint32_t count, capacity;
    uint32_t row_size;
    uint32_t pad; // Values begin at a multiple of 16 bytes.
    uint8_t values[];
} orri_row_log;

static inline const uint16_t* orri_row_log_rows(const orri_row_log* log)
{
    return (
        const uint16_t*)(const void*)(log->values +
                                      (((size_t)log->capacity * log->row_size + 1) & ~(size_t)1));
}

// How much a new share may log.
void orri_row_log_set_limit(const orr_world* world, orri_share* share);
// Before rows of an attached block are written, and nothing else of it: what they are is kept for the holder. False when it should get a copy instead: it is
// frozen, has hooks or handles, the log is long enough, or memory is refused (silent).
bool orri_row_log_add(orr_world* world, orri_share* share, uint32_t slot, uint32_t count);
// True when the row was, or need not be.
bool orri_row_log_has(const orri_share* share, uint32_t row);
// What that will read and write is fetched.
static inline void orri_row_log_prefetch(const orri_share* share, uint32_t slot)
{
    if (share->log != NULL && share->marks != NULL) {
        uint32_t at = share->log->count;
        __builtin_prefetch(&share->marks[slot / 64], 1);
        __builtin_prefetch(share->log->values + (size_t)at * share->row_size, 1);
        __builtin_prefetch(orri_row_log_rows(share->log) + at, 1);
    }
}
// The rows of the log, put onto values that are as the share's base, or as the world's. The log goes.
void orri_row_log_apply(orr_world* world, orri_share* share, void* data);
// A new share is attached in the place of one that has a log, which leans on it from now on. Its rows are known.
void orri_row_log_supersede(orr_world* world, orri_share* old, orri_share* share);
// The only one that leans on a share takes over what that has, which may go then. False: several do, or memory was refused (silent).
bool orri_row_log_fold(orr_world* world, orri_share* share);
// It leans on nothing any more. What it leaned on is not asked whether it is still needed.
void orri_row_log_unlink(orri_share* share);
// What a share is, of a plain type, whatever it leans on: share->size bytes.
void orri_row_log_read(const orri_share* share, void* values);
// A share that leans gets values of its own. False when refused (silent).
bool orri_row_log_materialize(orr_world* world, orri_share* share);
// All that lean on a share that is lost are lost.
void orri_row_log_lose(orr_world* world, orri_share* share);
// The log goes, unread.
void orri_row_log_drop(orr_world* world, orri_share* share);

// True when a share can become what the world has without a copy: it is attached, or leans on what is, and nobody keeps a pointer.
bool orri_row_log_can_rewind(const orri_share* share, const orri_share* attached);
// It does so. Cannot fail. All others are what they were.
void orri_row_log_rewind(orr_world* world, orri_share* share, orri_share* attached);

// Bytes of the log.
size_t orri_row_log_bytes(const orri_share* share);
// The share and all that lean on it, directly or not. `rows` is how many the world's block has, if it is attached (else any).
bool orri_row_log_valid(const orri_share* share, uint32_t rows);

#endif
