// SPDX-License-Identifier: MIT
// Transactional memory of the processor (RTM of x86): what a function writes is seen by others all at once or not at all, without
// a lock. A way to pass a lock that would be free, never a way to do without one: any transaction may be given up for good.
#ifndef ORRI_BASE_HTM_H
#define ORRI_BASE_HTM_H

#include <stdbool.h>
#include <stdint.h>

typedef enum orri_htm_end {
    ORRI_HTM_DONE,
    ORRI_HTM_HELD,  // The lock was held: nothing was done; wait for it.
    ORRI_HTM_AGAIN, // Somebody was at the same memory: nothing was done; another try may do it.
    ORRI_HTM_NEVER, // Nothing was done, and trying again is no use.
} orri_htm_end;

// True when the processor has it and it works here: the processor says so, and a transaction was carried through. Never on other machines,
// nor under TSan, which does not understand it.
bool orri_htm_works(void);
// Calls the function in a transaction, if `*word` (of an orri_mutex) is 0 and stays so. Whatever it wrote, anywhere, is undone unless this
// returns ORRI_HTM_DONE. Only where orri_htm_works().
orri_htm_end orri_htm_try(const _Atomic uint32_t* word, void (*function)(void* user), void* user);

#endif
