// SPDX-License-Identifier: MIT
// Loops over queries. Each pass is a separate tick, so every block is stamped again, as in a
// running program. The loop body is the same machine code as that of the limit (raw.c), except for
// many clusters, where the step from cluster to cluster is measured.
#include "bench.h"
#include <stdlib.h>
#include <string.h>

// ---- iterate_1 ----------------------------------------------------------------------------------

static void iterate_query_create(bench_env* env, const orr_term* terms, uint32_t count)
{
    env->query =
        orr_query_create(env->world, &(orr_query_desc){.terms = terms, .term_count = count});
    if (env->query == NULL) {
        bench_die("the query was refused: %s", orr_error_last(env->world));
    }
}

static void iterate_open(bench_env* env)
{
    bench_world_open(env);
    bench_world_fill(env);
    iterate_query_create(env, &(orr_term){.type = env->position, .access = ORR_WRITE}, 1);
}

static void iterate_2_open(bench_env* env)
{
    bench_world_open(env);
    bench_world_fill(env);
    iterate_query_create(
        env, (orr_term[]){{.type = env->position, .access = ORR_WRITE}, {.type = env->velocity}},
        2);
}

static bench_sample iterate_1_ours(bench_env* env)
{
    uint32_t rounds = bench_rounds(env->n);
    uint64_t start = bench_now_ns();
    for (uint32_t round = 0; round < rounds; round++) {
        orr_tick_advance(env->world);
        ORR_EACH (it, env->query) {
            raw_move_1(orr_write(&it, Position), it.count);
        }
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, (uint64_t)env->n * rounds, bench_world_digest(env)};
}

static bench_sample iterate_1_limit(bench_env* env)
{
    uint32_t rounds = bench_rounds(env->n);
    uint64_t start = bench_now_ns();
    for (uint32_t round = 0; round < rounds; round++) {
        raw_move_1(env->raw.tables[0].positions, env->n);
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, (uint64_t)env->n * rounds, raw_store_digest(&env->raw)};
}

// ---- iterate_2 ----------------------------------------------------------------------------------

static bench_sample iterate_2_ours(bench_env* env)
{
    uint32_t rounds = bench_rounds(env->n);
    uint64_t start = bench_now_ns();
    for (uint32_t round = 0; round < rounds; round++) {
        orr_tick_advance(env->world);
        ORR_EACH (it, env->query) {
            Position* p = orr_write(&it, Position);
            raw_move_2(p, orr_read(&it, Velocity), it.count);
        }
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, (uint64_t)env->n * rounds, bench_world_digest(env)};
}

static bench_sample iterate_2_limit(bench_env* env)
{
    uint32_t rounds = bench_rounds(env->n);
    const raw_table* t = &env->raw.tables[0];
    uint64_t start = bench_now_ns();
    for (uint32_t round = 0; round < rounds; round++) {
        raw_move_2(t->positions, t->velocities, env->n);
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, (uint64_t)env->n * rounds, raw_store_digest(&env->raw)};
}

// ---- iterate_5 ----------------------------------------------------------------------------------

static void iterate_5_open(bench_env* env)
{
    raw_store* raw = &env->raw;
    raw->tables[0].healths = bench_array(env->n, sizeof(Health));
    raw->accelerations = bench_array(env->n, sizeof(Acceleration));
    raw->data = bench_array(env->n, sizeof(Data));
    for (uint32_t i = 0; i < env->n; i++) {
        raw->accelerations[i] = (Acceleration){0.125f, 0.25f};
    }
    bench_world_open(env);
    orr_type types[] = {env->position, env->velocity, env->acceleration, env->health, env->data};
    orr_cluster_desc desc = {.types = types, .type_count = 5};
    bench_expect(env, orr_cluster_get(env->world, &desc, &env->clusters[0]), "a cluster of five");
    orr_column_data data[] = {{env->position, env->positions},
                              {env->velocity, env->velocities},
                              {env->acceleration, raw->accelerations}};
    bench_expect(env, orr_create_many(env->world, env->clusters[0], env->n, data, 3, NULL),
                 "filling a cluster of five");
    iterate_query_create(env,
                         (orr_term[]){{.type = env->position, .access = ORR_WRITE},
                                      {.type = env->velocity, .access = ORR_WRITE},
                                      {.type = env->acceleration},
                                      {.type = env->health, .access = ORR_WRITE},
                                      {.type = env->data, .access = ORR_WRITE}},
                         5);
}

static void iterate_5_pass(bench_env* env)
{
    ORR_EACH (it, env->query) {
        Position* p = orr_write(&it, Position);
        Velocity* v = orr_write(&it, Velocity);
        const Acceleration* a = orr_read(&it, Acceleration);
        Health* h = orr_write(&it, Health);
        raw_move_5(p, v, a, h, orr_write(&it, Data), it.count);
    }
}

static bench_sample iterate_5_ours(bench_env* env)
{
    uint32_t rounds = bench_rounds(env->n);
    uint64_t start = bench_now_ns();
    for (uint32_t round = 0; round < rounds; round++) {
        orr_tick_advance(env->world);
        iterate_5_pass(env);
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, (uint64_t)env->n * rounds, bench_world_digest(env)};
}

