// SPDX-License-Identifier: MIT
// The hash of the world: equal for equal histories, different for every single difference,
// independent of everything that is not state.
#include "support/store_kit.h"
#include "test.h"

#include <math.h>

// A small world with everything in it. Single calls can be made to differ.
typedef enum hash_variant {
    SAME,
    OTHER_VALUE,
    OTHER_TAG,
    NO_TAG,
    COMPONENT_OFF,
    ENTITY_OFF,
    OTHER_ORDER,
    OTHER_TICK,
    OTHER_BLOB,
    OTHER_ARRAY,
    ONE_CLUSTER_MORE,
    ONE_ENTITY_MORE,
    ONE_ID_USED,
    FREE_LIST_ORDER,
    OTHER_SEED,
    OTHER_SALT,
    OTHER_TAG_NAME,
    WRITTEN_LATER,
    MARKER_MORE,
    CLUSTER_NUMBER_USED,
    OTHER_TOKEN,
    OTHER_REFERENCE,
    VARIANT_COUNT
} hash_variant;

static void hash_people(orr_world* world, hash_variant v, orr_entity* ids)
{
    bool swapped = v == OTHER_ORDER;
    for (uint32_t i = 0; i < 10; i++) {
        ids[i] = orr_create(world);
    }
    // Two entities move into the same cluster in another order.
    CHECK_OK(orr_set(world, ids[swapped ? 1 : 0], Position, {1, 2, 3}));
    CHECK_OK(orr_set(world, ids[swapped ? 0 : 1], Position, {1, 2, 3}));
    CHECK_OK(orr_set(world, ids[2], Position, {4, v == OTHER_VALUE ? 5.5f : 5, 6}));
    CHECK_OK(orr_set(world, ids[2], Padded, {1, 2, 3}));
    CHECK_OK(orr_set(world, ids[3], Link, {ids[v == OTHER_REFERENCE ? 5 : 4], 1}));
    Token token = kit_token(v == OTHER_TOKEN ? 9 : 8);
    CHECK_OK(orr_component_set(world, ids[4], KIT_TYPE(world, Token), &token));
    if (v != NO_TAG) {
        CHECK_OK(orr_tag_add(world, ids[5], v == OTHER_TAG ? 78 : 77));
    }
    orr_string text = orr_string_make(world, v == OTHER_BLOB ? "bea" : "bee");
    CHECK_OK(orr_set(world, ids[6], Label, {text, 1}));
    int32_t numbers[3] = {1, 2, v == OTHER_ARRAY ? 4 : 3};
    CHECK_OK(orr_set(world, ids[7], List, {orr_array_make(world, numbers, 3, 4)}));
    if (v == MARKER_MORE) {
        CHECK_OK(orr_add(world, ids[7], Frozen));
    }
    CHECK_OK(orr_tag_register(world, 77, v == OTHER_TAG_NAME ? "level2" : "level1"));
}

static void hash_build(orr_world* world, hash_variant v)
{
    orr_entity ids[10];
    hash_people(world, v, ids);
    orr_tick_advance(world);
    if (v == WRITTEN_LATER) { // The same value, in another tick.
        orr_edit(world, ids[0], Position)->x = 1;
    }
    if (v == OTHER_TICK) {
        orr_tick_advance(world);
    }
    if (v == COMPONENT_OFF) {
        CHECK_OK(orr_enable(world, ids[2], Position, false));
    }
    if (v == ENTITY_OFF) {
        CHECK_OK(orr_entity_enable(world, ids[2], false));
    }
    if (v == ONE_CLUSTER_MORE) {
        (void)KIT_CLUSTER(world, Position, Velocity);
    }
    if (v == CLUSTER_NUMBER_USED) {
        CHECK_OK(orr_cluster_delete(world, KIT_CLUSTER(world, Position, Velocity)));
    }
    if (v == ONE_ENTITY_MORE) {
        CHECK(orr_create(world).id != 0);
    }
    if (v == ONE_ID_USED) {
        CHECK_OK(orr_destroy(world, orr_create(world)));
    }
    CHECK_OK(orr_destroy(world, ids[v == FREE_LIST_ORDER ? 9 : 8]));
    CHECK_OK(orr_destroy(world, ids[v == FREE_LIST_ORDER ? 8 : 9]));
}

