// SPDX-License-Identifier: MIT
// Entities as text, for logs and debugging: "bob: Position {x: 1, y: 2}, Sleeping (off), #enemy".
#include "store/pool/pool.h"
#include "store/publish/publish.h"
#include "store/relation/entity_name.h"
#include <stdio.h>

static void entity_print_value(orri_text* text, const orri_type* type, const void* value)
{
    if (type->print != NULL) {
        type->print(type, value, text);
        return;
    }
    // orr_value_print() writes into the rest of the buffer and returns the length of the whole
    // text.
    size_t used = text->length < text->size ? text->length : text->size;
    char* rest = text->data != NULL ? text->data + used : NULL;
    text->length += orr_value_print(&type->info, value, rest, text->size - used);
}

// All instances of a cell: [{radius: 1}, {radius: 2} (off)].
static void entity_print_cell(const orr_world* world, orri_text* text, const orri_chunk* chunk,
                              uint32_t column, uint32_t slot, bool any_on)
{
    orri_cells cell = orri_cells_here(world, chunk, column, slot);
    uint32_t shift = chunk->cluster->columns[column].shift;
    const uint64_t* bits =
        (const uint64_t*)(const void*)chunk->columns[chunk->column_count / 2 + column].data;
    for (uint32_t i = 0; i < *cell.counts; i++) {
        orri_text_add(text, i == 0 ? " [" : ", ");
        entity_print_value(text, cell.type, cell.data + (size_t)i * cell.type->info.size);
        if (any_on && bits != NULL && !orri_bit_get(bits, (slot << shift) + i)) {
            orri_text_add(text, " (off)");
        }
    }
    orri_text_add(text, "]");
}

static void entity_print_component(orri_text* text, const orri_type* type, const void* value,
                                   bool enabled, const char** separator)
{
    orri_text_add(text, "%s%s", *separator, type->info.name);
    *separator = ", ";
    if (type->info.size > 0) {
        orri_text_add(text, " ");
        entity_print_value(text, type, value);
    }
    if (!enabled) {
        orri_text_add(text, " (off)");
    }
}

static void entity_print_components(const orr_world* world, orri_text* text, orr_entity entity,
                                    const orri_chunk* chunk, uint32_t slot, const char** separator)
{
    const orri_cluster* cluster = chunk->cluster;
    const orri_column* columns = orri_columns_here(world, chunk);
    for (uint32_t c = 0; c < cluster->type_count; c++) {
        const orri_type* type = cluster->columns[c].type;
        bool on = orri_component_enabled(world, entity, cluster->types[c]);
        if (cluster->columns[c].counts != 0) {
            orri_text_add(text, "%s%s", *separator, type->info.name);
            *separator = ", ";
            entity_print_cell(world, text, chunk, c, slot, on);
            orri_text_add(text, "%s", on ? "" : " (off)");
            continue;
        }
        entity_print_component(text, type, columns[c].data + (size_t)slot * type->info.size, on,
                               separator);
    }
}

// All pinned values except the name, which is printed first.
static void entity_print_pinned(const orr_world* world, orri_text* text, orr_entity entity,
                                const char** separator)
{
    uint32_t index = orri_id_index(entity);
    for (uint32_t i = 0; i < world->pinned.count; i++) {
        const orri_pool* pool = world->pinned.list[i];
        const uint8_t* value = orri_pinned_here(world, (orr_type){pool->type->id}, index);
        if (value != NULL && !pool->is_name) {
            entity_print_component(text, pool->type, value, orri_pool_enabled(pool, index),
                                   separator);
        }
    }
}

size_t orr_entity_print(const orr_world* world, orr_entity entity, char* out, size_t out_size)
{
    ORR_ASSERT(world != NULL);
    orri_text text = {out, out != NULL ? out_size : 0, 0};
    orri_id_text id = orri_id_format(entity);
    if (!orri_access_looks(world, "orr_entity_print", entity)) {
        orri_text_add(&text, "%s: not readable here", id.text);
        return text.length;
    }
    const orri_record* record = orri_record_find(world, entity);
    const char* separator = "";
    if (record == NULL && orri_transient_alive(world, entity)) {
        orri_text_add(&text, "%s: ", id.text);
        entity_print_pinned(world, &text, entity, &separator);
        orri_text_add(&text, "%s", *separator == '\0' ? "(nothing)" : "");
        return text.length;
    }
    if (record == NULL) {
        orri_text_add(&text, "%s: not alive", id.text);
        return text.length;
    }
    const orri_chunk* chunk = orri_place_chunk(world, record->place);
    const char* name = orri_name_of(world, orri_id_index(entity));
    orri_text_add(&text, "%s:%s ", name != NULL ? name : id.text,
                  orri_entity_enabled(world, entity) ? "" : " (off)");
    entity_print_components(world, &text, entity, chunk, orri_place_slot(record->place),
                            &separator);
    entity_print_pinned(world, &text, entity, &separator);
    for (uint32_t i = 0; i < chunk->cluster->tag_count; i++) {
        orr_tag tag = chunk->cluster->tags[i];
        const char* tag_name = orr_tag_name(world, tag);
        if (tag_name != NULL) {
            orri_text_add(&text, "%s#%s", separator, tag_name);
        } else {
            orri_text_add(&text, "%s#%llu", separator, (unsigned long long)tag);
        }
        separator = ", ";
    }
    if (*separator == '\0') {
        orri_text_add(&text, "(nothing)");
    }
    return text.length;
}

void orr_print(const orr_world* world, orr_entity entity)
{
    ORR_ASSERT(world != NULL);
    char small[1024];
    size_t length = orr_entity_print(world, entity, small, sizeof small);
    if (length < sizeof small) {
        puts(small);
        return;
    }
    char* text = orri_alloc(orri_env_of(world), ORR_MEMORY_TEMP, length + 1, 1);
    if (text != NULL) {
        (void)orr_entity_print(world, entity, text, length + 1);
        puts(text);
        orri_free(orri_env_of(world), ORR_MEMORY_TEMP, text, length + 1, 1);
    } else {
        puts(small);
    }
}
