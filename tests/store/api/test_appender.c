// SPDX-License-Identifier: MIT
// The appender: rows made in runs and filled by the caller.
#include "support/store_kit.h"
#include "test.h"

static void append_positions(orr_world* world, orr_cluster cluster, uint32_t count, orr_entity* ids)
{
    orr_type type = KIT_TYPE(world, Position);
    orr_appender appender;
    CHECK_OK(orr_append_begin(world, cluster, &type, 1, &appender));
    for (uint32_t n = 0; n < count; n++) {
        uint32_t i = orr_append(&appender);
        CHECK(i != ORR_APPEND_NONE);
        ((Position*)appender.columns[0])[i] = (Position){(float)n, 1, 2};
        ids[n] = appender.entities[i];
    }
    orr_append_end(&appender);
}

ORR_TEST(append_makes_rows_one_by_one)
{
    static const uint32_t counts[] = {0, 1, 63, 64, 65, 2047, 2048, 2049, 5000};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        static orr_entity ids[5000];
        orr_cluster cluster = KIT_CLUSTER(world, Position, Health, Token);
        append_positions(world, cluster, counts[c], ids);
        CHECK_EQ(orr_entity_count(world), counts[c]);
        CHECK_EQ(kit_rows(world, cluster), counts[c]);
        CHECK_EQ(kit_info(world, cluster).chunk_count,
                 (counts[c] + ORR_CHUNK_CAPACITY - 1) / ORR_CHUNK_CAPACITY);
        CHECK_EQ(kit_tokens.live, counts[c]);
        for (uint32_t i = 0; i < counts[c]; i++) {
            CHECK(orr_alive(world, ids[i]));
            CHECK_EQ(orr_get(world, ids[i], Position)->x, i);
            CHECK_EQ(orr_get(world, ids[i], Health)->value, 100);
        }
        CHECK_OK(orr_world_validate(world));
        kit_end(&k);
    }
}

ORR_TEST(append_equals_single_creation_in_ids_and_hash)
{
    static const uint32_t counts[] = {0, 1, 10, 100, 2050};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        kit a = {0}, b = {0};
        orr_world* run = kit_begin(&a, NULL);
        orr_world* single = kit_begin(&b, NULL);
        orr_world* both[2] = {run, single};
        static orr_entity ids[2050];
        for (int w = 0; w < 2; w++) { // A few freed ids, so that both kinds are given.
            orr_entity first[9];
            CHECK_OK(orr_create_many(both[w], KIT_CLUSTER(both[w], Position), 9, NULL, 0, first));
            CHECK_OK(orr_destroy(both[w], first[3]));
            CHECK_OK(orr_destroy(both[w], first[7]));
            CHECK_OK(orr_destroy(both[w], first[0]));
        }
        append_positions(run, KIT_CLUSTER(run, Position), counts[c], ids);
        for (uint32_t i = 0; i < counts[c]; i++) {
            orr_entity id = orr_create_in(single, KIT_CLUSTER(single, Position));
            CHECK_EQ(id.id, ids[i].id);
            *orr_edit(single, id, Position) = (Position){(float)i, 1, 2};
        }
        CHECK_EQ(orr_world_hash(run), orr_world_hash(single));
        CHECK_EQ(orr_create(run).id, orr_create(single).id);
        kit_end(&a);
        kit_end(&b);
    }
}

ORR_TEST(append_rows_not_used_were_never_alive)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Token, Label);
    orr_appender appender;
    CHECK_OK(orr_append_begin(world, cluster, NULL, 0, &appender));
    uint32_t i = orr_append(&appender);
    orr_entity taken = appender.entities[i];
    orr_entity next = {appender.count > 1 ? appender.entities[i + 1].id : 0};
    orr_append_end(&appender);
    CHECK_EQ(orr_entity_count(world), 1);
    CHECK(orr_alive(world, taken));
    CHECK(!orr_alive(world, next));
    CHECK_EQ(kit_tokens.live, 1);
    orr_entity fresh = orr_create(world);
    CHECK(next.id == 0 || fresh.id == next.id); // As if it had never been reserved.
    CHECK_OK(orr_world_validate(world));
    kit_end(&k);
}

ORR_TEST(appender_open_refuses_every_other_change)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position), other = KIT_CLUSTER(world, Health);
    orr_type position = KIT_TYPE(world, Position), tiny = KIT_TYPE(world, Tiny);
    orr_entity bob = orr_create_in(world, other);
    orr_appender appender, second;
    CHECK_OK(orr_append_begin(world, cluster, &position, 1, &appender));
    CHECK(orr_append(&appender) != ORR_APPEND_NONE);
    CHECK_EQ(orr_create(world).id, 0);
    CHECK_EQ(k.errors.result, ORR_ERR_STATE);
    CHECK_EQ(orr_create_in(world, cluster).id, 0);
    CHECK_EQ(orr_copy(world, bob).id, 0);
    CHECK_RESULT(orr_create_many(world, cluster, 1, NULL, 0, NULL), ORR_ERR_STATE);
    CHECK_RESULT(orr_destroy(world, bob), ORR_ERR_STATE);
    CHECK_RESULT(orr_destroy_many(world, &bob, 1), ORR_ERR_STATE);
    CHECK_RESULT(orr_component_add(world, bob, position), ORR_ERR_STATE);
    CHECK_RESULT(orr_component_remove(world, bob, KIT_TYPE(world, Health)), ORR_ERR_STATE);
    CHECK_RESULT(orr_component_set(world, bob, tiny, &(Tiny){1}), ORR_ERR_STATE);
    CHECK_RESULT(orr_component_add_many(world, &bob, 1, position, NULL), ORR_ERR_STATE);
    CHECK_RESULT(orr_component_remove_many(world, &bob, 1, KIT_TYPE(world, Health)), ORR_ERR_STATE);
    CHECK_RESULT(orr_tag_add(world, bob, 1), ORR_ERR_STATE);
    CHECK_RESULT(orr_entity_move(world, bob, cluster), ORR_ERR_STATE);
    CHECK_RESULT(orr_rows_move(world, other, 0, 1, cluster), ORR_ERR_STATE);
    CHECK_RESULT(orr_rows_move_all(world, other, cluster), ORR_ERR_STATE);
    CHECK_RESULT(orr_cluster_clear(world, other), ORR_ERR_STATE);
    CHECK_RESULT(orr_cluster_delete(world, other), ORR_ERR_STATE);
    CHECK_RESULT(orr_entities_destroy_all(world), ORR_ERR_STATE);
    CHECK_RESULT(orr_append_begin(world, cluster, NULL, 0, &second), ORR_ERR_STATE);
    orr_append_end(&appender);
    CHECK_OK(orr_destroy(world, bob));
    CHECK_EQ(orr_entity_count(world), 1);
    kit_end(&k);
}

