// SPDX-License-Identifier: MIT
// Recordings as files. Numbers are little endian, "v" are of variable length (7 bits a byte, the low ones first), texts a v and so many bytes.
//
//   file     "ORRTAPE\n" │ u32 version │ u32 0: lockstep, 1: real time │ blocks
//   block    u32 kind │ u32 size │ u32 hash of these │ bytes │ u64 hash of all that; both begun with the block's number. The first one tells a
//            size that is wrong from a file that was cut off.
//   HEAD     u64 tick and hash of the world it begins with
//   TYPE PIPE SYST CALL FUNC   names: v count, each: text, u64 of what kind (recording.h)
//   TICK     v number of the first; each: u8 flags, v pipeline, [u32 dt], z due, z time, z due of the first (differences), v calls, each: v name, u8 meeting,
//            v size, bytes; v size, bytes of impure systems; [u64 hash]
//   TURN DTIM CCNT GRNT HASH ENDS BUDG   of real time: arrays, in pieces;   POST: calls;   INPT: u32 pipeline, bytes of impure systems
//   DONE     u64 ticks, calls, time; u8 flags; u64 where it was changed, plus 1. Without it the file was cut off.
#ifndef ORRI_REPLAY_FILE_H
#define ORRI_REPLAY_FILE_H

#include "base/bytes.h"
#include "realtime/realtime.h"
#include <orrery/replay.h>

#define ORRI_FILE_MAGIC   "ORRTAPE\n"
#define ORRI_FILE_VERSION 3u
#define ORRI_FILE_PIECE   65536u // Bytes of a block, after which another begins;
#define ORRI_FILE_TICKS   256u   // or ticks: no more are lost where a file is cut off.
#define ORRI_FILE_BEFORE  12u    // Bytes of a block before its content, and with those behind it.
#define ORRI_FILE_AROUND  20u

#define ORRI_FILE_FOUR(a, b, c, d) \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

typedef enum orri_file_block {
    ORRI_BLOCK_HEAD = ORRI_FILE_FOUR('H', 'E', 'A', 'D'),
    ORRI_BLOCK_TYPE = ORRI_FILE_FOUR('T', 'Y', 'P', 'E'), // As the kinds of names, in order.
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
    ORRI_FILE_HASHED = 1,  // Of a tick: its hash follows.
    ORRI_FILE_SAME_DT = 2, // As the tick before in this block.
    ORRI_FILE_FULL = 1,    // Of the end.
    ORRI_FILE_REFUSED = 2,
};

// Of kind and size of the block with a number, as they are in the file.
static inline uint32_t orri_file_head_hash(const uint8_t* head, uint32_t number)
{
    return (uint32_t)orr_hash(head, 8, number);
}

static inline uint64_t orri_file_zigzag(uint64_t difference)
{
    return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t orri_file_unzigzag(uint64_t coded)
{
    return coded >> 1 ^ (0 - (coded & 1));
}

#endif
