// SPDX-License-Identifier: MIT
// Chunks: dense rows, where row i is, raw columns, runs across chunks, alignment.
#include "support/store_kit.h"
#include "test.h"

#include <stdlib.h>

#define CAPACITY ORR_CHUNK_CAPACITY

// The address of the entity of each row is that row.
static void check_rows(const orr_world* world, orr_cluster cluster)
{
    static orr_entity ids[CAPACITY];
    orr_cluster_info info = kit_info(world, cluster);
    CHECK_EQ(info.chunk_count, (info.row_count + CAPACITY - 1) / CAPACITY);
    uint32_t total = 0;
    for (uint32_t chunk = 0; chunk < info.chunk_count; chunk++) {
        uint32_t count = orr_chunk_entities(world, cluster, chunk, ids, CAPACITY);
        CHECK_EQ(count, orr_chunk_count(world, cluster, chunk));
        CHECK(chunk + 1 == info.chunk_count || count == CAPACITY); // Full but for the last.
        for (uint32_t slot = 0; slot < count; slot++) {
            orr_address address;
            CHECK_OK(orr_address_get(world, ids[slot], &address));
            CHECK_EQ(address.row / CAPACITY, chunk);
            CHECK_EQ(address.row % CAPACITY, slot);
            CHECK_EQ(address.cluster.id, cluster.id);
        }
        total += count;
    }
    CHECK_EQ(total, info.row_count);
    CHECK_EQ(orr_chunk_count(world, cluster, info.chunk_count), 0);
}

/* N1-11 N1-12 N1-22 N1-23 */
ORR_TEST(chunk_rows_around_boundaries_are_dense_and_at_their_addresses)
{
    static const uint32_t counts[] = {1,    2,    15,   16,   17,   63,   64,
                                      65,   255,  256,  257,  1023, 1024, 1025,
                                      2047, 2048, 2049, 4095, 4096, 4097, 6145};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        orr_cluster cluster = KIT_CLUSTER(world, Position, Tiny, Frozen, Big);
        orr_type position = KIT_TYPE(world, Position);
        orr_entity* ids = malloc(sizeof *ids * counts[c]);
        CHECK_OK(orr_create_many(world, cluster, counts[c], NULL, 0, ids));
        CHECK_EQ(kit_rows(world, cluster), counts[c]);
        check_rows(world, cluster);
        for (uint32_t row = 0; row < counts[c]; row++) {
            orr_edit(world, ids[row], Position)->x = (float)row;
        }
        for (uint32_t row = 0; row < counts[c]; row++) {
            const Position* column = orr_column_read(world, cluster, row / CAPACITY, position);
            CHECK_EQ(column[row % CAPACITY].x, row);
        }
        free(ids);
        kit_end(&k);
    }
}

/* N1-12 */
ORR_TEST(chunk_grows_one_by_one_and_keeps_values)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position, Token, Padded);
    static orr_entity ids[CAPACITY * 2 + 1];
    for (uint32_t i = 0; i < CAPACITY * 2 + 1; i++) {
        ids[i] = orr_create_in(world, cluster);
        CHECK(ids[i].id != 0);
        orr_address address;
        CHECK_OK(orr_address_get(world, ids[i], &address));
        CHECK_EQ(address.row, i); // Always at the end.
        *orr_edit(world, ids[i], Position) = (Position){(float)i, 1, 2};
        orr_edit(world, ids[i], Token)->cell.payload = i;
    }
    for (uint32_t i = 0; i < CAPACITY * 2 + 1; i++) {
        CHECK_EQ(orr_get(world, ids[i], Position)->x, i);
        CHECK_EQ(orr_get(world, ids[i], Token)->cell.payload, i);
        CHECK(kit_token_sound(orr_get(world, ids[i], Token)));
    }
    CHECK_EQ(kit_tokens.constructs, CAPACITY * 2 + 1);
    CHECK_EQ(kit_info(world, cluster).chunk_count, 3);
    check_rows(world, cluster);
    kit_end(&k);
}

/* N1-13 */
ORR_TEST(chunk_removal_moves_the_last_row_into_the_gap)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    static orr_entity ids[CAPACITY + 2];
    CHECK_OK(orr_create_many(world, cluster, CAPACITY + 2, NULL, 0, ids));
    for (uint32_t i = 0; i < CAPACITY + 2; i++) {
        orr_edit(world, ids[i], Position)->x = (float)i;
    }
    orr_address address;
    CHECK_OK(orr_destroy(world, ids[5])); // The last row, in the second chunk, goes to row 5.
    CHECK_OK(orr_address_get(world, ids[CAPACITY + 1], &address));
    CHECK_EQ(address.row, 5);
    CHECK_EQ(orr_get(world, ids[CAPACITY + 1], Position)->x, CAPACITY + 1);
    CHECK_OK(orr_address_get(world, ids[6], &address));
    CHECK_EQ(address.row, 6);
    CHECK_OK(orr_destroy(world, ids[CAPACITY])); // The last row itself: nothing moves.
    CHECK_EQ(kit_info(world, cluster).chunk_count, 1);
    CHECK_EQ(kit_rows(world, cluster), CAPACITY);
    CHECK_OK(orr_destroy(world, ids[0]));
    CHECK_OK(orr_address_get(world, ids[CAPACITY - 1], &address));
    CHECK_EQ(address.row, 0);
    check_rows(world, cluster);
    for (uint32_t i = 0; i < CAPACITY + 2; i++) {
        CHECK(!orr_alive(world, ids[i]) || orr_get(world, ids[i], Position)->x == (float)i);
    }
    kit_end(&k);
}

