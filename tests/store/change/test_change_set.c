// SPDX-License-Identifier: MIT
// Change sets, case by case: each kind of group, alone and together, and the changes that are
// skipped, with their texts.
#include "store/change/change_set.h"
#include "support/pinned_kit.h"
#include "test.h"

#define INDEXED(policy) (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_##policy)

ORR_STRUCT(Parent, (orr_entity, entity, INDEXED(DESTROY)))
ORR_STRUCT(Owner, (orr_entity, one, INDEXED(CLEAR)))
ORR_STRUCT_EX(Engine, (.needs = "Health, Position"), (float, power))
ORR_STRUCT_EX(Turbo, (.needs = "Engine, Spot"), (float, boost))
ORR_STRUCT_EX(Spot, (.multiplicity = ORR_MULTIPLE), (int32_t, x))
ORR_STRUCT_EX(Charm, (.multiplicity = ORR_MULTIPLE, .hooks = &kit_token_hooks), (TokenCell, cell))

enum {
    LEFT_MAX = 16
};

// The skipped changes.
typedef struct notes {
    uint32_t count;
    uint32_t groups[LEFT_MAX];
    orr_entity entities[LEFT_MAX];
    orr_type types[LEFT_MAX];
    char words[LEFT_MAX][128];
} notes;

static void note(void* user, uint32_t group, orr_entity entity, orr_type type, orr_result result,
                 const char* what)
{
    CHECK(result != ORR_OK);
    notes* n = user;
    CHECK(n->count < LEFT_MAX);
    n->groups[n->count] = group;
    n->entities[n->count] = entity;
    n->types[n->count] = type;
    snprintf(n->words[n->count++], sizeof n->words[0], "%s", what);
}

static orr_result apply(orr_world* world, const orri_group* groups, uint32_t count, notes* n)
{
    if (n != NULL) {
        *n = (notes){0};
    }
    orri_change_set_desc desc = {.call = "test",
                                 .groups = groups,
                                 .count = count,
                                 .on_skipped = n != NULL ? note : NULL,
                                 .user = n};
    return orri_change_set_apply(world, &desc);
}

static orr_result apply_one(orr_world* world, orri_group group, notes* n)
{
    return apply(world, &group, 1, n);
}

static orr_entity nth(const orr_world* world, uint32_t position)
{
    orri_index_cursor cursor = {0};
    return orri_index_nth(world, &cursor, position);
}

// ---- creating -----------------------------------------------------------------------------------

