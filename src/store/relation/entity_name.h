// SPDX-License-Identifier: MIT
// What the store's files ask of names. A name is a pinned component; entity_name.c keeps the look-up by scope and text.
#ifndef ORRI_STORE_RELATION_ENTITY_NAME_H
#define ORRI_STORE_RELATION_ENTITY_NAME_H

#include "store/world/world.h"
#include <orrery/kinds.h>

// The name of a live entity by its index; NULL if it has none.
const char* orri_name_of(const orr_world* world, uint32_t index);
// The value in a slot of the pool of names came or is about to go: its entry in the look-up. Room must be there.
void orri_name_enter(orr_world* world, uint32_t slot);
void orri_name_leave(orr_world* world, uint32_t slot);
// Refuses a write of orr_name that does not come from orr_name_set().
ORRI_COLD orr_result orri_refuse_name_write(const orr_world* world, const char* call,
                                            orr_entity entity);
// A name for an entity: 1 to ORR_ENTITY_NAME_MAX bytes, no '/', no control characters.
bool orri_name_allowed(const char* name);

// For change sets: room for more names, then for each one its text, allowed; both may be refused (reported). Then names
// are given, or (silently) not.
typedef enum orri_name_result {
    ORRI_NAME_OK,
    ORRI_NAME_INVALID, // It is no name.
    ORRI_NAME_SCOPE_DEAD,
    ORRI_NAME_SCOPE_BELOW, // The scope is the entity itself or below it.
    ORRI_NAME_TAKEN,
} orri_name_result;
orr_result orri_names_reserve(orr_world* world, const char* call, uint32_t count);
bool orri_name_stage(orr_world* world, uint32_t index, const char* text, orr_string* out);
orri_name_result orri_name_put(orr_world* world, orr_entity entity, orr_entity scope,
                               orr_string staged);
void orri_name_drop(orr_world* world, uint32_t index);
void orri_names_term(orr_world* world);
// For going back: room for so many names; then finds them anew.
bool orri_names_room(orr_world* world, uint32_t count);
void orri_names_rebuild(orr_world* world);
// Invariant S15. Reports.
orr_result orri_names_validate(orr_world* world);

#endif
