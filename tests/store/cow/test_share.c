// SPDX-License-Identifier: MIT
// Shares of blocks and index pages: while the world changes, the values of a share never change.
#include "store/cow/row_log.h"
#include "support/store_kit.h"
#include "test.h"

#include <stdlib.h>

#define CAPACITY ORR_CHUNK_CAPACITY

static const orri_share_kind kinds[2] = {ORRI_SHARE_HISTORY, ORRI_SHARE_FROZEN};

typedef struct held {
    orr_world* world;
    orr_cluster cluster;
    orr_type position;
    orr_entity ids[CAPACITY + 100];
    Position before[CAPACITY];
    orri_share* share;
} held;

static held h;

// A cluster of two chunks; the Position block of the first is shared.
static void held_begin(kit* k, orri_share_kind kind)
{
    h.world = kit_begin(k, NULL);
    h.cluster = KIT_CLUSTER(h.world, Position, Token, Label);
    h.position = KIT_TYPE(h.world, Position);
    CHECK_OK(orr_create_many(h.world, h.cluster, CAPACITY + 100, NULL, 0, h.ids));
    Position* column = orr_column_write(h.world, h.cluster, 0, h.position);
    for (uint32_t i = 0; i < CAPACITY; i++) {
        column[i] = h.before[i] = (Position){(float)i, 1, 2};
    }
    orri_chunk* chunk = orri_cluster_at(h.world, h.cluster)->chunks[0];
    h.share = orri_share_column(h.world, chunk, 0, kind);
    CHECK(h.share != NULL);
    CHECK_EQ(h.share->rows, CAPACITY);
    CHECK_EQ(h.share->size, sizeof h.before);
    CHECK(h.share->data == column); // The same bytes, until the first write.
}

static void held_check(void)
{
    static Position now[CAPACITY];
    CHECK(!h.share->lost);
    orri_row_log_read(h.share, now);
    CHECK_EQ(memcmp(now, h.before, sizeof h.before), 0);
}

static void held_end(kit* k)
{
    held_check();
    orri_share_release(h.world, h.share);
    kit_end(k);
}

ORR_TEST(share_written_by_column_entity_or_span_keeps_its_values)
{
    for (uint32_t way = 0; way < 6; way++) {
        for (uint32_t i = 0; i < 2; i++) {
            kit k = {0};
            held_begin(&k, kinds[i]);
            const void* pointer = h.share->data;
            uint32_t count = 1;
            Position* place;
            switch (way) {
            case 0:
                place = orr_column_write(h.world, h.cluster, 0, h.position);
                break;
            case 1:
                place = orr_component_edit(h.world, h.ids[0], h.position);
                break;
            case 2:
                place = orr_span_write(h.world, h.cluster, h.position, 0, &count);
                break;
            case 3: {
                orr_address address;
                CHECK_OK(orr_address_get(h.world, h.ids[0], &address));
                place = orr_address_write(h.world, &address, h.position);
                break;
            }
            case 4:
                CHECK_OK(orr_component_set(h.world, h.ids[0], h.position, &(Position){9, 9, 9}));
                place = orr_component_edit(h.world, h.ids[0], h.position);
                break;
            default:
                CHECK_OK(
                    orr_component_set_many(h.world, h.ids, 1, h.position, &(Position){9, 9, 9}));
                place = orr_component_edit(h.world, h.ids[0], h.position);
                break;
            }
            *place = (Position){77, 77, 77};
            CHECK_EQ(orr_get(h.world, h.ids[0], Position)->x, 77);
            CHECK_EQ(orr_get(h.world, h.ids[5], Position)->x, 5);
            if (kinds[i] == ORRI_SHARE_FROZEN) {
                CHECK(h.share->data == pointer); // A pointer of the holder stays valid.
            } else {
                CHECK(place == pointer); // The world still writes in place.
            }
            held_end(&k);
        }
    }
}

