// SPDX-License-Identifier: MIT
// The phase of a pipeline between two ticks, with a replaced clock and expectations computed by
// hand; and whether a world runs.
#include "realtime/rig_kit.h"

typedef struct phase_look {
    uint64_t at_ns;
    double main, b, o;
} phase_look;

static phase_look phase_looks[64];
static uint32_t phase_count;

static orr_pipeline phase_of(const char* name)
{
    return orr_pipeline_find(r.world, name);
}

static void phase_note(void)
{
    controlled_check(phase_count < 64, "too many looks");
    phase_looks[phase_count++] = (phase_look){rig_now(), orr_phase(r.world, phase_of("main")),
                                              orr_phase(r.world, phase_of("b")),
                                              orr_phase(r.world, phase_of("o"))};
}

static void phase_act(orr_run* run, rig_line* line)
{
    (void)run;
    (void)line;
    phase_note();
}

static void phase_open(const orr_platform* platform, uint64_t work_ns)
{
    rig_open(platform, 100);
    phase_count = 0;
    (void)rig_add(NULL, work_ns, NULL);
    (void)rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 40}, 0, NULL);
    (void)rig_add(&(orr_pipeline_desc){.name = "o", .spectator = true}, 7 * MS, phase_act);
    rig_warm();
}

// Ticks of "main" are due at 10, 20 …, of "b" at 25, 50 …, whether a tick is running (main works
// for 3 ms) or not.
RIG_TEST(phase_is_the_part_of_the_interval_that_has_passed, 0)
{
    phase_open(platform, 3 * MS);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 4}));
    static const phase_look expected[] = {{7 * MS, 0.7, 0.28, 0},  {14 * MS, 0.4, 0.56, 0},
                                          {21 * MS, 0.1, 0.84, 0}, {28 * MS, 0.8, 0.12, 0},
                                          {35 * MS, 0.5, 0.40, 0}, {42 * MS, 0.2, 0.68, 0}};
    for (uint32_t i = 0; i < 6; i++) {
        EXPECT_EQ(phase_looks[i].at_ns, expected[i].at_ns);
        EXPECT_NEAR(phase_looks[i].main, expected[i].main);
        EXPECT_NEAR(phase_looks[i].b, expected[i].b);
        EXPECT_NEAR(phase_looks[i].o, expected[i].o);
    }
    rig_close();
}

// At half speed 7 ms are 3.5 ms of world time.
RIG_TEST(phase_follows_world_time, 0)
{
    phase_open(platform, 0);
    EXPECT_OK(orr_time_scale_set(r.world, 0.5));
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 2}));
    EXPECT_NEAR(phase_looks[0].main, 0.35);
    EXPECT_NEAR(phase_looks[1].main, 0.7);
    EXPECT_NEAR(phase_looks[2].main, 0.05);
    EXPECT_NEAR(phase_looks[2].b, 0.42);
    rig_close();
}

// The first tick is due at 10 and ends at 40: at 21, 28 and 35 the next tick is late.
RIG_TEST(phase_of_a_late_pipeline_is_one, 0)
{
    phase_open(platform, 30 * MS);
    EXPECT_OK(orr_realtime(r.world, &(orr_realtime_desc){.ticks = 2}));
    EXPECT_NEAR(phase_looks[1].main, 0.4);
    for (uint32_t i = 2; i < 5; i++) {
        EXPECT_NEAR(phase_looks[i].main, 1);
    }
    rig_close();
}

static void phase_outside(void* arg)
{
    (void)arg;
    EXPECT(!orr_running(r.world) || rig_now() == 0);
    rig_sleep_until(13 * MS);
    EXPECT(orr_running(r.world));
    orr_pause(r.world, true);
    phase_note();
    rig_sleep_until(500 * MS);
    phase_note(); // Time stands still.
    orr_pause(r.world, false);
    rig_sleep_until(502 * MS);
    phase_note();
    orr_stop(r.world);
}

RIG_TEST(phase_from_another_thread_stands_still_while_paused, 0)
{
    rig_open(platform, 100);
    phase_count = 0;
    (void)rig_add(NULL, 0, NULL);
    EXPECT(!orr_running(r.world));
    rig_outside(phase_outside);
    EXPECT_OK(orr_realtime(r.world, NULL));
    rig_outside_ends();
    EXPECT(!orr_running(r.world));
    EXPECT_NEAR(phase_looks[0].main, 0.3);
    EXPECT_NEAR(phase_looks[1].main, 0.3);
    EXPECT_NEAR(phase_looks[2].main, 0.5);
    EXPECT_NEAR(phase_looks[2].b, 0); // There is no such pipeline.
    rig_close();
}

// In lockstep the clock advances by ticks, and by the argument of orr_update().
RIG_TEST(phase_in_lockstep_follows_the_lockstep_clock, 0)
{
    rig_open(platform, 100);
    phase_count = 0;
    (void)rig_add(NULL, 0, phase_act);
    (void)rig_add(&(orr_pipeline_desc){.name = "b", .rate_hz = 40}, 0, NULL);
    EXPECT_NEAR(orr_phase(r.world, phase_of("main")), 0);
    EXPECT_OK(orr_update(r.world, 4 * MS));
    EXPECT_NEAR(orr_phase(r.world, phase_of("main")), 0.4);
    EXPECT_NEAR(orr_phase(r.world, phase_of("b")), 0.16);
    EXPECT_OK(orr_update(r.world, 9 * MS)); // World time 13.
    EXPECT_EQ(phase_count, 1);
    EXPECT_NEAR(phase_looks[0].main, 0); // In its own tick, at 10.
    EXPECT_NEAR(phase_looks[0].b, 0.4);
    EXPECT_NEAR(orr_phase(r.world, phase_of("main")), 0.3);
    EXPECT_NEAR(orr_phase(r.world, phase_of("b")), 0.52);
    EXPECT_OK(orr_step(r.world, 2)); // To 30, past 25.
    EXPECT_NEAR(orr_phase(r.world, phase_of("main")), 0);
    EXPECT_NEAR(orr_phase(r.world, phase_of("b")), 0.2);
    EXPECT_NEAR(orr_phase(r.world, (orr_pipeline){0}), 0);
    EXPECT_NEAR(orr_phase(r.world, (orr_pipeline){9}), 0);
    rig_close();
}

static void phase_record(orr_run* run, rig_line* line)
{
    (void)line;
    EXPECT(orr_running(run->world));
    phase_note();
}

// A replay has no clock.
RIG_TEST(phase_in_a_replay_is_one, 0)
{
    orr_recording* recording = orr_recording_create();
    for (uint32_t i = 0; i < 2; i++) {
        rig_open(platform, 100);
        phase_count = 0;
        (void)rig_add(NULL, 0, phase_record);
        EXPECT_OK(orr_realtime(r.world, i == 0
                                            ? &(orr_realtime_desc){.ticks = 3, .record = recording}
                                            : &(orr_realtime_desc){.replay = recording}));
        EXPECT_EQ(phase_count, 3);
        EXPECT_NEAR(phase_looks[2].main, i);
        rig_close();
    }
    orr_recording_destroy(recording);
}
