// SPDX-License-Identifier: MIT
// Copies of the world that are built from messages alone, and compared with the world.
#include "model/program.h"
#include "test.h"

#include <stdlib.h>

enum {
    INSTANCES = 32,
    VALUE_SIZE = sizeof(orr_time_traveller), // The largest type.
    TYPES = 18,
    TYPES_GOLDEN = 14 // Of golden programs.
};

static const orr_type_desc* const mirrored[TYPES] = {ORR_TYPE(Spot),
                                                     ORR_TYPE(Speed),
                                                     ORR_TYPE(Fuel),
                                                     ORR_TYPE(Note),
                                                     ORR_TYPE(Orb),
                                                     ORR_TYPE(Root),
                                                     ORR_TYPE(Kin),
                                                     ORR_TYPE(Leash),
                                                     ORR_TYPE(Purse),
                                                     ORR_TYPE(Friend),
                                                     ORR_TYPE(Gift),
                                                     ORR_TYPE(Calm),
                                                     ORR_TYPE(Weather),
                                                     ORR_TYPE(orr_name),
                                                     ORR_TYPE(Glaze),
                                                     ORR_TYPE(orr_time),
                                                     ORR_TYPE(orr_time_traveller),
                                                     ORR_TYPE(orr_time_stretcher)};

typedef struct value {
    orr_component_id id;
    bool off;
    uint8_t bytes[VALUE_SIZE];
} value;

typedef struct cell {
    uint32_t count;
    value* values; // [INSTANCES] of a multiple type, else [1]. NULL: never had one.
} cell;

typedef struct image {
    orr_entity entity; // Null: not there.
    cell cells[TYPES];
    orr_tag tags[4];
    uint32_t tag_count;
    bool off;
} image;

struct program_mirror {
    image images[PROGRAM_INDEX_MAX];
    orr_type types[TYPES];
    uint32_t sizes[TYPES];
    uint32_t type_count;
    uint64_t messages;
};

program_mirror* program_mirror_make(orr_world* world, bool golden)
{
    program_mirror* m = calloc(1, sizeof(program_mirror));
    if (m == NULL) {
        return NULL;
    }
    m->type_count = golden ? TYPES_GOLDEN : TYPES;
    for (uint32_t t = 0; t < m->type_count; t++) {
        m->types[t] = orr_type_of(world, mirrored[t]);
        m->sizes[t] = orr_type_info_get(world, m->types[t])->size;
    }
    return m;
}

static void image_clear(image* i)
{
    for (uint32_t t = 0; t < TYPES; t++) {
        free(i->cells[t].values);
    }
    memset(i, 0, sizeof *i);
}

void program_mirror_free(program_mirror* m)
{
    for (uint32_t i = 0; m != NULL && i < PROGRAM_INDEX_MAX; i++) {
        image_clear(&m->images[i]);
    }
    free(m);
}

// The system begins, or lost its queue: it receives everything anew.
void program_mirror_start(orr_run* run)
{
    program_mirror* m = orr_run_user(run);
    for (uint32_t i = 0; i < PROGRAM_INDEX_MAX; i++) {
        image_clear(&m->images[i]);
    }
}

static uint32_t type_number(const program_mirror* m, orr_type type)
{
    for (uint32_t t = 0; t < m->type_count; t++) {
        if (m->types[t].id == type.id) {
            return t;
        }
    }
    return TYPES;
}

static image* image_of(program_mirror* m, orr_entity entity)
{
    uint32_t index = (uint32_t)entity.id;
    if (index >= PROGRAM_INDEX_MAX) {
        program_fault("index %u exceeds the mirror", index);
        index = PROGRAM_INDEX_MAX - 1;
    }
    return &m->images[index];
}

static image* image_there(program_mirror* m, const orr_message* message, uint32_t i)
{
    image* there = image_of(m, message->entities[i]);
    if (there->entity.id != message->entities[i].id) {
        program_fault("%s, cause %s, about an entity that the mirror does not have",
                      orr_message_kind_name(message->kind), orr_cause_name(message->cause));
        there->entity = message->entities[i];
    }
    return there;
}

