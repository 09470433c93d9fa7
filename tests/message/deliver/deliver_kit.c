// SPDX-License-Identifier: MIT
#include "message/deliver/deliver_kit.h"
#include "test.h"

#include <stdlib.h>

orri_reader* deliver_kit_reader_of(orr_world* world, const char* text, bool all_types,
                                   uint64_t queue_max)
{
    orr_query* query = orr_query_text(world, text);
    CHECK(query != NULL);
    orri_reader* reader = orri_reader_create(
        world, &(orri_reader_desc){
                   .name = text, .query = query, .all_types = all_types, .queue_max = queue_max});
    CHECK(reader != NULL);
    orri_reader_enable(world, reader, true);
    return reader;
}

orri_reader* deliver_kit_reader(orr_world* world, const char* text)
{
    orri_reader* reader = deliver_kit_reader_of(world, text, false, DELIVER_KIT_ALL);
    CHECK_OK(orri_diff_run(world, (orr_system){0, 0}, false)); // It is no longer new.
    return reader;
}

// ---- messages as text ---------------------------------------------------------------------------

static void kit_print_value(const orr_message* m, orr_type type, const void* values, uint32_t i,
                            orri_text* out)
{
    char value[2048];
    const orr_type_info* info = orr_type_info_get(m->world, type);
    if (values == NULL || info->size == 0) {
        return;
    }
    if (strcmp(info->name, "orr_enabled") == 0) {
        const orr_enabled* e = (const orr_enabled*)values + i;
        orri_text_add(out, " %s%s", e->on ? "+" : "-",
                      e->type.id != 0 ? orr_type_info_get(m->world, e->type)->name : "*");
        return;
    }
    (void)orr_value_print(info, (const uint8_t*)values + (size_t)i * info->size, value,
                          sizeof value);
    orri_text_add(out, " %s", value);
}

static void kit_print_column(const orr_message* m, const orr_message_column* column, orri_text* out)
{
    orri_text_add(out, " %s:", orr_type_info_get(m->world, column->type)->name);
    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t first = column->firsts != NULL ? column->firsts[i] : i;
        uint32_t end = column->firsts != NULL ? column->firsts[i + 1] : i + 1;
        if (first == end) {
            orri_text_add(out, " -");
        }
        for (uint32_t k = first; k < end; k++) {
            if (column->ids != NULL) {
                orri_text_add(out, " %u", column->ids[k]);
            }
            kit_print_value(m, column->type, column->values, k, out);
        }
        orri_text_add(out, i + 1 < m->count ? "," : "");
    }
}

static void kit_print_message(const orr_message* m, orri_text* out)
{
    static const char* const kinds[] = {"EntityAdded", "ComponentAdded", "ComponentChanged",
                                        "ComponentRemoved", "EntityRemoved"};
    static const char* const causes[] = {"written", "created", "destroyed", "component",
                                         "enabled", "reader",  "travel"};
    orri_text_add(out, "%s %s", kinds[m->kind], causes[m->cause]);
    if (m->system.id != 0) {
        orri_text_add(out, " by %u", m->system.id);
    }
    if (m->type.id != 0) {
        orri_text_add(out, " %s", orr_type_info_get(m->world, m->type)->name);
    }
    for (uint32_t i = 0; i < m->count; i++) {
        orri_text_add(out, " %s", orri_id_format(m->entities[i]).text);
        if (m->ids != NULL) {
            orri_text_add(out, "/%u", m->ids[i]);
        }
        kit_print_value(m, m->type, m->values, i, out);
    }
    if (m->kind == ORR_ENTITY_ADDED || m->tags != NULL || orr_message_is(m, orr_tags)) {
        orri_text_add(out, " {");
        for (uint32_t t = 0; t < m->type_count; t++) {
            orri_text_add(out, "%s%s", t > 0 ? " " : "",
                          orr_type_info_get(m->world, m->types[t])->name);
        }
        for (uint32_t t = 0; t < m->tag_count; t++) {
            orri_text_add(out, "%s#%llu", t + m->type_count > 0 ? " " : "",
                          (unsigned long long)m->tags[t]);
        }
        orri_text_add(out, "}");
    }
    for (uint32_t c = 0; c < m->column_count; c++) {
        kit_print_column(m, &m->columns[c], out);
    }
    orri_text_add(out, "\n");
}

const char* deliver_kit_take(orri_reader* reader)
{
    static char text[1 << 16];
    orri_text out = {text, sizeof text, 0};
    text[0] = '\0';
    for (const orr_message* m; (m = orri_reader_next(reader)) != NULL;) {
        kit_print_message(m, &out);
    }
    return text;
}

