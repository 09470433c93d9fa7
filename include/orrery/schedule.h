// SPDX-License-Identifier: MIT
/// @file schedule.h
/// Systems: functions over a world that declare what they read, write and change; pipelines and
/// ticks, which run them; and statistics.
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
///     orr_system_add(world, &(orr_system_desc){
///         .name = "move", .query = "write Position, Velocity", .run = move});
///     orr_step(world, 60);
///
/// Systems run in the order in which they were added, unless `before` and `after` change it. Every
/// system sees the results of all systems before it in this order, also when systems run in
/// parallel. Names in a desc (types, tags, systems, groups) are looked up when the next tick
/// begins. An unknown name is an error then, and the tick does not begin.
///
/// A system reads and writes the columns of its query, reads and writes by id the types it declared
/// in `by_id`, and changes everything else by messages (message.h). An undeclared access is
/// refused, and the log names it. Always allowed: orr_alive(), orr_entity_count(); finding types,
/// tags, clusters and bundles, and their infos; reading strings and arrays; random numbers; the
/// log; and orr_print() (for debugging; on workers it may read values that another worker is
/// writing). Only systems that write or send a type with owned fields (strings, arrays) may create
/// strings or arrays.
///
/// Threads: unless a comment says otherwise, call everything here on the thread that drives the
/// world, that is, the thread that calls orr_step() or orr_update(). This may be any thread, one at
/// a time. Functions of systems are called by the world's workers, if it has any
/// (orr_world_desc.workers, docs/PARALLEL.md).
///
/// Memory: a call that may allocate says "Allocates.". In addition, the first call of this header
/// that needs the schedule of the world allocates it.
#ifndef ORRERY_SCHEDULE_H
#define ORRERY_SCHEDULE_H

#include <orrery/message.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORR_SYSTEMS_MAX 65535u ///< Limit of systems of one world.

// ---- pipelines ----------------------------------------------------------------------------------

#define ORR_PIPELINES_MAX 64u ///< Limit of pipelines of one world.

/// Handle of a pipeline: a set of systems with its own clock, for example physics at 120 Hz and
/// logic at 30 Hz. Every world has the pipeline "main" from the beginning, with the rate of the
/// world (orr_world_desc.rate_hz). Pipelines live as long as their world. They are numbered in the
/// order in which they were added: (orr_pipeline){1} is "main".
typedef struct orr_pipeline {
    uint32_t id; ///< 0 is null.
} orr_pipeline;

/// Settings of a pipeline.
typedef struct orr_pipeline_desc {
    const char* name; ///< Unique among the pipelines of the world. Required. Copied.
    /// Ticks per second; dt is 1 / rate_hz in every tick. Limit 1,000,000. Default 0: continuous,
    /// with a variable dt.
    double rate_hz;
    /// Duration of a tick of a continuous pipeline in lockstep, in nanoseconds. Limit 1,000
    /// seconds. Default 1/60 s.
    uint64_t step_ns;
    /// Spectator, for drawing, sound or tools. Its systems read everything. They write, add and
    /// remove only components of transient types (orr_type_settings.transient), and create and
    /// destroy only transient entities (orr_create_transient()). Its ticks are not ticks of the
    /// world, and nothing of it is in the hash. Other pipelines cannot name transient types, nor
    /// receive or import from a spectator, so spectators never change simulation results. See
    /// docs/SPECTATORS.md.
    bool spectator;
    /// Called in real time before each tick of a continuous pipeline, on its thread, without any
    /// lock: a place to wait for the screen (vsync) or anything else outside of the world. Other
    /// pipelines continue meanwhile; orr_realtime() does not return before `wait` returns. To
    /// change the world `wait` posts a call. Not called in lockstep; in a replay called for
    /// spectators only. Default NULL: the next tick begins at once, and the pipeline uses a whole
    /// core.
    void (*wait)(void* user);
    void* wait_user; ///< Passed to `wait`.
    /// Calls `wait` on the thread that called orr_realtime(). Systems with `main_thread` wait
    /// meanwhile.
    bool wait_main;
} orr_pipeline_desc;

/// Adds a pipeline. Its first tick is due one interval from now. Call between ticks; not while the
/// world runs in real time. Allocates.
/// @return null when refused.
ORR_API orr_pipeline orr_pipeline_add(orr_world* world, const orr_pipeline_desc* desc);
/// Finds a pipeline by name. @return null if there is none.
ORR_API orr_pipeline orr_pipeline_find(orr_world* world, const char* name);
/// Number of pipelines, at least 1: every world has "main". Their ids are 1 to this number, in the
/// order in which they were added.
ORR_API uint32_t orr_pipeline_count(const orr_world* world);

