// SPDX-License-Identifier: MIT
// The recording of a run in real time, in memory: order of turns, order of lock grants, dts of
// ticks, posted calls, clocks, hashes. A replay reads it. Recording never stops a run: without
// memory the recording ends.
#include "realtime/realtime.h"
#include "store/pool/pool.h"

// ---- recording ----------------------------------------------------------------------------------

bool orri_realtime_log_active(const orri_realtime* rt, const orri_pipeline* pipe)
{
    return rt->record != NULL && !rt->record->full && !rt->record->refused && !pipe->spectator;
}

// Memory for the recording is refused: it ends here. Reported once.
static void realtime_log_stop_full(orri_realtime* rt)
{
    if (!rt->record->full) {
        rt->record->full = true;
        orri_log(&rt->world->env, ORR_LOG_ID_RECORDING_FULL,
                 "orr_realtime: no memory for the recording after %llu ticks; the recorded part "
                 "can be replayed, and the run continues without recording",
                 (unsigned long long)rt->record->ticks);
    }
}

void orri_realtime_log_stop(orri_realtime* rt, const orri_pipeline* pipe)
{
    if (orri_realtime_log_active(rt, pipe)) {
        rt->record->refused = true;
    }
}

void orri_realtime_log_check_memory(orri_realtime* rt, const orri_pipeline* pipe)
{
    const orri_env* env = &rt->world->env;
    if (orri_realtime_log_active(rt, pipe) &&
        atomic_load_explicit(&env->refusals, memory_order_relaxed) != rt->refusals) {
        rt->record->refused = true;
    }
}

void orri_realtime_log_turn(orri_realtime* rt, const orri_pipeline* pipe, orri_turn turn)
{
    struct orr_recording* record = rt->record;
    if (!orri_realtime_log_active(rt, pipe)) {
        return;
    }
    // The inputs of its impure systems since its last turn could not be stored: a replay could not
    // reach this turn.
    if (record->inputs[pipe->run->number].bytes.failed ||
        !ORRI_RESERVE(&record->env, ORR_MEMORY_SYSTEM, &record->turns, &record->turn_capacity,
                      record->turn_count + 1)) {
        realtime_log_stop_full(rt);
        return;
    }
    record->turns[record->turn_count++] = pipe->run->number << 2 | (uint32_t)turn;
    record->ticks += turn == ORRI_TURN_BEGIN;
}

void orri_realtime_log_dt(orri_realtime* rt, const orri_pipeline* pipe, float dt)
{
    struct orr_recording* record = rt->record;
    if (orri_realtime_log_active(rt, pipe)) {
        if (ORRI_RESERVE(&record->env, ORR_MEMORY_SYSTEM, &record->dts, &record->dt_capacity,
                         record->dt_count + 1)) {
            record->dts[record->dt_count++] = dt;
        } else {
            record->turn_count--; // The tick is not recorded.
            record->ticks--;
            realtime_log_stop_full(rt);
        }
    }
}

void orri_realtime_log_calls(orri_realtime* rt, const orri_call* calls, bool sync)
{
    struct orr_recording* record = rt->record;
    uint32_t count = 0;
    if (!orri_realtime_log_active(rt, rt->schedule->pipelines[0])) {
        return;
    }
    for (const orri_call* call = calls; call != NULL; call = call->next) {
        count++;
    }
    bool room = ORRI_RESERVE(&record->env, ORR_MEMORY_SYSTEM, &record->call_counts,
                             &record->count_capacity, record->count_count + 1) &&
                ORRI_RESERVE(&record->env, ORR_MEMORY_SYSTEM, &record->calls,
                             &record->call_capacity, record->call_count + count);
    uint32_t kept = 0;
    for (const orri_call* call = calls; room && call != NULL; call = call->next) {
        orri_call* copy =
            orri_call_make(&record->env, call->call, call->data, call->size, call->sync);
        room = copy != NULL;
        record->calls[record->call_count + kept] = copy;
        kept += room;
    }
    if (!room) {
        for (uint32_t i = 0; i < kept; i++) {
            orri_call_free(&record->env, record->calls[record->call_count + i]);
        }
        record->turn_count--;
        realtime_log_stop_full(rt);
        return;
    }
    record->call_counts[record->count_count++] = count << 1 | sync;
    record->call_count += count;
}

// ---- clocks -------------------------------------------------------------------------------------

void orri_realtime_log_tick_end(orri_realtime* rt, const orri_pipeline* pipe)
{
    struct orr_recording* record = rt->record;
    if (!orri_realtime_log_active(rt, pipe)) {
        return;
    }
    if (!ORRI_RESERVE(&record->env, ORR_MEMORY_SYSTEM, &record->ended, &record->ended_capacity,
                      record->ended_count + 1)) {
        realtime_log_stop_full(rt);
        return;
    }
    record->ended[record->ended_count++] =
        (orri_realtime_log_clock){.start_ns = pipe->start_ns,
                                  .ran = pipe->ran,
                                  .due_ns = pipe->due_ns,
                                  .dropped = pipe->run->stats.dropped,
                                  .time_ns = rt->clock.time_ns};
}

