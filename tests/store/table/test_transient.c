// SPDX-License-Identifier: MIT
// Transient types and transient entities never change the world's hash, ids, counts and clusters.
#include "store/table/transient.h"
#include "support/store_kit.h"
#include "test.h"
#include <orrery/orrery.h>

ORR_STRUCT_EX(Sprite, (.transient = true), (uint32_t, image, (.preset = "3")), (float, x))
ORR_STRUCT_EX(Trail, (.transient = true), (orr_entity, whom), (uint32_t, age))
ORR_STRUCT_EX(Note, (.transient = true), (orr_string, text))
ORR_STRUCT_EX(Held, (.transient = true, .hooks = &kit_token_hooks), (TokenCell, cell))
ORR_STRUCT_EX(Body, (.storage = ORR_PINNED), (float, mass))

// ---- types --------------------------------------------------------------------------------------

ORR_TEST(transient_type_is_pinned_and_refuses_other_settings)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    const orr_type_info* info = orr_type_info_get(world, KIT_TYPE(world, Sprite));
    CHECK(info->transient && info->storage == ORR_PINNED);
    CHECK(!orr_type_info_get(world, KIT_TYPE(world, Body))->transient);
    orr_type type;
    orr_type_desc desc = {.name = "Bad",
                          .settings = {.transient = true, .multiplicity = ORR_MULTIPLE}};
    CHECK_RESULT(orr_type_register(world, &desc, &type), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "transient and multiple");
    desc.settings = (orr_type_settings){.transient = true, .needs = "Sprite"};
    CHECK_RESULT(orr_type_register(world, &desc, &type), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "transient and needs other types");
    orr_field_desc field = {
        .name = "to", .type = ORR_TYPE(orr_entity), .attributes = {.flags = ORR_FIELD_INDEXED}};
    desc = (orr_type_desc){
        .name = "Bad", .fields = &field, .field_count = 1, .settings = {.transient = true}};
    CHECK_RESULT(orr_type_register(world, &desc, &type), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "not transient");
    kit_end(&k);
}

ORR_TEST(transient_components_do_not_change_the_hash)
{
    kit k = {0};
    kit_tokens_reset();
    orr_world* world = kit_begin(&k, NULL);
    ORR_REGISTER(world, Position, Body, Sprite, Trail, Note, Held);
    orr_entity e[40];
    for (uint32_t i = 0; i < 40; i++) {
        e[i] = orr_create(world);
        CHECK_OK(orr_set(world, e[i], Position, {(float)i, 0, 0}));
        CHECK_OK(orr_set(world, e[i], Body, {1}));
    }
    uint64_t hash = orr_world_hash(world);
    for (uint32_t i = 0; i < 40; i++) {
        CHECK_OK(orr_set(world, e[i], Sprite, {i, 0}));
        CHECK_OK(orr_set(world, e[i], Trail, {e[39 - i], i}));
        CHECK_OK(orr_set(world, e[i], Note, {orr_string_make(world, "a note")}));
        CHECK_OK(orr_add(world, e[i], Held));
        CHECK_OK(orr_enable(world, e[i], Sprite, i % 2 == 0));
    }
    CHECK(orr_world_hash(world) == hash);
    for (uint32_t i = 0; i < 40; i += 3) {
        CHECK_OK(orr_remove(world, e[i], Sprite));
        orr_edit(world, e[i], Trail)->age++;
    }
    CHECK(orr_world_hash(world) == hash);
    // Copies have no transient components.
    orr_entity copy = orr_copy(world, e[1]);
    CHECK(orr_has(world, copy, Body) && !orr_has(world, copy, Sprite) &&
          !orr_has(world, copy, Held));
    CHECK_OK(orr_destroy(world, copy));
    CHECK_OK(orr_destroy_many(world, e, 20));
    CHECK_EQ(orr_pinned_count(world, KIT_TYPE(world, Held)), 20);
    CHECK_EQ(kit_tokens.live, 20);
    kit_end(&k);
}

