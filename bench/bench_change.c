// SPDX-License-Identifier: MIT
// Adding, removing, enabling and disabling components, and access by id. The world is created once;
// every repeat restores it.
#include "bench.h"
#include <stdlib.h>
#include <string.h>

static void change_open(bench_env* env)
{
    bench_world_open(env);
    bench_world_fill(env);
}

void bench_change_raw_table_make(bench_env* env)
{
    raw_table* t = &env->raw.tables[1];
    t->positions = bench_array(env->n, sizeof(Position));
    t->velocities = bench_array(env->n, sizeof(Velocity));
    t->healths = bench_array(env->n, sizeof(Health));
    t->owners = bench_array(env->n, sizeof(uint32_t));
}

static uint32_t change_cluster_rows(bench_env* env, orr_cluster cluster)
{
    orr_cluster_info info;
    bench_expect(env, orr_cluster_info_get(env->world, cluster, &info), "looking at a cluster");
    return info.row_count;
}

// Number of rows in clusters with Health.
static uint64_t change_moved(bench_env* env)
{
    uint64_t rows = 0;
    for (uint32_t c = 0; c < env->cluster_count; c++) {
        rows += change_cluster_rows(env, bench_cluster_get(env, c, true));
    }
    return rows;
}

// ---- add_remove ---------------------------------------------------------------------------------

static void change_add_remove_open(bench_env* env)
{
    change_open(env);
    bench_change_raw_table_make(env);
}

static void change_add_each(bench_env* env)
{
    orr_world* world = env->world; // Locals, as in the limit: a call could change env.
    const orr_entity* ids = env->ids;
    orr_type type = env->health;
    int failed = 0;
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        failed |= (int)orr_component_add(world, ids[i], type);
    }
    if (failed != 0) {
        bench_die("a component could not be added");
    }
}

static void change_remove_each(bench_env* env)
{
    orr_world* world = env->world;
    const orr_entity* ids = env->ids;
    orr_type type = env->health;
    int failed = 0;
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        failed |= (int)orr_component_remove(world, ids[i], type);
    }
    if (failed != 0) {
        bench_die("a component could not be removed");
    }
}

// As above, by the macros.
static void change_add_macro(bench_env* env)
{
    orr_world* world = env->world;
    const orr_entity* ids = env->ids;
    int failed = 0;
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        failed |= (int)orr_add(world, ids[i], Health);
    }
    if (failed != 0) {
        bench_die("a component could not be added");
    }
}

static void change_remove_macro(bench_env* env)
{
    orr_world* world = env->world;
    const orr_entity* ids = env->ids;
    int failed = 0;
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        failed |= (int)orr_remove(world, ids[i], Health);
    }
    if (failed != 0) {
        bench_die("a component could not be removed");
    }
}

static void change_add_many(bench_env* env)
{
    bench_expect(env, orr_component_add_many(env->world, env->ids, env->n, env->health, NULL),
                 "adding to many");
}

static void change_remove_many(bench_env* env)
{
    bench_expect(env, orr_component_remove_many(env->world, env->ids, env->n, env->health),
                 "removing from many");
}

static bench_sample change_pair(bench_env* env, void (*add)(bench_env*), void (*remove)(bench_env*))
{
    bench_sample sample = {0};
    for (uint32_t round = bench_rounds(env->n); round > 0; round--) {
        orr_tick_advance(env->world);
        uint64_t start = bench_now_ns();
        add(env);
        sample.ns += bench_since_ns(start);
        sample.check += change_moved(env);
        start = bench_now_ns();
        remove(env);
        sample.ns += bench_since_ns(start);
        sample.items += env->n;
    }
    sample.check += bench_world_digest(env) + change_moved(env);
    return sample;
}

static bench_sample change_add_remove_ours(bench_env* env)
{
    return change_pair(env, change_add_each, change_remove_each);
}

static bench_sample change_add_remove_macro_ours(bench_env* env)
{
    return change_pair(env, change_add_macro, change_remove_macro);
}

static bench_sample change_add_remove_many_ours(bench_env* env)
{
    return change_pair(env, change_add_many, change_remove_many);
}

static bench_sample change_add_remove_limit(bench_env* env)
{
    bench_sample sample = {0};
    for (uint32_t round = bench_rounds(env->n); round > 0; round--) {
        uint64_t start = bench_now_ns();
        uint32_t added = raw_add(&env->raw, env->raw_ids, env->n);
        uint32_t removed = raw_remove(&env->raw, env->raw_ids, env->n);
        sample.ns += bench_since_ns(start);
        sample.check += (added + removed) / 2;
        sample.items += env->n;
    }
    sample.check += raw_store_digest(&env->raw) + env->raw.tables[1].count;
    return sample;
}

// ---- toggle -------------------------------------------------------------------------------------

static void change_toggle_open(bench_env* env)
{
    change_open(env);
    env->raw.bits = bench_array(env->n / 64 + 1, sizeof(uint64_t));
    memset(env->raw.bits, 0xff, (env->n / 64 + 1) * sizeof(uint64_t));
}

static void change_toggle_each(bench_env* env, bool on)
{
    orr_world* world = env->world;
    const orr_entity* ids = env->ids;
    orr_type type = env->position;
    int failed = 0;
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        failed |= (int)orr_component_enable(world, ids[i], type, on);
    }
    if (failed != 0) {
        bench_die("a component could not be enabled or disabled");
    }
}

static uint64_t change_off_count(bench_env* env)
{
    uint64_t off = 0;
    for (uint32_t i = 0; i < env->n; i++) {
        off += !orr_component_enabled(env->world, env->ids[i], env->position);
    }
    return off;
}

