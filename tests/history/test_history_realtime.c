// SPDX-License-Identifier: MIT
// Remembering and travelling back in real time: at sync points, when all pipelines stand between
// ticks.
#include "history/everything_kit.h"
#include "realtime/realtime.h"
#include "scenarios/clocks.h"

enum {
    TRIPS_MOST = 8
};

// Actions and results of calls from the thread of the first pipeline.
static struct {
    uint32_t asked, trips; // Calls posted; number of travels back.
    uint64_t from, to;     // Ticks of the first pipeline: remembered at, left at.
    uint64_t tick, hash;   // The remembered tick and its hash.
    uint64_t hashes[TRIPS_MOST];
    _Atomic uint32_t gone; // Travels back done.
    void (*remembered)(orr_world* world);
    void (*back)(orr_world* world);
} trip;

static void trip_set(uint32_t trips)
{
    memset(&trip, 0, sizeof trip);
    trip.trips = trips;
    trip.from = 10;
    trip.to = 25;
}

static void trip_remember(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    HARD_CHECK(orr_remember(world) == ORR_OK, "%s", orr_error_last(world));
    trip.tick = orr_world_tick(world);
    trip.hash = orr_world_hash(world);
    HARD_CHECK(orr_remembered(world, trip.tick), "it is not remembered");
    if (trip.remembered != NULL) {
        trip.remembered(world);
    }
}

static void trip_back(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    orr_history_stats stats;
    orr_history_stats_get(world, &stats);
    HARD_CHECK(stats.bytes > 0, "memories take no bytes");
    HARD_CHECK(orr_world_hash(world) != trip.hash, "the world has not changed");
    HARD_CHECK(orr_time_travel(world, trip.tick) == ORR_OK, "%s", orr_error_last(world));
    HARD_CHECK(orr_world_hash(world) == trip.hash, "the restored world has another hash");
    HARD_CHECK(orr_world_tick(world) == trip.tick, "the restored world has another tick");
    HARD_CHECK(orr_world_validate(world) == ORR_OK, "%s", orr_error_last(world));
    trip.hashes[trip.gone] = orr_world_hash(world);
    trip.gone++;
    if (trip.back != NULL) {
        trip.back(world);
    }
}

static void trip_post(orr_run* run)
{
    if (trip.asked == 0 && run->tick >= trip.from) {
        trip.asked++;
        (void)orr_post_exclusive(run->world, trip_remember, NULL, 0);
    } else if (trip.asked > 0 && trip.asked <= trip.trips && run->tick >= trip.to &&
               trip.gone + 1 == trip.asked) {
        trip.asked++;
        (void)orr_post_exclusive(run->world, trip_back, NULL, 0);
    }
}

static orr_world* all_begin(kit* k, uint32_t workers)
{
    orr_world* world = hard_begin(k, workers);
    trip_set(3);
    all_add(world);
    KIT_SYSTEM(world, .name = "ask", .once = true, .by_id = "Fruit", .run = trip_post);
    return world;
}

ORR_TEST(travel_at_a_sync_point_restores_the_world)
{
    kit k;
    for (uint32_t workers = 0; workers <= 2; workers += 2) {
        orr_world* world = all_begin(&k, workers);
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 70}));
        CHECK_EQ(trip.gone, 3);
        CHECK_EQ(orr_timeline(world), 3);
        CHECK(orr_remembered(world, trip.tick));
        // And afterwards in lockstep.
        CHECK_OK(orr_time_travel(world, trip.tick));
        CHECK(orr_world_hash(world) == trip.hash);
        CHECK_OK(orr_step(world, 5));
        hard_end(&k);
    }
}

static struct {
    uint64_t hashes[TRIPS_MOST], again;
    double phase;
} look;

// The ticks remembered by a run are equal in its replay, also after travelling to them and
// continuing in lockstep.
static void look_same(orr_world* world, bool replays)
{
    CHECK(orr_remembered(world, trip.tick));
    CHECK_OK(orr_step(world, 7));
    CHECK_OK(orr_time_travel(world, trip.tick));
    CHECK(orr_world_hash(world) == trip.hash);
    CHECK_OK(orr_step(world, 20));
    if (!replays) {
        memcpy(look.hashes, trip.hashes, sizeof look.hashes);
        look.again = orr_world_hash(world);
    }
    CHECK(memcmp(look.hashes, trip.hashes, sizeof look.hashes) == 0);
    CHECK(orr_world_hash(world) == look.again);
}

