// SPDX-License-Identifier: MIT
// The pool of workers: graphs run by 1 to 32 workers and compared with an oracle, sleeping and
// waking, destruction, refusals, the watchdog, statistics. The tests with a controlled scheduler
// are in test_jobs_model.c, those with the program's own threads in test_jobs_external.c.
#include "jobs/jobs_kit.h"

#include "support/failing_alloc.h"
#include <errno.h>

#define MS UINT64_C(1000000)

static const uint32_t counts[] = {1, 2, 3, 8, 32};

// A platform that counts and refuses, and a log that keeps the last line.
typedef struct setting {
    orr_platform table;
    orri_env env;
    _Atomic uint32_t wakes, clocks;
    uint32_t threads_most; // thread_create refuses beyond this number.
    uint32_t threads;
    _Atomic uint32_t fewer, stuck; // Lines of each id.
    char text[ORRI_ERROR_SIZE];    // The last line.
} setting;

static void setting_wake(void* user, void* word, uint32_t count)
{
    atomic_fetch_add(&((setting*)user)->wakes, 1);
    orr_platform_default()->thread_wake(NULL, word, count);
}

static uint64_t setting_clock(void* user)
{
    atomic_fetch_add(&((setting*)user)->clocks, 1);
    return orr_platform_default()->clock_ns(NULL);
}

static int setting_create(void* user, const char* name, void (*run)(void*), void* arg,
                          orr_thread* out)
{
    setting* set = user;
    if (set->threads >= set->threads_most) {
        return EAGAIN;
    }
    set->threads++;
    return orr_platform_default()->thread_create(NULL, name, run, arg, out);
}

static void setting_write(void* user, const orr_log_line* line)
{
    setting* set = user;
    snprintf(set->text, sizeof set->text, "%s", line->text);
    atomic_fetch_add(line->id == ORR_LOG_ID_SYSTEM_STUCK ? &set->stuck : &set->fewer, 1);
}

static void setting_init(setting* set, const orr_allocator* allocator)
{
    memset(set, 0, sizeof *set);
    set->table = *orr_platform_default();
    set->table.user = set;
    set->table.thread_wake = setting_wake;
    set->table.clock_ns = setting_clock;
    set->table.thread_create = setting_create;
    set->threads_most = UINT32_MAX;
    orri_env_init(&set->env, &set->table, allocator, 0,
                  &(orr_log_desc){.sink = setting_write, .user = set});
}

static orri_jobs* jobs_of(setting* set, uint32_t workers, uint64_t stuck_ns)
{
    orri_jobs* jobs =
        orri_jobs_create(&set->env, &(orri_jobs_desc){.workers = workers, .stuck_ns = stuck_ns});
    CHECK(jobs != NULL);
    if (workers > 1 && orri_jobs_workers(jobs) == 1) {
        orri_jobs_destroy(jobs);
        test_skip("built without threads");
    }
    CHECK_EQ(orri_jobs_workers(jobs), workers);
    return jobs;
}

static uint32_t times(uint32_t fast)
{
    return test_slow() ? fast / 10 + 1 : fast;
}

// ---- graphs -------------------------------------------------------------------------------------

ORR_TEST(graph_of_one_shared_node_runs_every_unit_once)
{
    for (uint32_t c = 0; c < ORRI_COUNT(counts); c++) {
        setting set;
        setting_init(&set, NULL);
        orri_jobs* jobs = jobs_of(&set, counts[c], 0);
        static const uint32_t shapes[][2] = {{2, 1}, {32, 1}, {33, 4}, {1000, 7}, {31, 30}};
        for (uint32_t s = 0; s < ORRI_COUNT(shapes); s++) {
            plan_kit kit;
            plan_chain(&kit, jobs, 1, shapes[s][0], shapes[s][1]);
            for (uint32_t i = 0; i < times(400); i++) {
                kit.work = i % 3 * 50;
                plan_check(&kit);
            }
            plan_free(&kit);
        }
        orri_jobs_destroy(jobs);
        CHECK_EQ(set.fewer + set.stuck, 0);
    }
}

// Also shows that writes of earlier nodes are visible: values are written and read without atomics,
// and are hashes of hashes.
ORR_TEST(graph_random_any_worker_count_keeps_its_order)
{
    uint64_t seed = test_seed();
    for (uint32_t c = 0; c < ORRI_COUNT(counts); c++) {
        setting set;
        setting_init(&set, NULL);
        orri_jobs* jobs = jobs_of(&set, counts[c], 10000 * MS);
        for (uint32_t i = 0; i < times(150); i++) {
            plan_kit kit;
            uint32_t nodes = 1 + (uint32_t)orr_random_below(orr_random(seed, i, c, 1), 90);
            plan_random(&kit, jobs, orr_random(seed, i, c, 0), nodes, i % 2 ? 20 : 2);
            kit.yields = i % 4 == 3 ? 5 : 0;
            for (uint32_t run = 0; run < 12; run++) {
                kit.work = run % 4 * 10;
                plan_check(&kit);
            }
            plan_free(&kit);
        }
        orri_jobs_destroy(jobs);
        CHECK_EQ(set.fewer + set.stuck, 0);
    }
}

