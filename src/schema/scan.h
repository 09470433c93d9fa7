// SPDX-License-Identifier: MIT
// A place in a value's text, from token to token. Never looks behind the terminating zero.
// Functions that return bool say no through orri_scan_fail(), unless told otherwise.
#ifndef ORRI_SCHEMA_SCAN_H
#define ORRI_SCHEMA_SCAN_H

#include "schema/detail.h"

typedef struct orri_scan {
    orri_schema* schema;
    const char* text;
    const char* at;
    orri_value_error* error;
} orri_scan;

// Keeps result and words, with the column of the place; always false.
bool orri_scan_fail(orri_scan* scan, orr_result result, const char* format, ...) ORR_PRINTF(3, 4);
bool orri_scan_expected(orri_scan* scan, const char* what);
bool orri_scan_memory(orri_scan* scan);

void orri_scan_space(orri_scan* scan);
// Takes a sign that must come next.
bool orri_scan_sign(orri_scan* scan, char sign, const char* what);
// Takes a sign, or a whole word, if it comes next. Silent.
bool orri_scan_skip(orri_scan* scan, char sign);
bool orri_scan_skip_word(orri_scan* scan, const char* word);
// Bytes of the word at the place (a label, nan, null); 0 if there is none.
size_t orri_scan_word(const orri_scan* scan);
bool orri_scan_is_digit(char c);
// Digits as a number up to `most`; `*out_fits` tells whether it is. False, silently, if there are
// none.
bool orri_scan_digits(orri_scan* scan, uint64_t most, uint64_t* out, bool* out_fits);

// A number of the type's size, within the range if there is one (`range` may be NULL).
bool orri_scan_unsigned(orri_scan* scan, const orr_type_info* info,
                        const orr_field_attributes* range, uint64_t* out);
bool orri_scan_signed(orri_scan* scan, const orr_type_info* info, const orr_field_attributes* range,
                      uint64_t* out);
bool orri_scan_float(orri_scan* scan, const orr_type_info* info, const orr_field_attributes* range,
                     unsigned char* out);

#endif
