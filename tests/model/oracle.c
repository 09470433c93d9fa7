// SPDX-License-Identifier: MIT
// The state of the naive world, and the effects of calls. oracle_compare.c compares it with a real
// world.
#include "model/oracle.h"

#include "test.h"

#include <stdlib.h>

model_context model_at;

_Noreturn void model_fail(const char* file, int line, const char* text)
{
    if (model_at.operation != NULL) {
        fprintf(stderr, "in operation %" PRIu64 " (%s) of %s:\n", model_at.number,
                model_at.operation, model_at.shape != NULL ? model_at.shape : "a run");
        fprintf(stderr, "%s%s", model_at.detail, model_at.detail[0] != '\0' ? "\n" : "");
    }
    test_fail(file, line, "%s", text);
}

void* oracle_grow(void* data, uint32_t* capacity, uint32_t needed, size_t size)
{
    if (needed <= *capacity) {
        return data;
    }
    uint32_t wanted = *capacity != 0 ? *capacity * 2 : 64;
    while (wanted < needed) {
        wanted *= 2;
    }
    data = realloc(data, wanted * size);
    MODEL_CHECK(data != NULL);
    *capacity = wanted;
    return data;
}

void oracle_init(oracle* o)
{
    memset(o, 0, sizeof *o);
}

static void oracle_component_free(oracle_component* component)
{
    for (uint32_t i = 0; i < component->instance_count; i++) {
        free(component->instances[i].value);
    }
    free(component->instances);
    free(component->value);
}

static void oracle_entity_free(oracle_entity* entity)
{
    for (uint32_t i = 0; i < entity->component_count; i++) {
        oracle_component_free(&entity->components[i]);
    }
    free(entity->components);
    free(entity->tags);
    free(entity);
}

void oracle_term(oracle* o)
{
    for (uint32_t i = 0; i < o->live_count; i++) {
        oracle_entity_free(o->live[i]);
    }
    free(o->live);
    free(o->seen);
    free(o->clusters);
    memset(o, 0, sizeof *o);
}

uint32_t oracle_type_add(oracle* o, const oracle_type* type)
{
    MODEL_CHECK(o->type_count < ORACLE_TYPES_MAX);
    o->types[o->type_count] = *type;
    return o->type_count++;
}

uint32_t oracle_type_index(const oracle* o, orr_type type)
{
    for (uint32_t i = 0; i < o->type_count; i++) {
        if (o->types[i].type.id == type.id) {
            return i;
        }
    }
    model_fail(__FILE__, __LINE__, "the world has a type that was not registered");
}

// ---- ids ----------------------------------------------------------------------------------------

static oracle_seen* oracle_seen_slot(const oracle* o, uint64_t id)
{
    uint64_t mask = o->seen_capacity - 1;
    uint64_t i = (id * 0x9E3779B97F4A7C15u >> 20) & mask;
    while (o->seen[i].id != 0 && o->seen[i].id != id) {
        i = (i + 1) & mask;
    }
    return &o->seen[i];
}

static void oracle_seen_reserve(oracle* o)
{
    if (o->seen_capacity != 0 && o->seen_count * 2 < o->seen_capacity) {
        return;
    }
    oracle_seen* old = o->seen;
    uint32_t old_capacity = o->seen_capacity;
    o->seen_capacity = old_capacity != 0 ? old_capacity * 2 : 1024;
    o->seen = calloc(o->seen_capacity, sizeof *o->seen);
    MODEL_CHECK(o->seen != NULL);
    for (uint32_t i = 0; i < old_capacity; i++) {
        if (old[i].id != 0) {
            *oracle_seen_slot(o, old[i].id) = old[i];
        }
    }
    free(old);
}

oracle_entity* oracle_find(const oracle* o, orr_entity id)
{
    return o->seen_capacity != 0 && id.id != 0 ? oracle_seen_slot(o, id.id)->entity : NULL;
}

oracle_entity* oracle_create(oracle* o, orr_entity id)
{
    MODEL_CHECK(id.id != 0);
    oracle_seen_reserve(o);
    oracle_seen* slot = oracle_seen_slot(o, id.id);
    MODEL_CHECK(slot->id == 0); // Else an id was used twice.
    oracle_entity* entity = calloc(1, sizeof *entity);
    MODEL_CHECK(entity != NULL);
    entity->id = id;
    entity->on = true;
    o->structure++;
    entity->live_index = o->live_count;
    *slot = (oracle_seen){id.id, entity};
    o->seen_count++;
    o->live = oracle_grow(o->live, &o->live_capacity, o->live_count + 1, sizeof *o->live);
    o->live[o->live_count++] = entity;
    return entity;
}

