// SPDX-License-Identifier: MIT
// When a pipeline ticks in real time: its thread, which waits until it is due, meets the others, or follows a recording.
#include "realtime/realtime.h"

#define THREAD_IDLE_NS \
    UINT64_C(1000000) // Between ticks of a continuous pipeline that has nothing to do.

// ---- when a pipeline ticks ---------------------------------------------------------------------------------------------------------

// Time goes on. The caller has the mutex.
void orri_pipeline_thread_look(orri_realtime* rt)
{
    uint64_t now = orri_realtime_clock(rt);
    // A replay does not know who ended a pause: none of them takes time.
    bool paused = rt->schedule->paused && !(rt->replay != NULL && rt->desc.paced);
    if (paused != rt->pace.paused) {
        orri_time_scale_pause(&rt->pace, now, paused);
        rt->steps = rt->step_ns = 0;
        orri_realtime_ring(rt); // A system did it: nobody was told yet.
    } else {
        orri_time_scale_look(&rt->pace, now);
    }
}

// Who draws what stands goes on while it is paused.
bool orri_pipeline_thread_free(const orri_pipeline* pipe)
{
    return pipe->rate_hz <= 0 && pipe->spectator;
}

// While paused nobody else begins a tick but in the steps that were asked for.
static bool thread_due(const orri_realtime* rt, const orri_pipeline* pipe)
{
    if (orri_pipeline_thread_free(pipe) || (pipe->rate_hz <= 0 && !rt->pace.paused)) {
        return true;
    }
    return pipe->due_ns <= rt->pace.time_ns && (!rt->pace.paused || pipe->due_ns <= rt->step_ns);
}

// A paused world that was told to go on for some ticks: its clock jumps to where the next one is due, when all others wait.
static bool thread_skip(orri_realtime* rt)
{
    if (!rt->pace.paused || rt->idle < rt->standing) {
        return false;
    }
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        const orri_pipeline* pipe = rt->schedule->pipelines[i];
        bool comes = !orri_pipeline_thread_free(pipe) && pipe->due_ns <= rt->step_ns;
        next = comes && pipe->due_ns < next ? pipe->due_ns : next;
    }
    if (next == UINT64_MAX || next <= rt->pace.time_ns) {
        return false; // There is none; or it was told to, and has not come to it yet.
    }
    rt->pace.time_ns = next;
    orri_realtime_ring(rt);
    return true;
}

typedef enum thread_what {
    THREAD_WAIT,
    THREAD_TICK,
    THREAD_CALLS,
    THREAD_MEET,
    THREAD_END,
} thread_what;

// What a pipeline does now. The caller has the mutex; `left` is how long it may wait otherwise.
static thread_what thread_decide(orri_realtime* rt, const orri_pipeline* pipe, uint64_t* left)
{
    bool first = pipe->index == 0;
    *left = UINT64_MAX;
    if (rt->stop) {
        return THREAD_END;
    }
    // Calls that call again let a tick that is due go first.
    bool waits = false;
    if (first && rt->called) {
        orri_pipeline_thread_look(rt);
        waits = thread_due(rt, pipe);
    }
    if (first && rt->call_first != NULL && !waits) {
        if (!rt->call_first->meeting) {
            return THREAD_CALLS;
        }
        rt->gather = true;
        orri_realtime_ring(rt);
    }
    orri_pipeline_thread_look(rt);
    bool due = thread_due(rt, pipe);
    // Meetings that call for the next one let everybody have a tick between them. While one is held nobody begins any: who comes from a place of its own to
    // wait was counted as standing.
    if (rt->gather && (rt->meets || !(due && pipe->moment->met < rt->meetings))) {
        return THREAD_MEET;
    }
    if (due) {
        return THREAD_TICK;
    }
    // Of a longer wait than that only a part would count.
    uint64_t until = rt->pace.paused ? UINT64_MAX : orri_time_scale_until(&rt->pace, pipe->due_ns);
    uint64_t most = rt->pace.most_ns / 2;
    *left = until == UINT64_MAX || until < most ? until : most;
    return THREAD_WAIT;
}

// Until there is something to do.
static thread_what thread_next(orri_realtime* rt, const orri_pipeline* pipe)
{
    uint64_t left;
    orri_realtime_lock(rt);
    thread_what what = thread_decide(rt, pipe, &left);
    bool stands = !orri_pipeline_thread_free(pipe);
    while (what == THREAD_WAIT) {
        rt->idle += stands;
        if (!thread_skip(rt)) {
            orri_realtime_wait(rt, left);
        }
        rt->idle -= stands;
        what = thread_decide(rt, pipe, &left);
    }
    pipe->moment->met = what == THREAD_TICK ? rt->meetings : pipe->moment->met;
    pipe->moment->travels = rt->travels;
    orri_realtime_unlock(rt);
    return what;
}