static void look_trips(orr_world* world, bool replays)
{
    CHECK_EQ(trip.gone, 3);
    CHECK_EQ(orr_timeline(world), 3);
    look_same(world, replays);
}

ORR_TEST(replay_of_a_run_that_travelled_back_gives_the_same_world)
{
    hard_replays_with_workers(
        (hard_replay){.begin = all_begin, .ticks = 70, .replays = 2, .look = look_trips});
}

// Posted in the last tick and executed after the run ended; in the replay at its last sync point.
static orr_world* last_begin(kit* k, uint32_t workers)
{
    orr_world* world = all_begin(k, workers);
    trip_set(1);
    trip.to = 30;
    return world;
}

static void look_last(orr_world* world, bool replays)
{
    CHECK_EQ(trip.gone, 1);
    CHECK_EQ(orr_world_tick(world), trip.tick);
    double phase = orr_phase(world, (orr_pipeline){1}); // The same time
    CHECK_OK(orr_step(world, 20));                      // and clocks.
    uint64_t hash = orr_world_hash(world);
    look.again = replays ? look.again : hash;
    look.phase = replays ? look.phase : phase;
    CHECK(look.again == hash);
    CHECK(look.phase == phase);
}

ORR_TEST(replay_of_a_run_that_travelled_back_at_its_end_gives_the_same_world)
{
    hard_replays(&(hard_replay){.begin = last_begin, .ticks = 30, .look = look_last});
}

static orr_world* impure_begin(kit* k, uint32_t workers)
{
    orr_world* world = all_begin(k, workers);
    gift_add(world);
    return world;
}

static void look_gone(orr_world* world, bool replays)
{
    (void)replays;
    CHECK_EQ(trip.gone, 3);
    CHECK_EQ(orr_timeline(world), 3);
}

// The actions of impure systems are recorded in the order of execution, regardless of the world's
// tick.
ORR_TEST(replay_of_impure_systems_with_travel_gives_the_same_world)
{
    hard_replays(
        &(hard_replay){.begin = impure_begin, .ticks = 70, .replays = 2, .look = look_gone});
}

// ---- other threads in the meantime --------------------------------------------------------------

// Queries from another thread, during the run.
static void meanwhile_query(void* data)
{
    orr_world* world = data;
    while (!orr_running(world)) {
        hard_sleep(100000);
    }
    while (trip.gone < 3) {
        orr_wait_stats stats;
        for (uint32_t i = 1; i <= 4; i++) {
            double phase = orr_phase(world, (orr_pipeline){i});
            HARD_CHECK(phase >= 0 && phase <= 1, "phase %g", phase);
            HARD_CHECK(orr_wait_stats_get(world, (orr_pipeline){i}, &stats) == ORR_OK, "stats");
        }
        HARD_CHECK(orr_time_scale(world) > 0, "scale");
        hard_sleep(200000);
    }
}

static void meanwhile_wait(void* user)
{
    (void)user;
    hard_sleep(1000000);
}

// A pipeline that waits elsewhere returns while the world travels back. It begins no tick that was
// due in the abandoned timeline.
ORR_TEST(travel_at_a_sync_point_while_other_threads_query_and_wait_succeeds)
{
    kit k;
    orr_world* world = all_begin(&k, 0);
    orr_pipeline_desc waits = {.name = "waits", .wait = meanwhile_wait};
    CHECK(orr_pipeline_add(world, &waits).id != 0);
    KIT_SYSTEM(world, .name = "waiting", .pipeline = "waits", .query = "Tree",
               .run = kit_run_nothing);
    const orr_platform* platform = orr_platform_default();
    orr_thread thread;
    CHECK_EQ(platform->thread_create(platform->user, "asks", meanwhile_query, world, &thread), 0);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 90}));
    platform->thread_join(platform->user, thread);
    CHECK_EQ(trip.gone, 3);
    hard_end(&k);
}

// ---- published values ---------------------------------------------------------------------------

static _Atomic uint64_t seen_value, seen_looks, seen_export;

ORR_STRUCT(Sum, (uint64_t, tick))

