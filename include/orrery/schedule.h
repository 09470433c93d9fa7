// SPDX-License-Identifier: MIT
/// @file schedule.h
/// Systems: functions over a world that say what they read, write and may change; and the ticks that run them.
///
///     static void move(orr_run* run) // called once per run of rows
///     {
///         Position* p = orr_write(run, Position);
///         const Velocity* v = orr_read(run, Velocity);
///         for (uint32_t i = 0; i < run->count; i++) {
///             p[i].x += v[i].x * run->dt;
///         }
///     }
///
///     orr_system_add(world, &(orr_system_desc){.name = "move", .query = "write Position, Velocity", .run = move});
///     orr_step(world, 60);
///
/// Systems run in the order of their registration, except where `before` and `after` say otherwise; that order is the meaning
/// of the program. Names in a desc (types, tags, systems, groups) are looked up when the next tick begins; what is unknown then is an
/// error, and the tick does not begin.
///
/// Inside a system the world is closed: it reads and writes the columns of its query, reads by id (orr_get) what it declared
/// with `by_id`, and changes everything else by messages (message.h). What it did not declare is refused and named.
/// Only orr_alive(), reading strings, types, random numbers, the log and orr_print() (for looking; on workers it may see what another is just
/// writing) are free for all; making strings or arrays is for who writes or
/// sends a type with some.
///
/// Threads: everything here is for the thread that drives the world (any thread, one at a time); functions of systems are called by
/// its workers, if it has some (orr_world_desc.workers, docs/PARALLEL.md).
#ifndef ORRERY_SCHEDULE_H
#define ORRERY_SCHEDULE_H

#include <orrery/message.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORR_SYSTEMS_MAX 65535u ///< Of a world.

// ---- pipelines --------------------------------------------------------------------------------------------------

#define ORR_PIPELINES_MAX 64u ///< Of a world.

/// Systems with a clock of their own: physics 120 times a second, logic 30 times. Every world has one from the beginning, "main", with the
/// rate of the world (orr_world_desc.rate_hz). Pipelines stay as long as their world.
typedef struct orr_pipeline {
    uint32_t id; ///< 0: none.
} orr_pipeline;

typedef struct orr_pipeline_desc {
    const char* name; ///< Unique among the pipelines of a world. Required. Copied.
    double rate_hz;   ///< Ticks per second: dt is always 1 / rate_hz. Default 0: continuous.
    uint64_t step_ns; ///< What a tick of a continuous one takes in lockstep. Default 1/60 s.
    /// It looks on, for drawing, sound or tools, at any rate or not at all: its systems read everything, but write, add, remove, send changes of,
    /// create and destroy only what is transient (orr_type_settings.transient, orr_create_transient()). Its ticks are no ticks of
    /// the world, and nothing of it is in the hash. The others cannot name what is transient, nor receive or import from it: so
    /// they come to the same with it and without. docs/SPECTATORS.md.
    bool spectator;
    /// A place to wait outside of the world, for the screen (vsync) or anything else: in real time it is called before each tick of a
    /// continuous pipeline, on its thread, with nothing held. However long it takes, nobody waits for it but this pipeline, and orr_realtime(), which
    /// does not return before. What it does to the world it posts. Not called in lockstep and in replays. Default: none.
    void (*wait)(void* user);
    void* wait_user;
    bool
        wait_main; ///< `wait` is called on the thread that called orr_realtime(): systems with `main_thread` wait meanwhile.
} orr_pipeline_desc;

/// Adds a pipeline, between ticks; its first tick is due one interval after now. Null when refused. Allocates.
ORR_API orr_pipeline orr_pipeline_add(orr_world* world, const orr_pipeline_desc* desc);
/// Null if there is none.
ORR_API orr_pipeline orr_pipeline_find(orr_world* world, const char* name);
/// They are numbered by registration: (orr_pipeline){1} is "main".
ORR_API uint32_t orr_pipeline_count(const orr_world* world);

