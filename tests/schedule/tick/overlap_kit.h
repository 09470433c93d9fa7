// SPDX-License-Identifier: MIT
// Systems that rendezvous: two that run at the same time can wait for each other, two that do not
// cannot.
#ifndef TEST_MEET_KIT_H
#define TEST_MEET_KIT_H

#include "schedule/schedule.h"
#include <stdatomic.h>

#define MEET_PATIENCE_NS 20000000000u // The machine may be busy; who does not meet fails.

// For two systems. The count continues, so that every tick has a rendezvous of its own.
typedef struct meeting {
    _Atomic uint32_t come, missed;
} meeting;

ORR_MAYBE_UNUSED static void meet(meeting* m)
{
    const orr_platform* platform = orr_platform_default();
    uint32_t together = (atomic_fetch_add(&m->come, 1) / 2 + 1) * 2;
    uint64_t until = platform->clock_ns(NULL) + MEET_PATIENCE_NS;
    while (atomic_load(&m->come) < together) {
        if (platform->clock_ns(NULL) > until) {
            atomic_fetch_add(&m->missed, 1);
            return;
        }
        platform->thread_yield(NULL);
    }
}

// How many systems are inside, and whether there were ever two.
typedef struct room {
    _Atomic uint32_t inside, crowded, visits;
} room;

ORR_MAYBE_UNUSED static void visit(room* r)
{
    atomic_fetch_add(&r->crowded, atomic_fetch_add(&r->inside, 1) != 0);
    for (uint32_t i = 0; i < 20; i++) {
        orr_platform_default()->thread_yield(NULL);
    }
    atomic_fetch_sub(&r->inside, 1);
    atomic_fetch_add(&r->visits, 1);
}

#endif
