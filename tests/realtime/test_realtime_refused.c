// SPDX-License-Identifier: MIT
// Refusals in real time and their effect on the rest: abandoned ticks, calls that wait,
// sends without memory, plans that cannot be made, threads that cannot be created.
#include "realtime/hard_kit.h"

ORR_STRUCT(Plain, (uint64_t, words, 16))

enum {
    MADE = 64,      // Entities created in each tick.
    REFUSED_AT = 3, // From this tick on there is no memory for entities.
};

static kit* made_kit;

static void made_run(orr_run* run)
{
    for (uint32_t i = 0; i < MADE; i++) {
        orr_entity entity = orr_send_create(run);
        orr_send_add(run, entity, Plain, {{1}});
    }
    if (run->tick == REFUSED_AT) {
        failing_alloc_arm(&made_kit->memory, 1, true);
    }
}

static orr_world* made_begin(kit* k, double rate_hz, const char* pipeline,
                             void (*run)(orr_run* run))
{
    *k = (kit){0};
    made_kit = k;
    orr_world* world = kit_begin(k, &(orr_world_desc){.rate_hz = rate_hz});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    ORR_REGISTER(world, Plain);
    hard_pipe(world, "a", 200, false);
    KIT_SYSTEM(world, .name = "make", .pipeline = pipeline, .once = true, .creates = "Plain",
               .creates_max = MADE, .run = run);
    return world;
}

// ---- an abandoned tick --------------------------------------------------------------------------

static void abandoned(const char* pipeline)
{
    kit k;
    orr_world* world = made_begin(&k, 200, pipeline, made_run);
    CHECK_RESULT(orr_realtime(world, NULL), ORR_ERR_MEMORY);
    CHECK(orr_tick_open(world));
    CHECK_EQ(orr_entity_count(world), (REFUSED_AT - 1) * MADE);
    CHECK_OK(orr_tick_abandon(world));
    failing_alloc_arm(&k.memory, 0, false);
    k.errors = (kit_errors){0};
    // The abandoned tick creates nothing. All later ticks that fall due create their entities.
    for (uint32_t steps = 1; steps <= 5; steps += 4) {
        CHECK_OK(orr_step(world, steps));
        orr_system_stats stats = kit_stats(world, orr_system_find(world, "make"));
        CHECK(stats.ticks >= (steps == 1 ? REFUSED_AT : REFUSED_AT + 1));
        CHECK_EQ(stats.dropped, 2 * MADE);
        CHECK_EQ(orr_entity_count(world), (stats.ticks - 1) * MADE);
    }
    hard_end(&k);
}

ORR_TEST(realtime_refused_tick_of_the_first_pipeline_can_be_abandoned)
{
    abandoned("main");
}

ORR_TEST(realtime_refused_tick_of_another_pipeline_can_be_abandoned)
{
    abandoned("a");
}

// ---- a call that waits while the run is refused memory ------------------------------------------

static uint32_t post_ran, post_made;

static void post_make(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    failing_alloc_arm(&made_kit->memory, 0, false); // There is memory again.
    post_ran++;
    post_made += orr_create(world).id != 0;
}

static void post_and_make(orr_run* run)
{
    if (run->tick == REFUSED_AT) {
        (void)orr_post(run->world, post_make, NULL, 0);
    }
    made_run(run);
}

ORR_TEST(realtime_posted_call_runs_when_the_run_ends_with_an_open_tick)
{
    kit k;
    post_ran = post_made = 0;
    // Posted in a tick: the call waits.
    orr_world* world = made_begin(&k, 1, "main", post_and_make);
    CHECK_OK(orr_time_scale_set(world, 100));
    CHECK_RESULT(orr_realtime(world, NULL), ORR_ERR_MEMORY);
    CHECK(orr_tick_open(world));
    CHECK_EQ(post_ran, 1);
    CHECK_EQ(post_made, 1);
    KIT_ERROR(&k, ORR_ERR_MEMORY, "the commands of system 'make' cannot be applied");
    CHECK_EQ(orr_entity_count(world), (REFUSED_AT - 1) * MADE + 1);
    CHECK_OK(orr_step(world, 1)); // Nothing was lost.
    CHECK_EQ(orr_entity_count(world), REFUSED_AT * MADE + 1);
    hard_end(&k);
}

// ---- a send that is refused memory --------------------------------------------------------------

enum {
    SENT = 100,
    SENT_REFUSED = 60000, // More than fit without an allocation.
};

static void send_refused(orr_run* run)
{
    bool refused = run->tick == REFUSED_AT;
    if (refused) {
        failing_alloc_arm(&made_kit->memory, 1, true);
    }
    for (uint32_t i = 0; i < (refused ? SENT_REFUSED : SENT); i++) {
        orr_entity entity = orr_send_create(run);
        orr_send_add(run, entity, Plain, {{1}});
    }
    if (refused) {
        failing_alloc_arm(&made_kit->memory, 0, false);
    }
}

