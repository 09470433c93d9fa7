// SPDX-License-Identifier: MIT
// The types of the model test beyond plain columns: multiple types, indexed references, types that
// need others. Pinned types are those of the kit.
#ifndef TEST_MODEL_OPS_KINDS_H
#define TEST_MODEL_OPS_KINDS_H

#include "support/pinned_kit.h"

// ---- multiple types -----------------------------------------------------------------------------

ORR_STRUCT_EX(Shard, (.multiplicity = ORR_MULTIPLE), (int32_t, size, (.preset = "7")),
              (uint8_t, hue))
ORR_STRUCT_EX(Memo, (.multiplicity = ORR_MULTIPLE), (orr_string, text), (int32_t, number))
ORR_STRUCT_EX(Spark, (.multiplicity = ORR_MULTIPLE, .hooks = &kit_token_hooks), (TokenCell, cell))

typedef struct Badge Badge; // A marker: rows have a count and ids, but no bytes.
ORR_MAYBE_UNUSED static const orr_type_desc orr_desc_Badge = {
    .name = "Badge", .align = 1, .settings = {.multiplicity = ORR_MULTIPLE}};
ORR_DESCRIBED(Badge)

// ---- indexed references -------------------------------------------------------------------------

ORR_STRUCT(Holder, (uint32_t, weight),
           (orr_entity, owner, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_DESTROY)))
ORR_STRUCT(Aimer,
           (orr_entity, targets, 3,
            (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_CLEAR)),
           (uint8_t, count))
ORR_STRUCT(Memoir, (orr_entity, about, (.flags = ORR_FIELD_INDEXED)))
ORR_STRUCT(Knot,
           (orr_entity, first, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_CLEAR)),
           (orr_entity, free), (orr_string, text),
           (orr_entity, rest, 2,
            (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_DESTROY)))

// ---- types that need others ---------------------------------------------------------------------

ORR_STRUCT_EX(Engine, (.needs = "Velocity, Turbo"), (int32_t, power, (.preset = "3")))
ORR_STRUCT_EX(Turbo, (.needs = "Health"), (uint8_t, stage))
ORR_STRUCT_EX(Yin, (.needs = "Yang, Shard"), (uint16_t, depth)) // Each needs the other,
ORR_STRUCT_EX(Yang, (.needs = "Yin"), (uint64_t, height))       // and one a multiple type.
ORR_STRUCT_EX(Rider, (.needs = "Holder", .multiplicity = ORR_MULTIPLE), (uint8_t, seat))

#endif
