// SPDX-License-Identifier: MIT
// A mutex of one word: 0 free, 1 held, 2 held and a thread may sleep. Unlocking from state 1 makes
// no system call. A thread that slept takes the mutex in state 2, because it cannot know whether
// other threads sleep too. The cost is at most one unnecessary wake-up; no sleeper is forgotten.
#include "base/sync.h"
#include "base/spin.h"
#include <orrery/base.h>

// Tries before sleeping. Critical sections take a few dozen instructions; sleeping costs thousands.
enum {
    SYNC_SPINS = 64
};

void orri_spin_init(orri_spin* spin, const orr_platform* platform)
{
    uint32_t most = platform->thread_cores(platform->user) > 1 ? ORRI_SPIN_MOST : 0;
    *spin = (orri_spin){.most = most, .polls = most};
}

bool orri_mutex_try(const orr_platform* platform, orri_mutex* mutex)
{
    uint32_t expected = 0;
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &mutex->word);
    return atomic_compare_exchange_strong_explicit(&mutex->word, &expected, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

static bool sync_spin(const orr_platform* platform, orri_mutex* mutex)
{
    for (uint32_t i = 0; i < SYNC_SPINS; i++) {
        ORRI_SCHED_POINT(platform, ORR_SCHED_SPIN, &mutex->word);
        if (atomic_load_explicit(&mutex->word, memory_order_relaxed) == 0 &&
            orri_mutex_try(platform, mutex)) {
            return true;
        }
        orri_spin_pause();
    }
    return false;
}

void orri_mutex_lock(const orr_platform* platform, orri_mutex* mutex)
{
    if (orri_mutex_try(platform, mutex) || sync_spin(platform, mutex)) {
        return;
    }
    for (;;) {
        ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &mutex->word);
        if (atomic_exchange_explicit(&mutex->word, 2, memory_order_acquire) == 0) {
            return;
        }
        ORRI_SCHED_POINT(platform, ORR_SCHED_WAIT, &mutex->word);
        platform->thread_wait(platform->user, &mutex->word, 2, UINT64_MAX);
    }
}

void orri_mutex_unlock(const orr_platform* platform, orri_mutex* mutex)
{
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &mutex->word);
    uint32_t before = atomic_exchange_explicit(&mutex->word, 0, memory_order_release);
    ORR_ASSERT(before != 0);
    if (before == 2) {
        ORRI_SCHED_POINT(platform, ORR_SCHED_WAKE, &mutex->word);
        platform->thread_wake(platform->user, &mutex->word, 1);
    }
}
