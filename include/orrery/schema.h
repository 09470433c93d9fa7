// SPDX-License-Identifier: MIT
/// @file schema.h
/// Component types and their fields. A schema describes a type by the names, kinds and offsets of
/// its fields, so that the library can print, parse, compare, hash and save values without knowing
/// the C struct.
///
/// One macro declares a C struct and its schema:
///
///     ORR_ENUM(Mood, CALM, ANGRY)
///     ORR_STRUCT(Vec3, (float, x), (float, y), (float, z))
///     ORR_STRUCT(Orc,
///         (Vec3, position, (.flags = ORR_FIELD_SPATIAL_KEY, .unit = "m")), // attributes in ( )
///         (float, rotation, 4, (.flags = ORR_FIELD_QUATERNION)),           // an array of 4
///         (char, name, 32),                                                // an inline string
///         (Mood, mood),
///         (orr_entity, target),                                            // refers to an entity
///         (orr_string, story),                                             // an owned string
///         (orr_array, friends, (.element = ORR_TYPE(orr_entity))),         // an owned array
///         (float, health, (.min = 0, .max = 100, .preset = "100")))
///
/// A field is (type, name), (type, name, count), (type, name, (attributes)) or (type, name, count,
/// (attributes)); attributes are those of orr_field_attributes. A field's type is int8_t …
/// uint64_t, int, float, double, bool, char, orr_entity, orr_string, orr_array, or a type declared
/// before with these macros. Any other type (unsigned, size_t, a pointer, a struct without a
/// schema) is a compile error, which says what to write instead: "ORR_STRUCT_is_missing_for_foo
/// undeclared". A declaration has at most 32 fields; nest structs for more.
///
/// The name of a type is the name in the macro. In C++ use the macros at namespace scope; the name
/// then begins with the namespaces, without unnamed ones: `game::State`. Texts (queries, bundles,
/// needs) use this name. Two types of one world with the same name must have the same declaration;
/// otherwise the second is refused.
///
/// A type without a C struct is an orr_type_desc filled at run time with `size` 0. The library then
/// computes the layout by the rules of a C compiler.
#ifndef ORRERY_SCHEMA_H
#define ORRERY_SCHEMA_H

#include <orrery/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORR_NAME_MAX       63         ///< Largest name of a type, field, label or tag, in bytes.
#define ORR_FIELDS_MAX     256        ///< Most fields of one struct.
#define ORR_LABELS_MAX     1024       ///< Most labels of one enum; a mask has at most 64.
#define ORR_DEPTH_MAX      16         ///< Deepest nesting of structs.
#define ORR_VALUE_SIZE_MAX 65536u     ///< Largest component value, in bytes.
#define ORR_INDEXED_MAX    256        ///< Most indexed references in one value.
#define ORR_BLOB_SIZE_MAX  (1u << 30) ///< Largest owned string or array, in bytes.

/// Id of an entity of one world. All-zero is null. Compare ids with `a.id == b.id`; the meaning of
/// the bits is private and may change.
typedef struct orr_entity {
    uint64_t id; ///< Index in the low 32 bits, generation and salt in the high 32 bits.
} orr_entity;

/// Id of a component type of one world. All-zero is null.
typedef struct orr_type {
    uint32_t id; ///< 0 is null.
} orr_type;

/// Handle of an immutable string that the world owns. Copy it like a number. Equal texts have equal
/// handles, and all-zero is the empty string. The world counts the handles stored in components and
/// frees a string that is stored nowhere when the tick advances.
typedef struct orr_string {
    uint32_t id, generation; ///< Slot and its generation; private.
} orr_string;

/// Handle of an immutable array that the world owns, with the rules of orr_string. All-zero is the
/// empty array.
typedef struct orr_array {
    uint32_t id, generation; ///< Slot and its generation; private.
} orr_array;

/// Kind of a value.
typedef enum orr_kind {
    ORR_KIND_STRUCT = 0, ///< Fields, or none: then the type is a marker without data.
    ORR_KIND_BOOL,       ///< bool, 1 byte.
    /// char. An array is an inline string, filled up with zeros, at least one. Calls that store
    /// values do not check that: in C, `char name[4] = "abcd"` has no zero.
    ORR_KIND_CHAR,
    ORR_KIND_I8,     ///< int8_t.
    ORR_KIND_I16,    ///< int16_t.
    ORR_KIND_I32,    ///< int32_t or int.
    ORR_KIND_I64,    ///< int64_t.
    ORR_KIND_U8,     ///< uint8_t.
    ORR_KIND_U16,    ///< uint16_t.
    ORR_KIND_U32,    ///< uint32_t.
    ORR_KIND_U64,    ///< uint64_t.
    ORR_KIND_F32,    ///< float.
    ORR_KIND_F64,    ///< double.
    ORR_KIND_ENUM,   ///< Signed integer of 1, 2, 4 or 8 bytes with labels.
    ORR_KIND_MASK,   ///< Unsigned integer of 1, 2, 4 or 8 bytes; a label names one bit or several.
    ORR_KIND_ENTITY, ///< orr_entity.
    ORR_KIND_STRING, ///< orr_string.
    ORR_KIND_ARRAY,  ///< orr_array.
    ORR_KIND_OPAQUE, ///< Bytes that only an orr_codec can interpret.
    ORR_KIND_COUNT   ///< Number of kinds.
} orr_kind;

/// Name of a kind, such as "f32" or "struct". Never NULL.
ORR_API const char* orr_kind_name(orr_kind kind);

/// Flags of a field, for orr_field_attributes.flags.
typedef enum orr_field_flags {
    ORR_FIELD_QUATERNION = 1 << 0,  ///< Four floats or doubles x y z w, interpolated spherically.
    ORR_FIELD_SPATIAL_KEY = 1 << 1, ///< Position of the entity, for spatial look-up.
    ORR_FIELD_UNSAVED = 1 << 2,     ///< Not saved. Has its preset after loading.
    ORR_FIELD_INDEXED = 1 << 3, ///< orr_entity only: orr_referrers_get() can list the referrers.
} orr_field_flags;

