// SPDX-License-Identifier: MIT
// Text to values: reads the format that value_print.c writes, by recursive descent over the type.
// The type bounds the depth of the recursion.
#include "schema/value_scan.h"

static bool parse_value(orri_value_scan* scan, const orri_type* type,
                        const orr_field_attributes* range, unsigned char* out);

// ---- names --------------------------------------------------------------------------------------

static bool parse_bool(orri_value_scan* scan, unsigned char* out)
{
    bool on = orri_value_scan_skip_word(scan, "true");
    if (!on && !orri_value_scan_skip_word(scan, "false")) {
        return orri_value_scan_expected(scan, "true or false");
    }
    out[0] = on;
    return true;
}

// Reads the label at the current place. False, with an error text, if no label has this name.
static bool parse_label(orri_value_scan* scan, const orr_type_info* info, const char* what,
                        uint64_t* out)
{
    size_t size = orri_scan_word(scan->at);
    if (size == 0) {
        return orri_value_scan_expected(scan, what);
    }
    for (uint32_t i = 0; i < info->label_count; i++) {
        const orr_label* label = &info->labels[i];
        if (orri_scan_equals(scan->at, size, label->name)) {
            scan->at += size;
            *out = (uint64_t)label->value;
            return true;
        }
    }
    char buffer[200];
    orri_text text = {buffer, sizeof buffer, 0};
    orri_label_unknown(info, scan->at, size, &text);
    return orri_value_scan_fail(scan, ORR_ERR_PARSE, "%s", buffer);
}

static bool parse_enum(orri_value_scan* scan, const orr_type_info* info, uint64_t* out)
{
    if (*scan->at == '-' || orri_scan_is_digit(*scan->at)) {
        return orri_value_scan_signed(scan, info, NULL, out);
    }
    return parse_label(scan, info, "a label or a number", out);
}

static bool parse_mask(orri_value_scan* scan, const orr_type_info* info, uint64_t* out)
{
    *out = 0;
    do {
        scan->at = orri_scan_blanks(scan->at);
        uint64_t bits;
        bool number = *scan->at == '-' || orri_scan_is_digit(*scan->at);
        if (number ? !orri_value_scan_unsigned(scan, info, NULL, &bits)
                   : !parse_label(scan, info, "labels joined by |, or a number", &bits)) {
            return false;
        }
        *out |= bits;
    } while (orri_value_scan_skip(scan, '|'));
    return true;
}

// Reads one part of an entity: `sign` (if any) and a number up to `most`.
static bool parse_entity_part(orri_value_scan* scan, char sign, uint64_t most, uint64_t* out)
{
    const char* digits = scan->at + (sign != '\0');
    if (sign != '\0' && *scan->at != sign) {
        return orri_value_scan_expected(scan, "an entity like 7v1, or null");
    }
    orri_scan_number number = orri_scan_decimal(digits, most);
    if (number.end == digits) {
        return orri_value_scan_expected(scan, "an entity like 7v1, or null");
    }
    if (!number.fits) {
        return orri_value_scan_fail(scan, ORR_ERR_RANGE, "the number is too large for an entity");
    }
    scan->at = number.end;
    *out = number.value;
    return true;
}

static bool parse_entity(orri_value_scan* scan, uint64_t* out)
{
    *out = 0;
    if (orri_value_scan_skip_word(scan, "null")) {
        return true;
    }
    uint64_t index, generation, salt = 0;
    if (!parse_entity_part(scan, '\0', UINT32_MAX, &index) ||
        !parse_entity_part(scan, 'v', 0xFFFFFF, &generation) ||
        (*scan->at == 's' && !parse_entity_part(scan, 's', 0xFF, &salt))) {
        return false;
    }
    *out = index | generation << 32 | salt << 56;
    return true;
}

// ---- strings ------------------------------------------------------------------------------------

static bool parse_escape(orri_value_scan* scan, unsigned char* out)
{
    const char* at = scan->at; // After the backslash.
    static const char from[] = "\"\\nt", to[] = "\"\\\n\t";
    const char* found = *at != '\0' ? strchr(from, *at) : NULL;
    if (found != NULL) {
        *out = (unsigned char)to[found - from];
        scan->at++;
        return true;
    }
    uint32_t high = *at == 'x' ? orri_scan_digit_value(at[1]) : 16;
    uint32_t low = high < 16 ? orri_scan_digit_value(at[2]) : 16;
    if (low == 16) {
        return orri_value_scan_expected(scan, "one of \\\" \\\\ \\n \\t \\xNN");
    }
    *out = (unsigned char)(high * 16 + low);
    scan->at += 3;
    return true;
}

