// SPDX-License-Identifier: MIT
// A run in real time: pipelines of one world at the same time, a thread for each. The serial part
// of a tick is done in the pipeline's *turn*: by one thread at a time, first come, first served,
// with the world as in lockstep. Systems run outside the turn, under locks (lock.h): on structure,
// and on types that other pipelines read in place ("locked" types). README.md has a picture and the
// invariants R1 to R9.
//
// A pipeline in its turn never waits for a lock; a pipeline that holds locks may wait for its turn.
// So no pipeline waits forever.
#ifndef ORRI_REALTIME_REALTIME_H
#define ORRI_REALTIME_REALTIME_H

#include "base/spin.h"
#include "schedule/record/recording.h"
#include "schedule/tick/time_scale.h"
#include "store/publish/publish.h"
#include "store/world/commit_scope.h"

// The purpose of a turn. Recorded in order, with the number of the pipeline.
typedef enum orri_turn {
    ORRI_TURN_STEP,  // A part of a tick that has begun.
    ORRI_TURN_BEGIN, // A tick begins; `dts` has its dt.
    ORRI_TURN_CALLS, // Posted calls; `call_counts` has their number. First pipeline only.
    ORRI_TURN_NONE,  // The recording has no turn left.
} orri_turn;

// The locks on the values of one type, by cluster; the pinned values of a type lie together and
// have one lock. Numbers are resources plus 1, made when first needed; 0: none yet.
typedef struct orri_type_locks {
    uint32_t whole1;     // Of pinned values.
    uint32_t* clusters1; // By cluster index.
    uint32_t cluster_capacity;
} orri_type_locks;

// In a replay: the reason why a pipeline waits.
typedef enum orri_waits {
    ORRI_WAITS_NOT,  // For nothing.
    ORRI_WAITS_TURN, // For its turn.
    ORRI_WAITS_LOCK, // For a lock.
} orri_waits;

// The state of a pipeline in real time. Made by its first run, and kept until the pipeline is
// freed.
typedef struct orri_pipeline_run {
    struct orri_realtime* rt; // NULL: no run now.
    orri_driven driven;       // Read and written by its ticks (pipe->driven points here).
    // Its number in recordings and locks: pipelines of the simulation first, then spectators.
    uint32_t number;
    struct orri_command_buffers* command_buffers; // Its own command buffers.
    orri_tick_context tick;                       // Its open tick, for calls during its turn.
    orri_lock_holder* holder;                     // Holds and waits for locks.
    orri_lock* set; // The lock set that it holds, waits for, or fills.
    uint32_t set_count, set_capacity;
    // `driven.exclusive` covers only the clusters of a commit scope: systems on other clusters run.
    bool scoped;
    // Commits learn and use scopes: some system of another pipeline touches only its own rows.
    bool uses_scopes;
    // By step of the plan: the clusters that its commits touched so far.
    orri_commit_scope* scopes;
    uint32_t scope_count;
    orr_type* published; // Its types that other pipelines read as published.
    // Types of plain values come first.
    uint32_t published_count, published_plain, published_capacity;
    orri_thread_context scope_before; // Thread scope before the turn, restored after it.
    orri_time_scale_load load;        // How long its ticks take, for the time scale.
    bool ticking;                     // Within a tick. Under `mutex`.
    bool resumes;                     // A tick was half done when the run began.
    uint64_t sync_seen;               // `sync_count` when it last decided to tick,
    uint64_t travels;                 // and `travels` when it last decided anything.
    uint64_t began_ns;                // World time when its last tick began,
    uint64_t began_real_ns;           // and counted real time (clock.real_ns).
    orri_waits waits;                 // Under `mutex`.
    _Atomic uint32_t turn_signal;     // In a replay: incremented to wake it for its turn.
    orr_thread thread;
    orri_spin spin;       // Of its waits for a turn.
    bool threaded;        // `thread` was created and not joined yet.
    orr_wait_stats stats; // Ticks, dropped ticks, time waited.
} orri_pipeline_run;

