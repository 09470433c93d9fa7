// SPDX-License-Identifier: MIT
/// @file math.h
/// Mathematical functions that give the same bits on every machine.
///
/// The functions of the C library give different results in different libraries, versions and
/// processors, so a world that calls them is not deterministic across machines. The functions here
/// use only + - * /, the square root and integer operations. The comment of each function states
/// its largest error in units in the last place (ULP); docs/MATH.md has the tables.
///
/// A function without a suffix takes double, the function with the suffix `f` takes float. Where a
/// comment stands above several functions it is for all of them.
///
/// Special values follow C17, Annex F, with two differences:
/// 1. Every NaN result has the same bits (0x7FF8000000000000 for double, 0x7FC00000 for float),
///    whatever the arguments are.
/// 2. errno and the flags of the floating-point environment have no meaning after a call.
///
/// Requirements: rounding to nearest and subnormal numbers not flushed to zero, which the library
/// sets on every worker; a build without -ffast-math (refused) and without fused multiply-add
/// (-ffp-contract=off, which pkg-config and CMake pass on).
///
/// No function allocates. All may be called from any thread.
#ifndef ORRERY_MATH_H
#define ORRERY_MATH_H

#include <orrery/base.h>

// 1 and 2 mean that the compiler evaluates float or double with excess precision, as for the x87
// unit.
#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#error "Orrery refuses excess precision: compile for 32-bit x86 with -msse2 -mfpmath=sse"
#endif

