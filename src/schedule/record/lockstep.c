// SPDX-License-Identifier: MIT
// The lockstep log: before each tick posted calls run and are recorded, with everything else the
// tick depends on; a replay takes them from the recording. Recording never stops a run: without
// memory the recording ends with its last whole tick.
#include "schedule/record/recording.h"

// ---- pipelines by number ------------------------------------------------------------------------

uint32_t orri_lockstep_log_number(const orri_pipeline* pipe)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < pipe->index; i++) {
        number += !pipe->world->schedule->pipelines[i]->spectator;
    }
    return number;
}

orri_pipeline* orri_lockstep_log_pipeline(const orr_world* world, uint32_t number)
{
    const struct orri_schedule* schedule = world->schedule;
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        if (!schedule->pipelines[i]->spectator && number-- == 0) {
            return schedule->pipelines[i];
        }
    }
    return NULL;
}

// ---- ticks and marks ----------------------------------------------------------------------------

const orri_lockstep_log_mark* orri_lockstep_log_mark_at(const struct orr_recording* recording,
                                                        uint64_t tick)
{
    uint32_t low = 0, high = recording->mark_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (recording->marks[middle].tick < tick) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < recording->mark_count && recording->marks[low].tick == tick;
    return found ? &recording->marks[low] : NULL;
}

void orri_lockstep_log_place(const struct orr_recording* recording, uint32_t ticks, uint32_t* calls,
                             size_t* input_size)
{
    ORR_ASSERT(ticks <= recording->entry_count);
    const orri_lockstep_entry* last = ticks > 0 ? &recording->entries[ticks - 1] : NULL;
    *calls = last != NULL ? last->call_at + last->calls : 0;
    *input_size = last != NULL ? last->impure_at + last->input_size : 0;
}

bool orri_lockstep_log_append(struct orr_recording* recording, const orri_lockstep_entry* tick)
{
    if (!ORRI_RESERVE(&recording->env, ORR_MEMORY_SYSTEM, &recording->entries,
                      &recording->entry_capacity, recording->entry_count + 1)) {
        return false;
    }
    orri_lockstep_entry* next = &recording->entries[recording->entry_count];
    *next = *tick;
    orri_lockstep_log_place(recording, recording->entry_count, &next->call_at, &next->impure_at);
    ORR_ASSERT(next->call_at + next->calls == recording->call_count);
    ORR_ASSERT(next->impure_at + next->input_size == recording->inputs[0].bytes.count);
    recording->ticks = ++recording->entry_count;
    return true;
}

void orri_lockstep_log_cut(struct orr_recording* recording, uint32_t ticks)
{
    ORR_ASSERT(ticks <= recording->entry_count);
    uint32_t calls;
    size_t input_size;
    orri_lockstep_log_place(recording, ticks, &calls, &input_size);
    while (recording->call_count > calls) {
        orri_call_free(&recording->env, recording->calls[--recording->call_count]);
    }
    ORR_ASSERT(input_size <= recording->inputs[0].bytes.count);
    recording->inputs[0].bytes.count = (uint32_t)input_size;
    recording->inputs[0].bytes.failed = false;
    if (ticks < recording->entry_count) { // The reasons for its end are cut off.
        recording->time_ns = recording->entries[ticks].time_ns;
        recording->full = recording->refused = recording->cut = false;
    }
    recording->entry_count = ticks;
    recording->ticks = ticks;
    uint64_t last = recording->begin_tick + ticks;
    while (recording->mark_count > 0 && recording->marks[recording->mark_count - 1].tick > last) {
        recording->mark_count--;
    }
    if (recording->changed_tick1 > last + 1) {
        recording->changed_tick1 = 0;
    }
}

bool orri_lockstep_log_records(const orri_lockstep_log* log)
{
    const struct orr_recording* record = log->record;
    return record != NULL && !record->full && !record->refused;
}

// Ends the recording with its whole ticks. Reports.
static void lockstep_log_stop(const orr_world* world, orri_lockstep_log* log, bool refused,
                              const char* why)
{
    struct orr_recording* record = log->record;
    orri_lockstep_log_cut(record, record->entry_count);
    record->full = !refused;
    record->refused = refused;
    orri_log(
        orri_env_of(world), ORR_LOG_ID_RECORDING_FULL,
        "the recording ends with tick %llu of the world: %s; the recorded part can be replayed",
        (unsigned long long)(record->begin_tick + record->entry_count), why);
}

void orri_lockstep_log_stop_full(const orr_world* world, orri_lockstep_log* log)
{
    lockstep_log_stop(world, log, false, "no memory for more of it");
}

