// SPDX-License-Identifier: MIT
// Pipelines in real time with a clock of the test. Threads are fibers of the controlled scheduler,
// work is a sleep, and time passes only when no thread can run. The moment at which each tick
// begins can be computed by hand and is the same in every run.
#ifndef TEST_RIG_KIT_H
#define TEST_RIG_KIT_H

#include "support/controlled.h"
#include "support/store_kit.h"
#include "test.h"

#include "store/world/access.h"
#include <errno.h>
#include <orrery/orrery.h>

#define MS UINT64_C(1000000)

enum {
    RIG_TICKS = 512,
    RIG_LINES = 4,
};

typedef struct rig_tick {
    uint64_t at_ns; // Time of the clock when the tick began.
    float dt;
    double scale;
} rig_tick;

// A system in its own pipeline that works for a while and notes when its ticks begin.
typedef struct rig_line {
    const char* name;
    uint64_t work_ns;
    void (*act)(orr_run* run, struct rig_line* line); // Called after the work; may be NULL.
    uint32_t count;
    rig_tick ticks[RIG_TICKS];
    orr_pipeline pipeline;
} rig_line;

typedef struct rig {
    orr_platform table;
    const orr_platform* base;
    orr_world* world;
    uint64_t skew_ns; // Difference between the clock and its expected value; wraps.
    rig_line lines[RIG_LINES];
    uint32_t line_count;
    uint32_t calls; // Posted calls that ran,
    uint64_t called_ns;
    kit_errors errors;
    bool memory_refused;
    uint32_t threads, threads_max;
    orr_thread outside;
} rig;

static rig r;

#define EXPECT_EQ(actual, expected)                                                            \
    do {                                                                                       \
        long long expect_a = (long long)(actual), expect_e = (long long)(expected);            \
        controlled_check(expect_a == expect_e, "%s is %lld, expected %lld", #actual, expect_a, \
                         expect_e);                                                            \
    } while (0)
