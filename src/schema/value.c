// SPDX-License-Identifier: MIT
// Values through their schema: finding a field by its path, comparing, presets, hash by content, ranges.
#include "base/scan.h"
#include "schema/detail.h"
#include <stdio.h>

const unsigned char* orri_array_elements(const orri_type* type, const void* value,
                                         uint32_t* out_count)
{
    orr_string handle;
    memcpy(&handle, value, sizeof handle);
    const orri_blob* blob = orri_blob_at(type->schema, handle);
    uint32_t size = type->detail->element->info.size;
    if (blob == NULL || blob->element_size != size) {
        *out_count = 0;
        return NULL;
    }
    *out_count = blob->size / size;
    return blob->data;
}

// ---- unknown names ------------------------------------------------------------------------------

void orri_field_unknown(const orr_type_info* type, const char* name, size_t size, orri_text* out)
{
    orri_near near;
    orri_near_begin(&near, name, size);
    for (uint32_t i = 0; i < type->field_count; i++) {
        orri_near_offer(&near, type->fields[i].name);
    }
    orri_text_add(out, "no field '%s' in %s", near.name, type->name);
    orri_near_append(&near, out);
}

void orri_label_unknown(const orr_type_info* type, const char* name, size_t size, orri_text* out)
{
    orri_near near;
    orri_near_begin(&near, name, size);
    for (uint32_t i = 0; i < type->label_count; i++) {
        orri_near_offer(&near, type->labels[i].name);
    }
    orri_text_add(out, "no label '%s' in %s", near.name, type->name);
    orri_near_append(&near, out);
}

// ---- paths --------------------------------------------------------------------------------------

typedef struct value_path {
    const orri_type* root;
    const char* text;
    const char* at;
    orr_field_place place;
} value_path;

static orr_result value_path_refuse(const value_path* path, const char* format, ...)
    ORR_PRINTF(2, 3);

static orr_result value_path_refuse(const value_path* path, const char* format, ...)
{
    char buffer[256];
    orri_text text = {buffer, sizeof buffer, 0};
    va_list args;
    va_start(args, format);
    orri_text_add_v(&text, format, args);
    va_end(args);
    return orri_refuse(path->root->schema->env, ORR_ERR_FIELD, ORR_LOG_ID_VALUE_REFUSED,
                       "path '%.*s' of %s: %s", 128, path->text, path->root->info.name, buffer);
}

static orr_result value_path_field(value_path* path)
{
    const orr_type_info* type = path->place.type;
    if (type->kind != ORR_KIND_STRUCT || path->place.count > 0) {
        return value_path_refuse(path, "%s has no fields%s", type->name,
                                 path->place.count > 0 ? " before an element is chosen by [index]"
                                                       : "");
    }
    size_t size = strcspn(path->at, ".[");
    for (uint32_t i = 0; i < type->field_count; i++) {
        const orr_field_info* field = &type->fields[i];
        if (orri_scan_equals(path->at, size, field->name)) {
            path->place = (orr_field_place){field->type, path->place.offset + field->offset,
                                            field->count, field};
            path->at += size;
            return ORR_OK;
        }
    }
    char buffer[256];
    orri_text text = {buffer, sizeof buffer, 0};
    orri_field_unknown(type, path->at, size, &text);
    return value_path_refuse(path, "%s", buffer);
}

static orr_result value_path_index(value_path* path)
{
    const orr_field_place* place = &path->place;
    if (place->count == 0) {
        return value_path_refuse(path, "%s is not a fixed array%s", place->field->name,
                                 place->type->kind == ORR_KIND_ARRAY
                                     ? "; the elements of an orr_array are not inside the value"
                                     : "");
    }
    const char* digits = path->at + 1;
    orri_scan_number index = orri_scan_decimal(digits, place->count - 1);
    if (index.end == digits || *index.end != ']') {
        return value_path_refuse(path, "[ must be followed by an index and ]");
    }
    if (!index.fits) {
        return value_path_refuse(path, "%s has elements 0 to %u", place->field->name,
                                 place->count - 1);
    }
    path->place.offset += (uint32_t)index.value * place->type->size;
    path->place.count = 0;
    path->at = index.end + 1;
    return ORR_OK;
}

