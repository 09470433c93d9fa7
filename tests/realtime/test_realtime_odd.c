// SPDX-License-Identifier: MIT
// Real time with worlds of every kind, made of parts (odd_kit.h). Each part runs alone and with
// others, with and without workers, with and without access checks, and with memory that fails.
// Every run is recorded, and its replay has the recorded hash.
#include "realtime/odd_world_kit.h"

#include <stdlib.h>

// ---- runs ---------------------------------------------------------------------------------------

static void odd_run(const odd_desc* desc)
{
    kit k = {0};
    orr_recording* recording = orr_recording_create();
    uint32_t ticks = desc->ticks != 0 ? desc->ticks : 30;
    kit_tokens_reset();
    orr_world* world = odd_begin(&k, desc);
    CHECK_OK(orr_time_scale_set(world, 5));
    orr_result result = orr_realtime(
        world, &(orr_realtime_desc){.ticks = ticks, .record = recording, .hashes = true});
    CHECK(test_ticks_ran(result));
    CHECK_OK(orr_world_validate(world));
    uint64_t hash = orr_world_hash(world);
    orr_system mirror = orr_system_find(world, "leaf_mirror");
    if (mirror.id != 0 && desc->ticks == 0) { // In a short run it may not get a tick.
        CHECK(((const Mirror*)orr_system_state(world, mirror))->changes_received > 0);
    }
    odd_settle(world);
    odd_count_gold(world);
    odd_compare_mirror(world);
    odd_end(&k);
    for (uint32_t i = 0; i < 2 && (desc->parts & ODD_UNRECORDED) == 0; i++) {
        kit_tokens_reset();
        k = (kit){0};
        world = odd_begin(&k, desc);
        CHECK_RESULT(orr_realtime(world, &(orr_realtime_desc){.replay = recording}), result);
        CHECK(orr_world_hash(world) == hash);
        odd_end(&k);
    }
    orr_recording_destroy(recording);
}

ORR_TEST(realtime_odd_parts_alone_replay)
{
    const char* only = getenv("ODD_PART");
    for (uint32_t i = 0; i < ODD_PARTS; i++) {
        if (only != NULL && strcmp(only, odd_parts[i].name) != 0) {
            continue;
        }
        if (test_brief() && i % 2 == 0) {
            continue; // Two workers: the same as in realtime_odd_parts_with_access_checks_replay.
        }
        bool few = test_slow() && !test_long();
        uint32_t least = few ? i % 2 * 2 + 2 : 0, most = few ? least : 4;
        for (uint32_t workers = least; workers <= most; workers += 2) {
            printf("    %s, %u workers\n", odd_parts[i].name, workers);
            odd_run(&(odd_desc){.workers = workers, .parts = UINT64_C(1) << i});
        }
    }
}

// ORR_ACCESS_CHECK_FULL runs everything on the calling thread.
ORR_TEST(realtime_odd_parts_with_access_checks_replay)
{
    orr_access_check most = test_races() ? ORR_ACCESS_CHECK_OFF : ORR_ACCESS_CHECK_FULL;
    for (uint32_t i = 0; i < ODD_PARTS; i++) {
        for (orr_access_check audit = ORR_ACCESS_CHECK_OFF; audit <= most; audit += 2) {
            printf("    %s, access checks %u\n", odd_parts[i].name, (unsigned)audit);
            odd_run(&(odd_desc){.workers = 2, .parts = UINT64_C(1) << i, .audit = audit});
        }
    }
}

ORR_TEST(realtime_all_odd_parts_with_trace_and_journal_replay)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/orr_test_realtime_odd_%llu.json",
             (unsigned long long)orr_platform_default()->clock_ns(NULL));
    odd_run(&(odd_desc){.workers = 2,
                        .parts = (UINT64_C(1) << ODD_PARTS) - 1,
                        .ticks = test_brief() ? 10 : 0,
                        .journal = true,
                        .trace = path});
    CHECK_EQ(remove(path), 0);
}

