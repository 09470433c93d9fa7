// SPDX-License-Identifier: MIT
// Remembering, forgetting and travelling of a world.
#include "store/world/access.h"
// Declares `first`.
#include "history/history_kit.h"
#include "support/growth_kit.h"

// In every third tick creates an entity, which moves from the next tick on.
static void create_every_third(orr_run* run)
{
    if (run->tick % 3 == 0) {
        orr_entity child = orr_send_create(run);
        orr_send_add(run, child, Position, {(float)run->tick, 0, 0});
    }
}

// Entities move and are created.
static orr_world* begin_creating(kit* k)
{
    orr_world* world = begin_going(k);
    KIT_SYSTEM(world, .name = "breed", .once = true, .run = create_every_third,
               .creates = "Position");
    return world;
}

// ---- there and back -----------------------------------------------------------------------------

ORR_TEST(timeline_of_a_new_world_is_0)
{
    kit k = {0};
    orr_world* world = begin(&k);
    CHECK_EQ(orr_timeline(world), 0);
    CHECK(!orr_remembered(world, 0));
    kit_end(&k);
}

ORR_TEST(travel_back_restores_values_ids_and_tick)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    KIT_STEP(world, 4);
    uint64_t hash = orr_world_hash(world), count = orr_entity_count(world);
    CHECK_OK(orr_remember(world));
    KIT_STEP(world, 6);
    orr_entity late = make(world, 5);
    CHECK_OK(orr_time_travel(world, 4));
    CHECK_EQ(orr_world_tick(world), 4);
    CHECK(x_of(world, first) == 4);
    CHECK(!orr_alive(world, late));
    CHECK_EQ(orr_entity_count(world), count);
    CHECK(orr_world_hash(world) == hash);
    CHECK_EQ(orr_timeline(world), 1);
    kit_end(&k);
}

ORR_TEST(travel_forward_after_travelling_back_gives_the_same_world)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    uint64_t hashes[21];
    CHECK_OK(orr_remember(world));
    for (uint32_t i = 1; i <= 20; i++) {
        KIT_STEP(world, 1);
        hashes[i] = orr_world_hash(world);
    }
    CHECK_OK(orr_time_travel(world, 0));
    for (uint32_t i = 1; i <= 20; i++) {
        CHECK_OK(orr_time_travel(world, i));
        CHECK_EQ(orr_world_tick(world), i);
        CHECK(orr_world_hash(world) == hashes[i]);
    }
    CHECK_EQ(stats_of(world).ticks_run, 20);
    kit_end(&k);
}

ORR_TEST(travel_forward_runs_though_the_world_is_paused)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    CHECK_OK(orr_remember(world));
    orr_pause(world, true);
    CHECK_OK(orr_time_travel(world, 3));
    CHECK_EQ(orr_world_tick(world), 3);
    CHECK(orr_paused(world));
    CHECK_OK(orr_time_travel(world, 0));
    CHECK(orr_paused(world));
    kit_end(&k);
}

ORR_TEST(travel_to_the_current_tick_undoes_changes_since_it_was_remembered)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    KIT_STEP(world, 2);
    CHECK_OK(orr_time_travel(world, 2)); // No work.
    CHECK_EQ(orr_timeline(world), 0);
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_set(world, first, Position, {77, 0, 0}));
    CHECK_OK(orr_time_travel(world, 2));
    CHECK(x_of(world, first) == 2);
    kit_end(&k);
}

ORR_TEST(remember_twice_in_a_tick_keeps_the_second)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_set(world, first, Position, {77, 0, 0}));
    CHECK_OK(orr_remember(world));
    CHECK_EQ(stats_of(world).ticks, 1);
    KIT_STEP(world, 1);
    CHECK_OK(orr_time_travel(world, 0));
    CHECK(x_of(world, first) == 77);
    kit_end(&k);
}

// ---- later ticks --------------------------------------------------------------------------------

ORR_TEST(travel_forward_to_a_remembered_tick_runs_nothing)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    CHECK_OK(orr_remember(world));
    KIT_STEP(world, 5);
    CHECK_OK(orr_remember(world));
    uint64_t hash = orr_world_hash(world);
    CHECK_OK(orr_time_travel(world, 0));
    CHECK(orr_remembered(world, 5));
    CHECK_OK(orr_time_travel(world, 5));
    CHECK_EQ(stats_of(world).ticks_run, 0);
    CHECK(orr_world_hash(world) == hash);
    kit_end(&k);
}

ORR_TEST(tick_after_travelling_back_forgets_the_abandoned_timeline)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    CHECK_OK(orr_remember(world));
    KIT_STEP(world, 5);
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_time_travel(world, 0));
    CHECK(orr_remembered(world, 5));
    KIT_STEP(world, 1);
    CHECK(!orr_remembered(world, 5));
    CHECK(orr_remembered(world, 0));
    kit_end(&k);
}

