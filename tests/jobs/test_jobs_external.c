// SPDX-License-Identifier: MIT
// Helpers on the program's own threads, which call late, never, or too seldom; and the floating
// point mode on all workers.
#include "jobs/jobs_kit.h"

#include "base/float.h"
#include "support/failing_alloc.h"
#include <errno.h>
#include <float.h>

#define MS UINT64_C(1000000)

// A job system of the program: some threads and a list of calls to make. `hold` delays the calls
// until it is cleared.
enum {
    JOBS_THREADS = 4,
    JOBS_MOST = 256
};

typedef struct own_threads {
    const orr_platform* platform;
    orri_mutex mutex;
    struct {
        void (*help)(void*);
        void* arg;
    } list[JOBS_MOST];
    uint32_t first, last; // Under the mutex.
    uint32_t most;        // start() promises no more calls than this.
    uint32_t asked;
    _Atomic uint32_t hold, stop, done;
    orr_thread threads[JOBS_THREADS];
} own_threads;

static bool own_threads_step(own_threads* system)
{
    void (*help)(void*) = NULL;
    void* arg = NULL;
    orri_mutex_lock(system->platform, &system->mutex);
    if (system->first != system->last && atomic_load(&system->hold) == 0) {
        help = system->list[system->first % JOBS_MOST].help;
        arg = system->list[system->first % JOBS_MOST].arg;
        system->first++;
    }
    orri_mutex_unlock(system->platform, &system->mutex);
    if (help != NULL) {
        help(arg);
        atomic_fetch_add(&system->done, 1);
    }
    return help != NULL;
}

static void own_threads_main(void* data)
{
    own_threads* system = data;
    while (atomic_load(&system->stop) == 0) {
        if (!own_threads_step(system)) {
            system->platform->thread_yield(NULL);
        }
    }
}

static uint32_t own_threads_start(void* user, uint32_t count, void (*help)(void* arg), void* arg)
{
    own_threads* system = user;
    orri_mutex_lock(system->platform, &system->mutex);
    count = count < system->most ? count : system->most;
    for (uint32_t i = 0; i < count; i++, system->last++) {
        CHECK(system->last - system->first < JOBS_MOST);
        system->list[system->last % JOBS_MOST].help = help;
        system->list[system->last % JOBS_MOST].arg = arg;
    }
    system->asked += count;
    orri_mutex_unlock(system->platform, &system->mutex);
    return count;
}

static void own_threads_begin(own_threads* system, uint32_t most)
{
    *system = (own_threads){.platform = orr_platform_default(), .most = most};
    for (uint32_t i = 0; i < JOBS_THREADS; i++) {
        if (system->platform->thread_create(NULL, "own_threads", own_threads_main, system,
                                            &system->threads[i]) == ENOTSUP) {
            test_skip("built without threads");
        }
    }
}

static void own_threads_end(own_threads* system)
{
    while (atomic_load(&system->done) !=
           system->asked) { // Calls may arrive after the pool is destroyed.
        system->platform->thread_yield(NULL);
    }
    atomic_store(&system->stop, 1);
    for (uint32_t i = 0; i < JOBS_THREADS; i++) {
        system->platform->thread_join(NULL, system->threads[i]);
    }
}

typedef struct page {
    orri_env env;
    _Atomic uint32_t count; // Lines.
} page;

static void page_write(void* user, const orr_log_line* line)
{
    (void)line;
    atomic_fetch_add(&((page*)user)->count, 1);
}

static orri_jobs* own_jobs(page* lines, own_threads* system, uint32_t workers, uint64_t stuck_ns)
{
    memset(lines, 0, sizeof *lines);
    orri_env_init(&lines->env, NULL, NULL, 0, &(orr_log_desc){.sink = page_write, .user = lines});
    orr_pool own = {.user = system, .start = own_threads_start};
    orri_jobs* jobs = orri_jobs_create(
        &lines->env, &(orri_jobs_desc){.workers = workers, .own = &own, .stuck_ns = stuck_ns});
    CHECK(jobs != NULL);
    CHECK_EQ(orri_jobs_workers(jobs), workers);
    return jobs;
}

static void own_runs(orri_jobs* jobs, own_threads* system, uint32_t runs)
{
    plan_kit kit;
    plan_random(&kit, jobs, test_random(), 30, 12);
    for (uint32_t i = 0; i < runs; i++) {
        if (i % 16 == 0) { // Calls that arrive after their run.
            atomic_store(&system->hold, i / 16 % 2);
        }
        plan_check(&kit);
    }
    atomic_store(&system->hold, 0);
    plan_free(&kit);
}

ORR_TEST(own_threads_in_time_late_or_too_few_give_the_same_result)
{
    static const uint32_t mosts[] = {0, 1, 2, JOBS_THREADS, 100};
    for (uint32_t m = 0; m < ORRI_COUNT(mosts); m++) {
        for (uint32_t workers = 1; workers <= 32; workers = workers * 3 + 1) {
            own_threads system;
            page lines;
            own_threads_begin(&system, mosts[m]);
            orri_jobs* jobs = own_jobs(&lines, &system, workers, 0);
            own_runs(jobs, &system, test_slow() ? 64 : 400);
            orri_jobs_destroy(jobs);
            CHECK_EQ(system.asked > 0, mosts[m] > 0 && workers > 1);
            own_threads_end(&system);
        }
    }
}

