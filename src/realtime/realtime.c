// SPDX-License-Identifier: MIT
// Pipelines in real time, from beginning to end: what is made and given back around a run, and what is for the caller's thread. See realtime.h; when
// each pipeline ticks is in thread.c, what comes from outside in posted_calls.c.
#include "realtime/realtime.h"
#include "base/float.h"
#include "history/schedule_past.h"

// ---- the bell --------------------------------------------------------------------------------------------------------------

uint64_t orri_realtime_clock(const orri_realtime* rt)
{
    return rt->platform->clock_ns(rt->platform->user);
}

void orri_realtime_lock(orri_realtime* rt)
{
    orri_mutex_lock(rt->platform, &rt->mutex);
}

void orri_realtime_unlock(orri_realtime* rt)
{
    orri_mutex_unlock(rt->platform, &rt->mutex);
}

void orri_realtime_ring(orri_realtime* rt)
{
    ORRI_SCHED_POINT(rt->platform, ORR_SCHED_STORE, &rt->bell);
    atomic_fetch_add(&rt->bell, 1);
    ORRI_SCHED_POINT(rt->platform, ORR_SCHED_LOAD, &rt->listeners);
    if (atomic_load(&rt->listeners) > 0) {
        ORRI_SCHED_POINT(rt->platform, ORR_SCHED_WAKE, &rt->bell);
        rt->platform->thread_wake(rt->platform->user, &rt->bell, UINT32_MAX);
    }
}

// Until the bell rings, at most so long. The caller has the mutex, and has it again afterwards.
void orri_realtime_wait(orri_realtime* rt, uint64_t timeout_ns)
{
    ORRI_SCHED_POINT(rt->platform, ORR_SCHED_LOAD, &rt->bell);
    uint32_t heard = atomic_load(&rt->bell);
    atomic_fetch_add(&rt->listeners, 1); // Before the bell is looked at for the last time.
    orri_realtime_unlock(rt);
    ORRI_SCHED_POINT(rt->platform, ORR_SCHED_WAIT, &rt->bell);
    rt->platform->thread_wait(rt->platform->user, &rt->bell, heard, timeout_ns);
    ORRI_SCHED_POINT(rt->platform, ORR_SCHED_STORE, &rt->listeners);
    atomic_fetch_sub(&rt->listeners, 1);
    orri_realtime_lock(rt);
}

void orri_realtime_fail(orri_realtime* rt, orr_result result)
{
    orri_realtime_lock(rt);
    rt->result = rt->result == ORR_OK ? result : rt->result;
    rt->stop = true;
    orri_realtime_ring(rt);
    orri_realtime_unlock(rt);
}

// ---- the caller's thread ----------------------------------------------------------------------------------------------------

static void realtime_on_main(orri_realtime* rt, const orri_pipeline* pipe, orri_system* system)
{
    if (system == NULL) {
        pipe->wait(pipe->wait_user);
    } else {
        orri_float_mode mode = orri_float_mode_set();
        (void)orri_system_work(rt->world, system, 0,
                               system->in_units ? system->query->unit_count : 0, 0);
        orri_float_mode_restore(mode);
    }
}

void orri_realtime_on_main(orri_pipeline* pipe, orri_system* system)
{
    orri_realtime* rt = pipe->moment->rt;
    orri_realtime_lock(rt);
    if (rt->running == 0) { // The run has ended: this is that thread.
        orri_realtime_unlock(rt);
        realtime_on_main(rt, pipe, system);
        return;
    }
    while (rt->main_pipe != NULL) {
        orri_realtime_wait(rt, UINT64_MAX);
    }
    rt->main_pipe = pipe;
    rt->main_system = system;
    orri_realtime_ring(rt);
    while (rt->main_pipe == pipe) {
        orri_realtime_wait(rt, UINT64_MAX);
    }
    orri_realtime_unlock(rt);
}

static void realtime_main_run(orri_realtime* rt)
{
    const orri_pipeline* pipe = rt->main_pipe;
    orri_system* system = rt->main_system;
    orri_realtime_unlock(rt);
    realtime_on_main(rt, pipe, system);
    orri_realtime_lock(rt);
    rt->main_pipe = NULL;
    orri_realtime_ring(rt);
}