// The recorded time is not possible in this world: ends the replay.
static void realtime_log_refuse_time(orri_realtime* rt, const orri_pipeline* pipe, uint64_t time_ns)
{
    (void)orri_replay_abandon(rt);
    orri_realtime_fail(rt,
                       orri_recorded_time_refuse(rt->world, "orr_realtime", pipe->name, time_ns));
}

void orri_replay_clock_check(orri_realtime* rt, const orri_pipeline* pipe)
{
    if (atomic_load(&rt->diverged) || rt->ended_at >= rt->replay->ended_count) {
        return;
    }
    const orri_realtime_log_clock* clock = &rt->replay->ended[rt->ended_at];
    if (!orri_recorded_time_possible(rt->world, clock->time_ns) ||
        !orri_recorded_due_possible(clock->due_ns, clock->time_ns, pipe->interval_ns)) {
        realtime_log_refuse_time(rt, pipe, clock->due_ns);
    }
}

bool orri_replay_clock(orri_realtime* rt, orri_pipeline* pipe)
{
    if (atomic_load(&rt->diverged) || rt->ended_at >= rt->replay->ended_count) {
        return false;
    }
    const orri_realtime_log_clock* clock = &rt->replay->ended[rt->ended_at++];
    pipe->start_ns = clock->start_ns;
    pipe->ran = clock->ran;
    pipe->due_ns = clock->due_ns;
    pipe->run->stats.dropped = clock->dropped;
    rt->schedule->time_ns = clock->time_ns;
    return true;
}

// Spectators ran by the wall clock beside the replay: their clocks restart.
static void realtime_log_spectators(const orri_realtime* rt)
{
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        orri_pipeline* pipe = rt->schedule->pipelines[i];
        if (pipe->spectator) {
            orri_pipeline_clock_restart(pipe);
        }
    }
}

void orri_realtime_log_time(orri_realtime* rt)
{
    struct orri_schedule* schedule = rt->schedule;
    if (rt->replay != NULL) {
        bool ended = !orri_replay_ends_mid_tick(rt) && !atomic_load(&rt->diverged);
        if (ended && !orri_recorded_time_possible(rt->world, rt->replay->time_ns)) {
            realtime_log_refuse_time(rt, schedule->pipelines[0], rt->replay->time_ns);
        } else if (ended) {
            schedule->time_ns = rt->replay->time_ns;
        }
        realtime_log_spectators(rt);
        return;
    }
    if (rt->record != NULL) {
        rt->record->time_ns = schedule->time_ns;
    }
}

// ---- history's memory budget --------------------------------------------------------------------

void orri_realtime_log_budget(const orr_world* world, uint32_t choice)
{
    orri_realtime* rt = world->schedule != NULL ? world->schedule->realtime : NULL;
    struct orr_recording* record = rt != NULL ? rt->record : NULL;
    if (record == NULL || !orri_realtime_log_active(rt, rt->schedule->pipelines[0])) {
        return;
    }
    if (!ORRI_RESERVE(&record->env, ORR_MEMORY_SYSTEM, &record->budgets, &record->budget_capacity,
                      record->budget_count + 1)) {
        realtime_log_stop_full(rt);
        return;
    }
    record->budgets[record->budget_count++] = choice;
}

bool orri_replay_budget(const orr_world* world, uint32_t* choice)
{
    orri_realtime* rt = world->schedule != NULL ? world->schedule->realtime : NULL;
    if (rt == NULL || rt->replay == NULL || rt->budget_at >= rt->replay->budget_count) {
        return false;
    }
    *choice = rt->replay->budgets[rt->budget_at++];
    return true;
}

// ---- hashes -------------------------------------------------------------------------------------

// Hashes the values of a cluster that the pipeline owns, with the entities of the rows.
static uint64_t realtime_log_hash_cluster(const orri_pipeline* pipe, const orri_cluster* cluster,
                                          uint64_t hash)
{
    const orr_world* world = pipe->world;
    for (uint32_t c = 0; c < cluster->type_count; c++) {
        if (orri_type_owner_of(world, cluster->types[c]) != pipe) {
            continue;
        }
        hash = orri_hash_word(hash, cluster->identity_hash);
        for (uint32_t i = 0; i < cluster->chunk_count; i++) {
            const orri_chunk* chunk = cluster->chunks[i];
            uint32_t rows = orri_chunk_rows(chunk);
            hash = orr_hash(orri_chunk_ids(chunk), rows * sizeof(uint32_t), hash);
            hash = orri_cells_hash(orri_cells_at(chunk, c, 0), rows, hash);
        }
    }
    return hash;
}

