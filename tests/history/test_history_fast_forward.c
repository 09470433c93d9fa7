// SPDX-License-Identifier: MIT
// Fast-forward at sync points of real time, where ticks run as in lockstep; and paced replays.
#include "history/fast_forward_kit.h"
#include <unistd.h>

// ---- travelling forward -------------------------------------------------------------------------

static void forward_call(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    orr_stop(world);
    forward_go(world, FORWARD_TICK);
    forward.hashes[FORWARD_TICK] = orr_world_hash(world);
}

// From the beginning: no pipeline ticks before the call.
static void forward_run(orr_world* world)
{
    orr_pause(world, true);
    CHECK_OK(orr_post_exclusive(world, forward_call, NULL, 0));
    CHECK_OK(orr_realtime(world, NULL));
}

// Ticks that run at a sync point equal those of lockstep: the same order, values, messages and due
// times. Entity ids may differ: in real time they are reserved in advance.
ORR_TEST(fast_forward_at_a_sync_point_equals_lockstep)
{
    for (uint32_t workers = 0; workers <= 2; workers += 2) {
        kit k;
        uint64_t hash = 0;
        for (uint32_t realtime = 0; realtime < 2; realtime++) {
            orr_world* world = hard_begin(&k, workers);
            all_add_with(world, trees_add_still);
            if (realtime) {
                forward_run(world);
                CHECK(forward.hashes[FORWARD_TICK] == hash);
                CHECK_EQ(orr_world_tick(world), FORWARD_TICK);
            } else {
                CHECK_OK(orr_time_travel(world, FORWARD_TICK));
                hash = orr_world_hash(world);
            }
            hard_end(&k);
        }
    }
}

// ---- repeated ticks -----------------------------------------------------------------------------

ORR_STRUCT(Sand, (uint64_t, grains))

static void sand_fall(orr_run* run)
{
    Sand* s = orr_write(run, Sand);
    for (uint32_t i = 0; i < run->count; i++) {
        s[i].grains += orr_random(run->tick, orr_iter_entity(run, i).id, 0, 0) % 100;
        if (s[i].grains % 7 == 0) {
            orr_send_destroy(run, orr_iter_entity(run, i));
            orr_entity fresh = orr_send_create(run);
            orr_send_add(run, fresh, Sand, {s[i].grains + 1});
        }
    }
}

static void sand_mark(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    forward.hashes[orr_world_tick(world)] = orr_world_hash(world);
}

static void sand_back(orr_world* world, void* data, size_t size)
{
    (void)size;
    hard_done++;
    sand_mark(world, data, 0);
    forward_go(world, 20);
    HARD_CHECK(orr_world_hash(world) == forward.hashes[20], "tick 20 differs");
    if (forward.again && !forward.every) {
        forward_go(world, 60);
        HARD_CHECK(orr_world_hash(world) == forward.hashes[60], "tick 60 differs");
        forward_go(world, 20);
        forward_go(world, 50);
    } else if (forward.again) {
        forward_go(world, 43);
        HARD_CHECK(orr_world_hash(world) == forward.hashes[43], "tick 43 differs");
        forward_go(world, 50);
        HARD_CHECK(orr_world_hash(world) == forward.hashes[50], "tick 50 differs");
    }
}

static void sand_remember(orr_world* world, void* data, size_t size)
{
    (void)size;
    sand_mark(world, data, 0);
    HARD_CHECK(orr_remember(world) == ORR_OK, "%s", orr_error_last(world));
}

// Marks every tick, remembers tick 20 and travels back to it in tick 60.
static void sand_post(orr_run* run)
{
    if (!orr_running(run->world)) {
        return;
    }
    bool marks = forward.every || run->tick == 20;
    if (run->tick < 60 && hard_done == 0 && marks) {
        (void)orr_post_exclusive(run->world, run->tick == 20 ? sand_remember : sand_mark, NULL, 0);
    } else if (run->tick == 60 && hard_done == 0) {
        (void)orr_post_exclusive(run->world, sand_back, NULL, 0);
    }
}

