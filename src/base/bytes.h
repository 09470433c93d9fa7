// SPDX-License-Identifier: MIT
// Byte streams for recordings: values are appended one after the other and read back in the same
// order. A stream holds no addresses, so it is valid in another run. Numbers have the byte order of
// the machine.
#ifndef ORRI_BASE_BYTES_H
#define ORRI_BASE_BYTES_H

#include "base/env.h"
#include <string.h>

// A stream that is written. Initialise to zero except for `env`. After memory was refused nothing
// more is written.
typedef struct orri_bytes {
    orri_env* env;
    uint8_t* data;
    uint32_t count, capacity; // Bytes.
    bool failed;              // Memory was refused, or the stream would exceed 4 GiB.
} orri_bytes;

// A stream that is read. Reading past the end yields 0 and sets `failed`.
typedef struct orri_bytes_reader {
    const uint8_t* data;
    size_t count, at; // Bytes in all, and the next to read.
    bool failed;
} orri_bytes_reader;

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

// Returns the address of the next `size` bytes and skips them. NULL: the stream has fewer. (For
// size 0 the result is not NULL.)
static inline const uint8_t* orri_bytes_take(orri_bytes_reader* from, size_t size)
{
    from->failed = from->failed || size > from->count - from->at;
    if (from->failed) {
        return NULL;
    }
    from->at += size;
    return from->data + (from->at - size);
}

static inline uint64_t orri_bytes_word(orri_bytes_reader* from)
{
    uint64_t word = 0;
    const uint8_t* data = orri_bytes_take(from, sizeof word);
    if (data != NULL) {
        memcpy(&word, data, sizeof word);
    }
    return word;
}

// Checks a size that was read from the stream: fails if fewer bytes follow. So a size that does not
// fit into size_t fails too.
static inline size_t orri_bytes_size(orri_bytes_reader* from, uint64_t size)
{
    from->failed = from->failed || size > from->count - from->at;
    return from->failed ? 0 : (size_t)size;
}

#endif
