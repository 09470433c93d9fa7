// SPDX-License-Identifier: MIT
// The order of systems: `before` and `after`; of all systems that may come next, the first
// registered comes next.
#include "base/scan.h"
#include "schedule/schedule.h"

// Groups of at most this many systems have edges to each system that names them.
#define SYSTEM_ORDER_DIRECT 8u

// `from` comes before `to`. Indexes into `systems`; from `count` on: joins.
typedef struct system_order_edge {
    uint32_t from, to;
} system_order_edge;

// A join stands for the systems of a group in one pipeline: it comes after all of them, or
// (`before`) before all of them. So n systems that name a group of m make n + m edges.
typedef struct system_order_join {
    const orri_system* first; // Of the group; NULL: the slot is free.
    const orri_pipeline* pipe;
    bool before;
    bool found;    // The group has a system, in any pipeline.
    uint32_t node; // Its number as an end of edges.
} system_order_join;

// The state of one sort.
typedef struct system_order {
    orr_world* world;
    orri_system** systems; // [count], in order of registration.
    uint32_t count;
    system_order_edge* edges; // In the order in which lists name them.
    uint32_t edge_count, edge_capacity;
    system_order_join* joins; // Hash table with open addressing, at most half full.
    uint32_t join_count, join_size;
    uint32_t nodes;    // Systems and joins.
    uint32_t* waiting; // [nodes]: what it waits for; UINT32_MAX: it is placed.
    // Edges by `from`: those of node i are next[first[i]] to next[first[i + 1] - 1].
    uint32_t *first, *next; // [nodes + 1], [edge_count]
    // Systems that wait for none, not placed yet: a binary heap, the first registered on top.
    uint32_t* ready; // [nodes]
    uint32_t ready_count;
    bool strict; // Unknown names are refused.
} system_order;

static bool system_order_equal(const char* own, const char* name, size_t size)
{
    return own != NULL && orri_scan_equals(name, size, own);
}

ORRI_COLD static orr_result system_order_refuse_name(const system_order* s,
                                                     const orri_system* system, const char* field,
                                                     const char* name, size_t size)
{
    orri_near near;
    orri_near_begin(&near, name, size);
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->systems[i] == system) {
            continue; // It cannot run before or after itself.
        }
        orri_near_offer(&near, s->systems[i]->desc.name);
        if (s->systems[i]->desc.group != NULL) {
            orri_near_offer(&near, s->systems[i]->desc.group);
        }
    }
    char words[256];
    orri_text text = {words, sizeof words, 0};
    words[0] = '\0';
    orri_near_append(&near, &text);
    return orri_refuse(
        &s->world->env, ORR_ERR_NAME, ORR_LOG_ID_PLAN_REFUSED,
        "system '%s', .%s: there is no system or group '%.*s'%s (\"?%.*s\" if it may be "
        "missing)",
        system->desc.name, field, (int)size, name, words, (int)size, name);
}

ORRI_COLD static orr_result system_order_refuse_far(const system_order* s,
                                                    const orri_system* system, const char* field,
                                                    const orri_system* other)
{
    return orri_refuse(&s->world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_PLAN_REFUSED,
                       "system '%s' of pipeline '%s', .%s: '%s' is in pipeline '%s'; only systems "
                       "of one pipeline have an order. Put them into one pipeline",
                       system->desc.name, system->pipe->name, field, other->desc.name,
                       other->pipe->name);
}

static orr_result system_order_edge_add(system_order* s, uint32_t from, uint32_t to)
{
    if (!ORRI_RESERVE(&s->world->env, ORR_MEMORY_TEMP, &s->edges, &s->edge_capacity,
                      s->edge_count + 1)) {
        return orri_refuse_memory(&s->world->env, "ordering systems");
    }
    s->edges[s->edge_count++] = (system_order_edge){from, to};
    return ORR_OK;
}

// ---- joins --------------------------------------------------------------------------------------

