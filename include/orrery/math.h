// SPDX-License-Identifier: MIT
/// @file math.h
/// Mathematics that gives the same bits on every machine.
///
/// The functions of the C library differ from one library, version and processor to the next, so a world that
/// calls them is not the same world everywhere. These are made of + - * / and integers alone. Each is as near to
/// the true value as its line says, in units of the last place (ULP); docs/MATH.md has the tables.
///
/// Special values are those of C17, Annex F, with two differences: every result that is not a number is the same
/// one (0x7FF8000000000000, 0x7FC00000 for float), whatever went in; and neither errno nor the flags of the
/// floating-point environment mean anything afterwards.
///
/// Required, and set by the library on every worker: rounding to nearest, subnormal numbers not flushed to zero.
/// Required of the build: no -ffast-math (refused), no fused multiply-add (-ffp-contract=off, which pkg-config
/// and CMake pass on). Any thread may call any function; none allocates.
#ifndef ORRERY_MATH_H
#define ORRERY_MATH_H

#include <orrery/base.h>

// 1 and 2: float or double are computed with more digits than they have, as the x87 unit does.
#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#error "Orrery refuses excess precision: compile for 32-bit x86 with -msse2 -mfpmath=sse"
#endif

#ifdef __cplusplus
extern "C" {
#endif

// ---- angles, in radians -------------------------------------------------------------------------

/// Any finite angle, however large, is reduced by the true pi. Error below 0.85 ULP; float 0.501.
ORR_API double orr_sin(double angle);
ORR_API double orr_cos(double angle);
ORR_API float orr_sinf(float angle);
ORR_API float orr_cosf(float angle);
/// Both at little more than the cost of one; the same bits as orr_sin() and orr_cos().
ORR_API void orr_sincos(double angle, double* sine, double* cosine);
ORR_API void orr_sincosf(float angle, float* sine, float* cosine);
/// Error below 1.00 ULP; float 0.501.
ORR_API double orr_tan(double angle);
ORR_API float orr_tanf(float angle);

/// From -pi/2 to pi/2; not a number outside of -1 to 1. Error below 0.70 ULP; float 0.501.
ORR_API double orr_asin(double sine);
ORR_API float orr_asinf(float sine);
/// From 0 to pi; not a number outside of -1 to 1. Error below 0.70 ULP; float 0.501.
ORR_API double orr_acos(double cosine);
ORR_API float orr_acosf(float cosine);
/// From -pi/2 to pi/2. Error below 0.65 ULP; float 0.501.
ORR_API double orr_atan(double tangent);
ORR_API float orr_atanf(float tangent);
/// The angle of the point (x, y), from -pi to pi; signs of zeros count. Error below 0.65 ULP; float 0.501.
ORR_API double orr_atan2(double y, double x);
ORR_API float orr_atan2f(float y, float x);

// ---- powers -------------------------------------------------------------------------------------

/// e to the x. Error below 0.53 ULP (0.80 where the result is subnormal); float 0.501.
ORR_API double orr_exp(double x);
ORR_API float orr_expf(float x);
/// 2 to the x, exact for whole x. Error below 0.53 ULP (0.80 where the result is subnormal); float 0.501.
ORR_API double orr_exp2(double x);
ORR_API float orr_exp2f(float x);
/// Natural logarithm (orr_log writes a line to the log). Error below 0.52 ULP; float 0.501.
ORR_API double orr_ln(double x);
ORR_API float orr_lnf(float x);
/// Logarithm to base 2, exact for powers of 2. Error below 0.52 ULP; float 0.501.
ORR_API double orr_log2(double x);
ORR_API float orr_log2f(float x);
/// x to the y, exact where the result is representable. Error below 0.54 ULP (0.80 where the result is
/// subnormal); float 0.501.
ORR_API double orr_pow(double x, double y);
ORR_API float orr_powf(float x, float y);

// ---- exact --------------------------------------------------------------------------------------

/// What is left of x after taking y away as often as it fits, with the sign of x. Exact.
ORR_API double orr_fmod(double x, double y);
ORR_API float orr_fmodf(float x, float y);

// Square root by the machine's instruction, which IEEE 754 wants correctly rounded. __builtin_sqrt would call the C
// library where errno is asked for, so it is used only where it is not; it can then be vectorised too.
#if defined(__NO_MATH_ERRNO__)
#define ORR_SQRT_D(root, x) ((root) = __builtin_sqrt(x))
#define ORR_SQRT_F(root, x) ((root) = __builtin_sqrtf(x))
// One register for both: a second one would have to wait for what was in it before.
#elif defined(__x86_64__) && defined(__AVX__)
#define ORR_SQRT_D(root, x) __asm__("vsqrtsd %0, %0, %0" : "=x"(root) : "0"(x))
#define ORR_SQRT_F(root, x) __asm__("vsqrtss %0, %0, %0" : "=x"(root) : "0"(x))
#elif defined(__x86_64__)
#define ORR_SQRT_D(root, x) __asm__("sqrtsd %0, %0" : "=x"(root) : "0"(x))
#define ORR_SQRT_F(root, x) __asm__("sqrtss %0, %0" : "=x"(root) : "0"(x))
#elif defined(__aarch64__)
#define ORR_SQRT_D(root, x) __asm__("fsqrt %d0, %d1" : "=w"(root) : "w"(x))
#define ORR_SQRT_F(root, x) __asm__("fsqrt %s0, %s1" : "=w"(root) : "w"(x))
#elif defined(__wasm__)
#define ORR_SQRT_D(root, x) \
    __asm__("local.get %1\n\tf64.sqrt\n\tlocal.set %0" : "=r"(root) : "r"(x))
#define ORR_SQRT_F(root, x) \
    __asm__("local.get %1\n\tf32.sqrt\n\tlocal.set %0" : "=r"(root) : "r"(x))
#else
#define ORR_SQRT_D(root, x) ((root) = orr_sqrt_by_digits(x))
// Rounding twice does no harm: 53 digits are more than twice 24 and 2.
#define ORR_SQRT_F(root, x) ((root) = (float)orr_sqrt_by_digits((double)(x)))
#endif

/// The root by integers alone, for machines without an instruction. The same bits.
ORR_API double orr_sqrt_by_digits(double x);

/// Correctly rounded. Not a number below zero; -0 for -0.
static inline double orr_sqrt(double x)
{
    double root;
    ORR_SQRT_D(root, x);
    return x >= 0.0 ? root : __builtin_nan("");
}

/// Correctly rounded. Not a number below zero; -0 for -0.
static inline float orr_sqrtf(float x)
{
    float root;
    ORR_SQRT_F(root, x);
    return x >= 0.0f ? root : __builtin_nanf("");
}

#undef ORR_SQRT_D
#undef ORR_SQRT_F

// Numbers from 2^52 on (2^23 for float) have no digits behind the point; adding that much to a smaller one rounds
// it to a whole number. No branches: loops over these are vectorised. A result of zero has the sign of x.

/// The nearest whole number to x, the even one of two. Exact.
static inline double orr_rint(double x)
{
    double size = __builtin_fabs(x);
    double whole = size < 0x1p52 ? size + 0x1p52 - 0x1p52 : size;
    return x == x ? __builtin_copysign(whole, x) : __builtin_nan("");
}

/// The largest whole number that is not above x. Exact.
static inline double orr_floor(double x)
{
    double whole = orr_rint(x);
    return whole > x ? whole - 1.0 : whole;
}

/// The smallest whole number that is not below x. Exact.
static inline double orr_ceil(double x)
{
    double whole = orr_rint(x);
    return whole < x ? __builtin_copysign(whole + 1.0, x) : whole;
}

/// x without what stands behind the point. Exact.
static inline double orr_trunc(double x)
{
    double size = __builtin_fabs(x);
    return x == x ? __builtin_copysign(orr_floor(size), x) : __builtin_nan("");
}

/// The nearest whole number to x, of two the one farther from zero. Exact.
static inline double orr_round(double x)
{
    double size = __builtin_fabs(x), whole = orr_floor(size);
    whole = size - whole >= 0.5 ? whole + 1.0 : whole;
    return x == x ? __builtin_copysign(whole, x) : __builtin_nan("");
}

/// The nearest whole number to x, the even one of two. Exact.
static inline float orr_rintf(float x)
{
    float size = __builtin_fabsf(x);
    float whole = size < 0x1p23f ? size + 0x1p23f - 0x1p23f : size;
    return x == x ? __builtin_copysignf(whole, x) : __builtin_nanf("");
}

/// The largest whole number that is not above x. Exact.
static inline float orr_floorf(float x)
{
    float whole = orr_rintf(x);
    return whole > x ? whole - 1.0f : whole;
}

/// The smallest whole number that is not below x. Exact.
static inline float orr_ceilf(float x)
{
    float whole = orr_rintf(x);
    return whole < x ? __builtin_copysignf(whole + 1.0f, x) : whole;
}

/// x without what stands behind the point. Exact.
static inline float orr_truncf(float x)
{
    float size = __builtin_fabsf(x);
    return x == x ? __builtin_copysignf(orr_floorf(size), x) : __builtin_nanf("");
}

/// The nearest whole number to x, of two the one farther from zero. Exact.
static inline float orr_roundf(float x)
{
    float size = __builtin_fabsf(x), whole = orr_floorf(size);
    whole = size - whole >= 0.5f ? whole + 1.0f : whole;
    return x == x ? __builtin_copysignf(whole, x) : __builtin_nanf("");
}

#ifdef __cplusplus
}
#endif

#endif
