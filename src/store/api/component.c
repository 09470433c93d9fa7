// SPDX-License-Identifier: MIT
// Components of single entities, and values of many entities that have the type. Adding or removing
// a component moves the row to another cluster.
#include "store/cow/row_log.h"
#include "store/pool/pool.h"
#include "store/publish/publish.h"
#include "store/relation/relation.h"
#include "store/table/required_types.h"
#include "store/table/transient.h"
#include "store/world/access.h"

#define COMPONENT_AHEAD 16 // Distance, in entities, at which records are prefetched in batches.

// The published value that this thread's pipeline sees. `*has` is false when its view does not have
// the type; then the live value counts.
static uint8_t* component_find_published(const orr_world* world, const orri_record* record,
                                         uint32_t type_index, bool* has)
{
    orr_type type = {type_index + world->hot.type_base};
    const orri_view* view = orri_view_here(world);
    *has = view != NULL && orri_view_has(view, type);
    const orr_hot_table* table = *has ? orri_view_table(view, type) : NULL;
    uint32_t place = record->place, chunk = place >> ORRI_SLOT_BITS;
    if (table == &orri_table_none.hot) { // Multiple: cells differ in size from cluster to cluster.
        int32_t column = orri_table_column(world, type_index, chunk);
        return column >= 0 ? orri_cells_here(world, world->chunks.list[chunk], (uint32_t)column,
                                             orri_place_slot(place))
                                 .data
                           : NULL;
    }
    return table != NULL && chunk < table->capacity && table->data[chunk] != NULL
               ? table->data[chunk] + (size_t)orri_place_slot(place) * table->size
               : NULL;
}

// The value of a type in the row of a record; NULL if the entity lacks it.
static inline uint8_t* component_find(const orr_world* world, const orri_record* record,
                                      uint32_t type_index)
{
    if (ORR_UNLIKELY(type_index >= world->tables.capacity)) {
        return NULL;
    }
    if (ORR_UNLIKELY(world->realtime)) {
        bool has;
        uint8_t* published = component_find_published(world, record, type_index, &has);
        if (has) {
            return published;
        }
    }
    const orr_hot_table* table = world->tables.list[type_index];
    uint32_t place = record->place, chunk = place >> ORRI_SLOT_BITS;
    uint8_t* data = NULL;
    if (ORR_LIKELY(chunk < table->capacity)) {
        data = table->data[chunk];
    } else {
        int32_t column = orri_table_column_slow(world, type_index, chunk);
        return column >= 0 ? orri_cells_at(world->chunks.list[chunk], (uint32_t)column,
                                           orri_place_slot(place))
                                 .data
                           : NULL;
    }
    return ORR_LIKELY(data != NULL) ? data + (size_t)orri_place_slot(place) * table->size : NULL;
}

// The same for types in chunks and pinned types.
static inline uint8_t* component_value(const orr_world* world, const orri_record* record,
                                       orr_entity entity, const orri_type* type)
{
    orr_type handle = {type->id};
    return ORR_UNLIKELY(orri_type_pinned(type))
               ? (uint8_t*)(uintptr_t)orri_pinned_here(world, handle, orri_id_index(entity))
               : component_find(world, record, orri_type_index(world, handle));
}

// ---- references ---------------------------------------------------------------------------------

// A check of the entity references in one value.
typedef struct component_check {
    const orr_world* world;
    const orri_type* type;
    orr_entity owner;  // The entity that gets the value, for the error text; null: not known.
    const void* old;   // The value that is replaced; NULL: none.
    orr_entity wanted; // The dead entity that is searched for in `old`.
} component_check;

static bool component_is_another(void* user, orr_entity entity)
{
    return entity.id != ((const component_check*)user)->wanted.id;
}

// Accepts a live entity, and a dead entity that the old value refers to as well: reading a value,
// changing it and setting it again must not fail because a target died in between.
static bool component_accepts(void* user, orr_entity entity)
{
    component_check* check = user;
    if (ORR_LIKELY(orri_record_find(check->world, entity) != NULL) ||
        (check->type->info.transient && orri_transient_alive(check->world, entity))) {
        return true;
    }
    const char* field;
    check->wanted = entity;
    return check->old != NULL &&
           orri_value_entity_reject(check->type, check->old, component_is_another, check, &field)
                   .id == entity.id;
}

static const void* component_old_value(const orr_world* world, const orr_entity* entities,
                                       uint32_t i, const orri_type* type)
{
    const orri_record* record = entities != NULL ? orri_record_find(world, entities[i]) : NULL;
    return record != NULL ? component_value(world, record, entities[i], type) : NULL;
}

// Name and id of an entity, for an error text; "" for null.
static orri_id_text component_name(const orr_world* world, orr_entity entity)
{
    return entity.id != 0 ? orri_entity_format(world, entity) : (orri_id_text){""};
}

