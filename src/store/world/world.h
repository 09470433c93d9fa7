// SPDX-License-Identifier: MIT
// Internal functions of the store, for its own files and for the modules that build on it, grouped
// by the file that defines them. Short functions on hot paths are inline. world_struct.h defines
// the data; access.h checks what a running system may access.
//
// Conventions:
//   reported      the function set the error text and called the error handler; silent: it did not
//   prepare       does what may fail before rows or records are written: copies shared blocks
//   reserve       allocates room, so that a following change cannot fail
//   All or nothing: on refusal the world is as before
#ifndef ORRI_STORE_WORLD_WORLD_H
#define ORRI_STORE_WORLD_WORLD_H

#include "store/world/world_struct.h"

// ---- ids ----------------------------------------------------------------------------------------

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

// Position of a type in the world's schema. A null type or a type of another world gives a number
// beyond all.
static inline uint32_t orri_type_index(const orr_world* world, orr_type type)
{
    return type.id - world->hot.type_base;
}

static inline orri_record* orri_record_at(const orr_world* world, uint32_t index)
{
    // Signed shift: pages of transient entities precede the first page (transient.h).
    return &world->hot.pages[(int32_t)index >> ORRI_PAGE_BITS][index & ORRI_PAGE_MASK];
}

// The record of a live entity; NULL for any other id.
static inline orri_record* orri_record_find(const orr_world* world, orr_entity entity)
{
    // One comparison refuses indexes that were never given out, and made-up ids with the dead bit,
    // which would equal the record of a dead entity.
    uint64_t index = entity.id & ORR_HOT_ID_MASK;
    if (ORR_UNLIKELY(index >= world->hot.count)) {
        return NULL;
    }
    orri_record* record = &world->hot.pages[index >> ORRI_PAGE_BITS][index & ORRI_PAGE_MASK];
    return ORR_LIKELY(record->generation == orri_id_generation(entity)) ? record : NULL;
}

// A place packs chunk id and slot.
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

// ---- chunks: small helpers used everywhere ------------------------------------------------------

// Chunks with rows.
static inline uint32_t orri_chunks_live(const orr_world* world)
{
    return world->chunks.count - 1 - world->chunks.free_count - world->chunks.parked_count;
}

// Rows in use in a chunk.
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

// The column of the enable bits that belong to a column.
static inline orri_column* orri_chunk_bits(orri_chunk* chunk, uint32_t column)
{
    return &chunk->columns[chunk->column_count / 2 + column];
}

// The chunk that holds a row of a cluster.
static inline orri_chunk* orri_cluster_chunk_of(const orri_cluster* cluster, uint32_t row)
{
    return ORR_LIKELY(row < ORR_CHUNK_CAPACITY) ? cluster->chunk_first
                                                : cluster->chunks[row >> ORRI_SLOT_BITS];
}

// Slow path of orri_table_column(), for chunks that the type table does not cover.
ORRI_COLD int32_t orri_table_column_slow(const orr_world* world, uint32_t type_index,
                                         uint32_t chunk_id);
// The column of a type in a chunk; -1: the chunk's cluster lacks the type.
static inline int32_t orri_table_column(const orr_world* world, uint32_t type_index,
                                        uint32_t chunk_id)
{
    if (ORR_UNLIKELY(type_index >= world->tables.capacity)) {
        return -1;
    }
    const orri_table* table = (const orri_table*)(const void*)world->tables.list[type_index];
    return ORR_LIKELY(chunk_id < table->hot.capacity)
               ? (int32_t)table->column[chunk_id] - 1
               : orri_table_column_slow(world, type_index, chunk_id);
}

// Copies a plain value. The common sizes become single instructions instead of a call of memcpy.
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

// True for the sizes of values that orri_value_move_short() takes.
#define ORRI_SIZE_SHORT_MAX 64u
static inline bool orri_size_short(uint32_t size)
{
    return size <= ORRI_SIZE_SHORT_MAX && size % 4 == 0;
}

// A value of a short size that is zero.
extern const uint8_t orri_zeros[ORRI_SIZE_SHORT_MAX];

