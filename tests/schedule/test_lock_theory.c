// SPDX-License-Identifier: MIT
// The protocol of the locks, not their code: every state that up to four systems on three resources can reach. Each system is a
// short program (take a set, let reads go, upgrade, release, take the structural set, release); whoever waits stands in a
// line that is served as docs/LOCKS.md says. In no state do two hold what cannot be held together, and from every state all
// come to their end. The same search has to find the deadlocks of the rules that Orrery does not have.
#include "../test.h"

#include "base/util.h"
#include <stdlib.h>

enum {
    SYSTEMS = 4,
    RESOURCES = 3,
    OPS = 8,
    N = 0, // Modes, two bits per resource.
    R,
    I,
    X,
};

typedef enum op_kind {
    OP_TAKE,
    OP_READS_END,
    OP_UPGRADE,
    OP_RELEASE,
} op_kind;

typedef struct program {
    const char* name;
    uint32_t count;
    struct {
        uint8_t kind, set;
    } ops[OPS];
    uint8_t held[OPS + 1]; // Before each op, and at the end.
} program;

#define MODES(a, b, c) ((uint8_t)((a) | (b) << 2 | (c) << 4))
#define SETS           64

// ---- modes ------------------------------------------------------------------------------------------------------------------

static bool conflict[SETS][SETS]; // Two sets that two systems cannot hold together.
static uint8_t raised[SETS];      // Inclusive as exclusive.
static uint8_t joined[SETS][SETS];

static uint32_t mode_of(uint32_t set, uint32_t resource)
{
    return set >> (2 * resource) & 3;
}

static void tables_make(void)
{
    static const bool apart[4][4] = {
        [R][X] = true, [X][R] = true, [I][I] = true, [I][X] = true, [X][I] = true, [X][X] = true};
    for (uint32_t a = 0; a < SETS; a++) {
        raised[a] = 0;
        for (uint32_t r = 0; r < RESOURCES; r++) {
            uint32_t mode = mode_of(a, r);
            raised[a] |= (uint8_t)((mode == I ? X : mode) << (2 * r));
        }
        for (uint32_t b = 0; b < SETS; b++) {
            conflict[a][b] = false;
            joined[a][b] = 0;
            for (uint32_t r = 0; r < RESOURCES; r++) {
                uint32_t x = mode_of(a, r), y = mode_of(b, r);
                conflict[a][b] |= apart[x][y];
                joined[a][b] |= (uint8_t)((x > y ? x : y) << (2 * r));
            }
        }
    }
}

// ---- programs ---------------------------------------------------------------------------------------------------------------

// `plain`: bits of resources whose reads are kept.
static uint8_t without_reads(uint32_t set, uint32_t plain)
{
    for (uint32_t r = 0; r < RESOURCES; r++) {
        if (mode_of(set, r) == R && (plain >> r & 1) == 0) {
            set &= ~(3u << (2 * r));
        }
    }
    return (uint8_t)set;
}

static void program_add(program* p, op_kind kind, uint32_t set, uint32_t plain)
{
    uint8_t held = p->held[p->count];
    p->ops[p->count].kind = (uint8_t)kind;
    p->ops[p->count].set = (uint8_t)set;
    p->held[++p->count] = kind == OP_TAKE        ? joined[held][set]
                          : kind == OP_READS_END ? without_reads(held, plain)
                          : kind == OP_UPGRADE   ? raised[held]
                                                 : 0;
}

typedef enum rules {
    RULES_OURS,
    RULES_READS_KEPT,     // Reads are not let go before an upgrade.
    RULES_STRUCTURE_KEPT, // The structural step keeps the system's locks.
} rules;

