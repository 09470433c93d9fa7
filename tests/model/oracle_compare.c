// SPDX-License-Identifier: MIT
// Compares by value only: the values that the world returns for each entity must equal the list,
// and every row of every chunk must be exactly one entity of the list.
#include "model/oracle.h"

#include "test.h"

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

static void oracle_compare_instances(const oracle* o, const orr_world* world,
                                     const oracle_entity* entity, oracle_component* component)
{
    const oracle_type* type = &o->types[component->type];
    const void* values = NULL;
    oracle_instances_learn(o, world, entity, component);
    (void)orr_instances_get(world, entity->id, type->type, &values, NULL);
    for (uint32_t i = 0; i < component->instance_count; i++) {
        const oracle_instance* instance = &component->instances[i];
        const char* value = (const char*)values + (size_t)i * type->world_size;
        MODEL_CHECK(orr_instance_get(world, entity->id, type->type, instance->id) == value);
        MODEL_CHECK(oracle_value_equal(o, world, component->type, value, instance->value));
        MODEL_CHECK(orr_instance_enabled(world, entity->id, type->type, instance->id) ==
                    instance->on);
    }
}

static void oracle_compare_component(const oracle* o, const orr_world* world,
                                     const oracle_entity* entity, const orr_address* address,
                                     oracle_component* component)
{
    const oracle_type* type = &o->types[component->type];
    const void* value = orr_component_get(world, entity->id, type->type);
    MODEL_CHECK(value != NULL);
    MODEL_CHECK(orr_component_has(world, entity->id, type->type));
    MODEL_CHECK(orr_address_read(world, address, type->type) == value);
    MODEL_CHECK(
        oracle_value_equal(o, world, component->type, value, oracle_value_at(component, 0)));
    MODEL_CHECK(orr_component_enabled(world, entity->id, type->type) ==
                oracle_component_on(component));
    if (type->multiple) {
        oracle_compare_instances(o, world, entity, component);
    } else if (type->pinned) {
        component->place = component->place != NULL ? component->place : value;
        MODEL_CHECK(component->place == value); // It never moves.
    }
}

static void oracle_compare_name(const orr_world* world, const oracle_entity* entity)
{
    MODEL_CHECK(strcmp(orr_name_get(world, entity->id), entity->name) == 0);
    if (entity->name[0] != '\0' && (entity->scope.id == 0 || orr_alive(world, entity->scope))) {
        MODEL_CHECK(orr_find(world, entity->scope, entity->name).id == entity->id.id);
    }
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
        oracle_compare_component(o, world, entity, &address, &entity->components[i]);
    }
    for (uint32_t i = 0; i < entity->tag_count; i++) {
        MODEL_CHECK(orr_tag_has(world, entity->id, entity->tags[i]));
    }
    oracle_compare_name(world, entity);
}

static void oracle_compare_bit(const uint64_t* bits, uint32_t slot, bool on)
{
    MODEL_CHECK((bits == NULL || (bits[slot / 64] >> (slot % 64) & 1)) == on);
}

// A row of a multiple type: `capacity` values, ids and bits, of which the first ones are valid.
static void oracle_compare_cell(const oracle* o, const orr_world* world, const char* column,
                                const orr_instances* n, uint32_t row,
                                const oracle_component* component)
{
    const oracle_type* type = &o->types[component->type];
    uint32_t first = row * n->capacity;
    MODEL_CHECK(n->counts[row] == component->instance_count && n->counts[row] <= n->capacity);
    for (uint32_t i = 0; i < component->instance_count; i++) {
        const oracle_instance* instance = &component->instances[i];
        MODEL_CHECK(n->ids[first + i] == instance->id);
        MODEL_CHECK(oracle_value_equal(o, world, component->type,
                                       column + (size_t)(first + i) * type->world_size,
                                       instance->value));
        oracle_compare_bit(n->enabled, first + i, instance->on);
    }
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
        orr_instances n = orr_column_instances(world, cluster, chunk, info->types[t]);
        MODEL_CHECK((n.counts != NULL) == o->types[type].multiple);
        MODEL_CHECK(n.capacity == info->capacities[t]);
        const uint64_t* bits = orr_column_enabled(world, cluster, chunk, info->types[t]);
        for (uint32_t i = 0; i < count; i++) {
            const oracle_component* component = oracle_component_of(oracle_find(o, ids[i]), type);
            MODEL_CHECK(component != NULL);
            if (n.counts != NULL) {
                oracle_compare_cell(o, world, column, &n, i, component);
                continue;
            }
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
    MODEL_CHECK(found.id == cluster.id && found.generation == cluster.generation);
    for (uint32_t i = 1; i < info.tag_count; i++) {
        MODEL_CHECK(info.tags[i - 1] < info.tags[i]);
    }
    for (uint32_t chunk = 0; chunk < info.chunk_count; chunk++) {
        oracle_compare_chunk(o, world, cluster, &info, chunk);
    }
    MODEL_CHECK(orr_chunk_count(world, cluster, info.chunk_count) == 0);
    // Creation order: known clusters keep their place, new ones follow.
    if (position < o->cluster_count) {
        MODEL_CHECK(o->clusters[position].id == cluster.id &&
                    o->clusters[position].generation == cluster.generation);
        return;
    }
    o->clusters = oracle_grow(o->clusters, &o->cluster_capacity, position + 1, sizeof *o->clusters);
    o->clusters[o->cluster_count++] = cluster;
}

void oracle_cluster_deleted(oracle* o, orr_cluster cluster)
{
    for (uint32_t i = 0; i < o->cluster_count; i++) {
        if (o->clusters[i].id == cluster.id && o->clusters[i].generation == cluster.generation) {
            memmove(o->clusters + i, o->clusters + i + 1,
                    sizeof *o->clusters * (o->cluster_count - i - 1));
            o->cluster_count--;
            return;
        }
    }
}

static void oracle_compare_pools(const oracle* o, const orr_world* world)
{
    uint32_t counts[ORACLE_TYPES_MAX] = {0};
    for (uint32_t i = 0; i < o->live_count; i++) {
        for (uint32_t c = 0; c < o->live[i]->component_count; c++) {
            counts[o->live[i]->components[c].type]++;
        }
    }
    for (uint32_t t = 0; t < o->type_count; t++) {
        MODEL_CHECK(orr_pinned_count(world, o->types[t].type) ==
                    (o->types[t].pinned ? counts[t] : 0));
    }
}

void oracle_compare(oracle* o, const orr_world* world)
{
    oracle_compare_pools(o, world);
    MODEL_CHECK(orr_entity_count(world) == o->live_count);
    for (uint32_t i = 0; i < o->live_count; i++) {
        o->live[i]->visited = false;
        oracle_compare_entity(o, world, o->live[i]);
    }
    uint32_t position = 0;
    orr_cluster cluster = orr_cluster_next(world, (orr_cluster){0, 0});
    for (; cluster.id != 0; cluster = orr_cluster_next(world, cluster)) {
        oracle_compare_cluster(o, world, cluster, position++);
    }
    MODEL_CHECK(position == o->cluster_count); // Otherwise a cluster was lost.
    for (uint32_t i = 0; i < o->live_count; i++) {
        MODEL_CHECK(o->live[i]->visited);
    }
    uint64_t dead_count = o->dead_count < ORACLE_DEAD_MAX ? o->dead_count : ORACLE_DEAD_MAX;
    for (uint64_t i = 0; i < dead_count; i++) {
        MODEL_CHECK(!orr_alive(world, o->dead[i]));
        MODEL_CHECK(orr_entity_cluster(world, o->dead[i]).id == 0);
    }
}
