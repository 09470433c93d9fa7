// SPDX-License-Identifier: MIT
// Applies a decoded state to an entity: finds the differences and makes them as one net change.
// Instances keep their ids by position. Equal values are not written, so they do not count as
// changed.
#include "codec/codec.h"

// Makes room for one more item of a list; sets `failed` when refused.
#define ENTITY_APPLY_ROOM(c, list, count, capacity)                                          \
    ((c)->failed = (c)->failed || !ORRI_RESERVE(&(c)->decoded->world->env, ORR_MEMORY_TEMP,  \
                                                &(c)->list, &(c)->capacity, (c)->count + 1), \
     !(c)->failed)

static void entity_apply_enable(orri_entity_apply* c, const orri_type* type, orr_component_id id,
                                bool on)
{
    if (ENTITY_APPLY_ROOM(c, enables, enable_count, enable_capacity)) {
        orr_type handle = {type != NULL ? type->id : 0};
        c->enables[c->enable_count++] = (orri_enable_change){.type = handle, .id = id, .on = on};
    }
}

// Disables the instance that instances[index] adds.
static void entity_apply_disable_added(orri_entity_apply* c, orr_type type, uint32_t index)
{
    if (ENTITY_APPLY_ROOM(c, enables, enable_count, enable_capacity)) {
        c->enables[c->enable_count++] = (orri_enable_change){.type = type, .added1 = index + 1};
    }
}

static void entity_apply_instance(orri_entity_apply* c, orri_instance_change change)
{
    if (ENTITY_APPLY_ROOM(c, instances, instance_count, instance_capacity)) {
        c->instances[c->instance_count++] = change;
    }
}

// ---- types --------------------------------------------------------------------------------------

static void entity_apply_unique(orri_entity_apply* c, const orri_decoded_part* part)
{
    orr_world* world = c->decoded->world;
    const uint8_t* now;
    const orr_component_id* ids;
    orr_type type = {part->type->id};
    bool has = orri_decoded_current(world, c->entity, part->type, &now, &ids) > 0;
    bool same = has && (part->type->info.size == 0 ||
                        orr_value_compare(&part->type->info, now, part->values) == 0);
    if (!same && ENTITY_APPLY_ROOM(c, given, given_count, given_capacity)) {
        c->given[c->given_count++] = (orri_given){type, part->values};
    }
    bool on = !has || orri_component_enabled(world, c->entity, type);
    if (on != orri_bit_get(part->on, 0)) {
        entity_apply_enable(c, part->type, 0, !on);
    }
}

// An instance that exists in both the entity and the decoded state.
static void entity_apply_old_instance(orri_entity_apply* c, const orri_decoded_part* part,
                                      uint32_t i, const uint8_t* now, orr_component_id id)
{
    uint32_t size = part->type->info.size;
    orr_type type = {part->type->id};
    const uint8_t* value = part->values + (size_t)i * size;
    if (size > 0 && orr_value_compare(&part->type->info, now + (size_t)i * size, value) != 0) {
        entity_apply_instance(c, (orri_instance_change){.type = type, .id = id, .value = value});
    }
    bool on = orr_instance_enabled(c->decoded->world, c->entity, type, id);
    if (on != orri_bit_get(part->on, i)) {
        entity_apply_enable(c, part->type, id, !on);
    }
}

static void entity_apply_multiple(orri_entity_apply* c, const orri_decoded_part* part)
{
    const uint8_t* now;
    const orr_component_id* ids;
    orr_type type = {part->type->id};
    uint32_t has = orri_decoded_current(c->decoded->world, c->entity, part->type, &now, &ids);
    for (uint32_t i = 0; i < has || i < part->count; i++) {
        if (i >= part->count) {
            entity_apply_instance(
                c, (orri_instance_change){.type = type, .id = ids[i], .removed = true});
        } else if (i < has) {
            entity_apply_old_instance(c, part, i, now, ids[i]);
        } else {
            uint32_t index = c->instance_count;
            const uint8_t* value = part->values + (size_t)i * part->type->info.size;
            entity_apply_instance(c, (orri_instance_change){.type = type, .value = value});
            if (!orri_bit_get(part->on, i)) {
                entity_apply_disable_added(c, type, index);
            }
        }
    }
}

// True if the decoded state has the type, or the type is not part of images.
static bool entity_apply_keeps(const orri_entity_apply* c, const orri_type* type)
{
    for (uint32_t i = 0; i < c->decoded->part_count; i++) {
        if (c->decoded->parts[i].type == type) {
            return true;
        }
    }
    return orri_encode_skips(type);
}

// Removes the type, unless the decoded state has it.
static void entity_apply_remove_type(orri_entity_apply* c, const orri_type* type)
{
    if (!entity_apply_keeps(c, type) && ENTITY_APPLY_ROOM(c, taken, taken_count, taken_capacity)) {
        c->taken[c->taken_count++] = (orr_type){type->id};
    }
}