static orr_world* sand_begin(kit* k, uint32_t workers)
{
    orr_world* world = hard_begin(k, workers);
    memset(forward.hashes, 0, sizeof forward.hashes);
    hard_done = 0;
    ORR_REGISTER(world, Sand);
    for (uint64_t i = 0; i < ROWS; i++) {
        orr_set(world, orr_create(world), Sand, {i * 5});
    }
    KIT_SYSTEM(world, .name = "ask", .once = true, .run = sand_post);
    KIT_SYSTEM(world, .name = "fall", .query = "write Sand", .creates = "Sand", .destroys = "Sand",
               .run = sand_fall);
    return world;
}

// The order of one pipeline is fixed: repeated ticks equal the first ones.
ORR_TEST(fast_forward_after_travelling_back_gives_the_same_world)
{
    for (uint32_t i = 0; i < 6; i++) {
        kit k;
        orr_world* world = sand_begin(&k, i % 2 * 2);
        forward.again = true;
        forward.every = i / 2 != 1;
        if (i / 2 == 2) { // A window has a sync point after every tick, also in the repetition.
            CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 3}));
        }
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 90}));
        CHECK_EQ(hard_done, 1);
        orr_history_stats stats;
        orr_history_stats_get(world, &stats);
        CHECK_EQ(stats.ticks_run, forward.every ? 30 : 70);
        CHECK_EQ(orr_world_tick(world),
                 50 + 30); // Ticks run at the sync point do not count among the 90.
        hard_end(&k);
    }
}

static void look_sand(orr_world* world, bool replays)
{
    (void)replays;
    CHECK_EQ(hard_done, 1);
    CHECK_EQ(orr_world_tick(world), 80);
}

ORR_TEST(replay_of_a_run_with_fast_forward_gives_the_same_world)
{
    forward.again = forward.every = true;
    hard_replays_with_workers(
        (hard_replay){.begin = sand_begin, .ticks = 90, .replays = 2, .look = look_sand});
}

// ---- several pipelines, and state outside the world ---------------------------------------------

static void impure_forward(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    uint64_t tick = orr_world_tick(world);
    if (forward.calls++ % 2 == 0) {
        HARD_CHECK(orr_remember(world) == ORR_OK, "%s", orr_error_last(world));
        forward.tick = tick;
    } else {
        forward_go(world, forward.tick);
    }
    forward_go(world, orr_world_tick(world) + 9);
    forward.hashes[forward.calls % MARKS] = orr_world_hash(world);
}

static void impure_post(orr_run* run)
{
    if (run->tick % 10 == 5 && orr_running(run->world)) {
        (void)orr_post_exclusive(run->world, impure_forward, NULL, 0);
    }
}

static orr_world* impure_begin(kit* k, uint32_t workers)
{
    orr_world* world = hard_begin(k, workers);
    memset(&forward, 0, sizeof forward);
    all_add(world);
    gift_add(world);
    KIT_SYSTEM(world, .name = "ask", .once = true, .run = impure_post);
    return world;
}

// The actions of impure systems in ticks at a sync point are recorded, too.
ORR_TEST(replay_of_impure_systems_with_fast_forward_gives_the_same_world)
{
    hard_replays_with_workers(
        (hard_replay){.begin = impure_begin, .ticks = 60, .replays = 2, .look = forward_same});
}

// ---- at the end of a run ------------------------------------------------------------------------

static _Thread_local bool main_here;
static _Atomic uint32_t main_runs, main_wrong;

static void main_run(orr_run* run)
{
    (void)run;
    main_runs++;
    main_wrong += !main_here;
}

static void last_call(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    forward.tick = orr_world_tick(world);
    forward_go(world, forward.tick + 12);
    forward.hashes[0] = orr_world_hash(world);
    hard_done++;
}

static void last_post(orr_run* run)
{
    if (run->tick == 30 && hard_done == 0) {
        (void)orr_post_exclusive(run->world, last_call, NULL, 0);
    }
}

static orr_world* last_begin(kit* k, uint32_t workers)
{
    orr_world* world = hard_begin(k, workers);
    memset(&forward, 0, sizeof forward);
    hard_done = 0;
    all_add(world);
    KIT_SYSTEM(world, .name = "ask", .once = true, .run = last_post);
    KIT_SYSTEM(world, .name = "main", .pipeline = "b", .once = true, .main_thread = true,
               .run = main_run);
    return world;
}

static uint64_t last_hash, last_later;

