// SPDX-License-Identifier: MIT
// The walk over all blocks of a world and of a snapshot: every block once, in a fixed order, with
// the right kind, rows, bytes and data.
#include "store/cow/row_log.h"
#include "store/snapshot/blocks.h"
#include "support/pinned_kit.h"
#include "test.h"

#include <stdlib.h>

#define PEOPLE     5000u // Two index pages, three chunks.
#define BODIES     2100u // Two blocks of a pool.
#define BLOCKS_MAX 512u

ORR_STRUCT_EX(Shard, (.multiplicity = ORR_MULTIPLE), (int32_t, size, (.preset = "7")))
ORR_STRUCT_EX(Sprite, (.transient = true), (uint32_t, image, (.preset = "3")))

// ---- a world with blocks of every kind ----------------------------------------------------------

typedef struct scene {
    kit kit;
    orr_world* world;
    orr_entity people[PEOPLE];
    orr_entity ghost; // Transient.
} scene;

static scene one, other;

static void scene_fill(scene* s)
{
    orr_world* world = s->world;
    orr_cluster plain = KIT_CLUSTER(world, Position, Velocity);
    CHECK_OK(orr_create_many(world, plain, PEOPLE, NULL, 0, s->people));
    (void)KIT_CLUSTER(world, Big); // Without rows.
    for (uint32_t i = 0; i < BODIES; i++) {
        CHECK_OK(orr_set(world, s->people[i], Body, {(int32_t)i, 1}));
    }
    orr_tick_advance(world);
    for (uint32_t i = 0; i < 40; i++) {
        orr_entity e = s->people[i * 50];
        CHECK_OK(orr_add(world, e, Frozen));
        CHECK_OK(orr_set(world, e, Label, {orr_string_make(world, "bob"), (int32_t)i}));
        CHECK_OK(orr_set(world, e, Sign, {orr_string_make(world, "stop"), (int32_t)i}));
        if (i % 4 == 0) {
            CHECK(orr_instance_add(world, e, KIT_TYPE(world, Shard), &(Shard){(int32_t)i}) != 0);
            CHECK(orr_instance_add(world, e, KIT_TYPE(world, Shard), &(Shard){-1}) != 0);
            CHECK_OK(orr_add(world, e, Huge));
            CHECK_OK(orr_add(world, e, Seen));
        }
    }
    CHECK_OK(orr_enable(world, s->people[0], Position, false));
    CHECK_OK(orr_enable(world, s->people[0], Shard, false));
    CHECK_OK(orr_entity_enable(world, s->people[4000], false));
    CHECK_OK(orr_enable(world, s->people[3], Body, false));
    CHECK_OK(orr_destroy(world, s->people[200])); // Leaves free slots and a free index.
    s->ghost = orr_create_transient(world);
    CHECK_OK(orr_set(world, s->ghost, Sprite, {5}));
    CHECK_OK(orr_set(world, s->people[7], Sprite, {6}));
    orr_tick_advance(world);
}

static void scene_begin(scene* s)
{
    *s = (scene){0};
    s->world = kit_begin(&s->kit, NULL);
    scene_fill(s);
    (void)orri_parked_release_all(s->world); // No walk sees these chunks.
}

// ---- the blocks of a walk -----------------------------------------------------------------------

typedef struct list {
    uint32_t count;
    orri_block blocks[BLOCKS_MAX];
} list;

static list collect(orri_blocks walk)
{
    list found = {0};
    while (orri_blocks_next(&walk)) {
        CHECK(found.count < BLOCKS_MAX);
        found.blocks[found.count++] = walk.block;
    }
    CHECK(!orri_blocks_next(&walk)); // It stays at its end.
    return found;
}

static uint32_t count_of(const list* blocks, orri_block_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < blocks->count; i++) {
        count += blocks->blocks[i].kind == kind;
    }
    return count;
}

// How many blocks of the list have their data at an address.
static uint32_t count_at(const list* blocks, const void* data)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < blocks->count; i++) {
        count += blocks->blocks[i].data == data;
    }
    return count;
}