static void entity_apply_types(orri_entity_apply* c, const orri_cluster* cluster)
{
    const orr_world* world = c->decoded->world;
    for (uint32_t i = 0; i < c->decoded->part_count; i++) {
        const orri_decoded_part* part = &c->decoded->parts[i];
        if (part->type->info.multiplicity == ORR_MULTIPLE) {
            entity_apply_multiple(c, part);
        } else {
            entity_apply_unique(c, part);
        }
    }
    for (uint32_t i = 0; i < cluster->type_count; i++) {
        entity_apply_remove_type(c, cluster->columns[i].type);
    }
    for (uint32_t i = 0; i < world->pinned.count; i++) {
        if (orri_pool_get(world->pinned.list[i], orri_id_index(c->entity)) != NULL) {
            entity_apply_remove_type(c, world->pinned.list[i]->type);
        }
    }
}

// ---- tags ---------------------------------------------------------------------------------------

static bool entity_apply_has_tag(const orr_tag* tags, uint32_t count, orr_tag tag)
{
    for (uint32_t i = 0; i < count; i++) {
        if (tags[i] == tag) {
            return true;
        }
    }
    return false;
}

static void entity_apply_tags(orri_entity_apply* c, const orri_cluster* cluster)
{
    const orri_decoded* decoded = c->decoded;
    for (uint32_t i = 0; i < decoded->tag_count; i++) {
        if (!entity_apply_has_tag(cluster->tags, cluster->tag_count, decoded->tags[i]) &&
            ENTITY_APPLY_ROOM(c, tags_on, tag_on_count, tag_on_capacity)) {
            c->tags_on[c->tag_on_count++] = decoded->tags[i];
        }
    }
    for (uint32_t i = 0; i < cluster->tag_count; i++) {
        if (!entity_apply_has_tag(decoded->tags, decoded->tag_count, cluster->tags[i]) &&
            ENTITY_APPLY_ROOM(c, tags_off, tag_off_count, tag_off_capacity)) {
            c->tags_off[c->tag_off_count++] = cluster->tags[i];
        }
    }
}

// ---- all differences ----------------------------------------------------------------------------

bool orri_entity_apply_find(orri_entity_apply* changes, const orri_decoded* decoded,
                            orr_entity entity)
{
    orr_world* world = decoded->world;
    *changes = (orri_entity_apply){.decoded = decoded, .entity = entity};
    const orri_cluster* cluster =
        orri_place_chunk(world, orri_record_find(world, entity)->place)->cluster;
    entity_apply_types(changes, cluster);
    entity_apply_tags(changes, cluster);
    if (orri_entity_enabled(world, entity) != decoded->on) {
        entity_apply_enable(changes, NULL, 0, decoded->on);
    }
    if (changes->failed) {
        (void)orri_refuse_memory(&world->env, "changing an entity");
    }
    return !changes->failed;
}

void orri_entity_apply_free(orri_entity_apply* changes)
{
    orri_env* env = &changes->decoded->world->env;
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, changes->given, changes->given_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, changes->taken, changes->taken_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, changes->instances, changes->instance_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, changes->enables, changes->enable_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, changes->tags_on, changes->tag_on_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, changes->tags_off, changes->tag_off_capacity);
}

// ---- by a change set ----------------------------------------------------------------------------

static orr_result entity_apply_run(const orri_entity_apply* c, const char* call)
{
    orri_group group = {.kind = ORRI_CHANGE_KIND_CHANGE,
                        .entities = &c->entity,
                        .count = 1,
                        .given = c->given,
                        .given_count = c->given_count,
                        .taken = c->taken,
                        .taken_count = c->taken_count,
                        .tags_on = c->tags_on,
                        .tag_on_count = c->tag_on_count,
                        .tags_off = c->tags_off,
                        .tag_off_count = c->tag_off_count,
                        .instances = c->instances,
                        .instance_count = c->instance_count,
                        .enables = c->enables,
                        .enable_count = c->enable_count};
    orri_change_set_desc desc = {.call = call, .groups = &group, .count = 1, .strict = true};
    return orri_change_set_apply(c->decoded->world, &desc);
}

orr_result orri_decoded_apply(const orri_decoded* decoded, const char* call, orr_entity entity,
                              const orri_given* extra, uint32_t extra_count)
{
    orri_entity_apply changes;
    bool found = orri_entity_apply_find(&changes, decoded, entity);
    for (uint32_t i = 0; found && i < extra_count; i++) {
        found = ENTITY_APPLY_ROOM(&changes, given, given_count, given_capacity);
        if (found) {
            changes.given[changes.given_count++] = extra[i];
        } else {
            (void)orri_refuse_memory(&decoded->world->env, "changing an entity");
        }
    }
    orr_result result = found ? entity_apply_run(&changes, call) : ORR_ERR_MEMORY;
    orri_entity_apply_free(&changes);
    return result;
}

#undef ENTITY_APPLY_ROOM
