// SPDX-License-Identifier: MIT
/// @file schema.h
/// Component types: what a value is made of, by name, so that it can be printed, parsed, compared,
/// hashed, saved and shown without its C struct.
///
/// A struct and its schema are one declaration:
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
///         (float, health, (.min = 0, .max = 100, .preset = "100")))
///
/// A field is (type, name), (type, name, count), (type, name, (attributes)) or
/// (type, name, count, (attributes)). Types are int8_t … uint64_t, int, float, double, bool, char,
/// orr_entity, orr_string, orr_array, and everything declared with these macros before. Anything else
/// (unsigned, size_t, a pointer, a struct of your own) does not compile: "orr_desc_foo undeclared". At most 32
/// fields; nest structs for more. In C++ they stand at namespace scope.
///
/// A type without a C struct behind it is an orr_type_desc filled at run time, `size` 0: the layout is
/// then computed as a C compiler would.
#ifndef ORRERY_SCHEMA_H
#define ORRERY_SCHEMA_H

#include <orrery/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORR_NAME_MAX       63         ///< Bytes of a type, field, label or tag name.
#define ORR_FIELDS_MAX     256        ///< Fields of one struct.
#define ORR_LABELS_MAX     1024       ///< Labels of one enum; a mask has at most 64.
#define ORR_DEPTH_MAX      16         ///< Structs within structs.
#define ORR_VALUE_SIZE_MAX 65536u     ///< Bytes of one component value.
#define ORR_INDEXED_MAX    256        ///< Indexed references in one value.
#define ORR_BLOB_SIZE_MAX  (1u << 30) ///< Bytes of one owned string or array.

/// An entity of one world: index in the low half, generation and salt above. All-zero is null.
/// Never take it apart; `a.id == b.id` compares.
typedef struct orr_entity {
    uint64_t id;
} orr_entity;

/// A component type of one world. All-zero is null.
typedef struct orr_type {
    uint32_t id;
} orr_type;

/// An owned, immutable string of one world: a handle that may be copied like a number. Equal texts have
/// equal handles. All-zero is the empty string. Stored ones are counted by the store; one that was made
/// and not stored lives until the world's next tick.
typedef struct orr_string {
    uint32_t id, generation;
} orr_string;

/// An owned, immutable array of one world; as orr_string. All-zero is the empty array.
typedef struct orr_array {
    uint32_t id, generation;
} orr_array;

/// What a value is.
typedef enum orr_kind {
    ORR_KIND_STRUCT = 0,
    ORR_KIND_BOOL,
    ORR_KIND_CHAR, ///< An array of it is an inline string, zero-terminated, the rest zero.
    ORR_KIND_I8,
    ORR_KIND_I16,
    ORR_KIND_I32,
    ORR_KIND_I64,
    ORR_KIND_U8,
    ORR_KIND_U16,
    ORR_KIND_U32,
    ORR_KIND_U64,
    ORR_KIND_F32,
    ORR_KIND_F64,
    ORR_KIND_ENUM, ///< A signed integer of 1, 2, 4 or 8 bytes with labels.
    ORR_KIND_MASK, ///< An unsigned one; each label is one bit (or several).
    ORR_KIND_ENTITY,
    ORR_KIND_STRING,
    ORR_KIND_ARRAY,
    ORR_KIND_OPAQUE, ///< Bytes that only their codec understands.
    ORR_KIND_COUNT
} orr_kind;

/// "f32", "struct" and the like. Never NULL.
ORR_API const char* orr_kind_name(orr_kind kind);

typedef enum orr_field_flags {
    ORR_FIELD_QUATERNION = 1 << 0,  ///< Four floats or doubles, x y z w. Interpolated spherically.
    ORR_FIELD_SPATIAL_KEY = 1 << 1, ///< The position by which the entity is found in space.
    ORR_FIELD_UNSAVED = 1 << 2,     ///< Not in saves; the preset after a load.
    ORR_FIELD_INDEXED = 1 << 3,     ///< Of an orr_entity: the referrers can be listed (kinds.h).
} orr_field_flags;

/// What happens to an indexed reference when the entity it refers to is destroyed.
typedef enum orr_on_destroy {
    ORR_ON_DESTROY_KEEP = 0, ///< It stays, and is seen to be dead.
    ORR_ON_DESTROY_CLEAR,    ///< It becomes null.
    ORR_ON_DESTROY_DESTROY,  ///< The entity that holds it is destroyed too.
} orr_on_destroy;

