// SPDX-License-Identifier: MIT
// Pipelines in real time: their threads, when each ticks, meetings, calls from outside, and what is for the caller's thread. See realtime.h.
#include "schedule/realtime.h"
#include "base/float.h"

#define REALTIME_IDLE_NS \
    UINT64_C(1000000) // Between ticks of a continuous pipeline that has nothing to do.

// ---- the bell --------------------------------------------------------------------------------------------------------------

static uint64_t realtime_clock(const orri_realtime* rt)
{
    return rt->platform->clock_ns(rt->platform->user);
}

static void realtime_lock(orri_realtime* rt)
{
    orri_mutex_lock(rt->platform, &rt->mutex);
}

static void realtime_unlock(orri_realtime* rt)
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
static void realtime_wait(orri_realtime* rt, uint64_t timeout_ns)
{
    ORRI_SCHED_POINT(rt->platform, ORR_SCHED_LOAD, &rt->bell);
    uint32_t heard = atomic_load(&rt->bell);
    atomic_fetch_add(&rt->listeners, 1); // Before the bell is looked at for the last time.
    realtime_unlock(rt);
    ORRI_SCHED_POINT(rt->platform, ORR_SCHED_WAIT, &rt->bell);
    rt->platform->thread_wait(rt->platform->user, &rt->bell, heard, timeout_ns);
    ORRI_SCHED_POINT(rt->platform, ORR_SCHED_STORE, &rt->listeners);
    atomic_fetch_sub(&rt->listeners, 1);
    realtime_lock(rt);
}

void orri_realtime_unfollow(orri_realtime* rt)
{
    orr_result result = orri_locks_follow_end(rt->locks);
    (void)result; // A recording that ended before is no fault.
}

void orri_realtime_fail(orri_realtime* rt, orr_result result)
{
    realtime_lock(rt);
    rt->result = rt->result == ORR_OK ? result : rt->result;
    rt->stop = true;
    orri_realtime_ring(rt);
    realtime_unlock(rt);
}

// ---- the caller's thread ----------------------------------------------------------------------------------------------------

void orri_realtime_on_main(orri_pipeline* pipe, orri_system* system)
{
    orri_realtime* rt = pipe->moment->rt;
    realtime_lock(rt);
    while (rt->main_system != NULL) {
        realtime_wait(rt, UINT64_MAX);
    }
    rt->main_pipe = pipe;
    rt->main_system = system;
    orri_realtime_ring(rt);
    while (rt->main_system == system) {
        realtime_wait(rt, UINT64_MAX);
    }
    realtime_unlock(rt);
}

static void realtime_main_run(orri_realtime* rt)
{
    orri_system* system = rt->main_system;
    realtime_unlock(rt);
    orri_float_mode mode = orri_float_mode_set();
    (void)orri_system_work(rt->world, system, 0, system->in_units ? system->query->unit_count : 0,
                           0);
    orri_float_mode_restore(mode);
    realtime_lock(rt);
    rt->main_system = NULL;
    orri_realtime_ring(rt);
}

// Until all threads of pipelines have ended.
static void realtime_main(orri_realtime* rt)
{
    uint64_t last = rt->begun_ns, passed = 0;
    realtime_lock(rt);
    while (rt->running > 0) {
        uint64_t left = UINT64_MAX;
        if (rt->main_system != NULL) {
            realtime_main_run(rt);
            continue;
        }
        if (rt->desc.for_ns > 0 && rt->replay == NULL && !rt->stop) {
            uint64_t now = realtime_clock(rt);
            passed += now > last ? now - last : 0; // A clock that goes back stands.
            last = now;
            left = passed < rt->desc.for_ns ? rt->desc.for_ns - passed : 0;
            if (left == 0) {
                rt->stop = true;
                orri_realtime_ring(rt);
                continue;
            }
        }
        realtime_wait(rt, left);
    }
    realtime_unlock(rt);
}

// ---- calls from outside -------------------------------------------------------------------------------------------------------

// Those that can be done now, off the list: all of them at a meeting, otherwise up to the first that needs one.
static orri_call* realtime_take_calls(orri_realtime* rt, bool meeting)
{
    realtime_lock(rt);
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
    realtime_unlock(rt);
    return first;
}

// What is next in a replay.
static orri_call* realtime_replay_calls(orri_realtime* rt, bool* meeting)
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
    *meeting = word & 1;
    return first;
}

static void realtime_do_calls(orri_realtime* rt, orri_call* calls)
{
    orr_world* world = rt->world;
    for (orri_call *call = calls, *next; call != NULL; call = next) {
        next = call->next;
        call->call(world, call->data);
        orri_call_free(&world->env, call);
    }
}

