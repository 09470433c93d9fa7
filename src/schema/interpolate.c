// SPDX-License-Identifier: MIT
// Interpolates between two states of a value, as the schema says: numbers linearly, quaternions
// along the sphere. Everything else keeps the earlier value until the later state is reached.
#include "schema/field_walk.h"
#include <orrery/math.h>

typedef struct interpolate_pair {
    uint8_t* value;       // The earlier value; replaced by the result.
    const uint8_t* later; // The later value.
    double share;         // 0: the earlier value, 1: the later value.
} interpolate_pair;

static bool interpolate_finite(double x)
{
    return x - x == 0;
}

// ---- numbers ------------------------------------------------------------------------------------

static double interpolate_number(double a, double b, double share)
{
    bool steps = a == b || !interpolate_finite(a) || !interpolate_finite(b);
    return steps ? a : a * (1 - share) + b * share;
}

static void interpolate_float(uint8_t* value, const uint8_t* later, bool wide, double share)
{
    if (wide) {
        double a, b;
        memcpy(&a, value, sizeof a);
        memcpy(&b, later, sizeof b);
        a = interpolate_number(a, b, share);
        memcpy(value, &a, sizeof a);
        return;
    }
    float a, b;
    memcpy(&a, value, sizeof a);
    memcpy(&b, later, sizeof b);
    a = (float)interpolate_number((double)a, (double)b, share);
    memcpy(value, &a, sizeof a);
}

// Rounds to the nearest integer; a tie goes to the later value. The difference of any two integers
// fits an unsigned integer.
static void interpolate_integer(uint8_t* value, const uint8_t* later, const orr_type_info* type,
                                double share)
{
    bool is_signed = type->kind <= ORR_KIND_I64;
    uint64_t a = is_signed ? (uint64_t)orri_load_signed(value, type->size)
                           : orri_load_unsigned(value, type->size);
    uint64_t b = is_signed ? (uint64_t)orri_load_signed(later, type->size)
                           : orri_load_unsigned(later, type->size);
    bool falls = is_signed ? (int64_t)b < (int64_t)a : b < a;
    uint64_t whole = falls ? a - b : b - a;
    double part = (double)whole * share + 0.5;
    uint64_t step = part < 18446744073709549568.0 ? (uint64_t)part : whole;
    step = step < whole ? step : whole;
    a = falls ? a - step : a + step;
    orri_store(value, type->size, a);
}

// ---- quaternions --------------------------------------------------------------------------------

static void interpolate_load(double out[4], const uint8_t* from, bool wide)
{
    for (uint32_t i = 0; i < 4; i++) {
        if (wide) {
            memcpy(&out[i], from + i * 8, 8);
        } else {
            float number;
            memcpy(&number, from + i * 4, 4);
            out[i] = (double)number;
        }
    }
}

static void interpolate_store(uint8_t* to, const double q[4], bool wide)
{
    for (uint32_t i = 0; i < 4; i++) {
        float number = (float)q[i];
        memcpy(to + (size_t)i * (wide ? 8 : 4), wide ? (const void*)&q[i] : (const void*)&number,
               wide ? 8 : 4);
    }
}

static double interpolate_dot(const double a[4], const double b[4])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}

// False: the quaternion has no direction (its length is 0 or not finite).
static bool interpolate_normalise(double q[4])
{
    double length = orr_sqrt(interpolate_dot(q, q));
    if (!(length > 0) || !interpolate_finite(length)) {
        return false;
    }
    for (uint32_t i = 0; i < 4; i++) {
        q[i] /= length;
    }
    return true;
}

// Above this cosine the sine is too small to divide by, and linear interpolation is as good.
#define INTERPOLATE_CLOSE 0.9995

static void interpolate_quaternion(uint8_t* value, const uint8_t* later, bool wide, double share)
{
    double a[4], b[4];
    interpolate_load(a, value, wide);
    interpolate_load(b, later, wide);
    if (!interpolate_normalise(a) || !interpolate_normalise(b)) {
        return; // Not a rotation: the earlier value stays.
    }
    double cosine = interpolate_dot(a, b), of_a = 1 - share, of_b = share;
    double sign = cosine < 0 ? -1 : 1; // q and -q are the same rotation: takes the shorter way.
    cosine *= sign;
    if (cosine < INTERPOLATE_CLOSE) {
        double angle = orr_acos(cosine), sine = orr_sin(angle);
        of_a = orr_sin(angle * (1 - share)) / sine;
        of_b = orr_sin(angle * share) / sine;
    }
    for (uint32_t i = 0; i < 4; i++) {
        a[i] = a[i] * of_a + b[i] * (of_b * sign);
    }
    if (interpolate_normalise(a)) {
        interpolate_store(value, a, wide);
    }
}

// ---- values -------------------------------------------------------------------------------------

static bool interpolate_span(void* user, const orri_field_span* grain)
{
    const interpolate_pair* p = user;
    orr_kind kind = grain->type->kind;
    bool floats = kind == ORR_KIND_F32 || kind == ORR_KIND_F64, wide = kind == ORR_KIND_F64;
    bool integers = kind >= ORR_KIND_I8 && kind <= ORR_KIND_U64 &&
                    grain->how == ORR_INTERPOLATION_LINEAR;
    if (grain->how == ORR_INTERPOLATION_STEPWISE || (!floats && !integers)) {
        return true;
    }
    if (grain->quaternion) {
        interpolate_quaternion(p->value + grain->offset, p->later + grain->offset, wide, p->share);
        return true;
    }
    for (uint32_t i = 0; i < grain->count; i++) {
        uint32_t at = grain->offset + i * grain->type->size;
        if (floats) {
            interpolate_float(p->value + at, p->later + at, wide, p->share);
        } else {
            interpolate_integer(p->value + at, p->later + at, grain->type, p->share);
        }
    }
    return true;
}

void orri_value_interpolate(const orr_type_info* type, void* value, const void* later, double share)
{
    interpolate_pair pair = {value, later, share};
    (void)orri_field_walk(type, interpolate_span, &pair);
}

#undef INTERPOLATE_CLOSE
