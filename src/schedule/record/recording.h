// SPDX-License-Identifier: MIT
// Recordings: what a run depends on besides the world it begins with. Of a run in real time: turns, grants, clocks (realtime_log.c). In lockstep: its
// ticks one by one (lockstep.c). In both: calls from outside, and what impure systems did (impure.c).
#ifndef ORRI_SCHEDULE_RECORD_RECORDING_H
#define ORRI_SCHEDULE_RECORD_RECORDING_H

#include "lock/lock.h"
#include "schedule/schedule.h"

// A call from outside.
typedef struct orri_call {
    struct orri_call* next;
    orr_call call;    // NULL: of a file, and nobody has registered its name.
    const char* name; // Of a call from a file, in its recording's list; else NULL.
    bool meeting;     // All pipelines stand between ticks.
    uint32_t size;
    uint8_t data[];
} orri_call;

orri_call* orri_call_make(orri_env* env, orr_call call, const void* data, size_t size,
                          bool meeting);
void orri_call_free(orri_env* env, orri_call* call);

// A pipeline's clock when a tick of it ended, ticks it left out so far, and the world's time.
typedef struct orri_realtime_log_clock {
    uint64_t start_ns, ran, due_ns;
    uint64_t dropped, time_ns;
} orri_realtime_log_clock;

// A tick in lockstep.
typedef struct orri_lockstep_entry {
    uint64_t due_ns, time_ns; // Of its pipeline and of the world, when it began;
    uint64_t
        first_ns; // and when the first pipeline is due, which orr_update() says if that is continuous.
    float dt;
    uint32_t number;     // Of its pipeline, among those that are no spectators.
    uint32_t calls;      // Done before it;
    uint32_t call_at;    // the first of them in the list.
    uint32_t input_size; // Bytes of what impure systems did in it;
    size_t impure_at;    // where they begin in `inputs[0]`.
} orri_lockstep_entry;

// The world's hash after a tick of the world.
typedef struct orri_lockstep_log_mark {
    uint64_t tick, hash;
} orri_lockstep_log_mark;

// What the numbers in a recording mean, as its file says: types by index, pipelines by number, systems.
typedef struct orri_lockstep_log_name {
    char* name;
    uint64_t word; // The layout of a type; the rate of a pipeline, as bits; 1 for an impure system.
} orri_lockstep_log_name;

typedef enum orri_lockstep_log_kind {
    ORRI_LOCKSTEP_LOG_TYPES,
    ORRI_LOCKSTEP_LOG_PIPELINES,
    ORRI_LOCKSTEP_LOG_SYSTEMS,
    ORRI_LOCKSTEP_LOG_CALLS,     // Names of calls,
    ORRI_LOCKSTEP_LOG_FUNCTIONS, // and of functions of transactions, by pipeline in turn.
    ORRI_LOCKSTEP_LOG_KINDS
} orri_lockstep_log_kind;

typedef struct orri_lockstep_log_names {
    orri_lockstep_log_name* names;
    uint32_t count, capacity;
} orri_lockstep_log_names;

// Spectators are no part of it: pipelines are numbered without them.
struct orr_recording {
    orri_env env;
    // It is a true beginning: memory for it ran out; or something of the run was refused, which a replay has no reason to refuse. In real time it
    // ends in the midst of ticks then, in lockstep with the last whole one.
    bool full, refused;
    bool hashed;
    uint64_t begin_hash; // Of the world it began with.

    // In real time.
    uint32_t* turns; // Number of the pipeline << 2 | orri_turn
    uint32_t turn_count, turn_capacity;
    float* dts;
    uint32_t dt_count, dt_capacity;
    uint32_t* call_counts; // << 1 | at a meeting
    uint32_t count_count, count_capacity;
    uint64_t* hashes; // In order of the ends of ticks.
    uint32_t hash_count, hash_capacity;
    orri_lock_log grants;
    uint32_t*
        budgets; // What a budget of memory decided for the window: it depends on who looks on.
    uint32_t budget_count, budget_capacity;
    orri_realtime_log_clock* ended; // Clocks after each tick, in order of their ends.
    uint32_t ended_count, ended_capacity;