// All pipelines stand between ticks: the world is as it is in lockstep.
static void realtime_open(orri_realtime* rt, bool open)
{
    orr_world* world = rt->world;
    if (!open) {
        orri_world_settle(world);
        orri_schema_freeze(&world->schema);
        orri_guard_abreast(world, true, NULL);
        world->realtime = true;
        world->iterating = 1; // Closed to all but who has the floor.
    } else {
        world->realtime = false;
        orri_guard_alone(world);
        orri_schema_thaw(&world->schema);
        world->iterating = 0;
    }
}

// A tick that was refused to go on keeps what it has promised.
static void realtime_unhold(orri_realtime* rt)
{
    for (uint32_t i = rt->schedule->pipeline_count; i-- > 0;) {
        const orri_pipeline* pipe = rt->schedule->pipelines[i];
        if (pipe->stage == ORRI_STAGE_DONE) {
            orri_lanes_use(rt->world, pipe->moment->lanes);
            orri_lanes_unhold(rt->world);
        }
    }
}

static orr_result realtime_gathered(orri_realtime* rt, orri_call* calls)
{
    orr_world* world = rt->world;
    const orri_here floor = orri_here_now;
    orri_here_now = (orri_here){0};
    realtime_unhold(rt);
    realtime_open(rt, true);
    rt->schedule->inside = false;
    world->busy = NULL;
    rt->schedule->gathered = true;
    realtime_do_calls(rt, calls);
    rt->schedule->gathered = false;
    orr_result result = orri_wire(rt);
    rt->schedule->inside = true;
    realtime_open(rt, false);
    orri_here_now = floor;
    return result;
}

// With structure alone: others may be within their ticks, but no system runs.
static orr_result realtime_between(orri_realtime* rt, orri_pipeline* pipe, orri_call* calls)
{
    orr_world* world = rt->world;
    orri_schema_thaw(&world->schema);
    realtime_do_calls(rt, calls);
    orri_schema_freeze(&world->schema);
    orr_result result = orri_has_readers(world)
                            ? orri_journal_told(world, orri_tell(world, (orr_system){0}, false))
                            : ORR_OK;
    orr_result followed = orri_floor_follow(pipe);
    return result == ORR_OK ? followed : result;
}

// The first pipeline does them, between its ticks. It has the floor; `meeting`: all others stand.
static void realtime_calls(orri_realtime* rt, orri_pipeline* pipe, orri_call* calls, bool meeting)
{
    orr_result result;
    if (meeting) {
        result = realtime_gathered(rt, calls);
    } else {
        orri_floor_exclusive(pipe);
        result = realtime_between(rt, pipe, calls);
        orri_floor_release(pipe);
    }
    if (result != ORR_OK) {
        orri_realtime_fail(rt, result);
    }
}

// ---- when a pipeline ticks ---------------------------------------------------------------------------------------------------------

// Time goes on. The caller has the mutex.
static void realtime_look(orri_realtime* rt)
{
    uint64_t now = realtime_clock(rt);
    bool paused = rt->schedule->paused;
    if (paused != rt->pace.paused) {
        orri_pace_pause(&rt->pace, now, paused);
        rt->steps = rt->step_ns = 0;
        orri_realtime_ring(rt); // A system did it: nobody was told yet.
    } else {
        orri_pace_look(&rt->pace, now);
    }
}

// Who draws what stands goes on while it is paused.
static bool realtime_free(const orri_pipeline* pipe)
{
    return pipe->rate_hz <= 0 && pipe->observer;
}

// While paused nobody else begins a tick but in the steps that were asked for.
static bool realtime_due(const orri_realtime* rt, const orri_pipeline* pipe)
{
    if (realtime_free(pipe) || (pipe->rate_hz <= 0 && !rt->pace.paused)) {
        return true;
    }
    return pipe->due_ns <= rt->pace.time_ns && (!rt->pace.paused || pipe->due_ns <= rt->step_ns);
}

// A paused world that was told to go on for some ticks: its clock jumps to where the next one is due, when all others wait.
static bool realtime_skip(orri_realtime* rt)
{
    if (!rt->pace.paused || rt->idle < rt->standing) {
        return false;
    }
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        const orri_pipeline* pipe = rt->schedule->pipelines[i];
        bool comes = !realtime_free(pipe) && pipe->due_ns <= rt->step_ns;
        next = comes && pipe->due_ns < next ? pipe->due_ns : next;
    }
    if (next == UINT64_MAX || next <= rt->pace.time_ns) {
        return false; // There is none; or it was told to, and has not come to it yet.
    }
    rt->pace.time_ns = next;
    orri_realtime_ring(rt);
    return true;
}