ORR_TEST(share_survives_moves_removals_growth_and_deletion)
{
    for (uint32_t way = 0; way < 8; way++) {
        for (uint32_t i = 0; i < 2; i++) {
            kit k = {0};
            held_begin(&k, kinds[i]);
            orr_cluster other = KIT_CLUSTER(h.world, Position, Token);
            switch (way) {
            case 0:
                CHECK_OK(orr_destroy(h.world, h.ids[3]));
                break;
            case 1:
                CHECK_OK(orr_tag_add(h.world, h.ids[3], 1));
                break;
            case 2:
                CHECK_OK(orr_rows_move(h.world, h.cluster, 10, 500, other));
                break;
            case 3:
                CHECK_OK(orr_rows_move_all(h.world, h.cluster, other));
                break;
            case 4:
                CHECK_OK(orr_cluster_clear(h.world, h.cluster));
                break;
            case 5:
                CHECK_OK(orr_cluster_delete(h.world, h.cluster));
                break;
            case 6:
                CHECK_OK(orr_destroy_many(h.world, h.ids, 1000));
                break;
            default:
                CHECK_OK(orr_entities_destroy_all(h.world));
                break;
            }
            // Freed memory is used again by other entities.
            CHECK_OK(orr_create_many(h.world, other, 3000, NULL, 0, NULL));
            CHECK_OK(orr_world_validate(h.world));
            held_end(&k);
        }
    }
}

ORR_TEST(share_of_all_columns_keeps_tokens_and_labels_alive)
{
    for (uint32_t i = 0; i < 2; i++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        orr_cluster handle = KIT_CLUSTER(world, Token, Label);
        orr_entity ids[100];
        CHECK_OK(orr_create_many(world, handle, 100, NULL, 0, ids));
        CHECK_OK(orr_set(world, ids[7], Label, {orr_string_make(world, "kept"), 1}));
        orr_edit(world, ids[7], Token)->cell.payload = 70;
        orri_chunk* chunk = orri_cluster_at(world, handle)->chunks[0];
        orri_share* shares[6];
        CHECK_EQ(chunk->column_count, 6);
        for (uint32_t c = 0; c < 6; c++) {
            shares[c] = orri_share_column(world, chunk, c, kinds[i]);
            CHECK(shares[c] != NULL);
        }
        CHECK_OK(orr_entities_destroy_all(world));
        orr_tick_advance(world);
        const Token* tokens = shares[0]->data;
        const Label* labels = shares[1]->data;
        CHECK_EQ(tokens[7].cell.payload, 70);
        CHECK(kit_token_sound(&tokens[7]));
        CHECK_STR(orr_string_text(world, labels[7].text), "kept");
        CHECK_EQ(kit_tokens.live, 100);
        for (uint32_t c = 0; c < 6; c++) {
            orri_share_release(world, shares[c]);
        }
        CHECK_EQ(kit_tokens.live, 0);
        orr_tick_advance(world);
        orr_world_stats stats;
        orr_world_stats_get(world, &stats);
        CHECK_EQ(stats.blobs, 0);
        kit_end(&k);
    }
}

ORR_TEST(share_of_hooked_values_copies_them_when_the_world_writes)
{
    for (uint32_t i = 0; i < 2; i++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        orr_cluster handle = KIT_CLUSTER(world, Token);
        orr_entity ids[10];
        CHECK_OK(orr_create_many(world, handle, 10, NULL, 0, ids));
        orri_share* share =
            orri_share_column(world, orri_cluster_at(world, handle)->chunks[0], 0, kinds[i]);
        orr_edit(world, ids[2], Token)->cell.payload = 5;
        CHECK_EQ(kit_tokens.copies, 10);
        CHECK_EQ(kit_tokens.live, 20);
        CHECK_EQ(((const Token*)share->data)[2].cell.payload, 0);
        CHECK_OK(orr_destroy(world, ids[0]));
        CHECK_EQ(kit_tokens.live, 19);
        orri_share_release(world, share);
        CHECK_EQ(kit_tokens.live, 9);
        CHECK_EQ(orr_get(world, ids[2], Token)->cell.payload, 5);
        kit_end(&k);
    }
}

