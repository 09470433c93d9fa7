// SPDX-License-Identifier: MIT
// Chunks: memory, stamps and enable bits of their columns, and the type tables that find a column
// by chunk id.
//
// The first chunk of a cluster grows through levels of 1 to 1024 rows, so that thousands of tiny
// clusters stay cheap. All other chunks have full size, with blocks from the extents of the
// cluster's columns.
#include "store/cow/row_log.h"
#include "store/publish/publish.h"
#include "store/world/commit_scope.h"

static const uint32_t chunk_level_rows[ORRI_LEVELS + 1] = {
    1, 4, 16, 64, 256, 1024, ORR_CHUNK_CAPACITY};
#define CHUNK_START_BYTES 1024u // Clusters with larger rows start at a lower level.
// A type table covers chunk ids below CHUNK_TABLE_MIN, or below CHUNK_TABLE_SPREAD times the number
// of chunks that have the type, if that is more.
#define CHUNK_TABLE_MIN    1024u
#define CHUNK_TABLE_SPREAD 16u

uint8_t orri_marker_byte[ORRI_BLOCK_ALIGN];
const uint8_t orri_zeros[ORRI_SIZE_SHORT_MAX];
orri_table orri_table_none;

// The level of a capacity.
static uint32_t chunk_level(uint32_t capacity)
{
    uint32_t level = 0;
    while (chunk_level_rows[level] < capacity) {
        level++;
    }
    return level;
}

size_t orri_block_bytes(uint32_t size, uint32_t level)
{
    size_t bytes = (size_t)size * chunk_level_rows[level];
    return (bytes + ORRI_BLOCK_ALIGN - 1) & ~(size_t)(ORRI_BLOCK_ALIGN - 1);
}

uint8_t orri_chunk_level_first(size_t row_bytes)
{
    return row_bytes <= CHUNK_START_BYTES ? 2 : row_bytes <= 16 * CHUNK_START_BYTES ? 1 : 0;
}

// The source of the blocks of a chunk's column. NULL: blocks of this size are rare, and each is an
// extent of its own.
static orri_source* chunk_source(orr_world* world, const orri_chunk* chunk, uint32_t column)
{
    orri_cluster* cluster = chunk->cluster;
    if (column >= cluster->column_count) {
        return cluster->columns[column - cluster->column_count].shift == 0 ? &world->chunks.bits
                                                                           : NULL;
    }
    if (chunk->capacity == ORR_CHUNK_CAPACITY) {
        return &cluster->columns[column].source;
    }
    uint32_t level = chunk_level(chunk->capacity);
    if (column >= cluster->type_count) {
        return column == cluster->type_count ? &world->chunks.row_small[level] : NULL;
    }
    return cluster->columns[column].counts == 0 ? &cluster->columns[column].table->small[level]
                                                : NULL;
}

void* orri_chunk_block(orr_world* world, const orri_chunk* chunk, uint32_t column, uint32_t wanted,
                       orri_extent** out)
{
    orri_source* source = chunk_source(world, chunk, column);
    if (ORR_LIKELY(source != NULL)) {
        return orri_block_take(source, &world->env, wanted, out);
    }
    const orri_cluster* cluster = chunk->cluster;
    size_t bytes =
        column < cluster->column_count
            ? orri_block_bytes(cluster->columns[column].size, chunk_level(chunk->capacity))
            : orri_bits_bytes(&cluster->columns[column - cluster->column_count]);
    return orri_block_take_alone(&world->env, bytes, out);
}

// ---- poisoning ----------------------------------------------------------------------------------

#ifdef ORRI_ASAN
static size_t chunk_round_up(size_t bytes)
{
    return (bytes + ORRI_BLOCK_ALIGN - 1) & ~(size_t)(ORRI_BLOCK_ALIGN - 1);
}

void orri_rows_open(orri_chunk* chunk, uint32_t slot, uint32_t count)
{
    for (uint32_t c = 0; c < chunk->cluster->column_count; c++) {
        size_t size = chunk->cluster->columns[c].size;
        if (size > 0) {
            size_t begin = slot * size & ~(size_t)(ORRI_BLOCK_ALIGN - 1);
            ORRI_UNPOISON(chunk->columns[c].data + begin,
                          chunk_round_up((slot + count) * size) - begin);
        }
    }
}

