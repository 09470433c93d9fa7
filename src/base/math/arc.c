// SPDX-License-Identifier: MIT
// Arc tangent, arc sine and arc cosine.
//
// The angle of a point in the first eighth of a turn is the table angle with tangent i / 64, plus
// the angle of the point rotated back by the table angle. The tangent of that second angle, u = (y
// - c x) / (x + c y), is below 1/128: a short polynomial suffices, and the errors of u hardly
// count, because u is much smaller than the result. Below 1/16 no table is used; the quotient is
// then a pair of doubles. Arc sine is a polynomial up to 1/2, and uses the half angle beyond.
#include "base/math/detail.h"

// ---- arc tangent --------------------------------------------------------------------------------

// The result is high + low + sign * (the angle in the first eighth).
typedef struct arc_base {
    double high, low, sign;
} arc_base;

// (atan u - u) / u^3 with error 2^-69, for u up to 1/16. The argument is z = u^2.
static inline double arc_tangent_poly(double z)
{
    double z2 = z * z;
    return (-0x1.5555555555555p-2 + z * 0x1.9999999999053p-3) +
           z2 * ((-0x1.24924921e6fbfp-3 + z * 0x1.c71c669be787bp-4) +
                 z2 * (-0x1.74517f8a71201p-4 + z * 0x1.35544b1749678p-4));
}

// The angle of (x, y) with 0 < y <= x and the given quotient y / x. Neither is near the limits of
// the range of double.
static inline double arc_eighth(double y, double x, double quotient, arc_base base)
{
    double u = quotient, rest;
    uint32_t index = 0;
    if (quotient < 0.0625) {
        double product = quotient * x;
        rest = ((y - product) - orri_math_product_rest(quotient, x, product)) / x;
    } else {
        index = (uint32_t)(int32_t)(quotient * 64.0 + 0.5);
        double c = (double)index * 0.015625, upper = orri_math_upper(x);
        u = ((y - c * upper) - c * (x - upper)) / (x + c * y); // The numerator is exact.
        rest = 0.0;
    }
    const orri_math_pair* entry = &orri_math_atan_table[index];
    double z = u * u;
    rest += u * z * arc_tangent_poly(z) + entry->low;
    double angle = base.sign * entry->high, more = base.sign * u;
    double first = base.high + angle, first_lost = (base.high - first) + angle;
    double sum = first + more, sum_lost = (first - sum) + more;
    return sum + (sum_lost + (first_lost + (base.low + base.sign * rest)));
}

static const arc_base arc_plain = {0.0, 0.0, 1.0};
static const arc_base arc_bases[2][2] = {
    // [x is negative][y is greater than x]
    {{0.0, 0.0, 1.0}, {ORRI_MATH_HALF_PI, ORRI_MATH_HALF_PI_2, -1.0}},
    {{2.0 * ORRI_MATH_HALF_PI, 2.0 * ORRI_MATH_HALF_PI_2, -1.0},
     {ORRI_MATH_HALF_PI, ORRI_MATH_HALF_PI_2, 1.0}}};

double orr_atan(double tangent)
{
    uint64_t bits = orri_math_bits(tangent), size = bits & ~ORRI_MATH_SIGN;
    double x = orri_math_double(size), angle;
    if (size < (uint64_t)(1023 - 27) << 52) {
        return tangent;
    }
    if (size > ORRI_MATH_INFINITY) {
        return orri_math_nan();
    }
    if (size <= (uint64_t)1023 << 52) {
        angle = arc_eighth(x, 1.0, x, arc_plain);
    } else {
        angle = size < (uint64_t)(1023 + 64) << 52 ? arc_eighth(1.0, x, 1.0 / x, arc_bases[0][1])
                                                   : ORRI_MATH_HALF_PI;
    }
    return orri_math_double(orri_math_bits(angle) | (bits & ORRI_MATH_SIGN));
}

// The angle if x or y is 0, infinite or NaN; y is passed without its sign.
static double arc_special(double y, double x)
{
    const double infinity = __builtin_inf(), half_pi = ORRI_MATH_HALF_PI;
    if (x != x || y != y) {
        return orri_math_nan();
    }
    bool left = orri_math_bits(x) >> 63 != 0;
    if (y == infinity) {
        if (x == infinity || x == -infinity) {
            return left ? 0x1.2d97c7f3321d2p+1 : 0.5 * half_pi;
        }
        return half_pi;
    }
    if (y == 0.0 || x == infinity || x == -infinity) {
        return left ? 2.0 * half_pi : 0.0;
    }
    return half_pi;
}

// The angle if one of the two is more than 2^64 times the other. The smaller one changes the result
// only for y < x with x positive.
static double arc_steep(double y, double x, bool left)
{
    if (y > x) {
        return ORRI_MATH_HALF_PI;
    }
    return left ? 2.0 * ORRI_MATH_HALF_PI : y / x;
}

