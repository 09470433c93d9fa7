// SPDX-License-Identifier: MIT
// Creates, copies, destroys, addresses and moves entities. A creation makes room, reserves ids and
// makes the values; only then the rows become visible.
#include "store/change/change_set.h"
#include "store/pool/pool.h"
#include "store/publish/publish.h"
#include "store/relation/relation.h"
#include "store/table/transient.h"
#include "store/world/access.h"
#include <stdio.h>

// ---- creating -----------------------------------------------------------------------------------

// The data given for a type; NULL: none.
static const orr_column_data* entity_data_of(const orr_column_data* data, uint32_t data_count,
                                             orr_type type)
{
    for (uint32_t i = 0; i < data_count; i++) {
        if (data[i].type.id == type.id) {
            return &data[i];
        }
    }
    return NULL;
}

bool orri_column_copy(orri_cluster* cluster, uint32_t column, uint32_t first, uint32_t count,
                      const void* values)
{
    const orri_type* type = cluster->columns[column].type;
    size_t size = type->info.size;
    for (uint32_t done = 0, run; done < count; done += run) {
        uint32_t slot = (first + done) & ORRI_SLOT_MASK;
        run = count - done < ORR_CHUNK_CAPACITY - slot ? count - done : ORR_CHUNK_CAPACITY - slot;
        const uint8_t* from = size > 0 ? (const uint8_t*)values + done * size : orri_marker_byte;
        if (!orri_cells_make(orri_cluster_chunk_of(cluster, first + done), column, slot, run,
                             from)) {
            orri_column_destruct(cluster, column, first, done);
            return false;
        }
    }
    return true;
}

// Makes the values of `count` new rows in all columns. On refusal (reported) no value is left.
static orr_result entity_make_values(orr_world* world, const char* call, orri_cluster* cluster,
                                     uint32_t count, const orr_column_data* data,
                                     uint32_t data_count)
{
    uint32_t first = cluster->row_count;
    for (uint32_t c = 0; c < cluster->type_count; c++) {
        const orr_column_data* given = entity_data_of(data, data_count, cluster->types[c]);
        bool made = given != NULL ? orri_column_copy(cluster, c, first, count, given->values)
                                  : orri_column_construct(cluster, c, first, count);
        if (!made) {
            const orri_type* type = cluster->columns[c].type;
            while (c-- > 0) {
                orri_column_destruct(cluster, c, first, count);
            }
            return orri_refuse_hook(world, call, type);
        }
    }
    return ORR_OK;
}

// Makes the pages for the links of new rows (relation.h). On refusal the values of the rows are
// destructed.
static orr_result entity_prepare_relations(orr_world* world, orri_cluster* cluster, uint32_t count)
{
    uint32_t first = cluster->row_count;
    if (!cluster->indexed || orri_relation_prepare_rows(world, cluster, first, count)) {
        return ORR_OK;
    }
    for (uint32_t c = 0; c < cluster->type_count; c++) {
        orri_column_destruct(cluster, c, first, count);
    }
    return orri_refuse_memory(&world->env, "indexing entity references");
}

// Prepares `count` rows behind the last one for writing.
static bool entity_prepare_rows(orr_world* world, orri_cluster* cluster, uint32_t count)
{
    uint32_t end = cluster->row_count + count;
    for (uint32_t row = cluster->row_count; row < end;
         row = (row & ~ORRI_SLOT_MASK) + ORR_CHUNK_CAPACITY) {
        orri_chunk* chunk = orri_cluster_chunk_of(cluster, row);
        uint32_t slot = row & ORRI_SLOT_MASK;
        uint32_t room = ORR_CHUNK_CAPACITY - slot;
        room = end - row < room ? end - row : room;
        if (!orri_chunk_prepare_rows(world, chunk, slot, room)) {
            return false;
        }
        orri_rows_open(chunk, slot, room);
    }
    return true;
}

