// SPDX-License-Identifier: MIT
// Calls of help(arg) on threads of the program (orr_pool). A program may call more often than it
// promised, or after the pool of workers is destroyed. So `arg` is not the address of a pool: it is
// the number of a slot and the slot's generation. A call with an old generation is rejected. Slots
// are static and never freed, so a late call accesses no freed memory.
#include "base/float.h"
#include "jobs/jobs_detail.h"

// 1024 slots: pools that use the program's threads at the same time, in the whole process. A pool
// that gets no slot works on the calling thread alone.
#define EXTERNAL_SLOT_BITS 10

// The word of a slot:
//
//    bits 0-7    PENDING     calls that were requested or promised and have not arrived
//    bits 8-22   INSIDE      calls inside; also unrequested calls, which leave at once
//    bits 23-30  RUNS        number of runs that wanted calls, modulo 256
//    bit 31      CLOSING     the pool is being destroyed and waits for the last call to leave
//    bits 32-63  GENERATION  incremented when the slot is acquired and when it is freed
#define EXTERNAL_PENDING_MASK ((uint64_t)0xFF)
#define EXTERNAL_INSIDE       ((uint64_t)1 << 8)  // One call.
#define EXTERNAL_RUN          ((uint64_t)1 << 23) // One run.
#define EXTERNAL_RUNS_MASK    (EXTERNAL_CLOSING - EXTERNAL_RUN)
#define EXTERNAL_CLOSING      ((uint64_t)1 << 31)
#define EXTERNAL_GENERATION   ((uint64_t)1 << 32) // One generation.

// A program that never calls is reported in the log after this many runs and this much time, since
// its threads may be busy or start late.
#define EXTERNAL_MISSING_RUNS 64u
#define EXTERNAL_MISSING_NS   UINT64_C(1000000000)

struct orri_external_slot {
    _Alignas(ORRI_JOBS_LINE) _Atomic uint64_t word;
    // orri_jobs_external_end() sleeps on it; incremented by the last call that leaves.
    _Atomic uint32_t wake_word;
    _Atomic uint32_t in_use; // 1: a pool owns the slot.
    orri_jobs* jobs;         // The owner. Read only by calls that are INSIDE.
};

static orri_external_slot external_slots[1u << EXTERNAL_SLOT_BITS];

// ---- fields of the word and of the argument -----------------------------------------------------

// The argument of help(). Never NULL, because a program may treat NULL as "no argument": the
// generation is at least 1.
static void* external_arg(const orri_external_slot* slot, uint64_t word)
{
    uintptr_t generation = (uintptr_t)(word / EXTERNAL_GENERATION);
    return (void*)(generation << EXTERNAL_SLOT_BITS | (uintptr_t)(slot - external_slots));
}

static orri_external_slot* external_slot_of(const void* arg)
{
    return &external_slots[(uintptr_t)arg & (((uintptr_t)1 << EXTERNAL_SLOT_BITS) - 1)];
}

static uint32_t external_pending(uint64_t word)
{
    return (uint32_t)(word & EXTERNAL_PENDING_MASK);
}

static uint32_t external_inside(uint64_t word)
{
    return (uint32_t)((word & (EXTERNAL_RUN - 1)) / EXTERNAL_INSIDE);
}

// The word after one more run.
static uint64_t external_run_count(uint64_t word)
{
    return (word & ~EXTERNAL_RUNS_MASK) | ((word + EXTERNAL_RUN) & EXTERNAL_RUNS_MASK);
}

// Takes a free worker number. 0, the number of the calling thread: none is free.
static uint32_t external_number_acquire(orri_jobs* jobs)
{
    uint64_t free = orri_jobs_load(jobs, &jobs->free_numbers);
    while (free != 0) {
        uint32_t number = (uint32_t)__builtin_ctzll(free);
        if (orri_jobs_compare_swap(jobs, &jobs->free_numbers, &free, free & (free - 1))) {
            return number;
        }
    }
    return 0;
}

// ---- a call -------------------------------------------------------------------------------------

