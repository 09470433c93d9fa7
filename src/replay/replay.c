// SPDX-License-Identifier: MIT
// orr_replay(): runs a recording of lockstep again, on a world in the state of the recorded one.
#include "replay/replay.h"
#include "schedule/record/recording.h"
#include <float.h>
#include <orrery/history.h>
#include <orrery/replay.h>
#include <stdio.h>

// A replay in progress.
typedef struct replay_run {
    orr_world* world;
    const orr_recording* recording;
    orri_lockstep_log* log; // Position in the recording.
    orr_replay_desc desc;
    orr_replay_report report;
    uint64_t begun_ns, begun_time_ns; // When it began: by the platform's clock, and by the world's.
} replay_run;

// ---- checks -------------------------------------------------------------------------------------

static orr_result replay_refuse(orr_world* world, orr_result result, const char* why)
{
    return orri_refuse(&world->env, result, ORR_LOG_ID_CALL_REFUSED, "orr_replay: %s", why);
}

static orr_result replay_check(orr_world* world, const orr_recording* recording)
{
    const orri_lockstep_log* log = world->schedule->lockstep_log;
    const char* wrong = NULL;
    if (!recording->lockstep) {
        wrong = recording->turn_count > 0
                    ? "the recording is of a run in real time; use orr_realtime() with .replay"
                    : "the recording is empty; record to it, or load it";
    } else if (log != NULL && log->record != NULL) {
        wrong = "the world is recorded; end the recording with orr_record_end()";
    } else if (log != NULL && log->replay != recording) {
        wrong =
            "a tick of another replay is half done; finish it with orr_replay() of that recording";
    } else if (log == NULL && world->schedule->now != NULL) {
        wrong = "a tick is half done; finish it with orr_step()";
    } else if (recording->in_use) {
        wrong = "a world is recorded to this recording; end that with orr_record_end()";
    }
    if (wrong != NULL) {
        return replay_refuse(world, ORR_ERR_STATE, wrong);
    }
    return orri_recording_fits(world, recording, "orr_replay");
}

static orr_result replay_check_desc(orr_world* world, const orr_replay_desc* desc)
{
    if (!(desc->rate >= 0 && desc->rate <= DBL_MAX)) {
        return orri_refuse(
            &world->env, ORR_ERR_RANGE, ORR_LOG_ID_CALL_REFUSED,
            "orr_replay: the rate %g is negative, infinite or NaN; 1 is the recorded "
            "speed, 0 is as fast as possible",
            desc->rate);
    }
    if (desc->until_tick != 0 && desc->until_tick < world->tick) {
        return orri_refuse(&world->env, ORR_ERR_PAST, ORR_LOG_ID_CALL_REFUSED,
                           "orr_replay: the world is at tick %llu, already past until_tick %llu; "
                           "travel back with orr_time_travel(), or build the world again",
                           (unsigned long long)world->tick, (unsigned long long)desc->until_tick);
    }
    return ORR_OK;
}

// ---- hashes -------------------------------------------------------------------------------------

// Compares the world's hash with the recorded one, if there is one for this tick. Errors are
// reported.
static orr_result replay_verify(replay_run* run)
{
    orr_world* world = run->world;
    const orri_lockstep_log_mark* mark = orri_lockstep_log_mark_at(run->recording, world->tick);
    if (mark == NULL || run->desc.no_verify) {
        return ORR_OK;
    }
    uint64_t hash = orr_world_hash(world);
    run->report.verified++;
    if (hash == mark->hash) {
        run->report.agreed_tick = world->tick;
        return ORR_OK;
    }
    run->report.differs_tick = world->tick;
    run->report.hash = hash;
    run->report.hash_recorded = mark->hash;
    char agreed[96] = "build the world in the same way, with the same seed";
    if (run->report.verified > 1) {
        snprintf(agreed, sizeof agreed,
                 "tick %llu was the last that agreed; the run depends on unrecorded state",
                 (unsigned long long)run->report.agreed_tick);
    } else if (run->report.ticks > 0) {
        snprintf(agreed, sizeof agreed,
                 "no tick was compared before; the run depends on unrecorded state");
    }
    return orri_refuse(&world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
                       "orr_replay: at tick %llu the world has the hash %016llx, but %016llx was "
                       "recorded: %s",
                       (unsigned long long)world->tick, (unsigned long long)hash,
                       (unsigned long long)mark->hash, agreed);
}

// ---- a tick -------------------------------------------------------------------------------------

