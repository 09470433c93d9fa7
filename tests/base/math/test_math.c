// SPDX-License-Identifier: MIT
// Errors of the mathematical functions, in units of the last place, compared with the long double
// functions of the C library, over dense samples of their usual ranges, of all doubles, and of
// difficult arguments. With --long more samples, and every float.
#include "test.h"

#include "base/math/detail.h"
#include <float.h>
#include <math.h>

#if LDBL_MANT_DIG > DBL_MANT_DIG

// ---- measuring ----------------------------------------------------------------------------------

// The distance from the true value in units of its last place. An infinite result is correct from
// where a number with one more exponent would have been rounded to it.
static double math_error(double actual, long double expected, int digits, int exponent_min)
{
    if (isnan(actual) || isnan(expected)) {
        return isnan(actual) && isnan(expected) ? 0.0 : 1e300;
    }
    if (isinf(actual)) {
        long double beyond = digits == 53 ? (long double)DBL_MAX : (long double)FLT_MAX;
        beyond += ldexpl(0.5L, (digits == 53 ? 1024 : 128) - digits);
        return (actual > 0) == (expected > 0) && fabsl(expected) >= beyond ? 0.0 : 1e300;
    }
    if (isinf(expected)) {
        return 1e300;
    }
    int exponent = exponent_min;
    if (expected != 0.0L) {
        (void)frexpl(expected, &exponent);
    }
    exponent = exponent < exponent_min ? exponent_min : exponent;
    return (double)ldexpl(fabsl((long double)actual - expected), digits - exponent);
}

static double math_error_double(double actual, long double expected)
{
    return math_error(actual, expected, 53, -1021);
}

static double math_error_float(float actual, long double expected)
{
    return math_error((double)actual, expected, 24, -125);
}

typedef struct math_worst {
    double error, x, y;
} math_worst;

static void math_note(math_worst* worst, double error, double x, double y)
{
    if (!(error <= worst->error)) {
        *worst = (math_worst){error, x, y};
    }
}

static void math_judge(const char* name, const math_worst* worst, double bound)
{
    printf("  %-8s %.4f ULP at %a %a (bound %.3f)\n", name, worst->error, worst->x, worst->y,
           bound);
    if (!(worst->error <= bound)) {
        test_fail(__FILE__, __LINE__, "%s: %.4f ULP at %a, %a; promised %.3f", name, worst->error,
                  worst->x, worst->y, bound);
    }
}

static uint32_t math_samples(void)
{
    return test_long() ? (test_slow() ? 500000u : 5000000u) : (test_slow() ? 10000u : 150000u);
}

static double math_between(double low, double high)
{
    return low + (high - low) * orr_random_double(test_random());
}

// Any double except NaNs.
static double math_any(void)
{
    return orri_math_double(test_random() % ORRI_MATH_INFINITY | (test_random() & ORRI_MATH_SIGN));
}

// ---- one argument -------------------------------------------------------------------------------

typedef struct math_one {
    const char* name;
    double (*ours)(double);
    float (*ours_float)(float);
    long double (*exact)(long double);
    double low, high; // The usual range.
    double bound, bound_subnormal;
} math_one;

// sin and cos of sincos, tested as separate functions.
static double math_sincos_sin(double x)
{
    double sine, cosine;
    orr_sincos(x, &sine, &cosine);
    return sine;
}

static double math_sincos_cos(double x)
{
    double sine, cosine;
    orr_sincos(x, &sine, &cosine);
    return cosine;
}

static float math_sincosf_sin(float x)
{
    float sine, cosine;
    orr_sincosf(x, &sine, &cosine);
    return sine;
}

static float math_sincosf_cos(float x)
{
    float sine, cosine;
    orr_sincosf(x, &sine, &cosine);
    return cosine;
}

static double math_sqrt_out(double x)
{
    return orr_sqrt(x);
}

static float math_sqrtf_out(float x)
{
    return orr_sqrtf(x);
}

static const math_one math_ones[] = {
    {"sin", orr_sin, orr_sinf, sinl, -20, 20, 0.85, 0.85},
    {"cos", orr_cos, orr_cosf, cosl, -20, 20, 0.85, 0.85},
    {"sincos.s", math_sincos_sin, math_sincosf_sin, sinl, -20, 20, 0.85, 0.85},
    {"sincos.c", math_sincos_cos, math_sincosf_cos, cosl, -20, 20, 0.85, 0.85},
    {"tan", orr_tan, orr_tanf, tanl, -20, 20, 1.00, 1.00},
    {"asin", orr_asin, orr_asinf, asinl, -1, 1, 0.70, 0.70},
    {"acos", orr_acos, orr_acosf, acosl, -1, 1, 0.70, 0.70},
    {"atan", orr_atan, orr_atanf, atanl, -4, 4, 0.65, 0.65},
    {"exp", orr_exp, orr_expf, expl, -746, 710, 0.53, 0.80},
    {"exp2", orr_exp2, orr_exp2f, exp2l, -1076, 1025, 0.53, 0.80},
    {"ln", orr_ln, orr_lnf, logl, 0, 4, 0.52, 0.52},
    {"log2", orr_log2, orr_log2f, log2l, 0, 4, 0.52, 0.52},
    {"sqrt", math_sqrt_out, math_sqrtf_out, sqrtl, 0, 4, 0.5002, 0.5002},
};

