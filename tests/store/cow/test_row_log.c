// SPDX-License-Identifier: MIT
// Row logs: single rows are logged for a share instead of copying its block. Costs, shares that
// depend on each other, releasing in any order, and that all shares keep their values.
#include "store/cow/row_log.h"
#include "store/snapshot/snapshot_detail.h"
#include "support/store_kit.h"
#include "test.h"

#include <orrery/kinds.h>

#define ROWS  1500u // Of one chunk.
#define BLOCK (ROWS * sizeof(Position))
#define MANY  10u

ORR_STRUCT_EX(Splinter, (.multiplicity = ORR_MULTIPLE), (int32_t, size, (.preset = "7")))
ORR_STRUCT_EX(Anchor, (.storage = ORR_PINNED), (uint32_t, value))

typedef struct past {
    orri_snapshot* snapshot;
    uint64_t hash;
    Position values[ROWS];
} past;

typedef struct scene {
    kit kit;
    orr_world* world;
    orr_cluster cluster;
    orr_type position;
    orr_entity ids[ROWS];
    past pasts[MANY];
} scene;

static scene c;

static orri_chunk* chunk_of(void)
{
    return orri_cluster_at(c.world, c.cluster)->chunks[0];
}

static const Position* live(void)
{
    return orr_column_read(c.world, c.cluster, 0, c.position);
}

static void scene_begin(void)
{
    c = (scene){0};
    c.world = kit_begin(&c.kit, NULL);
    c.cluster = KIT_CLUSTER(c.world, Position, Health);
    c.position = KIT_TYPE(c.world, Position);
    CHECK_OK(orr_create_many(c.world, c.cluster, ROWS, NULL, 0, c.ids));
    Position* column = orr_column_write(c.world, c.cluster, 0, c.position);
    for (uint32_t i = 0; i < ROWS; i++) {
        column[i] = (Position){(float)i, 1, 2};
    }
}

static orri_share* share_of(uint32_t i)
{
    return c.pasts[i].snapshot->clusters[0]->chunks[0]->columns[0].share;
}

static void remember(uint32_t i)
{
    CHECK(c.pasts[i].snapshot == NULL);
    c.pasts[i].hash = orr_world_hash(c.world);
    c.pasts[i].snapshot = orri_snapshot_take(c.world);
    CHECK(c.pasts[i].snapshot != NULL);
    memcpy(c.pasts[i].values, live(), BLOCK);
}

static void forget(uint32_t i)
{
    orri_snapshot_release(c.world, c.pasts[i].snapshot);
    c.pasts[i].snapshot = NULL;
}

static void check_all(void)
{
    static Position values[ROWS];
    CHECK_OK(orr_world_validate(c.world));
    for (uint32_t i = 0; i < MANY; i++) {
        const orri_snapshot* snapshot = c.pasts[i].snapshot;
        if (snapshot != NULL && !orri_snapshot_lost(snapshot)) {
            CHECK_EQ(share_of(i)->size, BLOCK);
            CHECK(orri_snapshot_valid(snapshot));
            CHECK(orri_row_log_valid(share_of(i), UINT32_MAX));
            orri_row_log_read(share_of(i), values);
            CHECK_EQ(memcmp(values, c.pasts[i].values, BLOCK), 0);
        }
    }
}

static void go_back(uint32_t i)
{
    orri_restore* way = NULL;
    CHECK_OK(orri_snapshot_restore_prepare(c.world, c.pasts[i].snapshot, &way));
    orri_snapshot_restore(c.world, way);
    CHECK_EQ(memcmp(live(), c.pasts[i].values, BLOCK), 0);
    CHECK_EQ(orr_world_hash(c.world), c.pasts[i].hash);
    CHECK(orri_snapshot_same(c.world, c.pasts[i].snapshot));
    check_all();
}

static void scene_end(void)
{
    check_all();
    for (uint32_t i = 0; i < MANY; i++) {
        if (c.pasts[i].snapshot != NULL) {
            forget(i);
            check_all();
        }
    }
    CHECK_EQ(c.world->cow.live, 0);
    kit_end(&c.kit);
}

