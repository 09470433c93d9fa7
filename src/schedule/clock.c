// SPDX-License-Identifier: MIT
// How long things take: of systems in some ticks, or all; of everything for a trace.
#include "schedule/schedule.h"
#include <stdio.h>

static uint64_t clock_now(const orr_world* world)
{
    return world->env.platform->clock_ns(world->env.platform->user);
}

void orri_time_begin(orr_world* world)
{
    if (ORR_UNLIKELY(world->schedule->timed)) {
        world->schedule->clock_ns = clock_now(world);
    }
}

// Since the last beginning or ending: what follows begins here.
void orri_time_end(orr_world* world, orri_system* system, const char* name, const char* category)
{
    struct orri_schedule* schedule = world->schedule;
    if (ORR_LIKELY(!schedule->timed)) {
        return;
    }
    uint64_t now = clock_now(world), then = schedule->clock_ns;
    schedule->clock_ns = now;
    if (system != NULL) {
        uint64_t spent = now > then ? now - then : 0;
        system->stats.timed_ticks++;
        system->stats.time_ns += spent;
        system->stats.time_max_ns = spent > system->stats.time_max_ns ? spent
                                                                      : system->stats.time_max_ns;
    }
    if (schedule->trace != NULL) {
        char args[96];
        uint64_t rows = system != NULL ? system->stats.rows - schedule->rows_before : 0;
        snprintf(args, sizeof args, "\"tick\": %llu%s%.0llu", (unsigned long long)world->tick,
                 rows > 0 ? ", \"rows\": " : "", (unsigned long long)rows);
        orri_trace_span(schedule->trace, name, category, 0, then, now, args);
    }
}
