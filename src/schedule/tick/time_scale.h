// SPDX-License-Identifier: MIT
// The clock that pipelines share in real time: the wall clock, slowed down when a pipeline cannot
// keep its interval, scaled as the user requests, and standing still while paused. Nothing here
// waits or knows of threads: the caller holds a lock.
//
//   world time += real time * scale * requested
//   tick N of a pipeline is due at start + N intervals
#ifndef ORRI_SCHEDULE_TICK_TIME_SCALE_H
#define ORRI_SCHEDULE_TICK_TIME_SCALE_H

#include <orrery/base.h>
#include <stdbool.h>
#include <stdint.h>

// The clock.
typedef struct orri_time_scale {
    uint64_t wall_ns;     // The wall clock at the last advance.
    uint64_t time_ns;     // World time.
    uint64_t real_ns;     // Real time since the beginning, without jumps of the wall clock.
    uint64_t jump_max_ns; // At most this much of one advance counts.
    double fraction;      // Part of a nanosecond of world time not in time_ns yet.
    double scale;         // 0 to 1: how much late pipelines slow all of them down.
    double requested;     // The user's time scale; 1: normal speed, 0: time stands.
    bool paused;
} orri_time_scale;

// How a pipeline with a rate keeps up.
typedef struct orri_time_scale_load {
    uint64_t interval_ns;
    double smoothed_ns; // Smoothed duration of its ticks; 0: none ran.
} orri_time_scale_load;

// World time is `time_ns` when the wall clock is `wall_ns`.
void orri_time_scale_begin(orri_time_scale* clock, uint64_t wall_ns, uint64_t time_ns);
// Adds a pipeline: at least two of its intervals count of one advance, so that a slow pipeline is
// not cut short.
void orri_time_scale_add_interval(orri_time_scale* clock, uint64_t interval_ns);
// Advances world time to the wall clock. A clock that goes back counts as standing still. Of a jump
// ahead, at most 250 ms count, or two intervals of the slowest pipeline: the machine slept.
void orri_time_scale_advance(orri_time_scale* clock, uint64_t wall_ns);
// Real nanoseconds from the last advance until world time is `due_ns`, rounded up; 0: it is due.
// UINT64_MAX: never at the present rate (paused, or scale 0).
uint64_t orri_time_scale_until(const orri_time_scale* clock, uint64_t due_ns);
// The user's requests. Time up to `wall_ns` counts by the old setting.
void orri_time_scale_set(orri_time_scale* clock, uint64_t wall_ns, double requested);
void orri_time_scale_pause(orri_time_scale* clock, uint64_t wall_ns, bool on);

// A tick of a pipeline with a rate took `last_ns` of real time.
void orri_time_scale_measure(orri_time_scale_load* load, uint64_t last_ns);
// Finds the scale again, from the loads of all pipelines with a rate: falls at once, rises by 0.05
// per call.
void orri_time_scale_update(orri_time_scale* clock, uint64_t wall_ns,
                            const orri_time_scale_load* const* loads, uint32_t count);
// When the next tick is due, after a tick that was due at `due_ns` and ended at world time
// `time_ns`: one interval later. A pipeline that is late by more than one tick drops the ticks
// before, so it catches up by at most one.
uint64_t orri_time_scale_next(uint64_t time_ns, uint64_t due_ns, uint64_t interval_ns);

#endif