#ifdef __cplusplus
extern "C" {
#endif

// ---- angles, in radians -------------------------------------------------------------------------

/// Sine and cosine. Every finite angle, however large, is reduced with sufficient digits of pi.
/// Error below 0.85 ULP; float 0.501.
ORR_API double orr_sin(double angle);
ORR_API double orr_cos(double angle);
ORR_API float orr_sinf(float angle);
ORR_API float orr_cosf(float angle);
/// Sine and cosine at little more than the cost of one of them. Same bits as orr_sin() and
/// orr_cos().
ORR_API void orr_sincos(double angle, double* sine, double* cosine);
ORR_API void orr_sincosf(float angle, float* sine, float* cosine);
/// Tangent. Error below 1.00 ULP; float 0.501.
ORR_API double orr_tan(double angle);
ORR_API float orr_tanf(float angle);

/// Arc sine, -pi/2 to pi/2. NaN if the argument is outside -1 to 1. Error below 0.70 ULP; float
/// 0.501.
ORR_API double orr_asin(double sine);
ORR_API float orr_asinf(float sine);
/// Arc cosine, 0 to pi. NaN if the argument is outside -1 to 1. Error below 0.70 ULP; float 0.501.
ORR_API double orr_acos(double cosine);
ORR_API float orr_acosf(float cosine);
/// Arc tangent, -pi/2 to pi/2. Error below 0.65 ULP; float 0.501.
ORR_API double orr_atan(double tangent);
ORR_API float orr_atanf(float tangent);
/// Angle of the point (x, y), -pi to pi. The signs of zero arguments matter. Error below 0.65 ULP;
/// float 0.501.
ORR_API double orr_atan2(double y, double x);
ORR_API float orr_atan2f(float y, float x);

// ---- powers -------------------------------------------------------------------------------------

/// e to the power x. Error below 0.53 ULP (0.80 where the result is subnormal); float 0.501.
ORR_API double orr_exp(double x);
ORR_API float orr_expf(float x);
/// 2 to the power x, exact if x is an integer. Error below 0.53 ULP (0.80 where the result is
/// subnormal); float 0.501.
ORR_API double orr_exp2(double x);
ORR_API float orr_exp2f(float x);
/// Natural logarithm. (orr_log() is another function: it writes a line to the log.) Error below
/// 0.52 ULP; float 0.501.
ORR_API double orr_ln(double x);
ORR_API float orr_lnf(float x);
/// Logarithm to base 2, exact for powers of 2. Error below 0.52 ULP; float 0.501.
ORR_API double orr_log2(double x);
ORR_API float orr_log2f(float x);
/// x to the power y, exact if the result is representable. Error below 0.54 ULP (0.80 where the
/// result is subnormal); float 0.501.
ORR_API double orr_pow(double x, double y);
ORR_API float orr_powf(float x, float y);

// ---- exact --------------------------------------------------------------------------------------

/// Remainder of x / y, with the sign of x. Exact.
ORR_API double orr_fmod(double x, double y);
ORR_API float orr_fmodf(float x, float y);

// Square root by the processor's instruction, which IEEE 754 requires to be correctly rounded. With
// errno enabled __builtin_sqrt would call the C library, so it is used only with -fno-math-errno;
// then compilers can also vectorise it.
#if defined(__NO_MATH_ERRNO__)
#define ORR_SQRT_D(root, x) ((root) = __builtin_sqrt(x))
#define ORR_SQRT_F(root, x) ((root) = __builtin_sqrtf(x))
// Source and result share one register. A separate result register would add a false dependency on
// its previous content.
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
// Rounding twice gives the correct result, because 53 >= 2 * 24 + 2 digits.
#define ORR_SQRT_F(root, x) ((root) = (float)orr_sqrt_by_digits((double)(x)))
#endif

/// Square root by integer operations, for processors without an instruction. Same bits as
/// orr_sqrt().
ORR_API double orr_sqrt_by_digits(double x);

/// Square root, correctly rounded. NaN for negative x; -0 for -0.
static inline double orr_sqrt(double x)
{
    double root;
    ORR_SQRT_D(root, x);
    return x >= 0.0 ? root : __builtin_nan("");
}

/// Square root, correctly rounded. NaN for negative x; -0 for -0.
static inline float orr_sqrtf(float x)
{
    float root;
    ORR_SQRT_F(root, x);
    return x >= 0.0f ? root : __builtin_nanf("");
}

#undef ORR_SQRT_D
#undef ORR_SQRT_F

// Rounding. A number of at least 2^52 (float: 2^23) has no fraction; adding 2^52 to a smaller
// number rounds it to an integer. There are no branches, so that compilers can vectorise loops. A
// result of zero has the sign of x. All results are exact.

/// Rounds x to the nearest integer, halfway cases to the even one. Exact.
static inline double orr_rint(double x)
{
    double size = __builtin_fabs(x);
    double whole = size < 0x1p52 ? size + 0x1p52 - 0x1p52 : size;
    return x == x ? __builtin_copysign(whole, x) : __builtin_nan("");
}

/// Largest integer that is not greater than x. Exact.
static inline double orr_floor(double x)
{
    double whole = orr_rint(x);
    return whole > x ? whole - 1.0 : whole;
}

/// Smallest integer that is not less than x. Exact.
static inline double orr_ceil(double x)
{
    double whole = orr_rint(x);
    return whole < x ? __builtin_copysign(whole + 1.0, x) : whole;
}

/// Rounds x towards zero to an integer. Exact.
static inline double orr_trunc(double x)
{
    double size = __builtin_fabs(x);
    return x == x ? __builtin_copysign(orr_floor(size), x) : __builtin_nan("");
}

/// Rounds x to the nearest integer, halfway cases away from zero. Exact.
static inline double orr_round(double x)
{
    double size = __builtin_fabs(x), whole = orr_floor(size);
    whole = size - whole >= 0.5 ? whole + 1.0 : whole;
    return x == x ? __builtin_copysign(whole, x) : __builtin_nan("");
}

/// Rounds x to the nearest integer, halfway cases to the even one. Exact.
static inline float orr_rintf(float x)
{
    float size = __builtin_fabsf(x);
    float whole = size < 0x1p23f ? size + 0x1p23f - 0x1p23f : size;
    return x == x ? __builtin_copysignf(whole, x) : __builtin_nanf("");
}

/// Largest integer that is not greater than x. Exact.
static inline float orr_floorf(float x)
{
    float whole = orr_rintf(x);
    return whole > x ? whole - 1.0f : whole;
}

/// Smallest integer that is not less than x. Exact.
static inline float orr_ceilf(float x)
{
    float whole = orr_rintf(x);
    return whole < x ? __builtin_copysignf(whole + 1.0f, x) : whole;
}

/// Rounds x towards zero to an integer. Exact.
static inline float orr_truncf(float x)
{
    float size = __builtin_fabsf(x);
    return x == x ? __builtin_copysignf(orr_floorf(size), x) : __builtin_nanf("");
}

/// Rounds x to the nearest integer, halfway cases away from zero. Exact.
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
