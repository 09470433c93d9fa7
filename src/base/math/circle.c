// SPDX-License-Identifier: MIT
// Sine, cosine, tangent. An angle is reduced to at most pi/4 by subtracting a whole number of
// quarter turns, with enough bits of pi that the rest is correct to 70 bits for any angle: below
// 2^20 with pi/2 split into pieces whose products are exact, beyond with integers. The last bit of
// the number of quarter turns selects one of two polynomials. That bit cannot be predicted, so the
// coefficients are selected by index, without a branch.
//
// The polynomials were fitted by exchange (Remez) for the least relative error: each coefficient
// was rounded and the remaining ones were fitted again.
#include "base/math/detail.h"

// (sin x - x) / x^3 and (cos x - 1 + x^2 / 2) / x^4 as polynomials of x^2: relative errors 2^-57
// and 2^-63.
static const double circle_terms[2][6] = {
    {-0x1.5555555555548p-3, 0x1.111111110f73p-7, -0x1.a01a019be9204p-13, 0x1.71de3555289cp-19,
     -0x1.ae5e4ba36f80bp-26, 0x1.5d8b75224eca2p-33},
    {0x1.555555555554bp-5, -0x1.6c16c16c15014p-10, 0x1.a01a019c8ef8bp-16, -0x1.27e4f7f166711p-22,
     0x1.1ee9dbac45282p-29, -0x1.8fa6703be2c1dp-37}};

// (sin x / x - 1) / x^2 and (cos x - 1) / x^2: relative errors 2^-47 and 2^-42, for float.
static const double circle_terms_float[2][5] = {{-0x1.5555555552233p-3, 0x1.1111110c86bb7p-7,
                                                 -0x1.a019f938b14fcp-13, 0x1.71d76cacada7dp-19,
                                                 -0x1.a96178d153b05p-26},
                                                {-0.5, 0x1.5555554ed8a1dp-5, -0x1.6c16b82933c5cp-10,
                                                 0x1.a010de409f3d6p-16, -0x1.241e7ef6057dcp-22}};

// ---- reduction ----------------------------------------------------------------------------------

// An angle of at most pi/4 (and a little more) as high + low, and the number of quarter turns that
// were subtracted; only its two low bits are used.
typedef struct circle_rest {
    double high, low;
    uint32_t quarters;
} circle_rest;

// Multiplies 192 bits of 2/pi, after those that give only whole turns, by the 53 bits of the angle.
// After the two bits of quarter turns the product has 137 correct bits, of which at most 62 are
// leading zeros for any double.
static void circle_window(uint64_t mantissa, uint32_t start, uint64_t product[3])
{
    __extension__ typedef unsigned __int128 u128;
    const uint64_t* words = &orri_math_two_over_pi[start / 64];
    uint32_t shift = start % 64;
    u128 carry = 0;
    for (uint32_t i = 3; i > 0; i--) {
        uint64_t word = words[i - 1] << shift;
        word |= shift > 0 ? words[i] >> (64 - shift) : 0;
        carry += (u128)mantissa * word;
        product[i - 1] = (uint64_t)carry;
        carry >>= 64;
    }
}

// The fraction of a quarter turn, high:low / 2^128 * 2^-zeros, times pi/2.
static circle_rest circle_times_half_pi(uint64_t high, uint64_t low, uint32_t zeros)
{
    double a = (double)(high >> 11) * 0x1p-53;
    double b = (double)(high << 53 | low >> 11) * 0x1p-117;
    double product = a * ORRI_MATH_HALF_PI;
    double rest = orri_math_product_rest(a, ORRI_MATH_HALF_PI, product) +
                  (a * ORRI_MATH_HALF_PI_2 + b * ORRI_MATH_HALF_PI);
    double scale = orri_math_scale(-(int64_t)zeros);
    double sum = product + rest;
    return (circle_rest){.high = sum * scale, .low = ((product - sum) + rest) * scale};
}

