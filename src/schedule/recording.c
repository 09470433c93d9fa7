// SPDX-License-Identifier: MIT
// What a run in real time depends on, kept in memory: whose turn it was on the floor, in which order locks were granted, how much time ticks were
// given, what was called from outside. A replay takes it from there. Recording never stands in the way: without memory it ends.
#include "schedule/realtime.h"
#include "store/pool.h"

static void record_full(orri_realtime* rt)
{
    if (!rt->record->full) {
        rt->record->full = true;
        orri_log(
            &rt->world->env, ORR_LOG_ID_RECORDING_FULL,
            "orr_realtime: no memory for the recording after %llu ticks: what there is stays, and "
            "can be replayed; the run goes on",
            (unsigned long long)rt->record->ticks);
    }
}

void orri_record_turn(orri_realtime* rt, const orri_pipeline* pipe, orri_turn turn)
{
    struct orr_recording* record = rt->record;
    if (record == NULL || record->full) {
        return;
    }
    if (!ORRI_RESERVE(&record->env, ORR_MEMORY_SYSTEM, &record->turns, &record->turn_capacity,
                      record->turn_count + 1)) {
        record_full(rt);
        return;
    }
    record->turns[record->turn_count++] = pipe->index << 2 | (uint32_t)turn;
    record->ticks += turn == ORRI_TURN_BEGIN;
}

void orri_record_dt(orri_realtime* rt, float dt)
{
    struct orr_recording* record = rt->record;
    if (record != NULL && !record->full) {
        if (ORRI_RESERVE(&record->env, ORR_MEMORY_SYSTEM, &record->dts, &record->dt_capacity,
                         record->dt_count + 1)) {
            record->dts[record->dt_count++] = dt;
        } else {
            record->turn_count--; // Its tick is not recorded.
            record_full(rt);
        }
    }
}

void orri_record_calls(orri_realtime* rt, const orri_call* calls, bool meeting)
{
    struct orr_recording* record = rt->record;
    uint32_t count = 0;
    if (record == NULL || record->full) {
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
            orri_call_make(&record->env, call->call, call->data, call->size, call->meeting);
        room = copy != NULL;
        record->calls[record->call_count + kept] = copy;
        kept += room;
    }
    if (!room) {
        for (uint32_t i = 0; i < kept; i++) {
            orri_call_free(&record->env, record->calls[record->call_count + i]);
        }
        record->turn_count--;
        record_full(rt);
        return;
    }
    record->call_counts[record->count_count++] = count << 1 | meeting;
    record->call_count += count;
}

void orri_record_clocks(orri_realtime* rt)
{
    struct orri_schedule* schedule = rt->schedule;
    struct orr_recording* record = rt->record;
    bool ended = rt->replay != NULL && !rt->replay->full && !atomic_load(&rt->astray);
    if (record != NULL) {
        record->time_ns = schedule->time_ns;
    }
    if (ended) {
        schedule->time_ns = rt->replay->time_ns;
    }
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        orri_pipeline* pipe = schedule->pipelines[i];
        if (record != NULL) {
            record->clocks[i] = (orri_record_clock){pipe->start_ns, pipe->ran, pipe->due_ns};
        }
        if (ended) {
            const orri_record_clock* clock = &rt->replay->clocks[i];
            pipe->start_ns = clock->start_ns;
            pipe->ran = clock->ran;
            pipe->due_ns = clock->due_ns;
        }
    }
}

void orri_record_clock_of(orri_realtime* rt, orri_pipeline* pipe)
{
    struct orr_recording* record = rt->record;
    if (record != NULL && !record->full) {
        if (ORRI_RESERVE(&record->env, ORR_MEMORY_SYSTEM, &record->ended, &record->ended_capacity,
                         record->ended_count + 1)) {
            record->ended[record->ended_count++] =
                (orri_record_clock){pipe->start_ns, pipe->ran, pipe->due_ns};
        } else {
            record_full(rt);
        }
    }
    if (rt->replay != NULL && !atomic_load(&rt->astray) && rt->ended_at < rt->replay->ended_count) {
        const orri_record_clock* clock = &rt->replay->ended[rt->ended_at++];
        pipe->start_ns = clock->start_ns;
        pipe->ran = clock->ran;
        pipe->due_ns = clock->due_ns;
    }
}

// ---- hashes ---------------------------------------------------------------------------------------------------------------

