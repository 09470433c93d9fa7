// SPDX-License-Identifier: MIT
// Turns: a pipeline does the serial part of its ticks in its turn, one pipeline at a time. And
// groups of systems, which run outside the turn, under locks. See realtime.h and README.md.
#include "realtime/realtime.h"

// Up to this many entities, builds with checks validate all published values.
#define TURN_CHECKED 10000u
// A commit locks up to this many clusters one by one; with more it takes structure exclusively.
#define TURN_CLUSTERS 64u

// ---- taking and passing turns -------------------------------------------------------------------

// Adds a wait to the statistics, which other threads read at any time.
static void turn_waited(orri_pipeline_run* run, uint64_t since_ns, uint64_t now_ns)
{
    uint64_t waited = now_ns > since_ns ? now_ns - since_ns : 0;
    __atomic_fetch_add(&run->stats.turn_waited_ns, waited, __ATOMIC_RELAXED);
    if (waited > run->stats.turn_longest_ns) {
        __atomic_store_n(&run->stats.turn_longest_ns, waited, __ATOMIC_RELAXED);
    }
}

// Sleeps until `*word` differs from `seen`. The sleeper counts itself before the last look at the
// word; turn_wake() changes the word before it looks at the count. So no wake-up is lost.
static void turn_sleep(orri_realtime* rt, _Atomic uint32_t* word, uint32_t seen)
{
    const orr_platform* platform = rt->platform;
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &rt->sleepers);
    atomic_fetch_add(&rt->sleepers, 1);
    ORRI_SCHED_POINT(platform, ORR_SCHED_WAIT, word);
    platform->thread_wait(platform->user, word, seen, UINT64_MAX);
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &rt->sleepers);
    atomic_fetch_sub(&rt->sleepers, 1);
}

// Changes the word and wakes the threads that sleep on it.
static void turn_wake(orri_realtime* rt, _Atomic uint32_t* word)
{
    const orr_platform* platform = rt->platform;
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, word);
    atomic_fetch_add(word, 1);
    ORRI_SCHED_POINT(platform, ORR_SCHED_LOAD, &rt->sleepers);
    if (atomic_load(&rt->sleepers) > 0) {
        ORRI_SCHED_POINT(platform, ORR_SCHED_WAKE, word);
        platform->thread_wake(platform->user, word, UINT32_MAX);
    }
}

// Takes a ticket and waits until it is served: first come, first served. Spins a little, then
// sleeps.
static void turn_take(orri_realtime* rt, orri_pipeline_run* run)
{
    const orr_platform* platform = rt->platform;
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &rt->ticket);
    uint32_t mine = atomic_fetch_add(&rt->ticket, 1), now = atomic_load(&rt->serving);
    if (ORR_LIKELY(now == mine)) {
        return;
    }
    uint64_t since = platform->clock_ns(platform->user);
    if (platform->sched_point == NULL) {
        for (uint32_t i = orri_spin_begin(&run->spin); i > 0 && now != mine; i--) {
            orri_spin_pause();
            now = atomic_load(&rt->serving);
        }
        orri_spin_end(&run->spin, now != mine);
    }
    while (now != mine) {
        turn_sleep(rt, &rt->serving, now);
        ORRI_SCHED_POINT(platform, ORR_SCHED_LOAD, &rt->serving);
        now = atomic_load(&rt->serving);
    }
    turn_waited(run, since, platform->clock_ns(platform->user));
}

// In a replay: wakes the pipeline that has the next recorded turn; all pipelines if there is none.
static void turn_wake_next(orri_realtime* rt)
{
    uint32_t at = atomic_load(&rt->turn_at);
    bool all = at >= rt->turn_end || atomic_load(&rt->diverged);
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        orri_pipeline_run* run = rt->schedule->pipelines[i]->run;
        if (all || rt->replay->turns[at] >> 2 == run->number) {
            turn_wake(rt, &run->turn_signal);
        }
    }
}

// Serves the next ticket; in a replay also advances to the next recorded turn.
static void turn_give(orri_realtime* rt, const orri_pipeline* pipe)
{
    turn_wake(rt, &rt->serving);
    if (orri_pipeline_replays(pipe) && !rt->fast_forwards) {
        ORRI_SCHED_POINT(rt->platform, ORR_SCHED_STORE, &rt->turn_at);
        atomic_fetch_add(&rt->turn_at, 1);
        turn_wake_next(rt);
    }
}