static void math_one_at(const math_one* f, double x, math_worst* worst, math_worst* subnormal)
{
    double actual = f->ours(x);
    long double expected = f->exact((long double)x);
    math_worst* to = fabsl(expected) < (long double)DBL_MIN ? subnormal : worst;
    math_note(to, math_error_double(actual, expected), x, 0);
}

// Arguments closest to a multiple of pi/2, where tables and polynomials change, and their
// neighbours.
static void math_one_hard(const math_one* f, math_worst* worst, math_worst* subnormal)
{
    static const double hard[] = {0x1.6ac5b262ca1ffp+849,
                                  0x1.6c6cbc45dc8dep+5,
                                  0x1.6c6cbc45dc8dep+10,
                                  0x1.9a8b3bbba9f8bp+19,
                                  0x1.921fb54442d18p-1,
                                  0x1p-27,
                                  0x1p20,
                                  0x1p-26,
                                  0.5,
                                  1.0,
                                  0.0625,
                                  0x1.6ap-1,
                                  0x1p-1022,
                                  0x1p-1074,
                                  745.13,
                                  708.4,
                                  709.78,
                                  1022.0,
                                  1024.0,
                                  1074.0,
                                  0x1p-54};
    for (uint32_t i = 0; i < ORRI_COUNT(hard); i++) {
        for (int64_t step = -50; step <= 50; step++) {
            double x = orri_math_double(orri_math_bits(hard[i]) + (uint64_t)step);
            math_one_at(f, x, worst, subnormal);
            math_one_at(f, -x, worst, subnormal);
        }
    }
    for (int64_t i = 1; i < 10000; i++) {
        double multiple = (double)i * ORRI_MATH_HALF_PI;
        math_one_at(f, multiple, worst, subnormal);
        math_one_at(f, (double)(i * 131) * ORRI_MATH_HALF_PI, worst, subnormal);
        math_one_at(f, (double)i / 4096.0, worst, subnormal);
    }
}

static void math_one_check(const char* name)
{
    for (uint32_t i = 0; i < ORRI_COUNT(math_ones); i++) {
        const math_one* f = &math_ones[i];
        if (strcmp(f->name, name) != 0) {
            continue;
        }
        math_worst worst = {0}, subnormal = {0};
        math_one_hard(f, &worst, &subnormal);
        for (uint32_t s = math_samples(); s > 0; s--) {
            math_one_at(f, math_between(f->low, f->high), &worst, &subnormal);
            math_one_at(f, math_any(), &worst, &subnormal);
            // Near 1 and 0, where results are small.
            math_one_at(f, 1.0 + math_between(-0x1p-6, 0x1p-6), &worst, &subnormal);
            math_one_at(f, math_between(-1.0, 1.0), &worst, &subnormal);
        }
        math_judge(name, &worst, f->bound);
        math_judge(name, &subnormal, f->bound_subnormal);
        return;
    }
    CHECK(false);
}

/* N3-13 */
ORR_TEST(math_sin_keeps_its_bound)
{
    math_one_check("sin");
}

ORR_TEST(math_cos_keeps_its_bound)
{
    math_one_check("cos");
}

ORR_TEST(math_sincos_keeps_its_bounds)
{
    math_one_check("sincos.s");
    math_one_check("sincos.c");
}

ORR_TEST(math_tan_keeps_its_bound)
{
    math_one_check("tan");
}

ORR_TEST(math_asin_keeps_its_bound)
{
    math_one_check("asin");
}

ORR_TEST(math_acos_keeps_its_bound)
{
    math_one_check("acos");
}

ORR_TEST(math_atan_keeps_its_bound)
{
    math_one_check("atan");
}

ORR_TEST(math_exp_keeps_its_bound)
{
    math_one_check("exp");
}

ORR_TEST(math_exp2_keeps_its_bound)
{
    math_one_check("exp2");
}

ORR_TEST(math_ln_keeps_its_bound)
{
    math_one_check("ln");
}

ORR_TEST(math_log2_keeps_its_bound)
{
    math_one_check("log2");
}

ORR_TEST(math_sqrt_is_rounded_correctly)
{
    math_one_check("sqrt");
    for (uint32_t s = math_samples(); s > 0; s--) {
        double x = math_any();
        x = s % 2 == 0 ? math_between(0, 100) : x;
        CHECK(orri_math_bits(orr_sqrt(x)) == orri_math_bits(orr_sqrt_by_digits(x)));
    }
}

// ---- two arguments ------------------------------------------------------------------------------

