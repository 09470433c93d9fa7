// SPDX-License-Identifier: MIT
// A frame of rollback netcode: one tick, travel back by eight ticks, and the eight ticks again,
// with a window of sixteen. Measured per tick that was run. The limit is the same ticks of the same
// world without a history. All entities move, a third has Life and a third has Data. Of each
// hundred moving entities one fires per tick, and a fired entity is destroyed eight ticks later.
#include "bench.h"

#define ROLLBACK_BACK   8
#define ROLLBACK_WINDOW 16

static void rollback_move(orr_run* run)
{
    Position* p = orr_write(run, Position);
    raw_frame_move(p, orr_read(run, Velocity), run->dt, run->count);
}

static void rollback_live(orr_run* run)
{
    raw_frame_life(orr_write(run, Life), run->count);
}

static void rollback_count(orr_run* run)
{
    raw_frame_data(orr_write(run, Data), run->dt, run->count);
}

static void rollback_fire(orr_run* run)
{
    const Position* p = orr_read(run, Position);
    uint32_t first = (uint32_t)(orr_world_tick(run->world) % 100);
    for (uint32_t i = first; i < run->count; i += 100) {
        orr_entity shot = orr_send_create(run);
        orr_send_add(run, shot, Position, {p[i].x, p[i].y});
        orr_send_add(run, shot, Health, {8});
    }
}

static void rollback_fade(orr_run* run)
{
    Health* h = orr_write(run, Health);
    for (uint32_t i = 0; i < run->count; i++) {
        h[i].value -= 1;
        if (h[i].value <= 0) {
            orr_send_destroy(run, orr_iter_entity(run, i));
        }
    }
}

static void rollback_systems(bench_env* env)
{
    const orr_system_desc descs[] = {
        {.name = "move", .query = "write Position, Velocity", .run = rollback_move},
        {.name = "live", .query = "write Life", .run = rollback_live},
        {.name = "count", .query = "write Data", .run = rollback_count},
        {.name = "fire",
         .query = "Position, Velocity",
         .run = rollback_fire,
         .creates = "Position, Health",
         .creates_max = 32},
        {.name = "fade", .query = "write Health", .run = rollback_fade, .destroys = "Health"},
    };
    for (uint32_t i = 0; i < sizeof descs / sizeof descs[0]; i++) {
        if (orr_system_add(env->world, &descs[i]).id == 0) {
            bench_die("the system was refused: %s", orr_error_last(env->world));
        }
    }
}

static void rollback_open(bench_env* env)
{
    bench_world_open(env);
    for (uint32_t i = 0; i < env->n; i++) {
        orr_entity e = orr_create(env->world);
        bench_expect(env, orr_set(env->world, e, Position, {(float)i, 0}), "an entity");
        bench_expect(env, orr_set(env->world, e, Velocity, {1, 2}), "an entity");
        if (i % 3 == 0) {
            bench_expect(env, orr_set(env->world, e, Life, {.hp = 50, .most = 100}), "an entity");
        } else if (i % 3 == 1) {
            bench_expect(env, orr_set(env->world, e, Data, {0, 0}), "an entity");
        }
    }
    rollback_systems(env);
}

static void rollback_step(const bench_env* env, uint32_t ticks)
{
    bench_expect(env, orr_step(env->world, ticks), "ticks");
}

static void rollback_window(const bench_env* env, uint32_t recent)
{
    bench_expect(env, orr_history_set(env->world, &(orr_history_desc){.recent = recent}),
                 "setting the window");
    rollback_step(env, 2 * ROLLBACK_WINDOW);
}

static uint32_t rollback_frames(const bench_env* env)
{
    return bench_rounds(env->n) / 10 + 1;
}

static void rollback_frame(const bench_env* env)
{
    uint64_t before = orr_world_tick(env->world) + 1 - ROLLBACK_BACK;
    rollback_step(env, 1);
    bench_expect(env, orr_time_travel(env->world, before), "going back");
    rollback_step(env, ROLLBACK_BACK);
}

static bench_sample rollback_ours(bench_env* env)
{
    uint32_t frames = rollback_frames(env);
    rollback_window(env, ROLLBACK_WINDOW);
    uint64_t start = bench_now_ns();
    for (uint32_t i = 0; i < frames; i++) {
        rollback_frame(env);
    }
    uint64_t ns = bench_since_ns(start);
    rollback_step(env, 1); // The same ticks must give the same world.
    uint64_t hash = orr_world_hash(env->world), tick = orr_world_tick(env->world);
    bench_expect(env, orr_time_travel(env->world, tick - ROLLBACK_BACK), "going back");
    rollback_step(env, ROLLBACK_BACK);
    if (orr_world_hash(env->world) != hash) {
        bench_die("rollback: the repeated ticks gave a different world");
    }
    return (bench_sample){.ns = ns, .items = (uint64_t)frames * (ROLLBACK_BACK + 1)};
}

static bench_sample rollback_limit(bench_env* env)
{
    uint32_t ticks = rollback_frames(env) * (ROLLBACK_BACK + 1);
    rollback_window(env, 0);
    uint64_t start = bench_now_ns();
    for (uint32_t i = 0; i < ticks; i++) {
        rollback_step(env, 1);
    }
    return (bench_sample){.ns = bench_since_ns(start), .items = ticks};
}

const bench_work bench_rollback = {"rollback",
                                   "tick run; each frame travels back 8 ticks and runs 9",
                                   rollback_open, rollback_ours, rollback_limit};

#undef ROLLBACK_BACK
#undef ROLLBACK_WINDOW