// All memory of the graph is freed after each run: ASan, or wrong values, would show a late worker.
ORR_TEST(graph_rebuilt_after_every_run_is_not_read_by_late_workers)
{
    setting set;
    setting_init(&set, NULL);
    orri_jobs* jobs = jobs_of(&set, 3, 0);
    for (uint32_t i = 0; i < times(4000); i++) {
        plan_kit kit;
        plan_chain(&kit, jobs, 1 + i % 3, 2 + i % 5, 1);
        plan_check(&kit);
        plan_free(&kit);
    }
    orri_jobs_destroy(jobs);
}

ORR_TEST(graph_of_two_thousand_nodes_runs)
{
    setting set;
    setting_init(&set, NULL);
    orri_jobs* jobs = jobs_of(&set, 2, 0);
    plan_kit kit;
    plan_random(&kit, jobs, 7, 2000, 3);
    for (uint32_t i = 0; i < times(30); i++) {
        plan_check(&kit);
    }
    plan_free(&kit);
    orri_jobs_destroy(jobs);
}

ORR_TEST(graph_without_nodes_or_units_is_done_at_once)
{
    setting set;
    setting_init(&set, NULL);
    for (uint32_t workers = 1; workers <= 2; workers++) {
        orri_jobs* jobs = jobs_of(&set, workers, 0);
        orri_graph nothing = {0};
        orri_jobs_run(jobs, &nothing);
        plan_kit kit;
        plan_chain(&kit, jobs, 300, 0, 1);
        plan_check(&kit);
        orri_jobs_stats stats;
        orri_jobs_stats_get(jobs, 0, &stats);
        CHECK_EQ(stats.claims, 0);
        plan_free(&kit);
        orri_jobs_destroy(jobs);
    }
}

static void grow_run(void* context, uint32_t node, uint32_t first, uint32_t last, uint32_t worker)
{
    (void)worker;
    plan_kit* kit = context;
    if (node == 0) {
        kit->graph.nodes[1].items = 40;
    } else {
        for (uint32_t i = first; i < last; i++) {
            atomic_fetch_add(&kit->hits[i], 1);
        }
    }
}

ORR_TEST(node_given_more_units_by_an_earlier_node_runs_them)
{
    setting set;
    setting_init(&set, NULL);
    orri_jobs* jobs = jobs_of(&set, 2, 0);
    plan_kit kit;
    plan_chain(&kit, jobs, 2, 40, 1);
    kit.graph.nodes[0].grain = 40;
    kit.graph.run = grow_run;
    for (uint32_t i = 0; i < 100; i++) {
        kit.graph.nodes[1].items = 0;
        orri_jobs_run(jobs, &kit.graph);
        for (uint32_t u = 0; u < 40; u++) {
            CHECK_EQ(kit.hits[u], i + 1);
        }
    }
    plan_free(&kit);
    orri_jobs_destroy(jobs);
}

// ---- two workers at the same time ---------------------------------------------------------------

typedef struct rendezvous {
    orri_graph graph;
    _Atomic uint32_t there;
    _Atomic uint32_t by[2];
} rendezvous;

// Each unit waits for the other, so the two must run on two workers.
static void rendezvous_run(void* context, uint32_t node, uint32_t first, uint32_t last,
                           uint32_t worker)
{
    (void)node;
    rendezvous* both = context;
    CHECK_EQ(last - first, 1);
    atomic_store(&both->by[first], worker);
    atomic_fetch_add(&both->there, 1);
    while (atomic_load(&both->there) < 2) {
        orr_platform_default()->thread_yield(NULL);
    }
}

