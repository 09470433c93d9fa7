// SPDX-License-Identifier: MIT
// Runs a graph. A node is whole (one worker runs all of it in one call) or shared. The units of a
// shared node are split into one queue per worker, the same units to the same worker in every run.
// A worker whose queue is empty steals the back half of another worker's queue.
//
// Nodes that may begin are published in a bitmap; workers take the lowest number first. Of the
// nodes that a worker makes ready it keeps one for itself without publishing it. So a chain of
// nodes stays on one worker and writes no word that other workers read.
#include "base/float.h"
#include "base/util.h"
#include "jobs/jobs_detail.h"
#include <stddef.h>

// Units [first, last) of a node that no worker has begun: last << 32 | first. Only the owner
// refills its queue, and only when the queue is empty; all workers take from it. The word holds the
// complete state of the queue, so a compare-and-swap may succeed even if the word changed and
// changed back in between (no ABA problem).
typedef struct graph_queue {
    _Alignas(ORRI_JOBS_LINE) _Atomic uint64_t range;
} graph_queue;

typedef struct graph_state {
    _Atomic uint64_t needs;      // Nodes before this node that are not done.
    _Atomic uint64_t units_left; // Units of a shared node that are not done.
} graph_state;

typedef struct graph_word {
    _Atomic uint64_t ready;        // A bit per node that may begin and may have units not begun.
    _Atomic uint64_t caller_ready; // The same for nodes that only the calling thread runs.
} graph_word;

// The state of a run, one block of memory: this struct, then the rest of the words, the states and
// the queues. Fields that change during a run begin on the second cache line, so a small graph has
// all of them on one line.
struct orri_graph_memory {
    graph_state* states;
    graph_queue* queues;                            // [node][worker]
    uint32_t word_count;                            // Words in use.
    uint32_t end_count;                             // Nodes without a dependent node.
    _Alignas(ORRI_JOBS_LINE) _Atomic uint64_t ends; // Of these, the nodes that are not done.
    graph_word words[];
};

// The state of one worker while it works on a graph.
typedef struct graph_local {
    orri_jobs_worker* me;
    orri_jobs* jobs;
    const orri_graph* graph;
    struct orri_graph_memory* memory;
    uint32_t keep;           // A ready node that was not published; ORRI_GRAPH_NONE: none.
    uint32_t unannounced;    // Claims that were published and not yet signalled.
    bool caller_unannounced; // A node for the calling thread was published and not yet signalled.
    bool done;               // This worker completed the last node.
} graph_local;

typedef struct graph_range {
    uint32_t first, last;
} graph_range;

// ---- memory of a run ----------------------------------------------------------------------------

static size_t graph_lines(size_t bytes)
{
    return (bytes + ORRI_JOBS_LINE - 1) & ~(size_t)(ORRI_JOBS_LINE - 1);
}

static size_t graph_head_size(uint32_t nodes)
{
    return graph_lines(offsetof(struct orri_graph_memory, words) +
                       (size_t)(nodes / 64) * sizeof(graph_word));
}

static size_t graph_states_size(uint32_t nodes)
{
    return graph_lines((size_t)nodes * sizeof(graph_state));
}

static size_t graph_memory_size(const orri_jobs* jobs, uint32_t nodes)
{
    return graph_head_size(nodes) + graph_states_size(nodes) +
           (size_t)nodes * jobs->requested * sizeof(graph_queue);
}

static void graph_memory_lay_out(struct orri_graph_memory* memory, uint32_t nodes)
{
    char* at = (char*)memory + graph_head_size(nodes);
    memory->states = (graph_state*)(void*)at;
    memory->queues = (graph_queue*)(void*)(at + graph_states_size(nodes));
}

bool orri_graph_reserve(orri_jobs* jobs, orri_graph* graph, uint32_t nodes)
{
    if (nodes <= graph->memory_capacity) {
        return true;
    }
    uint64_t wanted = (uint64_t)graph->memory_capacity * 2 > nodes ? graph->memory_capacity * 2
                                                                   : nodes;
    uint32_t capacity = (uint32_t)((wanted + 63) & ~(uint64_t)63);
    struct orri_graph_memory* memory = orri_alloc_zero(
        jobs->env, ORR_MEMORY_SYSTEM, graph_memory_size(jobs, capacity), ORRI_JOBS_LINE);
    if (memory == NULL) {
        return false;
    }
    graph_memory_lay_out(memory, capacity);
    orri_graph_free(jobs, graph);
    graph->memory = memory;
    graph->memory_capacity = capacity;
    return true;
}