static orr_result value_path_walk(value_path* path)
{
    orr_result result = value_path_field(path);
    while (result == ORR_OK && *path->at != '\0') {
        if (*path->at == '[') {
            result = value_path_index(path);
        } else if (*path->at == '.') {
            path->at++;
            result = value_path_field(path);
        } else {
            result = value_path_refuse(path, "expected '.' or the end after ]");
        }
    }
    return result;
}

orr_result orr_field_find(const orr_type_info* type, const char* path, orr_field_place* out)
{
    if (type == NULL) {
        return ORR_ERR_ARGUMENT;
    }
    const orri_type* root = orri_type_of_info(type);
    if (path == NULL || out == NULL) {
        return orri_refuse(root->schema->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_VALUE_REFUSED,
                           "finding a field of %s: %s is NULL", type->name,
                           path == NULL ? "path" : "out");
    }
    value_path walk = {.root = root, .text = path, .at = path, .place = {.type = type}};
    orr_result result = value_path_walk(&walk);
    if (result == ORR_OK) {
        *out = walk.place;
    }
    return result;
}

// ---- comparing ----------------------------------------------------------------------------------

static int value_compare(const orri_type* type, const unsigned char* a, const unsigned char* b);

static int value_sign(bool less, bool more)
{
    return (int)more - (int)less;
}

static int value_compare_unsigned(const unsigned char* a, const unsigned char* b, uint32_t size)
{
    uint64_t x = orri_load_unsigned(a, size), y = orri_load_unsigned(b, size);
    return value_sign(x<y, x> y);
}

static int value_compare_signed(const unsigned char* a, const unsigned char* b, uint32_t size)
{
    int64_t x = orri_load_signed(a, size), y = orri_load_signed(b, size);
    return value_sign(x<y, x> y);
}

// Maps floats to integers in ascending order: the bits of negative floats are inverted, and all
// NaNs become the largest number. So -0 comes before 0; the two print and hash differently.
static uint64_t value_float_rank(const unsigned char* value, bool wide)
{
    uint64_t bits = orri_load_unsigned(value, wide ? 8 : 4);
    uint64_t sign = (uint64_t)1 << (wide ? 63 : 31);
    uint64_t infinity = wide ? 0x7FF0000000000000u : 0x7F800000u;
    uint64_t magnitude = bits & (sign - 1);
    if (magnitude > infinity) {
        return UINT64_MAX;
    }
    return (bits & sign) != 0 ? sign - 1 - magnitude : sign + magnitude;
}

static int value_compare_float(const unsigned char* a, const unsigned char* b, bool wide)
{
    uint64_t x = value_float_rank(a, wide), y = value_float_rank(b, wide);
    return value_sign(x<y, x> y);
}

static int value_compare_list(const orri_type* type, const unsigned char* a, uint32_t a_count,
                              const unsigned char* b, uint32_t b_count)
{
    for (uint32_t i = 0; i < a_count && i < b_count; i++) {
        size_t at = (size_t)i * type->info.size;
        int order = value_compare(type, a + at, b + at);
        if (order != 0) {
            return order;
        }
    }
    return value_sign(a_count<b_count, a_count> b_count);
}

static int value_compare_string(const orri_type* type, const unsigned char* a,
                                const unsigned char* b)
{
    orr_string x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    const orri_blob *p = orri_blob_at(type->schema, x), *q = orri_blob_at(type->schema, y);
    uint32_t p_size = p != NULL ? p->size : 0, q_size = q != NULL ? q->size : 0;
    uint32_t both = p_size < q_size ? p_size : q_size;
    int order = both > 0 ? memcmp(p->data, q->data, both) : 0;
    return order != 0 ? order : value_sign(p_size<q_size, p_size> q_size);
}

