// SPDX-License-Identifier: MIT
// Decodes an image: the result has values with handles of this world, which can be compared,
// interpolated and applied to an entity. encode.c has the layout. Image bytes are checked, because
// a program may have written them.
#include "codec/codec.h"
#include "schema/field_walk.h"

#define DECODE_VERSION 1u

uint32_t orri_decoded_current(const orr_world* world, orr_entity entity, const orri_type* type,
                              const uint8_t** values, const orr_component_id** ids)
{
    orr_type handle = {type->id};
    uint32_t index = orri_id_index(entity);
    *values = NULL;
    *ids = NULL;
    if (orri_type_pinned(type)) {
        const orri_pool* pool = orri_pool_find(world, handle);
        *values = pool != NULL ? orri_pool_get(pool, index) : NULL;
        return *values != NULL;
    }
    uint32_t place = orri_record_find(world, entity)->place;
    const orri_chunk* chunk = orri_place_chunk(world, place);
    int32_t column = orri_cluster_find_column(chunk->cluster, handle);
    if (column < 0) {
        return 0;
    }
    *values = orri_cells_at(chunk, (uint32_t)column, orri_place_slot(place)).data;
    return type->info.multiplicity == ORR_MULTIPLE ? orri_instances_of(world, index, handle, ids)
                                                   : 1;
}

// ---- reading ------------------------------------------------------------------------------------

typedef struct decode_reader {
    orri_decoded* decoded;
    const char* call;
    orri_bytes_reader from;
    uint8_t* value; // The value whose owned content is read.
    bool failed;    // The error is already reported.
} decode_reader;

// Takes `size` bytes and their padding. NULL if the image ends before.
static const uint8_t* decode_take(decode_reader* r, size_t size)
{
    const uint8_t* data = orri_bytes_take(&r->from, size);
    return orri_bytes_take(&r->from, (0 - size) & 7) != NULL ? data : NULL;
}

static bool decode_alive(const orr_world* world, const uint8_t* at)
{
    orr_entity entity;
    memcpy(&entity, at, sizeof entity);
    return entity.id == 0 || orri_record_find(world, entity) != NULL;
}

// True for spans of which not every byte pattern is valid in this world.
static bool decode_span_checked(const orri_field_span* span)
{
    orr_kind kind = span->type->kind;
    return kind == ORR_KIND_BOOL || kind == ORR_KIND_ENTITY || kind == ORR_KIND_STRING ||
           kind == ORR_KIND_ARRAY;
}

static bool decode_span_unchecked(void* user, const orri_field_span* span)
{
    (void)user;
    return !decode_span_checked(span);
}

// The value whose bytes are checked.
typedef struct decode_checking {
    const orr_world* world;
    uint8_t* value;
} decode_checking;

// Sets references to dead entities to null. False for a bool that is not 0 or 1, and for a handle
// of a string or array: an image has their content instead.
static bool decode_check_span(void* user, const orri_field_span* span)
{
    const decode_checking* checking = user;
    bool valid = true;
    for (uint32_t i = 0; decode_span_checked(span) && valid && i < span->count; i++) {
        uint8_t* at = checking->value + span->offset + (size_t)i * span->type->size;
        if (span->type->kind == ORR_KIND_BOOL) {
            valid = *at <= 1;
        } else if (span->type->kind != ORR_KIND_ENTITY) {
            orr_string handle;
            memcpy(&handle, at, sizeof handle);
            valid = handle.id == 0 && handle.generation == 0;
        } else if (!decode_alive(checking->world, at)) {
            memset(at, 0, sizeof(orr_entity));
        }
    }
    return valid;
}

// True if values of the type must be checked with decode_check_values().
static bool decode_must_check(const orr_type_info* type)
{
    return !orri_field_walk(type, decode_span_unchecked, NULL);
}

static bool decode_check_values(const orr_world* world, const orr_type_info* type, uint8_t* values,
                                uint32_t count)
{
    bool valid = true;
    for (uint32_t i = 0; valid && i < count; i++) {
        decode_checking checking = {world, values + (size_t)i * type->size};
        valid = orri_field_walk(type, decode_check_span, &checking);
    }
    return valid;
}

static bool decode_fail(decode_reader* r, const char* what)
{
    r->failed = true;
    (void)orri_refuse_memory(&r->decoded->world->env, what);
    return false;
}

