// SPDX-License-Identifier: MIT
// A group of systems: made ready, run, and at its point ended one after the other. Between two points structure stays as it is.
#include "schedule/schedule.h"

// ---- before -------------------------------------------------------------------------------------------------------------

static bool group_due(const orr_world* world, orri_system* system)
{
    if (ORR_UNLIKELY(!system->started)) {
        return false; // A callback switched it off after the plan was made.
    }
    if (system->tick_first == UINT64_MAX) {
        system->tick_first = world->tick;
    }
    return ORR_LIKELY(system->every == 1) ||
           (world->tick - system->tick_first) % system->every == 0;
}

static bool group_pays(orr_world* world, uint32_t first, uint32_t point)
{
    const orri_step* steps = world->schedule->steps;
    for (uint32_t i = first; i < point; i++) {
        steps[i].system->due = group_due(world, steps[i].system);
    }
    return orri_abreast_pays(world, first, point);
}

// The queue ran over: it begins anew, before it is told everything again.
static void group_restart_lost(orr_world* world, orri_system* system)
{
    if (system->reads && ORR_UNLIKELY(orri_reader_lost(system->rights.reader))) {
        orri_system_call_back(world, system, system->desc.stop);
        orri_system_call_back(world, system, system->desc.start);
    }
}

orr_result orri_group_prepare(orr_world* world, uint32_t first, uint32_t point)
{
    const orri_step* steps = world->schedule->steps;
    bool units = (orri_abreast_ready(world) && group_pays(world, first, point)) ||
                 world->schedule->shuffle != 0;
    for (uint32_t i = first; i < point; i++) {
        orri_system* system = steps[i].system;
        system->due = group_due(world, system);
        orr_result result = system->due ? orri_system_prepare(world, system, units) : ORR_OK;
        if (ORR_UNLIKELY(result != ORR_OK)) {
            return result;
        }
    }
    for (uint32_t i = first; i < point; i++) {
        if (steps[i].system->due) {
            group_restart_lost(world, steps[i].system);
        }
    }
    return ORR_OK;
}

// ---- running ------------------------------------------------------------------------------------------------------------

void orri_group_run_one(orr_world* world, orri_system* system, const uint32_t* units)
{
    world->schedule->rows_before = system->stats.rows;
    orri_system_call(world, system, units);
    world->schedule->alone.taken++;
    world->schedule->alone.rows += system->stats.rows - world->schedule->rows_before;
    if (ORR_UNLIKELY(world->schedule->timed)) {
        orri_time_end(world, system, system->desc.name, "system");
    }
}

void orri_group_run(orr_world* world, uint32_t first, uint32_t point)
{
    const orri_step* steps = world->schedule->steps;
    if (orri_abreast_run(world, first, point) || orri_shuffle_run(world, first, point)) {
        return;
    }
    bool watched = orri_abreast_watch(world, true);
    for (uint32_t i = first; i < point; i++) {
        if (steps[i].system->due) {
            if (watched) {
                orri_abreast_says(world, i);
            }
            orri_group_run_one(world, steps[i].system, NULL);
        }
    }
    if (watched) {
        orri_abreast_watch(world, false);
    }
}

// ---- the end of a system --------------------------------------------------------------------------------------------------

enum {
    GROUP_HAND_IN,
    GROUP_VALUES,
    GROUP_TELL,
    GROUP_TELL_ALL, // Values were sent, or written by id.
};

static orr_result group_values(orr_world* world, orri_system* system)
{
    bool changed = false;
    orr_result result = system->may_send ? orri_commit_values(world, &system->rights, &changed)
                                         : ORR_OK;
    if (result == ORR_OK) {
        world->schedule->phase = changed || system->everywhere ? GROUP_TELL_ALL : GROUP_TELL;
    }
    return result;
}

orr_result orri_system_end(orr_world* world, orri_system* system)
{
    struct orri_schedule* schedule = world->schedule;
    if (!system->due) {
        return ORR_OK;
    }
    if (schedule->phase == GROUP_HAND_IN) {
        system->stats.ticks++;
        orri_system_hand_in(world, system);
        orri_system_grant(world, system);
        if (ORR_UNLIKELY(system->holds)) {
            orri_keep_check(world, system);
        }
        schedule->phase = GROUP_VALUES;
    }
    if (schedule->phase == GROUP_VALUES) {
        orr_result result = group_values(world, system);
        if (result != ORR_OK) {
            return result;
        }
    }
    if (ORR_LIKELY(!orri_has_readers(world))) {
        return ORR_OK;
    }
    orr_result result = schedule->phase == GROUP_TELL_ALL
                            ? orri_tell(world, system->handle, false)
                            : orri_tell_written(world, system->query, system->handle);
    orri_time_end(world, NULL, "tell", "tell");
    return orri_journal_told(world, result);
}
