// SPDX-License-Identifier: MIT
// Recording and replay of lockstep runs.
#include "replay/replay_kit.h"
#include "support/fake_platform.h"

// The result of a recorded run.
typedef struct take {
    orr_recording* recording;
    uint64_t hash, tick;
} take;

static take take_run(const orr_world_desc* desc, uint64_t seed, uint32_t steps, uint32_t hash_every)
{
    stage s;
    take t = {.recording = orr_recording_create()};
    stage_make(&s, desc, true);
    dev = (device){.number = seed};
    CHECK_OK(orr_record(s.world, t.recording, &(orr_record_desc){.hash_every = hash_every}));
    stage_run(&s, seed, steps);
    CHECK_OK(orr_record_end(s.world));
    t.hash = orr_world_hash(s.world);
    t.tick = orr_world_tick(s.world);
    CHECK_EQ(s.k.errors.count, 0);
    CHECK_STR(s.log, "");
    stage_end(&s);
    dev.banned = true;
    return t;
}

static void take_replay(const take* t, const orr_world_desc* desc)
{
    stage s;
    orr_replay_report report;
    stage_make(&s, desc, true);
    CHECK_OK(orr_replay(s.world, t->recording, NULL, &report));
    CHECK_STR(s.k.errors.text, "");
    CHECK_EQ(orr_world_tick(s.world), t->tick);
    CHECK(orr_world_hash(s.world) == t->hash);
    CHECK_EQ(report.ticks, t->tick);
    CHECK_EQ(report.differs_tick, 0);
    stage_end(&s);
}

static void take_end(take* t)
{
    orr_recording_destroy(t->recording);
    dev = (device){0};
}

ORR_TEST(replay_with_any_number_of_workers_gives_the_same_world)
{
    uint32_t ticks = test_rounds(200, 60, 2000);
    for (uint32_t fixed = 0; fixed < 2; fixed++) {
        orr_world_desc desc = {.seed = 7, .rate_hz = fixed ? 60 : 0};
        take t = take_run(&desc, test_seed(), ticks, 1);
        CHECK(t.tick > ticks);
        CHECK(dev.calls > ticks / 2);
        orr_recording_stats stats;
        orr_recording_stats_get(t.recording, &stats);
        CHECK_EQ(stats.ticks, t.tick);
        CHECK_EQ(stats.hashes, t.tick + 1);
        CHECK(stats.calls > ticks / 4);
        CHECK(!stats.full && !stats.refused && !stats.changed && !stats.realtime);
        for (uint32_t i = 0; i < 3; i++) {
            desc.workers = (const uint32_t[]){0, 2, 8}[i];
            take_replay(&t, &desc);
        }
        take_end(&t);
    }
}

ORR_TEST(recording_does_not_change_the_run)
{
    orr_world_desc desc = {.rate_hz = 60};
    take t = take_run(&desc, 5, 100, 1);
    stage s;
    stage_make(&s, &desc, false);
    dev = (device){.number = 5};
    stage_run(&s, 5, 100);
    CHECK(orr_world_hash(s.world) == t.hash);
    stage_end(&s);
    take_end(&t);
}

ORR_TEST(replay_on_workers_of_a_run_on_workers_gives_the_same_world)
{
    orr_world_desc desc = {.rate_hz = 30, .workers = 4};
    take t = take_run(&desc, 9, 60, 7);
    desc.workers = 0;
    take_replay(&t, &desc);
    take_end(&t);
}

ORR_TEST(replay_on_another_world_is_refused_with_both_hashes)
{
    orr_world_desc desc = {.rate_hz = 60, .seed = 1};
    take t = take_run(&desc, 2, 10, 0);
    stage s;
    stage_make(&s, &desc, true);
    CHECK_OK(orr_set(s.world, s.bodies[3], Body, {1, 2, 3}));
    orr_replay_report report;
    CHECK_RESULT(orr_replay(s.world, t.recording, NULL, &report), ORR_ERR_CONFLICT);
    CHECK_CONTAINS(s.k.errors.text, "build the world in the same way");
    CHECK_EQ(orr_world_tick(s.world), 0);
    CHECK(report.hash == orr_world_hash(s.world) && report.hash != report.hash_recorded);
    stage_end(&s);
    take_end(&t);
}

// A system that depends on outside state without declaring it.
static uint32_t secret;
static void cheat(orr_run* run)
{
    Ship* ship = orr_write(run, Ship);
    for (uint32_t i = 0; i < run->count; i++) {
        ship[i].shots += run->tick == 31 ? secret : 1;
    }
}

