// SPDX-License-Identifier: MIT
// Pinned types, entity by entity: addresses and lifetime of values, notifications.
#include "store/pool/pool.h"
#include "support/pinned_kit.h"
#include "test.h"

// ---- lifetime of a value ------------------------------------------------------------------------

ORR_TEST(pinned_value_is_set_got_edited_and_removed) /* N4-07 */
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world), eve = orr_create(world);
    CHECK(!orr_has(world, bob, Body));
    CHECK(orr_get(world, bob, Body) == NULL);
    CHECK(orr_edit(world, bob, Body) == NULL);
    CHECK_OK(orr_remove(world, bob, Body));
    CHECK_EQ(k.errors.count, 0);
    CHECK_OK(orr_add(world, bob, Body));
    CHECK_EQ(orr_get(world, bob, Body)->mass, 10);
    CHECK_OK(orr_set(world, bob, Body, {3, 4}));
    CHECK_OK(orr_add(world, bob, Body)); // Present already: no change.
    CHECK_EQ(orr_get(world, bob, Body)->mass, 3);
    CHECK_EQ(orr_get(world, bob, Body)->speed, 4);
    orr_edit(world, bob, Body)->speed = 5;
    CHECK_EQ(orr_get(world, bob, Body)->speed, 5);
    CHECK_OK(orr_set(world, eve, Body, {7, 8}));
    CHECK_EQ(orr_pinned_count(world, KIT_TYPE(world, Body)), 2);
    CHECK_OK(orr_remove(world, bob, Body));
    CHECK(!orr_has(world, bob, Body));
    CHECK(orr_get(world, bob, Body) == NULL);
    CHECK_EQ(orr_get(world, eve, Body)->mass, 7);
    CHECK_EQ(orr_pinned_count(world, KIT_TYPE(world, Body)), 1);
    CHECK_EQ(orr_pinned_count(world, KIT_TYPE(world, Position)), 0);
    CHECK_EQ(orr_pinned_count(world, (orr_type){0}), 0);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(pinned_value_is_read_by_reader_and_by_address)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world), eve = orr_create(world), ann = orr_create(world);
    CHECK_OK(orr_set(world, bob, Body, {1, 2}));
    CHECK_OK(orr_destroy(world, ann));
    orr_type body = KIT_TYPE(world, Body);
    orr_reader reader = orr_reader_make(world, body);
    CHECK(orr_reader_get(&reader, bob) == (const void*)orr_get(world, bob, Body));
    CHECK(orr_reader_get(&reader, eve) == NULL);
    CHECK(orr_reader_get(&reader, ann) == NULL);
    orr_address address;
    CHECK_OK(orr_address_get(world, bob, &address));
    CHECK(orr_address_read(world, &address, body) == (const void*)orr_get(world, bob, Body));
    ((Body*)orr_address_write(world, &address, body))->mass = 9;
    CHECK_EQ(orr_get(world, bob, Body)->mass, 9);
    CHECK_OK(orr_address_get(world, eve, &address));
    CHECK(orr_address_read(world, &address, body) == NULL);
    CHECK(orr_address_write(world, &address, body) == NULL);
    CHECK_EQ(k.errors.count, 0);
    CHECK(orr_get(world, ann, Body) == NULL);
    CHECK_RESULT(k.errors.result, ORR_ERR_ENTITY);
    CHECK_CONTAINS(k.errors.text, "Body");
    CHECK(orr_component_get(world, bob, (orr_type){body.id + 100}) == NULL);
    CHECK_RESULT(k.errors.result, ORR_ERR_TYPE);
    kit_end(&k);
}

