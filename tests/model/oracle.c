// SPDX-License-Identifier: MIT
// Compares by value only: what the world says of each entity must be what the list says, and every row of
// every chunk must be exactly one entity of the list.
#include "model/oracle.h"

#include "test.h"

#include <stdlib.h>

model_context model_at;

_Noreturn void model_fail(const char* file, int line, const char* text)
{
    if (model_at.operation != NULL) {
        fprintf(stderr, "in operation %" PRIu64 " (%s) of %s:\n", model_at.number,
                model_at.operation, model_at.shape != NULL ? model_at.shape : "a run");
    }
    test_fail(file, line, "%s", text);
}

static void* oracle_grow(void* data, uint32_t* capacity, uint32_t needed, size_t size)
{
    if (needed <= *capacity) {
        return data;
    }
    uint32_t wanted = *capacity != 0 ? *capacity * 2 : 64;
    while (wanted < needed) {
        wanted *= 2;
    }
    data = realloc(data, wanted * size);
    MODEL_CHECK(data != NULL);
    *capacity = wanted;
    return data;
}

void oracle_init(oracle* o)
{
    memset(o, 0, sizeof *o);
}

static void oracle_entity_free(oracle_entity* entity)
{
    for (uint32_t i = 0; i < entity->component_count; i++) {
        free(entity->components[i].value);
    }
    free(entity->components);
    free(entity->tags);
    free(entity);
}

void oracle_term(oracle* o)
{
    for (uint32_t i = 0; i < o->live_count; i++) {
        oracle_entity_free(o->live[i]);
    }
    free(o->live);
    free(o->seen);
    free(o->clusters);
    memset(o, 0, sizeof *o);
}

uint32_t oracle_type_add(oracle* o, const oracle_type* type)
{
    MODEL_CHECK(o->type_count < ORACLE_TYPES_MAX);
    o->types[o->type_count] = *type;
    return o->type_count++;
}

uint32_t oracle_type_index(const oracle* o, orr_type type)
{
    for (uint32_t i = 0; i < o->type_count; i++) {
        if (o->types[i].type.index1 == type.index1) {
            return i;
        }
    }
    model_fail(__FILE__, __LINE__, "the world has a type that nobody registered");
}

// ---- ids -----------------------------------------------------------------------------------------

static oracle_seen* oracle_seen_slot(const oracle* o, uint64_t id)
{
    uint64_t mask = o->seen_capacity - 1;
    uint64_t i = (id * 0x9E3779B97F4A7C15u >> 20) & mask;
    while (o->seen[i].id != 0 && o->seen[i].id != id) {
        i = (i + 1) & mask;
    }
    return &o->seen[i];
}

static void oracle_seen_reserve(oracle* o)
{
    if (o->seen_capacity != 0 && o->seen_count * 2 < o->seen_capacity) {
        return;
    }
    oracle_seen* old = o->seen;
    uint32_t old_capacity = o->seen_capacity;
    o->seen_capacity = old_capacity != 0 ? old_capacity * 2 : 1024;
    o->seen = calloc(o->seen_capacity, sizeof *o->seen);
    MODEL_CHECK(o->seen != NULL);
    for (uint32_t i = 0; i < old_capacity; i++) {
        if (old[i].id != 0) {
            *oracle_seen_slot(o, old[i].id) = old[i];
        }
    }
    free(old);
}

oracle_entity* oracle_find(const oracle* o, orr_entity id)
{
    return o->seen_capacity != 0 && id.id != 0 ? oracle_seen_slot(o, id.id)->entity : NULL;
}

oracle_entity* oracle_create(oracle* o, orr_entity id)
{
    MODEL_CHECK(id.id != 0);
    oracle_seen_reserve(o);
    oracle_seen* slot = oracle_seen_slot(o, id.id);
    MODEL_CHECK(slot->id == 0); // Else an id came twice.
    oracle_entity* entity = calloc(1, sizeof *entity);
    MODEL_CHECK(entity != NULL);
    entity->id = id;
    entity->on = true;
    entity->live_index = o->live_count;
    *slot = (oracle_seen){id.id, entity};
    o->seen_count++;
    o->live = oracle_grow(o->live, &o->live_capacity, o->live_count + 1, sizeof *o->live);
    o->live[o->live_count++] = entity;
    return entity;
}