ORR_TEST(replay_that_differs_names_the_first_tick)
{
    stage s;
    orr_recording* recording = orr_recording_create();
    orr_replay_report report = {0};
    for (secret = 1; secret <= 2; secret++) {
        stage_make(&s, &(orr_world_desc){.rate_hz = 90}, true);
        dev = (device){.banned = secret == 2};
        KIT_SYSTEM(s.world, .name = "cheat", .query = "write Ship", .run = cheat);
        CHECK_OK(orr_set(s.world, s.bodies[0], Ship, {0}));
        if (secret == 1) {
            CHECK_OK(orr_record(s.world, recording, &(orr_record_desc){.hash_every = 1}));
            stage_run(&s, 3, 100);
            CHECK_OK(orr_record_end(s.world));
        } else {
            CHECK_RESULT(orr_replay(s.world, recording, NULL, &report), ORR_ERR_CONFLICT);
            CHECK_CONTAINS(s.k.errors.text, "was the last that agreed");
            CHECK_EQ(report.differs_tick, report.agreed_tick + 1);
            orr_pipeline_stats stats;
            CHECK_OK(orr_pipeline_stats_get(s.world, (orr_pipeline){1}, &stats));
            CHECK_EQ(stats.tick, 31);
            CHECK_EQ(orr_world_tick(s.world), report.differs_tick);
        }
        stage_end(&s);
    }
    orr_recording_destroy(recording);
    dev = (device){0};
}

ORR_TEST(recording_reports_a_change_that_is_not_recorded)
{
    stage s;
    orr_recording* recording = orr_recording_create();
    orr_recording_stats stats;
    stage_make(&s, &(orr_world_desc){.rate_hz = 60}, true);
    CHECK_OK(orr_record(s.world, recording, &(orr_record_desc){.hash_every = 1}));
    CHECK_OK(orr_run_until(s.world, 7, NULL, NULL));
    CHECK_STR(s.log, "");
    CHECK_OK(orr_set(s.world, s.bodies[0], Body, {9, 9, 9}));
    CHECK_OK(orr_step(s.world, 3));
    CHECK_CONTAINS(s.log, "between tick 7 and 8");
    CHECK_CONTAINS(s.log, "orr_post()");
    CHECK_OK(orr_record_end(s.world));
    orr_recording_stats_get(recording, &stats);
    CHECK(stats.changed);
    CHECK_EQ(stats.changed_tick, 7);
    CHECK_OK(orr_recording_cut(recording, 7));
    orr_recording_stats_get(recording, &stats);
    CHECK(stats.changed); // Between tick 7 and the next; the ticks before are valid:
    CHECK_OK(orr_recording_cut(recording, 6));
    orr_recording_stats_get(recording, &stats);
    CHECK(!stats.changed);
    CHECK_EQ(stats.tick_last, 6);
    stage_end(&s);
    orr_recording_destroy(recording);
}

// ---- cut and continue ---------------------------------------------------------------------------

ORR_TEST(replay_stops_at_a_tick_and_the_world_continues)
{
    orr_world_desc desc = {.rate_hz = 60};
    take t = take_run(&desc, 11, 100, 10);
    stage s;
    orr_recording_stats stats;
    stage_make(&s, &desc, true);
    CHECK_OK(orr_replay(s.world, t.recording, &(orr_replay_desc){.until_tick = 50}, NULL));
    CHECK_EQ(orr_world_tick(s.world), 50);
    CHECK_RESULT(orr_record(s.world, t.recording, &(orr_record_desc){.append = true}),
                 ORR_ERR_CONFLICT);
    CHECK_CONTAINS(s.k.errors.text, "cut it");
    CHECK_OK(orr_recording_cut(t.recording, 50));
    CHECK_OK(orr_record(s.world, t.recording, &(orr_record_desc){.append = true, .hash_every = 1}));
    dev = (device){.number = 77};
    stage_run(&s, 12, 40);
    CHECK_OK(orr_record_end(s.world));
    t.hash = orr_world_hash(s.world);
    t.tick = orr_world_tick(s.world);
    orr_recording_stats_get(t.recording, &stats);
    CHECK_EQ(stats.tick_last, t.tick);
    CHECK(!stats.changed);
    stage_end(&s);
    dev.banned = true;
    take_replay(&t, &desc);
    take_end(&t);
}

