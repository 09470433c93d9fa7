// SPDX-License-Identifier: MIT
// Instances of multiple types, by id: add, remove, set, get, list, enable and disable. Adding or
// removing an instance mostly changes only the cell of the row. The row moves to the cluster with
// twice the capacity when the cell is full, and to the one with half the capacity when a quarter or
// less would be in use. Unique types have instance id 0 and use component.c.
#include "store/publish/publish.h"
#include "store/table/required_types.h"
#include "store/world/access.h"
#include "store/world/world.h"
#include <orrery/kinds.h>

// The instances of a type that an entity has.
typedef struct instance_cell {
    orri_chunk* chunk; // NULL: the entity does not have the type.
    uint32_t column, slot, count;
    orri_cells cells;
    uint32_t* ids;
} instance_cell;

static instance_cell instance_cell_at(const orr_world* world, uint32_t index, orr_type type)
{
    uint32_t place = orri_record_at(world, index)->place;
    orri_chunk* chunk = orri_place_chunk(world, place);
    int32_t column = orri_table_column(world, orri_type_index(world, type), chunk->id);
    if (column < 0) {
        return (instance_cell){0};
    }
    const orri_cluster_column* entry = &chunk->cluster->columns[column];
    instance_cell cell = {.chunk = chunk,
                          .column = (uint32_t)column,
                          .slot = orri_place_slot(place),
                          .cells = orri_cells_at(chunk, (uint32_t)column, orri_place_slot(place))};
    cell.count = *cell.cells.counts;
    cell.ids = (uint32_t*)(void*)chunk->columns[entry->counts + 1].data +
               ((size_t)cell.slot << entry->shift);
    return cell;
}

// The same for reading: values as this thread's pipeline sees them. Ids, counts and enable bits are
// always the live ones.
static instance_cell instance_cell_here(const orr_world* world, uint32_t index, orr_type type)
{
    instance_cell cell = instance_cell_at(world, index, type);
    if (ORR_UNLIKELY(world->realtime) && cell.chunk != NULL) {
        cell.cells = orri_cells_here(world, cell.chunk, cell.column, cell.slot);
    }
    return cell;
}

// The position of an instance in its cell by id; the count if there is none.
static uint32_t instance_find(const instance_cell* cell, orr_component_id id)
{
    uint32_t i = 0;
    while (i < cell->count && cell->ids[i] != id) {
        i++;
    }
    return i;
}

static uint8_t* instance_value(const instance_cell* cell, uint32_t i)
{
    return cell->cells.data + (size_t)i * cell->cells.type->info.size;
}

// Checks that the entity is alive and the type is registered. `*multiple` tells whether the type is
// multiple.
static orr_result instance_check(const orr_world* world, const char* call, orr_entity entity,
                                 orr_type type, bool* multiple)
{
    const orri_type* found = orri_type_at(&world->schema, type);
    if (ORR_UNLIKELY(orri_record_find(world, entity) == NULL)) {
        return orri_refuse_entity(world, call, entity, type);
    }
    if (ORR_UNLIKELY(found == NULL)) {
        return orri_refuse_type(world, call, type);
    }
    *multiple = found->info.multiplicity == ORR_MULTIPLE;
    return ORR_OK;
}

static orr_result instance_refuse_absent(const orr_world* world, const char* call,
                                         orr_entity entity, orr_type type, orr_component_id id)
{
    orri_id_text name = orri_entity_format(world, entity);
    return orri_refuse(orri_env_of(world), ORR_ERR_ABSENT, ORR_LOG_ID_ENTITY_REFUSED,
                       "%s: entity %s has no %s with id %u; orr_instances_get() lists those it has",
                       call, name.text, orri_type_label(world, type), id);
}

// ---- moving -------------------------------------------------------------------------------------

