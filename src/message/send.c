// SPDX-License-Identifier: MIT
// Sending: each call checks what the system declared, and appends to a strip of its lane. Whether a system may send a kind of
// record of a type is asked when the strip is made; from then on a call costs little more than storing id and value.
#include "message/lane.h"
#include "store/apart.h"
#include "store/names.h"
#include "store/pool.h"

// ---- what every call begins with ----------------------------------------------------------------------------

static inline orr_lane* send_lane(const orr_run* run, const char* call)
{
    if (ORR_LIKELY(run != NULL && run->lane != NULL && run->lane->open)) {
        return run->lane;
    }
    (void)orri_check_run(run, call);
    return NULL;
}

ORRI_COLD static orr_result send_no_lane(const orr_run* run)
{
    return run != NULL ? ORR_ERR_STATE : ORR_ERR_ARGUMENT;
}

ORRI_COLD static orr_result send_refuse(orr_lane* lane, orr_result result, const char* call,
                                        const char* what)
{
    return orri_refuse(&lane->world->env, result, ORR_LOG_ID_SEND_REFUSED, "%s: system '%s': %s",
                       call, lane->rights->name, what);
}

static orr_result send_check_entity(orr_lane* lane, const char* call, orr_entity entity)
{
    return ORR_LIKELY(entity.id != 0)
               ? ORR_OK
               : send_refuse(lane, ORR_ERR_ARGUMENT, call,
                             "the entity is null; was its creation refused?");
}

// A type that can be sent as a component.
static orr_result send_check_type(orr_lane* lane, const char* call, orr_type type,
                                  orr_entity entity, const orri_type** out)
{
    *out = orri_type_at(&lane->world->schema, type);
    if (*out == NULL) {
        return orri_refuse_type(lane->world, call, type);
    }
    const char* name = (*out)->info.name;
    if (strncmp(name, "orr_", 4) == 0) {
        if (strcmp(name, "orr_name") == 0) {
            orri_id_text id = orri_entity_format(lane->world, entity);
            return orri_refuse(&lane->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SEND_REFUSED,
                               "%s: system '%s': orr_name of entity %s is sent by orr_send_name() "
                               "only; use that",
                               call, lane->rights->name, id.text);
        }
        if (strcmp(name, "orr_enabled") == 0 || strcmp(name, "orr_tags") == 0) {
            return send_refuse(lane, ORR_ERR_TYPE, call,
                               "orr_enabled and orr_tags are no components; use "
                               "orr_send_enable_type() and orr_send_tag()");
        }
    }
    return ORR_OK;
}

// References to what is not there yet may be sent, owned handles must be there: they are counted by the lane.
static orr_result send_check_value(orr_lane* lane, const char* call, const orri_type* type,
                                   const void* values, uint32_t count)
{
    if (ORR_UNLIKELY(values == NULL && type->info.size > 0 && count > 0)) {
        return orri_refuse(&lane->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SEND_REFUSED,
                           "%s: system '%s': the value of %s is NULL", call, lane->rights->name,
                           type->info.name);
    }
    const char* field = "";
    for (uint32_t i = 0; type->info.has_owned && i < count; i++) {
        const uint8_t* value = (const uint8_t*)values + (size_t)i * type->info.size;
        if (orri_value_owned_gone(type, value, &field)) {
            return orri_refuse(&lane->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SEND_REFUSED,
                               "%s: system '%s': %s.%s holds an owned string or array that is "
                               "gone, or of another world; one that is not stored lives until the "
                               "next tick",
                               call, lane->rights->name, type->info.name, field);
        }
    }
    return ORR_OK;
}

// ---- appending ----------------------------------------------------------------------------------------------

static inline bool send_current(const orr_lane* lane, orri_sent kind, orr_type type)
{
    const orri_strip* strip = lane->current;
    return strip != NULL && strip->kind == kind && strip->type.index1 == type.index1 && !strip->own;
}

// Copies values to the end of a strip that has room.
static bool send_copy(const orri_strip* strip, const void* values, uint32_t count)
{
    size_t stride = strip->stride;
    uint8_t* to = strip->values + strip->count * stride;
    if (stride == 0) {
        return true;
    }
    if (strip->quick) {
        memcpy(to, values, count * stride);
        return true;
    }
    return orri_rows_copy(strip->info, to, values, count);
}

