// SPDX-License-Identifier: MIT
// Transient entities: those of who looks on. They have indexes of their own, counted down from the top of the index space, and lie in one
// cluster that is in no list. So ids, free list, records and clusters of the simulation are the same with and without them.
//
//   hot.pages:   … │ -2 │ -1 │ 0 │ 1 │ …        pages before the first hold records of transient entities: a shift that keeps the
//                  transient      simulation    sign finds both (orri_record_at)
//
// orri_record_find() does not know them: a call that is not made for them says that they are dead. They have transient components, and no
// tags, names or switches of their own.
#ifndef ORRI_STORE_TABLE_TRANSIENT_H
#define ORRI_STORE_TABLE_TRANSIENT_H

#include "store/world/world.h"

static inline bool orri_index_transient(uint32_t index)
{
    return (int32_t)index < 0;
}

// The index of the nth that was ever given, and the other way round.
static inline uint32_t orri_transient_index(uint32_t number)
{
    return UINT32_MAX - 1 - number; // The last one is ORRI_INDEX_NONE.
}

static inline uint32_t orri_transient_number(uint32_t index)
{
    return UINT32_MAX - 1 - index;
}

// The record of a live transient entity; NULL for any other id.
orri_record* orri_transient_find(const orr_world* world, orr_entity entity);
// The same, but inside a system of the simulation there is none.
bool orri_transient_alive(const orr_world* world, orr_entity entity);
static inline bool orri_id_transient(orr_entity entity)
{
    return orri_index_transient(orri_id_index(entity));
}

// The id that the creation at `position` (0: the next one) will get, if nothing comes or goes before. Null past ORR_TRANSIENTS_MAX.
orr_entity orri_transient_nth(const orr_world* world, uint32_t position);
// Takes the next `count` ids out of line, so that nobody gets them (as orri_index_hold()): those that were free, then fresh ones. All or nothing
// (reported). And back: ids[0] is the next one then. No system may run.
bool orri_transient_hold(orr_world* world, orr_entity* out, uint32_t count);
void orri_transient_unhold(orr_world* world, const orr_entity* ids, uint32_t count);
// Creates one with an id that was given ahead; others before it stay free. On refusal (reported) nothing was done.
orr_result orri_transient_create(orr_world* world, const char* call, orr_entity entity);
// Destroys a live one, with its components. Cannot fail. The world must be open.
void orri_transient_destroy(orr_world* world, orr_entity entity);
// Refuses a type that it cannot have. ORR_OK if it can.
orr_result orri_transient_check_type(const orr_world* world, const char* call, orr_entity entity,
                                     const orri_type* type);
// What component calls do with transient entities, after orri_record_find() found none: for others they report that the entity is dead.
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
