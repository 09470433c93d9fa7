// SPDX-License-Identifier: MIT
// Adding, removing and destroying over a query in one call.
#include "query_kit.h"
#include "test.h"

#define BULK_MOST 20000u

static orr_entity bulk_before[BULK_MOST];
static bool bulk_matched[BULK_MOST], bulk_had[BULK_MOST];

static uint32_t bulk_remember(const query_kit* k, const orr_query* query, orr_type type)
{
    uint32_t count = query_kit_all(k, bulk_before, BULK_MOST);
    for (uint32_t i = 0; i < count; i++) {
        bulk_matched[i] = orr_query_has(query, bulk_before[i]);
        bulk_had[i] = orr_component_has(k->world, bulk_before[i], type);
    }
    return count;
}

static void bulk_fill_world(query_kit* k, uint64_t seed, uint64_t round)
{
    for (uint32_t step = 0; step < 150; step++) {
        query_kit_change(k, orr_random(seed, round, step, 21));
    }
}

ORR_TEST(bulk_add_adds_the_type_to_matching_entities_that_lack_it)
{
    uint64_t seed = test_seed();
    for (uint32_t round = 0; round < 40; round++) {
        query_kit k;
        query_kit_begin(&k);
        bulk_fill_world(&k, seed, round);
        orr_term terms[QUERY_KIT_TYPES + 1];
        uint32_t term_count = query_kit_terms(&k, orr_random(seed, round, 0, 22), terms);
        orr_query* query =
            orr_query_create(k.world, &(orr_query_desc){.terms = terms, .term_count = term_count});
        uint32_t count = bulk_remember(&k, query, k.types[2]);
        Health value = {7, 9};
        CHECK_OK(orr_query_add(query, k.types[2], round % 2 == 0 ? &value : NULL));
        CHECK_OK(orr_world_validate(k.world));
        for (uint32_t i = 0; i < count; i++) {
            const Health* health = orr_get(k.world, bulk_before[i], Health);
            CHECK_EQ(health != NULL, bulk_had[i] || bulk_matched[i]);
            if (bulk_matched[i] && !bulk_had[i]) {
                CHECK_EQ(health->value, round % 2 == 0 ? 7 : 100);
                CHECK_EQ(health->armour, round % 2 == 0 ? 9 : 0);
            }
        }
        query_kit_end(&k);
    }
}

ORR_TEST(bulk_remove_and_destroy_change_matching_entities_only)
{
    uint64_t seed = test_seed();
    for (uint32_t round = 0; round < 40; round++) {
        query_kit k;
        query_kit_begin(&k);
        bulk_fill_world(&k, seed, round);
        orr_term terms[QUERY_KIT_TYPES + 1];
        uint32_t term_count = query_kit_terms(&k, orr_random(seed, round, 0, 23), terms);
        orr_query* query =
            orr_query_create(k.world, &(orr_query_desc){.terms = terms, .term_count = term_count});
        uint32_t count = bulk_remember(&k, query, k.types[0]);
        CHECK_OK(orr_query_remove(query, k.types[0]));
        CHECK_OK(orr_world_validate(k.world));
        for (uint32_t i = 0; i < count; i++) {
            CHECK_EQ(orr_component_has(k.world, bulk_before[i], k.types[0]),
                     bulk_had[i] && !bulk_matched[i]);
        }
        count = bulk_remember(&k, query, k.types[0]);
        CHECK_OK(orr_query_destroy_entities(query));
        CHECK_OK(orr_world_validate(k.world));
        for (uint32_t i = 0; i < count; i++) {
            CHECK_EQ(orr_alive(k.world, bulk_before[i]), !bulk_matched[i]);
        }
        CHECK_EQ(orr_query_count(query), 0);
        query_kit_end(&k);
    }
}

ORR_TEST(bulk_add_to_whole_clusters_relinks_their_chunks)
{
    query_kit k;
    query_kit_begin(&k);
    orr_cluster cluster = KIT_CLUSTER(k.world, Position);
    static orr_entity made[10000];
    CHECK_OK(orr_create_many(k.world, cluster, 10000, NULL, 0, made));
    const Position* before = orr_get(k.world, made[5000], Position);
    orr_query* query =
        orr_query_create(k.world, &(orr_query_desc){ORR_TERMS(ORR_R(k.world, Position))});
    CHECK_OK(orr_query_add(query, k.types[1], &(Velocity){3, 4}));
    CHECK_EQ(orr_get(k.world, made[5000], Position), before); // The block itself was relinked.
    for (uint32_t i = 0; i < 10000; i++) {
        CHECK_EQ(orr_get(k.world, made[i], Velocity)->x, 3);
    }
    CHECK_EQ(orr_query_count(query), 10000);
    query_kit_end(&k);
}

#undef BULK_MOST

ORR_STRUCT(BulkBase, (float, value))
ORR_STRUCT_EX(BulkTop, (.needs = "BulkBase"), (float, value))

// One cluster lacks a type that the added type requires, the other has it: both move to the same
// cluster.
ORR_TEST(bulk_add_from_two_clusters_to_one_keeps_all_rows)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type health = KIT_TYPE(world, Health), base = KIT_TYPE(world, BulkBase);
    orr_type top = KIT_TYPE(world, BulkTop);
    orr_entity bob = orr_create(world), eve = orr_create(world);
    CHECK_OK(orr_component_set(world, bob, health, &(Health){1, 0}));
    CHECK_OK(orr_component_set(world, eve, health, &(Health){2, 0}));
    CHECK_OK(orr_component_set(world, eve, base, &(BulkBase){5}));
    orr_query* query = orr_query_text(world, "Health");
    CHECK_OK(orr_query_add(query, top, NULL));
    CHECK_OK(orr_world_validate(world));
    CHECK(orr_component_has(world, bob, top) && orr_component_has(world, eve, top));
    CHECK_EQ(((const Health*)orr_component_get(world, bob, health))->value, 1);
    CHECK_EQ(((const Health*)orr_component_get(world, eve, health))->value, 2);
    CHECK(((const BulkBase*)orr_component_get(world, eve, base))->value == 5);
    orr_query_destroy(query);
    kit_end(&k);
}