static bench_sample iterate_5_limit(bench_env* env)
{
    uint32_t rounds = bench_rounds(env->n);
    const raw_store* raw = &env->raw;
    const raw_table* t = &raw->tables[0];
    uint64_t start = bench_now_ns();
    for (uint32_t round = 0; round < rounds; round++) {
        raw_move_5(t->positions, t->velocities, raw->accelerations, t->healths, raw->data, env->n);
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, (uint64_t)env->n * rounds, raw_store_digest(raw)};
}

// ---- iterate_fragmented -------------------------------------------------------------------------

static void iterate_fragmented_open(bench_env* env)
{
    iterate_open(env);
    env->raw_spans = bench_array(env->cluster_count, sizeof(raw_span));
    for (uint32_t c = 0; c < env->cluster_count; c++) {
        uint32_t first = bench_share(env, c);
        env->raw_spans[c] =
            (raw_span){env->raw.tables[0].positions + first, bench_share(env, c + 1) - first};
    }
}

static void iterate_fragmented_pass(orr_query* query)
{
    ORR_EACH (it, query) {
        Position* p = orr_write(&it, Position);
        for (uint32_t i = 0; i < it.count; i++) {
            p[i].x += 1.0f;
            p[i].y += 1.0f;
        }
    }
}

static bench_sample iterate_fragmented_ours(bench_env* env)
{
    uint32_t rounds = bench_rounds(env->n);
    uint64_t start = bench_now_ns();
    for (uint32_t round = 0; round < rounds; round++) {
        orr_tick_advance(env->world);
        iterate_fragmented_pass(env->query);
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, (uint64_t)env->n * rounds, bench_world_digest(env)};
}

static bench_sample iterate_fragmented_limit(bench_env* env)
{
    uint32_t rounds = bench_rounds(env->n);
    uint64_t start = bench_now_ns();
    for (uint32_t round = 0; round < rounds; round++) {
        raw_move_spans(env->raw_spans, env->cluster_count);
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, (uint64_t)env->n * rounds, raw_store_digest(&env->raw)};
}

// ---- hashing after changes ----------------------------------------------------------------------

static void iterate_hash_open(bench_env* env)
{
    iterate_open(env);
    (void)orr_world_hash(env->world);
}

static bench_sample iterate_hash_ours(bench_env* env)
{
    orr_tick_advance(env->world);
    uint32_t chunks = (env->n + ORR_CHUNK_CAPACITY - 1) / ORR_CHUNK_CAPACITY;
    uint64_t before = orr_world_hash(env->world);
    for (uint32_t chunk = 0; chunk < chunks; chunk += 100) {
        Position* p = orr_column_write(env->world, env->clusters[0], chunk, env->position);
        raw_move_1(p, orr_chunk_count(env->world, env->clusters[0], chunk));
    }
    uint64_t start = bench_now_ns();
    uint64_t after = orr_world_hash(env->world);
    uint64_t ns = bench_since_ns(start);
    if (after == before) {
        bench_die("the hash did not change after a write");
    }
    return (bench_sample){.ns = ns, .items = env->n};
}

static bench_sample iterate_hash_limit(bench_env* env)
{
    const raw_table* t = &env->raw.tables[0];
    size_t n = env->n;
    uint64_t start = bench_now_ns();
    uint64_t h = orr_hash(t->positions, sizeof(Position) * n, 1);
    h = orr_hash(t->velocities, sizeof(Velocity) * n, h);
    h = orr_hash(t->owners, sizeof(uint32_t) * n, h);
    h = orr_hash(env->raw.records, sizeof(raw_record) * n, h);
    uint64_t ns = bench_since_ns(start);
    env->raw.bits = env->raw.bits != NULL ? env->raw.bits : bench_array(1, sizeof(uint64_t));
    env->raw.bits[0] ^= h; // Keeps the result alive.
    return (bench_sample){.ns = ns, .items = env->n};
}

// ---- offered features ---------------------------------------------------------------------------

const bench_work bench_iterate_1 = {"iterate_1", "Position += 1", iterate_open, iterate_1_ours,
                                    iterate_1_limit};
/* N4-06 */
const bench_work bench_iterate_2 = {"iterate_2", "Position += Velocity", iterate_2_open,
                                    iterate_2_ours, iterate_2_limit};
const bench_work bench_write_overhead = {"write_overhead",
                                         "as iterate_2: writes in a world without a history",
                                         iterate_2_open, iterate_2_ours, iterate_2_limit};
const bench_work bench_iterate_5 = {"iterate_5", "five components, four of them written",
                                    iterate_5_open, iterate_5_ours, iterate_5_limit};
const bench_work bench_fragmented = {"iterate_fragmented", "Position += 1 over many clusters",
                                     iterate_fragmented_open, iterate_fragmented_ours,
                                     iterate_fragmented_limit};
const bench_work bench_hash = {"hash_dirty_1pct",
                               "entity; the world's hash after 1 in 100 chunks changed",
                               iterate_hash_open, iterate_hash_ours, iterate_hash_limit};