// A run in real time: exists while orr_realtime() runs.
typedef struct orri_realtime {
    orr_world* world;
    struct orri_schedule* schedule;
    const orr_platform* platform;
    orr_realtime_desc desc;

    // Turns. `ticket` and `serving` order them, so that a busy pipeline cannot keep others out. In
    // a replay turn number `turn_at` of the recording is next. `sleepers` counts threads that sleep
    // for a turn.
    _Atomic uint32_t ticket, serving, turn_at, sleepers;

    orri_locks* locks;
    // Lock resources of structure: `registry` stands for the set of clusters and the rows of all of
    // them; `index` for where entities are; `clusters1` for the rows of one cluster, plus 1, made
    // when first needed.
    uint32_t registry, index;
    uint32_t* clusters1; // By cluster index; 0: none yet.
    uint32_t cluster_capacity;
    uint32_t* locked; // Indexes of the types that other pipelines read in place.
    uint32_t locked_count, locked_capacity;
    orri_type_locks* type_locks; // By type index: locks on the values.
    uint32_t type_lock_capacity;
    // Locks on things outside the world that systems of several pipelines use: on equal `user`
    // pointers, plus 1, reused when plans change; and on everything impure, plus 1; 0: at most one
    // pipeline is impure.
    uint32_t* user_locks1;
    uint32_t user_lock_count, user_lock_capacity, impure_lock1;
    uint64_t* unlocked; // By type: it has an owner and is not locked.
    uint32_t unlocked_words;
    // By type: other pipelines read it, so its owner's ticks publish it.
    uint64_t* published;
    uint32_t published_words;
    orri_publisher* publisher;
    // Published values could not follow their rows: no system may run. Written in a turn, with
    // structure held exclusively.
    bool remap_failed;

    // Everything below is under `mutex`, unless a comment says otherwise. A thread that waits for a
    // change sleeps on `wake_word`, which orri_realtime_wake_all() increments after every change.
    orri_mutex mutex;
    _Atomic uint32_t wake_word, wake_waiters;
    orri_time_scale clock; // Wall clock to world time; pause and requested scale.
    uint32_t running;      // Threads of pipelines that have not ended;
    uint32_t replaying;    // of these: follow a recording,
    uint32_t sync_arrived; // have arrived at the sync point,
    uint32_t in_wait;      // are inside their pipeline's `.wait`,
    uint32_t pausable;     // may not tick while the world is paused,
    uint32_t idle;         // and of the last: wait until they are due.
    uint64_t sync_count;   // Sync points held so far.
    uint64_t travels;      // Travels back or ahead. Written in a turn.
    // World time when the last tick of the simulation ended. Written in a turn.
    uint64_t ended_ns;
    // A sync point is wanted; is held, and all pipelines stand between ticks.
    bool sync_wanted, sync_held;
    bool fast_forwards; // Ticks run at the sync point. Written in a turn.
    // Posted calls ran since the first pipeline's last tick. Used by its thread only.
    bool calls_done;
    bool stop;         // The run ends.
    orr_result result; // The first error; it ends the run.
    // A memory refusal within a tick that ended: the world lacks a change. The result of the run,
    // if `result` is ORR_OK.
    orr_result refused;
    // Wall clock when the run began; ticks of the first pipeline in this run.
    uint64_t begun_ns, first_ticks;
    // orr_realtime_step() on a paused world: ticks of the first pipeline that have not begun yet,
    // and the world time up to which pipelines may tick. 0: none.
    uint64_t steps, step_ns;
    orri_call *call_first, *call_last; // Posted calls that wait.
    bool posts_closed;                 // The run ends: no post is accepted. Under `posting`.
    bool workers_taken;                // A pipeline uses the workers.
    // A request to the thread that called orr_realtime(), one at a time: run `main_system`, or
    // (NULL) the `wait` of `main_pipe`. main_pipe NULL: no request.
    orri_pipeline* main_pipe;
    orri_system* main_system;

    struct orr_recording* record;       // NULL: not recorded.
    uint64_t refusals;                  // Memory refusals of the world before the run.
    const struct orr_recording* replay; // NULL: not a replay.
    uint32_t turn_end;                  // Number of recorded turns to follow.
    // Positions in the recording's lists. Used in a turn.
    uint32_t dt_at, count_at, call_at, hash_at, ended_at, budget_at;
    _Atomic bool diverged; // The replay did something that was not recorded.
} orri_realtime;

