// SPDX-License-Identifier: MIT
// What the files of the store do for each other, and for the modules below: by file, with the short ways that everybody uses inline.
// What a world is made of: world_struct.h. What a running system may do with it: access.h.
#ifndef ORRI_STORE_WORLD_WORLD_H
#define ORRI_STORE_WORLD_WORLD_H

#include "store/world/world_struct.h"

// ---- ids ----------------------------------------------------------------------------------------------

static inline uint32_t orri_id_index(orr_entity entity)
{
    return (uint32_t)entity.id;
}

static inline uint32_t orri_id_generation(orr_entity entity)
{
    return (uint32_t)(entity.id >> 32);
}

static inline orr_entity orri_id_make(uint32_t index, uint32_t generation)
{
    return (orr_entity){(uint64_t)generation << 32 | index};
}

// Null and the types of other worlds give an index larger than any.
static inline uint32_t orri_type_index(const orr_world* world, orr_type type)
{
    return type.id - world->hot.type_base;
}

static inline orri_record* orri_record_at(const orr_world* world, uint32_t index)
{
    // As a signed number: transient entities come before the first (transient.h).
    return &world->hot.pages[(int32_t)index >> ORRI_PAGE_BITS][index & ORRI_PAGE_MASK];
}

// The record of a live entity; NULL for any other id.
static inline orri_record* orri_record_find(const orr_world* world, orr_entity entity)
{
    // One compare refuses an index that was never given and an id with the dead bit, which none has: a made-up
    // one would equal a dead record.
    if (ORR_UNLIKELY((entity.id & ORR_HOT_ID_MASK) >= world->hot.count)) {
        return NULL;
    }
    orri_record* record = orri_record_at(world, orri_id_index(entity));
    return ORR_LIKELY(record->generation == orri_id_generation(entity)) ? record : NULL;
}

static inline orri_chunk* orri_place_chunk(const orr_world* world, uint32_t place)
{
    return world->chunks.list[place >> ORRI_SLOT_BITS];
}

static inline uint32_t orri_place_slot(uint32_t place)
{
    return place & ORRI_SLOT_MASK;
}

static inline uint32_t orri_place_make(const orri_chunk* chunk, uint32_t slot)
{
    return chunk->id << ORRI_SLOT_BITS | slot;
}

// ---- chunks: small helpers used everywhere ---------------------------------------------------------------

static inline uint32_t orri_chunk_rows(const orri_chunk* chunk)
{
    uint32_t first = chunk->number << ORRI_SLOT_BITS;
    uint32_t rows = chunk->cluster->row_count;
    uint32_t left = rows > first ? rows - first : 0;
    return left < ORR_CHUNK_CAPACITY ? left : ORR_CHUNK_CAPACITY;
}

static inline uint32_t* orri_chunk_ids(const orri_chunk* chunk)
{
    return chunk->ids;
}

static inline orri_column* orri_chunk_bits(orri_chunk* chunk, uint32_t column)
{
    return &chunk->columns[chunk->column_count / 2 + column];
}

static inline orri_chunk* orri_cluster_chunk_of(const orri_cluster* cluster, uint32_t row)
{
    return ORR_LIKELY(row < ORR_CHUNK_CAPACITY) ? cluster->chunk_first
                                                : cluster->chunks[row >> ORRI_SLOT_BITS];
}

// For chunks that are not in the table.
ORRI_COLD int32_t orri_table_column_far(const orr_world* world, uint32_t type_index,
                                        uint32_t chunk_id);
// The column of a type in a chunk; -1 if it has none.
static inline int32_t orri_table_column(const orr_world* world, uint32_t type_index,
                                        uint32_t chunk_id)
{
    if (ORR_UNLIKELY(type_index >= world->tables.capacity)) {
        return -1;
    }
    const orri_table* table = (const orri_table*)(const void*)world->tables.list[type_index];
    return ORR_LIKELY(chunk_id < table->hot.capacity)
               ? (int32_t)table->column[chunk_id] - 1
               : orri_table_column_far(world, type_index, chunk_id);
}

// Copies a plain value; the common sizes without a call.
static inline void orri_value_move(void* to, const void* from, uint32_t size)
{
    if (size == 8) {
        memcpy(to, from, 8);
    } else if (size == 16) {
        memcpy(to, from, 16);
    } else if (size == 4) {
        memcpy(to, from, 4);
    } else if (size == 12) {
        memcpy(to, from, 12);
    } else {
        memcpy(to, from, size);
    }
}

static inline void orri_value_zero(void* to, uint32_t size)
{
    if (size == 8) {
        memset(to, 0, 8);
    } else if (size == 16) {
        memset(to, 0, 16);
    } else if (size == 4) {
        memset(to, 0, 4);
    } else {
        memset(to, 0, size);
    }
}

// Writes the preset of a plain type.
static inline void orri_value_preset(const orri_type* type, void* to, uint32_t size)
{
    if (ORR_LIKELY(type->zero_preset)) {
        orri_value_zero(to, size);
    } else {
        memcpy(to, type->preset, size);
    }
}

