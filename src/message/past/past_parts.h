// SPDX-License-Identifier: MIT
// The parts of a past (past.h). Each part is recorded, prepared for restoring, and restored. NULL
// stands for an empty part.
#ifndef ORRI_MESSAGE_PAST_PAST_PARTS_H
#define ORRI_MESSAGE_PAST_PAST_PARTS_H

#include "message/deliver/baseline.h"
#include "message/event/event.h"
#include "message/transaction/transaction.h"

// ---- event_past.c: waiting events and read positions, without those of spectators ---------------

typedef struct orri_events_past orri_events_past;

// The functions of this header that return bool return false when refused (reported).
bool orri_events_remember(orr_world* world, orri_events_past** out);
void orri_events_forget(orr_world* world, orri_events_past* past);
size_t orri_events_past_bytes(const orri_events_past* past);
// Room in the queues, so that restoring cannot fail.
bool orri_events_restore_prepare(orr_world* world, const orri_events_past* past);
// Spectators lose the events they have not read.
void orri_events_restore(orr_world* world, const orri_events_past* past);

// ---- transaction_past.c: transactions that wait for another pipeline ----------------------------

// Copies blocks, in order. `whole`: also those of spectators; then `rights` of a block is not read,
// since its sender may be gone.
bool orri_posts_copy(orr_world* world, const struct orri_posts* from, bool whole,
                     struct orri_posts** out);
size_t orri_posts_bytes(const struct orri_posts* posts);
// Replaces the waiting transactions of the simulation by `posts`, and takes ownership of them.
void orri_posts_restore(orr_world* world, struct orri_posts* posts);

// ---- baseline_past.c, baseline_restore.c: where the baseline differs from the world -------------

typedef struct orri_baseline_past orri_baseline_past;

// NULL: the baseline equals the world. Looks at the version of each index page, cluster and type,
// and at the rows where something was written since the last diff.
bool orri_baseline_remember(orr_world* world, orri_baseline_past** out);
void orri_baseline_past_free(orr_world* world, orri_baseline_past* past);
size_t orri_baseline_past_bytes(const orri_baseline_past* past);
// After the store was restored and orri_diff_travel() was done: the recorded entities differ from
// the baseline again, as they did then. When refused it can be repeated.
bool orri_baseline_restore(orr_world* world, const orri_baseline_past* past);

#endif
