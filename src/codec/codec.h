// SPDX-License-Identifier: MIT
// Codec: the state of one entity as bytes, and back. An *image* is the state as bytes without
// addresses. A *frame* (orri_decoded) is an image decoded into values of this world.
//
//   entity ──encode.c──> image ──entity_slots.c──> slots: blobs of its orr_time_traveller
//                          │
//                          └──decode.c──> frame ──apply.c──> entity, by change set or by messages
//                                           │
//                                           └── interpolate.c: one frame from two
//
// An image is canonical: types by name, in the order of names; padding is 0; every NaN has the same
// bits; the content of strings and arrays in place of their handles. So equal states are equal
// bytes, and slots can be part of the world's hash as bytes.
#ifndef ORRI_CODEC_CODEC_H
#define ORRI_CODEC_CODEC_H

#include "base/bytes.h"
#include "schedule/schedule.h"
#include "store/change/change_set.h"
#include <orrery/traveller.h>

// ---- entity_history.c ---------------------------------------------------------------------------

// The types of traveller.h in one world.
typedef struct orri_time_types {
    orr_type time, traveller, stretcher;
} orri_time_types;
// Begins every call of traveller.h: refuses it inside a system and while rows are iterated, and
// finds the types, registering them if necessary. Errors are reported.
orr_result orri_time_open(orr_world* world, const char* call, orri_time_types* out);

// ---- field_walk.c: the basic fields of a value --------------------------------------------------

// `count` consecutive values of one kind other than struct, within a value. A quaternion is one
// span.
typedef struct orri_field_span {
    const orr_type_info* type;
    const orr_type_info* element; // Element type of an orr_array, otherwise NULL.
    uint32_t offset, count;       // Bytes from the beginning of the value; number of values.
    orr_interpolation how;        // Of its field; if not set there, of the enclosing struct.
    bool quaternion;
} orri_field_span;

// Calls `visit` for every span, in order of fields, until it returns false. True if all were
// visited.
bool orri_field_walk(const orr_type_info* type,
                     bool (*visit)(void* user, const orri_field_span* span), void* user);
// False if the type has an opaque value, also inside an array.
bool orri_field_walk_plain(const orr_type_info* type);

// ---- encode.c -----------------------------------------------------------------------------------

// True for types that are not part of an image: orr_time, orr_time_traveller, orr_time_stretcher,
// orr_name, and transient types.
bool orri_encode_skips(const orri_type* type);
// Appends the image of a live entity. Errors are reported: ORR_ERR_TYPE if a type cannot be saved,
// ORR_ERR_MEMORY.
orr_result orri_entity_encode(orr_world* world, const char* call, orr_entity entity,
                              orri_bytes* out);

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
uint64_t orri_entity_slots_slot(const orri_entity_slots* memory, uint32_t i);
// The image of the i-th slot.
orri_bytes_from orri_entity_slots_image(const orri_entity_slots* memory, uint32_t i);
// Index of a slot, or the index it would have: the number of slots below it.
uint32_t orri_entity_slots_find(const orri_entity_slots* memory, uint64_t slot, bool* found);
// Number of slots at or below a time.
uint32_t orri_entity_slots_below(const orri_entity_slots* memory, double time);
// Copies `value` to `*out` with an image in a slot (NULL: with the slot empty). New blobs are
// young: they are freed after the tick unless a component counts them. ORR_ERR_MEMORY is reported.
orr_result orri_entity_slots_put(orr_world* world, const orr_time_traveller* value, uint64_t slot,
                                 const orri_bytes* image, orr_time_traveller* out);
// For orri_type.words: writes `{slots: [0, 10, 20], count: 3, bytes: 312}`.
void orri_entity_slots_words(const orri_type* type, const void* value, orri_text* out);
// Writes the slots nearest to a time, for error texts: "its nearest slots are 3 and 10".
void orri_entity_slots_near(const orri_entity_slots* memory, double place, orri_text* out);

// ---- decode.c: from image to frame --------------------------------------------------------------

// The components of one type.
typedef struct orri_decoded_part {
    const orri_type* type;
    uint8_t* values; // [count] With handles of this world's blobs. NULL for a marker.
    uint64_t* on;    // [count / 64 + 1] Enable bits.
    uint32_t count;  // Instances; 1 for a unique type.
} orri_decoded_part;

// A frame: the decoded state of an entity.
typedef struct orri_decoded {
    orr_world* world;
    orri_decoded_part* parts; // In the order of type names.
    orr_tag* tags;            // Ascending.
    uint32_t part_count, tag_count;
    uint32_t part_capacity, tag_capacity;
    bool on; // The entity is enabled.
} orri_decoded;

// Decodes an image. References to dead entities become null. New blobs are young, so the frame is
// valid until the next tick. Errors are reported: ORR_ERR_MEMORY; ORR_ERR_FORMAT if a type is not
// registered or has another layout. On error there is nothing to free.
orr_result orri_entity_decode(orr_world* world, const char* call, orri_bytes_from image,
                              orri_decoded* out);
void orri_decoded_free(orri_decoded* frame);
// The current components of one type of a live entity. Returns their number, 0 if it has none.
// `*ids` is NULL for unique types.
uint32_t orri_decoded_current(const orr_world* world, orr_entity entity, const orri_type* type,
                              const uint8_t** values, const orr_component_id** ids);

// ---- apply.c: from frame to entity --------------------------------------------------------------

// The changes that turn the state of an entity into that of a frame, in the form of change_set.h.
// Points into the frame.
typedef struct orri_entity_apply {
    const orri_decoded* frame;
    orr_entity entity;
    orri_given* given;               // Unique components to add or set.
    orr_type* taken;                 // Types to remove.
    orri_instance_change* instances; // Instances to add, set or remove.
    orri_enable_change* switches;    // Components, or the entity, to enable or disable.
    orr_tag *tags_on, *tags_off;     // Tags to add; tags to remove.
    uint32_t given_count, taken_count, instance_count, switch_count, tag_on_count, tag_off_count;
    uint32_t given_capacity, taken_capacity, instance_capacity, switch_capacity, tag_on_capacity,
        tag_off_capacity;
    bool failed; // Memory was refused.
} orri_entity_apply;

// Finds the differences between a live entity and a frame. False when refused (reported). Free
// `load` in any case.
bool orri_entity_apply_find(orri_entity_apply* load, const orri_decoded* frame, orr_entity entity);
void orri_entity_apply_free(orri_entity_apply* load);
// Gives the entity the state of a frame, and `extra` values of types that are not part of frames.
// All or nothing. Errors are reported.
orr_result orri_decoded_apply(const orri_decoded* frame, const char* call, orr_entity entity,
                              const orri_given* extra, uint32_t extra_count);
// The same inside a system, by messages. If the system may not change a type, ORR_ERR_TYPE: the
// type is in `*barred`, and nothing was sent.
orr_result orri_decoded_send(const orri_decoded* frame, orr_run* run, orr_entity entity,
                             orr_type* barred);

// ---- interpolate.c ------------------------------------------------------------------------------

// Interpolates between `frame` (share 0) and `later` (share 1), into `frame`.
void orri_decoded_interpolate(orri_decoded* frame, const orri_decoded* later, double share);
// The same for one value.
void orri_value_interpolate(const orr_type_info* type, void* value, const void* later,
                            double share);

#endif