/// Settings and progress of a pipeline.
typedef struct orr_pipeline_stats {
    const char* name;     ///< Valid as long as the world.
    double rate_hz;       ///< Ticks per second. 0: continuous.
    uint64_t interval_ns; ///< Between ticks, rounded. Continuous: `step_ns`, used in lockstep.
    uint64_t tick;        ///< Number of ticks it began: `run->tick` of its systems.
    uint64_t due_ns;      ///< When its next tick is due, on the clock shared by all pipelines.
    uint32_t systems;     ///< Number of its systems.
    bool spectator;       ///< As in its desc.
} orr_pipeline_stats;
/// Gets the statistics of a pipeline.
/// @return ORR_ERR_STATE in real time, except at sync points (orr_post_exclusive());
/// ORR_ERR_ARGUMENT if there is no such pipeline.
ORR_API orr_result orr_pipeline_stats_get(orr_world* world, orr_pipeline pipeline,
                                          orr_pipeline_stats* out);

// ---- systems ------------------------------------------------------------------------------------

/// Kind of a system.
typedef enum orr_system_kind {
    ORR_DIRECT = 0, ///< Reads and writes columns of components.
    /// Has its own state, receives messages and sends messages. It never accesses the world
    /// directly.
    ORR_INDIRECT,
} orr_system_kind;

/// Describes a system. Everything is copied, except where a field says otherwise. Lists are texts
/// with commas. All names are looked up when the next tick begins.
typedef struct orr_system_desc {
    const char* name;     ///< Unique in its world; same characters as a type's name. Required.
    orr_system_kind kind; ///< Default ORR_DIRECT.
    /// The system's function. Called for every run of rows of the query, or once per tick (see
    /// `once`; indirect systems always once). Required.
    void (*run)(orr_run* run);

    // Data it works on. For an indirect system: data about which it receives messages.
    /// Terms as text, as orr_query_text(): "write Position, Velocity, !Frozen". `changed` means
    /// written by another system since this system last ran; not available with `once`.
    const char* query;
    const orr_term* terms; ///< Further terms, in addition to `query`.
    uint32_t term_count;   ///< Number of `terms`. At most ORR_TERMS_MAX.
    /// Direct systems: `run` is called once per tick, without rows. It may loop over
    /// orr_run_query() or over any query of declared types. The system may have no query.
    bool once;
    /// Several workers may call `run` at the same time, for different rows. Such a system must not
    /// name in `by_id` a type that it writes. Not with `once`, nor for indirect systems.
    bool parallel;
    /// Types that a direct system reads or writes by entity id, and types and tags of other queries
    /// it loops over: "Position, write Health, #17".
    const char* by_id;

    // Changes and events it may send (message.h). Default: none.
    const char* creates; ///< Types that created entities may have: "Position, Velocity".
    /// Limit of entities created per chunk of rows. For a system that is called once, or whose rows
    /// come in a sorted order or from pinned types: per tick. Default: no limit but that of the
    /// world (for a system of a spectator: as many as ids are reserved). A creation beyond the
    /// limit is refused with ORR_ERR_CAPACITY and counts as a violation.
    ///
    /// It is also the number of ids that are reserved in advance (default: the number of rows; 1024
    /// for a system that is called once). Only these are final at once (orr_send_create()).
    uint32_t creates_max;
    /// Terms of entities it destroys, as in `query`: "Bullet, !Player" selects entities with a
    /// Bullet and without a Player, "Bullet|Rock" those with a Bullet or a Rock. "*": any entity.
    const char* destroys;
    const char* adds;    ///< Types of components it adds.
    const char* removes; ///< Types of components it removes.
    /// Types whose values a direct system sends (orr_send_change()). An indirect system uses write
    /// terms in its query instead.
    const char* changes;
    const char* transacts; ///< Types it transacts on (orr_transact()), of any entity.
    /// Types it changes in atomic sections (orr_atomic()), of any entity. Direct systems only, in
    /// worlds with orr_world_desc.atomic_sections. A parallel system must not access them in
    /// another way.
    const char* atomics;
    /// Types of its write terms that it overwrites: it writes every row it is given, and does not
    /// read the old values. In real time this saves a copy for other pipelines. A row that it does
    /// not write has an undefined value. Plain types only. Not with `once`.
    const char* overwrites;
    /// The system accesses nothing but the rows it is given: no `by_id`, no sends, no orr_alive(),
    /// orr_print() or orr_entity_count(), and no call that finds clusters. In real time, commits of other pipelines then wait for it
    /// only if they touch clusters that it iterates. No effect for a system with terms of multiple
    /// or pinned types, or of types with strings, arrays or hooks. Not with `once`.
    bool own_rows;
    /// Types of components it enables or disables. "*" in the list: entities.
    const char* switches;
    const char* tags; ///< Tags it adds or removes: "#level1, #17". "*": any tag.
    bool renames;     ///< It changes names of entities. Default false.
    /// Event types it sends. "?Hit": it is not an error if no system receives Hit, for example
    /// where only spectators do.
    const char* sends;
    const char* receives; ///< Event types it receives. A direct system needs `.once` for this.

    // When it runs.
    const char* pipeline; ///< Name of its pipeline. Default: the world's first.
    /// Systems or groups of its pipeline that run after it: "draw, physics". "?draw": no error if
    /// there is none. An empty list, and a name listed twice, are refused.
    const char* before;
    const char* after; ///< Systems or groups that run before it; as `before`.
    const char* group; ///< Name shared by systems that are ordered and enabled together.
    uint32_t every;    ///< Runs in every Nth tick, counted from its first. Default 1.
    /// Runs only on the thread that drives the world; in real time on the thread that called
    /// orr_realtime().
    bool main_thread;
    /// Runs exclusively: no other system runs at the same time. Required when the system loops over
    /// a query other than its own that has an order or pinned types: such a loop updates the query.
    bool alone;
    bool disabled; ///< Starts disabled.

    // Data it keeps.
    /// Type of its state (orr_state()), which is part of the world: hashed and remembered.
    const orr_type_desc* state;
    /// Type of a value that other systems may import (orr_export(), orr_import()).
    const orr_type_desc* exports;
    /// Combines two exports: `into` becomes the combination of `into` and `part`. With it, every
    /// chunk of rows has its own export, which begins each tick with the type's preset. After the
    /// last run the exports are combined pairwise, neighbour with neighbour, in an order that
    /// depends only on the number of chunks; the result is what others import. So a parallel system
    /// can compute a sum whose bits do not depend on the number of workers. Called on any worker;
    /// it must not access anything else. Not with `once`.
    void (*combine)(void* into, const void* part);
    const char* imports; ///< Systems whose exports it reads.
    /// The system has state outside of the world (`user`) and changes the world: its results are an
    /// input. Recordings store its results, and a replay uses them instead of calling `run` and the
    /// callbacks below. Not for types with strings, arrays or hooks.
    bool impure;
    /// State outside of the world, for orr_run_user(). Not copied. A system of the simulation that
    /// has it and writes or sends must be `impure`. When the world travels in time, an indirect
    /// system with `user` that has no `state` and no `exports` receives the differences as messages
    /// (ORR_CAUSE_TRAVEL); if it is not `impure`, it is not part of the world's state and hash.
    /// With `state` or `exports` its queue is restored with them, and it receives no differences.
    void* user;
    /// Constant data for orr_run_settings(). Not copied; it must not change while the system
    /// exists.
    const void* settings;

    // Callbacks, called between ticks. They may use state, exports and `user`, and send.
    void (*create)(orr_run* run);  ///< When the system takes effect.
    void (*start)(orr_run* run);   ///< Before its first tick, and each time after it was enabled.
    void (*stop)(orr_run* run);    ///< After it was disabled or removed, and when its world ends.
    void (*destroy)(orr_run* run); ///< When the system is removed or its world ends, after `stop`.

    /// Limit of unread entities in the message queue of an indirect system. Beyond it the queue is
    /// emptied, an error is logged, `stop` and `start` are called, and the system receives the
    /// whole current state again. Default 16,777,216.
    uint32_t messages_max;
} orr_system_desc;

