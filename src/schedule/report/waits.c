// SPDX-License-Identifier: MIT
// The earlier systems that a system waits for, and why. See waits.h.
#include "schedule/report/waits.h"
#include "base/scan.h"
#include <stdio.h>
#include <stdlib.h>

// Reasons by name, in the order in which those of one system are reported.
enum {
    WAITS_AFTER,
    WAITS_OTHERS_BEFORE,
    WAITS_EXPORTS,
    WAITS_OTHERS_IMPORTS,
    WAITS_EVENTS, // And type index.
};

// ---- sets ---------------------------------------------------------------------------------------

static int waits_set_compare(const void* a, const void* b)
{
    const orri_waits_set *x = a, *y = b;
    if (x->kind != y->kind || x->name_size != y->name_size) {
        return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind)
                                  : (x->name_size > y->name_size) - (x->name_size < y->name_size);
    }
    return memcmp(x->name, y->name, x->name_size);
}

// The set of a kind and name. NULL: no system of the plan can be in it.
static orri_waits_set* waits_set_find(const orri_plan_waits* waits, orri_waits_kind kind,
                                      const char* name, size_t size)
{
    orri_waits_set key = {.kind = kind, .name = name, .name_size = size};
    return waits->name_count > 0 ? bsearch(&key, waits->sets, waits->name_count,
                                           sizeof *waits->sets, waits_set_compare)
                                 : NULL;
}

static orri_waits_set* waits_set_of_type(const orri_plan_waits* waits, orri_waits_kind kind,
                                         uint32_t type)
{
    return &waits->sets[waits->name_count + 3 * type + (kind - ORRI_WAITS_SENDS)];
}

static bool waits_large(const orri_waits_set* set)
{
    return set->count > ORRI_WAITS_EACH_MAX;
}

static bool waits_set_enter(orri_plan_waits* waits, orri_waits_set* set, uint32_t step)
{
    if (set->last1 != 0 && waits->links[set->last1 - 1].step == step) {
        return true; // A list may have a name twice.
    }
    if (!ORRI_RESERVE(&waits->pipe->world->env, ORR_MEMORY_TEMP, &waits->links,
                      &waits->link_capacity, waits->link_count + 1)) {
        return false;
    }
    waits->links[waits->link_count] = (orri_waits_link){step, set->last1};
    set->last1 = ++waits->link_count;
    if (set->count < ORRI_WAITS_SHOWN) {
        set->first[set->count] = step;
    }
    set->count++;
    return true;
}

static void waits_set_empty(orri_waits_set* set)
{
    *set = (orri_waits_set){.kind = set->kind};
}

// ---- the names of a system ----------------------------------------------------------------------

// Does something with a set that a system is in by name. False without memory.
typedef bool (*waits_with)(orri_plan_waits* waits, uint32_t step, orri_waits_kind kind,
                           const char* name, size_t size);

// The next name in a list of systems and groups, without '?'.
static bool waits_item_next(const char** at, const char** item, size_t* size)
{
    if (*at == NULL || !orri_scan_item(at, item, size)) {
        return false;
    }
    bool maybe = **item == '?';
    *item += maybe;
    *size -= maybe;
    return true;
}

static bool waits_list(orri_plan_waits* waits, uint32_t step, orri_waits_kind kind,
                       const char* list, waits_with with)
{
    const char *at = list, *item;
    size_t size;
    bool done = true;
    while (done && waits_item_next(&at, &item, &size)) {
        done = with(waits, step, kind, item, size);
    }
    return done;
}

// Calls `with` for each set that the system of a step is in by name.
static bool waits_own_sets(orri_plan_waits* waits, uint32_t step, waits_with with)
{
    const orr_system_desc* desc = &waits->pipe->steps[step].system->desc;
    return with(waits, step, ORRI_WAITS_NAME, desc->name, strlen(desc->name)) &&
           (desc->group == NULL ||
            with(waits, step, ORRI_WAITS_GROUP, desc->group, strlen(desc->group))) &&
           waits_list(waits, step, ORRI_WAITS_BEFORE, desc->before, with) &&
           waits_list(waits, step, ORRI_WAITS_IMPORTS, desc->imports, with);
}

