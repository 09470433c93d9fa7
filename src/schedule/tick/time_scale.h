// SPDX-License-Identifier: MIT
// The clock that pipelines share while they run by themselves: real time, made slower when a pipeline cannot keep its interval, faster or slower
// as the user requests, and standing still while paused. Nothing here waits, or knows of threads: who uses it holds a lock.
//
//   real time ──× scale × wish──> time of the world ──> tick N of a pipeline is due at start + N intervals
#ifndef ORRI_SCHEDULE_TICK_TIME_SCALE_H
#define ORRI_SCHEDULE_TICK_TIME_SCALE_H

#include <orrery/base.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct orri_time_scale {
    uint64_t wall_ns;     // Real time, when it was looked at last.
    uint64_t time_ns;     // Of the world.
    uint64_t real_ns;     // Real time since the beginning, as far as it counts.
    uint64_t jump_max_ns; // What counts of a jump ahead.
    double fraction;      // Less than a nanosecond of it.
    double scale;         // 0 to 1: how far pipelines that are late slow all of them down.
    double requested;     // The user's; 1: as it is.
    bool paused;
} orri_time_scale;

// How a fixed pipeline keeps up.
typedef struct orri_time_scale_load {
    uint64_t interval_ns;
    double smoothed_ns; // What its ticks take; 0: none ran.
} orri_time_scale_load;

void orri_time_scale_begin(orri_time_scale* clock, uint64_t wall_ns, uint64_t time_ns);
// A pipeline with this interval belongs to it: longer than twice the slowest nobody needs to go unlooked at.
void orri_time_scale_add_interval(orri_time_scale* clock, uint64_t interval_ns);
// Time goes on to this moment. A clock that goes back counts as one that stands; of a jump ahead counts a quarter of a second, or two
// intervals of the slowest: the machine slept.
void orri_time_scale_advance(orri_time_scale* clock, uint64_t wall_ns);
// How long until the world's time is `due_ns`, in real nanoseconds from the last look, rounded up; 0: it is. UINT64_MAX: not as things
// are, it is paused or wished to stand.
uint64_t orri_time_scale_until(const orri_time_scale* clock, uint64_t due_ns);
// For the user. Time up to this moment counts by what was wished before.
void orri_time_scale_set(orri_time_scale* clock, uint64_t wall_ns, double requested);
void orri_time_scale_pause(orri_time_scale* clock, uint64_t wall_ns, bool on);

// A tick of a fixed pipeline ended that took `last_ns` of real time: notes it,
void orri_time_scale_measure(orri_time_scale_load* load, uint64_t last_ns);
// and finds the scale anew, from all fixed pipelines.
void orri_time_scale_update(orri_time_scale* clock, uint64_t wall_ns,
                            const orri_time_scale_load* const* loads, uint32_t count);
// When a tick that ended at the world's time `time_ns` and was due at `due_ns` is followed by the next: an interval later; but whoever is behind by
// more than one tick gives up those before, so that he catches up by at most one.
uint64_t orri_time_scale_next(uint64_t time_ns, uint64_t due_ns, uint64_t interval_ns);

#endif
