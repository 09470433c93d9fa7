// SPDX-License-Identifier: MIT
// Walks over the fields of a type, through nested structs and arrays of structs, and visits each
// run of equal elements (orri_field_span).
#include "schema/field_walk.h"

typedef struct field_walk_state {
    bool (*visit)(void* user, const orri_field_span* span);
    void* user;
} field_walk_state;

static bool field_walk_struct(const field_walk_state* walk, const orr_type_info* type,
                              uint32_t offset, orr_interpolation how);

// The type of the numbers of a quaternion that is a struct.
static const orr_type_info* field_walk_number(const orr_type_info* type)
{
    while (type->kind == ORR_KIND_STRUCT) {
        type = type->fields[0].type;
    }
    return type;
}

static bool field_walk_field(const field_walk_state* walk, const orr_field_info* field,
                             uint32_t offset, orr_interpolation how)
{
    const orr_type_info* type = field->type;
    uint32_t count = field->count > 0 ? field->count : 1;
    bool quaternion = (field->attributes.flags & ORR_FIELD_QUATERNION) != 0;
    how = field->attributes.interpolation != ORR_INTERPOLATION_DEFAULT
              ? field->attributes.interpolation
              : how;
    if (type->kind != ORR_KIND_STRUCT) {
        orri_field_span span = {type, field->element, offset + field->offset, count,
                                how,  quaternion};
        return walk->visit(walk->user, &span);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = offset + field->offset + i * type->size;
        orri_field_span span = {field_walk_number(type), NULL, at, 4, how, true};
        if (quaternion ? !walk->visit(walk->user, &span)
                       : !field_walk_struct(walk, type, at, how)) {
            return false;
        }
    }
    return true;
}

static bool field_walk_struct(const field_walk_state* walk, const orr_type_info* type,
                              uint32_t offset, orr_interpolation how)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        if (!field_walk_field(walk, &type->fields[i], offset, how)) {
            return false;
        }
    }
    return true;
}

bool orri_field_walk(const orr_type_info* type,
                     bool (*visit)(void* user, const orri_field_span* span), void* user)
{
    field_walk_state walk = {visit, user};
    if (type->kind == ORR_KIND_STRUCT) {
        return field_walk_struct(&walk, type, 0, ORR_INTERPOLATION_DEFAULT);
    }
    orri_field_span span = {type, NULL, 0, 1, ORR_INTERPOLATION_DEFAULT, false};
    return visit(user, &span);
}

static bool field_walk_is_plain(void* user, const orri_field_span* span)
{
    (void)user;
    return span->type->kind != ORR_KIND_OPAQUE &&
           (span->element == NULL || orri_field_walk_plain(span->element));
}

bool orri_field_walk_plain(const orr_type_info* type)
{
    return orri_field_walk(type, field_walk_is_plain, NULL);
}
