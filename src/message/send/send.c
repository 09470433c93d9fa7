// SPDX-License-Identifier: MIT
// The calls that send one command. Each checks what the system declared and appends to a command
// array of its buffer. Whether the system may send a kind and type is checked when the array is
// created; afterwards a call costs little more than storing an id and a value.
#include "message/send/command_buffer.h"
#include "store/pool/pool.h"
#include "store/relation/entity_name.h"
#include "store/table/transient.h"

// ---- checks -------------------------------------------------------------------------------------

// The open command buffer of a run. NULL: there is none (reported).
static inline orr_command_buffer* send_buffer(const orr_run* run, const char* call)
{
    if (ORR_LIKELY(run != NULL && run->commands != NULL && run->commands->open)) {
        return run->commands;
    }
    (void)orri_check_run(run, call);
    return NULL;
}

// The same without a report, for short paths: they leave everything unusual to the long one.
static inline orr_command_buffer* send_open_buffer(const orr_run* run)
{
    bool open = run != NULL && run->commands != NULL && run->commands->open;
    return ORR_LIKELY(open) ? run->commands : NULL;
}

// The result that goes with send_buffer() being NULL.
ORRI_COLD static orr_result send_no_buffer(const orr_run* run)
{
    return run != NULL ? ORR_ERR_STATE : ORR_ERR_ARGUMENT;
}

ORRI_COLD static orr_result send_refuse(orr_command_buffer* commands, orr_result result,
                                        const char* call, const char* what)
{
    return orri_refuse(&commands->world->env, result, ORR_LOG_ID_SEND_REFUSED,
                       "%s: system '%s': %s", call, commands->rights->name, what);
}

static orr_result send_check_entity(orr_command_buffer* commands, const char* call,
                                    orr_entity entity)
{
    return ORR_LIKELY(entity.id != 0)
               ? ORR_OK
               : send_refuse(commands, ORR_ERR_ARGUMENT, call,
                             "the entity is null; was its creation refused?");
}

// Checks that a type can be sent as a component.
static orr_result send_check_type(orr_command_buffer* commands, const char* call, orr_type type,
                                  orr_entity entity, const orri_type** out)
{
    *out = orri_type_at(&commands->world->schema, type);
    if (*out == NULL) {
        return orri_refuse_type(commands->world, call, type);
    }
    const char* name = (*out)->info.name;
    if (name[0] == 'o' && strncmp(name, "orr_", 4) == 0) {
        if (strcmp(name, "orr_name") == 0) {
            orri_id_text id = orri_entity_format(commands->world, entity);
            return orri_refuse(
                &commands->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SEND_REFUSED,
                "%s: system '%s': orr_name of entity %s can be sent by orr_send_name() only", call,
                commands->rights->name, id.text);
        }
        if (strcmp(name, "orr_enabled") == 0 || strcmp(name, "orr_tags") == 0) {
            return send_refuse(commands, ORR_ERR_TYPE, call,
                               "orr_enabled and orr_tags are not components; use "
                               "orr_send_enable() and orr_send_tag()");
        }
    }
    return ORR_OK;
}

static bool send_accepts_in_array(void* user, orr_entity entity)
{
    (void)user;
    return !orri_is_provisional(entity);
}

// Provisional ids are not replaced in owned arrays, because equal arrays are stored once.
static orr_result send_check_arrays(orr_command_buffer* commands, const char* call,
                                    const orri_type* type, const void* value)
{
    const char* field = "";
    if (!type->info.has_entities || type->info.kind != ORR_KIND_STRUCT ||
        orri_value_owned_entity_reject(type, value, send_accepts_in_array, NULL, &field).id == 0) {
        return ORR_OK;
    }
    return orri_refuse(&commands->world->env, ORR_ERR_ENTITY, ORR_LOG_ID_SEND_REFUSED,
                       "%s: system '%s': an array in %s.%s has the provisional id of a creation, "
                       "which would name no entity; set .creates_max of the system to the number "
                       "of entities it creates, so that their ids are final at once",
                       call, commands->rights->name, type->info.name, field);
}

