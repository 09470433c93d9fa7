// SPDX-License-Identifier: MIT
// Time in real time, with a replaced clock and expectations computed by hand: intervals, slowdown,
// time scale, pauses, steps, clocks that jump.
#include "realtime/rig_kit.h"

// ---- intervals ----------------------------------------------------------------------------------

/* N0-16 */
RIG_TEST(fixed_pipelines_begin_at_multiples_of_their_intervals, 0)
{
    rig_open(platform, 100);
    rig_line* a = rig_add(NULL, 3 * MS, NULL);
    rig_line* b = rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 40}, 20 * MS, NULL);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 100}));
    EXPECT_EQ(a->count, 100);
    EXPECT_EQ(b->count, 40);
    for (uint32_t i = 0; i < 100; i++) {
        EXPECT_EQ(a->ticks[i].at_ns, (i + 1) * 10 * MS);
        EXPECT_NEAR(a->ticks[i].dt, 0.01);
    }
    for (uint32_t i = 0; i < 40; i++) {
        EXPECT_EQ(b->ticks[i].at_ns, (i + 1) * 25 * MS);
        EXPECT_NEAR(b->ticks[i].dt, 0.025);
    }
    EXPECT_EQ(rig_stats(a).dropped + rig_stats(b).dropped, 0);
    rig_close();
}

// A wait of more than a quarter of a second is not taken for a jump of the clock.
/* N0-16 */
RIG_TEST(slow_fixed_pipelines_begin_at_multiples_of_their_intervals, 0)
{
    rig_open(platform, 0.5);
    rig_line* a = rig_add(NULL, 1400 * MS, NULL);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 4}));
    for (uint32_t i = 0; i < 4; i++) {
        EXPECT_EQ(a->ticks[i].at_ns, (i + 1) * 2000 * MS);
    }
    rig_close();
}

// Each tick begins where the last one ended.
/* N0-15 */
RIG_TEST(continuous_pipeline_begins_a_tick_when_the_last_ended, 0)
{
    rig_open(platform, 10);
    rig_add(NULL, 0, NULL);
    rig_line* c = rig_add(&(orr_pipeline_desc){.name = "c"}, 7 * MS, NULL);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 2}));
    EXPECT_EQ(c->count,
              29); // 28 × 7 = 196, and the tick that was running when the run was stopped at 200.
    for (uint32_t i = 0; i < c->count; i++) {
        EXPECT_EQ(c->ticks[i].at_ns, i * 7 * MS);
        EXPECT_NEAR(c->ticks[i].dt, i == 0 ? 0 : 0.007);
    }
    rig_close();
}

// ---- slowdown -----------------------------------------------------------------------------------

// Ticks of 20 ms at an interval of 10: the first tick ends at 30, two ticks are due (20, 30) and
// one of them is caught up. From 50 on time runs at half speed and no pipeline is late.
/* N0-17 */
RIG_TEST(late_pipeline_halves_time_for_all, 0)
{
    rig_open(platform, 100);
    rig_line* a = rig_add(NULL, 20 * MS, NULL);
    rig_line* b = rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 50}, 0, NULL);
    rig_line* c = rig_add(&(orr_pipeline_desc){.name = "c"}, 5 * MS, NULL);
    rig_warm();
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 112}));
    EXPECT_EQ(a->ticks[0].at_ns, 10 * MS);
    for (uint32_t i = 1; i < 100; i++) {
        EXPECT_EQ(a->ticks[i].at_ns, 10 * MS + i * 20 * MS);
        EXPECT_NEAR(a->ticks[i].scale, 0.5);
    }
    EXPECT_EQ(rig_stats(a).dropped, 1);
    EXPECT_EQ(rig_stats(b).dropped, 0);
    // World time at real 50 ms is 40. From there a second takes two, so b, due at 60, 80 …, begins
    // at 90, 130 …
    EXPECT_EQ(b->ticks[0].at_ns, 20 * MS);
    EXPECT_EQ(b->ticks[1].at_ns, 50 * MS);
    for (uint32_t i = 2; i < 48; i++) {
        EXPECT_EQ(b->ticks[i].at_ns, 90 * MS + (i - 2) * 40 * MS);
    }
    double sum = 0;
    uint64_t since = 0;
    for (uint32_t i = 0; i < c->count && c->ticks[i].at_ns <= 1950 * MS; i++) {
        since = since == 0 && c->ticks[i].at_ns >= 50 * MS ? c->ticks[i].at_ns : since;
        sum += since != 0 && c->ticks[i].at_ns > since ? (double)c->ticks[i].dt : 0;
    }
    EXPECT_EQ(since, 50 * MS);
    controlled_check(sum > 0.95 - 1e-5 && sum < 0.95 + 1e-5, "1.9 s were %g", sum);
    rig_close();
}

