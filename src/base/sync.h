// SPDX-License-Identifier: MIT
// A mutex over the platform's wait and wake. All-zero is unlocked. Sched points at every step, so that a
// controlled scheduler can drive it. Not recursive.
#ifndef ORRI_BASE_SYNC_H
#define ORRI_BASE_SYNC_H

#include <orrery/platform.h>
#include <stdatomic.h>

typedef struct orri_mutex {
    _Atomic uint32_t word; // 0 free, 1 held, 2 held and somebody may sleep.
} orri_mutex;

void orri_mutex_lock(const orr_platform* platform, orri_mutex* mutex);
bool orri_mutex_try(const orr_platform* platform, orri_mutex* mutex);
void orri_mutex_unlock(const orr_platform* platform, orri_mutex* mutex);

#define ORRI_SCHED_POINT(platform, kind, word)                   \
    (ORR_UNLIKELY((platform)->sched_point != NULL)               \
         ? (platform)->sched_point((platform)->user, kind, word) \
         : (void)0)

#endif