// Checks that two blocks have the same place, kind and size.
static void check_alike(const orri_block* a, const orri_block* b)
{
    CHECK_EQ(a->kind, b->kind);
    CHECK_EQ(a->cluster, b->cluster);
    CHECK_EQ(a->number, b->number);
    CHECK_EQ(a->column, b->column);
    CHECK_EQ(a->rows, b->rows);
    CHECK_EQ(a->bytes, b->bytes);
    CHECK_EQ(a->tick, b->tick);
    CHECK((a->type == NULL) == (b->type == NULL));
    if (a->type != NULL) {
        CHECK_STR(a->type->info.name, b->type->info.name);
    }
    CHECK((a->owners == NULL) == (b->owners == NULL));
    CHECK((a->enabled == NULL) == (b->enabled == NULL));
}

// ---- tests of the world's walk ------------------------------------------------------------------

ORR_TEST(blocks_world_without_rows_has_none)
{
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    CHECK_EQ(collect(orri_blocks_begin(world)).count, 0);
    CHECK_EQ(collect(orri_blocks_begin_all(world)).count, 0);
    (void)KIT_CLUSTER(world, Position);
    CHECK_EQ(collect(orri_blocks_begin(world)).count, 0);
    orri_snapshot* snapshot = orri_snapshot_take(world);
    CHECK(snapshot != NULL);
    CHECK_EQ(collect(orri_blocks_begin_snapshot(snapshot)).count, 0);
    orri_snapshot_release(world, snapshot);
    kit_end(&k);
}

// Finds all blocks by other ways than the walk: pages, chunks by id, pools.
ORR_TEST(blocks_of_every_kind_are_seen_once)
{
    scene_begin(&one);
    const orr_world* world = one.world;
    list found = collect(orri_blocks_begin(world));
    for (uint32_t kind = 0; kind < ORRI_BLOCK_KIND_COUNT; kind++) {
        CHECK(count_of(&found, kind) > 0);
    }
    uint32_t columns = 0, pools = 0;
    CHECK_EQ(count_of(&found, ORRI_BLOCK_PAGE), 2);
    CHECK_EQ(count_at(&found, world->hot.pages[0]), 1);
    CHECK_EQ(count_at(&found, world->hot.pages[1]), 1);
    for (uint32_t id = 1; id < world->chunks.count; id++) {
        const orri_chunk* chunk = world->chunks.list[id];
        for (uint32_t c = 0; chunk != NULL && !chunk->cluster->transient && c < chunk->column_count;
             c++) {
            bool memory = orri_chunk_cold(chunk)[c].extent != NULL;
            columns++;
            CHECK(!memory || count_at(&found, chunk->columns[c].data) == 1);
        }
    }
    for (uint32_t p = 0; p < world->pinned.count; p++) {
        const orri_pool* pool = world->pinned.list[p];
        for (uint32_t b = 0; !pool->type->info.transient && b < pool->block_count; b++) {
            uint32_t used = orri_pool_block_used(pool, b);
            pools += used > 0;
            CHECK_EQ(count_at(&found, pool->blocks[b].data), used > 0);
        }
    }
    CHECK_EQ(count_of(&found, ORRI_BLOCK_POOL), pools);
    CHECK_EQ(found.count, 2 + columns + pools);
    kit_end(&one.kit);
}

// The type of a column decides what its block is.
static void check_column(const orr_world* world, const orri_block* block)
{
    const orri_cluster* cluster = world->clusters.slots[block->cluster].cluster;
    const orri_chunk* chunk = cluster->chunks[block->number];
    uint32_t within = block->column % cluster->column_count;
    bool bits = block->column >= cluster->column_count, counts = false, ids = false;
    for (uint32_t c = 0; c < cluster->type_count; c++) {
        uint32_t at = cluster->columns[c].counts;
        counts = counts || (at != 0 && at == within);
        ids = ids || (at != 0 && at + 1 == within);
    }
    orri_block_kind kind = bits                           ? ORRI_BLOCK_BITS
                           : counts                       ? ORRI_BLOCK_COUNTS
                           : ids                          ? ORRI_BLOCK_INSTANCE_IDS
                           : within < cluster->type_count ? ORRI_BLOCK_VALUES
                                                          : ORRI_BLOCK_ROW_IDS;
    CHECK_EQ(block->kind, kind);
    CHECK(block->type == cluster->columns[within].type);
    CHECK_EQ(block->rows, orri_chunk_rows(chunk));
    CHECK_EQ(block->tick, chunk->columns[block->column].tick);
    bool memory = bits ? cluster->columns[within].has_bits : cluster->columns[within].size > 0;
    size_t bytes = bits ? orri_bits_bytes(&cluster->columns[within])
                        : (size_t)cluster->columns[within].size * block->rows;
    CHECK_EQ(block->bytes, memory ? bytes : 0);
    CHECK(block->data == (memory ? chunk->columns[block->column].data : NULL));
}

