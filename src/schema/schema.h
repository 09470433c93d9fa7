// SPDX-License-Identifier: MIT
// Registered types and owned blobs of one world, as the store sees them.
#ifndef ORRI_SCHEMA_H
#define ORRI_SCHEMA_H

#include "base/env.h"
#include "base/util.h"
#include <orrery/schema.h>

typedef struct orri_schema orri_schema;

// An indexed reference within a value; of an array one for each element.
typedef struct orri_indexed {
    uint32_t offset; // From the start of the value. Lists of them ascend by it.
    orr_on_destroy on_destroy;
    const char* path; // "parent", "slots[2]".
} orri_indexed;

// A registered type. Lives, at this address, until the schema ends. `info` comes first: the public
// pointer is the private one. (Nested types have an orr_type_info of the same shape with index1 0.)
typedef struct orri_type {
    orr_type_info info;
    orri_schema* schema;
    uint32_t id;          // orr_type.index1; 0 for nested and built-in ones.
    bool plain;           // Nothing is owned, indexed or hooked: copy is memcpy, destruct nothing.
    bool zero_preset;     // The preset is all zero bytes.
    bool canonical_bytes; // No padding, no floats, nothing owned, no codec: bytes hash as they are.
    orr_hooks hooks;      // All NULL if none.
    orr_codec codec;
    const void*
        preset; // info.size bytes; NULL when zero_preset. Its owned handles are counted for ever.
    const orri_indexed* indexed; // [indexed_count]
    uint32_t indexed_count;
    bool
        birth; // It tells when its entity began: the preset is the schema's `clock`, and a copy of an entity gets it anew.
    // How a value is shown to people, where its fields say nothing to them; NULL: by its fields.
    void (*words)(const struct orri_type* type, const void* value, orri_text* out);
    // Private to src/schema below.
    struct orri_type_detail* detail;
} orri_type;

// An owned string or array. Equal bytes (and element size) are one blob.
typedef struct orri_blob {
    void* data; // 16-byte aligned, `size` bytes and a zero byte; NULL: the slot is free.
    uint32_t size;
    uint32_t element_size; // 1 for strings.
    uint32_t generation;
    uint32_t count;   // Stored handles. 0: young, dies at orri_blobs_collect().
    uint32_t next;    // index1 of the next free slot, or of the next young blob.
    uint32_t chained; // index1 of the next blob in the same hash bucket.
    uint64_t hash;
    bool young; // On the young list.
} orri_blob;

typedef struct orri_static_entry {
    const orr_type_desc* desc;
    uint32_t id;
} orri_static_entry;

#define ORRI_STATICS_MISSED 8

struct orri_schema {
    orri_env* env;
    orri_type** types;  // [type_count]; index1 - type_base.
    uint32_t type_base; // index1 of the first type: 1, or a number of the world's own above.
    uint32_t type_count, type_capacity, type_max;
    // index1 of types by name: open addressing, 0 is empty. Only ever looked up.
    uint32_t* names;
    uint32_t name_capacity; // A power of two, or 0.
    // Descs with static storage seen before: open addressing by address, only ever looked up.
    orri_static_entry* statics;
    uint32_t static_count, static_capacity; // A power of two, or 0.
    // Several threads look types up: nothing is added meanwhile. Descs they did not find there wait.
    bool frozen;
    _Atomic(const orr_type_desc*) missed[ORRI_STATICS_MISSED];
    // Blobs.
    orri_blob* blobs;
    uint32_t blob_count, blob_capacity; // Slots used ever, and allocated.
    uint32_t blob_free;                 // index1, first free slot. LIFO, part of the state.
    uint32_t blob_young;                // index1, first young one.
    uint32_t blob_live;
    const uint64_t* clock; // What orr_time begins with: the world's tick. NULL: 0.
    uint32_t* buckets;     // index1 of the first; bucket_count is a power of two, or 0.
    uint32_t bucket_count;
};