ORR_TEST(append_begin_with_invalid_arguments_is_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    orr_type health = KIT_TYPE(world, Health), unknown = {88};
    orr_type types[ORR_APPEND_TYPES_MAX + 1];
    for (uint32_t i = 0; i <= ORR_APPEND_TYPES_MAX; i++) {
        types[i] = KIT_TYPE(world, Position);
    }
    orr_appender appender;
    CHECK_RESULT(orr_append_begin(world, (orr_cluster){0, 0}, NULL, 0, &appender), ORR_ERR_CLUSTER);
    CHECK_RESULT(orr_append_begin(world, cluster, &health, 1, &appender), ORR_ERR_ABSENT);
    CHECK_CONTAINS(k.errors.text, "Health");
    CHECK_RESULT(orr_append_begin(world, cluster, &unknown, 1, &appender), ORR_ERR_TYPE);
    CHECK_RESULT(orr_append_begin(world, cluster, NULL, 1, &appender), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_append_begin(world, cluster, NULL, 0, NULL), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_append_begin(world, cluster, types, ORR_APPEND_TYPES_MAX + 1, &appender),
                 ORR_ERR_ARGUMENT);
    CHECK(orr_create(world).id != 0); // None of them left an appender open.
    kit_end(&k);
}

ORR_TEST(append_refused_by_the_limit_keeps_the_rows_used)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.entities_max = 100});
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    orr_appender appender;
    CHECK_OK(orr_append_begin(world, cluster, NULL, 0, &appender));
    uint32_t taken = 0;
    while (taken < 200 && orr_append(&appender) != ORR_APPEND_NONE) {
        taken++;
    }
    CHECK_EQ(taken, 100);
    CHECK_EQ(k.errors.result, ORR_ERR_CAPACITY);
    orr_append_end(&appender);
    CHECK_EQ(orr_entity_count(world), 100);
    kit_end(&k);
}

ORR_TEST(append_refused_by_a_hook_keeps_the_rows_used)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Token);
    orr_appender appender;
    CHECK_OK(orr_append_begin(world, cluster, NULL, 0, &appender));
    kit_tokens.refuse_after = 2;
    uint32_t taken = 0;
    while (taken < 10000 && orr_append(&appender) != ORR_APPEND_NONE) {
        taken++;
    }
    kit_tokens.refuse_after = 0;
    CHECK(taken > 0 && taken < 10000);
    CHECK_EQ(k.errors.result, ORR_ERR_HOOK);
    orr_append_end(&appender);
    CHECK_EQ(orr_entity_count(world), taken);
    CHECK_EQ(kit_tokens.live, taken);
    kit_end(&k);
}

ORR_TEST(appender_not_begun_or_ended_refuses_and_changes_nothing)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    orr_type velocity = KIT_TYPE(world, Velocity), position = KIT_TYPE(world, Position);
    orr_appender a;
    CHECK_RESULT(orr_append_begin(world, cluster, &velocity, 1, &a), ORR_ERR_ABSENT);
    CHECK_EQ(orr_append(&a), ORR_APPEND_NONE);
    orr_append_end(&a);
    CHECK_OK(orr_append_begin(world, cluster, &position, 1, &a));
    CHECK_EQ(orr_append(&a), 0);
    orr_append_end(&a);
    orr_append_end(&a);
    CHECK_EQ(orr_append(&a), ORR_APPEND_NONE);
    CHECK_EQ(orr_entity_count(world), 1);
    CHECK_OK(orr_world_validate(world));
    kit_end(&k);
}

ORR_TEST(world_with_an_open_appender_can_be_destroyed)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type token = KIT_TYPE(world, Token);
    orr_appender a;
    CHECK_OK(orr_append_begin(world, KIT_CLUSTER(world, Token), &token, 1, &a));
    CHECK_EQ(orr_append(&a), 0);
    kit_end(&k); // Everything is freed, and every token destructed once.
}

ORR_TEST(appender_begun_twice_is_refused_and_stays_open)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    orr_type position = KIT_TYPE(world, Position);
    orr_appender a;
    CHECK_OK(orr_append_begin(world, cluster, &position, 1, &a));
    CHECK_EQ(orr_append(&a), 0);
    CHECK_RESULT(orr_append_begin(world, cluster, &position, 1, &a), ORR_ERR_STATE);
    CHECK_EQ(orr_append(&a), 1);
    orr_append_end(&a);
    CHECK_EQ(orr_entity_count(world), 2);
    CHECK(orr_create(world).id != 0);
    kit_end(&k);
}
