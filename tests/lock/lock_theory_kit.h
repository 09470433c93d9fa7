// SPDX-License-Identifier: MIT
// The protocol of the locks as a model: up to four systems on three resources. A system walks
// through nodes (take a set, release reads, upgrade, release). Waiters stand in a queue that is
// served as docs/LOCKS.md says. A step is one section under the table's mutex. States are searched
// breadth first, so the first problem found has a shortest way.
//
// Which requests overtake a waiter also depends on measured hold times. The model does not know
// these: a request that may overtake does so in one successor and waits in another. So whatever was
// measured, the table's behaviour is among the searched successors.
#ifndef ORR_LOCK_THEORY_KIT_H
#define ORR_LOCK_THEORY_KIT_H

#include "test.h"

#include "base/util.h"
#include <stdlib.h>

enum {
    SYSTEMS = 4,
    RESOURCES = 3,
    SETS = 64, // Two bits per resource.
    NODES = 256,
    SUCCESSORS = 16,
    N = 0, // Modes.
    R,
    I,
    X,
};

#define MODES(a, b, c) ((uint8_t)((a) | (b) << 2 | (c) << 4))

// ---- modes --------------------------------------------------------------------------------------

static bool conflict[SETS][SETS]; // Two sets that two systems cannot hold together.
static bool by_reads[SETS][SETS]; // Where the two sets conflict, if at all, the first only reads.
static uint8_t raised[SETS];      // The set with inclusive as exclusive.
// Resource 0 stands for others, as the registry does for the rows of all clusters: there I means
// "write within", which excludes readers of all of them, but not other writers of some. (A system
// that takes all exclusively takes each; so "read within", which excludes no other system, is N.)
static bool within;

static inline uint32_t mode_of(uint32_t set, uint32_t resource)
{
    return set >> (2 * resource) & 3;
}

static inline void tables_make(void)
{
    static const bool transient[4][4] = {
        [R][X] = true, [X][R] = true, [I][I] = true, [I][X] = true, [X][I] = true, [X][X] = true};
    for (uint32_t a = 0; a < SETS; a++) {
        raised[a] = 0;
        for (uint32_t r = 0; r < RESOURCES; r++) {
            uint32_t mode = mode_of(a, r);
            bool group = within && r == 0;
            raised[a] |= (uint8_t)((mode == I && !group ? X : mode) << (2 * r));
        }
        for (uint32_t b = 0; b < SETS; b++) {
            conflict[a][b] = false;
            by_reads[a][b] = true;
            for (uint32_t r = 0; r < RESOURCES; r++) {
                uint32_t x = mode_of(a, r), y = mode_of(b, r);
                bool here = within && r == 0 && (x == I || y == I) ? x != y && x != N && y != N
                                                                   : transient[x][y];
                conflict[a][b] |= here;
                by_reads[a][b] &= !here || mode_of(a, r) == R;
            }
        }
    }
}

// `plain`: bits of resources whose reads are kept.
static inline uint8_t without_reads(uint32_t set, uint32_t plain)
{
    for (uint32_t r = 0; r < RESOURCES; r++) {
        if (mode_of(set, r) == R && (plain >> r & 1) == 0) {
            set &= ~(3u << (2 * r));
        }
    }
    return (uint8_t)set;
}

static inline uint8_t joined(uint32_t a, uint32_t b)
{
    uint32_t all = 0;
    for (uint32_t r = 0; r < RESOURCES; r++) {
        uint32_t x = mode_of(a, r), y = mode_of(b, r);
        all |= (x > y ? x : y) << (2 * r);
    }
    return (uint8_t)all;
}

// ---- nodes and states ---------------------------------------------------------------------------

typedef enum op_kind {
    OP_END,
    OP_IDLE, // Holds nothing; may begin with one of the model's first nodes.
    OP_TAKE,
    OP_READS_END,
    OP_UPGRADE,
    OP_RELEASE,
} op_kind;

