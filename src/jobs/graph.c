// SPDX-License-Identifier: MIT
// Running a graph. A node is either whole (one worker does all of it) or shared: then its units are dealt out in one part per
// worker, the same units to the same worker in every run, and whoever has none left steals the back half of another's.
//
// Nodes that may begin stand in a bitmap, the lowest number first. Of those a worker made ready it keeps one for itself
// without telling anybody; so a chain of nodes stays on one worker and costs no word that others look at.
#include "base/float.h"
#include "base/util.h"
#include "jobs/jobs_detail.h"
#include <stddef.h>

// Units [first, last) of a node that nobody has begun: last << 32 | first. Only its owner fills it, and only when it is
// empty; everybody takes from it. A value says all there is to say, so it does no harm if it was another in between.
typedef struct graph_part {
    _Alignas(ORRI_JOBS_LINE) _Atomic uint64_t range;
} graph_part;

typedef struct graph_state {
    _Atomic uint64_t needs; // Nodes before it that are not done.
    _Atomic uint64_t left;  // Units of a shared node that are not done.
} graph_state;

typedef struct graph_word {
    _Atomic uint64_t ready; // A bit: the node may begin, and may have units that nobody has begun.
    _Atomic uint64_t here;  // The same for nodes that are only for the caller.
} graph_word;

// One block: this, then the rest of the words, states and parts. What changes in a run begins on the second line, so that in
// small graphs all of it is one line.
struct orri_graph_room {
    graph_state* states;
    graph_part* parts;   // [node][worker]
    uint32_t word_count; // In use.
    uint32_t end_count;
    _Alignas(
        ORRI_JOBS_LINE) _Atomic uint64_t ends; // Nodes that nothing follows and that are not done.
    graph_word words[];
};

// What a worker has in hand.
typedef struct graph_hand {
    orri_jobs_worker* me;
    orri_jobs* jobs;
    const orri_graph* graph;
    struct orri_graph_room* room;
    uint32_t keep;   // A node that is ready and that only this worker knows of.
    uint32_t wanted; // Claims that were put into the bitmap and nobody told of.
    bool caller;     // Likewise, whether there is one for the caller.
    bool done;       // It finished the last node.
} graph_hand;

typedef struct graph_range {
    uint32_t first, last;
} graph_range;

// ---- room -----------------------------------------------------------------------------------------------------------

static size_t graph_lines(size_t bytes)
{
    return (bytes + ORRI_JOBS_LINE - 1) & ~(size_t)(ORRI_JOBS_LINE - 1);
}

static size_t graph_head_size(uint32_t nodes)
{
    return graph_lines(offsetof(struct orri_graph_room, words) +
                       (size_t)(nodes / 64) * sizeof(graph_word));
}

static size_t graph_states_size(uint32_t nodes)
{
    return graph_lines((size_t)nodes * sizeof(graph_state));
}

static size_t graph_room_size(const orri_jobs* jobs, uint32_t nodes)
{
    return graph_head_size(nodes) + graph_states_size(nodes) +
           (size_t)nodes * jobs->asked * sizeof(graph_part);
}

static void graph_room_lay_out(struct orri_graph_room* room, uint32_t nodes)
{
    char* at = (char*)room + graph_head_size(nodes);
    room->states = (graph_state*)(void*)at;
    room->parts = (graph_part*)(void*)(at + graph_states_size(nodes));
}

bool orri_graph_reserve(orri_jobs* jobs, orri_graph* graph, uint32_t nodes)
{
    if (nodes <= graph->room_capacity) {
        return true;
    }
    uint64_t wanted = (uint64_t)graph->room_capacity * 2 > nodes ? graph->room_capacity * 2 : nodes;
    uint32_t capacity = (uint32_t)((wanted + 63) & ~(uint64_t)63);
    struct orri_graph_room* room = orri_alloc_zero(jobs->env, ORR_MEMORY_SYSTEM,
                                                   graph_room_size(jobs, capacity), ORRI_JOBS_LINE);
    if (room == NULL) {
        return false;
    }
    graph_room_lay_out(room, capacity);
    orri_graph_free(jobs, graph);
    graph->room = room;
    graph->room_capacity = capacity;
    return true;
}

