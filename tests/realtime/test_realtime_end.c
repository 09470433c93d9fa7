// SPDX-License-Identifier: MIT
// How a run in real time ends, and what is refused during it: limits, stops from everywhere,
// refusals in one pipeline while others wait, and lockstep and further runs afterwards. Also in
// random schedules: no pipeline waits for ever.
#include "realtime/rig_kit.h"

// ---- limits -------------------------------------------------------------------------------------------------------------------

RIG_TEST(limits_of_time_and_ticks_end_a_run_and_another_goes_on, 0)
{
    rig_open(platform, 100);
    rig_line* a = rig_add(NULL, 3 * MS, NULL);
    rig_line* b = rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 50}, 0, NULL);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.for_ns = 95 * MS}));
    EXPECT_EQ(rig_now(), 95 * MS);
    EXPECT_EQ(a->count, 9);
    EXPECT_EQ(b->count, 4);
    // The world stands at 95.
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 2}));
    EXPECT_EQ(a->count, 11);
    EXPECT_EQ(a->beats[9].at_ns, 100 * MS);
    EXPECT_EQ(a->beats[10].at_ns, 110 * MS);
    EXPECT_EQ(rig_stats(a).ticks, 2);
    // In lockstep ticks are due at 120 (b was it at 100), 130 …
    uint64_t tick = orr_world_tick(r.world);
    EXPECT_OK(orr_step(r.world, 4));
    EXPECT_EQ(a->count, 15);
    EXPECT_EQ(b->count, 7);
    EXPECT_EQ(orr_world_tick(r.world) - tick, 4 + 2);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 1}));
    EXPECT_EQ(a->beats[15].at_ns, rig_now() - 3 * MS);
    EXPECT_EQ(r.errors.count, 0);
    rig_close();
}

// Both limits; the first that comes ends it.
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

// ---- stops --------------------------------------------------------------------------------------------------------------------

static void lockstep_goes_on(void)
{
    uint64_t tick = orr_world_tick(r.world);
    uint32_t count = r.lines[0].count;
    EXPECT_OK(orr_world_validate(r.world));
    for (uint32_t i = 0; i < r.line_count; i++) {
        // A continuous pipeline must take time.
        r.lines[i].work_ns = r.lines[i].work_ns > 0 ? MS : 0;
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

RIG_TEST(stop_of_a_system_ends_when_its_tick_ended, 20)
{
    rig_open(platform, 100);
    orr_stop(r.world); // It does not run: nothing.
    rig_line* a = rig_add(NULL, 0, stop_in_tick_3);
    rig_line* b = rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 50}, 15 * MS, NULL);
    rig_add(&(orr_pipeline_desc){.name = "c"}, 4 * MS, NULL);
    EXPECT_OK(orr_realtime(r.world, NULL));
    EXPECT(a->count >= 3 && b->count >= 1);
    orr_stop(r.world);
    lockstep_goes_on();
}

static void stop_call(orr_world* world, void* data)
{
    (void)data;
    r.calls++;
    orr_stop(world);
}

static void stop_by_post(void* arg)
{
    rig_sleep(33 * MS);
    bool meeting = *(const bool*)arg;
    EXPECT_OK(meeting ? orr_post_exclusive(r.world, stop_call, NULL, 0)
                      : orr_post(r.world, stop_call, NULL, 0));
    // Both are done, the second perhaps when all have ended.
    orr_result result = orr_post_exclusive(r.world, rig_called, NULL, 0);
    EXPECT(result == ORR_OK || result == ORR_ERR_STATE);
    r.called_ns = result == ORR_OK ? 2 : 1;
}

static void stop_of_a_post(const orr_platform* platform, bool meeting)
{
    rig_open(platform, 100);
    rig_add(NULL, 0, NULL);
    rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 50}, 15 * MS, NULL);
    r.outside = controlled_start(r.base, "outside", stop_by_post, &meeting);
    EXPECT_OK(orr_realtime(r.world, NULL));
    rig_outside_ends();
    EXPECT(r.calls >= 1);
    r.errors.count = 0;
    lockstep_goes_on();
}

RIG_TEST(stop_of_a_posted_call_ends_it, 30)
{
    stop_of_a_post(platform, false);
}

RIG_TEST(stop_at_a_meeting_ends_it, 30)
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

