// SPDX-License-Identifier: MIT
// Types that require other types: orr_type_settings.needs. Adding a type also adds the types it
// requires; a required type cannot be removed before the type that requires it.
#ifndef ORRI_STORE_TABLE_REQUIRED_TYPES_H
#define ORRI_STORE_TABLE_REQUIRED_TYPES_H

#include "store/world/world.h"

// Resolves the names in a type's `needs`, transitively, if not done yet. Call it before a type is
// first stored.
orr_result orri_required_types_resolve(orr_world* world, const char* call, orr_type type);
// The types that a resolved type requires, directly or not, ascending, without the type itself.
// NULL: none.
const orr_type* orri_required_types_of(const orr_world* world, orr_type type, uint32_t* count);
// True when a resolved type requires this one.
bool orri_required_types_needed(const orr_world* world, uint32_t type_index);
void orri_required_types_term(orr_world* world);

// Inserts a type into an ascending list, if it is not there yet. The list must have room. Returns
// the new count.
uint32_t orri_types_insert(orr_type* types, uint32_t count, orr_type type);
// Inserts the types that a resolved type requires into an ascending list, which must have room.
// Returns the new count.
uint32_t orri_required_types_close(const orr_world* world, orr_type type, orr_type* types,
                                   uint32_t count);
// The first type that a resolved type requires and that is not in a list; null: all are in it.
orr_type orri_required_types_missing(const orr_world* world, orr_type type, const orr_type* types,
                                     uint32_t count);
// Resolves all types of a set, and refuses a set that lacks a required type.
orr_result orri_required_types_check_set(orr_world* world, const char* call, const orr_type* types,
                                         uint32_t count);
// Refuses to remove a type from a cluster that has another type which requires it. `entity` may be
// null.
orr_result orri_required_types_check_remove(const orr_world* world, const char* call,
                                            const orri_cluster* cluster, orr_entity entity,
                                            orr_type type);
// Reports that `type` cannot be removed, since `dependent` requires it. `entity` may be null.
ORRI_COLD orr_result orri_required_types_refuse(const orr_world* world, const char* call,
                                                orr_entity entity, orr_type type,
                                                orr_type dependent);

#endif