static void seen_grow(orr_run* run)
{
    Tree* t = orr_write(run, Tree);
    for (uint32_t i = 0; i < run->count; i++) {
        t[i] = (Tree){run->tick, 0};
    }
    orr_export(run, Sum)->tick = run->tick;
}

static void seen_look(orr_run* run)
{
    const Tree* t = orr_read(run, Tree);
    for (uint32_t i = 0; trip.gone > 0 && i < run->count; i++) {
        HARD_CHECK(t[i].tick == seen_value, "tick %llu of the abandoned timeline is seen, not %llu",
                   (unsigned long long)t[i].tick, (unsigned long long)seen_value);
        HARD_CHECK(orr_get(run->world, orr_iter_entity(run, i), Tree)->tick == seen_value,
                   "the value read by id was not restored");
        HARD_CHECK(orr_import(run, "grow", Sum)->tick == seen_export,
                   "the import was not restored");
        seen_looks++;
    }
}

static void seen_remembered(orr_world* world)
{
    orr_entity entity = orr_find(world, (orr_entity){0}, "first");
    seen_value = orr_get(world, entity, Tree)->tick;
    seen_export = seen_value;
}

// No system writes from here on: a reader sees the restored values or never will.
static void seen_back(orr_world* world)
{
    HARD_CHECK(orr_system_enable(world, orr_system_find(world, "grow"), false) == ORR_OK, "%s",
               orr_error_last(world));
}

static orr_world* seen_begin(kit* k, const char* overwrites)
{
    orr_world* world = hard_begin(k, 0);
    trip_set(1);
    trip.remembered = seen_remembered;
    trip.back = seen_back;
    seen_looks = 0;
    ORR_REGISTER(world, Tree, Fruit, Sum);
    orr_entity entity = orr_create(world);
    CHECK_OK(orr_name_set(world, entity, (orr_entity){0}, "first"));
    orr_set(world, entity, Tree, {0, 0});
    for (uint32_t i = 0; i < ROWS; i++) {
        orr_set(world, orr_create(world), Tree, {0, 0});
    }
    hard_pipe(world, "a", 400, false);
    hard_pipe(world, "b", 0, false);
    KIT_SYSTEM(world, .name = "ask", .once = true, .by_id = "Fruit", .run = trip_post);
    KIT_SYSTEM(world, .name = "grow", .pipeline = "a", .query = "write Tree",
               .overwrites = overwrites, .exports = ORR_TYPE(Sum), .run = seen_grow);
    KIT_SYSTEM(world, .name = "look", .pipeline = "b", .query = "Tree", .by_id = "Tree",
               .imports = "grow", .run = seen_look);
    return world;
}

ORR_TEST(readers_of_other_pipelines_see_restored_values)
{
    kit k;
    for (uint32_t i = 0; i < 2; i++) { // Copied or zero-copy.
        orr_world* world = seen_begin(&k, i == 0 ? NULL : "Tree");
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 40}));
        CHECK_EQ(trip.gone, 1);
        CHECK(seen_looks > 0);
        hard_end(&k);
    }
}

// ---- new values by reader -----------------------------------------------------------------------

enum {
    NEWS = 777
};

// Writes once, lets the other pipeline run, which does not see the write yet, and remembers the
// world right after its tick.
static void news_write(orr_run* run)
{
    if (run->tick == trip.from && trip.asked == 0) {
        trip.asked++;
        Tree* t = orr_write(run, Tree);
        t[0].tick = NEWS;
        hard_sleep(3000000);
        (void)orr_post_exclusive(run->world, trip_remember, NULL, 0);
        hard_sleep(6000000);
    } else if (run->tick >= trip.to && trip.asked == 1 && trip.tick != 0) {
        trip.asked++;
        (void)orr_post_exclusive(run->world, trip_back, NULL, 0);
    } else if (trip.gone == 1 && trip.asked++ == 20) { // Ticks later.
        orr_stop(run->world);
    }
}

static void news_look(orr_run* run)
{
    const Tree* t = orr_read(run, Tree);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_state(run, Count)->count += t[i].tick == NEWS;
    }
}

