// SPDX-License-Identifier: MIT
// Owned strings and arrays (blobs): immutable, interned, counted by the handles that are stored.
//
// A blob with count 0 (just created, or just released) is young: it stays readable on the young
// list until orri_blobs_collect(), which the world calls once per tick. So only a collect frees
// slots, and in between the free list only gets shorter.
//
// The slot of a blob depends on the calls alone: the free list is last in, first out, and a collect
// walks the young list from the newest to the oldest. Hashes do not depend on slot numbers: rows
// hash the contents of their handles, so deleted blobs leave no trace in a hash.
#include "schema/detail.h"

// The last generation of a slot. The generation would wrap and an old handle would look valid, so
// the slot is not used again.
#define BLOB_GENERATION_LAST UINT32_MAX

static uint64_t blob_bytes_hash(const void* data, uint32_t size, uint32_t element_size)
{
    return orr_hash(data, size, element_size);
}

static orri_blob* blob_slot(const orri_schema* schema, orr_string handle)
{
    uint32_t index = handle.id - 1; // Null wraps to a large index and fails the same comparison.
    if (index >= schema->blob_count) {
        return NULL;
    }
    orri_blob* blob = &schema->blobs[index];
    return blob->data != NULL && blob->generation == handle.generation ? blob : NULL;
}

const orri_blob* orri_blob_at(const orri_schema* schema, orr_string handle)
{
    return blob_slot(schema, handle);
}

static void blob_grow_young(orri_schema* schema, orri_blob* blob)
{
    if (!blob->young) {
        blob->young = true;
        blob->next = schema->blob_young;
        schema->blob_young = (uint32_t)(blob - schema->blobs) + 1;
    }
}

// ---- finding equal bytes ------------------------------------------------------------------------

static uint32_t* blob_bucket(const orri_schema* schema, uint64_t hash)
{
    return &schema->buckets[hash & (schema->bucket_count - 1)];
}

static orri_blob* blob_find(const orri_schema* schema, const void* data, uint32_t size,
                            uint32_t element_size, uint64_t hash)
{
    uint32_t id = schema->bucket_count > 0 ? *blob_bucket(schema, hash) : 0;
    while (id != 0) {
        orri_blob* blob = &schema->blobs[id - 1];
        if (blob->hash == hash && blob->size == size && blob->element_size == element_size &&
            memcmp(blob->data, data, size) == 0) {
            return blob;
        }
        id = blob->chained;
    }
    return NULL;
}

static void blob_chain(orri_schema* schema, uint32_t id)
{
    orri_blob* blob = &schema->blobs[id - 1];
    uint32_t* bucket = blob_bucket(schema, blob->hash);
    blob->chained = *bucket;
    *bucket = id;
}

static void blob_unchain(orri_schema* schema, uint32_t id)
{
    orri_blob* blob = &schema->blobs[id - 1];
    uint32_t* link = blob_bucket(schema, blob->hash);
    while (*link != id) {
        link = &schema->blobs[*link - 1].chained;
    }
    *link = blob->chained;
}

static bool blob_buckets_reserve(orri_schema* schema)
{
    if (schema->blob_live < schema->bucket_count) {
        return true;
    }
    uint32_t count = schema->bucket_count != 0 ? schema->bucket_count * 2 : 64;
    uint32_t* buckets = ORRI_ALLOC_ZERO(schema->env, ORR_MEMORY_BLOB, uint32_t, count);
    if (buckets == NULL) {
        return false;
    }
    ORRI_FREE(schema->env, ORR_MEMORY_BLOB, uint32_t, schema->buckets, schema->bucket_count);
    schema->buckets = buckets;
    schema->bucket_count = count;
    for (uint32_t i = 0; i < schema->blob_count; i++) {
        if (schema->blobs[i].data != NULL) {
            blob_chain(schema, i + 1);
        }
    }
    return true;
}

// ---- creating and freeing -----------------------------------------------------------------------

static bool blob_slots_reserve(orri_schema* schema)
{
    return schema->blob_free != 0 || ORRI_RESERVE(schema->env, ORR_MEMORY_BLOB, &schema->blobs,
                                                  &schema->blob_capacity, schema->blob_count + 1);
}

static uint32_t blob_take_slot(orri_schema* schema)
{
    uint32_t id = schema->blob_free;
    if (id != 0) {
        schema->blob_free = schema->blobs[id - 1].next;
        return id;
    }
    schema->blobs[schema->blob_count] = (orri_blob){.generation = 1};
    return ++schema->blob_count;
}

