// SPDX-License-Identifier: MIT
// Queries: creation, changed-since, multiple types, pairs, and the cost of queries on a pinned
// type.
#include "bench.h"
#include <string.h>

static orr_query* query_make(bench_env* env, const orr_term* terms, uint32_t count)
{
    orr_query* query =
        orr_query_create(env->world, &(orr_query_desc){.terms = terms, .term_count = count});
    if (query == NULL) {
        bench_die("the query was refused: %s", orr_error_last(env->world));
    }
    return query;
}

static void query_open(bench_env* env)
{
    bench_world_open(env);
    bench_world_fill(env);
    env->query = query_make(
        env, (orr_term[]){{.type = env->position, .access = ORR_WRITE}, {.type = env->velocity}},
        2);
}

// ---- query_create -------------------------------------------------------------------------------

static void query_create_open(bench_env* env)
{
    bench_world_open(env);
    bench_world_fill(env);
    env->raw.signatures = bench_array(env->cluster_count, sizeof(raw_signature));
    env->raw.matched = bench_array(env->cluster_count, sizeof(uint32_t));
    for (uint32_t c = 0; c < env->cluster_count; c++) {
        env->raw.signatures[c].words[0] = 3 | (uint64_t)c << 2;
    }
}

static bench_sample query_create_ours(bench_env* env)
{
    bench_sample sample = {.items = env->cluster_count};
    orr_term term = {.type = env->position};
    uint64_t start = bench_now_ns();
    orr_query* query = query_make(env, &term, 1);
    sample.ns = bench_since_ns(start);
    sample.check = orr_query_count(query) == env->n ? env->cluster_count : 0;
    orr_query_destroy(query);
    return sample;
}

static bench_sample query_create_limit(bench_env* env)
{
    raw_signature wanted = {{1, 0}};
    uint64_t start = bench_now_ns();
    uint32_t found = raw_match(env->raw.signatures, env->cluster_count, wanted, env->raw.matched);
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, env->cluster_count, found};
}

// ---- change_scan --------------------------------------------------------------------------------

static uint32_t query_chunks(const bench_env* env)
{
    return (env->n + ORR_CHUNK_CAPACITY - 1) / ORR_CHUNK_CAPACITY;
}

static void query_scan_open(bench_env* env)
{
    query_open(env);
    env->query = query_make(env, &(orr_term){.type = env->position, .changed = true}, 1);
    env->raw.versions = bench_array(query_chunks(env), sizeof(uint64_t));
}

static bench_sample query_scan(bench_env* env, bool touch)
{
    uint32_t rounds = 1000, chunks = query_chunks(env);
    uint64_t found = 0, ns = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        uint64_t mark = orr_change_mark(env->world);
        if (touch) {
            (void)orr_column_write(env->world, env->clusters[0], chunks / 2, env->position);
        }
        uint64_t start = bench_now_ns();
        ORR_EACH_OF (it, env->query, .since = mark) {
            found++;
        }
        ns += bench_since_ns(start);
    }
    return (bench_sample){ns, (uint64_t)rounds * chunks, found};
}

static bench_sample query_scan_ours(bench_env* env)
{
    return query_scan(env, false);
}

static bench_sample query_scan_touched_ours(bench_env* env)
{
    return query_scan(env, true);
}

static bench_sample query_scan_raw(bench_env* env, bool touch)
{
    uint32_t rounds = 1000, chunks = query_chunks(env);
    uint64_t found = 0, ns = 0;
    env->raw.versions[chunks / 2] = touch ? 2 : 0;
    for (uint32_t round = 0; round < rounds; round++) {
        uint64_t start = bench_now_ns();
        found += raw_newer(env->raw.versions, chunks, 1);
        ns += bench_since_ns(start);
    }
    return (bench_sample){ns, (uint64_t)rounds * chunks, found};
}

static bench_sample query_scan_limit(bench_env* env)
{
    return query_scan_raw(env, false);
}

static bench_sample query_scan_touched_limit(bench_env* env)
{
    return query_scan_raw(env, true);
}

// ---- write_tracked: iterate_2 with a reader that looks for changes every tick -------------------

static bench_sample query_tracked(bench_env* env, orr_query* reader)
{
    uint32_t rounds = bench_rounds(env->n);
    uint64_t seen = 0, start = bench_now_ns();
    for (uint32_t round = 0; round < rounds; round++) {
        orr_tick_advance(env->world);
        uint64_t mark = reader != NULL ? orr_change_mark(env->world) : 0;
        ORR_EACH (it, env->query) {
            Position* p = orr_write(&it, Position);
            raw_move_2(p, orr_read(&it, Velocity), it.count);
        }
        if (reader != NULL) {
            ORR_EACH_OF (it, reader, .since = mark) {
                seen += it.count;
            }
        }
    }
    uint64_t ns = bench_since_ns(start);
    if (reader != NULL && seen != (uint64_t)env->n * rounds) {
        bench_die("the changed-since reader missed changes");
    }
    return (bench_sample){ns, (uint64_t)env->n * rounds, 0};
}

