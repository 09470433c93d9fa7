// SPDX-License-Identifier: MIT
// Systems on two workers. The limit is the same loop on one thread where one thread is fastest (a
// thousand rows). Otherwise it is both halves on two threads that synchronise by spinning.
#include "bench.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

// ---- two plain threads --------------------------------------------------------------------------

// A second thread that runs the given task repeatedly and spins in between.
typedef struct workers_twin {
    pthread_t thread;
    void (*work)(bench_env* env);
    bench_env* env;
    atomic_uint asked, done;
    atomic_bool stop;
} workers_twin;

static inline void workers_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void* workers_twin_main(void* arg)
{
    workers_twin* twin = arg;
    for (unsigned seen = 0; !atomic_load(&twin->stop);) {
        if (atomic_load(&twin->asked) == seen) {
            workers_pause();
            continue;
        }
        twin->work(twin->env);
        atomic_store(&twin->done, ++seen);
    }
    return NULL;
}

static void workers_twin_start(workers_twin* twin, bench_env* env, void (*work)(bench_env*))
{
    *twin = (workers_twin){.work = work, .env = env};
    if (pthread_create(&twin->thread, NULL, workers_twin_main, twin) != 0) {
        bench_die("the second thread could not be started");
    }
}

static void workers_twin_stop(workers_twin* twin)
{
    atomic_store(&twin->stop, true);
    (void)pthread_join(twin->thread, NULL);
}

// Runs both halves concurrently, `rounds` times.
static uint64_t workers_both(bench_env* env, uint32_t rounds, void (*mine)(bench_env*),
                             void (*other)(bench_env*))
{
    workers_twin twin;
    workers_twin_start(&twin, env, other);
    uint64_t start = 0;
    for (uint32_t i = 0; i <= rounds; i++) { // The first round waits until the thread runs.
        start = i == 1 ? bench_now_ns() : start;
        unsigned asked = atomic_fetch_add(&twin.asked, 1) + 1;
        mine(env);
        while (atomic_load(&twin.done) != asked) {
            workers_pause();
        }
    }
    uint64_t ns = bench_since_ns(start);
    workers_twin_stop(&twin);
    return ns;
}

// ---- update_2 -----------------------------------------------------------------------------------

static void workers_add(bench_env* env, const char* name, const char* query, void (*run)(orr_run*))
{
    orr_system_desc desc = {.name = name, .query = query, .run = run, .parallel = true};
    if (orr_system_add(env->world, &desc).id == 0) {
        bench_die("the system was refused: %s", orr_error_last(env->world));
    }
}

static void workers_move(orr_run* run)
{
    Position* p = orr_write(run, Position);
    raw_move_2(p, orr_read(run, Velocity), run->count);
}

static void workers_update_open(bench_env* env)
{
    bench_workers_use(env, 2);
    raw_fill(&env->raw, env->positions, env->velocities, env->raw_ids, env->n);
    bench_world_open(env);
    bench_world_fill(env);
    workers_add(env, "move", "write Position, Velocity", workers_move);
}

// Enough rounds that workers do not fall asleep while the clock is read; one more than counted, as
// in the limit.
static bench_sample workers_step(bench_env* env, uint64_t items)
{
    uint32_t rounds = bench_rounds(env->n);
    bench_expect(env, orr_step(env->world, 1), "a tick");
    uint64_t start = bench_now_ns();
    for (uint32_t i = 0; i < rounds; i++) {
        bench_expect(env, orr_step(env->world, 1), "a tick");
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, items * rounds, bench_world_digest(env)};
}

static bench_sample workers_update_ours(bench_env* env)
{
    return workers_step(env, env->n);
}

static bench_sample workers_alone_limit(bench_env* env)
{
    uint32_t rounds = bench_rounds(env->n);
    raw_table* t = &env->raw.tables[0];
    raw_move_2(t->positions, t->velocities, env->n);
    uint64_t start = bench_now_ns();
    for (uint32_t i = 0; i < rounds; i++) {
        raw_move_2(t->positions, t->velocities, env->n);
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, (uint64_t)env->n * rounds, raw_store_digest(&env->raw)};
}

