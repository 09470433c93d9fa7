// SPDX-License-Identifier: MIT
// Checks the invariants C1 to C8 of README.md, as far as a schema's tables show them. Slow: for
// tests and for finding corruption.
#include "schema/detail.h"

static orr_result schema_broken(orri_schema* schema, const char* what, uint32_t id)
{
    return orri_refuse(schema->env, ORR_ERR_CORRUPT, ORR_LOG_ID_WORLD_CORRUPT,
                       "the schema is corrupt: %s (number %u)", what, id);
}

static orr_result schema_check_types(orri_schema* schema)
{
    for (uint32_t i = 0; i < schema->type_count; i++) {
        const orri_type* type = schema->types[i];
        if (type->id != i + schema->type_base || type->schema != schema) {
            return schema_broken(schema, "a type is not at the place of its number", i + 1);
        }
        if (orri_type_find(schema, type->info.name).id != type->id) {
            return schema_broken(schema, "a type is not found by its name", i + 1);
        }
    }
    uint32_t displaced = 0;
    for (uint32_t i = 0; i < schema->static_capacity; i++) {
        const orr_hot_static* entry = &schema->statics.entries[i];
        if (entry->desc != NULL && entry->id - schema->type_base >= schema->type_count) {
            return schema_broken(schema, "a static desc leads to no type", entry->id);
        }
        displaced += entry->desc != NULL &&
                     orr_hot_static_at(&schema->statics, entry->desc) != entry;
    }
    if (displaced != schema->static_displaced) {
        return schema_broken(schema, "displaced static descs are miscounted", displaced);
    }
    return ORR_OK;
}

// Checks every slot by itself. Counts the live and the young blobs.
static orr_result schema_check_slots(orri_schema* schema, uint32_t* out_live, uint32_t* out_young)
{
    for (uint32_t i = 0; i < schema->blob_count; i++) {
        const orri_blob* blob = &schema->blobs[i];
        if (blob->data == NULL && (blob->count != 0 || blob->young)) {
            return schema_broken(schema, "a free slot has a count or is young", i + 1);
        }
        if (blob->data != NULL && blob->count == 0 && !blob->young) {
            return schema_broken(schema, "a blob with count 0 is not young", i + 1);
        }
        *out_live += blob->data != NULL;
        *out_young += blob->young;
    }
    return *out_live == schema->blob_live ? ORR_OK
                                          : schema_broken(schema, "blob_live is wrong", *out_live);
}

// Each list holds the expected slots, each once. A list that is longer than expected has a cycle or
// a slot that does not belong to it.
static orr_result schema_check_lists(orri_schema* schema, uint32_t young)
{
    uint32_t found = 0;
    for (uint32_t at = schema->blob_young; at != 0; at = schema->blobs[at - 1].next) {
        if (!schema->blobs[at - 1].young || ++found > young) {
            return schema_broken(schema, "the young list is too long", at);
        }
    }
    if (found != young) {
        return schema_broken(schema, "the young list is too short", found);
    }
    uint32_t most = schema->blob_count - schema->blob_live;
    for (uint32_t at = schema->blob_free; at != 0; at = schema->blobs[at - 1].next) {
        if (schema->blobs[at - 1].data != NULL || most-- == 0) {
            return schema_broken(schema, "the free list is too long", at);
        }
    }
    return ORR_OK;
}

static orr_result schema_check_buckets(orri_schema* schema)
{
    uint32_t found = 0;
    for (uint32_t b = 0; b < schema->bucket_count; b++) {
        for (uint32_t at = schema->buckets[b]; at != 0; at = schema->blobs[at - 1].chained) {
            const orri_blob* blob = &schema->blobs[at - 1];
            if (blob->data == NULL || (blob->hash & (schema->bucket_count - 1)) != b ||
                ++found > schema->blob_live) {
                return schema_broken(schema, "a blob is in the wrong bucket", at);
            }
        }
    }
    return found == schema->blob_live ? ORR_OK
                                      : schema_broken(schema, "a blob is in no bucket", found);
}

orr_result orri_schema_validate(orri_schema* schema)
{
    uint32_t live = 0, young = 0;
    orr_result result = schema_check_types(schema);
    if (result == ORR_OK) {
        result = schema_check_slots(schema, &live, &young);
    }
    if (result == ORR_OK) {
        result = schema_check_lists(schema, young);
    }
    return result == ORR_OK ? schema_check_buckets(schema) : result;
}
