// SPDX-License-Identifier: MIT
// A tick: systems come and go, readers hear what happened outside, then the steps of the plan. Where something is refused the
// tick stays open at that point, and goes on from there when it is called again: nothing is done twice, nothing is lost.
#include "schedule/schedule.h"
#include <stdio.h>

#define TICK_TIMED_EVERY 16u
#define TICK_CATCH_UP    2u

enum {
    TICK_LIFE,    // Systems begin and end.
    TICK_OUTSIDE, // What they sent by that, and what was changed between ticks.
    TICK_STEPS,
    TICK_DONE,
};

// ---- time -------------------------------------------------------------------------------------------------------------

static uint64_t tick_clock(const orr_world* world)
{
    return world->env.platform->clock_ns(world->env.platform->user);
}

static void tick_time_begin(orr_world* world)
{
    if (ORR_UNLIKELY(world->schedule->timed)) {
        world->schedule->clock_ns = tick_clock(world);
    }
}

// Since the last beginning or ending: what follows begins here.
static void tick_time_end(orr_world* world, orri_system* system, const char* name,
                          const char* category)
{
    struct orri_schedule* schedule = world->schedule;
    if (ORR_LIKELY(!schedule->timed)) {
        return;
    }
    uint64_t now = tick_clock(world), then = schedule->clock_ns;
    schedule->clock_ns = now;
    if (system != NULL) {
        uint64_t spent = now > then ? now - then : 0;
        system->stats.timed_ticks++;
        system->stats.time_ns += spent;
        system->stats.time_max_ns = spent > system->stats.time_max_ns ? spent
                                                                      : system->stats.time_max_ns;
    }
    if (schedule->trace != NULL) {
        char args[96];
        uint64_t rows = system != NULL ? system->stats.rows - schedule->rows_before : 0;
        snprintf(args, sizeof args, "\"tick\": %llu%s%.0llu", (unsigned long long)world->tick,
                 rows > 0 ? ", \"rows\": " : "", (unsigned long long)rows);
        orri_trace_span(schedule->trace, name, category, 0, then, now, args);
    }
}

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

static orr_result tick_told(orr_world* world, orr_result result)
{
    if (world->schedule->journal != NULL) {
        orri_journal_drain(world, world->schedule->journal);
    }
    return result;
}

static orr_result tick_tell(orr_world* world, orr_system source, bool by_commit)
{
    return orri_has_readers(world) ? tick_told(world, orri_tell(world, source, by_commit)) : ORR_OK;
}

// Commits what waits, then tells. `phase` remembers how far it came.
static orr_result tick_commit(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    if (schedule->phase == 0) {
        // Also when nothing waits: ids that were set aside go back.
        bool pending = orri_commit_pending(world);
        orr_result result = orri_commit(world);
        if (result != ORR_OK || !pending) {
            return result;
        }
        schedule->phase = 1;
    }
    orr_system sender;
    bool one = orri_commit_sender(world, &sender);
    orr_result result = tick_tell(world, sender, !one);
    tick_time_end(world, NULL, "commit", "commit");
    return result;
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
    tick_time_begin(world); // None of this was the first system's.
    return result;
}

// ---- a system -----------------------------------------------------------------------------------------------------------

enum {
    TICK_RUN,
    TICK_VALUES,
    TICK_TELL,
    TICK_TELL_ALL, // Values were sent, or written by id.
};

static bool tick_due(orr_world* world, orri_system* system)
{
    if (ORR_UNLIKELY(!system->started)) {
        return false; // A callback switched it off after the plan was made.
    }
    if (system->tick_first == UINT64_MAX) {
        system->tick_first = world->tick;
    }
    return ORR_LIKELY(system->every == 1) ||
           (world->tick - system->tick_first) % system->every == 0;
}

// The queue ran over: it begins anew, before it is told everything again.
static void tick_restart_lost(orr_world* world, orri_system* system)
{
    if (system->rights.reader != NULL && ORR_UNLIKELY(orri_reader_lost(system->rights.reader))) {
        orri_system_call_back(world, system, system->desc.stop);
        orri_system_call_back(world, system, system->desc.start);
    }
}

