// SPDX-License-Identifier: MIT
// Sets rounding and denormal handling of the calling thread. A control register is written only
// when its value differs, because reading is cheap and writing stalls the processor's pipeline.
#include "base/float.h"

#if defined(__x86_64__) || (defined(__i386__) && defined(__SSE2__))

// MXCSR: rounding (bits 13, 14), flush results to zero (15), treat denormal operands as zero (6).
#define FLOAT_SSE_BITS 0xE040u
// x87 control word: rounding (bits 10, 11) and precision (8, 9), which the ABI sets to extended.
#define FLOAT_X87_BITS     0x0F00u
#define FLOAT_X87_EXTENDED 0x0300u

orri_float_mode orri_float_mode_set(void)
{
    orri_float_mode mode = {.word = __builtin_ia32_stmxcsr()};
    __asm__ volatile("fnstcw %0" : "=m"(mode.x87));
    if ((mode.word & FLOAT_SSE_BITS) != 0) {
        __builtin_ia32_ldmxcsr(mode.word & ~FLOAT_SSE_BITS);
    }
    if ((mode.x87 & FLOAT_X87_BITS) != FLOAT_X87_EXTENDED) {
        uint16_t word = (uint16_t)((mode.x87 & ~FLOAT_X87_BITS) | FLOAT_X87_EXTENDED);
        __asm__ volatile("fldcw %0" : : "m"(word));
    }
    return mode;
}

// Exception flags raised since orri_float_mode_set() stay raised.
void orri_float_mode_restore(orri_float_mode mode)
{
    uint32_t now = __builtin_ia32_stmxcsr();
    if (((now ^ mode.word) & FLOAT_SSE_BITS) != 0) {
        __builtin_ia32_ldmxcsr((now & ~FLOAT_SSE_BITS) | (mode.word & FLOAT_SSE_BITS));
    }
    uint16_t word = 0; // MSan does not see that the next line writes it.
    __asm__ volatile("fnstcw %0" : "=m"(word));
    if (((word ^ mode.x87) & FLOAT_X87_BITS) != 0) {
        __asm__ volatile("fldcw %0" : : "m"(mode.x87));
    }
}

#undef FLOAT_SSE_BITS
#undef FLOAT_X87_BITS
#undef FLOAT_X87_EXTENDED

#elif defined(__aarch64__)

// FPCR: rounding (bits 22, 23), flush to zero (24), flush of half floats (19), default NaN (25),
// and the bits of FEAT_AFP (0, 1, 2).
#define FLOAT_FPCR_BITS 0x03C80007u

static uint32_t float_fpcr(void)
{
    uint64_t word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return (uint32_t)word;
}

static void float_fpcr_write(uint32_t word)
{
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)word));
}

orri_float_mode orri_float_mode_set(void)
{
    orri_float_mode mode = {.word = float_fpcr()};
    if ((mode.word & FLOAT_FPCR_BITS) != 0) {
        float_fpcr_write(mode.word & ~FLOAT_FPCR_BITS);
    }
    return mode;
}

void orri_float_mode_restore(orri_float_mode mode)
{
    if (float_fpcr() != mode.word) {
        float_fpcr_write(mode.word);
    }
}

#undef FLOAT_FPCR_BITS

#else

// WebAssembly has only this one mode. On other machines the mode is left as the thread has it.
orri_float_mode orri_float_mode_set(void)
{
    return (orri_float_mode){0};
}

void orri_float_mode_restore(orri_float_mode mode)
{
    (void)mode;
}

#endif