// ---- turn.c: turns, and groups of systems under locks -------------------------------------------

// True for a pipeline whose turns come from a recording. Spectators run freely beside a replay.
static inline bool orri_pipeline_replays(const orri_pipeline* pipe)
{
    return pipe->run->rt->replay != NULL && !pipe->spectator;
}

// Waits for the pipeline's turn, which lasts until orri_turn_leave(). Within a tick: recorded as
// ORRI_TURN_STEP.
void orri_turn_enter(orri_pipeline* pipe);
// The same between ticks; the caller records the purpose.
void orri_turn_enter_between(orri_pipeline* pipe);
// In a replay: waits until the pipeline has the next recorded turn and returns its purpose.
// ORRI_TURN_NONE: there is no turn left.
orri_turn orri_turn_await(const orri_pipeline* pipe);
// Ends the turn. Checks whether memory was refused during it, which ends a recording.
void orri_turn_leave(orri_pipeline* pipe);
// Gives up following a recording: open ticks are finished, and no pipeline waits for a recorded
// turn any more. False: that was done before.
bool orri_replay_abandon(orri_realtime* rt);
// The same, reported as ORR_ERR_CONFLICT unless the recording itself ends mid-tick.
void orri_replay_diverge(orri_realtime* rt, const orri_pipeline* pipe);
// In a replay, with the mutex: true when all remaining pipelines wait for each other.
bool orri_replay_stuck(const orri_realtime* rt);
// Runs a group: takes its locks, prepares and runs the systems. Called and returns within a turn.
// The locks are held until orri_turn_release().
orr_result orri_turn_group(orri_pipeline* pipe, uint32_t first, uint32_t point);
// Takes all structure exclusively: no system of any pipeline runs. Within a turn, with no lock
// held.
void orri_turn_exclusive(orri_pipeline* pipe);
// The same for the clusters of the commit scope of this step. False: not worth it, or not possible;
// nothing is held.
bool orri_turn_exclusive_scope(orri_pipeline* pipe);
// The scope that a commit must stay within, or must fill (`learns`); NULL: scopes are not used.
orri_commit_scope* orri_turn_commit_scope(const orri_pipeline* pipe);
// Moves published values to where their rows are. Within orri_turn_exclusive() or
// orri_turn_exclusive_scope().
orr_result orri_turn_remap(orri_pipeline* pipe);
// Releases the locks that are held, if any.
void orri_turn_release(orri_pipeline* pipe);
// Ends loops that this pipeline's systems left open. Within a turn, with their locks.
void orri_turn_end_loops(orri_pipeline* pipe);
// A tick begins: pins the view, so that it shows what others published last. On refusal (reported)
// the tick does not begin.
orr_result orri_turn_view_pin(orri_pipeline* pipe);
// A tick ends: publishes what it wrote. On refusal (reported) the next call continues.
orr_result orri_turn_publish(orri_pipeline* pipe);
// True when transactions wait for this pipeline that need structure exclusively.
bool orri_turn_wants_exclusive(const orri_pipeline* pipe);

// ---- lock_sets.c: which locks -------------------------------------------------------------------

// Fills the pipeline's lock set with what the systems of steps [first, point) need. Within a turn.
// False when refused (reported).
bool orri_lock_set_group(orri_pipeline* pipe, uint32_t first, uint32_t point);
// Sets the lock set to all of structure: registry and index. There is always room.
void orri_lock_set_structure(orri_pipeline* pipe, orri_lock_mode mode);
// Sets the lock set to one resource.
void orri_lock_set_one(orri_pipeline* pipe, uint32_t resource, orri_lock_mode mode);
// Sets the lock set to the index and the rows of the clusters of a scope, exclusively. False when
// refused (reported).
bool orri_lock_set_commit_scope(orri_pipeline* pipe, const orri_commit_scope* scope);
// True when a system is given rows of plain values and touches nothing else: it needs locks on its
// clusters only.
bool orri_lock_set_own_rows(const orri_system* system);
// For the lock trace: the types that the plan grants to each system, and when that ends.
void orri_lock_set_note(orri_pipeline* pipe, uint32_t first, uint32_t point, orri_lock_event event);
void orri_lock_sets_free(orri_realtime* rt);
// Keeps the lock trace as text for orr_lock_trace_print().
void orri_lock_set_save_trace(orri_realtime* rt);

