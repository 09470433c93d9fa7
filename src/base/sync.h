// SPDX-License-Identifier: MIT
// A mutex over the platform's wait and wake. All-zero is unlocked. Every step has a sched point, so
// that a controlled scheduler can test all orders. Not recursive, not fair.
#ifndef ORRI_BASE_SYNC_H
#define ORRI_BASE_SYNC_H

#include <orrery/platform.h>
#include <stdatomic.h>

typedef struct orri_mutex {
    _Atomic uint32_t word; // 0 free, 1 held, 2 held and a thread may sleep.
} orri_mutex;

void orri_mutex_lock(const orr_platform* platform, orri_mutex* mutex);
// Takes the mutex if it is free. Does not wait.
bool orri_mutex_try(const orr_platform* platform, orri_mutex* mutex);
void orri_mutex_unlock(const orr_platform* platform, orri_mutex* mutex);

// Tells a controlled scheduler (tests) that this thread is about to access a shared word. Costs one
// comparison when there is none.
#define ORRI_SCHED_POINT(platform, kind, word)                   \
    (ORR_UNLIKELY((platform)->sched_point != NULL)               \
         ? (platform)->sched_point((platform)->user, kind, word) \
         : (void)0)

#endif
