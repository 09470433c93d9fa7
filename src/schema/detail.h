// SPDX-License-Identifier: MIT
// What the files of src/schema share and nobody else sees: how a registration is put together, what
// is known of the bytes of a value, and the seams between the value files.
#ifndef ORRI_SCHEMA_DETAIL_H
#define ORRI_SCHEMA_DETAIL_H

#include "schema/schema.h"

// ---- memory of one registration (arena.c) -------------------------------------------------------

typedef struct orri_arena_block orri_arena_block;

// Everything a registration makes lives and dies together. All-zero is empty.
typedef struct orri_arena {
    orri_arena_block* first; // The newest, from which is given.
} orri_arena;

// Zeroed. NULL when refused. size may be 0 (never NULL then, unless memory is refused).
void* orri_arena_alloc(orri_env* env, orri_arena* arena, size_t size, size_t align);
const char* orri_arena_text(orri_env* env, orri_arena* arena, const char* text);
void orri_arena_free(orri_env* env, orri_arena* arena);

#define ORRI_ARENA(env, arena, type, count) \
    ((type*)orri_arena_alloc(env, arena, sizeof(type) * (size_t)(count), _Alignof(type)))

// ---- the bytes of a value (flat.c) --------------------------------------------------------------

// `count` floats (or doubles) one after another.
typedef struct orri_float_run {
    uint32_t offset, count;
    bool wide;
} orri_float_run;

// Bytes that belong to no field.
typedef struct orri_gap {
    uint32_t offset, size;
} orri_gap;

// An opaque value whose codec has its own hash.
typedef struct orri_opaque {
    uint32_t offset;
    const orri_type* type;
} orri_opaque;

// The lists are flat: fields of nested structs and elements of fixed arrays are in them, by offset
// from the start of the outermost value, ascending.
typedef struct orri_type_detail {
    orri_arena arena;         // Of the whole registration; only the root's is used.
    const orri_type* element; // Of an orr_array, else NULL.
    uint32_t height;          // Structs within structs, this one included; 0 for other kinds.
    const orri_float_run* floats;
    const orri_gap* gaps;
    const uint32_t* owned; // Offsets of orr_string and orr_array handles.
    const orri_opaque* opaques;
    uint32_t float_count, gap_count, owned_count, opaque_count;
    bool floats_only; // One run of floats is the whole value.
} orri_type_detail;

static inline const orri_type* orri_type_of_info(const orr_type_info* info)
{
    return (const orri_type*)(const void*)info;
}

// ---- building (layout.c, check.c) ---------------------------------------------------------------

typedef struct orri_node {
    const orr_type_desc* desc;
    const orr_type_desc* element; // Of an orr_array: one node for each kind of element.
    orri_type* type;
} orri_node;

// A registration under way. Children come before parents in `nodes`; the last is the root.
typedef struct orri_build {
    orri_schema* schema;
    orri_arena arena;
    orri_node* nodes;
    uint32_t node_count, node_capacity;
    // Where the build is, for words and to see a type inside itself.
    const orr_type_desc* stack[ORR_DEPTH_MAX + 1];
    uint32_t depth;
    const char* path[ORR_DEPTH_MAX + 2];
    uint32_t path_count;
    const char* name; // Of the root.
    orr_result result;
} orri_build;

// "type Orc, field squad.leader: …". Keeps the result; always false.
bool orri_build_refuse(orri_build* build, orr_result result, const char* format, ...)
    ORR_PRINTF(3, 4);
bool orri_build_refuse_memory(orri_build* build);

// What can be said of a desc, or of a field, before the types of its fields are known …
bool orri_check_desc(orri_build* build, const orr_type_desc* desc);
bool orri_check_field(orri_build* build, const orr_type_desc* desc, uint32_t index);
// … and of a field afterwards.
bool orri_check_field_type(orri_build* build, const orr_field_desc* field,
                           const orr_field_info* info);

// The node of a desc, with everything below it; NULL when refused (said).
orri_type* orri_layout_build(orri_build* build, const orr_type_desc* desc,
                             const orr_type_desc* element);
// 0 for a kind of no fixed size.
uint32_t orri_kind_size(orr_kind kind);
uint32_t orri_kind_align(orr_kind kind);
static inline bool orri_kind_is_integer(orr_kind kind)
{
    return kind >= ORR_KIND_I8 && kind <= ORR_KIND_U64;
}
static inline bool orri_kind_is_float(orr_kind kind)
{
    return kind == ORR_KIND_F32 || kind == ORR_KIND_F64;
}

// Bytes of a field with all its elements.
static inline uint32_t orri_field_size(const orr_field_info* field)
{
    return field->type->size * (field->count > 0 ? field->count : 1);
}

// Fills the lists of type->detail.
bool orri_flat_make(orri_build* build, orri_type* type);
// Indexes of the fields by ascending offset; `order` has room for ORR_FIELDS_MAX.
void orri_flat_order(const orri_type* type, uint16_t* order);

// Fills type->indexed (indexed.c); those of its fields' types are there already.
bool orri_indexed_make(orri_build* build, orri_type* type);

// True when two types have the same layout; otherwise says the first difference.
bool orri_layout_same(const orri_type* is, const orri_type* was, orri_text* difference);

// ---- owned values (blob.c) ----------------------------------------------------------------------

// As orri_blob_make(), without a word.
orr_result orri_blob_intern(orri_schema* schema, const void* data, uint32_t size,
                            uint32_t element_size, orr_string* out);

// The elements of an orr_array and their number. None if it is null, gone, or holds elements of
// another size.
const unsigned char* orri_array_elements(const orri_type* type, const void* value,
                                         uint32_t* out_count);

// ---- numbers as text (number.c) -----------------------------------------------------------------

#define ORRI_NUMBER_SIZE 64 // Bytes for any number as text.

// The shortest text that reads back the same, never with the locale's decimal point. `wide`: a
// double.
void orri_number_print(double value, bool wide, char out[ORRI_NUMBER_SIZE]);
// `text` is [-]digits[.digits][e[+-]digits], `size` bytes. False when it is longer than any number
// needs to be, or larger than the largest number.
bool orri_number_read(const char* text, size_t size, bool wide, double* out);
// Between the locale's decimal point and '.': seams for tests. The text shrinks or keeps its
// length.
void orri_number_point_to_dot(char* text);
// Terminates `out`. False when it does not fit.
bool orri_number_dot_to_point(const char* text, size_t size, const char* point, char* out,
                              size_t out_size);

// Whether a number is within min to max; the bounds are compared exactly, also beyond 2^53.
bool orri_range_has_i64(double min, double max, int64_t value);
bool orri_range_has_u64(double min, double max, uint64_t value);

// ---- words for unknown names (value.c) ----------------------------------------------------------

// "no field 'postion' in Orc; did you mean 'position'?" `name` has `size` bytes.
void orri_field_unknown(const orr_type_info* type, const char* name, size_t size, orri_text* out);
void orri_label_unknown(const orr_type_info* type, const char* name, size_t size, orri_text* out);

// ---- reading values (value_parse.c) -------------------------------------------------------------

// Why a text is no value. Kept apart from refusing, because a preset's error is told as its type's.
typedef struct orri_value_error {
    orr_result result;
    char text[256];
} orri_value_error;

// Reads `text` into `out`: a value of `type`, or of the field (its count and range too) if that is
// not NULL. On failure `out` may be half written; blobs made stay young.
bool orri_value_read(const orri_type* type, const orr_field_info* field, const char* text,
                     void* out, orri_value_error* error);

#endif