// The angle of |y| and |x|, neither 0 nor infinite; `left`: x is negative.
static double arc_quarter(double y, double x, bool left)
{
    bool swap = y > x;
    double small = swap ? x : y, large = swap ? y : x;
    if (ORR_UNLIKELY(large > 0x1p800 || large < 0x1p-800)) {
        // Scales both, so that the quotient stays the same. A subnormal number gains only zero
        // bits.
        double scale = large > 1.0 ? 0x1p-300 : 0x1p300;
        double scaled = small * scale;
        if (scaled < large * scale * 0x1p-64) {
            return arc_steep(y, x, left);
        }
        small = scaled;
        large *= scale;
    } else if (ORR_UNLIKELY(small < large * 0x1p-64)) {
        return arc_steep(y, x, left);
    }
    return arc_eighth(small, large, small / large, arc_bases[left][swap]);
}

double orr_atan2(double y, double x)
{
    uint64_t y_bits = orri_math_bits(y), y_size = y_bits & ~ORRI_MATH_SIGN;
    uint64_t x_bits = orri_math_bits(x), x_size = x_bits & ~ORRI_MATH_SIGN;
    double angle;
    if (ORR_UNLIKELY(x_size - 1 >= ORRI_MATH_INFINITY - 1 ||
                     y_size - 1 >= ORRI_MATH_INFINITY - 1)) {
        angle = arc_special(orri_math_double(y_size), x);
        if (angle != angle) {
            return angle;
        }
    } else {
        angle = arc_quarter(orri_math_double(y_size), orri_math_double(x_size), x_bits >> 63 != 0);
    }
    return orri_math_double(orri_math_bits(angle) | (y_bits & ORRI_MATH_SIGN));
}

// atan u for float, u up to 1, relative error 2^-39.
static inline double arc_tangent_float(double u)
{
    double z = u * u, z2 = z * z, z4 = z2 * z2;
    double a = (-0x1.5555554ee9d86p-2 + z * 0x1.99999569b94e3p-3) +
               z2 * (-0x1.2491ce828b464p-3 + z * 0x1.c70e38f9ffedfp-4);
    double b = (-0x1.73df5a2e0032p-4 + z * 0x1.383ed5d646c29p-4) +
               z2 * (-0x1.05cbafb42321fp-4 + z * 0x1.a16771210b76dp-5);
    double c = (-0x1.2666f124bfaadp-5 + z * 0x1.50abafe9d2d61p-6) +
               z2 * (-0x1.19e1fd803d26ap-7 + z * 0x1.2bbb7858823b7p-9);
    return u + u * z * (a + z4 * (b + z4 * (c - z4 * 0x1.2b5b6a311dc1ap-12)));
}

float orr_atan2f(float y, float x)
{
    double wide_x = (double)x, wide_y = (double)y;
    uint64_t y_bits = orri_math_bits(wide_y), y_size = y_bits & ~ORRI_MATH_SIGN;
    uint64_t x_bits = orri_math_bits(wide_x), x_size = x_bits & ~ORRI_MATH_SIGN;
    double angle;
    if (ORR_UNLIKELY(x_size - 1 >= ORRI_MATH_INFINITY - 1 ||
                     y_size - 1 >= ORRI_MATH_INFINITY - 1)) {
        angle = arc_special(orri_math_double(y_size), wide_x);
        if (angle != angle) {
            return orri_math_nan_float();
        }
    } else {
        bool swap = y_size > x_size;
        double a = orri_math_double(y_size), b = orri_math_double(x_size);
        const arc_base* base = &arc_bases[x_bits >> 63][swap];
        angle = base->high + base->sign * arc_tangent_float((swap ? b : a) / (swap ? a : b));
    }
    return (float)orri_math_double(orri_math_bits(angle) | (y_bits & ORRI_MATH_SIGN));
}

float orr_atanf(float tangent)
{
    double wide = (double)tangent, size = __builtin_fabs(wide), angle;
    if (ORR_UNLIKELY(tangent != tangent)) {
        return orri_math_nan_float();
    }
    if (size <= 1.0) {
        angle = arc_tangent_float(size);
    } else {
        angle = ORRI_MATH_HALF_PI - arc_tangent_float(1.0 / size);
    }
    return (float)__builtin_copysign(angle, wide);
}

// ---- arc sine and arc cosine --------------------------------------------------------------------

