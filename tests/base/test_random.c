// SPDX-License-Identifier: MIT
// Random numbers by key: fixed values, every key counts, evenly spread along each key.
#include "../test.h"

#include "base/util.h"
#include <stdlib.h>

// Calculated by a second implementation, with integers of any size.
ORR_TEST(random_known_keys_have_their_values)
{
    CHECK_EQ(orr_random(0, 0, 0, 0), 0xAE31D6A40B147B87);
    CHECK_EQ(orr_random(1, 2, 3, 4), 0x4BACF411023CDDF4);
    CHECK_EQ(orr_random(UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX), 0x2FF7BBE30F5C9102);
}

ORR_TEST(rng_begins_with_its_first_number_and_continues_by_key)
{
    orr_rng rng = {.first = orr_random(1, 2, 3, 4)};
    CHECK_EQ(orr_rng_next(&rng), 0x4BACF411023CDDF4);
    CHECK_EQ(orr_rng_next(&rng), orr_random(0x4BACF411023CDDF4, 1, 0, 0));
    orr_rng copy = rng;
    uint64_t third = orr_random(0x4BACF411023CDDF4, 2, 0, 0);
    CHECK_EQ(orr_rng_next(&rng), third);
    CHECK_EQ(orr_rng_next(&copy), third);
    CHECK_EQ(rng.drawn, 3);
    copy = rng = (orr_rng){.first = third};
    CHECK_EQ(orr_rng_below(&rng, 6), orr_random_below(third, 6));
    CHECK(orr_rng_float(&rng) == orr_random_float(orr_random(third, 1, 0, 0)));
    CHECK(orr_rng_double(&rng) == orr_random_double(orr_random(third, 2, 0, 0)));
    CHECK_EQ(orr_rng_below(&copy, 0), 0);
    CHECK_EQ(copy.drawn, 1);
}

static uint64_t random_at(const uint64_t keys[4])
{
    return orr_random(keys[0], keys[1], keys[2], keys[3]);
}

// Draws along one key; the others are fixed and small, as ticks and systems are.
static void spread_check(uint32_t which, uint32_t shift)
{
    enum {
        DRAWS = 64 * 1024
    };
    uint32_t buckets[64] = {0};
    uint64_t keys[4] = {3, 1, 4, 1};
    for (uint64_t i = 0; i < DRAWS; i++) {
        keys[which] = i;
        buckets[(random_at(keys) >> shift) & 63]++;
    }
    // Sum of (count - 1024)^2 / 1024 over 64 buckets: 63 expected, deviation 11. Outside 20 … 130
    // the numbers are not random, or too even.
    double sum = 0;
    for (int i = 0; i < 64; i++) {
        double off = (double)buckets[i] - 1024;
        sum += off * off / 1024;
    }
    CHECK(sum > 20 && sum < 130);
}

ORR_TEST(random_is_spread_evenly_along_each_key_in_all_bits)
{
    for (uint32_t which = 0; which < 4; which++) {
        for (uint32_t shift = 0; shift <= 58; shift += 2) {
            spread_check(which, shift);
        }
    }
}

ORR_TEST(random_every_bit_of_every_key_changes_every_output_bit)
{
    enum {
        REPEATS = 1000
    };
    static uint32_t changed[256][64];
    for (uint64_t r = 0; r < REPEATS; r++) {
        uint64_t keys[4] = {7, r, r & 7, r >> 3};
        uint64_t random = random_at(keys);
        for (uint32_t b = 0; b < 256; b++) {
            keys[b / 64] ^= (uint64_t)1 << (b % 64);
            uint64_t difference = random ^ random_at(keys);
            keys[b / 64] ^= (uint64_t)1 << (b % 64);
            for (uint32_t k = 0; k < 64; k++) {
                changed[b][k] += (uint32_t)(difference >> k) & 1;
            }
        }
    }
    for (uint32_t b = 0; b < 256; b++) {
        for (uint32_t k = 0; k < 64; k++) {
            CHECK(changed[b][k] > 400 && changed[b][k] < 600); // 500, deviation 16.
        }
    }
}

static int word_compare(const void* a, const void* b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

ORR_TEST(random_small_keys_differ_in_every_position)
{
    static uint64_t words[16 * 16 * 16 * 16];
    for (uint64_t i = 0; i < ORRI_COUNT(words); i++) {
        words[i] = orr_random(i & 15, (i >> 4) & 15, (i >> 8) & 15, i >> 12);
    }
    qsort(words, ORRI_COUNT(words), sizeof words[0], word_compare);
    for (size_t i = 1; i < ORRI_COUNT(words); i++) {
        CHECK(words[i] != words[i - 1]);
    }
}

ORR_TEST(random_below_stays_below_and_reaches_both_ends)
{
    CHECK_EQ(orr_random_below(UINT64_MAX, 0), 0);
    CHECK_EQ(orr_random_below(UINT64_MAX, 1), 0);
    CHECK_EQ(orr_random_below(0, 6), 0);
    CHECK_EQ(orr_random_below(UINT64_MAX, 6), 5);
    CHECK_EQ(orr_random_below((uint64_t)1 << 63, 6), 3);
    CHECK(orr_random_below(UINT64_MAX, UINT64_MAX) == UINT64_MAX - 1);
    uint32_t counts[6] = {0};
    for (uint64_t i = 0; i < 60000; i++) {
        counts[orr_random_below(orr_random(5, i, 0, 0), 6)]++;
    }
    for (int i = 0; i < 6; i++) {
        CHECK(counts[i] > 9500 && counts[i] < 10500); // 10000, deviation 91.
    }
}

ORR_TEST(random_fractions_are_at_least_zero_and_below_one)
{
    CHECK(orr_random_float(0) == 0.0f && orr_random_double(0) == 0.0);
    CHECK(orr_random_float(UINT64_MAX) == 1.0f - 0x1p-24f);
    CHECK(orr_random_double(UINT64_MAX) == 1.0 - 0x1p-53);
    CHECK(orr_random_float((uint64_t)1 << 63) == 0.5f);
    CHECK(orr_random_double((uint64_t)3 << 62) == 0.75);
    CHECK(orr_random_float((uint64_t)1 << 40) == 0x1p-24f);
    double sum = 0;
    for (uint64_t i = 0; i < 10000; i++) {
        sum += orr_random_double(orr_random(6, i, 0, 0));
    }
    CHECK(sum > 4850 && sum < 5150); // 5000, deviation 29.
}
