// SPDX-License-Identifier: MIT
// The worker pool under a controlled scheduler: small graphs, run twice and rebuilt in between, by
// two and three workers, in all schedules with at most two preemptions (as many as time allows),
// then with random priorities. A schedule fails if a unit is not run exactly once, a node begins
// early, a thread accesses the graph after the run, or no thread can continue.
#include "test.h"

#include "base/util.h"
#include "jobs/jobs.h"
#include "support/controlled.h"

enum {
    MODEL_NODES = 4,
    MODEL_UNITS = 4
};

typedef struct model_shape {
    const char* name;
    uint32_t workers;
    uint32_t node_count;
    orri_graph_node nodes[MODEL_NODES];
    uint32_t next[MODEL_NODES];
    bool own;      // The helpers are the program's own threads.
    bool timeouts; // Stuck calls are watched for.
    bool extra;    // One call more than promised, perhaps after the pool is destroyed.
    bool watcher;  // With a watcher thread.
    bool together; // Nodes a and b wait for each other, so each run needs two workers.
} model_shape;

typedef struct model {
    const model_shape* shape;
    orr_platform table; // The scheduler's table, with the check of the retired graph.
    const orr_platform* scheduler;
    orri_env env;
    orri_graph graph;
    orri_graph_node nodes[MODEL_NODES];
    uint32_t next[MODEL_NODES];
    uint32_t hits[MODEL_NODES][MODEL_UNITS];
    uint32_t left[MODEL_NODES];
    uint32_t busy;          // Bits of workers in a call.
    _Atomic uint32_t begun; // Nodes that began, with `together`.
    const char *room, *room_end;
    bool retired;
    orr_thread threads[4];
    uint32_t thread_count;
    struct {
        void (*help)(void* arg);
        void* arg;
    } calls[4];
} model;

static model* model_now; // Of the schedule that runs; sched points have no other context.

// The access follows the sched point, so the check runs after the other threads had their turn.
static void model_point(void* user, orr_sched_kind kind, const void* word)
{
    model* m = model_now;
    const char* at = word;
    m->scheduler->sched_point(user, kind, word);
    controlled_check(!m->retired || at < m->room || at >= m->room_end,
                     "a graph is accessed after its run");
}

// Yields of the workers are inside spins, which are scheduling choices already.
static void model_yield(void* user)
{
    (void)user;
}

static void model_log(void* user, const orr_log_line* line)
{
    const model* m = user;
    bool extra = m->shape->extra && line->id == ORR_LOG_ID_EXTERNAL_CALL_UNEXPECTED;
    controlled_check(extra, "%s", line->text);
}

static void model_meet(model* m)
{
    ORRI_SCHED_POINT(&m->table, ORR_SCHED_STORE, &m->begun);
    atomic_fetch_add(&m->begun, 1);
    m->table.thread_wake(m->table.user, &m->begun, 1);
    while (atomic_load(&m->begun) < 2) {
        ORRI_SCHED_POINT(&m->table, ORR_SCHED_WAIT, &m->begun);
        m->table.thread_wait(m->table.user, &m->begun, 1, UINT64_MAX);
    }
}

// Has a sched point, so that other threads can run during the call.
static void model_run(void* context, uint32_t node, uint32_t first, uint32_t last, uint32_t worker)
{
    model* m = context;
    const orri_graph_node* info = &m->nodes[node];
    controlled_check(first < last && last <= info->items, "units %u to %u", first, last);
    controlled_check(worker == 0 || !info->caller_only, "node %u is for the caller", node);
    controlled_check((m->busy >> worker & 1) == 0, "worker %u twice", worker);
    for (uint32_t i = 0; i < node; i++) {
        for (uint32_t j = 0; j < m->nodes[i].next_count; j++) {
            controlled_check(m->next[m->nodes[i].next_first + j] != node || m->left[i] == 0,
                             "node %u before %u", node, i);
        }
    }
    m->busy |= 1u << worker;
    if (m->shape->together) {
        model_meet(m);
    }
    ORRI_SCHED_POINT(&m->table, ORR_SCHED_LOAD, &m->busy);
    for (uint32_t i = first; i < last; i++) {
        controlled_check(m->hits[node][i]++ == 0, "unit %u of node %u twice", i, node);
    }
    m->left[node] -= last - first;
    m->busy &= ~(1u << worker);
}

