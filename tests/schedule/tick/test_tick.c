// SPDX-License-Identifier: MIT
// Ticks: stepped, due by time, until a condition, paused; what is timed, and which rows changed
// since the last tick.
#include "schedule/tick/clock_kit.h"

// ---- stepping -----------------------------------------------------------------------------------

ORR_TEST(step_runs_the_given_number_of_ticks)
{
    orr_world* world = begin(0);
    CHECK_OK(orr_step(world, 0));
    CHECK_EQ(ticks(), 0);
    CHECK_OK(orr_step(world, 5));
    CHECK_EQ(ticks(), 5);
    CHECK_EQ(orr_world_tick(world), 5);
    CHECK(at.dt == 1.0f / 60.0f);
    end();
}

ORR_TEST(step_of_a_fixed_world_has_its_dt)
{
    orr_world* world = begin(50);
    CHECK_OK(orr_step(world, 1));
    CHECK(at.dt == (float)(1.0 / 50.0));
    CHECK_OK(orr_update(world, 20 * MS));
    CHECK(at.dt == (float)(1.0 / 50.0));
    end();
}

ORR_TEST(step_of_a_world_without_systems_counts_ticks)
{
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    CHECK(!orr_paused(world));
    CHECK(!orr_tick_open(world));
    CHECK_OK(orr_step(world, 10));
    CHECK_EQ(orr_world_tick(world), 10);
    CHECK_OK(orr_update(world, 5));
    CHECK_EQ(orr_world_tick(world), 11);
    CHECK_OK(orr_run_until(world, 20, NULL, NULL));
    CHECK_EQ(orr_world_tick(world), 20);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Position, {1, 2, 3}));
    CHECK_OK(orr_step(world, 1));
    CHECK_OK(orr_destroy(world, bob));
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

// Between ticks dt is 0.
ORR_TEST(loop_between_ticks_has_dt_zero)
{
    orr_world* world = begin(50);
    CHECK_OK(orr_set(world, orr_create(world), Position, {0, 0, 0}));
    CHECK_OK(orr_step(world, 1));
    uint32_t runs = 0;
    ORR_EACH (it, orr_query_text(world, "Position")) {
        CHECK(it.dt == 0.0f);
        runs++;
    }
    CHECK_EQ(runs, 1);
    end();
}

ORR_TEST(step_ends_open_loops)
{
    orr_world* world = begin(0);
    CHECK_OK(orr_set(world, orr_create(world), Position, {0, 0, 0}));
    orr_query* query = orr_query_text(world, "Position");
    orr_iter it;
    orr_iter_begin(&it, query, NULL);
    CHECK(orr_iter_next(&it));
    CHECK_OK(orr_step(world, 1));
    CHECK(orr_create(world).id != 0);
    end();
}

ORR_TEST(step_while_appending_is_refused)
{
    orr_world* world = begin(0);
    orr_appender appender;
    orr_type position = KIT_TYPE(world, Position);
    CHECK_OK(orr_append_begin(world, KIT_CLUSTER(world, Position), &position, 1, &appender));
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_STATE);
    CHECK_EQ(orr_world_tick(world), 0);
    orr_append_end(&appender);
    at.k.errors = (kit_errors){0};
    CHECK_OK(orr_step(world, 1));
    end();
}

// ---- time ---------------------------------------------------------------------------------------

ORR_TEST(update_of_a_continuous_world_is_one_tick_with_the_given_dt)
{
    orr_world* world = begin(0);
    CHECK_OK(orr_update(world, 250 * MS));
    CHECK_EQ(ticks(), 1);
    CHECK(at.dt == 0.25f);
    CHECK_OK(orr_update(world, 0));
    CHECK_EQ(ticks(), 1);
    CHECK(at.dt == 0.0f);
    end();
}

ORR_TEST(update_of_a_fixed_world_runs_due_ticks_and_keeps_the_remainder)
{
    orr_world* world = begin(100);
    CHECK_OK(orr_update(world, 9 * MS));
    CHECK_EQ(ticks(), 0);
    CHECK_OK(orr_update(world, 1 * MS));
    CHECK_EQ(ticks(), 1);
    CHECK_OK(orr_update(world, 17 * MS)); // 7 ms left.
    CHECK_EQ(ticks(), 1);
    CHECK_OK(orr_update(world, 13 * MS)); // 20 ms are due.
    CHECK_EQ(ticks(), 2);
    CHECK_OK(orr_update(world, 9 * MS));
    CHECK_EQ(ticks(), 0);
    end();
}

