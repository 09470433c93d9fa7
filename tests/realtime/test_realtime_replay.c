// SPDX-License-Identifier: MIT
// Replays of runs in real time: systems and sync points see what was recorded, a difference is
// found and reported, and a replay that cannot continue ends.
#include "realtime/hard_kit.h"

ORR_STRUCT_EX(Pin, (.storage = ORR_PINNED), (uint64_t, v))
ORR_STRUCT_EX(Cable, (.live = true), (uint64_t, x), (uint64_t, twice))
ORR_STRUCT(Other, (uint64_t, x))

// ---- the world's tick ---------------------------------------------------------------------------

static void tick_note(orr_run* run)
{
    Fruit* f = orr_write(run, Fruit);
    for (uint32_t i = 0; i < run->count; i++) {
        f[i].seen = f[i].seen * 31 + orr_world_tick(run->world);
    }
    hard_sleep(300000); // Other pipelines tick meanwhile.
    f[0].seen += orr_world_tick(run->world);
}

static void tick_sleep(orr_run* run)
{
    (void)run;
    hard_sleep(200000);
}

static orr_world* tick_begin(kit* k, uint32_t workers)
{
    orr_world* world = hard_begin(k, workers);
    ORR_REGISTER(world, Fruit, Tree);
    for (uint32_t i = 0; i < 3; i++) {
        orr_set(world, orr_create(world), Fruit, {0});
    }
    hard_pipe(world, "a", 700, false);
    KIT_SYSTEM(world, .name = "note", .query = "write Fruit", .run = tick_note);
    KIT_SYSTEM(world, .name = "sleep", .pipeline = "a", .query = "Fruit", .run = tick_sleep);
    return world;
}

ORR_TEST(replay_shows_systems_the_recorded_world_tick)
{
    hard_replays(&(hard_replay){.begin = tick_begin, .ticks = 40, .replays = 3});
}

// ---- hashes at sync points ----------------------------------------------------------------------

enum {
    SYNC_MOST = 16
};

static struct {
    double rate_hz; // Rate of the first pipeline.
    uint64_t hashes[2][SYNC_MOST];
    uint32_t count[2], run;
} sync_log;

static void sync_hash(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    if (sync_log.count[sync_log.run] < SYNC_MOST) {
        sync_log.hashes[sync_log.run][sync_log.count[sync_log.run]++] = orr_world_hash(world);
    }
}

static void sync_post(orr_run* run)
{
    hard_sleep(500000);
    if (run->tick % 5 == 0) {
        (void)orr_post_exclusive(run->world, sync_hash, NULL, 0);
    }
}

static orr_world* sync_begin(kit* k, uint32_t workers)
{
    *k = (kit){0};
    orr_world* world =
        kit_begin(k, &(orr_world_desc){.rate_hz = sync_log.rate_hz, .workers = workers});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    trees_add(world, 20);
    KIT_SYSTEM(world, .name = "ask", .once = true, .by_id = "Fruit", .run = sync_post);
    return world;
}

static void sync_look(orr_world* world, bool replays)
{
    (void)world;
    sync_log.run = !replays;
}

static void sync_run(double rate_hz)
{
    memset(&sync_log, 0, sizeof sync_log);
    sync_log.rate_hz = rate_hz;
    hard_replays(&(hard_replay){.begin = sync_begin, .ticks = 40, .look = sync_look});
    CHECK_EQ(sync_log.count[0], 8);
    CHECK_EQ(sync_log.count[1], 8);
    CHECK(memcmp(sync_log.hashes[0], sync_log.hashes[1], sizeof sync_log.hashes[0]) == 0);
}

ORR_TEST(replay_of_sync_points_with_a_continuous_pipeline_has_the_recorded_hashes)
{
    sync_run(0);
}

ORR_TEST(replay_of_sync_points_with_a_late_pipeline_has_the_recorded_hashes)
{
    sync_run(4000);
}

// ---- the end of a replay ------------------------------------------------------------------------

enum {
    STOP_TICKS = 40, // Ticks that are recorded;
    STOP_AT = 10,    // the world is stopped in this tick of the replay.
};

static _Atomic bool stop_waits, stop_wanted, stop_done;

static void stop_run(orr_run* run)
{
    if (stop_waits && run->tick == STOP_AT) {
        stop_wanted = true;
        while (!stop_done) {
            hard_sleep(100000);
        }
    }
}

static void stop_outside(void* world)
{
    while (!stop_wanted) {
        hard_sleep(100000);
    }
    orr_stop(world);
    stop_done = true;
}

static orr_world* stop_begin(kit* k)
{
    orr_world* world = hard_begin(k, 0);
    ORR_REGISTER(world, Tree);
    orr_set(world, orr_create(world), Tree, {0, 0});
    hard_pipe(world, "a", 100, false);
    KIT_SYSTEM(world, .name = "stop", .query = "Tree", .run = stop_run);
    return world;
}

ORR_TEST(replay_stopped_from_outside_ends_before_its_recording)
{
    kit k;
    orr_recording* recording = orr_recording_create();
    orr_world* world = stop_begin(&k);
    stop_waits = stop_wanted = stop_done = false;
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = STOP_TICKS, .record = recording}));
    CHECK_EQ(hard_ticks(world, "main"), STOP_TICKS);
    hard_end(&k);
    world = stop_begin(&k);
    stop_waits = true;
    orr_thread thread;
    const orr_platform* platform = orr_platform_default();
    CHECK_EQ(platform->thread_create(platform->user, "stop", stop_outside, world, &thread), 0);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.replay = recording}));
    platform->thread_join(platform->user, thread);
    CHECK_EQ(hard_ticks(world, "main"), STOP_AT);
    CHECK_EQ(k.errors.count, 0);
    hard_end(&k);
    orr_recording_destroy(recording);
}

