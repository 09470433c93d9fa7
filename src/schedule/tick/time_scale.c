// SPDX-License-Identifier: MIT
// How fast the world's time goes. The rules are those of the design: a pipeline that takes longer than its interval slows all of
// them down at once, and lets go again by a twentieth per tick.
#include "schedule/tick/time_scale.h"

#define TIME_SCALE_JUMP_NS UINT64_C(250000000)
#define TIME_SCALE_BACK    0.05

void orri_time_scale_begin(orri_time_scale* pace, uint64_t clock_ns, uint64_t time_ns)
{
    *pace = (orri_time_scale){.clock_ns = clock_ns,
                              .time_ns = time_ns,
                              .most_ns = TIME_SCALE_JUMP_NS,
                              .scale = 1,
                              .wish = 1};
}

void orri_time_scale_allow(orri_time_scale* pace, uint64_t interval_ns)
{
    pace->most_ns = 2 * interval_ns > pace->most_ns ? 2 * interval_ns : pace->most_ns;
}

static double time_scale_rate(const orri_time_scale* pace)
{
    return pace->paused ? 0 : pace->scale * pace->wish;
}

void orri_time_scale_look(orri_time_scale* pace, uint64_t clock_ns)
{
    uint64_t passed = clock_ns > pace->clock_ns ? clock_ns - pace->clock_ns : 0;
    passed = passed < pace->most_ns ? passed : pace->most_ns;
    pace->clock_ns = clock_ns;
    pace->real_ns += passed;
    double more = (double)passed * time_scale_rate(pace) + pace->rest;
    uint64_t whole = (uint64_t)more;
    pace->time_ns += whole;
    pace->rest = more - (double)whole;
}

uint64_t orri_time_scale_until(const orri_time_scale* pace, uint64_t due_ns)
{
    if (due_ns <= pace->time_ns) {
        return 0;
    }
    double rate = time_scale_rate(pace), left = (double)(due_ns - pace->time_ns) - pace->rest;
    if (!(left < rate * 1e18)) {
        return UINT64_MAX;
    }
    double real = left / rate;
    uint64_t whole = (uint64_t)real;
    return whole + ((double)whole < real);
}

void orri_time_scale_set(orri_time_scale* pace, uint64_t clock_ns, double wish)
{
    orri_time_scale_look(pace, clock_ns);
    pace->wish = wish;
}

void orri_time_scale_pause(orri_time_scale* pace, uint64_t clock_ns, bool on)
{
    orri_time_scale_look(pace, clock_ns);
    pace->paused = on;
}

void orri_time_scale_note(orri_time_scale_own* own, uint64_t last_ns)
{
    double last = (double)last_ns, slow = 0.9 * own->smoothed_ns + 0.1 * last;
    own->smoothed_ns = last > slow ? last : slow;
}

void orri_time_scale_now(orri_time_scale* pace, uint64_t clock_ns,
                         const orri_time_scale_own* const* owns, uint32_t count)
{
    orri_time_scale_look(pace, clock_ns);
    // Who wishes for twice the speed halves the time there is for a tick.
    double target = 1, wish = pace->wish > 0 ? pace->wish : 1;
    for (uint32_t i = 0; i < count; i++) {
        double takes = owns[i]->smoothed_ns * wish, has = (double)owns[i]->interval_ns;
        if (takes > has && has / takes < target) {
            target = has / takes;
        }
    }
    double more = pace->scale + TIME_SCALE_BACK;
    pace->scale = target < more ? target : more;
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
