// SPDX-License-Identifier: MIT
// The floor: everything of a tick but the systems themselves, one pipeline at a time; and systems, which run without it. See realtime.h.
#include "realtime/realtime.h"

#define TURN_SPINS   200u
#define TURN_CHECKED 10000u // Entities up to which builds with checks look at all of it.
#define TURN_CLUSTERS \
    64u // Up to so many clusters a commit takes one by one; beyond, it waits for all systems.

// ---- whose turn it is --------------------------------------------------------------------------------------------------

static void turn_waited(orri_moment* moment, uint64_t since_ns, uint64_t now_ns)
{
    uint64_t waited = now_ns > since_ns ? now_ns - since_ns : 0;
    // Others look at them meanwhile.
    __atomic_fetch_add(&moment->stats.turn_waited_ns, waited, __ATOMIC_RELAXED);
    if (waited > moment->stats.turn_longest_ns) {
        __atomic_store_n(&moment->stats.turn_longest_ns, waited, __ATOMIC_RELAXED);
    }
}

// Who sleeps says so before it looks at the word for the last time; who changes the word looks afterwards whether somebody sleeps.
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

// First come, first served.
static void turn_take(orri_realtime* rt, orri_moment* moment)
{
    const orr_platform* platform = rt->platform;
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &rt->ticket);
    uint32_t mine = atomic_fetch_add(&rt->ticket, 1), now = atomic_load(&rt->serving);
    if (ORR_LIKELY(now == mine)) {
        return;
    }
    uint64_t since = platform->clock_ns(platform->user);
    for (uint32_t spins = 0; now != mine; spins++) {
        if (spins < TURN_SPINS && platform->sched_point == NULL) {
            now = atomic_load(&rt->serving);
            continue;
        }
        turn_sleep(rt, &rt->serving, now);
        ORRI_SCHED_POINT(platform, ORR_SCHED_LOAD, &rt->serving);
        now = atomic_load(&rt->serving);
    }
    turn_waited(moment, since, platform->clock_ns(platform->user));
}

// In a replay: who is next is told; all of them if nobody is.
static void turn_nudge(orri_realtime* rt)
{
    uint32_t at = atomic_load(&rt->turn_at);
    bool all = at >= rt->turn_end || atomic_load(&rt->astray);
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        orri_moment* moment = rt->schedule->pipelines[i]->moment;
        if (all || rt->replay->turns[at] >> 2 == moment->number) {
            turn_wake(rt, &moment->nudge);
        }
    }
}

static void turn_give(orri_realtime* rt, const orri_pipeline* pipe)
{
    turn_wake(rt, &rt->serving);
    if (orri_follows(pipe) && !rt->ahead) {
        ORRI_SCHED_POINT(rt->platform, ORR_SCHED_STORE, &rt->turn_at);
        atomic_fetch_add(&rt->turn_at, 1);
        turn_nudge(rt);
    }
}

// ---- replays ---------------------------------------------------------------------------------------------------------

bool orri_turn_lost(orri_realtime* rt)
{
    if (atomic_exchange(&rt->astray, true)) {
        return false;
    }
    orri_locks_follow_leave(rt->locks);
    turn_nudge(rt); // Nobody has a turn to wait for.
    return true;
}

void orri_turn_astray(orri_realtime* rt, const orri_pipeline* pipe)
{
    uint32_t turns = atomic_load(&rt->turn_at);
    if (orri_turn_lost(rt)) {
        if (turns >= rt->turn_end && orri_replay_open(rt)) {
            return; // It ends in the midst of ticks, which are finished.
        }
        (void)orri_refuse(
            &rt->world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
            "orr_realtime: the replay does something else than was recorded: pipeline "
            "'%s', tick %llu, after %u turns; is the program the same?",
            pipe->name, (unsigned long long)pipe->tick, (unsigned)turns);
        orri_realtime_fail(rt, ORR_ERR_CONFLICT);
    }
}

