// SPDX-License-Identifier: MIT
// A tick: systems come and go, readers hear what happened outside, then the steps of the plan. Where something is refused the
// tick stays open at that point, and goes on from there when it is called again: nothing is done twice, nothing is lost.
#include "base/float.h"
#include "schedule/schedule.h"

#define TICK_TIMED_EVERY 16u
#define TICK_CATCH_UP    2u

// ---- systems begin and end ------------------------------------------------------------------------------------------------

static void tick_switch(orr_world* world, orri_system* system, bool on)
{
    if (system->rights.reader != NULL) {
        orri_reader_enable(world, system->rights.reader, on);
    }
    if (system->inbox != NULL) {
        orri_inbox_enable(world, system->inbox, on);
    }
    system->started = on;
}

// Those that end, the last one first: it may lean on those before. What they send is committed before they are gone.
static void tick_life_end(orr_world* world)
{
    for (orri_system* system = world->schedule->last; system != NULL; system = system->prev) {
        if (system->started && (!system->wanted || system->removed)) {
            orri_system_call_back(world, system, system->desc.stop);
            tick_switch(world, system, false);
        }
        if (system->removed && system->created) {
            orri_system_call_back(world, system, system->desc.destroy);
        }
    }
}

static void tick_life_begin(orr_world* world)
{
    for (orri_system* system = world->schedule->first; system != NULL; system = system->next) {
        if (!system->removed && !system->created) {
            system->created = true;
            orri_system_call_back(world, system, system->desc.create);
        }
        if (system->wanted && !system->removed && !system->started) {
            tick_switch(world, system, true);
            orri_system_call_back(world, system, system->desc.start);
        }
    }
}

static void tick_life_drop(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    bool stale = schedule->stale; // The plan was made without them.
    for (orri_system *system = schedule->first, *next; system != NULL; system = next) {
        next = system->next;
        if (system->removed) {
            orri_system_drop(world, system);
        }
    }
    schedule->stale = stale;
}

// ---- telling and committing ---------------------------------------------------------------------------------------------

static orr_result tick_tell(orr_world* world, orr_system source, bool by_commit)
{
    return orri_has_readers(world) ? orri_journal_told(world, orri_tell(world, source, by_commit))
                                   : ORR_OK;
}

// How far a point is, after the ends of its systems.
enum {
    TICK_COMMIT,
    TICK_COMMIT_TELL,
    TICK_TRANSACT,
    TICK_TRANSACT_TELL,
};

// Transactions, then tells. `early`: not those that wait for structure.
static orr_result tick_transact(orr_world* world, bool early)
{
    struct orri_schedule* schedule = world->schedule;
    if (schedule->phase < TICK_TRANSACT_TELL) {
        schedule->phase = TICK_TRANSACT;
        if (ORR_LIKELY(!orri_transact_pending(world))) {
            return ORR_OK;
        }
        orri_hands hands;
        bool changed, several = orri_abreast_hands(world, &hands);
        orr_result result = orri_transact_commit(world, early, several ? &hands : NULL, &changed);
        if (result != ORR_OK || !changed) {
            return result;
        }
        schedule->phase = TICK_TRANSACT_TELL;
    }
    orr_result result = tick_tell(world, orri_transact_source(world), false);
    orri_time_end(world, NULL, "transact", "commit");
    return result;
}

// Commits what waits, then tells. `phase` remembers how far it came.
static orr_result tick_commit(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    if (schedule->phase == TICK_COMMIT) {
        // Also when nothing waits: ids that were set aside go back.
        bool pending = orri_commit_pending(world);
        orr_result result = orri_commit(world);
        if (result != ORR_OK) {
            return result;
        }
        schedule->phase = pending ? TICK_COMMIT_TELL : TICK_TRANSACT;
    }
    if (schedule->phase == TICK_COMMIT_TELL) {
        orr_system sender;
        bool one = orri_commit_sender(world, &sender);
        orr_result result = tick_tell(world, sender, !one);
        orri_time_end(world, NULL, "commit", "commit");
        if (result != ORR_OK) {
            return result;
        }
        schedule->phase = TICK_TRANSACT;
    }
    return tick_transact(world, false);
}

// Values and events that callbacks sent. (Structure waits for the commit that follows.)
static orr_result tick_called_back(orr_world* world)
{
    orr_result result = ORR_OK;
    bool changed;
    for (orri_system* system = world->schedule->first; result == ORR_OK && system != NULL;
         system = system->next) {
        result = system->may_send ? orri_commit_values(world, &system->rights, &changed) : ORR_OK;
    }
    return result;
}

static orr_result tick_outside(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    orr_result result = ORR_OK;
    if (schedule->phase == 0) {
        result = schedule->renewed ? tick_called_back(world) : ORR_OK;
        if (result == ORR_OK) {
            result = tick_tell(world, (orr_system){0}, false);
        }
    }
    if (result == ORR_OK) {
        result = tick_commit(world);
    }
    if (result == ORR_OK && schedule->renewed) {
        tick_life_drop(world);
        schedule->renewed = false;
    }
    orri_time_begin(world); // None of this was the first system's.
    return result;
}