// Makes `count` new rows visible: assigns ids, enables everything, enters links. Cannot fail.
static void entity_give_rows(orr_world* world, orri_cluster* cluster, uint32_t count,
                             orr_entity* out)
{
    uint32_t first = cluster->row_count;
    for (uint32_t done = 0, run; done < count; done += run) {
        uint32_t slot = cluster->row_count & ORRI_SLOT_MASK;
        run = count - done < ORR_CHUNK_CAPACITY - slot ? count - done : ORR_CHUNK_CAPACITY - slot;
        orri_chunk* chunk = orri_cluster_chunk_of(cluster, cluster->row_count);
        orri_chunk_stamp_rows(world, chunk);
        orri_index_give(world, chunk, slot, run, out != NULL ? out + done : NULL);
        for (uint32_t c = 0; cluster->has_bits && c <= cluster->type_count; c++) {
            uint64_t* bits = (uint64_t*)(void*)orri_chunk_bits(chunk, c)->data;
            uint32_t shift = cluster->columns[c].shift;
            if (bits != NULL) {
                orri_bits_fill(bits, slot << shift, run << shift, true);
            }
        }
        cluster->row_count += run;
    }
    if (cluster->indexed) {
        orri_relation_enter_rows(world, cluster, first, count);
    }
}

// Reports why a cluster could not grow: the chunk limit of the world, or memory.
ORRI_COLD static orr_result entity_refuse_rows(orr_world* world, const char* call,
                                               const orri_cluster* cluster, uint32_t count)
{
    if (orri_chunks_live(world) >= ORRI_CHUNKS_MAX) {
        return orri_refuse_room(world, call);
    }
    size_t row = 0;
    for (uint32_t c = 0; c < cluster->column_count; c++) {
        row += cluster->sizes[c];
    }
    char doing[ORRI_ERROR_SIZE / 2];
    snprintf(doing, sizeof doing, "%s made room for %u more rows of %zu bytes", call, count, row);
    return orri_refuse_memory(&world->env, doing);
}

orr_result orri_rows_create(orr_world* world, const char* call, orri_cluster* cluster,
                            uint32_t count, const orr_column_data* data, uint32_t data_count,
                            orr_entity* out)
{
    orr_result result = orri_index_reserve(world, call, count);
    if (ORR_UNLIKELY(result != ORR_OK)) {
        return result;
    }
    if (ORR_UNLIKELY(count > cluster->row_capacity - cluster->row_count) &&
        !orri_cluster_reserve(world, cluster, count)) {
        orri_index_trim(world);
        return entity_refuse_rows(world, call, cluster, count);
    }
    result = entity_prepare_rows(world, cluster, count)
                 ? entity_make_values(world, call, cluster, count, data, data_count)
                 : orri_env_result(&world->env);
    if (result == ORR_OK) {
        result = entity_prepare_relations(world, cluster, count);
    }
    if (ORR_UNLIKELY(result != ORR_OK)) {
        orri_cluster_trim(world, cluster);
        orri_index_trim(world);
        return result;
    }
    entity_give_rows(world, cluster, count, out);
    return ORR_OK;
}

// Short path: creates one row of `type_count` plain columns where there is room and everything is
// stamped in this epoch. Most creations take it. Null: nothing was done.
static inline orr_entity entity_create_ready(orr_world* world, orri_cluster* cluster,
                                             uint32_t type_count)
{
    uint32_t row = cluster->row_count, slot = row & ORRI_SLOT_MASK;
    orri_chunk* chunk = cluster->direct_new ? orri_cluster_ready(world, cluster, row) : NULL;
    orr_entity entity = {0};
    if (ORR_LIKELY(chunk != NULL)) {
        entity = orri_index_give_ready(world, orri_place_make(chunk, slot));
    }
    if (ORR_UNLIKELY(entity.id == 0)) {
        return entity;
    }
    orri_rows_open(chunk, slot, 1);
    for (uint32_t c = 0; c < type_count; c++) {
        const void* preset = cluster->columns[c].type->preset;
        orri_value_move_short(chunk->columns[c].data, slot, preset != NULL ? preset : orri_zeros, 0,
                              cluster->sizes[c]);
    }
    orri_chunk_ids(chunk)[slot] = orri_id_index(entity);
    cluster->row_count = row + 1;
    return entity;
}

ORRI_NOINLINE static orr_entity entity_create_typed(orr_world* world, orri_cluster* cluster)
{
    return entity_create_ready(world, cluster, cluster->type_count);
}

