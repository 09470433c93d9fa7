// SPDX-License-Identifier: MIT
// The recorded difference between baseline and world, for baseline_past.c, which finds it, and
// baseline_restore.c, which restores it.
#ifndef ORRI_MESSAGE_PAST_BASELINE_PAST_H
#define ORRI_MESSAGE_PAST_BASELINE_PAST_H

#include "message/past/past_parts.h"

// The baseline of an entity that differed from the world.
typedef struct orri_past_entity {
    uint32_t index, generation;  // Generation 0: readers did not know it.
    orri_shape* shape;           // Counted; NULL: none.
    bool off;                    // Disabled in the baseline.
    uint32_t value, value_count; // In `values`.
} orri_past_entity;

// The baseline value of one type of an entity.
typedef struct orri_past_value {
    uint32_t type_index;
    uint32_t count; // Instances of a multiple type; else 1.
    uint32_t at;    // Offset in `bytes`: values; of a multiple type then ids and enable states.
    bool present;   // There is a value; its bytes are kept.
    bool same;      // Type with hooks, and the value was equal to that of the world. The bytes of
                    // such a value may change when the world is restored, so that restoring takes
                    // the world's value instead.
    bool off;       // Disabled in the baseline.
} orri_past_value;

// Which entity had which slot of a pinned type.
typedef struct orri_past_owners {
    uint32_t type_index, count;
    uint32_t* owners;
} orri_past_owners;

struct orri_baseline_past {
    orri_past_entity* entities; // Ascending by index.
    uint32_t count, capacity;
    uint64_t* serials; // Of the readers that were enabled and part of the state,
    uint32_t reader_count;
    uint64_t* members; // [count * words]: which of them knew the entity.
    uint32_t words, member_capacity;
    orri_past_value* values;
    uint32_t value_count, value_capacity;
    uint8_t* bytes;
    uint32_t byte_count, byte_capacity;
    orri_past_owners* owners;
    uint32_t owner_count, owner_capacity;
};

// The values of a type that an entity has now. `count` is 0 if it has none. Unique types have no
// ids. (baseline_past.c)
orri_baseline_instances orri_instances_now(const orr_world* world, const orri_baseline_type* type,
                                           uint32_t index);

#endif
