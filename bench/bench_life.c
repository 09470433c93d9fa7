// SPDX-License-Identifier: MIT
// Creating and destroying. Each repeat begins with a fresh world (or refilled arrays), which is not
// timed.
#include "bench.h"
#include <stdlib.h>
#include <string.h>

// Number of rounds per repeat: for a small world creating it costs more than the work.
static uint32_t life_rounds(const bench_env* env)
{
    uint32_t rounds = bench_rounds(env->n);
    return rounds < 32 ? rounds : 32;
}

bench_sample bench_life_measure(bench_env* env, bench_part before, bench_part timed,
                                uint64_t (*digest)(bench_env* env))
{
    bench_sample sample = {0};
    for (uint32_t round = life_rounds(env); round > 0; round--) {
        before(env);
        uint64_t start = bench_now_ns();
        timed(env);
        sample.ns += bench_since_ns(start);
        sample.items += env->n;
        sample.check += digest(env);
    }
    return sample;
}

// ---- what is compared: entities alive, ids handed out, positions --------------------------------

static uint64_t life_digest(uint64_t alive, uint64_t first, uint64_t last, uint64_t positions)
{
    // Ids of ours and the limit differ. Both must show that their ids are pairwise different.
    return alive * 3 + (first != last) + positions;
}

uint64_t bench_life_ours_digest(bench_env* env)
{
    return life_digest(orr_entity_count(env->world), env->ids[0].id, env->ids[env->n - 1].id,
                       bench_world_digest(env));
}

uint64_t bench_life_limit_digest(bench_env* env)
{
    return life_digest(env->raw.tables[0].count, env->raw_ids[0], env->raw_ids[env->n - 1],
                       raw_store_digest(&env->raw));
}

static uint64_t life_ours_alive(bench_env* env)
{
    uint64_t found = 0;
    for (uint32_t i = 0; i < env->n; i++) {
        found += orr_alive(env->world, env->ids[i]);
    }
    return found + orr_entity_count(env->world);
}

static uint64_t life_limit_alive(bench_env* env)
{
    uint64_t found = 0;
    for (uint32_t i = 0; i < env->n; i++) {
        found += env->raw.records[(uint32_t)env->raw_ids[i]].generation == env->raw_ids[i] >> 32;
    }
    return found + env->raw.tables[0].count;
}

// ---- create_empty -------------------------------------------------------------------------------

void bench_life_clear(bench_env* env)
{
    env->raw.tables[0].count = 0;
    memset(env->raw.records, 0, sizeof(raw_record) * env->n);
}

static void life_create_empty(bench_env* env)
{
    orr_world* world = env->world;
    orr_entity* ids = env->ids;
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        ids[i] = orr_create(world);
    }
}

static void life_create_empty_bulk(bench_env* env)
{
    orr_cluster cluster = {0};
    bench_expect(env, orr_cluster_get(env->world, &(orr_cluster_desc){0}, &cluster), "a cluster");
    bench_expect(env, orr_create_many(env->world, cluster, env->n, NULL, 0, env->ids),
                 "creating in bulk");
}

static void life_create_empty_limit(bench_env* env)
{
    raw_create_empty(env->raw.records, env->raw_ids, env->n);
    env->raw.tables[0].count = env->n;
}

static bench_sample life_create_empty_ours(bench_env* env)
{
    return bench_life_measure(env, bench_world_open, life_create_empty, life_ours_alive);
}

static bench_sample life_create_empty_bulk_ours(bench_env* env)
{
    return bench_life_measure(env, bench_world_open, life_create_empty_bulk, life_ours_alive);
}

static bench_sample life_create_empty_raw(bench_env* env)
{
    return bench_life_measure(env, bench_life_clear, life_create_empty_limit, life_limit_alive);
}

// ---- create_2 -----------------------------------------------------------------------------------