static void look_last(orr_world* world, bool replays)
{
    CHECK_EQ(hard_done, 1);
    CHECK_EQ(orr_world_tick(world), forward.tick + 12);
    CHECK_OK(orr_step(world, 10)); // With the same clocks.
    uint64_t later = orr_world_hash(world);
    last_hash = replays ? last_hash : forward.hashes[0];
    last_later = replays ? last_later : later;
    CHECK(forward.hashes[0] == last_hash);
    CHECK(later == last_later);
}

// Posted in the last tick: executed after all threads have ended, in the replay at the last sync
// point. Systems of the main thread run there.
ORR_TEST(fast_forward_at_the_end_of_a_run_replays_to_the_same_world)
{
    main_here = true;
    main_runs = main_wrong = 0;
    hard_replays_with_workers(
        (hard_replay){.begin = last_begin, .ticks = 30, .replays = 2, .look = look_last});
    CHECK(main_runs > 0);
    CHECK_EQ(main_wrong, 0);
    main_here = false;
}

// Each in its own cluster, so that a block is a row.
enum {
    PAGES = 8
};
ORR_STRUCT(Page, (uint64_t, tick))
ORR_STRUCT(Number, (uint32_t, value))
ORR_STRUCT(Read, (uint64_t, last, PAGES))

static void once_write(orr_run* run)
{
    if (orr_random(run->tick, orr_read(run, Number)[0].value, 0, 0) % 4 == 0) {
        orr_write(run, Page)[0].tick = run->tick;
    }
}

static void once_look(orr_run* run)
{
    Read* r = orr_state(run, Read);
    uint32_t number = orr_read(run, Number)[0].value;
    uint64_t tick = orr_read(run, Page)[0].tick;
    HARD_CHECK(r->last[number] == 0 || tick != r->last[number],
               "the value of tick %u is new a second time", (unsigned)tick);
    r->last[number] = tick;
}

// Published values that a system has seen are not new to it after the remaining calls fast-forward,
// neither in lockstep nor in the next run.
ORR_TEST(seen_values_are_not_new_after_fast_forward_at_the_end)
{
    for (uint32_t i = 0; i < test_rounds(20, 5, 100); i++) {
        kit k;
        orr_world* world = hard_begin(&k, 0);
        hard_done = 0;
        ORR_REGISTER(world, Page, Number, Read);
        for (uint32_t n = 0; n < PAGES; n++) {
            orr_entity entity = orr_create(world);
            orr_set(world, entity, Page, {0});
            orr_set(world, entity, Number, {n});
            CHECK_OK(orr_tag_add(world, entity, 100 + n));
        }
        hard_pipe(world, "a", 700, false);
        hard_pipe(world, "b", 300 + 40 * i, false);
        KIT_SYSTEM(world, .name = "ask", .once = true, .run = last_post);
        KIT_SYSTEM(world, .name = "write", .pipeline = "a", .query = "write Page, Number",
                   .run = once_write);
        KIT_SYSTEM(world, .name = "look", .pipeline = "b", .query = "changed Page, Number",
                   .state = ORR_TYPE(Read), .run = once_look);
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 30}));
        CHECK_EQ(hard_done, 1);
        if (i % 2 == 0) {
            CHECK_OK(orr_step(world, 10));
        }
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 10}));
        hard_end(&k);
    }
}

// A slow pipeline owns Bill and Coin; the first pipeline reads them.
ORR_STRUCT(Bill, (uint64_t, sum))
ORR_STRUCT(Coin, (uint64_t, value))
ORR_STRUCT(Purse, (uint64_t, hash), (uint64_t, seen))
static orr_entity left_bill;

// Writes a value; changes a block though its rows are the same afterwards; then runs ticks, which
// read both.
static void left_call(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    orr_entity coin = orr_create(world);
    HARD_CHECK(orr_set(world, coin, Coin, {9}) == ORR_OK, "%s", orr_error_last(world));
    HARD_CHECK(orr_destroy(world, coin) == ORR_OK, "%s", orr_error_last(world));
    HARD_CHECK(orr_set(world, left_bill, Bill, {7}) == ORR_OK, "%s", orr_error_last(world));
    forward_go(world, orr_world_tick(world) + 5);
    hard_done++;
}

static void left_post(orr_run* run)
{
    if (run->tick == 30) {
        (void)orr_post_exclusive(run->world, left_call, NULL, 0);
    }
}