// Long path of a creation. A cluster created for it is undone when it is refused.
ORRI_NOINLINE static orr_entity entity_create_far(orr_world* world, const char* call,
                                                  orri_cluster* cluster, bool created)
{
    orr_entity entity = {0};
    if (ORR_LIKELY(orri_world_open(world)) || orri_check_open(world, call) == ORR_OK) {
        if (orri_parked_ready(world, cluster)) {
            entity = entity_create_typed(world, cluster);
        }
        if (entity.id == 0 &&
            orri_rows_create(world, call, cluster, 1, NULL, 0, &entity) != ORR_OK) {
            orri_cluster_trim(world, cluster);
        }
    }
    if (entity.id == 0 && created) {
        orri_cluster_undo(world, cluster);
    }
    return entity;
}

// Creates an entity without components, and its cluster if needed.
ORRI_NOINLINE static orr_entity entity_create_empty(orr_world* world)
{
    ORR_ASSERT(world != NULL);
    bool created = false;
    orri_cluster* cluster = world->clusters.empty;
    if (ORR_UNLIKELY(cluster == NULL)) {
        if (orri_check_open(world, "orr_create") != ORR_OK) {
            return (orr_entity){0};
        }
        cluster = orri_cluster_obtain_empty(world, "orr_create", &created);
    }
    return cluster != NULL ? entity_create_far(world, "orr_create", cluster, created)
                           : (orr_entity){0};
}

orr_entity orr_create(orr_world* world)
{
    // Calls nothing, so that no register must be saved: the long path asserts.
    orri_cluster* cluster = world != NULL ? world->clusters.empty : NULL;
    if (ORR_LIKELY(cluster != NULL && orri_world_open(world))) {
        orr_entity entity = entity_create_ready(world, cluster, 0);
        if (ORR_LIKELY(entity.id != 0)) {
            return entity;
        }
    }
    return entity_create_empty(world);
}

ORRI_COLD static orr_entity entity_refuse_cluster(const orr_world* world, const char* call,
                                                  orr_cluster handle)
{
    (void)orri_refuse_cluster(world, call, handle);
    return (orr_entity){0};
}

orr_entity orr_create_in(orr_world* world, orr_cluster handle)
{
    ORR_ASSERT(world != NULL);
    orri_cluster* cluster = orri_cluster_at(world, handle);
    if (ORR_UNLIKELY(cluster == NULL)) {
        return entity_refuse_cluster(world, "orr_create_in", handle);
    }
    if (ORR_LIKELY(orri_world_open(world))) {
        orr_entity entity = entity_create_typed(world, cluster);
        if (ORR_LIKELY(entity.id != 0)) {
            return entity;
        }
    }
    return entity_create_far(world, "orr_create_in", cluster, false);
}

// Checks the values given to orr_create_many().
static orr_result entity_check_data(const orr_world* world, const orri_cluster* cluster,
                                    uint32_t count, const orr_column_data* data,
                                    uint32_t data_count)
{
    const char* call = "orr_create_many";
    for (uint32_t i = 0; i < data_count; i++) {
        const orri_type* type = orri_type_at(&world->schema, data[i].type);
        if (type == NULL) {
            return orri_refuse_type(world, call, data[i].type);
        }
        if (orri_type_pinned(type)) {
            return orri_refuse_pinned(world, call, data[i].type);
        }
        if (orri_cluster_find_column(cluster, data[i].type) < 0) {
            return orri_refuse(orri_env_of(world), ORR_ERR_ABSENT, ORR_LOG_ID_CALL_REFUSED,
                               "%s: the cluster does not have %s; leave its values out", call,
                               type->info.name);
        }
        if (data[i].values == NULL && type->info.size > 0) {
            return orri_refuse(orri_env_of(world), ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                               "%s: the values of %s are NULL; leave the type out for presets",
                               call, type->info.name);
        }
        if (entity_data_of(data, i, data[i].type) != NULL) {
            return orri_refuse(orri_env_of(world), ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                               "%s: values of %s are given twice; give them once", call,
                               type->info.name);
        }
        orr_result result = orri_check_references(world, call, type, NULL, data[i].values, count);
        if (result != ORR_OK) {
            return result;
        }
    }
    return ORR_OK;
}