/// Adds a system, which runs from the next tick on. Call between ticks, in real time at a sync
/// point (orr_post_exclusive()). Allocates.
/// @return null when refused, for example if the name is taken, a direct system has no required or
/// optional terms, `before` and `after` form a cycle (the log prints it), or a tick runs or is half
/// done.
ORR_API orr_system orr_system_add(orr_world* world, const orr_system_desc* desc);
/// Removes a system when the next tick begins: its `stop` and `destroy` are called then, and its
/// state is freed. Call it where orr_system_add() is allowed.
/// @return ORR_ERR_ARGUMENT if there is no such system; ORR_ERR_STATE while a tick runs or is half
/// done.
ORR_API orr_result orr_system_remove(orr_world* world, orr_system system);
/// Enables or disables a system from the next tick on. A system runs if both it and its group are
/// enabled. Also allowed inside a system that is not parallel; of several calls in one tick the
/// last one in system order decides. Allocates.
/// @return ORR_ERR_ARGUMENT if there is no such system; ORR_ERR_STATE inside a parallel system, and
/// in a system of a spectator for a system of the simulation; ORR_ERR_MEMORY.
ORR_API orr_result orr_system_enable(orr_world* world, orr_system system, bool on);
/// Enables or disables all systems of a group, or none if refused; as orr_system_enable().
/// ORR_ERR_ARGUMENT also if no system is in the group.
ORR_API orr_result orr_group_enable(orr_world* world, const char* group, bool on);
/// True if the system will run in the next tick in which it is due.
ORR_API bool orr_system_enabled(const orr_world* world, orr_system system);
/// Finds a system by name. @return null if there is none.
ORR_API orr_system orr_system_find(const orr_world* world, const char* name);
/// The system added after this one. With null: the first system. @return null at the end.
ORR_API orr_system orr_system_next(const orr_world* world, orr_system system);
/// Name of a system; "" for null or a removed system. Valid as long as the system.
ORR_API const char* orr_system_name(const orr_world* world, orr_system system);

// ---- inside a system ----------------------------------------------------------------------------

