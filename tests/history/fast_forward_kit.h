// SPDX-License-Identifier: MIT
// Shared by the tests of fast-forward in real time: the ticks a world went to, and its hashes
// there.
#ifndef TEST_FAST_FORWARD_KIT_H
#define TEST_FAST_FORWARD_KIT_H

#include "history/everything_kit.h"

enum {
    FORWARD_TICK = 60, // The tick of the world to go to.
    MARKS = 256
};

static struct {
    uint64_t hashes[MARKS]; // By tick of the world.
    uint64_t tick, run;     // The tick it reached; ticks run on the way.
    uint32_t calls;
    bool again; // Goes forward and back several times in one call.
    kit* kit;
    bool every; // A sync point after every tick, not only after remembered ones.
} forward;

ORR_MAYBE_UNUSED static void forward_check(orr_world* world, uint64_t tick)
{
    HARD_CHECK(orr_world_tick(world) == tick, "it is tick %u, not %u",
               (unsigned)orr_world_tick(world), (unsigned)tick);
    HARD_CHECK(orr_world_validate(world) == ORR_OK, "%s", orr_error_last(world));
}

ORR_MAYBE_UNUSED static void forward_go(orr_world* world, uint64_t tick)
{
    HARD_CHECK(orr_time_travel(world, tick) == ORR_OK, "%s", orr_error_last(world));
    forward_check(world, tick);
}

// The results of calls are equal in a replay.
static uint64_t forward_hashes[MARKS];

ORR_MAYBE_UNUSED static void forward_same(orr_world* world, bool replays)
{
    (void)world;
    CHECK(forward.calls >= 3);
    if (!replays) {
        memcpy(forward_hashes, forward.hashes, sizeof forward_hashes);
    }
    CHECK(memcmp(forward_hashes, forward.hashes, sizeof forward_hashes) == 0);
}

#endif
