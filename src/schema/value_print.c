// SPDX-License-Identifier: MIT
// Values to text: `{x: 1, name: "bob", mood: ANGRY, target: 7v1, path: [1, 2]}`.
#include "schema/detail.h"

static void print_value(orri_text* text, const orri_type* type, const unsigned char* value);

static void print_text(orri_text* text, const char* data)
{
    orri_text_bytes(text, data, strlen(data));
}

// ---- strings ------------------------------------------------------------------------------------

// Bytes of the UTF-8 character at `at`; 0 if there is no well-formed character.
static size_t print_utf8(const unsigned char* at, size_t size)
{
    size_t length = at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : at[0] >= 0xC2 ? 2 : 0;
    if (length == 0 || length > size || at[0] > 0xF4) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    // Excludes overlong forms, surrogates, and values beyond the last code point.
    bool wrong = (at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xED && at[1] > 0x9F) ||
                 (at[0] == 0xF0 && at[1] < 0x90) || (at[0] == 0xF4 && at[1] > 0x8F);
    return wrong ? 0 : length;
}

// Prints one character, escaped if necessary. Returns the bytes it has in the source.
static size_t print_character(orri_text* text, const unsigned char* at, size_t size)
{
    unsigned char c = at[0];
    size_t utf8 = c >= 0x80 ? print_utf8(at, size) : 0;
    if (utf8 != 0) {
        orri_text_bytes(text, (const char*)at, utf8);
        return utf8;
    }
    if (c == '"' || c == '\\') {
        orri_text_add(text, "\\%c", c);
    } else if (c == '\n') {
        print_text(text, "\\n");
    } else if (c == '\t') {
        print_text(text, "\\t");
    } else if (c < 0x20 || c >= 0x7F) {
        orri_text_add(text, "\\x%02X", c);
    } else {
        orri_text_bytes(text, (const char*)at, 1);
    }
    return 1;
}

static void print_quoted(orri_text* text, const void* data, size_t size)
{
    const unsigned char* at = data;
    print_text(text, "\"");
    while (size > 0) {
        size_t done = print_character(text, at, size);
        at += done;
        size -= done;
    }
    print_text(text, "\"");
}

static void print_inline(orri_text* text, const unsigned char* value, uint32_t count)
{
    const unsigned char* end = memchr(value, 0, count);
    print_quoted(text, value, end != NULL ? (size_t)(end - value) : count);
}

static void print_string(orri_text* text, const orri_type* type, const unsigned char* value)
{
    orr_string handle;
    memcpy(&handle, value, sizeof handle);
    const orri_blob* blob = orri_blob_at(type->schema, handle);
    print_quoted(text, blob != NULL ? blob->data : "", blob != NULL ? blob->size : 0);
}

// The codec's text may have any length. If it does not fit into the small buffer, the codec prints
// again into a larger one; without memory for that, only the beginning is shown.
static void print_opaque(orri_text* text, const orri_type* type, const unsigned char* value)
{
    char small[256] = "";
    const orr_codec* codec = &type->codec;
    size_t size = codec->print(codec->user, value, small, sizeof small);
    if (size < sizeof small) {
        print_quoted(text, small, size);
        return;
    }
    orri_env* env = type->schema->env;
    char* large = orri_alloc_zero(env, ORR_MEMORY_TEMP, size + 1, 1);
    if (large == NULL) {
        orri_refuse_memory(env, "printing an opaque value");
        print_inline(text, (const unsigned char*)small, sizeof small);
        return;
    }
    codec->print(codec->user, value, large, size + 1);
    print_inline(text, (const unsigned char*)large, (uint32_t)size);
    orri_free(env, ORR_MEMORY_TEMP, large, size + 1, 1);
}

// ---- numbers and names --------------------------------------------------------------------------

static void print_float(orri_text* text, const unsigned char* value, bool wide)
{
    char number[ORRI_NUMBER_SIZE];
    double d;
    float f;
    if (wide) {
        memcpy(&d, value, sizeof d);
    } else {
        memcpy(&f, value, sizeof f);
        d = (double)f;
    }
    orri_number_print(d, wide, number);
    print_text(text, number);
}

static void print_enum(orri_text* text, const orr_type_info* info, const unsigned char* value)
{
    int64_t number = orri_load_signed(value, info->size);
    for (uint32_t i = 0; i < info->label_count; i++) {
        if (info->labels[i].value == number) {
            print_text(text, info->labels[i].name);
            return;
        }
    }
    orri_text_add(text, "%lld", (long long)number);
}