void oracle_destroy(oracle* o, oracle_entity* entity)
{
    oracle_seen_slot(o, entity->id.id)->entity = NULL;
    o->dead[o->dead_count++ % ORACLE_DEAD_MAX] = entity->id;
    oracle_entity* last = o->live[--o->live_count];
    o->live[entity->live_index] = last;
    last->live_index = entity->live_index;
    oracle_entity_free(entity);
}

// ---- components and tags -------------------------------------------------------------------------

oracle_component* oracle_component_of(const oracle_entity* entity, uint32_t type)
{
    for (uint32_t i = 0; i < entity->component_count; i++) {
        if (entity->components[i].type == type) {
            return &entity->components[i];
        }
    }
    return NULL;
}

oracle_component* oracle_component_add(oracle* o, oracle_entity* entity, uint32_t type)
{
    oracle_component* component = oracle_component_of(entity, type);
    if (component != NULL) {
        return component;
    }
    const oracle_type* t = &o->types[type];
    entity->components =
        realloc(entity->components, sizeof *entity->components * (entity->component_count + 1));
    MODEL_CHECK(entity->components != NULL);
    component = &entity->components[entity->component_count++];
    *component = (oracle_component){type, true, calloc(1, t->size + 1)};
    MODEL_CHECK(component->value != NULL);
    if (t->preset != NULL) {
        memcpy(component->value, t->preset, t->size);
    }
    return component;
}

void oracle_component_remove(oracle_entity* entity, uint32_t type)
{
    oracle_component* component = oracle_component_of(entity, type);
    if (component != NULL) {
        free(component->value);
        *component = entity->components[--entity->component_count];
    }
}

void oracle_component_set(oracle* o, oracle_entity* entity, uint32_t type, const void* value)
{
    memcpy(oracle_component_add(o, entity, type)->value, value, o->types[type].size);
}

bool oracle_tag_has(const oracle_entity* entity, orr_tag tag)
{
    for (uint32_t i = 0; i < entity->tag_count; i++) {
        if (entity->tags[i] == tag) {
            return true;
        }
    }
    return false;
}

void oracle_tag_add(oracle_entity* entity, orr_tag tag)
{
    if (oracle_tag_has(entity, tag)) {
        return;
    }
    entity->tags = realloc(entity->tags, sizeof *entity->tags * (entity->tag_count + 1));
    MODEL_CHECK(entity->tags != NULL);
    entity->tags[entity->tag_count++] = tag;
}

void oracle_tag_remove(oracle_entity* entity, orr_tag tag)
{
    for (uint32_t i = 0; i < entity->tag_count; i++) {
        if (entity->tags[i] == tag) {
            entity->tags[i] = entity->tags[--entity->tag_count];
            return;
        }
    }
}

oracle_entity* oracle_copy(oracle* o, const oracle_entity* source, orr_entity id)
{
    oracle_entity* copy = oracle_create(o, id);
    copy->on = source->on;
    for (uint32_t i = 0; i < source->component_count; i++) {
        const oracle_component* from = &source->components[i];
        oracle_component_set(o, copy, from->type, from->value);
        oracle_component_of(copy, from->type)->on = from->on;
    }
    for (uint32_t i = 0; i < source->tag_count; i++) {
        oracle_tag_add(copy, source->tags[i]);
    }
    return copy;
}

bool oracle_entity_fits(const oracle* o, const oracle_entity* entity, const orr_type* types,
                        uint32_t type_count, const orr_tag* tags, uint32_t tag_count)
{
    if (entity->component_count != type_count || entity->tag_count != tag_count) {
        return false;
    }
    for (uint32_t i = 0; i < type_count; i++) {
        if (oracle_component_of(entity, oracle_type_index(o, types[i])) == NULL) {
            return false;
        }
    }
    for (uint32_t i = 0; i < tag_count; i++) {
        if (!oracle_tag_has(entity, tags[i])) {
            return false;
        }
    }
    return true;
}

