// SPDX-License-Identifier: MIT
// The part of messages that belongs to a world's state at one moment: queues of readers, waiting
// events, waiting transactions, and the difference between world and baseline. It is kept with a
// snapshot and restored by a travel.
//
// Nothing is kept for readers outside of the state (spectators, the journal, indirect
// systems with a `user` and without state and exports). After a travel they receive the difference.
#ifndef ORRI_MESSAGE_PAST_PAST_H
#define ORRI_MESSAGE_PAST_PAST_H

#include "message/message.h"

typedef struct orri_messages_past orri_messages_past;

// Records the present state, between ticks; also of a world without messages. NULL when refused
// (reported).
orri_messages_past* orri_messages_remember(orr_world* world);
void orri_messages_forget(orr_world* world, orri_messages_past* past);
uint64_t orri_messages_past_bytes(const orri_messages_past* past);
// True when the baseline was equal to the world: readers had been notified of everything.
bool orri_messages_past_whole(const orri_messages_past* past);
// Restoring has three steps: prepare does everything that may be refused; then the store is
// restored; then restore, or cancel.
orr_result orri_messages_restore_prepare(orr_world* world, const orri_messages_past* past);
// Readers outside of the state are notified at their next run. False if memory was refused for that
// (not reported). Everything else is restored all the same, and orri_messages_settle() notifies the
// readers later: the next tick calls it, or the first call that changes the world, and neither does
// anything while it is refused (orri_travel_notified() in store/world/access.h).
bool orri_messages_restore(orr_world* world, orri_messages_past* past);
void orri_messages_restore_cancel(orr_world* world);

// Notifies readers of a travel if they could not be notified at once; otherwise does nothing. To be
// called before a diff, before remembering and before the world changes. On refusal (reported) it
// can be repeated.
orr_result orri_messages_settle(orr_world* world);
// The world is being destroyed: frees an unfinished travel.
void orri_messages_settled_term(orr_world* world);

#endif