ORR_TEST(pinned_pointer_stays_over_100000_changes_of_everything_else) /* N4-07 N4-12 */
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    enum {
        OTHERS = 5000,
        CHANGES = 100000
    };
    orr_entity bob = orr_create(world), others[OTHERS];
    CHECK_OK(orr_set(world, bob, Body, {123, 456}));
    const Body* pointer = orr_get(world, bob, Body);
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    CHECK_OK(orr_create_many(world, cluster, OTHERS, NULL, 0, others));
    orr_type body = KIT_TYPE(world, Body), velocity = KIT_TYPE(world, Velocity);
    for (uint32_t i = 0; i < CHANGES; i++) {
        orr_entity other = others[i * 7919u % OTHERS];
        if (orr_component_has(world, other, body)) {
            CHECK_OK(orr_component_remove(world, other, body));
        } else {
            CHECK_OK(orr_component_add(world, other, body));
        }
        if (i % 100 == 0) { // Bob himself moves from cluster to cluster.
            CHECK_OK(i % 200 == 0 ? orr_component_add(world, bob, velocity)
                                  : orr_component_remove(world, bob, velocity));
            CHECK_OK(orr_tag_add(world, bob, i % 7));
            orr_tick_advance(world);
        }
        CHECK(orr_get(world, bob, Body) == pointer);
    }
    CHECK_EQ(pointer->mass, 123);
    CHECK_EQ(pointer->speed, 456);
    CHECK_OK(orr_entities_destroy_all(world));
    CHECK_EQ(orr_pinned_count(world, body), 0);
    kit_end(&k);
}

ORR_TEST(pinned_slot_freed_last_is_taken_first)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity e[6];
    const Body* at[4];
    for (uint32_t i = 0; i < 6; i++) {
        e[i] = orr_create(world);
    }
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_OK(orr_set(world, e[i], Body, {(int32_t)i, 0}));
        at[i] = orr_get(world, e[i], Body);
        CHECK(i == 0 || at[i] == at[i - 1] + 1);
    }
    CHECK_OK(orr_remove(world, e[1], Body));
    CHECK_OK(orr_remove(world, e[3], Body));
    CHECK_OK(orr_add(world, e[4], Body));
    CHECK_OK(orr_add(world, e[5], Body));
    CHECK(orr_get(world, e[4], Body) == at[3]);
    CHECK(orr_get(world, e[5], Body) == at[1]);
    CHECK_EQ(at[1]->mass, 10); // The preset, not the old bytes.
    CHECK_EQ(at[2]->mass, 2);
    kit_end(&k);
}

ORR_TEST(pinned_value_of_64_kilobytes_allocates_less_than_two)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world), eve = orr_create(world);
    orr_memory_stats before, after;
    orr_world_memory_get(world, &before);
    CHECK_OK(orr_add(world, bob, Huge));
    orr_world_memory_get(world, &after);
    CHECK(after.total.bytes - before.total.bytes < 128 * 1024);
    CHECK(after.by_purpose[ORR_MEMORY_COLUMN].bytes - before.by_purpose[ORR_MEMORY_COLUMN].bytes >=
          sizeof(Huge));
    CHECK(after.by_purpose[ORR_MEMORY_INDEX].bytes > before.by_purpose[ORR_MEMORY_INDEX].bytes);
    CHECK_OK(orr_add(world, eve, Huge));
    orr_edit(world, bob, Huge)->words[8191] = 1;
    orr_edit(world, eve, Huge)->words[0] = 2;
    CHECK_EQ(orr_get(world, bob, Huge)->words[0], 0);
    CHECK_EQ(orr_get(world, bob, Huge)->words[8191], 1);
    static Huge value = {{5}};
    CHECK_OK(orr_put(world, bob, Huge, &value));
    CHECK_EQ(orr_get(world, bob, Huge)->words[0], 5);
    CHECK_EQ(orr_get(world, bob, Huge)->words[8191], 0);
    uint64_t hash = orr_world_hash(world);
    orr_edit(world, eve, Huge)->words[8000] = 3;
    CHECK(orr_world_hash(world) != hash);
    kit_end(&k);
}

ORR_TEST(pinned_values_are_aligned_as_their_type)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_field_desc field = {.name = "x", .type = ORR_TYPE(float), .count = 16};
    orr_type_desc desc = {.name = "Wide",
                          .size = 64,
                          .align = 64,
                          .fields = &field,
                          .field_count = 1,
                          .settings.storage = ORR_PINNED};
    orr_type wide;
    CHECK_OK(orr_type_register(world, &desc, &wide));
    for (uint32_t i = 0; i < 3000; i++) { // Several blocks.
        orr_entity entity = orr_create(world);
        CHECK_OK(orr_component_add(world, entity, wide));
        CHECK_EQ((uintptr_t)orr_component_get(world, entity, wide) % 64, 0);
    }
    CHECK_EQ(orr_pinned_count(world, wide), 3000);
    kit_end(&k);
}