// ---- comparing -----------------------------------------------------------------------------------

bool oracle_value_equal(const oracle* o, const orr_world* world, uint32_t type,
                        const void* world_value, const void* value)
{
    const oracle_type* t = &o->types[type];
    if (t->world_size == 0) {
        return true;
    }
    if (t->equal != NULL) {
        return t->equal(world, world_value, value);
    }
    const orr_type_info* info = orr_type_info_get(world, t->type);
    return info->has_padding || info->has_floats ? orr_value_compare(info, world_value, value) == 0
                                                 : memcmp(world_value, value, t->size) == 0;
}

static void oracle_compare_entity(const oracle* o, const orr_world* world,
                                  const oracle_entity* entity)
{
    MODEL_CHECK(orr_alive(world, entity->id));
    MODEL_CHECK(orr_entity_enabled(world, entity->id) == entity->on);
    orr_address address;
    MODEL_CHECK(orr_address_get(world, entity->id, &address) == ORR_OK);
    MODEL_CHECK(orr_address_valid(world, &address));
    MODEL_CHECK(address.entity.id == entity->id.id);
    for (uint32_t i = 0; i < entity->component_count; i++) {
        const oracle_component* component = &entity->components[i];
        orr_type type = o->types[component->type].type;
        const void* value = orr_component_get(world, entity->id, type);
        MODEL_CHECK(value != NULL);
        MODEL_CHECK(orr_component_has(world, entity->id, type));
        MODEL_CHECK(orr_address_read(world, &address, type) == value);
        MODEL_CHECK(oracle_value_equal(o, world, component->type, value, component->value));
        MODEL_CHECK(orr_component_enabled(world, entity->id, type) == component->on);
    }
    for (uint32_t i = 0; i < entity->tag_count; i++) {
        MODEL_CHECK(orr_tag_has(world, entity->id, entity->tags[i]));
    }
}

static void oracle_compare_bit(const uint64_t* bits, uint32_t slot, bool on)
{
    MODEL_CHECK((bits == NULL || (bits[slot / 64] >> (slot % 64) & 1)) == on);
}

static void oracle_compare_columns(const oracle* o, const orr_world* world, orr_cluster cluster,
                                   const orr_cluster_info* info, uint32_t chunk,
                                   const orr_entity* ids, uint32_t count)
{
    for (uint32_t t = 0; t < info->type_count; t++) {
        uint32_t type = oracle_type_index(o, info->types[t]);
        size_t size = o->types[type].world_size;
        const char* column = orr_column_read(world, cluster, chunk, info->types[t]);
        MODEL_CHECK(column != NULL);
        MODEL_CHECK(size == 0 || (uintptr_t)column % 64 == 0);
        const uint64_t* bits = orr_column_enabled(world, cluster, chunk, info->types[t]);
        for (uint32_t i = 0; i < count; i++) {
            const oracle_component* component = oracle_component_of(oracle_find(o, ids[i]), type);
            MODEL_CHECK(component != NULL);
            MODEL_CHECK(oracle_value_equal(o, world, type, column + i * size, component->value));
            oracle_compare_bit(bits, i, component->on);
        }
    }
}

