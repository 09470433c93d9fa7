// SPDX-License-Identifier: MIT
// Indexed references: referrers after every way to add, change and remove values, and cascades of
// destroyed entities. By hand; test_relation_random.c compares random changes with a scan over all
// entities.
#include "store/cow/share.h"
#include "store/relation/relation.h"
#include "support/store_kit.h"
#include "test.h"
#include <orrery/kinds.h>

#define INDEXED(policy) (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_##policy)

ORR_STRUCT(Parent, (orr_entity, entity, INDEXED(DESTROY)))
ORR_STRUCT(Owner, (uint32_t, weight), (orr_entity, one, INDEXED(CLEAR)),
           (orr_entity, slots, 3, INDEXED(CLEAR)))
ORR_STRUCT(Watch, (orr_entity, target, INDEXED(KEEP)), (orr_entity, other))
ORR_STRUCT(Pair, (uint32_t, number), (orr_entity, end, INDEXED(DESTROY)))
ORR_STRUCT(Duo, (Pair, pairs, 2), (orr_string, text), (orr_entity, friend, INDEXED(CLEAR)))

static orr_entity child_of(orr_world* world, orr_entity parent)
{
    orr_entity entity = orr_create(world);
    CHECK_OK(orr_set(world, entity, Parent, {parent}));
    return entity;
}

static uint32_t referrers(orr_world* world, orr_entity target, orr_type type, const char* field)
{
    return orr_referrers_get(world, target, type, field, NULL, 0);
}

// ---- declaring ----------------------------------------------------------------------------------

static void refuse_field(orr_field_desc field, orr_type_settings settings, orr_result result,
                         const char* words)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type;
    CHECK_RESULT(
        orr_type_register(
            world,
            &(orr_type_desc){.name = "T", .fields = &field, .field_count = 1, .settings = settings},
            &type),
        result);
    CHECK_CONTAINS(orr_error_last(world), words);
    kit_end(&k);
}

ORR_TEST(indexed_field_of_another_kind_is_refused)
{
    orr_field_attributes indexed = {.flags = ORR_FIELD_INDEXED};
    refuse_field((orr_field_desc){"x", ORR_TYPE(int), 0, 0, indexed}, (orr_type_settings){0},
                 ORR_ERR_ARGUMENT, "only an orr_entity");
    indexed.element = ORR_TYPE(orr_entity);
    refuse_field((orr_field_desc){"x", ORR_TYPE(orr_array), 0, 0, indexed}, (orr_type_settings){0},
                 ORR_ERR_ARGUMENT, "only an orr_entity");
    refuse_field((orr_field_desc){"x", ORR_TYPE(Pair), 0, 0, {.flags = ORR_FIELD_INDEXED}},
                 (orr_type_settings){0}, ORR_ERR_ARGUMENT, "only an orr_entity");
    refuse_field((orr_field_desc){"x", ORR_TYPE(orr_array), 0, 0, {.element = ORR_TYPE(Pair)}},
                 (orr_type_settings){0}, ORR_ERR_ARGUMENT, "owned arrays");
}

ORR_TEST(indexed_settings_that_do_not_fit_are_refused)
{
    orr_field_desc field = {"x", ORR_TYPE(orr_entity), 0, 0, {.flags = ORR_FIELD_INDEXED}};
    refuse_field(field, (orr_type_settings){.storage = ORR_PINNED}, ORR_ERR_ARGUMENT, "not pinned");
    refuse_field(field, (orr_type_settings){.multiplicity = ORR_MULTIPLE}, ORR_ERR_ARGUMENT,
                 "not multiple");
    field.attributes.on_destroy = (orr_on_destroy)3;
    refuse_field(field, (orr_type_settings){0}, ORR_ERR_ARGUMENT, "on_destroy 3");
    field.attributes = (orr_field_attributes){.on_destroy = ORR_ON_DESTROY_CLEAR};
    refuse_field(field, (orr_type_settings){0}, ORR_ERR_ARGUMENT, "ORR_FIELD_INDEXED too");
    field.attributes.flags = ORR_FIELD_INDEXED;
    field.count = ORR_INDEXED_MAX + 1;
    refuse_field(field, (orr_type_settings){0}, ORR_ERR_CAPACITY, "257 indexed references");
}