// One record, without its value. NULL when refused (reported).
static orri_strip* send_room(orr_lane* lane, orri_sent kind, orr_type type, const orri_type* info,
                             uint32_t count)
{
    orri_strip* strip = send_current(lane, kind, type) ? lane->current
                                                       : orri_lane_strip(lane, kind, type, info);
    return strip != NULL && orri_strip_reserve(lane, strip, count) ? strip : NULL;
}

// Appends records of some entities. `ids` may be NULL: 0.
static orr_result send_append(orr_lane* lane, const char* call, orri_strip* strip,
                              const orr_entity* entities, const orr_component_id* ids,
                              const void* values, uint32_t count)
{
    if (!send_copy(strip, values, count)) {
        return orri_refuse_hook(lane->world, call, strip->info);
    }
    if (strip->entities != NULL) {
        memcpy(strip->entities + strip->count, entities, count * sizeof *entities);
    }
    for (uint32_t i = 0; strip->ids != NULL && i < count; i++) {
        strip->ids[strip->count + i] = ids != NULL ? ids[i] : 0;
    }
    strip->count += count;
    return ORR_OK;
}

static orr_result send_one(orr_lane* lane, const char* call, orri_sent kind, orr_type type,
                           const orri_type* info, orr_entity entity, orr_component_id id,
                           const void* value)
{
    orri_strip* strip = send_room(lane, kind, type, info, 1);
    return strip != NULL ? send_append(lane, call, strip, &entity, &id, value, 1) : ORR_ERR_MEMORY;
}

// A strip that was looked for before, as the lane's current one; NULL: look for it the long way.
ORRI_ASIDE static orri_strip* send_again(orr_lane* lane, orri_sent kind, orr_type type,
                                         orr_entity entity)
{
    uint32_t slot1 = lane->recent[ORRI_LANE_RECENT_OF(kind, type)];
    orri_strip* strip = slot1 != 0 ? &lane->strips[slot1 - 1] : NULL;
    bool same = strip != NULL && strip->kind == kind && strip->type.index1 == type.index1;
    bool ready = same && strip->quick && strip->ids == NULL && strip->count < strip->capacity &&
                 !(strip->born_only && orri_record_find(lane->world, entity) != NULL);
    return ready && orri_lane_turn(lane, strip) ? strip : NULL;
}

// The short way: a kind and type that was sent before, values that are bytes as they come, and room. NULL: go the long way.
static inline orri_strip* send_ready(orr_lane* lane, orri_sent kind, orr_type type,
                                     orr_entity entity)
{
    orri_strip* strip = lane->current;
    if (ORR_LIKELY(strip != NULL && strip->kind == kind && strip->type.index1 == type.index1 &&
                   strip->swift && strip->count != strip->capacity && entity.id != 0)) {
        return strip;
    }
    return entity.id != 0 ? send_again(lane, kind, type, entity) : NULL;
}

static inline bool send_quick(orr_lane* lane, orri_sent kind, orr_type type, orr_entity entity,
                              const void* value)
{
    orri_strip* strip = value != NULL ? send_ready(lane, kind, type, entity) : NULL;
    if (ORR_UNLIKELY(strip == NULL)) {
        return false;
    }
    uint32_t row = strip->count++;
    strip->entities[row] = entity;
    orri_value_move(strip->values + (size_t)row * strip->stride, value, strip->stride);
    return true;
}

// ---- components -----------------------------------------------------------------------------------------------

// ComponentAdded is declared by `adds`; for entities that this commit creates, `creates` will do.
static orr_result send_check_add(orr_lane* lane, const char* call, orr_type type, orr_entity entity)
{
    orri_rights* rights = lane->rights;
    uint32_t index = orri_type_index(lane->world, type);
    if (orri_right(rights->adds, rights, index)) {
        return ORR_OK;
    }
    bool creates = orri_right(rights->creates, rights, index);
    if (creates && orri_record_find(lane->world, entity) == NULL &&
        orri_apart_find(lane->world, entity) == NULL) {
        return ORR_OK;
    }
    return orri_refuse_right(lane->world, rights, call, "adds", type, entity);
}

