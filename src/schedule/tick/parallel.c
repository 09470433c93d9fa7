// SPDX-License-Identifier: MIT
// Systems of a group at the same time, on workers. The group becomes a graph of nodes for the
// worker pool: a node is a system, or several that follow each other. How a group is cut into nodes
// and units depends on measured costs. It never changes a result, because everything a system sends
// goes into command buffers by (system, chunk), and systems that conflict stay in order.
//
//   batch: small systems in a row, run one after the other by one worker
//   tile:  systems in a row that touch only their own rows, run chunk by chunk, so that a chunk
//          stays in the cache
//   join:  nothing to run: stands for the systems that it waits for (plan/conflict_graph.h)
#include "schedule/plan/conflict_graph.h"

#define PARALLEL_GROUP_NS 10000u // A cheaper group is not worth waking another worker,
#define PARALLEL_SMALL_NS 4000u  // nor is a cheaper system, or a cheaper group any other worker.
#define PARALLEL_ROW_NS   2u     // Assumed cost of a row of a system that was never timed.
// Between these costs a group is shared with workers that are awake, if it has a system that costs
// at least PARALLEL_LARGE_NS; and one in PARALLEL_RETRY times with workers that sleep: if such
// groups follow each other closely, the workers then stay awake.
#define PARALLEL_LARGE_NS 2000u
#define PARALLEL_RETRY    16u
// A worker takes as many units at once as take about this long. Cheap groups are cut into about
// PARALLEL_PIECES pieces per worker, so that a worker that comes late finds work, and the last
// piece does not last long.
#define PARALLEL_PIECE_NS       10000u
#define PARALLEL_PIECE_LEAST_NS 2000u
#define PARALLEL_PIECES         4u
#define PARALLEL_REFUSED_ALL    UINT32_MAX // Not for a group: for the workers themselves.

// Kinds of nodes.
typedef enum parallel_kind {
    PARALLEL_ONE,   // One system.
    PARALLEL_BATCH, // See above.
    PARALLEL_TILE,  // See above.
    PARALLEL_JOIN,  // A join of the conflict graph: nothing to run.
} parallel_kind;

// A node: steps [first, last) of the plan.
typedef struct parallel_node {
    uint32_t first, last; // Steps.
    parallel_kind kind;
    uint64_t cost;
} parallel_node;

// The graphs of a pipeline.
struct orri_parallel {
    orri_jobs* jobs;

    // Of the running group.
    const orri_conflict_graph* conflicts; // Of all groups of the plan.
    orri_graph graph;
    parallel_node* what; // By node.
    uint32_t* of_step;   // Node of each step of the group, then of each join.
    uint32_t* next;      // Successors of all nodes.
    uint32_t what_capacity, of_capacity, next_capacity, node_capacity;
    orri_pipeline* pipe;
    orr_world* world;

    // Other work that is shared out: one node, an item for each unit.
    orri_graph each;
    orri_graph_node each_node;
    void (*each_work)(void* context, uint32_t item);
    void* each_context;

    bool pays;         // The prepared group is run by workers.
    uint64_t piece_ns; // How long a piece of its work takes.
    uint32_t cheap;    // Groups so far that pay for workers that are awake only.
    orri_sharing sharing;
    uint64_t seed, turn;
};

// ---- costs --------------------------------------------------------------------------------------

// The cost of a system that was never timed, by its number of rows.
static uint64_t parallel_estimate(const orri_system* system)
{
    uint64_t rows = 0;
    for (uint32_t e = 0; system->by_rows && e < system->query->entry_count; e++) {
        const orri_cluster* cluster = system->query->entries[e].cluster;
        rows += cluster != NULL ? cluster->row_count : 0;
    }
    return 100 + rows * PARALLEL_ROW_NS;
}

static inline uint64_t parallel_cost(const orri_system* system)
{
    return !system->due                       ? 0
           : ORR_LIKELY(system->cost_ns != 0) ? system->cost_ns
                                              : parallel_estimate(system);
}

static bool parallel_random(struct orri_parallel* a)
{
    return orr_random(a->seed, a->turn++, 0, 0) & 1;
}

// Whether to divide work: if that pays, unless a test has set another mode (orri_sharing).
static bool parallel_choose(struct orri_parallel* a, bool pays)
{
    switch (a->sharing) {
    case ORRI_SHARE_NOTHING:
        return false;
    case ORRI_SHARE_ALL:
        return true;
    case ORRI_SHARE_RANDOM:
        return parallel_random(a);
    default:
        return pays;
    }
}