static void write_row(uint32_t row, float x)
{
    orr_edit(c.world, c.ids[row], Position)->x = x;
}

static void write_column(float x)
{
    ((Position*)orr_column_write(c.world, c.cluster, 0, c.position))[3].x = x;
}

// ---- costs --------------------------------------------------------------------------------------

ORR_TEST(row_log_row_written_by_entity_is_logged_without_a_copy)
{
    scene_begin();
    remember(0);
    uint64_t before = c.kit.memory.live_bytes, own, shared, own_after, shared_after;
    orri_snapshot_bytes(c.pasts[0].snapshot, 1, &own, &shared);
    write_row(7, 70);
    uint64_t more = c.kit.memory.live_bytes - before;
    CHECK(more > 0 && more < BLOCK / 16);
    CHECK(share_of(0) == chunk_of()->columns[0].share);
    CHECK_EQ(share_of(0)->log->count, 1);
    orri_snapshot_bytes(c.pasts[0].snapshot, 2, &own_after, &shared_after);
    CHECK_EQ(own_after, own + more); // orri_snapshot_bytes() counts all of it.
    CHECK_EQ(shared_after, shared);
    write_row(7, 71); // Logged already.
    CHECK_EQ(share_of(0)->log->count, 1);
    CHECK_EQ(c.kit.memory.live_bytes, before + more);
    CHECK(!orri_snapshot_same(c.world, c.pasts[0].snapshot));
    go_back(0);
    CHECK_EQ(c.kit.memory.live_bytes, before);
    scene_end();
}

ORR_TEST(row_log_every_way_to_write_one_value_logs_it)
{
    scene_begin();
    remember(0);
    CHECK_OK(orr_set(c.world, c.ids[1], Position, {9, 9, 9}));
    write_row(2, 9);
    Position values[2] = {{9, 8, 7}, {6, 5, 4}};
    CHECK_OK(orr_component_set_many(c.world, c.ids + 3, 2, c.position, values));
    orr_address address = {.entity = c.ids[5]};
    CHECK_OK(orr_address_get(c.world, c.ids[5], &address));
    ((Position*)orr_address_write(c.world, &address, c.position))->x = 4;
    CHECK_EQ(share_of(0)->log->count, 5);
    go_back(0);
    scene_end();
}

ORR_TEST(row_log_full_is_replaced_by_a_copy)
{
    scene_begin();
    remember(0);
    uint32_t most = ROWS >> ORRI_ROW_LOG_SHIFT;
    for (uint32_t i = 0; i < most; i++) {
        write_row(i * 3, 70);
    }
    CHECK(share_of(0)->attached != NULL);
    CHECK_EQ(share_of(0)->log->count, most);
    write_row(1, 70);
    CHECK(share_of(0)->attached == NULL && share_of(0)->log == NULL);
    CHECK(chunk_of()->columns[0].share == NULL);
    check_all();
    go_back(0);
    scene_end();
}

ORR_TEST(row_log_small_block_is_copied_at_once)
{
    scene_begin();
    orr_cluster few = KIT_CLUSTER(c.world, Position);
    orr_entity id = orr_create_in(c.world, few);
    remember(0);
    orr_edit(c.world, id, Position)->x = 3;
    CHECK(orri_cluster_at(c.world, few)->chunks[0]->columns[0].share == NULL);
    go_back(0);
    scene_end();
}

ORR_TEST(row_log_column_written_after_rows_keeps_all_values)
{
    scene_begin();
    remember(0);
    write_row(7, 70);
    remember(1);
    write_row(7, 71);
    write_row(8, 80);
    CHECK(share_of(0)->base == share_of(1));
    write_column(30);
    CHECK(share_of(1)->attached == NULL && share_of(1)->log == NULL);
    CHECK(share_of(0)->base == share_of(1)); // Still leaning.
    check_all();
    write_row(9, 90); // The block is not shared: nothing is logged.
    CHECK(chunk_of()->columns[0].share == NULL);
    go_back(0);
    go_back(1);
    go_back(0);
    scene_end();
}