// Until all threads of pipelines have ended.
static void realtime_main(orri_realtime* rt)
{
    uint64_t last = rt->begun_ns, passed = 0;
    orri_realtime_lock(rt);
    while (rt->running > 0) {
        uint64_t left = UINT64_MAX;
        if (rt->main_pipe != NULL) {
            realtime_main_run(rt);
            continue;
        }
        if (rt->desc.for_ns > 0 && !rt->stop) {
            uint64_t now = orri_realtime_clock(rt);
            passed += now > last ? now - last : 0; // A clock that goes back stands.
            last = now;
            left = passed < rt->desc.for_ns ? rt->desc.for_ns - passed : 0;
            if (left == 0) {
                rt->stop = true;
                orri_realtime_ring(rt);
                continue;
            }
        }
        orri_realtime_wait(rt, left);
    }
    orri_realtime_unlock(rt);
}

// ---- beginning and end -----------------------------------------------------------------------------------------------------------

// A recording is to be the same without the spectators, or with others: neither turns nor grants are numbered by them.
static bool realtime_holder(orri_realtime* rt, orri_pipeline* pipe)
{
    orri_moment* moment = pipe->moment;
    moment->number = 0;
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        const orri_pipeline* other = rt->schedule->pipelines[i];
        bool before = other->spectator == pipe->spectator ? i < pipe->index : pipe->spectator;
        moment->number += before;
    }
    bool replays = rt->replay != NULL;
    moment->driven.recorded = rt->record != NULL ? &rt->record->inputs[moment->number] : NULL;
    moment->driven.replayed = replays ? &rt->replay->inputs[moment->number] : NULL;
    moment->driven.replays = replays;
    moment->driven.diverged = &rt->astray;
    if (orri_lock_holder_create(rt->locks, moment->number, &moment->holder) != ORR_OK) {
        return false;
    }
    if (pipe->spectator) {
        orri_lock_holder_aside(moment->holder);
    }
    return true;
}

static bool realtime_moment(orri_realtime* rt, orri_pipeline* pipe)
{
    orri_env* env = &rt->world->env;
    if (pipe->moment == NULL) {
        pipe->moment = ORRI_ALLOC_ZERO(env, ORR_MEMORY_SYSTEM, orri_moment, 1);
        if (pipe->moment == NULL) {
            (void)orri_refuse_memory(env, "beginning real time");
            return false;
        }
        pipe->driven = &pipe->moment->driven;
    }
    orri_moment* moment = pipe->moment;
    moment->rt = rt;
    moment->stats = (orr_wait_stats){0};
    moment->met = 0;
    moment->own = (orri_time_scale_own){.interval_ns = pipe->interval_ns};
    moment->began_ns = rt->schedule->time_ns;
    moment->began_real_ns = 0;
    moment->driven.era += moment->driven.era == 0;
    moment->ticking = false;
    moment->resumes = pipe->stage != ORRI_STAGE_DONE;
    moment->waits = ORRI_WAITS_NOT;
    moment->driven.replay_at = 0;
    if (moment->command_buffers == NULL) {
        moment->command_buffers = orri_command_buffers_make(rt->world);
        if (moment->command_buffers != NULL && pipe->spectator) {
            orri_command_buffers_transient(moment->command_buffers);
        }
    }
    return moment->command_buffers != NULL && realtime_holder(rt, pipe);
}

// A pipeline without an open tick has nothing of real time left.
static void realtime_moment_end(orr_world* world, orri_pipeline* pipe)
{
    orri_moment* moment = pipe->moment;
    if (moment == NULL) {
        return;
    }
    moment->rt = NULL;
    moment->driven.recorded = NULL;
    moment->driven.replayed = NULL;
    moment->driven.replays = false;
    moment->driven.diverged = NULL;
    moment->holder = NULL;       // It went with the locks.
    if (moment->driven.copied) { // All of its tick was done, and there is nobody to see it.
        moment->driven.copied = false;
        orri_pipeline_ticked(pipe);
    }
    if (moment->command_buffers != NULL && pipe->stage == ORRI_STAGE_DONE) {
        orri_command_buffers_use(world, moment->command_buffers);
        orri_command_buffers_unhold(world);
        orri_command_buffers_use(world, NULL);
        orri_command_buffers_destroy(world, moment->command_buffers);
        moment->command_buffers = NULL;
    }
}

void orri_moment_free(orr_world* world, orri_pipeline* pipe)
{
    if (pipe->moment != NULL) {
        realtime_moment_end(world, pipe);
        ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_moment, pipe->moment, 1);
        pipe->moment = NULL;
        pipe->driven = NULL;
    }
}

