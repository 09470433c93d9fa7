// SPDX-License-Identifier: MIT
// The state of one entity: as bytes without addresses (an *image*), and taken apart again (a *frame*).
//
//   entity ──encode.c──> image ──entity_slots.c──> blob of its orr_time_traveller: all images by slot
//                         │
//                         └──decode.c──> frame, of two frames one between them (interpolate.c) ──> entity, by a change set or by messages
//
// An image is canonical: types by name, in order of names; padding 0, every NaN the same, what handles hold in place of handles. So equal states are equal
// bytes, and memories count in the world's hash by their bytes.
#ifndef ORRI_CODEC_CODEC_H
#define ORRI_CODEC_CODEC_H

#include "base/bytes.h"
#include "schedule/schedule.h"
#include "store/change/change_set.h"
#include <orrery/traveller.h>

// ---- entity_history.c ------------------------------------------------------------------------------------------------------

typedef struct orri_time_types {
    orr_type time, traveller, stretcher;
} orri_time_types;
// What calls of time ask first: not inside a system, nor while rows are looked at. Gives the types of time, made known if they are not. Refusals are
// reported.
orr_result orri_time_open(orr_world* world, const char* call, orri_time_types* out);

// ---- field_walk.c: what a value is made of ------------------------------------------------------------------------------

// A run of `count` values of a kind that is no struct, within a value. Quaternions are one grain.
typedef struct orri_field_span {
    const orr_type_info* type;
    const orr_type_info* element; // Of an orr_array.
    uint32_t offset, count;
    orr_interpolation how; // Of its field, or else of the struct that it is in.
    bool quaternion;
} orri_field_span;

// Calls `visit` for every grain, in order of fields, until it returns false. True: all were visited.
bool orri_field_walk(const orr_type_info* type,
                     bool (*visit)(void* user, const orri_field_span* grain), void* user);
// False: it holds what only its codec understands, within an array too.
bool orri_field_walk_plain(const orr_type_info* type);

// ---- encode.c --------------------------------------------------------------------------------------------------------

// True for types that are no part of an image: time, memory and stretcher of an entity, its name, and what is transient.
bool orri_encode_skips(const orri_type* type);
// Appends the image of a live entity. Reports what is refused: a type that cannot be remembered, memory.
orr_result orri_entity_encode(orr_world* world, const char* call, orr_entity entity,
                              orri_bytes* out);

// ---- entity_slots.c: images by slot, in blobs --------------------------------------------------------------------------------

// Some slots that follow each other.
typedef struct orri_entity_slots_page {
    const uint8_t* data;
    uint32_t size, count;
} orri_entity_slots_page;

// What a traveller has. All zero: nothing. Places of slots, ascending, count over all pages.
typedef struct orri_entity_slots {
    orri_entity_slots_page pages[ORR_TRAVELLER_PAGES];
    uint32_t page_count, count;
    uint64_t size;
} orri_entity_slots;

// Of a live entity; nothing if it has no traveller.
orri_entity_slots orri_entity_slots_of(const orr_world* world, orr_entity entity);
// The same of a traveller's value.
orri_entity_slots orri_entity_slots_in(const orri_schema* schema,
                                       const orr_time_traveller* traveller);
uint64_t orri_entity_slots_slot(const orri_entity_slots* memory, uint32_t i);
// The image of the i-th slot.
orri_bytes_from orri_entity_slots_image(const orri_entity_slots* memory, uint32_t i);
// How many slots are below this one: its place.
uint32_t orri_entity_slots_find(const orri_entity_slots* memory, uint64_t slot, bool* found);
// How many slots are at or below a place in time.
uint32_t orri_entity_slots_below(const orri_entity_slots* memory, double time);
// The traveller `value` has, with this image in a slot (NULL: with nothing in it), in `*out`; blobs that it has more are young. ORR_ERR_MEMORY (reported).
orr_result orri_entity_slots_put(orr_world* world, const orr_time_traveller* value, uint64_t slot,
                                 const orri_bytes* image, orr_time_traveller* out);
// For orri_type.words: `{slots: [0, 10, 20], bytes: 312}`.
void orri_entity_slots_words(const orri_type* type, const void* value, orri_text* out);
// "; slots 3 and 10 are the nearest", or that there are none: what is around a place.
void orri_entity_slots_near(const orri_entity_slots* memory, double place, orri_text* out);

// ---- decode.c: an image taken apart --------------------------------------------------------------------------------------

// What an entity has of one type.
typedef struct orri_decoded_part {
    const orri_type* type;
    uint8_t* values; // [count], with handles of blobs that are there; NULL: a marker.
    uint64_t* on;    // [count / 64 + 1] Bits.
    uint32_t count;  // Instances; 1 of a unique type.
} orri_decoded_part;

typedef struct orri_decoded {
    orr_world* world;
    orri_decoded_part* parts; // In order of names.
    orr_tag* tags;            // Ascending.
    uint32_t part_count, tag_count;
    uint32_t part_capacity, tag_capacity;
    bool on;
} orri_decoded;

// References to the dead become null. Blobs it makes are young: it is of use until the next tick. On refusal (reported: memory, a type that is not known any more or has another
// layout) there is nothing to be freed.
orr_result orri_entity_decode(orr_world* world, const char* call, orri_bytes_from image,
                              orri_decoded* out);
void orri_decoded_free(orri_decoded* frame);
// The instances of a type, or the one value; 0: none. `*ids` is NULL for unique types.
uint32_t orri_decoded_current(const orr_world* world, orr_entity entity, const orri_type* type,
                              const uint8_t** values, const orr_component_id** ids);

// ---- apply.c: from frame to entity -------------------------------------------------------------------------------------------

// What makes an entity's state that of a frame; as change_set.h has it. Points into the frame.
typedef struct orri_entity_apply {
    const orri_decoded* frame;
    orr_entity entity;
    orri_given* given;
    orr_type* taken;
    orri_instance_change* instances;
    orri_enable_change* switches;
    orr_tag *tags_on, *tags_off;
    uint32_t given_count, taken_count, instance_count, switch_count, tag_on_count, tag_off_count;
    uint32_t given_capacity, taken_capacity, instance_capacity, switch_capacity, tag_on_capacity,
        tag_off_capacity;
    bool failed;
} orri_entity_apply;

// Finds what differs, of a live entity. False when refused (reported); to be freed all the same.
bool orri_entity_apply_find(orri_entity_apply* load, const orri_decoded* frame, orr_entity entity);
void orri_entity_apply_free(orri_entity_apply* load);
// Makes the frame that of the entity, with `extra` values of types that are no part of frames. All or nothing.
orr_result orri_decoded_apply(const orri_decoded* frame, const char* call, orr_entity entity,
                              const orri_given* extra, uint32_t extra_count);
// The same from within a system, by messages. A type that the system may not change is in `*barred`, and nothing was sent.
orr_result orri_decoded_send(const orri_decoded* frame, orr_run* run, orr_entity entity,
                             orr_type* barred);

// ---- interpolate.c --------------------------------------------------------------------------------------------------------

// What lies between `frame` (at 0) and `later` (at 1), in `frame`: at `share`, 0 to 1.
void orri_decoded_interpolate(orri_decoded* frame, const orri_decoded* later, double share);
// One value.
void orri_value_interpolate(const orr_type_info* type, void* value, const void* later,
                            double share);

#endif
