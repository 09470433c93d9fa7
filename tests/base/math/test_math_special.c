// SPDX-License-Identifier: MIT
// The values that the C standard (Annex F) requires for zeros, infinities, NaNs and exact cases.
// Results are compared as bits, so that the sign of zero counts and all NaNs are equal. The exact
// functions are compared with their definitions.
#include "test.h"

#include "base/math/detail.h"
#include <math.h>

static const double inf = __builtin_inf();
static const float inff = __builtin_inff();

static double special_nan(uint64_t payload, bool minus)
{
    return orri_math_double(ORRI_MATH_INFINITY | payload | (minus ? ORRI_MATH_SIGN : 0));
}

// Several NaNs: quiet, with a sign, with a payload.
static const uint64_t special_payloads[] = {(uint64_t)1 << 51, (uint64_t)3 << 50, 0xABCDEFFFFFFFFu};

static bool special_same(double actual, double expected)
{
    return orri_math_bits(actual) == orri_math_bits(expected);
}

#define SAME(actual, expected)                                                                 \
    do {                                                                                       \
        double same_a = (actual), same_e = (expected);                                         \
        if (!special_same(same_a, same_e)) {                                                   \
            test_fail(__FILE__, __LINE__, "%s is %a (0x%016" PRIx64 "), expected %a", #actual, \
                      same_a, orri_math_bits(same_a), same_e);                                 \
        }                                                                                      \
    } while (0)
