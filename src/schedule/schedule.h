// SPDX-License-Identifier: MIT
// Systems, pipelines, plans and ticks: the types and functions that the files of this module share.
// README.md has the sequence of a tick and the invariants (TP1 to TP4, T1 to T14).
#ifndef ORRI_SCHEDULE_H
#define ORRI_SCHEDULE_H

#include "jobs/jobs.h"
#include "message/message.h"
#include "store/publish/publish.h"
#include "store/world/access.h"
#include <orrery/schedule.h>

// ---- report/trace.c: a Chrome trace -------------------------------------------------------------

typedef struct orri_trace orri_trace;

// Creates the file and writes its head. NULL when refused (reported, with the path and the error of
// the operating system).
orri_trace* orri_trace_open(orr_world* world, const char* path);
// Writes one span of work on row `row` (0: the driving thread; workers have their number). `args`
// (may be NULL) is the inside of a JSON object: "\"rows\": 7". Names are escaped. Never fails: if
// the file cannot be written, that is reported once and the trace ends.
void orri_trace_span(orri_trace* trace, const char* name, const char* category, uint32_t row,
                     uint64_t start_ns, uint64_t end_ns, const char* args);
// Pipelines in real time have the rows from this number on. They are named when a run begins.
#define ORRI_TRACE_PIPELINES 4096u
// Names a row.
void orri_trace_name(orri_trace* trace, uint32_t row, const char* name);
// Writes the end, closes the file and frees the trace. The file is complete JSON then.
void orri_trace_close(orr_world* world, orri_trace* trace);
// The path of the trace of one more world of this process, from the environment variable ORR_TRACE:
// the path itself for the first world, "path.2" for the second. NULL: no trace is wanted, or the
// path is too long (reported).
const char* orri_trace_env(orr_world* world, char* out, size_t out_size);
// ORR_OK unless a tick is open (reported).
orr_result orri_check_between_ticks(const orr_world* world, const char* call);

// ---- report/journal.c: which system changed what ------------------------------------------------

typedef struct orri_journal orri_journal;

// Moves the messages of the journal's reader into the ring. Called after every diff while there is
// a journal.
void orri_journal_drain(orr_world* world, orri_journal* journal);
// Calls orri_journal_drain() if there is a journal. Returns `result` unchanged.
orr_result orri_journal_received(orr_world* world, orr_result result);
// Adds the entries of one message to the ring.
void orri_journal_add(orri_journal* journal, const orr_message* message);
void orri_journal_destroy(orr_world* world, orri_journal* journal);

// ---- systems ------------------------------------------------------------------------------------

// The texts of an orr_system_desc: copied when a system is added, freed with it.
#define ORRI_SYSTEM_TEXTS(X) \
    X(name)                  \
    X(query)                 \
    X(by_id)                 \
    X(creates)               \
    X(destroys)              \
    X(adds)                  \
    X(removes)               \
    X(changes)               \
    X(transacts)             \
    X(atomics)               \
    X(overwrites)            \
    X(switches)              \
    X(tags) X(sends) X(receives) X(pipeline) X(before) X(after) X(group) X(imports)

// The last orr_pause() of a running system since its last point (orri_system.pause); 0: none.
enum {
    ORRI_PAUSE_ON = 1,
    ORRI_PAUSE_OFF,
};

// A value of a schema type that belongs to a system and is part of the world's state (state.c).
typedef struct orri_system_state {
    const orri_type* type; // NULL: the system has none.
    uint8_t* data;         // One value of `type`.
} orri_system_state;

// Bit sets by type of a system, in this order: creates, adds, removes, changes, switches, sends,
// receives, read by id, written by id, transacts, atomics, overwrites.
#define ORRI_BIT_SETS 12

// Remembers which import from a disabled system was logged, so that it is logged once (state.c).
typedef struct orri_import_note {
    // In real time: orri_system_stop() of the exporter when the importer was given its inputs, since
    // other pipelines may enable and disable the exporter while the importer runs.
    uint64_t stopped1;
    _Atomic uint64_t logged; // The `stopped1` that was logged last; 0: none.
} orri_import_note;

