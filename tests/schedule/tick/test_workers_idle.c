// SPDX-License-Identifier: MIT
// Idle workers: they spin for a bounded time, then they block in thread_wait and use no CPU time,
// between ticks and while one of them works alone. The test platform counts waiting threads and
// spins.
#define _POSIX_C_SOURCE 200809L // clock_gettime
#include "schedule/system_kit.h"

#include "jobs/jobs_detail.h"
#include "schedule/schedule.h"
#include <stdatomic.h>
#include <time.h>

#define MS       UINT64_C(1000000)
#define HOUR     (3600000 * MS)
#define PATIENCE (20000 * MS) // A generous limit for a busy machine; a longer wait fails.

enum {
    WORKERS = 4,
    HELPERS = WORKERS - 1,
    WATCHERS = 1,      // A thread that waits, too, because stuck_ns is set.
    LOOKS_MOST = 4096, // In a row; about 50 µs are meant.
    LOOKS_FEW = 16     // With more workers than cores.
};

// ---- a platform that counts ---------------------------------------------------------------------

typedef struct census {
    orr_platform table;
    uint32_t cores;
    _Atomic uint32_t inside; // Threads in thread_wait now.
    _Atomic uint64_t waits;  // Calls of thread_wait.
    _Atomic uint64_t looks;  // Spins and yields of all threads.
    _Atomic uint64_t row;    // The longest series of one thread.
} census;

static _Thread_local uint64_t looks_in_a_row;

static uint32_t census_cores(void* user)
{
    return ((census*)user)->cores;
}

static void census_wait(void* user, void* word, uint32_t expected, uint64_t timeout_ns)
{
    census* c = user;
    atomic_fetch_add(&c->waits, 1);
    atomic_fetch_add(&c->inside, 1);
    orr_platform_default()->thread_wait(NULL, word, expected, timeout_ns);
    atomic_fetch_sub(&c->inside, 1);
}

// Spins form a series when no other sched point is between them.
static void census_point(void* user, orr_sched_kind kind, const void* word)
{
    census* c = user;
    (void)word;
    looks_in_a_row = kind == ORR_SCHED_SPIN ? looks_in_a_row + 1 : 0;
    if (kind == ORR_SCHED_SPIN) {
        atomic_fetch_add(&c->looks, 1);
        uint64_t row = atomic_load(&c->row);
        while (looks_in_a_row > row &&
               !atomic_compare_exchange_strong(&c->row, &row, looks_in_a_row)) {
        }
    }
}

static void idle_nothing(void* arg)
{
    (void)arg;
}

// Never freed: threads of a failed test may still use it.
static census* census_begin(uint32_t cores)
{
    static census all[8];
    static uint32_t used;
    orr_thread thread;
    const orr_platform* platform = orr_platform_default();
    if (platform->thread_create(NULL, "any", idle_nothing, NULL, &thread) != 0) {
        test_skip("built without threads");
    }
    platform->thread_join(NULL, thread);
    census* c = &all[used++];
    c->table = *platform;
    c->cores = cores;
    c->table.user = c;
    c->table.thread_cores = census_cores;
    c->table.thread_wait = census_wait;
    c->table.sched_point = census_point;
    return c;
}

// Waits until `count` helpers wait at the same time and none of them was woken: a thread that wakes
// a helper clears its bit first.
static bool census_asleep(census* c, const orr_world* world, uint32_t count)
{
    const orr_platform* platform = orr_platform_default();
    const orri_jobs* jobs = orri_parallel_jobs(world);
    uint64_t until = platform->clock_ns(NULL) + PATIENCE;
    while ((uint32_t)__builtin_popcountll(atomic_load(&jobs->asleep)) != count ||
           atomic_load(&c->inside) != count + WATCHERS) {
        if (platform->clock_ns(NULL) > until) {
            return false;
        }
        platform->sleep_ns(NULL, MS / 4);
    }
    return true;
}

// ---- worlds -------------------------------------------------------------------------------------

static void idle_touch(orr_run* run)
{
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += 1;
    }
}

// No thread wakes up to watch, except after hours.
static orr_world* idle_begin(kit* k, const census* c)
{
    orr_world* world = kit_begin(
        k, &(orr_world_desc){.workers = WORKERS, .stuck_ns = HOUR, .platform = &c->table});
    ORR_REGISTER(world, Position, Velocity, Health);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), 5 * ORR_CHUNK_CAPACITY, NULL, 0,
                             NULL));
    return world;
}

static uint64_t idle_cpu_ns(void)
{
    struct timespec time;
    CHECK_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time), 0);
    return (uint64_t)time.tv_sec * 1000 * MS + (uint64_t)time.tv_nsec;
}