typedef enum realtime_what {
    REALTIME_WAIT,
    REALTIME_TICK,
    REALTIME_CALLS,
    REALTIME_MEET,
    REALTIME_END,
} realtime_what;

// What a pipeline does now. The caller has the mutex; `left` is how long it may wait otherwise.
static realtime_what realtime_decide(orri_realtime* rt, const orri_pipeline* pipe, uint64_t* left)
{
    bool first = pipe->index == 0;
    *left = UINT64_MAX;
    if (rt->stop) {
        return REALTIME_END;
    }
    if (first && rt->call_first != NULL) {
        if (!rt->call_first->meeting) {
            return REALTIME_CALLS;
        }
        rt->gather = true;
        orri_realtime_ring(rt);
    }
    if (rt->gather) {
        return REALTIME_MEET;
    }
    realtime_look(rt);
    if (realtime_due(rt, pipe)) {
        return REALTIME_TICK;
    }
    // Of a longer wait than that only a part would count.
    uint64_t until = rt->pace.paused ? UINT64_MAX : orri_pace_until(&rt->pace, pipe->due_ns);
    uint64_t most = rt->pace.most_ns / 2;
    *left = until == UINT64_MAX || until < most ? until : most;
    return REALTIME_WAIT;
}

// Until there is something to do.
static realtime_what realtime_next(orri_realtime* rt, const orri_pipeline* pipe)
{
    uint64_t left;
    realtime_lock(rt);
    realtime_what what = realtime_decide(rt, pipe, &left);
    bool stands = !realtime_free(pipe);
    while (what == REALTIME_WAIT) {
        rt->idle += stands;
        if (!realtime_skip(rt)) {
            realtime_wait(rt, left);
        }
        rt->idle -= stands;
        what = realtime_decide(rt, pipe, &left);
    }
    realtime_unlock(rt);
    return what;
}

// A tick begins. The world's time since the last one. (A clock that stands is a tick of no time.)
static float realtime_dt(orri_realtime* rt, orri_pipeline* pipe)
{
    orri_moment* moment = pipe->moment;
    realtime_lock(rt);
    uint64_t passed = rt->pace.time_ns - moment->began_ns;
    moment->began_ns = rt->pace.time_ns;
    moment->began_real_ns = rt->pace.real_ns;
    moment->ticking = true;
    rt->steps -= pipe->index == 0 && rt->steps > 0;
    realtime_unlock(rt);
    return pipe->rate_hz > 0 ? pipe->interval : (float)((double)passed * 1e-9);
}

// Whoever is behind by more than one tick gives up those before.
static void realtime_drop(orri_realtime* rt, orri_pipeline* pipe)
{
    uint64_t next =
        orri_pace_next(rt->pace.time_ns, pipe->due_ns - pipe->interval_ns, pipe->interval_ns);
    while (pipe->due_ns + pipe->interval_ns / 2 < next) {
        pipe->moment->stats.dropped++;
        orri_pipeline_ticked(pipe);
    }
}

// A tick of a pipeline with a rate took so long: all go slower, or faster again.
static void realtime_pace(orri_realtime* rt, orri_pipeline* pipe)
{
    const orri_pace_own* owns[ORR_PIPELINES_MAX];
    uint32_t count = 0;
    uint64_t now = realtime_clock(rt);
    double before = rt->pace.scale;
    orri_pace_look(&rt->pace, now);
    orri_pace_note(&pipe->moment->own, rt->pace.real_ns - pipe->moment->began_real_ns);
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        const orri_pipeline* other = rt->schedule->pipelines[i];
        if (other->rate_hz > 0 && !other->observer) {
            owns[count++] = &other->moment->own;
        }
    }
    orri_pace_scale(&rt->pace, now, owns, count);
    realtime_drop(rt, pipe);
    if (rt->pace.scale > before) {
        orri_realtime_ring(rt); // Who waits is due earlier.
    }
}

static void realtime_ticked(orri_realtime* rt, orri_pipeline* pipe)
{
    realtime_lock(rt);
    pipe->moment->ticking = false;
    pipe->moment->stats.ticks++;
    if (pipe->rate_hz <= 0) {
        pipe->due_ns = rt->pace.time_ns;
    }
    orri_pipeline_ticked(pipe);
    if (pipe->rate_hz > 0) {
        realtime_pace(rt, pipe);
    }
    if (pipe->index == 0 && rt->steps > 0) {
        rt->step_ns = orri_pipeline_due(pipe, rt->steps - 1);
    }
    if (pipe->index == 0 && rt->replay == NULL && ++rt->first_ticks >= rt->desc.ticks &&
        rt->desc.ticks > 0) {
        rt->stop = true;
        orri_realtime_ring(rt);
    }
    realtime_unlock(rt);
}