// Moves a row along a transition (NULL: it was refused). A cluster created for it is undone when
// the move is refused.
static orr_result instance_follow(orr_world* world, const char* call,
                                  const orri_transition* transition, bool created,
                                  orr_entity entity, const orri_type* type, const void* value)
{
    if (transition == NULL) {
        return orri_env_result(&world->env);
    }
    orri_cluster* to = transition->to;
    orr_result result = orri_move_one(world, call, transition,
                                      orri_record_at(world, orri_id_index(entity)), type, value);
    if (result != ORR_OK && created) {
        orri_cluster_undo(world, to);
    }
    return result;
}

// Moves a row to the cluster with another capacity for the type.
static orr_result instance_resize(orr_world* world, const char* call, const instance_cell* cell,
                                  orr_entity entity, uint32_t capacity)
{
    bool created;
    const orri_transition* transition = orri_transition_resize(
        world, call, cell->chunk->cluster, cell->column, (uint16_t)capacity, &created);
    return instance_follow(world, call, transition, created, entity, NULL, NULL);
}

// Moves a row to the cluster with the type, or without it.
static orr_result instance_edge(orr_world* world, const char* call, orr_entity entity,
                                const orri_type* type, int direction, const void* value)
{
    bool created;
    orri_cluster* from =
        orri_place_chunk(world, orri_record_at(world, orri_id_index(entity))->place)->cluster;
    const orri_transition* transition =
        orri_transition_edge(world, call, from, (orr_type){type->id}, direction, &created);
    return instance_follow(world, call, transition, created, entity, type, value);
}

// Prepares values, counts, ids and enable bits of a cell for writing. False when refused
// (reported).
static bool instance_prepare(orr_world* world, const instance_cell* cell)
{
    uint32_t counts = cell->chunk->cluster->columns[cell->column].counts;
    return orri_rows_prepare(world, cell->chunk, cell->column, cell->slot, 1) &&
           orri_rows_prepare(world, cell->chunk, counts, cell->slot, 1) &&
           orri_rows_prepare(world, cell->chunk, counts + 1, cell->slot, 1) &&
           orri_column_prepare(world, cell->chunk, cell->chunk->column_count / 2 + cell->column);
}

static void instance_set_count(orr_world* world, const instance_cell* cell, uint32_t count)
{
    uint32_t column = cell->chunk->cluster->columns[cell->column].counts;
    uint16_t* counts = (uint16_t*)(void*)orri_rows_write(world, cell->chunk, column, cell->slot, 1);
    counts[cell->slot] = (uint16_t)count;
}

// ---- adding -------------------------------------------------------------------------------------

// A value outside the world while rows move.
typedef struct instance_staged {
    _Alignas(ORRI_BLOCK_ALIGN) uint8_t small[256];
    uint8_t* data;
    size_t size;
} instance_staged;

static bool instance_stage_begin(orr_world* world, instance_staged* staged, size_t size)
{
    staged->size = size;
    staged->data = size <= sizeof staged->small
                       ? staged->small
                       : orri_alloc(&world->env, ORR_MEMORY_TEMP, size, ORRI_BLOCK_ALIGN);
    if (staged->data == NULL) {
        (void)orri_refuse_memory(&world->env, "copying a value");
    }
    return staged->data != NULL;
}

static void instance_stage_end(orr_world* world, instance_staged* staged)
{
    if (staged->data != staged->small) {
        orri_free(&world->env, ORR_MEMORY_TEMP, staged->data, staged->size, ORRI_BLOCK_ALIGN);
    }
}

bool orri_instance_make(const orri_type* type, void* to, const void* value)
{
    if (type->plain && type->info.size == 0) {
        return true;
    }
    return value != NULL ? orri_rows_copy(type, to, value, 1) : orri_rows_construct(type, to, 1);
}

// Makes the value behind the last instance an instance, with this id; 0: the next number. The
// columns must be prepared.
static orr_component_id instance_append(orr_world* world, const instance_cell* cell,
                                        orr_component_id id)
{
    uint32_t column = cell->chunk->cluster->columns[cell->column].counts + 1;
    id = id != 0 ? id : orri_instance_number(&world->instance_last, cell->ids, cell->count);
    (void)orri_rows_write(world, cell->chunk, cell->column, cell->slot, 1);
    (void)orri_rows_write(world, cell->chunk, column, cell->slot, 1);
    cell->ids[cell->count] = id;
    instance_set_count(world, cell, cell->count + 1);
    return id;
}