typedef struct orr_pipeline_stats {
    const char* name;
    double rate_hz;       ///< 0: continuous.
    uint64_t interval_ns; ///< Of its ticks, rounded; of a continuous one in lockstep.
    uint64_t tick;        ///< Ticks it began: what its systems see as run->tick.
    uint64_t due_ns;      ///< When its next is due, on the clock that pipelines share.
    uint32_t systems;     ///< It has.
    bool spectator;
} orr_pipeline_stats;
ORR_API orr_result orr_pipeline_stats_get(orr_world* world, orr_pipeline pipeline,
                                          orr_pipeline_stats* out);

// ---- systems ----------------------------------------------------------------------------------------------------

typedef enum orr_system_kind {
    ORR_DIRECT = 0, ///< Works on columns.
    ORR_INDIRECT, ///< Has state of its own, hears by messages and changes by messages; never touches the world.
} orr_system_kind;

/// Describes a system. Copied. Lists are texts with commas; all names are looked up at the next tick.
typedef struct orr_system_desc {
    const char* name; ///< Unique in its world, as a type's name. Required.
    orr_system_kind kind;
    /// Called for every run of rows of the query, or once (see `once`; indirect systems always once). Required.
    void (*run)(orr_run* run);

    // What it works on. Of an indirect system: what it is told of.
    /// As orr_query_text(): "write Position, Velocity, !Frozen". `changed` means written since it last ran, not by itself; not for
    /// `once`.
    const char* query;
    const orr_term* terms;
    uint32_t term_count; ///< Further terms.
    /// Direct: `run` is called once and loops by itself, over orr_run_query() or any query of declared types. It may do
    /// without a query.
    bool once;
    bool
        parallel; ///< Its runs may go to several workers at once. Then it may not read by `by_id` what it writes.
    /// Types it reads or writes by id, of any entity, and types and tags in queries of its own: "Position, write Health, #17".
    const char* by_id;

    // What it may send (message.h). Default: nothing.
    const char* creates; ///< Types that entities it creates may have: "Position, Velocity".
    /// Per chunk of rows; of one that is called once, or whose rows come in an order of their own: per tick. Default: its rows; 1024 for one that is
    /// called once. Say it if few are created of many rows: ids are set aside for as many, which takes time and, in a history, memory.
    uint32_t creates_max;
    const char* destroys; ///< Terms of what it destroys: "Bullet, !Player"; "*": anything.
    const char* adds;     ///< Types.
    const char* removes;  ///< Types.
    /// Types whose changes a direct system sends (orr_send_change()). An indirect system says so by write terms.
    const char* changes;
    /// Types it transacts on (orr_transact()), of any entity.
    const char* transacts;
    /// Types it changes at once (orr_atomic()), of any entity, in worlds that allow it. Direct systems only. A parallel one does not read or
    /// write them in another way.
    const char* atomics;
    /// Types among its write terms of which it writes every row it is given, whatever was there: in real time that spares a copy for other
    /// pipelines. A row it leaves out has any value. Plain types only; not for `once`.
    const char* overwrites;
    /// It looks at nothing but the rows it is given: no `by_id`, nothing that it sends, no orr_alive(), orr_print() or orr_entity_count(). In real time
    /// commits of other pipelines then wait for it only if they are about clusters that it walks. (Without effect for one that has terms of multiple or pinned types,
    /// or of types with strings, arrays or hooks.) Not for `once`.
    bool own_rows;
    const char* switches; ///< Types it switches on and off; "*" among them: entities.
    const char* tags;     ///< Tags it puts on or takes off: "#level1, #17"; "*": any.
    bool renames;         ///< Names.
    const char*
        sends; ///< Event types. "?Hit": there may be nobody who receives it, as where spectators do.
    const char* receives; ///< Event types. A direct system that receives says `.once`.

    // When it runs.
    const char* pipeline; ///< The pipeline it is in. Default: the world's first.
    const char* before;   ///< Systems or groups: "draw, physics"; "?draw" if there may be none.
    const char* after;
    const char* group; ///< A name for several systems, which are ordered and switched together.
    uint32_t every;    ///< In every Nth tick, from its first on. Default 1.
    bool main_thread;  ///< Only on the thread that drives the world.
    /// Nobody runs beside it: for one that loops over queries of its own with an order or pinned types (which looping brings up to date).
    bool alone;
    bool disabled; ///< Begins switched off.

    // What it keeps.
    /// The type of its state (orr_state): part of the world, hashed and remembered. Without it an indirect system with a
    /// `user` pointer is an outside reader, told again of everything after the world was wound back.
    const orr_type_desc* state;
    const orr_type_desc*
        exports; ///< The type of what other systems may read of it (orr_export, orr_import).
    /// Makes one value of two: `into` becomes what both are together. With it every chunk of rows has exports of its own, which
    /// begin each tick as the type's presets; after its last run they are combined, two neighbours by two, in an order that
    /// follows from the number of chunks alone, and are what others import. So one system may sum up on several workers, and the
    /// bits are the same with any number of them. It is called on any worker and looks at nothing else. Not for `once`.
    void (*combine)(void* into, const void* part);
    const char* imports; ///< Systems whose exports it reads.
    /// It has state outside of the world (`user`) and yet changes the world: what it does is an input. Recordings keep it, and a replay calls neither
    /// `run` nor the callbacks below, but does the same. (Not with types that have strings, arrays or hooks.)
    bool impure;
    void*
        user; ///< State outside of the world, for orr_run_user(). Who writes or sends too says `impure`.
    const void*
        settings; ///< What stays as it is while the system exists, for orr_run_settings(). Not copied.

    // Called once each, between ticks: when it takes effect, before its first tick after it was switched on, after it was switched
    // off or its world ends, and at last. They may use state, exports and `user`, and send.
    void (*create)(orr_run* run);
    void (*start)(orr_run* run);
    void (*stop)(orr_run* run);
    void (*destroy)(orr_run* run);

    uint32_t
        messages_max; ///< Unread entities in its queue; beyond, it is told anew. Default 16,777,216.
} orr_system_desc;