// ---- replays ------------------------------------------------------------------------------------

bool orri_replay_abandon(orri_realtime* rt)
{
    if (atomic_exchange(&rt->diverged, true)) {
        return false;
    }
    orri_locks_follow_leave(rt->locks);
    turn_wake_next(rt); // No pipeline waits for a recorded turn any more.
    return true;
}

void orri_replay_diverge(orri_realtime* rt, const orri_pipeline* pipe)
{
    uint32_t turns = atomic_load(&rt->turn_at);
    if (orri_replay_abandon(rt)) {
        if (turns >= rt->turn_end && orri_replay_ends_mid_tick(rt)) {
            // The recording ends within ticks, which are finished without it: no divergence.
            return;
        }
        (void)orri_refuse(
            &rt->world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
            "orr_realtime: the replay does something that was not recorded: pipeline '%s', tick "
            "%llu, after %u turns; replay with the same program and the same systems",
            pipe->name, (unsigned long long)pipe->tick, (unsigned)turns);
        orri_realtime_fail(rt, ORR_ERR_CONFLICT);
    }
}

// True when the pipeline waits for a recorded turn of another one, or for a lock that is not
// granted.
static bool turn_blocked(const orri_realtime* rt, const orri_pipeline* pipe)
{
    const orri_pipeline_run* run = pipe->run;
    uint32_t at = atomic_load(&rt->turn_at);
    bool others = at < rt->turn_end && rt->replay->turns[at] >> 2 != run->number;
    return run->waits == ORRI_WAITS_TURN
               ? others
               : run->waits == ORRI_WAITS_LOCK && !orri_lock_ready(run->holder);
}

bool orri_replay_stuck(const orri_realtime* rt)
{
    // A lock that a spectator holds will be released, and then this is checked again. Spectators
    // come first in this check: if they hold nothing any more, a lock that one of them released was
    // already granted to a waiting pipeline.
    if (atomic_load(&rt->diverged) || orri_locks_unlogged_active(rt->locks)) {
        return false;
    }
    uint32_t blocked = 0;
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        const orri_pipeline* pipe = rt->schedule->pipelines[i];
        blocked += !pipe->spectator && turn_blocked(rt, pipe);
    }
    return rt->replaying > 0 && blocked == rt->replaying;
}

// Reports a divergence if all replaying pipelines wait for each other.
static void turn_check_stuck(orri_realtime* rt, const orri_pipeline* pipe)
{
    orri_realtime_lock(rt);
    bool stuck = orri_replay_stuck(rt);
    orri_realtime_unlock(rt);
    if (stuck) {
        orri_replay_diverge(rt, pipe);
    }
}

// Notes what the pipeline waits for. Turns and locks are granted in the recorded order: if all
// pipelines wait, one of them diverged from the recording.
static void turn_note_wait(const orri_pipeline* pipe, orri_waits waits)
{
    orri_pipeline_run* run = pipe->run;
    orri_realtime* rt = run->rt;
    orri_realtime_lock(rt);
    run->waits = waits;
    bool stuck = waits != ORRI_WAITS_NOT && orri_replay_stuck(rt);
    orri_realtime_unlock(rt);
    if (stuck) {
        orri_replay_diverge(rt, pipe);
    }
}

orri_turn orri_turn_await(const orri_pipeline* pipe)
{
    orri_realtime* rt = pipe->run->rt;
    const orr_platform* platform = rt->platform;
    for (;;) {
        ORRI_SCHED_POINT(platform, ORR_SCHED_LOAD, &pipe->run->turn_signal);
        uint32_t seen = atomic_load(&pipe->run->turn_signal);
        ORRI_SCHED_POINT(platform, ORR_SCHED_LOAD, &rt->turn_at);
        uint32_t at = atomic_load(&rt->turn_at);
        if (at >= rt->turn_end || atomic_load(&rt->diverged)) {
            return ORRI_TURN_NONE;
        }
        uint32_t turn = rt->replay->turns[at];
        if (turn >> 2 == pipe->run->number) {
            return (orri_turn)(turn & 3);
        }
        turn_note_wait(pipe, ORRI_WAITS_TURN);
        turn_sleep(rt, &pipe->run->turn_signal, seen);
        turn_note_wait(pipe, ORRI_WAITS_NOT);
    }
}