// A system. Allocated on a cache line; the first two lines hold what a tick reads of a system that
// has little to do.
typedef struct orri_system {
    void (*run)(orr_run* run); // From the desc, as `every` and `creates_max`.
    orr_query* query;          // NULL until the system is resolved.
    // Command buffers opened since the last point, in order of calls and units.
    orr_command_buffer** command_buffers;
    uint64_t tick_first; // Tick in which it first ran; UINT64_MAX: it never ran.
    uint32_t every, creates_max;
    uint32_t command_buffer_count, command_buffer_capacity;
    uint32_t request_count; // Requests of this tick: see `requests`.
    bool started;           // `start` was called, and no `stop` since (in a replay: as recorded).
    // The callbacks really ran. False for an impure system that a replay began without calling it.
    bool create_called, start_called;
    bool by_rows;      // Called for every run of rows; else once per tick.
    bool may_send;     // It declares something to send.
    bool writes_by_id; // It may write values that its query does not select (.by_id).
    bool atomic;       // It may do so in atomic sections (.atomics).
    bool reduces;      // Its export is combined from partial values (reduce.c).
    bool reads;        // It has a message queue (rights.reader).
    // Rows come in an order that the query maintains, or are pinned: they cannot be split into
    // units.
    bool ordered;
    bool by_id;           // It may read types of any entity (.by_id).
    uint8_t pause;        // ORRI_PAUSE_ON, ORRI_PAUSE_OFF, or 0: no request.
    bool state_read_only; // It is parallel and has state, which it may only read.
    // Of the current tick (group.c).
    bool due;      // It runs in this tick.
    bool in_units; // Its rows are processed by unit (chunk).
    bool ahead;    // Buffers were opened before the calls, from command_buffer_ahead on.
    // Never split over workers: it changes owned strings, arrays or values with hooks, whose counts
    // are the world's.
    bool unsplit;
    uint64_t since;                    // Epoch when it last ran, for `changed` terms.
    orri_event_cursors* event_cursors; // Events it has not read yet; NULL: it receives none.
    uint32_t cost_ns;                  // Average time of a tick; 0: it was never timed.
    uint32_t command_buffer_ahead;
    orr_system_stats stats; // Statistics that are not in rights.counts.
    orri_access access;     // Types it may access while it runs.
    // Tables for reads by id, by type; made again when `table_changes` differs from the world's.
    orr_hot_table** tables;
    uint32_t table_count, table_changes;
    orri_rights rights; // Commands and events it may send.

    orr_system handle;
    struct orri_pipeline* pipe;      // Its pipeline.
    orr_system_desc desc;            // Texts and terms are copies.
    struct orri_system *prev, *next; // In order of registration.
    uint64_t name_hash;              // Of its name: used in hashes, recordings and random numbers.
    uint64_t number;                 // Ascends in order of registration; never used again.
    uint32_t sorted;                 // Its position among the systems that order.c sorts.
    // Hash tables by name and by group (system_names.c).
    struct orri_system* name_next;
    struct orri_system *group_next, *group_prev; // Its group, in order of registration.
    struct orri_system* group_chain;             // Of the first system of a group: the next group.

    // Life. `created` and `started` change at the beginning of a tick only, to what `wanted` and
    // `removed` request.
    bool resolved;          // Its names were looked up (resolve.c).
    bool created;           // Its `create` was called.
    bool wanted;            // self_on and group_on: it is to run.
    bool self_on, group_on; // Enabled by itself; enabled with its group.
    bool removed;           // To be freed by the next tick.

    // Results of looking up its names (resolve.c).
    orr_query* destroys; // Entities it may destroy; NULL: none, or all.
    uint64_t* bits;      // ORRI_BIT_SETS bit sets of rights.type_words words each.
    // By type: it writes all rows of its query without reading them (.overwrites). NULL: none.
    const uint64_t* overwrites;
    orr_tag* tags;       // Tags it may change: [rights.tag_count].
    orr_tag* by_id_tags; // Tags its own queries may name: [access.by_id_tag_count].
    // Types with indexed fields among its write terms: changed by sending only.
    orr_type sent[ORR_TERMS_MAX];
    uint32_t sent_count;
    orri_system_state state, exports;
    // Copy of the state of a parallel system, taken before it runs and compared afterwards.
    orri_system_state state_before;
    struct orri_system** imports; // In order of the text.
    uint32_t import_count;
    orri_import_note* import_notes; // [import_note_count] In the same order; kept by new plans.
    uint32_t import_note_count;
    uint64_t stopped1; // 0: started. Else a number that no other stop, of any system, has.
    // In real time: the exports as of the end of its last tick, for other pipelines; and a copy of
    // each imported value of another pipeline, taken before each call.
    uint8_t* exports_published;
    uint8_t** imports_seen; // [import_count]; NULL entry: same pipeline.
    bool no_required;       // Its query has no required term.
    bool structural;        // It declares something that waits for a commit point.
    bool sends_changes;     // It may send changes of values.
    bool transacts;         // It may send transactions.
    const char* alone;      // Why it must be the only system of its group; NULL: it need not be.
    // In real time: the lock on its `user`, if systems of other pipelines have the same pointer;
    // plus 1. 0: none.
    uint32_t user_lock1;

    // The current tick (group.c).
    uint32_t order;    // Its position in its group.
    uint64_t spent_ns; // Time in this tick, summed over workers.
    uint8_t* partials; // Partial values by unit (reduce.c).
    uint32_t partial_capacity;
    _Atomic uint32_t partials_left; // Units that have not ended.
    // Requests to enable or disable systems; applied when its command buffers are closed.
    struct orri_system_request* requests; // [request_count]
    uint32_t request_capacity;
} orri_system;

// Not 0: the system is disabled and has stopped; the number of the stop. A system that begins with
// its pipeline's next tick does not count.
static inline uint64_t orri_system_stop(const orri_system* system)
{
    return system->wanted ? 0 : system->stopped1;
}

// A request of a running system to enable or disable another one.
typedef struct orri_system_request {
    struct orri_system* target;
    // `group`: sets the flag of the target's group; else its own. `on`: the new value.
    bool group, on;
} orri_system_request;

// ---- the plan: what a tick does, in order (plan/order.c, plan/plan.c) ---------------------------

// Why a point stands where it stands; printed by orr_plan_print().
typedef struct orri_reason {
    const orri_system* sender; // NULL: the tick ends.
    const orri_system* reader; // NULL: not because of a reader.
    const char* what;          // "may add", "sends events", ...
    const char* rest;          // Text after the reader's name, if it is not about one type.
    orr_type type;             // Null: not about one type.
} orri_reason;

