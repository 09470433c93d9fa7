// SPDX-License-Identifier: MIT
// What readers were not told yet at a moment: for baseline_past.c, which finds it, and baseline_restore.c, which puts it back.
#ifndef ORRI_MESSAGE_PAST_BASELINE_PAST_H
#define ORRI_MESSAGE_PAST_BASELINE_PAST_H

#include "message/past/past_parts.h"

typedef struct orri_past_entity {
    uint32_t index, generation; // 0: nothing was told of it.
    orri_shape* shape;          // Counted; NULL: none.
    bool off;
    uint32_t value, value_count;
} orri_past_entity;

typedef struct orri_past_value {
    uint32_t type_index;
    uint32_t count; // Of a cell: instances.
    uint32_t at;    // In `bytes`: values; of a cell then ids, and what is off.
    bool held;      // There are bytes.
    bool
        same; // Of a type with hooks, whose bytes are others when it comes back: it is what the entity has.
    bool off;
} orri_past_value;

typedef struct orri_past_owners {
    uint32_t type_index, count;
    uint32_t* owners;
} orri_past_owners;

struct orri_baseline_past {
    orri_past_entity* entities; // Ascending.
    uint32_t count, capacity;
    uint64_t* births; // Of readers that are part of the state, and were on,
    uint32_t reader_count;
    uint64_t* members; // [count * words]: which of them knew it.
    uint32_t words, member_capacity;
    orri_past_value* values;
    uint32_t value_count, value_capacity;
    uint8_t* bytes;
    uint32_t byte_count, byte_capacity;
    orri_past_owners* owners;
    uint32_t owner_count, owner_capacity;
};

// What an entity has of a type now; of a unique one without an id. Nothing: count is 0. (baseline_past.c)
orri_baseline_instances orri_baseline_now(const orr_world* world, const orri_baseline_type* type,
                                          uint32_t index);

#endif