// ---- the thread of a pipeline ---------------------------------------------------------------------------------------------------

static bool realtime_stale(const orri_realtime* rt)
{
    return rt->schedule->stale || rt->schedule->step_types != rt->world->schema.type_count;
}

// One tick; the caller has the floor, and leaves it.
static bool realtime_tick(orri_realtime* rt, orri_pipeline* pipe, float dt)
{
    uint64_t before = pipe->tick;
    bool resumed = pipe->stage != ORRI_STAGE_DONE || pipe->moment->copied;
    orr_result result = orri_tick(pipe, dt);
    bool open = pipe->stage != ORRI_STAGE_DONE || pipe->moment->copied;
    // What was refused within a tick that ended was said; the next one tries again.
    bool failed = open || (pipe->tick == before && !resumed);
    orri_floor_release(pipe);
    if (!failed) {
        realtime_ticked(rt, pipe); // On the floor: clocks are part of what a meeting looks at.
    }
    orri_floor_leave(pipe);
    if (failed) {
        if (rt->replay != NULL) {
            (void)orri_floor_lost(rt);
        }
        orri_realtime_fail(rt, result);
    }
    return !failed;
}

static void realtime_begin_tick(orri_realtime* rt, orri_pipeline* pipe)
{
    (void)orri_floor_enter_between(pipe, ORRI_TURN_BEGIN);
    if (ORR_UNLIKELY(realtime_stale(rt))) { // Plans are made where all stand between ticks.
        orri_floor_leave(pipe);
        realtime_lock(rt);
        rt->gather = true;
        orri_realtime_ring(rt);
        realtime_unlock(rt);
        return;
    }
    float dt = realtime_dt(rt, pipe);
    orri_record_turn(rt, pipe, ORRI_TURN_BEGIN);
    orri_record_dt(rt, dt);
    bool idle = pipe->step_count <= 1 && pipe->rate_hz <= 0;
    if (realtime_tick(rt, pipe, dt) && idle) {
        rt->platform->sleep_ns(rt->platform->user, REALTIME_IDLE_NS);
    }
}

static void realtime_begin_calls(orri_realtime* rt, orri_pipeline* pipe, bool meeting)
{
    (void)orri_floor_enter_between(pipe, ORRI_TURN_CALLS);
    orri_call* calls = realtime_take_calls(rt, meeting);
    orri_record_turn(rt, pipe, ORRI_TURN_CALLS);
    orri_record_calls(rt, calls, meeting);
    realtime_calls(rt, pipe, calls, meeting);
    orri_floor_leave(pipe);
}

// All pipelines come and stand; the first one does what is to be done, and lets them go.
static void realtime_meet(orri_realtime* rt, orri_pipeline* pipe)
{
    realtime_lock(rt);
    uint64_t held = rt->meetings;
    if (pipe->index != 0) {
        rt->met++;
        orri_realtime_ring(rt);
        while (rt->meetings == held && rt->gather && !rt->stop) {
            realtime_wait(rt, UINT64_MAX);
        }
        rt->met--;
        realtime_unlock(rt);
        return;
    }
    while (rt->met + 1 < rt->running && !rt->stop) {
        realtime_wait(rt, UINT64_MAX);
    }
    bool stop = rt->stop;
    realtime_unlock(rt);
    if (!stop) {
        realtime_begin_calls(rt, pipe, true);
    }
    realtime_lock(rt);
    rt->gather = false;
    rt->meetings++;
    orri_realtime_ring(rt);
    realtime_unlock(rt);
}

static bool realtime_replay_step(orri_realtime* rt, orri_pipeline* pipe)
{
    bool meeting;
    orri_turn turn = orri_floor_enter_between(pipe, ORRI_TURN_BEGIN);
    if (turn == ORRI_TURN_BEGIN) {
        return realtime_tick(rt, pipe, rt->replay->dts[rt->dt_at++]);
    }
    if (turn == ORRI_TURN_CALLS) {
        orri_call* calls = realtime_replay_calls(rt, &meeting);
        realtime_calls(rt, pipe, calls, meeting);
        orri_floor_leave(pipe);
    }
    return turn != ORRI_TURN_NONE;
}