// What a pipeline does for a system, or a group of them, and the structural step after it (0: none).
static program program_make(const char* name, uint32_t set, uint32_t structure, uint32_t plain,
                            rules rule)
{
    program p = {.name = name};
    program_add(&p, OP_TAKE, set, plain);
    if (raised[set] != set) {
        if (without_reads(set, plain) != set && rule != RULES_READS_KEPT) {
            program_add(&p, OP_READS_END, 0, plain);
        }
        program_add(&p, OP_UPGRADE, 0, plain);
    }
    if (structure != 0) {
        if (rule != RULES_STRUCTURE_KEPT) {
            program_add(&p, OP_RELEASE, 0, plain);
        }
        program_add(&p, OP_TAKE, structure, plain);
    }
    program_add(&p, OP_RELEASE, 0, plain);
    return p;
}

// ---- states -----------------------------------------------------------------------------------------------------------------

// Four bits per system: ops done. Then the line, three bits each: system + 1, the first first.
typedef uint32_t state;

enum {
    LINE = 16,
    TABLE_BITS = 17,
    TABLE = 1 << TABLE_BITS,
};

typedef struct search {
    program systems[SYSTEMS];
    uint32_t count;
    // Visited, by breadth.
    state* states;
    uint32_t* parents;
    uint32_t reached;
    // Hash table of them; entries of another stamp are empty. It begins small and grows, to stay near.
    struct {
        uint32_t stamp;
        state is;
    } * table;
    uint32_t stamp, bits;
    uint64_t all; // States of all searches.
} search;

static search found;

static uint32_t done_of(state s, uint32_t system)
{
    return s >> (4 * system) & 15;
}

static uint32_t line_at(state s, uint32_t place)
{
    return s >> (LINE + 3 * place) & 7;
}

// Bits of the systems in line.
static uint32_t waiting(state s)
{
    uint32_t bits = 0;
    for (uint32_t line = s >> LINE; line != 0; line >>= 3) {
        bits |= 1u << ((line & 7) - 1);
    }
    return bits;
}

static bool waits(state s, uint32_t system)
{
    return waiting(s) >> system & 1;
}

static uint32_t held_of(const search* m, state s, uint32_t system)
{
    return m->systems[system].held[done_of(s, system)];
}

// Whether the one at a place in line can be let in.
static bool fits(const search* m, state s, uint32_t place)
{
    uint32_t me = line_at(s, place) - 1;
    const program* p = &m->systems[me];
    uint32_t done = done_of(s, me);
    bool upgrade = p->ops[done].kind == OP_UPGRADE;
    uint32_t wanted = upgrade ? raised[p->held[done]] : p->ops[done].set;
    for (uint32_t other = 0; other < m->count; other++) {
        if (other != me && conflict[wanted][held_of(m, s, other)]) {
            return false;
        }
    }
    for (uint32_t before = 0; !upgrade && before < place; before++) {
        uint32_t other = line_at(s, before) - 1;
        const program* q = &m->systems[other];
        uint32_t at = done_of(s, other);
        // Who waits for an upgrade stands in front, and keeps new readers off; others what they wait for.
        if (conflict[wanted]
                    [q->ops[at].kind == OP_UPGRADE ? raised[q->held[at]] : q->ops[at].set]) {
            return false;
        }
    }
    return true;
}

static state line_insert(state s, uint32_t system, bool front)
{
    uint32_t line = s >> LINE, end = 0;
    while (line >> (3 * end) != 0) {
        end++;
    }
    line = front ? line << 3 | (system + 1) : line | (system + 1) << (3 * end);
    return (s & 0xFFFF) | line << LINE;
}

static state line_remove(state s, uint32_t place)
{
    uint32_t line = s >> LINE, below = line & ((1u << (3 * place)) - 1);
    return (s & 0xFFFF) | (below | line >> (3 * place + 3) << (3 * place)) << LINE;
}

static state serve(const search* m, state s)
{
    for (uint32_t place = 0; place < SYSTEMS && line_at(s, place) != 0;) {
        if (fits(m, s, place)) {
            uint32_t system = line_at(s, place) - 1;
            s = line_remove(s, place) + (1u << (4 * system));
        } else {
            place++;
        }
    }
    return s;
}