ORR_TEST(travel_forward_after_a_change_runs_ticks_of_the_new_timeline)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    CHECK_OK(orr_remember(world));
    KIT_STEP(world, 5);
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_time_travel(world, 0));
    CHECK_OK(orr_set(world, first, Position, {100, 0, 0}));
    CHECK_OK(orr_time_travel(world, 5));
    CHECK(x_of(world, first) == 105);
    kit_end(&k);
}

ORR_TEST(travel_forward_starts_from_the_last_remembered_tick_on_the_way)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    CHECK_OK(orr_remember(world));
    KIT_STEP(world, 5);
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_time_travel(world, 0));
    CHECK_OK(orr_time_travel(world, 7));
    CHECK_EQ(stats_of(world).ticks_run, 2);
    CHECK(x_of(world, first) == 7);
    kit_end(&k);
}

// ---- forgetting ---------------------------------------------------------------------------------

// The world's tick counts the ticks of all pipelines, which a program may take for those of "main".
ORR_TEST(travel_refused_in_a_world_of_several_pipelines_says_which_ticks_count)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.rate_hz = 50});
    CHECK(orr_pipeline_add(world,
                           &(orr_pipeline_desc){.name = "view", .rate_hz = 50, .spectator = true})
              .id != 0);
    KIT_STEP(world, 3);
    CHECK_RESULT(orr_time_travel(world, 2), ORR_ERR_PAST);
    KIT_ERROR(&k, ORR_ERR_PAST, "tick 2 is past (the world is at tick 3) and not remembered");
    CHECK(orr_pipeline_add(world, &(orr_pipeline_desc){.name = "fast", .rate_hz = 100}).id != 0);
    KIT_STEP(world, 3);
    CHECK_RESULT(orr_time_travel(world, 2), ORR_ERR_PAST);
    KIT_ERROR(&k, ORR_ERR_PAST,
              "tick 2 is past (the world is at tick 11, counting the ticks of all pipelines)");
    kit_end(&k);
}

ORR_TEST(travel_to_a_forgotten_tick_names_the_remembered_ticks)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    KIT_STEP(world, 3);
    CHECK_RESULT(orr_time_travel(world, 2), ORR_ERR_PAST);
    KIT_ERROR(&k, ORR_ERR_PAST, "no tick is remembered: call orr_remember()");
    CHECK_OK(orr_remember(world));
    KIT_STEP(world, 3);
    CHECK_OK(orr_remember(world));
    KIT_STEP(world, 3);
    CHECK_RESULT(orr_time_travel(world, 5), ORR_ERR_PAST);
    KIT_ERROR(
        &k, ORR_ERR_PAST,
        "tick 5 is past (the world is at tick 9) and not remembered; the nearest remembered ticks "
        "are 3 and 6");
    CHECK_RESULT(orr_time_travel(world, 8), ORR_ERR_PAST);
    KIT_ERROR(&k, ORR_ERR_PAST, "the nearest remembered tick is 6");
    CHECK_OK(orr_forget(world, 3));
    CHECK_RESULT(orr_time_travel(world, 3), ORR_ERR_PAST);
    k.errors = (kit_errors){0};
    CHECK_RESULT(orr_forget(world, 3), ORR_ERR_PAST);
    KIT_ERROR(&k, ORR_ERR_PAST, "tick 3 is not remembered");
    CHECK_EQ(orr_world_tick(world), 9);
    CHECK(x_of(world, first) == 9);
    kit_end(&k);
}

ORR_TEST(forget_range_keeps_every_nth)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    for (uint32_t i = 0; i < 20; i++) {
        CHECK_OK(orr_remember(world));
        KIT_STEP(world, 1);
    }
    CHECK_EQ(orr_forget_range(world, 3, 16, 5), 11);
    for (uint32_t i = 0; i < 20; i++) {
        CHECK_EQ(orr_remembered(world, i), i < 3 || i > 16 || i % 5 == 0);
    }
    CHECK_EQ(orr_forget_range(world, 0, UINT64_MAX, 0), 9);
    CHECK_EQ(stats_of(world).ticks, 0);
    CHECK_EQ(orr_forget_range(world, 0, UINT64_MAX, 0), 0);
    CHECK_EQ(orr_forget_range(world, 9, 3, 1), 0);
    kit_end(&k);
}

// Ticks 1 to 3 are remembered; before tick 2 a call changed the world, which is an input of it.
static orr_world* begin_with_input(kit* k)
{
    orr_world* world = begin_going(k);
    KIT_STEP(world, 1);
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_set(world, first, Position, {100, 0, 0}));
    KIT_STEP(world, 1);
    CHECK_OK(orr_remember(world));
    KIT_STEP(world, 1);
    CHECK_OK(orr_remember(world));
    return world;
}

