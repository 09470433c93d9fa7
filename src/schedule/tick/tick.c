// SPDX-License-Identifier: MIT
// A tick of a pipeline: systems begin and end, readers are notified of changes made outside, then
// the steps of the plan run. Where something is refused the tick stays open at that place, and
// continues there at the next call: nothing is done twice, nothing is lost. README.md of
// src/schedule has the sequence.
#include "base/float.h"
#include "message/past/past.h"
#include "schedule/record/recording.h"
#include "store/world/commit_scope.h"
#include <stdio.h>

#define TICK_TIMED_EVERY 16u // Without a trace, one in this many ticks is timed.

// ---- stage LIFE: systems begin and end ----------------------------------------------------------

// Opens or closes the queues of a system, and sets `started`.
static void tick_enable(orr_world* world, orri_system* system, bool on)
{
    if (system->rights.reader != NULL) {
        orri_reader_enable(world, system->rights.reader, on);
    }
    if (system->event_cursors != NULL) {
        orri_event_cursors_enable(world, system->event_cursors, on);
    }
    system->started = on;
    system->stopped1 = on ? 0 : ++world->schedule->stops;
}

// Ends systems, last registered first: a system may depend on those before it. Commands that they
// send are committed before they are freed.
static void tick_life_end(orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    for (orri_system* system = world->schedule->last; system != NULL; system = system->prev) {
        if (system->pipe != pipe) {
            continue;
        }
        if (system->started && (!system->wanted || system->removed)) {
            orri_system_call_back(world, system, ORRI_LIFE_STOP);
            tick_enable(world, system, false);
        }
        if (system->removed && system->created) {
            orri_system_call_back(world, system, ORRI_LIFE_DESTROY);
        }
    }
}

// Begins systems, first registered first.
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
            tick_enable(world, system, true);
            orri_system_call_back(world, system, ORRI_LIFE_START);
        }
    }
}

// Frees removed systems. The plan was made without them, so it stays valid.
static void tick_life_drop(orri_pipeline* pipe)
{
    struct orri_schedule* schedule = pipe->world->schedule;
    bool stale = schedule->stale; // Kept: the plan was made without them.
    for (orri_system *system = schedule->first, *next; system != NULL; system = next) {
        next = system->next;
        if (system->removed && system->pipe == pipe) {
            orri_system_drop(pipe->world, system);
        }
    }
    schedule->stale = stale;
}

// Events wait for systems whose pipeline has not ticked yet. Systems of the simulation do not begin
// in the tick of a spectator.
static void tick_life_subscribe(const orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    for (orri_system* system = world->schedule->first; system != NULL; system = system->next) {
        if (pipe->spectator && !system->pipe->spectator) {
            continue;
        }
        if (system->event_cursors != NULL && system->wanted && !system->removed) {
            orri_event_cursors_enable(world, system->event_cursors, true);
        }
    }
}

// In real time: reserves the entity ids that callbacks may need, as for systems.
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
           (most <= UINT32_MAX && orri_command_buffers_withhold_ids(pipe->world, (uint32_t)most));
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
    if (!orri_queries_reserve(pipe->world)) { // Callbacks may loop over queries.
        return orri_env_result(&pipe->world->env);
    }
    tick_life_subscribe(pipe);
    tick_life_end(pipe);
    tick_life_begin(pipe);
    return ORR_OK;
}

// ---- notifying readers, committing --------------------------------------------------------------

// In real time: a reader of this pipeline has begun, or its queue overflowed, and it waits for
// everything that it selects. No commit of another pipeline may ever come to notify it. Only own
// readers count: spectators must not decide which turns and locks a recorded run has.
static bool tick_reader_fresh(const orri_pipeline* pipe)
{
    bool fresh = false;
    for (uint32_t i = 0; orri_has_readers(pipe->world) && !fresh && i < pipe->step_count; i++) {
        const orri_system* system = pipe->steps[i].system;
        fresh = system != NULL && system->reads && orri_reader_fresh(system->rights.reader);
    }
    return fresh;
}

