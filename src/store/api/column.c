// SPDX-License-Identifier: MIT
// Access to rows by cluster and chunk: raw columns, spans of adjacent blocks, entities of a chunk.
#include "store/pool/pool.h"
#include "store/publish/publish.h"

// A chunk of a cluster by its number; NULL: none.
static orri_chunk* column_chunk(const orr_world* world, orr_cluster handle, uint32_t number)
{
    const orri_cluster* cluster = orri_cluster_at(world, handle);
    return cluster != NULL && number < cluster->chunk_count ? cluster->chunks[number] : NULL;
}

// A pinned type has no column anywhere, so asking for one is reported. Always returns NULL.
ORRI_COLD static orri_chunk* column_absent(const orr_world* world, orr_type type)
{
    const orri_type* found = orri_type_at(&world->schema, type);
    if (found != NULL && orri_type_pinned(found)) {
        (void)orri_refuse_pinned(world, "orr_column and orr_span calls", type);
    }
    return NULL;
}

// The chunk and the column of a type; NULL if either is missing. The type table has the column by
// chunk id, which is faster than a search in the cluster.
static orri_chunk* column_find(const orr_world* world, orr_cluster handle, uint32_t number,
                               orr_type type, uint32_t* column)
{
    orri_chunk* chunk = column_chunk(world, handle, number);
    int32_t found =
        chunk != NULL ? orri_table_column(world, orri_type_index(world, type), chunk->id) : -1;
    *column = (uint32_t)found;
    return found >= 0 ? chunk : column_absent(world, type);
}

uint32_t orr_chunk_count(const orr_world* world, orr_cluster handle, uint32_t number)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_looks(world, "orr_chunk_count", (orr_entity){0})) {
        return 0;
    }
    const orri_chunk* chunk = column_chunk(world, handle, number);
    return chunk != NULL ? orri_chunk_rows(chunk) : 0;
}

uint32_t orr_chunk_entities(const orr_world* world, orr_cluster handle, uint32_t number,
                            orr_entity* out, uint32_t out_count)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_places(world, "orr_chunk_entities", (orr_entity){0})) {
        return 0;
    }
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
    ORR_ASSERT(world != NULL);
    if (!orri_access_reads(world, "orr_column_read", type, (orr_entity){0})) {
        return NULL;
    }
    uint32_t column;
    const orri_chunk* chunk = column_find(world, handle, number, type, &column);
    return chunk != NULL ? orri_columns_here(world, chunk)[column].data : NULL;
}

void* orr_column_write(orr_world* world, orr_cluster handle, uint32_t number, orr_type type)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_writes(world, "orr_column_write", type, (orr_entity){0})) {
        return NULL;
    }
    uint32_t column;
    orri_chunk* chunk = column_find(world, handle, number, type, &column);
    if (chunk != NULL && ORR_UNLIKELY(chunk->cluster->columns[column].by_value)) {
        (void)orri_refuse_in_place(world, "orr_column_write", chunk->cluster->columns[column].type);
        return NULL;
    }
    return chunk != NULL ? orri_column_write(world, chunk, column) : NULL;
}

// Columns with the versions and ticks of a type as this thread's pipeline sees it.
static const orri_column* column_stamps(const orr_world* world, const orri_chunk* chunk,
                                        orr_type type)
{
    const orri_view* view = orri_view_here(world);
    return view != NULL && orri_view_has(view, type) ? orri_columns_here(world, chunk)
                                                     : chunk->columns;
}

uint64_t orr_column_tick(const orr_world* world, orr_cluster handle, uint32_t number, orr_type type)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_reads(world, "orr_column_tick", type, (orr_entity){0})) {
        return 0;
    }
    orri_world_settle(world);
    uint32_t column;
    const orri_chunk* chunk = column_find(world, handle, number, type, &column);
    return chunk != NULL ? column_stamps(world, chunk, type)[column].tick : 0;
}