ORR_TEST(pinned_marker_is_present_without_data)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    orr_type seen = KIT_TYPE(world, Seen);
    CHECK_OK(orr_component_set(world, bob, seen, NULL));
    CHECK(orr_component_has(world, bob, seen));
    CHECK(orr_component_get(world, bob, seen) != NULL);
    CHECK_OK(orr_component_set(world, bob, seen, NULL));
    CHECK_OK(orr_component_add_many(world, &bob, 1, seen, NULL));
    uint64_t hash = orr_world_hash(world);
    CHECK_OK(orr_component_remove(world, bob, seen));
    CHECK(!orr_component_has(world, bob, seen));
    CHECK(orr_world_hash(world) != hash);
    char text[64];
    CHECK_OK(orr_component_add(world, bob, seen));
    orr_entity_print(world, bob, text, sizeof text);
    CHECK_STR(text, "0v1: Seen");
    kit_end(&k);
}

ORR_TEST(pinned_value_disabled_keeps_everything)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world), eve = orr_create(world);
    CHECK_RESULT(orr_enable(world, bob, Body, false), ORR_ERR_ABSENT);
    CHECK_CONTAINS(k.errors.text, "entity 0v1 has no Body");
    CHECK_OK(orr_set(world, bob, Body, {1, 2}));
    CHECK_OK(orr_set(world, eve, Body, {3, 4}));
    uint64_t hash = orr_world_hash(world);
    CHECK_OK(orr_enable(world, bob, Body, true));
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_OK(orr_enable(world, bob, Body, false));
    CHECK(!orr_enabled(world, bob, Body));
    CHECK(orr_enabled(world, eve, Body));
    CHECK(orr_has(world, bob, Body));
    CHECK_EQ(orr_get(world, bob, Body)->mass, 1);
    uint64_t off = orr_world_hash(world);
    CHECK(off != hash);
    CHECK_RESULT(orr_enable(world, orr_create(world), Body, false), ORR_ERR_ABSENT);
    CHECK_OK(orr_destroy(world, (orr_entity){1ull << 32 | 2}));
    char text[128];
    orr_entity_print(world, bob, text, sizeof text);
    CHECK_STR(text, "0v1: Body {mass: 1, speed: 2} (off)");
    CHECK_OK(orr_enable(world, bob, Body, true));
    CHECK(orr_enabled(world, bob, Body));
    CHECK_OK(orr_enable(world, bob, Body, false));
    // The next value in the slot is enabled.
    CHECK_OK(orr_remove(world, bob, Body));
    CHECK(!orr_enabled(world, bob, Body));
    CHECK_OK(orr_add(world, bob, Body));
    CHECK(orr_enabled(world, bob, Body));
    CHECK_EQ(k.errors.count, 2);
    kit_end(&k);
}

ORR_TEST(pinned_types_are_printed_after_those_of_the_cluster_in_order_of_types)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    (void)KIT_TYPE(world, Rope);
    (void)KIT_TYPE(world, Body);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Body, {1, 2}));
    CHECK_OK(orr_set(world, bob, Rope, {bob, 3}));
    CHECK_OK(orr_set(world, bob, Velocity, {1, 2}));
    CHECK_OK(orr_tag_add(world, bob, 7));
    char text[256];
    orr_entity_print(world, bob, text, sizeof text);
    CHECK_STR(text, "0v1: Velocity {x: 1, y: 2}, Rope {target: 0v1, length: 3}, "
                    "Body {mass: 1, speed: 2}, #7");
    kit_end(&k);
}

// ---- refusals -----------------------------------------------------------------------------------

static uint32_t span_rows = 1;