// Pages, clusters in order of creation, chunks, columns, pools in order of types.
ORR_TEST(blocks_come_in_the_documented_order)
{
    scene_begin(&one);
    list found = collect(orri_blocks_begin(one.world));
    CHECK_EQ(found.blocks[0].rows, 4096);
    CHECK_EQ(found.blocks[1].rows, one.world->hot.count - 4096);
    for (uint32_t i = 0; i < found.count; i++) {
        const orri_block* block = &found.blocks[i];
        const orri_block* last = i > 0 ? &found.blocks[i - 1] : NULL;
        bool column = block->kind != ORRI_BLOCK_PAGE && block->kind != ORRI_BLOCK_POOL;
        if (column) {
            CHECK(block->owners == NULL && block->links == NULL && block->enabled == NULL);
            check_column(one.world, block);
        } else {
            CHECK_EQ(block->cluster, ORRI_INDEX_NONE);
            CHECK((block->kind == ORRI_BLOCK_POOL) == (block->owners != NULL));
        }
        if (last == NULL || last->cluster != block->cluster) {
            CHECK_EQ(block->number, 0);
        } else if (column) {
            bool next = block->number == last->number + 1 && block->column == 0;
            CHECK(next || (block->number == last->number && block->column == last->column + 1));
        } else {
            CHECK(block->number == (last->type == block->type ? last->number + 1 : 0));
            CHECK(block->kind == ORRI_BLOCK_PAGE || last->kind == ORRI_BLOCK_PAGE ||
                  last->type->id <= block->type->id);
        }
    }
    // The first block after the pages, and each first block of a cluster after that.
    uint32_t at = 2;
    for (const orri_cluster* c = one.world->clusters.first; c != NULL; c = c->next) {
        CHECK(c->chunk_count == 0 || found.blocks[at].cluster == c->index);
        at += c->chunk_count * 2 * c->column_count;
    }
    CHECK_EQ(found.blocks[at].kind, ORRI_BLOCK_POOL);
    kit_end(&one.kit);
}

ORR_TEST(blocks_worlds_made_the_same_way_have_the_same_order)
{
    scene_begin(&one);
    scene_begin(&other);
    list first = collect(orri_blocks_begin(one.world));
    list second = collect(orri_blocks_begin(other.world));
    CHECK_EQ(first.count, second.count);
    for (uint32_t i = 0; i < first.count; i++) {
        check_alike(&first.blocks[i], &second.blocks[i]);
        CHECK(first.blocks[i].data == NULL || first.blocks[i].data != second.blocks[i].data);
    }
    kit_end(&one.kit);
    kit_end(&other.kit);
}

ORR_TEST(blocks_of_transient_data_are_in_the_complete_walk_only)
{
    scene_begin(&one);
    list state = collect(orri_blocks_begin(one.world));
    list all = collect(orri_blocks_begin_all(one.world));
    const orri_cluster* cluster = one.world->transient.cluster;
    const orri_pool* pool = orri_pool_find(one.world, KIT_TYPE(one.world, Sprite));
    const orri_chunk* chunk = cluster->chunks[0];
    CHECK_EQ(all.count, state.count + chunk->column_count + 1);
    CHECK_EQ(count_at(&state, chunk->ids), 0);
    CHECK_EQ(count_at(&all, chunk->ids), 1);
    CHECK_EQ(count_at(&state, pool->blocks[0].data), 0);
    CHECK_EQ(count_at(&all, pool->blocks[0].data), 1);
    uint32_t at = 0; // Everything else is the same, in the same order.
    for (uint32_t i = 0; i < all.count; i++) {
        bool same = at < state.count && all.blocks[i].data == state.blocks[at].data &&
                    all.blocks[i].cluster == state.blocks[at].cluster &&
                    all.blocks[i].column == state.blocks[at].column;
        at += same;
    }
    CHECK_EQ(at, state.count);
    kit_end(&one.kit);
}

