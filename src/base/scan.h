// SPDX-License-Identifier: MIT
// The tokenizer of all texts: query terms, bundles, values, lists of names. Functions on positions
// in a text that ends with a zero. They have no state, never read beyond the zero and never
// allocate. Bytes from 0x80 belong to no set of characters below.
#ifndef ORRI_BASE_SCAN_H
#define ORRI_BASE_SCAN_H

#include "base/util.h"

// ---- characters ---------------------------------------------------------------------------------

bool orri_scan_is_blank(char c); // Space, \t, \r, \n, \v, \f.
bool orri_scan_is_digit(char c); // 0 to 9.
// Value of a hexadecimal digit in upper or lower case; 16 for any other character.
uint32_t orri_scan_digit_value(char c);

// ---- tokens -------------------------------------------------------------------------------------

// The first position at or after `at` that has no blank.
const char* orri_scan_blanks(const char* at);
// Bytes of the token at `at`; 0 if there is none.
size_t orri_scan_word(const char* at);       // Letters of ASCII, digits, '_', '.', ':'.
size_t orri_scan_identifier(const char* at); // Letters of ASCII, digits, '_'.
size_t orri_scan_digits(const char* at);     // Decimal digits.
size_t orri_scan_token(const char* at, const char* ends); // All but blanks and `ends`.
// True when the `size` bytes at `at` are `word`.
bool orri_scan_equals(const char* at, size_t size, const char* word);
// The next item of a comma-separated text, without blanks around it. Skips empty items. Advances
// `*at`; false at the end.
bool orri_scan_item(const char** at, const char** item, size_t* size);
// Copies a name for a lookup. A name of more than ORRI_NAME_MAX bytes becomes empty: its first bytes
// could be another name.
void orri_scan_copy(char out[ORRI_NAME_MAX + 1], const char* at, size_t size);

// ---- numbers ------------------------------------------------------------------------------------

typedef struct orri_scan_number {
    const char* end; // After the last digit; where a digit is missing, if there is none.
    uint64_t value;  // `most` if the number is larger.
    bool fits;       // The number is at most `most`.
} orri_scan_number;

// Reads an unsigned number of decimal digits.
orri_scan_number orri_scan_decimal(const char* at, uint64_t most);
// Also reads hexadecimal digits after "0x" or "0X", if a word follows.
orri_scan_number orri_scan_decimal_or_hex(const char* at, uint64_t most);

// ---- errors -------------------------------------------------------------------------------------

#define ORRI_SCAN_FOUND_SIZE 48

// Second part of a message "expected X, found Y": ", found the end", or ", found '…'" with the
// `size` bytes at `at`, at most 32. With size 0, one character; an empty text if that is not
// printable. Returns `out`.
const char* orri_scan_found(const char* at, size_t size, char out[ORRI_SCAN_FOUND_SIZE]);

#endif
