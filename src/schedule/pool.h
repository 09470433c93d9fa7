// SPDX-License-Identifier: MIT
// Workers, and the graphs they run together. A graph is a set of nodes with an order between some of them; a node is a number
// of units, each to be done exactly once, by whoever comes. Nothing here knows of systems or worlds: what a node means, its
// owner says. The caller is worker 0 and always works itself, so that a graph ends even when no other worker ever comes.
#ifndef ORRI_POOL_H
#define ORRI_POOL_H

#include "base/env.h"
#include <orrery/schedule.h>
#include <stdatomic.h>

typedef struct orri_pool orri_pool;

typedef struct orri_pool_desc {
    uint32_t workers;    // With the caller; at least 1. More than there are cores is allowed.
    const orr_pool* own; // Threads of the user's; NULL: the pool makes workers − 1 threads.
    uint64_t stuck_ns;   // A node that runs longer is named in the log, once each run; 0: never.
    // Called once on every thread before it works for the first time: rounding mode and the like. May be NULL.
    void (*enter)(void);
} orri_pool_desc;

// NULL when refused for want of memory (reported). Threads that cannot be had are a warning in the log: the pool has fewer.
orri_pool* orri_pool_create(orr_env* env, const orri_pool_desc* desc);
// Joins all threads. No graph runs.
void orri_pool_destroy(orri_pool* pool);
// How many there are now, with the caller.
uint32_t orri_pool_workers(const orri_pool* pool);

// A node begins when all nodes that have it in their `next` are done; it is done when all its units are.
typedef struct orri_node {
    const char* name; // For the watch and the trace.
    uint32_t items;   // Units; 0: it is done at once.
    uint32_t
        grain; // So many are handed out together; at least 1. As many as items: all to one worker, in order.
    uint32_t needs;                  // How many nodes have it in `next`.
    uint32_t next_first, next_count; // In orri_graph.next.
    bool here;                       // Only on the caller.
} orri_node;

// Nodes stand in an order that would do for one worker: `next` holds greater numbers only.
typedef struct orri_graph {
    orri_node* nodes;
    uint32_t node_count;
    const uint32_t* next;
    // Does units [first, last) of a node. Two calls never get the same unit; what a call did is seen by whoever runs a later
    // node, and by the caller afterwards.
    void (*run)(void* context, uint32_t node, uint32_t first, uint32_t last, uint32_t worker);
    void* context;
    struct orri_node_state* states; // [state_capacity], see orri_graph_reserve().
    uint32_t state_capacity;
} orri_graph;

// Room to run `nodes` nodes. False when refused (reported).
bool orri_graph_reserve(orri_pool* pool, orri_graph* graph, uint32_t nodes);
void orri_graph_free(orri_pool* pool, orri_graph* graph);

// Runs all of it and returns when all is done and no worker looks at the graph any more. Never fails, allocates nothing. A graph of which
// nothing can go side by side costs no message to another thread.
void orri_pool_run(orri_pool* pool, orri_graph* graph);

// Since the pool was made. Read by the caller between runs.
typedef struct orri_pool_stats {
    uint64_t units, claims, steals, sleeps;
    uint64_t busy_ns, idle_ns; // Only of runs with `timed` set.
} orri_pool_stats;
void orri_pool_stats_get(const orri_pool* pool, uint32_t worker, orri_pool_stats* out);
void orri_pool_time(orri_pool* pool, bool on);

#endif
