// SPDX-License-Identifier: MIT
// A run in real time, from begin to end: what is made and freed around it, wake-ups, and the work
// of the calling thread. When a pipeline ticks: thread.c. Calls from other threads: posted_calls.c.
// See README.md.
#include "realtime/realtime.h"
#include "base/float.h"

// ---- mutex and wake-ups -------------------------------------------------------------------------

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

void orri_realtime_wake_all(orri_realtime* rt)
{
    ORRI_SCHED_POINT(rt->platform, ORR_SCHED_STORE, &rt->wake_word);
    atomic_fetch_add(&rt->wake_word, 1);
    ORRI_SCHED_POINT(rt->platform, ORR_SCHED_LOAD, &rt->wake_waiters);
    if (atomic_load(&rt->wake_waiters) > 0) {
        ORRI_SCHED_POINT(rt->platform, ORR_SCHED_WAKE, &rt->wake_word);
        rt->platform->thread_wake(rt->platform->user, &rt->wake_word, UINT32_MAX);
    }
}

// Sleeps until the next wake-up, at most `timeout_ns`. The caller has the mutex, and has it again
// afterwards.
void orri_realtime_wait(orri_realtime* rt, uint64_t timeout_ns)
{
    ORRI_SCHED_POINT(rt->platform, ORR_SCHED_LOAD, &rt->wake_word);
    uint32_t seen = atomic_load(&rt->wake_word);
    atomic_fetch_add(&rt->wake_waiters, 1); // Before the last look at the word.
    orri_realtime_unlock(rt);
    ORRI_SCHED_POINT(rt->platform, ORR_SCHED_WAIT, &rt->wake_word);
    rt->platform->thread_wait(rt->platform->user, &rt->wake_word, seen, timeout_ns);
    ORRI_SCHED_POINT(rt->platform, ORR_SCHED_STORE, &rt->wake_waiters);
    atomic_fetch_sub(&rt->wake_waiters, 1);
    orri_realtime_lock(rt);
}

void orri_realtime_fail(orri_realtime* rt, orr_result result)
{
    orri_realtime_lock(rt);
    rt->result = rt->result == ORR_OK ? result : rt->result;
    rt->stop = true;
    orri_realtime_wake_all(rt);
    orri_realtime_unlock(rt);
}

// ---- the calling thread -------------------------------------------------------------------------

// Runs a system, or (NULL) the pipeline's `wait`, on this thread.
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
    orri_realtime* rt = pipe->run->rt;
    orri_realtime_lock(rt);
    if (rt->running == 0) { // The threads have ended: this is the calling thread.
        orri_realtime_unlock(rt);
        realtime_on_main(rt, pipe, system);
        return;
    }
    while (rt->main_pipe != NULL) {
        orri_realtime_wait(rt, UINT64_MAX);
    }
    rt->main_pipe = pipe;
    rt->main_system = system;
    orri_realtime_wake_all(rt);
    while (rt->main_pipe == pipe) {
        orri_realtime_wait(rt, UINT64_MAX);
    }
    orri_realtime_unlock(rt);
}

// Does the request of a pipeline. With the mutex.
static void realtime_main_run(orri_realtime* rt)
{
    const orri_pipeline* pipe = rt->main_pipe;
    orri_system* system = rt->main_system;
    orri_realtime_unlock(rt);
    realtime_on_main(rt, pipe, system);
    orri_realtime_lock(rt);
    rt->main_pipe = NULL;
    orri_realtime_wake_all(rt);
}

// The calling thread during the run: does requests of pipelines, ends the run after `.for_ns`.
// Returns when all threads of pipelines have ended.
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
            // A clock that goes back counts as standing still.
            passed += now > last ? now - last : 0;
            last = now;
            left = passed < rt->desc.for_ns ? rt->desc.for_ns - passed : 0;
            if (left == 0) {
                rt->stop = true;
                orri_realtime_wake_all(rt);
                continue;
            }
        }
        orri_realtime_wait(rt, left);
    }
    orri_realtime_unlock(rt);
}

// ---- begin and end ------------------------------------------------------------------------------