void orri_moment_resume(orri_pipeline* pipe, bool ended)
{
    orr_world* world = pipe->world;
    if (pipe->moment->command_buffers == NULL) {
        return;
    }
    if (ended) {
        realtime_moment_end(world, pipe);
    } else {
        pipe->moment->driven.copied = false;
        orri_command_buffers_use(world, pipe->moment->command_buffers);
    }
}

static orr_result realtime_prepare(orri_realtime* rt)
{
    orri_env* env = &rt->world->env;
    if (!orri_command_buffers_begin(rt->world)) {
        return orri_env_result(env);
    }
    rt->locks = orri_locks_create(env);
    rt->publisher = rt->locks != NULL ? orri_publisher_create(rt->world) : NULL;
    if (rt->publisher == NULL) {
        return rt->locks == NULL ? orri_refuse_memory(env, "beginning real time")
                                 : orri_env_result(env);
    }
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        if (!realtime_moment(rt, rt->schedule->pipelines[i])) {
            return orri_env_result(env);
        }
    }
    if (orri_locks_add(rt->locks, 1, ORRI_LOCK_PLAIN, &rt->registry) != ORR_OK ||
        orri_locks_add(rt->locks, 1, ORRI_LOCK_PLAIN, &rt->index) != ORR_OK ||
        orri_locks_trace(rt->locks, rt->desc.lock_trace) != ORR_OK) {
        return orri_refuse_memory(env, "beginning real time");
    }
    orr_result result = orri_visibility_make(rt);
    return result == ORR_OK && rt->record != NULL ? orri_impure_check(rt->world, "orr_realtime")
                                                  : result;
}

static void realtime_name_rows(const orri_realtime* rt)
{
    for (uint32_t i = 0; rt->schedule->trace != NULL && i < rt->schedule->pipeline_count; i++) {
        char name[ORR_NAME_MAX + 16];
        orri_text text = {name, sizeof name, 0};
        orri_text_add(&text, "pipeline %s", rt->schedule->pipelines[i]->name);
        orri_trace_name(rt->schedule->trace, ORRI_TRACE_PIPELINES + i, name);
    }
}

static void realtime_start(orri_realtime* rt)
{
    realtime_name_rows(rt);
    const orr_platform* platform = rt->platform;
    orri_realtime_lock(rt);
    rt->begun_ns = orri_realtime_clock(rt);
    rt->ended_ns = rt->schedule->time_ns;
    orri_time_scale_begin(&rt->pace, rt->begun_ns, rt->schedule->time_ns);
    rt->pace.wish = rt->schedule->wish > 0 || rt->schedule->wished ? rt->schedule->wish : 1;
    const orri_pipeline* missing = NULL;
    int error = 0;
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        orri_pipeline* pipe = rt->schedule->pipelines[i];
        if (pipe->rate_hz > 0) {
            orri_time_scale_allow(&rt->pace, pipe->interval_ns);
        }
        int code = rt->stop ? 0
                            : platform->thread_create(platform->user, pipe->name,
                                                      orri_pipeline_thread_main, pipe,
                                                      &pipe->moment->thread);
        pipe->moment->threaded = !rt->stop && code == 0;
        rt->running += pipe->moment->threaded;
        rt->following += pipe->moment->threaded && orri_follows(pipe);
        rt->standing += pipe->moment->threaded && !orri_pipeline_thread_free(pipe);
        if (code != 0) {
            rt->stop = true;
            rt->result = ORR_ERR_STATE; // Before those that have one say that they wait in vain.
            missing = pipe;
            error = code;
        }
    }
    orri_realtime_unlock(rt);
    if (missing != NULL) { // Not under the mutex: who is told may call.
        orr_result result =
            orri_refuse(&rt->world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                        "orr_realtime: no thread for pipeline '%s' (error %d of the system); use "
                        "orr_update(), which needs none",
                        missing->name, error);
        orri_realtime_fail(rt, result);
    }
}

static void realtime_join(orri_realtime* rt)
{
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        orri_moment* moment = rt->schedule->pipelines[i]->moment;
        if (moment->threaded) {
            rt->platform->thread_join(rt->platform->user, moment->thread);
            moment->threaded = false;
        }
    }
}

// Statistics stay, also of locks.
static void realtime_note(orri_realtime* rt)
{
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        orri_moment* moment = rt->schedule->pipelines[i]->moment;
        if (moment != NULL && moment->holder != NULL) {
            orri_lock_stats locks;
            orri_lock_stats_get(moment->holder, &locks);
            moment->stats.lock_waits = locks.waits;
            moment->stats.lock_waited_ns = locks.waited_ns;
            moment->stats.lock_longest_ns = locks.longest_ns;
        }
    }
}

