// SPDX-License-Identifier: MIT
// A tick of a pipeline: systems come and go, readers hear what happened outside, then the steps of the plan. Where something is refused the
// tick stays open at that point, and goes on from there when it is called again: nothing is done twice, nothing is lost.
#include "base/float.h"
#include "message/past/past.h"
#include "schedule/record/recording.h"
#include "store/world/commit_scope.h"

#define TICK_TIMED_EVERY 16u

// ---- systems begin and end ------------------------------------------------------------------------------------------------

static void tick_switch(orr_world* world, orri_system* system, bool on)
{
    if (system->rights.reader != NULL) {
        orri_reader_enable(world, system->rights.reader, on);
    }
    if (system->inbox != NULL) {
        orri_event_cursors_enable(world, system->inbox, on);
    }
    system->started = on;
}

// Those that end, the last one first: it may lean on those before. What they send is committed before they are gone.
static void tick_life_end(orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    for (orri_system* system = world->schedule->last; system != NULL; system = system->prev) {
        if (system->pipe != pipe) {
            continue;
        }
        if (system->started && (!system->wanted || system->removed)) {
            orri_system_call_back(world, system, ORRI_LIFE_STOP);
            tick_switch(world, system, false);
        }
        if (system->removed && system->created) {
            orri_system_call_back(world, system, ORRI_LIFE_DESTROY);
        }
    }
}

static void tick_life_begin(orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    for (orri_system* system = world->schedule->first; system != NULL; system = system->next) {
        if (system->pipe != pipe) {
            continue;
        }
        if (!system->removed && !system->created) {
            system->created = true;
            orri_system_call_back(world, system, ORRI_LIFE_CREATE);
        }
        if (system->wanted && !system->removed && !system->started) {
            tick_switch(world, system, true);
            orri_system_call_back(world, system, ORRI_LIFE_START);
        }
    }
}

static void tick_life_drop(orri_pipeline* pipe)
{
    struct orri_schedule* schedule = pipe->world->schedule;
    bool stale = schedule->stale; // The plan was made without them.
    for (orri_system *system = schedule->first, *next; system != NULL; system = next) {
        next = system->next;
        if (system->removed && system->pipe == pipe) {
            orri_system_drop(pipe->world, system);
        }
    }
    schedule->stale = stale;
}

// Events wait for systems whose pipeline has not ticked yet. Those of the simulation do not begin in the tick of a spectator.
static void tick_life_listen(const orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    for (orri_system* system = world->schedule->first; system != NULL; system = system->next) {
        if (pipe->spectator && !system->pipe->spectator) {
            continue;
        }
        if (system->inbox != NULL && system->wanted && !system->removed) {
            orri_event_cursors_enable(world, system->inbox, true);
        }
    }
}

// In real time callbacks may create as systems do, from ids that are held.
static bool tick_life_ids(orri_pipeline* pipe)
{
    uint64_t most = 0;
    for (const orri_system* system = pipe->world->schedule->first; system != NULL;
         system = system->next) {
        if (system->pipe == pipe && system->rights.may_create) {
            most += 4 * (uint64_t)(system->creates_max != 0 ? system->creates_max : 1024);
        }
    }
    return most == 0 ||
           (most <= UINT32_MAX && orri_command_buffers_hold(pipe->world, (uint32_t)most));
}

// True when a system of this pipeline begins or ends.
static bool tick_life_any(const orri_pipeline* pipe)
{
    for (const orri_system* system = pipe->world->schedule->first; system != NULL;
         system = system->next) {
        if (system->pipe == pipe &&
            (system->removed || !system->created || system->started != system->wanted)) {
            return true;
        }
    }
    return false;
}

static orr_result tick_life(orri_pipeline* pipe)
{
    if (ORR_UNLIKELY(pipe->world->realtime) && !tick_life_ids(pipe)) {
        return orri_env_result(&pipe->world->env);
    }
    tick_life_listen(pipe);
    tick_life_end(pipe);
    tick_life_begin(pipe);
    return ORR_OK;
}

// ---- telling and committing ---------------------------------------------------------------------------------------------