// ---- visibility.c: what pipelines see of each other ---------------------------------------------

// Makes plans, locks, publications and views. No system runs. On refusal (reported) the run cannot
// continue.
orr_result orri_visibility_make(orri_realtime* rt);
void orri_visibility_free(orri_realtime* rt);

// ---- history_detach.c: snapshots while systems write --------------------------------------------

// Before a group runs: gives snapshots their own copy of blocks that the group may write; without
// memory the snapshot is lost. Within a turn, with the group's locks.
void orri_history_detach_group(const orri_pipeline* pipe, uint32_t first, uint32_t point);
// The `since` of a system as lockstep needs it: in lockstep `changed` terms read the values
// themselves, so changes of other pipelines that the system has not seen must count as new. No
// system runs.
uint64_t orri_history_detach_since(const orri_system* system);
// The world time that history stores: that of the last tick's end, which a replay has too.
uint64_t orri_realtime_time_remembered(const struct orri_schedule* schedule);
// The world's time was changed at a sync point: restarts the clock from there. With the mutex.
void orri_realtime_clock_restart(orri_realtime* rt);

// ---- fast_forward.c: ticks at a sync point ------------------------------------------------------

// Runs ticks until the world's tick is `tick`, in a call at a sync point, or in a call that is left
// when the run ended. As orr_step(); if a tick is left half done, the run ends with the error.
orr_result orri_realtime_fast_forward(orr_world* world, uint64_t tick);

// ---- realtime.c: begin and end of a run ---------------------------------------------------------

// The wall clock.
uint64_t orri_realtime_clock(const orri_realtime* rt);
// Locks and unlocks `mutex`.
void orri_realtime_lock(orri_realtime* rt);
void orri_realtime_unlock(orri_realtime* rt);
// Sleeps until the next wake-up, at most `timeout_ns`. The caller has the mutex, and has it again
// afterwards.
void orri_realtime_wait(orri_realtime* rt, uint64_t timeout_ns);
// Wakes all threads that wait. After every change of what a thread may wait for.
void orri_realtime_wake_all(orri_realtime* rt);
// Ends the run; `result` is its result unless there is one.
void orri_realtime_fail(orri_realtime* rt, orr_result result);
// Runs a system, or (NULL) the pipeline's `wait`, on the thread that called orr_realtime(), and
// waits for it. Outside a turn.
void orri_realtime_on_main(orri_pipeline* pipe, orri_system* system);

// orri_driver.pause.
void orri_realtime_pause(orr_world* world, bool on);
// orri_driver.resume: a tick that was refused in real time continues in lockstep with its command
// buffers; or has ended there.
void orri_pipeline_run_resume(orri_pipeline* pipe, bool ended);
// orri_driver.pipeline_free.
void orri_pipeline_run_free(orr_world* world, orri_pipeline* pipe);

// ---- thread.c: when a pipeline ticks ------------------------------------------------------------

// The function of a pipeline's thread; `data` is the orri_pipeline.
void orri_pipeline_thread_main(void* data);
// Advances the world's time to now. With the mutex.
void orri_realtime_clock_advance(orri_realtime* rt);
// True when plans must be made again, at a sync point. Within a turn.
bool orri_realtime_stale(const orri_realtime* rt);
// True for a continuous spectator: it ticks while the world is paused.
bool orri_pipeline_ignores_pause(const orri_pipeline* pipe);

// ---- posted_calls.c: calls from any thread ------------------------------------------------------

