// SPDX-License-Identifier: MIT
// Systems, the plan of a tick, and how it runs. README.md states the invariants.
#ifndef ORRI_SCHEDULE_H
#define ORRI_SCHEDULE_H

#include "jobs/jobs.h"
#include "message/message.h"
#include "store/publish/publish.h"
#include "store/world/access.h"
#include <orrery/schedule.h>

// ---- trace.c: a Chrome trace ---------------------------------------------------------------------------------------

typedef struct orri_trace orri_trace;

// Creates the file and writes its beginning. NULL when refused (reported: path and what the system said).
orri_trace* orri_trace_open(orr_world* world, const char* path);
// One span of work on a row of the picture (`lane` 0: the driving thread). `args` (may be NULL) is the inside of a JSON
// object: "\"rows\": 7". Names are escaped. Never fails: when the file cannot be written that is said once, and it ends.
void orri_trace_span(orri_trace* trace, const char* name, const char* category, uint32_t commands,
                     uint64_t start_ns, uint64_t end_ns, const char* args);
// Rows of pipelines in real time, from this number on; they are named when it begins.
#define ORRI_TRACE_PIPELINES 4096u
void orri_trace_name(orri_trace* trace, uint32_t commands, const char* name);
// Writes the end, closes the file, frees it. The file is whole JSON then.
void orri_trace_close(orr_world* world, orri_trace* trace);
// The path for one more world of this process, from the environment's ORR_TRACE: the path itself for the first that asks,
// "path.2" for the next. NULL: none is wanted, or it is too long (reported).
const char* orri_trace_env(orr_world* world, char* out, size_t out_size);
// ORR_OK unless a tick is under way (reported).
orr_result orri_check_between_ticks(const orr_world* world, const char* call);

// ---- journal.c: who changed what ---------------------------------------------------------------------------------------

typedef struct orri_journal orri_journal;

// Takes what its reader was told into the ring. Called after every tell while there is a journal.
void orri_journal_drain(orr_world* world, orri_journal* journal);
// The same if there is one; hands `result` on.
orr_result orri_journal_received(orr_world* world, orr_result result);
// One message of these.
void orri_journal_take(orri_journal* journal, const orr_message* message);
void orri_journal_destroy(orr_world* world, orri_journal* journal);

// ---- systems ---------------------------------------------------------------------------------------------------------

// The texts of a desc, copied with it.
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

// What a system wants of the world's pause.
enum {
    ORRI_PAUSE_ON = 1,
    ORRI_PAUSE_OFF,
};

// A value of a schema's type that belongs to a system and is part of the world's state (state.c).
typedef struct orri_system_state {
    const orri_type* type; // NULL: none.
    uint8_t* data;
} orri_system_state;

// creates, adds, removes, changes, switches, sends, receives, any to read, any to write, transacts, atomics, overwrites.
#define ORRI_BIT_SETS 12