static void model_thread(void* arg)
{
    model* m = model_now;
    uint32_t call = (uint32_t)(uintptr_t)arg;
    m->calls[call].help(m->calls[call].arg);
}

static uint32_t model_start(void* user, uint32_t count, void (*help)(void* arg), void* arg)
{
    model* m = user;
    uint32_t started = 0, calls = count + m->shape->extra;
    for (; started < calls && m->thread_count < ORRI_COUNT(m->threads); started++) {
        uint32_t call = m->thread_count++;
        m->calls[call].help = help;
        m->calls[call].arg = arg;
        int error = m->table.thread_create(m->table.user, "own", model_thread,
                                           (void*)(uintptr_t)call, &m->threads[call]);
        controlled_check(error == 0, "no thread");
    }
    return started < count ? started : count;
}

static void model_once(model* m, orri_jobs* jobs)
{
    memset(m->hits, 0, sizeof m->hits);
    for (uint32_t i = 0; i < m->shape->node_count; i++) {
        m->left[i] = m->nodes[i].items;
    }
    m->begun = 0;
    m->retired = false;
    orri_jobs_run(jobs, &m->graph);
    m->retired = true;
    controlled_check(m->busy == 0, "still busy: %x", m->busy);
    for (uint32_t i = 0; i < m->shape->node_count; i++) {
        for (uint32_t j = 0; j < m->nodes[i].items; j++) {
            controlled_check(m->hits[i][j] == 1, "unit %u of node %u not done", j, i);
        }
    }
}

// Stands for the owner's work between runs. It yields, so that a late thread shows; switching
// threads at a yield is no preemption.
static void model_rebuild(model* m, orri_jobs* jobs)
{
    m->scheduler->thread_yield(m->scheduler->user);
    orri_graph_free(jobs, &m->graph);
    memcpy(m->nodes, m->shape->nodes, sizeof m->nodes);
    memcpy(m->next, m->shape->next, sizeof m->next);
    m->graph = (orri_graph){.nodes = m->nodes,
                            .node_count = m->shape->node_count,
                            .next = m->next,
                            .run = model_run,
                            .context = m};
    controlled_check(orri_graph_reserve(jobs, &m->graph, m->shape->node_count), "no room");
    m->room = (const char*)m->graph.memory;
    m->room_end = m->room + 4096; // Bitmaps, states and queues of these few nodes.
    ORRI_SCHED_POINT(&m->table, ORR_SCHED_STORE, &m->nodes);
}

static void model_body(const orr_platform* platform, void* arg)
{
    model m = {.shape = arg, .scheduler = platform, .table = *platform};
    model_now = &m;
    m.table.sched_point = model_point;
    m.table.thread_yield = model_yield;
    orri_env_init(&m.env, &m.table, NULL, 0, &(orr_log_desc){.sink = model_log, .user = &m});
    orr_pool own = {.user = &m, .start = model_start};
    orri_jobs* jobs =
        orri_jobs_create(&m.env, &(orri_jobs_desc){.workers = m.shape->workers,
                                                   .own = m.shape->own ? &own : NULL,
                                                   .stuck_ns = m.shape->timeouts ? 1000000000 : 0,
                                                   .watcher = m.shape->watcher,
                                                   .spins = 1});
    model_rebuild(&m, jobs);
    model_once(&m, jobs);
    model_rebuild(&m, jobs);
    model_once(&m, jobs);
    orri_graph_free(jobs, &m.graph);
    m.room = m.room_end = NULL;
    orri_jobs_destroy(jobs);
    for (uint32_t i = 0; i < m.thread_count; i++) {
        platform->thread_join(platform->user, m.threads[i]);
    }
}

