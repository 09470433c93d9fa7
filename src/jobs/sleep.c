// SPDX-License-Identifier: MIT
// Waiting and waking. A worker that finds nothing looks at the gate for a while, then goes to sleep on a word of its own. No
// wake-up is lost: a sleeper first says that it sleeps and then looks at the gate once more; whoever has news first changes
// the gate and then looks who sleeps. In whatever order the four steps come, one of the two sees the other.
//
// Who waits also watches (watchdog.c): it alone has time to read the clock.
#include "base/util.h"
#include "jobs/jobs_detail.h"

enum {
    SLEEP_YIELDS =
        4 // After the looks, before sleeping: with more workers than cores, whom one waits for may be ready to run.
};

static void sleep_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// ---- waking ---------------------------------------------------------------------------------------------------------

// The bit is taken by one waker only, so that who is already being woken costs no second call to the system.
bool orri_jobs_wake(orri_jobs* jobs, uint32_t worker)
{
    uint64_t bit = orri_jobs_bit(worker);
    if ((orri_jobs_off(jobs, &jobs->asleep, bit) & bit) == 0) {
        return false;
    }
    _Atomic uint32_t* word = &jobs->members[worker].doze;
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

// ---- the gate -------------------------------------------------------------------------------------------------------

// A closed gate lets nobody in: the caller that closed it and saw nobody inside is right for good.
bool orri_jobs_enter(orri_jobs* jobs, uint64_t* seen)
{
    uint64_t gate = orri_jobs_load(jobs, &jobs->gate);
    bool in = false;
    while (!in && (gate & ORRI_GATE_OPEN) != 0) {
        in = orri_jobs_swap(jobs, &jobs->gate, &gate, gate + ORRI_GATE_IN);
    }
    *seen = gate;
    return in;
}

void orri_jobs_leave(orri_jobs* jobs, bool done)
{
    uint64_t more = (done ? ORRI_GATE_BELL - ORRI_GATE_OPEN : 0) - ORRI_GATE_IN;
    uint64_t gate = orri_jobs_add(jobs, &jobs->gate, more) + more;
    // The caller waits for the last to leave in any case.
    if ((gate & (ORRI_GATE_OPEN | ORRI_GATE_ANY_IN)) == 0 &&
        (orri_jobs_load(jobs, &jobs->asleep) & 1) != 0) {
        orri_jobs_wake(jobs, 0);
    }
}

// ---- waiting --------------------------------------------------------------------------------------------------------

static void sleep_now(orri_jobs_worker* me, uint64_t seen, uint64_t mask)
{
    orri_jobs* jobs = me->jobs;
    uint64_t bit = orri_jobs_bit(me->number);
    ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_LOAD, &me->doze);
    uint32_t doze = atomic_load(&me->doze);
    orri_jobs_on(jobs, &jobs->asleep, bit);
    if (((orri_jobs_load(jobs, &jobs->gate) ^ seen) & mask) == 0) {
        uint64_t timeout_ns = orri_jobs_look_ns(jobs);
        orri_jobs_count(&me->sleeps, 1);
        if (me->wait_ns != 0 && me->sleep_ns == 0) {
            me->sleep_ns = jobs->platform->clock_ns(jobs->platform->user);
        }
        ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_WAIT, &me->doze);
        jobs->platform->thread_wait(jobs->platform->user, &me->doze, doze, timeout_ns);
    }
    // Gone already if somebody woke us.
    orri_jobs_off(jobs, &jobs->asleep, bit);
}

// False: nothing changed for so many looks.
static bool sleep_look(orri_jobs* jobs, uint64_t* gate, uint64_t mask)
{
    uint64_t seen = *gate;
    for (uint32_t i = 0; i < jobs->spins + SLEEP_YIELDS; i++) {
        ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_SPIN, &jobs->gate);
        *gate = atomic_load(&jobs->gate);
        if (((*gate ^ seen) & mask) != 0) {
            return true;
        }
        if (i < jobs->spins) {
            sleep_pause();
        } else {
            jobs->platform->thread_yield(jobs->platform->user);
        }
    }
    return false;
}

void orri_jobs_waited(orri_jobs_worker* me)
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
    uint64_t gate = seen;
    if (ORR_UNLIKELY(orri_jobs_peek(&me->jobs->traced) != 0) && me->wait_ns == 0) {
        me->wait_ns = me->jobs->platform->clock_ns(me->jobs->platform->user);
    }
    if (sleep_look(me->jobs, &gate, mask)) {
        return gate;
    }
    for (;;) {
        sleep_now(me, seen, mask);
        gate = orri_jobs_load(me->jobs, &me->jobs->gate);
        if (((gate ^ seen) & mask) != 0) {
            return gate;
        }
        if (me->jobs->stuck_ns != 0) {
            orri_jobs_look(me->jobs, me->number);
        }
    }
}