ORR_TEST(travel_forward_restores_a_remembered_tick_after_the_current_one_was_forgotten)
{
    kit k = {0};
    orr_world* world = begin_with_input(&k);
    uint64_t hash = orr_world_hash(world);
    CHECK_OK(orr_time_travel(world, 1));
    CHECK_OK(orr_forget(world, 1));
    CHECK(!orr_remembered(world, 1));
    CHECK_OK(orr_time_travel(world, 2));
    CHECK(x_of(world, first) == 101);
    CHECK_OK(orr_time_travel(world, 3));
    CHECK(orr_world_hash(world) == hash);
    CHECK_EQ(stats_of(world).ticks_run, 0);
    CHECK(orr_remembered(world, 2) && orr_remembered(world, 3));
    // The same by a range, and back and forth.
    CHECK_OK(orr_time_travel(world, 2));
    CHECK_EQ(orr_forget_range(world, 0, 2, 0), 1);
    CHECK_OK(orr_time_travel(world, 3));
    CHECK(orr_world_hash(world) == hash);
    CHECK_EQ(stats_of(world).ticks_run, 0);
    kit_end(&k);
}

ORR_TEST(forgotten_current_tick_can_be_remembered_again_or_left)
{
    kit k = {0};
    orr_world* world = begin_with_input(&k);
    CHECK_OK(orr_time_travel(world, 1));
    CHECK_OK(orr_forget(world, 1));
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_time_travel(world, 2));
    CHECK(x_of(world, first) == 101);
    CHECK_OK(orr_time_travel(world, 1));
    CHECK_OK(orr_forget(world, 1));
    CHECK_OK(orr_set(world, first, Position, {7, 0, 0})); // Another future.
    CHECK_OK(orr_time_travel(world, 2));
    CHECK(x_of(world, first) == 8);
    CHECK(!orr_remembered(world, 2) && !orr_remembered(world, 3));
    CHECK_EQ(stats_of(world).ticks, 0);
    kit_end(&k);
}

// Forgetting everything gives back the memory, also while the world stands at a restored tick.
ORR_TEST(forgetting_all_ticks_at_a_restored_one_leaves_nothing)
{
    kit k = {0};
    orr_world* world = begin_with_input(&k);
    CHECK_OK(orr_time_travel(world, 1));
    CHECK_EQ(orr_forget_range(world, 0, UINT64_MAX, 0), 3);
    CHECK_EQ(stats_of(world).ticks, 0);
    CHECK(stats_of(world).bytes < 1024); // The empty list.
    CHECK_OK(orr_time_travel(world, 2));
    CHECK(x_of(world, first) == 2);
    kit_end(&k);
}

// ---- rules --------------------------------------------------------------------------------------

ORR_TEST(disabled_window_leaves_nothing)
{
    kit k = {0};
    orr_world* world = begin(&k);
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 10, .every = 7}));
    CHECK_OK(orr_step(world, 40));
    CHECK_OK(orr_remember(world)); // By a call, for the current tick: it is kept.
    CHECK_OK(orr_history_set(world, &(orr_history_desc){0}));
    CHECK_EQ(stats_of(world).ticks, 1);
    CHECK_OK(orr_forget(world, 40));
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 10}));
    CHECK_OK(orr_step(world, 5));
    CHECK_EQ(stats_of(world).ticks, 6);
    CHECK_OK(orr_history_set(world, &(orr_history_desc){0}));
    CHECK_EQ(stats_of(world).ticks, 0);
    kit_end(&k);
}

ORR_TEST(nearest_remembered_ticks_are_reported)
{
    kit k = {0};
    orr_world* world = begin(&k);
    uint64_t before, after;
    orr_remembered_near(world, 5, &before, &after);
    CHECK(before == UINT64_MAX && after == UINT64_MAX);
    for (uint32_t i = 0; i < 3; i++) { // 10, 20, 30
        CHECK_OK(orr_step(world, 10));
        CHECK_OK(orr_remember(world));
    }
    static const uint64_t cases[][3] = {{0, UINT64_MAX, 10},
                                        {10, 10, 10},
                                        {11, 10, 20},
                                        {29, 20, 30},
                                        {30, 30, 30},
                                        {31, 30, UINT64_MAX},
                                        {UINT64_MAX, 30, UINT64_MAX}};
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        orr_remembered_near(world, cases[i][0], &before, &after);
        CHECK_EQ(before, cases[i][1]);
        CHECK_EQ(after, cases[i][2]);
    }
    kit_end(&k);
}

ORR_TEST(window_remembers_the_recent_ticks_and_every_nth_before)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 4, .every = 10}));
    CHECK(orr_remembered(world, 0));
    for (uint32_t now = 1; now <= 47; now++) {
        KIT_STEP(world, 1);
        for (uint32_t tick = 0; tick <= now; tick++) {
            CHECK_EQ(orr_remembered(world, tick), tick + 4 >= now || tick % 10 == 0);
        }
    }
    CHECK_OK(orr_time_travel(world, 43)); // The oldest tick it reports.
    CHECK(x_of(world, first) == 43);
    kit_end(&k);
}

ORR_TEST(window_keeps_ticks_remembered_by_a_call)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    KIT_STEP(world, 3);
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 2}));
    KIT_STEP(world, 5);
    CHECK(orr_remembered(world, 3));
    CHECK(!orr_remembered(world, 5));
    CHECK_EQ(stats_of(world).ticks, 4);
    CHECK_OK(orr_history_set(world, &(orr_history_desc){0}));
    KIT_STEP(world, 5);
    CHECK_EQ(stats_of(world).tick_last, 3);
    kit_end(&k);
}

