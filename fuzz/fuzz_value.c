// SPDX-License-Identifier: MIT
// Feeds arbitrary text to the value parser and arbitrary descs to registration. The first byte
// selects.
//
// Text: a text that parses must print, parse again to an equal value, and print the same. A text
// that does not parse must leave `out` unchanged. Descs: registration must refuse, or give a type
// for which every value function works.
#include "schema/schema.h"
#include <stdio.h>
#include <stdlib.h>

ORR_ENUM(FuzzMood, CALM, ANGRY)
ORR_MASK(FuzzEffects, BURN, FREEZE, POISON)
ORR_STRUCT(FuzzVec, (float, x), (double, y))
ORR_STRUCT(FuzzPoint, (FuzzVec, at), (int8_t, kind, (.preset = "7")), (char, tag, 4))
ORR_STRUCT(FuzzRich, (FuzzVec, position), (float, rotation, 4), (char, name, 8), (char, grade),
           (FuzzMood, mood), (FuzzEffects, effects), (bool, alive), (orr_entity, target),
           (orr_entity, friends, 2), (orr_string, story, (.preset = "\"none\"")),
           (orr_array, path, (.element = ORR_TYPE(FuzzPoint))),
           (orr_array, scores, (.element = ORR_TYPE(int16_t), .min = -10, .max = 10)),
           (FuzzPoint, points, 2), (int64_t, i64), (uint64_t, u64),
           (double, health, (.min = 0, .max = 100, .preset = "75")))

static void fuzz_sink(void* user, const orr_log_line* line)
{
    (void)user, (void)line;
}

static void fuzz_check(bool ok)
{
    if (!ok) {
        abort();
    }
}

static char* fuzz_print(const orri_type* type, const void* value)
{
    size_t length = orr_value_print(&type->info, value, NULL, 0);
    char* text = malloc(length + 1);
    fuzz_check(text != NULL);
    fuzz_check(orr_value_print(&type->info, value, text, length + 1) == length);
    fuzz_check(strlen(text) == length);
    return text;
}

// Prints a value, parses it back, and compares the two in every way. `may_refuse`: the value may be
// impossible to write as text (a preset outside its range, an inline string without a zero).
static void fuzz_round(const orri_type* type, const void* value, bool may_refuse)
{
    char* text = fuzz_print(type, value);
    size_t size = type->info.size;
    unsigned char* again = aligned_alloc(64, (size + 64) & ~(size_t)63);
    fuzz_check(again != NULL);
    orr_result result = orr_value_parse(&type->info, text, again);
    fuzz_check(result == ORR_OK || may_refuse);
    if (result == ORR_OK) {
        fuzz_check(orr_value_compare(&type->info, value, again) == 0);
        fuzz_check(orr_value_hash(&type->info, value) == orr_value_hash(&type->info, again));
        char* second = fuzz_print(type, again);
        fuzz_check(strcmp(text, second) == 0);
        free(second);
    }
    free(again);
    free(text);
}