// Not in the tick of a spectator: of what that did nobody is told, and what was changed from outside is told when the simulation's next
// tick begins. Otherwise it would decide what of that comes in one message.
static orr_result tick_tell(orr_world* world, orr_system source, bool by_commit)
{
    const orri_pipeline* pipe = world->schedule->now;
    if (!orri_has_readers(world) || pipe->spectator) {
        return ORR_OK;
    }
    orr_result result =
        ORR_LIKELY(!world->realtime)
            ? orri_diff_run(world, source, by_commit)
            : orri_diff_own(world, source, by_commit, &pipe->foreign, pipe->driven->exclusive);
    return orri_journal_received(world, result);
}

// How far a point is, after the ends of its systems.
enum {
    TICK_COMMIT,
    TICK_COMMIT_TELL,
    TICK_TRANSACT,
    TICK_TRANSACT_TELL,
};

// Transactions, then tells. `early`: not those that wait for structure.
static orr_result tick_transact(orri_pipeline* pipe, bool early)
{
    orr_world* world = pipe->world;
    if (pipe->phase < TICK_TRANSACT_TELL) {
        pipe->phase = TICK_TRANSACT;
        if (ORR_LIKELY(!orri_transaction_pending(world))) {
            return ORR_OK;
        }
        orri_workers workers;
        bool changed, several = !world->realtime && orri_parallel_workers_of(pipe, &workers);
        orr_result result = orri_transaction_commit(world, early, &pipe->foreign,
                                                    several ? &workers : NULL, &changed);
        if (result != ORR_OK || !changed) {
            return result;
        }
        pipe->phase = TICK_TRANSACT_TELL;
    }
    orr_result result = tick_tell(world, orri_transaction_source(world), false);
    orri_timing_end(pipe, NULL, "transact", "commit");
    return result;
}

// In real time it may have some clusters to itself, and is refused then if it needs others.
static orr_result tick_commit_all(const orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    world->change.commit_scope =
        ORR_UNLIKELY(world->realtime) ? pipe->world->schedule->driver->commit_scope(pipe) : NULL;
    orr_result result = orri_commit(world);
    world->change.commit_scope = NULL;
    return result;
}

// Commits what waits, then tells. `phase` remembers how far it came.
static orr_result tick_commit(orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    if (pipe->phase == TICK_COMMIT) {
        // Also when nothing waits: ids that were set aside go back.
        bool pending = orri_commit_pending(world);
        orr_result result = tick_commit_all(pipe);
        if (result != ORR_OK) {
            return result;
        }
        pipe->phase = pending ? TICK_COMMIT_TELL : TICK_TRANSACT;
    }
    if (pipe->phase == TICK_COMMIT_TELL) {
        orr_system sender;
        bool one = orri_commit_sender(world, &sender);
        orr_result result = tick_tell(world, sender, !one);
        orri_timing_end(pipe, NULL, "commit", "commit");
        if (result != ORR_OK) {
            return result;
        }
        pipe->phase = TICK_TRANSACT;
    }
    return tick_transact(pipe, false);
}

// Values and events that callbacks sent. (Structure waits for the commit that follows.)
static orr_result tick_called_back(orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    orr_result result = ORR_OK;
    bool changed;
    for (orri_system* system = world->schedule->first; result == ORR_OK && system != NULL;
         system = system->next) {
        result = system->pipe == pipe && system->may_send
                     ? orri_commit_values(world, &system->rights, &changed)
                     : ORR_OK;
    }
    return result;
}

// In real time what changes structure is done where no system of any pipeline runs, and what is published follows.
static orr_result tick_exclusive(orri_pipeline* pipe, orr_result (*work)(orri_pipeline* pipe))
{
    pipe->world->schedule->driver->exclusive(pipe);
    orr_result result =
        pipe->world->schedule->driver->remap(pipe); // Of a change before, if that was refused.
    if (result == ORR_OK) {
        result = work(pipe);
        orr_result followed = pipe->world->schedule->driver->remap(
            pipe); // Rows may have moved before it was refused.
        result = result == ORR_OK ? followed : result;
    }
    pipe->world->schedule->driver->release(pipe);
    return result;
}

static void tick_hear_nothing(void* owner, orr_result result, orr_log_id id, const char* text)
{
    (void)owner, (void)result, (void)id, (void)text;
}

