// SPDX-License-Identifier: MIT
// Multiple types: every call case by case, growing and shrinking capacities, hooks, owned strings,
// enable bits.
#include "store/cow/share.h"
#include "support/store_kit.h"
#include "test.h"
#include <orrery/kinds.h>

ORR_STRUCT_EX(Collider, (.multiplicity = ORR_MULTIPLE), (float, radius, (.preset = "1")))
ORR_STRUCT_EX(Charm, (.multiplicity = ORR_MULTIPLE, .hooks = &kit_token_hooks), (TokenCell, cell))
ORR_STRUCT_EX(Note, (.multiplicity = ORR_MULTIPLE), (orr_string, text), (int32_t, number))
ORR_STRUCT_EX(Grip, (.multiplicity = ORR_MULTIPLE), (uint8_t, side), (orr_entity, target))
ORR_STRUCT_EX(Page, (.multiplicity = ORR_MULTIPLE), (uint8_t, bytes, 20000))
ORR_STRUCT_EX(Byte, (.multiplicity = ORR_MULTIPLE), (uint8_t, value))

static uint32_t row_capacity(const orr_world* world, orr_entity entity, orr_type type)
{
    orr_cluster_info info = kit_info(world, orr_entity_cluster(world, entity));
    for (uint32_t i = 0; i < info.type_count; i++) {
        if (info.types[i].id == type.id) {
            return info.capacities[i];
        }
    }
    return 0;
}

// Checks the radii of all colliders, in order.
static void check_radii(const orr_world* world, orr_entity entity, uint32_t count,
                        const float* radii)
{
    orr_type type = orr_type_find(world, "Collider");
    const void* values;
    const orr_component_id* ids;
    CHECK_EQ(orr_instances_get(world, entity, type, &values, &ids), count);
    for (uint32_t i = 0; i < count; i++) {
        const Collider* collider = (const Collider*)values + i;
        CHECK(collider->radius == radii[i]);
        CHECK(ids[i] != 0);
        CHECK(orr_instance_get(world, entity, type, ids[i]) == collider);
    }
}

static orr_component_id add_radius(orr_world* world, orr_entity entity, float radius)
{
    return orr_instance_add(world, entity, KIT_TYPE(world, Collider), &(Collider){radius});
}

// ---- the calls ----------------------------------------------------------------------------------

/* N0-28 */
ORR_TEST(multiple_instances_are_added_listed_set_and_removed_by_id)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Collider);
    orr_entity bob = orr_create(world);
    CHECK_EQ(orr_instances_get(world, bob, type, NULL, NULL), 0);
    orr_component_id a = add_radius(world, bob, 10), b = add_radius(world, bob, 20);
    orr_component_id c = orr_instance_add(world, bob, type, NULL); // The preset.
    CHECK_EQ(a, 1);
    CHECK_EQ(b, 2);
    CHECK_EQ(c, 3);
    check_radii(world, bob, 3, (float[]){10, 20, 1});
    CHECK_OK(orr_instance_set(world, bob, type, b, &(Collider){25}));
    ((Collider*)orr_instance_edit(world, bob, type, c))->radius = 30;
    check_radii(world, bob, 3, (float[]){10, 25, 30});
    CHECK(((const Collider*)orr_component_get(world, bob, type))->radius == 10);
    orr_reader reader = orr_reader_make(world, type);
    CHECK(orr_reader_get(&reader, bob) == orr_component_get(world, bob, type));
    CHECK_OK(orr_instance_remove(world, bob, type, a));
    check_radii(world, bob, 2, (float[]){25, 30});
    CHECK(orr_instance_get(world, bob, type, a) == NULL);
    CHECK_OK(orr_instance_remove(world, bob, type, c));
    CHECK(orr_component_has(world, bob, type));
    CHECK_OK(orr_instance_remove(world, bob, type, b));
    CHECK(!orr_component_has(world, bob, type));
    CHECK(orr_component_get(world, bob, type) == NULL);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(multiple_absent_instances_return_absent)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Collider);
    orr_entity bob = orr_create(world), dead = orr_create(world);
    CHECK_OK(orr_destroy(world, dead));
    CHECK_RESULT(orr_instance_remove(world, bob, type, 1), ORR_ERR_ABSENT);
    CHECK_RESULT(orr_instance_enable(world, bob, type, 0, false), ORR_ERR_ABSENT);
    orr_component_id id = add_radius(world, bob, 1);
    CHECK_RESULT(orr_instance_remove(world, bob, type, 0), ORR_ERR_ABSENT);
    CHECK_RESULT(orr_instance_remove(world, bob, type, id + 1), ORR_ERR_ABSENT);
    CHECK_CONTAINS(k.errors.text, "0v1 has no Collider with id 2");
    CHECK_RESULT(orr_instance_set(world, bob, type, 0, &(Collider){1}), ORR_ERR_ABSENT);
    CHECK_RESULT(orr_instance_set(world, bob, type, 9, &(Collider){1}), ORR_ERR_ABSENT);
    CHECK_RESULT(orr_instance_set(world, bob, type, id, NULL), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_instance_enable(world, bob, type, 9, false), ORR_ERR_ABSENT);
    uint32_t errors = k.errors.count;
    CHECK(orr_instance_get(world, bob, type, 0) == NULL);
    CHECK(orr_instance_get(world, bob, type, 9) == NULL);
    CHECK(orr_instance_edit(world, bob, type, 0) == NULL);
    CHECK(orr_instance_edit(world, bob, type, 9) == NULL);
    CHECK(!orr_instance_enabled(world, bob, type, 9));
    CHECK(!orr_instance_enabled(world, dead, type, id));
    CHECK(!orr_instance_enabled(world, dead, type, 0));
    CHECK_EQ(k.errors.count, errors);
    const void* values = &k;
    const orr_component_id* ids = &id;
    CHECK(orr_instance_get(world, dead, type, id) == NULL);
    CHECK_EQ(k.errors.result, ORR_ERR_ENTITY);
    CHECK(orr_instance_edit(world, dead, type, id) == NULL);
    CHECK_EQ(orr_instance_add(world, dead, type, NULL), 0);
    CHECK_RESULT(orr_instance_set(world, dead, type, id, &(Collider){1}), ORR_ERR_ENTITY);
    CHECK_RESULT(orr_instance_remove(world, dead, type, id), ORR_ERR_ENTITY);
    CHECK_RESULT(orr_instance_enable(world, dead, type, id, true), ORR_ERR_ENTITY);
    CHECK_EQ(orr_instances_get(world, dead, type, &values, &ids), 0);
    CHECK(values == NULL && ids == NULL);
    CHECK_EQ(orr_instance_add(world, bob, (orr_type){0}, NULL), 0);
    CHECK_EQ(k.errors.result, ORR_ERR_TYPE);
    CHECK_EQ(k.errors.count, errors + 8);
    kit_end(&k);
}