// A world that has transient entities only.
ORR_TEST(blocks_of_transient_entities_without_others_are_found)
{
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    CHECK(orr_create_transient(world).id != 0);
    list all = collect(orri_blocks_begin_all(world));
    CHECK_EQ(collect(orri_blocks_begin(world)).count, 0);
    CHECK_EQ(all.count, 2); // Row ids and their enable bits.
    CHECK(all.blocks[0].kind == ORRI_BLOCK_ROW_IDS && all.blocks[0].rows == 1);
    CHECK(all.blocks[1].kind == ORRI_BLOCK_BITS && all.blocks[1].bytes == 0);
    kit_end(&k);
}

// Every extent has a block in use, so the walk finds all extents. Together with the lists and
// arrays of pools they are all memory of columns.
ORR_TEST(blocks_account_for_all_memory_of_columns)
{
    scene_begin(&one);
    const orr_world* world = one.world;
    const orri_extent* extents[BLOCKS_MAX];
    uint32_t extent_count = 0;
    uint64_t bytes = 0;
    for (orri_blocks walk = orri_blocks_begin_all(world); orri_blocks_next(&walk);) {
        const orri_block* block = &walk.block;
        if (block->kind == ORRI_BLOCK_PAGE || block->kind == ORRI_BLOCK_POOL || block->bytes == 0) {
            continue;
        }
        const orri_cluster* cluster = block->cluster == ORRI_INDEX_NONE
                                          ? world->transient.cluster
                                          : world->clusters.slots[block->cluster].cluster;
        const orri_extent* extent =
            orri_chunk_cold(cluster->chunks[block->number])[block->column].extent;
        bool known = false;
        for (uint32_t i = 0; i < extent_count; i++) {
            known = known || extents[i] == extent;
        }
        if (!known) {
            extents[extent_count++] = extent;
            bytes += extent->size;
        }
    }
    for (uint32_t p = 0; p < world->pinned.count; p++) {
        const orri_pool* pool = world->pinned.list[p];
        size_t slots = (size_t)1 << pool->slot_bits;
        size_t values = (slots * pool->size + ORRI_BLOCK_ALIGN - 1) / ORRI_BLOCK_ALIGN;
        bytes += pool->block_capacity * sizeof *pool->blocks;
        bytes += pool->link_capacity * sizeof *pool->links;
        bytes += pool->block_count *
                 (values * ORRI_BLOCK_ALIGN + slots * sizeof *pool->blocks[0].owners);
        for (uint32_t b = 0; b < pool->block_count; b++) {
            bytes += pool->blocks[b].enabled != NULL ? (slots + 63) / 64 * sizeof(uint64_t) : 0;
        }
    }
    orr_memory_stats memory;
    orr_world_memory_get(world, &memory);
    CHECK_EQ(bytes, memory.by_purpose[ORR_MEMORY_COLUMN].bytes);
    kit_end(&one.kit);
}

// ---- tests of a snapshot's walk -----------------------------------------------------------------

static orri_snapshot* take(void)
{
    orri_snapshot* snapshot = orri_snapshot_take(one.world);
    CHECK(snapshot != NULL);
    return snapshot;
}

ORR_TEST(blocks_of_a_new_snapshot_are_those_of_the_world)
{
    scene_begin(&one);
    orri_snapshot* snapshot = take();
    list world = collect(orri_blocks_begin(one.world));
    list saved = collect(orri_blocks_begin_snapshot(snapshot));
    uint64_t bytes = 0, own = 0, shared = 0;
    CHECK_EQ(world.count, saved.count);
    for (uint32_t i = 0; i < world.count; i++) {
        const orri_block *a = &world.blocks[i], *b = &saved.blocks[i];
        check_alike(a, b);
        CHECK(a->type == b->type && a->data == b->data && a->owners == b->owners &&
              a->links == b->links && a->enabled == b->enabled);
        CHECK(a->share == b->share && a->pool_share == b->pool_share);
        bool memory = a->bytes > 0 || a->kind == ORRI_BLOCK_POOL;
        CHECK(memory == (a->share != NULL || a->pool_share != NULL));
        bytes += a->pool_share != NULL ? orri_pool_share_bytes(a->pool_share) : a->bytes;
    }
    orri_snapshot_bytes(snapshot, 1, &own, &shared);
    CHECK_EQ(bytes, shared);
    orri_snapshot_release(one.world, snapshot);
    kit_end(&one.kit);
}

// True when bytes of the block's data can be compared: its values have no handles, and every slot
// has a value.
static bool comparable(const orri_block* block)
{
    return block->bytes > 0 && block->kind != ORRI_BLOCK_POOL &&
           (block->type == NULL || block->type->plain);
}

