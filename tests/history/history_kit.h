// SPDX-License-Identifier: MIT
// A world whose rows increase by 1 in each tick, for the history tests.
#ifndef TEST_HISTORY_KIT_H
#define TEST_HISTORY_KIT_H

#include "schedule/system_kit.h"
#include <orrery/history.h>

ORR_MAYBE_UNUSED static void go(orr_run* run)
{
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += 1;
    }
}

static orr_entity first;

// With one row, `first`.
ORR_MAYBE_UNUSED static orr_world* begin_going(kit* k)
{
    orr_world* world = begin(k);
    first = make(world, 0);
    KIT_SYSTEM(world, .name = "go", .query = "write Position", .run = go);
    return world;
}

ORR_MAYBE_UNUSED static float x_of(orr_world* world, orr_entity entity)
{
    return orr_get(world, entity, Position)->x;
}

ORR_MAYBE_UNUSED static orr_history_stats stats_of(const orr_world* world)
{
    orr_history_stats stats;
    orr_history_stats_get(world, &stats);
    return stats;
}

#endif
