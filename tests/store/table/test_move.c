// SPDX-License-Identifier: MIT
// Moves between clusters: one entity, a range of rows, all rows. Hook counts are exact.
#include "support/store_kit.h"
#include "test.h"

#include <stdlib.h>

#define CAPACITY ORR_CHUNK_CAPACITY

/* N0-30 */
ORR_TEST(move_to_another_set_keeps_adds_and_drops)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create_in(world, KIT_CLUSTER(world, Position, Velocity));
    *orr_edit(world, bob, Position) = (Position){1, 2, 3};
    orr_cluster to = KIT_CLUSTER(world, Position, Health);
    CHECK_OK(orr_entity_move(world, bob, to));
    CHECK_EQ(orr_entity_cluster(world, bob).id, to.id);
    CHECK_EQ(orr_get(world, bob, Position)->z, 3);
    CHECK_EQ(orr_get(world, bob, Health)->value, 100);
    CHECK(!orr_has(world, bob, Velocity));
    kit_end(&k);
}

ORR_TEST(move_to_its_own_cluster_changes_nothing)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position, Token);
    orr_entity ids[3];
    CHECK_OK(orr_create_many(world, cluster, 3, NULL, 0, ids));
    uint64_t hash = orr_world_hash(world);
    CHECK_OK(orr_entity_move(world, ids[0], cluster));
    CHECK_OK(orr_rows_move(world, cluster, 0, 2, cluster));
    CHECK_OK(orr_rows_move_all(world, cluster, cluster));
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_EQ(kit_tokens.constructs, 3);
    CHECK_EQ(kit_tokens.destructs, 0);
    kit_end(&k);
}

/* N1-18 */
ORR_TEST(move_of_one_entity_constructs_destructs_and_moves_exactly_once)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster token = KIT_CLUSTER(world, Token), plain = KIT_CLUSTER(world, Position);
    orr_cluster both = KIT_CLUSTER(world, Token, Position);
    // Full first chunks: no growing in between.
    static orr_entity filler[CAPACITY];
    CHECK_OK(orr_create_many(world, both, CAPACITY, NULL, 0, filler));
    CHECK_OK(orr_create_many(world, token, CAPACITY, NULL, 0, NULL));
    orr_entity bob = orr_create_in(world, plain);
    kit_token_register before = kit_tokens;

    CHECK_OK(orr_entity_move(world, bob, both)); // New.
    CHECK_EQ(kit_tokens.constructs - before.constructs, 1);
    CHECK_EQ(kit_tokens.moves, before.moves);
    CHECK_EQ(kit_tokens.destructs, before.destructs);
    CHECK_EQ(kit_tokens.copies, before.copies);

    // Kept; it was the last row, so no row fills a gap.
    CHECK_OK(orr_entity_move(world, bob, token));
    CHECK_EQ(kit_tokens.moves - before.moves, 1);
    CHECK_EQ(kit_tokens.constructs - before.constructs, 1);
    CHECK_EQ(kit_token_moves(orr_get(world, bob, Token)), 1);

    CHECK_OK(orr_entity_move(world, bob, plain)); // Dropped.
    CHECK_EQ(kit_tokens.destructs - before.destructs, 1);
    CHECK_EQ(kit_tokens.moves - before.moves, 1);
    CHECK_EQ(kit_tokens.constructs - before.constructs, 1);
    CHECK_EQ(kit_tokens.copies, before.copies);

    // From the middle: the last row fills the gap, by one move.
    before = kit_tokens;
    CHECK_OK(orr_entity_move(world, filler[0], token));
    CHECK_EQ(kit_tokens.moves - before.moves, 2);
    CHECK_EQ(kit_token_moves(orr_get(world, filler[CAPACITY - 1], Token)), 1);
    CHECK_EQ(kit_token_moves(orr_get(world, filler[1], Token)), 0);
    kit_end(&k);
}

ORR_TEST(move_refused_by_a_hook_changes_nothing)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster from = KIT_CLUSTER(world, Position), to = KIT_CLUSTER(world, Position, Token);
    static orr_entity ids[5000];
    CHECK_OK(orr_create_many(world, from, 5000, NULL, 0, ids));
    uint64_t hash = orr_world_hash(world);
    for (uint32_t nth = 1; nth <= 3; nth++) {
        kit_tokens.refuse_after = nth; // Hooks get whole ranges: one call per chunk.
        CHECK_RESULT(orr_rows_move(world, from, 0, 5000, to), ORR_ERR_HOOK);
        CHECK_EQ(orr_world_hash(world), hash);
        CHECK_EQ(kit_tokens.live, 0);
        kit_tokens.refuse_after = nth;
        CHECK_RESULT(orr_rows_move_all(world, from, to), ORR_ERR_HOOK);
        CHECK_EQ(orr_world_hash(world), hash);
        CHECK_EQ(kit_tokens.live, 0);
    }
    kit_tokens.refuse_after = 1;
    CHECK_RESULT(orr_entity_move(world, ids[0], to), ORR_ERR_HOOK);
    kit_tokens.refuse_after = 0;
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_EQ(kit_info(world, to).chunk_count, 0);
    CHECK_OK(orr_rows_move_all(world, from, to));
    CHECK_EQ(kit_tokens.live, 5000);
    kit_end(&k);
}