void orri_graph_free(orri_jobs* jobs, orri_graph* graph)
{
    orri_free(jobs->env, ORR_MEMORY_SYSTEM, graph->room,
              graph_room_size(jobs, graph->room_capacity), ORRI_JOBS_LINE);
    graph->room = NULL;
    graph->room_capacity = 0;
}

// ---- nodes that become ready ------------------------------------------------------------------------------------------

static bool graph_whole(const orri_graph_node* node)
{
    return node->here || node->items <= node->grain;
}

// The caller, who has not opened the gate: nobody else looks at the graph, so its words need no care.
static bool graph_alone(const graph_hand* hand)
{
    return hand->me->number == 0 && !hand->jobs->open;
}

static graph_part* graph_parts(const graph_hand* hand, uint32_t node)
{
    return &hand->room->parts[(size_t)node * hand->jobs->workers];
}

static uint32_t graph_claims(uint32_t units, uint32_t grain)
{
    return units / grain + (units % grain != 0);
}

static uint64_t graph_pack(uint32_t first, uint32_t last)
{
    return (uint64_t)last << 32 | first;
}

// Deals the units out; nobody looks at the parts before the node is in the bitmap. Returns how many workers get some.
static uint32_t graph_deal(const graph_hand* hand, uint32_t node)
{
    const orri_graph_node* info = &hand->graph->nodes[node];
    graph_part* parts = graph_parts(hand, node);
    uint32_t workers = hand->jobs->workers;
    uint32_t claims = graph_claims(info->items, info->grain);
    uint32_t dealt = claims < workers ? claims : workers;
    uint32_t first = 0;
    for (uint32_t i = 0; i < workers; i++) {
        uint64_t end = i < dealt ? (uint64_t)claims * (i + 1) / dealt * info->grain : first;
        uint32_t last = end < info->items ? (uint32_t)end : info->items;
        orri_jobs_put(&parts[i].range, graph_pack(first, last));
        first = last;
    }
    orri_jobs_put(&hand->room->states[node].left, info->items);
    return dealt;
}

static void graph_show(const graph_hand* hand, uint32_t node, bool here)
{
    graph_word* words = &hand->room->words[node / 64];
    _Atomic uint64_t* word = here ? &words->here : &words->ready;
    if (graph_alone(hand)) {
        orri_jobs_put(word, orri_jobs_peek(word) | orri_jobs_bit(node % 64));
    } else {
        orri_jobs_on(hand->jobs, word, orri_jobs_bit(node % 64));
    }
}

// One less of something; true when it was the last.
static bool graph_last(const graph_hand* hand, _Atomic uint64_t* word)
{
    if (graph_alone(hand)) {
        orri_jobs_put(word, orri_jobs_peek(word) - 1);
        return orri_jobs_peek(word) == 0;
    }
    return orri_jobs_add(hand->jobs, word, UINT64_MAX) == 1;
}

// Of several nodes that are ready, the lowest is kept.
static uint32_t graph_keep(graph_hand* hand, uint32_t node)
{
    uint32_t other = hand->keep;
    if (other == ORRI_GRAPH_NONE || node < other) {
        hand->keep = node;
        return other;
    }
    return node;
}

static void graph_ready(graph_hand* hand, uint32_t node)
{
    const orri_graph_node* info = &hand->graph->nodes[node];
    ORR_ASSERT(info->grain > 0);
    if (!graph_whole(info)) {
        hand->wanted += graph_deal(hand, node);
        graph_show(hand, node, false);
    } else if (info->here && hand->me->number != 0) {
        graph_show(hand, node, true);
        hand->caller = true;
    } else if ((node = graph_keep(hand, node)) != ORRI_GRAPH_NONE) {
        bool here = hand->graph->nodes[node].here;
        graph_show(hand, node, here);
        hand->wanted += !here;
    }
}