ORR_TEST(pinned_type_in_a_cluster_is_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type body = KIT_TYPE(world, Body);
    orr_cluster cluster = KIT_CLUSTER(world, Position), out = {5, 5};
    (void)orr_create_in(world, cluster);
    orr_cluster_desc desc = {&body, 1, NULL, 0, NULL};
    CHECK_RESULT(orr_cluster_get(world, &desc, &out), ORR_ERR_ARGUMENT);
    CHECK_EQ(out.id, 5);
    CHECK_CONTAINS(k.errors.text, "Body is pinned");
    CHECK_CONTAINS(k.errors.text, "not part of a cluster");
    CHECK_CONTAINS(k.errors.text, "orr_component_add_many");
    CHECK_EQ(orr_cluster_find(world, &desc).id, 0);
    CHECK_EQ(
        orr_clusters_find(world, &(orr_cluster_match){.types = &body, .type_count = 1}, NULL, 0),
        0);
    CHECK_EQ(
        orr_clusters_find(
            world, &(orr_cluster_match){.without_types = &body, .without_type_count = 1}, NULL, 0),
        0);
    CHECK_RESULT(
        orr_clusters_delete(world, &(orr_cluster_match){.types = &body, .type_count = 1}, NULL),
        ORR_ERR_ARGUMENT);
    Body value = {0};
    CHECK_RESULT(orr_create_many(world, cluster, 1, &(orr_column_data){body, &value}, 1, NULL),
                 ORR_ERR_ARGUMENT);
    orr_appender appender;
    CHECK_RESULT(orr_append_begin(world, cluster, &body, 1, &appender), ORR_ERR_ARGUMENT);
    CHECK_EQ(k.errors.count, 7);
    CHECK(orr_column_read(world, cluster, 0, body) == NULL);
    CHECK(orr_column_write(world, cluster, 0, body) == NULL);
    CHECK(orr_column_enabled(world, cluster, 0, body) == NULL);
    CHECK(orr_span_read(world, cluster, body, 0, &span_rows) == NULL);
    CHECK_EQ(k.errors.count, 11);
    CHECK_CONTAINS(k.errors.text, "Body is pinned");
    CHECK(orr_column_read(world, cluster, 0, KIT_TYPE(world, Tiny)) == NULL); // No mistake.
    CHECK_EQ(k.errors.count, 11);
    kit_end(&k);
}

ORR_TEST(pinned_calls_are_refused_for_dead_entities_and_open_loops)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world), dead = orr_create(world);
    orr_type body = KIT_TYPE(world, Body);
    CHECK_OK(orr_destroy(world, dead));
    CHECK_RESULT(orr_component_add(world, dead, body), ORR_ERR_ENTITY);
    CHECK_RESULT(orr_component_remove(world, dead, body), ORR_ERR_ENTITY);
    CHECK_RESULT(orr_set(world, dead, Body, {0}), ORR_ERR_ENTITY);
    CHECK(!orr_component_enabled(world, dead, body));
    CHECK_RESULT(orr_component_set(world, bob, body, NULL), ORR_ERR_ARGUMENT);
    CHECK_OK(orr_set(world, bob, Body, {1, 1}));
    orr_entity eve = orr_create(world);
    orr_appender appender;
    CHECK_OK(orr_append_begin(world, KIT_CLUSTER(world, Position), NULL, 0, &appender));
    CHECK_RESULT(orr_component_add(world, eve, body), ORR_ERR_STATE);
    CHECK_RESULT(orr_set(world, eve, Body, {2, 2}), ORR_ERR_STATE);
    CHECK_RESULT(orr_component_remove(world, bob, body), ORR_ERR_STATE);
    CHECK_RESULT(orr_component_enable(world, bob, body, false), ORR_ERR_STATE);
    CHECK_RESULT(orr_component_add_many(world, &eve, 1, body, NULL), ORR_ERR_STATE);
    CHECK_RESULT(orr_component_remove_many(world, &bob, 1, body), ORR_ERR_STATE);
    CHECK_OK(orr_component_add(world, bob, body)); // Nothing to do.
    CHECK_OK(orr_component_remove(world, eve, body));
    CHECK_OK(orr_set(world, bob, Body, {3, 3})); // Writing values is allowed.
    CHECK_EQ(orr_edit(world, bob, Body)->mass, 3);
    orr_append_end(&appender);
    kit_end(&k);
}

