// SPDX-License-Identifier: MIT
// Transactions on the calling thread and on two workers: a system posts a sum for a random target
// from every row; all are applied at the end of the tick. The limit records sums in an array, sorts
// them by target in two passes and applies them.
#include "bench.h"

enum {
    TRANSACT_TARGETS, // Targets of ours.
    TRANSACT_RAW,     // Targets of the limit.
    TRANSACT_AMOUNTS,
    TRANSACT_NOTES,
    TRANSACT_SORTED,
};

// The settings of the system.
typedef struct transact_work {
    const orr_entity* targets;
    const float* amounts;
} transact_work;

static void transact_post(orr_run* run)
{
    const transact_work* work = orr_run_settings(run);
    orr_type position = orr_type_of(run->world, ORR_TYPE(Position));
    uint32_t first;
    (void)orr_iter_cluster(run, &first);
    for (uint32_t i = first; i < first + run->count; i++) {
        (void)orr_transact_field(run, ORR_OP_ADD, work->targets[i], position, 0,
                                 (uint32_t)offsetof(Position, x), sizeof(float), &work->amounts[i]);
    }
}

static void transact_open(bench_env* env)
{
    static transact_work work;
    orr_entity* targets = env->extra[TRANSACT_TARGETS] = bench_array(env->n, sizeof(orr_entity));
    uint64_t* raw = env->extra[TRANSACT_RAW] = bench_array(env->n, sizeof(uint64_t));
    float* amounts = env->extra[TRANSACT_AMOUNTS] = bench_array(env->n, sizeof(float));
    env->extra[TRANSACT_NOTES] = bench_array(env->n, sizeof(raw_note));
    env->extra[TRANSACT_SORTED] = bench_array(env->n, sizeof(raw_note));
    raw_fill(&env->raw, env->positions, env->velocities, env->raw_ids, env->n);
    bench_world_open(env);
    bench_world_fill(env);
    for (uint32_t i = 0; i < env->n; i++) {
        uint64_t target = orr_random_below(orr_random(1, i, 0, 0), env->n);
        targets[i] = env->ids[target];
        raw[i] = env->raw_ids[target];
        amounts[i] = (float)(i % 100) * 0.01f;
    }
    work = (transact_work){targets, amounts};
    orr_system system = orr_system_add(env->world, &(orr_system_desc){.name = "post",
                                                                      .query = "Velocity",
                                                                      .parallel = true,
                                                                      .transacts = "Position",
                                                                      .run = transact_post,
                                                                      .settings = &work});
    if (system.id == 0) {
        bench_die("the system was refused: %s", orr_error_last(env->world));
    }
}

static bench_sample transact_ours(bench_env* env)
{
    uint64_t start = bench_now_ns();
    bench_expect(env, orr_step(env->world, 1), "a tick");
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, env->n, bench_world_digest(env)};
}

static bench_sample transact_limit(bench_env* env)
{
    uint32_t bits = 2;
    while (1u << bits < env->n) {
        bits++;
    }
    uint64_t start = bench_now_ns();
    (void)raw_transact(&env->raw, env->extra[TRANSACT_RAW], env->extra[TRANSACT_AMOUNTS], env->n,
                       env->extra[TRANSACT_NOTES], env->extra[TRANSACT_SORTED], bits);
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, env->n, raw_store_digest(&env->raw)};
}

const bench_work bench_transactions = {"transactions", "per sum", transact_open, transact_ours,
                                       transact_limit};

static void transact_open_2(bench_env* env)
{
    bench_workers_use(env, 2);
    transact_open(env);
}

// The limit uses one thread.
const bench_work bench_transactions_2 = {"transactions", "per sum", transact_open_2, transact_ours,
                                         transact_limit};