static uint64_t hash_of(hash_variant v, uint8_t fill)
{
    kit k = {0};
    k.memory.fresh_byte = fill;
    orr_world_desc desc = {.seed = v == OTHER_SEED ? 2 : 1, .id_salt = v == OTHER_SALT ? 2 : 1};
    orr_world* world = kit_begin(&k, &desc);
    hash_build(world, v);
    uint64_t hash = orr_world_hash(world);
    CHECK_EQ(orr_world_hash(world), hash);
    kit_end(&k);
    return hash;
}

ORR_TEST(hash_equal_for_equal_histories_whatever_fresh_memory_holds)
{
    uint64_t hash = hash_of(SAME, 0xAA);
    CHECK_EQ(hash_of(SAME, 0xAA), hash);
    CHECK_EQ(hash_of(SAME, 0x55), hash);
    CHECK_EQ(hash_of(SAME, 0xFF), hash);
}

ORR_TEST(hash_differs_for_every_kind_of_single_difference)
{
    uint64_t hashes[VARIANT_COUNT];
    for (int v = 0; v < VARIANT_COUNT; v++) {
        hashes[v] = hash_of((hash_variant)v, 0xAA);
        for (int other = 0; other < v; other++) {
            if (hashes[v] == hashes[other]) {
                test_fail(__FILE__, __LINE__, "variants %d and %d have the same hash", v, other);
            }
        }
    }
}

// Allocates something in between, so that addresses differ.
static void* shifted_alloc(void* user, size_t size, size_t align)
{
    orr_allocator inner = failing_alloc_allocator(user);
    void* between = inner.alloc(inner.user, 48 + size % 3 * 64, 16);
    void* ptr = inner.alloc(inner.user, size, align);
    inner.free(inner.user, between, 48 + size % 3 * 64, 16);
    return ptr;
}

static void shifted_free(void* user, void* ptr, size_t size, size_t align)
{
    orr_allocator inner = failing_alloc_allocator(user);
    inner.free(inner.user, ptr, size, align);
}

ORR_TEST(hash_independent_of_addresses)
{
    failing_alloc memory = {.fill = true, .fresh_byte = 0x33};
    kit_tokens_reset();
    orr_world_desc desc = {
        .seed = 1, .id_salt = 1, .allocator = {shifted_alloc, shifted_free, &memory}};
    orr_world* world = orr_world_create(&desc);
    hash_build(world, SAME);
    CHECK_EQ(orr_world_hash(world), hash_of(SAME, 0xAA));
    orr_world_destroy(world);
    failing_alloc_check(&memory);
}

ORR_TEST(hash_updated_after_each_change_equals_hash_calculated_once)
{
    for (int v = 0; v < VARIANT_COUNT; v++) {
        kit k = {0};
        orr_world_desc desc = {.seed = v == OTHER_SEED ? 2 : 1, .id_salt = v == OTHER_SALT ? 2 : 1};
        orr_world* world = kit_begin(&k, &desc);
        orr_entity ids[10];
        (void)orr_world_hash(world);
        hash_people(world, (hash_variant)v, ids);
        (void)orr_world_hash(world);
        CHECK_OK(orr_destroy(world, ids[0]));
        (void)orr_world_hash(world);
        orr_edit(world, ids[1], Position)->x = 12;
        uint64_t often = orr_world_hash(world);
        kit_end(&k);

        world = kit_begin(&k, &desc);
        hash_people(world, (hash_variant)v, ids);
        CHECK_OK(orr_destroy(world, ids[0]));
        orr_edit(world, ids[1], Position)->x = 12;
        CHECK_EQ(orr_world_hash(world), often);
        kit_end(&k);
    }
}