ORR_TEST(pinned_references_to_dead_entities_are_refused_unless_stored_before)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world), eve = orr_create(world);
    CHECK_OK(orr_set(world, bob, Rope, {eve, 1}));
    CHECK_OK(orr_destroy(world, eve));
    CHECK_OK(orr_set(world, bob, Rope, {eve, 2}));
    CHECK_EQ(orr_get(world, bob, Rope)->length, 2);
    orr_entity ann = orr_create(world);
    CHECK_RESULT(orr_set(world, ann, Rope, {eve, 3}), ORR_ERR_ENTITY);
    CHECK_CONTAINS(k.errors.text, "Rope.target");
    CHECK(!orr_has(world, ann, Rope));
    Rope ropes[2] = {{bob, 1}, {eve, 2}};
    CHECK_RESULT(
        orr_component_add_many(world, (orr_entity[]){bob, ann}, 2, KIT_TYPE(world, Rope), ropes),
        ORR_ERR_ENTITY);
    CHECK_EQ(orr_get(world, bob, Rope)->length, 2);
    kit_end(&k);
}

// ---- hooks and owned strings --------------------------------------------------------------------

ORR_TEST(pinned_hooks_construct_and_destruct_in_place_and_never_move)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world), eve = orr_create(world);
    CHECK_OK(orr_add(world, bob, Ghost));
    CHECK_EQ(kit_tokens.constructs, 1);
    CHECK_OK(orr_component_set(world, bob, KIT_TYPE(world, Ghost), &KIT_GHOST(5)));
    const Ghost* ghost = orr_get(world, bob, Ghost);
    CHECK(kit_token_sound((const Token*)(const void*)ghost));
    CHECK_EQ(ghost->cell.payload, 5);
    CHECK_OK(orr_component_set(world, eve, KIT_TYPE(world, Ghost), ghost)); // From the world.
    CHECK_OK(orr_component_set(world, bob, KIT_TYPE(world, Ghost), ghost)); // From its own place.
    CHECK_EQ(ghost->cell.payload, 5);
    CHECK_EQ(kit_tokens.live, 2);
    orr_entity copy = orr_copy(world, bob);
    CHECK_EQ(orr_get(world, copy, Ghost)->cell.payload, 5);
    CHECK_EQ(kit_tokens.live, 3);
    CHECK_OK(orr_remove(world, bob, Ghost));
    CHECK_EQ(kit_tokens.live, 2);
    CHECK_OK(orr_destroy(world, eve));
    CHECK_EQ(kit_tokens.live, 1);
    CHECK_EQ(kit_tokens.moves, 0);
    CHECK_EQ(kit_tokens.broken, 0);
    kit_end(&k);
    CHECK_EQ(kit_tokens.moves, 0);
}

ORR_TEST(pinned_hook_that_refuses_changes_nothing)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world), eve = orr_create(world);
    orr_type ghost = KIT_TYPE(world, Ghost);
    uint64_t empty = orr_world_hash(world);
    kit_tokens.refuse_after = 1;
    CHECK_RESULT(orr_component_add(world, bob, ghost), ORR_ERR_HOOK);
    CHECK_CONTAINS(k.errors.text, "Ghost");
    CHECK_EQ(orr_world_hash(world), empty); // A pool that never had a value is no pool.
    CHECK_OK(orr_component_set(world, bob, ghost, &KIT_GHOST(1)));
    uint64_t hash = orr_world_hash(world);
    kit_tokens.refuse_after = 1;
    CHECK_RESULT(orr_component_set(world, bob, ghost, &KIT_GHOST(2)), ORR_ERR_HOOK);
    kit_tokens.refuse_after = 1;
    CHECK_RESULT(orr_component_set(world, eve, ghost, &KIT_GHOST(2)), ORR_ERR_HOOK);
    kit_tokens.refuse_after = 1;
    CHECK_EQ(orr_copy(world, bob).id, 0);
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_EQ(orr_get(world, bob, Ghost)->cell.payload, 1);
    CHECK_EQ(kit_tokens.live, 1);
    // The hook would refuse a second copy: the value is copied once, then moved into its place.
    kit_tokens.refuse_after = 2;
    CHECK_OK(orr_component_set(world, bob, ghost, &KIT_GHOST(3)));
    CHECK_EQ(orr_get(world, bob, Ghost)->cell.payload, 3);
    CHECK_EQ(kit_tokens.moves, 1);
    CHECK_EQ(kit_tokens.live, 1);
    kit_end(&k);
}

