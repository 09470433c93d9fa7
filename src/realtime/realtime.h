// SPDX-License-Identifier: MIT
// Pipelines of one world at the same time: a thread for each. What a tick does besides running systems is done on the *floor*: by one
// thread at a time, first come, first served, with the world as it is in lockstep, as if that pipeline were the only one. Systems run without
// it, under locks (lock.h): on structure, and on types that are read in place by others ("locked" types). Invariants R1 to R8 in README.md.
//
//   floor    ▐prepare▌        ▐ends▌▐commit▌          ▐prepare▌ …      one pipeline
//   systems            ══════                                 ═════
//   floor               ▐prepare▌      ▐ends▌                         another, meanwhile
//   systems                      ══════
//
// Who has the floor never waits for a lock; who has locks may wait for the floor. So nobody waits for ever.
#ifndef ORRI_REALTIME_REALTIME_H
#define ORRI_REALTIME_REALTIME_H

#include "schedule/record/recording.h"
#include "schedule/tick/time_scale.h"
#include "store/publish/publish.h"
#include "store/world/commit_scope.h"

// Turns of the floor, in order: whose, and for what.
typedef enum orri_turn {
    ORRI_TURN_STEP,  // Within a tick, one of its parts.
    ORRI_TURN_BEGIN, // A tick begins; `dts` has the next dt.
    ORRI_TURN_CALLS, // Calls from outside; `call_counts` has how many. Of the first pipeline only.
    ORRI_TURN_NONE,  // There is none left.
} orri_turn;

// Locks on the values of a type, by cluster; pinned values lie together, and are one. Numbers are resources plus 1, made when first needed.
typedef struct orri_live {
    uint32_t whole1;
    uint32_t* clusters1; // By cluster index.
    uint32_t cluster_capacity;
} orri_live;

// What a pipeline waits for in a replay.
typedef enum orri_waits {
    ORRI_WAITS_NOT,
    ORRI_WAITS_TURN,
    ORRI_WAITS_LOCK,
} orri_waits;

// What a pipeline has in real time.
typedef struct orri_moment {
    struct orri_realtime* rt; // NULL: not now.
    orri_driven driven;       // What its ticks read and write (pipe->driven points here).
    uint32_t number;          // Among pipelines that are no spectators; theirs come behind.
    struct orri_command_buffers* command_buffers; // Its own.
    orri_tick_context tick; // What calls see of its tick while it has the turn.
    orri_lock_holder* holder;
    orri_lock* set; // What it holds, or waits for.
    uint32_t set_count, set_capacity;
    bool narrow;              // `driven.exclusive` is of some clusters only: systems of others run.
    bool beside;              // Some system of another pipeline keeps to its rows.
    orri_commit_scope* reach; // By step of the plan: clusters that its commits touched so far.
    uint32_t reach_count;
    orr_type* shown;                                   // Types of it that others see.
    uint32_t shown_count, shown_plain, shown_capacity; // Plain ones first.
    orri_thread_context outside; // Of the thread, before it came onto the floor.
    orri_time_scale_own own;
    bool ticking;
    bool resumes;           // A tick of it was open when the run began.
    uint64_t met;           // Meetings held when its last tick was about to begin.
    uint64_t travels;       // Likewise: how often the world had gone back.
    uint64_t began_ns;      // By the world's time, of its last tick,
    uint64_t began_real_ns; // and by the real time that counts.
    orri_waits waits;       // Under the run's `mutex`.
    _Atomic uint32_t nudge; // In a replay: changed when its turn comes.
    orr_thread thread;
    bool threaded;
    orr_wait_stats stats;
} orri_moment;