ORR_TEST(unseen_values_are_new_again_after_travelling_back)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    trip_set(1);
    ORR_REGISTER(world, Tree);
    orr_set(world, orr_create(world), Tree, {0, 0});
    hard_pipe(world, "a", 400, false);
    hard_pipe(world, "b", 0, false);
    KIT_SYSTEM(world, .name = "write", .pipeline = "a", .query = "write Tree", .run = news_write);
    KIT_SYSTEM(world, .name = "look", .pipeline = "b", .query = "changed Tree",
               .state = ORR_TYPE(Count), .run = news_look);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.for_ns = PATIENCE_NS}));
    CHECK_EQ(trip.gone, 1);
    const Count* count = orr_system_state(world, orr_system_find(world, "look"));
    CHECK_EQ(count->count, 1); // Counts of the abandoned timeline are gone.
    hard_end(&k);
}

// ---- spectators that mirror the world -----------------------------------------------------------

ORR_TEST(spectator_mirrors_a_world_that_travels_back_in_real_time)
{
    kit k;
    memset(&mirror, 0, sizeof mirror);
    orr_world* world = all_begin(&k, 0);
    hard_pipe(world, "watch", 250, true);
    KIT_SYSTEM(world, .name = "mirror", .kind = ORR_INDIRECT, .pipeline = "watch", .query = "Tree",
               .run = mirror_receive);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 70}));
    CHECK_EQ(trip.gone, 3);
    const char* names[] = {"churn", "grow"};
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_OK(orr_system_enable(world, orr_system_find(world, names[i]), false));
    }
    CHECK_OK(orr_step(world, 5));
    mirror_check(world);
    CHECK_OK(orr_time_travel(world, trip.tick));
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_OK(orr_system_enable(world, orr_system_find(world, names[i]), false));
    }
    CHECK_OK(orr_step(world, 5));
    mirror_check(world);
    hard_end(&k);
}

// ---- allowed and refused moments ----------------------------------------------------------------

static void when_plain(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    HARD_CHECK(orr_remember(world) == ORR_ERR_STATE, "remembered");
    HARD_CHECK(strstr(orr_error_last(world), "orr_post_exclusive") != NULL, "%s",
               orr_error_last(world));
    HARD_CHECK(orr_time_travel(world, 0) == ORR_ERR_STATE, "travelled");
    HARD_CHECK(strstr(orr_error_last(world), "orr_post_exclusive") != NULL, "%s",
               orr_error_last(world));
    HARD_CHECK(orr_forget(world, 0) == ORR_ERR_STATE, "forgotten");
    HARD_CHECK(orr_forget_range(world, 0, 100, 0) == 0, "forgotten");
    HARD_CHECK(orr_history_set(world, &(orr_history_desc){.recent = 1}) == ORR_ERR_STATE, "set");
    // History cannot be queried either: memories change meanwhile.
    HARD_CHECK(!orr_remembered(world, 0), "remembered");
    HARD_CHECK(strstr(orr_error_last(world), "orr_remembered:") != NULL, "%s",
               orr_error_last(world));
    uint64_t before = 1, after = 1;
    orr_remembered_near(world, 0, &before, &after);
    HARD_CHECK(before == UINT64_MAX && after == UINT64_MAX, "near");
    HARD_CHECK(strstr(orr_error_last(world), "orr_remembered_near:") != NULL, "%s",
               orr_error_last(world));
    orr_history_stats stats;
    orr_history_stats_get(world, &stats);
    HARD_CHECK(stats.ticks == 0, "stats");
    HARD_CHECK(strstr(orr_error_last(world), "orr_history_stats_get:") != NULL, "%s",
               orr_error_last(world));
    char text[64] = "?";
    HARD_CHECK(orr_history_print(world, text, sizeof text) == 0 && text[0] == '\0', "%s", text);
    HARD_CHECK(strstr(orr_error_last(world), "orr_history_print:") != NULL, "%s",
               orr_error_last(world));
}