static void life_create_2(bench_env* env)
{
    orr_type types[] = {env->position, env->velocity};
    for (uint32_t c = 0; c < env->cluster_count; c++) {
        orr_appender a;
        bench_expect(env, orr_append_begin(env->world, env->clusters[c], types, 2, &a),
                     "beginning the appender");
        uint32_t end = bench_share(env, c + 1);
        for (uint32_t i = bench_share(env, c); i < end; i++) {
            uint32_t k = orr_append(&a);
            if (k == ORR_APPEND_NONE) {
                bench_die("appending was refused");
            }
            ((Position*)a.columns[0])[k] = (Position){(float)i, 1.0f};
            ((Velocity*)a.columns[1])[k] = (Velocity){1.0f, 2.0f};
            env->ids[i] = a.entities[k];
        }
        orr_append_end(&a);
    }
}

static void life_create_2_bulk(bench_env* env)
{
    bench_world_fill(env);
}

static void life_create_2_limit(bench_env* env)
{
    raw_create_2(&env->raw, env->raw_ids, env->n);
}

static void life_create_2_bulk_limit(bench_env* env)
{
    raw_create_2_bulk(&env->raw, env->raw_records_source, env->positions, env->velocities,
                      env->raw_ids_shuffled, env->raw_ids, env->n);
}

static void life_create_2_bulk_open(bench_env* env)
{
    env->raw_records_source = bench_array(env->n, sizeof(raw_record));
    env->raw_ids_shuffled = bench_array(env->n, sizeof(uint64_t)); // Not shuffled: the source.
    memcpy(env->raw_records_source, env->raw.records, sizeof(raw_record) * env->n);
    memcpy(env->raw_ids_shuffled, env->raw_ids, sizeof(uint64_t) * env->n);
}

static bench_sample life_create_2_ours(bench_env* env)
{
    return bench_life_measure(env, bench_world_open, life_create_2, bench_life_ours_digest);
}

static bench_sample life_create_2_bulk_ours(bench_env* env)
{
    return bench_life_measure(env, bench_world_open, life_create_2_bulk, bench_life_ours_digest);
}

// The same with ids that were used before: the world is emptied, not made anew.
static void life_empty(bench_env* env)
{
    if (env->world == NULL) {
        bench_world_open(env);
        bench_world_fill(env);
    }
    bench_expect(env, orr_destroy_many(env->world, env->ids, env->n), "destroying many");
}

static bench_sample life_create_bulk_recycled_ours(bench_env* env)
{
    return bench_life_measure(env, life_empty, life_create_2_bulk, bench_life_ours_digest);
}

static bench_sample life_create_empty_recycled_ours(bench_env* env)
{
    return bench_life_measure(env, life_empty, life_create_empty, life_ours_alive);
}

static bench_sample life_create_2_raw(bench_env* env)
{
    return bench_life_measure(env, bench_life_clear, life_create_2_limit, bench_life_limit_digest);
}

static bench_sample life_create_2_bulk_raw(bench_env* env)
{
    return bench_life_measure(env, bench_life_clear, life_create_2_bulk_limit,
                              bench_life_limit_digest);
}

// ---- create_2_cold: in memory the process never touched -----------------------------------------

static void life_cold_world(bench_env* env)
{
    bench_world_close(env);
    bench_heap_warm(false);
    bench_world_open(env);
}

// Allocates new arrays whose pages are not mapped yet.
static void life_raw_cold(bench_env* env)
{
    raw_table* t = &env->raw.tables[0];
    free(env->raw.records);
    free(t->positions);
    free(t->velocities);
    bench_heap_warm(false);
    size_t size = (sizeof(Position) * env->n + 63) & ~(size_t)63;
    env->raw.records = aligned_alloc(64, size); // All three have items of 8 bytes.
    t->positions = aligned_alloc(64, size);
    t->velocities = aligned_alloc(64, size);
    if (env->raw.records == NULL || t->positions == NULL || t->velocities == NULL) {
        bench_die("no memory for cold arrays");
    }
}

static bench_sample life_create_2_cold_ours(bench_env* env)
{
    return bench_life_measure(env, life_cold_world, life_create_2, bench_life_ours_digest);
}

static bench_sample life_create_2_cold_raw(bench_env* env)
{
    return bench_life_measure(env, life_raw_cold, life_create_2_limit, bench_life_limit_digest);
}

