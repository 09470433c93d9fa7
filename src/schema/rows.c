// SPDX-License-Identifier: MIT
// Values in raw memory, many at a time. Types without hooks and owned handles take one memcpy or
// memset; other types also process the flat lists of the type.
//
// The hash of rows is a hash of their canonical bytes: padding zero, every NaN the same, opaque
// values replaced by the result of their codec, owned handles by the hash of their content. Rows
// are hashed in pieces of fixed size. A piece that is already canonical is hashed in place, any
// other through a small copy, with the same result.
#include "schema/detail.h"

// Bytes of a piece. Part of the definition of the hash: never change it. A multiple of 8, so that
// no double of a large value lies across two pieces.
#define ROWS_PIECE 4096u

static void rows_write_preset(const orri_type* type, unsigned char* rows, size_t size)
{
    if (type->preset == NULL) {
        memset(rows, 0, size);
        return;
    }
    size_t done = type->info.size;
    memcpy(rows, type->preset, done);
    while (done < size) {
        size_t part = done <= size - done ? done : size - done;
        memcpy(rows + done, rows, part);
        done += part;
    }
}

bool orri_rows_construct(const orri_type* type, void* rows, uint32_t count)
{
    size_t size = (size_t)type->info.size * count;
    if (size > 0) {
        rows_write_preset(type, rows, size);
    }
    if (type->plain) {
        return true;
    }
    if (type->hooks.construct != NULL && !type->hooks.construct(type->hooks.user, rows, count)) {
        return false;
    }
    // Counted after the hook, because the hook may refuse or replace a handle.
    orri_rows_retain(type, rows, count);
    return true;
}

void orri_rows_destruct(const orri_type* type, void* rows, uint32_t count)
{
    if (type->plain) {
        return;
    }
    // Released before the hook, because the hook may leave any bytes behind.
    orri_rows_release(type, rows, count);
    if (type->hooks.destruct != NULL) {
        type->hooks.destruct(type->hooks.user, rows, count);
    }
}

static void rows_memcpy(const orri_type* type, void* to, const void* from, uint32_t count)
{
    size_t size = (size_t)type->info.size * count;
    if (size > 0) {
        memcpy(to, from, size);
    }
}

void orri_rows_move(const orri_type* type, void* to, void* from, uint32_t count)
{
    if (type->hooks.move != NULL) {
        type->hooks.move(type->hooks.user, to, from, count);
    } else {
        rows_memcpy(type, to, from, count);
    }
}

bool orri_rows_copy(const orri_type* type, void* to, const void* from, uint32_t count)
{
    if (type->hooks.copy == NULL) {
        rows_memcpy(type, to, from, count);
    } else if (!type->hooks.copy(type->hooks.user, to, from, count)) {
        return false;
    }
    orri_rows_clean(type, to, count);
    orri_rows_retain(type, to, count);
    return true;
}

// Also for types with hooks, in a copy that is only hashed.
static void rows_zero_gaps(const orri_type* type, void* rows, uint32_t count)
{
    const orri_type_detail* detail = type->detail;
    for (uint32_t g = 0; g < detail->gap_count; g++) {
        unsigned char* at = (unsigned char*)rows + detail->gaps[g].offset;
        for (uint32_t i = 0; i < count; i++, at += type->info.size) {
            memset(at, 0, detail->gaps[g].size);
        }
    }
}

void orri_rows_clean(const orri_type* type, void* rows, uint32_t count)
{
    if (!type->info.has_hooks) {
        rows_zero_gaps(type, rows, count);
    }
}

// ---- owned handles ------------------------------------------------------------------------------

void orri_rows_retain(const orri_type* type, const void* rows, uint32_t count)
{
    const orri_type_detail* detail = type->detail;
    const unsigned char* row = rows;
    for (uint32_t i = 0; i < count && detail->owned_count > 0; i++, row += type->info.size) {
        for (uint32_t o = 0; o < detail->owned_count; o++) {
            orr_string handle;
            memcpy(&handle, row + detail->owned[o].offset, sizeof handle);
            orri_blob_retain(type->schema, handle);
        }
    }
}