// ---- the clock (access.c) ----------------------------------------------------------------------------------

// In real time: tick and epoch of what this thread does, side by side.
const uint64_t* orri_clock_here(const orr_world* world);
// For writes of values, wherever they come from. Structure is changed with nobody beside it: there the world's own are meant.
static inline uint64_t orri_epoch(const orr_world* world)
{
    return ORR_LIKELY(!world->realtime) ? world->epoch : orri_clock_here(world)[1];
}
static inline uint64_t orri_tick_now(const orr_world* world)
{
    return ORR_LIKELY(!world->realtime) ? world->tick : orri_clock_here(world)[0];
}
// Epochs go by two. What is written to a block that is still held, its rows logged (row_log.h), gets the number before the epoch: later than all that was
// written before the epoch began, and no right to write more.
#define ORRI_EPOCH_STEP 2
// A new epoch begins: what is written from now on has a larger version. Returns the last one of before.
static inline uint64_t orri_epoch_end(orr_world* world)
{
    uint64_t epoch = world->epoch;
    world->epoch = epoch + ORRI_EPOCH_STEP;
    return epoch;
}
// The same; returns the least version that is written from now on.
static inline uint64_t orri_epoch_next(orr_world* world)
{
    return orri_epoch_end(world) + 1;
}
// The version that a write gives to a block.
static inline uint64_t orri_version_now(const orr_world* world, const orri_column* column)
{
    return orri_epoch(world) - (column->share != NULL);
}
// What is written from now on has a larger version. In real time, within a system, nobody may begin an epoch: what was written since its
// group began counts as later too.
static inline uint64_t orri_version_mark(orr_world* world)
{
    return ORR_LIKELY(!world->realtime) ? orri_epoch_end(world) : orri_clock_here(world)[1] - 1;
}

// ---- refusals (refuse.c) --------------------------------------------------------------------------------

// "7v1" in a buffer that lives as long as the expression's block.
typedef struct orri_id_text {
    char text[128];
} orri_id_text;
orri_id_text orri_id_format(orr_entity entity);
// The same with its name, if it is alive and has one, cut when it is long: "bob (7v1)". For messages.
orri_id_text orri_entity_format(const orr_world* world, orr_entity entity);
const char* orri_type_label(const orr_world* world, orr_type type);
// As orr_entity_enabled() and orr_component_enabled(), for the library itself.
bool orri_entity_enabled(const orr_world* world, orr_entity entity);
bool orri_component_enabled(const orr_world* world, orr_entity entity, orr_type type);

// These report and return the result. `call` is the public function's name.
ORRI_COLD orr_result orri_refuse_entity(const orr_world* world, const char* call, orr_entity entity,
                                        orr_type type);
ORRI_COLD orr_result orri_refuse_type(const orr_world* world, const char* call, orr_type type);
ORRI_COLD orr_result orri_refuse_cluster(const orr_world* world, const char* call,
                                         orr_cluster cluster);
ORRI_COLD orr_result orri_refuse_argument(const orr_world* world, const char* call,
                                          const char* what);
ORRI_COLD orr_result orri_refuse_hook(const orr_world* world, const char* call,
                                      const orri_type* type);
// A type with indexed references is not written in place.
ORRI_COLD orr_result orri_refuse_in_place(const orr_world* world, const char* call,
                                          const orri_type* type);
// A cluster could not grow: for want of memory, or because the world has all the chunks it may have.
ORRI_COLD orr_result orri_refuse_room(const orr_world* world, const char* call);
// ORR_OK unless an appender or an iteration is open.
orr_result orri_check_open(const orr_world* world, const char* call);
// True for who was called as error handler. Others, on other threads, do not mind that one runs: calls from outside may be refused anywhere.
static inline bool orri_in_error_handler(const orr_world* world)
{
    return world->errors.in_handler != 0 && orri_refusing_here(&world->env);
}
// True when nothing keeps rows from moving: the quick form of the above. In real time it depends on who asks.
static inline bool orri_world_open(const orr_world* world)
{
    return world->append.open == NULL &&
           (world->loops.iterating | world->loops.cached | world->errors.in_handler) == 0 &&
           !world->realtime;
}
// A tick begins, and the world counts it. (world.c)
void orri_tick_advance(orr_world* world);
// A tick that the world does not count begins: as orri_tick_advance(), but for the world's tick and what waits for it. (world.c)
void orri_tick_advance_uncounted(orr_world* world);
// Before versions or ticks of blocks are looked at.
static inline void orri_world_settle(const orr_world* world)
{
    if (ORR_UNLIKELY(world->loops.unstamped != 0)) {
        world->listener.settle((orr_world*)(uintptr_t)world);
    }
}
// The same, and nobody is told of deaths: one row may go at once.
static inline bool orri_world_quiet(const orr_world* world)
{
    return world->append.open == NULL &&
           (world->loops.iterating | world->loops.cached | world->errors.in_handler |
            world->relations.count) == 0 &&
           !world->realtime;
}
// True when destroying an entity may mean more: others refer to it by indexed fields.
static inline bool orri_world_related(const orr_world* world)
{
    return world->relations.count != 0;
}
// True for types whose values may not be written in place.
static inline bool orri_type_written_by_set(const orri_type* type)
{
    return type->indexed_count != 0 || strcmp(type->info.name, "orr_name") == 0;
}
// The world as the env's owner; const is cast away for reporting only, which is not state.
static inline orri_env* orri_env_of(const orr_world* world)
{
    return (orri_env*)(uintptr_t)&world->env;
}

