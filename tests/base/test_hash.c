// SPDX-License-Identifier: MIT
// The hash: its values never change, every bit of the input counts, and nothing outside the input
// is read.
#include "../test.h"

#include "../support/fake_platform.h"
#include "base/util.h"
#include <stdlib.h>

// Calculated by a second implementation, with integers of any size, from the description in hash.c.
// Byte i of the input is 7 * i + 1.
static const struct {
    uint32_t size;
    uint64_t seed, hash;
} known[] = {
    {0, 0, 0xACFA687CEB5924DE},   {0, 12345, 0xFF774EE0F9D7D281},
    {1, 0, 0xF8619C96DB1FED68},   {1, 12345, 0x63925ADB77C58C62},
    {3, 0, 0xB5EA9AF08F781D2E},   {3, 12345, 0x98A1A97EF32734FB},
    {4, 0, 0x9304613A47D7733F},   {4, 12345, 0x95543EB6D2F1642C},
    {8, 0, 0x7322E273728DE25F},   {8, 12345, 0x7BC27913C0D11F9B},
    {16, 0, 0xA3D72E1898883A45},  {16, 12345, 0x2301CB7FF0F2F931},
    {17, 0, 0x0DD527F23D2834D3},  {17, 12345, 0xF8102DA1E5B23EC5},
    {64, 0, 0x8E194ED16CCE2C58},  {64, 12345, 0x286BE0005AB0B932},
    {65, 0, 0x041AFC9FE8E1DECE},  {65, 12345, 0xEB2F13AFFDE36722},
    {128, 0, 0xA7930B7EB632A1CD}, {128, 12345, 0x4E4AD0D09428DD01},
    {200, 0, 0x1EDA8ED9B9452E04}, {200, 12345, 0xFE350C4477E87A73},
    {255, 0, 0x8D24ED9E609A085A}, {255, 12345, 0x83764553013F52C6},
};

ORR_TEST(hash_known_inputs_have_their_values)
{
    unsigned char data[256];
    for (uint32_t i = 0; i < sizeof data; i++) {
        data[i] = (unsigned char)(7 * i + 1);
    }
    for (size_t i = 0; i < ORRI_COUNT(known); i++) {
        CHECK_EQ(orr_hash(data, known[i].size, known[i].seed), known[i].hash);
    }
    CHECK_EQ(orr_hash(NULL, 0, 0), known[0].hash);
}

ORR_TEST(hash_does_not_depend_on_the_address_and_reads_nothing_outside)
{
    for (size_t size = 0; size <= 200; size++) {
        // Exactly as large as the input: a sanitizer reports a read outside.
        unsigned char* exact = malloc(size > 0 ? size : 1);
        unsigned char shifted[256];
        CHECK(exact != NULL);
        memset(shifted, 0xFF, sizeof shifted);
        for (size_t i = 0; i < size; i++) {
            exact[i] = shifted[i + 3] = (unsigned char)(i * i);
        }
        uint64_t a = orr_hash(exact, size, 9), b = orr_hash(shifted + 3, size, 9);
        free(exact);
        CHECK_EQ(a, b);
    }
}

static int word_compare(const void* a, const void* b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

// Fails if two of the words are equal.
static void words_distinct(uint64_t* words, size_t count)
{
    qsort(words, count, sizeof *words, word_compare);
    for (size_t i = 1; i < count; i++) {
        CHECK(words[i] != words[i - 1]);
    }
}

static void read_bytes(void* user, size_t at, unsigned char* out, size_t size)
{
    memcpy(out, (const unsigned char*)user + at, size);
}

ORR_TEST(hash_of_bytes_read_in_parts_is_that_of_the_whole)
{
    unsigned char data[300];
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (unsigned char)(i * i + 7 * i);
    }
    for (size_t size = 0; size <= sizeof data; size++) {
        CHECK_EQ(orri_hash_read(size, 11, read_bytes, data), orr_hash(data, size, 11));
    }
}

ORR_TEST(hash_of_zeros_differs_for_every_size)
{
    static const unsigned char zeros[1000];
    static uint64_t hashes[1000];
    for (size_t size = 0; size < 1000; size++) {
        hashes[size] = orr_hash(zeros, size, 0);
    }
    words_distinct(hashes, 1000);
}