RIG_TEST(stop_while_paused_ends_it, 30)
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
    rig_sleep(52 * MS); // The second has a long tick.
    EXPECT_OK(orr_post_exclusive(r.world, rig_called, NULL, 0));
    rig_sleep(2 * MS);
    orr_stop(r.world);
}

RIG_TEST(stop_while_a_meeting_gathers_ends_it_and_the_call_is_done, 30)
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

// However early.
RIG_TEST(stop_while_it_begins_ends_it, 60)
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

// ---- posts and pauses are heard ------------------------------------------------------------------------------------------------------

// Until it is done. At first nobody's sleep is over meanwhile: whoever hears it is on the way.
static void post_wait(const uint32_t* count, uint32_t wanted, const char* what)
{
    for (uint32_t i = 0; *count < wanted; i++) {
        controlled_check(i < 100, "%s %u is not heard", what, wanted);
        if (i < 20) {
            r.table.thread_yield(r.table.user);
        } else {
            rig_sleep(MS);
        }
    }
}

// As soon as it was heard, and is about to sleep again, comes the next.
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
        controlled_check(rig_now() < 400 * MS, "the end of the pause is not heard");
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

// Whoever decides to sleep while a call comes, or a pause ends, does not sleep for ever.
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

// With nobody else who looks at the clock.
RIG_TEST(ends_of_pauses_wake_who_is_about_to_sleep, 300)
{
    rig_open(platform, 100);
    rig_add(NULL, 0, NULL);
    rig_outside(pause_again_and_again);
    EXPECT_OK(orr_realtime(r.world, NULL));
    rig_outside_ends();
    lockstep_goes_on();
}

static void post_again(orr_world* world, void* data)
{
    (void)data;
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

// A call that posts itself again is done once more at the end, and then refused: it is no reason to go on.
RIG_TEST(call_that_posts_itself_does_not_keep_the_run_from_its_end, 10)
{
    rig_open(platform, 100);
    rig_add(NULL, 0, post_in_tick_2);
    EXPECT_OK(orr_realtime(r.world, NULL));
    EXPECT_EQ(r.calls, 1);
    EXPECT_EQ(r.errors.count, 1);
    EXPECT_WORDS("nothing was posted");
    r.errors.count = 0;
    lockstep_goes_on();
}

static bool again_meets;

static void again_called(orr_world* world, void* data)
{
    (void)data;
    rig_sleep(MS); // Of ten to the first pipeline's next tick.
    r.calls++;
    orr_result result = again_meets ? orr_post_exclusive(world, again_called, NULL, 0)
                                    : orr_post(world, again_called, NULL, 0);
    EXPECT(result == ORR_OK || result == ORR_ERR_STATE);
}

static void again_in_tick_2(orr_run* run, rig_line* line)
{
    if (line->count == 2) {
        again_called(run->world, NULL);
    }
}

static void again_and_again(const orr_platform* platform, bool meets)
{
    again_meets = meets;
    rig_open(platform, 100);
    rig_line* a = rig_add(NULL, 0, again_in_tick_2);
    rig_line* b = rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 50}, 0, NULL);
    for (uint32_t run = 0; run < 2; run++) {
        a->count = b->count = r.calls = 0;
        EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 10}));
        EXPECT_EQ(a->count, 10);
        EXPECT(b->count >= 3);
        EXPECT(r.calls > 20); // Many between two ticks.
        r.errors.count = 0;   // The last one is refused.
    }
    lockstep_goes_on();
}

// A call is always there to be done; ticks that are due go first.
RIG_TEST(call_that_posts_itself_lets_ticks_go_on, 10)
{
    again_and_again(platform, false);
}

RIG_TEST(call_that_posts_itself_for_a_meeting_lets_ticks_go_on, 10)
{
    again_and_again(platform, true);
}

// ---- the caller's thread -----------------------------------------------------------------------------------------------------------

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

// Two pipelines wait for the caller's thread, one of them while it is stopped.
RIG_TEST(stop_while_systems_wait_for_the_callers_thread_ends_it, 30)
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

// ---- refusals ----------------------------------------------------------------------------------------------------------------------

