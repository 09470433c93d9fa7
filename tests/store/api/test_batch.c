// SPDX-License-Identifier: MIT
// Batches: all or nothing, entities listed twice, absent components, many clusters at once.
#include "support/store_kit.h"
#include "test.h"

#include <stdlib.h>

#define CAPACITY ORR_CHUNK_CAPACITY

ORR_TEST(create_many_without_data_gives_presets)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    static orr_entity ids[5000];
    CHECK_OK(
        orr_create_many(world, KIT_CLUSTER(world, Health, Position, Token), 5000, NULL, 0, ids));
    for (uint32_t i = 0; i < 5000; i++) {
        CHECK_EQ(orr_get(world, ids[i], Health)->value, 100);
        CHECK_EQ(orr_get(world, ids[i], Position)->x, 0);
        CHECK(kit_token_sound(orr_get(world, ids[i], Token)));
    }
    CHECK_EQ(kit_tokens.constructs, 5000);
    CHECK_EQ(kit_tokens.construct_calls, 3); // Whole ranges: one call per chunk.
    kit_end(&k);
}

ORR_TEST(create_many_with_data_copies_values_and_presets_the_rest)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    enum {
        COUNT = 4500
    };
    static Position positions[COUNT];
    static Token tokens[COUNT];
    static orr_entity ids[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        positions[i] = (Position){(float)i, 1, 2};
        tokens[i] = kit_token(i);
    }
    orr_column_data data[2] = {{KIT_TYPE(world, Token), tokens},
                               {KIT_TYPE(world, Position), positions}};
    orr_cluster cluster = KIT_CLUSTER(world, Position, Token, Health);
    CHECK_OK(orr_create_many(world, cluster, COUNT, data, 2, ids));
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK_EQ(orr_get(world, ids[i], Position)->x, i);
        CHECK_EQ(orr_get(world, ids[i], Token)->cell.payload, i);
        CHECK_EQ(orr_get(world, ids[i], Health)->value, 100);
    }
    CHECK_EQ(kit_tokens.copies, COUNT);
    CHECK_EQ(kit_tokens.constructs, 0);
    CHECK_OK(orr_create_many(world, cluster, 0, NULL, 0, NULL)); // A count of 0 is valid.
    CHECK_EQ(orr_entity_count(world), COUNT);
    kit_end(&k);
}

ORR_TEST(create_many_refused_by_a_hook_leaves_nothing)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Label, Token);
    CHECK(orr_create_in(world, cluster).id != 0);
    orr_string text = orr_string_make(world, "text");
    static Label labels[5000];
    static Token tokens[5000];
    static orr_entity ids[5000];
    for (uint32_t i = 0; i < 5000; i++) {
        labels[i] = (Label){text, 1};
        tokens[i] = kit_token(i);
    }
    orr_column_data data[2] = {{KIT_TYPE(world, Label), labels}, {KIT_TYPE(world, Token), tokens}};
    uint64_t hash = orr_world_hash(world);
    for (uint32_t nth = 1; nth <= 3; nth++) {
        for (uint32_t with = 1; with <= 2; with++) { // Constructed, then copied.
            ids[0].id = 77;
            kit_tokens.refuse_after = nth;
            CHECK_RESULT(orr_create_many(world, cluster, 5000, data, with, ids), ORR_ERR_HOOK);
            CHECK_CONTAINS(k.errors.text, "Token");
            CHECK_EQ(ids[0].id, 77);
            CHECK_EQ(kit_tokens.live, 1);
            CHECK_EQ(orr_world_hash(world), hash);
            CHECK_EQ(kit_rows(world, cluster), 1);
            CHECK_EQ(kit_info(world, cluster).chunk_count, 1);
        }
    }
    kit_tokens.refuse_after = 0;
    orr_tick_advance(world);
    orr_world_stats stats;
    orr_world_stats_get(world, &stats);
    CHECK_EQ(stats.blobs, 0); // No entity kept the text.
    kit_end(&k);
}

ORR_TEST(create_many_with_bad_data_is_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    orr_type position = KIT_TYPE(world, Position), health = KIT_TYPE(world, Health);
    Position values[2] = {{1, 2, 3}, {4, 5, 6}};
    uint64_t hash = orr_world_hash(world);
    CHECK_RESULT(orr_create_many(world, cluster, 2, &(orr_column_data){position, NULL}, 1, NULL),
                 ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "Position");
    CHECK_RESULT(orr_create_many(world, cluster, 2, &(orr_column_data){health, values}, 1, NULL),
                 ORR_ERR_ABSENT);
    CHECK_CONTAINS(k.errors.text, "Health");
    CHECK_RESULT(
        orr_create_many(world, cluster, 2, &(orr_column_data){(orr_type){99}, values}, 1, NULL),
        ORR_ERR_TYPE);
    CHECK_RESULT(orr_create_many(world, cluster, 2, NULL, 1, NULL), ORR_ERR_ARGUMENT);
    orr_column_data twice[2] = {{position, values}, {position, values}};
    CHECK_RESULT(orr_create_many(world, cluster, 2, twice, 2, NULL), ORR_ERR_ARGUMENT);
    CHECK_EQ(orr_world_hash(world), hash);
    kit_end(&k);
}

