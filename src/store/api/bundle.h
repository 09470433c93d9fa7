// SPDX-License-Identifier: MIT
// Bundles: named groups of components and tags. A registered bundle is flat: bundles in its text
// are replaced by their items. Like types, bundles are not state.
#ifndef ORRI_STORE_API_BUNDLE_H
#define ORRI_STORE_API_BUNDLE_H

#include "store/world/world.h"
#include <orrery/kinds.h>

#define ORRI_BUNDLE_ITEMS_MAX 4096u // Items of one bundle.

// A component of a bundle.
typedef struct orri_bundle_item {
    const orri_type* type;
    uint8_t* value; // NULL: the preset. Counts as a holder of its owned strings and arrays.
} orri_bundle_item;

struct orri_bundle {
    char* name;
    // In the order of the text. A unique type has one item, a multiple type one for each instance.
    orri_bundle_item* items;
    orr_tag* tags; // In the order of the text, each once.
    uint32_t item_count, item_capacity, tag_count, tag_capacity;
};

// NULL for a null or foreign handle.
const orri_bundle* orri_bundle_at(const orr_world* world, orr_bundle bundle);
const orri_bundle* orri_bundle_named(const orr_world* world, const char* name);
void orri_bundles_term(orr_world* world);

// ---- bundle_rest.c: items that the move of a row does not bring ---------------------------------

// Pinned values and further instances of one bundle, for one live entity or for new ones.
typedef struct orri_rest {
    orr_world* world;
    const char* call;
    const orri_bundle* bundle;
    // Cluster of the entity that gets the bundle; NULL: entities are created.
    const orri_cluster* from;
    orr_entity entity;
    uint32_t index;  // Index of `entity`.
    uint32_t rows;   // Entities that get the bundle.
    uint8_t* values; // Staged further instances: item by item, row by row.
    size_t size;
} orri_rest;

// True when item `i` is pinned, or an instance after the first of its type.
bool orri_rest_has(const orri_bundle* bundle, uint32_t i);
// Before the move: makes the values. On refusal (reported) nothing is left.
orr_result orri_rest_make(orri_rest* rest);
// After the move: puts the values in their places. Cannot fail.
void orri_rest_put(orri_rest* rest, const orr_entity* entities);
// If the move was refused: destructs the values.
void orri_rest_abandon(orri_rest* rest);

// ---- bundle_parse.c -----------------------------------------------------------------------------

// Parses the items and tags of a bundle. On refusal (reported, with the position in the text) the
// bundle is empty.
orr_result orri_bundle_parse(orr_world* world, const char* call, const char* text,
                             orri_bundle* out);
// Frees items and tags.
void orri_bundle_clear(orr_world* world, orri_bundle* bundle);

#endif