// Checks values of `entities` (NULL: of events). References to entities that do not exist yet are
// allowed. Owned handles must exist, because the buffer counts them.
static orr_result send_check_value(orr_command_buffer* commands, const char* call,
                                   const orri_type* type, const orr_entity* entities,
                                   const void* values, uint32_t count)
{
    if (ORR_UNLIKELY(values == NULL && type->info.size > 0 && count > 0)) {
        return orri_refuse(&commands->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SEND_REFUSED,
                           "%s: system '%s': the value of %s is NULL; pass a value", call,
                           commands->rights->name, type->info.name);
    }
    const char* field = "";
    for (uint32_t i = 0; type->info.has_owned && i < count; i++) {
        const uint8_t* value = (const uint8_t*)values + (size_t)i * type->info.size;
        if (orri_value_owned_gone(type, value, &field)) {
            return orri_refuse(&commands->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SEND_REFUSED,
                               "%s: system '%s': %s.%s holds an owned string or array that no "
                               "longer exists or belongs to another world; if it is not stored in "
                               "a component, make it again in the tick in which it is sent",
                               call, commands->rights->name, type->info.name, field);
        }
        orr_result result = send_check_arrays(commands, call, type, value);
        if (result != ORR_OK) {
            return result;
        }
    }
    orr_result result = ORR_OK;
    for (uint32_t i = 0; ORR_UNLIKELY(type->has_range) && result == ORR_OK && i < count; i++) {
        result = orri_check_range(commands->world, call, type,
                                  entities != NULL ? entities[i] : (orr_entity){0},
                                  (const uint8_t*)values + (size_t)i * type->info.size);
    }
    return result;
}

// ---- appending ----------------------------------------------------------------------------------

// True when the current array takes another command of this kind and type.
static inline bool send_current(const orr_command_buffer* commands, orri_command_kind kind,
                                orr_type type)
{
    const orri_command_array* array = commands->current;
    return array != NULL && array->kind == kind && array->type.id == type.id && !array->bulk;
}

// Copies values to the end of an array that has room. False: a hook refused.
static bool send_copy(const orri_command_array* array, const void* values, uint32_t count)
{
    size_t stride = array->stride;
    uint8_t* to = array->values + array->count * stride;
    if (stride == 0) {
        return true;
    }
    if (array->plain_values) {
        memcpy(to, values, count * stride);
        return true;
    }
    return orri_rows_copy(array->info, to, values, count);
}

// The array of a kind and type with room for `count` rows. NULL when refused (reported).
static orri_command_array* send_room(orr_command_buffer* commands, orri_command_kind kind,
                                     orr_type type, const orri_type* info, uint32_t count)
{
    orri_command_array* array = send_current(commands, kind, type)
                                    ? commands->current
                                    : orri_command_buffer_array(commands, kind, type, info);
    return array != NULL && orri_command_array_reserve(commands, array, count) ? array : NULL;
}

// Appends rows. `ids` may be NULL: all 0.
static orr_result send_append(orr_command_buffer* commands, const char* call,
                              orri_command_array* array, const orr_entity* entities,
                              const orr_component_id* ids, const void* values, uint32_t count)
{
    if (!send_copy(array, values, count)) {
        return orri_refuse_hook(commands->world, call, array->info);
    }
    if (array->entities != NULL) {
        memcpy(array->entities + array->count, entities, count * sizeof *entities);
    }
    for (uint32_t i = 0; array->ids != NULL && i < count; i++) {
        array->ids[array->count + i] = ids != NULL ? ids[i] : 0;
    }
    array->count += count;
    return ORR_OK;
}

// Appends one command, after all checks.
static orr_result send_one(orr_command_buffer* commands, const char* call, orri_command_kind kind,
                           orr_type type, const orri_type* info, orr_entity entity,
                           orr_component_id id, const void* value)
{
    orri_command_array* array = send_room(commands, kind, type, info, 1);
    return array != NULL ? send_append(commands, call, array, &entity, &id, value, 1)
                         : ORR_ERR_MEMORY;
}

// Makes an array current that was found before (`recent`). NULL: take the long path.
ORRI_NOINLINE static orri_command_array* send_again(orr_command_buffer* commands,
                                                    orri_command_kind kind, orr_type type,
                                                    orr_entity entity)
{
    uint32_t slot1 = commands->recent[ORRI_COMMAND_BUFFER_RECENT_OF(kind, type)];
    orri_command_array* array = slot1 != 0 ? &commands->arrays[slot1 - 1] : NULL;
    bool same = array != NULL && array->kind == kind && array->type.id == type.id;
    bool ready = same && array->plain_values && array->ids == NULL &&
                 array->count < array->capacity &&
                 !(array->created_only && orri_record_find(commands->world, entity) != NULL);
    return ready && orri_command_buffer_turn(commands, array) ? array : NULL;
}