static bool lockstep_log_mark(const orr_world* world, struct orr_recording* record, uint64_t hash)
{
    if (!ORRI_RESERVE(&record->env, ORR_MEMORY_SYSTEM, &record->marks, &record->mark_capacity,
                      record->mark_count + 1)) {
        return false;
    }
    record->marks[record->mark_count++] = (orri_lockstep_log_mark){world->tick, hash};
    return true;
}

bool orri_lockstep_log_mark_now(orr_world* world, struct orr_recording* record)
{
    return orri_lockstep_log_mark_at(record, world->tick) != NULL ||
           lockstep_log_mark(world, record, orr_world_hash(world));
}

// ---- before a tick ------------------------------------------------------------------------------

// If the world travelled back to a recorded tick, the recording is cut there and continues. If it
// is at a tick outside the recording, the recording ends.
static void lockstep_log_align(const orr_world* world, orri_lockstep_log* log)
{
    struct orr_recording* record = log->record;
    uint64_t end = record->begin_tick + record->entry_count;
    if (world->tick >= record->begin_tick && world->tick < end) {
        orri_lockstep_log_cut(record, (uint32_t)(world->tick - record->begin_tick));
        log->now.calls = 0;
    } else if (world->tick != end) {
        lockstep_log_stop(
            world, log, true,
            "the world came to a tick that does not follow the last one, by orr_tick_advance() or "
            "orr_time_travel(); while it is recorded, advance it with orr_step()");
    }
}

// If the last tick has a mark, the world must still have that hash. Otherwise something changed it
// that is not recorded.
static void lockstep_log_check_hash(orr_world* world, const orri_lockstep_log* log)
{
    struct orr_recording* record = log->record;
    const orri_lockstep_log_mark* mark = orri_lockstep_log_mark_at(record, world->tick);
    if (mark == NULL || record->changed_tick1 != 0) {
        return;
    }
    orri_pipeline* first = world->schedule->pipelines[0];
    // Elapsed time is an input, too, and is recorded: not part of this comparison.
    uint64_t due_ns = first->due_ns;
    first->due_ns = first->rate_hz > 0 ? due_ns : log->first_ns;
    uint64_t hash = orr_world_hash(world);
    first->due_ns = due_ns;
    if (hash == mark->hash) {
        return;
    }
    record->changed_tick1 = world->tick + 1;
    orri_log(&world->env, ORR_LOG_ID_RECORDING_INCOMPLETE,
             "the world was changed between tick %llu and %llu by calls that are not in the "
             "recording, so that a replay will differ; post them with orr_post()",
             (unsigned long long)world->tick, (unsigned long long)world->tick + 1);
}

void orri_lockstep_log_check(orr_world* world, orri_lockstep_log* log)
{
    if (orri_lockstep_log_records(log)) {
        lockstep_log_align(world, log);
    }
    if (orri_lockstep_log_records(log)) {
        lockstep_log_check_hash(world, log);
    }
}

// Appends copies of the calls to the recording.
static bool lockstep_log_keep_calls(struct orr_recording* record, const orri_call* calls,
                                    uint32_t* count)
{
    for (const orri_call* call = calls; call != NULL; call = call->next) {
        orri_call* copy =
            ORRI_RESERVE(&record->env, ORR_MEMORY_SYSTEM, &record->calls, &record->call_capacity,
                         record->call_count + 1)
                ? orri_call_make(&record->env, call->call, call->data, call->size, call->sync)
                : NULL;
        if (copy == NULL) {
            return false;
        }
        record->calls[record->call_count++] = copy;
        ++*count;
    }
    return true;
}

static void lockstep_log_do_calls(orr_world* world, orri_call* calls)
{
    const orr_world* before = orri_tick_here;
    orri_tick_here = world;
    bool within = world->running.in_callback; // `done` of orr_run_until() may run ticks.
    world->schedule->calling = world->running.in_callback = true;
    orri_calls_run(world, calls);
    world->schedule->calling = false;
    world->running.in_callback = within;
    orri_tick_here = before;
}

static void lockstep_log_record_before(orri_pipeline* pipe, orri_lockstep_log* log, float dt,
                                       orri_call* calls)
{
    orr_world* world = pipe->world;
    orri_lockstep_log_check(world, log);
    // Calls that ran for a tick that was refused to begin.
    uint32_t before = log->begun ? 0 : log->now.calls;
    log->now = (orri_lockstep_entry){.due_ns = pipe->due_ns,
                                     .time_ns = world->schedule->time_ns,
                                     .first_ns = world->schedule->pipelines[0]->due_ns,
                                     .dt = dt,
                                     .number = orri_lockstep_log_number(pipe),
                                     .calls = before};
    log->begun = false;
    log->tick = world->tick;
    log->refusals = world->env.refusals;
    log->input_begin = log->record->inputs[0].bytes.count;
    if (orri_lockstep_log_records(log) &&
        !lockstep_log_keep_calls(log->record, calls, &log->now.calls)) {
        orri_lockstep_log_stop_full(world, log);
    }
    lockstep_log_do_calls(world, calls);
}