// Refuses a value with a reference to a dead entity, or with an owned string or array that is gone.
ORRI_NOINLINE static orr_result component_check_value(const orr_world* world, const char* call,
                                                      const orri_type* type, const void* value,
                                                      component_check* check)
{
    const char* field = "";
    const char* of = check->owner.id != 0 ? " of " : "";
    orr_entity rejected = orri_value_entity_reject(type, value, component_accepts, check, &field);
    if (rejected.id != 0) {
        orri_id_text owner = component_name(world, check->owner);
        orri_id_text name = orri_entity_format(world, rejected);
        return orri_refuse(orri_env_of(world), ORR_ERR_ENTITY, ORR_LOG_ID_ENTITY_REFUSED,
                           "%s: %s.%s%s%s refers to entity %s, which is not alive; store a live "
                           "entity or null",
                           call, type->info.name, field, of, owner.text, name.text);
    }
    if (type->info.has_owned && orri_value_owned_gone(type, value, &field)) {
        orri_id_text owner = component_name(world, check->owner);
        return orri_refuse(
            orri_env_of(world), ORR_ERR_ARGUMENT, ORR_LOG_ID_VALUE_REFUSED,
            "%s: %s.%s%s%s holds an owned string or array that was freed, or is of another "
            "world; store it in the tick in which it was made",
            call, type->info.name, field, of, owner.text);
    }
    return type->has_range ? orri_check_range(world, call, type, check->owner, value) : ORR_OK;
}

orr_result orri_check_range(const orr_world* world, const char* call, const orri_type* type,
                            orr_entity entity, const void* value)
{
    char number[ORRI_NUMBER_SIZE];
    const orr_field_info* field = orri_value_out_of_range(type, value, number);
    if (field == NULL) {
        return ORR_OK;
    }
    return orri_refuse(orri_env_of(world), ORR_ERR_RANGE, ORR_LOG_ID_VALUE_REFUSED,
                       "%s: %s of %s%s%s is %s, but its range is %g to %g; clamp the value, or "
                       "change min and max of the field",
                       call, field->name, type->info.name, entity.id != 0 ? " of " : "",
                       component_name(world, entity).text, number, field->attributes.min,
                       field->attributes.max);
}

// True if a value has nothing to check but references in its own fields, and these are null or to
// live entities. False: the general check must look.
static bool component_refers_to_live(const orr_world* world, const orri_type* type,
                                     const void* value)
{
    const orr_type_info* info = &type->info;
    bool live = !info->has_owned && !type->has_range && info->kind == ORR_KIND_STRUCT;
    for (uint32_t f = 0; live && f < info->field_count; f++) {
        const orr_field_info* field = &info->fields[f];
        if (field->type->has_entities) {
            orr_entity entity;
            live = field->type->kind == ORR_KIND_ENTITY && field->count == 0;
            if (live) {
                memcpy(&entity, (const uint8_t*)value + field->offset, sizeof entity);
                live = entity.id == 0 || orri_record_find(world, entity) != NULL;
            }
        }
    }
    return live;
}

ORRI_NOINLINE static orr_result component_check_slow(const orr_world* world, const char* call,
                                                     const orri_type* type,
                                                     const orr_entity* entities, uint32_t i,
                                                     const void* value)
{
    component_check check = {.world = world, .type = type};
    check.owner = entities != NULL ? entities[i] : (orr_entity){0};
    check.old = component_old_value(world, entities, i, type);
    return component_check_value(world, call, type, value, &check);
}

orr_result orri_check_references(const orr_world* world, const char* call, const orri_type* type,
                                 const orr_entity* entities, const void* values, uint32_t count)
{
    if (!type->info.has_entities && !type->info.has_owned && !type->has_range) {
        return ORR_OK;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t* value = (const uint8_t*)values + (size_t)i * type->info.size;
        orr_result result = component_refers_to_live(world, type, value)
                                ? ORR_OK
                                : component_check_slow(world, call, type, entities, i, value);
        if (ORR_UNLIKELY(result != ORR_OK)) {
            return result;
        }
    }
    return ORR_OK;
}

orr_result orri_check_value(const orr_world* world, const char* call, const orri_type* type,
                            orr_entity entity, const void* old, const void* value)
{
    component_check check = {.world = world, .type = type, .owner = entity, .old = old};
    return type->info.has_entities || type->info.has_owned || type->has_range
               ? component_check_value(world, call, type, value, &check)
               : ORR_OK;
}

// ---- staging ------------------------------------------------------------------------------------

// Prefetches a row. Rows are prefetched at half the distance of records, because the record must be
// loaded by then.
static inline void component_fetch_row(const orr_world* world, orr_entity entity,
                                       uint32_t type_index)
{
    const orri_record* record = orri_record_at(world, orri_id_index(entity));
    const uint8_t* value = component_find(world, record, type_index);
    if (value != NULL) {
        __builtin_prefetch(value, 1);
    }
}

// Prepares the value of the i-th entity for writing.
static bool component_stage_one(orr_world* world, const orri_staged* staged, uint32_t i)
{
    const orri_record* record = orri_record_at(world, orri_id_index(staged->entities[i]));
    orri_chunk* chunk = orri_place_chunk(world, record->place);
    int32_t column =
        orri_table_column(world, orri_type_index(world, (orr_type){staged->type->id}), chunk->id);
    return orri_rows_prepare(world, chunk, (uint32_t)column, orri_place_slot(record->place), 1);
}

static bool component_stage_copy(orri_staged* staged, uint32_t i)
{
    size_t size = staged->type->info.size;
    uint8_t* copy = staged->copies + staged->copy_count * size;
    if (!orri_rows_copy(staged->type, copy, staged->values + i * size, 1)) {
        return false;
    }
    staged->copy_count++;
    return true;
}