ORR_TEST(update_of_a_fixed_world_catches_up_at_most_two_ticks)
{
    orr_world* world = begin(100);
    CHECK_OK(orr_update(world, 57 * MS)); // Five are due, three are dropped, 7 ms stay.
    CHECK_EQ(ticks(), 2);
    CHECK_OK(orr_update(world, 8 * MS)); // One, 5 ms stay.
    CHECK_EQ(ticks(), 1);
    CHECK_OK(orr_update(world, UINT64_MAX)); // More than can be counted.
    CHECK_EQ(ticks(), 2);
    CHECK_OK(orr_update(world, 10 * MS));
    CHECK(ticks() <= 2);
    end();
}

// The interval does not fit into nanoseconds.
ORR_TEST(update_of_a_world_with_a_tiny_rate_is_never_due)
{
    orr_world* world = begin(1e-300);
    CHECK_OK(orr_update(world, UINT64_MAX / 2));
    CHECK_EQ(ticks(), 0);
    end();
}

// ---- until, pause -------------------------------------------------------------------------------

static bool at_seven(void* user, orr_world* world)
{
    ++*(int*)user;
    return orr_world_tick(world) == 7;
}

ORR_TEST(run_until_stops_at_the_tick_or_when_done)
{
    orr_world* world = begin(0);
    CHECK_OK(orr_run_until(world, 4, NULL, NULL));
    CHECK_EQ(orr_world_tick(world), 4);
    CHECK_OK(orr_run_until(world, 4, NULL, NULL));
    CHECK_OK(orr_run_until(world, 1, NULL, NULL));
    CHECK_EQ(orr_world_tick(world), 4);
    int asked = 0;
    CHECK_OK(orr_run_until(world, 100, at_seven, &asked));
    CHECK_EQ(orr_world_tick(world), 7);
    CHECK_EQ(asked, 3);
    end();
}

ORR_TEST(pause_from_outside_stops_update_and_run_until_but_not_step)
{
    orr_world* world = begin(100);
    orr_pause(world, true);
    CHECK(orr_paused(world));
    CHECK_OK(orr_update(world, 50 * MS));
    CHECK_OK(orr_run_until(world, 10, NULL, NULL));
    CHECK_EQ(ticks(), 0);
    CHECK_OK(orr_step(world, 2));
    CHECK_EQ(ticks(), 2);
    orr_pause(world, false);
    CHECK(!orr_paused(world));
    CHECK_OK(orr_update(world, 5 * MS)); // Time that passed during the pause is not run.
    CHECK_EQ(ticks(), 0);
    CHECK_OK(orr_update(world, 5 * MS));
    CHECK_EQ(ticks(), 1);
    end();
}

ORR_TEST(pause_from_inside_applies_at_the_end_of_its_tick)
{
    orr_world* world = begin(100);
    at.pause_at = 1;
    CHECK_OK(orr_update(world, 20 * MS)); // Two ticks are due.
    CHECK_EQ(ticks(), 1);
    CHECK(orr_paused(world));
    orr_pause(world, false);
    at.pause_at = 4;
    CHECK_OK(orr_run_until(world, 10, NULL, NULL));
    CHECK_EQ(orr_world_tick(world), 4);
    at.pause_at = 6;
    CHECK_OK(orr_step(world, 4)); // orr_step() runs nevertheless.
    CHECK_EQ(orr_world_tick(world), 8);
    CHECK(orr_paused(world));
    end();
}

ORR_TEST(pause_of_a_world_without_systems_is_kept)
{
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    orr_pause(world, true);
    CHECK(orr_paused(world));
    CHECK_OK(orr_update(world, 1));
    CHECK_EQ(orr_world_tick(world), 0);
    kit_end(&k);
}

// ---- statistics ---------------------------------------------------------------------------------

static void spend(orr_run* run)
{
    const uint64_t* spent = orr_run_user(run);
    at.fake.now_ns += *spent * (run->tick == 3 ? 10 : 1);
}

static void spend_much(orr_run* run)
{
    (void)run;
    at.fake.now_ns += 1000000;
}