// Opens the gate at the first thing that others could do.
static void graph_call_others(graph_hand* hand, uint32_t count)
{
    orri_jobs* jobs = hand->jobs;
    bool first = graph_alone(hand);
    if (first) {
        jobs->open = true;
    }
    orri_jobs_add(jobs, &jobs->gate, ORRI_GATE_BELL + (first ? ORRI_GATE_OPEN : 0));
    orri_jobs_wake_some(jobs, count < jobs->wakes ? count : jobs->wakes);
    if (first && jobs->has_own) {
        orri_jobs_invite(jobs);
    }
}

// One of the claims this worker takes itself, unless it has kept a node.
static void graph_tell(graph_hand* hand)
{
    uint32_t own = hand->wanted > 0 && hand->keep == ORRI_GRAPH_NONE;
    uint32_t others = hand->wanted - own;
    bool caller = hand->caller;
    hand->wanted = 0;
    hand->caller = false;
    if (others > 0) {
        graph_call_others(hand, others);
    } else if (caller) {
        orri_jobs_add(hand->jobs, &hand->jobs->gate, ORRI_GATE_BELL);
    }
    if (caller && (orri_jobs_load(hand->jobs, &hand->jobs->asleep) & 1) != 0) {
        orri_jobs_wake(hand->jobs, 0);
    }
}

static void graph_finish(graph_hand* hand, uint32_t node)
{
    const orri_graph_node* info = &hand->graph->nodes[node];
    struct orri_graph_room* room = hand->room;
    if (info->next_count == 0) {
        hand->done = room->end_count == 1 ||
                     orri_jobs_add(hand->jobs, &room->ends, UINT64_MAX) == 1;
        return;
    }
    const uint32_t* next = hand->graph->next + info->next_first;
    for (uint32_t i = 0; i < info->next_count; i++) {
        // What waits for one node only needs no counting.
        if (hand->graph->nodes[next[i]].needs == 1 ||
            graph_last(hand, &room->states[next[i]].needs)) {
            graph_ready(hand, next[i]);
        }
    }
    graph_tell(hand);
}

// ---- units ----------------------------------------------------------------------------------------------------------

static void graph_call(graph_hand* hand, uint32_t node, uint32_t first, uint32_t last)
{
    orri_jobs_worker* me = hand->me;
    const orr_platform* platform = hand->jobs->platform;
    uint64_t claims = orri_jobs_peek(&me->claims) + 1;
    orri_jobs_put(&me->claims, claims);
    orri_jobs_count(&me->units, last - first);
    orri_jobs_put(&me->at, claims << 32 | (node + 1));
    uint64_t begin_ns = hand->jobs->timed ? platform->clock_ns(platform->user) : 0;
    hand->graph->run(hand->graph->context, node, first, last, me->number);
    if (hand->jobs->timed) {
        orri_jobs_count(&me->busy_ns, platform->clock_ns(platform->user) - begin_ns);
    }
}

// From the front of the worker's own part.
static bool graph_take(const graph_hand* hand, graph_part* part, uint32_t grain, graph_range* out)
{
    uint64_t range = orri_jobs_load(hand->jobs, &part->range);
    for (;;) {
        uint32_t first = (uint32_t)range, last = (uint32_t)(range >> 32);
        if (first == last) {
            return false;
        }
        uint32_t end = last - first > grain ? first + grain : last;
        if (orri_jobs_swap(hand->jobs, &part->range, &range, graph_pack(end, last))) {
            *out = (graph_range){first, end};
            return true;
        }
    }
}

// The back half of another's part, in whole claims; its last claim as a whole.
static bool graph_steal(const graph_hand* hand, graph_part* part, uint32_t grain, graph_range* out)
{
    uint64_t range = orri_jobs_load(hand->jobs, &part->range);
    for (;;) {
        uint32_t first = (uint32_t)range, last = (uint32_t)(range >> 32);
        if (first == last) {
            return false;
        }
        uint32_t claims = graph_claims(last - first, grain);
        uint32_t middle = first + claims / 2 * grain;
        if (orri_jobs_swap(hand->jobs, &part->range, &range, graph_pack(first, middle))) {
            *out = (graph_range){middle, last};
            return true;
        }
    }
}

