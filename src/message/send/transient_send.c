// SPDX-License-Identifier: MIT
// What spectators send about transient entities. Nobody else sends any of that and nobody is told of it, so there is nothing to merge: records
// wait beside the lanes, and are done one after the other at the end of the system that sent them.
//
// Where memory is refused, what comes before was done; the next call goes on from there.
#include "message/send/command_buffer.h"
#include "store/pool/pool.h"
#include "store/table/transient.h"

// Plain values, 16 bytes at a time.
typedef struct transient_send_cell {
    _Alignas(16) uint8_t bytes[16];
} transient_send_cell;

typedef struct transient_send_record {
    orri_sent kind;
    orr_entity entity;
    const orri_type* info; // NULL: of the entity itself.
    uint32_t cell;         // Where its value begins, if that is plain.
    void* value;           // Otherwise: it. NULL: none.
} transient_send_record;

struct orri_transient_sends {
    struct orri_transient_sends* next;
    orri_rights* rights;
    transient_send_record* records;
    uint32_t count, capacity, done;
    transient_send_cell* cells;
    uint32_t cell_count, cell_capacity;
};

// ---- sending ---------------------------------------------------------------------------------------------------

static struct orri_transient_sends* transient_send_of(orr_command_buffer* commands)
{
    if (commands->asides == NULL && !commands->mute) {
        commands->asides = ORRI_ALLOC_ZERO(&commands->world->env, ORR_MEMORY_MESSAGE,
                                           struct orri_transient_sends, 1);
    }
    return commands->asides;
}

static bool transient_send_keep_plain(orr_command_buffer* commands,
                                      struct orri_transient_sends* asides,
                                      transient_send_record* record, const void* value)
{
    uint32_t size = record->info->info.size, cells = (size + 15) / 16;
    if (!ORRI_RESERVE(&commands->world->env, ORR_MEMORY_MESSAGE, &asides->cells,
                      &asides->cell_capacity, asides->cell_count + cells)) {
        return false;
    }
    record->cell = asides->cell_count;
    asides->cell_count += cells;
    memcpy(asides->cells[record->cell].bytes, value, size);
    return true;
}

static bool transient_send_keep(orr_command_buffer* commands, struct orri_transient_sends* asides,
                                transient_send_record* record, const void* value)
{
    if (value == NULL || record->info->info.size == 0) {
        return true;
    }
    const orr_type_info* info = &record->info->info;
    if (record->info->plain) {
        return transient_send_keep_plain(commands, asides, record, value);
    }
    record->value =
        orri_alloc(&commands->world->env, ORR_MEMORY_MESSAGE, info->size, ORRI_BLOCK_ALIGN);
    if (record->value != NULL && !orri_rows_copy(record->info, record->value, value, 1)) {
        orri_free(&commands->world->env, ORR_MEMORY_MESSAGE, record->value, info->size,
                  ORRI_BLOCK_ALIGN);
        record->value = NULL;
    }
    return record->value != NULL;
}

orr_result orri_transient_send_send(orr_command_buffer* commands, orri_sent kind, orr_entity entity,
                                    const orri_type* info, const void* value)
{
    struct orri_transient_sends* asides = transient_send_of(commands);
    transient_send_record record = {.kind = kind, .entity = entity, .info = info};
    if (asides == NULL ||
        !ORRI_RESERVE(&commands->world->env, ORR_MEMORY_MESSAGE, &asides->records,
                      &asides->capacity, asides->count + 1) ||
        !transient_send_keep(commands, asides, &record, value)) {
        return orri_command_buffer_refuse_memory(commands);
    }
    asides->records[asides->count++] = record;
    return ORR_OK;
}

orr_entity orri_transient_send_create(orr_command_buffer* commands)
{
    uint64_t position = commands->base + commands->create_count;
    orr_entity entity = {0};
    if (ORR_UNLIKELY(commands->command_buffers->aside)) {
        entity = orri_command_buffer_id(commands, NULL, 0);
    } else if (position <= UINT32_MAX) {
        entity = orri_transient_nth(commands->world, (uint32_t)position);
    }
    if (entity.id == 0) {
        (void)orri_refuse_ids(commands, "orr_send_create", 1);
    } else if (orri_transient_send_send(commands, ORRI_SENT_CREATE, entity, NULL, NULL) == ORR_OK) {
        commands->create_count++;
        return entity;
    }
    return (orr_entity){0};
}

orr_result orri_transient_send_refuse(orr_command_buffer* commands, const char* call,
                                      orr_entity entity)
{
    orri_id_text name = orri_entity_format(commands->world, entity);
    commands->rights->counts.violations++;
    return orri_refuse(&commands->world->env, ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
                       "%s: system '%s' is a spectator's, and entity %s is of the simulation; an "
                       "spectator destroys transient entities only",
                       call, commands->rights->name, name.text);
}

// ---- waiting -----------------------------------------------------------------------------------------------------

void orri_transient_sends_close(struct orri_command_buffers* command_buffers,
                                orr_command_buffer* commands)
{
    struct orri_transient_sends* asides = commands->asides;
    commands->asides = NULL;
    asides->rights = commands->rights;
    commands->rights->counts.sent += asides->count;
    *(command_buffers->aside_last != NULL ? &command_buffers->aside_last->next
                                          : &command_buffers->aside_first) = asides;
    command_buffers->aside_last = asides;
}