ORR_TEST(replay_continues_from_the_tick_of_the_world)
{
    orr_world_desc desc = {0};
    take t = take_run(&desc, 21, 60, 1);
    stage s;
    stage_make(&s, &desc, true);
    orr_replay_report report;
    for (uint64_t until = 13; until < t.tick; until += 13) {
        CHECK_OK(
            orr_replay(s.world, t.recording, &(orr_replay_desc){.until_tick = until}, &report));
        CHECK_EQ(orr_world_tick(s.world), until);
    }
    CHECK_OK(orr_replay(s.world, t.recording, NULL, &report));
    CHECK(orr_world_hash(s.world) == t.hash);
    CHECK_OK(orr_replay(s.world, t.recording, NULL, &report)); // Nothing is left to replay.
    CHECK_EQ(report.ticks, 0);
    dev.banned = false;
    CHECK_OK(orr_step(s.world, 1));
    CHECK_RESULT(orr_replay(s.world, t.recording, NULL, NULL), ORR_ERR_PAST);
    stage_end(&s);
    take_end(&t);
}

static bool stop_at_20(void* user, orr_world* world)
{
    ++*(uint32_t*)user;
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_STATE);
    CHECK_RESULT(orr_post(world, call_nothing, NULL, 0), ORR_ERR_STATE);
    return orr_world_tick(world) < 20;
}

ORR_TEST(replay_calls_on_tick_and_can_be_stopped)
{
    orr_world_desc desc = {.rate_hz = 60};
    take t = take_run(&desc, 4, 40, 1);
    stage s;
    stage_make(&s, &desc, true);
    uint32_t shown = 0;
    CHECK_OK(orr_replay(s.world, t.recording,
                        &(orr_replay_desc){.on_tick = stop_at_20, .user = &shown}, NULL));
    CHECK_EQ(shown, 20);
    CHECK_EQ(orr_world_tick(s.world), 20);
    CHECK_OK(orr_replay(s.world, t.recording, NULL, NULL));
    CHECK(orr_world_hash(s.world) == t.hash);
    stage_end(&s);
    take_end(&t);
}

ORR_TEST(replay_in_real_time_takes_as_long_as_the_run_took)
{
    orr_world_desc desc = {.rate_hz = 50};
    take t = take_run(&desc, 4, 40, 0);
    fake_platform fake;
    fake_platform_init(&fake);
    for (uint32_t i = 0; i < 2; i++) {
        stage s;
        desc.platform = &fake.table;
        stage_make(&s, &desc, true);
        uint64_t before = fake.now_ns;
        CHECK_OK(
            orr_replay(s.world, t.recording, &(orr_replay_desc){.rate = i == 0 ? 1 : 4}, NULL));
        orr_pipeline_stats stats;
        CHECK_OK(orr_pipeline_stats_get(s.world, (orr_pipeline){1}, &stats));
        double seconds = (double)(fake.now_ns - before) * 1e-9 * (i == 0 ? 1 : 4);
        CHECK(seconds > (double)stats.tick / 50 - 0.03 && seconds < (double)stats.tick / 50 + 0.03);
        stage_end(&s);
    }
    take_end(&t);
}

ORR_TEST(recorded_world_that_travels_back_records_again_from_there)
{
    orr_world_desc desc = {.rate_hz = 60};
    take t = {.recording = orr_recording_create()};
    stage s;
    orr_recording_stats stats;
    stage_make(&s, &desc, true);
    dev = (device){.number = 6};
    CHECK_OK(orr_history_set(s.world, &(orr_history_desc){.recent = 64}));
    CHECK_OK(orr_record(s.world, t.recording, &(orr_record_desc){.hash_every = 1}));
    for (uint32_t i = 0; i < 6; i++) { // A step forward and half a step back.
        uint64_t before = orr_world_tick(s.world);
        stage_run(&s, 40 + i, 12);
        uint64_t tick = before + (orr_world_tick(s.world) - before) / 2;
        CHECK_OK(orr_time_travel(s.world, tick));
    }
    stage_run(&s, 39, 12);
    CHECK_OK(orr_record_end(s.world));
    t.hash = orr_world_hash(s.world);
    t.tick = orr_world_tick(s.world);
    orr_recording_stats_get(t.recording, &stats);
    CHECK_EQ(stats.tick_last, t.tick);
    CHECK(!stats.changed && !stats.refused);
    CHECK_STR(s.log, "");
    stage_end(&s);
    dev.banned = true;
    take_replay(&t, &desc);
    take_end(&t);
}