    // In lockstep.
    bool lockstep;
    bool taking; // A world records into it now.
    bool cut;    // Its file ended before it did.
    uint32_t hash_every;
    uint64_t begin_tick;
    uint64_t
        changed_tick1; // Behind this tick the world was changed by something that is not here; plus 1. 0: it was not.
    orri_lockstep_entry* taped; // Number i is tick begin_tick + 1 + i of the world.
    uint32_t taped_count, taped_capacity;
    orri_lockstep_log_mark* marks; // By tick; the first one is of the beginning.
    uint32_t mark_count, mark_capacity;

    orri_call** calls;
    uint32_t call_count, call_capacity;
    orri_command_bytes inputs
        [ORR_PIPELINES_MAX]; // What impure systems did, by pipeline; in lockstep all of it in the first.
    uint64_t ticks;
    uint64_t time_ns; // The world's, at the end.

    orri_lockstep_log_names
        names[ORRI_LOCKSTEP_LOG_KINDS]; // Of a recording that was read from a file.
};

// Empties it.
void orri_recording_clear(struct orr_recording* recording);
// Adds a name; false: memory is refused. `size` bytes, without a zero.
bool orri_recording_name(struct orr_recording* recording, orri_lockstep_log_kind kind,
                         const char* name, size_t size, uint64_t word);

// ---- compat.c -----------------------------------------------------------------------------------------------------------

// ORR_OK if what its file says of types, pipelines and calls is so in this world. Reports.
orr_result orri_recording_fits(orr_world* world, const struct orr_recording* recording,
                               const char* call);
// The name of a function of transactions, of a pipeline's list; NULL: its file did not say.
const char* orri_recording_function(const struct orr_recording* recording, uint32_t number,
                                    uint32_t index);

// ---- lockstep.c: lockstep ---------------------------------------------------------------------------------------------------

// What a world in lockstep is recorded to, or follows.
typedef struct orri_lockstep_log {
    struct orr_recording* record;       // NULL: none.
    const struct orr_recording* replay; // NULL: none.
    uint64_t tick;                      // Of the world, before the tick that is next or under way.
    orri_lockstep_entry now;            // That tick, as far as it is known.
    bool begun;
    uint64_t refusals; // Of memory, before it.
    uint64_t first_ns; // When the first pipeline was due after the last tick.
    uint64_t epoch;    // When the impure system that runs began.
    // Of the replay: what comes next.
    uint32_t at, call_at;
    size_t impure_at, input_begin; // The latter: of the tick.
    bool astray;                   // It did something else than was recorded.
    bool lacks;   // Memory was refused to what comes from it: the world lacks something.
    bool showing; // Between its ticks who watches is called.
    bool loose;   // The replay was refused within a tick, which is still open: it ends with that.
} orri_lockstep_log;

// True while what happens is taken down.
bool orri_lockstep_log_records(const orri_lockstep_log* tape);
// Before a tick of a pipeline that is no spectator: calls from outside, if it is the first; what the tick is, is noted. On refusal (reported) nothing was done.
orr_result orri_lockstep_log_before(orri_pipeline* pipe, float dt);
// What is recorded leads to where the world is, and where there is a hash it has that; otherwise it is said, and noted. Between ticks.
void orri_lockstep_log_look(orr_world* world, orri_lockstep_log* tape);
// The recording ends, with the ticks that are whole: no memory for more of it.
void orri_lockstep_log_lacks(const orr_world* world, orri_lockstep_log* tape);
// The world's hash is taken down, unless it was. False: memory is refused.
bool orri_lockstep_log_mark_now(orr_world* world, struct orr_recording* record);
// The tick may have ended.
void orri_lockstep_log_after(orri_pipeline* pipe);
// A tick more, whose calls and bytes are the next ones. False: memory is refused.
bool orri_lockstep_log_append(struct orr_recording* recording, const orri_lockstep_entry* tick);
// Drops all but `ticks` of its ticks.
void orri_lockstep_log_cut(struct orr_recording* recording, uint32_t ticks);
// Calls and bytes of impure systems that its first `ticks` ticks have.
void orri_lockstep_log_place(const struct orr_recording* recording, uint32_t ticks, uint32_t* calls,
                             size_t* input_size);