static int value_compare_array(const orri_type* type, const unsigned char* a,
                               const unsigned char* b)
{
    uint32_t a_count, b_count;
    const unsigned char* p = orri_array_elements(type, a, &a_count);
    const unsigned char* q = orri_array_elements(type, b, &b_count);
    return value_compare_list(type->detail->element, p, a_count, q, b_count);
}

static int value_compare_struct(const orr_type_info* info, const unsigned char* a,
                                const unsigned char* b)
{
    int order = 0;
    for (uint32_t i = 0; i < info->field_count && order == 0; i++) {
        const orr_field_info* field = &info->fields[i];
        uint32_t count = field->count > 0 ? field->count : 1;
        order = value_compare_list(orri_type_of_info(field->type), a + field->offset, count,
                                   b + field->offset, count);
    }
    return order;
}

static int value_compare(const orri_type* type, const unsigned char* a, const unsigned char* b)
{
    const orr_type_info* info = &type->info;
    switch (info->kind) {
    case ORR_KIND_STRUCT:
        return value_compare_struct(info, a, b);
    case ORR_KIND_F32:
    case ORR_KIND_F64:
        return value_compare_float(a, b, info->kind == ORR_KIND_F64);
    case ORR_KIND_I8:
    case ORR_KIND_I16:
    case ORR_KIND_I32:
    case ORR_KIND_I64:
    case ORR_KIND_ENUM:
        return value_compare_signed(a, b, info->size);
    case ORR_KIND_STRING:
        return value_compare_string(type, a, b);
    case ORR_KIND_ARRAY:
        return value_compare_array(type, a, b);
    case ORR_KIND_OPAQUE:
        return type->codec.compare != NULL ? type->codec.compare(type->codec.user, a, b)
                                           : memcmp(a, b, info->size);
    default:
        return value_compare_unsigned(a, b, info->size);
    }
}

int orr_value_compare(const orr_type_info* type, const void* a, const void* b)
{
    ORR_ASSERT(type != NULL && (type->size == 0 || (a != NULL && b != NULL)));
    if (type == NULL || type->size == 0 || a == NULL || b == NULL) {
        return 0;
    }
    return value_compare(orri_type_of_info(type), a, b);
}

// ---- presets and hash ---------------------------------------------------------------------------

void orr_value_default(const orr_type_info* type, void* out)
{
    ORR_ASSERT(type != NULL && (type->size == 0 || out != NULL));
    if (type == NULL || type->size == 0 || out == NULL) {
        return;
    }
    const void* preset = orri_type_of_info(type)->preset;
    if (preset != NULL) {
        memcpy(out, preset, type->size);
    } else {
        memset(out, 0, type->size);
    }
}

static uint64_t value_hash(const orri_type* type, const unsigned char* values, uint32_t count,
                           uint64_t h);

static uint64_t value_hash_string(const orri_type* type, const unsigned char* value, uint64_t h)
{
    orr_string handle;
    memcpy(&handle, value, sizeof handle);
    const orri_blob* blob = orri_blob_at(type->schema, handle);
    return orri_hash_word(h, blob != NULL ? blob->hash : 0);
}

static uint64_t value_hash_array(const orri_type* type, const unsigned char* value, uint64_t h)
{
    uint32_t count;
    const unsigned char* elements = orri_array_elements(type, value, &count);
    return orri_rows_hash(type->detail->element, elements, count, orri_hash_word(h, count));
}

static uint64_t value_hash_struct(const orr_type_info* info, const unsigned char* value, uint64_t h)
{
    for (uint32_t i = 0; i < info->field_count; i++) {
        const orr_field_info* field = &info->fields[i];
        h = value_hash(orri_type_of_info(field->type), value + field->offset,
                       field->count > 0 ? field->count : 1, h);
    }
    return h;
}

