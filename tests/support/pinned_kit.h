// SPDX-License-Identifier: MIT
// Pinned types of every shape, for the tests of pools.
#ifndef TEST_PINNED_KIT_H
#define TEST_PINNED_KIT_H

#include "support/store_kit.h"
#include <orrery/kinds.h>

ORR_STRUCT_EX(Body, (.storage = ORR_PINNED), (int32_t, mass, (.preset = "10")), (int32_t, speed))
ORR_STRUCT_EX(Loose, (.storage = ORR_PINNED), (uint8_t, a), (double, b), (uint16_t, c)) // Padded.
ORR_STRUCT_EX(Huge, (.storage = ORR_PINNED), (uint64_t, words, 8192))                   // 64 KB
ORR_STRUCT_EX(Sign, (.storage = ORR_PINNED), (orr_string, text), (int32_t, number))
ORR_STRUCT_EX(Rope, (.storage = ORR_PINNED), (orr_entity, target), (uint32_t, length))
ORR_STRUCT_EX(Ghost, (.storage = ORR_PINNED, .hooks = &kit_token_hooks), (TokenCell, cell))

typedef struct Seen Seen; // A marker.
ORR_MAYBE_UNUSED static const orr_type_desc orr_desc_Seen = {
    .name = "Seen", .align = 1, .settings = {.storage = ORR_PINNED}};
ORR_DESCRIBED(Seen)

#define KIT_GHOST(payload) ((Ghost){kit_token(payload).cell})

#endif