ORR_TEST(stats_time_every_sixteenth_tick_exactly)
{
    orr_world* world = begin(0);
    uint64_t a = 5, b = 70;
    // Time of callbacks is not time of the system.
    orr_system first = KIT_SYSTEM(world, .name = "a", .once = true, .by_id = "Position",
                                  .run = spend, .user = &a, .create = spend_much,
                                  .start = spend_much);
    orr_system second =
        KIT_SYSTEM(world, .name = "b", .once = true, .by_id = "Position", .run = spend, .user = &b);
    orr_system third = KIT_SYSTEM(world, .name = "c", .once = true, .by_id = "Position",
                                  .run = spend, .user = &b, .every = 2);
    KIT_STEP(world, 33); // Ticks 1, 17, 33.
    orr_system_stats stats = kit_stats(world, first);
    CHECK_EQ(stats.ticks, 33);
    CHECK_EQ(stats.timed_ticks, 3);
    CHECK_EQ(stats.time_ns, 15);
    CHECK_EQ(stats.time_max_ns, 5);
    stats = kit_stats(world, second);
    CHECK_EQ(stats.time_ns, 210);
    stats = kit_stats(world, third);
    CHECK_EQ(stats.ticks, 17);
    CHECK_EQ(stats.timed_ticks, 3);
    end();
}

ORR_TEST(stats_time_all_times_every_tick)
{
    orr_world* world = begin(0);
    uint64_t a = 5;
    orr_system first =
        KIT_SYSTEM(world, .name = "a", .once = true, .by_id = "Position", .run = spend, .user = &a);
    orr_stats_time_all(world, true);
    KIT_STEP(world, 4);
    orr_system_stats stats = kit_stats(world, first);
    CHECK_EQ(stats.timed_ticks, 4);
    CHECK_EQ(stats.time_ns, 5 + 5 + 50 + 5);
    CHECK_EQ(stats.time_max_ns, 50);
    orr_stats_time_all(world, false);
    uint64_t reads = at.fake.clock_reads;
    KIT_STEP(world, 4);
    CHECK_EQ(kit_stats(world, first).timed_ticks, 4);
    CHECK_EQ(at.fake.clock_reads, reads); // The clock is not read.
    char text[2048];
    orr_stats_print(world, text, sizeof text);
    CHECK_CONTAINS(text, "\na ");
    CHECK_CONTAINS(text, "       0.0        0.1\n"); // Microseconds: 65 / 4 ns, and 50 ns.
    end();
}

// The time of a tick is averaged over timed ticks.
ORR_TEST(stats_print_divides_by_the_timed_ticks)
{
    orr_world* world = begin(0);
    uint64_t a = 5000;
    KIT_SYSTEM(world, .name = "a", .once = true, .by_id = "Position", .run = spend, .user = &a);
    KIT_STEP(world, 33); // Three were timed.
    char text[2048];
    orr_stats_print(world, text, sizeof text);
    CHECK_CONTAINS(text, "        5.0        5.0\n");
    end();
}

// ---- changed terms ------------------------------------------------------------------------------

static void count_changed(orr_run* run)
{
    *(uint32_t*)orr_run_user(run) += run->count;
}

ORR_TEST(changed_term_of_a_system_counts_from_its_last_run)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Position, {0, 0, 0}));
    uint32_t rows = 0;
    KIT_SYSTEM(world, .name = "see", .query = "changed Position", .run = count_changed,
               .user = &rows);
    CHECK_OK(orr_step(world, 1));
    CHECK_EQ(rows, 1); // At first everything is new.
    CHECK_OK(orr_step(world, 3));
    CHECK_EQ(rows, 1);
    CHECK_OK(orr_set(world, bob, Position, {2, 0, 0}));
    CHECK_OK(orr_step(world, 2));
    CHECK_EQ(rows, 2);
    kit_end(&k);
}

static void write_changed(orr_run* run)
{
    *(uint32_t*)orr_run_user(run) += run->count;
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += 1;
    }
}

// A system does not see its own writes as changes; others do, and it sees theirs.
ORR_TEST(changed_term_of_a_system_leaves_out_its_own_writes)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world), eve = orr_create(world);
    CHECK_OK(orr_set(world, bob, Position, {0, 0, 0}));
    CHECK_OK(orr_set(world, eve, Position, {0, 0, 0}));
    CHECK_OK(orr_set(world, eve, Velocity, {0, 0})); // In another cluster.
    uint32_t own = 0, other = 0;
    KIT_SYSTEM(world, .name = "own", .query = "changed write Position", .run = write_changed,
               .user = &own, .impure = true);
    KIT_SYSTEM(world, .name = "other", .query = "changed Position", .run = count_changed,
               .user = &other);
    CHECK_OK(orr_step(world, 10));
    CHECK_EQ(own, 2);
    CHECK_EQ(other, 2);
    for (uint32_t i = 1; i <= 8; i++) { // Often enough for every kind of loop.
        CHECK_OK(orr_set(world, eve, Position, {5, 0, 0}));
        CHECK_OK(orr_step(world, 2));
        CHECK_EQ(own, 2 + i);
        CHECK_EQ(other, 2 + i);
        CHECK_EQ(orr_get(world, eve, Position)->x, 6);
    }
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}
