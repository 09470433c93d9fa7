// SPDX-License-Identifier: MIT
// Shared by the files of src/base/math: bits of floating point numbers, exact products, the tables.
//
// A value that needs more than 53 bits is an unevaluated sum of two doubles. Products are made
// exact by splitting a factor into its upper 26 bits and the rest, because not every machine has a
// fused multiply-add, and an emulated one is slower than the split.
#ifndef ORRI_BASE_MATH_DETAIL_H
#define ORRI_BASE_MATH_DETAIL_H

#include "base/util.h"
#include <orrery/math.h>

#define ORRI_MATH_INFINITY  ((uint64_t)0x7FF << 52) // Bits of infinity; greater bits are NaNs.
#define ORRI_MATH_SIGN      ((uint64_t)1 << 63)
#define ORRI_MATH_LOG_START ((uint64_t)0x3FE6A << 44) // Bits of a number near sqrt(1/2).
#define ORRI_MATH_PI_WORDS  20
#define ORRI_MATH_HALF_PI   0x1.921fb54442d18p+0
#define ORRI_MATH_HALF_PI_2 0x1.1a62633145c07p-54 // pi/2 less the double above.

// The number high + low.
typedef struct orri_math_pair {
    double high, low;
} orri_math_pair;

typedef struct orri_math_log_entry {
    double inverse, log_high, log_low;
} orri_math_log_entry;

extern const orri_math_pair orri_math_exp_table[64];
extern const orri_math_log_entry orri_math_log_table[128];
extern const orri_math_pair orri_math_atan_table[65];
extern const uint64_t orri_math_two_over_pi[ORRI_MATH_PI_WORDS];

static inline uint64_t orri_math_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double orri_math_double(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t orri_math_bits_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

// The one NaN that functions return. NaNs of the hardware differ in sign and payload.
static inline double orri_math_nan(void)
{
    return orri_math_double((uint64_t)0x7FF8 << 48);
}

static inline float orri_math_nan_float(void)
{
    return __builtin_nanf("");
}

// The upper 26 bits of x: the product of two such numbers is exact, and so is x minus the result.
static inline double orri_math_upper(double x)
{
    return orri_math_double(orri_math_bits(x) & ~(uint64_t)0x7FFFFFF);
}

// The rounding error of `product`: a * b - product.
static inline double orri_math_product_rest(double a, double b, double product)
{
    double a_high = orri_math_upper(a), a_low = a - a_high;
    double b_high = orri_math_upper(b), b_low = b - b_high;
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

// 2^n for n from -1022 to 1023.
static inline double orri_math_scale(int64_t n)
{
    return orri_math_double((uint64_t)(n + 1023) << 52);
}

#endif