// Begins on a cache line; the first two hold what a tick reads of a system that has little to do.
typedef struct orri_system {
    void (*run)(orr_run* run); // Of the desc, as `every`, `creates_max` and what follows.
    orr_query* query;          // NULL: none.
    orr_command_buffer**
        command_buffers; // Opened since the last point, in order of calls and units.
    uint64_t tick_first; // In which it ran first; UINT64_MAX: it never did.
    uint32_t every, creates_max;
    uint32_t command_buffer_count, command_buffer_capacity;
    uint32_t wish_count;
    bool started; // Its `start` was called, and no `stop` since;
    bool met_create,
        met_start;   // which is so for what is outside, too, unless a replay did without.
    bool by_rows;    // It is called for every run of rows.
    bool may_send;   // It declares something to send.
    bool everywhere; // It may write what its query does not select: by id.
    bool atomic;     // The same by atomic sections.
    bool reduces;    // Its exports are combined of partial values (reduce.c).
    bool reads;      // It has a queue of messages (rights.reader).
    bool kept;       // Its rows come in an order that the query keeps.
    bool by_id;      // It may reach types of any entity.
    uint8_t pause;   // What it asked for since the last point; 0: nothing.
    bool holds;      // It is parallel and has state, which it may only read.
    // Of the tick under way (group.c).
    bool due;      // It runs in this tick.
    bool in_units; // Its runs are shared out by chunk.
    bool ahead;    // Lanes were opened ahead, from command_buffer_ahead on.
    bool
        whole; // They are not shared out, whatever it says: what it changes is counted by the world.
    uint64_t since; // Epoch when it last ran, for `changed` terms.
    orri_event_cursors* inbox;
    uint32_t cost_ns; // What it takes, lately; 0: it was never timed.
    uint32_t command_buffer_ahead;
    orr_system_stats stats; // What is not in rights.counts.
    orri_access guard;
    orr_hot_table** tables; // What reading by id may see.
    uint32_t table_count, table_changes;
    orri_rights rights;

    orr_system handle;
    struct orri_pipeline* pipe;
    orr_system_desc desc;            // Texts and terms are copies.
    struct orri_system *prev, *next; // In order of registration.
    uint64_t name_hash;

    // Life. Changed at the beginning of a tick only, towards what is wanted.
    bool resolved; // Names were looked up.
    bool created;  // Its `create` was called.
    bool wanted;   // Switched on: by itself, and with its group.
    bool self_on, group_on;
    bool removed; // It goes.

    // What its names mean (resolve.c).
    orr_query* destroys; // Targets.
    uint64_t* bits;      // All bitsets, ORRI_BIT_SETS of rights.type_words words each.
    const uint64_t*
        overwrites; // By type index: it writes all rows of its query, without a look. NULL: none.
    orr_tag* tags;
    orr_tag* any_tags;            // [guard.any_tag_count]
    orr_type sent[ORR_TERMS_MAX]; // Types with indexed fields that it changes by sending.
    uint32_t sent_count;
    orri_system_state state, exports;
    orri_system_state state_before; // Of a parallel system: what its state has to be when it ends.
    struct orri_system** imports;   // In order of the text.
    uint32_t import_count;
    // In real time: exports as they were when its tick ended, for other pipelines; and what it imports from others, as of its last call.
    uint8_t* exports_shown;
    uint8_t** imports_seen; // [import_count]; NULL: of its own pipeline.
    bool no_required;       // Its query has no required term.
    bool structural;        // It declares something that waits for a commit point.
    bool sends_changes;
    bool transacts;
    const char* alone; // Why it is the only one of its group; NULL: it need not be.
    uint32_t
        user1; // In real time: the lock on its `user`, if systems of other pipelines have the same; plus 1.

    // The tick under way (group.c).
    uint32_t order;    // In its group.
    uint64_t spent_ns; // In this tick, by all workers.
    uint8_t* partials; // By unit (reduce.c).
    uint32_t partial_capacity;
    _Atomic uint32_t partials_left; // Units that are not through.
    // Systems it switches; done when its lanes are handed in.
    struct orri_system_request* wishes; // [wish_count]
    uint32_t wish_capacity;
} orri_system;

typedef struct orri_system_request {
    struct orri_system* target;
    bool group, on; // Switched by its group, or by itself.
} orri_system_request;

// ---- the plan: what a tick does, in order (order.c, plan.c) -----------------------------------------------------

// Why a commit point stands where it stands.
typedef struct orri_reason {
    const orri_system* sender; // NULL: the tick ends.
    const orri_system* reader;
    const char* what; // "may add", …
    const char* rest; // Behind the name of the reader, where it is not about one type.
    orr_type type;    // Null: not one type.
} orri_reason;

// A system, or a point: where what the systems since the last point (a *group*) sent and wrote is done and told, in their order, on
// the driving thread. Between points nothing but columns, pinned values, states and lanes is written, so that systems of a
// group that do not conflict may run side by side.
typedef struct orri_step {
    orri_system* system; // NULL: a point.
    bool commit;         // Of a point: structure is changed, too.
    uint32_t
        first; // Of a point: the first step of its group. Of the first step of a group: its point.
    orri_reason reason; // Of a point.
} orri_step;