void orri_rows_release(const orri_type* type, void* rows, uint32_t count)
{
    const orri_type_detail* detail = type->detail;
    const unsigned char* row = rows;
    for (uint32_t i = 0; i < count && detail->owned_count > 0; i++, row += type->info.size) {
        for (uint32_t o = 0; o < detail->owned_count; o++) {
            orr_string handle;
            memcpy(&handle, row + detail->owned[o].offset, sizeof handle);
            orri_blob_release(type->schema, handle);
        }
    }
}

// ---- hash ---------------------------------------------------------------------------------------

// Tests bits instead of floats: the same for every compiler and floating-point mode, and easy to
// vectorise.
static bool rows_any_nan32(const unsigned char* data, size_t count)
{
    uint32_t any = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, data + i * 4, 4);
        any |= (bits & 0x7FFFFFFFu) > 0x7F800000u;
    }
    return any != 0;
}

static bool rows_any_nan64(const unsigned char* data, size_t count)
{
    uint64_t any = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, data + i * 8, 8);
        any |= (bits & 0x7FFFFFFFFFFFFFFFu) > 0x7FF0000000000000u;
    }
    return any != 0;
}

static bool rows_any_nan(const unsigned char* data, size_t count, bool wide)
{
    return wide ? rows_any_nan64(data, count) : rows_any_nan32(data, count);
}

static void rows_canon_nan(unsigned char* data, size_t count, bool wide)
{
    static const uint32_t nan32 = 0x7FC00000u;
    static const uint64_t nan64 = 0x7FF8000000000000u;
    for (size_t i = 0; i < count; i++) {
        if (rows_any_nan(data + i * (wide ? 8 : 4), 1, wide)) {
            if (wide) {
                memcpy(data + i * 8, &nan64, 8);
            } else {
                memcpy(data + i * 4, &nan32, 4);
            }
        }
    }
}

// Bytes `from` to `to` of a value, so that a value larger than a piece can be hashed in pieces.
typedef struct rows_window {
    uint32_t from, to;
} rows_window;

// The part of [offset, offset + size) inside the window, in bytes from the window's start.
static bool rows_clip(rows_window window, uint32_t offset, uint32_t size, rows_window* out)
{
    uint32_t from = offset > window.from ? offset : window.from;
    uint32_t to = offset + size < window.to ? offset + size : window.to;
    *out = (rows_window){from - window.from, to - window.from};
    return from < to;
}

// Makes the bytes of a window of one value canonical, in place.
static void rows_canon(const orri_type* type, unsigned char* data, rows_window window)
{
    const orri_type_detail* detail = type->detail;
    rows_window part;
    for (uint32_t i = 0; i < detail->gap_count; i++) {
        if (rows_clip(window, detail->gaps[i].offset, detail->gaps[i].size, &part)) {
            memset(data + part.from, 0, part.to - part.from);
        }
    }
    for (uint32_t i = 0; i < detail->float_count; i++) {
        const orri_float_run* run = &detail->floats[i];
        uint32_t size = run->wide ? 8 : 4;
        if (rows_clip(window, run->offset, run->count * size, &part)) {
            rows_canon_nan(data + part.from, (part.to - part.from) / size, run->wide);
        }
    }
    for (uint32_t i = 0; i < detail->opaque_count; i++) {
        const orri_opaque* opaque = &detail->opaques[i];
        if (rows_clip(window, opaque->offset, opaque->type->info.size, &part)) {
            memset(data + part.from, 0, part.to - part.from); // The codec's hash is added later.
        }
    }
    for (uint32_t i = 0; i < detail->owned_count; i++) {
        if (rows_clip(window, detail->owned[i].offset, sizeof(orr_string), &part)) {
            memset(data + part.from, 0, part.to - part.from); // The content's hash is added later.
        }
    }
}