typedef struct orri_realtime {
    orr_world* world;
    struct orri_schedule* schedule;
    const orr_platform* platform;
    orr_realtime_desc desc;

    // The floor: tickets, so that nobody who runs freely keeps others out. In a replay it belongs to who has turn `turn_at`.
    _Atomic uint32_t ticket, serving, turn_at, sleepers;

    orri_locks* locks;
    // Resources: which clusters there are, standing for the rows of all of them; where entities are; and the rows of each, plus 1, made when first
    // needed.
    uint32_t registry, index;
    uint32_t* clusters1; // By cluster index.
    uint32_t cluster_capacity;
    uint32_t* locked; // Types that are read in place by others: indexes.
    uint32_t locked_count, locked_capacity;
    orri_live* lives; // By type index: resources of their values.
    uint32_t live_capacity;
    // Things outside of the world that systems of several pipelines reach, one at a time: resources of `user` pointers, plus 1, used again when plans
    // change; and of everything impure, 0: one pipeline at most is.
    uint32_t* users1;
    uint32_t user_count, user_capacity, impure1;
    uint64_t* free; // By type index: a pipeline writes it, and nobody reads it in place.
    uint32_t free_words;
    uint64_t* watched; // Likewise: others see it, so it is shown when its owner's ticks end.
    uint32_t watched_words;
    orri_publisher* publisher;
    bool
        broken; // What is published could not follow the rows: no system may run. On the floor, with structure alone.

    // Everything that follows under `mutex`. Who waits for something waits for the bell, which is rung at every change.
    orri_mutex mutex;
    _Atomic uint32_t bell, listeners;
    orri_time_scale pace;
    uint32_t running;   // Threads of pipelines,
    uint32_t following; // those of them that follow a recording,
    uint32_t met;       // those of them that came to the meeting,
    uint32_t aside;     // that wait in a place of their own,
    uint32_t standing;  // that stand while it is paused,
    uint32_t idle;      // and of these, that wait until they are due.
    uint64_t meetings;  // Held so far.
    uint64_t travels;   // Back or ahead. Changed on the floor.
    uint64_t ended_ns;  // The world's time when the last tick of the simulation ended. Likewise.
    bool gather, meets; // One is wanted; is held, and all stand.
    bool ahead;         // Who holds the meeting runs ticks. On the floor.
    bool called;        // Calls were done since the first pipeline's last tick. Of its thread.
    bool stop;
    orr_result result;
    orr_result refused; // What was refused within ticks that ended: the world lacks something.
    uint64_t begun_ns, first_ticks; // Of the first pipeline in this run.
    // A paused world that is to go on for so many ticks of the first pipeline that have not begun, and what is due up to then; 0: nothing.
    uint64_t steps, step_ns;
    orri_call *call_first, *call_last;
    bool over; // No more are taken. Under `posting`.
    bool crew_taken;
    // For the caller's thread: one at a time. A system, or its pipeline's `wait`.
    orri_pipeline* main_pipe;
    orri_system* main_system;

    struct orr_recording* record;
    uint64_t refusals; // Of memory, before it.
    const struct orr_recording* replay;
    uint32_t turn_end; // Turns of the replay that are followed.
    // Of the replay; on the floor.
    uint32_t dt_at, count_at, call_at, hash_at, ended_at, budget_at;
    _Atomic bool astray; // It did something else than was recorded.
} orri_realtime;

// ---- turn.c ------------------------------------------------------------------------------------------------------------

// True for who has turns in the recording that is replayed. Spectators go on beside it, as they like.
static inline bool orri_follows(const orri_pipeline* pipe)
{
    return pipe->moment->rt->replay != NULL && !pipe->spectator;
}

// The floor is this pipeline's until it leaves. Within a tick, which is recorded.
void orri_turn_enter(orri_pipeline* pipe);
// The same between ticks; what it is for is recorded by who knows.
void orri_turn_enter_between(orri_pipeline* pipe);
// In a replay: what this pipeline does next. Waits for its turn; ORRI_TURN_NONE: there is none left.
orri_turn orri_turn_note(const orri_pipeline* pipe);
void orri_turn_leave(orri_pipeline* pipe);
// A replay cannot be followed any more: who is within a tick finishes it, and nobody waits for a turn. False: it was so before.
bool orri_turn_lost(orri_realtime* rt);
// The same, said.
void orri_turn_astray(orri_realtime* rt, const orri_pipeline* pipe);
// In a replay, with the mutex: all pipelines that are left wait for something that one of them would have to do.
bool orri_turn_stuck(const orri_realtime* rt);
// Around the work of a whole group; the caller has the floor, and has it again afterwards. Locks are held until orri_turn_release().
orr_result orri_turn_group(orri_pipeline* pipe, uint32_t first, uint32_t point);
// Structure is this pipeline's alone: no system of any runs. The caller has the floor, and holds nothing.
void orri_turn_exclusive(orri_pipeline* pipe);
// Some clusters are: those that commits at this step touched so far. False: it does not pay, or cannot be; nothing is held.
bool orri_turn_narrow(orri_pipeline* pipe);
// What a commit is to keep to, or to note; NULL: nothing.
orri_commit_scope* orri_turn_commit_scope(const orri_pipeline* pipe);
// What is published follows the rows. Within orri_turn_exclusive() or orri_turn_narrow().
orr_result orri_turn_follow(orri_pipeline* pipe);
void orri_turn_release(orri_pipeline* pipe);
// Loops that this pipeline's systems left open have ended. On the floor, with their locks.
void orri_turn_end_loops(orri_pipeline* pipe);
// A tick begins: it sees what others published last. On refusal (reported) it does not.
orr_result orri_turn_pin(orri_pipeline* pipe);
// It ends: what it wrote is published.
orr_result orri_turn_show(orri_pipeline* pipe);
// True when transactions wait for this pipeline that it can only do with structure alone.
bool orri_turn_far_transactions(const orri_pipeline* pipe);