static void workers_first_half(bench_env* env)
{
    raw_table* t = &env->raw.tables[0];
    raw_move_2(t->positions, t->velocities, env->n / 2);
}

static void workers_second_half(bench_env* env)
{
    raw_table* t = &env->raw.tables[0];
    uint32_t half = env->n / 2;
    raw_move_2(t->positions + half, t->velocities + half, env->n - half);
}

static bench_sample workers_pair_limit(bench_env* env)
{
    uint32_t rounds = bench_rounds(env->n);
    uint64_t ns = workers_both(env, rounds, workers_first_half, workers_second_half);
    return (bench_sample){ns, (uint64_t)env->n * rounds, raw_store_digest(&env->raw)};
}

const bench_work bench_update_alone = {"update_2", "per entity", workers_update_open,
                                       workers_update_ours, workers_alone_limit};
const bench_work bench_update_pair = {"update_2", "per entity", workers_update_open,
                                      workers_update_ours, workers_pair_limit};

// ---- two systems without shared types -----------------------------------------------------------

static void workers_push(orr_run* run)
{
    raw_move_1(orr_write(run, Position), run->count);
}

static void workers_data(orr_run* run)
{
    raw_frame_data(orr_write(run, Data), run->dt, run->count);
}

static void workers_disjoint_open(bench_env* env)
{
    bench_workers_use(env, 2);
    raw_fill(&env->raw, env->positions, env->velocities, env->raw_ids, env->n);
    env->raw.data = bench_array(env->n, sizeof(Data));
    bench_world_open(env);
    orr_cluster cluster;
    bench_expect(env,
                 orr_cluster_get(env->world,
                                 &(orr_cluster_desc){ORR_TYPES(env->world, Position, Data)},
                                 &cluster),
                 "a cluster");
    orr_column_data data = {env->position, env->positions};
    bench_expect(env, orr_create_many(env->world, cluster, env->n, &data, 1, NULL), "filling it");
    workers_add(env, "push", "write Position", workers_push);
    workers_add(env, "data", "write Data", workers_data);
}

static bench_sample workers_disjoint_ours(bench_env* env)
{
    return workers_step(env, env->n);
}

static void workers_raw_push(bench_env* env)
{
    raw_move_1(env->raw.tables[0].positions, env->n);
}

static void workers_raw_data(bench_env* env)
{
    raw_frame_data(env->raw.data, 1.0f / 60.0f, env->n);
}

static bench_sample workers_disjoint_limit(bench_env* env)
{
    uint32_t rounds = bench_rounds(env->n);
    uint64_t ns = workers_both(env, rounds, workers_raw_push, workers_raw_data);
    return (bench_sample){ns, (uint64_t)env->n * rounds, raw_store_digest(&env->raw)};
}

const bench_work bench_disjoint_systems = {"disjoint_systems", "per entity", workers_disjoint_open,
                                           workers_disjoint_ours, workers_disjoint_limit};

// ---- two writers of one type, on disjoint clusters ----------------------------------------------

static void workers_clusters_open(bench_env* env)
{
    bench_workers_use(env, 2);
    raw_fill(&env->raw, env->positions, env->velocities, env->raw_ids, env->n);
    bench_world_open(env);
    uint32_t half = env->n / 2;
    for (uint32_t i = 0; i < 2; i++) {
        orr_cluster cluster = bench_cluster_get(env, 0, i == 1);
        uint32_t first = i == 0 ? 0 : half, count = i == 0 ? half : env->n - half;
        orr_column_data data[] = {{env->position, env->positions + first},
                                  {env->velocity, env->velocities + first}};
        bench_expect(env, orr_create_many(env->world, cluster, count, data, 2, NULL), "filling");
    }
    workers_add(env, "hale", "write Position, Velocity, Health", workers_move);
    workers_add(env, "frail", "write Position, Velocity, !Health", workers_move);
}

const bench_work bench_disjoint_clusters = {"disjoint_clusters", "per entity",
                                            workers_clusters_open, workers_disjoint_ours,
                                            workers_pair_limit};