// ---- entities -----------------------------------------------------------------------------------

// Hash and counts of the world, which must not depend on transient types and entities.
static uint64_t simulation_hash(orr_world* world)
{
    orr_world_stats stats;
    orr_world_stats_get(world, &stats);
    uint64_t words[] = {orr_world_hash(world), orr_entity_count(world), stats.entities,
                        stats.clusters};
    return orr_hash(words, sizeof words, 0);
}

ORR_TEST(transient_entity_does_not_change_the_simulation)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    ORR_REGISTER(world, Position, Sprite, Trail);
    orr_entity bob = orr_create(world);
    uint64_t before = simulation_hash(world);
    orr_entity a = orr_create_transient(world), b = orr_create_transient(world);
    CHECK(a.id != 0 && b.id != a.id && orr_alive(world, a) && orr_transient(world, a) &&
          !orr_transient(world, bob));
    CHECK_EQ(orr_transient_count(world), 2);
    CHECK_OK(orr_set(world, a, Sprite, {7, 1}));
    CHECK_OK(orr_add(world, a, Sprite)); // Present already.
    CHECK_OK(orr_add(world, b, Sprite));
    CHECK_OK(orr_set(world, b, Trail, {a, 0}));
    CHECK_OK(orr_set(world, bob, Trail, {b, 0}));
    CHECK(orr_get(world, a, Sprite)->image == 7 && orr_get(world, b, Sprite)->image == 3);
    orr_edit(world, b, Sprite)->image = 8;
    CHECK(orr_has(world, b, Sprite) && !orr_has(world, a, Trail) &&
          orr_get(world, b, Sprite)->image == 8);
    CHECK_OK(orr_enable(world, b, Sprite, false));
    CHECK(!orr_enabled(world, b, Sprite) && orr_enabled(world, a, Sprite));
    orr_reader reader = orr_reader_make(world, KIT_TYPE(world, Sprite));
    CHECK(orr_reader_get(&reader, b) == NULL); // Readers find no transient entities.
    char text[128];
    orr_entity_print(world, a, text, sizeof text);
    CHECK_CONTAINS(text, ": Sprite {image: 7, x: 1}");
    CHECK_OK(orr_remove(world, b, Sprite));
    CHECK(!orr_has(world, b, Sprite));
    CHECK(simulation_hash(world) == before);
    CHECK_OK(orr_world_validate(world));
    CHECK_OK(orr_destroy(world, a));
    CHECK(!orr_alive(world, a) && !orr_transient(world, a) && orr_alive(world, b));
    CHECK_EQ(orr_pinned_count(world, KIT_TYPE(world, Sprite)), 0);
    CHECK_RESULT(orr_set(world, a, Sprite, {1, 1}), ORR_ERR_ENTITY);
    CHECK_CONTAINS(k.errors.text, "was transient, and is dead");
    orr_entity c = orr_create_transient(world); // The same index, another generation.
    CHECK(c.id != a.id && (uint32_t)c.id == (uint32_t)a.id && !orr_alive(world, a));
    CHECK(simulation_hash(world) == before);
    kit_end(&k);
}