static bool turn_stands(const orri_realtime* rt, const orri_pipeline* pipe)
{
    const orri_moment* moment = pipe->moment;
    uint32_t at = atomic_load(&rt->turn_at);
    bool others = at < rt->turn_end && rt->replay->turns[at] >> 2 != moment->number;
    return moment->waits == ORRI_WAITS_TURN
               ? others
               : moment->waits == ORRI_WAITS_LOCK && !orri_lock_ready(moment->holder);
}

bool orri_turn_stuck(const orri_realtime* rt)
{
    // Who waits for a lock that a spectator has goes on when that gives it back, and then this is asked again. Asked first: whoever was let in by one
    // that has nothing any more was told.
    if (atomic_load(&rt->astray) || orri_locks_beside(rt->locks)) {
        return false;
    }
    uint32_t standing = 0;
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        const orri_pipeline* pipe = rt->schedule->pipelines[i];
        standing += !pipe->spectator && turn_stands(rt, pipe);
    }
    return rt->following > 0 && standing == rt->following;
}

static void turn_look(orri_realtime* rt, const orri_pipeline* pipe)
{
    orri_realtime_lock(rt);
    bool stuck = orri_turn_stuck(rt);
    orri_realtime_unlock(rt);
    if (stuck) {
        orri_turn_astray(rt, pipe);
    }
}

// Turns and locks come in the order that was recorded: if all wait, one of them did something else before.
static void turn_waits(const orri_pipeline* pipe, orri_waits waits)
{
    orri_moment* moment = pipe->moment;
    orri_realtime* rt = moment->rt;
    orri_realtime_lock(rt);
    moment->waits = waits;
    bool stuck = waits != ORRI_WAITS_NOT && orri_turn_stuck(rt);
    orri_realtime_unlock(rt);
    if (stuck) {
        orri_turn_astray(rt, pipe);
    }
}

orri_turn orri_turn_note(const orri_pipeline* pipe)
{
    orri_realtime* rt = pipe->moment->rt;
    const orr_platform* platform = rt->platform;
    for (;;) {
        ORRI_SCHED_POINT(platform, ORR_SCHED_LOAD, &pipe->moment->nudge);
        uint32_t nudged = atomic_load(&pipe->moment->nudge);
        ORRI_SCHED_POINT(platform, ORR_SCHED_LOAD, &rt->turn_at);
        uint32_t at = atomic_load(&rt->turn_at);
        if (at >= rt->turn_end || atomic_load(&rt->astray)) {
            return ORRI_TURN_NONE;
        }
        uint32_t turn = rt->replay->turns[at];
        if (turn >> 2 == pipe->moment->number) {
            return (orri_turn)(turn & 3);
        }
        turn_waits(pipe, ORRI_WAITS_TURN);
        turn_sleep(rt, &pipe->moment->nudge, nudged);
        turn_waits(pipe, ORRI_WAITS_NOT);
    }
}

// ---- coming and going -----------------------------------------------------------------------------------------------------

// The world as this pipeline left it.
static void turn_on(orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    struct orri_schedule* schedule = world->schedule;
    bool open = pipe->stage != ORRI_STAGE_DONE || pipe->moment->driven.copied;
    pipe->moment->outside = orri_this_thread_enter(world, NULL, NULL, NULL);
    schedule->now = open ? pipe : NULL;
    pipe->moment->tick = (orri_tick_context){.busy = open ? "a tick is under way" : NULL,
                                             .dt = open ? pipe->dt : 0,
                                             .run_tick = open ? pipe->tick : 0,
                                             .commands = pipe->moment->command_buffers};
    world->context = &pipe->moment->tick;
    pipe->moment->driven.records = orri_realtime_log_goes_on(pipe->moment->rt, pipe);
}

void orri_turn_enter(orri_pipeline* pipe)
{
    orri_realtime* rt = pipe->moment->rt;
    // Who went astray finishes its tick all the same. A tick at a meeting is all of it within one turn.
    if (orri_follows(pipe) && !rt->ahead && !atomic_load(&rt->astray) &&
        orri_turn_note(pipe) != ORRI_TURN_STEP) {
        orri_turn_astray(rt, pipe);
    }
    turn_take(rt, pipe->moment);
    if (!rt->ahead) {
        orri_realtime_log_turn(rt, pipe, ORRI_TURN_STEP);
    }
    turn_on(pipe);
}

