// SPDX-License-Identifier: MIT
// The thread of a pipeline in real time: waits until a tick is due, takes part in sync points, or
// follows a recording.
#include "realtime/realtime.h"

// Pause between ticks of a continuous pipeline without systems.
#define THREAD_IDLE_NS UINT64_C(1000000)

// ---- when a pipeline ticks ----------------------------------------------------------------------

// Advances the world's time to now, and takes over a pause that a system requested. With the mutex.
void orri_realtime_clock_advance(orri_realtime* rt)
{
    uint64_t now = orri_realtime_clock(rt);
    // A replay by the clock does not know when a pause ended: pauses take no time there.
    bool paused = rt->schedule->paused && !(rt->replay != NULL && rt->desc.paced);
    if (paused != rt->clock.paused) {
        orri_time_scale_pause(&rt->clock, now, paused);
        rt->steps = rt->step_ns = 0;
        orri_realtime_wake_all(rt); // A system set it: no thread was woken yet.
    } else {
        orri_time_scale_advance(&rt->clock, now);
    }
}

// A continuous spectator, which draws the world, ticks on while the world is paused.
bool orri_pipeline_ignores_pause(const orri_pipeline* pipe)
{
    return pipe->rate_hz <= 0 && pipe->spectator;
}

// Whether the pipeline may begin a tick now. While paused only within the steps that
// orr_realtime_step() asked for.
static bool thread_due(const orri_realtime* rt, const orri_pipeline* pipe)
{
    if (orri_pipeline_ignores_pause(pipe) || (pipe->rate_hz <= 0 && !rt->clock.paused)) {
        return true;
    }
    return pipe->due_ns <= rt->clock.time_ns && (!rt->clock.paused || pipe->due_ns <= rt->step_ns);
}

// A paused world that makes single steps: when all threads wait, its clock jumps to the next due
// time. True: it jumped.
static bool thread_jump(orri_realtime* rt)
{
    if (!rt->clock.paused || rt->idle < rt->pausable) {
        return false;
    }
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        const orri_pipeline* pipe = rt->schedule->pipelines[i];
        bool allowed = !orri_pipeline_ignores_pause(pipe) && pipe->due_ns <= rt->step_ns;
        next = allowed && pipe->due_ns < next ? pipe->due_ns : next;
    }
    if (next == UINT64_MAX || next <= rt->clock.time_ns) {
        // No tick is due within the steps; or its pipeline was woken and has not begun it yet.
        return false;
    }
    rt->clock.time_ns = next;
    orri_realtime_wake_all(rt);
    return true;
}

// The next action of a thread.
typedef enum thread_action {
    THREAD_WAIT,  // Sleep until a wake-up or the due time.
    THREAD_TICK,  // Begin a tick.
    THREAD_CALLS, // Run posted calls that need no sync point. First pipeline only.
    THREAD_SYNC,  // Arrive at the sync point; the first pipeline holds it.
    THREAD_END,   // The run ends.
} thread_action;

// Decides the next action of a pipeline. With the mutex. `left`: how long it may wait otherwise.
static thread_action thread_decide(orri_realtime* rt, const orri_pipeline* pipe, uint64_t* left)
{
    bool first = pipe->index == 0;
    *left = UINT64_MAX;
    if (rt->stop) {
        return THREAD_END;
    }
    // After calls, a due tick comes first: calls that post calls cannot starve the first pipeline.
    bool waits = false;
    if (first && rt->calls_done) {
        orri_realtime_clock_advance(rt);
        waits = thread_due(rt, pipe);
    }
    if (first && rt->call_first != NULL && !waits) {
        if (!rt->call_first->sync) {
            return THREAD_CALLS;
        }
        rt->sync_wanted = true;
        orri_realtime_wake_all(rt);
    }
    orri_realtime_clock_advance(rt);
    bool due = thread_due(rt, pipe);
    // Between two sync points every due pipeline runs one tick, so that sync points that request
    // the next one cannot starve pipelines. While a sync point is held no pipeline begins a tick: a
    // pipeline that returns from its `.wait` was counted as arrived.
    if (rt->sync_wanted && (rt->sync_held || !(due && pipe->run->sync_seen < rt->sync_count))) {
        return THREAD_SYNC;
    }
    if (due) {
        return THREAD_TICK;
    }
    // A longer wait would be cut by jump_max_ns and count only in part.
    uint64_t until = rt->clock.paused ? UINT64_MAX
                                      : orri_time_scale_until(&rt->clock, pipe->due_ns);
    uint64_t max = rt->clock.jump_max_ns / 2;
    *left = until == UINT64_MAX || until < max ? until : max;
    return THREAD_WAIT;
}

