// SPDX-License-Identifier: MIT
// Lockstep on tape: before each tick calls from outside are done, and noted with what else the tick depends on; in a replay they come from the
// recording. Recording never stands in the way: without memory it ends, with the last whole tick.
#include "schedule/record/recording.h"

// ---- pipelines by number ------------------------------------------------------------------------------------------------

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

// ---- ticks and marks ------------------------------------------------------------------------------------------------------

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
    ORR_ASSERT(ticks <= recording->taped_count);
    const orri_lockstep_entry* last = ticks > 0 ? &recording->taped[ticks - 1] : NULL;
    *calls = last != NULL ? last->call_at + last->calls : 0;
    *input_size = last != NULL ? last->impure_at + last->input_size : 0;
}

bool orri_lockstep_log_append(struct orr_recording* recording, const orri_lockstep_entry* tick)
{
    if (!ORRI_RESERVE(&recording->env, ORR_MEMORY_SYSTEM, &recording->taped,
                      &recording->taped_capacity, recording->taped_count + 1)) {
        return false;
    }
    orri_lockstep_entry* next = &recording->taped[recording->taped_count];
    *next = *tick;
    orri_lockstep_log_place(recording, recording->taped_count, &next->call_at, &next->impure_at);
    ORR_ASSERT(next->call_at + next->calls == recording->call_count);
    ORR_ASSERT(next->impure_at + next->input_size == recording->inputs[0].bytes.count);
    recording->ticks = ++recording->taped_count;
    return true;
}

void orri_lockstep_log_cut(struct orr_recording* recording, uint32_t ticks)
{
    ORR_ASSERT(ticks <= recording->taped_count);
    uint32_t calls;
    size_t input_size;
    orri_lockstep_log_place(recording, ticks, &calls, &input_size);
    while (recording->call_count > calls) {
        orri_call_free(&recording->env, recording->calls[--recording->call_count]);
    }
    ORR_ASSERT(input_size <= recording->inputs[0].bytes.count);
    recording->inputs[0].bytes.count = (uint32_t)input_size;
    recording->inputs[0].bytes.failed = false;
    if (ticks < recording->taped_count) { // What it ended with is behind.
        recording->time_ns = recording->taped[ticks].time_ns;
        recording->full = recording->refused = recording->cut = false;
    }
    recording->taped_count = ticks;
    recording->ticks = ticks;
    uint64_t last = recording->begin_tick + ticks;
    while (recording->mark_count > 0 && recording->marks[recording->mark_count - 1].tick > last) {
        recording->mark_count--;
    }
    if (recording->changed_tick1 > last + 1) {
        recording->changed_tick1 = 0;
    }
}

bool orri_lockstep_log_records(const orri_lockstep_log* tape)
{
    const struct orr_recording* record = tape->record;
    return record != NULL && !record->full && !record->refused;
}

// It ends, with the ticks that are whole.
static void lockstep_log_ends(const orr_world* world, orri_lockstep_log* tape, bool refused,
                              const char* why)
{
    struct orr_recording* record = tape->record;
    orri_lockstep_log_cut(record, record->taped_count);
    record->full = !refused;
    record->refused = refused;
    orri_log(orri_env_of(world), ORR_LOG_ID_RECORDING_FULL,
             "the recording ends with tick %llu of the world: %s; what there is stays, and can be "
             "replayed",
             (unsigned long long)(record->begin_tick + record->taped_count), why);
}