typedef enum orr_interpolation {
    ORR_INTERPOLATION_DEFAULT = 0, ///< Linear for float and double, else stepwise.
    ORR_INTERPOLATION_LINEAR,
    ORR_INTERPOLATION_STEPWISE,
} orr_interpolation;

typedef struct orr_type_desc orr_type_desc;

/// What is known of a field beyond its kind. All zero: nothing.
typedef struct orr_field_attributes {
    uint32_t flags;                  ///< orr_field_flags.
    orr_interpolation interpolation; ///< How states in between are made.
    const char* unit;                ///< "m/s". Default none.
    double min, max; ///< Allowed range of a number; min == max: any. Checked by parse only.
    const char*
        preset; ///< Default value as text (a string in quotes). Default: zero. Not of members that a C initialiser leaves out: these are 0.
    const orr_type_desc* element; ///< Of an orr_array: what is in it. Required there.
    orr_on_destroy on_destroy;    ///< Of an indexed reference. Default: it stays.
} orr_field_attributes;

typedef struct orr_field_desc {
    const char* name;
    const orr_type_desc* type;
    uint32_t offset; ///< Ignored when the struct's size is 0.
    uint32_t count;  ///< 0: a single value; N: an array of N.
    orr_field_attributes attributes;
} orr_field_desc;

/// A name of an enum's value or of a mask's bit.
typedef struct orr_label {
    const char* name;
    int64_t value;
} orr_label;

/// How an opaque value is written as text and compared. `print` and `parse` are required. `parse`
/// may be called for a value that is then dropped, so it must not acquire anything.
typedef struct orr_codec {
    /// As snprintf: returns the length needed, writes at most out_size bytes including the zero.
    size_t (*print)(void* user, const void* value, char* out, size_t out_size);
    /// False when the text is no value. `text` is zero-terminated.
    bool (*parse)(void* user, const char* text, void* out);
    int (*compare)(void* user, const void* a, const void* b); ///< Default memcmp.
    uint64_t (*hash)(void* user, const void* value);          ///< Default: hash of the bytes.
    void* user;
} orr_codec;

/// Hooks for values that are not plain data. Each is optional; a type without them moves by memcpy.
/// Each value is constructed once (construct or copy) and destructed once, in between moved any number
/// of times. Hooks run on the calling thread, must not call the world, and get whole row ranges. They are
/// for whole components: a type with hooks cannot be a field. Owned handles are counted beside them.
typedef struct orr_hooks {
    /// Makes values in raw memory. The rows hold the presets when called. False refuses; nothing is made.
    bool (*construct)(void* user, void* rows, uint32_t count);
    void (*destruct)(void* user, void* rows, uint32_t count);
    /// `to` is raw memory; afterwards `from` is. Default memcpy.
    void (*move)(void* user, void* to, void* from, uint32_t count);
    /// `to` is raw memory. False refuses; nothing is made. Default memcpy.
    bool (*copy)(void* user, void* to, const void* from, uint32_t count);
    void* user;
} orr_hooks;

typedef enum orr_multiplicity {
    ORR_UNIQUE = 0, ///< At most one per entity.
    ORR_MULTIPLE,   ///< Any number per entity, each with an id. See kinds.h.
} orr_multiplicity;

typedef enum orr_storage {
    ORR_CHUNK = 0, ///< In columns of chunks; moves with its entity.
    ORR_PINNED,    ///< Never moves while it lives. See kinds.h.
} orr_storage;

/// Settings of a type used as a component. All zero: the defaults.
typedef struct orr_type_settings {
    uint32_t version; ///< Of the layout, for migration. Default 1.
    orr_multiplicity multiplicity;
    orr_storage storage;
    /// Types every owner must have too: "Position, Velocity". Adding this type adds those that are missing, with their
    /// presets; removing one of them while this one is there is refused; so is a cluster without them. They must be
    /// registered when this one is first used. Pinned types neither need nor are needed. Default none.
    const char* needs;
    const orr_hooks* hooks; ///< Copied. Default none.
    /// Of what only looks on: drawing, sound, tools. Not part of the world's hash, and hidden from the simulation: only
    /// systems of spectator pipelines (schedule.h) and calls from outside reach it. Always pinned. docs/SPECTATORS.md.
    bool transient;
    /// In real time (orr_realtime()) systems of other pipelines read its values in place, under a lock, instead of a copy of the last whole
    /// tick: for large types that are read rarely, or must be seen at once. Then readers and writers wait for each other.
    bool live;
} orr_type_settings;