ORRI_ASIDE static orr_result send_add_long(orr_lane* lane, orr_entity entity, orr_type type,
                                           const void* value, orr_component_id* out_id)
{
    const char* call = "orr_send_add_type";
    const orri_type* info;
    orr_result result = send_check_entity(lane, call, entity);
    result = result == ORR_OK ? send_check_type(lane, call, type, entity, &info) : result;
    result = result == ORR_OK ? send_check_add(lane, call, type, entity) : result;
    if (result == ORR_OK && value != NULL) {
        result = send_check_value(lane, call, info, value, 1);
    }
    if (result != ORR_OK) {
        return result;
    }
    bool multiple = info->info.multiplicity == ORR_MULTIPLE;
    orr_component_id id = multiple ? ORRI_PROVISIONAL | (lane->provisional_count + 1) : 0;
    orri_sent kind = value != NULL || info->info.size == 0 ? ORRI_SENT_ADD : ORRI_SENT_PRESET;
    if (orri_aside(lane, entity)) {
        if (out_id != NULL) {
            *out_id = 0;
        }
        return orri_aside_send(lane, kind, entity, info, value);
    }
    result = send_one(lane, call, kind, type, info, entity, id, value);
    if (result == ORR_OK) {
        const orri_rights* rights = lane->rights;
        orri_strip* strip = lane->current;
        strip->born_only = !orri_right(rights->adds, rights, orri_type_index(lane->world, type));
        strip->swift = strip->swift && !strip->born_only;
        lane->provisional_count += multiple;
        if (out_id != NULL) {
            *out_id = id;
        }
    }
    return result;
}

orr_result orr_send_add_type(orr_run* run, orr_entity entity, orr_type type, const void* value,
                             orr_component_id* out_id)
{
    orr_lane* lane = send_lane(run, "orr_send_add_type");
    if (ORR_UNLIKELY(lane == NULL)) {
        return send_no_lane(run);
    }
    if (ORR_LIKELY(send_quick(lane, ORRI_SENT_ADD, type, entity, value))) {
        if (out_id != NULL) {
            *out_id = 0;
        }
        return ORR_OK;
    }
    return send_add_long(lane, entity, type, value, out_id);
}

// The id of an instance goes with a multiple type, and with no other.
static orr_result send_check_id(orr_lane* lane, const char* call, const orri_type* type,
                                const orr_component_id* ids, uint32_t count, bool zero_allowed)
{
    bool multiple = type->info.multiplicity == ORR_MULTIPLE;
    for (uint32_t i = 0; i < count; i++) {
        orr_component_id id = ids != NULL ? ids[i] : 0;
        if (multiple ? id == 0 && !zero_allowed : id != 0) {
            return orri_refuse(&lane->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SEND_REFUSED,
                               "%s: system '%s': %s is %s, so its id %s", call, lane->rights->name,
                               type->info.name, multiple ? "a multiple type" : "unique",
                               multiple ? "must say which instance is meant" : "is 0");
        }
    }
    return ORR_OK;
}

// Of an observer, whose entities may be of both kinds.
ORRI_COLD static orr_result send_change_aside(orr_lane* lane, const char* call,
                                              const orri_type* info, const orr_entity* entities,
                                              uint32_t count, const void* values)
{
    orr_result result = ORR_OK;
    for (uint32_t i = 0; result == ORR_OK && i < count; i++) {
        const void* value = (const uint8_t*)values + (size_t)i * info->info.size;
        result = orri_aside(lane, entities[i])
                     ? orri_aside_send(lane, ORRI_SENT_CHANGE, entities[i], info, value)
                     : send_one(lane, call, ORRI_SENT_CHANGE, (orr_type){info->index1}, info,
                                entities[i], 0, value);
    }
    return result;
}