// A step of the plan: a system, or a point. At a point everything that the systems since the last
// point (a *group*) sent and wrote is applied and readers are notified, in the order of the
// systems, on the driving thread. Between points only columns, pinned values, states and command
// buffers are written, so systems of a group that do not conflict may run at the same time.
typedef struct orri_step {
    orri_system* system; // NULL: a point.
    bool commit;         // Of a point: structural changes are applied, too.
    // Of a point: the first step of its group. Of the first step of a group: its point.
    uint32_t first;
    orri_reason reason; // Of a point.
} orri_step;

// Where a tick is. See README.md.
typedef enum orri_stage {
    ORRI_STAGE_LIFE,    // Systems begin and end.
    ORRI_STAGE_OUTSIDE, // Effects of their callbacks, and of changes made between ticks.
    ORRI_STAGE_STEPS,   // The steps of the plan.
    ORRI_STAGE_DONE,    // No tick is open.
} orri_stage;

// The part of a pipeline's state under a driver (orri_driver) that ticks read and write. The driver
// owns it.
typedef struct orri_driven {
    orri_view* view;   // Types of other pipelines, as last published; NULL: it reads none.
    uint64_t clock[2]; // Tick and epoch of the running group.
    uint32_t era;      // Loops of an earlier era have ended.
    bool loop_left;    // A system of the group returned without ending a loop.
    bool holding;      // It holds the locks of a group.
    bool exclusive;    // It holds structure exclusively: no other system runs.
    bool copied;       // The tick is done; its values are not all published yet.
    bool records;      // Its impure systems are recorded now.
    bool replays;      // Its impure systems are not called but replayed.
    orri_command_bytes* recorded;       // Where recorded inputs go.
    const orri_command_bytes* replayed; // Where replayed inputs come from,
    size_t replay_at;                   // and the next byte of them.
    const _Atomic bool* diverged;       // True: the replay did something that was not recorded.
} orri_driven;

struct orri_commit_scope;
struct orri_pipeline;

// Functions that a tick calls when pipelines run at the same time. The module realtime fills the
// table when a world first runs in real time. In lockstep only `resume` and `pipeline_free` are
// called.
typedef struct orri_driver {
    // The tick begins: its view shows what other pipelines published last. On refusal (reported)
    // the tick does not begin.
    orr_result (*tick_begin)(struct orri_pipeline* pipe);
    // The tick is done: its values are published. On refusal (reported) the next call continues.
    orr_result (*tick_end)(struct orri_pipeline* pipe);
    // Runs the systems of steps [first, point). Their locks are held until `release`.
    orr_result (*group)(struct orri_pipeline* pipe, uint32_t first, uint32_t point);
    // Waits until no system of any pipeline runs. No system runs until `release`.
    void (*exclusive)(struct orri_pipeline* pipe);
    // The same, only for the clusters that commits at this step touched so far (the commit scope).
    // False: not worth it, or not possible; nothing is held.
    bool (*exclusive_scope)(struct orri_pipeline* pipe);
    // The clusters that a commit must stay within, or must note; NULL: all clusters are held.
    struct orri_commit_scope* (*commit_scope)(const struct orri_pipeline* pipe);
    // Moves published values to where their rows are now. With structure held by `exclusive` or
    // `exclusive_scope`.
    orr_result (*remap)(struct orri_pipeline* pipe);
    // Releases the locks that are held, if any.
    void (*release)(struct orri_pipeline* pipe);
    // True when something waits that needs `exclusive`.
    bool (*wants_exclusive)(const struct orri_pipeline* pipe);
    // Ends loops that the pipeline's systems left open.
    void (*end_loops)(struct orri_pipeline* pipe);
    // An impure system cannot be replayed as recorded. Reports.
    void (*diverge)(const struct orri_pipeline* pipe);
    // A tick that was refused under the driver continues in lockstep; `ended`: it has ended there.
    void (*resume)(struct orri_pipeline* pipe, bool ended);
    // Pauses a running world, or resumes it. With `posting` held.
    void (*pause)(orr_world* world, bool on);
    // Frees the driver's state of a pipeline.
    void (*pipeline_free)(orr_world* world, struct orri_pipeline* pipe);
} orri_driver;