// Numbers the pipeline and makes its lock holder. Pipelines of the simulation are numbered first,
// so that turns and grants in a recording are the same with any spectators.
static bool realtime_holder(orri_realtime* rt, orri_pipeline* pipe)
{
    orri_pipeline_run* run = pipe->run;
    run->number = 0;
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        const orri_pipeline* other = rt->schedule->pipelines[i];
        bool before = other->spectator == pipe->spectator ? i < pipe->index : pipe->spectator;
        run->number += before;
    }
    bool replays = rt->replay != NULL;
    run->driven.recorded = rt->record != NULL ? &rt->record->inputs[run->number] : NULL;
    run->driven.replayed = replays ? &rt->replay->inputs[run->number] : NULL;
    run->driven.replays = replays;
    run->driven.diverged = &rt->diverged;
    if (orri_lock_holder_create(rt->locks, run->number, &run->holder) != ORR_OK) {
        return false;
    }
    if (pipe->spectator) {
        orri_lock_holder_set_unlogged(run->holder);
    }
    return true;
}

// Makes the state of a pipeline for this run. False when refused (reported).
static bool realtime_pipeline_begin(orri_realtime* rt, orri_pipeline* pipe)
{
    orri_env* env = &rt->world->env;
    orri_pipeline_run* run = pipe->run != NULL
                                 ? pipe->run
                                 : ORRI_ALLOC_ZERO(env, ORR_MEMORY_SYSTEM, orri_pipeline_run, 1);
    if (run == NULL) {
        (void)orri_refuse_memory(env, "beginning real time");
        return false;
    }
    // Another thread may ask for the statistics of the last run.
    orri_mutex_lock(rt->platform, &rt->schedule->posting);
    pipe->run = run;
    run->stats = (orr_wait_stats){0};
    orri_mutex_unlock(rt->platform, &rt->schedule->posting);
    pipe->driven = &run->driven;
    run->rt = rt;
    run->sync_seen = 0;
    run->load = (orri_time_scale_load){.interval_ns = pipe->interval_ns};
    run->began_ns = rt->schedule->time_ns;
    run->began_real_ns = 0;
    run->driven.era += run->driven.era == 0;
    orri_spin_init(&run->spin, rt->platform);
    run->ticking = false;
    run->resumes = pipe->stage != ORRI_STAGE_DONE;
    run->waits = ORRI_WAITS_NOT;
    run->driven.replay_at = 0;
    if (run->command_buffers == NULL) {
        run->command_buffers = orri_command_buffers_make(rt->world);
        if (run->command_buffers != NULL && pipe->spectator) {
            orri_command_buffers_transient(run->command_buffers);
        }
    }
    return run->command_buffers != NULL && realtime_holder(rt, pipe);
}

// Ends the state of a pipeline. The state of a half-done tick stays, so that lockstep or the next
// run can continue it.
static void realtime_pipeline_end(orr_world* world, orri_pipeline* pipe)
{
    orri_pipeline_run* run = pipe->run;
    if (run == NULL) {
        return;
    }
    run->rt = NULL;
    run->driven.recorded = NULL;
    run->driven.replayed = NULL;
    run->driven.replays = false;
    run->driven.diverged = NULL;
    run->holder = NULL; // Freed with the locks.
    // The tick was done and is not published; there is no reader any more, so it has ended.
    if (run->driven.copied) {
        run->driven.copied = false;
        orri_pipeline_ticked(pipe);
    }
    if (run->command_buffers != NULL && pipe->stage == ORRI_STAGE_DONE) {
        orri_command_buffers_use(world, run->command_buffers);
        orri_command_buffers_return_ids(world);
        orri_command_buffers_use(world, NULL);
        orri_command_buffers_destroy(world, run->command_buffers);
        run->command_buffers = NULL;
    }
}

void orri_pipeline_run_free(orr_world* world, orri_pipeline* pipe)
{
    if (pipe->run != NULL) {
        realtime_pipeline_end(world, pipe);
        ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_pipeline_run, pipe->run, 1);
        pipe->run = NULL;
        pipe->driven = NULL;
    }
}

void orri_pipeline_run_resume(orri_pipeline* pipe, bool ended)
{
    orr_world* world = pipe->world;
    if (pipe->run->command_buffers == NULL) {
        return;
    }
    if (ended) {
        realtime_pipeline_end(world, pipe);
    } else {
        pipe->run->driven.copied = false;
        orri_command_buffers_use(world, pipe->run->command_buffers);
    }
}

