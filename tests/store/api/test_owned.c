// SPDX-License-Identifier: MIT
// Owned strings and arrays: handles to counted, immutable blobs.
#include "support/store_kit.h"
#include "test.h"

static uint64_t blobs(const orr_world* world)
{
    orr_world_stats stats;
    orr_world_stats_get(world, &stats);
    return stats.blobs;
}

ORR_TEST(string_equal_texts_have_equal_handles)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_string a = orr_string_make(world, "hello"), b = orr_string_make(world, "hello");
    CHECK(a.id != 0);
    CHECK(a.id == b.id && a.generation == b.generation);
    orr_string c = orr_string_make(world, "hell");
    CHECK(c.id != a.id);
    CHECK_STR(orr_string_text(world, a), "hello");
    CHECK_STR(orr_string_text(world, c), "hell");
    orr_string empty = orr_string_make(world, "");
    CHECK_EQ(empty.id, 0);
    CHECK_STR(orr_string_text(world, empty), "");
    CHECK_STR(orr_string_text(world, (orr_string){77, 1}), "");
    CHECK_EQ(blobs(world), 2);
    kit_end(&k);
}

ORR_TEST(string_not_stored_ends_with_the_tick)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    orr_string young = orr_string_make(world, "young"), kept = orr_string_make(world, "kept");
    CHECK_OK(orr_set(world, bob, Label, {kept, 1}));
    CHECK_STR(orr_string_text(world, young), "young");
    orr_tick_advance(world);
    CHECK_STR(orr_string_text(world, young), "");
    CHECK_STR(orr_string_text(world, kept), "kept");
    CHECK_EQ(blobs(world), 1);
    orr_string again = orr_string_make(world, "other");
    CHECK(again.id != young.id || again.generation != young.generation);
    CHECK_STR(orr_string_text(world, young), "");
    kit_end(&k);
}

ORR_TEST(string_counted_by_set_copy_overwrite_and_destroy)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    orr_string text = orr_string_make(world, "text");
    CHECK_OK(orr_set(world, bob, Label, {text, 1}));
    orr_entity copy = orr_copy(world, bob);
    orr_tick_advance(world);
    CHECK_OK(orr_destroy(world, bob));
    orr_tick_advance(world);
    CHECK_STR(orr_string_text(world, orr_get(world, copy, Label)->text), "text");
    CHECK_OK(orr_set(world, copy, Label, {orr_string_make(world, "new"), 2}));
    orr_tick_advance(world);
    CHECK_STR(orr_string_text(world, text), "");
    CHECK_STR(orr_string_text(world, orr_get(world, copy, Label)->text), "new");
    CHECK_EQ(blobs(world), 1);
    CHECK_OK(orr_remove(world, copy, Label));
    orr_tick_advance(world);
    CHECK_EQ(blobs(world), 0);
    kit_end(&k);
}

ORR_TEST(string_no_longer_stored_lives_until_the_tick)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    orr_string text = orr_string_make(world, "text");
    CHECK_OK(orr_set(world, bob, Label, {text, 1}));
    orr_tick_advance(world);
    // Set to itself: the text is never freed in between.
    CHECK_OK(orr_set(world, bob, Label, {text, 2}));
    CHECK_STR(orr_string_text(world, orr_get(world, bob, Label)->text), "text");
    orr_tick_advance(world);
    CHECK_STR(orr_string_text(world, orr_get(world, bob, Label)->text), "text");
    kit_end(&k);
}

ORR_TEST(string_assigned_in_place_is_counted)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Label, {orr_string_make(world, "old"), 1}));
    orr_string fresh = orr_string_make(world, "fresh");
    orr_string_assign(world, &orr_edit(world, bob, Label)->text, fresh);
    orr_tick_advance(world);
    CHECK_STR(orr_string_text(world, orr_get(world, bob, Label)->text), "fresh");
    CHECK_EQ(blobs(world), 1);
    orr_string_assign(world, &orr_edit(world, bob, Label)->text, fresh); // To itself.
    orr_tick_advance(world);
    CHECK_STR(orr_string_text(world, orr_get(world, bob, Label)->text), "fresh");
    orr_string_assign(world, &orr_edit(world, bob, Label)->text, (orr_string){0, 0});
    orr_tick_advance(world);
    CHECK_EQ(blobs(world), 0);
    CHECK_STR(orr_string_text(world, orr_get(world, bob, Label)->text), "");
    kit_end(&k);
}

ORR_TEST(array_holds_values_of_any_size)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    int32_t numbers[5] = {1, 2, 3, 4, 5};
    orr_array a = orr_array_make(world, numbers, 5, sizeof numbers[0]);
    orr_array b = orr_array_make(world, numbers, 5, sizeof numbers[0]);
    CHECK(a.id == b.id && a.generation == b.generation);
    orr_array c = orr_array_make(world, numbers, 20, 1); // The same bytes, other elements.
    CHECK(c.id != a.id);
    uint32_t count = 0;
    const int32_t* values = orr_array_values(world, a, &count);
    CHECK_EQ(count, 5);
    CHECK_EQ(values[4], 5);
    CHECK_EQ((uintptr_t)values % 16, 0);
    CHECK_EQ(memcmp(orr_array_values(world, c, &count), numbers, 20), 0);
    CHECK_EQ(count, 20);
    count = 3;
    CHECK(orr_array_values(world, (orr_array){0, 0}, &count) == NULL);
    CHECK_EQ(count, 0);
    CHECK_EQ(orr_array_make(world, NULL, 0, 4).id, 0);
    CHECK_EQ(k.errors.count, 0);
    CHECK_EQ(orr_array_make(world, NULL, 3, 4).id, 0);
    CHECK_EQ(k.errors.result, ORR_ERR_ARGUMENT);
    kit_end(&k);
}

