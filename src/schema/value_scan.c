// SPDX-License-Identifier: MIT
// Tokens of a value's text: signs, words and numbers, and the error text for an unexpected token.
#include "schema/value_scan.h"
#include <math.h>

// ---- errors -------------------------------------------------------------------------------------

bool orri_value_scan_fail(orri_value_scan* scan, orr_result result, const char* format, ...)
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

bool orri_value_scan_expected(orri_value_scan* scan, const char* what)
{
    // Shows the text up to the next separator.
    size_t size = orri_scan_token(scan->at, ",:{}[]|\"");
    char found[ORRI_SCAN_FOUND_SIZE];
    return orri_value_scan_fail(scan, ORR_ERR_PARSE, "expected %s%s", what,
                                orri_scan_found(scan->at, size > 0 ? size : 1, found));
}

bool orri_value_scan_memory(orri_value_scan* scan)
{
    return orri_value_scan_fail(scan, ORR_ERR_MEMORY, "out of memory");
}

// ---- tokens -------------------------------------------------------------------------------------

bool orri_value_scan_sign(orri_value_scan* scan, char sign, const char* what)
{
    return orri_value_scan_skip(scan, sign) || orri_value_scan_expected(scan, what);
}

bool orri_value_scan_skip(orri_value_scan* scan, char sign)
{
    scan->at = orri_scan_blanks(scan->at);
    bool found = *scan->at == sign;
    scan->at += found;
    return found;
}

bool orri_value_scan_skip_word(orri_value_scan* scan, const char* word)
{
    size_t size = orri_scan_word(scan->at);
    bool found = orri_scan_equals(scan->at, size, word);
    scan->at += found ? size : 0;
    return found;
}

// ---- numbers ------------------------------------------------------------------------------------

static bool value_scan_too_large(orri_value_scan* scan, const char* from, const orr_type_info* info)
{
    int size = (int)(scan->at - from < 40 ? scan->at - from : 40);
    scan->at = from;
    return orri_value_scan_fail(scan, ORR_ERR_RANGE, "%.*s does not fit %s of %u bytes", size, from,
                                orr_kind_name(info->kind), info->size);
}

static bool value_scan_outside(orri_value_scan* scan, const char* from,
                               const orr_field_attributes* range)
{
    int size = (int)(scan->at - from < 40 ? scan->at - from : 40);
    scan->at = from;
    return orri_value_scan_fail(scan, ORR_ERR_RANGE, "%.*s is outside %g to %g", size, from,
                                range->min, range->max);
}

static bool value_scan_has_range(const orr_field_attributes* range)
{
    return range != NULL && range->min < range->max;
}

// Reads a whole number of at most `most`, after a minus if there is one.
static bool value_scan_whole(orri_value_scan* scan, const orr_type_info* info, bool minus,
                             uint64_t most, uint64_t* out)
{
    const char *from = scan->at, *digits = from + minus;
    orri_scan_number number = orri_scan_decimal(digits, most);
    if (number.end == digits || strspn(number.end, ".eE") > 0) {
        return orri_value_scan_expected(scan, "a whole number");
    }
    scan->at = number.end;
    *out = number.value;
    return number.fits || value_scan_too_large(scan, from, info);
}

bool orri_value_scan_unsigned(orri_value_scan* scan, const orr_type_info* info,
                              const orr_field_attributes* range, uint64_t* out)
{
    const char* from = scan->at;
    if (*from == '-' && orri_scan_is_digit(from[1])) {
        scan->at += 1 + orri_scan_digits(from + 1);
        return value_scan_too_large(scan, from, info);
    }
    if (!value_scan_whole(scan, info, false, UINT64_MAX >> (64 - 8 * info->size), out)) {
        return false;
    }
    if (value_scan_has_range(range) && !orri_range_has_u64(range->min, range->max, *out)) {
        return value_scan_outside(scan, from, range);
    }
    return true;
}

bool orri_value_scan_signed(orri_value_scan* scan, const orr_type_info* info,
                            const orr_field_attributes* range, uint64_t* out)
{
    const char* from = scan->at;
    bool minus = *from == '-';
    if (!value_scan_whole(scan, info, minus, (UINT64_MAX >> (65 - 8 * info->size)) + minus, out)) {
        return false;
    }
    *out = minus ? 0 - *out : *out;
    if (value_scan_has_range(range) && !orri_range_has_i64(range->min, range->max, (int64_t)*out)) {
        return value_scan_outside(scan, from, range);
    }
    return true;
}

// Bytes of the number at the current place: [-]digits[.digits][e[+-]digits]; 0: there is none.
static size_t value_scan_float_size(const char* text)
{
    size_t size = text[0] == '-';
    size_t digits = orri_scan_digits(text + size);
    if (digits == 0) {
        return 0;
    }
    size += digits;
    if (text[size] == '.' && orri_scan_is_digit(text[size + 1])) {
        size += 1 + orri_scan_digits(text + size + 1);
    }
    size_t exponent = size;
    if (text[exponent] == 'e' || text[exponent] == 'E') {
        exponent++;
        exponent += text[exponent] == '+' || text[exponent] == '-';
        digits = orri_scan_digits(text + exponent);
        size = digits > 0 ? exponent + digits : size;
    }
    return size;
}

static bool value_scan_float_word(orri_value_scan* scan, double* out)
{
    if (orri_value_scan_skip_word(scan, "nan")) {
        *out = (double)NAN;
    } else if (orri_value_scan_skip_word(scan, "inf")) {
        *out = (double)INFINITY;
    } else if (scan->at[0] == '-' && strncmp(scan->at + 1, "inf", 3) == 0) {
        scan->at += 4;
        *out = -(double)INFINITY;
    } else {
        return false;
    }
    return true;
}

bool orri_value_scan_float(orri_value_scan* scan, const orr_type_info* info,
                           const orr_field_attributes* range, unsigned char* out)
{
    const char* from = scan->at;
    bool wide = info->kind == ORR_KIND_F64;
    double value;
    if (!value_scan_float_word(scan, &value)) {
        size_t size = value_scan_float_size(from);
        if (size == 0) {
            return orri_value_scan_expected(scan, "a number");
        }
        scan->at += size;
        if (!orri_number_read(from, size, wide, &value)) {
            return value_scan_too_large(scan, from, info);
        }
    }
    if (value_scan_has_range(range) && !(value >= range->min && value <= range->max)) {
        return value_scan_outside(scan, from, range);
    }
    float narrow = (float)value;
    memcpy(out, wide ? (const void*)&value : &narrow, info->size);
    return true;
}
