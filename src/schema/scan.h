// SPDX-License-Identifier: MIT
// A position in a value's text that moves from token to token. Never reads beyond the terminating
// zero. Functions that return bool report a failure by orri_scan_fail(), unless their comment says
// "silent".
#ifndef ORRI_SCHEMA_SCAN_H
#define ORRI_SCHEMA_SCAN_H

#include "schema/detail.h"

typedef struct orri_scan {
    orri_schema* schema;     // Owns the blobs that are created.
    const char* text;        // The whole text.
    const char* at;          // The current place.
    orri_value_error* error; // Receives the reason of a failure.
} orri_scan;

// Stores the result and the text, with the column of the current place. Always returns false.
bool orri_scan_fail(orri_scan* scan, orr_result result, const char* format, ...) ORR_PRINTF(3, 4);
bool orri_scan_expected(orri_scan* scan, const char* what);
bool orri_scan_memory(orri_scan* scan);

void orri_scan_space(orri_scan* scan);
// Skips a sign that must come next.
bool orri_scan_sign(orri_scan* scan, char sign, const char* what);
// Skips a sign, or a whole word, if it comes next. Silent.
bool orri_scan_skip(orri_scan* scan, char sign);
bool orri_scan_skip_word(orri_scan* scan, const char* word);
// Bytes of the word at the current place (a label, nan, null); 0 if there is none.
size_t orri_scan_word(const orri_scan* scan);
bool orri_scan_is_digit(char c);
// Reads digits as a number; *out_fits: the number is at most `most`. False if there are no digits.
// Silent.
bool orri_scan_digits(orri_scan* scan, uint64_t most, uint64_t* out, bool* out_fits);

// Read a number of the type's size, within the range if there is one (`range` may be NULL).
bool orri_scan_unsigned(orri_scan* scan, const orr_type_info* info,
                        const orr_field_attributes* range, uint64_t* out);
bool orri_scan_signed(orri_scan* scan, const orr_type_info* info, const orr_field_attributes* range,
                      uint64_t* out);
bool orri_scan_float(orri_scan* scan, const orr_type_info* info, const orr_field_attributes* range,
                     unsigned char* out);

#endif
