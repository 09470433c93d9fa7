// SPDX-License-Identifier: MIT
// Calls from any thread to a world in real time: posted calls, which the first pipeline runs
// between its ticks or at a sync point, stop, pause, time scale, single steps, statistics. In
// lockstep posts wait for the first pipeline's next tick.
#include "message/past/past.h"
#include "realtime/realtime.h"

// ---- running posted calls -----------------------------------------------------------------------

// Takes the calls that can run now: at a sync point all of them, otherwise up to the first that
// needs a sync point.
orri_call* orri_calls_take(orri_realtime* rt, bool sync)
{
    orri_realtime_lock(rt);
    orri_call *first = rt->call_first, *last = NULL;
    for (orri_call* call = first; call != NULL && (sync || !call->sync); call = call->next) {
        last = call;
    }
    if (last == NULL) {
        first = NULL;
    } else {
        rt->call_first = last->next;
        rt->call_last = last->next != NULL ? rt->call_last : NULL;
        last->next = NULL;
    }
    orri_realtime_unlock(rt);
    return first;
}

bool orri_calls_replay_sync(const orri_realtime* rt)
{
    return rt->replay->call_counts[rt->count_at] & 1;
}

// In a replay: copies of the next recorded calls.
orri_call* orri_calls_replay(orri_realtime* rt)
{
    uint32_t word = rt->replay->call_counts[rt->count_at++];
    orri_call *first = NULL, **end = &first;
    for (uint32_t i = 0; i < word >> 1; i++) {
        const orri_call* call = rt->replay->calls[rt->call_at++];
        *end = orri_call_make(&rt->world->env, call->call, call->data, call->size, call->sync);
        if (*end == NULL) {
            orri_realtime_fail(rt, orri_refuse_memory(&rt->world->env, "replaying a call"));
            break;
        }
        end = &(*end)->next;
    }
    return first;
}

// The pipelines of half-done ticks keep their reserved ids: systems may have used them.
void orri_realtime_release_ids(orri_realtime* rt)
{
    for (uint32_t i = rt->schedule->pipeline_count; i-- > 0;) {
        const orri_pipeline* pipe = rt->schedule->pipelines[i];
        if (pipe->stage == ORRI_STAGE_DONE) {
            orri_command_buffers_use(rt->world, pipe->run->command_buffers);
            orri_command_buffers_return_ids(rt->world);
        }
    }
}

orr_result orri_realtime_notify(orr_world* world)
{
    orr_result result = orri_messages_settle(world);
    return result == ORR_OK && orri_has_readers(world)
               ? orri_journal_received(world, orri_diff_run(world, (orr_system){0}, false))
               : result;
}

orr_result orri_realtime_refresh(orri_realtime* rt)
{
    orr_world* world = rt->world;
    orr_result result = orri_realtime_notify(world);
    // The world travelled back, which freed the publisher.
    if (result == ORR_OK && rt->publisher == NULL) {
        rt->publisher = orri_publisher_create(world);
        result = rt->publisher != NULL ? ORR_OK : orri_env_result(&world->env);
    }
    result = result == ORR_OK ? orri_visibility_make(rt) : result;
    const orri_pipeline* first = rt->schedule->pipelines[0];
    if (result == ORR_OK && orri_realtime_log_active(rt, first) &&
        orri_impure_check(world, "orr_realtime") != ORR_OK) {
        orri_realtime_log_stop(rt, first); // A system was added that cannot be recorded.
    }
    return result;
}

// At a sync point: stores history, runs the calls, makes plans and visibility again if anything
// changed.
static orr_result posted_calls_at_sync(orri_realtime* rt, orri_call* calls)
{
    orr_world* world = rt->world;
    orri_realtime_release_ids(rt);
    rt->schedule->inside = false;
    orri_this_thread.at_sync_point = true; // Calls from other threads are still refused.
    orri_schema_thaw(&world->schema);
    bool done = calls != NULL;
    if (world->tick_hooks.synced != NULL) {
        world->tick_hooks.synced(world);
    }
    orri_calls_run(rt->world, calls);
    orri_realtime_lock(rt);
    orr_result result = rt->result; // A tick that a call ran may be half done.
    orri_realtime_unlock(rt);
    bool changed = done || rt->publisher == NULL || orri_realtime_stale(rt);
    result = result == ORR_OK && changed ? orri_realtime_refresh(rt) : result;
    orri_schema_freeze(&world->schema);
    orri_this_thread.at_sync_point = false;
    rt->schedule->inside = true;
    return result;
}