typedef enum orri_stage {
    ORRI_STAGE_LIFE,    // Systems begin and end.
    ORRI_STAGE_OUTSIDE, // What they sent by that, and what was changed between ticks.
    ORRI_STAGE_STEPS,
    ORRI_STAGE_DONE,
} orri_stage;

// What the ticks of a pipeline read and write of its state under a driver (orri_driver). The driver owns it.
typedef struct orri_driven {
    orri_view* view;   // Types of other pipelines, as last published; NULL: it reads none.
    uint64_t clock[2]; // Tick and epoch of the group of systems that runs.
    uint32_t era;      // Of loops: a loop of an earlier era has ended.
    bool loop_left;    // A system of the group returned from a loop without ending it.
    bool holding;      // It holds the locks of a group.
    bool exclusive;    // It holds all structure exclusively: no system of any pipeline runs.
    bool copied;       // The tick is done; what it wrote was copied, but is not published yet.
    bool records;      // What its impure systems do is recorded now.
    bool replays;      // Its impure systems are not called: a recording has what they did.
    orri_command_bytes* recorded;       // Where that goes.
    const orri_command_bytes* replayed; // Where that comes from,
    size_t replay_at;                   // and the next byte of it.
    const _Atomic bool* diverged;       // The replay did something else than was recorded.
} orri_driven;

struct orri_commit_scope;
struct orri_pipeline;

// What a tick asks of the module that drives pipelines beside each other. The module realtime fills it when a world first runs in real time; in
// lockstep nothing of it is called.
typedef struct orri_driver {
    // The tick begins: it sees what other pipelines published last. On refusal (reported) it does not begin.
    orr_result (*tick_begin)(struct orri_pipeline* pipe);
    // The tick is done: what it wrote is published. On refusal (reported) calling again goes on.
    orr_result (*tick_end)(struct orri_pipeline* pipe);
    // Runs the systems of steps [first, point). Their locks are held until `release`.
    orr_result (*group)(struct orri_pipeline* pipe, uint32_t first, uint32_t point);
    // Waits until no system of any pipeline runs, and keeps it so until `release`.
    void (*exclusive)(struct orri_pipeline* pipe);
    // The same for the clusters that commits at this step touched so far. False: not worth it, or not possible; nothing is held.
    bool (*narrow)(struct orri_pipeline* pipe);
    // The clusters that a commit must keep to, or is to note; NULL: all.
    struct orri_commit_scope* (*commit_scope)(const struct orri_pipeline* pipe);
    // Published values follow their rows. With structure held by `exclusive` or `narrow`.
    orr_result (*remap)(struct orri_pipeline* pipe);
    void (*release)(struct orri_pipeline* pipe);
    // True when something waits that needs `exclusive`.
    bool (*wants_exclusive)(const struct orri_pipeline* pipe);
    // Loops that the pipeline's systems left open have ended.
    void (*end_loops)(struct orri_pipeline* pipe);
    // An impure system cannot be replayed as recorded. Reports.
    void (*diverge)(const struct orri_pipeline* pipe);
    // A tick that was refused under the driver goes on in lockstep; `ended`: it has ended there.
    void (*resume)(struct orri_pipeline* pipe, bool ended);
    // Pauses a world that runs, or lets it go on. With `posting` held.
    void (*pause)(orr_world* world, bool on);
    void (*pipeline_free)(orr_world* world, struct orri_pipeline* pipe);
} orri_driver;

