// SPDX-License-Identifier: MIT
// Text in buffers of fixed size, the rule for valid names, and the edit distance between names.
#include "base/scan.h"
#include <stdio.h>

// Names of this length or longer are similar only to themselves.
#define TEXT_DISTANCE_SIZE 128

// The unused rest of the buffer; NULL and size 0 if it is full. A NULL buffer has no room, whatever
// size the caller of a print function gave.
static char* text_rest(const orri_text* text, size_t* out_size)
{
    bool room = text->data != NULL && text->length < text->size;
    *out_size = room ? text->size - text->length : 0;
    return room ? text->data + text->length : NULL;
}

void orri_text_add_v(orri_text* text, const char* format, va_list args)
{
    size_t size;
    char* rest = text_rest(text, &size);
    int wanted = vsnprintf(rest, size, format, args);
    text->length += wanted > 0 ? (size_t)wanted : 0;
}

void orri_text_add(orri_text* text, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    orri_text_add_v(text, format, args);
    va_end(args);
}

void orri_text_bytes(orri_text* text, const char* data, size_t size)
{
    size_t room;
    char* rest = text_rest(text, &room);
    if (room > 0) {
        size_t part = size < room ? size : room - 1;
        if (part > 0) {
            memcpy(rest, data, part);
        }
        rest[part] = '\0';
    }
    text->length += size;
}

// True for the second and later bytes of a UTF-8 character.
static bool text_continues(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

void orri_text_cut(orri_text* text)
{
    static const char ellipsis[] = "…";
    if (text->data == NULL || text->length < text->size || text->size < sizeof ellipsis) {
        return;
    }
    size_t end = text->size - sizeof ellipsis;
    // Moves back by one UTF-8 character at most; invalid bytes are cut where they are.
    for (uint32_t i = 0; i < 3 && end > 0 && text_continues(text->data[end]); i++) {
        end--;
    }
    memcpy(text->data + end, ellipsis, sizeof ellipsis);
    text->length = end + sizeof ellipsis - 1;
}

static uint32_t text_min(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

// One row of the edit distance table (Levenshtein). On entry row[j] is the distance between the
// bytes of `a` so far and the first j bytes of `b`; on return, with `byte` appended to the bytes of
// `a`. Returns the least value of the new row.
static uint32_t text_row(uint32_t* row, char byte, const char* b, size_t b_size)
{
    uint32_t corner = row[0], least = ++row[0];
    for (size_t j = 1; j <= b_size; j++) {
        uint32_t replace = corner + (byte != b[j - 1]);
        corner = row[j];
        row[j] = text_min(replace, text_min(row[j], row[j - 1]) + 1);
        least = text_min(least, row[j]);
    }
    return least;
}

uint32_t orri_text_distance(const char* a, const char* b, uint32_t most)
{
    if (strcmp(a, b) == 0) {
        return 0;
    }
    size_t a_size = strlen(a), b_size = strlen(b);
    if (a_size >= TEXT_DISTANCE_SIZE || b_size >= TEXT_DISTANCE_SIZE) {
        return most + 1;
    }
    uint32_t row[TEXT_DISTANCE_SIZE];
    for (uint32_t j = 0; j <= b_size; j++) {
        row[j] = j;
    }
    for (size_t i = 0; i < a_size; i++) {
        // Later rows never contain less than the least value of this row.
        if (text_row(row, a[i], b, b_size) > most) {
            return most + 1;
        }
    }
    return row[b_size] > most ? most + 1 : row[b_size];
}

bool orri_name_valid(const char* name)
{
    if (name == NULL || orri_scan_is_digit(name[0])) {
        return false;
    }
    size_t size = orri_scan_word(name);
    return size > 0 && size <= ORRI_NAME_MAX && name[size] == '\0';
}

#undef TEXT_DISTANCE_SIZE
