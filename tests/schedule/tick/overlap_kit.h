// SPDX-License-Identifier: MIT
// Shows whether two systems overlap. Two systems that run at the same time can wait for each other
// in a rendezvous. Two systems that exclude each other never share a room.
#ifndef TEST_OVERLAP_KIT_H
#define TEST_OVERLAP_KIT_H

#include "schedule/schedule.h"
#include <stdatomic.h>

// A generous limit for a busy machine. A rendezvous that takes longer fails.
#define RENDEZVOUS_TIMEOUT_NS 20000000000u

// A rendezvous of two threads. The counter is never reset, so each tick has its own rendezvous.
typedef struct rendezvous {
    _Atomic uint32_t arrived, timeouts;
} rendezvous;

ORR_MAYBE_UNUSED static void rendezvous_wait(rendezvous* m)
{
    const orr_platform* platform = orr_platform_default();
    uint32_t together = (atomic_fetch_add(&m->arrived, 1) / 2 + 1) * 2;
    uint64_t until = platform->clock_ns(NULL) + RENDEZVOUS_TIMEOUT_NS;
    while (atomic_load(&m->arrived) < together) {
        if (platform->clock_ns(NULL) > until) {
            atomic_fetch_add(&m->timeouts, 1);
            return;
        }
        platform->thread_yield(NULL);
    }
}

// Counts how many systems are inside, and how often a system found another one inside.
typedef struct room {
    _Atomic uint32_t inside, overlaps, visits;
} room;

ORR_MAYBE_UNUSED static void visit(room* r)
{
    atomic_fetch_add(&r->overlaps, atomic_fetch_add(&r->inside, 1) != 0);
    for (uint32_t i = 0; i < 20; i++) {
        orr_platform_default()->thread_yield(NULL);
    }
    atomic_fetch_sub(&r->inside, 1);
    atomic_fetch_add(&r->visits, 1);
}

#endif