// Whether a tick of the pipeline notifies readers. Not that of a spectator: its changes notify no
// reader, and changes from outside are reported when the simulation's next tick begins. Otherwise a
// spectator would decide how these are divided into messages. In real time all changes have been
// reported when a spectator ticks: there it only notifies those of its own readers that have just
// begun. Not while readers of the simulation wait, too: the diff that they wait for notifies all
// readers, and a spectator must not decide when that is.
static bool tick_notifies(const orri_pipeline* pipe)
{
    return !pipe->spectator || (pipe->world->realtime && tick_reader_fresh(pipe) &&
                                !orri_state_readers_fresh(pipe->world));
}

// Compares the world with the baseline and notifies readers.
static orr_result tick_diff(orr_world* world, orr_system source, bool by_commit)
{
    const orri_pipeline* pipe = world->schedule->now;
    if (!orri_has_readers(world) || !tick_notifies(pipe)) {
        return ORR_OK;
    }
    orr_result result =
        ORR_LIKELY(!world->realtime)
            ? orri_diff_run(world, source, by_commit)
            : orri_diff_own(world, source, by_commit, &pipe->foreign, pipe->driven->exclusive);
    return orri_journal_received(world, result);
}

// Progress of a point (pipe->phase), after the ends of its systems.
enum {
    TICK_COMMIT,
    TICK_COMMIT_DIFF,
    TICK_TRANSACT,
    TICK_TRANSACT_DIFF,
};

// Applies transactions, then notifies readers. `early`: not transactions that wait for structural
// changes.
static orr_result tick_transact(orri_pipeline* pipe, bool early)
{
    orr_world* world = pipe->world;
    if (pipe->phase < TICK_TRANSACT_DIFF) {
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
        pipe->phase = TICK_TRANSACT_DIFF;
    }
    orr_result result = tick_diff(world, orri_transaction_source(world), false);
    orri_timing_end(pipe, NULL, "transact", "commit");
    return result;
}

// Applies structural changes. In real time a commit scope may limit it to some clusters: a commit
// that needs others is refused.
static orr_result tick_commit_all(const orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    world->change.commit_scope =
        ORR_UNLIKELY(world->realtime) ? pipe->world->schedule->driver->commit_scope(pipe) : NULL;
    orr_result result = orri_commit(world);
    world->change.commit_scope = NULL;
    return result;
}

// Commits what waits, notifies readers, then does transactions. `phase` remembers the progress.
static orr_result tick_commit(orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    if (pipe->phase == TICK_COMMIT) {
        // Also when nothing waits: unused reserved ids are returned.
        bool nothing = orri_commit_nothing(world);
        orr_result result = nothing ? ORR_OK : tick_commit_all(pipe);
        if (result != ORR_OK) {
            return result;
        }
        pipe->phase = nothing ? TICK_TRANSACT : TICK_COMMIT_DIFF;
    }
    if (pipe->phase == TICK_COMMIT_DIFF) {
        orr_system sender;
        bool one = orri_commit_sender(world, &sender);
        orr_result result = tick_diff(world, sender, !one);
        orri_timing_end(pipe, NULL, "commit", "commit");
        if (result != ORR_OK) {
            return result;
        }
        pipe->phase = TICK_TRANSACT;
    }
    return tick_transact(pipe, false);
}

// Applies values and events that callbacks sent. (Structural changes wait for the commit that
// follows.)
static orr_result tick_callback_values(orri_pipeline* pipe)
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

// In real time: does `work` with structure held exclusively; published values follow their rows
// before and after.
static orr_result tick_exclusive(orri_pipeline* pipe, orr_result (*work)(orri_pipeline* pipe))
{
    pipe->world->schedule->driver->exclusive(pipe);
    // Of an earlier change, if that was refused.
    orr_result result = pipe->world->schedule->driver->remap(pipe);
    if (result == ORR_OK) {
        result = work(pipe);
        // Rows may have moved before `work` was refused.
        orr_result followed = pipe->world->schedule->driver->remap(pipe);
        result = result == ORR_OK ? followed : result;
    }
    pipe->world->schedule->driver->release(pipe);
    return result;
}