/// Describes a type. Copied at registration, with everything it points to.
struct orr_type_desc {
    const char* name;             ///< Letters, digits, '_', '.', ':'; not a digit first. Required.
    orr_kind kind;                ///< Default ORR_KIND_STRUCT.
    uint32_t size;                ///< Bytes. A struct may leave it 0: fields are laid out in order.
    uint32_t align;               ///< Power of two, at most 64. A struct may leave it 0.
    const orr_field_desc* fields; ///< Of a struct. None: a marker without data.
    uint32_t field_count;
    const orr_label* labels; ///< Of an enum or mask.
    uint32_t label_count;
    const orr_codec* codec; ///< Of an opaque type. Copied.
    orr_type_settings settings;
};

// ---- what a world knows of a registered type --------------------------------------------------------

typedef struct orr_type_info orr_type_info;

typedef struct orr_field_info {
    const char* name;
    const orr_type_info* type; ///< Of one element.
    uint32_t offset;
    uint32_t count;                  ///< 0: a single value.
    orr_field_attributes attributes; ///< `element` is NULL here: see `element` below.
    const orr_type_info* element;    ///< Of an orr_array, else NULL.
} orr_field_info;

/// Lives as long as the world. Read only.
struct orr_type_info {
    const char* name;
    orr_kind kind;
    uint32_t size; ///< 0 for a marker.
    uint32_t align;
    const orr_field_info* fields;
    uint32_t field_count;
    const orr_label* labels;
    uint32_t label_count;
    uint32_t version;
    orr_multiplicity multiplicity;
    orr_storage storage;  ///< ORR_PINNED for a transient type.
    const char* needs;    ///< As registered; "" if none.
    uint64_t layout_hash; ///< Of names, kinds, offsets and counts; equal on every machine.
    bool has_padding;     ///< Some bytes belong to no field.
    bool has_floats;
    bool has_entities; ///< Some field refers to entities (in an owned array too).
    bool has_owned;    ///< Some field is an orr_string or orr_array.
    bool has_hooks;
    bool transient;
    bool live; ///< As registered.
};

/// A place inside a value, found by orr_field_find().
typedef struct orr_field_place {
    const orr_type_info* type; ///< Of one element.
    uint32_t offset;           ///< From the start of the value.
    uint32_t count;            ///< 0: a single value.
    const orr_field_info* field;
} orr_field_place;

/// Finds "position.x" or "waypoints[2].y". @return ORR_ERR_FIELD for an unknown name (the error names
/// near misses), an index out of range or a path into something that has no fields.
ORR_API ORR_NODISCARD orr_result orr_field_find(const orr_type_info* type, const char* path,
                                                orr_field_place* out);

/// Writes a value as text: `{x: 1, y: 2}`. Floats are the shortest text that reads back the same
/// (`nan`, `inf` and `-inf` too), whatever the locale; strings stand in quotes, with the escapes of
/// C for quote, backslash, newline, tab and hexadecimal bytes; enums are labels or numbers, masks
/// `BURN|FREEZE`, entities `7v1` (index and generation, then `s` and the salt if there is one) or
/// `null`, arrays `[1, 2]`, opaque values what their codec says, in quotes.
/// @return the length needed without the zero; at most out_size bytes are written, always terminated
/// when out_size > 0. `out` may be NULL when out_size is 0.
ORR_API size_t orr_value_print(const orr_type_info* type, const void* value, char* out,
                               size_t out_size);

/// Reads what orr_value_print() writes. Fields not named get their preset. On failure `*out` is
/// untouched. May allocate (owned strings and arrays).
/// @return ORR_ERR_PARSE, ORR_ERR_FIELD, ORR_ERR_RANGE; the error says where and what was expected.
ORR_API ORR_NODISCARD orr_result orr_value_parse(const orr_type_info* type, const char* text,
                                                 void* out);

/// Orders two values field by field: negative, 0 or positive. NaNs are equal to each other and come
/// last; -0 comes before 0, so that 0 is returned only for values that print and hash alike;
/// strings and arrays compare by content; padding does not count.
ORR_API int orr_value_compare(const orr_type_info* type, const void* a, const void* b);

