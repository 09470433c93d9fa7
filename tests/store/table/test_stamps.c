// SPDX-License-Identifier: MIT
// Change ticks and versions: every write stamps its block, and only its block.
#include "support/store_kit.h"
#include "test.h"

#define CAPACITY ORR_CHUNK_CAPACITY

typedef struct stamps {
    orr_world* world;
    orr_cluster cluster;
    orr_type position, velocity;
    orr_entity ids[CAPACITY * 2];
} stamps;

static void stamps_begin(stamps* s, kit* k)
{
    s->world = kit_begin(k, NULL);
    s->cluster = KIT_CLUSTER(s->world, Position, Velocity);
    s->position = KIT_TYPE(s->world, Position);
    s->velocity = KIT_TYPE(s->world, Velocity);
    CHECK_OK(orr_create_many(s->world, s->cluster, CAPACITY * 2, NULL, 0, s->ids));
    orr_tick_advance(s->world);
}

// Ticks of Position in chunks 0 and 1, of Velocity in chunks 0 and 1.
static void check_ticks(const stamps* s, uint64_t p0, uint64_t p1, uint64_t v0, uint64_t v1)
{
    CHECK_EQ(orr_column_tick(s->world, s->cluster, 0, s->position), p0);
    CHECK_EQ(orr_column_tick(s->world, s->cluster, 1, s->position), p1);
    CHECK_EQ(orr_column_tick(s->world, s->cluster, 0, s->velocity), v0);
    CHECK_EQ(orr_column_tick(s->world, s->cluster, 1, s->velocity), v1);
}

static stamps s;

ORR_TEST(change_reading_stamps_nothing)
{
    kit k = {0};
    stamps_begin(&s, &k);
    (void)orr_component_get(s.world, s.ids[0], s.position);
    (void)orr_column_read(s.world, s.cluster, 0, s.position);
    uint32_t count = 1;
    (void)orr_span_read(s.world, s.cluster, s.position, 0, &count);
    Position out;
    CHECK_OK(orr_component_get_many(s.world, s.ids, 1, s.position, &out));
    (void)orr_world_hash(s.world);
    CHECK_OK(orr_world_validate(s.world));
    check_ticks(&s, 0, 0, 0, 0);
    kit_end(&k);
}

ORR_TEST(change_by_entity_stamps_its_block_alone)
{
    kit k = {0};
    stamps_begin(&s, &k);
    orr_component_edit(s.world, s.ids[CAPACITY + 3], s.position);
    check_ticks(&s, 0, 1, 0, 0);
    orr_tick_advance(s.world);
    CHECK_OK(orr_component_set(s.world, s.ids[5], s.velocity, &(Velocity){1, 2}));
    check_ticks(&s, 0, 1, 2, 0);
    orr_tick_advance(s.world);
    CHECK(orr_column_write(s.world, s.cluster, 0, s.position) != NULL);
    check_ticks(&s, 3, 1, 2, 0);
    orr_tick_advance(s.world);
    orr_address address;
    CHECK_OK(orr_address_get(s.world, s.ids[CAPACITY], &address));
    CHECK(orr_address_write(s.world, &address, s.velocity) != NULL);
    check_ticks(&s, 3, 1, 2, 4);
    orr_tick_advance(s.world);
    Position values[2] = {{1, 1, 1}, {2, 2, 2}};
    CHECK_OK(orr_component_set_many(s.world, s.ids + 10, 2, s.position, values));
    check_ticks(&s, 5, 1, 2, 4);
    kit_end(&k);
}

ORR_TEST(change_of_rows_stamps_all_columns_of_the_touched_chunks)
{
    kit k = {0};
    stamps_begin(&s, &k);
    CHECK_OK(orr_destroy(s.world, s.ids[CAPACITY * 2 - 1])); // The last row, in chunk 1.
    check_ticks(&s, 0, 1, 0, 1);
    orr_tick_advance(s.world);
    CHECK_OK(orr_destroy(s.world, s.ids[0])); // Its gap is filled from chunk 1.
    check_ticks(&s, 2, 2, 2, 2);
    orr_tick_advance(s.world);
    CHECK(orr_create_in(s.world, s.cluster).id != 0); // At the end, in chunk 1.
    check_ticks(&s, 2, 3, 2, 3);
    kit_end(&k);
}

