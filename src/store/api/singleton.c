// SPDX-License-Identifier: MIT
// Singletons: components of the world's own entity. The entity is created by the first
// orr_world_entity() call, and from then on it is state; reading a singleton creates nothing.
#include "store/world/access.h"
#include <orrery/kinds.h>

orr_entity orr_world_entity(orr_world* world)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_looks(world, "orr_world_entity", (orr_entity){0})) {
        return (orr_entity){0};
    }
    if (orri_record_find(world, world->singleton) != NULL) {
        return world->singleton;
    }
    orr_entity entity = {0};
    if (orri_check_open(world, "orr_world_entity") == ORR_OK) {
        entity = orr_create(world);
    }
    if (entity.id != 0) {
        world->singleton = entity;
    }
    return entity;
}

const void* orr_singleton_get(const orr_world* world, orr_type type)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_reads(world, "orr_singleton", type, world->singleton)) {
        return NULL;
    }
    return orri_record_find(world, world->singleton) != NULL
               ? orr_component_get(world, world->singleton, type)
               : NULL;
}