static bool waits_set_add(orri_plan_waits* waits, uint32_t step, orri_waits_kind kind,
                          const char* name, size_t size)
{
    (void)step;
    if (!ORRI_RESERVE(&waits->pipe->world->env, ORR_MEMORY_TEMP, &waits->sets, &waits->set_capacity,
                      waits->name_count + 1)) {
        return false;
    }
    waits->sets[waits->name_count++] =
        (orri_waits_set){.kind = kind, .name = name, .name_size = size};
    return true;
}

// Enters a step into a set that its system is in by name.
static bool waits_name_enter(orri_plan_waits* waits, uint32_t step, orri_waits_kind kind,
                             const char* name, size_t size)
{
    return waits_set_enter(waits, waits_set_find(waits, kind, name, size), step);
}

// ---- begin and end ------------------------------------------------------------------------------

// Makes an empty set of each kind and name that a system of the plan has.
static bool waits_sets_make(orri_plan_waits* waits)
{
    for (uint32_t i = 0; i < waits->pipe->step_count; i++) {
        if (waits->pipe->steps[i].system != NULL && !waits_own_sets(waits, i, waits_set_add)) {
            return false;
        }
    }
    uint32_t count = waits->name_count, kept = 0;
    if (count > 1) {
        qsort(waits->sets, count, sizeof *waits->sets, waits_set_compare);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || waits_set_compare(&waits->sets[kept - 1], &waits->sets[i]) != 0) {
            waits->sets[kept++] = waits->sets[i];
        }
    }
    waits->name_count = kept;
    uint32_t types = 3 * waits->type_count;
    if (!ORRI_RESERVE(&waits->pipe->world->env, ORR_MEMORY_TEMP, &waits->sets, &waits->set_capacity,
                      kept + types)) {
        return false;
    }
    for (uint32_t i = 0; i < types; i++) {
        waits->sets[kept + i] = (orri_waits_set){.kind = ORRI_WAITS_SENDS + i % 3};
    }
    return true;
}

bool orri_waits_begin(orri_plan_waits* waits, const orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    waits->pipe = pipe;
    waits->type_count = world->schema.type_count;
    waits->writers1 = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_TEMP, uint32_t, waits->type_count);
    waits->touched = ORRI_ALLOC(&world->env, ORR_MEMORY_TEMP, uint64_t, waits->type_count / 64 + 1);
    if (waits->writers1 == NULL || waits->touched == NULL || !waits_sets_make(waits)) {
        (void)orri_refuse_memory(&world->env, "printing a plan");
        return false;
    }
    return true;
}

void orri_waits_end(orri_plan_waits* waits)
{
    orri_env* env = &waits->pipe->world->env;
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, waits->sets, waits->set_capacity);
    ORRI_FREE(env, ORR_MEMORY_TEMP, uint32_t, waits->writers1, waits->type_count);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, waits->links, waits->link_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, waits->found, waits->found_capacity);
    ORRI_FREE(env, ORR_MEMORY_TEMP, uint64_t, waits->touched, waits->type_count / 64 + 1);
    *waits = (orri_plan_waits){
        .reason = waits->reason, .reason_many = waits->reason_many, .user = waits->user};
}

// ---- reasons by name: before, after, imports, events --------------------------------------------

static bool waits_found_add(orri_plan_waits* waits, orri_waits_found found)
{
    if (!ORRI_RESERVE(&waits->pipe->world->env, ORR_MEMORY_TEMP, &waits->found,
                      &waits->found_capacity, waits->found_count + 1)) {
        return false;
    }
    waits->found[waits->found_count++] = found;
    return true;
}