/// Effect on an indexed reference when the entity it refers to is destroyed.
typedef enum orr_on_destroy {
    ORR_ON_DESTROY_KEEP = 0, ///< The reference stays unchanged; orr_alive() is false for it.
    ORR_ON_DESTROY_CLEAR,    ///< The reference becomes null.
    ORR_ON_DESTROY_DESTROY,  ///< The entity that has the reference is destroyed too.
} orr_on_destroy;

/// How a field's value between two known states is computed.
typedef enum orr_interpolation {
    ORR_INTERPOLATION_DEFAULT = 0, ///< Linear for float and double, otherwise stepwise.
    ORR_INTERPOLATION_LINEAR,      ///< Weighted mean of both states.
    ORR_INTERPOLATION_STEPWISE,    ///< The earlier state, until the later one is reached.
} orr_interpolation;

typedef struct orr_type_desc orr_type_desc;

/// Properties of a field beyond its kind. All zero: none.
typedef struct orr_field_attributes {
    uint32_t flags;                  ///< Set of orr_field_flags. Default none.
    orr_interpolation interpolation; ///< How values between two states are computed.
    const char* unit;                ///< Unit, such as "m/s", for tools. Default none.
    /// Allowed range of a number, or of the elements of an orr_array. min == max: any. A number
    /// whose range lacks 0 needs a preset. Parsing, and every call that stores or sends a value
    /// (orr_set(), orr_send_add() …), refuse other numbers with ORR_ERR_RANGE. Writes through
    /// pointers (columns, orr_edit()) and transactions are not checked.
    double min, max;
    /// Initial value as text, a string in quotes. Default: zero. It does not apply to members that
    /// a C initialiser leaves out: these are 0. See orr_set_preset().
    const char* preset;
    const orr_type_desc* element; ///< Type of the elements of an orr_array. Required there.
    orr_on_destroy on_destroy;    ///< For an indexed reference. Default ORR_ON_DESTROY_KEEP.
} orr_field_attributes;

/// Describes one field of a struct.
typedef struct orr_field_desc {
    const char* name;          ///< As a type's name, but without '.' and ':'. Required.
    const orr_type_desc* type; ///< Type of the field, or of one element if it is an array.
    uint32_t offset;           ///< Bytes from the start of the struct. Ignored if its size is 0.
    uint32_t count;            ///< 0: a single value; N: an array of N values.
    orr_field_attributes attributes; ///< Default none.
} orr_field_desc;

/// Name of an enum's value, or of the bits of a mask.
typedef struct orr_label {
    const char* name; ///< As a type's name.
    int64_t value;    ///< Value of the enum, or the bits of the mask.
} orr_label;

/// Functions for values of kind ORR_KIND_OPAQUE. `print` and `parse` are required.
typedef struct orr_codec {
    /// Writes a value as text, as snprintf does: writes at most out_size bytes including the zero.
    /// @return the length of the whole text without the zero.
    size_t (*print)(void* user, const void* value, char* out, size_t out_size);
    /// Reads a value from zero-terminated text. The library may discard the value afterwards, so
    /// the function must not acquire resources. @return false if the text is not a value.
    bool (*parse)(void* user, const char* text, void* out);
    int (*compare)(void* user, const void* a, const void* b); ///< <0, 0 or >0. Default memcmp.
    uint64_t (*hash)(void* user, const void* value);          ///< Default: hash of the bytes.
    void* user;                                               ///< Passed to all functions.
} orr_codec;

/// Functions for values that are not plain data, such as values that own memory. Each is optional;
/// the library copies a type without hooks by memcpy.
///
/// Each value is constructed once (`construct` or `copy`) and destructed once, and may be moved any
/// number of times in between. Each call gets `count` values that lie one after another. Hooks run
/// on the thread that calls the library and must not call the world. A type with hooks can only be
/// a whole component, not a field. The library counts owned strings and arrays itself; hooks must
/// not.
typedef struct orr_hooks {
    /// Completes new values, whose bytes are the presets. @return false to refuse; then none of the
    /// values exists.
    bool (*construct)(void* user, void* rows, uint32_t count);
    /// Ends the life of values; the memory is raw afterwards.
    void (*destruct)(void* user, void* rows, uint32_t count);
    /// Moves values from `from` to the raw memory `to`; `from` is raw memory afterwards. Default
    /// memcpy.
    void (*move)(void* user, void* to, void* from, uint32_t count);
    /// Copies values to the raw memory `to`. Default memcpy. @return false to refuse; then none of
    /// the copies exists.
    bool (*copy)(void* user, void* to, const void* from, uint32_t count);
    void* user; ///< Passed to all functions.
} orr_hooks;

/// How many values of a type one entity can have.
typedef enum orr_multiplicity {
    ORR_UNIQUE = 0, ///< At most one per entity.
    ORR_MULTIPLE,   ///< Any number of instances per entity, each with an id. See kinds.h.
} orr_multiplicity;

/// Where the values of a type are stored.
typedef enum orr_storage {
    ORR_CHUNK = 0, ///< In columns of chunks. A value moves when its entity moves.
    ORR_PINNED,    ///< In a pool. A value keeps its address until it is removed. See kinds.h.
} orr_storage;

