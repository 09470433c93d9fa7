// SPDX-License-Identifier: MIT
// The window in real time, which uses sync points; travels within the window; and replays of both.
#include "history/fast_forward_kit.h"

// ---- the window ---------------------------------------------------------------------------------

static struct {
    orr_history_stats stats;
    uint64_t tick, remembered[MARKS], count, every;
    bool backs, wandering;
} window;

static void window_look(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    orr_history_stats_get(world, &window.stats);
    window.tick = orr_world_tick(world);
    window.count = 0;
    for (uint64_t t = 0; t <= window.tick && window.count < MARKS; t++) {
        if (orr_remembered(world, t)) {
            window.remembered[window.count++] = t;
        }
    }
    HARD_CHECK(orr_world_validate(world) == ORR_OK, "%s", orr_error_last(world));
    // Travels to each of them, and back to the current tick.
    for (uint64_t i = 0; window.backs && i < window.count; i++) {
        forward_go(world, window.remembered[i]);
        forward_go(world, window.tick);
    }
    hard_done++;
}

static void window_post(orr_run* run)
{
    if (run->tick == 80 && hard_done == 0) {
        (void)orr_post_exclusive(run->world, window_look, NULL, 0);
    }
}

static orr_world* window_begin(kit* k, const orr_history_desc* desc)
{
    orr_world* world = hard_begin(k, 2);
    memset(&window, 0, sizeof window);
    hard_done = 0;
    all_add(world);
    KIT_SYSTEM(world, .name = "ask", .once = true, .run = window_post);
    CHECK_OK(orr_history_set(world, desc));
    return world;
}

// At every sync point after a tick of the first pipeline. World ticks count the ticks of it, "a"
// and "b": about 4.5 for each.
ORR_TEST(window_moves_in_real_time)
{
    kit k;
    orr_world* world = window_begin(&k, &(orr_history_desc){.recent = 60, .every = 50});
    window.backs = true;
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 100}));
    CHECK_EQ(hard_done, 1);
    CHECK(orr_remembered(world, orr_world_tick(world))); // The last one, too.
    uint64_t recent = 0, old = 0;
    for (uint64_t i = 0; i < window.count; i++) {
        recent += window.remembered[i] + 60 >= window.tick;
        if (window.remembered[i] + 60 < window.tick) {
            // The first of each fifty.
            CHECK(old == 0 || window.remembered[i] / 50 > window.remembered[i - 1] / 50);
            old++;
        }
    }
    CHECK(recent >= 5); // A late pipeline ticks once between two sync points.
    CHECK(old >= 2);
    CHECK_EQ(window.stats.lost, 0);
    CHECK(window.stats.forgotten > 0);
    hard_end(&k);
}

ORR_TEST(window_of_single_ticks_moves_in_real_time)
{
    kit k;
    orr_world* world = window_begin(&k, &(orr_history_desc){.every = 100});
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 100}));
    CHECK_EQ(hard_done, 1);
    CHECK(window.count >= 3);
    for (uint64_t i = 0; i < window.count; i++) {
        CHECK_EQ(window.remembered[i] / 100, i);
    }
    hard_end(&k);
}

ORR_TEST(window_uses_sync_points_at_its_interval)
{
    kit k;
    orr_world* world =
        window_begin(&k, &(orr_history_desc){.recent = UINT32_MAX, .sync_every = 10});
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 100}));
    // At the start, at eight of ten ticks until the request, and at the request.
    CHECK(window.count == 9 || window.count == 10);
    hard_end(&k);
}

ORR_TEST(window_in_real_time_keeps_to_its_budget)
{
    kit k;
    orr_world* world =
        window_begin(&k, &(orr_history_desc){.recent = UINT32_MAX, .bytes_max = 1u << 16});
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 100}));
    CHECK(window.stats.ticks >= 1);
    CHECK(window.stats.forgotten > 0);
    CHECK(window.stats.bytes <= (1u << 16) || window.stats.ticks == 1);
    hard_end(&k);
}

// ---- back and forth while paused ----------------------------------------------------------------

