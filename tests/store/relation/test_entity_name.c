// SPDX-License-Identifier: MIT
// Names and paths, and names in error texts and printed entities.
#include "store/pool/pool.h"
#include "store/relation/entity_name.h"
#include "support/pinned_kit.h"
#include "test.h"

static const orr_entity no_scope = {0};

static void name_expect_path(const orr_world* world, orr_entity entity, const char* expected)
{
    char path[128];
    CHECK_EQ(orr_path_print(world, entity, path, sizeof path), strlen(expected));
    CHECK_STR(path, expected);
}

// ---- naming and finding -------------------------------------------------------------------------

ORR_TEST(name_set_is_found_and_removed) /* N2-23 */
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_world_stats stats;
    orr_entity bob = orr_create(world), eve = orr_create(world);
    CHECK_STR(orr_name_get(world, bob), "");
    CHECK_EQ(orr_find(world, no_scope, "bob").id, 0);
    CHECK_OK(orr_name_set(world, bob, no_scope, NULL)); // No name to remove.
    orr_world_stats_get(world, &stats);
    CHECK_EQ(stats.types, 0); // The type is registered with the first name.
    CHECK_OK(orr_name_set(world, bob, no_scope, "bob"));
    CHECK_OK(orr_name_set(world, eve, no_scope, "Eve Ömmel"));
    CHECK_STR(orr_name_get(world, bob), "bob");
    CHECK_EQ(orr_find(world, no_scope, "bob").id, bob.id);
    CHECK_EQ(orr_find(world, no_scope, "Eve Ömmel").id, eve.id);
    CHECK_EQ(orr_find(world, no_scope, "Bob").id, 0);
    CHECK_OK(orr_name_set(world, bob, no_scope, "bob")); // The same again.
    CHECK_OK(orr_name_set(world, bob, no_scope, "robert"));
    CHECK_EQ(orr_find(world, no_scope, "bob").id, 0);
    CHECK_EQ(orr_find(world, no_scope, "robert").id, bob.id);
    CHECK_OK(orr_name_set(world, eve, no_scope, "bob")); // Free again.
    CHECK_OK(orr_name_set(world, bob, no_scope, NULL));
    CHECK_EQ(orr_find(world, no_scope, "robert").id, 0);
    CHECK_STR(orr_name_get(world, bob), "");
    const orr_name* name = orr_get(world, eve, orr_name); // Read like any component.
    CHECK_STR(orr_string_text(world, name->text), "bob");
    CHECK_EQ(name->scope.id, 0);
    orr_tick_advance(world);
    CHECK_EQ(orr_find(world, no_scope, "bob").id, eve.id);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(name_ends_with_its_entity_and_with_its_component)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create_named(world, "bob"), eve = orr_create_named(world, "eve");
    CHECK_EQ(orr_find(world, no_scope, "bob").id, bob.id);
    CHECK_OK(orr_destroy(world, bob));
    CHECK_EQ(orr_find(world, no_scope, "bob").id, 0);
    orr_entity again = orr_create_named(world, "bob");
    CHECK_EQ(orr_find(world, no_scope, "bob").id, again.id);
    CHECK_OK(orr_remove(world, eve, orr_name));
    CHECK_EQ(orr_find(world, no_scope, "eve").id, 0);
    CHECK_STR(orr_name_get(world, eve), "");
    CHECK_OK(orr_component_remove_many(world, &again, 1, KIT_TYPE(world, orr_name)));
    CHECK_EQ(orr_find(world, no_scope, "bob").id, 0);
    CHECK_OK(orr_name_set(world, eve, no_scope, "eve"));
    CHECK_OK(orr_entities_destroy_all(world));
    CHECK_EQ(orr_find(world, no_scope, "eve").id, 0);
    kit_end(&k);
}

ORR_TEST(name_is_unique_within_its_scope_only)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity castle = orr_create_named(world, "castle"), inn = orr_create_named(world, "inn");
    orr_entity door = orr_create(world), other = orr_create(world);
    CHECK_OK(orr_name_set(world, door, castle, "door"));
    CHECK_OK(orr_name_set(world, other, inn, "door"));
    CHECK_EQ(orr_find(world, no_scope, "castle/door").id, door.id);
    CHECK_EQ(orr_find(world, no_scope, "inn/door").id, other.id);
    CHECK_EQ(orr_find(world, inn, "door").id, other.id);
    CHECK_EQ(orr_find(world, no_scope, "door").id, 0);
    CHECK_RESULT(orr_name_set(world, other, castle, "door"), ORR_ERR_CONFLICT);
    CHECK_CONTAINS(k.errors.text, "entity door (2v1)");
    CHECK_EQ(orr_find(world, no_scope, "inn/door").id, other.id); // As before.
    CHECK_EQ(orr_create_named(world, "castle").id, 0);
    CHECK_RESULT(k.errors.result, ORR_ERR_CONFLICT);
    CHECK_CONTAINS(k.errors.text, "orr_create_named");
    CHECK_CONTAINS(k.errors.text, "castle (0v1)");
    CHECK_EQ(orr_entity_count(world), 4);
    kit_end(&k);
}

