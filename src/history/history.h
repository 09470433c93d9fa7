// SPDX-License-Identifier: MIT
// What is remembered of a world: memories in order of their ticks, and the rules by which they come and go.
#ifndef ORRI_HISTORY_HISTORY_H
#define ORRI_HISTORY_HISTORY_H

#include "history/schedule_past.h"
#include "message/past/past.h"
#include "store/snapshot/snapshot.h"
#include <orrery/history.h>

// The world after one tick.
typedef struct orri_memory {
    uint64_t tick;
    orri_snapshot* store;
    orri_messages_past* messages;
    orri_schedule_past* schedule;
    bool ruled;      // Remembered by the rules, which forget it again; not by a call.
    uint64_t number; // No other has it, nor will.
    uint64_t beside; // Bytes of messages and schedule.
} orri_memory;

struct orri_history {
    orri_memory* memories; // By tick, ascending; no two of one.
    uint32_t memory_count, memory_capacity;
    orr_history_desc rules;
    uint64_t ruled_to; // Ticks before it have been looked at by the rules.
    uint64_t losses;   // world->cow.losses when all memories were whole.
    uint64_t remembered, forgotten, lost, travels, ticks_run;
    uint64_t number_last;
    uint64_t stands; // The number of the memory the world went to last: those ahead are its future.
    uint64_t
        stood; // Going elsewhere was refused: the epoch that ended then, in which it stood there. 0: not since.
    uint64_t beside; // Of all memories.
    uint64_t round;  // Of the last count of bytes.
};

// The history of a world, made if missing. NULL when refused (reported).
struct orri_history* orri_history_of(orr_world* world);
// Where the first memory of this tick, or of a later one, is.
uint32_t orri_history_find(const struct orri_history* history, uint64_t tick);
// The memory of a tick that can be gone back to; NULL: none.
const orri_memory* orri_history_at(const orr_world* world, uint64_t tick);
// The latest that is remembered up to a tick, and the earliest from it on; UINT64_MAX: none.
void orri_history_near(const orr_world* world, uint64_t tick, uint64_t* before, uint64_t* after);
// Remembers now. Reported. (history.c)
orr_result orri_history_keep(orr_world* world, bool ruled);
// True when the world stands, unchanged, where it went to by this memory. (travel.c)
bool orri_history_stands(orr_world* world, const orri_memory* memory);
void orri_history_drop(orr_world* world, uint32_t first, uint32_t count);
// Drops memories that were lost.
void orri_history_sweep(orr_world* world);
// By the rules, around a tick. (retention.c)
void orri_history_tick_begins(orr_world* world);
void orri_history_tick_ended(orr_world* world);
bool orri_history_tick_wanted(const orr_world* world);
void orri_history_tick_met(orr_world* world);
// Before going back: what was done since the tick ended is kept with it, so that one can come back to it.
void orri_history_keep_now(orr_world* world);
// What memories take besides what the world has.
uint64_t orri_history_bytes(const orr_world* world);

#endif
