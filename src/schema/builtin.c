// SPDX-License-Identifier: MIT
// The kinds of values: their names and sizes, and the descs of the built-in types. Two C names of
// one kind (int and int32_t, bool and _Bool) have one name here, so that a layout does not depend
// on which of them was used.
#include "schema/detail.h"

#define BUILTIN_DESC(type_, name_, kind_)    \
    const orr_type_desc orr_desc_##type_ = { \
        .name = name_,                       \
        .kind = kind_,                       \
        .size = (uint32_t)sizeof(type_),     \
        .align = (uint32_t) _Alignof(type_), \
    };

BUILTIN_DESC(bool, "bool", ORR_KIND_BOOL)
BUILTIN_DESC(_Bool, "bool", ORR_KIND_BOOL)
BUILTIN_DESC(char, "char", ORR_KIND_CHAR)
BUILTIN_DESC(int8_t, "int8_t", ORR_KIND_I8)
BUILTIN_DESC(int16_t, "int16_t", ORR_KIND_I16)
BUILTIN_DESC(int32_t, "int32_t", ORR_KIND_I32)
BUILTIN_DESC(int64_t, "int64_t", ORR_KIND_I64)
BUILTIN_DESC(uint8_t, "uint8_t", ORR_KIND_U8)
BUILTIN_DESC(uint16_t, "uint16_t", ORR_KIND_U16)
BUILTIN_DESC(uint32_t, "uint32_t", ORR_KIND_U32)
BUILTIN_DESC(uint64_t, "uint64_t", ORR_KIND_U64)
BUILTIN_DESC(int, "int32_t", ORR_KIND_I32)
BUILTIN_DESC(float, "float", ORR_KIND_F32)
BUILTIN_DESC(double, "double", ORR_KIND_F64)
BUILTIN_DESC(orr_entity, "orr_entity", ORR_KIND_ENTITY)
BUILTIN_DESC(orr_string, "orr_string", ORR_KIND_STRING)
BUILTIN_DESC(orr_array, "orr_array", ORR_KIND_ARRAY)

_Static_assert(sizeof(_Bool) == 1 && sizeof(int) == 4 && sizeof(float) == 4 && sizeof(double) == 8,
               "kinds have fixed sizes: saved values would not fit this machine");

typedef struct builtin_kind {
    const char* name;
    uint32_t size, align; // 0: the kind has no fixed size.
} builtin_kind;

#define BUILTIN_SIZE(type) (uint32_t)sizeof(type), (uint32_t) _Alignof(type)

static const builtin_kind builtin_kinds[ORR_KIND_COUNT] = {
    [ORR_KIND_STRUCT] = {"struct", 0, 0},
    [ORR_KIND_BOOL] = {"bool", BUILTIN_SIZE(_Bool)},
    [ORR_KIND_CHAR] = {"char", BUILTIN_SIZE(char)},
    [ORR_KIND_I8] = {"i8", BUILTIN_SIZE(int8_t)},
    [ORR_KIND_I16] = {"i16", BUILTIN_SIZE(int16_t)},
    [ORR_KIND_I32] = {"i32", BUILTIN_SIZE(int32_t)},
    [ORR_KIND_I64] = {"i64", BUILTIN_SIZE(int64_t)},
    [ORR_KIND_U8] = {"u8", BUILTIN_SIZE(uint8_t)},
    [ORR_KIND_U16] = {"u16", BUILTIN_SIZE(uint16_t)},
    [ORR_KIND_U32] = {"u32", BUILTIN_SIZE(uint32_t)},
    [ORR_KIND_U64] = {"u64", BUILTIN_SIZE(uint64_t)},
    [ORR_KIND_F32] = {"f32", BUILTIN_SIZE(float)},
    [ORR_KIND_F64] = {"f64", BUILTIN_SIZE(double)},
    [ORR_KIND_ENUM] = {"enum", 0, 0},
    [ORR_KIND_MASK] = {"mask", 0, 0},
    [ORR_KIND_ENTITY] = {"entity", BUILTIN_SIZE(orr_entity)},
    [ORR_KIND_STRING] = {"string", BUILTIN_SIZE(orr_string)},
    [ORR_KIND_ARRAY] = {"array", BUILTIN_SIZE(orr_array)},
    [ORR_KIND_OPAQUE] = {"opaque", 0, 0},
};

const char* orr_kind_name(orr_kind kind)
{
    return (unsigned)kind < ORR_KIND_COUNT ? builtin_kinds[kind].name : "?";
}

uint32_t orri_kind_size(orr_kind kind)
{
    return builtin_kinds[kind].size;
}

uint32_t orri_kind_align(orr_kind kind)
{
    return builtin_kinds[kind].align;
}

#undef BUILTIN_DESC
#undef BUILTIN_SIZE
