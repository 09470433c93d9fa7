// SPDX-License-Identifier: MIT
// The history of single entities, as the files of this module share it: the types of traveller.h,
// the slots of an entity, and a saved state that is sent as messages.
#ifndef ORRI_HISTORY_ENTITY_HISTORY_H
#define ORRI_HISTORY_ENTITY_HISTORY_H

#include "codec/codec.h"
#include "schedule/schedule.h"
#include <orrery/traveller.h>

// ---- entity_history.c ---------------------------------------------------------------------------

// The types of traveller.h in one world.
typedef struct orri_time_types {
    orr_type time, traveller, stretcher;
} orri_time_types;
// Begins every call of traveller.h: refuses it inside a system and while rows are iterated, and
// finds the types, registering them if necessary. Errors are reported.
orr_result orri_traveller_begin(orr_world* world, const char* call, orri_time_types* out);

// ---- entity_slots.c: images by slot, in blobs ---------------------------------------------------

// A page: some consecutive slots, in one blob.
typedef struct orri_entity_slots_page {
    const uint8_t* data;
    uint32_t size, count;
} orri_entity_slots_page;

// All slots of an entity. All zero: none. The index of a slot counts over all pages, ascending by
// slot.
typedef struct orri_entity_slots {
    orri_entity_slots_page pages[ORR_TRAVELLER_PAGES];
    uint32_t page_count, count; // Pages; slots.
    uint64_t size;              // Bytes of all pages.
} orri_entity_slots;

// The slots of a live entity; none if it has no orr_time_traveller.
orri_entity_slots orri_entity_slots_of(const orr_world* world, orr_entity entity);
// The slots in a value of orr_time_traveller.
orri_entity_slots orri_entity_slots_in(const orri_schema* schema,
                                       const orr_time_traveller* traveller);
// The number of the i-th slot.
uint64_t orri_entity_slots_slot(const orri_entity_slots* slots, uint32_t i);
// The image of the i-th slot.
orri_bytes_reader orri_entity_slots_image(const orri_entity_slots* slots, uint32_t i);
// Index of a slot, or the index it would have: the number of slots below it.
uint32_t orri_entity_slots_find(const orri_entity_slots* slots, uint64_t slot, bool* found);
// Number of slots at or below a time.
uint32_t orri_entity_slots_below(const orri_entity_slots* slots, double time);
// Copies `value` to `*out` with an image in a slot (NULL: with the slot empty). New blobs are
// young: they are freed after the tick unless a component counts them. ORR_ERR_MEMORY is reported.
orr_result orri_entity_slots_put(orr_world* world, const orr_time_traveller* value, uint64_t slot,
                                 const orri_bytes* image, orr_time_traveller* out);
// For orri_type.words: writes `{slots: [0, 10, 20], count: 3, bytes: 312}`.
void orri_entity_slots_words(const orri_type* type, const void* value, orri_text* out);
// Writes the slots nearest to a time, for error texts: "its nearest slots are 3 and 10".
void orri_entity_slots_near(const orri_entity_slots* slots, double place, orri_text* out);

// ---- state_send.c: from decoded state to entity, inside a system --------------------------------

// Gives the entity a decoded state, by messages (as orri_decoded_apply() does by a change set). If
// the system did not declare a type that would change, ORR_ERR_TYPE: the type is in `*undeclared`,
// and nothing was sent.
orr_result orri_decoded_send(const orri_decoded* decoded, orr_run* run, orr_entity entity,
                             orr_type* undeclared);

#endif
