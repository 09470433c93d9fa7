// SPDX-License-Identifier: MIT
// The rounding mode and the handling of denormal numbers are settings of a thread that any library
// may have changed. A run must give the same bits whatever they were, so they are set before
// simulation code and restored after it.
#ifndef ORRI_BASE_FLOAT_H
#define ORRI_BASE_FLOAT_H

#include <stdint.h>

typedef struct orri_float_mode {
    uint32_t word; // The control register before; on x86 that of SSE.
    uint16_t x87;  // On x86: the x87 control word, which long double uses.
} orri_float_mode;

// Sets rounding to nearest and no flush to zero. Returns the previous settings. Traps and flags are
// not changed.
orri_float_mode orri_float_mode_set(void);
// Restores the settings that orri_float_mode_set() returned on this thread.
void orri_float_mode_restore(orri_float_mode mode);

#endif