ORR_TEST(share_taken_twice_is_the_same_until_a_write)
{
    kit k = {0};
    held_begin(&k, ORRI_SHARE_HISTORY);
    orri_chunk* chunk = orri_cluster_at(h.world, h.cluster)->chunks[0];
    CHECK(orri_share_column(h.world, chunk, 0, ORRI_SHARE_FROZEN) == h.share);
    CHECK_EQ(h.share->refs, 2);
    orr_edit(h.world, h.ids[0], Position)->x = 50;
    orri_share* later = orri_share_column(h.world, chunk, 0, ORRI_SHARE_HISTORY);
    CHECK(later != h.share);
    orr_edit(h.world, h.ids[0], Position)->x = 60;
    Position then[CAPACITY];
    orri_row_log_read(later, then);
    CHECK_EQ(then[0].x, 50);
    orri_share_release(h.world, later);
    orri_share_release(h.world, h.share);
    CHECK_EQ(orr_get(h.world, h.ids[0], Position)->x, 60);
    held_end(&k);
}

ORR_TEST(share_released_before_any_write_costs_nothing)
{
    kit k = {0};
    held_begin(&k, ORRI_SHARE_FROZEN);
    const void* place = orr_column_read(h.world, h.cluster, 0, h.position);
    orri_chunk* chunk = orri_cluster_at(h.world, h.cluster)->chunks[0];
    orri_share* other = orri_share_column(h.world, chunk, 1, ORRI_SHARE_FROZEN);
    orri_share_release(h.world, other);
    CHECK_EQ(kit_tokens.copies, 0);
    uint64_t bytes = k.memory.live_bytes;
    held_check();
    orri_share_release(h.world, h.share);
    CHECK(k.memory.live_bytes < bytes);
    CHECK(orr_column_write(h.world, h.cluster, 0, h.position) == place);
    kit_end(&k);
}

ORR_TEST(share_of_enable_bits_keeps_them)
{
    for (uint32_t i = 0; i < 2; i++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        orr_cluster handle = KIT_CLUSTER(world, Position);
        orr_type position = KIT_TYPE(world, Position);
        orr_entity ids[70];
        CHECK_OK(orr_create_many(world, handle, 70, NULL, 0, ids));
        CHECK_OK(orr_component_enable(world, ids[65], position, false));
        orri_chunk* chunk = orri_cluster_at(world, handle)->chunks[0];
        orri_share* bits = orri_share_column(world, chunk, 2, kinds[i]);
        orri_share* none = orri_share_column(world, chunk, 3, kinds[i]); // All on: no block.
        CHECK_EQ(none->size, 0);
        CHECK_OK(orr_component_enable(world, ids[65], position, true));
        CHECK_OK(orr_component_enable(world, ids[2], position, false));
        CHECK_OK(orr_entity_enable(world, ids[2], false));
        const uint64_t* words = bits->data;
        CHECK_EQ(words[0], UINT64_MAX);
        CHECK_EQ(words[1] & 2, 0);
        CHECK(orr_component_enabled(world, ids[65], position));
        orri_share_release(world, bits);
        orri_share_release(world, none);
        kit_end(&k);
    }
}

ORR_TEST(share_of_an_index_page_keeps_the_records)
{
    for (uint32_t i = 0; i < 2; i++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        static orr_entity ids[5000];
        static orri_record before[ORRI_PAGE_SIZE];
        orr_cluster handle = KIT_CLUSTER(world, Position);
        CHECK_OK(orr_create_many(world, handle, 5000, NULL, 0, ids));
        CHECK_OK(orr_destroy(world, ids[4]));
        orri_share* page = orri_share_page(world, 0, kinds[i]);
        orri_share* second = orri_share_page(world, 1, kinds[i]);
        CHECK(page != NULL && second != NULL);
        CHECK_EQ(page->rows, ORRI_PAGE_SIZE);
        CHECK_EQ(second->rows, 5000 - ORRI_PAGE_SIZE);
        memcpy(before, page->data, sizeof before);
        CHECK(orr_create_in(world, handle).id != 0);
        CHECK_OK(orr_destroy_many(world, ids + 100, 1000));
        CHECK_OK(orr_set(world, ids[20], Health, {1, 1}));
        CHECK_OK(orr_rows_move(world, handle, 0, 50, KIT_CLUSTER(world, Velocity)));
        CHECK_OK(orr_cluster_delete(world, handle));
        CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Tiny), 9000, NULL, 0, NULL));
        CHECK_EQ(memcmp(page->data, before, sizeof before), 0);
        CHECK_OK(orr_world_validate(world));
        orri_share_release(world, page);
        orri_share_release(world, second);
        kit_end(&k);
    }
}