ORR_TEST(realtime_pairs_of_odd_parts_replay)
{
    // Each part with its neighbours; with --long each with all.
    uint32_t most = test_long() ? UINT32_MAX : test_brief() ? 1 : test_slow() ? 2 : 6;
    for (uint32_t i = 0; i < ODD_PARTS; i++) {
        for (uint32_t k = i > most ? i - most : 0; k < i; k++) {
            odd_desc desc = {.workers = (i + k) % 3 * 2,
                             .parts = UINT64_C(1) << i | UINT64_C(1) << k,
                             .ticks = 10};
            printf("    %s, %s\n", odd_parts[i].name, odd_parts[k].name);
            odd_run(&desc);
        }
    }
}

ORR_TEST(realtime_random_odd_worlds_replay)
{
    uint64_t first = getenv("ODD_SEED") != NULL ? strtoull(getenv("ODD_SEED"), NULL, 10) : 1;
    uint64_t count = getenv("ODD_SEEDS") != NULL ? strtoull(getenv("ODD_SEEDS"), NULL, 10)
                     : test_brief()              ? 2
                     : test_races()              ? 3
                     : test_slow()               ? 5
                                                 : 12;
    for (uint64_t seed = first; seed < first + count; seed++) {
        odd_desc desc = odd_by_chance(seed);
        odd_run(&desc);
    }
}

// Whichever allocation is refused, the world stays whole and continues. Faults do not count here:
// what a system sent or created may be missing.
static uint64_t odd_memory(const odd_desc* desc, uint64_t n, bool for_good)
{
    kit k = {0};
    kit_tokens_reset();
    orr_world* world = odd_begin(&k, desc);
    CHECK_OK(orr_time_scale_set(world, 5));
    failing_alloc_arm(&k.memory, n, for_good);
    orr_result result = orr_realtime(world, &(orr_realtime_desc){.ticks = 3});
    uint64_t refused = k.memory.refused;
    failing_alloc_arm(&k.memory, 0, false);
    CHECK(test_ticks_ran(result) || result == ORR_ERR_MEMORY);
    for (uint32_t i = 0; n % 2 == 0 && i < 8; i++) {
        result = orr_step(world, 1);
        if (!test_ticks_ran(result) && !(i < 7 && result == ORR_ERR_MEMORY)) {
            test_fail(__FILE__, __LINE__, "%s", orr_error_last(world));
        }
    }
    result = kit_realtime_recover(world, 3);
    if (!test_ticks_ran(result)) {
        test_fail(__FILE__, __LINE__, "after allocation %llu: %s", (unsigned long long)n,
                  orr_error_last(world));
    }
    CHECK_OK(orr_world_validate(world));
    k.errors = (kit_errors){0};
    atomic_store(&odd_faults, 0);
    odd_end(&k);
    return refused;
}

ORR_TEST(realtime_odd_parts_with_refused_memory_stay_whole)
{
    const char* say = getenv("ODD_SAY");
    uint64_t from = getenv("ODD_FROM") != NULL ? strtoull(getenv("ODD_FROM"), NULL, 10) : 1;
    uint64_t step = getenv("ODD_STEP") != NULL ? strtoull(getenv("ODD_STEP"), NULL, 10)
                    : test_slow()              ? 263
                                               : 23;
    for (uint32_t i = 0; i <= ODD_PARTS; i++) {
        odd_desc desc = {.workers = i % 3, .parts = UINT64_C(1) << i};
        if (i == ODD_PARTS) {
            desc.parts = (UINT64_C(1) << ODD_PARTS) - 1;
        }
        if (test_races() && !test_long() && i % 3 != 0) {
            continue;
        }
        uint64_t refused = 1;
        for (uint64_t n = from; refused > 0; n += step) {
            if (say != NULL) {
                printf("    %s, %llu\n", i < ODD_PARTS ? odd_parts[i].name : "all",
                       (unsigned long long)n);
                fflush(stdout);
            }
            refused = odd_memory(&desc, n, n % 3 == 0);
        }
    }
}