// Waits until there is something to do.
static thread_action thread_next(orri_realtime* rt, const orri_pipeline* pipe)
{
    uint64_t left;
    orri_realtime_lock(rt);
    thread_action action = thread_decide(rt, pipe, &left);
    bool pausable = !orri_pipeline_ignores_pause(pipe);
    while (action == THREAD_WAIT) {
        rt->idle += pausable;
        if (!thread_jump(rt)) {
            orri_realtime_wait(rt, left);
        }
        rt->idle -= pausable;
        action = thread_decide(rt, pipe, &left);
    }
    pipe->run->sync_seen = action == THREAD_TICK ? rt->sync_count : pipe->run->sync_seen;
    pipe->run->travels = rt->travels;
    orri_realtime_unlock(rt);
    return action;
}

// A tick begins: returns the dt, which is the world's time since the last begin for a continuous
// pipeline. (A clock that stands gives 0.)
static float thread_dt(orri_realtime* rt, orri_pipeline* pipe)
{
    orri_pipeline_run* run = pipe->run;
    orri_realtime_lock(rt);
    uint64_t passed = rt->clock.time_ns - run->began_ns;
    run->began_ns = rt->clock.time_ns;
    run->began_real_ns = rt->clock.real_ns;
    run->ticking = true;
    rt->steps -= pipe->index == 0 && rt->steps > 0;
    orri_realtime_unlock(rt);
    return pipe->rate_hz > 0 ? pipe->interval : (float)((double)passed * 1e-9);
}

// A pipeline that is late by more than one tick drops the ticks before.
static void thread_drop(orri_realtime* rt, orri_pipeline* pipe)
{
    if (pipe->due_ns > ORRI_TIME_MAX_NS) { // Never due.
        return;
    }
    uint64_t next = orri_time_scale_next(rt->clock.time_ns, pipe->due_ns - pipe->interval_ns,
                                         pipe->interval_ns);
    while (pipe->due_ns + pipe->interval_ns / 2 < next) {
        pipe->run->stats.dropped++;
        orri_pipeline_ticked(pipe);
    }
}

// A tick of a pipeline with a rate ended: updates the time scale of the run.
static void thread_scale_update(orri_realtime* rt, orri_pipeline* pipe)
{
    const orri_time_scale_load* loads[ORR_PIPELINES_MAX];
    uint32_t count = 0;
    uint64_t now = orri_realtime_clock(rt);
    double before = rt->clock.scale;
    orri_time_scale_advance(&rt->clock, now);
    orri_time_scale_measure(&pipe->run->load, rt->clock.real_ns - pipe->run->began_real_ns);
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        const orri_pipeline* other = rt->schedule->pipelines[i];
        if (other->rate_hz > 0 && !other->spectator) {
            loads[count++] = &other->run->load;
        }
    }
    orri_time_scale_update(&rt->clock, now, loads, count);
    thread_drop(rt, pipe);
    if (rt->clock.scale > before) {
        orri_realtime_wake_all(rt); // Time runs faster: waiting pipelines are due earlier.
    }
}

// Computes when the next tick is due. A replay takes the recorded clock and reads no other.
static void thread_clock(orri_realtime* rt, orri_pipeline* pipe)
{
    bool follows = orri_pipeline_replays(pipe);
    if (follows && orri_replay_clock(rt, pipe)) {
        return;
    }
    if (pipe->rate_hz <= 0) {
        pipe->due_ns = follows ? rt->schedule->time_ns : rt->clock.time_ns;
    }
    orri_pipeline_ticked(pipe);
    if (pipe->rate_hz > 0 && !follows) {
        thread_scale_update(rt, pipe);
    }
    rt->ended_ns = pipe->spectator ? rt->ended_ns : rt->clock.time_ns;
    orri_realtime_log_tick_end(rt, pipe);
}

