// SPDX-License-Identifier: MIT
// Cells: the values a row has of a type. For a unique type one value; for a multiple type 1 to
// `capacity` instances in order of addition, with the count and the ids in columns of their own.
// Bytes and ids past the last instance are zero, so that rows of plain types still move by memcpy;
// hooks are called for instances only.
#include "store/world/world.h"
#include <orrery/kinds.h>

// Instance counts of a multiple type, from a slot on.
static uint16_t* cell_counts(const orri_chunk* chunk, uint32_t column, uint32_t slot)
{
    return (uint16_t*)(void*)chunk->columns[chunk->cluster->columns[column].counts].data + slot;
}

// Instance ids of a row: room for 1 << shift of them.
static uint32_t* cell_ids(const orri_chunk* chunk, uint32_t column, uint32_t slot)
{
    const orri_cluster_column* entry = &chunk->cluster->columns[column];
    uint32_t* ids = (uint32_t*)(void*)chunk->columns[entry->counts + 1].data;
    return ids + ((size_t)slot << entry->shift);
}

// The cell `row` rows after the first.
static uint8_t* cell_data(orri_cells cells, uint32_t row)
{
    return cells.data + (size_t)row * cells.size;
}

// Zeroes the bytes past the last of `count` instances.
static void cell_clear_rest(orri_cells cells, uint32_t row, uint32_t count)
{
    size_t used = (size_t)count * cells.type->info.size;
    if (used < cells.size) {
        memset(cell_data(cells, row) + used, 0, cells.size - used);
    }
}

// ---- ids ----------------------------------------------------------------------------------------

static bool cell_id_taken(const uint32_t* ids, uint32_t count, uint32_t id)
{
    for (uint32_t i = 0; i < count; i++) {
        if (ids[i] == id) {
            return true;
        }
    }
    return false;
}

uint32_t orri_instance_number(uint32_t* last, const uint32_t* ids, uint32_t count)
{
    do {
        (*last)++;
        *last &= ~ORRI_INSTANCE_SENT;
    } while (*last == 0 || cell_id_taken(ids, count, *last));
    return *last;
}

// Sets the count of a cell, and gives its instances new ids.
static void cell_number(const orri_chunk* chunk, uint32_t column, uint32_t slot, uint16_t count)
{
    const orri_cluster_column* entry = &chunk->cluster->columns[column];
    uint32_t* ids = cell_ids(chunk, column, slot);
    memset(ids, 0, sizeof *ids << entry->shift);
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = orri_instance_number(entry->table->instance_last, ids, i);
    }
    *cell_counts(chunk, column, slot) = count;
}

// ---- values -------------------------------------------------------------------------------------

void orri_cells_destruct(orri_cells cells, uint32_t rows)
{
    if (cells.type->plain) {
        return;
    }
    if (cells.counts == NULL) {
        orri_rows_destruct(cells.type, cells.data, rows);
        return;
    }
    for (uint32_t i = 0; i < rows; i++) {
        orri_rows_destruct(cells.type, cell_data(cells, i), cells.counts[i]);
    }
}

void orri_cells_move(orri_cells to, orri_cells from, uint32_t rows)
{
    if (from.counts == NULL) {
        orri_rows_move(from.type, to.data, from.data, rows);
        return;
    }
    for (uint32_t i = 0; i < rows; i++) {
        if (from.counts[i] > 0) { // 0: a change set took all, and adds others after the move.
            orri_rows_move(from.type, cell_data(to, i), cell_data(from, i), from.counts[i]);
        }
        cell_clear_rest(to, i, from.counts[i]);
    }
}

bool orri_cells_copy(orri_cells to, orri_cells from, uint32_t rows)
{
    if (from.type->plain && from.size == 0) {
        return true;
    }
    // Plain cells are copied as a whole: bytes past the last instance are zero in the copy, too.
    if (from.counts == NULL || from.type->plain) {
        uint32_t room = from.size > 0 ? from.size / from.type->info.size : 1;
        return orri_rows_copy(from.type, to.data, from.data, rows * room);
    }
    for (uint32_t i = 0; i < rows; i++) {
        if (!orri_rows_copy(from.type, cell_data(to, i), cell_data(from, i), from.counts[i])) {
            to.counts = from.counts;
            orri_cells_destruct(to, i);
            return false;
        }
        cell_clear_rest(to, i, from.counts[i]);
    }
    return true;
}

// Constructs `count` values: copies, or presets. Plain markers have no bytes.
static bool cell_make_values(const orri_type* type, void* to, const void* values, uint32_t count)
{
    if (type->plain && type->info.size == 0) {
        return true;
    }
    return values != NULL ? orri_rows_copy(type, to, values, count)
                          : orri_rows_construct(type, to, count);
}