orr_result orr_create_many(orr_world* world, orr_cluster handle, uint32_t count,
                           const orr_column_data* data, uint32_t data_count, orr_entity* out)
{
    ORR_ASSERT(world != NULL);
    orr_result result = orri_check_open(world, "orr_create_many");
    if (result != ORR_OK) {
        return result;
    }
    orri_cluster* cluster = orri_cluster_at(world, handle);
    if (cluster == NULL) {
        return orri_refuse_cluster(world, "orr_create_many", handle);
    }
    if (data == NULL && data_count > 0) {
        return orri_refuse_argument(world, "orr_create_many", "data is NULL");
    }
    result = entity_check_data(world, cluster, count, data, data_count);
    if (result != ORR_OK || count == 0) {
        return result;
    }
    return orri_rows_create(world, "orr_create_many", cluster, count, data, data_count, out);
}

// ---- copying ------------------------------------------------------------------------------------

// Copies all values of a row into the raw row behind the last one. Types marked `preset_is_tick`
// get their preset instead.
static orr_result entity_copy_values(orr_world* world, orri_chunk* chunk, uint32_t slot)
{
    orri_cluster* cluster = chunk->cluster;
    uint32_t row = cluster->row_count, target_slot = row & ORRI_SLOT_MASK;
    orri_chunk* target = orri_cluster_chunk_of(cluster, row);
    for (uint32_t c = 0; c < cluster->type_count; c++) {
        const orri_type* type = cluster->columns[c].type;
        bool made = ORR_UNLIKELY(type->preset_is_tick)
                        ? orri_column_construct(cluster, c, row, 1)
                        : orri_cell_duplicate(target, target_slot, chunk, slot, c);
        if (!made) {
            while (c-- > 0) {
                orri_column_destruct(cluster, c, row, 1);
            }
            return orri_refuse_hook(world, "orr_copy", type);
        }
    }
    return ORR_OK;
}

static void entity_copy_bits(orri_chunk* to, uint32_t to_slot, orri_chunk* from, uint32_t slot)
{
    for (uint32_t c = 0; to->cluster->has_bits && c <= to->cluster->type_count; c++) {
        uint64_t* bits = (uint64_t*)(void*)orri_chunk_bits(to, c)->data;
        const uint64_t* source = (const uint64_t*)(void*)orri_chunk_bits(from, c)->data;
        uint32_t shift = to->cluster->columns[c].shift;
        if (bits != NULL) {
            orri_bits_copy(bits, to_slot << shift, source, slot << shift, 1u << shift);
        }
    }
}

// Makes room for a row and an id, and copies the pinned values.
static orr_result entity_copy_prepare(orr_world* world, orri_cluster* cluster, uint32_t source)
{
    const char* call = "orr_copy";
    orr_result result = orri_index_reserve(world, call, 1);
    if (result != ORR_OK) {
        return result;
    }
    uint32_t next = world->index.free_first;
    next = next != ORRI_INDEX_NONE ? next : world->hot.count;
    result = orri_cluster_reserve(world, cluster, 1) ? ORR_OK
                                                     : entity_refuse_rows(world, call, cluster, 1);
    if (result == ORR_OK) {
        result = orri_pinned_copy_make(world, call, source, next);
    }
    if (result != ORR_OK) {
        orri_cluster_trim(world, cluster);
        orri_index_trim(world);
    }
    return result;
}

orr_entity orr_copy(orr_world* world, orr_entity source)
{
    ORR_ASSERT(world != NULL);
    orr_entity none = {0}, entity;
    if (orri_check_open_of(world, "orr_copy", (orr_type){0}, source) != ORR_OK) {
        return none;
    }
    const orri_record* record = orri_record_find(world, source);
    if (record == NULL) {
        (void)orri_refuse_entity(world, "orr_copy", source, (orr_type){0});
        return none;
    }
    orri_cluster* cluster = orri_place_chunk(world, record->place)->cluster;
    if (entity_copy_prepare(world, cluster, orri_id_index(source)) != ORR_OK) {
        return none;
    }
    record = orri_record_find(world, source);
    orri_chunk* chunk = orri_place_chunk(world, record->place);
    uint32_t slot = orri_place_slot(record->place);
    if (!entity_prepare_rows(world, cluster, 1) ||
        entity_copy_values(world, chunk, slot) != ORR_OK ||
        entity_prepare_relations(world, cluster, 1) != ORR_OK) {
        orri_pinned_copy_abandon(world, orri_id_index(source));
        orri_cluster_trim(world, cluster);
        orri_index_trim(world);
        return none;
    }
    uint32_t row = cluster->row_count;
    entity_give_rows(world, cluster, 1, &entity);
    entity_copy_bits(orri_cluster_chunk_of(cluster, row), row & ORRI_SLOT_MASK, chunk, slot);
    orri_pinned_copy_enter(world, orri_id_index(source), orri_id_index(entity));
    return entity;
}