// The tick continues without the sent change. The call that runs ticks returns ORR_ERR_MEMORY.
static void sends_refused(bool realtime)
{
    kit k = {0};
    made_kit = &k;
    orr_world* world = kit_begin(&k, &(orr_world_desc){.rate_hz = 200});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    ORR_REGISTER(world, Plain);
    hard_pipe(world, "a", 200, false);
    KIT_SYSTEM(world, .name = "send", .once = true, .creates = "Plain", .creates_max = 100000,
               .every = 2, .run = send_refused);
    orr_result result = realtime ? orr_realtime(world, &(orr_realtime_desc){.ticks = 5})
                                 : orr_step(world, 5);
    CHECK_RESULT(result, ORR_ERR_MEMORY);
    KIT_ERROR(&k, ORR_ERR_MEMORY, "something that a system sent in it was refused");
    CHECK(orr_entity_count(world) > SENT && orr_entity_count(world) < SENT_REFUSED);
    hard_end(&k);
}

ORR_TEST(lockstep_returns_the_refusal_of_a_send)
{
    sends_refused(false);
}

ORR_TEST(realtime_returns_the_refusal_of_a_send)
{
    sends_refused(true);
}

// ---- a plan that cannot be made -----------------------------------------------------------------

static void plan_export(orr_run* run)
{
    orr_export(run, Count)->count = run->tick;
}

static void plan_import(orr_run* run)
{
    HARD_CHECK(orr_import(run, "exp", Count)->count <= 20, "never exported");
}

static void plan_break(orr_world* world, void* data, size_t size)
{
    (void)size;
    static char text[4096];
    (void)data;
    HARD_CHECK(orr_system_remove(world, orr_system_find(world, "exp")) == ORR_OK, "not removed");
    (void)orr_plan_print(world, text, sizeof text);
    HARD_CHECK(strstr(text, "no plan") != NULL, "%s", text);
}

static void plan_post(orr_run* run)
{
    if (run->tick == 5) {
        (void)orr_post_exclusive(run->world, plan_break, NULL, 0);
    }
}

// The plan is made at the sync point, to be printed, and again before the next tick. (Lookups of a
// refused plan are freed: hard_end() counts.)
ORR_TEST(realtime_broken_plan_of_a_sync_point_ends_the_run_and_leaks_nothing)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    ORR_REGISTER(world, Tree, Count);
    orr_set(world, orr_create(world), Tree, {0, 0});
    hard_pipe(world, "a", 100, false);
    KIT_SYSTEM(world, .name = "exp", .query = "Tree", .exports = ORR_TYPE(Count),
               .run = plan_export);
    KIT_SYSTEM(world, .name = "imp", .pipeline = "a", .query = "Tree", .imports = "exp",
               .run = plan_import);
    KIT_SYSTEM(world, .name = "ask", .once = true, .by_id = "Tree", .run = plan_post);
    CHECK_RESULT(orr_realtime(world, &(orr_realtime_desc){.ticks = 10}), ORR_ERR_NAME);
    CHECK_EQ(hard_ticks(world, "main"), 5);
    KIT_ERROR(&k, ORR_ERR_NAME, "system 'imp', .imports: 'exp' is no system");
    hard_end(&k);
}

// ---- a thread that cannot be created ------------------------------------------------------------

static orr_platform few;
static _Atomic uint32_t few_left, few_said;

static int few_thread_create(void* user, const char* name, void (*run)(void* arg), void* arg,
                             orr_thread* out)
{
    const orr_platform* platform = orr_platform_default();
    if (few_left == 0) {
        return 11;
    }
    few_left--;
    return platform->thread_create(user, name, run, arg, out);
}

// Runs with this number of threads.
static const orr_platform* few_platform(uint32_t threads)
{
    few = *orr_platform_default();
    few.thread_create = few_thread_create;
    few_left = threads;
    return &few;
}

static void few_stop(void* user, orr_world* world, const orr_error* error)
{
    (void)user;
    (void)error;
    few_said++;
    orr_stop(world);
}

// The handler is called while the run begins; calls of the handler do not wait for the beginning.
ORR_TEST(realtime_stop_in_the_handler_of_a_missing_thread_returns)
{
    few_said = 0;
    orr_world* world = orr_world_create(&(orr_world_desc){.platform = few_platform(1),
                                                          .rate_hz = 100,
                                                          .on_error = few_stop,
                                                          .log = {.level = ORR_LOG_OFF}});
    hard_pipe(world, "a", 100, false);
    CHECK_RESULT(orr_realtime(world, NULL), ORR_ERR_STATE);
    CHECK_EQ(few_said, 1);
    orr_world_destroy(world);
}

static orr_world* few_begin(kit* k, uint32_t threads)
{
    *k = (kit){0};
    orr_world* world =
        kit_begin(k, &(orr_world_desc){.platform = few_platform(threads), .rate_hz = 100});
    hard_pipe(world, "a", 100, false);
    return world;
}

ORR_TEST(replay_without_a_thread_is_refused_and_ends)
{
    kit k;
    orr_recording* recording = orr_recording_create();
    CHECK_OK(
        orr_realtime(few_begin(&k, 10), &(orr_realtime_desc){.ticks = 5, .record = recording}));
    kit_end(&k);
    orr_world* world = few_begin(&k, 1);
    CHECK_RESULT(orr_realtime(world, &(orr_realtime_desc){.replay = recording}), ORR_ERR_STATE);
    CHECK(k.errors.count > 0);
    kit_end(&k);
    orr_recording_destroy(recording);
}
