// SPDX-License-Identifier: MIT
// Calls for many entities beside a snapshot: they cost the history what single calls cost, and the
// snapshot keeps its state.
#include "store/snapshot/snapshot.h"
#include "support/pinned_kit.h"
#include "support/store_kit.h"
#include "test.h"

#define ROWS 20000

// ROWS entities, of which every other one has a pinned value; a snapshot is taken.
typedef struct held {
    kit k;
    orr_world* world;
    orr_entity ids[ROWS];
    orri_snapshot* snapshot;
    uint64_t hash, bytes;
} held;

static held many, single;

static uint64_t held_bytes(const held* h, uint64_t round)
{
    uint64_t own, shared;
    orri_snapshot_bytes(h->snapshot, round, &own, &shared);
    return own;
}

static void held_begin(held* h)
{
    orr_world* world = h->world = kit_begin(&h->k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position, Label, Tiny);
    CHECK_OK(orr_create_many(world, cluster, ROWS, NULL, 0, h->ids));
    for (uint32_t i = 0; i < ROWS; i += 2) {
        CHECK_OK(orr_component_add(world, h->ids[i], KIT_TYPE(world, Body)));
    }
    h->hash = orr_world_hash(world);
    h->snapshot = orri_snapshot_take(world);
    CHECK(h->snapshot != NULL);
    h->bytes = held_bytes(h, 1);
}

// Returns the bytes that the snapshot cost since it was taken, and goes back to it.
static uint64_t held_end(held* h)
{
    uint64_t bytes = held_bytes(h, 2) - h->bytes;
    CHECK_OK(orr_world_validate(h->world));
    CHECK(orr_world_hash(h->world) != h->hash);
    orri_restore* restore = NULL;
    CHECK_OK(orri_snapshot_restore_prepare(h->world, h->snapshot, &restore));
    orri_snapshot_restore(h->world, restore);
    CHECK_EQ(orr_world_hash(h->world), h->hash);
    orri_snapshot_release(h->world, h->snapshot);
    kit_end(&h->k);
    h->k = (kit){0};
    return bytes;
}

static const Health healths[20];
static const Position positions[20] = {{3, 4, 5}};

// ---- the calls; `count` is 1 for a single one ---------------------------------------------------

static orr_result call_destroy(orr_world* world, const orr_entity* list, uint32_t count)
{
    return count == 1 ? orr_destroy(world, list[0]) : orr_destroy_many(world, list, count);
}

static orr_result call_add(orr_world* world, const orr_entity* list, uint32_t count)
{
    orr_type type = KIT_TYPE(world, Velocity);
    return count == 1 ? orr_component_add(world, list[0], type)
                      : orr_component_add_many(world, list, count, type, NULL);
}

static orr_result call_add_values(orr_world* world, const orr_entity* list, uint32_t count)
{
    orr_type type = KIT_TYPE(world, Health);
    return count == 1 ? orr_component_set(world, list[0], type, healths)
                      : orr_component_add_many(world, list, count, type, healths);
}

static orr_result call_remove(orr_world* world, const orr_entity* list, uint32_t count)
{
    orr_type type = KIT_TYPE(world, Tiny);
    return count == 1 ? orr_component_remove(world, list[0], type)
                      : orr_component_remove_many(world, list, count, type);
}

static orr_result call_set(orr_world* world, const orr_entity* list, uint32_t count)
{
    orr_type type = KIT_TYPE(world, Position);
    return count == 1 ? orr_component_set(world, list[0], type, positions)
                      : orr_component_add_many(world, list, count, type, positions);
}

static orr_result call_pin(orr_world* world, const orr_entity* list, uint32_t count)
{
    orr_type type = KIT_TYPE(world, Loose);
    return count == 1 ? orr_component_add(world, list[0], type)
                      : orr_component_add_many(world, list, count, type, NULL);
}

static orr_result call_unpin(orr_world* world, const orr_entity* list, uint32_t count)
{
    orr_type type = KIT_TYPE(world, Body);
    return count == 1 ? orr_component_remove(world, list[0], type)
                      : orr_component_remove_many(world, list, count, type);
}

typedef orr_result (*call_function)(orr_world* world, const orr_entity* list, uint32_t count);

// Compares one call for `count` scattered entities with single calls.
static void compare(call_function call, uint32_t count)
{
    orr_entity some[20];
    held_begin(&many);
    held_begin(&single);
    for (uint32_t i = 0; i < count; i++) {
        some[i] = many.ids[(i * 6151 + 40) % ROWS & ~1u];
    }
    CHECK_OK(call(many.world, some, count));
    for (uint32_t i = 0; i < count; i++) {
        CHECK_OK(call(single.world, &some[i], 1)); // Both worlds have the same ids.
    }
    uint64_t bytes = held_end(&many), bytes_single = held_end(&single);
    CHECK(bytes <= bytes_single);
}

ORR_TEST(batch_of_few_rows_costs_the_history_what_single_calls_cost)
{
    const call_function calls[] = {call_destroy, call_add, call_add_values, call_remove,
                                   call_set,     call_pin, call_unpin};
    for (uint32_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        compare(calls[i], 2);
    }
}

// Rows that stay are marked in a longer list, so only calls that move rows are compared.
ORR_TEST(batch_of_twenty_rows_costs_the_history_what_single_calls_cost)
{
    const call_function calls[] = {call_destroy, call_add, call_add_values, call_remove};
    for (uint32_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        compare(calls[i], 20);
    }
}

ORR_TEST(batch_that_lists_an_entity_twice_is_refused_beside_a_snapshot)
{
    for (uint32_t count = 2; count <= 20; count += 6) { // Compared pair by pair, or marked.
        held_begin(&many);
        orr_entity some[20];
        for (uint32_t i = 0; i < count; i++) {
            some[i] = many.ids[40 + 10 * i];
        }
        some[count - 1] = some[0];
        CHECK_RESULT(call_destroy(many.world, some, count), ORR_ERR_ARGUMENT);
        CHECK_CONTAINS(many.k.errors.text, "listed twice");
        CHECK_RESULT(call_set(many.world, some, count), ORR_ERR_ARGUMENT);
        CHECK_RESULT(call_unpin(many.world, some, count), ORR_ERR_ARGUMENT);
        CHECK_EQ(orr_world_hash(many.world), many.hash);
        CHECK_OK(call_destroy(many.world, some, count - 1));
        (void)held_end(&many);
    }
}
