// SPDX-License-Identifier: MIT
// Transient entities: entities of spectators, which are not part of the simulation. They have
// indexes of their own, counted down from the top of the index space, and are stored in one cluster
// that is in no list. So ids, free list, records and clusters of the simulation are the same with
// and without them.
//
//   hot.pages:   … │ -2 │ -1 │ 0 │ 1 │ …     Pages before the first hold the records of transient
//                  transient   simulation     entities: a signed shift finds both.
//
// orri_record_find() does not find them, so calls that do not support them refuse them as dead.
// They can have components of transient types only, and no tags, names or entity enable bits.
#ifndef ORRI_STORE_TABLE_TRANSIENT_H
#define ORRI_STORE_TABLE_TRANSIENT_H

#include "store/world/world.h"

static inline bool orri_index_transient(uint32_t index)
{
    return (int32_t)index < 0;
}

// Number (in order of first use, from 0) to index, and index to number.
static inline uint32_t orri_transient_index(uint32_t number)
{
    return UINT32_MAX - 1 - number; // UINT32_MAX is ORRI_INDEX_NONE.
}

static inline uint32_t orri_transient_number(uint32_t index)
{
    return UINT32_MAX - 1 - index;
}

// The record of a live transient entity; NULL for any other id.
orri_record* orri_transient_find(const orr_world* world, orr_entity entity);
// True for a live transient entity. Always false inside a system of the simulation.
bool orri_transient_alive(const orr_world* world, orr_entity entity);
static inline bool orri_id_transient(orr_entity entity)
{
    return orri_index_transient(orri_id_index(entity));
}

// The id that the creation after `position` others (0: the next) will get, if no other call comes
// in between. Null past ORR_TRANSIENTS_MAX.
orr_entity orri_transient_nth(const orr_world* world, uint32_t position);
// Takes the next `count` ids, so that no creation gets them (as orri_index_withhold()): free ones,
// then fresh ones. All or nothing (reported). orri_transient_return() returns them, so that ids[0]
// is the next again. No system may run.
bool orri_transient_withhold(orr_world* world, orr_entity* out, uint32_t count);
void orri_transient_return(orr_world* world, const orr_entity* ids, uint32_t count);
// Creates a transient entity with an id of orri_transient_nth(); ids before it stay free. All or
// nothing (reported).
orr_result orri_transient_create(orr_world* world, const char* call, orr_entity entity);
// Destroys a live transient entity and its components. Cannot fail. The world must be open.
void orri_transient_destroy(orr_world* world, orr_entity entity);
// Refuses types that a transient entity cannot have: all that are not transient.
orr_result orri_transient_check_type(const orr_world* world, const char* call, orr_entity entity,
                                     const orri_type* type);
// Component calls on transient entities, used when orri_record_find() found nothing. For other ids
// they report that the entity is dead.
orr_result orri_transient_set(orr_world* world, const char* call, orr_entity entity, orr_type type,
                              const void* value);
orr_result orri_transient_edge(orr_world* world, const char* call, orr_entity entity, orr_type type,
                               bool add);
orr_result orri_transient_enable(orr_world* world, const char* call, orr_entity entity,
                                 orr_type type, bool on);
// Invariant S17. Reports.
orr_result orri_transient_validate(orr_world* world);
void orri_transient_term(orr_world* world);

#endif