// Takes the calls that can run now: at a sync point all of them, otherwise up to the first that
// needs a sync point.
orri_call* orri_calls_take(orri_realtime* rt, bool sync);
// In a replay: the next recorded calls; and whether they ran at a sync point.
orri_call* orri_calls_replay(orri_realtime* rt);
bool orri_calls_replay_sync(const orri_realtime* rt);
// Runs calls. By the first pipeline, in its turn, between its ticks; `sync`: at a sync point.
void orri_realtime_calls(orri_realtime* rt, orri_pipeline* pipe, orri_call* calls, bool sync);
// Takes, records and runs the calls that can run now, in a turn of the first pipeline.
void orri_realtime_take_calls(orri_realtime* rt, orri_pipeline* pipe, bool sync);
// Notifies readers of changes that were made outside of ticks: of those made before a run, and by
// posted calls. The diffs of ticks do not look for them. On refusal (reported) the next call
// continues.
orr_result orri_realtime_notify(orr_world* world);
// At a sync point, after calls: makes plans and visibility for the world as it is now. On refusal
// (reported) no tick can run.
orr_result orri_realtime_refresh(orri_realtime* rt);
// Returns the reserved entity ids of all pipelines that are between ticks.
void orri_realtime_release_ids(orri_realtime* rt);

// ---- realtime_log.c: recording and replaying a run ----------------------------------------------

// Records a turn and its purpose.
void orri_realtime_log_turn(orri_realtime* rt, const orri_pipeline* pipe, orri_turn turn);
// Records the dt of the tick that begins.
void orri_realtime_log_dt(orri_realtime* rt, const orri_pipeline* pipe, float dt);
// Records a list of calls. Without memory the turn for them is removed from the recording, too.
void orri_realtime_log_calls(orri_realtime* rt, const orri_call* calls, bool sync);
// After a tick: records its pipeline's clock.
void orri_realtime_log_tick_end(orri_realtime* rt, const orri_pipeline* pipe);
// In a replay, in a turn: ends the replay if the next recorded clock is not possible in this world.
// Reports; not to be called with the mutex.
void orri_replay_clock_check(orri_realtime* rt, const orri_pipeline* pipe);
// In a replay: sets the clock to the recorded one. False: the recording has none.
bool orri_replay_clock(orri_realtime* rt, orri_pipeline* pipe);
// Something was refused that a replay may be granted: the recording ends. Within a turn.
void orri_realtime_log_stop(orri_realtime* rt, const orri_pipeline* pipe);
// The same if any memory was refused since the run began. The effects of that are not known: a call
// may have continued without the memory.
void orri_realtime_log_check_memory(orri_realtime* rt, const orri_pipeline* pipe);
// Records the decision of a memory budget at a sync point; and returns the recorded one. False: no
// replay, or none left.
void orri_realtime_log_budget(const orr_world* world, uint32_t choice);
bool orri_replay_budget(const orr_world* world, uint32_t* choice);
// At the end of a run: records the world's time; a replay that reached its end sets it.
void orri_realtime_log_time(orri_realtime* rt);
// Empties the recording; in a replay compares the world's hash with that at the beginning of the
// recording. Reports.
orr_result orri_realtime_log_begin(orri_realtime* rt);
// True when the recording, as far as it is followed, ends within ticks.
bool orri_replay_ends_mid_tick(const orri_realtime* rt);
// True while this pipeline is recorded. Within a turn.
bool orri_realtime_log_active(const orri_realtime* rt, const orri_pipeline* pipe);
// Stores the order of lock grants in the recording, and frees `log`.
void orri_realtime_log_grants(orri_realtime* rt, orri_lock_log* log);
// After a tick: hashes what the pipeline owns and records or compares the hash, if that is wanted.
void orri_realtime_log_hash(orri_realtime* rt, orri_pipeline* pipe);

// Called before the store is restored, and when a run in real time ends: frees the published
// values. They are rebuilt after the sync point; if that is refused, the run ends. No effect in
// lockstep. (history_detach.c)
void orri_realtime_unpublish(orr_world* world);

#endif
