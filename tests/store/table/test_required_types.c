// SPDX-License-Identifier: MIT
// Types that need other types: added together in one move, never without them.
#include "store/table/required_types.h"
#include "support/store_kit.h"
#include "test.h"

ORR_STRUCT_EX(Body, (.needs = "Health, Position"), (float, mass, (.preset = "2")))
ORR_STRUCT_EX(Engine, (.needs = "Body"), (float, power))
ORR_STRUCT_EX(Left, (.needs = "Right"), (int32_t, value))
ORR_STRUCT_EX(Right, (.needs = " Left\r\v,\fTiny"), (int32_t, value))
ORR_STRUCT_EX(Lonely, (.needs = "Helth"), (int32_t, value))
ORR_STRUCT_EX(Narcissus, (.needs = "Narcissus"), (int32_t, value))
ORR_STRUCT_EX(Nail, (.storage = ORR_PINNED), (int32_t, value))
ORR_STRUCT_EX(Hammer, (.needs = "Nail"), (int32_t, value))
ORR_STRUCT_EX(Haunted, (.needs = "Token"), (int32_t, value))

ORR_STRUCT_EX(Switch, (.needs = "orr_enabled"), (int32_t, value))
ORR_STRUCT_EX(Tagged, (.needs = "Tiny, orr_tags"), (int32_t, value))

static void register_all(orr_world* world)
{
    (void)KIT_TYPE(world, Position);
    (void)KIT_TYPE(world, Health);
    (void)KIT_TYPE(world, Tiny);
    (void)KIT_TYPE(world, Body);
    (void)KIT_TYPE(world, Engine);
    (void)KIT_TYPE(world, Left);
    (void)KIT_TYPE(world, Right);
    (void)KIT_TYPE(world, Nail);
    (void)KIT_TYPE(world, Hammer);
}

ORR_TEST(needs_are_added_with_presets_in_one_move)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    register_all(world);
    orr_entity a = orr_create(world), b = orr_create(world);
    CHECK_OK(orr_set(world, a, Position, {1, 2, 3}));
    CHECK_OK(orr_set(world, a, Engine, {9}));
    CHECK_EQ(orr_get(world, a, Engine)->power == 9, 1);
    CHECK_EQ(orr_get(world, a, Body)->mass == 2, 1);
    CHECK_EQ(orr_get(world, a, Health)->value, 100);
    CHECK_EQ(orr_get(world, a, Position)->y == 2, 1); // Existing values are kept.
    orr_world_stats stats;
    orr_world_stats_get(world, &stats);
    CHECK_EQ(stats.clusters, 3); // Nothing, {Position}, all four: none in between.
    CHECK_OK(orr_add(world, b, Body));
    CHECK(orr_has(world, b, Position) && orr_has(world, b, Health) && !orr_has(world, b, Engine));
    CHECK_OK(orr_world_validate(world));
    kit_end(&k);
}

ORR_TEST(needs_of_a_batch_are_added)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    register_all(world);
    orr_entity many[6];
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), 3, NULL, 0, many));
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Tiny), 3, NULL, 0, many + 3));
    Body bodies[6] = {{1}, {2}, {3}, {4}, {5}, {6}};
    CHECK_OK(orr_component_add_many(world, many, 6, KIT_TYPE(world, Body), bodies));
    for (uint32_t i = 0; i < 6; i++) {
        CHECK_EQ(orr_get(world, many[i], Body)->mass == (float)(i + 1), 1);
        CHECK(orr_has(world, many[i], Position));
        CHECK_EQ(orr_get(world, many[i], Health)->value, 100);
        CHECK_EQ(orr_has(world, many[i], Tiny), i >= 3);
    }
    CHECK_RESULT(orr_component_remove_many(world, many, 6, KIT_TYPE(world, Health)), ORR_ERR_STATE);
    CHECK_CONTAINS(k.errors.text, "Health is needed by Body; remove Body first");
    CHECK_OK(orr_component_remove_many(world, many, 6, KIT_TYPE(world, Body)));
    CHECK_OK(orr_component_remove_many(world, many, 6, KIT_TYPE(world, Health)));
    kit_end(&k);
}