// ---- entering and leaving a turn ----------------------------------------------------------------

// Makes the world's context that of this pipeline: its open tick, its command buffers.
static void turn_begin(orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    struct orri_schedule* schedule = world->schedule;
    bool open = pipe->stage != ORRI_STAGE_DONE || pipe->run->driven.copied;
    pipe->run->scope_before = orri_this_thread_enter(world, NULL, NULL, NULL);
    schedule->now = open ? pipe : NULL;
    pipe->run->tick = (orri_tick_context){.busy = open ? "a tick is under way" : NULL,
                                          .dt = open ? pipe->dt : 0,
                                          .run_tick = open ? pipe->tick : 0,
                                          .commands = pipe->run->command_buffers};
    world->context = &pipe->run->tick;
    pipe->run->driven.records = orri_realtime_log_active(pipe->run->rt, pipe);
}

void orri_turn_enter(orri_pipeline* pipe)
{
    orri_realtime* rt = pipe->run->rt;
    // After a divergence the tick is still finished. A tick of a fast-forward is within one turn of
    // the recording.
    if (orri_pipeline_replays(pipe) && !rt->fast_forwards && !atomic_load(&rt->diverged) &&
        orri_turn_await(pipe) != ORRI_TURN_STEP) {
        orri_replay_diverge(rt, pipe);
    }
    turn_take(rt, pipe->run);
    if (!rt->fast_forwards) {
        orri_realtime_log_turn(rt, pipe, ORRI_TURN_STEP);
    }
    turn_begin(pipe);
}

void orri_turn_enter_between(orri_pipeline* pipe)
{
    turn_take(pipe->run->rt, pipe->run);
    turn_begin(pipe);
}

void orri_turn_leave(orri_pipeline* pipe)
{
    orri_realtime* rt = pipe->run->rt;
    orri_realtime_log_check_memory(rt, pipe);
    orri_this_thread_leave(pipe->run->scope_before);
    turn_give(rt, pipe);
}

// ---- locks --------------------------------------------------------------------------------------

// Waits for the requested lock set, unless it was granted at once. Outside a turn.
static void turn_wait_lock(orri_pipeline* pipe, bool granted)
{
    orri_pipeline_run* run = pipe->run;
    if (granted) {
        return;
    }
    bool replays = orri_pipeline_replays(pipe);
    if (replays) {
        turn_note_wait(pipe, ORRI_WAITS_LOCK);
    }
    orri_lock_wait(run->holder);
    if (replays) {
        turn_note_wait(pipe, ORRI_WAITS_NOT);
    }
}

// Takes the lock set for a system (`system_id` 0: for a commit). If it is granted at once the turn
// goes on. Otherwise leaves the turn and takes a new one afterwards: no pipeline waits for a lock in
// its turn. A run that is recorded or replayed takes a new turn in any case, because a spectator
// may decide whether a lock is granted at once, but not how many turns there are.
static void turn_lock(orri_pipeline* pipe, uint32_t system_id)
{
    orri_pipeline_run* run = pipe->run;
    const orri_realtime* rt = run->rt;
    ORR_ASSERT(!run->driven.holding);
    bool counts = rt->record != NULL || rt->replay != NULL;
    bool at_once = !counts && orri_lock_ask(run->holder, system_id, run->set, run->set_count);
    if (!at_once) {
        orri_turn_leave(pipe);
        turn_wait_lock(pipe,
                       counts && orri_lock_ask(run->holder, system_id, run->set, run->set_count));
    }
    run->driven.holding = true;
    if (!at_once) {
        orri_turn_enter(pipe);
    }
}

