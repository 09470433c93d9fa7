// SPDX-License-Identifier: MIT
// Random real-time worlds (odd_kit.h) that remember by calls and by a window, forget, travel and
// fast-forward at sync points at random. Restored ticks equal the originals, systems find no fault,
// and a replay gives the same results.
#include "realtime/odd_world_kit.h"

#include <orrery/history.h>
#include <stdlib.h>

enum {
    WAYS_MOST = 64,
    WAY_MARKS = 32
};

// The actions of calls, in order; and the hashes of remembered ticks.
static struct {
    uint32_t asked;
    uint64_t seed;
    struct {
        uint64_t tick, hash;
    } marks[WAY_MARKS];
    uint64_t did[WAYS_MOST];
    uint32_t did_count, travels, aheads;
    bool stands;    // The world travelled to the tick `there`,
    uint64_t there; // and the remembered later ticks are still its future.
} ways;

static uint64_t* ways_mark(uint64_t tick, bool make)
{
    for (uint32_t i = 0; i < WAY_MARKS; i++) {
        if (ways.marks[i].hash != 0 && ways.marks[i].tick == tick) {
            return &ways.marks[i].hash;
        }
    }
    for (uint32_t i = 0; make && i < WAY_MARKS; i++) {
        if (ways.marks[i].hash == 0) {
            ways.marks[i].tick = tick;
            return &ways.marks[i].hash;
        }
    }
    return NULL;
}

static void ways_note(uint64_t did)
{
    if (ways.did_count < WAYS_MOST) {
        ways.did[ways.did_count++] = did;
    }
}

static void ways_remember(orr_world* world)
{
    ODD_CHECK(orr_remember(world) == ORR_OK, "%s", orr_error_last(world));
    uint64_t* hash = ways_mark(orr_world_tick(world), true);
    ODD_CHECK(hash != NULL, "too many marks");
    *hash = orr_world_hash(world);
    ways_note(*hash);
}

// A remembered tick has the hash it had. A tick remembered by the window is hashed here for the
// first time.
static void ways_check(orr_world* world)
{
    const uint64_t* hash = ways_mark(orr_world_tick(world), false);
    ODD_CHECK(hash == NULL || *hash == orr_world_hash(world), "tick %u differs",
              (unsigned)orr_world_tick(world));
    ODD_CHECK(orr_world_validate(world) == ORR_OK, "%s", orr_error_last(world));
    ways_note(orr_world_hash(world));
}

// Marks of later ticks belong to an abandoned timeline.
static void ways_left(uint64_t tick)
{
    for (uint32_t i = 0; i < WAY_MARKS; i++) {
        ways.marks[i].hash = ways.marks[i].tick > tick ? 0 : ways.marks[i].hash;
    }
    ways.stands = false;
}

// Travels back to one of the remembered ticks.
static void ways_back(orr_world* world, uint64_t dice)
{
    orr_history_stats stats;
    orr_history_stats_get(world, &stats);
    uint64_t last = orr_world_tick(world) < stats.tick_last ? orr_world_tick(world)
                                                            : stats.tick_last;
    uint64_t tick = stats.tick_first + dice % (last - stats.tick_first + 1);
    while (!orr_remembered(world, tick) && tick < last) {
        tick++;
    }
    if (!orr_remembered(world, tick)) {
        ODD_CHECK(orr_time_travel(world, tick) == ORR_ERR_PAST || tick == orr_world_tick(world),
                  "it was forgotten");
        return;
    }
    orr_result result = orr_time_travel(world, tick);
    ODD_CHECK(result == ORR_OK, "%s", orr_error_last(world));
    ODD_CHECK(orr_world_tick(world) == tick, "the travel ended at another tick");
    ways_check(world);
    ways.stands = true;
    ways.there = tick;
    ways.travels++;
}

// Travels forward by remembered ticks or by running ticks. A repeated tick gets a new mark.
static void ways_ahead(orr_world* world, uint64_t dice)
{
    uint64_t tick = orr_world_tick(world) + 1 + dice % 12;
    orr_history_stats before, after;
    orr_history_stats_get(world, &before);
    bool restored = ways.stands && orr_remembered(world, tick);
    if (!restored) {
        ways_left(orr_world_tick(world));
    }
    ODD_CHECK(orr_time_travel(world, tick) == ORR_OK, "%s", orr_error_last(world));
    ODD_CHECK(orr_world_tick(world) == tick, "the travel ended at another tick");
    orr_history_stats_get(world, &after);
    ODD_CHECK((after.ticks_run == before.ticks_run) == restored,
              "ticks ran to a remembered tick, or none to another");
    ways_check(world);
    ways.there = tick;
    ways.aheads++;
}

static void ways_forget(orr_world* world, uint64_t dice)
{
    uint64_t tick = orr_world_tick(world);
    uint64_t first = dice % (tick + 1), last = first + (dice >> 32) % (tick + 1);
    ways_note(orr_forget_range(world, first, last, 1 + (dice >> 16) % 3));
    for (uint32_t i = 0; i < WAY_MARKS; i++) {
        bool there = ways.marks[i].hash != 0 && orr_remembered(world, ways.marks[i].tick);
        ways.marks[i].hash = there ? ways.marks[i].hash : 0;
    }
}