// True when the kind and type of the current array are sent once more, values are plain bytes and
// there is room.
static inline bool send_continues(const orri_command_array* array, orri_command_kind kind,
                                  orr_type type, orr_entity entity)
{
    return ORR_LIKELY(array->kind == kind && array->type.id == type.id && array->fast_append &&
                      array->count != array->capacity && entity.id != 0);
}

// The array for a kind and type that were sent before in this run, if values are plain bytes and
// there is room. NULL: take the long path.
static orri_command_array* send_ready(orr_command_buffer* commands, orri_command_kind kind,
                                      orr_type type, orr_entity entity)
{
    orri_command_array* array = commands->current;
    return array != NULL && send_continues(array, kind, type, entity) ? array
           : entity.id != 0 ? send_again(commands, kind, type, entity)
                            : NULL;
}

// Appends a row to an array that send_ready() has found.
static void send_row(orri_command_array* array, orr_entity entity, const void* value)
{
    uint32_t row = array->count++;
    array->entities[row] = entity;
    if (array->stride > 0) {
        orri_value_move(array->values + (size_t)row * array->stride, value, array->stride);
    }
}

// Appends one command by the short path. False: take the long path, which also continues an array
// that is not the current one.
static inline bool send_quick(const orr_run* run, orri_command_kind kind, orr_type type,
                              orr_entity entity, const void* value)
{
    const orr_command_buffer* commands = send_open_buffer(run);
    orri_command_array* array = commands != NULL ? commands->current : NULL;
    if (ORR_UNLIKELY(array == NULL || value == NULL ||
                     !send_continues(array, kind, type, entity))) {
        return false;
    }
    uint32_t row = array->count++;
    array->entities[row] = entity;
    orri_value_move(array->values + (size_t)row * array->stride, value, array->stride);
    return true;
}

// ---- components ---------------------------------------------------------------------------------

// ComponentAdded is declared by .adds; for entities that this commit creates, .creates is enough.
static orr_result send_check_add(orr_command_buffer* commands, const char* call, orr_type type,
                                 orr_entity entity)
{
    orri_rights* rights = commands->rights;
    uint32_t index = orri_type_index(commands->world, type);
    if (orri_right(rights->adds, rights, index)) {
        return ORR_OK;
    }
    bool creates = orri_right(rights->creates, rights, index);
    if (creates && orri_record_find(commands->world, entity) == NULL &&
        orri_transient_find(commands->world, entity) == NULL) {
        return ORR_OK;
    }
    return orri_refuse_right(commands->world, rights, call, "adds", type, entity);
}

// The run has given out all instance ids that are reserved for it.
ORRI_COLD static orr_result send_refuse_instance_ids(orr_command_buffer* commands, const char* call,
                                                     const orri_type* type)
{
    return orri_refuse(&commands->world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_SEND_REFUSED,
                       "%s: system '%s' asks for the id of a new %s, but has got %u ids of new "
                       "instances in this run, as many as it can get; pass NULL as out_id for "
                       "instances whose id it does not need",
                       call, commands->rights->name, type->info.name, commands->instance_max);
}