// ---- pseudo_types.c: types that stand for switches and tags ----------------------------------------------------

// True for orr_enabled and orr_tags: every entity counts as having them, none stores them.
bool orri_type_pseudo(const orri_type* type);
ORRI_COLD orr_result orri_refuse_pseudo(const orr_world* world, const char* call,
                                        const orri_type* type);
// The desc of a component type that the library brings along (orr_name too); NULL: no such name.
const orr_type_desc* orri_builtin_desc(const char* name);

// ---- block.c ----------------------------------------------------------------------------------------------

void orri_source_init(orri_source* source, size_t block_size, uint32_t stagger);
// Extents that still have blocks in use live on without it.
void orri_source_term(orri_source* source, orri_env* env);
// A block, all of it poisoned; NULL when refused. `wanted` more are expected right after.
void* orri_block_take(orri_source* source, orri_env* env, uint32_t wanted, orri_extent** out);
// A block of any size (a multiple of 64 bytes) without a source: an extent of its own.
void* orri_block_take_alone(orri_env* env, size_t bytes, orri_extent** out);
void orri_block_give(orri_extent* extent, orri_env* env, void* block);

// ---- entity_index.c ----------------------------------------------------------------------------------------------

orr_result orri_index_init(orr_world* world);
void orri_index_term(orr_world* world);
// The list of pages, with room for so many before the first and from it on; no fewer than there are. False when refused (silent).
bool orri_index_pages(orr_world* world, uint32_t before, uint32_t after);
// Makes sure that the next `count` ids can be given without fail.
orr_result orri_index_reserve(orr_world* world, const char* call, uint32_t count);
// Gives back pages that no id has reached: what a refused reserve, or a reserve that led to nothing, had made.
void orri_index_trim(orr_world* world);
// Pages for so many records. False when refused (silent); pages too many go with orri_index_trim().
bool orri_index_room(orr_world* world, uint32_t count);
// True for the id of an entity that is about to be created; world->change.reserved_ids is not NULL (id_reserve.c).
bool orri_reserved_ids_has(const orr_world* world, orr_entity entity);
// How many records of a page were given. One may have been made for ids that were then not.
static inline uint32_t orri_page_rows(const orr_world* world, uint32_t page)
{
    uint32_t first = page * ORRI_PAGE_SIZE;
    uint32_t left = world->hot.count > first ? world->hot.count - first : 0;
    return left < ORRI_PAGE_SIZE ? left : ORRI_PAGE_SIZE;
}
// Makes sure that the record of an index, and no other, can be written without fail.
bool orri_index_prepare(orr_world* world, uint32_t index);
bool orri_index_prepare_all(orr_world* world);
ORRI_COLD void orri_page_stamp(orr_world* world, uint32_t index);
// True when the record can be written at once: it was stamped in this epoch, so nobody holds its page.
static inline bool orri_index_fresh(const orr_world* world, uint32_t index)
{
    return world->index.metas[index >> ORRI_PAGE_BITS].version == world->epoch;
}
static inline orri_record* orri_index_write(orr_world* world, uint32_t index)
{
    uint32_t page = index >> ORRI_PAGE_BITS;
    if (ORR_UNLIKELY(world->index.metas[page].version != world->epoch)) {
        orri_page_stamp(world, index);
    }
    return &world->hot.pages[page][index & ORRI_PAGE_MASK];
}
// True when the next id can be given at once: its page is there and was stamped in this epoch.
static inline bool orri_index_ready(const orr_world* world)
{
    uint32_t next = world->index.free_first;
    if (next == ORRI_INDEX_NONE) {
        next = world->hot.count;
        if (next >= world->limits.entities || next >> ORRI_PAGE_BITS >= world->index.page_count) {
            return false;
        }
    }
    return orri_index_fresh(world, next);
}
static inline orr_entity orri_index_give_one(orr_world* world, uint32_t place)
{
    orri_index* index = &world->index;
    uint32_t number = index->free_first;
    orri_record* record;
    if (number != ORRI_INDEX_NONE) {
        record = orri_index_write(world, number);
        index->free_first = record->place;
        index->free_count--;
        record->generation &= ~ORRI_DEAD;
    } else {
        number = world->hot.count++;
        record = orri_index_write(world, number);
        record->generation = world->salt | 1;
    }
    record->place = place;
    index->live_count++;
    return orri_id_make(number, record->generation);
}
// Gives `count` ids to rows of one chunk from `slot` on; writes records, row ids and, if not NULL, `out`.
void orri_index_give(orr_world* world, orri_chunk* chunk, uint32_t slot, uint32_t count,
                     orr_entity* out);