static void ways_call(orr_world* world, void* data, size_t size)
{
    (void)size;
    uint64_t number, dice;
    memcpy(&number, data, sizeof number);
    dice = orr_random(ways.seed, number, 17, 0);
    orr_history_stats stats;
    orr_history_stats_get(world, &stats);
    if (ways.stands && orr_world_tick(world) != ways.there) {
        ways_left(ways.there); // Ticks ran.
    }
    if (stats.ticks == 0 || (dice % 8 < 3 && stats.ticks < WAY_MARKS)) {
        ways_remember(world);
    } else if (dice % 8 < 6) {
        ways_back(world, dice >> 8);
        for (uint32_t i = 0; i < (dice >> 40) % 3; i++) { // At once, or with ticks in between.
            ways_ahead(world, orr_random(dice, i, 0, 0));
        }
    } else if (dice % 8 < 7) {
        ways_ahead(world, dice >> 8);
    } else {
        ways_forget(world, dice >> 8);
    }
}

static void ways_post(orr_run* run)
{
    uint64_t number = ways.asked++;
    if (number % 3 == 2 && orr_running(run->world)) {
        (void)orr_post_exclusive(run->world, ways_call, &number, sizeof number);
    }
}

static orr_world* ways_begin(kit* k, const odd_desc* desc, uint64_t seed)
{
    memset(&ways, 0, sizeof ways);
    ways.seed = seed;
    kit_tokens_reset();
    *k = (kit){0};
    orr_world* world = odd_begin(k, desc);
    KIT_SYSTEM(world, .name = "ways", .once = true, .run = ways_post);
    CHECK_OK(orr_time_scale_set(world, 5));
    if (seed % 2 == 0) {
        CHECK_OK(orr_history_set(
            world,
            &(orr_history_desc){.recent = 10, .every = 16, .sync_every = (uint32_t)(seed % 5)}));
    }
    return world;
}

static void ways_run(const odd_desc* desc, uint64_t seed)
{
    kit k;
    uint64_t hash = 0, did[WAYS_MOST];
    orr_result first = ORR_OK; // Of the run that is recorded.
    uint32_t travels = 0, aheads = 0;
    orr_recording* recording = orr_recording_create();
    orr_realtime_desc record = {
        .ticks = desc->ticks != 0 ? desc->ticks : 60, .record = recording, .hashes = true};
    uint32_t runs = (desc->parts & ODD_UNRECORDED) == 0 ? 3 : 1;
    for (uint32_t i = 0; i < runs; i++) {
        orr_world* world = ways_begin(&k, desc, seed);
        orr_result result =
            orr_realtime(world, i == 0 ? &record : &(orr_realtime_desc){.replay = recording});
        first = i == 0 ? result : first;
        if (!test_ticks_ran(result) || result != first) {
            test_fail(__FILE__, __LINE__, "%s; %s", orr_error_last(world), k.errors.text);
        }
        CHECK_OK(orr_world_validate(world));
        if (strstr(k.errors.text, "is ending") != NULL) {
            k.errors = (kit_errors){0}; // Ticks run by the last call requested another call.
        }
        if (i == 0) {
            hash = orr_world_hash(world);
            travels = ways.travels;
            aheads = ways.aheads;
            memcpy(did, ways.did, sizeof did);
            CHECK(travels + aheads > 0);
        }
        CHECK(orr_world_hash(world) == hash);
        CHECK_EQ(ways.travels, travels);
        CHECK_EQ(ways.aheads, aheads);
        CHECK(memcmp(did, ways.did, sizeof did) == 0);
        odd_settle(world);
        odd_compare_mirror(world);
        odd_end(&k);
    }
    orr_recording_destroy(recording);
}

ORR_TEST(history_of_each_odd_part_replays)
{
    const char* only = getenv("ODD_PART");
    for (uint32_t i = 0; i < ODD_PARTS; i++) {
        uint64_t part = UINT64_C(1) << i;
        if (only != NULL && strcmp(only, odd_parts[i].name) != 0) {
            continue;
        }
        if (i % 3 == 0 && test_races()) {
            continue; // Without workers.
        }
        if (i % 2 == 0 && test_brief()) {
            continue;
        }
        printf("    %s\n", odd_parts[i].name);
        ways_run(&(odd_desc){.workers = i % 3, .parts = part}, i + 1);
    }
}

ORR_TEST(history_of_random_worlds_replays)
{
    uint64_t first = getenv("ODD_SEED") != NULL ? strtoull(getenv("ODD_SEED"), NULL, 10) : 1;
    uint64_t count = test_rounds(8, test_races() ? 2 : 4, 80);
    for (uint64_t seed = first; seed < first + count; seed++) {
        odd_desc desc = odd_by_chance(seed);
        ways_run(&desc, seed);
    }
}
