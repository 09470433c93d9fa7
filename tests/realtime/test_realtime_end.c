// SPDX-License-Identifier: MIT
// How a run in real time ends, and what is refused while it runs: limits, orr_stop() from
// everywhere, refusals in one pipeline while others wait, lockstep and further runs afterwards.
// Random schedules check that no thread waits for ever.
#include "realtime/rig_kit.h"

// ---- limits -------------------------------------------------------------------------------------

RIG_TEST(limits_of_time_and_ticks_end_a_run_and_the_next_run_continues, 0)
{
    rig_open(platform, 100);
    rig_line* a = rig_add(NULL, 3 * MS, NULL);
    rig_line* b = rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 50}, 0, NULL);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.for_ns = 95 * MS}));
    EXPECT_EQ(rig_now(), 95 * MS);
    EXPECT_EQ(a->count, 9);
    EXPECT_EQ(b->count, 4);
    // World time is 95.
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 2}));
    EXPECT_EQ(a->count, 11);
    EXPECT_EQ(a->ticks[9].at_ns, 100 * MS);
    EXPECT_EQ(a->ticks[10].at_ns, 110 * MS);
    EXPECT_EQ(rig_stats(a).ticks, 2);
    // In lockstep ticks are due at 120 (b was due at 100), 130 …
    uint64_t tick = orr_world_tick(r.world);
    EXPECT_OK(orr_step(r.world, 4));
    EXPECT_EQ(a->count, 15);
    EXPECT_EQ(b->count, 7);
    EXPECT_EQ(orr_world_tick(r.world) - tick, 4 + 2);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 1}));
    EXPECT_EQ(a->ticks[15].at_ns, rig_now() - 3 * MS);
    EXPECT_EQ(r.errors.count, 0);
    rig_close();
}

// With both limits, the first limit that is reached ends the run.
RIG_TEST(first_of_two_limits_ends_a_run, 0)
{
    rig_open(platform, 100);
    rig_line* a = rig_add(NULL, 0, NULL);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.for_ns = 1000 * MS, .ticks = 3}));
    EXPECT_EQ(a->count, 3);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.for_ns = 25 * MS, .ticks = 100}));
    EXPECT_EQ(a->count, 5);
    rig_close();
}

// ---- orr_stop() ---------------------------------------------------------------------------------

static void lockstep_goes_on(void)
{
    uint64_t tick = orr_world_tick(r.world);
    uint32_t count = r.lines[0].count;
    EXPECT_OK(orr_world_validate(r.world));
    for (uint32_t i = 0; i < r.line_count; i++) {
        r.lines[i].work_ns = r.lines[i].work_ns > 0 ? MS : 0; // A continuous line must take time.
        r.lines[i].act = NULL;
    }
    EXPECT_OK(orr_step(r.world, 3));
    EXPECT_EQ(r.lines[0].count, count + 3);
    EXPECT(orr_world_tick(r.world) >= tick + 3);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 2}));
    EXPECT_EQ(r.lines[0].count, count + 5);
    EXPECT_EQ(r.errors.count, 0);
    rig_close();
}

static void stop_in_tick_3(orr_run* run, rig_line* line)
{
    if (line->count == 3) {
        orr_stop(run->world);
        orr_stop(run->world);
    }
}

RIG_TEST(stop_in_a_system_ends_the_run_after_its_tick, 20)
{
    rig_open(platform, 100);
    orr_stop(r.world); // No run: no effect.
    rig_line* a = rig_add(NULL, 0, stop_in_tick_3);
    rig_line* b = rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 50}, 15 * MS, NULL);
    rig_add(&(orr_pipeline_desc){.name = "c"}, 4 * MS, NULL);
    EXPECT_OK(orr_realtime(r.world, NULL));
    EXPECT(a->count >= 3 && b->count >= 1);
    orr_stop(r.world);
    lockstep_goes_on();
}

static void stop_call(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    r.calls++;
    orr_stop(world);
}

static void stop_by_post(void* arg)
{
    rig_sleep(33 * MS);
    bool exclusive = *(const bool*)arg;
    EXPECT_OK(exclusive ? orr_post_exclusive(r.world, stop_call, NULL, 0)
                        : orr_post(r.world, stop_call, NULL, 0));
    // Both posts run, the second one possibly after all pipelines have ended.
    orr_result result = orr_post_exclusive(r.world, rig_called, NULL, 0);
    EXPECT(result == ORR_OK || result == ORR_ERR_STATE);
    r.called_ns = result == ORR_OK ? 2 : 1;
}

