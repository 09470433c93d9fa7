// SPDX-License-Identifier: MIT
// A world and who is outside of it: calls that are posted from any thread and done by the first pipeline, meetings, and what else may be asked of a run
// in real time that is under way.
#include "message/past/past.h"
#include "realtime/realtime.h"

// ---- calls from outside -------------------------------------------------------------------------------------------------------

// Those that can be done now, off the list: all of them at a meeting, otherwise up to the first that needs one.
orri_call* orri_calls_take(orri_realtime* rt, bool meeting)
{
    orri_realtime_lock(rt);
    orri_call *first = rt->call_first, *last = NULL;
    for (orri_call* call = first; call != NULL && (meeting || !call->meeting); call = call->next) {
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

bool orri_calls_meet(const orri_realtime* rt)
{
    return rt->replay->call_counts[rt->count_at] & 1;
}

// What is next in a replay.
orri_call* orri_calls_replay(orri_realtime* rt)
{
    uint32_t word = rt->replay->call_counts[rt->count_at++];
    orri_call *first = NULL, **end = &first;
    for (uint32_t i = 0; i < word >> 1; i++) {
        const orri_call* call = rt->replay->calls[rt->call_at++];
        *end = orri_call_make(&rt->world->env, call->call, call->data, call->size, call->meeting);
        if (*end == NULL) {
            orri_realtime_fail(rt, orri_refuse_memory(&rt->world->env, "replaying a call"));
            break;
        }
        end = &(*end)->next;
    }
    return first;
}

// A tick that was refused to go on keeps what it has promised.
void orri_realtime_unhold(orri_realtime* rt)
{
    for (uint32_t i = rt->schedule->pipeline_count; i-- > 0;) {
        const orri_pipeline* pipe = rt->schedule->pipelines[i];
        if (pipe->stage == ORRI_STAGE_DONE) {
            orri_command_buffers_use(rt->world, pipe->moment->command_buffers);
            orri_command_buffers_unhold(rt->world);
        }
    }
}

orr_result orri_realtime_ready(orri_realtime* rt)
{
    orr_world* world = rt->world;
    orr_result result = orri_messages_settle(world);
    if (result == ORR_OK && rt->publisher == NULL) { // The world went back.
        rt->publisher = orri_publisher_create(world);
        result = rt->publisher != NULL ? ORR_OK : orri_env_result(&world->env);
    }
    result = result == ORR_OK ? orri_visibility_make(rt) : result;
    const orri_pipeline* first = rt->schedule->pipelines[0];
    if (result == ORR_OK && orri_realtime_log_goes_on(rt, first) &&
        orri_impure_check(world, "orr_realtime") != ORR_OK) {
        orri_realtime_log_refused(rt, first); // A system came that cannot be recorded.
    }
    return result;
}

static orr_result posted_calls_gathered(orri_realtime* rt, orri_call* calls)
{
    orr_world* world = rt->world;
    orri_realtime_unhold(rt);
    rt->schedule->inside = false;
    orri_this_thread.at_sync_point = true; // Who calls from elsewhere is refused all the same.
    orri_schema_thaw(&world->schema);
    bool done = calls != NULL;
    if (world->tick_hooks.synced != NULL) {
        world->tick_hooks.synced(world);
    }
    orri_calls_do(rt->world, calls);
    orri_realtime_lock(rt);
    orr_result result = rt->result; // A tick that they ran may be half done.
    orri_realtime_unlock(rt);
    bool changed = done || rt->publisher == NULL || orri_realtime_stale(rt);
    result = result == ORR_OK && changed ? orri_realtime_ready(rt) : result;
    orri_schema_freeze(&world->schema);
    orri_this_thread.at_sync_point = false;
    rt->schedule->inside = true;
    return result;
}

// With structure alone: others may be within their ticks, but no system runs.
static orr_result posted_calls_between(orri_realtime* rt, orri_pipeline* pipe, orri_call* calls)
{
    orr_world* world = rt->world;
    orri_schema_thaw(&world->schema);
    orri_calls_do(rt->world, calls);
    orri_schema_freeze(&world->schema);
    orr_result result =
        orri_has_readers(world)
            ? orri_journal_received(world, orri_diff_run(world, (orr_system){0}, false))
            : ORR_OK;
    orr_result followed = orri_turn_follow(pipe);
    return result == ORR_OK ? followed : result;
}

// The first pipeline does them, between its ticks. It has the floor; `meeting`: all others stand.
void orri_calls(orri_realtime* rt, orri_pipeline* pipe, orri_call* calls, bool meeting)
{
    orr_result result;
    if (meeting) {
        result = posted_calls_gathered(rt, calls);
    } else {
        orri_turn_exclusive(pipe);
        result = posted_calls_between(rt, pipe, calls);
        orri_turn_release(pipe);
    }
    if (result != ORR_OK) {
        orri_realtime_log_refused(rt, pipe);
        orri_realtime_fail(rt, result);
    }
}

// ---- from any thread ---------------------------------------------------------------------------------------------------------------

bool orr_running(const orr_world* world)
{
    ORR_ASSERT(world != NULL);
    return orri_realtime_runs(world);
}

// With `posting` held no run begins or ends.
static orri_realtime* posted_calls_hold(orr_world* world)
{
    orri_mutex_lock(world->env.platform, &world->schedule->posting);
    return world->schedule->realtime;
}

// The run under way, with `posting` held; NULL: none, and it is not held.
static orri_realtime* posted_calls_now(orr_world* world)
{
    // Another thread may be about to make it.
    struct orri_schedule* schedule = __atomic_load_n(&world->schedule, __ATOMIC_ACQUIRE);
    orri_realtime* rt = schedule != NULL ? posted_calls_hold(world) : NULL;
    if (rt == NULL && schedule != NULL) {
        orri_mutex_unlock(world->env.platform, &schedule->posting);
    }
    return rt;
}

static void posted_calls_let(orri_realtime* rt)
{
    orri_realtime_ring(rt);
    orri_mutex_unlock(rt->platform, &rt->schedule->posting);
}

void orr_stop(orr_world* world)
{
    ORR_ASSERT(world != NULL);
    orri_realtime* rt = posted_calls_now(world);
    if (rt != NULL) {
        orri_realtime_lock(rt);
        // In a replay its own systems and calls do as they did: where it ends is recorded.
        rt->stop = rt->stop || rt->replay == NULL || orri_this_thread.world != world;
        orri_realtime_unlock(rt);
        posted_calls_let(rt);
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

// In lockstep: whether the caller may post.
static orr_result posted_calls_check(orr_world* world, const char* name)
{
    bool inside = orri_tick_here == world || orri_this_thread.world == world;
    const orri_system* by = inside ? orri_system_here(world) : NULL;
    const struct orri_schedule* schedule = orri_schedule_of(world);
    if (schedule == NULL) {
        return ORR_ERR_MEMORY;
    }
    if (inside && schedule->tape != NULL && schedule->tape->showing) {
        return orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                           "%s: not in on_tick of a replay: the recording has its own calls; end "
                           "the replay there, and post then",
                           name);
    }
    if (by != NULL && !by->pipe->spectator && !by->desc.impure) {
        return orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
                           "%s: system '%s' is of the simulation, where order counts; let it "
                           "send, or say that it is impure",
                           name, by->desc.name);
    }
    return ORR_OK;
}

// In lockstep: kept for the first pipeline's next tick. False: real time began a moment ago, and took what was kept.
static bool posted_calls_keep(orr_world* world, orri_call* call)
{
    struct orri_schedule* schedule = world->schedule;
    orri_mutex_lock(world->env.platform, &schedule->posting);
    bool runs = schedule->realtime != NULL;
    bool replays = !runs && schedule->tape != NULL && schedule->tape->replay != NULL;
    if (!runs && !replays) {
        posted_calls_append(&schedule->post_first, &schedule->post_last, call);
        schedule->posted = true;
    }
    orri_mutex_unlock(world->env.platform, &schedule->posting);
    if (replays) { // The recording has it.
        orri_call_free(&world->env, call);
    }
    return !runs;
}

static orr_result posted_calls_post(orr_world* world, const char* name, orr_call function,
                                    const void* data, size_t size, bool meeting)
{
    ORR_ASSERT(world != NULL);
    if (function == NULL || (data == NULL && size > 0)) {
        return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                           "%s: the call, or its data, is NULL", name);
    }
    orri_call* call = orri_call_make(&world->env, function, data, size, meeting);
    if (call == NULL) {
        return orri_refuse_memory(&world->env, "posting a call");
    }
    orri_realtime* rt;
    while ((rt = posted_calls_now(world)) == NULL) {
        orr_result result = posted_calls_check(world, name);
        if (result != ORR_OK) {
            orri_call_free(&world->env, call);
            return result;
        }
        if (posted_calls_keep(world, call)) {
            return ORR_OK;
        }
    }
    if (rt->replay != NULL || rt->over) {
        bool replays = rt->replay != NULL;
        posted_calls_let(rt);
        orri_call_free(&world->env, call);
        return replays ? ORR_OK // The recording has it.
                       : orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                                     "%s: the run in real time is at its end: nothing was posted; "
                                     "post it when orr_realtime() has returned",
                                     name);
    }
    orri_realtime_lock(rt); // Who finds none goes to sleep with it.
    posted_calls_append(&rt->call_first, &rt->call_last, call);
    orri_realtime_unlock(rt);
    posted_calls_let(rt);
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

orr_result orr_time_scale_set(orr_world* world, double wish)
{
    ORR_ASSERT(world != NULL);
    if (!(wish >= 0 && wish <= 1000)) {
        return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                           "orr_time_scale_set: %g is below 0, above 1000 or no number", wish);
    }
    if (orri_schedule_of(world) == NULL) {
        return ORR_ERR_MEMORY;
    }
    orri_realtime* rt = posted_calls_hold(world);
    if (rt != NULL) {
        orri_realtime_lock(rt);
        orri_time_scale_set(&rt->pace, orri_realtime_clock(rt), wish);
    }
    world->schedule->wish = wish;
    world->schedule->wished = true;
    if (rt != NULL) {
        orri_realtime_unlock(rt);
        orri_realtime_ring(rt);
    }
    orri_mutex_unlock(world->env.platform, &world->schedule->posting);
    return ORR_OK;
}