// A tick ended: counts it, and requests a sync point or the end of the run where they are due.
static void thread_ticked(orri_realtime* rt, orri_pipeline* pipe)
{
    if (orri_pipeline_replays(pipe)) {
        orri_replay_clock_check(rt, pipe); // Reports, so without the mutex.
    }
    orri_realtime_lock(rt);
    pipe->run->ticking = false;
    pipe->run->stats.ticks++;
    thread_clock(rt, pipe);
    if (pipe->index == 0 && rt->steps > 0) {
        rt->step_ns = orri_pipeline_due(pipe, rt->steps - 1);
    }
    // History wants a sync point. A replay has sync points where its run had them.
    if (pipe->index == 0 && rt->replay == NULL && rt->world->tick_hooks.sync_wanted != NULL &&
        rt->world->tick_hooks.sync_wanted(rt->world)) {
        rt->sync_wanted = true;
        orri_realtime_wake_all(rt);
    }
    if (pipe->index == 0 && rt->replay == NULL && ++rt->first_ticks >= rt->desc.ticks &&
        rt->desc.ticks > 0) {
        rt->stop = true;
        orri_realtime_wake_all(rt);
    }
    orri_realtime_unlock(rt);
}

// ---- the thread of a pipeline -------------------------------------------------------------------

bool orri_realtime_stale(const orri_realtime* rt)
{
    return rt->schedule->stale || rt->schedule->step_types != rt->world->schema.type_count;
}

// Runs one tick, or continues it. Called in a turn; leaves it. False: refused, the run ends.
static bool thread_tick(orri_realtime* rt, orri_pipeline* pipe, float dt)
{
    uint64_t before = pipe->tick;
    bool resumed = pipe->stage != ORRI_STAGE_DONE || pipe->run->driven.copied;
    orr_result result = orri_tick(pipe, dt);
    bool open = pipe->stage != ORRI_STAGE_DONE || pipe->run->driven.copied;
    // A refusal within a tick that ended was reported; the next tick tries again.
    bool failed = open || (pipe->tick == before && !resumed);
    orri_turn_release(pipe);
    if (!failed) {
        rt->refused = result == ORR_ERR_MEMORY ? result : rt->refused;
        thread_ticked(rt, pipe); // In the turn: clocks are part of what a sync point sees.
    } else {
        orri_realtime_log_stop(rt, pipe);
    }
    orri_turn_leave(pipe);
    if (failed) {
        if (orri_pipeline_replays(pipe)) {
            (void)orri_replay_abandon(rt);
        }
        orri_realtime_fail(rt, result);
    }
    return !failed;
}

// Begins and runs a tick. False: it was not begun after all.
static bool thread_begin_tick(orri_realtime* rt, orri_pipeline* pipe)
{
    if (pipe->index == 0) {
        rt->calls_done = false;
    }
    orri_turn_enter_between(pipe);
    if (ORR_UNLIKELY(rt->travels != pipe->run->travels)) {
        // The world travelled meanwhile: the tick was due on another timeline.
        orri_turn_leave(pipe);
        return false;
    }
    // Plans are made at sync points. (Beside a replay a spectator waits until the replay has one.)
    if (ORR_UNLIKELY(orri_realtime_stale(rt))) {
        orri_turn_leave(pipe);
        orri_realtime_lock(rt);
        rt->sync_wanted = true;
        orri_realtime_wake_all(rt);
        orri_realtime_unlock(rt);
        return false;
    }
    float dt = thread_dt(rt, pipe);
    orri_realtime_log_turn(rt, pipe, ORRI_TURN_BEGIN);
    orri_realtime_log_dt(rt, pipe, dt);
    bool idle = pipe->step_count <= 1 && pipe->rate_hz <= 0;
    if (thread_tick(rt, pipe, dt) && idle) {
        rt->platform->sleep_ns(rt->platform->user, THREAD_IDLE_NS);
    }
    return true;
}