static struct {
    uint64_t ticks[MARKS], hashes[MARKS];
    uint32_t count, at;
    _Atomic uint32_t step;
    uint64_t run; // Ticks run by fast-forward at the start.
    _Atomic uint32_t drawn;
} scrub;

static void scrub_note(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    scrub.ticks[scrub.count] = orr_world_tick(world);
    scrub.hashes[scrub.count++] = orr_world_hash(world);
}

static void scrub_begin(orr_world* world, void* data, size_t size)
{
    (void)size;
    scrub_note(world, data, 0);
    orr_pause(world, true);
    orr_history_stats stats;
    orr_history_stats_get(world, &stats);
    scrub.run = stats.ticks_run;
    scrub.step = 1;
}

// To any recorded tick, by remembered ticks only.
static void scrub_move(orr_world* world, void* data, size_t size)
{
    (void)size;
    memcpy(&scrub.at, data, sizeof scrub.at);
    forward_go(world, scrub.ticks[scrub.at]);
    HARD_CHECK(orr_world_hash(world) == scrub.hashes[scrub.at],
               "the restored tick has another hash");
    orr_history_stats stats;
    orr_history_stats_get(world, &stats);
    HARD_CHECK(stats.ticks_run == scrub.run, "ticks were run");
    HARD_CHECK(orr_paused(world), "the travel ended the pause");
    scrub.step++;
}

static void scrub_end(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    HARD_CHECK(orr_remembered(world, scrub.ticks[scrub.count - 1]), "a later tick was forgotten");
    orr_pause(world, false);
    scrub.step = UINT32_MAX;
}

static void scrub_look(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    // Continues from there: the later ticks are a new timeline.
    orr_history_stats stats;
    orr_history_stats_get(world, &stats);
    HARD_CHECK(stats.tick_last == orr_world_tick(world), "tick %u is remembered after %u",
               (unsigned)stats.tick_last, (unsigned)orr_world_tick(world));
    hard_done++;
    orr_stop(world);
}

static void scrub_post(orr_run* run)
{
    if (scrub.step == 0) {
        (void)orr_post_exclusive(run->world, run->tick == 40 ? scrub_begin : scrub_note, NULL, 0);
    } else if (scrub.step == UINT32_MAX) {
        scrub.step = UINT32_MAX - 1;
        (void)orr_post_exclusive(run->world, scrub_look, NULL, 0);
    }
}

// The spectator runs while the world is paused and moves the slider; it reads everything, also with
// its own query.
static void scrub_draw(orr_run* run)
{
    const Tree* t = orr_read(run, Tree);
    for (uint32_t i = 0; i < run->count; i++) {
        HARD_CHECK(t[i].twice == 2 * t[i].tick, "a tree is torn");
        scrub.drawn += orr_get(run->world, orr_iter_entity(run, i), Tree) != NULL;
    }
}

static void scrub_slide(orr_run* run)
{
    static uint32_t asked;
    hard_sleep(300000);
    uint32_t step = scrub.step;
    if (step == 0 || step >= UINT32_MAX - 1 || asked == step) {
        return;
    }
    asked = step;
    if (step < 40) {
        uint32_t at = (uint32_t)(orr_random(step, 0, 0, 0) % scrub.count);
        (void)orr_post_exclusive(run->world, scrub_move, &at, sizeof at);
    } else {
        (void)orr_post_exclusive(run->world, scrub_end, NULL, 0);
    }
}

ORR_TEST(paused_world_travels_within_the_window)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    memset(&scrub, 0, sizeof scrub);
    hard_done = 0;
    all_add(world);
    hard_pipe(world, "draw", 0, true);
    KIT_SYSTEM(world, .name = "ask", .once = true, .run = scrub_post);
    KIT_SYSTEM(world, .name = "draw", .pipeline = "draw", .query = "Tree", .by_id = "Tree",
               .run = scrub_draw);
    KIT_SYSTEM(world, .name = "slide", .pipeline = "draw", .once = true, .run = scrub_slide);
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = UINT32_MAX}));
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.for_ns = PATIENCE_NS}));
    CHECK_EQ(hard_done, 1);
    CHECK(scrub.drawn > 0);
    hard_end(&k);
}