static void left_nothing(orr_run* run)
{
    (void)run;
}

static void left_add(orr_run* run)
{
    Purse* p = orr_state(run, Purse);
    p->hash = p->hash * 31 + orr_read(run, Bill)[0].sum;
}

static void left_count(orr_run* run)
{
    orr_state(run, Purse)->seen += run->count;
}

static orr_world* left_begin(kit* k, uint32_t workers)
{
    orr_world* world = hard_begin(k, workers);
    hard_done = 0;
    ORR_REGISTER(world, Bill, Coin, Purse);
    left_bill = orr_create(world);
    CHECK_OK(orr_set(world, left_bill, Bill, {1}));
    CHECK_OK(orr_set(world, orr_create(world), Coin, {2}));
    hard_pipe(world, "slow", 0.01, false);
    KIT_SYSTEM(world, .name = "bills", .pipeline = "slow", .query = "write Bill",
               .run = left_nothing);
    KIT_SYSTEM(world, .name = "coins", .pipeline = "slow", .query = "write Coin",
               .run = left_nothing);
    KIT_SYSTEM(world, .name = "ask", .once = true, .run = left_post);
    KIT_SYSTEM(world, .name = "add", .query = "Bill", .state = ORR_TYPE(Purse), .run = left_add);
    KIT_SYSTEM(world, .name = "count", .query = "changed Coin", .state = ORR_TYPE(Purse),
               .run = left_count);
    return world;
}

static void look_left(orr_world* world, bool replays)
{
    static Purse added, counted;
    const Purse* add = orr_system_state(world, orr_system_find(world, "add"));
    const Purse* count = orr_system_state(world, orr_system_find(world, "count"));
    CHECK_EQ(hard_done, 1);
    added = replays ? added : *add;
    counted = replays ? counted : *count;
    CHECK_EQ(count->seen, counted.seen);
    CHECK_EQ(add->hash, added.hash);
}

// Ticks that the remaining calls run see what they see at a sync point, where a replay has these
// calls: values as they were published.
ORR_TEST(fast_forward_at_the_end_of_a_run_reads_published_values_as_its_replay)
{
    hard_replays_with_workers((hard_replay){.begin = left_begin, .ticks = 30, .look = look_left});
}

static void middle_post(orr_run* run)
{
    if (run->tick == 10 && hard_done == 0) {
        (void)orr_post_exclusive(run->world, last_call, NULL, 0);
    }
}

ORR_TEST(fast_forward_runs_main_thread_systems_on_the_main_thread)
{
    kit k;
    main_here = true;
    main_runs = main_wrong = 0;
    orr_world* world = last_begin(&k, 2);
    CHECK_OK(orr_system_remove(world, orr_system_find(world, "ask")));
    KIT_SYSTEM(world, .name = "ask_early", .once = true, .run = middle_post);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 20}));
    CHECK_EQ(hard_done, 1);
    CHECK(main_runs > 0);
    CHECK_EQ(main_wrong, 0);
    main_here = false;
    hard_end(&k);
}

// ---- systems enabled and disabled on the way ----------------------------------------------------

ORR_STRUCT(Lamp, (uint64_t, on))

static void lamp_shine(orr_run* run)
{
    Lamp* l = orr_write(run, Lamp);
    for (uint32_t i = 0; i < run->count; i++) {
        l[i].on++;
    }
}

static void lamp_switch(orr_run* run)
{
    if (run->tick % 8 == 0) {
        (void)orr_system_enable(run->world, orr_system_find(run->world, "shine"),
                                run->tick % 16 == 0);
    }
}

// Plans are rebuilt at sync points, also between two ticks that run at a sync point, as in
// lockstep.
ORR_TEST(fast_forward_over_ticks_that_enable_systems_equals_lockstep)
{
    kit k;
    uint64_t hash = 0;
    for (uint32_t realtime = 0; realtime < 2; realtime++) {
        orr_world* world = hard_begin(&k, 0);
        ORR_REGISTER(world, Lamp);
        orr_set(world, orr_create(world), Lamp, {0});
        hard_pipe(world, "a", 400, false);
        KIT_SYSTEM(world, .name = "switch", .once = true, .run = lamp_switch);
        KIT_SYSTEM(world, .name = "shine", .pipeline = "a", .query = "write Lamp",
                   .run = lamp_shine);
        if (realtime) {
            forward_run(world);
            CHECK(forward.hashes[FORWARD_TICK] == hash);
        } else {
            CHECK_OK(orr_time_travel(world, FORWARD_TICK));
            hash = orr_world_hash(world);
        }
        hard_end(&k);
    }
}

