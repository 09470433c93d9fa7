// SPDX-License-Identifier: MIT
// Enable bits of components and entities: set without moving rows, kept by every move.
#include "support/store_kit.h"
#include "test.h"
#include <orrery/message.h>

#define CAPACITY ORR_CHUNK_CAPACITY

/* N0-34 */
ORR_TEST(enable_moves_no_row)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position, Token);
    orr_type position = KIT_TYPE(world, Position);
    orr_entity ids[3];
    CHECK_OK(orr_create_many(world, cluster, 3, NULL, 0, ids));
    *orr_edit(world, ids[1], Position) = (Position){4, 5, 6};
    const void* place = orr_component_get(world, ids[1], position);
    orr_address before, after;
    CHECK_OK(orr_address_get(world, ids[1], &before));
    CHECK(orr_component_enabled(world, ids[1], position));
    CHECK_OK(orr_component_enable(world, ids[1], position, false));
    CHECK(!orr_component_enabled(world, ids[1], position));
    CHECK(orr_component_enabled(world, ids[0], position));
    CHECK(orr_component_enabled(world, ids[1], KIT_TYPE(world, Token)));
    CHECK(orr_component_has(world, ids[1], position)); // A disabled component is present.
    CHECK_EQ(orr_get(world, ids[1], Position)->x, 4);
    CHECK(orr_component_get(world, ids[1], position) == place);
    CHECK_OK(orr_entity_enable(world, ids[1], false));
    CHECK(!orr_entity_enabled(world, ids[1]));
    CHECK(orr_entity_enabled(world, ids[2]));
    CHECK(orr_alive(world, ids[1]));
    CHECK_OK(orr_address_get(world, ids[1], &after));
    CHECK(orr_address_valid(world, &before));
    CHECK_EQ(after.row, before.row);
    CHECK_EQ(kit_tokens.moves, 0);
    CHECK_OK(orr_component_enable(world, ids[1], position, true));
    CHECK_OK(orr_entity_enable(world, ids[1], true));
    CHECK(orr_component_enabled(world, ids[1], position));
    CHECK(orr_entity_enabled(world, ids[1]));
    kit_end(&k);
}

/* N0-34 */
ORR_TEST(enable_bits_of_a_column_are_null_while_all_are_on)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position, Velocity);
    orr_type position = KIT_TYPE(world, Position);
    static orr_entity ids[CAPACITY + 10];
    CHECK_OK(orr_create_many(world, cluster, CAPACITY + 10, NULL, 0, ids));
    CHECK(orr_column_enabled(world, cluster, 0, position) == NULL);
    CHECK(orr_column_enabled(world, cluster, 0, (orr_type){0}) == NULL);
    CHECK_OK(orr_component_enable(world, ids[70], position, true)); // It is enabled: still no bits.
    CHECK(orr_column_enabled(world, cluster, 0, position) == NULL);
    CHECK_OK(orr_component_enable(world, ids[70], position, false));
    const uint64_t* bits = orr_column_enabled(world, cluster, 0, position);
    CHECK(bits != NULL);
    CHECK_EQ(bits[0], UINT64_MAX);
    CHECK_EQ(bits[1], ~((uint64_t)1 << 6));
    CHECK(orr_column_enabled(world, cluster, 0, KIT_TYPE(world, Velocity)) == NULL);
    CHECK(orr_column_enabled(world, cluster, 0, (orr_type){0}) == NULL);
    CHECK_OK(orr_entity_enable(world, ids[CAPACITY + 3], false));
    bits = orr_column_enabled(world, cluster, 1, (orr_type){0});
    CHECK(bits != NULL);
    CHECK_EQ(bits[0] & 15, 7);
    kit_end(&k);
}

/* N0-34 */
ORR_TEST(enable_bits_survive_a_swap_remove)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    orr_type position = KIT_TYPE(world, Position);
    static orr_entity ids[CAPACITY + 2];
    CHECK_OK(orr_create_many(world, cluster, CAPACITY + 2, NULL, 0, ids));
    CHECK_OK(orr_component_enable(world, ids[CAPACITY + 1], position, false));
    CHECK_OK(orr_entity_enable(world, ids[CAPACITY], false));
    CHECK_OK(orr_component_enable(world, ids[3], position, false));
    CHECK_OK(orr_destroy(world, ids[3])); // The last row moves here with its own bit.
    CHECK(!orr_component_enabled(world, ids[CAPACITY + 1], position));
    CHECK(orr_entity_enabled(world, ids[CAPACITY + 1]));
    CHECK_OK(orr_destroy(world, ids[4]));
    CHECK(orr_component_enabled(world, ids[CAPACITY], position));
    CHECK(!orr_entity_enabled(world, ids[CAPACITY]));
    // New rows are enabled, whatever the bit was before.
    for (uint32_t i = 0; i < 5; i++) {
        orr_entity fresh = orr_create_in(world, cluster);
        CHECK(orr_component_enabled(world, fresh, position));
        CHECK(orr_entity_enabled(world, fresh));
    }
    kit_end(&k);
}