// The next step of a system that does not wait and is not at its end: one section of the table's mutex.
static state step(const search* m, state s, uint32_t system)
{
    uint32_t kind = m->systems[system].ops[done_of(s, system)].kind;
    if (kind == OP_TAKE || kind == OP_UPGRADE) {
        s = line_insert(s, system, kind == OP_UPGRADE);
    } else {
        s += 1u << (4 * system);
    }
    return serve(m, s);
}

// ---- search -----------------------------------------------------------------------------------------------------------------

// False if it was there.
static bool search_put(search* m, state s)
{
    uint32_t mask = (1u << m->bits) - 1, at = (s * 0x9E3779B1u) >> (32 - m->bits);
    for (; m->table[at].stamp == m->stamp; at = (at + 1) & mask) {
        if (m->table[at].is == s) {
            return false;
        }
    }
    m->table[at].stamp = m->stamp;
    m->table[at].is = s;
    return true;
}

static void search_reach(search* m, state s, uint32_t parent)
{
    if (!search_put(m, s)) {
        return;
    }
    m->states[m->reached] = s;
    m->parents[m->reached++] = parent;
    if (m->reached > 1u << (m->bits - 1)) {
        CHECK(m->bits < TABLE_BITS);
        m->bits++;
        m->stamp++;
        for (uint32_t i = 0; i < m->reached; i++) {
            search_put(m, m->states[i]);
        }
    }
}

static void search_begin(search* m, uint32_t count)
{
    if (m->states == NULL) {
        m->states = calloc(TABLE, sizeof *m->states);
        m->parents = calloc(TABLE, sizeof *m->parents);
        m->table = calloc(TABLE, sizeof *m->table);
        CHECK(m->states != NULL && m->parents != NULL && m->table != NULL);
        tables_make();
    }
    m->count = count;
    m->reached = 0;
    m->bits = 10;
    m->stamp++;
}

static void check_holders(const search* m, state s)
{
    for (uint32_t i = 0; i < m->count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (conflict[held_of(m, s, i)][held_of(m, s, j)]) {
                test_fail(__FILE__, __LINE__, "systems %u and %u hold what cannot be held together",
                          (unsigned)i, (unsigned)j);
            }
        }
    }
}

// All states of the systems, nearest first. Returns the number of the first in which nobody can go on and not all are at
// their end; UINT32_MAX if there is none.
static uint32_t search_deadlock(search* m)
{
    uint32_t deadlock = UINT32_MAX;
    search_reach(m, 0, UINT32_MAX);
    for (uint32_t at = 0; at < m->reached && deadlock == UINT32_MAX; at++) {
        state s = m->states[at];
        bool moves = false, ended = true;
        uint32_t in_line = waiting(s);
        check_holders(m, s);
        for (uint32_t i = 0; i < m->count; i++) {
            if (done_of(s, i) < m->systems[i].count) {
                ended = false;
                if ((in_line >> i & 1) == 0) {
                    moves = true;
                    search_reach(m, step(m, s, i), at);
                }
            }
        }
        deadlock = !moves && !ended ? at : UINT32_MAX;
    }
    m->all += m->reached;
    return deadlock;
}

// ---- the schedule as text -----------------------------------------------------------------------------------------------------

static const char* const mode_names[] = {"", "read", "inclusive", "exclusive"};

static void say_set(orri_text* out, const char* const* names, uint32_t set)
{
    const char* between = "";
    for (uint32_t r = 0; r < RESOURCES; r++) {
        if (mode_of(set, r) != N) {
            orri_text_add(out, "%s%s %s", between, names[r], mode_names[mode_of(set, r)]);
            between = ", ";
        }
    }
}