void orri_graph_free(orri_jobs* jobs, orri_graph* graph)
{
    orri_free(jobs->env, ORR_MEMORY_SYSTEM, graph->memory,
              graph_memory_size(jobs, graph->memory_capacity), ORRI_JOBS_LINE);
    graph->memory = NULL;
    graph->memory_capacity = 0;
}

// ---- nodes that become ready --------------------------------------------------------------------

static bool graph_whole(const orri_graph_node* node)
{
    return node->caller_only || node->items <= node->grain;
}

// True for the calling thread while it has not set OPEN: no other thread accesses the graph, so its
// words need no atomic steps.
static bool graph_is_private(const graph_local* local)
{
    return local->me->number == 0 && !local->jobs->open;
}

static graph_queue* graph_queues(const graph_local* local, uint32_t node)
{
    return &local->memory->queues[(size_t)node * local->jobs->worker_count];
}

static uint32_t graph_claims(uint32_t units, uint32_t grain)
{
    return units / grain + (units % grain != 0);
}

static uint64_t graph_pack(uint32_t first, uint32_t last)
{
    return (uint64_t)last << 32 | first;
}

// Splits the units of a node into the queues; no worker reads the queues before the node is
// published. Returns the number of queues that are not empty.
static uint32_t graph_split(const graph_local* local, uint32_t node)
{
    const orri_graph_node* info = &local->graph->nodes[node];
    graph_queue* queues = graph_queues(local, node);
    uint32_t worker_count = local->jobs->worker_count;
    uint32_t claims = graph_claims(info->items, info->grain);
    uint32_t filled = claims < worker_count ? claims : worker_count;
    uint32_t first = 0;
    for (uint32_t i = 0; i < worker_count; i++) {
        uint64_t end = i < filled ? (uint64_t)claims * (i + 1) / filled * info->grain : first;
        uint32_t last = end < info->items ? (uint32_t)end : info->items;
        orri_jobs_put(&queues[i].range, graph_pack(first, last));
        first = last;
    }
    orri_jobs_put(&local->memory->states[node].units_left, info->items);
    return filled;
}

static void graph_publish(const graph_local* local, uint32_t node, bool here)
{
    graph_word* words = &local->memory->words[node / 64];
    _Atomic uint64_t* word = here ? &words->caller_ready : &words->ready;
    if (graph_is_private(local)) {
        orri_jobs_put(word, orri_jobs_peek(word) | orri_jobs_bit(node % 64));
    } else {
        orri_jobs_bits_set(local->jobs, word, orri_jobs_bit(node % 64));
    }
}

// Decrements a counter; true when it reaches 0.
static bool graph_count_down(const graph_local* local, _Atomic uint64_t* word)
{
    if (graph_is_private(local)) {
        orri_jobs_put(word, orri_jobs_peek(word) - 1);
        return orri_jobs_peek(word) == 0;
    }
    return orri_jobs_add(local->jobs, word, UINT64_MAX) == 1;
}

// Keeps the lowest of several ready nodes. Returns the node that is not kept, or ORRI_GRAPH_NONE.
static uint32_t graph_keep(graph_local* local, uint32_t node)
{
    uint32_t other = local->keep;
    if (other == ORRI_GRAPH_NONE || node < other) {
        local->keep = node;
        return other;
    }
    return node;
}

static void graph_ready(graph_local* local, uint32_t node)
{
    const orri_graph_node* info = &local->graph->nodes[node];
    ORR_ASSERT(info->grain > 0);
    if (!graph_whole(info)) {
        local->unannounced += graph_split(local, node);
        graph_publish(local, node, false);
    } else if (info->caller_only && local->me->number != 0) {
        graph_publish(local, node, true);
        local->caller_unannounced = true;
    } else if ((node = graph_keep(local, node)) != ORRI_GRAPH_NONE) {
        bool caller_only = local->graph->nodes[node].caller_only;
        graph_publish(local, node, caller_only);
        local->unannounced += !caller_only;
    }
}