/// Sets a value to its presets (zero where there is none).
ORR_API void orr_value_default(const orr_type_info* type, void* out);

/// Hash of a value: padding does not count, all NaNs are one, owned strings and arrays by content.
ORR_API uint64_t orr_value_hash(const orr_type_info* type, const void* value);

// ---- descs of the built-in types ----------------------------------------------------------------

extern ORR_API const orr_type_desc orr_desc_bool, orr_desc__Bool, orr_desc_char;
extern ORR_API const orr_type_desc orr_desc_int8_t, orr_desc_int16_t, orr_desc_int32_t;
extern ORR_API const orr_type_desc orr_desc_int64_t, orr_desc_uint8_t, orr_desc_uint16_t;
extern ORR_API const orr_type_desc orr_desc_uint32_t, orr_desc_uint64_t, orr_desc_int;
extern ORR_API const orr_type_desc orr_desc_float, orr_desc_double;
extern ORR_API const orr_type_desc orr_desc_orr_entity, orr_desc_orr_string, orr_desc_orr_array;

/// The desc of a type declared with a macro below, or of a built-in one.
#define ORR_TYPE(type) (&orr_desc_##type)

// ---- declaring ------------------------------------------------------------------------------------

/// Declares a struct and its schema.
#define ORR_STRUCT(name, ...) ORR_STRUCT_EX(name, (ORR_PP_NONE), __VA_ARGS__)

/// The same with settings: ORR_STRUCT_EX(Body, (.version = 2, .needs = "Position"), (float, mass))
#define ORR_STRUCT_EX(name_, settings_, ...)                                  \
    ORR_PP_BEGIN                                                              \
    typedef struct name_ {                                                    \
        ORR_PP_EACH(ORR_PP_DECLARE, name_, __VA_ARGS__)                       \
    } name_;                                                                  \
    ORR_MAYBE_UNUSED static const orr_field_desc orr_fields_##name_[] = {     \
        ORR_PP_EACH(ORR_PP_DESCRIBE, name_, __VA_ARGS__)};                    \
    ORR_MAYBE_UNUSED static const orr_type_desc orr_desc_##name_ = {          \
        #name_,                                                               \
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
    ORR_PP_DESC_OF(name_)

/// Declares a component without data.
#define ORR_MARKER(name_)                                                      \
    typedef struct name_ name_;                                                \
    ORR_MAYBE_UNUSED static const orr_type_desc orr_desc_##name_ = {           \
        #name_, ORR_KIND_STRUCT, 0, 1, NULL, 0, NULL, 0, NULL, {ORR_PP_NONE}}; \
    ORR_PP_DESC_OF(name_)

/// Declares an enum with values from 0 up, and its labels. For other values write the enum yourself and a
/// `static const orr_type_desc orr_desc_Name` of kind ORR_KIND_ENUM with its labels.
#define ORR_ENUM(name_, ...)                                         \
    typedef enum name_ {                                             \
        __VA_ARGS__                                                  \
    } name_;                                                         \
    ORR_MAYBE_UNUSED static const orr_label orr_labels_##name_[] = { \
        ORR_PP_EACH(ORR_PP_LABEL, name_, __VA_ARGS__)};              \
    ORR_PP_LABELLED(name_, ORR_KIND_ENUM)                            \
    ORR_PP_DESC_OF(name_)

/// Declares a 32-bit mask: the first name is bit 0, the next bit 1, and so on.
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
    ORR_PP_LABELLED(name_, ORR_KIND_MASK)

// ---- preprocessor machinery; nothing below is for direct use -------------------------------------------

#ifdef __cplusplus
#define ORR_PP_ALIGNOF(type) alignof(type)
#define ORR_PP_NONE
// Fields left out of an initialiser are zero in both languages, and gcc and clang take designators in
// C++17 too; only C++ compilers warn of both.
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
// From a type to its desc, for templates (orrery.hpp). Overloaded, so it is C++ also within extern "C".
#define ORR_PP_DESC_OF(name_)                                                     \
    extern "C++" {                                                                \
    ORR_MAYBE_UNUSED static inline const orr_type_desc* orr_desc_of(const name_*) \
    {                                                                             \
        return &orr_desc_##name_;                                                 \
    }                                                                             \
    }
#else
#define ORR_PP_ALIGNOF(type) _Alignof(type)
#define ORR_PP_NONE          0
#define ORR_PP_BEGIN
#define ORR_PP_END
#define ORR_PP_DESC_OF(name_)
#endif