// Runs the ticks of spectators that are due before the next tick of `pipe`.
static orr_result replay_spectators(orr_world* world, const orri_pipeline* pipe)
{
    const struct orri_schedule* schedule = world->schedule;
    orr_result result = ORR_OK;
    for (orri_pipeline* next = NULL; result == ORR_OK; next = NULL) {
        for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
            orri_pipeline* other = schedule->pipelines[i];
            bool before = other->spectator && (other->due_ns < pipe->due_ns ||
                                               (other->due_ns == pipe->due_ns && i < pipe->index));
            next = before && (next == NULL || other->due_ns < next->due_ns) ? other : next;
        }
        if (next == NULL) {
            break;
        }
        result = orri_tick(next, next->interval);
    }
    return result;
}

// Waits so that a second of the world's time takes 1 / rate seconds.
static void replay_pace(const replay_run* run, uint64_t time_ns)
{
    const orr_platform* platform = run->world->env.platform;
    if (!(run->desc.rate > 0) || time_ns <= run->begun_time_ns) {
        return;
    }
    double wanted = (double)(time_ns - run->begun_time_ns) / run->desc.rate;
    uint64_t passed = platform->clock_ns(platform->user) - run->begun_ns;
    double left = wanted - (double)passed, most = (double)ORRI_TIME_MAX_NS;
    if (left > 0) {
        platform->sleep_ns(platform->user, left < most ? (uint64_t)left : ORRI_TIME_MAX_NS);
    }
}

// Memory was refused when a recorded input was applied, so the world differs from the recorded one.
static orr_result replay_refuse_memory(const replay_run* run)
{
    run->log->memory_refused = false;
    return orri_refuse(&run->world->env, ORR_ERR_MEMORY, ORR_LOG_ID_CALL_REFUSED,
                       "orr_replay: in tick %llu memory was refused to a posted call or to the "
                       "results of an impure system, which are missing now; replay from the "
                       "beginning, with more memory",
                       (unsigned long long)run->world->tick);
}

// Impure systems used other recorded bytes than in the recorded tick.
static orr_result replay_refuse_diverged(replay_run* run)
{
    run->report.differs_tick = run->world->tick;
    char agreed[64] = "no tick was compared before";
    if (run->report.verified > 0) {
        snprintf(agreed, sizeof agreed, "tick %llu was the last that agreed",
                 (unsigned long long)run->report.agreed_tick);
    }
    return orri_refuse(
        &run->world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
        "orr_replay: in tick %llu impure systems did not run as recorded; %s; add the "
        "same systems in the same order",
        (unsigned long long)run->world->tick, agreed);
}

// True when the times of a tick are near those of the world, so that no spectator runs the ticks of
// years before it.
static bool replay_times_possible(const replay_run* run, const orri_lockstep_entry* entry,
                                  const orri_pipeline* pipe)
{
    const orri_pipeline* first = run->world->schedule->pipelines[0];
    return orri_recorded_step_possible(run->world, entry->time_ns, run->report.ticks == 0) &&
           orri_recorded_dt_possible(entry->dt, pipe->interval) &&
           orri_recorded_due_possible(entry->due_ns, entry->time_ns, pipe->interval_ns) &&
           orri_recorded_due_possible(entry->first_ns, entry->time_ns, first->interval_ns);
}

// Runs the next tick, or continues the half-done one, which may be that of a spectator.
static orr_result replay_tick(replay_run* run)
{
    orr_world* world = run->world;
    orri_lockstep_log* log = run->log;
    const orri_lockstep_entry* entry = &run->recording->entries[log->at];
    orri_pipeline* pipe = orri_lockstep_log_pipeline(world, entry->number);
    if (pipe == NULL) {
        return replay_refuse(world, ORR_ERR_CONFLICT,
                             "the recorded world has more pipelines than this world; add the same "
                             "pipelines");
    }
    orri_pipeline* half = world->schedule->now;
    if (half != NULL && half->spectator) {
        orr_result result = orri_tick(half, half->interval);
        if (result != ORR_OK) {
            return result;
        }
    }
    if (world->schedule->now == NULL) {
        if (log->begun && !replay_times_possible(run, entry, pipe)) {
            return orri_recorded_time_refuse(world, "orr_replay", pipe->name, entry->due_ns);
        }
        world->schedule->pipelines[0]->due_ns = entry->first_ns;
        pipe->due_ns = entry->due_ns;
        world->schedule->time_ns = entry->time_ns;
        if (log->begun) {
            log->now = *entry;
            log->begun = false;
        }
        replay_pace(run, entry->due_ns);
        orr_result result = replay_spectators(world, pipe);
        if (result != ORR_OK) {
            return result;
        }
    }
    orr_result result = orri_tick(pipe, entry->dt);
    if (world->schedule->now != NULL || !log->begun) {
        return result; // The tick is half done, or did not begin.
    }
    run->report.ticks++;
    size_t used = log->impure_at - log->input_begin;
    log->input_begin = log->impure_at;
    log->at++;
    if (log->memory_refused) {
        return replay_refuse_memory(run);
    }
    if (log->diverged || used != entry->input_size) {
        return replay_refuse_diverged(run);
    }
    return result == ORR_OK ? replay_verify(run) : result;
}