// Adds the members of a set, which may be NULL.
static bool waits_find_set(orri_plan_waits* waits, const orri_waits_set* set, uint32_t reason)
{
    if (set != NULL && waits_large(set)) {
        uint32_t set1 = (uint32_t)(set - waits->sets) + 1;
        return waits_found_add(waits, (orri_waits_found){set->first[0], set1, reason});
    }
    bool added = true;
    for (uint32_t link1 = set != NULL ? set->last1 : 0; added && link1 != 0;) {
        const orri_waits_link* link = &waits->links[link1 - 1];
        added = waits_found_add(waits, (orri_waits_found){link->step, 0, reason});
        link1 = link->before1;
    }
    return added;
}

static bool waits_find_after(orri_plan_waits* waits, uint32_t step, orri_waits_kind kind,
                             const char* name, size_t size)
{
    (void)step;
    return waits_find_set(waits, waits_set_find(waits, kind, name, size), WAITS_AFTER);
}

static bool waits_find_exports(orri_plan_waits* waits, uint32_t step, orri_waits_kind kind,
                               const char* name, size_t size)
{
    (void)step;
    return waits_find_set(waits, waits_set_find(waits, kind, name, size), WAITS_EXPORTS);
}

// Adds the systems of which a list has the system's name, or that of its group.
static bool waits_find_own(orri_plan_waits* waits, const orr_system_desc* desc)
{
    const char *name = desc->name, *group = desc->group;
    size_t size = strlen(name);
    return waits_find_set(waits, waits_set_find(waits, ORRI_WAITS_BEFORE, name, size),
                          WAITS_OTHERS_BEFORE) &&
           waits_find_set(waits, waits_set_find(waits, ORRI_WAITS_IMPORTS, name, size),
                          WAITS_OTHERS_IMPORTS) &&
           (group == NULL ||
            waits_find_set(waits, waits_set_find(waits, ORRI_WAITS_BEFORE, group, strlen(group)),
                           WAITS_OTHERS_BEFORE));
}

// Adds the steps that send events which the system receives.
static bool waits_find_senders(orri_plan_waits* waits, const orri_rights* rights)
{
    bool added = true;
    for (uint32_t w = 0; rights->receives != NULL && w < rights->type_words; w++) {
        for (uint64_t left = rights->receives[w]; added && left != 0; left &= left - 1) {
            uint32_t type = w * 64 + (uint32_t)__builtin_ctzll(left);
            added = waits_find_set(waits, waits_set_of_type(waits, ORRI_WAITS_SENDS, type),
                                   WAITS_EVENTS + type);
        }
    }
    return added;
}

// Finds what the system of step `at` waits for by name.
static bool waits_find(orri_plan_waits* waits, uint32_t at)
{
    const orri_system* to = waits->pipe->steps[at].system;
    const orr_system_desc* desc = &to->desc;
    waits->found_count = 0;
    return waits_list(waits, at, ORRI_WAITS_NAME, desc->after, waits_find_after) &&
           waits_list(waits, at, ORRI_WAITS_GROUP, desc->after, waits_find_after) &&
           waits_list(waits, at, ORRI_WAITS_NAME, desc->imports, waits_find_exports) &&
           waits_find_own(waits, desc) && waits_find_senders(waits, &to->rights);
}

static int waits_found_compare(const void* a, const void* b)
{
    const orri_waits_found *x = a, *y = b;
    return x->step != y->step       ? (x->step > y->step) - (x->step < y->step)
           : x->reason != y->reason ? (x->reason > y->reason) - (x->reason < y->reason)
                                    : (x->set1 > y->set1) - (x->set1 < y->set1);
}

static const char* waits_type_name(const orri_plan_waits* waits, uint32_t type)
{
    const orr_world* world = waits->pipe->world;
    return orri_type_label(world, (orr_type){world->schema.type_base + type});
}