uint64_t orr_column_version(const orr_world* world, orr_cluster handle, uint32_t number,
                            orr_type type)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_reads(world, "orr_column_version", type, (orr_entity){0})) {
        return 0;
    }
    orri_world_settle(world);
    uint32_t column;
    const orri_chunk* chunk = column_find(world, handle, number, type, &column);
    return chunk != NULL ? column_stamps(world, chunk, type)[column].version : 0;
}

const uint64_t* orr_column_enabled(const orr_world* world, orr_cluster handle, uint32_t number,
                                   orr_type type)
{
    ORR_ASSERT(world != NULL);
    static const orr_entity no_entity = {0};
    bool allowed = type.id != 0
                       ? orri_access_reads(world, "orr_column_enabled", type, no_entity)
                       : orri_access_builtin(world, "orr_column_enabled", "orr_enabled", no_entity);
    orri_chunk* chunk = allowed ? column_chunk(world, handle, number) : NULL;
    if (chunk == NULL) {
        return NULL;
    }
    int32_t column = type.id == 0 ? (int32_t)chunk->cluster->type_count
                                  : orri_cluster_find_column(chunk->cluster, type);
    if (column < 0) {
        (void)column_absent(world, type);
        return NULL;
    }
    return (const uint64_t*)(void*)orri_chunk_bits(chunk, (uint32_t)column)->data;
}

// ---- spans --------------------------------------------------------------------------------------

// The chunk of a row and the column of a type; NULL past the last row or without such a column.
static inline orri_chunk* column_span_chunk(const orr_world* world, const orri_cluster* cluster,
                                            orr_type type, uint32_t row, uint32_t* column)
{
    if (ORR_UNLIKELY(cluster == NULL || row >= cluster->row_count)) {
        return NULL;
    }
    orri_chunk* chunk = orri_cluster_chunk_of(cluster, row);
    uint32_t type_index = orri_type_index(world, type);
    int32_t found = orri_table_column(world, type_index, chunk->id);
    *column = (uint32_t)found;
    if (ORR_UNLIKELY(found < 0)) {
        return column_absent(world, type);
    }
    const orri_table* table = (const orri_table*)(const void*)world->tables.list[type_index];
    if (ORR_UNLIKELY(table->multiple)) {
        (void)orri_refuse_multiple(world, "orr_span_read or orr_span_write", type);
        return NULL;
    }
    return chunk;
}

// Address of the value in a row.
static inline uint8_t* column_span_start(const orr_world* world, const orri_chunk* chunk,
                                         uint32_t column, orr_type type, uint32_t row)
{
    size_t size = world->tables.list[orri_type_index(world, type)]->size;
    return chunk->columns[column].data + (row & ORRI_SLOT_MASK) * size;
}

// True when the block of a chunk is adjacent to that of the chunk before. False for markers, which
// have no blocks.
static bool column_span_goes_on(const orri_cluster* cluster, uint32_t column, uint32_t number)
{
    size_t bytes = (size_t)cluster->columns[column].size * ORR_CHUNK_CAPACITY;
    return bytes > 0 && cluster->chunks[number]->columns[column].data ==
                            cluster->chunks[number - 1]->columns[column].data + bytes;
}

// Number of rows from `row` on whose values are adjacent: adds chunks with adjacent blocks until at
// least `wanted` rows are found.
static uint32_t column_span_count(const orri_cluster* cluster, uint32_t column, uint32_t row,
                                  uint32_t wanted)
{
    uint32_t number = row >> ORRI_SLOT_BITS;
    uint32_t count = orri_chunk_rows(cluster->chunks[number]) - (row & ORRI_SLOT_MASK);
    while (count < wanted && ++number < cluster->chunk_count &&
           column_span_goes_on(cluster, column, number)) {
        count += orri_chunk_rows(cluster->chunks[number]);
    }
    return count;
}

// In real time a span ends with the chunk, because published blocks are not adjacent.
ORRI_COLD static const void* column_span_here(const orr_world* world, const orri_chunk* chunk,
                                              uint32_t column, uint32_t row, uint32_t* count)
{
    uint32_t slot = row & ORRI_SLOT_MASK, found = orri_chunk_rows(chunk) - slot;
    *count = found < *count ? found : *count;
    return orri_columns_here(world, chunk)[column].data +
           (size_t)slot * chunk->cluster->columns[column].size;
}