ORR_TEST(window_of_a_world_without_systems_remembers_ends_of_ticks)
{
    kit k = {0};
    orr_world* world = begin_rows(&k);
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 8}));
    orr_entity row = make(world, 0);
    for (uint32_t i = 0; i < 5; i++) {
        CHECK_OK(orr_set(world, row, Position, {(float)i, 0, 0})); // In tick i.
        orr_tick_advance(world);
    }
    CHECK_OK(orr_time_travel(world, 2));
    CHECK(x_of(world, row) == 2);
    kit_end(&k);
}

// Undo and redo of an editor.
ORR_TEST(window_remembers_recent_changes_when_the_world_travels_back)
{
    kit k = {0};
    orr_world* world = begin_rows(&k);
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 8}));
    orr_entity row = make(world, 0);
    for (uint32_t i = 1; i <= 3; i++) {
        orr_tick_advance(world);
        CHECK_OK(orr_set(world, row, Position, {(float)i, 0, 0}));
    }
    for (uint32_t round = 0; round < 2; round++) {
        CHECK_OK(orr_time_travel(world, 2));
        CHECK(x_of(world, row) == 2);
        CHECK_OK(orr_time_travel(world, 1));
        CHECK(x_of(world, row) == 1);
        CHECK_OK(orr_time_travel(world, 3));
        CHECK(x_of(world, row) == 3);
    }
    CHECK_EQ(stats_of(world).ticks_run, 0);
    kit_end(&k);
}

// In an editor ticks do nothing: one redo too many runs an empty tick and loses nothing.
ORR_TEST(window_of_a_world_without_systems_keeps_changes_when_it_travels_forward)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 100}));
    for (uint32_t i = 0; i < 5; i++) {
        orr_tick_advance(world);
        orr_create(world);
    }
    CHECK_OK(orr_time_travel(world, 6));
    CHECK_EQ(orr_entity_count(world), 5);
    for (uint64_t tick = 5; tick > 0; tick--) {
        CHECK_OK(orr_time_travel(world, tick));
        CHECK_EQ(orr_entity_count(world), tick);
    }
    CHECK_OK(orr_time_travel(world, 4));
    orr_create(world); // Another edit in that tick.
    CHECK_OK(orr_time_travel(world, 7));
    CHECK_OK(orr_time_travel(world, 4));
    CHECK_EQ(orr_entity_count(world), 5);
    kit_end(&k);
}

ORR_TEST(window_enabled_before_the_first_step_keeps_later_ticks)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 100}));
    for (uint32_t i = 0; i < 5; i++) {
        CHECK_OK(orr_step(world, 1));
        orr_create(world);
    }
    CHECK_OK(orr_time_travel(world, 0));
    CHECK_EQ(orr_entity_count(world), 0);
    CHECK_OK(orr_time_travel(world, 3));
    CHECK_EQ(orr_entity_count(world), 2); // The end of tick 3; the later change is not included.
    orr_history_stats stats;
    orr_history_stats_get(world, &stats);
    CHECK_EQ(stats.ticks_run, 0);
    CHECK_OK(orr_time_travel(world, 5));
    CHECK_EQ(orr_entity_count(world), 5);
    kit_end(&k);
}

ORR_TEST(window_does_not_replace_a_tick_remembered_by_a_call)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 8}));
    KIT_STEP(world, 3);
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_set(world, first, Position, {50, 0, 0}));
    CHECK_OK(orr_time_travel(world, 1));
    CHECK_OK(orr_time_travel(world, 3));
    CHECK(x_of(world, first) == 3);
    kit_end(&k);
}

ORR_TEST(budget_forgets_the_oldest_and_refuses_more_by_call)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    for (uint32_t i = 0; i < 5000; i++) {
        make(world, (float)i);
    }
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 1000, .bytes_max = 1 << 20}));
    KIT_STEP(world, 100);
    orr_history_stats stats = stats_of(world);
    CHECK(stats.bytes <= 1 << 20);
    CHECK(stats.ticks > 3 && stats.ticks < 100);
    CHECK_EQ(stats.tick_last, 100);
    CHECK(stats.forgotten >= 101 - stats.ticks);
    CHECK_OK(orr_time_travel(world, stats.tick_first));
    CHECK(x_of(world, first) == (float)stats.tick_first);
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.bytes_max = 1}));
    CHECK_RESULT(orr_remember(world), ORR_ERR_CAPACITY);
    KIT_ERROR(&k, ORR_ERR_CAPACITY, "orr_history_desc.bytes_max is 1;");
    kit_end(&k);
}

// ---- refused calls ------------------------------------------------------------------------------

static orr_result inside_results[4];

