// SPDX-License-Identifier: MIT
// Recordings: everything a run depends on besides the world it begins with. Of a run in real time:
// turns, lock grants and clocks (realtime/realtime_log.c). In lockstep: its ticks one by one
// (lockstep.c). In both: posted calls, and effects of impure systems (impure.c).
#ifndef ORRI_SCHEDULE_RECORD_RECORDING_H
#define ORRI_SCHEDULE_RECORD_RECORDING_H

#include "lock/lock.h"
#include "schedule/schedule.h"

// A posted call: a function and a copy of its data.
typedef struct orri_call {
    struct orri_call* next;
    orr_call call;    // NULL: from a file, and its name is not registered.
    const char* name; // In a recording from a file: its name there; else NULL.
    bool sync;        // Runs at a sync point (orr_post_exclusive).
    uint32_t size;    // Bytes of `data`.
    uint8_t data[];
} orri_call;

// NULL when memory is refused. Copies `size` bytes of `data`.
orri_call* orri_call_make(orri_env* env, orr_call call, const void* data, size_t size, bool sync);
void orri_call_free(orri_env* env, orri_call* call);

// The clock of a pipeline when one of its ticks ended, its dropped ticks so far, and the world's
// time.
typedef struct orri_realtime_log_clock {
    uint64_t start_ns, ran, due_ns;
    uint64_t dropped, time_ns;
} orri_realtime_log_clock;

// One tick in lockstep.
typedef struct orri_lockstep_entry {
    // Due time of its pipeline, and the world's time, when it began.
    uint64_t due_ns, time_ns;
    // When the first pipeline is due. orr_update() sets that if the first pipeline is continuous.
    uint64_t first_ns;
    float dt;
    uint32_t number;     // Of its pipeline, counted without spectators.
    uint32_t calls;      // Calls that ran before the tick;
    uint32_t call_at;    // the first of them in the list.
    uint32_t input_size; // Bytes of the inputs of its impure systems;
    size_t impure_at;    // where they begin in `inputs[0]`.
} orri_lockstep_entry;

// The world's hash after a tick of the world.
typedef struct orri_lockstep_log_mark {
    uint64_t tick, hash;
} orri_lockstep_log_mark;

// A name in a recording from a file: says what a number in the recording means (types by index,
// pipelines by number).
typedef struct orri_lockstep_log_name {
    char* name;
    uint64_t word; // Layout hash of a type; bits of a pipeline's rate; 1: an impure system.
} orri_lockstep_log_name;

// The lists of names.
typedef enum orri_lockstep_log_kind {
    ORRI_LOCKSTEP_LOG_TYPES,
    ORRI_LOCKSTEP_LOG_PIPELINES,
    ORRI_LOCKSTEP_LOG_SYSTEMS,
    ORRI_LOCKSTEP_LOG_CALLS, // Of posted calls.
    // Of transaction functions, all pipelines one after the other.
    ORRI_LOCKSTEP_LOG_FUNCTIONS,
    ORRI_LOCKSTEP_LOG_KINDS
} orri_lockstep_log_kind;

typedef struct orri_lockstep_log_names {
    orri_lockstep_log_name* names;
    uint32_t count, capacity;
} orri_lockstep_log_names;

// A recording. Spectators are not part of it: pipelines are numbered without them.
struct orr_recording {
    orri_env env; // Counts the recording's memory. Must come first.
    // Why the recording ends before the run: memory for it ran out; or something of the run was
    // refused that a replay may be granted. The recorded part can be replayed. In real time it may
    // end within ticks, in lockstep it ends with the last whole tick.
    bool full, refused;
    bool hashed;         // Real time: ticks are hashed.
    uint64_t begin_hash; // Of the world it began with.

    // Of a run in real time.
    uint32_t* turns; // Pipeline number << 2 | orri_turn.
    uint32_t turn_count, turn_capacity;
    float* dts; // Of each tick, in the order in which they began.
    uint32_t dt_count, dt_capacity;
    uint32_t* call_counts; // Number of calls << 1 | at a sync point.
    uint32_t count_count, count_capacity;
    uint64_t* hashes; // Of each tick, in the order in which they ended.
    uint32_t hash_count, hash_capacity;
    orri_lock_log grants; // Order in which locks were granted.
    // Decisions of history's memory budget. Recorded, because the memory in use depends on
    // spectators.
    uint32_t* budgets;
    uint32_t budget_count, budget_capacity;
    orri_realtime_log_clock* ended; // Clocks after each tick, in the order in which they ended.
    uint32_t ended_count, ended_capacity;

    // Of lockstep.
    bool lockstep; // It is a lockstep recording.
    bool in_use;   // A world records into it now.
    // Worlds that replay it now, or are in the middle of one of its ticks. One recording may be
    // replayed by several threads, so it is written through const pointers.
    _Atomic uint32_t replays;
    bool cut;            // Its file was truncated.
    uint32_t hash_every; // Ticks between two marks; 0: no marks.
    uint64_t begin_tick; // The world's tick when it began.
    // The world was changed after this tick by calls that were not posted; plus 1. 0: it was not.
    uint64_t changed_tick1;
    orri_lockstep_entry* entries; // Number i is tick begin_tick + 1 + i of the world.
    uint32_t entry_count, entry_capacity;
    orri_lockstep_log_mark* marks; // By tick; the first is that of `begin_tick`.
    uint32_t mark_count, mark_capacity;