ORR_TEST(apply_creations_get_their_predicted_ids_in_order)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type position = KIT_TYPE(world, Position), token = KIT_TYPE(world, Token);
    orr_cluster cluster = KIT_CLUSTER(world, Position, Token);
    enum {
        MANY = 5000
    };
    static orr_entity e[MANY];
    static Position positions[MANY];
    orri_index_cursor cursor = {0};
    for (uint32_t i = 0; i < MANY; i++) {
        e[i] = orri_index_nth(world, &cursor, i + 2); // The first two are not used.
        positions[i] = (Position){(float)i, 0, 0};
    }
    orri_given given = {position, (const uint8_t*)positions};
    Token tokens[2] = {kit_token(5), kit_token(6)};
    orri_given both[2] = {{token, (const uint8_t*)tokens}, {KIT_TYPE(world, Health), NULL}};
    orri_group groups[] = {{.kind = ORRI_CHANGE_KIND_CREATE,
                            .entities = e + 2,
                            .count = MANY - 2,
                            .cluster = cluster,
                            .given = &given,
                            .given_count = 1},
                           {.kind = ORRI_CHANGE_KIND_CREATE,
                            .entities = e,
                            .count = 2,
                            .given = both,
                            .given_count = 2,
                            .tags_on = (orr_tag[]){9, 4},
                            .tag_on_count = 2},
                           {.kind = ORRI_CHANGE_KIND_CREATE}};
    CHECK_OK(apply(world, groups, 3, NULL));
    CHECK_EQ(orr_entity_count(world), MANY);
    for (uint32_t i = 2; i < MANY; i++) {
        CHECK(orr_get(world, e[i], Position)->x == (float)(i - 2));
        CHECK(kit_token_sound(orr_get(world, e[i], Token)));
    }
    CHECK_EQ(kit_rows(world, cluster), MANY - 2);
    CHECK_EQ(orr_get(world, e[1], Token)->cell.payload, 6);
    CHECK_EQ(orr_get(world, e[1], Health)->value, 100);
    CHECK(orr_tag_has(world, e[0], 4) && orr_tag_has(world, e[0], 9));
    CHECK_EQ(orr_create(world).id, orri_id_make(0, 1).id); // Those skipped are next.
    CHECK_EQ(orr_create(world).id, orri_id_make(1, 1).id);
    CHECK_EQ((uint32_t)orr_create(world).id, MANY + 2);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(apply_creation_with_all_kinds_of_parts_has_all)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type turbo = KIT_TYPE(world, Turbo), spot = KIT_TYPE(world, Spot);
    (void)KIT_TYPE(world, Engine), (void)KIT_TYPE(world, Health), (void)KIT_TYPE(world, Position);
    orr_type charm = KIT_TYPE(world, Charm), body = KIT_TYPE(world, Body);
    orr_type ghost = KIT_TYPE(world, Ghost);
    orr_entity room = orr_create_named(world, "room"), bob = nth(world, 1);
    Charm charms[3] = {{kit_token(1).cell}, {kit_token(2).cell}, {kit_token(3).cell}};
    Ghost haunted = KIT_GHOST(8);
    Spot one = {11};
    orri_given given[] = {{turbo, NULL}, {body, NULL}, {ghost, (const uint8_t*)&haunted}};
    orri_instance_change instances[] = {{charm, 0, false, &charms[0], 0},
                                        {spot, 0, false, &one, 0},
                                        {charm, 0, false, &charms[1], 0},
                                        {charm, 0, false, &charms[2], 0}};
    orri_enable_change switches[] = {{{0}, 0, false, 0},
                                     {body, 0, false, 0},
                                     {ghost, 0, false, 0},
                                     {charm, 0, false, 0},
                                     {ghost, 0, true, 0}};
    notes n;
    CHECK_OK(apply_one(world,
                       (orri_group){.kind = ORRI_CHANGE_KIND_CREATE,
                                    .entities = &bob,
                                    .count = 1,
                                    .given = given,
                                    .given_count = 3,
                                    .instances = instances,
                                    .instance_count = 4,
                                    .enables = switches,
                                    .enable_count = 5,
                                    .renamed = true,
                                    .scope = room,
                                    .name = "bob"},
                       &n));
    CHECK_EQ(n.count, 0);
    CHECK_EQ(orr_find(world, room, "bob").id, bob.id);
    CHECK(orr_component_has(world, bob, KIT_TYPE(world, Engine)));
    CHECK_EQ(orr_get(world, bob, Health)->value, 100); // Required by a required type.
    CHECK_EQ(orr_get(world, bob, Body)->mass, 10);
    CHECK_EQ(orr_get(world, bob, Ghost)->cell.payload, 8);
    const void* values;
    const orr_component_id* ids;
    CHECK_EQ(orr_instances_get(world, bob, charm, &values, &ids), 3);
    CHECK_EQ(((const Charm*)values)[2].cell.payload, 3);
    CHECK(ids[0] < ids[1] && ids[1] < ids[2]); // Numbers are given in order.
    // Without an additional preset.
    CHECK_EQ(orr_instances_get(world, bob, spot, &values, NULL), 1);
    CHECK_EQ(((const Spot*)values)->x, 11);
    CHECK(!orr_entity_enabled(world, bob) && !orr_component_enabled(world, bob, body));
    CHECK(orr_component_enabled(world, bob, ghost) && !orr_component_enabled(world, bob, charm));
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

// ---- changing -----------------------------------------------------------------------------------