/// Settings of a type that is used as a component. All zero: the defaults.
typedef struct orr_type_settings {
    uint32_t version;              ///< Version of the layout, for migration. Default 1.
    orr_multiplicity multiplicity; ///< Default ORR_UNIQUE.
    orr_storage storage;           ///< Default ORR_CHUNK.
    /// Names of types that every entity with this type must have too: "Position, Velocity". Adding
    /// this type adds the missing ones with their presets. Removing a needed type while the entity
    /// has this type is refused, and so is a cluster without it. The needed types must be
    /// registered when this type is first used. Pinned types can neither need types nor be needed.
    /// Default none.
    const char* needs;
    const orr_hooks* hooks; ///< Copied. Default none.
    /// For data of drawing, sound and tools. Values are not part of the world's hash and are hidden
    /// from the simulation: only systems of spectator pipelines (schedule.h) and calls from outside
    /// of systems can access them. A transient type is always pinned. See docs/SPECTATORS.md.
    bool transient;
    /// In real time (orr_realtime()), systems of other pipelines read the values in place under a
    /// lock, instead of a copy from the owner's last complete tick. For large types that are read
    /// rarely, or whose changes must be visible at once. Readers and writers then wait for each
    /// other.
    bool live;
} orr_type_settings;

/// Describes a type. Registration copies the desc and everything it points to.
struct orr_type_desc {
    /// Letters, digits, '_', '.' and ':', not beginning with a digit; at most ORR_NAME_MAX bytes.
    /// Required.
    const char* name;
    orr_kind kind;                ///< Default ORR_KIND_STRUCT.
    uint32_t size;                ///< Bytes. 0 for a struct: fields are laid out in order.
    uint32_t align;               ///< Power of two, at most 64. 0 for a struct: computed.
    const orr_field_desc* fields; ///< Fields of a struct. NULL: a marker without data.
    uint32_t field_count;         ///< Number of `fields`, at most ORR_FIELDS_MAX.
    const orr_label* labels;      ///< Labels of an enum or mask.
    uint32_t label_count;         ///< Number of `labels`, at most ORR_LABELS_MAX; for a mask 64.
    const orr_codec* codec;       ///< Functions of an opaque type. Required there. Copied.
    orr_type_settings settings;   ///< Used when the type is a component.
};

// ---- registered types ---------------------------------------------------------------------------

typedef struct orr_type_info orr_type_info;

/// A field of a registered type. Read only; lives as long as the world.
typedef struct orr_field_info {
    const char* name;                ///< Name of the field.
    const orr_type_info* type;       ///< Type of the field, or of one element if it is an array.
    uint32_t offset;                 ///< Bytes from the start of the struct.
    uint32_t count;                  ///< 0: a single value; N: an array of N values.
    orr_field_attributes attributes; ///< As registered, but `element` is NULL here.
    const orr_type_info* element;    ///< Type of the elements of an orr_array, otherwise NULL.
} orr_field_info;

/// A registered type. Read only; lives as long as the world.
struct orr_type_info {
    const char* name;              ///< Name of the type.
    orr_kind kind;                 ///< Kind of its values.
    uint32_t size;                 ///< Bytes of a value; 0 for a marker.
    uint32_t align;                ///< Alignment of a value, in bytes.
    const orr_field_info* fields;  ///< Fields of a struct.
    uint32_t field_count;          ///< Number of `fields`.
    const orr_label* labels;       ///< Labels of an enum or mask.
    uint32_t label_count;          ///< Number of `labels`.
    uint32_t version;              ///< orr_type_settings.version; at least 1.
    orr_multiplicity multiplicity; ///< As registered.
    orr_storage storage;           ///< As registered; ORR_PINNED for a transient type.
    const char* needs;             ///< As registered; "" if none.
    uint64_t layout_hash; ///< Hash of names, kinds, offsets and counts; equal on every machine.
    bool has_padding;     ///< Some bytes belong to no field.
    bool has_floats;      ///< Some field is a float or double.
    bool has_entities;    ///< Some field, or an element of an owned array, is an orr_entity.
    bool has_owned;       ///< Some field is an orr_string or orr_array.
    bool has_hooks;       ///< The type was registered with hooks.
    bool transient;       ///< As registered.
    bool live;            ///< As registered.
};

/// A place inside a value, found by orr_field_find().
typedef struct orr_field_place {
    const orr_type_info* type;   ///< Type of the place, or of one element if it is an array.
    uint32_t offset;             ///< Bytes from the start of the value.
    uint32_t count;              ///< 0: a single value; N: an array of N values.
    const orr_field_info* field; ///< The innermost field of the path.
} orr_field_place;

/// Finds a place by a path, such as "position.x" or "waypoints[2].y".
/// @return ORR_ERR_FIELD if a name is unknown (the error text suggests similar names), if an index
/// is out of range, or if the path continues into something without fields.
ORR_API ORR_NODISCARD orr_result orr_field_find(const orr_type_info* type, const char* path,
                                                orr_field_place* out);

/// Writes a value as text, independent of the locale:
/// - a struct as `{x: 1, y: 2}`, an array as `[1, 2]`;
/// - a float as the shortest text that reads back to the same bits, also `nan`, `inf` and `-inf`;
/// - a string in quotes, with the C escapes for quote, backslash, newline, tab and hexadecimal
///   bytes;
/// - an enum as its label or number, a mask as `BURN|FREEZE`;
/// - an entity as `7v1` (index, `v`, generation; then `s` and the salt if it is not 0) or `null`;
/// - an opaque value as the text of its codec, in quotes.
///
/// Writes at most out_size bytes and always a terminating zero if out_size > 0. `out` may be NULL
/// if out_size is 0. Allocates if the value has opaque fields.
/// @return the length of the whole text without the zero.
ORR_API size_t orr_value_print(const orr_type_info* type, const void* value, char* out,
                               size_t out_size);

/// Writes an entity id as all texts of the library do: `7v1`, as described at orr_value_print().
/// orr_entity_print() in store.h writes the name and the components, too. Size and return value as
/// for orr_value_print(); 32 bytes are always enough.
ORR_API size_t orr_id_print(orr_entity entity, char* out, size_t out_size);

/// Reads text in the format of orr_value_print(). Fields that the text does not name get their
/// presets. Owned strings and arrays in the text are created in the world of the type, so no other
/// thread may use the world meanwhile. Allocates.
/// @return ORR_ERR_PARSE, ORR_ERR_FIELD or ORR_ERR_RANGE (the error text states the position and
/// what was expected); ORR_ERR_ARGUMENT if an argument is NULL; ORR_ERR_MEMORY.
ORR_API ORR_NODISCARD orr_result orr_value_parse(const orr_type_info* type, const char* text,
                                                 void* out);