void orri_instance_put(orr_world* world, uint32_t index, orr_type type, uint32_t id, void* made)
{
    instance_cell cell = instance_cell_at(world, index, type);
    ORR_ASSERT(cell.count < 1u << cell.chunk->cluster->columns[cell.column].shift);
    orri_rows_move(cell.cells.type, instance_value(&cell, cell.count), made, 1);
    (void)instance_append(world, &cell, id);
}

// Adds an instance to a cell that has room.
static orr_component_id instance_add_in_place(orr_world* world, const char* call, orr_entity entity,
                                              orr_type type, const void* value)
{
    instance_cell cell = instance_cell_at(world, orri_id_index(entity), type);
    if (!instance_prepare(world, &cell)) {
        return 0;
    }
    // Copies of shared blocks may have moved the cell.
    cell = instance_cell_at(world, orri_id_index(entity), type);
    uint8_t* to = instance_value(&cell, cell.count);
    if (!orri_instance_make(cell.cells.type, to, value)) {
        memset(to, 0, cell.cells.type->info.size);
        (void)orri_refuse_hook(world, call, cell.cells.type);
        return 0;
    }
    return instance_append(world, &cell, 0);
}

// Adds an instance to a full cell. The value is made outside first, because a hook may refuse it,
// and because it may be in a block that moves.
static orr_component_id instance_add_growing(orr_world* world, const char* call, orr_entity entity,
                                             orr_type type, const instance_cell* cell,
                                             const void* value)
{
    const orri_type* found = cell->cells.type;
    uint32_t capacity = 2u << cell->chunk->cluster->columns[cell->column].shift;
    instance_staged staged;
    if (!instance_stage_begin(world, &staged, found->info.size)) {
        return 0;
    }
    orr_component_id id = 0;
    if (!orri_instance_make(found, staged.data, value)) {
        (void)orri_refuse_hook(world, call, found);
    } else if (instance_resize(world, call, cell, entity, capacity) != ORR_OK) {
        orri_rows_destruct(found, staged.data, 1);
    } else {
        instance_cell grown = instance_cell_at(world, orri_id_index(entity), type);
        orri_rows_move(found, instance_value(&grown, grown.count), staged.data, 1);
        id = instance_append(world, &grown, 0);
    }
    instance_stage_end(world, &staged);
    return id;
}

// Adds the first instance. The value is copied first, because it may be in a block that moves.
static orr_component_id instance_add_first(orr_world* world, const char* call, orr_entity entity,
                                           orr_type type, const void* value)
{
    const orri_type* found = orri_type_at(&world->schema, type);
    instance_staged staged;
    if (!instance_stage_begin(world, &staged, found->info.size)) {
        return 0;
    }
    if (value != NULL && found->info.size > 0) {
        memcpy(staged.data, value, found->info.size);
    }
    orr_result result = instance_edge(world, call, entity, found, ORRI_EDGE_ADD,
                                      value != NULL ? staged.data : NULL);
    instance_stage_end(world, &staged);
    return result == ORR_OK ? instance_cell_at(world, orri_id_index(entity), type).ids[0] : 0;
}

bool orri_instance_room_left(const orri_type* type, uint32_t capacity)
{
    return capacity * 2 <= ORR_INSTANCES_MAX &&
           capacity * 2 * (uint64_t)type->info.size <= ORR_VALUE_SIZE_MAX;
}