// A pipeline: systems with a clock of their own (pipeline.c). In lockstep at most one pipeline is
// within a tick.
typedef struct orri_pipeline {
    orr_world* world;
    uint32_t index; // In order of registration.
    char* name;
    uint64_t name_hash;
    bool spectator; // Not part of the simulation (spectator.c).

    // Time of the world, which in lockstep moves by ticks (step.c).
    double rate_hz;       // 0: continuous.
    uint64_t interval_ns; // Of a tick; of a continuous pipeline its step in lockstep.
    float interval;       // interval_ns in seconds.
    uint64_t start_ns;    // When its clock began,
    uint64_t ran;         // the number of ticks that ended since,
    uint64_t due_ns;      // and when the next tick is due.
    uint64_t tick;        // Ticks that began.

    orri_foreign foreign; // Types that other pipelines own, as of the last plan.
    orri_step* steps;     // The plan; the last step is a commit point.
    uint32_t step_count, step_capacity;
    uint32_t step_count_before; // Steps of the previous plan,
    // and whether the new plan has the same systems and points, as far as it is made.
    bool steps_same;
    bool replanned; // The plan is new for this tick: stage LIFE has to run.
    // Which systems of its groups wait for which (conflict_graph.h); NULL: not asked for so far.
    struct orri_conflict_graph* conflicts;
    // Its groups as graphs for workers (parallel.c); NULL: no workers.
    struct orri_parallel* parallel;

    // The current tick: where it is, and how far that is done.
    orri_stage stage;
    uint32_t at; // Step.
    // Progress within a stage, point or system (enums of tick.c and group.c).
    uint8_t phase;
    uint32_t ended; // Systems of the group that are done at the point.
    // The first refusal of the tick in the order of systems, as far as it is collected, and its
    // system, whose name may be cut.
    orr_result refused;
    char refused_system[64];
    char refused_text[ORRI_REFUSED_TEXT];
    bool timed; // Times are measured in this tick.
    float dt;
    uint64_t clock_ns;    // When the current span began, if timed.
    uint64_t tick_ns;     // When the tick began, if timed.
    uint64_t rows_before; // Row count of the running system before its call.

    orri_driven* driven;           // State under a driver; NULL: it never ran under one.
    struct orri_pipeline_run* run; // The driver's own state, which contains `driven`.
    void (*wait)(void* user);      // From the desc: wait, wait_user, wait_main.
    void* wait_user;
    bool wait_main;
} orri_pipeline;

// The owner of a type: the pipeline that writes it (type_owner.c).
typedef struct orri_type_owner {
    uint64_t type_hash; // Of its name: the type may not be registered yet.
    orri_pipeline* pipe;
    char* system; // Name of the system that made it the owner, for messages.
} orri_type_owner;

// Hash tables of systems (system_names.c).
typedef struct orri_system_names {
    orri_system** by_name;  // [size]: chains through `name_next`.
    orri_system** by_group; // [size]: the first system of each group, chains through `group_chain`.
    uint32_t size;          // 0 or a power of two.
} orri_system_names;

// The schedule of a world (world->schedule).
struct orri_schedule {
    orri_system *first, *last; // In order of registration.
    uint64_t number_last;      // `number` of the system that was added last.
    orri_system_names names;
    orri_system** slots;   // By handle id - 1; NULL: free.
    uint32_t slot_free;    // No slot before this one is free.
    uint32_t* generations; // By slot: of the system there, or of the next one.
    uint32_t slot_count, slot_capacity, generation_capacity;
    uint32_t system_count;
    orri_pipeline** pipelines; // In order of registration; the first always exists.
    uint32_t pipeline_count, pipeline_capacity;
    orri_type_owner* type_owners;
    uint32_t type_owner_count, type_owner_capacity;
    uint64_t time_ns; // The clock that pipelines share in lockstep.
    // Time given to orr_update() that a continuous first pipeline has not run yet.
    uint64_t passed_ns;

    uint32_t step_types; // Number of types when the plans were made.
    // Plans must be made again: systems were added, removed, enabled or disabled.
    bool stale;
    bool switched; // A system of the simulation was enabled or disabled.
    // Types of which readers are notified, as of the last plan: bits by type index. `notified_all`:
    // all types; `notified_any`: at least one reader.
    uint64_t* notified;
    uint32_t notified_words;
    bool notified_any, notified_all;
    // For tests: plans made; pairs of systems compared for conflicts, and for points of a plan; sets
    // looked up for conflicts; edges made to order systems.
    uint64_t plans, compared, paired, set_lookups, order_edges;
    uint64_t stops; // Stops of systems so far, and systems that were added (orri_system.stopped1).

    orri_pipeline* now; // The pipeline within a tick, also half done; NULL: none.
    // The first refusal of the ticks that the current or last call ran to their end; ORR_OK: none.
    // For its text: the tick of the world, and the name of the system ("": none).
    orr_result refused;
    uint64_t refused_tick;
    char refused_system[64];
    char refused_text[ORRI_REFUSED_TEXT];
    bool inside;          // A tick runs now on this world (not: is half done).
    orri_system* running; // The system whose function runs; NULL: none.
    // Statistics of the driving thread outside parallel groups, since the world began.
    orr_worker_stats serial_stats;

    _Atomic bool paused;    // Also set by systems.
    bool time_all;          // Time every tick (orr_stats_time_all), else every 16th.
    uint64_t shuffle;       // Seed of shuffled orders (shuffle.c); 0: plan order.
    orr_access_check audit; // orr_access_check_set().
    // Cost of reading the clock, subtracted from times; measured with workers only.
    uint64_t clock_cost_ns;
    orri_trace* trace;     // NULL: none.
    orri_journal* journal; // NULL: none.
    orri_jobs* jobs;       // Workers of all pipelines; NULL: none.
    // Number of systems in the largest group for which workers were refused for lack of memory.
    // Reset to 0 when workers run a group as large; a refusal is reported only while it is 0.
    uint32_t workers_refused;
    // Another thread reports a stuck system; otherwise it is reported when it returns, if timed.
    bool watched;
    // The run in real time; NULL: none. Changed with `posting` held, so that other threads can ask.
    struct orri_realtime* realtime;
    const orri_driver* driver; // NULL: the world never ran in real time.
    orri_mutex posting;        // Protects posts, and begin and end of a run in real time.
    // In lockstep, under `posting`: calls that wait for the first pipeline's next tick, and the log
    // that ticks are recorded to or replayed from (recording.h).
    struct orri_call *post_first, *post_last;
    _Atomic bool posted;                    // post_first is not NULL.
    struct orri_lockstep_log* lockstep_log; // NULL: neither recorded nor replayed.
    struct orri_probe* probe;               // Looks at a tick as it goes (recording.h); NULL: none.
    bool calling;                           // A posted call, or on_tick of a replay, runs.
    struct orri_named* named;               // Functions that files name (call_registry.c).
    uint32_t named_count, named_capacity;
    uint32_t *named_by_name, *named_by_function; // [named_size]: hash tables of them.
    uint32_t named_size;                         // 0 or a power of two.
    char* lock_text; // Lock trace of the last run in real time; NULL: none.
    size_t lock_text_size;
    double time_scale; // Requested by orr_time_scale_set(), if time_scale_set.
    bool time_scale_set;
};