ORR_TEST(change_of_enable_bits_does_not_stamp_values)
{
    kit k = {0};
    stamps_begin(&s, &k);
    CHECK_OK(orr_component_enable(s.world, s.ids[0], s.position, false));
    CHECK_OK(orr_entity_enable(s.world, s.ids[1], false));
    check_ticks(&s, 0, 0, 0, 0);
    kit_end(&k);
}

ORR_TEST(change_refused_stamps_nothing)
{
    kit k = {0};
    stamps_begin(&s, &k);
    CHECK_RESULT(orr_component_set(s.world, s.ids[0], s.position, NULL), ORR_ERR_ARGUMENT);
    orr_entity twice[2] = {s.ids[0], s.ids[0]};
    CHECK_RESULT(orr_destroy_many(s.world, twice, 2), ORR_ERR_ARGUMENT);
    CHECK(orr_component_edit(s.world, s.ids[0], KIT_TYPE(s.world, Health)) == NULL);
    check_ticks(&s, 0, 0, 0, 0);
    kit_end(&k);
}

ORR_TEST(change_version_grows_with_each_tick_of_a_write_and_never_decreases)
{
    kit k = {0};
    stamps_begin(&s, &k);
    uint64_t last = orr_column_version(s.world, s.cluster, 0, s.position);
    uint64_t other = orr_column_version(s.world, s.cluster, 1, s.position);
    CHECK(last > 0);
    for (uint32_t i = 0; i < 5; i++) {
        orr_component_edit(s.world, s.ids[0], s.position);
        uint64_t version = orr_column_version(s.world, s.cluster, 0, s.position);
        CHECK(version > last);
        orr_component_edit(s.world, s.ids[1], s.position);
        last = orr_column_version(s.world, s.cluster, 0, s.position);
        CHECK(last >= version);
        orr_tick_advance(s.world);
        orr_tick_advance(s.world);
    }
    CHECK_EQ(orr_column_version(s.world, s.cluster, 1, s.position), other);
    // A block that is freed and allocated again is newer than any before.
    CHECK_OK(orr_cluster_clear(s.world, s.cluster));
    CHECK_EQ(orr_column_version(s.world, s.cluster, 0, s.position), 0);
    CHECK(orr_create_in(s.world, s.cluster).id != 0);
    CHECK(orr_column_version(s.world, s.cluster, 0, s.position) > last);
    kit_end(&k);
}

ORR_TEST(change_tick_and_version_of_absent_columns_are_zero)
{
    kit k = {0};
    stamps_begin(&s, &k);
    CHECK_EQ(orr_column_tick(s.world, s.cluster, 2, s.position), 0);
    CHECK_EQ(orr_column_version(s.world, s.cluster, 2, s.position), 0);
    CHECK_EQ(orr_column_version(s.world, s.cluster, 0, KIT_TYPE(s.world, Health)), 0);
    CHECK_EQ(orr_column_version(s.world, (orr_cluster){9, 9}, 0, s.position), 0);
    kit_end(&k);
}

ORR_TEST(change_hash_between_two_writes_of_a_tick_covers_both)
{
    kit k = {0};
    stamps_begin(&s, &k);
    Position* place = orr_component_edit(s.world, s.ids[0], s.position);
    place->x = 1;
    uint64_t first = orr_world_hash(s.world);
    place = orr_component_edit(s.world, s.ids[0], s.position);
    place->x = 2;
    CHECK(orr_world_hash(s.world) != first);
    place = orr_component_edit(s.world, s.ids[0], s.position);
    place->x = 1;
    CHECK_EQ(orr_world_hash(s.world), first);
    kit_end(&k);
}
