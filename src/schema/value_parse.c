// SPDX-License-Identifier: MIT
// Text as a value: reads what value_print.c writes, by recursive descent over the type. How deep it goes
// is bounded by the type, and it never looks behind the terminating zero.
#include "schema/detail.h"
#include <math.h>

typedef struct parse_state {
    orri_schema* schema;
    const char* text;
    const char* at;
    orri_value_error* error;
} parse_state;

static bool parse_value(parse_state* parse, const orri_type* type,
                        const orr_field_attributes* range, unsigned char* out);

// ---- saying no ----------------------------------------------------------------------------------------

static bool parse_fail(parse_state* parse, orr_result result, const char* format, ...)
    ORR_PRINTF(3, 4);

static bool parse_fail(parse_state* parse, orr_result result, const char* format, ...)
{
    orri_text text = {parse->error->text, sizeof parse->error->text, 0};
    parse->error->result = result;
    orri_text_add(&text, "column %zu: ", (size_t)(parse->at - parse->text) + 1);
    va_list args;
    va_start(args, format);
    orri_text_add_v(&text, format, args);
    va_end(args);
    orri_text_cut(&text);
    return false;
}

static bool parse_expected(parse_state* parse, const char* what)
{
    if (*parse->at == '\0') {
        return parse_fail(parse, ORR_ERR_PARSE, "expected %s, found the end", what);
    }
    // As much of the text as reads like one thing.
    size_t size = strcspn(parse->at, " \t\r\n,:{}[]|\"");
    size = size == 0 ? 1 : size < 32 ? size : 32;
    return parse_fail(parse, ORR_ERR_PARSE, "expected %s, found '%.*s'", what, (int)size,
                      parse->at);
}

static bool parse_memory(parse_state* parse)
{
    return parse_fail(parse, ORR_ERR_MEMORY, "out of memory");
}

// ---- tokens -------------------------------------------------------------------------------------------

static void parse_space(parse_state* parse)
{
    parse->at += strspn(parse->at, " \t\r\n");
}

// Takes a sign that must come next.
static bool parse_sign(parse_state* parse, char sign, const char* what)
{
    parse_space(parse);
    if (*parse->at != sign) {
        return parse_expected(parse, what);
    }
    parse->at++;
    return true;
}

// Takes a sign if it comes next.
static bool parse_skip(parse_state* parse, char sign)
{
    parse_space(parse);
    if (*parse->at != sign) {
        return false;
    }
    parse->at++;
    return true;
}