void orri_turn_enter_between(orri_pipeline* pipe)
{
    turn_take(pipe->moment->rt, pipe->moment);
    turn_on(pipe);
}

void orri_turn_leave(orri_pipeline* pipe)
{
    orri_realtime* rt = pipe->moment->rt;
    orri_realtime_log_lacks(rt, pipe);
    orri_this_thread_leave(pipe->moment->outside);
    turn_give(rt, pipe);
}

// ---- locks ----------------------------------------------------------------------------------------------------------------

static void turn_wait_lock(orri_pipeline* pipe, bool granted)
{
    orri_moment* moment = pipe->moment;
    if (granted) {
        return;
    }
    bool replays = orri_follows(pipe);
    if (replays) {
        turn_waits(pipe, ORRI_WAITS_LOCK);
    }
    orri_lock_wait(moment->holder);
    if (replays) {
        turn_waits(pipe, ORRI_WAITS_NOT);
    }
}

// From the floor to the floor; nobody waits for a lock on it.
static void turn_lock(orri_pipeline* pipe, uint32_t who)
{
    orri_moment* moment = pipe->moment;
    ORR_ASSERT(!moment->driven.holding);
    orri_turn_leave(pipe);
    turn_wait_lock(pipe, orri_lock_ask(moment->holder, who, moment->set, moment->set_count));
    moment->driven.holding = true;
    orri_turn_enter(pipe);
}

void orri_turn_release(orri_pipeline* pipe)
{
    orri_moment* moment = pipe->moment;
    if (moment->driven.holding) {
        // Whoever had structure alone leaves what is published as the rows are, or says that it is not.
        ORR_VALIDATE(!moment->driven.exclusive || moment->narrow || moment->rt->broken ||
                     pipe->world->index.live_count > TURN_CHECKED ||
                     (orri_publish_remapped(moment->rt->publisher) &&
                      orri_publisher_validate(moment->rt->publisher) == ORR_OK));
        orri_lock_release(moment->holder);
        moment->driven.holding = moment->driven.exclusive = moment->narrow = false;
        if (pipe->spectator && moment->rt->replay != NULL) {
            turn_look(moment->rt, pipe); // Others may have waited for that alone.
        }
    }
}

void orri_turn_exclusive(orri_pipeline* pipe)
{
    orri_moment* moment = pipe->moment;
    orri_lock_set_structure(pipe, ORRI_LOCK_EXCLUSIVE);
    turn_lock(pipe, 0);
    moment->driven.exclusive = true;
}

orr_result orri_turn_follow(orri_pipeline* pipe)
{
    orri_realtime* rt = pipe->moment->rt;
    orr_result result = orri_publish_remap(rt->publisher);
    rt->broken = result != ORR_OK;
    if (!pipe->moment->narrow) { // Nobody reads what is given back.
        orri_blobs_collect(&rt->world->schema);
        orri_retired_free(rt->world);
    }
    return result;
}

// ---- commits beside systems that keep to other clusters ---------------------------------------------------------------------

orri_commit_scope* orri_turn_commit_scope(const orri_pipeline* pipe)
{
    orri_moment* moment = pipe->moment;
    bool counts = moment->beside && pipe->stage == ORRI_STAGE_STEPS &&
                  pipe->at < moment->reach_count;
    if (!counts) {
        return NULL;
    }
    orri_commit_scope* reach = &moment->reach[pipe->at];
    reach->recording = !moment->narrow;
    return reach;
}

// What of a commit goes beyond the clusters it is about: who dies with others, what is held of the index, and what only somebody who has everything
// may look at.
static bool turn_apart(const orri_pipeline* pipe)
{
    const orr_world* world = pipe->world;
    return world->relations.count == 0 && world->index.share_count == 0 &&
           !pipe->moment->rt->broken && !orri_readers_fresh(world) &&
           !orri_turn_far_transactions(pipe);
}