// ---- posting in lockstep ------------------------------------------------------------------------

static void call_say(orr_world* world, void* data, size_t size)
{
    (void)world, (void)size;
    kit_say(data);
}

static void call_step(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_STATE);
}

static void post_from_inside(orr_run* run)
{
    CHECK_RESULT(orr_post(run->world, call_nothing, NULL, 0), ORR_ERR_STATE);
}

ORR_TEST(post_in_lockstep_runs_when_the_next_tick_begins)
{
    stage s;
    stage_make(&s, &(orr_world_desc){.rate_hz = 60}, false);
    kit_line[0] = '\0';
    CHECK_OK(orr_post(s.world, call_say, "a", 2));
    CHECK_OK(orr_post_exclusive(s.world, call_say, "b", 2));
    CHECK_OK(orr_post(s.world, call_step, NULL, 0));
    KIT_SAID("");
    CHECK_RESULT(orr_step(s.world, 2), ORR_ERR_STATE);
    KIT_SAID("a b");
    CHECK_EQ(s.k.errors.count, 1);
    KIT_SYSTEM(s.world, .name = "inside", .query = "Body", .once = true, .run = post_from_inside);
    CHECK_RESULT(orr_step(s.world, 1), ORR_ERR_STATE);
    CHECK_CONTAINS(s.k.errors.text, "'inside' is part of the simulation");
    CHECK_OK(orr_post(s.world, call_say, "c", 2)); // Never executed.
    stage_end(&s);
    KIT_SAID("");
}

// ---- wrong uses ---------------------------------------------------------------------------------