static void realtime_live(orri_realtime* rt, orri_pipeline* pipe)
{
    for (;;) {
        switch (realtime_next(rt, pipe)) {
        case REALTIME_TICK:
            realtime_begin_tick(rt, pipe);
            break;
        case REALTIME_CALLS:
            realtime_begin_calls(rt, pipe, false);
            break;
        case REALTIME_MEET:
            realtime_meet(rt, pipe);
            break;
        default:
            return;
        }
    }
}

static void realtime_thread(void* data)
{
    orri_pipeline* pipe = data;
    orri_realtime* rt = pipe->moment->rt;
    if (pipe->stage != ORRI_STAGE_DONE &&
        rt->replay == NULL) { // It was refused in a run before, and goes on.
        (void)orri_floor_enter_between(pipe, ORRI_TURN_BEGIN);
        (void)realtime_tick(rt, pipe, pipe->dt);
    }
    if (rt->replay == NULL) {
        realtime_live(rt, pipe);
    } else {
        while (realtime_replay_step(rt, pipe)) {
        }
    }
    realtime_lock(rt);
    rt->running--;
    rt->standing -= !realtime_free(pipe);
    bool stuck = rt->replay != NULL && orri_floor_stuck(rt);
    orri_realtime_ring(rt);
    realtime_unlock(rt);
    if (stuck) { // The others wait for what this one had to do.
        orri_floor_astray(rt, pipe);
    }
}

// ---- beginning and end -----------------------------------------------------------------------------------------------------------

static bool realtime_moment(orri_realtime* rt, orri_pipeline* pipe)
{
    orri_env* env = &rt->world->env;
    if (pipe->moment == NULL) {
        pipe->moment = ORRI_ALLOC_ZERO(env, ORR_MEMORY_SYSTEM, orri_moment, 1);
        if (pipe->moment == NULL) {
            (void)orri_refuse_memory(env, "beginning real time");
            return false;
        }
    }
    orri_moment* moment = pipe->moment;
    moment->rt = rt;
    moment->stats = (orr_wait_stats){0};
    moment->own = (orri_pace_own){.interval_ns = pipe->interval_ns};
    moment->began_ns = rt->schedule->time_ns;
    moment->began_real_ns = 0;
    moment->ticking = false;
    moment->waits = ORRI_WAITS_NOT;
    if (moment->lanes == NULL) {
        moment->lanes = orri_lanes_make(rt->world);
        if (moment->lanes != NULL && pipe->observer) {
            orri_lanes_aside(moment->lanes);
        }
    }
    return moment->lanes != NULL &&
           orri_lock_holder_create(rt->locks, pipe->index, &moment->holder) == ORR_OK;
}

// A pipeline without an open tick has nothing of real time left.
static void realtime_moment_end(orr_world* world, orri_pipeline* pipe)
{
    orri_moment* moment = pipe->moment;
    if (moment == NULL) {
        return;
    }
    moment->rt = NULL;
    moment->holder = NULL; // It went with the locks.
    if (moment->copied) {  // All of its tick was done, and there is nobody to see it.
        moment->copied = false;
        orri_pipeline_ticked(pipe);
    }
    if (moment->lanes != NULL && pipe->stage == ORRI_STAGE_DONE) {
        orri_lanes_use(world, moment->lanes);
        orri_lanes_unhold(world);
        orri_lanes_use(world, NULL);
        orri_lanes_destroy(world, moment->lanes);
        moment->lanes = NULL;
    }
}

void orri_moment_free(orr_world* world, orri_pipeline* pipe)
{
    if (pipe->moment != NULL) {
        realtime_moment_end(world, pipe);
        ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_moment, pipe->moment, 1);
        pipe->moment = NULL;
    }
}

void orri_moment_resume(orri_pipeline* pipe, bool ended)
{
    orr_world* world = pipe->world;
    if (pipe->moment->lanes == NULL) {
        return;
    }
    if (ended) {
        realtime_moment_end(world, pipe);
    } else {
        pipe->moment->copied = false;
        orri_lanes_use(world, pipe->moment->lanes);
    }
}

