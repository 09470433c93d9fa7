// SPDX-License-Identifier: MIT
// Graphs that check themselves: a node begins after all nodes before it are done, every unit is run
// once, on a worker that may run it, and values that earlier nodes wrote without atomics are
// visible. Random graphs are made from a seed.
#ifndef ORR_JOBS_KIT_H
#define ORR_JOBS_KIT_H

#include "test.h"

#include "base/util.h"
#include "jobs/jobs.h"
#include <stdlib.h>

typedef struct plan_kit {
    orri_graph graph;
    orri_jobs* jobs;
    uint32_t nodes;
    uint32_t units;         // Of all nodes together.
    uint32_t* first_unit;   // [nodes + 1]
    uint32_t* before;       // Numbers of the nodes before each node, one list after the other.
    uint32_t* before_first; // [nodes + 1]
    uint64_t* value;        // [units] Plain: written by the unit, read by units of later nodes.
    _Atomic uint32_t* hits; // [units]
    _Atomic uint32_t* left; // [nodes] Units not done.
    _Atomic uint32_t* busy; // [workers] Calls in progress.
    _Atomic uint32_t wrong; // Bits below.
    uint32_t work;          // Loops in each unit.
    uint32_t yields;        // One of this many calls yields; 0: none.
} plan_kit;

enum {
    PLAN_EARLY = 1,     // A node began before a node it depends on was done.
    PLAN_TWICE = 2,     // A unit was run twice.
    PLAN_ELSEWHERE = 4, // A node for the caller ran on another worker.
    PLAN_SPLIT = 8,     // A whole node was run in several calls.
    PLAN_SAME = 16,     // Two simultaneous calls had the same worker number.
    PLAN_BOUNDS = 32,   // A unit number beyond the node's units.
};

static inline uint64_t plan_sum(const plan_kit* kit, uint32_t node, uint32_t unit)
{
    uint64_t sum = orri_hash_word(node, unit);
    for (uint32_t i = kit->before_first[node]; i < kit->before_first[node + 1]; i++) {
        uint32_t other = kit->before[i];
        for (uint32_t u = kit->first_unit[other]; u < kit->first_unit[other + 1]; u++) {
            sum = orri_hash_word(sum, kit->value[u]);
        }
    }
    return sum;
}

static inline void plan_run(void* context, uint32_t node, uint32_t first, uint32_t last,
                            uint32_t worker)
{
    plan_kit* kit = context;
    const orri_graph_node* info = &kit->graph.nodes[node];
    uint32_t wrong = 0;
    wrong |= first >= last || last > info->items ? PLAN_BOUNDS : 0;
    wrong |= info->caller_only && worker != 0 ? PLAN_ELSEWHERE : 0;
    wrong |= (info->caller_only || info->grain >= info->items) && last - first != info->items
                 ? PLAN_SPLIT
                 : 0;
    wrong |= atomic_fetch_add(&kit->busy[worker], 1) != 0 ? PLAN_SAME : 0;
    for (uint32_t i = kit->before_first[node]; i < kit->before_first[node + 1]; i++) {
        wrong |= atomic_load(&kit->left[kit->before[i]]) != 0 ? PLAN_EARLY : 0;
    }
    for (uint32_t unit = first; unit < last && wrong == 0; unit++) {
        uint32_t at = kit->first_unit[node] + unit;
        wrong |= atomic_fetch_add(&kit->hits[at], 1) != 0 ? PLAN_TWICE : 0;
        kit->value[at] = plan_sum(kit, node, unit);
        for (volatile uint32_t i = 0; i < kit->work; i++) {
        }
    }
    if (kit->yields != 0 && (node + first) % kit->yields == 0) {
        orr_platform_default()->thread_yield(NULL);
    }
    atomic_fetch_sub(&kit->left[node], last - first);
    atomic_fetch_sub(&kit->busy[worker], 1);
    if (wrong != 0) {
        atomic_fetch_or(&kit->wrong, wrong);
    }
}

static inline void* plan_memory(size_t count, size_t size)
{
    void* data = calloc(count > 0 ? count : 1, size);
    CHECK(data != NULL);
    return data;
}

