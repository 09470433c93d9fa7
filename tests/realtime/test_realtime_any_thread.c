// SPDX-License-Identifier: MIT
// A world in real time on real threads, and another thread that makes all calls that any thread may
// make, again and again. The test does not check when things happen: nothing may be lost, nothing
// may hang, and the thread sanitizer must find no race.
#include "schedule/system_kit.h"
#include <stdatomic.h>

typedef struct caller_test {
    orr_world* world;
    orr_pipeline pipelines[3];
    uint32_t posted;
    uint32_t done, sync_points; // Written on the world's threads.
    _Atomic bool ended;
    _Atomic uint64_t ticks;
    _Atomic uint32_t refused;
} caller_test;

static caller_test b;

static void caller_tick(orr_run* run)
{
    (void)run;
    atomic_fetch_add(&b.ticks, 1);
}

static void caller_call(orr_world* world, void* data, size_t size)
{
    (void)size;
    orr_entity entity = orr_create(world);
    (void)orr_set(world, entity, Position, {*(float*)data, 0, 0});
    b.done++;
}

static void outside_at_sync_point(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    b.sync_points += orr_world_validate(world) == ORR_OK && orr_world_hash(world) != 0;
    b.done++;
}

static void caller_calls(uint32_t i)
{
    float value = (float)i;
    b.posted += orr_post(b.world, caller_call, &value, sizeof value) == ORR_OK;
    b.posted += i % 8 == 0 && orr_post_exclusive(b.world, outside_at_sync_point, NULL, 0) == ORR_OK;
    orr_wait_stats stats;
    (void)orr_wait_stats_get(b.world, b.pipelines[i % 3], &stats);
    (void)orr_time_scale_set(b.world, i % 2 == 0 ? 4 : 20);
    (void)orr_time_scale(b.world);
    orr_pause(b.world, i % 3 == 0);
    if (orr_paused(b.world)) {
        (void)orr_realtime_step(b.world, 2);
    }
}

// These calls are refused and have no effect.
static void caller_refused(void)
{
    uint32_t refused = orr_step(b.world, 1) == ORR_ERR_STATE;
    refused += orr_update(b.world, 1000) == ORR_ERR_STATE;
    refused += orr_realtime(b.world, NULL) == ORR_ERR_STATE;
    refused += orr_run_until(b.world, UINT64_MAX, NULL, NULL) == ORR_ERR_STATE;
    orr_world_destroy(b.world);
    atomic_fetch_add(&b.refused, refused);
}

static void caller_thread(void* arg)
{
    uint32_t rounds = *(const uint32_t*)arg;
    while (atomic_load(&b.ticks) == 0) {
        orr_platform_default()->thread_yield(NULL);
    }
    for (uint32_t i = 0; i < rounds; i++) {
        caller_calls(i);
        caller_refused();
        orr_platform_default()->sleep_ns(NULL, 200000);
    }
    orr_pause(b.world, false);
    orr_stop(b.world);
}

// Handlers are called on the thread whose call was refused.
static void caller_error(void* user, orr_world* world, const orr_error* error)
{
    (void)user;
    (void)world;
    (void)error;
}

ORR_TEST(realtime_with_a_thread_that_makes_all_allowed_calls_loses_nothing)
{
    uint32_t rounds = test_rounds(200, 60, 5000);
    memset(&b, 0, sizeof b);
    b.world = orr_world_create(&(orr_world_desc){
        .rate_hz = 1000, .on_error = caller_error, .log = {.level = ORR_LOG_OFF}});
    ORR_REGISTER(b.world, Position);
    orr_access_check_set(b.world, ORR_ACCESS_CHECK_CALLS);
    b.pipelines[0] = orr_pipeline_find(b.world, "main");
    b.pipelines[1] = orr_pipeline_add(b.world, &(orr_pipeline_desc){.name = "b", .rate_hz = 400});
    b.pipelines[2] =
        orr_pipeline_add(b.world, &(orr_pipeline_desc){.name = "o", .spectator = true});
    static const char* const names[] = {"main", "b", "o"};
    for (uint32_t i = 0; i < 3; i++) {
        KIT_SYSTEM(b.world, .name = names[i], .pipeline = names[i], .once = true,
                   .by_id = "Position", .run = caller_tick);
    }
    orr_thread thread;
    const orr_platform* platform = orr_platform_default();
    CHECK_EQ(platform->thread_create(NULL, "caller", caller_thread, &rounds, &thread), 0);
    CHECK_OK(orr_realtime(b.world, NULL));
    platform->thread_join(NULL, thread);
    CHECK_EQ(b.done, b.posted);
    CHECK_EQ(b.posted, rounds + (rounds + 7) / 8);
    CHECK_EQ(b.sync_points, (rounds + 7) / 8);
    CHECK_EQ(b.refused, rounds * 4);
    CHECK_EQ(orr_entity_count(b.world), rounds);
    CHECK_OK(orr_step(b.world, 3));
    CHECK_OK(orr_world_validate(b.world));
    orr_world_destroy(b.world);
}