// An error listener that reports nothing.
static void tick_ignore_error(void* owner, orr_result result, orr_log_id id, const char* text)
{
    (void)owner, (void)result, (void)id, (void)text;
}

// A commit that holds only the clusters that earlier commits of this step touched, while systems on
// other clusters run. False: it was not done, and nothing is changed or reported; then it is done
// with structure held exclusively.
static bool tick_commit_scoped(orri_pipeline* pipe, orr_result* out)
{
    if (!pipe->world->schedule->driver->exclusive_scope(pipe)) {
        return false;
    }
    orri_refusal_redirect before = orri_redirect_here;
    orri_redirect_here = (orri_refusal_redirect){&pipe->world->env, tick_ignore_error, NULL};
    bool done = tick_commit_all(pipe) == ORR_OK;
    orri_redirect_here = before;
    if (done) {
        pipe->phase = TICK_COMMIT_DIFF;
        *out = tick_commit(pipe);
        orr_result followed = pipe->world->schedule->driver->remap(pipe);
        *out = *out == ORR_OK ? followed : *out;
    }
    pipe->world->schedule->driver->release(pipe);
    return done;
}

// In real time: does `work`, with structure held exclusively if it `changes` structure or the driver
// wants that.
static orr_result tick_locked(orri_pipeline* pipe, bool changes,
                              orr_result (*work)(orri_pipeline* pipe))
{
    changes = changes || pipe->world->schedule->driver->wants_exclusive(pipe);
    return changes ? tick_exclusive(pipe, work) : work(pipe);
}

static orr_result tick_transact_early(orri_pipeline* pipe)
{
    return tick_transact(pipe, true);
}

// Keeps the first refusal of the ticks that a call runs. `name` "": of no system. `text` "": a drop.
static void tick_keep_refused(orr_world* world, orr_result result, const char* name,
                              const char* text)
{
    struct orri_schedule* schedule = world->schedule;
    if (schedule->refused == ORR_OK && result != ORR_OK) {
        schedule->refused = result;
        schedule->refused_tick = world->tick;
        snprintf(schedule->refused_system, sizeof schedule->refused_system, "%s", name);
        orri_text out = {schedule->refused_text, sizeof schedule->refused_text, 0};
        orri_text_add(&out, "%s", text);
        orri_text_cut(&out);
    }
}

void orri_ticks_begin(orr_world* world)
{
    if (world->schedule->now == NULL) {
        world->schedule->refused = ORR_OK;
    }
}

orr_result orri_ticks_result(orr_world* world, orr_result result)
{
    const struct orri_schedule* schedule = world->schedule;
    if (result != ORR_OK || ORR_LIKELY(schedule->refused == ORR_OK)) {
        return result;
    }
    const char* name = schedule->refused_system;
    const char* text = schedule->refused_text; // "": something was dropped.
    char subject[128];
    if (name[0] != '\0') {
        snprintf(subject, sizeof subject, "system '%s' %s", name,
                 text[0] != '\0' ? "was refused something" : "sent something that had no effect");
    } else {
        snprintf(subject, sizeof subject, "%s",
                 text[0] != '\0' ? "a posted call was refused something"
                                 : "an event queue was full");
    }
    orri_error_text_set(&world->env, "tick %llu ran, but %s: %s (%s). The log has the details%s",
                        (unsigned long long)schedule->refused_tick, subject,
                        text[0] != '\0' ? text : orr_result_text(schedule->refused),
                        orr_result_name(schedule->refused),
                        name[0] != '\0' ? ", orr_system_stats_get() the counts" : "");
    return schedule->refused;
}

static void tick_collect_system(orri_pipeline* pipe, orri_system* system)
{
    const char* text;
    orr_result result = orri_rights_take_result(&system->rights, &text);
    if (pipe->refused == ORR_OK && result != ORR_OK) {
        pipe->refused = result;
        snprintf(pipe->refused_system, sizeof pipe->refused_system, "%s", system->desc.name);
        memcpy(pipe->refused_text, text, strlen(text) + 1); // As long as the text of a system.
    }
}