// Poisons whole lines of 64 bytes only: SIMD loops may read to the end of the last line.
void orri_rows_close(orri_chunk* chunk, uint32_t slot, uint32_t count)
{
    for (uint32_t c = 0; c < chunk->cluster->column_count; c++) {
        size_t size = chunk->cluster->columns[c].size;
        if (size > 0) {
            size_t begin = chunk_round_up(slot * size);
            ORRI_POISON(chunk->columns[c].data + begin,
                        chunk_round_up((slot + count) * size) - begin);
        }
    }
}
#endif

// ---- stamps -------------------------------------------------------------------------------------

bool orri_column_prepare(orr_world* world, orri_chunk* chunk, uint32_t column)
{
    if (chunk->columns[column].share == NULL || orri_share_detach_column(world, chunk, column)) {
        return true;
    }
    (void)orri_refuse_memory(&world->env, "copying a shared block before writing to it");
    return false;
}

bool orri_rows_prepare(orr_world* world, orri_chunk* chunk, uint32_t column, uint32_t slot,
                       uint32_t count)
{
    orri_share* share = chunk->columns[column].share;
    return share == NULL || orri_row_log_add(world, share, slot, count) ||
           orri_column_prepare(world, chunk, column);
}

bool orri_chunk_prepare(orr_world* world, orri_chunk* chunk)
{
    for (uint32_t c = 0; chunk->share_count > 0 && c < chunk->column_count; c++) {
        if (!orri_column_prepare(world, chunk, c)) {
            return false;
        }
    }
    return true;
}

bool orri_chunk_prepare_rows(orr_world* world, orri_chunk* chunk, uint32_t slot, uint32_t count)
{
    for (uint32_t c = 0; chunk->share_count > 0 && c < chunk->column_count; c++) {
        if (!orri_rows_prepare(world, chunk, c, slot, count)) {
            return false;
        }
    }
    return true;
}

void orri_column_stamp_one(orr_world* world, orri_chunk* chunk, uint32_t column)
{
    uint64_t epoch = orri_epoch(world);
    orri_written_note(world, epoch);
    chunk->columns[column].version = orri_version_now(world, &chunk->columns[column]);
    chunk->columns[column].tick = orri_tick_now(world);
    if (column < chunk->cluster->column_count) {
        // Atomic: threads that iterate other chunks of the cluster store the same epoch here.
        __atomic_store_n(&chunk->cluster->columns[column].version, epoch, __ATOMIC_RELAXED);
    }
}

void orri_chunk_stamp_columns(orr_world* world, orri_chunk* chunk)
{
    for (uint32_t c = 0; c < chunk->column_count; c++) {
        orri_column_stamp_one(world, chunk, c);
    }
    chunk->stamp = world->epoch - (chunk->share_count > 0); // As orri_version_now().
}

void orri_chunk_stamp_all(orr_world* world, orri_chunk* chunk)
{
    ORR_ASSERT(chunk->share_count == 0);
    orri_chunk_stamp_columns(world, chunk);
}

// ---- type tables --------------------------------------------------------------------------------

// Enters a column into its type table, if the table covers the chunk.
static void chunk_table_set(orri_table* table, const orri_chunk* chunk, uint32_t column)
{
    if (ORR_LIKELY(chunk->id < table->hot.capacity)) {
        table->hot.data[chunk->id] = chunk->columns[column].data;
        table->column[chunk->id] = (uint16_t)(column + 1);
    }
}

// Enters the chunks from id `first` on, which the table did not cover until now.
static void chunk_table_catch_up(orr_world* world, orri_table* table, uint32_t first)
{
    orr_type type = {table->type->id};
    for (uint32_t id = first > 0 ? first : 1; id < table->hot.capacity && id < world->chunks.count;
         id++) {
        const orri_chunk* chunk = world->chunks.list[id];
        int32_t column = chunk != NULL && chunk->ids != NULL
                             ? orri_cluster_find_column(chunk->cluster, type)
                             : -1;
        if (column >= 0) {
            chunk_table_set(table, chunk, (uint32_t)column);
        }
    }
}

