// SPDX-License-Identifier: MIT
// The tokenizer of all texts. It has its own sets of characters: those of <ctype.h> depend on the
// locale.
#include "base/scan.h"
#include <stdio.h>

#define SCAN_BLANKS     " \t\r\n\v\f"
#define SCAN_DIGITS     "0123456789"
#define SCAN_IDENTIFIER "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_" SCAN_DIGITS

// ---- characters ---------------------------------------------------------------------------------

bool orri_scan_is_blank(char c)
{
    return c != '\0' && strchr(SCAN_BLANKS, c) != NULL;
}

bool orri_scan_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

uint32_t orri_scan_digit_value(char c)
{
    return orri_scan_is_digit(c)  ? (uint32_t)(c - '0')
           : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
           : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                  : 16;
}

// ---- tokens -------------------------------------------------------------------------------------

const char* orri_scan_blanks(const char* at)
{
    return at + strspn(at, SCAN_BLANKS);
}

size_t orri_scan_word(const char* at)
{
    return strspn(at, SCAN_IDENTIFIER ".:");
}

size_t orri_scan_identifier(const char* at)
{
    return strspn(at, SCAN_IDENTIFIER);
}

size_t orri_scan_digits(const char* at)
{
    return strspn(at, SCAN_DIGITS);
}

size_t orri_scan_token(const char* at, const char* ends)
{
    size_t size = strcspn(at, SCAN_BLANKS), most = strcspn(at, ends);
    return size < most ? size : most;
}

bool orri_scan_equals(const char* at, size_t size, const char* word)
{
    return strlen(word) == size && memcmp(at, word, size) == 0;
}

bool orri_scan_item(const char** at, const char** item, size_t* size)
{
    const char* from = orri_scan_blanks(*at);
    while (*from == ',') {
        from = orri_scan_blanks(from + 1);
    }
    size_t length = strcspn(from, ",");
    *at = from + length;
    while (length > 0 && orri_scan_is_blank(from[length - 1])) {
        length--;
    }
    *item = from;
    *size = length;
    return length > 0;
}

void orri_scan_copy(char out[ORRI_NAME_MAX + 1], const char* at, size_t size)
{
    size = size <= ORRI_NAME_MAX ? size : 0;
    memcpy(out, at, size);
    out[size] = '\0';
}

// ---- numbers ------------------------------------------------------------------------------------

static orri_scan_number scan_number(const char* at, uint32_t base, uint64_t most)
{
    orri_scan_number number = {at, 0, true};
    for (uint32_t digit; (digit = orri_scan_digit_value(*number.end)) < base; number.end++) {
        number.fits = number.fits && digit <= most && number.value <= (most - digit) / base;
        number.value = number.fits ? number.value * base + digit : most;
    }
    return number;
}

orri_scan_number orri_scan_decimal(const char* at, uint64_t most)
{
    return scan_number(at, 10, most);
}

orri_scan_number orri_scan_decimal_or_hex(const char* at, uint64_t most)
{
    bool hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X') && orri_scan_word(at + 2) > 0;
    return hex ? scan_number(at + 2, 16, most) : scan_number(at, 10, most);
}

// ---- errors -------------------------------------------------------------------------------------

const char* orri_scan_found(const char* at, size_t size, char out[ORRI_SCAN_FOUND_SIZE])
{
    unsigned char first = (unsigned char)*at;
    if (first == '\0') {
        return strcpy(out, ", found the end");
    }
    if (size == 0 && (first < 0x20 || first >= 0x7F)) {
        return strcpy(out, "");
    }
    int shown = size == 0 ? 1 : size < 32 ? (int)size : 32;
    snprintf(out, ORRI_SCAN_FOUND_SIZE, ", found '%.*s'", shown, at);
    return out;
}

#undef SCAN_BLANKS
#undef SCAN_DIGITS
#undef SCAN_IDENTIFIER
