// SPDX-License-Identifier: MIT
// The schedule's part of a remembered tick: states, exports and life cycle of systems; ticks and
// due times of pipelines. Restoring goes in three steps:
//
//   1. orri_schedule_restore_prepare: checks everything that may be refused
//   2. orri_realtime_unpublish:       before the store is restored
//   3. orri_schedule_restore:         cannot fail
#ifndef ORRI_HISTORY_SCHEDULE_PAST_H
#define ORRI_HISTORY_SCHEDULE_PAST_H

#include "schedule/schedule.h"

typedef struct orri_schedule_past orri_schedule_past;

// Copies the schedule's state, between ticks. A world without systems has one, too. NULL when
// refused (reported).
orri_schedule_past* orri_schedule_remember(orr_world* world);
void orri_schedule_forget(orr_world* world, orri_schedule_past* past);
// Bytes of memory that it uses.
uint64_t orri_schedule_past_bytes(const orri_schedule_past* past);
// True if nothing of the schedule changed since: no system was added, removed, enabled or disabled,
// no call was posted, no time passed.
bool orri_schedule_same(const orr_world* world, const orri_schedule_past* past);
// Checks whether it can be restored. ORR_ERR_CONFLICT (reported) if systems or pipelines were added
// or removed since.
orr_result orri_schedule_restore_prepare(orr_world* world, const orri_schedule_past* past);
// Restores the schedule's state, after the store. Cannot fail.
void orri_schedule_restore(orr_world* world, const orri_schedule_past* past);

#endif