#define EXPECT(condition) controlled_check(condition, "%s is false", #condition)
#define EXPECT_OK(result) EXPECT_EQ(result, ORR_OK)
#define EXPECT_NEAR(a, b) \
    controlled_check(rig_near(a, b), "%s is %g, expected %g", #a, (double)(a), (double)(b))
#define EXPECT_ERROR(part) \
    controlled_check(strstr(r.errors.text, part) != NULL, "the error is: %s", r.errors.text)

static inline bool rig_near(double a, double b)
{
    return a - b < 1e-6 && b - a < 1e-6;
}

static uint64_t rig_clock_ns(void* user)
{
    return r.base->clock_ns(user) + r.skew_ns;
}

static void* rig_alloc(void* user, size_t size, size_t align)
{
    return r.memory_refused ? NULL : r.base->memory_alloc(user, size, align);
}

static int rig_thread_create(void* user, const char* name, void (*run)(void* arg), void* arg,
                             orr_thread* out)
{
    return r.threads++ >= r.threads_max ? EAGAIN : r.base->thread_create(user, name, run, arg, out);
}

// From now on at most `count` threads can be created.
static inline void rig_thread_limit(uint32_t count)
{
    r.threads = 0;
    r.threads_max = count;
}

static inline void rig_memory_refused(bool refused)
{
    r.memory_refused = refused;
}

// Time since the beginning, by the clock without skew.
static uint64_t rig_now(void)
{
    return r.base->clock_ns(r.base->user);
}

static void rig_sleep(uint64_t duration_ns)
{
    r.table.sleep_ns(r.table.user, duration_ns);
}

static inline void rig_sleep_until(uint64_t at_ns)
{
    uint64_t now = rig_now();
    controlled_check(at_ns >= now, "the time has passed already");
    rig_sleep(at_ns - now);
}

static void rig_work(orr_run* run)
{
    rig_line* line = orr_run_user(run);
    controlled_check(line->count < RIG_TICKS, "too many ticks of %s", line->name);
    line->ticks[line->count++] = (rig_tick){rig_now(), run->dt, orr_time_scale(run->world)};
    if (line->work_ns > 0) {
        rig_sleep(line->work_ns);
    }
    if (line->act != NULL) {
        line->act(run, line);
    }
}

static void rig_open(const orr_platform* platform, double rate_hz)
{
    memset(&r, 0, sizeof r);
    r.base = platform;
    r.skew_ns = UINT64_C(7200) * 1000 * MS; // Leaves room for the clock to go back.
    r.table = *platform;
    r.table.clock_ns = rig_clock_ns;
    r.table.memory_alloc = rig_alloc;
    r.table.thread_create = rig_thread_create;
    r.threads_max = UINT32_MAX;
    r.world = orr_world_create(&(orr_world_desc){.platform = &r.table,
                                                 .rate_hz = rate_hz,
                                                 .on_error = kit_on_error,
                                                 .on_error_user = &r.errors});
    ORR_REGISTER(r.world, Position);
    orr_access_check_set(r.world, ORR_ACCESS_CHECK_CALLS);
}

// Adds a line to the first pipeline, or with a desc to a new pipeline.
static rig_line* rig_add(const orr_pipeline_desc* desc, uint64_t work_ns,
                         void (*act)(orr_run* run, rig_line* line))
{
    rig_line* line = &r.lines[r.line_count++];
    line->name = desc != NULL ? desc->name : "main";
    line->work_ns = work_ns;
    line->act = act;
    line->pipeline = desc != NULL ? orr_pipeline_add(r.world, desc)
                                  : orr_pipeline_find(r.world, "main");
    orr_system system = orr_system_add(r.world, &(orr_system_desc){.name = line->name,
                                                                   .pipeline = line->name,
                                                                   .once = true,
                                                                   .by_id = "Position",
                                                                   .user = line,
                                                                   .run = rig_work});
    controlled_check(system.id != 0, "%s", orr_error_last(r.world));
    return line;
}

static bool rig_warm_done(void* user, orr_world* world)
{
    bool done = true;
    for (uint32_t i = 0; i < r.line_count; i++) {
        orr_pipeline_stats stats;
        EXPECT_OK(orr_pipeline_stats_get(world, r.lines[i].pipeline, &stats));
        done = done && (stats.rate_hz <= 0 || stats.due_ns > *(const uint64_t*)user);
    }
    return done;
}

// Runs one second in lockstep, which takes no time: a system that begins in real time waits until
// no other system runs and would not be on time. All intervals that divide a second begin anew at
// its end.
static inline void rig_warm(void)
{
    uint64_t second = 1000 * MS, work[RIG_LINES];
    void (*acts[RIG_LINES])(orr_run*, rig_line*);
    for (uint32_t i = 0; i < r.line_count; i++) {
        work[i] = r.lines[i].work_ns;
        acts[i] = r.lines[i].act;
        r.lines[i].work_ns = 0;
        r.lines[i].act = NULL;
    }
    EXPECT_OK(orr_run_until(r.world, UINT64_MAX, rig_warm_done, &second));
    for (uint32_t i = 0; i < r.line_count; i++) {
        r.lines[i].work_ns = work[i];
        r.lines[i].act = acts[i];
        r.lines[i].count = 0;
    }
}

static void rig_close(void)
{
    controlled_check(orr_world_validate(r.world) == ORR_OK, "%s", orr_error_last(r.world));
    orr_world_destroy(r.world);
}

static inline void rig_outside(void (*run)(void* arg))
{
    r.outside = controlled_start(r.base, "outside", run, NULL);
}

static inline void rig_outside_ends(void)
{
    controlled_join(r.base, r.outside);
}

static inline orr_wait_stats rig_stats(const rig_line* line)
{
    orr_wait_stats stats;
    EXPECT_OK(orr_wait_stats_get(r.world, line->pipeline, &stats));
    return stats;
}

static inline void rig_called(orr_world* world, void* data, size_t size)
{
    (void)world, (void)size;
    (void)data;
    r.calls++;
    r.called_ns = rig_now();
}

// One schedule for expectations computed by hand; random schedules for properties that hold in all.
static void rig_run(const char* name, void (*body)(const orr_platform* platform, void* arg),
                    uint32_t schedules)
{
    controlled_thread_local(&orri_this_thread, sizeof orri_this_thread);
    controlled_thread_local(&orri_refused_last, sizeof orri_refused_last);
    controlled_desc desc = {.name = name,
                            .body = body,
                            .preemptions_max = CONTROLLED_NO_PREEMPTION,
                            .schedules_max = 1,
                            .steps_max = 2000000,
                            .clock_step_ns = CONTROLLED_CLOCK_STANDS,
                            .cores = 1};
    CONTROLLED_PASS(controlled_explore(&desc));
    if (schedules > 0) {
        desc.schedules_max = test_slow() ? schedules / 10 + 1 : schedules;
        desc.strategy = CONTROLLED_RANDOM;
        CONTROLLED_PASS(controlled_explore(&desc));
        desc.strategy = CONTROLLED_PRIORITIES;
        CONTROLLED_PASS(controlled_explore(&desc));
    }
}

#define RIG_TEST(test, schedules)                                     \
    static void test##_body(const orr_platform* platform, void* arg); \
    ORR_TEST(test)                                                    \
    {                                                                 \
        rig_run(#test, test##_body, schedules);                       \
    }                                                                 \
    static void test##_body(const orr_platform* platform, ORR_MAYBE_UNUSED void* arg)

#endif
