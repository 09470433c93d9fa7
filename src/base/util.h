// SPDX-License-Identifier: MIT
// Small functions without state: hashes, bits, text, poisoning, integers by size.
#ifndef ORRI_BASE_UTIL_H
#define ORRI_BASE_UTIL_H

#include <orrery/base.h>
#include <stdarg.h>
#include <string.h>

// For rare paths: kept out of line, so that the common path saves no registers for them.
#define ORRI_COLD __attribute__((noinline, cold))

// For paths that are common but not the shortest: out of line for the same reason, optimised for
// speed.
#define ORRI_NOINLINE __attribute__((noinline))
// The same, for a loop that gcc takes for cold because its caller may call a cold function first:
// then it would be compiled for size.
#define ORRI_HOT __attribute__((noinline, hot))
// Inlined into each of its callers, so that constant arguments leave out what they do not need.
#define ORRI_INLINE static inline __attribute__((always_inline))

#define ORRI_COUNT(array) (sizeof(array) / sizeof((array)[0]))

// ---- hash ---------------------------------------------------------------------------------------

// Folds the 128-bit product: mixes two words well. Certain pairs give 0, so callers add constants.
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

// The same value as orr_hash(), of bytes that `read` writes to `out`, at most 64 at once, in order.
typedef void (*orri_hash_reader)(void* user, size_t at, unsigned char* out, size_t size);
uint64_t orri_hash_read(size_t size, uint64_t seed, orri_hash_reader read, void* user);

// ---- bits ---------------------------------------------------------------------------------------

static inline bool orri_bit_get(const uint64_t* words, uint32_t index)
{
    return (words[index >> 6] >> (index & 63)) & 1;
}

static inline void orri_bit_set(uint64_t* words, uint32_t index, bool on)
{
    uint64_t bit = (uint64_t)1 << (index & 63);
    words[index >> 6] = on ? words[index >> 6] | bit : words[index >> 6] & ~bit;
}

// Sets bits first … first + count - 1 to `on`.
void orri_bits_fill(uint64_t* words, uint32_t first, uint32_t count, bool on);
// Copies `count` bits; the ranges must not overlap.
void orri_bits_copy(uint64_t* to, uint32_t to_first, const uint64_t* from, uint32_t from_first,
                    uint32_t count);
// True when bits first … first + count - 1 are all on.
bool orri_bits_all(const uint64_t* words, uint32_t first, uint32_t count);

// ---- text ---------------------------------------------------------------------------------------

// Appends to a buffer like snprintf: `length` counts everything that was appended, the buffer
// receives what fits and is always terminated.
typedef struct orri_text {
    char* data;
    size_t size; // Of the buffer.
    size_t length;
} orri_text;

void orri_text_add(orri_text* text, const char* format, ...) ORR_PRINTF(2, 3);
void orri_text_add_v(orri_text* text, const char* format, va_list args) ORR_PRINTF(2, 0);
void orri_text_bytes(orri_text* text, const char* data, size_t size);
// If the text did not fit: replaces its end by "…", cut between two UTF-8 characters.
void orri_text_cut(orri_text* text);
// Number of edits (insert, delete, replace a byte) between two names, capped at `most` + 1. A name
// of more than 127 bytes is similar only to itself.
uint32_t orri_text_distance(const char* a, const char* b, uint32_t most);
// Equals ORR_NAME_MAX of schema.h, a header that this module may not include.
#define ORRI_NAME_MAX 63
// True for a valid name: 1 to ORRI_NAME_MAX bytes of letters, digits, '_', '.', ':', not beginning
// with a digit.
bool orri_name_valid(const char* name);

// ---- help for error messages about text (near.c) ------------------------------------------------

#define ORRI_NEAR_MOST 3 // Most similar names that are shown.

// Collects the names most similar to an unknown name: all with the least distance, in the order
// offered. At most a third of the bytes, plus one, may differ; namespaces at the beginning of an
// offered name may be missing. Never allocates; the offered names must stay valid.
typedef struct orri_near {
    char name[ORRI_NAME_MAX + 1]; // The unknown name, cut to ORRI_NAME_MAX bytes.
    uint32_t distance;            // The least distance so far.
    const char* found[ORRI_NEAR_MOST];
    uint32_t count;
} orri_near;

void orri_near_begin(orri_near* near, const char* name, size_t size);
void orri_near_offer(orri_near* near, const char* name);
// Appends "; did you mean 'position' or 'rotation'?", or nothing if no name is similar.
void orri_near_append(const orri_near* near, orri_text* out);

// Appends two lines that point at a byte of a source text: a part of the text of about
// ORRI_POINT_CHARS characters, and below it a caret with the column, in characters from 1. White
// space of any kind is shown as spaces. Appends at most ORRI_POINT_SIZE bytes.
#define ORRI_POINT_CHARS 60
#define ORRI_POINT_SIZE  200
void orri_text_point(orri_text* out, const char* source, size_t offset);

// ---- poisoning: ASan reports every access to memory that holds no value -------------------------

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

// The low `size` bytes of a number as a signed number.
static inline int64_t orri_sign_extend(uint64_t bits, uint32_t size)
{
    // Negates the weight of the sign bit, which avoids shifting a negative number.
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