/// Adds a system; it runs from the next tick on. Null when refused: a name that is taken, a direct system without required or
/// optional terms, a cycle of before and after (printed), a call from inside a system … Allocates.
ORR_API orr_system orr_system_add(orr_world* world, const orr_system_desc* desc);
/// Removes a system; effective before the next tick: then its `stop` and `destroy` are called and its state is gone.
ORR_API orr_result orr_system_remove(orr_world* world, orr_system system);
/// Switches a system, or all systems of a group, on or off, from the next tick on. It runs if both it and its group are on. Also from
/// inside a system that is not parallel.
ORR_API orr_result orr_system_enable(orr_world* world, orr_system system, bool on);
ORR_API orr_result orr_group_enable(orr_world* world, const char* group, bool on);
/// True if it will run in the next tick it is due.
ORR_API bool orr_system_enabled(const orr_world* world, orr_system system);
/// Null if there is none.
ORR_API orr_system orr_system_find(const orr_world* world, const char* name);
/// The system registered after this one; the first for null; null at the end.
ORR_API orr_system orr_system_next(const orr_world* world, orr_system system);
/// Its name; "" for a null or removed one.
ORR_API const char* orr_system_name(const orr_world* world, orr_system system);

// ---- inside a system --------------------------------------------------------------------------------------------

/// The system's query, to loop over (once); NULL for an indirect one, and if it has none.
ORR_API orr_query* orr_run_query(const orr_run* run);
ORR_API orr_system orr_run_self(const orr_run* run);
ORR_API void* orr_run_user(const orr_run* run);
ORR_API const void* orr_run_settings(const orr_run* run);
/// A random number of (world seed, tick, system, entity): the same whatever the order or the number of threads, and in every call of
/// the tick. For more of them: orr_random(number, 1, 0, 0), orr_random(number, 2, 0, 0) … Without an entity: (orr_entity){0}.
ORR_API uint64_t orr_run_random(const orr_run* run, orr_entity entity);