static orr_result realtime_prepare(orri_realtime* rt)
{
    orri_env* env = &rt->world->env;
    if (!orri_lanes_begin(rt->world)) {
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
    if (orri_locks_add(rt->locks, 1, ORRI_LOCK_PLAIN, &rt->structure) != ORR_OK ||
        orri_locks_trace(rt->locks, rt->desc.lock_trace) != ORR_OK) {
        return orri_refuse_memory(env, "beginning real time");
    }
    return orri_wire(rt);
}

static orr_result realtime_replay_check(orri_realtime* rt)
{
    if (rt->desc.record != NULL) {
        orri_recording_clear(rt->desc.record);
        rt->record = rt->desc.record;
        rt->record->hashed = rt->desc.hashes;
        rt->record->begin_hash = rt->desc.hashes ? orr_world_hash(rt->world) : 0;
    }
    rt->replay = rt->desc.replay;
    if (rt->replay == NULL || !rt->replay->hashed ||
        orr_world_hash(rt->world) == rt->replay->begin_hash) {
        return ORR_OK;
    }
    return orri_refuse(
        &rt->world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
        "orr_realtime: the world is not as the recorded one was when it began; build "
        "it in the same way, with the same seed");
}

static void realtime_start(orri_realtime* rt)
{
    const orr_platform* platform = rt->platform;
    rt->begun_ns = realtime_clock(rt);
    orri_pace_begin(&rt->pace, rt->begun_ns, rt->schedule->time_ns);
    rt->pace.wish = rt->schedule->wish > 0 || rt->schedule->wished ? rt->schedule->wish : 1;
    realtime_lock(rt);
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        orri_pipeline* pipe = rt->schedule->pipelines[i];
        if (pipe->rate_hz > 0) {
            orri_pace_allow(&rt->pace, pipe->interval_ns);
        }
        int code = rt->stop ? 0
                            : platform->thread_create(platform->user, pipe->name, realtime_thread,
                                                      pipe, &pipe->moment->thread);
        pipe->moment->threaded = !rt->stop && code == 0;
        rt->running += pipe->moment->threaded;
        rt->standing += pipe->moment->threaded && !realtime_free(pipe);
        if (code != 0) {
            rt->stop = true;
            rt->result = orri_refuse(&rt->world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                                     "orr_realtime: no thread for pipeline '%s' (error %d of the "
                                     "system); use orr_update(), which needs none",
                                     pipe->name, code);
        }
    }
    realtime_unlock(rt);
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

// What was posted and not done yet, with the world as it is between ticks.
static void realtime_rest(orri_realtime* rt)
{
    orri_mutex_lock(rt->platform, &rt->schedule->posting);
    rt->over = true; // What these post is refused: they might go on for ever.
    orri_mutex_unlock(rt->platform, &rt->schedule->posting);
    orri_call* calls = realtime_take_calls(rt, true);
    if (calls != NULL) {
        orri_record_turn(rt, rt->schedule->pipelines[0], ORRI_TURN_CALLS);
        orri_record_calls(rt, calls, true);
        rt->schedule->gathered = true;
        realtime_do_calls(rt, calls);
        rt->schedule->gathered = false;
    }
}

// In lockstep `changed` terms look at the values themselves: what a system has not seen of others yet must be new to it.
static void realtime_since(orri_realtime* rt)
{
    for (orri_system* system = rt->schedule->first; system != NULL; system = system->next) {
        const orri_view* view = system->pipe->moment->view;
        const orr_query* query = system->query;
        if (view == NULL || query == NULL || !query->has_changed || system->since == 0) {
            continue;
        }
        uint64_t since = system->since;
        for (uint32_t t = 0; t < query->leaves[0].term_count; t++) {
            const orr_term* term = &query->leaves[0].terms[t];
            uint64_t first = term->changed ? orri_view_unseen(view, term->type, system->since)
                                           : UINT64_MAX;
            since = first <= since ? first - 1 : since;
        }
        system->since = since > 0 ? since : 1;
    }
}

static void realtime_keep_grants(orri_realtime* rt, orri_lock_log* log)
{
    struct orr_recording* record = rt->record;
    if (record != NULL) {
        if (orri_locks_record_end(rt->locks) != ORR_OK ||
            !ORRI_RESERVE(&record->env, ORR_MEMORY_SYSTEM, &record->grants.grants,
                          &record->grants.capacity, log->count)) {
            record->full = true;
        } else if (log->count > 0) {
            memcpy(record->grants.grants, log->grants, log->count * sizeof *log->grants);
            record->grants.count = log->count;
        }
    }
    orri_lock_log_free(&rt->world->env, log);
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
        orri_set_keep_trace(rt);
    }
    orri_unwire(rt);
    orri_publisher_destroy(rt->publisher);
    schedule->now = NULL;
    schedule->inside = world->in_tick = false;
    world->busy = NULL;
    world->dt = 0;
    world->run_tick = 0;
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        orri_pipeline* pipe = schedule->pipelines[i];
        realtime_moment_end(world, pipe);
        if (pipe->stage != ORRI_STAGE_DONE && schedule->now == NULL) {
            schedule->now = pipe;
            world->busy = "a tick is half done, it was refused to go on; call orr_realtime() or "
                          "orr_step() again when there is memory";
            world->iterating = 1;
        }
    }
    orri_lanes_use(world, NULL);
    if (rt->locks != NULL) {
        orri_locks_destroy(rt->locks);
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
    rt->world->iterating = 0;
    realtime_open(rt, false);
    orri_mutex_lock(rt->platform, &schedule->posting);
    __atomic_store_n(&schedule->realtime, rt, __ATOMIC_RELAXED);
    orri_mutex_unlock(rt->platform, &schedule->posting);
    schedule->inside = rt->world->in_tick = true;
    realtime_start(rt);
    realtime_main(rt);
    realtime_join(rt);
    if (rt->replay != NULL) {
        orri_realtime_unfollow(rt);
    } else {
        realtime_look(rt); // Up to here time went on.
    }
    realtime_open(rt, true);
    schedule->inside = false; // Calls that were posted may still not step or destroy it.
    realtime_unhold(rt);
    orri_lanes_use(rt->world, NULL);
    schedule->time_ns = rt->pace.time_ns > schedule->time_ns ? rt->pace.time_ns : schedule->time_ns;
    orri_record_clocks(rt);
    realtime_since(rt);
    realtime_rest(rt);
    realtime_keep_grants(rt, &log);
    return rt->result;
}