// Makes the pages for the links of a value (relation.h).
static bool component_stage_relation(orr_world* world, const orri_staged* staged, uint32_t i)
{
    return orri_relation_prepare(world, orri_table_relation(world, staged->type),
                                 orri_id_index(staged->entities[i]),
                                 staged->values + (size_t)i * staged->type->info.size);
}

orr_result orri_stage_values(orr_world* world, const char* call, const orri_type* type,
                             const orr_entity* entities, const uint32_t* places, uint32_t count,
                             const void* values, orri_staged* out)
{
    *out = (orri_staged){.type = type,
                         .entities = entities,
                         .places = places,
                         .count = count,
                         .values = type->info.size > 0 ? values : orri_marker_byte};
    if (type->plain && world->cow.frozen == 0) {
        return ORR_OK; // Nothing can be refused.
    }
    if (!type->trivial) {
        out->copies = orri_alloc(&world->env, ORR_MEMORY_TEMP, (size_t)count * type->info.size,
                                 ORRI_BLOCK_ALIGN);
        if (out->copies == NULL) {
            return orri_refuse_memory(&world->env, "staging values");
        }
        out->copy_capacity = count;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (places != NULL && places[i] != 0) {
            continue;
        }
        if (!component_stage_one(world, out, i)) {
            return orri_env_result(&world->env);
        }
        if (!type->trivial && !component_stage_copy(out, i)) {
            return orri_refuse_hook(world, call, type);
        }
        if (type->indexed_count > 0 && !component_stage_relation(world, out, i)) {
            return orri_refuse_memory(&world->env, "indexing entity references");
        }
    }
    return ORR_OK;
}

// Overwrites a value of a trivial type without padding; both may be at the same address.
static inline void component_overwrite_plain(uint8_t* data, const void* value, uint32_t size)
{
    if (ORR_LIKELY(size <= 16)) {
        orri_value_move(data, value, size); // Copied through registers.
    } else {
        memmove(data, value, size);
    }
}

// Overwrites a value in the world. For a type that is not trivial, `moved` is moved in and raw
// afterwards.
static void component_overwrite(const orri_type* type, uint8_t* data, const void* value,
                                void* moved)
{
    if (ORR_LIKELY(type->trivial && !type->info.has_padding)) {
        component_overwrite_plain(data, value, type->info.size);
    } else if (type->trivial) {
        memmove(data, value, type->info.size);
        if (type->info.has_padding) {
            orri_rows_clean(type, data, 1);
        }
    } else {
        orri_rows_destruct(type, data, 1);
        orri_rows_move(type, data, moved, 1);
    }
}

static void component_stage_set(orr_world* world, const orri_staged* staged, uint32_t i,
                                uint32_t copy)
{
    const orri_type* type = staged->type;
    const orri_record* record = orri_record_at(world, orri_id_index(staged->entities[i]));
    orri_chunk* chunk = orri_place_chunk(world, record->place);
    int32_t column =
        orri_table_column(world, orri_type_index(world, (orr_type){type->id}), chunk->id);
    uint32_t slot = orri_place_slot(record->place);
    uint8_t* data = orri_rows_write(world, chunk, (uint32_t)column, slot, 1);
    ORR_ASSERT(data != NULL);
    size_t size = type->info.size;
    data += slot * size;
    component_overwrite(type, data, staged->values + i * size,
                        staged->copies != NULL ? staged->copies + copy * size : NULL);
    if (type->indexed_count > 0) {
        orri_relation_set(world, orri_table_relation(world, type),
                          orri_id_index(staged->entities[i]), data);
    }
}

// The share of the block with an entity's value; NULL: not shared.
static inline const orri_share* component_share(const orr_world* world, orr_entity entity,
                                                uint32_t type_index, uint32_t* slot)
{
    uint32_t place = orri_record_at(world, orri_id_index(entity))->place;
    const orri_chunk* chunk = orri_place_chunk(world, place);
    int32_t column = orri_table_column(world, type_index, chunk->id);
    *slot = orri_place_slot(place);
    return column >= 0 ? chunk->columns[column].share : NULL;
}

// Prefetches what writing one of the next values reads and writes.
static inline void component_fetch_next(const orr_world* world, const orri_staged* staged,
                                        uint32_t i)
{
    if (i + COMPONENT_AHEAD < staged->count) {
        __builtin_prefetch(
            orri_record_at(world, orri_id_index(staged->entities[i + COMPONENT_AHEAD])));
        component_fetch_row(world, staged->entities[i + COMPONENT_AHEAD / 2],
                            orri_type_index(world, (orr_type){staged->type->id}));
    }
}