// Systems with a clock of their own (pipeline.c). In lockstep at most one of them is within a tick.
typedef struct orri_pipeline {
    orr_world* world;
    uint32_t index; // In order of registration.
    char* name;
    uint64_t name_hash;
    bool spectator; // No part of the simulation: its ticks are not the world's (spectator.c).

    // Time: that of the world, which moves by ticks (step.c).
    double rate_hz;       // 0: continuous.
    uint64_t interval_ns; // Of a tick; of a continuous one its step in lockstep.
    float interval;       // The same in seconds.
    uint64_t start_ns;    // When it began,
    uint64_t ran;         // how many ticks ended since,
    uint64_t due_ns;      // and when the next is due.
    uint64_t tick;        // Ticks that began.

    orri_foreign foreign; // Types that others write, as the plan knows.
    orri_step* steps;     // The plan; the last one is a commit point.
    uint32_t step_count, step_capacity;
    uint32_t step_last; // Steps of the plan before,
    bool same;    // and whether this one has the same systems and points, as far as it is made.
    bool renewed; // It was made anew for this tick: systems begin and end.
    struct orri_parallel* parallel; // Its systems on workers (parallel.c); NULL: they are on none.

    // The tick under way.
    orri_stage stage;
    uint32_t at; // Step, and how far it is done.
    uint8_t phase;
    uint32_t ended; // Systems of the group whose ends are done.
    bool timed;
    float dt;
    uint64_t clock_ns;    // When what runs began, if timed.
    uint64_t tick_ns;     // When the tick began, likewise.
    uint64_t rows_before; // Of the system that runs.

    orri_driven* driven;        // State under a driver; NULL: it never ran under one.
    struct orri_moment* moment; // The driver's own state of it, which contains `driven`.
    void (*wait)(void* user);   // Of the desc.
    void* wait_user;
    bool wait_main;
} orri_pipeline;

// A type that a pipeline writes (type_owner.c).
typedef struct orri_type_owner {
    uint64_t type_hash; // Of its name: it may not be registered yet.
    orri_pipeline* pipe;
    char* system; // That was the first to.
} orri_type_owner;

struct orri_schedule {
    orri_system *first, *last; // In order of registration.
    orri_system** slots;       // By index.
    uint32_t* generations;     // By index, of the system there or of the next one.
    uint32_t slot_count, slot_capacity, generation_capacity;
    uint32_t system_count;
    orri_pipeline** pipelines; // In order of registration; the first one is always there.
    uint32_t pipeline_count, pipeline_capacity;
    orri_type_owner* claims;
    uint32_t claim_count, claim_capacity;
    uint64_t time_ns;   // The clock that pipelines share in lockstep.
    uint64_t passed_ns; // Told by orr_update(), and not run by a continuous first pipeline yet.

    uint32_t step_types; // Types there were when the plans were made.
    bool stale;          // Systems came, went or were switched: plans are made anew.
    bool switched;       // Since then, one that is no spectator's.
    // Types that readers are told of, as the plans know: bits by type index; `told_all`: all of them.
    uint64_t* told;
    uint32_t told_words;
    bool told_any, told_all;
    uint64_t plans,
        compared; // For tests: plans made, pairs of systems asked whether they conflict.

    orri_pipeline* now;   // Within a tick, perhaps stopped; NULL: none.
    bool inside;          // And it runs.
    orri_system* running; // Whose function runs; NULL: none.
    orr_worker_stats
        alone; // What the driving thread did with nobody beside it, since the beginning.

    _Atomic bool paused; // Also by systems.
    bool time_all;
    uint64_t shuffle; // Seed of orders by chance (shuffle.c); 0: none.
    orr_access_check audit;
    uint64_t look_ns; // What a look at the clock takes, where that matters: with workers.
    orri_trace* trace;
    orri_journal* journal;
    orri_jobs* jobs; // Workers, of all pipelines; NULL: none.
    // Systems of the largest group that workers could not be had for, for want of memory, since that was said; 0: none.
    uint32_t lacks;
    bool
        watched; // Another thread sees when a system is stuck; otherwise it is named when it returns, if timed.
    // The run in real time; NULL: none. Changed with `posting` held, so that other threads can ask.
    struct orri_realtime* realtime;
    const orri_driver* driver; // NULL: the world never ran in real time.
    orri_mutex posting;
    // In lockstep, under `posting`: calls that wait for the first pipeline's next tick, and what ticks are recorded to, or follow (recording.h).
    struct orri_call *post_first, *post_last;
    _Atomic bool posted;            // There are some.
    struct orri_lockstep_log* tape; // NULL: neither.
    struct orri_probe* probe;       // NULL: nobody looks.
    bool calling;                   // Such a call runs.
    struct orri_named* named;       // Functions that files name (call_registry.c).
    uint32_t named_count, named_capacity;
    char* lock_text; // The trace of the last run there; NULL: none.
    size_t lock_text_size;
    double wish; // How fast time is to go there, if that was said.
    bool wished;
};