static uint64_t change_raw_off_count(const bench_env* env)
{
    uint64_t off = 0;
    for (uint32_t i = 0; i < env->n; i++) {
        off += (env->raw.bits[i >> 6] >> (i & 63) & 1) == 0;
    }
    return off;
}

static bench_sample change_toggle_ours(bench_env* env)
{
    bench_sample sample = {.items = env->n};
    orr_tick_advance(env->world);
    uint64_t start = bench_now_ns();
    change_toggle_each(env, false);
    sample.ns += bench_since_ns(start);
    sample.check += change_off_count(env);
    start = bench_now_ns();
    change_toggle_each(env, true);
    sample.ns += bench_since_ns(start);
    sample.check += change_off_count(env);
    return sample;
}

static bench_sample change_toggle_limit(bench_env* env)
{
    bench_sample sample = {.items = env->n};
    uint64_t start = bench_now_ns();
    raw_toggle(&env->raw, env->raw_ids, env->n, false);
    sample.ns += bench_since_ns(start);
    sample.check += change_raw_off_count(env);
    start = bench_now_ns();
    raw_toggle(&env->raw, env->raw_ids, env->n, true);
    sample.ns += bench_since_ns(start);
    sample.check += change_raw_off_count(env);
    return sample;
}

// ---- get and set by id --------------------------------------------------------------------------

void bench_shuffled_open(bench_env* env)
{
    change_open(env);
    env->ids_shuffled = bench_array(env->n, sizeof(orr_entity));
    env->raw_ids_shuffled = bench_array(env->n, sizeof(uint64_t));
    bench_shuffle(&env->ids_shuffled[0].id, &env->ids[0].id, env->n);
    bench_shuffle(env->raw_ids_shuffled, env->raw_ids, env->n);
}

uint64_t bench_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float change_get_pass(const orr_world* world, const orr_entity* ids, uint32_t count,
                             orr_type type)
{
    float sum = 0;
    orr_reader reader = orr_reader_make(world, type);
    for (uint32_t i = 0; i < count; i++) {
        const Position* p = orr_reader_get(&reader, ids[i]);
        if (p != NULL) {
            sum += p->x;
        }
    }
    return sum;
}

static bench_sample change_get_ours(bench_env* env)
{
    bench_sample sample = {0};
    uint64_t start = bench_now_ns();
    for (uint32_t round = bench_rounds(env->n); round > 0; round--) {
        sample.check +=
            bench_float_bits(change_get_pass(env->world, env->ids_shuffled, env->n, env->position));
        sample.items += env->n;
    }
    sample.ns = bench_since_ns(start);
    return sample;
}

bench_sample bench_get_limit(bench_env* env)
{
    bench_sample sample = {0};
    uint64_t start = bench_now_ns();
    for (uint32_t round = bench_rounds(env->n); round > 0; round--) {
        sample.check += bench_float_bits(raw_get(&env->raw, env->raw_ids_shuffled, env->n));
        sample.items += env->n;
    }
    sample.ns = bench_since_ns(start);
    return sample;
}

static bench_sample change_set_measure(bench_env* env, void (*set)(bench_env*))
{
    bench_sample sample = {.items = env->n};
    orr_tick_advance(env->world);
    uint64_t start = bench_now_ns();
    set(env);
    sample.ns = bench_since_ns(start);
    sample.check = bench_world_digest(env);
    return sample;
}

static void change_set_each(bench_env* env)
{
    orr_world* world = env->world;
    const orr_entity* ids = env->ids_shuffled;
    const Position* values = env->positions;
    orr_type type = env->position;
    int failed = 0;
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        failed |= (int)orr_component_set(world, ids[i], type, &values[i]);
    }
    if (failed != 0) {
        bench_die("a component could not be set");
    }
}

static void change_set_many(bench_env* env)
{
    bench_expect(env,
                 orr_component_set_many(env->world, env->ids_shuffled, env->n, env->position,
                                        env->positions),
                 "setting many");
}

static bench_sample change_set_ours(bench_env* env)
{
    return change_set_measure(env, change_set_each);
}

static bench_sample change_set_many_ours(bench_env* env)
{
    return change_set_measure(env, change_set_many);
}

static bench_sample change_set_limit(bench_env* env)
{
    uint64_t start = bench_now_ns();
    raw_set(&env->raw, env->raw_ids_shuffled, env->positions, env->n);
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, env->n, raw_store_digest(&env->raw)};
}

// ---- offered features ---------------------------------------------------------------------------

const bench_work bench_add_remove = {
    "add_remove", "component added to each, then removed; per pair", change_add_remove_open,
    change_add_remove_ours, change_add_remove_limit};
const bench_work bench_add_remove_macro = {"add_remove", "the same by orr_add and orr_remove",
                                           change_add_remove_open, change_add_remove_macro_ours,
                                           change_add_remove_limit};
const bench_work bench_add_remove_many = {
    "add_remove_many", "the same through the batch calls; per pair", change_add_remove_open,
    change_add_remove_many_ours, change_add_remove_limit};
const bench_work bench_toggle = {"toggle", "component disabled for each, then enabled; per pair",
                                 change_toggle_open, change_toggle_ours, change_toggle_limit};
const bench_work bench_get = {"get_random", "Position read by id, shuffled", bench_shuffled_open,
                              change_get_ours, bench_get_limit};
const bench_work bench_get_reader = {"get_reader", "Position read by orr_reader, shuffled",
                                     bench_shuffled_open, change_get_ours, bench_get_limit};
const bench_work bench_set = {"set_random", "Position set by id, shuffled", bench_shuffled_open,
                              change_set_ours, change_set_limit};
const bench_work bench_set_many = {"set_many_random", "Position set by id, shuffled, in one call",
                                   bench_shuffled_open, change_set_many_ours, change_set_limit};
