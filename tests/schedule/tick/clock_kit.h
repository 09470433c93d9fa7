// SPDX-License-Identifier: MIT
// A world with a clock of the test and a system that notes its ticks.
#ifndef TEST_CLOCK_KIT_H
#define TEST_CLOCK_KIT_H

#include "schedule/schedule_kit.h"
#include "support/fake_platform.h"

typedef struct clocked {
    kit k;
    fake_platform fake;
    orr_world* world;
    uint32_t ticks;
    float dt;
    uint64_t pause_at; // The tick in which the system pauses the world.
} clocked;

ORR_MAYBE_UNUSED static clocked at;

ORR_MAYBE_UNUSED static void note_tick(orr_run* run)
{
    at.ticks++;
    at.dt = run->dt;
    if (run->tick == at.pause_at) {
        orr_pause(run->world, true);
    }
}

ORR_MAYBE_UNUSED static orr_world* begin(double rate_hz)
{
    memset(&at, 0, sizeof at);
    fake_platform_init(&at.fake);
    at.world = kit_begin(&at.k, &(orr_world_desc){.rate_hz = rate_hz, .platform = &at.fake.table});
    ORR_REGISTER(at.world, Position, Velocity, Health, Frozen, Hidden);
    KIT_SYSTEM(at.world, .name = "note", .once = true, .by_id = "Position", .run = note_tick);
    return at.world;
}

ORR_MAYBE_UNUSED static void end(void)
{
    CHECK_EQ(at.k.errors.count, 0);
    kit_end(&at.k);
}

// The ticks since the last call.
ORR_MAYBE_UNUSED static uint32_t ticks(void)
{
    uint32_t count = at.ticks;
    at.ticks = 0;
    return count;
}

#define MS 1000000u

#endif