// Prints, in order, each label whose bits are all set and that adds a bit; then the remaining bits.
static void print_mask(orri_text* text, const orr_type_info* info, const unsigned char* value)
{
    uint64_t bits = orri_load_unsigned(value, info->size), left = bits;
    const char* between = "";
    for (uint32_t i = 0; i < info->label_count; i++) {
        uint64_t label = (uint64_t)info->labels[i].value;
        if ((label & ~bits) == 0 && (label & left) != 0) {
            orri_text_add(text, "%s%s", between, info->labels[i].name);
            left &= ~label;
            between = "|";
        }
    }
    if (left != 0 || bits == 0) {
        orri_text_add(text, "%s%llu", between, (unsigned long long)left);
    }
}

// The low 32 bits are the index, the next 24 bits the generation, the high 8 bits the salt.
static void print_entity(orri_text* text, uint64_t id)
{
    if (id == 0) {
        print_text(text, "null");
        return;
    }
    orri_text_add(text, "%uv%u", (unsigned)(id & 0xFFFFFFFFu), (unsigned)(id >> 32 & 0xFFFFFFu));
    if (id >> 56 != 0) {
        orri_text_add(text, "s%u", (unsigned)(id >> 56));
    }
}

size_t orr_id_print(orr_entity entity, char* out, size_t out_size)
{
    orri_text text = {out, out_size, 0};
    print_entity(&text, entity.id);
    return text.length;
}

// ---- arrays and structs -------------------------------------------------------------------------

static void print_list(orri_text* text, const orri_type* type, const unsigned char* values,
                       uint32_t count)
{
    print_text(text, "[");
    for (uint32_t i = 0; i < count; i++) {
        print_text(text, i > 0 ? ", " : "");
        print_value(text, type, values + (size_t)i * type->info.size);
    }
    print_text(text, "]");
}

static void print_array(orri_text* text, const orri_type* type, const unsigned char* value)
{
    uint32_t count;
    const unsigned char* elements = orri_array_elements(type, value, &count);
    print_list(text, type->detail->element, elements, count);
}

static void print_field(orri_text* text, const orr_field_info* field, const unsigned char* value)
{
    const orri_type* type = orri_type_of_info(field->type);
    if (field->count == 0) {
        print_value(text, type, value);
    } else if (type->info.kind == ORR_KIND_CHAR) {
        print_inline(text, value, field->count);
    } else {
        print_list(text, type, value, field->count);
    }
}

static void print_struct(orri_text* text, const orr_type_info* info, const unsigned char* value)
{
    print_text(text, "{");
    for (uint32_t i = 0; i < info->field_count; i++) {
        const orr_field_info* field = &info->fields[i];
        orri_text_add(text, "%s%s: ", i > 0 ? ", " : "", field->name);
        print_field(text, field, value + field->offset);
    }
    print_text(text, "}");
}

static void print_value(orri_text* text, const orri_type* type, const unsigned char* value)
{
    const orr_type_info* info = &type->info;
    switch (info->kind) {
    case ORR_KIND_STRUCT:
        print_struct(text, info, value);
        break;
    case ORR_KIND_BOOL:
        print_text(text, value[0] != 0 ? "true" : "false");
        break;
    case ORR_KIND_CHAR:
        print_inline(text, value, 1);
        break;
    case ORR_KIND_F32:
    case ORR_KIND_F64:
        print_float(text, value, info->kind == ORR_KIND_F64);
        break;
    case ORR_KIND_ENUM:
        print_enum(text, info, value);
        break;
    case ORR_KIND_MASK:
        print_mask(text, info, value);
        break;
    case ORR_KIND_ENTITY:
        print_entity(text, orri_load_unsigned(value, 8));
        break;
    case ORR_KIND_STRING:
        print_string(text, type, value);
        break;
    case ORR_KIND_ARRAY:
        print_array(text, type, value);
        break;
    case ORR_KIND_OPAQUE:
        print_opaque(text, type, value);
        break;
    case ORR_KIND_I8:
    case ORR_KIND_I16:
    case ORR_KIND_I32:
    case ORR_KIND_I64:
        orri_text_add(text, "%lld", (long long)orri_load_signed(value, info->size));
        break;
    default:
        orri_text_add(text, "%llu", (unsigned long long)orri_load_unsigned(value, info->size));
        break;
    }
}

size_t orr_value_print(const orr_type_info* type, const void* value, char* out, size_t out_size)
{
    ORR_ASSERT(type != NULL && (value != NULL || type->size == 0));
    orri_text text = {out, out_size, 0};
    orri_text_bytes(&text, "", 0); // Terminates the text even if nothing is printed.
    if (type != NULL && (value != NULL || type->size == 0)) {
        print_value(&text, orri_type_of_info(type), value);
    }
    return text.length;
}
