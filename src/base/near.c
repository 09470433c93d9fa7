// SPDX-License-Identifier: MIT
// Help for error messages about text: similar names for an unknown name, and two lines that point
// at a place in the text.
#include "base/scan.h"

// ---- similar names ------------------------------------------------------------------------------

void orri_near_begin(orri_near* near, const char* name, size_t size)
{
    size = size < ORRI_NAME_MAX ? size : ORRI_NAME_MAX;
    memset(near, 0, sizeof *near);
    memcpy(near->name, name, size);
    // Two edits turn a short name into nearly any other.
    near->distance = size <= 4 ? 1 : (uint32_t)size / 3 + 1;
}

// The least distance to a name, or to a name without its first namespaces: "State" is as near to
// "game::State" as to "State".
static uint32_t near_distance(const orri_near* near, const char* name)
{
    uint32_t least = orri_text_distance(near->name, name, near->distance);
    for (const char* at = strstr(name, "::"); at != NULL && at[2] != '\0'; at = strstr(at, "::")) {
        at += 2;
        uint32_t distance = orri_text_distance(near->name, at, near->distance);
        least = distance < least ? distance : least;
    }
    return least;
}

void orri_near_offer(orri_near* near, const char* name)
{
    uint32_t distance = near_distance(near, name);
    if (distance < near->distance) {
        near->distance = distance;
        near->count = 0;
    }
    if (distance == near->distance && near->count < ORRI_NEAR_MOST) {
        near->found[near->count++] = name;
    }
}

void orri_near_append(const orri_near* near, orri_text* out)
{
    for (uint32_t i = 0; i < near->count; i++) {
        orri_text_add(out, "%s'%s'", i == 0 ? "; did you mean " : " or ", near->found[i]);
    }
    orri_text_add(out, "%s", near->count > 0 ? "?" : "");
}

// ---- pointing at a character --------------------------------------------------------------------

#define NEAR_BEFORE       40  // Characters shown before the caret, if the text is long enough.
#define NEAR_BYTES        100 // Most bytes shown; a character may have four.
#define NEAR_BYTES_BEFORE 80  // Most bytes shown before the caret.

// Bytes of the UTF-8 character at `at`. An invalid byte counts as a character. Never reads beyond a
// zero.
static uint32_t near_char_size(const char* at)
{
    unsigned char first = (unsigned char)at[0];
    uint32_t wanted = first >= 0xF0 && first < 0xF8   ? 4
                      : first >= 0xE0 && first < 0xF0 ? 3
                      : first >= 0xC2 && first < 0xE0 ? 2
                                                      : 1;
    for (uint32_t i = 1; i < wanted; i++) {
        if (((unsigned char)at[i] & 0xC0) != 0x80) {
            return 1;
        }
    }
    return wanted;
}

// Number of characters before an offset.
static size_t near_column(const char* source, size_t offset)
{
    size_t column = 0;
    for (size_t i = 0; i < offset; i += near_char_size(source + i)) {
        column++;
    }
    return column;
}

// Appends one character. White space becomes a space; control characters and invalid bytes become
// '?'.
static void near_show(orri_text* out, const char* at, uint32_t size)
{
    unsigned char first = (unsigned char)at[0];
    if (size > 1) {
        orri_text_bytes(out, at, size);
    } else if (orri_scan_is_blank(at[0])) {
        orri_text_bytes(out, " ", 1);
    } else {
        orri_text_bytes(out, first > ' ' && first < 0x7F ? at : "?", 1);
    }
}

// The first character shown: NEAR_BEFORE before the caret, more of them where the text ends soon
// after the caret.
static size_t near_first(const char* source, size_t offset, size_t column)
{
    size_t total = column + near_column(source + offset, strlen(source + offset));
    size_t first = column > NEAR_BEFORE ? column - NEAR_BEFORE : 0;
    size_t last = total > ORRI_POINT_CHARS ? total - ORRI_POINT_CHARS : 0;
    return first < last ? first : last;
}

void orri_text_point(orri_text* out, const char* source, size_t offset)
{
    size_t column = near_column(source, offset), at = 0;
    size_t first = near_first(source, offset, column);
    for (size_t i = 0; i < first; i++) {
        at += near_char_size(source + at);
    }
    // The limit in bytes must not move the caret out of the part shown.
    for (; at + NEAR_BYTES_BEFORE < offset; first++) {
        at += near_char_size(source + at);
    }
    orri_text_add(out, "\n    %s", first > 0 ? "…" : "");
    size_t begin = at;
    for (uint32_t i = 0; i < ORRI_POINT_CHARS && source[at] != '\0' && at < begin + NEAR_BYTES;
         i++) {
        uint32_t size = near_char_size(source + at);
        near_show(out, source + at, size);
        at += size;
    }
    int indent = (int)(column - first + (first > 0));
    orri_text_add(out, "%s\n    %*s^ column %zu", source[at] != '\0' ? "…" : "", indent, "",
                  column + 1);
}

#undef NEAR_BEFORE
#undef NEAR_BYTES
#undef NEAR_BYTES_BEFORE
