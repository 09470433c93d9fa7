// SPDX-License-Identifier: MIT
// Finds systems by name, and the systems of a group by its name: two hash tables with chains
// through the systems. Both are derived from the list of systems.
//
//   by name:  every listed system, also removed ones that are not freed yet
//   by group: the first listed system of each group; its others follow through `group_next`
#include "base/scan.h"
#include "schedule/schedule.h"

static orri_system** system_names_bucket(const struct orri_schedule* schedule, uint64_t hash)
{
    return &schedule->names.by_name[hash & (schedule->names.size - 1)];
}

static orri_system** system_names_group_bucket(const struct orri_schedule* schedule, uint64_t hash)
{
    return &schedule->names.by_group[hash & (schedule->names.size - 1)];
}

// ---- finding ------------------------------------------------------------------------------------

orri_system* orri_system_named(const orr_world* world, const char* name, size_t size)
{
    const struct orri_schedule* schedule = world->schedule;
    if (schedule == NULL || schedule->names.size == 0) {
        return NULL;
    }
    orri_system* system = *system_names_bucket(schedule, orr_hash(name, size, 0));
    while (system != NULL &&
           (system->removed || !orri_scan_equals(name, size, system->desc.name))) {
        system = system->name_next;
    }
    return system;
}

orri_system* orri_system_group_first(const orr_world* world, const char* group, size_t size)
{
    const struct orri_schedule* schedule = world->schedule;
    if (schedule == NULL || schedule->names.size == 0) {
        return NULL;
    }
    orri_system* system = *system_names_group_bucket(schedule, orr_hash(group, size, 0));
    while (system != NULL && !orri_scan_equals(group, size, system->desc.group)) {
        system = system->group_chain;
    }
    return system;
}

// ---- entering and leaving -----------------------------------------------------------------------

bool orri_system_names_reserve(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    uint32_t old = schedule->names.size, size = old == 0 ? 16 : old * 2;
    if (schedule->system_count < old) {
        return true;
    }
    orri_system** by_name = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SYSTEM, orri_system*, size);
    orri_system** by_group = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SYSTEM, orri_system*, size);
    if (by_name == NULL || by_group == NULL) {
        ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_system*, by_name, size);
        ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_system*, by_group, size);
        return false;
    }
    orri_system_names_free(world);
    schedule->names.by_name = by_name;
    schedule->names.by_group = by_group;
    schedule->names.size = size;
    for (orri_system* system = schedule->first; system != NULL; system = system->next) {
        orri_system_names_enter(schedule, system);
    }
    return true;
}

void orri_system_names_enter(struct orri_schedule* schedule, orri_system* system)
{
    orri_system** bucket = system_names_bucket(schedule, system->name_hash);
    system->name_next = *bucket;
    *bucket = system;
    system->group_next = system->group_prev = NULL;
    if (system->desc.group == NULL) {
        return;
    }
    size_t size = strlen(system->desc.group);
    orri_system* first = orri_system_group_first(system->pipe->world, system->desc.group, size);
    if (first != NULL) { // `group_prev` of the first system is the last one of its group.
        orri_system* last = first->group_prev;
        last->group_next = system;
        system->group_prev = last;
        first->group_prev = system;
    } else {
        orri_system** groups =
            system_names_group_bucket(schedule, orr_hash(system->desc.group, size, 0));
        system->group_chain = *groups;
        system->group_prev = system;
        *groups = system;
    }
}

// Takes a system out of its group. If it was the first one, the next one takes its place.
static void system_names_leave_group(struct orri_schedule* schedule, orri_system* system)
{
    size_t size = strlen(system->desc.group);
    orri_system** link = system_names_group_bucket(schedule, orr_hash(system->desc.group, size, 0));
    while (!orri_scan_equals(system->desc.group, size, (*link)->desc.group)) {
        link = &(*link)->group_chain;
    }
    orri_system *first = *link, *next = system->group_next;
    if (first != system) {
        system->group_prev->group_next = next;
        *(next != NULL ? &next->group_prev : &first->group_prev) = system->group_prev;
    } else if (next != NULL) {
        next->group_prev = system->group_prev;
        next->group_chain = system->group_chain;
        *link = next;
    } else {
        *link = system->group_chain;
    }
}

void orri_system_names_leave(struct orri_schedule* schedule, orri_system* system)
{
    orri_system** link = system_names_bucket(schedule, system->name_hash);
    while (*link != system) {
        link = &(*link)->name_next;
    }
    *link = system->name_next;
    if (system->desc.group != NULL) {
        system_names_leave_group(schedule, system);
    }
}

void orri_system_names_free(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    uint32_t size = schedule->names.size;
    ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_system*, schedule->names.by_name, size);
    ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_system*, schedule->names.by_group, size);
    schedule->names = (orri_system_names){0};
}

// ---- both: lists of `before` and `after` --------------------------------------------------------

orri_system_match orri_system_match_begin(const orr_world* world, const char* name, size_t size)
{
    return (orri_system_match){orri_system_named(world, name, size),
                               orri_system_group_first(world, name, size)};
}

orri_system* orri_system_match_next(orri_system_match* match)
{
    while (match->member != NULL && match->member->removed) {
        match->member = match->member->group_next;
    }
    orri_system *named = match->named, *member = match->member;
    if (named != NULL && (member == NULL || named->number <= member->number)) {
        match->named = NULL;
        match->member = member == named ? member->group_next : member;
        return named;
    }
    match->member = member != NULL ? member->group_next : NULL;
    return member;
}