ORRI_ASIDE static orr_result send_change_rows(orr_lane* lane, const char* call, orr_type type,
                                              const orr_entity* entities,
                                              const orr_component_id* ids, uint32_t count,
                                              const void* values)
{
    const orri_type* info;
    orr_result result = ORR_OK;
    for (uint32_t i = 0; result == ORR_OK && i < count; i++) {
        result = send_check_entity(lane, call, entities[i]);
    }
    orr_entity first = count > 0 ? entities[0] : (orr_entity){0};
    result = result == ORR_OK ? send_check_type(lane, call, type, first, &info) : result;
    if (result != ORR_OK) {
        return result;
    }
    orri_rights* rights = lane->rights;
    if (!orri_right(rights->changes, rights, orri_type_index(lane->world, type))) {
        const char* field = rights->reader != NULL ? "query" : "changes";
        return orri_refuse_right(lane->world, rights, call, field, type, first);
    }
    result = send_check_id(lane, call, info, ids, count, false);
    result = result == ORR_OK ? send_check_value(lane, call, info, values, count) : result;
    if (result != ORR_OK || count == 0) {
        return result;
    }
    if (ORR_UNLIKELY(rights->aside)) {
        return send_change_aside(lane, call, info, entities, count, values);
    }
    orri_strip* strip = send_room(lane, ORRI_SENT_CHANGE, type, info, count);
    return strip != NULL ? send_append(lane, call, strip, entities, ids, values, count)
                         : ORR_ERR_MEMORY;
}

orr_result orr_send_change_type(orr_run* run, orr_entity entity, orr_type type, orr_component_id id,
                                const void* value)
{
    const char* call = "orr_send_change_type";
    orr_lane* lane = send_lane(run, call);
    if (ORR_UNLIKELY(lane == NULL)) {
        return send_no_lane(run);
    }
    if (ORR_LIKELY(id == 0 && send_quick(lane, ORRI_SENT_CHANGE, type, entity, value))) {
        return ORR_OK;
    }
    return send_change_rows(lane, call, type, &entity, &id, 1, value);
}

orr_result orr_send_change_many(orr_run* run, orr_type type, const orr_entity* entities,
                                const orr_component_id* ids, uint32_t count, const void* values)
{
    const char* call = "orr_send_change_many";
    orr_lane* lane = send_lane(run, call);
    if (lane == NULL) {
        return send_no_lane(run);
    }
    if (count > 0 && entities == NULL) {
        return send_refuse(lane, ORR_ERR_ARGUMENT, call, "the entities are NULL");
    }
    return send_change_rows(lane, call, type, entities, ids, count, values);
}

orr_result orr_send_remove_type(orr_run* run, orr_entity entity, orr_type type, orr_component_id id)
{
    const char* call = "orr_send_remove_type";
    const orri_type* info;
    orr_lane* lane = send_lane(run, call);
    if (ORR_UNLIKELY(lane == NULL)) {
        return send_no_lane(run);
    }
    orri_strip* strip = id == 0 ? send_ready(lane, ORRI_SENT_REMOVE, type, entity) : NULL;
    if (ORR_LIKELY(strip != NULL)) {
        strip->entities[strip->count++] = entity;
        return ORR_OK;
    }
    orr_result result = send_check_entity(lane, call, entity);
    result = result == ORR_OK ? send_check_type(lane, call, type, entity, &info) : result;
    if (result != ORR_OK) {
        return result;
    }
    orri_rights* rights = lane->rights;
    if (!orri_right(rights->removes, rights, orri_type_index(lane->world, type))) {
        return orri_refuse_right(lane->world, rights, call, "removes", type, entity);
    }
    result = send_check_id(lane, call, info, &id, 1, true);
    if (result == ORR_OK && orri_aside(lane, entity)) {
        return orri_aside_send(lane, ORRI_SENT_REMOVE, entity, info, NULL);
    }
    return result == ORR_OK ? send_one(lane, call, ORRI_SENT_REMOVE, type, info, entity, id, NULL)
                            : result;
}

// ---- entities -------------------------------------------------------------------------------------------------

orr_result orri_refuse_ids(orr_lane* lane, const char* call, uint32_t count)
{
    if (count > lane->creates_max - lane->create_count) {
        return orri_refuse(&lane->world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_SEND_REFUSED,
                           "%s: system '%s' has created %u entities in this run and asks for %u "
                           "more, but its .creates_max is %u; raise it",
                           call, lane->rights->name, lane->create_count, count, lane->creates_max);
    }
    if (lane->lanes->holds) {
        return orri_refuse(
            &lane->world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_SEND_REFUSED,
            "%s: system '%s' wants to create an entity, but no id is at hand: there "
            "was no memory for as many, or the world may have no more than %u; raise "
            "entities_max",
            call, lane->rights->name, lane->world->entities_max);
    }
    return orri_refuse(&lane->world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_SEND_REFUSED,
                       "%s: system '%s' wants to create an entity, but the world may have %u and "
                       "ids for all of them are taken or reserved; raise entities_max",
                       call, lane->rights->name, lane->world->entities_max);
}