// False: the pool is destroyed. *requested: the call is one of those that were requested; *seen
// receives the word. There is no sched point, because the platform is known only through the pool.
static bool external_enter(orri_external_slot* slot, const void* arg, bool* requested,
                           uint64_t* seen)
{
    uint64_t word = atomic_load(&slot->word);
    do {
        if (external_arg(slot, word) != arg) {
            return false;
        }
        *requested = external_pending(word) > 0;
    } while (
        !atomic_compare_exchange_weak(&slot->word, &word, word + EXTERNAL_INSIDE - *requested));
    *seen = word;
    return true;
}

// False: a run has begun since the word was *seen, and counts on this call, which is INSIDE; *seen
// receives the new word. Without this check a call that leaves while the next run begins would be
// missing in that run.
//
// When the count is decremented the pool may be destroyed by another thread, so only the slot and
// the platform are used after that.
static bool external_leave(orri_external_slot* slot, uint64_t* seen)
{
    const orr_platform* platform = slot->jobs->platform;
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &slot->word);
    uint64_t word = atomic_load(&slot->word);
    do {
        if (((word ^ *seen) & EXTERNAL_RUNS_MASK) != 0) {
            *seen = word;
            return false;
        }
    } while (!atomic_compare_exchange_weak(&slot->word, &word, word - EXTERNAL_INSIDE));
    if ((word & EXTERNAL_CLOSING) != 0 && external_inside(word) == 1) {
        atomic_fetch_add(&slot->wake_word, 1);
        ORRI_SCHED_POINT(platform, ORR_SCHED_WAKE, &slot->wake_word);
        platform->thread_wake(platform->user, &slot->wake_word, 1);
    }
    return true;
}

static void external_work(orri_jobs* jobs)
{
    if (orri_jobs_peek(&jobs->call_seen) == 0) {
        orri_jobs_put(&jobs->call_seen, 1);
    }
    uint32_t number = external_number_acquire(jobs);
    if (number != 0) {
        orri_float_mode mode = orri_float_mode_set();
        orri_jobs_serve(&jobs->workers[number], true);
        orri_float_mode_restore(mode);
        orri_jobs_bits_set(jobs, &jobs->free_numbers, orri_jobs_bit(number));
    }
}

static void external_reject(orri_jobs* jobs)
{
    if (atomic_exchange(&jobs->excess_logged, 1) == 0) {
        orri_log(
            jobs->env, ORR_LOG_ID_EXTERNAL_CALL_UNEXPECTED,
            "orr_pool.start: help() was called more often than requested or promised by start(); "
            "the extra calls return at once. Call help(arg) as often as start() returns");
    }
}

static void external_call(void* arg)
{
    orri_external_slot* slot = external_slot_of(arg);
    bool requested;
    uint64_t seen;
    if (!external_enter(slot, arg, &requested, &seen)) {
        return;
    }
    if (!requested) {
        external_reject(slot->jobs);
    }
    do {
        if (requested) {
            external_work(slot->jobs);
        }
    } while (!external_leave(slot, &seen));
}

// ---- requesting calls ---------------------------------------------------------------------------

// Only logs: a run completes without these calls and has the same results.
static void external_check_missing(orri_jobs* jobs)
{
    if (orri_jobs_peek(&jobs->call_seen) != 0) {
        jobs->awaits_first_call = false;
        return;
    }
    uint64_t now_ns = jobs->platform->clock_ns(jobs->platform->user);
    jobs->request_first_ns = jobs->request_runs == 0 ? now_ns : jobs->request_first_ns;
    if (++jobs->request_runs >= EXTERNAL_MISSING_RUNS &&
        now_ns - jobs->request_first_ns >= EXTERNAL_MISSING_NS) {
        jobs->awaits_first_call = false;
        orri_log(jobs->env, ORR_LOG_ID_EXTERNAL_WORKERS_MISSING,
                 "orr_pool.start was called in %u runs, promised %u calls of help() and made none: "
                 "the calling thread works alone. Have start() call help(arg) on other threads and "
                 "return the number of calls, or leave orr_world_desc.pool empty: the world then "
                 "creates its own threads",
                 (unsigned)jobs->request_runs,
                 (unsigned)external_pending(atomic_load(&jobs->slot->word)));
    }
}