// ---- when memory is refused ---------------------------------------------------------------------

ORR_TEST(share_frozen_without_memory_refuses_the_write)
{
    kit k = {0};
    held_begin(&k, ORRI_SHARE_FROZEN);
    uint64_t hash = orr_world_hash(h.world);
    failing_alloc_arm(&k.memory, 1, true);
    CHECK(orr_component_edit(h.world, h.ids[0], h.position) == NULL);
    CHECK_EQ(k.errors.result, ORR_ERR_MEMORY);
    CHECK(orr_column_write(h.world, h.cluster, 0, h.position) == NULL);
    CHECK_RESULT(orr_component_set(h.world, h.ids[0], h.position, &(Position){1, 1, 1}),
                 ORR_ERR_MEMORY);
    CHECK_RESULT(orr_destroy(h.world, h.ids[0]), ORR_ERR_MEMORY);
    CHECK_RESULT(orr_destroy_many(h.world, h.ids, 2), ORR_ERR_MEMORY);
    failing_alloc_arm(&k.memory, 0, false);
    CHECK_EQ(orr_world_hash(h.world), hash);
    CHECK(orr_alive(h.world, h.ids[0]));
    CHECK(orr_component_edit(h.world, h.ids[0], h.position) != NULL);
    held_end(&k);
}

ORR_TEST(share_of_history_without_memory_is_lost_and_the_write_succeeds)
{
    kit k = {0};
    held_begin(&k, ORRI_SHARE_HISTORY);
    orr_log_level_set(h.world, ORR_LOG_CATEGORY_STORE, ORR_LOG_OFF);
    failing_alloc_arm(&k.memory, 1, true);
    Position* place = orr_component_edit(h.world, h.ids[0], h.position);
    CHECK(place != NULL);
    place->x = 5;
    CHECK(h.share->lost);
    CHECK(h.share->data == NULL);
    failing_alloc_arm(&k.memory, 0, false);
    CHECK_EQ(orr_get(h.world, h.ids[0], Position)->x, 5);
    orri_share_release(h.world, h.share);
    kit_end(&k);
}

ORR_TEST(share_refused_is_null_and_changes_nothing)
{
    kit k = {0};
    held_begin(&k, ORRI_SHARE_HISTORY);
    orri_chunk* chunk = orri_cluster_at(h.world, h.cluster)->chunks[0];
    failing_alloc_arm(&k.memory, 1, true);
    CHECK(orri_share_column(h.world, chunk, 1, ORRI_SHARE_FROZEN) == NULL);
    CHECK(orri_share_page(h.world, 0, ORRI_SHARE_FROZEN) == NULL);
    CHECK_EQ(k.errors.result, ORR_ERR_MEMORY);
    failing_alloc_arm(&k.memory, 0, false);
    CHECK_OK(orr_world_validate(h.world));
    held_end(&k);
}

ORR_TEST(share_does_not_show_in_the_hash)
{
    kit k = {0};
    held_begin(&k, ORRI_SHARE_FROZEN);
    uint64_t hash = orr_world_hash(h.world);
    orri_share* page = orri_share_page(h.world, 0, ORRI_SHARE_FROZEN);
    CHECK_EQ(orr_world_hash(h.world), hash);
    orri_share_release(h.world, page);
    CHECK_EQ(orr_world_hash(h.world), hash);
    held_end(&k);
}

ORR_TEST(share_of_an_index_page_survives_the_growth_of_the_index)
{
    for (uint32_t i = 0; i < 2; i++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        orr_entity bob = orr_create(world);
        orri_share* share = orri_share_page(world, 0, kinds[i]);
        CHECK(share != NULL);
        orri_record before;
        memcpy(&before, share->data, sizeof before);
        // More pages than the list of them had room for.
        CHECK_OK(orr_create_many(world, orr_entity_cluster(world, bob), 100000, NULL, 0, NULL));
        CHECK_OK(orr_destroy(world, bob));
        CHECK_EQ(memcmp(share->data, &before, sizeof before), 0);
        CHECK_OK(orr_world_validate(world));
        orri_share_release(world, share);
        kit_end(&k);
    }
}