ORR_TEST(apply_moves_every_row_once)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type token = KIT_TYPE(world, Token), health = KIT_TYPE(world, Health);
    orr_type padded = KIT_TYPE(world, Padded), tiny = KIT_TYPE(world, Tiny);
    orr_type types[] = {token, tiny};
    orr_cluster from = kit_cluster(world, types, 2, NULL, 0);
    orr_entity e[10];
    Token tokens[10];
    for (uint32_t i = 0; i < 10; i++) {
        tokens[i] = kit_token(i);
    }
    // Into the empty cluster first, so that its block has its size.
    CHECK_OK(orr_create_many(world, from, 10, &(orr_column_data){token, tokens}, 1, e));
    Health healths[3] = {{1, 1}, {2, 2}, {3, 3}};
    Token fresh = kit_token(77);
    orri_given first = {health, (const uint8_t*)healths};
    orri_given second[2] = {{padded, NULL}, {token, (const uint8_t*)&fresh}};
    orri_group groups[] = {{.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = e,
                            .count = 3,
                            .given = &first,
                            .given_count = 1,
                            .taken = &tiny,
                            .taken_count = 1,
                            .tags_on = (orr_tag[]){5},
                            .tag_on_count = 1},
                           {.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = e + 4,
                            .count = 1,
                            .given = second,
                            .given_count = 2},
                           {.kind = ORRI_CHANGE_KIND_DESTROY, .entities = e + 5, .count = 1},
                           {.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = e + 3,
                            .count = 1,
                            .given = second,
                            .given_count = 1}};
    kit_tokens.moves = 0;
    CHECK_OK(apply(world, groups, 4, NULL));
    // Five rows left, one was destroyed; the four that stay fill four gaps. (The value that is set
    // is written by a move.)
    CHECK_EQ(kit_tokens.moves, 3 + 1 + 1 + 1 + 4);
    CHECK_EQ(kit_rows(world, from), 4);
    for (uint32_t i = 0; i < 10; i++) {
        CHECK_EQ(orr_alive(world, e[i]), i != 5);
        if (i != 5) {
            CHECK_EQ(orr_get(world, e[i], Token)->cell.payload, i == 4 ? 77 : i);
        }
        if (i < 3) {
            CHECK_EQ(orr_get(world, e[i], Health)->value, i + 1);
            CHECK(!orr_component_has(world, e[i], tiny) && orr_tag_has(world, e[i], 5));
        }
        CHECK(i == 5 || orr_component_has(world, e[i], padded) == (i == 3 || i == 4));
    }
    kit_end(&k);
}

ORR_TEST(apply_swaps_rows_between_clusters)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type position = KIT_TYPE(world, Position), tiny = KIT_TYPE(world, Tiny);
    enum {
        MANY = 3000
    };
    static orr_entity a[MANY], b[MANY];
    static Position values[MANY];
    orr_cluster one = KIT_CLUSTER(world, Position), two = KIT_CLUSTER(world, Position, Tiny);
    for (uint32_t i = 0; i < MANY; i++) {
        values[i].x = (float)i;
    }
    CHECK_OK(orr_create_many(world, one, MANY, &(orr_column_data){position, values}, 1, a));
    CHECK_OK(orr_create_many(world, two, MANY, &(orr_column_data){position, values}, 1, b));
    orri_given given = {tiny, NULL};
    orri_group groups[] = {{.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = a,
                            .count = 2500,
                            .given = &given,
                            .given_count = 1},
                           {.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = b + 100,
                            .count = 600,
                            .taken = &tiny,
                            .taken_count = 1}};
    CHECK_OK(apply(world, groups, 2, NULL));
    CHECK_EQ(kit_rows(world, one), MANY - 2500 + 600);
    CHECK_EQ(kit_rows(world, two), MANY + 2500 - 600);
    for (uint32_t i = 0; i < MANY; i++) {
        CHECK(orr_get(world, a[i], Position)->x == (float)i);
        CHECK(orr_get(world, b[i], Position)->x == (float)i);
        CHECK_EQ(orr_component_has(world, a[i], tiny), i < 2500);
        CHECK_EQ(orr_component_has(world, b[i], tiny), i < 100 || i >= 700);
    }
    kit_end(&k);
}

