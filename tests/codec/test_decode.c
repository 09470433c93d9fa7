// SPDX-License-Identifier: MIT
// Images with wrong bytes: refused with ORR_ERR_FORMAT, and never read beyond their end.
#include "codec/codec_kit.h"
#include <stddef.h>

ORR_TEST(image_of_every_kind_of_state_decodes_to_the_same_state)
{
    codec_kit k;
    codec_kit_begin(&k);
    CHECK_OK(codec_kit_check(&k, k.image.data, k.image.count));
    CHECK_EQ(k.first.count, k.image.count);
    CHECK(memcmp(k.first.data, k.image.data, k.image.count) == 0);
    codec_kit_end(&k);
}

ORR_TEST(image_cut_at_any_length_is_refused)
{
    codec_kit k;
    codec_kit_begin(&k);
    for (uint32_t size = 0; size < k.image.count; size++) {
        CHECK_RESULT(codec_kit_check(&k, k.image.data, size), ORR_ERR_FORMAT);
    }
    codec_kit_end(&k);
}

ORR_TEST(image_with_any_bit_flipped_is_refused_or_valid)
{
    codec_kit k;
    codec_kit_begin(&k);
    uint32_t refused = 0;
    for (uint32_t bit = 0; bit < k.image.count * 8; bit++) {
        k.image.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        refused += codec_kit_check(&k, k.image.data, k.image.count) != ORR_OK;
        k.image.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    CHECK(refused > k.image.count && refused < k.image.count * 8);
    codec_kit_end(&k);
}

// Changes bytes [0, size), in memory for `room` bytes. Returns the new size.
static uint32_t change(uint8_t* data, uint32_t size, uint32_t room)
{
    static const uint64_t limits[] = {0, 1, 7, 255, 65536, INT32_MAX, UINT32_MAX, UINT64_MAX};
    uint32_t words = size / 8, at = 8 * (uint32_t)(test_random() % (words + 1));
    uint64_t word = test_random() % 4 == 0 ? test_random() : limits[test_random() % 8];
    switch (test_random() % 5) {
    case 0: // One byte.
        data[test_random() % (size + 1)] = (uint8_t)test_random();
        return size;
    case 1: // One word.
        memcpy(data + at, &word, 8);
        return size;
    case 2: // Half a word: sizes and counts are stored in halves.
        memcpy(data + at + 4 * (test_random() % 2), &word, 4);
        return size;
    case 3: // A word less.
        if (at < size && size >= 8) {
            memmove(data + at, data + at + 8, size - at - 8);
            return size - 8;
        }
        return size;
    default: // A word more.
        if (size + 16 <= room) {
            memmove(data + at + 8, data + at, size - at);
            return size + 8;
        }
        return size;
    }
}

ORR_TEST(image_with_random_changes_is_refused_or_valid)
{
    codec_kit k;
    codec_kit_begin(&k);
    uint32_t room = k.image.count + 80;
    uint8_t* data = calloc(room, 1);
    CHECK(data != NULL);
    for (uint32_t i = 0; i < test_rounds(20000, 2000, 1000000); i++) {
        uint32_t size = k.image.count & ~7u;
        memcpy(data, k.image.data, size);
        for (uint64_t changes = 1 + test_random() % 4; changes > 0; changes--) {
            size = change(data, size, room);
        }
        (void)codec_kit_check(&k, data, size);
        if (i % 1000 == 999) { // Every new set of tags is a cluster more.
            codec_kit_end(&k);
            codec_kit_begin(&k);
        }
    }
    free(data);
    codec_kit_end(&k);
}

// Where the values of a type begin in the image. The name of the type has less than 8 bytes.
static uint8_t* values_of(const codec_kit* k, const char* type)
{
    char name[8] = "";
    memcpy(name, type, strlen(type));
    for (uint32_t at = 0; at + 24 <= k->image.count; at += 8) {
        if (memcmp(k->image.data + at, name, 8) == 0) {
            return k->image.data + at + 16; // After the name and a word of enable bits.
        }
    }
    test_fail(__FILE__, __LINE__, "the image has no part of %s", type);
}

static void check_refused_with(codec_kit* k, uint8_t* at, uint8_t byte)
{
    uint8_t before = *at;
    *at = byte;
    CHECK_RESULT(codec_kit_check(k, k->image.data, k->image.count), ORR_ERR_FORMAT);
    *at = before;
    CHECK_OK(codec_kit_check(k, k->image.data, k->image.count));
}

ORR_TEST(image_with_a_bool_other_than_0_and_1_is_refused)
{
    codec_kit k;
    codec_kit_begin(&k);
    check_refused_with(&k, values_of(&k, "Lamp") + offsetof(Lamp, on), 2);
    check_refused_with(&k, values_of(&k, "Lamp") + offsetof(Lamp, dims) + 2, 0xFF);
    // In an array: after its handle and the word with its size.
    check_refused_with(&k, values_of(&k, "Lamps") + 16 + sizeof(Lamp) + offsetof(Lamp, on), 2);
    codec_kit_end(&k);
}

ORR_TEST(image_with_a_handle_of_a_string_or_array_is_refused)
{
    codec_kit k;
    codec_kit_begin(&k);
    orr_string known = orr_get(k.world, k.source, Label)->text;
    check_refused_with(&k, values_of(&k, "Label"), (uint8_t)known.id);
    check_refused_with(&k, values_of(&k, "List"), 1); // An empty array.
    check_refused_with(&k, values_of(&k, "List") + 4, 1);
    check_refused_with(&k, values_of(&k, "Note"), 1); // An empty string.
    check_refused_with(&k, values_of(&k, "Sign"), 1); // Of a pinned type.
    codec_kit_end(&k);
}
