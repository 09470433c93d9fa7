// SPDX-License-Identifier: MIT
// Entity names. A name is the pinned component orr_name; entity_name.c keeps a hash table that
// finds it by scope and text.
#ifndef ORRI_STORE_RELATION_ENTITY_NAME_H
#define ORRI_STORE_RELATION_ENTITY_NAME_H

#include "store/world/world.h"
#include <orrery/kinds.h>

// The name of a live entity by its index; NULL if it has none.
const char* orri_name_of(const orr_world* world, uint32_t index);
// Enters the name in a slot of the pool into the hash table, or removes it before the value ends.
// Room must be reserved.
void orri_name_enter(orr_world* world, uint32_t slot);
void orri_name_leave(orr_world* world, uint32_t slot);
// Refuses a write of orr_name by any call but orr_name_set().
ORRI_COLD orr_result orri_refuse_name_write(const orr_world* world, const char* call,
                                            orr_entity entity);
// True for a valid name: 1 to ORR_ENTITY_NAME_MAX bytes, no '/', no control characters.
bool orri_name_allowed(const char* name);

// Why a name was given or not.
typedef enum orri_name_result {
    ORRI_NAME_OK,
    ORRI_NAME_INVALID, // Not a valid name (orri_name_allowed()).
    ORRI_NAME_SCOPE_DEAD,
    ORRI_NAME_SCOPE_BELOW, // The scope is the entity itself or below it: a cycle.
    ORRI_NAME_TAKEN,       // Another entity has this name in the scope.
} orri_name_result;
// For change sets, in this order. Reserve: room for `count` more names. Stage: makes the text of
// one name, which must be allowed. Both report refusals. Put: gives a staged name, or returns why
// not (silent).
orr_result orri_names_reserve(orr_world* world, uint32_t count);
bool orri_name_stage(orr_world* world, uint32_t index, const char* text, orr_string* out);
orri_name_result orri_name_put(orr_world* world, orr_entity entity, orr_entity scope,
                               orr_string staged);
// Removes the name of an entity, if it has one.
void orri_name_drop(orr_world* world, uint32_t index);
void orri_names_term(orr_world* world);
// For restore.c. Room: reserves space for `count` names. Rebuild: enters all names of the pool
// again.
bool orri_names_room(orr_world* world, uint32_t count);
void orri_names_rebuild(orr_world* world);
// Number of scopes visited so far to refuse cycles. For tests, which count instead of measuring.
uint64_t orri_names_walked(const orr_world* world);
// Invariants S15 and S15b. Reports.
orr_result orri_names_validate(orr_world* world);

#endif