/// The system's query, for a loop in a system with `once`. NULL for an indirect system, and for a
/// system without a query.
ORR_API orr_query* orr_run_query(const orr_run* run);
/// Handle of the running system.
ORR_API orr_system orr_run_self(const orr_run* run);
/// orr_system_desc.user of the running system.
ORR_API void* orr_run_user(const orr_run* run);
/// orr_system_desc.settings of the running system.
ORR_API const void* orr_run_settings(const orr_run* run);
/// A stream of random numbers computed from the world's seed, the tick, the system and the entity:
///
///     orr_rng rng = orr_run_rng(run, orr_iter_entity(run, i));
///     float angle = orr_rng_float(&rng) * 6.28f, speed = orr_rng_float(&rng);
///
/// It does not depend on order or threads. Take one stream per entity and tick: a second call for
/// the same entity in the same tick gives the same numbers again. Without an entity:
/// (orr_entity){0}.
ORR_API orr_rng orr_run_rng(const orr_run* run, orr_entity entity);
/// The first number of orr_run_rng(). Every call for the same entity in the same tick returns the
/// same number: use it only for a single number.
ORR_API uint64_t orr_run_random(const orr_run* run, orr_entity entity);

/// Reports a failure of the program's own code: a file that a system cannot read, a result that is
/// not a number. It is logged with the name of the system. Inside a system, a function of a
/// transaction or a posted call it counts like a call that is refused there
/// (orr_system_stats.refused), so the call that runs the tick, such as orr_step(), returns it. The
/// tick goes on. The C++ layer calls it with the text of each exception that leaves such a
/// function. `format` is as for printf. From any thread.
/// @return ORR_ERR_FAILED.
ORR_API orr_result orr_error_report(const orr_world* world, const char* format, ...)
    ORR_PRINTF(2, 3);

/// The system's state: Count* c = orr_state(run, Count). A parallel system may only read it.
#define orr_state(run, type) ORR_PP_WRITE(type, orr_run_state(run, ORR_TYPE(type)))
/// The system's exports, for writing. With `combine`: the export of this run's chunk. A parallel
/// system without `combine` may only read it.
#define orr_export(run, type) ORR_PP_WRITE(type, orr_run_export(run, ORR_TYPE(type)))
/// The exports of another system, for reading: const Contacts* c = orr_import(run, "physics",
/// Contacts). The other system must be in `imports`. While the other system is disabled this is the
/// value of its last tick: logged (IMPORT_STALE) and counted (orr_system_stats.stale_imports).
#define orr_import(run, system, type) ORR_PP_READ(type, orr_run_import(run, system, ORR_TYPE(type)))
/// The call behind orr_state(). NULL if the system has no state of this type.
ORR_API void* orr_run_state(orr_run* run, const orr_type_desc* desc);
/// The call behind orr_export(). NULL if the system has no exports of this type.
ORR_API void* orr_run_export(orr_run* run, const orr_type_desc* desc);
/// The call behind orr_import(). NULL if the system may not import it.
ORR_API const void* orr_run_import(orr_run* run, const char* system, const orr_type_desc* desc);
/// The state of a system, from outside, between ticks; before its first tick the type's preset.
/// NULL if it has none.
ORR_API const void* orr_system_state(const orr_world* world, orr_system system);
/// The exports of a system, from outside, between ticks; before its first tick the type's preset.
/// NULL if it has none.
ORR_API const void* orr_system_exports(const orr_world* world, orr_system system);

// ---- ticks in lockstep --------------------------------------------------------------------------

// The caller steps the world. The first pipeline is fixed (orr_world_desc.rate_hz), with the same
// dt in every tick, or continuous, with a dt that the caller passes. All pipelines share one clock,
// which moves by ticks: the pipeline that is due first ticks first; of several due at the same
// time, the one added first. Tick N of a pipeline is due N intervals after the pipeline was added.
// A tick is finished before another one begins, so every pipeline sees the last finished ticks of
// the others.
//
// If a tick cannot continue (for lack of memory for a commit, or for the order or pinned set of a
// query that a system may loop over), the call returns the error and the tick stays half done:
// everything before that point is done, nothing after it. Calling again continues there. Meanwhile
// the world can be read; calls that change structure, names or enable bits are refused with
// ORR_ERR_STATE.
//
// Mistakes inside systems never stop a tick: it runs to its end, and all ticks that were requested
// run. The call then returns the first refusal in them, which is one of these:
// - a refused call of a system, of a function of a transaction, or of a posted call;
// - a failure that one of these reported (orr_error_report(), or an exception in C++);
// - a sent change that was dropped;
// - events that did not fit into their queue.
//
// First means first by tick, then in the order of the plan, then by chunk, then by call, whatever
// the number of workers. Changes that were dropped at the commit come after the system's refused
// calls. A posted call comes before the tick that begins after it; in real time, where ticks of
// several pipelines overlap, before all ticks that end after it. The log has all texts,
// orr_system_stats the counts. After an error orr_tick_open() says whether a tick is half done or
// ran to its end with a refusal.
//
// Drops for types of another pipeline, and all drops in real time, are counted and logged, but are
// no errors: another pipeline may have destroyed the entity after the system had looked.