// Float and double, for values that are the same in both.
#define BOTH(name, x, expected)                                             \
    do {                                                                    \
        SAME(orr_##name(x), expected);                                      \
        SAME((double)orr_##name##f((float)(x)), (double)(float)(expected)); \
    } while (0)
#define BOTH_2(name, x, y, expected)                                                    \
    do {                                                                                \
        SAME(orr_##name(x, y), expected);                                               \
        SAME((double)orr_##name##f((float)(x), (float)(y)), (double)(float)(expected)); \
    } while (0)
// The result is NaN, with the expected bits.
#define NONE_DOUBLE(actual) CHECK(orri_math_bits(actual) == 0x7FF8000000000000u)
#define NONE_FLOAT(actual)  CHECK(orri_math_bits_float(actual) == 0x7FC00000u)
#define NONE(name, x)                          \
    do {                                       \
        NONE_DOUBLE(orr_##name(x));            \
        NONE_FLOAT(orr_##name##f((float)(x))); \
    } while (0)
#define NONE_2(name, x, y)                                 \
    do {                                                   \
        NONE_DOUBLE(orr_##name(x, y));                     \
        NONE_FLOAT(orr_##name##f((float)(x), (float)(y))); \
    } while (0)

ORR_TEST(math_nan_argument_returns_the_canonical_nan)
{
    for (uint32_t i = 0; i < 2 * ORRI_COUNT(special_payloads); i++) {
        double x = special_nan(special_payloads[i / 2], i % 2 != 0);
        NONE(sin, x);
        NONE(cos, x);
        NONE(tan, x);
        NONE(asin, x);
        NONE(acos, x);
        NONE(atan, x);
        NONE(exp, x);
        NONE(exp2, x);
        NONE(ln, x);
        NONE(log2, x);
        NONE(sqrt, x);
        NONE(floor, x);
        NONE(ceil, x);
        NONE(trunc, x);
        NONE(round, x);
        NONE(rint, x);
        NONE_DOUBLE(orr_sqrt_by_digits(x));
        static const double others[] = {0.0,      1.0, -2.5, 3.0, __builtin_inf(), -__builtin_inf(),
                                        0x1p-1060};
        for (uint32_t k = 0; k < ORRI_COUNT(others); k++) {
            NONE_2(atan2, x, others[k]);
            NONE_2(atan2, others[k], x);
            NONE_2(fmod, x, others[k]);
            NONE_2(fmod, others[k], x);
            if (others[k] != 0.0 && (float)others[k] != 0.0f) {
                NONE_2(pow, x, others[k]);
            }
            if (others[k] != 1.0) {
                NONE_2(pow, others[k], x);
            }
        }
        double s = 0, c = 0;
        orr_sincos(x, &s, &c);
        NONE_DOUBLE(s);
        NONE_DOUBLE(c);
        float sf = 0, cf = 0;
        orr_sincosf((float)x, &sf, &cf);
        NONE_FLOAT(sf);
        NONE_FLOAT(cf);
    }
}

ORR_TEST(math_angles_have_their_special_values)
{
    double s, c;
    for (double sign = -1; sign <= 1; sign += 2) {
        BOTH(sin, sign * 0.0, sign * 0.0);
        BOTH(cos, sign * 0.0, 1.0);
        BOTH(tan, sign * 0.0, sign * 0.0);
        NONE(sin, sign * inf);
        NONE(cos, sign * inf);
        NONE(tan, sign * inf);
        SAME(orr_sin(sign * 0x1p-1074), sign * 0x1p-1074);
        SAME(orr_tan(sign * 0x1p-1074), sign * 0x1p-1074);
        SAME((double)orr_sinf((float)sign * 0x1p-149f), sign * 0x1p-149);
        orr_sincos(sign * 0.0, &s, &c);
        SAME(s, sign * 0.0);
        SAME(c, 1.0);
        BOTH(asin, sign * 0.0, sign * 0.0);
        BOTH(asin, sign * 1.0, sign * 0x1.921fb54442d18p+0);
        BOTH(acos, sign * 0.0, 0x1.921fb54442d18p+0);
        BOTH(atan, sign * 0.0, sign * 0.0);
        BOTH(atan, sign * 1.0, sign * 0x1.921fb54442d18p-1);
        BOTH(atan, sign * inf, sign * 0x1.921fb54442d18p+0);
        SAME(orr_atan(sign * 0x1p-1074), sign * 0x1p-1074);
        SAME(orr_asin(sign * 0x1p-1074), sign * 0x1p-1074);
        NONE(asin, sign * 1.5);
        NONE(acos, sign * 1.5);
        NONE(asin, sign * inf);
        NONE(acos, sign * inf);
        NONE_DOUBLE(orr_asin(sign * 0x1.0000000000001p0));
        NONE_DOUBLE(orr_acos(sign * 0x1.0000000000001p0));
    }
    BOTH(acos, 1.0, 0.0);
    BOTH(acos, -1.0, 0x1.921fb54442d18p+1);
}

ORR_TEST(math_atan2_has_its_special_values)
{
    const double pi = 0x1.921fb54442d18p+1, half = pi / 2, steep = 0x1.2d97c7f3321d2p+1;
    for (double sign = -1; sign <= 1; sign += 2) {
        BOTH_2(atan2, sign * 0.0, -0.0, sign * pi);
        BOTH_2(atan2, sign * 0.0, 0.0, sign * 0.0);
        BOTH_2(atan2, sign * 0.0, -3.0, sign * pi);
        BOTH_2(atan2, sign * 0.0, 3.0, sign * 0.0);
        BOTH_2(atan2, sign * 0.0, -inf, sign * pi);
        BOTH_2(atan2, sign * 0.0, inf, sign * 0.0);
        BOTH_2(atan2, sign * 3.0, 0.0, sign * half);
        BOTH_2(atan2, sign * 3.0, -0.0, sign * half);
        BOTH_2(atan2, sign * 3.0, -inf, sign * pi);
        BOTH_2(atan2, sign * 3.0, inf, sign * 0.0);
        BOTH_2(atan2, sign * inf, 3.0, sign * half);
        BOTH_2(atan2, sign * inf, -3.0, sign * half);
        BOTH_2(atan2, sign * inf, 0.0, sign * half);
        BOTH_2(atan2, sign * inf, -inf, sign * steep);
        BOTH_2(atan2, sign * inf, inf, sign * pi / 4);
        BOTH_2(atan2, sign * 2.0, 2.0, sign * pi / 4);
        BOTH_2(atan2, sign * 2.0, -2.0, sign * steep);
        SAME(orr_atan2(sign * 0x1p-1074, 0x1p1023), sign * 0.0);
        SAME(orr_atan2(sign * 0x1p-1074, -0x1p1023), sign * pi);
        SAME(orr_atan2(sign * 0x1p1023, -0x1p-1074), sign * half);
        SAME(orr_atan2(sign * 0x1p-1074, 0x1p-1074), sign * pi / 4);
        SAME(orr_atan2(sign * 0x1.8p1023, -0x1.8p1023), sign * steep);
        SAME(orr_atan2(sign * 0x1p-1074, 1.0), sign * 0x1p-1074);
    }
}

ORR_TEST(math_exponentials_have_their_special_values)
{
    BOTH(exp, 0.0, 1.0);
    BOTH(exp, -0.0, 1.0);
    BOTH(exp, inf, inf);
    BOTH(exp, -inf, 0.0);
    BOTH(exp, 1e6, inf);
    BOTH(exp, -1e6, 0.0);
    SAME(orr_exp(0x1.62e42fefa39efp+9),
         0x1.fffffffffff2ap+1023); // The last argument with a finite result.
    SAME(orr_exp(0x1.62e42fefa39f0p+9), inf);
    SAME(orr_exp(-745.13), 0x1p-1074);
    SAME(orr_exp(-745.14), 0.0);
    SAME(orr_exp(0x1p-1074), 1.0);
    BOTH(exp2, 0.0, 1.0);
    BOTH(exp2, -0.0, 1.0);
    BOTH(exp2, inf, inf);
    BOTH(exp2, -inf, 0.0);
    BOTH(exp2, 1024.0, inf);
    BOTH(exp2, -1076.0, 0.0);
    SAME(orr_exp2(-1075.0), 0.0);
    SAME(orr_exp2(-0x1.0cbffffffffffp+10), 0x1p-1074);
    SAME((double)orr_exp2f(-149.0f), 0x1p-149);
    SAME((double)orr_exp2f(-150.0f), 0.0);
    SAME((double)orr_exp2f(128.0f), inf);
    for (int n = -1074; n < 1024; n++) {
        SAME(orr_exp2((double)n), ldexp(1.0, n));
        SAME(orr_log2(ldexp(1.0, n)), (double)n);
    }
    for (int n = -149; n < 128; n++) {
        SAME((double)orr_exp2f((float)n), ldexp(1.0, n));
        SAME((double)orr_log2f((float)ldexp(1.0, n)), (double)n);
    }
}

ORR_TEST(math_logarithms_and_roots_have_their_special_values)
{
    BOTH(ln, 1.0, 0.0);
    BOTH(ln, 0.0, -inf);
    BOTH(ln, -0.0, -inf);
    BOTH(ln, inf, inf);
    NONE(ln, -1.0);
    NONE(ln, -inf);
    NONE_DOUBLE(orr_ln(-0x1p-1074));
    BOTH(log2, 1.0, 0.0);
    BOTH(log2, 0.0, -inf);
    BOTH(log2, -0.0, -inf);
    BOTH(log2, inf, inf);
    NONE(log2, -1.0);
    NONE(log2, -inf);
    BOTH(sqrt, 0.0, 0.0);
    BOTH(sqrt, -0.0, -0.0);
    BOTH(sqrt, 4.0, 2.0);
    BOTH(sqrt, inf, inf);
    NONE(sqrt, -1.0);
    NONE(sqrt, -inf);
    SAME(orr_sqrt(0x1p-1074), 0x1p-537);
    SAME(orr_sqrt_by_digits(0x1p-1074), 0x1p-537);
    SAME(orr_sqrt_by_digits(-0.0), -0.0);
    SAME(orr_sqrt_by_digits(inf), inf);
    NONE_DOUBLE(orr_sqrt_by_digits(-1.0));
    NONE_DOUBLE(orr_sqrt_by_digits(-inf));
}

// ---- power --------------------------------------------------------------------------------------

ORR_TEST(math_pow_of_zero_and_infinity_has_its_special_values)
{
    for (double sign = -1; sign <= 1; sign += 2) {
        double zero = sign * 0.0;
        BOTH_2(pow, zero, -3.0, sign * inf); // Odd and negative.
        BOTH_2(pow, zero, -2.0, inf);
        BOTH_2(pow, zero, -2.5, inf);
        BOTH_2(pow, zero, -inf, inf);
        BOTH_2(pow, zero, 3.0, zero);
        BOTH_2(pow, zero, 2.0, 0.0);
        BOTH_2(pow, zero, 2.5, 0.0);
        BOTH_2(pow, zero, inf, 0.0);
        BOTH_2(pow, sign * inf, -3.0, sign < 0 ? -0.0 : 0.0);
        BOTH_2(pow, sign * inf, -2.0, 0.0);
        BOTH_2(pow, sign * inf, -0.5, 0.0);
        BOTH_2(pow, sign * inf, 3.0, sign * inf);
        BOTH_2(pow, sign * inf, 2.0, inf);
        BOTH_2(pow, sign * inf, 0.5, inf);
        BOTH_2(pow, sign * inf, inf, inf);
        BOTH_2(pow, sign * inf, -inf, 0.0);
        BOTH_2(pow, sign * 0.5, -inf, inf);
        BOTH_2(pow, sign * 0.5, inf, 0.0);
        BOTH_2(pow, sign * 2.0, -inf, 0.0);
        BOTH_2(pow, sign * 2.0, inf, inf);
    }
    BOTH_2(pow, -1.0, inf, 1.0);
    BOTH_2(pow, -1.0, -inf, 1.0);
}

ORR_TEST(math_pow_of_base_one_or_exponent_zero_is_one)
{
    static const double any[] = {0.0, -0.0, 1.0, -1.0, 2.5, 0x1p-1074, 0x1p1023, __builtin_inf()};
    for (uint32_t i = 0; i < ORRI_COUNT(any); i++) {
        BOTH_2(pow, 1.0, any[i], 1.0);
        BOTH_2(pow, 1.0, -any[i], 1.0);
        BOTH_2(pow, any[i], 0.0, 1.0);
        BOTH_2(pow, -any[i], -0.0, 1.0);
    }
    double none = special_nan(special_payloads[0], true);
    BOTH_2(pow, 1.0, none, 1.0);
    BOTH_2(pow, none, 0.0, 1.0);
    BOTH_2(pow, none, -0.0, 1.0);
}

ORR_TEST(math_pow_of_negative_numbers_is_nan_unless_the_exponent_is_whole)
{
    NONE_2(pow, -2.0, 0.5);
    NONE_2(pow, -2.0, -2.5);
    NONE_2(pow, -0.1, 1e-30);
    NONE_DOUBLE(orr_pow(-2.0, 0x1p-1074));
    BOTH_2(pow, -2.0, 3.0, -8.0);
    BOTH_2(pow, -2.0, 4.0, 16.0);
    BOTH_2(pow, -2.0, -1.0, -0.5);
    BOTH_2(pow, -1.0, 0x1p60, 1.0);
    SAME(orr_pow(-1.0, 0x1.fffffffffffffp+52), -1.0); // The largest odd number.
    SAME(orr_pow(-1.0, 0x1p53), 1.0);
    SAME(orr_pow(-1.0, 0x1p1023), 1.0);
    SAME(orr_pow(-2.0, 0x1p1023), inf);
    SAME(orr_pow(-0.5, 0x1p1023), 0.0);
    SAME(orr_pow(-2.0, 1025.0), -inf);
    SAME(orr_pow(-2.0, -1077.0), -0.0);
    SAME((double)orr_powf(-2.0f, 129.0f), -inf);
    SAME((double)orr_powf(-2.0f, -151.0f), -0.0);
}

ORR_TEST(math_pow_at_the_ends_of_its_range_is_exact)
{
    SAME(orr_pow(2.0, 1024.0), inf);
    SAME(orr_pow(2.0, -1075.0), 0.0);
    SAME(orr_pow(3.0, 0x1p-70), 1.0);
    SAME(orr_pow(0x1.fffffffffffffp-1, 0x1p70), 0.0);
    SAME(orr_pow(0x1.fffffffffffffp-1, -0x1p70), inf);
    SAME(orr_pow(0x1.0000000000001p0, 0x1p70), inf);
    SAME(orr_pow(0x1.0000000000001p0, -0x1p70), 0.0);
    SAME(orr_pow(0x1.fffffffffffffp1023, 1.0), 0x1.fffffffffffffp1023);
    SAME(orr_pow(0x1p-1074, -1.0), inf);
    SAME(orr_pow(0x1p-1074, 0.5), 0x1p-537);
    SAME((double)orr_powf(2.0f, 128.0f), (double)inff);
    SAME((double)orr_powf(2.0f, -149.0f), 0x1p-149);
    SAME((double)orr_powf(0x1p-149f, 1.0f), 0x1p-149);
}

// ---- exact functions ----------------------------------------------------------------------------

ORR_TEST(math_fmod_has_its_special_values)
{
    for (double sign = -1; sign <= 1; sign += 2) {
        BOTH_2(fmod, sign * 0.0, 3.0, sign * 0.0);
        BOTH_2(fmod, sign * 5.5, 2.0, sign * 1.5);
        BOTH_2(fmod, sign * 5.5, -2.0, sign * 1.5);
        BOTH_2(fmod, sign * 6.0, 2.0, sign * 0.0);
        BOTH_2(fmod, sign * 1.5, inf, sign * 1.5);
        BOTH_2(fmod, sign * 1.5, -inf, sign * 1.5);
        NONE_2(fmod, sign * inf, 2.0);
        NONE_2(fmod, sign * 1.0, 0.0);
        NONE_2(fmod, sign * 1.0, -0.0);
        NONE_2(fmod, sign * inf, inf);
        SAME(orr_fmod(sign * 0x1p1023, 0x1p-1073), sign * 0.0);
        SAME(orr_fmod(sign * 0x1.8p-1072, 0x1p-1072), sign * 0x1p-1073);
    }
}

ORR_TEST(math_exact_functions_equal_those_of_the_c_library)
{
    uint32_t count = test_slow() ? 20000 : 400000;
    for (uint32_t i = 0; i < count; i++) {
        double x = orri_math_double(test_random()), y = orri_math_double(test_random());
        if (i % 2 == 0) {
            x = (orr_random_double(test_random()) - 0.5) * 64.0;
            x = i % 4 == 0 ? nearbyint(x) * 0.5 : x; // Halves.
        }
        y = i % 8 == 0 ? x * orr_random_double(test_random()) * 0x1p-40 : y;
        if (isnan(x) || isnan(y)) {
            continue;
        }
        SAME(orr_floor(x), floor(x));
        SAME(orr_ceil(x), ceil(x));
        SAME(orr_trunc(x), trunc(x));
        SAME(orr_round(x), round(x));
        SAME(orr_rint(x), nearbyint(x));
        float xf = (float)x, yf = (float)y;
        SAME((double)orr_floorf(xf), (double)floorf(xf));
        SAME((double)orr_ceilf(xf), (double)ceilf(xf));
        SAME((double)orr_truncf(xf), (double)truncf(xf));
        SAME((double)orr_roundf(xf), (double)roundf(xf));
        SAME((double)orr_rintf(xf), (double)nearbyintf(xf));
        if (!isinf(x) && y != 0.0) {
            SAME(orr_fmod(x, y), fmod(x, y));
        }
        if (!isinf(xf) && yf != 0.0f) {
            SAME((double)orr_fmodf(xf, yf), (double)fmodf(xf, yf));
        }
    }
}

ORR_TEST(math_rounding_at_the_edges_equals_the_c_library)
{
    static const double edges[] = {
        0.0,         0.25,   0.5,        0.75,   1.0,    0x1p51,   0x1p51 + .5,
        0x1p52 - .5, 0x1p52, 0x1p52 + 1, 0x1p53, 0x1p63, 0x1p1023, 0x1.fffffffffffffp-2};
    for (uint32_t i = 0; i < ORRI_COUNT(edges); i++) {
        for (double x = edges[i], k = 0; k < 2; x = -x, k++) {
            SAME(orr_floor(x), floor(x));
            SAME(orr_ceil(x), ceil(x));
            SAME(orr_trunc(x), trunc(x));
            SAME(orr_round(x), round(x));
            SAME(orr_rint(x), nearbyint(x));
        }
    }
    SAME(orr_floor(inf), inf);
    SAME(orr_ceil(-inf), -inf);
    SAME(orr_round(inf), inf);
    SAME(orr_trunc(-inf), -inf);
}
