// SPDX-License-Identifier: MIT
// Two pipelines that exchange messages: physics moves and turns 1, 100 or 1000 of many bodies in
// each tick, always the same ones, as the program of the founding notes does, or others in a random
// order; drawing receives the changes in its own tick. Both systems are indirect. A message is the
// change of one value: sent, applied to the store, and delivered to both systems (the sender
// receives it, too). The limit records ids and values, copies them into a store through checked
// records, and copies them once for each of the two readers.
#include "bench.h"
#include <string.h>

// The pipelines tick alternately: both are continuous, in lockstep.
enum {
    PIPELINES_MOST = 1000,       // Values of each type per tick, at most.
    PIPELINES_CHANGES = 100000,  // Values of each type per repeat,
    PIPELINES_TICKS_MOST = 5000, // in at most so many ticks.
};

ORR_STRUCT(Rigid, (float, state, 32), (uint32_t, flags))
ORR_STRUCT(MeshCollider, (float, points, 64), (uint32_t, count), (uint32_t, layer))
ORR_STRUCT(MeshRenderer, (float, parts, 64), (uint32_t, mesh))

// The messages a reader received for one type.
typedef struct pipelines_received {
    uint64_t ids[PIPELINES_MOST];
    char values[PIPELINES_MOST * sizeof(Turn)];
    uint32_t count; // In the last tick.
    uint64_t all;   // In all ticks.
} pipelines_received;

// A reader: changes of Spot3 and Turn in the last tick.
typedef struct pipelines_mirror {
    pipelines_received spots, turns;
} pipelines_mirror;

// The changes sent in a tick. Used by both sides, so that both select and compute the same.
typedef struct pipelines_sender {
    pipelines_mirror mirror; // Must be first: the sender is also a reader.
    const uint64_t* ids;
    uint32_t n, at;   // `at`: the next body to change.
    uint32_t touched; // Values of each type per tick.
    bool same;        // Always the same bodies.
    uint64_t tick;
    bool quiet;
    orr_type spot, turn;
    Spot3 spots[PIPELINES_MOST];
    Turn turns[PIPELINES_MOST];
} pipelines_sender;

// extra: 0 our sender, 1 the limit's sender, 2 and 3 the drawing readers, 4 the limit's ids in our
// order, 5 and 6 its columns.
enum {
    PIPELINES_OURS,
    PIPELINES_LIMIT,
    PIPELINES_DRAW,
    PIPELINES_DRAW_LIMIT,
    PIPELINES_SPOTS,
    PIPELINES_TURNS
};

// Selects the ids of this tick and computes their new values in the sender.
static const uint64_t* pipelines_next(pipelines_sender* s)
{
    s->at = s->at + s->touched <= s->n ? s->at : 0;
    s->tick++;
    float now = (float)(s->tick & 0xFFFFF);
    for (uint32_t i = 0; i < s->touched; i++) {
        s->spots[i] = (Spot3){now, (float)i, 1};
        s->turns[i] = (Turn){0, (float)i, 0, now};
    }
    const uint64_t* ids = s->ids + s->at;
    s->at += s->same ? 0 : s->touched;
    return ids;
}

// ---- ours ---------------------------------------------------------------------------------------

static void pipelines_take(pipelines_received* received, const orr_message* m, const void* values,
                           size_t size)
{
    if (m->count > PIPELINES_MOST - received->count) {
        bench_die("two_pipelines: a reader received more messages than were sent");
    }
    memcpy(received->ids + received->count, m->entities, m->count * sizeof *received->ids);
    memcpy(received->values + received->count * size, values, m->count * size);
    received->count += m->count;
    received->all += m->count;
}

static void pipelines_read(orr_run* run)
{
    pipelines_mirror* mirror = orr_run_user(run);
    mirror->spots.count = mirror->turns.count = 0;
    ORR_MESSAGES(m, run)
    {
        if (m->kind != ORR_COMPONENT_CHANGED) {
            continue; // First run: the reader receives the whole world.
        }
        const Spot3* spots = orr_values(m, Spot3);
        if (spots != NULL) {
            pipelines_take(&mirror->spots, m, spots, sizeof *spots);
        } else {
            pipelines_take(&mirror->turns, m, orr_values(m, Turn), sizeof(Turn));
        }
    }
}

static void pipelines_send(orr_run* run)
{
    pipelines_read(run);
    pipelines_sender* s = orr_run_user(run);
    if (!s->quiet) {
        const orr_entity* ids = (const orr_entity*)pipelines_next(s);
        (void)orr_send_change_many(run, s->spot, ids, NULL, s->touched, s->spots);
        (void)orr_send_change_many(run, s->turn, ids, NULL, s->touched, s->turns);
    }
}

