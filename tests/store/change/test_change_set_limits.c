// SPDX-License-Identifier: MIT
// Change sets at the limits of an entity and of a world: what does not fit is skipped and reported,
// everything else is applied, and the choice does not depend on memory.
#include "store/change/change_set.h"
#include "support/store_kit.h"
#include "test.h"

#include <stdio.h>

ORR_STRUCT_EX(Spot, (.multiplicity = ORR_MULTIPLE), (int32_t, x))
ORR_STRUCT(Parent, (orr_entity, entity, (.flags = ORR_FIELD_INDEXED)))
ORR_STRUCT_EX(Ghost, (.storage = ORR_PINNED), (int32_t, n))

#define LOT (ORR_CLUSTER_TYPES_MAX + 40)

static orr_entity nth(const orr_world* world, uint32_t position)
{
    orri_index_cursor cursor = {0};
    return orri_index_nth(world, &cursor, position);
}

// The skipped changes as text, one per line.
typedef struct skipped {
    uint32_t count;
    char text[8192];
} skipped;

static void note_skipped(void* user, uint32_t group, orr_entity entity, orr_type type,
                         orr_result result, const char* what)
{
    CHECK(result != ORR_OK);
    skipped* t = user;
    size_t used = strlen(t->text);
    t->count++;
    snprintf(t->text + used, sizeof t->text - used, "%u/%u/%u:%s\n", group,
             (uint32_t)(entity.id & UINT32_MAX), type.id, what);
}

static orr_result apply(orr_world* world, const orri_group* groups, uint32_t count, skipped* t)
{
    *t = (skipped){0};
    return orri_change_set_apply(world, &(orri_change_set_desc){.call = "test",
                                                                .groups = groups,
                                                                .count = count,
                                                                .on_skipped = note_skipped,
                                                                .user = t});
}

// Applies with every allocation refused in turn, then with memory. Every refusal leaves the world
// unchanged.
static void apply_at_last(kit* k, const orri_group* groups, uint32_t count, skipped* t)
{
    uint64_t hash = orr_world_hash(k->world), n = 1;
    orr_result result = ORR_ERR_MEMORY;
    for (; result != ORR_OK; n++) {
        failing_alloc_arm(&k->memory, n, false);
        result = apply(k->world, groups, count, t);
        failing_alloc_arm(&k->memory, 0, false);
        CHECK(result == ORR_OK || result == ORR_ERR_MEMORY);
        CHECK(result == ORR_OK || (t->count == 0 && orr_world_hash(k->world) == hash));
        CHECK_OK(orr_world_validate(k->world));
    }
    CHECK(n > 3);
}

// Types T0, T1, …; T3 needs T100 and T101; T4 is multiple.
static orr_world* lot_begin(kit* k, orr_type* types)
{
    orr_world* world = kit_begin(k, NULL);
    static const orr_field_desc field = {.name = "n", .type = ORR_TYPE(uint32_t)};
    for (uint32_t i = 0; i < LOT; i++) {
        char name[16];
        snprintf(name, sizeof name, "T%u", i);
        orr_type_desc desc = {.name = name, .fields = &field, .field_count = 1};
        desc.settings.needs = i == 3 ? "T100, T101" : NULL;
        desc.settings.multiplicity = i == 4 ? ORR_MULTIPLE : ORR_UNIQUE;
        CHECK_OK(orr_type_register(world, &desc, &types[i]));
    }
    return world;
}

static orr_entity lot_create(orr_world* world, const orr_type* types, uint32_t count)
{
    return orr_create_in(world, kit_cluster(world, types, count, NULL, 0));
}

static uint32_t lot_count(const orr_world* world, orr_entity entity, const orr_type* types)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < LOT; i++) {
        count += orr_component_has(world, entity, types[i]);
    }
    return count;
}

ORR_TEST(types_beyond_the_limit_are_skipped_in_order)
{
    kit k = {0};
    static orr_type types[LOT];
    orr_world* world = lot_begin(&k, types);
    orr_entity bob = lot_create(world, types + 10, 250), made = nth(world, 0);
    static uint32_t values[10][2];
    orri_given given[10];
    for (uint32_t i = 0; i < 10; i++) {
        values[i][0] = values[i][1] = i;
        given[i] = (orri_given){types[260 + i], (const uint8_t*)values[i]};
    }
    orri_group groups[] = {{.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = &bob,
                            .count = 1,
                            .given = given,
                            .given_count = 10},
                           {.kind = ORRI_CHANGE_KIND_CREATE,
                            .entities = &made,
                            .count = 1,
                            .given = given,
                            .given_count = 1}};
    skipped t;
    apply_at_last(&k, groups, 2, &t);
    CHECK_EQ(t.count, 4);
    CHECK_CONTAINS(t.text, "with T266 the entity would have more than 256 types");
    CHECK_CONTAINS(t.text, "with T269 the entity would");
    CHECK_EQ(lot_count(world, bob, types), ORR_CLUSTER_TYPES_MAX);
    CHECK_EQ(*(const uint32_t*)orr_component_get(world, bob, types[265]), 5);
    CHECK(orr_alive(world, made) && orr_component_has(world, made, types[260]));
    kit_end(&k);
}