// Signals `count` claims. Sets OPEN at the first work of the run that helpers could do.
static void graph_notify_workers(graph_local* local, uint32_t count)
{
    orri_jobs* jobs = local->jobs;
    bool first = graph_is_private(local);
    if (first) {
        jobs->open = true;
    }
    orri_jobs_add(jobs, &jobs->status, ORRI_STATUS_SIGNAL + (first ? ORRI_STATUS_OPEN : 0));
    orri_jobs_wake_some(jobs, count < jobs->wakes ? count : jobs->wakes);
    if (first && jobs->uses_external) {
        orri_jobs_external_request(jobs);
    }
}

// Signals what was published. This worker takes one claim itself, unless it keeps a node.
static void graph_notify(graph_local* local)
{
    uint32_t own = local->unannounced > 0 && local->keep == ORRI_GRAPH_NONE;
    uint32_t others = local->unannounced - own;
    bool caller = local->caller_unannounced;
    local->unannounced = 0;
    local->caller_unannounced = false;
    if (others > 0) {
        graph_notify_workers(local, others);
    } else if (caller) {
        orri_jobs_add(local->jobs, &local->jobs->status, ORRI_STATUS_SIGNAL);
    }
    if (caller && (orri_jobs_load(local->jobs, &local->jobs->asleep) & 1) != 0) {
        orri_jobs_wake(local->jobs, 0);
    }
}

static void graph_complete(graph_local* local, uint32_t node)
{
    const orri_graph_node* info = &local->graph->nodes[node];
    struct orri_graph_memory* memory = local->memory;
    if (info->next_count == 0) {
        local->done = memory->end_count == 1 ||
                      orri_jobs_add(local->jobs, &memory->ends, UINT64_MAX) == 1;
        return;
    }
    const uint32_t* next = local->graph->next + info->next_first;
    for (uint32_t i = 0; i < info->next_count; i++) {
        // A node that depends on one node only needs no counter.
        if (local->graph->nodes[next[i]].needs == 1 ||
            graph_count_down(local, &memory->states[next[i]].needs)) {
            graph_ready(local, next[i]);
        }
    }
    graph_notify(local);
}

// ---- taking units -------------------------------------------------------------------------------

static void graph_run_units(graph_local* local, uint32_t node, uint32_t first, uint32_t last)
{
    orri_jobs_worker* me = local->me;
    const orr_platform* platform = local->jobs->platform;
    uint64_t claims = orri_jobs_peek(&me->claims) + 1;
    orri_jobs_put(&me->claims, claims);
    orri_jobs_count(&me->units, last - first);
    orri_jobs_put(&me->at, claims << 32 | (node + 1));
    uint64_t begin_ns = local->jobs->timed ? platform->clock_ns(platform->user) : 0;
    local->graph->run(local->graph->context, node, first, last, me->number);
    if (local->jobs->timed) {
        orri_jobs_count(&me->busy_ns, platform->clock_ns(platform->user) - begin_ns);
    }
}

// Takes a claim from the front of the worker's own queue.
static bool graph_take(const graph_local* local, graph_queue* queue, uint32_t grain,
                       graph_range* out)
{
    uint64_t range = orri_jobs_load(local->jobs, &queue->range);
    for (;;) {
        uint32_t first = (uint32_t)range, last = (uint32_t)(range >> 32);
        if (first == last) {
            return false;
        }
        uint32_t end = last - first > grain ? first + grain : last;
        if (orri_jobs_compare_swap(local->jobs, &queue->range, &range, graph_pack(end, last))) {
            *out = (graph_range){first, end};
            return true;
        }
    }
}

