// SPDX-License-Identifier: MIT
// Layout of recording files. Numbers are little endian. "v" is a number of variable length: 7 bits
// per byte, the low bits first. "z" is a zigzag-coded v: a signed difference. A text is a v (its
// bytes), then the bytes. [x] is only present if a flag says so.
//
//   file     "ORRTAPE\n" | u32 version | u32 0: lockstep, 1: real time | blocks
//   block    u32 kind | u32 size | u32 hash of kind and size | content | u64 hash of all of these
//            Both hashes are seeded with the number of the block, so blocks cannot be swapped. The
//            first hash distinguishes a wrong size from a file that was cut off.
//
// Content of a block, by kind:
//
//   HEAD     u64 tick and u64 hash of the world at the beginning, u8 1 if the run has hashes
//   TYPE PIPE SYST CALL FUNC
//            table of names: v count, then per name: text, u64 (orri_lockstep_log_name.word)
//   TICK     ticks of lockstep: v index of the first tick, then per tick:
//            u8 flags, v pipeline, [u32 dt]
//            z due time, relative to the tick before in this block
//            z world time and z due time of the first pipeline, both relative to the due time
//            v number of calls, then per call: v name, u8 1 if exclusive, v size, bytes
//            v size and bytes of impure systems, [u64 hash]
//   TURN DTIM CCNT GRNT HASH ENDS BUDG
//            real time: arrays of numbers; a long array is split into several blocks
//   POST     real time: calls, as in TICK
//   INPT     real time: u32 pipeline, then bytes of impure systems
//   DONE     u64 ticks, u64 calls, u64 time, u8 flags, u64 changed tick + 1 (0: none)
//            A file without DONE was cut off.
#ifndef ORRI_REPLAY_FILE_H
#define ORRI_REPLAY_FILE_H

#include "base/bytes.h"
#include "realtime/realtime.h"
#include <orrery/replay.h>

#define ORRI_FILE_MAGIC   "ORRTAPE\n"
#define ORRI_FILE_VERSION 4u
#define ORRI_FILE_PIECE   65536u // A block ends when it has this many bytes.
#define ORRI_FILE_TICKS   256u   // Ticks per block: a truncated file loses at most this many.
#define ORRI_FILE_BEFORE  12u    // Bytes of a block before its content.
#define ORRI_FILE_AROUND  20u    // Bytes of a block before and after its content.

// A block kind from its four letters.
#define ORRI_FILE_FOUR(a, b, c, d) \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

// Kinds of blocks.
typedef enum orri_file_block {
    ORRI_BLOCK_HEAD = ORRI_FILE_FOUR('H', 'E', 'A', 'D'),
    // TYPE to FUNC: tables of names, in the order of orri_lockstep_log_kind.
    ORRI_BLOCK_TYPE = ORRI_FILE_FOUR('T', 'Y', 'P', 'E'),
    ORRI_BLOCK_PIPE = ORRI_FILE_FOUR('P', 'I', 'P', 'E'),
    ORRI_BLOCK_SYST = ORRI_FILE_FOUR('S', 'Y', 'S', 'T'),
    ORRI_BLOCK_CALL = ORRI_FILE_FOUR('C', 'A', 'L', 'L'),
    ORRI_BLOCK_FUNC = ORRI_FILE_FOUR('F', 'U', 'N', 'C'),
    ORRI_BLOCK_TICK = ORRI_FILE_FOUR('T', 'I', 'C', 'K'),
    ORRI_BLOCK_TURN = ORRI_FILE_FOUR('T', 'U', 'R', 'N'),
    ORRI_BLOCK_DTIM = ORRI_FILE_FOUR('D', 'T', 'I', 'M'),
    ORRI_BLOCK_CCNT = ORRI_FILE_FOUR('C', 'C', 'N', 'T'),
    ORRI_BLOCK_GRNT = ORRI_FILE_FOUR('G', 'R', 'N', 'T'),
    ORRI_BLOCK_HASH = ORRI_FILE_FOUR('H', 'A', 'S', 'H'),
    ORRI_BLOCK_ENDS = ORRI_FILE_FOUR('E', 'N', 'D', 'S'),
    ORRI_BLOCK_BUDG = ORRI_FILE_FOUR('B', 'U', 'D', 'G'),
    ORRI_BLOCK_POST = ORRI_FILE_FOUR('P', 'O', 'S', 'T'),
    ORRI_BLOCK_INPT = ORRI_FILE_FOUR('I', 'N', 'P', 'T'),
    ORRI_BLOCK_DONE = ORRI_FILE_FOUR('D', 'O', 'N', 'E'),
} orri_file_block;

enum {
    ORRI_FILE_HASHED = 1,  // Flag of a tick: it ends with a hash.
    ORRI_FILE_SAME_DT = 2, // Flag of a tick: dt as in the tick before in this block.
    ORRI_FILE_FULL = 1,    // Flag of DONE: orr_recording_stats.full.
    ORRI_FILE_REFUSED = 2, // Flag of DONE: orr_recording_stats.refused.
};

// ---- file_check.c: numbers of a file ------------------------------------------------------------

// True for the word of a pipeline's name: the bits of its rate.
bool orri_file_rate_possible(uint64_t word);
// Check a tick of lockstep, or a whole recording of real time. Return the first mistake as text;
// NULL: none.
const char* orri_file_check_tick(const orr_recording* recording, const orri_lockstep_entry* entry);
const char* orri_file_check_realtime(const orr_recording* recording);

// ---- numbers ------------------------------------------------------------------------------------

// Hash of kind and size of block `number`; `head` has their 8 bytes as in the file.
static inline uint32_t orri_file_head_hash(const uint8_t* head, uint32_t number)
{
    return (uint32_t)orr_hash(head, 8, number);
}

// Codes a signed difference so that small ones of either sign are short as a v.
static inline uint64_t orri_file_zigzag(uint64_t difference)
{
    return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t orri_file_unzigzag(uint64_t coded)
{
    return coded >> 1 ^ (0 - (coded & 1));
}

#endif