// The clock of a world ends here, after 292 years: twice the time does not overflow.
#define ORRI_TIME_MAX_NS (UINT64_MAX / 2)
// The longest interval of a pipeline in nanoseconds, about 31 years. Due times of a lower rate are
// computed from the rate.
#define ORRI_INTERVAL_MAX_NS UINT64_C(1000000000000000000)

// system/pipeline.c. Makes the first pipeline; false when refused (reported).
bool orri_pipelines_begin(orr_world* world);
// The pipelines' part of the world's hash.
uint64_t orri_pipelines_hash(const orr_world* world, uint64_t hash);
// Adds a pipeline; NULL when refused (reported). Texts are copied.
orri_pipeline* orri_pipeline_make(orr_world* world, const orr_pipeline_desc* desc);
// NULL: there is no pipeline of this name.
orri_pipeline* orri_pipeline_named(const orr_world* world, const char* name);
// When the next tick is due (`after` 0), or the tick `after` ticks later.
uint64_t orri_pipeline_due(const orri_pipeline* pipe, uint64_t after);
// True when the pipeline has no next tick because the world's time ends before it.
bool orri_pipeline_clock_ended(const orri_pipeline* pipe);
// Restarts the pipeline's clock at the world's time: the next tick is due one interval from now.
void orri_pipeline_clock_restart(orri_pipeline* pipe);
// A tick ended: advances the clock and computes when the next tick is due.
void orri_pipeline_ticked(orri_pipeline* pipe);
// Frees all pipelines. Their systems are freed before.
void orri_pipelines_free(orr_world* world);

// system/type_owner.c. Makes the pipeline of a system the owner of all types that the system
// writes. False when another pipeline owns one, or memory is refused (reported); owners that were
// entered before memory was refused stay, for the same pipeline.
bool orri_type_owners_take(orr_world* world, const orri_system* system);
// The pipeline that writes a type; NULL: none.
const orri_pipeline* orri_type_owner_of(const orr_world* world, orr_type type);
// Fills `foreign` of each pipeline. False when refused (reported).
bool orri_type_owners_sort(orr_world* world);
void orri_type_owners_free(orr_world* world);

// system/spectator.c. A spectator changes only transient types and entities; the simulation never
// depends on a spectator. ORR_OK when a resolved system complies; reports.
orr_result orri_spectator_check(orr_world* world, const orri_system* system);
// The same for an import: the simulation does not import from a spectator.
orr_result orri_spectator_import(orr_world* world, const orri_system* system,
                                 const orri_system* from);
// True (reported, and counted as a violation) when a running spectator would do `what` to the
// simulation. `target` may be NULL: the world.
bool orri_spectator_refuses(orr_world* world, orri_system* by, const char* what,
                            const orri_system* target);
// True when the running system is of the simulation and `system` is of a spectator.
bool orri_spectator_hidden(const orr_world* world, const orri_system* system);

// tick/step.c. ORR_OK where ticks may be run: between ticks, outside of systems and handlers.
// Reports.
orr_result orri_step_check(orr_world* world, const char* call);

// ORR_OK where the whole world may be accessed: between ticks, outside of systems and handlers,
// with no tick half done; in real time at a sync point. Reports.
orr_result orri_step_between(orr_world* world, const char* call);

// Runs due ticks until the world's tick is `tick`, paused or not. Reports.
orr_result orri_step_to(orr_world* world, uint64_t tick);
// True when the tick of any pipeline is half done, in lockstep or since a run in real time.
bool orri_any_tick_half_done(const struct orri_schedule* schedule);

// system/state.c. Frees the copies of exports and imports that real time made: when a system is
// freed, or its imports are looked up again.
void orri_exports_release(orr_world* world, orri_system* system);

// tick/step.c. True while the world runs in real time. From any thread, also while a sync point is
// held.
bool orri_realtime_runs(const orr_world* world);

// The world whose tick, or tick of a single entity, this thread drives in lockstep; NULL: none.
// Distinguishes a post by a running system from a post by another thread.
extern _Thread_local const orr_world* orri_tick_here;
// record/calls.c. True while this thread runs posted calls of the world, but not in ticks that such a
// call runs.
bool orri_call_here(const orr_world* world);

// tick/tick.c. Runs a tick, or continues the open one. On refusal (reported) the tick stays open;
// the next call continues.
orr_result orri_tick(orri_pipeline* pipe, float dt);