const char* deliver_kit_diff(orr_world* world, orri_reader* reader)
{
    CHECK_OK(orri_diff_run(world, (orr_system){0, 0}, false));
    return deliver_kit_take(reader);
}

// ---- mirrors ------------------------------------------------------------------------------------

enum {
    MIRROR_INSTANCES = 64
};

typedef struct mirror_part {
    orr_type type;
    uint32_t count;
    orr_component_id ids[MIRROR_INSTANCES];
    bool off[MIRROR_INSTANCES];
    uint8_t* values;
    struct mirror_part* next;
} mirror_part;

typedef struct mirror_entity {
    orr_entity id;
    bool off;
    mirror_part* parts;
    orr_tag tags[ORR_CLUSTER_TAGS_MAX];
    uint32_t tag_count;
    struct mirror_entity* next;
} mirror_entity;

struct mirror {
    orr_world* world;
    orr_query* query;
    orri_reader* reader;
    bool all_types, tags, switches;
    bool loose; // Instances stand in another order than the world's.
    mirror_entity* buckets[1024];
    uint64_t count, messages;
};

static bool mirror_names(const mirror* m, const char* name)
{
    orr_type type = orr_type_find(m->world, name);
    bool found = false;
    for (uint32_t f = 0; f < m->query->field_count; f++) {
        found = found || (type.id != 0 && m->query->fields[f].type.id == type.id);
    }
    return found;
}

mirror* mirror_make(orr_world* world, const char* query, bool all_types, uint64_t queue_max)
{
    mirror* m = calloc(1, sizeof *m);
    m->world = world;
    m->reader = deliver_kit_reader_of(world, query, all_types, queue_max);
    m->query = orr_query_text(world, query);
    m->all_types = all_types;
    m->tags = mirror_names(m, "orr_tags");
    m->switches = mirror_names(m, "orr_enabled");
    return m;
}

void mirror_loosen(mirror* m)
{
    m->loose = true;
}

orri_reader* mirror_reader(mirror* m)
{
    return m->reader;
}

uint64_t mirror_messages(const mirror* m)
{
    return m->messages;
}

static void mirror_free_entity(mirror_entity* e)
{
    while (e->parts != NULL) {
        mirror_part* part = e->parts;
        e->parts = part->next;
        free(part->values);
        free(part);
    }
    free(e);
}

void mirror_clear(mirror* m)
{
    for (uint32_t b = 0; b < 1024; b++) {
        while (m->buckets[b] != NULL) {
            mirror_entity* e = m->buckets[b];
            m->buckets[b] = e->next;
            mirror_free_entity(e);
        }
    }
    m->count = 0;
}

void mirror_free(mirror* m)
{
    mirror_clear(m);
    free(m);
}

static mirror_entity* mirror_find(const mirror* m, orr_entity id)
{
    mirror_entity* e = m->buckets[id.id % 1021];
    while (e != NULL && e->id.id != id.id) {
        e = e->next;
    }
    return e;
}

static mirror_part* mirror_part_of(mirror_entity* e, orr_type type)
{
    mirror_part* part = e->parts;
    while (part != NULL && part->type.id != type.id) {
        part = part->next;
    }
    return part;
}

static uint32_t mirror_instance(const mirror_part* part, orr_component_id id)
{
    uint32_t i = 0;
    while (part != NULL && i < part->count && part->ids[i] != id) {
        i++;
    }
    return i;
}

static bool mirror_tracks(const mirror* m, orr_type type)
{
    bool named = m->all_types;
    for (uint32_t f = 0; f < m->query->field_count; f++) {
        named = named || m->query->fields[f].type.id == type.id;
    }
    return named;
}

// Texts in batches stay readable: they contain the number beside them.
static void mirror_check_text(const mirror* m, const orr_type_info* info, const void* value)
{
    if (strcmp(info->name, "Label") == 0 || strcmp(info->name, "Note") == 0 ||
        strcmp(info->name, "Sign") == 0) {
        Label label;
        memcpy(&label, value, sizeof label);
        char expected[32] = "";
        if (label.number != 0) {
            (void)snprintf(expected, sizeof expected, "t%d", label.number);
        }
        CHECK_STR(orr_string_text(m->world, label.text), expected);
    }
}