// pipeline.c. The first one; false when refused (reported).
bool orri_pipelines_begin(orr_world* world);
// Their part of the world's hash.
uint64_t orri_pipelines_digest(const orr_world* world, uint64_t hash);
// Adds one; NULL when refused (reported). Texts are copied.
orri_pipeline* orri_pipeline_make(orr_world* world, const orr_pipeline_desc* desc);
// NULL: there is none of this name.
orri_pipeline* orri_pipeline_named(const orr_world* world, const char* name);
// When its next tick is due, or one so many after that.
uint64_t orri_pipeline_due(const orri_pipeline* pipe, uint64_t after);
// From now on it is due as if it came anew.
void orri_pipeline_anew(orri_pipeline* pipe);
// Its tick ended: when the next is due.
void orri_pipeline_ticked(orri_pipeline* pipe);
// Frees all of them. Their systems are gone.
void orri_pipelines_free(orr_world* world);

// type_owner.c: claims what a system writes for its pipeline. False when another pipeline has it, or memory is refused (reported):
// what was entered before memory ended stays, and is the same pipeline's.
bool orri_type_owners_take(orr_world* world, const orri_system* system);
// Which pipeline writes a type; NULL: none does.
const orri_pipeline* orri_type_owner_of(const orr_world* world, orr_type type);
// Fills what is foreign to each pipeline. False when refused (reported).
bool orri_type_owners_sort(orr_world* world);
void orri_type_owners_free(orr_world* world);

// spectator.c: a spectator changes only what is transient, others do not know of it. ORR_OK when a system whose names were looked up keeps to that; reports.
orr_result orri_spectator_check(orr_world* world, const orri_system* system);
// Of an import: what one of them exports, the others do not read.
orr_result orri_spectator_import(orr_world* world, const orri_system* system,
                                 const orri_system* from);
// A running spectator wants something of the simulation (`what` it would do, to whom): refused, and counted. False: it is allowed.
bool orri_spectator_refuses(orr_world* world, orri_system* by, const char* what,
                            const orri_system* target);
// True when the running system must not know of that one.
bool orri_spectator_hidden(const orr_world* world, const orri_system* system);

// step.c: ORR_OK where ticks may be run: between them, outside of systems and handlers. Reports.
orr_result orri_step_check(orr_world* world, const char* call);

// ORR_OK where the world as a whole is had: between ticks, outside of systems and handlers, with nothing open; in real time at a meeting. Reports.
orr_result orri_step_between(orr_world* world, const char* call);

// Runs what is due until the world's tick is `tick`, paused or not. Reports.
orr_result orri_step_to(orr_world* world, uint64_t tick);
// True when the tick of some pipeline is half done, perhaps since it was refused in real time.
bool orri_half_done(const struct orri_schedule* schedule);

// state.c: a system goes, or its imports are looked up anew: copies of exports that real time made are freed.
void orri_exports_release(orr_world* world, orri_system* system);

// step.c: true while the world runs in real time. From any thread, also while a sync point is held.
bool orri_realtime_runs(const orr_world* world);

// The world whose tick this thread drives in lockstep; NULL: none. So who posts from another thread is told from a system that does.
extern _Thread_local const orr_world* orri_tick_here;

// tick.c: runs a tick, or goes on with the one that is under way. On refusal (reported) it stays open; calling again goes on.
orr_result orri_tick(orri_pipeline* pipe, float dt);