// Calls the `.wait` of a continuous pipeline, with nothing held. For a sync point the pipeline
// counts as arrived meanwhile: it begins no tick before it has decided again.
static void thread_wait(orri_realtime* rt, orri_pipeline* pipe)
{
    orri_realtime_lock(rt);
    rt->in_wait++;
    if (rt->sync_wanted) {
        orri_realtime_wake_all(rt);
    }
    orri_realtime_unlock(rt);
    if (pipe->wait_main) {
        orri_realtime_on_main(pipe, NULL);
    } else {
        pipe->wait(pipe->wait_user);
    }
    orri_realtime_lock(rt);
    rt->in_wait--;
    orri_realtime_unlock(rt);
}

// True when all threads but the first pipeline's, or those of a replay, have arrived.
static bool thread_all_arrived(const orri_realtime* rt)
{
    uint32_t here = rt->replaying > 0 ? rt->replaying : 1;
    return rt->sync_arrived + rt->in_wait + here >= rt->running;
}

// Holds a sync point: the first pipeline waits until all others have arrived. Pipelines that follow
// a recording stand where the recording has the sync point. False: the run ends.
static bool thread_sync_begin(orri_realtime* rt)
{
    orri_realtime_lock(rt);
    rt->sync_wanted = true;
    orri_realtime_wake_all(rt);
    while (!thread_all_arrived(rt) && !rt->stop) {
        orri_realtime_wait(rt, UINT64_MAX);
    }
    bool stop = rt->stop;
    rt->sync_held = !stop;
    orri_realtime_unlock(rt);
    return !stop;
}

// Ends the sync point.
static void thread_sync_end(orri_realtime* rt)
{
    orri_realtime_lock(rt);
    rt->sync_wanted = rt->sync_held = false;
    // All may continue, whenever they wake: the next sync point waits until they arrive again.
    rt->sync_arrived = 0;
    rt->sync_count++;
    orri_realtime_wake_all(rt);
    orri_realtime_unlock(rt);
}

// Takes part in a sync point: the first pipeline does the work, the others wait until it has ended.
static void thread_sync(orri_realtime* rt, orri_pipeline* pipe)
{
    if (pipe->index == 0) {
        if (thread_sync_begin(rt)) {
            orri_realtime_take_calls(rt, pipe, true);
        }
        thread_sync_end(rt);
        return;
    }
    orri_realtime_lock(rt);
    uint64_t before = rt->sync_count;
    rt->sync_arrived++;
    orri_realtime_wake_all(rt);
    while (rt->sync_count == before && rt->sync_wanted && !rt->stop) {
        orri_realtime_wait(rt, UINT64_MAX);
    }
    rt->sync_arrived -= rt->sync_count == before; // No sync point was held: the run ends.
    orri_realtime_unlock(rt);
}

// Runs the next recorded calls, at a sync point if they ran at one.
static bool thread_replay_calls(orri_realtime* rt, orri_pipeline* pipe)
{
    bool sync = orri_calls_replay_sync(rt);
    bool goes = !sync || thread_sync_begin(rt);
    if (goes) {
        orri_turn_enter_between(pipe);
        orri_realtime_calls(rt, pipe, orri_calls_replay(rt), sync);
        orri_turn_leave(pipe);
    }
    if (sync) {
        thread_sync_end(rt);
    }
    return goes;
}

