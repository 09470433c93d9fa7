// SPDX-License-Identifier: MIT
// Time and slots of single entities: orr_time_of(), orr_entity_remember(), orr_entity_forget(),
// orr_entity_slots() and orr_entity_travel().
#include "history/entity_history.h"

// Their descs are in the store (pseudo_types.c), so that the types can be found by name.
_Static_assert(sizeof(orr_time) == 8 && sizeof(orr_time_traveller) == 128 &&
                   sizeof(orr_time_stretcher) == 40 && offsetof(orr_time_stretcher, state) == 32 &&
                   sizeof(orr_stretch_state) == 4,
               "a type of traveller.h changed: change its desc in store/table/pseudo_types.c");

// ---- time ---------------------------------------------------------------------------------------

uint64_t orr_time_of(const orr_world* world, orr_entity entity)
{
    ORR_ASSERT(world != NULL);
    orr_type type = orri_type_find(&world->schema, "orr_time");
    if (type.id == 0 && orri_record_find(world, entity) == NULL) {
        (void)orri_refuse_entity(world, "orr_time_of", entity, type);
        return 0;
    }
    bool allowed = type.id != 0 ? orri_access_reads(world, "orr_time_of", type, entity)
                                : orri_access_looks(world, "orr_time_of", entity);
    if (!allowed) {
        return 0;
    }
    const orr_time* time = type.id != 0 ? orr_component_get(world, entity, type) : NULL;
    if (time == NULL) {
        if (orr_alive(world, entity)) {
            orri_id_text id_text = orri_entity_format(world, entity);
            (void)orri_refuse(orri_env_of(world), ORR_ERR_ABSENT, ORR_LOG_ID_ENTITY_REFUSED,
                              "orr_time_of: entity %s has no orr_time; add it", id_text.text);
        }
        return 0;
    }
    // Unsigned arithmetic modulo 2^64: exact also for slots far ahead of the world's tick.
    return orri_tick_now(world) - (uint64_t)time->origin;
}

// The value of orr_time of an entity whose time is `time` now.
static orr_time entity_history_time(const orr_world* world, uint64_t time)
{
    return (orr_time){(int64_t)(orri_tick_now(world) - time)};
}

// Finds the types of traveller.h; registers them if necessary. Errors are reported.
static orr_result entity_history_types(orr_world* world, orri_time_types* out)
{
    out->time = orr_type_of(world, ORR_TYPE(orr_time));
    if (out->time.id != 0) {
        out->traveller = orr_type_of(world, ORR_TYPE(orr_time_traveller));
    }
    if (out->time.id != 0 && out->traveller.id != 0) {
        out->stretcher = orr_type_of(world, ORR_TYPE(orr_time_stretcher));
        if (out->stretcher.id != 0) {
            world->schema.types[orri_type_index(world, out->traveller)]->print =
                orri_entity_slots_words;
            return ORR_OK;
        }
    }
    return orri_env_result(&world->env);
}

orr_result orri_traveller_begin(orr_world* world, const char* call, orri_time_types* out)
{
    // Before types are looked up: inside a system they cannot be registered, and that error would
    // be misleading.
    if (orri_access_checked(world)) {
        return orri_refuse_running(world, call);
    }
    if (world->schedule != NULL && orri_system_here(world) != NULL) {
        return orri_step_check(world, call); // Inside a system whose access checks are off.
    }
    orr_result result = orri_check_open(world, call);
    return result == ORR_OK ? entity_history_types(world, out) : result;
}

// ---- common checks ------------------------------------------------------------------------------

// The arguments of a call, and what it found about the entity.
typedef struct entity_history_here {
    orr_world* world;
    const char* call; // Name of the public function, for error texts.
    orr_entity entity;
    orri_time_types types;
    orri_entity_slots slots; // The slots of the entity.
} entity_history_here;

