// SPDX-License-Identifier: MIT
// The first use of a C type registers it. If memory is refused there, every macro and every text that
// uses the type says so, instead of calling the type unknown.
#include "support/store_kit.h"
#include "test.h"

#include <orrery/orrery.h>

ORR_STRUCT_EX(Collider, (.multiplicity = ORR_MULTIPLE), (float, radius))
ORR_STRUCT_EX(Body, (.storage = ORR_PINNED), (float, energy))
ORR_STRUCT_EX(Needy, (.needs = "Velocity"), (float, x))

static kit k;
static orr_entity bob;

static orr_world* first_use_begin(void)
{
    orr_world* world = kit_begin(&k, NULL);
    bob = orr_create(world);
    orr_world_memory_limit(world, 1);
    return world;
}

// The last refusal is one of memory, and its text names the type.
static void first_use_refused(const char* type)
{
    CHECK_RESULT(k.errors.result, ORR_ERR_MEMORY);
    CHECK_CONTAINS(k.errors.text, "out of memory");
    CHECK_CONTAINS(k.errors.text, type);
}

ORR_TEST(first_use_refused_memory_returns_memory_from_every_macro)
{
    orr_world* world = first_use_begin();
    CHECK_RESULT(orr_set(world, bob, Position, {1, 2, 3}), ORR_ERR_MEMORY);
    CHECK_CONTAINS(k.errors.text, "orr_set");
    first_use_refused("Position");
    CHECK_RESULT(orr_set_preset(world, bob, Position, .x = 1), ORR_ERR_MEMORY);
    CHECK_RESULT(orr_add(world, bob, Position), ORR_ERR_MEMORY);
    CHECK_RESULT(orr_remove(world, bob, Position), ORR_ERR_MEMORY);
    CHECK_RESULT(orr_enable(world, bob, Position, false), ORR_ERR_MEMORY);
    CHECK_RESULT(orr_put(world, bob, Position, &(Position){0}), ORR_ERR_MEMORY);
    uint32_t count = k.errors.count;
    CHECK(orr_get(world, bob, Position) == NULL);
    first_use_refused("Position");
    CHECK(orr_edit(world, bob, Position) == NULL);
    CHECK_RESULT(k.errors.result, ORR_ERR_MEMORY);
    CHECK(!orr_has(world, bob, Position));
    CHECK_RESULT(k.errors.result, ORR_ERR_MEMORY);
    CHECK(orr_singleton(world, Position) == NULL);
    CHECK_RESULT(k.errors.result, ORR_ERR_MEMORY);
    CHECK(k.errors.count > count);
    orr_cluster cluster = {0};
    CHECK_RESULT(
        orr_cluster_get(world, &(orr_cluster_desc){ORR_TYPES(world, Position, Velocity)}, &cluster),
        ORR_ERR_MEMORY);
    first_use_refused("Position");
    CHECK_RESULT(orr_events_limit(world, KIT_TYPE(world, Health), 3), ORR_ERR_MEMORY);
    CHECK_EQ(orr_instance_add(world, bob, KIT_TYPE(world, Collider), &(Collider){1}), 0);
    CHECK_RESULT(k.errors.result, ORR_ERR_MEMORY);
    CHECK_RESULT(orr_set(world, bob, Body, {1}), ORR_ERR_MEMORY);
    // When there is memory, all of it works.
    orr_world_memory_limit(world, 0);
    CHECK_OK(orr_set(world, bob, Position, {1, 2, 3}));
    CHECK_OK(orr_set(world, bob, Velocity, {1, 2}));
    CHECK_OK(orr_set(world, bob, Health, {1, 2}));
    CHECK_OK(orr_set(world, bob, Body, {1}));
    CHECK(orr_instance_add(world, bob, KIT_TYPE(world, Collider), &(Collider){1}) != 0);
    kit_end(&k);
}

ORR_TEST(first_use_refused_memory_once_sets_nothing_from_presets)
{
    orr_world* world = kit_begin(&k, NULL);
    bob = orr_create(world);
    failing_alloc_arm(&k.memory, 1, false);
    CHECK_RESULT(orr_set_preset(world, bob, Health, .armour = 3), ORR_ERR_MEMORY);
    CHECK(!orr_has(world, bob, Health));
    CHECK_OK(orr_set_preset(world, bob, Health, .armour = 3));
    CHECK_EQ(orr_get(world, bob, Health)->value, 100);
    kit_end(&k);
}