// Makes everything that a run needs. On refusal (reported) realtime_close() frees it.
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
        if (!realtime_pipeline_begin(rt, rt->schedule->pipelines[i])) {
            return orri_env_result(env);
        }
    }
    if (orri_locks_add(rt->locks, 1, ORRI_LOCK_PLAIN, &rt->registry) != ORR_OK ||
        orri_locks_add(rt->locks, 1, ORRI_LOCK_PLAIN, &rt->index) != ORR_OK ||
        orri_locks_trace(rt->locks, rt->desc.lock_trace) != ORR_OK) {
        return orri_refuse_memory(env, "beginning real time");
    }
    // A half-done tick has not compared what it changed itself.
    orr_result result = orri_any_tick_half_done(rt->schedule) ? ORR_OK
                                                              : orri_realtime_notify(rt->world);
    result = result == ORR_OK ? orri_visibility_make(rt) : result;
    return result == ORR_OK && rt->record != NULL ? orri_impure_check(rt->world, "orr_realtime")
                                                  : result;
}

// Names the rows of the pipelines in the Chrome trace.
static void realtime_name_rows(const orri_realtime* rt)
{
    for (uint32_t i = 0; rt->schedule->trace != NULL && i < rt->schedule->pipeline_count; i++) {
        char name[ORR_NAME_MAX + 16];
        orri_text text = {name, sizeof name, 0};
        orri_text_add(&text, "pipeline %s", rt->schedule->pipelines[i]->name);
        orri_trace_name(rt->schedule->trace, ORRI_TRACE_PIPELINES + i, name);
    }
}

// Starts the clock and the threads. A thread that cannot be created ends the run.
static void realtime_start(orri_realtime* rt)
{
    realtime_name_rows(rt);
    const orr_platform* platform = rt->platform;
    orri_realtime_lock(rt);
    rt->begun_ns = orri_realtime_clock(rt);
    rt->ended_ns = rt->schedule->time_ns;
    orri_time_scale_begin(&rt->clock, rt->begun_ns, rt->schedule->time_ns);
    rt->clock.requested =
        rt->schedule->time_scale > 0 || rt->schedule->time_scale_set ? rt->schedule->time_scale : 1;
    const orri_pipeline* missing = NULL;
    int error = 0;
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        orri_pipeline* pipe = rt->schedule->pipelines[i];
        if (pipe->rate_hz > 0) {
            orri_time_scale_add_interval(&rt->clock, pipe->interval_ns);
        }
        int code = rt->stop ? 0
                            : platform->thread_create(platform->user, pipe->name,
                                                      orri_pipeline_thread_main, pipe,
                                                      &pipe->run->thread);
        pipe->run->threaded = !rt->stop && code == 0;
        rt->running += pipe->run->threaded;
        rt->replaying += pipe->run->threaded && orri_pipeline_replays(pipe);
        rt->pausable += pipe->run->threaded && !orri_pipeline_ignores_pause(pipe);
        if (code != 0) {
            rt->stop = true;
            // Set now: threads that already run could otherwise end the run with another result.
            rt->result = ORR_ERR_STATE;
            missing = pipe;
            error = code;
        }
    }
    orri_realtime_unlock(rt);
    if (missing != NULL) { // Not under the mutex: an error handler may call the library.
        orr_result result =
            orri_refuse(&rt->world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                        "orr_realtime: no thread for pipeline '%s' (error %d of the operating "
                        "system); use orr_update(), which needs no threads",
                        missing->name, error);
        orri_realtime_fail(rt, result);
    }
}

static void realtime_join(orri_realtime* rt)
{
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        orri_pipeline_run* run = rt->schedule->pipelines[i]->run;
        if (run->threaded) {
            rt->platform->thread_join(rt->platform->user, run->thread);
            run->threaded = false;
        }
    }
}

// Keeps the lock statistics, which outlive the locks.
static void realtime_stats_save(orri_realtime* rt)
{
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        orri_pipeline_run* run = rt->schedule->pipelines[i]->run;
        if (run != NULL && run->holder != NULL) {
            orri_lock_stats locks;
            orri_lock_stats_get(run->holder, &locks);
            run->stats.lock_waits = locks.waits;
            run->stats.lock_waited_ns = locks.waited_ns;
            run->stats.lock_longest_ns = locks.longest_ns;
        }
    }
}

// History stores the last tick of the run, as at a sync point.
static void realtime_remember(const orri_realtime* rt)
{
    if (rt->world->tick_hooks.synced != NULL && !orri_any_tick_half_done(rt->schedule)) {
        rt->world->tick_hooks.synced(rt->world);
    }
}

