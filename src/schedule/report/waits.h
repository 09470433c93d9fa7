// SPDX-License-Identifier: MIT
// The earlier systems of a plan that each system waits for, with reasons. The steps are visited in
// order. Each name, and each way to access a type, has a set of the earlier steps that have it; a
// system waits for the members of a few sets. Large sets are reported as a whole, so that n systems
// that wait for m others are n + m lines.
#ifndef ORRI_WAITS_H
#define ORRI_WAITS_H

#include "schedule/schedule.h"

// Sets of at most this many systems are reported one system at a time.
#define ORRI_WAITS_EACH_MAX 8u
// A set of more begins with so many systems.
#define ORRI_WAITS_SHOWN 3u

// The property that the members of a set have in common.
typedef enum orri_waits_kind {
    ORRI_WAITS_NAME,    // Their name is `name`.
    ORRI_WAITS_GROUP,   // Their group is `name`.
    ORRI_WAITS_BEFORE,  // Their .before lists `name`.
    ORRI_WAITS_IMPORTS, // Their .imports lists `name`.
    ORRI_WAITS_SENDS,   // By type: they send events of it,
    ORRI_WAITS_READS,   // or read it and come after the last system that writes it,
    ORRI_WAITS_ATOMIC,  // or have it in .atomics and come after the last system that writes it.
} orri_waits_kind;

// Earlier steps, in order of the plan.
typedef struct orri_waits_set {
    orri_waits_kind kind;
    const char* name; // Not terminated. NULL: a set of a type.
    size_t name_size;
    uint32_t last1; // 1 + the last member's link.
    uint32_t count;
    uint32_t first[ORRI_WAITS_SHOWN]; // Steps of the first members.
    // For graphs: the number of the node that stands for the members up to link `joined1`. 0: none.
    uint32_t join, joined1;
} orri_waits_set;

// A member of a set, and 1 + the link of the one before it; 0: none.
typedef struct orri_waits_link {
    uint32_t step, before1;
} orri_waits_link;

// A step, or a set that begins with it, that a system waits for by name.
typedef struct orri_waits_found {
    uint32_t step, set1;
    uint32_t reason; // An enum of waits.c.
} orri_waits_found;

typedef struct orri_plan_waits {
    const orri_pipeline* pipe;
    // Sets by name [name_count], ascending by kind and name; then three for each type.
    orri_waits_set* sets;
    uint32_t name_count, set_capacity, type_count;
    uint32_t* writers1; // [type_count]: 1 + the last step that writes the type.
    orri_waits_link* links;
    uint32_t link_count, link_capacity;
    orri_waits_found* found; // Scratch: what the visited system waits for by name.
    uint32_t found_count, found_capacity;
    uint64_t* touched; // Scratch: a bit for each type.
    // Called for each reason why `to` waits for an earlier system.
    void (*reason)(void* user, const orri_system* from, const orri_system* to, const char* why);
    // The same for all members of a set of more than ORRI_WAITS_EACH_MAX.
    void (*reason_many)(void* user, const struct orri_plan_waits* waits, orri_waits_set* set,
                        const orri_system* to, const char* why);
    void* user;
} orri_plan_waits;

// Begins with the steps of a pipeline. False when refused (reported).
bool orri_waits_begin(orri_plan_waits* waits, const orri_pipeline* pipe);
void orri_waits_end(orri_plan_waits* waits);
// Calls `reason` and `reason_many` for the system of a step. To be called for each such step in
// order. False when refused (reported).
bool orri_waits_step(orri_plan_waits* waits, uint32_t step);

#endif
