// SPDX-License-Identifier: MIT
// Full copies of the oracle, for comparison with a restored world.
#include "model/oracle.h"

#include "test.h"

#include <stdlib.h>

static void* clone_bytes(const void* from, size_t size)
{
    void* to = malloc(size + 1);
    MODEL_CHECK(to != NULL);
    if (size > 0) {
        memcpy(to, from, size);
    }
    return to;
}

static void clone_component(const oracle* o, const oracle_component* from, oracle_component* to)
{
    size_t size = o->types[from->type].size + 1;
    *to = *from;
    if (from->value != NULL) {
        to->value = clone_bytes(from->value, size);
    }
    if (from->instances != NULL) {
        to->instances = clone_bytes(from->instances, from->instance_count * sizeof *to->instances);
    }
    for (uint32_t i = 0; i < from->instance_count; i++) {
        to->instances[i].value = clone_bytes(from->instances[i].value, size);
    }
}

static oracle_entity* clone_entity(const oracle* o, const oracle_entity* from)
{
    oracle_entity* to = clone_bytes(from, sizeof *from);
    to->components = clone_bytes(from->components, from->component_count * sizeof *to->components);
    to->tags = clone_bytes(from->tags, from->tag_count * sizeof *to->tags);
    for (uint32_t i = 0; i < from->component_count; i++) {
        clone_component(o, &from->components[i], &to->components[i]);
    }
    return to;
}

void oracle_clone(const oracle* o, oracle* out)
{
    *out = *o;
    out->live = clone_bytes(o->live, o->live_capacity * sizeof *o->live);
    out->seen = clone_bytes(o->seen, o->seen_capacity * sizeof *o->seen);
    out->clusters = clone_bytes(o->clusters, o->cluster_capacity * sizeof *o->clusters);
    for (uint32_t i = 0; i < o->live_count; i++) {
        out->live[i] = clone_entity(o, o->live[i]);
    }
    for (uint32_t i = 0; i < out->seen_capacity; i++) {
        if (out->seen[i].entity != NULL) {
            out->seen[i].entity = out->live[out->seen[i].entity->live_index];
        }
    }
}

// ---- restoring ----------------------------------------------------------------------------------

static bool clone_same(const oracle* o, const oracle_component* a, const oracle_component* b)
{
    size_t size = o->types[a->type].size;
    if (a->instance_count != b->instance_count || (a->instance_count == 0 && a->on != b->on)) {
        return false;
    }
    for (uint32_t i = 0; i < oracle_value_count(a); i++) {
        if (memcmp(oracle_value_at(a, i), oracle_value_at(b, i), size) != 0 ||
            (a->instance_count > 0 && a->instances[i].on != b->instances[i].on)) {
            return false;
        }
    }
    return true;
}

// The time of the write as seen from now: `old` is the value before the restore.
static void clone_written(oracle* o, const oracle_entity* old, oracle_component* component)
{
    const oracle_component* before = old != NULL ? oracle_component_of(old, component->type) : NULL;
    component->touched = o->clock;
    component->written = before != NULL && clone_same(o, before, component) ? before->written
                                                                            : o->clock;
}

void oracle_restore(oracle* o, const oracle* copy)
{
    oracle now = *o;
    oracle_clone(copy, o);
    memcpy(o->types, now.types, sizeof o->types);
    o->type_count = now.type_count;
    o->clock = now.clock + 1;
    o->structure = now.structure + 1;
    for (uint32_t i = 0; i < o->live_count; i++) {
        oracle_entity* entity = o->live[i];
        const oracle_entity* old = oracle_find(&now, entity->id);
        entity->touched = o->clock;
        entity->switched = old != NULL && old->on == entity->on ? old->switched : o->clock;
        for (uint32_t c = 0; c < entity->component_count; c++) {
            clone_written(o, old, &entity->components[c]);
        }
    }
    oracle_term(&now);
}
