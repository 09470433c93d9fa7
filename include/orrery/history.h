// SPDX-License-Identifier: MIT
/// @file history.h
/// History: remembers a world at a tick, and restores it later. A remembered tick shares its memory
/// with the world: its cost grows with the changes made afterwards, not with the size of the world.
/// Travelling back restores the whole state of the world. Travelling forward runs ticks.
///
///     orr_remember(world);         // tick 100
///     orr_step(world, 50);
///     orr_time_travel(world, 100); // restores values, ids, order, queues, random numbers
///     orr_time_travel(world, 150); // runs 50 ticks, with the same results as before
///
/// Call all functions of this header, also those that only read, between ticks, on the thread that
/// drives the world. In real time call them in a function posted with orr_post_exclusive(). Data
/// that is not in the world's hash is not remembered: transient types and spectators. See
/// docs/HISTORY.md.
#ifndef ORRERY_HISTORY_H
#define ORRERY_HISTORY_H

#include <orrery/schedule.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Remembers the world as it is now, under its current tick (orr_world_tick()). Replaces an earlier
/// snapshot of that tick. If memory runs out later, when the world changes and old values must be
/// copied, the change is made and this remembered tick is lost (logged, and counted in
/// orr_history_stats.lost). Allocates.
/// @return ORR_ERR_MEMORY; ORR_ERR_CAPACITY if orr_history_desc.bytes_max is exceeded;
/// ORR_ERR_STATE if a system runs or a tick is half done. On error nothing is remembered and
/// nothing else changes.
ORR_API_HISTORY orr_result orr_remember(orr_world* world);
/// True if the tick is remembered.
ORR_API_HISTORY bool orr_remembered(const orr_world* world, uint64_t tick);
/// Finds the remembered ticks nearest to `tick`: `*before` gets the latest one up to `tick`,
/// `*after` the earliest one from `tick` on; UINT64_MAX if there is none. For a time slider: in
/// real time, and with orr_history_desc.every, not all ticks are remembered. Travelling to a later
/// tick that is not remembered runs ticks, which forgets all later remembered ticks.
ORR_API_HISTORY void orr_remembered_near(const orr_world* world, uint64_t tick, uint64_t* before,
                                         uint64_t* after);
/// Forgets one tick. @return ORR_ERR_PAST if the tick is not remembered.
ORR_API_HISTORY orr_result orr_forget(orr_world* world, uint64_t tick);
/// Forgets ticks `first` to `last`, except multiples of `keep_every`; with `keep_every` 0 all of
/// them.
/// @return the number of ticks forgotten.
ORR_API_HISTORY uint32_t orr_forget_range(orr_world* world, uint64_t first, uint64_t last,
                                          uint64_t keep_every);

/// Brings the world to the state after tick `tick`.
///
/// A remembered tick is restored: values, ids, row order, change ticks, queues, states of systems,
/// random numbers, due times of pipelines. Entities created later are dead; running the same ticks
/// again creates them again with the same ids. Later ticks stay remembered until a tick runs.
///
/// A tick ahead is reached by running ticks as orr_step() does, at most UINT32_MAX of them. If the
/// world is unchanged since it travelled back, and ticks ahead are still remembered, the latest of
/// them up to `tick` is restored first.
///
/// Spectators, and indirect systems with a `user` pointer and without `state` and `exports`,
/// receive the differences as messages, with the cause ORR_CAUSE_TRAVEL.
///
/// In real time, ticks ahead are run at the sync point, by all pipelines except spectators. If such
/// a tick is left half done, or if the published values cannot be rebuilt at the end of the sync
/// point, orr_realtime() ends with ORR_ERR_MEMORY.
/// @return ORR_ERR_PAST if the tick is past and not remembered, or was lost because memory ran out;
/// the log names the nearest remembered ticks. ORR_ERR_CONFLICT if a system or pipeline was added
/// or removed since; the log names it. ORR_ERR_ARGUMENT if the tick is more than UINT32_MAX ticks
/// ahead. ORR_ERR_MEMORY, ORR_ERR_STATE. On all of these errors nothing changed. Errors of ticks
/// that run are as orr_step(): of mistakes inside systems the first is returned, and all ticks run.
/// Allocates.
///
/// If memory runs out after the world was restored, when readers are notified, the travel is made
/// all the same: the result is ORR_OK, and the log has a warning (TRAVEL_PENDING). Readers are then
/// notified before the next tick, and before the next call that changes the world. While there is
/// no memory for that, such calls (orr_step(), orr_set(), orr_edit(), orr_create(), loops that
/// write, orr_remember(), orr_time_travel() and so on) are refused with ORR_ERR_MEMORY, or null,
/// without effect; calls that read are not. In real time orr_realtime() ends with ORR_ERR_MEMORY
/// after the posted calls.
ORR_API_HISTORY orr_result orr_time_travel(orr_world* world, uint64_t tick);
/// Number of times the world was restored to a remembered tick. Not part of the world's state: it
/// is never restored itself, and in no hash.
ORR_API_HISTORY uint64_t orr_timeline(const orr_world* world);

