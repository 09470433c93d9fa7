// SPDX-License-Identifier: MIT
// The operations of scenarios on a world, by public calls only.
#include "scenario.h"

static bool target_create(void* self, const orr_cluster_desc* set, uint32_t count,
                          const orr_column_data* data, uint32_t data_count, orr_entity* out)
{
    orr_cluster cluster;
    return orr_cluster_get(self, set, &cluster) == ORR_OK &&
           orr_create_many(self, cluster, count, data, data_count, out) == ORR_OK;
}

static bool target_destroy(void* self, const orr_entity* entities, uint32_t count)
{
    return orr_destroy_many(self, entities, count) == ORR_OK;
}

static bool target_set(void* self, orr_entity entity, orr_type type, const void* value)
{
    return orr_component_set(self, entity, type, value) == ORR_OK;
}

static bool target_remove(void* self, orr_entity entity, orr_type type)
{
    return orr_component_remove(self, entity, type) == ORR_OK;
}

static bool target_tag(void* self, orr_entity entity, orr_tag tag, bool on)
{
    return (on ? orr_tag_add(self, entity, tag) : orr_tag_remove(self, entity, tag)) == ORR_OK;
}

static bool target_enable(void* self, orr_entity entity, orr_type type, bool on)
{
    if (type.id == 0) {
        return orr_entity_enable(self, entity, on) == ORR_OK;
    }
    return !orr_component_has(self, entity, type) ||
           orr_component_enable(self, entity, type, on) == ORR_OK;
}

static bool target_unload(void* self, orr_tag tag)
{
    orr_cluster found;
    orr_cluster_match match = {.tags = &tag, .tag_count = 1};
    while (orr_clusters_find(self, &match, &found, 1) > 0) {
        if (orr_cluster_delete(self, found) != ORR_OK) {
            return false;
        }
    }
    return true;
}

static bool target_chunk(orr_world* world, orr_cluster cluster, uint32_t chunk,
                         const orr_type* types, uint32_t type_count, uint32_t write_count,
                         scenario_body body, void* user)
{
    void* columns[SCENARIO_TYPE_COUNT];
    for (uint32_t i = 0; i < type_count; i++) {
        columns[i] = i < write_count
                         ? orr_column_write(world, cluster, chunk, types[i])
                         : (void*)(uintptr_t)orr_column_read(world, cluster, chunk, types[i]);
        if (columns[i] == NULL) {
            return false;
        }
    }
    body(user, columns, orr_chunk_count(world, cluster, chunk));
    return true;
}

// Clusters do not change while bodies run, so they are visited in creation order without a list.
static bool target_each(void* self, const orr_type* types, uint32_t type_count,
                        uint32_t write_count, scenario_body body, void* user)
{
    orr_cluster cluster = orr_cluster_next(self, (orr_cluster){0, 0});
    for (; cluster.id != 0; cluster = orr_cluster_next(self, cluster)) {
        orr_cluster_info info;
        if (orr_cluster_info_get(self, cluster, &info) != ORR_OK) {
            return false;
        }
        uint32_t found = 0;
        for (uint32_t i = 0; i < info.type_count * type_count; i++) {
            found += info.types[i / type_count].id == types[i % type_count].id;
        }
        for (uint32_t chunk = 0; found == type_count && chunk < info.chunk_count; chunk++) {
            if (!target_chunk(self, cluster, chunk, types, type_count, write_count, body, user)) {
                return false;
            }
        }
    }
    return true;
}

static bool target_tick(void* self)
{
    orr_tick_advance(self);
    return true;
}

scenario_target scenario_target_world(orr_world* world)
{
    return (scenario_target){.self = world,
                             .world = world,
                             .create = target_create,
                             .destroy = target_destroy,
                             .set = target_set,
                             .remove = target_remove,
                             .tag = target_tag,
                             .enable = target_enable,
                             .unload = target_unload,
                             .each = target_each,
                             .tick = target_tick};
}
