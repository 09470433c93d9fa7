// SPDX-License-Identifier: MIT
// Two continuous pipelines in real time, on a thread each, next to the same two pipelines in
// lockstep. Physics sends changes of a hundred of many bodies in each tick, and both pipelines
// receive them. Nearly all of such a tick is serial: the row shows what it costs to take turns.
#include "bench.h"

enum {
    REALTIME_SENT = 100,   // Changes per tick of physics.
    REALTIME_TICKS = 20000 // Of physics, per repeat.
};

// Totals of the messages that a system received.
typedef struct realtime_reader {
    uint64_t received, ticks;
} realtime_reader;

typedef struct realtime_sender {
    realtime_reader reader; // Must be first: the sender is also a reader.
    const orr_entity* ids;
    uint32_t n, at; // `at`: the next body to change.
    orr_type type;
    Position values[REALTIME_SENT];
    uint64_t sent;
    bool quiet;
} realtime_sender;

// extra: the state of the two systems.
enum {
    REALTIME_SENDER,
    REALTIME_DRAW
};

static void realtime_receive(orr_run* run)
{
    realtime_reader* reader = orr_run_user(run);
    ORR_MESSAGES(m, run)
    {
        reader->received += m->kind == ORR_COMPONENT_CHANGED ? m->count : 0;
    }
    reader->ticks++;
}

static void realtime_send(orr_run* run)
{
    realtime_receive(run);
    realtime_sender* sender = orr_run_user(run);
    if (sender->quiet) {
        return;
    }
    sender->at = sender->at + REALTIME_SENT <= sender->n ? sender->at : 0;
    for (uint32_t i = 0; i < REALTIME_SENT; i++) {
        sender->values[i] = (Position){(float)(run->tick & 0xFFFFF), (float)i};
    }
    (void)orr_send_change_many(run, sender->type, sender->ids + sender->at, NULL, REALTIME_SENT,
                               sender->values);
    sender->at += REALTIME_SENT;
    sender->sent += REALTIME_SENT;
}

static void realtime_systems_add(bench_env* env)
{
    orr_system_desc send = {.name = "physics",
                            .kind = ORR_INDIRECT,
                            .query = "write Position, Velocity",
                            .run = realtime_send,
                            .user = env->extra[REALTIME_SENDER],
                            .impure = true};
    orr_system_desc draw = {.name = "draw",
                            .kind = ORR_INDIRECT,
                            .query = "Position, Velocity",
                            .run = realtime_receive,
                            .user = env->extra[REALTIME_DRAW],
                            .pipeline = "drawing"};
    if (orr_pipeline_add(env->world, &(orr_pipeline_desc){.name = "drawing"}).id == 0 ||
        orr_system_add(env->world, &send).id == 0 || orr_system_add(env->world, &draw).id == 0) {
        bench_die("a pipeline or system was refused: %s", orr_error_last(env->world));
    }
}

static void realtime_open(bench_env* env)
{
    bench_workers_use(env, 0); // The wall clock: two threads work.
    bench_world_open(env);
    bench_world_fill(env);
    env->ids_shuffled = bench_array(env->n, sizeof(orr_entity));
    bench_shuffle((uint64_t*)env->ids_shuffled, (const uint64_t*)env->ids, env->n);
    realtime_sender* sender = bench_array(1, sizeof *sender);
    *sender = (realtime_sender){
        .ids = env->ids_shuffled, .n = env->n, .type = env->position, .quiet = true};
    env->extra[REALTIME_SENDER] = sender;
    env->extra[REALTIME_DRAW] = bench_array(1, sizeof(realtime_reader));
    realtime_systems_add(env);
    bench_expect(env, orr_step(env->world, 2), "the first ticks");
}

// Runs ticks with `run`, then quiet ticks in lockstep, in which the last messages are received. The
// items are the ticks of the slower pipeline. The check is the number of lost messages.
static bench_sample realtime_measure(bench_env* env, orr_result (*run)(orr_world* world))
{
    realtime_sender* sender = env->extra[REALTIME_SENDER];
    realtime_reader* draw = env->extra[REALTIME_DRAW];
    sender->reader = *draw = (realtime_reader){0};
    sender->sent = 0;
    sender->quiet = false;
    uint64_t start = bench_now_ns();
    bench_expect(env, run(env->world), "ticks");
    uint64_t ns = bench_since_ns(start);
    uint64_t ticks = sender->reader.ticks < draw->ticks ? sender->reader.ticks : draw->ticks;
    sender->quiet = true;
    bench_expect(env, orr_step(env->world, 2), "the last ticks");
    uint64_t lost = 2 * sender->sent - sender->reader.received - draw->received;
    return (bench_sample){ns, ticks > 0 ? ticks : 1, lost};
}

static orr_result realtime_run(orr_world* world)
{
    return orr_realtime(world, &(orr_realtime_desc){.ticks = REALTIME_TICKS});
}

static orr_result realtime_step(orr_world* world)
{
    return orr_step(world, REALTIME_TICKS);
}

static bench_sample realtime_ours(bench_env* env)
{
    return realtime_measure(env, realtime_run);
}

static bench_sample realtime_limit(bench_env* env)
{
    return realtime_measure(env, realtime_step);
}

const bench_work bench_realtime_pair = {"realtime_pair", "per tick", realtime_open, realtime_ours,
                                        realtime_limit};