static value* cell_find(cell* c, orr_component_id id)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (c->values[i].id == id) {
            return &c->values[i];
        }
    }
    return NULL;
}

// Value `i` of an array; NULL: there are none, as of a marker.
static const uint8_t* value_at(const void* values, uint32_t i, size_t size)
{
    return values != NULL ? (const uint8_t*)values + i * size : NULL;
}

static void cell_push(program_mirror* m, cell* c, uint32_t t, orr_component_id id, const void* from)
{
    if (c->values == NULL) {
        c->values = calloc(INSTANCES, sizeof *c->values);
    }
    if (c->values == NULL || c->count == INSTANCES || cell_find(c, id) != NULL) {
        program_fault("a component of type %s that the mirror already has", mirrored[t]->name);
        return;
    }
    value* v = &c->values[c->count++];
    memset(v, 0, sizeof *v);
    v->id = id;
    if (m->sizes[t] > 0) {
        memcpy(v->bytes, from, m->sizes[t]);
    }
}

static void tags_take(image* there, const orr_message* message)
{
    there->tag_count = message->tag_count < 4 ? message->tag_count : 4;
    if (there->tag_count > 0) {
        memcpy(there->tags, message->tags, there->tag_count * sizeof(orr_tag));
    }
}

static void take_added(program_mirror* m, const orr_message* message)
{
    for (uint32_t i = 0; i < message->count; i++) {
        image* there = image_of(m, message->entities[i]);
        if (there->entity.id == message->entities[i].id) {
            program_fault("EntityAdded, cause %s, of an entity that the mirror has",
                          orr_cause_name(message->cause));
        }
        // An entity with its index may still be there, but not in a travel: there removals come
        // first.
        if (message->cause == ORR_CAUSE_TRAVEL && there->entity.id != 0) {
            program_fault("EntityAdded by a travel, before EntityRemoved of %uv%u",
                          (uint32_t)there->entity.id, (uint32_t)(there->entity.id >> 32));
        }
        image_clear(there);
        there->entity = message->entities[i];
        tags_take(there, message);
    }
    for (uint32_t c = 0; c < message->column_count; c++) {
        const orr_message_column* column = &message->columns[c];
        uint32_t t = type_number(m, column->type);
        for (uint32_t i = 0; t < TYPES && i < message->count; i++) {
            uint32_t first = column->firsts != NULL ? column->firsts[i] : i;
            uint32_t last = column->firsts != NULL ? column->firsts[i + 1] : i + 1;
            image* there = image_there(m, message, i);
            for (uint32_t v = first; v < last; v++) {
                cell_push(m, &there->cells[t], t, column->ids != NULL ? column->ids[v] : 0,
                          value_at(column->values, v, m->sizes[t]));
            }
        }
    }
}

static void take_switch(program_mirror* m, const orr_message* message, uint32_t i)
{
    const orr_enabled* e = (const orr_enabled*)message->values + i;
    image* there = image_there(m, message, i);
    if (e->type.id == 0) {
        there->off = e->on == 0;
        return;
    }
    uint32_t t = type_number(m, e->type);
    value* v = t < TYPES ? cell_find(&there->cells[t], message->ids != NULL ? message->ids[i] : 0)
                         : NULL;
    if (v == NULL) {
        program_fault("orr_enabled of a component that the mirror does not have");
        return;
    }
    v->off = e->on == 0;
}

static void take_component(program_mirror* m, const orr_message* message, uint32_t i)
{
    uint32_t t = type_number(m, message->type);
    image* there = image_there(m, message, i);
    if (t == TYPES) {
        program_fault("a message about a type that is not mirrored");
        return;
    }
    cell* c = &there->cells[t];
    orr_component_id id = message->ids != NULL ? message->ids[i] : 0;
    const uint8_t* from = value_at(message->values, i, m->sizes[t]);
    value* v = cell_find(c, id);
    if (message->kind == ORR_COMPONENT_ADDED) {
        cell_push(m, c, t, id, from);
    } else if (v == NULL) {
        program_fault("%s, cause %s, of a %s that the mirror does not have",
                      orr_message_kind_name(message->kind), orr_cause_name(message->cause),
                      mirrored[t]->name);
    } else if (message->kind == ORR_COMPONENT_CHANGED) {
        memcpy(v->bytes, from, m->sizes[t]);
    } else {
        *v = c->values[--c->count];
    }
}