typedef enum parse_step {
    PARSE_BYTE,
    PARSE_END,
    PARSE_FAILED,
} parse_step;

// Reads the next byte of a string after its opening quote; skips the closing quote.
static parse_step parse_byte(orri_value_scan* scan, unsigned char* out)
{
    char c = *scan->at;
    if (c == '\0') {
        return orri_value_scan_expected(scan, "a closing quote") ? PARSE_BYTE : PARSE_FAILED;
    }
    scan->at++;
    if (c == '"') {
        return PARSE_END;
    }
    if (c == '\\') {
        return parse_escape(scan, out) ? PARSE_BYTE : PARSE_FAILED;
    }
    *out = (unsigned char)c;
    return PARSE_BYTE;
}

static bool parse_quote(orri_value_scan* scan)
{
    return orri_value_scan_sign(scan, '"', "a string in quotes");
}

// Reads an inline string of at most `most` bytes; the rest of `size` bytes is set to zero.
static bool parse_inline(orri_value_scan* scan, unsigned char* out, uint32_t size, uint32_t most)
{
    if (!parse_quote(scan)) {
        return false;
    }
    memset(out, 0, size);
    for (uint32_t length = 0;; length++) {
        const char* from = scan->at;
        unsigned char byte = 0;
        parse_step step = parse_byte(scan, &byte);
        if (step != PARSE_BYTE) {
            return step == PARSE_END;
        }
        if (length == most || byte == 0) {
            scan->at = from;
            return orri_value_scan_fail(scan, ORR_ERR_RANGE,
                                        byte == 0 ? "a zero byte would end the string here"
                                                  : "the string is longer than %u bytes",
                                        most);
        }
        out[length] = byte;
    }
}

// A buffer that grows while a string is read.
typedef struct parse_bytes {
    unsigned char* data;
    uint32_t size, capacity;
} parse_bytes;

static bool parse_grow(orri_value_scan* scan, parse_bytes* bytes, uint32_t more)
{
    if (more > ORR_BLOB_SIZE_MAX - bytes->size) {
        return orri_value_scan_fail(scan, ORR_ERR_RANGE, "more than %u bytes", ORR_BLOB_SIZE_MAX);
    }
    return ORRI_RESERVE(scan->schema->env, ORR_MEMORY_TEMP, &bytes->data, &bytes->capacity,
                        bytes->size + more) ||
           orri_value_scan_memory(scan);
}

static void parse_bytes_free(orri_value_scan* scan, parse_bytes* bytes)
{
    ORRI_RELEASE(scan->schema->env, ORR_MEMORY_TEMP, bytes->data, bytes->capacity);
}

// Reads all bytes of a string; the buffer has room for one byte more.
static bool parse_quoted(orri_value_scan* scan, parse_bytes* bytes)
{
    if (!parse_quote(scan)) {
        return false;
    }
    for (;;) {
        unsigned char byte = 0;
        parse_step step = parse_byte(scan, &byte);
        if (step == PARSE_FAILED || !parse_grow(scan, bytes, 1)) {
            return false;
        }
        if (step == PARSE_END) {
            return true;
        }
        bytes->data[bytes->size++] = byte;
    }
}

static bool parse_intern(orri_value_scan* scan, const parse_bytes* bytes, uint32_t element_size,
                         unsigned char* out)
{
    orr_string handle;
    if (orri_blob_intern(scan->schema, bytes->data, bytes->size, element_size, &handle) != ORR_OK) {
        // The only possible reason: the size was checked before.
        return orri_value_scan_memory(scan);
    }
    memcpy(out, &handle, sizeof handle);
    return true;
}

static bool parse_string(orri_value_scan* scan, unsigned char* out)
{
    parse_bytes bytes = {0};
    bool ok = parse_quoted(scan, &bytes) && parse_intern(scan, &bytes, 1, out);
    parse_bytes_free(scan, &bytes);
    return ok;
}