static void remember_inside(orr_run* run)
{
    inside_results[0] = orr_remember(run->world);
    inside_results[1] = orr_time_travel(run->world, 0);
    inside_results[2] = orr_forget(run->world, 0);
    inside_results[3] = orr_history_set(run->world, &(orr_history_desc){.recent = 1});
    CHECK_EQ(orr_forget_range(run->world, 0, 9, 0), 0);
}

ORR_TEST(history_inside_a_system_is_refused)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    KIT_SYSTEM(world, .name = "odd", .query = "Position", .once = true, .run = remember_inside);
    CHECK_OK(orr_remember(world));
    (void)orr_step(world, 1);
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_RESULT(inside_results[i], ORR_ERR_STATE);
    }
    CHECK(orr_remembered(world, 0));
    k.errors = (kit_errors){0};
    kit_end(&k);
}

ORR_TEST(history_in_a_loop_is_refused)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    CHECK_OK(orr_remember(world));
    orr_query* query = orr_query_text(world, "Position");
    ORR_EACH (it, query) {
        CHECK_RESULT(orr_remember(world), ORR_ERR_STATE);
        CHECK_RESULT(orr_time_travel(world, 0), ORR_ERR_STATE);
    }
    k.errors = (kit_errors){0};
    CHECK_OK(orr_time_travel(world, 0));
    kit_end(&k);
}

ORR_TEST(history_refuses_bad_arguments)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    CHECK_RESULT(orr_history_set(world, NULL), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_time_travel(world, UINT64_MAX), ORR_ERR_ARGUMENT);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "ticks ahead");
    CHECK_EQ(orr_world_tick(world), 0);
    kit_end(&k);
}

// ---- memory -------------------------------------------------------------------------------------

ORR_TEST(remember_without_memory_has_no_effect)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    KIT_STEP(world, 7);
    uint64_t hash = orr_world_hash(world);
    for (uint64_t n = 1;; n++) {
        failing_alloc_arm(&k.memory, n, false);
        orr_result result = orr_remember(world);
        bool refused = k.memory.refused != 0;
        failing_alloc_arm(&k.memory, 0, false);
        CHECK_RESULT(result, refused ? ORR_ERR_MEMORY : ORR_OK);
        CHECK_EQ(orr_remembered(world, 7), !refused);
        CHECK(orr_world_hash(world) == hash);
        if (!refused) {
            CHECK(n > 5);
            break;
        }
    }
    k.errors = (kit_errors){0};
    kit_end(&k);
}

ORR_TEST(travel_without_memory_has_no_effect)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    CHECK_OK(orr_remember(world));
    uint64_t then = orr_world_hash(world);
    KIT_STEP(world, 7);
    CHECK_OK(orr_remember(world));
    uint64_t now = orr_world_hash(world), refusals = 0;
    for (uint64_t n = 1;; n++) {
        failing_alloc_arm(&k.memory, n, false);
        orr_result result = orr_time_travel(world, 0);
        bool refused = k.memory.refused != 0;
        failing_alloc_arm(&k.memory, 0, false);
        // Checks after the restore can do without memory.
        CHECK(result == ORR_OK || (refused && result == ORR_ERR_MEMORY));
        CHECK(orr_world_hash(world) == (result == ORR_OK ? then : now));
        CHECK(orr_remembered(world, 0) && orr_remembered(world, 7));
        if (!refused) {
            break;
        }
        refusals += result != ORR_OK;
        CHECK_OK(orr_time_travel(world, 7));
    }
    CHECK(refusals > 3);
    CHECK_OK(orr_time_travel(world, 7));
    CHECK(orr_world_hash(world) == now);
    k.errors = (kit_errors){0};
    kit_end(&k);
}

// A reader of the state, whose sum depends on all its messages, and a reader outside of it.
ORR_STRUCT(Sum, (uint64_t, messages))

static void sum_messages(orr_run* run)
{
    Sum* sum = orr_run_user(run) == NULL ? orr_state(run, Sum) : orr_run_user(run);
    ORR_MESSAGES(m, run)
    {
        sum->messages = sum->messages * 31 + m->count * 8 + (uint64_t)m->kind;
    }
}

// Counts entities by kind of message: where messages are cut depends on which diff found them.
static void count_messages(orr_run* run)
{
    Sum* sum = orr_run_user(run);
    ORR_MESSAGES(m, run)
    {
        sum->messages += (uint64_t)m->count << 12 * m->kind;
    }
}

// Number of calls of travel_pending() below.
#define PENDING_CALLS 12u