ORR_TEST(multiple_unique_types_are_instance_zero)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type health = KIT_TYPE(world, Health);
    orr_entity bob = orr_create(world);
    const void* values;
    const orr_component_id* ids;
    CHECK_EQ(orr_instance_add(world, bob, health, NULL), 0);
    CHECK_EQ(k.errors.result, ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "Health is unique");
    CHECK_RESULT(orr_instance_set(world, bob, health, 0, &(Health){1, 2}), ORR_ERR_ABSENT);
    CHECK_RESULT(orr_instance_remove(world, bob, health, 0), ORR_ERR_ABSENT);
    CHECK_EQ(orr_instances_get(world, bob, health, &values, &ids), 0);
    CHECK_OK(orr_component_add(world, bob, health));
    CHECK_OK(orr_instance_set(world, bob, health, 0, &(Health){1, 2}));
    CHECK_RESULT(orr_instance_set(world, bob, health, 1, &(Health){1, 2}), ORR_ERR_ABSENT);
    CHECK_EQ(((const Health*)orr_instance_get(world, bob, health, 0))->armour, 2);
    CHECK(orr_instance_get(world, bob, health, 1) == NULL);
    ((Health*)orr_instance_edit(world, bob, health, 0))->armour = 3;
    CHECK(orr_instance_edit(world, bob, health, 1) == NULL);
    CHECK_EQ(orr_instances_get(world, bob, health, &values, &ids), 1);
    CHECK_EQ(((const Health*)values)->armour, 3);
    CHECK_EQ(ids[0], 0);
    CHECK_OK(orr_instance_enable(world, bob, health, 0, false));
    CHECK(!orr_instance_enabled(world, bob, health, 0));
    CHECK(!orr_component_enabled(world, bob, health));
    CHECK_RESULT(orr_instance_enable(world, bob, health, 1, true), ORR_ERR_ABSENT);
    CHECK(!orr_instance_enabled(world, bob, health, 1));
    orr_instances column = orr_column_instances(world, orr_entity_cluster(world, bob), 0, health);
    CHECK(column.counts == NULL && column.ids == NULL && column.enabled != NULL);
    CHECK_EQ(column.capacity, 1);
    CHECK_RESULT(orr_instance_remove(world, bob, health, 1), ORR_ERR_ABSENT);
    CHECK_OK(orr_instance_remove(world, bob, health, 0));
    CHECK(!orr_component_has(world, bob, health));
    kit_end(&k);
}

