// SPDX-License-Identifier: MIT
// Pinned components: added, removed and read by id. The limit is a sparse set with dense values,
// which moves the last value into the gap. Orrery may not move pinned values.
#include "bench.h"
#include <string.h>

void bench_pinned_open(bench_env* env)
{
    bench_world_open(env);
    bench_world_fill(env);
    env->raw.sparse = bench_array(env->n, sizeof(uint32_t));
    env->raw.dense_owners = bench_array(env->n, sizeof(uint32_t));
    env->raw.dense_values = bench_array(env->n, sizeof(Anchor));
    memset(env->raw.sparse, 0xff, env->n * sizeof(uint32_t));
    env->raw.dense_count = 0;
}

static orr_type pinned_type(const bench_env* env)
{
    return orr_type_of(env->world, ORR_TYPE(Anchor));
}

static void pinned_add_each(bench_env* env)
{
    orr_world* world = env->world; // Locals, as in the limit: a call could change env.
    const orr_entity* ids = env->ids;
    orr_type type = pinned_type(env);
    int failed = 0;
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        failed |= (int)orr_component_add(world, ids[i], type);
    }
    if (failed != 0) {
        bench_die("a pinned component could not be added");
    }
}

static void pinned_remove_each(bench_env* env)
{
    orr_world* world = env->world;
    const orr_entity* ids = env->ids;
    orr_type type = pinned_type(env);
    int failed = 0;
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        failed |= (int)orr_component_remove(world, ids[i], type);
    }
    if (failed != 0) {
        bench_die("a pinned component could not be removed");
    }
}

// As above, by the macros.
static void pinned_add_macro(bench_env* env)
{
    orr_world* world = env->world;
    const orr_entity* ids = env->ids;
    int failed = 0;
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        failed |= (int)orr_add(world, ids[i], Anchor);
    }
    if (failed != 0) {
        bench_die("a pinned component could not be added");
    }
}

static void pinned_remove_macro(bench_env* env)
{
    orr_world* world = env->world;
    const orr_entity* ids = env->ids;
    int failed = 0;
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        failed |= (int)orr_remove(world, ids[i], Anchor);
    }
    if (failed != 0) {
        bench_die("a pinned component could not be removed");
    }
}

static void pinned_add_many(bench_env* env)
{
    bench_expect(env, orr_component_add_many(env->world, env->ids, env->n, pinned_type(env), NULL),
                 "adding a pinned component to many");
}

static void pinned_remove_many(bench_env* env)
{
    bench_expect(env, orr_component_remove_many(env->world, env->ids, env->n, pinned_type(env)),
                 "removing a pinned component from many");
}

static bench_sample pinned_pair(bench_env* env, void (*add)(bench_env*), void (*remove)(bench_env*))
{
    bench_sample sample = {0};
    for (uint32_t round = bench_rounds(env->n); round > 0; round--) {
        orr_tick_advance(env->world);
        uint64_t start = bench_now_ns();
        add(env);
        sample.ns += bench_since_ns(start);
        sample.check += orr_pinned_count(env->world, pinned_type(env));
        start = bench_now_ns();
        remove(env);
        sample.ns += bench_since_ns(start);
        sample.items += env->n;
    }
    sample.check += bench_world_digest(env) + orr_pinned_count(env->world, pinned_type(env));
    return sample;
}

bench_sample bench_pinned_ours(bench_env* env)
{
    return pinned_pair(env, pinned_add_each, pinned_remove_each);
}

static bench_sample pinned_macro_ours(bench_env* env)
{
    return pinned_pair(env, pinned_add_macro, pinned_remove_macro);
}

static bench_sample pinned_add_remove_many_ours(bench_env* env)
{
    return pinned_pair(env, pinned_add_many, pinned_remove_many);
}

bench_sample bench_pinned_limit(bench_env* env)
{
    bench_sample sample = {0};
    for (uint32_t round = bench_rounds(env->n); round > 0; round--) {
        uint64_t start = bench_now_ns();
        uint32_t added = raw_sparse_add(&env->raw, env->raw_ids, env->n);
        uint32_t removed = raw_sparse_remove(&env->raw, env->raw_ids, env->n);
        sample.ns += bench_since_ns(start);
        sample.check += (added + removed) / 2;
        sample.items += env->n;
    }
    sample.check += raw_store_digest(&env->raw) + env->raw.dense_count;
    return sample;
}

// ---- get ----------------------------------------------------------------------------------------

static void pinned_get_open(bench_env* env)
{
    bench_pinned_open(env);
    env->ids_shuffled = bench_array(env->n, sizeof(orr_entity));
    env->raw_ids_shuffled = bench_array(env->n, sizeof(uint64_t));
    bench_shuffle(&env->ids_shuffled[0].id, &env->ids[0].id, env->n);
    bench_shuffle(env->raw_ids_shuffled, env->raw_ids, env->n);
    pinned_add_many(env);
    (void)raw_sparse_add(&env->raw, env->raw_ids, env->n);
    for (uint32_t i = 0; i < env->n; i++) {
        Anchor* ours = orr_component_edit(env->world, env->ids[i], pinned_type(env));
        env->raw.dense_values[i].value = ours->value = (float)(i % 1000);
    }
}

static bench_sample pinned_get_ours(bench_env* env)
{
    bench_sample sample = {.items = env->n};
    const orr_world* world = env->world;
    orr_type type = pinned_type(env);
    float sum = 0;
    uint64_t start = bench_now_ns();
    for (uint32_t i = 0; i < env->n; i++) {
        const Anchor* anchor = orr_component_get(world, env->ids_shuffled[i], type);
        sum += anchor != NULL ? anchor->value : 0;
    }
    sample.ns = bench_since_ns(start);
    sample.check = (uint64_t)sum;
    return sample;
}

static bench_sample pinned_get_limit(bench_env* env)
{
    uint64_t start = bench_now_ns();
    float sum = raw_sparse_get(&env->raw, env->raw_ids_shuffled, env->n);
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, env->n, (uint64_t)sum};
}

const bench_work bench_add_remove_pinned = {
    "add_remove_pinned", "pinned component added to each, then removed; per pair",
    bench_pinned_open, bench_pinned_ours, bench_pinned_limit};
const bench_work bench_add_remove_pinned_macro = {
    "add_remove_pinned", "the same by orr_add and orr_remove", bench_pinned_open, pinned_macro_ours,
    bench_pinned_limit};
const bench_work bench_add_remove_pinned_many = {
    "add_remove_pinned_many", "the same through the batch calls; per pair", bench_pinned_open,
    pinned_add_remove_many_ours, bench_pinned_limit};
const bench_work bench_get_pinned = {"get_random_pinned", "pinned component read by id, shuffled",
                                     pinned_get_open, pinned_get_ours, pinned_get_limit};