// system/system.c. The schedule, made at first use and entered into the world's extensions. NULL
// when refused (reported).
struct orri_schedule* orri_schedule_of(orr_world* world);
// NULL for a stale or null handle.
orri_system* orri_system_at(const orr_world* world, orr_system handle);
// Frees a system that is in no list any more.
void orri_system_free(orr_world* world, orri_system* system);
// True for a spectator's system, and for an indirect system with a `user` and neither state nor
// exports: all that it learnt from messages is outside of the world. Its queue is not part of the
// world's state, and after a travel it receives the difference. A system with a state gets its
// queue back with its state instead: the difference would count changes twice.
bool orri_system_knows_outside(const orri_system* system);
// True if orri_system_knows_outside(), unless the system is impure: the system itself is not part
// of the world's state. So a server without a window has the hash of a client.
bool orri_system_outside(const orri_system* system);
// Removes a system from the lists and frees it.
void orri_system_drop(orr_world* world, orri_system* system);
// The system of a run; NULL (reported) if the run is not of a system.
orri_system* orri_run_self(const orr_run* run, const char* call);

// system/system_names.c. NULL: there is no system of this name that is not removed.
orri_system* orri_system_named(const orr_world* world, const char* name, size_t size);
// The first system of a group, also a removed one; the others follow through `group_next`. NULL:
// there is none.
orri_system* orri_system_group_first(const orr_world* world, const char* group, size_t size);
// Makes room for one more system in the tables. False when refused (silent).
bool orri_system_names_reserve(orr_world* world);
// Enters a system that was added last; takes out a listed system. Both cannot fail.
void orri_system_names_enter(struct orri_schedule* schedule, orri_system* system);
void orri_system_names_leave(struct orri_schedule* schedule, orri_system* system);
void orri_system_names_free(orr_world* world);
// The systems that an item of `before`, `after` or `imports` matches: the system of that name and
// all systems of that group, without removed ones, in order of registration, each once.
typedef struct orri_system_match {
    orri_system *named, *member; // The next system of each kind; NULL: no more.
} orri_system_match;
orri_system_match orri_system_match_begin(const orr_world* world, const char* name, size_t size);
orri_system* orri_system_match_next(orri_system_match* match); // NULL at the end.

// system/name_list.c. Checks the lists of names of a desc. Errors are reported.
orr_result orri_name_lists_check(orr_world* world, const orr_system_desc* desc);

// system/resolve.c. Looks up all names of a system's desc. ORR_OK if that was done before. On
// refusal (reported) nothing is stored.
orr_result orri_system_resolve(orr_world* world, orri_system* system);
// Frees what orri_system_resolve() made; nothing for a system that was never resolved.
void orri_system_unresolve(orr_world* world, orri_system* system);
// Makes the values of `state` and `exports`, when the system is added: they are in the hash, so they
// may not appear when its names are looked up, which a refused tick or orr_plan_print() also does.
// They stay until the system is freed.
orr_result orri_system_states_make(orr_world* world, orri_system* system);
// True when all types and tags that its texts name are known, so that it can be resolved now.
bool orri_system_resolvable(orr_world* world, const orri_system* system);

// plan/order.c. Sorts the systems by before and after, else by registration. `strict`: unknown
// names are refused; otherwise they are ignored. `out` has room for all systems that are not
// removed. A cycle is refused and printed.
orr_result orri_system_order(orr_world* world, bool strict, orri_system** out, uint32_t* count);
// plan/plan.c. Makes the plans if they are stale. On refusal (reported) there are none.
orr_result orri_plan_make(orr_world* world);
// True when a structural change that `sender` may send can concern what `reader` selects or names,
// by declarations alone.
bool orri_affects(const orr_world* world, const orri_system* sender, const orri_system* reader,
                  orri_reason* out);

// plan/delivery_deps.c. Finds the types of which readers are notified (schedule->notified). False
// when refused (reported).
bool orri_notified_types_find(orr_world* world);
// True when effects of `first` must be applied before `second` runs, so that they cannot be in one
// group.
bool orri_delivery_deps_before(const orr_world* world, const orri_system* first,
                               const orri_system* second, orri_reason* out);

// plan/conflict.c. How a system accesses the values of a type. Ordered: a larger value excludes
// more.
typedef enum orri_touch {
    ORRI_TOUCH_NONE,
    ORRI_TOUCH_READS,
    ORRI_TOUCH_ATOMIC, // In atomic sections only: these may overlap with each other.
    ORRI_TOUCH_WRITES,
} orri_touch;
// `*any` (may be NULL): also for entities that its query does not select.
orri_touch orri_touches(const orr_world* world, const orri_system* system, uint32_t type_index,
                        bool* any);
// Sets the bits of all types that the system touches, and clears all others. `bits` has
// schema.type_count / 64 + 1 words.
void orri_touched_types(const orr_world* world, const orri_system* system, uint64_t* bits);
// True when a list of `before`, `after` or `imports` names the system or its group.
bool orri_system_lists(const char* text, const orri_system* system);
// True when two systems of a group, in this order, must not run at the same time.
bool orri_conflict(const orr_world* world, const orri_system* first, const orri_system* second);
// plan/conflict_graph.c. The plan was made again: conflicts must be found again.
void orri_conflicts_invalidate(orri_pipeline* pipe);
void orri_conflicts_free(orri_pipeline* pipe);