// Copies a plain value of a short size, from one position of an array to one of another. Makes no
// call, so that loops over columns keep everything in registers.
static inline void orri_value_move_short(void* to, uint32_t to_slot, const void* from,
                                         uint32_t from_slot, uint32_t size)
{
    if (ORR_LIKELY(size == 8)) {
        memcpy((uint64_t*)to + to_slot, (const uint64_t*)from + from_slot, 8);
        return;
    }
    uint8_t* target = (uint8_t*)to + (size_t)to_slot * size;
    const uint8_t* source = (const uint8_t*)from + (size_t)from_slot * size;
    for (; size >= 8; size -= 8, target += 8, source += 8) {
        memcpy(target, source, 8);
        __asm__ volatile("" ::: "memory"); // The compiler would make a call of the loop.
    }
    if (size != 0) {
        memcpy(target, source, 4);
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

// Writes the preset (initial value) of a plain type.
static inline void orri_value_preset(const orri_type* type, void* to, uint32_t size)
{
    if (ORR_LIKELY(type->zero_preset)) {
        orri_value_zero(to, size);
    } else {
        memcpy(to, type->preset, size);
    }
}

// ---- the clock (access.c) -----------------------------------------------------------------------

// Real time: {tick, epoch} for writes of this thread. Inside a system both are those of the moment
// its group began.
const uint64_t* orri_clock_here(const orr_world* world);
// Epoch and tick for writes of values, which systems may do concurrently. Changes of structure
// never run beside systems on the same clusters; they use world->epoch and world->tick.
static inline uint64_t orri_epoch(const orr_world* world)
{
    return ORR_LIKELY(!world->realtime) ? world->epoch : orri_clock_here(world)[1];
}
static inline uint64_t orri_tick_now(const orr_world* world)
{
    return ORR_LIKELY(!world->realtime) ? world->tick : orri_clock_here(world)[0];
}
// Epochs advance by two. A write to a block that stays shared, because its old rows were logged
// (row_log.h), stamps the block with epoch - 1: newer than every write before this epoch, but not
// equal to the epoch, so the next write checks the share again (invariant S8).
#define ORRI_EPOCH_STEP 2
// Starts a new epoch: later writes get a larger version. Returns the last version of the epoch
// before.
static inline uint64_t orri_epoch_end(orr_world* world)
{
    uint64_t epoch = world->epoch;
    world->epoch = epoch + ORRI_EPOCH_STEP;
    return epoch;
}
// Starts a new epoch. Returns the smallest version that later writes get.
static inline uint64_t orri_epoch_next(orr_world* world)
{
    return orri_epoch_end(world) + 1;
}
// The version that a write now gives to a block.
static inline uint64_t orri_version_now(const orr_world* world, const orri_column* column)
{
    return orri_epoch(world) - (column->share != NULL);
}
// Call it with every version that is given to a block (S7c). Several threads may stamp blocks at
// the same time.
static inline void orri_written_note(orr_world* world, uint64_t version)
{
    uint64_t newest = __atomic_load_n(&world->written, __ATOMIC_RELAXED);
    while (ORR_UNLIKELY(newest < version) &&
           !__atomic_compare_exchange_n(&world->written, &newest, version, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
    }
}
// A version such that every later write has a larger one. Real time: no epoch may start while
// systems run, so writes since the system's group began count as later, too.
static inline uint64_t orri_version_mark(orr_world* world)
{
    return ORR_LIKELY(!world->realtime) ? orri_epoch_end(world) : orri_clock_here(world)[1] - 1;
}

// ---- refusals (refuse.c) ------------------------------------------------------------------------

// Text of an entity id, such as "7v1", returned by value.
typedef struct orri_id_text {
    char text[128];
} orri_id_text;
orri_id_text orri_id_format(orr_entity entity);
// Id with the entity's name, if it is alive and has one: "bob (7v1)". Long names are cut. For error
// texts.
orri_id_text orri_entity_format(const orr_world* world, orr_entity entity);
// Name of a type for error texts; "(no type)" for a null or foreign type.
const char* orri_type_label(const orr_world* world, orr_type type);
// orr_entity_enabled() and orr_component_enabled() without access checks.
bool orri_entity_enabled(const orr_world* world, orr_entity entity);
bool orri_component_enabled(const orr_world* world, orr_entity entity, orr_type type);

// The orri_refuse_ functions report an error and return its code. `call` is the public function's
// name.
ORRI_COLD orr_result orri_refuse_entity(const orr_world* world, const char* call, orr_entity entity,
                                        orr_type type);
// The type is null or of another world. ORR_ERR_MEMORY if it is null because its first use was refused
// memory, else ORR_ERR_TYPE.
ORRI_COLD orr_result orri_refuse_type(const orr_world* world, const char* call, orr_type type);
ORRI_COLD orr_result orri_refuse_cluster(const orr_world* world, const char* call,
                                         orr_cluster cluster);
ORRI_COLD orr_result orri_refuse_argument(const orr_world* world, const char* call,
                                          const char* what);
ORRI_COLD orr_result orri_refuse_hook(const orr_world* world, const char* call,
                                      const orri_type* type);
// Why a type for which orri_type_written_by_set() is true is not written in place, and what to do
// instead: a clause that follows the name of the type.
const char* orri_in_place_hint(const orri_type* type, bool in_system);
// A type with indexed references was to be written in place.
ORRI_COLD orr_result orri_refuse_in_place(const orr_world* world, const char* call,
                                          const orri_type* type);
// A cluster could not grow: out of memory, or the world has ORR_CHUNKS_MAX chunks.
ORRI_COLD orr_result orri_refuse_room(const orr_world* world, const char* call);
// ORR_OK when structure may change now; otherwise reported: an appender or an iteration is open, a
// system or an error handler runs, or readers cannot be notified of a travel (ORR_ERR_MEMORY).
// Notifies queries that cached positions of rows.
orr_result orri_check_open(const orr_world* world, const char* call);
// True when this thread is inside the error handler. A handler that runs on another thread does not
// count.
static inline bool orri_in_error_handler(const orr_world* world)
{
    return world->errors.in_handler != 0 && orri_refusing_here(&world->env);
}
// Short test: true when structure may change now. False also in cases that orri_check_open()
// decides: in real time, and while readers wait to be notified of a travel, running.access is not
// NULL.
static inline bool orri_world_open(const orr_world* world)
{
    return world->running.access == NULL && world->append.open == NULL &&
           (world->loops.iterating | world->loops.cached | world->errors.in_handler) == 0;
}
// Begins a tick that the world counts. (world.c)
void orri_tick_advance(orr_world* world);
// Begins a tick that the world does not count (of a spectator): a new epoch, and abandoned
// iterations end. (world.c)
void orri_tick_advance_uncounted(orr_world* world);
// Stamps writes that queries have not stamped yet. Call it before reading versions or ticks of
// blocks.
static inline void orri_world_settle(const orr_world* world)
{
    if (ORR_UNLIKELY(world->loops.unstamped != 0)) {
        world->listener.settle((orr_world*)(uintptr_t)world);
    }
}
// orri_world_open(), no type has indexed references and no entity a pinned value: a row is all that
// an entity leaves.
static inline bool orri_world_quiet(const orr_world* world)
{
    return orri_world_open(world) && (world->relations.count | world->pinned.live) == 0;
}
// True when other entities may refer to a destroyed entity through indexed fields.
static inline bool orri_world_related(const orr_world* world)
{
    return world->relations.count != 0;
}
// True for types whose values are written by calls only, never in place.
static inline bool orri_type_written_by_set(const orri_type* type)
{
    return type->indexed_count != 0 || strcmp(type->info.name, "orr_name") == 0;
}
// The world's environment. Casts const away, for reporting only: error texts are not state.
static inline orri_env* orri_env_of(const orr_world* world)
{
    return (orri_env*)(uintptr_t)&world->env;
}

// ---- pseudo_types.c: types that stand for enable bits and tags ----------------------------------

// True for orr_enabled and orr_tags: every entity has them, no entity stores them.
bool orri_type_pseudo(const orri_type* type);
ORRI_COLD orr_result orri_refuse_pseudo(const orr_world* world, const char* call,
                                        const orri_type* type);
// The desc of a component type that the library defines; NULL: no such name.
const orr_type_desc* orri_builtin_desc(const char* name);

// ---- block.c ------------------------------------------------------------------------------------

void orri_source_init(orri_source* source, size_t block_size, uint32_t stagger);
// Extents that still have blocks in use stay, without a source, until their last block is returned.
void orri_source_term(orri_source* source, orri_env* env);
// A block, poisoned for ASan; NULL when refused. `wanted`: blocks that the caller will take in a
// row, for the size of a new extent.
void* orri_block_take(orri_source* source, orri_env* env, uint32_t wanted, orri_extent** out);
// A block of any size (a multiple of 64 bytes) in an extent of its own, without a source.
void* orri_block_take_alone(orri_env* env, size_t bytes, orri_extent** out);
void orri_block_give(orri_extent* extent, orri_env* env, void* block);

// ---- entity_index.c -----------------------------------------------------------------------------

orr_result orri_index_init(orr_world* world);
void orri_index_term(orr_world* world);
// Reallocates the list of pages with room for `before` pages of transient entities and `after`
// pages of others, no fewer than there are. False when refused (silent).
bool orri_index_pages(orr_world* world, uint32_t before, uint32_t after);
// Makes sure that the next `count` ids can be given out without failing.
orr_result orri_index_reserve(orr_world* world, const char* call, uint32_t count);
// Frees pages that no id has reached, after a reserve that was refused or not used.
void orri_index_trim(orr_world* world);
// Allocates pages for `count` records. False when refused (silent); orri_index_trim() frees surplus
// pages.
bool orri_index_room(orr_world* world, uint32_t count);
// True for the id of an entity that the change set will create; world->change.reserved_ids is not
// NULL (id_reserve.c).
bool orri_reserved_ids_has(const orr_world* world, orr_entity entity);
// Records of a page that were ever given out. 0 for a page that was allocated ahead.
static inline uint32_t orri_page_rows(const orr_world* world, uint32_t page)
{
    uint32_t first = page * ORRI_PAGE_SIZE;
    uint32_t left = world->hot.count > first ? world->hot.count - first : 0;
    return left < ORRI_PAGE_SIZE ? left : ORRI_PAGE_SIZE;
}
// Makes sure that the record of an index (and no other) can be written without failing. False: out
// of memory (silent).
bool orri_index_prepare(orr_world* world, uint32_t index);
bool orri_index_prepare_all(orr_world* world);
// Stamps the page of an index. Its share, if any, must have logged the record.
ORRI_COLD void orri_page_stamp(orr_world* world, uint32_t index);
// True when the record can be written without preparation: its page was stamped in this epoch, so
// it is not shared.
static inline bool orri_index_fresh(const orr_world* world, uint32_t index)
{
    return world->index.metas[index >> ORRI_PAGE_BITS].version == world->epoch;
}
// The record of an index, to be written; its page is stamped. Must be prepared.
static inline orri_record* orri_index_write(orr_world* world, uint32_t index)
{
    uint32_t page = index >> ORRI_PAGE_BITS;
    if (ORR_UNLIKELY(world->index.metas[page].version != world->epoch)) {
        orri_page_stamp(world, index);
    }
    return &world->hot.pages[page][index & ORRI_PAGE_MASK];
}
// Makes the record of an index that of a live entity.
static inline orr_entity orri_index_enter(orr_world* world, orri_record* record, uint32_t number,
                                          uint32_t generation, uint32_t place)
{
    *record = (orri_record){generation, place};
    world->index.live_count++;
    return orri_id_make(number, generation);
}
// Gives out the next id without preparation, for a row at `place`: its page exists and was stamped
// in this epoch. Null: nothing was done.
static inline orr_entity orri_index_give_ready(orr_world* world, uint32_t place)
{
    orri_index* index = &world->index;
    uint32_t number = index->free_first;
    if (number != ORRI_INDEX_NONE) {
        if (ORR_UNLIKELY(!orri_index_fresh(world, number))) {
            return (orr_entity){0};
        }
        orri_record* record = orri_record_at(world, number);
        index->free_first = record->place;
        index->free_count--;
        return orri_index_enter(world, record, number, record->generation & ~ORRI_DEAD, place);
    }
    number = world->hot.count;
    if (ORR_UNLIKELY(number >= world->limits.entities ||
                     number >> ORRI_PAGE_BITS >= index->page_count ||
                     !orri_index_fresh(world, number))) {
        return (orr_entity){0};
    }
    world->hot.count = number + 1;
    return orri_index_enter(world, orri_record_at(world, number), number, world->salt | 1, place);
}
// Gives out `count` ids to rows of one chunk from `slot` on; writes records, row ids and, if not
// NULL, `out`.
void orri_index_give(orr_world* world, orri_chunk* chunk, uint32_t slot, uint32_t count,
                     orr_entity* out);
// Undoes the last orri_index_give(), for ids that no caller has received: the free list is as
// before. `fresh_count`: ids that did not come from the free list.
void orri_index_undo(orr_world* world, const orri_chunk* chunk, uint32_t slot, uint32_t count,
                     uint32_t fresh_count);
// Marks a record whose generations are used up: dead, and on no free list.
ORRI_COLD void orri_index_retire(orri_record* record);
// Removes the pinned values of entities that are about to be destroyed (pool.c). Their records and
// rows still exist.
ORRI_COLD void orri_pinned_drop(orr_world* world, const uint32_t* indexes, uint32_t count);
// True when a live record's generations are used up.
static inline bool orri_generation_last(const orri_record* record)
{
    return ((record->generation | ORRI_DEAD) & ORRI_GENERATION_MASK) == ORRI_GENERATION_MAX;
}
// Ends one entity: its record becomes dead. The record must be prepared; the row still exists.
// False: nothing was done, since the record's generations are used up; orri_index_kill() retires it.
static inline bool orri_index_kill_one(orr_world* world, uint32_t index, orri_record* record)
{
    uint32_t generation = record->generation | ORRI_DEAD;
    if (ORR_UNLIKELY((generation & ORRI_GENERATION_MASK) == ORRI_GENERATION_MAX)) {
        return false;
    }
    *record = (orri_record){generation + 1, world->index.free_first};
    world->index.free_first = index;
    world->index.free_count++;
    world->index.live_count--;
    return true;
}
// Ends the entities of some indexes, in order. Their records must be prepared; their rows still
// exist.
void orri_index_kill(orr_world* world, const uint32_t* indexes, uint32_t count);

// ---- chunk.c ------------------------------------------------------------------------------------

// Prepares all columns of a chunk for writing; prepare_rows: only the given rows of all columns,
// and no other rows may then be written. False: out of memory (reported).
bool orri_chunk_prepare(orr_world* world, orri_chunk* chunk);
bool orri_chunk_prepare_rows(orr_world* world, orri_chunk* chunk, uint32_t slot, uint32_t count);
bool orri_column_prepare(orr_world* world, orri_chunk* chunk, uint32_t column);
// Slow paths of the stamp functions below.
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
// Prepares some rows of a column for writing, and no others: an attached share may log just these
// rows (row_log.h).
bool orri_rows_prepare(orr_world* world, orri_chunk* chunk, uint32_t column, uint32_t slot,
                       uint32_t count);
// Stamps a column of which all, or the rows to be written, are prepared. Returns its data.
static inline uint8_t* orri_column_mark(orr_world* world, orri_chunk* chunk, uint32_t column)
{
    if (ORR_UNLIKELY(chunk->columns[column].version != orri_epoch(world))) {
        orri_column_stamp_one(world, chunk, column);
    }
    return chunk->columns[column].data;
}
// Prepares and stamps some rows of a column. Returns the column's data; NULL when a copy was
// refused (reported).
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
// Stamps all columns of a chunk. Some rows of all columns must be prepared.
static inline void orri_chunk_stamp_rows(orr_world* world, orri_chunk* chunk)
{
    if (ORR_UNLIKELY(chunk->stamp != world->epoch)) {
        orri_chunk_stamp_columns(world, chunk);
    }
}
// Prepares and stamps a column. Returns its data; NULL when a copy was refused (reported).
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
// Parks or frees chunks without rows.
void orri_cluster_trim(orr_world* world, orri_cluster* cluster);
// The same as the last step of a call, which then saves no registers for it. Returns ORR_OK.
ORRI_NOINLINE orr_result orri_cluster_trim_last(orr_world* world, orri_cluster* cluster);
// Frees all chunks, a parked one too. The values of the rows must be destructed or owned by shares.
void orri_cluster_free_chunks(orr_world* world, orri_cluster* cluster);
// Adds enable bits, all on, for a column in every chunk. Column type_count: the bits of the
// entities.
bool orri_cluster_add_bits(orr_world* world, orri_cluster* cluster, uint32_t column);
// Enters a chunk's columns into the type tables; room must be reserved. orri_chunk_leave() removes
// them; orri_chunk_refresh() updates them after blocks were replaced.
void orri_chunk_enter(orri_chunk* chunk);
// Updates one column; touches no other, since other threads may write those meanwhile.
void orri_chunk_refresh_column(orri_chunk* chunk, uint32_t column);
void orri_chunk_leave(const orri_chunk* chunk);
void orri_chunk_refresh(orri_chunk* chunk);
// Copies a row within its cluster, whose columns are all `words`: values and row id.
static inline void orri_row_copy_words(orri_chunk* to, uint32_t to_slot, const orri_chunk* from,
                                       uint32_t from_slot)
{
    const orri_cluster* cluster = to->cluster;
    const uint32_t *size = cluster->sizes, *end = size + cluster->column_count;
    const orri_column *target = to->columns, *source = from->columns;
    for (; size < end; size++, target++, source++) {
        orri_value_move_short(target->data, to_slot, source->data, from_slot, *size);
    }
}
// Moves a row within its cluster: values, row id, enable bits, record. `to` is raw memory before,
// `from` after.
void orri_row_relocate(orr_world* world, orri_chunk* to, uint32_t to_slot, orri_chunk* from,
                       uint32_t from_slot);
// Unpoisons `count` rows before they are constructed; poisons them after they ended. No effect
// without ASan.
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
// Data of every marker's column.
extern uint8_t orri_marker_byte[ORRI_BLOCK_ALIGN];
// The table of types that no cluster has: covers no chunk.
extern orri_table orri_table_none;
// Bytes of a block of a level (ORRI_LEVELS: full size) for rows of `size` bytes.
size_t orri_block_bytes(uint32_t size, uint32_t level);
// Level at which the first chunk of a cluster starts.
uint8_t orri_chunk_level_first(size_t row_bytes);
// Bytes of the enable bits of a column.
static inline size_t orri_bits_bytes(const orri_cluster_column* column)
{
    return (size_t)ORRI_BITS_BYTES << column->shift;
}
// A block for a chunk's column; NULL when refused.
void* orri_chunk_block(orr_world* world, const orri_chunk* chunk, uint32_t column, uint32_t wanted,
                       orri_extent** out);
// For chunk_transfer.c and restore.c: a chunk without blocks and id; room in the type tables; the
// block of one column.
orri_chunk* orri_chunk_alloc(orr_world* world, orri_cluster* cluster);
void orri_chunk_free(orr_world* world, orri_chunk* chunk);
bool orri_chunk_reserve_tables(orr_world* world, const orri_cluster* cluster, uint32_t chunk_id);
bool orri_column_take(orr_world* world, orri_chunk* chunk, uint32_t column, uint32_t wanted);
void orri_column_give(orr_world* world, orri_chunk* chunk, uint32_t column);

// Frees a chunk whose rows are gone or belong to shares.
void orri_chunk_destroy(orr_world* world, orri_chunk* chunk);
// For restore.c. Drop: destroys a chunk and its values; shared values pass to their share. Give:
// frees a chunk that was never entered, with its blocks.
void orri_chunk_drop(orr_world* world, orri_chunk* chunk);
void orri_chunk_give(orr_world* world, orri_chunk* chunk);

// ---- parked.c: the chunk that a cluster gave up last --------------------------------------------

// Keeps a chunk without rows for its cluster; it is no longer one of the cluster's chunks. False: it
// may not be kept, and is to be freed.
bool orri_chunk_park(orr_world* world, orri_chunk* chunk);
// Makes the parked chunk of a cluster, which has one, its last chunk again. The stamps are those of
// the last write; the caller adds rows, and so stamps them as those of a new chunk.
void orri_parked_take(orr_world* world, orri_cluster* cluster);
// Frees the parked chunk of a cluster, if any; the parked chunks of all clusters (false: none).
void orri_parked_release(orr_world* world, orri_cluster* cluster);
bool orri_parked_release_all(orr_world* world);
// Checks of S4c, for the parked chunk of a cluster, and for the list of all.
bool orri_parked_valid(const orr_world* world, const orri_cluster* cluster);
bool orri_parked_list_valid(const orr_world* world);
// For short paths: the chunk of a cluster's next row, if there is room and the chunk was stamped in
// this epoch; NULL: it is not so.
static inline orri_chunk* orri_cluster_ready(const orr_world* world, const orri_cluster* cluster,
                                             uint32_t row)
{
    if (ORR_UNLIKELY(row >= cluster->row_capacity)) {
        return NULL;
    }
    orri_chunk* chunk = orri_cluster_chunk_of(cluster, row);
    return ORR_LIKELY(chunk->stamp == world->epoch) ? chunk : NULL;
}
// Takes back a parked chunk that was stamped in this epoch. False: there is none, or the cluster has
// room.
static inline bool orri_parked_ready(orr_world* world, orri_cluster* cluster)
{
    if (cluster->parked == NULL || cluster->parked->stamp != world->epoch ||
        cluster->row_count < cluster->row_capacity) {
        return false;
    }
    orri_parked_take(world, cluster);
    return true;
}

// ---- cluster.c ----------------------------------------------------------------------------------

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
// The cluster of transient entities (transient.h). Only queries are notified of it. NULL when
// refused (reported).
orri_cluster* orri_cluster_make_transient(orr_world* world);
void orri_cluster_free_transient(orr_world* world, orri_cluster* cluster);
// Looks a cluster up or creates it; `*created` says which. NULL when refused (reported). Rows have
// room for one instance of each type. Types and tags ascend, without duplicates, all valid.
orri_cluster* orri_cluster_obtain(orr_world* world, const char* call, const orr_type* types,
                                  uint32_t type_count, const orr_tag* tags, uint32_t tag_count,
                                  bool* created);
// The cluster of a set with these capacities (NULL: 1 for each type); NULL: it does not exist.
orri_cluster* orri_cluster_lookup_sized(const orr_world* world, const orr_type* types,
                                        const uint16_t* capacities, uint32_t type_count,
                                        const orr_tag* tags, uint32_t tag_count);
// Like orri_cluster_obtain(), with capacities: given for each type (NULL: 1 each), or those of
// another cluster (1 where it lacks the type).
orri_cluster* orri_cluster_obtain_sized(orr_world* world, const char* call, const orr_type* types,
                                        const uint16_t* capacities, uint32_t type_count,
                                        const orr_tag* tags, uint32_t tag_count, bool* created);
orri_cluster* orri_cluster_obtain_like(orr_world* world, const char* call, const orri_cluster* like,
                                       const orr_type* types, uint32_t type_count,
                                       const orr_tag* tags, uint32_t tag_count, bool* created);
// Undoes the last creation of a cluster: order, indexes and generations are as before.
void orri_cluster_undo(orr_world* world, orri_cluster* cluster);
// The cluster without types and tags, created if missing.
orri_cluster* orri_cluster_obtain_empty(orr_world* world, const char* call, bool* created);
// The same, even beyond clusters_max: a change set puts entities there for which it may create no
// cluster.
orri_cluster* orri_cluster_fallback(orr_world* world, const char* call, bool* created);
// True when a set has no cluster, and clusters_max is reached.
bool orri_cluster_over_limit(const orr_world* world, const orr_type* types,
                             const uint16_t* capacities, uint32_t type_count, const orr_tag* tags,
                             uint32_t tag_count);
// Of one or more types, the table of the type that the fewest clusters have. Every cluster with all
// of the types is in this table.
const orri_table* orri_table_rarest(const orr_world* world, const orr_type* types, uint32_t count);
// The column of a type; -1: the cluster lacks the type.
int32_t orri_cluster_find_column(const orri_cluster* cluster, orr_type type);
// The column (of row ids) whose enable bits are those of the entities.
static inline uint32_t orri_cluster_entity_column(const orri_cluster* cluster)
{
    return cluster->type_count;
}
// Decides which fast paths the rows of a cluster may take, by its types and enable bits.
static inline void orri_cluster_set_direct(orri_cluster* cluster)
{
    cluster->direct = cluster->words && !cluster->has_bits;
    cluster->direct_new = cluster->direct && cluster->column_count == cluster->type_count + 1 &&
                          !cluster->indexed_preset;
}
bool orri_cluster_has_tag(const orri_cluster* cluster, orr_tag tag);
// Refuses types that no cluster can have: null, foreign, pinned or pseudo types.
orr_result orri_check_storable(const orr_world* world, const char* call, orr_type type);
// Destroys all rows of a cluster. False: index pages are shared and a copy was refused (nothing was
// done).
bool orri_cluster_kill_rows(orr_world* world, orri_cluster* cluster);
void orri_clusters_term(orr_world* world);
// Destroys a cluster with its rows. All records must be prepared.
void orri_cluster_destroy(orr_world* world, orri_cluster* cluster);

// For restore.c, which decides about the order of clusters and about their indexes:
//   revive   allocates a cluster that is in no list yet; the lists of its types get room for it and
//            `others` more. NULL when refused (silent).
//   abandon  frees a revived cluster that was not admitted.
//   admit    enters it into all tables, under the index, generation and sequence that the caller
//            has set.
//   expel    destroys a cluster without rows. Its index is left to the caller.
orri_cluster* orri_cluster_revive(orr_world* world, const orr_type* types,
                                  const uint16_t* capacities, uint32_t type_count,
                                  const orr_tag* tags, uint32_t tag_count, uint32_t others);
void orri_cluster_abandon(orr_world* world, orri_cluster* cluster);
void orri_cluster_admit(orr_world* world, orri_cluster* cluster);
void orri_cluster_expel(orr_world* world, orri_cluster* cluster);

// ---- transition.c -------------------------------------------------------------------------------

enum {
    ORRI_EDGE_ADD = 0,
    ORRI_EDGE_REMOVE = 1
};
// The transition from a cluster to the cluster with one type more (and the types it requires) or
// one less. `*created` says whether the target is new. NULL when refused (reported).
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
// The transition between two clusters, created if missing. NULL when refused (reported).
orri_transition* orri_transition_pair_get(orr_world* world, orri_cluster* from, orri_cluster* to);
// The transition to the cluster that differs only in the capacity of one multiple type. As
// orri_transition_edge().
orri_transition* orri_transition_resize(orr_world* world, const char* call, orri_cluster* from,
                                        uint32_t column, uint16_t capacity, bool* created);
// Frees all transitions from and to a cluster.
void orri_transitions_drop(orr_world* world, orri_cluster* cluster);

// ---- entity.c -----------------------------------------------------------------------------------

// Creates rows at the end of a cluster. All or nothing.
orr_result orri_rows_create(orr_world* world, const char* call, orri_cluster* cluster,
                            uint32_t count, const orr_column_data* data, uint32_t data_count,
                            orr_entity* out);

// Copies values into raw rows of a column, across chunks. When a hook refuses, no value is left
// constructed.
bool orri_column_copy(orri_cluster* cluster, uint32_t column, uint32_t first, uint32_t count,
                      const void* values);

// ---- tag.c --------------------------------------------------------------------------------------

void orri_tags_term(orr_world* world);
// Names of tags, for snapshots. Copy: makes a list of its own (false when refused, silent). Put:
// replaces the world's list; `list` is empty afterwards.
typedef struct orri_tag_list {
    orri_tag_entry* entries;
    uint32_t count, capacity;
} orri_tag_list;
bool orri_tags_copy(orr_world* world, const orri_tag_entry* entries, uint32_t count,
                    orri_tag_list* out);
void orri_tags_drop(orr_world* world, orri_tag_list* list);
void orri_tags_put(orr_world* world, orri_tag_list* list, uint64_t state);

// Checks common to all calls that move rows: structure may change, and both clusters exist.
orr_result orri_check_move(const orr_world* world, const char* call, orr_cluster from,
                           orr_cluster to, orri_cluster** out_from, orri_cluster** out_to);

// ---- row.c: one row moves to another cluster, or is removed -------------------------------------

// Moves the row of the entity with this record. `value` (may be NULL) initialises the column of
// `value_type` in the target instead of its preset.
orr_result orri_move_one(orr_world* world, const char* call, const orri_transition* transition,
                         orri_record* record, const orri_type* value_type, const void* value);
// Removes one row whose values were moved out or destructed: the cluster's last row fills the gap.
// The row's chunk, the last chunk and the last row's record must be prepared.
void orri_row_remove(orr_world* world, orri_chunk* chunk, uint32_t slot);
// Prepares the removal of one row.
bool orri_row_prepare_remove(orr_world* world, orri_chunk* chunk, uint32_t index);
// Test for the short path of both: true when chunks and records were stamped in this epoch, so that
// nothing needs preparation or a stamp. `last_index` is the last row's entity.
static inline bool orri_row_stamped(const orr_world* world, const orri_chunk* chunk,
                                    const orri_chunk* last, uint32_t index, uint32_t last_index)
{
    return chunk->stamp == world->epoch && last->stamp == world->epoch &&
           orri_index_fresh(world, index) && orri_index_fresh(world, last_index);
}
// Short path of orri_row_remove(): the last row fills the gap at `place`. Of a direct cluster that
// is stamped. Returns ORR_OK, to be the last step of a call.
static inline orr_result orri_row_close_gap(orr_world* world, orri_cluster* cluster,
                                            orri_chunk* chunk, uint32_t place, orri_chunk* last,
                                            uint32_t last_row, uint32_t last_index)
{
    uint32_t slot = orri_place_slot(place), last_slot = last_row & ORRI_SLOT_MASK;
    if (last != chunk || last_slot != slot) {
        orri_row_copy_words(chunk, slot, last, last_slot);
        orri_record_at(world, last_index)->place = place;
    }
    cluster->row_count = last_row;
    orri_rows_close(last, last_slot, 1);
    return ORR_LIKELY(last_slot != 0) ? ORR_OK : orri_cluster_trim_last(world, cluster);
}
// Adds enable bits to the target of a transition where the source has some.
bool orri_transition_prepare_bits(orr_world* world, const orri_transition* transition);
// Sets the enable bits of rows that arrived in the target: copied for kept columns, on for others.
void orri_transition_move_bits(const orri_transition* transition, orri_chunk* to, uint32_t to_slot,
                               orri_chunk* from, uint32_t from_slot, uint32_t count);
// Constructs presets in raw rows first … first + count - 1 of a column, across chunks. When a hook
// refuses, no value is left constructed.
bool orri_column_construct(orri_cluster* cluster, uint32_t column, uint32_t first, uint32_t count);
void orri_column_destruct(orri_cluster* cluster, uint32_t column, uint32_t first, uint32_t count);

// ---- component.c: values of entities that have the type already ---------------------------------

// Values to be set later without failing. `places` has 0 for the entities that take part; NULL: all
// do.
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
// Sets the values, or destructs the copies.
void orri_stage_end(orr_world* world, orri_staged* staged, bool set);
// Refuses a value with a number outside the range of its field. Call for types with has_range.
// `entity` is named in the error text; null: not known.
orr_result orri_check_range(const orr_world* world, const char* call, const orri_type* type,
                            orr_entity entity, const void* value);
// Refuses values with references to entities that are not alive, with owned handles that are no
// longer valid, or with numbers outside the range of their field. A dead reference is accepted if
// the entity's current value (of `entities`, may be NULL) already has it.
orr_result orri_check_references(const orr_world* world, const char* call, const orri_type* type,
                                 const orr_entity* entities, const void* values, uint32_t count);
// The same for one value of `entity` (for the error text; null: not known) that replaces `old` (may
// be NULL).
orr_result orri_check_value(const orr_world* world, const char* call, const orri_type* type,
                            orr_entity entity, const void* old, const void* value);

// ---- cell.c: the values a row has of a type -----------------------------------------------------

// The cells of a column from some row on. A cell is one value or, of a multiple type, 1 to
// `capacity` instances; bytes past the last instance are zero.
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
// Moves values to raw cells, of the same or another size with room for them; `from` is raw
// afterwards.
void orri_cells_move(orri_cells to, orri_cells from, uint32_t rows);
// Copies values to raw cells of the same size. False when a hook refuses: no value is left
// constructed.
bool orri_cells_copy(orri_cells to, orri_cells from, uint32_t rows);
// Constructs one value in each raw cell: from `values`, in order, or (NULL) the preset. For a
// multiple type it also sets counts and ids. False when a hook refuses: no value is left
// constructed.
bool orri_cells_make(orri_chunk* chunk, uint32_t column, uint32_t slot, uint32_t rows,
                     const void* values);
// Copies all instances of a cell. The copies get new ids.
bool orri_cell_duplicate(orri_chunk* to, uint32_t to_slot, const orri_chunk* from,
                         uint32_t from_slot, uint32_t column);
// Moves the cells of the types that a transition resizes, with counts and ids. Check
// orri_cells_fit() first.
void orri_cells_resize(const orri_transition* transition, orri_chunk* to, uint32_t to_slot,
                       orri_chunk* from, uint32_t from_slot, uint32_t rows);
// ORR_ERR_CAPACITY (reported) when a row of first … first + count - 1 has more instances than the
// target has room for.
orr_result orri_cells_fit(const orr_world* world, const char* call,
                          const orri_transition* transition, uint32_t first, uint32_t count);
uint64_t orri_cells_hash(orri_cells cells, uint32_t rows, uint64_t seed);
// Instance ids with this bit were given out when the instance was sent, before it exists
// (message/send). Ids without it are given when the instance is added, so the two never meet.
#define ORRI_INSTANCE_SENT 0x80000000u
// The next instance id after `*last`: never 0, without ORRI_INSTANCE_SENT, and not in `ids`.
uint32_t orri_instance_number(uint32_t* last, const uint32_t* ids, uint32_t count);
// Constructs a value of a multiple type in raw memory: a copy, or (NULL) the preset. False when a
// hook refuses (silent).
bool orri_instance_make(const orri_type* type, void* to, const void* value);
// Moves such a value into a row that has room for it, after the instances there. `id` 0: the next
// number.
void orri_instance_put(orr_world* world, uint32_t index, orr_type type, uint32_t id, void* made);
// Refuses a multiple type in a call that takes only unique types, and names the calls to use.
ORRI_COLD orr_result orri_refuse_multiple(const orr_world* world, const char* call, orr_type type);

// For change sets. The number and ids of the instances that a live entity has of a type; 0: none.
// For the calls below everything else must be prepared.
uint32_t orri_instances_of(const orr_world* world, uint32_t index, orr_type type,
                           const uint32_t** ids);
bool orri_instances_prepare(orr_world* world, uint32_t index, orr_type type);
// Removes one instance. The last one only if the row then moves and gets others.
void orri_instance_take(orr_world* world, uint32_t index, orr_type type, uint32_t id);
// Replaces the value of an instance; `made` is raw afterwards.
void orri_instance_replace(orr_world* world, uint32_t index, orr_type type, uint32_t id,
                           void* made);
// True when the capacity of a row may be doubled.
bool orri_instance_room_left(const orri_type* type, uint32_t capacity);

// ---- batch.c: many rows move or are destroyed ---------------------------------------------------

// Destroys all entities and those that cascades reach, or none. With `before` it destroys only the
// listed ones, and calls it when nothing can be refused any more, before anything is done.
orr_result orri_destroy_list(orr_world* world, const char* call, const orr_entity* entities,
                             uint32_t count, void (*before)(void* user), void* user);
// Moves rows first … first + count - 1 along a transition. All or nothing.
orr_result orri_rows_move_range(orr_world* world, const char* call,
                                const orri_transition* transition, uint32_t first, uint32_t count);

// ---- chunk_transfer.c: whole chunks change cluster ----------------------------------------------

// True when all chunks of a transition's source can be handed over: the target is empty and no type
// is resized.
static inline bool orri_transition_moves_chunks(const orri_transition* transition)
{
    return transition->to->row_count == 0 && transition->resized_count == 0;
}
// Hands over all rows of the transitions' sources. Sources and targets are all different, targets
// empty. All or nothing.
orr_result orri_chunk_transfer_many(orr_world* world, orri_transition* const* transitions,
                                    uint32_t count);

#endif