void orri_turn_release(orri_pipeline* pipe)
{
    orri_pipeline_run* run = pipe->run;
    if (run->driven.holding) {
        // A pipeline that held structure exclusively leaves everything published where the rows
        // are, or remap_failed is set.
        ORR_VALIDATE(!run->driven.exclusive || run->scoped || run->rt->remap_failed ||
                     pipe->world->index.live_count > TURN_CHECKED ||
                     (orri_publish_remapped(run->rt->publisher) &&
                      orri_publisher_validate(run->rt->publisher) == ORR_OK));
        orri_lock_release(run->holder);
        run->driven.holding = run->driven.exclusive = run->scoped = false;
        if (pipe->spectator && run->rt->replay != NULL) {
            // Pipelines of the replay may have waited for this lock alone.
            turn_check_stuck(run->rt, pipe);
        }
    }
}

void orri_turn_exclusive(orri_pipeline* pipe)
{
    orri_pipeline_run* run = pipe->run;
    orri_lock_set_structure(pipe, ORRI_LOCK_EXCLUSIVE);
    turn_lock(pipe, 0);
    run->driven.exclusive = true;
}

orr_result orri_turn_remap(orri_pipeline* pipe)
{
    orri_realtime* rt = pipe->run->rt;
    orr_result result = orri_publish_remap(rt->publisher);
    rt->remap_failed = result != ORR_OK;
    if (!pipe->run->scoped) { // All structure is held: no system reads what is freed here.
        orri_blobs_collect(&rt->world->schema);
        orri_retired_free(rt->world);
    }
    return result;
}

// ---- commits that lock only some clusters -------------------------------------------------------

orri_commit_scope* orri_turn_commit_scope(const orri_pipeline* pipe)
{
    orri_pipeline_run* run = pipe->run;
    bool counts = run->uses_scopes && pipe->stage == ORRI_STAGE_STEPS &&
                  pipe->at < run->scope_count;
    if (!counts) {
        return NULL;
    }
    orri_commit_scope* scope = &run->scopes[pipe->at];
    scope->recording = !run->scoped;
    return scope;
}

// False when a commit may concern more than the clusters of its scope: cascades by references,
// shared pages of the index, readers that have seen nothing yet, transactions on locked types.
static bool turn_scope_allowed(const orri_pipeline* pipe)
{
    const orr_world* world = pipe->world;
    return world->relations.count == 0 && world->index.share_count == 0 &&
           !pipe->run->rt->remap_failed && !orri_readers_fresh(world) &&
           !orri_turn_wants_exclusive(pipe);
}

bool orri_turn_exclusive_scope(orri_pipeline* pipe)
{
    orri_pipeline_run* run = pipe->run;
    const orri_commit_scope* scope = orri_turn_commit_scope(pipe);
    if (scope == NULL || scope->incomplete || scope->count == 0 || scope->count > TURN_CLUSTERS ||
        !turn_scope_allowed(pipe) || !orri_lock_set_commit_scope(pipe, scope)) {
        return false;
    }
    turn_lock(pipe, 0);
    run->driven.exclusive = run->scoped = true;
    // Things may have changed while the pipeline waited for the locks.
    if (!turn_scope_allowed(pipe)) {
        orri_turn_release(pipe);
        return false;
    }
    return true;
}

bool orri_turn_wants_exclusive(const orri_pipeline* pipe)
{
    const orri_realtime* rt = pipe->run->rt;
    return orri_transaction_pending_for(pipe->world, &pipe->foreign) &&
           orri_transaction_pending_unowned(pipe->world, rt->unlocked, rt->unlocked_words);
}

// ---- a group of systems -------------------------------------------------------------------------

// How many entities the due systems of the group may create.
static uint64_t turn_creates(const orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    uint64_t count = 0;
    for (uint32_t i = first; i < point; i++) {
        const orri_system* system = pipe->steps[i].system;
        count += system->due ? orri_system_creates(system) : 0;
    }
    return count;
}

// Gives a system the messages, events and imports that wait for it now. Other pipelines may send
// more while it runs; those wait for its next tick.
static orr_result turn_deliver(orr_world* world, orri_system* system)
{
    if (system->event_cursors != NULL && !orri_event_cursors_take(world, system->event_cursors)) {
        return orri_env_result(&world->env);
    }
    if (system->reads) {
        orri_reader_take(system->rights.reader);
    }
    for (uint32_t i = 0; i < system->import_count; i++) {
        const orri_system* from = system->imports[i];
        if (system->imports_seen[i] != NULL && from->exports_published != NULL) {
            memcpy(system->imports_seen[i], from->exports_published, from->exports.type->info.size);
        }
        system->import_notes[i].stopped1 = orri_system_stop(from);
    }
    return ORR_OK;
}