// ---- the replay ---------------------------------------------------------------------------------

// Checks tick and hash of the world, and attaches the recording to it.
static orr_result replay_begin(replay_run* run)
{
    orr_world* world = run->world;
    const orr_recording* recording = run->recording;
    uint64_t last = recording->begin_tick + recording->entry_count;
    if (world->tick < recording->begin_tick || world->tick > last) {
        return orri_refuse(
            &world->env, ORR_ERR_PAST, ORR_LOG_ID_CALL_REFUSED,
            "orr_replay: the world is at tick %llu, but the recording has ticks %llu "
            "to %llu; build the world again, or travel with orr_time_travel()",
            (unsigned long long)world->tick, (unsigned long long)recording->begin_tick,
            (unsigned long long)last);
    }
    orr_result result = replay_verify(run);
    orri_lockstep_log* log =
        result == ORR_OK ? ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SYSTEM, orri_lockstep_log, 1)
                         : NULL;
    if (log == NULL) {
        return result != ORR_OK ? result : orri_refuse_memory(&world->env, "beginning a replay");
    }
    log->replay = recording;
    log->begun = true;
    log->at = (uint32_t)(world->tick - recording->begin_tick);
    orri_lockstep_log_place(recording, log->at, &log->call_at, &log->impure_at);
    log->input_begin = log->impure_at;
    orri_lockstep_log_set(world, log);
    run->log = log;
    return ORR_OK;
}

static bool replay_continues(const replay_run* run)
{
    const orr_replay_desc* desc = &run->desc;
    return run->world->schedule->now != NULL ||
           (run->log->at < run->recording->entry_count &&
            (desc->until_tick == 0 || run->world->tick < desc->until_tick));
}

// Calls on_tick. The thread is marked meanwhile, so that stepping and posting in it are refused.
static bool replay_on_tick(const replay_run* run)
{
    struct orri_schedule* schedule = run->world->schedule;
    const orr_world* before = orri_tick_here;
    orri_tick_here = run->world;
    schedule->calling = run->log->in_on_tick = run->world->running.in_callback = true;
    bool on = run->desc.on_tick(run->desc.user, run->world);
    schedule->calling = run->log->in_on_tick = run->world->running.in_callback = false;
    orri_tick_here = before;
    return on;
}

static orr_result replay_all(replay_run* run)
{
    orr_world* world = run->world;
    const orr_platform* platform = world->env.platform;
    orr_result result = ORR_OK;
    run->begun_ns = run->desc.rate > 0 ? platform->clock_ns(platform->user) : 0;
    run->begun_time_ns = world->schedule->time_ns;
    while (result == ORR_OK && replay_continues(run)) {
        result = replay_tick(run);
        if (result == ORR_OK && run->desc.on_tick != NULL && !replay_on_tick(run)) {
            break;
        }
    }
    if (result != ORR_OK || run->log->at < run->recording->entry_count) {
        return result;
    }
    uint64_t end_ns = run->recording->time_ns;
    if (!orri_recorded_step_possible(world, end_ns, true)) {
        return orri_recorded_time_refuse(world, "orr_replay", world->schedule->pipelines[0]->name,
                                         end_ns);
    }
    world->schedule->time_ns = end_ns;
    return ORR_OK;
}

orr_result orri_replay_run(orr_world* world, const orr_recording* recording,
                           const orr_replay_desc* desc, orr_replay_report* out)
{
    replay_run run = {.world = world, .recording = recording};
    run.desc = desc != NULL ? *desc : run.desc;
    orr_result result = orri_step_check(world, "orr_replay");
    result = result == ORR_OK ? replay_check(world, recording) : result;
    result = result == ORR_OK ? replay_check_desc(world, &run.desc) : result;
    if (result != ORR_OK) {
        return result;
    }
    orri_ticks_begin(world);
    run.log = world->schedule->lockstep_log; // Set if a tick of this replay is half done.
    result = run.log == NULL ? replay_begin(&run) : ORR_OK;
    if (result == ORR_OK) {
        run.log->ends_with_tick = false;
        result = replay_all(&run);
        run.log->ends_with_tick = true;
        if (world->schedule->now == NULL && run.log->begun) {
            orri_lockstep_log_set(world, NULL);
        }
    }
    if (out != NULL) {
        *out = run.report;
    }
    return result;
}

orr_result orr_replay(orr_world* world, const orr_recording* recording, const orr_replay_desc* desc,
                      orr_replay_report* out)
{
    ORR_ASSERT(world != NULL && recording != NULL);
    orr_result result = orri_replay_run(world, recording, desc, out);
    return result != ORR_OK ? result : orri_ticks_result(world, result);
}