ORR_TEST(destroy_many_destroys_all_across_clusters)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster clusters[3] = {KIT_CLUSTER(world, Position, Token), KIT_CLUSTER(world, Token),
                               KIT_CLUSTER(world, Health)};
    static orr_entity ids[9000], half[4500];
    for (uint32_t c = 0; c < 3; c++) {
        CHECK_OK(orr_create_many(world, clusters[c], 3000, NULL, 0, ids + 3000 * c));
    }
    for (uint32_t i = 0; i < 4500; i++) { // Every other one, not in row order.
        half[i] = ids[(i * 7 % 4500) * 2];
    }
    CHECK_OK(orr_destroy_many(world, half, 4500));
    CHECK_EQ(orr_entity_count(world), 4500);
    CHECK_EQ(kit_tokens.live, 3000);
    for (uint32_t i = 0; i < 9000; i++) {
        CHECK_EQ(orr_alive(world, ids[i]), i % 2 == 1);
    }
    CHECK_OK(orr_world_validate(world));
    CHECK_OK(orr_destroy_many(world, NULL, 0));
    CHECK_OK(orr_destroy_many(world, ids + 1, 1));
    kit_end(&k);
}

ORR_TEST(destroy_many_keeps_values_of_the_remaining_entities)
{
    // Which rows are removed: the first, the last, blocks, all but one.
    for (uint32_t pattern = 0; pattern < 6; pattern++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        enum {
            COUNT = CAPACITY * 2 + 50
        };
        static orr_entity ids[COUNT], gone[COUNT];
        CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position, Token), COUNT, NULL, 0, ids));
        uint32_t gone_count = 0;
        for (uint32_t i = 0; i < COUNT; i++) {
            *orr_edit(world, ids[i], Position) = (Position){(float)i, 0, 0};
            orr_edit(world, ids[i], Token)->cell.payload = i;
            bool go = pattern == 0   ? i < 60
                      : pattern == 1 ? i >= COUNT - 60
                      : pattern == 2 ? i % 2 == 0
                      : pattern == 3 ? i / 64 % 2 == 0
                      : pattern == 4 ? i != 1234
                                     : i % 97 < 3;
            if (go) {
                gone[gone_count++] = ids[i];
            }
        }
        CHECK_OK(orr_destroy_many(world, gone, gone_count));
        uint32_t left = 0;
        for (uint32_t i = 0; i < COUNT; i++) {
            if (orr_alive(world, ids[i])) {
                CHECK_EQ(orr_get(world, ids[i], Position)->x, i);
                CHECK_EQ(orr_get(world, ids[i], Token)->cell.payload, i);
                CHECK(kit_token_sound(orr_get(world, ids[i], Token)));
                left++;
            }
        }
        CHECK_EQ(left + gone_count, COUNT);
        CHECK_EQ(kit_tokens.live, left);
        kit_end(&k);
    }
}

ORR_TEST(destroy_many_with_a_dead_or_repeated_id_destroys_none)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity ids[6];
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), 5, NULL, 0, ids));
    orr_entity dead = orr_create(world);
    CHECK_OK(orr_destroy(world, dead));
    uint64_t hash = orr_world_hash(world);
    ids[5] = dead;
    CHECK_RESULT(orr_destroy_many(world, ids, 6), ORR_ERR_ENTITY);
    CHECK_CONTAINS(k.errors.text, "5v1");
    ids[5] = ids[2];
    CHECK_RESULT(orr_destroy_many(world, ids, 6), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "2v1");
    CHECK_CONTAINS(k.errors.text, "twice");
    ids[5] = (orr_entity){0};
    CHECK_RESULT(orr_destroy_many(world, ids, 6), ORR_ERR_ENTITY);
    CHECK_RESULT(orr_destroy_many(world, NULL, 1), ORR_ERR_ARGUMENT);
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_EQ(orr_entity_count(world), 5);
    CHECK_OK(orr_world_validate(world));
    CHECK_OK(orr_destroy_many(world, ids, 5));
    kit_end(&k);
}