/// The system's state: Count* c = orr_state(run, Count). A parallel system may only read it.
#define orr_state(run, type) ((type*)orr_run_state(run, ORR_TYPE(type)))
/// The system's exports, to write; with `combine`: the part of this run's chunk. A parallel system without may only read it.
#define orr_export(run, type) ((type*)orr_run_export(run, ORR_TYPE(type)))
/// What another system exports, to read: const Contacts* c = orr_import(run, "physics", Contacts). It must be in `imports`.
#define orr_import(run, system, type) ((const type*)orr_run_import(run, system, ORR_TYPE(type)))
ORR_API void* orr_run_state(orr_run* run, const orr_type_desc* desc);
ORR_API void* orr_run_export(orr_run* run, const orr_type_desc* desc);
ORR_API const void* orr_run_import(orr_run* run, const char* system, const orr_type_desc* desc);
/// From outside, between ticks: the state and exports of a system; NULL if it has none, or has not begun.
ORR_API const void* orr_system_state(const orr_world* world, orr_system system);
ORR_API const void* orr_system_exports(const orr_world* world, orr_system system);

// ---- ticks --------------------------------------------------------------------------------------------------------

// A world is stepped by its caller. Its first pipeline is fixed (orr_world_desc.rate_hz), with the same dt in every tick, or
// continuous, with a dt that the caller says. Others run beside it in lockstep: on a clock that moves by ticks, the one that is due
// first goes first (tick N of a pipeline is due N intervals after it was added), of several the one registered first. Each tick is whole
// before another begins, so every pipeline sees the last finished ticks of the others.
//
// If a tick cannot go on (memory for a commit is refused) the call returns the error with the tick half done: everything up to
// that point is there, nothing after. Calling again goes on where it stopped. Meanwhile the world can be read, but not changed.

/// Runs `count` ticks of the first pipeline, and of the others what falls due before. A continuous one takes 1/60 s for dt. @return the first error; ticks that ran before it stay.
ORR_API orr_result orr_step(orr_world* world, uint32_t count);
/// Time passed: a continuous first pipeline runs one tick with this dt; a fixed one as many as fall due, at most 2, and the rest of the time is
/// dropped. The others run what falls due in that time; beside a continuous first pipeline in a quarter of a second of it at most (or two intervals of
/// the slowest). Nothing while paused.
ORR_API orr_result orr_update(orr_world* world, uint64_t elapsed_ns);
/// Runs ticks until the world's tick is `tick`, or it is paused, or `done` (may be NULL) says true after a tick (not of a spectator). `done` must not destroy
/// the world.
ORR_API orr_result orr_run_until(orr_world* world, uint64_t tick,
                                 bool (*done)(void* user, orr_world* world), void* user);
/// Pauses orr_update() and orr_run_until(); orr_step() steps nevertheless. Also from inside a system that is not parallel: from its
/// tick's end on, and of several the last one in declared order.
ORR_API void orr_pause(orr_world* world, bool on);
ORR_API bool orr_paused(const orr_world* world);
/// True while a tick is half done, because it was refused to go on.
ORR_API bool orr_tick_open(const orr_world* world);

/// Gives up what a refused commit was to do: everything sent since the last commit point is dropped and counted, and the next orr_step()
/// goes on with the tick. For a commit that can never be done: a hook refuses, or memory that will not come.
ORR_API orr_result orr_tick_abandon(orr_world* world);

// ---- real time ------------------------------------------------------------------------------------------------------

// Pipelines at the same time, each on a thread of its own, by the clock on the wall. A type is written by one pipeline; systems of others read
// it as it was when the last tick of that one ended (published: whole ticks, and nobody waits for a value), or, if it is registered as `live`, in
// place under a lock. docs/REALTIME.md. The contract of lockstep does not hold: what is seen depends on
// timing; but a recording has all that it depends on, and a replay comes to the same.

/// Something done to a world from outside. `data` is a copy of what was posted.
typedef void (*orr_call)(orr_world* world, void* data);
typedef struct orr_recording orr_recording;