#define ORR_PP_STRIP(...) __VA_ARGS__

#define ORR_PP_LABELLED(name_, kind_)                                         \
    ORR_MAYBE_UNUSED static const orr_type_desc orr_desc_##name_ = {          \
        #name_,                                                               \
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
// Bit 31 too: an enumerator is an int, and the label is the bit without its sign.
#define ORR_PP_BIT(owner, label) label = (int)(1u << orr_bit_##owner##_##label),
#define ORR_PP_BIT_LABEL(owner, label) \
    {#label, (int64_t)((uint32_t)1 << orr_bit_##owner##_##label)},

// A field tuple has 2 to 4 parts; the third is a count, or attributes if it stands in parentheses.
#define ORR_PP_COUNT4(a, b, c, d, n, ...) n
#define ORR_PP_PARTS(...)                 ORR_PP_COUNT4(__VA_ARGS__, 4, 3, 2, 1, 0)
#define ORR_PP_CAT(a, b)                  ORR_PP_CAT_I(a, b)
#define ORR_PP_CAT_I(a, b)                a##b
#define ORR_PP_PROBE(...)                 ~, 1, ~
#define ORR_PP_SECOND(a, b, ...)          b
#define ORR_PP_CHECK(...)                 ORR_PP_SECOND(__VA_ARGS__, 0, ~)
#define ORR_PP_IS_TUPLE(x)                ORR_PP_CHECK(ORR_PP_PROBE x)

#define ORR_PP_DECLARE(owner, tuple) ORR_PP_CAT(ORR_PP_DECLARE_, ORR_PP_PARTS tuple) tuple
#define ORR_PP_DECLARE_2(type, name) type name;
#define ORR_PP_DECLARE_3(type, name, x) \
    ORR_PP_CAT(ORR_PP_DECLARE_3_, ORR_PP_IS_TUPLE(x))(type, name, x)
#define ORR_PP_DECLARE_3_0(type, name, count)           type name[count];
#define ORR_PP_DECLARE_3_1(type, name, attributes)      type name;
#define ORR_PP_DECLARE_4(type, name, count, attributes) type name[count];

#define ORR_PP_DESCRIBE(owner, tuple) \
    ORR_PP_CAT(ORR_PP_DESCRIBE_, ORR_PP_PARTS tuple)(owner, ORR_PP_STRIP tuple)
// One more step, so that the tuple's parts become arguments before they are counted.
#define ORR_PP_DESCRIBE_2(owner, ...) ORR_PP_DESCRIBE_2I(owner, __VA_ARGS__)
#define ORR_PP_DESCRIBE_3(owner, ...) ORR_PP_DESCRIBE_3I(owner, __VA_ARGS__)
#define ORR_PP_DESCRIBE_4(owner, ...) ORR_PP_DESCRIBE_4I(owner, __VA_ARGS__)
#define ORR_PP_DESCRIBE_2I(owner, type, name) \
    {#name, &orr_desc_##type, (uint32_t)offsetof(owner, name), 0, {ORR_PP_NONE}},
#define ORR_PP_DESCRIBE_3I(owner, type, name, x) \
    ORR_PP_CAT(ORR_PP_DESCRIBE_3_, ORR_PP_IS_TUPLE(x))(owner, type, name, x)
#define ORR_PP_DESCRIBE_3_0(owner, type, name, count) \
    {#name, &orr_desc_##type, (uint32_t)offsetof(owner, name), (count), {ORR_PP_NONE}},
#define ORR_PP_DESCRIBE_3_1(owner, type, name, attributes) \
    {#name, &orr_desc_##type, (uint32_t)offsetof(owner, name), 0, {ORR_PP_STRIP attributes}},
#define ORR_PP_DESCRIBE_4I(owner, type, name, count, attributes) \
    {#name, &orr_desc_##type, (uint32_t)offsetof(owner, name), (count), {ORR_PP_STRIP attributes}},

// ORR_PP_EACH(m, owner, a, b, …) is m(owner, a) m(owner, b) …, for 1 to 32 items.
#define ORR_PP_COUNT32(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, \
                       a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32,  \
                       n, ...)                                                                     \
    n
#define ORR_PP_ITEMS(...)                                                                       \
    ORR_PP_COUNT32(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, \
                   16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
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