// Makes one of the calls that change the world. @return true if it was done.
static bool travel_pending(kit* k, uint32_t call, orr_query* writes, const orr_entity rows[2])
{
    orr_world* world = k->world;
    orr_type position = orr_type_of(world, ORR_TYPE(Position));
    uint32_t count = 0;
    switch (call) {
    case 0:
        return orr_set(world, rows[0], Position, {7, 7, 7}) == ORR_OK;
    case 1:
        return orr_destroy(world, rows[1]) == ORR_OK;
    case 2:
        return orr_create(world).id != 0;
    case 3:
        return orr_set(world, rows[1], Velocity, {1, 1}) == ORR_OK;
    case 4:
        return orr_remove(world, rows[0], Position) == ORR_OK;
    case 5:
        return orr_component_enable(world, rows[0], position, false) == ORR_OK;
    case 6:
        return orr_entity_enable(world, rows[0], false) == ORR_OK;
    case 7: {
        Position* p = orr_edit(world, rows[0], Position);
        if (p != NULL) {
            p->x = 8;
        }
        return p != NULL;
    }
    case 8:
        ORR_EACH (it, writes) {
            orr_write(&it, Position)[0].x = 9;
            count += it.count;
        }
        return count > 0;
    case 9:
        return orr_component_set_many(world, rows, 1, position, &(Position){1, 2, 3}) == ORR_OK;
    case 10:
        return orr_remember(world) == ORR_OK;
    default:
        return orr_step(world, 1) == ORR_OK;
    }
}

typedef struct travel_case {
    uint64_t fail_at;
    bool for_good;
    uint32_t call;
    uint64_t refused;         // Result: allocations that were refused.
    bool travelled, pending;  // Result: the travel was made; readers were not notified at once.
    uint64_t hash, then, sum; // Result: at the end; at the remembered tick; of `outside`.
} travel_case;

// Travels to a tick with a change that was not delivered, while memory is refused, and makes a call
// that changes the world, first while memory is still refused. Both are repeated if they are
// refused.
static void travel_refused(travel_case* c)
{
    kit k = {0};
    Sum outside = {0};
    orr_world* world = begin(&k);
    KIT_SYSTEM(world, .name = "sum", .kind = ORR_INDIRECT, .query = "Position", .run = sum_messages,
               .state = ORR_TYPE(Sum));
    KIT_SYSTEM(world, .name = "see", .kind = ORR_INDIRECT, .query = "either *",
               .run = count_messages, .user = &outside);
    orr_query* writes = orr_query_create(world, &(orr_query_desc){.text = "write Position"});
    orr_entity rows[2] = {make(world, 1), make(world, 2)};
    KIT_STEP(world, 1);
    orr_entity late = make(world, 4);
    CHECK_OK(orr_remember(world));
    c->then = orr_world_hash(world);
    CHECK_OK(orr_set(world, rows[0], Position, {9, 9, 9}));
    CHECK_OK(orr_destroy(world, rows[1]));
    CHECK_OK(orr_set(world, late, Velocity, {9, 9}));
    KIT_STEP(world, 1);
    uint64_t now = orr_world_hash(world);
    outside.messages = 0;
    failing_alloc_arm(&k.memory, c->fail_at, c->for_good);
    orr_result result = orr_time_travel(world, 1);
    c->travelled = result == ORR_OK;
    c->pending = world->running.notify_travel != NULL;
    CHECK(c->travelled ? !c->pending || k.memory.refused > 0 : result == ORR_ERR_MEMORY);
    CHECK_EQ(orr_world_tick(world), c->travelled ? 1 : 2); // Made, or without any effect.
    CHECK_EQ(orr_world_hash(world), c->travelled ? c->then : now);
    if (c->pending && c->for_good) {
        CHECK(!travel_pending(&k, c->call, writes, rows)); // Refused, without any effect.
        CHECK_CONTAINS(k.errors.text, "out of memory");
        CHECK_EQ(orr_world_hash(world), c->then);
        CHECK_EQ(orr_world_tick(world), 1);
        CHECK(orr_get(world, rows[0], Position)->x == 1); // Reading is allowed.
    }
    c->refused = k.memory.refused;
    failing_alloc_arm(&k.memory, 0, false);
    if (!c->travelled) {
        CHECK_OK(orr_time_travel(world, 1));
    }
    CHECK(travel_pending(&k, c->call, writes, rows));
    CHECK(world->running.notify_travel == NULL);
    CHECK_OK(orr_world_validate(world));
    KIT_STEP(world, 1);
    c->hash = orr_world_hash(world);
    c->sum = outside.messages;
    orr_query_destroy(writes);
    k.errors = (kit_errors){0};
    kit_end(&k);
}

// Memory is refused after the world was restored, when readers are notified: the travel was made,
// and nothing that can change the world, or deliver messages, happens before they are.
ORR_TEST(travel_without_memory_has_no_effect_or_is_complete)
{
    for (uint32_t call = 0; call < PENDING_CALLS; call++) {
        travel_case expected = {.call = call};
        travel_refused(&expected);
        for (uint32_t good = 0; good < 2; good++) {
            uint32_t refused = 0, pending = 0;
            for (uint64_t n = 1;; n++) {
                travel_case c = {.fail_at = n, .for_good = good != 0, .call = call};
                travel_refused(&c);
                CHECK_EQ(c.hash, expected.hash);
                CHECK_EQ(c.sum, expected.sum);
                refused += !c.travelled;
                pending += c.pending;
                if (c.refused == 0) {
                    break;
                }
            }
            CHECK(refused > 3 && pending > 3);
        }
    }
}