typedef struct orr_realtime_desc {
    uint64_t for_ns; ///< Ends after so much real time. Default 0: not by itself.
    uint64_t
        ticks; ///< Ends when the first pipeline has run so many ticks. Default 0: not by itself.
    /// Takes down what the run depends on (it is emptied first): which ticks each tick saw, in which order, what was posted, every dt, what impure
    /// systems did. Nothing of spectators. A tick that is open is finished first.
    orr_recording* record;
    /// Keeps the last so many records of locks of each pipeline, for orr_lock_trace_print(). Default 0: none.
    uint32_t lock_trace;
    bool
        hashes; ///< Records, after every tick, the hash of what its pipeline writes; and of the world before.
    /// Runs what was recorded, on a world that is as that one was: no clock, no calls from outside. Its spectators may be others; they run beside it. Ends
    /// with the recording, which may be in the midst of ticks (orr_recording_stats): these are finished. Or earlier, by the limits above.
    /// ORR_ERR_CONFLICT if it does something else than was recorded or, of a recording with `hashes`, if the world began as another or a hash differs: pipeline and tick are said.
    const orr_recording* replay;
    /// Of a replay: its ticks begin when they are due by the clock, for who looks on; orr_time_scale_set() says how fast, 0 holds it. (Pauses are those of the
    /// recorded run, and take no time.) Default: as fast as it goes.
    bool paced;
} orr_realtime_desc;

/// Runs all pipelines until orr_stop(), a limit of the desc, or a refusal, which is returned (calling again goes on). Meanwhile the calling thread runs
/// the systems that say `main_thread`. Everything else waits for its turn: inside a system as ever; from outside nothing but orr_post() and what
/// says "from any thread". Refused without threads. Allocates.
ORR_API orr_result orr_realtime(orr_world* world, const orr_realtime_desc* desc);
/// Ends orr_realtime(): every pipeline finishes its tick. From any thread, also inside a system. Nothing if it does not run.
ORR_API void orr_stop(orr_world* world);

/// True while orr_realtime() is at work: then calls from outside are posted. From any thread; it may have ended when this returns: what
/// orr_post() returns counts.
ORR_API bool orr_running(const orr_world* world);

/// Does something to the world between two ticks of the first pipeline, with no system running: all calls of the store are allowed. `data` is copied. This
/// is how input comes into a world: recordings keep it (replay.h). From any thread; calls are done in the order in which they were posted. In a replay
/// nothing is posted: the recording has its own calls; in its `on_tick` that is refused with ORR_ERR_STATE. What is posted and not done yet when the world goes
/// back in time stays posted: it is done when the next tick from there begins.
/// In real time: on a thread of the world, also while it is paused; what is still to be done when orr_realtime() ends is done before it returns.
/// In lockstep: when the first pipeline's next tick begins, by who steps. A system of the simulation sends instead, unless it is impure: ORR_ERR_STATE. From
/// other threads once the world has a system.
ORR_API orr_result orr_post(orr_world* world, orr_call call, const void* data, size_t size);
/// The same where all pipelines stand between their ticks, which they wait for: for what looks at the world as a whole (orr_world_hash(),
/// orr_world_validate()) or goes back (history.h), and for systems and types that come and go. Not for new pipelines, nor for ticks.
ORR_API orr_result orr_post_exclusive(orr_world* world, orr_call call, const void* data,
                                      size_t size);
/// Names a call that is posted, for files. Its data is saved as the bytes it is: no pointers, and the same layout wherever it is replayed. A
/// function has one name: ORR_ERR_CONFLICT. Allocates.
ORR_API orr_result orr_call_register(orr_world* world, const char* name, orr_call call);
/// The same for a function that impure systems transact with (orr_transact_call()).
ORR_API orr_result orr_transaction_register(orr_world* world, const char* name,
                                            orr_transaction function);