// ---- other threads in the meantime --------------------------------------------------------------

static struct {
    _Atomic bool runs, rests, over;
    _Atomic uint32_t refused, allowed;
    orr_entity entity;
} outside;

static void outside_errors(void* user, orr_world* world, const orr_error* error)
{
    (void)user, (void)world, (void)error; // Errors are expected.
}

// A thread of the program that makes refused and allowed calls.
static void outside_thread(void* data)
{
    orr_world* world = data;
    while (!outside.over) {
        outside.rests = !outside.runs;
        if (outside.rests) {
            hard_sleep(50000);
            continue;
        }
        orr_result result = orr_set(world, outside.entity, Sand, {UINT64_MAX});
        outside.refused += result == ORR_ERR_STATE;
        outside.allowed += result == ORR_OK;
        double phase = orr_phase(world, (orr_pipeline){1});
        HARD_CHECK(phase >= 0 && phase <= 1, "phase %g", phase);
        HARD_CHECK(orr_time_scale(world) >= 0, "scale");
        orr_wait_stats stats;
        HARD_CHECK(orr_wait_stats_get(world, (orr_pipeline){1}, &stats) == ORR_OK, "stats");
    }
}

static void outside_call(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    outside.runs = true;
    forward_go(world, orr_world_tick(world) + 200);
    for (uint32_t i = 0; i < 10000 && outside.refused < 10; i++) {
        forward_go(world, orr_world_tick(world) + 1);
    }
    outside.runs = false;
    while (!outside.rests) {
        hard_sleep(50000);
    }
    orr_stop(world);
}

ORR_TEST(threads_from_outside_are_refused_during_fast_forward)
{
    orr_world* world =
        orr_world_create(&(orr_world_desc){.rate_hz = 200, .on_error = outside_errors});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    memset(&outside, 0, sizeof outside);
    ORR_REGISTER(world, Sand);
    for (uint64_t i = 0; i < ROWS; i++) {
        orr_set(world, orr_create(world), Sand, {i * 5});
    }
    KIT_SYSTEM(world, .name = "fall", .query = "write Sand", .creates = "Sand", .destroys = "Sand",
               .run = sand_fall);
    outside.entity = orr_create(world);
    hard_pipe(world, "wait", 0, true);
    const orr_platform* platform = orr_platform_default();
    orr_thread thread;
    CHECK_EQ(platform->thread_create(platform->user, "strange", outside_thread, world, &thread), 0);
    CHECK_OK(orr_post_exclusive(world, outside_call, NULL, 0));
    CHECK_OK(orr_realtime(world, NULL));
    outside.over = true;
    platform->thread_join(platform->user, thread);
    CHECK(outside.refused > 0);
    CHECK_EQ(outside.allowed, 0);
    CHECK_EQ(atomic_exchange(&hard_faults, 0), 0);
    orr_world_destroy(world);
}

static void mirror_forward(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    if (forward.calls++ % 3 == 0) {
        forward.tick = orr_world_tick(world);
        HARD_CHECK(orr_remember(world) == ORR_OK, "%s", orr_error_last(world));
    } else if (forward.calls % 3 == 2) {
        forward_go(world, forward.tick);
    }
    orr_pipeline_stats before, after;
    orr_pipeline watch = orr_pipeline_find(world, "watch");
    HARD_CHECK(orr_pipeline_stats_get(world, watch, &before) == ORR_OK, "stats");
    forward_go(world, orr_world_tick(world) + 7);
    HARD_CHECK(orr_pipeline_stats_get(world, watch, &after) == ORR_OK, "stats");
    HARD_CHECK(before.tick == after.tick, "a spectator ticked");
}

static void mirror_post(orr_run* run)
{
    if (run->tick % 6 == 0 && orr_running(run->world)) {
        (void)orr_post_exclusive(run->world, mirror_forward, NULL, 0);
    }
}

static void mirror_wait(void* user)
{
    (void)user;
    hard_sleep(1000000);
}