typedef struct node {
    uint8_t kind, next;
    uint8_t held;   // Held before the operation.
    uint8_t wanted; // OP_TAKE: the requested set. OP_UPGRADE: everything held afterwards.
} node;

typedef enum overtaking {
    OVERTAKE_NEVER,
    OVERTAKE_BOUNDED, // The library's rule.
    OVERTAKE_ALWAYS,
    OVERTAKE_INCLUSIVE, // As the library's, but inclusive requests overtake waiting readers.
} overtaking;

typedef struct state {
    uint8_t at[SYSTEMS];
    uint8_t queue[SYSTEMS];
    uint8_t waiting;
    // For a waiter for a set: bits of the systems that had their sets before it came, while one of
    // them holds something that conflicts. 0: no system overtakes it.
    uint8_t older[SYSTEMS];
} state;

typedef struct model {
    node nodes[NODES];
    uint32_t node_count;
    uint32_t count; // Systems.
    uint8_t starts[SYSTEMS];
    const char* names[SYSTEMS];
    overtaking passes;
    // Nodes with which idle system i may begin: first[from[i]] to first[to[i]].
    uint8_t first[NODES];
    uint32_t from[SYSTEMS], to[SYSTEMS];
    // All systems do the same and are interchangeable; so are resources with the same meaning. For
    // each of these orders of resources: the node that a node becomes.
    bool anonymous;
    uint8_t twins[6][NODES];
    uint32_t twin_count;
    // Visited states, breadth first.
    uint64_t* states;
    uint32_t* parents;
    uint32_t reached, capacity;
    uint32_t* table; // Number of a state + 1.
    uint32_t bits;
    uint64_t all, steps; // Of all searches.
    // Successors of one step.
    state out[SUCCESSORS];
    uint32_t out_count;
} model;

static model m;

static inline uint8_t node_add(op_kind kind, uint32_t held, uint32_t wanted)
{
    CHECK(m.node_count < NODES);
    m.nodes[m.node_count] =
        (node){(uint8_t)kind, (uint8_t)(m.node_count + 1), (uint8_t)held, (uint8_t)wanted};
    return (uint8_t)m.node_count++;
}

// ---- the queue ----------------------------------------------------------------------------------

static inline uint32_t held_of(const state* s, uint32_t system)
{
    return m.nodes[s->at[system]].held;
}

static inline uint32_t wanted_of(const state* s, uint32_t system)
{
    return m.nodes[s->at[system]].wanted;
}

static inline uint32_t kind_of(const state* s, uint32_t system)
{
    return m.nodes[s->at[system]].kind;
}

static inline bool waits(const state* s, uint32_t system)
{
    for (uint32_t i = 0; i < s->waiting; i++) {
        if (s->queue[i] == system) {
            return true;
        }
    }
    return false;
}

// True if the waiter can be overtaken: a system that it found still conflicts.
static inline bool is_open(const state* s, uint32_t system)
{
    for (uint32_t j = 0; j < m.count; j++) {
        if ((s->older[system] >> j & 1) != 0 && conflict[wanted_of(s, system)][held_of(s, j)]) {
            return true;
        }
    }
    return false;
}

// After a release. A system that can never conflict again is removed from those found: a system
// that holds less than its whole set can conflict again only by its upgrade.
static inline void settle(state* s)
{
    for (uint32_t i = 0; i < s->waiting; i++) {
        uint32_t me = s->queue[i];
        if (m.passes == OVERTAKE_ALWAYS || (s->older[me] != 0 && !is_open(s, me))) {
            s->older[me] = 0;
        }
        for (uint32_t j = 0; s->older[me] != 0 && j < m.count; j++) {
            if (!conflict[wanted_of(s, me)][raised[held_of(s, j)]]) {
                s->older[me] &= (uint8_t) ~(1u << j);
            }
        }
    }
}

typedef enum fit {
    FITS_NOT,
    FITS_OVERTAKING, // Only by overtaking a waiter.
    FITS,
} fit;