ORR_TEST(indexed_references_are_a_flat_list_with_paths)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    const orri_type* type = orri_type_at(&world->schema, KIT_TYPE(world, Duo));
    CHECK_EQ(type->indexed_count, 3);
    CHECK_STR(type->indexed[0].path, "pairs[0].end");
    CHECK_STR(type->indexed[1].path, "pairs[1].end");
    CHECK_STR(type->indexed[2].path, "friend");
    CHECK_EQ(type->indexed[1].offset, sizeof(Pair) + offsetof(Pair, end));
    CHECK_EQ(type->indexed[1].on_destroy, ORR_ON_DESTROY_DESTROY);
    CHECK_EQ(type->indexed[2].on_destroy, ORR_ON_DESTROY_CLEAR);
    CHECK(!type->plain);
    // A declaration without the attribute is another one.
    static const orr_field_desc bare[] = {{"entity", ORR_TYPE(orr_entity), 0, 0, {0}}};
    static const orr_type_desc desc = {
        .name = "Parent", .size = 8, .align = 8, .fields = bare, .field_count = 1};
    CHECK(KIT_TYPE(world, Parent).id != 0);
    orr_type second;
    CHECK_RESULT(orr_type_register(world, &desc, &second), ORR_ERR_CONFLICT);
    CHECK_CONTAINS(k.errors.text, "field entity: flags is 0 and was 8");
    k.errors.count = 0;
    kit_end(&k);
}

// ---- asking -------------------------------------------------------------------------------------

ORR_TEST(referrers_come_in_ascending_order_also_into_a_small_array)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type parent = KIT_TYPE(world, Parent);
    orr_entity tree = orr_create(world), all[20], out[20];
    CHECK_EQ(referrers(world, tree, parent, NULL), 0); // No cluster has the type yet.
    for (uint32_t i = 0; i < 20; i++) {
        all[i] = orr_create(world);
    }
    for (uint32_t i = 0; i < 20; i++) { // In neither ascending nor descending order.
        CHECK_OK(orr_set(world, all[i * 7 % 20], Parent, {tree}));
    }
    for (uint32_t room = 0; room <= 20; room++) {
        CHECK_EQ(orr_referrers_get(world, tree, parent, "entity", out, room), 20);
        for (uint32_t i = 0; i < room; i++) {
            CHECK_EQ(out[i].id, all[i].id);
        }
    }
    CHECK_OK(orr_set(world, all[0], Parent, {all[1]}));
    CHECK_OK(orr_set(world, all[5], Parent, {{0}}));
    CHECK_OK(orr_remove(world, all[19], Parent));
    CHECK_EQ(orr_referrers_get(world, tree, parent, NULL, out, 20), 17);
    CHECK_EQ(out[0].id, all[1].id);
    CHECK_EQ(out[4].id, all[6].id);
    CHECK_EQ(out[16].id, all[18].id);
    kit_end(&k);
}

