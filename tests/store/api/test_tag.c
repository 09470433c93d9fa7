// SPDX-License-Identifier: MIT
// Tags: 64-bit values that are part of a cluster's identity; some have names.
#include "support/store_kit.h"
#include "test.h"

/* N1-14 */
ORR_TEST(tags_of_any_value_and_number_are_distinct)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create_in(world, KIT_CLUSTER(world, Position));
    *orr_edit(world, bob, Position) = (Position){1, 2, 3};
    static const orr_tag tags[] = {0, 1, UINT64_MAX, (orr_tag)1 << 63, 42};
    for (uint32_t i = 0; i < 5; i++) {
        CHECK(!orr_tag_has(world, bob, tags[i]));
        CHECK_OK(orr_tag_add(world, bob, tags[i]));
        CHECK(orr_tag_has(world, bob, tags[i]));
    }
    CHECK_EQ(kit_info(world, orr_entity_cluster(world, bob)).tag_count, 5);
    uint64_t hash = orr_world_hash(world);
    CHECK_OK(orr_tag_add(world, bob, 42)); // Again: no change.
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_EQ(kit_info(world, orr_entity_cluster(world, bob)).tag_count, 5);
    CHECK_OK(orr_tag_remove(world, bob, 0));
    CHECK(!orr_tag_has(world, bob, 0));
    CHECK(orr_tag_has(world, bob, 1));
    hash = orr_world_hash(world);
    CHECK_OK(orr_tag_remove(world, bob, 0));
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_EQ(orr_get(world, bob, Position)->y, 2);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

/* N1-14 */
ORR_TEST(tag_separates_clusters_with_the_same_components)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    orr_entity a = orr_create_in(world, cluster), b = orr_create_in(world, cluster);
    CHECK_OK(orr_tag_add(world, b, 1));
    CHECK(orr_entity_cluster(world, a).id != orr_entity_cluster(world, b).id);
    CHECK_OK(orr_tag_remove(world, b, 1));
    CHECK_EQ(orr_entity_cluster(world, a).id, orr_entity_cluster(world, b).id);
    kit_end(&k);
}

ORR_TEST(tag_moves_by_the_move_hook_alone)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create_in(world, KIT_CLUSTER(world, Token));
    CHECK_OK(orr_tag_add(world, bob, 1));
    CHECK_OK(orr_tag_add(world, bob, 2));
    CHECK_OK(orr_tag_remove(world, bob, 1));
    CHECK_EQ(kit_tokens.constructs, 1);
    CHECK_EQ(kit_tokens.moves, 3);
    CHECK_EQ(kit_tokens.copies + kit_tokens.destructs, 0);
    kit_end(&k);
}

ORR_TEST(tag_named_is_found_by_name_and_value)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_tag tag = 99;
    CHECK(!orr_tag_find(world, "level1", &tag));
    CHECK_EQ(tag, 99);
    CHECK(orr_tag_name(world, 5) == NULL);
    CHECK_OK(orr_tag_register(world, 5, "level1"));
    CHECK_OK(orr_tag_register(world, 0, "zero"));
    CHECK_OK(orr_tag_register(world, 5, "level1")); // The same again.
    CHECK(orr_tag_find(world, "level1", &tag));
    CHECK_EQ(tag, 5);
    CHECK_STR(orr_tag_name(world, 5), "level1");
    CHECK_STR(orr_tag_name(world, 0), "zero");
    orr_world_stats stats;
    orr_world_stats_get(world, &stats);
    CHECK_EQ(stats.tags, 2);
    kit_end(&k);
}

ORR_TEST(tag_name_or_value_taken_is_a_conflict)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    CHECK_OK(orr_tag_register(world, 5, "level1"));
    uint64_t hash = orr_world_hash(world);
    CHECK_RESULT(orr_tag_register(world, 6, "level1"), ORR_ERR_CONFLICT);
    CHECK_CONTAINS(k.errors.text, "level1");
    CHECK_RESULT(orr_tag_register(world, 5, "level2"), ORR_ERR_CONFLICT);
    CHECK_CONTAINS(k.errors.text, "level1");
    CHECK_EQ(orr_world_hash(world), hash);
    kit_end(&k);
}

ORR_TEST(tag_names_that_are_invalid_are_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    char name[ORR_NAME_MAX + 2];
    memset(name, 'a', sizeof name);
    name[ORR_NAME_MAX + 1] = 0;
    CHECK_RESULT(orr_tag_register(world, 1, name), ORR_ERR_NAME);
    CHECK_RESULT(orr_tag_register(world, 1, ""), ORR_ERR_NAME);
    CHECK_RESULT(orr_tag_register(world, 1, "two words"), ORR_ERR_NAME);
    CHECK_RESULT(orr_tag_register(world, 1, "1st"), ORR_ERR_NAME);
    orr_result null_name = orr_tag_register(world, 1, NULL);
    CHECK(null_name == ORR_ERR_NAME || null_name == ORR_ERR_ARGUMENT);
    name[ORR_NAME_MAX] = 0;
    CHECK_OK(orr_tag_register(world, 1, name));
    kit_end(&k);
}

ORR_TEST(tag_limit_of_the_desc_is_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.tags_max = 2});
    CHECK_OK(orr_tag_register(world, 1, "a"));
    CHECK_OK(orr_tag_register(world, 2, "b"));
    CHECK_RESULT(orr_tag_register(world, 3, "c"), ORR_ERR_CAPACITY);
    CHECK(orr_tag_name(world, 3) == NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_tag_add(world, bob, 3)); // Without a name there is no limit.
    kit_end(&k);
}