static inline fit fits(const state* s, uint32_t place)
{
    uint32_t me = s->queue[place];
    uint32_t wanted = wanted_of(s, me);
    bool upgrade = kind_of(s, me) == OP_UPGRADE;
    fit result = FITS;
    for (uint32_t j = 0; j < m.count; j++) {
        if (j != me && conflict[wanted][held_of(s, j)]) {
            return FITS_NOT;
        }
    }
    for (uint32_t i = 0; !upgrade && i < place; i++) {
        uint32_t other = s->queue[i];
        // An inclusive request will be exclusive before it is released.
        uint32_t at_last = m.passes == OVERTAKE_INCLUSIVE ? wanted : raised[wanted];
        if (!conflict[at_last][wanted_of(s, other)]) {
            continue;
        }
        // An upgrade waits at the front and stops new readers; other waiters claim the locks they
        // wait for, unless they are overtaken.
        bool passes =
            kind_of(s, other) == OP_TAKE && by_reads[at_last][wanted_of(s, other)] &&
            (m.passes == OVERTAKE_ALWAYS || (m.passes != OVERTAKE_NEVER && s->older[other] != 0));
        if (!passes) {
            return FITS_NOT;
        }
        result = FITS_OVERTAKING;
    }
    return result;
}

static inline void queue_remove(state* s, uint32_t place)
{
    for (uint32_t i = place; i + 1 < SYSTEMS; i++) {
        s->queue[i] = s->queue[i + 1];
    }
    s->queue[SYSTEMS - 1] = 0;
    s->waiting--;
}

static inline void queue_insert(state* s, uint32_t system, bool front)
{
    uint32_t place = front ? 0 : s->waiting;
    for (uint32_t i = SYSTEMS - 1; i > place; i--) {
        s->queue[i] = s->queue[i - 1];
    }
    CHECK(place < SYSTEMS);
    s->queue[place] = (uint8_t)system;
    s->waiting++;
}

// Grants all requests that can be granted, from the front. A request that would overtake is granted
// in one successor and waits in another.
static inline void serve(state s, uint32_t place)
{
    while (place < SYSTEMS && place < s.waiting) {
        fit how = fits(&s, place);
        if (how == FITS_OVERTAKING) {
            serve(s, place + 1);
        }
        if (how == FITS_NOT) {
            place++;
        } else {
            uint32_t me = s.queue[place];
            s.at[me] = m.nodes[s.at[me]].next;
            s.older[me] = 0;
            queue_remove(&s, place);
        }
    }
    CHECK(m.out_count < SUCCESSORS);
    m.out[m.out_count++] = s;
}

// The next step of a system that does not wait: all successors.
static inline void step(const state* before, uint32_t system)
{
    state s = *before;
    uint32_t kind = kind_of(&s, system);
    m.out_count = 0;
    if (kind == OP_TAKE || kind == OP_UPGRADE) {
        queue_insert(&s, system, kind == OP_UPGRADE);
        for (uint32_t j = 0; kind == OP_TAKE && j < m.count; j++) {
            s.older[system] |= (uint8_t)((j != system && held_of(&s, j) != 0) << j);
        }
    } else {
        s.at[system] = m.nodes[s.at[system]].next;
        for (uint32_t j = 0; kind == OP_RELEASE && j < m.count; j++) {
            s.older[j] &= (uint8_t) ~(1u << system);
        }
    }
    settle(&s);
    serve(s, 0);
}

// ---- states as numbers --------------------------------------------------------------------------

static inline uint64_t state_pack(const state* s)
{
    uint64_t bits = s->waiting;
    for (uint32_t i = 0; i < SYSTEMS; i++) {
        bits = bits << 8 | s->at[i];
        bits = bits << 4 | s->older[i];
        bits = bits << 2 | s->queue[i];
    }
    return bits;
}

