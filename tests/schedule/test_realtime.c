// SPDX-License-Identifier: MIT
// Pipelines at the same time: what each sees of the others, calls from outside, pauses, recordings.
#include "scenarios/clocks.h"
#include "schedule/system_kit.h"

typedef struct three {
    kit k;
    clocks c;
} three;

static orr_world* three_begin(three* t, uint32_t workers, const clocks_desc* desc)
{
    *t = (three){0};
    orr_world* world =
        kit_begin(&t->k, &(orr_world_desc){.rate_hz = CLOCKS_LOGIC_HZ, .workers = workers});
    orr_police_set(world, ORR_POLICE_CALLS);
    if (!clocks_build(&t->c, world, desc)) {
        test_fail(__FILE__, __LINE__, "clocks was refused: %s", orr_error_last(world));
    }
    return world;
}

static void three_end(three* t)
{
    for (uint32_t i = 0; i < CLOCKS_FAULTS; i++) {
        if (t->c.found[i] != 0) {
            test_fail(__FILE__, __LINE__, "%llu faults: %s", (unsigned long long)t->c.found[i],
                      clocks_fault_name((clocks_fault)i));
        }
    }
    CHECK_STR(t->k.errors.text, "");
    kit_end(&t->k);
}

ORR_TEST(realtime_clocks_without_a_fault)
{
    three t;
    orr_world* world = three_begin(&t, 0, &(clocks_desc){.size = 2000});
    CHECK_OK(orr_time_wish(world, 10));
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 100}));
    printf("    moved %llu looked %llu drawn %llu born %llu kicks %llu hits %llu heard %llu\n",
           (unsigned long long)t.c.moved, (unsigned long long)t.c.looked,
           (unsigned long long)t.c.drawn, (unsigned long long)t.c.born,
           (unsigned long long)t.c.kicks, (unsigned long long)t.c.hits,
           (unsigned long long)t.c.heard);
    three_end(&t);
}

ORR_TEST(realtime_replay_comes_to_the_same)
{
    three t;
    orr_recording* recording = orr_recording_create();
    orr_world* world = three_begin(&t, 0, &(clocks_desc){.size = 500});
    CHECK_OK(orr_time_wish(world, 10));
    CHECK_OK(orr_realtime(world,
                          &(orr_realtime_desc){.ticks = 60, .record = recording, .hashes = true}));
    uint64_t hash = orr_world_hash(world);
    three_end(&t);
    orr_recording_stats stats;
    orr_recording_stats_get(recording, &stats);
    printf("    %llu ticks, %llu bytes\n", (unsigned long long)stats.ticks,
           (unsigned long long)stats.bytes);
    for (uint32_t i = 0; i < 3; i++) {
        world = three_begin(&t, 0, &(clocks_desc){.size = 500});
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.replay = recording}));
        CHECK(orr_world_hash(world) == hash);
        three_end(&t);
    }
    orr_recording_destroy(recording);
}