static void ease_after_10(orr_run* run, rig_line* line)
{
    (void)run;
    line->work_ns = line->count >= 10 ? 0 : line->work_ns;
}

// The first ten ticks are late. Later ticks take no time: the speed grows by a twentieth per tick,
// although the smoothed duration (18, 16.2 … of 10) would allow more.
/* N0-17 */
RIG_TEST(pipeline_that_is_no_longer_late_speeds_up_by_a_twentieth_per_tick, 0)
{
    rig_open(platform, 100);
    rig_line* a = rig_add(NULL, 20 * MS, ease_after_10);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 30}));
    EXPECT_NEAR(a->ticks[9].scale, 0.5);
    for (uint32_t i = 10; i < 30; i++) {
        double scale = 0.5 + 0.05 * (i - 10);
        EXPECT_NEAR(a->ticks[i].scale, scale < 1 ? scale : 1);
    }
    rig_close();
}

static void long_once(orr_run* run, rig_line* line)
{
    (void)run;
    line->work_ns = line->count == 2 ? 95 * MS : 0;
}

// Tick 3 begins at 30 and ends at 125: 40, 50 … 120 are due, all but the last are dropped.
RIG_TEST(very_late_pipeline_catches_up_by_one_tick_and_counts_the_rest, 0)
{
    rig_open(platform, 100);
    rig_line* a = rig_add(NULL, 0, long_once);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 5}));
    EXPECT_EQ(a->ticks[2].at_ns, 30 * MS);
    EXPECT_EQ(a->ticks[3].at_ns, 125 * MS);
    EXPECT_EQ(rig_stats(a).dropped, 8);
    EXPECT_EQ(rig_stats(a).ticks, 5);
    // The tick that caught up took no time: of 95 remain 85.5, and the 5 ms up to 130 are 5 × 8.55.
    EXPECT_NEAR(a->ticks[3].scale, 10.0 / 95);
    EXPECT_NEAR(a->ticks[4].scale, 10.0 / 85.5);
    EXPECT_NEAR((double)(a->ticks[4].at_ns - 125 * MS) / MS, 5 * 8.55);
    rig_close();
}

// A late spectator slows down no other pipeline.
RIG_TEST(late_spectator_drops_ticks_alone, 0)
{
    rig_open(platform, 100);
    rig_line* a = rig_add(NULL, 0, NULL);
    rig_line* o = rig_add(&(orr_pipeline_desc){.name = "o", .rate_hz = 100, .spectator = true},
                          35 * MS, NULL);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 50}));
    for (uint32_t i = 0; i < 50; i++) {
        EXPECT_EQ(a->ticks[i].at_ns, (i + 1) * 10 * MS);
    }
    EXPECT(rig_stats(o).dropped > 20);
    EXPECT_EQ(o->ticks[1].at_ns, 45 * MS);
    rig_close();
}

// ---- time scale ---------------------------------------------------------------------------------

RIG_TEST(time_scale_set_before_the_run_applies_from_its_beginning, 0)
{
    static const double scales[] = {2, 0.5, 0.1, 1.0 / 64};
    for (uint32_t w = 0; w < 4; w++) {
        rig_open(platform, 100);
        rig_line* a = rig_add(NULL, 0, NULL);
        uint64_t begun = rig_now();
        EXPECT_OK(orr_time_scale_set(r.world, scales[w]));
        EXPECT_NEAR(orr_time_scale(r.world), scales[w]);
        EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 20}));
        for (uint32_t i = 0; i < 20; i++) {
            EXPECT_EQ(a->ticks[i].at_ns - begun,
                      (uint64_t)((double)((i + 1) * 10 * MS) / scales[w]));
            EXPECT_NEAR(a->ticks[i].dt, 0.01);
        }
        rig_close();
    }
}

static void scale_by_tick(orr_run* run, rig_line* line)
{
    EXPECT_OK(line->count == 2 ? orr_time_scale_set(run->world, 2) : ORR_OK);
    EXPECT_OK(line->count == 4 ? orr_time_scale_set(run->world, 0.5) : ORR_OK);
}