static inline state state_unpack(uint64_t bits)
{
    state s;
    for (uint32_t i = SYSTEMS; i-- > 0; bits >>= 14) {
        s.queue[i] = bits & 3;
        s.older[i] = bits >> 2 & 15;
        s.at[i] = (uint8_t)(bits >> 6);
    }
    s.waiting = (uint8_t)bits;
    return s;
}

// A new order of systems: waiters as in the queue, the others by their node and by the waiters that
// found them. Two systems with equal keys behave alike for all others, so their order does not
// matter.
static inline uint64_t state_ordered(const state* s, const uint8_t* as)
{
    uint32_t keys[SYSTEMS], count = m.count, queued = 0;
    for (uint32_t i = 0; i < s->waiting; i++) {
        queued |= 1u << s->queue[i];
        keys[i] = s->queue[i];
    }
    for (uint32_t i = 0, end = s->waiting; i < count; i++) {
        if ((queued >> i & 1) == 0) {
            uint32_t key = (uint32_t)as[s->at[i]] << 8;
            for (uint32_t j = 0; j < s->waiting; j++) {
                key |= (uint32_t)(s->older[s->queue[j]] >> i & 1) << (2 + j);
            }
            key |= i;
            uint32_t to = end++;
            for (; to > s->waiting && keys[to - 1] > key; to--) {
                keys[to] = keys[to - 1];
            }
            keys[to] = key;
        }
    }
    uint64_t bits = s->waiting;
    for (uint32_t i = 0; i < SYSTEMS; i++) {
        uint32_t old = i < count ? keys[i] & 3 : 0, older = 0;
        for (uint32_t j = 0; i < s->waiting && j < count; j++) {
            older |= (uint32_t)(s->older[old] >> (keys[j] & 3) & 1) << j;
        }
        bits = bits << 8 | (i < count ? as[s->at[old]] : 0);
        bits = bits << 4 | older;
        bits = bits << 2 | (i < s->waiting ? i : 0);
    }
    return bits;
}

// A representative of all states that differ only in the names of systems and resources.
static inline uint64_t state_canonical(const state* s)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t t = 0; t < m.twin_count; t++) {
        uint64_t bits = state_ordered(s, m.twins[t]);
        least = bits < least ? bits : least;
    }
    return least;
}

// ---- search -------------------------------------------------------------------------------------

static inline void model_begin(uint32_t count, overtaking passes)
{
    if (m.states == NULL) {
        m.capacity = 1 << 10;
        m.states = malloc(m.capacity * sizeof *m.states);
        m.parents = malloc(m.capacity * sizeof *m.parents);
        m.table = malloc(sizeof *m.table << 11);
        CHECK(m.states != NULL && m.parents != NULL && m.table != NULL);
    }
    tables_make();
    m.count = count;
    m.passes = passes;
    m.node_count = 0;
    m.anonymous = false;
    m.reached = 0;
}

static inline uint32_t* search_place(uint64_t bits)
{
    uint32_t at = (uint32_t)(bits * UINT64_C(0x9E3779B97F4A7C15) >> (64 - m.bits));
    while (m.table[at] != 0 && m.states[m.table[at] - 1] != bits) {
        at = (at + 1) & ((1u << m.bits) - 1);
    }
    return &m.table[at];
}

static inline void search_grow(void)
{
    if (m.reached == m.capacity) {
        m.capacity *= 2;
        m.states = realloc(m.states, m.capacity * sizeof *m.states);
        m.parents = realloc(m.parents, m.capacity * sizeof *m.parents);
        m.table = realloc(m.table, 2 * m.capacity * sizeof *m.table);
        CHECK(m.states != NULL && m.parents != NULL && m.table != NULL);
    }
    if (m.reached >= 1u << (m.bits - 1)) {
        m.bits++;
        memset(m.table, 0, sizeof *m.table << m.bits);
        for (uint32_t i = 0; i < m.reached; i++) {
            *search_place(m.states[i]) = i + 1;
        }
    }
}