/// Compares two values field by field. All NaNs are equal and come last. -0 comes before 0, so that
/// the result is 0 only for values that print and hash the same. Strings and arrays are compared by
/// content. Padding is ignored.
/// @return a negative number, 0 or a positive number.
ORR_API int orr_value_compare(const orr_type_info* type, const void* a, const void* b);

/// Sets a value to its presets; fields without a preset become zero.
ORR_API void orr_value_default(const orr_type_info* type, void* out);

/// Hash of a value. Padding is ignored, all NaNs hash the same, owned strings and arrays are hashed
/// by content.
ORR_API uint64_t orr_value_hash(const orr_type_info* type, const void* value);

// ---- static descs -------------------------------------------------------------------------------
// Part of a world that orr_type_of() (store.h) reads inline. Not part of the API.

// A static desc, and the id of its type.
typedef struct orr_hot_static {
    const orr_type_desc* desc; // NULL: the entry is free.
    uint32_t id;
} orr_hot_static;

// Hash table of the static descs that were used, by address, with open addressing.
typedef struct orr_hot_statics {
    const orr_hot_static* entries;
    uint64_t multiplier; // Odd. Chosen so that few descs, usually none, want the same entry.
    uint32_t mask;       // Number of entries - 1.
} orr_hot_statics;

// The entry of a desc, unless another desc took it. The high bits of the product depend on all bits
// of the address.
static inline const orr_hot_static* orr_hot_static_at(const orr_hot_statics* statics,
                                                      const orr_type_desc* static_desc)
{
    uint64_t product = (uint64_t)(uintptr_t)static_desc * statics->multiplier;
    return &statics->entries[(uint32_t)(product >> 32) & statics->mask];
}

// ---- descs of the built-in types ----------------------------------------------------------------

/// Descs of the types that a field can have without a declaration. Use them through ORR_TYPE().
extern ORR_API const orr_type_desc orr_desc_bool, orr_desc__Bool, orr_desc_char;
extern ORR_API const orr_type_desc orr_desc_int8_t, orr_desc_int16_t, orr_desc_int32_t;
extern ORR_API const orr_type_desc orr_desc_int64_t, orr_desc_uint8_t, orr_desc_uint16_t;
extern ORR_API const orr_type_desc orr_desc_uint32_t, orr_desc_uint64_t, orr_desc_int;
extern ORR_API const orr_type_desc orr_desc_float, orr_desc_double;
extern ORR_API const orr_type_desc orr_desc_orr_entity, orr_desc_orr_string, orr_desc_orr_array;

// Each type with a desc has a constant with such a name: 1 for a marker, 0 for a type with values.
// Where a type has no desc, the compiler's first error names the constant that is missing, and so
// says what to do.
enum {
    ORR_STRUCT_is_missing_for_bool = 0,
    ORR_STRUCT_is_missing_for__Bool = 0,
    ORR_STRUCT_is_missing_for_char = 0,
    ORR_STRUCT_is_missing_for_int8_t = 0,
    ORR_STRUCT_is_missing_for_int16_t = 0,
    ORR_STRUCT_is_missing_for_int32_t = 0,
    ORR_STRUCT_is_missing_for_int64_t = 0,
    ORR_STRUCT_is_missing_for_uint8_t = 0,
    ORR_STRUCT_is_missing_for_uint16_t = 0,
    ORR_STRUCT_is_missing_for_uint32_t = 0,
    ORR_STRUCT_is_missing_for_uint64_t = 0,
    ORR_STRUCT_is_missing_for_int = 0,
    ORR_STRUCT_is_missing_for_float = 0,
    ORR_STRUCT_is_missing_for_double = 0,
    ORR_STRUCT_is_missing_for_orr_entity = 0,
    ORR_STRUCT_is_missing_for_orr_string = 0,
    ORR_STRUCT_is_missing_for_orr_array = 0
};
// Types of C and C++ that no field can have: the name that is missing says what to write instead.
#define ORR_STRUCT_is_missing_for_long      ORR_use_int32_t_or_int64_t_instead_of_long
#define ORR_STRUCT_is_missing_for_short     ORR_use_int16_t_instead_of_short
#define ORR_STRUCT_is_missing_for_signed    ORR_use_int32_t_instead_of_signed
#define ORR_STRUCT_is_missing_for_unsigned  ORR_use_uint32_t_instead_of_unsigned
#define ORR_STRUCT_is_missing_for_size_t    ORR_use_uint32_t_or_uint64_t_instead_of_size_t
#define ORR_STRUCT_is_missing_for_ptrdiff_t ORR_use_int32_t_or_int64_t_instead_of_ptrdiff_t
#define ORR_STRUCT_is_missing_for_intptr_t  ORR_use_int64_t_instead_of_intptr_t
#define ORR_STRUCT_is_missing_for_uintptr_t ORR_use_uint64_t_instead_of_uintptr_t
#define ORR_STRUCT_is_missing_for_void \
    ORR_use_orr_entity_orr_string_or_orr_array_instead_of_a_pointer
#define ORR_STRUCT_is_missing_for_const ORR_remove_const_from_the_type_of_the_field
#define ORR_STRUCT_is_missing_for_struct \
    ORR_declare_it_with_ORR_STRUCT_and_leave_out_the_word_struct
#define ORR_STRUCT_is_missing_for_enum  ORR_declare_it_with_ORR_ENUM_and_leave_out_the_word_enum
#define ORR_STRUCT_is_missing_for_union ORR_use_a_struct_instead_of_a_union
// ORR_PP_STRIP comes after a field that is followed by another one without a comma.
#define ORR_STRUCT_is_missing_for_ORR_PP_STRIP ORR_put_a_comma_between_the_fields
#define ORR_STRUCT_is_missing_for_std          ORR_use_orr_string_orr_array_or_a_plain_array_instead_of_std