// Checks that the call is allowed and the entity has orr_time_traveller. Errors are reported.
static orr_result entity_history_find(orr_world* world, const char* call, orr_entity entity,
                                      entity_history_here* out)
{
    *out = (entity_history_here){.world = world, .call = call, .entity = entity};
    orr_result result = orri_traveller_begin(world, call, &out->types);
    if (result != ORR_OK) {
        return result;
    }
    if (orri_record_find(world, entity) == NULL) {
        return orri_refuse_entity(world, call, entity, out->types.traveller);
    }
    if (!orr_component_has(world, entity, out->types.traveller)) {
        orri_id_text id_text = orri_entity_format(world, entity);
        return orri_refuse(&world->env, ORR_ERR_ABSENT, ORR_LOG_ID_ENTITY_REFUSED,
                           "%s: entity %s has no orr_time_traveller; add it first", call,
                           id_text.text);
    }
    out->slots = orri_entity_slots_of(world, entity);
    return ORR_OK;
}

// ---- remembering and forgetting -----------------------------------------------------------------

ORRI_COLD static orr_result entity_history_refuse_size(const entity_history_here* here,
                                                       uint64_t slot, uint64_t size)
{
    orri_id_text id_text = orri_entity_format(here->world, here->entity);
    return orri_refuse(&here->world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_CALL_REFUSED,
                       "%s: with slot %llu the slots of entity %s would use %llu bytes, the limit "
                       "is %u (ORR_TRAVELLER_BYTES_MAX); empty some slots with "
                       "orr_entity_forget()",
                       here->call, (unsigned long long)slot, id_text.text, (unsigned long long)size,
                       ORR_TRAVELLER_BYTES_MAX);
}

// Writes an image to a slot; NULL: empties the slot.
static orr_result entity_history_store(const entity_history_here* here, uint64_t slot,
                                       const orri_bytes* image)
{
    orr_world* world = here->world;
    orr_time_traveller now, next;
    memcpy(&now, orr_component_get(world, here->entity, here->types.traveller), sizeof now);
    orr_result result = orri_entity_slots_put(world, &now, slot, image, &next);
    if (result != ORR_OK) {
        return result;
    }
    uint64_t size = orri_entity_slots_in(&world->schema, &next).size;
    return size > ORR_TRAVELLER_BYTES_MAX
               ? entity_history_refuse_size(here, slot, size)
               : orr_component_set(world, here->entity, here->types.traveller, &next);
}

orr_result orr_entity_remember(orr_world* world, orr_entity entity, uint64_t slot)
{
    ORR_ASSERT(world != NULL);
    entity_history_here here;
    orr_result result = entity_history_find(world, "orr_entity_remember", entity, &here);
    if (result != ORR_OK) {
        return result;
    }
    orri_bytes image = {.env = &world->env};
    result = orri_entity_encode(world, here.call, entity, &image);
    if (result == ORR_OK) {
        result = entity_history_store(&here, slot, &image);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_SYSTEM, image.data, image.capacity);
    return result;
}

ORRI_COLD static orr_result entity_history_refuse_past(const entity_history_here* here,
                                                       uint64_t slot, const char* remedy)
{
    char near[128];
    orri_text text = {near, sizeof near, 0};
    orri_entity_slots_near(&here->slots, (double)slot, &text);
    orri_id_text id_text = orri_entity_format(here->world, here->entity);
    return orri_refuse(&here->world->env, ORR_ERR_PAST, ORR_LOG_ID_CALL_REFUSED,
                       "%s: entity %s has no state in slot %llu; %s%s", here->call, id_text.text,
                       (unsigned long long)slot, near, remedy);
}

orr_result orr_entity_forget(orr_world* world, orr_entity entity, uint64_t slot)
{
    ORR_ASSERT(world != NULL);
    entity_history_here here;
    bool found = false;
    orr_result result = entity_history_find(world, "orr_entity_forget", entity, &here);
    if (result != ORR_OK) {
        return result;
    }
    (void)orri_entity_slots_find(&here.slots, slot, &found);
    return found ? entity_history_store(&here, slot, NULL)
                 : entity_history_refuse_past(&here, slot, "");
}