// The slot of a join, or the free one it would get.
static system_order_join* system_order_slot(system_order_join* joins, uint32_t size,
                                            const orri_system* first, const orri_pipeline* pipe,
                                            bool before)
{
    uint64_t hash = orri_hash_word(first->number, (uint64_t)pipe->index << 1 | before);
    uint32_t slot = (uint32_t)hash & (size - 1);
    while (joins[slot].first != NULL && (joins[slot].first != first || joins[slot].pipe != pipe ||
                                         joins[slot].before != before)) {
        slot = (slot + 1) & (size - 1);
    }
    return &joins[slot];
}

static bool system_order_grow(system_order* s)
{
    orri_env* env = &s->world->env;
    uint32_t old = s->join_size, size = old == 0 ? 16 : old * 2;
    if (s->join_count * 2 < old) {
        return true;
    }
    system_order_join* joins = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, system_order_join, size);
    if (joins == NULL) {
        (void)orri_refuse_memory(env, "ordering systems");
        return false;
    }
    for (uint32_t i = 0; i < old; i++) {
        const system_order_join* join = &s->joins[i];
        if (join->first != NULL) {
            *system_order_slot(joins, size, join->first, join->pipe, join->before) = *join;
        }
    }
    ORRI_FREE(env, ORR_MEMORY_TEMP, system_order_join, s->joins, old);
    s->joins = joins;
    s->join_size = size;
    return true;
}

// The join of a group, made at first use. NULL when refused (reported).
static const system_order_join* system_order_join_of(system_order* s, const orri_system* first,
                                                     const orri_pipeline* pipe, bool before)
{
    if (!system_order_grow(s)) {
        return NULL;
    }
    system_order_join* join = system_order_slot(s->joins, s->join_size, first, pipe, before);
    if (join->first != NULL) {
        return join;
    }
    *join = (system_order_join){first, pipe, before, false, s->count + s->join_count++};
    for (const orri_system* at = first; at != NULL; at = at->group_next) {
        join->found |= !at->removed;
        if (at->removed || at->pipe != pipe) {
            continue;
        }
        orr_result result = before ? system_order_edge_add(s, join->node, at->sorted)
                                   : system_order_edge_add(s, at->sorted, join->node);
        if (result != ORR_OK) {
            return NULL;
        }
    }
    return join;
}

// True for a group to which edges are made through a join. Not if the system is in it: it does not
// wait for itself.
static bool system_order_large(const system_order* s, const orri_system* first, uint32_t self)
{
    // `group_prev` of the first system is the last one; numbers ascend.
    return first != NULL && first->group_prev->number - first->number >= SYSTEM_ORDER_DIRECT &&
           (s->systems[self]->desc.group == NULL ||
            strcmp(s->systems[self]->desc.group, first->desc.group) != 0);
}

// ---- lists --------------------------------------------------------------------------------------

// Adds the edges of a list: named systems come after (`before`) or before `self`.
static orr_result system_order_list(system_order* s, uint32_t self, const char* field,
                                    const char* text, bool before)
{
    const char* at = text != NULL ? text : "";
    const char* item;
    size_t size;
    while (orri_scan_item(&at, &item, &size)) {
        bool found = *item == '?'; // "?name": it may be missing.
        item += found;
        size -= found;
        orri_system_match match = orri_system_match_begin(s->world, item, size);
        if (system_order_large(s, match.member, self)) {
            const system_order_join* join =
                system_order_join_of(s, match.member, s->systems[self]->pipe, before);
            if (join == NULL || (before ? system_order_edge_add(s, self, join->node)
                                        : system_order_edge_add(s, join->node, self)) != ORR_OK) {
                return ORR_ERR_MEMORY;
            }
            found |= join->found;
            match.member = NULL; // The system of that name is left.
        }
        for (orri_system* other; (other = orri_system_match_next(&match)) != NULL;) {
            found = true;
            if (other->pipe != s->systems[self]->pipe) {
                if (system_order_equal(other->desc.name, item, size)) {
                    return system_order_refuse_far(s, s->systems[self], field, other);
                }
                continue; // A group name means its systems in the same pipeline.
            }
            // A group may name itself through its members: a system does not wait for itself,
            // unless it names itself.
            if (other->sorted == self && !system_order_equal(other->desc.name, item, size)) {
                continue;
            }
            orr_result result = before ? system_order_edge_add(s, self, other->sorted)
                                       : system_order_edge_add(s, other->sorted, self);
            if (result != ORR_OK) {
                return result;
            }
        }
        if (!found && s->strict) {
            return system_order_refuse_name(s, s->systems[self], field, item, size);
        }
    }
    return ORR_OK;
}