// ---- a window, and a replay ---------------------------------------------------------------------

// Travels back to any tick of the window and forward: the replay remembers the same ticks.
static void wander_call(orr_world* world, void* data, size_t size)
{
    (void)size;
    uint64_t dice;
    memcpy(&dice, data, sizeof dice);
    orr_history_stats stats;
    orr_history_stats_get(world, &stats);
    uint64_t tick = orr_world_tick(world) - dice % (orr_world_tick(world) - stats.tick_first + 1);
    while (!orr_remembered(world, tick)) {
        tick--;
    }
    forward_go(world, tick);
    if (dice % 3 == 0) {
        forward_go(world, tick + 1 + (dice >> 8) % 10);
    }
    forward.hashes[forward.calls++ % MARKS] = orr_world_hash(world) + orr_world_tick(world);
}

static void wander_post(orr_run* run)
{
    Count* c = orr_state(run, Count);
    if (++c->count % 9 == 8 && orr_running(run->world)) {
        uint64_t dice = orr_random(c->count, forward.calls, 0, 0) >> 1;
        (void)orr_post_exclusive(run->world, wander_call, &dice, sizeof dice);
    }
}

static orr_world* wander_begin(kit* k, uint32_t workers)
{
    orr_world* world = hard_begin(k, workers);
    memset(&forward, 0, sizeof forward);
    all_add(world);
    KIT_SYSTEM(world, .name = "ask", .once = true, .impure = true, .state = ORR_TYPE(Count),
               .run = wander_post);
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 40, .every = 20}));
    return world;
}

ORR_TEST(replay_of_a_run_with_a_window_gives_the_same_world)
{
    hard_replays_with_workers(
        (hard_replay){.begin = wander_begin, .ticks = 80, .replays = 2, .look = forward_same});
}

// Memory use depends on the readers, so the recording contains the memories that the budget
// removed.
static uint32_t tight_readers;

static void tight_call(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    orr_history_stats stats;
    orr_history_stats_get(world, &stats);
    forward.hashes[forward.calls++ % MARKS] = stats.tick_first * 1000 + stats.ticks;
    forward_go(world, stats.tick_first);
    forward_go(world, stats.tick_first + 5);
    orr_result result = orr_remember(world); // May be refused by the budget.
    if (result != ORR_OK) {
        HARD_CHECK(result == ORR_ERR_CAPACITY, "%s", orr_error_last(world));
        forward.kit->errors = (kit_errors){0};
    }
    forward.hashes[forward.calls++ % MARKS] = result;
}

static void tight_post(orr_run* run)
{
    Count* c = orr_state(run, Count);
    if (++c->count % 15 == 14 && orr_running(run->world)) {
        (void)orr_post_exclusive(run->world, tight_call, NULL, 0);
    }
}

static orr_world* tight_begin(kit* k, uint32_t workers)
{
    orr_world* world = hard_begin(k, workers);
    memset(&forward, 0, sizeof forward);
    forward.kit = k;
    all_add(world);
    for (uint32_t i = 0; i < tight_readers; i++) {
        char name[16];
        snprintf(name, sizeof name, "watch%u", i);
        hard_pipe(world, name, 130 + 90 * i, true);
        KIT_SYSTEM(world, .name = name, .kind = ORR_INDIRECT, .pipeline = name,
                   .query = "Tree, Fruit", .run = kit_run_nothing);
    }
    // Replays have more room and fewer readers: the recorded decisions count.
    uint64_t most = tight_readers == 3 ? 60000 : 1u << 30;
    tight_readers = tight_readers > 0 ? tight_readers - 1 : 0;
    KIT_SYSTEM(world, .name = "ask", .once = true, .impure = true, .state = ORR_TYPE(Count),
               .run = tight_post);
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 60, .bytes_max = most}));
    return world;
}

ORR_TEST(replay_of_a_window_with_a_budget_forgets_the_same)
{
    tight_readers = 3;
    hard_replays(&(hard_replay){.begin = tight_begin,
                                .ticks = 60,
                                .replays = 4,
                                .refused = ORR_ERR_CAPACITY,
                                .look = forward_same});
}
