// SPDX-License-Identifier: MIT
// A storage layout that Orrery does not use, measured against the one it uses: values that never
// move, linked in the order of entity ids. A loop joins the lists of both types by stepping through
// them in parallel. Here "ours" are the lists and the limit is Orrery's own loop over a query. The
// ratio reads "linked lists, × chunks".
//
// The lists have advantages that a library could not offer: no checks, no generations, 24 bytes per
// node, all nodes of a type in one array.
// Fresh: nodes lie in the order of the walk.
// Used: a third of the entities, chosen at random, lost both components and got them back in
// another random order, each in a slot that had become free. That is little for a program that runs
// for hours.
// Sparse: one entity in eight has a Velocity.
#include "bench.h"
#include <stdlib.h>
#include <string.h>

#if defined(__has_attribute)
#if __has_attribute(noipa)
#define LISTS_NOIPA __attribute__((noipa)) // As in raw.c: hides the caller from the optimiser.
#endif
#endif
#ifndef LISTS_NOIPA
#define LISTS_NOIPA
#endif

#define LISTS_SPARSE 8u

typedef struct lists_position {
    struct lists_position* next;
    Position value;
    uint32_t id;
} lists_position;

typedef struct lists_velocity {
    struct lists_velocity* next;
    Velocity value;
    uint32_t id;
} lists_velocity;

// The current lists: built by open, rebuilt by the next open.
static struct lists_store {
    lists_position *position_nodes, *positions;
    lists_velocity *velocity_nodes, *velocities;
    uint32_t position_count, velocity_count;
} lists;

// ---- the lists ----------------------------------------------------------------------------------

// Index of the node of the k-th owner of a type.
static uint64_t* lists_slots_make(uint32_t count, bool used)
{
    uint64_t* slots = bench_array(count, sizeof(uint64_t));
    for (uint32_t k = 0; k < count; k++) {
        slots[k] = k;
    }
    if (!used) {
        return slots;
    }
    uint64_t* owners = bench_array(count, sizeof(uint64_t));
    uint64_t* freed = bench_array(count, sizeof(uint64_t));
    bench_shuffle(owners, slots, count);
    uint32_t third = count / 3;
    // The freed slots, in the order of their reuse.
    bench_shuffle(freed, owners, third);
    for (uint32_t k = 0; k < third; k++) {
        slots[owners[k]] = freed[k];
    }
    free(owners);
    free(freed);
    return slots;
}

static void lists_positions_make(const bench_env* env, bool used)
{
    uint32_t count = lists.position_count;
    uint64_t* slots = lists_slots_make(count, used);
    lists.position_nodes = bench_array(count, sizeof *lists.position_nodes);
    lists_position** link = &lists.positions;
    for (uint32_t k = 0; k < count; k++) {
        lists_position* node = &lists.position_nodes[slots[k]];
        *node = (lists_position){NULL, env->positions[k], k};
        *link = node;
        link = &node->next;
    }
    free(slots);
}

static void lists_velocities_make(const bench_env* env, uint32_t step, bool used)
{
    uint32_t count = lists.velocity_count;
    uint64_t* slots = lists_slots_make(count, used);
    lists.velocity_nodes = bench_array(count, sizeof *lists.velocity_nodes);
    lists_velocity** link = &lists.velocities;
    for (uint32_t k = 0; k < count; k++) {
        lists_velocity* node = &lists.velocity_nodes[slots[k]];
        *node = (lists_velocity){NULL, env->velocities[k * step], k * step};
        *link = node;
        link = &node->next;
    }
    free(slots);
}

// The join: steps through both lists; equal ids are an entity with both types.
LISTS_NOIPA static void lists_move(lists_position* p, const lists_velocity* v)
{
    while (p != NULL && v != NULL) {
        if (p->id < v->id) {
            p = p->next;
        } else if (v->id < p->id) {
            v = v->next;
        } else {
            p->value.x += v->value.x;
            p->value.y += v->value.y;
            p = p->next;
            v = v->next;
        }
    }
}

static uint64_t lists_digest(void)
{
    uint64_t sum = 0;
    for (const lists_position* p = lists.positions; p != NULL; p = p->next) {
        sum += raw_digest(&p->value, 1);
    }
    return sum;
}

// ---- the same entities in a world ---------------------------------------------------------------

// Every `step`-th entity has a Velocity.
static void lists_world_make(bench_env* env, uint32_t step)
{
    bench_world_open(env);
    orr_cluster still = {0};
    orr_cluster_desc desc = {.types = &env->position, .type_count = 1};
    bench_expect(env, orr_cluster_get(env->world, &desc, &still), "a cluster of Position");
    Position* packed = bench_array(env->n, sizeof(Position));
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < env->n; i++) {
            if ((i % step == 0) == (side == 0)) {
                packed[count++] = env->positions[i];
            }
        }
        orr_column_data data[] = {{env->position, packed}, {env->velocity, env->velocities}};
        bench_expect(env,
                     orr_create_many(env->world, side == 0 ? env->clusters[0] : still, count, data,
                                     side == 0 ? 2 : 1, NULL),
                     "filling a cluster");
    }
    free(packed);
    orr_term terms[] = {{.type = env->position, .access = ORR_WRITE}, {.type = env->velocity}};
    env->query = orr_query_create(env->world, &(orr_query_desc){.terms = terms, .term_count = 2});
    if (env->query == NULL) {
        bench_die("the query was refused: %s", orr_error_last(env->world));
    }
}

static void lists_open(bench_env* env, uint32_t step, bool used)
{
    free(lists.position_nodes);
    free(lists.velocity_nodes);
    lists = (struct lists_store){.position_count = env->n,
                                 .velocity_count = (env->n + step - 1) / step};
    lists_positions_make(env, used);
    lists_velocities_make(env, step, used);
    lists_world_make(env, step);
}

static void lists_fresh_open(bench_env* env)
{
    lists_open(env, 1, false);
}

static void lists_used_open(bench_env* env)
{
    lists_open(env, 1, true);
}

static void lists_sparse_open(bench_env* env)
{
    lists_open(env, LISTS_SPARSE, true);
}

// ---- both sides ---------------------------------------------------------------------------------

static bench_sample lists_walk(bench_env* env)
{
    uint32_t rounds = bench_rounds(env->n);
    uint64_t start = bench_now_ns();
    for (uint32_t round = 0; round < rounds; round++) {
        lists_move(lists.positions, lists.velocities);
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, (uint64_t)lists.velocity_count * rounds, lists_digest()};
}

static bench_sample lists_chunks(bench_env* env)
{
    uint32_t rounds = bench_rounds(env->n);
    uint64_t start = bench_now_ns();
    for (uint32_t round = 0; round < rounds; round++) {
        orr_tick_advance(env->world);
        ORR_EACH (it, env->query) {
            Position* p = orr_write(&it, Position);
            raw_move_2(p, orr_read(&it, Velocity), it.count);
        }
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, (uint64_t)lists.velocity_count * rounds, bench_world_digest(env)};
}

/* N4-15 N4-17 */
const bench_work bench_list_fresh = {"linked_list_fresh",
                                     "Position += Velocity; linked lists, × chunks, as allocated",
                                     lists_fresh_open, lists_walk, lists_chunks};
const bench_work bench_list = {
    "linked_list", "Position += Velocity; linked lists, × chunks, after 1/3 was replaced",
    lists_used_open, lists_walk, lists_chunks};
const bench_work bench_list_sparse = {
    "linked_list_sparse", "the same, 1 in 8 entities has a Velocity; linked lists, × chunks",
    lists_sparse_open, lists_walk, lists_chunks};