// With structure held exclusively: other pipelines may be within their ticks, but no system runs.
static orr_result posted_calls_between(orri_realtime* rt, orri_pipeline* pipe, orri_call* calls)
{
    orr_world* world = rt->world;
    orri_schema_thaw(&world->schema);
    orri_calls_run(rt->world, calls);
    orri_schema_freeze(&world->schema);
    orr_result result = orri_realtime_notify(world);
    orr_result followed = orri_turn_remap(pipe);
    return result == ORR_OK ? followed : result;
}

// Runs calls. By the first pipeline, in its turn, between its ticks; `sync`: at a sync point.
void orri_realtime_calls(orri_realtime* rt, orri_pipeline* pipe, orri_call* calls, bool sync)
{
    orr_result result;
    if (sync) {
        result = posted_calls_at_sync(rt, calls);
    } else {
        orri_turn_exclusive(pipe);
        result = posted_calls_between(rt, pipe, calls);
        orri_turn_release(pipe);
    }
    if (result != ORR_OK) {
        orri_realtime_log_stop(rt, pipe);
        orri_realtime_fail(rt, result);
    }
}

void orri_realtime_take_calls(orri_realtime* rt, orri_pipeline* pipe, bool sync)
{
    orri_turn_enter_between(pipe);
    orri_call* calls = orri_calls_take(rt, sync);
    orri_realtime_log_turn(rt, pipe, ORRI_TURN_CALLS);
    orri_realtime_log_calls(rt, calls, sync);
    orri_realtime_calls(rt, pipe, calls, sync);
    rt->calls_done = true;
    orri_turn_leave(pipe);
}

// ---- from any thread ----------------------------------------------------------------------------

bool orr_running(const orr_world* world)
{
    ORR_ASSERT(world != NULL);
    return orri_realtime_runs(world);
}

// Locks `posting`: no run begins or ends meanwhile.
static orri_realtime* posted_calls_lock(orr_world* world)
{
    orri_mutex_lock(world->env.platform, &world->schedule->posting);
    return world->schedule->realtime;
}

// The current run, with `posting` locked; NULL: none, and `posting` is not locked.
static orri_realtime* posted_calls_lock_run(orr_world* world)
{
    // Another thread may be making the schedule.
    struct orri_schedule* schedule = __atomic_load_n(&world->schedule, __ATOMIC_ACQUIRE);
    orri_realtime* rt = schedule != NULL ? posted_calls_lock(world) : NULL;
    if (rt == NULL && schedule != NULL) {
        orri_mutex_unlock(world->env.platform, &schedule->posting);
    }
    return rt;
}

// Wakes the run and unlocks `posting`.
static void posted_calls_unlock(orri_realtime* rt)
{
    orri_realtime_wake_all(rt);
    orri_mutex_unlock(rt->platform, &rt->schedule->posting);
}

void orr_stop(orr_world* world)
{
    ORR_ASSERT(world != NULL);
    orri_realtime* rt = posted_calls_lock_run(world);
    if (rt != NULL) {
        orri_realtime_lock(rt);
        // In a replay, stops by systems and calls have no effect: the end of the run is recorded,
        // too.
        rt->stop = rt->stop || rt->replay == NULL || orri_this_thread.world != world;
        orri_realtime_unlock(rt);
        posted_calls_unlock(rt);
    }
}

static void posted_calls_append(orri_call** first, orri_call** last, orri_call* call)
{
    if (*last != NULL) {
        (*last)->next = call;
    } else {
        *first = call;
    }
    *last = call;
}

// In lockstep: whether the caller may post. Reports.
static orr_result posted_calls_check(orr_world* world, const char* name)
{
    bool inside = orri_tick_here == world || orri_this_thread.world == world;
    const orri_system* by = inside ? orri_system_here(world) : NULL;
    const struct orri_schedule* schedule = orri_schedule_of(world);
    if (schedule == NULL) {
        return ORR_ERR_MEMORY;
    }
    if (inside && schedule->lockstep_log != NULL && schedule->lockstep_log->in_on_tick) {
        return orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                           "%s: not allowed in on_tick of a replay: the recording has its own "
                           "calls; end the replay first, then post",
                           name);
    }
    if (by != NULL && !by->pipe->spectator && !by->desc.impure) {
        return orri_refuse(
            &world->env, ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
            "%s: system '%s' is part of the simulation and may not post, because the order of "
            "posts is not defined; let it send instead, or declare it .impure",
            name, by->desc.name);
    }
    return ORR_OK;
}

// In lockstep: queues the call for the first pipeline's next tick. False: a run in real time has
// just begun, and took over the queue.
static bool posted_calls_queue(orr_world* world, orri_call* call)
{
    struct orri_schedule* schedule = world->schedule;
    orri_mutex_lock(world->env.platform, &schedule->posting);
    bool runs = schedule->realtime != NULL;
    bool replays = !runs && schedule->lockstep_log != NULL &&
                   schedule->lockstep_log->replay != NULL;
    if (!runs && !replays) {
        posted_calls_append(&schedule->post_first, &schedule->post_last, call);
        schedule->posted = true;
    }
    orri_mutex_unlock(world->env.platform, &schedule->posting);
    if (replays) { // The recording has the call.
        orri_call_free(&world->env, call);
    }
    return !runs;
}