// Makes the blob of a string or array. False if the bytes are wrong, or if it is refused
// (reported).
static bool decode_make_blob(decode_reader* r, const orri_field_span* span, const uint8_t* data,
                             uint32_t size, uint32_t element_size, orr_string* out)
{
    orr_world* world = r->decoded->world;
    const orr_type_info* element = span->element;
    if (element == NULL || !decode_must_check(element)) {
        r->failed |= !orri_blob_make(&world->schema, data, size, element_size, out);
        return !r->failed;
    }
    uint8_t* copy = orri_alloc(&world->env, ORR_MEMORY_TEMP, size, ORRI_BLOCK_ALIGN);
    if (copy == NULL) {
        return decode_fail(r, "reading a slot of an entity");
    }
    memcpy(copy, data, size);
    bool valid = decode_check_values(world, element, copy, size / element_size);
    r->failed |= valid && !orri_blob_make(&world->schema, copy, size, element_size, out);
    orri_free(&world->env, ORR_MEMORY_TEMP, copy, size, ORRI_BLOCK_ALIGN);
    return valid && !r->failed;
}

static bool decode_read_owned(void* user, const orri_field_span* span)
{
    decode_reader* r = user;
    bool owned = span->type->kind == ORR_KIND_STRING || span->type->kind == ORR_KIND_ARRAY;
    for (uint32_t i = 0; owned && i < span->count; i++) {
        uint64_t word = orri_bytes_word(&r->from);
        uint32_t size = (uint32_t)word, element_size = (uint32_t)(word >> 32);
        if (word == 0) {
            continue;
        }
        const uint8_t* data = decode_take(r, size);
        orr_string handle;
        bool fits = span->element != NULL ? element_size == span->element->size : element_size == 1;
        if (data == NULL || !fits || size % element_size != 0 ||
            !decode_make_blob(r, span, data, size, element_size, &handle)) {
            return false;
        }
        memcpy(r->value + span->offset + i * sizeof handle, &handle, sizeof handle);
    }
    return true;
}

static bool decode_read_values(decode_reader* r, orri_decoded_part* part)
{
    const orri_type* type = part->type;
    size_t size = (size_t)type->info.size * part->count;
    const uint8_t* bits = decode_take(r, ((size_t)part->count / 64 + 1) * 8);
    const uint8_t* data = decode_take(r, size);
    if (data == NULL || bits == NULL) {
        return false;
    }
    orri_env* env = &r->decoded->world->env;
    part->on = ORRI_ALLOC(env, ORR_MEMORY_TEMP, uint64_t, part->count / 64 + 1);
    part->values = orri_alloc(env, ORR_MEMORY_TEMP, size, ORRI_BLOCK_ALIGN);
    if (part->on == NULL || part->values == NULL) {
        return decode_fail(r, "reading a slot of an entity");
    }
    memcpy(part->on, bits, ((size_t)part->count / 64 + 1) * 8);
    if (size > 0) {
        memcpy(part->values, data, size);
    }
    if (decode_must_check(&type->info) &&
        !decode_check_values(r->decoded->world, &type->info, part->values, part->count)) {
        return false;
    }
    for (uint32_t i = 0; i < part->count && type->info.has_owned; i++) {
        r->value = part->values + (size_t)i * type->info.size;
        if (!orri_field_walk(&type->info, decode_read_owned, r)) {
            return false;
        }
    }
    return true;
}

// The type of a part. NULL (reported) if it is not registered, or has another layout.
static const orri_type* decode_read_type(decode_reader* r, uint64_t layout, const uint8_t* name,
                                         uint32_t size)
{
    orr_world* world = r->decoded->world;
    char text[ORR_NAME_MAX + 1] = "";
    memcpy(text, name, size <= ORR_NAME_MAX ? size : ORR_NAME_MAX);
    const orri_type* type = orri_type_at(&world->schema, orri_type_find(&world->schema, text));
    if (type != NULL && type->info.layout_hash == layout) {
        return type;
    }
    r->failed = true;
    (void)orri_refuse(&world->env, ORR_ERR_FORMAT, ORR_LOG_ID_CALL_REFUSED,
                      "%s: the slot was saved with type %s, which %s; register the type as it "
                      "was, or empty the slot with orr_entity_forget()",
                      r->call, text, type == NULL ? "is not registered" : "has another layout now");
    return NULL;
}

// False for a part that encode.c never writes. Such an image was written by the program, or
// damaged.
static bool decode_part_valid(const orri_decoded* decoded, const orri_type* type, uint32_t count)
{
    uint32_t before = decoded->part_count;
    bool kept = !orri_encode_skips(type) && !orri_type_pseudo(type) && !type->info.has_hooks &&
                orri_field_walk_plain(&type->info);
    bool counted = type->info.multiplicity == ORR_MULTIPLE
                       ? (uint64_t)count * type->info.size <= ORR_VALUE_SIZE_MAX
                       : count == 1;
    bool ordered = before == 0 ||
                   strcmp(decoded->parts[before - 1].type->info.name, type->info.name) < 0;
    return kept && counted && ordered;
}