ORR_TEST(apply_values_of_rows_that_stay_are_set_in_place)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type position = KIT_TYPE(world, Position), padded = KIT_TYPE(world, Padded);
    orr_type body = KIT_TYPE(world, Body), health = KIT_TYPE(world, Health);
    enum {
        MANY = 4200
    };
    static orr_entity e[MANY];
    orr_cluster cluster = KIT_CLUSTER(world, Position, Padded, Health);
    CHECK_OK(orr_create_many(world, cluster, MANY, NULL, 0, e));
    CHECK_OK(orr_component_add(world, e[0], body));
    const void* place = orr_get(world, e[4100], Position);
    orr_tick_advance(world);
    Position values[2] = {{1, 2, 3}, {4, 5, 6}};
    Padded pads[2];
    memset(pads, 0xFF, sizeof pads);
    pads[0].a = 3, pads[0].b = 4, pads[0].c = 5, pads[1].a = 0, pads[1].b = 0, pads[1].c = 0;
    Body bodies[2] = {{7, 7}, {8, 8}};
    orri_given given[] = {{position, (const uint8_t*)values}, {padded, (const uint8_t*)pads}};
    orri_given more[] = {{body, (const uint8_t*)bodies}, {health, NULL}};
    orr_entity two[2] = {e[4100], e[4101]}, others[2] = {e[0], e[1]};
    CHECK_OK(orr_set(world, e[1], Health, {1, 1}));
    orri_group groups[] = {{.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = two,
                            .count = 2,
                            .given = given,
                            .given_count = 2},
                           {.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = others,
                            .count = 2,
                            .given = more,
                            .given_count = 2}};
    CHECK_OK(apply(world, groups, 2, NULL));
    CHECK(orr_get(world, e[4100], Position) == place);
    CHECK(orr_get(world, e[4101], Position)->z == 6);
    CHECK(orr_get(world, e[4100], Padded)->b == 4);
    CHECK_EQ(orr_column_tick(world, cluster, 2, position), 1);
    CHECK_EQ(orr_column_tick(world, cluster, 1, position), 0);
    CHECK_EQ(orr_column_tick(world, cluster, 2, health), 0);
    CHECK_EQ(orr_get(world, e[0], Body)->mass, 7);
    CHECK_EQ(orr_get(world, e[1], Body)->mass, 8);
    CHECK_EQ(orr_get(world, e[1], Health)->value, 100); // The preset is a value too.
    // Zero where all is zero: padding is no value.
    uint64_t hash = orr_world_hash(world);
    Padded zero = {0};
    CHECK_OK(orr_component_set(world, e[4101], padded, &zero));
    CHECK_EQ(orr_world_hash(world), hash);
    kit_end(&k);
}

