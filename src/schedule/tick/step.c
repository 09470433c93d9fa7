// SPDX-License-Identifier: MIT
// Stepping a world in lockstep: on a clock that moves by ticks alone, the pipeline that is due
// first ticks next. Also pausing, and settings that are made between ticks.
#include "schedule/record/recording.h"

bool orri_realtime_runs(const orr_world* world)
{
    const struct orri_schedule* schedule = __atomic_load_n(&world->schedule, __ATOMIC_ACQUIRE);
    return schedule != NULL && __atomic_load_n(&schedule->realtime, __ATOMIC_RELAXED) != NULL;
}

// At most this much of the time given to orr_update() counts.
#define STEP_MOST_NS UINT64_C(250000000)

orr_result orri_step_check(orr_world* world, const char* call)
{
    if (orri_schedule_of(world) == NULL) {
        return ORR_ERR_MEMORY;
    }
    orri_system* running = orri_system_here(world);
    if (ORR_UNLIKELY(running == NULL && orri_realtime_runs(world))) {
        return orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                           "%s: the world runs in real time; call orr_stop() and wait until "
                           "orr_realtime() has returned",
                           call);
    }
    const struct orri_schedule* schedule = world->schedule;
    if (ORR_LIKELY(running == NULL && !schedule->inside && !orri_in_error_handler(world) &&
                   !schedule->calling)) {
        return ORR_OK;
    }
    if (running == NULL && schedule->calling) {
        return orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                           schedule->lockstep_log != NULL && schedule->lockstep_log->in_on_tick
                               ? "%s: not allowed in on_tick of a replay; let it return false, and "
                                 "call this when orr_replay() has returned"
                               : "%s: not allowed in a posted call, because a tick is about to "
                                 "begin; call it between ticks",
                           call);
    }
    if (running == NULL) {
        return orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                           "%s: not allowed in an error handler or a hook; call it between ticks, "
                           "after the handler or hook has returned",
                           call);
    }
    running->rights.counts.violations++;
    return orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
                       "%s: not allowed inside a system ('%s'); call it between ticks", call,
                       running->desc.name);
}

bool orri_any_tick_half_done(const struct orri_schedule* schedule)
{
    bool half = schedule->now != NULL;
    for (uint32_t i = 0; i < schedule->pipeline_count && !half; i++) {
        const orri_pipeline* pipe = schedule->pipelines[i];
        half = pipe->stage != ORRI_STAGE_DONE || (pipe->driven != NULL && pipe->driven->copied);
    }
    return half;
}

orr_result orri_step_between(orr_world* world, const char* call)
{
    const struct orri_schedule* schedule = world->schedule;
    if (orri_access_checked(world) || orri_between_sync_points(world)) {
        return orri_refuse_running(world, call);
    }
    if (schedule != NULL && orri_system_here(world) != NULL) {
        return orri_step_check(world, call); // Reported there: its access checks are off.
    }
    if (orri_in_error_handler(world) || (schedule != NULL && schedule->inside)) {
        return orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                           "%s: not allowed in an error handler or a hook; call it between ticks, "
                           "after the handler or hook has returned",
                           call);
    }
    if (schedule != NULL && orri_any_tick_half_done(schedule)) {
        return orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                           "%s: a tick is half done; continue it first with orr_step()", call);
    }
    return orri_check_open(world, call);
}

// ---- which pipeline ticks next ------------------------------------------------------------------

// The half-done one; else the one due first, of several the one registered first.
static orri_pipeline* step_next(const struct orri_schedule* schedule)
{
    if (schedule->now != NULL) {
        return schedule->now;
    }
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        if (ORR_UNLIKELY(schedule->pipelines[i]->stage != ORRI_STAGE_DONE)) {
            return schedule->pipelines[i]; // It was refused in real time.
        }
    }
    orri_pipeline* next = schedule->pipelines[0];
    for (uint32_t i = 1; i < schedule->pipeline_count; i++) {
        if (schedule->pipelines[i]->due_ns < next->due_ns) {
            next = schedule->pipelines[i];
        }
    }
    return next;
}

// The clock of the pipeline has ended. Reports.
static orr_result step_refuse_time(const orri_pipeline* pipe, const char* call)
{
    return orri_refuse(&pipe->world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_CALL_REFUSED,
                       "%s: the next tick of pipeline '%s' is due after 292 years of world time, "
                       "where the clock ends; count longer times in ticks, or use a higher rate_hz",
                       call, pipe->name);
}

// Runs a tick of the pipeline that is next. The order of several pipelines needs the clock; one
// pipeline alone ticks on without it.
static orr_result step_tick(orri_pipeline* pipe, const char* call)
{
    if (orri_pipeline_clock_ended(pipe) && pipe->world->schedule->pipeline_count > 1) {
        return step_refuse_time(pipe, call);
    }
    return orri_tick(pipe, pipe->interval);
}