    orri_call** calls; // In order of their turns or ticks.
    uint32_t call_count, call_capacity;
    // Effects of impure systems, by pipeline; in lockstep all are in the first.
    orri_command_bytes inputs[ORR_PIPELINES_MAX];
    uint64_t ticks;   // Ticks recorded.
    uint64_t time_ns; // The world's time at the end.

    // Only of a recording that was read from a file.
    orri_lockstep_log_names names[ORRI_LOCKSTEP_LOG_KINDS];
};

// Empties the recording; keeps its env.
void orri_recording_clear(struct orr_recording* recording);
// A world begins to replay a recording, or ends it. NULL does nothing.
void orri_recording_replay_begin(const struct orr_recording* recording);
void orri_recording_replay_end(const struct orr_recording* recording);
// Why a recording cannot be changed now, and what to do; NULL: it can.
const char* orri_recording_busy(const struct orr_recording* recording);
// Adds a name of `size` bytes, without a final zero. False: memory is refused.
bool orri_recording_name(struct orr_recording* recording, orri_lockstep_log_kind kind,
                         const char* name, size_t size, uint64_t word);

// ---- compat.c: does a recording match a world? --------------------------------------------------

// ORR_OK if the types, pipelines and functions that the recording's file names are those of the
// world. Reports.
orr_result orri_recording_fits(orr_world* world, const struct orr_recording* recording,
                               const char* call);
// The name of transaction function `index` of pipeline `number`; NULL: the file has none.
const char* orri_recording_function(const struct orr_recording* recording, uint32_t number,
                                    uint32_t index);

// ---- time_bounds.c: limits of recorded times ----------------------------------------------------

// True for the dt of a tick: a time that a clock may show, or the interval of its pipeline in
// seconds, which may be longer; 0: a continuous pipeline.
bool orri_recorded_dt_possible(float dt, float interval);
// True when the next tick of a pipeline may be due at `due_ns` at the time `time_ns`: at most two
// intervals and a minute later (or never, if the world's clock ends before), and at most two
// intervals and a day earlier, for a pipeline that waits for something outside or is blocked. With
// ORRI_INTERVAL_MAX_NS, which stands for longer intervals too, any later time.
bool orri_recorded_due_possible(uint64_t due_ns, uint64_t time_ns, uint64_t interval_ns);
// Real time: true when the world's time may become `time_ns`. It does not go back, and no pipeline
// of the simulation becomes late by more than above. In a turn.
bool orri_recorded_time_possible(const orr_world* world, uint64_t time_ns);
// Lockstep: true when the world's time may become `time_ns` with the next tick. `first`: of a
// replay, whose world may have reached its tick in another time.
bool orri_recorded_step_possible(const orr_world* world, uint64_t time_ns, bool first);
// The recorded time is not possible in this world. Reports.
orr_result orri_recorded_time_refuse(orr_world* world, const char* call, const char* pipeline,
                                     uint64_t time_ns);

// ---- lockstep.c: the lockstep log ---------------------------------------------------------------

// The recording that a world in lockstep writes or replays, and the position in it.
typedef struct orri_lockstep_log {
    struct orr_recording* record;       // NULL: not recorded.
    const struct orr_recording* replay; // NULL: not replayed.
    uint64_t tick;                      // The world's tick before the next or open tick.
    orri_lockstep_entry now;            // That tick, as far as it is known.
    bool begun;                         // The last tick that was prepared has begun and ended.
    uint64_t refusals;                  // Memory refusals of the world before the tick.
    uint64_t first_ns;                  // When the first pipeline was due after the last tick.
    uint64_t epoch;                     // Epoch when the running impure system began.
    // Positions in the replayed recording: next tick, call and input byte.
    uint32_t at, call_at;
    // `input_begin`: where the inputs of the recorded tick begin.
    size_t impure_at, input_begin;
    bool diverged; // The replay did something that was not recorded.
    // Memory was refused to a replayed input: the world lacks a change.
    bool memory_refused;
    bool in_on_tick; // The on_tick callback of orr_replay() runs.
    // The replay was refused within a tick, which is half done: the log ends with that tick.
    bool ends_with_tick;
} orri_lockstep_log;

