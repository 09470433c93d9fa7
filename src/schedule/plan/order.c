// SPDX-License-Identifier: MIT
// The order of systems: `before` and `after`; of all systems that may come next, the first
// registered comes next.
#include "base/scan.h"
#include "schedule/schedule.h"

// `from` comes before `to`; indexes into `systems`.
typedef struct system_order_edge {
    uint32_t from, to;
} system_order_edge;

// The state of one sort.
typedef struct system_order {
    orr_world* world;
    orri_system** systems; // [count], in order of registration.
    uint32_t count;
    system_order_edge* edges;
    uint32_t edge_count, edge_capacity;
    uint32_t* waiting; // [count]: systems it waits for; UINT32_MAX: it is placed.
    bool strict;       // Unknown names are refused.
} system_order;

static bool system_order_equal(const char* own, const char* name, size_t size)
{
    return own != NULL && orri_scan_equals(name, size, own);
}

// True when `name` is the system's name or group.
static bool system_order_is(const orri_system* system, const char* name, size_t size)
{
    return system_order_equal(system->desc.name, name, size) ||
           system_order_equal(system->desc.group, name, size);
}

ORRI_COLD static orr_result system_order_refuse_name(const system_order* s,
                                                     const orri_system* system, const char* field,
                                                     const char* name, size_t size)
{
    orri_near near;
    orri_near_begin(&near, name, size);
    for (uint32_t i = 0; i < s->count; i++) {
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
    s->waiting[to]++;
    return ORR_OK;
}

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
        for (uint32_t i = 0; i < s->count; i++) {
            if (!system_order_is(s->systems[i], item, size)) {
                continue;
            }
            found = true;
            if (s->systems[i]->pipe != s->systems[self]->pipe) {
                if (system_order_equal(s->systems[i]->desc.name, item, size)) {
                    return system_order_refuse_far(s, s->systems[self], field, s->systems[i]);
                }
                continue; // A group name means its systems in the same pipeline.
            }
            // A group may name itself through its members: a system does not wait for itself,
            // unless it names itself.
            if (i == self && !system_order_equal(s->systems[i]->desc.name, item, size)) {
                continue;
            }
            orr_result result = before ? system_order_edge_add(s, self, i)
                                       : system_order_edge_add(s, i, self);
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

// A system that is not placed and that `system` waits for.
static uint32_t system_order_blocker(const system_order* s, uint32_t system)
{
    for (uint32_t e = 0; e < s->edge_count; e++) {
        if (s->edges[e].to == system && s->waiting[s->edges[e].from] != UINT32_MAX) {
            return s->edges[e].from;
        }
    }
    return system;
}

ORRI_COLD static orr_result system_order_refuse_cycle(const system_order* s)
{
    uint32_t at = 0;
    while (s->waiting[at] == UINT32_MAX) {
        at++;
    }
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

// Places systems one by one. Quadratic, but plans are rare.
static orr_result system_order_sort(system_order* s, orri_system** out, uint32_t* count)
{
    uint32_t placed = 0;
    while (placed < s->count) {
        uint32_t next = 0;
        while (next < s->count && s->waiting[next] != 0) {
            next++;
        }
        if (next == s->count) {
            return system_order_refuse_cycle(s);
        }
        s->waiting[next] = UINT32_MAX;
        out[placed++] = s->systems[next];
        for (uint32_t e = 0; e < s->edge_count; e++) {
            if (s->edges[e].from == next) {
                s->waiting[s->edges[e].to]--;
            }
        }
        // Without edges the rest is in order already.
        while (s->edge_count == 0 && placed < s->count) {
            out[placed] = s->systems[placed];
            placed++;
        }
    }
    *count = placed;
    return ORR_OK;
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
    return result == ORR_OK ? system_order_sort(s, out, count) : result;
}

orr_result orri_system_order(orr_world* world, bool strict, orri_system** out, uint32_t* count)
{
    uint32_t room = world->schedule->system_count;
    orri_env* env = &world->env;
    system_order s = {.world = world, .strict = strict};
    s.systems = ORRI_ALLOC(env, ORR_MEMORY_TEMP, orri_system*, room);
    s.waiting = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, uint32_t, room);
    orr_result result = ORR_ERR_MEMORY;
    if (s.systems != NULL && s.waiting != NULL) {
        for (orri_system* system = world->schedule->first; system != NULL; system = system->next) {
            if (!system->removed) {
                s.systems[s.count++] = system;
            }
        }
        result = system_order_make(&s, out, count);
    } else {
        result = orri_refuse_memory(env, "ordering systems");
    }
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, s.edges, s.edge_capacity);
    ORRI_FREE(env, ORR_MEMORY_TEMP, uint32_t, s.waiting, room);
    ORRI_FREE(env, ORR_MEMORY_TEMP, orri_system*, s.systems, room);
    return result;
}
