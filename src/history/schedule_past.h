// SPDX-License-Identifier: MIT
// What the schedule is of a world's state: states, exports and lives of systems, ticks and due times of pipelines. Held for a snapshot, and gone back to.
#ifndef ORRI_HISTORY_SCHEDULE_PAST_H
#define ORRI_HISTORY_SCHEDULE_PAST_H

#include "schedule/schedule.h"

typedef struct orri_schedule_past orri_schedule_past;

// Between ticks. NULL when refused (reported). A world without systems has one, too.
orri_schedule_past* orri_schedule_remember(orr_world* world);
void orri_schedule_forget(orr_world* world, orri_schedule_past* past);
uint64_t orri_schedule_past_bytes(const orri_schedule_past* past);
// True when nothing that is the schedule's was done since: no system came, went or was switched, no call waits, no time passed.
bool orri_schedule_same(const orr_world* world, const orri_schedule_past* past);
// All that may be refused: ORR_ERR_CONFLICT too, if the systems are others than those that were.
orr_result orri_schedule_restore_prepare(orr_world* world, const orri_schedule_past* past);
// Before the store goes back, and when a run ends. In real time what is published goes; after a meeting it is made anew, and if
// that is refused the run ends. Nothing to do in lockstep.
void orri_schedule_leave(orr_world* world);
void orri_schedule_restore(orr_world* world, const orri_schedule_past* past);
void orri_schedule_restore_cancel(orr_world* world);

#endif
