// SPDX-License-Identifier: MIT
// What the files of a crew share: jobs.c (life), external.c (the user's threads), sleep.c (waiting, waking), watchdog.c, graph.c (running). Every access to a word
// that several threads write goes through the functions here: sequentially consistent, with a sched point before it.
// Words without order (statistics, what the watch reads) are relaxed and have no point: nothing hangs on them.
#ifndef ORRI_JOBS_JOBS_DETAIL_H
#define ORRI_JOBS_JOBS_DETAIL_H

#include "jobs/jobs.h"

#define ORRI_JOBS_LINE 64 // Bytes that go from core to core together.

// The gate: one word that says all that must be known at once. Whoever is IN may look at the graph.
#define ORRI_GATE_OPEN \
    ((uint64_t)1) // There is a graph with work for others. Set by the caller, cleared by who did the last of it.
#define ORRI_GATE_STOP ((uint64_t)1 << 1) // The crew ends.
#define ORRI_GATE_IN   ((uint64_t)1 << 2) // Counts the helpers inside.
#define ORRI_GATE_BELL \
    ((uint64_t)1 << 32) // Counts news: whoever found nothing looks again when it changed.

#define ORRI_GATE_NEWS   (~(ORRI_GATE_BELL - 1)) // Bits of the bell.
#define ORRI_GATE_ALL    (~(uint64_t)0)
#define ORRI_GATE_ANY_IN (ORRI_GATE_BELL - ORRI_GATE_IN) // Bits of the count.

#define ORRI_JOBS_SAID ((uint32_t)1 << 31) // In the lower half of orri_jobs_worker.at.

typedef struct orri_external_calls
    orri_external_calls; // Where calls on the user's threads come in.

typedef struct orri_jobs_worker {
    // Moved on by whoever wakes it: the word it sleeps on.
    _Alignas(ORRI_JOBS_LINE) _Atomic uint32_t doze;
    // Its own; others only read.
    _Alignas(ORRI_JOBS_LINE) _Atomic uint64_t
        at;        // Calls of `run` so far << 32 | node + 1; 0: in none; or:
    uint32_t said; // said << 32 | ORRI_JOBS_SAID | what it is at.
    _Atomic uint64_t units, claims, steals, sleeps, busy_ns, noted;
    uint64_t wait_ns,
        sleep_ns; // Since when it waits, and sleeps, if that is traced; 0: it does not.
    orri_jobs* jobs;
    uint32_t number;
    orr_thread thread;
    // Of the watch, under crew->watch.
    uint64_t seen_at, seen_ns;
    bool named;
} orri_jobs_worker;

// What several threads write stands on lines of its own; what hardly changes stands together at the front.
struct orri_jobs {
    orri_env* env;
    const orr_platform* platform;
    orri_graph* graph; // Of the run that is on, or of the last: written only when it is another.
    orri_jobs_worker* members; // [asked]
    uint32_t asked;            // Workers there were to be.
    uint32_t workers;          // And are.
    uint32_t spins;
    uint32_t wakes; // At most so many are woken at a time: more cannot run.
    uint64_t stuck_ns;
    bool has_own; // Other workers are calls on threads of the user's.
    bool watcher; // There is a thread that only watches.
    bool timed;
    orr_pool own;
    orri_external_calls* desk;
    const char* (*name)(void* context, uint32_t what); // As in the desc.
    void* context;

    // The caller's.
    _Alignas(
        ORRI_JOBS_LINE) bool open; // It opened the gate in this run, having something for others.
    bool running;
    uint64_t timed_ns; // That timed runs took.
    // Of the user's own threads: whether a call may still have to be missed; runs that asked, and when the first did.
    bool hopes;
    uint32_t hoped_runs;
    uint64_t hoped_ns;

    _Atomic uint64_t traced; // 1: waits are timed. Read by whoever waits.

    _Alignas(ORRI_JOBS_LINE) _Atomic uint64_t gate;