// ---- groups and points ----------------------------------------------------------------------------------------------

static orr_result tick_group(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    uint32_t first = schedule->at, point = schedule->steps[first].first;
    orr_result result = orri_group_prepare(world, first, point);
    if (result == ORR_OK) {
        orri_group_run(world, first, point);
        schedule->at = point - 1; // The point comes next.
        schedule->ended = 0;
    }
    return result;
}

static orr_result tick_point(orr_world* world, const orri_step* step)
{
    struct orri_schedule* schedule = world->schedule;
    uint64_t begun = schedule->clock_ns;
    bool ends = schedule->ended < schedule->at - step->first;
    while (schedule->ended < schedule->at - step->first) {
        orri_system* system = schedule->steps[step->first + schedule->ended].system;
        orr_result result = orri_system_end(world, system);
        if (result != ORR_OK) {
            return result;
        }
        schedule->phase = 0;
        schedule->ended++;
    }
    if (ends) {
        orri_time_point(world, begun);
    }
    return step->commit ? tick_commit(world) : tick_transact(world, true);
}

// ---- the tick ---------------------------------------------------------------------------------------------------------------

static orr_result tick_part(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    switch (schedule->stage) {
    case ORRI_STAGE_LIFE:
        if (schedule->renewed) {
            tick_life_end(world);
            tick_life_begin(world);
        }
        return ORR_OK;
    case ORRI_STAGE_OUTSIDE:
        return tick_outside(world);
    default: {
        const orri_step* step = &schedule->steps[schedule->at];
        return step->system != NULL ? tick_group(world) : tick_point(world, step);
    }
    }
}

static void tick_forward(struct orri_schedule* schedule)
{
    schedule->phase = 0;
    if (schedule->stage == ORRI_STAGE_STEPS && ++schedule->at < schedule->step_count) {
        return;
    }
    schedule->stage++;
    if (schedule->stage == ORRI_STAGE_STEPS && schedule->at >= schedule->step_count) {
        schedule->stage++;
    }
}

static orr_result tick_begin(orr_world* world, float dt)
{
    struct orri_schedule* schedule = world->schedule;
    if (world->appender != NULL) {
        return orri_check_open(world, "orr_step");
    }
    orr_result result = orri_lanes_begin(world) ? orri_plan_make(world) : ORR_ERR_MEMORY;
    if (result != ORR_OK) {
        return result;
    }
    orr_tick_advance(world);
    schedule->open = true;
    schedule->stage = ORRI_STAGE_LIFE;
    schedule->at = 0;
    schedule->phase = 0;
    world->dt = dt;
    // Who wants to hear of slow systems, where nobody can watch, has the time looked at.
    schedule->timed = schedule->time_all || schedule->trace != NULL ||
                      world->tick % TICK_TIMED_EVERY == 1 ||
                      (world->stuck_ns != 0 && !schedule->watched);
    orri_time_begin(world);
    schedule->tick_ns = schedule->clock_ns;
    return ORR_OK;
}

static orr_result tick_end(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    schedule->open = false;
    world->busy = NULL;
    world->dt = 0;
    if (schedule->trace != NULL) {
        schedule->clock_ns = schedule->tick_ns;
        orri_time_end(world, NULL, "tick", "tick");
    }
    if (ORR_UNLIKELY(orri_lanes_refused(world))) {
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
static orr_result tick_go(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    if (world->busy != NULL) {
        world->iterating = 0; // It was stopped; now it goes on.
        orri_time_begin(world);
    }
    world->busy = "a tick is under way";
    while (schedule->stage != ORRI_STAGE_DONE) {
        orr_result result = tick_part(world);
        if (ORR_UNLIKELY(result != ORR_OK)) {
            world->busy = "the tick is half done, it was refused to go on; call orr_step() again "
                          "when there is memory";
            world->iterating = 1;
            return result;
        }
        tick_forward(schedule);
    }
    return tick_end(world);
}

static orr_result tick_one(orr_world* world, float dt)
{
    struct orri_schedule* schedule = world->schedule;
    orri_float_mode mode = orri_float_mode_set();
    schedule->inside = world->in_tick = true;
    orr_result result = schedule->open ? ORR_OK : tick_begin(world, dt);
    result = result == ORR_OK ? tick_go(world) : result;
    schedule->inside = world->in_tick = false;
    orri_float_mode_restore(mode);
    return result;
}

// ---- stepping --------------------------------------------------------------------------------------------------------------

static orr_result tick_check(orr_world* world, const char* call)
{
    if (orri_schedule_of(world) == NULL) {
        return ORR_ERR_MEMORY;
    }
    orri_system* running = orri_system_here(world);
    if (ORR_LIKELY(running == NULL && !world->schedule->inside && !world->in_handler)) {
        return ORR_OK;
    }
    if (running == NULL) {
        return orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                           "%s: not from an error handler or a hook: a tick is under way", call);
    }
    running->rights.counts.breaches++;
    return orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_BREACH,
                       "%s: not inside a system, here '%s'", call, running->desc.name);
}