uint32_t orr_entity_slots(const orr_world* world, orr_entity entity, uint64_t* out,
                          uint32_t out_count)
{
    ORR_ASSERT(world != NULL);
    ORR_ASSERT(out != NULL || out_count == 0);
    if (!orr_alive(world, entity) || orri_record_find(world, entity) == NULL) {
        return 0;
    }
    orri_entity_slots slots = orri_entity_slots_of(world, entity);
    for (uint32_t i = 0; i < slots.count && i < out_count; i++) {
        out[i] = orri_entity_slots_slot(&slots, i);
    }
    return slots.count;
}

// ---- travelling ---------------------------------------------------------------------------------

// Values that are not part of an image, and are set together with it: the entity's time, and the
// position of its stretcher, if it has one.
typedef struct entity_history_extra {
    orr_time time;
    orr_time_stretcher stretcher;
    orri_given given[2]; // Point to `time` and `stretcher`.
    uint32_t count;      // Of `given`: 1 or 2.
} entity_history_extra;

static void entity_history_extras(const entity_history_here* here, uint64_t time,
                                  entity_history_extra* out)
{
    out->time = entity_history_time(here->world, time);
    out->given[0] = (orri_given){here->types.time, (const uint8_t*)&out->time};
    out->count = 1;
    const orr_time_stretcher* stretcher =
        orr_component_get(here->world, here->entity, here->types.stretcher);
    if (stretcher != NULL) {
        out->stretcher = *stretcher;
        out->stretcher.position = (double)time;
        out->stretcher.state = ORR_STRETCH_MOVES;
        out->given[out->count++] =
            (orri_given){here->types.stretcher, (const uint8_t*)&out->stretcher};
    }
}

// Gives the entity the state of an image, and sets its time.
static orr_result entity_history_load(const entity_history_here* here, orri_bytes_reader image,
                                      uint64_t time)
{
    entity_history_extra extra;
    orri_decoded decoded;
    entity_history_extras(here, time, &extra);
    orr_result result = orri_entity_decode(here->world, here->call, image, &decoded);
    if (result == ORR_OK) {
        result = orri_decoded_apply(&decoded, here->call, here->entity, extra.given, extra.count);
        orri_decoded_free(&decoded);
    }
    return result;
}

// Runs the ticks of one entity from time `from` to time `to`.
static orr_result entity_history_run(const entity_history_here* here,
                                     const orri_single_entity* single, uint64_t from, uint64_t to)
{
    orr_result result = ORR_OK;
    for (uint64_t time = from; result == ORR_OK && time < to; time++) {
        orr_time value = entity_history_time(here->world, time + 1);
        result = orr_component_set(here->world, here->entity, here->types.time, &value);
        if (result == ORR_OK) {
            result = orri_single_entity_tick(single, time + 1 - from);
        }
    }
    return result;
}

// Sets the position of its stretcher, if it has one, after the ticks ran.
static orr_result entity_history_arrive(const entity_history_here* here, uint64_t time)
{
    entity_history_extra extra;
    entity_history_extras(here, time, &extra);
    return extra.count == 1 ? ORR_OK
                            : orr_component_set(here->world, here->entity, here->types.stretcher,
                                                &extra.stretcher);
}

// True if the entity is played back. Such an entity moves only to its slots: no ticks are run for
// it.
static bool entity_history_stretched(const entity_history_here* here)
{
    const orr_time_stretcher* stretcher =
        orr_component_get(here->world, here->entity, here->types.stretcher);
    return stretcher != NULL && stretcher->drives.id == 0;
}

ORRI_COLD static orr_result entity_history_refuse_stretched(const entity_history_here* here,
                                                            uint64_t slot)
{
    orri_id_text id_text = orri_entity_format(here->world, here->entity);
    return orri_refuse(&here->world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                       "%s: entity %s has an orr_time_stretcher, so it moves only to its slots, "
                       "and slot %llu is empty; save it with orr_entity_remember(), or remove "
                       "the stretcher first",
                       here->call, id_text.text, (unsigned long long)slot);
}

