// SPDX-License-Identifier: MIT
// The hash of bytes. One step mixes 16 bytes into a 64-bit lane by a folded 128-bit product. Long
// inputs use four independent lanes, because a product takes several cycles but a new one can start
// in each cycle; the same step then joins the lanes. Bytes are read as little-endian words, so the
// value is the same on every machine. The hash is part of saved data: never change it.
#include "base/util.h"

// The first 64 fractional bits of the square roots of 3, 5, 7, 11, 13 and 19: odd numbers without
// hidden structure.
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

// The product alone would lose `x`, and with it all earlier bytes, where b happens to equal
// HASH_STEP. Adding a rotation of x to the product costs a cycle and prevents this.
static uint64_t hash_step(uint64_t lane, uint64_t a, uint64_t b)
{
    uint64_t x = lane ^ a;
    return orri_hash_fold(x, b ^ HASH_STEP) + (x << 23 | x >> 41);
}

static uint64_t hash_step16(uint64_t lane, const unsigned char* data)
{
    return hash_step(lane, hash_read8(data), hash_read8(data + 8));
}

// A bijection, so no information is lost; spreads every bit over all bits.
static uint64_t hash_finish(uint64_t h)
{
    h = (h ^ h >> 32) * HASH_MIX_A;
    h = (h ^ h >> 29) * HASH_MIX_B;
    return h ^ h >> 32;
}

// Up to 16 bytes: two words that may overlap. Different sizes may give the same words; the size is
// already in the lane.
static uint64_t hash_short(uint64_t lane, const unsigned char* data, size_t size)
{
    if (size >= 8) {
        return hash_step(lane, hash_read8(data), hash_read8(data + size - 8));
    }
    if (size >= 4) {
        return hash_step(lane, hash_read4(data), hash_read4(data + size - 4));
    }
    uint64_t word = 0;
    if (size > 0) {
        word = (uint64_t)data[0] | (uint64_t)data[size >> 1] << 8 | (uint64_t)data[size - 1] << 16;
    }
    return hash_step(lane, word, 0);
}

// Consumes blocks of 64 bytes while more than 64 are left.
static uint64_t hash_long(uint64_t lane, const unsigned char** data, size_t* size)
{
    uint64_t lanes[4] = {lane, lane + HASH_LANE, lane + 2 * HASH_LANE, lane + 3 * HASH_LANE};
    const unsigned char* at = *data;
    size_t left = *size;
    for (; left > 64; left -= 64, at += 64) {
        lanes[0] = hash_step16(lanes[0], at);
        lanes[1] = hash_step16(lanes[1], at + 16);
        lanes[2] = hash_step16(lanes[2], at + 32);
        lanes[3] = hash_step16(lanes[3], at + 48);
    }
    *data = at;
    *size = left;
    return hash_step(hash_step(lanes[0], lanes[1], lanes[2]), lanes[3], 0);
}

static uint64_t hash_begin(size_t size, uint64_t seed)
{
    return orri_hash_fold(seed ^ HASH_SEED, (uint64_t)size ^ HASH_SIZE) + seed;
}

// At most 64 bytes, the end of more than 16.
static uint64_t hash_end(uint64_t lane, const unsigned char* at, size_t size)
{
    const unsigned char* end = at + size;
    for (; size > 16; size -= 16, at += 16) {
        lane = hash_step16(lane, at);
    }
    return hash_finish(
        hash_step16(lane, end - 16)); // Overlaps the previous step by 16 - size bytes.
}

uint64_t orr_hash(const void* data, size_t size, uint64_t seed)
{
    const unsigned char* at = data;
    uint64_t lane = hash_begin(size, seed);
    if (size <= 16) {
        return hash_finish(hash_short(lane, at, size));
    }
    if (size > 64) {
        lane = hash_long(lane, &at, &size);
    }
    return hash_end(lane, at, size);
}

uint64_t orri_hash_read(size_t size, uint64_t seed, orri_hash_reader read, void* user)
{
    unsigned char buffer[128]; // The last 64 bytes that were hashed, and the next ones.
    unsigned char* next = buffer + 64;
    size_t at = 0;
    uint64_t lane = hash_begin(size, seed);
    if (size > 64) {
        uint64_t lanes[4] = {lane, lane + HASH_LANE, lane + 2 * HASH_LANE, lane + 3 * HASH_LANE};
        for (; size - at > 64; at += 64) {
            read(user, at, next, 64);
            for (int i = 0; i < 4; i++) {
                lanes[i] = hash_step16(lanes[i], next + (size_t)16 * (size_t)i);
            }
            memcpy(buffer, next, 64);
        }
        lane = hash_step(hash_step(lanes[0], lanes[1], lanes[2]), lanes[3], 0);
    }
    read(user, at, next, size - at);
    return size <= 16 ? hash_finish(hash_short(lane, next, size)) : hash_end(lane, next, size - at);
}

#undef HASH_SEED
#undef HASH_SIZE
#undef HASH_STEP
#undef HASH_LANE
#undef HASH_MIX_A
#undef HASH_MIX_B