static bool graph_shown(const graph_hand* hand, uint32_t node)
{
    uint64_t ready = orri_jobs_load(hand->jobs, &hand->room->words[node / 64].ready);
    return (ready & orri_jobs_bit(node % 64)) != 0;
}

// What was stolen and is more than one claim goes into the worker's own part, where others may steal it again. While it was in
// neither part, somebody may have thought the node used up: then it is shown again.
static void graph_put_back(graph_hand* hand, uint32_t node, graph_range rest)
{
    _Atomic uint64_t* own = &graph_parts(hand, node)[hand->me->number].range;
    ORRI_SCHED_POINT(hand->jobs->platform, ORR_SCHED_STORE, own);
    atomic_store(own, graph_pack(rest.first, rest.last));
    if (!graph_shown(hand, node)) {
        graph_show(hand, node, false);
        graph_call_others(hand, 1);
    }
}

static bool graph_claim(graph_hand* hand, uint32_t node, graph_range* out)
{
    graph_part* parts = graph_parts(hand, node);
    uint32_t grain = hand->graph->nodes[node].grain;
    uint32_t number = hand->me->number, workers = hand->jobs->workers;
    if (graph_take(hand, &parts[number], grain, out)) {
        return true;
    }
    for (uint32_t i = 1; i < workers; i++) {
        uint32_t victim = number + i < workers ? number + i : number + i - workers;
        if (graph_steal(hand, &parts[victim], grain, out)) {
            orri_jobs_count(&hand->me->steals, 1);
            if (out->last - out->first > grain) {
                graph_put_back(hand, node, (graph_range){out->first + grain, out->last});
                out->last = out->first + grain;
            }
            return true;
        }
    }
    return false;
}

// Takes a shared node out of the bitmap that seems used up; looks again afterwards, as graph_put_back() does the other way
// round, so that one of the two sees the other.
static void graph_hide(const graph_hand* hand, uint32_t node)
{
    if (!graph_shown(hand, node)) {
        return;
    }
    orri_jobs_off(hand->jobs, &hand->room->words[node / 64].ready, orri_jobs_bit(node % 64));
    graph_part* parts = graph_parts(hand, node);
    for (uint32_t i = 0; i < hand->jobs->workers; i++) {
        uint64_t range = orri_jobs_load(hand->jobs, &parts[i].range);
        if ((uint32_t)range != (uint32_t)(range >> 32)) {
            graph_show(hand, node, false);
            return;
        }
    }
}

// Units done are counted once, when there are no more to be had: the count is the one word that all workers write. Who is
// sure to be the last has only to count: a node left in the bitmap costs a look, but the run may be over.
static void graph_share(graph_hand* hand, uint32_t node)
{
    _Atomic uint64_t* left = &hand->room->states[node].left;
    uint32_t done = 0;
    graph_range range;
    while (graph_claim(hand, node, &range)) {
        graph_call(hand, node, range.first, range.last);
        done += range.last - range.first;
    }
    bool last = done > 0 && orri_jobs_load(hand->jobs, left) == done;
    if (!last) {
        graph_hide(hand, node);
    }
    if (done > 0 && orri_jobs_add(hand->jobs, left, (uint64_t)0 - done) == done) {
        graph_finish(hand, node);
    }
    if (last && !hand->done) {
        graph_hide(hand, node);
    }
}

// ---- looking for work -------------------------------------------------------------------------------------------------

