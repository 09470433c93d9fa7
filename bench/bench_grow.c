// SPDX-License-Identifier: MIT
// Cost per item as a function of the number of entities, clusters and systems. It should be
// constant except where a cache is exceeded. The limit, on plain arrays of the same size, shows
// where that happens.
#include "bench.h"
#include <inttypes.h>
#include <stdio.h>

static const bench_work* const grow_works[] = {&bench_create_2, &bench_iterate_2, &bench_get,
                                               &bench_add_remove, &bench_destroy_shuffled};
static const uint32_t grow_entities[] = {1000, 10000, 100000, 1000000, 10000000};
static const uint32_t grow_clusters[] = {1, 16, 256, 1024, 4096};
static const bench_work* const grow_schedules[] = {&bench_schedule, &bench_schedule_2};
static const uint32_t grow_systems[] = {1, 10, 100, 300, 1000};
static const uint32_t grow_items[] = {100, 400, 1600, 6400, 25600};

#define GROW_STEPS 5
#define GROW_WORKS (sizeof grow_works / sizeof grow_works[0])

static void grow_line_print(const char* name, const char* side, const double* ns)
{
    printf("%-18s %-6s", name, side);
    for (uint32_t i = 0; i < GROW_STEPS; i++) {
        printf(" %12.3f", ns[i]);
    }
    printf("   x%.2f\n", ns[GROW_STEPS - 1] / ns[0]);
    fflush(stdout);
}

static void grow_head_print(const char* title, const uint32_t* steps)
{
    printf("%s\n%-18s %-6s", title, "", "");
    for (uint32_t i = 0; i < GROW_STEPS; i++) {
        printf(" %12" PRIu32, steps[i]);
    }
    printf("   last/first\n");
    fflush(stdout);
}

// By clusters: with one million entities. Otherwise by items.
static void grow_work_print(const bench_work* work, const uint32_t* steps, uint32_t repeats)
{
    double ours[GROW_STEPS], limit[GROW_STEPS];
    bool by_clusters = steps == grow_clusters;
    for (uint32_t i = 0; i < GROW_STEPS; i++) {
        uint32_t n = by_clusters ? 1000000 : steps[i];
        uint32_t clusters = by_clusters ? steps[i] : 0;
        fprintf(stderr, "orr_bench: %s, n = %" PRIu32 ", %" PRIu32 " clusters …\n", work->name, n,
                clusters != 0 ? clusters : 1);
        // Large sizes take seconds to build and vary less.
        bench_figures f = bench_measure(work, n, clusters, n > 1000000 ? 1 + repeats / 4 : repeats);
        ours[i] = f.ns;
        limit[i] = f.limit_ns;
    }
    grow_line_print(work->name, "ours", ours);
    grow_line_print("", "limit", limit);
}

// The best of `repeats` times.
static void grow_growth_print(const bench_growth* growth, uint32_t repeats)
{
    double ours[GROW_STEPS];
    for (uint32_t i = 0; i < GROW_STEPS; i++) {
        uint32_t n = grow_items[i];
        uint64_t best = UINT64_MAX;
        fprintf(stderr, "orr_bench: %s, n = %" PRIu32 " …\n", growth->name, n);
        for (uint32_t r = 0; r < repeats; r++) {
            uint64_t ns = growth->ns(n);
            best = ns < best ? ns : best;
        }
        ours[i] = (double)best / n;
    }
    grow_line_print(growth->name, "ours", ours);
}

void bench_grow_print(uint32_t repeats)
{
    grow_head_print("ns per item by number of entities, one cluster", grow_entities);
    for (size_t w = 0; w < GROW_WORKS; w++) {
        grow_work_print(grow_works[w], grow_entities, repeats);
    }
    printf("\n");
    grow_head_print("ns per item by number of clusters, 1,000,000 entities", grow_clusters);
    for (size_t w = 0; w < GROW_WORKS; w++) {
        grow_work_print(grow_works[w], grow_clusters, repeats);
    }
    printf("\n");
    grow_head_print("ns per system by number of systems, without and with 2 workers", grow_systems);
    for (size_t w = 0; w < sizeof grow_schedules / sizeof grow_schedules[0]; w++) {
        grow_work_print(grow_schedules[w], grow_systems, repeats);
    }
    printf("\n");
    grow_head_print("ns per item by number of systems, functions, clusters, bundles, names or "
                    "remembered ticks",
                    grow_items);
    for (const bench_growth* growth = bench_growths; growth->name != NULL; growth++) {
        grow_growth_print(growth, repeats);
    }
}
