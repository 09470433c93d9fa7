// SPDX-License-Identifier: MIT
// Cost of a history: a world of 96 bytes per entity in eight clusters, of which 1% changes in each
// tick. The limit is a full copy of all values, as a program without a history would make. For
// memory_600 the limit is the size of the world; bytes take the place of nanoseconds.
#include "bench.h"
#include <string.h>

#define HISTORY_CLUSTERS 8
#define HISTORY_ROW      96
#define HISTORY_BACK     8
#define HISTORY_TICKS    600

ORR_STRUCT(Part1, (double, a), (double, b))
ORR_STRUCT(Part2, (double, a), (double, b))
ORR_STRUCT(Part3, (double, a), (double, b))
ORR_STRUCT(Part4, (double, a), (double, b))
ORR_STRUCT(Part5, (double, a), (double, b))
ORR_STRUCT(Part6, (double, a), (double, b))

static void history_types(const bench_env* env, orr_type out[6])
{
    static const orr_type_desc* const parts[6] = {ORR_TYPE(Part1), ORR_TYPE(Part2),
                                                  ORR_TYPE(Part3), ORR_TYPE(Part4),
                                                  ORR_TYPE(Part5), ORR_TYPE(Part6)};
    for (uint32_t i = 0; i < 6; i++) {
        out[i] = orr_type_of(env->world, parts[i]);
    }
}

static uint32_t history_share(const bench_env* env, uint32_t number)
{
    return (uint32_t)((uint64_t)env->n * number / HISTORY_CLUSTERS);
}

static orr_cluster* history_clusters(const bench_env* env)
{
    return env->extra[4];
}

static void history_fill(bench_env* env, uint32_t number)
{
    orr_type types[6];
    history_types(env, types);
    orr_tag tag = number + 1;
    uint32_t first = history_share(env, number), end = history_share(env, number + 1);
    orr_cluster* cluster = &history_clusters(env)[number];
    orr_cluster_desc desc = {.types = types, .type_count = 6, .tags = &tag, .tag_count = 1};
    bench_expect(env, orr_cluster_get(env->world, &desc, cluster), "making a cluster");
    bench_expect(env, orr_create_many(env->world, *cluster, end - first, NULL, 0, env->ids + first),
                 "creating entities");
}

static void history_open(bench_env* env)
{
    bench_world_open(env);
    env->extra[0] = bench_array(env->n, HISTORY_ROW);
    env->extra[1] = bench_array(env->n, HISTORY_ROW);
    env->extra[2] = bench_array(env->n / 100 + 1, sizeof(orr_entity));
    env->extra[3] = bench_array(env->n / 100 + 1, sizeof(Part1));
    env->extra[4] = bench_array(HISTORY_CLUSTERS, sizeof(orr_cluster));
    for (uint32_t i = 0; i < HISTORY_CLUSTERS; i++) {
        history_fill(env, i);
    }
}

// Writes all values of one chunk in a hundred, a different chunk in each tick.
static void history_dirty(bench_env* env)
{
    orr_type types[6];
    history_types(env, types);
    uint32_t number = 0;
    uint64_t tick = orr_world_tick(env->world);
    for (uint32_t c = 0; c < HISTORY_CLUSTERS; c++) {
        orr_cluster cluster = history_clusters(env)[c];
        uint32_t all = history_share(env, c + 1) - history_share(env, c);
        uint32_t chunks = (all + ORR_CHUNK_CAPACITY - 1) / ORR_CHUNK_CAPACITY;
        for (uint32_t chunk = 0; chunk < chunks; chunk++, number++) {
            if ((number + tick) % 100 != 0) {
                continue;
            }
            uint32_t rows = orr_chunk_count(env->world, cluster, chunk);
            for (uint32_t t = 0; t < 6; t++) {
                double* value = orr_column_write(env->world, cluster, chunk, types[t]);
                for (uint32_t i = 0; i < 2 * rows; i++) {
                    value[i] += 1;
                }
            }
        }
    }
}

static bench_sample history_limit(bench_env* env)
{
    uint64_t start = bench_now_ns();
    memcpy(env->extra[1], env->extra[0], (size_t)env->n * HISTORY_ROW);
    uint64_t ns = bench_since_ns(start);
    ((volatile char*)env->extra[0])[env->n / 2] ^= ((volatile char*)env->extra[1])[env->n / 3];
    return (bench_sample){.ns = ns, .items = env->n};
}

static void history_end(bench_env* env)
{
    (void)orr_forget_range(env->world, 0, UINT64_MAX, 0);
}

// ---- remembering --------------------------------------------------------------------------------

