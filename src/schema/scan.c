// SPDX-License-Identifier: MIT
// Tokens of a value's text: signs, words and numbers, and the error text for an unexpected token.
#include "schema/scan.h"
#include <math.h>

// ---- errors -------------------------------------------------------------------------------------

bool orri_scan_fail(orri_scan* scan, orr_result result, const char* format, ...)
{
    orri_text text = {scan->error->text, sizeof scan->error->text, 0};
    scan->error->result = result;
    orri_text_add(&text, "column %zu: ", (size_t)(scan->at - scan->text) + 1);
    va_list args;
    va_start(args, format);
    orri_text_add_v(&text, format, args);
    va_end(args);
    orri_text_cut(&text);
    return false;
}

bool orri_scan_expected(orri_scan* scan, const char* what)
{
    if (*scan->at == '\0') {
        return orri_scan_fail(scan, ORR_ERR_PARSE, "expected %s, found the end", what);
    }
    // Shows the text up to the next separator.
    size_t size = strcspn(scan->at, " \t\r\n,:{}[]|\"");
    size = size == 0 ? 1 : size < 32 ? size : 32;
    return orri_scan_fail(scan, ORR_ERR_PARSE, "expected %s, found '%.*s'", what, (int)size,
                          scan->at);
}

bool orri_scan_memory(orri_scan* scan)
{
    return orri_scan_fail(scan, ORR_ERR_MEMORY, "out of memory");
}

// ---- tokens -------------------------------------------------------------------------------------

void orri_scan_space(orri_scan* scan)
{
    scan->at += strspn(scan->at, " \t\r\n");
}

// Skips a sign that must come next; otherwise fails.
bool orri_scan_sign(orri_scan* scan, char sign, const char* what)
{
    orri_scan_space(scan);
    if (*scan->at != sign) {
        return orri_scan_expected(scan, what);
    }
    scan->at++;
    return true;
}

// Skips a sign if it comes next.
bool orri_scan_skip(orri_scan* scan, char sign)
{
    orri_scan_space(scan);
    if (*scan->at != sign) {
        return false;
    }
    scan->at++;
    return true;
}

bool orri_scan_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// Bytes of the word at the current place: a name, a label, nan, null.
size_t orri_scan_word(const orri_scan* scan)
{
    return strspn(scan->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:");
}

bool orri_scan_skip_word(orri_scan* scan, const char* word)
{
    size_t size = strlen(word);
    if (orri_scan_word(scan) != size || memcmp(scan->at, word, size) != 0) {
        return false;
    }
    scan->at += size;
    return true;
}

// ---- numbers ------------------------------------------------------------------------------------

// Reads digits as a number. *out_fits: the number is at most `most`.
bool orri_scan_digits(orri_scan* scan, uint64_t most, uint64_t* out, bool* out_fits)
{
    if (!orri_scan_is_digit(*scan->at)) {
        return false;
    }
    *out = 0;
    *out_fits = true;
    for (; orri_scan_is_digit(*scan->at); scan->at++) {
        uint64_t digit = (uint64_t)(*scan->at - '0');
        if (*out > (most - digit) / 10) {
            *out_fits = false;
        } else {
            *out = *out * 10 + digit;
        }
    }
    return true;
}

static bool scan_too_large(orri_scan* scan, const char* from, const orr_type_info* info)
{
    int size = (int)(scan->at - from < 40 ? scan->at - from : 40);
    scan->at = from;
    return orri_scan_fail(scan, ORR_ERR_RANGE, "%.*s does not fit %s of %u bytes", size, from,
                          orr_kind_name(info->kind), info->size);
}

static bool scan_outside(orri_scan* scan, const char* from, const orr_field_attributes* range)
{
    int size = (int)(scan->at - from < 40 ? scan->at - from : 40);
    scan->at = from;
    return orri_scan_fail(scan, ORR_ERR_RANGE, "%.*s is outside %g to %g", size, from, range->min,
                          range->max);
}

static bool scan_has_range(const orr_field_attributes* range)
{
    return range != NULL && range->min < range->max;
}

bool orri_scan_unsigned(orri_scan* scan, const orr_type_info* info,
                        const orr_field_attributes* range, uint64_t* out)
{
    const char* from = scan->at;
    uint64_t most = UINT64_MAX >> (64 - 8 * info->size);
    bool fits;
    if (*from == '-' && orri_scan_is_digit(from[1])) {
        scan->at += 1 + strspn(from + 1, "0123456789");
        return scan_too_large(scan, from, info);
    }
    if (!orri_scan_digits(scan, most, out, &fits) || strspn(scan->at, ".eE") > 0) {
        scan->at = from;
        return orri_scan_expected(scan, "a whole number");
    }
    if (!fits) {
        return scan_too_large(scan, from, info);
    }
    if (scan_has_range(range) && !orri_range_has_u64(range->min, range->max, *out)) {
        return scan_outside(scan, from, range);
    }
    return true;
}

bool orri_scan_signed(orri_scan* scan, const orr_type_info* info, const orr_field_attributes* range,
                      uint64_t* out)
{
    const char* from = scan->at;
    bool minus = *from == '-';
    scan->at += minus;
    uint64_t most = (UINT64_MAX >> (65 - 8 * info->size)) + minus;
    bool fits;
    if (!orri_scan_digits(scan, most, out, &fits) || strspn(scan->at, ".eE") > 0) {
        scan->at = from;
        return orri_scan_expected(scan, "a whole number");
    }
    if (!fits) {
        return scan_too_large(scan, from, info);
    }
    *out = minus ? 0 - *out : *out;
    if (scan_has_range(range) && !orri_range_has_i64(range->min, range->max, (int64_t)*out)) {
        return scan_outside(scan, from, range);
    }
    return true;
}

// Bytes of the number at the current place: [-]digits[.digits][e[+-]digits]; 0: there is none.
static size_t scan_float_size(const char* text)
{
    size_t size = text[0] == '-';
    size_t digits = strspn(text + size, "0123456789");
    if (digits == 0) {
        return 0;
    }
    size += digits;
    if (text[size] == '.' && orri_scan_is_digit(text[size + 1])) {
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

static bool scan_float_word(orri_scan* scan, double* out)
{
    if (orri_scan_skip_word(scan, "nan")) {
        *out = (double)NAN;
    } else if (orri_scan_skip_word(scan, "inf")) {
        *out = (double)INFINITY;
    } else if (scan->at[0] == '-' && strncmp(scan->at + 1, "inf", 3) == 0) {
        scan->at += 4;
        *out = -(double)INFINITY;
    } else {
        return false;
    }
    return true;
}

bool orri_scan_float(orri_scan* scan, const orr_type_info* info, const orr_field_attributes* range,
                     unsigned char* out)
{
    const char* from = scan->at;
    bool wide = info->kind == ORR_KIND_F64;
    double value;
    if (!scan_float_word(scan, &value)) {
        size_t size = scan_float_size(from);
        if (size == 0) {
            return orri_scan_expected(scan, "a number");
        }
        scan->at += size;
        if (!orri_number_read(from, size, wide, &value)) {
            return scan_too_large(scan, from, info);
        }
    }
    if (scan_has_range(range) && !(value >= range->min && value <= range->max)) {
        return scan_outside(scan, from, range);
    }
    float narrow = (float)value;
    memcpy(out, wide ? (const void*)&value : &narrow, info->size);
    return true;
}