// Pending calls never exceed the worker numbers, however many runs pass.
ORR_TEST(own_threads_held_back_are_not_requested_again)
{
    own_threads system;
    page lines;
    own_threads_begin(&system, 100);
    atomic_store(&system.hold, 1);
    orri_jobs* jobs = own_jobs(&lines, &system, 4, 0);
    plan_kit kit;
    plan_chain(&kit, jobs, 3, 20, 1);
    for (uint32_t i = 0; i < 50; i++) {
        plan_check(&kit);
    }
    CHECK_EQ(system.asked, 3);
    plan_free(&kit);
    atomic_store(&system.hold, 0);
    orri_jobs_destroy(jobs);
    own_threads_end(&system);
}

// The calls arrive after the pool is destroyed and return without effect.
ORR_TEST(own_threads_still_pending_at_destroy_are_not_waited_for)
{
    own_threads system;
    page lines;
    own_threads_begin(&system, 100);
    atomic_store(&system.hold, 1);
    orri_jobs* jobs = own_jobs(&lines, &system, 3, 10 * MS);
    plan_kit kit;
    plan_chain(&kit, jobs, 1, 20, 1);
    plan_check(&kit);
    plan_free(&kit);
    orri_jobs_destroy(jobs);
    CHECK_EQ(system.asked, 2);
    CHECK_EQ(system.done, 0);
    atomic_store(&system.hold, 0);
    own_threads_end(&system);
    CHECK_EQ(lines.count, 0);
}

// ---- floating point -----------------------------------------------------------------------------

// Changes rounding and denormal handling of this thread, as far as the machine allows.
static void float_break(void)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0xC040u);
#elif defined(__aarch64__)
    uint64_t word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    __asm__ volatile("msr fpcr, %0" : : "r"(word | 0x01400000u));
#endif
}

// Bits: 1 rounding is not to nearest, 2 denormals are flushed.
static uint32_t float_broken(void)
{
    volatile float one = 1, little = FLT_EPSILON / 4, small = FLT_MIN, half = 0.5f;
    volatile float up = one + little, tiny = small * half;
    return (up != 1 ? 1u : 0u) | (tiny == 0 ? 2u : 0u);
}

typedef struct floats {
    orri_graph graph;
    _Atomic uint32_t broken, there;
    bool meet; // The two units wait for each other.
} floats;

static void floats_run(void* context, uint32_t node, uint32_t first, uint32_t last, uint32_t worker)
{
    (void)node, (void)first, (void)last, (void)worker;
    floats* check = context;
    atomic_fetch_or(&check->broken, float_broken());
    atomic_fetch_add(&check->there, 1);
    while (check->meet && atomic_load(&check->there) < 2) {
        orr_platform_default()->thread_yield(NULL);
    }
}

static void floats_check(orri_jobs* jobs, bool meet)
{
    orri_graph_node node = {.name = "floats", .items = 2, .grain = 1};
    floats check = {.graph = {.nodes = &node, .node_count = 1, .run = floats_run}, .meet = meet};
    check.graph.context = &check;
    CHECK(orri_graph_reserve(jobs, &check.graph, 1));
    orri_jobs_run(jobs, &check.graph);
    CHECK_EQ(check.broken, 0);
    orri_graph_free(jobs, &check.graph);
}

typedef struct broken_start {
    void (*run)(void* arg);
    void* arg;
} broken_start;

static broken_start broken;

static void broken_main(void* arg)
{
    (void)arg;
    float_break();
    broken.run(broken.arg);
}

static int broken_create(void* user, const char* name, void (*run)(void*), void* arg,
                         orr_thread* out)
{
    broken = (broken_start){run, arg};
    return orr_platform_default()->thread_create(user, name, broken_main, NULL, out);
}

ORR_TEST(float_mode_restored_is_the_previous_mode)
{
    orri_float_mode before = orri_float_mode_set();
    CHECK_EQ(float_broken(), 0);
    float_break();
    uint32_t wrong = float_broken();
    orri_float_mode kept = orri_float_mode_set();
    CHECK_EQ(float_broken(), 0);
    orri_float_mode_restore(kept);
    CHECK_EQ(float_broken(), wrong);
#if defined(__x86_64__) || defined(__aarch64__)
    CHECK_EQ(wrong, 3);
#endif
    orri_float_mode_restore(before);
    CHECK_EQ(float_broken(), 0);
}

ORR_TEST(float_mode_of_a_thread_with_other_settings_is_corrected)
{
    orr_platform table = *orr_platform_default();
    table.thread_create = broken_create;
    orri_env env;
    orri_env_init(&env, &table, NULL, 0, &(orr_log_desc){0});
    orri_jobs* jobs = orri_jobs_create(&env, &(orri_jobs_desc){.workers = 2});
    floats_check(jobs, orri_jobs_workers(jobs) == 2);
    orri_jobs_destroy(jobs);
}

ORR_TEST(float_mode_of_the_caller_is_set_inside_and_restored_after)
{
    orri_env env;
    orri_env_init(&env, NULL, NULL, 0, &(orr_log_desc){0});
    for (uint32_t workers = 1; workers <= 2; workers++) {
        orri_jobs* jobs = orri_jobs_create(&env, &(orri_jobs_desc){.workers = workers});
        orri_float_mode before = orri_float_mode_set();
        float_break();
        uint32_t wrong = float_broken();
        floats_check(jobs, false);
        uint32_t after = float_broken();
        orri_float_mode_restore(before);
        CHECK_EQ(after, wrong);
        orri_jobs_destroy(jobs);
    }
}