// For angles of 2^20 and more.
static circle_rest circle_reduce_large(uint64_t bits)
{
    uint64_t mantissa = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    // The angle is mantissa * 2^(exponent - 1075); the first bit needed is worth two quarter turns.
    uint32_t start = (uint32_t)(bits >> 52 & 0x7FF) - 1075 + 62;
    uint64_t p[3];
    circle_window(mantissa, start, p);
    // Rounds to the nearest quarter turn; the rest is in two's complement.
    uint32_t quarters = (uint32_t)(p[0] >> 62) + (uint32_t)(p[0] >> 61 & 1);
    uint64_t words[3] = {p[0] << 2 | p[1] >> 62, p[1] << 2 | p[2] >> 62, p[2] << 2};
    uint64_t flip = (uint64_t)0 - (words[0] >> 63);
    for (uint32_t i = 0; i < 3; i++) {
        words[i] ^= flip;
    }
    // Always fewer than 64 zeros: no double is that close to a multiple of pi/2.
    uint32_t zeros = (uint32_t)__builtin_clzll(words[0] | 1);
    uint64_t high = zeros > 0 ? words[0] << zeros | words[1] >> (64 - zeros) : words[0];
    uint64_t low = zeros > 0 ? words[1] << zeros | words[2] >> (64 - zeros) : words[1];
    circle_rest rest = circle_times_half_pi(high, low, zeros);
    bool minus = (flip != 0) != (bits >> 63 != 0);
    rest.high = minus ? -rest.high : rest.high;
    rest.low = minus ? -rest.low : rest.low;
    rest.quarters = bits >> 63 != 0 ? 0 - quarters : quarters;
    return rest;
}

// pi/2 in pieces of 33 bits, so that the product with a number of 20 bits is exact.
#define CIRCLE_PIECE_1 0x1.921fb544p+0
#define CIRCLE_PIECE_2 0x1.0b4611a6p-34
#define CIRCLE_PIECE_3 0x1.3198a2ep-69
#define CIRCLE_PIECE_4 0x1.b839a252049c1p-104
#define CIRCLE_REST_1  0x1.0b4611a626331p-34 // pi/2 less the first piece.
#define CIRCLE_REST_2  0x1.3198a2e037073p-69 // pi/2 less the first two pieces.

// Near a multiple of pi/2 the first two pieces cancel the angle: all four pieces are needed.
ORRI_NOINLINE static circle_rest circle_reduce_near(double x, double turns, double second)
{
    double third = turns * CIRCLE_PIECE_3;
    double a = (x - turns * CIRCLE_PIECE_1) - second; // Both differences are exact.
    double sum = a - third, part = sum - a;
    double rest = (a - (sum - part)) + (-third - part);
    rest -= turns * CIRCLE_PIECE_4;
    double high = sum + rest;
    return (circle_rest){.high = high, .low = (sum - high) + rest};
}

// Rounds x / (pi/2) to a whole number by adding 1.5 * 2^52; the low bits of the sum are the number.
static inline double circle_quarters(double x, uint32_t* quarters)
{
    double shifted = x * 0x1.45f306dc9c883p-1 + 0x1.8p52;
    *quarters = (uint32_t)orri_math_bits(shifted);
    return shifted - 0x1.8p52;
}

// For angles below CIRCLE_FAR.
static inline circle_rest circle_reduce(double x)
{
    uint32_t quarters;
    double turns = circle_quarters(x, &quarters);
    double first = x - turns * CIRCLE_PIECE_1; // Exact.
    double second = turns * CIRCLE_PIECE_2;
    double a = first - second;
    circle_rest rest;
    if (ORR_UNLIKELY(a < 0x1p-13 && a > -0x1p-13)) {
        rest = circle_reduce_near(x, turns, second);
    } else {
        double third = turns * CIRCLE_REST_2 - ((first - a) - second);
        rest.high = a - third;
        rest.low = (a - rest.high) - third;
    }
    rest.quarters = quarters;
    return rest;
}

// ---- double -------------------------------------------------------------------------------------

static inline double circle_poly(const double c[6], double z)
{
    double z2 = z * z;
    return (c[0] + c[1] * z) + z2 * ((c[2] + c[3] * z) + z2 * (c[4] + c[5] * z));
}

static inline double circle_choose(uint64_t mask, double off, double on)
{
    return orri_math_double((orri_math_bits(off) & ~mask) | (orri_math_bits(on) & mask));
}