// ---- nodes --------------------------------------------------------------------------------------

// True for a system that touches only the rows it is given, and can be tiled.
static bool parallel_own_rows(const orri_system* system)
{
    return system->due && system->desc.parallel && system->in_units && !system->unsplit &&
           !system->desc.main_thread && system->access.by_id_read == NULL && !system->atomic &&
           system->import_count == 0; // An import may be combined when all rows are done.
}

// True when both queries have the same chunks of the same clusters.
static bool parallel_same_units(const orr_query* a, const orr_query* b)
{
    if (a->unit_count != b->unit_count) {
        return false;
    }
    for (uint32_t i = 0; i < a->unit_count; i++) {
        const orri_unit *x = &a->units[i], *y = &b->units[i];
        if (x->chunk != y->chunk || a->entries[x->entry].cluster != b->entries[y->entry].cluster) {
            return false;
        }
    }
    return true;
}

// Whether the system of step `at` joins the node before it.
static bool parallel_joins(struct orri_parallel* a, const parallel_node* node, uint32_t at)
{
    const orri_step* steps = a->pipe->steps;
    const orri_system *before = steps[at - 1].system, *system = steps[at].system;
    if (before->desc.main_thread != system->desc.main_thread) {
        return false;
    }
    bool tiles = parallel_own_rows(before) && parallel_own_rows(system) &&
                 node->kind != PARALLEL_BATCH && parallel_same_units(before->query, system->query);
    if (tiles) {
        return parallel_choose(a, true);
    }
    bool small = parallel_cost(before) < PARALLEL_SMALL_NS &&
                 parallel_cost(system) < PARALLEL_SMALL_NS && node->cost < a->piece_ns;
    return node->kind != PARALLEL_TILE && parallel_choose(a, small);
}

// Cuts the group into nodes.
static void parallel_cut(struct orri_parallel* a, uint32_t first, uint32_t point)
{
    const orri_step* steps = a->pipe->steps;
    const orri_conflict_group* group = &a->conflicts->groups[first];
    uint32_t count = 0, join = group->join_first;
    for (uint32_t i = first; i < point; i++) {
        bool apart = count == 0;
        // The systems that a join waits for are in nodes before it, the others in nodes after it.
        while (ORR_UNLIKELY(join < group->join_last && a->conflicts->joins[join] == i - first)) {
            a->of_step[point - first + join++ - group->join_first] = count;
            a->what[count++] = (parallel_node){i, i, PARALLEL_JOIN, 0};
            apart = true;
        }
        if (!apart && parallel_joins(a, &a->what[count - 1], i)) {
            parallel_node* node = &a->what[count - 1];
            bool tile = parallel_own_rows(steps[i].system) &&
                        parallel_own_rows(steps[i - 1].system) && node->kind != PARALLEL_BATCH &&
                        parallel_same_units(steps[i - 1].system->query, steps[i].system->query);
            node->kind = tile ? PARALLEL_TILE : PARALLEL_BATCH;
            node->last = i + 1;
        } else {
            a->what[count++] = (parallel_node){i, i + 1, PARALLEL_ONE, 0};
        }
        a->what[count - 1].cost += parallel_cost(steps[i].system);
        a->of_step[i - first] = count - 1;
    }
    a->graph.node_count = count;
}

// Number of units of a node, and how many a worker takes at once.
static void parallel_fill(struct orri_parallel* a, uint32_t n)
{
    const orri_step* steps = a->pipe->steps;
    const parallel_node* what = &a->what[n];
    const orri_system* system = steps[what->first].system;
    orri_graph_node* node = &a->graph.nodes[n];
    bool due = false;
    for (uint32_t i = what->first; i < what->last; i++) {
        due |= steps[i].system->due;
    }
    *node = (orri_graph_node){.name = system->desc.name, .caller_only = system->desc.main_thread};
    if (ORR_UNLIKELY(what->kind == PARALLEL_JOIN)) {
        *node = (orri_graph_node){.name = "join", .grain = UINT32_MAX};
        return;
    }
    bool splits = what->kind == PARALLEL_TILE ||
                  (what->kind == PARALLEL_ONE && system->due && system->desc.parallel &&
                   system->in_units && !system->unsplit && !system->desc.main_thread);
    splits &= system->query->unit_count > 0; // A system without units is called once.
    if (splits && parallel_choose(a, what->cost >= PARALLEL_SMALL_NS)) {
        uint32_t units = system->query->unit_count;
        uint64_t each = units > 0 ? what->cost / units + 1 : 1;
        uint32_t grain = (uint32_t)(a->piece_ns / each) + 1;
        uint32_t claims = (units + grain - 1) / grain;
        node->items = units;
        // Pieces of equal size, so that the last one is not a small remainder.
        node->grain = (units + claims - 1) / claims;
        if (a->sharing != ORRI_SHARE_AUTO) {
            node->grain = 1;
        }
    } else {
        node->items = due ? 1 : 0;
        node->grain = UINT32_MAX; // As a whole.
    }
}