// As orri_rows_hash(), but handles are hashed by their content.
static uint64_t value_hash(const orri_type* type, const unsigned char* values, uint32_t count,
                           uint64_t h)
{
    if (!type->info.has_owned) {
        return orri_rows_hash(type, values, count, h);
    }
    for (uint32_t i = 0; i < count; i++, values += type->info.size) {
        if (type->info.kind == ORR_KIND_STRING) {
            h = value_hash_string(type, values, h);
        } else if (type->info.kind == ORR_KIND_ARRAY) {
            h = value_hash_array(type, values, h);
        } else {
            h = value_hash_struct(&type->info, values, h);
        }
    }
    return h;
}

uint64_t orr_value_hash(const orr_type_info* type, const void* value)
{
    ORR_ASSERT(type != NULL && (type->size == 0 || value != NULL));
    if (type == NULL || (type->size > 0 && value == NULL)) {
        return 0;
    }
    return value_hash(orri_type_of_info(type), value, 1, 0);
}

// ---- ranges -------------------------------------------------------------------------------------

static double value_number(const orr_type_info* type, const unsigned char* value)
{
    float narrow;
    double wide;
    if (type->kind == ORR_KIND_F32) {
        memcpy(&narrow, value, sizeof narrow);
        return (double)narrow;
    }
    memcpy(&wide, value, sizeof wide);
    return wide;
}

// Whether one number is within the range of its field. NaN is not.
static bool value_in_range(const orr_field_attributes* range, const orr_type_info* type,
                           const unsigned char* value, char out_number[ORRI_NUMBER_SIZE])
{
    double min = range->min, max = range->max;
    if (orri_kind_is_float(type->kind)) {
        double number = value_number(type, value);
        orri_number_print(number, type->kind == ORR_KIND_F64, out_number);
        return number >= min && number <= max;
    }
    if (type->kind >= ORR_KIND_I8 && type->kind <= ORR_KIND_I64) {
        int64_t number = orri_load_signed(value, type->size);
        snprintf(out_number, ORRI_NUMBER_SIZE, "%lld", (long long)number);
        return orri_range_has_i64(min, max, number);
    }
    uint64_t positive = orri_load_unsigned(value, type->size);
    snprintf(out_number, ORRI_NUMBER_SIZE, "%llu", (unsigned long long)positive);
    return orri_range_has_u64(min, max, positive);
}

// The field that is out of range among `count` values of a field: the field itself, or one inside of
// a struct. NULL: none.
static const orr_field_info* value_items_out_of_range(const orr_field_info* field,
                                                      const orri_type* type,
                                                      const unsigned char* items, uint32_t count,
                                                      char out_number[ORRI_NUMBER_SIZE])
{
    bool ranged = field->attributes.min < field->attributes.max;
    for (uint32_t i = 0; i < count; i++) {
        const unsigned char* item = items + (size_t)i * type->info.size;
        const orr_field_info* inside = NULL;
        if (type->info.kind == ORR_KIND_ARRAY) { // The range is that of its elements.
            uint32_t elements;
            const unsigned char* first = orri_array_elements(type, item, &elements);
            inside =
                value_items_out_of_range(field, type->detail->element, first, elements, out_number);
        } else if (type->has_range) {
            inside = orri_value_out_of_range(type, item, out_number);
        } else if (ranged && !value_in_range(&field->attributes, &type->info, item, out_number)) {
            inside = field;
        }
        if (inside != NULL) {
            return inside;
        }
    }
    return NULL;
}

const orr_field_info* orri_value_out_of_range(const orri_type* type, const void* value,
                                              char out_number[ORRI_NUMBER_SIZE])
{
    const orr_field_info* found = NULL;
    for (uint32_t i = 0; found == NULL && i < type->info.field_count; i++) {
        const orr_field_info* field = &type->info.fields[i];
        found = value_items_out_of_range(field, orri_type_of_info(field->type),
                                         (const unsigned char*)value + field->offset,
                                         field->count > 0 ? field->count : 1, out_number);
    }
    return found;
}