/// Which ticks are remembered automatically. All zero: none. Ticks are the world's
/// (orr_world_tick()), which counts the ticks of all pipelines except spectators.
typedef struct orr_history_desc {
    /// Number of most recent ticks kept: the world can travel back by this many ticks. Default 0:
    /// none.
    uint32_t recent;
    /// Of older ticks, the first remembered one of each interval of this many ticks is kept.
    /// Default 0: none.
    uint32_t every;
    /// In real time: after how many ticks of the first pipeline all pipelines stop at a sync point,
    /// at which the world is remembered. Default 0: after each tick.
    uint32_t sync_every;
    /// Limit of bytes of all remembered ticks together. Above it, the oldest automatically
    /// remembered ticks are forgotten, and orr_remember() is refused. Default 0: no limit.
    uint64_t bytes_max;
} orr_history_desc;
/// Sets which ticks are remembered automatically, beginning with the current tick. Each tick is
/// remembered when it ends; in a world without systems a tick ends when the next one begins
/// (orr_tick_advance()). Ticks remembered by orr_remember() are never forgotten by these settings.
/// Allocates.
/// @return ORR_ERR_MEMORY; ORR_ERR_ARGUMENT if `desc` is NULL; ORR_ERR_STATE if a system runs or a
/// tick is half done. On error the settings and the remembered ticks are as before.
ORR_API_HISTORY orr_result orr_history_set(orr_world* world, const orr_history_desc* desc);

/// Content and cost of a world's history.
typedef struct orr_history_stats {
    uint32_t ticks;                 ///< Number of ticks remembered now.
    uint64_t tick_first, tick_last; ///< The earliest and the latest of them; 0 if there is none.
    /// Bytes that only remembered ticks use: copies of old values, and bookkeeping. Memory shared
    /// with the world is not counted.
    uint64_t bytes;
    uint64_t bytes_shared; ///< Bytes shared with the world; they are copied when the world changes.
    /// Since the world began: how often a tick was remembered, and how many ticks were forgotten by
    /// the settings of orr_history_set().
    uint64_t remembered, forgotten;
    uint64_t lost; ///< Ticks lost, or not remembered by orr_history_set(), because memory ran out.
    uint64_t travels;   ///< Number of times a remembered tick was restored.
    uint64_t ticks_run; ///< Ticks run by travelling forward.
} orr_history_stats;
/// Gets the statistics of a world's history. All zero if there is none.
ORR_API_HISTORY void orr_history_stats_get(const orr_world* world, orr_history_stats* out);
/// Writes the statistics as a table. Buffer and result as orr_value_print().
ORR_API_HISTORY size_t orr_history_print(const orr_world* world, char* out, size_t out_size);

#ifdef __cplusplus
}
#endif

#endif