// True when the node is run as a whole by one worker.
static bool parallel_whole(const struct orri_parallel* a, uint32_t n)
{
    return a->graph.nodes[n].grain == UINT32_MAX;
}

// Makes the edges between nodes: counts successors, then fills them in.
static bool parallel_connect(struct orri_parallel* a, uint32_t first)
{
    orri_graph* graph = &a->graph;
    const orri_conflict_group* group = &a->conflicts->groups[first];
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t e = group->edge_first; e < group->edge_last; e++) {
            const orri_conflict_edge* edge = &a->conflicts->edges[e];
            uint32_t from = a->of_step[edge->from], to = a->of_step[edge->to];
            if (from == to) {
                continue;
            }
            if (pass == 0) {
                graph->nodes[from].next_count++;
            } else {
                orri_graph_node* node = &graph->nodes[from];
                a->next[node->next_first + node->next_count++] = to;
                graph->nodes[to].needs++;
            }
        }
        uint32_t at = 0;
        for (uint32_t n = 0; pass == 0 && n < graph->node_count; n++) {
            graph->nodes[n].next_first = at;
            at += graph->nodes[n].next_count;
            graph->nodes[n].next_count = 0;
        }
        if (pass == 0 &&
            !ORRI_RESERVE(&a->world->env, ORR_MEMORY_SYSTEM, &a->next, &a->next_capacity, at)) {
            return false;
        }
    }
    graph->next = a->next;
    return true;
}

// ---- running ------------------------------------------------------------------------------------

// Runs units of one step's system on a worker.
static uint64_t parallel_work(struct orri_parallel* a, uint32_t step, uint32_t first, uint32_t last,
                              uint32_t worker)
{
    orr_world* world = a->world;
    orri_system* system = a->pipe->steps[step].system;
    if (!system->due) {
        return 0;
    }
    orri_jobs_report(a->jobs, worker, system->handle.id - 1);
    return orri_system_work(world, system, first, last, worker);
}

static uint32_t parallel_units(const orri_system* system)
{
    return system->in_units ? system->query->unit_count : 0;
}

// Runs units [first, last) of a node on a worker.
static void parallel_node_run(void* context, uint32_t n, uint32_t first, uint32_t last,
                              uint32_t worker)
{
    struct orri_parallel* a = context;
    const orri_step* steps = a->pipe->steps;
    const parallel_node* what = &a->what[n];
    bool whole = parallel_whole(a, n), tile = what->kind == PARALLEL_TILE && !whole;
    uint64_t rows = 0;
    for (uint32_t unit = first; tile && unit < last; unit++) {
        for (uint32_t i = what->first; i < what->last; i++) {
            rows += parallel_work(a, i, unit, unit + 1, worker);
        }
    }
    for (uint32_t i = what->first; !tile && i < what->last; i++) {
        rows += parallel_work(a, i, whole ? 0 : first,
                              whole ? parallel_units(steps[i].system) : last, worker);
    }
    orri_jobs_note(a->jobs, worker, rows);
}

static void parallel_waited(void* context, uint32_t worker, uint64_t begin_ns, uint64_t sleep_ns,
                            uint64_t end_ns)
{
    const struct orri_parallel* a = context;
    orri_timing_waited(a->world, worker, begin_ns, sleep_ns, end_ns);
}

