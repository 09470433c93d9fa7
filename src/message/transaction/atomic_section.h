// SPDX-License-Identifier: MIT
// Locking of atomic sections, for tests. A section is guarded by a stripe: one of 256 mutexes,
// chosen by type, entity and instance. Where the processor has transactional memory (HTM), a
// section first runs as a transaction that reads the mutex; a section that takes the mutex aborts
// the transaction, so that both ways exclude each other.
//
// No deadlock is possible: a thread is in at most one section, whatever the world, and takes no
// other lock in it except that of the log.
#ifndef ORRI_MESSAGE_TRANSACTION_ATOMIC_SECTION_H
#define ORRI_MESSAGE_TRANSACTION_ATOMIC_SECTION_H

#include "message/message.h"

// How sections exclude each other while systems run in parallel. Otherwise no lock is taken.
typedef enum orri_atomic_section_mode {
    ORRI_ATOMIC_SECTION_AUTO, // HTM where the processor has it; MUTEX under a controlled scheduler,
                              // which has to see the locks.
    ORRI_ATOMIC_SECTION_MUTEX, // The mutex of the stripe.
    ORRI_ATOMIC_SECTION_HTM,   // A few attempts as a transaction, then the mutex.
} orri_atomic_section_mode;

// Sets the mode. Allocates what sections need. False when refused (reported).
bool orri_atomic_section_mode_set(orr_world* world, orri_atomic_section_mode mode);
// Number of sections that ran as a transaction of the processor, counted since a mode was set.
uint64_t orri_atomic_section_htm_count(const orr_world* world);

#endif