// Accepts no more posts: calls could post calls forever. True if calls are left.
static bool realtime_posts_close(orri_realtime* rt)
{
    orri_mutex_lock(rt->platform, &rt->schedule->posting);
    rt->posts_closed = true;
    orri_mutex_unlock(rt->platform, &rt->schedule->posting);
    return rt->call_first != NULL;
}

// Runs the posted calls that are left. After a failure within a tick, where the recording ended.
static void realtime_calls_left(orri_realtime* rt)
{
    orri_call* calls = orri_calls_take(rt, true);
    if (calls != NULL) {
        orri_calls_run(rt->world, calls);
    }
}

// After the threads ended: takes the world back to lockstep and frees what the run made.
static void realtime_close(orri_realtime* rt)
{
    orr_world* world = rt->world;
    struct orri_schedule* schedule = rt->schedule;
    realtime_stats_save(rt);
    orri_mutex_lock(rt->platform, &schedule->posting);
    schedule->now = NULL; // The half-done tick, if there is one.
    for (uint32_t i = schedule->pipeline_count; i-- > 0;) {
        if (schedule->pipelines[i]->stage != ORRI_STAGE_DONE) {
            schedule->now = schedule->pipelines[i];
        }
    }
    // From here on calls of the run are refused.
    __atomic_store_n(&schedule->realtime, NULL, __ATOMIC_RELAXED);
    orri_mutex_unlock(rt->platform, &schedule->posting);
    if (rt->locks != NULL) {
        orri_lock_set_save_trace(rt);
    }
    orri_visibility_free(rt);
    orri_publisher_destroy(rt->publisher);
    schedule->inside = world->running.in_tick = false;
    world->context->busy = NULL;
    world->context->dt = 0;
    world->context->run_tick = 0;
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        orri_pipeline* pipe = schedule->pipelines[i];
        realtime_pipeline_end(world, pipe);
    }
    if (schedule->now != NULL) {
        world->context->busy = "a tick is half done; call orr_realtime() or orr_step() again "
                               "to continue it when there is memory";
        world->loops.iterating = 1;
    }
    orri_command_buffers_use(world, NULL);
    if (rt->locks != NULL) {
        orri_locks_destroy(rt->locks);
    }
}

// `open` false: closes the world to all threads but the one that has the turn; true: opens it as in
// lockstep.
static void realtime_open(orri_realtime* rt, bool open)
{
    orr_world* world = rt->world;
    if (!open) {
        orri_world_settle(world);
        orri_schema_freeze(&world->schema);
        orri_access_parallel(world, true, NULL);
        world->loops.era++; // Loops that were open before have ended.
        world->realtime = true;
        world->loops.iterating = 1; // Closed to all threads but the one that has the turn.
    } else {
        world->realtime = false;
        orri_written_note(world, world->epoch);
        world->own_context = *world->context; // As the last turn left it.
        world->context = &world->own_context;
        orri_access_serial(world);
        orri_schema_thaw(&world->schema);
        world->loops.iterating = 0;
    }
}

// The run itself, between realtime_prepare() and realtime_close().
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
    rt->world->loops.iterating = 0;
    realtime_open(rt, false);
    orri_mutex_lock(rt->platform, &schedule->posting);
    schedule->now = NULL; // orr_phase() may read it.
    __atomic_store_n(&schedule->realtime, rt, __ATOMIC_RELAXED);
    if (rt->replay == NULL) { // Calls posted before the run are done before its first tick.
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
    orri_realtime_lock(rt); // Other threads may still set the time scale, and pause.
    if (rt->replay == NULL) {
        orri_realtime_clock_advance(rt); // Time ran up to here.
        schedule->time_ns = rt->clock.time_ns > schedule->time_ns ? rt->clock.time_ns
                                                                  : schedule->time_ns;
    }
    orri_realtime_unlock(rt);
    // A replay runs these calls at a sync point, so they run at one here, too.
    if (realtime_posts_close(rt) && !orri_any_tick_half_done(schedule)) {
        orri_realtime_take_calls(rt, schedule->pipelines[0], true);
    }
    realtime_open(rt, true);
    schedule->inside = false; // Calls that are left still may not step or destroy the world.
    orri_realtime_release_ids(rt);
    orri_command_buffers_use(rt->world, NULL);
    orri_realtime_unpublish(rt->world);
    realtime_remember(rt);
    realtime_calls_left(rt);
    orri_realtime_log_time(rt);
    orri_realtime_log_grants(rt, &log);
    orri_ticks_collect(rt->world);
    orr_result result = orri_ticks_result(rt->world, rt->result);
    return result != ORR_OK ? result : rt->refused;
}

