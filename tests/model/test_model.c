// SPDX-License-Identifier: MIT
// Random operations compared with the naive oracle: almost a million in a run of the optimised
// build. A failure prints the seed, the shape and the number of the operation; `--seed N NAME`
// repeats it.
#include "model/ops.h"
#include "test.h"

#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(memory_sanitizer) || __has_feature(address_sanitizer)
#define MODEL_SLOW 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
#define MODEL_SLOW 1
#endif

// `share` is the percentage of the run's operations for this shape.
typedef struct model_shape {
    ops_shape ops;
    uint32_t share;
} model_shape;

static const model_shape shapes[] = {
    {{.name = "few types, many entities",
      .types = OPS_POSITION | OPS_HEALTH | OPS_TOKEN | OPS_FROZEN | OPS_BODY,
      .tags = 2,
      .cluster_tags = 1,
      .entities_max = 12000,
      .batch_max = 2500,
      .calm = 20,
      .shares = true,
      .history = 12,
      .queries = true},
     5},
    {{.name = "many types, few entities",
      .types = OPS_ALL,
      .made_types = 40,
      .later_types = 12,
      .tags = 6,
      .cluster_tags = 2,
      .entities_max = 150,
      .batch_max = 30,
      .clusters_hard = 400,
      .shares = true,
      .history = 12,
      .names = true,
      .queries = true},
     14},
    {{.name = "chunk boundaries",
      .types = OPS_POSITION | OPS_PADDED | OPS_LABEL | OPS_TOKEN | OPS_SHARD,
      .tags = 1,
      .cluster_tags = 1,
      .entities_max = 9000,
      .batch_max = 4300,
      .calm = 6,
      .shares = true,
      .history = 12,
      .queries = true},
     6},
    {{.name = "heavy tags",
      .types = OPS_VELOCITY | OPS_HEALTH | OPS_LINK | OPS_LIST | OPS_BODY,
      .tags = 40,
      .cluster_tags = 30,
      .entities_max = 300,
      .batch_max = 60,
      .clusters_hard = 300,
      .shares = true,
      .history = 12,
      .names = true,
      .queries = true},
     10},
    {{.name = "everything, memory and hooks refuse",
      .types = OPS_ALL,
      .made_types = 6,
      .later_types = 6,
      .tags = 4,
      .cluster_tags = 2,
      .entities_max = 5000,
      .batch_max = 2500,
      .calm = 3,
      .clusters_hard = 500,
      .refuse_memory = true,
      .refuse_hooks = true,
      .shares = true,
      .history = 12,
      .names = true,
      .queries = true},
     7},
    {{.name = "small limits",
      .types = OPS_POSITION | OPS_TINY | OPS_BIG | OPS_CROWD | OPS_TOKEN | OPS_SPARK,
      .tags = 3,
      .cluster_tags = 2,
      .entities_max = 400,
      .batch_max = 90,
      .entities_hard = 260,
      .clusters_hard = 24,
      .refuse_hooks = true,
      .queries = true},
     8},
    {{.name = "several of a kind, types that need others",
      .types = OPS_POSITION | OPS_TOKEN | OPS_MULTIPLE | OPS_HEALTH | OPS_NEEDS | OPS_VELOCITY |
               OPS_HOLDER,
      .tags = 2,
      .cluster_tags = 1,
      .entities_max = 120,
      .batch_max = 40,
      .clusters_hard = 300,
      .refuse_hooks = true,
      .shares = true,
      .history = 12,
      .queries = true},
     12},
    {{.name = "what never moves, what is named, who refers to whom",
      .types = OPS_POSITION | OPS_PINNED | OPS_INDEXED,
      .tags = 2,
      .cluster_tags = 1,
      .entities_max = 200,
      .batch_max = 40,
      .clusters_hard = 200,
      .refuse_memory = true,
      .refuse_hooks = true,
      .shares = true,
      .history = 12,
      .names = true,
      .queries = true},
     12},
};

static void model_assert(const char* condition, const char* file, int line, const char* function)
{
    char text[512];
    snprintf(text, sizeof text, "assertion in %s: %s", function, condition);
    model_fail(file, line, text);
}

static uint64_t model_total(void)
{
    uint64_t total = 1000000;
#ifdef MODEL_SLOW
    total = 300000;
#endif
    uint32_t more = test_slow() ? 3 : 10;
    return test_long() ? total * more : test_slow() ? total / 2 : total;
}