// Takes the back half of another worker's queue, in whole claims; the last claim as a whole.
static bool graph_steal(const graph_local* local, graph_queue* queue, uint32_t grain,
                        graph_range* out)
{
    uint64_t range = orri_jobs_load(local->jobs, &queue->range);
    for (;;) {
        uint32_t first = (uint32_t)range, last = (uint32_t)(range >> 32);
        if (first == last) {
            return false;
        }
        uint32_t claims = graph_claims(last - first, grain);
        uint32_t middle = first + claims / 2 * grain;
        if (orri_jobs_compare_swap(local->jobs, &queue->range, &range, graph_pack(first, middle))) {
            *out = (graph_range){middle, last};
            return true;
        }
    }
}

static bool graph_is_published(const graph_local* local, uint32_t node)
{
    uint64_t ready = orri_jobs_load(local->jobs, &local->memory->words[node / 64].ready);
    return (ready & orri_jobs_bit(node % 64)) != 0;
}

// Puts stolen units beyond the first claim into the worker's own queue, where others may steal them
// again. While the units were in no queue, another worker may have found the node empty and
// unpublished it: then the node is published again.
static void graph_put_back(graph_local* local, uint32_t node, graph_range rest)
{
    _Atomic uint64_t* own = &graph_queues(local, node)[local->me->number].range;
    ORRI_SCHED_POINT(local->jobs->platform, ORR_SCHED_STORE, own);
    atomic_store(own, graph_pack(rest.first, rest.last));
    if (!graph_is_published(local, node)) {
        graph_publish(local, node, false);
        graph_notify_workers(local, 1);
    }
}

static bool graph_claim(graph_local* local, uint32_t node, graph_range* out)
{
    graph_queue* queues = graph_queues(local, node);
    uint32_t grain = local->graph->nodes[node].grain;
    uint32_t number = local->me->number, worker_count = local->jobs->worker_count;
    if (graph_take(local, &queues[number], grain, out)) {
        return true;
    }
    for (uint32_t i = 1; i < worker_count; i++) {
        uint32_t victim = number + i < worker_count ? number + i : number + i - worker_count;
        if (graph_steal(local, &queues[victim], grain, out)) {
            orri_jobs_count(&local->me->steals, 1);
            if (out->last - out->first > grain) {
                graph_put_back(local, node, (graph_range){out->first + grain, out->last});
                out->last = out->first + grain;
            }
            return true;
        }
    }
    return false;
}

// Removes a shared node that seems empty from the bitmap, and checks the queues again afterwards.
// graph_put_back() does the same two steps in the opposite order, so at least one of the two sees
// the other's write.
static void graph_unpublish(const graph_local* local, uint32_t node)
{
    if (!graph_is_published(local, node)) {
        return;
    }
    orri_jobs_bits_clear(local->jobs, &local->memory->words[node / 64].ready,
                         orri_jobs_bit(node % 64));
    graph_queue* queues = graph_queues(local, node);
    for (uint32_t i = 0; i < local->jobs->worker_count; i++) {
        uint64_t range = orri_jobs_load(local->jobs, &queues[i].range);
        if ((uint32_t)range != (uint32_t)(range >> 32)) {
            graph_publish(local, node, false);
            return;
        }
    }
}

// Completed units are counted once, when no more units can be taken, because the counter is the one
// word that all workers write. A worker whose count completes the node counts before it removes the
// node from the bitmap; until then the node costs other workers one look. If the count completed
// the run, the bitmap is not touched any more.
static void graph_run_shared(graph_local* local, uint32_t node)
{
    _Atomic uint64_t* left = &local->memory->states[node].units_left;
    uint32_t done = 0;
    graph_range range;
    while (graph_claim(local, node, &range)) {
        graph_run_units(local, node, range.first, range.last);
        done += range.last - range.first;
    }
    bool last = done > 0 && orri_jobs_load(local->jobs, left) == done;
    if (!last) {
        graph_unpublish(local, node);
    }
    if (done > 0 && orri_jobs_add(local->jobs, left, (uint64_t)0 - done) == done) {
        graph_complete(local, node);
    }
    if (last && !local->done) {
        graph_unpublish(local, node);
    }
}

// ---- finding nodes ------------------------------------------------------------------------------

