// SPDX-License-Identifier: MIT
// The hash of the world's state, in an order that is itself state. Hashes of blocks and index pages
// are cached with the version they were made from, so that a new hash costs only what was written
// since.
//
// Not hashed: instance ids, addresses, chunk ids, memory capacities, versions, transitions, and
// types that no cluster has.
#include "store/pool/pool.h"
#include "store/world/access.h"

#define WORLD_HASH_PIECE 512 // Records hashed at once; changing it changes the hash.

static uint64_t world_hash_page(orr_world* world, uint32_t number)
{
    orri_page_meta* meta = &world->index.metas[number];
    if (meta->hash_version != 0 && meta->hash_version == meta->version) {
        return meta->hash;
    }
    const orri_record* records = world->hot.pages[number];
    uint32_t left = world->hot.count - number * ORRI_PAGE_SIZE;
    uint32_t count = left < ORRI_PAGE_SIZE ? left : ORRI_PAGE_SIZE;
    uint64_t words[WORLD_HASH_PIECE], hash = count;
    for (uint32_t done = 0, piece; done < count; done += piece) {
        piece = count - done < WORLD_HASH_PIECE ? count - done : WORLD_HASH_PIECE;
        for (uint32_t i = 0; i < piece; i++) {
            // The place of a live entity follows from the row ids; the link of a dead one is the
            // free list.
            orri_record record = records[done + i];
            uint32_t link = (record.generation & ORRI_DEAD) != 0 ? record.place : 0;
            words[i] = (uint64_t)record.generation << 32 | link;
        }
        hash = orr_hash(words, piece * sizeof *words, hash);
    }
    meta->hash = hash;
    meta->hash_version = meta->version;
    return hash;
}

static uint64_t world_hash_index(orr_world* world, uint64_t hash)
{
    const orri_index* index = &world->index;
    hash = orri_hash_word(hash, world->hot.count);
    hash = orri_hash_word(hash, (uint64_t)index->free_first << 32 | index->free_count);
    for (uint32_t page = 0; page * (uint64_t)ORRI_PAGE_SIZE < world->hot.count; page++) {
        hash = orri_hash_word(hash, world_hash_page(world, page));
    }
    return hash;
}

// Enable bits that are all on hash like missing ones.
static uint64_t world_hash_bits(const uint64_t* words, uint32_t rows)
{
    if (words == NULL || orri_bits_all(words, 0, rows)) {
        return 0;
    }
    uint64_t hash = rows;
    for (uint32_t i = 0; i < (rows + 63) / 64; i++) {
        uint32_t left = rows - i * 64;
        uint64_t mask = left < 64 ? ((uint64_t)1 << left) - 1 : UINT64_MAX;
        hash = orri_hash_word(hash, words[i] & mask);
    }
    return hash;
}

// The hash of one column of a chunk, cached.
static uint64_t world_hash_block(orri_chunk* chunk, uint32_t column, uint32_t rows)
{
    const orri_column* entry = &chunk->columns[column];
    orri_column_cold* cold = &orri_chunk_cold(chunk)[column];
    if (cold->hash_version != 0 && cold->hash_version == entry->version) {
        return cold->hash;
    }
    const orri_cluster* cluster = chunk->cluster;
    uint64_t hash;
    if (column < cluster->type_count) {
        hash = orri_cells_hash(orri_cells_at(chunk, column, 0), rows, rows);
    } else if (column < cluster->column_count) {
        hash = orr_hash(entry->data, (size_t)rows * cluster->sizes[column], rows);
    } else {
        uint32_t shift = cluster->columns[column - cluster->column_count].shift;
        hash = world_hash_bits((const uint64_t*)(const void*)entry->data, rows << shift);
    }
    cold->hash = hash;
    cold->hash_version = entry->version;
    return hash;
}

static uint64_t world_hash_chunk(orri_chunk* chunk, uint64_t hash)
{
    uint32_t rows = orri_chunk_rows(chunk), types = chunk->cluster->type_count;
    uint32_t columns = chunk->cluster->column_count;
    for (uint32_t c = 0; c < chunk->column_count; c++) {
        if (c > types && c < columns && (c - types) % 2 == 0) {
            continue; // Instance ids: after the row ids, counts and instance ids alternate.
        }
        uint64_t block = world_hash_block(chunk, c, rows);
        hash = orri_hash_word(hash, block);
        if (c < columns || block != 0) {
            hash = orri_hash_word(hash, chunk->columns[c].tick);
        }
    }
    return hash;
}

static uint64_t world_hash_clusters(orr_world* world, uint64_t hash)
{
    for (orri_cluster* cluster = world->clusters.first; cluster != NULL; cluster = cluster->next) {
        hash = orri_hash_word(hash, (uint64_t)cluster->index << 32 | cluster->generation);
        hash = orri_hash_word(hash, cluster->identity_hash);
        hash = orri_hash_word(hash, cluster->row_count);
        for (uint32_t i = 0; i < cluster->chunk_count; i++) {
            hash = world_hash_chunk(cluster->chunks[i], hash);
        }
    }
    hash = orri_hash_word(hash, world->clusters.slot_count);
    for (uint32_t id = world->clusters.slot_free; id != 0;
         id = world->clusters.slots[id - 1].free_next) {
        hash = orri_hash_word(hash, (uint64_t)id << 32 | world->clusters.slots[id - 1].generation);
    }
    return hash;
}

static uint64_t world_hash_tags(const orr_world* world, uint64_t hash)
{
    for (uint32_t i = 0; i < world->tags.count; i++) {
        hash = orri_hash_word(hash, world->tags.entries[i].tag);
        hash = orr_hash(world->tags.entries[i].name, strlen(world->tags.entries[i].name), hash);
    }
    return hash;
}

uint64_t orr_world_hash(orr_world* world)
{
    ORR_ASSERT(world != NULL);
    if (ORR_UNLIKELY(world->running.in_system || orri_access_checked(world) ||
                     orri_between_sync_points(world))) {
        (void)orri_refuse_running(world, "orr_world_hash");
        return 0;
    }
    orri_world_settle(world);
    uint64_t hash = orri_hash_word(world->tick, world->seed);
    hash = orri_hash_word(hash, world->salt);
    hash = world_hash_index(world, hash);
    hash = world_hash_clusters(world, hash);
    hash = orri_pools_hash(world, hash);
    if (orri_record_find(world, world->singleton) != NULL) {
        hash = orri_hash_word(hash, world->singleton.id);
    }
    hash = world_hash_tags(world, hash);
    for (uint32_t i = 0; i < ORRI_EXTENSION_COUNT; i++) {
        if (world->extensions[i].hash != NULL) {
            hash = world->extensions[i].hash(world, hash);
        }
    }
    // The next hash must see later writes, also those within this tick.
    orri_epoch_end(world);
    return hash;
}

#undef WORLD_HASH_PIECE