static orr_result tick_values(orr_world* world, orri_system* system)
{
    struct orri_schedule* schedule = world->schedule;
    bool changed = false;
    orr_result result = system->may_send ? orri_commit_values(world, &system->rights, &changed)
                                         : ORR_OK;
    if (result == ORR_OK) {
        bool everywhere = changed || system->everywhere;
        schedule->phase = everywhere ? TICK_TELL_ALL : TICK_TELL;
    }
    return result;
}

static orr_result tick_system(orr_world* world, orri_system* system)
{
    struct orri_schedule* schedule = world->schedule;
    if (schedule->phase == TICK_RUN) {
        if (!tick_due(world, system)) {
            return ORR_OK;
        }
        tick_restart_lost(world, system);
        orr_result result = orri_system_prepare(world, system);
        if (result != ORR_OK) {
            return result;
        }
        schedule->rows_before = system->stats.rows;
        orri_system_call(world, system);
        system->stats.ticks++;
        tick_time_end(world, system, system->desc.name, "system");
        schedule->phase = TICK_VALUES;
    }
    if (schedule->phase == TICK_VALUES) {
        orr_result result = tick_values(world, system);
        if (result != ORR_OK) {
            return result;
        }
    }
    if (ORR_LIKELY(!orri_has_readers(world))) {
        return ORR_OK;
    }
    orr_result result = schedule->phase == TICK_TELL_ALL
                            ? orri_tell(world, system->handle, false)
                            : orri_tell_written(world, system->query, system->handle);
    tick_time_end(world, NULL, "tell", "tell");
    return tick_told(world, result);
}

// ---- the tick ---------------------------------------------------------------------------------------------------------------

static orr_result tick_part(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    switch (schedule->stage) {
    case TICK_LIFE:
        if (schedule->renewed) {
            tick_life_end(world);
            tick_life_begin(world);
        }
        return ORR_OK;
    case TICK_OUTSIDE:
        return tick_outside(world);
    default: {
        const orri_step* step = &schedule->steps[schedule->at];
        return step->system != NULL ? tick_system(world, step->system) : tick_commit(world);
    }
    }
}

static void tick_forward(struct orri_schedule* schedule)
{
    schedule->phase = 0;
    if (schedule->stage == TICK_STEPS && ++schedule->at < schedule->step_count) {
        return;
    }
    schedule->stage++;
    if (schedule->stage == TICK_STEPS && schedule->at >= schedule->step_count) {
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
    schedule->stage = TICK_LIFE;
    schedule->at = 0;
    schedule->phase = 0;
    world->dt = dt;
    schedule->timed = schedule->time_all || schedule->trace != NULL ||
                      world->tick % TICK_TIMED_EVERY == 1;
    tick_time_begin(world);
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
        tick_time_end(world, NULL, "tick", "tick");
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
        tick_time_begin(world);
    }
    world->busy = "a tick is under way";
    while (schedule->stage != TICK_DONE) {
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
    schedule->inside = true;
    orr_result result = schedule->open ? ORR_OK : tick_begin(world, dt);
    result = result == ORR_OK ? tick_go(world) : result;
    schedule->inside = false;
    return result;
}

// ---- stepping --------------------------------------------------------------------------------------------------------------

static orr_result tick_check(orr_world* world, const char* call)
{
    if (orri_schedule_of(world) == NULL) {
        return ORR_ERR_MEMORY;
    }
    orri_system* running = world->schedule->running;
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
    if (orri_schedule_of(world) != NULL) {
        world->schedule->paused = on;
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
    if (result == ORR_OK) {
        orri_commit_abandon(world);
    }
    return result;
}

void orr_stats_time_all(orr_world* world, bool on)
{
    ORR_ASSERT(world != NULL);
    if (orri_schedule_of(world) != NULL) {
        world->schedule->time_all = on;
    }
}

void orr_police_set(orr_world* world, orr_police police)
{
    ORR_ASSERT(world != NULL);
    if (orri_schedule_of(world) != NULL) {
#ifdef ORR_VALIDATE_ON
        world->schedule->police = police != ORR_POLICE_DEFAULT ? police : ORR_POLICE_FULL;
#else
        world->schedule->police = police != ORR_POLICE_DEFAULT ? police : ORR_POLICE_CALLS;
#endif
    }
}

#undef TICK_TIMED_EVERY
#undef TICK_CATCH_UP