ORR_TEST(types_removed_make_room_for_added_ones)
{
    kit k = {0};
    static orr_type types[LOT];
    orr_world* world = lot_begin(&k, types);
    orr_entity bob = lot_create(world, types + 5, 256);
    orri_given given[] = {{types[270], NULL}, {types[271], NULL}, {types[272], NULL}};
    orr_type taken[] = {types[5], types[6], types[7]};
    orri_group group = {.kind = ORRI_CHANGE_KIND_CHANGE,
                        .entities = &bob,
                        .count = 1,
                        .given = given,
                        .given_count = 3,
                        .taken = taken,
                        .taken_count = 3};
    skipped t;
    CHECK_OK(apply(world, &group, 1, &t)); // Three types for three.
    CHECK_EQ(t.count, 0);
    CHECK_EQ(lot_count(world, bob, types), 256);
    CHECK(orr_component_has(world, bob, types[272]) && !orr_component_has(world, bob, types[7]));
    // Three types for one: it has only one of the types to remove.
    given[0].type = types[280], given[1].type = types[281], given[2].type = types[282];
    taken[2] = types[8];
    CHECK_OK(apply(world, &group, 1, &t));
    CHECK_EQ(t.count, 2);
    CHECK_CONTAINS(t.text, "with T281");
    CHECK_CONTAINS(t.text, "with T282");
    CHECK_EQ(lot_count(world, bob, types), 256);
    CHECK(orr_component_has(world, bob, types[280]) && !orr_component_has(world, bob, types[8]));
    kit_end(&k);
}

// T3 is added with T100 and T101, or not at all; a smaller change that comes later may still fit.
ORR_TEST(types_with_required_types_are_added_completely_or_skipped)
{
    kit k = {0};
    static orr_type types[LOT];
    orr_world* world = lot_begin(&k, types);
    orr_type set[254];
    uint32_t count = 0;
    for (uint32_t i = 5; count < 254; i++) {
        if (i != 100 && i != 101) {
            set[count++] = types[i];
        }
    }
    orr_entity bob = lot_create(world, set, 254);
    orri_given given[] = {{types[3], NULL}, {types[270], NULL}};
    orri_instance_change deeds[] = {{types[4], 0, false, NULL, 0},
                                    {types[4], 0, false, NULL, 0},
                                    {types[4], 77, true, NULL, 0}};
    orri_group group = {.kind = ORRI_CHANGE_KIND_CHANGE,
                        .entities = &bob,
                        .count = 1,
                        .given = given,
                        .given_count = 2,
                        .instances = deeds,
                        .instance_count = 3};
    skipped t;
    apply_at_last(&k, &group, 1, &t);
    CHECK_EQ(t.count, 2); // T3, and an instance that does not exist.
    CHECK_CONTAINS(t.text, "with T3 the entity would");
    CHECK(!orr_component_has(world, bob, types[3]) && !orr_component_has(world, bob, types[100]));
    CHECK(orr_component_has(world, bob, types[270]));
    CHECK_EQ(orr_instances_get(world, bob, types[4], NULL, NULL), 2);
    // Full: there is no room for another multiple type, for its instances, or for its enable bits.
    CHECK_OK(orr_component_remove(world, bob, types[4]));
    CHECK_OK(orr_component_add(world, bob, types[271]));
    orri_enable_change flip = {.type = types[4], .added1 = 2};
    group.given_count = 0;
    group.instance_count = 2;
    group.enables = &flip;
    group.enable_count = 1;
    apply_at_last(&k, &group, 1, &t);
    CHECK_EQ(t.count, 3);
    CHECK(!orr_component_has(world, bob, types[4]));
    CHECK_EQ(lot_count(world, bob, types), 256);
    kit_end(&k);
}

// ---- clusters -----------------------------------------------------------------------------------