static orr_result posted_calls_post(orr_world* world, const char* name, orr_call function,
                                    const void* data, size_t size, bool sync)
{
    ORR_ASSERT(world != NULL);
    if (function == NULL || (data == NULL && size > 0)) {
        return orri_refuse(
            &world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
            "%s: the call, or its data, is NULL; pass a function, and data if the size is not 0",
            name);
    }
    orr_result sized = orri_call_check_size(world, name, function, size);
    if (sized != ORR_OK) {
        return sized;
    }
    orri_call* call = orri_call_make(&world->env, function, data, size, sync);
    if (call == NULL) {
        return orri_refuse_memory(&world->env, "posting a call");
    }
    orri_realtime* rt;
    while ((rt = posted_calls_lock_run(world)) == NULL) {
        orr_result result = posted_calls_check(world, name);
        if (result != ORR_OK) {
            orri_call_free(&world->env, call);
            return result;
        }
        if (posted_calls_queue(world, call)) {
            return ORR_OK;
        }
    }
    if (rt->replay != NULL || rt->posts_closed) {
        bool replays = rt->replay != NULL;
        posted_calls_unlock(rt);
        orri_call_free(&world->env, call);
        return replays ? ORR_OK // The recording has the call.
                       : orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_POST_LATE,
                                     "%s: the run in real time is ending: nothing was posted; post "
                                     "it when orr_realtime() has returned",
                                     name);
    }
    // With the mutex: the first pipeline looks for calls before it sleeps.
    orri_realtime_lock(rt);
    posted_calls_append(&rt->call_first, &rt->call_last, call);
    orri_realtime_unlock(rt);
    posted_calls_unlock(rt);
    return ORR_OK;
}

orr_result orr_post(orr_world* world, orr_call call, const void* data, size_t size)
{
    return posted_calls_post(world, "orr_post", call, data, size, false);
}

orr_result orr_post_exclusive(orr_world* world, orr_call call, const void* data, size_t size)
{
    return posted_calls_post(world, "orr_post_exclusive", call, data, size, true);
}

orr_result orr_time_scale_set(orr_world* world, double scale)
{
    ORR_ASSERT(world != NULL);
    if (!(scale >= 0 && scale <= 1000)) {
        return orri_refuse(
            &world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
            "orr_time_scale_set: %g is below 0, above 1000 or not a number; pass 0 to 1000", scale);
    }
    if (orri_schedule_of(world) == NULL) {
        return ORR_ERR_MEMORY;
    }
    orri_realtime* rt = posted_calls_lock(world);
    if (rt != NULL) {
        orri_realtime_lock(rt);
        orri_time_scale_set(&rt->clock, orri_realtime_clock(rt), scale);
    }
    world->schedule->time_scale = scale;
    world->schedule->time_scale_set = true;
    if (rt != NULL) {
        orri_realtime_unlock(rt);
        orri_realtime_wake_all(rt);
    }
    orri_mutex_unlock(world->env.platform, &world->schedule->posting);
    return ORR_OK;
}

double orr_time_scale(orr_world* world)
{
    ORR_ASSERT(world != NULL);
    struct orri_schedule* schedule = __atomic_load_n(&world->schedule, __ATOMIC_ACQUIRE);
    if (schedule == NULL) {
        return 1;
    }
    orri_realtime* rt = posted_calls_lock(world);
    double scale = schedule->time_scale_set ? schedule->time_scale : 1;
    if (rt != NULL) {
        orri_realtime_lock(rt);
        scale = rt->clock.scale * rt->clock.requested;
        orri_realtime_unlock(rt);
    }
    orri_mutex_unlock(world->env.platform, &schedule->posting);
    return scale;
}

// How far world time is between the pipeline's last tick and its next, from 0 to 1.
static double posted_calls_phase(const orri_pipeline* pipe, uint64_t time_ns, bool within)
{
    // While a tick is open, it is the tick that is due.
    uint64_t last = pipe->due_ns - (within ? 0 : pipe->interval_ns);
    double phase = time_ns > last ? (double)(time_ns - last) / (double)pipe->interval_ns : 0;
    return phase < 1 ? phase : 1;
}