void orri_value_canon(const orri_type* type, void* value)
{
    rows_canon(type, value, (rows_window){0, type->info.size});
}

// Processes one float of the value at a time over all rows, so that the inner loop has no branch on
// the kind.
static bool rows_run_has_nan(const orri_float_run* run, const unsigned char* rows, size_t stride,
                             size_t count)
{
    uint32_t size = run->wide ? 8 : 4;
    bool any = false;
    for (uint32_t f = 0; f < run->count; f++) {
        const unsigned char* at = rows + run->offset + (size_t)f * size;
        for (size_t i = 0; i < count; i++, at += stride) {
            any |= run->wide ? rows_any_nan64(at, 1) : rows_any_nan32(at, 1);
        }
    }
    return any;
}

static bool rows_have_nan(const orri_type* type, const unsigned char* rows, size_t count)
{
    const orri_type_detail* detail = type->detail;
    if (detail->floats_only) {
        return rows_any_nan(rows, count * detail->floats[0].count, detail->floats[0].wide);
    }
    for (uint32_t f = 0; f < detail->float_count; f++) {
        if (rows_run_has_nan(&detail->floats[f], rows, type->info.size, count)) {
            return true;
        }
    }
    return false;
}

static uint64_t rows_hash_opaques(const orri_type* type, const unsigned char* row, uint64_t h)
{
    for (uint32_t i = 0; i < type->detail->opaque_count; i++) {
        const orr_codec* codec = &type->detail->opaques[i].type->codec;
        h = orri_hash_word(h, codec->hash(codec->user, row + type->detail->opaques[i].offset));
    }
    return h;
}

// The elements of an owned array, as they were made.
typedef struct rows_elements {
    const orri_type* type;
    const unsigned char* data;
} rows_elements;

// Bytes `at` to `at + size` of the canonical elements. The ends never cut a float, since both are
// aligned.
static void rows_read_elements(void* user, size_t at, unsigned char* out, size_t size)
{
    const rows_elements* elements = user;
    uint32_t stride = elements->type->info.size;
    memcpy(out, elements->data + at, size);
    while (size > 0) {
        uint32_t from = (uint32_t)(at % stride), left = stride - from;
        uint32_t part = size < left ? (uint32_t)size : left;
        rows_canon(elements->type, out, (rows_window){from, from + part});
        at += part, out += part, size -= part;
    }
}

// Hash of an array whose elements may have padding, NaNs and opaque values. Elements that are
// canonical have the hash of the blob.
static uint64_t rows_hash_elements(const orri_type* element, const orri_blob* blob)
{
    uint32_t size = element->info.size, count = blob->size / size;
    const orri_type_detail* detail = element->detail;
    if (blob->element_size != size || (detail->gap_count + detail->opaque_count == 0 &&
                                       !rows_have_nan(element, blob->data, count))) {
        return blob->hash;
    }
    rows_elements elements = {element, blob->data};
    uint64_t h = orri_hash_read(blob->size, size, rows_read_elements, &elements);
    for (uint32_t i = 0; i < count && detail->opaque_count > 0; i++) {
        h = rows_hash_opaques(element, elements.data + (size_t)i * size, h);
    }
    return h;
}

static uint64_t rows_hash_owned(const orri_type* type, const unsigned char* row, uint64_t h)
{
    for (uint32_t i = 0; i < type->detail->owned_count; i++) {
        const orri_owned* owned = &type->detail->owned[i];
        orr_string handle;
        memcpy(&handle, row + owned->offset, sizeof handle);
        const orri_blob* blob = orri_blob_at(type->schema, handle);
        uint64_t hash = blob == NULL             ? 0
                        : owned->element == NULL ? blob->hash
                                                 : rows_hash_elements(owned->element, blob);
        h = orri_hash_word(h, hash);
    }
    return h;
}