// Enlarges the arrays of a table, and enters the chunks it now covers.
ORRI_COLD static bool chunk_table_grow(orr_world* world, orri_table* table, uint32_t capacity)
{
    uint32_t old = table->hot.capacity;
    uint8_t** data = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_CLUSTER, uint8_t*, capacity);
    uint16_t* column = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_CLUSTER, uint16_t, capacity);
    if (data == NULL || column == NULL) {
        ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, uint8_t*, data, capacity);
        ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, uint16_t, column, capacity);
        return false;
    }
    if (old > 0) {
        memcpy(data, table->hot.data, old * sizeof *data);
        memcpy(column, table->column, old * sizeof *column);
    }
    ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, uint8_t*, table->hot.data, old);
    ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, uint16_t, table->column, old);
    table->hot.data = data;
    table->column = column;
    table->hot.capacity = capacity;
    chunk_table_catch_up(world, table, old);
    return true;
}

// Makes room in a table for a chunk id, unless the id is beyond the limit for a type this rare.
static bool chunk_table_reserve(orr_world* world, orri_table* table, uint32_t chunk_id)
{
    uint32_t most = table->live < CHUNK_TABLE_MIN / CHUNK_TABLE_SPREAD
                        ? CHUNK_TABLE_MIN
                        : (table->live + 1) * CHUNK_TABLE_SPREAD;
    if (ORR_LIKELY(chunk_id < table->hot.capacity) || chunk_id >= most || table->multiple) {
        return true;
    }
    uint32_t capacity = table->hot.capacity < 8 ? 16 : table->hot.capacity * 2;
    capacity = capacity > chunk_id ? capacity : chunk_id + 1;
    return chunk_table_grow(world, table, capacity < most ? capacity : most);
}

void orri_chunk_refresh(orri_chunk* chunk)
{
    chunk->ids = (uint32_t*)(void*)chunk->columns[chunk->cluster->type_count].data;
    for (uint32_t c = 0; c < chunk->cluster->type_count; c++) {
        chunk_table_set(chunk->cluster->columns[c].table, chunk, c);
    }
}

void orri_chunk_refresh_column(orri_chunk* chunk, uint32_t column)
{
    uint32_t types = chunk->cluster->type_count;
    if (column == types) {
        chunk->ids = (uint32_t*)(void*)chunk->columns[column].data;
    } else if (column < types) {
        const orri_table* table = chunk->cluster->columns[column].table;
        if (chunk->id < table->hot.capacity) {
            table->hot.data[chunk->id] = chunk->columns[column].data;
        }
    }
}

void orri_chunk_enter(orri_chunk* chunk)
{
    orri_chunk_refresh(chunk);
    for (uint32_t c = 0; c < chunk->cluster->type_count; c++) {
        chunk->cluster->columns[c].table->live++;
    }
}

void orri_chunk_leave(const orri_chunk* chunk)
{
    for (uint32_t c = 0; c < chunk->cluster->type_count; c++) {
        orri_table* table = chunk->cluster->columns[c].table;
        table->live--;
        if (chunk->id < table->hot.capacity) {
            table->hot.data[chunk->id] = NULL;
            table->column[chunk->id] = 0;
        }
    }
}

int32_t orri_table_column_slow(const orr_world* world, uint32_t type_index, uint32_t chunk_id)
{
    const orri_chunk* chunk = world->chunks.list[chunk_id];
    return orri_cluster_find_column(chunk->cluster, (orr_type){type_index + world->hot.type_base});
}

// ---- creating and freeing -----------------------------------------------------------------------

// Bytes of a chunk: header, columns, cold parts.
static size_t chunk_bytes(uint32_t column_count)
{
    return sizeof(orri_chunk) + column_count * (sizeof(orri_column) + sizeof(orri_column_cold));
}

bool orri_column_take(orr_world* world, orri_chunk* chunk, uint32_t column, uint32_t wanted)
{
    orri_column* entry = &chunk->columns[column];
    orri_column_cold* cold = &orri_chunk_cold(chunk)[column];
    const orri_cluster* cluster = chunk->cluster;
    uint32_t columns = cluster->column_count;
    if (column < columns && cluster->columns[column].size == 0) {
        entry->data = orri_marker_byte;
        return true;
    }
    entry->data = orri_chunk_block(world, chunk, column, wanted, &cold->extent);
    if (entry->data != NULL && column >= columns) {
        size_t bytes = orri_bits_bytes(&cluster->columns[column - columns]);
        ORRI_UNPOISON(entry->data, bytes);
        memset(entry->data, 0xFF, bytes);
    }
    return entry->data != NULL;
}