bool orri_turn_narrow(orri_pipeline* pipe)
{
    orri_moment* moment = pipe->moment;
    const orri_commit_scope* reach = orri_turn_commit_scope(pipe);
    if (reach == NULL || reach->incomplete || reach->count == 0 || reach->count > TURN_CLUSTERS ||
        !turn_apart(pipe) || !orri_lock_set_commit_scope(pipe, reach)) {
        return false;
    }
    turn_lock(pipe, 0);
    moment->driven.exclusive = moment->narrow = true;
    if (!turn_apart(pipe)) { // While it waited.
        orri_turn_release(pipe);
        return false;
    }
    return true;
}

bool orri_turn_far_transactions(const orri_pipeline* pipe)
{
    const orri_realtime* rt = pipe->moment->rt;
    return orri_transaction_pending_for(pipe->world, &pipe->foreign) &&
           orri_transaction_pending_unowned(pipe->world, rt->free, rt->free_words);
}

// ---- a group of systems ---------------------------------------------------------------------------------------------------

static uint64_t turn_creates(const orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    uint64_t count = 0;
    for (uint32_t i = first; i < point; i++) {
        const orri_system* system = pipe->steps[i].system;
        count += system->due ? orri_system_creates(system) : 0;
    }
    return count;
}

// What waits for its systems is handed to them: others may send more meanwhile.
static orr_result turn_hand(orr_world* world, orri_system* system)
{
    if (system->inbox != NULL && !orri_event_cursors_take(world, system->inbox)) {
        return orri_env_result(&world->env);
    }
    if (system->reads) {
        orri_reader_take(system->rights.reader);
    }
    for (uint32_t i = 0; i < system->import_count; i++) {
        const orri_system* from = system->imports[i];
        if (system->imports_seen[i] != NULL && from->exports_shown != NULL) {
            memcpy(system->imports_seen[i], from->exports_shown, from->exports.type->info.size);
        }
    }
    return ORR_OK;
}

// Ids for what they may create are taken where no system looks for entities.
static orr_result turn_ids(orri_pipeline* pipe, uint64_t count)
{
    orri_turn_release(pipe);
    orri_lock_set_one(pipe, pipe->moment->rt->index, ORRI_LOCK_EXCLUSIVE);
    turn_lock(pipe, 0);
    bool held = count <= UINT32_MAX && orri_command_buffers_hold(pipe->world, (uint32_t)count);
    orri_turn_release(pipe);
    return held ? ORR_OK : orri_env_result(&pipe->world->env);
}

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
            orri_turn_release(
                pipe); // While it waited clusters came, whose values are not in its set.
            continue;
        }
        if (pipe->moment->rt->broken) {
            return ORR_ERR_MEMORY; // It was said.
        }
        orr_result result = orri_group_prepare(pipe, first, point);
        uint64_t creates = result == ORR_OK ? turn_creates(pipe, first, point) : 0;
        if (result != ORR_OK || creates <= orri_command_buffers_held_left(world)) {
            return result;
        }
        result = turn_ids(pipe, creates);
        if (result != ORR_OK) {
            return result;
        }
    }
}

// They did not run: it waits on.
static void turn_unhand(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    for (uint32_t i = first; i < point; i++) {
        const orri_system* system = pipe->steps[i].system;
        if (system->due && system->reads) {
            orri_reader_done(system->rights.reader);
        }
        if (system->due && system->inbox != NULL) {
            orri_event_cursors_done(pipe->world, system->inbox);
        }
    }
}

// What the systems of a group do to values of one type.
typedef struct turn_deeds {
    const orri_pipeline* pipe;
    uint32_t first, point;
    orr_type type;
} turn_deeds;