orr_entity orri_lane_id(const orr_lane* lane, orri_index_cursor* cursor, uint32_t n)
{
    uint64_t position = lane->base + lane->create_count + n;
    if (ORR_UNLIKELY(lane->lanes->holds)) {
        return position < lane->lanes->held_count ? lane->lanes->held[position] : (orr_entity){0};
    }
    return position <= UINT32_MAX ? orri_index_nth(lane->world, cursor, (uint32_t)position)
                                  : (orr_entity){0};
}

bool orri_lane_ids(const orr_lane* lane, orri_index_cursor* cursor, orr_entity* out, uint32_t count)
{
    uint64_t position = lane->base + lane->create_count;
    if (ORR_UNLIKELY(lane->lanes->holds)) {
        bool all = position + count <= lane->lanes->held_count;
        if (all) {
            memcpy(out, lane->lanes->held + position, count * sizeof *out);
        }
        return all;
    }
    return position <= UINT32_MAX &&
           orri_index_next(lane->world, cursor, (uint32_t)position, out, count);
}

static orr_result send_check_create(orr_lane* lane, const char* call, uint32_t count)
{
    if (!lane->rights->may_create) {
        return orri_refuse_right(lane->world, lane->rights, call, "creates", (orr_type){0},
                                 (orr_entity){0});
    }
    return count <= lane->creates_max - lane->create_count ? ORR_OK
                                                           : orri_refuse_ids(lane, call, count);
}

orr_entity orr_send_create(orr_run* run)
{
    const char* call = "orr_send_create";
    orr_lane* lane = send_lane(run, call);
    if (ORR_UNLIKELY(lane == NULL || send_check_create(lane, call, 1) != ORR_OK)) {
        return (orr_entity){0};
    }
    if (ORR_UNLIKELY(lane->rights->aside)) {
        return orri_aside_create(lane);
    }
    orri_strip* strip = send_room(lane, ORRI_SENT_CREATE, (orr_type){0}, NULL, 1);
    if (ORR_UNLIKELY(strip == NULL)) {
        return (orr_entity){0};
    }
    orr_entity entity = orri_lane_id(lane, &lane->cursor, 0);
    if (ORR_UNLIKELY(entity.id == 0)) {
        (void)orri_refuse_ids(lane, call, 1);
        return entity;
    }
    strip->entities[strip->count++] = entity;
    lane->create_count++;
    return entity;
}

static orr_result send_check_destroy(orr_lane* lane, const char* call, orr_entity entity)
{
    orri_rights* rights = lane->rights;
    bool alive = orri_record_find(lane->world, entity) != NULL ||
                 orri_apart_find(lane->world, entity) != NULL;
    bool allowed = rights->may_destroy_any;
    if (!allowed && alive) {
        allowed = rights->destroys != NULL && orri_query_has(rights->destroys, entity);
    } else if (!allowed) {
        allowed = rights->may_create || rights->destroys != NULL;
    }
    return allowed
               ? ORR_OK
               : orri_refuse_right(lane->world, rights, call, "destroys", (orr_type){0}, entity);
}

orr_result orr_send_destroy(orr_run* run, orr_entity entity)
{
    const char* call = "orr_send_destroy";
    orr_lane* lane = send_lane(run, call);
    if (ORR_UNLIKELY(lane == NULL)) {
        return send_no_lane(run);
    }
    orr_result result = send_check_entity(lane, call, entity);
    result = result == ORR_OK ? send_check_destroy(lane, call, entity) : result;
    if (result == ORR_OK && ORR_UNLIKELY(lane->rights->aside)) {
        return orri_aside(lane, entity)
                   ? orri_aside_send(lane, ORRI_SENT_DESTROY, entity, NULL, NULL)
                   : orri_aside_refuse(lane, call, entity);
    }
    return result == ORR_OK
               ? send_one(lane, call, ORRI_SENT_DESTROY, (orr_type){0}, NULL, entity, 0, NULL)
               : result;
}