ORR_TEST(chunk_shrinks_across_its_boundary_and_grows_again)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Health);
    static orr_entity ids[CAPACITY + 1];
    CHECK_OK(orr_create_many(world, cluster, CAPACITY + 1, NULL, 0, ids));
    for (uint32_t round = 0; round < 5; round++) {
        CHECK_EQ(kit_info(world, cluster).chunk_count, 2);
        CHECK_OK(orr_destroy(world, ids[CAPACITY]));
        CHECK_EQ(kit_info(world, cluster).chunk_count, 1);
        ids[CAPACITY] = orr_create_in(world, cluster);
        CHECK_EQ(orr_get(world, ids[CAPACITY], Health)->value,
                 100); // The preset, not the old value.
        orr_edit(world, ids[CAPACITY], Health)->value = 7;
    }
    check_rows(world, cluster);
    kit_end(&k);
}

ORR_TEST(chunk_entities_writes_at_most_the_given_capacity)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Tiny);
    orr_entity ids[10], out[4] = {{1}, {1}, {1}, {1}};
    CHECK_OK(orr_create_many(world, cluster, 10, NULL, 0, ids));
    CHECK_EQ(orr_chunk_entities(world, cluster, 0, out, 3), 3);
    CHECK_EQ(out[2].id, ids[2].id);
    CHECK_EQ(out[3].id, 1);
    CHECK_EQ(orr_chunk_entities(world, cluster, 1, out, 3), 0);
    CHECK_EQ(orr_chunk_entities(world, cluster, 0, NULL, 0), 0);
    kit_end(&k);
}

/* N4-06 N0-30 */
ORR_TEST(column_is_one_aligned_array_with_readable_padding)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position, Tiny, Big, Padded);
    for (uint32_t round = 0; round < 3; round++) {
        // 3 rows, then a grown first chunk, then several chunks.
        uint32_t more[3] = {3, 70, 5000};
        CHECK_OK(orr_create_many(world, cluster, more[round], NULL, 0, NULL));
        orr_cluster_info info = kit_info(world, cluster);
        for (uint32_t t = 0; t < info.type_count; t++) {
            size_t size = orr_type_info_get(world, info.types[t])->size;
            for (uint32_t c = 0; c < info.chunk_count; c++) {
                const volatile uint8_t* column = orr_column_read(world, cluster, c, info.types[t]);
                CHECK_EQ((uintptr_t)column % 64, 0);
                size_t bytes = orr_chunk_count(world, cluster, c) * size;
                uint8_t sum = 0; // ASan reports if the last cache line cannot be read to its end.
                for (size_t i = bytes; i < ((bytes + 63) & ~(size_t)63); i++) {
                    sum = (uint8_t)(sum + (column[i] & 0));
                }
                CHECK_EQ(sum, 0);
            }
        }
    }
    kit_end(&k);
}

ORR_TEST(column_of_a_marker_is_present_without_data)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Frozen, Position);
    orr_entity bob = orr_create_in(world, cluster);
    orr_type frozen = KIT_TYPE(world, Frozen);
    CHECK(orr_column_read(world, cluster, 0, frozen) != NULL);
    CHECK(orr_column_write(world, cluster, 0, frozen) != NULL);
    CHECK(orr_component_get(world, bob, frozen) != NULL);
    CHECK(orr_column_read(world, cluster, 1, frozen) == NULL);
    CHECK(orr_column_read(world, cluster, 0, KIT_TYPE(world, Hidden)) == NULL);
    CHECK(orr_column_read(world, cluster, 0, (orr_type){0}) == NULL);
    uint32_t count = 9;
    CHECK(orr_span_read(world, cluster, frozen, 0, &count) != NULL);
    CHECK_EQ(count, 1);
    kit_end(&k);
}