// ---- cascading deletes --------------------------------------------------------------------------

static orr_entity* oracle_reference_at(const oracle* o, const oracle_component* component,
                                       uint32_t i)
{
    return (orr_entity*)(void*)((char*)component->value +
                                o->types[component->type].references[i].offset);
}

// True if some reference of the entity with this policy refers to an entity that is being deleted;
// such references become null if `clear`.
static bool oracle_refers_to_dying(oracle* o, oracle_entity* entity, orr_on_destroy policy,
                                   bool clear)
{
    bool found = false;
    for (uint32_t c = 0; c < entity->component_count; c++) {
        oracle_component* component = &entity->components[c];
        const oracle_type* type = &o->types[component->type];
        for (uint32_t i = 0; i < type->reference_count; i++) {
            orr_entity* reference = oracle_reference_at(o, component, i);
            const oracle_entity* target = oracle_find(o, *reference);
            if (target != NULL && target->dying && type->references[i].on_destroy == policy) {
                found = true;
                if (clear) {
                    *reference = (orr_entity){0};
                    oracle_component_written(o, component);
                }
            }
        }
    }
    return found;
}

static void oracle_spread(oracle* o)
{
    for (bool more = o->reference_live > 0; more;) {
        more = false;
        for (uint32_t i = 0; i < o->live_count; i++) {
            oracle_entity* entity = o->live[i];
            if (entity->reference_count > 0 && !entity->dying &&
                oracle_refers_to_dying(o, entity, ORR_ON_DESTROY_DESTROY, false)) {
                entity->dying = more = true;
            }
        }
    }
    for (uint32_t i = 0; o->reference_live > 0 && i < o->live_count; i++) {
        if (o->live[i]->reference_count > 0 && !o->live[i]->dying) {
            (void)oracle_refers_to_dying(o, o->live[i], ORR_ON_DESTROY_CLEAR, true);
        }
    }
}

static void oracle_entity_remove(oracle* o, oracle_entity* entity)
{
    oracle_seen_slot(o, entity->id.id)->entity = NULL;
    o->dead[o->dead_count++ % ORACLE_DEAD_MAX] = entity->id;
    oracle_entity* last = o->live[--o->live_count];
    o->live[entity->live_index] = last;
    last->live_index = entity->live_index;
    o->reference_live -= entity->reference_count;
    oracle_entity_free(entity);
}

void oracle_destroy_many(oracle* o, oracle_entity* const* list, uint32_t count)
{
    o->structure++;
    for (uint32_t i = 0; i < count; i++) {
        list[i]->dying = true;
    }
    if (o->reference_live == 0) {
        for (uint32_t i = 0; i < count; i++) {
            oracle_entity_remove(o, list[i]);
        }
        return;
    }
    oracle_spread(o);
    for (uint32_t i = o->live_count; i > 0; i--) {
        if (o->live[i - 1]->dying) {
            oracle_entity_remove(o, o->live[i - 1]);
        }
    }
}

void oracle_destroy(oracle* o, oracle_entity* entity)
{
    oracle_destroy_many(o, &entity, 1);
}

void oracle_destroy_all(oracle* o)
{
    o->structure++;
    while (o->live_count > 0) {
        oracle_entity_remove(o, o->live[o->live_count - 1]);
    }
}

// ---- components and tags ------------------------------------------------------------------------

oracle_component* oracle_component_of(const oracle_entity* entity, uint32_t type)
{
    for (uint32_t i = 0; i < entity->component_count; i++) {
        if (entity->components[i].type == type) {
            return &entity->components[i];
        }
    }
    return NULL;
}

static void* oracle_value_make(const oracle_type* type, const void* value)
{
    char* made = calloc(1, type->size + 1);
    MODEL_CHECK(made != NULL);
    value = value != NULL ? value : type->preset;
    if (value != NULL) {
        memcpy(made, value, type->size);
    }
    return made;
}

void oracle_component_written(oracle* o, oracle_component* component)
{
    component->written = component->touched = ++o->clock;
}

void oracle_entity_switch(oracle* o, oracle_entity* entity, bool on)
{
    entity->touched = ++o->clock;
    entity->switched = entity->on != on ? o->clock : entity->switched;
    entity->on = on;
}

