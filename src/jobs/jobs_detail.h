// SPDX-License-Identifier: MIT
// Shared by the files of this module: jobs.c (create and destroy), graph.c (run a graph), sleep.c
// (wait and wake), external.c (the program's own threads), watchdog.c (stuck calls). Every access
// to a word that several threads write uses the functions below: sequentially consistent, with a
// sched point before it. Words on which nothing else depends (statistics, what the watchdog reads)
// are accessed relaxed and have no sched point.
#ifndef ORRI_JOBS_JOBS_DETAIL_H
#define ORRI_JOBS_JOBS_DETAIL_H

#include "jobs/jobs.h"

#define ORRI_JOBS_LINE 64 // Bytes of a cache line.

// orri_jobs.status: everything that must be read or changed in one atomic step. A helper (any
// worker but the calling thread) may access the graph only while it is counted INSIDE.
//
//     bit 0       OPEN    a graph runs that has work for helpers; set by the caller,
//                         cleared by the worker that completes the last node
//     bit 1       STOP    the pool is being destroyed
//     bits 2-31   INSIDE  number of helpers inside
//     bits 32-63  SIGNAL  number of signals; a worker without work looks again when it changes
#define ORRI_STATUS_OPEN        ((uint64_t)1)
#define ORRI_STATUS_STOP        ((uint64_t)1 << 1)
#define ORRI_STATUS_INSIDE      ((uint64_t)1 << 2)  // One helper.
#define ORRI_STATUS_SIGNAL      ((uint64_t)1 << 32) // One signal.
#define ORRI_STATUS_INSIDE_MASK (ORRI_STATUS_SIGNAL - ORRI_STATUS_INSIDE)
#define ORRI_STATUS_SIGNAL_MASK (~(ORRI_STATUS_SIGNAL - 1))
#define ORRI_STATUS_ALL         (~(uint64_t)0)

// Flag in the low half of orri_jobs_worker.at: the value comes from orri_jobs_report().
#define ORRI_JOBS_REPORTED ((uint32_t)1 << 31)

typedef struct orri_external_slot orri_external_slot; // Entry for calls on the program's threads.

typedef struct orri_jobs_worker {
    // The word this worker sleeps on. Incremented by the thread that wakes it.
    _Alignas(ORRI_JOBS_LINE) _Atomic uint32_t wake_word;
    // From here on written by this worker only; other threads read.
    //
    // The call that the worker makes now: calls of `run` so far << 32 | node + 1, or report_count
    // << 32 | ORRI_JOBS_REPORTED | the value passed to orri_jobs_report(). The high half makes two
    // calls for the same node differ. 0: nothing.
    _Alignas(ORRI_JOBS_LINE) _Atomic uint64_t at;
    uint32_t report_count;                                          // Calls of orri_jobs_report().
    _Atomic uint64_t units, claims, steals, sleeps, busy_ns, noted; // orri_jobs_stats.
    uint64_t wait_ns, sleep_ns; // Start of the wait and of the sleep, while traced; 0: none.
    orri_jobs* jobs;
    uint32_t number;   // 0 is the calling thread.
    orr_thread thread; // Not used by worker 0 and by the program's own threads.
    // Of the watchdog, under orri_jobs.watchdog_mutex.
    uint64_t seen_at, seen_ns; // The last value of `at` that was read, and when it was read first.
    bool logged;               // The call was named in the log.
} orri_jobs_worker;

// Words that several threads write have a cache line of their own; fields that hardly change stand
// together at the front.
struct orri_jobs {
    orri_env* env;
    const orr_platform* platform;
    orri_graph* graph;         // Of the current or the last run. Written only when it changes.
    orri_jobs_worker* workers; // [requested]
    uint32_t requested;        // Workers requested, limited to ORRI_JOBS_MOST.
    uint32_t worker_count;     // Workers that exist; fewer when threads could not be created.
    uint32_t spins;            // Times a worker polls before it yields and then sleeps.
    uint32_t wakes;     // Most workers woken at a time: more cannot run on the machine's cores.
    uint64_t stuck_ns;  // As in the desc.
    bool uses_external; // Helpers are calls on the program's own threads.
    bool watcher;       // The watcher thread exists.
    bool timed;         // orri_jobs_time().
    orr_pool external;  // The program's own threads.
    orri_external_slot* slot; // With uses_external: where their calls enter.
    const char* (*name)(void* context, uint32_t what); // As in the desc.
    void* context;

    // Used by the calling thread only.
    _Alignas(ORRI_JOBS_LINE) bool open; // The caller set OPEN in this run.
    bool running;                       // Inside orri_jobs_run().
    uint64_t timed_ns;                  // Total time of timed runs.
    // For the warning that the program's threads never call: no call was seen and no warning was
    // logged yet; runs that requested calls; time of the first of these.
    bool awaits_first_call;
    uint32_t request_runs;
    uint64_t request_first_ns;

    _Atomic uint64_t traced; // 1: waits are timed and reported. Read by waiting workers.

    _Alignas(ORRI_JOBS_LINE) _Atomic uint64_t status; // ORRI_STATUS_*.