static void stop_of_a_post(const orr_platform* platform, bool exclusive)
{
    rig_open(platform, 100);
    rig_add(NULL, 0, NULL);
    rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 50}, 15 * MS, NULL);
    r.outside = controlled_start(r.base, "outside", stop_by_post, &exclusive);
    EXPECT_OK(orr_realtime(r.world, NULL));
    rig_outside_ends();
    EXPECT(r.calls >= 1);
    r.errors.count = 0;
    lockstep_goes_on();
}

RIG_TEST(stop_in_a_posted_call_ends_the_run, 30)
{
    stop_of_a_post(platform, false);
}

RIG_TEST(stop_at_a_sync_point_ends_the_run, 30)
{
    stop_of_a_post(platform, true);
}

static void stop_paused(void* arg)
{
    (void)arg;
    rig_sleep(25 * MS);
    orr_pause(r.world, true);
    rig_sleep(25 * MS);
    orr_stop(r.world);
    orr_stop(r.world);
}

RIG_TEST(stop_while_paused_ends_the_run, 30)
{
    rig_open(platform, 100);
    rig_line* a = rig_add(NULL, 0, NULL);
    rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 50}, 0, NULL);
    rig_outside(stop_paused);
    EXPECT_OK(orr_realtime(r.world, NULL));
    rig_outside_ends();
    EXPECT(orr_paused(r.world) && a->count >= 1);
    orr_pause(r.world, false);
    lockstep_goes_on();
}

static void stop_gathering(void* arg)
{
    (void)arg;
    rig_sleep(52 * MS); // The second line has a long tick.
    EXPECT_OK(orr_post_exclusive(r.world, rig_called, NULL, 0));
    rig_sleep(2 * MS);
    orr_stop(r.world);
}

RIG_TEST(stop_while_a_sync_point_gathers_ends_the_run_and_the_call_runs, 30)
{
    rig_open(platform, 100);
    rig_add(NULL, 0, NULL);
    rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 20}, 40 * MS, NULL);
    rig_add(&(orr_pipeline_desc){.name = "c", .rate_hz = 100}, 0, NULL);
    rig_outside(stop_gathering);
    EXPECT_OK(orr_realtime(r.world, NULL));
    rig_outside_ends();
    EXPECT_EQ(r.calls, 1);
    lockstep_goes_on();
}

static void stop_at_once(void* arg)
{
    (void)arg;
    while (!r.calls) {
        orr_stop(r.world);
        rig_sleep(MS);
    }
}

// At any moment of the beginning.
RIG_TEST(stop_while_a_run_begins_ends_the_run, 60)
{
    rig_open(platform, 100);
    rig_add(NULL, 0, NULL);
    rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 20}, 0, NULL);
    rig_outside(stop_at_once);
    EXPECT_OK(orr_realtime(r.world, NULL));
    r.calls = 1;
    rig_outside_ends();
    lockstep_goes_on();
}

// ---- posts and pauses wake sleeping pipelines ---------------------------------------------------

// Waits until the counter reaches `wanted`. At first only by yielding, while no sleep ends: the
// thread that runs the call must have been woken.
static void post_wait(const uint32_t* count, uint32_t wanted, const char* what)
{
    for (uint32_t i = 0; *count < wanted; i++) {
        controlled_check(i < 100, "%s %u did not run", what, wanted);
        if (i < 20) {
            r.table.thread_yield(r.table.user);
        } else {
            rig_sleep(MS);
        }
    }
}

// Posts again as soon as the last call ran, while pipelines are about to sleep.
static void post_paused(void* arg)
{
    (void)arg;
    for (uint32_t i = 1; i <= 5; i++) {
        EXPECT_OK(orr_post(r.world, rig_called, NULL, 0));
        post_wait(&r.calls, i, "call");
    }
    for (uint32_t i = 1; i <= 5; i++) {
        EXPECT_OK(orr_realtime_step(r.world, 1));
        post_wait(&r.lines[0].count, i, "step");
    }
    orr_pause(r.world, false);
    while (r.lines[0].count < 8 || r.lines[1].count < 4) {
        rig_sleep(MS);
        controlled_check(rig_now() < 400 * MS, "the end of the pause wakes no pipeline");
    }
    orr_pause(r.world, true);
    orr_stop(r.world);
}

static void post_begin(orr_run* run, rig_line* line)
{
    (void)run;
    if (line->count == 1) {
        rig_outside(post_paused);
    }
}