// Begins a call that runs ticks. Refusals in the first part of a half-done tick are not forgotten.
static orr_result step_begin(orr_world* world, const char* call)
{
    orr_result result = orri_step_check(world, call);
    if (result == ORR_OK) {
        orri_ticks_begin(world);
    }
    return result;
}

orr_result orr_step(orr_world* world, uint32_t count)
{
    ORR_ASSERT(world != NULL);
    orr_result result = step_begin(world, "orr_step");
    if (result != ORR_OK) {
        return result;
    }
    for (uint32_t ran = 0; result == ORR_OK && ran < count;) {
        orri_pipeline* pipe = step_next(world->schedule);
        result = step_tick(pipe, "orr_step");
        ran += pipe == world->schedule->pipelines[0];
    }
    return orri_ticks_result(world, result);
}

// Runs what is due at `now_ns`, in order.
static orr_result step_due(orr_world* world, uint64_t now_ns)
{
    struct orri_schedule* schedule = world->schedule;
    orr_result result = ORR_OK;
    for (orri_pipeline* pipe = step_next(schedule);
         result == ORR_OK && !schedule->paused && (schedule->now != NULL || pipe->due_ns <= now_ns);
         pipe = step_next(schedule)) {
        result = orri_tick(pipe, pipe->interval);
    }
    return result;
}

// How much of the elapsed time counts for pipelines with a rate: a program that was stopped for a
// while does not catch up on it. Spectators do not raise the limit.
static uint64_t step_elapsed_counted(const struct orri_schedule* schedule, uint64_t elapsed_ns)
{
    uint64_t most = STEP_MOST_NS;
    for (uint32_t i = 1; i < schedule->pipeline_count; i++) {
        uint64_t two = 2 * schedule->pipelines[i]->interval_ns;
        most = two > most && !schedule->pipelines[i]->spectator ? two : most;
    }
    return elapsed_ns < most ? elapsed_ns : most;
}

// The first pipeline is continuous: it runs once, with the elapsed time as dt, after everything due
// before it.
static orr_result step_continuous(orr_world* world, uint64_t elapsed_ns)
{
    struct orri_schedule* schedule = world->schedule;
    orri_pipeline* first = schedule->pipelines[0];
    // Otherwise its half-done tick continues; its time was counted when it began.
    if (schedule->now != first) {
        // Time of an earlier call that was refused before the first pipeline's tick is still due to
        // it.
        uint64_t from = schedule->passed_ns > 0 ? first->due_ns : schedule->time_ns;
        uint64_t passed = schedule->passed_ns + elapsed_ns;
        uint64_t counted = step_elapsed_counted(schedule, elapsed_ns);
        if (counted > ORRI_TIME_MAX_NS - from) {
            return step_refuse_time(first, "orr_update");
        }
        first->due_ns = from + counted;
        schedule->passed_ns = passed < elapsed_ns ? UINT64_MAX : passed;
    }
    orr_result result = ORR_OK;
    for (orri_pipeline* pipe = NULL; result == ORR_OK && !schedule->paused && pipe != first;) {
        pipe = step_next(schedule);
        result = orri_tick(pipe, pipe == first ? (float)((double)schedule->passed_ns * 1e-9)
                                               : pipe->interval);
    }
    return result == ORR_OK ? step_due(world, schedule->time_ns) : result;
}

orr_result orr_update(orr_world* world, uint64_t elapsed_ns)
{
    ORR_ASSERT(world != NULL);
    orr_result result = step_begin(world, "orr_update");
    struct orri_schedule* schedule = world->schedule;
    if (result != ORR_OK || schedule->paused) {
        return result;
    }
    const orri_pipeline* first = schedule->pipelines[0];
    if (first->rate_hz <= 0) {
        return orri_ticks_result(world, step_continuous(world, elapsed_ns));
    }
    if (orri_pipeline_clock_ended(first)) {
        return step_refuse_time(first, "orr_update");
    }
    // The first pipeline runs at most twice; time beyond that is dropped in whole intervals, for
    // all pipelines.
    uint64_t most = first->due_ns != UINT64_MAX ? first->due_ns + 2 * first->interval_ns - 1
                                                : UINT64_MAX;
    uint64_t now_ns = schedule->time_ns + elapsed_ns;
    now_ns = now_ns < elapsed_ns ? UINT64_MAX : now_ns;
    if (now_ns > most) {
        now_ns -= ((now_ns - most - 1) / first->interval_ns + 1) * first->interval_ns;
    }
    now_ns = now_ns < ORRI_TIME_MAX_NS ? now_ns : ORRI_TIME_MAX_NS; // So no end is due.
    result = step_due(world, now_ns);
    schedule->time_ns = now_ns > schedule->time_ns ? now_ns : schedule->time_ns;
    return orri_ticks_result(world, result);
}

// Calls `done`. It may run ticks itself, but not destroy the world.
static bool step_done(orr_world* world, bool (*done)(void* user, orr_world* world), void* user)
{
    bool before = world->running.in_callback;
    world->running.in_callback = true;
    bool is_done = done(user, world);
    world->running.in_callback = before;
    return is_done;
}