ORR_TEST(share_of_absent_enable_bits_survives_a_move_to_a_cluster_that_has_them)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster from = KIT_CLUSTER(world, Position), to = KIT_CLUSTER(world, Position, Velocity);
    CHECK_OK(orr_create_many(world, from, CAPACITY, NULL, 0, NULL));
    orr_entity bob = orr_create_in(world, to);
    CHECK_OK(orr_enable(world, bob, Position, false));
    orri_chunk* chunk = orri_cluster_at(world, from)->chunks[0];
    orri_share* share = orri_share_column(world, chunk, chunk->column_count / 2, ORRI_SHARE_FROZEN);
    CHECK(share != NULL && share->size == 0);
    CHECK_OK(orr_rows_move_all(world, from, to));
    CHECK_OK(orr_world_validate(world));
    CHECK(!orr_enabled(world, bob, Position));
    orri_share_release(world, share);
    kit_end(&k);
}

ORR_TEST(share_is_refused_while_an_appender_is_open)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    orr_appender a;
    CHECK_OK(orr_append_begin(world, cluster, NULL, 0, &a));
    CHECK_EQ(orr_append(&a), 0);
    CHECK(orri_share_page(world, 0, ORRI_SHARE_FROZEN) == NULL);
    CHECK_EQ(k.errors.result, ORR_ERR_STATE);
    orr_append_end(&a);
    CHECK_EQ(orr_entity_count(world), 1);
    kit_end(&k);
}

static bool flag_construct(void* user, void* rows, uint32_t count)
{
    (void)rows;
    *(int64_t*)user += count;
    return true;
}

static void flag_destruct(void* user, void* rows, uint32_t count)
{
    (void)rows;
    *(int64_t*)user -= count;
}

ORR_TEST(share_of_a_marker_leaves_its_hooks_balanced)
{
    for (uint32_t way = 0; way < 3; way++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        int64_t live = 0;
        orr_hooks hooks = {flag_construct, flag_destruct, NULL, NULL, &live};
        orr_type_desc desc = {.name = "Flag", .align = 1, .settings = {.hooks = &hooks}};
        orr_type flag;
        orr_cluster with, without = KIT_CLUSTER(world, Position);
        CHECK_OK(orr_type_register(world, &desc, &flag));
        CHECK_OK(orr_cluster_get(world, &(orr_cluster_desc){&flag, 1, NULL, 0, NULL}, &with));
        orr_entity ids[10];
        CHECK_OK(orr_create_many(world, with, 10, NULL, 0, ids));
        CHECK_EQ(live, 10);
        orri_share* share =
            orri_share_column(world, orri_cluster_at(world, with)->chunks[0], 0, kinds[way % 2]);
        CHECK(share != NULL);
        if (way == 0) {
            CHECK_OK(orr_cluster_clear(world, with));
        } else if (way == 1) {
            CHECK_OK(orr_rows_move_all(world, with, without));
        } else {
            CHECK_OK(orr_component_set(world, ids[0], flag, NULL)); // A marker has no value.
            CHECK_OK(orr_destroy_many(world, ids, 10));
        }
        orri_share_release(world, share);
        CHECK_EQ(live, way == 2 ? -1 : 0); // Set again: destructed once more, copied by memcpy.
        kit_end(&k);
    }
}

// Error handler that validates the world.
static void validate_on_error(void* user, orr_world* world, const orr_error* error)
{
    (void)error;
    *(bool*)user = orr_alive(world, h.ids[0]);
    (void)orr_world_hash(world);
}

ORR_TEST(batch_refused_a_copy_shows_a_valid_world_to_the_handler)
{
    for (uint64_t n = 1; n < 6; n++) {
        kit k = {0};
        bool alive = true;
        held_begin(&k, ORRI_SHARE_FROZEN);
        uint64_t hash = orr_world_hash(h.world);
        h.world->errors.handler = validate_on_error;
        h.world->errors.user = &alive;
        failing_alloc_arm(&k.memory, n, false);
        orr_result result = orr_destroy_many(h.world, h.ids, 3);
        failing_alloc_arm(&k.memory, 0, false);
        CHECK(alive);
        if (result != ORR_OK) {
            CHECK_RESULT(result, ORR_ERR_MEMORY);
            CHECK_EQ(orr_world_hash(h.world), hash);
        }
        held_end(&k);
    }
}