ORR_TEST(multiple_calls_for_one_value_are_refused_with_advice)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Collider);
    orr_entity bob = orr_create(world);
    Collider value = {5};
    CHECK_RESULT(orr_component_set(world, bob, type, &value), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "Collider is multiple");
    CHECK_CONTAINS(k.errors.text, "orr_instance_set()");
    CHECK(!orr_component_has(world, bob, type));
    CHECK_OK(orr_component_add(world, bob, type));
    CHECK_OK(orr_component_add(world, bob, type)); // Present already: no change.
    check_radii(world, bob, 1, (float[]){1});
    orr_address address;
    CHECK_OK(orr_address_get(world, bob, &address));
    CHECK_RESULT(orr_component_set(world, bob, type, &value), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_component_set_many(world, &bob, 1, type, &value), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_component_get_many(world, &bob, 1, type, &value), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_component_add_many(world, &bob, 1, type, &value), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "0v1 has Collider already");
    CHECK(orr_component_edit(world, bob, type) == NULL);
    CHECK_EQ(k.errors.count, 6);
    CHECK(orr_address_write(world, &address, type) == NULL);
    CHECK(orr_address_read(world, &address, type) == orr_component_get(world, bob, type));
    uint32_t count = 1;
    CHECK(orr_span_read(world, address.cluster, type, 0, &count) == NULL && count == 0);
    count = 1;
    CHECK(orr_span_write(world, address.cluster, type, 0, &count) == NULL && count == 0);
    orr_appender appender;
    CHECK_RESULT(orr_append_begin(world, address.cluster, &type, 1, &appender), ORR_ERR_ARGUMENT);
    CHECK_EQ(k.errors.count, 10);
    CHECK_OK(orr_component_remove(world, bob, type));
    CHECK(!orr_component_has(world, bob, type));
    kit_end(&k);
}

ORR_TEST(multiple_structural_changes_are_refused_while_an_appender_is_open)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Collider);
    orr_entity bob = orr_create(world);
    orr_component_id id = add_radius(world, bob, 1);
    orr_cluster cluster = KIT_CLUSTER(world, Collider, Health);
    orr_type health = KIT_TYPE(world, Health);
    orr_appender a;
    CHECK_OK(orr_append_begin(world, cluster, &health, 1, &a));
    uint32_t i = orr_append(&a);
    ((Health*)a.columns[0])[i].armour = 8;
    orr_entity eve = a.entities[i];
    CHECK_EQ(orr_instance_add(world, bob, type, NULL), 0);
    CHECK_EQ(k.errors.result, ORR_ERR_STATE);
    CHECK_RESULT(orr_instance_remove(world, bob, type, id), ORR_ERR_STATE);
    CHECK_RESULT(orr_instance_enable(world, bob, type, id, false), ORR_ERR_STATE);
    CHECK_OK(orr_instance_set(world, bob, type, id, &(Collider){4}));
    orr_append_end(&a);
    check_radii(world, bob, 1, (float[]){4});
    check_radii(world, eve, 1, (float[]){1});
    CHECK_EQ(kit_rows(world, cluster), 1);
    kit_end(&k);
}

ORR_TEST(multiple_reference_to_a_dead_entity_is_refused_unless_it_was_stored_before)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Grip);
    orr_entity bob = orr_create(world), eve = orr_create(world), dead = orr_create(world);
    CHECK_OK(orr_destroy(world, dead));
    CHECK_EQ(orr_instance_add(world, bob, type, &(Grip){1, dead}), 0);
    CHECK_EQ(k.errors.result, ORR_ERR_ENTITY);
    orr_component_id a = orr_instance_add(world, bob, type, &(Grip){1, bob});
    orr_component_id b = orr_instance_add(world, bob, type, &(Grip){2, eve});
    CHECK_OK(orr_destroy(world, eve));
    CHECK_OK(orr_instance_set(world, bob, type, b, &(Grip){3, eve}));
    CHECK_RESULT(orr_instance_set(world, bob, type, a, &(Grip){3, eve}), ORR_ERR_ENTITY);
    CHECK_CONTAINS(k.errors.text, "Grip.target");
    kit_end(&k);
}

// ---- capacity -----------------------------------------------------------------------------------