static bool parse_opaque_text(orri_value_scan* scan, const orri_type* type, parse_bytes* bytes,
                              unsigned char* out)
{
    const char* from = scan->at;
    if (!parse_quoted(scan, bytes)) {
        return false;
    }
    bytes->data[bytes->size] = 0;
    memset(out, 0, type->info.size);
    bool ok = strlen((const char*)bytes->data) == bytes->size &&
              type->codec.parse(type->codec.user, (const char*)bytes->data, out);
    if (!ok) {
        scan->at = from;
        return orri_value_scan_fail(scan, ORR_ERR_PARSE, "the codec of %s refused this text",
                                    type->info.name);
    }
    return true;
}

static bool parse_opaque(orri_value_scan* scan, const orri_type* type, unsigned char* out)
{
    parse_bytes bytes = {0};
    bool ok = parse_opaque_text(scan, type, &bytes, out);
    parse_bytes_free(scan, &bytes);
    return ok;
}

// ---- arrays and structs -------------------------------------------------------------------------

// Reads a fixed array; the text must have all elements.
static bool parse_fixed(orri_value_scan* scan, const orri_type* type,
                        const orr_field_attributes* range, uint32_t count, unsigned char* out)
{
    if (!orri_value_scan_sign(scan, '[', "an array in [ ]")) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && !orri_value_scan_skip(scan, ',')) {
            return *scan->at == ']'
                       ? orri_value_scan_fail(scan, ORR_ERR_PARSE, "expected %u elements, found %u",
                                              count, i)
                       : orri_value_scan_expected(scan, "',' or ']'");
        }
        if (!parse_value(scan, type, range, out + (size_t)i * type->info.size)) {
            return false;
        }
    }
    scan->at = orri_scan_blanks(scan->at);
    if (*scan->at == ',') {
        return orri_value_scan_fail(scan, ORR_ERR_PARSE, "expected %u elements, found more", count);
    }
    return orri_value_scan_sign(scan, ']', "']'");
}

static bool parse_elements(orri_value_scan* scan, const orri_type* element,
                           const orr_field_attributes* range, parse_bytes* bytes)
{
    if (!orri_value_scan_sign(scan, '[', "an array in [ ]")) {
        return false;
    }
    if (orri_value_scan_skip(scan, ']')) {
        return true;
    }
    do {
        if (!parse_grow(scan, bytes, element->info.size) ||
            !parse_value(scan, element, range, bytes->data + bytes->size)) {
            return false;
        }
        bytes->size += element->info.size;
    } while (orri_value_scan_skip(scan, ','));
    return orri_value_scan_sign(scan, ']', "',' or ']'");
}

static bool parse_array(orri_value_scan* scan, const orri_type* type,
                        const orr_field_attributes* range, unsigned char* out)
{
    const orri_type* element = type->detail->element;
    parse_bytes bytes = {0};
    bool ok = parse_elements(scan, element, range, &bytes) &&
              parse_intern(scan, &bytes, element->info.size, out);
    parse_bytes_free(scan, &bytes);
    return ok;
}

static bool parse_field(orri_value_scan* scan, const orr_field_info* field, unsigned char* out)
{
    const orri_type* type = orri_type_of_info(field->type);
    if (field->count == 0) {
        return parse_value(scan, type, &field->attributes, out);
    }
    if (type->info.kind == ORR_KIND_CHAR) {
        return parse_inline(scan, out, field->count, field->count - 1);
    }
    return parse_fixed(scan, type, &field->attributes, field->count, out);
}

// Reads the name of a field and returns the field. NULL when refused.
static const orr_field_info* parse_field_name(orri_value_scan* scan, const orr_type_info* info,
                                              uint64_t* seen)
{
    size_t size = orri_scan_identifier(scan->at);
    if (size == 0) {
        orri_value_scan_expected(scan, "the name of a field");
        return NULL;
    }
    for (uint32_t i = 0; i < info->field_count; i++) {
        const orr_field_info* field = &info->fields[i];
        if (orri_scan_equals(scan->at, size, field->name)) {
            if (orri_bit_get(seen, i)) {
                orri_value_scan_fail(scan, ORR_ERR_PARSE, "field %s is given twice", field->name);
                return NULL;
            }
            orri_bit_set(seen, i, true);
            scan->at += size;
            return field;
        }
    }
    char buffer[200];
    orri_text text = {buffer, sizeof buffer, 0};
    orri_field_unknown(info, scan->at, size, &text);
    orri_value_scan_fail(scan, ORR_ERR_FIELD, "%s", buffer);
    return NULL;
}