// ComponentAdded with all checks.
static orr_result send_add_slow(orr_command_buffer* commands, orr_entity entity, orr_type type,
                                const void* value, orr_component_id* out_id)
{
    const char* call = "orr_send_add";
    const orri_type* info;
    orr_result result = send_check_entity(commands, call, entity);
    result = result == ORR_OK ? send_check_type(commands, call, type, entity, &info) : result;
    result = result == ORR_OK ? send_check_add(commands, call, type, entity) : result;
    if (result == ORR_OK && value != NULL) {
        result = send_check_value(commands, call, info, &entity, value, 1);
    }
    if (result != ORR_OK) {
        return result;
    }
    orri_command_kind kind = value != NULL || info->info.size == 0 ? ORRI_COMMAND_ADD
                                                                   : ORRI_COMMAND_ADD_PRESET;
    if (orri_is_transient_send(commands, entity)) {
        if (out_id != NULL) {
            *out_id = 0;
        }
        return orri_transient_send_add(commands, kind, entity, info, value);
    }
    // An instance whose id the sender does not request gets its id when it is added.
    orr_component_id id = 0;
    uint32_t instance_count = commands->instance_count;
    if (info->info.multiplicity == ORR_MULTIPLE && out_id != NULL) {
        id = orri_command_ids_instance(commands, entity, type, &instance_count);
        if (id == 0) {
            return send_refuse_instance_ids(commands, call, info);
        }
    }
    result = send_one(commands, call, kind, type, info, entity, id, value);
    if (result == ORR_OK) {
        const orri_rights* rights = commands->rights;
        orri_command_array* array = commands->current;
        array->created_only =
            !orri_right(rights->adds, rights, orri_type_index(commands->world, type));
        array->fast_append = array->fast_append && !array->created_only;
        commands->instance_count = instance_count;
        if (out_id != NULL) {
            *out_id = id;
        }
    }
    return result;
}

// A marker has no value, so adding it with a value or with its preset is the same command.
static orri_command_kind send_add_kind(const orr_command_buffer* commands, orr_type type,
                                       const void* value)
{
    const orri_type* info = value == NULL ? orri_type_at(&commands->world->schema, type) : NULL;
    return value != NULL || (info != NULL && info->info.size == 0) ? ORRI_COMMAND_ADD
                                                                   : ORRI_COMMAND_ADD_PRESET;
}

ORRI_NOINLINE static orr_result send_add_long(orr_run* run, orr_entity entity, orr_type type,
                                              const void* value, orr_component_id* out_id)
{
    orr_command_buffer* commands = send_buffer(run, "orr_send_add");
    if (commands == NULL) {
        return send_no_buffer(run);
    }
    orri_command_array* array =
        send_ready(commands, send_add_kind(commands, type, value), type, entity);
    if (array == NULL) {
        return send_add_slow(commands, entity, type, value, out_id);
    }
    send_row(array, entity, value);
    if (out_id != NULL) {
        *out_id = 0;
    }
    return ORR_OK;
}

orr_result orr_send_add_type(orr_run* run, orr_entity entity, orr_type type, const void* value,
                             orr_component_id* out_id)
{
    if (ORR_UNLIKELY(out_id != NULL)) {
        return send_add_long(run, entity, type, value, out_id);
    }
    if (value == NULL) {
        const orr_command_buffer* commands = send_open_buffer(run);
        orri_command_array* array = commands != NULL ? commands->current : NULL;
        if (ORR_LIKELY(
                array != NULL && array->stride == 0 &&
                (array->kind == ORRI_COMMAND_ADD || array->kind == ORRI_COMMAND_ADD_PRESET) &&
                send_continues(array, array->kind, type, entity))) {
            array->entities[array->count++] = entity;
            return ORR_OK;
        }
    } else if (send_quick(run, ORRI_COMMAND_ADD, type, entity, value)) {
        return ORR_OK;
    }
    return send_add_long(run, entity, type, value, out_id);
}

// Checks that an instance id is given for a multiple type, and for no other type.
static orr_result send_check_id(orr_command_buffer* commands, const char* call,
                                const orri_type* type, const orr_component_id* ids, uint32_t count,
                                bool zero_allowed)
{
    bool multiple = type->info.multiplicity == ORR_MULTIPLE;
    for (uint32_t i = 0; i < count; i++) {
        orr_component_id id = ids != NULL ? ids[i] : 0;
        if (multiple ? id == 0 && !zero_allowed : id != 0) {
            return orri_refuse(&commands->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SEND_REFUSED,
                               "%s: system '%s': %s is %s, so its id %s", call,
                               commands->rights->name, type->info.name,
                               multiple ? "a multiple type" : "a unique type",
                               multiple ? "must name an instance" : "must be 0");
        }
    }
    return ORR_OK;
}

// ComponentChanged of a spectator, whose entities may be of the simulation or transient.
ORRI_COLD static orr_result send_change_spectator(orr_command_buffer* commands, const char* call,
                                                  const orri_type* info, const orr_entity* entities,
                                                  uint32_t count, const void* values)
{
    orr_result result = ORR_OK;
    for (uint32_t i = 0; result == ORR_OK && i < count; i++) {
        const void* value = (const uint8_t*)values + (size_t)i * info->info.size;
        result =
            orri_is_transient_send(commands, entities[i])
                ? orri_transient_send_add(commands, ORRI_COMMAND_CHANGE, entities[i], info, value)
                : send_one(commands, call, ORRI_COMMAND_CHANGE, (orr_type){info->id}, info,
                           entities[i], 0, value);
    }
    return result;
}