// A commit with only the clusters to itself that those before it touched, beside systems that keep to others. False: it was not done, and nothing is
// changed or said. Then it is done where no system runs.
static bool tick_narrow(orri_pipeline* pipe, orr_result* out)
{
    if (!pipe->world->schedule->driver->narrow(pipe)) {
        return false;
    }
    orri_env_ear before = orri_ear_here;
    orri_ear_here = (orri_env_ear){&pipe->world->env, tick_hear_nothing, NULL};
    bool done = tick_commit_all(pipe) == ORR_OK;
    orri_ear_here = before;
    if (done) {
        pipe->phase = TICK_COMMIT_TELL;
        *out = tick_commit(pipe);
        orr_result followed = pipe->world->schedule->driver->remap(pipe);
        *out = *out == ORR_OK ? followed : *out;
    }
    pipe->world->schedule->driver->release(pipe);
    return done;
}

// The same for what may be: `changes` tells whether it will.
static orr_result tick_locked(orri_pipeline* pipe, bool changes,
                              orr_result (*work)(orri_pipeline* pipe))
{
    changes = pipe->world->realtime &&
              (changes || pipe->world->schedule->driver->wants_exclusive(pipe));
    return ORR_UNLIKELY(changes) ? tick_exclusive(pipe, work) : work(pipe);
}

static orr_result tick_transact_early(orri_pipeline* pipe)
{
    return tick_transact(pipe, true);
}

static orr_result tick_outside(orri_pipeline* pipe)
{
    orr_result result = ORR_OK;
    if (pipe->phase == 0) {
        result = pipe->renewed ? tick_called_back(pipe) : ORR_OK;
        // In real time nothing is changed outside but by calls, which tell at once.
        if (result == ORR_OK && (!pipe->world->realtime || pipe->driven->exclusive)) {
            result = tick_tell(pipe->world, (orr_system){0}, false);
        }
    }
    if (result == ORR_OK) {
        result = tick_commit(pipe);
    }
    if (result == ORR_OK && pipe->renewed) {
        tick_life_drop(pipe);
        pipe->renewed = false;
    }
    orri_timing_begin(pipe); // None of this was the first system's.
    return result;
}

// ---- groups and points ----------------------------------------------------------------------------------------------

static orr_result tick_group(orri_pipeline* pipe)
{
    uint32_t first = pipe->at, point = pipe->steps[first].first;
    orr_result result;
    if (ORR_UNLIKELY(pipe->world->realtime)) {
        result = pipe->world->schedule->driver->group(pipe, first, point);
    } else {
        result = orri_group_prepare(pipe, first, point);
        if (result == ORR_OK) {
            orri_group_run(pipe, first, point);
        }
    }
    if (result == ORR_OK) {
        pipe->at = point - 1; // The point comes next.
        pipe->ended = 0;
    }
    return result;
}

// In real time, what spectators create and destroy is done at the ends of their systems, and changes where entities are found; and a tick that
// goes on after a refusal holds nothing any more. Both want structure alone.
static bool tick_ends_alone(const orri_pipeline* pipe, const orri_step* step)
{
    bool alone = !pipe->driven->holding;
    for (uint32_t i = step->first; pipe->spectator && i < pipe->at; i++) {
        alone |= pipe->steps[i].system->structural;
    }
    return alone;
}

static orr_result tick_point(orri_pipeline* pipe, const orri_step* step)
{
    uint64_t begun = pipe->clock_ns;
    bool ends = pipe->ended < pipe->at - step->first;
    if (ORR_UNLIKELY(pipe->world->realtime) && ends && tick_ends_alone(pipe, step)) {
        pipe->world->schedule->driver->release(pipe);
        pipe->world->schedule->driver->exclusive(pipe);
    }
    while (pipe->ended < pipe->at - step->first) {
        orri_system* system = pipe->steps[step->first + pipe->ended].system;
        orr_result result = orri_system_end(pipe->world, system);
        if (result != ORR_OK) {
            if (pipe->world->realtime) {
                pipe->world->schedule->driver->release(pipe);
            }
            return result;
        }
        pipe->phase = 0;
        pipe->ended++;
    }
    if (ends) {
        orri_timing_point(pipe, begun);
    }
    if (ORR_UNLIKELY(pipe->world->realtime)) {
        orr_result result = pipe->driven->exclusive ? pipe->world->schedule->driver->remap(pipe)
                                                    : ORR_OK;
        pipe->world->schedule->driver->release(pipe);
        if (result != ORR_OK) {
            return result;
        }
    }
    if (!step->commit) {
        return tick_locked(pipe, false, tick_transact_early);
    }
    bool pending = orri_commit_pending(pipe->world);
    orr_result result;
    if (ORR_UNLIKELY(pipe->world->realtime) && pending && pipe->phase == 0 &&
        tick_narrow(pipe, &result)) {
        return result;
    }
    return tick_locked(pipe, pending || pipe->phase > 0, tick_commit);
}