void orri_schema_init(orri_schema* schema, orri_env* env, uint32_t type_max);
void orri_schema_term(orri_schema* schema);
// From now on types are only looked up, by any thread; until thawed.
void orri_schema_freeze(orri_schema* schema);
void orri_schema_thaw(orri_schema* schema);
// Checks the tables of types and blobs. ORR_ERR_CORRUPT (said) when an invariant does not hold.
orr_result orri_schema_validate(orri_schema* schema);

// ---- types ----------------------------------------------------------------------------------------

orr_result orri_type_register(orri_schema* schema, const orr_type_desc* desc, orr_type* out);
// By static desc, registering at first use; null when refused (reported).
orr_type orri_type_static(orri_schema* schema, const orr_type_desc* desc);
orr_type orri_type_find(const orri_schema* schema, const char* name);
static inline const orri_type* orri_type_at(const orri_schema* schema, orr_type type)
{
    // Null and the types of other worlds wrap to large indexes and are refused by the same compare.
    uint32_t index = type.id - schema->type_base;
    return ORR_LIKELY(index < schema->type_count) ? schema->types[index] : NULL;
}

// ---- rows: values in raw memory, `count` of them one after another ---------------------------------------

// Makes presets, then calls the construct hook. False when the hook refused; nothing is made then.
bool orri_rows_construct(const orri_type* type, void* rows, uint32_t count);
void orri_rows_destruct(const orri_type* type, void* rows, uint32_t count);
// Relocates: `to` is raw before, `from` is raw after. The ranges do not overlap.
void orri_rows_move(const orri_type* type, void* to, void* from, uint32_t count);
// Copies values into raw memory: copy hook or memcpy, owned handles counted, padding zeroed.
bool orri_rows_copy(const orri_type* type, void* to, const void* from, uint32_t count);
// Hash of rows, equal for equal values: padding skipped, NaNs as one, codec's hash, owned handles by what
// they hold.
uint64_t orri_rows_hash(const orri_type* type, const void* rows, uint32_t count, uint64_t seed);
// Makes the bytes of a value canonical: padding and owned handles 0, every NaN the same.
void orri_value_canon(const orri_type* type, void* value);
// Zeroes the padding of rows.
void orri_rows_clean(const orri_type* type, void* rows, uint32_t count);
// Counts owned handles of rows up or down (a copy of a block holds its own).
void orri_rows_retain(const orri_type* type, const void* rows, uint32_t count);
void orri_rows_release(const orri_type* type, void* rows, uint32_t count);
// The first entity reference (field or element of an owned array) for which `accept` is false; null if all
// are accepted. Null references are not asked about. `*out_field` names the field.
orr_entity orri_value_entity_reject(const orri_type* type, const void* value,
                                    bool (*accept)(void* user, orr_entity entity), void* user,
                                    const char** out_field);

// True when a value has an owned handle that is neither null nor of a blob that is there; names the field.
bool orri_value_owned_gone(const orri_type* type, const void* value, const char** out_field);

// Reads a value from `*at`, which is then behind it, or where it is wrong. On failure nothing is said, `words` (at most
// `words_size` bytes) tell why, and `out` may be half written; blobs made stay young.
orr_result orri_value_read_at(const orri_type* type, const char** at, void* out, char* words,
                              size_t words_size);

// ---- blobs ----------------------------------------------------------------------------------------

// index1 and generation of a blob with these bytes, made if missing, young if not counted. False when refused.
bool orri_blob_make(orri_schema* schema, const void* data, uint32_t size, uint32_t element_size,
                    orr_string* out);
// NULL if null or gone.
const orri_blob* orri_blob_at(const orri_schema* schema, orr_string handle);
void orri_blob_retain(orri_schema* schema, orr_string handle);
void orri_blob_release(orri_schema* schema, orr_string handle);
// Frees young blobs that are still not counted.
void orri_blobs_collect(orri_schema* schema);
// Frees all of them. Called by orri_schema_term().
void orri_blobs_term(orri_schema* schema);

#endif