// The spectator receives messages about all fast-forwarded ticks. Another spectator waits elsewhere
// and returns while ticks run at a sync point.
ORR_TEST(spectator_mirrors_a_world_that_fast_forwards)
{
    kit k;
    memset(&mirror, 0, sizeof mirror);
    memset(&forward, 0, sizeof forward);
    orr_world* world = hard_begin(&k, 2);
    all_add(world);
    hard_pipe(world, "watch", 250, true);
    orr_pipeline_desc waits = {.name = "waits", .spectator = true, .wait = mirror_wait};
    CHECK(orr_pipeline_add(world, &waits).id != 0);
    KIT_SYSTEM(world, .name = "waiting", .pipeline = "waits", .query = "Tree",
               .run = kit_run_nothing);
    KIT_SYSTEM(world, .name = "ask", .once = true, .run = mirror_post);
    KIT_SYSTEM(world, .name = "mirror", .kind = ORR_INDIRECT, .pipeline = "watch", .query = "Tree",
               .run = mirror_receive);
    const orr_platform* platform = orr_platform_default();
    uint64_t start_ns = platform->clock_ns(platform->user);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 100}));
    double elapsed_s = (double)(platform->clock_ns(platform->user) - start_ns) * 1e-9;
    CHECK(forward.calls > 5);
    const char* names[] = {"churn", "grow"};
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_OK(orr_system_enable(world, orr_system_find(world, names[i]), false));
    }
    CHECK_OK(orr_step(world, 5));
    mirror_check(world);
    // Skipped time does not count as delay: 250 ticks per second at five times the speed are due at
    // most. A call skips nine. On a busy machine many ticks are dropped, but not more than were due.
    orr_wait_stats stats;
    CHECK_OK(orr_wait_stats_get(world, orr_pipeline_find(world, "watch"), &stats));
    CHECK((double)(stats.ticks + stats.dropped) < elapsed_s * 5 * 250 + 20);
    hard_end(&k);
}

// ---- without memory -----------------------------------------------------------------------------

static struct {
    kit* k;
    uint64_t fail_at;
    orr_result result;
    bool refused, tried;
} scarce;

static void scarce_call(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    uint64_t from = orr_world_tick(world);
    failing_alloc_arm(&scarce.k->memory, scarce.fail_at, false);
    scarce.result = orr_time_travel(world, from + 6);
    scarce.refused = scarce.k->memory.refused > 0;
    failing_alloc_arm(&scarce.k->memory, 0, false);
    scarce.tried = true;
    HARD_CHECK(scarce.result == ORR_OK || (scarce.refused && scarce.result == ORR_ERR_MEMORY), "%d",
               scarce.result);
    HARD_CHECK(scarce.result != ORR_OK || orr_world_tick(world) == from + 6,
               "the target tick was not reached");
    forward.tick = from + 6;
}

static void scarce_post(orr_run* run)
{
    if (run->tick == 4 && !scarce.tried) {
        (void)orr_post_exclusive(run->world, scarce_call, NULL, 0);
    }
}

// Execution continues after every refusal: in the next run or in lockstep.
ORR_TEST(fast_forward_without_memory_stops_where_it_can_continue)
{
    uint64_t n = 1;
    uint32_t open = 0;
    bool refused = true;
    for (; refused; n += test_brief() ? 3 : 1) {
        kit k;
        orr_world* world = hard_begin(&k, 0);
        all_add(world);
        KIT_SYSTEM(world, .name = "poor", .once = true, .run = scarce_post);
        memset(&scarce, 0, sizeof scarce);
        scarce.k = &k;
        scarce.fail_at = n;
        CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 4}));
        orr_result result = orr_realtime(world, &(orr_realtime_desc){.ticks = 7});
        refused = scarce.refused;
        CHECK(scarce.tried);
        CHECK(result == ORR_OK || (refused && result == ORR_ERR_MEMORY));
        open += orr_tick_open(world);
        if (n % 2 == 0) {
            CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 3}));
        }
        CHECK_OK(orr_step(world, 3));
        CHECK_OK(orr_world_validate(world));
        CHECK(orr_world_tick(world) >= forward.tick - 5);
        k.errors = (kit_errors){0};
        hard_end(&k);
        CHECK(n < 100000);
    }
    CHECK(open > 0 || test_brief()); // Some ten moments in a row leave a tick open.
}

