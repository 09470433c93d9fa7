// SPDX-License-Identifier: MIT
// Recordings: created, emptied and destroyed. The lockstep log (lockstep.c) and the realtime log
// (realtime/realtime_log.c) fill them.
#include "schedule/record/recording.h"

bool orri_recording_name(struct orr_recording* recording, orri_lockstep_log_kind kind,
                         const char* name, size_t size, uint64_t word)
{
    orri_lockstep_log_names* names = &recording->names[kind];
    bool room = ORRI_RESERVE(&recording->env, ORR_MEMORY_SYSTEM, &names->names, &names->capacity,
                             names->count + 1);
    char* copy = room ? ORRI_ALLOC(&recording->env, ORR_MEMORY_SYSTEM, char, size + 1) : NULL;
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, name, size);
    copy[size] = '\0';
    names->names[names->count++] = (orri_lockstep_log_name){copy, word};
    return true;
}

static void recording_names_free(orri_env* env, orri_lockstep_log_names* names)
{
    for (uint32_t i = 0; i < names->count; i++) {
        ORRI_FREE(env, ORR_MEMORY_SYSTEM, char, names->names[i].name,
                  strlen(names->names[i].name) + 1);
    }
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, names->names, names->capacity);
}

void orri_recording_clear(struct orr_recording* recording)
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
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, recording->budgets, recording->budget_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, recording->entries, recording->entry_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, recording->marks, recording->mark_capacity);
    for (uint32_t kind = 0; kind < ORRI_LOCKSTEP_LOG_KINDS; kind++) {
        recording_names_free(env, &recording->names[kind]);
    }
    for (uint32_t i = 0; i < ORR_PIPELINES_MAX; i++) {
        orri_command_bytes* kept = &recording->inputs[i];
        ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, kept->bytes.data, kept->bytes.capacity);
        ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, kept->functions, kept->function_capacity);
    }
    orri_lock_log_free(env, &recording->grants);
    // Everything but the env, which comes first and counts the memory.
    memset((uint8_t*)recording + sizeof recording->env, 0,
           sizeof *recording - sizeof recording->env);
    for (uint32_t i = 0; i < ORR_PIPELINES_MAX; i++) {
        recording->inputs[i].bytes.env = env;
    }
}

void orri_recording_replay_begin(const struct orr_recording* recording)
{
    if (recording != NULL) {
        atomic_fetch_add(&((struct orr_recording*)(uintptr_t)recording)->replays, 1);
    }
}

void orri_recording_replay_end(const struct orr_recording* recording)
{
    if (recording != NULL) {
        atomic_fetch_sub(&((struct orr_recording*)(uintptr_t)recording)->replays, 1);
    }
}

const char* orri_recording_busy(const struct orr_recording* recording)
{
    return recording->in_use ? "a world is recorded to this recording; end that with "
                               "orr_record_end()"
           : atomic_load(&recording->replays) != 0
               ? "a world replays this recording; wait until orr_replay() or orr_realtime() has "
                 "returned and no tick of it is half done"
               : NULL;
}

orr_recording* orr_recording_create(void)
{
    orri_env env;
    orri_env_init(&env, NULL, &(orr_allocator){0}, 0, NULL);
    orr_recording* recording = ORRI_ALLOC_ZERO(&env, ORR_MEMORY_SYSTEM, orr_recording, 1);
    if (recording != NULL) {
        memcpy(&recording->env, &env, sizeof env); // The recording's own memory counts, too.
        for (uint32_t i = 0; i < ORR_PIPELINES_MAX; i++) {
            recording->inputs[i].bytes.env = &recording->env;
        }
    }
    return recording;
}

void orr_recording_destroy(orr_recording* recording)
{
    if (recording != NULL) {
        // Call orr_record_end() first, or finish the replay.
        ORR_ASSERT(!recording->in_use && atomic_load(&recording->replays) == 0);
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
    *out = (orr_recording_stats){
        .ticks = recording->ticks,
        .calls = recording->call_count,
        .bytes = memory.total.bytes,
        .full = recording->full,
        .refused = recording->refused,
        .realtime = recording->turn_count > 0,
        .cut = recording->cut,
        .changed = recording->changed_tick1 != 0,
        .changed_tick = recording->changed_tick1 != 0 ? recording->changed_tick1 - 1 : 0,
        .tick_first = recording->begin_tick,
        .tick_last = recording->begin_tick + recording->entry_count,
        .hashes = recording->lockstep ? recording->mark_count : recording->hash_count};
}
