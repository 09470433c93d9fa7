// SPDX-License-Identifier: MIT
// Exact functions that need more than a line: remainder and square root by integers.
#include "base/math/detail.h"

// A finite number above 0 as mantissa * 2^exponent with a mantissa of 53 bits.
typedef struct math_parts {
    uint64_t mantissa;
    int32_t exponent;
} math_parts;

static math_parts math_part(uint64_t bits)
{
    uint64_t mantissa = bits & (((uint64_t)1 << 52) - 1);
    int32_t exponent = (int32_t)(bits >> 52);
    if (exponent > 0) {
        return (math_parts){mantissa | (uint64_t)1 << 52, exponent - 1075};
    }
    int32_t zeros = __builtin_clzll(mantissa) - 11;
    return (math_parts){mantissa << zeros, -1074 - zeros};
}

double orr_fmod(double x, double y)
{
    uint64_t sign = orri_math_bits(x) & ORRI_MATH_SIGN, x_size = orri_math_bits(x) ^ sign;
    uint64_t y_size = orri_math_bits(y) & ~ORRI_MATH_SIGN;
    if (x_size >= ORRI_MATH_INFINITY || y_size == 0 || y_size > ORRI_MATH_INFINITY) {
        return orri_math_nan();
    }
    if (x_size < y_size) {
        return x;
    }
    math_parts a = math_part(x_size), b = math_part(y_size);
    // Long division, 11 bits at a time.
    uint64_t rest = a.mantissa % b.mantissa;
    for (int32_t left = a.exponent - b.exponent; left > 0; left -= 11) {
        rest = (rest << (left < 11 ? left : 11)) % b.mantissa;
    }
    // Less than y and a multiple of its last bit: exact, also where the result is subnormal.
    double value = (double)(int64_t)rest;
    if (b.exponent < -800) {
        value *= 0x1p-200;
        b.exponent += 200;
    }
    value *= orri_math_scale(b.exponent);
    return orri_math_double(orri_math_bits(value) | sign);
}

float orr_fmodf(float x, float y)
{
    double rest = orr_fmod((double)x, (double)y);
    return rest == rest ? (float)rest : orri_math_nan_float();
}

double orr_sqrt_by_digits(double x)
{
    uint64_t bits = orri_math_bits(x);
    if ((bits & ~ORRI_MATH_SIGN) == 0 || bits == ORRI_MATH_INFINITY) {
        return x;
    }
    if (bits > ORRI_MATH_INFINITY) {
        return orri_math_nan();
    }
    math_parts parts = math_part(bits);
    // An even exponent, and 108 bits for 54 bits of the root.
    uint32_t odd = (uint32_t)parts.exponent & 1;
    __extension__ typedef unsigned __int128 u128;
    u128 left = (u128)parts.mantissa << (54 + odd);
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t)1 << 54; bit > 0; bit >>= 1) {
        uint64_t tried = root | bit;
        if ((u128)tried * tried <= left) {
            root = tried;
        }
    }
    // Rounds away the extra bit. There is never a tie: the square of such a root has too many bits.
    root += root & 1;
    return (double)(int64_t)root * orri_math_scale((parts.exponent - 54 - (int32_t)odd) / 2);
}
