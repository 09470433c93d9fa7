// SPDX-License-Identifier: MIT
// Applies a frame to an entity: finds the differences and makes them as one net change. Instances
// keep their ids by position. Equal values are not written, so they do not count as changed.
#include "codec/codec.h"

// Makes room for one more item of a list; sets `failed` when refused.
#define ENTITY_APPLY_ROOM(c, list, count, capacity)                                          \
    ((c)->failed = (c)->failed || !ORRI_RESERVE(&(c)->frame->world->env, ORR_MEMORY_TEMP,    \
                                                &(c)->list, &(c)->capacity, (c)->count + 1), \
     !(c)->failed)

static void entity_apply_switch(orri_entity_apply* c, const orri_type* type, orr_component_id id,
                                bool on)
{
    if (ENTITY_APPLY_ROOM(c, switches, switch_count, switch_capacity)) {
        orr_type handle = {type != NULL ? type->id : 0};
        c->switches[c->switch_count++] = (orri_enable_change){handle, id, on};
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
    orr_world* world = c->frame->world;
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
        entity_apply_switch(c, part->type, 0, !on);
    }
}

// An instance that exists in both the entity and the frame.
static void entity_apply_old_instance(orri_entity_apply* c, const orri_decoded_part* part,
                                      uint32_t i, const uint8_t* now, orr_component_id id)
{
    uint32_t size = part->type->info.size;
    orr_type type = {part->type->id};
    const uint8_t* value = part->values + (size_t)i * size;
    if (size > 0 && orr_value_compare(&part->type->info, now + (size_t)i * size, value) != 0) {
        entity_apply_instance(c, (orri_instance_change){type, id, false, value});
    }
    bool on = orr_instance_enabled(c->frame->world, c->entity, type, id);
    if (on != orri_bit_get(part->on, i)) {
        entity_apply_switch(c, part->type, id, !on);
    }
}

static void entity_apply_multiple(orri_entity_apply* c, const orri_decoded_part* part)
{
    const uint8_t* now;
    const orr_component_id* ids;
    orr_type type = {part->type->id};
    uint32_t has = orri_decoded_current(c->frame->world, c->entity, part->type, &now, &ids);
    for (uint32_t i = 0; i < has || i < part->count; i++) {
        if (i >= part->count) {
            entity_apply_instance(c, (orri_instance_change){type, ids[i], true, NULL});
        } else if (i < has) {
            entity_apply_old_instance(c, part, i, now, ids[i]);
        } else {
            uint32_t index = c->instance_count;
            const uint8_t* value = part->values + (size_t)i * part->type->info.size;
            entity_apply_instance(c, (orri_instance_change){type, 0, false, value});
            if (!orri_bit_get(part->on, i)) {
                entity_apply_switch(c, part->type, ORRI_PROVISIONAL | index, false);
            }
        }
    }
}

// True if the frame has the type, or the type is not part of frames.
static bool entity_apply_keeps(const orri_entity_apply* c, const orri_type* type)
{
    for (uint32_t i = 0; i < c->frame->part_count; i++) {
        if (c->frame->parts[i].type == type) {
            return true;
        }
    }
    return orri_encode_skips(type);
}

// Removes the type, unless the frame keeps it.
static void entity_apply_take(orri_entity_apply* c, const orri_type* type)
{
    if (!entity_apply_keeps(c, type) && ENTITY_APPLY_ROOM(c, taken, taken_count, taken_capacity)) {
        c->taken[c->taken_count++] = (orr_type){type->id};
    }
}

static void entity_apply_types(orri_entity_apply* c, const orri_cluster* cluster)
{
    const orr_world* world = c->frame->world;
    for (uint32_t i = 0; i < c->frame->part_count; i++) {
        const orri_decoded_part* part = &c->frame->parts[i];
        if (part->type->info.multiplicity == ORR_MULTIPLE) {
            entity_apply_multiple(c, part);
        } else {
            entity_apply_unique(c, part);
        }
    }
    for (uint32_t i = 0; i < cluster->type_count; i++) {
        entity_apply_take(c, cluster->columns[i].type);
    }
    for (uint32_t i = 0; i < world->pinned.count; i++) {
        if (orri_pool_get(world->pinned.list[i], orri_id_index(c->entity)) != NULL) {
            entity_apply_take(c, world->pinned.list[i]->type);
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
    const orri_decoded* frame = c->frame;
    for (uint32_t i = 0; i < frame->tag_count; i++) {
        if (!entity_apply_has_tag(cluster->tags, cluster->tag_count, frame->tags[i]) &&
            ENTITY_APPLY_ROOM(c, tags_on, tag_on_count, tag_on_capacity)) {
            c->tags_on[c->tag_on_count++] = frame->tags[i];
        }
    }
    for (uint32_t i = 0; i < cluster->tag_count; i++) {
        if (!entity_apply_has_tag(frame->tags, frame->tag_count, cluster->tags[i]) &&
            ENTITY_APPLY_ROOM(c, tags_off, tag_off_count, tag_off_capacity)) {
            c->tags_off[c->tag_off_count++] = cluster->tags[i];
        }
    }
}

// ---- all differences ----------------------------------------------------------------------------

bool orri_entity_apply_find(orri_entity_apply* load, const orri_decoded* frame, orr_entity entity)
{
    orr_world* world = frame->world;
    *load = (orri_entity_apply){.frame = frame, .entity = entity};
    const orri_cluster* cluster =
        orri_place_chunk(world, orri_record_find(world, entity)->place)->cluster;
    entity_apply_types(load, cluster);
    entity_apply_tags(load, cluster);
    if (orri_entity_enabled(world, entity) != frame->on) {
        entity_apply_switch(load, NULL, 0, frame->on);
    }
    if (load->failed) {
        (void)orri_refuse_memory(&world->env, "changing an entity");
    }
    return !load->failed;
}

void orri_entity_apply_free(orri_entity_apply* load)
{
    orri_env* env = &load->frame->world->env;
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, load->given, load->given_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, load->taken, load->taken_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, load->instances, load->instance_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, load->switches, load->switch_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, load->tags_on, load->tag_on_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, load->tags_off, load->tag_off_capacity);
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
                        .enables = c->switches,
                        .enable_count = c->switch_count};
    orri_change_set_desc desc = {.call = call, .groups = &group, .count = 1, .strict = true};
    return orri_change_set_apply(c->frame->world, &desc);
}

orr_result orri_decoded_apply(const orri_decoded* frame, const char* call, orr_entity entity,
                              const orri_given* extra, uint32_t extra_count)
{
    orri_entity_apply load;
    bool found = orri_entity_apply_find(&load, frame, entity);
    for (uint32_t i = 0; found && i < extra_count; i++) {
        found = ENTITY_APPLY_ROOM(&load, given, given_count, given_capacity);
        if (found) {
            load.given[load.given_count++] = extra[i];
        } else {
            (void)orri_refuse_memory(&frame->world->env, "changing an entity");
        }
    }
    orr_result result = found ? entity_apply_run(&load, call) : ORR_ERR_MEMORY;
    orri_entity_apply_free(&load);
    return result;
}

#undef ENTITY_APPLY_ROOM