double orr_time_scale(orr_world* world)
{
    ORR_ASSERT(world != NULL);
    orri_realtime* rt = posted_calls_now(world);
    if (rt == NULL) {
        return world->schedule != NULL && world->schedule->wished ? world->schedule->wish : 1;
    }
    orri_realtime_lock(rt);
    double scale = rt->pace.scale * rt->pace.wish;
    orri_realtime_unlock(rt);
    orri_mutex_unlock(rt->platform, &rt->schedule->posting);
    return scale;
}

static double posted_calls_phase(const orri_pipeline* pipe, uint64_t time_ns, bool within)
{
    // Before it has ended, a tick is the one that is due.
    uint64_t last = pipe->due_ns - (within ? 0 : pipe->interval_ns);
    double phase = time_ns > last ? (double)(time_ns - last) / (double)pipe->interval_ns : 0;
    return phase < 1 ? phase : 1;
}

double orr_phase(orr_world* world, orr_pipeline pipeline)
{
    ORR_ASSERT(world != NULL);
    const struct orri_schedule* schedule = __atomic_load_n(&world->schedule, __ATOMIC_ACQUIRE);
    if (schedule == NULL || pipeline.id == 0 || pipeline.id > schedule->pipeline_count) {
        return 0;
    }
    const orri_pipeline* pipe = schedule->pipelines[pipeline.id - 1];
    orri_realtime* rt = posted_calls_now(world);
    if (rt == NULL) {
        uint64_t due = schedule->now != NULL ? schedule->now->due_ns : 0;
        return posted_calls_phase(pipe, due > schedule->time_ns ? due : schedule->time_ns,
                                  pipe->stage != ORRI_STAGE_DONE);
    }
    orri_realtime_lock(rt);
    orri_time_scale pace = rt->pace; // Looking changes nothing.
    orri_time_scale_look(&pace, orri_realtime_clock(rt));
    bool timeless = rt->replay != NULL && !rt->desc.paced;
    double phase = timeless ? 1
                   : pipe->rate_hz <= 0
                       ? 0
                       : posted_calls_phase(pipe, pace.time_ns, pipe->moment->ticking);
    orri_realtime_unlock(rt);
    orri_mutex_unlock(rt->platform, &rt->schedule->posting);
    return phase;
}