static bool parse_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// Bytes of the word at the place: a name, a label, nan, null.
static size_t parse_word(const parse_state* parse)
{
    return strspn(parse->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:");
}

static bool parse_skip_word(parse_state* parse, const char* word)
{
    size_t size = strlen(word);
    if (parse_word(parse) != size || memcmp(parse->at, word, size) != 0) {
        return false;
    }
    parse->at += size;
    return true;
}

// ---- numbers ------------------------------------------------------------------------------------------

// Digits as a number up to `most`. `*out_fits` tells whether it is.
static bool parse_digits(parse_state* parse, uint64_t most, uint64_t* out, bool* out_fits)
{
    if (!parse_is_digit(*parse->at)) {
        return false;
    }
    *out = 0;
    *out_fits = true;
    for (; parse_is_digit(*parse->at); parse->at++) {
        uint64_t digit = (uint64_t)(*parse->at - '0');
        if (*out > (most - digit) / 10) {
            *out_fits = false;
        } else {
            *out = *out * 10 + digit;
        }
    }
    return true;
}

static bool parse_too_large(parse_state* parse, const char* from, const orr_type_info* info)
{
    int size = (int)(parse->at - from < 40 ? parse->at - from : 40);
    parse->at = from;
    return parse_fail(parse, ORR_ERR_RANGE, "%.*s does not fit %s of %u bytes", size, from,
                      orr_kind_name(info->kind), info->size);
}

static bool parse_outside(parse_state* parse, const char* from, const orr_field_attributes* range)
{
    int size = (int)(parse->at - from < 40 ? parse->at - from : 40);
    parse->at = from;
    return parse_fail(parse, ORR_ERR_RANGE, "%.*s is outside %g to %g", size, from, range->min,
                      range->max);
}

static bool parse_has_range(const orr_field_attributes* range)
{
    return range != NULL && range->min < range->max;
}

static bool parse_unsigned(parse_state* parse, const orr_type_info* info,
                           const orr_field_attributes* range, uint64_t* out)
{
    const char* from = parse->at;
    uint64_t most = UINT64_MAX >> (64 - 8 * info->size);
    bool fits;
    if (*from == '-' && parse_is_digit(from[1])) {
        parse->at += 1 + strspn(from + 1, "0123456789");
        return parse_too_large(parse, from, info);
    }
    if (!parse_digits(parse, most, out, &fits) || strspn(parse->at, ".eE") > 0) {
        parse->at = from;
        return parse_expected(parse, "a whole number");
    }
    if (!fits) {
        return parse_too_large(parse, from, info);
    }
    if (parse_has_range(range) && !orri_range_has_u64(range->min, range->max, *out)) {
        return parse_outside(parse, from, range);
    }
    return true;
}

static bool parse_signed(parse_state* parse, const orr_type_info* info,
                         const orr_field_attributes* range, uint64_t* out)
{
    const char* from = parse->at;
    bool minus = *from == '-';
    parse->at += minus;
    uint64_t most = (UINT64_MAX >> (65 - 8 * info->size)) + minus;
    bool fits;
    if (!parse_digits(parse, most, out, &fits) || strspn(parse->at, ".eE") > 0) {
        parse->at = from;
        return parse_expected(parse, "a whole number");
    }
    if (!fits) {
        return parse_too_large(parse, from, info);
    }
    *out = minus ? 0 - *out : *out;
    if (parse_has_range(range) && !orri_range_has_i64(range->min, range->max, (int64_t)*out)) {
        return parse_outside(parse, from, range);
    }
    return true;
}

// Bytes of the number at the place: [-]digits[.digits][e[+-]digits]; 0 if there is none.
static size_t parse_float_size(const char* text)
{
    size_t size = text[0] == '-';
    size_t digits = strspn(text + size, "0123456789");
    if (digits == 0) {
        return 0;
    }
    size += digits;
    if (text[size] == '.' && parse_is_digit(text[size + 1])) {
        size += 1 + strspn(text + size + 1, "0123456789");
    }
    size_t exponent = size;
    if (text[exponent] == 'e' || text[exponent] == 'E') {
        exponent++;
        exponent += text[exponent] == '+' || text[exponent] == '-';
        digits = strspn(text + exponent, "0123456789");
        size = digits > 0 ? exponent + digits : size;
    }
    return size;
}

static bool parse_float_word(parse_state* parse, double* out)
{
    if (parse_skip_word(parse, "nan")) {
        *out = (double)NAN;
    } else if (parse_skip_word(parse, "inf")) {
        *out = (double)INFINITY;
    } else if (parse->at[0] == '-' && strncmp(parse->at + 1, "inf", 3) == 0) {
        parse->at += 4;
        *out = -(double)INFINITY;
    } else {
        return false;
    }
    return true;
}

static bool parse_float(parse_state* parse, const orr_type_info* info,
                        const orr_field_attributes* range, unsigned char* out)
{
    const char* from = parse->at;
    bool wide = info->kind == ORR_KIND_F64;
    double value;
    if (!parse_float_word(parse, &value)) {
        size_t size = parse_float_size(from);
        if (size == 0) {
            return parse_expected(parse, "a number");
        }
        parse->at += size;
        if (!orri_number_read(from, size, wide, &value)) {
            return parse_too_large(parse, from, info);
        }
    }
    if (parse_has_range(range) && !(value >= range->min && value <= range->max)) {
        return parse_outside(parse, from, range);
    }
    float narrow = (float)value;
    memcpy(out, wide ? (const void*)&value : &narrow, info->size);
    return true;
}

// ---- names --------------------------------------------------------------------------------------------

static bool parse_bool(parse_state* parse, unsigned char* out)
{
    bool on = parse_skip_word(parse, "true");
    if (!on && !parse_skip_word(parse, "false")) {
        return parse_expected(parse, "true or false");
    }
    out[0] = on;
    return true;
}

// Takes the label at the place. False, with the words, if there is none of this name.
static bool parse_label(parse_state* parse, const orr_type_info* info, const char* what,
                        uint64_t* out)
{
    size_t size = parse_word(parse);
    if (size == 0) {
        return parse_expected(parse, what);
    }
    for (uint32_t i = 0; i < info->label_count; i++) {
        const orr_label* label = &info->labels[i];
        if (strlen(label->name) == size && memcmp(label->name, parse->at, size) == 0) {
            parse->at += size;
            *out = (uint64_t)label->value;
            return true;
        }
    }
    char buffer[200];
    orri_text text = {buffer, sizeof buffer, 0};
    orri_label_unknown(info, parse->at, size, &text);
    return parse_fail(parse, ORR_ERR_PARSE, "%s", buffer);
}

static bool parse_enum(parse_state* parse, const orr_type_info* info, uint64_t* out)
{
    if (*parse->at == '-' || parse_is_digit(*parse->at)) {
        return parse_signed(parse, info, NULL, out);
    }
    return parse_label(parse, info, "a label or a number", out);
}

static bool parse_mask(parse_state* parse, const orr_type_info* info, uint64_t* out)
{
    *out = 0;
    do {
        parse_space(parse);
        uint64_t bits;
        bool number = *parse->at == '-' || parse_is_digit(*parse->at);
        if (number ? !parse_unsigned(parse, info, NULL, &bits)
                   : !parse_label(parse, info, "labels joined by |, or a number", &bits)) {
            return false;
        }
        *out |= bits;
    } while (parse_skip(parse, '|'));
    return true;
}

// One part of an entity: `sign` (if any) and a number up to `most`.
static bool parse_entity_part(parse_state* parse, char sign, uint64_t most, uint64_t* out)
{
    const char* from = parse->at;
    bool fits;
    if (sign != '\0' && *parse->at++ != sign) {
        parse->at = from;
        return parse_expected(parse, "an entity like 7v1, or null");
    }
    if (!parse_digits(parse, most, out, &fits)) {
        parse->at = from;
        return parse_expected(parse, "an entity like 7v1, or null");
    }
    if (!fits) {
        parse->at = from;
        return parse_fail(parse, ORR_ERR_RANGE, "no entity has a number this large");
    }
    return true;
}

static bool parse_entity(parse_state* parse, uint64_t* out)
{
    *out = 0;
    if (parse_skip_word(parse, "null")) {
        return true;
    }
    uint64_t index, generation, salt = 0;
    if (!parse_entity_part(parse, '\0', UINT32_MAX, &index) ||
        !parse_entity_part(parse, 'v', 0xFFFFFF, &generation) ||
        (*parse->at == 's' && !parse_entity_part(parse, 's', 0xFF, &salt))) {
        return false;
    }
    *out = index | generation << 32 | salt << 56;
    return true;
}

// ---- strings ------------------------------------------------------------------------------------------

static int parse_hex(char c)
{
    const char* digits = "0123456789abcdef";
    const char* found = c != '\0' ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
    return found != NULL ? (int)(found - digits) : -1;
}

static bool parse_escape(parse_state* parse, unsigned char* out)
{
    const char* at = parse->at; // Behind the backslash.
    static const char from[] = "\"\\nt", to[] = "\"\\\n\t";
    const char* found = *at != '\0' ? strchr(from, *at) : NULL;
    if (found != NULL) {
        *out = (unsigned char)to[found - from];
        parse->at++;
        return true;
    }
    int high = *at == 'x' ? parse_hex(at[1]) : -1;
    int low = high >= 0 ? parse_hex(at[2]) : -1;
    if (low < 0) {
        return parse_expected(parse, "one of \\\" \\\\ \\n \\t \\xNN");
    }
    *out = (unsigned char)(high * 16 + low);
    parse->at += 3;
    return true;
}

typedef enum parse_step {
    PARSE_BYTE,
    PARSE_END,
    PARSE_FAILED,
} parse_step;

// The next byte of a string whose opening quote was taken; takes the closing one.
static parse_step parse_byte(parse_state* parse, unsigned char* out)
{
    char c = *parse->at;
    if (c == '\0') {
        return parse_expected(parse, "a closing quote") ? PARSE_BYTE : PARSE_FAILED;
    }
    parse->at++;
    if (c == '"') {
        return PARSE_END;
    }
    if (c == '\\') {
        return parse_escape(parse, out) ? PARSE_BYTE : PARSE_FAILED;
    }
    *out = (unsigned char)c;
    return PARSE_BYTE;
}

static bool parse_quote(parse_state* parse)
{
    return parse_sign(parse, '"', "a string in quotes");
}

// An inline string of at most `most` bytes; the rest of `size` bytes is zero.
static bool parse_inline(parse_state* parse, unsigned char* out, uint32_t size, uint32_t most)
{
    if (!parse_quote(parse)) {
        return false;
    }
    memset(out, 0, size);
    for (uint32_t length = 0;; length++) {
        const char* from = parse->at;
        unsigned char byte = 0;
        parse_step step = parse_byte(parse, &byte);
        if (step != PARSE_BYTE) {
            return step == PARSE_END;
        }
        if (length == most || byte == 0) {
            parse->at = from;
            return parse_fail(parse, ORR_ERR_RANGE,
                              byte == 0 ? "a zero byte would end the string here"
                                        : "the string is longer than %u bytes",
                              most);
        }
        out[length] = byte;
    }
}

// Bytes that grow while they are read.
typedef struct parse_bytes {
    unsigned char* data;
    uint32_t size, capacity;
} parse_bytes;

static bool parse_grow(parse_state* parse, parse_bytes* bytes, uint32_t more)
{
    if (more > ORR_BLOB_SIZE_MAX - bytes->size) {
        return parse_fail(parse, ORR_ERR_RANGE, "more than %u bytes", ORR_BLOB_SIZE_MAX);
    }
    return ORRI_RESERVE(parse->schema->env, ORR_MEMORY_TEMP, &bytes->data, &bytes->capacity,
                        bytes->size + more) ||
           parse_memory(parse);
}

static void parse_bytes_free(parse_state* parse, parse_bytes* bytes)
{
    ORRI_RELEASE(parse->schema->env, ORR_MEMORY_TEMP, bytes->data, bytes->capacity);
}

// All bytes of a string, and room for one more.
static bool parse_quoted(parse_state* parse, parse_bytes* bytes)
{
    if (!parse_quote(parse)) {
        return false;
    }
    for (;;) {
        unsigned char byte = 0;
        parse_step step = parse_byte(parse, &byte);
        if (step == PARSE_FAILED || !parse_grow(parse, bytes, 1)) {
            return false;
        }
        if (step == PARSE_END) {
            return true;
        }
        bytes->data[bytes->size++] = byte;
    }
}

static bool parse_intern(parse_state* parse, const parse_bytes* bytes, uint32_t element_size,
                         unsigned char* out)
{
    orr_string handle;
    if (orri_blob_intern(parse->schema, bytes->data, bytes->size, element_size, &handle) !=
        ORR_OK) {
        return parse_memory(parse); // The size was looked at before.
    }
    memcpy(out, &handle, sizeof handle);
    return true;
}

static bool parse_string(parse_state* parse, unsigned char* out)
{
    parse_bytes bytes = {0};
    bool ok = parse_quoted(parse, &bytes) && parse_intern(parse, &bytes, 1, out);
    parse_bytes_free(parse, &bytes);
    return ok;
}

static bool parse_opaque_text(parse_state* parse, const orri_type* type, parse_bytes* bytes,
                              unsigned char* out)
{
    const char* from = parse->at;
    if (!parse_quoted(parse, bytes)) {
        return false;
    }
    bytes->data[bytes->size] = 0;
    memset(out, 0, type->info.size);
    bool ok = strlen((const char*)bytes->data) == bytes->size &&
              type->codec.parse(type->codec.user, (const char*)bytes->data, out);
    if (!ok) {
        parse->at = from;
        return parse_fail(parse, ORR_ERR_PARSE, "the codec of %s refused this text",
                          type->info.name);
    }
    return true;
}

static bool parse_opaque(parse_state* parse, const orri_type* type, unsigned char* out)
{
    parse_bytes bytes = {0};
    bool ok = parse_opaque_text(parse, type, &bytes, out);
    parse_bytes_free(parse, &bytes);
    return ok;
}

// ---- values that hold others --------------------------------------------------------------------------

// A fixed array: as many elements as it has.
static bool parse_fixed(parse_state* parse, const orri_type* type,
                        const orr_field_attributes* range, uint32_t count, unsigned char* out)
{
    if (!parse_sign(parse, '[', "an array in [ ]")) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && !parse_skip(parse, ',')) {
            return *parse->at == ']' ? parse_fail(parse, ORR_ERR_PARSE,
                                                  "expected %u elements, found %u", count, i)
                                     : parse_expected(parse, "',' or ']'");
        }
        if (!parse_value(parse, type, range, out + (size_t)i * type->info.size)) {
            return false;
        }
    }
    parse_space(parse);
    if (*parse->at == ',') {
        return parse_fail(parse, ORR_ERR_PARSE, "expected %u elements, found more", count);
    }
    return parse_sign(parse, ']', "']'");
}

