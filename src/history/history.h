// SPDX-License-Identifier: MIT
// Remembered ticks of a world (struct orri_history), and the functions that the files of this
// module share. A remembered tick is called a memory; its part of the store is a snapshot.
#ifndef ORRI_HISTORY_HISTORY_H
#define ORRI_HISTORY_HISTORY_H

#include "history/schedule_past.h"
#include "message/past/past.h"
#include "store/snapshot/snapshot.h"
#include <orrery/history.h>

// The world as it was after one tick.
typedef struct orri_memory {
    uint64_t tick; // The world's tick. Key of the list.
    // The three parts of the state; each belongs to its module.
    orri_snapshot* store;
    orri_messages_past* messages;
    orri_schedule_past* schedule;
    bool automatic;       // Made by retention, which may forget it; not by orr_remember().
    uint64_t number;      // Unique among all memories of the world, also forgotten ones.
    uint64_t extra_bytes; // Bytes of `messages` and `schedule`.
} orri_memory;

struct orri_history {
    orri_memory* memories; // Ascending by tick; at most one per tick. Points into `room`.
    uint32_t memory_count;
    // Their memory. The oldest memories are forgotten first as a rule: they leave a gap at the front
    // of the room, so that the others need not move.
    orri_memory* room;
    uint32_t memory_gap, memory_capacity; // Free items before `memories`; items of `room`.
    orr_history_desc rules;               // Settings of orr_history_set().
    uint64_t thinned_to; // Retention has already thinned out the ticks before this one.
    uint64_t losses;     // world->cow.losses at the last sweep: if equal, no memory was lost since.
    // The current tick, plus 1, if it was remembered and lost: a travel to it is refused. 0: it was
    // not.
    uint64_t lost_tick1;
    uint64_t remembered, forgotten, lost, travels, ticks_run; // As in orr_history_stats.
    uint64_t number_last;                                     // The last orri_memory.number given.
    // Number of the memory that was restored last. As long as the world is unchanged since, the
    // memories ahead are its future. 0: none was restored.
    uint64_t restored_number;
    // The memory that was restored last, if it was forgotten while the world was still unchanged and
    // later memories exist: it shows that these are the world's future. `number` 0: none.
    orri_memory base;
    // If a travel was refused while the world was unchanged since it was restored: the epoch that
    // ended then. Later changes are searched from that epoch on. 0: no travel was refused since.
    uint64_t refused_epoch;
    uint64_t extra_bytes; // Sum of orri_memory.extra_bytes.
    uint64_t round;       // Number of the last count of shared bytes; marks shares as counted.
};

// Returns the history of a world; creates it if it is missing. NULL when refused (reported).
struct orri_history* orri_history_of(orr_world* world);
// Index of the first memory of this tick or a later one; memory_count if there is none.
uint32_t orri_history_find(const struct orri_history* history, uint64_t tick);
// The memory of a tick, if it can be restored; NULL if there is none or it was lost.
const orri_memory* orri_history_at(const orr_world* world, uint64_t tick);
// The latest remembered tick up to `tick`, and the earliest one from `tick` on; UINT64_MAX: none.
void orri_history_near(const orr_world* world, uint64_t tick, uint64_t* before, uint64_t* after);
// Remembers the current tick. Replaces a memory of the same tick. Errors are reported. (history.c)
orr_result orri_history_keep(orr_world* world, bool automatic);
// True if this memory was restored last and the world is unchanged since. (travel.c)
bool orri_history_is_current(orr_world* world, const orri_memory* memory);
// The memory that was restored last, also if it was forgotten since, while the world is unchanged;
// else NULL. (travel.c)
const orri_memory* orri_history_current(orr_world* world);
// Forgets `count` memories from index `first` on.
void orri_history_drop(orr_world* world, uint32_t first, uint32_t count);
// Forgets the base if it is of no use any more: the world left it, or has no later memory.
void orri_history_base_check(orr_world* world);
// Frees memories that were lost: an allocation failed when old values had to be copied for them.
void orri_history_sweep(orr_world* world);

// ---- hooks around a tick (retention.c) ----------------------------------------------------------

// A tick begins: forgets the memories of later ticks, which belong to an abandoned timeline. In
// real time it is called while systems run, so it touches no block of the world.
void orri_history_tick_begins(orr_world* world);
// A tick ended: remembers it if the settings say so, and forgets old memories.
void orri_history_tick_ended(orr_world* world);
// In real time: true if the world should be remembered after this tick, at a sync point. Called
// while systems run, so it touches no block of the world.
bool orri_history_tick_wanted(const orr_world* world);
// In real time, at a sync point: as orri_history_tick_ended(), unless the tick is already
// remembered.
void orri_history_sync_point(orr_world* world);

// Before a travel: remembers the changes made since the last tick ended under that tick, so that a
// later travel can return to them. Does nothing without `rules.recent`.
void orri_history_keep_now(orr_world* world);
// Bytes that memories use in addition to the world.
uint64_t orri_history_bytes(const orr_world* world);

#endif
