// SPDX-License-Identifier: MIT
// Parts of what is remembered of messages (past.h): each is taken, made ready to come back, and put back. NULL stands for nothing.
#ifndef ORRI_MESSAGE_PAST_PAST_PARTS_H
#define ORRI_MESSAGE_PAST_PAST_PARTS_H

#include "message/deliver/baseline.h"
#include "message/event/event.h"
#include "message/transaction/transaction.h"

// ---- event_past.c: events that wait, and who has read how far; nothing of spectators -----------------------------------

typedef struct orri_events_past orri_events_past;

// All of what follows: false when refused (reported).
bool orri_events_remember(orr_world* world, orri_events_past** out);
void orri_events_forget(orr_world* world, orri_events_past* past);
size_t orri_events_past_bytes(const orri_events_past* past);
bool orri_events_restore_prepare(orr_world* world, const orri_events_past* past);
// Spectators lose what they have not read.
void orri_events_restore(orr_world* world, const orri_events_past* past);

// ---- transaction_past.c: transactions that wait for another pipeline ----------------------------------------------------------

// A copy of these, in order; `whole`: of those of spectators, too. (Who posted a copy may be gone, and is not looked at then.)
bool orri_posts_copy(orr_world* world, const struct orri_posts* from, bool whole,
                     struct orri_posts** out);
size_t orri_posts_bytes(const struct orri_posts* posts);
// These wait instead of those that do.
void orri_posts_restore(orr_world* world, struct orri_posts* posts);

// ---- baseline_past.c, baseline_restore.c: what readers were not told yet ------------------------------------------------------------------------

typedef struct orri_baseline_past orri_baseline_past;

// NULL: they were told everything. Costs a look at each page, cluster and type, and at rows where something was written since.
bool orri_baseline_remember(orr_world* world, orri_baseline_past** out);
void orri_baseline_past_free(orr_world* world, orri_baseline_past* past);
size_t orri_baseline_past_bytes(const orri_baseline_past* past);
// The world is as it was, and orri_diff_travel() was done: from now on it counts as not told again. When refused it can be tried again.
bool orri_baseline_restore(orr_world* world, const orri_baseline_past* past);

#endif