ORR_TEST(needed_type_is_not_removed_while_another_needs_it)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    register_all(world);
    orr_entity a = orr_create(world), b = orr_create(world);
    CHECK_OK(orr_add(world, b, Position));
    CHECK_OK(orr_remove(world, b, Position)); // The edge exists before another type needs it.
    CHECK_OK(orr_add(world, b, Position));
    CHECK_OK(orr_add(world, a, Engine));
    uint64_t before = orr_world_hash(world);
    CHECK_RESULT(orr_remove(world, a, Position), ORR_ERR_STATE);
    CHECK_CONTAINS(k.errors.text, "orr_remove: Position of entity 0v1 is needed by Body; "
                                  "remove Body first");
    CHECK_RESULT(orr_remove(world, a, Body), ORR_ERR_STATE);
    CHECK_CONTAINS(k.errors.text, "needed by Engine");
    CHECK_EQ(orr_world_hash(world), before);
    CHECK_OK(orr_remove(world, b, Position)); // No type needs it there.
    CHECK_OK(orr_remove(world, a, Engine));
    CHECK_OK(orr_remove(world, a, Body));
    CHECK_OK(orr_remove(world, a, Position));
    CHECK_OK(orr_remove(world, a, Health));
    kit_end(&k);
}

ORR_TEST(needs_in_a_cycle_are_added_and_removed_together)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    register_all(world);
    orr_entity a = orr_create(world), b = orr_create(world), c = orr_create(world);
    // Two edges lead from nothing to the same set, by turns.
    CHECK_OK(orr_set(world, a, Left, {7}));
    CHECK_OK(orr_set(world, b, Right, {8}));
    CHECK_OK(orr_set(world, c, Left, {9}));
    CHECK_EQ(orr_get(world, a, Left)->value, 7);
    CHECK_EQ(orr_get(world, a, Right)->value, 0);
    CHECK_EQ(orr_get(world, b, Right)->value, 8);
    CHECK_EQ(orr_get(world, b, Left)->value, 0);
    CHECK_EQ(orr_get(world, c, Left)->value, 9);
    CHECK(orr_has(world, b, Tiny));
    orr_cluster cluster = orr_entity_cluster(world, a);
    CHECK_EQ(orr_entity_cluster(world, b).id, cluster.id);
    CHECK_RESULT(orr_remove(world, a, Left), ORR_ERR_STATE);
    CHECK_CONTAINS(k.errors.text, "needed by Right, and needs it too");
    CHECK_OK(orr_entity_move(world, a, KIT_CLUSTER(world, Tiny)));
    CHECK_OK(orr_cluster_delete(world, cluster)); // With both edges.
    CHECK_OK(orr_set(world, orr_create(world), Right, {8}));
    CHECK_OK(orr_add(world, orr_create(world), Left));
    kit_end(&k);
}

ORR_TEST(needs_that_cannot_be_met_are_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    register_all(world);
    orr_entity a = orr_create(world);
    uint64_t before = orr_world_hash(world);
    CHECK_RESULT(orr_add(world, a, Lonely), ORR_ERR_TYPE);
    CHECK_CONTAINS(k.errors.text, "Lonely needs 'Helth', which is not registered; did you mean "
                                  "'Health'?");
    CHECK_RESULT(orr_add(world, a, Hammer), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "Hammer needs Nail, which is pinned");
    orr_type body = KIT_TYPE(world, Body);
    orr_cluster cluster;
    CHECK_RESULT(
        orr_cluster_get(world, &(orr_cluster_desc){.types = &body, .type_count = 1}, &cluster),
        ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "orr_cluster_get: Body needs Position, which is not among");
    uint32_t errors = k.errors.count;
    CHECK_EQ(orr_cluster_find(world, &(orr_cluster_desc){.types = &body, .type_count = 1}).id, 0);
    CHECK_EQ(k.errors.count, errors);
    CHECK_EQ(orr_world_hash(world), before);
    CHECK_OK(orr_add(world, a, Narcissus));
    CHECK_OK(orr_remove(world, a, Narcissus));
    (void)KIT_CLUSTER(world, Body, Health, Position);
    kit_end(&k);
}