ORR_TEST(transient_entity_is_refused_by_calls_that_change_state)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    ORR_REGISTER(world, Position, Link, Body, Sprite, Trail);
    orr_entity bob = orr_create(world), a = orr_create_transient(world);
    uint64_t before = simulation_hash(world);
    CHECK_RESULT(orr_set(world, a, Position, {0, 0, 0}), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "is transient, and Position is not");
    CHECK_RESULT(orr_add(world, a, Body), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_set(world, bob, Link, {a, 1}), ORR_ERR_ENTITY);
    CHECK_CONTAINS(k.errors.text, "Link.target of 0v1 refers to entity");
    CHECK_RESULT(orr_name_set(world, a, (orr_entity){0}, "ann"), ORR_ERR_ENTITY);
    CHECK_CONTAINS(k.errors.text, "this call is not for transient entities");
    CHECK_RESULT(orr_tag_add(world, a, 7), ORR_ERR_ENTITY);
    CHECK_RESULT(orr_entity_enable(world, a, false), ORR_ERR_ENTITY);
    CHECK_RESULT(orr_destroy_many(world, &a, 1), ORR_ERR_ENTITY);
    CHECK(orr_copy(world, a).id == 0);
    orr_address address;
    CHECK_RESULT(orr_address_get(world, a, &address), ORR_ERR_ENTITY);
    CHECK(orr_entity_cluster(world, a).id == 0);
    CHECK_RESULT(orr_set(world, a, Trail, {{a.id + 1}, 0}), ORR_ERR_ENTITY);
    orr_type sprite = KIT_TYPE(world, Sprite);
    CHECK_RESULT(orr_component_add_many(world, &a, 1, sprite, NULL), ORR_ERR_ENTITY);
    CHECK(simulation_hash(world) == before);
    kit_end(&k);
}

ORR_TEST(transient_entities_are_matched_by_queries_that_require_a_transient_type)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    ORR_REGISTER(world, Position, Body, Sprite, Trail);
    orr_query* early = orr_query_text(world, "Sprite");
    orr_query* all = orr_query_create(world, &(orr_query_desc){0});
    orr_query* some = orr_query_text(world, "!Sprite");
    orr_query* any = orr_query_text(world, "Position|Sprite");
    orr_query* both = orr_query_text(world, "Sprite, Position");
    orr_entity t[3], e[3];
    for (uint32_t i = 0; i < 3; i++) {
        t[i] = orr_create_transient(world);
        e[i] = orr_create(world);
        CHECK_OK(orr_set(world, t[i], Sprite, {10 + i, 0}));
        CHECK_OK(orr_set(world, e[i], Sprite, {i, 0}));
    }
    CHECK_OK(orr_set(world, e[1], Position, {0, 0, 0}));
    CHECK_OK(orr_set(world, t[1], Trail, {e[1], 0}));
    orr_query* late = orr_query_text(world, "write Sprite");
    orr_query* queries[] = {early, late};
    for (uint32_t q = 0; q < 2; q++) {
        CHECK_EQ(orr_query_count(queries[q]), 6);
        orr_entity found[7];
        CHECK_EQ(orr_query_entities(queries[q], 0, found, 7), 6);
        for (uint32_t i = 0; i < 3; i++) {
            CHECK(orr_transient(world, found[3 + i]) && !orr_transient(world, found[i]));
            CHECK(found[3 + i].id == t[i].id);
        }
        CHECK(orr_query_has(queries[q], t[2]));
    }
    ORR_EACH (it, late) {
        for (uint32_t i = 0; i < it.count; i++) {
            orr_write_pinned(&it, Sprite, i)->x = 5;
        }
    }
    CHECK(orr_get(world, t[2], Sprite)->x == 5);
    CHECK_EQ(orr_query_count(all), 3);
    CHECK_EQ(orr_query_count(some), 0);
    CHECK_EQ(orr_query_count(any), 6);
    CHECK_EQ(orr_query_count(both), 1);
    CHECK(!orr_query_has(all, t[0]));
    CHECK_OK(orr_destroy(world, t[0]));
    CHECK_EQ(orr_query_count(early), 5);
    orr_query_destroy(some);
    // orr_query_add() skips transient entities; orr_query_destroy_entities() destroys them.
    CHECK_OK(orr_query_add(early, KIT_TYPE(world, Body), NULL));
    CHECK_EQ(orr_pinned_count(world, KIT_TYPE(world, Body)), 3);
    CHECK_OK(orr_query_destroy_entities(early));
    CHECK_EQ(orr_query_count(early), 0);
    CHECK_EQ(orr_transient_count(world), 0);
    CHECK_EQ(orr_entity_count(world), 0);
    kit_end(&k);
}