ORR_TEST(referrers_of_several_fields_count_once)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type owner = KIT_TYPE(world, Owner), duo = KIT_TYPE(world, Duo);
    orr_entity a = orr_create(world), b = orr_create(world), out[4];
    CHECK_OK(orr_set(world, a, Owner, {1, b, {b, {0}, a}}));
    CHECK_EQ(orr_referrers_get(world, b, owner, NULL, out, 4), 1);
    CHECK_EQ(out[0].id, a.id);
    CHECK_EQ(referrers(world, b, owner, "one"), 1);
    CHECK_EQ(referrers(world, b, owner, "slots"), 1);
    CHECK_EQ(referrers(world, b, owner, "slots[0]"), 1);
    CHECK_EQ(referrers(world, b, owner, "slots[2]"), 0);
    CHECK_EQ(referrers(world, a, owner, "slots[2]"), 1);
    CHECK_OK(orr_set(world, b, Duo, {.pairs = {{1, a}, {2, b}}, .friend = a}));
    CHECK_EQ(referrers(world, a, duo, "pairs[0]"), 1);
    CHECK_EQ(referrers(world, a, duo, "pairs[1].end"), 0);
    CHECK_EQ(referrers(world, b, duo, "pairs"), 1);
    CHECK_EQ(referrers(world, a, duo, NULL), 1);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(referrers_of_a_field_without_an_index_are_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type watch = KIT_TYPE(world, Watch), link = KIT_TYPE(world, Link);
    orr_entity a = orr_create(world), out[1];
    CHECK_EQ(referrers(world, a, watch, "other"), 0);
    CHECK_EQ(k.errors.result, ORR_ERR_FIELD);
    CHECK_CONTAINS(k.errors.text, "Watch.other is not indexed");
    CHECK_EQ(referrers(world, a, link, NULL), 0);
    CHECK_CONTAINS(k.errors.text, "Link is not indexed");
    CHECK_EQ(referrers(world, a, watch, "tagret"), 0);
    CHECK_CONTAINS(k.errors.text, "did you mean 'target'");
    CHECK_EQ(referrers(world, a, (orr_type){0}, NULL), 0);
    CHECK_EQ(k.errors.result, ORR_ERR_TYPE);
    CHECK_EQ(orr_referrers_get(world, a, watch, NULL, NULL, 1), 0);
    CHECK_EQ(k.errors.result, ORR_ERR_ARGUMENT);
    CHECK_OK(orr_destroy(world, a));
    CHECK_EQ(orr_referrers_get(world, a, watch, NULL, out, 1), 0);
    CHECK_EQ(k.errors.result, ORR_ERR_ENTITY);
    kit_end(&k);
}

ORR_TEST(indexed_values_are_not_written_in_place)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type parent = KIT_TYPE(world, Parent);
    orr_entity tree = orr_create(world), leaf = child_of(world, tree);
    orr_cluster cluster = orr_entity_cluster(world, leaf);
    uint64_t version = orr_column_version(world, cluster, 0, parent);
    orr_address address;
    orr_appender appender;
    uint32_t count = 1;
    orr_tick_advance(world);
    CHECK(orr_edit(world, leaf, Parent) == NULL);
    CHECK_EQ(k.errors.result, ORR_ERR_STATE);
    CHECK_CONTAINS(k.errors.text, "Parent has indexed fields");
    CHECK_CONTAINS(k.errors.text, "use orr_set()");
    CHECK_OK(orr_address_get(world, leaf, &address));
    CHECK(orr_address_write(world, &address, parent) == NULL);
    CHECK(orr_column_write(world, cluster, 0, parent) == NULL);
    CHECK(orr_span_write(world, cluster, parent, 0, &count) == NULL);
    CHECK_EQ(count, 0);
    CHECK_RESULT(orr_append_begin(world, cluster, &parent, 1, &appender), ORR_ERR_STATE);
    CHECK_EQ(k.errors.count, 5);
    CHECK_EQ(orr_column_version(world, cluster, 0, parent), version);
    CHECK(orr_column_read(world, cluster, 0, parent) != NULL);
    CHECK(orr_address_read(world, &address, parent) == orr_get(world, leaf, Parent));
    CHECK_OK(orr_append_begin(world, cluster, NULL, 0, &appender));
    CHECK_EQ(orr_append(&appender), 0);
    orr_append_end(&appender);
    kit_end(&k);
}

// ---- destroying ---------------------------------------------------------------------------------

ORR_TEST(destroyed_target_destroys_clears_or_keeps_its_referrers)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity boss = orr_create(world), child = child_of(world, boss);
    orr_entity grandchild = child_of(world, child), owner = orr_create(world);
    orr_entity watch = orr_create(world);
    CHECK_OK(orr_set(world, owner, Owner, {7, child, {grandchild, watch, boss}}));
    CHECK_OK(orr_set(world, watch, Watch, {grandchild, boss}));
    orr_tick_advance(world);
    CHECK_OK(orr_destroy(world, boss));
    CHECK_EQ(orr_entity_count(world), 2);
    const Owner* o = orr_get(world, owner, Owner);
    CHECK_EQ(o->weight, 7);
    CHECK(o->one.id == 0 && o->slots[0].id == 0 && o->slots[2].id == 0);
    CHECK_EQ(o->slots[1].id, watch.id);
    orr_cluster cluster = orr_entity_cluster(world, owner);
    CHECK_EQ(orr_column_tick(world, cluster, 0, KIT_TYPE(world, Owner)), 1); // A write.
    CHECK_EQ(orr_get(world, watch, Watch)->target.id, grandchild.id);        // Detected as dead.
    cluster = orr_entity_cluster(world, watch);
    CHECK_EQ(orr_column_tick(world, cluster, 0, KIT_TYPE(world, Watch)), 0);
    // The dead reference may be stored again in the same field, and has no link.
    CHECK_OK(orr_set(world, watch, Watch, {grandchild, {0}}));
    CHECK_OK(orr_world_validate(world));
    kit_end(&k);
}

