// SPDX-License-Identifier: MIT
// A pool of worker threads, and the task graphs that the workers run together. A graph is a set of
// nodes with an order between some of them. A node is a number of units; each unit is run exactly
// once, by any worker. This module knows nothing of systems or worlds: the owner of a graph decides
// what a node means. The calling thread is worker 0 and always works itself, so a graph completes
// even when no other worker ever joins. The invariants are in README.md.
//
// The type is called orri_jobs and not a pool, because a pool of the store holds pinned values
// (store/pool/pool.h).
#ifndef ORRI_JOBS_JOBS_H
#define ORRI_JOBS_JOBS_H

#include "base/env.h"
#include <orrery/base.h>
#include <stdatomic.h>

typedef struct orri_jobs orri_jobs;

#define ORRI_JOBS_MOST 64 // Most workers of a pool: the set of sleeping workers is one 64-bit word.

typedef struct orri_jobs_desc {
    // Workers, the calling thread included. 0 means 1; more than ORRI_JOBS_MOST means
    // ORRI_JOBS_MOST, with a warning.
    uint32_t workers;
    // The program's own threads (copied). NULL: the pool creates workers - 1 threads.
    const orr_pool* own;
    // A call of `run` that takes longer is named in the log, once. 0: never.
    uint64_t stuck_ns;
    // Create a thread that only watches for stuck calls. Without it only waiting workers watch; all
    // of them may be stuck, and the program's own threads do not stay.
    bool watcher;
    // Times that a worker polls for work before it sleeps. 0: about 50 µs, or no polling with more
    // workers than cores.
    uint32_t spins;
    // Returns the name of a value passed to orri_jobs_report(), for the log. NULL:
    // orri_jobs_report() does nothing.
    const char* (*name)(void* context, uint32_t what);
    void* context; // Passed to `name`.
} orri_jobs_desc;

// Returns NULL when memory is refused (no error text). When threads cannot be created, the pool has
// fewer workers and logs a warning. Allocates.
orri_jobs* orri_jobs_create(orri_env* env, const orri_jobs_desc* desc);
// Joins all threads and waits for calls on the program's own threads that are in progress; calls
// that start later return at once. No graph may be running. `jobs` may be NULL.
void orri_jobs_destroy(orri_jobs* jobs);
// The workers other than the calling thread, between two runs.
typedef enum orri_jobs_rest {
    ORRI_JOBS_AWAKE,  // A thread of the pool is awake: it begins at once.
    ORRI_JOBS_ASLEEP, // All sleep, or there is none.
    ORRI_JOBS_AWAY,   // They are calls on the program's own threads.
} orri_jobs_rest;
orri_jobs_rest orri_jobs_helpers(const orri_jobs* jobs);
// Number of workers now, the calling thread included.
uint32_t orri_jobs_workers(const orri_jobs* jobs);
// True when some thread can detect that the calling thread is stuck: a watcher, or a worker thread
// of the pool.
bool orri_jobs_watches(const orri_jobs* jobs);

// A node may begin when all nodes that list it in `next` are done. A node is done when all its
// units are done. A node's `run` may change `items` and `grain` of a node that depends on it.
typedef struct orri_graph_node {
    const char* name; // For the watchdog and the trace.
    uint32_t
        items; // Number of units. 0: the node is done as soon as it may begin; `run` is not called.
    // Units per call of `run`, at least 1. With items <= grain one worker runs the whole node in
    // one call. A pool of one worker runs every node in one call.
    uint32_t grain;
    uint32_t needs; // Number of nodes that list this node in `next`.
    uint32_t next_first,
        next_count;   // The nodes that depend on this node: a range of orri_graph.next.
    bool caller_only; // Run by the calling thread only, in one call.
} orri_graph_node;

// The nodes are in an order that one worker could run: `next` lists only higher node numbers.
typedef struct orri_graph {
    orri_graph_node* nodes;
    uint32_t node_count;
    const uint32_t* next; // Node numbers; each node refers to a range.
    // Runs units [first, last) of a node. No unit is passed to two calls. Writes of a call are
    // visible to every call for a dependent node, and to the caller of orri_jobs_run() afterwards.
    // `worker` is below orri_jobs_workers(); calls that run at the same time have different values.
    void (*run)(void* context, uint32_t node, uint32_t first, uint32_t last, uint32_t worker);
    // Reports a wait of a worker before it joined or between two calls of `run`; only while
    // orri_jobs_trace() is on. The worker polled from `begin_ns` and slept from `sleep_ns` (0: it
    // did not sleep). Called on that worker while the graph runs. NULL: waits are not reported.
    void (*waited)(void* context, uint32_t worker, uint64_t begin_ns, uint64_t sleep_ns,
                   uint64_t end_ns);
    void* context; // Passed to `run` and `waited`.
    struct orri_graph_memory*
        memory;               // Memory for the state of a run, made by orri_graph_reserve().
    uint32_t memory_capacity; // Nodes that `memory` is large enough for.
} orri_graph;

// Reserves memory to run `nodes` nodes with this pool. Call between runs. Returns false when memory
// is refused (no error text); what was reserved before is kept. Allocates.
bool orri_graph_reserve(orri_jobs* jobs, orri_graph* graph, uint32_t nodes);
void orri_graph_free(orri_jobs* jobs, orri_graph* graph);

// Runs the whole graph. Returns when every node is done and no other thread accesses the graph any
// more. Never fails and allocates nothing. A graph without parallelism causes no communication with
// other threads. `run` is called with rounding to nearest and without flush to zero, whatever the
// thread's settings were. Must not be called from `run`.
void orri_jobs_run(orri_jobs* jobs, orri_graph* graph);

// Reports that this worker now works on `what`, so that the watchdog can name the stuck part of a
// node that does several things. Call from `run`, or on the calling thread while orri_jobs_watch()
// is on.
void orri_jobs_report(orri_jobs* jobs, uint32_t worker, uint32_t what);
// Turns the watchdog on or off for work that the calling thread does outside a graph. Call between
// runs, alternately on and off.
void orri_jobs_watch(orri_jobs* jobs, bool on);

// Counters of one worker since the pool was created. Read by the calling thread between runs.
typedef struct orri_jobs_stats {
    uint64_t units;            // Units run.
    uint64_t claims;           // Calls of `run`.
    uint64_t steals;           // Claims taken from the queue of another worker.
    uint64_t sleeps;           // Times the worker went to sleep.
    uint64_t noted;            // Sum of orri_jobs_note().
    uint64_t busy_ns, idle_ns; // Time inside `run`, and the rest of the time of timed runs.
} orri_jobs_stats;
void orri_jobs_stats_get(const orri_jobs* jobs, uint32_t worker, orri_jobs_stats* out);
// Turns time measurement on or off. Costs two clock reads per call of `run`. Off by default. Call
// between runs.
void orri_jobs_time(orri_jobs* jobs, bool on);
// Turns reports of waits (orri_graph.waited) on or off. Costs two clock reads per wait. Off by
// default. Call between runs.
void orri_jobs_trace(orri_jobs* jobs, bool on);
// Adds to the worker's counter `noted`, which has a meaning only for the owner of the graph. Call
// from `run`.
void orri_jobs_note(orri_jobs* jobs, uint32_t worker, uint64_t amount);

#endif