// Reports what was found: a step or a set.
static void waits_found_report(const orri_plan_waits* waits, const orri_waits_found* found,
                               uint32_t at)
{
    static const char* const reasons[] = {
        [WAITS_AFTER] = "its .after",
        [WAITS_OTHERS_BEFORE] = "the other's .before",
        [WAITS_EXPORTS] = "exports, then this system imports",
        [WAITS_OTHERS_IMPORTS] = "imports, then this system exports"};
    char why[160];
    if (found->reason >= WAITS_EVENTS) {
        snprintf(why, sizeof why, "sends events %s, then this system receives them",
                 waits_type_name(waits, found->reason - WAITS_EVENTS));
    } else {
        snprintf(why, sizeof why, "%s", reasons[found->reason]);
    }
    const orri_step* steps = waits->pipe->steps;
    if (found->set1 != 0) {
        waits->reason_many(waits->user, waits, &waits->sets[found->set1 - 1], steps[at].system,
                           why);
    } else {
        waits->reason(waits->user, steps[found->step].system, steps[at].system, why);
    }
}

static bool waits_names(orri_plan_waits* waits, uint32_t at)
{
    if (!waits_find(waits, at)) {
        return false;
    }
    if (waits->found_count > 1) {
        qsort(waits->found, waits->found_count, sizeof *waits->found, waits_found_compare);
    }
    for (uint32_t i = 0; i < waits->found_count; i++) {
        if (i == 0 || waits_found_compare(&waits->found[i], &waits->found[i - 1]) != 0) {
            waits_found_report(waits, &waits->found[i], at);
        }
    }
    return true;
}

// ---- reasons by type ----------------------------------------------------------------------------

// Reports that a step, or a set if it is not NULL, accesses a type otherwise than step `at`.
static void waits_touch(const orri_plan_waits* waits, uint32_t from, orri_waits_set* set,
                        uint32_t at, uint32_t type, orri_touch theirs, orri_touch mine)
{
    static const char* const touches[] = {"", "reads", "changes (.atomics)", "writes"};
    const orri_step* steps = waits->pipe->steps;
    char why[160];
    snprintf(why, sizeof why, "%s %s, then this system %s it", touches[theirs],
             waits_type_name(waits, type), touches[mine]);
    if (set != NULL) {
        waits->reason_many(waits->user, waits, set, steps[at].system, why);
    } else {
        waits->reason(waits->user, steps[from].system, steps[at].system, why);
    }
}

// The last link of a set that is reported one system at a time; a large set is reported here.
static uint32_t waits_type_set(const orri_plan_waits* waits, uint32_t at, uint32_t type,
                               orri_touch theirs, orri_touch mine)
{
    orri_waits_kind kind = theirs == ORRI_TOUCH_READS ? ORRI_WAITS_READS : ORRI_WAITS_ATOMIC;
    orri_waits_set* set = waits_set_of_type(waits, kind, type);
    if (mine == theirs) {
        return 0;
    }
    if (waits_large(set)) {
        waits_touch(waits, 0, set, at, type, theirs, mine);
        return 0;
    }
    return set->last1;
}

// Conflicts on one type: a reader waits for the last writer, a writer for the last writer and all
// readers since; the same with atomic sections. Large sets first, then latest first.
static void waits_type(const orri_plan_waits* waits, uint32_t at, uint32_t type, orri_touch mine)
{
    uint32_t readers1 = waits_type_set(waits, at, type, ORRI_TOUCH_READS, mine);
    uint32_t atomics1 = waits_type_set(waits, at, type, ORRI_TOUCH_ATOMIC, mine);
    while (readers1 != 0 || atomics1 != 0) {
        const orri_waits_link* reader = readers1 != 0 ? &waits->links[readers1 - 1] : NULL;
        const orri_waits_link* atomic = atomics1 != 0 ? &waits->links[atomics1 - 1] : NULL;
        if (atomic == NULL || (reader != NULL && reader->step > atomic->step)) {
            waits_touch(waits, reader->step, NULL, at, type, ORRI_TOUCH_READS, mine);
            readers1 = reader->before1;
        } else {
            waits_touch(waits, atomic->step, NULL, at, type, ORRI_TOUCH_ATOMIC, mine);
            atomics1 = atomic->before1;
        }
    }
    if (waits->writers1[type] != 0) {
        waits_touch(waits, waits->writers1[type] - 1, NULL, at, type, ORRI_TOUCH_WRITES, mine);
    }
}