// ---- the tick ---------------------------------------------------------------------------------------------------------------

static orr_result tick_part(orri_pipeline* pipe)
{
    switch (pipe->stage) {
    case ORRI_STAGE_LIFE:
        if (ORR_UNLIKELY(pipe->renewed && pipe->world->realtime) && !tick_life_any(pipe)) {
            tick_life_listen(pipe); // Others go on meanwhile.
            pipe->renewed = false;
        }
        return pipe->renewed ? tick_locked(pipe, true, tick_life) : ORR_OK;
    case ORRI_STAGE_OUTSIDE:
        return tick_locked(pipe,
                           pipe->renewed || pipe->phase > 0 || orri_commit_pending(pipe->world),
                           tick_outside);
    default: {
        const orri_step* step = &pipe->steps[pipe->at];
        return step->system != NULL ? tick_group(pipe) : tick_point(pipe, step);
    }
    }
}

ORRI_COLD static void tick_probe(const orri_pipeline* pipe)
{
    orri_probe* probe = pipe->world->schedule->probe;
    bool steps = pipe->stage == ORRI_STAGE_STEPS;
    if (pipe->stage == ORRI_STAGE_OUTSIDE || (steps && pipe->steps[pipe->at].system == NULL)) {
        probe->look(probe, pipe->world, steps ? ORRI_PROBE_POINT : ORRI_PROBE_OUTSIDE, NULL);
    }
}

static void tick_forward(orri_pipeline* pipe)
{
    pipe->phase = 0;
    if (pipe->stage == ORRI_STAGE_STEPS && ++pipe->at < pipe->step_count) {
        return;
    }
    pipe->stage++;
    if (pipe->stage == ORRI_STAGE_STEPS && pipe->at >= pipe->step_count) {
        pipe->stage++;
    }
}

// History hears of a tick before anything of it is done, and after all of it; in real time of the latter at meetings.
static void tick_remembers(const orri_pipeline* pipe, bool ended)
{
    orr_world* world = pipe->world;
    void (*hears)(orr_world * world) = ended ? world->tick_hooks.ended : world->tick_hooks.begins;
    if (ORR_LIKELY(hears == NULL) || pipe->spectator) {
        return;
    }
    if (world->realtime) { // Others look at what follows.
        ORR_ASSERT(!ended);
        hears(world);
        return;
    }
    bool inside = world->schedule->inside;
    world->schedule->inside = world->running.in_tick = false;
    hears(world);
    world->schedule->inside = world->running.in_tick = inside;
}

static orr_result tick_begin(orri_pipeline* pipe, float dt)
{
    orr_world* world = pipe->world;
    struct orri_schedule* schedule = world->schedule;
    if (world->append.open != NULL) {
        return orri_check_open(world, "orr_step");
    }
    orr_result result = orri_command_buffers_begin(world) ? ORR_OK : ORR_ERR_MEMORY;
    if (result == ORR_OK && !world->realtime) {
        result = orri_messages_settle(world);
    }
    if (result == ORR_OK) { // In real time plans are made at meetings.
        result = ORR_UNLIKELY(world->realtime) ? pipe->world->schedule->driver->tick_begin(pipe)
                                               : orri_plan_make(world);
    }
    if (result != ORR_OK) {
        return result;
    }
    tick_remembers(pipe, false);
    if (pipe->spectator) {
        orri_tick_aside(world);
    } else {
        orri_tick_advance(world);
    }
    schedule->now = pipe;
    pipe->tick++;
    pipe->stage = ORRI_STAGE_LIFE;
    pipe->at = 0;
    pipe->phase = 0;
    pipe->dt = world->context->dt = dt;
    world->context->run_tick = pipe->tick;
    // Who wants to hear of slow systems, where nobody can watch, has the time looked at.
    pipe->timed = schedule->time_all || schedule->trace != NULL ||
                  pipe->tick % TICK_TIMED_EVERY == 1 ||
                  (world->settings.stuck_ns != 0 && !schedule->watched);
    orri_timing_begin(pipe);
    pipe->tick_ns = pipe->clock_ns;
    return ORR_OK;
}