// The same for shared blocks, with their row logs, in three steps: each step reads what the step
// before prefetched.
static void component_fetch_shared(const orr_world* world, const orri_staged* staged, uint32_t i)
{
    uint32_t type_index = orri_type_index(world, (orr_type){staged->type->id}), slot;
    const orr_entity* ahead = staged->entities + i;
    uint32_t left = staged->count - i;
    if (left > 3 * COMPONENT_AHEAD / 2) {
        __builtin_prefetch(orri_record_at(world, orri_id_index(ahead[3 * COMPONENT_AHEAD / 2])));
    }
    if (left > COMPONENT_AHEAD) {
        __builtin_prefetch(component_share(world, ahead[COMPONENT_AHEAD], type_index, &slot));
    }
    if (left > COMPONENT_AHEAD / 2) {
        component_fetch_row(world, ahead[COMPONENT_AHEAD / 2], type_index);
        const orri_share* share =
            component_share(world, ahead[COMPONENT_AHEAD / 2], type_index, &slot);
        if (share != NULL) {
            orri_row_log_prefetch(share, slot);
        }
    }
}

void orri_stage_end(orr_world* world, orri_staged* staged, bool set)
{
    uint32_t copy = 0;
    bool shared = world->cow.live > 0;
    for (uint32_t i = 0; set && i < staged->count; i++) {
        if (ORR_UNLIKELY(shared)) {
            component_fetch_shared(world, staged, i);
        } else {
            component_fetch_next(world, staged, i);
        }
        if (staged->places == NULL || staged->places[i] == 0) {
            component_stage_set(world, staged, i, copy++);
        }
    }
    if (staged->copies != NULL) {
        if (!set) {
            orri_rows_destruct(staged->type, staged->copies, staged->copy_count);
        }
        orri_free(&world->env, ORR_MEMORY_TEMP, staged->copies,
                  (size_t)staged->copy_capacity * staged->type->info.size, ORRI_BLOCK_ALIGN);
    }
}

// ---- one component ------------------------------------------------------------------------------

// While systems run in parallel: the type table that the running system of this thread may read.
// NULL: none, or the access must be checked.
static inline const orr_hot_table* component_table_here(const orr_world* world, orr_type type)
{
    const orri_thread_context* here = &orri_this_thread;
    uint32_t index = orri_type_index(world, type);
    return here->world == world && here->tables != NULL && index < world->tables.capacity
               ? here->tables[index]
               : NULL;
}

// Fast path of orr_component_get() while systems run in parallel, when the tables of the world are
// hidden. NULL: take the slow path.
static const void* component_get_here(const orr_world* world, orr_entity entity, orr_type type)
{
    const orr_hot_table* table = component_table_here(world, type);
    if (table == NULL || (entity.id & ORR_HOT_ID_MASK) >= world->hot.count) {
        return NULL;
    }
    const orri_record* record = orri_record_at(world, orri_id_index(entity));
    uint32_t chunk = record->place >> ORRI_SLOT_BITS;
    if (record->generation != orri_id_generation(entity) || chunk >= table->capacity ||
        table->data[chunk] == NULL) {
        return NULL;
    }
    return table->data[chunk] + (size_t)orri_place_slot(record->place) * table->size;
}

orr_reader orr_reader_make_far(const orr_world* world, orr_type type)
{
    ORR_ASSERT(world != NULL);
    orr_reader reader = {world->hot.pages, NULL, world->hot.count, 0, 0, type, world};
    const orr_hot_table* table = world->running.parallel ? component_table_here(world, type) : NULL;
    if (table != NULL) {
        reader.data = table->data;
        reader.capacity = table->capacity;
        reader.size = table->size;
    }
    return reader;
}

// The value of a transient entity.
ORRI_COLD static const void* component_get_transient(const orr_world* world, orr_entity entity,
                                                     orr_type type)
{
    return orri_pinned_here(world, type, orri_id_index(entity));
}

const void* orr_component_get_far(const orr_world* world, orr_entity entity, orr_type type)
{
    ORR_ASSERT(world != NULL);
    const void* value = world->running.parallel ? component_get_here(world, entity, type) : NULL;
    if (value != NULL) {
        return value;
    }
    if (!orri_access_reads(world, "orr_get", type, entity)) {
        return NULL;
    }
    const orri_record* record = orri_record_find(world, entity);
    if (record == NULL && orri_transient_alive(world, entity)) {
        return component_get_transient(world, entity, type);
    }
    if (record == NULL) {
        (void)orri_refuse_entity(world, "orr_get", entity, type);
        return NULL;
    }
    const orri_type* found = orri_type_at(&world->schema, type);
    if (found == NULL) {
        (void)orri_refuse_type(world, "orr_get", type);
        return NULL;
    }
    return component_value(world, record, entity, found);
}

const void* orr_reader_get_far(const orr_world* world, orr_type type, orr_entity entity)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_reads(world, "orr_reader_get", type, entity)) {
        return NULL;
    }
    const orri_record* record = orri_record_find(world, entity);
    const orri_type* found = orri_type_at(&world->schema, type);
    if (record == NULL && orri_transient_alive(world, entity)) {
        return component_get_transient(world, entity, type);
    }
    return record != NULL && found != NULL ? component_value(world, record, entity, found) : NULL;
}

ORRI_COLD static void* component_refuse_edit(const orr_world* world,
                                             const orri_cluster_column* column)
{
    const char* call = "orr_edit";
    (void)(column->counts != 0 ? orri_refuse_multiple(world, call, (orr_type){column->type->id})
                               : orri_refuse_in_place(world, call, column->type));
    return NULL;
}

