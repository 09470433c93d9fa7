// SPDX-License-Identifier: MIT
// Ranges of bits, compared with the same operation bit by bit.
#include "../test.h"

#include "base/util.h"
#include <stdlib.h>

enum {
    WORDS = 6,
    BITS = WORDS * 64
};

static void words_random(uint64_t* words)
{
    for (int i = 0; i < WORDS; i++) {
        uint64_t kind = test_random();
        words[i] = kind % 4 == 0 ? 0 : kind % 4 == 1 ? UINT64_MAX : test_random();
    }
}

// A range inside BITS bits, often at or near the ends of words.
static void range_random(uint32_t* first, uint32_t* count)
{
    *first = (uint32_t)(test_random() % BITS);
    *first = test_random() % 3 == 0 ? *first & ~63u : *first;
    *count = (uint32_t)(test_random() % (BITS - *first + 1));
    *count = test_random() % 3 == 0 ? *count & ~63u : *count;
}

ORR_TEST(bit_set_and_get_access_one_bit)
{
    uint64_t words[2] = {0};
    orri_bit_set(words, 0, true);
    orri_bit_set(words, 63, true);
    orri_bit_set(words, 64, true);
    CHECK(words[0] == 0x8000000000000001u && words[1] == 1);
    CHECK(orri_bit_get(words, 63) && orri_bit_get(words, 64) && !orri_bit_get(words, 65));
    orri_bit_set(words, 63, false);
    CHECK(words[0] == 1 && !orri_bit_get(words, 63));
}

ORR_TEST(bits_fill_known_ranges_give_known_words)
{
    uint64_t words[3] = {0};
    orri_bits_fill(words, 60, 72, true);
    CHECK(words[0] == 0xF000000000000000u && words[1] == UINT64_MAX && words[2] == 0xF);
    orri_bits_fill(words, 64, 64, false);
    CHECK(words[0] == 0xF000000000000000u && words[1] == 0 && words[2] == 0xF);
    orri_bits_fill(words, 5, 1, true);
    CHECK(words[0] == 0xF000000000000020u);
    orri_bits_fill(NULL, 64, 0, true);
}

ORR_TEST(bits_fill_changes_the_range_and_no_neighbour)
{
    for (int round = 0; round < 3000; round++) {
        uint64_t words[WORDS], model[WORDS];
        uint32_t first, count;
        bool on = round & 1;
        words_random(words);
        memcpy(model, words, sizeof model);
        range_random(&first, &count);
        orri_bits_fill(words, first, count, on);
        for (uint32_t i = 0; i < count; i++) {
            orri_bit_set(model, first + i, on);
        }
        CHECK_EQ(memcmp(words, model, sizeof words), 0);
    }
}

ORR_TEST(bits_copy_known_ranges_give_known_words)
{
    uint64_t to[2] = {0}, from[2] = {0xABCD, 0x1};
    orri_bits_copy(to, 60, from, 4, 8); // 0xBC to bits 60 … 67.
    CHECK(to[0] == 0xC000000000000000u && to[1] == 0xB);
    orri_bits_copy(to, 0, from, 63, 2); // Bits 63 (off) and 64 (on).
    CHECK(to[0] == 0xC000000000000002u);
    orri_bits_copy(NULL, 0, NULL, 64, 0);
}

ORR_TEST(bits_copy_moves_the_range_and_no_neighbour)
{
    for (int round = 0; round < 5000; round++) {
        uint64_t to[WORDS], from[WORDS], model[WORDS];
        uint32_t first, count;
        words_random(to);
        words_random(from);
        memcpy(model, to, sizeof model);
        range_random(&first, &count);
        uint32_t to_first = (uint32_t)(test_random() % (BITS - count + 1));
        orri_bits_copy(to, to_first, from, first, count);
        for (uint32_t i = 0; i < count; i++) {
            orri_bit_set(model, to_first + i, orri_bit_get(from, first + i));
        }
        CHECK_EQ(memcmp(to, model, sizeof to), 0);
    }
}

// The arrays end with the word of the last bit: a sanitizer reports an access beyond.
ORR_TEST(bits_range_at_the_end_accesses_no_word_beyond)
{
    for (uint32_t first = 0; first < 130; first++) {
        for (uint32_t end = first + 1; end <= 192; end += 7) {
            size_t count = (end + 63) / 64;
            uint64_t* words = calloc(count, sizeof *words);
            uint64_t to[4] = {0};
            CHECK(words != NULL);
            orri_bits_fill(words, first, end - first, true);
            bool all = orri_bits_all(words, first, end - first);
            orri_bits_copy(to, 1, words, first, end - first);
            bool copied = orri_bits_all(to, 1, end - first) && !orri_bit_get(to, 0) &&
                          !orri_bit_get(to, end - first + 1);
            orri_bits_fill(to, 0, 256, true);
            orri_bits_copy(words, first, to, 3, end - first);
            free(words);
            CHECK(all && copied);
        }
    }
}

ORR_TEST(bits_all_detects_a_single_clear_bit)
{
    uint64_t words[WORDS];
    memset(words, 0xFF, sizeof words);
    CHECK(orri_bits_all(words, 0, BITS));
    CHECK(orri_bits_all(NULL, 7, 0));
    for (uint32_t off = 0; off < BITS; off++) {
        uint32_t first, count;
        range_random(&first, &count);
        orri_bit_set(words, off, false);
        bool inside = off >= first && off < first + count;
        CHECK_EQ(orri_bits_all(words, first, count), !inside);
        CHECK(!orri_bits_all(words, off, 1));
        CHECK(!orri_bits_all(words, 0, BITS));
        orri_bit_set(words, off, true);
    }
}