ORR_TEST(row_log_write_raises_the_version)
{
    scene_begin();
    remember(0);
    uint64_t seen = orri_version_mark(c.world);
    CHECK(chunk_of()->columns[0].version <= seen);
    write_row(7, 70);
    CHECK(chunk_of()->columns[0].version > seen);
    CHECK(orri_cluster_at(c.world, c.cluster)->columns[0].version > seen);
    uint64_t hash = orr_world_hash(c.world);
    seen = orri_version_mark(c.world);
    CHECK(chunk_of()->columns[0].version <= seen);
    write_row(8, 70);
    CHECK(chunk_of()->columns[0].version > seen);
    CHECK(orr_world_hash(c.world) != hash);
    write_row(8, 8);
    CHECK_EQ(orr_world_hash(c.world), hash);
    scene_end();
}

// ---- rows that are added, removed and moved -----------------------------------------------------

// Bytes by which the world's memory grows during an act.
static uint64_t cost_of(void (*act)(void))
{
    uint64_t before = c.kit.memory.live_bytes;
    act();
    return c.kit.memory.live_bytes - before;
}

static void act_destroy(void)
{
    CHECK_OK(orr_destroy(c.world, c.ids[100]));
}

static void act_destroy_last(void)
{
    CHECK_OK(orr_destroy(c.world, c.ids[ROWS - 1]));
}

static void act_create(void)
{
    CHECK(orr_create_in(c.world, c.cluster).id != 0);
}

static void act_remove(void)
{
    CHECK_OK(orr_remove(c.world, c.ids[100], Health));
}

static void act_and_back(void)
{
    CHECK_OK(orr_remove(c.world, c.ids[100], Health));
    CHECK_OK(orr_set(c.world, c.ids[100], Health, {4, 4}));
}

static void act_destroy_and_create(void)
{
    act_destroy();
    act_create();
    act_create();
    act_destroy_last();
    CHECK_OK(orr_destroy(c.world, c.ids[7]));
}

ORR_TEST(row_log_row_added_removed_or_moved_is_logged_without_a_copy)
{
    void (*const acts[])(void) = {act_destroy, act_destroy_last, act_create,
                                  act_remove,  act_and_back,     act_destroy_and_create};
    for (uint32_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
        scene_begin();
        orr_entity other = orr_create(c.world); // The target cluster has a row already.
        CHECK_OK(orr_set(c.world, other, Position, {1, 1, 1}));
        remember(0);
        CHECK(cost_of(acts[i]) < BLOCK / 2); // Of three columns and two pages.
        check_all();
        CHECK(share_of(0)->attached != NULL);
        if (orr_chunk_count(c.world, c.cluster, 0) == ROWS) {
            remember(1);
            write_row(3, 70);
            check_all();
            go_back(1);
        }
        go_back(0);
        acts[i]();
        acts[i == 2 ? 1 : 2]();
        check_all();
        go_back(0);
        scene_end();
    }
}

// Shares with more rows than their base, and with fewer.
ORR_TEST(row_log_chain_over_added_and_removed_rows_keeps_all_values)
{
    for (uint32_t way = 0; way < 8; way++) {
        scene_begin();
        orri_share* kept[6];
        uint32_t rows[6];
        static Position values[6][ROWS + 2];
        for (uint32_t i = 0; i < 6; i++) {
            kept[i] = orri_share_column(c.world, chunk_of(), 0, ORRI_SHARE_HISTORY);
            CHECK(kept[i] != NULL);
            rows[i] = kept[i]->rows;
            memcpy(values[i], live(), kept[i]->size);
            CHECK_OK(orr_destroy(c.world, c.ids[i + 20]));
            for (uint32_t k = 0; k < i % 3; k++) {
                act_create();
            }
            write_row(i, 7);
        }
        static Position read[ROWS + 2];
        for (uint32_t step = 0; step < 6; step++) {
            CHECK_OK(orr_world_validate(c.world));
            for (uint32_t i = 0; i < 6; i++) {
                if (kept[i] != NULL) {
                    CHECK_EQ(kept[i]->rows, rows[i]);
                    orri_row_log_read(kept[i], read);
                    CHECK_EQ(memcmp(read, values[i], kept[i]->size), 0);
                }
            }
            uint32_t at = (step * 5 + way * 7 + way / 4) % 6; // 5 and 6 have no common factor.
            orri_share_release(c.world, kept[at]);
            kept[at] = NULL;
            if (step == 2 && way % 2 == 1) {
                write_column(3);
            }
        }
        scene_end();
    }
}

