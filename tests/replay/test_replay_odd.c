// SPDX-License-Identifier: MIT
// Unusual uses of recording and replay.
#define _GNU_SOURCE // truncate
#include "replay/replay_kit.h"
#include "schedule/record/recording.h"
#include "support/failing_alloc.h"
#include <math.h>

static void odd_transaction(const orr_world* world, orr_entity target, void* value,
                            const void* argument, uint32_t size)
{
    (void)world, (void)target, (void)value, (void)argument, (void)size;
}

ORR_TEST(world_without_systems_names_and_posts_calls)
{
    for (uint32_t i = 0; i < 3; i++) {
        orr_world* world = orr_world_create(NULL);
        CHECK(world != NULL);
        CHECK_OK(i == 0   ? orr_call_register(world, "nothing", call_nothing, 0)
                 : i == 1 ? orr_post(world, call_nothing, NULL, 0)
                          : orr_transaction_register(world, "odd", odd_transaction, 0));
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
    orr_world_destroy(world);
    CHECK_CONTAINS(s->k.errors.text, "orr_world_destroy: not allowed in a posted call, in on_tick");
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

typedef struct odd_change {
    orr_recording* recording;
    orr_world* other; // A world that does nothing.
    uint32_t ticks;
} odd_change;

// Every call that would free or replace what the replay reads.
static void odd_change_refused(const odd_change* c)
{
    CHECK_RESULT(orr_recording_cut(c->recording, 1), ORR_ERR_STATE);
    CHECK_RESULT(orr_record(c->other, c->recording, NULL), ORR_ERR_STATE);
    CHECK_CONTAINS(orr_error_last(c->other), "orr_record: a world replays this recording");
    CHECK_RESULT(orr_recording_load(c->other, c->recording, "/none"), ORR_ERR_STATE);
    CHECK_CONTAINS(orr_error_last(c->other), "orr_recording_load: a world replays this recording");
    CHECK_RESULT(orr_realtime(c->other, &(orr_realtime_desc){.ticks = 1, .record = c->recording}),
                 ORR_ERR_ARGUMENT);
}

static bool odd_changes(void* user, orr_world* world)
{
    odd_change* c = user;
    (void)world;
    c->ticks++;
    odd_change_refused(c);
    return true;
}

ORR_TEST(recording_that_is_replayed_is_not_changed)
{
    stage s;
    odd_change c = {.recording = odd_run(20, 1),
                    .other = orr_world_create(&(orr_world_desc){.log = {.level = ORR_LOG_OFF}})};
    stage_make(&s, &(orr_world_desc){.rate_hz = 60}, true);
    CHECK_OK(orr_replay(s.world, c.recording,
                        &(orr_replay_desc){.on_tick = odd_changes, .user = &c}, NULL));
    CHECK_EQ(c.ticks, 20);
    CHECK_EQ(orr_world_tick(s.world), 20);
    CHECK_OK(orr_recording_cut(c.recording, 10));
    CHECK_OK(orr_record(c.other, c.recording, NULL));
    stage_end(&s);
    orr_world_destroy(c.other);
    orr_recording_destroy(c.recording);
}

static void call_late_pipeline(orr_world* world, void* data, size_t size)
{
    (void)data;
    (void)size;
    CHECK_EQ(orr_pipeline_add(world, &(orr_pipeline_desc){.name = "late"}).id, 0);
    CHECK_CONTAINS(orr_error_last(world), "not allowed in a posted call");
}

// A recording names all pipelines, so one that appears within it could not be replayed.
ORR_TEST(pipeline_is_not_added_in_a_posted_call)
{
    orr_world* world = orr_world_create(&(orr_world_desc){.log = {.level = ORR_LOG_OFF}});
    CHECK_OK(orr_post(world, call_late_pipeline, NULL, 0));
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_ARGUMENT);
    CHECK_OK(orr_post_exclusive(world, call_late_pipeline, NULL, 0));
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_ARGUMENT);
    CHECK_EQ(orr_pipeline_count(world), 1);
    CHECK(orr_pipeline_add(world, &(orr_pipeline_desc){.name = "late"}).id != 0);
    orr_world_destroy(world);
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

ORR_TEST(comparison_with_an_empty_recording_is_refused_as_empty)
{
    stage s;
    orr_recording* full = odd_run(3, 1);
    orr_recording* empty = orr_recording_create();
    orr_recording_difference difference = {.tick = 7};
    CHECK_RESULT(orr_recording_compare(full, empty, &difference), ORR_ERR_STATE);
    CHECK_CONTAINS(empty->env.error_text, "orr_recording_compare: the second recording is empty");
    CHECK_RESULT(orr_recording_compare(empty, full, &difference), ORR_ERR_STATE);
    CHECK_CONTAINS(empty->env.error_text, "orr_recording_compare: the first recording is empty");
    stage_make(&s, NULL, true);
    dev = (device){0};
    CHECK_OK(orr_realtime(s.world, &(orr_realtime_desc){.ticks = 2, .record = empty}));
    CHECK_RESULT(orr_recording_compare(full, empty, &difference), ORR_ERR_STATE);
    CHECK_CONTAINS(empty->env.error_text, "the second recording is of a run in real time");
    CHECK_EQ(difference.tick, 7);
    stage_end(&s);
    orr_recording_destroy(full);
    orr_recording_destroy(empty);
}

// The recording has its own memory: its limit is the only way to refuse it some.
ORR_TEST(record_without_memory_leaves_the_recording_as_it_was)
{
    stage s;
    stage_make(&s, &(orr_world_desc){.rate_hz = 60}, true);
    orr_recording* recording = orr_recording_create();
    dev = (device){0};
    CHECK_OK(orr_record(s.world, recording, NULL));
    CHECK_OK(orr_step(s.world, 3));
    CHECK_OK(orr_record_end(s.world));
    orr_recording_stats before, stats;
    orr_recording_stats_get(recording, &before);
    recording->env.bytes_max = 1;
    CHECK_RESULT(orr_record(s.world, recording, NULL), ORR_ERR_MEMORY);
    CHECK_CONTAINS(s.k.errors.text, "beginning a recording");
    orr_recording_stats_get(recording, &stats);
    CHECK(stats.ticks == before.ticks && stats.ticks >= 3 && stats.bytes == before.bytes);
    recording->env.bytes_max = 0;
    uint64_t tick = orr_world_tick(s.world);
    CHECK_OK(orr_record(s.world, recording, NULL));
    CHECK_OK(orr_step(s.world, 1));
    CHECK_OK(orr_record_end(s.world));
    orr_recording_stats_get(recording, &stats);
    CHECK(stats.ticks < before.ticks && stats.tick_first == tick);
    stage_end(&s);
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

// ---- creations beyond the reserved ids ----------------------------------------------------------

ORR_STRUCT(Seed, (orr_entity, next), (uint32_t, number))

static uint32_t sow_device; // Input of an impure system, outside of the world.

static void sow(orr_run* run, uint32_t number)
{
    orr_entity last = {0};
    for (uint32_t i = 0; i < 1030; i++) { // 1024 ids are reserved.
        orr_entity seed = orr_send_create(run);
        CHECK(seed.id != 0);
        CHECK_OK(orr_send_add(run, seed, Seed, {last, number + i}));
        last = seed;
    }
}

static void sow_impure(orr_run* run)
{
    sow(run, ++sow_device * 100);
}

static void sow_pure(orr_run* run)
{
    sow(run, (uint32_t)run->tick);
}

static void reap(orr_run* run)
{
    const Seed* seeds = orr_read(run, Seed);
    for (uint32_t i = 0; i < run->count; i++) {
        CHECK(seeds[i].next.id == 0 || orr_has(run->world, seeds[i].next, Seed) ||
              seeds[i].number % 2 == 0);
        if (seeds[i].number % 2 == 1) {
            CHECK_OK(orr_send_destroy(run, orr_iter_entity(run, i)));
        }
    }
}

static orr_world* sow_world(uint32_t workers)
{
    orr_world* world = orr_world_create(&(orr_world_desc){.rate_hz = 60, .workers = workers});
    CHECK(world != NULL);
    ORR_REGISTER(world, Seed);
    orr_system_add(
        world,
        &(orr_system_desc){
            .name = "impure", .once = true, .creates = "Seed", .impure = true, .run = sow_impure});
    orr_system_add(world, &(orr_system_desc){
                              .name = "pure", .once = true, .creates = "Seed", .run = sow_pure});
    orr_system_add(world, &(orr_system_desc){.name = "reap",
                                             .query = "Seed",
                                             .by_id = "Seed",
                                             .destroys = "Seed",
                                             .parallel = true,
                                             .run = reap});
    return world;
}

ORR_TEST(replay_of_creations_beyond_the_reserved_ids_gives_the_same_world)
{
    orr_recording* recording = orr_recording_create();
    orr_world* world = sow_world(2);
    CHECK_OK(orr_record(world, recording, &(orr_record_desc){.hash_every = 1}));
    CHECK_OK(orr_step(world, 8));
    CHECK_OK(orr_record_end(world));
    uint64_t hash = orr_world_hash(world);
    CHECK(orr_entity_count(world) > 4 * 1030);
    orr_world_destroy(world);
    sow_device = 77; // Not called again.
    for (uint32_t workers = 0; workers <= 4; workers += 4) {
        orr_replay_report report;
        world = sow_world(workers);
        CHECK_OK(orr_replay(world, recording, NULL, &report));
        CHECK_EQ(report.differs_tick, 0);
        CHECK(orr_world_hash(world) == hash);
        CHECK_EQ(sow_device, 77);
        orr_world_destroy(world);
    }
    orr_recording_destroy(recording);
}

// ---- an impure system that is called again after a replay ---------------------------------------

static void sprout_impure(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        CHECK_OK(orr_send_change(run, orr_iter_entity(run, i), Seed, {{0}, (uint32_t)run->tick}));
    }
}

// Entities in `clusters` clusters: as many chunks, each with commands of its own.
static orr_world* sprout_world(uint32_t clusters)
{
    orr_world* world = orr_world_create(&(orr_world_desc){.rate_hz = 60});
    CHECK(world != NULL);
    ORR_REGISTER(world, Seed);
    orr_system system = orr_system_add(world, &(orr_system_desc){.name = "sprout",
                                                                 .query = "Seed",
                                                                 .changes = "Seed",
                                                                 .impure = true,
                                                                 .run = sprout_impure});
    CHECK(system.id != 0);
    for (uint32_t i = 0; i < clusters; i++) {
        orr_entity entity = orr_create(world);
        CHECK_OK(orr_set(world, entity, Seed, {{0}, i}));
        CHECK_OK(orr_tag_add(world, entity, 1 + i));
    }
    return world;
}

ORR_TEST(continued_recording_of_an_impure_system_that_sends_is_replayed)
{
    for (uint32_t clusters = 0; clusters < 4; clusters++) {
        orr_recording* recording = orr_recording_create();
        orr_world* world = sprout_world(clusters);
        CHECK_OK(orr_record(world, recording, NULL));
        CHECK_OK(orr_step(world, 6));
        CHECK_OK(orr_record_end(world));
        orr_world_destroy(world);
        CHECK_OK(orr_recording_cut(recording, 3));
        world = sprout_world(clusters);
        CHECK_OK(orr_replay(world, recording, NULL, NULL));
        CHECK_OK(orr_record(world, recording, &(orr_record_desc){.append = true}));
        CHECK_OK(orr_step(world, 3));
        CHECK_OK(orr_record_end(world));
        uint64_t hash = orr_world_hash(world);
        orr_world_destroy(world);
        world = sprout_world(clusters);
        CHECK_OK(orr_replay(world, recording, NULL, NULL));
        CHECK(orr_world_hash(world) == hash);
        orr_world_destroy(world);
        orr_recording_destroy(recording);
    }
}

// ---- a tick of a spectator that is refused memory -----------------------------------------------

ORR_STRUCT_EX(Glimpse, (.transient = true), (uint32_t, count))

static void peek_log(void* user, const orr_log_line* line)
{
    (void)user, (void)line; // Refused memory is reported.
}

static void peek(orr_run* run) // Of a spectator: its commands need memory.
{
    orr_entity entity = orr_send_create(run);
    if (entity.id != 0) {
        (void)orr_send_add(run, entity, Glimpse, {(uint32_t)run->count});
    }
}

static void ripen(orr_run* run)
{
    Seed* seeds = orr_write(run, Seed);
    for (uint32_t i = 0; i < run->count; i++) {
        seeds[i].number += (uint32_t)run->tick;
    }
}

static orr_world* peek_world(failing_alloc* memory)
{
    orr_world* world = orr_world_create(&(orr_world_desc){
        .rate_hz = 60,
        .allocator = failing_alloc_allocator(memory),
        .log = {.sink = peek_log},
    });
    CHECK(world != NULL);
    ORR_REGISTER(world, Seed);
    ORR_REGISTER(world, Glimpse);
    CHECK(orr_pipeline_add(world,
                           &(orr_pipeline_desc){.name = "view", .rate_hz = 120, .spectator = true})
              .id != 0);
    orr_system_add(world, &(orr_system_desc){.name = "ripen", .query = "write Seed", .run = ripen});
    CHECK_OK(orr_set(world, orr_create(world), Seed, {{0}, 7}));
    orr_system_add(
        world,
        &(orr_system_desc){
            .name = "peek", .pipeline = "view", .once = true, .creates = "Glimpse", .run = peek});
    return world;
}

ORR_TEST(replay_continues_a_tick_of_a_spectator_that_was_refused_memory)
{
    failing_alloc memory = {0};
    orr_recording* recording = orr_recording_create();
    orr_world* world = peek_world(&memory);
    CHECK_OK(orr_record(world, recording, NULL));
    CHECK_OK(orr_step(world, 4));
    CHECK_OK(orr_record_end(world));
    uint64_t hash = orr_world_hash(world);
    orr_world_destroy(world);
    uint32_t continued = 0;
    for (uint64_t n = 1, refused = 1; refused > 0; n++) {
        world = peek_world(&memory);
        failing_alloc_arm(&memory, n, false);
        orr_result result = orr_replay(world, recording, NULL, NULL);
        refused = memory.refused;
        const orri_pipeline* half = world->schedule->now;
        continued += half != NULL && half->spectator;
        if (half != NULL) { // The rest of the tick is in the recording.
            CHECK_RESULT(orr_recording_cut(recording, 2), ORR_ERR_STATE);
        }
        if (result == ORR_ERR_MEMORY) {
            result = orr_replay(world, recording, NULL, NULL);
        }
        CHECK_OK(result);
        CHECK(orr_world_hash(world) == hash);
        orr_world_destroy(world);
    }
    CHECK(continued > 0);
    orr_recording_destroy(recording);
    failing_alloc_check(&memory);
}