// The first in order gets the last cluster; later entities with the same target move there too.
ORR_TEST(clusters_beyond_the_limit_leave_later_entities_in_place)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.clusters_max = 3});
    orr_type position = KIT_TYPE(world, Position), health = KIT_TYPE(world, Health),
             token = KIT_TYPE(world, Token), ghost = KIT_TYPE(world, Ghost);
    orr_entity e[6];
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), 6, NULL, 0, e));
    // The empty cluster and Position; one more cluster is possible.
    CHECK(orr_create(world).id != 0);
    Health healths[2] = {{1, 2}, {3, 4}};
    Token tokens[2] = {kit_token(1), kit_token(2)};
    Position positions[2] = {{1, 1, 1}, {2, 2, 2}};
    Ghost ghosts[2] = {{5}, {6}};
    orri_given first = {health, (const uint8_t*)healths};
    orri_given second[] = {{token, (const uint8_t*)tokens},
                           {position, (const uint8_t*)positions},
                           {ghost, (const uint8_t*)ghosts}};
    orr_tag tag = 4;
    orr_entity made[] = {nth(world, 0), nth(world, 1)};
    orri_group groups[] = {{.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = e,
                            .count = 2,
                            .given = &first,
                            .given_count = 1},
                           {.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = e + 2,
                            .count = 2,
                            .given = second,
                            .given_count = 3},
                           {.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = e + 4,
                            .count = 1,
                            .tags_on = &tag,
                            .tag_on_count = 1},
                           {.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = e + 5,
                            .count = 1,
                            .given = &first,
                            .given_count = 1},
                           {.kind = ORRI_CHANGE_KIND_CREATE,
                            .entities = made,
                            .count = 2,
                            .given = second,
                            .given_count = 3,
                            .tags_on = &tag,
                            .tag_on_count = 1}};
    skipped t;
    apply_at_last(&k, groups, 5, &t);
    CHECK_EQ(t.count, 2 + 1 + 2 * 3);
    CHECK_CONTAINS(t.text, "the world has 3 clusters, as many as it may have; raise clusters_max");
    CHECK_EQ(orr_get(world, e[1], Health)->value, 3);
    CHECK_EQ(orr_get(world, e[5], Health)->value, 1);
    CHECK(!orr_has(world, e[2], Token) && !orr_tag_has(world, e[4], tag));
    CHECK_EQ(orr_get(world, e[3], Position)->x, 2); // A type that it has is set,
    CHECK_EQ(orr_get(world, e[3], Ghost)->n, 6);    // and a transient type is added.
    CHECK(orr_alive(world, made[1]) && !orr_has(world, made[1], Position));
    CHECK_EQ(orr_get(world, made[1], Ghost)->n, 6);
    kit_end(&k);
}

// The cluster without components is made even beyond the limit, because a new entity needs one.
ORR_TEST(clusters_beyond_the_limit_create_entities_without_components)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.clusters_max = 1});
    orr_type parent = KIT_TYPE(world, Parent);
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    orr_entity bob = orr_create_in(world, cluster);
    orr_entity made[] = {nth(world, 0), nth(world, 1), nth(world, 2)};
    Parent parents[] = {{bob}, {bob}};
    orri_given given = {parent, (const uint8_t*)parents};
    orri_group groups[] = {{.kind = ORRI_CHANGE_KIND_CREATE,
                            .entities = made,
                            .count = 1,
                            .given = &given,
                            .given_count = 1},
                           {.kind = ORRI_CHANGE_KIND_CREATE,
                            .entities = made + 1,
                            .count = 1,
                            .cluster = cluster,
                            .given = &given,
                            .given_count = 1,
                            .renamed = true,
                            .name = "sue"},
                           {.kind = ORRI_CHANGE_KIND_CREATE, .entities = made + 2, .count = 1}};
    skipped t;
    apply_at_last(&k, groups, 3, &t);
    CHECK_EQ(t.count, 2);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK(orr_alive(world, made[i]) && !orr_has(world, made[i], Parent));
        CHECK(orr_has(world, made[i], Position) == (i == 1));
    }
    CHECK_STR(orr_name_get(world, made[1]), "sue");
    CHECK_EQ(orr_create_in(world, cluster).id != 0, true);
    kit_end(&k);
}

// Instances are added and removed with the cluster; existing ones can be set.
ORR_TEST(clusters_beyond_the_limit_leave_instances_unchanged)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.clusters_max = 2});
    orr_type spot = KIT_TYPE(world, Spot), position = KIT_TYPE(world, Position);
    orr_entity bob = orr_create(world);
    Spot spots[] = {{1}, {2}, {3}};
    orr_component_id id = orr_instance_add(world, bob, spot, &spots[0]);
    CHECK(id != 0); // The empty cluster, and one Spot; two Spots are another cluster.
    orr_tag tag = 4;
    orri_instance_change deeds[] = {{spot, 0, false, &spots[1], 0},
                                    {spot, id, false, &spots[2], 0},
                                    {spot, 999, false, &spots[1], 0}};
    orri_enable_change flips[] = {
        {.type = spot, .id = id}, {.type = spot, .added1 = 1}, {.type = {0}}};
    orri_group group = {.kind = ORRI_CHANGE_KIND_CHANGE,
                        .entities = &bob,
                        .count = 1,
                        .taken = &position, // It has none.
                        .taken_count = 1,
                        .tags_off = &tag,
                        .tag_off_count = 1,
                        .instances = deeds,
                        .instance_count = 3,
                        .enables = flips,
                        .enable_count = 3};
    skipped t;
    apply_at_last(&k, &group, 1, &t);
    // The new instance, the instance that does not exist, and the enable bit of the new instance.
    CHECK_EQ(t.count, 3);
    const void* values;
    CHECK_EQ(orr_instances_get(world, bob, spot, &values, NULL), 1);
    CHECK_EQ(((const Spot*)values)->x, 3);
    CHECK(!orr_instance_enabled(world, bob, spot, id) && !orr_entity_enabled(world, bob));
    // The last instance stays, too: without it the entity would need the empty cluster, which
    // exists.
    deeds[0] = (orri_instance_change){spot, id, true, NULL, 0};
    group.instance_count = 1;
    group.enable_count = 0;
    apply_at_last(&k, &group, 1, &t);
    CHECK_EQ(t.count, 0);
    CHECK(!orr_has(world, bob, Spot));
    kit_end(&k);
}
