// SPDX-License-Identifier: MIT
// The basic fields of a value, one after another, and values between two others.
#ifndef ORRI_SCHEMA_FIELD_WALK_H
#define ORRI_SCHEMA_FIELD_WALK_H

#include "schema/schema.h"

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

// Interpolates between `value` (share 0) and `later` (share 1), into `value`. (interpolate.c)
void orri_value_interpolate(const orr_type_info* type, void* value, const void* later,
                            double share);

#endif