// Runs copies of the recorded calls: a call may write into its data.
static orr_result lockstep_log_replay_calls(orr_world* world, orri_lockstep_log* log,
                                            uint32_t count)
{
    orri_call *first = NULL, **end = &first;
    for (uint32_t i = 0; i < count; i++) {
        const orri_call* call = log->replay->calls[log->call_at + i];
        *end = orri_call_make(&world->env, call->call, call->data, call->size, call->sync);
        if (*end == NULL) {
            orri_calls_free(world, first);
            return orri_refuse_memory(&world->env, "replaying a call");
        }
        end = &(*end)->next;
    }
    log->call_at += count;
    log->now.calls = 0; // If the tick is refused to begin, they are not run again.
    uint64_t refusals = world->env.refusals;
    lockstep_log_do_calls(world, first);
    log->memory_refused |= world->env.refusals != refusals;
    return ORR_OK;
}

orr_result orri_lockstep_log_before(orri_pipeline* pipe, float dt)
{
    orr_world* world = pipe->world;
    struct orri_schedule* schedule = world->schedule;
    orri_lockstep_log* log = schedule->lockstep_log;
    if (log != NULL && log->replay != NULL) {
        log->tick = world->tick;
        return lockstep_log_replay_calls(world, log, log->now.calls);
    }
    orri_call* calls = pipe == schedule->pipelines[0] ? orri_posts_take(schedule) : NULL;
    if (log != NULL) {
        lockstep_log_record_before(pipe, log, dt, calls);
    } else {
        lockstep_log_do_calls(world, calls);
    }
    return ORR_OK;
}

// ---- after a tick -------------------------------------------------------------------------------

static void lockstep_log_record_after(orr_world* world, orri_lockstep_log* log)
{
    struct orr_recording* record = log->record;
    orri_bytes* bytes = &record->inputs[0].bytes;
    if (!orri_lockstep_log_records(log)) {
        return;
    }
    if (world->env.refusals != log->refusals) {
        lockstep_log_stop(world, log, true,
                          "memory was refused in the next tick, which a replay cannot reproduce");
        return;
    }
    log->now.input_size = (uint32_t)(bytes->count - log->input_begin);
    if (bytes->failed || !orri_lockstep_log_append(record, &log->now)) {
        orri_lockstep_log_stop_full(world, log);
        return;
    }
    record->time_ns = world->schedule->time_ns;
    bool marks = record->hash_every > 0 && record->entry_count % record->hash_every == 0;
    if (marks && !orri_lockstep_log_mark_now(world, record)) {
        orri_lockstep_log_stop_full(world, log);
    }
}

void orri_lockstep_log_after(orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    orri_lockstep_log* log = world->schedule->lockstep_log;
    if (world->schedule->now != NULL || world->tick != log->tick + 1) {
        return; // The tick is half done, or did not begin.
    }
    log->begun = true;
    log->first_ns = world->schedule->pipelines[0]->due_ns;
    if (log->record != NULL) {
        lockstep_log_record_after(world, log);
    } else if (log->ends_with_tick) {
        orri_lockstep_log_set(world, NULL);
    }
}

// ---- begin and end ------------------------------------------------------------------------------

void orri_lockstep_log_set(orr_world* world, orri_lockstep_log* log)
{
    struct orri_schedule* schedule = world->schedule;
    orri_mutex_lock(world->env.platform, &schedule->posting);
    orri_lockstep_log* before = schedule->lockstep_log;
    schedule->lockstep_log = log;
    orri_mutex_unlock(world->env.platform, &schedule->posting);
    if (log != NULL) {
        orri_recording_replay_begin(log->replay);
    }
    if (before != NULL) {
        orri_recording_replay_end(before->replay);
        if (before->record != NULL) {
            before->record->in_use = false;
        }
        ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_lockstep_log, before, 1);
    }
}

void orri_lockstep_log_free(orr_world* world)
{
    if (world->schedule->lockstep_log != NULL) {
        orri_lockstep_log_set(world, NULL);
    }
    orri_calls_free(world, orri_posts_take(world->schedule));
    orri_named_free(world);
}