static void pipelines_systems_add(bench_env* env)
{
    orr_world* w = env->world;
    if (orr_pipeline_add(w, &(orr_pipeline_desc){.name = "drawing"}).id == 0 ||
        orr_system_add(w,
                       &(orr_system_desc){.name = "physics",
                                          .kind = ORR_INDIRECT,
                                          .query = "write Spot3, write Turn, Rigid, MeshCollider",
                                          .run = pipelines_send,
                                          .user = env->extra[PIPELINES_OURS],
                                          .impure = true})
                .id == 0 ||
        orr_system_add(w, &(orr_system_desc){.name = "draw",
                                             .kind = ORR_INDIRECT,
                                             .query = "Spot3, Turn, MeshRenderer",
                                             .run = pipelines_read,
                                             .user = env->extra[PIPELINES_DRAW],
                                             .pipeline = "drawing"})
                .id == 0) {
        bench_die("a pipeline or system was refused: %s", orr_error_last(w));
    }
}

static void pipelines_world_open(bench_env* env)
{
    bench_world_open(env);
    orr_world* w = env->world;
    orr_cluster cluster;
    bench_expect(
        env,
        orr_cluster_get(
            w, &(orr_cluster_desc){ORR_TYPES(w, Spot3, Turn, Rigid, MeshCollider, MeshRenderer)},
            &cluster),
        "a cluster of five");
    bench_expect(env, orr_create_many(w, cluster, env->n, NULL, 0, env->ids), "filling it");
    pipelines_systems_add(env);
}

// Start of both pipelines: after two ticks no initial message is pending.
static void pipelines_open(bench_env* env, uint32_t touched, bool same)
{
    if (env->n < touched) {
        bench_die("two_pipelines needs at least %u entities", touched);
    }
    env->tick_items = 2 * touched;
    raw_fill(&env->raw, env->positions, env->velocities, env->raw_ids, env->n);
    pipelines_sender* ours = env->extra[PIPELINES_OURS] = bench_array(1, sizeof *ours);
    pipelines_sender* limit = env->extra[PIPELINES_LIMIT] = bench_array(1, sizeof *limit);
    env->extra[PIPELINES_DRAW] = bench_array(1, sizeof(pipelines_mirror));
    env->extra[PIPELINES_DRAW_LIMIT] = bench_array(1, sizeof(pipelines_mirror));
    env->extra[PIPELINES_SPOTS] = bench_array(env->n, sizeof(Spot3));
    env->extra[PIPELINES_TURNS] = bench_array(env->n, sizeof(Turn));
    pipelines_world_open(env);
    env->ids_shuffled = bench_array(env->n, sizeof(orr_entity));
    env->raw_ids_shuffled = bench_array(env->n, sizeof(uint64_t));
    bench_shuffle((uint64_t*)env->ids_shuffled, (const uint64_t*)env->ids, env->n);
    bench_shuffle(env->raw_ids_shuffled, env->raw_ids, env->n);
    *ours = (pipelines_sender){.ids = (const uint64_t*)(same ? env->ids : env->ids_shuffled),
                               .n = env->n,
                               .touched = touched,
                               .same = same,
                               .quiet = true,
                               .spot = orr_type_of(env->world, ORR_TYPE(Spot3)),
                               .turn = orr_type_of(env->world, ORR_TYPE(Turn))};
    *limit = (pipelines_sender){.ids = same ? env->raw_ids : env->raw_ids_shuffled,
                                .n = env->n,
                                .touched = touched,
                                .same = same};
    bench_expect(env, orr_step(env->world, 2), "the first ticks");
}

static void pipelines_open_1(bench_env* env)
{
    pipelines_open(env, 1, true);
}

static void pipelines_open_100(bench_env* env)
{
    pipelines_open(env, 100, true);
}

static void pipelines_open_1000(bench_env* env)
{
    pipelines_open(env, 1000, true);
}

static void pipelines_open_shuffled_1(bench_env* env)
{
    pipelines_open(env, 1, false);
}

static void pipelines_open_shuffled_100(bench_env* env)
{
    pipelines_open(env, 100, false);
}

static void pipelines_open_shuffled_1000(bench_env* env)
{
    pipelines_open(env, 1000, false);
}

static uint32_t pipelines_ticks(const pipelines_sender* s)
{
    uint32_t ticks = PIPELINES_CHANGES / s->touched;
    return ticks < PIPELINES_TICKS_MOST ? ticks : PIPELINES_TICKS_MOST;
}

// ---- both ---------------------------------------------------------------------------------------