// ComponentChanged with all checks.
static orr_result send_change_rows(orr_command_buffer* commands, const char* call, orr_type type,
                                   const orr_entity* entities, const orr_component_id* ids,
                                   uint32_t count, const void* values)
{
    const orri_type* info;
    orr_result result = ORR_OK;
    for (uint32_t i = 0; result == ORR_OK && i < count; i++) {
        result = send_check_entity(commands, call, entities[i]);
    }
    orr_entity first = count > 0 ? entities[0] : (orr_entity){0};
    result = result == ORR_OK ? send_check_type(commands, call, type, first, &info) : result;
    if (result != ORR_OK) {
        return result;
    }
    orri_rights* rights = commands->rights;
    if (!orri_right(rights->changes, rights, orri_type_index(commands->world, type))) {
        const char* field = rights->reader != NULL ? "query" : "changes";
        return orri_refuse_right(commands->world, rights, call, field, type, first);
    }
    result = send_check_id(commands, call, info, ids, count, false);
    result = result == ORR_OK ? send_check_value(commands, call, info, entities, values, count)
                              : result;
    if (result != ORR_OK || count == 0) {
        return result;
    }
    if (ORR_UNLIKELY(rights->spectator)) {
        return send_change_spectator(commands, call, info, entities, count, values);
    }
    orri_command_array* array = send_room(commands, ORRI_COMMAND_CHANGE, type, info, count);
    return array != NULL ? send_append(commands, call, array, entities, ids, values, count)
                         : ORR_ERR_MEMORY;
}

ORRI_NOINLINE static orr_result send_change_long(orr_run* run, orr_entity entity, orr_type type,
                                                 orr_component_id id, const void* value)
{
    const char* call = "orr_send_change";
    orr_command_buffer* commands = send_buffer(run, call);
    if (commands == NULL) {
        return send_no_buffer(run);
    }
    orri_command_array* array =
        id == 0 && value != NULL ? send_ready(commands, ORRI_COMMAND_CHANGE, type, entity) : NULL;
    if (array == NULL) {
        return send_change_rows(commands, call, type, &entity, &id, 1, value);
    }
    send_row(array, entity, value);
    return ORR_OK;
}

orr_result orr_send_change_type(orr_run* run, orr_entity entity, orr_type type, orr_component_id id,
                                const void* value)
{
    return ORR_LIKELY(id == 0 && send_quick(run, ORRI_COMMAND_CHANGE, type, entity, value))
               ? ORR_OK
               : send_change_long(run, entity, type, id, value);
}

orr_result orr_send_change_many(orr_run* run, orr_type type, const orr_entity* entities,
                                const orr_component_id* ids, uint32_t count, const void* values)
{
    const char* call = "orr_send_change_many";
    orr_command_buffer* commands = send_buffer(run, call);
    if (commands == NULL) {
        return send_no_buffer(run);
    }
    if (count > 0 && entities == NULL) {
        return send_refuse(commands, ORR_ERR_ARGUMENT, call, "the entities are NULL");
    }
    return send_change_rows(commands, call, type, entities, ids, count, values);
}

orr_result orr_send_remove_type(orr_run* run, orr_entity entity, orr_type type, orr_component_id id)
{
    const char* call = "orr_send_remove";
    const orri_type* info;
    orr_command_buffer* commands = send_buffer(run, call);
    if (ORR_UNLIKELY(commands == NULL)) {
        return send_no_buffer(run);
    }
    orri_command_array* array = id == 0 ? send_ready(commands, ORRI_COMMAND_REMOVE, type, entity)
                                        : NULL;
    if (ORR_LIKELY(array != NULL)) {
        array->entities[array->count++] = entity;
        return ORR_OK;
    }
    orr_result result = send_check_entity(commands, call, entity);
    result = result == ORR_OK ? send_check_type(commands, call, type, entity, &info) : result;
    if (result != ORR_OK) {
        return result;
    }
    orri_rights* rights = commands->rights;
    if (!orri_right(rights->removes, rights, orri_type_index(commands->world, type))) {
        return orri_refuse_right(commands->world, rights, call, "removes", type, entity);
    }
    result = send_check_id(commands, call, info, &id, 1, true);
    if (result == ORR_OK && orri_is_transient_send(commands, entity)) {
        return orri_transient_send_add(commands, ORRI_COMMAND_REMOVE, entity, info, NULL);
    }
    return result == ORR_OK
               ? send_one(commands, call, ORRI_COMMAND_REMOVE, type, info, entity, id, NULL)
               : result;
}

