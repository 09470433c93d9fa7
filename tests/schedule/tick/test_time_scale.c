// SPDX-License-Identifier: MIT
// The world's time while pipelines run by themselves, by hand-worked numbers. The clock is an argument.
#include "schedule/tick/time_scale.h"
#include "test.h"

#define MS UINT64_C(1000000)

static bool near_to(double a, double b)
{
    return a - b < 1e-9 && b - a < 1e-9;
}

ORR_TEST(time_goes_as_the_clock_does)
{
    orri_time_scale pace;
    orri_time_scale_begin(&pace, 1000 * MS, 5);
    orri_time_scale_look(&pace, 1016 * MS);
    CHECK_EQ(pace.time_ns, 16 * MS + 5);
    CHECK_EQ(orri_time_scale_until(&pace, 20 * MS + 5), 4 * MS);
    CHECK_EQ(orri_time_scale_until(&pace, 16 * MS + 5), 0);
    CHECK_EQ(orri_time_scale_until(&pace, 1), 0);
}

ORR_TEST(time_of_half_a_scale_is_half)
{
    orri_time_scale pace;
    orri_time_scale_begin(&pace, 0, 0);
    pace.scale = 0.5;
    orri_time_scale_look(&pace, 100 * MS);
    CHECK_EQ(pace.time_ns, 50 * MS);
    CHECK_EQ(orri_time_scale_until(&pace, 60 * MS), 20 * MS);
}

// A look every nanosecond loses nothing to rounding.
ORR_TEST(time_keeps_what_is_less_than_a_nanosecond)
{
    orri_time_scale pace;
    orri_time_scale_begin(&pace, 0, 0);
    pace.scale = 0.3;
    for (uint64_t clock = 1; clock <= 10000; clock++) {
        orri_time_scale_look(&pace, clock);
    }
    CHECK(pace.time_ns == 3000 || pace.time_ns == 2999);
    // Rounded up: when so long has passed, it is due.
    uint64_t wait = orri_time_scale_until(&pace, 3005);
    orri_time_scale_look(&pace, 10000 + wait);
    CHECK(pace.time_ns >= 3004);
}

ORR_TEST(clock_that_jumps_ahead_counts_a_quarter_of_a_second)
{
    orri_time_scale pace;
    orri_time_scale_begin(&pace, 0, 0);
    orri_time_scale_look(&pace, 3600u * 1000 * MS);
    CHECK_EQ(pace.time_ns, 250 * MS);
    orri_time_scale_look(&pace, 3600u * 1000 * MS + 10 * MS);
    CHECK_EQ(pace.time_ns, 260 * MS);
}

ORR_TEST(jump_of_the_clock_counts_two_intervals_of_a_slow_pipeline)
{
    orri_time_scale pace;
    orri_time_scale_begin(&pace, 0, 0);
    orri_time_scale_allow(&pace, 1000 * MS);
    orri_time_scale_allow(&pace, 10 * MS);
    orri_time_scale_look(&pace, 1400 * MS);
    CHECK_EQ(pace.time_ns, 1400 * MS);
    pace.scale = 0.5;
    orri_time_scale_look(&pace, 3600u * 1000 * MS);
    CHECK_EQ(pace.time_ns, 2400 * MS);
    CHECK_EQ(pace.real_ns, 3400 * MS);
}

ORR_TEST(clock_that_goes_back_stands_and_then_goes_on)
{
    orri_time_scale pace;
    orri_time_scale_begin(&pace, 1000 * MS, 0);
    orri_time_scale_look(&pace, 1010 * MS);
    orri_time_scale_look(&pace, 500 * MS);
    CHECK_EQ(pace.time_ns, 10 * MS);
    orri_time_scale_look(&pace, 505 * MS);
    CHECK_EQ(pace.time_ns, 15 * MS);
}

ORR_TEST(pause_stops_time_and_wishes_change_it_from_then_on)
{
    orri_time_scale pace;
    orri_time_scale_begin(&pace, 0, 0);
    orri_time_scale_pause(&pace, 10 * MS, true);
    orri_time_scale_look(&pace, 30 * MS);
    CHECK_EQ(pace.time_ns, 10 * MS);
    CHECK_EQ(orri_time_scale_until(&pace, 11 * MS), UINT64_MAX);
    orri_time_scale_pause(&pace, 40 * MS, false);
    orri_time_scale_set(&pace, 50 * MS, 2);
    CHECK_EQ(pace.time_ns, 20 * MS);
    orri_time_scale_look(&pace, 60 * MS);
    CHECK_EQ(pace.time_ns, 40 * MS);
    orri_time_scale_set(&pace, 60 * MS, 0);
    orri_time_scale_look(&pace, 90 * MS);
    CHECK_EQ(pace.time_ns, 40 * MS);
    CHECK_EQ(orri_time_scale_until(&pace, 41 * MS), UINT64_MAX);
}