// system/state.c. Makes a value with its presets. False when refused (reported).
bool orri_system_state_make(orr_world* world, orri_system_state* state, const orri_type* type);
// Copies the state of a parallel system before it runs; and checks it afterwards: a changed state
// is restored and reported.
void orri_system_state_copy(orri_system* system);
void orri_system_state_check(orr_world* world, orri_system* system);
// Reports a write that was undone after the system's calls had ended: a violation, and a refusal that
// the tick returns.
void orri_refuse_undone(orr_world* world, orri_system* system, const char* format, ...)
    ORR_PRINTF(3, 4);
void orri_system_state_free(orr_world* world, orri_system_state* state);

// tick/timing.c; all of it only when the tick is timed. Begins a span; ends a span and begins the
// next. `system` (may be NULL) is credited with the time.
void orri_timing_begin(orri_pipeline* pipe);
void orri_timing_end(orri_pipeline* pipe, orri_system* system, const char* name,
                     const char* category);
// A system that takes longer is reported as stuck.
uint64_t orri_timing_stuck_ns(const orr_world* world);
// Measures the cost of reading the clock.
void orri_timing_calibrate(orr_world* world);
// On workers. 0 if the tick is not timed.
uint64_t orri_timing_now(const orri_pipeline* pipe);
// Chunks that a call processed.
typedef struct orri_timing_units {
    uint32_t first, count; // count 0: not split into chunks.
} orri_timing_units;
// A call of a system on a worker ended. From any worker.
void orri_timing_worked(orri_system* system, uint32_t worker, uint64_t begun, uint64_t rows,
                        orri_timing_units units);
// For the trace: a worker looked for work from `begin_ns` and slept from `sleep_ns` on (0: it did
// not sleep). From any worker.
void orri_timing_waited(const orr_world* world, uint32_t worker, uint64_t begin_ns,
                        uint64_t sleep_ns, uint64_t end_ns);
// The work of a point ended; it began at `begun`. Begins the next span.
void orri_timing_point(orri_pipeline* pipe, uint64_t begun);
// The group ended: adds what workers spent to the statistics. Begins the next span.
void orri_timing_add(orri_system* system);

// tick/tick.c: notes a refusal during a tick (orri_error_state.note): with the running system, or as
// that of a posted call. Not a post at the end of a run in real time, which no system can foresee.
// Under the lock of refusals.
void orri_refusal_note(orr_world* world, orr_result result, orr_log_id id, const char* text);
// A call that runs ticks begins: forgets what was refused in ticks of earlier calls, except in the
// first part of a tick that is half done.
void orri_ticks_begin(orr_world* world);
// A run in real time ended: takes what was noted after the last tick of a system's pipeline, when
// another pipeline applied its transactions.
void orri_ticks_collect(orr_world* world);
// The result of a call that ran ticks and ended with `result`: the first refusal in the ticks, if
// nothing stopped the call. Sets the text of the last error.
orr_result orri_ticks_result(orr_world* world, orr_result result);

// tick/group.c: the systems of steps [first, point). Determines which systems are due and prepares
// their calls. On refusal (reported) nothing was called; the next call tries again.
orr_result orri_group_prepare(orri_pipeline* pipe, uint32_t first, uint32_t point);
// Runs the due systems: on workers, in shuffled order, or one after the other.
void orri_group_run(orri_pipeline* pipe, uint32_t first, uint32_t point);
// Runs one of them on the driving thread. `units` as in orri_system_call().
void orri_group_run_one(orr_world* world, orri_system* system, const uint32_t* units);
// Opens all command buffers that the systems will need, in order. False when refused (silent): then
// none is open.
bool orri_group_open_ahead(orri_pipeline* pipe, uint32_t first, uint32_t point);
// The end of a system at its point: its sends are applied, readers are notified. The pipeline's
// `phase` says how far that is; on refusal (reported) the next call continues.
orr_result orri_system_end(orr_world* world, orri_system* system);

// tick/parallel.c. True when the systems of steps [first, point) were run by workers; otherwise the
// driving thread must run them. Never fails: without memory it returns false.
bool orri_parallel_run(orri_pipeline* pipe, uint32_t first, uint32_t point);
// Around systems that the driving thread runs alone: lets other workers or the watchdog see whether
// a system is stuck. True: orri_parallel_note_running() must be called.
bool orri_parallel_watch(const orri_pipeline* pipe, bool on);
void orri_parallel_note_running(const orri_pipeline* pipe,
                                uint32_t step); // The step that runs now.
// Whether workers are worth it for these steps, by the cost of their systems. Called once, before
// the systems are prepared, when it is known which are due.
bool orri_parallel_pays(orri_pipeline* pipe, uint32_t first, uint32_t point);
// Whether this pipeline has workers. Makes them at first use; without memory there are none
// (reported once).
bool orri_parallel_ready(orri_pipeline* pipe);
// Ends the workers and frees all graphs.
void orri_parallel_end(orr_world* world);
// Number of workers now, including the driving thread.
uint32_t orri_parallel_workers(const orr_world* world);
// Adds the statistics of a worker in parallel groups.
void orri_parallel_stats(const orr_world* world, uint32_t worker, orr_worker_stats* out);
// The workers, to share out other work between groups. False: there are none now.
bool orri_parallel_workers_of(orri_pipeline* pipe, orri_workers* out);
// NULL: no workers yet.
orri_jobs* orri_parallel_jobs(const orr_world* world);
// For tests: how work is divided. None of it may change a result.
typedef enum orri_sharing {
    ORRI_SHARE_AUTO,    // By measured costs.
    ORRI_SHARE_NOTHING, // Every system is one node.
    ORRI_SHARE_ALL,     // Everything is split, tiled and batched wherever allowed.
    ORRI_SHARE_RANDOM,  // By a seed.
} orri_sharing;
void orri_parallel_share(orr_world* world, orri_sharing sharing, uint64_t seed);