void orri_realtime_log_hash(orri_realtime* rt, orri_pipeline* pipe)
{
    orri_realtime_log_check_memory(rt, pipe);
    bool records = orri_realtime_log_active(rt, pipe) && rt->record->hashed;
    bool compares = rt->replay != NULL && rt->replay->hashed && !atomic_load(&rt->diverged) &&
                    rt->hash_at < rt->replay->hash_count;
    if (pipe->spectator || (!records && !compares)) {
        return;
    }
    uint64_t hash = orri_hash_word(pipe->tick, pipe->name_hash);
    for (const orri_cluster* cluster = rt->world->clusters.first; cluster != NULL;
         cluster = cluster->next) {
        hash = realtime_log_hash_cluster(pipe, cluster, hash);
    }
    for (uint32_t p = 0; p < rt->world->pinned.count; p++) {
        orri_pool* pool = rt->world->pinned.list[p];
        if (pool->slot_count > 0 &&
            orri_type_owner_of(rt->world, (orr_type){pool->type->id}) == pipe) {
            hash = orri_pool_hash(pool, hash);
        }
    }
    for (const orri_system* system = rt->schedule->first; system != NULL; system = system->next) {
        const orri_system_state* states[2] = {&system->state, &system->exports};
        for (uint32_t i = 0; system->pipe == pipe && i < 2; i++) {
            if (states[i]->data != NULL) {
                hash = orri_rows_hash(states[i]->type, states[i]->data, 1, hash);
            }
        }
    }
    struct orr_recording* record = rt->record;
    if (records && ORRI_RESERVE(&record->env, ORR_MEMORY_SYSTEM, &record->hashes,
                                &record->hash_capacity, record->hash_count + 1)) {
        record->hashes[record->hash_count++] = hash;
    } else if (records) {
        realtime_log_stop_full(rt);
    }
    if (compares && rt->replay->hashes[rt->hash_at++] != hash) {
        (void)orri_replay_abandon(rt);
        (void)orri_refuse(
            &rt->world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
            "orr_realtime: the replay differs from the recording: pipeline '%s' has other values "
            "after its tick %llu; a system depends on something that is not recorded%s",
            pipe->name, (unsigned long long)pipe->tick,
            rt->world->timeline != 0 || rt->world->history != NULL
                ? ", or the history settings differ (orr_history_set())"
                : "");
        orri_realtime_fail(rt, ORR_ERR_CONFLICT);
    }
}

// ---- begin and end ------------------------------------------------------------------------------

// The number of turns to follow for `.ticks`: up to where the first pipeline would begin a tick too
// many. Turns of other pipelines before that belong to the run, so a replay of the same number of
// ticks ends in the same state.
static uint32_t realtime_log_end(const orri_realtime* rt)
{
    uint64_t ticks = 0;
    for (uint32_t i = 0; i < rt->replay->turn_count; i++) {
        ticks += rt->replay->turns[i] == ORRI_TURN_BEGIN; // The first pipeline is number 0.
        if (rt->desc.ticks > 0 && ticks > rt->desc.ticks) {
            return i;
        }
    }
    return rt->replay->turn_count;
}

bool orri_replay_ends_mid_tick(const orri_realtime* rt)
{
    return rt->replay->full || rt->replay->refused || rt->turn_end < rt->replay->turn_count;
}

orr_result orri_realtime_log_begin(orri_realtime* rt)
{
    rt->record = rt->desc.record;
    rt->replay = rt->desc.replay;
    if (rt->record != NULL) {
        orri_recording_clear(rt->record);
        rt->record->hashed = rt->desc.hashes;
        rt->refusals = rt->world->env.refusals;
        rt->record->begin_hash = rt->desc.hashes ? orr_world_hash(rt->world) : 0;
    }
    if (rt->replay == NULL) {
        return ORR_OK;
    }
    rt->turn_end = realtime_log_end(rt);
    if (!rt->replay->hashed || orr_world_hash(rt->world) == rt->replay->begin_hash) {
        return ORR_OK;
    }
    return orri_refuse(&rt->world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
                       "orr_realtime: the world differs from the one the recording began with; "
                       "build it in the same way, with the same seed");
}

void orri_realtime_log_grants(orri_realtime* rt, orri_lock_log* log)
{
    struct orr_recording* record = rt->record;
    if (record != NULL) {
        if (orri_locks_record_end(rt->locks) != ORR_OK ||
            !ORRI_RESERVE(&record->env, ORR_MEMORY_SYSTEM, &record->grants.grants,
                          &record->grants.capacity, log->count)) {
            orri_recording_clear(record); // Without all grants the turns are useless.
            record->full = true;
        } else if (log->count > 0) {
            memcpy(record->grants.grants, log->grants, log->count * sizeof *log->grants);
            record->grants.count = log->count;
        }
    }
    orri_lock_log_free(&rt->world->env, log);
}
