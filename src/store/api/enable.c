// SPDX-License-Identifier: MIT
// Enables and disables entities and components by bits, without moving rows. A column of a cluster
// has enable bits in all chunks or in none (S9), so that moving rows never needs memory for them.
#include "store/pool/pool.h"
#include "store/table/transient.h"
#include "store/world/access.h"

// Makes enable bits for a column in all chunks of the cluster.
static orr_result enable_make(orr_world* world, orri_chunk* chunk, uint32_t column)
{
    return orri_cluster_add_bits(world, chunk->cluster, column)
               ? ORR_OK
               : orri_refuse_memory(&world->env, "making enable bits");
}

// Enables or disables a column of the row at `place`; for a multiple type all of its instances.
static orr_result enable_set(orr_world* world, uint32_t place, uint32_t column, bool on)
{
    orri_chunk* chunk = orri_place_chunk(world, place);
    uint32_t bits = chunk->column_count / 2 + column;
    if (ORR_UNLIKELY(chunk->columns[bits].data == NULL)) {
        orr_result result = on ? ORR_OK : enable_make(world, chunk, column);
        if (on || result != ORR_OK) {
            return result;
        }
    }
    uint64_t* words = (uint64_t*)(void*)orri_column_write(world, chunk, bits);
    if (ORR_UNLIKELY(words == NULL)) {
        return orri_env_result(&world->env);
    }
    uint32_t shift = chunk->cluster->columns[column].shift;
    if (shift > 0) {
        // All instances. Bits past the last one stay on (S16).
        orri_bits_fill(words, orri_place_slot(place) << shift,
                       *orri_cells_at(chunk, column, orri_place_slot(place)).counts, on);
    } else {
        orri_bit_set(words, orri_place_slot(place), on);
    }
    return ORR_OK;
}

// True when a column of the row is enabled; for a multiple type, when any instance is.
static bool enable_get(const orr_world* world, const orri_record* record, uint32_t column)
{
    orri_chunk* chunk = orri_place_chunk(world, record->place);
    const uint64_t* words = (const uint64_t*)(void*)orri_chunk_bits(chunk, column)->data;
    uint32_t slot = orri_place_slot(record->place), shift = chunk->cluster->columns[column].shift;
    uint32_t count = shift > 0 ? *orri_cells_at(chunk, column, slot).counts : 1;
    bool any = words == NULL;
    for (uint32_t i = 0; !any && i < count; i++) {
        any = orri_bit_get(words, (slot << shift) + i);
    }
    return any;
}

// Slow path of orr_component_enable(), with all checks.
ORRI_COLD static orr_result enable_component_slow(orr_world* world, orr_entity entity,
                                                  orr_type type, bool on)
{
    ORR_ASSERT(world != NULL);
    orr_result result = orri_check_open_of(world, "orr_enable", type, entity);
    if (result != ORR_OK) {
        return result;
    }
    const orri_record* record = orri_record_find(world, entity);
    if (record == NULL) {
        return orri_transient_enable(world, "orr_enable", entity, type, on);
    }
    int32_t column =
        orri_table_column(world, orri_type_index(world, type), record->place >> ORRI_SLOT_BITS);
    if (column >= 0) {
        return enable_set(world, record->place, (uint32_t)column, on);
    }
    const orri_type* found = orri_type_at(&world->schema, type);
    if (found == NULL) {
        return orri_refuse_type(world, "orr_enable", type);
    }
    if (orri_type_pinned(found)) {
        return orri_pinned_enable(world, "orr_enable", entity, found, on);
    }
    if (orri_type_pseudo(found)) {
        return orri_refuse_pseudo(world, "orr_enable", found);
    }
    orri_id_text name = orri_entity_format(world, entity);
    return orri_refuse(&world->env, ORR_ERR_ABSENT, ORR_LOG_ID_ENTITY_REFUSED,
                       "orr_enable: entity %s has no %s; add it first", name.text,
                       orri_type_label(world, type));
}

// The column of a type, plus 1, if the type table covers the chunk; 0: take the slow path.
static inline uint32_t enable_column_near(const orr_world* world, uint32_t type_index, uint32_t id)
{
    if (ORR_UNLIKELY(type_index >= world->tables.capacity)) {
        return 0;
    }
    const orri_table* table = (const orri_table*)(const void*)world->tables.list[type_index];
    return ORR_LIKELY(id < table->hot.capacity) ? table->column[id] : 0;
}

orr_result orr_component_enable(orr_world* world, orr_entity entity, orr_type type, bool on)
{
    // Calls nothing, so that no register must be saved: the slow path asserts.
    const orri_record* record = ORR_LIKELY(world != NULL && orri_world_open(world))
                                    ? orri_record_find(world, entity)
                                    : NULL;
    if (ORR_LIKELY(record != NULL)) {
        uint32_t place = record->place, id = place >> ORRI_SLOT_BITS;
        uint32_t column = enable_column_near(world, orri_type_index(world, type), id);
        if (ORR_LIKELY(column != 0)) {
            const orri_column* bits = orri_chunk_bits(world->chunks.list[id], column - 1);
            if (ORR_LIKELY(bits->data != NULL && bits->version == world->epoch)) {
                orri_bit_set((uint64_t*)(void*)bits->data, orri_place_slot(place), on);
                return ORR_OK;
            }
        }
    }
    return enable_component_slow(world, entity, type, on);
}

bool orr_component_enabled(const orr_world* world, orr_entity entity, orr_type type)
{
    ORR_ASSERT(world != NULL);
    return orri_access_reads(world, "orr_enabled", type, entity) &&
           orri_component_enabled(world, entity, type);
}

bool orri_component_enabled(const orr_world* world, orr_entity entity, orr_type type)
{
    const orri_record* record = orri_record_find(world, entity);
    if (record == NULL) {
        return orri_transient_alive(world, entity) &&
               orri_pool_enabled(orri_pool_find(world, type), orri_id_index(entity));
    }
    int32_t column =
        orri_table_column(world, orri_type_index(world, type), record->place >> ORRI_SLOT_BITS);
    return column >= 0 ? enable_get(world, record, (uint32_t)column)
                       : orri_pool_enabled(orri_pool_find(world, type), orri_id_index(entity));
}

orr_result orr_entity_enable(orr_world* world, orr_entity entity, bool on)
{
    ORR_ASSERT(world != NULL);
    // A system that may not change rows may not read the record either.
    if (ORR_UNLIKELY(orri_access_checked(world))) {
        return orri_refuse_structure(world, "orr_entity_enable", (orr_type){0}, entity);
    }
    const orri_record* record = orri_record_find(world, entity);
    if (record == NULL) {
        return orri_refuse_entity(world, "orr_entity_enable", entity, (orr_type){0});
    }
    orr_result result = orri_check_open(world, "orr_entity_enable");
    if (result != ORR_OK) {
        return result;
    }
    uint32_t column = orri_place_chunk(world, record->place)->cluster->type_count;
    return enable_set(world, record->place, column, on);
}

bool orri_entity_enabled(const orr_world* world, orr_entity entity)
{
    const orri_record* record = orri_record_find(world, entity);
    return record != NULL &&
           enable_get(world, record, orri_place_chunk(world, record->place)->cluster->type_count);
}

bool orr_entity_enabled(const orr_world* world, orr_entity entity)
{
    ORR_ASSERT(world != NULL);
    return orri_access_builtin(world, "orr_entity_enabled", "orr_enabled", entity) &&
           orri_entity_enabled(world, entity);
}