// Takes back requests for `count` calls that start() did not promise. Calls that arrived
// nevertheless are no longer pending and cannot be taken back.
static void external_cancel(const orri_jobs* jobs, uint32_t count)
{
    ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_STORE, &jobs->slot->word);
    uint64_t word = atomic_load(&jobs->slot->word), less;
    do {
        less = external_pending(word) < count ? external_pending(word) : count;
    } while (!atomic_compare_exchange_weak(&jobs->slot->word, &word, word - less));
}

// A late call that was requested by an earlier run is as good as a new one, and so is a call that
// is inside: it looks for work again before it leaves, since this run is counted (external_leave).
// So requested calls, pending and inside together, never exceed the worker numbers besides the
// caller's.
void orri_jobs_external_request(orri_jobs* jobs)
{
    orri_external_slot* slot = jobs->slot;
    if (ORR_UNLIKELY(jobs->awaits_first_call)) {
        external_check_missing(jobs);
    }
    ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_STORE, &slot->word);
    uint64_t word = atomic_load(&slot->word);
    uint32_t count, most = jobs->worker_count - 1;
    do {
        uint32_t outstanding = external_pending(word) + external_inside(word);
        count = outstanding < most ? most - outstanding : 0;
    } while (!atomic_compare_exchange_weak(&slot->word, &word, external_run_count(word) + count));
    if (count == 0) {
        return;
    }
    uint32_t promised =
        jobs->external.start(jobs->external.user, count, external_call, external_arg(slot, word));
    if (promised < count) {
        external_cancel(jobs, count - promised);
    }
}

// ---- slots --------------------------------------------------------------------------------------

bool orri_jobs_external_begin(orri_jobs* jobs)
{
    for (uint32_t i = 0; i < (1u << EXTERNAL_SLOT_BITS); i++) {
        orri_external_slot* slot = &external_slots[i];
        if (atomic_load(&slot->in_use) == 0 && atomic_exchange(&slot->in_use, 1) == 0) {
            slot->jobs = jobs;
            atomic_fetch_add(&slot->word, EXTERNAL_GENERATION);
            jobs->slot = slot;
            jobs->awaits_first_call = true;
            return true;
        }
    }
    return false;
}

// Calls inside return soon, because no run is OPEN. Calls that have not arrived are not waited for:
// the program's pool may be shared with a thread that waits for this one, or may have dropped the
// calls.
void orri_jobs_external_end(orri_jobs* jobs)
{
    orri_external_slot* slot = jobs->slot;
    const orr_platform* platform = jobs->platform;
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &slot->word);
    atomic_fetch_or(&slot->word, EXTERNAL_CLOSING);
    for (;;) {
        ORRI_SCHED_POINT(platform, ORR_SCHED_LOAD, &slot->wake_word);
        uint32_t wake_word = atomic_load(&slot->wake_word);
        ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &slot->word);
        uint64_t word = atomic_load(&slot->word);
        if (external_inside(word) > 0) {
            ORRI_SCHED_POINT(platform, ORR_SCHED_WAIT, &slot->wake_word);
            platform->thread_wait(platform->user, &slot->wake_word, wake_word, UINT64_MAX);
        } else if (atomic_compare_exchange_strong(&slot->word, &word,
                                                  (word / EXTERNAL_GENERATION + 1) *
                                                      EXTERNAL_GENERATION)) {
            break; // From here on calls with the old generation are rejected.
        }
    }
    slot->jobs = NULL;
    atomic_store(&slot->in_use, 0);
}

#undef EXTERNAL_SLOT_BITS
#undef EXTERNAL_PENDING_MASK
#undef EXTERNAL_INSIDE
#undef EXTERNAL_RUN
#undef EXTERNAL_RUNS_MASK
#undef EXTERNAL_CLOSING
#undef EXTERNAL_GENERATION
#undef EXTERNAL_MISSING_RUNS
#undef EXTERNAL_MISSING_NS