ORR_TEST(apply_instance_changes_adapt_the_capacity)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type spot = KIT_TYPE(world, Spot), charm = KIT_TYPE(world, Charm);
    orr_entity bob = orr_create(world);
    orr_component_id ids[5];
    for (int32_t i = 0; i < 5; i++) {
        ids[i] = orr_instance_add(world, bob, spot, &(Spot){i});
    }
    CHECK_OK(orr_instance_enable(world, bob, spot, ids[3], false));
    CHECK_EQ(kit_info(world, orr_entity_cluster(world, bob)).capacities[0], 8);
    // Three are removed, one changes: two are left, so the capacity is halved twice.
    Spot changed = {30};
    orri_instance_change first[] = {
        {spot, ids[0], true, NULL, 0}, {spot, ids[3], false, &changed, 0},
        {spot, ids[1], true, NULL, 0}, {spot, ids[4], true, NULL, 0},
        {spot, ids[4], true, NULL, 0}, {spot, 12345, false, &changed, 0}};
    orri_group group = {.kind = ORRI_CHANGE_KIND_CHANGE,
                        .entities = &bob,
                        .count = 1,
                        .instances = first,
                        .instance_count = 6};
    notes n;
    CHECK_OK(apply_one(world, group, &n));
    CHECK_EQ(n.count, 2);
    char expected[64];
    snprintf(expected, sizeof expected, "the entity has no Spot with id %u", ids[4]);
    CHECK_STR(n.words[0], expected);
    CHECK_STR(n.words[1], "the entity has no Spot with id 12345");
    const void* values;
    CHECK_EQ(orr_instances_get(world, bob, spot, &values, NULL), 2);
    CHECK_EQ(((const Spot*)values)[0].x, 2);
    CHECK_EQ(((const Spot*)values)[1].x, 30);
    CHECK(!orr_instance_enabled(world, bob, spot, ids[3]));
    CHECK_EQ(kit_info(world, orr_entity_cluster(world, bob)).capacities[0], 4);
    // All are removed and others added, in place.
    Spot next[3] = {{50}, {51}, {52}};
    Charm charms[2] = {{kit_token(1).cell}, {kit_token(2).cell}};
    orri_instance_change second[] = {{spot, 0, false, &next[0], 0},
                                     {charm, 0, false, &charms[0], 0},
                                     {spot, 0, false, &next[1], 0},
                                     {spot, 0, false, &next[2], 0},
                                     {charm, 0, false, &charms[1], 0}};
    group.taken = &spot, group.taken_count = 1;
    group.instances = second, group.instance_count = 5;
    CHECK_OK(apply_one(world, group, &n));
    CHECK_EQ(n.count, 0);
    CHECK_EQ(orr_instances_get(world, bob, spot, &values, NULL), 3);
    CHECK_EQ(((const Spot*)values)[0].x, 50);
    CHECK_EQ(((const Spot*)values)[2].x, 52);
    CHECK_EQ(orr_instances_get(world, bob, charm, &values, NULL), 2);
    // The last ones take the component with them.
    const orr_component_id* left;
    CHECK_EQ(orr_instances_get(world, bob, charm, NULL, &left), 2);
    orri_instance_change third[] = {{charm, left[1], true, NULL, 0},
                                    {charm, left[0], true, NULL, 0},
                                    {KIT_TYPE(world, Health), 0, false, NULL, 0}};
    group.taken_count = 0, group.instances = third, group.instance_count = 3;
    CHECK_OK(apply_one(world, group, &n));
    CHECK_EQ(n.count, 1);
    CHECK_STR(n.words[0], "Health is unique and has no instances");
    CHECK(!orr_component_has(world, bob, charm));
    CHECK_EQ(kit_tokens.live, 0);
    kit_end(&k);
}

ORR_TEST(apply_skips_and_reports_impossible_changes)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type turbo = KIT_TYPE(world, Turbo), spot = KIT_TYPE(world, Spot);
    orr_type engine = KIT_TYPE(world, Engine), health = KIT_TYPE(world, Health);
    orr_type position = KIT_TYPE(world, Position), body = KIT_TYPE(world, Body);
    orr_entity e[2] = {orr_create(world), orr_create(world)};
    CHECK_OK(orr_component_add(world, e[0], turbo));
    CHECK_OK(orr_component_add(world, e[1], engine));
    // Of the first only Turbo itself can be removed; of the second all.
    orr_type taken[] = {health, engine, position, body};
    orri_group group = {.kind = ORRI_CHANGE_KIND_CHANGE,
                        .entities = e,
                        .count = 2,
                        .taken = taken,
                        .taken_count = 4};
    notes n;
    CHECK_OK(apply_one(world, group, &n));
    CHECK_EQ(n.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_EQ(n.entities[i].id, e[0].id);
    }
    CHECK_STR(n.words[0], "Health is needed by Turbo");
    CHECK_STR(n.words[1], "Engine is needed by Turbo");
    CHECK_EQ(n.types[1].id, engine.id);
    CHECK(orr_component_has(world, e[0], position) && !orr_component_has(world, e[1], position));
    // The last instance of a required type stays, and its values are set.
    const orr_component_id* ids;
    CHECK_EQ(orr_instances_get(world, e[0], spot, NULL, &ids), 1);
    Spot nine = {9};
    orr_component_id id = ids[0];
    orri_instance_change deeds[] = {{spot, id, true, NULL, 0}, {spot, id, false, &nine, 0}};
    orri_enable_change switches[] = {{body, 0, false, 0},
                                     {spot, 77, false, 0},
                                     {health, 0, false, 0},
                                     {position, 3, false, 0},
                                     {spot, id, false, 0}};
    group = (orri_group){.kind = ORRI_CHANGE_KIND_CHANGE,
                         .entities = e,
                         .count = 1,
                         .instances = deeds,
                         .instance_count = 2,
                         .enables = switches,
                         .enable_count = 5};
    CHECK_OK(apply_one(world, group, &n));
    CHECK_EQ(n.count, 4);
    CHECK_STR(n.words[0], "Spot is needed by Turbo");
    CHECK_STR(n.words[1], "the entity has no Body");
    CHECK_STR(n.words[2], "the entity has no Spot with id 77");
    CHECK_STR(n.words[3], "the entity has no Position with id 3");
    CHECK_EQ(((const Spot*)orr_instance_get(world, e[0], spot, id))->x, 9);
    CHECK(!orr_instance_enabled(world, e[0], spot, id));
    CHECK(!orr_component_enabled(world, e[0], health));
    // A given multiple type is added only to entities that lack it.
    orri_given spots = {spot, (const uint8_t*)&(Spot[2]){{1}, {2}}};
    group = (orri_group){.kind = ORRI_CHANGE_KIND_CHANGE,
                         .entities = e,
                         .count = 2,
                         .given = &spots,
                         .given_count = 1};
    CHECK_OK(apply_one(world, group, &n));
    CHECK_EQ(n.count, 1);
    CHECK_STR(n.words[0], "Spot is multiple and the entity has instances; give an instance id");
    CHECK_EQ(orr_get(world, e[1], Spot)->x, 2);
    // Together with the types that require them, all can be removed.
    orr_type all[] = {position, turbo, health, engine};
    group = (orri_group){
        .kind = ORRI_CHANGE_KIND_CHANGE, .entities = e, .count = 1, .taken = all, .taken_count = 4};
    CHECK_OK(apply_one(world, group, &n));
    CHECK_EQ(n.count, 0);
    CHECK_EQ(kit_info(world, orr_entity_cluster(world, e[0])).type_count, 1);
    CHECK_OK(apply_one(world, group, NULL)); // Nothing to remove, nothing to report.
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

