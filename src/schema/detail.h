// SPDX-License-Identifier: MIT
// Internals of src/schema: building a registration, the flat lists that describe the bytes of a
// value, and the functions that the value files share.
#ifndef ORRI_SCHEMA_DETAIL_H
#define ORRI_SCHEMA_DETAIL_H

#include "schema/schema.h"

// ---- memory of one registration (arena.c) -------------------------------------------------------

typedef struct orri_arena_block orri_arena_block;

// All memory of a registration; freed together. All-zero is empty.
typedef struct orri_arena {
    orri_arena_block* first; // The newest block; pieces are taken from it.
} orri_arena;

// Returns zeroed memory; NULL when refused. `size` may be 0 (the result is not NULL then, unless
// memory is refused).
void* orri_arena_alloc(orri_env* env, orri_arena* arena, size_t size, size_t align);
const char* orri_arena_text(orri_env* env, orri_arena* arena, const char* text);
void orri_arena_free(orri_env* env, orri_arena* arena);

#define ORRI_ARENA(env, arena, type, count) \
    ((type*)orri_arena_alloc(env, arena, sizeof(type) * (size_t)(count), _Alignof(type)))

// ---- the bytes of a value (flat.c) --------------------------------------------------------------

// `count` floats one after another.
typedef struct orri_float_run {
    uint32_t offset, count;
    bool wide; // They are doubles.
} orri_float_run;

// Padding: bytes that belong to no field.
typedef struct orri_gap {
    uint32_t offset, size;
} orri_gap;

// An opaque value whose codec has its own hash.
typedef struct orri_opaque {
    uint32_t offset;
    const orri_type* type;
} orri_opaque;

// An orr_string or orr_array handle.
typedef struct orri_owned {
    uint32_t offset;
    // Elements of an orr_array whose bytes may differ where their values do not; otherwise NULL.
    const orri_type* element;
} orri_owned;

// The lists are flat: they include the fields of nested structs and the elements of fixed arrays,
// by ascending offset from the start of the outermost value.
typedef struct orri_type_detail {
    orri_arena arena;         // Of the whole registration; only the root type uses it.
    const orri_type* element; // The element type of an orr_array; NULL for other kinds.
    uint32_t height;          // Levels of nested structs, this one included; 0 for other kinds.
    const orri_float_run* floats;
    const orri_gap* gaps;
    const orri_owned* owned;
    const orri_opaque* opaques;
    uint32_t float_count, gap_count, owned_count, opaque_count;
    bool floats_only; // The whole value is one run of floats.
} orri_type_detail;

static inline const orri_type* orri_type_of_info(const orr_type_info* info)
{
    return (const orri_type*)(const void*)info;
}

// ---- building (layout.c, check.c) ---------------------------------------------------------------

// The type of one desc. An orr_array has one node for each element type.
typedef struct orri_node {
    const orr_type_desc* desc;
    const orr_type_desc* element; // The element type of an orr_array; NULL for other kinds.
    orri_type* type;
} orri_node;

// A registration in progress. In `nodes` children precede parents; the last node is the root.
typedef struct orri_build {
    orri_schema* schema;
    orri_arena arena;
    orri_node* nodes;
    uint32_t node_count, node_capacity;
    // The place of the build: descs from the root on, to detect a type that contains itself, and
    // field names, for error texts.
    const orr_type_desc* stack[ORR_DEPTH_MAX + 1];
    uint32_t depth;
    const char* path[ORR_DEPTH_MAX + 2];
    uint32_t path_count;
    const char* name;  // Of the root type.
    orr_result result; // Of the refusal, if any.
} orri_build;

// Refuses with a text such as "type Orc, field squad.leader: …" and stores the result. Always
// returns false.
bool orri_build_refuse(orri_build* build, orr_result result, const char* format, ...)
    ORR_PRINTF(3, 4);
bool orri_build_refuse_memory(orri_build* build);

// Check a desc, and a field, before the types of the fields are built.
bool orri_check_desc(orri_build* build, const orr_type_desc* desc);
bool orri_check_field(orri_build* build, const orr_type_desc* desc, uint32_t index);
// Checks a field after its type was built.
bool orri_check_field_type(orri_build* build, const orr_field_desc* field,
                           const orr_field_info* info);

// Builds the type of a desc with everything below it. NULL when refused (with an error text).
orri_type* orri_layout_build(orri_build* build, const orr_type_desc* desc,
                             const orr_type_desc* element);
// Size and alignment of a kind; 0 if the kind has no fixed size.
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

// Fills type->indexed (indexed.c); the lists of its fields' types are complete already.
bool orri_indexed_make(orri_build* build, orri_type* type);

// True if two types have the same layout; otherwise appends the first difference to the text.
bool orri_layout_same(const orri_type* is, const orri_type* was, orri_text* difference);
// True if two types have the same layout, field attributes and settings; otherwise writes the first
// difference (declaration.c).
bool orri_declaration_same(const orri_type* is, const orri_type* was, orri_text* difference);

// ---- owned values (blob.c) ----------------------------------------------------------------------

// As orri_blob_make(), without an error text.
orr_result orri_blob_intern(orri_schema* schema, const void* data, uint32_t size,
                            uint32_t element_size, orr_string* out);

// Returns the elements of an orr_array and their number. None if the handle is null or stale, or
// the blob has elements of another size.
const unsigned char* orri_array_elements(const orri_type* type, const void* value,
                                         uint32_t* out_count);

// ---- numbers as text (number.c) -----------------------------------------------------------------

// Prints the shortest text that reads back the same bits, always with '.'. `wide`: a double.
void orri_number_print(double value, bool wide, char out[ORRI_NUMBER_SIZE]);
// Reads `size` bytes of the form [-]digits[.digits][e[+-]digits]. False if the text is longer than
// any number needs to be, or the number is too large.
bool orri_number_read(const char* text, size_t size, bool wide, double* out);
// Replaces the locale's decimal point by '.'. The text keeps its length or shrinks. Declared here
// for tests.
void orri_number_point_to_dot(char* text);
// Replaces '.' by `point` and terminates `out`. False if the result does not fit.
bool orri_number_dot_to_point(const char* text, size_t size, const char* point, char* out,
                              size_t out_size);

// True if a number is within min to max. The comparison is exact, also beyond 2^53.
bool orri_range_has_i64(double min, double max, int64_t value);
bool orri_range_has_u64(double min, double max, uint64_t value);

// ---- error texts for unknown names (value.c) ----------------------------------------------------

// Append "no field 'postion' in Orc; did you mean 'position'?". `name` has `size` bytes.
void orri_field_unknown(const orr_type_info* type, const char* name, size_t size, orri_text* out);
void orri_label_unknown(const orr_type_info* type, const char* name, size_t size, orri_text* out);

// ---- reading values (value_parse.c) -------------------------------------------------------------

// Why a text is not a value. Not refused directly, because the error of a preset is reported as an
// error of its type.
typedef struct orri_value_error {
    orr_result result;
    char text[256];
} orri_value_error;

// Reads `text` into `out`: a value of `type`, or of the field (with its count and range) if `field`
// is not NULL. On failure `out` may be partly written; created blobs stay young.
bool orri_value_read(const orri_type* type, const orr_field_info* field, const char* text,
                     void* out, orri_value_error* error);

#endif