void program_mirror_receive(orr_run* run)
{
    program_mirror* m = orr_run_user(run);
    ORR_MESSAGES(message, run)
    {
        m->messages++;
        if (message->kind == ORR_ENTITY_ADDED) {
            take_added(m, message);
            continue;
        }
        for (uint32_t i = 0; i < message->count; i++) {
            if (message->kind == ORR_ENTITY_REMOVED) {
                image* there = image_of(m, message->entities[i]);
                if (there->entity.id == 0) {
                    program_fault("EntityRemoved, cause %s, of an entity that the mirror lacks",
                                  orr_cause_name(message->cause));
                }
                if (there->entity.id == message->entities[i].id) {
                    image_clear(there);
                }
            } else if (orr_message_is(message, orr_tags)) {
                tags_take(image_there(m, message, i), message);
            } else if (orr_message_is(message, orr_enabled)) {
                take_switch(m, message, i);
            } else {
                take_component(m, message, i);
            }
        }
    }
}

// ---- comparing ----------------------------------------------------------------------------------

static void compare_type(program_run* r, program_mirror* m, const char* name, orr_entity entity,
                         uint32_t t)
{
    cell* c = &image_of(m, entity)->cells[t];
    const void* values = NULL;
    const orr_component_id* ids = NULL;
    const orr_type_info* info = orr_type_info_get(r->world, m->types[t]);
    uint32_t count = orr_instances_get(r->world, entity, m->types[t], &values, &ids);
    char text[200];
    (void)orr_entity_print(r->world, entity, text, sizeof text);
    PROGRAM_CHECK(r, count == c->count, "%s: %s has %u of %s, the mirror %u", name, text, count,
                  info->name, c->count);
    for (uint32_t i = 0; i < count; i++) {
        orr_component_id id = info->multiplicity == ORR_MULTIPLE ? ids[i] : 0;
        value* v = cell_find(c, id);
        PROGRAM_CHECK(r, v != NULL, "%s: %s: the mirror lacks an instance of %s", name, text,
                      info->name);
        PROGRAM_CHECK(r,
                      info->size == 0 ||
                          orr_value_compare(info, (const uint8_t*)values + (size_t)i * info->size,
                                            v->bytes) == 0,
                      "%s: %s: the mirror has another %s", name, text, info->name);
        PROGRAM_CHECK(r, orr_instance_enabled(r->world, entity, m->types[t], id) == !v->off,
                      "%s: %s: the mirror has another enable bit of %s", name, text, info->name);
    }
}

static void compare_entity(program_run* r, program_mirror* m, const char* name, orr_entity entity)
{
    const image* there = image_of(m, entity);
    orr_cluster_info info;
    PROGRAM_CHECK(r, there->entity.id == entity.id, "%s: the mirror lacks %uv%u", name,
                  (uint32_t)entity.id, (uint32_t)(entity.id >> 32));
    for (uint32_t t = 0; t < m->type_count; t++) {
        compare_type(r, m, name, entity, t);
    }
    PROGRAM_CHECK(
        r, orr_cluster_info_get(r->world, orr_entity_cluster(r->world, entity), &info) == ORR_OK,
        "the cluster of an entity is gone");
    PROGRAM_CHECK(r,
                  there->tag_count == info.tag_count &&
                      (info.tag_count == 0 ||
                       memcmp(there->tags, info.tags, info.tag_count * sizeof(orr_tag)) == 0),
                  "%s: the mirror has other tags", name);
    PROGRAM_CHECK(r, there->off == !orr_entity_enabled(r->world, entity),
                  "%s: the mirror has another enable bit of an entity", name);
}

void program_mirror_compare(program_run* r, program_mirror* m, const char* name)
{
    uint32_t count = 0;
    ORR_EACH (it, r->all) {
        for (uint32_t i = 0; i < it.count; i++) {
            compare_entity(r, m, name, orr_iter_entity(&it, i));
        }
        count += it.count;
    }
    for (uint32_t i = 0; i < PROGRAM_INDEX_MAX; i++) {
        count -= m->images[i].entity.id != 0;
    }
    PROGRAM_CHECK(r, count == 0, "%s: the mirror has %u entities too many", name, 0 - count);
}