void* orr_component_edit(orr_world* world, orr_entity entity, orr_type type)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_writes(world, "orr_edit", type, entity)) {
        return NULL;
    }
    const orri_record* record = orri_record_find(world, entity);
    if (ORR_UNLIKELY(record == NULL)) {
        if (orri_transient_alive(world, entity)) {
            return orri_pinned_edit(world, "orr_edit", entity, type);
        }
        (void)orri_refuse_entity(world, "orr_edit", entity, type);
        return NULL;
    }
    orri_chunk* chunk = orri_place_chunk(world, record->place);
    int32_t column = orri_table_column(world, orri_type_index(world, type), chunk->id);
    if (column < 0) {
        return orri_pinned_edit(world, "orr_edit", entity, type);
    }
    const orri_cluster_column* owner = &chunk->cluster->columns[column];
    if (ORR_UNLIKELY((owner->counts | owner->by_value) != 0)) {
        return component_refuse_edit(world, owner);
    }
    uint32_t slot = orri_place_slot(record->place);
    uint8_t* data = orri_rows_write(world, chunk, (uint32_t)column, slot, 1);
    return data != NULL ? data + (size_t)slot * owner->size : NULL;
}

ORRI_COLD static bool component_has_transient(const orr_world* world, orr_entity entity,
                                              orr_type type)
{
    return orri_transient_alive(world, entity) &&
           component_get_transient(world, entity, type) != NULL;
}

bool orr_component_has(const orr_world* world, orr_entity entity, orr_type type)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_reads(world, "orr_has", type, entity)) {
        return false;
    }
    const orri_record* record = orri_record_find(world, entity);
    if (ORR_UNLIKELY(record == NULL)) {
        return component_has_transient(world, entity, type);
    }
    return component_find(world, record, orri_type_index(world, type)) != NULL ||
           orri_pool_get(orri_pool_find(world, type), orri_id_index(entity)) != NULL;
}

// Moves a row to the cluster with one type more or less. A cluster created for it is undone when
// the move is refused.
static orr_result component_move(orr_world* world, const char* call, orri_record* record,
                                 const orri_type* type, int direction, const void* value)
{
    bool created;
    orri_cluster* from = orri_place_chunk(world, record->place)->cluster;
    const orri_transition* transition =
        orri_transition_edge(world, call, from, (orr_type){type->id}, direction, &created);
    if (ORR_UNLIKELY(transition == NULL)) {
        return orri_env_result(&world->env);
    }
    orri_cluster* to = transition->to;
    orr_result result = orri_move_one(world, call, transition, record, type, value);
    if (ORR_UNLIKELY(result != ORR_OK) && created) {
        orri_cluster_undo(world, to);
    }
    return result;
}

// Overwrites a value with indexed references.
static orr_result component_set_indexed(orr_world* world, orri_chunk* chunk, uint32_t column,
                                        uint32_t slot, const void* value)
{
    const orri_type* type = chunk->cluster->columns[column].type;
    orri_relation* relation = chunk->cluster->columns[column].table->relation;
    uint32_t index = orri_chunk_ids(chunk)[slot];
    if (ORR_UNLIKELY(!orri_relation_prepare(world, relation, index, value))) {
        return orri_refuse_memory(&world->env, "indexing entity references");
    }
    uint8_t* data = orri_rows_write(world, chunk, column, slot, 1);
    if (ORR_UNLIKELY(data == NULL)) {
        return orri_env_result(&world->env);
    }
    data += (size_t)slot * type->info.size;
    component_overwrite(type, data, value, NULL);
    orri_relation_set(world, relation, index, data);
    return ORR_OK;
}

// Sets a value with hooks or owned handles.
ORRI_COLD static orr_result component_set_staged(orr_world* world, orr_entity entity,
                                                 const orri_type* type, const void* value)
{
    orri_staged staged;
    orr_result result = orri_stage_values(world, "orr_set", type, &entity, NULL, 1, value, &staged);
    orri_stage_end(world, &staged, result == ORR_OK);
    return result;
}

// Adds or removes a type in chunks by the cluster's edge used last: most calls. False: not done.
static inline bool component_edge_near(orr_world* world, const char* call, orr_entity entity,
                                       orr_type type, int direction, orr_result* result)
{
    uint32_t index = orri_type_index(world, type);
    // A thread that may not access the world may not read the record either.
    if (ORR_UNLIKELY(!orri_world_open(world) || index >= world->tables.capacity)) {
        return false;
    }
    orri_record* record = orri_record_find(world, entity);
    if (ORR_UNLIKELY(record == NULL)) {
        return false;
    }
    const orri_table* table = (const orri_table*)(const void*)world->tables.list[index];
    uint32_t chunk = record->place >> ORRI_SLOT_BITS;
    if (ORR_UNLIKELY(chunk >= table->hot.capacity)) {
        return false;
    }
    if ((table->hot.data[chunk] != NULL) == (direction == ORRI_EDGE_ADD)) {
        *result = ORR_OK;
        return true;
    }
    const orri_transition* transition = world->chunks.list[chunk]->cluster->edge_last;
    if (ORR_UNLIKELY(transition == NULL ||
                     transition->edge != ((uint64_t)type.id << 1 | (unsigned)direction)) ||
        (direction == ORRI_EDGE_REMOVE && table->needed)) {
        return false;
    }
    *result = orri_move_one(world, call, transition, record, NULL, NULL);
    return true;
}