/// Runs `count` ticks of the first pipeline, and the ticks of other pipelines that are due before.
/// A continuous first pipeline uses a dt of 1/60 s. Allocates.
/// @return why it stopped (a tick is half done or could not begin, or a system had no memory to send
/// in the last tick; ticks that ran before stay done); else the first refusal in the ticks, all of
/// which ran; else ORR_OK.
ORR_API orr_result orr_step(orr_world* world, uint32_t count);
/// Advances the world by `elapsed_ns` nanoseconds. A continuous first pipeline runs one tick with
/// this dt; a fixed one runs the ticks that are due, at most 2, and drops the remaining time. Other
/// pipelines run the ticks that are due in that time. With a continuous first pipeline they advance
/// by at most 0.25 s per call, or two intervals of the slowest pipeline if that is longer. Does
/// nothing while paused. Allocates.
/// @return as orr_step().
ORR_API orr_result orr_update(orr_world* world, uint64_t elapsed_ns);
/// Runs ticks until the world's tick is `tick`, or the world is paused, or `done` (may be NULL)
/// returns true. `done` is called after each tick, except ticks of spectators. It cannot
/// destroy the world. Allocates.
/// @return as orr_step().
ORR_API orr_result orr_run_until(orr_world* world, uint64_t tick,
                                 bool (*done)(void* user, orr_world* world), void* user);
/// Pauses orr_update() and orr_run_until(), or lets them run again. orr_step() runs ticks of a
/// paused world, too. Also allowed inside a system that is not parallel and not of a spectator: it
/// takes effect at the end of the tick, and the last call in system order counts. In real time
/// allowed from any thread: stops or resumes the world's time.
ORR_API void orr_pause(orr_world* world, bool on);
/// True if the world is paused.
ORR_API bool orr_paused(const orr_world* world);
/// True while a tick is half done, because it could not continue.
ORR_API bool orr_tick_open(const orr_world* world);

/// Gives up a refused commit: everything sent since the last commit point is dropped and counted,
/// and the next orr_step() continues the tick. For a commit that can never succeed, because a hook
/// refuses or memory will not become available.
/// @return ORR_ERR_STATE if no tick is half done, inside a system, and while the world runs in real
/// time.
ORR_API orr_result orr_tick_abandon(orr_world* world);

// ---- real time ----------------------------------------------------------------------------------

// In real time the pipelines run at the same time, each on its own thread, by the wall clock. A
// type is written by one pipeline, its owner. Systems of other pipelines read it as it was after
// the owner's last finished tick (published; no reader waits), or, if the type is registered as
// `live`, in place under a lock. Results depend on timing; but a recording has everything that they
// depend on, and a replay computes the same results. See docs/REALTIME.md.

/// A call from outside that changes the world (orr_post()). `data` is a copy of the posted data,
/// aligned to 16 bytes, and `size` is its size in bytes. In a replay the data comes from the
/// recording: read no more than `size` bytes, or declare the size (orr_call_register()).
typedef void (*orr_call)(orr_world* world, void* data, size_t size);
/// A recording of a run. Created by orr_recording_create().
typedef struct orr_recording orr_recording;

/// Settings of orr_realtime().
typedef struct orr_realtime_desc {
    uint64_t for_ns; ///< Ends after this much real time, in nanoseconds. Default 0: no limit.
    uint64_t ticks;  ///< Ends when the first pipeline has run this many ticks. Default 0: no limit.
    /// Records everything the run depends on: the order in which pipelines got their turns and
    /// locks, posted calls, every dt, and the actions of impure systems. Nothing of spectators. The
    /// recording is emptied first. A half-done tick is finished first. Default NULL: does not
    /// record.
    orr_recording* record;
    /// Number of most recent lock operations kept per pipeline, for orr_lock_trace_print(). Default
    /// 0.
    uint32_t lock_trace;
    /// With `record`: records the hash of the world before the run and, after every tick, the hash
    /// of all data that the tick's pipeline writes. Default false.
    bool hashes;
    /// Replays a recording instead, on a world in the same state as the recorded one: without a
    /// clock and without calls from outside. This world may have other spectators, which run during
    /// the replay. Ends with the recording, or earlier by the limits above. A recording may end in
    /// the middle of ticks (orr_recording_stats); these ticks are finished. Returns
    /// ORR_ERR_CONFLICT if the world does something that was not recorded, or if a recorded hash
    /// differs, or if recorded times are far from the world's; the log names pipeline and tick.
    const orr_recording* replay;
    /// Replay only: ticks begin when they are due by the wall clock, for spectators to watch.
    /// orr_time_scale_set() sets the speed, 0 stops it. Pauses of the recorded run take no time.
    /// Default false: as fast as possible.
    bool paced;
} orr_realtime_desc;

/// Runs all pipelines until orr_stop(), a limit of the desc, or an error; calling again continues.
/// Meanwhile the calling thread runs the systems with `main_thread`. Systems may make the same
/// calls as in lockstep; other threads may call only orr_post() and functions marked "from any
/// thread". `desc` may be NULL. Allocates.
/// @return the error that ended the run; else the first refusal in its ticks, as orr_step(); else
/// ORR_OK. Errors: ORR_ERR_STATE if a thread cannot be created; ORR_ERR_ARGUMENT if `record` or
/// `replay` does not fit, or `hashes` or `paced` is set without them; ORR_ERR_TYPE if an impure
/// system changes a type that cannot be recorded; ORR_ERR_CONFLICT by a replay; ORR_ERR_MEMORY.
ORR_API_REALTIME orr_result orr_realtime(orr_world* world, const orr_realtime_desc* desc);
/// Ends orr_realtime() after every pipeline has finished its tick. From any thread, also inside a
/// system. No effect if the world does not run in real time. In a replay, calls by systems and
/// posted calls have no effect: the recording has the end of the run.
ORR_API_REALTIME void orr_stop(orr_world* world);