static orr_result instance_add_check(orr_world* world, const char* call, orr_entity entity,
                                     orr_type type, const void* value)
{
    bool multiple = false;
    orr_result result = instance_check(world, call, entity, type, &multiple);
    if (result == ORR_OK && !multiple) {
        orri_id_text name = orri_entity_format(world, entity);
        result = orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                             "%s: %s is unique, entity %s has at most one; use "
                             "orr_set()",
                             call, orri_type_label(world, type), name.text);
    }
    if (result == ORR_OK) {
        result = orri_check_open_of(world, call, type, entity);
    }
    if (result == ORR_OK && value != NULL) {
        result =
            orri_check_value(world, call, orri_type_at(&world->schema, type), entity, NULL, value);
    }
    return result;
}

orr_component_id orr_instance_add(orr_world* world, orr_entity entity, orr_type type,
                                  const void* value)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_instance_add";
    if (instance_add_check(world, call, entity, type, value) != ORR_OK) {
        return 0;
    }
    instance_cell cell = instance_cell_at(world, orri_id_index(entity), type);
    if (cell.chunk == NULL) {
        return instance_add_first(world, call, entity, type, value);
    }
    uint32_t capacity = 1u << cell.chunk->cluster->columns[cell.column].shift;
    if (cell.count < capacity) {
        return instance_add_in_place(world, call, entity, type, value);
    }
    if (!orri_instance_room_left(cell.cells.type, capacity)) {
        orri_id_text name = orri_entity_format(world, entity);
        (void)orri_refuse(&world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_ENTITY_REFUSED,
                          "%s: entity %s has %u of %s, the most it can have (%u, and %u bytes in "
                          "all); give some to other entities",
                          call, name.text, cell.count, cell.cells.type->info.name,
                          ORR_INSTANCES_MAX, ORR_VALUE_SIZE_MAX);
        return 0;
    }
    return instance_add_growing(world, call, entity, type, &cell, value);
}

// ---- removing -----------------------------------------------------------------------------------

// Moves the instances behind position `gap`, with their ids and enable bits, one position forward.
static void instance_close_gap(orr_world* world, const instance_cell* cell, uint32_t gap)
{
    const orri_type* type = cell->cells.type;
    uint32_t shift = cell->chunk->cluster->columns[cell->column].shift, last = cell->count - 1;
    uint32_t bits_column = cell->chunk->column_count / 2 + cell->column;
    uint64_t* bits = cell->chunk->columns[bits_column].data != NULL
                         ? (uint64_t*)(void*)orri_column_write(world, cell->chunk, bits_column)
                         : NULL;
    for (uint32_t i = gap; i < last; i++) {
        orri_rows_move(type, instance_value(cell, i), instance_value(cell, i + 1), 1);
        cell->ids[i] = cell->ids[i + 1];
        if (bits != NULL) {
            orri_bit_set(bits, (cell->slot << shift) + i,
                         orri_bit_get(bits, (cell->slot << shift) + i + 1));
        }
    }
    if (bits != NULL) {
        orri_bit_set(bits, (cell->slot << shift) + last, true);
    }
    cell->ids[last] = 0;
    if (type->info.size > 0) {
        memset(instance_value(cell, last), 0, type->info.size);
    }
}

void orri_instance_take(orr_world* world, uint32_t index, orr_type type, orr_component_id id)
{
    instance_cell cell = instance_cell_at(world, index, type);
    uint32_t i = instance_find(&cell, id);
    ORR_ASSERT(i < cell.count);
    (void)orri_rows_write(world, cell.chunk, cell.column, cell.slot, 1);
    (void)orri_rows_write(world, cell.chunk, cell.chunk->cluster->columns[cell.column].counts + 1u,
                          cell.slot, 1);
    orri_rows_destruct(cell.cells.type, instance_value(&cell, i), 1);
    instance_close_gap(world, &cell, i);
    instance_set_count(world, &cell, cell.count - 1);
}

static orr_result instance_remove_one(orr_world* world, orr_entity entity, orr_type type,
                                      orr_component_id id)
{
    instance_cell cell = instance_cell_at(world, orri_id_index(entity), type);
    if (!instance_prepare(world, &cell)) {
        return orri_env_result(&world->env);
    }
    // Copies of shared blocks may have moved the cell: orri_instance_take() looks it up again.
    orri_instance_take(world, orri_id_index(entity), type, id);
    return ORR_OK;
}