// Sets a value that needs no check, in a block that was stamped in this epoch, or adds it by the
// cluster's edge used last: most calls. False: not done.
static inline bool component_set_near(orr_world* world, orr_entity entity, orr_type type,
                                      const void* value, orr_result* result)
{
    uint32_t index = orri_type_index(world, type);
    // A thread that may not access the world may not read the record either.
    if (ORR_UNLIKELY(world->running.access != NULL || index >= world->tables.capacity ||
                     value == NULL)) {
        return false;
    }
    orri_record* record = orri_record_find(world, entity);
    if (ORR_UNLIKELY(record == NULL)) {
        return false;
    }
    const orri_table* table = (const orri_table*)(const void*)world->tables.list[index];
    uint32_t id = record->place >> ORRI_SLOT_BITS;
    if (ORR_UNLIKELY(!table->direct_set || id >= table->hot.capacity)) {
        return false;
    }
    const orri_chunk* chunk = world->chunks.list[id];
    if (table->hot.data[id] != NULL) {
        uint32_t size = table->hot.size;
        if (ORR_UNLIKELY(chunk->columns[table->column[id] - 1].version != orri_epoch(world))) {
            return false;
        }
        component_overwrite_plain(
            table->hot.data[id] + (size_t)orri_place_slot(record->place) * size, value, size);
        *result = ORR_OK;
        return true;
    }
    const orri_transition* transition = chunk->cluster->edge_last;
    if (ORR_UNLIKELY(transition == NULL || transition->edge != (uint64_t)type.id << 1 ||
                     !orri_world_open(world))) {
        return false;
    }
    *result = orri_move_one(world, "orr_set", transition, record, table->type, value);
    return true;
}

ORRI_NOINLINE static orr_result component_set_slow(orr_world* world, orr_entity entity,
                                                   orr_type type, const void* value)
{
    if (!orri_access_writes(world, "orr_set", type, entity)) {
        return orri_env_result(&world->env);
    }
    orri_record* record = orri_record_find(world, entity);
    const orri_type* found = orri_type_at(&world->schema, type);
    if (ORR_UNLIKELY(record == NULL)) {
        return orri_transient_set(world, "orr_set", entity, type, value);
    }
    if (ORR_UNLIKELY(found == NULL)) {
        return orri_refuse_type(world, "orr_set", type);
    }
    if (ORR_UNLIKELY(found->info.multiplicity != ORR_UNIQUE)) {
        return orri_refuse_multiple(world, "orr_set", type);
    }
    if (ORR_UNLIKELY(value == NULL && found->info.size > 0)) {
        orri_id_text name = orri_entity_format(world, entity);
        return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                           "orr_set: the value of %s for entity %s is NULL; use "
                           "orr_add() for the preset",
                           found->info.name, name.text);
    }
    orr_result result = ORR_OK;
    if (ORR_UNLIKELY(found->info.has_entities || found->info.has_owned || found->has_range)) {
        result = orri_check_references(world, "orr_set", found, &entity, value, 1);
        if (result != ORR_OK) {
            return result;
        }
    }
    if (ORR_UNLIKELY(orri_type_pinned(found))) {
        return orri_pinned_set(world, "orr_set", entity, found, value);
    }
    orri_chunk* chunk = orri_place_chunk(world, record->place);
    int32_t column = orri_table_column(world, orri_type_index(world, type), chunk->id);
    if (column < 0) {
        result = orri_check_open_of(world, "orr_set", type, entity);
        return result == ORR_OK
                   ? component_move(world, "orr_set", record, found, ORRI_EDGE_ADD, value)
                   : result;
    }
    uint32_t slot = orri_place_slot(record->place);
    if (ORR_UNLIKELY(!found->plain)) {
        return found->trivial ? component_set_indexed(world, chunk, (uint32_t)column, slot, value)
                              : component_set_staged(world, entity, found, value);
    }
    uint8_t* data = orri_rows_write(world, chunk, (uint32_t)column, slot, 1);
    if (ORR_UNLIKELY(data == NULL)) {
        return orri_env_result(&world->env);
    }
    if (found->info.size > 0) {
        component_overwrite(found, data + (size_t)slot * found->info.size, value, NULL);
    }
    return ORR_OK;
}

orr_result orr_component_set(orr_world* world, orr_entity entity, orr_type type, const void* value)
{
    ORR_ASSERT(world != NULL);
    orr_result result;
    return ORR_LIKELY(component_set_near(world, entity, type, value, &result))
               ? result
               : component_set_slow(world, entity, type, value);
}

// Adds or removes a type in chunks.
ORRI_NOINLINE static orr_result component_edge_chunk(orr_world* world, const char* call,
                                                     orri_record* record, orr_entity entity,
                                                     const orri_type* found, int direction)
{
    orr_type type = {found->id};
    bool has = component_find(world, record, orri_type_index(world, type)) != NULL;
    if (has == (direction == ORRI_EDGE_ADD) && ORR_LIKELY(!orri_access_checked(world))) {
        return ORR_OK;
    }
    if (ORR_UNLIKELY(!orri_world_open(world))) {
        orr_result result = orri_check_open_of(world, call, type, entity);
        if (result != ORR_OK) {
            return result;
        }
    }
    if (direction == ORRI_EDGE_REMOVE) {
        const orr_hot_table* table = world->tables.list[orri_type_index(world, type)];
        if (ORR_UNLIKELY(((const orri_table*)(const void*)table)->needed)) {
            const orri_cluster* cluster = orri_place_chunk(world, record->place)->cluster;
            orr_result result =
                orri_required_types_check_remove(world, call, cluster, entity, type);
            if (result != ORR_OK) {
                return result;
            }
        }
    }
    return component_move(world, call, record, found, direction, NULL);
}