ORR_TEST(add_many_with_values_adds_where_missing_and_sets_all)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    enum {
        COUNT = 3000
    };
    static orr_entity ids[COUNT];
    static Token tokens[COUNT];
    orr_type token = KIT_TYPE(world, Token);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), COUNT, NULL, 0, ids));
    for (uint32_t i = 0; i < COUNT; i++) {
        tokens[i] = kit_token(i);
        *orr_edit(world, ids[i], Position) = (Position){(float)i, 0, 0};
        if (i % 3 == 0) { // Some have it, with another value, some in other clusters.
            Token other = kit_token(99999);
            CHECK_OK(orr_component_set(world, ids[i], token, &other));
        }
        if (i % 5 == 0) {
            CHECK_OK(orr_tag_add(world, ids[i], i % 2));
        }
    }
    CHECK_OK(orr_component_add_many(world, ids, COUNT, token, tokens));
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK_EQ(orr_get(world, ids[i], Token)->cell.payload, i);
        CHECK_EQ(orr_get(world, ids[i], Position)->x, i);
        CHECK_EQ(orr_tag_has(world, ids[i], i % 2), i % 5 == 0);
    }
    CHECK_EQ(kit_tokens.live, COUNT);
    CHECK_EQ(kit_tokens.constructs, 0);
    kit_end(&k);
}

ORR_TEST(add_many_without_values_keeps_existing_values)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity ids[10];
    orr_type health = KIT_TYPE(world, Health);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), 10, NULL, 0, ids));
    CHECK_OK(orr_set(world, ids[4], Health, {7, 8}));
    CHECK_OK(orr_component_add_many(world, ids, 10, health, NULL));
    for (uint32_t i = 0; i < 10; i++) {
        CHECK_EQ(orr_get(world, ids[i], Health)->value, i == 4 ? 7 : 100);
    }
    kit_end(&k);
}

ORR_TEST(add_many_refused_by_a_hook_leaves_the_world_as_it_was)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    enum {
        COUNT = 60
    };
    orr_entity ids[COUNT];
    Token tokens[COUNT];
    orr_type token = KIT_TYPE(world, Token);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), COUNT, NULL, 0, ids));
    for (uint32_t i = 0; i < COUNT; i++) {
        tokens[i] = kit_token(i);
        if (i % 4 == 0) {
            CHECK_OK(orr_component_add(world, ids[i], token));
        }
        if (i % 3 == 0) {
            CHECK_OK(orr_tag_add(world, ids[i], 1));
        }
    }
    CHECK_OK(orr_cluster_delete(world, kit_cluster(world, &token, 1, NULL, 0)));
    uint64_t hash = orr_world_hash(world), live = kit_tokens.live;
    orr_world_stats before, after;
    orr_world_stats_get(world, &before);
    for (uint32_t nth = 1; nth <= COUNT; nth++) {
        kit_tokens.refuse_after = nth;
        CHECK_RESULT(orr_component_add_many(world, ids, COUNT, token, tokens), ORR_ERR_HOOK);
        CHECK_EQ(kit_tokens.live, live);
        CHECK_EQ(orr_world_hash(world), hash);
        orr_world_stats_get(world, &after);
        CHECK_EQ(after.clusters, before.clusters);
    }
    kit_tokens.refuse_after = 1;
    CHECK_RESULT(orr_component_add_many(world, ids, COUNT, token, NULL), ORR_ERR_HOOK);
    kit_tokens.refuse_after = 0;
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_OK(orr_world_validate(world));
    CHECK_OK(orr_component_add_many(world, ids, COUNT, token, tokens));
    kit_end(&k);
}

ORR_TEST(remove_many_removes_where_present)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    enum {
        COUNT = 2500
    };
    static orr_entity ids[COUNT];
    orr_type token = KIT_TYPE(world, Token), position = KIT_TYPE(world, Position);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position, Token), COUNT, NULL, 0, ids));
    for (uint32_t i = 0; i < COUNT; i++) {
        *orr_edit(world, ids[i], Position) = (Position){(float)i, 0, 0};
    }
    CHECK_OK(orr_component_remove(world, ids[9], token));
    CHECK_OK(orr_component_remove_many(world, ids, 2000, token));
    CHECK_EQ(kit_tokens.live, 500);
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK_EQ(orr_component_has(world, ids[i], token), i >= 2000);
        CHECK_EQ(((const Position*)orr_component_get(world, ids[i], position))->x, i);
    }
    CHECK_OK(orr_component_remove_many(world, ids, 2000, token)); // None of them has it.
    kit_end(&k);
}