// ---- runs that begin and end meanwhile ----------------------------------------------------------

static void caller_of_runs(void* arg)
{
    (void)arg;
    for (uint32_t i = 0; !atomic_load(&b.ended); i++) {
        float value = (float)i;
        (void)orr_post(b.world, caller_call, &value, sizeof value);
        orr_wait_stats stats;
        (void)orr_wait_stats_get(b.world, b.pipelines[i % 2], &stats);
        (void)orr_phase(b.world, b.pipelines[i % 2]);
        (void)orr_time_scale(b.world);
        (void)orr_time_scale_set(b.world, i % 2 == 0 ? 4 : 20);
        orr_platform_default()->sleep_ns(NULL, 20000);
    }
}

// A thread cannot know when a run ends: its calls may come before, between and after runs.
ORR_TEST(realtime_begins_and_ends_while_a_thread_calls)
{
    memset(&b, 0, sizeof b);
    b.world = orr_world_create(&(orr_world_desc){
        .rate_hz = 1000, .on_error = caller_error, .log = {.level = ORR_LOG_OFF}});
    ORR_REGISTER(b.world, Position);
    b.pipelines[0] = orr_pipeline_find(b.world, "main");
    b.pipelines[1] = orr_pipeline_add(b.world, &(orr_pipeline_desc){.name = "b", .rate_hz = 400});
    KIT_SYSTEM(b.world, .name = "main", .once = true, .by_id = "Position", .run = caller_tick);
    orr_thread thread;
    const orr_platform* platform = orr_platform_default();
    CHECK_EQ(platform->thread_create(NULL, "caller", caller_of_runs, NULL, &thread), 0);
    uint32_t runs = test_rounds(30, 10, 500);
    for (uint32_t i = 0; i < runs; i++) {
        CHECK_OK(orr_realtime(b.world, &(orr_realtime_desc){.ticks = 3}));
    }
    atomic_store(&b.ended, true);
    platform->thread_join(NULL, thread);
    CHECK_EQ(b.ticks, 3 * runs);
    CHECK_OK(orr_world_validate(b.world));
    orr_world_destroy(b.world);
}

// ---- an error handler on another thread ---------------------------------------------------------

static _Atomic uint32_t slow_handled, slow_made, slow_failed;
static _Atomic bool slow_over;

static void slow_handler(void* user, orr_world* world, const orr_error* error)
{
    (void)user, (void)world, (void)error;
    const orr_platform* platform = orr_platform_default();
    _Atomic uint32_t word = 0;
    slow_handled++;
    platform->thread_wait(platform->user, &word, 0, 3000000);
}

static void slow_make(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    slow_made += orr_create(world).id != 0;
}

// Posts NULL again and again: each post is refused, and the handler runs on this thread.
static void slow_thread(void* arg)
{
    while (!slow_over) {
        slow_failed += orr_post(arg, NULL, NULL, 0) != ORR_OK;
    }
}