// Hashes what represents opaque values and owned handles. A handle is represented by its content,
// because the number of a blob depends on deleted blobs, even on blobs that no value ever held.
static uint64_t rows_hash_extras(const orri_type* type, const unsigned char* rows, size_t count,
                                 uint64_t h)
{
    const orri_type_detail* detail = type->detail;
    if (detail->opaque_count + detail->owned_count == 0) {
        return h;
    }
    for (size_t i = 0; i < count; i++, rows += type->info.size) {
        h = rows_hash_owned(type, rows, rows_hash_opaques(type, rows, h));
    }
    return h;
}

// Hashes whole rows that fit into one piece together.
static uint64_t rows_hash_piece(const orri_type* type, const unsigned char* rows, size_t count,
                                uint64_t h)
{
    const orri_type_detail* detail = type->detail;
    uint32_t size = type->info.size;
    bool nan = rows_have_nan(type, rows, count);
    bool extras = detail->opaque_count + detail->owned_count > 0;
    if (!nan && detail->gap_count == 0 && !extras) {
        return orr_hash(rows, size * count, h);
    }
    unsigned char buffer[ROWS_PIECE];
    memcpy(buffer, rows, size * count);
    if (!nan && !extras) {
        rows_zero_gaps(type, buffer, (uint32_t)count);
        return orr_hash(buffer, size * count, h);
    }
    for (size_t i = 0; i < count; i++) {
        rows_canon(type, buffer + i * size, (rows_window){0, size});
    }
    return rows_hash_extras(type, rows, count, orr_hash(buffer, size * count, h));
}

// Hashes one row that is larger than a piece.
static uint64_t rows_hash_large(const orri_type* type, const unsigned char* row, uint64_t h)
{
    unsigned char buffer[ROWS_PIECE];
    for (uint32_t from = 0; from < type->info.size; from += ROWS_PIECE) {
        uint32_t left = type->info.size - from;
        rows_window window = {from, from + (left < ROWS_PIECE ? left : ROWS_PIECE)};
        memcpy(buffer, row + from, window.to - from);
        rows_canon(type, buffer, window);
        h = orr_hash(buffer, window.to - from, h);
    }
    return rows_hash_extras(type, row, 1, h);
}

uint64_t orri_rows_hash(const orri_type* type, const void* rows, uint32_t count, uint64_t seed)
{
    uint32_t size = type->info.size;
    if (type->canonical_bytes || count == 0) {
        return orr_hash(rows, (size_t)size * count, seed);
    }
    const unsigned char* row = rows;
    uint64_t h = seed;
    size_t step = size < ROWS_PIECE ? ROWS_PIECE / size : 1;
    for (size_t done = 0; done < count; done += step, row += step * size) {
        size_t part = count - done < step ? count - done : step;
        h = size > ROWS_PIECE ? rows_hash_large(type, row, h) : rows_hash_piece(type, row, part, h);
    }
    return h;
}

// ---- references ---------------------------------------------------------------------------------

typedef struct rows_filter {
    bool (*accept)(void* user, orr_entity entity);
    void* user;
    bool owned_only; // Only references in owned arrays.
} rows_filter;

static orr_entity rows_reject_values(const orri_type* type, const unsigned char* values,
                                     uint32_t count, const rows_filter* filter);

static orr_entity rows_reject_entity(const unsigned char* value, const rows_filter* filter)
{
    orr_entity entity;
    memcpy(&entity, value, sizeof entity);
    bool accepted = entity.id == 0 || filter->accept(filter->user, entity);
    return accepted ? (orr_entity){0} : entity;
}

static orr_entity rows_reject_owned(const orri_type* type, const unsigned char* value,
                                    const rows_filter* filter)
{
    uint32_t count;
    const unsigned char* elements = orri_array_elements(type, value, &count);
    rows_filter inside = {filter->accept, filter->user, false};
    return rows_reject_values(type->detail->element, elements, count, &inside);
}