// The opposite of the last give, for ids nobody has seen: the free list is as before.
void orri_index_undo(orr_world* world, const orri_chunk* chunk, uint32_t slot, uint32_t count,
                     uint32_t fresh_count);
ORRI_COLD void orri_index_retire(orri_record* record);
// Removes the pinned values of entities that are about to die (pool.c). They are still alive and in their rows.
ORRI_COLD void orri_pinned_drop(orr_world* world, const uint32_t* indexes, uint32_t count);
// Kills one entity; its record may be written, and its row is still there.
static inline void orri_index_kill_one(orr_world* world, uint32_t index, orri_record* record)
{
    if (ORR_UNLIKELY(world->pinned.live != 0)) {
        orri_pinned_drop(world, &index, 1);
    }
    uint32_t generation = record->generation | ORRI_DEAD;
    world->index.live_count--;
    if (ORR_UNLIKELY((generation & ORRI_GENERATION_MASK) == ORRI_GENERATION_MAX)) {
        orri_index_retire(record);
        return;
    }
    *record = (orri_record){generation + 1, world->index.free_first};
    world->index.free_first = index;
    world->index.free_count++;
}
// Kills the entities of some indexes, in order; their records must be prepared, and their rows are still there.
void orri_index_kill(orr_world* world, const uint32_t* indexes, uint32_t count);

// ---- chunk.c ----------------------------------------------------------------------------------------------

// Makes sure that all columns of a chunk can be written without fail; the same for some rows of all columns, and nothing else.
bool orri_chunk_prepare(orr_world* world, orri_chunk* chunk);
bool orri_chunk_prepare_rows(orr_world* world, orri_chunk* chunk, uint32_t slot, uint32_t count);
bool orri_column_prepare(orr_world* world, orri_chunk* chunk, uint32_t column);
ORRI_COLD void orri_chunk_stamp_all(orr_world* world, orri_chunk* chunk);
ORRI_COLD void orri_chunk_stamp_columns(orr_world* world, orri_chunk* chunk);
void orri_column_stamp_one(orr_world* world, orri_chunk* chunk, uint32_t column);
// Stamps all columns with tick and epoch. The chunk must be prepared.
static inline void orri_chunk_stamp(orr_world* world, orri_chunk* chunk)
{
    if (ORR_UNLIKELY(chunk->stamp != world->epoch)) {
        orri_chunk_stamp_all(world, chunk);
    }
}
// Makes sure that some rows of a column can be written without fail: a holder may get their bytes alone (row_log.h). Nothing else may be written then.
bool orri_rows_prepare(orr_world* world, orri_chunk* chunk, uint32_t column, uint32_t slot,
                       uint32_t count);
// A column that is prepared, or the rows of it that will be written are: stamped.
static inline uint8_t* orri_column_mark(orr_world* world, orri_chunk* chunk, uint32_t column)
{
    if (ORR_UNLIKELY(chunk->columns[column].version != orri_epoch(world))) {
        orri_column_stamp_one(world, chunk, column);
    }
    return chunk->columns[column].data;
}
// As orri_column_write(), below, for some rows and no others: the data of the column.
static inline uint8_t* orri_rows_write(orr_world* world, orri_chunk* chunk, uint32_t column,
                                       uint32_t slot, uint32_t count)
{
    if (ORR_UNLIKELY(chunk->columns[column].version != orri_epoch(world))) {
        if (!orri_rows_prepare(world, chunk, column, slot, count)) {
            return NULL;
        }
        orri_column_stamp_one(world, chunk, column);
    }
    return chunk->columns[column].data;
}
// Stamps all columns of a chunk of which some rows are prepared.
static inline void orri_chunk_stamp_rows(orr_world* world, orri_chunk* chunk)
{
    if (ORR_UNLIKELY(chunk->stamp != world->epoch)) {
        orri_chunk_stamp_columns(world, chunk);
    }
}
// A column to write, prepared and stamped; NULL when a copy was refused (reported).
static inline uint8_t* orri_column_write(orr_world* world, orri_chunk* chunk, uint32_t column)
{
    if (ORR_UNLIKELY(chunk->columns[column].version != orri_epoch(world))) {
        if (!orri_column_prepare(world, chunk, column)) {
            return NULL;
        }
        orri_column_stamp_one(world, chunk, column);
    }
    return chunk->columns[column].data;
}
// Makes room for `count` more rows: grows the first chunk, adds chunks. All or nothing.
bool orri_cluster_reserve(orr_world* world, orri_cluster* cluster, uint32_t count);
// Frees chunks without rows and poisons what holds no row.
ORRI_COLD void orri_cluster_trim(orr_world* world, orri_cluster* cluster);
// Frees all chunks; rows must be gone or belong to shares.
void orri_cluster_free_chunks(orr_world* world, orri_cluster* cluster);
// Makes enable bits for a column (type_count: of the entities) in every chunk, all on.
bool orri_cluster_add_bits(orr_world* world, orri_cluster* cluster, uint32_t column);
// Enters or leaves a chunk's columns in the type tables; room must be reserved. After a block was replaced: refresh.
void orri_chunk_enter(orri_chunk* chunk);
// The same for one column; looks at nothing of the others, which may be written meanwhile.
void orri_chunk_refresh_column(orri_chunk* chunk, uint32_t column);
void orri_chunk_leave(const orri_chunk* chunk);
void orri_chunk_refresh(orri_chunk* chunk);
// A row changes its place within a cluster: values, row id, bits, record. `to` is raw before, `from` after.
void orri_row_relocate(orr_world* world, orri_chunk* to, uint32_t to_slot, orri_chunk* from,
                       uint32_t from_slot);