// The lowest node of a word of the bitmaps that this worker may do, a whole one taken out; ORRI_GRAPH_NONE if there is none.
static uint32_t graph_pick(const graph_hand* hand, uint32_t index)
{
    graph_word* word = &hand->room->words[index];
    for (;;) {
        uint64_t here = hand->me->number == 0 ? orri_jobs_load(hand->jobs, &word->here) : 0;
        uint64_t ready = orri_jobs_load(hand->jobs, &word->ready) | here;
        if (ready == 0) {
            return ORRI_GRAPH_NONE;
        }
        uint64_t bit = ready & (~ready + 1);
        uint32_t node = index * 64 + (uint32_t)__builtin_ctzll(ready);
        _Atomic uint64_t* from = (here & bit) != 0 ? &word->here : &word->ready;
        if (!graph_whole(&hand->graph->nodes[node]) ||
            (orri_jobs_off(hand->jobs, from, bit) & bit) != 0) {
            return node;
        }
    }
}

static uint32_t graph_find(graph_hand* hand)
{
    uint32_t node = hand->keep;
    hand->keep = ORRI_GRAPH_NONE;
    for (uint32_t i = 0; i < hand->room->word_count && node == ORRI_GRAPH_NONE; i++) {
        node = graph_pick(hand, i);
    }
    return node;
}

static bool graph_loop(graph_hand* hand)
{
    uint32_t node;
    while (!hand->done && (node = graph_find(hand)) != ORRI_GRAPH_NONE) {
        const orri_graph_node* info = &hand->graph->nodes[node];
        if (!graph_whole(info)) {
            graph_share(hand, node);
            continue;
        }
        if (info->items > 0) {
            graph_call(hand, node, 0, info->items);
        }
        graph_finish(hand, node);
    }
    orri_jobs_put(&hand->me->at, 0);
    return hand->done;
}

static graph_hand graph_hand_of(orri_jobs_worker* me, orri_graph* graph)
{
    return (graph_hand){
        .me = me, .jobs = me->jobs, .graph = graph, .room = graph->room, .keep = ORRI_GRAPH_NONE};
}

bool orri_graph_work(orri_jobs_worker* me)
{
    graph_hand hand = graph_hand_of(me, me->jobs->graph);
    return graph_loop(&hand);
}

// ---- the caller -------------------------------------------------------------------------------------------------------

// Writes only what changed: others have copies of these lines.
static void graph_begin_counts(struct orri_graph_room* room, uint32_t words, uint32_t ends)
{
    if (room->word_count != words || room->end_count != ends) {
        room->word_count = words;
        room->end_count = ends;
    }
    orri_jobs_put(&room->ends, ends);
    // A bit may be left of the last run: of a shared node that somebody showed again when it was used up.
    for (uint32_t i = 0; i < words; i++) {
        orri_jobs_put(&room->words[i].ready, 0);
        orri_jobs_put(&room->words[i].here, 0);
    }
}

static void graph_begin(graph_hand* hand)
{
    struct orri_graph_room* room = hand->room;
    uint32_t count = hand->graph->node_count, ends = 0;
    for (uint32_t i = 0; i < count; i++) {
        const orri_graph_node* node = &hand->graph->nodes[i];
        ends += node->next_count == 0;
        if (node->needs > 1) {
            orri_jobs_put(&room->states[i].needs, node->needs);
        }
    }
    graph_begin_counts(room, (count + 63) / 64, ends);
    for (uint32_t i = 0; i < count; i++) {
        if (hand->graph->nodes[i].needs == 0) {
            graph_ready(hand, i);
        }
    }
    graph_tell(hand);
}

static void graph_unwatch(orri_jobs* jobs)
{
    ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_STORE, &jobs->watched);
    atomic_store(&jobs->watched, 0);
}

// When this returns, nobody looks at the graph: whoever is in finds nothing and goes. Sleeping threads of the user's are sent
// home.
static void graph_end(orri_jobs* jobs)
{
    bool watched = jobs->stuck_ns != 0;
    if (watched) {
        graph_unwatch(jobs);
    }
    if (jobs->open && jobs->has_own) {
        orri_jobs_wake_some(jobs, UINT32_MAX);
    }
    if (watched || jobs->open) {
        uint64_t gate = orri_jobs_load(jobs, &jobs->gate);
        while ((gate & ORRI_GATE_ANY_IN) != 0) {
            gate = orri_jobs_wait(&jobs->members[0], gate, ORRI_GATE_ALL);
        }
        orri_jobs_waited(&jobs->members[0]);
    }
    jobs->open = false;
}