// *out_field (may be NULL) receives the name of the value's own field that has the reference.
static orr_entity rows_reject_fields(const orri_type* type, const unsigned char* value,
                                     const rows_filter* filter, const char** out_field)
{
    for (uint32_t i = 0; i < type->info.field_count; i++) {
        const orr_field_info* field = &type->info.fields[i];
        if (field->type->has_entities) {
            orr_entity entity = rows_reject_values(orri_type_of_info(field->type),
                                                   value + field->offset,
                                                   field->count > 0 ? field->count : 1, filter);
            if (entity.id != 0) {
                if (out_field != NULL) {
                    *out_field = field->name;
                }
                return entity;
            }
        }
    }
    return (orr_entity){0};
}

static orr_entity rows_reject_values(const orri_type* type, const unsigned char* values,
                                     uint32_t count, const rows_filter* filter)
{
    orr_entity entity = {0};
    for (uint32_t i = 0; i < count && entity.id == 0 && type->info.has_entities; i++) {
        const unsigned char* value = values + (size_t)i * type->info.size;
        switch (type->info.kind) {
        case ORR_KIND_ENTITY:
            entity = filter->owned_only ? entity : rows_reject_entity(value, filter);
            break;
        case ORR_KIND_ARRAY:
            entity = rows_reject_owned(type, value, filter);
            break;
        default:
            entity = rows_reject_fields(type, value, filter, NULL);
            break;
        }
    }
    return entity;
}

orr_entity orri_value_entity_reject(const orri_type* type, const void* value,
                                    bool (*accept)(void* user, orr_entity entity), void* user,
                                    const char** out_field)
{
    rows_filter filter = {accept, user, false};
    if (type->info.kind == ORR_KIND_STRUCT) {
        return rows_reject_fields(type, value, &filter, out_field);
    }
    // A component that is itself a reference has no field to name.
    orr_entity entity = rows_reject_values(type, value, 1, &filter);
    if (entity.id != 0 && out_field != NULL) {
        *out_field = type->info.name;
    }
    return entity;
}

orr_entity orri_value_owned_entity_reject(const orri_type* type, const void* value,
                                          bool (*accept)(void* user, orr_entity entity), void* user,
                                          const char** out_field)
{
    rows_filter filter = {accept, user, true};
    return rows_reject_fields(type, value, &filter, out_field);
}

void orri_values_entity_map(const orr_type_info* type, void* values, uint32_t count,
                            orr_entity (*map)(void* user, orr_entity entity), void* user)
{
    for (uint32_t i = 0; i < count && type->has_entities; i++) {
        unsigned char* value = (unsigned char*)values + (size_t)i * type->size;
        if (type->kind == ORR_KIND_ENTITY) {
            orr_entity entity;
            memcpy(&entity, value, sizeof entity);
            entity = map(user, entity);
            memcpy(value, &entity, sizeof entity);
        }
        for (uint32_t f = 0; f < type->field_count; f++) {
            const orr_field_info* field = &type->fields[f];
            if (field->type->has_entities) {
                orri_values_entity_map(field->type, value + field->offset,
                                       field->count > 0 ? field->count : 1, map, user);
            }
        }
    }
}

bool orri_value_owned_gone(const orri_type* type, const void* value, const char** out_field)
{
    for (uint32_t i = 0; i < type->detail->owned_count; i++) {
        orr_string handle;
        uint32_t offset = type->detail->owned[i].offset;
        memcpy(&handle, (const unsigned char*)value + offset, sizeof handle);
        if (handle.id == 0 || orri_blob_at(type->schema, handle) != NULL) {
            continue;
        }
        *out_field = type->info.name;
        for (uint32_t f = 0; f < type->info.field_count; f++) {
            if (type->info.fields[f].offset <= offset) {
                *out_field = type->info.fields[f].name;
            }
        }
        return true;
    }
    return false;
}

#undef ROWS_PIECE