// Unpoisons `count` rows before they are made; poisons them after they are gone. Nothing without ASan.
#ifdef ORRI_ASAN
void orri_rows_open(orri_chunk* chunk, uint32_t slot, uint32_t count);
void orri_rows_close(orri_chunk* chunk, uint32_t slot, uint32_t count);
#else
static inline void orri_rows_open(orri_chunk* chunk, uint32_t slot, uint32_t count)
{
    (void)chunk, (void)slot, (void)count;
}
static inline void orri_rows_close(orri_chunk* chunk, uint32_t slot, uint32_t count)
{
    (void)chunk, (void)slot, (void)count;
}
#endif
extern uint8_t orri_marker_byte[ORRI_BLOCK_ALIGN];
extern orri_table orri_table_none;
// Bytes of a block of a level (ORRI_LEVELS: a full one) for values of a size.
size_t orri_block_bytes(uint32_t size, uint32_t level);
uint8_t orri_chunk_level_first(size_t row_bytes);
// Bytes of the enable bits of a column.
static inline size_t orri_bits_bytes(const orri_cluster_column* column)
{
    return (size_t)ORRI_BITS_BYTES << column->shift;
}
// A block for a chunk's column; NULL when refused.
void* orri_chunk_block(orr_world* world, const orri_chunk* chunk, uint32_t column, uint32_t wanted,
                       orri_extent** out);
// For relinking (chunk_transfer.c): headers without blocks or id, pages of the tables, single blocks.
orri_chunk* orri_chunk_alloc(orr_world* world, orri_cluster* cluster);
void orri_chunk_free(orr_world* world, orri_chunk* chunk);
bool orri_chunk_reserve_tables(orr_world* world, const orri_cluster* cluster, uint32_t chunk_id);
bool orri_column_take(orr_world* world, orri_chunk* chunk, uint32_t column, uint32_t wanted);
void orri_column_give(orr_world* world, orri_chunk* chunk, uint32_t column);

// For going back: a chunk goes with its values, but for those somebody holds; one that nobody has seen goes with its blocks.
void orri_chunk_drop(orr_world* world, orri_chunk* chunk);
void orri_chunk_give(orr_world* world, orri_chunk* chunk);

// ---- cluster.c --------------------------------------------------------------------------------------------

// NULL for a stale or null handle.
static inline orri_cluster* orri_cluster_at(const orr_world* world, orr_cluster handle)
{
    uint32_t index = handle.id - 1;
    if (ORR_UNLIKELY(index >= world->clusters.slot_count)) {
        return NULL;
    }
    const orri_cluster_slot* slot = &world->clusters.slots[index];
    return ORR_LIKELY(slot->generation == handle.generation) ? slot->cluster : NULL;
}
static inline orr_cluster orri_cluster_handle(const orri_cluster* cluster)
{
    return (orr_cluster){cluster->index + 1, cluster->generation};
}
// Types ascending, tags ascending, no doubles, all valid.
orri_cluster* orri_cluster_lookup(const orr_world* world, const orr_type* types,
                                  uint32_t type_count, const orr_tag* tags, uint32_t tag_count);
// The cluster of transient entities, which queries are told of and nobody else; NULL when refused (reported). (transient.h)
orri_cluster* orri_cluster_make_transient(orr_world* world);
void orri_cluster_free_transient(orr_world* world, orri_cluster* cluster);
// Looks up or creates. `*created` tells. NULL when refused (reported). Rows have room for one instance of each type.
orri_cluster* orri_cluster_obtain(orr_world* world, const char* call, const orr_type* types,
                                  uint32_t type_count, const orr_tag* tags, uint32_t tag_count,
                                  bool* created);
// The same with capacities: of each type (NULL: 1), or as in another cluster that has the type.
orri_cluster* orri_cluster_lookup_sized(const orr_world* world, const orr_type* types,
                                        const uint16_t* capacities, uint32_t type_count,
                                        const orr_tag* tags, uint32_t tag_count);
orri_cluster* orri_cluster_obtain_sized(orr_world* world, const char* call, const orr_type* types,
                                        const uint16_t* capacities, uint32_t type_count,
                                        const orr_tag* tags, uint32_t tag_count, bool* created);
orri_cluster* orri_cluster_obtain_like(orr_world* world, const char* call, const orri_cluster* like,
                                       const orr_type* types, uint32_t type_count,
                                       const orr_tag* tags, uint32_t tag_count, bool* created);