// True while ticks are recorded.
bool orri_lockstep_log_records(const orri_lockstep_log* log);
// Before a tick of a pipeline of the simulation: runs posted calls if it is the first pipeline's,
// and notes what the tick depends on. On refusal (reported) nothing was done.
orr_result orri_lockstep_log_before(orri_pipeline* pipe, float dt);
// Between ticks: cuts a recording whose world travelled back; ends it if the world is elsewhere;
// and if the world's hash differs from the mark of this tick, reports and notes that.
void orri_lockstep_log_check(orr_world* world, orri_lockstep_log* log);
// Memory for the recording is refused: it ends with its last whole tick.
void orri_lockstep_log_stop_full(const orr_world* world, orri_lockstep_log* log);
// Records the world's hash, unless this tick has a mark. False: memory is refused.
bool orri_lockstep_log_mark_now(orr_world* world, struct orr_recording* record);
// After orri_tick(): if the tick ended, records it.
void orri_lockstep_log_after(orri_pipeline* pipe);
// Appends a tick; its calls and input bytes were appended before. False: memory is refused.
bool orri_lockstep_log_append(struct orr_recording* recording, const orri_lockstep_entry* tick);
// Keeps the first `ticks` ticks.
void orri_lockstep_log_cut(struct orr_recording* recording, uint32_t ticks);
// Number of calls, and of input bytes, of the first `ticks` ticks.
void orri_lockstep_log_place(const struct orr_recording* recording, uint32_t ticks, uint32_t* calls,
                             size_t* input_size);
// The mark of a tick; NULL: it has none.
const orri_lockstep_log_mark* orri_lockstep_log_mark_at(const struct orr_recording* recording,
                                                        uint64_t tick);
// The number of a pipeline, counted without spectators; and the pipeline of a number (NULL: none).
uint32_t orri_lockstep_log_number(const orri_pipeline* pipe);
orri_pipeline* orri_lockstep_log_pipeline(const orr_world* world, uint32_t number);
// Sets the world's log, or (NULL) frees it. Holds `posting`, so that no call is posted meanwhile.
void orri_lockstep_log_set(orr_world* world, orri_lockstep_log* log);
// The world ends: frees the log, posted calls and named functions.
void orri_lockstep_log_free(orr_world* world);

// ---- probes: looking at a tick as it goes, in lockstep ------------------------------------------

// Where in a tick a probe is called.
typedef enum orri_probe_at {
    ORRI_PROBE_OUTSIDE, // Stage OUTSIDE is done, no system has run.
    ORRI_PROBE_RAN,     // A system ran; what it sent is in its command buffers.
    ORRI_PROBE_ENDED,   // Values and events that it sent are applied.
    ORRI_PROBE_CALLED,  // A function of one of its transactions was called.
    ORRI_PROBE_POINT,   // A point is done: all that was sent up to here is applied.
} orri_probe_at;
// Called at these places. While a world has a probe its systems run one after the other, on the
// driving thread.
typedef struct orri_probe {
    void (*look)(struct orri_probe* probe, orr_world* world, orri_probe_at at,
                 const orri_system* system);
} orri_probe;

// ---- calls.c: posted calls ----------------------------------------------------------------------

// Takes the calls that were posted in lockstep.
orri_call* orri_posts_take(struct orri_schedule* schedule);
// Runs calls in order and frees them.
void orri_calls_run(orr_world* world, orri_call* calls);
// Frees calls without running them.
void orri_calls_free(orr_world* world, orri_call* calls);

// ---- call_registry.c: functions by name ---------------------------------------------------------

// A registered function: an orr_call, or an orr_transaction. Files name functions, since addresses
// change.
typedef struct orri_named {
    char* name;
    orr_call call;
    orr_transaction transaction;
    size_t size; // Bytes of its data; ORR_SIZE_ANY: any number.
} orri_named;
// True when a function accepts data of that size: it was registered with it, or with any, or was
// not registered (NULL).
static inline bool orri_named_accepts(const orri_named* named, size_t size)
{
    return named == NULL || named->size == ORR_SIZE_ANY || named->size == size;
}
// NULL: the function has no name, or no call has the name. To be called between ticks.
const orri_named* orri_call_registered(const orr_world* world, orr_call call);
const orri_named* orri_call_named(const orr_world* world, const char* name);
// ORR_OK if data of that size may be posted to the call. Reports. From any thread.
orr_result orri_call_check_size(orr_world* world, const char* by, orr_call call, size_t size);
// NULL: the function has no name, or no function has the name.
const char* orri_transaction_name(const orr_world* world, orr_transaction function);
orr_transaction orri_transaction_named(const orr_world* world, const char* name);
void orri_named_free(orr_world* world);

// ---- impure.c: inputs of impure systems ---------------------------------------------------------

// True when the system is not called because its effects come from a recording.
bool orri_impure_replays(const orri_system* system);
// True when the effects of the system are recorded.
bool orri_impure_records(const orri_system* system);
// True for a group with such a system: its systems run one after the other, with command buffers
// that were opened before.
bool orri_impure_any(const orri_pipeline* pipe, uint32_t first, uint32_t point);
// ORR_OK if everything that impure systems may do can be recorded. Reports system and type. After
// plans were made.
orr_result orri_impure_check(orr_world* world, const char* call);
// Records a call: after the group's call of the system, on its pipeline's thread, with its command
// buffers still open (`commands` NULL); or after a callback, with the callback's buffer.
void orri_impure_record(orri_system* system, const orr_command_buffer* commands);
// Replays a call instead of calling the system.
void orri_impure_replay(orri_system* system);
// Whether the next recorded input is a callback of the system; and replays it.
bool orri_impure_callback_recorded(orri_system* system);
void orri_impure_replay_callback(orri_system* system, orr_command_buffer* commands);

#endif
