// SPDX-License-Identifier: MIT
// Unusual uses of recording and replay.
#define _GNU_SOURCE // truncate
#include "replay/replay_kit.h"
#include "schedule/record/recording.h"
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

// ---- truncated files ----------------------------------------------------------------------------

// Saves a run of `ticks` ticks to a file.
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

ORR_TEST(truncated_file_is_reported_with_its_last_tick)
{
    const char* path = odd_file(600, "said");
    orr_recording* recording = orr_recording_create();
    FILE* file = fopen(path, "rb");
    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    long size = ftell(file);
    fclose(file);
    for (uint32_t i = 0; i < 3; i++) { // Cuts the end; the last ticks; all ticks.
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

// ---- calls at the wrong time or on the wrong object ---------------------------------------------

// A run in memory.
static orr_recording* odd_run(uint32_t ticks, uint32_t hash_every)
{
    stage s;
    orr_recording* recording = orr_recording_create();
    stage_make(&s, &(orr_world_desc){.rate_hz = 60}, true);
    dev = (device){0};
    CHECK_OK(orr_record(s.world, recording, &(orr_record_desc){.hash_every = hash_every}));
    CHECK_OK(orr_run_until(s.world, ticks, NULL, NULL));
    CHECK_OK(orr_record_end(s.world));
    stage_end(&s);
    dev = (device){.banned = true};
    return recording;
}

static bool odd_meddles(void* user, orr_world* world)
{
    stage* s = user;
    CHECK(world == s->world);
    CHECK_RESULT(orr_post(world, call_nothing, NULL, 0), ORR_ERR_STATE);
    CHECK_CONTAINS(s->k.errors.text, "orr_post: not allowed in on_tick of a replay");
    CHECK_RESULT(orr_post_exclusive(world, call_nothing, NULL, 0), ORR_ERR_STATE);
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_STATE);
    CHECK_CONTAINS(s->k.errors.text, "orr_step: not allowed in on_tick of a replay");
    return orr_world_tick(world) < 5;
}

ORR_TEST(post_and_step_in_on_tick_are_refused_and_the_replay_continues)
{
    stage s;
    orr_recording* recording = odd_run(20, 1);
    stage_make(&s, &(orr_world_desc){.rate_hz = 60}, true);
    CHECK_OK(orr_replay(s.world, recording, &(orr_replay_desc){.on_tick = odd_meddles, .user = &s},
                        NULL));
    CHECK_EQ(orr_world_tick(s.world), 5);
    CHECK_OK(orr_replay(s.world, recording, NULL, NULL));
    CHECK_OK(orr_post(s.world, call_nothing, NULL, 0)); // The replay has ended.
    dev = (device){0};
    CHECK_OK(orr_step(s.world, 1));
    stage_end(&s);
    orr_recording_destroy(recording);
}

ORR_TEST(post_that_waits_during_a_travel_runs_after_it)
{
    stage s;
    stage_make(&s, &(orr_world_desc){.rate_hz = 60}, true);
    dev = (device){0};
    CHECK_OK(orr_step(s.world, 1));
    CHECK_OK(orr_remember(s.world));
    uint64_t tick = orr_world_tick(s.world);
    CHECK_OK(orr_step(s.world, 3));
    kick k = {s.bodies[0].id, 1, 0};
    CHECK_OK(orr_post(s.world, call_kick, &k, sizeof k));
    CHECK_OK(orr_time_travel(s.world, tick));
    CHECK_EQ(orr_get(s.world, s.bodies[0], Body)->hits, 0);
    CHECK_OK(orr_step(s.world, 2));
    CHECK_EQ(orr_get(s.world, s.bodies[0], Body)->hits, 1);
    stage_end(&s);
}

ORR_TEST(replay_with_an_invalid_rate_or_end_is_refused)
{
    stage s;
    orr_recording* recording = odd_run(20, 1);
    stage_make(&s, &(orr_world_desc){.rate_hz = 60}, true);
    static const double rates[] = {-1, NAN, INFINITY, -INFINITY};
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_RESULT(orr_replay(s.world, recording, &(orr_replay_desc){.rate = rates[i]}, NULL),
                     ORR_ERR_RANGE);
        CHECK_CONTAINS(s.k.errors.text, "rate");
    }
    CHECK_EQ(orr_world_tick(s.world), 0);
    CHECK_OK(orr_replay(s.world, recording, &(orr_replay_desc){.until_tick = 10}, NULL));
    CHECK_OK(orr_replay(s.world, recording, &(orr_replay_desc){.until_tick = 10}, NULL));
    CHECK_RESULT(orr_replay(s.world, recording, &(orr_replay_desc){.until_tick = 9}, NULL),
                 ORR_ERR_PAST);
    CHECK_CONTAINS(s.k.errors.text, "until_tick 9");
    CHECK_EQ(orr_world_tick(s.world), 10);
    stage_end(&s);
    orr_recording_destroy(recording);
}