static bool parallel_reserve(struct orri_parallel* a, uint32_t first, uint32_t point)
{
    orri_env* env = &a->world->env;
    const orri_conflict_group* group = &a->conflicts->groups[first];
    uint32_t count = point - first + group->join_last - group->join_first;
    return ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &a->what, &a->what_capacity, count) &&
           ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &a->of_step, &a->of_capacity, count) &&
           ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &a->graph.nodes, &a->node_capacity, count) &&
           orri_graph_reserve(a->jobs, &a->graph, count);
}

// True when a worker is awake, and from time to time. Never with the program's own threads, which
// leave after each run.
static bool parallel_awake(struct orri_parallel* a)
{
    orri_jobs_rest rest = orri_jobs_helpers(a->jobs);
    return rest == ORRI_JOBS_AWAKE ||
           (rest == ORRI_JOBS_ASLEEP && ++a->cheap % PARALLEL_RETRY == 0);
}

bool orri_parallel_pays(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    struct orri_parallel* a = pipe->parallel;
    const orri_step* steps = pipe->steps;
    uint64_t cost = 0, largest = 0;
    for (uint32_t i = first; i < point; i++) {
        uint64_t one = parallel_cost(steps[i].system);
        cost += one;
        largest = one > largest ? one : largest;
    }
    uint32_t workers = orri_jobs_workers(a->jobs);
    uint64_t piece = cost / (PARALLEL_PIECES * workers);
    a->piece_ns = piece < PARALLEL_PIECE_LEAST_NS ? PARALLEL_PIECE_LEAST_NS
                  : piece < PARALLEL_PIECE_NS     ? piece
                                                  : PARALLEL_PIECE_NS;
    a->pays = a->sharing != ORRI_SHARE_AUTO ||
              (workers > 1 &&
               (cost >= PARALLEL_GROUP_NS ||
                (cost >= PARALLEL_SMALL_NS && largest >= PARALLEL_LARGE_NS && parallel_awake(a))));
    return a->pays;
}

// True when each node waits for the one before, and each is for one worker: workers gain nothing.
static bool parallel_in_a_row(const struct orri_parallel* a)
{
    const orri_graph* graph = &a->graph;
    if (a->sharing != ORRI_SHARE_AUTO) {
        return false;
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const orri_graph_node* node = &graph->nodes[n];
        bool follows = n + 1 == graph->node_count ||
                       (node->next_count > 0 && graph->next[node->next_first] == n + 1);
        if (!parallel_whole(a, n) || !follows) {
            return false;
        }
    }
    return true;
}

bool orri_group_open_ahead(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    orr_world* world = pipe->world;
    const orri_step* steps = pipe->steps;
    orri_ids_reserved reserved = orri_command_buffers_reserved(world);
    bool open = true;
    for (uint32_t i = first; open && i < point; i++) {
        open = !steps[i].system->due || orri_system_open_ahead(world, steps[i].system);
    }
    for (uint32_t i = first; !open && i < point; i++) {
        orri_system_take_back(world, steps[i].system);
    }
    if (!open) {
        orri_command_buffers_rewind(world, reserved);
    }
    return open;
}

// Without memory for workers the driving thread works alone. Reported once, and again only if
// workers were available in between for a group as large (`steps`).
ORRI_COLD static bool parallel_refused(orr_world* world, uint32_t steps)
{
    struct orri_schedule* schedule = world->schedule;
    if (schedule->workers_refused == 0) {
        orri_log(&world->env, ORR_LOG_ID_WORKERS_FEWER,
                 "tick %llu: %u workers were requested and there is no memory for %s: the calling "
                 "thread works alone until there is. Results are the same, only slower",
                 (unsigned long long)world->tick, (unsigned)world->settings.workers,
                 steps == PARALLEL_REFUSED_ALL ? "them" : "what they need to share this work");
    }
    schedule->workers_refused = steps > schedule->workers_refused ? steps
                                                                  : schedule->workers_refused;
    return false;
}

// Workers were available for a group of `steps` systems: a new refusal is reported.
static void parallel_regained(orr_world* world, uint32_t steps)
{
    if (ORR_UNLIKELY(world->schedule->workers_refused != 0) &&
        steps >= world->schedule->workers_refused) {
        world->schedule->workers_refused = 0;
    }
}