// Reserves entity ids for what the systems may create, with the index held exclusively: no system
// looks up entities meanwhile.
static orr_result turn_ids(orri_pipeline* pipe, uint64_t count)
{
    orri_turn_release(pipe);
    orri_lock_set_one(pipe, pipe->run->rt->index, ORRI_LOCK_EXCLUSIVE);
    turn_lock(pipe, 0);
    bool withheld = count <= UINT32_MAX &&
                    orri_command_buffers_withhold_ids(pipe->world, (uint32_t)count);
    orri_turn_release(pipe);
    return withheld ? ORR_OK : orri_env_result(&pipe->world->env);
}

// Takes the locks of the group and prepares its systems, until locks and reserved ids suffice.
static orr_result turn_prepare(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    orr_world* world = pipe->world;
    for (;;) {
        if (!orri_lock_set_group(pipe, first, point)) {
            return orri_env_result(&world->env);
        }
        uint64_t clusters = world->clusters.sequence;
        turn_lock(pipe, pipe->steps[first].system->handle.id);
        if (ORR_UNLIKELY(clusters != world->clusters.sequence)) {
            // Clusters were added while it waited; their values are not in its lock set.
            orri_turn_release(pipe);
            continue;
        }
        if (pipe->run->rt->remap_failed) {
            return ORR_ERR_MEMORY; // Reported before.
        }
        orr_result result = orri_group_prepare(pipe, first, point);
        uint64_t creates = result == ORR_OK ? turn_creates(pipe, first, point) : 0;
        if (result != ORR_OK || creates <= orri_command_buffers_withheld_left(world)) {
            return result;
        }
        result = turn_ids(pipe, creates);
        if (result != ORR_OK) {
            return result;
        }
    }
}

// The group did not run: messages and events stay in their queues.
static void turn_undeliver(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    for (uint32_t i = first; i < point; i++) {
        const orri_system* system = pipe->steps[i].system;
        if (system->due && system->reads) {
            orri_reader_done(system->rights.reader);
        }
        if (system->due && system->event_cursors != NULL) {
            orri_event_cursors_done(pipe->world, system->event_cursors);
        }
    }
}

// How the systems of a group access the values of one type.
typedef struct turn_touches {
    const orri_pipeline* pipe;
    uint32_t first, point;
    orr_type type;
} turn_touches;

// How a published block of the type must be reclaimed before the group writes it, in the order of
// the systems: a system that reads values before they are overwritten needs a copy of them.
static orri_reclaim_how turn_reclaim_how(void* user, const orri_cluster* cluster)
{
    const turn_touches* touches = user;
    const orr_world* world = touches->pipe->world;
    uint32_t index = orri_type_index(world, touches->type);
    bool looked = false;
    for (uint32_t i = touches->first; i < touches->point; i++) {
        const orri_system* system = touches->pipe->steps[i].system;
        bool any, counts = system->due && system->desc.kind == ORR_DIRECT;
        orri_touch touch = counts ? orri_touches(world, system, index, &any) : ORRI_TOUCH_NONE;
        if (touch == ORRI_TOUCH_NONE) {
            continue;
        }
        any |= !system->by_rows || system->ordered;
        uint32_t entry = any ? UINT32_MAX : orri_entries_find(system->query, cluster);
        if (!any && entry == UINT32_MAX) {
            continue;
        }
        if (touch != ORRI_TOUCH_READS) {
            bool overwrites_all = !looked && !any && !system->query->has_changed &&
                                  orri_right(system->overwrites, &system->rights, index) &&
                                  orri_entry_match(system->query, entry) == ORRI_MATCH_ALL;
            return overwrites_all ? ORRI_RECLAIM_OVERWRITE : ORRI_RECLAIM_COPY;
        }
        looked = true;
    }
    return ORRI_RECLAIM_NONE;
}