// An indirect system is notified of what the last writer of a type wrote.
static void waits_message(const orri_plan_waits* waits, uint32_t at, uint32_t type)
{
    const orri_step* steps = waits->pipe->steps;
    // Atomic sections in the set are later than the last system that writes.
    uint32_t atomics1 = waits_set_of_type(waits, ORRI_WAITS_ATOMIC, type)->last1;
    uint32_t from1 = atomics1 != 0 ? waits->links[atomics1 - 1].step + 1 : waits->writers1[type];
    if (from1 != 0) {
        char why[160];
        snprintf(why, sizeof why, "writes %s, of which this system is notified",
                 waits_type_name(waits, type));
        waits->reason(waits->user, steps[from1 - 1].system, steps[at].system, why);
    }
}

// Enters how the step accesses a type.
static bool waits_type_enter(orri_plan_waits* waits, uint32_t step, uint32_t type, orri_touch touch)
{
    if (touch == ORRI_TOUCH_WRITES) {
        waits->writers1[type] = step + 1;
        waits_set_empty(waits_set_of_type(waits, ORRI_WAITS_READS, type));
        waits_set_empty(waits_set_of_type(waits, ORRI_WAITS_ATOMIC, type));
        return true;
    }
    orri_waits_kind kind = touch == ORRI_TOUCH_READS ? ORRI_WAITS_READS : ORRI_WAITS_ATOMIC;
    return waits_set_enter(waits, waits_set_of_type(waits, kind, type), step);
}

// An indirect system accesses no values: it receives messages and sends changes.
static bool waits_types(orri_plan_waits* waits, uint32_t at)
{
    const orr_world* world = waits->pipe->world;
    const orri_system* system = waits->pipe->steps[at].system;
    orri_touched_types(world, system, waits->touched);
    for (uint32_t w = 0; w <= waits->type_count / 64; w++) {
        for (uint64_t left = waits->touched[w]; left != 0; left &= left - 1) {
            uint32_t type = w * 64 + (uint32_t)__builtin_ctzll(left);
            orri_touch mine = orri_touches(world, system, type, NULL);
            if (mine == ORRI_TOUCH_NONE) {
                continue;
            }
            if (system->desc.kind != ORR_DIRECT) {
                waits_message(waits, at, type);
                continue;
            }
            waits_type(waits, at, type, mine);
            if (!waits_type_enter(waits, at, type, mine)) {
                return false;
            }
        }
    }
    return true;
}

// Enters the events that the step sends.
static bool waits_senders_enter(orri_plan_waits* waits, uint32_t step)
{
    const orri_rights* rights = &waits->pipe->steps[step].system->rights;
    bool entered = true;
    for (uint32_t w = 0; rights->sends != NULL && w < rights->type_words; w++) {
        for (uint64_t left = rights->sends[w]; entered && left != 0; left &= left - 1) {
            uint32_t type = w * 64 + (uint32_t)__builtin_ctzll(left);
            entered =
                waits_set_enter(waits, waits_set_of_type(waits, ORRI_WAITS_SENDS, type), step);
        }
    }
    return entered;
}

bool orri_waits_step(orri_plan_waits* waits, uint32_t step)
{
    if (waits_names(waits, step) && waits_types(waits, step) && waits_senders_enter(waits, step) &&
        waits_own_sets(waits, step, waits_name_enter)) {
        return true;
    }
    (void)orri_refuse_memory(&waits->pipe->world->env, "printing a plan");
    return false;
}