RIG_TEST(time_scale_set_by_a_system_applies_at_once, 0)
{
    rig_open(platform, 100);
    rig_line* a = rig_add(NULL, 0, scale_by_tick);
    rig_line* b = rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 50}, 0, NULL);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 7}));
    static const uint64_t at[] = {10, 20, 25, 30, 50, 70, 90};
    for (uint32_t i = 0; i < 7; i++) {
        EXPECT_EQ(a->ticks[i].at_ns, at[i] * MS);
    }
    EXPECT_EQ(b->ticks[1].at_ns, 30 * MS);
    EXPECT_EQ(b->ticks[2].at_ns, 70 * MS);
    rig_close();
}

static void scale_outside(void* arg)
{
    (void)arg;
    rig_sleep_until(25 * MS);
    EXPECT_OK(orr_time_scale_set(r.world, 0)); // World time 25.
    EXPECT_NEAR(orr_time_scale(r.world), 0);
    rig_sleep_until(525 * MS);
    EXPECT_OK(orr_time_scale_set(r.world, 2));
    rig_sleep_until(550 * MS);
    EXPECT_EQ(orr_time_scale_set(r.world, -1), ORR_ERR_ARGUMENT);
    EXPECT_EQ(orr_time_scale_set(r.world, 1001), ORR_ERR_ARGUMENT);
    EXPECT_NEAR(orr_time_scale(r.world), 2);
    orr_stop(r.world);
}

// Time stands still for half a second and continues from there. A continuous pipeline continues,
// with ticks of dt 0.
RIG_TEST(time_scale_of_zero_stops_time_until_it_is_set_again, 0)
{
    rig_open(platform, 100);
    rig_line* a = rig_add(NULL, 0, NULL);
    rig_line* c = rig_add(&(orr_pipeline_desc){.name = "c"}, 4 * MS, NULL);
    rig_warm();
    rig_outside(scale_outside);
    EXPECT_OK(orr_realtime(r.world, NULL));
    rig_outside_ends();
    EXPECT_EQ(a->ticks[1].at_ns, 20 * MS);
    EXPECT_EQ(a->ticks[2].at_ns, 525 * MS + 2500000);
    EXPECT_EQ(a->ticks[3].at_ns, 525 * MS + 7500000);
    for (uint32_t i = 0; i < c->count; i++) {
        uint64_t at = c->ticks[i].at_ns;
        EXPECT_EQ(at, i * 4 * MS);
        EXPECT(at <= 28 * MS || at >= 526 * MS || c->ticks[i].dt == 0);
    }
    rig_close();
}

// ---- pauses -------------------------------------------------------------------------------------

static void pause_outside(void* arg)
{
    (void)arg;
    rig_sleep_until(25 * MS);
    orr_pause(r.world, true);
    EXPECT(orr_paused(r.world));
    rig_sleep_until(52 * MS);
    EXPECT_OK(orr_post(r.world, rig_called, NULL, 0));
    rig_sleep_until(61 * MS);
    EXPECT_EQ(r.calls, 1);
    EXPECT_EQ(r.called_ns, 52 * MS);
    EXPECT_OK(orr_post_exclusive(r.world, rig_called, NULL, 0));
    rig_sleep_until(101 * MS);
    EXPECT_EQ(r.calls, 2);
    orr_pause(r.world, false);
    rig_sleep_until(130 * MS);
    orr_stop(r.world);
}

RIG_TEST(pause_from_outside_stops_all_but_posts_and_spectators, 0)
{
    rig_open(platform, 100);
    rig_line* a = rig_add(NULL, 0, NULL);
    rig_line* c = rig_add(&(orr_pipeline_desc){.name = "c"}, 4 * MS, NULL);
    rig_line* o = rig_add(&(orr_pipeline_desc){.name = "o", .spectator = true}, 4 * MS, NULL);
    rig_warm();
    rig_outside(pause_outside);
    EXPECT_OK(orr_realtime(r.world, NULL));
    rig_outside_ends();
    static const uint64_t at[] = {10, 20, 106, 116, 126};
    EXPECT_EQ(a->count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        EXPECT_EQ(a->ticks[i].at_ns, at[i] * MS);
    }
    double sum = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        EXPECT(c->ticks[i].at_ns <= 25 * MS || c->ticks[i].at_ns >= 101 * MS);
        sum += (double)c->ticks[i].dt;
    }
    EXPECT_EQ(c->ticks[6].at_ns, 24 * MS);
    EXPECT_EQ(c->ticks[7].at_ns,
              101 * MS); // Its last tick before was from 24 to 28: one millisecond counts.
    EXPECT_NEAR(c->ticks[7].dt, 0.001);
    EXPECT_NEAR(sum, 0.025 + (double)(c->ticks[c->count - 1].at_ns - 101 * MS) * 1e-9);
    uint32_t still = 0;
    for (uint32_t i = 0; i < o->count; i++) {
        still += o->ticks[i].at_ns > 30 * MS && o->ticks[i].at_ns < 100 * MS;
        EXPECT(o->ticks[i].at_ns <= 30 * MS || o->ticks[i].at_ns >= 101 * MS ||
               o->ticks[i].dt == 0);
    }
    EXPECT(still >= 17);
    EXPECT_EQ(orr_paused(r.world), false);
    rig_close();
}