static void when_sync_point(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    uint64_t tick = orr_world_tick(world);
    HARD_CHECK(orr_remember(world) == ORR_OK, "%s", orr_error_last(world));
    HARD_CHECK(orr_time_travel(world, tick - 1) == ORR_ERR_PAST,
               "travelled to a tick that is not remembered");
    HARD_CHECK(orr_time_travel(world, 0) == ORR_OK, "%s", orr_error_last(world));
    HARD_CHECK(orr_world_tick(world) == 0, "wrong tick");
    HARD_CHECK(orr_remembered(world, tick), "a later tick was forgotten before a tick began");
    HARD_CHECK(orr_remember(world) == ORR_OK, "%s", orr_error_last(world)); // Again.
    orr_history_stats stats;
    orr_history_stats_get(world, &stats);
    HARD_CHECK(stats.ticks == 2 && stats.travels == 1 && stats.lost == 0, "stats");
    HARD_CHECK(stats.bytes > 0, "memories take no bytes");
    HARD_CHECK(orr_forget(world, 0) == ORR_OK && !orr_remembered(world, 0), "forget");
    HARD_CHECK(orr_history_set(world, &(orr_history_desc){.recent = 3}) == ORR_OK, "%s",
               orr_error_last(world));
    HARD_CHECK(orr_remembered(world, 0), "the window did not remember the tick");
    hard_done++;
}

static void when_post(orr_run* run)
{
    if (hard_done == 0 && run->tick == 4) {
        (void)orr_post(run->world, when_plain, NULL, 0);
        (void)orr_post_exclusive(run->world, when_sync_point, NULL, 0);
        HARD_CHECK(orr_remember(run->world) == ORR_ERR_STATE, "inside a system");
    }
}

ORR_TEST(history_in_real_time_is_refused_outside_sync_points)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    hard_done = 0;
    trees_add(world, ROWS);
    KIT_SYSTEM(world, .name = "ask", .once = true, .by_id = "Fruit", .run = when_post);
    CHECK_OK(orr_remember(world));
    CHECK_RESULT(orr_realtime(world, &(orr_realtime_desc){.ticks = 12}), ORR_ERR_STATE);
    CHECK_EQ(hard_done, 1);
    // The window continues to work in lockstep.
    CHECK_OK(orr_step(world, 2));
    uint64_t tick = orr_world_tick(world);
    CHECK(orr_remembered(world, tick) && orr_remembered(world, tick - 1));
    k.errors = (kit_errors){0};
    CHECK_EQ(atomic_exchange(&hard_faults, 0), 0);
    kit_end(&k);
}

// ---- time ---------------------------------------------------------------------------------------

enum {
    PAUSED_AT = 5,   // Tick of the first pipeline: pause, remember,
    PAUSED_FOR = 10, // then this many single steps and travel back,
    PAUSED_ON = 3    // then this many steps.
};

static struct {
    uint64_t tick, left; // Ticks of the world: remembered, and left.
    double phase;
    uint32_t looks; // Runs of the spectator since then.
} paused;

static void paused_begin(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    orr_pause(world, true);
    HARD_CHECK(orr_remember(world) == ORR_OK, "%s", orr_error_last(world));
    paused.tick = orr_world_tick(world);
    paused.phase = orr_phase(world, (orr_pipeline){1});
    HARD_CHECK(orr_realtime_step(world, PAUSED_FOR) == ORR_OK, "%s", orr_error_last(world));
}

// The time is that of the end of the last tick.
static void paused_back(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    paused.left = orr_world_tick(world);
    HARD_CHECK(orr_time_travel(world, paused.tick) == ORR_OK, "%s", orr_error_last(world));
    HARD_CHECK(orr_paused(world), "the travel ended the pause");
    double phase = orr_phase(world, (orr_pipeline){1});
    HARD_CHECK(phase > 0 && phase <= paused.phase, "phase %g, and was %g", phase, paused.phase);
    hard_done = 1;
}

// All steps were done before and none is left, so the world stood here until now.
static void paused_on(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    HARD_CHECK(orr_world_tick(world) == paused.tick, "the paused world ran a tick");
    HARD_CHECK(orr_realtime_step(world, PAUSED_ON) == ORR_OK, "%s", orr_error_last(world));
}

static void paused_post(orr_run* run)
{
    if (run->tick == PAUSED_AT && hard_done == 0) {
        (void)orr_post_exclusive(run->world, paused_begin, NULL, 0);
    } else if (run->tick == PAUSED_AT + PAUSED_FOR && hard_done == 0) {
        (void)orr_post_exclusive(run->world, paused_back, NULL, 0);
    } else if (run->tick == PAUSED_AT + PAUSED_ON && hard_done == 1) {
        hard_done = 2;
    }
}