// ---- entities -----------------------------------------------------------------------------------

orr_result orri_refuse_ids(orr_command_buffer* commands, const char* call, uint32_t count)
{
    if (count > commands->creates_max - commands->create_count) {
        commands->rights->counts.violations++;
        return orri_refuse(&commands->world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_SEND_REFUSED,
                           "%s: system '%s' has created %u entities in this run and asks for %u "
                           "more, but its .creates_max is %u%s",
                           call, commands->rights->name, commands->create_count, count,
                           commands->creates_max,
                           commands->rights->creates_max == 0
                               ? " by default, as it belongs to a spectator; set it"
                               : "; raise it, or leave it out for no limit but the world's");
    }
    if (commands->command_buffers->withholds) {
        return orri_refuse(
            &commands->world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_SEND_REFUSED,
            "%s: system '%s' cannot create an entity: no id is reserved for it, because memory was "
            "short or the world may have at most %u entities; raise entities_max",
            call, commands->rights->name, commands->world->limits.entities);
    }
    return orri_refuse(&commands->world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_SEND_REFUSED,
                       "%s: system '%s' cannot create an entity: the world may have at most %u "
                       "entities, and all ids are in use or reserved; raise entities_max",
                       call, commands->rights->name, commands->world->limits.entities);
}

// How many provisional ids the buffer may give from a position on. A set that withholds ids does
// not know how many the world has left: there, a commit beyond the limit is refused.
static uint64_t send_provisional_room(const orr_command_buffer* commands, uint64_t position)
{
    const orr_world* world = commands->world;
    if (commands->command_buffers->withholds) {
        return commands->rights->spectator ? 0 : ORR_ENTITIES_MAX;
    }
    uint64_t all = (uint64_t)world->index.free_count + (world->limits.entities - world->hot.count);
    return position < all ? all - position : 0;
}

orr_entity orri_command_buffer_id(const orr_command_buffer* commands, orri_index_cursor* cursor,
                                  uint32_t n)
{
    uint64_t position = commands->base + commands->create_count + n;
    if (ORR_UNLIKELY(commands->create_count + n >= commands->id_count)) {
        return send_provisional_room(commands, position) >= 1
                   ? orri_provisional_id(commands, commands->create_count + n)
                   : (orr_entity){0};
    }
    if (ORR_UNLIKELY(commands->command_buffers->withholds)) {
        return position < commands->command_buffers->withheld_count
                   ? commands->command_buffers->withheld[position]
                   : (orr_entity){0};
    }
    return position <= UINT32_MAX ? orri_index_nth(commands->world, cursor, (uint32_t)position)
                                  : (orr_entity){0};
}

// The ids of the next `count` creations, which are all reserved.
static bool send_reserved_ids(const orr_command_buffer* commands, orri_index_cursor* cursor,
                              orr_entity* out, uint32_t count)
{
    uint64_t position = commands->base + commands->create_count;
    if (ORR_UNLIKELY(commands->command_buffers->withholds)) {
        bool all = position + count <= commands->command_buffers->withheld_count;
        if (all) {
            memcpy(out, commands->command_buffers->withheld + position, count * sizeof *out);
        }
        return all;
    }
    return position <= UINT32_MAX &&
           orri_index_next(commands->world, cursor, (uint32_t)position, out, count);
}

bool orri_command_buffer_ids(const orr_command_buffer* commands, orri_index_cursor* cursor,
                             orr_entity* out, uint32_t count)
{
    uint32_t sent = commands->create_count, left = commands->id_count - sent;
    uint32_t reserved = sent >= commands->id_count ? 0 : count < left ? count : left;
    if (reserved > 0 && !send_reserved_ids(commands, cursor, out, reserved)) {
        return false;
    }
    if (reserved < count &&
        count - reserved > send_provisional_room(commands, commands->base + sent + reserved)) {
        return false;
    }
    for (uint32_t i = reserved; i < count; i++) {
        out[i] = orri_provisional_id(commands, sent + i);
    }
    return true;
}