// In their order: who looks at values before they are overwritten needs them.
static orri_reclaim_how turn_deed(void* user, const orri_cluster* cluster)
{
    const turn_deeds* deeds = user;
    const orr_world* world = deeds->pipe->world;
    uint32_t index = orri_type_index(world, deeds->type);
    bool looked = false;
    for (uint32_t i = deeds->first; i < deeds->point; i++) {
        const orri_system* system = deeds->pipe->steps[i].system;
        bool any, counts = system->due && system->desc.kind == ORR_DIRECT;
        orri_touch touch = counts ? orri_touches(world, system, index, &any) : ORRI_TOUCH_NONE;
        if (touch == ORRI_TOUCH_NONE) {
            continue;
        }
        any |= !system->by_rows || system->kept;
        uint32_t entry = any ? UINT32_MAX : orri_entries_find(system->query, cluster);
        if (!any && entry == UINT32_MAX) {
            continue;
        }
        if (touch != ORRI_TOUCH_READS) {
            bool anew = !looked && !any && !system->query->has_changed &&
                        orri_right(system->overwrites, &system->rights, index) &&
                        orri_entry_match(system->query, entry) == ORRI_MATCH_ALL;
            return anew ? ORRI_RECLAIM_OVERWRITE : ORRI_RECLAIM_COPY;
        }
        looked = true;
    }
    return ORRI_RECLAIM_NONE;
}

// Blocks that others see, and these systems write.
static orr_result turn_reclaim(const orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    const orri_moment* moment = pipe->moment;
    turn_deeds deeds = {.pipe = pipe, .first = first, .point = point};
    orr_result result = ORR_OK;
    for (uint32_t i = 0; result == ORR_OK && i < moment->shown_plain; i++) {
        deeds.type = moment->shown[i];
        if (orri_zero_copy_enabled(moment->rt->publisher, deeds.type)) {
            result = orri_reclaim(moment->rt->publisher, deeds.type, turn_deed, &deeds);
        }
    }
    return result;
}

static orr_result turn_ready(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    orr_world* world = pipe->world;
    orr_result result = turn_prepare(pipe, first, point);
    for (uint32_t i = first; result == ORR_OK && i < point; i++) {
        result = pipe->steps[i].system->due ? turn_hand(world, pipe->steps[i].system) : ORR_OK;
    }
    if (result == ORR_OK) { // Memories first: they do without, what is lent may not.
        orri_history_detach_group(pipe, first, point);
        result = turn_reclaim(pipe, first, point);
    }
    if (result == ORR_OK && !orri_group_open_ahead(pipe, first, point)) {
        result = orri_refuse_memory(&world->env, "beginning systems");
    }
    if (ORR_UNLIKELY(result != ORR_OK)) {
        turn_unhand(pipe, first, point);
    }
    // From here on nothing is refused: who was said to overwrite does. Before the clock is taken, since what has its stamp is written
    // without a look.
    orri_reclaim_end(pipe->moment->rt->publisher, result == ORR_OK);
    pipe->moment->driven.clock[0] = world->tick;
    pipe->moment->driven.clock[1] =
        orri_epoch_end(world); // Two groups beside each other write different ones.
    return result;
}

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

static void turn_run(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    for (uint32_t i = first; i < point; i++) {
        if (pipe->steps[i].system->due) {
            turn_call(pipe, pipe->steps[i].system);
        }
    }
}

// Helpers of the pool, if no other pipeline has them. They cannot run what is for the caller's thread; and what an impure system did is looked at before
// the next one runs.
static bool turn_crew(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    orri_realtime* rt = pipe->moment->rt;
    for (uint32_t i = first; i < point; i++) {
        const orri_system* system = pipe->steps[i].system;
        if (system->desc.main_thread || orri_impure_replays(system) ||
            orri_impure_records(system)) {
            return false;
        }
    }
    orri_realtime_lock(rt);
    bool got = !rt->crew_taken;
    rt->crew_taken = true;
    orri_realtime_unlock(rt);
    return got;
}

static void turn_crew_back(orri_realtime* rt)
{
    orri_realtime_lock(rt);
    rt->crew_taken = false;
    orri_realtime_unlock(rt);
}

// Systems run without the floor; but those that have structure alone keep it: what is counted (strings, arrays, who refers to whom) others change
// on the floor only.
static void turn_aside(orri_pipeline* pipe, bool alone)
{
    if (alone) {
        orri_this_thread_leave(pipe->moment->outside);
    } else {
        orri_turn_leave(pipe);
    }
}

static void turn_back(orri_pipeline* pipe, bool alone)
{
    if (alone) {
        turn_on(pipe);
    } else {
        orri_turn_enter(pipe);
    }
}