// For which resource it waits, and who has it.
static void say_reason(const search* m, state s, uint32_t system, const char* const* names,
                       orri_text* out)
{
    const program* p = &m->systems[system];
    uint32_t done = done_of(s, system);
    uint32_t wanted = p->ops[done].kind == OP_UPGRADE ? raised[p->held[done]] : p->ops[done].set;
    for (uint32_t r = 0; r < RESOURCES; r++) {
        for (uint32_t j = 0; j < m->count; j++) {
            uint32_t mode = mode_of(held_of(m, s, j), r);
            uint32_t mine = mode_of(wanted, r);
            if (j != system && conflict[mine][mode]) {
                orri_text_add(out, "waits for %s %s: %s has it %s", names[r], mode_names[mine],
                              m->systems[j].name, mode_names[mode]);
                return;
            }
        }
    }
    orri_text_add(out, "waits its turn");
}

static void say_step(const search* m, state before, state after, const char* const* names,
                     orri_text* out)
{
    uint32_t system = 0;
    while (step(m, before, system) != after || waits(before, system) ||
           done_of(before, system) == m->systems[system].count) {
        system++;
    }
    const program* p = &m->systems[system];
    uint32_t done = done_of(before, system);
    orri_text_add(out, "%s ", p->name);
    if (waits(after, system)) {
        say_reason(m, after, system, names, out);
    } else if (p->ops[done].kind == OP_TAKE) {
        orri_text_add(out, "takes ");
        say_set(out, names, p->ops[done].set);
    } else {
        static const char* const words[] = {[OP_READS_END] = "lets its reads go",
                                            [OP_UPGRADE] = "upgrades",
                                            [OP_RELEASE] = "releases"};
        orri_text_add(out, "%s", words[p->ops[done].kind]);
    }
    orri_text_add(out, "\n");
}

static void say_path(const search* m, uint32_t at, const char* const* names, orri_text* out)
{
    if (m->parents[at] != UINT32_MAX) {
        say_path(m, m->parents[at], names, out);
        say_step(m, m->states[m->parents[at]], m->states[at], names, out);
    }
}

static const char* found_text(uint32_t deadlock, const char* const* names)
{
    static char text[1024];
    orri_text out = {text, sizeof text, 0};
    CHECK(deadlock != UINT32_MAX);
    say_path(&found, deadlock, names, &out);
    printf("%s  and nobody can go on\n", text);
    return text;
}

// ---- all sets of systems --------------------------------------------------------------------------------------------------------

typedef struct shape {
    uint8_t set, structure;
} shape;

typedef struct space {
    const char* name;
    uint32_t systems; // At most.
    uint32_t plain;   // Bits of resources.
    bool pure;        // Direct or indirect systems, no groups of both.
    bool reads_plain; // Plain resources are written by structural steps alone.
    uint8_t structures[8];
    uint32_t structure_count;
} space;

static bool shape_allowed(const space* of, uint32_t set)
{
    bool inclusive = false, other = false;
    for (uint32_t r = 0; r < RESOURCES; r++) {
        uint32_t mode = mode_of(set, r);
        bool plain = of->plain >> r & 1;
        if (plain && (mode == I || (of->reads_plain && mode == X))) {
            return false;
        }
        inclusive |= mode == I;
        other |= mode == R || mode == X;
    }
    return set != 0 && !(of->pure && inclusive && other);
}

static uint32_t shapes_make(const space* of, shape* out)
{
    uint32_t count = 0;
    for (uint32_t set = 0; set < SETS; set++) {
        for (uint32_t i = 0; shape_allowed(of, set) && i < of->structure_count; i++) {
            out[count++] = (shape){(uint8_t)set, of->structures[i]};
        }
    }
    return count;
}

// Resources that mean the same can change places: of all sets of systems that differ in that alone, one is looked at.
typedef struct twins {
    uint16_t as[6][SETS * 8]; // Number of the shape a shape becomes.
    uint32_t count;
} twins;

static uint8_t set_permuted(uint32_t set, const uint8_t* order)
{
    uint32_t to = 0;
    for (uint32_t r = 0; r < RESOURCES; r++) {
        to |= mode_of(set, r) << (2 * order[r]);
    }
    return (uint8_t)to;
}