static orri_blob* blob_create(orri_schema* schema, const void* data, uint32_t size,
                              uint32_t element_size, uint64_t hash)
{
    orri_env* env = schema->env;
    unsigned char* copy = orri_alloc(env, ORR_MEMORY_BLOB, (size_t)size + 1, 16);
    if (copy == NULL || !blob_slots_reserve(schema) || !blob_buckets_reserve(schema)) {
        orri_free(env, ORR_MEMORY_BLOB, copy, (size_t)size + 1, 16);
        return NULL;
    }
    memcpy(copy, data, size);
    copy[size] = 0;
    uint32_t id = blob_take_slot(schema);
    orri_blob* blob = &schema->blobs[id - 1];
    *blob = (orri_blob){
        .data = copy,
        .size = size,
        .element_size = element_size,
        .generation = blob->generation,
        .hash = hash,
    };
    blob_chain(schema, id);
    blob_grow_young(schema, blob);
    schema->blob_live++;
    return blob;
}

orr_result orri_blob_intern(orri_schema* schema, const void* data, uint32_t size,
                            uint32_t element_size, orr_string* out)
{
    if (size == 0) {
        *out = (orr_string){0};
        return ORR_OK;
    }
    if (data == NULL || element_size == 0 || size % element_size != 0) {
        return ORR_ERR_ARGUMENT;
    }
    if (size > ORR_BLOB_SIZE_MAX) {
        return ORR_ERR_CAPACITY;
    }
    uint64_t hash = blob_bytes_hash(data, size, element_size);
    orri_blob* blob = blob_find(schema, data, size, element_size, hash);
    if (blob == NULL) {
        blob = blob_create(schema, data, size, element_size, hash);
    }
    if (blob == NULL) {
        return ORR_ERR_MEMORY;
    }
    *out = (orr_string){(uint32_t)(blob - schema->blobs) + 1, blob->generation};
    return ORR_OK;
}

bool orri_blob_make(orri_schema* schema, const void* data, uint32_t size, uint32_t element_size,
                    orr_string* out)
{
    orr_result result = orri_blob_intern(schema, data, size, element_size, out);
    if (result == ORR_ERR_MEMORY) {
        orri_refuse_memory(schema->env, "creating an owned string or array");
    } else if (result == ORR_ERR_CAPACITY) {
        orri_refuse(schema->env, result, ORR_LOG_ID_VALUE_REFUSED,
                    "an owned string or array of %u bytes is larger than the limit, %u; divide it",
                    size, ORR_BLOB_SIZE_MAX);
    } else if (result != ORR_OK) {
        orri_refuse(schema->env, result, ORR_LOG_ID_VALUE_REFUSED,
                    "an owned string or array of %u bytes cannot have elements of %u bytes%s", size,
                    element_size, data == NULL ? " at NULL" : "");
    }
    return result == ORR_OK;
}

static void blob_free(orri_schema* schema, uint32_t id)
{
    orri_blob* blob = &schema->blobs[id - 1];
    blob_unchain(schema, id);
    orri_free(schema->env, ORR_MEMORY_BLOB, blob->data, (size_t)blob->size + 1, 16);
    uint32_t generation = blob->generation;
    *blob = (orri_blob){.generation = generation};
    schema->blob_live--;
    if (generation == BLOB_GENERATION_LAST) {
        return; // Retired: the slot is in no list.
    }
    blob->generation = generation + 1;
    blob->next = schema->blob_free;
    schema->blob_free = id;
}

// ---- counting -----------------------------------------------------------------------------------

void orri_blob_retain(orri_schema* schema, orr_string handle)
{
    orri_blob* blob = blob_slot(schema, handle);
    if (blob != NULL && blob->count != UINT32_MAX) {
        blob->count++;
    }
}

void orri_blob_release(orri_schema* schema, orr_string handle)
{
    orri_blob* blob = blob_slot(schema, handle);
    // The true count is unknown once it was full (UINT32_MAX): such a blob is never freed.
    if (blob == NULL || blob->count == UINT32_MAX) {
        return;
    }
    ORR_ASSERT(blob->count > 0);
    if (blob->count > 0 && --blob->count == 0) {
        blob_grow_young(schema, blob);
    }
}

void orri_blobs_collect(orri_schema* schema)
{
    uint32_t id = schema->blob_young;
    schema->blob_young = 0;
    while (id != 0) {
        orri_blob* blob = &schema->blobs[id - 1];
        uint32_t next = blob->next;
        blob->young = false;
        blob->next = 0;
        if (blob->count == 0) {
            blob_free(schema, id);
        }
        id = next;
    }
}

void orri_blobs_term(orri_schema* schema)
{
    orri_env* env = schema->env;
    for (uint32_t i = 0; i < schema->blob_count; i++) {
        orri_free(env, ORR_MEMORY_BLOB, schema->blobs[i].data, (size_t)schema->blobs[i].size + 1,
                  16);
    }
    ORRI_RELEASE(env, ORR_MEMORY_BLOB, schema->blobs, schema->blob_capacity);
    ORRI_FREE(env, ORR_MEMORY_BLOB, uint32_t, schema->buckets, schema->bucket_count);
    schema->blobs = NULL;
    schema->buckets = NULL;
    schema->blob_count = schema->blob_capacity = schema->bucket_count = schema->blob_live = 0;
    schema->blob_free = schema->blob_young = 0;
}

#undef BLOB_GENERATION_LAST