static bool parse_elements(parse_state* parse, const orri_type* element,
                           const orr_field_attributes* range, parse_bytes* bytes)
{
    if (!parse_sign(parse, '[', "an array in [ ]") || parse_skip(parse, ']')) {
        return parse->at[-1] == ']';
    }
    do {
        if (!parse_grow(parse, bytes, element->info.size) ||
            !parse_value(parse, element, range, bytes->data + bytes->size)) {
            return false;
        }
        bytes->size += element->info.size;
    } while (parse_skip(parse, ','));
    return parse_sign(parse, ']', "',' or ']'");
}

static bool parse_array(parse_state* parse, const orri_type* type,
                        const orr_field_attributes* range, unsigned char* out)
{
    const orri_type* element = type->detail->element;
    parse_bytes bytes = {0};
    bool ok = parse_elements(parse, element, range, &bytes) &&
              parse_intern(parse, &bytes, element->info.size, out);
    parse_bytes_free(parse, &bytes);
    return ok;
}

static bool parse_field(parse_state* parse, const orr_field_info* field, unsigned char* out)
{
    const orri_type* type = orri_type_of_info(field->type);
    if (field->count == 0) {
        return parse_value(parse, type, &field->attributes, out);
    }
    if (type->info.kind == ORR_KIND_CHAR) {
        return parse_inline(parse, out, field->count, field->count - 1);
    }
    return parse_fixed(parse, type, &field->attributes, field->count, out);
}

