// SPDX-License-Identifier: MIT
/// @file history.h
/// A world that can be wound back. Remembering shares what there is with the world, so it costs what changes afterwards, not
/// what exists. Going back restores everything that can be observed; going forward runs ticks.
///
///     orr_remember(world);                       // tick 100
///     orr_step(world, 50);
///     orr_time_travel(world, 100);               // as it was: values, ids, order, queues, random numbers
///     orr_time_travel(world, 150);               // runs 50 ticks: the same again
///
/// All calls, also those that only ask, are for between ticks, on the thread that drives the world; in real time for a meeting (orr_post_exclusive()). Of transient
/// types, spectators and everything else that is not in the hash nothing is remembered. See docs/HISTORY.md.
#ifndef ORRERY_HISTORY_H
#define ORRERY_HISTORY_H

#include <orrery/schedule.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Remembers the world as it is now, under its tick; what was remembered of that tick before is replaced. If memory runs out later, while the
/// world is changed, the change is done and the memory of this tick is lost (said in the log, counted in the stats).
/// ORR_ERR_MEMORY, ORR_ERR_CAPACITY (the budget), ORR_ERR_STATE (a system runs, a tick is half done): nothing is remembered, nothing else changes.
ORR_API orr_result orr_remember(orr_world* world);
/// True if the tick is remembered.
ORR_API bool orr_remembered(const orr_world* world, uint64_t tick);
/// The ticks that are remembered nearest to this one: the latest up to it, the earliest from it on. UINT64_MAX: there is none. (For a slider: in real time, and
/// with `every`, not all ticks are. Going to one ahead that is not runs ticks, which forgets all that was remembered ahead.)
ORR_API void orr_remembered_near(const orr_world* world, uint64_t tick, uint64_t* before,
                                 uint64_t* after);
/// Forgets one tick. ORR_ERR_PAST if it is not remembered.
ORR_API orr_result orr_forget(orr_world* world, uint64_t tick);
/// Forgets ticks `first` to `last`, but for those that `keep_every` divides; 0: all of them. @return how many were forgotten.
ORR_API uint32_t orr_forget_range(orr_world* world, uint64_t first, uint64_t last,
                                  uint64_t keep_every);

/// Makes the world as it was after tick `tick`. A remembered tick is restored: data, ids, order, ticks of changes, queues, states, random numbers,
/// due times. A tick that lies ahead is run to, by orr_step(), from the latest remembered one if that is nearer. Ids that were made later are
/// dead, until the same is run again, which makes the same. Spectators are told the difference. Later ticks stay remembered until a tick runs.
/// ORR_ERR_PAST: the tick is past and not remembered, or was lost; the nearest that are, are said. ORR_ERR_MEMORY, ORR_ERR_STATE: nothing happened. While
/// going forward as orr_step(). In real time, at a meeting, ticks that lie ahead are run there, by all pipelines but spectators; if one is left half done, or if what
/// pipelines see of each other cannot be made anew when the meeting ends, orr_realtime() ends with ORR_ERR_MEMORY.
ORR_API orr_result orr_time_travel(orr_world* world, uint64_t tick);
/// Counts the times the world was restored to a tick it remembers. Not state: it never goes back itself, and is in no hash.
ORR_API uint64_t orr_timeline(const orr_world* world);

/// What is remembered without being asked for. All 0: nothing. Ticks are the world's (orr_world_tick()), which counts those of all pipelines but spectators.
typedef struct orr_history_desc {
    uint32_t
        recent; ///< Each tick is remembered as it ends, so that the world can go back by so many ticks of the world;
    uint32_t every; ///< of those before, the first of each stretch of so many. 0: none.
    /// In real time: after each tick of the first pipeline that this divides, where all pipelines meet for it. 0: after each.
    uint32_t sync_every;
    /// What all memories may take together: over it, the oldest of these are forgotten, and orr_remember() is refused. 0: no limit.
    uint64_t bytes_max;
} orr_history_desc;
/// Begins with the tick that is now. What orr_remember() remembers is left alone. In real time pipelines meet for it, after ticks of the first one. In a world without
/// systems a tick ends when the next begins (orr_tick_advance()).
ORR_API orr_result orr_history_set(orr_world* world, const orr_history_desc* desc);

/// What history costs.
typedef struct orr_history_stats {
    uint32_t ticks;                 ///< Remembered now.
    uint64_t tick_first, tick_last; ///< The earliest and the latest; 0 if there is none.
    uint64_t
        bytes; ///< That memories alone keep: copies of what has changed since, and lists. What they share with the world is not counted.
    uint64_t bytes_shared; ///< What they hold and the world still has: copied when it changes.
    uint64_t remembered, forgotten; ///< Ever; forgotten by the rules and the budget.
    uint64_t
        lost; ///< Ticks whose memory was lost, or that could not be remembered by the rules, for want of memory.
    uint64_t travels;   ///< To remembered ticks.
    uint64_t ticks_run; ///< By going forward.
} orr_history_stats;
ORR_API void orr_history_stats_get(const orr_world* world, orr_history_stats* out);
/// Writes what is remembered and what it costs, as a table. As orr_value_print().
ORR_API size_t orr_history_print(const orr_world* world, char* out, size_t out_size);

#ifdef __cplusplus
}
#endif

#endif
