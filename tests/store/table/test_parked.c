// SPDX-License-Identifier: MIT
// Parked chunks: the chunk that a cluster gave up last is kept for the next row. Nothing that is
// state or stamped differs from chunks that are made anew.
#include "store/snapshot/snapshot.h"
#include "store/world/world.h"
#include "support/store_kit.h"
#include "test.h"

#define CAPACITY ORR_CHUNK_CAPACITY

static orr_entity parked_create(orr_world* world)
{
    orr_entity entity = orr_create(world);
    CHECK_OK(orr_set(world, entity, Position, {1, 2, 3}));
    CHECK_OK(orr_set(world, entity, Velocity, {4, 5}));
    CHECK_OK(orr_set(world, entity, Health, {6, 7}));
    return entity;
}

ORR_TEST(parked_chunk_of_an_emptied_cluster_is_used_again_without_allocation)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity lone = parked_create(world);
    for (uint32_t round = 0; round < 10; round++) {
        failing_alloc_arm(&k.memory, 0, false);
        for (uint32_t i = 0; i < 5; i++) {
            CHECK_OK(orr_add(world, lone, Frozen));
            CHECK_EQ(orr_get(world, lone, Velocity)->y, 5);
            CHECK_OK(orr_remove(world, lone, Frozen));
            CHECK_OK(orr_destroy(world, parked_create(world)));
        }
        CHECK(round == 0 || k.memory.requests == 0);
        CHECK_OK(orr_world_validate(world));
        orr_tick_advance(world);
    }
    CHECK_EQ(orr_get(world, lone, Position)->z, 3);
    CHECK_EQ(orr_get(world, lone, Health)->armour, 7);
    kit_end(&k);
}

ORR_TEST(parked_full_chunk_is_used_again_without_allocation)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position, Health);
    static orr_entity ids[3 * CAPACITY];
    CHECK_OK(orr_create_many(world, cluster, 3 * CAPACITY, NULL, 0, ids));
    uint32_t rows = 3 * CAPACITY;
    for (; rows > CAPACITY; rows--) { // A chunk that is given up takes the place of the one before.
        CHECK_OK(orr_destroy(world, ids[rows - 1]));
    }
    CHECK_EQ(world->chunks.parked_count, 1);
    failing_alloc_arm(&k.memory, 0, false);
    for (uint32_t round = 0; round < 10; round++) {
        CHECK_EQ(kit_info(world, cluster).chunk_count, 1);
        orr_entity entity = orr_create_in(world, cluster);
        CHECK_EQ(orr_get(world, entity, Health)->value, 100);
        orr_edit(world, entity, Health)->value = 7;
        CHECK_EQ(kit_info(world, cluster).chunk_count, 2);
        CHECK_OK(orr_destroy(world, entity));
    }
    CHECK_EQ(k.memory.requests, 0);
    CHECK_OK(orr_create_many(world, cluster, 2 * CAPACITY, NULL, 0, ids)); // More than is parked.
    CHECK_EQ(kit_info(world, cluster).chunk_count, 3);
    CHECK_EQ(world->chunks.parked_count, 0);
    CHECK_OK(orr_cluster_delete(world, cluster)); // It is on the list, without a parked chunk.
    CHECK_EQ(world->chunks.parked_listed, 0);
    CHECK_EQ(world->chunks.parked_bytes, 0);
    kit_end(&k);
}

ORR_TEST(parked_chunks_of_many_clusters_are_bounded)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type position = KIT_TYPE(world, Position);
    uint64_t bytes = 0;
    for (orr_tag tag = 1; tag <= 1000; tag++) {
        orr_cluster cluster = kit_cluster(world, &position, 1, &tag, 1);
        CHECK_OK(orr_destroy(world, orr_create_in(world, cluster)));
        CHECK(world->chunks.parked_count <= tag && world->chunks.parked_count < 300);
        bytes = tag == 300 ? world->chunks.parked_bytes : bytes;
        CHECK(tag < 300 || world->chunks.parked_bytes == bytes);
    }
    CHECK_EQ(world->chunks.parked_count, 256);
    CHECK_OK(orr_world_validate(world));
    orr_type big = KIT_TYPE(world, Big);
    for (orr_tag tag = 1; tag <= 100; tag++) { // Full chunks of 480 KB.
        static orr_entity ids[CAPACITY];
        orr_cluster cluster = kit_cluster(world, &big, 1, &tag, 1);
        CHECK_OK(orr_create_many(world, cluster, CAPACITY, NULL, 0, ids));
        for (uint32_t i = 0; i < CAPACITY; i++) {
            CHECK_OK(orr_destroy(world, ids[i]));
        }
        CHECK(world->chunks.parked_bytes <= 4u << 20);
    }
    CHECK(world->chunks.parked_count >= 7 && world->chunks.parked_count < 10);
    CHECK(world->chunks.parked_bytes > 3u << 20);
    kit_end(&k);
}