bool orri_parallel_make_graph(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    struct orri_parallel* a = pipe->parallel;
    orr_world* world = pipe->world;
    if (a == NULL || (world->schedule->audit == ORR_ACCESS_CHECK_FULL && !world->realtime) ||
        !a->pays) {
        return false;
    }
    a->conflicts = orri_conflicts_of(pipe);
    if (ORR_UNLIKELY(a->conflicts == NULL || !parallel_reserve(a, first, point))) {
        return parallel_refused(world, point - first);
    }
    parallel_cut(a, first, point);
    for (uint32_t n = 0; n < a->graph.node_count; n++) {
        parallel_fill(a, n);
    }
    if (ORR_UNLIKELY(!parallel_connect(a, first))) {
        return parallel_refused(world, point - first);
    }
    return !parallel_in_a_row(a);
}

void orri_parallel_run_graph(orri_pipeline* pipe)
{
    struct orri_parallel* a = pipe->parallel;
    orri_jobs_time(a->jobs, pipe->timed);
    orri_jobs_trace(a->jobs, pipe->world->schedule->trace != NULL);
    orri_jobs_run(a->jobs, &a->graph);
}

bool orri_parallel_run(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    orr_world* world = pipe->world;
    if (!orri_parallel_make_graph(pipe, first, point)) {
        return false;
    }
    if (ORR_UNLIKELY(!orri_group_open_ahead(pipe, first, point))) {
        return parallel_refused(world, point - first);
    }
    parallel_regained(world, point - first);
    const orri_step* steps = pipe->steps;
    const orri_system* only = NULL;
    uint32_t due = 0;
    for (uint32_t i = first; i < point; i++) {
        if (steps[i].system->due) {
            orri_system_settle(world, steps[i].system);
            only = steps[i].system;
            due++;
        }
    }
    orri_group_enter(world, due == 1 ? only : NULL);
    orri_parallel_run_graph(pipe);
    orri_group_leave(world);
    for (uint32_t i = first; i < point; i++) {
        if (steps[i].system->due) {
            orri_system_done(world, steps[i].system);
            orri_timing_add(steps[i].system);
        }
    }
    return true;
}

// ---- other work ---------------------------------------------------------------------------------

static void parallel_each_run(void* context, uint32_t node, uint32_t first, uint32_t last,
                              uint32_t worker)
{
    const struct orri_parallel* a = context;
    (void)node;
    (void)worker;
    for (uint32_t i = first; i < last; i++) {
        a->each_work(a->each_context, i);
    }
}

static void parallel_each(void* user, uint32_t count, void (*work)(void* context, uint32_t item),
                          void* context)
{
    struct orri_parallel* a = user;
    a->each_work = work;
    a->each_context = context;
    a->each_node = (orri_graph_node){.name = "transactions", .items = count, .grain = 1};
    orri_jobs_run(a->jobs, &a->each);
}

bool orri_parallel_workers_of(orri_pipeline* pipe, orri_workers* out)
{
    struct orri_parallel* a = pipe->parallel;
    orr_world* world = pipe->world;
    if (a == NULL || world->schedule->audit == ORR_ACCESS_CHECK_FULL ||
        orri_jobs_workers(a->jobs) < 2) {
        return false;
    }
    if (ORR_UNLIKELY(!orri_graph_reserve(a->jobs, &a->each, 1))) {
        return parallel_refused(world, 1);
    }
    a->each.nodes = &a->each_node;
    a->each.node_count = 1;
    a->each.run = parallel_each_run;
    a->each.context = a;
    *out = (orri_workers){parallel_each, a};
    return true;
}

// ---- begin and end ------------------------------------------------------------------------------

static const char* parallel_name(void* context, uint32_t slot)
{
    const orr_world* world = context;
    return world->schedule->slots[slot]->desc.name;
}

bool orri_parallel_watch(const orri_pipeline* pipe, bool on)
{
    struct orri_parallel* a = pipe->parallel;
    if (a != NULL) {
        orri_jobs_watch(a->jobs, on);
    }
    return a != NULL;
}

void orri_parallel_note_running(const orri_pipeline* pipe, uint32_t step)
{
    orri_jobs_report(pipe->parallel->jobs, 0, pipe->steps[step].system->handle.id - 1);
}