// Returns the lowest node of one word of the bitmaps that this worker may run. A whole node is
// removed from the bitmap. ORRI_GRAPH_NONE: there is none.
static uint32_t graph_pick(const graph_local* local, uint32_t index)
{
    graph_word* word = &local->memory->words[index];
    for (;;) {
        uint64_t for_caller =
            local->me->number == 0 ? orri_jobs_load(local->jobs, &word->caller_ready) : 0;
        uint64_t ready = orri_jobs_load(local->jobs, &word->ready) | for_caller;
        if (ready == 0) {
            return ORRI_GRAPH_NONE;
        }
        uint64_t bit = ready & (~ready + 1);
        uint32_t node = index * 64 + (uint32_t)__builtin_ctzll(ready);
        _Atomic uint64_t* from = (for_caller & bit) != 0 ? &word->caller_ready : &word->ready;
        if (!graph_whole(&local->graph->nodes[node]) ||
            (orri_jobs_bits_clear(local->jobs, from, bit) & bit) != 0) {
            return node;
        }
    }
}

static uint32_t graph_find(graph_local* local)
{
    uint32_t node = local->keep;
    local->keep = ORRI_GRAPH_NONE;
    for (uint32_t i = 0; i < local->memory->word_count && node == ORRI_GRAPH_NONE; i++) {
        node = graph_pick(local, i);
    }
    return node;
}

static bool graph_loop(graph_local* local)
{
    uint32_t node;
    while (!local->done && (node = graph_find(local)) != ORRI_GRAPH_NONE) {
        const orri_graph_node* info = &local->graph->nodes[node];
        if (!graph_whole(info)) {
            graph_run_shared(local, node);
            continue;
        }
        if (info->items > 0) {
            graph_run_units(local, node, 0, info->items);
        }
        graph_complete(local, node);
    }
    orri_jobs_put(&local->me->at, 0);
    return local->done;
}

static graph_local graph_local_make(orri_jobs_worker* me, orri_graph* graph)
{
    return (graph_local){.me = me,
                         .jobs = me->jobs,
                         .graph = graph,
                         .memory = graph->memory,
                         .keep = ORRI_GRAPH_NONE};
}

bool orri_graph_work(orri_jobs_worker* me)
{
    graph_local local = graph_local_make(me, me->jobs->graph);
    return graph_loop(&local);
}

// ---- running a graph on the calling thread ------------------------------------------------------

// Writes the counts only when they changed, because other cores have copies of their cache line.
static void graph_begin_counts(struct orri_graph_memory* memory, uint32_t words, uint32_t ends)
{
    if (memory->word_count != words || memory->end_count != ends) {
        memory->word_count = words;
        memory->end_count = ends;
    }
    orri_jobs_put(&memory->ends, ends);
    // A bit may be left from the last run, of a shared node that was published again when empty.
    for (uint32_t i = 0; i < words; i++) {
        orri_jobs_put(&memory->words[i].ready, 0);
        orri_jobs_put(&memory->words[i].caller_ready, 0);
    }
}

static void graph_begin(graph_local* local)
{
    struct orri_graph_memory* memory = local->memory;
    uint32_t count = local->graph->node_count, ends = 0;
    for (uint32_t i = 0; i < count; i++) {
        const orri_graph_node* node = &local->graph->nodes[i];
        ends += node->next_count == 0;
        if (node->needs > 1) {
            orri_jobs_put(&memory->states[i].needs, node->needs);
        }
    }
    graph_begin_counts(memory, (count + 63) / 64, ends);
    for (uint32_t i = 0; i < count; i++) {
        if (local->graph->nodes[i].needs == 0) {
            graph_ready(local, i);
        }
    }
    graph_notify(local);
}

static void graph_watch_off(orri_jobs* jobs)
{
    ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_STORE, &jobs->watched);
    atomic_store(&jobs->watched, 0);
}

// When this returns, no other thread accesses the graph: helpers that are INSIDE find no work and
// leave. Sleeping threads of the program are woken so that they return to the program.
static void graph_end(orri_jobs* jobs)
{
    bool watched = jobs->stuck_ns != 0;
    if (watched) {
        graph_watch_off(jobs);
    }
    if (jobs->open && jobs->uses_external) {
        orri_jobs_wake_some(jobs, UINT32_MAX);
    }
    if (watched || jobs->open) {
        uint64_t status = orri_jobs_load(jobs, &jobs->status);
        while ((status & ORRI_STATUS_INSIDE_MASK) != 0) {
            status = orri_jobs_wait(&jobs->workers[0], status, ORRI_STATUS_ALL);
        }
        orri_jobs_wait_report(&jobs->workers[0]);
    }
    jobs->open = false;
}

