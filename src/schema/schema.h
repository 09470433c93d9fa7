// SPDX-License-Identifier: MIT
// The component types and owned blobs of one world, for the other modules.
#ifndef ORRI_SCHEMA_H
#define ORRI_SCHEMA_H

#include "base/env.h"
#include "base/util.h"
#include <orrery/schema.h>

typedef struct orri_schema orri_schema;

// An indexed reference within a value; an array has one for each element.
typedef struct orri_indexed {
    uint32_t offset; // From the start of the value. Lists ascend by offset.
    orr_on_destroy on_destroy;
    const char* path; // "parent", "slots[2]".
} orri_indexed;

// A registered type. Stays at this address until the schema is destroyed. `info` is the first
// member, so a pointer to the public struct is a pointer to this one. (Nested types have the same
// struct, with id 0.)
typedef struct orri_type {
    orr_type_info info;
    orri_schema* schema;
    uint32_t id;          // orr_type.id; 0 for nested and built-in types.
    bool trivial;         // No owned handles or hooks: copied by memcpy, not destructed.
    bool plain;           // Also no indexed references: a write has no effect elsewhere.
    bool zero_preset;     // The preset is all zero bytes.
    bool canonical_bytes; // No padding, floats, owned handles or codec: bytes are hashed directly.
    bool has_range;       // A field, also of a nested struct, has a range (min, max).
    orr_hooks hooks;      // All NULL if none.
    orr_codec codec;
    // The default value, info.size bytes; NULL if zero_preset. Its owned handles are never
    // released.
    const void* preset;
    const orri_indexed* indexed; // [indexed_count]
    uint32_t indexed_count;
    // The type records when its entity began: the preset is the schema's `clock`, and a copy of an
    // entity gets the current tick.
    bool preset_is_tick;
    // Prints a value as text, if its fields alone would be unreadable; NULL: prints the fields.
    void (*print)(const struct orri_type* type, const void* value, orri_text* out);
    // Private to src/schema below.
    struct orri_type_detail* detail;
} orri_type;

// An owned string or array. Equal bytes with equal element size are one blob.
typedef struct orri_blob {
    void* data; // 16-byte aligned, `size` bytes and a zero byte; NULL: the slot is free.
    uint32_t size;
    uint32_t element_size; // 1 for strings.
    uint32_t generation;   // Incremented when the slot is freed; a handle of another one is stale.
    uint32_t count;   // Stored handles. 0: young, freed by orri_blobs_collect() unless retained.
    uint32_t next;    // Id of the next free slot, or of the next young blob. 0: none.
    uint32_t chained; // Id of the next blob in the same hash bucket. 0: none.
    uint64_t hash;    // Of the bytes and the element size.
    bool young;       // On the young list.
} orri_blob;

#define ORRI_STATICS_MISSED 8 // Most static descs that are noted while the schema is frozen.
#define ORRI_STARVED_MAX    8 // Most types that are noted because memory was refused.

struct orri_schema {
    orri_env* env;
    orri_type** types;  // [type_count]; the type with id i is types[i - type_base].
    uint32_t type_base; // Id of the first type: 1, or a greater number that differs between worlds.
    uint32_t type_count, type_capacity, type_max;
    // The desc of a type that the library defines, by name; NULL: none. The function is NULL in
    // tests of the schema alone.
    const orr_type_desc* (*own)(const char* name);
    // Ids of types by name: open addressing, 0 is empty. Never iterated.
    uint32_t* names;
    uint32_t name_capacity; // A power of two, or 0.
    // Known static descs: open addressing by address, at most a sixteenth is used. Never iterated.
    // The descs that are not at the entry where orr_type_of() looks for them inline are counted.
    orr_hot_statics statics;
    orr_hot_static* static_memory; // [2 * static_capacity] one half is in use,
    uint32_t static_offset;        // from this entry on.
    uint32_t static_count, static_displaced, static_capacity; // A power of two, or 0.
    orr_hot_statics* shown; // Where orr_type_of() reads the table; NULL: a schema without a world.
    // Several threads may look types up, so nothing is added to the tables. Static descs that were
    // not found are noted in `missed` and added by orri_schema_thaw().
    bool frozen;
    _Atomic(const orr_type_desc*) missed[ORRI_STATICS_MISSED];
    // Names of types whose first use was refused memory, from the static descs; NULL: free. So a use
    // of the null type that came out of it is reported as ORR_ERR_MEMORY.
    const char* starved[ORRI_STARVED_MAX];
    // Blobs.
    orri_blob* blobs;
    uint32_t blob_count, blob_capacity; // Slots ever used, and slots allocated.
    uint32_t blob_free;                 // Id of the first free slot. Last in, first out.
    uint32_t blob_young;                // Id of the newest young blob.
    uint32_t blob_live;                 // Number of blobs.
    const uint64_t* clock;              // The initial value of orr_time: the world's tick. NULL: 0.
    uint32_t* buckets; // Id of the first blob of each; bucket_count is a power of two, or 0.
    uint32_t bucket_count;
};

void orri_schema_init(orri_schema* schema, orri_env* env, uint32_t type_max);
void orri_schema_term(orri_schema* schema);
// Between freeze and thaw types are only looked up, by any thread.
void orri_schema_freeze(orri_schema* schema);
void orri_schema_thaw(orri_schema* schema);
// Checks the tables of types and blobs. ORR_ERR_CORRUPT, with an error text, if an invariant is
// violated.
orr_result orri_schema_validate(orri_schema* schema);

