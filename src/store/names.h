// SPDX-License-Identifier: MIT
// What the store's files ask of names. A name is a pinned component; name.c keeps the look-up by scope and text.
#ifndef ORRI_STORE_NAMES_H
#define ORRI_STORE_NAMES_H

#include "store/world.h"
#include <orrery/kinds.h>

// The name of a live entity by its index; NULL if it has none.
const char* orri_name_of(const orr_world* world, uint32_t index);
// The value in a slot of the pool of names came or is about to go: its entry in the look-up. Room must be there.
void orri_name_enter(orr_world* world, uint32_t slot);
void orri_name_leave(orr_world* world, uint32_t slot);
// Refuses a write of orr_name that does not come from orr_name_set().
ORRI_COLD orr_result orri_refuse_name_write(const orr_world* world, const char* call,
                                            orr_entity entity);
void orri_names_term(orr_world* world);
// Invariant S15. Reports.
orr_result orri_names_validate(orr_world* world);

#endif