static void mark_rows(orr_world* world, const orr_entity* ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        orr_edit(world, ids[i], Position)->x = (float)i;
    }
}

// Each of `ids` still has its mark.
static void check_marks(const orr_world* world, const orr_entity* ids, uint32_t count,
                        orr_type position)
{
    for (uint32_t i = 0; i < count; i++) {
        const Position* value = orr_component_get(world, ids[i], position);
        CHECK(value != NULL);
        CHECK_EQ(value->x, i);
    }
}

ORR_TEST(rows_moved_from_the_middle_are_dense_on_both_sides)
{
    // first, count, rows: around the ends and across chunk boundaries.
    static const uint32_t cases[][3] = {{0, 1, 1},       {0, 3, 10},       {3, 4, 10},
                                        {7, 3, 10},      {2000, 49, 2049}, {0, 2048, 4100},
                                        {2047, 2, 4100}, {1, 4098, 4100},  {0, 4100, 4100},
                                        {5, 0, 10},      {100, 1900, 2100}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        uint32_t first = cases[c][0], count = cases[c][1], rows = cases[c][2];
        orr_cluster from = KIT_CLUSTER(world, Position, Token);
        orr_cluster to = KIT_CLUSTER(world, Position, Token, Health);
        orr_entity* ids = malloc(sizeof *ids * rows);
        CHECK_OK(orr_create_many(world, to, 3, NULL, 0, NULL));
        CHECK_OK(orr_create_many(world, from, rows, NULL, 0, ids));
        mark_rows(world, ids, rows);
        CHECK_OK(orr_rows_move(world, from, first, count, to));
        CHECK_EQ(kit_rows(world, from), rows - count);
        CHECK_EQ(kit_rows(world, to), 3 + count);
        check_marks(world, ids, rows, KIT_TYPE(world, Position));
        for (uint32_t i = 0; i < rows; i++) {
            bool moved = i >= first && i < first + count;
            CHECK_EQ(orr_has(world, ids[i], Health), moved);
            orr_address address;
            CHECK_OK(orr_address_get(world, ids[i], &address));
            CHECK(!moved || address.row == 3 + (i - first)); // In their order, at the end.
            CHECK(moved || i >= first || address.row == i);  // Those before stay.
        }
        CHECK_EQ(kit_tokens.constructs, rows + 3);
        CHECK_EQ(kit_tokens.destructs, 0);
        CHECK_EQ(kit_tokens.copies, 0);
        CHECK_OK(orr_world_validate(world));
        free(ids);
        kit_end(&k);
    }
}

/* N1-18 */
ORR_TEST(rows_moved_call_hooks_for_new_dropped_and_kept_only)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster none = KIT_CLUSTER(world, Position), token = KIT_CLUSTER(world, Token, Position);
    orr_cluster other = KIT_CLUSTER(world, Token);
    CHECK_OK(orr_create_many(world, none, 3000, NULL, 0, NULL));
    CHECK_OK(orr_rows_move(world, none, 0, 3000, token));
    CHECK_EQ(kit_tokens.constructs, 3000);
    CHECK_EQ(kit_tokens.moves, 0);
    CHECK_OK(orr_rows_move(world, token, 1000, 2000, other)); // The end: no gaps to fill.
    CHECK_EQ(kit_tokens.moves, 2000);
    CHECK_EQ(kit_tokens.constructs, 3000);
    CHECK_OK(orr_rows_move(world, token, 0, 1000, none));
    CHECK_EQ(kit_tokens.destructs, 1000);
    CHECK_EQ(kit_tokens.moves, 2000);
    CHECK_EQ(kit_tokens.live, 2000);
    CHECK_EQ(kit_tokens.copies, 0);
    kit_end(&k);
}