// Runs one shape. After a failed test the oracle may not be freed, because the test leaves by
// longjmp.
static uint64_t model_run(const ops_shape* shape, uint64_t seed, uint64_t count, uint32_t batch,
                          uint8_t fill)
{
    ops* s = malloc(sizeof *s);
    CHECK(s != NULL);
    orr_assert_handler_set(model_assert);
    ops_begin(s, shape, seed, NULL, 0, fill);
    for (uint64_t i = 0; i < count; i++) {
        ops_step(s);
        if (batch != 0 && (i + 1) % batch == 0) {
            ops_check(s);
        }
    }
    uint64_t done = s->done, refusals = s->refusals, memory = s->out_of_memory;
    uint64_t looked = s->checked_hash;
    uint32_t live = s->live_peak, rows = s->rows_peak;
    uint64_t asked = s->asked, matched = s->matched, pairs = s->pairs;
    uint64_t travels = s->travels, lost = s->memories_lost;
    uint64_t hash = ops_end(s);
    free(s);
    if (batch != 0) {
        printf("  %s: %" PRIu64 " operations, %" PRIu64 " changes, %" PRIu64 " refusals, %" PRIu64
               " for want of memory, %" PRIu64
               " seen to change nothing; at most %u entities, %u rows in a cluster; %" PRIu64
               " queries asked, which gave %" PRIu64 " entities; %" PRIu64 " pairs; %" PRIu64
               " times back, %" PRIu64 " times lost\n",
               shape->name, count, done, refusals, memory, looked, live, rows, asked, matched,
               pairs, travels, lost);
    }
    return hash;
}

static void model_run_shape(uint32_t index)
{
    const model_shape* shape = &shapes[index];
    uint64_t count = model_total() / 100 * shape->share;
    model_run(&shape->ops, orr_random(test_seed(), index, 0, 0), count, 1000, 0xAA);
}

/* N1-07 N1-10 N1-13 N2-06 */
ORR_TEST(model_few_types_many_entities_equals_oracle)
{
    model_run_shape(0);
}

ORR_TEST(model_many_types_few_entities_equals_oracle)
{
    model_run_shape(1);
}

ORR_TEST(model_chunk_boundaries_equals_oracle)
{
    model_run_shape(2);
}

ORR_TEST(model_heavy_tags_equals_oracle)
{
    model_run_shape(3);
}

ORR_TEST(model_refusing_memory_and_hooks_equals_oracle)
{
    model_run_shape(4);
}

ORR_TEST(model_small_limits_equals_oracle)
{
    model_run_shape(5);
}

ORR_TEST(model_multiple_types_equals_oracle)
{
    model_run_shape(6);
}

ORR_TEST(model_pinned_named_and_indexed_types_equals_oracle)
{
    model_run_shape(7);
}

// ---- history ------------------------------------------------------------------------------------

// Of one shape: 24,000 in all eight of them, and a million in a long run.
static uint64_t model_history_total(void)
{
    return test_long() ? (test_slow() ? 40000 : 140000) : test_slow() ? 1000 : 3000;
}

static void model_shape_shrink(ops_shape* shape, uint32_t entities)
{
    shape->entities_max = shape->entities_max < entities ? shape->entities_max : entities;
    shape->batch_max = shape->batch_max < entities / 2 ? shape->batch_max : entities / 2;
}

// The worlds of above, small and restored often.
static void model_run_history(bool refusing)
{
    uint32_t count = sizeof shapes / sizeof shapes[0];
    for (uint32_t i = 0; i < count; i++) {
        ops_shape shape = shapes[i].ops;
        model_shape_shrink(&shape, i == 2 ? 5000 : 2000); // One with several chunks.
        shape.history = 1;
        shape.refuse_memory = shape.refuse_memory && refusing;
        shape.refuse_hooks = shape.refuse_hooks && refusing;
        uint64_t seed = orr_random(test_seed(), i, 4, refusing);
        model_run(&shape, seed, model_history_total(), 250, 0xAA);
    }
}

ORR_TEST(model_restored_equals_oracle)
{
    model_run_history(false);
}

ORR_TEST(model_restored_with_refusals_equals_oracle)
{
    model_run_history(true);
}