// Names are resolved at first use, so that types may be registered in any order.
ORR_TEST(needs_are_resolved_at_first_use)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity a = orr_create(world);
    orr_type engine = KIT_TYPE(world, Engine);
    CHECK_RESULT(orr_component_add(world, a, engine), ORR_ERR_TYPE);
    CHECK_CONTAINS(k.errors.text, "Engine needs 'Body'");
    (void)KIT_TYPE(world, Body);
    CHECK_RESULT(orr_component_add(world, a, engine), ORR_ERR_TYPE);
    CHECK_CONTAINS(k.errors.text, "Body needs 'Health'");
    (void)KIT_TYPE(world, Position);
    (void)KIT_TYPE(world, Health);
    uint32_t count;
    CHECK(orri_required_types_of(world, engine, &count) == NULL && count == 0);
    CHECK_OK(orr_component_add(world, a, engine));
    const orr_type* needs = orri_required_types_of(world, engine, &count);
    CHECK_EQ(count, 3);
    CHECK(needs[0].id < needs[1].id && needs[1].id < needs[2].id);
    // Needs concern clusters only.
    orr_type rivet;
    CHECK_RESULT(orr_type_register(
                     world,
                     &(orr_type_desc){.name = "Rivet",
                                      .settings = {.storage = ORR_PINNED, .needs = "Position"}},
                     &rivet),
                 ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "Use a bundle");
    kit_end(&k);
}

ORR_TEST(needs_past_the_limit_of_a_cluster_are_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    static char names[ORR_CLUSTER_TYPES_MAX + 1][8], needs[ORR_CLUSTER_TYPES_MAX + 1][8];
    orr_type first = {0};
    for (uint32_t i = 0; i <= ORR_CLUSTER_TYPES_MAX; i++) { // T0 needs T1 needs T2 …
        snprintf(names[i], sizeof names[i], "T%u", i);
        snprintf(needs[i], sizeof needs[i], "T%u", i + 1);
        orr_type type;
        bool last = i == ORR_CLUSTER_TYPES_MAX;
        CHECK_OK(orr_type_register(
            world, &(orr_type_desc){.name = names[i], .settings.needs = last ? NULL : needs[i]},
            &type));
        first = i == 0 ? type : first;
    }
    orr_entity a = orr_create(world);
    CHECK_RESULT(orr_component_add(world, a, first), ORR_ERR_CAPACITY);
    CHECK_CONTAINS(k.errors.text, "T0 and the types it needs are more than 256 types");
    CHECK_OK(orr_component_add(world, a, orr_type_find(world, "T1")));
    CHECK_EQ(kit_info(world, orr_entity_cluster(world, a)).type_count, 256);
    CHECK_RESULT(orr_add(world, a, Tiny), ORR_ERR_CAPACITY);
    kit_end(&k);
}

ORR_TEST(needs_refused_by_a_hook_or_memory_change_nothing)
{
    for (uint64_t n = 1;; n++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        register_all(world);
        (void)KIT_TYPE(world, Token);
        orr_type haunted = KIT_TYPE(world, Haunted);
        orr_entity a = orr_create(world), b = orr_create(world);
        CHECK_OK(orr_add(world, b, Tiny));
        uint64_t before = orr_world_hash(world);
        kit_tokens.refuse_after = 1;
        CHECK_RESULT(orr_component_add(world, a, haunted), ORR_ERR_HOOK);
        kit_tokens.refuse_after = 0;
        CHECK_EQ(orr_world_hash(world), before);
        failing_alloc_arm(&k.memory, n, false);
        orr_result result = orr_add(world, a, Engine);
        result = result == ORR_OK ? orr_add(world, b, Left) : result;
        uint64_t refused = k.memory.refused;
        failing_alloc_arm(&k.memory, 0, false);
        // Or the second try succeeds, after parked chunks were freed.
        CHECK(result == ORR_OK || (refused > 0 && result == ORR_ERR_MEMORY));
        CHECK(orr_has(world, a, Engine) || orr_world_hash(world) == before);
        CHECK_OK(orr_world_validate(world));
        CHECK_OK(orr_add(world, a, Engine));
        CHECK_OK(orr_add(world, b, Left));
        CHECK(orr_has(world, b, Right));
        kit_end(&k);
        if (refused == 0) {
            break;
        }
    }
}