/* N0-34 */
ORR_TEST(enable_bits_are_kept_by_every_kind_of_move)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type position = KIT_TYPE(world, Position), health = KIT_TYPE(world, Health);
    orr_cluster from = KIT_CLUSTER(world, Position, Health);
    static orr_entity ids[3000];
    CHECK_OK(orr_create_many(world, from, 3000, NULL, 0, ids));
    for (uint32_t i = 0; i < 3000; i += 3) {
        CHECK_OK(orr_component_enable(world, ids[i], position, false));
    }
    for (uint32_t i = 0; i < 3000; i += 5) {
        CHECK_OK(orr_entity_enable(world, ids[i], false));
    }
    CHECK_OK(orr_tag_add(world, ids[0], 1));
    CHECK_OK(orr_set(world, ids[15], Velocity, {1, 1}));
    CHECK_OK(orr_component_remove(world, ids[30], health));
    CHECK_OK(orr_rows_move(world, from, 100, 700, KIT_CLUSTER(world, Position)));
    orr_tag tag = 9;
    orr_cluster all = kit_cluster(world, (orr_type[]){position, health}, 2, &tag, 1);
    CHECK_OK(orr_rows_move_all(world, from, all));
    CHECK_OK(orr_component_add_many(world, ids, 3000, KIT_TYPE(world, Frozen), NULL));
    for (uint32_t i = 0; i < 3000; i++) {
        CHECK_EQ(orr_component_enabled(world, ids[i], position), i % 3 != 0);
        CHECK_EQ(orr_entity_enabled(world, ids[i]), i % 5 != 0);
        CHECK(orr_component_enabled(world, ids[i], KIT_TYPE(world, Frozen)));
        CHECK(!orr_component_has(world, ids[i], health) ||
              orr_component_enabled(world, ids[i], health));
    }
    kit_end(&k);
}

ORR_TEST(enable_bit_is_reset_when_the_component_is_removed)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_add(world, bob, Position));
    CHECK_OK(orr_enable(world, bob, Position, false));
    CHECK_OK(orr_remove(world, bob, Position));
    CHECK(!orr_component_enabled(world, bob, KIT_TYPE(world, Position)));
    CHECK_OK(orr_add(world, bob, Position));
    CHECK(orr_component_enabled(world, bob, KIT_TYPE(world, Position)));
    kit_end(&k);
}

ORR_TEST(enable_of_a_marker_works)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_add(world, bob, Frozen));
    CHECK_OK(orr_enable(world, bob, Frozen, false));
    CHECK(!orr_component_enabled(world, bob, KIT_TYPE(world, Frozen)));
    CHECK(orr_has(world, bob, Frozen));
    kit_end(&k);
}

ORR_TEST(enable_of_an_absent_component_is_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_RESULT(orr_enable(world, bob, Position, false), ORR_ERR_ABSENT);
    CHECK_CONTAINS(k.errors.text, "Position");
    CHECK_CONTAINS(k.errors.text, "0v1");
    CHECK(!orr_component_enabled(world, bob, KIT_TYPE(world, Position)));
    CHECK_OK(orr_destroy(world, bob));
    CHECK_RESULT(orr_enable(world, bob, Position, true), ORR_ERR_ENTITY);
    CHECK_RESULT(orr_entity_enable(world, bob, false), ORR_ERR_ENTITY);
    CHECK(!orr_entity_enabled(world, bob));
    kit_end(&k);
}

ORR_TEST(enable_of_a_type_that_no_entity_stores_does_not_say_to_add_it)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    orr_type type = KIT_TYPE(world, orr_enabled);
    uint32_t value[2] = {0};
    CHECK_RESULT(orr_component_enable(world, bob, type, false), ORR_ERR_TYPE);
    CHECK_CONTAINS(k.errors.text, "use orr_entity_enable()");
    CHECK_RESULT(orr_component_set_many(world, &bob, 1, type, value), ORR_ERR_TYPE);
    CHECK_RESULT(orr_component_get_many(world, &bob, 1, type, value), ORR_ERR_TYPE);
    CHECK_CONTAINS(k.errors.text, "use orr_entity_enable()");
    k.errors.count = 0;
    kit_end(&k);
}