// ---- destroying ---------------------------------------------------------------------------------

// Slow path of orr_destroy(): prepares shared blocks, runs hooks, stamps everything, and destroys
// what cascades reach.
ORRI_COLD static orr_result entity_destroy_slow(orr_world* world, orri_chunk* chunk, uint32_t slot,
                                                uint32_t index)
{
    const orri_cluster* cluster = chunk->cluster;
    orr_result result =
        orri_check_open_of(world, "orr_destroy", (orr_type){0},
                           orri_id_make(index, orri_record_at(world, index)->generation));
    if (result != ORR_OK) {
        return result;
    }
    if (world->relations.count != 0 && orri_relation_referred(world, index)) {
        orr_entity entity = orri_id_make(index, orri_record_at(world, index)->generation);
        return orri_destroy_list(world, "orr_destroy", &entity, 1, NULL, NULL);
    }
    if (!orri_row_prepare_remove(world, chunk, index)) {
        return orri_refuse_memory(&world->env, "preparing to destroy an entity");
    }
    if (cluster->indexed) {
        orri_relation_leave(world, cluster, index);
    }
    orri_index_kill(world, &index, 1);
    for (uint32_t c = 0; !cluster->plain && c < cluster->type_count; c++) {
        orri_cells_destruct(orri_cells_at(chunk, c, slot), 1);
    }
    orri_row_remove(world, chunk, slot);
    return ORR_OK;
}

ORRI_COLD static orr_result entity_destroy_transient(orr_world* world, orr_entity entity)
{
    if (!orri_transient_alive(world, entity)) {
        return orri_refuse_entity(world, "orr_destroy", entity, (orr_type){0});
    }
    orr_result result = orri_check_open_of(world, "orr_destroy", (orr_type){0}, entity);
    if (result == ORR_OK) {
        orri_transient_destroy(world, entity);
    }
    return result;
}

// Where neither a short path nor a check of access applies.
ORRI_NOINLINE static orr_result entity_destroy_general(orr_world* world, orr_entity entity)
{
    const orri_record* record = orri_record_find(world, entity);
    return ORR_LIKELY(record != NULL)
               ? entity_destroy_slow(world, orri_place_chunk(world, record->place),
                                     orri_place_slot(record->place), orri_id_index(entity))
               : entity_destroy_transient(world, entity);
}

// Short path: destroys the entity of `record` (NULL: none), where no type has indexed references and
// nothing needs preparation. With `pinned` the pools lose its values first. `otherwise`: what to
// call if it does not apply; nothing was done then.
static inline orr_result entity_destroy_short(orr_world* world, orr_entity entity,
                                              orri_record* record, bool pinned,
                                              orr_result (*otherwise)(orr_world*, orr_entity))
{
    if (ORR_LIKELY(record != NULL)) {
        uint32_t place = record->place, index = orri_id_index(entity);
        orri_chunk* chunk = orri_place_chunk(world, place);
        orri_cluster* cluster = chunk->cluster;
        uint32_t last_row = cluster->row_count - 1;
        orri_chunk* last = orri_cluster_chunk_of(cluster, last_row);
        uint32_t last_index = last->ids[last_row & ORRI_SLOT_MASK];
        bool ready = cluster->direct && orri_row_stamped(world, chunk, last, index, last_index);
        if (pinned && ready && !orri_generation_last(record)) {
            orri_pinned_drop(world, &index, 1);
        }
        if (ORR_LIKELY(ready && orri_index_kill_one(world, index, record))) {
            return orri_row_close_gap(world, cluster, chunk, place, last, last_row, last_index);
        }
    }
    return otherwise(world, entity);
}

// Long path of orr_destroy(). Still short if pinned values, such as names, are all that is special.
ORRI_NOINLINE static orr_result entity_destroy_far(orr_world* world, orr_entity entity)
{
    ORR_ASSERT(world != NULL);
    if (ORR_UNLIKELY(world->running.access !=
                     NULL)) { // A system that may not change rows may not read the record either.
        orr_result result = orri_check_open_of(world, "orr_destroy", (orr_type){0}, entity);
        if (result != ORR_OK) {
            return result;
        }
    }
    bool plain = orri_world_open(world) && !orri_world_related(world);
    return entity_destroy_short(world, entity, plain ? orri_record_find(world, entity) : NULL, true,
                                entity_destroy_general);
}