// ---- ledgers ------------------------------------------------------------------------------------

static void ledger_take(Ledger* l, const orr_message* m, uint32_t i)
{
    uint32_t index = (uint32_t)m->entities[i].id;
    if (index >= PROGRAM_INDEX_MAX) {
        program_fault("index %u exceeds the ledger", index);
        return;
    }
    bool there = l->ids[index] == m->entities[i].id;
    if (m->kind == ORR_ENTITY_REMOVED) {
        if (l->ids[index] == 0) {
            program_fault("a ledger received EntityRemoved, cause %s, of an entity that it lacks",
                          orr_cause_name(m->cause));
        }
        if (there) {
            l->ids[index] = 0;
            l->count--;
        }
        return;
    }
    if ((m->kind == ORR_ENTITY_ADDED) == there) {
        program_fault("a ledger received %s, cause %s, of an entity that it %s",
                      orr_message_kind_name(m->kind), orr_cause_name(m->cause),
                      there ? "has" : "lacks");
    }
    if (m->kind == ORR_ENTITY_ADDED) {
        l->count += l->ids[index] == 0; // An entity with the same index may still be there.
        l->ids[index] = m->entities[i].id;
        l->purses[index] = (Purse){-1, 0};
    }
    const Spot* spots = orr_values(m, Spot);
    const Purse* purses = orr_values(m, Purse);
    l->spots[index] = spots != NULL ? spots[i] : l->spots[index];
    l->purses[index] = purses != NULL                     ? purses[i]
                       : m->kind == ORR_COMPONENT_REMOVED ? (Purse){-1, 0}
                                                          : l->purses[index];
}

// The system receives everything anew.
void program_ledger_start(orr_run* run)
{
    memset(orr_state(run, Ledger), 0, sizeof(Ledger));
}

void program_ledger_receive(orr_run* run)
{
    Ledger* l = orr_state(run, Ledger);
    uint64_t dice = orr_run_random(run, (orr_entity){0});
    const program_settings* s = orr_run_settings(run);
    uint32_t most = (dice ^ s->system->salt) % 3 == 0 ? 2 : UINT32_MAX; // Messages it takes.
    l->complete = 0;
    l->tick = run->tick;
    for (uint32_t taken = 0; taken < most; taken++) {
        const orr_message* m = orr_receive(run);
        if (m == NULL) {
            l->complete = 1;
            return;
        }
        for (uint32_t i = 0; i < m->count; i++) {
            ledger_take(l, m, i);
        }
    }
}

bool program_ledger_compare(program_run* r, orr_system system)
{
    const Ledger* l = orr_system_state(r->world, system);
    if (l == NULL || l->complete == 0) {
        return false;
    }
    uint32_t count = 0;
    orr_query* query = orr_query_text(r->world, "Spot, ?Purse, !Calm");
    PROGRAM_CHECK(r, query != NULL, "%s", orr_error_last(r->world));
    ORR_EACH (it, query) {
        const Spot* spots = orr_read(&it, Spot);
        const Purse* purses = orr_read(&it, Purse);
        for (uint32_t i = 0; i < it.count; i++) {
            orr_entity entity = orr_iter_entity(&it, i);
            uint32_t index = (uint32_t)entity.id;
            Purse purse = purses != NULL ? purses[i] : (Purse){-1, 0};
            PROGRAM_CHECK(r, l->ids[index] == entity.id, "the ledger lacks %uv%u", index,
                          (uint32_t)(entity.id >> 32));
            PROGRAM_CHECK(r,
                          memcmp(&l->spots[index], &spots[i], sizeof *spots) == 0 &&
                              memcmp(&l->purses[index], &purse, sizeof purse) == 0,
                          "the ledger has other values of %uv%u", index,
                          (uint32_t)(entity.id >> 32));
        }
        count += it.count;
    }
    orr_query_destroy(query);
    PROGRAM_CHECK(r, count == l->count, "the ledger has %u entities, the query %u", l->count,
                  count);
    return true;
}