/* N0-04, N0-05 */
ORR_TEST(multiple_capacity_doubles_when_full_and_halves_at_a_quarter)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Collider);
    orr_entity bob = orr_create(world);
    orr_component_id ids[9];
    static const uint32_t up[9] = {1, 2, 4, 4, 8, 8, 8, 8, 16};
    static const uint32_t classes[9] = {1, 2, 3, 3, 4, 4, 4, 4, 5}; // Number of clusters.
    for (uint32_t i = 0; i < 9; i++) {
        orr_address before, after;
        CHECK_OK(orr_address_get(world, bob, &before));
        ids[i] = add_radius(world, bob, (float)i);
        CHECK_OK(orr_address_get(world, bob, &after));
        CHECK_EQ(row_capacity(world, bob, type), up[i]);
        // The address changes exactly where the capacity does.
        bool moves = i == 0 || up[i] != up[i - 1];
        CHECK_EQ(orr_address_valid(world, &before), !moves);
        // One instance or nine: the same types.
        CHECK_EQ(kit_info(world, after.cluster).type_count, 1);
        CHECK_EQ(orr_clusters_find(world, &(orr_cluster_match){.types = &type, .type_count = 1},
                                   NULL, 0),
                 classes[i]);
    }
    check_radii(world, bob, 9, (float[]){0, 1, 2, 3, 4, 5, 6, 7, 8});
    static const uint32_t down[8] = {16, 16, 16, 16, 8, 8, 4, 2};
    for (uint32_t i = 0; i < 8; i++) { // The oldest first: those behind move up.
        CHECK_OK(orr_instance_remove(world, bob, type, ids[i]));
        CHECK_EQ(row_capacity(world, bob, type), down[i]);
        check_radii(world, bob, 8 - i, (float[]){0, 1, 2, 3, 4, 5, 6, 7, 8} + i + 1);
    }
    CHECK_OK(orr_instance_remove(world, bob, type, ids[8]));
    CHECK_EQ(orr_instances_get(world, bob, type, NULL, NULL), 0);
    CHECK_EQ(kit_info(world, orr_entity_cluster(world, bob)).type_count, 0);
    kit_end(&k);
}

ORR_TEST(multiple_capacity_is_kept_when_other_types_and_tags_change)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Collider), health = KIT_TYPE(world, Health);
    orr_entity bob = orr_create(world);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK(add_radius(world, bob, (float)i) != 0);
    }
    for (uint32_t round = 0; round < 2; round++) {
        CHECK_OK(orr_component_add(world, bob, health));
        CHECK_OK(orr_tag_add(world, bob, 7));
        CHECK_OK(orr_component_remove(world, bob, health));
        CHECK_OK(orr_component_add_many(world, &bob, 1, health, NULL));
        CHECK_EQ(row_capacity(world, bob, type), 4);
        check_radii(world, bob, 3, (float[]){0, 1, 2});
        CHECK_OK(orr_tag_remove(world, bob, 7));
        CHECK_OK(orr_component_remove_many(world, &bob, 1, health));
    }
    check_radii(world, bob, 3, (float[]){0, 1, 2});
    kit_end(&k);
}

ORR_TEST(multiple_cluster_is_one_per_capacity)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type types[] = {KIT_TYPE(world, Health), KIT_TYPE(world, Collider)};
    orr_type swapped[] = {types[1], types[0]};
    orr_cluster one = kit_cluster(world, types, 2, NULL, 0), four, again;
    orr_cluster_desc desc = {types, 2, NULL, 0, (uint16_t[]){1, 4}};
    CHECK(orr_cluster_find(world, &desc).id == 0);
    CHECK_OK(orr_cluster_get(world, &desc, &four));
    CHECK(four.id != one.id);
    CHECK_OK(orr_cluster_get(world, &(orr_cluster_desc){swapped, 2, NULL, 0, (uint16_t[]){4, 0}},
                             &again));
    CHECK_EQ(again.id, four.id);
    CHECK_EQ(orr_cluster_find(world, &desc).id, four.id);
    desc.capacities = (uint16_t[]){0, 0};
    CHECK_EQ(orr_cluster_find(world, &desc).id, one.id);
    orr_cluster_info info = kit_info(world, four);
    CHECK_EQ(info.capacities[0], 1);
    CHECK_EQ(info.capacities[1], 4);
    desc.capacities = (uint16_t[]){2, 1};
    CHECK_RESULT(orr_cluster_get(world, &desc, &again), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "the type is unique");
    desc.capacities = (uint16_t[]){1, 3};
    CHECK_RESULT(orr_cluster_get(world, &desc, &again), ORR_ERR_ARGUMENT);
    desc.capacities = (uint16_t[]){1, 2048};
    CHECK_RESULT(orr_cluster_get(world, &desc, &again), ORR_ERR_CAPACITY);
    orr_type page = KIT_TYPE(world, Page);
    CHECK_RESULT(
        orr_cluster_get(world, &(orr_cluster_desc){&page, 1, NULL, 0, (uint16_t[]){4}}, &again),
        ORR_ERR_CAPACITY);
    CHECK_CONTAINS(k.errors.text, "Page with 20000 bytes");
    kit_end(&k);
}