// A replay by the clock (`.paced`): waits until world time reaches the beginning of the next tick.
// The pipeline has its turn, so the others wait, too.
static void thread_replay_wait(orri_realtime* rt, const orri_pipeline* pipe)
{
    orri_pipeline_run* run = pipe->run;
    double dt_ns = (double)rt->replay->dts[rt->dt_at] * 1e9, most = (double)ORRI_TIME_MAX_NS;
    dt_ns = dt_ns < most ? dt_ns : most;
    orri_realtime_lock(rt);
    uint64_t due = pipe->rate_hz > 0 ? pipe->due_ns : run->began_ns + (uint64_t)dt_ns;
    for (orri_realtime_clock_advance(rt); rt->clock.time_ns < due && !rt->stop;
         orri_realtime_clock_advance(rt)) {
        uint64_t until = orri_time_scale_until(&rt->clock, due), max = rt->clock.jump_max_ns / 2;
        orri_realtime_wait(rt, until == UINT64_MAX || until < max ? until : max);
    }
    run->began_ns = due;
    orri_realtime_unlock(rt);
}

// Does what the recording says next. False: the thread ends.
static bool thread_replay_step(orri_realtime* rt, orri_pipeline* pipe)
{
    switch (orri_turn_await(pipe)) {
    case ORRI_TURN_BEGIN:
        if (rt->desc.paced) {
            thread_replay_wait(rt, pipe);
        }
        orri_turn_enter_between(pipe);
        // A system of the simulation was enabled or disabled, and the recording has no sync point
        // for it (spectators may do so); or it is of a pipeline with another rate.
        if (ORR_UNLIKELY((rt->schedule->stale && rt->schedule->switched) ||
                         !orri_recorded_dt_possible(rt->replay->dts[rt->dt_at], pipe->interval))) {
            orri_replay_diverge(rt, pipe);
            orri_turn_leave(pipe);
            return false;
        }
        return thread_tick(rt, pipe, rt->replay->dts[rt->dt_at++]);
    case ORRI_TURN_CALLS:
        return thread_replay_calls(rt, pipe);
    case ORRI_TURN_STEP:
        orri_replay_diverge(rt, pipe);
        return false;
    default:
        return false;
    }
}

// Runs by the clock until the run ends.
static void thread_run_live(orri_realtime* rt, orri_pipeline* pipe)
{
    bool waited = false; // Its `.wait` was called since its last tick.
    for (;;) {
        switch (thread_next(rt, pipe)) {
        case THREAD_TICK:
            if (pipe->wait != NULL && !waited) {
                thread_wait(rt, pipe);
                // Decide again: the tick may not be due any more.
                waited = true;
            } else if (thread_begin_tick(rt, pipe)) {
                waited = false;
            }
            break;
        case THREAD_CALLS:
            orri_realtime_take_calls(rt, pipe, false);
            break;
        case THREAD_SYNC:
            thread_sync(rt, pipe);
            break;
        default:
            return;
        }
    }
}

// Follows the recording until it or the run ends.
static void thread_run_replay(orri_realtime* rt, orri_pipeline* pipe)
{
    while (thread_replay_step(rt, pipe)) {
        orri_realtime_lock(rt);
        bool stop = rt->stop;
        orri_realtime_unlock(rt);
        if (stop) {
            (void)orri_replay_abandon(rt); // The others finish their ticks, too.
        }
    }
}

void orri_pipeline_thread_main(void* data)
{
    orri_pipeline* pipe = data;
    orri_realtime* rt = pipe->run->rt;
    bool follows = orri_pipeline_replays(pipe);
    // A tick of an earlier run is half done: continue it. (`resumes`, not `stage`: a fast-forward
    // at a sync point may change the stage from another thread.)
    if (pipe->run->resumes) {
        orri_turn_enter_between(pipe);
        (void)thread_tick(rt, pipe, pipe->dt);
    }
    if (follows) {
        thread_run_replay(rt, pipe);
    } else {
        thread_run_live(rt, pipe);
    }
    orri_realtime_lock(rt);
    rt->running--;
    rt->pausable -= !orri_pipeline_ignores_pause(pipe);
    rt->replaying -= follows;
    // The replay ended: spectators have nothing left to look at.
    rt->stop = rt->stop || (follows && rt->replaying == 0);
    bool stuck = follows && orri_replay_stuck(rt);
    orri_realtime_wake_all(rt);
    orri_realtime_unlock(rt);
    if (stuck) { // The others wait for something that this pipeline had to do.
        orri_replay_diverge(rt, pipe);
    }
}

#undef THREAD_IDLE_NS