/// Pointer to the desc of a built-in type or of a type declared with a macro below: ORR_TYPE(Orc).
#define ORR_TYPE(type) (0 * ORR_STRUCT_is_missing_for_##type + &orr_desc_##type)

// ---- declaring types ----------------------------------------------------------------------------

/// Declares a C struct and its schema: ORR_STRUCT(Vec3, (float, x), (float, y), (float, z)). The
/// head of this file describes the fields.
#define ORR_STRUCT(name, ...) ORR_STRUCT_EX(name, (ORR_PP_NONE), __VA_ARGS__)

/// Declares a struct with settings (orr_type_settings):
/// ORR_STRUCT_EX(Body, (.version = 2, .needs = "Position"), (float, mass)).
#define ORR_STRUCT_EX(name_, settings_, ...)                                  \
    ORR_PP_CHECK_SETTINGS(name_, settings_)                                   \
    ORR_PP_EACH(ORR_PP_CHECK_FIELD, name_, __VA_ARGS__)                       \
    ORR_PP_NAME_MAKE(name_)                                                   \
    ORR_PP_BEGIN                                                              \
    typedef struct name_ {                                                    \
        ORR_PP_EACH(ORR_PP_DECLARE, name_, __VA_ARGS__)                       \
    } name_;                                                                  \
    ORR_MAYBE_UNUSED static const orr_field_desc orr_fields_##name_[] = {     \
        ORR_PP_EACH(ORR_PP_DESCRIBE, name_, __VA_ARGS__)};                    \
    ORR_MAYBE_UNUSED static const orr_type_desc orr_desc_##name_ = {          \
        ORR_PP_NAME(name_),                                                   \
        ORR_KIND_STRUCT,                                                      \
        (uint32_t)sizeof(name_),                                              \
        (uint32_t)ORR_PP_ALIGNOF(name_),                                      \
        orr_fields_##name_,                                                   \
        (uint32_t)(sizeof orr_fields_##name_ / sizeof orr_fields_##name_[0]), \
        NULL,                                                                 \
        0,                                                                    \
        NULL,                                                                 \
        {ORR_PP_STRIP settings_}};                                            \
    ORR_PP_END                                                                \
    ORR_DESCRIBED(name_)

/// Declares a marker: a component type without data. Its C type is incomplete.
#define ORR_MARKER(name_)                                                                  \
    typedef struct name_ name_;                                                            \
    ORR_PP_NAME_MAKE(name_)                                                                \
    ORR_MAYBE_UNUSED static const orr_type_desc orr_desc_##name_ = {                       \
        ORR_PP_NAME(name_), ORR_KIND_STRUCT, 0, 1, NULL, 0, NULL, 0, NULL, {ORR_PP_NONE}}; \
    ORR_PP_MARKED(name_)

/// Declares an enum with the values 0, 1, 2 … and its labels: ORR_ENUM(Mood, CALM, ANGRY). For
/// other values write the enum, a `static const orr_type_desc orr_desc_Name` of kind ORR_KIND_ENUM
/// with its labels, and ORR_DESCRIBED(Name), by hand.
#define ORR_ENUM(name_, ...)                                         \
    typedef enum name_ {                                             \
        __VA_ARGS__                                                  \
    } name_;                                                         \
    ORR_MAYBE_UNUSED static const orr_label orr_labels_##name_[] = { \
        ORR_PP_EACH(ORR_PP_LABEL, name_, __VA_ARGS__)};              \
    ORR_PP_LABELLED(name_, ORR_KIND_ENUM)                            \
    ORR_DESCRIBED(name_)

/// Declares a 32-bit mask and its labels: the first name is bit 0, the next bit 1, and so on.
#define ORR_MASK(name_, ...)                                         \
    typedef uint32_t name_;                                          \
    enum {                                                           \
        ORR_PP_EACH(ORR_PP_BIT_INDEX, name_, __VA_ARGS__)            \
    };                                                               \
    enum {                                                           \
        ORR_PP_EACH(ORR_PP_BIT, name_, __VA_ARGS__)                  \
    };                                                               \
    ORR_MAYBE_UNUSED static const orr_label orr_labels_##name_[] = { \
        ORR_PP_EACH(ORR_PP_BIT_LABEL, name_, __VA_ARGS__)};          \
    ORR_PP_LABELLED(name_, ORR_KIND_MASK)                            \
    ORR_PP_DECLARED(name_)

/// Makes a type with a hand-written desc, `orr_desc_Name`, known to ORR_TYPE() and, in C++, to the
/// templates of orrery.hpp. Write it after the desc, in the namespace of the type:
///
///     static const orr_type_desc orr_desc_Color = {.name = "Color", …};
///     ORR_DESCRIBED(Color)
#define ORR_DESCRIBED(name_) ORR_PP_DECLARED(name_) ORR_PP_DESC_OF(name_)

// ---- preprocessor machinery; nothing below is for direct use ------------------------------------

