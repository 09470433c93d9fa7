// SPDX-License-Identifier: MIT
// Bytes written one after the other, and read again in the same order: what recordings keep of values. They hold no addresses, so that they mean the
// same in another run. Numbers lie as they do in memory.
#ifndef ORRI_BASE_BYTES_H
#define ORRI_BASE_BYTES_H

#include "base/env.h"
#include <string.h>

// Begins all-zero but for its env. When memory is refused nothing more is written.
typedef struct orri_bytes {
    orri_env* env;
    uint8_t* data;
    uint32_t count, capacity;
    bool failed;
} orri_bytes;

// What is read. Past the end everything is 0, and it says so.
typedef struct orri_bytes_from {
    const uint8_t* data;
    size_t count, at;
    bool failed;
} orri_bytes_from;

static inline void orri_bytes_put(orri_bytes* bytes, const void* data, size_t size)
{
    bytes->failed = bytes->failed || size > UINT32_MAX - bytes->count ||
                    !ORRI_RESERVE(bytes->env, ORR_MEMORY_SYSTEM, &bytes->data, &bytes->capacity,
                                  bytes->count + (uint32_t)size);
    if (!bytes->failed && size > 0) {
        memcpy(bytes->data + bytes->count, data, size);
        bytes->count += (uint32_t)size;
    }
}

static inline void orri_bytes_put_word(orri_bytes* bytes, uint64_t word)
{
    orri_bytes_put(bytes, &word, sizeof word);
}

// Where they are; NULL: there are not as many. (Of none it is not NULL.)
static inline const uint8_t* orri_bytes_take(orri_bytes_from* from, size_t size)
{
    from->failed = from->failed || size > from->count - from->at;
    if (from->failed) {
        return NULL;
    }
    from->at += size;
    return from->data + (from->at - size);
}

static inline uint64_t orri_bytes_word(orri_bytes_from* from)
{
    uint64_t word = 0;
    const uint8_t* data = orri_bytes_take(from, sizeof word);
    if (data != NULL) {
        memcpy(&word, data, sizeof word);
    }
    return word;
}

// A size of what follows, as it was read: one that there are not the bytes for is a failure, whatever the machine can count to.
static inline size_t orri_bytes_size(orri_bytes_from* from, uint64_t size)
{
    from->failed = from->failed || size > from->count - from->at;
    return from->failed ? 0 : (size_t)size;
}

#endif