// smoothed = max(last, 0.9 smoothed + 0.1 last)
ORR_TEST(smoothed_follows_up_at_once_and_down_slowly)
{
    orri_time_scale_own own = {.interval_ns = 10 * MS};
    orri_time_scale_note(&own, 8 * MS);
    CHECK(near_to(own.smoothed_ns, 8e6));
    orri_time_scale_note(&own, 20 * MS);
    CHECK(near_to(own.smoothed_ns, 20e6));
    orri_time_scale_note(&own, 10 * MS);
    CHECK(near_to(own.smoothed_ns, 19e6));
    orri_time_scale_note(&own, 0);
    CHECK(near_to(own.smoothed_ns, 17.1e6));
}

/* N0-17 */
ORR_TEST(late_pipeline_slows_down_all_and_lets_go_by_a_twentieth)
{
    orri_time_scale pace;
    orri_time_scale_begin(&pace, 0, 0);
    orri_time_scale_own late = {.interval_ns = 10 * MS}, easy = {.interval_ns = 30 * MS};
    const orri_time_scale_own* owns[] = {&easy, &late};
    orri_time_scale_note(&easy, 5 * MS);
    orri_time_scale_note(&late, 20 * MS);
    orri_time_scale_now(&pace, 0, owns, 2);
    CHECK(near_to(pace.scale, 0.5));
    // One simulated second takes two real ones, for everybody. (Looked at often: of one long look only a part counts.)
    for (uint64_t ms = 1; ms <= 2000; ms++) {
        orri_time_scale_look(&pace, ms * MS);
    }
    CHECK_EQ(pace.time_ns, 1000 * MS);
    // It recovers: 0.05 a tick, and never above what the target says.
    late.smoothed_ns = 0;
    orri_time_scale_note(&late, 5 * MS);
    orri_time_scale_now(&pace, 2000 * MS, owns, 2);
    CHECK(near_to(pace.scale, 0.55));
    for (int i = 0; i < 20; i++) {
        orri_time_scale_now(&pace, 2000 * MS, owns, 2);
    }
    CHECK(near_to(pace.scale, 1));
}

// A pipeline whose every tick takes 25 ms of its 10: after a few ticks the world goes at 0.4, and each tick begins when it is due.
ORR_TEST(pipeline_whose_every_tick_is_late_settles)
{
    orri_time_scale pace;
    orri_time_scale_begin(&pace, 0, 0);
    orri_time_scale_own own = {.interval_ns = 10 * MS};
    const orri_time_scale_own* owns[] = {&own};
    uint64_t clock = 0, due = 10 * MS, ticks = 0;
    while (ticks < 100) {
        clock += orri_time_scale_until(&pace, due);
        orri_time_scale_look(&pace, clock);
        clock += 25 * MS;
        orri_time_scale_note(&own, 25 * MS);
        orri_time_scale_now(&pace, clock, owns, 1);
        due = orri_time_scale_next(pace.time_ns, due, 10 * MS);
        ticks++;
    }
    CHECK(near_to(pace.scale, 0.4));
    // Within a tick of where it should be, and not falling behind.
    CHECK(pace.time_ns < due + 10 * MS);
    CHECK(clock >= 2500 * MS && clock < 2560 * MS);
}

ORR_TEST(wish_for_twice_the_speed_halves_the_time_for_a_tick)
{
    orri_time_scale pace;
    orri_time_scale_begin(&pace, 0, 0);
    orri_time_scale_own own = {.interval_ns = 10 * MS};
    const orri_time_scale_own* owns[] = {&own};
    orri_time_scale_note(&own, 10 * MS);
    orri_time_scale_now(&pace, 0, owns, 1);
    CHECK(near_to(pace.scale, 1));
    orri_time_scale_set(&pace, 0, 2);
    orri_time_scale_now(&pace, 0, owns, 1);
    CHECK(near_to(pace.scale, 0.5));
}

ORR_TEST(next_tick_catches_up_by_at_most_one)
{
    CHECK_EQ(orri_time_scale_next(10, 10, 10), 20);
    CHECK_EQ(orri_time_scale_next(19, 10, 10), 20);
    CHECK_EQ(orri_time_scale_next(25, 10, 10), 20); // Late: it begins at once.
    CHECK_EQ(orri_time_scale_next(29, 10, 10), 20);
    CHECK_EQ(orri_time_scale_next(30, 10, 10), 30); // One given up: one to catch up.
    CHECK_EQ(orri_time_scale_next(57, 10, 10), 50);
}