// What a pipeline owns: values by cluster and row, of the entities there are.
static uint64_t record_hash_cluster(const orri_pipeline* pipe, const orri_cluster* cluster,
                                    uint64_t hash)
{
    const orr_world* world = pipe->world;
    for (uint32_t c = 0; c < cluster->type_count; c++) {
        if (orri_claimed_by(world, cluster->types[c]) != pipe) {
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

void orri_record_hash(orri_realtime* rt, orri_pipeline* pipe)
{
    bool records = rt->record != NULL && rt->record->hashed && !rt->record->full;
    bool compares = rt->replay != NULL && rt->replay->hashed && !atomic_load(&rt->astray) &&
                    rt->hash_at < rt->replay->hash_count;
    if (pipe->observer || (!records && !compares)) {
        return;
    }
    uint64_t hash = orri_hash_word(pipe->tick, pipe->name_hash);
    for (const orri_cluster* cluster = rt->world->cluster_first; cluster != NULL;
         cluster = cluster->next) {
        hash = record_hash_cluster(pipe, cluster, hash);
    }
    for (uint32_t p = 0; p < rt->world->pool_count; p++) {
        orri_pool* pool = rt->world->pool_list[p];
        if (pool->slot_count > 0 &&
            orri_claimed_by(rt->world, (orr_type){pool->type->index1}) == pipe) {
            hash = orri_pool_hash(pool, hash);
        }
    }
    for (const orri_system* system = rt->schedule->first; system != NULL; system = system->next) {
        const orri_keep* keeps[2] = {&system->state, &system->exports};
        for (uint32_t i = 0; system->pipe == pipe && i < 2; i++) {
            if (keeps[i]->data != NULL) {
                hash = orri_rows_hash(keeps[i]->type, keeps[i]->data, 1, hash);
            }
        }
    }
    struct orr_recording* record = rt->record;
    if (records && ORRI_RESERVE(&record->env, ORR_MEMORY_SYSTEM, &record->hashes,
                                &record->hash_capacity, record->hash_count + 1)) {
        record->hashes[record->hash_count++] = hash;
    } else if (records) {
        record_full(rt);
    }
    if (compares && rt->replay->hashes[rt->hash_at++] != hash) {
        (void)orri_floor_lost(rt);
        (void)orri_refuse(&rt->world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
                          "orr_realtime: the replay differs from what was recorded: pipeline '%s' "
                          "after its tick %llu has other values; its systems depend on something "
                          "that is not recorded",
                          pipe->name, (unsigned long long)pipe->tick);
        orri_realtime_fail(rt, ORR_ERR_CONFLICT);
    }
}

// ---- calls from outside -------------------------------------------------------------------------------------------------------

orri_call* orri_call_make(orri_env* env, orr_call function, const void* data, size_t size,
                          bool meeting)
{
    orri_call* call = size <= UINT32_MAX - sizeof(orri_call)
                          ? orri_alloc(env, ORR_MEMORY_SYSTEM, sizeof(orri_call) + size, 16)
                          : NULL;
    if (call != NULL) {
        *call = (orri_call){.call = function, .meeting = meeting, .size = (uint32_t)size};
        if (size > 0) {
            memcpy(call->data, data, size);
        }
    }
    return call;
}

void orri_call_free(orri_env* env, orri_call* call)
{
    orri_free(env, ORR_MEMORY_SYSTEM, call, sizeof(orri_call) + call->size, 16);
}

// ---- recordings ------------------------------------------------------------------------------------------------------------------

orr_recording* orr_recording_create(void)
{
    orri_env env;
    orri_env_init(&env, NULL, &(orr_allocator){0}, 0, NULL);
    orr_recording* recording = ORRI_ALLOC_ZERO(&env, ORR_MEMORY_SYSTEM, orr_recording, 1);
    if (recording != NULL) {
        memcpy(&recording->env, &env, sizeof env); // It counts itself.
    }
    return recording;
}

void orri_recording_clear(orr_recording* recording)
{
    orri_env* env = &recording->env;
    for (uint32_t i = 0; i < recording->call_count; i++) {
        orri_call_free(env, recording->calls[i]);
    }
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, recording->turns, recording->turn_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, recording->dts, recording->dt_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, recording->call_counts, recording->count_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, recording->calls, recording->call_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, recording->hashes, recording->hash_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, recording->ended, recording->ended_capacity);
    recording->ended = NULL;
    recording->ended_capacity = recording->ended_count = 0;
    recording->turns = recording->call_counts = NULL;
    recording->dts = NULL;
    recording->calls = NULL;
    recording->hashes = NULL;
    recording->turn_capacity = recording->dt_capacity = recording->count_capacity = 0;
    recording->call_capacity = recording->hash_capacity = 0;
    recording->turn_count = recording->dt_count = recording->count_count = 0;
    recording->call_count = recording->hash_count = 0;
    orri_lock_log_free(env, &recording->grants);
    recording->grants = (orri_lock_log){0};
    recording->full = recording->hashed = false;
    recording->begin_hash = recording->ticks = 0;
}

void orr_recording_destroy(orr_recording* recording)
{
    if (recording != NULL) {
        orri_recording_clear(recording);
        orri_env env;
        memcpy(&env, &recording->env, sizeof env);
        ORRI_FREE(&env, ORR_MEMORY_SYSTEM, orr_recording, recording, 1);
    }
}

void orr_recording_stats_get(const orr_recording* recording, orr_recording_stats* out)
{
    ORR_ASSERT(recording != NULL && out != NULL);
    orr_memory_stats memory;
    orri_mem_stats(&recording->env, &memory);
    *out = (orr_recording_stats){.ticks = recording->ticks,
                                 .calls = recording->call_count,
                                 .bytes = memory.total.bytes,
                                 .full = recording->full};
}