static bool parse_struct(orri_value_scan* scan, const orri_type* type, unsigned char* out)
{
    uint64_t seen[ORR_FIELDS_MAX / 64] = {0};
    orr_value_default(&type->info, out);
    if (!orri_value_scan_sign(scan, '{', "fields in { }")) {
        return false;
    }
    if (orri_value_scan_skip(scan, '}')) {
        return true;
    }
    do {
        scan->at = orri_scan_blanks(scan->at);
        const orr_field_info* field = parse_field_name(scan, &type->info, seen);
        if (field == NULL || !orri_value_scan_sign(scan, ':', "':'") ||
            !parse_field(scan, field, out + field->offset)) {
            return false;
        }
    } while (orri_value_scan_skip(scan, ','));
    return orri_value_scan_sign(scan, '}', "',' or '}'");
}

// Reads the kinds that are stored as one integer.
static bool parse_integer(orri_value_scan* scan, const orr_type_info* info,
                          const orr_field_attributes* range, unsigned char* out)
{
    uint64_t bits = 0;
    bool ok;
    switch (info->kind) {
    case ORR_KIND_ENUM:
        ok = parse_enum(scan, info, &bits);
        break;
    case ORR_KIND_MASK:
        ok = parse_mask(scan, info, &bits);
        break;
    case ORR_KIND_ENTITY:
        ok = parse_entity(scan, &bits);
        break;
    case ORR_KIND_I8:
    case ORR_KIND_I16:
    case ORR_KIND_I32:
    case ORR_KIND_I64:
        ok = orri_value_scan_signed(scan, info, range, &bits);
        break;
    default:
        ok = orri_value_scan_unsigned(scan, info, range, &bits);
        break;
    }
    if (ok) {
        orri_store(out, info->size, bits);
    }
    return ok;
}

static bool parse_value(orri_value_scan* scan, const orri_type* type,
                        const orr_field_attributes* range, unsigned char* out)
{
    scan->at = orri_scan_blanks(scan->at);
    switch (type->info.kind) {
    case ORR_KIND_STRUCT:
        return parse_struct(scan, type, out);
    case ORR_KIND_BOOL:
        return parse_bool(scan, out);
    case ORR_KIND_CHAR:
        return parse_inline(scan, out, 1, 1);
    case ORR_KIND_F32:
    case ORR_KIND_F64:
        return orri_value_scan_float(scan, &type->info, range, out);
    case ORR_KIND_STRING:
        return parse_string(scan, out);
    case ORR_KIND_ARRAY:
        return parse_array(scan, type, range, out);
    case ORR_KIND_OPAQUE:
        return parse_opaque(scan, type, out);
    default:
        return parse_integer(scan, &type->info, range, out);
    }
}

bool orri_value_read(const orri_type* type, const orr_field_info* field, const char* text,
                     void* out, orri_value_error* error)
{
    orri_value_scan scan = {type->schema, text, text, error};
    bool ok = field != NULL ? parse_field(&scan, field, out) : parse_value(&scan, type, NULL, out);
    if (!ok) {
        return false;
    }
    scan.at = orri_scan_blanks(scan.at);
    return *scan.at == '\0' || orri_value_scan_expected(&scan, "the end");
}

orr_result orri_value_read_at(const orri_type* type, const char** at, void* out, char* error,
                              size_t error_size)
{
    orri_value_error failure = {ORR_OK, ""};
    orri_value_scan scan = {type->schema, *at, *at, &failure};
    bool ok = parse_value(&scan, type, NULL, out);
    *at = scan.at;
    if (!ok) {
        const char* after = strstr(failure.text, ": "); // The caller shows the place itself.
        orri_text text = {error, error_size, 0};
        orri_text_add(&text, "%s", after != NULL ? after + 2 : failure.text);
        orri_text_cut(&text);
    }
    return failure.result;
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
    // Reads into a copy, because `out` must stay unchanged if the text is wrong.
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