#ifdef __cplusplus
extern "C++" {
// Name of a type with its namespaces. One more byte than a valid name has, so that a name that is
// too long is detected.
struct orr_pp_name {
    char text[ORR_NAME_MAX + 2];
    unsigned length;
};

constexpr void orr_pp_name_add(orr_pp_name& out, const char* from, const char* to)
{
    for (; from != to && out.length <= ORR_NAME_MAX; from++) {
        out.text[out.length++] = *from;
    }
}

constexpr bool orr_pp_name_has(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The compiler writes Scope, a struct beside the type, as "game::{anonymous}::orr_scope_State" or
// "game::(anonymous namespace)::orr_scope_State": the namespaces are the words before "::".
template <class Scope> constexpr orr_pp_name orr_pp_name_make(const char* name)
{
    orr_pp_name out = {};
    const char* at = __PRETTY_FUNCTION__;
    while (at[0] != '=') {
        at++;
    }
    for (at += 2; *at != ']' && *at != ';';) {
        const char* from = at;
        while (orr_pp_name_has(*at)) {
            at++;
        }
        if (at != from && at[0] == ':') {
            orr_pp_name_add(out, from, at + 2);
        }
        at += at == from ? 1 : 0;
    }
    const char* end = name;
    while (*end != '\0') {
        end++;
    }
    orr_pp_name_add(out, name, end);
    return out;
}
}

#define ORR_PP_ALIGNOF(type) alignof(type)
#define ORR_PP_NONE
// Members that an initialiser leaves out are zero in C and C++, and gcc and clang accept
// designators in C++17 too. Only the warnings of C++ compilers about both must be disabled.
#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)
#define ORR_PP_NO_DESIGNATOR_WARNING _Pragma("GCC diagnostic ignored \"-Wc++20-extensions\"")
#else
#define ORR_PP_NO_DESIGNATOR_WARNING _Pragma("GCC diagnostic ignored \"-Wpedantic\"")
#endif
#define ORR_PP_BEGIN                                                       \
    _Pragma("GCC diagnostic push")                                         \
        _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"") \
            ORR_PP_NO_DESIGNATOR_WARNING
#define ORR_PP_END _Pragma("GCC diagnostic pop")
// Maps a C++ type to its desc, for the templates of orrery.hpp. Overloads need C++ linkage.
#define ORR_PP_DESC_OF(name_)                                                     \
    extern "C++" {                                                                \
    ORR_MAYBE_UNUSED static inline const orr_type_desc* orr_desc_of(const name_*) \
    {                                                                             \
        return &orr_desc_##name_;                                                 \
    }                                                                             \
    }
#define ORR_PP_ASSERT(condition, text) static_assert(condition, text);
#define ORR_PP_NAME(name_)             orr_name_##name_.text
#define ORR_PP_NAME_MAKE(name_)                                                                   \
    struct orr_scope_##name_;                                                                     \
    ORR_MAYBE_UNUSED static constexpr orr_pp_name orr_name_##name_ =                              \
        orr_pp_name_make<orr_scope_##name_>(#name_);                                              \
    static_assert(orr_name_##name_.length <= ORR_NAME_MAX,                                        \
                  "orrery: " #name_ " and its namespaces are longer than ORR_NAME_MAX bytes; use" \
                  " shorter names");
#else
#define ORR_PP_ALIGNOF(type)           _Alignof(type)
#define ORR_PP_ASSERT(condition, text) _Static_assert(condition, text);
#define ORR_PP_NAME(name_)             #name_
#define ORR_PP_NAME_MAKE(name_)
#define ORR_PP_NONE 0
#define ORR_PP_BEGIN
#define ORR_PP_END
#define ORR_PP_DESC_OF(name_)
#endif

// (float, cells[3]) would declare an array and describe its end. C++ does not allow a struct here;
// there the registration of the type is refused.
#ifdef __cplusplus
#define ORR_PP_CHECK_NAME(owner, type, name)
#else
#define ORR_PP_CHECK_NAME(owner, type, name)                                         \
    ORR_PP_ASSERT(sizeof(struct { char name; }) == 1,                                \
                  "orrery: field " #name " of " #owner ": write an array as (" #type \
                  ", name, count)")
#endif

// The constant of a type with a desc; see ORR_TYPE().
#define ORR_PP_DECLARED(name_)                \
    enum {                                    \
        ORR_STRUCT_is_missing_for_##name_ = 0 \
    };
#define ORR_PP_MARKED(name_)                  \
    enum {                                    \
        ORR_STRUCT_is_missing_for_##name_ = 1 \
    };                                        \
    ORR_PP_DESC_OF(name_)

#define ORR_PP_STRIP(...) __VA_ARGS__

#define ORR_PP_LABELLED(name_, kind_)                                         \
    ORR_PP_NAME_MAKE(name_)                                                   \
    ORR_MAYBE_UNUSED static const orr_type_desc orr_desc_##name_ = {          \
        ORR_PP_NAME(name_),                                                   \
        kind_,                                                                \
        (uint32_t)sizeof(name_),                                              \
        (uint32_t)ORR_PP_ALIGNOF(name_),                                      \
        NULL,                                                                 \
        0,                                                                    \
        orr_labels_##name_,                                                   \
        (uint32_t)(sizeof orr_labels_##name_ / sizeof orr_labels_##name_[0]), \
        NULL,                                                                 \
        {ORR_PP_NONE}};