typedef struct math_two {
    double (*ours)(double, double);
    float (*ours_float)(float, float);
    long double (*exact)(long double, long double);
} math_two;

static const math_two math_pow = {orr_pow, orr_powf, powl};
static const math_two math_atan2 = {orr_atan2, orr_atan2f, atan2l};

typedef struct math_worsts {
    math_worst usual, subnormal, single;
} math_worsts;

static void math_two_at(const math_two* f, double x, double y, math_worsts* worst)
{
    long double expected = f->exact((long double)x, (long double)y);
    math_note(fabsl(expected) < (long double)DBL_MIN ? &worst->subnormal : &worst->usual,
              math_error_double(f->ours(x, y), expected), x, y);
    float xf = (float)x, yf = (float)y;
    math_note(&worst->single,
              math_error_float(f->ours_float(xf, yf), f->exact((long double)xf, (long double)yf)),
              x, y);
}

ORR_TEST(math_pow_keeps_its_bound)
{
    math_worsts worst = {0};
    for (uint32_t s = math_samples(); s > 0; s--) {
        math_two_at(&math_pow, math_between(0, 4), math_between(-8, 8), &worst);
        // Results over the whole range, from any base: large exponents near 1, small ones far from
        // it.
        double x = fabs(math_any());
        math_two_at(&math_pow, x, math_between(-745.2, 709.8) / log(x), &worst);
        x = 1.0 + math_between(-0x1p-8, 0x1p-8) * math_between(0, 1) * math_between(0, 1);
        math_two_at(&math_pow, x, math_between(-745.2, 709.8) / log(x), &worst);
        math_two_at(&math_pow, math_any(), math_any(), &worst);
        math_two_at(&math_pow, math_between(-10, 10), nearbyint(math_between(-40, 40)), &worst);
    }
    math_judge("pow", &worst.usual, 0.54);
    math_judge("pow", &worst.subnormal, 0.80);
    math_judge("powf", &worst.single, 0.501);
}

ORR_TEST(math_pow_of_small_whole_numbers_is_exact)
{
    for (int64_t base = -50; base <= 50; base++) {
        int64_t product = 1;
        for (int y = 0; y < 64; y++) {
            CHECK(orr_pow((double)base, (double)y) == (double)product);
            if (product <= 1 << 24 && product >= -(1 << 24)) {
                CHECK(orr_powf((float)base, (float)y) == (float)product);
            }
            product *= base;
            if (product > (int64_t)1 << 53 || product < -((int64_t)1 << 53)) {
                break;
            }
        }
    }
    CHECK(orr_pow(2.25, 0.5) == 1.5 && orr_pow(27.0 * 27.0 * 27.0, 1.0) == 19683.0);
    CHECK(orr_pow(2.0, -1074.0) == 0x1p-1074 && orr_pow(2.0, 1023.0) == 0x1p1023);
    CHECK(orr_pow(0.5, 1074.0) == 0x1p-1074 && orr_pow(0x1p-1074, 1.0) == 0x1p-1074);
}

ORR_TEST(math_atan2_keeps_its_bound)
{
    math_worsts worst = {0};
    for (uint32_t s = math_samples(); s > 0; s--) {
        math_two_at(&math_atan2, math_between(-4, 4), math_between(-4, 4), &worst);
        math_two_at(&math_atan2, math_any(), math_any(), &worst);
        double x = math_any();
        math_two_at(&math_atan2, x * math_between(-0.2, 0.2), x, &worst);
        math_two_at(&math_atan2, x, x * math_between(-2, 2), &worst);
    }
    math_judge("atan2", &worst.usual, 0.65);
    math_judge("atan2", &worst.subnormal, 0.80);
    math_judge("atan2f", &worst.single, 0.501);
}

// ---- float --------------------------------------------------------------------------------------

// Compared with the double function, whose error was measured above: at most 2^-28 of a float's
// ULP.
static void math_whole_range(const math_one* f, uint32_t stride)
{
    math_worst worst = {0};
    for (uint64_t at = test_random() % stride; at < (uint64_t)1 << 32; at += stride) {
        uint32_t bits = (uint32_t)at;
        float x;
        memcpy(&x, &bits, sizeof x);
        double expected = f->ours((double)x);
        float actual = f->ours_float(x);
        if ((double)actual == expected || (isnan(actual) && isnan(expected))) {
            continue;
        }
        math_note(&worst, math_error_float(actual, (long double)expected), (double)x, 0);
    }
    math_judge(f->name, &worst, 0.501);
}

ORR_TEST(math_floats_of_the_whole_range_keep_their_bound)
{
    uint32_t stride = test_slow() ? 40009 : 2003;
    if (test_long()) {
        stride = test_slow() ? 2003 : 31;
    }
    for (uint32_t i = 0; i < ORRI_COUNT(math_ones); i++) {
        math_whole_range(&math_ones[i], stride);
    }
}

#else

ORR_TEST(math_errors_are_measured)
{
    test_skip("long double is double here");
}

#endif