static void twins_make(const space* of, const shape* shapes, uint32_t count, twins* out)
{
    static const uint8_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    out->count = 0;
    for (uint32_t o = 0; o < 6; o++) {
        bool whole = true;
        for (uint32_t r = 0; r < RESOURCES; r++) {
            whole &= (of->plain >> r & 1) == (of->plain >> orders[o][r] & 1);
        }
        for (uint32_t i = 0; whole && i < count; i++) {
            shape to = {set_permuted(shapes[i].set, orders[o]),
                        set_permuted(shapes[i].structure, orders[o])};
            uint32_t k = 0;
            while (k < count && memcmp(&shapes[k], &to, sizeof to) != 0) {
                k++;
            }
            whole = k < count;
            out->as[out->count][i] = (uint16_t)k;
        }
        out->count += whole;
    }
}

static bool is_first_of_twins(const twins* of, const uint32_t* picks, uint32_t count)
{
    for (uint32_t t = 0; t < of->count; t++) {
        uint32_t other[SYSTEMS];
        for (uint32_t i = 0; i < count; i++) {
            uint32_t k = i;
            for (uint32_t pick = of->as[t][picks[i]]; k > 0 && other[k - 1] > pick; k--) {
                other[k] = other[k - 1];
            }
            other[k] = of->as[t][picks[i]];
        }
        for (uint32_t i = 0; i < count && other[i] <= picks[i]; i++) {
            if (other[i] < picks[i]) {
                return false;
            }
        }
    }
    return true;
}

// Every set of up to `of->systems` systems, the same shape also several times. Returns how many sets deadlock.
static uint64_t space_search(const space* of, rules rule, uint64_t* out_sets)
{
    static shape shapes[SETS * 8];
    static program programs[SETS * 8];
    static twins same;
    search_begin(&found, 0);
    uint32_t shape_count = shapes_make(of, shapes);
    twins_make(of, shapes, shape_count, &same);
    for (uint32_t i = 0; i < shape_count; i++) {
        programs[i] = program_make("system", shapes[i].set, shapes[i].structure, of->plain, rule);
    }
    uint64_t sets = 0, dead = 0, before = found.all;
    for (uint32_t count = 1; count <= of->systems; count++) {
        uint32_t picks[SYSTEMS] = {0}; // Not falling.
        for (;;) {
            if (is_first_of_twins(&same, picks, count)) {
                search_begin(&found, count);
                for (uint32_t i = 0; i < count; i++) {
                    found.systems[i] = programs[picks[i]];
                }
                dead += search_deadlock(&found) != UINT32_MAX;
                sets++;
            }
            uint32_t i = count;
            while (i > 0 && picks[i - 1] == shape_count - 1) {
                i--;
            }
            if (i == 0) {
                break;
            }
            uint32_t next = picks[i - 1] + 1;
            for (uint32_t k = i - 1; k < count; k++) {
                picks[k] = next;
            }
        }
    }
    printf("  %-44s %3u shapes, %8" PRIu64 " sets, %10" PRIu64 " states, %" PRIu64 " deadlocks\n",
           of->name, (unsigned)shape_count, sets, found.all - before, dead);
    if (out_sets != NULL) {
        *out_sets = sets;
    }
    return dead;
}

// ---- our rules ------------------------------------------------------------------------------------------------------------------

#define NO_STRUCTURE {0}, 1
#define ALL_X        MODES(X, X, X)
#define STRUCTURE_ANY \
    {0,               \
     MODES(X, N, N),  \
     MODES(N, X, N),  \
     MODES(X, X, N),  \
     MODES(N, N, X),  \
     MODES(X, N, X),  \
     MODES(N, X, X),  \
     ALL_X},          \
        8