// Undoes the last creation: as if it had never been.
void orri_cluster_undo(orr_world* world, orri_cluster* cluster);
// The empty cluster, created if missing.
orri_cluster* orri_cluster_obtain_empty(orr_world* world, const char* call, bool* created);
// The same, though it be one more than clusters_max: where entities are that a change set had no cluster for.
orri_cluster* orri_cluster_fallback(orr_world* world, const char* call, bool* created);
// True when a set has no cluster, and clusters_max allows for none more.
bool orri_cluster_over_limit(const orr_world* world, const orr_type* types,
                             const uint16_t* capacities, uint32_t type_count, const orr_tag* tags,
                             uint32_t tag_count);
// Of some types, at least one, the table of that which the fewest clusters have: what has all of them is in there.
const orri_table* orri_table_rarest(const orr_world* world, const orr_type* types, uint32_t count);
// -1 if the cluster lacks the type.
int32_t orri_cluster_find_column(const orri_cluster* cluster, orr_type type);
// The column whose enable bits are those of the entities.
static inline uint32_t orri_cluster_entity_column(const orri_cluster* cluster)
{
    return cluster->type_count;
}
bool orri_cluster_has_tag(const orri_cluster* cluster, orr_tag tag);
orr_result orri_check_storable(const orr_world* world, const char* call, orr_type type);
// Destroys all rows of a cluster. False when index pages are held and memory is refused (nothing is done).
bool orri_cluster_kill_rows(orr_world* world, orri_cluster* cluster);
void orri_clusters_term(orr_world* world);
// Kills the rows and the cluster. All records must be prepared.
void orri_cluster_destroy(orr_world* world, orri_cluster* cluster);

// For going back: a cluster that is in no list yet, with room for itself and so many others in those of its types (NULL when refused, silent), or not
// after all; it gets into the tables under number, generation and sequence that it was given, but into the order by who calls; one without rows goes,
// and who calls says what becomes of its number.
orri_cluster* orri_cluster_revive(orr_world* world, const orr_type* types,
                                  const uint16_t* capacities, uint32_t type_count,
                                  const orr_tag* tags, uint32_t tag_count, uint32_t others);
void orri_cluster_abandon(orr_world* world, orri_cluster* cluster);
void orri_cluster_admit(orr_world* world, orri_cluster* cluster);
void orri_cluster_expel(orr_world* world, orri_cluster* cluster);

// ---- transition.c -----------------------------------------------------------------------------------------------

enum {
    ORRI_EDGE_ADD = 0,
    ORRI_EDGE_REMOVE = 1
};
// The transition from a cluster to the one with a type more or less. `*created` (may be NULL) tells whether the target
// is new. NULL when refused (reported).
orri_transition* orri_transition_edge_find(orr_world* world, const char* call, orri_cluster* from,
                                           orr_type type, int direction, bool* created);
static inline orri_transition* orri_transition_edge(orr_world* world, const char* call,
                                                    orri_cluster* from, orr_type type,
                                                    int direction, bool* created)
{
    uint64_t edge = (uint64_t)type.id << 1 | (unsigned)direction;
    *created = false;
    if (ORR_LIKELY(from->edge_last != NULL && from->edge_last->edge == edge)) {
        return from->edge_last;
    }
    return orri_transition_edge_find(world, call, from, type, direction, created);
}
orri_transition* orri_transition_pair_get(orr_world* world, orri_cluster* from, orri_cluster* to);
// The transition to the cluster that differs in the capacity of one multiple type only. As orri_transition_edge().
orri_transition* orri_transition_resize(orr_world* world, const char* call, orri_cluster* from,
                                        uint32_t column, uint16_t capacity, bool* created);
// Forgets all transitions of a cluster.
void orri_transitions_drop(orr_world* world, orri_cluster* cluster);

// ---- entity.c --------------------------------------------------------------------------------------------

// Creates rows at the end of a cluster. All or nothing.
orr_result orri_rows_create(orr_world* world, const char* call, orri_cluster* cluster,
                            uint32_t count, const orr_column_data* data, uint32_t data_count,
                            orr_entity* out);

// Copies values into raw rows of a column, across chunks. On a hook's refusal nothing is made.
bool orri_column_copy(orri_cluster* cluster, uint32_t column, uint32_t first, uint32_t count,
                      const void* values);

// ---- tag.c -----------------------------------------------------------------------------------------------

void orri_tags_term(orr_world* world);
// Names of tags for a snapshot: a list of its own (false when refused, silent: nothing is made), and the world's list replaced by one, which is empty
// afterwards.
typedef struct orri_tag_list {
    orri_tag_entry* entries;
    uint32_t count, capacity;
} orri_tag_list;
bool orri_tags_copy(orr_world* world, const orri_tag_entry* entries, uint32_t count,
                    orri_tag_list* out);
void orri_tags_drop(orr_world* world, orri_tag_list* list);
void orri_tags_put(orr_world* world, orri_tag_list* list, uint64_t state);