// The caller's own queue has the first half: a worker accesses the same units in every run, if it
// joins in time.
ORR_TEST(units_that_wait_for_each_other_run_on_two_workers)
{
    setting set;
    setting_init(&set, NULL);
    orri_jobs* jobs = jobs_of(&set, 2, 0);
    orri_graph_node node = {.name = "meet", .items = 2, .grain = 1};
    rendezvous both = {.graph = {.nodes = &node, .node_count = 1, .run = rendezvous_run}};
    both.graph.context = &both;
    CHECK(orri_graph_reserve(jobs, &both.graph, 1));
    for (uint32_t i = 0; i < 200; i++) {
        both.there = 0;
        if (i % 10 == 0) { // Asleep by then.
            orr_platform_default()->sleep_ns(NULL, MS);
        }
        orri_jobs_run(jobs, &both.graph);
        CHECK_EQ(both.by[0] + both.by[1], 1);
    }
    orri_jobs_stats stats[2];
    orri_jobs_stats_get(jobs, 0, &stats[0]);
    orri_jobs_stats_get(jobs, 1, &stats[1]);
    CHECK_EQ(stats[0].units, 200);
    CHECK_EQ(stats[1].claims, 200);
    CHECK_EQ(stats[0].busy_ns + stats[0].idle_ns, 0);
    orri_graph_free(jobs, &both.graph);
    orri_jobs_destroy(jobs);
}

ORR_TEST(graph_without_parallelism_wakes_no_worker_and_reads_no_clock)
{
    setting set;
    setting_init(&set, NULL);
    orri_jobs* jobs = jobs_of(&set, 3, 0);
    orr_platform_default()->sleep_ns(NULL, 5 * MS);
    plan_kit kit;
    plan_chain(&kit, jobs, 100, 3, 3);
    for (uint32_t i = 0; i < 50; i++) {
        plan_check(&kit);
    }
    CHECK_EQ(set.wakes, 0);
    CHECK_EQ(set.clocks, 0);
    orri_jobs_stats stats;
    orri_jobs_stats_get(jobs, 0, &stats);
    CHECK_EQ(stats.claims, 5000);
    CHECK_EQ(stats.units, 15000);
    CHECK_EQ(stats.sleeps, 0);
    plan_free(&kit);
    orri_jobs_destroy(jobs);
}

ORR_TEST(time_is_measured_only_when_turned_on)
{
    setting set;
    setting_init(&set, NULL);
    orri_jobs* jobs = jobs_of(&set, 2, 0);
    plan_kit kit;
    plan_chain(&kit, jobs, 5, 8, 1);
    orri_jobs_time(jobs, true);
    uint64_t begin_ns = orr_platform_default()->clock_ns(NULL);
    for (uint32_t i = 0; i < 20; i++) {
        plan_check(&kit);
    }
    uint64_t all_ns = orr_platform_default()->clock_ns(NULL) - begin_ns;
    orri_jobs_time(jobs, false);
    orri_jobs_stats stats[2];
    uint64_t units = 0;
    for (uint32_t w = 0; w < 2; w++) {
        orri_jobs_stats_get(jobs, w, &stats[w]);
        units += stats[w].units;
        CHECK(stats[w].claims == 0 || stats[w].busy_ns > 0);
        CHECK(stats[w].busy_ns + stats[w].idle_ns <= all_ns);
    }
    CHECK_EQ(units, 20 * 5 * 8);
    uint32_t clocks = set.clocks;
    plan_check(&kit);
    CHECK_EQ(set.clocks, clocks);
    plan_free(&kit);
    orri_jobs_destroy(jobs);
}

// ---- destruction and refusals -------------------------------------------------------------------

ORR_TEST(pool_destroyed_with_workers_asleep_awake_or_not_started_ends)
{
    for (uint32_t i = 0; i < times(150); i++) {
        setting set;
        setting_init(&set, NULL);
        orri_jobs* jobs = jobs_of(&set, counts[i % ORRI_COUNT(counts)], i % 2 ? 5 * MS : 0);
        if (i % 3 == 1) {
            plan_kit kit;
            plan_chain(&kit, jobs, 1, 64, 1);
            plan_check(&kit);
            plan_free(&kit);
        } else if (i % 15 == 2) {
            orr_platform_default()->sleep_ns(NULL, 3 * MS);
        }
        orri_jobs_destroy(jobs);
    }
    orri_jobs_destroy(NULL);
}

ORR_TEST(pool_without_all_its_threads_warns_and_works)
{
    for (uint32_t most = 0; most < 4; most++) {
        setting set;
        setting_init(&set, NULL);
        set.threads_most = most;
        orri_jobs* jobs = orri_jobs_create(&set.env, &(orri_jobs_desc){.workers = 5});
        CHECK(jobs != NULL);
        CHECK_EQ(set.fewer, 1);
        if (most > 0 && orri_jobs_workers(jobs) == 1) {
            orri_jobs_destroy(jobs);
            test_skip("built without threads");
        }
        CHECK_EQ(orri_jobs_workers(jobs), most + 1);
        CHECK_CONTAINS(set.text, "workers requested: 5");
        plan_kit kit;
        plan_random(&kit, jobs, most, 40, 10);
        for (uint32_t i = 0; i < 50; i++) {
            plan_check(&kit);
        }
        plan_free(&kit);
        orri_jobs_destroy(jobs);
    }
}