/// How fast time goes, as the user wishes: 1 (the default) as it is, 0.5 half as fast. From any thread. Refused below 0, above 1000.
ORR_API orr_result orr_time_scale_set(orr_world* world, double wish);
/// How fast it goes now: the wish, times less than 1 if a pipeline with a rate cannot keep it: then time goes slower for all of them. From any thread.
ORR_API double orr_time_scale(orr_world* world);
/// How far the world's time is from when the pipeline's last tick was due to when its next is, 0 to 1, for drawing what moves between the two; 1
/// also if the next one is late. A continuous one has no next in real time: 0. In a replay, which has no clock: 1. In lockstep by the clock that pipelines
/// share, which stands during a tick and where orr_update() left it. In real time from any thread and every system; a number to look at, which depends
/// on timing there. 0 if there is no such pipeline.
ORR_API double orr_phase(orr_world* world, orr_pipeline pipeline);
/// While paused (orr_pause(), then from any thread): so many ticks of the first pipeline, and of the others what falls due up to then, as fast as it
/// can. A continuous one takes the dt it has in lockstep.
ORR_API orr_result orr_realtime_step(orr_world* world, uint32_t ticks);

/// Empty; NULL without memory. Lives apart from worlds.
ORR_API orr_recording* orr_recording_create(void);
/// Not while a world is recorded to it: orr_record_end() first, or destroy the world. That is asserted. NULL: nothing.
ORR_API void orr_recording_destroy(orr_recording* recording);
typedef struct orr_recording_stats {
    uint64_t ticks, calls, bytes;
    bool full; ///< Memory ran out: what there is, is a true beginning.
    /// Something of the run was refused (memory, or the error that ended it): the recording ends there, in real time in the midst of ticks.
    bool refused;
    bool realtime; ///< Of a run in real time; else of lockstep.
    bool cut;      ///< The file it is from ended before it did.
    /// The world was changed behind `changed_tick` by something that is not in the recording: a replay will differ.
    bool changed;
    uint64_t changed_tick;
    uint64_t tick_first; ///< Of lockstep: the world's tick when it began,
    uint64_t tick_last;  ///< and after its last.
    uint64_t hashes;     ///< Recorded.
} orr_recording_stats;
ORR_API void orr_recording_stats_get(const orr_recording* recording, orr_recording_stats* out);

/// Writes who held what in the last run in real time, a line each: what was taken between pipelines, and what plans granted within them. As
/// orr_value_print(). Between runs.
ORR_API size_t orr_lock_trace_print(const orr_world* world, char* out, size_t out_size);

/// How long a pipeline waited in its last run in real time, or this one: for locks (others held structure or `live` types), and for its turn.
typedef struct orr_wait_stats {
    uint64_t ticks; ///< In that run.
    uint64_t
        dropped; ///< Ticks left out because it was late by more than one; in a replay as it was recorded.
    uint64_t lock_waits, lock_waited_ns, lock_longest_ns;
    uint64_t turn_waited_ns, turn_longest_ns;
} orr_wait_stats;
/// From any thread while it runs: numbers may be of different moments.
ORR_API orr_result orr_wait_stats_get(orr_world* world, orr_pipeline pipeline, orr_wait_stats* out);

// ---- police ---------------------------------------------------------------------------------------------------------

/// How far systems are watched. A breach is an error, said with system, type and entity, and counted; the world goes on.
typedef enum orr_access_check {
    ORR_ACCESS_CHECK_DEFAULT =
        0, ///< ORR_ACCESS_CHECK_FULL in builds with ORR_VALIDATE_ON, else ORR_ACCESS_CHECK_CALLS.
    ORR_ACCESS_CHECK_OFF, ///< Calls to the world inside systems are not looked at. (Columns and sends still are.) With workers a breach is a data race.
    ORR_ACCESS_CHECK_CALLS, ///< Every call that touches what was not declared is refused.
    ORR_ACCESS_CHECK_FULL, ///< And whatever a system may not write is compared with a copy afterwards: finds writes through pointers.
} orr_access_check;
ORR_API void orr_access_check_set(orr_world* world, orr_access_check audit);

// ---- what happened ------------------------------------------------------------------------------------------------------

