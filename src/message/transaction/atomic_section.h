// SPDX-License-Identifier: MIT
// Atomic sections from the inside. Each is guarded by a stripe: one of a table of mutexes, by type, entity and instance. Where the processor has
// transactional memory the mutex is passed, as long as nobody holds it; so both ways exclude each other. A thread is in one section at a
// time, whatever the world, and takes no other lock in it but those of the log: nothing can wait in a circle.
#ifndef ORRI_MESSAGE_TRANSACTION_ATOMIC_SECTION_H
#define ORRI_MESSAGE_TRANSACTION_ATOMIC_SECTION_H

#include "message/message.h"

// How sections exclude each other, while systems run side by side. When nobody runs beside a system nothing is taken.
typedef enum orri_atomic_section_way {
    ORRI_ATOMIC_SECTION_AUTO, // As below, where the processor has it; a controlled scheduler sees mutexes.
    ORRI_ATOMIC_SECTION_MUTEX,   // By the stripe's mutex.
    ORRI_ATOMIC_SECTION_PASSING, // In a transaction, a few times; then by the mutex.
} orri_atomic_section_way;

// For tests: makes what sections need first. False when refused (reported).
bool orri_atomic_section_way_set(orr_world* world, orri_atomic_section_way way);
// Of all sections so far, how many went by a transaction. For tests: counted only after a way was set.
uint64_t orri_atomic_section_passed(const orr_world* world);

#endif