static bench_sample query_tracked_ours(bench_env* env)
{
    orr_query* reader = query_make(env, &(orr_term){.type = env->position, .changed = true}, 1);
    bench_sample sample = query_tracked(env, reader);
    orr_query_destroy(reader);
    return sample;
}

static bench_sample query_tracked_limit(bench_env* env)
{
    return query_tracked(env, NULL);
}

// ---- cross_product ------------------------------------------------------------------------------

static bench_sample query_cross_ours(bench_env* env)
{
    uint64_t near = 0, start = bench_now_ns();
    ORR_CROSS (pair, env->query, env->query, ORR_PAIRS_ONCE) {
        const Position* a = orr_read(&pair.left, Position);
        const Position* b = orr_read(&pair.right, Position);
        for (uint32_t i = 0; i < pair.left.count; i++) {
            uint32_t first = orr_cross_from(&pair, i);
            near += raw_near(a[i], b + first, pair.right.count - first);
        }
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, (uint64_t)env->n * (env->n - 1) / 2, near};
}

static bench_sample query_cross_limit(bench_env* env)
{
    const Position* p = env->raw.tables[0].positions;
    uint64_t near = 0, start = bench_now_ns();
    for (uint32_t i = 0; i < env->n; i++) {
        near += raw_near(p[i], p + i + 1, env->n - i - 1);
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, (uint64_t)env->n * (env->n - 1) / 2, near};
}

// ---- iterate_multiple ---------------------------------------------------------------------------

static void query_multiple_open(bench_env* env)
{
    bench_world_open(env);
    orr_type spot = orr_type_of(env->world, ORR_TYPE(Spot));
    orr_cluster cluster;
    uint16_t capacity = 4;
    orr_cluster_desc desc = {.types = &spot, .type_count = 1, .capacities = &capacity};
    bench_expect(env, orr_cluster_get(env->world, &desc, &cluster), "a cluster of four spots");
    env->ids = env->ids != NULL ? env->ids : bench_array(env->n, sizeof(orr_entity));
    env->raw.spots = bench_array((size_t)env->n * 4, sizeof(Spot));
    bench_expect(env, orr_create_many(env->world, cluster, env->n, NULL, 0, env->ids), "entities");
    for (uint32_t i = 0; i < env->n; i++) {
        for (uint32_t k = 0; k < 4; k++) {
            Spot value = {(float)(i % 7), (float)k};
            env->raw.spots[i * 4 + k] = value;
            bool added = k == 0 || orr_instance_add(env->world, env->ids[i], spot, &value) != 0;
            if (!added) {
                bench_die("the instance was refused: %s", orr_error_last(env->world));
            }
        }
        const orr_component_id* ids;
        (void)orr_instances_get(env->world, env->ids[i], spot, NULL, &ids);
        bench_expect(
            env, orr_instance_set(env->world, env->ids[i], spot, ids[0], &env->raw.spots[i * 4]),
            "setting an instance");
    }
    env->query = query_make(env, &(orr_term){.type = spot}, 1);
}

// Values past the last instance are zero, so a sum may include the whole capacity. With a capacity
// known to the compiler the loop has no inner branch.
static inline float query_sum_by(const Spot* spots, size_t capacity, uint32_t rows, float sum)
{
    for (uint32_t i = 0; i < rows; i++) {
        float mine = 0;
        for (size_t k = 0; k < capacity; k++) {
            mine += spots[i * capacity + k].x;
        }
        sum += mine;
    }
    return sum;
}

static float query_sum(const Spot* spots, orr_instances n, uint32_t rows, float sum)
{
    switch (n.capacity) {
    case 1:
        return query_sum_by(spots, 1, rows, sum);
    case 2:
        return query_sum_by(spots, 2, rows, sum);
    case 4:
        return query_sum_by(spots, 4, rows, sum);
    default:
        return query_sum_by(spots, n.capacity, rows, sum);
    }
}

static bench_sample query_multiple_ours(bench_env* env)
{
    uint32_t rounds = bench_rounds(env->n * 4);
    float sum = 0;
    uint64_t start = bench_now_ns();
    for (uint32_t round = 0; round < rounds; round++) {
        ORR_EACH (it, env->query) {
            const Spot* spots = orr_read(&it, Spot);
            orr_instances n = orr_instances_of(&it, Spot);
            sum = query_sum(spots, n, it.count, sum);
        }
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, (uint64_t)env->n * rounds, (uint64_t)sum};
}

