// SPDX-License-Identifier: MIT
// Transactional memory of the processor (RTM of x86): other threads see all writes of a function at
// once or none of them, without a lock. It only avoids taking a lock that is free and never
// replaces the lock: any transaction may fail every time.
#ifndef ORRI_BASE_HTM_H
#define ORRI_BASE_HTM_H

#include <stdbool.h>
#include <stdint.h>

typedef enum orri_htm_result {
    ORRI_HTM_DONE,  // The function ran and its writes are visible.
    ORRI_HTM_HELD,  // The lock was held: no effect; wait for the lock.
    ORRI_HTM_AGAIN, // Another thread accessed the same memory: no effect; another try may succeed.
    ORRI_HTM_NEVER, // No effect, and another try would fail too.
} orri_htm_result;

// True if the processor reports RTM and a test transaction succeeded. Always false on other
// machines, and under TSan, which does not support transactions.
bool orri_htm_works(void);
// Calls the function in a transaction if `*word` (of an orri_mutex) is 0, and stays 0 during the
// call. All writes of the function are undone unless the result is ORRI_HTM_DONE. Call only if
// orri_htm_works().
orri_htm_result orri_htm_try(const _Atomic uint32_t* word, void (*function)(void* user),
                             void* user);

#endif
