// SPDX-License-Identifier: MIT
// Operations on ranges of bits in arrays of 64-bit words, one word at a time. Bit i is bit i % 64
// of word i / 64. Words that hold no bit of the range are not accessed; other bits of the range's
// words keep their values.
#include "base/util.h"

// A mask of the lowest `count` bits, 1 to 64.
static uint64_t bits_mask(uint32_t count)
{
    return ~(uint64_t)0 >> (64 - count);
}

// How many of the `count` bits from `first` on lie in the word of `first`.
static uint32_t bits_in_word(uint32_t first, uint32_t count)
{
    uint32_t room = 64 - (first & 63);
    return count < room ? count : room;
}

// Reads `count` bits (1 to 64) from `first` on; the higher bits of the result are zero.
static uint64_t bits_read(const uint64_t* words, uint32_t first, uint32_t count)
{
    uint32_t shift = first & 63;
    uint64_t value = words[first >> 6] >> shift;
    if (count > 64 - shift) {
        value |= words[(first >> 6) + 1] << (64 - shift);
    }
    return value & bits_mask(count);
}

void orri_bits_fill(uint64_t* words, uint32_t first, uint32_t count, bool on)
{
    while (count > 0) {
        uint32_t part = bits_in_word(first, count);
        uint64_t mask = bits_mask(part) << (first & 63);
        uint64_t* word = &words[first >> 6];
        *word = on ? *word | mask : *word & ~mask;
        first += part;
        count -= part;
    }
}

void orri_bits_copy(uint64_t* to, uint32_t to_first, const uint64_t* from, uint32_t from_first,
                    uint32_t count)
{
    while (count > 0) {
        uint32_t part = bits_in_word(to_first, count);
        uint32_t shift = to_first & 63;
        uint64_t mask = bits_mask(part) << shift;
        uint64_t* word = &to[to_first >> 6];
        *word = (*word & ~mask) | (bits_read(from, from_first, part) << shift);
        to_first += part;
        from_first += part;
        count -= part;
    }
}

bool orri_bits_all(const uint64_t* words, uint32_t first, uint32_t count)
{
    while (count > 0) {
        uint32_t part = bits_in_word(first, count);
        uint64_t mask = bits_mask(part) << (first & 63);
        if ((words[first >> 6] & mask) != mask) {
            return false;
        }
        first += part;
        count -= part;
    }
    return true;
}