static orr_result realtime_check(orr_world* world, const orr_realtime_desc* desc)
{
    const char* wrong = NULL;
    if (world->appender != NULL) {
        return orri_check_open(world, "orr_realtime");
    }
    if (desc->record != NULL && desc->record == desc->replay) {
        wrong = "it cannot be recorded into what is replayed";
    }
    return wrong == NULL ? ORR_OK
                         : orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                                       "orr_realtime: %s", wrong);
}

orr_result orr_realtime(orr_world* world, const orr_realtime_desc* desc)
{
    ORR_ASSERT(world != NULL);
    static const orr_realtime_desc none = {0};
    desc = desc != NULL ? desc : &none;
    orr_result result = orri_step_check(world, "orr_realtime");
    result = result == ORR_OK ? realtime_check(world, desc) : result;
    if (result != ORR_OK) {
        return result;
    }
    orri_realtime* rt = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SYSTEM, orri_realtime, 1);
    if (rt == NULL) {
        return orri_refuse_memory(&world->env, "beginning real time");
    }
    rt->world = world;
    rt->schedule = world->schedule;
    rt->platform = world->env.platform;
    rt->desc = *desc;
    result = realtime_replay_check(rt);
    result = result == ORR_OK ? realtime_prepare(rt) : result;
    result = result == ORR_OK ? realtime_run(rt) : result;
    realtime_close(rt);
    ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_realtime, rt, 1);
    return result;
}

// ---- from any thread ---------------------------------------------------------------------------------------------------------------

bool orri_realtime_runs(const orr_world* world)
{
    return world->schedule != NULL &&
           __atomic_load_n(&world->schedule->realtime, __ATOMIC_RELAXED) != NULL;
}

// The run under way, with `posting` held; NULL: none, and it is not held.
static orri_realtime* realtime_now(orr_world* world)
{
    if (world->schedule == NULL) {
        return NULL;
    }
    orri_mutex_lock(world->env.platform, &world->schedule->posting);
    orri_realtime* rt = world->schedule->realtime;
    if (rt == NULL) {
        orri_mutex_unlock(world->env.platform, &world->schedule->posting);
    }
    return rt;
}

static void realtime_let(orri_realtime* rt)
{
    orri_realtime_ring(rt);
    orri_mutex_unlock(rt->platform, &rt->schedule->posting);
}

void orr_stop(orr_world* world)
{
    ORR_ASSERT(world != NULL);
    orri_realtime* rt = realtime_now(world);
    if (rt != NULL) {
        realtime_lock(rt);
        rt->stop = true;
        realtime_unlock(rt);
        realtime_let(rt);
    }
}

static orr_result realtime_post(orr_world* world, const char* name, orr_call function,
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
    orri_realtime* rt = realtime_now(world);
    if (rt == NULL || rt->replay != NULL || rt->over) {
        bool replays = rt != NULL && rt->replay != NULL;
        if (rt != NULL) {
            realtime_let(rt);
        }
        orri_call_free(&world->env, call);
        return replays ? ORR_OK // The recording has it.
                       : orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                                     "%s: the world does not run in real time (any more): nothing "
                                     "was posted; make the call itself",
                                     name);
    }
    realtime_lock(rt); // Who finds none goes to sleep with it.
    if (rt->call_last != NULL) {
        rt->call_last->next = call;
    } else {
        rt->call_first = call;
    }
    rt->call_last = call;
    realtime_unlock(rt);
    realtime_let(rt);
    return ORR_OK;
}