// Checks that the system may create `count` more entities.
static orr_result send_check_create(orr_command_buffer* commands, const char* call, uint32_t count)
{
    if (!commands->rights->may_create) {
        return orri_refuse_right(commands->world, commands->rights, call, "creates", (orr_type){0},
                                 (orr_entity){0});
    }
    return count <= commands->creates_max - commands->create_count
               ? ORR_OK
               : orri_refuse_ids(commands, call, count);
}

orr_entity orr_send_create(orr_run* run)
{
    const char* call = "orr_send_create";
    orr_command_buffer* commands = send_buffer(run, call);
    if (ORR_UNLIKELY(commands == NULL || send_check_create(commands, call, 1) != ORR_OK)) {
        return (orr_entity){0};
    }
    if (ORR_UNLIKELY(commands->rights->spectator)) {
        return orri_transient_send_create(commands);
    }
    orri_command_array* array = send_room(commands, ORRI_COMMAND_CREATE, (orr_type){0}, NULL, 1);
    if (ORR_UNLIKELY(array == NULL)) {
        return (orr_entity){0};
    }
    orr_entity entity = orri_command_buffer_id(commands, &commands->cursor, 0);
    if (ORR_UNLIKELY(entity.id == 0)) {
        (void)orri_refuse_ids(commands, call, 1);
        return entity;
    }
    array->entities[array->count++] = entity;
    commands->create_count++;
    return entity;
}

// A dead target needs only some right to create or destroy: it may have died, or be created by this
// commit.
static orr_result send_check_destroy(orr_command_buffer* commands, const char* call,
                                     orr_entity entity)
{
    orri_rights* rights = commands->rights;
    bool alive = orri_record_find(commands->world, entity) != NULL ||
                 orri_transient_find(commands->world, entity) != NULL;
    bool allowed = rights->may_destroy_any;
    if (!allowed && alive) {
        allowed = rights->destroys != NULL && orri_query_has(rights->destroys, entity);
    } else if (!allowed) {
        allowed = rights->may_create || rights->destroys != NULL;
    }
    return allowed ? ORR_OK : orri_refuse_destroy(commands->world, rights, call, entity);
}

orr_result orr_send_destroy(orr_run* run, orr_entity entity)
{
    const char* call = "orr_send_destroy";
    orr_command_buffer* commands = send_buffer(run, call);
    if (ORR_UNLIKELY(commands == NULL)) {
        return send_no_buffer(run);
    }
    orr_result result = send_check_entity(commands, call, entity);
    result = result == ORR_OK ? send_check_destroy(commands, call, entity) : result;
    if (result == ORR_OK && ORR_UNLIKELY(commands->rights->spectator)) {
        return orri_is_transient_send(commands, entity)
                   ? orri_transient_send_add(commands, ORRI_COMMAND_DESTROY, entity, NULL, NULL)
                   : orri_transient_send_refuse(commands, call, entity);
    }
    return result == ORR_OK ? send_one(commands, call, ORRI_COMMAND_DESTROY, (orr_type){0}, NULL,
                                       entity, 0, NULL)
                            : result;
}

// ---- tags, enable bits, names -------------------------------------------------------------------

bool orri_may_tag(const orri_rights* rights, orr_tag tag)
{
    uint32_t low = 0, high = rights->tag_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rights->tags[middle] < tag) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return rights->may_tag_any || (low < rights->tag_count && rights->tags[low] == tag);
}

orr_result orr_send_tag(orr_run* run, orr_entity entity, orr_tag tag, bool on)
{
    const char* call = "orr_send_tag";
    orr_command_buffer* commands = send_buffer(run, call);
    if (commands == NULL) {
        return send_no_buffer(run);
    }
    orr_result result = send_check_entity(commands, call, entity);
    if (result != ORR_OK) {
        return result;
    }
    if (!orri_may_tag(commands->rights, tag)) {
        return orri_refuse_tag(commands->world, commands->rights, call, tag, on, entity);
    }
    return send_one(commands, call, on ? ORRI_COMMAND_TAG_ADD : ORRI_COMMAND_TAG_REMOVE,
                    (orr_type){0}, NULL, entity, 0, &tag);
}