orr_result orr_run_until(orr_world* world, uint64_t tick,
                         bool (*done)(void* user, orr_world* world), void* user)
{
    ORR_ASSERT(world != NULL);
    orr_result result = step_begin(world, "orr_run_until");
    if (result != ORR_OK) {
        return result;
    }
    while (result == ORR_OK && !world->schedule->paused &&
           (world->tick < tick || world->schedule->now != NULL)) {
        orri_pipeline* pipe = step_next(world->schedule);
        result = step_tick(pipe, "orr_run_until");
        if (result == ORR_OK && done != NULL && !pipe->spectator && step_done(world, done, user)) {
            break;
        }
    }
    return orri_ticks_result(world, result);
}

orr_result orri_step_to(orr_world* world, uint64_t tick)
{
    orr_result result = step_begin(world, "orr_time_travel");
    if (result != ORR_OK) {
        return result;
    }
    while (result == ORR_OK && world->tick < tick) {
        orri_pipeline* pipe = step_next(world->schedule);
        result = step_tick(pipe, "orr_time_travel");
    }
    return orri_ticks_result(world, result);
}

void orr_pause(orr_world* world, bool on)
{
    ORR_ASSERT(world != NULL);
    struct orri_schedule* schedule = orri_schedule_of(world);
    if (schedule == NULL) {
        return;
    }
    if (orri_spectator_refuses(world, orri_system_here(world), "pauses", NULL)) {
        return;
    }
    if (orri_system_here(world) == NULL) {
        orri_mutex_lock(world->env.platform, &schedule->posting);
        if (schedule->realtime != NULL) {
            schedule->driver->pause(world, on);
        } else {
            schedule->paused = on;
        }
        orri_mutex_unlock(world->env.platform, &schedule->posting);
        return;
    }
    bool steps = world->realtime || (schedule->inside && schedule->now != NULL &&
                                     schedule->now->stage == ORRI_STAGE_STEPS);
    orri_system* by = steps ? orri_system_here(world) : NULL;
    if (by == NULL) {
        schedule->paused = on;
    } else if (by->desc.parallel) {
        by->rights.counts.violations++;
        (void)orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
                          "orr_pause: system '%s' is parallel, so its runs have no order; send an "
                          "event to a system that is not, and let that one pause",
                          by->desc.name);
    } else {
        by->pause = on ? ORRI_PAUSE_ON
                       : ORRI_PAUSE_OFF; // Applied at its point, in the order of systems.
    }
}

bool orr_paused(const orr_world* world)
{
    ORR_ASSERT(world != NULL);
    return world->schedule != NULL && world->schedule->paused;
}

bool orr_tick_open(const orr_world* world)
{
    ORR_ASSERT(world != NULL);
    const struct orri_schedule* schedule = world->schedule;
    bool synced = orri_this_thread.world == world && orri_this_thread.at_sync_point;
    return schedule != NULL &&
           (schedule->now != NULL || (synced && orri_any_tick_half_done(schedule)));
}

orr_result orr_tick_abandon(orr_world* world)
{
    ORR_ASSERT(world != NULL);
    orr_result result = orri_step_check(world, "orr_tick_abandon");
    if (result == ORR_OK && world->schedule->now == NULL) {
        return orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                           "orr_tick_abandon: no tick is half done");
    }
    orri_pipeline* pipe = world->schedule->now;
    if (result == ORR_OK && pipe->driven != NULL) {
        // A tick that was refused in real time.
        pipe->world->schedule->driver->resume(pipe, false);
    }
    for (orri_system* system = world->schedule->first; result == ORR_OK && system != NULL;
         system = system->next) {
        if (system->pipe == pipe) {
            orri_system_close_buffers(world, system);
        }
    }
    if (result == ORR_OK) {
        orri_commit_abandon(world);
    }
    return result;
}

// Settings that a running tick reads may be changed between ticks only. Reports.
static bool step_setting_allowed(orr_world* world, const char* call)
{
    if (orri_schedule_of(world) == NULL) {
        return false;
    }
    if (ORR_UNLIKELY(orri_between_sync_points(world) || world->schedule->inside)) {
        (void)orri_refuse_running(world, call);
        return false;
    }
    return true;
}

void orr_stats_time_all(orr_world* world, bool on)
{
    ORR_ASSERT(world != NULL);
    if (step_setting_allowed(world, "orr_stats_time_all")) {
        world->schedule->time_all = on;
    }
}

void orr_access_check_set(orr_world* world, orr_access_check audit)
{
    ORR_ASSERT(world != NULL);
    if (step_setting_allowed(world, "orr_access_check_set")) {
#ifdef ORR_VALIDATE_ON
        world->schedule->audit = audit != ORR_ACCESS_CHECK_DEFAULT ? audit : ORR_ACCESS_CHECK_FULL;
#else
        world->schedule->audit = audit != ORR_ACCESS_CHECK_DEFAULT ? audit : ORR_ACCESS_CHECK_CALLS;
#endif
    }
}

#undef STEP_MOST_NS
