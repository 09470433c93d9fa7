// SPDX-License-Identifier: MIT
// Exponentials and logarithms, and from both the power.
//
// e^x is 2^n times 2^(i/64) from a table times e^r with |r| below 1/185. The logarithm of x is the
// sum of the logarithm of 2^n, of a number close to x from a table, and of 1 + r with |r| below
// 1/128; r is exact, see orri_math_log_table. A power needs its logarithm with 68 bits, because
// times 745 the absolute error becomes a relative one: there the square of r is exact too, and the
// sum is a pair.
#include "base/math/detail.h"

// ---- exponential --------------------------------------------------------------------------------

// x = steps * ln 2 / 64 + r.
typedef struct power_steps {
    double r;
    int64_t steps;
} power_steps;

static inline power_steps power_split(double x)
{
    double shifted = x * 0x1.71547652b82fep+6 + 0x1.8p52;
    double steps = shifted - 0x1.8p52;
    return (power_steps){
        // The first product is exact.
        .r = (x - steps * 0x1.62e42fefap-7) - steps * 0x1.cf79abc9e3b3ap-46,
        .steps = (int64_t)(int32_t)(uint32_t)orri_math_bits(shifted),
    };
}

// Scales a number from 1 to 2 by 2^n, for results that are subnormal or close to infinity: rounds
// only once.
ORRI_NOINLINE static double power_scale_far(double value, int64_t n)
{
    return n > 0 ? value * 2.0 * orri_math_scale(n - 1)
                 : value * orri_math_scale(n + 200) * orri_math_scale(-200);
}

// e^r - 1 with error 2^-59.
static inline double power_above_one(double r)
{
    double r2 = r * r;
    return r + r2 * ((0x1.fffffffffdbbcp-2 + r * 0x1.55555555551ecp-3) +
                     r2 * (0x1.555573c21dc69p-5 + r * 0x1.111142a89746dp-7));
}

// 2^(steps / 64) * e^r.
static inline double power_join(double r, int64_t steps)
{
    const orri_math_pair* step = &orri_math_exp_table[steps & 63];
    double value = step->high + (step->low + step->high * power_above_one(r));
    int64_t n = steps >> 6;
    if (ORR_UNLIKELY(n < -1021 || n > 1023)) {
        return power_scale_far(value, n);
    }
    return value * orri_math_scale(n);
}

// The same for float, with relative error 2^-37.
static inline double power_join_float(double r, int64_t steps)
{
    double above = r + r * r * (0x1.000021febf0cap-1 + r * 0x1.555565bfcc03p-3);
    double step = orri_math_exp_table[steps & 63].high;
    return (step + step * above) * orri_math_scale(steps >> 6);
}

// The result for x beyond the range, and for NaN.
ORRI_NOINLINE static double power_end(double x)
{
    return x != x ? orri_math_nan() : x > 0.0 ? __builtin_inf() : 0.0;
}

ORRI_NOINLINE static float power_end_float(double x)
{
    return x != x ? orri_math_nan_float() : x > 0.0 ? __builtin_inff() : 0.0f;
}

double orr_exp(double x)
{
    if (ORR_UNLIKELY(!(x > -746.0 && x < 710.0))) {
        return power_end(x);
    }
    power_steps s = power_split(x);
    return power_join(s.r, s.steps);
}

float orr_expf(float x)
{
    double wide = (double)x; // Converted before anything else, see circle.c.
    if (ORR_UNLIKELY(!(wide > -104.0 && wide < 89.0))) {
        return power_end_float(wide);
    }
    power_steps s = power_split(wide);
    return (float)power_join_float(s.r, s.steps);
}

static inline power_steps power_split_two(double x)
{
    double shifted = x + 0x1.8p46; // The last bit is worth 1/64.
    double steps = shifted - 0x1.8p46;
    return (power_steps){
        .r = (x - steps) * 0x1.62e42fefa39efp-1,
        .steps = (int64_t)(int32_t)(uint32_t)orri_math_bits(shifted),
    };
}

double orr_exp2(double x)
{
    if (ORR_UNLIKELY(!(x > -1076.0 && x < 1024.0))) {
        return power_end(x);
    }
    power_steps s = power_split_two(x);
    return power_join(s.r, s.steps);
}