ORR_TEST(pool_of_zero_or_too_many_workers_has_one_or_the_limit)
{
    setting set;
    setting_init(&set, NULL);
    set.threads_most = 0;
    orri_jobs* jobs = orri_jobs_create(&set.env, &(orri_jobs_desc){.workers = 0});
    CHECK_EQ(orri_jobs_workers(jobs), 1);
    CHECK_EQ(set.fewer, 0);
    orri_jobs_destroy(jobs);
    set.threads_most = 70;
    jobs = orri_jobs_create(&set.env, &(orri_jobs_desc){.workers = 1000});
    CHECK_CONTAINS(set.text, orri_jobs_workers(jobs) == 1 ? "no more threads" : "limit: 64");
    plan_kit kit;
    plan_chain(&kit, jobs, 3, 500, 1);
    plan_check(&kit);
    plan_free(&kit);
    orri_jobs_destroy(jobs);
}

ORR_TEST(pool_and_graph_refused_memory_leave_nothing)
{
    failing_alloc memory = {0};
    orr_allocator allocator = failing_alloc_allocator(&memory);
    setting set;
    setting_init(&set, &allocator);
    for (uint64_t n = 1;; n++) {
        failing_alloc_arm(&memory, n, false);
        orri_jobs* jobs = orri_jobs_create(&set.env, &(orri_jobs_desc){.workers = 2});
        if (jobs == NULL) {
            CHECK(memory.refused > 0);
            CHECK_STR(set.env.error_text, ""); // The owner reports it.
            CHECK_EQ(memory.live_blocks, 0);
            continue;
        }
        orri_graph_node node = {.name = "node", .items = 1, .grain = 1};
        orri_graph graph = {.nodes = &node};
        bool first = orri_graph_reserve(jobs, &graph, 1);
        uint32_t capacity = graph.memory_capacity;
        bool second = orri_graph_reserve(jobs, &graph, capacity + 1);
        CHECK_EQ(first, capacity > 0);
        CHECK_EQ(second, graph.memory_capacity > capacity);
        CHECK(orri_graph_reserve(jobs, &graph, graph.memory_capacity));
        orri_graph_free(jobs, &graph);
        orri_jobs_destroy(jobs);
        CHECK_EQ(memory.live_blocks, 0);
        if (memory.refused == 0) {
            break;
        }
        CHECK(!first || !second);
    }
    failing_alloc_check(&memory);
}

// ---- the watchdog -------------------------------------------------------------------------------

typedef struct stuck_graph {
    orri_graph graph;
    setting* set;
    uint32_t on; // Node.
    _Atomic uint32_t worker;
} stuck_graph;

static void stuck_run(void* context, uint32_t node, uint32_t first, uint32_t last, uint32_t worker)
{
    (void)first, (void)last;
    stuck_graph* stuck = context;
    if (node == stuck->on) {
        atomic_store(&stuck->worker, worker);
        uint32_t lines = atomic_load(&stuck->set->stuck);
        while (atomic_load(&stuck->set->stuck) == lines) {
            orr_platform_default()->thread_yield(NULL);
        }
        orr_platform_default()->sleep_ns(NULL, 30 * MS); // Time for a second, wrong log line.
    }
}

static void stuck_check(uint32_t node_count, const char* name)
{
    setting set;
    setting_init(&set, NULL);
    orri_jobs* jobs = jobs_of(&set, 2, 10 * MS);
    orri_graph_node nodes[] = {{.name = "quick", .items = 1, .grain = 1},
                               {.name = "endless", .items = 1, .grain = 1}};
    stuck_graph stuck = {.graph = {.nodes = nodes, .node_count = node_count, .run = stuck_run},
                         .set = &set,
                         .on = node_count - 1};
    stuck.graph.context = &stuck;
    CHECK(orri_graph_reserve(jobs, &stuck.graph, 2));
    for (uint32_t i = 1; i <= 2; i++) {
        orri_jobs_run(jobs, &stuck.graph);
        CHECK_EQ(set.stuck, i);
        char text[64];
        snprintf(text, sizeof text, "system '%s' has been running for ", name);
        CHECK_CONTAINS(set.text, text);
        snprintf(text, sizeof text, " s on worker %u ", (unsigned)stuck.worker);
        CHECK_CONTAINS(set.text, text);
    }
    orri_graph_free(jobs, &stuck.graph);
    orri_jobs_destroy(jobs);
}

ORR_TEST(node_stuck_on_the_caller_without_other_work_is_named_once)
{
    stuck_check(1, "quick");
}

ORR_TEST(node_stuck_while_others_run_is_named_once)
{
    stuck_check(2, "endless");
}
