// SPDX-License-Identifier: MIT
// Shared by all workloads: clock, warm memory, source data, and a world.
#define _POSIX_C_SOURCE 200809L // clock_gettime
#include "bench.h"
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

// CPU time of this thread, so that other load on the machine does not count. Reading this clock is
// a system call, whose cost bench_since_ns() subtracts. Work on several threads is measured with
// the wall clock.
static bool bench_clock_wall;

static uint64_t bench_clock_ns(void)
{
#ifdef CLOCK_THREAD_CPUTIME_ID
    struct timespec now;
    if (!bench_clock_wall && clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0) {
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    }
#endif
    const orr_platform* platform = orr_platform_default();
    return platform->clock_ns(platform->user);
}

void bench_workers_use(bench_env* env, uint32_t workers)
{
    env->workers = workers;
    bench_clock_wall = true;
}

uint64_t bench_now_ns(void)
{
    return bench_clock_ns();
}

static uint64_t bench_clock_cost_ns(void)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < 1000; i++) {
        uint64_t before = bench_clock_ns(), cost = bench_clock_ns() - before;
        least = cost < least ? cost : least;
    }
    return least;
}

uint64_t bench_since_ns(uint64_t start_ns)
{
    static uint64_t cost_ns = UINT64_MAX; // Not known yet.
    uint64_t ns = bench_clock_ns() - start_ns;
    cost_ns = cost_ns == UINT64_MAX ? bench_clock_cost_ns() : cost_ns;
    // At least 1: the cost is measured once, and while the machine was slow it may have been higher
    // than a short sample taken later. A limit of 0 ns would make the ratio infinite.
    return ns > cost_ns ? ns - cost_ns : 1;
}

_Noreturn void bench_die(const char* format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "orr_bench: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(1);
}

void bench_expect(const bench_env* env, orr_result result, const char* doing)
{
    if (result != ORR_OK) {
        bench_die("%s returned %s: %s", doing, orr_result_name(result), orr_error_last(env->world));
    }
}

void* bench_array(size_t count, size_t size)
{
    size_t bytes = (count * size + 64 + 63) & ~(size_t)63;
    void* data = aligned_alloc(64, bytes);
    if (data == NULL) {
        bench_die("no memory for an array of %zu bytes", bytes);
    }
    memset(data, 0, bytes);
    return data;
}

void bench_heap_warm(bool warm)
{
#ifdef __GLIBC__
    // Warm: no allocation gets its own mapping, and the heap never shrinks.
    if (mallopt(M_MMAP_MAX, warm ? 0 : 65536) == 0 || mallopt(M_MMAP_THRESHOLD, 1 << 16) == 0 ||
        mallopt(M_TRIM_THRESHOLD, warm ? INT_MAX : 1 << 16) == 0) {
        bench_die("the C library has no control over how it keeps freed memory");
    }
    if (!warm) {
        malloc_trim(0); // Also returns memory freed before.
    }
#else
    (void)warm;
#endif
}

uint32_t bench_rounds(uint32_t n)
{
    return n >= 1000000 ? 1 : 1000000 / n;
}

// ---- source data --------------------------------------------------------------------------------

static void bench_sources_make(bench_env* env)
{
    env->positions = bench_array(env->n, sizeof(Position));
    env->velocities = bench_array(env->n, sizeof(Velocity));
    env->ids = bench_array(env->n, sizeof(orr_entity));
    env->raw_ids = bench_array(env->n, sizeof(uint64_t));
    for (uint32_t i = 0; i < env->n; i++) {
        env->positions[i] = (Position){(float)i, 1.0f};
        env->velocities[i] = (Velocity){1.0f, 2.0f};
    }
    raw_store* raw = &env->raw;
    raw->records = bench_array(env->n, sizeof(raw_record));
    raw->tables[0].positions = bench_array(env->n, sizeof(Position));
    raw->tables[0].velocities = bench_array(env->n, sizeof(Velocity));
    raw->tables[0].owners = bench_array(env->n, sizeof(uint32_t));
    raw_fill(raw, env->positions, env->velocities, env->raw_ids, env->n);
}

// Fisher-Yates shuffle with a fixed seed: every run and both sides use the same order.
void bench_shuffle(uint64_t* to, const uint64_t* from, uint32_t count)
{
    memcpy(to, from, sizeof *to * count);
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = (uint32_t)orr_random_below(orr_random(1, i, 2, 3), i);
        uint64_t swap = to[i - 1];
        to[i - 1] = to[j];
        to[j] = swap;
    }
}

uint32_t bench_share(const bench_env* env, uint32_t cluster)
{
    return (uint32_t)((uint64_t)env->n * cluster / env->cluster_count);
}

// ---- the world ----------------------------------------------------------------------------------

static void bench_on_error(void* user, orr_world* world, const orr_error* error)
{
    (void)user;
    (void)world;
    bench_die("the world reports an error: %s (%s)", error->text, orr_result_name(error->result));
}

