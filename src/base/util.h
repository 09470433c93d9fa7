// SPDX-License-Identifier: MIT
// Small things without state: hashes, bits, text, poisoning.
#ifndef ORRI_BASE_UTIL_H
#define ORRI_BASE_UTIL_H

#include <orrery/base.h>
#include <stdarg.h>
#include <string.h>

// A way that is seldom gone: kept out of line, so that the common one saves no registers for it.
#define ORRI_COLD __attribute__((noinline, cold))

// A way that is gone often enough, but not by the shortest: out of line for the same reason, yet as fast as can be.
#define ORRI_ASIDE __attribute__((noinline))

#define ORRI_COUNT(array) (sizeof(array) / sizeof((array)[0]))

// ---- hash -----------------------------------------------------------------------------------------

// Folds the 128-bit product: a good mixer of two words. A known pair may give 0; callers add constants.
static inline uint64_t orri_hash_fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 u128;
    u128 product = (u128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

// Hash of a word, chained: h = orri_hash_word(h, word).
static inline uint64_t orri_hash_word(uint64_t h, uint64_t word)
{
    return orri_hash_fold(h ^ 0x9E3779B97F4A7C15u, word ^ 0xD6E8FEB86659FD93u) +
           0x2545F4914F6CDD1Du;
}

// ---- bits -----------------------------------------------------------------------------------------

static inline bool orri_bit_get(const uint64_t* words, uint32_t index)
{
    return (words[index >> 6] >> (index & 63)) & 1;
}

static inline void orri_bit_set(uint64_t* words, uint32_t index, bool on)
{
    uint64_t bit = (uint64_t)1 << (index & 63);
    words[index >> 6] = on ? words[index >> 6] | bit : words[index >> 6] & ~bit;
}

// Sets bits first … first + count - 1.
void orri_bits_fill(uint64_t* words, uint32_t first, uint32_t count, bool on);
// Copies `count` bits; the ranges must not overlap.
void orri_bits_copy(uint64_t* to, uint32_t to_first, const uint64_t* from, uint32_t from_first,
                    uint32_t count);
// True when bits first … first + count - 1 are all on.
bool orri_bits_all(const uint64_t* words, uint32_t first, uint32_t count);

// ---- text -----------------------------------------------------------------------------------------

// Appends to a buffer as snprintf does: `length` counts what was wanted, the buffer gets what fits and is
// always terminated.
typedef struct orri_text {
    char* data;
    size_t size; // Of the buffer.
    size_t length;
} orri_text;

void orri_text_add(orri_text* text, const char* format, ...) ORR_PRINTF(2, 3);
void orri_text_add_v(orri_text* text, const char* format, va_list args) ORR_PRINTF(2, 0);
void orri_text_bytes(orri_text* text, const char* data, size_t size);
// When the text did not fit: ends what is there in "…", cut between two UTF-8 characters.
void orri_text_cut(orri_text* text);
// Edits (insert, delete, replace a byte) between two names, capped at `most` + 1. For near misses; what is
// longer than 127 bytes is near to nothing but itself.
uint32_t orri_text_distance(const char* a, const char* b, uint32_t most);
// ORR_NAME_MAX of schema.h, which stands above this module.
#define ORRI_NAME_MAX 63
// True for a name of the library: 1 to ORRI_NAME_MAX bytes of letters, digits, '_', '.', ':'; not a digit first.
bool orri_name_valid(const char* name);

// ---- words about text that is wrong (near.c) --------------------------------------------------------

#define ORRI_NEAR_MOST 3 // Near names that are shown.

// The names nearest to one that does not exist: all of the least distance, in the order offered. A third of the
// letters may be wrong. Never allocates; the names offered must live as long.
typedef struct orri_near {
    char name[ORRI_NAME_MAX + 1]; // The name that was meant, as far as it fits.
    uint32_t distance;            // The least so far.
    const char* found[ORRI_NEAR_MOST];
    uint32_t count;
} orri_near;

void orri_near_begin(orri_near* near, const char* name, size_t size);
void orri_near_offer(orri_near* near, const char* name);
// "; did you mean 'position' or 'rotation'?"; nothing if nothing is near.
void orri_near_say(const orri_near* near, orri_text* out);

// Appends two lines that point at a byte of a source text: a part of it of about ORRI_POINT_CHARS characters, and a caret
// below with the column, in characters from 1. Blanks of every kind show as spaces. Takes at most ORRI_POINT_SIZE bytes.
#define ORRI_POINT_CHARS 60
#define ORRI_POINT_SIZE  200
void orri_text_point(orri_text* out, const char* source, size_t offset);

// ---- poisoning: under ASan, memory that holds no value may not be touched ---------------------------

#if defined(__SANITIZE_ADDRESS__)
#define ORRI_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ORRI_ASAN 1
#endif
#endif
#ifdef ORRI_ASAN
void __asan_poison_memory_region(void const volatile* address, size_t size);
void __asan_unpoison_memory_region(void const volatile* address, size_t size);
#define ORRI_POISON(ptr, size)   __asan_poison_memory_region(ptr, size)
#define ORRI_UNPOISON(ptr, size) __asan_unpoison_memory_region(ptr, size)
#else
#define ORRI_POISON(ptr, size)   ((void)(ptr), (void)(size))
#define ORRI_UNPOISON(ptr, size) ((void)(ptr), (void)(size))
#endif

// ---- integers of 1, 2, 4 or 8 bytes -------------------------------------------------------------

static inline uint64_t orri_load_unsigned(const void* value, uint32_t size)
{
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    switch (size) {
    case 1:
        return (void)memcpy(&u8, value, 1), u8;
    case 2:
        return (void)memcpy(&u16, value, 2), u16;
    case 4:
        return (void)memcpy(&u32, value, 4), u32;
    default:
        return (void)memcpy(&u64, value, 8), u64;
    }
}

// The low bytes of a number as a signed one.
static inline int64_t orri_sign_extend(uint64_t bits, uint32_t size)
{
    // The sign bit's weight turned round: no shift of a negative number.
    uint64_t sign = (uint64_t)1 << (8 * size - 1);
    return (int64_t)((bits ^ sign) - sign);
}

static inline int64_t orri_load_signed(const void* value, uint32_t size)
{
    return orri_sign_extend(orri_load_unsigned(value, size), size);
}

static inline void orri_store(void* out, uint32_t size, uint64_t value)
{
    uint8_t u8 = (uint8_t)value;
    uint16_t u16 = (uint16_t)value;
    uint32_t u32 = (uint32_t)value;
    switch (size) {
    case 1:
        memcpy(out, &u8, 1);
        break;
    case 2:
        memcpy(out, &u16, 2);
        break;
    case 4:
        memcpy(out, &u32, 4);
        break;
    default:
        memcpy(out, &value, 8);
    }
}

#endif