// Ids of both sides have equal indices but different generations, and rows are reported in another
// order than they were sent.
static uint64_t pipelines_received_digest(const pipelines_received* received, size_t size)
{
    uint64_t sum = received->all + ((uint64_t)received->count << 32);
    for (uint32_t i = 0; i < received->count; i++) {
        sum += orr_hash(received->values + i * size, size, 1);
    }
    return sum;
}

static uint64_t pipelines_digest(const pipelines_mirror* a, const pipelines_mirror* b)
{
    return pipelines_received_digest(&a->spots, sizeof(Spot3)) +
           3 * pipelines_received_digest(&a->turns, sizeof(Turn)) +
           5 * pipelines_received_digest(&b->spots, sizeof(Spot3)) +
           7 * pipelines_received_digest(&b->turns, sizeof(Turn));
}

static uint64_t pipelines_values_digest(const Spot3* spots, const Turn* turns, uint32_t i)
{
    return orr_hash(spots, sizeof *spots, i) + orr_hash(turns, sizeof *turns, i);
}

// The last tick sends nothing and delivers the messages of the tick before.
static bench_sample pipelines_ours(bench_env* env)
{
    pipelines_sender* s = env->extra[PIPELINES_OURS];
    uint64_t start = bench_now_ns();
    s->quiet = false;
    bench_expect(env, orr_step(env->world, pipelines_ticks(s)), "ticks");
    s->quiet = true;
    bench_expect(env, orr_step(env->world, 1), "the last tick");
    uint64_t ns = bench_since_ns(start);
    uint64_t check = pipelines_digest(&s->mirror, env->extra[PIPELINES_DRAW]);
    for (uint32_t i = 0; i < env->n; i++) {
        check += pipelines_values_digest(orr_get(env->world, env->ids[i], Spot3),
                                         orr_get(env->world, env->ids[i], Turn), i);
    }
    return (bench_sample){ns, (uint64_t)pipelines_ticks(s) * 2 * s->touched, check};
}

static void pipelines_limit_deliver(pipelines_mirror* mirror, const uint64_t* ids,
                                    const pipelines_sender* s)
{
    uint32_t count = s->touched;
    memcpy(mirror->spots.ids, ids, count * sizeof *ids);
    memcpy(mirror->spots.values, s->spots, count * sizeof *s->spots);
    memcpy(mirror->turns.ids, ids, count * sizeof *ids);
    memcpy(mirror->turns.values, s->turns, count * sizeof *s->turns);
    mirror->spots.count = mirror->turns.count = count;
    mirror->spots.all += count;
    mirror->turns.all += count;
}

static bench_sample pipelines_limit(bench_env* env)
{
    pipelines_sender* s = env->extra[PIPELINES_LIMIT];
    Spot3* spots = env->extra[PIPELINES_SPOTS];
    Turn* turns = env->extra[PIPELINES_TURNS];
    uint64_t start = bench_now_ns();
    for (uint32_t t = 0; t < pipelines_ticks(s); t++) {
        uint64_t noted[PIPELINES_MOST];
        memcpy(noted, pipelines_next(s), s->touched * sizeof *noted);
        (void)raw_apply_spots(env->raw.records, noted, s->spots, s->touched, spots);
        (void)raw_apply_turns(env->raw.records, noted, s->turns, s->touched, turns);
        pipelines_limit_deliver(&s->mirror, noted, s);
        pipelines_limit_deliver(env->extra[PIPELINES_DRAW_LIMIT], noted, s);
    }
    uint64_t ns = bench_since_ns(start);
    uint64_t check = pipelines_digest(&s->mirror, env->extra[PIPELINES_DRAW_LIMIT]);
    for (uint32_t i = 0; i < env->n; i++) {
        check += pipelines_values_digest(&spots[i], &turns[i], i);
    }
    return (bench_sample){ns, (uint64_t)pipelines_ticks(s) * 2 * s->touched, check};
}

#define PIPELINES_WORK(work, name, open) \
    const bench_work work = {name, "per message", open, pipelines_ours, pipelines_limit};
PIPELINES_WORK(bench_two_pipelines_1, "two_pipelines", pipelines_open_1)
PIPELINES_WORK(bench_two_pipelines_100, "two_pipelines", pipelines_open_100)
PIPELINES_WORK(bench_two_pipelines_1000, "two_pipelines", pipelines_open_1000)
PIPELINES_WORK(bench_two_pipelines_shuffled_1, "two_pipelines_shuffled", pipelines_open_shuffled_1)
PIPELINES_WORK(bench_two_pipelines_shuffled_100, "two_pipelines_shuffled",
               pipelines_open_shuffled_100)
PIPELINES_WORK(bench_two_pipelines_shuffled_1000, "two_pipelines_shuffled",
               pipelines_open_shuffled_1000)
#undef PIPELINES_WORK
