// SPDX-License-Identifier: MIT
// The hash of bytes. One step takes 16 bytes into a 64-bit lane by a folded 128-bit product. Long inputs
// use four lanes that do not wait for each other, because a product takes several cycles to finish but a
// new one can begin in each; the lanes are then joined by the same step. Bytes are read as little-endian
// words, so the value is the same on every machine. It becomes part of saved data: never change it.
#include "base/util.h"

// First 64 binary digits behind the point of the square roots of 3, 5, 7, 11, 13, 19: odd, nothing hidden.
#define HASH_SEED  0xBB67AE8584CAA73Bu
#define HASH_SIZE  0x3C6EF372FE94F82Bu
#define HASH_STEP  0xA54FF53A5F1D36F1u
#define HASH_LANE  0x510E527FADE682D1u
#define HASH_MIX_A 0x9B05688C2B3E6C1Fu
#define HASH_MIX_B 0x5BE0CD19137E2179u

static uint64_t hash_read8(const unsigned char* data)
{
    uint64_t word;
    memcpy(&word, data, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static uint64_t hash_read4(const unsigned char* data)
{
    uint32_t word;
    memcpy(&word, data, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap32(word);
#endif
    return word;
}

// The product alone would lose `x` where b happens to be HASH_STEP, and with it all bytes before; added
// once more beside the product, which costs a cycle, it stays.
static uint64_t hash_step(uint64_t commands, uint64_t a, uint64_t b)
{
    uint64_t x = commands ^ a;
    return orri_hash_fold(x, b ^ HASH_STEP) + (x << 23 | x >> 41);
}

static uint64_t hash_step16(uint64_t commands, const unsigned char* data)
{
    return hash_step(commands, hash_read8(data), hash_read8(data + 8));
}

// One to one, so nothing is lost; spreads every bit over all.
static uint64_t hash_finish(uint64_t h)
{
    h = (h ^ h >> 32) * HASH_MIX_A;
    h = (h ^ h >> 29) * HASH_MIX_B;
    return h ^ h >> 32;
}

// Up to 16 bytes: two words that may overlap. The size is in the lane already, so it is no matter that
// different sizes may give the same words.
static uint64_t hash_short(uint64_t commands, const unsigned char* data, size_t size)
{
    if (size >= 8) {
        return hash_step(commands, hash_read8(data), hash_read8(data + size - 8));
    }
    if (size >= 4) {
        return hash_step(commands, hash_read4(data), hash_read4(data + size - 4));
    }
    uint64_t word = 0;
    if (size > 0) {
        word = (uint64_t)data[0] | (uint64_t)data[size >> 1] << 8 | (uint64_t)data[size - 1] << 16;
    }
    return hash_step(commands, word, 0);
}

// Eats blocks of 64 bytes while more than 64 are left.
static uint64_t hash_long(uint64_t commands, const unsigned char** data, size_t* size)
{
    uint64_t command_buffers[4] = {commands, commands + HASH_LANE, commands + 2 * HASH_LANE,
                                   commands + 3 * HASH_LANE};
    const unsigned char* at = *data;
    size_t left = *size;
    for (; left > 64; left -= 64, at += 64) {
        command_buffers[0] = hash_step16(command_buffers[0], at);
        command_buffers[1] = hash_step16(command_buffers[1], at + 16);
        command_buffers[2] = hash_step16(command_buffers[2], at + 32);
        command_buffers[3] = hash_step16(command_buffers[3], at + 48);
    }
    *data = at;
    *size = left;
    return hash_step(hash_step(command_buffers[0], command_buffers[1], command_buffers[2]),
                     command_buffers[3], 0);
}

uint64_t orr_hash(const void* data, size_t size, uint64_t seed)
{
    const unsigned char* at = data;
    uint64_t commands = orri_hash_fold(seed ^ HASH_SEED, (uint64_t)size ^ HASH_SIZE) + seed;
    if (size <= 16) {
        return hash_finish(hash_short(commands, at, size));
    }
    if (size > 64) {
        commands = hash_long(commands, &at, &size);
    }
    const unsigned char* end = at + size;
    for (; size > 16; size -= 16, at += 16) {
        commands = hash_step16(commands, at);
    }
    return hash_finish(
        hash_step16(commands, end - 16)); // Overlaps the step before by 16 - size bytes.
}

#undef HASH_SEED
#undef HASH_SIZE
#undef HASH_STEP
#undef HASH_LANE
#undef HASH_MIX_A
#undef HASH_MIX_B