// A refused allocation frees all parked chunks and is tried again; if that succeeds, no refusal is
// counted.
ORR_TEST(parked_chunks_are_freed_when_memory_is_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Big);
    CHECK_OK(orr_destroy(world, parked_create(world)));
    CHECK(world->chunks.parked_count >= 3);
    uint64_t refusals = world->env.refusals;
    failing_alloc_arm(&k.memory, 1, false);
    orr_entity entity = orr_create_in(world, cluster);
    CHECK(entity.id != 0);
    CHECK_EQ(k.memory.refused, 1);
    CHECK_EQ(world->chunks.parked_count, 0);
    CHECK_EQ(world->env.refusals, refusals);
    CHECK_OK(orr_destroy(world, entity));
    CHECK_EQ(world->chunks.parked_count, 1);
    failing_alloc_arm(&k.memory, 1, true); // For good: the second try is refused, too.
    CHECK_EQ(orr_create_in(world, KIT_CLUSTER(world, Big)).id == 0, false); // From the parked one.
    CHECK_RESULT(orr_create_many(world, cluster, 10 * CAPACITY, NULL, 0, NULL), ORR_ERR_MEMORY);
    failing_alloc_arm(&k.memory, 0, false);
    CHECK_EQ(kit_rows(world, cluster), 1);
    // Memory was refused since the last time: nothing is parked next, and again afterwards.
    CHECK_OK(orr_destroy(world, parked_create(world)));
    CHECK_OK(orr_destroy(world, parked_create(world)));
    CHECK(world->chunks.parked_count >= 3);
    kit_end(&k);
}

ORR_TEST(parked_chunks_end_with_their_cluster_its_bits_or_a_restore)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    static orr_entity ids[CAPACITY + 1];
    CHECK_OK(orr_create_many(world, cluster, CAPACITY + 1, NULL, 0, ids));
    CHECK_OK(orr_destroy(world, ids[CAPACITY]));
    CHECK_EQ(world->chunks.parked_count, 1);
    CHECK_OK(orr_enable(world, ids[3], Position, false)); // The parked chunk has no bits.
    CHECK_EQ(world->chunks.parked_count, 0);
    ids[CAPACITY] = orr_create_in(world, cluster);
    CHECK(orr_enabled(world, ids[CAPACITY], Position) && !orr_enabled(world, ids[3], Position));
    CHECK_OK(orr_destroy(world, ids[CAPACITY])); // A chunk with bits is not parked.
    CHECK_EQ(world->chunks.parked_count, 0);
    CHECK_OK(orr_cluster_clear(world, cluster));
    CHECK_EQ(world->chunks.parked_count, 0);

    orr_entity entity = orr_create_in(world, cluster);
    uint64_t hash = orr_world_hash(world);
    orri_snapshot* snapshot = orri_snapshot_take(world);
    CHECK_OK(orr_destroy(world, entity));
    CHECK_OK(orr_destroy(world, orr_create_in(world, cluster)));
    CHECK_EQ(world->chunks.parked_count, 1);
    orri_restore* restore = NULL;
    CHECK_OK(orri_snapshot_restore_prepare(world, snapshot, &restore));
    orri_snapshot_restore(world, restore);
    orri_snapshot_release(world, snapshot);
    CHECK_EQ(world->chunks.parked_count, 0);
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK(orr_alive(world, entity));

    CHECK_OK(orr_destroy(world, entity));
    CHECK_EQ(world->chunks.parked_count, 1);
    CHECK_OK(orr_cluster_delete(world, cluster));
    CHECK_EQ(world->chunks.parked_count, 0);
    kit_end(&k);
}