// ---- the way back after a failed run ------------------------------------------------------------

// Ticks of one entity write values in place, and nothing else. So its old values are kept as they
// are, and putting them back needs no memory. (An image is not enough: references to dead entities
// become null in it, and it has neither orr_time nor orr_time_stretcher.)
static void entity_history_keep_type(const entity_history_here* here, const orri_type* type,
                                     orri_bytes* kept)
{
    const uint8_t* values;
    const orr_component_id* ids;
    uint32_t count = orri_decoded_current(here->world, here->entity, type, &values, &ids);
    orri_bytes_put(kept, &type, sizeof type);
    orri_bytes_put(kept, values, (size_t)count * type->info.size);
    if (!kept->failed) {
        orri_rows_retain(type, values, count);
    }
}

// Keeps all values of the entity, except its name.
static void entity_history_keep(const entity_history_here* here, orri_bytes* kept)
{
    const orr_world* world = here->world;
    const orri_record* record = orri_record_find(world, here->entity);
    const orri_cluster* cluster = orri_place_chunk(world, record->place)->cluster;
    for (uint32_t i = 0; i < cluster->type_count; i++) {
        if (cluster->columns[i].type->info.size > 0) {
            entity_history_keep_type(here, cluster->columns[i].type, kept);
        }
    }
    for (uint32_t i = 0; i < world->pinned.count; i++) {
        const orri_pool* pool = world->pinned.list[i];
        if (!pool->is_name && pool->size > 0 &&
            orri_pool_get(pool, orri_id_index(here->entity)) != NULL) {
            entity_history_keep_type(here, pool->type, kept);
        }
    }
}

// Makes the row of an owned type writable.
static bool entity_history_write(const entity_history_here* here, const orri_type* type)
{
    orr_world* world = here->world;
    if (orri_type_pinned(type)) {
        return orri_pool_write(world, orri_pool_find(world, (orr_type){type->id}),
                               orri_id_index(here->entity)) != NULL;
    }
    uint32_t place = orri_record_find(world, here->entity)->place;
    orri_chunk* chunk = orri_place_chunk(world, place);
    int32_t column = orri_cluster_find_column(chunk->cluster, (orr_type){type->id});
    return orri_rows_write(world, chunk, (uint32_t)column, orri_place_slot(place), 1) != NULL;
}

// Puts one value back that differs. An owned value takes over the reference count of its copy.
static void entity_history_put_value(const entity_history_here* here, const orri_type* type,
                                     uint32_t i, const uint8_t* value)
{
    const uint8_t* values;
    const orr_component_id* ids;
    orr_type handle = {type->id};
    uint32_t size = type->info.size;
    if (!type->info.has_owned) {
        (void)orri_decoded_current(here->world, here->entity, type, &values, &ids);
        (void)(ids != NULL ? orr_instance_set(here->world, here->entity, handle, ids[i], value)
                           : orr_component_set(here->world, here->entity, handle, value));
    } else if (entity_history_write(here, type)) {
        (void)orri_decoded_current(here->world, here->entity, type, &values, &ids);
        uint8_t* row = (uint8_t*)(uintptr_t)values + (size_t)i * size;
        orri_rows_retain(type, value, 1);
        orri_rows_release(type, row, 1);
        memcpy(row, value, size);
    }
}

static void entity_history_put_back(const entity_history_here* here, const orri_bytes* kept)
{
    orri_bytes_reader from = {.data = kept->data, .count = kept->count};
    while (from.at < from.count) {
        const orri_type* type;
        const uint8_t* values;
        const orr_component_id* ids;
        memcpy(&type, orri_bytes_take(&from, sizeof type), sizeof type);
        uint32_t size = type->info.size;
        uint32_t count = orri_decoded_current(here->world, here->entity, type, &values, &ids);
        const uint8_t* old = orri_bytes_take(&from, (size_t)count * size);
        for (uint32_t i = 0; i < count; i++) {
            (void)orri_decoded_current(here->world, here->entity, type, &values, &ids);
            if (memcmp(values + (size_t)i * size, old + (size_t)i * size, size) != 0) {
                entity_history_put_value(here, type, i, old + (size_t)i * size);
            }
        }
    }
}