void oracle_instance_switch(oracle* o, oracle_component* component, uint32_t i, bool on)
{
    bool* now = component->instance_count > 0 ? &component->instances[i].on : &component->on;
    component->touched = ++o->clock;
    component->written = *now != on ? o->clock : component->written;
    *now = on;
}

void oracle_component_switch(oracle* o, oracle_component* component, bool on)
{
    for (uint32_t i = 0; i < oracle_value_count(component); i++) {
        oracle_instance_switch(o, component, i, on);
    }
}

static oracle_component* oracle_component_append(oracle* o, oracle_entity* entity, uint32_t type)
{
    o->structure++;
    entity->components =
        realloc(entity->components, sizeof *entity->components * (entity->component_count + 1));
    MODEL_CHECK(entity->components != NULL);
    oracle_component* component = &entity->components[entity->component_count++];
    *component = (oracle_component){.type = type, .on = true};
    o->reference_live += o->types[type].reference_count > 0;
    entity->reference_count += o->types[type].reference_count > 0;
    oracle_component_written(o, component);
    return component;
}

static oracle_instance* oracle_instance_append(oracle* o, oracle_component* component,
                                               const void* value)
{
    component->instances = realloc(component->instances,
                                   sizeof *component->instances * (component->instance_count + 1));
    MODEL_CHECK(component->instances != NULL);
    oracle_instance* instance = &component->instances[component->instance_count++];
    *instance = (oracle_instance){0, true, oracle_value_make(&o->types[component->type], value)};
    o->structure++;
    oracle_component_written(o, component);
    return instance;
}

static void oracle_component_add_alone(oracle* o, oracle_entity* entity, uint32_t type)
{
    if (oracle_component_of(entity, type) == NULL) {
        oracle_component* component = oracle_component_append(o, entity, type);
        if (o->types[type].multiple) {
            oracle_instance_append(o, component, NULL);
        } else {
            component->value = oracle_value_make(&o->types[type], NULL);
        }
    }
}

oracle_component* oracle_component_add(oracle* o, oracle_entity* entity, uint32_t type)
{
    if (oracle_component_of(entity, type) == NULL) {
        oracle_component_add_alone(o, entity, type);
        for (uint32_t i = 0; i < o->types[type].needs_count; i++) {
            oracle_component_add_alone(o, entity, o->types[type].needs[i]);
        }
    }
    return oracle_component_of(entity, type);
}

void oracle_component_remove(oracle* o, oracle_entity* entity, uint32_t type)
{
    oracle_component* component = oracle_component_of(entity, type);
    if (component != NULL) {
        o->structure++;
        o->reference_live -= o->types[type].reference_count > 0;
        entity->reference_count -= o->types[type].reference_count > 0;
        oracle_component_free(component);
        *component = entity->components[--entity->component_count];
    }
}

void oracle_component_set(oracle* o, oracle_entity* entity, uint32_t type, const void* value)
{
    oracle_component* component = oracle_component_add(o, entity, type);
    memcpy(oracle_value_at(component, 0), value, o->types[type].size);
    oracle_component_written(o, component);
}

bool oracle_component_needed(const oracle* o, const oracle_entity* entity, uint32_t type)
{
    for (uint32_t c = 0; c < entity->component_count; c++) {
        const oracle_type* other = &o->types[entity->components[c].type];
        for (uint32_t i = 0; entity->components[c].type != type && i < other->needs_count; i++) {
            if (other->needs[i] == type) {
                return true;
            }
        }
    }
    return false;
}

bool oracle_component_on(const oracle_component* component)
{
    bool on = component->instance_count == 0 && component->on;
    for (uint32_t i = 0; i < component->instance_count; i++) {
        on |= component->instances[i].on;
    }
    return on;
}

uint32_t oracle_value_count(const oracle_component* component)
{
    return component->instance_count > 0 ? component->instance_count : 1;
}

void* oracle_value_at(const oracle_component* component, uint32_t i)
{
    return component->instance_count > 0 ? component->instances[i].value : component->value;
}

// ---- instances ----------------------------------------------------------------------------------

oracle_instance* oracle_instance_add(oracle* o, oracle_entity* entity, uint32_t type,
                                     const void* value)
{
    if (oracle_component_of(entity, type) != NULL) {
        return oracle_instance_append(o, oracle_component_of(entity, type), value);
    }
    oracle_component* component = oracle_component_add(o, entity, type);
    if (value != NULL) {
        memcpy(component->instances[0].value, value, o->types[type].size);
    }
    return &component->instances[0];
}