ORR_TEST(name_paths_with_empty_segments_find_nothing)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity a = orr_create_named(world, "a"), b = orr_create(world);
    CHECK_OK(orr_name_set(world, b, a, "b"));
    const char* paths[] = {"", "/", "/a", "a/", "a//b", "a/b/", "a/c", "b", "a/b/c"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        CHECK_EQ(orr_find(world, no_scope, paths[i]).id, 0);
    }
    CHECK_EQ(orr_find(world, no_scope, "a/b").id, b.id);
    CHECK_EQ(k.errors.count, 0);
    CHECK_EQ(orr_find(world, no_scope, NULL).id, 0);
    CHECK_RESULT(k.errors.result, ORR_ERR_ARGUMENT);
    orr_entity dead = orr_create(world);
    CHECK_OK(orr_destroy(world, dead));
    CHECK_EQ(orr_find(world, dead, "a").id, 0);
    CHECK_RESULT(k.errors.result, ORR_ERR_ENTITY);
    kit_end(&k);
}

ORR_TEST(name_in_a_destroyed_scope_stays_and_is_not_found)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity castle = orr_create_named(world, "castle"), door = orr_create(world);
    CHECK_OK(orr_name_set(world, door, castle, "door"));
    name_expect_path(world, door, "castle/door");
    CHECK_OK(orr_destroy(world, castle));
    CHECK_STR(orr_name_get(world, door), "door");
    CHECK_EQ(orr_find(world, no_scope, "castle/door").id, 0);
    name_expect_path(world, door, "0v1/door");
    orr_entity second = orr_create_named(world, "castle"); // Has the same index.
    CHECK_EQ((uint32_t)second.id, (uint32_t)castle.id);
    CHECK_EQ(orr_find(world, no_scope, "castle/door").id, 0);
    orr_entity gate = orr_create(world);
    CHECK_OK(orr_name_set(world, gate, second, "door")); // No conflict.
    CHECK_EQ(orr_find(world, no_scope, "castle/door").id, gate.id);
    CHECK_RESULT(orr_name_set(world, gate, castle, "x"), ORR_ERR_ENTITY);
    CHECK_OK(
        orr_name_set(world, second, no_scope, NULL)); // A scope without a name shows as its id.
    name_expect_path(world, gate, "0v2/door");
    kit_end(&k);
}

// ---- refusals -----------------------------------------------------------------------------------

ORR_TEST(name_with_invalid_text_is_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    char name[300];
    const char* wrong[] = {"", "a/b", "/", "line\n", "\t", "\x7f", "\x01"};
    uint64_t hash = orr_world_hash(world);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_RESULT(orr_name_set(world, bob, no_scope, wrong[i]), ORR_ERR_NAME);
        CHECK_EQ(orr_create_named(world, wrong[i]).id, 0);
        CHECK_RESULT(k.errors.result, ORR_ERR_NAME);
    }
    memset(name, 'n', sizeof name);
    name[ORR_ENTITY_NAME_MAX + 1] = '\0';
    CHECK_RESULT(orr_name_set(world, bob, no_scope, name), ORR_ERR_NAME);
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_EQ(orr_create_named(world, NULL).id, 0);
    CHECK_RESULT(k.errors.result, ORR_ERR_ARGUMENT);
    name[ORR_ENTITY_NAME_MAX] = '\0';
    CHECK_OK(orr_name_set(world, bob, no_scope, name));
    CHECK_EQ(orr_find(world, no_scope, name).id, bob.id);
    kit_end(&k);
}