float orr_exp2f(float x)
{
    double wide = (double)x;
    if (ORR_UNLIKELY(!(wide > -151.0 && wide < 128.0))) {
        return power_end_float(wide);
    }
    power_steps s = power_split_two(wide);
    return (float)power_join_float(s.r, s.steps);
}

// ---- logarithm ----------------------------------------------------------------------------------

// x = 2^n / entry->inverse * (1 + r).
typedef struct power_parts {
    const orri_math_log_entry* entry;
    double r, n;
} power_parts;

// The exponent in the upper bits as a double, by addition: a conversion instruction would wait for
// the old value of its register.
static inline double power_exponent(uint64_t above)
{
    uint64_t n = (uint64_t)((int64_t)above >> 52);
    return orri_math_double(((uint64_t)0x4338 << 48) + n) - 0x1.8p52;
}

// Splits the bits of a normal number. A subnormal number is multiplied by 2^52 before; `n` is then
// -52, else 0.
static inline power_parts power_part(uint64_t bits, double n)
{
    uint64_t above = bits - ORRI_MATH_LOG_START;
    power_parts parts = {
        .entry = &orri_math_log_table[above >> 45 & 127],
        .n = n + power_exponent(above),
    };
    double x = orri_math_double(bits - (above & (uint64_t)0xFFF << 52));
    double high = orri_math_double(orri_math_bits(x) & ~(uint64_t)0xFFFFFFFF);
    parts.r = (high * parts.entry->inverse - 1.0) + (x - high) * parts.entry->inverse;
    return parts;
}

// log(1 + r) = r - r^2 / 2 + r^3 * (this function), with error 2^-72 relative to r.
static inline double power_cubic(double r)
{
    double r2 = r * r;
    return (0x1.5555555555555p-2 - r * 0x1.000000000001ep-2) +
           r2 * ((0x1.99999999a3b1ep-3 - r * 0x1.5555554cec13fp-3) +
                 r2 * ((0x1.2492475160bdcp-3 - r * 0x1.0004c3cc5870fp-3) +
                       r2 * 0x1.c6d70926982e5p-4));
}

// n * POWER_LN2_HIGH and log_high of an entry are multiples of 2^-42, so their sum is exact.
#define POWER_LN2_HIGH 0x1.62e42fefa38p-1
#define POWER_LN2_LOW  0x1.ef35793c7673p-45

// The logarithm with 60 bits after its first.
static inline orri_math_pair power_log(const power_parts* p, double n)
{
    double base = n * POWER_LN2_HIGH + p->entry->log_high, r = p->r;
    double sum = base + r;
    double low = ((base - sum) + r) + (n * POWER_LN2_LOW + p->entry->log_low);
    return (orri_math_pair){sum, low + r * r * (r * power_cubic(r) - 0.5)};
}

// False for numbers without a finite logarithm; *out then receives the result. Scales a subnormal
// number to a normal one.
ORRI_NOINLINE static bool power_log_special(double x, double* out, uint64_t* bits, double* n)
{
    if (x > 0.0 && *bits < ORRI_MATH_INFINITY) {
        *bits = orri_math_bits(x * 0x1p52);
        *n = -52.0;
        return true;
    }
    *out = x == 0.0 ? -__builtin_inf() : x > 0.0 ? x : orri_math_nan();
    return false;
}

static inline bool power_log_begin(double x, double* out, power_parts* parts)
{
    uint64_t bits = orri_math_bits(x);
    double n = 0.0;
    // Below the smallest normal number, or not finite, or negative.
    if (ORR_UNLIKELY(bits - ((uint64_t)1 << 52) >= ORRI_MATH_INFINITY - ((uint64_t)1 << 52)) &&
        !power_log_special(x, out, &bits, &n)) {
        return false;
    }
    *parts = power_part(bits, n);
    return true;
}

double orr_ln(double x)
{
    power_parts parts;
    double out;
    if (!power_log_begin(x, &out, &parts)) {
        return out;
    }
    orri_math_pair log = power_log(&parts, parts.n);
    return log.high + log.low;
}

#define POWER_INVERSE_LN2   0x1.71547652b82fep+0
#define POWER_INVERSE_LN2_2 0x1.777d0ffda0d24p-56

