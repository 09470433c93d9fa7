// SPDX-License-Identifier: MIT
// Tests of growth: work of n items takes about n times as long as work of one. The time of a size is
// compared with that of a size 16 times as large, never with a fixed time. Linear work takes about
// 16 times as long, quadratic work 256 times; less than 96 times counts as near-linear, which leaves
// room for sorting and for caches that are exceeded.
#ifndef TEST_GROWTH_KIT_H
#define TEST_GROWTH_KIT_H

#include "test.h"
#include <time.h>

enum {
    GROWTH_FACTOR = 16,
    GROWTH_MOST = 96
};

// The clock of growth tests: processor time of this process, so that other processes matter little.
typedef struct growth_clock {
    clock_t begun;
    double seconds;
} growth_clock;

static inline void growth_begin(growth_clock* clock_of)
{
    clock_of->begun = clock();
}

static inline void growth_end(growth_clock* clock_of)
{
    clock_of->seconds += (double)(clock() - clock_of->begun) / (double)CLOCKS_PER_SEC;
}

// `work` does what is measured for n items between growth_begin() and growth_end().
typedef void (*growth_work)(growth_clock* clock_of, uint32_t n);

// The shortest time of several tries.
static inline double growth_time(growth_work work, uint32_t n, uint32_t tries)
{
    double least = 0;
    for (uint32_t i = 0; i < tries; i++) {
        growth_clock clock_of = {0};
        work(&clock_of, n);
        least = i == 0 || clock_of.seconds < least ? clock_of.seconds : least;
    }
    return least;
}

// Tries again before it fails: another process may have disturbed a measurement, also by its use of
// the cache, which matters more for many items than for few.
static inline void growth_check(const char* file, int line, const char* name, growth_work work,
                                uint32_t n)
{
    double few = 0, many = 0;
    for (uint32_t i = 0; i < 5; i++) {
        few = growth_time(work, n, 3);
        double time = growth_time(work, GROWTH_FACTOR * n, 1 + i / 2);
        many = i == 0 || time < many ? time : many;
        few = few > 20e-6 ? few : 20e-6; // The clock is not finer than that.
        if (many <= few * GROWTH_MOST) {
            return;
        }
    }
    test_fail(file, line, "%s: %u items take %g s, %u items %g s: %.0f times as long", name, n, few,
              GROWTH_FACTOR * n, many, many / few);
}

#define CHECK_NEAR_LINEAR(work, n) growth_check(__FILE__, __LINE__, #work, work, n)

#endif