// Checks the desc. Reports.
static orr_result realtime_check(orr_world* world, const orr_realtime_desc* desc)
{
    const char* wrong = NULL;
    if (world->append.open != NULL) {
        return orri_check_open(world, "orr_realtime");
    }
    if (desc->record != NULL && desc->replay != NULL) {
        wrong = "a replay cannot be recorded; set .record or .replay, not both";
    } else if (desc->paced && desc->replay == NULL) {
        wrong = ".paced is a setting of replays; set .replay, too";
    } else if (desc->hashes && desc->record == NULL && desc->replay == NULL) {
        wrong = ".hashes is a setting of recordings; set .record, too";
    } else if (desc->replay != NULL && desc->replay->lockstep) {
        wrong = "the recording is of lockstep; replay it with orr_replay()";
    } else if (desc->replay != NULL && desc->replay->turn_count == 0 && !desc->replay->full &&
               !desc->replay->refused) {
        wrong = "the recording is empty; record to it, or load it";
    } else if (world->schedule->lockstep_log != NULL) {
        wrong =
            "the world is recorded in lockstep, or a replayed tick is half done; end that first";
    } else if (desc->record != NULL && orri_recording_busy(desc->record) != NULL) {
        wrong = orri_recording_busy(desc->record);
    }
    if (wrong != NULL) {
        return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                           "orr_realtime: %s", wrong);
    }
    return desc->replay != NULL ? orri_recording_fits(world, desc->replay, "orr_realtime") : ORR_OK;
}

// Finishes half-done ticks in lockstep where the run cannot continue them: ticks that began in
// lockstep have their messages there; plans cannot change within a tick; recordings and replays
// begin between ticks.
static orr_result realtime_finish(orr_world* world, const orr_realtime_desc* desc)
{
    struct orri_schedule* schedule = world->schedule;
    bool stale = schedule->stale || schedule->step_types != world->schema.type_count ||
                 desc->record != NULL || desc->replay != NULL;
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        orri_pipeline* pipe = schedule->pipelines[i];
        bool here = pipe->run == NULL || pipe->run->command_buffers == NULL;
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
    return pipe->run->rt->remap_failed || orri_turn_wants_exclusive(pipe);
}

static void realtime_diverge(const orri_pipeline* pipe)
{
    orri_replay_diverge(pipe->run->rt, pipe);
}

// The driver table: see orri_driver in schedule.h.
static const orri_driver realtime_driver = {
    .tick_begin = orri_turn_view_pin,
    .tick_end = orri_turn_publish,
    .group = orri_turn_group,
    .exclusive = orri_turn_exclusive,
    .exclusive_scope = orri_turn_exclusive_scope,
    .commit_scope = orri_turn_commit_scope,
    .remap = orri_turn_remap,
    .release = orri_turn_release,
    .wants_exclusive = realtime_wants_exclusive,
    .end_loops = orri_turn_end_loops,
    .diverge = realtime_diverge,
    .resume = orri_pipeline_run_resume,
    .pause = orri_realtime_pause,
    .pipeline_free = orri_pipeline_run_free,
};

orr_result orr_realtime(orr_world* world, const orr_realtime_desc* desc)
{
    ORR_ASSERT(world != NULL);
    static const orr_realtime_desc none = {0};
    desc = desc != NULL ? desc : &none;
    orr_result result = orri_step_check(world, "orr_realtime");
    result = result == ORR_OK ? realtime_check(world, desc) : result;
    if (result == ORR_OK) {
        orri_ticks_begin(world);
        result = realtime_finish(world, desc);
    }
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
    orri_recording_replay_begin(rt->desc.replay);
    result = orri_realtime_log_begin(rt);
    if (rt->desc.record != NULL) {
        rt->desc.record->in_use = true;
    }
    result = result == ORR_OK ? realtime_prepare(rt) : result;
    result = result == ORR_OK ? realtime_run(rt) : result;
    realtime_close(rt);
    orri_recording_replay_end(rt->desc.replay);
    if (rt->desc.record != NULL) {
        rt->desc.record->in_use = false;
    }
    ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_realtime, rt, 1);
    return result;
}