ORR_TEST(array_counted_like_a_string)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity ids[100];
    int32_t numbers[3] = {1, 2, 3};
    List values[100];
    for (uint32_t i = 0; i < 100; i++) {
        numbers[0] = (int32_t)i / 10; // Ten different ones.
        values[i] = (List){orr_array_make(world, numbers, 3, 4)};
    }
    orr_type list = KIT_TYPE(world, List);
    orr_column_data data = {list, values};
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, List), 100, &data, 1, ids));
    orr_tick_advance(world);
    CHECK_EQ(blobs(world), 10);
    CHECK_OK(orr_component_remove_many(world, ids, 50, list));
    orr_tick_advance(world);
    CHECK_EQ(blobs(world), 5);
    orr_array fresh = orr_array_make(world, numbers, 2, 4);
    orr_array_assign(world, &orr_edit(world, ids[99], List)->numbers, fresh);
    orr_tick_advance(world);
    CHECK_EQ(blobs(world), 6);
    CHECK_OK(orr_cluster_clear(world, KIT_CLUSTER(world, List)));
    orr_tick_advance(world);
    CHECK_EQ(blobs(world), 0);
    kit_end(&k);
}

ORR_TEST(owned_values_move_without_being_counted_again)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster from = KIT_CLUSTER(world, Label), to = KIT_CLUSTER(world, Label, Position);
    static orr_entity ids[3000];
    CHECK_OK(orr_create_many(world, from, 3000, NULL, 0, ids));
    for (uint32_t i = 0; i < 3000; i++) {
        char text[8];
        snprintf(text, sizeof text, "t%u", i % 7);
        CHECK_OK(orr_set(world, ids[i], Label, {orr_string_make(world, text), (int32_t)i}));
    }
    CHECK_OK(orr_rows_move(world, from, 5, 2000, to));
    CHECK_OK(orr_rows_move_all(world, from, to));
    CHECK_OK(orr_tag_add(world, ids[0], 1));
    CHECK_OK(orr_destroy(world, ids[1]));
    orr_tick_advance(world);
    CHECK_EQ(blobs(world), 7);
    CHECK_STR(orr_string_text(world, orr_get(world, ids[2999], Label)->text), "t3");
    CHECK_OK(orr_world_validate(world)); // Counts every handle.
    CHECK_OK(orr_entities_destroy_all(world));
    orr_tick_advance(world);
    CHECK_EQ(blobs(world), 0);
    kit_end(&k);
}

ORR_TEST(owned_preset_lives_as_long_as_the_world)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_field_desc field = {
        .name = "name", .type = ORR_TYPE(orr_string), .attributes = {.preset = "\"nobody\""}};
    orr_type type = {0};
    CHECK_OK(orr_type_register(
        world, &(orr_type_desc){.name = "Named", .fields = &field, .field_count = 1}, &type));
    orr_tick_advance(world);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_component_add(world, bob, type));
    const orr_string* name = orr_component_get(world, bob, type);
    CHECK_STR(orr_string_text(world, *name), "nobody");
    CHECK_OK(orr_destroy(world, bob));
    orr_tick_advance(world);
    CHECK_EQ(blobs(world), 1);
    kit_end(&k);
}

ORR_TEST(owned_string_that_is_gone_is_refused_and_named)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    orr_string text = orr_string_make(world, "gone soon");
    orr_tick_advance(world);
    CHECK_STR(orr_string_text(world, text), "");
    uint64_t hash = orr_world_hash(world);
    CHECK_RESULT(orr_set(world, bob, Label, {text, 0}), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "Label");
    CHECK_CONTAINS(k.errors.text, "was freed");
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK(!orr_has(world, bob, Label));
    kit_end(&k);
}

ORR_TEST(owned_string_assigned_without_counting_is_found_by_validate)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Label, {orr_string_make(world, "first"), 0}));
    CHECK_OK(orr_world_validate(world));
    orr_string first = orr_get(world, bob, Label)->text;
    orr_edit(world, bob, Label)->text = orr_string_make(world, "second");
    CHECK_RESULT(orr_world_validate(world), ORR_ERR_CORRUPT);
    CHECK_CONTAINS(k.errors.text, "orr_string_assign");
    orr_edit(world, bob, Label)->text = first;
    CHECK_OK(orr_world_validate(world));
    orr_tick_advance(world);
    orr_edit(world, bob, Label)->text = (orr_string){77, 1}; // A handle never given.
    CHECK_RESULT(orr_world_validate(world), ORR_ERR_CORRUPT);
    orr_edit(world, bob, Label)->text = first;
    kit_end(&k);
}