void orri_column_give(orr_world* world, orri_chunk* chunk, uint32_t column)
{
    orri_column_cold* cold = &orri_chunk_cold(chunk)[column];
    if (chunk->columns[column].share != NULL) {
        orri_share_hand_over(world, chunk, column);
    } else if (cold->extent != NULL) {
        orri_block_give(cold->extent, &world->env, chunk->columns[column].data);
    }
    chunk->columns[column].data = NULL;
    cold->extent = NULL;
}

// Allocates the blocks of all columns, and of enable bits where the cluster has some.
static bool chunk_take_columns(orr_world* world, orri_chunk* chunk, uint32_t wanted)
{
    const orri_cluster* cluster = chunk->cluster;
    for (uint32_t c = 0; c < chunk->column_count; c++) {
        bool bits = c >= cluster->column_count;
        if (bits && !cluster->columns[c - cluster->column_count].has_bits) {
            continue;
        }
        if (!orri_column_take(world, chunk, c, wanted)) {
            return false;
        }
    }
    return true;
}

// Frees all blocks of a chunk; shared blocks pass to their shares.
static void chunk_give_columns(orr_world* world, orri_chunk* chunk)
{
    for (uint32_t c = 0; c < chunk->column_count; c++) {
        orri_column_give(world, chunk, c);
    }
}

orri_chunk* orri_chunk_alloc(orr_world* world, orri_cluster* cluster)
{
    uint32_t column_count = 2 * cluster->column_count;
    orri_chunk* chunk = orri_alloc_zero(&world->env, ORR_MEMORY_CLUSTER, chunk_bytes(column_count),
                                        ORRI_BLOCK_ALIGN);
    if (chunk != NULL) {
        chunk->cluster = cluster;
        chunk->column_count = column_count;
    }
    return chunk;
}

void orri_chunk_free(orr_world* world, orri_chunk* chunk)
{
    orri_free(&world->env, ORR_MEMORY_CLUSTER, chunk, chunk_bytes(chunk->column_count),
              ORRI_BLOCK_ALIGN);
}

// Gives a chunk an id: the id freed last, or a fresh one. False: limit reached, or out of memory
// (silent).
static bool chunk_id_take(orr_world* world, orri_chunk* chunk)
{
    if (world->chunks.free_count > 0) {
        chunk->id = world->chunks.free[--world->chunks.free_count];
    } else {
        uint32_t needed = world->chunks.count + 1;
        if (needed > ORRI_CHUNKS_MAX + 1 ||
            !ORRI_RESERVE(&world->env, ORR_MEMORY_WORLD, &world->chunks.list,
                          &world->chunks.capacity, needed) ||
            !ORRI_RESERVE(&world->env, ORR_MEMORY_WORLD, &world->chunks.free,
                          &world->chunks.free_capacity, needed)) {
            return false;
        }
        chunk->id = world->chunks.count++;
    }
    world->chunks.list[chunk->id] = chunk;
    return true;
}

static void chunk_id_give(orr_world* world, const orri_chunk* chunk)
{
    world->chunks.list[chunk->id] = NULL;
    world->chunks.free[world->chunks.free_count++] = chunk->id;
}

bool orri_chunk_reserve_tables(orr_world* world, const orri_cluster* cluster, uint32_t chunk_id)
{
    for (uint32_t c = 0; c < cluster->type_count; c++) {
        if (!chunk_table_reserve(world, cluster->columns[c].table, chunk_id)) {
            return false;
        }
    }
    return true;
}

// A chunk with id, blocks and entries in the type tables. NULL when refused (silent): as before.
ORRI_COLD static orri_chunk* chunk_create(orr_world* world, orri_cluster* cluster, uint32_t number,
                                          uint32_t capacity, uint32_t wanted)
{
    orri_chunk* chunk = orri_chunk_alloc(world, cluster);
    if (chunk == NULL) {
        return NULL;
    }
    chunk->number = number;
    chunk->capacity = capacity;
    if (!chunk_id_take(world, chunk)) {
        orri_chunk_free(world, chunk);
        return NULL;
    }
    if (!orri_chunk_reserve_tables(world, cluster, chunk->id) ||
        !chunk_take_columns(world, chunk, wanted)) {
        chunk_give_columns(world, chunk);
        chunk_id_give(world, chunk);
        orri_chunk_free(world, chunk);
        return NULL;
    }
    orri_chunk_enter(chunk);
    return chunk;
}