static void mirror_add_part(const mirror* m, mirror_entity* e, orr_type type, orr_component_id id,
                            const void* value)
{
    const orr_type_info* info = orr_type_info_get(m->world, type);
    CHECK(mirror_tracks(m, type));
    CHECK((id != 0) == (info->multiplicity == ORR_MULTIPLE));
    mirror_part* part = mirror_part_of(e, type);
    if (part == NULL) {
        part = calloc(1, sizeof *part);
        part->values = calloc(MIRROR_INSTANCES, info->size > 0 ? info->size : 1);
        part->type = type;
        part->next = e->parts;
        e->parts = part;
    }
    CHECK_EQ(mirror_instance(part, id), part->count);
    CHECK(part->count < MIRROR_INSTANCES);
    CHECK((value == NULL) == (info->size == 0));
    if (info->size > 0) {
        mirror_check_text(m, info, value);
        memcpy(part->values + (size_t)part->count * info->size, value, info->size);
    }
    part->off[part->count] = false;
    part->ids[part->count++] = id;
}

static void mirror_change_part(const mirror* m, mirror_entity* e, orr_type type,
                               orr_component_id id, const void* value)
{
    const orr_type_info* info = orr_type_info_get(m->world, type);
    CHECK(mirror_tracks(m, type));
    mirror_part* part = mirror_part_of(e, type);
    uint32_t i = mirror_instance(part, id);
    CHECK(part != NULL && i < part->count);
    uint8_t* mine = part->values + (size_t)i * info->size;
    // For types with hooks bytes are compared, which moving may change.
    CHECK(info->has_owned || info->has_hooks || orr_value_compare(info, mine, value) != 0);
    mirror_check_text(m, info, value);
    memcpy(mine, value, info->size);
}

static void mirror_remove_part(const mirror* m, mirror_entity* e, orr_type type,
                               orr_component_id id)
{
    const orr_type_info* info = orr_type_info_get(m->world, type);
    mirror_part* part = mirror_part_of(e, type);
    uint32_t i = mirror_instance(part, id);
    CHECK(part != NULL && i < part->count);
    part->count--;
    for (uint32_t k = i; k < part->count; k++) {
        part->ids[k] = part->ids[k + 1];
        part->off[k] = part->off[k + 1];
        memcpy(part->values + (size_t)k * info->size, part->values + (size_t)(k + 1) * info->size,
               info->size);
    }
    if (part->count == 0) {
        mirror_part** link = &e->parts;
        while (*link != part) {
            link = &(*link)->next;
        }
        *link = part->next;
        free(part->values);
        free(part);
    }
}

static void mirror_switch(const mirror* m, mirror_entity* e, const orr_enabled* value,
                          orr_component_id id)
{
    CHECK(m->switches);
    bool* off = &e->off;
    if (value->type.id != 0) {
        mirror_part* part = mirror_part_of(e, value->type);
        uint32_t i = mirror_instance(part, id);
        CHECK(part != NULL && i < part->count);
        off = &part->off[i];
    }
    CHECK(*off == (value->on != 0));
    *off = value->on == 0;
}

static void mirror_set_tags(mirror_entity* e, const orr_message* message)
{
    e->tag_count = message->tag_count;
    for (uint32_t t = 0; t < message->tag_count; t++) {
        e->tags[t] = message->tags[t];
    }
}

static void mirror_add_entity(mirror* m, const orr_message* message, uint32_t i)
{
    orr_entity id = message->entities[i];
    CHECK(mirror_find(m, id) == NULL);
    mirror_entity* e = calloc(1, sizeof *e);
    e->id = id;
    e->next = m->buckets[id.id % 1021];
    m->buckets[id.id % 1021] = e;
    m->count++;
    mirror_set_tags(e, message);
    for (uint32_t c = 0; c < message->column_count; c++) {
        const orr_message_column* column = &message->columns[c];
        size_t size = orr_type_info_get(m->world, column->type)->size;
        uint32_t first = column->firsts != NULL ? column->firsts[i] : i;
        uint32_t end = column->firsts != NULL ? column->firsts[i + 1] : i + 1;
        for (uint32_t k = first; k < end; k++) {
            mirror_add_part(m, e, column->type, column->ids != NULL ? column->ids[k] : 0,
                            size > 0 ? (const uint8_t*)column->values + k * size : NULL);
        }
    }
}

static void mirror_remove_entity(mirror* m, orr_entity id)
{
    mirror_entity** link = &m->buckets[id.id % 1021];
    while (*link != NULL && (*link)->id.id != id.id) {
        link = &(*link)->next;
    }
    CHECK(*link != NULL);
    mirror_entity* e = *link;
    *link = e->next;
    mirror_free_entity(e);
    m->count--;
}