// Registered types stay when the world is restored, and change the following random picks.
static uint32_t model_registered(const ops* s)
{
    return s->bundle_count * 2 + (orr_type_find(s->world, "orr_name").id != 0);
}

// Runs a hundred operations, restores the world and runs them again. @return whether the two
// results could be compared.
static bool model_repeat(ops* s)
{
    ops_memory* memory = ops_remember(s);
    uint32_t registered = model_registered(s);
    uint64_t begun = s->seed_used, hashes[2] = {0}, used[2] = {0};
    bool same = true;
    for (uint32_t round = 0; round < 2; round++) {
        s->seed_used = begun;
        for (uint32_t k = 0; k < 100; k++) {
            ops_step(s);
        }
        hashes[round] = orr_world_hash(s->world);
        used[round] = s->seed_used;
        same = same && model_registered(s) == registered;
        if (round == 0) {
            CHECK(ops_travel(s, memory));
        }
    }
    if (same) {
        CHECK_EQ(hashes[0], hashes[1]);
        CHECK_EQ(used[0], used[1]);
    }
    ops_forget(s, memory);
    ops_check(s);
    return same;
}

// After a restore, the same operations give the same result, ids included.
ORR_TEST(model_restored_and_repeated_gives_the_same_result)
{
    uint32_t count = sizeof shapes / sizeof shapes[0], repeated = 0;
    for (uint32_t i = 0; i < count; i++) {
        ops_shape shape = shapes[i].ops;
        model_shape_shrink(&shape, 2000);
        shape.later_types = 0;
        shape.history = 0;
        shape.separate = true;
        shape.refuse_memory = shape.refuse_hooks = shape.shares = false;
        ops* s = malloc(sizeof *s);
        CHECK(s != NULL);
        orr_assert_handler_set(model_assert);
        ops_begin(s, &shape, orr_random(test_seed(), i, 5, 0), NULL, 0, 0xAA);
        for (uint64_t turn = 0; turn < model_history_total() / 1000; turn++) {
            repeated += model_repeat(s);
        }
        (void)ops_end(s);
        free(s);
    }
    CHECK(repeated > 0);
}

// The same calls give the same hash, whatever fresh memory holds and however often the hash was
// calculated.
ORR_TEST(model_same_operations_give_same_hash)
{
    uint64_t count = model_total() / 400;
    for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        ops_shape shape = shapes[i].ops;
        shape.shares = shape.refuse_memory = shape.refuse_hooks = false;
        uint64_t seed = orr_random(test_seed(), i, 1, 0);
        shape.hash_seldom = true;
        uint64_t seldom = model_run(&shape, seed, count, 0, 0x55);
        shape.hash_seldom = false;
        uint64_t often = model_run(&shape, seed, count, 0, 0xAA);
        CHECK_EQ(seldom, often);
    }
}

// Shares of blocks leave no trace in the state. Owned values are excluded: a share keeps their
// blobs alive, which changes the slot of the next blob, and handles are hashed.
ORR_TEST(model_shares_of_blocks_do_not_change_the_hash)
{
    uint64_t count = model_total() / 400;
    for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        ops_shape shape = shapes[i].ops;
        shape.refuse_memory = shape.refuse_hooks = false;
        shape.shares = true;
        uint64_t seed = orr_random(test_seed(), i, 2, 0);
        uint64_t held = model_run(&shape, seed, count, 0, 0x55);
        shape.shares = false;
        uint64_t free_of = model_run(&shape, seed, count, 0, 0xAA);
        CHECK_EQ(held, free_of);
    }
}

// The same changes without queries, with some, and with others at other moments: matching,
// repairing an order and updating a pinned set must not change the state.
ORR_TEST(model_queries_do_not_change_the_hash)
{
    uint64_t count = model_total() / 400;
    for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        ops_shape shape = shapes[i].ops;
        shape.shares = shape.refuse_memory = shape.refuse_hooks = false;
        shape.separate = true;
        uint64_t seed = orr_random(test_seed(), i, 3, 0);
        shape.separate_seed = 1;
        uint64_t some = model_run(&shape, seed, count, 0, 0x55);
        shape.separate_seed = 2;
        uint64_t others = model_run(&shape, seed, count, 0, 0xAA);
        shape.queries = false;
        uint64_t none = model_run(&shape, seed, count, 0, 0xAA);
        CHECK_EQ(some, none);
        CHECK_EQ(others, none);
    }
}
