// SPDX-License-Identifier: MIT
// A position in a value's text that moves from token to token, with the place of the error text.
// Tokens are those of base/scan.h. Functions that return bool report a failure by
// orri_value_scan_fail(), unless their comment says "silent".
#ifndef ORRI_SCHEMA_VALUE_SCAN_H
#define ORRI_SCHEMA_VALUE_SCAN_H

#include "base/scan.h"
#include "schema/detail.h"

typedef struct orri_value_scan {
    orri_schema* schema;     // Owns the blobs that are created.
    const char* text;        // The whole text.
    const char* at;          // The current place.
    orri_value_error* error; // Receives the reason of a failure.
} orri_value_scan;

// Stores the result and the text, with the column of the current place. Always returns false.
bool orri_value_scan_fail(orri_value_scan* scan, orr_result result, const char* format, ...)
    ORR_PRINTF(3, 4);
bool orri_value_scan_expected(orri_value_scan* scan, const char* what);
bool orri_value_scan_memory(orri_value_scan* scan);

// Skips a sign that must come next.
bool orri_value_scan_sign(orri_value_scan* scan, char sign, const char* what);
// Skips a sign, or a whole word, if it comes next. Silent.
bool orri_value_scan_skip(orri_value_scan* scan, char sign);
bool orri_value_scan_skip_word(orri_value_scan* scan, const char* word);

// Read a number of the type's size, within the range if there is one (`range` may be NULL).
bool orri_value_scan_unsigned(orri_value_scan* scan, const orr_type_info* info,
                              const orr_field_attributes* range, uint64_t* out);
bool orri_value_scan_signed(orri_value_scan* scan, const orr_type_info* info,
                            const orr_field_attributes* range, uint64_t* out);
bool orri_value_scan_float(orri_value_scan* scan, const orr_type_info* info,
                           const orr_field_attributes* range, unsigned char* out);

#endif