// ---- clocks -------------------------------------------------------------------------------------

static void clock_call(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    forward_go(world, orr_world_tick(world) + 30000);
    orr_pipeline_stats first, watch;
    HARD_CHECK(orr_pipeline_stats_get(world, (orr_pipeline){1}, &first) == ORR_OK,
               "no statistics of the first pipeline");
    HARD_CHECK(orr_pipeline_stats_get(world, orr_pipeline_find(world, "watch"), &watch) == ORR_OK,
               "no statistics of the spectator");
    HARD_CHECK(watch.due_ns + first.interval_ns >= first.due_ns, "the spectator is late");
    hard_done++;
}

static void clock_post(orr_run* run)
{
    if (run->tick == 5) {
        (void)orr_post_exclusive(run->world, clock_call, NULL, 0);
    }
}

// Time continues from the new tick: no pipeline waits for the skipped time, which would exceed the
// time limit, and no spectator is late by it.
ORR_TEST(fast_forward_advances_the_clock)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    hard_done = 0;
    hard_pipe(world, "watch", 250, true);
    KIT_SYSTEM(world, .name = "ask", .once = true, .run = clock_post);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 20, .for_ns = PATIENCE_NS}));
    CHECK_EQ(hard_done, 1);
    CHECK_EQ(orr_world_tick(world), 30020);
    hard_end(&k);
}

// After a slow tick more is due at its end than the target of the fast-forward.
static void late_call(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    forward_go(world, orr_world_tick(world) + 1);
    HARD_CHECK(orr_remember(world) == ORR_OK, "%s", orr_error_last(world));
    forward.tick = orr_world_tick(world);
    hard_done++;
}

static void late_run(orr_run* run)
{
    if (run->tick == 12 && hard_done == 0) {
        hard_sleep(20000000); // A hundred milliseconds of the world: twenty ticks.
        (void)orr_post_exclusive(run->world, late_call, NULL, 0);
    }
}

static orr_world* late_begin(kit* k, uint32_t workers)
{
    orr_world* world = hard_begin(k, workers);
    hard_done = 0;
    hard_pipe(world, "a", 400, false);
    KIT_SYSTEM(world, .name = "late", .once = true, .impure = true, .run = late_run);
    return world;
}

static double late_phase;

static void look_late(orr_world* world, bool replays)
{
    CHECK_EQ(hard_done, 1);
    CHECK_OK(orr_time_travel(world, forward.tick));
    double phase = orr_phase(world, (orr_pipeline){1}); // By the remembered time.
    late_phase = replays ? late_phase : phase;
    CHECK(late_phase == phase);
}

ORR_TEST(time_of_a_late_fast_forward_is_the_same_in_a_replay)
{
    hard_replays(&(hard_replay){.begin = late_begin, .ticks = 20, .look = look_late});
}

// ---- around a run -------------------------------------------------------------------------------

static void around_call(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    orr_history_stats stats;
    HARD_CHECK(orr_remembered(world, 20), "tick 20 was forgotten before a tick began");
    forward_go(world, 20);
    orr_history_stats_get(world, &stats);
    HARD_CHECK(stats.ticks_run == 0, "ticks were run");
    forward_go(world, 10);
    hard_done++;
    orr_stop(world);
}

// Later ticks are forgotten when a tick begins, not when a run begins.
ORR_TEST(later_ticks_survive_a_run_without_ticks)
{
    kit k;
    orr_world* world = sand_begin(&k, 0);
    CHECK_OK(orr_step(world, 10));
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_step(world, 10));
    CHECK_OK(orr_remember(world));
    uint64_t hash = orr_world_hash(world);
    CHECK_OK(orr_time_travel(world, 10));
    orr_pause(world, true);
    hard_done = 0;
    CHECK_OK(orr_post_exclusive(world, around_call, NULL, 0));
    CHECK_OK(orr_realtime(world, NULL));
    CHECK_EQ(hard_done, 1);
    CHECK_OK(orr_time_travel(world, 20));
    CHECK(orr_world_hash(world) == hash);
    hard_end(&k);
}

static uint64_t end_ticks;

