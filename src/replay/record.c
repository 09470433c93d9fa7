// SPDX-License-Identifier: MIT
// Begins, ends, appends to and cuts recordings of lockstep. The ticks in between are recorded by
// the schedule (schedule/record/lockstep.c).
#include "schedule/record/recording.h"
#include <orrery/replay.h>

static orr_result record_refuse(orr_world* world, orr_result result, const char* call,
                                const char* why)
{
    return orri_refuse(&world->env, result, ORR_LOG_ID_CALL_REFUSED, "%s: %s", call, why);
}

// Checks that the world can be recorded to this recording. Errors are reported.
static orr_result record_check(orr_world* world, const orr_recording* recording, bool append)
{
    const struct orri_schedule* schedule = world->schedule;
    const char* wrong = NULL;
    if (schedule->lockstep_log != NULL) {
        wrong = schedule->lockstep_log->record != NULL
                    ? "the world is already recorded; end that recording with orr_record_end()"
                    : "a tick of a replay is half done; finish it with orr_replay()";
    } else if (schedule->now != NULL) {
        wrong = "a tick is half done; finish it with orr_step()";
    } else if (orri_recording_busy(recording) != NULL) {
        wrong = orri_recording_busy(recording);
    } else if (append && recording->turn_count > 0) {
        wrong = "the recording is of a run in real time, which cannot be appended to; use another "
                "recording";
    } else if (append && (recording->full || recording->refused)) {
        wrong = "the recording ended early because memory was refused; cut it with "
                "orr_recording_cut() at the tick to append from";
    }
    return wrong == NULL ? ORR_OK : record_refuse(world, ORR_ERR_STATE, "orr_record", wrong);
}

// Checks that the recording ends at the world's current tick and hash.
static orr_result record_check_append(orr_world* world, const orr_recording* recording)
{
    uint64_t end = recording->begin_tick + recording->entry_count;
    const orri_lockstep_log_mark* mark = orri_lockstep_log_mark_at(recording, end);
    if (recording->mark_count == 0) {
        return ORR_OK; // An empty recording.
    }
    if (end != world->tick) {
        return orri_refuse(
            &world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
            "orr_record: the recording ends with tick %llu, but the world is at tick "
            "%llu; cut it with orr_recording_cut(), or replay it to its end",
            (unsigned long long)end, (unsigned long long)world->tick);
    }
    if (mark != NULL && mark->hash != orr_world_hash(world)) {
        return orri_refuse(
            &world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
            "orr_record: at the end of the recording, tick %llu, the recorded hash is %016llx, but "
            "this world has %016llx; replay the recording on this world first",
            (unsigned long long)end, (unsigned long long)mark->hash,
            (unsigned long long)orr_world_hash(world));
    }
    return ORR_OK;
}

// Empties the recording, which then begins with the world as it is now. Memory for its first mark
// is reserved before, so that it is unchanged if refused.
static bool record_restart(orr_world* world, orr_recording* recording)
{
    orri_lockstep_log_mark* marks = NULL;
    uint32_t capacity = 0;
    if (!ORRI_RESERVE(&recording->env, ORR_MEMORY_SYSTEM, &marks, &capacity, 1)) {
        return false;
    }
    orri_recording_clear(recording);
    recording->marks = marks;
    recording->mark_capacity = capacity;
    recording->lockstep = recording->hashed = true;
    recording->begin_tick = world->tick;
    recording->begin_hash = orr_world_hash(world);
    recording->time_ns = world->schedule->time_ns;
    return true;
}

orr_result orr_record(orr_world* world, orr_recording* recording, const orr_record_desc* desc)
{
    ORR_ASSERT(world != NULL && recording != NULL);
    static const orr_record_desc none = {0};
    desc = desc != NULL ? desc : &none;
    orr_result result = orri_step_check(world, "orr_record");
    result = result == ORR_OK ? record_check(world, recording, desc->append) : result;
    result = result == ORR_OK ? orri_impure_check(world, "orr_record") : result;
    result = result == ORR_OK && desc->append ? record_check_append(world, recording) : result;
    if (result != ORR_OK) {
        return result;
    }
    orri_lockstep_log* log = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SYSTEM, orri_lockstep_log, 1);
    if (log == NULL) {
        return orri_refuse_memory(&world->env, "beginning a recording");
    }
    bool restarts = !desc->append || recording->mark_count == 0;
    if ((restarts && !record_restart(world, recording)) ||
        !orri_lockstep_log_mark_now(world, recording)) {
        ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_lockstep_log, log, 1);
        return orri_refuse_memory(&world->env, "beginning a recording");
    }
    recording->hash_every = desc->hash_every;
    recording->in_use = true;
    log->record = recording;
    log->first_ns = world->schedule->pipelines[0]->due_ns;
    orri_lockstep_log_set(world, log);
    return ORR_OK;
}

orr_result orr_record_end(orr_world* world)
{
    ORR_ASSERT(world != NULL);
    orr_result result = orri_step_check(world, "orr_record_end");
    orri_lockstep_log* log = result == ORR_OK ? world->schedule->lockstep_log : NULL;
    if (result != ORR_OK) {
        return result;
    }
    if (log == NULL || log->record == NULL || world->schedule->now != NULL) {
        return record_refuse(world, ORR_ERR_STATE, "orr_record_end",
                             log == NULL || log->record == NULL
                                 ? "the world is not recorded; begin with orr_record()"
                                 : "a tick is half done; finish it with orr_step()");
    }
    orri_lockstep_log_check(world, log);
    if (orri_lockstep_log_records(log)) {
        struct orr_recording* record = log->record;
        record->time_ns = world->schedule->time_ns;
        // Drops calls of a tick that did not begin.
        orri_lockstep_log_cut(record, record->entry_count);
        if (!orri_lockstep_log_mark_now(world, record)) {
            orri_lockstep_log_stop_full(world, log);
        }
    }
    orri_lockstep_log_set(world, NULL);
    return ORR_OK;
}

orr_result orr_recording_cut(orr_recording* recording, uint64_t tick)
{
    ORR_ASSERT(recording != NULL);
    const char* busy = orri_recording_busy(recording);
    if (!recording->lockstep || busy != NULL) {
        return orri_refuse(
            &recording->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED, "orr_recording_cut: %s",
            busy != NULL ? busy
            : recording->turn_count == 0
                ? "it is empty; record to it, or load it"
                : "it is of a run in real time, whose ticks overlap; only lockstep can be cut");
    }
    uint64_t last = recording->begin_tick + recording->entry_count;
    if (tick < recording->begin_tick || tick > last) {
        return orri_refuse(&recording->env, ORR_ERR_PAST, ORR_LOG_ID_CALL_REFUSED,
                           "orr_recording_cut: the recording does not have tick %llu; it has %llu "
                           "to %llu",
                           (unsigned long long)tick, (unsigned long long)recording->begin_tick,
                           (unsigned long long)last);
    }
    orri_lockstep_log_cut(recording, (uint32_t)(tick - recording->begin_tick));
    return ORR_OK;
}
