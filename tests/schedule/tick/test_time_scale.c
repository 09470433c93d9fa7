// SPDX-License-Identifier: MIT
// World time while pipelines run by themselves, with numbers computed by hand. The clock is an
// argument.
#include "schedule/tick/time_scale.h"
#include "test.h"

#define MS UINT64_C(1000000)

static bool near_to(double a, double b)
{
    return a - b < 1e-9 && b - a < 1e-9;
}

ORR_TEST(time_follows_the_clock)
{
    orri_time_scale clock;
    orri_time_scale_begin(&clock, 1000 * MS, 5);
    orri_time_scale_advance(&clock, 1016 * MS);
    CHECK_EQ(clock.time_ns, 16 * MS + 5);
    CHECK_EQ(orri_time_scale_until(&clock, 20 * MS + 5), 4 * MS);
    CHECK_EQ(orri_time_scale_until(&clock, 16 * MS + 5), 0);
    CHECK_EQ(orri_time_scale_until(&clock, 1), 0);
}

ORR_TEST(time_at_half_scale_is_half)
{
    orri_time_scale clock;
    orri_time_scale_begin(&clock, 0, 0);
    clock.scale = 0.5;
    orri_time_scale_advance(&clock, 100 * MS);
    CHECK_EQ(clock.time_ns, 50 * MS);
    CHECK_EQ(orri_time_scale_until(&clock, 60 * MS), 20 * MS);
}

// Reading the clock every nanosecond loses nothing to rounding.
ORR_TEST(time_keeps_fractions_of_a_nanosecond)
{
    orri_time_scale clock;
    orri_time_scale_begin(&clock, 0, 0);
    clock.scale = 0.3;
    for (uint64_t ns = 1; ns <= 10000; ns++) {
        orri_time_scale_advance(&clock, ns);
    }
    CHECK(clock.time_ns == 3000 || clock.time_ns == 2999);
    // Rounded up: when that time has passed, it is due.
    uint64_t wait = orri_time_scale_until(&clock, 3005);
    orri_time_scale_advance(&clock, 10000 + wait);
    CHECK(clock.time_ns >= 3004);
}

ORR_TEST(clock_that_jumps_ahead_counts_a_quarter_of_a_second)
{
    orri_time_scale clock;
    orri_time_scale_begin(&clock, 0, 0);
    orri_time_scale_advance(&clock, 3600u * 1000 * MS);
    CHECK_EQ(clock.time_ns, 250 * MS);
    orri_time_scale_advance(&clock, 3600u * 1000 * MS + 10 * MS);
    CHECK_EQ(clock.time_ns, 260 * MS);
}

ORR_TEST(jump_of_the_clock_counts_two_intervals_of_a_slow_pipeline)
{
    orri_time_scale clock;
    orri_time_scale_begin(&clock, 0, 0);
    orri_time_scale_add_interval(&clock, 1000 * MS);
    orri_time_scale_add_interval(&clock, 10 * MS);
    orri_time_scale_advance(&clock, 1400 * MS);
    CHECK_EQ(clock.time_ns, 1400 * MS);
    clock.scale = 0.5;
    orri_time_scale_advance(&clock, 3600u * 1000 * MS);
    CHECK_EQ(clock.time_ns, 2400 * MS);
    CHECK_EQ(clock.real_ns, 3400 * MS);
}

ORR_TEST(clock_that_goes_back_stands_still_and_then_continues)
{
    orri_time_scale clock;
    orri_time_scale_begin(&clock, 1000 * MS, 0);
    orri_time_scale_advance(&clock, 1010 * MS);
    orri_time_scale_advance(&clock, 500 * MS);
    CHECK_EQ(clock.time_ns, 10 * MS);
    orri_time_scale_advance(&clock, 505 * MS);
    CHECK_EQ(clock.time_ns, 15 * MS);
}

ORR_TEST(pause_stops_time_and_a_time_scale_counts_from_then_on)
{
    orri_time_scale clock;
    orri_time_scale_begin(&clock, 0, 0);
    orri_time_scale_pause(&clock, 10 * MS, true);
    orri_time_scale_advance(&clock, 30 * MS);
    CHECK_EQ(clock.time_ns, 10 * MS);
    CHECK_EQ(orri_time_scale_until(&clock, 11 * MS), UINT64_MAX);
    orri_time_scale_pause(&clock, 40 * MS, false);
    orri_time_scale_set(&clock, 50 * MS, 2);
    CHECK_EQ(clock.time_ns, 20 * MS);
    orri_time_scale_advance(&clock, 60 * MS);
    CHECK_EQ(clock.time_ns, 40 * MS);
    orri_time_scale_set(&clock, 60 * MS, 0);
    orri_time_scale_advance(&clock, 90 * MS);
    CHECK_EQ(clock.time_ns, 40 * MS);
    CHECK_EQ(orri_time_scale_until(&clock, 41 * MS), UINT64_MAX);
}