// The sine of the rest for an even number of quarter turns, the cosine for an odd one; negated in
// the third and fourth quarter. Both are a large part plus a small part: x and x^3…, or 1 - x^2 /
// 2, its rounding error, and x^4….
static inline double circle_value(double high, double low, uint32_t quarters)
{
    uint32_t odd = quarters & 1;
    uint64_t mask = (uint64_t)0 - odd;
    double z = high * high, half = 0.5 * z, top = 1.0 - half;
    double large = circle_choose(mask, high, top);
    double lost = circle_choose(mask, low - half * low, ((1.0 - top) - half) - high * low);
    double factor = z * circle_choose(mask, high, z);
    double value = large + (lost + factor * circle_poly(circle_terms[odd], z));
    return orri_math_double(orri_math_bits(value) ^ (uint64_t)(quarters >> 1 & 1) << 63);
}

// Up to pi/4 (SMALL) no reduction is needed; below 2^-27 (TINY) the sine is the angle (-0 stays
// -0); from 2^20 on (FAR) the reduction uses integers.
#define CIRCLE_SMALL ((uint64_t)0x3FE921FB54442D18)
#define CIRCLE_TINY  ((uint64_t)(1023 - 27) << 52)
#define CIRCLE_FAR   ((uint64_t)(1023 + 20) << 52)

static inline uint64_t circle_size(double x)
{
    return orri_math_bits(x) & ~ORRI_MATH_SIGN;
}

// Sine (`more` is 0) or cosine (`more` is 1) of angles from 2^20 on, infinite ones and NaN.
ORRI_NOINLINE static double circle_far(double angle, uint32_t more)
{
    if (circle_size(angle) >= ORRI_MATH_INFINITY) {
        return orri_math_nan();
    }
    circle_rest rest = circle_reduce_large(orri_math_bits(angle));
    return circle_value(rest.high, rest.low, rest.quarters + more);
}

double orr_sin(double angle)
{
    uint64_t size = circle_size(angle);
    if (size <= CIRCLE_SMALL) {
        return size < CIRCLE_TINY ? angle : circle_value(angle, 0.0, 0);
    }
    if (ORR_UNLIKELY(size >= CIRCLE_FAR)) {
        return circle_far(angle, 0);
    }
    circle_rest rest = circle_reduce(angle);
    return circle_value(rest.high, rest.low, rest.quarters);
}

double orr_cos(double angle)
{
    uint64_t size = circle_size(angle);
    if (size <= CIRCLE_SMALL) {
        return circle_value(angle, 0.0, 1);
    }
    if (ORR_UNLIKELY(size >= CIRCLE_FAR)) {
        return circle_far(angle, 1);
    }
    circle_rest rest = circle_reduce(angle);
    return circle_value(rest.high, rest.low, rest.quarters + 1);
}

void orr_sincos(double angle, double* sine, double* cosine)
{
    uint64_t size = circle_size(angle);
    circle_rest rest = {.high = angle};
    if (size > CIRCLE_SMALL) {
        if (ORR_UNLIKELY(size >= CIRCLE_FAR)) {
            *sine = circle_far(angle, 0);
            *cosine = circle_far(angle, 1);
            return;
        }
        rest = circle_reduce(angle);
    }
    *sine = size < CIRCLE_TINY ? angle : circle_value(rest.high, rest.low, rest.quarters);
    *cosine = circle_value(rest.high, rest.low, rest.quarters + 1);
}

// Sine over cosine, each as a pair; the quotient is corrected by its error. The square is exact,
// because its error would count twice.
static double circle_tangent(double high, double low, bool odd)
{
    double z = high * high, z_rest = orri_math_product_rest(high, high, z);
    double sine_small = low - 0.5 * z * low + high * z * circle_poly(circle_terms[0], z);
    double sine = high + sine_small;
    double sine_low = (high - sine) + sine_small;
    double half = 0.5 * z, top = 1.0 - half;
    double cosine_small = ((1.0 - top) - half) - (0.5 * z_rest + high * low) +
                          z * z * circle_poly(circle_terms[1], z);
    double cosine = top + cosine_small;
    double cosine_low = (top - cosine) + cosine_small;
    double above = odd ? -cosine : sine, above_low = odd ? -cosine_low : sine_low;
    double below = odd ? sine : cosine, below_low = odd ? sine_low : cosine_low;
    double inverse = 1.0 / below, quotient = above * inverse;
    double product = quotient * below;
    double missing = (above - product) - orri_math_product_rest(quotient, below, product);
    missing += above_low - quotient * below_low;
    return quotient + missing * inverse;
}

