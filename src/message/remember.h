// SPDX-License-Identifier: MIT
// What messages are of a world's state: queues of readers, events, what is sent and waits, what was told. Held for a snapshot, and gone back to.
#ifndef ORRI_MESSAGE_REMEMBER_H
#define ORRI_MESSAGE_REMEMBER_H

#include "message/message.h"

typedef struct orri_messages_past orri_messages_past;

// Between ticks. NULL when refused (reported). A world without messages has one, too.
orri_messages_past* orri_messages_remember(orr_world* world);
void orri_messages_forget(orr_world* world, orri_messages_past* past);
uint64_t orri_messages_past_bytes(const orri_messages_past* past);
// As the store's: all that may be refused; then done, or not.
orr_result orri_messages_ready(orr_world* world, const orri_messages_past* past);
void orri_messages_back(orr_world* world, const orri_messages_past* past);
void orri_messages_stay(orr_world* world);

#endif