// Takes what went wrong in the systems of the tick so far. The first in the order of the plan
// counts, and not the first in time, so the result is the same for any number of workers.
ORRI_COLD static void tick_collect_systems(orri_pipeline* pipe)
{
    for (uint32_t i = 0; i < pipe->step_count; i++) {
        if (pipe->steps[i].system != NULL) {
            tick_collect_system(pipe, pipe->steps[i].system);
        }
    }
    // Systems that are not in the plan: disabled or removed, which had their callbacks. And systems of
    // other pipelines, whose transactions on types of this one failed; in real time they run now.
    for (orri_system* system = pipe->world->schedule->first; system != NULL;
         system = system->next) {
        if (system->pipe == pipe || !pipe->world->realtime) {
            tick_collect_system(pipe, system);
        }
    }
}

static void tick_collect_refused(orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    if (ORR_UNLIKELY(atomic_load_explicit(&world->errors.noted, memory_order_relaxed))) {
        // In real time systems of other pipelines may have set it: it stays.
        if (!world->realtime) {
            world->errors.noted = false;
        }
        tick_collect_systems(pipe);
    }
}

void orri_ticks_collect(orr_world* world)
{
    for (uint32_t i = 0; i < world->schedule->pipeline_count; i++) {
        orri_pipeline* pipe = world->schedule->pipelines[i];
        if (pipe->stage == ORRI_STAGE_DONE) {
            tick_collect_refused(pipe);
            tick_keep_refused(world, pipe->refused, pipe->refused_system, pipe->refused_text);
            pipe->refused = ORR_OK;
        }
    }
}

void orri_refusal_note(orr_world* world, orr_result result, orr_log_id id, const char* text)
{
    // Other threads may make calls, which are not the running system's.
    bool called = orri_call_here(world);
    bool here = orri_tick_here == world || orri_this_thread.world == world || called;
    if (!here || id == ORR_LOG_ID_POST_LATE) {
        return;
    }
    orri_system* system = orri_system_here(world);
    const orri_access* access = orri_access_of(world);
    if (access != NULL && access->sender != NULL) {
        // In a function of a transaction, on this thread, in an order that workers do not change:
        // after what was refused in the runs of the sender.
        orri_rights_note_refused(access->sender, UINT32_MAX, result, text);
        atomic_store(&world->errors.noted, true);
    } else if (system != NULL) {
        orri_rights_note_refused(&system->rights, orri_this_thread.unit, result, text);
        atomic_store(&world->errors.noted, true);
    } else if (called) {
        // In real time within the first pipeline's turn: no other tick ends meanwhile.
        tick_keep_refused(world, result, "", text);
    }
}

static orr_result tick_outside(orri_pipeline* pipe)
{
    orr_result result = ORR_OK;
    if (pipe->phase == 0) {
        result = pipe->replanned ? tick_callback_values(pipe) : ORR_OK;
        // In real time only calls change anything outside of ticks, and they notify readers at
        // once.
        if (result == ORR_OK && (!pipe->world->realtime || pipe->driven->exclusive)) {
            result = tick_diff(pipe->world, (orr_system){0}, false);
        }
    }
    if (result == ORR_OK) {
        result = tick_commit(pipe);
    }
    if (result == ORR_OK && pipe->replanned) {
        tick_collect_refused(pipe); // Before systems that were removed are freed.
        tick_life_drop(pipe);
        pipe->replanned = false;
    }
    orri_timing_begin(pipe); // The time up to here is not the first system's.
    return result;
}

// ---- stage STEPS: groups and points -------------------------------------------------------------

// Runs the group that begins at this step.
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

// In real time, whether the ends of the group's systems need structure exclusively: spectators
// create and destroy at the ends of their systems, and provisional ids may be replaced by ids that
// the pipeline does not withhold yet, both of which changes the entity index; and a tick that
// continues after a refusal holds no locks any more.
static bool tick_ends_exclusive(const orri_pipeline* pipe, const orri_step* step)
{
    bool alone = !pipe->driven->holding;
    uint64_t provisional = 0;
    for (uint32_t i = step->first; i < pipe->at; i++) {
        alone |= pipe->spectator && pipe->steps[i].system->structural;
        provisional += orri_system_provisional(pipe->steps[i].system);
    }
    return alone ||
           (provisional > 0 && provisional > orri_command_buffers_withheld_left(pipe->world));
}