orr_result orr_destroy(orr_world* world, orr_entity entity)
{
    // Calls nothing but the last step, so that no register must be saved: the long path asserts.
    orri_record* record = world != NULL && ORR_LIKELY(orri_world_quiet(world))
                              ? orri_record_find(world, entity)
                              : NULL;
    return entity_destroy_short(world, entity, record, false, entity_destroy_far);
}

bool orr_alive(const orr_world* world, orr_entity entity)
{
    ORR_ASSERT(world != NULL);
    if (ORR_UNLIKELY(!orri_access_looks(world, "orr_alive", entity))) {
        return false;
    }
    return orri_record_find(world, entity) != NULL ||
           (ORR_UNLIKELY(orri_id_transient(entity)) && orri_transient_alive(world, entity));
}

uint64_t orr_entity_count(const orr_world* world)
{
    ORR_ASSERT(world != NULL);
    return orri_access_looks(world, "orr_entity_count", (orr_entity){0}) ? world->index.live_count
                                                                         : 0;
}

// ---- addresses ----------------------------------------------------------------------------------

orr_result orr_address_get(const orr_world* world, orr_entity entity, orr_address* out)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_places(world, "orr_address_get", entity)) {
        return ORR_ERR_STATE;
    }
    const orri_record* record = orri_record_find(world, entity);
    if (record == NULL) {
        return orri_refuse_entity(world, "orr_address_get", entity, (orr_type){0});
    }
    if (out == NULL) {
        return orri_refuse_argument(world, "orr_address_get", "out is NULL");
    }
    const orri_chunk* chunk = orri_place_chunk(world, record->place);
    *out = (orr_address){orri_cluster_handle(chunk->cluster),
                         chunk->number * ORR_CHUNK_CAPACITY + orri_place_slot(record->place),
                         entity};
    return ORR_OK;
}

// The chunk of a valid address; NULL for a stale one.
static orri_chunk* entity_address_chunk(const orr_world* world, const orr_address* address)
{
    const orri_record* record = address != NULL ? orri_record_find(world, address->entity) : NULL;
    if (record == NULL) {
        return NULL;
    }
    orri_chunk* chunk = orri_place_chunk(world, record->place);
    const orri_cluster* cluster = orri_cluster_at(world, address->cluster);
    uint32_t row = chunk->number * ORR_CHUNK_CAPACITY + orri_place_slot(record->place);
    return cluster == chunk->cluster && row == address->row ? chunk : NULL;
}

bool orr_address_valid(const orr_world* world, const orr_address* address)
{
    ORR_ASSERT(world != NULL);
    return orri_access_looks(world, "orr_address_valid",
                             address != NULL ? address->entity : (orr_entity){0}) &&
           entity_address_chunk(world, address) != NULL;
}

static orr_result entity_refuse_address(const orr_world* world, const char* call,
                                        const orr_address* address)
{
    if (address == NULL) {
        return orri_refuse_argument(world, call, "the address is NULL");
    }
    orri_id_text name = orri_entity_format(world, address->entity);
    return orri_refuse(orri_env_of(world), ORR_ERR_ADDRESS, ORR_LOG_ID_ENTITY_REFUSED,
                       "%s: entity %s is no longer at row %u of cluster %uv%u; get its address "
                       "again with orr_address_get()",
                       call, name.text, address->row, address->cluster.id,
                       address->cluster.generation);
}

const void* orr_address_read(const orr_world* world, const orr_address* address, orr_type type)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_reads(world, "orr_address_read", type,
                           address != NULL ? address->entity : (orr_entity){0})) {
        return NULL;
    }
    const orri_chunk* chunk = entity_address_chunk(world, address);
    if (chunk == NULL) {
        (void)entity_refuse_address(world, "orr_address_read", address);
        return NULL;
    }
    int32_t column = orri_cluster_find_column(chunk->cluster, type);
    if (column < 0) {
        return orri_pinned_here(world, type, orri_id_index(address->entity));
    }
    size_t size = chunk->cluster->columns[column].size;
    return orri_columns_here(world, chunk)[column].data + (address->row & ORRI_SLOT_MASK) * size;
}