// Compares a block of a snapshot with the same block as the world had it.
static void check_kept(const orri_block* was, const uint8_t* bytes, const orri_block* now)
{
    check_alike(was, now);
    if (now->kind == ORRI_BLOCK_POOL) {
        CHECK(now->data != NULL && !now->pool_share->lost);
    } else if (comparable(was) && now->data != NULL) {
        CHECK(memcmp(now->data, bytes, was->bytes) == 0);
    } else if (comparable(was)) {
        uint8_t* values = malloc(was->bytes);
        CHECK(values != NULL);
        orri_row_log_read(now->share, values);
        CHECK(memcmp(values, bytes, was->bytes) == 0);
        free(values);
    }
}

static void change_everything(void)
{
    orr_world* world = one.world;
    orr_tick_advance(world);
    orr_edit(world, one.people[60], Position)->x = 99; // A row log.
    orr_edit(world, one.people[3], Body)->speed = 12;
    CHECK_OK(orr_enable(world, one.people[61], Velocity, false));
    CHECK_OK(orr_enable(world, one.people[0], Position, true));
    CHECK(orr_instance_add(world, one.people[0], KIT_TYPE(world, Shard), &(Shard){4}) != 0);
    CHECK_OK(orr_remove(world, one.people[50], Label));
    for (uint32_t i = 3000; i < PEOPLE; i++) { // A whole chunk and more.
        CHECK_OK(orr_destroy(world, one.people[i]));
    }
    CHECK_OK(orr_set(world, one.people[8], Padded, {1, 2, 3})); // A new cluster.
    CHECK_OK(orr_set(world, one.people[8], Loose, {1, 2, 3}));  // A new pool.
}

ORR_TEST(blocks_of_a_snapshot_stay_while_the_world_changes)
{
    scene_begin(&one);
    orri_snapshot* snapshot = take();
    list was = collect(orri_blocks_begin(one.world));
    uint8_t* bytes[BLOCKS_MAX] = {0};
    for (uint32_t i = 0; i < was.count; i++) {
        if (comparable(&was.blocks[i])) {
            bytes[i] = malloc(was.blocks[i].bytes);
            CHECK(bytes[i] != NULL);
            memcpy(bytes[i], was.blocks[i].data, was.blocks[i].bytes);
        }
    }
    uint32_t apart = 0, logged = 0, count = 0;
    change_everything();
    orri_snapshot* later = take(); // Shares with a log lean on its shares now.
    for (orri_blocks walk = orri_blocks_begin_snapshot(snapshot); orri_blocks_next(&walk);) {
        check_kept(&was.blocks[count], bytes[count], &walk.block);
        apart += walk.block.data != was.blocks[count].data;
        logged += walk.block.share != NULL && walk.block.data == NULL;
        count++;
    }
    CHECK_EQ(count, was.count);
    CHECK(apart > 10 && logged > 0);
    CHECK(orri_snapshot_valid(snapshot) && !orri_snapshot_lost(snapshot));
    for (uint32_t i = 0; i < was.count; i++) {
        free(bytes[i]);
    }
    orri_snapshot_release(one.world, snapshot);
    orri_snapshot_release(one.world, later);
    kit_end(&one.kit);
}

ORR_TEST(blocks_of_a_lost_share_have_no_data)
{
    scene_begin(&one);
    orri_snapshot* snapshot = take();
    CHECK(!orri_snapshot_lost(snapshot));
    failing_alloc_arm(&one.kit.memory, 1, true);
    orr_edit(one.world, one.people[3], Body)->speed = 12;
    failing_alloc_arm(&one.kit.memory, 0, false);
    uint32_t lost = 0;
    for (orri_blocks walk = orri_blocks_begin_snapshot(snapshot); orri_blocks_next(&walk);) {
        const orri_block* block = &walk.block;
        if (block->pool_share != NULL && block->pool_share->lost) {
            CHECK(block->data == NULL && block->owners == NULL && block->links == NULL);
            CHECK_STR(block->type->info.name, "Body");
            lost++;
        }
    }
    CHECK_EQ(lost, 1);
    CHECK(orri_snapshot_lost(snapshot));
    orri_snapshot_release(one.world, snapshot);
    kit_end(&one.kit);
}

#undef PEOPLE
#undef BODIES
#undef BLOCKS_MAX