/// True while orr_realtime() runs; calls from outside must be posted then. From any thread. The run
/// may have ended when this function returns, so check the result of orr_post().
ORR_API_REALTIME bool orr_running(const orr_world* world);

/// Posts a call, which is done between two ticks of the first pipeline, while no system runs: all
/// functions of the store are allowed in it. `size` bytes of `data` are copied. This is how input
/// enters a world; recordings store it (replay.h). Calls are done in the order in which they were
/// posted.
///
/// In lockstep the call is done when the first pipeline's next tick begins, on the thread that
/// steps. In real time it is done on a thread of the world, also while the world is paused; calls
/// that wait when orr_realtime() ends are done before it returns. When the world travels in time,
/// waiting calls stay posted, and are done when the next tick begins.
///
/// From any thread; before the world has a system only from the thread that drives it. During a
/// replay posted calls are ignored, because the recording has its own. Allocates.
/// @return ORR_ERR_STATE in lockstep inside a system of the simulation that is not impure (it sends
/// changes instead), in `on_tick` of a replay, and at the end of a run in real time, when the call
/// can no longer be done; ORR_ERR_ARGUMENT if the call was registered with another size.
ORR_API_REALTIME orr_result orr_post(orr_world* world, orr_call call, const void* data,
                                     size_t size);
/// As orr_post(), but the call is done at a sync point, where all pipelines are between ticks. For
/// calls that need the whole world (orr_world_hash(), orr_world_validate()), travel in
/// time (history.h), or add and remove systems and types. New pipelines and ticks (orr_step()) are
/// refused in it.
ORR_API_REALTIME orr_result orr_post_exclusive(orr_world* world, orr_call call, const void* data,
                                               size_t size);
/// Size of data that may have any size: for orr_call_register() and orr_transaction_register().
#define ORR_SIZE_ANY SIZE_MAX
/// Names a posted call, for files, and declares the size of its data in bytes. Data of another size
/// is refused: by orr_post(), when a recording is loaded, and before a recording is replayed. So a
/// call with a declared size needs no check of its own: sizeof(Shot), 0 for a call without data.
/// With ORR_SIZE_ANY every size is accepted, and the call must check `size` before it reads: a file
/// may contain any. Data is saved as bytes: it must have no pointers, and the same layout wherever
/// it is replayed. Registering the same again has no effect. Allocates.
/// @return ORR_ERR_CONFLICT if the function has another name, or the name another function, or both
/// were registered with another size.
ORR_API orr_result orr_call_register(orr_world* world, const char* name, orr_call call,
                                     size_t size);
/// Names a function that impure systems pass to orr_transact_call(), and declares the size of its
/// argument; as orr_call_register(). An argument of another size is refused by orr_transact_call(),
/// and ends a replay with ORR_ERR_CONFLICT.
ORR_API orr_result orr_transaction_register(orr_world* world, const char* name,
                                            orr_transaction function, size_t size);

/// Sets the requested time scale: 1 (the default) is real time, 0.5 half as fast. From any thread.
/// @return ORR_ERR_ARGUMENT below 0, above 1000 and for NaN.
ORR_API_REALTIME orr_result orr_time_scale_set(orr_world* world, double scale);
/// The current time scale: the requested one, reduced if a pipeline with a rate cannot keep up;
/// time then passes slower for all pipelines. From any thread.
ORR_API_REALTIME double orr_time_scale(orr_world* world);
/// Position of the world's time between the due times of the pipeline's last tick (0) and its next
/// tick (1), for drawing interpolated motion:
/// - 1 if the next tick is late, and in a replay without a clock;
/// - 0 for a continuous pipeline in real time, which has no next due time, and if there is no such
///   pipeline.
///
/// In lockstep the time is that of the clock shared by the pipelines: during a tick it stands still,
/// between ticks it is where orr_update() left it. In real time from any thread and any system; the
/// value depends on timing there.
ORR_API_REALTIME double orr_phase(orr_world* world, orr_pipeline pipeline);
/// While the world is paused in real time (orr_pause(), which is then allowed from any thread):
/// runs `ticks` ticks of the first pipeline, and ticks of other pipelines that are due until then,
/// as fast as possible. A continuous pipeline uses its lockstep dt. From any thread.
/// @return ORR_ERR_STATE if the world is not paused, or does not run in real time.
ORR_API_REALTIME orr_result orr_realtime_step(orr_world* world, uint32_t ticks);