// The spectator keeps drawing while the world is paused.
static void paused_watch(orr_run* run)
{
    hard_sleep(1000000);
    paused.looks += hard_done == 1;
    if (paused.looks == 50) {
        paused.looks++;
        (void)orr_post_exclusive(run->world, paused_on, NULL, 0);
    } else if (hard_done == 2 && paused.looks++ == 200) {
        orr_stop(run->world);
    }
}

ORR_TEST(paused_world_that_travels_back_stays_paused_there)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    hard_done = 0;
    trees_add(world, ROWS);
    memset(&paused, 0, sizeof paused);
    hard_pipe(world, "watch", 0, true);
    KIT_SYSTEM(world, .name = "ask", .once = true, .by_id = "Fruit", .run = paused_post);
    KIT_SYSTEM(world, .name = "watch", .pipeline = "watch", .once = true, .by_id = "Fruit",
               .run = paused_watch);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.for_ns = PATIENCE_NS}));
    CHECK_EQ(hard_done, 2);
    CHECK(paused.left >= paused.tick + PAUSED_FOR);
    orr_pipeline_stats stats;
    CHECK_OK(orr_pipeline_stats_get(world, (orr_pipeline){1}, &stats));
    CHECK_EQ(stats.tick, PAUSED_AT + PAUSED_ON);
    hard_end(&k);
}

static uint64_t due_noted[3]; // Of the simulation pipelines; the fourth is a spectator.

static uint64_t due_of(orr_world* world, uint32_t pipeline, uint64_t* interval_ns)
{
    orr_pipeline_stats stats = {0};
    HARD_CHECK(orr_pipeline_stats_get(world, (orr_pipeline){pipeline}, &stats) == ORR_OK, "%s",
               orr_error_last(world));
    *interval_ns = stats.interval_ns;
    return stats.due_ns;
}

static void due_note(orr_world* world)
{
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t interval;
        due_noted[i] = due_of(world, i + 1, &interval);
    }
}

static void due_look(orr_world* world)
{
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t interval, due = due_of(world, i + 1, &interval);
        if (i < 3) {
            HARD_CHECK(due == due_noted[i], "pipeline %u is due at another time", i + 1);
        } else {
            HARD_CHECK(due <= world->schedule->time_ns + interval,
                       "the spectator waits for its old due time");
        }
    }
}

// Simulation pipelines are due as they were then. No spectator waits until its old due time.
ORR_TEST(pipelines_are_due_together_after_travelling_back)
{
    kit k;
    orr_world* world = all_begin(&k, 0);
    hard_pipe(world, "watch", 250, true);
    trip.remembered = due_note;
    trip.back = due_look;
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 70}));
    CHECK_EQ(trip.gone, 3);
    hard_end(&k);
}

// ---- memory -------------------------------------------------------------------------------------

static struct {
    kit* k;
    uint64_t fail_at;
    bool again; // Also while real time is rebuilt.
    bool refused, went;
    bool armed;     // From the sync point on.
    uint32_t ticks; // Ticks since then.
    bool asked;     // Travel requested.
} scarce;

static void scarce_remember(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    trip.hash = orr_world_hash(world);
    trip.tick = orr_world_tick(world);
    failing_alloc_arm(&scarce.k->memory, scarce.fail_at, false);
    orr_result result = orr_remember(world);
    scarce.refused = scarce.k->memory.refused > 0;
    failing_alloc_arm(&scarce.k->memory, 0, false);
    HARD_CHECK(result == (scarce.refused ? ORR_ERR_MEMORY : ORR_OK), "%d", result);
    HARD_CHECK(orr_remembered(world, trip.tick) == !scarce.refused, "half remembered");
    HARD_CHECK(orr_world_hash(world) == trip.hash, "remembering changed the world");
    HARD_CHECK(orr_world_validate(world) == ORR_OK, "%s", orr_error_last(world));
}

static void scarce_back(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    uint64_t hash = orr_world_hash(world);
    failing_alloc_arm(&scarce.k->memory, scarce.fail_at, false);
    orr_result result = orr_time_travel(world, trip.tick);
    scarce.went = result == ORR_OK;
    scarce.refused = scarce.k->memory.refused > 0;
    HARD_CHECK(scarce.went || result == ORR_ERR_MEMORY, "%d", result);
    if (!scarce.again || scarce.refused) {
        failing_alloc_arm(&scarce.k->memory, 0, false);
    }
    HARD_CHECK(orr_world_hash(world) == (scarce.went ? trip.hash : hash),
               "the travel is half done");
    HARD_CHECK(orr_world_validate(world) == ORR_OK, "%s", orr_error_last(world));
}