void orri_lockstep_log_lacks(const orr_world* world, orri_lockstep_log* tape)
{
    lockstep_log_ends(world, tape, false, "no memory for more of it");
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

// ---- before a tick --------------------------------------------------------------------------------------------------------

// A world that went back records anew from there.
static void lockstep_log_follow(const orr_world* world, orri_lockstep_log* tape)
{
    struct orr_recording* record = tape->record;
    uint64_t end = record->begin_tick + record->taped_count;
    if (world->tick >= record->begin_tick && world->tick < end) {
        orri_lockstep_log_cut(record, (uint32_t)(world->tick - record->begin_tick));
        tape->now.calls = 0;
    } else if (world->tick != end) {
        lockstep_log_ends(
            world, tape, true,
            "the world came to a tick that does not follow it, by orr_tick_advance() or "
            "orr_time_travel(); while it is recorded, move it by ticks: orr_step()");
    }
}

// Where there is a hash of the last tick, the world must still have it.
static void lockstep_log_look(orr_world* world, const orri_lockstep_log* tape)
{
    struct orr_recording* record = tape->record;
    const orri_lockstep_log_mark* mark = orri_lockstep_log_mark_at(record, world->tick);
    if (mark == NULL || record->changed_tick1 != 0) {
        return;
    }
    orri_pipeline* first = world->schedule->pipelines[0];
    uint64_t due_ns = first->due_ns; // Time that passed is an input, too, and is recorded.
    first->due_ns = first->rate_hz > 0 ? due_ns : tape->first_ns;
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

void orri_lockstep_log_look(orr_world* world, orri_lockstep_log* tape)
{
    if (orri_lockstep_log_records(tape)) {
        lockstep_log_follow(world, tape);
    }
    if (orri_lockstep_log_records(tape)) {
        lockstep_log_look(world, tape);
    }
}

// Copies of the calls, behind those that are there.
static bool lockstep_log_keep_calls(struct orr_recording* record, const orri_call* calls,
                                    uint32_t* count)
{
    for (const orri_call* call = calls; call != NULL; call = call->next) {
        orri_call* copy =
            ORRI_RESERVE(&record->env, ORR_MEMORY_SYSTEM, &record->calls, &record->call_capacity,
                         record->call_count + 1)
                ? orri_call_make(&record->env, call->call, call->data, call->size, call->meeting)
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
    world->schedule->calling = true;
    orri_calls_do(world, calls);
    world->schedule->calling = false;
}

static void lockstep_log_record_before(orri_pipeline* pipe, orri_lockstep_log* tape, float dt,
                                       orri_call* calls)
{
    orr_world* world = pipe->world;
    orri_lockstep_log_look(world, tape);
    uint32_t before = tape->begun ? 0
                                  : tape->now.calls; // Done for a tick that was refused to begin.
    tape->now = (orri_lockstep_entry){.due_ns = pipe->due_ns,
                                      .time_ns = world->schedule->time_ns,
                                      .first_ns = world->schedule->pipelines[0]->due_ns,
                                      .dt = dt,
                                      .number = orri_lockstep_log_number(pipe),
                                      .calls = before};
    tape->begun = false;
    tape->tick = world->tick;
    tape->refusals = world->env.refusals;
    tape->input_begin = tape->record->inputs[0].bytes.count;
    if (orri_lockstep_log_records(tape) &&
        !lockstep_log_keep_calls(tape->record, calls, &tape->now.calls)) {
        orri_lockstep_log_lacks(world, tape);
    }
    lockstep_log_do_calls(world, calls);
}

// What the recording has, as copies: a call may write into its data.
static orr_result lockstep_log_replay_calls(orr_world* world, orri_lockstep_log* tape,
                                            uint32_t count)
{
    orri_call *first = NULL, **end = &first;
    for (uint32_t i = 0; i < count; i++) {
        const orri_call* call = tape->replay->calls[tape->call_at + i];
        *end = orri_call_make(&world->env, call->call, call->data, call->size, call->meeting);
        if (*end == NULL) {
            orri_calls_free(world, first);
            return orri_refuse_memory(&world->env, "replaying a call");
        }
        end = &(*end)->next;
    }
    tape->call_at += count;
    tape->now.calls = 0; // If the tick is refused to begin they are not done again.
    uint64_t refusals = world->env.refusals;
    lockstep_log_do_calls(world, first);
    tape->lacks |= world->env.refusals != refusals;
    return ORR_OK;
}

orr_result orri_lockstep_log_before(orri_pipeline* pipe, float dt)
{
    orr_world* world = pipe->world;
    struct orri_schedule* schedule = world->schedule;
    orri_lockstep_log* tape = schedule->tape;
    if (tape != NULL && tape->replay != NULL) {
        tape->tick = world->tick;
        return lockstep_log_replay_calls(world, tape, tape->now.calls);
    }
    orri_call* calls = pipe == schedule->pipelines[0] ? orri_posts_take(schedule) : NULL;
    if (tape != NULL) {
        lockstep_log_record_before(pipe, tape, dt, calls);
    } else {
        lockstep_log_do_calls(world, calls);
    }
    return ORR_OK;
}

// ---- after a tick ---------------------------------------------------------------------------------------------------------

static void lockstep_log_record_after(orr_world* world, orri_lockstep_log* tape)
{
    struct orr_recording* record = tape->record;
    orri_bytes* bytes = &record->inputs[0].bytes;
    if (!orri_lockstep_log_records(tape)) {
        return;
    }
    if (world->env.refusals != tape->refusals) {
        lockstep_log_ends(world, tape, true,
                          "in the tick behind it memory was refused, which a replay would not be");
        return;
    }
    tape->now.input_size = (uint32_t)(bytes->count - tape->input_begin);
    if (bytes->failed || !orri_lockstep_log_append(record, &tape->now)) {
        orri_lockstep_log_lacks(world, tape);
        return;
    }
    record->time_ns = world->schedule->time_ns;
    bool marks = record->hash_every > 0 && record->taped_count % record->hash_every == 0;
    if (marks && !orri_lockstep_log_mark_now(world, record)) {
        orri_lockstep_log_lacks(world, tape);
    }
}

void orri_lockstep_log_after(orri_pipeline* pipe)
{
    orr_world* world = pipe->world;
    orri_lockstep_log* tape = world->schedule->tape;
    if (world->schedule->now != NULL || world->tick != tape->tick + 1) {
        return; // It is open, or did not begin.
    }
    tape->begun = true;
    tape->first_ns = world->schedule->pipelines[0]->due_ns;
    if (tape->record != NULL) {
        lockstep_log_record_after(world, tape);
    } else if (tape->loose) {
        orri_lockstep_log_set(world, NULL);
    }
}

// ---- beginning and end ------------------------------------------------------------------------------------------------------

void orri_lockstep_log_set(orr_world* world, orri_lockstep_log* tape)
{
    struct orri_schedule* schedule = world->schedule;
    orri_mutex_lock(world->env.platform, &schedule->posting);
    orri_lockstep_log* before = schedule->tape;
    schedule->tape = tape;
    orri_mutex_unlock(world->env.platform, &schedule->posting);
    if (before != NULL) {
        if (before->record != NULL) {
            before->record->taking = false;
        }
        ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_lockstep_log, before, 1);
    }
}

void orri_lockstep_log_gone(orr_world* world)
{
    if (world->schedule->tape != NULL) {
        orri_lockstep_log_set(world, NULL);
    }
    orri_calls_free(world, orri_posts_take(world->schedule));
    orri_named_free(world);
}