ORR_TEST(first_use_null_type_after_all_types_are_registered_returns_type)
{
    orr_world* world = first_use_begin();
    orr_type position = KIT_TYPE(world, Position);
    CHECK_EQ(position.id, 0);
    orr_world_memory_limit(world, 0);
    CHECK_RESULT(orr_component_add(world, bob, position), ORR_ERR_MEMORY);
    CHECK(KIT_TYPE(world, Position).id != 0);
    CHECK_RESULT(orr_component_add(world, bob, position), ORR_ERR_TYPE);
    CHECK_CONTAINS(k.errors.text, "the type is null");
    kit_end(&k);
}

ORR_TEST(first_use_of_many_types_refused_memory_stays_bounded)
{
    orr_world* world = first_use_begin();
    ORR_REGISTER(world, Position, Velocity, Health, Padded, Big, Tiny, Link, Label, List, Crowd);
    CHECK_RESULT(orr_add(world, bob, Crowd), ORR_ERR_MEMORY);
    orr_world_memory_limit(world, 0);
    ORR_REGISTER(world, Position, Velocity, Health, Padded, Big, Tiny, Link, Label, List, Crowd);
    CHECK_RESULT(orr_component_add(world, bob, (orr_type){0}), ORR_ERR_TYPE);
    orr_world_memory_limit(world, 1); // The places of registered types are used again.
    CHECK_RESULT(orr_add(world, bob, Frozen), ORR_ERR_MEMORY);
    first_use_refused("Frozen");
    orr_world_memory_limit(world, 0);
    kit_end(&k);
}

ORR_TEST(first_use_refused_memory_returns_memory_from_queries_and_texts)
{
    orr_world* world = first_use_begin();
    ORR_REGISTER(world, Position, Velocity);
    orr_term term = ORR_TERM(world, Position, .access = ORR_READ);
    orr_world_memory_limit(world, 0);
    CHECK(orr_query_create(world, &(orr_query_desc){.terms = &term, .term_count = 1}) == NULL);
    first_use_refused("Position");
    CHECK(orr_query_text(world, "Position") == NULL);
    first_use_refused("Position");
    CHECK(orr_query_text(world, "Positon") == NULL); // Another name is unknown as before.
    CHECK_RESULT(k.errors.result, ORR_ERR_TYPE);
    orr_bundle bundle;
    CHECK_RESULT(orr_bundle_register(world, "thing", "Velocity", &bundle), ORR_ERR_MEMORY);
    first_use_refused("Velocity");
    CHECK_RESULT(orr_set(world, bob, Needy, {1}), ORR_ERR_MEMORY);
    first_use_refused("Velocity");
    kit_end(&k);
}

static void disable_unknown(orr_run* run)
{
    CHECK_RESULT(orr_send_enable(run, bob, Tiny, false), ORR_ERR_TYPE);
    CHECK_RESULT(orr_send_enable(run, bob, Health, false), ORR_OK);
}

ORR_TEST(first_use_of_a_type_in_a_send_of_enable_never_disables_the_entity)
{
    orr_world* world = kit_begin(&k, NULL);
    bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Health, {1, 2}));
    orr_system system = orr_system_add(
        world, &(orr_system_desc){
                   .name = "off", .once = true, .switches = "*, Health", .run = disable_unknown});
    CHECK(system.id != 0);
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_STATE); // Tiny is not registered.
    CHECK(orr_entity_enabled(world, bob));
    CHECK(!orr_enabled(world, bob, Health));
    kit_end(&k);
}

static void no_run(orr_run* run)
{
    (void)run;
}

ORR_TEST(first_use_refused_memory_returns_memory_from_the_step_of_a_system)
{
    orr_world* world = kit_begin(&k, NULL);
    CHECK(orr_system_add(
              world, &(orr_system_desc){.name = "mover", .query = "write Position", .run = no_run})
              .id != 0);
    orr_world_memory_limit(world, 1);
    ORR_REGISTER(world, Position);
    orr_world_memory_limit(world, 0);
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_MEMORY);
    first_use_refused("Position");
    ORR_REGISTER(world, Position);
    CHECK_OK(orr_step(world, 1));
    kit_end(&k);
}
