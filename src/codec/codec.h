// SPDX-License-Identifier: MIT
// Codec: the state of one entity as bytes, and back. An *image* is the state as bytes without
// addresses. A *decoded state* (orri_decoded) has values and handles of this world.
//
//   entity ──encode.c──> image ──decode.c──> decoded state ──apply.c──> entity, by a change set
//                                                  │
//                                                  └── interpolated with a later decoded state
//
// An image is canonical: types by name, in the order of names; padding is 0; every NaN has the same
// bits; the content of strings and arrays in place of their handles. So equal states are equal
// bytes, and images can be part of the world's hash as bytes.
#ifndef ORRI_CODEC_CODEC_H
#define ORRI_CODEC_CODEC_H

#include "base/bytes.h"
#include "store/change/change_set.h"
#include "store/pool/pool.h"

// ---- encode.c -----------------------------------------------------------------------------------

// True for types that are not part of an image: orr_time, orr_time_traveller, orr_time_stretcher,
// orr_name, and transient types.
bool orri_encode_skips(const orri_type* type);
// Appends the image of a live entity. Errors are reported: ORR_ERR_TYPE if a type cannot be saved,
// ORR_ERR_MEMORY.
orr_result orri_entity_encode(orr_world* world, const char* call, orr_entity entity,
                              orri_bytes* out);

// ---- decode.c: from image to decoded state ------------------------------------------------------

// The components of one type.
typedef struct orri_decoded_part {
    const orri_type* type;
    uint8_t* values; // [count] With handles of this world's blobs. NULL for a marker.
    uint64_t* on;    // [count / 64 + 1] Enable bits.
    uint32_t count;  // Instances; 1 for a unique type.
} orri_decoded_part;

// The decoded state of an entity.
typedef struct orri_decoded {
    orr_world* world;
    orri_decoded_part* parts; // In the order of type names.
    orr_tag* tags;            // Ascending.
    uint32_t part_count, tag_count;
    uint32_t part_capacity, tag_capacity;
    bool on; // The entity is enabled.
} orri_decoded;

// Decodes an image. References to dead entities become null. New blobs are young, so the state is
// valid until the next tick. Errors are reported: ORR_ERR_MEMORY; ORR_ERR_FORMAT if bytes are
// wrong, or a type is not registered or has another layout. On error there is nothing to free.
orr_result orri_entity_decode(orr_world* world, const char* call, orri_bytes_reader image,
                              orri_decoded* out);
void orri_decoded_free(orri_decoded* decoded);
// The current components of one type of a live entity. Returns their number, 0 if it has none.
// `*ids` is NULL for unique types.
uint32_t orri_decoded_current(const orr_world* world, orr_entity entity, const orri_type* type,
                              const uint8_t** values, const orr_component_id** ids);

// ---- apply.c: from decoded state to entity ------------------------------------------------------

// The changes that turn the state of an entity into a decoded state, in the form of change_set.h.
// Points into the decoded state.
typedef struct orri_entity_apply {
    const orri_decoded* decoded;
    orr_entity entity;
    orri_given* given;               // Unique components to add or set.
    orr_type* taken;                 // Types to remove.
    orri_instance_change* instances; // Instances to add, set or remove.
    orri_enable_change* enables;     // Components, or the entity, to enable or disable.
    orr_tag *tags_on, *tags_off;     // Tags to add; tags to remove.
    uint32_t given_count, taken_count, instance_count, enable_count, tag_on_count, tag_off_count;
    uint32_t given_capacity, taken_capacity, instance_capacity, enable_capacity, tag_on_capacity,
        tag_off_capacity;
    bool failed; // Memory was refused.
} orri_entity_apply;

// Finds the differences between a live entity and a decoded state. False when refused (reported).
// Free `changes` in any case.
bool orri_entity_apply_find(orri_entity_apply* changes, const orri_decoded* decoded,
                            orr_entity entity);
void orri_entity_apply_free(orri_entity_apply* changes);
// Gives the entity a decoded state, and `extra` values of types that are not part of images.
// All or nothing. Errors are reported.
orr_result orri_decoded_apply(const orri_decoded* decoded, const char* call, orr_entity entity,
                              const orri_given* extra, uint32_t extra_count);
// Interpolates between `decoded` (share 0) and `later` (share 1), into `decoded`. (decode.c)
void orri_decoded_interpolate(orri_decoded* decoded, const orri_decoded* later, double share);

#endif