// What every move of rows is checked for: no appender open, both clusters there.
orr_result orri_check_move(const orr_world* world, const char* call, orr_cluster from,
                           orr_cluster to, orri_cluster** out_from, orri_cluster** out_to);

// ---- row.c: one row leaves a cluster ------------------------------------------------------------------

// Moves one row. `value` (may be NULL) initialises the column of `value_type` in the target instead of its preset.
orr_result orri_move_one(orr_world* world, const char* call, const orri_transition* transition,
                         uint32_t index, const orri_type* value_type, const void* value);
// Removes one row whose values are gone (moved out or destructed): the last row fills the gap. Its chunk, the
// last chunk and the last row's record must be prepared.
void orri_row_remove(orr_world* world, orri_chunk* chunk, uint32_t slot);
// Makes sure that one row can be removed without fail.
bool orri_row_prepare_remove(orr_world* world, orri_chunk* chunk, uint32_t index);
// The short way of both, for a direct cluster whose chunks and records were stamped in this epoch: then nothing can be
// refused and nothing needs a stamp.
static inline bool orri_row_stamped(const orr_world* world, const orri_chunk* chunk,
                                    const orri_chunk* last, uint32_t last_row, uint32_t index)
{
    return chunk->stamp == world->epoch && last->stamp == world->epoch &&
           orri_index_fresh(world, index) &&
           orri_index_fresh(world, last->ids[last_row & ORRI_SLOT_MASK]);
}
// The last row fills the gap. The row's own values are gone or copied.
static inline void orri_row_close_gap(orr_world* world, orri_cluster* cluster, orri_chunk* chunk,
                                      uint32_t place, orri_chunk* last, uint32_t last_row)
{
    uint32_t slot = orri_place_slot(place), last_slot = last_row & ORRI_SLOT_MASK;
    if (last != chunk || last_slot != slot) {
        const uint32_t* sizes = cluster->sizes;
        for (uint32_t c = 0; c < cluster->column_count; c++) {
            orri_value_move(chunk->columns[c].data + (size_t)slot * sizes[c],
                            last->columns[c].data + (size_t)last_slot * sizes[c], sizes[c]);
        }
        orri_record_at(world, orri_chunk_ids(chunk)[slot])->place = place;
    }
    cluster->row_count = last_row;
    orri_rows_close(last, last_slot, 1);
    if (ORR_UNLIKELY(last_slot == 0)) {
        orri_cluster_trim(world, cluster);
    }
}
// Makes sure that the target of a transition has the enable bits that its source has.
bool orri_transition_prepare_bits(orr_world* world, const orri_transition* transition);
// Sets the enable bits of new rows in the target: as in the source for kept columns, else on.
void orri_transition_move_bits(const orri_transition* transition, orri_chunk* to, uint32_t to_slot,
                               orri_chunk* from, uint32_t from_slot, uint32_t count);
// Values of rows are made in raw memory, across chunks: row first … first + count - 1 of a column. On a
// hook's refusal nothing is made.
bool orri_column_construct(orri_cluster* cluster, uint32_t column, uint32_t first, uint32_t count);
void orri_column_destruct(orri_cluster* cluster, uint32_t column, uint32_t first, uint32_t count);

// ---- component.c: values of entities that have the type already --------------------------------------------

// Values to be set later without fail. `places` (may be NULL: all) has 0 where the entity takes part.
typedef struct orri_staged {
    const orri_type* type;
    const orr_entity* entities;
    const uint32_t* places;
    uint32_t count;
    const uint8_t* values;
    uint8_t* copies; // Of values that are not plain; NULL otherwise.
    uint32_t copy_count, copy_capacity;
} orri_staged;

orr_result orri_stage_values(orr_world* world, const char* call, const orri_type* type,
                             const orr_entity* entities, const uint32_t* places, uint32_t count,
                             const void* values, orri_staged* out);
// Sets the values, or throws the copies away.
void orri_stage_end(orr_world* world, orri_staged* staged, bool set);
// Refuses values with references to entities that are not alive, unless the entity's own value (of `entities`, may be
// NULL) refers to them already; and values with owned handles that are gone.
orr_result orri_check_references(const orr_world* world, const char* call, const orri_type* type,
                                 const orr_entity* entities, const void* values, uint32_t count);
// The same for one value that replaces `old` (may be NULL).
orr_result orri_check_value(const orr_world* world, const char* call, const orri_type* type,
                            const void* old, const void* value);

// ---- cell.c: what a row has of a type ------------------------------------------------------------------

// Cells of a column from some row on. A cell is a value or, of a multiple type, 1 to `capacity` instances; bytes
// past the last one are zero.
typedef struct orri_cells {
    const orri_type* type;
    uint8_t* data;
    const uint16_t* counts; // NULL: a unique type.
    uint32_t size;          // Bytes of a cell.
} orri_cells;

