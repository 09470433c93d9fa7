// SPDX-License-Identifier: MIT
// Whether a system can wait for ever while others continue, in the model of the locks
// (lock_theory_kit.h). That is a cycle of states in all of which the system waits, and which is
// fair: every system that works in the cycle also continues in it. (A system that works for ever is
// no fault of the locks.) All systems are alike, so only the first is searched as the waiting
// system.
#include "lock/lock_message_kit.h"
#include "lock/lock_realm_kit.h"

// ---- steps between states in which the first system waits ---------------------------------------

typedef struct edge {
    uint32_t to;
    uint32_t system;
} edge;

static edge* edges;
static uint32_t edge_count, edge_capacity;
static uint32_t*
    edges_of; // Of each state the first; by `from`, since a search takes one state after the other.
static uint32_t edges_from;

static bool first_waits(uint32_t at)
{
    state s = state_unpack(m.states[at]);
    return waits(&s, 0);
}

static void* grown(void* memory, size_t size)
{
    memory = realloc(memory, size);
    CHECK(memory != NULL);
    return memory;
}

static void edges_begin(uint32_t from)
{
    while (edges_from <= from) {
        if ((edges_from & (edges_from - 1)) == 0) {
            edges_of = grown(edges_of, (2 * (size_t)edges_from + 2) * sizeof *edges_of);
        }
        edges_of[edges_from++] = edge_count;
    }
}

static void edge_note(uint32_t from, uint32_t to, uint32_t system)
{
    edges_begin(from);
    if (!first_waits(from) || !first_waits(to)) {
        return;
    }
    if (edge_count == edge_capacity) {
        edge_capacity = edge_capacity * 2 + 1024;
        edges = grown(edges, edge_capacity * sizeof *edges);
    }
    edges[edge_count++] = (edge){to, system};
}

// ---- strongly connected components --------------------------------------------------------------

enum {
    UNSEEN = 0,
};

// Tarjan's algorithm without recursion: numbers in order of discovery, and the least open number
// that can be reached.
typedef struct parts {
    uint32_t *number, *least, *open, *path, *next;
    bool* is_open;
    uint32_t numbers, open_count, depth;
} parts;

static parts p;

static void parts_enter(uint32_t at)
{
    p.number[at] = p.least[at] = ++p.numbers;
    p.open[p.open_count++] = at;
    p.is_open[at] = true;
    p.next[at] = edges_of[at];
    p.path[p.depth++] = at;
}

// Which other systems are treated fairly in a component: bits of systems that continue in it, or
// stand somewhere in it.
static uint32_t part_fair(const uint32_t* states, uint32_t count)
{
    uint32_t fair = 1;
    for (uint32_t k = 0; k < count; k++) {
        state s = state_unpack(m.states[states[k]]);
        for (uint32_t i = 1; i < m.count; i++) {
            uint32_t kind = kind_of(&s, i);
            fair |= (uint32_t)(waits(&s, i) || kind == OP_IDLE || kind == OP_END) << i;
        }
        for (uint32_t e = edges_of[states[k]]; e < edges_of[states[k] + 1]; e++) {
            if (p.is_open[edges[e].to] && p.number[edges[e].to] >= p.number[states[0]]) {
                fair |= 1u << edges[e].system;
            }
        }
    }
    return fair;
}

// Closes a state of which all steps were followed. Returns the number of states of the component
// that it began, if the first system starves there.
static uint32_t parts_leave(uint32_t at)
{
    uint32_t starves = 0;
    p.depth--;
    if (p.depth > 0 && p.least[at] < p.least[p.path[p.depth - 1]]) {
        p.least[p.path[p.depth - 1]] = p.least[at];
    }
    if (p.least[at] == p.number[at]) {
        uint32_t begin = p.open_count;
        while (p.open[begin - 1] != at) {
            begin--;
        }
        begin--;
        uint32_t count = p.open_count - begin;
        if (count > 1 && part_fair(&p.open[begin], count) == (1u << m.count) - 1) {
            starves = count;
        }
        for (uint32_t k = begin; k < p.open_count; k++) {
            p.is_open[p.open[k]] = starves > 0;
        }
        p.open_count = begin;
    }
    return starves;
}

// Searches from one state. Returns the size of a component in which the first system starves, which
// then lies behind the open states and is marked; 0: there is none.
static uint32_t parts_from(uint32_t at)
{
    parts_enter(at);
    while (p.depth > 0) {
        uint32_t now = p.path[p.depth - 1];
        if (p.next[now] == edges_of[now + 1]) {
            uint32_t starves = parts_leave(now);
            if (starves > 0) {
                return starves;
            }
            continue;
        }
        uint32_t to = edges[p.next[now]++].to;
        if (p.number[to] == UNSEEN) {
            parts_enter(to);
        } else if (p.is_open[to] && p.number[to] < p.least[now]) {
            p.least[now] = p.number[to];
        }
    }
    return 0;
}

