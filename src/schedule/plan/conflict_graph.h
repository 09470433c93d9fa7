// SPDX-License-Identifier: MIT
// Which systems of each group of a plan wait for which, as edges. Two systems that conflict
// (orri_conflict) are connected, directly or through other systems and joins; two systems that are
// connected conflict, directly or through others.
#ifndef ORRI_CONFLICT_GRAPH_H
#define ORRI_CONFLICT_GRAPH_H

#include "schedule/schedule.h"

// `to` waits for `from`. A number below the count of systems of the group is a system, by position
// in the group; others are joins. A join stands for the systems that it waits for: n systems that
// wait for m others need n + m edges.
typedef struct orri_conflict_edge {
    uint32_t from, to;
} orri_conflict_edge;

// The edges and joins of a group: ranges.
typedef struct orri_conflict_group {
    uint32_t edge_first, edge_last;
    uint32_t join_first, join_last;
} orri_conflict_group;

// How conflicts are found: the result means the same.
typedef enum orri_conflict_by {
    ORRI_CONFLICT_BY_COST,  // The cheaper way.
    ORRI_CONFLICT_BY_PAIRS, // Compares pairs of systems.
    ORRI_CONFLICT_BY_SETS,  // By what each system accesses: near-linear.
} orri_conflict_by;

typedef struct orri_conflict_graph {
    orri_conflict_edge* edges; // Of each group, ascending by `to`, apart from edges to joins.
    uint32_t edge_count, edge_capacity;
    // By join: the first system of the group that waits for it. All that the join waits for stand
    // before that system. Of each group, ascending.
    uint32_t* joins;
    uint32_t join_count, join_capacity;
    orri_conflict_group* groups; // By first step.
    uint32_t group_capacity;
    // Scratch: by system of a group, the systems that it waits for, directly or not.
    uint64_t* reach;
    uint32_t reach_capacity;
    // Of a pipeline's graph: clusters.sequence when the edges were found, if they were.
    uint64_t clusters;
    bool found;
} orri_conflict_graph;

// The graph of a pipeline's plan, found at first use, and again when systems or clusters were added.
// NULL when refused (silent).
const orri_conflict_graph* orri_conflicts_of(orri_pipeline* pipe);

// Finds the edges of all groups of the plan. False when refused (silent).
bool orri_conflict_graph_make(orri_conflict_graph* graph, const orri_pipeline* pipe,
                              orri_conflict_by by);
void orri_conflict_graph_free(orr_world* world, orri_conflict_graph* graph);

// conflict_sets.c: adds the edges and joins of steps [first, point). False when refused (silent).
bool orri_conflict_sets_find(orri_conflict_graph* graph, const orri_pipeline* pipe, uint32_t first,
                             uint32_t point);

#endif