ORR_TEST(name_scope_is_neither_the_entity_nor_below_it)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity a = orr_create_named(world, "a"), b = orr_create(world), c = orr_create(world);
    CHECK_OK(orr_name_set(world, b, a, "b"));
    CHECK_OK(orr_name_set(world, c, b, "c"));
    CHECK_RESULT(orr_name_set(world, a, a, "a"), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_name_set(world, a, b, "a"), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_name_set(world, a, c, "a"), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "entity a (0v1)");
    CHECK_EQ(orr_find(world, no_scope, "a/b/c").id, c.id);
    CHECK_OK(orr_name_set(world, c, no_scope, "c"));
    CHECK_OK(orr_name_set(world, a, c, "a"));
    CHECK_EQ(orr_find(world, no_scope, "c/a/b").id, b.id);
    kit_end(&k);
}

ORR_TEST(name_of_a_dead_entity_or_with_an_open_appender_is_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create_named(world, "bob"), dead = orr_create(world);
    CHECK_OK(orr_destroy(world, dead));
    CHECK_RESULT(orr_name_set(world, dead, no_scope, "x"), ORR_ERR_ENTITY);
    CHECK_RESULT(orr_name_set(world, dead, no_scope, NULL), ORR_ERR_ENTITY);
    CHECK_STR(orr_name_get(world, dead), "");
    CHECK_RESULT(k.errors.result, ORR_ERR_ENTITY);
    char path[8] = "?";
    CHECK_EQ(orr_path_print(world, dead, path, sizeof path), 0);
    CHECK_STR(path, "");
    orr_appender appender;
    CHECK_OK(orr_append_begin(world, KIT_CLUSTER(world, Position), NULL, 0, &appender));
    CHECK_RESULT(orr_name_set(world, bob, no_scope, "x"), ORR_ERR_STATE);
    CHECK_RESULT(orr_name_set(world, bob, no_scope, NULL), ORR_ERR_STATE);
    CHECK_EQ(orr_create_named(world, "y").id, 0);
    CHECK_RESULT(k.errors.result, ORR_ERR_STATE);
    CHECK_EQ(orr_find(world, no_scope, "bob").id, bob.id);
    orr_append_end(&appender);
    kit_end(&k);
}

ORR_TEST(name_component_is_written_by_its_own_call_only)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world), eve = orr_create(world);
    orr_type type = KIT_TYPE(world, orr_name); // Known before the first name.
    orr_name value = {no_scope, orr_string_make(world, "x")};
    CHECK_RESULT(orr_component_set(world, bob, type, &value), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "orr_name_set()");
    CHECK_RESULT(orr_component_add(world, bob, type), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_component_add_many(world, &bob, 1, type, &value), ORR_ERR_ARGUMENT);
    CHECK_OK(orr_name_set(world, bob, no_scope, "bob"));
    uint64_t hash = orr_world_hash(world);
    CHECK_RESULT(orr_component_set(world, bob, type, &value), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "bob (0v1)");
    CHECK_OK(orr_component_add(world, bob, type)); // Present already.
    CHECK_RESULT(orr_component_add(world, eve, type), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_component_set_many(world, &bob, 1, type, &value), ORR_ERR_ARGUMENT);
    CHECK(orr_component_edit(world, bob, type) == NULL);
    orr_address address;
    CHECK_OK(orr_address_get(world, bob, &address));
    CHECK(orr_address_write(world, &address, type) == NULL);
    CHECK(orr_address_read(world, &address, type) != NULL);
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_EQ(orr_find(world, no_scope, "bob").id, bob.id);
    kit_end(&k);
}

ORR_TEST(name_type_that_is_not_pinned_is_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type_desc desc = orr_desc_orr_name; // The same layout, but in chunks.
    desc.settings.storage = ORR_CHUNK;
    orr_type out;
    CHECK_RESULT(orr_type_register(world, &desc, &out), ORR_ERR_CONFLICT);
    CHECK_CONTAINS(k.errors.text, "the library has a type of this name");
    CHECK_CONTAINS(k.errors.text, "storage is 0 and was 1");
    CHECK_EQ(k.errors.count, 1);
    orr_entity bob = orr_create_named(world, "bob");
    CHECK_EQ(orr_find(world, no_scope, "bob").id, bob.id);
    CHECK(orr_type_register(world, &desc, &out) == ORR_ERR_CONFLICT); // Now by its own type.
    CHECK_CONTAINS(k.errors.text, "the name is used");
    k.errors.count = 0;
    kit_end(&k);
}

// ---- state --------------------------------------------------------------------------------------

