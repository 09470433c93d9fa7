// SPDX-License-Identifier: MIT
// The public calls that read messages.
#include "message/message.h"

const orr_message* orr_receive(orr_run* run)
{
    if (orri_check_run(run, "orr_receive") != ORR_OK) {
        return NULL;
    }
    orri_rights* rights = orri_command_buffer_rights(run->commands);
    if (ORR_UNLIKELY(rights->reader == NULL)) {
        rights->counts.violations++;
        (void)orri_refuse(&run->world->env, ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
                          "orr_receive: system '%s' is a direct system and receives no messages; "
                          "set its .kind to ORR_INDIRECT, or read the world with its query",
                          rights->name);
        return NULL;
    }
    return orri_reader_next(rights->reader);
}

// The type of a desc in the message's world; null: not registered.
static orr_type receive_type(const orr_message* message, const orr_type_desc* desc)
{
    ORR_ASSERT(message != NULL && desc != NULL);
    return orr_type_find(message->world, desc->name);
}

// A desc that was used in the world before is in the table of descs. For others names are compared:
// a world has one type of a name.
static bool receive_is_of(const orr_message* message, const orr_type_desc* desc)
{
    const orr_hot_static* known = orr_hot_static_at(&message->world->hot.statics, desc);
    if (ORR_LIKELY(known->desc == desc)) {
        return known->id == message->type.id;
    }
    const orri_type* type = orri_type_at(&message->world->schema, message->type);
    return type != NULL && strcmp(type->info.name, desc->name) == 0;
}

bool orr_message_is_of(const orr_message* message, const orr_type_desc* desc)
{
    ORR_ASSERT(message != NULL && desc != NULL);
    return receive_is_of(message, desc);
}

const orr_message_column* orr_message_column_of(const orr_message* message, orr_type type)
{
    ORR_ASSERT(message != NULL);
    for (uint32_t c = 0; c < message->column_count; c++) {
        if (message->columns[c].type.id == type.id) {
            return &message->columns[c];
        }
    }
    return NULL;
}

const void* orr_message_values(const orr_message* message, const orr_type_desc* desc)
{
    ORR_ASSERT(message != NULL && desc != NULL);
    if (message->kind == ORR_ENTITY_ADDED) {
        orr_type type = receive_type(message, desc);
        const orr_message_column* column = type.id != 0 ? orr_message_column_of(message, type)
                                                        : NULL;
        if (column != NULL && column->firsts != NULL) {
            (void)orri_refuse(&message->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                              "orr_values: an entity may have none or several %s, because the type "
                              "is multiple or pinned; use orr_values_of(m, %s, i, &count)",
                              desc->name, desc->name);
            return NULL;
        }
        return column != NULL ? column->values : NULL;
    }
    return receive_is_of(message, desc) ? message->values : NULL;
}

const void* orr_message_values_of(const orr_message* message, const orr_type_desc* desc, uint32_t i,
                                  uint32_t* count)
{
    ORR_ASSERT(message != NULL && count != NULL);
    orr_type type = receive_type(message, desc);
    const orr_message_column* column = type.id != 0 && message->kind == ORR_ENTITY_ADDED
                                           ? orr_message_column_of(message, type)
                                           : NULL;
    *count = 0;
    if (column == NULL || i >= message->count) {
        return NULL;
    }
    uint32_t first = column->firsts != NULL ? column->firsts[i] : i;
    *count = column->firsts != NULL ? column->firsts[i + 1] - first : 1;
    size_t size = orri_type_at(&message->world->schema, type)->info.size;
    return *count > 0 ? (const uint8_t*)column->values + first * size : NULL;
}
