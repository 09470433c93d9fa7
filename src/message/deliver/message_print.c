// SPDX-License-Identifier: MIT
// Messages as text: what happened, by which system and why, then the entities with their values.
//
//   EntityAdded of Position, Frozen, #level1 by spawn (created): bob (7v1) {Position: {…}}, 8v1 {…}
//   ComponentChanged Position by move: 7v1 {x: 1, y: 2}, 8v1 {x: 3, y: 4}, … (12 more)
#include "message/message.h"

const char* orr_message_kind_name(orr_message_kind kind)
{
    static const char* const names[] = {"EntityAdded", "ComponentAdded", "ComponentChanged",
                                        "ComponentRemoved", "EntityRemoved"};
    return (uint32_t)kind < ORRI_COUNT(names) ? names[kind] : "(no message)";
}

const char* orr_cause_name(orr_cause cause)
{
    static const char* const names[] = {"written", "created", "destroyed", "component",
                                        "enabled", "reader",  "travel"};
    return (uint32_t)cause < ORRI_COUNT(names) ? names[cause] : "(no cause)";
}

static void message_print_value(orri_text* text, const orri_type* type, const uint8_t* values,
                                uint32_t index)
{
    size_t used = text->length < text->size ? text->length : text->size;
    char* rest = text->data != NULL ? text->data + used : NULL;
    text->length += orr_value_print(&type->info, values + (size_t)index * type->info.size, rest,
                                    text->size - used);
}

// ---- the head -----------------------------------------------------------------------------------

static void message_print_archetype(const orr_message* message, orri_text* text)
{
    const char* separator = " of ";
    for (uint32_t i = 0; i < message->type_count; i++) {
        orri_text_add(text, "%s%s", separator, orri_type_label(message->world, message->types[i]));
        separator = ", ";
    }
    for (uint32_t i = 0; i < message->tag_count; i++) {
        orri_text_add(text, "%s", separator);
        orri_tag_print(message->world, message->tags[i], text);
        separator = ", ";
    }
}

static void message_print_system(const orr_message* message, orri_text* text)
{
    const struct orri_messages* messages = message->world->messages;
    const char* name = messages != NULL && messages->system_name != NULL
                           ? messages->system_name(message->world, message->system)
                           : "";
    if (message->system.id == 0) {
        return;
    }
    if (name[0] != '\0') {
        orri_text_add(text, " by %s", name);
    } else {
        orri_text_add(text, " by a removed system");
    }
}

static void message_print_head(const orr_message* message, orri_text* text)
{
    orri_text_add(text, "%s", orr_message_kind_name(message->kind));
    if (message->type.id != 0) {
        orri_text_add(text, " %s", orri_type_label(message->world, message->type));
    }
    if (message->kind == ORR_ENTITY_ADDED) {
        message_print_archetype(message, text);
    }
    message_print_system(message, text);
    if (message->cause != ORR_CAUSE_WRITTEN) {
        orri_text_add(text, " (%s)", orr_cause_name(message->cause));
    }
    orri_text_add(text, ":");
}

// ---- entities -----------------------------------------------------------------------------------

// One value; or a list for types of which an entity can have several or none: [{radius: 1},
// {radius: 2}].
static void message_print_cell(const orr_message* message, const orr_message_column* column,
                               uint32_t i, orri_text* text)
{
    const orri_type* type = orri_type_at(&message->world->schema, column->type);
    orri_text_add(text, "%s", orri_type_label(message->world, column->type));
    if (type == NULL || column->values == NULL) {
        return;
    }
    orri_text_add(text, ": ");
    if (column->firsts == NULL) {
        message_print_value(text, type, column->values, i);
        return;
    }
    orri_text_add(text, "[");
    for (uint32_t at = column->firsts[i]; at < column->firsts[i + 1]; at++) {
        orri_text_add(text, at > column->firsts[i] ? ", " : "");
        message_print_value(text, type, column->values, at);
    }
    orri_text_add(text, "]");
}

static void message_print_cells(const orr_message* message, uint32_t i, orri_text* text)
{
    const char* separator = " {";
    for (uint32_t c = 0; c < message->column_count; c++) {
        const orr_message_column* column = &message->columns[c];
        if (column->firsts != NULL && column->firsts[i] == column->firsts[i + 1]) {
            continue; // The entity has none.
        }
        orri_text_add(text, "%s", separator);
        message_print_cell(message, column, i, text);
        separator = ", ";
    }
    orri_text_add(text, *separator == ',' ? "}" : "");
}

static void message_print_switch(const orr_message* message, uint32_t i, orri_text* text)
{
    const orr_enabled* value = (const orr_enabled*)message->values + i;
    if (value->type.id != 0) {
        orri_text_add(text, " %s", orri_type_label(message->world, value->type));
    }
    orri_text_add(text, value->on != 0 ? " on" : " off");
}

static void message_print_tags(const orr_message* message, orri_text* text)
{
    for (uint32_t t = 0; t < message->tag_count; t++) {
        orri_text_add(text, " ");
        orri_tag_print(message->world, message->tags[t], text);
    }
    orri_text_add(text, message->tag_count == 0 ? " (no tags)" : "");
}

static void message_print_entity(const orr_message* message, uint32_t i, orri_text* text)
{
    orri_text_add(text, " %s", orri_entity_format(message->world, message->entities[i]).text);
    if (message->ids != NULL && message->ids[i] != 0) {
        orri_text_add(text, " #%u", message->ids[i]);
    }
    const orri_type* type = orri_type_at(&message->world->schema, message->type);
    if (message->kind == ORR_ENTITY_ADDED) {
        message_print_cells(message, i, text);
    } else if (type != NULL && strcmp(type->info.name, "orr_tags") == 0) {
        message_print_tags(message, text);
    } else if (type == NULL || message->values == NULL) {
        return;
    } else if (strcmp(type->info.name, "orr_enabled") == 0) {
        message_print_switch(message, i, text);
    } else if (type->info.size > 0) {
        orri_text_add(text, " ");
        message_print_value(text, type, message->values, i);
    }
}

size_t orr_message_print(const orr_message* message, uint32_t most, char* out, size_t out_size)
{
    ORR_ASSERT(message != NULL && message->world != NULL);
    orri_text text = {out, out != NULL ? out_size : 0, 0};
    message_print_head(message, &text);
    uint32_t shown = most < message->count ? most : message->count;
    for (uint32_t i = 0; i < shown; i++) {
        orri_text_add(&text, i > 0 ? "," : "");
        message_print_entity(message, i, &text);
    }
    if (shown < message->count) {
        orri_text_add(&text, "%s … (%u %s)", shown > 0 ? "," : "", message->count - shown,
                      shown > 0 ? "more" : "entities");
    }
    return text.length;
}
