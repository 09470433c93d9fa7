// SPDX-License-Identifier: MIT
// Workers of a world: threads that cannot be created, threads of the program, many more workers
// than cores, and a system that does not return. In all cases every tick has the hash of the serial
// run.
#include "scenarios/scenario.h"
#include "schedule/schedule.h"
#include "support/store_kit.h"
#include "test.h"

#include <errno.h>
#include <stdatomic.h>

#define TICKS 25u
#define MS    UINT64_C(1000000)
#define HOUR  (3600000 * MS)

// ---- a log that is kept -------------------------------------------------------------------------

typedef struct page {
    _Atomic uint32_t fewer, stuck; // Lines of each id.
    char text[512];                // The last of them.
} page;

static void page_write(void* user, const orr_log_line* line)
{
    page* p = user;
    bool stuck = line->id == ORR_LOG_ID_SYSTEM_STUCK;
    // On a busy machine a quick system may be interrupted so long that it is named, too.
    if (stuck ? strstr(line->text, "'endless'") == NULL : line->id != ORR_LOG_ID_WORKERS_FEWER) {
        return;
    }
    snprintf(p->text, sizeof p->text, "%s", line->text);
    atomic_fetch_add(stuck ? &p->stuck : &p->fewer, 1);
}

static orr_log_desc page_log(page* p)
{
    return (orr_log_desc){.level = ORR_LOG_WARNING, .sink = page_write, .user = p};
}

// ---- the same hashes ----------------------------------------------------------------------------

static uint64_t expected[TICKS];

static void churn_run(const orr_world_desc* desc, orri_sharing sharing, uint64_t* hashes)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, desc);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    orri_parallel_share(world, sharing, 3);
    scenario_target target = scenario_target_world(world);
    scenario_run run;
    CHECK(scenario_begin(&run, scenario_find("churn"), &target, 1));
    for (uint32_t i = 0; i < TICKS; i++) {
        CHECK(scenario_step(&run));
        hashes[i] = orr_world_hash(world);
    }
    scenario_end(&run);
    CHECK_STR(k.errors.text, "");
    kit_end(&k);
}

static void churn_expect(void)
{
    churn_run(&(orr_world_desc){.seed = 7}, ORRI_SHARE_AUTO, expected);
}

static void churn_check(const orr_world_desc* desc, orri_sharing sharing)
{
    uint64_t hashes[TICKS];
    churn_run(desc, sharing, hashes);
    for (uint32_t i = 0; i < TICKS; i++) {
        if (hashes[i] != expected[i]) {
            test_fail(__FILE__, __LINE__, "tick %u differs", i);
        }
    }
}

// ---- threads that cannot be created -------------------------------------------------------------

typedef struct scarce {
    orr_platform table;
    uint32_t left;
} scarce;

static int scarce_create(void* user, const char* name, void (*run)(void* arg), void* arg,
                         orr_thread* out)
{
    scarce* s = user;
    if (s->left == 0) {
        return EAGAIN;
    }
    int error = orr_platform_default()->thread_create(NULL, name, run, arg, out);
    s->left -= error == 0;
    return error;
}

ORR_TEST(workers_without_threads_are_reported_and_change_nothing)
{
    churn_expect();
    for (uint32_t had = 0; had < 4; had++) {
        scarce s = {.table = *orr_platform_default(), .left = had};
        s.table.user = &s;
        s.table.thread_create = scarce_create;
        page p = {0};
        churn_check(
            &(orr_world_desc){.seed = 7, .workers = 5, .platform = &s.table, .log = page_log(&p)},
            ORRI_SHARE_RANDOM);
        CHECK_EQ(p.fewer, 1);
        CHECK_CONTAINS(p.text, "workers requested: 5");
        if (s.left == 0 && had > 0) {
            char text[64];
            snprintf(text, sizeof text, ", available: %u.", had + 1);
            CHECK_CONTAINS(p.text, text);
        }
    }
}

// ---- threads of the program ---------------------------------------------------------------------

enum {
    JOBS_THREADS = 3,
    JOBS_MOST = 64
};

typedef struct jobs {
    const orr_platform* platform;
    orri_mutex mutex;
    void (*helps[JOBS_MOST])(void* arg); // A ring, under the mutex.
    void* args[JOBS_MOST];
    uint32_t first, last;
    uint32_t most; // Never promises more than this at a time.
    _Atomic uint32_t stop, done;
    orr_thread threads[JOBS_THREADS];
} jobs;