void orri_turn_end_loops(orri_pipeline* pipe)
{
    orri_moment* moment = pipe->moment;
    if (ORR_UNLIKELY(moment->driven.loop_left)) {
        moment->driven.loop_left = false;
        moment->driven.era++;
        pipe->world->loops.era += moment->set[0].mode == ORRI_LOCK_EXCLUSIVE; // Of kept orders.
    }
}

orr_result orri_turn_group(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    orri_moment* moment = pipe->moment;
    orr_world* world = pipe->world;
    orr_result result = turn_ready(pipe, first, point);
    if (ORR_UNLIKELY(result != ORR_OK)) {
        orri_turn_release(pipe);
        return result;
    }
    bool several = pipe->parallel != NULL && turn_crew(pipe, first, point);
    bool cut = several && orri_parallel_cut(pipe, first, point);
    bool alone = moment->set[0].mode == ORRI_LOCK_EXCLUSIVE; // Of structure.
    turn_aside(pipe, alone);
    orri_lock_set_note(pipe, first, point, ORRI_LOCK_PLANNED);
    if (cut) {
        orri_parallel_go(pipe);
    } else {
        turn_run(pipe, first, point);
    }
    if (several) {
        turn_crew_back(moment->rt);
    }
    orri_lock_set_note(pipe, first, point, ORRI_LOCK_RELEASED);
    orri_lock_reads_end(moment->holder);
    turn_wait_lock(pipe, orri_lock_upgrade_ask(moment->holder));
    turn_back(pipe, alone);
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

// ---- what others see ---------------------------------------------------------------------------------------------------------

orr_result orri_turn_pin(orri_pipeline* pipe)
{
    const orri_moment* moment = pipe->moment;
    return moment->driven.view != NULL ? orri_view_pin(moment->driven.view) : ORR_OK;
}

static void turn_show_exports(const orri_pipeline* pipe)
{
    for (orri_system* system = pipe->world->schedule->first; system != NULL;
         system = system->next) {
        if (system->pipe == pipe && system->exports_shown != NULL) {
            memcpy(system->exports_shown, system->exports.data, system->exports.type->info.size);
        }
    }
}

// Plain values are copied beside the systems of others; values that are counted on the floor, where nobody else counts.
orr_result orri_turn_show(orri_pipeline* pipe)
{
    orri_moment* moment = pipe->moment;
    orri_realtime* rt = moment->rt;
    orr_world* world = pipe->world;
    orr_result result = ORR_OK;
    // In a recording that is a turn whoever reads: it has to be one without its spectators, too.
    bool turns = !pipe->spectator && (rt->record != NULL || rt->replay != NULL);
    if (moment->shown_count > 0 || turns) {
        moment->driven.copied = true; // The tick is open until all of it is shown.
        orri_lock_set_one(pipe, rt->registry, ORRI_LOCK_READ);
        orri_turn_leave(pipe);
        turn_wait_lock(pipe, orri_lock_ask(moment->holder, 0, moment->set, 1));
        moment->driven.holding = true;
        // What does not follow the rows cannot be copied either. (Who says so has structure alone.)
        result = rt->broken ? ORR_ERR_MEMORY
                            : orri_publish_copy(rt->publisher, moment->shown, moment->shown_plain);
        orri_turn_enter(pipe);
        if (result == ORR_OK) {
            result = orri_publish_copy(rt->publisher, moment->shown + moment->shown_plain,
                                       moment->shown_count - moment->shown_plain);
        }
        if (result == ORR_OK) {
            result = orri_publish_zero_copy(rt->publisher, moment->shown, moment->shown_plain);
        }
        if (result == ORR_OK) {
            orri_publish_show(rt->publisher, moment->shown, moment->shown_count,
                              orri_epoch_end(world), pipe->tick);
        }
        orri_turn_release(pipe);
    }
    if (result == ORR_OK) {
        turn_show_exports(pipe);
        moment->driven.copied = false;
        orri_realtime_log_hash(rt, pipe);
    }
    return result;
}

#undef TURN_SPINS
#undef TURN_CHECKED
#undef TURN_CLUSTERS