    // A bit per worker that sleeps or is about to.
    _Alignas(ORRI_JOBS_LINE) _Atomic uint64_t asleep;
    // Of the program's own threads.
    _Atomic uint64_t free_numbers;  // A bit per worker number that no call uses.
    _Atomic uint64_t call_seen;     // 1: a promised call was made.
    _Atomic uint32_t excess_logged; // 1: the warning about too many calls was logged.

    // Of the watchdog: 1 while a run is watched, whether or not OPEN is set.
    _Alignas(ORRI_JOBS_LINE) _Atomic uint64_t watched;
    orri_mutex watchdog_mutex; // One thread checks at a time; others skip the check.
    orr_thread watcher_thread;
    _Atomic uint32_t watcher_stop; // Set to 1 to end the watcher; it sleeps on this word.
};

// ---- access to shared words ---------------------------------------------------------------------

static inline uint64_t orri_jobs_load(const orri_jobs* jobs, _Atomic uint64_t* word)
{
    ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_LOAD, word);
    return atomic_load(word);
}

static inline uint64_t orri_jobs_add(const orri_jobs* jobs, _Atomic uint64_t* word, uint64_t value)
{
    ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_STORE, word);
    return atomic_fetch_add(word, value);
}

static inline uint64_t orri_jobs_bits_set(const orri_jobs* jobs, _Atomic uint64_t* word,
                                          uint64_t bits)
{
    ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_STORE, word);
    return atomic_fetch_or(word, bits);
}

static inline uint64_t orri_jobs_bits_clear(const orri_jobs* jobs, _Atomic uint64_t* word,
                                            uint64_t bits)
{
    ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_STORE, word);
    return atomic_fetch_and(word, ~bits);
}

// On failure *expected receives the current value.
static inline bool orri_jobs_compare_swap(const orri_jobs* jobs, _Atomic uint64_t* word,
                                          uint64_t* expected, uint64_t value)
{
    ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_STORE, word);
    return atomic_compare_exchange_strong(word, expected, value);
}

// For words that no other thread writes at this time.
static inline uint64_t orri_jobs_peek(const _Atomic uint64_t* word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static inline void orri_jobs_put(_Atomic uint64_t* word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static inline void orri_jobs_count(_Atomic uint64_t* word, uint64_t more)
{
    orri_jobs_put(word, orri_jobs_peek(word) + more);
}

static inline uint64_t orri_jobs_bit(uint32_t number)
{
    return (uint64_t)1 << number;
}

// ---- sleep.c ------------------------------------------------------------------------------------

// Waits until the status differs from `seen` in a bit of `mask`; returns the status. Polls, yields,
// then sleeps. A sleeping worker wakes from time to time to check for stuck calls.
uint64_t orri_jobs_wait(orri_jobs_worker* me, uint64_t seen, uint64_t mask);
// Ends the worker's wait; reports it to the graph if waits are traced. Call while the worker may
// access the graph.
void orri_jobs_wait_report(orri_jobs_worker* me);
// Wakes a worker if it sleeps. Returns true if it did.
bool orri_jobs_wake(orri_jobs* jobs, uint32_t worker);
// Wakes up to `most` sleeping workers, lowest number first. Call after a change of the status:
// workers that are awake see that change.
void orri_jobs_wake_some(orri_jobs* jobs, uint32_t most);
// Counts the helper INSIDE if the status is OPEN; otherwise returns false. *seen receives the
// status before.
bool orri_jobs_enter(orri_jobs* jobs, uint64_t* seen);
// Counts the helper out. `done`: it completed the last node, so OPEN is cleared too.
void orri_jobs_leave(orri_jobs* jobs, bool done);

// ---- watchdog.c ---------------------------------------------------------------------------------

// Logs calls that are stuck. `number`: the worker that checks; a number above all workers for the
// watcher thread.
void orri_jobs_watchdog_check(orri_jobs* jobs, uint32_t number);
// Time between two checks; UINT64_MAX: no checks.
uint64_t orri_jobs_watchdog_period_ns(const orri_jobs* jobs);
// Starts the watcher thread; false if it cannot be created.
bool orri_jobs_watcher_begin(orri_jobs* jobs);
void orri_jobs_watcher_end(orri_jobs* jobs);

// ---- graph.c ------------------------------------------------------------------------------------

#define ORRI_GRAPH_NONE UINT32_MAX

// Runs nodes and units of jobs->graph until none is left to take. Called by a helper that is
// INSIDE. Returns true if this worker completed the last node of the graph.
bool orri_graph_work(orri_jobs_worker* me);

// ---- jobs.c -------------------------------------------------------------------------------------

// The loop of a helper: works whenever there is work, until the pool is destroyed. `one_run`:
// returns when no run is OPEN.
void orri_jobs_serve(orri_jobs_worker* me, bool one_run);

// ---- external.c ---------------------------------------------------------------------------------

// Acquires a slot for calls on the program's threads. False: all slots of the process are in use.
bool orri_jobs_external_begin(orri_jobs* jobs);
// Waits for calls that are inside and frees the slot. Later calls are rejected.
void orri_jobs_external_end(orri_jobs* jobs);
// Asks the program's threads for calls, up to one per worker besides the calling thread.
void orri_jobs_external_request(orri_jobs* jobs);

#endif