void* orr_address_write(orr_world* world, const orr_address* address, orr_type type)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_writes(world, "orr_address_write", type,
                            address != NULL ? address->entity : (orr_entity){0})) {
        return NULL;
    }
    orri_chunk* chunk = entity_address_chunk(world, address);
    if (chunk == NULL) {
        (void)entity_refuse_address(world, "orr_address_write", address);
        return NULL;
    }
    int32_t column = orri_cluster_find_column(chunk->cluster, type);
    if (column < 0) {
        return orri_pinned_edit(world, "orr_address_write", address->entity, type);
    }
    if (chunk->cluster->columns[column].counts != 0) {
        (void)orri_refuse_multiple(world, "orr_address_write", type);
        return NULL;
    }
    if (ORR_UNLIKELY(chunk->cluster->columns[column].by_value)) {
        (void)orri_refuse_in_place(world, "orr_address_write",
                                   chunk->cluster->columns[column].type);
        return NULL;
    }
    uint32_t slot = address->row & ORRI_SLOT_MASK;
    uint8_t* data = orri_rows_write(world, chunk, (uint32_t)column, slot, 1);
    return data != NULL ? data + (size_t)slot * chunk->cluster->columns[column].size : NULL;
}

orr_cluster orr_entity_cluster(const orr_world* world, orr_entity entity)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_looks(world, "orr_entity_cluster", entity)) {
        return (orr_cluster){0};
    }
    orri_record* record = orri_record_find(world, entity);
    return record != NULL && orri_access_places(world, "orr_entity_cluster", entity)
               ? orri_cluster_handle(orri_place_chunk(world, record->place)->cluster)
               : (orr_cluster){0};
}

// ---- moving -------------------------------------------------------------------------------------

orr_result orr_entity_move(orr_world* world, orr_entity entity, orr_cluster to)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_entity_move";
    orr_result result = orri_check_open_of(world, call, (orr_type){0}, entity);
    if (result != ORR_OK) {
        return result;
    }
    orri_record* record = orri_record_find(world, entity);
    if (record == NULL) {
        return orri_refuse_entity(world, call, entity, (orr_type){0});
    }
    orri_cluster* target = orri_cluster_at(world, to);
    if (target == NULL) {
        return orri_refuse_cluster(world, call, to);
    }
    orri_cluster* from = orri_place_chunk(world, record->place)->cluster;
    if (from == target) {
        return ORR_OK;
    }
    const orri_transition* transition = orri_transition_pair_get(world, from, target);
    if (transition == NULL) {
        return orri_env_result(&world->env);
    }
    uint32_t row = orri_place_chunk(world, record->place)->number * ORR_CHUNK_CAPACITY +
                   orri_place_slot(record->place);
    result = orri_cells_fit(world, call, transition, row, 1);
    return result == ORR_OK ? orri_move_one(world, call, transition, record, NULL, NULL) : result;
}

orr_result orri_check_move(const orr_world* world, const char* call, orr_cluster from,
                           orr_cluster to, orri_cluster** out_from, orri_cluster** out_to)
{
    *out_from = orri_cluster_at(world, from);
    *out_to = orri_cluster_at(world, to);
    orr_result result = orri_check_open(world, call);
    if (result == ORR_OK && (*out_from == NULL || *out_to == NULL)) {
        result = orri_refuse_cluster(world, call, *out_from == NULL ? from : to);
    }
    return result;
}

orr_result orr_rows_move(orr_world* world, orr_cluster from, uint32_t first, uint32_t count,
                         orr_cluster to)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_rows_move";
    orri_cluster *source, *target;
    orr_result result = orri_check_move(world, call, from, to, &source, &target);
    if (result != ORR_OK) {
        return result;
    }
    if (first > source->row_count || count > source->row_count - first) {
        return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                           "%s: %u rows from row %u on are out of range; the cluster has %u rows",
                           call, count, first, source->row_count);
    }
    if (source == target || count == 0) {
        return ORR_OK;
    }
    orri_transition* transition = orri_transition_pair_get(world, source, target);
    result = transition != NULL ? orri_cells_fit(world, call, transition, first, count)
                                : orri_env_result(&world->env);
    return result == ORR_OK ? orri_rows_move_range(world, call, transition, first, count) : result;
}
