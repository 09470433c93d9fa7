// SPDX-License-Identifier: MIT
// A group of systems: prepared, run, and at its point ended one after the other. Between two points
// structure does not change.
#include "schedule/record/recording.h"

// ---- preparation --------------------------------------------------------------------------------

// Whether a system runs in this tick (.every).
static bool group_due(const orri_pipeline* pipe, orri_system* system)
{
    if (ORR_UNLIKELY(!system->started)) {
        return false; // A callback disabled it after the plan was made.
    }
    if (system->tick_first == UINT64_MAX) {
        system->tick_first = pipe->tick;
    }
    return ORR_LIKELY(system->every == 1) || (pipe->tick - system->tick_first) % system->every == 0;
}

// Whether workers pay for this group; marks the due systems first.
static bool group_pays(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    const orri_step* steps = pipe->steps;
    for (uint32_t i = first; i < point; i++) {
        steps[i].system->due = group_due(pipe, steps[i].system);
    }
    return orri_parallel_pays(pipe, first, point);
}

// A system whose message queue overflowed is stopped and started, before it receives everything
// again.
static void group_restart_lost(orr_world* world, orri_system* system)
{
    if (system->reads && ORR_UNLIKELY(orri_reader_lost(system->rights.reader))) {
        orri_system_call_back(world, system, ORRI_LIFE_STOP);
        orri_system_call_back(world, system, ORRI_LIFE_START);
    }
}

// Whether a system may loop over ordered or pinned queries other than its own, which the loop
// updates (iterate.c). In real time only while no other system runs. `unchecked`: in lockstep
// without access checks.
static inline bool group_refreshes(const orri_system* system, bool realtime, bool unchecked)
{
    return unchecked || (realtime ? system->access.alone_realtime : system->access.alone);
}

orr_result orri_group_prepare(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    orr_world* world = pipe->world;
    const orri_step* steps = pipe->steps;
    bool units = (orri_parallel_ready(pipe) && group_pays(pipe, first, point)) ||
                 world->schedule->shuffle != 0;
    bool realtime = world->realtime;
    bool unchecked = !realtime && world->schedule->audit == ORR_ACCESS_CHECK_OFF;
    bool more = false; // Callbacks come before the systems.
    for (uint32_t i = first; i < point; i++) {
        orri_system* system = steps[i].system;
        system->due = group_due(pipe, system);
        more |= system->reads || !system->start_called;
        orr_result result = system->due ? orri_system_prepare(world, system, units) : ORR_OK;
        if (result == ORR_OK && system->due && group_refreshes(system, realtime, unchecked) &&
            !orri_queries_reserve(world)) {
            result = orri_env_result(&world->env);
        }
        if (ORR_UNLIKELY(result != ORR_OK)) {
            return result;
        }
    }
    for (uint32_t i = first; more && i < point; i++) {
        if (steps[i].system->due) {
            if (ORR_UNLIKELY(!steps[i].system->start_called)) {
                orri_system_call_back_missed(world, steps[i].system);
            }
            group_restart_lost(world, steps[i].system);
        }
    }
    bool logged = ORR_UNLIKELY(world->schedule->lockstep_log != NULL) &&
                  orri_impure_any(pipe, first, point);
    return logged && !orri_group_open_ahead(pipe, first, point)
               ? orri_refuse_memory(&world->env, "beginning systems")
               : ORR_OK;
}

// ---- running ------------------------------------------------------------------------------------

void orri_group_run_one(orr_world* world, orri_system* system, const uint32_t* units)
{
    system->pipe->rows_before = system->stats.rows;
    orri_system_call(world, system, units);
    world->schedule->serial_stats.taken++;
    world->schedule->serial_stats.rows += system->stats.rows - system->pipe->rows_before;
    if (ORR_UNLIKELY(system->pipe->timed)) {
        orri_timing_end(system->pipe, system, system->desc.name, "system");
    }
}

// Calls the world's probe, in ticks of the simulation.
static inline void group_probe(const orr_world* world, const orri_system* system, orri_probe_at at)
{
    orri_probe* probe = world->schedule->probe;
    if (ORR_UNLIKELY(probe != NULL) && !system->pipe->spectator) {
        probe->look(probe, system->pipe->world, at, system);
    }
}