static bool decode_read_part(decode_reader* r)
{
    orri_decoded* decoded = r->decoded;
    uint64_t layout = orri_bytes_word(&r->from), sizes = orri_bytes_word(&r->from);
    uint32_t count = (uint32_t)sizes, size = (uint32_t)(sizes >> 32);
    const uint8_t* name = decode_take(r, size);
    if (name == NULL || size > ORR_NAME_MAX || count == 0 || count > ORR_INSTANCES_MAX) {
        return false;
    }
    const orri_type* type = decode_read_type(r, layout, name, size);
    if (type == NULL || !decode_part_valid(decoded, type, count)) {
        return false;
    }
    orri_decoded_part* part = &decoded->parts[decoded->part_count++];
    *part = (orri_decoded_part){.type = type, .count = count};
    return decode_read_values(r, part);
}

static bool decode_read_head(decode_reader* r, uint32_t* part_count)
{
    orri_decoded* decoded = r->decoded;
    uint64_t head = orri_bytes_word(&r->from), tags = orri_bytes_word(&r->from),
             parts = orri_bytes_word(&r->from);
    if (r->from.failed || (uint32_t)head != DECODE_VERSION || tags > ORR_CLUSTER_TAGS_MAX ||
        parts > ORR_TYPES_MAX) {
        return false;
    }
    const uint8_t* data = decode_take(r, (size_t)tags * sizeof(orr_tag));
    if (data == NULL) {
        return false;
    }
    orri_env* env = &decoded->world->env;
    decoded->on = head >> 32 != 0;
    *part_count = (uint32_t)parts;
    if (!ORRI_RESERVE(env, ORR_MEMORY_TEMP, &decoded->parts, &decoded->part_capacity,
                      (uint32_t)parts) ||
        !ORRI_RESERVE(env, ORR_MEMORY_TEMP, &decoded->tags, &decoded->tag_capacity,
                      (uint32_t)tags)) {
        return decode_fail(r, "reading a slot of an entity");
    }
    decoded->tag_count = (uint32_t)tags;
    if (tags > 0) {
        memcpy(decoded->tags, data, (size_t)tags * sizeof(orr_tag));
    }
    for (uint32_t i = 1; i < decoded->tag_count; i++) {
        if (decoded->tags[i - 1] >= decoded->tags[i]) {
            return false;
        }
    }
    return true;
}

orr_result orri_entity_decode(orr_world* world, const char* call, orri_bytes_reader image,
                              orri_decoded* out)
{
    *out = (orri_decoded){.world = world};
    decode_reader r = {.decoded = out, .call = call, .from = image};
    uint32_t parts = 0;
    bool ok = decode_read_head(&r, &parts);
    for (uint32_t i = 0; ok && i < parts; i++) {
        ok = decode_read_part(&r);
    }
    if (ok) {
        return ORR_OK;
    }
    orr_result result = r.failed ? orri_env_result(&world->env)
                                 : orri_refuse(&world->env, ORR_ERR_FORMAT, ORR_LOG_ID_CALL_REFUSED,
                                               "%s: the slot does not contain the state of an "
                                               "entity; empty it with orr_entity_forget()",
                                               call);
    orri_decoded_free(out);
    return result;
}

void orri_decoded_free(orri_decoded* decoded)
{
    orri_env* env = &decoded->world->env;
    for (uint32_t i = 0; i < decoded->part_count; i++) {
        orri_decoded_part* part = &decoded->parts[i];
        ORRI_FREE(env, ORR_MEMORY_TEMP, uint64_t, part->on, part->count / 64 + 1);
        orri_free(env, ORR_MEMORY_TEMP, part->values, (size_t)part->type->info.size * part->count,
                  ORRI_BLOCK_ALIGN);
    }
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, decoded->parts, decoded->part_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, decoded->tags, decoded->tag_capacity);
    *decoded = (orri_decoded){.world = decoded->world};
}

void orri_decoded_interpolate(orri_decoded* decoded, const orri_decoded* later, double share)
{
    ORR_ASSERT(share >= 0 && share <= 1);
    for (uint32_t i = 0, j = 0; share > 0 && i < decoded->part_count; i++) {
        orri_decoded_part* part = &decoded->parts[i];
        const char* name = part->type->info.name;
        while (j < later->part_count && strcmp(later->parts[j].type->info.name, name) < 0) {
            j++;
        }
        bool both = j < later->part_count && later->parts[j].type == part->type;
        uint32_t size = part->type->info.size;
        for (uint32_t k = 0; both && k < part->count && k < later->parts[j].count; k++) {
            orri_value_interpolate(&part->type->info, part->values + (size_t)k * size,
                                   later->parts[j].values + (size_t)k * size, share);
        }
    }
}

#undef DECODE_VERSION