// A tick begins. The world's time since the last one. (A clock that stands is a tick of no time.)
static float thread_dt(orri_realtime* rt, orri_pipeline* pipe)
{
    orri_moment* moment = pipe->moment;
    orri_realtime_lock(rt);
    uint64_t passed = rt->pace.time_ns - moment->began_ns;
    moment->began_ns = rt->pace.time_ns;
    moment->began_real_ns = rt->pace.real_ns;
    moment->ticking = true;
    rt->steps -= pipe->index == 0 && rt->steps > 0;
    orri_realtime_unlock(rt);
    return pipe->rate_hz > 0 ? pipe->interval : (float)((double)passed * 1e-9);
}

// Whoever is behind by more than one tick gives up those before.
static void thread_drop(orri_realtime* rt, orri_pipeline* pipe)
{
    uint64_t next =
        orri_time_scale_next(rt->pace.time_ns, pipe->due_ns - pipe->interval_ns, pipe->interval_ns);
    while (pipe->due_ns + pipe->interval_ns / 2 < next) {
        pipe->moment->stats.dropped++;
        orri_pipeline_ticked(pipe);
    }
}

// A tick of a pipeline with a rate took so long: all go slower, or faster again.
static void thread_pace(orri_realtime* rt, orri_pipeline* pipe)
{
    const orri_time_scale_own* owns[ORR_PIPELINES_MAX];
    uint32_t count = 0;
    uint64_t now = orri_realtime_clock(rt);
    double before = rt->pace.scale;
    orri_time_scale_look(&rt->pace, now);
    orri_time_scale_note(&pipe->moment->own, rt->pace.real_ns - pipe->moment->began_real_ns);
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        const orri_pipeline* other = rt->schedule->pipelines[i];
        if (other->rate_hz > 0 && !other->spectator) {
            owns[count++] = &other->moment->own;
        }
    }
    orri_time_scale_now(&rt->pace, now, owns, count);
    thread_drop(rt, pipe);
    if (rt->pace.scale > before) {
        orri_realtime_ring(rt); // Who waits is due earlier.
    }
}

// When the next one is due. In a replay no clock is asked.
static void thread_clock(orri_realtime* rt, orri_pipeline* pipe)
{
    bool follows = orri_follows(pipe);
    if (follows && orri_replay_clock(rt, pipe)) {
        return;
    }
    if (pipe->rate_hz <= 0) {
        pipe->due_ns = follows ? rt->schedule->time_ns : rt->pace.time_ns;
    }
    orri_pipeline_ticked(pipe);
    if (pipe->rate_hz > 0 && !follows) {
        thread_pace(rt, pipe);
    }
    rt->ended_ns = pipe->spectator ? rt->ended_ns : rt->pace.time_ns;
    orri_realtime_log_ended(rt, pipe);
}

static void thread_ticked(orri_realtime* rt, orri_pipeline* pipe)
{
    orri_realtime_lock(rt);
    pipe->moment->ticking = false;
    pipe->moment->stats.ticks++;
    thread_clock(rt, pipe);
    if (pipe->index == 0 && rt->steps > 0) {
        rt->step_ns = orri_pipeline_due(pipe, rt->steps - 1);
    }
    // A replay meets where its run did.
    if (pipe->index == 0 && rt->replay == NULL && rt->world->tick_hooks.sync_wanted != NULL &&
        rt->world->tick_hooks.sync_wanted(rt->world)) {
        rt->gather = true;
        orri_realtime_ring(rt);
    }
    if (pipe->index == 0 && rt->replay == NULL && ++rt->first_ticks >= rt->desc.ticks &&
        rt->desc.ticks > 0) {
        rt->stop = true;
        orri_realtime_ring(rt);
    }
    orri_realtime_unlock(rt);
}

// ---- the thread of a pipeline ---------------------------------------------------------------------------------------------------

bool orri_realtime_stale(const orri_realtime* rt)
{
    return rt->schedule->stale || rt->schedule->step_types != rt->world->schema.type_count;
}