ORR_TEST(row_log_restores_instances_and_pinned_values)
{
    scene_begin();
    orr_entity shards[200];
    for (uint32_t i = 0; i < 200; i++) {
        shards[i] = orr_create(c.world);
        CHECK(orr_instance_add(c.world, shards[i], KIT_TYPE(c.world, Splinter), NULL) != 0);
        CHECK(orr_instance_add(c.world, shards[i], KIT_TYPE(c.world, Splinter), NULL) != 0);
        CHECK_OK(orr_set(c.world, shards[i], Anchor, {i}));
    }
    const void* pinned = orr_get(c.world, shards[3], Anchor);
    c.world->cow.row_log_least = 0;
    remember(0);
    uint64_t before = c.kit.memory.live_bytes;
    const orr_component_id* ids;
    orr_type splinter = KIT_TYPE(c.world, Splinter);
    CHECK_EQ(orr_instances_get(c.world, shards[3], splinter, NULL, &ids), 2);
    ((Splinter*)orr_instance_edit(c.world, shards[3], splinter, ids[1]))->size = 9;
    CHECK_OK(orr_instance_remove(c.world, shards[3], splinter, ids[0]));
    CHECK(c.kit.memory.live_bytes - before < 1000);
    orr_edit(c.world, shards[3], Anchor)->value =
        77; // The block is copied: the value stays where it is.
    remember(1);
    orr_edit(c.world, shards[4], Anchor)->value = 78;
    CHECK(orr_instance_add(c.world, shards[3], KIT_TYPE(c.world, Splinter), NULL) != 0);
    go_back(0);
    CHECK(orr_get(c.world, shards[3], Anchor) == pinned &&
          orr_get(c.world, shards[3], Anchor)->value == 3);
    go_back(1);
    CHECK_EQ(orr_get(c.world, shards[3], Anchor)->value, 77);
    go_back(0);
    scene_end();
}

// ---- several snapshots --------------------------------------------------------------------------

ORR_TEST(row_log_row_written_in_each_tick_is_logged_in_each)
{
    scene_begin();
    for (uint32_t i = 0; i < MANY; i++) {
        orr_tick_advance(c.world);
        remember(i);
        write_row(7, (float)(100 + i));
    }
    for (uint32_t i = 0; i < MANY; i++) {
        CHECK_EQ(share_of(i)->log->count, 1);
    }
    check_all();
    go_back(3);
    go_back(8);
    go_back(0);
    go_back(9);
    scene_end();
}

