// SPDX-License-Identifier: MIT
// The conflicts of each group as edges. In small groups pairs of systems are compared; in large ones
// that would take time with the square of their number, see conflict_sets.c.
#include "schedule/plan/conflict_graph.h"

// Pairs of groups of at most this many systems are always compared.
#define CONFLICT_GRAPH_PAIRS_MAX 32u
// Entering a system into sets costs about as much as comparing this many pairs.
#define CONFLICT_GRAPH_ENTER_COST 16u

static bool conflict_graph_edge_add(orri_conflict_graph* graph, orr_world* world, uint32_t from,
                                    uint32_t to)
{
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_SYSTEM, &graph->edges, &graph->edge_capacity,
                      graph->edge_count + 1)) {
        return false;
    }
    graph->edges[graph->edge_count++] = (orri_conflict_edge){from, to};
    return true;
}

// The systems that system `to` of a group waits for; not those it waits for through another one.
static bool conflict_graph_find_step(orri_conflict_graph* graph, orr_world* world,
                                     const orri_step* group, uint32_t to, uint32_t words)
{
    uint64_t* mine = graph->reach + (size_t)to * words;
    memset(mine, 0, words * sizeof *mine);
    for (uint32_t from = to; from-- > 0;) {
        if (!orri_bit_get(mine, from) &&
            orri_conflict(world, group[from].system, group[to].system)) {
            if (!conflict_graph_edge_add(graph, world, from, to)) {
                return false;
            }
            const uint64_t* theirs = graph->reach + (size_t)from * words;
            for (uint32_t w = 0; w < words; w++) {
                mine[w] |= theirs[w];
            }
            orri_bit_set(mine, from, true);
        }
    }
    return true;
}

static bool conflict_graph_find_pairs(orri_conflict_graph* graph, const orri_pipeline* pipe,
                                      uint32_t first, uint32_t point)
{
    uint32_t count = point - first, words = count / 64 + 1;
    if (!ORRI_RESERVE(&pipe->world->env, ORR_MEMORY_SYSTEM, &graph->reach, &graph->reach_capacity,
                      count * words)) {
        return false;
    }
    for (uint32_t to = 0; to < count; to++) {
        if (!conflict_graph_find_step(graph, pipe->world, &pipe->steps[first], to, words)) {
            return false;
        }
    }
    return true;
}

// Whether to compare pairs. Sets have an entry for each cluster and field of a query.
static bool conflict_graph_by_pairs(const orri_pipeline* pipe, uint32_t first, uint32_t point,
                                    orri_conflict_by by)
{
    uint64_t count = point - first, sets = 0;
    if (count <= CONFLICT_GRAPH_PAIRS_MAX || by != ORRI_CONFLICT_BY_COST) {
        return by != ORRI_CONFLICT_BY_SETS;
    }
    for (uint32_t i = first; i < point; i++) {
        const orr_query* query = pipe->steps[i].system->query;
        sets += CONFLICT_GRAPH_ENTER_COST + (uint64_t)query->entry_count * query->field_count;
    }
    return count * (count - 1) / 2 <= sets;
}

static bool conflict_graph_find_group(orri_conflict_graph* graph, const orri_pipeline* pipe,
                                      uint32_t point, orri_conflict_by by)
{
    uint32_t first = pipe->steps[point].first;
    orri_conflict_group group = {.edge_first = graph->edge_count, .join_first = graph->join_count};
    bool found = conflict_graph_by_pairs(pipe, first, point, by)
                     ? conflict_graph_find_pairs(graph, pipe, first, point)
                     : orri_conflict_sets_find(graph, pipe, first, point);
    group.edge_last = graph->edge_count;
    group.join_last = graph->join_count;
    graph->groups[first] = group;
    return found;
}

bool orri_conflict_graph_make(orri_conflict_graph* graph, const orri_pipeline* pipe,
                              orri_conflict_by by)
{
    graph->edge_count = graph->join_count = 0;
    bool found = ORRI_RESERVE(&pipe->world->env, ORR_MEMORY_SYSTEM, &graph->groups,
                              &graph->group_capacity, pipe->step_count);
    for (uint32_t i = 0; found && i < pipe->step_count; i++) {
        if (pipe->steps[i].system == NULL) {
            found = conflict_graph_find_group(graph, pipe, i, by);
        }
    }
    return found;
}

void orri_conflict_graph_free(orr_world* world, orri_conflict_graph* graph)
{
    orri_env* env = &world->env;
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, graph->edges, graph->edge_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, graph->joins, graph->join_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, graph->groups, graph->group_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, graph->reach, graph->reach_capacity);
    *graph = (orri_conflict_graph){0};
}

// ---- of a pipeline ------------------------------------------------------------------------------

const orri_conflict_graph* orri_conflicts_of(orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    orri_conflict_graph* graph = pipe->conflicts;
    if (ORR_LIKELY(graph != NULL && graph->found && graph->clusters == world->clusters.sequence)) {
        return graph;
    }
    if (graph == NULL) {
        graph = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SYSTEM, orri_conflict_graph, 1);
        if (graph == NULL) {
            return NULL;
        }
        pipe->conflicts = graph;
    }
    graph->found = orri_conflict_graph_make(graph, pipe, ORRI_CONFLICT_BY_COST);
    graph->clusters = world->clusters.sequence;
    return graph->found ? graph : NULL;
}

void orri_conflicts_invalidate(orri_pipeline* pipe)
{
    if (pipe->conflicts != NULL) {
        pipe->conflicts->found = false;
    }
}

void orri_conflicts_free(orri_pipeline* pipe)
{
    if (pipe->conflicts != NULL) {
        orri_conflict_graph_free(pipe->world, pipe->conflicts);
        ORRI_FREE(&pipe->world->env, ORR_MEMORY_SYSTEM, orri_conflict_graph, pipe->conflicts, 1);
        pipe->conflicts = NULL;
    }
}

#undef CONFLICT_GRAPH_PAIRS_MAX
#undef CONFLICT_GRAPH_ENTER_COST