static void mirror_apply(mirror* m, const orr_message* message, uint32_t i)
{
    orr_entity id = message->entities[i];
    orr_component_id component = message->ids != NULL ? message->ids[i] : 0;
    const orr_type_info* info = orr_type_info_get(m->world, message->type);
    const void* value =
        message->values != NULL ? (const uint8_t*)message->values + (size_t)i * info->size : NULL;
    if (message->kind == ORR_ENTITY_ADDED) {
        mirror_add_entity(m, message, i);
        return;
    }
    if (message->kind == ORR_ENTITY_REMOVED) {
        mirror_remove_entity(m, id);
        return;
    }
    mirror_entity* e = mirror_find(m, id);
    CHECK(e != NULL);
    if (orr_message_is(message, orr_tags)) {
        CHECK(m->tags);
        mirror_set_tags(e, message);
    } else if (orr_message_is(message, orr_enabled)) {
        mirror_switch(m, e, value, component);
    } else if (message->kind == ORR_COMPONENT_ADDED) {
        mirror_add_part(m, e, message->type, component, value);
    } else if (message->kind == ORR_COMPONENT_CHANGED) {
        mirror_change_part(m, e, message->type, component, value);
    } else {
        CHECK(value == NULL);
        mirror_remove_part(m, e, message->type, component);
    }
}

void mirror_take(mirror* m)
{
    for (const orr_message* message; (message = orri_reader_next(m->reader)) != NULL;) {
        CHECK(message->count > 0);
        m->messages++;
        for (uint32_t i = 0; i < message->count; i++) {
            mirror_apply(m, message, i);
        }
    }
}

// ---- comparing ----------------------------------------------------------------------------------

static void mirror_compare_type(const mirror* m, mirror_entity* e, const orr_type_info* info,
                                orr_type type)
{
    const mirror_part* part = mirror_part_of(e, type);
    const void* values = NULL;
    const orr_component_id* ids = NULL;
    uint32_t count = 0;
    if (info->multiplicity == ORR_MULTIPLE) {
        count = orr_instances_get(m->world, e->id, type, &values, &ids);
    } else if (orr_component_has(m->world, e->id, type)) {
        values = orr_component_get(m->world, e->id, type);
        count = 1;
    }
    CHECK_EQ(part != NULL ? part->count : 0, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = i;
        for (uint32_t n = 0; m->loose && n < count; n++) {
            k = ids != NULL && part->ids[n] == ids[i] ? n : k;
        }
        CHECK_EQ(part->ids[k], ids != NULL ? ids[i] : 0);
        CHECK(info->size == 0 ||
              orr_value_compare(info, (const uint8_t*)values + (size_t)i * info->size,
                                part->values + (size_t)k * info->size) == 0);
        bool on = ids != NULL ? orr_instance_enabled(m->world, e->id, type, ids[i])
                              : orr_component_enabled(m->world, e->id, type);
        CHECK(!m->switches || part->off[k] == !on);
    }
}

static void mirror_compare_entity(const mirror* m, mirror_entity* e)
{
    orr_cluster_info info;
    CHECK(orr_query_has(m->query, e->id));
    CHECK_OK(orr_cluster_info_get(m->world, orr_entity_cluster(m->world, e->id), &info));
    for (uint32_t t = 0; t < m->world->schema.type_count; t++) {
        const orri_type* type = m->world->schema.types[t];
        if (!orri_type_pseudo(type)) {
            if (mirror_tracks(m, (orr_type){type->id})) {
                mirror_compare_type(m, e, &type->info, (orr_type){type->id});
            } else {
                CHECK(mirror_part_of(e, (orr_type){type->id}) == NULL);
            }
        }
    }
    if (m->tags) {
        CHECK_EQ(e->tag_count, info.tag_count);
        CHECK(info.tag_count == 0 ||
              memcmp(e->tags, info.tags, info.tag_count * sizeof *e->tags) == 0);
    }
    CHECK(!m->switches || e->off == !orr_entity_enabled(m->world, e->id));
}

void mirror_compare(mirror* m)
{
    CHECK_EQ(m->count, orr_query_count(m->query));
    for (uint32_t b = 0; b < 1024; b++) {
        for (mirror_entity* e = m->buckets[b]; e != NULL; e = e->next) {
            mirror_compare_entity(m, e);
        }
    }
}