static bool jobs_step(jobs* j)
{
    orri_mutex_lock(j->platform, &j->mutex);
    bool some = j->first != j->last;
    uint32_t at = some ? j->first++ % JOBS_MOST : 0;
    void (*help)(void* arg) = j->helps[at];
    void* arg = j->args[at];
    orri_mutex_unlock(j->platform, &j->mutex);
    if (some) {
        help(arg);
        atomic_fetch_add(&j->done, 1);
    }
    return some;
}

static void jobs_main(void* arg)
{
    jobs* j = arg;
    while (atomic_load(&j->stop) == 0) {
        if (!jobs_step(j)) {
            j->platform->thread_yield(NULL);
        }
    }
}

static uint32_t jobs_start(void* user, uint32_t count, void (*help)(void* arg), void* arg)
{
    jobs* j = user;
    count = count < j->most ? count : j->most;
    orri_mutex_lock(j->platform, &j->mutex);
    for (uint32_t i = 0; i < count; i++, j->last++) {
        j->helps[j->last % JOBS_MOST] = help;
        j->args[j->last % JOBS_MOST] = arg;
    }
    orri_mutex_unlock(j->platform, &j->mutex);
    return count;
}

static void jobs_begin(jobs* j, uint32_t most)
{
    *j = (jobs){.platform = orr_platform_default(), .most = most};
    for (uint32_t i = 0; i < JOBS_THREADS; i++) {
        if (j->platform->thread_create(NULL, "jobs", jobs_main, j, &j->threads[i]) != 0) {
            test_skip("built without threads");
        }
    }
}

static void jobs_end(jobs* j)
{
    while (jobs_step(j)) { // Calls that arrive after the end of their world.
    }
    atomic_store(&j->stop, 1);
    for (uint32_t i = 0; i < JOBS_THREADS; i++) {
        j->platform->thread_join(NULL, j->threads[i]);
    }
}

ORR_TEST(workers_of_the_program_give_the_same_hashes)
{
    static const uint32_t mosts[] = {0, 1, 2, 100};
    churn_expect();
    for (uint32_t m = 0; m < sizeof mosts / sizeof mosts[0]; m++) {
        jobs j;
        jobs_begin(&j, mosts[m]);
        for (uint32_t workers = 1; workers <= 16; workers *= 4) {
            churn_check(&(orr_world_desc){.seed = 7,
                                          .workers = workers,
                                          .pool = {.user = &j, .start = jobs_start}},
                        workers == 16 ? ORRI_SHARE_ALL : ORRI_SHARE_RANDOM);
        }
        jobs_end(&j);
        CHECK_EQ(j.done > 0, mosts[m] > 0);
        CHECK_EQ(j.done, j.last);
    }
}

// A system creates a world with the same pool, steps it and destroys it, while the pool's threads
// wait for that system. No thread may wait for calls that these threads would have to make.
static _Atomic uint32_t inner_ticks;

static void inner_life(orr_run* run)
{
    jobs* j = *(jobs**)orr_run_user(run);
    orr_world* inner =
        orr_world_create(&(orr_world_desc){.workers = 4, .pool = {.user = j, .start = jobs_start}});
    orr_access_check_set(inner, ORR_ACCESS_CHECK_CALLS);
    orri_parallel_share(inner, ORRI_SHARE_ALL, 0);
    scenario_target target = scenario_target_world(inner);
    scenario_run churn;
    CHECK(scenario_begin(&churn, scenario_find("churn"), &target, 1));
    CHECK(scenario_step(&churn));
    scenario_end(&churn);
    orr_world_destroy(inner);
    inner_ticks++;
}

ORR_TEST(workers_of_one_pool_serve_a_world_within_a_system_of_another)
{
    jobs j;
    jobs_begin(&j, 100);
    kit k = {0};
    orr_world* world =
        kit_begin(&k, &(orr_world_desc){.workers = 4, .pool = {.user = &j, .start = jobs_start}});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    orri_parallel_share(world, ORRI_SHARE_NOTHING, 0);
    jobs* users[2] = {&j, &j}; // Two pointers: two systems with one never overlap.
    for (uint32_t i = 0; i < 2; i++) {
        CHECK(orr_system_add(world, &(orr_system_desc){.name = i == 0 ? "inner" : "other",
                                                       .once = true,
                                                       .user = &users[i],
                                                       .run = inner_life})
                  .id != 0);
    }
    inner_ticks = 0;
    CHECK_OK(orr_step(world, 10));
    CHECK_EQ(inner_ticks, 20);
    kit_end(&k);
    jobs_end(&j);
    CHECK_EQ(j.done, j.last);
}