void orri_chunk_destroy(orr_world* world, orri_chunk* chunk)
{
    orri_chunk_leave(chunk);
    chunk_give_columns(world, chunk);
    ORR_ASSERT(chunk->share_count == 0);
    chunk_id_give(world, chunk);
    orri_chunk_free(world, chunk);
}

void orri_chunk_drop(orr_world* world, orri_chunk* chunk)
{
    const orri_cluster* cluster = chunk->cluster;
    uint32_t rows = orri_chunk_rows(chunk);
    for (uint32_t c = 0; !cluster->plain && c < cluster->type_count; c++) {
        if (!cluster->columns[c].type->plain && !orri_column_shared(chunk, c)) {
            orri_cells_destruct(orri_cells_at(chunk, c, 0), rows);
        }
    }
    orri_chunk_destroy(world, chunk);
}

void orri_chunk_give(orr_world* world, orri_chunk* chunk)
{
    chunk_give_columns(world, chunk);
    orri_chunk_free(world, chunk);
}

// ---- growing and trimming a cluster -------------------------------------------------------------

// Moves a chunk into larger blocks. A temporary chunk holds the new blocks until all are allocated.
ORRI_COLD static bool chunk_grow(orr_world* world, orri_chunk* chunk, uint32_t capacity,
                                 uint32_t wanted)
{
    if (!orri_chunk_prepare(world, chunk)) {
        return false;
    }
    orri_chunk* next = orri_chunk_alloc(world, chunk->cluster);
    if (next == NULL) {
        return false;
    }
    next->capacity = capacity;
    next->number = chunk->number;
    uint32_t columns = chunk->cluster->column_count;
    for (uint32_t c = 0; c < columns; c++) {
        if (!orri_column_take(world, next, c, wanted)) {
            chunk_give_columns(world, next);
            orri_chunk_free(world, next);
            return false;
        }
    }
    uint32_t rows = orri_chunk_rows(chunk);
    orri_rows_open(next, 0, rows);
    for (uint32_t c = 0; c < columns; c++) {
        const orri_cluster_column* column = &chunk->cluster->columns[c];
        if (column->type == NULL || column->type->plain) {
            memcpy(next->columns[c].data, chunk->columns[c].data, (size_t)rows * column->size);
        } else {
            orri_cells_move(orri_cells_at(next, c, 0), orri_cells_at(chunk, c, 0), rows);
        }
        orri_column_give(world, chunk, c);
        chunk->columns[c].data = next->columns[c].data;
        orri_chunk_cold(chunk)[c].extent = orri_chunk_cold(next)[c].extent;
    }
    chunk->capacity = capacity;
    orri_chunk_refresh(chunk);
    if (ORR_UNLIKELY(world->publisher != NULL)) {
        orri_publish_moved(world->publisher, chunk);
    }
    orri_chunk_free(world, next);
    return true;
}

// Room for up to 1024 rows: creates the first chunk, or moves it to the next level.
static bool chunk_reserve_small(orr_world* world, orri_cluster* cluster, uint32_t needed)
{
    uint32_t level = cluster->level_first;
    if (cluster->chunk_count > 0) {
        level = chunk_level(cluster->chunks[0]->capacity) + 1;
    }
    while (chunk_level_rows[level] < needed) {
        level++;
    }
    uint32_t capacity = chunk_level_rows[level];
    if (cluster->chunk_count > 0) {
        if (!chunk_grow(world, cluster->chunks[0], capacity, 1)) {
            return false;
        }
    } else {
        if (!ORRI_RESERVE(&world->env, ORR_MEMORY_CLUSTER, &cluster->chunks,
                          &cluster->chunk_capacity, 1)) {
            return false;
        }
        orri_chunk* chunk = chunk_create(world, cluster, 0, capacity, 1);
        if (chunk == NULL) {
            return false;
        }
        cluster->chunks[cluster->chunk_count++] = chunk;
        cluster->chunk_first = chunk;
    }
    cluster->row_capacity = capacity;
    return true;
}