static void transient_send_forget(orr_world* world, transient_send_record* record)
{
    if (record->value != NULL) {
        orri_rows_destruct(record->info, record->value, 1);
        orri_free(&world->env, ORR_MEMORY_MESSAGE, record->value, record->info->info.size,
                  ORRI_BLOCK_ALIGN);
        record->value = NULL;
    }
}

void orri_transient_sends_free(orr_world* world, struct orri_transient_sends* asides)
{
    for (uint32_t i = asides->done; i < asides->count; i++) {
        transient_send_forget(world, &asides->records[i]);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, asides->records, asides->capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, asides->cells, asides->cell_capacity);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, struct orri_transient_sends, asides, 1);
}

static void transient_send_pop(orr_world* world, struct orri_command_buffers* command_buffers)
{
    struct orri_transient_sends* asides = command_buffers->aside_first;
    command_buffers->aside_first = asides->next;
    command_buffers->aside_last = asides->next != NULL ? command_buffers->aside_last : NULL;
    orri_transient_sends_free(world, asides);
}

void orri_transient_sends_abandon(orr_world* world, struct orri_command_buffers* command_buffers,
                                  bool counted)
{
    while (command_buffers->aside_first != NULL) {
        const struct orri_transient_sends* asides = command_buffers->aside_first;
        if (counted) {
            asides->rights->counts.dropped += asides->count - asides->done;
        }
        transient_send_pop(world, command_buffers);
    }
}

// ---- doing it --------------------------------------------------------------------------------------------------------

// Why a record has no effect; NULL: it has one.
static const char* transient_send_void(const orr_world* world, const orri_rights* rights,
                                       const transient_send_record* record, const void* value)
{
    if (record->kind == ORRI_SENT_CREATE) {
        return NULL;
    }
    if (orri_transient_find(world, record->entity) == NULL) {
        return "the entity is dead";
    }
    bool needs = record->kind == ORRI_SENT_CHANGE || record->kind == ORRI_SENT_ON ||
                 record->kind == ORRI_SENT_OFF;
    const void* old = NULL;
    if (record->info != NULL) {
        const orri_pool* pool = orri_pool_find(world, (orr_type){record->info->id});
        old = orri_pool_get(pool, orri_id_index(record->entity));
    }
    if (needs && old == NULL) {
        return "the entity does not have it";
    }
    if (record->kind == ORRI_SENT_ADD && old != NULL &&
        orri_is_foreign(rights->foreign, record->info->id - world->schema.type_base)) {
        return "it has it already, and another pipeline writes this type";
    }
    return value != NULL && orri_value_refers(world, record->info, old, value) != ORRI_REFERS_ALIVE
               ? "it refers to an entity that is not alive"
               : NULL;
}

static orr_result transient_send_create(orr_world* world, const char* call, orr_entity entity)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    if (ORR_LIKELY(!command_buffers->aside)) {
        return orri_transient_create(world, call, entity);
    }
    orri_command_ids_return_aside(world, entity);
    orr_result result = orri_transient_create(world, call, entity);
    orri_command_ids_end_aside(world, command_buffers, entity, result == ORR_OK);
    return result;
}

static orr_result transient_send_do(orr_world* world, const transient_send_record* record,
                                    const void* value)
{
    const char* call = "the commit";
    switch (record->kind) {
    case ORRI_SENT_CREATE:
        return transient_send_create(world, call, record->entity);
    case ORRI_SENT_DESTROY:
        orri_transient_destroy(world, record->entity);
        return ORR_OK;
    case ORRI_SENT_ADD:
    case ORRI_SENT_CHANGE:
        return orri_pinned_set(world, call, record->entity, record->info, value);
    case ORRI_SENT_PRESET:
        return orri_pinned_add(world, call, record->entity, record->info);
    case ORRI_SENT_REMOVE:
        return orri_pinned_remove(world, call, record->entity, record->info);
    default:
        return orri_pinned_enable(world, call, record->entity, record->info,
                                  record->kind == ORRI_SENT_ON);
    }
}

static orr_result transient_send_commit_one(orr_world* world, struct orri_transient_sends* asides,
                                            transient_send_record* record)
{
    bool plain = record->info != NULL && record->info->plain && record->info->info.size > 0 &&
                 (record->kind == ORRI_SENT_ADD || record->kind == ORRI_SENT_CHANGE);
    const void* value = plain ? asides->cells[record->cell].bytes : record->value;
    const char* why = transient_send_void(world, asides->rights, record, value);
    if (why != NULL) {
        asides->rights->counts.dropped++;
        orri_say_drop(world, asides->rights, orri_sent_name_of(record->kind),
                      (orr_type){record->info != NULL ? record->info->id : 0}, record->entity, why);
        return ORR_OK;
    }
    return transient_send_do(world, record, value);
}

orr_result orri_transient_sends_commit(orr_world* world)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    while (command_buffers->aside_first != NULL) {
        struct orri_transient_sends* asides = command_buffers->aside_first;
        for (; asides->done < asides->count; asides->done++) {
            transient_send_record* record = &asides->records[asides->done];
            orr_result result = orri_check_open(world, "the commit");
            result = result == ORR_OK ? transient_send_commit_one(world, asides, record) : result;
            if (result != ORR_OK) {
                return orri_refuse_commit(world, asides->rights, false);
            }
            transient_send_forget(world, record);
        }
        transient_send_pop(world, command_buffers);
    }
    return ORR_OK;
}