// ---- cycles -------------------------------------------------------------------------------------

// Fills `ready`: for each node the first one that it waits for and that is not placed; itself if
// there is none.
static void system_order_find_blockers(const system_order* s)
{
    for (uint32_t i = 0; i < s->nodes; i++) {
        s->ready[i] = i;
    }
    for (uint32_t e = s->edge_count; e-- > 0;) {
        if (s->waiting[s->edges[e].from] != UINT32_MAX) {
            s->ready[s->edges[e].to] = s->edges[e].from;
        }
    }
}

// The system that a system waits for. Joins wait for systems only, and are not named.
static uint32_t system_order_blocker(const system_order* s, uint32_t system)
{
    uint32_t node = s->ready[system];
    return node >= s->count ? s->ready[node] : node;
}

ORRI_COLD static orr_result system_order_refuse_cycle(const system_order* s)
{
    uint32_t at = 0;
    while (s->waiting[at] == UINT32_MAX) {
        at++;
    }
    system_order_find_blockers(s);
    // After as many steps as there are systems the walk is on the cycle.
    for (uint32_t i = 0; i < s->count; i++) {
        at = system_order_blocker(s, at);
    }
    char words[320];
    orri_text text = {words, sizeof words, 0};
    uint32_t first = at;
    orri_text_add(&text, "'%s'", s->systems[first]->desc.name);
    do {
        at = system_order_blocker(s, at);
        orri_text_add(&text, " after '%s'", s->systems[at]->desc.name);
    } while (at != first && text.length < sizeof words);
    orri_text_cut(&text);
    return orri_refuse(
        &s->world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_PLAN_REFUSED,
        "systems wait for each other in a cycle: %s; change .before or .after of one of them",
        words);
}

// ---- sorting ------------------------------------------------------------------------------------