ORR_TEST(recording_with_advanced_ticks_names_the_call)
{
    stage s;
    orr_recording* recording = orr_recording_create();
    stage_make(&s, &(orr_world_desc){.rate_hz = 60}, true);
    dev = (device){0};
    CHECK_OK(orr_record(s.world, recording, NULL));
    CHECK_OK(orr_step(s.world, 1));
    orr_tick_advance(s.world);
    CHECK_OK(orr_step(s.world, 1));
    CHECK_CONTAINS(s.log, "orr_tick_advance()");
    CHECK_OK(orr_record_end(s.world));
    stage_end(&s);
    orr_recording_destroy(recording);
}

ORR_TEST(cut_of_an_empty_recording_is_refused_as_empty)
{
    orr_recording* recording = orr_recording_create();
    CHECK_RESULT(orr_recording_cut(recording, 0), ORR_ERR_STATE);
    CHECK_CONTAINS(recording->env.error_text, "it is empty"); // It belongs to no world.
    orr_recording_destroy(recording);
}

// ---- unchecked ticks ----------------------------------------------------------------------------

ORR_TEST(replay_without_earlier_comparison_reports_no_agreeing_tick)
{
    stage s;
    orr_recording* recording = odd_run(40, 30);
    orr_replay_report report = {0};
    stage_make(&s, &(orr_world_desc){.rate_hz = 60}, true);
    CHECK_OK(orr_replay(s.world, recording, &(orr_replay_desc){.until_tick = 7}, NULL));
    orr_edit(s.world, s.bodies[3], Body)->x += 1; // Not detected: this tick has no hash.
    CHECK_RESULT(orr_replay(s.world, recording, NULL, &report), ORR_ERR_CONFLICT);
    CHECK_EQ(report.differs_tick, 30);
    CHECK_EQ(report.verified, 1);
    CHECK_CONTAINS(s.k.errors.text, "no tick was compared before");
    stage_end(&s);
    orr_recording_destroy(recording);
}

ORR_TEST(refused_desync_prints_that_no_search_was_made)
{
    stage s, other;
    char text[512];
    orr_desync found;
    orr_recording *a = odd_run(20, 1), *empty = orr_recording_create();
    stage_make(&s, &(orr_world_desc){.rate_hz = 60}, true);
    stage_make(&other, &(orr_world_desc){.rate_hz = 60}, true);
    memset(&found, 0xEE, sizeof found);
    CHECK_RESULT(orr_desync_find(s.world, a, other.world, empty, &found), ORR_ERR_STATE);
    CHECK(!found.looked && !found.differ);
    orr_desync_print(&found, text, sizeof text);
    CHECK_CONTAINS(text, "was refused");
    CHECK_RESULT(orr_desync_find(s.world, a, s.world, a, &found), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(s.k.errors.text, "the same world");
    CHECK_OK(orr_desync_find(s.world, a, other.world, a, &found));
    CHECK(found.looked && !found.differ);
    orr_desync_print(&found, text, sizeof text);
    CHECK_CONTAINS(text, "nothing that both recorded differs, up to tick 20");
    stage_end(&s);
    stage_end(&other);
    orr_recording_destroy(a);
    orr_recording_destroy(empty);
}

ORR_TEST(desync_from_the_start_has_no_agreeing_tick)
{
    stage s[2];
    orr_recording* recordings[2];
    char text[512];
    orr_desync found;
    dev = (device){0};
    for (uint32_t i = 0; i < 4; i++) { // Recorded, then built again.
        stage_make(&s[i % 2], &(orr_world_desc){.rate_hz = 60}, true);
        orr_edit(s[i % 2].world, s[i % 2].bodies[3], Body)->x += (float)(i % 2);
        if (i < 2) {
            recordings[i] = orr_recording_create();
            CHECK_OK(orr_record(s[i].world, recordings[i], NULL));
            CHECK_OK(orr_step(s[i].world, 5));
            CHECK_OK(orr_record_end(s[i].world));
            stage_end(&s[i]);
        }
    }
    CHECK_OK(orr_desync_find(s[0].world, recordings[0], s[1].world, recordings[1], &found));
    CHECK(found.looked && found.differ && found.tick == 0);
    orr_desync_print(&found, text, sizeof text);
    CHECK_CONTAINS(text, "tick 0 differs");
    CHECK(strstr(text, "agrees") == NULL);
    for (uint32_t i = 0; i < 2; i++) {
        stage_end(&s[i]);
        orr_recording_destroy(recordings[i]);
    }
}