// The workers of a world, made when a pipeline first wants some. NULL without memory.
static orri_jobs* parallel_jobs_make(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    if (schedule->jobs == NULL) {
        schedule->jobs = orri_jobs_create(
            &world->env,
            &(orri_jobs_desc){.workers = world->settings.workers,
                              .own = world->settings.pool.start != NULL ? &world->settings.pool
                                                                        : NULL,
                              .stuck_ns = orri_timing_stuck_ns(world),
                              .watcher = world->settings.stuck_ns != 0,
                              .name = parallel_name,
                              .context = world});
        if (schedule->jobs != NULL) {
            schedule->watched = orri_jobs_watches(schedule->jobs);
            orri_timing_calibrate(world);
        }
    }
    return schedule->jobs;
}

// NULL without memory.
ORRI_COLD static struct orri_parallel* parallel_make(orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    orri_jobs* jobs = parallel_jobs_make(world);
    if (jobs == NULL) {
        return NULL;
    }
    struct orri_parallel* a =
        ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SYSTEM, struct orri_parallel, 1);
    if (a == NULL) {
        return NULL;
    }
    a->pipe = pipe;
    a->world = world;
    a->jobs = jobs;
    return a;
}

// A world without workers has a pool of the driving thread alone, if it is to be watched
// (stuck_ns).
bool orri_parallel_ready(orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    if (ORR_LIKELY((world->settings.workers == 0 && world->settings.stuck_ns == 0) ||
                   pipe->parallel != NULL)) {
        return pipe->parallel != NULL;
    }
    struct orri_parallel* a = parallel_make(pipe);
    if (a == NULL) {
        return world->settings.workers != 0 && parallel_refused(world, PARALLEL_REFUSED_ALL);
    }
    world->schedule->workers_refused = 0;
    a->graph.run = parallel_node_run;
    a->graph.waited = parallel_waited;
    a->graph.context = a;
    pipe->parallel = a;
    return true;
}

static void parallel_free(struct orri_parallel* a)
{
    orri_env* env = &a->world->env;
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, a->what, a->what_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, a->of_step, a->of_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, a->next, a->next_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, a->graph.nodes, a->node_capacity);
    a->pipe->parallel = NULL;
    ORRI_FREE(env, ORR_MEMORY_SYSTEM, struct orri_parallel, a, 1);
}

// Graphs are freed first, because their size depends on the pool; the rest when no worker is left
// that could read it.
void orri_parallel_end(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        struct orri_parallel* a = schedule->pipelines[i]->parallel;
        if (a != NULL) {
            orri_graph_free(a->jobs, &a->graph);
            orri_graph_free(a->jobs, &a->each);
        }
    }
    orri_jobs_destroy(schedule->jobs);
    schedule->jobs = NULL;
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        if (schedule->pipelines[i]->parallel != NULL) {
            parallel_free(schedule->pipelines[i]->parallel);
        }
    }
}

uint32_t orri_parallel_workers(const orr_world* world)
{
    const orri_jobs* jobs = orri_parallel_jobs(world);
    return jobs != NULL ? orri_jobs_workers(jobs) : 1;
}

void orri_parallel_stats(const orr_world* world, uint32_t worker, orr_worker_stats* out)
{
    if (world->schedule->jobs != NULL) {
        orri_jobs_stats jobs;
        orri_jobs_stats_get(world->schedule->jobs, worker, &jobs);
        out->taken += jobs.claims;
        out->stolen += jobs.steals;
        out->rows += jobs.noted;
        out->sleeps += jobs.sleeps;
        out->busy_ns += jobs.busy_ns;
        out->waiting_ns += jobs.idle_ns;
    }
}

orri_jobs* orri_parallel_jobs(const orr_world* world)
{
    return world->schedule != NULL ? world->schedule->jobs : NULL;
}

void orri_parallel_share(orr_world* world, orri_sharing sharing, uint64_t seed)
{
    const struct orri_schedule* schedule = orri_schedule_of(world);
    for (uint32_t i = 0; schedule != NULL && i < schedule->pipeline_count; i++) {
        if (orri_parallel_ready(schedule->pipelines[i])) {
            schedule->pipelines[i]->parallel->sharing = sharing;
            schedule->pipelines[i]->parallel->seed = seed;
        }
    }
}

#undef PARALLEL_GROUP_NS
#undef PARALLEL_SMALL_NS
#undef PARALLEL_ROW_NS
#undef PARALLEL_LARGE_NS
#undef PARALLEL_RETRY
#undef PARALLEL_PIECE_NS
#undef PARALLEL_PIECE_LEAST_NS
#undef PARALLEL_PIECES
#undef PARALLEL_REFUSED_ALL