ORR_TEST(multiple_rows_that_do_not_fit_the_target_are_refused_without_a_change)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Collider);
    orr_cluster clusters[4];
    for (uint32_t i = 0; i < 4; i++) {
        uint16_t capacity = (uint16_t)(1u << i);
        CHECK_OK(orr_cluster_get(world, &(orr_cluster_desc){&type, 1, NULL, 0, &capacity},
                                 &clusters[i]));
    }
    orr_entity ids[3];
    CHECK_OK(orr_create_many(world, clusters[3], 3, NULL, 0, ids));
    CHECK(add_radius(world, ids[1], 2) != 0);
    CHECK(add_radius(world, ids[1], 3) != 0);
    uint64_t hash = orr_world_hash(world);
    CHECK_RESULT(orr_entity_move(world, ids[1], clusters[1]), ORR_ERR_CAPACITY);
    CHECK_CONTAINS(k.errors.text, "1v1 has 3 instances of Collider");
    CHECK_RESULT(orr_rows_move(world, clusters[3], 0, 3, clusters[1]), ORR_ERR_CAPACITY);
    CHECK_RESULT(orr_rows_move_all(world, clusters[3], clusters[0]), ORR_ERR_CAPACITY);
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_OK(orr_rows_move_all(world, clusters[3], clusters[2]));
    CHECK_EQ(row_capacity(world, ids[1], type), 4);
    check_radii(world, ids[0], 1, (float[]){1});
    check_radii(world, ids[1], 3, (float[]){1, 2, 3});
    CHECK_OK(orr_entity_move(world, ids[0], clusters[0]));
    CHECK_OK(orr_rows_move(world, clusters[2], 0, 2, clusters[3]));
    check_radii(world, ids[0], 1, (float[]){1});
    check_radii(world, ids[1], 3, (float[]){1, 2, 3});
    check_radii(world, ids[2], 1, (float[]){1});
    kit_end(&k);
}

ORR_TEST(multiple_beyond_the_limit_of_instances_or_bytes_is_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type byte = KIT_TYPE(world, Byte), page = KIT_TYPE(world, Page);
    orr_entity bob = orr_create(world);
    for (uint32_t i = 0; i < ORR_INSTANCES_MAX; i++) {
        CHECK(orr_instance_add(world, bob, byte, &(Byte){(uint8_t)i}) != 0);
    }
    uint64_t hash = orr_world_hash(world);
    CHECK_EQ(orr_instance_add(world, bob, byte, NULL), 0);
    CHECK_EQ(k.errors.result, ORR_ERR_CAPACITY);
    CHECK_CONTAINS(k.errors.text, "0v1 has 1024 of Byte");
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK(orr_instance_add(world, bob, page, NULL) != 0);
    CHECK(orr_instance_add(world, bob, page, NULL) != 0); // 40,000 bytes; four would be 80,000.
    CHECK_EQ(orr_instance_add(world, bob, page, NULL), 0);
    CHECK_EQ(k.errors.result, ORR_ERR_CAPACITY);
    const void* values;
    CHECK_EQ(orr_instances_get(world, bob, byte, &values, NULL), ORR_INSTANCES_MAX);
    for (uint32_t i = 0; i < ORR_INSTANCES_MAX; i++) {
        CHECK_EQ(((const Byte*)values)[i].value, (uint8_t)i);
    }
    kit_end(&k);
}

// ---- columns ------------------------------------------------------------------------------------

/* N0-31 */
ORR_TEST(multiple_column_gives_values_ids_and_counts_by_row)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Collider);
    orr_cluster cluster = {0}, one = kit_cluster(world, &type, 1, NULL, 0);
    CHECK_OK(
        orr_cluster_get(world, &(orr_cluster_desc){&type, 1, NULL, 0, (uint16_t[]){4}}, &cluster));
    orr_entity ids[3];
    orr_column_data data = {type, (Collider[]){{1}, {2}, {3}}};
    CHECK_OK(orr_create_many(world, cluster, 3, &data, 1, ids));
    CHECK_EQ(add_radius(world, ids[1], 20), 4);
    CHECK_OK(orr_instance_enable(world, ids[1], type, 4, false));
    const Collider* values = orr_column_read(world, cluster, 0, type);
    orr_instances instances = orr_column_instances(world, cluster, 0, type);
    CHECK_EQ(instances.capacity, 4);
    static const float radii[12] = {1, 0, 0, 0, 2, 20, 0, 0, 3, 0, 0, 0};
    static const uint32_t numbers[12] = {1, 0, 0, 0, 2, 4, 0, 0, 3, 0, 0, 0};
    for (uint32_t i = 0; i < 12; i++) {
        CHECK(values[i].radius == radii[i]);
        CHECK_EQ(instances.ids[i], numbers[i]);
        CHECK_EQ(instances.enabled[0] >> i & 1, i != 5);
    }
    CHECK_EQ(instances.counts[0], 1);
    CHECK_EQ(instances.counts[1], 2);
    CHECK_EQ(instances.counts[2], 1);
    ((Collider*)orr_column_write(world, cluster, 0, type))[5].radius = 21;
    check_radii(world, ids[1], 2, (float[]){2, 21});
    CHECK_EQ(orr_column_instances(world, one, 0, type).capacity, 0); // No rows, no chunk.
    CHECK_EQ(orr_column_instances(world, cluster, 1, type).capacity, 0);
    CHECK_EQ(orr_column_instances(world, cluster, 0, KIT_TYPE(world, Note)).capacity, 0);
    CHECK_EQ(orr_column_instances(world, (orr_cluster){0}, 0, type).capacity, 0);
    kit_end(&k);
}