static void fuzz_text(orri_schema* schema, const uint8_t* data, size_t size)
{
    const orri_type* type = orri_type_at(schema, orri_type_static(schema, ORR_TYPE(FuzzRich)));
    char* text = malloc(size + 1); // Exactly this size: reads past the text are detected.
    fuzz_check(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    FuzzRich value, untouched;
    memset(&value, 0xEE, sizeof value);
    memset(&untouched, 0xEE, sizeof untouched);
    if (orr_value_parse(&type->info, text, &value) == ORR_OK) {
        fuzz_round(type, &value, false);
    } else {
        fuzz_check(memcmp(&value, &untouched, sizeof value) == 0);
    }
    orr_field_place place;
    if (orr_field_find(&type->info, text, &place) == ORR_OK) {
        fuzz_check(place.offset + place.type->size <= type->info.size);
    }
    free(text);
}

// ---- descs from bytes ---------------------------------------------------------------------------

typedef struct fuzz_bytes {
    const uint8_t* data;
    size_t size;
} fuzz_bytes;

static uint32_t fuzz_take(fuzz_bytes* bytes)
{
    if (bytes->size == 0) {
        return 0;
    }
    bytes->size--;
    return *bytes->data++;
}

// Mostly small numbers, sometimes an extreme one.
static uint32_t fuzz_number(fuzz_bytes* bytes)
{
    uint32_t byte = fuzz_take(bytes);
    return byte < 200   ? byte % 40
           : byte < 230 ? fuzz_take(bytes) << (byte % 25)
           : byte < 245 ? 65536u - fuzz_take(bytes)
                        : 0u - fuzz_take(bytes);
}

static size_t fuzz_codec_print(void* user, const void* value, char* out, size_t size)
{
    (void)user;
    return (size_t)snprintf(out, size, "%02x", *(const unsigned char*)value);
}

static bool fuzz_codec_parse(void* user, const char* text, void* out)
{
    (void)user;
    unsigned number;
    if (sscanf(text, "%2x", &number) != 1) {
        return false;
    }
    *(unsigned char*)out = (unsigned char)number;
    return true;
}

static const orr_codec fuzz_codec = {.print = fuzz_codec_print, .parse = fuzz_codec_parse};

enum {
    FUZZ_DESCS = 12,
    FUZZ_FIELDS = 6
};

typedef struct fuzz_pool {
    orr_type_desc descs[FUZZ_DESCS];
    orr_field_desc fields[FUZZ_DESCS][FUZZ_FIELDS];
    orr_label labels[FUZZ_DESCS][FUZZ_FIELDS];
} fuzz_pool;

static const char* fuzz_name(fuzz_bytes* bytes)
{
    static const char* const names[] = {"a", "b",  "c",     "d",           "e",  "f", "Orc",
                                        "",  "9x", "a.b:c", "a long name", NULL, "_", "Vec"};
    return names[fuzz_take(bytes) % (sizeof names / sizeof names[0])];
}

static const orr_type_desc* fuzz_type(fuzz_bytes* bytes, fuzz_pool* pool)
{
    static const orr_type_desc* const builtin[] = {
        &orr_desc_bool,     &orr_desc_char,       &orr_desc_int8_t,     &orr_desc_int16_t,
        &orr_desc_int64_t,  &orr_desc_float,      &orr_desc_double,     &orr_desc_uint32_t,
        &orr_desc_uint64_t, &orr_desc_orr_entity, &orr_desc_orr_string, &orr_desc_orr_array,
        &orr_desc_FuzzVec,  &orr_desc_FuzzPoint,  &orr_desc_FuzzMood,   NULL};
    uint32_t byte = fuzz_take(bytes);
    return byte < 100 ? &pool->descs[byte % FUZZ_DESCS] : builtin[byte % 16];
}

static void fuzz_field(fuzz_bytes* bytes, fuzz_pool* pool, orr_field_desc* field, uint32_t index)
{
    static const char* const presets[] = {"0",      "1",      "nan",  "{}",   "[]",  "\"\"",
                                          "\"ab\"", "[1, 2]", "CALM", "true", "3v4", "{x: 1}",
                                          "x",      "-1",     "0",    "0"};
    static const char* const names[] = {"f0", "f1", "f2", "f3", "f4", "f5"};
    uint32_t shape = fuzz_take(bytes);
    field->name = shape % 16 == 15 ? fuzz_name(bytes) : names[index];
    field->type = fuzz_type(bytes, pool);
    field->offset = shape & 1 ? fuzz_number(bytes) : index * 8;
    field->count = shape & 2 ? fuzz_number(bytes) : 0;
    field->attributes = (orr_field_attributes){
        .flags = shape & 4 ? fuzz_take(bytes) % 9 : 0,
        .preset = shape & 8 ? presets[fuzz_take(bytes) % 16] : NULL,
        .min = shape & 16 ? (double)fuzz_number(bytes) - 20 : 0,
        .max = shape & 16 ? (double)fuzz_number(bytes) : 0,
    };
    if (field->type != NULL && field->type->kind == ORR_KIND_ARRAY) {
        field->attributes.element = fuzz_type(bytes, pool);
    }
}

static void fuzz_desc(fuzz_bytes* bytes, fuzz_pool* pool, uint32_t index)
{
    static const char* const names[] = {"T0", "T1", "T2", "T3", "T4", "T5"};
    uint32_t shape = fuzz_take(bytes);
    orr_type_desc* desc = &pool->descs[index];
    desc->name = shape % 16 == 15 ? fuzz_name(bytes) : names[index % 6];
    desc->kind = shape & 1 ? (orr_kind)(fuzz_take(bytes) % (ORR_KIND_COUNT + 1)) : ORR_KIND_STRUCT;
    desc->size = shape & 2 ? fuzz_number(bytes) : 0;
    desc->align = shape & 4 ? 1u << fuzz_take(bytes) % 8 : 0;
    desc->codec = desc->kind == ORR_KIND_OPAQUE ? &fuzz_codec : NULL;
    if (desc->kind == ORR_KIND_STRUCT || shape % 32 == 31) {
        desc->field_count = fuzz_take(bytes) % (FUZZ_FIELDS + 1);
        desc->fields = pool->fields[index];
        for (uint32_t i = 0; i < desc->field_count; i++) {
            fuzz_field(bytes, pool, &pool->fields[index][i], i);
        }
    } else if (desc->kind == ORR_KIND_ENUM || desc->kind == ORR_KIND_MASK) {
        desc->label_count = fuzz_take(bytes) % (FUZZ_FIELDS + 1);
        desc->labels = pool->labels[index];
        for (uint32_t i = 0; i < desc->label_count; i++) {
            pool->labels[index][i].name = fuzz_name(bytes);
            pool->labels[index][i].value = (int32_t)fuzz_number(bytes);
        }
    }
}

// Constructs and destructs rows of a registered type and round-trips its preset through text.
static void fuzz_registered(const orri_type* type)
{
    size_t size = (size_t)type->info.size * 2;
    unsigned char* rows = aligned_alloc(64, (size + 64) & ~(size_t)63);
    unsigned char* copy = aligned_alloc(64, (size + 64) & ~(size_t)63);
    fuzz_check(rows != NULL && copy != NULL);
    fuzz_check(orri_rows_construct(type, rows, 2));
    fuzz_check(orri_rows_copy(type, copy, rows, 2));
    fuzz_check(orri_rows_hash(type, rows, 2, 1) == orri_rows_hash(type, copy, 2, 1));
    fuzz_check(orr_value_compare(&type->info, rows, copy) == 0);
    fuzz_round(type, rows, true);
    orri_rows_destruct(type, rows, 2);
    orri_rows_destruct(type, copy, 2);
    free(rows);
    free(copy);
}

static void fuzz_descs(orri_schema* schema, fuzz_bytes bytes)
{
    static fuzz_pool pool;
    memset(&pool, 0, sizeof pool);
    for (uint32_t i = 0; i < FUZZ_DESCS; i++) {
        fuzz_desc(&bytes, &pool, i);
    }
    for (uint32_t i = 0; i < FUZZ_DESCS; i++) {
        orr_type type = {0};
        uint32_t count = schema->type_count;
        if (orri_type_register(schema, &pool.descs[i], &type) == ORR_OK) {
            const orri_type* known = orri_type_at(schema, type);
            fuzz_check(known != NULL && orri_type_find(schema, known->info.name).id == type.id);
            orr_type again = {0};
            fuzz_check(orri_type_register(schema, &pool.descs[i], &again) == ORR_OK);
            fuzz_check(again.id == type.id);
            fuzz_registered(known);
        } else {
            fuzz_check(type.id == 0 && schema->type_count == count);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    static orri_env env;
    orri_schema schema;
    if (size == 0) {
        return 0;
    }
    orri_env_init(&env, NULL, NULL, 0, &(orr_log_desc){.sink = fuzz_sink, .lines_per_second = 1});
    orri_schema_init(&schema, &env, 64);
    if (data[0] & 1) {
        fuzz_text(&schema, data + 1, size - 1);
    } else {
        fuzz_descs(&schema, (fuzz_bytes){data + 1, size - 1});
    }
    orri_blobs_collect(&schema);
    fuzz_check(orri_schema_validate(&schema) == ORR_OK);
    orri_schema_term(&schema);
    fuzz_check(env.total.bytes == 0);
    return 0;
}