ORR_TEST(record_and_replay_at_the_wrong_moment_are_refused)
{
    stage s;
    orr_recording* a = orr_recording_create();
    orr_recording* b = orr_recording_create();
    stage_make(&s, NULL, true);
    CHECK_RESULT(orr_record_end(s.world), ORR_ERR_STATE);
    CHECK_RESULT(orr_replay(s.world, a, NULL, NULL), ORR_ERR_STATE);
    CHECK_CONTAINS(s.k.errors.text, "empty");
    CHECK_RESULT(orr_realtime(s.world, &(orr_realtime_desc){.replay = a}), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(s.k.errors.text, "orr_realtime: the recording is empty");
    CHECK_RESULT(orr_realtime(s.world, &(orr_realtime_desc){.paced = true}), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(s.k.errors.text, ".paced is a setting of replays");
    CHECK_RESULT(orr_realtime(s.world, &(orr_realtime_desc){.hashes = true}), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(s.k.errors.text, ".hashes is a setting of recordings");
    CHECK_OK(orr_record(s.world, a, NULL));
    CHECK_RESULT(orr_record(s.world, b, NULL), ORR_ERR_STATE);
    CHECK_RESULT(orr_replay(s.world, a, NULL, NULL), ORR_ERR_STATE);
    CHECK_RESULT(orr_recording_cut(a, 0), ORR_ERR_STATE);
    stage_end(&s); // Ends the recording.
    CHECK_OK(orr_recording_cut(a, 0));
    CHECK_RESULT(orr_recording_cut(a, 1), ORR_ERR_PAST);
    orr_recording_destroy(a);
    orr_recording_destroy(b);
}

ORR_TEST(call_names_are_unique)
{
    stage s;
    stage_make(&s, NULL, true);
    CHECK_OK(orr_call_register(s.world, "kick", call_kick, sizeof(kick))); // Again.
    CHECK_RESULT(orr_call_register(s.world, "kick", call_spawn, sizeof(uint32_t)),
                 ORR_ERR_CONFLICT);
    CHECK_RESULT(orr_call_register(s.world, "other", call_kick, sizeof(kick)), ORR_ERR_CONFLICT);
    CHECK_RESULT(orr_call_register(s.world, "two words", call_step, 0), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_call_register(s.world, NULL, call_step, 0), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_call_register(s.world, "none", NULL, 0), ORR_ERR_ARGUMENT);
    stage_end(&s);
}

// ---- random travels while recording -------------------------------------------------------------

static void recorded_act(stage* s, uint64_t seed, uint32_t i)
{
    uint64_t chance = test_random(), tick = orr_world_tick(s->world);
    stage_input(s, seed, i);
    switch (chance % 8) {
    case 0:
        CHECK_OK(orr_remember(s->world));
        break;
    case 1:
    case 2:
        tick -= tick > 0 ? (chance >> 8) % (tick < 20 ? tick : 20) : 0;
        if (orr_remembered(s->world, tick)) {
            CHECK_OK(orr_time_travel(s->world, tick));
        }
        break;
    case 3:
        CHECK_OK(orr_time_travel(s->world, tick + (chance >> 8) % 4));
        break;
    case 4:
        CHECK_OK(orr_step(s->world, 1 + (uint32_t)(chance >> 8) % 3));
        break;
    default:
        CHECK_OK(orr_update(s->world, (chance >> 8) % 40000000));
    }
}

ORR_TEST(recording_of_random_travels_replays_to_the_same_world)
{
    for (uint32_t round = 0; round < 12; round++) {
        orr_world_desc desc = {.rate_hz = round % 2 != 0 ? 60 : 0, .workers = round % 3};
        uint64_t seed = test_random();
        stage s;
        orr_recording* recording = orr_recording_create();
        stage_make(&s, &desc, true);
        dev = (device){.number = seed};
        if (round % 4 < 2) {
            CHECK_OK(orr_history_set(s.world, &(orr_history_desc){.recent = 12, .every = 5}));
        }
        CHECK_OK(orr_record(s.world, recording, &(orr_record_desc){.hash_every = 1 + round % 3}));
        for (uint32_t i = 0; i < 80; i++) {
            recorded_act(&s, seed, i);
        }
        CHECK_OK(orr_record_end(s.world));
        orr_recording_stats stats;
        orr_recording_stats_get(recording, &stats);
        CHECK(!stats.changed && !stats.refused);
        uint64_t hash = orr_world_hash(s.world), tick = orr_world_tick(s.world);
        CHECK_STR(s.log, "");
        stage_end(&s);
        stage_make(&s, &desc, true);
        dev = (device){.banned = true};
        CHECK_OK(orr_replay(s.world, recording, NULL, NULL));
        CHECK_EQ(orr_world_tick(s.world), tick);
        CHECK(orr_world_hash(s.world) == hash);
        stage_end(&s);
        orr_recording_destroy(recording);
    }
}

// ---- a system with a user and a state -----------------------------------------------------------

static void tally_up(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        orr_state(run, Score)->booms++;
    }
    ++*(uint32_t*)orr_run_user(run);
}

static orr_world* tally_make(kit* k, const orr_world_desc* desc, uint32_t* calls,
                             orr_entity* entity)
{
    orr_world* world = kit_begin(k, desc);
    ORR_REGISTER(world, Body, Score);
    KIT_SYSTEM(world, .name = "wander", .query = "write Body", .parallel = true, .run = wander);
    KIT_SYSTEM(world, .name = "tally", .kind = ORR_INDIRECT, .query = "Body", .run = tally_up,
               .user = calls, .state = ORR_TYPE(Score));
    CHECK_OK(orr_call_register(world, "kick", call_kick, sizeof(kick)));
    *entity = orr_create(world);
    CHECK_OK(orr_set(world, *entity, Body, {1, 0, 0}));
    return world;
}

ORR_TEST(recording_with_a_travel_of_a_system_with_user_and_state_replays)
{
    for (uint32_t workers = 0; workers < 3; workers += 2) {
        orr_world_desc desc = {.rate_hz = 60, .workers = workers};
        kit k;
        uint32_t calls = 0;
        orr_entity entity;
        orr_world* world = tally_make(&k, &desc, &calls, &entity);
        orr_recording* recording = orr_recording_create();
        CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 16}));
        CHECK_OK(orr_record(world, recording, &(orr_record_desc){.hash_every = 1}));
        KIT_STEP(world, 4);
        for (uint32_t i = 0; i < 3; i++) {
            struct kick kick_data = {entity.id, 5, 0};
            CHECK_OK(orr_post(world, call_kick, &kick_data, sizeof kick_data));
            KIT_STEP(world, 3);
            CHECK_OK(orr_time_travel(world, 4 + i));
            KIT_STEP(world, 1);
        }
        CHECK_OK(orr_record_end(world));
        uint64_t hash = orr_world_hash(world), tick = orr_world_tick(world);
        kit_end(&k);
        world = tally_make(&k, &desc, &calls, &entity);
        CHECK_OK(orr_replay(world, recording, NULL, NULL));
        CHECK_STR(k.errors.text, "");
        CHECK_EQ(orr_world_tick(world), tick);
        CHECK(orr_world_hash(world) == hash);
        kit_end(&k);
        orr_recording_destroy(recording);
    }
}