double orr_log2(double x)
{
    power_parts parts;
    double out;
    if (!power_log_begin(x, &out, &parts)) {
        return out;
    }
    orri_math_pair log = power_log(&parts, 0.0);
    double high = log.high * POWER_INVERSE_LN2;
    double low = orri_math_product_rest(log.high, POWER_INVERSE_LN2, high) +
                 (log.high * POWER_INVERSE_LN2_2 + log.low * POWER_INVERSE_LN2);
    double sum = parts.n + high; // If n is not 0, it is the larger of the two.
    return sum + (((parts.n - sum) + high) + low);
}

// The same for float: with 24 bits the product with the inverse is exact without a split.
static inline power_parts power_part_float(double x)
{
    uint64_t bits = orri_math_bits(x), above = bits - ORRI_MATH_LOG_START;
    const orri_math_log_entry* entry = &orri_math_log_table[above >> 45 & 127];
    double near = orri_math_double(bits - (above & (uint64_t)0xFFF << 52));
    return (power_parts){
        .entry = entry,
        .r = near * entry->inverse - 1.0,
        .n = power_exponent(above),
    };
}

// The logarithm for float, with relative error 2^-45.
static inline double power_log_float(const power_parts* p, double n)
{
    double r = p->r, r2 = r * r;
    double cubic = (0x1.55555552b33cap-2 - r * 0x1.000000d355d14p-2) +
                   r2 * (0x1.999ed606fdfb4p-3 - r * 0x1.54ae7dec1aep-3);
    double low = r2 * (r * cubic - 0.5) + p->entry->log_low;
    return (n * 0x1.62e42fefa39efp-1 + p->entry->log_high) + (r + low);
}

static inline bool power_log_usual_float(double x)
{
    return x > 0.0 && x < __builtin_inf();
}

ORRI_NOINLINE static float power_log_special_float(double x)
{
    return x == 0.0 ? -__builtin_inff() : x > 0.0 ? __builtin_inff() : orri_math_nan_float();
}

float orr_lnf(float x)
{
    double wide = (double)x;
    if (ORR_UNLIKELY(!power_log_usual_float(wide))) {
        return power_log_special_float(wide);
    }
    power_parts parts = power_part_float(wide);
    return (float)power_log_float(&parts, parts.n);
}

float orr_log2f(float x)
{
    double wide = (double)x;
    if (ORR_UNLIKELY(!power_log_usual_float(wide))) {
        return power_log_special_float(wide);
    }
    power_parts parts = power_part_float(wide);
    return (float)(parts.n + power_log_float(&parts, 0.0) * POWER_INVERSE_LN2);
}

// ---- power --------------------------------------------------------------------------------------

// The logarithm with 68 bits after its first.
static inline orri_math_pair power_log_long(const power_parts* p)
{
    double base = p->n * POWER_LN2_HIGH + p->entry->log_high, r = p->r;
    double sum = base + r;
    double low = ((base - sum) + r) + (p->n * POWER_LN2_LOW + p->entry->log_low);
    double upper = orri_math_upper(r);
    double square = 0.5 * upper * upper;
    double square_low = 0.5 * (r - upper) * (r + upper);
    double less = sum - square;
    low += ((sum - less) - square) + (r * r * r * power_cubic(r) - square_low);
    double high = less + low;
    return (orri_math_pair){high, (less - high) + low};
}

// 0: y is not a whole number; 1: it is odd; 2: it is even. y is finite.
static uint32_t power_whole(uint64_t y_bits)
{
    uint32_t exponent = (uint32_t)(y_bits >> 52 & 0x7FF);
    if (exponent < 1023) {
        return (y_bits << 1) == 0 ? 2 : 0;
    }
    if (exponent > 1023 + 52) {
        return 2;
    }
    uint64_t unit = (uint64_t)1 << (1023 + 52 - exponent);
    if ((y_bits & (unit - 1)) != 0) {
        return 0;
    }
    return exponent == 1023 || (y_bits & unit) != 0 ? 1 : 2;
}