// One step of two worlds; the second frees what is parked at once.
static void parked_step(orr_world* const* worlds, orr_entity* ids, uint32_t count, uint64_t random)
{
    uint32_t i = (uint32_t)(random >> 8) % count;
    orr_entity entity = ids[i], other;
    for (uint32_t w = 0; w < 2; w++) {
        orr_world* world = worlds[w];
        if (entity.id == 0) {
            other = orr_create(world);
            ids[i] = w == 0 ? other : ids[i];
            CHECK_EQ(other.id, ids[i].id);
        } else {
            switch (random % 16) {
            case 0:
                CHECK_OK(orr_destroy(world, entity));
                ids[i] = (orr_entity){0};
                break;
            case 1:
                CHECK(!orr_has(world, entity, Velocity) ||
                      orr_enable(world, entity, Velocity, (random >> 40) % 2) == ORR_OK);
                break;
            case 2:
            case 3:
            case 4:
                CHECK_OK(orr_add(world, entity, Frozen));
                break;
            case 5:
            case 6:
            case 7:
                CHECK_OK(orr_remove(world, entity, Frozen));
                break;
            case 8:
                CHECK_OK(orr_remove(world, entity, Position));
                break;
            case 9:
                CHECK_OK(orr_remove(world, entity, Velocity));
                break;
            case 10:
                CHECK_OK(orr_remove(world, entity, Big));
                break;
            case 11:
                CHECK_OK(orr_add(world, entity, Big));
                break;
            case 12:
            case 13:
                CHECK_OK(orr_set(world, entity, Position, {(float)i, 1, 2}));
                break;
            default:
                CHECK_OK(orr_set(world, entity, Velocity, {3, (float)i}));
            }
        }
        if (w == 1) {
            (void)orri_parked_release_all(world);
        }
    }
}

ORR_TEST(parked_chunks_change_neither_state_nor_versions)
{
    enum {
        COUNT = 12
    };
    kit a = {0}, b = {0};
    orr_world* worlds[2] = {kit_begin(&a, NULL), kit_begin(&b, NULL)};
    for (uint32_t w = 0; w < 2; w++) {
        orr_world* world = worlds[w];
        CHECK_OK(orr_enable(world, parked_create(world), Velocity, true));
        KIT_TYPE(world, Frozen);
        KIT_TYPE(world, Big);
    }
    orr_entity ids[COUNT] = {0};
    orri_snapshot* snapshots[2] = {NULL, NULL};
    uint32_t parked = 0;
    for (uint32_t step = 0; step < 4000; step++) {
        parked_step(worlds, ids, COUNT, test_random());
        parked += worlds[0]->chunks.parked_count;
        if (step % 50 == 49) {
            CHECK_EQ(orr_world_hash(worlds[0]), orr_world_hash(worlds[1]));
        }
        for (uint32_t w = 0; w < 2 && step % 70 == 69; w++) {
            if (snapshots[w] != NULL) {
                orri_snapshot_release(worlds[w], snapshots[w]);
            }
            snapshots[w] = step % 140 == 139 ? NULL : orri_snapshot_take(worlds[w]);
            CHECK_OK(orr_world_validate(worlds[w]));
            orr_tick_advance(worlds[w]);
        }
    }
    for (uint32_t w = 0; w < 2; w++) {
        if (snapshots[w] != NULL) {
            orri_snapshot_release(worlds[w], snapshots[w]);
        }
    }
    const orri_cluster* one = worlds[0]->clusters.first;
    for (const orri_cluster* two = worlds[1]->clusters.first; two != NULL; two = two->next) {
        CHECK(one != NULL && one->row_count == two->row_count);
        for (uint32_t c = 0; c < two->column_count && two->chunk_count > 0; c++) {
            CHECK_EQ(one->chunk_first->columns[c].version, two->chunk_first->columns[c].version);
            CHECK_EQ(one->chunk_first->columns[c].tick, two->chunk_first->columns[c].tick);
            CHECK_EQ(one->columns[c].version, two->columns[c].version);
        }
        one = one->next;
    }
    CHECK(parked > 1000);
    kit_end(&a);
    kit_end(&b);
}