static orr_result tick_end(orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    world->schedule->now = NULL;
    world->context->busy = NULL;
    world->context->dt = 0;
    world->context->run_tick = 0;
    if (ORR_LIKELY(!world->realtime)) { // There its own thread does it.
        orri_pipeline_ticked(pipe);
    }
    if (world->schedule->trace != NULL) {
        pipe->clock_ns = pipe->tick_ns;
        orri_timing_end(pipe, NULL, "tick", "tick");
    }
    if (ORR_UNLIKELY(orri_command_buffers_refused(world))) {
        return orri_refuse(&world->env, ORR_ERR_MEMORY, ORR_LOG_ID_SEND_REFUSED,
                           "orr_step: tick %llu ran, but something that a system sent in it was "
                           "refused for want of memory "
                           "(said before); the world is whole, and lacks that change",
                           (unsigned long long)world->tick);
    }
    if (ORR_UNLIKELY(orri_events_lost(world))) {
        return orri_refuse(
            &world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_QUEUE_FULL,
            "orr_step: tick %llu ran, but events of it were dropped, their queue was "
            "full (said before)",
            (unsigned long long)world->tick);
    }
    return ORR_OK;
}

// Goes on with the tick that is open.
static orr_result tick_go(orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    if (world->context->busy != NULL) {
        world->loops.iterating = world->realtime; // It was stopped; now it goes on.
        orri_timing_begin(pipe);
    }
    world->context->busy = "a tick is under way"; // Others find their own.
    while (pipe->stage != ORRI_STAGE_DONE) {
        orr_result result = tick_part(pipe);
        if (ORR_UNLIKELY(result != ORR_OK)) {
            world->context->busy =
                "the tick is half done, it was refused to go on; call orr_step() again "
                "when there is memory";
            world->loops.iterating = 1;
            return result;
        }
        if (ORR_UNLIKELY(world->schedule->probe != NULL) && !world->realtime && !pipe->spectator) {
            tick_probe(pipe);
        }
        tick_forward(pipe);
    }
    if (ORR_UNLIKELY(world->realtime)) {
        orr_result result = pipe->world->schedule->driver->tick_end(pipe);
        if (result != ORR_OK) {
            return result;
        }
    }
    return tick_end(pipe);
}

_Thread_local const orr_world* orri_tick_here;

orr_result orri_tick(orri_pipeline* pipe, float dt)
{
    struct orri_schedule* schedule = pipe->world->schedule;
    ORR_ASSERT(schedule->now == NULL || schedule->now == pipe);
    orri_float_mode mode = orri_float_mode_set();
    bool resumes = ORR_UNLIKELY(pipe->driven != NULL) && !pipe->world->realtime;
    if (resumes) {
        pipe->world->schedule->driver->resume(pipe, false);
        schedule->now = pipe->stage != ORRI_STAGE_DONE ? pipe : schedule->now;
    }
    // In real time all of the run is one, for who calls from outside.
    bool lockstep = !pipe->world->realtime;
    bool simulates = lockstep && !pipe->spectator;
    orr_result result = ORR_OK;
    if (ORR_UNLIKELY(schedule->tape != NULL || schedule->posted) && simulates &&
        schedule->now == NULL) {
        result = orri_lockstep_log_before(pipe, dt);
    }
    if (ORR_LIKELY(lockstep)) {
        schedule->inside = pipe->world->running.in_tick = true;
    }
    const orr_world* before = orri_tick_here;
    orri_tick_here = lockstep ? pipe->world : before;
    result = result != ORR_OK || schedule->now != NULL ? result : tick_begin(pipe, dt);
    bool begun = result == ORR_OK;
    result = begun ? tick_go(pipe) : result;
    orri_tick_here = before;
    if (ORR_LIKELY(lockstep)) {
        schedule->inside = pipe->world->running.in_tick = false;
    }
    if (ORR_UNLIKELY(schedule->tape != NULL) && simulates) {
        orri_lockstep_log_after(pipe);
    }
    if (resumes && schedule->now == NULL) {
        pipe->world->schedule->driver->resume(pipe, true);
    }
    if (ORR_LIKELY(lockstep) && begun && schedule->now == NULL) {
        tick_remembers(pipe, true);
    }
    orri_float_mode_restore(mode);
    return result;
}

#undef TICK_TIMED_EVERY