// Reclaims blocks that are published without a copy (lent) and that these systems write.
static orr_result turn_reclaim(const orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    const orri_pipeline_run* run = pipe->run;
    turn_touches touches = {.pipe = pipe, .first = first, .point = point};
    orr_result result = ORR_OK;
    for (uint32_t i = 0; result == ORR_OK && i < run->published_plain; i++) {
        touches.type = run->published[i];
        if (orri_zero_copy_enabled(run->rt->publisher, touches.type)) {
            result = orri_reclaim(run->rt->publisher, touches.type, turn_reclaim_how, &touches);
        }
    }
    return result;
}

// Everything before the systems run: locks, deliveries, snapshots, published blocks, command
// buffers, clock.
static orr_result turn_ready(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    orr_world* world = pipe->world;
    orr_result result = turn_prepare(pipe, first, point);
    for (uint32_t i = first; result == ORR_OK && i < point; i++) {
        result = pipe->steps[i].system->due ? turn_deliver(world, pipe->steps[i].system) : ORR_OK;
    }
    // Snapshots first: they may be lost without memory, lent blocks may not.
    if (result == ORR_OK) {
        orri_history_detach_group(pipe, first, point);
        result = turn_reclaim(pipe, first, point);
    }
    if (result == ORR_OK && !orri_group_open_ahead(pipe, first, point)) {
        result = orri_refuse_memory(&world->env, "beginning systems");
    }
    if (ORR_UNLIKELY(result != ORR_OK)) {
        turn_undeliver(pipe, first, point);
    }
    // From here on nothing is refused: a system that declares .overwrites does overwrite. Before
    // the clock is taken, because a block with the clock's stamp is written without a further
    // check.
    orri_reclaim_end(pipe->run->rt->publisher, result == ORR_OK);
    pipe->run->driven.clock[0] = world->tick;
    // Groups that run at the same time have different epochs.
    pipe->run->driven.clock[1] = orri_epoch_end(world);
    return result;
}

// Calls a system, or replays it. Outside a turn.
static void turn_call(orri_pipeline* pipe, orri_system* system)
{
    if (ORR_UNLIKELY(orri_impure_replays(system))) {
        orri_impure_replay(system);
        return;
    }
    if (system->desc.main_thread) {
        orri_realtime_on_main(pipe, system);
    } else {
        (void)orri_system_work(pipe->world, system, 0,
                               system->in_units ? system->query->unit_count : 0, 0);
    }
    if (ORR_UNLIKELY(orri_impure_records(system))) {
        orri_impure_record(system, NULL);
    }
}

// Runs the due systems one after the other.
static void turn_run(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    for (uint32_t i = first; i < point; i++) {
        if (pipe->steps[i].system->due) {
            turn_call(pipe, pipe->steps[i].system);
        }
    }
}

// Takes the workers, if no other pipeline uses them. Workers cannot run systems for the calling
// thread; and what an impure system did must be recorded before the next system runs.
static bool turn_workers_take(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    orri_realtime* rt = pipe->run->rt;
    for (uint32_t i = first; i < point; i++) {
        const orri_system* system = pipe->steps[i].system;
        if (system->desc.main_thread || orri_impure_replays(system) ||
            orri_impure_records(system)) {
            return false;
        }
    }
    orri_realtime_lock(rt);
    bool got = !rt->workers_taken;
    rt->workers_taken = true;
    orri_realtime_unlock(rt);
    return got;
}

static void turn_workers_return(orri_realtime* rt)
{
    orri_realtime_lock(rt);
    rt->workers_taken = false;
    orri_realtime_unlock(rt);
}

// Leaves the turn while systems run. A group that holds structure exclusively keeps its turn:
// reference counts of strings and arrays and the reference index change only in a turn.
static void turn_systems_begin(orri_pipeline* pipe, bool alone)
{
    if (alone) {
        orri_this_thread_leave(pipe->run->scope_before);
    } else {
        orri_turn_leave(pipe);
    }
}

// Takes the turn again, if it was left.
static void turn_systems_end(orri_pipeline* pipe, bool alone)
{
    if (alone) {
        turn_begin(pipe);
    } else {
        orri_turn_enter(pipe);
    }
}

void orri_turn_end_loops(orri_pipeline* pipe)
{
    orri_pipeline_run* run = pipe->run;
    if (ORR_UNLIKELY(run->driven.loop_left)) {
        run->driven.loop_left = false;
        run->driven.era++;
        // Loops over maintained orders.
        pipe->world->loops.era += run->set[0].mode == ORRI_LOCK_EXCLUSIVE;
    }
}