/* N4-06 */
ORR_TEST(span_joins_chunks_that_lie_one_after_another)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position, Velocity);
    orr_type position = KIT_TYPE(world, Position);
    CHECK_OK(orr_create_many(world, cluster, CAPACITY * 4 + 10, NULL, 0, NULL));
    uint32_t row = 0, count = UINT32_MAX, spans = 0;
    Position* span;
    while ((span = orr_span_write(world, cluster, position, row, &count)) != NULL) {
        CHECK(count > 0);
        for (uint32_t i = 0; i < count; i++) {
            span[i].x = (float)(row + i);
        }
        row += count;
        spans++;
    }
    CHECK_EQ(row, CAPACITY * 4 + 10);
    CHECK_EQ(count, 0);
    CHECK_EQ(spans, 1); // One bulk creation: all of it in one piece.
    for (uint32_t i = 0; i < row; i++) {
        const Position* column = orr_column_read(world, cluster, i / CAPACITY, position);
        CHECK_EQ(column[i % CAPACITY].x, i);
    }
    // From the middle of a chunk on.
    count = UINT32_MAX;
    const Position* middle = orr_span_read(world, cluster, position, CAPACITY + 5, &count);
    CHECK_EQ(middle->x, CAPACITY + 5);
    CHECK_EQ(count, CAPACITY * 3 + 5);
    // Not more than requested, within a chunk and across two.
    count = 7;
    CHECK(orr_span_read(world, cluster, position, CAPACITY + 5, &count) == middle);
    CHECK_EQ(count, 7);
    count = CAPACITY;
    CHECK(orr_span_read(world, cluster, position, CAPACITY + 5, &count) == middle);
    CHECK_EQ(count, CAPACITY);
    count = 0;
    CHECK(orr_span_read(world, cluster, position, 0, &count) == NULL);
    count = 1;
    CHECK(orr_span_read(world, cluster, position, row, &count) == NULL);
    CHECK_EQ(count, 0);
    count = 9;
    CHECK(orr_span_read(world, cluster, KIT_TYPE(world, Health), 0, &count) == NULL);
    CHECK_EQ(count, 0);
    kit_end(&k);
}

ORR_TEST(span_stamps_every_block_of_the_run_and_no_other)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position, Velocity);
    orr_type position = KIT_TYPE(world, Position), velocity = KIT_TYPE(world, Velocity);
    CHECK_OK(orr_create_many(world, cluster, CAPACITY * 3, NULL, 0, NULL));
    orr_tick_advance(world);
    uint32_t count = CAPACITY;
    CHECK(orr_span_write(world, cluster, position, CAPACITY, &count) != NULL);
    CHECK_EQ(count, CAPACITY);
    CHECK_EQ(orr_column_tick(world, cluster, 1, position), 1);
    CHECK_EQ(orr_column_tick(world, cluster, 2, position), 0); // Not requested.
    count = UINT32_MAX;
    CHECK(orr_span_write(world, cluster, position, CAPACITY, &count) != NULL);
    CHECK_EQ(count, CAPACITY * 2);
    CHECK_EQ(orr_column_tick(world, cluster, 0, position), 0);
    CHECK_EQ(orr_column_tick(world, cluster, 1, position), 1);
    CHECK_EQ(orr_column_tick(world, cluster, 2, position), 1);
    CHECK_EQ(orr_column_tick(world, cluster, 1, velocity), 0);
    kit_end(&k);
}

/* N1-22 */
ORR_TEST(chunk_has_one_array_per_type_and_they_do_not_overlap)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position, Velocity, Tiny, Big);
    CHECK_OK(orr_create_many(world, cluster, 300, NULL, 0, NULL));
    orr_cluster_info info = kit_info(world, cluster);
    for (uint32_t t = 0; t < info.type_count; t++) {
        size_t size = orr_type_info_get(world, info.types[t])->size;
        memset(orr_column_write(world, cluster, 0, info.types[t]), (int)t + 1, 300 * size);
    }
    for (uint32_t t = 0; t < info.type_count; t++) {
        size_t size = orr_type_info_get(world, info.types[t])->size;
        const uint8_t* column = orr_column_read(world, cluster, 0, info.types[t]);
        for (size_t i = 0; i < 300 * size; i++) {
            CHECK_EQ(column[i], t + 1);
        }
    }
    kit_end(&k);
}

#ifdef __SANITIZE_ADDRESS__
#include "base/util.h"
int __asan_address_is_poisoned(void const volatile* address);

/* N4-16 */
ORR_TEST(pointer_kept_to_a_row_that_left_is_poisoned)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Big);
    orr_entity ids[8];
    CHECK_OK(orr_create_many(world, cluster, 8, NULL, 0, ids));
    const Big* kept = orr_get(world, ids[7], Big);
    CHECK(!__asan_address_is_poisoned(kept));
    CHECK_OK(orr_tag_add(world, ids[7], 1)); // It is in another cluster now.
    CHECK(__asan_address_is_poisoned((const char*)kept + 128));
    kept = orr_get(world, ids[0], Big);
    CHECK_OK(orr_cluster_delete(world, cluster));
    CHECK(__asan_address_is_poisoned(kept));
    kit_end(&k);
}
#else
/* N4-16 */
ORR_TEST(pointer_kept_to_a_row_that_left_is_poisoned)
{
    test_skip("only under ASan");
}
#endif
