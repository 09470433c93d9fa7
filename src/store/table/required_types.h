// SPDX-License-Identifier: MIT
// Types that bring others along: orr_type_settings.needs.
#ifndef ORRI_STORE_TABLE_REQUIRED_TYPES_H
#define ORRI_STORE_TABLE_REQUIRED_TYPES_H

#include "store/world/world.h"

// Resolves the names in a type's `needs`, transitively, if that was not done yet. Before a type is first stored.
orr_result orri_required_types_resolve(orr_world* world, const char* call, orr_type type);
// All types in chunks that an owner of a resolved type must have, ascending, without the type itself. NULL: none.
const orr_type* orri_required_types_of(const orr_world* world, orr_type type, uint32_t* count);
// True when some resolved type needs this one.
bool orri_required_types_needed(const orr_world* world, uint32_t type_index);
void orri_required_types_term(orr_world* world);

// Inserts a type into an ascending list with room for it, if it is not there. Returns the new count.
uint32_t orri_types_insert(orr_type* types, uint32_t count, orr_type type);
// Inserts what a resolved type needs into an ascending list with room for it. Returns the new count.
uint32_t orri_required_types_close(const orr_world* world, orr_type type, orr_type* types,
                                   uint32_t count);
// The first type that a resolved type needs and that is not in a list; null if all are.
orr_type orri_required_types_missing(const orr_world* world, orr_type type, const orr_type* types,
                                     uint32_t count);
// Resolves all types of a set, and refuses one that lacks what they need.
orr_result orri_required_types_check_set(orr_world* world, const char* call, const orr_type* types,
                                         uint32_t count);
// Refuses to take a type from an entity of a cluster (null: from any) that has another which needs it.
orr_result orri_required_types_check_remove(const orr_world* world, const char* call,
                                            const orri_cluster* cluster, orr_entity entity,
                                            orr_type type);
// The words for it. `entity` may be null.
ORRI_COLD orr_result orri_required_types_refuse(const orr_world* world, const char* call,
                                                orr_entity entity, orr_type type,
                                                orr_type dependent);

#endif