// All inputs with one or two bits set: weak hashes map such neighbours together.
ORR_TEST(hash_of_sparse_inputs_does_not_collide)
{
    static uint64_t hashes[600000];
    static const size_t sizes[] = {3, 4, 8, 16, 24, 64, 130};
    for (size_t s = 0; s < ORRI_COUNT(sizes); s++) {
        uint64_t data[17] = {0};
        uint32_t bits = (uint32_t)sizes[s] * 8;
        size_t count = 0;
        for (uint32_t i = 0; i < bits; i++) {
            orri_bit_set(data, i, true);
            hashes[count++] = orr_hash(data, sizes[s], 0);
            for (uint32_t j = i + 1; j < bits; j++) {
                orri_bit_set(data, j, true);
                hashes[count++] = orr_hash(data, sizes[s], 0);
                orri_bit_set(data, j, false);
            }
            orri_bit_set(data, i, false);
        }
        words_distinct(hashes, count);
    }
}

// The words that would make a bare product zero, at each place of the input.
ORR_TEST(hash_of_input_with_its_constants_depends_on_the_rest)
{
    static const uint64_t constants[] = {0xBB67AE8584CAA73Bu, 0x3C6EF372FE94F82Bu,
                                         0xA54FF53A5F1D36F1u, 0x510E527FADE682D1u, 0};
    static uint64_t hashes[5 * 20 * 10];
    size_t count = 0;
    for (size_t c = 0; c < ORRI_COUNT(constants); c++) {
        for (size_t place = 0; place < 20; place++) {
            uint64_t data[20] = {0};
            data[place] = constants[c];
            for (uint64_t rest = 1; rest <= 10; rest++) {
                data[(place + 19) % 20] = rest;
                hashes[count] = orr_hash(data, sizeof data, 0);
                count += constants[c] != 0 || place == 0;
            }
        }
    }
    words_distinct(hashes, count);
}

ORR_TEST(hash_seed_and_data_are_not_interchangeable)
{
    static uint64_t hashes[64 * 64];
    for (uint64_t seed = 0; seed < 64; seed++) {
        for (uint64_t word = 0; word < 64; word++) {
            hashes[seed * 64 + word] = orr_hash(&word, 8, seed);
        }
    }
    words_distinct(hashes, 64 * 64);
}

// How often output bit k changes when input bit b changes: half the time, within six standard
// deviations.
static void avalanche_check(size_t size)
{
    enum {
        REPEATS = 2000
    };
    static uint32_t changed[130 * 8 + 64][64];
    uint32_t bits = (uint32_t)size * 8;
    uint64_t data[17];
    memset(changed, 0, sizeof changed);
    for (uint64_t r = 0; r < REPEATS; r++) {
        uint64_t seed = orr_random(2, r, 0, 0);
        for (uint64_t i = 0; i < 17; i++) {
            data[i] = orr_random(1, r, i, size);
        }
        uint64_t hash = orr_hash(data, size, seed);
        for (uint32_t b = 0; b < bits + 64; b++) {
            data[b < bits ? b / 64 : 16] ^= b < bits ? (uint64_t)1 << (b % 64) : 0;
            uint64_t flip = b < bits ? 0 : (uint64_t)1 << (b - bits);
            uint64_t difference = hash ^ orr_hash(data, size, seed ^ flip);
            data[b < bits ? b / 64 : 16] ^= b < bits ? (uint64_t)1 << (b % 64) : 0;
            for (uint32_t k = 0; k < 64; k++) {
                changed[b][k] += (uint32_t)(difference >> k) & 1;
            }
        }
    }
    for (uint32_t b = 0; b < bits + 64; b++) {
        for (uint32_t k = 0; k < 64; k++) {
            // The standard deviation is sqrt(2000) / 2 = 22.4.
            CHECK(changed[b][k] > REPEATS / 2 - 135 && changed[b][k] < REPEATS / 2 + 135);
        }
    }
}

ORR_TEST(hash_every_input_and_seed_bit_changes_every_output_bit_half_the_time)
{
    static const size_t sizes[] = {3, 4, 8, 12, 16, 24, 48, 130};
    for (size_t i = 0; i < ORRI_COUNT(sizes); i++) {
        avalanche_check(sizes[i]);
    }
}

ORR_TEST(hash_word_chain_depends_on_order_and_content)
{
    uint64_t ab = orri_hash_word(orri_hash_word(0, 1), 2);
    uint64_t ba = orri_hash_word(orri_hash_word(0, 2), 1);
    CHECK(ab != ba);
    CHECK(orri_hash_word(0, 0) != 0);
    CHECK(orri_hash_word(1, 0) != orri_hash_word(0, 1));
    CHECK_EQ(orri_hash_fold(UINT64_MAX, UINT64_MAX),
             UINT64_C(0xFFFFFFFFFFFFFFFF)); // 1 ^ (2^64 - 2)
    CHECK_EQ(orri_hash_fold(3, 5), 15);
}
