// SPDX-License-Identifier: MIT
// How the processor rounds, and what it makes of numbers near zero, are settings of a thread that any library may have changed.
// A run must give the same bits whatever they were, so they are set before simulation code and put back after it.
#ifndef ORRI_BASE_FLOAT_H
#define ORRI_BASE_FLOAT_H

#include <stdint.h>

typedef struct orri_float_mode {
    uint32_t word; // The control register as it was; on x86 that of SSE,
    uint16_t x87;  // and that of the x87, which long double uses.
} orri_float_mode;

// Rounding to nearest, no flush to zero. Returns what was set; traps and flags are left as they are.
orri_float_mode orri_float_mode_set(void);
// Puts back what orri_float_mode_set() returned, on the same thread.
void orri_float_mode_restore(orri_float_mode mode);

#endif