// A thread that is about to sleep when a call is posted or a pause ends does not sleep for ever.
RIG_TEST(posts_and_ends_of_pauses_are_never_missed, 300)
{
    rig_open(platform, 100);
    rig_add(NULL, 0, NULL);
    rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 50}, 0, NULL);
    rig_add(&(orr_pipeline_desc){.name = "o", .spectator = true}, MS, post_begin);
    orr_pause(r.world, true);
    EXPECT_OK(orr_realtime(r.world, NULL));
    rig_outside_ends();
    orr_pause(r.world, false);
    lockstep_goes_on();
}

static void pause_again_and_again(void* arg)
{
    (void)arg;
    rig_sleep(25 * MS);
    for (uint32_t i = 0; i < 5; i++) {
        orr_pause(r.world, true);
        uint32_t count = r.lines[0].count;
        EXPECT_OK(orr_realtime_step(r.world, 1));
        post_wait(&r.lines[0].count, count + 1, "step");
        orr_pause(r.world, false);
        post_wait(&r.lines[0].count, count + 2, "end of a pause, tick");
    }
    orr_stop(r.world);
}

// No other thread looks at the clock.
RIG_TEST(end_of_a_pause_wakes_a_pipeline_that_is_about_to_sleep, 300)
{
    rig_open(platform, 100);
    rig_add(NULL, 0, NULL);
    rig_outside(pause_again_and_again);
    EXPECT_OK(orr_realtime(r.world, NULL));
    rig_outside_ends();
    lockstep_goes_on();
}

static void post_again(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    r.calls++;
    orr_result result = orr_post(world, post_again, NULL, 0);
    EXPECT(result == ORR_OK || result == ORR_ERR_STATE);
}

static void post_in_tick_2(orr_run* run, rig_line* line)
{
    if (line->count == 2) {
        EXPECT_OK(orr_post(run->world, post_again, NULL, 0));
        orr_stop(run->world);
    }
}

// A call that posts itself again runs once more at the end, then its post is refused: it does not
// prolong the run.
RIG_TEST(call_that_posts_itself_does_not_prolong_the_run, 10)
{
    rig_open(platform, 100);
    rig_add(NULL, 0, post_in_tick_2);
    EXPECT_OK(orr_realtime(r.world, NULL));
    EXPECT_EQ(r.calls, 1);
    EXPECT_EQ(r.errors.count, 1);
    EXPECT_ERROR("nothing was posted");
    r.errors.count = 0;
    lockstep_goes_on();
}

static bool again_exclusive;

static void again_called(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    rig_sleep(MS); // The next tick of the first pipeline is 10 ms away.
    r.calls++;
    orr_result result = again_exclusive ? orr_post_exclusive(world, again_called, NULL, 0)
                                        : orr_post(world, again_called, NULL, 0);
    EXPECT(result == ORR_OK || result == ORR_ERR_STATE);
}

static void again_in_tick_2(orr_run* run, rig_line* line)
{
    if (line->count == 2) {
        again_called(run->world, NULL, 0);
    }
}

static void again_and_again(const orr_platform* platform, bool exclusive)
{
    again_exclusive = exclusive;
    rig_open(platform, 100);
    rig_line* a = rig_add(NULL, 0, again_in_tick_2);
    rig_line* b = rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 50}, 0, NULL);
    for (uint32_t run = 0; run < 2; run++) {
        a->count = b->count = r.calls = 0;
        EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 10}));
        EXPECT_EQ(a->count, 10);
        EXPECT(b->count >= 3);
        EXPECT(r.calls > 20); // Many calls between two ticks.
        r.errors.count = 0;   // The last post is refused.
    }
    lockstep_goes_on();
}

// A posted call is always waiting; ticks that are due run first.
RIG_TEST(call_that_posts_itself_does_not_stop_ticks, 10)
{
    again_and_again(platform, false);
}

RIG_TEST(exclusive_call_that_posts_itself_does_not_stop_ticks, 10)
{
    again_and_again(platform, true);
}

// ---- the caller's thread ------------------------------------------------------------------------

static void stop_outside_33(void* arg)
{
    (void)arg;
    rig_sleep(33 * MS);
    orr_stop(r.world);
}

static uint32_t on_main;

static void main_system(orr_run* run)
{
    (void)run;
    EXPECT_EQ(controlled_self(), 0);
    on_main++;
    rig_sleep(4 * MS);
}

// Two pipelines wait for the caller's thread. One of them waits while the run is stopped.
RIG_TEST(stop_while_systems_wait_for_the_callers_thread_ends_the_run, 30)
{
    rig_open(platform, 100);
    on_main = 0;
    rig_add(NULL, 0, NULL);
    rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 100}, 0, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        orr_system system =
            orr_system_add(r.world, &(orr_system_desc){.name = i == 0 ? "one" : "two",
                                                       .pipeline = i == 0 ? "main" : "b",
                                                       .once = true,
                                                       .by_id = "Position",
                                                       .main_thread = true,
                                                       .run = main_system});
        EXPECT(system.id != 0);
    }
    rig_outside(stop_outside_33);
    EXPECT_OK(orr_realtime(r.world, NULL));
    rig_outside_ends();
    EXPECT(on_main >= 2);
    lockstep_goes_on();
}