// (asin x - x) / x^3 with error 2^-59, for x up to 1/2. The argument is z = x^2.
static inline double arc_sine_poly(double z)
{
    double z2 = z * z, z4 = z2 * z2;
    double a = (0x1.5555555555578p-3 + z * 0x1.333333332df2p-4) +
               z2 * (0x1.6db6db722aaddp-5 + z * 0x1.f1c71a8bf090fp-6);
    double b = (0x1.6e8bdfdc19863p-6 + z * 0x1.1c49ded0458dfp-6) +
               z2 * (0x1.ca212f7df2d87p-7 + z * 0x1.7578419d28606p-7);
    double c = (0x1.618693aeea711p-7 + z * 0x1.e19cbc468be77p-9) +
               z2 * (0x1.64ed53552b221p-6 - z * 0x1.59d83e907f85ap-6);
    return a + z4 * (b + z4 * (c + z4 * 0x1.0bdaa45654ee3p-5));
}

// Half of the arc cosine of x from 1/2 to 1, as a pair: the arc sine of sqrt((1 - x) / 2).
static inline orri_math_pair arc_half(double x)
{
    double square = 0.5 * (1.0 - x); // Exact.
    double root = orr_sqrt(square), upper = orri_math_upper(root);
    double missing = (square - upper * upper) - (root - upper) * (root + upper);
    // The root of 0 has no error.
    double rest = square > 0.0 ? missing / (root + root) : 0.0;
    return (orri_math_pair){root, rest + root * square * arc_sine_poly(square)};
}

double orr_asin(double sine)
{
    uint64_t bits = orri_math_bits(sine), size = bits & ~ORRI_MATH_SIGN;
    if (size < (uint64_t)1022 << 52) {
        double z = sine * sine;
        return size < (uint64_t)(1023 - 27) << 52 ? sine : sine + sine * z * arc_sine_poly(z);
    }
    if (ORR_UNLIKELY(size > (uint64_t)1023 << 52)) {
        return orri_math_nan();
    }
    orri_math_pair half = arc_half(orri_math_double(size));
    double twice = 2.0 * half.high, sum = ORRI_MATH_HALF_PI - twice;
    double lost = (ORRI_MATH_HALF_PI - sum) - twice;
    double angle = sum + (lost + (ORRI_MATH_HALF_PI_2 - 2.0 * half.low));
    return orri_math_double(orri_math_bits(angle) | (bits & ORRI_MATH_SIGN));
}

double orr_acos(double cosine)
{
    uint64_t bits = orri_math_bits(cosine), size = bits & ~ORRI_MATH_SIGN;
    double high = ORRI_MATH_HALF_PI, low = ORRI_MATH_HALF_PI_2, part = cosine, rest;
    if (size < (uint64_t)1022 << 52) {
        double z = cosine * cosine;
        rest = cosine * z * arc_sine_poly(z);
    } else if (ORR_UNLIKELY(size > (uint64_t)1023 << 52)) {
        return orri_math_nan();
    } else {
        orri_math_pair half = arc_half(orri_math_double(size));
        part = 2.0 * half.high;
        rest = 2.0 * half.low;
        if (bits == size) {
            return part + rest;
        }
        high *= 2.0;
        low *= 2.0;
    }
    double sum = high - part;
    return sum + (((high - sum) - part) + (low - rest));
}

// asin x for float, x up to 1/2, relative error 2^-39.
static inline double arc_sine_float(double x, double z)
{
    double z2 = z * z;
    double a = (0x1.555555479ca37p-3 + z * 0x1.333340bbae9fap-4) +
               z2 * (0x1.6db24ece831fap-5 + z * 0x1.f2836b7eac6e5p-6);
    double b = (0x1.66341fbe7ad03p-6 + z * 0x1.527a4945a9eefp-6) +
               z2 * (0x1.fec2e4c4b11a5p-10 + z * 0x1.0ddc193fd23d8p-5);
    return x + x * z * (a + z2 * z2 * b);
}

float orr_asinf(float sine)
{
    double x = (double)sine, size = __builtin_fabs(x);
    if (size < 0.5) {
        return (float)arc_sine_float(x, x * x);
    }
    if (ORR_UNLIKELY(!(size <= 1.0))) {
        return orri_math_nan_float();
    }
    double z = 0.5 * (1.0 - size);
    double angle = ORRI_MATH_HALF_PI - 2.0 * arc_sine_float(orr_sqrt(z), z);
    return (float)__builtin_copysign(angle, x);
}

float orr_acosf(float cosine)
{
    double x = (double)cosine, size = __builtin_fabs(x);
    if (size < 0.5) {
        return (float)(ORRI_MATH_HALF_PI - arc_sine_float(x, x * x));
    }
    if (ORR_UNLIKELY(!(size <= 1.0))) {
        return orri_math_nan_float();
    }
    double z = 0.5 * (1.0 - size);
    double angle = 2.0 * arc_sine_float(orr_sqrt(z), z);
    return (float)(x > 0.0 ? angle : 2.0 * ORRI_MATH_HALF_PI - angle);
}
