// SPDX-License-Identifier: MIT
// Recordings of real-time runs: saved, loaded and replayed, with posted calls and impure systems.
#include "replay/replay_kit.h"

#include <pthread.h>

static void pause_ns(uint64_t ns)
{
    orr_platform_default()->sleep_ns(NULL, ns);
}

static void* poster(void* arg)
{
    stage* s = arg;
    for (uint32_t i = 0; i < 100; i++) {
        while (!orr_running(s->world)) {
            pause_ns(100000);
        }
        stage_input(s, 3, i);
        pause_ns(300000);
    }
    orr_stop(s->world);
    return NULL;
}

ORR_TEST(recording_of_real_time_saves_loads_and_replays_to_the_same_world)
{
    stage s;
    orr_world_desc desc = {.rate_hz = 200};
    const char* path = stage_path("realtime");
    orr_recording* recording = orr_recording_create();
    pthread_t thread;
    stage_make(&s, &desc, true);
    dev = (device){.number = 9};
    uint32_t count = 2; // Calls that waited before the run are executed first.
    CHECK_OK(orr_post(s.world, call_spawn, &count, sizeof count));
    CHECK(pthread_create(&thread, NULL, poster, &s) == 0);
    CHECK_OK(orr_realtime(s.world, &(orr_realtime_desc){.record = recording, .hashes = true}));
    CHECK(pthread_join(thread, NULL) == 0);
    uint64_t hash = orr_world_hash(s.world);
    CHECK_RESULT(orr_replay(s.world, recording, NULL, NULL), ORR_ERR_STATE);
    CHECK_CONTAINS(s.k.errors.text, "real time");
    CHECK_RESULT(orr_recording_cut(recording, 0), ORR_ERR_STATE);
    CHECK_OK(orr_recording_save(s.world, recording, path));
    orr_recording_stats before, after;
    orr_recording_stats_get(recording, &before);
    CHECK(before.calls > 50 && before.realtime);
    stage_end(&s);
    orr_recording_destroy(recording);

    recording = orr_recording_create();
    dev.banned = true;
    stage_make(&s, &desc, false);
    CHECK_OK(orr_recording_load(s.world, recording, path));
    CHECK_RESULT(orr_realtime(s.world, &(orr_realtime_desc){.replay = recording}), ORR_ERR_ABSENT);
    stage_end(&s);
    stage_make(&s, &desc, true);
    CHECK_OK(orr_recording_load(s.world, recording, path));
    orr_recording_stats_get(recording, &after);
    CHECK_EQ(after.ticks, before.ticks);
    CHECK_EQ(after.calls, before.calls);
    CHECK_EQ(after.hashes, before.hashes);
    CHECK(after.realtime);
    CHECK_OK(orr_realtime(s.world, &(orr_realtime_desc){.replay = recording}));
    CHECK(orr_world_hash(s.world) == hash);
    stage_end(&s);
    orr_recording_destroy(recording);
    CHECK_EQ(remove(path), 0);
}

ORR_TEST(recording_of_lockstep_is_refused_in_real_time)
{
    stage s;
    orr_recording* recording = orr_recording_create();
    stage_make(&s, NULL, true);
    dev = (device){0};
    CHECK_OK(orr_record(s.world, recording, NULL));
    CHECK_RESULT(orr_realtime(s.world, &(orr_realtime_desc){.ticks = 1}), ORR_ERR_ARGUMENT);
    CHECK_OK(orr_step(s.world, 3));
    CHECK_OK(orr_record_end(s.world));
    CHECK_RESULT(orr_realtime(s.world, &(orr_realtime_desc){.replay = recording}),
                 ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(s.k.errors.text, "orr_replay()");
    stage_end(&s);
    orr_recording_destroy(recording);
}

static void* post_beside(void* arg)
{
    stage* s = arg;
    for (uint32_t i = 0; i < 200; i++) {
        stage_input(s, 5, i);
    }
    return NULL;
}

ORR_TEST(post_from_another_thread_in_lockstep_is_recorded_and_replayed)
{
    stage s;
    orr_recording* recording = orr_recording_create();
    pthread_t thread;
    orr_world_desc desc = {.rate_hz = 60, .workers = 2};
    stage_make(&s, &desc, true);
    dev = (device){.number = 2};
    CHECK_OK(orr_record(s.world, recording, &(orr_record_desc){.hash_every = 1}));
    CHECK(pthread_create(&thread, NULL, post_beside, &s) == 0);
    for (uint32_t i = 0; i < 50; i++) {
        CHECK_OK(orr_step(s.world, 1));
    }
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_OK(orr_step(s.world, 1));
    CHECK_OK(orr_record_end(s.world));
    uint64_t hash = orr_world_hash(s.world);
    orr_recording_stats stats;
    orr_recording_stats_get(recording, &stats);
    CHECK(stats.calls > 100 && !stats.changed);
    stage_end(&s);
    dev.banned = true;
    stage_make(&s, &desc, true);
    CHECK_OK(orr_replay(s.world, recording, NULL, NULL));
    CHECK(orr_world_hash(s.world) == hash);
    stage_end(&s);
    orr_recording_destroy(recording);
}