ORR_TEST(pinned_owned_strings_are_counted)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Sign, {orr_string_make(world, "left"), 1}));
    orr_tick_advance(world);
    CHECK_STR(orr_string_text(world, orr_get(world, bob, Sign)->text), "left");
    CHECK_OK(orr_put(world, bob, Sign, orr_get(world, bob, Sign)));
    CHECK_OK(orr_set(world, bob, Sign, {orr_string_make(world, "right"), 2}));
    orr_entity copy = orr_copy(world, bob);
    CHECK_OK(orr_destroy(world, bob));
    orr_tick_advance(world);
    orr_world_stats stats;
    orr_world_stats_get(world, &stats);
    CHECK_EQ(stats.blobs, 1);
    CHECK_STR(orr_string_text(world, orr_get(world, copy, Sign)->text), "right");
    orr_string_assign(world, &orr_edit(world, copy, Sign)->text, orr_string_make(world, "up"));
    CHECK_OK(orr_world_validate(world));
    orr_edit(world, copy, Sign)->text = orr_string_make(world, "not counted");
    CHECK_RESULT(orr_world_validate(world), ORR_ERR_CORRUPT);
    orr_edit(world, copy, Sign)->text = orr_string_make(world, "up");
    kit_end(&k);
}

// ---- every way to destroy -----------------------------------------------------------------------

static void ways_fill(orr_world* world, orr_cluster cluster, orr_entity out[8])
{
    CHECK_OK(orr_create_many(world, cluster, 8, NULL, 0, out));
    for (uint32_t i = 0; i < 8; i++) {
        CHECK_OK(orr_component_set(world, out[i], KIT_TYPE(world, Ghost), &KIT_GHOST(i)));
        CHECK_OK(orr_set(world, out[i], Body, {(int32_t)i, 0}));
    }
    CHECK_OK(orr_remove(world, out[3], Body));
}

ORR_TEST(pinned_values_are_destroyed_with_their_entities_by_every_call)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity e[8];
    orr_cluster cluster = KIT_CLUSTER(world, Position), rich = KIT_CLUSTER(world, Position, Label);
    orr_type body = KIT_TYPE(world, Body), ghost = KIT_TYPE(world, Ghost);
    for (uint32_t way = 0; way < 8; way++) {
        orr_tick_advance(world); // The first destroy takes the slow path, the next the fast one.
        orr_cluster at = way % 2 == 0 ? cluster : rich;
        ways_fill(world, at, e);
        CHECK_EQ(orr_pinned_count(world, ghost), 8);
        if (way < 2) {
            for (uint32_t i = 0; i < 8; i++) {
                CHECK_OK(orr_destroy(world, e[i]));
                CHECK_EQ(orr_pinned_count(world, ghost), 7 - i);
            }
        } else if (way < 4) {
            CHECK_OK(orr_destroy_many(world, e + 1, 6));
            CHECK_EQ(orr_pinned_count(world, ghost), 2);
            CHECK_EQ(orr_get(world, e[7], Ghost)->cell.payload, 7);
            CHECK_OK(orr_destroy_many(world, (orr_entity[]){e[7], e[0]}, 2));
        } else if (way == 4) {
            CHECK_OK(orr_cluster_clear(world, at));
        } else if (way == 5) {
            CHECK_OK(orr_cluster_delete(world, at));
            rich = KIT_CLUSTER(world, Position, Label);
        } else if (way == 6) {
            CHECK_OK(orr_clusters_delete(world, &(orr_cluster_match){0}, NULL));
            rich = KIT_CLUSTER(world, Position, Label);
        } else {
            CHECK_OK(orr_entities_destroy_all(world));
        }
        CHECK_EQ(orr_pinned_count(world, ghost), 0);
        CHECK_EQ(orr_pinned_count(world, body), 0);
        CHECK_EQ(kit_tokens.live, 0);
        CHECK_OK(orr_world_validate(world));
    }
    ways_fill(world, rich, e);
    CHECK_EQ(kit_tokens.live, 8);
    kit_end(&k); // Destroying the world is the last way.
    CHECK_EQ(kit_tokens.moves, 0);
}

ORR_TEST(pinned_values_of_a_dead_entity_are_not_inherited)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Body, {1, 2}));
    CHECK_OK(orr_destroy(world, bob));
    orr_entity eve = orr_create(world);
    CHECK_EQ((uint32_t)eve.id, (uint32_t)bob.id);
    CHECK(!orr_has(world, eve, Body));
    kit_end(&k);
}