// A row that would use a quarter of its capacity or less first moves, with all instances, to half
// the capacity. After that nothing can be refused.
static orr_result instance_remove_multiple(orr_world* world, const char* call, orr_entity entity,
                                           orr_type type, orr_component_id id)
{
    instance_cell cell = instance_cell_at(world, orri_id_index(entity), type);
    if (id == 0 || cell.chunk == NULL || instance_find(&cell, id) == cell.count) {
        return instance_refuse_absent(world, call, entity, type, id);
    }
    orr_result result = orri_check_open_of(world, call, type, entity);
    if (result != ORR_OK) {
        return result;
    }
    if (cell.count == 1) {
        result = orri_required_types_check_remove(world, call, cell.chunk->cluster, entity, type);
        return result == ORR_OK
                   ? instance_edge(world, call, entity, cell.cells.type, ORRI_EDGE_REMOVE, NULL)
                   : result;
    }
    uint32_t capacity = 1u << cell.chunk->cluster->columns[cell.column].shift;
    if ((cell.count - 1) * 4 <= capacity) {
        result = instance_resize(world, call, &cell, entity, capacity / 2);
    }
    return result == ORR_OK ? instance_remove_one(world, entity, type, id) : result;
}

orr_result orr_instance_remove(orr_world* world, orr_entity entity, orr_type type,
                               orr_component_id id)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_instance_remove";
    bool multiple = false;
    orr_result result = instance_check(world, call, entity, type, &multiple);
    if (result != ORR_OK) {
        return result;
    }
    if (multiple) {
        return instance_remove_multiple(world, call, entity, type, id);
    }
    return id == 0 && orr_component_has(world, entity, type)
               ? orr_component_remove(world, entity, type)
               : instance_refuse_absent(world, call, entity, type, id);
}

// ---- values -------------------------------------------------------------------------------------

// Overwrites an instance. A value that is not plain is copied outside first, because a hook may
// refuse it.
static orr_result instance_replace(orr_world* world, const char* call, const orri_type* type,
                                   uint8_t* to, const void* value)
{
    if (type->plain) {
        if (type->info.size > 0) {
            memmove(to, value, type->info.size);
            orri_rows_clean(type, to, 1);
        }
        return ORR_OK;
    }
    instance_staged staged;
    if (!instance_stage_begin(world, &staged, type->info.size)) {
        return orri_env_result(&world->env);
    }
    orr_result result = ORR_OK;
    if (orri_rows_copy(type, staged.data, value != NULL ? value : orri_marker_byte, 1)) {
        orri_rows_destruct(type, to, 1);
        orri_rows_move(type, to, staged.data, 1);
    } else {
        result = orri_refuse_hook(world, call, type);
    }
    instance_stage_end(world, &staged);
    return result;
}

static orr_result instance_set_multiple(orr_world* world, const char* call, orr_entity entity,
                                        orr_type type, orr_component_id id, const void* value)
{
    instance_cell cell = instance_cell_at(world, orri_id_index(entity), type);
    uint32_t i = instance_find(&cell, id);
    if (id == 0 || i == cell.count) {
        return instance_refuse_absent(world, call, entity, type, id);
    }
    const orri_type* found = cell.cells.type;
    if (value == NULL && found->info.size > 0) {
        return orri_refuse_argument(world, call, "the value is NULL");
    }
    orr_result result =
        orri_check_value(world, call, found, entity, instance_value(&cell, i), value);
    if (result == ORR_OK && !orri_rows_prepare(world, cell.chunk, cell.column, cell.slot, 1)) {
        result = orri_env_result(&world->env);
    }
    if (result != ORR_OK) {
        return result;
    }
    cell = instance_cell_at(world, orri_id_index(entity), type);
    result = instance_replace(world, call, found, instance_value(&cell, i), value);
    if (result == ORR_OK) {
        (void)orri_column_mark(world, cell.chunk, cell.column);
    }
    return result;
}