// ---- differences are found ----------------------------------------------------------------------

static uint64_t outside_number; // A value that no recording holds.

static void differ_tree(orr_run* run)
{
    orr_write(run, Tree)[0].tick = outside_number++;
}

static void differ_pin(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_write_pinned(run, Pin, i)->v = outside_number++;
    }
}

static void differ_state(orr_run* run)
{
    orr_state(run, Count)->count = outside_number++;
}

static orr_world* differ_begin(kit* k, const orr_system_desc* desc)
{
    orr_world* world = hard_begin(k, 0);
    ORR_REGISTER(world, Tree, Pin, Count);
    orr_entity entity = orr_create(world);
    orr_set(world, entity, Tree, {0, 0});
    orr_set(world, entity, Pin, {0});
    hard_pipe(world, "a", 100, false);
    CHECK(orr_system_add(world, desc).id != 0);
    return world;
}

// Both the error handler and a later query receive the pipeline and its tick.
static void differs(const orr_system_desc* desc)
{
    static const char words[] =
        "differs from the recording: pipeline 'main' has other values after its tick 1;";
    kit k;
    orr_recording* recording = orr_recording_create();
    outside_number = 1;
    orr_world* world = differ_begin(&k, desc);
    CHECK_OK(orr_realtime(world,
                          &(orr_realtime_desc){.ticks = 10, .record = recording, .hashes = true}));
    hard_end(&k);
    world = differ_begin(&k, desc);
    CHECK_RESULT(orr_realtime(world, &(orr_realtime_desc){.replay = recording}), ORR_ERR_CONFLICT);
    CHECK_CONTAINS(orr_error_last(world), words);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, words);
    hard_end(&k);
    orr_recording_destroy(recording);
}

ORR_TEST(replay_that_differs_in_a_value_is_refused_with_pipeline_and_tick)
{
    differs(&(orr_system_desc){.name = "d", .query = "write Tree", .run = differ_tree});
}

ORR_TEST(replay_that_differs_in_a_pinned_value_is_refused_with_pipeline_and_tick)
{
    differs(&(orr_system_desc){.name = "d", .query = "write Pin", .run = differ_pin});
}

ORR_TEST(replay_that_differs_in_a_state_is_refused_with_pipeline_and_tick)
{
    differs(&(orr_system_desc){
        .name = "d", .query = "Tree", .state = ORR_TYPE(Count), .run = differ_state});
}

// ---- recordings that run out of memory ----------------------------------------------------------

static void full_export(orr_run* run)
{
    orr_export(run, Count)->count = run->tick;
}

static void full_write(orr_run* run)
{
    Cable* c = orr_write(run, Cable);
    for (uint32_t i = 0; i < run->count; i++) {
        c[i] = (Cable){run->tick, 2 * run->tick};
    }
}

static void full_look(orr_run* run)
{
    const Cable* c = orr_read(run, Cable);
    Other* o = orr_write(run, Other);
    uint64_t imported = orr_import(run, "export", Count)->count;
    for (uint32_t i = 0; i < run->count; i++) {
        HARD_CHECK(c[i].twice == 2 * c[i].x, "a cable is torn");
        o[i].x = o[i].x * 31 + c[i].x + imported;
    }
}

// A bit of everything: structure, published and live values, messages, exports.
static orr_world* full_begin(kit* k)
{
    orr_world* world = hard_begin(k, 0);
    trees_add(world, 30);
    ORR_REGISTER(world, Cable, Other, Count);
    for (uint32_t i = 0; i < 5; i++) {
        orr_entity entity = orr_create(world);
        orr_set(world, entity, Cable, {0, 0});
        orr_set(world, entity, Other, {0});
    }
    KIT_SYSTEM(world, .name = "export", .query = "Tree", .exports = ORR_TYPE(Count),
               .run = full_export);
    KIT_SYSTEM(world, .name = "write", .pipeline = "a", .query = "write Cable", .run = full_write);
    KIT_SYSTEM(world, .name = "see", .pipeline = "b", .query = "Cable, write Other",
               .imports = "export", .run = full_look);
    return world;
}

// Refuses allocation `n` of a run. The world continues, and the recording up to there replays.
// Returns true if there was an allocation `n`.
static bool full_run(uint64_t n, uint32_t* full_count)
{
    kit k;
    orr_recording* recording = orr_recording_create();
    orr_world* world = full_begin(&k);
    failing_alloc_arm(&k.memory, n, false);
    orr_result result = orr_realtime(
        world,
        &(orr_realtime_desc){.ticks = 6, .record = recording, .hashes = true, .lock_trace = 50});
    bool refused = k.memory.refused > 0;
    failing_alloc_arm(&k.memory, 0, false);
    CHECK(result == ORR_OK || (refused && result == ORR_ERR_MEMORY));
    k.errors = (kit_errors){0};
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 2}));
    hard_end(&k);
    orr_recording_stats stats;
    orr_recording_stats_get(recording, &stats);
    if (stats.full) {
        ++*full_count;
        if (orr_realtime(full_begin(&k), &(orr_realtime_desc){.replay = recording}) != ORR_OK) {
            test_fail(__FILE__, __LINE__, "after allocation %u: %s", (unsigned)n, k.errors.text);
        }
        hard_end(&k);
    }
    orr_recording_destroy(recording);
    return refused;
}

ORR_TEST(recording_without_memory_replays_up_to_the_refused_allocation)
{
    uint32_t full_count = 0;
    uint64_t n = 1;
    while (full_run(n, &full_count)) {
        n++;
    }
    CHECK(n > 50);
    CHECK(full_count > 0);
}