ORR_TEST(set_many_sets_all_or_refuses_when_one_lacks_the_type)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity ids[5];
    orr_type health = KIT_TYPE(world, Health), label = KIT_TYPE(world, Label);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Health, Label), 4, NULL, 0, ids));
    ids[4] = orr_create(world);
    Health values[5] = {{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}};
    uint64_t hash = orr_world_hash(world);
    CHECK_RESULT(orr_component_set_many(world, ids, 5, health, values), ORR_ERR_ABSENT);
    CHECK_CONTAINS(k.errors.text, "4v1");
    CHECK_CONTAINS(k.errors.text, "Health");
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_OK(orr_component_set_many(world, ids, 4, health, values));
    Label labels[4];
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_EQ(orr_get(world, ids[i], Health)->value, i + 1);
        labels[i] = (Label){orr_string_make(world, i % 2 ? "odd" : "even"), (int32_t)i};
    }
    CHECK_OK(orr_component_set_many(world, ids, 4, label, labels));
    CHECK_STR(orr_string_text(world, orr_get(world, ids[3], Label)->text), "odd");
    // A repeated id is allowed where no row moves: the later value is stored.
    orr_entity twice[2] = {ids[1], ids[1]};
    CHECK_OK(orr_component_set_many(world, twice, 2, health, values));
    CHECK_EQ(orr_get(world, ids[1], Health)->value, 2);
    Health out[2];
    CHECK_OK(orr_component_get_many(world, twice, 2, health, out));
    CHECK_EQ(out[1].value, 2);
    kit_end(&k);
}

ORR_TEST(get_many_copies_until_one_is_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    enum {
        COUNT = 2100
    };
    static orr_entity ids[COUNT + 1];
    static Position out[COUNT + 1];
    orr_type position = KIT_TYPE(world, Position);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), COUNT, NULL, 0, ids));
    for (uint32_t i = 0; i < COUNT; i++) {
        *orr_edit(world, ids[i], Position) = (Position){(float)i, 2, 3};
    }
    CHECK_OK(orr_component_get_many(world, ids, COUNT, position, out));
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK_EQ(out[i].x, i);
    }
    ids[COUNT] = orr_create(world);
    out[0].x = out[COUNT - 1].x = out[COUNT].x = -1;
    CHECK_RESULT(orr_component_get_many(world, ids, COUNT + 1, position, out), ORR_ERR_ABSENT);
    CHECK(out[0].x == 0 && out[COUNT - 1].x == COUNT - 1 && out[COUNT].x == -1);
    CHECK_OK(orr_destroy(world, ids[7]));
    out[6].x = out[7].x = out[8].x = -1;
    CHECK_RESULT(orr_component_get_many(world, ids, COUNT, position, out), ORR_ERR_ENTITY);
    CHECK(out[6].x == 6 && out[7].x == -1 && out[8].x == -1);
    orr_entity heir = orr_create_in(world, KIT_CLUSTER(world, Position));
    CHECK_EQ((uint32_t)heir.id, (uint32_t)ids[7].id);
    CHECK_RESULT(orr_component_get_many(world, ids, COUNT, position, out), ORR_ERR_ENTITY);
    CHECK(out[6].x == 6 && out[7].x == -1 && out[8].x == -1);
    CHECK_OK(orr_destroy(world, ids[COUNT]));
    CHECK_RESULT(orr_component_get_many(world, ids, COUNT + 1, position, out), ORR_ERR_ENTITY);
    CHECK_RESULT(orr_component_get_many(world, ids, COUNT, position, NULL), ORR_ERR_ARGUMENT);
    CHECK_OK(orr_component_get_many(world, NULL, 0, position, NULL));
    kit_end(&k);
}

#define CHECK_GET_MANY(type, size_)                                                               \
    do {                                                                                          \
        orr_type type_ = KIT_TYPE(world, type);                                                   \
        static type values_[COUNT], out_[COUNT];                                                  \
        CHECK_EQ(sizeof(type), size_);                                                            \
        for (uint32_t i = 0; i < sizeof values_; i++) {                                           \
            ((uint8_t*)values_)[i] = (uint8_t)(i * 7 + i / 256);                                  \
        }                                                                                         \
        CHECK_OK(orr_component_add_many(world, ids, COUNT, type_, values_));                      \
        CHECK_OK(orr_component_get_many(world, ids, COUNT, type_, out_));                         \
        CHECK(memcmp(values_, out_, sizeof out_) == 0);                                           \
        CHECK(memcmp(orr_get(world, ids[COUNT / 2], type), &out_[COUNT / 2], sizeof(type)) == 0); \
    } while (0)