// Made at first use, with the tenant's functions; NULL when refused (reported).
struct orri_schedule* orri_schedule_of(orr_world* world);
// NULL for a stale or null handle.
orri_system* orri_system_at(const orr_world* world, orr_system handle);
orri_system* orri_system_named(const orr_world* world, const char* name, size_t size);
// Frees a system that is in no list any more.
void orri_system_free(orr_world* world, orri_system* system);
// Who only listens, and keeps its own book, is no part of the state, nor is what waits for it: a server without a window has the hash of
// a client.
bool orri_system_outside(const orri_system* system);
// Takes a system out of the lists and frees it.
void orri_system_drop(orr_world* world, orri_system* system);
// The system of a run; NULL (reported) if it is none's.
orri_system* orri_run_self(const orr_run* run, const char* call);

// A text of names with commas between. `*at` goes on behind the item; false at the end. Blanks around it are left out.
bool orri_list_next(const char** at, const char** item, size_t* size);

// Looks up all names of a system's desc. ORR_OK if that was done before. On refusal (reported) nothing is kept.
orr_result orri_system_resolve(orr_world* world, orri_system* system);
// Gives back all of that. Of a system that was never resolved nothing.
void orri_system_unresolve(orr_world* world, orri_system* system);
// True when all types and tags its texts name are known: then it can be resolved at once.
bool orri_system_known(orr_world* world, const orri_system* system);

// Sorts the systems: by before and after, else by registration. `strict`: unknown names are refused; otherwise they do not
// count. `out` has room for all systems that are not removed. A cycle is refused and printed.
orr_result orri_system_order(orr_world* world, bool strict, orri_system** out, uint32_t* count);
// Makes the plan if it is stale. On refusal (reported) there is none.
orr_result orri_plan_make(orr_world* world);
// What a sender may do to whom a reader may see, by declarations alone. False: nothing.
bool orri_affects(const orr_world* world, const orri_system* sender, const orri_system* reader,
                  orri_reason* out);

// delivery_deps.c: why systems cannot be of one group. What is told as the plan knows; false when refused (reported).
bool orri_readers_of_find(orr_world* world);
// True when what `first` does at its end must be done before `second` runs.
bool orri_delivery_deps_before(const orr_world* world, const orri_system* first,
                               const orri_system* second, orri_reason* out);

// conflict.c: what a system does with the values of a type.
typedef enum orri_touch {
    ORRI_TOUCH_NONE,
    ORRI_TOUCH_READS,
    ORRI_TOUCH_ATOMIC, // By atomic sections alone: these may overlap, with each other only.
    ORRI_TOUCH_WRITES,
} orri_touch;
// `*any` (may be NULL): also of entities its query does not select.
orri_touch orri_touches(const orr_world* world, const orri_system* system, uint32_t type_index,
                        bool* any);
// True when a list of `before`, `after` or `imports` names a system or its group.
bool orri_system_lists(const char* text, const orri_system* system);
// True when two systems of a group, in this order, must not run at the same time.
bool orri_conflict(const orr_world* world, const orri_system* first, const orri_system* second);

// state.c: a value with its preset. False when refused (reported).
bool orri_system_state_make(orr_world* world, orri_system_state* keep, const orri_type* type);
// The state of a parallel system before it runs; and after: what was written is undone, and said.
void orri_system_state_hold(orri_system* system);
void orri_system_state_check(orr_world* world, orri_system* system);
void orri_system_state_free(orr_world* world, orri_system_state* keep);

// timing.c: when the tick is timed. What follows begins; it ends, and the next begins. `system` (may be NULL) gets the time.
void orri_timing_begin(orri_pipeline* pipe);
void orri_timing_end(orri_pipeline* pipe, orri_system* system, const char* name,
                     const char* category);
// So long may a system take before it is named.
uint64_t orri_timing_stuck_ns(const orr_world* world);
// Finds out what a look at the clock takes.
void orri_timing_look(orr_world* world);
// On workers: 0 if the tick is not timed.
uint64_t orri_timing_now(const orri_pipeline* pipe);
// A call of a system by a worker ended. From any worker.
typedef struct orri_timing_units {
    uint32_t first, count; // Chunks; count 0: it is not told in some.
} orri_timing_units;
void orri_timing_worked(orri_system* system, uint32_t worker, uint64_t begun, uint64_t rows,
                        orri_timing_units units);