// Nodes: name, units, grain, needs, first of `next`, count of `next`, for the caller only.
#define ONE(units) .node_count = 1, .nodes = {{"a", units, 1, 0, 0, 0, false}}
#define TWO        .node_count = 2, .nodes = {{"a", 1, 1, 0, 0, 0, false}, {"b", 1, 1, 0, 0, 0, false}}

static const model_shape shapes[] = {
    {.name = "two units", .workers = 2, ONE(2)},
    {.name = "three units", .workers = 2, ONE(3)},
    {.name = "two nodes", .workers = 2, TWO},
    {.name = "shared, then the caller's",
     .workers = 2,
     .node_count = 2,
     .nodes = {{"a", 2, 1, 0, 0, 1, false}, {"b", 2, 1, 1, 0, 0, true}},
     .next = {1}},
    {.name = "diamond",
     .workers = 2,
     .node_count = 4,
     .nodes = {{"a", 1, 1, 0, 0, 2, false},
               {"b", 1, 1, 1, 2, 1, false},
               {"c", 2, 1, 1, 3, 1, false},
               {"d", 1, 1, 2, 0, 0, false}},
     .next = {1, 2, 3, 3}},
    {.name = "watched", .workers = 2, ONE(2), .timeouts = true},
    {.name = "own threads", .workers = 2, ONE(2), .own = true},
    {.name = "own threads, nodes meet", .workers = 2, TWO, .own = true, .together = true},
    {.name = "a call too many", .workers = 2, ONE(2), .own = true, .extra = true},
    {.name = "a watcher, alone", .workers = 1, ONE(2), .timeouts = true, .watcher = true},
    {.name = "a watcher, own threads",
     .workers = 2,
     ONE(2),
     .own = true,
     .timeouts = true,
     .watcher = true},
    {.name = "three workers", .workers = 3, ONE(3)},
    {.name = "three workers, four units", .workers = 3, ONE(4)},
    {.name = "three workers, a fork",
     .workers = 3,
     .node_count = 3,
     .nodes = {{"a", 2, 1, 0, 0, 2, false},
               {"b", 1, 1, 1, 0, 0, true},
               {"c", 2, 1, 1, 0, 0, false}},
     .next = {1, 2}},
    {.name = "three workers, own threads", .workers = 3, ONE(3), .own = true},
};

static uint64_t model_explore(controlled_strategy strategy, uint64_t schedules)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < ORRI_COUNT(shapes); i++) {
        controlled_result result =
            controlled_explore(&(controlled_desc){.name = shapes[i].name,
                                                  .body = model_body,
                                                  .arg = (void*)(uintptr_t)&shapes[i],
                                                  .strategy = strategy,
                                                  .timeouts_max = shapes[i].timeouts ? 2 : 0,
                                                  .schedules_max = schedules});
        CONTROLLED_PASS(result);
        printf("  %-28s %8" PRIu64 " schedules, %8" PRIu64 " distinct%s\n", shapes[i].name,
               result.schedules, result.distinct, result.exhausted ? ", all there are" : "");
        all += result.schedules;
    }
    return all;
}

// `--long` runs ten million schedules of both kinds together.
static uint64_t model_share(uint64_t fast, uint64_t slow, uint64_t most)
{
    return test_long() && !test_slow() ? most : test_slow() ? slow : fast;
}

ORR_TEST(pool_in_all_schedules_of_two_preemptions_is_correct)
{
    uint64_t all = model_explore(CONTROLLED_DEPTH_FIRST, model_share(40000, 1500, 1000000));
    CHECK(all >= model_share(100000, 10000, 4000000));
}

ORR_TEST(pool_with_random_priorities_is_correct)
{
    uint64_t all = model_explore(CONTROLLED_PRIORITIES, model_share(12000, 1000, 600000));
    CHECK(all >= model_share(100000, 10000, 6000000));
}