ORRI_NOINLINE static orr_result component_edge(orr_world* world, const char* call,
                                               orr_entity entity, orr_type type, int direction)
{
    ORR_ASSERT(world != NULL);
    orri_record* record = orri_record_find(world, entity);
    if (ORR_UNLIKELY(record == NULL)) {
        return orri_transient_edge(world, call, entity, type, direction == ORRI_EDGE_ADD);
    }
    const orri_type* found = orri_type_at(&world->schema, type);
    if (ORR_UNLIKELY(found == NULL)) {
        return orri_refuse_type(world, call, type);
    }
    if (!orri_type_pinned(found)) {
        return component_edge_chunk(world, call, record, entity, found, direction);
    }
    if (ORR_UNLIKELY(orri_access_checked(world))) {
        return orri_refuse_structure(world, call, type, entity);
    }
    return direction == ORRI_EDGE_ADD ? orri_pinned_add(world, call, entity, found)
                                      : orri_pinned_remove(world, call, entity, found);
}

// The pool of a type where the short paths of pools may be tried. NULL: none, or another thread may
// change pools at this moment.
static inline orri_pool* component_pool_quick(const orr_world* world, orr_type type)
{
    return world->running.access == NULL && !world->realtime ? orri_pool_find(world, type) : NULL;
}

orr_result orr_component_add(orr_world* world, orr_entity entity, orr_type type)
{
    ORR_ASSERT(world != NULL);
    orr_result result;
    if (ORR_LIKELY(component_edge_near(world, "orr_add", entity, type, ORRI_EDGE_ADD, &result))) {
        return result;
    }
    orri_pool* pool = component_pool_quick(world, type);
    return pool != NULL && orri_pool_add_quick(world, pool, entity)
               ? ORR_OK
               : component_edge(world, "orr_add", entity, type, ORRI_EDGE_ADD);
}

orr_result orr_component_remove(orr_world* world, orr_entity entity, orr_type type)
{
    ORR_ASSERT(world != NULL);
    orr_result result;
    if (ORR_LIKELY(
            component_edge_near(world, "orr_remove", entity, type, ORRI_EDGE_REMOVE, &result))) {
        return result;
    }
    orri_pool* pool = component_pool_quick(world, type);
    return pool != NULL && orri_pool_remove_quick(world, pool, entity)
               ? ORR_OK
               : component_edge(world, "orr_remove", entity, type, ORRI_EDGE_REMOVE);
}

// ---- batches of values --------------------------------------------------------------------------

static orr_result component_refuse_absent(const orr_world* world, const char* call,
                                          orr_entity entity, orr_type type)
{
    const orri_type* found = orri_type_at(&world->schema, type);
    if (found != NULL && orri_type_pseudo(found)) {
        return orri_refuse_pseudo(world, call, found); // It cannot be added.
    }
    orri_id_text name = orri_entity_format(world, entity);
    return orri_refuse(orri_env_of(world), ORR_ERR_ABSENT, ORR_LOG_ID_ENTITY_REFUSED,
                       "%s: entity %s has no %s; add it first", call, name.text,
                       orri_type_label(world, type));
}

static inline void component_fetch_ahead(const orr_world* world, const orr_entity* entities,
                                         uint32_t i, uint32_t count)
{
    if (i + COMPONENT_AHEAD < count) {
        uint32_t ahead = orri_id_index(entities[i + COMPONENT_AHEAD]);
        if (ahead < world->hot.count) {
            __builtin_prefetch(orri_record_at(world, ahead));
        }
    }
}

// Checks the arguments of a batch of values.
static orr_result component_check_arguments(const orr_world* world, const char* call,
                                            const orr_entity* entities, uint32_t count,
                                            orr_type type, const void* values)
{
    const orri_type* found = orri_type_at(&world->schema, type);
    if (found == NULL) {
        return orri_refuse_type(world, call, type);
    }
    if (found->info.multiplicity != ORR_UNIQUE) {
        return orri_refuse_multiple(world, call, type);
    }
    if (count > 0 && (entities == NULL || (values == NULL && found->info.size > 0))) {
        return orri_refuse_argument(world, call, "entities or values is NULL");
    }
    return ORR_OK;
}

// Checks a batch of values before anything changes: all entities must be alive and have the type.
static orr_result component_check_many(const orr_world* world, const char* call,
                                       const orr_entity* entities, uint32_t count, orr_type type,
                                       const void* values)
{
    orr_result result = component_check_arguments(world, call, entities, count, type, values);
    const orri_type* found = result == ORR_OK ? orri_type_at(&world->schema, type) : NULL;
    for (uint32_t i = 0; result == ORR_OK && i < count; i++) {
        component_fetch_ahead(world, entities, i, count);
        const orri_record* record = orri_record_find(world, entities[i]);
        if (record == NULL) {
            return orri_refuse_entity(world, call, entities[i], type);
        }
        if (component_value(world, record, entities[i], found) == NULL) {
            return component_refuse_absent(world, call, entities[i], type);
        }
    }
    return result;
}