double orr_tan(double angle)
{
    uint64_t size = circle_size(angle);
    circle_rest rest = {.high = angle};
    if (size > CIRCLE_SMALL) {
        if (ORR_UNLIKELY(size >= ORRI_MATH_INFINITY)) {
            return orri_math_nan();
        }
        rest = size < CIRCLE_FAR ? circle_reduce(angle)
                                 : circle_reduce_large(orri_math_bits(angle));
    }
    return size < CIRCLE_TINY ? angle : circle_tangent(rest.high, rest.low, rest.quarters & 1);
}

// ---- float --------------------------------------------------------------------------------------

// Computed in double, which has 29 bits more than float; about a dozen of them are correct. The
// argument is converted to double before anything else: using the float later as well makes
// processors wait for an earlier call.

static inline double circle_reduce_float(double x, uint32_t* quarters)
{
    double turns = circle_quarters(x, quarters);
    return (x - turns * CIRCLE_PIECE_1) - turns * CIRCLE_REST_1;
}

static inline double circle_poly_float(const double c[5], double z)
{
    double z2 = z * z;
    return (1.0 + c[0] * z) + z2 * ((c[1] + c[2] * z) + z2 * (c[3] + c[4] * z));
}

static inline float circle_value_float(double x, uint32_t quarters)
{
    uint32_t odd = quarters & 1;
    double factor = circle_choose((uint64_t)0 - odd, x, 1.0);
    double value = factor * circle_poly_float(circle_terms_float[odd], x * x);
    return (float)orri_math_double(orri_math_bits(value) ^ (uint64_t)(quarters >> 1 & 1) << 63);
}

ORRI_NOINLINE static float circle_far_float(double x, uint32_t more)
{
    double value = circle_far(x, more);
    return value == value ? (float)value : orri_math_nan_float();
}

float orr_sinf(float angle)
{
    double x = (double)angle;
    if (ORR_UNLIKELY(circle_size(x) >= CIRCLE_FAR)) {
        return circle_far_float(x, 0);
    }
    uint32_t quarters;
    x = circle_reduce_float(x, &quarters);
    return circle_value_float(x, quarters);
}

float orr_cosf(float angle)
{
    double x = (double)angle;
    if (ORR_UNLIKELY(circle_size(x) >= CIRCLE_FAR)) {
        return circle_far_float(x, 1);
    }
    uint32_t quarters;
    x = circle_reduce_float(x, &quarters);
    return circle_value_float(x, quarters + 1);
}

void orr_sincosf(float angle, float* sine, float* cosine)
{
    double x = (double)angle;
    if (ORR_UNLIKELY(circle_size(x) >= CIRCLE_FAR)) {
        *sine = circle_far_float(x, 0);
        *cosine = circle_far_float(x, 1);
        return;
    }
    uint32_t quarters;
    x = circle_reduce_float(x, &quarters);
    *sine = circle_value_float(x, quarters);
    *cosine = circle_value_float(x, quarters + 1);
}

float orr_tanf(float angle)
{
    double x = (double)angle;
    if (ORR_UNLIKELY(circle_size(x) >= CIRCLE_FAR)) {
        double tangent = orr_tan(x);
        return tangent == tangent ? (float)tangent : orri_math_nan_float();
    }
    uint32_t quarters;
    x = circle_reduce_float(x, &quarters);
    double z = x * x, sine = x * circle_poly_float(circle_terms_float[0], z);
    double cosine = circle_poly_float(circle_terms_float[1], z);
    bool odd = quarters & 1;
    return (float)((odd ? -cosine : sine) / (odd ? sine : cosine));
}

#undef CIRCLE_PIECE_1
#undef CIRCLE_PIECE_2
#undef CIRCLE_PIECE_3
#undef CIRCLE_PIECE_4
#undef CIRCLE_REST_1
#undef CIRCLE_REST_2
#undef CIRCLE_SMALL
#undef CIRCLE_TINY
#undef CIRCLE_FAR