// A handler that runs on one thread does not block the thread that drives the world: in real time,
// in the last calls of a run, and in lockstep.
ORR_TEST(handler_on_another_thread_does_not_block_changes_of_the_world)
{
    slow_handled = slow_made = slow_failed = 0;
    slow_over = false;
    orr_world* world =
        orr_world_create(&(orr_world_desc){.rate_hz = 500, .on_error = slow_handler});
    ORR_REGISTER(world, Position);
    CHECK_OK(orr_set(world, orr_create(world), Position, {0, 0, 0}));
    KIT_SYSTEM(world, .name = "tick", .query = "Position", .run = kit_run_nothing);
    const orr_platform* platform = orr_platform_default();
    orr_thread thread;
    CHECK_EQ(platform->thread_create(platform->user, "slow", slow_thread, world, &thread), 0);
    while (slow_handled == 0) {
        platform->thread_yield(platform->user);
    }
    for (uint32_t i = 0; i < 20; i++) {
        CHECK(orr_create(world).id != 0);
        CHECK_OK(orr_post(world, slow_make, NULL, 0));
        CHECK_OK(orr_step(world, 1));
        CHECK_OK(orr_post(world, slow_make, NULL, 0));
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 2}));
    }
    while (slow_failed < 3) { // On a busy machine the thread may be late.
        platform->thread_yield(platform->user);
    }
    slow_over = true;
    platform->thread_join(platform->user, thread);
    CHECK_EQ(slow_made, 40);
    orr_world_destroy(world);
}

// ---- short error handlers on another thread -----------------------------------------------------

static _Atomic bool brief_over, brief_inside;
static _Atomic uint32_t brief_refused;

// Long enough that a call of the driving thread looks several times while it runs.
static void brief_handler(void* user, orr_world* world, const orr_error* error)
{
    (void)user, (void)world, (void)error;
    brief_inside = true;
    for (volatile uint32_t i = 0; i < 100; i++) {
    }
    brief_inside = false;
}

static void brief_thread(void* arg)
{
    while (!brief_over) {
        brief_refused += orr_time_scale_set(arg, -1) == ORR_ERR_ARGUMENT;
    }
}

// The handler of the other thread begins and ends at any moment of a call of the driving thread,
// also between two looks at it.
ORR_TEST(handler_that_ends_on_another_thread_during_a_call_changes_nothing)
{
    brief_refused = 0;
    brief_over = false;
    orr_world* world =
        orr_world_create(&(orr_world_desc){.rate_hz = 500, .on_error = brief_handler});
    ORR_REGISTER(world, Position);
    CHECK_OK(orr_step(world, 1));
    const orr_platform* platform = orr_platform_default();
    orr_thread thread;
    CHECK_EQ(platform->thread_create(platform->user, "brief", brief_thread, world, &thread), 0);
    while (brief_refused == 0) {
        platform->thread_yield(platform->user);
    }
    // Until a handler has ended during a call often enough; on a busy machine the threads may take
    // turns instead.
    uint32_t most = test_slow() ? 200000 : 2000000, ends = 0;
    for (uint32_t i = 0; i < most && ends < 5000; i++) {
        bool inside = brief_inside;
        orr_entity entity = orr_create(world);
        ends += inside && !brief_inside;
        CHECK_OK(orr_set(world, entity, Position, {0, 0, 0}));
        CHECK_OK(orr_destroy(world, entity));
    }
    printf("  %u handlers ended during a call\n", (unsigned)ends);
    brief_over = true;
    platform->thread_join(platform->user, thread);
    CHECK_EQ(orr_entity_count(world), 0);
    orr_world_destroy(world);
}

// ---- names --------------------------------------------------------------------------------------

static void name_first(orr_run* run)
{
    if (run->tick == 2) {
        CHECK_OK(orr_send_name(run, orr_iter_entity(run, 0), (orr_entity){0}, "first"));
    }
}

ORR_TEST(realtime_first_name_may_be_given_by_a_system)
{
    kit k;
    orr_world* world = kit_begin(&k, &(orr_world_desc){.rate_hz = 500});
    ORR_REGISTER(world, Position);
    orr_entity entity = orr_create(world);
    CHECK_OK(orr_set(world, entity, Position, {0, 0, 0}));
    KIT_SYSTEM(world, .name = "name", .query = "Position", .renames = true, .run = name_first);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 4}));
    CHECK_STR(orr_name_get(world, entity), "first");
    kit_end(&k);
}