ORR_TEST(hash_ignores_padding_also_when_written_raw)
{
    uint64_t hashes[2];
    for (int round = 0; round < 2; round++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        orr_cluster cluster = KIT_CLUSTER(world, Padded, Link);
        CHECK_OK(orr_create_many(world, cluster, 50, NULL, 0, NULL));
        Padded* column = orr_column_write(world, cluster, 0, KIT_TYPE(world, Padded));
        for (uint32_t i = 0; i < 50; i++) {
            memset(&column[i], round == 0 ? 0x00 : 0xEE, sizeof column[i]);
            column[i].a = 1;
            column[i].b = 2;
            column[i].c = 3;
        }
        Link* links = orr_column_write(world, cluster, 0, KIT_TYPE(world, Link));
        for (uint32_t i = 0; i < 50; i++) {
            memset(&links[i], round == 0 ? 0x11 : 0x77, sizeof links[i]);
            links[i].target = (orr_entity){0};
            links[i].weight = i;
        }
        hashes[round] = orr_world_hash(world);
        kit_end(&k);
    }
    CHECK_EQ(hashes[0], hashes[1]);
}

ORR_TEST(hash_is_equal_for_all_nans)
{
    uint64_t hashes[3];
    uint32_t bits[3] = {0x7FC00000u, 0xFFC12345u, 0x7F800001u};
    for (int i = 0; i < 3; i++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        orr_entity bob = orr_create_in(world, KIT_CLUSTER(world, Velocity));
        memcpy(&orr_edit(world, bob, Velocity)->y, &bits[i], sizeof bits[i]);
        hashes[i] = orr_world_hash(world);
        kit_end(&k);
    }
    CHECK_EQ(hashes[0], hashes[1]);
    CHECK_EQ(hashes[0], hashes[2]);
}

ORR_TEST(hash_of_a_component_disabled_and_enabled_again_is_as_before)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create_in(world, KIT_CLUSTER(world, Position));
    uint64_t before = orr_world_hash(world);
    CHECK_OK(orr_enable(world, bob, Position, false));
    CHECK(orr_world_hash(world) != before);
    CHECK_OK(orr_enable(world, bob, Position, true));
    CHECK_EQ(orr_world_hash(world), before);
    kit_end(&k);
}

ORR_TEST(hash_ignores_types_without_entities)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    CHECK(orr_create(world).id != 0);
    uint64_t before = orr_world_hash(world);
    CHECK(KIT_TYPE(world, Big).id != 0);
    CHECK_EQ(orr_world_hash(world), before);
    kit_end(&k);
}

ORR_TEST(hash_while_an_appender_is_open_has_no_effect)
{
    uint64_t hashes[2];
    for (int ask = 0; ask < 2; ask++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        orr_cluster cluster = KIT_CLUSTER(world, Position);
        CHECK_OK(orr_create_many(world, cluster, 3, NULL, 0, NULL));
        orr_appender appender;
        CHECK_OK(orr_append_begin(world, cluster, NULL, 0, &appender));
        CHECK(orr_append(&appender) != ORR_APPEND_NONE);
        if (ask) {
            (void)orr_world_hash(world);
        }
        orr_append_end(&appender);
        hashes[ask] = orr_world_hash(world);
        kit_end(&k);
    }
    CHECK_EQ(hashes[0], hashes[1]);
}

ORR_TEST(hash_covers_rows_that_were_removed_without_a_write)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    orr_entity ids[3];
    CHECK_OK(orr_create_many(world, cluster, 3, NULL, 0, ids));
    uint64_t three = orr_world_hash(world);
    CHECK_OK(orr_destroy(world, ids[2]));
    uint64_t two = orr_world_hash(world);
    CHECK(two != three);
    CHECK_OK(orr_cluster_clear(world, cluster));
    CHECK(orr_world_hash(world) != two);
    kit_end(&k);
}