orr_result orri_turn_group(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    orri_pipeline_run* run = pipe->run;
    orr_world* world = pipe->world;
    orr_result result = turn_ready(pipe, first, point);
    if (ORR_UNLIKELY(result != ORR_OK)) {
        orri_turn_release(pipe);
        return result;
    }
    bool several = pipe->parallel != NULL && turn_workers_take(pipe, first, point);
    bool cut = several && orri_parallel_make_graph(pipe, first, point);
    bool alone = run->set[0].mode == ORRI_LOCK_EXCLUSIVE; // Structure is held exclusively.
    turn_systems_begin(pipe, alone);
    orri_lock_set_note(pipe, first, point, ORRI_LOCK_PLANNED);
    if (cut) {
        orri_parallel_run_graph(pipe);
    } else {
        turn_run(pipe, first, point);
    }
    if (several) {
        turn_workers_return(run->rt);
    }
    orri_lock_set_note(pipe, first, point, ORRI_LOCK_RELEASED);
    orri_lock_reads_end(run->holder);
    turn_wait_lock(pipe, orri_lock_upgrade_ask(run->holder));
    turn_systems_end(pipe, alone);
    orri_turn_end_loops(pipe);
    for (uint32_t i = first; i < point; i++) {
        orri_system* system = pipe->steps[i].system;
        if (system->due) {
            orri_system_done(world, system);
            orri_timing_add(system);
        }
    }
    return ORR_OK;
}

// ---- publishing ---------------------------------------------------------------------------------

orr_result orri_turn_view_pin(orri_pipeline* pipe)
{
    const orri_pipeline_run* run = pipe->run;
    return run->driven.view != NULL ? orri_view_pin(run->driven.view) : ORR_OK;
}

static void turn_publish_exports(const orri_pipeline* pipe)
{
    for (orri_system* system = pipe->world->schedule->first; system != NULL;
         system = system->next) {
        if (system->pipe == pipe && system->exports_published != NULL) {
            memcpy(system->exports_published, system->exports.data,
                   system->exports.type->info.size);
        }
    }
}

// Plain values are copied outside the turn, while systems of other pipelines run. Values with
// reference counts are copied in the turn, where no other pipeline changes counts.
orr_result orri_turn_publish(orri_pipeline* pipe)
{
    orri_pipeline_run* run = pipe->run;
    orri_realtime* rt = run->rt;
    orr_world* world = pipe->world;
    orr_result result = ORR_OK;
    // A recorded run takes this turn whether or not another pipeline reads the types: spectators
    // must not decide how many turns there are.
    bool turns = !pipe->spectator && (rt->record != NULL || rt->replay != NULL);
    if (run->published_count > 0 || turns) {
        run->driven.copied = true; // The tick stays open until everything is published.
        orri_lock_set_one(pipe, rt->registry, ORRI_LOCK_READ);
        orri_turn_leave(pipe);
        turn_wait_lock(pipe, orri_lock_ask(run->holder, 0, run->set, 1));
        run->driven.holding = true;
        // Values that do not follow their rows cannot be copied. (remap_failed is written with
        // structure held exclusively, so it is stable here.)
        result = rt->remap_failed
                     ? ORR_ERR_MEMORY
                     : orri_publish_copy(rt->publisher, run->published, run->published_plain);
        orri_turn_enter(pipe);
        if (result == ORR_OK && run->published_count > run->published_plain) {
            result = orri_publish_copy(rt->publisher, run->published + run->published_plain,
                                       run->published_count - run->published_plain);
        }
        if (result == ORR_OK) {
            result = orri_publish_zero_copy(rt->publisher, run->published, run->published_plain);
        }
        if (result == ORR_OK) {
            orri_publish_show(rt->publisher, run->published, run->published_count,
                              orri_epoch_end(world), pipe->tick);
        }
        orri_turn_release(pipe);
    }
    if (result == ORR_OK) {
        turn_publish_exports(pipe);
        run->driven.copied = false;
        orri_realtime_log_hash(rt, pipe);
    }
    return result;
}

#undef TURN_CHECKED
#undef TURN_CLUSTERS