// ---- lock_sets.c: which locks ---------------------------------------------------------------------------------------------------

// Fills the pipeline's set with what the systems of steps [first, point) need. On the floor. False when refused (reported).
bool orri_lock_set_group(orri_pipeline* pipe, uint32_t first, uint32_t point);
// All of structure: registry and index. There is always room.
void orri_lock_set_structure(orri_pipeline* pipe, orri_lock_mode mode);
// Only one of them.
void orri_lock_set_one(orri_pipeline* pipe, uint32_t resource, orri_lock_mode mode);
// The index, and the rows of these clusters, exclusively. False when refused (reported).
bool orri_lock_set_commit_scope(orri_pipeline* pipe, const orri_commit_scope* reach);
// True when it is given rows of plain values and touches nothing else: then its clusters are all it needs to have.
bool orri_lock_set_own_rows(const orri_system* system);
// For the trace: what the plan grants to each of them, by type; and when that ends.
void orri_lock_set_note(orri_pipeline* pipe, uint32_t first, uint32_t point, orri_lock_event event);
void orri_lock_sets_free(orri_realtime* rt);
// The trace as text, kept for orr_lock_trace_print().
void orri_lock_set_keep_trace(orri_realtime* rt);

// ---- visibility.c: who sees what of whom, when plans changed ----------------------------------------------------------------------

// Fills locks, publications and views from the plans. Nobody runs. On refusal (reported) the run cannot go on.
orr_result orri_visibility_make(orri_realtime* rt);
void orri_visibility_free(orri_realtime* rt);

// ---- history_detach.c: what is remembered ------------------------------------------------------------------------------------------

// Before a group runs: memories get what its systems may write for their own, or are lost. On the floor, with its locks.
void orri_history_detach_group(const orri_pipeline* pipe, uint32_t first, uint32_t point);
// In lockstep `changed` terms look at the values themselves: what a system has not seen of others yet must be new to it. Its `since` there. Nobody runs.
uint64_t orri_history_detach_since(const orri_system* system);
// Called before the store is restored, and when a run in real time ends: frees the published
// values. They are rebuilt after the sync point; if that is refused, the run ends. No effect in
// lockstep.
void orri_schedule_leave(orr_world* world);
// The time that is remembered: of the last tick's end, which is the same in a replay.
uint64_t orri_history_detach_time(const struct orri_schedule* schedule);
// The world's time was changed at a meeting: the clock goes on from there. The caller has the mutex.
void orri_history_detach_time_scale(orri_realtime* rt);

// ---- fast_forward.c: ticks at a meeting -------------------------------------------------------------------------------------------

// Runs ticks until the world's is this one, in a call at a meeting, or one that was left when the run ended. As orr_step(); where a tick is left half done,
// the run ends with the error.
orr_result orri_realtime_fast_forward(orr_world* world, uint64_t tick);

// ---- realtime.c -----------------------------------------------------------------------------------------------------------

uint64_t orri_realtime_clock(const orri_realtime* rt);
void orri_realtime_lock(orri_realtime* rt);
void orri_realtime_unlock(orri_realtime* rt);
// Until the bell rings, at most so long. The caller has the mutex, and has it again afterwards.
void orri_realtime_wait(orri_realtime* rt, uint64_t timeout_ns);
void orri_realtime_ring(orri_realtime* rt);
// Ends the run, with this for its result if there is none yet.
void orri_realtime_fail(orri_realtime* rt, orr_result result);
// Runs a system, or with NULL the pipeline's `wait`, on the thread that called orr_realtime(). Without the floor.
void orri_realtime_on_main(orri_pipeline* pipe, orri_system* system);
// Around a run: the world is closed to all but who has the floor; and `open`, as it is in lockstep again.
void orri_realtime_open(orri_realtime* rt, bool open);