// The given entities first, then level by level, each ascending: visible in the free list, which is
// last in, first out.
ORR_TEST(entities_destroyed_together_are_freed_in_a_defined_order)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity e[8];
    for (uint32_t i = 0; i < 8; i++) {
        e[i] = orr_create(world);
    }
    static const uint32_t parents[8] = {7, 6, 7, 6,
                                        2, 0, 7, 7}; // 7 is the root, 6 and 2 and 0 below it.
    for (uint32_t i = 0; i < 7; i++) {
        CHECK_OK(orr_set(world, e[6 - i], Parent, {e[parents[6 - i]]}));
    }
    CHECK_OK(orr_destroy(world, e[7]));
    CHECK_EQ(orr_entity_count(world), 0);
    static const uint32_t order[8] = {7, 0, 2, 6, 1, 3, 4, 5};
    for (uint32_t i = 0; i < 8; i++) {
        CHECK_EQ((uint32_t)orr_create(world).id, order[7 - i]);
    }
    kit_end(&k);
}

ORR_TEST(destroyed_cycle_or_self_reference_terminates)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity ring[5], self = orr_create(world);
    for (uint32_t i = 0; i < 5; i++) {
        ring[i] = orr_create(world);
    }
    for (uint32_t i = 0; i < 5; i++) {
        CHECK_OK(orr_set(world, ring[i], Parent, {ring[(i + 1) % 5]}));
    }
    CHECK_OK(orr_set(world, self, Parent, {self}));
    CHECK_OK(orr_set(world, self, Owner, {1, self, {{0}}}));
    CHECK_OK(orr_destroy(world, self));
    CHECK_EQ(orr_entity_count(world), 5);
    orr_entity twice[2] = {ring[3], ring[3]}, gone[2] = {ring[1], self};
    CHECK_RESULT(orr_destroy_many(world, twice, 2), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "listed twice");
    CHECK_RESULT(orr_destroy_many(world, gone, 2), ORR_ERR_ENTITY);
    CHECK_OK(orr_world_validate(world));
    CHECK_EQ(orr_entity_count(world), 5);
    CHECK_OK(orr_destroy_many(world, ring, 2)); // Both are reached again through the ring.
    CHECK_EQ(orr_entity_count(world), 0);
    kit_end(&k);
}

// Recursion over a chain of this length would overflow the C stack.
ORR_TEST(destroyed_long_chain_needs_no_recursion)
{
    enum {
        LENGTH = 200000
    };
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Parent);
    orr_entity first = orr_create(world), last = first;
    for (uint32_t i = 0; i < LENGTH; i++) {
        orr_entity next;
        CHECK_OK(orr_create_many(world, cluster, 1,
                                 &(orr_column_data){KIT_TYPE(world, Parent), &last}, 1, &next));
        last = next;
    }
    CHECK_EQ(orr_entity_count(world), LENGTH + 1);
    CHECK_OK(orr_destroy(world, first));
    CHECK_EQ(orr_entity_count(world), 0);
    kit_end(&k);
}