orr_result orr_send_enable_type(orr_run* run, orr_entity entity, orr_type type, orr_component_id id,
                                bool on)
{
    const char* call = "orr_send_enable";
    const orri_type* info = NULL;
    orr_command_buffer* commands = send_buffer(run, call);
    if (commands == NULL) {
        return send_no_buffer(run);
    }
    orri_rights* rights = commands->rights;
    orr_result result = send_check_entity(commands, call, entity);
    if (result == ORR_OK && type.id != 0) {
        result = send_check_type(commands, call, type, entity, &info);
    }
    if (result != ORR_OK) {
        return result;
    }
    bool may = info != NULL
                   ? orri_right(rights->switches, rights, orri_type_index(commands->world, type))
                   : rights->may_switch_entities;
    if (!may) {
        return orri_refuse_right(commands->world, rights, call, "switches", type, entity);
    }
    if (info != NULL) {
        result = send_check_id(commands, call, info, &id, 1, true);
    } else if (id != 0) {
        result =
            send_refuse(commands, ORR_ERR_ARGUMENT, call, "an entity has no instances; pass id 0");
    }
    if (result == ORR_OK && orri_is_transient_send(commands, entity)) {
        return orri_transient_send_add(commands, on ? ORRI_COMMAND_ENABLE : ORRI_COMMAND_DISABLE,
                                       entity, info, NULL);
    }
    return result == ORR_OK
               ? send_one(commands, call, on ? ORRI_COMMAND_ENABLE : ORRI_COMMAND_DISABLE, type,
                          info, entity, id, NULL)
               : result;
}

bool orri_sent_name_valid(const char* name)
{
    size_t size = 0;
    while (size <= ORR_ENTITY_NAME_MAX && (unsigned char)name[size] >= 0x20 && name[size] != 0x7F &&
           name[size] != '/') {
        size++;
    }
    return size > 0 && size <= ORR_ENTITY_NAME_MAX && name[size] == '\0';
}

orr_result orr_send_name(orr_run* run, orr_entity entity, orr_entity scope, const char* name)
{
    const char* call = "orr_send_name";
    orr_command_buffer* commands = send_buffer(run, call);
    if (commands == NULL) {
        return send_no_buffer(run);
    }
    orr_result result = send_check_entity(commands, call, entity);
    if (result != ORR_OK) {
        return result;
    }
    if (!commands->rights->may_rename) {
        return orri_refuse_right(commands->world, commands->rights, call, "renames", (orr_type){0},
                                 entity);
    }
    if (name != NULL && !orri_sent_name_valid(name)) {
        return send_refuse(
            commands, ORR_ERR_NAME, call,
            "the name is invalid; use 1 to 255 bytes without '/' and without control characters");
    }
    orri_command_name sent = {name != NULL ? scope : (orr_entity){0}, 0};
    if (name != NULL) {
        sent.text1 = orri_command_buffer_text(commands, name);
        if (sent.text1 == 0) {
            return ORR_ERR_MEMORY;
        }
    }
    return send_one(commands, call, ORRI_COMMAND_NAME, (orr_type){0}, NULL, entity, 0, &sent);
}

// ---- events -------------------------------------------------------------------------------------

orr_result orr_send_event_type(orr_run* run, orr_type type, const void* value)
{
    const char* call = "orr_send_event";
    orr_command_buffer* commands = send_buffer(run, call);
    if (ORR_UNLIKELY(commands == NULL)) {
        return send_no_buffer(run);
    }
    if (!send_current(commands, ORRI_COMMAND_EVENT, type)) {
        orri_rights* rights = commands->rights;
        orr_result result = orri_event_check(commands->world, call, type);
        if (result != ORR_OK) {
            return result;
        }
        if (!orri_right(rights->sends, rights, orri_type_index(commands->world, type))) {
            return orri_refuse_right(commands->world, rights, call, "sends", type, (orr_entity){0});
        }
    }
    const orri_type* info = orri_type_at(&commands->world->schema, type);
    orr_result result = send_check_value(commands, call, info, NULL, value, 1);
    return result == ORR_OK
               ? send_one(commands, call, ORRI_COMMAND_EVENT, type, info, (orr_entity){0}, 0, value)
               : result;
}