static inline orri_cells orri_cells_at(const orri_chunk* chunk, uint32_t column, uint32_t slot)
{
    const orri_cluster_column* entry = &chunk->cluster->columns[column];
    const uint16_t* counts =
        entry->counts != 0 ? (const uint16_t*)(const void*)chunk->columns[entry->counts].data + slot
                           : NULL;
    return (orri_cells){entry->type, chunk->columns[column].data + (size_t)slot * entry->size,
                        counts, entry->size};
}
// Destructs the values of some rows.
void orri_cells_destruct(orri_cells cells, uint32_t rows);
// Moves values to raw cells of the same or another size that has room; `from` is raw afterwards.
void orri_cells_move(orri_cells to, orri_cells from, uint32_t rows);
// Copies values to raw cells of the same size. On a hook's refusal nothing is made.
bool orri_cells_copy(orri_cells to, orri_cells from, uint32_t rows);
// Makes one value in each raw cell: of `values`, one after another, or (NULL) the preset. Of a multiple type counts and
// ids are made too. On a hook's refusal nothing is made.
bool orri_cells_make(orri_chunk* chunk, uint32_t column, uint32_t slot, uint32_t rows,
                     const void* values);
// Copies all instances of a cell with new ids, counts included.
bool orri_cell_duplicate(orri_chunk* to, uint32_t to_slot, const orri_chunk* from,
                         uint32_t from_slot, uint32_t column);
// Moves the cells of a transition's resized types, with counts and ids; orri_cells_fit() was true.
void orri_cells_resize(const orri_transition* transition, orri_chunk* to, uint32_t to_slot,
                       orri_chunk* from, uint32_t from_slot, uint32_t rows);
// ORR_ERR_CAPACITY (reported) when a row of first … first + count - 1 has more instances than the target has room for.
orr_result orri_cells_fit(const orr_world* world, const char* call,
                          const orri_transition* transition, uint32_t first, uint32_t count);
uint64_t orri_cells_hash(orri_cells cells, uint32_t rows, uint64_t seed);
// Ids with this bit name instances that were sent and are not there yet.
#define ORRI_PROVISIONAL 0x80000000u
// The next instance id: never 0 nor provisional, and none of `ids`.
uint32_t orri_instance_number(uint32_t* last, const uint32_t* ids, uint32_t count);
// Makes a value of a multiple type in raw memory: a copy, or (NULL) the preset. False when a hook refuses (not reported).
bool orri_instance_make(const orri_type* type, void* to, const void* value);
// Moves such a value into a row that was just made or moved and has room for it, after those there are.
void orri_instance_put(orr_world* world, uint32_t index, orr_type type, void* made);
// For calls that cannot take a multiple type: which ones can.
ORRI_COLD orr_result orri_refuse_multiple(const orr_world* world, const char* call, orr_type type);

// For change sets. The instances of a type that a live entity has; 0 if it has none. Everything else must be prepared.
uint32_t orri_instances_of(const orr_world* world, uint32_t index, orr_type type,
                           const uint32_t** ids);
bool orri_instances_prepare(orr_world* world, uint32_t index, orr_type type);
// Removes one; none may be left, if a move follows that brings others.
void orri_instance_take(orr_world* world, uint32_t index, orr_type type, uint32_t id);
// Moves a value in the place of another.
void orri_instance_replace(orr_world* world, uint32_t index, orr_type type, uint32_t id,
                           void* made);
// True when a row with room for `capacity` instances may get twice as much.
bool orri_instance_room_left(const orri_type* type, uint32_t capacity);

// ---- batch.c: many rows leave clusters ------------------------------------------------------------------

// For change sets: values of a run of rows move along a transition, or end; a hole is filled with the last row of the tail; the
// tail is cut off.
void orri_batch_keep(const orri_transition* transition, orri_chunk* target, uint32_t target_slot,
                     orri_chunk* chunk, uint32_t slot, uint32_t run);
void orri_batch_drop(const orri_transition* transition, orri_chunk* chunk, uint32_t slot,
                     uint32_t run);
void orri_batch_fill_hole(orr_world* world, orri_chunk* chunk, uint32_t slot);
void orri_batch_cut(orr_world* world, orri_cluster* cluster);

// Destroys all or none, and asks nobody what else must go (relation.h does). `before` is called when nothing can be
// refused any more and nothing has been done.
orr_result orri_destroy_batch(orr_world* world, const char* call, const orr_entity* entities,
                              uint32_t count, void (*before)(void* user), void* user);
// Moves rows first … first + count - 1 along a transition. All or nothing.
orr_result orri_rows_move_range(orr_world* world, const char* call, orri_transition* transition,
                                uint32_t first, uint32_t count);

// ---- chunk_transfer.c: whole chunks change cluster ------------------------------------------------------------------

// True when all rows of a transition's source can be handed over at once: the target is empty.
static inline bool orri_transition_moves_chunks(const orri_transition* transition)
{
    return transition->to->row_count == 0 && transition->resized_count == 0;
}
// Hands all rows of the transitions' sources over. Sources and targets are all different, targets empty. All or nothing.
orr_result orri_chunk_transfer_many(orr_world* world, orri_transition* const* transitions,
                                    uint32_t count);

#endif