ORR_TEST(multiple_prints_all_instances)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Collider);
    orr_entity bob = orr_create(world);
    orr_component_id a = add_radius(world, bob, 1), b = add_radius(world, bob, 2);
    char text[128];
    (void)orr_entity_print(world, bob, text, sizeof text);
    CHECK_STR(text, "0v1: Collider [{radius: 1}, {radius: 2}]");
    CHECK_OK(orr_instance_enable(world, bob, type, a, false));
    (void)orr_entity_print(world, bob, text, sizeof text);
    CHECK_STR(text, "0v1: Collider [{radius: 1} (off), {radius: 2}]");
    CHECK_OK(orr_instance_enable(world, bob, type, b, false));
    (void)orr_entity_print(world, bob, text, sizeof text);
    CHECK_STR(text, "0v1: Collider [{radius: 1}, {radius: 2}] (off)");
    kit_end(&k);
}

// ---- ids ----------------------------------------------------------------------------------------

/* N0-28 */
ORR_TEST(multiple_ids_wrap_past_zero_and_past_those_in_use)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Collider);
    orr_entity bob = orr_create(world), eve = orr_create(world);
    CHECK_EQ(add_radius(world, bob, 1), 1);
    CHECK_EQ(add_radius(world, bob, 2), 2);
    world->instance_last = INT32_MAX - 1;
    CHECK_EQ(add_radius(world, bob, 3), INT32_MAX);
    CHECK_EQ(add_radius(world, bob, 4), 3); // Neither 0 nor 1 nor 2.
    world->instance_last = INT32_MAX;
    CHECK_EQ(add_radius(world, eve, 5), 1); // Free on this entity.
    world->instance_last = INT32_MAX;
    orr_entity copy = orr_copy(world, bob);
    const orr_component_id* ids;
    CHECK_EQ(orr_instances_get(world, copy, type, NULL, &ids), 4);
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_EQ(ids[i], i + 1); // Its own.
    }
    check_radii(world, copy, 4, (float[]){1, 2, 3, 4});
    kit_end(&k);
}

ORR_TEST(multiple_hash_covers_counts_and_values_but_not_ids)
{
    uint64_t hashes[4];
    for (uint32_t round = 0; round < 4; round++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        orr_type type = KIT_TYPE(world, Collider);
        world->instance_last = round == 1 ? INT32_MAX - 2 : 0;
        orr_entity bob = orr_create(world);
        for (uint32_t i = 0; i < 5; i++) {
            CHECK(add_radius(world, bob, (float)i) != 0);
        }
        orr_tick_advance(world);
        (void)orr_world_hash(world); // Cached hashes must be updated.
        const orr_component_id* ids;
        CHECK_EQ(orr_instances_get(world, bob, type, NULL, &ids), 5);
        CHECK(round != 1 || ids[4] < ids[0]);
        if (round == 2) {
            CHECK_OK(orr_instance_set(world, bob, type, ids[4], &(Collider){9}));
        } else if (round == 3) {
            CHECK(add_radius(world, bob, 0) != 0);
        } else {
            CHECK_OK(orr_instance_set(world, bob, type, ids[4], &(Collider){4}));
        }
        hashes[round] = orr_world_hash(world);
        kit_end(&k);
    }
    CHECK(hashes[0] == hashes[1]);
    CHECK(hashes[0] != hashes[2]);
    CHECK(hashes[0] != hashes[3]);
}

ORR_TEST(multiple_capacity_is_part_of_the_hash)
{
    uint64_t hashes[2];
    for (uint32_t round = 0; round < 2; round++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        orr_type type = KIT_TYPE(world, Collider);
        uint16_t capacity = (uint16_t)(1 + round);
        orr_cluster cluster;
        CHECK_OK(
            orr_cluster_get(world, &(orr_cluster_desc){&type, 1, NULL, 0, &capacity}, &cluster));
        CHECK(orr_create_in(world, cluster).id != 0);
        hashes[round] = orr_world_hash(world);
        kit_end(&k);
    }
    CHECK(hashes[0] != hashes[1]);
}

// ---- enable bits --------------------------------------------------------------------------------