static void pause_in_tick_2(orr_run* run, rig_line* line)
{
    line->work_ns = line->count == 1 ? 25 * MS : 0;
    if (line->count == 2) {
        orr_pause(run->world, true);
    }
}

static void unpause_outside(void* arg)
{
    (void)arg;
    rig_sleep_until(200 * MS);
    EXPECT(orr_paused(r.world));
    EXPECT_EQ(r.lines[0].count, 2);
    orr_pause(r.world, false);
    rig_sleep_until(228 * MS);
    orr_stop(r.world);
}

// Tick 2 takes from 20 to 45, and pauses: 30 is dropped, 40 is due then and does not begin. When
// time continues it is caught up at once; 50 follows at a speed of 10 / 22.5.
RIG_TEST(pause_of_a_system_applies_when_its_tick_ended, 0)
{
    rig_open(platform, 100);
    rig_line* a = rig_add(NULL, 0, pause_in_tick_2);
    rig_line* b = rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 10}, 0, NULL);
    rig_outside(unpause_outside);
    EXPECT_OK(orr_realtime(r.world, NULL));
    rig_outside_ends();
    EXPECT_EQ(a->count, 4);
    EXPECT_EQ(a->ticks[2].at_ns, 200 * MS);
    EXPECT_EQ(a->ticks[3].at_ns, 211250 * MS / 1000);
    EXPECT_EQ(rig_stats(a).dropped, 1);
    EXPECT_EQ(b->count, 0);
    rig_close();
}

static void unpause_in_tick_4(orr_run* run, rig_line* line)
{
    if (line->count == 2 || line->count == 4) {
        orr_pause(run->world, line->count == 2);
    }
}

static void two_steps_outside(void* arg)
{
    (void)arg;
    rig_sleep_until(100 * MS);
    EXPECT_OK(orr_realtime_step(r.world, 2));
    rig_sleep_until(174 * MS);
    EXPECT_EQ(orr_realtime_step(r.world, 1), ORR_ERR_STATE);
    EXPECT_ERROR("not paused");
    orr_stop(r.world);
}

// Ticks 3 and 4 are steps of 5 ms each. In the second step the pause ends, at 110, with world time
// 40. Pipelines that sleep without limit are woken: b is due at 50 and at 100.
RIG_TEST(end_of_a_pause_by_a_system_wakes_all, 0)
{
    rig_open(platform, 100);
    rig_line* a = rig_add(NULL, 5 * MS, unpause_in_tick_4);
    rig_line* b = rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 20}, 0, NULL);
    rig_warm();
    rig_outside(two_steps_outside);
    EXPECT_OK(orr_realtime(r.world, NULL));
    rig_outside_ends();
    EXPECT_EQ(a->ticks[3].at_ns, 105 * MS);
    EXPECT_EQ(a->ticks[4].at_ns, 120 * MS);
    EXPECT_EQ(b->ticks[0].at_ns, 120 * MS);
    EXPECT_EQ(b->ticks[1].at_ns, 170 * MS);
    rig_close();
}

// ---- steps --------------------------------------------------------------------------------------