// tick/shuffle.c. Runs the group serially in a random order that conflicts allow. False: not
// wanted, or memory was refused; then nothing was done.
bool orri_shuffle_run(orri_pipeline* pipe, uint32_t first, uint32_t point);
// The seed; 0 (the default): the order of the plan. Builds with ORR_VALIDATE_ON take it from the
// environment variable ORR_SHUFFLE.
void orri_shuffle_set(orr_world* world, uint64_t seed);
uint64_t orri_shuffle_env(void);

// tick/call.c. How many entity ids its next calls reserve.
uint64_t orri_system_creates(const orri_system* system);
// How many provisional entity ids its calls have given since the last orri_system_close_buffers().
uint64_t orri_system_provisional(const orri_system* system);
// The two parts of orri_parallel_run(), for real time: make the graph of the group, and run it.
// False: not worth it, or no memory.
bool orri_parallel_make_graph(orri_pipeline* pipe, uint32_t first, uint32_t point);
void orri_parallel_run_graph(orri_pipeline* pipe);

// tick/call.c: calling a function of a system. Prepares what a call needs. On refusal (reported)
// nothing was called.
orr_result orri_system_prepare(orr_world* world, orri_system* system, bool units);
// Opens all command buffers that it will need, in order, for calls on several threads. False when
// refused (silent).
bool orri_system_open_ahead(orr_world* world, orri_system* system);
// Before and after the calls of a group, on the driving thread: makes deferred write stamps; marks
// messages, events and changes as read.
void orri_system_settle(orr_world* world, const orri_system* system);
void orri_system_done(orr_world* world, orri_system* system);
// Closes command buffers that were opened in advance and not used.
void orri_system_take_back(orr_world* world, orri_system* system);
// Systems run on several threads from enter to leave; `only` (may be NULL) is the only system.
void orri_group_enter(orr_world* world, const orri_system* only);
void orri_group_leave(orr_world* world);
// Calls its function, for units [first, last) if it runs by unit. On any thread. Returns the number
// of rows.
uint64_t orri_system_work(orr_world* world, orri_system* system, uint32_t first, uint32_t last,
                          uint32_t worker);
// Applies its requests to enable or disable systems and to pause, in order.
void orri_system_apply_requests(orr_world* world, orri_system* system);
// The system that this thread runs; NULL: none.
orri_system* orri_system_here(const orr_world* world);
// Closes the command buffers that were opened, in order.
void orri_system_close_buffers(orr_world* world, orri_system* system);
// Calls the system for all its rows, on the driving thread, while no other system runs; units in
// this order (NULL: ascending).
void orri_system_call(orr_world* world, orri_system* system, const uint32_t* units);
// Calls the system for one entity, by index, with that tick of its pipeline. Does nothing if its
// query does not select the entity. The query was refreshed.
void orri_system_call_row(orr_world* world, orri_system* system, uint32_t index, uint64_t tick);
// The callbacks of a system's life.
typedef enum orri_life {
    ORRI_LIFE_CREATE,
    ORRI_LIFE_START,
    ORRI_LIFE_STOP,
    ORRI_LIFE_DESTROY,
} orri_life;
// Calls one of them, unless the desc has none or, in a replay, the recording has it.
void orri_system_call_back(orr_world* world, orri_system* system, orri_life life);
// Calls create and start of an impure system that a replay began without calling it.
void orri_system_call_back_missed(orr_world* world, orri_system* system);

// tick/single_entity.c: ticks for one entity alone, through systems that touch only their own rows.
typedef struct orri_single_entity {
    orr_world* world;
    const char* call; // Name of the public call, for messages.
    orr_entity entity;
    const char* except; // Name of a system that is ignored; NULL: none.
} orri_single_entity;
// Between ticks. ORR_OK when every system that selects the entity, or could change it, touches only
// its own rows; reports the first that does not.
orr_result orri_single_entity_check(const orri_single_entity* single);
// Runs the tick that is `ahead` ticks after the last one of the first pipeline. Checked before.
// Memory may be refused (reported). A system that violates its declarations is refused, too
// (reported): the entity may have changed then.
orr_result orri_single_entity_tick(const orri_single_entity* single, uint64_t ahead);

// tick/reduce.c: systems with .combine. Reserves room for the partial values; false when refused
// (reported).
bool orri_reduce_reserve(orr_world* world, orri_system* system);
void orri_reduce_free(orr_world* world, orri_system* system);
// A unit begins, on any worker: its partial value is set to the type's presets.
void orri_reduce_begin(const orri_system* system, uint32_t unit);
void* orri_reduce_partial(const orri_system* system, uint32_t unit);
// `units` units ended, on any worker. The last one of the tick combines all partials.
void orri_reduce_end(orri_system* system, uint32_t units);

// system/audit.c: full access checks. Copies data that a system may not write; compares it
// afterwards, restores it and reports differences. NULL: no memory, the system runs unchecked.
typedef struct orri_audit_watch orri_audit_watch;
orri_audit_watch* orri_audit_begin(orr_world* world, const orri_system* system);
void orri_audit_end(orr_world* world, orri_system* system, orri_audit_watch* watch);

#endif