static void system_order_push(system_order* s, uint32_t system)
{
    uint32_t at = s->ready_count++;
    while (at > 0 && s->ready[(at - 1) / 2] > system) {
        s->ready[at] = s->ready[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    s->ready[at] = system;
}

static uint32_t system_order_pop(system_order* s)
{
    uint32_t top = s->ready[0], last = s->ready[--s->ready_count], at = 0;
    for (uint32_t child; (child = 2 * at + 1) < s->ready_count; at = child) {
        child += child + 1 < s->ready_count && s->ready[child + 1] < s->ready[child];
        if (s->ready[child] >= last) {
            break;
        }
        s->ready[at] = s->ready[child];
    }
    s->ready[at] = last;
    return top;
}

// Sorts the edges by `from`.
static void system_order_index(const system_order* s)
{
    for (uint32_t e = 0; e < s->edge_count; e++) {
        s->first[s->edges[e].from]++;
        s->waiting[s->edges[e].to]++;
    }
    for (uint32_t i = 0, sum = 0; i <= s->nodes; i++) {
        sum += s->first[i];
        s->first[i] = sum; // The end; each edge below moves it to the front by one.
    }
    for (uint32_t e = s->edge_count; e-- > 0;) {
        s->next[--s->first[s->edges[e].from]] = s->edges[e].to;
    }
}

// Everything that a join waits for is placed. Joins come before systems only.
static void system_order_join_done(system_order* s, uint32_t join)
{
    s->waiting[join] = UINT32_MAX;
    for (uint32_t e = s->first[join]; e < s->first[join + 1]; e++) {
        if (--s->waiting[s->next[e]] == 0) {
            system_order_push(s, s->next[e]);
        }
    }
}

// Places systems one by one: of those that wait for none, the first registered.
static orr_result system_order_sort(system_order* s, orri_system** out, uint32_t* count)
{
    uint32_t placed = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->waiting[i] == 0) {
            system_order_push(s, i);
        }
    }
    for (uint32_t i = s->count; i < s->nodes; i++) {
        if (s->waiting[i] == 0) { // The group has no system in the pipeline.
            system_order_join_done(s, i);
        }
    }
    while (s->ready_count > 0) {
        uint32_t next = system_order_pop(s);
        s->waiting[next] = UINT32_MAX;
        out[placed++] = s->systems[next];
        for (uint32_t e = s->first[next]; e < s->first[next + 1]; e++) {
            if (--s->waiting[s->next[e]] != 0) {
                continue;
            }
            if (ORR_LIKELY(s->next[e] < s->count)) {
                system_order_push(s, s->next[e]);
            } else {
                system_order_join_done(s, s->next[e]);
            }
        }
    }
    if (placed < s->count) {
        return system_order_refuse_cycle(s);
    }
    *count = placed;
    return ORR_OK;
}

// Sorts, with memory for the edges by `from` and the heap: one block.
static orr_result system_order_place(system_order* s, orri_system** out, uint32_t* count)
{
    orri_env* env = &s->world->env;
    uint32_t nodes = s->count + s->join_count;
    size_t words = 3 * (size_t)nodes + 1 + s->edge_count;
    s->world->schedule->order_edges += s->edge_count;
    uint32_t* block = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, uint32_t, words);
    if (block == NULL) {
        return orri_refuse_memory(env, "ordering systems");
    }
    s->nodes = nodes;
    s->waiting = block;
    s->first = s->waiting + nodes;
    s->ready = s->first + nodes + 1;
    s->next = s->ready + nodes;
    system_order_index(s);
    orr_result result = system_order_sort(s, out, count);
    ORRI_FREE(env, ORR_MEMORY_TEMP, uint32_t, block, words);
    return result;
}

static orr_result system_order_make(system_order* s, orri_system** out, uint32_t* count)
{
    orr_result result = ORR_OK;
    for (uint32_t i = 0; result == ORR_OK && i < s->count; i++) {
        result = system_order_list(s, i, "before", s->systems[i]->desc.before, true);
        if (result == ORR_OK) {
            result = system_order_list(s, i, "after", s->systems[i]->desc.after, false);
        }
    }
    return result == ORR_OK ? system_order_place(s, out, count) : result;
}

orr_result orri_system_order(orr_world* world, bool strict, orri_system** out, uint32_t* count)
{
    uint32_t room = world->schedule->system_count;
    orri_env* env = &world->env;
    system_order s = {.world = world, .strict = strict};
    s.systems = ORRI_ALLOC(env, ORR_MEMORY_TEMP, orri_system*, room);
    orr_result result = ORR_ERR_MEMORY;
    if (s.systems != NULL) {
        for (orri_system* system = world->schedule->first; system != NULL; system = system->next) {
            if (!system->removed) {
                system->sorted = s.count;
                s.systems[s.count++] = system;
            }
        }
        result = system_order_make(&s, out, count);
    } else {
        result = orri_refuse_memory(env, "ordering systems");
    }
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, s.edges, s.edge_capacity);
    ORRI_FREE(env, ORR_MEMORY_TEMP, system_order_join, s.joins, s.join_size);
    ORRI_FREE(env, ORR_MEMORY_TEMP, orri_system*, s.systems, room);
    return result;
}

#undef SYSTEM_ORDER_DIRECT
