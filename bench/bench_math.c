// SPDX-License-Identifier: MIT
// The mathematical functions, each over n arguments from its usual range. An item is one call. The
// limit is the C library, which may use instructions that not every machine has and need not give
// the same bits everywhere.
#include "bench.h"
#include <math.h>
#include <stdlib.h>

typedef struct math_row {
    const char* name;
    double low, high;
    double (*ours)(double);
    double (*limit)(double);
    float (*ours_float)(float);
    float (*limit_float)(float);
} math_row;

static const math_row math_rows[] = {
    {"sin", -10, 10, orr_sin, sin, orr_sinf, sinf},
    {"cos", -10, 10, orr_cos, cos, orr_cosf, cosf},
    {"tan", -10, 10, orr_tan, tan, orr_tanf, tanf},
    {"asin", -1, 1, orr_asin, asin, orr_asinf, asinf},
    {"acos", -1, 1, orr_acos, acos, orr_acosf, acosf},
    {"atan", -4, 4, orr_atan, atan, orr_atanf, atanf},
    {"exp", -10, 10, orr_exp, exp, orr_expf, expf},
    {"exp2", -10, 10, orr_exp2, exp2, orr_exp2f, exp2f},
    {"ln", 0.01, 10, orr_ln, log, orr_lnf, logf},
    {"log2", 0.01, 10, orr_log2, log2, orr_log2f, log2f},
};

enum {
    MATH_ROWS = sizeof math_rows / sizeof math_rows[0],
};

// Arguments are stored function by function: double in extra[0], float in extra[1]. Results are
// compared here, with a tolerance, because the bits may differ.
static void math_open(bench_env* env)
{
    double* x = env->extra[0] = bench_array((size_t)env->n * MATH_ROWS, sizeof *x);
    float* xf = env->extra[1] = bench_array((size_t)env->n * MATH_ROWS, sizeof *xf);
    for (uint32_t r = 0; r < MATH_ROWS; r++) {
        const math_row* row = &math_rows[r];
        for (uint32_t i = 0; i < env->n; i++, x++, xf++) {
            *x = row->low + (row->high - row->low) * orr_random_double(orr_random(7, r, i, 0));
            *xf = (float)*x;
            double expected = row->limit(*x);
            if (fabs(row->ours(*x) - expected) > 1e-15 * (fabs(expected) + 1e-6)) {
                bench_die("orr_%s(%a) is %a, expected %a", row->name, *x, row->ours(*x), expected);
            }
        }
    }
}

#define MATH_RUN(name, type, function, which)                          \
    static bench_sample name(bench_env* env)                           \
    {                                                                  \
        bench_sample sample = {.items = (uint64_t)env->n * MATH_ROWS}; \
        const type* x = env->extra[which];                             \
        volatile type kept = 0;                                        \
        uint64_t start = bench_now_ns();                               \
        for (uint32_t r = 0; r < MATH_ROWS; r++) {                     \
            type sum = 0;                                              \
            for (uint32_t i = 0, n = env->n; i < n; i++, x++) {        \
                sum += math_rows[r].function(*x);                      \
            }                                                          \
            kept = sum;                                                \
        }                                                              \
        sample.ns = bench_since_ns(start);                             \
        (void)kept;                                                    \
        return sample;                                                 \
    }
MATH_RUN(math_ours, double, ours, 0)
MATH_RUN(math_limit, double, limit, 0)
MATH_RUN(math_ours_float, float, ours_float, 1)
MATH_RUN(math_limit_float, float, limit_float, 1)
#undef MATH_RUN

const bench_work bench_math = {"math", "call of sin … log2, limit: libm", math_open, math_ours,
                               math_limit};
const bench_work bench_math_float = {"math_float", "call of sinf … log2f, limit: libm", math_open,
                                     math_ours_float, math_limit_float};