// The tick with which the run ends is remembered as at a meeting.
static void realtime_met(const orri_realtime* rt)
{
    if (rt->world->tick_hooks.met != NULL && !orri_half_done(rt->schedule)) {
        rt->world->tick_hooks.met(rt->world);
    }
}

// What was posted and not done yet, with the world as it is between ticks.
static void realtime_rest(orri_realtime* rt)
{
    orri_mutex_lock(rt->platform, &rt->schedule->posting);
    rt->over = true; // What these post is refused: they might go on for ever.
    orri_mutex_unlock(rt->platform, &rt->schedule->posting);
    orri_call* calls = orri_calls_take(rt, true);
    if (calls != NULL) {
        orri_realtime_log_turn(rt, rt->schedule->pipelines[0], ORRI_TURN_CALLS);
        orri_realtime_log_calls(rt, calls, true);
        orri_calls_do(rt->world, calls);
    }
}

// Threads are gone.
static void realtime_close(orri_realtime* rt)
{
    orr_world* world = rt->world;
    struct orri_schedule* schedule = rt->schedule;
    realtime_note(rt);
    orri_mutex_lock(rt->platform, &schedule->posting);
    __atomic_store_n(&schedule->realtime, NULL,
                     __ATOMIC_RELAXED); // From here on calls are refused.
    orri_mutex_unlock(rt->platform, &schedule->posting);
    if (rt->locks != NULL) {
        orri_lock_set_keep_trace(rt);
    }
    orri_visibility_free(rt);
    orri_publisher_destroy(rt->publisher);
    schedule->now = NULL;
    schedule->inside = world->running.in_tick = false;
    world->context->busy = NULL;
    world->context->dt = 0;
    world->context->run_tick = 0;
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        orri_pipeline* pipe = schedule->pipelines[i];
        realtime_moment_end(world, pipe);
        if (pipe->stage != ORRI_STAGE_DONE && schedule->now == NULL) {
            schedule->now = pipe;
            world->context->busy =
                "a tick is half done, it was refused to go on; call orr_realtime() or "
                "orr_step() again when there is memory";
            world->loops.iterating = 1;
        }
    }
    orri_command_buffers_use(world, NULL);
    if (rt->locks != NULL) {
        orri_locks_destroy(rt->locks);
    }
}

void orri_realtime_open(orri_realtime* rt, bool open)
{
    orr_world* world = rt->world;
    if (!open) {
        orri_world_settle(world);
        orri_schema_freeze(&world->schema);
        orri_access_parallel(world, true, NULL);
        world->loops.era++; // Loops of before have ended.
        world->realtime = true;
        world->loops.iterating = 1; // Closed to all but who has the floor.
    } else {
        world->realtime = false;
        world->own_context = *world->context; // As the last turn left it.
        world->context = &world->own_context;
        orri_access_alone(world);
        orri_schema_thaw(&world->schema);
        world->loops.iterating = 0;
    }
}

static orr_result realtime_run(orri_realtime* rt)
{
    orri_lock_log log = {0};
    struct orri_schedule* schedule = rt->schedule;
    if (rt->record != NULL) {
        orri_locks_record(rt->locks, &log);
    }
    if (rt->replay != NULL) {
        orri_locks_follow(rt->locks, &rt->replay->grants);
    }
    schedule->now = NULL;
    rt->world->loops.iterating = 0;
    orri_realtime_open(rt, false);
    orri_mutex_lock(rt->platform, &schedule->posting);
    __atomic_store_n(&schedule->realtime, rt, __ATOMIC_RELAXED);
    if (rt->replay == NULL) { // What waits for a tick is done before the first one here.
        rt->call_first = schedule->post_first;
        rt->call_last = schedule->post_last;
        schedule->post_first = schedule->post_last = NULL;
        schedule->posted = false;
    }
    orri_mutex_unlock(rt->platform, &schedule->posting);
    schedule->inside = rt->world->running.in_tick = true;
    realtime_start(rt);
    realtime_main(rt);
    realtime_join(rt);
    if (rt->replay != NULL) {
        orri_locks_follow_leave(rt->locks);
    }
    orri_realtime_lock(rt); // Others may still wish, and pause.
    if (rt->replay == NULL) {
        orri_pipeline_thread_look(rt); // Up to here time went on.
        schedule->time_ns = rt->pace.time_ns > schedule->time_ns ? rt->pace.time_ns
                                                                 : schedule->time_ns;
    }
    orri_realtime_unlock(rt);
    orri_realtime_open(rt, true);
    schedule->inside = false; // Calls that were posted may still not step or destroy it.
    orri_realtime_unhold(rt);
    orri_command_buffers_use(rt->world, NULL);
    orri_schedule_leave(rt->world);
    realtime_met(rt);
    realtime_rest(rt);
    realtime_met(rt);           // They may have gone ahead.
    orri_realtime_log_time(rt); // They may have gone back.
    orri_realtime_log_grants(rt, &log);
    return rt->result != ORR_OK ? rt->result : rt->refused;
}