// ---- copies -------------------------------------------------------------------------------------

ORR_TEST(pinned_values_are_copied_with_their_entity)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Body, {1, 2}));
    CHECK_OK(orr_set(world, bob, Rope, {bob, 5}));
    CHECK_OK(orr_set(world, bob, Velocity, {1, 2}));
    CHECK_OK(orr_enable(world, bob, Body, false));
    orr_entity copy = orr_copy(world, bob), second = orr_copy(world, copy);
    CHECK_EQ(orr_get(world, copy, Body)->mass, 1);
    CHECK(orr_get(world, copy, Body) != orr_get(world, bob, Body));
    CHECK(!orr_enabled(world, copy, Body));
    CHECK(orr_enabled(world, copy, Rope));
    CHECK_EQ(orr_get(world, second, Rope)->length, 5);
    CHECK_EQ(orr_get(world, second, Rope)->target.id, bob.id);
    orr_edit(world, second, Body)->mass = 9;
    CHECK_EQ(orr_get(world, bob, Body)->mass, 1);
    kit_end(&k);
}

// ---- listeners ----------------------------------------------------------------------------------

typedef struct notice_log {
    char text[256];
} notice_log;

static notice_log notified;

static void log_note(char what, uint32_t number)
{
    size_t used = strlen(notified.text);
    snprintf(notified.text + used, sizeof notified.text - used, "%c%" PRIu32 " ", what, number);
}

// '+': exists and is enabled, '-': exists and is disabled, '.': removed, but its bytes are still
// readable.
static void listener_changed(orr_world* world, const orri_pool* pool, uint32_t index)
{
    CHECK((orri_record_at(world, index)->generation & ORRI_DEAD) == 0);
    const uint8_t* value = orri_pool_get(pool, index);
    if (value != NULL) {
        CHECK(kit_token_sound((const Token*)(const void*)value));
        log_note(orri_pool_enabled(pool, index) ? '+' : '-', index);
        return;
    }
    CHECK_EQ(orri_pool_slot1(pool, index), 0);
    // The removed value is not destructed yet, and its slot is not free yet.
    CHECK(kit_tokens.live > pool->live);
    log_note('.', index);
}

static void listener_open(orr_world* world)
{
    notified = (notice_log){0};
    world->listener.pinned_changed = listener_changed;
}

ORR_TEST(pinned_listener_is_notified_after_add_and_before_remove) /* N4-12 N4-13 */
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type ghost = KIT_TYPE(world, Ghost);
    orr_entity e[5];
    for (uint32_t i = 0; i < 5; i++) {
        e[i] = orr_create(world);
    }
    listener_open(world);
    CHECK_OK(orr_component_add(world, e[0], ghost));
    CHECK_OK(orr_component_set(world, e[1], ghost, &KIT_GHOST(2)));
    // Writing a value notifies no listener.
    CHECK_OK(orr_component_set(world, e[1], ghost, &KIT_GHOST(3)));
    CHECK_STR(notified.text, "+0 +1 ");
    notified.text[0] = '\0';
    CHECK_OK(orr_component_enable(world, e[0], ghost, true)); // No change.
    CHECK_OK(orr_component_enable(world, e[0], ghost, false));
    CHECK_OK(orr_component_enable(world, e[0], ghost, true));
    CHECK_OK(orr_component_remove(world, e[0], ghost));
    CHECK_OK(orr_component_remove(world, e[0], ghost));
    CHECK_STR(notified.text, "-0 +0 .0 ");
    notified.text[0] = '\0';
    CHECK_OK(orr_component_add_many(world, e, 4, ghost, NULL));
    CHECK_STR(notified.text, "+0 +2 +3 ");
    notified.text[0] = '\0';
    CHECK_OK(orr_component_remove_many(world, e + 1, 2, ghost));
    CHECK_OK(orr_destroy(world, e[0]));
    CHECK_OK(orr_destroy(world, e[4])); // Has none.
    (void)orr_copy(world, e[3]);
    CHECK_STR(notified.text, ".1 .2 .0 +4 ");
    notified.text[0] = '\0';
    CHECK_OK(orr_entities_destroy_all(world));
    CHECK_STR(notified.text, ".3 .4 "); // In order of rows.
    world->listener = (orri_listener){0};
    kit_end(&k);
}
