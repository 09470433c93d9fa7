// SPDX-License-Identifier: MIT
// Waiting and waking. A worker that finds no work polls the status for a while, then sleeps on its
// own word. No wake-up is lost:
//
// 1. A worker that goes to sleep sets its bit in `asleep`, then reads the status again.
// 2. A worker that publishes work changes the status, then reads `asleep`.
//
// In whatever order these four steps happen, at least one of the two workers sees the other's
// write. A waiting worker also runs the watchdog (watchdog.c), because it has time to read the
// clock.
#include "base/spin.h"
#include "base/util.h"
#include "jobs/jobs_detail.h"

// Yields after polling and before sleeping: with more workers than cores, the worker that is waited
// for may be ready to run.
enum {
    SLEEP_YIELDS = 4
};

// ---- waking -------------------------------------------------------------------------------------

// Only one waker clears the bit, so a worker that is already being woken costs no second system
// call.
bool orri_jobs_wake(orri_jobs* jobs, uint32_t worker)
{
    uint64_t bit = orri_jobs_bit(worker);
    if ((orri_jobs_bits_clear(jobs, &jobs->asleep, bit) & bit) == 0) {
        return false;
    }
    _Atomic uint32_t* word = &jobs->workers[worker].wake_word;
    ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_STORE, word);
    atomic_fetch_add(word, 1);
    ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_WAKE, word);
    jobs->platform->thread_wake(jobs->platform->user, word, 1);
    return true;
}

void orri_jobs_wake_some(orri_jobs* jobs, uint32_t most)
{
    uint64_t asleep = orri_jobs_load(jobs, &jobs->asleep);
    while (asleep != 0 && most > 0) {
        most -= orri_jobs_wake(jobs, (uint32_t)__builtin_ctzll(asleep));
        asleep &= asleep - 1;
    }
}

// ---- entering and leaving -----------------------------------------------------------------------

// When OPEN is clear, no helper enters. So a caller that cleared OPEN and then sees no helper
// INSIDE knows that none will enter later.
bool orri_jobs_enter(orri_jobs* jobs, uint64_t* seen)
{
    uint64_t status = orri_jobs_load(jobs, &jobs->status);
    bool in = false;
    while (!in && (status & ORRI_STATUS_OPEN) != 0) {
        in = orri_jobs_compare_swap(jobs, &jobs->status, &status, status + ORRI_STATUS_INSIDE);
    }
    *seen = status;
    return in;
}

void orri_jobs_leave(orri_jobs* jobs, bool done)
{
    uint64_t change = (done ? ORRI_STATUS_SIGNAL - ORRI_STATUS_OPEN : 0) - ORRI_STATUS_INSIDE;
    uint64_t status = orri_jobs_add(jobs, &jobs->status, change) + change;
    // The caller waits until the last helper has left, so the last helper wakes it.
    if ((status & (ORRI_STATUS_OPEN | ORRI_STATUS_INSIDE_MASK)) == 0 &&
        (orri_jobs_load(jobs, &jobs->asleep) & 1) != 0) {
        orri_jobs_wake(jobs, 0);
    }
}

// ---- waiting ------------------------------------------------------------------------------------

static void sleep_now(orri_jobs_worker* me, uint64_t seen, uint64_t mask)
{
    orri_jobs* jobs = me->jobs;
    uint64_t bit = orri_jobs_bit(me->number);
    ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_LOAD, &me->wake_word);
    uint32_t wake_word = atomic_load(&me->wake_word);
    orri_jobs_bits_set(jobs, &jobs->asleep, bit);
    if (((orri_jobs_load(jobs, &jobs->status) ^ seen) & mask) == 0) {
        uint64_t timeout_ns = orri_jobs_watchdog_period_ns(jobs);
        orri_jobs_count(&me->sleeps, 1);
        if (me->wait_ns != 0 && me->sleep_ns == 0) {
            me->sleep_ns = jobs->platform->clock_ns(jobs->platform->user);
        }
        ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_WAIT, &me->wake_word);
        jobs->platform->thread_wait(jobs->platform->user, &me->wake_word, wake_word, timeout_ns);
    }
    // The waker has cleared the bit already, if there was one.
    orri_jobs_bits_clear(jobs, &jobs->asleep, bit);
}

// Polls and yields. False: the status did not change.
static bool sleep_spin(orri_jobs* jobs, uint64_t* status, uint64_t mask)
{
    uint64_t seen = *status;
    for (uint32_t i = 0; i < jobs->spins + SLEEP_YIELDS; i++) {
        ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_SPIN, &jobs->status);
        *status = atomic_load(&jobs->status);
        if (((*status ^ seen) & mask) != 0) {
            return true;
        }
        if (i < jobs->spins) {
            orri_spin_pause();
        } else {
            jobs->platform->thread_yield(jobs->platform->user);
        }
    }
    return false;
}

void orri_jobs_wait_report(orri_jobs_worker* me)
{
    const orri_jobs* jobs = me->jobs;
    if (ORR_LIKELY(me->wait_ns == 0)) {
        return;
    }
    if (orri_jobs_peek(&jobs->traced) != 0 && jobs->graph->waited != NULL) {
        jobs->graph->waited(jobs->graph->context, me->number, me->wait_ns, me->sleep_ns,
                            jobs->platform->clock_ns(jobs->platform->user));
    }
    me->wait_ns = me->sleep_ns = 0;
}

uint64_t orri_jobs_wait(orri_jobs_worker* me, uint64_t seen, uint64_t mask)
{
    uint64_t status = seen;
    if (ORR_UNLIKELY(orri_jobs_peek(&me->jobs->traced) != 0) && me->wait_ns == 0) {
        me->wait_ns = me->jobs->platform->clock_ns(me->jobs->platform->user);
    }
    if (sleep_spin(me->jobs, &status, mask)) {
        return status;
    }
    for (;;) {
        sleep_now(me, seen, mask);
        status = orri_jobs_load(me->jobs, &me->jobs->status);
        if (((status ^ seen) & mask) != 0) {
            return status;
        }
        if (me->jobs->stuck_ns != 0) {
            orri_jobs_watchdog_check(me->jobs, me->number);
        }
    }
}