orr_result orr_instance_set(orr_world* world, orr_entity entity, orr_type type, orr_component_id id,
                            const void* value)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_writes(world, "orr_instance_set", type, entity)) {
        return orri_env_result(&world->env);
    }
    const char* call = "orr_instance_set";
    bool multiple = false;
    orr_result result = instance_check(world, call, entity, type, &multiple);
    if (result != ORR_OK) {
        return result;
    }
    if (multiple) {
        return instance_set_multiple(world, call, entity, type, id, value);
    }
    return id == 0 && orr_component_has(world, entity, type)
               ? orr_component_set(world, entity, type, value)
               : instance_refuse_absent(world, call, entity, type, id);
}

const void* orr_instance_get(const orr_world* world, orr_entity entity, orr_type type,
                             orr_component_id id)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_reads(world, "orr_instance_get", type, entity)) {
        return NULL;
    }
    bool multiple = false;
    if (instance_check(world, "orr_instance_get", entity, type, &multiple) != ORR_OK) {
        return NULL;
    }
    if (!multiple) {
        return id == 0 ? orr_component_get(world, entity, type) : NULL;
    }
    instance_cell cell = instance_cell_here(world, orri_id_index(entity), type);
    uint32_t i = instance_find(&cell, id);
    return id != 0 && i < cell.count ? instance_value(&cell, i) : NULL;
}

void* orr_instance_edit(orr_world* world, orr_entity entity, orr_type type, orr_component_id id)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_writes(world, "orr_instance_edit", type, entity)) {
        return NULL;
    }
    bool multiple = false;
    if (instance_check(world, "orr_instance_edit", entity, type, &multiple) != ORR_OK) {
        return NULL;
    }
    if (!multiple) {
        return id == 0 ? orr_component_edit(world, entity, type) : NULL;
    }
    instance_cell cell = instance_cell_at(world, orri_id_index(entity), type);
    uint32_t i = instance_find(&cell, id);
    if (id == 0 || i == cell.count ||
        orri_rows_write(world, cell.chunk, cell.column, cell.slot, 1) == NULL) {
        return NULL;
    }
    cell = instance_cell_at(world, orri_id_index(entity), type);
    return instance_value(&cell, i);
}

uint32_t orr_instances_get(const orr_world* world, orr_entity entity, orr_type type,
                           const void** values, const orr_component_id** ids)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_reads(world, "orr_instances_get", type, entity)) {
        return 0;
    }
    static const orr_component_id none = 0;
    bool multiple = false;
    const void* first = NULL;
    const orr_component_id* first_id = NULL;
    uint32_t count = 0;
    if (instance_check(world, "orr_instances_get", entity, type, &multiple) == ORR_OK) {
        if (multiple) {
            instance_cell cell = instance_cell_here(world, orri_id_index(entity), type);
            first = cell.cells.data;
            first_id = cell.ids;
            count = cell.count;
        } else if ((first = orr_component_get(world, entity, type)) != NULL) {
            first_id = &none;
            count = 1;
        }
    }
    if (values != NULL) {
        *values = first;
    }
    if (ids != NULL) {
        *ids = first_id;
    }
    return count;
}

// ---- for change sets ----------------------------------------------------------------------------

uint32_t orri_instances_of(const orr_world* world, uint32_t index, orr_type type,
                           const orr_component_id** ids)
{
    instance_cell cell = instance_cell_at(world, index, type);
    *ids = cell.ids;
    return cell.count;
}

bool orri_instances_prepare(orr_world* world, uint32_t index, orr_type type)
{
    instance_cell cell = instance_cell_at(world, index, type);
    return cell.chunk == NULL || instance_prepare(world, &cell);
}

void orri_instance_replace(orr_world* world, uint32_t index, orr_type type, orr_component_id id,
                           void* made)
{
    instance_cell cell = instance_cell_at(world, index, type);
    (void)orri_rows_write(world, cell.chunk, cell.column, cell.slot, 1);
    uint8_t* to = instance_value(&cell, instance_find(&cell, id));
    orri_rows_destruct(cell.cells.type, to, 1);
    orri_rows_move(cell.cells.type, to, made, 1);
}