void oracle_instance_remove(oracle* o, oracle_entity* entity, uint32_t type, uint32_t i)
{
    oracle_component* component = oracle_component_of(entity, type);
    if (component->instance_count == 1) {
        oracle_component_remove(o, entity, type);
        return;
    }
    free(component->instances[i].value);
    memmove(component->instances + i, component->instances + i + 1,
            sizeof *component->instances * (component->instance_count - i - 1));
    component->instance_count--;
    o->structure++;
    oracle_component_written(o, component);
}

void oracle_instances_learn(const oracle* o, const orr_world* world, const oracle_entity* entity,
                            oracle_component* component)
{
    const orr_component_id* ids = NULL;
    uint32_t count =
        orr_instances_get(world, entity->id, o->types[component->type].type, NULL, &ids);
    MODEL_CHECK(count == component->instance_count);
    for (uint32_t i = 0; i < count; i++) {
        oracle_instance* instance = &component->instances[i];
        instance->id = instance->id == 0 ? ids[i] : instance->id;
        MODEL_CHECK(ids[i] != 0 && instance->id == ids[i]);
        for (uint32_t j = 0; j < i; j++) {
            MODEL_CHECK(ids[j] != ids[i]);
        }
    }
}

// ---- tags and names -----------------------------------------------------------------------------

oracle_entity* oracle_named(const oracle* o, orr_entity scope, const char* name)
{
    for (uint32_t i = 0; i < o->live_count; i++) {
        if (o->live[i]->name[0] != '\0' && o->live[i]->scope.id == scope.id &&
            strcmp(o->live[i]->name, name) == 0) {
            return o->live[i];
        }
    }
    return NULL;
}

bool oracle_tag_has(const oracle_entity* entity, orr_tag tag)
{
    for (uint32_t i = 0; i < entity->tag_count; i++) {
        if (entity->tags[i] == tag) {
            return true;
        }
    }
    return false;
}

void oracle_tag_add(oracle_entity* entity, orr_tag tag)
{
    if (oracle_tag_has(entity, tag)) {
        return;
    }
    entity->tags = realloc(entity->tags, sizeof *entity->tags * (entity->tag_count + 1));
    MODEL_CHECK(entity->tags != NULL);
    entity->tags[entity->tag_count++] = tag;
}

void oracle_tag_remove(oracle_entity* entity, orr_tag tag)
{
    for (uint32_t i = 0; i < entity->tag_count; i++) {
        if (entity->tags[i] == tag) {
            entity->tags[i] = entity->tags[--entity->tag_count];
            return;
        }
    }
}

oracle_entity* oracle_copy(oracle* o, const oracle_entity* source, orr_entity id)
{
    oracle_entity* copy = oracle_create(o, id);
    copy->on = source->on;
    for (uint32_t i = 0; i < source->component_count; i++) {
        const oracle_component* from = &source->components[i];
        oracle_component* to = oracle_component_append(o, copy, from->type);
        to->on = from->on;
        if (from->instance_count == 0) {
            to->value = oracle_value_make(&o->types[from->type], from->value);
        }
        for (uint32_t k = 0; k < from->instance_count; k++) {
            oracle_instance_append(o, to, from->instances[k].value)->on = from->instances[k].on;
        }
    }
    for (uint32_t i = 0; i < source->tag_count; i++) {
        oracle_tag_add(copy, source->tags[i]);
    }
    return copy;
}

bool oracle_entity_fits(const oracle* o, const oracle_entity* entity, const orr_type* types,
                        uint32_t type_count, const orr_tag* tags, uint32_t tag_count)
{
    uint32_t in_chunks = 0;
    for (uint32_t i = 0; i < entity->component_count; i++) {
        in_chunks += !o->types[entity->components[i].type].pinned;
    }
    if (in_chunks != type_count || entity->tag_count != tag_count) {
        return false;
    }
    for (uint32_t i = 0; i < type_count; i++) {
        if (oracle_component_of(entity, oracle_type_index(o, types[i])) == NULL) {
            return false;
        }
    }
    for (uint32_t i = 0; i < tag_count; i++) {
        if (!oracle_tag_has(entity, tags[i])) {
            return false;
        }
    }
    return true;
}