ORR_TEST(rows_moved_all_hand_over_whole_chunks)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type types[2] = {KIT_TYPE(world, Position), KIT_TYPE(world, Token)};
    orr_tag tag = 1;
    orr_cluster from = kit_cluster(world, types, 2, NULL, 0);
    orr_cluster to = kit_cluster(world, types, 2, &tag, 1);
    enum {
        ROWS = CAPACITY * 2 + 100
    };
    static orr_entity ids[ROWS];
    CHECK_OK(orr_create_many(world, from, ROWS, NULL, 0, ids));
    mark_rows(world, ids, ROWS);
    const void* column = orr_column_read(world, from, 0, types[0]);
    CHECK_OK(orr_rows_move_all(world, from, to));
    CHECK_EQ(kit_rows(world, from), 0);
    CHECK_EQ(kit_info(world, from).chunk_count, 0);
    CHECK_EQ(kit_rows(world, to), ROWS);
    // Nothing was copied: the same blocks, and no hook ran.
    CHECK(orr_column_read(world, to, 0, types[0]) == column);
    CHECK_EQ(kit_tokens.moves, 0);
    CHECK_EQ(kit_tokens.constructs, ROWS);
    check_marks(world, ids, ROWS, types[0]);
    for (uint32_t i = 0; i < ROWS; i++) {
        CHECK(orr_tag_has(world, ids[i], tag));
        orr_address address;
        CHECK_OK(orr_address_get(world, ids[i], &address));
        CHECK_EQ(address.row, i);
    }
    // And back with other components: dropped ones are destructed, new ones constructed.
    orr_cluster other = KIT_CLUSTER(world, Position, Health);
    CHECK_OK(orr_rows_move_all(world, to, other));
    CHECK_EQ(kit_tokens.live, 0);
    CHECK_EQ(kit_tokens.destructs, ROWS);
    check_marks(world, ids, ROWS, types[0]);
    CHECK_EQ(orr_get(world, ids[ROWS - 1], Health)->value, 100);
    kit_end(&k);
}

ORR_TEST(rows_moved_all_to_a_cluster_with_rows_keep_their_values)
{
    static const uint32_t counts[][2] = {{1, 1},       {10, 2048},   {2048, 10},  {3000, 3000},
                                         {2048, 2048}, {4097, 2047}, {0, 5},      {5, 0},
                                         {2047, 1},    {1, 2047},    {100, 4500}, {4500, 100}};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        orr_cluster from = KIT_CLUSTER(world, Position, Token);
        orr_cluster to = KIT_CLUSTER(world, Position, Token, Frozen);
        uint32_t a = counts[c][0], b = counts[c][1];
        orr_entity* ids = malloc(sizeof *ids * (a + b + 1));
        CHECK_OK(orr_create_many(world, from, a, NULL, 0, ids));
        CHECK_OK(orr_create_many(world, to, b, NULL, 0, ids + a));
        mark_rows(world, ids, a + b);
        CHECK_OK(orr_rows_move_all(world, from, to));
        CHECK_EQ(kit_rows(world, to), a + b);
        CHECK_EQ(kit_rows(world, from), 0);
        check_marks(world, ids, a + b, KIT_TYPE(world, Position));
        CHECK_EQ(kit_tokens.constructs, a + b);
        CHECK_EQ(kit_tokens.destructs, 0);
        CHECK_OK(orr_world_validate(world));
        free(ids);
        kit_end(&k);
    }
}

ORR_TEST(rows_beyond_the_end_are_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster from = KIT_CLUSTER(world, Position), to = KIT_CLUSTER(world, Health);
    CHECK_OK(orr_create_many(world, from, 10, NULL, 0, NULL));
    uint64_t hash = orr_world_hash(world);
    CHECK_RESULT(orr_rows_move(world, from, 5, 6, to), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_rows_move(world, from, 11, 0, to), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_rows_move(world, from, 1, UINT32_MAX, to), ORR_ERR_ARGUMENT);
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_OK(orr_rows_move(world, from, 10, 0, to));
    CHECK_EQ(orr_world_hash(world), hash);
    kit_end(&k);
}

ORR_TEST(deleted_cluster_as_source_or_target_is_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster gone = KIT_CLUSTER(world, Velocity), good = KIT_CLUSTER(world, Position);
    orr_entity bob = orr_create_in(world, good);
    CHECK_OK(orr_cluster_delete(world, gone));
    CHECK_RESULT(orr_entity_move(world, bob, gone), ORR_ERR_CLUSTER);
    CHECK_RESULT(orr_rows_move(world, gone, 0, 0, good), ORR_ERR_CLUSTER);
    CHECK_RESULT(orr_rows_move(world, good, 0, 1, gone), ORR_ERR_CLUSTER);
    CHECK_RESULT(orr_rows_move_all(world, gone, good), ORR_ERR_CLUSTER);
    CHECK_RESULT(orr_rows_move_all(world, good, gone), ORR_ERR_CLUSTER);
    CHECK_EQ(orr_entity_cluster(world, bob).id, good.id);
    kit_end(&k);
}
