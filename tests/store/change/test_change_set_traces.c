// SPDX-License-Identifier: MIT
// The marks that change sets leave in blocks: the tick of the write wherever rows were added,
// removed or changed, cleared padding, and enable bits that are on.
#include "store/change/change_set.h"
#include "support/pinned_kit.h"
#include "test.h"

static orr_result apply(orr_world* world, const orri_group* group)
{
    return orri_change_set_apply(
        world, &(orri_change_set_desc){.call = "test", .groups = group, .count = 1});
}

static orr_entity next_id(const orr_world* world)
{
    orri_index_cursor cursor = {0};
    return orri_index_nth(world, &cursor, 0);
}

// Three rows of Position in tick 1; then it is tick 2.
static orr_world* begin_three(kit* k, orr_entity* e)
{
    orr_world* world = kit_begin(k, NULL);
    orr_tick_advance(world);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), 3, NULL, 0, e));
    (void)KIT_CLUSTER(world, Position, Velocity);
    orr_tick_advance(world);
    return world;
}

static uint64_t tick_of(const orr_world* world, orr_cluster cluster)
{
    return orr_column_tick(world, cluster, 0,
                           orr_type_of((orr_world*)(uintptr_t)world, ORR_TYPE(Position)));
}

// ---- ticks --------------------------------------------------------------------------------------

// Also the last row, which leaves no gap to be filled.
ORR_TEST(apply_move_stamps_source_and_target)
{
    for (uint32_t i = 0; i < 3; i++) {
        kit k = {0};
        orr_entity e[3];
        orr_world* world = begin_three(&k, e);
        orr_cluster from = KIT_CLUSTER(world, Position);
        orr_cluster to = KIT_CLUSTER(world, Position, Velocity);
        CHECK_EQ(tick_of(world, from), 1);
        orri_given given = {KIT_TYPE(world, Velocity), NULL};
        orri_group group = {.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = &e[i],
                            .count = 1,
                            .given = &given,
                            .given_count = 1};
        CHECK_OK(apply(world, &group));
        CHECK_EQ(tick_of(world, from), 2);
        CHECK_EQ(tick_of(world, to), 2);
        kit_end(&k);
    }
}

ORR_TEST(apply_destroy_stamps_the_chunk)
{
    for (uint32_t i = 0; i < 3; i++) {
        kit k = {0};
        orr_entity e[3];
        orr_world* world = begin_three(&k, e);
        orri_group group = {.kind = ORRI_CHANGE_KIND_DESTROY, .entities = &e[i], .count = 1};
        CHECK_OK(apply(world, &group));
        CHECK_EQ(tick_of(world, KIT_CLUSTER(world, Position)), 2);
        kit_end(&k);
    }
}

ORR_TEST(apply_creation_and_values_stamp_the_chunk)
{
    kit k = {0};
    orr_entity e[3];
    orr_world* world = begin_three(&k, e);
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    orr_entity made = next_id(world);
    orri_group create = {
        .kind = ORRI_CHANGE_KIND_CREATE, .entities = &made, .count = 1, .cluster = cluster};
    CHECK_OK(apply(world, &create));
    CHECK_EQ(tick_of(world, cluster), 2);
    orr_tick_advance(world);
    Position value = {1, 2, 3};
    orri_given given = {KIT_TYPE(world, Position), (const uint8_t*)&value};
    orri_group change = {.kind = ORRI_CHANGE_KIND_CHANGE,
                         .entities = &made,
                         .count = 1,
                         .given = &given,
                         .given_count = 1};
    CHECK_OK(apply(world, &change));
    CHECK_EQ(tick_of(world, cluster), 3);
    kit_end(&k);
}

// ---- padding ------------------------------------------------------------------------------------

static orri_given dirty(orr_type type, Padded* values, uint32_t count, uint8_t byte)
{
    memset(values, byte, count * sizeof *values);
    for (uint32_t i = 0; i < count; i++) {
        values[i].a = (uint8_t)i;
        values[i].b = 2;
        values[i].c = 3;
    }
    return (orri_given){type, (const uint8_t*)values};
}

// Padding must not matter, whichever way a value is written: to a new column, to an existing one,
// alone or in a run, in a group in which rows move and in one in which none does, or pinned.
static uint64_t padded_hash(uint8_t byte)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity e[6];
    Padded values[6];
    Loose loose;
    orr_type padded = KIT_TYPE(world, Padded);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), 6, NULL, 0, e));
    orri_given given[2] = {dirty(padded, values, 6, byte)};
    static const orr_tag tag = 5;
    orri_group group = {.kind = ORRI_CHANGE_KIND_CHANGE, .given = given, .given_count = 1};
    group.entities = e, group.count = 1;
    CHECK_OK(apply(world, &group)); // New, alone.
    group.entities = e + 1, group.count = 3;
    CHECK_OK(apply(world, &group)); // New, in a run.
    group.entities = e, group.count = 2;
    CHECK_OK(apply(world, &group)); // Existing.
    group.entities = e + 1, group.count = 2, group.tags_on = &tag, group.tag_on_count = 1;
    CHECK_OK(apply(world, &group)); // Existing, and the rows move.
    memset(&loose, byte, sizeof loose);
    loose.a = 1, loose.b = 2, loose.c = 3;
    given[1] = (orri_given){KIT_TYPE(world, Loose), (const uint8_t*)&loose};
    orri_group pinned = {.kind = ORRI_CHANGE_KIND_CHANGE,
                         .entities = e + 5,
                         .count = 1,
                         .given = given + 1,
                         .given_count = 1};
    CHECK_OK(apply(world, &pinned)); // New, pinned.
    CHECK_OK(apply(world, &pinned)); // Existing, pinned.
    // The bytes themselves, too: comparing blocks with memcmp() finds no difference.
    const uint8_t* bytes = (const uint8_t*)orr_get(world, e[1], Padded);
    CHECK_EQ(bytes[1], 0);
    CHECK_EQ(((const uint8_t*)orr_get(world, e[3], Padded))[1], 0);
    CHECK_EQ(((const uint8_t*)orr_get(world, e[0], Padded))[1], 0);
    CHECK_EQ(((const uint8_t*)orr_get(world, e[5], Loose))[1], 0);
    uint64_t hash = orr_world_hash(world);
    kit_end(&k);
    return hash;
}

ORR_TEST(apply_clears_padding_of_given_values)
{
    CHECK(padded_hash(0x11) == padded_hash(0xEE));
}

// ---- bits ---------------------------------------------------------------------------------------

// A row in the place of a disabled one.
ORR_TEST(apply_creations_are_enabled)
{
    kit k = {0};
    orr_entity e[3];
    orr_world* world = begin_three(&k, e);
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_OK(orr_entity_enable(world, e[i], false));
        CHECK_OK(orr_enable(world, e[i], Position, false));
    }
    CHECK_OK(orr_destroy(world, e[2]));
    orr_entity made = next_id(world);
    orri_group create = {
        .kind = ORRI_CHANGE_KIND_CREATE, .entities = &made, .count = 1, .cluster = cluster};
    CHECK_OK(apply(world, &create));
    CHECK(orr_entity_enabled(world, made) && orr_enabled(world, made, Position));
    CHECK(!orr_entity_enabled(world, e[1]) && !orr_enabled(world, e[0], Position));
    kit_end(&k);
}