ORR_TEST(write_without_memory_succeeds_and_the_remembered_tick_is_lost)
{
    kit k = {0};
    orr_world* world = begin_rows(&k);
    orr_entity row = make(world, 1);
    CHECK_OK(orr_remember(world));
    orr_tick_advance(world);
    failing_alloc_arm(&k.memory, 1, true);
    CHECK_OK(orr_set(world, row, Position, {2, 0, 0}));
    failing_alloc_arm(&k.memory, 0, false);
    CHECK(x_of(world, row) == 2);
    CHECK(!orr_remembered(world, 0));
    CHECK_EQ(stats_of(world).lost, 1);
    CHECK_EQ(stats_of(world).ticks, 0);
    CHECK_RESULT(orr_time_travel(world, 0), ORR_ERR_PAST);
    CHECK_EQ(stats_of(world).lost, 1);
    k.errors = (kit_errors){0};
    kit_end(&k);
}

// The world is still at the tick that was lost: its changes cannot be undone.
ORR_TEST(travel_to_the_current_tick_that_is_lost_is_refused)
{
    kit k = {0};
    orr_world* world = begin_rows(&k);
    orr_entity row = make(world, 1);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_OK(orr_remember(world));
        failing_alloc_arm(&k.memory, 1, true);
        CHECK_OK(orr_set(world, row, Position, {2, 0, 0}));
        failing_alloc_arm(&k.memory, 0, false);
        CHECK(!orr_remembered(world, orr_world_tick(world)));
        for (uint32_t again = 0; again < 2; again++) {
            CHECK_RESULT(orr_time_travel(world, orr_world_tick(world)), ORR_ERR_PAST);
            CHECK_CONTAINS(k.errors.text, "was lost");
            CHECK(x_of(world, row) == 2);
        }
        orr_tick_advance(world);
        CHECK_OK(orr_time_travel(world, orr_world_tick(world))); // Was never remembered.
    }
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_set(world, row, Position, {3, 0, 0}));
    CHECK_OK(orr_time_travel(world, orr_world_tick(world)));
    CHECK(x_of(world, row) == 2);
    k.errors = (kit_errors){0};
    kit_end(&k);
}

ORR_TEST(history_prints_its_ticks)
{
    kit k = {0};
    orr_world* world = begin_creating(&k);
    char text[1024];
    orr_history_print(world, text, sizeof text);
    CHECK_CONTAINS(text, "nothing is remembered");
    CHECK_OK(orr_remember(world));
    KIT_STEP(world, 4);
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_time_travel(world, 0));
    size_t size = orr_history_print(world, text, sizeof text);
    CHECK_EQ(size, strlen(text));
    CHECK_CONTAINS(text, "2 ticks remembered, 0 to 4");
    CHECK_CONTAINS(text, "1 travels to remembered ticks, 0 ticks run");
    kit_end(&k);
}

// ---- later and forgotten ticks ------------------------------------------------------------------

ORR_STRUCT(Wide, (float, x), (float, y), (float, z), (float, w))

// A redo that is refused for lack of memory has no effect, so it can be repeated later.
ORR_TEST(refused_redo_succeeds_when_there_is_memory)
{
    uint32_t refusals = 0;
    for (uint64_t n = 1;; n++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        ORR_REGISTER(world, Wide);
        orr_cluster cluster = KIT_CLUSTER(world, Wide);
        orr_type type = orr_type_of(world, ORR_TYPE(Wide));
        CHECK_OK(orr_create_many(world, cluster, 8192, NULL, 0, NULL));
        orr_tick_advance(world);
        CHECK_OK(orr_remember(world));
        orr_tick_advance(world);
        for (uint32_t chunk = 0; chunk < 4; chunk++) {
            Wide* wide = orr_column_write(world, cluster, chunk, type);
            wide[chunk].x = 7;
        }
        CHECK_OK(orr_remember(world));
        uint64_t ahead = orr_world_hash(world);
        CHECK_OK(orr_time_travel(world, 1));
        uint64_t here = orr_world_hash(world);
        failing_alloc_arm(&k.memory, n, true);
        orr_result result = orr_time_travel(world, 2);
        bool refused = k.memory.refused > 0;
        failing_alloc_arm(&k.memory, 0, false);
        if (!refused) {
            CHECK_OK(result);
            kit_end(&k);
            break;
        }
        refusals += result == ORR_ERR_MEMORY;
        if (result == ORR_ERR_MEMORY) {
            CHECK(orr_world_hash(world) == here);
            CHECK_OK(orr_time_travel(world, 2));
        }
        CHECK(orr_world_hash(world) == ahead);
        CHECK(orr_remembered(world, 2));
        // But not after another change.
        CHECK_OK(orr_time_travel(world, 1));
        failing_alloc_arm(&k.memory, 1, true);
        result = orr_time_travel(world, 2);
        failing_alloc_arm(&k.memory, 0, false);
        if (result == ORR_ERR_MEMORY) {
            ((Wide*)orr_column_write(world, cluster, 0, type))[9].y = 1;
            CHECK_OK(orr_time_travel(world, 2));
            CHECK(orr_world_hash(world) != ahead);
        }
        k.errors = (kit_errors){0};
        kit_end(&k);
    }
    CHECK(refusals > 2);
}