ORR_TEST(name_is_part_of_the_hash_and_its_table_is_not)
{
    kit k = {0}, l = {.memory.fresh_byte = 0x55};
    orr_world *a = kit_begin(&k, NULL), *b = kit_begin(&l, NULL);
    orr_entity x = orr_create(a), y = orr_create(b);
    for (uint32_t i = 0; i < 5; i++) { // Other blobs before: handles differ, names do not.
        char text[16];
        snprintf(text, sizeof text, "text %" PRIu32, i);
        (void)orr_string_make(b, text);
    }
    CHECK_OK(orr_name_set(a, x, no_scope, "bob"));
    CHECK_OK(orr_name_set(b, y, no_scope, "bob"));
    CHECK_EQ(orr_world_hash(a), orr_world_hash(b));
    CHECK_OK(orr_name_set(b, y, no_scope, "eve"));
    CHECK(orr_world_hash(a) != orr_world_hash(b));
    CHECK_OK(orr_name_set(b, y, no_scope, "bob"));
    CHECK_EQ(orr_world_hash(a), orr_world_hash(b));
    kit_end(&k);
    kit_end(&l);
}

ORR_TEST(name_of_the_original_is_not_copied)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create_named(world, "bob");
    CHECK_OK(orr_set(world, bob, Body, {1, 2}));
    orr_entity copy = orr_copy(world, bob);
    CHECK_STR(orr_name_get(world, copy), "");
    CHECK_EQ(orr_get(world, copy, Body)->mass, 1);
    CHECK_EQ(orr_find(world, no_scope, "bob").id, bob.id);
    kit_end(&k);
}

ORR_TEST(name_table_holds_many_names_of_many_scopes)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    enum {
        SCOPES = 20,
        EACH = 200
    };
    static orr_entity scopes[SCOPES], all[SCOPES][EACH];
    char text[32];
    for (uint32_t s = 0; s < SCOPES; s++) {
        scopes[s] = orr_create(world);
        for (uint32_t i = 0; i < EACH; i++) {
            all[s][i] = orr_create(world);
            snprintf(text, sizeof text, "name %" PRIu32, i);
            CHECK_OK(orr_name_set(world, all[s][i], scopes[s], text));
        }
    }
    for (uint32_t s = 0; s < SCOPES; s++) {
        for (uint32_t i = 0; i < EACH; i += 2) {
            CHECK_OK(orr_destroy(world, all[s][i]));
        }
    }
    for (uint32_t s = 0; s < SCOPES; s++) {
        for (uint32_t i = 0; i < EACH; i++) {
            snprintf(text, sizeof text, "name %" PRIu32, i);
            CHECK_EQ(orr_find(world, scopes[s], text).id, i % 2 == 0 ? 0 : all[s][i].id);
        }
    }
    kit_end(&k);
}

// Only moving an entity that is a scope into another scope searches for a cycle, from there up.
ORR_TEST(name_in_a_chain_of_scopes_visits_no_other_scope)
{
    enum {
        DEPTH = 300
    };
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity all[DEPTH], above = no_scope;
    for (uint32_t i = 0; i < DEPTH; i++) {
        all[i] = orr_create(world);
        CHECK_OK(orr_name_set(world, all[i], above, "a"));
        above = all[i];
    }
    for (uint32_t i = 1; i < DEPTH; i++) {
        CHECK_OK(orr_name_set(world, all[i], all[i - 1], "b"));
    }
    CHECK_EQ(orri_names_walked(world), 0);
    CHECK_RESULT(orr_name_set(world, all[0], all[DEPTH - 1], "c"), ORR_ERR_ARGUMENT);
    CHECK_EQ(orri_names_walked(world), DEPTH);
    CHECK_RESULT(orr_name_set(world, all[0], all[0], "c"), ORR_ERR_ARGUMENT);
    // An entity above a scope need not have a name itself.
    CHECK_OK(orr_name_set(world, all[0], no_scope, NULL));
    CHECK_RESULT(orr_name_set(world, all[0], all[DEPTH - 1], "c"), ORR_ERR_ARGUMENT);
    CHECK_EQ(orri_names_walked(world), 2 * DEPTH);
    // Without a name in it the same entity is no scope any more.
    CHECK_OK(orr_name_set(world, all[1], no_scope, "d"));
    CHECK_OK(orr_name_set(world, all[0], all[DEPTH - 1], "c"));
    CHECK_EQ(orri_names_walked(world), 2 * DEPTH);
    CHECK_OK(orr_world_validate(world));
    kit_end(&k);
}

