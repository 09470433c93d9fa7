// SPDX-License-Identifier: MIT
// Workers, and the graphs they run together. A graph is a set of nodes with an order between some of them; a node is a number
// of units, each to be done exactly once, by whoever comes. Nothing here knows of systems or worlds: what a node means, its
// owner says. The caller is worker 0 and always works itself, so that a graph ends even when no other worker ever comes.
//
// The pool of workers is a crew inside, since a pool is already where pinned values live (store/pool.h).
#ifndef ORRI_JOBS_JOBS_H
#define ORRI_JOBS_JOBS_H

#include "base/env.h"
#include <orrery/schedule.h>
#include <stdatomic.h>

typedef struct orri_jobs orri_jobs;

#define ORRI_JOBS_MOST 64 // Workers: who sleeps is one word of bits.

typedef struct orri_jobs_desc {
    uint32_t workers;    // With the caller; 0 is taken as 1, more than ORRI_JOBS_MOST as that.
    const orr_pool* own; // Threads of the user's, copied; NULL: the crew makes workers − 1 threads.
    uint64_t stuck_ns;   // A call of `run` that takes longer is named in the log, once; 0: never.
    bool
        watcher; // With a thread that does nothing but watch: workers may all be stuck, and the user's go away.
    uint32_t
        spins; // Looks before a worker goes to sleep; 0: some 50 µs, or none with more workers than cores.
    // What orri_jobs_says() means, for the watch; NULL: nobody says anything.
    const char* (*name)(void* context, uint32_t what);
    void* context;
} orri_jobs_desc;

// NULL when refused for want of memory (silent). Threads that cannot be had are a warning in the log: the crew has fewer.
orri_jobs* orri_jobs_create(orri_env* env, const orri_jobs_desc* desc);
// Joins all threads, and waits for calls of the user's own that are under way; those that come later return at once. No graph runs.
// NULL is allowed.
void orri_jobs_destroy(orri_jobs* jobs);
// How many there are now, with the caller.
uint32_t orri_jobs_workers(const orri_jobs* jobs);
// Whether a thread is there that can see the caller stuck: a watcher, or a worker of the crew's own.
bool orri_jobs_watches(const orri_jobs* jobs);

// A node begins when all nodes that have it in their `next` are done; it is done when all its units are. What `run` of an
// earlier node writes into `items` and `grain` counts.
typedef struct orri_graph_node {
    const char* name; // For the watch and the trace.
    uint32_t items;   // Units; 0: it is done at once.
    // So many are handed out together; at least 1. As many as items or more: all to one worker, in one call. A lone worker gets
    // everything in one call in any case.
    uint32_t grain;
    uint32_t needs;                  // How many nodes have it in `next`.
    uint32_t next_first, next_count; // In orri_graph.next.
    bool here;                       // Only on the caller, in one call.
} orri_graph_node;

// Nodes stand in an order that would do for one worker: `next` holds greater numbers only.
typedef struct orri_graph {
    orri_graph_node* nodes;
    uint32_t node_count;
    const uint32_t* next;
    // Does units [first, last) of a node. Two calls never get the same unit; what a call did is seen by whoever runs a later
    // node, and by the caller afterwards. `worker` is below orri_jobs_workers(); two calls at the same time have two.
    void (*run)(void* context, uint32_t node, uint32_t first, uint32_t last, uint32_t worker);
    // A worker waited before it came, or between its calls (orri_jobs_trace()): looked for work from `begin_ns`, slept from
    // `sleep_ns` (0: it did not). On that worker, while the graph runs. NULL: nobody asks.
    void (*waited)(void* context, uint32_t worker, uint64_t begin_ns, uint64_t sleep_ns,
                   uint64_t end_ns);
    void* context;
    struct orri_graph_room* room; // What a run needs: orri_graph_reserve().
    uint32_t room_capacity;       // Nodes.
} orri_graph;

// Room to run `nodes` nodes, with this crew only. Between runs. False when refused (silent): what was reserved stays.
bool orri_graph_reserve(orri_jobs* jobs, orri_graph* graph, uint32_t nodes);
void orri_graph_free(orri_jobs* jobs, orri_graph* graph);

// Runs all of it and returns when all is done and no worker looks at the graph any more. Never fails, allocates nothing. A
// graph of which nothing can go side by side costs no message to another thread. `run` is called with rounding to nearest
// and without flush to zero, whatever the caller's thread has set. Not from inside `run`.
void orri_jobs_run(orri_jobs* jobs, orri_graph* graph);

// Inside `run`, or by the caller while it is watched: this worker is at `what` now. For nodes that do several things, so that the watch
// names the one that is stuck.
void orri_jobs_says(orri_jobs* jobs, uint32_t worker, uint32_t what);
// The caller works without a graph, and is watched meanwhile. Between runs; on and off in turn.
void orri_jobs_watch(orri_jobs* jobs, bool on);

// Since the crew was made. Read by the caller between runs.
typedef struct orri_jobs_stats {
    uint64_t units, claims,
        steals; // Units done; calls of `run`; of these, how many took from another's part.
    uint64_t sleeps;
    uint64_t noted; // By orri_jobs_note().
    uint64_t busy_ns,
        idle_ns; // Inside `run`, and the rest of the time that runs took. Only of runs with time on.
} orri_jobs_stats;
void orri_jobs_stats_get(const orri_jobs* jobs, uint32_t worker, orri_jobs_stats* out);
// Costs two looks at the clock for each call of `run`. Off at first.
void orri_jobs_time(orri_jobs* jobs, bool on);
// Tells graphs who waited: two looks at the clock for each wait. Off at first.
void orri_jobs_trace(orri_jobs* jobs, bool on);
// Inside `run`, by the worker itself: counts something of the owner's.
void orri_jobs_note(orri_jobs* jobs, uint32_t worker, uint64_t amount);

#endif