static void scarce_forget(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    HARD_CHECK(scarce.refused || orr_forget(world, trip.tick) == ORR_OK, "%s",
               orr_error_last(world));
}

static void scarce_post(orr_run* run)
{
    bool travels = scarce.again || trip.trips > 0;
    if (trip.asked == 0 && run->tick == 3) {
        trip.asked++;
        (void)orr_post_exclusive(run->world, travels ? trip_remember : scarce_remember, NULL, 0);
    } else if (trip.asked == 1 && run->tick == 6) {
        trip.asked++;
        (void)orr_post_exclusive(run->world, travels ? scarce_back : scarce_forget, NULL, 0);
    }
}

static bool scarce_run(uint64_t fail_at, bool travels, bool again)
{
    kit k;
    orr_world* world = all_begin(&k, 0);
    CHECK_OK(orr_system_remove(world, orr_system_find(world, "ask")));
    KIT_SYSTEM(world, .name = "poor", .once = true, .by_id = "Fruit", .run = scarce_post);
    trip_set(travels);
    memset(&scarce, 0, sizeof scarce);
    scarce.k = &k;
    scarce.fail_at = fail_at;
    scarce.again = again;
    orr_result result = orr_realtime(world, &(orr_realtime_desc){.ticks = 9});
    bool refused = scarce.refused || k.memory.refused > 0;
    failing_alloc_arm(&k.memory, 0, false);
    CHECK(result == ORR_OK || (refused && result == ORR_ERR_MEMORY));
    CHECK_OK(orr_world_validate(world));
    CHECK_OK(orr_step(world, 3));
    k.errors = (kit_errors){0};
    hard_end(&k);
    return refused;
}

static void scarce_each(bool travels, bool again)
{
    uint64_t n = 1, stride = test_long() ? 1 : test_slow() ? 11 : 3;
    for (; scarce_run(n, travels, again); n += stride) {
        CHECK(n < 100000);
    }
    CHECK(n > 3);
}

ORR_TEST(remember_at_a_sync_point_without_memory_is_refused)
{
    scarce_each(false, false);
}

ORR_TEST(travel_at_a_sync_point_without_memory_does_nothing)
{
    scarce_each(true, false);
}

// The world is consistent at the target tick; the next run publishes it for other pipelines.
ORR_TEST(travel_at_a_sync_point_without_memory_for_real_time_ends_the_run)
{
    scarce_each(true, true);
}

// ---- memory for copies made by systems ----------------------------------------------------------

static void lost_remember(orr_world* world, void* data, size_t size)
{
    (void)size;
    trip_remember(world, data, 0);
    scarce.armed = true;
    failing_alloc_arm(&scarce.k->memory, scarce.fail_at, false);
}

static void lost_back(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    scarce.refused = scarce.k->memory.refused > 0;
    failing_alloc_arm(&scarce.k->memory, 0, false);
    orr_history_stats stats;
    orr_history_stats_get(world, &stats);
    bool there = orr_remembered(world, trip.tick);
    HARD_CHECK(there || stats.lost == 1, "a lost tick is not counted");
    orr_stop(world);
    orr_result result = orr_time_travel(world, trip.tick);
    if (result == ORR_ERR_STATE) {
        return; // The run ends in the middle of a tick.
    }
    HARD_CHECK(result == (there ? ORR_OK : ORR_ERR_PAST), "%s", orr_error_last(world));
    HARD_CHECK(!there || orr_world_hash(world) == trip.hash, "the restored world has another hash");
    scarce.went = there;
    hard_done += !there;
}

// For the pipeline that must write in between.
static void lost_post(orr_run* run)
{
    if (run->tick == 3) {
        (void)orr_post_exclusive(run->world, lost_remember, NULL, 0);
    } else if (scarce.armed && ++scarce.ticks >= 3 && !scarce.asked) {
        // The refused allocation may be that of the post.
        scarce.asked = orr_post_exclusive(run->world, lost_back, NULL, 0) == ORR_OK;
    }
}

