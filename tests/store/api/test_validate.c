// SPDX-License-Identifier: MIT
// orr_world_validate() finds broken state: each invariant of src/store/README.md is broken by hand,
// named by the validator, and repaired.
#include "store/cow/share.h"
#include "support/store_kit.h"
#include "test.h"

typedef struct broken {
    kit k;
    orr_world* world;
    orr_entity ids[3000];
    orri_cluster* cluster; // Position, Label: two chunks.
    orri_chunk* chunk;     // Its first chunk.
} broken;

static broken b;

static void broken_begin(void)
{
    b.world = kit_begin(&b.k, NULL);
    orr_cluster handle = KIT_CLUSTER(b.world, Position, Label);
    CHECK_OK(orr_create_many(b.world, handle, 3000, NULL, 0, b.ids));
    orr_tag tags[2] = {4, 8};
    (void)kit_cluster(b.world, NULL, 0, tags, 2);
    CHECK_OK(orr_set(b.world, b.ids[0], Label, {orr_string_make(b.world, "x"), 1}));
    orr_entity gone[2] = {orr_create(b.world), orr_create(b.world)};
    CHECK_OK(orr_destroy_many(b.world, gone, 2));
    b.cluster = orri_cluster_at(b.world, handle);
    b.chunk = b.cluster->chunks[0];
    CHECK_OK(orr_world_validate(b.world));
}

static void check_found(const char* invariant)
{
    CHECK_RESULT(orr_world_validate(b.world), ORR_ERR_CORRUPT);
    CHECK_EQ(b.k.errors.result, ORR_ERR_CORRUPT);
    CHECK_EQ(b.k.errors.id, ORR_LOG_ID_WORLD_CORRUPT);
    CHECK_CONTAINS(b.k.errors.text, invariant);
}

// Sets a variable to a wrong value, validates, and restores the variable.
#define BREAK(place, wrong, invariant)          \
    do {                                        \
        __typeof__(place) break_kept = (place); \
        (place) = (wrong);                      \
        check_found(invariant);                 \
        (place) = break_kept;                   \
        CHECK_OK(orr_world_validate(b.world));  \
    } while (0)

ORR_TEST(validate_finds_broken_records)
{
    broken_begin();
    orri_record* record = orri_record_at(b.world, 5);
    BREAK(record->generation, 0, "S1");
    BREAK(record->generation, record->generation | 3u << 24, "S1");
    BREAK(record->generation, record->generation | ORRI_DEAD, "S1");
    BREAK(record->place, 0, "S1");
    BREAK(record->place, 999u << ORRI_SLOT_BITS, "S1");
    BREAK(record->place, record->place + 1, "S1");
    BREAK(record->place, b.cluster->chunks[1]->id << ORRI_SLOT_BITS | 2000, "S1");
    BREAK(orri_chunk_ids(b.chunk)[7], 8u, "S1");
    BREAK(b.world->index.live_count, b.world->index.live_count + 1, "S1");
    kit_end(&b.k);
}

ORR_TEST(validate_finds_a_broken_free_list)
{
    broken_begin();
    orri_index* index = &b.world->index;
    BREAK(index->free_first, 5u, "S2");              // Alive.
    BREAK(index->free_first, 100000u, "S2");         // Never given.
    BREAK(index->free_first, ORRI_INDEX_NONE, "S2"); // Too short.
    BREAK(index->free_count, index->free_count + 1, "S2");
    orri_record* record = orri_record_at(b.world, index->free_first);
    BREAK(record->place, index->free_first, "S2"); // A cycle.
    kit_end(&b.k);
}

ORR_TEST(validate_finds_broken_clusters)
{
    broken_begin();
    orr_type* types = (orr_type*)(uintptr_t)b.cluster->types;
    orr_type kept = types[0];
    types[0] = types[1];
    check_found("S3");
    types[0] = kept;
    orri_cluster* tagged = b.cluster->next;
    orr_tag* tags = (orr_tag*)(uintptr_t)tagged->tags;
    BREAK(tags[0], 9, "S3");
    BREAK(tagged->hash, tagged->hash + 1, "S3");
    BREAK(b.world->clusters.slots[tagged->index].cluster, b.cluster, "S3");
    BREAK(b.world->clusters.count, 9u, "S3");
    BREAK(b.cluster->batch_count, 1u, "S10");
    kit_end(&b.k);
}

ORR_TEST(validate_finds_broken_chunks)
{
    broken_begin();
    BREAK(b.chunk->number, 1u, "S4");
    BREAK(b.chunk->cluster, b.cluster->next, "S4");
    BREAK(b.cluster->chunks[1]->capacity, 1024u, "S4");
    BREAK(b.cluster->row_count, b.cluster->row_count + 1, "S");
    BREAK(b.cluster->row_count, 5000u, "S4");
    BREAK(b.world->chunks.list[b.chunk->id], NULL, "S4");
    BREAK(b.world->chunks.free_count, b.world->chunks.free_count + 1, "S4");
    kit_end(&b.k);
}

ORR_TEST(validate_finds_broken_columns)
{
    broken_begin();
    orri_column* column = &b.chunk->columns[0];
    BREAK(column->version, b.world->epoch + 1, "S7");
    BREAK(column->tick, b.world->tick + 1, "S7");
    BREAK(b.cluster->columns[0].version, 0, "S7");
    BREAK(orri_chunk_cold(b.chunk)[0].extent, NULL, "S5");
    BREAK(column->data, column->data + 4, "S5");
    BREAK(column->data, column->data + 64, "S6");
    BREAK(b.cluster->columns[1].has_bits, true, "S9");
    BREAK(b.chunk->share_count, 1u, "S8");
    orri_share* share = orri_share_column(b.world, b.chunk, 0, ORRI_SHARE_FROZEN);
    BREAK(share->data, NULL, "S8");
    BREAK(column->version, b.world->epoch, "S8");
    orri_share_release(b.world, share);
    kit_end(&b.k);
}

ORR_TEST(validate_finds_owned_handles_that_were_assigned_without_counting)
{
    broken_begin();
    orr_string text = orr_get(b.world, b.ids[0], Label)->text;
    orr_edit(b.world, b.ids[1], Label)->text = text; // Not by orr_string_assign().
    check_found("S11");
    CHECK_CONTAINS(b.k.errors.text, "orr_string_assign");
    orr_edit(b.world, b.ids[1], Label)->text = (orr_string){0, 0};
    CHECK_OK(orr_world_validate(b.world));
    orr_edit(b.world, b.ids[0], Label)->text = (orr_string){0, 0};
    check_found("S11");
    orr_edit(b.world, b.ids[0], Label)->text = text;
    kit_end(&b.k);
}

#undef BREAK