// ---- types --------------------------------------------------------------------------------------

orr_result orri_type_register(orri_schema* schema, const orr_type_desc* desc, orr_type* out);
// Finds a type by its static desc; registers it at first use. Null when refused (with an error
// text).
orr_type orri_type_static(orri_schema* schema, const orr_type_desc* desc);
// The same without registering. Null: the desc was not used before. A call is a few instructions,
// where finding the name takes two hundred.
orr_type orri_type_static_find(const orri_schema* schema, const orr_type_desc* desc);
orr_type orri_type_find(const orri_schema* schema, const char* name);
// A type that is not registered because its first use was refused memory: the one with the name of
// `size` bytes, or any if `name` is NULL. NULL: none.
const char* orri_type_starved(const orri_schema* schema, const char* name, size_t size);
static inline const orri_type* orri_type_at(const orri_schema* schema, orr_type type)
{
    // Null and types of other worlds wrap to large indexes and fail the same comparison.
    uint32_t index = type.id - schema->type_base;
    return ORR_LIKELY(index < schema->type_count) ? schema->types[index] : NULL;
}

// ---- rows: values in raw memory, `count` of them one after another ------------------------------

// Writes presets, then calls the construct hook. False when the hook refused; nothing is
// constructed then.
bool orri_rows_construct(const orri_type* type, void* rows, uint32_t count);
void orri_rows_destruct(const orri_type* type, void* rows, uint32_t count);
// Relocates values: `to` is raw memory before, `from` is raw memory after. The ranges do not
// overlap.
void orri_rows_move(const orri_type* type, void* to, void* from, uint32_t count);
// Copies values into raw memory by the copy hook or memcpy; counts owned handles and zeroes
// padding. False when the hook refused.
bool orri_rows_copy(const orri_type* type, void* to, const void* from, uint32_t count);
// Hash of rows, equal for equal values: ignores padding, treats all NaNs alike, uses the codec's
// hash of opaque values and the content of owned handles.
uint64_t orri_rows_hash(const orri_type* type, const void* rows, uint32_t count, uint64_t seed);
// Makes the bytes of a value canonical: padding and owned handles 0, every NaN the same.
void orri_value_canon(const orri_type* type, void* value);
// Zeroes the padding of rows. In a type with hooks, bytes that no field describes belong to the
// hooks, so they stay.
void orri_rows_clean(const orri_type* type, void* rows, uint32_t count);
// Count the owned handles of rows up or down (a copy of a block holds its own count).
void orri_rows_retain(const orri_type* type, const void* rows, uint32_t count);
void orri_rows_release(const orri_type* type, void* rows, uint32_t count);
// Returns the first entity reference (a field, or an element of an owned array) that `accept`
// rejects; null if all are accepted. Null references are skipped. *out_field receives the name of
// the field.
orr_entity orri_value_entity_reject(const orri_type* type, const void* value,
                                    bool (*accept)(void* user, orr_entity entity), void* user,
                                    const char** out_field);
// The same, for references in owned arrays of a struct alone.
orr_entity orri_value_owned_entity_reject(const orri_type* type, const void* value,
                                          bool (*accept)(void* user, orr_entity entity), void* user,
                                          const char** out_field);
// Replaces each entity that `count` values refer to by map(user, entity), in place. Elements of
// owned arrays stay as they are, because equal arrays are stored once.
void orri_values_entity_map(const orr_type_info* type, void* values, uint32_t count,
                            orr_entity (*map)(void* user, orr_entity entity), void* user);

#define ORRI_NUMBER_SIZE 64 // Bytes for any number as text.
// The first field of a value that is outside its range (min, max), for types with has_range; NULL:
// none. *out_number receives the number as text.
const orr_field_info* orri_value_out_of_range(const orri_type* type, const void* value,
                                              char out_number[ORRI_NUMBER_SIZE]);

// True if a value has an owned handle that is stale; *out_field receives the name of the field.
bool orri_value_owned_gone(const orri_type* type, const void* value, const char** out_field);

// Reads a value from `*at`. Afterwards `*at` is after the value, or at the place of the error. On
// failure no refusal is reported, `error` (at most `error_size` bytes) receives the reason, and
// `out` may be partly written; created blobs stay young.
orr_result orri_value_read_at(const orri_type* type, const char** at, void* out, char* error,
                              size_t error_size);

// ---- blobs --------------------------------------------------------------------------------------

// Returns the handle of the blob with these bytes; creates the blob if there is none, young until
// it is retained. False when refused.
bool orri_blob_make(orri_schema* schema, const void* data, uint32_t size, uint32_t element_size,
                    orr_string* out);
// NULL if the handle is null or stale.
const orri_blob* orri_blob_at(const orri_schema* schema, orr_string handle);
void orri_blob_retain(orri_schema* schema, orr_string handle);
void orri_blob_release(orri_schema* schema, orr_string handle);
// Frees young blobs that are still not retained.
void orri_blobs_collect(orri_schema* schema);
// Frees all blobs. Called by orri_schema_term().
void orri_blobs_term(orri_schema* schema);

#endif
