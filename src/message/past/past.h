// SPDX-License-Identifier: MIT
// What messages are of a world's state: queues of readers, events, what is sent and waits, what was told. Held for a snapshot, and gone back to.
// Of readers outside of the state (spectators, the journal, systems with a `user`) nothing is held: they are told what is different.
#ifndef ORRI_MESSAGE_PAST_PAST_H
#define ORRI_MESSAGE_PAST_PAST_H

#include "message/message.h"

typedef struct orri_messages_past orri_messages_past;

// Between ticks. NULL when refused (reported). A world without messages has one, too.
orri_messages_past* orri_messages_remember(orr_world* world);
void orri_messages_forget(orr_world* world, orri_messages_past* past);
uint64_t orri_messages_past_bytes(const orri_messages_past* past);
// True when readers had been told everything.
bool orri_messages_past_whole(const orri_messages_past* past);
// All that may be refused; then done, after the store, or not.
orr_result orri_messages_restore_prepare(orr_world* world, const orri_messages_past* past);
// Queues are what they were. Readers outside of the state are told, at their next run: when there is no memory for that (said in the log), what was told
// is settled by the next tick.
void orri_messages_restore(orr_world* world, orri_messages_past* past);
void orri_messages_restore_cancel(orr_world* world);

// Before anything is told, or remembered: ends a travel that is not settled. Does nothing else. On refusal (reported) it can be tried again.
orr_result orri_messages_settle(orr_world* world);
// The world ends.
void orri_messages_settled_term(orr_world* world);

#endif
