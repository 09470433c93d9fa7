// SPDX-License-Identifier: MIT
// Bundles: registered during the run, some made of others; created, added and removed.
#include "model/ops.h"

#include "test.h"

#include <stdlib.h>

#define BUNDLE_ROWS_MOST 20u

// The texts of an item, and the value each means in the oracle's form; NULL: the preset. Written by
// hand, since the text is under test. Values that are owned or created by hooks appear as presets
// only.
typedef struct ops_item {
    const char* type;
    const char* text;
    const void* value;
} ops_item;

static const ops_item items[] = {
    {"Position", "Position {x: 1, y: -2}", &(const Position){1, -2, 0}},
    {"Position", "Position", NULL},
    {"Health", "Health {armour: 4}", &(const Health){100, 4}},
    {"Health", "Health", NULL},
    {"Padded", "Padded {c: 65535, b: 0.5}", &(const Padded){0, 0.5, 65535}},
    {"Frozen", "Frozen", NULL},
    {"Token", "Token", NULL},
    {"Label", "Label", NULL},
    {"Shard", "Shard {size: -3}", &(const Shard){-3, 0}},
    {"Shard", "Shard", NULL},
    {"Spark", "Spark", NULL},
    {"Badge", "Badge", NULL},
    {"Body", "Body {speed: 9}", &(const Body){10, 9}},
    {"Ghost", "Ghost", NULL},
    {"Seen", "Seen", NULL},
    {"Holder", "Holder {weight: 6}", &(const Holder){.weight = 6}},
    {"Knot", "Knot", NULL},
    {"Engine", "Engine {power: 5}", &(const Engine){5}},
    {"Yin", "Yin", NULL},
    {"Rider", "Rider {seat: 2}", &(const Rider){2}},
};

typedef struct ops_bundle_item {
    uint32_t type;
    const void* value;
} ops_bundle_item;

struct ops_bundle {
    orr_bundle handle;
    ops_bundle_item items[OPS_BUNDLE_ITEMS_MAX];
    uint32_t item_count;
    orr_tag tags[8];
    uint32_t tag_count;
};

// ---- registering --------------------------------------------------------------------------------

// A type given again replaces the value; a multiple type adds an instance.
static void bundle_add_item(const ops* s, ops_bundle* bundle, ops_bundle_item item)
{
    for (uint32_t i = 0; i < bundle->item_count && !s->oracle.types[item.type].multiple; i++) {
        if (bundle->items[i].type == item.type) {
            bundle->items[i] = item;
            return;
        }
    }
    MODEL_CHECK(bundle->item_count < OPS_BUNDLE_ITEMS_MAX);
    bundle->items[bundle->item_count++] = item;
}

static void bundle_add_tag(ops_bundle* bundle, orr_tag tag)
{
    for (uint32_t i = 0; i < bundle->tag_count; i++) {
        if (bundle->tags[i] == tag) {
            return;
        }
    }
    bundle->tags[bundle->tag_count++] = tag;
}

static bool bundle_item_pick(ops* s, ops_bundle* bundle, char* text, size_t size)
{
    const ops_item* item = &items[ops_below(s, sizeof items / sizeof items[0])];
    for (uint32_t t = 0; t < s->oracle.type_count; t++) {
        if (strcmp(s->types[t].name, item->type) == 0) {
            bundle_add_item(s, bundle, (ops_bundle_item){t, item->value});
            snprintf(text + strlen(text), size - strlen(text), "%s%s", text[0] != '\0' ? ", " : "",
                     item->text);
            return true;
        }
    }
    return false;
}

static void bundle_nested_pick(ops* s, ops_bundle* bundle, char* text, size_t size)
{
    uint32_t number = ops_below(s, s->bundle_count);
    const ops_bundle* inner = s->bundles[number];
    if (s->bundle_count == 0 || bundle->item_count + inner->item_count > OPS_BUNDLE_ITEMS_MAX) {
        return;
    }
    for (uint32_t i = 0; i < inner->item_count; i++) {
        bundle_add_item(s, bundle, inner->items[i]);
    }
    for (uint32_t i = 0; i < inner->tag_count; i++) {
        bundle_add_tag(bundle, inner->tags[i]);
    }
    snprintf(text + strlen(text), size - strlen(text), "%sbundle%u", text[0] != '\0' ? ", " : "",
             number);
}

static void bundle_tag_pick(ops* s, ops_bundle* bundle, char* text, size_t size)
{
    orr_tag tag = ops_pick_tag(s);
    const char* name = orr_tag_name(s->world, tag);
    if (name != NULL && bundle->tag_count < 4) {
        bundle_add_tag(bundle, tag);
        snprintf(text + strlen(text), size - strlen(text), "%s#%s", text[0] != '\0' ? ", " : "",
                 name);
    }
}

