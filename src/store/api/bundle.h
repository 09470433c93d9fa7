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

// ---- bundle_parse.c -----------------------------------------------------------------------------

// Parses the items and tags of a bundle. On refusal (reported, with the position in the text) the
// bundle is empty.
orr_result orri_bundle_parse(orr_world* world, const char* call, const char* text,
                             orri_bundle* out);
// Frees items and tags.
void orri_bundle_clear(orr_world* world, orri_bundle* bundle);

#endif