// As parts_from, for the whole model.
static uint32_t starving_part(void)
{
    edge_count = edges_from = 0;
    CHECK_EQ(search_all(edge_note), UINT32_MAX);
    edges_begin(m.reached);
    size_t size = m.reached * sizeof(uint32_t);
    p.number = grown(p.number, size);
    p.least = grown(p.least, size);
    p.open = grown(p.open, size);
    p.path = grown(p.path, size);
    p.next = grown(p.next, size);
    p.is_open = grown(p.is_open, m.reached * sizeof *p.is_open);
    memset(p.number, 0, size);
    memset(p.is_open, 0, m.reached * sizeof *p.is_open);
    p.numbers = p.open_count = p.depth = 0;
    for (uint32_t i = 0; i < m.reached; i++) {
        uint32_t starves = p.number[i] == UNSEEN && first_waits(i) ? parts_from(i) : 0;
        if (starves > 0) {
            return starves;
        }
    }
    return 0;
}

// ---- the library's rule -------------------------------------------------------------------------

static uint32_t realm_starves(realm of, overtaking passes)
{
    uint32_t sets = realm_make(&of, passes);
    uint32_t part = starving_part();
    printf("  %u systems, %-28s %2u locksets, %8u states, %9u steps while the first waits%s\n",
           (unsigned)of.systems, of.name, (unsigned)sets, (unsigned)m.reached, (unsigned)edge_count,
           part > 0 ? ": it starves" : "");
    return part;
}

ORR_TEST(system_never_waits_for_ever)
{
    static const realm quick[] = {
        {"two live resources", 3, 2, 0, REALM_ANY},
        {"one live, one plain", 3, 2, 1, REALM_ANY},
        {"one plain", 4, 1, 1, REALM_ANY},
        {"one live", 4, 1, 0, REALM_ANY},
    };
    static const realm whole[] = {
        {"three live resources", 3, 3, 0, REALM_ANY},
        {"two live, one plain", 3, 3, 1, REALM_ANY},
        {"one live, two plain", 3, 3, 3, REALM_ANY},
        {"three plain", 3, 3, 7, REALM_ANY},
        {"two live resources", 4, 2, 0, REALM_ANY},
        {"one live, one plain", 4, 2, 1, REALM_ANY},
        {"two plain", 4, 2, 3, REALM_ANY},
        {"registry, index, rows", 3, 3, 7, REALM_WITHIN},
    };
    for (uint32_t i = 0; i < ORRI_COUNT(quick); i++) {
        CHECK_EQ(realm_starves(quick[i], OVERTAKE_BOUNDED), 0);
        CHECK_EQ(realm_starves(quick[i], OVERTAKE_NEVER), 0);
    }
    for (uint32_t i = 0; test_long() && !test_slow() && i < ORRI_COUNT(whole); i++) {
        CHECK_EQ(realm_starves(whole[i], OVERTAKE_BOUNDED), 0);
    }
}

// ---- overtaking without a bound -----------------------------------------------------------------

// A system that takes a set, upgrades what it holds inclusively, and releases it, again and again.
static void system_again(uint32_t system, const char* name, uint32_t set)
{
    uint8_t idle = node_add(OP_IDLE, 0, 0);
    m.names[system] = name;
    m.starts[system] = idle;
    m.from[system] = system;
    m.to[system] = system + 1;
    m.first[system] = node_add(OP_TAKE, 0, set);
    if (raised[set] != set) {
        node_add(OP_UPGRADE, set, raised[set]);
    }
    m.nodes[node_add(OP_RELEASE, raised[set], 0)].next = idle;
}

typedef struct cycle_node {
    uint32_t state, fair, before;
} cycle_node;

static uint32_t stands(uint32_t at)
{
    state s = state_unpack(m.states[at]);
    uint32_t bits = 1;
    for (uint32_t i = 1; i < m.count; i++) {
        bits |= (uint32_t)(waits(&s, i) || kind_of(&s, i) == OP_IDLE) << i;
    }
    return bits;
}

