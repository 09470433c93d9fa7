// SPDX-License-Identifier: MIT
// ORR_TEST_ALONE: it brings a library of its own, and so cannot share a program with tests of the
// other one. Indexes whose generations are used up. An index has 16 million generations; this
// program is built with its own copy of the store, in which an index has three. The library's copy
// is not linked.
#define ORRI_GENERATION_MAX 3u
#define ORRI_CHUNKS_MAX     6u

#include "store/api/appender.c"
#include "store/api/batch.c"
#include "store/api/column.c"
#include "store/api/component.c"
#include "store/api/enable.c"
#include "store/api/entity.c"
#include "store/api/entity_print.c"
#include "store/api/tag.c"
#include "store/api/validate.c"
#include "store/api/world.c"
#include "store/api/world_hash.c"
#include "store/change/chunk_transfer.c"
#include "store/cow/share.c"
#include "store/table/block.c"
#include "store/table/chunk.c"
#include "store/table/cluster.c"
#include "store/table/entity_index.c"
#include "store/table/row.c"
#include "store/table/transition.c"
#include "store/world/refuse.c"

#include "support/store_kit.h"
#include "test.h"

ORR_TEST(generation_used_up_retires_the_index)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity old[3];
    for (uint32_t i = 0; i < 3; i++) {
        old[i] = orr_create(world);
        CHECK_EQ((uint32_t)old[i].id, 0);
        CHECK_EQ(old[i].id >> 32, i + 1);
        CHECK_OK(orr_destroy(world, old[i]));
    }
    // The fourth life is another index; none of the old ids is ever alive again.
    for (uint32_t i = 1; i < 5; i++) {
        orr_entity next = orr_create(world);
        CHECK_EQ((uint32_t)next.id, i);
        for (uint32_t j = 0; j < 3; j++) {
            CHECK(!orr_alive(world, old[j]));
        }
    }
    CHECK_OK(orr_world_validate(world));
    kit_end(&k);
}

ORR_TEST(generation_used_up_by_any_destroying_call_retires_the_index)
{
    for (uint32_t way = 0; way < 5; way++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, &(orr_world_desc){.id_salt = ORR_SALT_MAX});
        orr_cluster cluster = KIT_CLUSTER(world, Position);
        enum {
            COUNT = 40 // Records end sixteen at a time, and the rest one by one.
        };
        orr_entity ids[COUNT], all[6 * COUNT];
        uint32_t count = 0;
        for (uint32_t life = 0; life < 6; life++) {
            CHECK_OK(orr_create_many(world, cluster, COUNT, NULL, 0, ids));
            for (uint32_t i = 0; i < COUNT; i++) {
                for (uint32_t j = 0; j < count; j++) {
                    CHECK(all[j].id != ids[i].id);
                }
            }
            memcpy(all + count, ids, sizeof ids);
            count += COUNT;
            switch (way) {
            case 0:
                CHECK_OK(orr_destroy_many(world, ids, COUNT));
                break;
            case 1:
                CHECK_OK(orr_cluster_clear(world, cluster));
                break;
            case 2:
                CHECK_OK(orr_entities_destroy_all(world));
                break;
            case 3:
                CHECK_OK(orr_cluster_delete(world, cluster));
                cluster = KIT_CLUSTER(world, Position);
                break;
            default:
                for (uint32_t i = 0; i < COUNT; i++) {
                    CHECK_OK(orr_destroy(world, ids[i]));
                }
                break;
            }
            CHECK_OK(orr_world_validate(world));
            for (uint32_t j = 0; j < count; j++) {
                CHECK(!orr_alive(world, all[j]));
            }
        }
        CHECK_EQ(world->hot.count,
                 2 * COUNT); // Half of the indexes lived three times, then the others.
        kit_end(&k);
    }
}

ORR_TEST(generation_used_up_counts_against_the_limit)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.entities_max = 2});
    for (uint32_t i = 0; i < 6; i++) {
        CHECK_OK(orr_destroy(world, orr_create(world)));
    }
    CHECK_EQ(orr_create(world).id, 0);
    CHECK_EQ(k.errors.result, ORR_ERR_CAPACITY);
    kit_end(&k);
}

ORR_TEST(generation_used_up_shows_in_the_hash)
{
    uint64_t hashes[2];
    for (uint32_t i = 0; i < 2; i++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        for (uint32_t life = 0; life < 2 + i; life++) {
            CHECK_OK(orr_destroy(world, orr_create(world)));
        }
        hashes[i] = orr_world_hash(world);
        kit_end(&k);
    }
    CHECK(hashes[0] != hashes[1]);
}

ORR_TEST(generation_of_unused_appender_rows_is_not_used)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    orr_entity ids[4];
    CHECK_OK(orr_create_many(world, cluster, 4, NULL, 0, ids));
    CHECK_OK(orr_destroy_many(world, ids, 4));
    for (uint32_t i = 0; i < 10; i++) {
        orr_appender appender;
        CHECK_OK(orr_append_begin(world, cluster, NULL, 0, &appender));
        CHECK(orr_append_run(&appender));
        orr_append_end(&appender);
    }
    orr_entity next = orr_create(world);
    CHECK_EQ(next.id >> 32, 2);
    CHECK_EQ(world->hot.count, 4);
    kit_end(&k);
}

// Six chunks are all that this copy of the store may have.
ORR_TEST(chunk_limit_reached_returns_capacity_not_memory)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    CHECK_OK(orr_create_many(world, cluster, 5 * ORR_CHUNK_CAPACITY, NULL, 0, NULL));
    orr_entity bob = orr_create(world);
    CHECK(bob.id != 0);
    uint64_t hash = orr_world_hash(world);
    CHECK_RESULT(orr_create_many(world, cluster, 1, NULL, 0, NULL), ORR_ERR_CAPACITY);
    CHECK_CONTAINS(k.errors.text, "6 chunks");
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_RESULT(orr_set(world, bob, Velocity, {1, 2}), ORR_ERR_CAPACITY);
    CHECK_EQ(orr_world_hash(world), hash);
    orr_entity first;
    CHECK_EQ(orr_chunk_entities(world, cluster, 0, &first, 1), 1);
    CHECK_RESULT(orr_component_add_many(world, &first, 1, KIT_TYPE(world, Velocity), NULL),
                 ORR_ERR_CAPACITY);
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_OK(orr_destroy(world, bob));
    CHECK_OK(orr_create_many(world, cluster, 1, NULL, 0, NULL));
    kit_end(&k);
}
