// SPDX-License-Identifier: MIT
// Component types of random programs: one of every kind of storage, and types of events, states and
// exports.
#ifndef TEST_PROGRAM_TYPES_H
#define TEST_PROGRAM_TYPES_H

#include <orrery/orrery.h>

ORR_STRUCT(Spot, (uint32_t, x), (uint32_t, y))
ORR_STRUCT(Speed, (uint32_t, v, (.preset = "3")))
ORR_STRUCT(Fuel, (float, litres, (.preset = "10")), (uint32_t, used))
ORR_STRUCT(Note, (orr_string, text), (orr_array, numbers, (.element = ORR_TYPE(uint32_t))),
           (uint32_t, number))
ORR_STRUCT_EX(Orb, (.multiplicity = ORR_MULTIPLE), (uint32_t, size))
ORR_STRUCT_EX(Root, (.storage = ORR_PINNED), (uint32_t, depth))
ORR_STRUCT(Kin, (orr_entity, of, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_CLEAR)),
           (uint32_t, degree))
ORR_STRUCT(Leash,
           (orr_entity, of, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_DESTROY)))
ORR_STRUCT(Purse, (int32_t, gold), (uint32_t, coins))
ORR_STRUCT(Friend, (orr_entity, entity))
ORR_STRUCT(Gift, (uint32_t, number))                     // Written by an impure system.
ORR_STRUCT(Weather, (uint32_t, wind))                    // A singleton.
ORR_STRUCT(Glaze, (uint32_t, colour), (uint32_t, coats)) // Overwritten in every tick.
ORR_STRUCT_EX(Glow, (.transient = true), (uint32_t, light))
ORR_MARKER(Calm)

ORR_STRUCT(Ping, (orr_entity, from), (uint32_t, number)) // An event.
ORR_STRUCT(Tally, (uint64_t, sum), (uint32_t, count), (uint32_t, starts))
ORR_STRUCT(Total, (uint64_t, sum))
ORR_STRUCT(Kept, (orr_entity, entity), (uint32_t, id)) // An instance that a system added.

enum {
    PROGRAM_INDEX_MAX = 1024 // Indexes of entities that the mirrors have room for.
};

// The state of an indirect system that rebuilds the entities of "Spot, ?Purse, !Calm" from
// messages. It takes messages only in some ticks: the rest waits in its queue.
ORR_STRUCT(Ledger, (uint64_t, ids, PROGRAM_INDEX_MAX), (Spot, spots, PROGRAM_INDEX_MAX),
           (Purse, purses, PROGRAM_INDEX_MAX), (uint32_t, count), (uint32_t, complete),
           (uint64_t, tick))

#endif