// With one worker, node order is a valid order to run: nothing is published or counted.
static void graph_run_serial(orri_jobs* jobs, orri_graph* graph)
{
    graph_local local = graph_local_make(&jobs->workers[0], graph);
    if (jobs->watcher) {
        atomic_store_explicit(&jobs->watched, 1, memory_order_release);
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        if (graph->nodes[i].items > 0) {
            graph_run_units(&local, i, 0, graph->nodes[i].items);
        }
    }
    if (jobs->watcher) {
        graph_end(jobs);
    }
}

// Works and waits until the last node is done. If OPEN was set, the worker that completes that node
// clears it. The status is read before the work, so a signal sent during the work is seen.
static void graph_run_caller(graph_local* local)
{
    orri_jobs* jobs = local->jobs;
    bool seen_open = jobs->open;
    uint64_t status = seen_open ? orri_jobs_load(jobs, &jobs->status) : ORRI_STATUS_OPEN;
    while ((status & ORRI_STATUS_OPEN) != 0) {
        if (graph_loop(local)) {
            if (jobs->open) {
                orri_jobs_add(jobs, &jobs->status, ORRI_STATUS_SIGNAL - ORRI_STATUS_OPEN);
            }
            return;
        }
        ORR_ASSERT(jobs->open);
        status = seen_open ? orri_jobs_wait(&jobs->workers[0], status, ORRI_STATUS_SIGNAL_MASK)
                           : orri_jobs_load(jobs, &jobs->status);
        seen_open = true;
        orri_jobs_wait_report(&jobs->workers[0]);
    }
}

void orri_jobs_report(orri_jobs* jobs, uint32_t worker, uint32_t what)
{
    orri_jobs_worker* me = &jobs->workers[worker];
    if (jobs->name != NULL) {
        orri_jobs_put(&me->at, (uint64_t)++me->report_count << 32 | ORRI_JOBS_REPORTED | what);
    }
}

void orri_jobs_watch(orri_jobs* jobs, bool on)
{
    ORR_ASSERT(!jobs->running);
    if (jobs->stuck_ns == 0 || (jobs->worker_count == 1 && !jobs->watcher)) {
        return;
    }
    if (on) {
        atomic_store_explicit(&jobs->watched, 1, memory_order_release);
    } else {
        orri_jobs_put(&jobs->workers[0].at, 0);
        graph_end(jobs);
    }
}

static void graph_run_parallel(orri_jobs* jobs, orri_graph* graph)
{
    graph_local local = graph_local_make(&jobs->workers[0], graph);
    if (jobs->stuck_ns != 0) {
        atomic_store_explicit(&jobs->watched, 1, memory_order_release);
    }
    graph_begin(&local);
    graph_run_caller(&local);
    graph_end(jobs);
}

void orri_jobs_run(orri_jobs* jobs, orri_graph* graph)
{
    if (graph->node_count == 0) {
        return;
    }
    ORR_ASSERT(!jobs->running);
    ORR_ASSERT(graph->node_count <= graph->memory_capacity);
    const orr_platform* platform = jobs->platform;
    uint64_t begin_ns = jobs->timed ? platform->clock_ns(platform->user) : 0;
    orri_float_mode mode = orri_float_mode_set();
    jobs->running = true;
    if (jobs->graph != graph) {
        jobs->graph = graph;
    }
    if (jobs->worker_count > 1) {
        graph_run_parallel(jobs, graph);
    } else {
        graph_run_serial(jobs, graph);
    }
    orri_jobs_put(&jobs->workers[0].at, 0);
    jobs->running = false;
    orri_float_mode_restore(mode);
    if (jobs->timed) {
        jobs->timed_ns += platform->clock_ns(platform->user) - begin_ns;
    }
}