ORR_TEST(name_missing_in_the_table_is_found_by_validation)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create_named(world, "bob");
    CHECK_OK(orr_world_validate(world));
    orri_pool* pool = orri_pool_find(world, KIT_TYPE(world, orr_name));
    orr_name* name = (orr_name*)(void*)orri_pool_get(pool, (uint32_t)bob.id);
    name->scope = bob;
    CHECK_RESULT(orr_world_validate(world), ORR_ERR_CORRUPT);
    CHECK_CONTAINS(k.errors.text, "S15");
    name->scope = no_scope;
    orri_name_leave(world, 0);
    CHECK_RESULT(orr_world_validate(world), ORR_ERR_CORRUPT);
    orri_name_enter(world, 0);
    kit_end(&k);
}

// ---- text ---------------------------------------------------------------------------------------

ORR_TEST(name_paths_of_any_depth_are_printed_and_found)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    enum {
        DEPTH = 20000
    };
    static char path[2 * DEPTH + 8], again[2 * DEPTH + 8];
    orr_entity at = no_scope;
    for (uint32_t i = 0; i < DEPTH; i++) {
        orr_entity next = orr_create(world);
        CHECK_OK(at.id == 0 ? ORR_OK : orr_name_set(world, at, next, i % 2 == 0 ? "a" : "b"));
        at = next;
    }
    CHECK_OK(orr_name_set(world, at, no_scope, "top"));
    orr_entity deepest = {1ull << 32};
    CHECK_EQ(orr_path_print(world, deepest, path, sizeof path), 3 + 2 * (DEPTH - 1));
    CHECK_EQ(strncmp(path, "top/b/a/b/", 10), 0);
    CHECK_EQ(orr_find(world, no_scope, path).id, deepest.id);
    // A buffer that is too small gets the beginning.
    CHECK_EQ(orr_path_print(world, deepest, again, 8), 3 + 2 * (DEPTH - 1));
    CHECK_STR(again, "top/b/a");
    CHECK_EQ(orr_path_print(world, deepest, NULL, 0), 3 + 2 * (DEPTH - 1));
    name_expect_path(world, orr_create(world), "");
    kit_end(&k);
}

ORR_TEST(name_stands_for_the_id_in_printed_entities)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create_named(world, "bob");
    char text[128];
    orr_entity_print(world, bob, text, sizeof text);
    CHECK_STR(text, "bob: (nothing)");
    CHECK_OK(orr_set(world, bob, Velocity, {1, 2}));
    CHECK_OK(orr_set(world, bob, Body, {3, 4}));
    orr_entity_print(world, bob, text, sizeof text);
    CHECK_STR(text, "bob: Velocity {x: 1, y: 2}, Body {mass: 3, speed: 4}");
    CHECK_OK(orr_entity_enable(world, bob, false));
    orr_entity_print(world, bob, text, sizeof text);
    CHECK_STR(text, "bob: (off) Velocity {x: 1, y: 2}, Body {mass: 3, speed: 4}");
    orr_print(world, bob);
    CHECK_OK(orr_destroy(world, bob));
    orr_entity_print(world, bob, text, sizeof text);
    CHECK_STR(text, "0v1: not alive");
    kit_end(&k);
}

ORR_TEST(name_stands_before_the_id_in_messages)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create_named(world, "bob");
    CHECK_RESULT(orr_enable(world, bob, Velocity, false), ORR_ERR_ABSENT);
    CHECK_CONTAINS(k.errors.text, "entity bob (0v1) has no Velocity");
    CHECK_RESULT(orr_component_set(world, bob, KIT_TYPE(world, Velocity), NULL), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "entity bob (0v1)");
    CHECK_RESULT(orr_destroy_many(world, (orr_entity[]){bob, bob}, 2), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "entity bob (0v1) is listed twice");
    orr_address address;
    CHECK_OK(orr_address_get(world, bob, &address));
    CHECK_OK(orr_add(world, bob, Velocity));
    CHECK(orr_address_read(world, &address, KIT_TYPE(world, Velocity)) == NULL);
    CHECK_CONTAINS(k.errors.text, "entity bob (0v1) is no longer at row");
    char name[200];
    memset(name, 'n', sizeof name);
    name[199] = '\0';
    CHECK_OK(orr_name_set(world, bob, no_scope, name)); // A long name is cut.
    CHECK_RESULT(orr_enable(world, bob, Position, false), ORR_ERR_ABSENT);
    CHECK_CONTAINS(k.errors.text, "nnn… (0v1) has no Position");
    CHECK_OK(orr_destroy(world, bob));
    CHECK_RESULT(orr_add(world, bob, Velocity), ORR_ERR_ENTITY);
    CHECK_CONTAINS(k.errors.text, "entity 0v1 is dead");
    kit_end(&k);
}