/// What a system did since it was added.
typedef struct orr_system_stats {
    uint64_t ticks;       ///< In which it ran.
    uint64_t runs;        ///< Calls of its function.
    uint64_t rows;        ///< Handed to it.
    uint64_t received;    ///< Entities in messages it took.
    uint64_t sent;        ///< Changes and events it sent.
    uint64_t dropped;     ///< Of these: for dead entities, or components that were not there.
    uint64_t violations;  ///< Refused by the police or for want of a declaration.
    uint64_t timed_ticks; ///< In which it was timed: every 16th, or all (orr_stats_time_all()).
    uint64_t time_ns;     ///< In these.
    uint64_t time_max_ns; ///< The longest of these.
    uint64_t queued;      ///< Entities in messages that wait for it.
} orr_system_stats;
ORR_API orr_result orr_system_stats_get(const orr_world* world, orr_system system,
                                        orr_system_stats* out);
/// What a worker did since the world began. Worker 0 is the thread that drives it.
typedef struct orr_worker_stats {
    uint64_t taken;   ///< Pieces of work: a system, some small ones in a row, some chunks of one.
    uint64_t stolen;  ///< Of these: left over by another worker.
    uint64_t rows;    ///< Handed to systems by it.
    uint64_t sleeps;  ///< How often it found nothing for so long that it went to sleep.
    uint64_t busy_ns; ///< In systems, in ticks that were timed (every 16th, or all),
    uint64_t waiting_ns; ///< and not in one while others were.
} orr_worker_stats;
/// How many there are, with the driving thread; 1 before the first tick. Fewer than were asked for if threads or memory could not be had
/// (said once in the log). Without memory each tick tries again; missing threads stay missing.
ORR_API uint32_t orr_worker_count(const orr_world* world);
/// Between ticks. Refused if there is no such worker.
ORR_API orr_result orr_worker_stats_get(const orr_world* world, uint32_t worker,
                                        orr_worker_stats* out);
/// Times every tick instead of every 16th: costs a look at the clock per system.
ORR_API void orr_stats_time_all(orr_world* world, bool on);
/// Writes the stats of all systems as a table, and of all workers if there are several. Times, the longest too, are of every 16th tick, unless
/// orr_stats_time_all() is on. As orr_value_print().
ORR_API size_t orr_stats_print(const orr_world* world, char* out, size_t out_size);

/// Writes the plan of the next tick: systems in order, what each waits for and why, commit points and why. As
/// orr_value_print(). Says so if it cannot be made.
ORR_API size_t orr_plan_print(orr_world* world, char* out, size_t out_size);
/// The same for Graphviz.
ORR_API size_t orr_plan_graph(orr_world* world, char* out, size_t out_size);

/// One thing that happened, in the journal.
typedef struct orr_journal_entry {
    uint64_t tick;
    orr_system system; ///< Null: a call from outside.
    orr_message_kind kind;
    orr_entity entity;
    orr_type type; ///< Null for ORR_ENTITY_ADDED and ORR_ENTITY_REMOVED.
    orr_component_id id;
} orr_journal_entry;
/// Keeps the last `capacity` changes; 0 (the default) ends it and forgets. While it is on, everything is tracked: that costs.
/// Allocates.
ORR_API orr_result orr_journal_set(orr_world* world, uint32_t capacity);
/// Entries of an entity (null: of all), the newest first, at most `out_count`. @return how many there are. In real time for calls that are posted; from
/// systems and other threads refused.
ORR_API uint32_t orr_journal_get(const orr_world* world, orr_entity entity, orr_journal_entry* out,
                                 uint32_t out_count);
/// Writes an entry: "tick 7: move changed Position of bob". As orr_value_print().
ORR_API size_t orr_journal_print(const orr_world* world, const orr_journal_entry* entry, char* out,
                                 size_t out_size);

/// Writes a Chrome trace (chrome://tracing, ui.perfetto.dev) of all ticks from now on to a file; NULL ends it. Each worker is a row:
/// systems with the chunks and rows they were given, and when it looked for work or slept; what is delivered and committed stands
/// in the row of the driving thread. A world
/// begins one by itself if the environment has ORR_TRACE=file; further worlds of the process write to file.2 and so on.
ORR_API orr_result orr_trace_set(orr_world* world, const char* path);

#ifdef __cplusplus
}
#endif

#endif