// Room in chunks of full size.
static bool chunk_reserve_full(orr_world* world, orri_cluster* cluster, uint64_t needed)
{
    uint64_t chunk_needed = (needed + ORR_CHUNK_CAPACITY - 1) >> ORRI_SLOT_BITS;
    uint32_t old_count = cluster->chunk_count;
    if (chunk_needed > ORRI_CHUNKS_MAX ||
        !ORRI_RESERVE(&world->env, ORR_MEMORY_CLUSTER, &cluster->chunks, &cluster->chunk_capacity,
                      (uint32_t)chunk_needed)) {
        return false;
    }
    uint32_t total = (uint32_t)chunk_needed;
    if (old_count == 1 && cluster->chunks[0]->capacity < ORR_CHUNK_CAPACITY &&
        !chunk_grow(world, cluster->chunks[0], ORR_CHUNK_CAPACITY, total)) {
        return false;
    }
    cluster->row_capacity = old_count << ORRI_SLOT_BITS;
    while (cluster->chunk_count < total) {
        uint32_t number = cluster->chunk_count;
        orri_chunk* chunk =
            chunk_create(world, cluster, number, ORR_CHUNK_CAPACITY, total - number);
        if (chunk == NULL) {
            orri_cluster_trim(world, cluster);
            return false;
        }
        cluster->chunks[cluster->chunk_count++] = chunk;
    }
    cluster->chunk_first = cluster->chunks[0];
    cluster->row_capacity = total << ORRI_SLOT_BITS;
    return true;
}

ORRI_COLD static bool chunk_reserve(orr_world* world, orri_cluster* cluster, uint64_t needed)
{
    return needed <= chunk_level_rows[ORRI_LEVELS - 1]
               ? chunk_reserve_small(world, cluster, (uint32_t)needed)
               : chunk_reserve_full(world, cluster, needed);
}

// A second try, after parked chunks were freed. Refusals of the first try do not count if it
// succeeds: nothing has changed by them.
ORRI_COLD static bool chunk_reserve_again(orr_world* world, orri_cluster* cluster, uint64_t needed,
                                          uint64_t refusals)
{
    uint64_t refused = atomic_load_explicit(&world->env.refusals, memory_order_relaxed) - refusals;
    if (!orri_parked_release_all(world) || !chunk_reserve(world, cluster, needed)) {
        return false;
    }
    while (refused-- > 0) {
        orri_refusal_uncount(&world->env);
    }
    return true;
}

bool orri_cluster_reserve(orr_world* world, orri_cluster* cluster, uint32_t count)
{
    uint64_t needed = (uint64_t)cluster->row_count + count;
    if (needed <= cluster->row_capacity) {
        return true;
    }
    if (cluster->parked != NULL) {
        uint32_t more = cluster->parked->capacity;
        if (needed <= (cluster->chunk_count == 0 ? more : cluster->row_capacity + more)) {
            orri_parked_take(world, cluster);
            return true;
        }
        orri_parked_release(world, cluster);
    }
    uint64_t refusals = atomic_load_explicit(&world->env.refusals, memory_order_relaxed);
    return chunk_reserve(world, cluster, needed) ||
           chunk_reserve_again(world, cluster, needed, refusals);
}

static void chunk_reset_bits(orri_cluster* cluster)
{
    cluster->has_bits = false;
    orri_cluster_set_direct(cluster);
    for (uint32_t c = 0; c <= cluster->type_count; c++) {
        cluster->columns[c].has_bits = false;
    }
}

// Sets what follows from the number of chunks. Without chunks a cluster has no enable bits.
static void chunk_reset_capacity(orri_cluster* cluster)
{
    cluster->chunk_first = cluster->chunk_count > 0 ? cluster->chunks[0] : NULL;
    if (cluster->chunk_count == 0) {
        cluster->row_capacity = 0;
        if (cluster->has_bits) {
            chunk_reset_bits(cluster);
        }
    } else if (cluster->chunk_count == 1) {
        cluster->row_capacity = cluster->chunks[0]->capacity;
    } else {
        cluster->row_capacity = cluster->chunk_count << ORRI_SLOT_BITS;
    }
}