// One tick; the caller has the floor, and leaves it.
static bool thread_tick(orri_realtime* rt, orri_pipeline* pipe, float dt)
{
    uint64_t before = pipe->tick;
    bool resumed = pipe->stage != ORRI_STAGE_DONE || pipe->moment->driven.copied;
    orr_result result = orri_tick(pipe, dt);
    bool open = pipe->stage != ORRI_STAGE_DONE || pipe->moment->driven.copied;
    // What was refused within a tick that ended was said; the next one tries again.
    bool failed = open || (pipe->tick == before && !resumed);
    orri_turn_release(pipe);
    if (!failed) {
        rt->refused = result == ORR_ERR_MEMORY ? result : rt->refused;
        thread_ticked(rt, pipe); // On the floor: clocks are part of what a meeting looks at.
    } else {
        orri_realtime_log_refused(rt, pipe);
    }
    orri_turn_leave(pipe);
    if (failed) {
        if (orri_follows(pipe)) {
            (void)orri_turn_lost(rt);
        }
        orri_realtime_fail(rt, result);
    }
    return !failed;
}

// False: not after all.
static bool thread_begin_tick(orri_realtime* rt, orri_pipeline* pipe)
{
    if (pipe->index == 0) {
        rt->called = false;
    }
    orri_turn_enter_between(pipe);
    if (ORR_UNLIKELY(rt->travels != pipe->moment->travels)) {
        orri_turn_leave(pipe); // The world went back meanwhile: it was due in another time.
        return false;
    }
    // Plans are made where all stand between ticks. (Who looks on in a replay stands until that has a meeting.)
    if (ORR_UNLIKELY(orri_realtime_stale(rt))) {
        orri_turn_leave(pipe);
        orri_realtime_lock(rt);
        rt->gather = true;
        orri_realtime_ring(rt);
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

// A place of the program's own to wait, with nothing held. For a meeting the pipeline stands meanwhile: it does not begin a tick before it has come here
// again.
static void thread_wait(orri_realtime* rt, orri_pipeline* pipe)
{
    orri_realtime_lock(rt);
    rt->aside++;
    if (rt->gather) {
        orri_realtime_ring(rt);
    }
    orri_realtime_unlock(rt);
    if (pipe->wait_main) {
        orri_realtime_on_main(pipe, NULL);
    } else {
        pipe->wait(pipe->wait_user);
    }
    orri_realtime_lock(rt);
    rt->aside--;
    orri_realtime_unlock(rt);
}

static void thread_begin_calls(orri_realtime* rt, orri_pipeline* pipe, bool meeting)
{
    orri_turn_enter_between(pipe);
    orri_call* calls = orri_calls_take(rt, meeting);
    orri_realtime_log_turn(rt, pipe, ORRI_TURN_CALLS);
    orri_realtime_log_calls(rt, calls, meeting);
    orri_calls(rt, pipe, calls, meeting);
    rt->called = true;
    orri_turn_leave(pipe);
}

static bool thread_all_stand(const orri_realtime* rt)
{
    uint32_t here = rt->following > 0 ? rt->following : 1;
    return rt->met + rt->aside + here >= rt->running;
}

// The first pipeline, until all others have come. Those that follow a recording stand where that has a meeting. False: it ends.
static bool thread_gather(orri_realtime* rt)
{
    orri_realtime_lock(rt);
    rt->gather = true;
    orri_realtime_ring(rt);
    while (!thread_all_stand(rt) && !rt->stop) {
        orri_realtime_wait(rt, UINT64_MAX);
    }
    bool stop = rt->stop;
    rt->meets = !stop;
    orri_realtime_unlock(rt);
    return !stop;
}

static void thread_disperse(orri_realtime* rt)
{
    orri_realtime_lock(rt);
    rt->gather = rt->meets = false;
    // They are free to go, whenever they wake: the next one waits until they have come again.
    rt->met = 0;
    rt->meetings++;
    orri_realtime_ring(rt);
    orri_realtime_unlock(rt);
}

// All pipelines come and stand; the first one does what is to be done, and lets them go.
static void thread_meet(orri_realtime* rt, orri_pipeline* pipe)
{
    if (pipe->index == 0) {
        if (thread_gather(rt)) {
            thread_begin_calls(rt, pipe, true);
        }
        thread_disperse(rt);
        return;
    }
    orri_realtime_lock(rt);
    uint64_t held = rt->meetings;
    rt->met++;
    orri_realtime_ring(rt);
    while (rt->meetings == held && rt->gather && !rt->stop) {
        orri_realtime_wait(rt, UINT64_MAX);
    }
    rt->met -= rt->meetings == held; // None was held: the run ends.
    orri_realtime_unlock(rt);
}

static bool thread_replay_calls(orri_realtime* rt, orri_pipeline* pipe)
{
    bool meeting = orri_calls_meet(rt);
    bool goes = !meeting || thread_gather(rt);
    if (goes) {
        orri_turn_enter_between(pipe);
        orri_calls(rt, pipe, orri_calls_replay(rt), meeting);
        orri_turn_leave(pipe);
    }
    if (meeting) {
        thread_disperse(rt);
    }
    return goes;
}

// By the clock: until the tick that is next begins, by the world's time. Its turn has come, so that the others wait, too.
static void thread_replay_wait(orri_realtime* rt, const orri_pipeline* pipe)
{
    orri_moment* moment = pipe->moment;
    double dt_ns = (double)rt->replay->dts[rt->dt_at] * 1e9;
    orri_realtime_lock(rt);
    uint64_t due = pipe->rate_hz > 0 ? pipe->due_ns : moment->began_ns + (uint64_t)dt_ns;
    for (orri_pipeline_thread_look(rt); rt->pace.time_ns < due && !rt->stop;
         orri_pipeline_thread_look(rt)) {
        uint64_t until = orri_time_scale_until(&rt->pace, due), most = rt->pace.most_ns / 2;
        orri_realtime_wait(rt, until == UINT64_MAX || until < most ? until : most);
    }
    moment->began_ns = due;
    orri_realtime_unlock(rt);
}

static bool thread_replay_step(orri_realtime* rt, orri_pipeline* pipe)
{
    switch (orri_turn_note(pipe)) {
    case ORRI_TURN_BEGIN:
        if (rt->desc.paced) {
            thread_replay_wait(rt, pipe);
        }
        orri_turn_enter_between(pipe);
        // A system of the simulation was switched, and the recording has no meeting for it. (Spectators may switch theirs.)
        if (ORR_UNLIKELY(rt->schedule->stale && rt->schedule->switched)) {
            orri_turn_astray(rt, pipe);
            orri_turn_leave(pipe);
            return false;
        }
        return thread_tick(rt, pipe, rt->replay->dts[rt->dt_at++]);
    case ORRI_TURN_CALLS:
        return thread_replay_calls(rt, pipe);
    case ORRI_TURN_STEP:
        orri_turn_astray(rt, pipe);
        return false;
    default:
        return false;
    }
}

static void thread_live(orri_realtime* rt, orri_pipeline* pipe)
{
    bool waited = false; // Since its last tick.
    for (;;) {
        switch (thread_next(rt, pipe)) {
        case THREAD_TICK:
            if (pipe->wait != NULL && !waited) {
                thread_wait(rt, pipe);
                waited = true; // What was due may be so no more.
            } else if (thread_begin_tick(rt, pipe)) {
                waited = false;
            }
            break;
        case THREAD_CALLS:
            thread_begin_calls(rt, pipe, false);
            break;
        case THREAD_MEET:
            thread_meet(rt, pipe);
            break;
        default:
            return;
        }
    }
}

static void thread_follow(orri_realtime* rt, orri_pipeline* pipe)
{
    while (thread_replay_step(rt, pipe)) {
        orri_realtime_lock(rt);
        bool stop = rt->stop;
        orri_realtime_unlock(rt);
        if (stop) {
            (void)orri_turn_lost(rt); // The others finish their ticks, too.
        }
    }
}

void orri_pipeline_thread_main(void* data)
{
    orri_pipeline* pipe = data;
    orri_realtime* rt = pipe->moment->rt;
    bool follows = orri_follows(pipe);
    // It was refused in a run before, and goes on. (Its stage may be another thread's by now: that of a meeting at which ticks run.)
    if (pipe->moment->resumes) {
        orri_turn_enter_between(pipe);
        (void)thread_tick(rt, pipe, pipe->dt);
    }
    if (follows) {
        thread_follow(rt, pipe);
    } else {
        thread_live(rt, pipe);
    }
    orri_realtime_lock(rt);
    rt->running--;
    rt->standing -= !orri_pipeline_thread_free(pipe);
    rt->following -= follows;
    rt->stop = rt->stop || (follows && rt->following == 0); // Who looks on has nothing to look at.
    bool stuck = follows && orri_turn_stuck(rt);
    orri_realtime_ring(rt);
    orri_realtime_unlock(rt);
    if (stuck) { // The others wait for what this one had to do.
        orri_turn_astray(rt, pipe);
    }
}

#undef THREAD_IDLE_NS
