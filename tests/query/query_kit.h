// SPDX-License-Identifier: MIT
// Shared by the query tests: a world with entities of many clusters, and a reference result
// computed by testing every entity, in the order that the query must produce.
#ifndef TEST_QUERY_KIT_H
#define TEST_QUERY_KIT_H

#include "support/store_kit.h"
#include <orrery/query.h>

#define QUERY_KIT_TYPES 6

typedef struct query_kit {
    kit store;
    orr_world* world;
    orr_type types[QUERY_KIT_TYPES]; // Position, Velocity, Health, Tiny, Frozen, Hidden
} query_kit;

void query_kit_begin(query_kit* k);
void query_kit_end(query_kit* k);
// A random change: entities, components, tags, enable bits, clusters.
void query_kit_change(query_kit* k, uint64_t random);
// True if an entity satisfies the terms, tested with single-entity calls only.
bool query_kit_matches(const query_kit* k, orr_entity entity, const orr_term* terms, uint32_t count,
                       orr_enable_state entities);
// All entities that satisfy the terms, by cluster and row. @return their number.
uint32_t query_kit_brute(const query_kit* k, const orr_term* terms, uint32_t count,
                         orr_enable_state entities, orr_entity* out, uint32_t out_count);
// All entities of the world, by cluster and row.
uint32_t query_kit_all(const query_kit* k, orr_entity* out, uint32_t out_count);
// Random terms that make a valid query; 0 to 5 of them.
uint32_t query_kit_terms(const query_kit* k, uint64_t random, orr_term* out);

#endif