void orri_cluster_trim(orr_world* world, orri_cluster* cluster)
{
    uint32_t needed =
        (uint32_t)(((uint64_t)cluster->row_count + ORR_CHUNK_CAPACITY - 1) >> ORRI_SLOT_BITS);
    while (cluster->chunk_count > needed) {
        orri_chunk* chunk = cluster->chunks[--cluster->chunk_count];
        if (cluster->chunk_count > needed || !orri_chunk_park(world, chunk)) {
            orri_chunk_destroy(world, chunk);
        }
    }
    chunk_reset_capacity(cluster);
}

orr_result orri_cluster_trim_last(orr_world* world, orri_cluster* cluster)
{
    orri_cluster_trim(world, cluster);
    return ORR_OK;
}

void orri_cluster_free_chunks(orr_world* world, orri_cluster* cluster)
{
    orri_parked_release(world, cluster);
    cluster->row_count = 0;
    while (cluster->chunk_count > 0) {
        orri_chunk_destroy(world, cluster->chunks[--cluster->chunk_count]);
    }
    chunk_reset_capacity(cluster);
}

// ---- enable bits --------------------------------------------------------------------------------

ORRI_COLD bool orri_cluster_add_bits(orr_world* world, orri_cluster* cluster, uint32_t column)
{
    uint32_t bits = cluster->column_count + column;
    if (!orri_commit_scope_registry(world)) {
        return false;
    }
    orri_parked_release(world, cluster);
    for (uint32_t i = 0; i < cluster->chunk_count; i++) {
        orri_chunk* chunk = cluster->chunks[i];
        if (!orri_column_prepare(world, chunk, bits) || !orri_column_take(world, chunk, bits, 1)) {
            while (i-- > 0) {
                orri_column_give(world, cluster->chunks[i], bits);
            }
            return false;
        }
    }
    cluster->bits_added++;
    bool had_bits = cluster->has_bits;
    cluster->columns[column].has_bits = true;
    cluster->has_bits = true;
    orri_cluster_set_direct(cluster);
    if (world->listener.cluster_match != NULL && !world->listener.cluster_match(world, cluster)) {
        cluster->columns[column].has_bits = false;
        cluster->has_bits = had_bits;
        orri_cluster_set_direct(cluster);
        for (uint32_t i = 0; i < cluster->chunk_count; i++) {
            orri_column_give(world, cluster->chunks[i], bits);
        }
        return false;
    }
    return true;
}

// ---- rows ---------------------------------------------------------------------------------------

// Copies the enable bits of one row within its cluster.
static void chunk_relocate_bits(orri_chunk* to, uint32_t to_slot, orri_chunk* from,
                                uint32_t from_slot)
{
    for (uint32_t c = 0; c <= to->cluster->type_count; c++) {
        uint64_t* to_bits = (uint64_t*)(void*)orri_chunk_bits(to, c)->data;
        const uint64_t* from_bits = (const uint64_t*)(void*)orri_chunk_bits(from, c)->data;
        uint32_t shift = to->cluster->columns[c].shift;
        if (to_bits != NULL) {
            orri_bits_copy(to_bits, to_slot << shift, from_bits, from_slot << shift, 1u << shift);
        }
    }
}

void orri_row_relocate(orr_world* world, orri_chunk* to, uint32_t to_slot, orri_chunk* from,
                       uint32_t from_slot)
{
    const orri_cluster* cluster = to->cluster;
    const uint32_t* sizes = cluster->sizes;
    for (uint32_t c = 0; c < cluster->column_count; c++) {
        uint8_t* target = to->columns[c].data + (size_t)to_slot * sizes[c];
        uint8_t* source = from->columns[c].data + (size_t)from_slot * sizes[c];
        const orri_type* type = cluster->plain ? NULL : cluster->columns[c].type;
        if (ORR_LIKELY(type == NULL || type->plain)) {
            orri_value_move(target, source, sizes[c]);
        } else {
            orri_cells_move(orri_cells_at(to, c, to_slot), orri_cells_at(from, c, from_slot), 1);
        }
    }
    uint32_t index = orri_chunk_ids(to)[to_slot];
    if (ORR_UNLIKELY(cluster->has_bits)) {
        chunk_relocate_bits(to, to_slot, from, from_slot);
    }
    orri_index_write(world, index)->place = orri_place_make(to, to_slot);
}

#undef CHUNK_START_BYTES
#undef CHUNK_TABLE_MIN
#undef CHUNK_TABLE_SPREAD
