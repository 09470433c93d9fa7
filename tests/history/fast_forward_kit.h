// SPDX-License-Identifier: MIT
// Shared by the tests of fast-forward in real time: the ticks a world went to, and its hashes
// there.
#ifndef TEST_FAR_KIT_H
#define TEST_FAR_KIT_H

#include "history/everything_kit.h"

enum {
    FAR = 60, // Ticks of the world.
    MARKS = 256
};

static struct {
    uint64_t hashes[MARKS]; // By tick of the world.
    uint64_t tick, run;     // The tick it reached; ticks run on the way.
    uint32_t calls;
    bool again; // In one call.
    kit* kit;
    bool every; // A sync point after every tick, not only after remembered ones.
} far;

ORR_MAYBE_UNUSED static void far_check(orr_world* world, uint64_t tick)
{
    HARD_CHECK(orr_world_tick(world) == tick, "it is tick %u, not %u",
               (unsigned)orr_world_tick(world), (unsigned)tick);
    HARD_CHECK(orr_world_validate(world) == ORR_OK, "%s", orr_error_last(world));
}

ORR_MAYBE_UNUSED static void far_go(orr_world* world, uint64_t tick)
{
    HARD_CHECK(orr_time_travel(world, tick) == ORR_OK, "%s", orr_error_last(world));
    far_check(world, tick);
}

// The results of calls are equal in a replay.
static uint64_t far_hashes[MARKS];

ORR_MAYBE_UNUSED static void far_same(orr_world* world, bool replays)
{
    (void)world;
    CHECK(far.calls >= 3);
    if (!replays) {
        memcpy(far_hashes, far.hashes, sizeof far_hashes);
    }
    CHECK(memcmp(far_hashes, far.hashes, sizeof far_hashes) == 0);
}

#endif