ORR_TEST(deleted_cluster_destroys_children_in_other_clusters)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_tag level = 7;
    orr_type position = KIT_TYPE(world, Position);
    orr_cluster cluster = kit_cluster(world, &position, 1, &level, 1);
    orr_entity a = orr_create_in(world, cluster), b = orr_create_in(world, cluster);
    orr_entity child = child_of(world, a), owner = orr_create(world);
    CHECK_OK(orr_set(world, b, Owner, {1, a, {{0}}}));
    CHECK_OK(orr_set(world, owner, Owner, {1, child, {b, a, owner}}));
    CHECK_OK(orr_cluster_clear(world, orr_entity_cluster(world, b)));
    CHECK(!orr_alive(world, b) && orr_alive(world, a));
    CHECK_EQ(orr_get(world, owner, Owner)->slots[0].id, 0);
    uint32_t deleted = 0;
    CHECK_OK(
        orr_clusters_delete(world, &(orr_cluster_match){.tags = &level, .tag_count = 1}, &deleted));
    CHECK_EQ(deleted, 2);
    CHECK(!orr_alive(world, a) && !orr_alive(world, child));
    const Owner* o = orr_get(world, owner, Owner);
    CHECK(o->one.id == 0 && o->slots[1].id == 0);
    CHECK_EQ(o->slots[2].id, owner.id);
    CHECK_OK(orr_world_validate(world));
    CHECK_OK(orr_entities_destroy_all(world));
    CHECK_OK(orr_world_validate(world));
    CHECK_EQ(referrers(world, child_of(world, orr_create(world)), KIT_TYPE(world, Owner), NULL), 0);
    kit_end(&k);
}

ORR_TEST(undone_rows_of_an_appender_have_no_referrers)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity watch = orr_create(world);
    CHECK_OK(orr_set(world, watch, Watch, {watch, {0}}));
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    orr_appender appender;
    CHECK_OK(orr_append_begin(world, cluster, NULL, 0, &appender));
    CHECK_EQ(orr_append(&appender), 0);
    CHECK_OK(orr_set(world, watch, Watch, {appender.entities[3], {0}})); // Reserved, not appended.
    orr_append_end(&appender);
    CHECK_EQ(orr_get(world, watch, Watch)->target.id, 0);
    CHECK_OK(orr_world_validate(world));
    kit_end(&k);
}

// Most sets and moves take short paths, once chunks have room and were stamped in this epoch. The
// validation compares all links with the values.
ORR_TEST(references_set_on_short_paths_are_linked)
{
    enum {
        COUNT = 3 * ORRI_PAGE_SIZE + 100
    };
    static orr_entity all[COUNT];
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type parent = KIT_TYPE(world, Parent);
    for (uint32_t i = 0; i < COUNT; i++) { // The first stays, so their cluster is never empty.
        all[i] = orr_create(world);
    }
    for (uint32_t i = 1; i < COUNT; i++) { // From cluster to cluster.
        CHECK_OK(orr_set(world, all[i], Parent, {all[(i - 1) / 5]}));
    }
    CHECK_EQ(referrers(world, all[0], parent, NULL), 5);
    CHECK_EQ(referrers(world, all[COUNT / 6], parent, NULL), 5);
    CHECK_OK(orr_world_validate(world));
    for (uint32_t i = 1; i < COUNT; i++) { // In place; a third get none, a third get themselves.
        orr_entity to = i % 3 == 0 ? (orr_entity){0} : all[i % 3 == 1 ? i : COUNT - i];
        CHECK_OK(orr_set(world, all[i], Parent, {to}));
    }
    CHECK_OK(orr_world_validate(world));
    for (uint32_t i = 1; i < COUNT; i += 2) { // Back.
        CHECK_OK(orr_remove(world, all[i], Parent));
    }
    CHECK_OK(orr_world_validate(world));
    for (uint32_t i = 1; i < COUNT; i += 4) { // With the preset, which refers to nothing.
        CHECK_OK(orr_add(world, all[i], Parent));
        CHECK_EQ(orr_get(world, all[i], Parent)->entity.id, 0);
    }
    CHECK_OK(orr_world_validate(world));
    orr_cluster cluster = KIT_CLUSTER(world, Parent);
    for (uint32_t i = 0; i < 100; i++) {
        orr_entity child = orr_create_in(world, cluster);
        CHECK_OK(orr_set(world, child, Parent, {all[0]}));
    }
    CHECK_EQ(referrers(world, all[0], parent, NULL), 100);
    CHECK_OK(orr_world_validate(world));
    CHECK_OK(orr_destroy(world, all[0]));
    CHECK_OK(orr_world_validate(world));
    kit_end(&k);
}