// So many systems where that takes seconds, one less where everything is slow.
static uint32_t systems_most(uint32_t usual)
{
    return test_slow() ? usual - 1 : usual;
}

static void check_never_deadlocks(space of)
{
    CHECK_EQ(space_search(&of, RULES_OURS, NULL), 0);
}

// N0-57: in one order, all at once, there is no deadlock.
ORR_TEST(direct_and_indirect_systems_never_deadlock)
{
    uint64_t sets;
    space pure = {"direct and indirect", 4, 0, true, false, NO_STRUCTURE};
    CHECK_EQ(space_search(&pure, RULES_OURS, &sets), 0);
    CHECK_EQ(sets, 12176); // Of 66,044, less those that differ in the names of resources alone.
    check_never_deadlocks((space){
        "direct and indirect, then structure", systems_most(4), 0, true, false, {ALL_X}, 1});
}

ORR_TEST(groups_that_let_their_reads_go_never_deadlock)
{
    check_never_deadlocks(
        (space){"groups of both", systems_most(4), 0, false, false, NO_STRUCTURE});
    check_never_deadlocks(
        (space){"groups, reads of structure kept", systems_most(4), 4, false, false, NO_STRUCTURE});
}

ORR_TEST(structural_steps_that_hold_nothing_else_never_deadlock)
{
    bool all = test_long() && !test_slow();
    check_never_deadlocks((space){"groups, then structure or not",
                                  all ? 4 : systems_most(3),
                                  4,
                                  false,
                                  true,
                                  {0, MODES(N, N, X)},
                                  2});
    check_never_deadlocks(
        (space){"groups, then any structural step", all ? 3 : 2, 0, false, false, STRUCTURE_ANY});
    check_never_deadlocks((space){"groups, two of three are structure",
                                  all ? 3 : 2,
                                  6,
                                  false,
                                  false,
                                  {0, MODES(N, X, N), MODES(N, N, X), MODES(N, X, X)},
                                  4});
}

// ---- the rules that Orrery does not have ------------------------------------------------------------------------------------------

// Resources in the order in which they are taken, one by one, all exclusively.
static program one_by_one(const char* name, uint32_t first, uint32_t second)
{
    program p = {.name = name};
    program_add(&p, OP_TAKE, (uint32_t)X << (2 * first), 0);
    program_add(&p, OP_TAKE, (uint32_t)X << (2 * second), 0);
    program_add(&p, OP_RELEASE, 0, 0);
    return p;
}

/* N0-57 */
ORR_TEST(founding_note_takes_index_and_group_in_two_orders_and_deadlocks)
{
    // "Message processing" of note 000: a component that is removed locks the group, then _entitiesLocations; an entity that is
    // removed locks _entitiesLocations, then its group.
    static const char* const names[] = {"group", "index", "registry"};
    search_begin(&found, 2);
    found.systems[0] = one_by_one("component removed", 0, 1);
    found.systems[1] = one_by_one("entity removed", 1, 0);
    CHECK_STR(found_text(search_deadlock(&found), names),
              "component removed takes group exclusive\n"
              "entity removed takes index exclusive\n"
              "component removed waits for index exclusive: entity removed has it exclusive\n"
              "entity removed waits for group exclusive: component removed has it exclusive\n");
    // In one order, or both at once, they do not.
    search_begin(&found, 2);
    found.systems[0] = one_by_one("component removed", 1, 0);
    CHECK_EQ(search_deadlock(&found), UINT32_MAX);
    search_begin(&found, 2);
    found.systems[0] = program_make("component removed", MODES(X, X, N), 0, 7, RULES_OURS);
    found.systems[1] = program_make("entity removed", MODES(X, X, N), 0, 7, RULES_OURS);
    CHECK_EQ(search_deadlock(&found), UINT32_MAX);
}