#define ORR_PP_LABEL(owner, label)     {#label, (int64_t)(label)},
#define ORR_PP_BIT_INDEX(owner, label) orr_bit_##owner##_##label,
// The casts allow bit 31: an enumerator is an int, and the label is the unsigned value of the bit.
#define ORR_PP_BIT(owner, label) label = (int)(1u << orr_bit_##owner##_##label),
#define ORR_PP_BIT_LABEL(owner, label) \
    {#label, (int64_t)((uint32_t)1 << orr_bit_##owner##_##label)},

// A pointer from a call, as a pointer to a type. The comma lets a type without a desc be reported
// before an unknown name.
#define ORR_PP_WRITE(type, call) ((void)ORR_STRUCT_is_missing_for_##type, (type*)(call))
#define ORR_PP_READ(type, call)  ((void)ORR_STRUCT_is_missing_for_##type, (const type*)(call))
#ifndef __cplusplus
// Makes a call with &orr_value_, a value made from an initialiser or from an expression. Only the
// initialiser of a variable may be either.
#define ORR_PP_CALL(type, call, ...)                                                               \
    __extension__({                                                                                \
        (void)ORR_STRUCT_is_missing_for_##type;                                                    \
        _Static_assert(ORR_STRUCT_is_missing_for_##type != 1,                                      \
                       "orrery: " #type " is a marker, which has no value: use orr_add(), inside " \
                       "a system orr_send_add_preset()");                                          \
        const type orr_value_ = __VA_ARGS__;                                                       \
        call;                                                                                      \
    })
#endif

// A field tuple has 2 to 4 parts. The third is a count, or attributes if it is in parentheses. A
// form is the number of parts; 0 for an item that is no tuple of 2 to 4 parts.
#define ORR_PP_COUNT7(a, b, c, d, e, f, g, n, ...) n
#define ORR_PP_FORM_OF(...)                        ORR_PP_COUNT7(__VA_ARGS__, 0, 0, 0, 4, 3, 2, 0, 0)
#define ORR_PP_FORM_0(item)                        0
#define ORR_PP_FORM_1(item)                        ORR_PP_FORM_OF item
#define ORR_PP_FORM(item)                          ORR_PP_CAT(ORR_PP_FORM_, ORR_PP_IS_TUPLE(item))(item)
#define ORR_PP_CAT(a, b)                           ORR_PP_CAT_I(a, b)
#define ORR_PP_CAT_I(a, b)                         a##b
#define ORR_PP_PROBE(...)                          ~, 1, ~
#define ORR_PP_SECOND(a, b, ...)                   b
#define ORR_PP_CHECK(...)                          ORR_PP_SECOND(__VA_ARGS__, 0, ~)
#define ORR_PP_IS_TUPLE(x)                         ORR_PP_CHECK(ORR_PP_PROBE x)

#define ORR_PP_CHECK_SETTINGS(owner, settings) \
    ORR_PP_CAT(ORR_PP_CHECK_SETTINGS_, ORR_PP_IS_TUPLE(settings))(owner, settings)
#define ORR_PP_CHECK_SETTINGS_1(owner, settings)
#define ORR_PP_CHECK_SETTINGS_0(owner, settings)                                         \
    ORR_PP_ASSERT(0, "orrery: the settings of " #owner " are not in parentheses: write " \
                     "ORR_STRUCT_EX(" #owner ", (" #settings "), (type, name), ...)")

// Checks an item before the struct is declared, so that the first error says what to write. A type
// has the constant 0 and a pointer to it is "0 * + 1", so the sum is 0 for pointers alone.
#define ORR_PP_CHECK_FIELD(owner, item) \
    ORR_PP_CAT(ORR_PP_CHECK_FIELD_, ORR_PP_FORM(item))(owner, item)
#define ORR_PP_CHECK_FIELD_0(owner, item)                                                    \
    ORR_PP_ASSERT(0, "orrery: a field of " #owner " is not written as (type, name), (type, " \
                     "name, count), (type, name, (attributes)) or (type, name, count, "      \
                     "(attributes)), or as ORR_MARKER(name) without fields: " #item)
#define ORR_PP_CHECK_FIELD_2(owner, ...) ORR_PP_CHECK_TYPE(owner, ORR_PP_STRIP __VA_ARGS__)
#define ORR_PP_CHECK_FIELD_3(owner, ...) ORR_PP_CHECK_TYPE(owner, ORR_PP_STRIP __VA_ARGS__)
#define ORR_PP_CHECK_FIELD_4(owner, ...) ORR_PP_CHECK_TYPE(owner, ORR_PP_STRIP __VA_ARGS__)
#define ORR_PP_CHECK_TYPE(owner, ...)    ORR_PP_CHECK_TYPE_I(owner, __VA_ARGS__, ~)
#define ORR_PP_CHECK_TYPE_I(owner, type, name, ...)                                          \
    ORR_PP_ASSERT(ORR_STRUCT_is_missing_for_##type + 1 != 0,                                 \
                  "orrery: field " #name " of " #owner " is a pointer, which means nothing " \
                  "after a restart or on another machine: use orr_entity, orr_string or "    \
                  "orr_array")                                                               \
    ORR_PP_CHECK_NAME(owner, type, name)

#define ORR_PP_DECLARE(owner, item) ORR_PP_CAT(ORR_PP_DECLARE_, ORR_PP_FORM(item)) item
#define ORR_PP_DECLARE_0(...)
#define ORR_PP_DECLARE_2(type, name) type name;
#define ORR_PP_DECLARE_3(type, name, x) \
    ORR_PP_CAT(ORR_PP_DECLARE_3_, ORR_PP_IS_TUPLE(x))(type, name, x)
#define ORR_PP_DECLARE_3_0(type, name, count)           type name[count];
#define ORR_PP_DECLARE_3_1(type, name, attributes)      type name;
#define ORR_PP_DECLARE_4(type, name, count, attributes) type name[count];

#define ORR_PP_DESCRIBE(owner, item) \
    ORR_PP_CAT(ORR_PP_DESCRIBE_, ORR_PP_FORM(item))(owner, ORR_PP_STRIP item)
#define ORR_PP_DESCRIBE_0(owner, ...)
// An extra expansion, so that the parts of the tuple become separate arguments first.
#define ORR_PP_DESCRIBE_2(owner, ...) ORR_PP_DESCRIBE_2I(owner, __VA_ARGS__)
#define ORR_PP_DESCRIBE_3(owner, ...) ORR_PP_DESCRIBE_3I(owner, __VA_ARGS__)
#define ORR_PP_DESCRIBE_4(owner, ...) ORR_PP_DESCRIBE_4I(owner, __VA_ARGS__)
#define ORR_PP_DESCRIBE_2I(owner, type, name) \
    {#name, ORR_TYPE(type), (uint32_t)offsetof(owner, name), 0, {ORR_PP_NONE}},
#define ORR_PP_DESCRIBE_3I(owner, type, name, x) \
    ORR_PP_CAT(ORR_PP_DESCRIBE_3_, ORR_PP_IS_TUPLE(x))(owner, type, name, x)
#define ORR_PP_DESCRIBE_3_0(owner, type, name, count) \
    {#name, ORR_TYPE(type), (uint32_t)offsetof(owner, name), (count), {ORR_PP_NONE}},
#define ORR_PP_DESCRIBE_3_1(owner, type, name, attributes) \
    {#name, ORR_TYPE(type), (uint32_t)offsetof(owner, name), 0, {ORR_PP_STRIP attributes}},
#define ORR_PP_DESCRIBE_4I(owner, type, name, count, attributes) \
    {#name, ORR_TYPE(type), (uint32_t)offsetof(owner, name), (count), {ORR_PP_STRIP attributes}},

// ORR_PP_EACH(m, owner, a, b, …) is m(owner, a) m(owner, b) …, for 1 to 32 items.
#define ORR_PP_COUNT64(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, \
                       a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32,  \
                       a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47,  \
                       a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62,  \
                       a63, a64, n, ...)                                                           \
    n
#define ORR_PP_ITEMS(...)                                                                          \
    ORR_PP_COUNT64(__VA_ARGS__, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY,  \
                   MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY,   \
                   MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, 32, 31, 30, 29, 28, 27, 26, 25, \
                   24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4,   \
                   3, 2, 1, 0)
#define ORR_PP_EACH_MANY(m, o, ...) \
    ORR_PP_ASSERT(0, "orrery: " #o " has more than 32 items; nest structs, or split the list")
#define ORR_PP_EACH(m, owner, ...) \
    ORR_PP_CAT(ORR_PP_EACH_, ORR_PP_ITEMS(__VA_ARGS__))(m, owner, __VA_ARGS__)
#define ORR_PP_EACH_1(m, o, a)       m(o, a)
#define ORR_PP_EACH_2(m, o, a, ...)  m(o, a) ORR_PP_EACH_1(m, o, __VA_ARGS__)
#define ORR_PP_EACH_3(m, o, a, ...)  m(o, a) ORR_PP_EACH_2(m, o, __VA_ARGS__)
#define ORR_PP_EACH_4(m, o, a, ...)  m(o, a) ORR_PP_EACH_3(m, o, __VA_ARGS__)
#define ORR_PP_EACH_5(m, o, a, ...)  m(o, a) ORR_PP_EACH_4(m, o, __VA_ARGS__)
#define ORR_PP_EACH_6(m, o, a, ...)  m(o, a) ORR_PP_EACH_5(m, o, __VA_ARGS__)
#define ORR_PP_EACH_7(m, o, a, ...)  m(o, a) ORR_PP_EACH_6(m, o, __VA_ARGS__)
#define ORR_PP_EACH_8(m, o, a, ...)  m(o, a) ORR_PP_EACH_7(m, o, __VA_ARGS__)
#define ORR_PP_EACH_9(m, o, a, ...)  m(o, a) ORR_PP_EACH_8(m, o, __VA_ARGS__)
#define ORR_PP_EACH_10(m, o, a, ...) m(o, a) ORR_PP_EACH_9(m, o, __VA_ARGS__)
#define ORR_PP_EACH_11(m, o, a, ...) m(o, a) ORR_PP_EACH_10(m, o, __VA_ARGS__)
#define ORR_PP_EACH_12(m, o, a, ...) m(o, a) ORR_PP_EACH_11(m, o, __VA_ARGS__)
#define ORR_PP_EACH_13(m, o, a, ...) m(o, a) ORR_PP_EACH_12(m, o, __VA_ARGS__)
#define ORR_PP_EACH_14(m, o, a, ...) m(o, a) ORR_PP_EACH_13(m, o, __VA_ARGS__)
#define ORR_PP_EACH_15(m, o, a, ...) m(o, a) ORR_PP_EACH_14(m, o, __VA_ARGS__)
#define ORR_PP_EACH_16(m, o, a, ...) m(o, a) ORR_PP_EACH_15(m, o, __VA_ARGS__)
#define ORR_PP_EACH_17(m, o, a, ...) m(o, a) ORR_PP_EACH_16(m, o, __VA_ARGS__)
#define ORR_PP_EACH_18(m, o, a, ...) m(o, a) ORR_PP_EACH_17(m, o, __VA_ARGS__)
#define ORR_PP_EACH_19(m, o, a, ...) m(o, a) ORR_PP_EACH_18(m, o, __VA_ARGS__)
#define ORR_PP_EACH_20(m, o, a, ...) m(o, a) ORR_PP_EACH_19(m, o, __VA_ARGS__)
#define ORR_PP_EACH_21(m, o, a, ...) m(o, a) ORR_PP_EACH_20(m, o, __VA_ARGS__)
#define ORR_PP_EACH_22(m, o, a, ...) m(o, a) ORR_PP_EACH_21(m, o, __VA_ARGS__)
#define ORR_PP_EACH_23(m, o, a, ...) m(o, a) ORR_PP_EACH_22(m, o, __VA_ARGS__)
#define ORR_PP_EACH_24(m, o, a, ...) m(o, a) ORR_PP_EACH_23(m, o, __VA_ARGS__)
#define ORR_PP_EACH_25(m, o, a, ...) m(o, a) ORR_PP_EACH_24(m, o, __VA_ARGS__)
#define ORR_PP_EACH_26(m, o, a, ...) m(o, a) ORR_PP_EACH_25(m, o, __VA_ARGS__)
#define ORR_PP_EACH_27(m, o, a, ...) m(o, a) ORR_PP_EACH_26(m, o, __VA_ARGS__)
#define ORR_PP_EACH_28(m, o, a, ...) m(o, a) ORR_PP_EACH_27(m, o, __VA_ARGS__)
#define ORR_PP_EACH_29(m, o, a, ...) m(o, a) ORR_PP_EACH_28(m, o, __VA_ARGS__)
#define ORR_PP_EACH_30(m, o, a, ...) m(o, a) ORR_PP_EACH_29(m, o, __VA_ARGS__)
#define ORR_PP_EACH_31(m, o, a, ...) m(o, a) ORR_PP_EACH_30(m, o, __VA_ARGS__)
#define ORR_PP_EACH_32(m, o, a, ...) m(o, a) ORR_PP_EACH_31(m, o, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