static void steps_outside(void* arg)
{
    (void)arg;
    static const uint32_t steps[] = {1, 1, 1, 5, 0, 22};
    // Ticks of 30, 120 and 45 per second, up to 1, 2, 3, 8, 8 and 30 thirtieths.
    static const uint32_t fast[] = {4, 8, 12, 32, 32, 120}, odd[] = {1, 3, 4, 12, 12, 45};
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 6; i++) {
        rig_sleep(5 * MS);
        EXPECT_OK(orr_realtime_step(r.world, steps[i]));
        rig_sleep(5 * MS);
        sum += steps[i];
        EXPECT_EQ(r.lines[0].count, sum);
        EXPECT_EQ(r.lines[1].count, fast[i]);
        EXPECT_EQ(r.lines[2].count, odd[i]);
    }
    orr_stop(r.world);
}

RIG_TEST(steps_of_a_paused_world_run_exactly_the_requested_ticks, 30)
{
    rig_open(platform, 30);
    rig_add(NULL, 0, NULL);
    rig_add(&(orr_pipeline_desc){.name = "fast", .rate_hz = 120}, 0, NULL);
    rig_add(&(orr_pipeline_desc){.name = "odd", .rate_hz = 45}, 0, NULL);
    orr_pause(r.world, true);
    rig_outside(steps_outside);
    EXPECT_OK(orr_realtime(r.world, NULL));
    rig_outside_ends();
    for (uint32_t i = 0; i < 3; i++) {
        EXPECT_EQ(rig_stats(&r.lines[i]).dropped, 0);
    }
    rig_close();
}

static void steps_at_once_outside(void* arg)
{
    (void)arg;
    rig_sleep_until(45 * MS); // In tick 2, which is late.
    orr_pause(r.world, true);
    EXPECT_OK(orr_realtime_step(r.world, 1));
    EXPECT_OK(orr_realtime_step(r.world, 2));
    rig_sleep_until(400 * MS);
    EXPECT_EQ(r.lines[0].count, 5);
    EXPECT_OK(orr_realtime_step(r.world, 1));
    rig_sleep_until(500 * MS);
    EXPECT_EQ(r.lines[0].count, 6);
    orr_stop(r.world);
}

RIG_TEST(steps_requested_within_a_late_tick_add_up, 0)
{
    rig_open(platform, 100);
    rig_add(NULL, 20 * MS, NULL);
    rig_outside(steps_at_once_outside);
    EXPECT_OK(orr_realtime(r.world, NULL));
    rig_outside_ends();
    rig_close();
}

static void steps_continuous_outside(void* arg)
{
    (void)arg;
    rig_sleep_until(45 * MS); // Within the tick from 42 to 49.
    orr_pause(r.world, true);
    EXPECT_OK(orr_realtime_step(r.world, 3));
    rig_sleep_until(200 * MS);
    EXPECT_EQ(r.lines[0].count, 10);
    EXPECT_EQ(r.lines[1].count, 9); // 10 to 40, and 50 to 90.
    orr_stop(r.world);
}

// 7 ticks up to the pause at 45; then three with the dt of lockstep, up to 95. The first of them
// also has the 3 ms before the pause.
RIG_TEST(steps_of_a_continuous_pipeline_have_the_dt_of_lockstep, 0)
{
    rig_open(platform, 0);
    rig_line* first = rig_add(NULL, 7 * MS, NULL);
    rig_line* b = rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 100}, 0, NULL);
    rig_outside(steps_continuous_outside);
    EXPECT_OK(orr_realtime(r.world, NULL));
    rig_outside_ends();
    EXPECT_NEAR(first->ticks[8].dt, 0.016666667);
    EXPECT_NEAR(first->ticks[9].dt, 0.016666667);
    EXPECT_NEAR(first->ticks[7].dt, 0.003 + 0.016666667);
    (void)b;
    rig_close();
}

// ---- clocks that jump ---------------------------------------------------------------------------

static void jump_outside(void* arg)
{
    rig_sleep_until(25 * MS);
    r.skew_ns += *(const uint64_t*)arg;
}

static uint64_t jump_ns;

static void jump(const orr_platform* platform, uint64_t by_ns, uint32_t ticks)
{
    rig_open(platform, 100);
    jump_ns = by_ns;
    rig_add(NULL, 0, NULL);
    rig_add(&(orr_pipeline_desc){.name = "c"}, 4 * MS, NULL);
    rig_warm();
    r.outside = controlled_start(r.base, "outside", jump_outside, &jump_ns);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = ticks}));
    rig_outside_ends();
}