ORR_TEST(structural_commit_that_keeps_its_locks_deadlocks)
{
    static const char* const names[] = {"cluster", "Position", "Health"};
    for (rules rule = RULES_OURS; rule <= RULES_STRUCTURE_KEPT; rule += RULES_STRUCTURE_KEPT) {
        search_begin(&found, 2);
        found.systems[0] = program_make("move", MODES(R, X, N), MODES(X, N, N), 1, rule);
        found.systems[1] = program_make("heal", MODES(R, N, X), MODES(X, N, N), 1, rule);
        uint32_t deadlock = search_deadlock(&found);
        if (rule == RULES_OURS) {
            CHECK_EQ(deadlock, UINT32_MAX);
        } else {
            CHECK_STR(found_text(deadlock, names),
                      "move takes cluster read, Position exclusive\n"
                      "heal takes cluster read, Health exclusive\n"
                      "move waits for cluster exclusive: heal has it read\n"
                      "heal waits for cluster exclusive: move has it read\n");
        }
    }
    space any = {"structural steps that keep all locks", 2, 0, false, false, STRUCTURE_ANY};
    CHECK(space_search(&any, RULES_STRUCTURE_KEPT, NULL) > 0);
}

// By thought: two groups stop each other if each reads what the other holds inclusively, and nothing else keeps them apart.
static bool stop_each_other(uint32_t a, uint32_t b)
{
    bool first = false, second = false;
    for (uint32_t r = 0; r < RESOURCES; r++) {
        first |= mode_of(a, r) == I && mode_of(b, r) == R;
        second |= mode_of(a, r) == R && mode_of(b, r) == I;
    }
    return first && second && !conflict[a][b];
}

ORR_TEST(upgrade_that_keeps_its_reads_deadlocks)
{
    static const char* const names[] = {"Body", "Bone", "Skin"};
    search_begin(&found, 2);
    found.systems[0] = program_make("physics", MODES(I, R, N), 0, 0, RULES_READS_KEPT);
    found.systems[1] = program_make("jiggle", MODES(R, I, N), 0, 0, RULES_READS_KEPT);
    CHECK_STR(found_text(search_deadlock(&found), names),
              "physics takes Body inclusive, Bone read\n"
              "jiggle takes Body read, Bone inclusive\n"
              "physics waits for Body exclusive: jiggle has it read\n"
              "jiggle waits for Bone exclusive: physics has it read\n");
    // Of all pairs exactly those that thought says; with reads let go none, with reads of structure kept none.
    uint32_t dead = 0;
    for (uint32_t a = 1; a < SETS; a++) {
        for (uint32_t b = 1; b < SETS; b++) {
            search_begin(&found, 2);
            found.systems[0] = program_make("a", a, 0, 0, RULES_READS_KEPT);
            found.systems[1] = program_make("b", b, 0, 0, RULES_READS_KEPT);
            bool stops = search_deadlock(&found) != UINT32_MAX;
            CHECK_EQ(stops, stop_each_other(a, b));
            dead += stops;
        }
    }
    // Two modes go together in 10 ways; of the 10^3 ways on three resources, those with both (I, R) and (R, I).
    CHECK_EQ(dead, 1000 - 729 - 729 + 512);
}

ORR_TEST(sets_taken_one_by_one_in_no_common_order_deadlock)
{
    static const char* const names[] = {"a", "b", "c"};
    search_begin(&found, 3);
    found.systems[0] = one_by_one("one", 0, 1);
    found.systems[1] = one_by_one("two", 1, 2);
    found.systems[2] = one_by_one("three", 2, 0);
    CHECK_STR(found_text(search_deadlock(&found), names),
              "one takes a exclusive\n"
              "two takes b exclusive\n"
              "one waits for b exclusive: two has it exclusive\n"
              "three takes c exclusive\n"
              "two waits for c exclusive: three has it exclusive\n"
              "three waits for a exclusive: one has it exclusive\n");
    search_begin(&found, 3);
    found.systems[2] = one_by_one("three", 0, 2);
    CHECK_EQ(search_deadlock(&found), UINT32_MAX);
}
