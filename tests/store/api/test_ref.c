// SPDX-License-Identifier: MIT
// References to components: checked at every use, never dangling.
#include "store/world/world.h"
#include "support/store_kit.h"
#include "test.h"
#include <orrery/kinds.h>

ORR_STRUCT_EX(Collider, (.multiplicity = ORR_MULTIPLE), (float, radius))
ORR_STRUCT(Child, (orr_entity, parent, (.flags = ORR_FIELD_INDEXED)))

/* N4-07 */
ORR_TEST(ref_follows_its_component_until_it_is_gone)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity a = orr_create(world), b = orr_create(world);
    orr_component_ref health = {a, KIT_TYPE(world, Health), 0};
    CHECK(orr_ref_get(world, health) == NULL); // Not present yet.
    CHECK_OK(orr_set(world, a, Health, {50, 1}));
    CHECK_OK(orr_set(world, b, Health, {70, 1}));
    CHECK_OK(orr_add(world, a, Position)); // Moves the row.
    const Health* read = orr_ref_get(world, health);
    CHECK(read != NULL && read->value == 50 && read == orr_get(world, a, Health));
    orr_tick_advance(world);
    Health* edited = orr_ref_edit(world, health);
    CHECK(edited != NULL);
    edited->value = 60;
    CHECK_EQ(orr_get(world, a, Health)->value, 60);
    CHECK_EQ(orr_column_tick(world, orr_entity_cluster(world, a), 0, health.type), 1);
    CHECK_OK(orr_remove(world, a, Health));
    CHECK(orr_ref_get(world, health) == NULL && orr_ref_edit(world, health) == NULL);
    CHECK_OK(orr_add(world, a, Health));
    CHECK(orr_ref_get(world, health) != NULL); // Present again.
    CHECK_OK(orr_destroy(world, a));
    orr_entity other = orr_create(world); // The same index, another generation.
    CHECK_OK(orr_add(world, other, Health));
    CHECK(orr_ref_get(world, health) == NULL && orr_ref_edit(world, health) == NULL);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

/* N4-07 */
ORR_TEST(ref_that_names_nothing_is_null_without_an_error)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity a = orr_create(world);
    orr_type health = KIT_TYPE(world, Health), collider = KIT_TYPE(world, Collider);
    CHECK_OK(orr_add(world, a, Health));
    const orr_component_ref wrong[] = {{{0}, health, 0}, {a, {0}, 0}, {a, {health.id + 1000}, 0},
                                       {a, health, 1},     // A unique type has instance 0 only.
                                       {a, collider, 0},   // A multiple type has no instance 0.
                                       {a, collider, 99}}; // There is no such instance.
    for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK(orr_ref_get(world, wrong[i]) == NULL);
        CHECK(orr_ref_edit(world, wrong[i]) == NULL);
    }
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(ref_to_an_indexed_value_is_read_only)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity a = orr_create(world);
    CHECK_OK(orr_set(world, a, Child, {a}));
    orr_component_ref child = {a, KIT_TYPE(world, Child), 0};
    CHECK(orr_ref_get(world, child) != NULL);
    CHECK(orr_ref_edit(world, child) == NULL);
    CHECK_EQ(k.errors.result, ORR_ERR_STATE);
    kit_end(&k);
}

ORR_TEST(ref_to_an_instance_follows_it)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity a = orr_create(world);
    orr_type type = KIT_TYPE(world, Collider);
    orr_component_ref refs[3];
    for (uint32_t i = 0; i < 3; i++) {
        refs[i] =
            (orr_component_ref){a, type, orr_instance_add(world, a, type, &(Collider){(float)i})};
    }
    ((Collider*)orr_ref_edit(world, refs[2]))->radius = 7;
    CHECK_OK(orr_instance_remove(world, a, type, refs[1].id));
    CHECK(((const Collider*)orr_ref_get(world, refs[0]))->radius == 0);
    CHECK(orr_ref_get(world, refs[1]) == NULL);
    CHECK(((const Collider*)orr_ref_get(world, refs[2]))->radius == 7);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}