// The mark of a tick; NULL: it has none.
const orri_lockstep_log_mark* orri_lockstep_log_mark_at(const struct orr_recording* recording,
                                                        uint64_t tick);
// Number among pipelines that are no spectators; and the pipeline with a number, NULL: there is none.
uint32_t orri_lockstep_log_number(const orri_pipeline* pipe);
orri_pipeline* orri_lockstep_log_pipeline(const orr_world* world, uint32_t number);
// Puts it in its place, or (NULL) takes it away; nobody posts meanwhile.
void orri_lockstep_log_set(orr_world* world, orri_lockstep_log* tape);
void orri_lockstep_log_gone(orr_world* world);

// ---- looking at a tick as it goes, in lockstep -----------------------------------------------------------------------------

// What is told of: the world as it is then.
typedef enum orri_probe_at {
    ORRI_PROBE_OUTSIDE, // What came from outside is done, no system has run.
    ORRI_PROBE_RAN,     // A system ran; what it sent waits in its lanes.
    ORRI_PROBE_ENDED,   // Values and events that it sent are there.
    ORRI_PROBE_CALLED,  // A function that it transacts with was called.
    ORRI_PROBE_POINT,   // All that was sent up to here is done.
} orri_probe_at;
// While a world has one its systems run one after the other, on the driving thread.
typedef struct orri_probe {
    void (*look)(struct orri_probe* probe, orr_world* world, orri_probe_at at,
                 const orri_system* system);
} orri_probe;

// ---- calls.c ------------------------------------------------------------------------------------------------------------

// Calls that were posted in lockstep, off the list.
orri_call* orri_posts_take(struct orri_schedule* schedule);
// Does calls and frees them.
void orri_calls_do(orr_world* world, orri_call* calls);
void orri_calls_free(orr_world* world, orri_call* calls);

// ---- call_registry.c: functions by name -------------------------------------------------------------------------------------------

// A function that files name: an orr_call, or an orr_transaction.
typedef struct orri_named {
    char* name;
    orr_call call;
    orr_transaction transaction;
} orri_named;
// NULL: it has none.
const char* orri_call_name(const orr_world* world, orr_call call);
const char* orri_transaction_name(const orr_world* world, orr_transaction function);
orr_call orri_call_named(const orr_world* world, const char* name);
orr_transaction orri_transaction_named(const orr_world* world, const char* name);
void orri_named_free(orr_world* world);

// ---- impure.c: impure systems ---------------------------------------------------------------------------------------------------

// True when it is not called: what it did is recorded.
bool orri_impure_replays(const orri_system* system);
// True when what it does is taken down.
bool orri_impure_records(const orri_system* system);
// True when one of these steps' systems is either: then they run one after the other, with lanes that were opened ahead.
bool orri_impure_any(const orri_pipeline* pipe, uint32_t first, uint32_t point);
// ORR_OK if what all of them may do can be. Reports, with system and type. Plans were made.
orr_result orri_impure_check(orr_world* world, const char* call);
// After its group's call of it, by its pipeline's thread, with its lanes still open; or after a callback, with the callback's lane.
void orri_impure_record(orri_system* system, const orr_command_buffer* commands);
// Instead of its group's call of it.
void orri_impure_replay(orri_system* system);
// Whether a callback of it is what comes next; and instead of that.
bool orri_impure_waits(orri_system* system);
void orri_impure_replay_callback(orri_system* system, orr_command_buffer* commands);

#endif
