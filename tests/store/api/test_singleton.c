// SPDX-License-Identifier: MIT
// Singletons: the world's own entity and its components.
#include "support/pinned_kit.h"
#include "test.h"

ORR_TEST(singleton_entity_is_made_once_and_is_like_any_other)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    CHECK_EQ(orr_entity_count(world), 0);
    CHECK(orr_singleton(world, Health) == NULL);
    CHECK_EQ(orr_entity_count(world), 0); // Reading creates nothing.
    orr_entity self = orr_world_entity(world);
    CHECK(orr_alive(world, self));
    CHECK_EQ(orr_world_entity(world).id, self.id);
    CHECK_EQ(orr_entity_count(world), 1);
    CHECK(orr_singleton(world, Health) == NULL);
    CHECK_OK(orr_set(world, self, Health, {3, 4}));
    CHECK_EQ(orr_singleton(world, Health)->value, 3);
    CHECK_OK(orr_set(world, self, Body, {5, 6})); // Pinned ones too.
    CHECK_EQ(orr_singleton(world, Body)->mass, 5);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(singleton_entity_destroyed_is_made_again)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity self = orr_world_entity(world);
    CHECK_OK(orr_set(world, self, Health, {3, 4}));
    CHECK_OK(orr_destroy(world, self));
    CHECK(orr_singleton(world, Health) == NULL);
    CHECK_EQ(k.errors.count, 0);
    orr_entity again = orr_world_entity(world);
    CHECK(again.id != self.id);
    CHECK(orr_alive(world, again));
    CHECK(orr_singleton(world, Health) == NULL);
    kit_end(&k);
}

ORR_TEST(singleton_entity_is_part_of_the_hash)
{
    kit k = {0}, l = {0};
    orr_world *a = kit_begin(&k, NULL), *b = kit_begin(&l, NULL);
    CHECK_EQ(orr_world_hash(a), orr_world_hash(b));
    (void)orr_world_entity(a);
    (void)orr_create(b);
    CHECK(orr_world_hash(a) != orr_world_hash(b)); // Which entity it is, is state.
    CHECK_OK(orr_destroy(a, orr_world_entity(a)));
    CHECK_OK(orr_destroy(b, (orr_entity){1ull << 32}));
    CHECK_EQ(orr_world_hash(a), orr_world_hash(b)); // Once destroyed there is none.
    kit_end(&k);
    kit_end(&l);
}

ORR_TEST(singleton_entity_is_refused_where_nothing_can_be_created)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.entities_max = 1});
    orr_appender appender;
    CHECK_OK(orr_append_begin(world, KIT_CLUSTER(world, Health), NULL, 0, &appender));
    CHECK_EQ(orr_world_entity(world).id, 0);
    CHECK_CONTAINS(k.errors.text, "orr_world_entity");
    orr_append_end(&appender);
    orr_entity only = orr_create(world);
    CHECK_EQ(orr_world_entity(world).id, 0);
    CHECK_RESULT(k.errors.result, ORR_ERR_CAPACITY);
    CHECK_OK(orr_destroy(world, only));
    CHECK(orr_world_entity(world).id != 0);
    kit_end(&k);
}
