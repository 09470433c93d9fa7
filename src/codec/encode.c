// SPDX-License-Identifier: MIT
// Encodes the state of an entity as bytes (an image). Layout, in words of 8 bytes; text and bytes
// that end within a word are padded with 0:
//
//   head    version | entity enabled << 32, number of tags, number of parts
//   tags    ascending
//   part    one per type, in the order of names:
//           layout hash
//           number of instances | bytes of the name << 32
//           name
//           enable bits, one per instance
//           values
//           content of their strings and arrays: element size << 32 | bytes, then the bytes
#include "codec/codec.h"
#include "schema/field_walk.h"

#define ENCODE_VERSION 1u

bool orri_encode_skips(const orri_type* type)
{
    const char* name = type->info.name;
    return type->info.transient ||
           (strncmp(name, "orr_", 4) == 0 &&
            (strcmp(name, "orr_time") == 0 || strcmp(name, "orr_time_traveller") == 0 ||
             strcmp(name, "orr_time_stretcher") == 0 || strcmp(name, "orr_name") == 0));
}

// Pads with 0 to a whole word.
static void encode_fill(orri_bytes* out)
{
    static const uint8_t zero[8] = {0};
    orri_bytes_put(out, zero, (8 - (out->count & 7)) & 7);
}

// ---- values -------------------------------------------------------------------------------------

// The value whose owned content is written.
typedef struct encode_value {
    orr_world* world;
    const uint8_t* value;
    orri_bytes* out;
} encode_value;

static bool encode_put_owned(void* user, const orri_field_span* span)
{
    const encode_value* v = user;
    bool owned = span->type->kind == ORR_KIND_STRING || span->type->kind == ORR_KIND_ARRAY;
    for (uint32_t i = 0; owned && i < span->count; i++) {
        orr_string handle;
        memcpy(&handle, v->value + span->offset + i * sizeof handle, sizeof handle);
        const orri_blob* blob = orri_blob_at(&v->world->schema, handle);
        orri_bytes_put_word(v->out,
                            blob != NULL ? (uint64_t)blob->element_size << 32 | blob->size : 0);
        if (blob != NULL) {
            orri_bytes_put(v->out, blob->data, blob->size);
            encode_fill(v->out);
        }
    }
    return true;
}

static void encode_put_values(orr_world* world, const orri_type* type, const uint8_t* values,
                              uint32_t count, orri_bytes* out)
{
    uint32_t size = type->info.size;
    for (uint32_t i = 0; i < count && size > 0; i++) {
        orri_bytes_put(out, values + (size_t)i * size, size);
        if (!out->failed) {
            orri_value_canon(type, out->data + out->count - size);
        }
    }
    encode_fill(out);
    for (uint32_t i = 0; i < count && type->info.has_owned; i++) {
        encode_value v = {world, values + (size_t)i * size, out};
        (void)orri_field_walk(&type->info, encode_put_owned, &v);
    }
}

static void encode_put_bits(const orr_world* world, orr_entity entity, const orri_type* type,
                            const orr_component_id* ids, uint32_t count, orri_bytes* out)
{
    orr_type handle = {type->id};
    uint64_t word = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool on = ids != NULL ? orr_instance_enabled(world, entity, handle, ids[i])
                              : orri_component_enabled(world, entity, handle);
        word |= (uint64_t)on << (i & 63);
        if ((i & 63) == 63) {
            orri_bytes_put_word(out, word);
            word = 0;
        }
    }
    orri_bytes_put_word(out, word);
}

// ---- parts --------------------------------------------------------------------------------------

// The types of an entity that are part of its image, in the order of names.
typedef struct encode_types {
    const orri_type** list;
    uint32_t count, capacity;
} encode_types;

static bool encode_add_type(orr_world* world, encode_types* types, const orri_type* type)
{
    if (orri_encode_skips(type)) {
        return true;
    }
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_TEMP, &types->list, &types->capacity,
                      types->count + 1)) {
        return false;
    }
    uint32_t at = types->count++;
    for (; at > 0 && strcmp(types->list[at - 1]->info.name, type->info.name) > 0; at--) {
        types->list[at] = types->list[at - 1];
    }
    types->list[at] = type;
    return true;
}