static void check_enabled(const orr_world* world, orr_entity entity, uint32_t count,
                          const char* wanted)
{
    orr_type type = orr_type_find(world, "Collider");
    const orr_component_id* ids;
    CHECK_EQ(orr_instances_get(world, entity, type, NULL, &ids), count);
    for (uint32_t i = 0; i < count; i++) {
        CHECK_EQ(orr_instance_enabled(world, entity, type, ids[i]), wanted[i] == '1');
    }
    CHECK_EQ(orr_component_enabled(world, entity, type), strchr(wanted, '1') != NULL);
    CHECK_EQ(orr_instance_enabled(world, entity, type, 0), strchr(wanted, '1') != NULL);
}

ORR_TEST(multiple_enable_bits_belong_to_instances)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Collider);
    orr_entity eve = orr_create(world), bob = orr_create(world);
    orr_component_id ids[5];
    CHECK(add_radius(world, eve, 0) != 0);
    for (uint32_t i = 0; i < 4; i++) {
        ids[i] = add_radius(world, bob, (float)i);
    }
    CHECK_OK(orr_instance_enable(world, bob, type, ids[1], true)); // All are enabled: no bits.
    check_enabled(world, bob, 4, "1111");
    CHECK_OK(orr_instance_enable(world, bob, type, ids[1], false));
    CHECK_OK(orr_instance_enable(world, bob, type, ids[3], false));
    check_enabled(world, bob, 4, "1010");
    ids[4] = add_radius(world, bob, 4); // The capacity doubles.
    check_enabled(world, bob, 5, "10101");
    CHECK_OK(orr_instance_remove(world, bob, type, ids[0]));
    check_enabled(world, bob, 4, "0101");
    CHECK_OK(orr_tag_add(world, bob, 5));
    CHECK_OK(orr_component_add(world, bob, KIT_TYPE(world, Health)));
    check_enabled(world, bob, 4, "0101");
    check_enabled(world, orr_copy(world, bob), 4, "0101");
    CHECK_OK(orr_instance_remove(world, bob, type, ids[4]));
    CHECK_OK(orr_instance_remove(world, bob, type, ids[1])); // The capacity halves.
    CHECK_EQ(row_capacity(world, bob, type), 4);
    check_enabled(world, bob, 2, "10");
    CHECK_OK(orr_component_enable(world, bob, type, false));
    check_enabled(world, bob, 2, "00");
    CHECK(add_radius(world, bob, 9) != 0);
    check_enabled(world, bob, 3, "001"); // New instances are enabled.
    CHECK_OK(orr_component_enable(world, bob, type, true));
    check_enabled(world, bob, 3, "111");
    check_enabled(world, eve, 1, "1");
    kit_end(&k);
}

ORR_TEST(multiple_enable_bits_are_kept_by_batches_and_gap_filling)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Collider);
    enum {
        COUNT = 2500
    };
    static orr_entity ids[COUNT];
    orr_cluster from, to;
    CHECK_OK(
        orr_cluster_get(world, &(orr_cluster_desc){&type, 1, NULL, 0, (uint16_t[]){4}}, &from));
    orr_tag tag = 3;
    CHECK_OK(orr_cluster_get(world, &(orr_cluster_desc){&type, 1, &tag, 1, (uint16_t[]){2}}, &to));
    CHECK_OK(orr_create_many(world, from, COUNT, NULL, 0, ids));
    for (uint32_t i = 0; i < COUNT; i += 3) {
        orr_component_id id = add_radius(world, ids[i], (float)i);
        CHECK_OK(orr_instance_enable(world, ids[i], type, id, false));
    }
    CHECK_OK(orr_destroy(world, ids[1]));
    CHECK_OK(orr_destroy_many(world, ids + 100, 50));
    CHECK_OK(orr_rows_move(world, from, 7, 2200, to));
    CHECK_OK(orr_rows_move_all(world, from, to));
    CHECK_EQ(kit_rows(world, to), COUNT - 51);
    for (uint32_t i = 0; i < COUNT; i++) {
        if (i == 1 || (i >= 100 && i < 150)) {
            continue;
        }
        check_radii(world, ids[i], i % 3 == 0 ? 2 : 1, (float[]){1, (float)i});
        check_enabled(world, ids[i], i % 3 == 0 ? 2 : 1, i % 3 == 0 ? "10" : "1");
    }
    CHECK_OK(orr_world_validate(world));
    // The same types and capacities: whole chunks are handed over, one column is added and one is
    // removed.
    orr_type types[] = {type, KIT_TYPE(world, Charm)};
    orr_cluster with;
    CHECK_OK(
        orr_cluster_get(world, &(orr_cluster_desc){types, 2, NULL, 0, (uint16_t[]){2, 4}}, &with));
    CHECK_OK(orr_rows_move_all(world, to, with));
    CHECK_EQ(kit_tokens.live, COUNT - 51);
    CHECK_OK(orr_world_validate(world));
    check_radii(world, ids[99], 2, (float[]){1, 99});
    check_enabled(world, ids[99], 2, "10");
    CHECK_EQ(orr_instances_get(world, ids[99], types[1], NULL, NULL), 1);
    CHECK_OK(orr_rows_move_all(world, with, to));
    CHECK_EQ(kit_tokens.live, 0);
    check_radii(world, ids[99], 2, (float[]){1, 99});
    kit_end(&k);
}

