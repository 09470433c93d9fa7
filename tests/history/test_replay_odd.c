// SPDX-License-Identifier: MIT
// Recording and replay, used as somebody does who has not read everything.
#define _GNU_SOURCE // truncate
#include "history/replay_kit.h"
#include <math.h>

static void odd_transaction(const orr_world* world, orr_entity target, void* value,
                            const void* argument)
{
    (void)world, (void)target, (void)value, (void)argument;
}

ORR_TEST(world_without_systems_names_and_posts_calls)
{
    for (uint32_t i = 0; i < 3; i++) {
        orr_world* world = orr_world_create(NULL);
        CHECK(world != NULL);
        CHECK_OK(i == 0   ? orr_call_register(world, "nothing", call_nothing)
                 : i == 1 ? orr_post(world, call_nothing, NULL, 0)
                          : orr_transaction_register(world, "odd", odd_transaction));
        CHECK_OK(orr_step(world, 1));
        CHECK_EQ(orr_world_tick(world), 1);
        orr_world_destroy(world);
    }
}

// ---- files that were cut off -------------------------------------------------------------------------------------------

// A run of so many ticks, in a file.
static const char* odd_file(uint32_t ticks, const char* name)
{
    stage s;
    const char* path = stage_path(name);
    orr_recording* recording = orr_recording_create();
    stage_make(&s, &(orr_world_desc){.rate_hz = 60}, true);
    dev = (device){0};
    CHECK_OK(orr_record(s.world, recording, &(orr_record_desc){.hash_every = 50}));
    CHECK_OK(orr_run_until(s.world, ticks, NULL, NULL));
    CHECK_OK(orr_record_end(s.world));
    CHECK_OK(orr_recording_save(s.world, recording, path));
    stage_end(&s);
    orr_recording_destroy(recording);
    dev = (device){.banned = true};
    return path;
}

ORR_TEST(file_that_was_cut_off_is_said_with_its_last_tick)
{
    const char* path = odd_file(600, "said");
    orr_recording* recording = orr_recording_create();
    FILE* file = fopen(path, "rb");
    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    long size = ftell(file);
    fclose(file);
    for (uint32_t i = 0; i < 3; i++) { // Its end is missing; its last block of ticks; all of them.
        static const uint64_t ticks[] = {600, 512, 0};
        char said[64];
        stage s;
        orr_replay_report report = {0};
        stage_make(&s, &(orr_world_desc){.rate_hz = 60}, true);
        CHECK_EQ(truncate(path, i == 0 ? size - 1 : i == 1 ? size - 100 : 900), 0);
        CHECK_OK(orr_recording_load(s.world, recording, path));
        snprintf(said, sizeof said, "after tick %u of the world", (unsigned)ticks[i]);
        CHECK_CONTAINS(s.log, said);
        CHECK_CONTAINS(s.log, path);
        CHECK_OK(orr_replay(s.world, recording, NULL, &report));
        CHECK_EQ(report.ticks, ticks[i]);
        stage_end(&s);
    }
    orr_recording_destroy(recording);
    CHECK_EQ(remove(path), 0);
}
