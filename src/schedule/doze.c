// SPDX-License-Identifier: MIT
// Waiting and waking. A worker that finds nothing looks at the gate for a while, then goes to sleep on a word of its own. No
// wake-up is lost: a sleeper first says that it sleeps and then looks at the gate once more; whoever has news first changes
// the gate and then looks who sleeps. In whatever order the four steps come, one of the two sees the other.
//
// Who waits also watches (watch.c): it alone has time to read the clock.
#include "base/util.h"
#include "schedule/crew_inner.h"

enum {
    DOZE_YIELDS =
        4 // After the looks, before sleeping: with more workers than cores, whom one waits for may be ready to run.
};

static void doze_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// ---- waking ---------------------------------------------------------------------------------------------------------

// The bit is taken by one waker only, so that who is already being woken costs no second call to the system.
bool orri_crew_wake(orri_crew* crew, uint32_t worker)
{
    uint64_t bit = orri_crew_bit(worker);
    if ((orri_crew_off(crew, &crew->asleep, bit) & bit) == 0) {
        return false;
    }
    _Atomic uint32_t* word = &crew->members[worker].doze;
    ORRI_SCHED_POINT(crew->platform, ORR_SCHED_STORE, word);
    atomic_fetch_add(word, 1);
    ORRI_SCHED_POINT(crew->platform, ORR_SCHED_WAKE, word);
    crew->platform->thread_wake(crew->platform->user, word, 1);
    return true;
}

void orri_crew_wake_some(orri_crew* crew, uint32_t most)
{
    uint64_t asleep = orri_crew_load(crew, &crew->asleep);
    while (asleep != 0 && most > 0) {
        most -= orri_crew_wake(crew, (uint32_t)__builtin_ctzll(asleep));
        asleep &= asleep - 1;
    }
}

// ---- the gate -------------------------------------------------------------------------------------------------------

// A closed gate lets nobody in: the caller that closed it and saw nobody inside is right for good.
bool orri_crew_enter(orri_crew* crew, uint64_t* seen)
{
    uint64_t gate = orri_crew_load(crew, &crew->gate);
    bool in = false;
    while (!in && (gate & ORRI_GATE_OPEN) != 0) {
        in = orri_crew_swap(crew, &crew->gate, &gate, gate + ORRI_GATE_IN);
    }
    *seen = gate;
    return in;
}

void orri_crew_leave(orri_crew* crew, bool done)
{
    uint64_t more = (done ? ORRI_GATE_BELL - ORRI_GATE_OPEN : 0) - ORRI_GATE_IN;
    uint64_t gate = orri_crew_add(crew, &crew->gate, more) + more;
    // The caller waits for the last to leave in any case.
    if ((gate & (ORRI_GATE_OPEN | ORRI_GATE_ANY_IN)) == 0 &&
        (orri_crew_load(crew, &crew->asleep) & 1) != 0) {
        orri_crew_wake(crew, 0);
    }
}

// ---- waiting --------------------------------------------------------------------------------------------------------

static void doze_sleep(orri_crew_worker* me, uint64_t seen, uint64_t mask)
{
    orri_crew* crew = me->crew;
    uint64_t bit = orri_crew_bit(me->number);
    ORRI_SCHED_POINT(crew->platform, ORR_SCHED_LOAD, &me->doze);
    uint32_t doze = atomic_load(&me->doze);
    orri_crew_on(crew, &crew->asleep, bit);
    if (((orri_crew_load(crew, &crew->gate) ^ seen) & mask) == 0) {
        uint64_t timeout_ns = orri_crew_look_ns(crew);
        orri_crew_count(&me->sleeps, 1);
        if (me->wait_ns != 0 && me->sleep_ns == 0) {
            me->sleep_ns = crew->platform->clock_ns(crew->platform->user);
        }
        ORRI_SCHED_POINT(crew->platform, ORR_SCHED_WAIT, &me->doze);
        crew->platform->thread_wait(crew->platform->user, &me->doze, doze, timeout_ns);
    }
    // Gone already if somebody woke us.
    orri_crew_off(crew, &crew->asleep, bit);
}

// False: nothing changed for so many looks.
static bool doze_look(orri_crew* crew, uint64_t* gate, uint64_t mask)
{
    uint64_t seen = *gate;
    for (uint32_t i = 0; i < crew->spins + DOZE_YIELDS; i++) {
        ORRI_SCHED_POINT(crew->platform, ORR_SCHED_SPIN, &crew->gate);
        *gate = atomic_load(&crew->gate);
        if (((*gate ^ seen) & mask) != 0) {
            return true;
        }
        if (i < crew->spins) {
            doze_pause();
        } else {
            crew->platform->thread_yield(crew->platform->user);
        }
    }
    return false;
}

void orri_crew_waited(orri_crew_worker* me)
{
    const orri_crew* crew = me->crew;
    if (ORR_LIKELY(me->wait_ns == 0)) {
        return;
    }
    if (orri_crew_peek(&crew->traced) != 0 && crew->graph->waited != NULL) {
        crew->graph->waited(crew->graph->context, me->number, me->wait_ns, me->sleep_ns,
                            crew->platform->clock_ns(crew->platform->user));
    }
    me->wait_ns = me->sleep_ns = 0;
}

uint64_t orri_crew_wait(orri_crew_worker* me, uint64_t seen, uint64_t mask)
{
    uint64_t gate = seen;
    if (ORR_UNLIKELY(orri_crew_peek(&me->crew->traced) != 0) && me->wait_ns == 0) {
        me->wait_ns = me->crew->platform->clock_ns(me->crew->platform->user);
    }
    if (doze_look(me->crew, &gate, mask)) {
        return gate;
    }
    for (;;) {
        doze_sleep(me, seen, mask);
        gate = orri_crew_load(me->crew, &me->crew->gate);
        if (((gate ^ seen) & mask) != 0) {
            return gate;
        }
        if (me->crew->stuck_ns != 0) {
            orri_crew_look(me->crew, me->number);
        }
    }
}