// As orri_driver.pause.
void orri_realtime_pause(orr_world* world, bool on);
// A tick that was refused in real time goes on in lockstep, with its lanes; or has ended there.
void orri_moment_resume(orri_pipeline* pipe, bool ended);
void orri_moment_free(orr_world* world, orri_pipeline* pipe);

// ---- thread.c: when a pipeline ticks ---------------------------------------------------------------------------------------------

// The thread of one (an orri_pipeline).
void orri_pipeline_thread_main(void* data);
// Time goes on to this moment. The caller has the mutex.
void orri_pipeline_thread_look(orri_realtime* rt);
// Plans have to be made anew, at a meeting. On the floor.
bool orri_realtime_stale(const orri_realtime* rt);
// It goes on while the world is paused: a spectator without a rate.
bool orri_pipeline_thread_free(const orri_pipeline* pipe);

// ---- posted_calls.c: calls from outside -----------------------------------------------------------------------------------------------

// Those that can be done now, off the list: all of them at a meeting, otherwise up to the first that needs one.
orri_call* orri_calls_take(orri_realtime* rt, bool meeting);
// What is next in a replay; and whether all others stand then.
orri_call* orri_calls_replay(orri_realtime* rt);
bool orri_calls_meet(const orri_realtime* rt);
// By the first pipeline, which has the floor, between its ticks; `meeting`: all others stand.
void orri_calls(orri_realtime* rt, orri_pipeline* pipe, orri_call* calls, bool meeting);
// At a meeting, when calls are done: plans, and what pipelines see of each other, are as the world is now. On refusal (reported) no tick can run.
orr_result orri_realtime_ready(orri_realtime* rt);
// Gives back the ids that pipelines hold.
void orri_realtime_unhold(orri_realtime* rt);

// ---- realtime_log.c ------------------------------------------------------------------------------------------------------------

void orri_realtime_log_turn(orri_realtime* rt, const orri_pipeline* pipe, orri_turn turn);
void orri_realtime_log_dt(orri_realtime* rt, const orri_pipeline* pipe, float dt);
// The calls of a list; on refusal the turn that was for them is not recorded either.
void orri_realtime_log_calls(orri_realtime* rt, const orri_call* calls, bool meeting);
// After a tick: its pipeline's clock.
void orri_realtime_log_ended(orri_realtime* rt, const orri_pipeline* pipe);
// In a replay it is put where it was. False: that is not known.
bool orri_replay_clock(orri_realtime* rt, orri_pipeline* pipe);
// Something was refused that a replay may have: the recording ends. On the floor.
void orri_realtime_log_refused(orri_realtime* rt, const orri_pipeline* pipe);
// The same if memory was, to anybody, since the run began. What came of that is not known: a call from outside may have gone on without.
void orri_realtime_log_lacks(orri_realtime* rt, const orri_pipeline* pipe);
// What a budget decided at a meeting is taken down, if there is a recording; and what it decided then. False: nothing is followed.
void orri_realtime_log_budget(const orr_world* world, uint32_t choice);
bool orri_replay_budget(const orr_world* world, uint32_t* choice);
// When the run has ended: the world's time; in a replay that came to its end it is put there.
void orri_realtime_log_time(orri_realtime* rt);
// Begins with an empty recording, or looks at what there is to replay. Reports.
orr_result orri_realtime_log_begin(orri_realtime* rt);
// True when what is followed ends in the midst of ticks.
bool orri_replay_open(const orri_realtime* rt);
// True while what this pipeline does is taken down. On the floor.
bool orri_realtime_log_goes_on(const orri_realtime* rt, const orri_pipeline* pipe);
// Keeps the order of grants.
void orri_realtime_log_grants(orri_realtime* rt, orri_lock_log* log);
// After a tick: what its pipeline owns is hashed and recorded, or compared, if that is wanted.
void orri_realtime_log_hash(orri_realtime* rt, orri_pipeline* pipe);

#endif
