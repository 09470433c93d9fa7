// SPDX-License-Identifier: MIT
// A serial run in a random order each tick, among the orders that workers could take: systems of a
// group that do not conflict, and chunks of parallel systems, come in random order. Every such
// order has the same result, unless a system depends on something it did not declare. So hidden
// dependencies show without a second thread, and the seed reproduces them.
#include "schedule/plan/conflict_graph.h"
#include <stdlib.h>

// The state of a group while it is shuffled. A node is a step of the group, or a join
// (conflict_graph.h), which waits and is waited for as a step.
typedef struct shuffle_state {
    orri_pipeline* pipe;
    uint32_t first, steps; // First step of the group, and their number.
    uint32_t nodes;
    const orri_conflict_edge* edges;
    uint32_t edge_count;
    uint32_t* waits; // [nodes]: how many nodes it waits for that are not done.
    // Edges by `from`: those of node i are next[next_first[i]] to next[next_first[i + 1] - 1].
    uint32_t *next_first, *next; // [nodes + 1], [edge_count]
    uint32_t* ready;             // [steps]: those that are due and wait for none, in any order.
    uint32_t ready_count;
    uint32_t* done; // [nodes]: nodes that are done, whose successors still count them.
    uint32_t done_count;
    uint32_t* units; // Order of units of the running system.
    uint64_t turn;   // Random numbers drawn.
} shuffle_state;

// A random number below `count`, by seed, tick and group.
static uint32_t shuffle_pick(shuffle_state* s, uint32_t count)
{
    uint64_t seed = s->pipe->world->schedule->shuffle;
    return (uint32_t)(orr_random(seed, s->pipe->tick, s->first, s->turn++) % count);
}

static orri_system* shuffle_system(const shuffle_state* s, uint32_t step)
{
    return s->pipe->steps[s->first + step].system;
}

// ---- systems ------------------------------------------------------------------------------------

// Sorts the edges by `from`, and counts them by `to`.
static void shuffle_connect(shuffle_state* s)
{
    for (uint32_t e = 0; e < s->edge_count; e++) {
        s->next_first[s->edges[e].from]++;
        s->waits[s->edges[e].to]++;
    }
    for (uint32_t i = 0, sum = 0; i <= s->nodes; i++) {
        sum += s->next_first[i];
        s->next_first[i] = sum; // The end; each edge below moves it to the front by one.
    }
    for (uint32_t e = s->edge_count; e-- > 0;) {
        s->next[--s->next_first[s->edges[e].from]] = s->edges[e].to;
    }
}

// A node waits for no other. There is nothing to run for joins and for systems that are not due.
static void shuffle_free(shuffle_state* s, uint32_t node)
{
    if (node < s->steps && shuffle_system(s, node)->due) {
        s->ready[s->ready_count++] = node;
    } else {
        s->done[s->done_count++] = node;
    }
}

// The successors of nodes that are done wait for one less.
static void shuffle_release(shuffle_state* s)
{
    while (s->done_count > 0) {
        uint32_t node = s->done[--s->done_count];
        for (uint32_t e = s->next_first[node]; e < s->next_first[node + 1]; e++) {
            if (--s->waits[s->next[e]] == 0) {
                shuffle_free(s, s->next[e]);
            }
        }
    }
}

static void shuffle_begin(shuffle_state* s)
{
    shuffle_connect(s);
    for (uint32_t i = 0; i < s->nodes; i++) {
        if (s->waits[i] == 0) {
            shuffle_free(s, i);
        }
    }
    shuffle_release(s);
}

// Takes a random step that waits for none.
static uint32_t shuffle_take(shuffle_state* s)
{
    uint32_t at = shuffle_pick(s, s->ready_count), step = s->ready[at];
    s->ready[at] = s->ready[--s->ready_count];
    return step;
}

// A step has run.
static void shuffle_done(shuffle_state* s, uint32_t step)
{
    s->done[s->done_count++] = step;
    shuffle_release(s);
}

// ---- chunks -------------------------------------------------------------------------------------

// A random order of the system's units; NULL: ascending.
static const uint32_t* shuffle_units(shuffle_state* s, const orri_system* system)
{
    if (!system->desc.parallel || !system->in_units || system->unsplit ||
        system->query->unit_count == 0) {
        return NULL;
    }
    uint32_t count = system->query->unit_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = shuffle_pick(s, i + 1);
        s->units[i] = s->units[at];
        s->units[at] = i;
    }
    return s->units;
}

// ---- running ------------------------------------------------------------------------------------

static uint32_t shuffle_units_most(const orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    uint32_t most = 0;
    for (uint32_t i = first; i < point; i++) {
        const orri_system* system = pipe->steps[i].system;
        if (system->due && system->in_units && system->query->unit_count > most) {
            most = system->query->unit_count;
        }
    }
    return most;
}

// Runs the group. `words` are zero: see shuffle_words().
static void shuffle_run(shuffle_state* s, uint32_t* words)
{
    s->waits = words;
    s->next_first = s->waits + s->nodes;
    s->next = s->next_first + s->nodes + 1;
    s->ready = s->next + s->edge_count;
    s->done = s->ready + s->steps;
    s->units = s->done + s->nodes;
    shuffle_begin(s);
    while (s->ready_count > 0) {
        uint32_t step = shuffle_take(s);
        orri_system* system = shuffle_system(s, step);
        orri_group_run_one(s->pipe->world, system, shuffle_units(s, system));
        shuffle_done(s, step);
    }
}

// The memory that a group needs.
static size_t shuffle_words(const shuffle_state* s)
{
    return 3 * (size_t)s->nodes + 1 + s->edge_count + s->steps +
           shuffle_units_most(s->pipe, s->first, s->first + s->steps);
}

bool orri_shuffle_run(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    orri_env* env = &pipe->world->env;
    if (ORR_LIKELY(pipe->world->schedule->shuffle == 0)) {
        return false;
    }
    const orri_conflict_graph* graph = orri_conflicts_of(pipe);
    if (graph == NULL) {
        return false;
    }
    const orri_conflict_group* group = &graph->groups[first];
    uint32_t edges = group->edge_last - group->edge_first;
    shuffle_state s = {.pipe = pipe,
                       .first = first,
                       .steps = point - first,
                       .nodes = point - first + group->join_last - group->join_first,
                       .edges = edges > 0 ? &graph->edges[group->edge_first] : NULL,
                       .edge_count = edges};
    size_t room = shuffle_words(&s);
    uint32_t* words = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, uint32_t, room);
    if (words == NULL) {
        return false;
    }
    bool open = orri_group_open_ahead(pipe, first, point);
    if (open) {
        shuffle_run(&s, words);
    }
    ORRI_FREE(env, ORR_MEMORY_TEMP, uint32_t, words, room);
    return open;
}

uint64_t orri_shuffle_env(void)
{
    const char* text = getenv("ORR_SHUFFLE");
    if (text == NULL || text[0] == '\0') {
        return 0;
    }
    char* end;
    unsigned long long seed = strtoull(text, &end, 10);
    return *end == '\0' ? seed : orr_hash(text, strlen(text), 0);
}

void orri_shuffle_set(orr_world* world, uint64_t seed)
{
    if (orri_schedule_of(world) != NULL) {
        world->schedule->shuffle = seed;
    }
}