void orri_group_run(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    const orri_step* steps = pipe->steps;
    // Impure systems are recorded before the next system runs: serially.
    const struct orri_schedule* schedule = pipe->world->schedule;
    bool logged = ORR_UNLIKELY(schedule->lockstep_log != NULL) &&
                  orri_impure_any(pipe, first, point);
    if (!logged && ORR_LIKELY(schedule->probe == NULL) &&
        (orri_parallel_run(pipe, first, point) || orri_shuffle_run(pipe, first, point))) {
        return;
    }
    bool watched = orri_parallel_watch(pipe, true), probed = schedule->probe != NULL;
    for (uint32_t i = first; i < point; i++) {
        if (steps[i].system->due) {
            if (watched) {
                orri_parallel_note_running(pipe, i);
            }
            orri_group_run_one(pipe->world, steps[i].system, NULL);
            if (ORR_UNLIKELY(probed)) {
                group_probe(pipe->world, steps[i].system, ORRI_PROBE_RAN);
            }
        }
    }
    if (watched) {
        orri_parallel_watch(pipe, false);
    }
}

// ---- the end of a system, at its point ----------------------------------------------------------

// Progress of the end of a system (pipe->phase).
enum {
    GROUP_CLOSE,    // Command buffers are closed, requests are applied.
    GROUP_VALUES,   // Sent values and events are applied.
    GROUP_DIFF,     // Readers are notified of the blocks that its query wrote.
    GROUP_DIFF_ALL, // Values were sent or written by id: everything is compared.
    // The blocks of its query are done; what is left was written in atomic sections.
    GROUP_DIFF_ATOMIC,
};

// The source of changes made in atomic sections: null if several systems of the group may have made
// them.
static orr_system group_section_source(const orri_system* system)
{
    const orri_pipeline* pipe = system->pipe;
    const orri_step* point = &pipe->steps[pipe->at];
    for (uint32_t i = point->first; i < pipe->at; i++) {
        const orri_system* other = pipe->steps[i].system;
        if (other != system && other->due && other->atomic) {
            return (orr_system){0};
        }
    }
    return system->handle;
}

// In real time other pipelines write now: only types that this pipeline owns are compared.
static orr_result group_diff_all(const orri_pipeline* pipe, orr_system source)
{
    return ORR_LIKELY(!pipe->world->realtime)
               ? orri_diff_run(pipe->world, source, false)
               : orri_diff_own(pipe->world, source, false, &pipe->foreign, false);
}

// Notifies readers of what the system changed.
static orr_result group_diff(orr_world* world, orri_system* system)
{
    orri_pipeline* pipe = system->pipe;
    if (pipe->phase == GROUP_DIFF_ALL) {
        return group_diff_all(pipe, system->handle);
    }
    orr_result result = pipe->phase == GROUP_DIFF
                            ? orri_diff_written(world, system->query, system->handle)
                            : ORR_OK;
    if (ORR_LIKELY(!system->atomic) || result != ORR_OK) {
        return result;
    }
    pipe->phase = GROUP_DIFF_ATOMIC;
    return group_diff_all(pipe, group_section_source(system));
}

// Applies the values and events that the system sent.
static orr_result group_values(orr_world* world, orri_system* system)
{
    bool changed = false;
    orr_result result = system->may_send ? orri_commit_values(world, &system->rights, &changed)
                                         : ORR_OK;
    if (result == ORR_OK) {
        system->pipe->phase = changed || system->writes_by_id ? GROUP_DIFF_ALL : GROUP_DIFF;
    }
    return result;
}

orr_result orri_system_end(orr_world* world, orri_system* system)
{
    orri_pipeline* pipe = system->pipe;
    if (!system->due) {
        return ORR_OK;
    }
    if (pipe->phase == GROUP_CLOSE) {
        system->stats.ticks++;
        orri_system_close_buffers(world, system);
        orri_system_apply_requests(world, system);
        if (ORR_UNLIKELY(system->state_read_only)) {
            orri_system_state_check(world, system);
        }
        pipe->phase = GROUP_VALUES;
    }
    if (pipe->phase == GROUP_VALUES) {
        orr_result result = group_values(world, system);
        if (result != ORR_OK) {
            return result;
        }
        group_probe(world, system, ORRI_PROBE_ENDED);
    }
    if (ORR_LIKELY(!orri_has_readers(world)) || pipe->spectator) {
        return ORR_OK;
    }
    orr_result result = group_diff(world, system);
    orri_timing_end(pipe, NULL, "diff", "diff");
    return orri_journal_received(world, result);
}