// Fills in the data derived from `nodes[].next`: counts and reverse lists.
static inline void plan_complete(plan_kit* kit)
{
    orri_graph* graph = &kit->graph;
    uint32_t edges = 0;
    kit->nodes = graph->node_count;
    kit->first_unit = plan_memory(kit->nodes + 1, sizeof(uint32_t));
    kit->before_first = plan_memory(kit->nodes + 2, sizeof(uint32_t));
    for (uint32_t n = 0; n < kit->nodes; n++) {
        kit->first_unit[n + 1] = kit->first_unit[n] + graph->nodes[n].items;
        edges += graph->nodes[n].next_count;
        for (uint32_t i = 0; i < graph->nodes[n].next_count; i++) {
            kit->before_first[graph->next[graph->nodes[n].next_first + i] + 2]++;
            graph->nodes[graph->next[graph->nodes[n].next_first + i]].needs++;
        }
    }
    for (uint32_t n = 0; n < kit->nodes; n++) {
        kit->before_first[n + 2] += kit->before_first[n + 1];
    }
    kit->before = plan_memory(edges, sizeof(uint32_t));
    for (uint32_t n = 0; n < kit->nodes; n++) {
        for (uint32_t i = 0; i < graph->nodes[n].next_count; i++) {
            kit->before[kit->before_first[graph->next[graph->nodes[n].next_first + i] + 1]++] = n;
        }
    }
    kit->units = kit->first_unit[kit->nodes];
    kit->value = plan_memory(kit->units, sizeof(uint64_t));
    kit->hits = plan_memory(kit->units, sizeof(uint32_t));
    kit->left = plan_memory(kit->nodes, sizeof(uint32_t));
    kit->busy = plan_memory(ORRI_JOBS_MOST, sizeof(uint32_t));
    graph->run = plan_run;
    graph->context = kit;
    CHECK(orri_graph_reserve(kit->jobs, graph, graph->node_count));
}

static inline void plan_begin(plan_kit* kit, orri_jobs* jobs, uint32_t nodes, uint32_t edges_most)
{
    *kit = (plan_kit){.jobs = jobs};
    kit->graph.nodes = plan_memory(nodes, sizeof(orri_graph_node));
    kit->graph.node_count = nodes;
    kit->graph.next = plan_memory(edges_most, sizeof(uint32_t));
}

// A chain, or with `width` > 1 that many chains side by side; all nodes are whole.
static inline void plan_chain(plan_kit* kit, orri_jobs* jobs, uint32_t nodes, uint32_t items,
                              uint32_t grain)
{
    plan_begin(kit, jobs, nodes, nodes);
    for (uint32_t n = 0; n < nodes; n++) {
        kit->graph.nodes[n] = (orri_graph_node){.name = "link",
                                                .items = items,
                                                .grain = grain,
                                                .next_first = n,
                                                .next_count = n + 1 < nodes};
        ((uint32_t*)(uintptr_t)kit->graph.next)[n] = n + 1;
    }
    plan_complete(kit);
}

static inline void plan_random(plan_kit* kit, orri_jobs* jobs, uint64_t seed, uint32_t nodes,
                               uint32_t items_most)
{
    uint32_t most = nodes * 4, edges = 0, key = 0;
    plan_begin(kit, jobs, nodes, most);
    uint32_t* next = (uint32_t*)(uintptr_t)kit->graph.next;
    uint32_t near = 1 + (uint32_t)orr_random_below(orr_random(seed, key++, 1, 0), nodes);
#define PLAN_RANDOM(count) ((uint32_t)orr_random_below(orr_random(seed, key++, 0, 0), count))
    for (uint32_t n = 0; n < nodes; n++) {
        uint32_t items = PLAN_RANDOM(4) == 0 ? 1 : PLAN_RANDOM(items_most + 1);
        orri_graph_node* node = &kit->graph.nodes[n];
        *node = (orri_graph_node){.name = "random", .items = items, .next_first = edges};
        node->grain = PLAN_RANDOM(3) == 0 ? items + 1 : 1 + PLAN_RANDOM(5);
        node->caller_only = PLAN_RANDOM(10) == 0;
        uint32_t wanted = PLAN_RANDOM(4);
        for (uint32_t i = 0; i < wanted && edges < most && n + 1 < nodes; i++) {
            uint32_t span = near < nodes - n - 1 ? near : nodes - n - 1;
            uint32_t to = n + 1 + PLAN_RANDOM(span);
            bool there = false;
            for (uint32_t j = node->next_first; j < edges; j++) {
                there |= next[j] == to;
            }
            if (!there) {
                next[edges++] = to;
                node->next_count++;
            }
        }
    }
#undef PLAN_RANDOM
    plan_complete(kit);
}

// Runs the graph and checks everything.
static inline void plan_check(plan_kit* kit)
{
    for (uint32_t n = 0; n < kit->nodes; n++) {
        kit->left[n] = kit->graph.nodes[n].items;
    }
    for (uint32_t u = 0; u < kit->units; u++) {
        kit->hits[u] = 0;
        kit->value[u] = 0;
    }
    orri_jobs_run(kit->jobs, &kit->graph);
    CHECK_EQ(kit->wrong, 0);
    for (uint32_t n = 0; n < kit->nodes; n++) {
        CHECK_EQ(kit->left[n], 0);
        for (uint32_t u = kit->first_unit[n]; u < kit->first_unit[n + 1]; u++) {
            CHECK_EQ(kit->hits[u], 1);
            CHECK(kit->value[u] == plan_sum(kit, n, u - kit->first_unit[n]));
        }
    }
}

static inline void plan_free(plan_kit* kit)
{
    orri_graph_free(kit->jobs, &kit->graph);
    free(kit->graph.nodes);
    free((void*)(uintptr_t)kit->graph.next);
    free(kit->first_unit);
    free(kit->before);
    free(kit->before_first);
    free(kit->value);
    free((void*)kit->hits);
    free((void*)kit->left);
    free((void*)kit->busy);
}

#endif