// A chain of three, released in all orders; before that the world is restored, or a whole column is
// written.
ORR_TEST(row_log_chain_of_three_released_in_any_order_keeps_the_others)
{
    static const uint32_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                          {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (uint32_t way = 0; way < 24; way++) {
        scene_begin();
        for (uint32_t i = 0; i < 3; i++) {
            remember(i);
            write_row(5, (float)(10 + i)); // In all logs.
            write_row(20 + i, 1);          // In its own.
            write_row(30 + i % 2, (float)i);
        }
        if (way / 6 == 1) {
            go_back(2);
        } else if (way / 6 == 2) {
            go_back(0);
        } else if (way / 6 == 3) {
            write_column(99);
        }
        for (uint32_t i = 0; i < 3; i++) {
            forget(orders[way % 6][i]);
            check_all();
        }
        CHECK_EQ(c.world->cow.live, 0);
        scene_end();
    }
}

// Logs are merged beyond log_max, as long as they take less memory than a copy.
ORR_TEST(row_log_middle_of_chain_released_merges_its_log)
{
    scene_begin();
    c.world->cow.row_log_shift = 8; // Five rows.
    for (uint32_t i = 0; i < 3; i++) {
        remember(i);
        for (uint32_t k = 0; k < 3; k++) {
            write_row(10 * i + k, 5);
        }
    }
    forget(1);
    CHECK(share_of(0)->base != NULL && share_of(0)->log->count == 6);
    check_all();
    remember(3);
    write_row(10, 7);
    write_row(11, 7);
    forget(2);
    remember(4);
    write_row(11, 8);
    write_row(12, 8);
    forget(3); // No other share leans on it.
    remember(5);
    write_row(11, 9);
    write_row(13, 9);
    forget(4);
    check_all();
    scene_end();
    scene_begin();
    remember(0);
    write_row(1, 5);
    write_row(2, 5);
    remember(1);
    write_row(2, 6);
    write_row(3, 6);
    forget(1);
    CHECK_EQ(share_of(0)->log->count, 3);
    CHECK(share_of(0)->attached != NULL); // It has the world's block now.
    write_row(3, 7);                      // Logged already.
    CHECK_EQ(share_of(0)->log->count, 3);
    check_all();
    go_back(0);
    scene_end();
}

// After a restore snapshots of two futures may exist: both lean on their common past.
ORR_TEST(row_log_two_futures_lean_on_one_past_without_holders)
{
    scene_begin();
    remember(0);
    write_row(1, 5);
    remember(1);
    write_row(2, 5);
    remember(2);
    go_back(0);
    write_row(3, 5);
    remember(3);
    write_row(4, 5);
    go_back(1);
    write_row(6, 5);
    remember(4);
    forget(1); // Several shares lean on it.
    check_all();
    forget(0);
    check_all();
    go_back(2);
    go_back(3);
    go_back(4);
    forget(2);
    check_all();
    go_back(3);
    forget(4);
    scene_end();
}

// ---- frozen shares, handing over, refused memory ------------------------------------------------

ORR_TEST(row_log_frozen_share_keeps_its_block_and_logs_nothing)
{
    scene_begin();
    remember(0);
    write_row(7, 70);
    orri_share* frozen = orri_share_column(c.world, chunk_of(), 0, ORRI_SHARE_FROZEN);
    CHECK(frozen != share_of(0) && share_of(0)->base == frozen);
    const Position* place = frozen->data;
    Position then = place[8];
    write_row(8, 80);
    CHECK(frozen->data == place && live() != place && frozen->log == NULL);
    CHECK_EQ(memcmp(&place[8], &then, sizeof then), 0);
    check_all();
    orri_share_release(c.world, frozen); // The share that leaned on it has its block now.
    CHECK(share_of(0)->data == place);
    check_all();
    go_back(0);
    scene_end();
}

ORR_TEST(row_log_frozen_share_keeps_its_block_when_the_world_is_restored)
{
    scene_begin();
    remember(0);
    write_row(7, 70);
    remember(1);
    orri_share* frozen = orri_share_column(c.world, chunk_of(), 0, ORRI_SHARE_FROZEN);
    CHECK(frozen == share_of(1));
    const Position* place = frozen->data;
    go_back(0);
    CHECK(frozen->data == place && live() != place);
    CHECK_EQ(memcmp(place, c.pasts[1].values, BLOCK), 0);
    write_row(8, 80);
    check_all();
    orri_share_unfreeze(c.world, frozen);
    orri_share_release(c.world, frozen);
    go_back(1);
    go_back(0);
    scene_end();
}

ORR_TEST(row_log_rows_are_put_back_when_the_block_is_handed_over)
{
    for (uint32_t way = 0; way < 3; way++) {
        scene_begin();
        remember(0);
        write_row(7, 70);
        remember(1);
        write_row(7, 71);
        write_row(8, 80);
        if (way == 0) {
            CHECK_OK(orr_entities_destroy_all(c.world));
        } else if (way == 1) {
            CHECK_OK(orr_cluster_delete(c.world, c.cluster));
        } else { // All rows change cluster, with their blocks.
            CHECK_OK(orr_rows_move_all(c.world, c.cluster,
                                       KIT_CLUSTER(c.world, Position, Health, Velocity)));
            check_all();
            CHECK_OK(orr_set(c.world, c.ids[9], Position, {4, 4, 4}));
        }
        check_all();
        go_back(0);
        go_back(1);
        go_back(0);
        scene_end();
    }
}

ORR_TEST(row_log_refused_memory_loses_the_share_but_not_the_write)
{
    for (uint64_t n = 1, refused = 1; refused > 0; n++) {
        for (uint32_t for_good = 0; for_good < 2; for_good++) {
            scene_begin();
            remember(0);
            write_row(7, 70);
            remember(1);
            c.kit.errors.count = 0;
            failing_alloc_arm(&c.kit.memory, n, for_good);
            for (uint32_t i = 0; i < 20; i++) {
                write_row(3 * i, 5);
            }
            refused = c.kit.memory.refused;
            failing_alloc_arm(&c.kit.memory, 0, false);
            CHECK_EQ(c.kit.errors.count, 0);
            for (uint32_t i = 0; i < 20; i++) {
                CHECK_EQ(live()[3 * i].x, 5);
            }
            bool lost = orri_snapshot_lost(c.pasts[1].snapshot);
            CHECK(lost == (refused > 0 && for_good != 0)); // Otherwise it has a copy.
            // The share that leans on it, too.
            CHECK(orri_snapshot_lost(c.pasts[0].snapshot) == lost);
            check_all();
            if (lost) {
                orri_restore* way = NULL;
                CHECK_RESULT(orri_snapshot_restore_prepare(c.world, c.pasts[0].snapshot, &way),
                             ORR_ERR_PAST);
            }
            remember(2);
            scene_end();
        }
    }
}

ORR_TEST(row_log_refused_memory_on_release_loses_nothing)
{
    for (uint64_t n = 1, refused = 1; refused > 0; n++) {
        scene_begin();
        c.world->cow.row_log_shift = n % 2 == 0 ? 8 : 3;
        for (uint32_t i = 0; i < 4; i++) {
            remember(i);
            for (uint32_t k = 0; k < 5; k++) {
                write_row(10 * i + k, 5);
            }
        }
        failing_alloc_arm(&c.kit.memory, n, true);
        forget(1);
        forget(3);
        refused = c.kit.memory.refused;
        failing_alloc_arm(&c.kit.memory, 0, false);
        check_all();
        CHECK(!orri_snapshot_lost(c.pasts[0].snapshot) && !orri_snapshot_lost(c.pasts[2].snapshot));
        go_back(0);
        go_back(2);
        scene_end();
    }
}

// ---- at random ----------------------------------------------------------------------------------

static void random_write(uint64_t draw)
{
    uint32_t row = (uint32_t)(draw >> 8) % ROWS, count = 1 + (uint32_t)(draw >> 24) % 40;
    switch (draw % 16) {
    case 0:
        write_column((float)row);
        break;
    case 1: {
        static Position values[ROWS];
        for (uint32_t i = 0; i < count; i++) {
            values[i] = (Position){(float)(draw >> 40), (float)i, 0};
        }
        count = count < ROWS - row ? count : ROWS - row;
        CHECK_OK(orr_component_set_many(c.world, c.ids + row, count, c.position, values));
        break;
    }
    default:
        write_row(row % 50 + (row % 7) * 200, (float)(draw >> 40));
        break;
    }
}

ORR_TEST(row_log_random_writes_keep_all_snapshots)
{
    uint32_t rounds = test_rounds(12, 4, 200);
    for (uint32_t round = 0; round < rounds; round++) {
        scene_begin();
        c.world->cow.row_log_shift = (uint32_t)(test_random() % 9);
        for (uint32_t step = 0; step < 400; step++) {
            uint64_t draw = test_random();
            uint32_t i = (uint32_t)(draw >> 4) % MANY;
            bool there = c.pasts[i].snapshot != NULL;
            if (draw % 16 < 9) {
                random_write(test_random());
            } else if (draw % 16 < 13 && !there) {
                orr_tick_advance(c.world);
                remember(i);
            } else if (draw % 16 < 14 && there) {
                forget(i);
            } else if (there) {
                go_back(i);
            }
            if (step % 8 == 0) {
                check_all();
            }
        }
        scene_end();
    }
}
