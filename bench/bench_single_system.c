// SPDX-License-Identifier: MIT
// Components that are added to one entity at a time and that somebody hears of: a system that
// receives messages, a construct hook; and adds that a system sends. The limit of all three writes
// ids and values to arrays and then moves the rows.
#include "bench.h"
#include <string.h>

static bool hooked_construct(void* user, void* rows, uint32_t count)
{
    (void)user;
    for (uint32_t i = 0; i < count; i++) {
        ((float*)rows)[i] = 1.0f;
    }
    return true;
}
static const orr_hooks hooked_hooks = {.construct = hooked_construct};

ORR_STRUCT_EX(Hooked, (.hooks = &hooked_hooks), (float, value))

// extra: 0 and 1 the arrays of the limit, 2 and 3 the arrays of the reader, 4 the reader.
static void single_system_open(bench_env* env)
{
    bench_change_raw_table_make(env);
    env->extra[0] = bench_array(env->n, sizeof(uint64_t));
    env->extra[1] = bench_array(env->n, sizeof(Health));
    bench_world_open(env);
    bench_world_fill(env);
}

static void single_step(bench_env* env)
{
    bench_expect(env, orr_step(env->world, 1), "a tick");
}

static void single_system_add(bench_env* env, const orr_system_desc* desc)
{
    if (orr_system_add(env->world, desc).id == 0) {
        bench_die("the system was refused: %s", orr_error_last(env->world));
    }
}

// The number of added values, their sum and where the rows are. Then removes the type again.
static uint64_t single_added_digest(bench_env* env, orr_type type)
{
    uint64_t sum = bench_world_digest(env);
    for (uint32_t i = 0; i < env->n; i++) {
        const float* value = orr_component_get(env->world, env->ids[i], type);
        sum += value != NULL ? 1 + (uint64_t)*value * 3 : 0;
    }
    bench_expect(env, orr_component_remove_many(env->world, env->ids, env->n, type), "removing");
    return sum;
}

// The same for the limit, whose values are `value`, or 0, 1, 2 … if it is negative.
static bench_sample single_added_limit(bench_env* env, float value)
{
    bench_sample sample = {0};
    for (uint32_t round = bench_rounds(env->n); round > 0; round--) {
        uint64_t start = bench_now_ns();
        uint32_t count =
            raw_add_noted(&env->raw, env->raw_ids, env->extra[0], env->extra[1], env->n);
        sample.ns += bench_since_ns(start);
        sample.items += env->n;
        sample.check += raw_store_digest(&env->raw);
        const Health* healths = env->raw.tables[1].healths;
        for (uint32_t i = 0; i < count; i++) {
            sample.check += 1 + (uint64_t)(value < 0 ? healths[i].value : value) * 3;
        }
        (void)raw_remove(&env->raw, env->raw_ids, env->n);
    }
    return sample;
}

// ---- add_notified: a system receives the added values ----------------------------------------------

typedef struct single_reader {
    orr_entity* ids;
    Health* values;
    uint32_t count;
} single_reader;

static void single_notified_read(orr_run* run)
{
    single_reader* reader = orr_run_user(run);
    reader->count = 0;
    ORR_MESSAGES(m, run)
    {
        const Health* values = orr_values(m, Health);
        if (m->kind == ORR_COMPONENT_ADDED && values != NULL) {
            memcpy(reader->ids + reader->count, m->entities, m->count * sizeof *reader->ids);
            memcpy(reader->values + reader->count, values, m->count * sizeof *values);
            reader->count += m->count;
        }
    }
}

static void single_notified_open(bench_env* env)
{
    single_system_open(env);
    single_reader* reader = env->extra[4] = bench_array(1, sizeof *reader);
    reader->ids = env->extra[2] = bench_array(env->n, sizeof *reader->ids);
    reader->values = env->extra[3] = bench_array(env->n, sizeof *reader->values);
    single_system_add(env, &(orr_system_desc){.name = "reader",
                                              .kind = ORR_INDIRECT,
                                              .query = "Position, ?Health",
                                              .run = single_notified_read,
                                              .user = reader});
    single_step(env); // The first tick delivers the whole world.
}

static void single_notified_add(bench_env* env)
{
    orr_world* world = env->world;
    const orr_entity* ids = env->ids;
    int failed = 0;
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        failed |= (int)orr_set(world, ids[i], Health, {(float)i});
    }
    if (failed != 0) {
        bench_die("a component could not be added");
    }
    single_step(env);
}

static bench_sample single_notified_ours(bench_env* env)
{
    bench_sample sample = {0};
    const single_reader* reader = env->extra[4];
    for (uint32_t round = bench_rounds(env->n); round > 0; round--) {
        uint64_t start = bench_now_ns();
        single_notified_add(env);
        sample.ns += bench_since_ns(start);
        sample.items += env->n;
        if (reader->count != env->n) {
            bench_die("the reader was notified of %u of %u components", reader->count, env->n);
        }
        sample.check += single_added_digest(env, env->health);
        single_step(env); // The reader is notified of the removal.
    }
    return sample;
}

static bench_sample single_notified_limit(bench_env* env)
{
    return single_added_limit(env, -1);
}

// ---- add_hooked ---------------------------------------------------------------------------------

static bench_sample single_hooked_ours(bench_env* env)
{
    bench_sample sample = {0};
    orr_type hooked = orr_type_of(env->world, ORR_TYPE(Hooked));
    for (uint32_t round = bench_rounds(env->n); round > 0; round--) {
        orr_world* world = env->world;
        const orr_entity* ids = env->ids;
        int failed = 0;
        orr_tick_advance(world);
        uint64_t start = bench_now_ns();
        for (uint32_t i = 0, n = env->n; i < n; i++) {
            failed |= (int)orr_add(world, ids[i], Hooked);
        }
        sample.ns += bench_since_ns(start);
        sample.items += env->n;
        if (failed != 0) {
            bench_die("a component with a hook could not be added");
        }
        sample.check += single_added_digest(env, hooked);
    }
    return sample;
}

static bench_sample single_hooked_limit(bench_env* env)
{
    return single_added_limit(env, 1);
}

// ---- deferred_preset ----------------------------------------------------------------------------

static void single_preset_send(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        (void)orr_send_add_preset(run, orr_iter_entity(run, i), Health);
    }
}

static void single_preset_open(bench_env* env)
{
    single_system_open(env);
    single_system_add(env, &(orr_system_desc){.name = "send",
                                              .query = "Position, !Health",
                                              .run = single_preset_send,
                                              .adds = "Health"});
}

static bench_sample single_preset_ours(bench_env* env)
{
    bench_sample sample = {0};
    for (uint32_t round = bench_rounds(env->n); round > 0; round--) {
        uint64_t start = bench_now_ns();
        single_step(env);
        sample.ns += bench_since_ns(start);
        sample.items += env->n;
        sample.check += single_added_digest(env, env->health);
    }
    return sample;
}

static bench_sample single_preset_limit(bench_env* env)
{
    return single_added_limit(env, 0);
}

const bench_work bench_add_notified = {
    "add_notified", "component added by orr_set, and delivered to a reader in the next tick",
    single_notified_open, single_notified_ours, single_notified_limit};
const bench_work bench_add_hooked = {"add_hooked", "component with a construct hook, by orr_add",
                                     single_system_open, single_hooked_ours, single_hooked_limit};
const bench_work bench_deferred_preset = {
    "deferred_preset", "component sent with its preset, committed", single_preset_open,
    single_preset_ours, single_preset_limit};
