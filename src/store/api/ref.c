// SPDX-License-Identifier: MIT
// References to components: an entity, a type and an instance, looked up at every use. A component
// that does not exist any more gives NULL and no error, because the call is the way to find out.
#include "store/world/access.h"
#include <orrery/kinds.h>

// The type of a reference, if its entity is alive and it has an instance id if and only if the type
// is multiple. NULL otherwise.
static const orri_type* ref_type(const orr_world* world, orr_component_ref ref)
{
    const orri_type* type = orri_type_at(&world->schema, ref.type);
    bool alive = orri_record_find(world, ref.entity) != NULL;
    return alive && type != NULL && (type->info.multiplicity == ORR_MULTIPLE) == (ref.id != 0)
               ? type
               : NULL;
}

const void* orr_ref_get(const orr_world* world, orr_component_ref ref)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_reads(world, "orr_ref_get", ref.type, ref.entity)) {
        return NULL;
    }
    if (ref_type(world, ref) == NULL) {
        return NULL;
    }
    return ref.id == 0 ? orr_component_get(world, ref.entity, ref.type)
                       : orr_instance_get(world, ref.entity, ref.type, ref.id);
}

void* orr_ref_edit(orr_world* world, orr_component_ref ref)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_writes(world, "orr_ref_edit", ref.type, ref.entity)) {
        return NULL;
    }
    if (ref_type(world, ref) == NULL) {
        return NULL;
    }
    return ref.id == 0 ? orr_component_edit(world, ref.entity, ref.type)
                       : orr_instance_edit(world, ref.entity, ref.type, ref.id);
}