static void look_end(orr_world* world, bool replays)
{
    orr_history_stats stats;
    orr_history_stats_get(world, &stats);
    CHECK(orr_remembered(world, orr_world_tick(world)));
    end_ticks = replays ? end_ticks : stats.ticks;
    CHECK_EQ(stats.ticks, end_ticks);
}

static orr_world* end_begin(kit* k, uint32_t workers)
{
    orr_world* world = last_begin(k, workers);
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 80}));
    return world;
}

// The last calls fast-forward, so ticks of other pipelines follow the tick of the first one.
ORR_TEST(window_has_the_last_tick_of_a_run)
{
    main_here = true;
    hard_replays(&(hard_replay){.begin = end_begin, .ticks = 30, .replays = 2, .look = look_end});
    main_here = false;
}

// ---- paced replays ------------------------------------------------------------------------------

static struct {
    _Atomic bool held;
    _Atomic uint32_t early, frames;
} paced;

static void paced_run(orr_run* run)
{
    (void)run;
    paced.early += paced.held;
}

static void paced_draw(orr_run* run)
{
    (void)run;
    paced.frames++;
    hard_sleep(500000);
}

// A pipeline without a rate uses its recorded dts.
static void paced_free(orr_run* run)
{
    orr_state(run, Count)->count += run->dt > 0;
    hard_sleep(500000);
}

static orr_world* paced_begin(kit* k)
{
    orr_world* world = impure_begin(k, 0); // Travels back and forward at sync points.
    hard_pipe(world, "free", 0, false);
    hard_pipe(world, "draw", 0, true);
    KIT_SYSTEM(world, .name = "held", .once = true, .run = paced_run);
    KIT_SYSTEM(world, .name = "free", .pipeline = "free", .once = true, .state = ORR_TYPE(Count),
               .run = paced_free);
    KIT_SYSTEM(world, .name = "draw", .pipeline = "draw", .once = true, .run = paced_draw);
    return world;
}

static void paced_release(void* data)
{
    orr_world* world = data;
    while (!orr_running(world)) {
        hard_sleep(100000);
    }
    hard_sleep(5000000);
    paced.held = false;
    HARD_CHECK(orr_time_scale_set(world, 5) == ORR_OK, "%s", orr_error_last(world));
}

// Sixty ticks at 200 a second, five times as fast, plus the ticks at sync points: the replay must
// take most of that time.
ORR_TEST(paced_replay_follows_the_clock_and_can_be_paused)
{
    kit k;
    orr_recording* recording = orr_recording_create();
    const orr_platform* platform = orr_platform_default();
    uint64_t hash = 0;
    char path[64];
    snprintf(path, sizeof path, "/tmp/orr_paced_%ld", (long)getpid());
    memset(&paced, 0, sizeof paced);
    for (uint32_t i = 0; i < 3; i++) { // Recorded; paced replay; paused at the start.
        orr_world* world = paced_begin(&k);
        CHECK_OK(orr_call_register(world, "forward", impure_forward, 0));
        if (i == 1) { // Ticks at sync points have hashes, but no turns.
            CHECK_OK(orr_recording_load(world, recording, path));
            (void)remove(path);
        }
        orr_realtime_desc record = {.ticks = 60, .record = recording, .hashes = true};
        orr_realtime_desc replay = {.replay = recording, .paced = true};
        orr_thread thread;
        paced.held = i == 2;
        paced.frames = 0;
        if (i == 2) {
            CHECK_OK(orr_time_scale_set(world, 0));
            CHECK_EQ(
                platform->thread_create(platform->user, "release", paced_release, world, &thread),
                0);
        }
        uint64_t since = platform->clock_ns(platform->user);
        CHECK_OK(orr_realtime(world, i == 0 ? &record : &replay));
        uint64_t took = platform->clock_ns(platform->user) - since;
        if (i == 2) {
            platform->thread_join(platform->user, thread);
        }
        hash = i == 0 ? orr_world_hash(world) : hash;
        CHECK(orr_world_hash(world) == hash);
        CHECK_OK(i == 0 ? orr_recording_save(world, recording, path) : ORR_OK);
        CHECK(took > UINT64_C(40) * 5000000 / 5);
        CHECK_EQ(paced.early, 0);
        CHECK(paced.frames > 0);
        hard_end(&k);
    }
    orr_recording_destroy(recording);
}
