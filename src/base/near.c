// SPDX-License-Identifier: MIT
// Words about text that is wrong: which names are near to one that does not exist, and where in the text it stands.
#include "base/util.h"

// ---- near misses -----------------------------------------------------------------------------------

void orri_near_begin(orri_near* near, const char* name, size_t size)
{
    size = size < ORRI_NAME_MAX ? size : ORRI_NAME_MAX;
    memset(near, 0, sizeof *near);
    memcpy(near->name, name, size);
    near->distance = (uint32_t)size / 3 + 1;
}

void orri_near_offer(orri_near* near, const char* name)
{
    uint32_t distance = orri_text_distance(near->name, name, near->distance);
    if (distance < near->distance) {
        near->distance = distance;
        near->count = 0;
    }
    if (distance == near->distance && near->count < ORRI_NEAR_MOST) {
        near->found[near->count++] = name;
    }
}

void orri_near_say(const orri_near* near, orri_text* out)
{
    for (uint32_t i = 0; i < near->count; i++) {
        orri_text_add(out, "%s'%s'", i == 0 ? "; did you mean " : " or ", near->found[i]);
    }
    orri_text_add(out, "%s", near->count > 0 ? "?" : "");
}

// ---- pointing at a character --------------------------------------------------------------------------

#define NEAR_BEFORE       40 // Characters shown before the caret, where the text goes on long enough.
#define NEAR_BYTES        100 // Of the part shown, at most: characters may have four.
#define NEAR_BYTES_BEFORE 80  // Likewise before the caret.

// Bytes of the character at the place. What is no UTF-8 counts one by one. Never looks behind a zero.
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

// Characters before an offset.
static size_t near_column(const char* source, size_t offset)
{
    size_t column = 0;
    for (size_t i = 0; i < offset; i += near_char_size(source + i)) {
        column++;
    }
    return column;
}

// One character; what a terminal would take as a command, or as no character at all, becomes a space or a '?'.
static void near_show(orri_text* out, const char* at, uint32_t size)
{
    unsigned char first = (unsigned char)at[0];
    if (size > 1) {
        orri_text_bytes(out, at, size);
    } else if (first == ' ' || (first >= '\t' && first <= '\r')) {
        orri_text_bytes(out, " ", 1);
    } else {
        orri_text_bytes(out, first > ' ' && first < 0x7F ? at : "?", 1);
    }
}

// The first character shown: so many before the caret, more where the text would end early.
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
    // Bytes are limited too: the caret is always within the part shown.
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