// A value with a second reference, and with padding or other fields.
ORR_TEST(references_among_other_fields_are_checked_and_linked)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity dead = orr_create(world), a = orr_create(world), b = orr_create(world);
    CHECK_OK(orr_destroy(world, dead));
    for (uint32_t round = 0; round < 2; round++) { // Added, then overwritten.
        CHECK_RESULT(orr_set(world, a, Watch, {b, dead}), ORR_ERR_ENTITY);
        CHECK_RESULT(orr_set(world, a, Watch, {dead, b}), ORR_ERR_ENTITY);
        CHECK_EQ(orr_has(world, a, Watch), round == 1);
        CHECK_OK(orr_set(world, a, Watch, {b, a}));
        CHECK_RESULT(orr_set(world, a, Owner, {7, b, {a, dead, b}}), ORR_ERR_ENTITY);
        CHECK_OK(orr_set(world, a, Owner, {7, b, {a, {0}, b}}));
    }
    CHECK_EQ(referrers(world, b, KIT_TYPE(world, Watch), NULL), 1);
    CHECK_EQ(referrers(world, a, KIT_TYPE(world, Owner), NULL), 1);
    CHECK_OK(orr_world_validate(world));
    k.errors.count = 0;
    kit_end(&k);
}

// Presets and construct hooks may refer to entities, too.
ORR_TEST(preset_that_refers_to_an_entity_is_indexed)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity zero = orr_create(world), many[3];
    CHECK_EQ(zero.id, (uint64_t)1 << 32);
    orr_field_desc field = {
        "to", ORR_TYPE(orr_entity), 0, 0, {.flags = ORR_FIELD_INDEXED, .preset = "0v1"}};
    orr_type type;
    CHECK_OK(orr_type_register(
        world, &(orr_type_desc){.name = "Follower", .fields = &field, .field_count = 1}, &type));
    orr_cluster cluster = kit_cluster(world, &type, 1, NULL, 0);
    orr_entity a = orr_create_in(world, cluster), b = orr_create(world);
    CHECK_OK(orr_component_add(world, b, type));
    CHECK_EQ(referrers(world, zero, type, "to"), 2);
    CHECK(orr_copy(world, a).id != 0);
    CHECK_EQ(referrers(world, zero, type, "to"), 3);
    orr_cluster plain = KIT_CLUSTER(world, Position);
    CHECK_OK(orr_create_many(world, plain, 3, NULL, 0, many));
    CHECK_OK(orr_component_add_many(world, many, 2, type, NULL));
    CHECK_EQ(referrers(world, zero, type, "to"), 5);
    CHECK_OK(orr_rows_move_all(world, plain, cluster));
    CHECK_EQ(referrers(world, zero, type, "to"), 6);
    CHECK_OK(orr_rows_move_all(world, cluster, KIT_CLUSTER(world, Tiny)));
    CHECK_EQ(referrers(world, zero, type, "to"), 2);
    orr_cluster other = KIT_CLUSTER(world, Velocity);
    CHECK_OK(orr_rows_move_all(world, KIT_CLUSTER(world, Tiny), other));
    orr_type both[2] = {KIT_TYPE(world, Velocity), type};
    CHECK_OK(orr_rows_move_all(world, other, kit_cluster(world, both, 2, NULL, 0)));
    CHECK_EQ(referrers(world, zero, type, "to"), 6);
    orr_appender appender;
    CHECK_OK(orr_append_begin(world, cluster, NULL, 0, &appender));
    CHECK_EQ(orr_append(&appender), 0);
    orr_append_end(&appender);
    CHECK_EQ(referrers(world, zero, type, "to"), 7);
    CHECK(orr_create_in(world, cluster).id != 0 && orr_create_in(world, cluster).id != 0);
    CHECK_EQ(referrers(world, zero, type, "to"), 9);
    CHECK_OK(orr_destroy(world, zero));
    CHECK_OK(orr_world_validate(world));
    CHECK_EQ(orr_get(world, orr_copy(world, a), Position) == NULL,
             1); // A dead reference is copied.
    kit_end(&k);
}