// ---- destroy ------------------------------------------------------------------------------------

static void life_destroy_open(bench_env* env)
{
    env->ids_shuffled = bench_array(env->n, sizeof(orr_entity));
    env->raw_ids_shuffled = bench_array(env->n, sizeof(uint64_t));
}

static void life_fill(bench_env* env)
{
    bench_world_open(env);
    bench_world_fill(env);
}

static void life_fill_shuffled(bench_env* env)
{
    life_fill(env);
    bench_shuffle(&env->ids_shuffled[0].id, &env->ids[0].id, env->n);
}

// As README shows it: some entity of the world has a name, which is a pinned component.
static void life_fill_named(bench_env* env)
{
    life_fill(env);
    if (orr_create_named(env->world, "bob").id == 0) {
        bench_die("an entity could not be created");
    }
}

static void life_raw_fill(bench_env* env)
{
    raw_fill(&env->raw, env->positions, env->velocities, env->raw_ids, env->n);
}

static void life_raw_fill_shuffled(bench_env* env)
{
    life_raw_fill(env);
    bench_shuffle(env->raw_ids_shuffled, env->raw_ids, env->n);
}

static void life_destroy_each(bench_env* env, const orr_entity* ids)
{
    orr_world* world = env->world;
    int failed = 0;
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        failed |= (int)orr_destroy(world, ids[i]);
    }
    if (failed != 0) {
        bench_die("an entity could not be destroyed");
    }
}

static void life_destroy_ordered(bench_env* env)
{
    life_destroy_each(env, env->ids);
}

static void life_destroy_shuffled(bench_env* env)
{
    life_destroy_each(env, env->ids_shuffled);
}

static void life_destroy_many(bench_env* env)
{
    bench_expect(env, orr_destroy_many(env->world, env->ids_shuffled, env->n), "destroying many");
}

static void life_destroy_ordered_limit(bench_env* env)
{
    (void)raw_destroy(&env->raw, env->raw_ids, env->n);
}

static void life_destroy_shuffled_limit(bench_env* env)
{
    (void)raw_destroy(&env->raw, env->raw_ids_shuffled, env->n);
}

static bench_sample life_destroy_ordered_ours(bench_env* env)
{
    return bench_life_measure(env, life_fill, life_destroy_ordered, life_ours_alive);
}

static uint64_t life_named_alive(bench_env* env)
{
    return life_ours_alive(env) - 1; // Not counting the one that has a name.
}

static bench_sample life_destroy_named_ours(bench_env* env)
{
    return bench_life_measure(env, life_fill_named, life_destroy_ordered, life_named_alive);
}

static bench_sample life_destroy_ordered_raw(bench_env* env)
{
    return bench_life_measure(env, life_raw_fill, life_destroy_ordered_limit, life_limit_alive);
}

static bench_sample life_destroy_shuffled_ours(bench_env* env)
{
    return bench_life_measure(env, life_fill_shuffled, life_destroy_shuffled, life_ours_alive);
}

static bench_sample life_destroy_many_ours(bench_env* env)
{
    return bench_life_measure(env, life_fill_shuffled, life_destroy_many, life_ours_alive);
}

static bench_sample life_destroy_shuffled_raw(bench_env* env)
{
    return bench_life_measure(env, life_raw_fill_shuffled, life_destroy_shuffled_limit,
                              life_limit_alive);
}

// ---- delete_cluster -----------------------------------------------------------------------------

static void life_delete_cluster(bench_env* env)
{
    for (uint32_t c = 0; c < env->cluster_count; c++) {
        bench_expect(env, orr_cluster_delete(env->world, env->clusters[c]), "deleting a cluster");
    }
}

static void life_delete_cluster_limit(bench_env* env)
{
    raw_free_records(&env->raw);
}

static bench_sample life_delete_cluster_ours(bench_env* env)
{
    return bench_life_measure(env, life_fill, life_delete_cluster, life_ours_alive);
}

static bench_sample life_delete_cluster_raw(bench_env* env)
{
    return bench_life_measure(env, life_raw_fill, life_delete_cluster_limit, life_limit_alive);
}