orr_result orr_post(orr_world* world, orr_call call, const void* data, size_t size)
{
    return realtime_post(world, "orr_post", call, data, size, false);
}

orr_result orr_post_meeting(orr_world* world, orr_call call, const void* data, size_t size)
{
    return realtime_post(world, "orr_post_meeting", call, data, size, true);
}

orr_result orr_time_wish(orr_world* world, double wish)
{
    ORR_ASSERT(world != NULL);
    if (!(wish >= 0 && wish <= 1000)) {
        return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                           "orr_time_wish: %g is below 0, above 1000 or no number", wish);
    }
    if (orri_schedule_of(world) == NULL) {
        return ORR_ERR_MEMORY;
    }
    orri_realtime* rt = realtime_now(world);
    if (rt == NULL) {
        world->schedule->wish = wish;
        world->schedule->wished = true;
        return ORR_OK;
    }
    realtime_lock(rt);
    orri_pace_wish(&rt->pace, realtime_clock(rt), wish);
    rt->schedule->wish = wish;
    rt->schedule->wished = true;
    realtime_unlock(rt);
    realtime_let(rt);
    return ORR_OK;
}

double orr_time_scale(orr_world* world)
{
    ORR_ASSERT(world != NULL);
    orri_realtime* rt = realtime_now(world);
    if (rt == NULL) {
        return world->schedule != NULL && world->schedule->wished ? world->schedule->wish : 1;
    }
    realtime_lock(rt);
    double scale = rt->pace.scale * rt->pace.wish;
    realtime_unlock(rt);
    orri_mutex_unlock(rt->platform, &rt->schedule->posting);
    return scale;
}

orr_result orr_realtime_step(orr_world* world, uint32_t ticks)
{
    ORR_ASSERT(world != NULL);
    orri_realtime* rt = realtime_now(world);
    orr_result result = ORR_OK;
    if (rt == NULL) {
        return orri_refuse(
            &world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
            "orr_realtime_step: the world does not run in real time; use orr_step()");
    }
    realtime_lock(rt);
    if (rt->schedule->paused) {
        realtime_look(rt);
        const orri_pipeline* first = rt->schedule->pipelines[0];
        rt->steps += ticks;
        if (rt->steps > 0) {
            rt->step_ns = orri_pipeline_due(first, first->moment->ticking + rt->steps - 1);
        }
    } else {
        result = ORR_ERR_STATE;
    }
    realtime_unlock(rt);
    realtime_let(rt);
    return result == ORR_OK ? ORR_OK
                            : orri_refuse(&world->env, result, ORR_LOG_ID_CALL_REFUSED,
                                          "orr_realtime_step: the world is not paused (orr_pause)");
}

bool orri_realtime_pause(orr_world* world, bool on)
{
    orri_realtime* rt = realtime_now(world);
    if (rt == NULL) {
        return false;
    }
    realtime_lock(rt);
    rt->schedule->paused = on;
    realtime_look(rt);
    realtime_unlock(rt);
    realtime_let(rt);
    return true;
}

orr_result orr_wait_stats_get(orr_world* world, orr_pipeline pipeline, orr_wait_stats* out)
{
    ORR_ASSERT(world != NULL && out != NULL);
    const struct orri_schedule* schedule = world->schedule;
    if (schedule == NULL || pipeline.index1 == 0 || pipeline.index1 > schedule->pipeline_count) {
        return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SYSTEM_REFUSED,
                           "orr_wait_stats_get: there is no pipeline %u", pipeline.index1);
    }
    const orri_moment* moment = schedule->pipelines[pipeline.index1 - 1]->moment;
    orri_realtime* rt = realtime_now(world);
    if (rt == NULL) {
        *out = moment != NULL ? moment->stats : (orr_wait_stats){0};
        return ORR_OK;
    }
    orri_lock_stats locks;
    orri_lock_stats_get(moment->holder, &locks);
    const orr_wait_stats* stats = &moment->stats;
    realtime_lock(rt);
    *out = (orr_wait_stats){
        .ticks = stats->ticks,
        .dropped = stats->dropped,
        .lock_waits = locks.waits,
        .lock_waited_ns = locks.waited_ns,
        .lock_longest_ns = locks.longest_ns,
        .turn_waited_ns = __atomic_load_n(&stats->turn_waited_ns, __ATOMIC_RELAXED),
        .turn_longest_ns = __atomic_load_n(&stats->turn_longest_ns, __ATOMIC_RELAXED)};
    realtime_unlock(rt);
    orri_mutex_unlock(rt->platform, &rt->schedule->posting);
    return ORR_OK;
}

#undef REALTIME_IDLE_NS