// The same with explicit counts, for work where zeros are not neutral.
static bench_sample query_multiple_counted_ours(bench_env* env)
{
    uint32_t rounds = bench_rounds(env->n * 4);
    float sum = 0;
    uint64_t start = bench_now_ns();
    for (uint32_t round = 0; round < rounds; round++) {
        ORR_EACH (it, env->query) {
            const Spot* spots = orr_read(&it, Spot);
            orr_instances n = orr_instances_of(&it, Spot);
            for (uint32_t i = 0; i < it.count; i++, spots += n.capacity) {
                float mine = 0;
                for (uint32_t k = 0; k < n.counts[i]; k++) {
                    mine += spots[k].x;
                }
                sum += mine;
            }
        }
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, (uint64_t)env->n * rounds, (uint64_t)sum};
}

static bench_sample query_multiple_limit(bench_env* env)
{
    uint32_t rounds = bench_rounds(env->n * 4);
    float sum = 0;
    uint64_t start = bench_now_ns();
    for (uint32_t round = 0; round < rounds; round++) {
        sum = raw_sum_4(env->raw.spots, env->n, sum);
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, (uint64_t)env->n * rounds, (uint64_t)sum};
}

// ---- add_bulk: a component more for everything a query matches ----------------------------------

static void query_bulk_open(bench_env* env)
{
    query_open(env);
    raw_table* to = &env->raw.tables[1];
    to->positions = bench_array(env->n, sizeof(Position));
    to->velocities = bench_array(env->n, sizeof(Velocity));
    to->owners = bench_array(env->n, sizeof(uint32_t));
}

static bench_sample query_bulk_ours(bench_env* env)
{
    bench_sample sample = {.items = env->n};
    orr_tick_advance(env->world);
    uint64_t start = bench_now_ns();
    bench_expect(env, orr_query_add(env->query, env->health, NULL), "adding over a query");
    sample.ns = bench_since_ns(start);
    sample.check = orr_query_count(env->query) + bench_world_digest(env);
    bench_expect(env, orr_query_remove(env->query, env->health), "removing over a query");
    return sample;
}

static bench_sample query_bulk_limit(bench_env* env)
{
    uint64_t start = bench_now_ns();
    raw_copy_columns(&env->raw.tables[0], &env->raw.tables[1], env->n);
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, env->n, env->n + raw_digest(env->raw.tables[1].positions, env->n)};
}

// ---- pinned_queries: N4-14, cost of pinned sets when pinned values are added and removed --------

static void query_pinned_open(bench_env* env, uint32_t queries)
{
    bench_pinned_open(env);
    orr_type anchor = orr_type_of(env->world, ORR_TYPE(Anchor));
    for (uint32_t q = 0; q < queries; q++) {
        (void)query_make(env, (orr_term[]){{.type = anchor}, {.type = env->position}}, 2);
    }
}

static void query_pinned_0_open(bench_env* env)
{
    query_pinned_open(env, 0);
}

static void query_pinned_1_open(bench_env* env)
{
    query_pinned_open(env, 1);
}

static void query_pinned_8_open(bench_env* env)
{
    query_pinned_open(env, 8);
}

static void query_pinned_64_open(bench_env* env)
{
    query_pinned_open(env, 64);
}

const bench_work bench_query_create = {"query_create", "cluster that matches a new query",
                                       query_create_open, query_create_ours, query_create_limit};
const bench_work bench_change_scan = {"change_scan", "chunk checked when none changed",
                                      query_scan_open, query_scan_ours, query_scan_limit};
const bench_work bench_change_scan_1 = {"change_scan_1", "the same when one changed",
                                        query_scan_open, query_scan_touched_ours,
                                        query_scan_touched_limit};
const bench_work bench_write_tracked = {
    "write_tracked", "iterate_2 with a changed-since reader every tick; limit: without", query_open,
    query_tracked_ours, query_tracked_limit};
const bench_work bench_cross_product = {"cross_product", "pair of entities, each once", query_open,
                                        query_cross_ours, query_cross_limit};
const bench_work bench_iterate_multiple = {
    "iterate_multiple", "entity; the sum over its 4 instances", query_multiple_open,
    query_multiple_ours, query_multiple_limit};
const bench_work bench_iterate_multiple_counted = {
    "iterate_multiple_counted", "the same, each entity's instances counted", query_multiple_open,
    query_multiple_counted_ours, query_multiple_limit};
const bench_work bench_add_bulk = {"add_bulk", "entity of a query that gets one more component",
                                   query_bulk_open, query_bulk_ours, query_bulk_limit};
const bench_work bench_pinned_queries_0 = {
    "pinned_queries_0", "pinned add and remove, no query on the type", query_pinned_0_open,
    bench_pinned_ours, bench_pinned_limit};
const bench_work bench_pinned_queries_1 = {"pinned_queries_1", "the same with 1 query",
                                           query_pinned_1_open, bench_pinned_ours,
                                           bench_pinned_limit};
const bench_work bench_pinned_queries_8 = {"pinned_queries_8", "the same with 8 queries",
                                           query_pinned_8_open, bench_pinned_ours,
                                           bench_pinned_limit};
const bench_work bench_pinned_queries_64 = {"pinned_queries_64", "the same with 64 queries",
                                            query_pinned_64_open, bench_pinned_ours,
                                            bench_pinned_limit};