static void entity_history_kept_free(const entity_history_here* here, orri_bytes* kept)
{
    orri_bytes_reader from = {.data = kept->data, .count = kept->count};
    while (from.at + sizeof(orri_type*) <= from.count) {
        const orri_type* type;
        const uint8_t* values;
        const orr_component_id* ids;
        memcpy(&type, orri_bytes_take(&from, sizeof type), sizeof type);
        uint32_t count = orri_decoded_current(here->world, here->entity, type, &values, &ids);
        const uint8_t* old = orri_bytes_take(&from, (size_t)count * type->info.size);
        if (old != NULL) { // NULL: there was no memory for the last values.
            orri_rows_release(type, (uint8_t*)(uintptr_t)old, count);
        }
    }
    ORRI_RELEASE(kept->env, ORR_MEMORY_SYSTEM, kept->data, kept->capacity);
}

// Runs the ticks of the entity alone. On error the entity gets its old state back.
static orr_result entity_history_ahead(const entity_history_here* here, uint64_t from, uint64_t to)
{
    orri_env* env = &here->world->env;
    orri_single_entity single = {here->world, here->call, here->entity, "orr_stretch"};
    orri_bytes image = {.env = env}, kept = {.env = env};
    orr_result result = orri_single_entity_check(&single);
    if (result == ORR_OK) { // Refuses types that cannot be stored.
        result = orri_entity_encode(here->world, here->call, here->entity, &image);
    }
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, image.data, image.capacity);
    if (result == ORR_OK) {
        entity_history_keep(here, &kept);
        result = kept.failed ? orri_refuse_memory(env, here->call) : ORR_OK;
    }
    if (result == ORR_OK) {
        result = entity_history_run(here, &single, from, to);
        result = result == ORR_OK ? entity_history_arrive(here, to) : result;
        if (result != ORR_OK) {
            entity_history_put_back(here, &kept);
        }
    }
    entity_history_kept_free(here, &kept);
    return result;
}

// Such a distance comes from a time before 0 that wrapped around.
ORRI_COLD static orr_result entity_history_refuse_far(const entity_history_here* here, uint64_t now,
                                                      uint64_t slot)
{
    orri_id_text id_text = orri_entity_format(here->world, here->entity);
    return orri_refuse(&here->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                       "%s: entity %s has no state in slot %llu, which is %llu ticks ahead "
                       "of its time, %llu; at most 4294967295 ticks can be run. Check whether the "
                       "slot was computed as a difference below 0",
                       here->call, id_text.text, (unsigned long long)slot,
                       (unsigned long long)(slot - now), (unsigned long long)now);
}

orr_result orr_entity_travel(orr_world* world, orr_entity entity, uint64_t slot)
{
    ORR_ASSERT(world != NULL);
    entity_history_here here;
    orr_result result = entity_history_find(world, "orr_entity_travel", entity, &here);
    if (result != ORR_OK) {
        return result;
    }
    bool found;
    uint32_t at = orri_entity_slots_find(&here.slots, slot, &found);
    if (found) {
        return entity_history_load(&here, orri_entity_slots_image(&here.slots, at), slot);
    }
    uint64_t now = orr_time_of(world, entity);
    if (slot == now) {
        return ORR_OK;
    }
    if (slot > now && slot - now > UINT32_MAX) {
        return entity_history_refuse_far(&here, now, slot);
    }
    if (slot > now && entity_history_stretched(&here)) {
        return entity_history_refuse_stretched(&here, slot);
    }
    return slot > now
               ? entity_history_ahead(&here, now, slot)
               : entity_history_refuse_past(&here, slot, ", and a past state cannot be computed");
}
