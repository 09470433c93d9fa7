// SPDX-License-Identifier: MIT
// The clock of real time. A pipeline that takes longer than its interval slows all pipelines down
// at once; the scale rises again by 0.05 per tick.
#include "schedule/tick/time_scale.h"

#define TIME_SCALE_JUMP_NS UINT64_C(250000000) // Of a jump of the wall clock.
#define TIME_SCALE_BACK    0.05                // How much the scale rises per tick.

void orri_time_scale_begin(orri_time_scale* clock, uint64_t wall_ns, uint64_t time_ns)
{
    *clock = (orri_time_scale){.wall_ns = wall_ns,
                               .time_ns = time_ns,
                               .jump_max_ns = TIME_SCALE_JUMP_NS,
                               .scale = 1,
                               .requested = 1};
}

void orri_time_scale_add_interval(orri_time_scale* clock, uint64_t interval_ns)
{
    clock->jump_max_ns = 2 * interval_ns > clock->jump_max_ns ? 2 * interval_ns
                                                              : clock->jump_max_ns;
}

// World nanoseconds per real nanosecond.
static double time_scale_rate(const orri_time_scale* clock)
{
    return clock->paused ? 0 : clock->scale * clock->requested;
}

void orri_time_scale_advance(orri_time_scale* clock, uint64_t wall_ns)
{
    uint64_t passed = wall_ns > clock->wall_ns ? wall_ns - clock->wall_ns : 0;
    passed = passed < clock->jump_max_ns ? passed : clock->jump_max_ns;
    clock->wall_ns = wall_ns;
    clock->real_ns += passed;
    double more = (double)passed * time_scale_rate(clock) + clock->fraction;
    uint64_t whole = (uint64_t)more;
    clock->time_ns += whole;
    clock->fraction = more - (double)whole;
}

uint64_t orri_time_scale_until(const orri_time_scale* clock, uint64_t due_ns)
{
    if (due_ns <= clock->time_ns) {
        return 0;
    }
    double rate = time_scale_rate(clock),
           left = (double)(due_ns - clock->time_ns) - clock->fraction;
    if (!(left < rate * 1e18)) {
        return UINT64_MAX;
    }
    double real = left / rate;
    uint64_t whole = (uint64_t)real;
    return whole + ((double)whole < real);
}

void orri_time_scale_set(orri_time_scale* clock, uint64_t wall_ns, double requested)
{
    orri_time_scale_advance(clock, wall_ns);
    clock->requested = requested;
}

void orri_time_scale_pause(orri_time_scale* clock, uint64_t wall_ns, bool on)
{
    orri_time_scale_advance(clock, wall_ns);
    clock->paused = on;
}

void orri_time_scale_measure(orri_time_scale_load* load, uint64_t last_ns)
{
    double last = (double)last_ns, slow = 0.9 * load->smoothed_ns + 0.1 * last;
    load->smoothed_ns = last > slow ? last : slow;
}

void orri_time_scale_update(orri_time_scale* clock, uint64_t wall_ns,
                            const orri_time_scale_load* const* loads, uint32_t count)
{
    orri_time_scale_advance(clock, wall_ns);
    // A requested scale of 2 halves the real time that there is for a tick.
    double target = 1, requested = clock->requested > 0 ? clock->requested : 1;
    for (uint32_t i = 0; i < count; i++) {
        double takes = loads[i]->smoothed_ns * requested, has = (double)loads[i]->interval_ns;
        if (takes > has && has / takes < target) {
            target = has / takes;
        }
    }
    double more = clock->scale + TIME_SCALE_BACK;
    clock->scale = target < more ? target : more;
}

uint64_t orri_time_scale_next(uint64_t time_ns, uint64_t due_ns, uint64_t interval_ns)
{
    uint64_t next = due_ns + interval_ns;
    if (time_ns >= next + interval_ns) {
        next += (time_ns - next) / interval_ns * interval_ns;
    }
    return next;
}

#undef TIME_SCALE_JUMP_NS
#undef TIME_SCALE_BACK