ORR_TEST(transient_entities_by_the_thousand_do_not_change_the_simulation)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.id_salt = 5});
    ORR_REGISTER(world, Sprite);
    enum {
        MANY = 9000
    };
    static orr_entity t[MANY];
    orr_entity first = orr_create(world);
    uint64_t before = simulation_hash(world);
    uint64_t seed = test_seed(), live = 0;
    for (uint32_t step = 0; step < 40000; step++) {
        uint64_t dice = orr_random(seed, step, 0, 0);
        orr_entity* one = &t[dice % MANY];
        if (!orr_alive(world, *one)) {
            *one = orr_create_transient(world);
            CHECK_OK(orr_set(world, *one, Sprite, {(uint32_t)one->id, 0}));
            live++;
        } else if (dice >> 40 & 1) {
            CHECK(orr_get(world, *one, Sprite)->image == (uint32_t)one->id);
            CHECK_OK(orr_destroy(world, *one));
            live--;
        }
    }
    CHECK_EQ(orr_transient_count(world), live);
    CHECK_EQ(orr_pinned_count(world, KIT_TYPE(world, Sprite)), live);
    CHECK_OK(orr_world_validate(world));
    CHECK(simulation_hash(world) == before && orr_alive(world, first));
    for (uint32_t i = 0; i < 10000; i++) {
        CHECK(orr_create(world).id != 0);
    }
    CHECK_OK(orr_world_validate(world));
    kit_end(&k);
}

ORR_TEST(transient_ids_reserved_are_used_in_order)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity a = orr_create_transient(world), b = orr_create_transient(world);
    CHECK_OK(orr_destroy(world, a));
    orr_entity ahead[6];
    for (uint32_t i = 0; i < 6; i++) {
        ahead[i] = orri_transient_nth(world, i);
    }
    CHECK((uint32_t)ahead[0].id == (uint32_t)a.id && ahead[0].id != a.id);
    CHECK_OK(orri_transient_create(world, "test", ahead[3]));
    CHECK_OK(orri_transient_create(world, "test", ahead[1]));
    CHECK(orr_alive(world, ahead[3]) && orr_alive(world, ahead[1]) && !orr_alive(world, ahead[2]));
    CHECK_OK(orr_world_validate(world));
    CHECK(orri_transient_nth(world, 0).id == ahead[2].id &&
          orri_transient_nth(world, 1).id == ahead[0].id);
    CHECK(orr_alive(world, b));
    kit_end(&k);
}

// ---- memory -------------------------------------------------------------------------------------

static bool memory_try(orr_world* world, orr_query* query)
{
    orr_entity t = orr_create_transient(world);
    if (t.id == 0) {
        return false;
    }
    bool done = orr_set(world, t, Sprite, {1, 1}) == ORR_OK && orr_add(world, t, Note) == ORR_OK &&
                orr_set(world, t, Note, {orr_string_make(world, "x")}) == ORR_OK &&
                orr_enable(world, t, Note, false) == ORR_OK && orr_query_first(query).id != 0;
    CHECK_OK(orr_destroy(world, t));
    return done;
}

// The Nth allocation is refused, once or from then on, for every N.
ORR_TEST(transient_entity_refused_memory_leaves_a_valid_world)
{
    for (uint64_t n = 1, refused = 1; refused > 0 || n < 4; n++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        ORR_REGISTER(world, Sprite, Note);
        orr_query* query = orr_query_text(world, "Sprite");
        orr_create(world);
        uint64_t before = simulation_hash(world);
        failing_alloc_arm(&k.memory, n, n % 2 == 0);
        bool done = memory_try(world, query);
        refused = k.memory.refused;
        failing_alloc_arm(&k.memory, 0, false);
        CHECK(done || refused > 0);
        CHECK_OK(orr_world_validate(world));
        CHECK(simulation_hash(world) == before);
        CHECK_EQ(orr_transient_count(world), 0);
        CHECK(memory_try(world, query));
        kit_end(&k);
    }
}
