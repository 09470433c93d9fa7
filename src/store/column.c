// SPDX-License-Identifier: MIT
// Reaching rows by cluster and chunk: raw columns, spans of adjacent blocks, entities of a chunk.
#include "store/world.h"

static orri_chunk* column_chunk(const orr_world* world, orr_cluster handle, uint32_t number)
{
    const orri_cluster* cluster = orri_cluster_at(world, handle);
    return cluster != NULL && number < cluster->chunk_count ? cluster->chunks[number] : NULL;
}

// The chunk and the column of a type; NULL if either is missing.
static orri_chunk* column_find(const orr_world* world, orr_cluster handle, uint32_t number,
                               orr_type type, uint32_t* column)
{
    orri_chunk* chunk = column_chunk(world, handle, number);
    int32_t found = chunk != NULL ? orri_cluster_find_column(chunk->cluster, type) : -1;
    *column = (uint32_t)found;
    return found >= 0 ? chunk : NULL;
}

uint32_t orr_chunk_count(const orr_world* world, orr_cluster handle, uint32_t number)
{
    const orri_chunk* chunk = column_chunk(world, handle, number);
    return chunk != NULL ? orri_chunk_rows(chunk) : 0;
}

uint32_t orr_chunk_entities(const orr_world* world, orr_cluster handle, uint32_t number,
                            orr_entity* out, uint32_t out_count)
{
    const orri_chunk* chunk = column_chunk(world, handle, number);
    if (chunk == NULL || out == NULL) {
        return 0;
    }
    uint32_t rows = orri_chunk_rows(chunk);
    uint32_t count = rows < out_count ? rows : out_count;
    const uint32_t* ids = orri_chunk_ids(chunk);
    for (uint32_t i = 0; i < count; i++) {
        out[i] = orri_id_make(ids[i], orri_record_at(world, ids[i])->generation);
    }
    return count;
}

const void* orr_column_read(const orr_world* world, orr_cluster handle, uint32_t number,
                            orr_type type)
{
    uint32_t column;
    const orri_chunk* chunk = column_find(world, handle, number, type, &column);
    return chunk != NULL ? chunk->columns[column].data : NULL;
}

void* orr_column_write(orr_world* world, orr_cluster handle, uint32_t number, orr_type type)
{
    uint32_t column;
    orri_chunk* chunk = column_find(world, handle, number, type, &column);
    return chunk != NULL ? orri_column_write(world, chunk, column) : NULL;
}

uint64_t orr_column_tick(const orr_world* world, orr_cluster handle, uint32_t number, orr_type type)
{
    uint32_t column;
    const orri_chunk* chunk = column_find(world, handle, number, type, &column);
    return chunk != NULL ? chunk->columns[column].tick : 0;
}

uint64_t orr_column_version(const orr_world* world, orr_cluster handle, uint32_t number,
                            orr_type type)
{
    uint32_t column;
    const orri_chunk* chunk = column_find(world, handle, number, type, &column);
    return chunk != NULL ? chunk->columns[column].version : 0;
}

const uint64_t* orr_column_enabled(const orr_world* world, orr_cluster handle, uint32_t number,
                                   orr_type type)
{
    orri_chunk* chunk = column_chunk(world, handle, number);
    if (chunk == NULL) {
        return NULL;
    }
    int32_t column = type.index1 == 0 ? (int32_t)chunk->cluster->type_count
                                      : orri_cluster_find_column(chunk->cluster, type);
    return column >= 0 ? (const uint64_t*)(void*)orri_chunk_bits(chunk, (uint32_t)column)->data
                       : NULL;
}

// ---- spans -----------------------------------------------------------------------------------------------

// How many rows from `row` on lie one after another: whole chunks as long as their blocks are adjacent.
static uint32_t column_span_count(const orri_cluster* cluster, uint32_t column, uint32_t row)
{
    uint32_t number = row >> ORRI_SLOT_BITS;
    const orri_chunk* chunk = cluster->chunks[number];
    uint32_t count = orri_chunk_rows(chunk) - (row & ORRI_SLOT_MASK);
    size_t bytes = (size_t)cluster->columns[column].size * ORR_CHUNK_CAPACITY;
    while (bytes > 0 && ++number < cluster->chunk_count &&
           cluster->chunks[number]->columns[column].data == chunk->columns[column].data + bytes) {
        chunk = cluster->chunks[number];
        count += orri_chunk_rows(chunk);
    }
    return count;
}

static orri_cluster* column_span_find(const orr_world* world, orr_cluster handle, orr_type type,
                                      uint32_t row, uint32_t* count, uint32_t* column)
{
    orri_cluster* cluster = orri_cluster_at(world, handle);
    *count = 0;
    if (cluster == NULL || row >= cluster->row_count) {
        return NULL;
    }
    uint32_t chunk_id = orri_cluster_chunk_of(cluster, row)->id;
    int32_t found = orri_table_column(world, type.index1 - 1, chunk_id);
    if (found < 0) {
        return NULL;
    }
    *column = (uint32_t)found;
    return cluster;
}

static uint8_t* column_span_start(const orri_cluster* cluster, uint32_t column, uint32_t row)
{
    size_t size = cluster->columns[column].size;
    return orri_cluster_chunk_of(cluster, row)->columns[column].data +
           (row & ORRI_SLOT_MASK) * size;
}

const void* orr_span_read(const orr_world* world, orr_cluster handle, orr_type type, uint32_t row,
                          uint32_t* count)
{
    uint32_t column;
    ORR_ASSERT(count != NULL);
    const orri_cluster* cluster = column_span_find(world, handle, type, row, count, &column);
    if (cluster == NULL) {
        return NULL;
    }
    *count = column_span_count(cluster, column, row);
    return column_span_start(cluster, column, row);
}

void* orr_span_write(orr_world* world, orr_cluster handle, orr_type type, uint32_t row,
                     uint32_t* count)
{
    uint32_t column;
    ORR_ASSERT(count != NULL);
    orri_cluster* cluster = column_span_find(world, handle, type, row, count, &column);
    if (cluster == NULL) {
        return NULL;
    }
    uint32_t number = row >> ORRI_SLOT_BITS;
    uint8_t* data = orri_column_write(world, cluster->chunks[number], column);
    if (data == NULL) {
        return NULL;
    }
    *count = orri_chunk_rows(cluster->chunks[number]) - (row & ORRI_SLOT_MASK);
    size_t bytes = (size_t)cluster->columns[column].size * ORR_CHUNK_CAPACITY;
    while (bytes > 0 && ++number < cluster->chunk_count &&
           cluster->chunks[number]->columns[column].data == data + bytes) {
        // A held block may be copied elsewhere, or its copy be refused: the run ends before it.
        data = orri_column_write(world, cluster->chunks[number], column);
        if (data == NULL || data != cluster->chunks[number - 1]->columns[column].data + bytes) {
            break;
        }
        *count += orri_chunk_rows(cluster->chunks[number]);
    }
    return column_span_start(cluster, column, row);
}