// ---- together -----------------------------------------------------------------------------------

ORR_TEST(multiple_batch_takes_rows_of_several_capacities_to_one_cluster)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Collider), health = KIT_TYPE(world, Health);
    orr_entity ids[40];
    for (uint32_t i = 0; i < 40; i++) {
        ids[i] = orr_create(world);
        CHECK_OK(orr_component_set(world, ids[i], health, &(Health){(int32_t)i, 0}));
        for (uint32_t n = 0; n <= i % 5; n++) { // Capacities 1, 2, 4 and 8.
            CHECK(add_radius(world, ids[i], (float)n) != 0);
        }
    }
    CHECK_OK(orr_component_remove_many(world, ids, 40, type));
    CHECK_OK(orr_world_validate(world));
    orr_cluster cluster = orr_entity_cluster(world, ids[0]);
    CHECK_EQ(kit_rows(world, cluster), 40);
    for (uint32_t i = 0; i < 40; i++) {
        CHECK_EQ(((const Health*)orr_component_get(world, ids[i], health))->value, i);
    }
    kit_end(&k);
}

ORR_TEST(multiple_broken_cells_are_found_by_validation)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Collider);
    orr_entity bob = orr_create(world);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK(add_radius(world, bob, 1) != 0);
    }
    orr_cluster cluster = orr_entity_cluster(world, bob);
    orr_instances instances = orr_column_instances(world, cluster, 0, type);
    uint16_t* count = (uint16_t*)(uintptr_t)instances.counts;
    orr_component_id* ids = (orr_component_id*)(uintptr_t)instances.ids;
    Collider* values = orr_column_write(world, cluster, 0, type);
    for (uint32_t way = 0; way < 5; way++) {
        uint16_t old_count = *count;
        orr_component_id old_id = ids[1];
        *count = way == 0 ? 0 : way == 1 ? 5 : old_count;
        ids[1] = way == 2 ? ids[0] : old_id;
        ids[3] = way == 3 ? 77 : 0;
        values[3].radius = way == 4 ? 1.0f : 0.0f;
        CHECK_RESULT(orr_world_validate(world), ORR_ERR_CORRUPT);
        CHECK_CONTAINS(k.errors.text, "S16");
        *count = old_count;
        ids[1] = old_id;
        ids[3] = 0;
        values[3].radius = 0;
        CHECK_OK(orr_world_validate(world));
    }
    kit_end(&k);
}

ORR_STRUCT_EX(Anchor, (.storage = ORR_PINNED), (float, mass))

ORR_TEST(multiple_pinned_types_are_instance_zero_too)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Anchor);
    orr_entity bob = orr_create(world);
    const void* values;
    CHECK_EQ(orr_instance_add(world, bob, type, NULL), 0);
    CHECK_OK(orr_component_set(world, bob, type, &(Anchor){3}));
    CHECK_OK(orr_instance_set(world, bob, type, 0, &(Anchor){4}));
    CHECK_EQ(orr_instances_get(world, bob, type, &values, NULL), 1);
    CHECK(((const Anchor*)values)->mass == 4);
    CHECK(orr_instance_edit(world, bob, type, 0) == values);
    CHECK_OK(orr_instance_enable(world, bob, type, 0, false));
    CHECK(!orr_instance_enabled(world, bob, type, 0));
    CHECK_OK(orr_instance_remove(world, bob, type, 0));
    CHECK_EQ(orr_instances_get(world, bob, type, &values, NULL), 0);
    kit_end(&k);
}

ORR_STRUCT_EX(Puppet, (.needs = "Collider"), (float, mood))

ORR_TEST(multiple_last_instance_stays_while_it_is_needed)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Collider), puppet = KIT_TYPE(world, Puppet);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_component_add(world, bob, puppet)); // Adds a Collider, too.
    orr_component_id more = add_radius(world, bob, 2);
    const orr_component_id* ids;
    CHECK_EQ(orr_instances_get(world, bob, type, NULL, &ids), 2);
    CHECK_OK(orr_instance_remove(world, bob, type, ids[0]));
    CHECK(orr_instance_remove(world, bob, type, more) != ORR_OK);
    CHECK_CONTAINS(k.errors.text, "Collider of entity 0v1 is needed by Puppet");
    check_radii(world, bob, 1, (float[]){2});
    CHECK_OK(orr_component_remove(world, bob, puppet));
    CHECK_OK(orr_instance_remove(world, bob, type, more));
    kit_end(&k);
}