RIG_TEST(missing_thread_of_the_second_pipeline_is_said_and_lockstep_goes_on, 20)
{
    rig_open(platform, 100);
    rig_add(NULL, 0, NULL);
    rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 50}, 0, NULL);
    rig_add(&(orr_pipeline_desc){.name = "c"}, MS, NULL);
    rig_thread_limit(1);
    EXPECT_EQ(orr_realtime(r.world, NULL), ORR_ERR_STATE);
    EXPECT_EQ(r.errors.count, 1);
    EXPECT_WORDS("no thread for pipeline 'b'");
    EXPECT_EQ(r.lines[0].count + r.lines[1].count + r.lines[2].count, 0);
    rig_thread_limit(UINT32_MAX);
    r.errors.count = 0;
    lockstep_goes_on();
}

static void meet_outside(void* arg)
{
    (void)arg;
    rig_sleep(84 * MS); // In tick 2 of b.
    orr_result result = orr_post_exclusive(r.world, rig_called, NULL, 0);
    EXPECT(result == ORR_OK || result == ORR_ERR_MEMORY || result == ORR_ERR_STATE);
}

ORR_STRUCT(Grown, (uint64_t, words, 16))

static bool grow_none;
static uint64_t grow_refused; // The tick in which it is; 0: none.

// Sends what is refused when it is committed.
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

// One pipeline is refused memory in its tick, while another waits for a sync point and a third
// sleeps. When there is memory the tick continues.
static void refused_in(const orr_platform* platform, const char* pipeline, uint64_t tick)
{
    rig_open(platform, 100);
    rig_add(NULL, 0, NULL);
    rig_line* b = rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 25}, 10 * MS, NULL);
    rig_add(&(orr_pipeline_desc){.name = "c", .rate_hz = 1}, 0, NULL);
    grow_add(pipeline);
    grow_refused = tick;
    rig_outside(meet_outside);
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

// ---- one at a time -------------------------------------------------------------------------------------------------------------------

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
    EXPECT_WORDS(words);
    EXPECT_EQ(orr_step(world, 1), ORR_ERR_STATE);
    EXPECT_WORDS(words);
    EXPECT_EQ(orr_update(world, 20 * MS), ORR_ERR_STATE);
    EXPECT_WORDS(words);
    EXPECT_EQ(orr_run_until(world, 1000, never, NULL), ORR_ERR_STATE);
    EXPECT_WORDS(words);
    EXPECT_EQ(r.errors.count, 4);
    orr_world_destroy(world);
    EXPECT_EQ(r.errors.count, 5);
    EXPECT_WORDS("orr_world_destroy: ");
    EXPECT_EQ(orr_pipeline_add(world, &(orr_pipeline_desc){.name = "late"}).id, 0);
    EXPECT_EQ(r.errors.count, 6);
    r.errors.count = 0;
    r.calls++;
}

static void refused_inside(orr_run* run, rig_line* line)
{
    if (line->count == 2) {
        all_are_refused(run->world, "not inside a system ('main')");
    }
}

static void refused_call(orr_world* world, void* data)
{
    (void)data;
    all_are_refused(world, "the world runs in real time");
}

static void refused_outside(void* arg)
{
    (void)arg;
    rig_sleep(35 * MS); // b is in a tick.
    all_are_refused(r.world, "the world runs in real time");
    rig_sleep(11 * MS); // Nobody is.
    all_are_refused(r.world, "the world runs in real time");
    EXPECT_OK(orr_post(r.world, refused_call, NULL, 0));
    EXPECT_OK(orr_post_exclusive(r.world, refused_call, NULL, 0));
    rig_sleep(10 * MS);
    EXPECT_EQ(r.calls, 5);
    orr_stop(r.world);
    // The last ones are done where all have ended.
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
    EXPECT_OK(orr_realtime(r.world, NULL));
    rig_outside_ends();
    EXPECT_EQ(r.calls, 6);
    r.errors.count = 0;
    lockstep_goes_on();
}

// ---- replays that cannot be followed ---------------------------------------------------------------------------------------------------

static void replay_rows(void)
{
    rig_add(NULL, 0, NULL);
    rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 50}, 0, NULL);
    rig_add(&(orr_pipeline_desc){.name = "c", .rate_hz = 30}, 0, NULL);
    grow_add("b");
}

// A recording, and a world to replay it on.
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

// A pipeline is refused memory in a replay: the others do not wait for its turns.
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

// A program that does something else: more, less, and nothing of it is waited for.
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

RIG_TEST(replay_in_which_a_system_is_switched_off_ends, 30)
{
    replay_another(platform, 0, switch_in_tick_2);
}

RIG_TEST(replay_in_which_less_is_sent_ends, 30)
{
    replay_another(platform, 1, grow_less);
}