// ---- memory_per_entity: bytes in the place of nanoseconds ---------------------------------------

static bench_sample life_memory_ours(bench_env* env)
{
    bench_world_open(env);
    life_create_2(env);
    orr_memory_stats stats;
    orr_world_memory_get(env->world, &stats);
    return (bench_sample){.ns = stats.total.bytes, .items = env->n};
}

static bench_sample life_memory_raw(bench_env* env)
{
    uint64_t bytes = sizeof(raw_record) + sizeof(uint32_t) + sizeof(Position) + sizeof(Velocity);
    return (bench_sample){.ns = bytes * env->n, .items = env->n};
}

// ---- a whole world ------------------------------------------------------------------------------

static bench_sample life_world_ours(bench_env* env)
{
    uint64_t start = bench_now_ns();
    for (uint32_t i = 0; i < env->n; i++) {
        orr_world* world = orr_world_create(NULL);
        if (world == NULL) {
            bench_die("the world could not be created");
        }
        orr_world_destroy(world);
    }
    return (bench_sample){.ns = bench_since_ns(start), .items = env->n};
}

// There is no raw equivalent; the design allows 20 microseconds.
static bench_sample life_world_raw(bench_env* env)
{
    return (bench_sample){.ns = (uint64_t)20000 * env->n, .items = env->n};
}

// ---- offered features ---------------------------------------------------------------------------

const bench_work bench_create_empty = {"create_empty", "entity created, one by one", NULL,
                                       life_create_empty_ours, life_create_empty_raw};
const bench_work bench_create_empty_bulk = {"create_empty_bulk", "entity created, in one call",
                                            NULL, life_create_empty_bulk_ours,
                                            life_create_empty_raw};
const bench_work bench_create_2 = {"create_2", "entity with two components, by the appender", NULL,
                                   life_create_2_ours, life_create_2_raw};
const bench_work bench_create_2_cold = {
    "create_2_cold", "entity with two components, in memory never touched before", NULL,
    life_create_2_cold_ours, life_create_2_cold_raw};
const bench_work bench_create_bulk_recycled = {
    "create_bulk_recycled", "entity with two components, in one call, ids used before",
    life_create_2_bulk_open, life_create_bulk_recycled_ours, life_create_2_bulk_raw};
const bench_work bench_create_empty_recycled = {
    "create_empty_recycled", "entity created, one by one, ids used before", NULL,
    life_create_empty_recycled_ours, life_create_empty_raw};
const bench_work bench_create_2_bulk = {"create_2_bulk", "entity with two components, in one call",
                                        life_create_2_bulk_open, life_create_2_bulk_ours,
                                        life_create_2_bulk_raw};
const bench_work bench_destroy_ordered = {"destroy_ordered", "entity destroyed, in creation order",
                                          life_destroy_open, life_destroy_ordered_ours,
                                          life_destroy_ordered_raw};
const bench_work bench_destroy_named = {
    "destroy_named", "entity destroyed, in creation order, where another one has a name",
    life_destroy_open, life_destroy_named_ours, life_destroy_ordered_raw};
const bench_work bench_destroy_shuffled = {"destroy_shuffled", "entity destroyed, shuffled",
                                           life_destroy_open, life_destroy_shuffled_ours,
                                           life_destroy_shuffled_raw};
const bench_work bench_destroy_many = {"destroy_many_shuffled",
                                       "entity destroyed, shuffled, in one call", life_destroy_open,
                                       life_destroy_many_ours, life_destroy_shuffled_raw};
/* N1-21: beside destroy_ordered */
const bench_work bench_delete_cluster = {"delete_cluster", "entity of a deleted cluster", NULL,
                                         life_delete_cluster_ours, life_delete_cluster_raw};
/* N4-10 */
const bench_work bench_memory = {"memory_per_entity",
                                 "entity with two components; bytes instead of ns", NULL,
                                 life_memory_ours, life_memory_raw};
const bench_work bench_world = {"world_create_destroy",
                                "world created and destroyed; the limit is the design's 20 us",
                                NULL, life_world_ours, life_world_raw};