// ---- refusals -----------------------------------------------------------------------------------

RIG_TEST(missing_thread_of_the_second_pipeline_is_reported_and_lockstep_continues, 20)
{
    rig_open(platform, 100);
    rig_add(NULL, 0, NULL);
    rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 50}, 0, NULL);
    rig_add(&(orr_pipeline_desc){.name = "c"}, MS, NULL);
    rig_thread_limit(1);
    EXPECT_EQ(orr_realtime(r.world, NULL), ORR_ERR_STATE);
    EXPECT_EQ(r.errors.count, 1);
    EXPECT_ERROR("no thread for pipeline 'b'");
    EXPECT_EQ(r.lines[0].count + r.lines[1].count + r.lines[2].count, 0);
    rig_thread_limit(UINT32_MAX);
    r.errors.count = 0;
    lockstep_goes_on();
}

static void sync_outside(void* arg)
{
    (void)arg;
    rig_sleep(84 * MS); // During tick 2 of b.
    orr_result result = orr_post_exclusive(r.world, rig_called, NULL, 0);
    EXPECT(result == ORR_OK || result == ORR_ERR_MEMORY || result == ORR_ERR_STATE);
}

ORR_STRUCT(Grown, (uint64_t, words, 16))

static bool grow_none;
static uint64_t grow_refused; // The tick in which memory is refused; 0: none.

// Sends changes whose commit is refused memory.
static void grow(orr_run* run)
{
    for (uint32_t i = 0; !grow_none && i < 64; i++) {
        orr_entity entity = orr_send_create(run);
        orr_send_add(run, entity, Grown, {{0}});
    }
    rig_memory_refused(grow_refused > 0 && run->tick >= grow_refused);
}

static void grow_add(const char* pipeline)
{
    ORR_REGISTER(r.world, Grown);
    EXPECT(orr_system_add(r.world, &(orr_system_desc){.name = "grow",
                                                      .pipeline = pipeline,
                                                      .once = true,
                                                      .creates = "Grown",
                                                      .creates_max = 64,
                                                      .run = grow})
               .id != 0);
}

// Memory is refused to a tick of one pipeline, while another gathers for a sync point and a third
// sleeps. The tick continues when there is memory.
static void refused_in(const orr_platform* platform, const char* pipeline, uint64_t tick)
{
    rig_open(platform, 100);
    rig_add(NULL, 0, NULL);
    rig_line* b = rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 25}, 10 * MS, NULL);
    rig_add(&(orr_pipeline_desc){.name = "c", .rate_hz = 1}, 0, NULL);
    grow_add(pipeline);
    grow_refused = tick;
    rig_outside(sync_outside);
    orr_result result = orr_realtime(r.world, NULL);
    grow_refused = 0;
    EXPECT_EQ(result, ORR_ERR_MEMORY);
    rig_memory_refused(false);
    rig_outside_ends();
    EXPECT(r.errors.count >= 1 && b->count + r.lines[0].count >= 1);
    EXPECT(orr_tick_open(r.world));
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 5}));
    EXPECT(orr_entity_count(r.world) % 64 == 0 && orr_entity_count(r.world) > 0);
    r.errors.count = 0;
    lockstep_goes_on();
}

RIG_TEST(refusal_in_one_pipeline_ends_the_run_of_all, 30)
{
    refused_in(platform, "b", 2);
}

RIG_TEST(refusal_in_the_first_pipeline_ends_the_run_of_all, 30)
{
    refused_in(platform, "main", 2);
}

RIG_TEST(refusal_in_the_first_tick_ends_the_run_of_all, 30)
{
    refused_in(platform, "b", 1);
    refused_in(platform, "main", 1);
}

// ---- only one run at a time ---------------------------------------------------------------------

static bool never(void* user, orr_world* world)
{
    (void)user;
    (void)world;
    return false;
}