// The rows of a forgotten tick are merged into the log of the tick before, while that takes less
// than a copy.
ORR_TEST(forgetting_every_second_tick_uses_no_more_memory)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    static orr_entity ids[2048];
    uint64_t hashes[200];
    ORR_REGISTER(world, Wide);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Wide), 2048, NULL, 0, ids));
    for (uint32_t tick = 0; tick < 200; tick++) {
        orr_tick_advance(world);
        for (uint32_t i = 0; i < 120; i++) {
            CHECK_OK(orr_set(world, ids[orr_random(1, tick, i, 0) % 2048], Wide,
                             {(float)tick, 1, 0, 0}));
        }
        CHECK_OK(orr_remember(world));
        hashes[tick] = orr_world_hash(world);
    }
    orr_history_stats before, after;
    orr_history_stats_get(world, &before);
    CHECK_EQ(orr_forget_range(world, 0, UINT64_MAX, 2), 100);
    orr_history_stats_get(world, &after);
    CHECK_EQ(after.ticks, 100);
    CHECK(after.bytes <= before.bytes);
    for (uint32_t tick = 199; tick < 200; tick -= 2) {
        CHECK_OK(orr_time_travel(world, tick + 1));
        CHECK(orr_world_hash(world) == hashes[tick]);
    }
    // Nearly all rows: then a copy is made.
    CHECK_OK(orr_time_travel(world, 200));
    CHECK_EQ(orr_forget_range(world, 0, UINT64_MAX, 50), 96);
    orr_history_stats_get(world, &before);
    CHECK(before.bytes <= after.bytes);
    for (uint32_t tick = 50; tick <= 200; tick += 50) {
        CHECK_OK(orr_time_travel(world, tick));
        CHECK(orr_world_hash(world) == hashes[tick - 1]);
    }
    CHECK_OK(orr_world_validate(world));
    kit_end(&k);
}

// ---- growth -------------------------------------------------------------------------------------

static orr_world* remember_many(kit* k, uint32_t n)
{
    orr_world* world = kit_begin(k, NULL);
    orr_entity entity = orr_create(world);
    for (uint32_t i = 0; i < n; i++) {
        orr_tick_advance(world);
        orr_set(world, entity, Position, {(float)i, 0, 0});
        CHECK_OK(orr_remember(world));
    }
    return world;
}

static void forget_oldest_first(growth_clock* clock_of, uint32_t n)
{
    kit k;
    orr_world* world = remember_many(&k, n);
    growth_begin(clock_of);
    for (uint32_t i = 1; i <= n; i++) {
        CHECK_OK(orr_forget(world, i));
    }
    growth_end(clock_of);
    kit_end(&k);
}

static void find_near(growth_clock* clock_of, uint32_t n)
{
    kit k;
    orr_world* world = remember_many(&k, n);
    growth_begin(clock_of);
    for (uint32_t i = 1; i <= n; i++) {
        uint64_t before, after;
        orr_remembered_near(world, i, &before, &after);
        CHECK_EQ(before, i);
        CHECK_EQ(after, i);
    }
    growth_end(clock_of);
    kit_end(&k);
}

// Where each tick validates the world and so all remembered ticks, there are few.
#ifdef ORR_VALIDATE_ON
#define GROWTH_TICKS 100
#else
#define GROWTH_TICKS 1500
#endif

ORR_TEST(ticks_are_forgotten_and_found_in_near_linear_time)
{
    CHECK_NEAR_LINEAR(forget_oldest_first, GROWTH_TICKS);
    CHECK_NEAR_LINEAR(find_near, GROWTH_TICKS);
}

// The list of remembered ticks has room at both ends: ticks are remembered and forgotten in turns.
ORR_TEST(ticks_forgotten_at_either_end_leave_the_others)
{
    kit k;
    orr_world* world = remember_many(&k, 40);
    uint64_t oldest = 1, newest = 40;
    for (uint32_t i = 0; i < 200; i++) {
        CHECK_OK(orr_forget(world, oldest++));
        if (i % 7 == 0) { // One from the middle.
            CHECK_OK(orr_forget(world, (oldest + newest) / 2));
            CHECK(!orr_remembered(world, (oldest + newest) / 2));
        }
        orr_tick_advance(world);
        CHECK_OK(orr_remember(world));
        newest++;
        uint64_t before, after;
        orr_remembered_near(world, oldest - 1, &before, &after);
        CHECK(before == UINT64_MAX && after >= oldest);
        orr_remembered_near(world, newest + 1, &before, &after);
        CHECK(before == newest && after == UINT64_MAX);
        while (!orr_remembered(world, oldest)) {
            oldest++; // It was forgotten in the middle.
        }
    }
    CHECK_OK(orr_world_validate(world));
    CHECK_OK(orr_time_travel(world, oldest));
    kit_end(&k);
}