// Times the writes, which copy shared blocks, and orr_remember(). The previous memory is forgotten.
static bench_sample history_chunks_ours(bench_env* env)
{
    bench_sample sample = {.items = env->n};
    bench_expect(env, orr_remember(env->world), "remembering");
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t before = orr_world_tick(env->world);
        uint64_t start = bench_now_ns();
        orr_tick_advance(env->world);
        history_dirty(env);
        bench_expect(env, orr_remember(env->world), "remembering");
        bench_expect(env, orr_forget(env->world, before), "forgetting");
        uint64_t ns = bench_since_ns(start);
        sample.ns = i == 0 || ns < sample.ns ? ns : sample.ns;
    }
    history_end(env);
    return sample;
}

// Writes 1% of all entities by id, scattered over all chunks.
static uint64_t history_scatter(bench_env* env)
{
    orr_entity* some = env->extra[2];
    Part1* values = env->extra[3];
    uint32_t count = env->n / 100;
    uint64_t tick = orr_world_tick(env->world);
    for (uint32_t i = 0; i < count; i++) {
        some[i] = env->ids[(i * UINT64_C(7919) * 13 + tick * 31) % env->n];
        values[i] = (Part1){(double)i, (double)tick};
    }
    uint64_t start = bench_now_ns();
    bench_expect(env,
                 orr_component_set_many(env->world, some, count,
                                        orr_type_of(env->world, ORR_TYPE(Part1)), values),
                 "writing scattered entities");
    return bench_since_ns(start);
}

// The time of the same writes without a history is subtracted.
static bench_sample history_scattered_ours(bench_env* env)
{
    uint64_t plain = UINT64_MAX, with = UINT64_MAX;
    for (uint32_t i = 0; i < 3; i++) {
        orr_tick_advance(env->world);
        uint64_t ns = history_scatter(env);
        plain = ns < plain ? ns : plain;
    }
    bench_expect(env, orr_remember(env->world), "remembering");
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t before = orr_world_tick(env->world);
        orr_tick_advance(env->world);
        uint64_t ns = history_scatter(env);
        uint64_t start = bench_now_ns();
        bench_expect(env, orr_remember(env->world), "remembering");
        bench_expect(env, orr_forget(env->world, before), "forgetting");
        ns += bench_since_ns(start);
        with = ns < with ? ns : with;
    }
    history_end(env);
    return (bench_sample){.ns = with > plain ? with - plain : 1, .items = env->n};
}

// ---- travelling back ----------------------------------------------------------------------------

static bench_sample history_back_ours(bench_env* env)
{
    uint64_t first = orr_world_tick(env->world);
    bench_expect(env, orr_remember(env->world), "remembering");
    uint64_t hash = orr_world_hash(env->world);
    for (uint32_t i = 0; i < HISTORY_BACK; i++) {
        orr_tick_advance(env->world);
        history_dirty(env);
        bench_expect(env, orr_remember(env->world), "remembering");
    }
    uint64_t start = bench_now_ns();
    bench_expect(env, orr_time_travel(env->world, first), "going back");
    uint64_t ns = bench_since_ns(start);
    if (orr_world_hash(env->world) != hash) {
        bench_die("the restored world differs");
    }
    history_end(env);
    return (bench_sample){.ns = ns, .items = env->n};
}

// ---- memory use ---------------------------------------------------------------------------------

static bench_sample history_memory_ours(bench_env* env)
{
    for (uint32_t i = 0; i < HISTORY_TICKS; i++) {
        bench_expect(env, orr_remember(env->world), "remembering");
        orr_tick_advance(env->world);
        history_dirty(env);
    }
    orr_history_stats stats;
    orr_history_stats_get(env->world, &stats);
    history_end(env);
    return (bench_sample){.ns = stats.bytes, .items = env->n};
}

static bench_sample history_memory_limit(bench_env* env)
{
    return (bench_sample){.ns = (uint64_t)env->n * HISTORY_ROW, .items = env->n};
}

// ---- offered features ---------------------------------------------------------------------------

const bench_work bench_remember_chunks = {"remember_chunks",
                                          "entity; 1 in 100 chunks changed and remembered",
                                          history_open, history_chunks_ours, history_limit};
const bench_work bench_remember_scattered = {
    "remember_scattered", "entity; extra cost of changing 1 in 100 by id with a history",
    history_open, history_scattered_ours, history_limit};
const bench_work bench_travel_back = {"travel_back",
                                      "entity; back by 8 ticks with 1 in 100 chunks changed",
                                      history_open, history_back_ours, history_limit};
const bench_work bench_memory_600 = {
    "memory_600", "entity; bytes instead of ns; 600 ticks with 1 in 100 chunks changed",
    history_open, history_memory_ours, history_memory_limit};

#undef HISTORY_CLUSTERS
#undef HISTORY_ROW
#undef HISTORY_BACK
#undef HISTORY_TICKS