// The last instance of a required type stays in place, with its capacity.
ORR_TEST(apply_with_a_skipped_removal_moves_no_row)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type spot = KIT_TYPE(world, Spot);
    (void)KIT_TYPE(world, Engine), (void)KIT_TYPE(world, Health), (void)KIT_TYPE(world, Position);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_component_add(world, bob, KIT_TYPE(world, Turbo)));
    orr_component_id second = orr_instance_add(world, bob, spot, &(Spot){2});
    CHECK_OK(orr_instance_remove(world, bob, spot, second)); // Room for two stays.
    const orr_component_id* ids;
    CHECK_EQ(orr_instances_get(world, bob, spot, NULL, &ids), 1);
    orr_address before, after;
    CHECK_OK(orr_address_get(world, bob, &before));
    orri_instance_change kind = {spot, ids[0], true, NULL, 0};
    orri_group group = {.kind = ORRI_CHANGE_KIND_CHANGE,
                        .entities = &bob,
                        .count = 1,
                        .instances = &kind,
                        .instance_count = 1};
    notes n;
    CHECK_OK(apply_one(world, group, &n));
    CHECK_EQ(n.count, 1);
    CHECK_STR(n.words[0], "Spot is needed by Turbo");
    CHECK_OK(orr_address_get(world, bob, &after));
    CHECK_EQ(after.cluster.id, before.cluster.id);
    kit_end(&k);
}