// Returns the number of the state.
static inline uint32_t search_reach(const state* s, uint32_t parent)
{
    uint64_t bits = m.anonymous ? state_canonical(s) : state_pack(s);
    uint32_t* place = search_place(bits);
    if (*place == 0) {
        search_grow();
        place = search_place(bits);
        m.states[m.reached] = bits;
        m.parents[m.reached] = parent;
        *place = ++m.reached;
    }
    return *place - 1;
}

static inline void check_holders(const state* s)
{
    for (uint32_t i = 0; i < m.count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (conflict[held_of(s, i)][held_of(s, j)]) {
                test_fail(__FILE__, __LINE__, "systems %u and %u hold what cannot be held together",
                          (unsigned)i, (unsigned)j);
            }
        }
    }
}

static inline uint32_t queue_place(const state* s, uint32_t system)
{
    uint32_t place = 0;
    while (place < s->waiting && s->queue[place] != system) {
        place++;
    }
    return place;
}

// The invariants behind the bound: while W waits for a set, no system behind it gets ahead of it;
// the systems it found become fewer; and once they are gone, no system that came later is granted a
// lock that W waits for.
static inline void check_step(const state* s, const state* to)
{
    for (uint32_t i = 0; i < s->waiting; i++) {
        uint32_t w = s->queue[i], place = queue_place(to, w);
        if (kind_of(s, w) != OP_TAKE || place == to->waiting) {
            continue;
        }
        bool fine = (to->older[w] & ~s->older[w]) == 0;
        for (uint32_t j = 0; j < m.count; j++) {
            bool before = queue_place(s, j) < i;
            bool had = held_of(s, j) != 0;
            fine &= before || queue_place(to, j) > place || !waits(to, j) ||
                    kind_of(to, j) == OP_UPGRADE || j == w;
            fine &= before || had || held_of(to, j) == 0 || to->older[w] != 0 ||
                    !conflict[wanted_of(to, w)][raised[held_of(to, j)]];
        }
        if (!fine) {
            test_fail(__FILE__, __LINE__, "system %u is overtaken", (unsigned)w);
        }
    }
}

typedef void search_edge(uint32_t from, uint32_t to, uint32_t system);

// The steps of one system from a state.
static inline void search_step(const state* s, uint32_t at, uint32_t system, search_edge* edge)
{
    step(s, system);
    uint32_t count = m.out_count;
    state out[SUCCESSORS];
    memcpy(out, m.out, count * sizeof *out);
    m.steps += count;
    for (uint32_t k = 0; k < count; k++) {
        if (m.passes <= OVERTAKE_BOUNDED) {
            check_step(s, &out[k]);
        }
        uint32_t to = search_reach(&out[k], at);
        if (edge != NULL) {
            edge(at, to, system);
        }
    }
}

// Searches all states, nearest first. Returns the number of the first state in which a system
// waits, or has not reached its end, and no system can continue; UINT32_MAX if there is none.
static inline uint32_t search_all(search_edge* edge)
{
    state s = {0};
    uint32_t deadlock = UINT32_MAX;
    m.bits = 10;
    memset(m.table, 0, sizeof *m.table << m.bits);
    memcpy(s.at, m.starts, sizeof s.at);
    search_reach(&s, UINT32_MAX);
    for (uint32_t at = 0; at < m.reached && deadlock == UINT32_MAX; at++) {
        s = state_unpack(m.states[at]);
        bool moves = false, ended = true;
        check_holders(&s);
        for (uint32_t i = 0; i < m.count; i++) {
            uint32_t kind = kind_of(&s, i);
            if (kind == OP_IDLE) {
                for (uint32_t k = m.from[i]; k < m.to[i]; k++) {
                    state begun = s;
                    begun.at[i] = m.first[k];
                    search_step(&begun, at, i, edge);
                }
            } else if (kind != OP_END) {
                ended = false;
                if (!waits(&s, i)) {
                    moves = true;
                    search_step(&s, at, i, edge);
                }
            }
        }
        deadlock = !moves && !ended ? at : UINT32_MAX;
    }
    m.all += m.reached;
    return deadlock;
}

#endif