// smoothed = max(last, 0.9 smoothed + 0.1 last)
ORR_TEST(smoothed_duration_rises_at_once_and_falls_slowly)
{
    orri_time_scale_load load = {.interval_ns = 10 * MS};
    orri_time_scale_measure(&load, 8 * MS);
    CHECK(near_to(load.smoothed_ns, 8e6));
    orri_time_scale_measure(&load, 20 * MS);
    CHECK(near_to(load.smoothed_ns, 20e6));
    orri_time_scale_measure(&load, 10 * MS);
    CHECK(near_to(load.smoothed_ns, 19e6));
    orri_time_scale_measure(&load, 0);
    CHECK(near_to(load.smoothed_ns, 17.1e6));
}

/* N0-17 */
ORR_TEST(late_pipeline_slows_down_all_and_recovers_by_a_twentieth)
{
    orri_time_scale clock;
    orri_time_scale_begin(&clock, 0, 0);
    orri_time_scale_load late = {.interval_ns = 10 * MS}, easy = {.interval_ns = 30 * MS};
    const orri_time_scale_load* loads[] = {&easy, &late};
    orri_time_scale_measure(&easy, 5 * MS);
    orri_time_scale_measure(&late, 20 * MS);
    orri_time_scale_update(&clock, 0, loads, 2);
    CHECK(near_to(clock.scale, 0.5));
    // One simulated second takes two real ones, for all pipelines. (The clock is read often: of one
    // long interval only a part counts.)
    for (uint64_t ms = 1; ms <= 2000; ms++) {
        orri_time_scale_advance(&clock, ms * MS);
    }
    CHECK_EQ(clock.time_ns, 1000 * MS);
    // Recovers by 0.05 a tick, and never above the target.
    late.smoothed_ns = 0;
    orri_time_scale_measure(&late, 5 * MS);
    orri_time_scale_update(&clock, 2000 * MS, loads, 2);
    CHECK(near_to(clock.scale, 0.55));
    for (int i = 0; i < 20; i++) {
        orri_time_scale_update(&clock, 2000 * MS, loads, 2);
    }
    CHECK(near_to(clock.scale, 1));
}

// A pipeline whose every tick takes 25 ms of its 10: after a few ticks the world runs at 0.4, and
// each tick begins when it is due.
ORR_TEST(pipeline_whose_every_tick_is_late_settles)
{
    orri_time_scale clock;
    orri_time_scale_begin(&clock, 0, 0);
    orri_time_scale_load load = {.interval_ns = 10 * MS};
    const orri_time_scale_load* loads[] = {&load};
    uint64_t wall_ns = 0, due = 10 * MS, ticks = 0;
    while (ticks < 100) {
        wall_ns += orri_time_scale_until(&clock, due);
        orri_time_scale_advance(&clock, wall_ns);
        wall_ns += 25 * MS;
        orri_time_scale_measure(&load, 25 * MS);
        orri_time_scale_update(&clock, wall_ns, loads, 1);
        due = orri_time_scale_next(clock.time_ns, due, 10 * MS);
        ticks++;
    }
    CHECK(near_to(clock.scale, 0.4));
    // Within one tick of its due time, and not falling behind.
    CHECK(clock.time_ns < due + 10 * MS);
    CHECK(wall_ns >= 2500 * MS && wall_ns < 2560 * MS);
}

ORR_TEST(time_scale_of_two_halves_the_time_for_a_tick)
{
    orri_time_scale clock;
    orri_time_scale_begin(&clock, 0, 0);
    orri_time_scale_load load = {.interval_ns = 10 * MS};
    const orri_time_scale_load* loads[] = {&load};
    orri_time_scale_measure(&load, 10 * MS);
    orri_time_scale_update(&clock, 0, loads, 1);
    CHECK(near_to(clock.scale, 1));
    orri_time_scale_set(&clock, 0, 2);
    orri_time_scale_update(&clock, 0, loads, 1);
    CHECK(near_to(clock.scale, 0.5));
}

ORR_TEST(next_tick_catches_up_by_at_most_one)
{
    CHECK_EQ(orri_time_scale_next(10, 10, 10), 20);
    CHECK_EQ(orri_time_scale_next(19, 10, 10), 20);
    CHECK_EQ(orri_time_scale_next(25, 10, 10), 20); // Late: it begins at once.
    CHECK_EQ(orri_time_scale_next(29, 10, 10), 20);
    CHECK_EQ(orri_time_scale_next(30, 10, 10), 30); // One dropped, one to catch up.
    CHECK_EQ(orri_time_scale_next(57, 10, 10), 50);
}