// Writes succeed; a tick may be refused for other reasons; memories are complete or lost.
ORR_TEST(remembered_tick_that_cannot_be_copied_is_lost)
{
    bool refused = true;
    hard_done = 0;
    for (uint64_t n = 1; refused && n < 400; n += test_slow() && !test_long() ? 2 : 1) {
        kit k;
        orr_world* world = all_begin(&k, 0);
        KIT_SYSTEM(world, .name = "lost", .pipeline = "a", .once = true, .by_id = "Fruit",
                   .run = lost_post);
        trip_set(0);
        trip.from = UINT64_MAX; // Done by others.
        memset(&scarce, 0, sizeof scarce);
        scarce.k = &k;
        scarce.fail_at = n;
        orr_result result = orr_realtime(world, &(orr_realtime_desc){.for_ns = PATIENCE_NS});
        // The call that travels back may be refused, too.
        CHECK(result == ORR_OK || result == ORR_ERR_MEMORY || result == ORR_ERR_PAST ||
              result == ORR_ERR_STATE);
        refused = scarce.refused || k.memory.refused > 0;
        failing_alloc_arm(&k.memory, 0, false);
        result = orr_step(world, 3); // Its systems may not post in lockstep.
        CHECK(result == ORR_OK || result == ORR_ERR_STATE || result == ORR_ERR_MEMORY);
        CHECK_OK(orr_world_validate(world));
        k.errors = (kit_errors){0};
        hard_end(&k);
    }
    // The allocation that copies depends on timing: with every second one skipped, none of them may
    // be hit.
    CHECK(hard_done > 0 || test_slow());
}

// ---- three clocks -------------------------------------------------------------------------------

typedef struct three {
    kit k;
    clocks c;
} three;

static three the_three;

static void three_begin(three* t, bool draws)
{
    memset(t, 0, sizeof *t);
    orr_world* world = kit_begin(&t->k, &(orr_world_desc){.rate_hz = CLOCKS_LOGIC_HZ});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    CHECK_OK(orr_time_scale_set(world, 20));
    CHECK(clocks_build(&t->c, world, &(clocks_desc){.size = 300, .no_draw = !draws}));
    KIT_SYSTEM(world, .name = "ask", .once = true, .run = trip_post);
    trip_set(3);
    trip.from = 20;
    trip.to = 40;
}

// No simulation system finds a torn, lost or duplicated value: the abandoned timeline never
// happened.
ORR_TEST(clocks_that_travel_back_in_real_time_find_no_fault)
{
    three* t = &the_three;
    three_begin(t, false);
    CHECK_OK(orr_realtime(t->k.world, &(orr_realtime_desc){.ticks = 100}));
    CHECK_EQ(trip.gone, 3);
    CHECK_EQ(clocks_faults(&t->c), 0);
    hard_end(&t->k);
}

// Draw remembers ticks outside the world's state, so time runs backwards for it. But no value is
// torn.
ORR_TEST(clocks_that_travel_back_are_drawn_without_torn_values)
{
    three* t = &the_three;
    three_begin(t, true);
    CHECK_OK(orr_realtime(t->k.world, &(orr_realtime_desc){.ticks = 100}));
    CHECK_EQ(trip.gone, 3);
    CHECK_EQ(t->c.found[CLOCKS_TORN], 0);
    CHECK_EQ(t->c.found[CLOCKS_UNEQUAL], 0);
    CHECK_EQ(t->c.found[CLOCKS_UNBALANCED], 0);
    CHECK_EQ(t->c.found[CLOCKS_ROLL], 0);
    hard_end(&t->k);
}

ORR_TEST(clocks_that_travel_back_replay_to_the_same_hash)
{
    three* t = &the_three;
    uint64_t hash = 0;
    orr_recording* recording = orr_recording_create();
    for (uint32_t i = 0; i < 2; i++) {
        three_begin(t, i == 0); // The simulation is equal without draw.
        orr_realtime_desc record = {.ticks = 100, .record = recording, .hashes = true};
        CHECK_OK(
            orr_realtime(t->k.world, i == 0 ? &record : &(orr_realtime_desc){.replay = recording}));
        CHECK_EQ(trip.gone, 3);
        hash = i == 0 ? orr_world_hash(t->k.world) : hash;
        CHECK(orr_world_hash(t->k.world) == hash);
        hard_end(&t->k);
    }
    orr_recording_destroy(recording);
}