ORR_TEST(apply_assigns_names_last)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create_named(world, "bob"), eve = orr_create(world);
    orr_entity room = nth(world, 0), dead = orr_create(world);
    CHECK_OK(orr_destroy(world, dead));
    room = nth(world, 0);
    orri_given name = {orr_type_find(world, "orr_name"), NULL};
    orri_group groups[] = {{.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = &eve,
                            .count = 1,
                            .renamed = true,
                            .name = "bob"},
                           {.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = &bob,
                            .count = 1,
                            .renamed = true,
                            .scope = room,
                            .name = "bob",
                            .given = &name,
                            .given_count = 1},
                           {.kind = ORRI_CHANGE_KIND_CREATE,
                            .entities = &room,
                            .count = 1,
                            .renamed = true,
                            .name = "room"}};
    notes n;
    CHECK_OK(apply(world, groups, 3, &n));
    CHECK_EQ(n.count, 2);
    CHECK_STR(n.words[0], "orr_name is set by naming the entity only");
    CHECK_STR(n.words[1], "the name 'bob' is taken in its scope");
    CHECK_EQ(n.groups[1], 0);
    CHECK_EQ(orr_find(world, (orr_entity){0}, "room/bob").id, bob.id);
    groups[1].scope = dead, groups[1].given_count = 0, groups[1].name = "bobby";
    groups[2] = (orri_group){.kind = ORRI_CHANGE_KIND_CHANGE,
                             .entities = &room,
                             .count = 1,
                             .renamed = true,
                             .scope = bob,
                             .name = "below"};
    groups[0].name = "a/b";
    CHECK_OK(apply(world, groups, 3, &n));
    CHECK_EQ(n.count, 3);
    CHECK_STR(n.words[0], "'a/b' is not a valid entity name");
    CHECK_STR(n.words[1], "the scope of the name 'bobby' is dead");
    CHECK_STR(n.words[2], "the scope of the name 'below' is the entity itself or below it");
    groups[0].name = "eve", groups[1].name = NULL;
    CHECK_OK(apply(world, groups, 2, &n));
    CHECK_EQ(orr_find(world, (orr_entity){0}, "eve").id, eve.id);
    CHECK_STR(orr_name_get(world, bob), "");
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

// ---- destroying ---------------------------------------------------------------------------------

ORR_TEST(apply_destroy_cascades)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type parent = KIT_TYPE(world, Parent), owner = KIT_TYPE(world, Owner);
    orr_type body = KIT_TYPE(world, Body), tiny = KIT_TYPE(world, Tiny);
    orr_entity e[6];
    for (uint32_t i = 0; i < 6; i++) {
        e[i] = orr_create(world);
    }
    CHECK_OK(orr_set(world, e[1], Parent, {e[0]})); // Is destroyed with 0,
    CHECK_OK(orr_set(world, e[2], Parent, {e[1]})); // and this one with it, although it changes.
    CHECK_OK(orr_set(world, e[3], Parent, {e[0]})); // Its reference is removed in time.
    CHECK_OK(orr_set(world, e[4], Owner, {e[0]}));  // Its reference is cleared.
    CHECK_OK(orr_component_add(world, e[1], body));
    orr_entity made[2] = {nth(world, 0), nth(world, 1)};
    Parent saved = {e[5]}, dying = {e[0]}, parents[2] = {{e[2]}, {e[4]}};
    Owner owns = {made[1]};
    orri_given to_save = {parent, (const uint8_t*)&saved},
               to_dying = {parent, (const uint8_t*)&dying};
    orri_given created = {parent, (const uint8_t*)parents}, marker = {tiny, NULL};
    orri_given owned = {owner, (const uint8_t*)&owns};
    (void)to_dying;
    orri_group groups[] = {{.kind = ORRI_CHANGE_KIND_DESTROY, .entities = e, .count = 1},
                           {.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = e + 2,
                            .count = 1,
                            .given = &marker,
                            .given_count = 1},
                           {.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = e + 3,
                            .count = 1,
                            .given = &to_save,
                            .given_count = 1},
                           {.kind = ORRI_CHANGE_KIND_CREATE,
                            .entities = made,
                            .count = 2,
                            .given = &created,
                            .given_count = 1},
                           {.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = e + 5,
                            .count = 1,
                            .given = &owned,
                            .given_count = 1}};
    CHECK_OK(apply(world, groups, 5, NULL));
    CHECK(!orr_alive(world, e[0]) && !orr_alive(world, e[1]) && !orr_alive(world, e[2]));
    CHECK(orr_alive(world, e[3]) && orr_alive(world, e[4]) && orr_alive(world, e[5]));
    // Created and destroyed in one set.
    CHECK(!orr_alive(world, made[0]) && orr_alive(world, made[1]));
    CHECK_EQ(orr_get(world, e[4], Owner)->one.id, 0);
    CHECK_EQ(orr_get(world, e[3], Parent)->entity.id, e[5].id);
    CHECK_EQ(orr_referrers_get(world, made[1], owner, NULL, NULL, 0), 1);
    CHECK_EQ(orr_referrers_get(world, e[4], parent, NULL, NULL, 0), 1);
    CHECK_EQ(orr_pinned_count(world, body), 0);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}