static void oracle_compare_chunk(oracle* o, const orr_world* world, orr_cluster cluster,
                                 const orr_cluster_info* info, uint32_t chunk)
{
    static orr_entity ids[ORR_CHUNK_CAPACITY];
    uint32_t count = orr_chunk_count(world, cluster, chunk);
    uint32_t expected = info->row_count - chunk * ORR_CHUNK_CAPACITY;
    MODEL_CHECK(count == (expected < ORR_CHUNK_CAPACITY ? expected : ORR_CHUNK_CAPACITY));
    MODEL_CHECK(orr_chunk_entities(world, cluster, chunk, ids, ORR_CHUNK_CAPACITY) == count);
    const uint64_t* bits = orr_column_enabled(world, cluster, chunk, (orr_type){0});
    for (uint32_t i = 0; i < count; i++) {
        oracle_entity* entity = oracle_find(o, ids[i]);
        MODEL_CHECK(entity != NULL);
        MODEL_CHECK(!entity->visited);
        entity->visited = true;
        MODEL_CHECK(oracle_entity_fits(o, entity, info->types, info->type_count, info->tags,
                                       info->tag_count));
        orr_address address = {cluster, chunk * ORR_CHUNK_CAPACITY + i, ids[i]};
        MODEL_CHECK(orr_address_valid(world, &address));
        oracle_compare_bit(bits, i, entity->on);
    }
    oracle_compare_columns(o, world, cluster, info, chunk, ids, count);
}

static void oracle_compare_cluster(oracle* o, const orr_world* world, orr_cluster cluster,
                                   uint32_t position)
{
    orr_cluster_info info;
    MODEL_CHECK(orr_cluster_info_get(world, cluster, &info) == ORR_OK);
    MODEL_CHECK(info.chunk_count == (info.row_count + ORR_CHUNK_CAPACITY - 1) / ORR_CHUNK_CAPACITY);
    orr_cluster_desc desc = {info.types, info.type_count, info.tags, info.tag_count,
                             info.capacities};
    orr_cluster found = orr_cluster_find(world, &desc);
    MODEL_CHECK(found.index1 == cluster.index1 && found.generation == cluster.generation);
    for (uint32_t i = 1; i < info.tag_count; i++) {
        MODEL_CHECK(info.tags[i - 1] < info.tags[i]);
    }
    for (uint32_t chunk = 0; chunk < info.chunk_count; chunk++) {
        oracle_compare_chunk(o, world, cluster, &info, chunk);
    }
    MODEL_CHECK(orr_chunk_count(world, cluster, info.chunk_count) == 0);
    // Creation order: what was known stays where it was, new ones follow.
    if (position < o->cluster_count) {
        MODEL_CHECK(o->clusters[position].index1 == cluster.index1 &&
                    o->clusters[position].generation == cluster.generation);
        return;
    }
    o->clusters = oracle_grow(o->clusters, &o->cluster_capacity, position + 1, sizeof *o->clusters);
    o->clusters[o->cluster_count++] = cluster;
}

void oracle_cluster_deleted(oracle* o, orr_cluster cluster)
{
    for (uint32_t i = 0; i < o->cluster_count; i++) {
        if (o->clusters[i].index1 == cluster.index1 &&
            o->clusters[i].generation == cluster.generation) {
            memmove(o->clusters + i, o->clusters + i + 1,
                    sizeof *o->clusters * (o->cluster_count - i - 1));
            o->cluster_count--;
            return;
        }
    }
}

void oracle_compare(oracle* o, const orr_world* world)
{
    MODEL_CHECK(orr_entity_count(world) == o->live_count);
    for (uint32_t i = 0; i < o->live_count; i++) {
        o->live[i]->visited = false;
        oracle_compare_entity(o, world, o->live[i]);
    }
    uint32_t position = 0;
    orr_cluster cluster = orr_cluster_next(world, (orr_cluster){0, 0});
    for (; cluster.index1 != 0; cluster = orr_cluster_next(world, cluster)) {
        oracle_compare_cluster(o, world, cluster, position++);
    }
    MODEL_CHECK(position == o->cluster_count); // Else one vanished that nobody deleted.
    for (uint32_t i = 0; i < o->live_count; i++) {
        MODEL_CHECK(o->live[i]->visited);
    }
    uint64_t dead_count = o->dead_count < ORACLE_DEAD_MAX ? o->dead_count : ORACLE_DEAD_MAX;
    for (uint64_t i = 0; i < dead_count; i++) {
        MODEL_CHECK(!orr_alive(world, o->dead[i]));
        MODEL_CHECK(orr_entity_cluster(world, o->dead[i]).index1 == 0);
    }
}