// Alone there is nothing to find out: the numbers are an order that does.
static void graph_run_alone(orri_jobs* jobs, orri_graph* graph)
{
    graph_hand hand = graph_hand_of(&jobs->members[0], graph);
    if (jobs->watcher) {
        atomic_store_explicit(&jobs->watched, 1, memory_order_release);
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        if (graph->nodes[i].items > 0) {
            graph_call(&hand, i, 0, graph->nodes[i].items);
        }
    }
    if (jobs->watcher) {
        graph_end(jobs);
    }
}

// Until the last node is done; if the gate was opened, it is closed again then, by whoever did that node. The gate is looked at
// before the work: what is told later is news.
static void graph_work_through(graph_hand* hand)
{
    orri_jobs* jobs = hand->jobs;
    bool known = jobs->open;
    uint64_t gate = known ? orri_jobs_load(jobs, &jobs->gate) : ORRI_GATE_OPEN;
    while ((gate & ORRI_GATE_OPEN) != 0) {
        if (graph_loop(hand)) {
            if (jobs->open) {
                orri_jobs_add(jobs, &jobs->gate, ORRI_GATE_BELL - ORRI_GATE_OPEN);
            }
            return;
        }
        ORR_ASSERT(jobs->open);
        gate = known ? orri_jobs_wait(&jobs->members[0], gate, ORRI_GATE_NEWS)
                     : orri_jobs_load(jobs, &jobs->gate);
        known = true;
        orri_jobs_waited(&jobs->members[0]);
    }
}

void orri_jobs_says(orri_jobs* jobs, uint32_t worker, uint32_t what)
{
    orri_jobs_worker* me = &jobs->members[worker];
    if (jobs->name != NULL) {
        orri_jobs_put(&me->at, (uint64_t)++me->said << 32 | ORRI_JOBS_SAID | what);
    }
}

void orri_jobs_watch(orri_jobs* jobs, bool on)
{
    ORR_ASSERT(!jobs->running);
    if (jobs->stuck_ns == 0 || (jobs->workers == 1 && !jobs->watcher)) {
        return;
    }
    if (on) {
        atomic_store_explicit(&jobs->watched, 1, memory_order_release);
    } else {
        orri_jobs_put(&jobs->members[0].at, 0);
        graph_end(jobs);
    }
}

static void graph_run_together(orri_jobs* jobs, orri_graph* graph)
{
    graph_hand hand = graph_hand_of(&jobs->members[0], graph);
    if (jobs->stuck_ns != 0) {
        atomic_store_explicit(&jobs->watched, 1, memory_order_release);
    }
    graph_begin(&hand);
    graph_work_through(&hand);
    graph_end(jobs);
}

void orri_jobs_run(orri_jobs* jobs, orri_graph* graph)
{
    if (graph->node_count == 0) {
        return;
    }
    ORR_ASSERT(!jobs->running);
    ORR_ASSERT(graph->node_count <= graph->room_capacity);
    const orr_platform* platform = jobs->platform;
    uint64_t begin_ns = jobs->timed ? platform->clock_ns(platform->user) : 0;
    orri_float_mode mode = orri_float_mode_set();
    jobs->running = true;
    if (jobs->graph != graph) {
        jobs->graph = graph;
    }
    if (jobs->workers > 1) {
        graph_run_together(jobs, graph);
    } else {
        graph_run_alone(jobs, graph);
    }
    orri_jobs_put(&jobs->members[0].at, 0);
    jobs->running = false;
    orri_float_mode_restore(mode);
    if (jobs->timed) {
        jobs->timed_ns += platform->clock_ns(platform->user) - begin_ns;
    }
}