    _Alignas(
        ORRI_JOBS_LINE) _Atomic uint64_t asleep; // A bit per worker that sleeps or is about to.
    // Of the user's own threads.
    _Atomic uint64_t numbers; // A bit per worker number that nobody has.
    _Atomic uint64_t came;    // 1: one was made.
    _Atomic uint32_t unasked; // 1: one was too many, which was said.

    // Of the watch.
    _Alignas(ORRI_JOBS_LINE) _Atomic uint64_t
        watched;      // 1 while a run is on, whether or not the gate is open.
    orri_mutex watch; // One watcher is enough.
    orr_thread watcher_thread;
    _Atomic uint32_t watcher_stop;
};

// ---- words ----------------------------------------------------------------------------------------------------------

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

static inline uint64_t orri_jobs_on(const orri_jobs* jobs, _Atomic uint64_t* word, uint64_t bits)
{
    ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_STORE, word);
    return atomic_fetch_or(word, bits);
}

static inline uint64_t orri_jobs_off(const orri_jobs* jobs, _Atomic uint64_t* word, uint64_t bits)
{
    ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_STORE, word);
    return atomic_fetch_and(word, ~bits);
}

// On failure *expected is what is there.
static inline bool orri_jobs_swap(const orri_jobs* jobs, _Atomic uint64_t* word, uint64_t* expected,
                                  uint64_t value)
{
    ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_STORE, word);
    return atomic_compare_exchange_strong(word, expected, value);
}

// For words that nobody else writes now.
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

// ---- sleep.c ---------------------------------------------------------------------------------------------------------

// Returns what the gate is when it differs from `seen` in `mask`. Looks, yields, then sleeps, and watches for nodes that are
// stuck.
uint64_t orri_jobs_wait(orri_jobs_worker* me, uint64_t seen, uint64_t mask);
// By one that may look at the graph: it waits no longer. Tells the graph, if it did and that is traced.
void orri_jobs_waited(orri_jobs_worker* me);
// Wakes a worker if it sleeps.
bool orri_jobs_wake(orri_jobs* jobs, uint32_t worker);
// Wakes up to `most` that sleep, the caller first. After the gate was changed: that is all who are awake need.
void orri_jobs_wake_some(orri_jobs* jobs, uint32_t most);
// Comes in if the gate is open; *seen is the gate before.
bool orri_jobs_enter(orri_jobs* jobs, uint64_t* seen);
// Goes out; with `done` (the last of the graph) closing the gate.
void orri_jobs_leave(orri_jobs* jobs, bool done);

// ---- watchdog.c --------------------------------------------------------------------------------------------------------

// Names calls that are stuck; `number`: of who looks, who may be in or not, or none's. So long is between two looks.
void orri_jobs_look(orri_jobs* jobs, uint32_t number);
uint64_t orri_jobs_look_ns(const orri_jobs* jobs);
// A thread that only watches; false if it cannot be had.
bool orri_jobs_watcher_begin(orri_jobs* jobs);
void orri_jobs_watcher_end(orri_jobs* jobs);

// ---- graph.c --------------------------------------------------------------------------------------------------------

#define ORRI_GRAPH_NONE UINT32_MAX

// Does what can be done of crew->graph, by a helper that is in. True: it did the last of the graph.
bool orri_graph_work(orri_jobs_worker* me);

// ---- jobs.c ---------------------------------------------------------------------------------------------------------

// Works whenever there is something, until the crew ends; `one_run`: or until there is nothing more.
void orri_jobs_serve(orri_jobs_worker* me, bool one_run);

// ---- external.c ---------------------------------------------------------------------------------------------------------

// False: there are too many such crews in this process.
bool orri_jobs_external_begin(orri_jobs* jobs);
// Waits for calls that are inside. Those that come later find nobody.
void orri_jobs_external_end(orri_jobs* jobs);
// Asks the user's threads to come.
void orri_jobs_invite(orri_jobs* jobs);

#endif