static bool encode_find_types(orr_world* world, const orri_cluster* cluster, uint32_t index,
                              encode_types* types)
{
    bool fits = true;
    for (uint32_t c = 0; fits && c < cluster->type_count; c++) {
        fits = encode_add_type(world, types, cluster->columns[c].type);
    }
    for (uint32_t i = 0; fits && i < world->pinned.count; i++) {
        const orri_pool* pool = world->pinned.list[i];
        fits = orri_pool_get(pool, index) == NULL || encode_add_type(world, types, pool->type);
    }
    return fits;
}

// Only types that are fully described by fields can be saved.
static orr_result encode_check(orr_world* world, const char* call, orr_entity entity,
                               const orri_type* type)
{
    bool hooked = type->info.has_hooks;
    if (ORR_LIKELY(!hooked && orri_field_walk_plain(&type->info))) {
        return ORR_OK;
    }
    orri_id_text name = orri_entity_format(world, entity);
    return orri_refuse(&world->env, ORR_ERR_TYPE, ORR_LOG_ID_CALL_REFUSED,
                       "%s: %s of entity %s %s, so its state cannot be saved; describe it with "
                       "fields%s, make it transient, or remove it first",
                       call, type->info.name, name.text, hooked ? "has hooks" : "is opaque",
                       hooked ? " and without hooks" : "");
}

static void encode_put_part(orr_world* world, orr_entity entity, const orri_type* type,
                            orri_bytes* out)
{
    const uint8_t* values;
    const orr_component_id* ids;
    uint32_t count = orri_decoded_current(world, entity, type, &values, &ids);
    size_t name = strlen(type->info.name);
    orri_bytes_put_word(out, type->info.layout_hash);
    orri_bytes_put_word(out, (uint64_t)name << 32 | count);
    orri_bytes_put(out, type->info.name, name);
    encode_fill(out);
    encode_put_bits(world, entity, type, ids, count, out);
    encode_put_values(world, type, values, count, out);
}

static orr_result encode_put_all(orr_world* world, const char* call, orr_entity entity,
                                 const encode_types* types, orri_bytes* out)
{
    const orri_cluster* cluster =
        orri_place_chunk(world, orri_record_find(world, entity)->place)->cluster;
    orr_result result = ORR_OK;
    orri_bytes_put_word(out, (uint64_t)orri_entity_enabled(world, entity) << 32 | ENCODE_VERSION);
    orri_bytes_put_word(out, cluster->tag_count);
    orri_bytes_put_word(out, types->count);
    orri_bytes_put(out, cluster->tags, cluster->tag_count * sizeof *cluster->tags);
    for (uint32_t i = 0; result == ORR_OK && i < types->count; i++) {
        result = encode_check(world, call, entity, types->list[i]);
        if (result == ORR_OK) {
            encode_put_part(world, entity, types->list[i], out);
        }
    }
    return result == ORR_OK && out->failed
               ? orri_refuse_memory(&world->env, "saving the state of an entity")
               : result;
}

orr_result orri_entity_encode(orr_world* world, const char* call, orr_entity entity,
                              orri_bytes* out)
{
    const orri_record* record = orri_record_find(world, entity);
    ORR_ASSERT(record != NULL);
    ORR_ASSERT((out->count & 7) == 0);
    encode_types types = {0};
    orr_result result = encode_find_types(world, orri_place_chunk(world, record->place)->cluster,
                                          orri_id_index(entity), &types)
                            ? encode_put_all(world, call, entity, &types, out)
                            : orri_refuse_memory(&world->env, "saving the state of an entity");
    ORRI_RELEASE(&world->env, ORR_MEMORY_TEMP, types.list, types.capacity);
    return result;
}

#undef ENCODE_VERSION