bool orri_cells_make(orri_chunk* chunk, uint32_t column, uint32_t slot, uint32_t rows,
                     const void* values)
{
    orri_cells cells = orri_cells_at(chunk, column, slot);
    if (ORR_LIKELY(cells.counts == NULL)) {
        return cell_make_values(cells.type, cells.data, values, rows);
    }
    size_t size = cells.type->info.size;
    for (uint32_t i = 0; i < rows; i++) {
        const void* value = values != NULL ? (const uint8_t*)values + i * size : NULL;
        if (!cell_make_values(cells.type, cell_data(cells, i), value, 1)) {
            orri_cells_destruct(cells, i);
            return false;
        }
        cell_clear_rest(cells, i, 1);
        cell_number(chunk, column, slot + i, 1);
    }
    return true;
}

bool orri_cell_duplicate(orri_chunk* to, uint32_t to_slot, const orri_chunk* from,
                         uint32_t from_slot, uint32_t column)
{
    orri_cells source = orri_cells_at(from, column, from_slot);
    if (!orri_cells_copy(orri_cells_at(to, column, to_slot), source, 1)) {
        return false;
    }
    if (source.counts != NULL) {
        cell_number(to, column, to_slot, *source.counts);
    }
    return true;
}

uint64_t orri_cells_hash(orri_cells cells, uint32_t rows, uint64_t seed)
{
    if (ORR_LIKELY(cells.counts == NULL)) {
        return orri_rows_hash(cells.type, cells.data, rows, seed);
    }
    uint64_t hash = seed;
    for (uint32_t i = 0; i < rows; i++) {
        hash = orri_rows_hash(cells.type, cell_data(cells, i), cells.counts[i], hash);
    }
    return hash;
}

// ---- changing the capacity ----------------------------------------------------------------------

// Moves the instances of one row into a cell of another capacity, with their ids and count.
static void cell_resize(orri_chunk* to, uint32_t to_column, uint32_t to_slot,
                        const orri_chunk* from, uint32_t from_column, uint32_t from_slot)
{
    orri_cells target = orri_cells_at(to, to_column, to_slot);
    orri_cells source = orri_cells_at(from, from_column, from_slot);
    uint32_t* ids = cell_ids(to, to_column, to_slot);
    uint16_t count = *source.counts;
    uint32_t room = 1u << to->cluster->columns[to_column].shift;
    ORR_ASSERT(count <= room);
    orri_cells_move(target, source, 1);
    memset(ids, 0, room * sizeof *ids);
    memcpy(ids, cell_ids(from, from_column, from_slot), count * sizeof *ids);
    *cell_counts(to, to_column, to_slot) = count;
}

void orri_cells_resize(const orri_transition* transition, orri_chunk* to, uint32_t to_slot,
                       orri_chunk* from, uint32_t from_slot, uint32_t rows)
{
    for (uint32_t i = 0; i < transition->resized_count; i++) {
        for (uint32_t row = 0; row < rows; row++) {
            cell_resize(to, transition->resized[i].to, to_slot + row, from,
                        transition->resized[i].from, from_slot + row);
        }
    }
}

// Refuses a row with more instances than the target has room for.
static orr_result cell_refuse_row(const orr_world* world, const char* call, const orri_chunk* chunk,
                                  uint32_t column, uint32_t slot, uint32_t room)
{
    uint32_t index = orri_chunk_ids(chunk)[slot];
    orri_id_text name =
        orri_entity_format(world, orri_id_make(index, orri_record_at(world, index)->generation));
    return orri_refuse(orri_env_of(world), ORR_ERR_CAPACITY, ORR_LOG_ID_CLUSTER_REFUSED,
                       "%s: entity %s has %u instances of %s, but rows of the target have room for "
                       "%u; get a cluster with a larger capacity",
                       call, name.text, *cell_counts(chunk, column, slot),
                       chunk->cluster->columns[column].type->info.name, room);
}

orr_result orri_cells_fit(const orr_world* world, const char* call,
                          const orri_transition* transition, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < transition->resized_count; i++) {
        uint32_t column = transition->resized[i].from,
                 room = transition->to->capacities[transition->resized[i].to];
        bool smaller = room < transition->from->capacities[column];
        for (uint32_t row = first; smaller && row < first + count; row++) {
            const orri_chunk* chunk = orri_cluster_chunk_of(transition->from, row);
            uint32_t slot = row & ORRI_SLOT_MASK;
            if (*cell_counts(chunk, column, slot) > room) {
                return cell_refuse_row(world, call, chunk, column, slot, room);
            }
        }
    }
    return ORR_OK;
}

orr_result orri_refuse_multiple(const orr_world* world, const char* call, orr_type type)
{
    return orri_refuse(orri_env_of(world), ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                       "%s: %s is multiple: an entity may have several instances; use "
                       "orr_instance_add(), orr_instance_set(), orr_instance_edit() or "
                       "orr_instances_get()",
                       call, orri_type_label(world, type));
}