orr_result orr_realtime_step(orr_world* world, uint32_t ticks)
{
    ORR_ASSERT(world != NULL);
    orri_realtime* rt = posted_calls_now(world);
    orr_result result = ORR_OK;
    if (rt == NULL) {
        return orri_refuse(
            &world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
            "orr_realtime_step: the world does not run in real time; use orr_step()");
    }
    orri_realtime_lock(rt);
    if (rt->schedule->paused) {
        orri_pipeline_thread_look(rt);
        const orri_pipeline* first = rt->schedule->pipelines[0];
        rt->steps += ticks;
        if (rt->steps > 0) {
            rt->step_ns = orri_pipeline_due(first, first->moment->ticking + rt->steps - 1);
        }
    } else {
        result = ORR_ERR_STATE;
    }
    orri_realtime_unlock(rt);
    posted_calls_let(rt);
    return result == ORR_OK ? ORR_OK
                            : orri_refuse(&world->env, result, ORR_LOG_ID_CALL_REFUSED,
                                          "orr_realtime_step: the world is not paused (orr_pause)");
}

void orri_realtime_pause(orr_world* world, bool on)
{
    orri_realtime* rt = world->schedule->realtime;
    orri_realtime_lock(rt);
    world->schedule->paused = on;
    orri_pipeline_thread_look(rt);
    orri_realtime_unlock(rt);
    orri_realtime_ring(rt);
}

orr_result orr_wait_stats_get(orr_world* world, orr_pipeline pipeline, orr_wait_stats* out)
{
    ORR_ASSERT(world != NULL && out != NULL);
    const struct orri_schedule* schedule = world->schedule;
    if (schedule == NULL || pipeline.id == 0 || pipeline.id > schedule->pipeline_count) {
        return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SYSTEM_REFUSED,
                           "orr_wait_stats_get: there is no pipeline %u", pipeline.id);
    }
    orri_realtime* rt = posted_calls_now(world);
    const orri_moment* moment = schedule->pipelines[pipeline.id - 1]->moment; // Made by a run.
    if (rt == NULL) {
        *out = moment != NULL ? moment->stats : (orr_wait_stats){0};
        return ORR_OK;
    }
    orri_lock_stats locks;
    orri_lock_stats_get(moment->holder, &locks);
    const orr_wait_stats* stats = &moment->stats;
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
