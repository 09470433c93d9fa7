// SPDX-License-Identifier: MIT
// Predicted ids: creations get the predicted ids in any order; ids that were skipped come next.
#include "store/change/change_set.h"
#include "store/cow/share.h"
#include "support/store_kit.h"
#include "test.h"

static orr_entity nth(const orr_world* world, uint32_t position)
{
    orri_index_cursor cursor = {0};
    return orri_index_nth(world, &cursor, position);
}

static void check_valid(kit* k)
{
    if (orr_world_validate(k->world) != ORR_OK) {
        test_fail(__FILE__, __LINE__, "%s", k->errors.text);
    }
}

// ---- ids given ahead ----------------------------------------------------------------------------

ORR_TEST(index_nth_predicts_the_next_ids)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.entities_max = 6});
    orr_entity e[6], promised[6];
    for (uint32_t i = 0; i < 4; i++) {
        e[i] = orr_create(world);
    }
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_OK(orr_destroy(world, e[i])); // The free list is 2, 1, 0.
    }
    orri_index_cursor cursor = {0};
    for (uint32_t i = 0; i < 5; i++) {
        promised[i] = orri_index_nth(world, &cursor, i);
    }
    CHECK_EQ((uint32_t)promised[0].id, 2);
    CHECK_EQ((uint32_t)promised[4].id, 5);
    CHECK_EQ(orri_index_nth(world, &cursor, 5).id, 0); // entities_max.
    CHECK_EQ(orri_index_nth(world, &cursor, UINT32_MAX).id, 0);
    CHECK_EQ(orri_index_nth(world, &cursor, 2).id, promised[2].id);
    CHECK_EQ(orri_index_nth(world, &cursor, 1).id, promised[1].id); // Back.
    for (uint32_t i = 0; i < 5; i++) {
        CHECK_EQ(orr_create(world).id, promised[i].id);
    }
    CHECK_EQ(orr_create(world).id, 0);
    kit_end(&k);
}

// Promotes some positions and sees what is then given.
static void check_promoted(uint32_t free_count, const uint32_t* positions, uint32_t count,
                           const uint32_t* expected, uint32_t expected_count)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity e[8], ids[8];
    for (uint32_t i = 0; i < free_count; i++) {
        e[i] = orr_create(world);
    }
    for (uint32_t i = free_count; i-- > 0;) {
        CHECK_OK(orr_destroy(world, e[i])); // The free list is 0, 1, 2 …
    }
    orri_share* page = free_count > 0 ? orri_share_page(world, 0, ORRI_SHARE_FROZEN)
                                      : NULL; // Held.
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = nth(world, positions[i]);
        CHECK_EQ((uint32_t)ids[i].id, positions[i]);
    }
    CHECK(orri_index_promote(world, ids, count));
    check_valid(&k);
    for (uint32_t i = 0; i < expected_count; i++) {
        orr_entity given = orr_create(world);
        CHECK_EQ((uint32_t)given.id, expected[i]);
        CHECK(i >= count || given.id == ids[i].id);
        check_valid(&k);
    }
    if (page != NULL) {
        orri_share_release(world, page);
    }
    kit_end(&k);
}

ORR_TEST(index_promote_moves_ids_to_the_head)
{
#define PROMOTED(free, positions, expected) \
    check_promoted(free, positions, ORRI_COUNT(positions), expected, ORRI_COUNT(expected))
    // In line already: from the free list, fresh, both.
    PROMOTED(3, ((uint32_t[]){0, 1}), ((uint32_t[]){0, 1, 2, 3}));
    PROMOTED(0, ((uint32_t[]){0, 1}), ((uint32_t[]){0, 1, 2}));
    PROMOTED(2, ((uint32_t[]){0, 1, 2, 3}), ((uint32_t[]){0, 1, 2, 3, 4}));
    // The skipped ones of the free list keep their order behind.
    PROMOTED(5, ((uint32_t[]){3, 1}), ((uint32_t[]){3, 1, 0, 2, 4, 5}));
    PROMOTED(3, ((uint32_t[]){2}), ((uint32_t[]){2, 0, 1, 3}));
    // Skipped fresh ones below the largest are next, the lowest first.
    PROMOTED(0, ((uint32_t[]){4, 1}), ((uint32_t[]){4, 1, 0, 2, 3, 5}));
    PROMOTED(2, ((uint32_t[]){5, 1}), ((uint32_t[]){5, 1, 2, 3, 4, 0, 6}));
    // Nothing is left on the list: the end of the line stays fresh.
    PROMOTED(2, ((uint32_t[]){1, 0, 2, 3}), ((uint32_t[]){1, 0, 2, 3, 4}));
    PROMOTED(1, ((uint32_t[]){2, 0, 1, 3, 4}), ((uint32_t[]){2, 0, 1, 3, 4, 5}));
    PROMOTED(1, ((uint32_t[]){3, 0, 1, 2}), ((uint32_t[]){3, 0, 1, 2, 4}));
#undef PROMOTED
}

ORR_TEST(index_promote_refuses_ids_not_in_the_queue)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.entities_max = 20});
    orr_entity bob = orr_create(world), dead = orr_create(world), ahead = nth(world, 3);
    CHECK_OK(orr_destroy(world, dead));
    uint64_t hash = orr_world_hash(world);
    orr_entity wrong[][2] = {{bob, ahead},
                             {dead, ahead},
                             {ahead, ahead},
                             {nth(world, 0), nth(world, 0)},
                             {{ahead.id + ((uint64_t)1 << 32)}, ahead},
                             {{(uint64_t)1 << 32 | 19}, {(uint64_t)1 << 32 | 20}}};
    for (uint32_t i = 0; i < ORRI_COUNT(wrong); i++) {
        CHECK(!orri_index_promote(world, wrong[i], 2));
        CHECK_EQ(k.errors.result, i + 1 < ORRI_COUNT(wrong) ? ORR_ERR_ARGUMENT : ORR_ERR_CAPACITY);
        CHECK_EQ(orr_world_hash(world), hash);
        check_valid(&k);
    }
    kit_end(&k);
}