const void* orr_span_read(const orr_world* world, orr_cluster handle, orr_type type, uint32_t row,
                          uint32_t* count)
{
    ORR_ASSERT(world != NULL);
    ORR_ASSERT(count != NULL);
    if (!orri_access_reads(world, "orr_span_read", type, (orr_entity){0})) {
        *count = 0;
        return NULL;
    }
    uint32_t column;
    uint32_t wanted = *count;
    const orri_cluster* cluster = orri_cluster_at(world, handle);
    const orri_chunk* chunk = column_span_chunk(world, cluster, type, row, &column);
    if (ORR_UNLIKELY(chunk == NULL || wanted == 0)) {
        *count = 0;
        return NULL;
    }
    if (ORR_UNLIKELY(world->realtime)) {
        return column_span_here(world, chunk, column, row, count);
    }
    // Fast path for the many small clusters: in the last chunk no adjacent block is searched.
    uint32_t found = chunk->number + 1 == cluster->chunk_count
                         ? cluster->row_count - row
                         : column_span_count(cluster, column, row, wanted);
    *count = found < wanted ? found : wanted;
    return column_span_start(world, chunk, column, type, row);
}

// orri_column_write() inline, for the common case that the column is not shared.
static inline uint8_t* column_span_write_block(orr_world* world, orri_chunk* chunk, uint32_t column)
{
    orri_column* entry = &chunk->columns[column];
    if (ORR_UNLIKELY(entry->share != NULL)) {
        return orri_column_write(world, chunk, column);
    }
    uint64_t epoch = orri_epoch(world);
    if (entry->version != epoch) {
        orri_written_note(world, epoch);
        entry->version = epoch;
        entry->tick = orri_tick_now(world);
        chunk->cluster->columns[column].version = epoch;
    }
    return entry->data;
}

// Stamps the blocks after that of `row`, and returns the number of rows from `row` on. The span
// ends before a shared block that is copied to another address, or whose copy is refused.
static uint32_t column_span_write_on(orr_world* world, const orri_cluster* cluster, uint32_t column,
                                     uint32_t row, uint32_t wanted)
{
    uint32_t number = row >> ORRI_SLOT_BITS;
    uint32_t count = orri_chunk_rows(cluster->chunks[number]) - (row & ORRI_SLOT_MASK);
    while (count < wanted && ++number < cluster->chunk_count &&
           column_span_goes_on(cluster, column, number) &&
           column_span_write_block(world, cluster->chunks[number], column) != NULL &&
           column_span_goes_on(cluster, column, number)) {
        count += orri_chunk_rows(cluster->chunks[number]);
    }
    return count;
}

void* orr_span_write(orr_world* world, orr_cluster handle, orr_type type, uint32_t row,
                     uint32_t* count)
{
    ORR_ASSERT(world != NULL);
    ORR_ASSERT(count != NULL);
    if (!orri_access_writes(world, "orr_span_write", type, (orr_entity){0})) {
        *count = 0;
        return NULL;
    }
    uint32_t column;
    uint32_t wanted = *count;
    const orri_cluster* cluster = orri_cluster_at(world, handle);
    orri_chunk* chunk = column_span_chunk(world, cluster, type, row, &column);
    if (chunk != NULL && ORR_UNLIKELY(cluster->columns[column].by_value)) {
        (void)orri_refuse_in_place(world, "orr_span_write", cluster->columns[column].type);
        chunk = NULL;
    }
    if (ORR_UNLIKELY(chunk == NULL || wanted == 0 ||
                     column_span_write_block(world, chunk, column) == NULL)) {
        *count = 0;
        return NULL;
    }
    uint32_t found = chunk->number + 1 == cluster->chunk_count
                         ? cluster->row_count - row
                         : column_span_write_on(world, cluster, column, row, wanted);
    *count = found < wanted ? found : wanted;
    return column_span_start(world, chunk, column, type, row);
}