// A worker looked for work from `begin_ns` and slept from `sleep_ns` on (0: it did not). From any worker; for the trace.
void orri_timing_waited(const orr_world* world, uint32_t worker, uint64_t begin_ns,
                        uint64_t sleep_ns, uint64_t end_ns);
// What was done at a point ended; it began at `begun`. What follows begins.
void orri_timing_point(orri_pipeline* pipe, uint64_t begun);
// The group is through: what workers spent goes to the stats; what follows begins.
void orri_timing_add(orri_system* system);

// group.c: the systems of steps [first, point).
// Who is due, and what their calls need. On refusal (reported) nothing was called; calling again tries again.
orr_result orri_group_prepare(orri_pipeline* pipe, uint32_t first, uint32_t point);
void orri_group_run(orri_pipeline* pipe, uint32_t first, uint32_t point);
// One of it, on the driving thread, as orri_system_call().
void orri_group_run_one(orr_world* world, orri_system* system, const uint32_t* units);
// Opens all lanes that its systems will need, in order. False when refused (silent): then none is open.
bool orri_group_open_ahead(orri_pipeline* pipe, uint32_t first, uint32_t point);
// What a system of it sent and wrote is done and told. Its pipeline's phase says how far that is; on refusal (reported) calling again goes on.
orr_result orri_system_end(orr_world* world, orri_system* system);

// parallel.c: workers. True when the systems of steps [first, point) were run by several; the driving thread does it otherwise. Never fails:
// what cannot be had for it is done without.
bool orri_parallel_run(orri_pipeline* pipe, uint32_t first, uint32_t point);
// Around systems that the driving thread runs alone: other workers or a watcher, if there are some, see if one of them is stuck. True: it
// wants to be told which it is.
bool orri_parallel_watch(const orri_pipeline* pipe, bool on);
void orri_parallel_says(const orri_pipeline* pipe, uint32_t step); // Which it is, while watched.
// Whether several workers are worth it for these steps, by what their systems took before. Asked once, before they are prepared; who of them
// is due is known.
bool orri_parallel_pays(orri_pipeline* pipe, uint32_t first, uint32_t point);
// Whether this world has workers. Makes them at first use; without memory for them there are none (which is said once).
bool orri_parallel_ready(orri_pipeline* pipe);
void orri_parallel_end(orr_world* world);
// Workers there are now, with the driving thread.
uint32_t orri_parallel_workers(const orr_world* world);
// Adds what a worker did side by side with others.
void orri_parallel_stats(const orr_world* world, uint32_t worker, orr_worker_stats* out);
// The workers, to share out something else between groups. False: there are none to be had now.
bool orri_parallel_workers_of(orri_pipeline* pipe, orri_workers* out);
// The plan was made anew: which systems conflict is found anew.
void orri_parallel_forget(orri_pipeline* pipe);
// The workers; NULL: none yet.
orri_jobs* orri_parallel_crew(const orr_world* world);
// For tests: how the work is shared out. None of it may change a result.
typedef enum orri_sharing {
    ORRI_SHARE_AUTO,    // By what systems took.
    ORRI_SHARE_NOTHING, // Everything is a node of its own, nothing is split.
    ORRI_SHARE_ALL,     // Everything is split, fused and batched wherever it may be.
    ORRI_SHARE_RANDOM,  // By a seed.
} orri_sharing;
void orri_parallel_share(orr_world* world, orri_sharing sharing, uint64_t seed);

// shuffle.c: the serial run in an order by chance, of those that conflicts allow. False: that is not wanted, or memory for it was
// refused; then nothing was done.
bool orri_shuffle_run(orri_pipeline* pipe, uint32_t first, uint32_t point);
// The seed; 0 (the default): the order of the plan. Builds with ORR_VALIDATE_ON take it from the environment's ORR_SHUFFLE.
void orri_shuffle_set(orr_world* world, uint64_t seed);
uint64_t orri_shuffle_env(void);