// The shortest fair cycle from a state of the marked component; returns its length and leaves its
// nodes, the last first.
static uint32_t cycle_from(uint32_t start, cycle_node* nodes, uint32_t most, uint32_t* out)
{
    static bool seen[1 << 16];
    memset(seen, 0, sizeof seen);
    uint32_t count = 0, all = (1u << m.count) - 1;
    nodes[count++] = (cycle_node){start, stands(start), UINT32_MAX};
    for (uint32_t n = 0; n < count; n++) {
        cycle_node now = nodes[n];
        for (uint32_t e = edges_of[now.state]; e < edges_of[now.state + 1]; e++) {
            uint32_t to = edges[e].to, fair = now.fair | 1u << edges[e].system | stands(to);
            uint32_t key = to << 4 | fair;
            if (!p.is_open[to] || key >= ORRI_COUNT(seen) || seen[key]) {
                continue;
            }
            seen[key] = true;
            CHECK(count < most);
            nodes[count++] = (cycle_node){to, fair, n};
            if (to == start && fair == all) {
                uint32_t length = 0;
                for (uint32_t k = count - 1; k != UINT32_MAX; k = nodes[k].before) {
                    out[length++] = nodes[k].state;
                }
                return length;
            }
        }
    }
    return UINT32_MAX;
}

static uint32_t depth_of(uint32_t at)
{
    uint32_t depth = 0;
    for (; m.parents[at] != UINT32_MAX; at = m.parents[at]) {
        depth++;
    }
    return depth;
}

// The shortest way into the component and once around.
static void print_starving(const char* const* names, orri_text* out)
{
    static cycle_node nodes[1 << 16];
    static uint32_t cycle[1 << 10];
    uint32_t best = UINT32_MAX, best_at = 0;
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t at = 0; at < m.reached; at++) {
            uint32_t length = p.is_open[at] && (pass == 0 || at == best_at)
                                  ? cycle_from(at, nodes, ORRI_COUNT(nodes), cycle)
                                  : UINT32_MAX;
            if (pass == 0 && length != UINT32_MAX && depth_of(at) + length < best) {
                best = depth_of(at) + length;
                best_at = at;
            } else if (pass == 1 && length != UINT32_MAX) {
                print_path(at, names, out);
                orri_text_add(out, "again and again:\n");
                for (uint32_t k = length - 1; k > 0; k--) {
                    print_from(m.states[cycle[k]], m.states[cycle[k - 1]], names, out);
                }
            }
        }
    }
}

static const char* starving_text(const char* const* names)
{
    static char text[1024];
    orri_text out = {text, sizeof text, 0};
    print_starving(names, &out);
    printf("%s", text);
    return text;
}

ORR_TEST(overtaking_without_a_bound_starves_the_waiter)
{
    static const char* const names[] = {"structure", "Position", "Health"};
    for (overtaking passes = OVERTAKE_NEVER; passes <= OVERTAKE_ALWAYS; passes++) {
        model_begin(3, passes);
        system_again(0, "commit", MODES(X, N, N));
        system_again(1, "draw", MODES(R, N, N));
        system_again(2, "sound", MODES(R, N, N));
        CHECK_EQ(starving_part() > 0, passes == OVERTAKE_ALWAYS);
    }
    CHECK_STR(starving_text(names), "draw takes structure read\n"
                                    "commit waits for structure exclusive: draw has it read\n"
                                    "again and again:\n"
                                    "sound takes structure read, overtaking commit\n"
                                    "draw releases\n"
                                    "draw takes structure read, overtaking commit\n"
                                    "sound releases\n");
    CHECK(realm_starves((realm){"two live resources", 3, 2, 0, REALM_ANY}, OVERTAKE_ALWAYS) > 0);
}

// A reader of two types, and two systems that each change one of them: if inclusive requests did
// not queue behind the reader, one of the two would always write.
ORR_TEST(inclusive_request_that_overtakes_a_waiting_reader_starves_it)
{
    static const char* const names[] = {"Body", "Bone", "Skin"};
    for (overtaking passes = OVERTAKE_BOUNDED; passes <= OVERTAKE_INCLUSIVE;
         passes += OVERTAKE_INCLUSIVE - OVERTAKE_BOUNDED) {
        model_begin(3, passes);
        system_again(0, "draw", MODES(R, R, N));
        system_again(1, "physics", MODES(I, N, N));
        system_again(2, "jiggle", MODES(N, I, N));
        CHECK_EQ(starving_part() > 0, passes == OVERTAKE_INCLUSIVE);
    }
    CHECK_STR(starving_text(names), "physics takes Body inclusive\n"
                                    "physics upgrades\n"
                                    "draw waits for Body read: physics has it exclusive\n"
                                    "jiggle takes Bone inclusive\n"
                                    "jiggle upgrades\n"
                                    "physics releases\n"
                                    "again and again:\n"
                                    "physics takes Body inclusive\n"
                                    "physics upgrades\n"
                                    "jiggle releases\n"
                                    "jiggle takes Bone inclusive\n"
                                    "jiggle upgrades\n"
                                    "physics releases\n");
}