// Random adds and removes, compared with sets of bits.
ORR_TEST(needs_random_changes_agree_with_sets)
{
    enum {
        COUNT = 10,
        ENTITIES = 12
    };
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type types[COUNT];
    uint32_t needs[COUNT], sets[ENTITIES] = {0};
    char names[COUNT][4], texts[COUNT][32];
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t a = (uint32_t)(test_random() % COUNT), b = (uint32_t)(test_random() % COUNT);
        bool any = test_random() % 3 > 0;
        snprintf(names[i], sizeof names[i], "N%u", i);
        snprintf(texts[i], sizeof texts[i], a != b ? "N%u, N%u" : "N%u", a, b); // No name twice.
        needs[i] = 1u << i | (any ? 1u << a | 1u << b : 0);
        CHECK_OK(orr_type_register(
            world, &(orr_type_desc){.name = names[i], .settings.needs = any ? texts[i] : NULL},
            &types[i]));
    }
    for (uint32_t i = 0; i < COUNT * COUNT * COUNT; i++) { // Transitive: COUNT passes are enough.
        uint32_t from = i / COUNT % COUNT, to = i % COUNT;
        needs[from] |= (needs[from] >> to & 1) != 0 ? needs[to] : 0;
    }
    orr_entity entities[ENTITIES];
    CHECK_OK(
        orr_create_many(world, kit_cluster(world, NULL, 0, NULL, 0), ENTITIES, NULL, 0, entities));
    for (uint32_t step = 0; step < 2000; step++) {
        uint32_t e = (uint32_t)(test_random() % ENTITIES), t = (uint32_t)(test_random() % COUNT);
        if (test_random() % 2 == 0) {
            CHECK_OK(orr_component_add(world, entities[e], types[t]));
            sets[e] |= needs[t];
        } else {
            bool blocked = false;
            for (uint32_t i = 0; i < COUNT; i++) {
                blocked = blocked || (i != t && (sets[e] >> i & 1) != 0 &&
                                      (needs[i] >> t & 1) != 0 && (sets[e] >> t & 1) != 0);
            }
            CHECK_RESULT(orr_component_remove(world, entities[e], types[t]),
                         blocked ? ORR_ERR_STATE : ORR_OK);
            sets[e] &= blocked ? UINT32_MAX : ~(1u << t);
        }
        for (uint32_t i = 0; i < COUNT; i++) {
            CHECK_EQ(orr_component_has(world, entities[e], types[i]), (sets[e] >> i & 1) != 0);
        }
        if (step % 50 == 0) {
            CHECK_OK(orr_world_validate(world));
        }
    }
    kit_end(&k);
}

ORR_TEST(needs_of_types_that_no_entity_stores_are_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    (void)KIT_TYPE(world, Tiny);
    orr_entity a = orr_create(world);
    CHECK_RESULT(orr_add(world, a, Switch), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "orr_add: Switch needs orr_enabled, which every entity has");
    CHECK_RESULT(orr_set(world, a, Tagged, {1}), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "orr_set: Tagged needs orr_tags, which every entity has");
    orr_type types[] = {KIT_TYPE(world, Switch), orr_type_find(world, "orr_enabled")};
    orr_cluster cluster;
    CHECK(orr_cluster_get(world, &(orr_cluster_desc){.types = types, .type_count = 2}, &cluster) !=
          ORR_OK);
    CHECK(!orr_has(world, a, Switch) && !orr_has(world, a, Tagged));
    k.errors.count = 0;
    kit_end(&k);
}
