// SPDX-License-Identifier: MIT
// Decodes arbitrary bytes as the state of an entity. They must be refused with ORR_ERR_FORMAT, or
// give a valid state. If the first byte is odd, the rest is the image. Otherwise the rest is a list
// of changes of a real image, 6 bytes each, so that most checks of decode.c are reached.
#include "codec/codec_kit.h"

enum {
    FUZZ_CHANGE = 6, // Bytes of a change: operation, position (2), value (3).
    FUZZ_CHANGES_MAX = 64,
    FUZZ_WORLD = 1000 // Inputs for the same world.
};

// Changes `*size` bytes at `data`, which has room for one word more.
static void fuzz_change(uint8_t* data, size_t* size, const uint8_t* change)
{
    size_t at = (size_t)(change[1] | change[2] << 8) % (*size + 1);
    uint32_t value = (uint32_t)(change[3] | change[4] << 8 | change[5] << 16);
    value = value >= 0xFFFF00 ? value | 0xFF000000u : value;
    size_t word = at & ~(size_t)7;
    switch (change[0] % 5) {
    case 0: // A byte.
        data[at] = (uint8_t)value;
        break;
    case 1: // Half a word: sizes and counts are stored in halves.
        memcpy(data + (at & ~(size_t)3), &value, sizeof value);
        break;
    case 2: // The image ends here.
        *size = at;
        break;
    case 3: // A word more.
        memmove(data + word + 8, data + word, *size - word);
        *size += 8;
        break;
    default: // A word less.
        if (*size - word >= 8) {
            memmove(data + word, data + word + 8, *size - word - 8);
            *size -= 8;
        }
        break;
    }
}

static void fuzz_changed(codec_kit* k, const uint8_t* changes, size_t count)
{
    size_t size = k->image.count;
    uint8_t* data = calloc(size + (FUZZ_CHANGES_MAX + 1) * 8, 1);
    CHECK(data != NULL);
    memcpy(data, k->image.data, size);
    for (size_t i = 0; i < count && i < FUZZ_CHANGES_MAX; i++) {
        fuzz_change(data, &size, changes + i * FUZZ_CHANGE);
    }
    (void)codec_kit_check(k, data, size);
    free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    static codec_kit k;
    static uint32_t count;
    if (size == 0) {
        return 0;
    }
    if (count++ % FUZZ_WORLD == 0) { // Every new set of tags is a cluster more.
        if (k.world != NULL) {
            codec_kit_end(&k);
        }
        codec_kit_begin(&k);
    }
    if (data[0] & 1) {
        (void)codec_kit_check(&k, data + 1, size - 1);
    } else {
        fuzz_changed(&k, data + 1, (size - 1) / FUZZ_CHANGE);
    }
    return 0;
}