// The clock jumps at 25; the continuous pipeline reads it at 28: world time is 24 + 250 = 274. Of
// 30, 40 … 270 all but the last are dropped.
RIG_TEST(clock_that_jumps_ahead_by_an_hour_counts_a_quarter_of_a_second, 0)
{
    jump(platform, 3600u * 1000 * MS, 10);
    const rig_line *a = &r.lines[0], *c = &r.lines[1];
    EXPECT_EQ(a->ticks[1].at_ns, 20 * MS);
    EXPECT_EQ(a->ticks[2].at_ns, 30 * MS); // When it wakes up: it is due at 30 nevertheless.
    EXPECT_EQ(a->ticks[3].at_ns, 30 * MS);
    EXPECT_EQ(a->ticks[4].at_ns, 34 * MS); // 280 is 6 after 274.
    EXPECT_EQ(a->ticks[9].at_ns, 84 * MS);
    EXPECT_EQ(rig_stats(a).dropped, 23);
    EXPECT_NEAR(c->ticks[7].dt, 0.25);
    EXPECT_NEAR(c->ticks[8].dt, 0.004);
    rig_close();
}

// Time continues from where the clock is: nothing passed between 24, when it was last read, and 28.
RIG_TEST(clock_that_goes_back_by_a_minute_counts_as_standing_still, 0)
{
    jump(platform, 0 - 60u * 1000 * MS, 10);
    const rig_line *a = &r.lines[0], *c = &r.lines[1];
    EXPECT_EQ(a->ticks[2].at_ns, 34 * MS);
    EXPECT_EQ(a->ticks[9].at_ns, 104 * MS);
    EXPECT_EQ(rig_stats(a).dropped, 0);
    EXPECT_NEAR(c->ticks[7].dt, 0);
    EXPECT_NEAR(c->ticks[8].dt, 0.004);
    rig_close();
}

static void jump_in_tick_3(orr_run* run, rig_line* line)
{
    (void)run;
    r.skew_ns += line->count == 3 ? 3600u * 1000 * MS : 0;
}

// A tick that seems to take an hour counts as a quarter of a second, too: the speed is 10 / 250,
// and a few seconds later it is as before.
RIG_TEST(clock_that_jumps_within_a_tick_does_not_stop_time, 0)
{
    rig_open(platform, 100);
    rig_line* a = rig_add(NULL, 0, jump_in_tick_3);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 100}));
    EXPECT_EQ(a->ticks[3].at_ns, 30 * MS);
    EXPECT_NEAR(a->ticks[3].scale, 0.04);
    EXPECT_EQ(rig_stats(a).dropped, 24);
    EXPECT_NEAR(a->ticks[99].scale, 1);
    EXPECT(a->ticks[99].at_ns < 4000 * MS);
    rig_close();
}

static void skew_back_outside(void* arg)
{
    (void)arg;
    rig_sleep_until(25 * MS);
    r.skew_ns -= 60u * 1000 * MS;
    rig_sleep_until(45 * MS);
    EXPECT_OK(orr_post(r.world, rig_called, NULL, 0)); // Wakes main, which reads the clock.
}

RIG_TEST(limit_of_real_time_holds_when_the_clock_goes_back, 0)
{
    rig_open(platform, 100);
    rig_line* a = rig_add(NULL, 0, NULL);
    rig_outside(skew_back_outside);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.for_ns = 100 * MS}));
    rig_outside_ends();
    EXPECT(a->count >= 9 && a->count <= 20);
    EXPECT_EQ(r.calls, 1);
    rig_close();
}

// ---- time between reading the clock and a tick --------------------------------------------------

static void add_a_type(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    ORR_REGISTER(world, Velocity);
}

static void type_outside(void* arg)
{
    (void)arg;
    rig_sleep_until(25 * MS);
    EXPECT_OK(orr_post(r.world, add_a_type, NULL, 0));
}

// A type that is registered at a sync point makes plans anew. A continuous pipeline that was about
// to tick gets that time in its next tick.
RIG_TEST(dt_of_a_continuous_pipeline_loses_no_time_at_a_sync_point, 20)
{
    rig_open(platform, 50);
    rig_line* a = rig_add(NULL, 0, NULL);
    rig_line* c = rig_add(&(orr_pipeline_desc){.name = "c"}, 7 * MS, NULL);
    rig_outside(type_outside);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 4}));
    rig_outside_ends();
    double sum = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        sum += (double)c->ticks[i].dt;
        EXPECT_NEAR(sum, (double)c->ticks[i].at_ns * 1e-9);
    }
    EXPECT_EQ(a->count, 4);
    rig_close();
}