/// Creates an empty recording, independent of any world. Allocates. @return NULL without memory.
ORR_API orr_recording* orr_recording_create(void);
/// Destroys a recording; NULL does nothing. Asserts that no world is being recorded to it, or
/// replays it: call orr_record_end(), finish the replay, or destroy the world, first.
ORR_API void orr_recording_destroy(orr_recording* recording);
/// Content of a recording.
typedef struct orr_recording_stats {
    uint64_t ticks, calls, bytes; ///< Recorded ticks; posted calls; bytes of memory.
    bool full; ///< Memory ran out: the recording has only the first part of the run.
    /// An allocation failed during the run, or the run ended with an error, and the recording ends
    /// there; in real time possibly in the middle of ticks.
    bool refused;
    bool realtime; ///< True: of a run in real time. False: of lockstep.
    bool cut;      ///< The file it was loaded from was incomplete.
    /// The world was changed after `changed_tick` by something that is not in the recording. A
    /// replay will differ.
    bool changed;
    uint64_t changed_tick; ///< See `changed`.
    uint64_t tick_first;   ///< Lockstep: the world's tick when the recording began.
    uint64_t tick_last;    ///< Lockstep: the world's tick after the last recorded tick.
    uint64_t hashes;       ///< Number of recorded hashes.
} orr_recording_stats;
/// Gets the statistics of a recording.
ORR_API void orr_recording_stats_get(const orr_recording* recording, orr_recording_stats* out);

/// Writes the lock trace of the last run in real time, one line per record: locks that pipelines
/// took, and accesses that the plan of a pipeline granted without a lock. Call between runs. Buffer
/// and result as orr_value_print(). See docs/LOCKS.md.
ORR_API_REALTIME size_t orr_lock_trace_print(const orr_world* world, char* out, size_t out_size);

/// How long a pipeline waited in the current or last run in real time.
typedef struct orr_wait_stats {
    uint64_t ticks; ///< Ticks in that run.
    /// Ticks skipped because the pipeline was late by more than one tick; in a replay as recorded.
    uint64_t dropped;
    /// Waits for locks that other pipelines held (on structure, or on `live` types): number, total
    /// and longest time.
    uint64_t lock_waits, lock_waited_ns, lock_longest_ns;
    /// Waits for the turn, the right to do the serial part of a tick: total and longest time.
    uint64_t turn_waited_ns, turn_longest_ns;
} orr_wait_stats;
/// Gets the wait statistics of a pipeline. From any thread while the world runs in real time; the
/// numbers may then be of different moments.
/// @return ORR_ERR_ARGUMENT if there is no such pipeline.
ORR_API_REALTIME orr_result orr_wait_stats_get(orr_world* world, orr_pipeline pipeline,
                                               orr_wait_stats* out);

// ---- access checks ------------------------------------------------------------------------------

/// How thoroughly accesses of systems are checked. A violation (an access that the system did not
/// declare) is logged as an error with system, type and entity, and counted; the world continues.
typedef enum orr_access_check {
    /// ORR_ACCESS_CHECK_FULL in builds with ORR_VALIDATE_ON, otherwise ORR_ACCESS_CHECK_CALLS.
    ORR_ACCESS_CHECK_DEFAULT = 0,
    /// Calls to the world inside systems are not checked. (Columns and sends still are.) With
    /// workers a violation is a data race.
    ORR_ACCESS_CHECK_OFF,
    ORR_ACCESS_CHECK_CALLS, ///< Every call that accesses undeclared data is refused.
    /// In addition, data that a system may not write is compared with a copy afterwards: finds, and
    /// undoes, writes through pointers.
    ORR_ACCESS_CHECK_FULL,
} orr_access_check;
/// Sets the access checks of a world. Call between ticks, in real time at a sync point
/// (orr_post_exclusive()); otherwise it is refused, without effect.
ORR_API void orr_access_check_set(orr_world* world, orr_access_check level);

// ---- statistics, plan, journal, trace -----------------------------------------------------------

/// Counts and times of a system since it was added.
typedef struct orr_system_stats {
    uint64_t ticks;    ///< Ticks in which it ran.
    uint64_t runs;     ///< Calls of its function.
    uint64_t rows;     ///< Rows passed to it.
    uint64_t received; ///< Entities in messages it took.
    uint64_t sent;     ///< Changes and events it sent.
    /// Of `sent`: had no effect, for example because the entity was dead, the component did not
    /// exist or a queue was full.
    uint64_t dropped;
    /// Of `sent`: components added that were there already; their values were set.
    uint64_t added_twice;
    /// Calls of orr_import() that returned the value of a system that was disabled: that of its
    /// last tick, or its preset if it never ran. Logged once for each time it is disabled.
    uint64_t stale_imports;
    uint64_t refused; ///< Calls that were refused while it ran.
    /// Of `refused`: accesses and changes that were not declared, and creations beyond
    /// `creates_max`.
    uint64_t violations;
    uint64_t
        timed_ticks;  ///< Ticks in which it was timed: every 16th, or all (orr_stats_time_all()).
    uint64_t time_ns; ///< Time in timed ticks; of a parallel system the sum over its workers.
    uint64_t time_max_ns; ///< The longest of its timed ticks.
    uint64_t queued;      ///< Entities in messages that it has not taken yet.
} orr_system_stats;
/// Gets the statistics of a system. Call between ticks.
/// @return ORR_ERR_ARGUMENT if there is no such system; ORR_ERR_STATE inside a system. On error
/// `*out` is untouched.
ORR_API orr_result orr_system_stats_get(const orr_world* world, orr_system system,
                                        orr_system_stats* out);