// The special cases of Annex F of the C standard: x or y is 0, infinite or NaN, or x is 1.
ORRI_NOINLINE static double power_special(double x, double y)
{
    uint64_t x_size = orri_math_bits(x) & ~ORRI_MATH_SIGN, y_bits = orri_math_bits(y);
    uint64_t y_size = y_bits & ~ORRI_MATH_SIGN;
    if (x == 1.0 || y_size == 0) {
        return 1.0;
    }
    if (x_size > ORRI_MATH_INFINITY || y_size > ORRI_MATH_INFINITY) {
        return orri_math_nan();
    }
    bool shrinks = y_bits >> 63 != 0;
    if (y_size == ORRI_MATH_INFINITY) {
        double one = 1.0;
        if (x_size == orri_math_bits(one)) {
            return one;
        }
        return (x_size > orri_math_bits(one)) != shrinks ? __builtin_inf() : 0.0;
    }
    double size = (x_size == 0) == shrinks ? __builtin_inf() : 0.0;
    return orri_math_bits(x) >> 63 != 0 && power_whole(y_bits) == 1 ? -size : size;
}

// e^(y * log), times the sign of the result.
static double power_raise(orri_math_pair log, double y, double sign)
{
    double high = y * log.high;
    if (ORR_UNLIKELY(!(high > -746.0 && high < 710.0))) {
        return high > 0.0 ? sign * __builtin_inf() : sign * 0.0;
    }
    double low = orri_math_product_rest(y, log.high, high) + y * log.low;
    power_steps s = power_split(high);
    return sign * power_join(s.r + low, s.steps);
}

// The sign of a negative number to the power y; 0: the power is not a real number.
ORRI_NOINLINE static double power_sign(double y)
{
    static const double signs[3] = {0.0, -1.0, 1.0};
    return signs[power_whole(orri_math_bits(y))];
}

static inline bool power_usual(uint64_t x_size, uint64_t y_size)
{
    return x_size - 1 < ORRI_MATH_INFINITY - 1 && y_size - 1 < ORRI_MATH_INFINITY - 1;
}

double orr_pow(double x, double y)
{
    uint64_t x_bits = orri_math_bits(x), x_size = x_bits & ~ORRI_MATH_SIGN;
    uint64_t y_size = orri_math_bits(y) & ~ORRI_MATH_SIGN;
    if (ORR_UNLIKELY(!power_usual(x_size, y_size))) {
        return power_special(x, y);
    }
    double sign = 1.0, n = 0.0;
    if (ORR_UNLIKELY(x_bits != x_size)) {
        sign = power_sign(y);
        if (sign == 0.0) {
            return orri_math_nan();
        }
    }
    // |y| is so large that every power but that of 1 is 0 or infinite, or so small that all are 1.
    if (ORR_UNLIKELY(y_size - ((uint64_t)(1023 - 65) << 52) >= (uint64_t)130 << 52)) {
        bool large = y_size > (uint64_t)1023 << 52;
        if (!large || x_size == (uint64_t)1023 << 52) {
            return sign;
        }
        return (x_size > (uint64_t)1023 << 52) == (y > 0.0) ? sign * __builtin_inf() : sign * 0.0;
    }
    if (ORR_UNLIKELY(x_size < (uint64_t)1 << 52)) {
        x_size = orri_math_bits(orri_math_double(x_size) * 0x1p52);
        n = -52.0;
    }
    power_parts parts = power_part(x_size, n);
    return power_raise(power_log_long(&parts), y, sign);
}

float orr_powf(float x, float y)
{
    double wide_x = (double)x, wide_y = (double)y;
    uint64_t x_bits = orri_math_bits(wide_x), x_size = x_bits & ~ORRI_MATH_SIGN;
    if (ORR_UNLIKELY(!power_usual(x_size, orri_math_bits(wide_y) & ~ORRI_MATH_SIGN))) {
        double special = power_special(wide_x, wide_y);
        return special == special ? (float)special : orri_math_nan_float();
    }
    double sign = 1.0;
    if (ORR_UNLIKELY(x_bits != x_size)) {
        sign = power_sign(wide_y);
        if (sign == 0.0) {
            return orri_math_nan_float();
        }
    }
    power_parts parts = power_part_float(orri_math_double(x_size));
    double exponent = wide_y * power_log_float(&parts, parts.n);
    if (ORR_UNLIKELY(!(exponent > -104.0 && exponent < 89.0))) {
        return exponent > 0.0 ? (float)sign * __builtin_inff() : (float)sign * 0.0f;
    }
    power_steps s = power_split(exponent);
    return (float)(sign * power_join_float(s.r, s.steps));
}

#undef POWER_LN2_HIGH
#undef POWER_LN2_LOW
#undef POWER_INVERSE_LN2
#undef POWER_INVERSE_LN2_2