ORR_STRUCT(Bytes4, (uint8_t, b, 4))
ORR_STRUCT(Bytes8, (uint8_t, b, 8))
ORR_STRUCT(Bytes12, (uint8_t, b, 12))
ORR_STRUCT(Bytes16, (uint8_t, b, 16))
ORR_STRUCT(Bytes20, (uint8_t, b, 20))
ORR_STRUCT_EX(Fixed8, (.storage = ORR_PINNED), (uint8_t, b, 8))

ORR_TEST(get_many_copies_values_of_every_size)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    enum {
        COUNT = 300
    };
    static orr_entity ids[COUNT];
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Health), COUNT / 2, NULL, 0, ids));
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Tiny), COUNT / 2, NULL, 0, ids + COUNT / 2));
    for (uint32_t i = 0; i + 1 < COUNT; i += 2) { // Entities of both clusters take turns.
        orr_entity swapped = ids[i];
        ids[i] = ids[COUNT - 1 - i];
        ids[COUNT - 1 - i] = swapped;
    }
    CHECK_GET_MANY(Bytes4, 4);
    CHECK_GET_MANY(Bytes8, 8);
    CHECK_GET_MANY(Bytes12, 12);
    CHECK_GET_MANY(Bytes16, 16);
    CHECK_GET_MANY(Bytes20, 20);
    CHECK_GET_MANY(Fixed8, 8);
    kit_end(&k);
}

ORR_TEST(add_many_and_remove_many_refuse_a_repeated_id_that_would_move)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity ids[3];
    orr_type health = KIT_TYPE(world, Health), position = KIT_TYPE(world, Position);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), 2, NULL, 0, ids));
    ids[2] = ids[0];
    uint64_t hash = orr_world_hash(world);
    CHECK_RESULT(orr_component_add_many(world, ids, 3, health, NULL), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_component_remove_many(world, ids, 3, position), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "0v1");
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_OK(orr_world_validate(world));
    CHECK_OK(orr_component_add_many(world, ids, 2, health, NULL));
    kit_end(&k);
}

ORR_TEST(batch_of_markers_works)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity ids[100];
    orr_type frozen = KIT_TYPE(world, Frozen);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), 100, NULL, 0, ids));
    CHECK_OK(orr_component_add_many(world, ids, 100, frozen, NULL));
    CHECK_OK(orr_component_set_many(world, ids, 100, frozen, NULL));
    CHECK(orr_component_has(world, ids[99], frozen));
    CHECK_OK(orr_component_remove_many(world, ids, 50, frozen));
    CHECK(!orr_component_has(world, ids[0], frozen));
    kit_end(&k);
}

ORR_TEST(batches_equal_single_calls_by_value)
{
    kit a = {0}, b = {0};
    orr_world* many = kit_begin(&a, NULL);
    orr_world* single = kit_begin(&b, NULL);
    enum {
        COUNT = 2200
    };
    static orr_entity ids[COUNT], picked[COUNT];
    static Health values[COUNT];
    CHECK_OK(orr_create_many(many, KIT_CLUSTER(many, Position), COUNT, NULL, 0, ids));
    orr_cluster cluster = KIT_CLUSTER(single, Position);
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK_EQ(orr_create_in(single, cluster).id, ids[i].id);
        values[i] = (Health){(int32_t)i, 1};
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < COUNT; i += 3) {
        picked[count++] = ids[(i * 7) % COUNT];
    }
    orr_type hm = KIT_TYPE(many, Health), hs = KIT_TYPE(single, Health);
    CHECK_OK(orr_component_add_many(many, picked, count, hm, values));
    for (uint32_t i = 0; i < count; i++) {
        CHECK_OK(orr_component_set(single, picked[i], hs, &values[i]));
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        const Health* x = orr_component_get(many, ids[i], hm);
        const Health* y = orr_component_get(single, ids[i], hs);
        CHECK((x == NULL) == (y == NULL));
        CHECK(x == NULL || x->value == y->value);
    }
    kit_end(&a);
    kit_end(&b);
}

ORR_TEST(batch_with_an_id_not_yet_given_is_refused_as_dead)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_destroy(world, bob));
    orr_entity next = {bob.id + ((uint64_t)1 << 32)}; // As another world may have given it.
    CHECK_RESULT(orr_destroy_many(world, &next, 1), ORR_ERR_ENTITY);
    orr_entity eve = orr_create(world);
    CHECK_EQ(eve.id, next.id);
    orr_entity twice[2] = {eve, eve};
    CHECK_RESULT(orr_destroy_many(world, twice, 2), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "twice");
    CHECK(orr_alive(world, eve));
    kit_end(&k);
}