static float tick_dt(const orr_world* world)
{
    return world->rate_hz > 0 ? (float)(1.0 / world->rate_hz) : 1.0f / 60.0f;
}

orr_result orr_step(orr_world* world, uint32_t count)
{
    ORR_ASSERT(world != NULL);
    orr_result result = tick_check(world, "orr_step");
    for (uint32_t i = 0; result == ORR_OK && i < count; i++) {
        result = tick_one(world, tick_dt(world));
    }
    return result;
}

orr_result orr_update(orr_world* world, uint64_t elapsed_ns)
{
    ORR_ASSERT(world != NULL);
    orr_result result = tick_check(world, "orr_update");
    struct orri_schedule* schedule = world->schedule;
    if (result != ORR_OK || schedule->paused) {
        return result;
    }
    if (world->rate_hz <= 0) {
        return tick_one(world, (float)((double)elapsed_ns * 1e-9));
    }
    if (schedule->open) {
        result = tick_one(world, 0); // Its time was counted when it began.
    }
    double exact_ns = 1e9 / world->rate_hz + 0.5;
    uint64_t interval_ns = exact_ns < 1e19 ? (uint64_t)exact_ns : UINT64_MAX;
    uint64_t debt = schedule->debt_ns + elapsed_ns;
    schedule->debt_ns = debt < elapsed_ns ? UINT64_MAX : debt;
    for (uint32_t i = 0; i < TICK_CATCH_UP && schedule->debt_ns >= interval_ns &&
                         result == ORR_OK && !schedule->paused;
         i++) {
        schedule->debt_ns -= interval_ns;
        result = tick_one(world, tick_dt(world));
    }
    schedule->debt_ns %= interval_ns;
    return result;
}

orr_result orr_run_until(orr_world* world, uint64_t tick,
                         bool (*done)(void* user, orr_world* world), void* user)
{
    ORR_ASSERT(world != NULL);
    orr_result result = tick_check(world, "orr_run_until");
    while (result == ORR_OK && !world->schedule->paused &&
           (world->tick < tick || world->schedule->open)) {
        result = tick_one(world, tick_dt(world));
        if (result == ORR_OK && done != NULL && done(user, world)) {
            break;
        }
    }
    return result;
}

void orr_pause(orr_world* world, bool on)
{
    ORR_ASSERT(world != NULL);
    struct orri_schedule* schedule = orri_schedule_of(world);
    if (schedule == NULL) {
        return;
    }
    orri_system* by =
        schedule->inside && schedule->stage == ORRI_STAGE_STEPS ? orri_system_here(world) : NULL;
    if (by == NULL) {
        schedule->paused = on;
    } else if (by->desc.parallel) {
        by->rights.counts.breaches++;
        (void)orri_refuse(
            &world->env, ORR_ERR_STATE, ORR_LOG_ID_BREACH,
            "orr_pause: system '%s' is parallel: its runs have no order; send an event to "
            "a system that does it",
            by->desc.name);
    } else {
        by->pause = on ? ORRI_PAUSE_ON
                       : ORRI_PAUSE_OFF; // When it is handed in: in the order of systems.
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
    return world->schedule != NULL && world->schedule->open;
}

orr_result orr_tick_abandon(orr_world* world)
{
    ORR_ASSERT(world != NULL);
    orr_result result = tick_check(world, "orr_tick_abandon");
    if (result == ORR_OK && !world->schedule->open) {
        return orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                           "orr_tick_abandon: no tick is half done");
    }
    for (orri_system* system = world->schedule->first; result == ORR_OK && system != NULL;
         system = system->next) {
        orri_system_hand_in(world, system);
    }
    if (result == ORR_OK) {
        orri_commit_abandon(world);
    }
    return result;
}

// Settings that a running tick looks at are for between ticks.
static bool tick_settles(orr_world* world, const char* call)
{
    if (orri_schedule_of(world) == NULL) {
        return false;
    }
    if (ORR_UNLIKELY(world->schedule->inside)) {
        (void)orri_refuse_running(world, call);
        return false;
    }
    return true;
}

void orr_stats_time_all(orr_world* world, bool on)
{
    ORR_ASSERT(world != NULL);
    if (tick_settles(world, "orr_stats_time_all")) {
        world->schedule->time_all = on;
    }
}

void orr_police_set(orr_world* world, orr_police police)
{
    ORR_ASSERT(world != NULL);
    if (tick_settles(world, "orr_police_set")) {
#ifdef ORR_VALIDATE_ON
        world->schedule->police = police != ORR_POLICE_DEFAULT ? police : ORR_POLICE_FULL;
#else
        world->schedule->police = police != ORR_POLICE_DEFAULT ? police : ORR_POLICE_CALLS;
#endif
    }
}

#undef TICK_TIMED_EVERY
#undef TICK_CATCH_UP