// ---- a system that does not return --------------------------------------------------------------

ORR_STRUCT(Step, (uint32_t, count))
ORR_STRUCT(Other, (uint32_t, count))

static page stuck_page;

// In the test it returns when it was noticed.
static void stuck_wait(orr_run* run)
{
    (void)orr_write(run, Step);
    uint32_t lines = atomic_load(&stuck_page.stuck);
    while (atomic_load(&stuck_page.stuck) == lines) {
        orr_platform_default()->thread_yield(NULL);
    }
}

static void stuck_quick(orr_run* run)
{
    orr_write(run, Other)->count++;
}

// Among quick systems; `parallel` or not, with access checks or not, divided in one way or another.
static void stuck_check(orri_sharing sharing, bool parallel, orr_access_check audit,
                        uint32_t workers)
{
    kit k = {0};
    stuck_page = (page){0};
    orr_world* world = kit_begin(
        &k,
        &(orr_world_desc){.workers = workers, .stuck_ns = 4 * MS, .log = page_log(&stuck_page)});
    orr_access_check_set(world, audit);
    orri_parallel_share(world, sharing, 1);
    orr_entity e = orr_create(world);
    CHECK_OK(orr_add(world, e, Step));
    CHECK_OK(orr_add(world, e, Other));
    static const char* const names[] = {"before", "endless", "after"};
    for (uint32_t i = 0; i < 3; i++) {
        CHECK(
            orr_system_add(world, &(orr_system_desc){.name = names[i],
                                                     .query = i == 1 ? "write Step" : "write Other",
                                                     .parallel = parallel,
                                                     .run = i == 1 ? stuck_wait : stuck_quick})
                .id != 0);
    }
    for (uint32_t i = 1; i <= 2; i++) {
        CHECK_OK(orr_step(world, 1));
        CHECK_EQ(stuck_page.stuck, i); // Once each time.
        CHECK_CONTAINS(stuck_page.text, "system 'endless' has been running for ");
    }
    kit_end(&k);
}

ORR_TEST(workers_name_a_system_that_does_not_return)
{
    jobs any; // There must be threads to notice it.
    jobs_begin(&any, 0);
    jobs_end(&any);
    for (uint32_t parallel = 0; parallel < 2; parallel++) {
        for (orri_sharing sharing = ORRI_SHARE_AUTO; sharing <= ORRI_SHARE_RANDOM; sharing++) {
            stuck_check(sharing, parallel, ORR_ACCESS_CHECK_CALLS, 2);
        }
        stuck_check(ORRI_SHARE_AUTO, parallel, ORR_ACCESS_CHECK_FULL, 3);
    }
}

// ---- more workers than cores --------------------------------------------------------------------

static uint64_t crowd_run_ns(uint32_t workers, orri_sharing sharing)
{
    kit k = {0};
    const orr_platform* platform = orr_platform_default();
    // No watch: it must not wake a worker that should be woken otherwise.
    orr_world* world =
        kit_begin(&k, &(orr_world_desc){.seed = 7, .workers = workers, .stuck_ns = HOUR});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    orri_parallel_share(world, sharing, 3);
    scenario_target target = scenario_target_world(world);
    scenario_run run;
    CHECK(scenario_begin(&run, scenario_find("churn"), &target, 4));
    uint64_t begin_ns = platform->clock_ns(NULL);
    for (uint32_t i = 0; i < TICKS; i++) {
        CHECK(scenario_step(&run));
    }
    uint64_t run_ns = platform->clock_ns(NULL) - begin_ns;
    scenario_end(&run);
    kit_end(&k);
    return run_ns;
}

ORR_TEST(workers_far_more_than_cores_do_not_stall)
{
    uint64_t alone_ns = crowd_run_ns(0, ORRI_SHARE_AUTO);
    static const orri_sharing ways[] = {ORRI_SHARE_AUTO, ORRI_SHARE_ALL};
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t crowd_ns = crowd_run_ns(32, ways[i]);
        printf("  %u us alone, %u us with 32 workers\n", (unsigned)(alone_ns / 1000),
               (unsigned)(crowd_ns / 1000));
        CHECK(crowd_ns < alone_ns * 50); // Waiting for a sleeper would take an hour.
    }
}
