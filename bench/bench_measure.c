// SPDX-License-Identifier: MIT
// Runs a workload and its limit alternately and keeps the best time of each: on a busy machine the
// shortest time is the least disturbed.
#include "bench.h"
#include <inttypes.h>

static void measure_best(double* best, bench_sample sample)
{
    double ns = (double)sample.ns / (double)sample.items;
    if (*best < 0 || ns < *best) {
        *best = ns;
    }
}

bench_figures bench_measure(const bench_work* work, uint32_t n, uint32_t clusters, uint32_t repeats)
{
    bench_env env;
    bench_env_open(&env, work, n, clusters);
    bench_figures best = {-1, -1, 0, env.workers, env.tick_items};
    // The first round warms up both sides and is not counted. The side that runs first alternates.
    for (uint32_t i = 0; i <= repeats; i++) {
        bench_sample ours = {0}, limit = {0};
        if (i % 2 == 0) {
            limit = work->limit(&env);
        }
        ours = work->ours(&env);
        if (i % 2 != 0) {
            limit = work->limit(&env);
        }
        if (ours.check != limit.check) {
            bench_die("%s gave a wrong result: digest %" PRIx64 " of ours, %" PRIx64
                      " of the limit",
                      work->name, ours.check, limit.check);
        }
        if (i > 0) {
            measure_best(&best.ns, ours);
            measure_best(&best.limit_ns, limit);
        }
    }
    bench_env_close(&env);
    best.ratio = best.ns / best.limit_ns;
    return best;
}