/// Counts and times of a worker since the world was created. Worker 0 is the thread that drives the
/// world.
typedef struct orr_worker_stats {
    /// Pieces of work it did: a system, several small systems in a row, or some chunks of a system.
    uint64_t taken;
    uint64_t stolen;  ///< Of these: taken over from another worker.
    uint64_t rows;    ///< Rows it passed to systems.
    uint64_t sleeps;  ///< How often it found no work for so long that it went to sleep.
    uint64_t busy_ns; ///< Time inside systems, in timed ticks (every 16th, or all).
    /// Time in these ticks outside of systems, while other workers were inside.
    uint64_t waiting_ns;
} orr_worker_stats;
/// Number of workers, including the driving thread; 1 before the first tick. Fewer than requested
/// if threads or memory could not be obtained (logged once). Missing memory is retried in each
/// tick, missing threads are not.
ORR_API uint32_t orr_worker_count(const orr_world* world);
/// Gets the statistics of a worker. Call between ticks.
/// @return ORR_ERR_ARGUMENT if there is no such worker; ORR_ERR_STATE inside a system. On error
/// `*out` is untouched.
ORR_API orr_result orr_worker_stats_get(const orr_world* world, uint32_t worker,
                                        orr_worker_stats* out);
/// Times every tick instead of every 16th. Costs reading the clock for each system. Default off.
/// Call between ticks, in real time at a sync point (orr_post_exclusive()); otherwise it is
/// refused, without effect.
ORR_API void orr_stats_time_all(orr_world* world, bool on);
/// Writes the statistics of all systems as a table, and of all workers if there are several. Times
/// are of timed ticks only (every 16th, unless orr_stats_time_all() is on). Buffer and result as
/// orr_value_print().
ORR_API size_t orr_stats_print(const orr_world* world, char* out, size_t out_size);

/// Writes the plan of the next tick: systems in order, with the systems that each one waits for and
/// the reason; commit points with their reasons. More than eight systems that one waits for with
/// the same reason are one line. If the plan cannot be made, the text says so. Buffer and result as
/// orr_value_print(). Allocates.
ORR_API size_t orr_plan_print(orr_world* world, char* out, size_t out_size);
/// Writes the plan of the next tick as a Graphviz graph. A node "join" stands for more than eight
/// systems that one waits for with the same reason. Otherwise as orr_plan_print().
ORR_API size_t orr_plan_graph(orr_world* world, char* out, size_t out_size);

/// One change in the journal.
typedef struct orr_journal_entry {
    uint64_t tick;         ///< The world's tick.
    orr_system system;     ///< The system that made the change. Null: a call from outside.
    orr_message_kind kind; ///< Kind of change.
    orr_entity entity;     ///< The entity.
    orr_type type;       ///< The component type. Null for ORR_ENTITY_ADDED and ORR_ENTITY_REMOVED.
    orr_component_id id; ///< The instance of a multiple type, otherwise 0.
} orr_journal_entry;
/// Keeps the last `capacity` changes of the world. 0 (the default) turns the journal off and
/// empties it. While it is on, all types are tracked, which costs time and memory. Call between
/// ticks. Allocates.
/// @return ORR_ERR_ARGUMENT above 2^30 entries; ORR_ERR_STATE inside a system and while a tick is
/// half done; ORR_ERR_MEMORY. On error the journal is as before.
ORR_API orr_result orr_journal_set(orr_world* world, uint32_t capacity);
/// Gets the entries of an entity (null: of all entities), newest first, at most `out_count`. In
/// real time call it in a posted call; from systems and other threads it is refused.
/// @return the number of entries there are.
ORR_API uint32_t orr_journal_get(const orr_world* world, orr_entity entity, orr_journal_entry* out,
                                 uint32_t out_count);
/// Writes an entry as text: "tick 7: move changed Position of bob (6v1)". Buffer and result as
/// orr_value_print().
ORR_API size_t orr_journal_print(const orr_world* world, const orr_journal_entry* entry, char* out,
                                 size_t out_size);

/// Writes a Chrome trace (chrome://tracing, ui.perfetto.dev) of all ticks from now on to a file;
/// NULL ends the trace. Each worker is a row, with the systems it ran, their chunks and rows, and
/// when it searched for work or slept. Deliveries and commits are in the row of the driving thread.
/// If the environment variable ORR_TRACE has a path, a world starts a trace by itself; further
/// worlds of the process write to path.2 and so on. Call between ticks. Allocates.
/// @return ORR_ERR_IO if the file cannot be written, ORR_ERR_MEMORY: an earlier trace has ended
/// then, and there is no new one. ORR_ERR_STATE inside a system and while a tick is half done: the
/// earlier trace continues.
ORR_API orr_result orr_trace_set(orr_world* world, const char* path);

#ifdef __cplusplus
}
#endif

#endif