// How many entities its next calls may create.
uint64_t orri_system_creates(const orri_system* system);
// parallel.c in two parts, for real time: what workers need is made ready; then they run it. False: not worth it, or not to be had.
bool orri_parallel_cut(orri_pipeline* pipe, uint32_t first, uint32_t point);
void orri_parallel_go(orri_pipeline* pipe);

// call.c: calls a function of a system with everything it may have.
// Makes ready what a call needs. On refusal (reported) nothing was called.
orr_result orri_system_prepare(orr_world* world, orri_system* system, bool units);
// Opens all lanes that it will need, in order, for calls on several threads. False when refused (silent).
bool orri_system_open_ahead(orr_world* world, orri_system* system);
// Before and after the calls of a group, on the driving thread.
void orri_system_settle(orr_world* world, const orri_system* system);
void orri_system_done(orr_world* world, orri_system* system);
// Gives back lanes that were opened ahead and not used.
void orri_system_take_back(orr_world* world, orri_system* system);
// Systems run on several threads from here to there; `only` (may be NULL) is the only one.
void orri_group_enter(orr_world* world, const orri_system* only);
void orri_group_leave(orr_world* world);
// Calls its function, for units [first, last) if it is split into some, on any thread. Returns how many rows it got.
uint64_t orri_system_work(orr_world* world, orri_system* system, uint32_t first, uint32_t last,
                          uint32_t worker);
// What it wished of other systems, in order.
void orri_system_grant(orr_world* world, orri_system* system);
// The system this thread runs; NULL: none.
orri_system* orri_system_here(const orr_world* world);
// Hands in the lanes that were opened, in order.
void orri_system_hand_in(orr_world* world, orri_system* system);
// The whole of it, on the driving thread, with nobody beside it; its units in this order (NULL: as they stand).
void orri_system_call(orr_world* world, orri_system* system, const uint32_t* units);
// For one entity alone, by index, as in that tick of its pipeline. Nothing if its query does not select it. The query was refreshed.
void orri_system_call_row(orr_world* world, orri_system* system, uint32_t index, uint64_t tick);
typedef enum orri_life {
    ORRI_LIFE_CREATE,
    ORRI_LIFE_START,
    ORRI_LIFE_STOP,
    ORRI_LIFE_DESTROY,
} orri_life;
void orri_system_call_back(orr_world* world, orri_system* system, orri_life life);
// It was begun in a replay, which called nothing of it: before it runs itself it is told.
void orri_system_return(orr_world* world, orri_system* system);

// single_entity.c: ticks for one entity alone, through systems that touch nothing but their own rows.
typedef struct orri_single_entity {
    orr_world* world;
    const char* call; // For messages.
    orr_entity entity;
    const char* except; // A system that does not count; NULL: none.
} orri_single_entity;
// Between ticks. ORR_OK when every system that selects it, or could change it, touches its own rows alone; reports the first that does not.
orr_result orri_single_entity_check(const orri_single_entity* solo);
// The tick that is `ahead` ticks after the last one of the first pipeline. Checked before. Memory may be refused (reported); a system that does what it
// did not declare is refused, too (reported): the entity may have changed then.
orr_result orri_single_entity_tick(const orri_single_entity* solo, uint64_t ahead);

// reduce.c: a system with .combine. Room for its partial values; false when refused (reported).
bool orri_reduce_reserve(orr_world* world, orri_system* system);
void orri_reduce_free(orr_world* world, orri_system* system);
// A unit begins, on any worker: its value is the type's presets.
void orri_reduce_begin(const orri_system* system, uint32_t unit);
void* orri_reduce_partial(const orri_system* system, uint32_t unit);
// So many units ended, on any worker. The last one of the tick combines them all.
void orri_reduce_end(orri_system* system, uint32_t units);

// audit.c: copies of what a system may not write, compared afterwards.
typedef struct orri_audit_watch orri_audit_watch;
orri_audit_watch* orri_audit_begin(orr_world* world, const orri_system* system);
void orri_audit_end(orr_world* world, orri_system* system, orri_audit_watch* watch);

#endif