// The field whose name is at the place, which is then behind it. NULL when refused.
static const orr_field_info* parse_field_name(parse_state* parse, const orr_type_info* info,
                                              uint64_t* seen)
{
    size_t size = strspn(parse->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789_");
    if (size == 0) {
        parse_expected(parse, "the name of a field");
        return NULL;
    }
    for (uint32_t i = 0; i < info->field_count; i++) {
        const orr_field_info* field = &info->fields[i];
        if (strlen(field->name) == size && memcmp(field->name, parse->at, size) == 0) {
            if (orri_bit_get(seen, i)) {
                parse_fail(parse, ORR_ERR_PARSE, "field %s is given twice", field->name);
                return NULL;
            }
            orri_bit_set(seen, i, true);
            parse->at += size;
            return field;
        }
    }
    char buffer[200];
    orri_text text = {buffer, sizeof buffer, 0};
    orri_field_unknown(info, parse->at, size, &text);
    parse_fail(parse, ORR_ERR_FIELD, "%s", buffer);
    return NULL;
}

static bool parse_struct(parse_state* parse, const orri_type* type, unsigned char* out)
{
    uint64_t seen[ORR_FIELDS_MAX / 64] = {0};
    orr_value_default(&type->info, out);
    if (!parse_sign(parse, '{', "fields in { }") || parse_skip(parse, '}')) {
        return parse->at[-1] == '}';
    }
    do {
        parse_space(parse);
        const orr_field_info* field = parse_field_name(parse, &type->info, seen);
        if (field == NULL || !parse_sign(parse, ':', "':'") ||
            !parse_field(parse, field, out + field->offset)) {
            return false;
        }
    } while (parse_skip(parse, ','));
    return parse_sign(parse, '}', "',' or '}'");
}

// Kinds that are one integer.
static bool parse_integer(parse_state* parse, const orr_type_info* info,
                          const orr_field_attributes* range, unsigned char* out)
{
    uint64_t bits = 0;
    bool ok;
    switch (info->kind) {
    case ORR_KIND_ENUM:
        ok = parse_enum(parse, info, &bits);
        break;
    case ORR_KIND_MASK:
        ok = parse_mask(parse, info, &bits);
        break;
    case ORR_KIND_ENTITY:
        ok = parse_entity(parse, &bits);
        break;
    case ORR_KIND_I8:
    case ORR_KIND_I16:
    case ORR_KIND_I32:
    case ORR_KIND_I64:
        ok = parse_signed(parse, info, range, &bits);
        break;
    default:
        ok = parse_unsigned(parse, info, range, &bits);
        break;
    }
    if (ok) {
        orri_store(out, info->size, bits);
    }
    return ok;
}

static bool parse_value(parse_state* parse, const orri_type* type,
                        const orr_field_attributes* range, unsigned char* out)
{
    parse_space(parse);
    switch (type->info.kind) {
    case ORR_KIND_STRUCT:
        return parse_struct(parse, type, out);
    case ORR_KIND_BOOL:
        return parse_bool(parse, out);
    case ORR_KIND_CHAR:
        return parse_inline(parse, out, 1, 1);
    case ORR_KIND_F32:
    case ORR_KIND_F64:
        return parse_float(parse, &type->info, range, out);
    case ORR_KIND_STRING:
        return parse_string(parse, out);
    case ORR_KIND_ARRAY:
        return parse_array(parse, type, range, out);
    case ORR_KIND_OPAQUE:
        return parse_opaque(parse, type, out);
    default:
        return parse_integer(parse, &type->info, range, out);
    }
}

bool orri_value_read(const orri_type* type, const orr_field_info* field, const char* text,
                     void* out, orri_value_error* error)
{
    parse_state parse = {type->schema, text, text, error};
    bool ok = field != NULL ? parse_field(&parse, field, out)
                            : parse_value(&parse, type, NULL, out);
    if (!ok) {
        return false;
    }
    parse_space(&parse);
    return *parse.at == '\0' || parse_expected(&parse, "the end");
}

orr_result orr_value_parse(const orr_type_info* info, const char* text, void* out)
{
    if (info == NULL) {
        return ORR_ERR_ARGUMENT;
    }
    const orri_type* type = orri_type_of_info(info);
    orri_env* env = type->schema->env;
    if (text == NULL || (out == NULL && info->size > 0)) {
        return orri_refuse(env, ORR_ERR_ARGUMENT, ORR_LOG_ID_VALUE_REFUSED,
                           "reading a value of %s: %s is NULL", info->name,
                           text == NULL ? "text" : "out");
    }
    // Read beside `out`, which must stay as it was if the text turns out wrong.
    _Alignas(64) unsigned char small[1024];
    unsigned char* value =
        info->size <= sizeof small ? small : orri_alloc(env, ORR_MEMORY_TEMP, info->size, 64);
    if (value == NULL) {
        return orri_refuse_memory(env, "reading a value");
    }
    orri_value_error error = {ORR_OK, ""};
    if (orri_value_read(type, NULL, text, value, &error) && info->size > 0) {
        memcpy(out, value, info->size);
    }
    if (value != small) {
        orri_free(env, ORR_MEMORY_TEMP, value, info->size, 64);
    }
    if (error.result == ORR_ERR_MEMORY) {
        return orri_refuse_memory(env, "reading a value");
    }
    return error.result == ORR_OK
               ? ORR_OK
               : orri_refuse(env, error.result, ORR_LOG_ID_VALUE_REFUSED,
                             "reading a value of %s: %s", info->name, error.text);
}