static orr_result tick_point_realtime(orri_pipeline* pipe, const orri_step* step)
{
    if (!step->commit) {
        return tick_locked(pipe, false, tick_transact_early);
    }
    bool pending = orri_commit_pending(pipe->world);
    orr_result result;
    if (pending && pipe->phase == 0 && tick_commit_scoped(pipe, &result)) {
        return result;
    }
    return tick_locked(pipe, pending || pipe->phase > 0, tick_commit);
}

// A point: the ends of the group's systems, then a commit or transactions.
static orr_result tick_point(orri_pipeline* pipe, const orri_step* step)
{
    uint64_t begun = pipe->clock_ns;
    bool ends = pipe->ended < pipe->at - step->first;
    if (ORR_UNLIKELY(pipe->world->realtime) && ends && tick_ends_exclusive(pipe, step)) {
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
    if (ORR_UNLIKELY(pipe->world->realtime)) {
        return tick_point_realtime(pipe, step);
    }
    return step->commit ? tick_commit(pipe) : tick_transact(pipe, true);
}

// ---- the tick -----------------------------------------------------------------------------------

// Does one part of the tick, as `stage` and `at` say.
static orr_result tick_part(orri_pipeline* pipe)
{
    switch (pipe->stage) {
    case ORRI_STAGE_LIFE:
        if (ORR_LIKELY(!pipe->replanned)) {
            return ORR_OK;
        }
        if (!pipe->world->realtime) {
            return tick_life(pipe);
        }
        if (!tick_life_any(pipe)) {
            // No system begins or ends: other pipelines' systems need not wait.
            tick_life_subscribe(pipe);
            pipe->replanned = false;
            return ORR_OK;
        }
        return tick_locked(pipe, true, tick_life);
    case ORRI_STAGE_OUTSIDE:
        if (ORR_LIKELY(!pipe->world->realtime)) {
            return tick_outside(pipe);
        }
        return tick_locked(pipe,
                           pipe->replanned || pipe->phase > 0 || orri_commit_pending(pipe->world) ||
                               tick_reader_fresh(pipe),
                           tick_outside);
    default: {
        const orri_step* step = &pipe->steps[pipe->at];
        return step->system != NULL ? tick_group(pipe) : tick_point(pipe, step);
    }
    }
}

// Calls the world's probe after stage OUTSIDE and after points.
ORRI_COLD static void tick_probe(const orri_pipeline* pipe)
{
    orri_probe* probe = pipe->world->schedule->probe;
    bool steps = pipe->stage == ORRI_STAGE_STEPS;
    if (pipe->stage == ORRI_STAGE_OUTSIDE || (steps && pipe->steps[pipe->at].system == NULL)) {
        probe->look(probe, pipe->world, steps ? ORRI_PROBE_POINT : ORRI_PROBE_OUTSIDE, NULL);
    }
}

// The part is done: the next step or stage.
static void tick_advance(orri_pipeline* pipe)
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

// Calls history before anything of a tick is done, and after all of it; in real time the latter
// happens at sync points.
static void tick_notify_history(const orri_pipeline* pipe, bool ended)
{
    orr_world* world = pipe->world;
    void (*hook)(orr_world * world) = ended ? world->tick_hooks.ended : world->tick_hooks.begins;
    if (ORR_LIKELY(hook == NULL) || pipe->spectator) {
        return;
    }
    if (world->realtime) { // Other threads read `inside`: it stays.
        ORR_ASSERT(!ended);
        hook(world);
        return;
    }
    bool inside = world->schedule->inside;
    world->schedule->inside = world->running.in_tick = false;
    hook(world);
    world->schedule->inside = world->running.in_tick = inside;
}

static orr_result tick_begin(orri_pipeline* pipe, float dt)
{
    orr_world* world = pipe->world;
    struct orri_schedule* schedule = world->schedule;
    if (world->append.open != NULL) {
        return orri_check_open(world, "orr_step");
    }
    bool ready = ORR_LIKELY(world->messages != NULL) || orri_command_buffers_begin(world);
    orr_result result = ready ? ORR_OK : ORR_ERR_MEMORY;
    if (ready && ORR_UNLIKELY(world->messages->unsettled != NULL) && !world->realtime) {
        result = orri_messages_settle(world);
    }
    if (result == ORR_OK) { // In real time plans are made at sync points.
        result = ORR_UNLIKELY(world->realtime) ? pipe->world->schedule->driver->tick_begin(pipe)
                                               : orri_plan_make(world);
    }
    if (result != ORR_OK) {
        return result;
    }
    tick_notify_history(pipe, false);
    if (pipe->spectator) {
        orri_tick_advance_uncounted(world);
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
    // Slow systems are reported only in timed ticks if no watchdog runs.
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
    if (ORR_LIKELY(!world->realtime)) { // In real time its own thread does that.
        orri_pipeline_ticked(pipe);
    }
    if (world->schedule->trace != NULL) {
        pipe->clock_ns = pipe->tick_ns;
        orri_timing_end(pipe, NULL, "tick", "tick");
    }
    tick_collect_refused(pipe);
    tick_keep_refused(world, pipe->refused, pipe->refused_system, pipe->refused_text);
    pipe->refused = ORR_OK;
    if (ORR_UNLIKELY(orri_events_lost(world))) { // Reported when the queue was full.
        tick_keep_refused(world, ORR_ERR_CAPACITY, "", "");
    }
    if (ORR_UNLIKELY(orri_command_buffers_refused(world))) {
        return orri_refuse(
            &world->env, ORR_ERR_MEMORY, ORR_LOG_ID_SEND_REFUSED,
            "orr_step: tick %llu ran, but something that a system sent in it was refused for lack "
            "of memory (reported before); the world is consistent, and lacks that change",
            (unsigned long long)world->tick);
    }
    return ORR_OK;
}

// Continues the open tick.
static orr_result tick_continue(orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    if (world->context->busy != NULL) {
        world->loops.iterating = world->realtime; // It was half done; now it continues.
        orri_timing_begin(pipe);
    }
    // The context is the pipeline's own in real time.
    world->context->busy = "a tick is under way";
    while (pipe->stage != ORRI_STAGE_DONE) {
        orr_result result = tick_part(pipe);
        if (ORR_UNLIKELY(result != ORR_OK)) {
            world->context->busy =
                "the tick is half done; call orr_step() again to continue it when there is memory";
            world->loops.iterating = 1;
            return result;
        }
        if (ORR_UNLIKELY(world->schedule->probe != NULL) && !world->realtime && !pipe->spectator) {
            tick_probe(pipe);
        }
        tick_advance(pipe);
    }
    if (ORR_UNLIKELY(world->realtime)) {
        orr_result result = pipe->world->schedule->driver->tick_end(pipe);
        if (result != ORR_OK) {
            return result;
        }
    }
    return tick_end(pipe);
}

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
    // In real time the whole run counts as inside a tick, for calls from outside.
    bool lockstep = !pipe->world->realtime;
    bool simulates = lockstep && !pipe->spectator;
    orr_result result = ORR_OK;
    if (ORR_UNLIKELY(schedule->lockstep_log != NULL || schedule->posted) && simulates &&
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
    result = begun ? tick_continue(pipe) : result;
    orri_tick_here = before;
    if (ORR_LIKELY(lockstep)) {
        schedule->inside = pipe->world->running.in_tick = false;
    }
    if (ORR_UNLIKELY(schedule->lockstep_log != NULL) && simulates) {
        orri_lockstep_log_after(pipe);
    }
    if (resumes && schedule->now == NULL) {
        pipe->world->schedule->driver->resume(pipe, true);
    }
    if (ORR_LIKELY(lockstep) && begun && schedule->now == NULL) {
        tick_notify_history(pipe, true);
    }
    orri_float_mode_restore(mode);
    return result;
}

#undef TICK_TIMED_EVERY