double orr_phase(orr_world* world, orr_pipeline pipeline)
{
    ORR_ASSERT(world != NULL);
    struct orri_schedule* schedule = __atomic_load_n(&world->schedule, __ATOMIC_ACQUIRE);
    if (schedule == NULL || pipeline.id == 0 || pipeline.id > schedule->pipeline_count) {
        return 0;
    }
    const orri_pipeline* pipe = schedule->pipelines[pipeline.id - 1];
    orri_realtime* rt = posted_calls_lock(world);
    if (rt == NULL) { // With the lock: another thread may be beginning or ending a run.
        uint64_t due = schedule->now != NULL ? schedule->now->due_ns : 0;
        double still = posted_calls_phase(pipe, due > schedule->time_ns ? due : schedule->time_ns,
                                          pipe->stage != ORRI_STAGE_DONE);
        orri_mutex_unlock(world->env.platform, &schedule->posting);
        return still;
    }
    orri_realtime_lock(rt);
    orri_time_scale clock = rt->clock; // A copy: asking must not advance the clock.
    orri_time_scale_advance(&clock, orri_realtime_clock(rt));
    bool unpaced = rt->replay != NULL && !rt->desc.paced;
    double phase = unpaced ? 1
                   : pipe->rate_hz <= 0
                       ? 0
                       : posted_calls_phase(pipe, clock.time_ns, pipe->run->ticking);
    orri_realtime_unlock(rt);
    orri_mutex_unlock(rt->platform, &rt->schedule->posting);
    return phase;
}

orr_result orr_realtime_step(orr_world* world, uint32_t ticks)
{
    ORR_ASSERT(world != NULL);
    orri_realtime* rt = posted_calls_lock_run(world);
    orr_result result = ORR_OK;
    if (rt == NULL) {
        return orri_refuse(
            &world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
            "orr_realtime_step: the world does not run in real time; use orr_step()");
    }
    orri_realtime_lock(rt);
    if (rt->schedule->paused) {
        orri_realtime_clock_advance(rt);
        const orri_pipeline* first = rt->schedule->pipelines[0];
        rt->steps += ticks;
        if (rt->steps > 0) {
            rt->step_ns = orri_pipeline_due(first, first->run->ticking + rt->steps - 1);
        }
    } else {
        result = ORR_ERR_STATE;
    }
    orri_realtime_unlock(rt);
    posted_calls_unlock(rt);
    return result == ORR_OK
               ? ORR_OK
               : orri_refuse(&world->env, result, ORR_LOG_ID_CALL_REFUSED,
                             "orr_realtime_step: the world is not paused; call orr_pause() first");
}

void orri_realtime_pause(orr_world* world, bool on)
{
    orri_realtime* rt = world->schedule->realtime;
    orri_realtime_lock(rt);
    world->schedule->paused = on;
    orri_realtime_clock_advance(rt);
    orri_realtime_unlock(rt);
    orri_realtime_wake_all(rt);
}

orr_result orr_wait_stats_get(orr_world* world, orr_pipeline pipeline, orr_wait_stats* out)
{
    ORR_ASSERT(world != NULL && out != NULL);
    struct orri_schedule* schedule = __atomic_load_n(&world->schedule, __ATOMIC_ACQUIRE);
    if (schedule == NULL && pipeline.id == 1) { // Every world has "main"; it has not run yet.
        *out = (orr_wait_stats){0};
        return ORR_OK;
    }
    if (schedule == NULL || pipeline.id == 0 || pipeline.id > schedule->pipeline_count) {
        return orri_refuse(
            &world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SYSTEM_REFUSED,
            "orr_wait_stats_get: there is no pipeline %u; pass a pipeline of this world",
            pipeline.id);
    }
    orri_realtime* rt = posted_calls_lock(world);
    // Made by the first run.
    const orri_pipeline_run* run = schedule->pipelines[pipeline.id - 1]->run;
    if (rt == NULL) {
        *out = run != NULL ? run->stats : (orr_wait_stats){0};
        orri_mutex_unlock(world->env.platform, &schedule->posting);
        return ORR_OK;
    }
    orri_lock_stats locks;
    orri_lock_stats_get(run->holder, &locks);
    const orr_wait_stats* stats = &run->stats;
    orri_realtime_lock(rt);
    *out = (orr_wait_stats){
        .ticks = stats->ticks,
        .dropped = stats->dropped,
        .lock_waits = locks.waits,
        .lock_waited_ns = locks.waited_ns,
        .lock_longest_ns = locks.longest_ns,
        .turn_waited_ns = __atomic_load_n(&stats->turn_waited_ns, __ATOMIC_RELAXED),
        .turn_longest_ns = __atomic_load_n(&stats->turn_longest_ns, __ATOMIC_RELAXED)};
    orri_realtime_unlock(rt);
    orri_mutex_unlock(rt->platform, &rt->schedule->posting);
    return ORR_OK;
}