orr_result orr_component_set_many(orr_world* world, const orr_entity* entities, uint32_t count,
                                  orr_type type, const void* values)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_writes(world, "orr_component_set_many", type,
                            entities != NULL && count > 0 ? entities[0] : (orr_entity){0})) {
        return orri_env_result(&world->env);
    }
    const char* call = "orr_component_set_many";
    orr_result result = component_check_many(world, call, entities, count, type, values);
    if (result != ORR_OK) {
        return result;
    }
    const orri_type* found = orri_type_at(&world->schema, type);
    result = orri_check_references(world, call, found, entities, values, count);
    if (result != ORR_OK || found->info.size == 0) {
        return result;
    }
    if (orri_type_pinned(found)) {
        return orri_pinned_set_many(world, call, entities, count, found, values);
    }
    orri_staged staged;
    result = orri_stage_values(world, call, found, entities, NULL, count, values, &staged);
    orri_stage_end(world, &staged, result == ORR_OK);
    return result;
}

// Copies values that the type table finds, until one is not there. Returns how many. Inlined for
// the common sizes.
static inline uint32_t component_copy_near(const orr_world* world, const orr_hot_table* table,
                                           const orr_entity* entities, uint32_t count, uint8_t* out,
                                           uint32_t size)
{
    orri_record* const* pages = world->hot.pages; // Locals: `out` may be anything.
    uint8_t* const* data = table->data;
    uint32_t records = world->hot.count, capacity = table->capacity, i = 0;
    for (; i < count; i++) {
        uint64_t index = entities[i].id & ORR_HOT_ID_MASK;
        if (ORR_UNLIKELY(index >= records)) {
            break;
        }
        const orri_record* record = &pages[index >> ORRI_PAGE_BITS][index & ORRI_PAGE_MASK];
        uint32_t place = record->place, chunk = place >> ORRI_SLOT_BITS;
        if (ORR_UNLIKELY(record->generation != orri_id_generation(entities[i]) ||
                         chunk >= capacity || data[chunk] == NULL)) {
            break;
        }
        memcpy(out + (size_t)i * size, data[chunk] + (size_t)orri_place_slot(place) * size, size);
    }
    return i;
}

ORRI_HOT static uint32_t component_copy_run(const orr_world* world, const orr_hot_table* table,
                                            const orr_entity* entities, uint32_t count,
                                            uint8_t* out, uint32_t size)
{
    switch (size) {
    case 4:
        return component_copy_near(world, table, entities, count, out, 4);
    case 8:
        return component_copy_near(world, table, entities, count, out, 8);
    case 12:
        return component_copy_near(world, table, entities, count, out, 12);
    case 16:
        return component_copy_near(world, table, entities, count, out, 16);
    default:
        return component_copy_near(world, table, entities, count, out, size);
    }
}

// Copies the values of a batch one after another, and stops at the first refusal.
static orr_result component_copy_many(const orr_world* world, const char* call,
                                      const orr_entity* entities, uint32_t count,
                                      const orri_type* type, uint8_t* out)
{
    orr_type handle = {type->id};
    uint32_t index = orri_type_index(world, handle), size = type->info.size;
    // Real time: the thread may see published values. Pinned types and markers are not in the table
    // or have nothing to copy.
    const orr_hot_table* table = world->realtime || size == 0 || orri_type_pinned(type) ||
                                         index >= world->tables.capacity
                                     ? &orri_table_none.hot
                                     : world->tables.list[index];
    for (uint32_t i = 0; i < count; i++) {
        i +=
            component_copy_run(world, table, entities + i, count - i, out + (size_t)i * size, size);
        if (i == count) {
            break;
        }
        const orri_record* record = orri_record_find(world, entities[i]);
        if (record == NULL) {
            return orri_refuse_entity(world, call, entities[i], handle);
        }
        const uint8_t* value = component_value(world, record, entities[i], type);
        if (value == NULL) {
            return component_refuse_absent(world, call, entities[i], handle);
        }
        if (size > 0) {
            orri_value_move(out + (size_t)i * size, value, size);
        }
    }
    return ORR_OK;
}

orr_result orr_component_get_many(const orr_world* world, const orr_entity* entities,
                                  uint32_t count, orr_type type, void* out)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_component_get_many";
    if (!orri_access_reads(world, call, type,
                           entities != NULL && count > 0 ? entities[0] : (orr_entity){0})) {
        return ORR_ERR_STATE;
    }
    orr_result result = component_check_arguments(world, call, entities, count, type, out);
    if (result != ORR_OK) {
        return result;
    }
    uint8_t marker; // The value of a marker has no bytes, so `out` may be NULL.
    const orri_type* found = orri_type_at(&world->schema, type);
    return component_copy_many(world, call, entities, count, found,
                               found->info.size > 0 ? out : &marker);
}

#undef COMPONENT_AHEAD