// ---- enable bits --------------------------------------------------------------------------------

// Enables or disables one instance.
static orr_result instance_enable_one(orr_world* world, const instance_cell* cell, uint32_t i,
                                      bool on)
{
    uint32_t column = cell->chunk->column_count / 2 + cell->column;
    uint32_t shift = cell->chunk->cluster->columns[cell->column].shift;
    if (cell->chunk->columns[column].data == NULL) {
        if (on) {
            return ORR_OK;
        }
        if (!orri_cluster_add_bits(world, cell->chunk->cluster, cell->column)) {
            return orri_refuse_memory(&world->env, "making enable bits");
        }
    }
    uint64_t* words = (uint64_t*)(void*)orri_column_write(world, cell->chunk, column);
    if (words == NULL) {
        return orri_env_result(&world->env);
    }
    orri_bit_set(words, (cell->slot << shift) + i, on);
    return ORR_OK;
}

orr_result orr_instance_enable(orr_world* world, orr_entity entity, orr_type type,
                               orr_component_id id, bool on)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_instance_enable";
    bool multiple = false;
    orr_result result = instance_check(world, call, entity, type, &multiple);
    if (result == ORR_OK) {
        result = orri_check_open_of(world, call, type, entity);
    }
    if (result != ORR_OK) {
        return result;
    }
    instance_cell cell = {0};
    if (multiple) {
        cell = instance_cell_at(world, orri_id_index(entity), type);
    }
    if (id == 0 && (!multiple || cell.chunk != NULL)) {
        return orr_component_enable(world, entity, type, on);
    }
    uint32_t i = instance_find(&cell, id);
    return i < cell.count ? instance_enable_one(world, &cell, i, on)
                          : instance_refuse_absent(world, call, entity, type, id);
}

bool orr_instance_enabled(const orr_world* world, orr_entity entity, orr_type type,
                          orr_component_id id)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_reads(world, "orr_instance_enabled", type, entity)) {
        return false;
    }
    const orri_type* found = orri_type_at(&world->schema, type);
    if (id == 0) {
        return orr_component_enabled(world, entity, type);
    }
    if (found == NULL || found->info.multiplicity != ORR_MULTIPLE ||
        orri_record_find(world, entity) == NULL) {
        return false;
    }
    instance_cell cell = instance_cell_at(world, orri_id_index(entity), type);
    uint32_t i = instance_find(&cell, id);
    if (i == cell.count) {
        return false;
    }
    const uint64_t* words =
        (const uint64_t*)(const void*)orri_chunk_bits(cell.chunk, cell.column)->data;
    uint32_t shift = cell.chunk->cluster->columns[cell.column].shift;
    return words == NULL || orri_bit_get(words, (cell.slot << shift) + i);
}

// ---- chunks -------------------------------------------------------------------------------------

orr_instances orr_column_instances(const orr_world* world, orr_cluster handle, uint32_t number,
                                   orr_type type)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_reads(world, "orr_column_instances", type, (orr_entity){0})) {
        return (orr_instances){0};
    }
    const orri_cluster* cluster = orri_cluster_at(world, handle);
    int32_t column = cluster != NULL && number < cluster->chunk_count
                         ? orri_cluster_find_column(cluster, type)
                         : -1;
    if (column < 0) {
        return (orr_instances){0};
    }
    orri_chunk* chunk = cluster->chunks[number];
    orr_instances out = {
        .enabled = (const uint64_t*)(void*)orri_chunk_bits(chunk, (uint32_t)column)->data,
        .capacity = cluster->capacities[column]};
    uint32_t counts = cluster->columns[column].counts;
    if (counts != 0) {
        out.counts = (const uint16_t*)(void*)chunk->columns[counts].data;
        out.ids = (const uint32_t*)(void*)chunk->columns[counts + 1].data;
    }
    return out;
}