static void bench_types_register(bench_env* env)
{
    env->position = orr_type_of(env->world, ORR_TYPE(Position));
    env->velocity = orr_type_of(env->world, ORR_TYPE(Velocity));
    env->health = orr_type_of(env->world, ORR_TYPE(Health));
    env->acceleration = orr_type_of(env->world, ORR_TYPE(Acceleration));
    env->data = orr_type_of(env->world, ORR_TYPE(Data));
    for (uint32_t i = 0; i < BENCH_MARKERS && env->cluster_count > 1; i++) {
        char name[16];
        snprintf(name, sizeof name, "marker%u", (unsigned)i);
        orr_type_desc desc = {.name = name, .align = 1};
        bench_expect(env, orr_type_register(env->world, &desc, &env->markers[i]), "a marker type");
    }
}

// Clusters differ in their markers: cluster c has the markers of the bits of c, as archetypes
// differ in a game.
orr_cluster bench_cluster_get(bench_env* env, uint32_t index, bool with_health)
{
    orr_type types[3 + BENCH_MARKERS] = {env->position, env->velocity};
    uint32_t count = 2;
    for (uint32_t i = 0; i < BENCH_MARKERS; i++) {
        if ((index >> i & 1) != 0) {
            types[count++] = env->markers[i];
        }
    }
    if (with_health) {
        types[count++] = env->health;
    }
    orr_cluster cluster = {0};
    orr_cluster_desc desc = {.types = types, .type_count = count};
    bench_expect(env, orr_cluster_get(env->world, &desc, &cluster), "getting a cluster");
    return cluster;
}

void bench_world_open(bench_env* env)
{
    bench_world_close(env);
    env->world =
        orr_world_create(&(orr_world_desc){.on_error = bench_on_error, .workers = env->workers});
    if (env->world == NULL) {
        bench_die("the world could not be created");
    }
    bench_types_register(env);
    for (uint32_t c = 0; c < env->cluster_count; c++) {
        env->clusters[c] = bench_cluster_get(env, c, false);
    }
}

void bench_world_fill(bench_env* env)
{
    for (uint32_t c = 0; c < env->cluster_count; c++) {
        uint32_t first = bench_share(env, c), count = bench_share(env, c + 1) - first;
        env->cluster_rows[c] = count;
        if (count == 0) {
            continue;
        }
        orr_column_data data[] = {{env->position, env->positions + first},
                                  {env->velocity, env->velocities + first}};
        bench_expect(
            env, orr_create_many(env->world, env->clusters[c], count, data, 2, env->ids + first),
            "filling the world");
    }
}

void bench_world_close(bench_env* env)
{
    orr_world_destroy(env->world);
    env->world = NULL;
}

uint64_t bench_world_digest(bench_env* env)
{
    uint64_t sum = 0;
    orr_cluster c = {0};
    for (c = orr_cluster_next(env->world, c); c.id != 0; c = orr_cluster_next(env->world, c)) {
        uint32_t count = UINT32_MAX;
        const Position* p;
        for (uint32_t row = 0;
             (p = orr_span_read(env->world, c, env->position, row, &count)) != NULL;
             row += count, count = UINT32_MAX) {
            sum += raw_digest(p, count);
        }
    }
    return sum;
}

// ---- the env ------------------------------------------------------------------------------------

void bench_env_open(bench_env* env, const bench_work* work, uint32_t n, uint32_t clusters)
{
    *env = (bench_env){.n = n, .cluster_count = clusters != 0 ? clusters : 1};
    bench_clock_wall = false;
    env->clusters = bench_array(env->cluster_count, sizeof(orr_cluster));
    env->cluster_rows = bench_array(env->cluster_count, sizeof(uint32_t));
    bench_sources_make(env);
    if (work->open != NULL) {
        work->open(env);
    }
}

void bench_env_close(bench_env* env)
{
    bench_world_close(env);
    bench_heap_warm(true);
    raw_table* t = env->raw.tables;
    void* arrays[] = {
        env->positions,
        env->velocities,
        env->ids,
        env->ids_shuffled,
        env->raw_ids,
        env->raw_ids_shuffled,
        env->clusters,
        env->cluster_rows,
        env->raw_records_source,
        env->raw.records,
        env->raw.bits,
        env->raw.data,
        env->raw.accelerations,
        env->raw.sparse,
        env->raw.dense_owners,
        env->raw.dense_values,
        env->raw.signatures,
        env->raw.matched,
        env->raw.versions,
        env->raw.spots,
        env->raw_spans,
        t[0].positions,
        t[0].velocities,
        t[0].healths,
        t[0].owners,
        t[1].positions,
        t[1].velocities,
        t[1].healths,
        t[1].owners,
    };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        free(arrays[i]);
    }
    for (size_t i = 0; i < sizeof env->extra / sizeof env->extra[0]; i++) {
        free(env->extra[i]);
    }
    *env = (bench_env){0};
}
