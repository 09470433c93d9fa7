// SPDX-License-Identifier: MIT
// Floats as text and back. The C library rounds correctly both ways, but uses the decimal point of
// the program's locale. Here the point is always '.', so that text written on one machine can be
// read on another.
#include "schema/detail.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// Bytes of a number that is read. The exact decimal text of any double has fewer digits.
#define NUMBER_TOKEN_SIZE 1200

static bool number_same(double a, double b, bool wide)
{
    if (wide) {
        return memcmp(&a, &b, sizeof a) == 0;
    }
    float fa = (float)a, fb = (float)b;
    return memcmp(&fa, &fb, sizeof fa) == 0;
}

static double number_convert(const char* text, bool wide)
{
    return wide ? strtod(text, NULL) : (double)strtof(text, NULL);
}

void orri_number_point_to_dot(char* text)
{
    char* to = text;
    for (const char* from = text; *from != '\0';) {
        if (strchr("0123456789+-e", *from) != NULL) {
            *to++ = *from++;
            continue;
        }
        *to++ = '.';
        while (*from != '\0' && strchr("0123456789+-e", *from) == NULL) {
            from++; // The locale's point may have several bytes.
        }
    }
    *to = '\0';
}

void orri_number_print(double value, bool wide, char out[ORRI_NUMBER_SIZE])
{
    if (isnan(value) || isinf(value)) {
        strcpy(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    // A normal number with up to 6 digits (a double: 15) prints exactly with 6 (15), so fewer
    // digits need not be tried; subnormal numbers have less precision and start with 1. With the
    // highest precision every number reads back.
    bool subnormal = fabs(value) < (wide ? DBL_MIN : (double)FLT_MIN);
    int digits = subnormal ? 1 : wide ? 15 : 6, most = wide ? 17 : 9;
    for (; digits <= most; digits++) {
        snprintf(out, ORRI_NUMBER_SIZE, "%.*g", digits, value);
        if (number_same(number_convert(out, wide), value, wide)) {
            break;
        }
    }
    orri_number_point_to_dot(out);
}

bool orri_number_dot_to_point(const char* text, size_t size, const char* point, char* out,
                              size_t out_size)
{
    size_t length = 0, point_size = strlen(point);
    for (size_t i = 0; i < size; i++) {
        const char* part = text[i] == '.' ? point : &text[i];
        size_t part_size = text[i] == '.' ? point_size : 1;
        if (length + part_size >= out_size) {
            return false;
        }
        memcpy(out + length, part, part_size);
        length += part_size;
    }
    out[length] = '\0';
    return true;
}

// The locale's decimal point: the text between 0 and 5 in one half.
static void number_point(char out[ORRI_NUMBER_SIZE])
{
    char half[ORRI_NUMBER_SIZE];
    int length = snprintf(half, sizeof half, "%.1f", 0.5);
    size_t size = length > 2 ? (size_t)length - 2 : 0;
    memcpy(out, half + 1, size);
    out[size] = '\0';
}

bool orri_number_read(const char* text, size_t size, bool wide, double* out)
{
    char token[NUMBER_TOKEN_SIZE], point[ORRI_NUMBER_SIZE] = ".";
    if (memchr(text, '.', size) != NULL) {
        number_point(point);
    }
    if (!orri_number_dot_to_point(text, size, point, token, sizeof token)) {
        return false;
    }
    double value = number_convert(token, wide);
    if (isinf(value)) {
        return false;
    }
    *out = value;
    return true;
}

// ---- ranges -------------------------------------------------------------------------------------

bool orri_range_has_i64(double min, double max, int64_t value)
{
    const double limit = 9223372036854775808.0; // 2^63
    if (min >= limit || max < -limit) {
        return false;
    }
    // A bound within the limits is truncated towards zero, which is exact; where the truncation
    // moved the bound outwards, the truncated value itself is excluded.
    bool above = min < -limit;
    if (!above) {
        int64_t cut = (int64_t)min;
        above = (double)cut < min ? value > cut : value >= cut;
    }
    bool below = max >= limit;
    if (!below) {
        int64_t cut = (int64_t)max;
        below = (double)cut > max ? value < cut : value <= cut;
    }
    return above && below;
}

bool orri_range_has_u64(double min, double max, uint64_t value)
{
    const double limit = 18446744073709551616.0; // 2^64
    if (min >= limit || max < 0) {
        return false;
    }
    bool above = min <= 0;
    if (!above) {
        uint64_t cut = (uint64_t)min;
        above = (double)cut < min ? value > cut : value >= cut;
    }
    return above && (max >= limit || value <= (uint64_t)max);
}

#undef NUMBER_TOKEN_SIZE