static void op_bundle_register(ops* s)
{
    if (s->bundle_count == OPS_BUNDLES_MAX) {
        return;
    }
    char text[512] = "", name[16];
    ops_bundle made = {0};
    if (ops_chance(s, 3)) {
        bundle_nested_pick(s, &made, text, sizeof text);
    }
    uint32_t wanted = 1 + ops_below(s, 4);
    for (uint32_t i = 0; i < wanted && made.item_count < OPS_BUNDLE_ITEMS_MAX; i++) {
        bundle_item_pick(s, &made, text, sizeof text);
    }
    if (ops_chance(s, 3)) {
        bundle_tag_pick(s, &made, text, sizeof text);
    }
    snprintf(name, sizeof name, "bundle%u", s->bundle_count);
    if (text[0] == '\0' ||
        ops_refused(s, orr_bundle_register(s->world, name, text, &made.handle))) {
        MODEL_CHECK(orr_bundle_find(s->world, name).id == 0);
        return;
    }
    MODEL_CHECK(orr_bundle_find(s->world, name).id == made.handle.id);
    s->bundles[s->bundle_count] = malloc(sizeof made);
    MODEL_CHECK(s->bundles[s->bundle_count] != NULL);
    *s->bundles[s->bundle_count++] = made;
}

void ops_bundles_end(ops* s)
{
    while (s->bundle_count > 0) {
        free(s->bundles[--s->bundle_count]);
    }
}

// ---- the oracle's side --------------------------------------------------------------------------

static bool bundle_has(const ops_bundle* bundle, uint32_t type)
{
    for (uint32_t i = 0; i < bundle->item_count; i++) {
        if (bundle->items[i].type == type) {
            return true;
        }
    }
    return false;
}

// The part of the bundle that the entity lacks, determined before anything is added.
static void bundle_oracle_add(ops* s, oracle_entity* entity, const ops_bundle* bundle)
{
    bool lacks[OPS_BUNDLE_ITEMS_MAX], given[OPS_TYPES_MAX] = {false};
    for (uint32_t i = 0; i < bundle->item_count; i++) {
        lacks[i] = oracle_component_of(entity, bundle->items[i].type) == NULL;
    }
    for (uint32_t i = 0; i < bundle->item_count; i++) {
        const ops_bundle_item* item = &bundle->items[i];
        if (!lacks[i]) {
            continue;
        }
        if (s->oracle.types[item->type].multiple && given[item->type]) {
            oracle_instance_add(&s->oracle, entity, item->type, item->value);
            continue;
        }
        oracle_component_add(&s->oracle, entity, item->type);
        if (item->value != NULL) {
            oracle_component_set(&s->oracle, entity, item->type, item->value);
        }
        given[item->type] = true;
    }
    for (uint32_t i = 0; i < bundle->tag_count; i++) {
        oracle_tag_add(entity, bundle->tags[i]);
    }
    s->oracle.structure++;
}

// True if a remaining type needs a removed one.
static bool bundle_needed(const ops* s, const oracle_entity* entity, const ops_bundle* bundle)
{
    for (uint32_t c = 0; c < entity->component_count; c++) {
        uint32_t type = entity->components[c].type;
        const oracle_type* t = &s->oracle.types[type];
        for (uint32_t i = 0; !bundle_has(bundle, type) && i < t->needs_count; i++) {
            if (bundle_has(bundle, t->needs[i])) {
                return true;
            }
        }
    }
    return false;
}

// ---- operations ---------------------------------------------------------------------------------

static const ops_bundle* bundle_pick(ops* s)
{
    return s->bundle_count > 0 ? s->bundles[ops_below(s, s->bundle_count)] : NULL;
}

static void op_bundle_create(ops* s)
{
    const ops_bundle* bundle = bundle_pick(s);
    uint32_t count = 1 + ops_below(s, BUNDLE_ROWS_MOST);
    if (bundle == NULL || !ops_room_for(s, count)) {
        return;
    }
    orr_entity ids[BUNDLE_ROWS_MOST];
    if (!ops_refused(s, orr_bundle_create(s->world, bundle->handle, count, ids))) {
        for (uint32_t i = 0; i < count; i++) {
            bundle_oracle_add(s, oracle_create(&s->oracle, ids[i]), bundle);
        }
        ops_cluster_seen(s, orr_entity_cluster(s->world, ids[0]));
    }
    MODEL_CHECK(orr_entity_count(s->world) == s->oracle.live_count);
}

static void op_bundle_add(ops* s)
{
    const ops_bundle* bundle = bundle_pick(s);
    oracle_entity* entity = ops_pick(s);
    if (bundle == NULL || entity == NULL ||
        entity->tag_count + bundle->tag_count > s->shape->cluster_tags + 4) {
        return;
    }
    if (!ops_refused(s, orr_bundle_add(s->world, entity->id, bundle->handle))) {
        bundle_oracle_add(s, entity, bundle);
    }
}

static void op_bundle_remove(ops* s)
{
    const ops_bundle* bundle = bundle_pick(s);
    oracle_entity* entity = ops_pick(s);
    if (bundle == NULL || entity == NULL) {
        return;
    }
    orr_result result = orr_bundle_remove(s->world, entity->id, bundle->handle);
    if (bundle_needed(s, entity, bundle)) {
        ops_refused_as(s, result, ORR_ERR_STATE);
    } else if (!ops_refused(s, result)) {
        for (uint32_t i = 0; i < bundle->item_count; i++) {
            oracle_component_remove(&s->oracle, entity, bundle->items[i].type);
        }
        for (uint32_t i = 0; i < bundle->tag_count; i++) {
            oracle_tag_remove(entity, bundle->tags[i]);
        }
        s->oracle.structure++;
    }
}

const ops_entry ops_bundle_table[] = {
    {"bundle_register", 6, op_bundle_register},
    {"bundle_create", 8, op_bundle_create},
    {"bundle_add", 12, op_bundle_add},
    {"bundle_remove", 10, op_bundle_remove},
    {NULL, 0, NULL},
};