static orr_result realtime_check(orr_world* world, const orr_realtime_desc* desc)
{
    const char* wrong = NULL;
    if (world->append.open != NULL) {
        return orri_check_open(world, "orr_realtime");
    }
    if (desc->record != NULL && desc->replay != NULL) {
        wrong = "a replay is not recorded: it has a recording";
    } else if (desc->replay != NULL && desc->replay->lockstep) {
        wrong = "the recording is of lockstep; use orr_replay()";
    } else if (world->schedule->tape != NULL) {
        wrong = "the world is recorded in lockstep, or replays a tick; end that before";
    } else if (desc->record != NULL && desc->record->taking) {
        wrong = "another world is recorded to that recording";
    }
    if (wrong != NULL) {
        return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                           "orr_realtime: %s", wrong);
    }
    return desc->replay != NULL ? orri_recording_fits(world, desc->replay, "orr_realtime") : ORR_OK;
}

// A tick that is open goes on where it began: one of lockstep has its messages there; and plans cannot change meanwhile. A recording begins, and is
// replayed, between ticks.
static orr_result realtime_finish(orr_world* world, const orr_realtime_desc* desc)
{
    struct orri_schedule* schedule = world->schedule;
    bool stale = schedule->stale || schedule->step_types != world->schema.type_count ||
                 desc->record != NULL || desc->replay != NULL;
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        orri_pipeline* pipe = schedule->pipelines[i];
        bool here = pipe->moment == NULL || pipe->moment->command_buffers == NULL;
        if (pipe->stage == ORRI_STAGE_DONE || (!stale && !here)) {
            continue;
        }
        schedule->now = pipe;
        orr_result result = orri_tick(pipe, pipe->dt);
        if (pipe->stage != ORRI_STAGE_DONE) {
            return result;
        }
    }
    return ORR_OK;
}

static bool realtime_wants_exclusive(const orri_pipeline* pipe)
{
    return pipe->moment->rt->broken || orri_turn_far_transactions(pipe);
}

static void realtime_diverge(const orri_pipeline* pipe)
{
    orri_turn_astray(pipe->moment->rt, pipe);
}

static const orri_driver realtime_driver = {
    .tick_begin = orri_turn_pin,
    .tick_end = orri_turn_show,
    .group = orri_turn_group,
    .exclusive = orri_turn_exclusive,
    .narrow = orri_turn_narrow,
    .commit_scope = orri_turn_commit_scope,
    .remap = orri_turn_follow,
    .release = orri_turn_release,
    .wants_exclusive = realtime_wants_exclusive,
    .end_loops = orri_turn_end_loops,
    .diverge = realtime_diverge,
    .resume = orri_moment_resume,
    .pause = orri_realtime_pause,
    .pipeline_free = orri_moment_free,
};

orr_result orr_realtime(orr_world* world, const orr_realtime_desc* desc)
{
    ORR_ASSERT(world != NULL);
    static const orr_realtime_desc none = {0};
    desc = desc != NULL ? desc : &none;
    orr_result result = orri_step_check(world, "orr_realtime");
    result = result == ORR_OK ? realtime_check(world, desc) : result;
    result = result == ORR_OK ? realtime_finish(world, desc) : result;
    if (result != ORR_OK) {
        return result;
    }
    orri_realtime* rt = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SYSTEM, orri_realtime, 1);
    if (rt == NULL) {
        return orri_refuse_memory(&world->env, "beginning real time");
    }
    rt->world = world;
    rt->schedule = world->schedule;
    rt->schedule->driver = &realtime_driver;
    rt->platform = world->env.platform;
    rt->desc = *desc;
    result = orri_realtime_log_begin(rt);
    result = result == ORR_OK ? realtime_prepare(rt) : result;
    result = result == ORR_OK ? realtime_run(rt) : result;
    realtime_close(rt);
    ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_realtime, rt, 1);
    return result;
}