// ---- tags, switches, names ---------------------------------------------------------------------------------------

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
    orr_lane* lane = send_lane(run, call);
    if (lane == NULL) {
        return send_no_lane(run);
    }
    orr_result result = send_check_entity(lane, call, entity);
    if (result != ORR_OK) {
        return result;
    }
    if (!orri_may_tag(lane->rights, tag)) {
        return orri_refuse_tag(lane->world, lane->rights, call, tag, on, entity);
    }
    return send_one(lane, call, on ? ORRI_SENT_TAG_ON : ORRI_SENT_TAG_OFF, (orr_type){0}, NULL,
                    entity, 0, &tag);
}

orr_result orr_send_enable_type(orr_run* run, orr_entity entity, orr_type type, orr_component_id id,
                                bool on)
{
    const char* call = "orr_send_enable_type";
    const orri_type* info = NULL;
    orr_lane* lane = send_lane(run, call);
    if (lane == NULL) {
        return send_no_lane(run);
    }
    orri_rights* rights = lane->rights;
    orr_result result = send_check_entity(lane, call, entity);
    if (result == ORR_OK && type.index1 != 0) {
        result = send_check_type(lane, call, type, entity, &info);
    }
    if (result != ORR_OK) {
        return result;
    }
    bool may = info != NULL
                   ? orri_right(rights->switches, rights, orri_type_index(lane->world, type))
                   : rights->may_switch_entities;
    if (!may) {
        return orri_refuse_right(lane->world, rights, call, "switches", type, entity);
    }
    if (info != NULL) {
        result = send_check_id(lane, call, info, &id, 1, true);
    } else if (id != 0) {
        result = send_refuse(lane, ORR_ERR_ARGUMENT, call, "an entity has no instances; give id 0");
    }
    if (result == ORR_OK && orri_aside(lane, entity)) {
        return orri_aside_send(lane, on ? ORRI_SENT_ON : ORRI_SENT_OFF, entity, info, NULL);
    }
    return result == ORR_OK ? send_one(lane, call, on ? ORRI_SENT_ON : ORRI_SENT_OFF, type, info,
                                       entity, id, NULL)
                            : result;
}

static bool send_name_valid(const char* name)
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
    orr_lane* lane = send_lane(run, call);
    if (lane == NULL) {
        return send_no_lane(run);
    }
    orr_result result = send_check_entity(lane, call, entity);
    if (result != ORR_OK) {
        return result;
    }
    if (!lane->rights->may_rename) {
        return orri_refuse_right(lane->world, lane->rights, call, "renames", (orr_type){0}, entity);
    }
    if (name != NULL && !send_name_valid(name)) {
        return send_refuse(lane, ORR_ERR_NAME, call,
                           "this is no name for an entity; use 1 to 255 bytes without '/' and "
                           "without control characters");
    }
    orri_sent_name sent = {name != NULL ? scope : (orr_entity){0}, 0};
    if (name != NULL) {
        sent.text1 = orri_lane_text(lane, name);
        if (sent.text1 == 0) {
            return ORR_ERR_MEMORY;
        }
    }
    return send_one(lane, call, ORRI_SENT_NAME, (orr_type){0}, NULL, entity, 0, &sent);
}

// ---- events -----------------------------------------------------------------------------------------------------

orr_result orr_send_event_type(orr_run* run, orr_type type, const void* value)
{
    const char* call = "orr_send_event_type";
    orr_lane* lane = send_lane(run, call);
    if (ORR_UNLIKELY(lane == NULL)) {
        return send_no_lane(run);
    }
    if (!send_current(lane, ORRI_SENT_EVENT, type)) {
        orri_rights* rights = lane->rights;
        orr_result result = orri_event_check(lane->world, call, type);
        if (result != ORR_OK) {
            return result;
        }
        if (!orri_right(rights->sends, rights, orri_type_index(lane->world, type))) {
            return orri_refuse_right(lane->world, rights, call, "sends", type, (orr_entity){0});
        }
    }
    const orri_type* info = orri_type_at(&lane->world->schema, type);
    orr_result result = send_check_value(lane, call, info, value, 1);
    return result == ORR_OK
               ? send_one(lane, call, ORRI_SENT_EVENT, type, info, (orr_entity){0}, 0, value)
               : result;
}