static void all_are_refused(orr_world* world, const char* words)
{
    r.errors.count = 0;
    EXPECT_EQ(orr_realtime(world, &(orr_realtime_desc){.ticks = 1}), ORR_ERR_STATE);
    EXPECT_ERROR(words);
    EXPECT_EQ(orr_step(world, 1), ORR_ERR_STATE);
    EXPECT_ERROR(words);
    EXPECT_EQ(orr_update(world, 20 * MS), ORR_ERR_STATE);
    EXPECT_ERROR(words);
    EXPECT_EQ(orr_run_until(world, 1000, never, NULL), ORR_ERR_STATE);
    EXPECT_ERROR(words);
    EXPECT_EQ(r.errors.count, 4);
    orr_world_destroy(world);
    EXPECT_EQ(r.errors.count, 5);
    EXPECT_ERROR("orr_world_destroy: ");
    EXPECT_EQ(orr_pipeline_add(world, &(orr_pipeline_desc){.name = "late"}).id, 0);
    EXPECT_EQ(r.errors.count, 6);
    r.errors.count = 0;
    r.calls++;
}

static void refused_inside(orr_run* run, rig_line* line)
{
    if (line->count == 2) {
        all_are_refused(run->world, "not allowed inside a system ('main')");
    }
}

static void refused_call(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    all_are_refused(world, "the world runs in real time");
}

static void refused_outside(void* arg)
{
    (void)arg;
    rig_sleep(35 * MS); // During a tick of b.
    all_are_refused(r.world, "the world runs in real time");
    rig_sleep(11 * MS); // During no tick.
    all_are_refused(r.world, "the world runs in real time");
    EXPECT_OK(orr_post(r.world, refused_call, NULL, 0));
    EXPECT_OK(orr_post_exclusive(r.world, refused_call, NULL, 0));
    rig_sleep(10 * MS);
    EXPECT_EQ(r.calls, 5);
    orr_stop(r.world);
    // The last calls run after all pipelines have ended.
    if (orr_post(r.world, refused_call, NULL, 0) != ORR_OK) {
        r.calls++;
    }
}

RIG_TEST(second_run_steps_and_destruction_are_refused_from_everywhere, 0)
{
    rig_open(platform, 100);
    rig_add(NULL, 0, refused_inside);
    rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 50}, 6 * MS, NULL);
    rig_outside(refused_outside);
    EXPECT_EQ(orr_realtime(r.world, NULL), ORR_ERR_STATE);
    rig_outside_ends();
    EXPECT_EQ(r.calls, 6);
    r.errors.count = 0;
    lockstep_goes_on();
}

// ---- replays that cannot follow the recording ---------------------------------------------------

static void replay_rows(void)
{
    rig_add(NULL, 0, NULL);
    rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 50}, 0, NULL);
    rig_add(&(orr_pipeline_desc){.name = "c", .rate_hz = 30}, 0, NULL);
    grow_add("b");
}

// Makes a recording, and a world to replay it on.
static orr_recording* replay_open(const orr_platform* platform)
{
    orr_recording* recording = orr_recording_create();
    rig_open(platform, 100);
    replay_rows();
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 8, .record = recording}));
    rig_close();
    rig_open(platform, 100);
    replay_rows();
    return recording;
}

// Memory is refused to a pipeline in a replay: the other pipelines do not wait for its turns.
RIG_TEST(replay_that_is_refused_memory_ends, 30)
{
    orr_recording* recording = replay_open(platform);
    grow_refused = 2;
    orr_result result = orr_realtime(r.world, &(orr_realtime_desc){.replay = recording});
    grow_refused = 0;
    controlled_check(result == ORR_ERR_MEMORY, "%s", r.errors.text);
    rig_memory_refused(false);
    r.errors.count = 0;
    lockstep_goes_on();
    orr_recording_destroy(recording);
}

static void switch_in_tick_2(orr_run* run, rig_line* line)
{
    if (line->count == 2) {
        (void)orr_system_enable(run->world, orr_system_find(run->world, "c"), false);
    }
}

static void grow_less(orr_run* run, rig_line* line)
{
    grow_none = line->count >= 2;
    (void)run;
}

// The replayed program does more or less than the recorded one: no thread waits for what does not
// happen.
static void replay_another(const orr_platform* platform, uint32_t line,
                           void (*act)(orr_run* run, rig_line* line))
{
    orr_recording* recording = replay_open(platform);
    r.lines[line].act = act;
    EXPECT_EQ(orr_realtime(r.world, &(orr_realtime_desc){.replay = recording}), ORR_ERR_CONFLICT);
    grow_none = false;
    r.errors.count = 0;
    orr_recording_destroy(recording);
    lockstep_goes_on();
}

RIG_TEST(replay_in_which_a_system_is_disabled_ends, 30)
{
    replay_another(platform, 0, switch_in_tick_2);
}

RIG_TEST(replay_in_which_less_is_sent_ends, 30)
{
    replay_another(platform, 1, grow_less);
}