// All helpers wait and keep waiting: none spins again, and the process uses almost no CPU time.
static void idle_check(census* c, const orr_world* world)
{
    CHECK(census_asleep(c, world, HELPERS));
    uint64_t waits = c->waits, looks = c->looks, cpu_ns = idle_cpu_ns();
    orr_platform_default()->sleep_ns(NULL, 200 * MS);
    cpu_ns = idle_cpu_ns() - cpu_ns;
    CHECK_EQ(c->inside, HELPERS + WATCHERS);
    CHECK_EQ(c->waits, waits);
    CHECK_EQ(c->looks, looks);
    CHECK(cpu_ns < 100 * MS); // A thread that spins takes 200 ms, unless the machine is busy.
}

// ---- between ticks ------------------------------------------------------------------------------

ORR_TEST(idle_workers_block_between_ticks_and_use_no_cpu_time)
{
    static const uint32_t cores[] = {1, 64};
    for (uint32_t i = 0; i < 2; i++) {
        census* c = census_begin(cores[i]);
        kit k;
        orr_world* world = idle_begin(&k, c);
        KIT_SYSTEM(world, .name = "touch", .query = "write Position", .run = idle_touch,
                   .parallel = true);
        orri_parallel_share(world, ORRI_SHARE_ALL, 0);
        idle_check(c, world); // Created, and never woken.
        for (uint32_t round = 0; round < 2; round++) {
            KIT_STEP(world, 20);
            idle_check(c, world);
        }
        kit_end(&k);
        CHECK_EQ(c->inside, 0);
    }
}

// ---- how long workers spin ----------------------------------------------------------------------

ORR_TEST(idle_workers_spin_for_a_bounded_time)
{
    static const uint32_t cores[] = {1, 64}, most[] = {LOOKS_FEW, LOOKS_MOST};
    for (uint32_t i = 0; i < 2; i++) {
        census* c = census_begin(cores[i]);
        kit k;
        orr_world* world = idle_begin(&k, c);
        KIT_SYSTEM(world, .name = "touch", .query = "write Position", .run = idle_touch,
                   .parallel = true);
        orri_parallel_share(world, ORRI_SHARE_ALL, 0);
        for (uint32_t tick = 0; tick < 20; tick++) {
            KIT_STEP(world, 1);
            // In every tick, so all workers spin to the end.
            CHECK(census_asleep(c, world, HELPERS));
        }
        CHECK(c->row > 0);
        CHECK(c->row <= most[i]);
        CHECK(c->waits >= HELPERS);
        kit_end(&k);
    }
}

// ---- within a tick ------------------------------------------------------------------------------

static census* watched;
static _Thread_local bool driving;
static _Atomic uint32_t begun, alone, missed;

// On the driving thread, until another thread has begun its work.
static void idle_here(orr_run* run)
{
    (void)run;
    const orr_platform* platform = orr_platform_default();
    uint64_t until = platform->clock_ns(NULL) + PATIENCE;
    while (atomic_load(&begun) == 0 && platform->clock_ns(NULL) < until) {
        platform->sleep_ns(NULL, MS / 4);
    }
}

// Works until all other threads sleep, including the driving thread, which waits for the end.
static void idle_there(orr_run* run)
{
    atomic_store(&begun, 1);
    if (!driving) {
        bool asleep = census_asleep(watched, run->world, WORKERS - 1);
        atomic_fetch_add(asleep ? &alone : &missed, 1);
    }
}

ORR_TEST(idle_workers_block_while_one_helper_works)
{
    census* c = census_begin(64);
    kit k;
    watched = c;
    driving = true;
    begun = alone = missed = 0;
    orr_world* world = idle_begin(&k, c);
    KIT_SYSTEM(world, .name = "here", .once = true, .run = idle_here, .main_thread = true);
    KIT_SYSTEM(world, .name = "there", .once = true, .run = idle_there);
    orri_parallel_share(world, ORRI_SHARE_NOTHING, 0);
    // Whether the driving thread or a helper takes it is random.
    for (uint32_t tick = 0; tick < 1000 && alone + missed == 0; tick++) {
        begun = 0;
        KIT_STEP(world, 1);
    }
    CHECK_EQ(missed, 0);
    CHECK(alone > 0);
    CHECK(c->row <= LOOKS_MOST);
    kit_end(&k);
}

static void idle_alone(orr_run* run)
{
    atomic_fetch_add(census_asleep(watched, run->world, HELPERS) ? &alone : &missed, 1);
}

ORR_TEST(idle_workers_block_while_the_driving_thread_works)
{
    census* c = census_begin(64);
    kit k;
    watched = c;
    driving = true;
    alone = missed = 0;
    orr_world* world = idle_begin(&k, c);
    orri_parallel_share(world, ORRI_SHARE_ALL, 0);
    KIT_SYSTEM(world, .name = "touch", .query = "write Position", .run = idle_touch,
               .parallel = true);
    KIT_SYSTEM(world, .name = "alone", .query = "Position", .once = true, .main_thread = true,
               .run = idle_alone);
    KIT_STEP(world, 5);
    CHECK_EQ(missed, 0);
    CHECK_EQ(alone, 5);
    kit_end(&k);
}

#undef MS
#undef HOUR
#undef PATIENCE
