// SPDX-License-Identifier: MIT
// Bundles: named groups of components and tags, flat once they are registered. Not state: as types, they are how a
// program talks of its world.
#ifndef ORRI_STORE_API_BUNDLE_H
#define ORRI_STORE_API_BUNDLE_H

#include "store/world/world.h"
#include <orrery/kinds.h>

#define ORRI_BUNDLE_ITEMS_MAX 4096u

typedef struct orri_bundle_item {
    const orri_type* type;
    uint8_t* value; // NULL: the preset. Its owned handles are counted.
} orri_bundle_item;

struct orri_bundle {
    char* name;
    // By first mention. A unique type is there once, a multiple one once for each instance.
    orri_bundle_item* items;
    orr_tag* tags; // By first mention, each once.
    uint32_t item_count, item_capacity, tag_count, tag_capacity;
};

// NULL for a null or foreign handle.
const orri_bundle* orri_bundle_at(const orr_world* world, orr_bundle bundle);
const orri_bundle* orri_bundle_named(const orr_world* world, const char* name);
void orri_bundles_term(orr_world* world);

// ---- bundle_rest.c: what one move does not bring ------------------------------------------------------------

typedef struct orri_rest {
    orr_world* world;
    const char* call;
    const orri_bundle* bundle;
    const orri_cluster* from; // Of the entity that gets the bundle; NULL: new ones, which lack all.
    orr_entity entity;
    uint32_t index; // Its index.
    uint32_t rows;
    uint8_t* values; // Of further instances: item by item, row by row.
    size_t size;
} orri_rest;

// True for a pinned item, and for an instance after the first.
bool orri_rest_has(const orri_bundle* bundle, uint32_t i);
// Makes the values, before the move. On refusal (reported) nothing is left.
orr_result orri_rest_make(orri_rest* rest);
// After the move: puts them in their places. Or, if there was none, gives them back.
void orri_rest_put(orri_rest* rest, const orr_entity* entities);
void orri_rest_abandon(orri_rest* rest);

// ---- bundle_parse.c ---------------------------------------------------------------------------------------

// Fills the items and tags of an empty bundle. On refusal (reported, pointing at the character) it is empty again.
orr_result orri_bundle_parse(orr_world* world, const char* call, const char* text,
                             orri_bundle* out);
// Gives back items and tags.
void orri_bundle_clear(orr_world* world, orri_bundle* bundle);

#endif
