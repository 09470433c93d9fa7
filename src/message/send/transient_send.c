// SPDX-License-Identifier: MIT
// Commands of spectators about transient entities. Only spectators send them, and no reader is
// notified of them, so that there is nothing to merge: they wait in lists of their own and are
// applied one by one at the end of the system that sent them.
//
// When memory is refused, the commands before were applied; the next call continues from there.
#include "message/send/command_buffer.h"
#include "store/pool/pool.h"
#include "store/table/transient.h"

// Memory of plain values, in units of 16 bytes.
typedef struct transient_send_cell {
    _Alignas(16) uint8_t bytes[16];
} transient_send_cell;

typedef struct transient_send_record {
    orri_command_kind kind;
    orr_entity entity;
    const orri_type* info; // NULL: a command about the entity itself.
    uint32_t cell;         // Index of its value in `cells`, if the value is plain.
    void* value;           // A value that is not plain, in its own allocation; NULL: none.
} transient_send_record;

// The commands of one command buffer. `done` counts those that were applied.
struct orri_transient_sends {
    struct orri_transient_sends* next;
    orri_rights* rights;
    uint32_t unit; // Of the buffer to which they belong.
    transient_send_record* records;
    uint32_t count, capacity, done;
    transient_send_cell* cells;
    uint32_t cell_count, cell_capacity;
};

// ---- sending ------------------------------------------------------------------------------------

static struct orri_transient_sends* transient_send_of(orr_command_buffer* commands)
{
    if (commands->transients == NULL && !commands->refuses_all) {
        commands->transients = ORRI_ALLOC_ZERO(&commands->world->env, ORR_MEMORY_MESSAGE,
                                               struct orri_transient_sends, 1);
    }
    return commands->transients;
}

static bool transient_send_keep_plain(orr_command_buffer* commands,
                                      struct orri_transient_sends* transients,
                                      transient_send_record* record, const void* value)
{
    uint32_t size = record->info->info.size, cells = (size + 15) / 16;
    if (!ORRI_RESERVE(&commands->world->env, ORR_MEMORY_MESSAGE, &transients->cells,
                      &transients->cell_capacity, transients->cell_count + cells)) {
        return false;
    }
    record->cell = transients->cell_count;
    transients->cell_count += cells;
    memcpy(transients->cells[record->cell].bytes, value, size);
    return true;
}

// Copies the value of a command. False when refused.
static bool transient_send_keep(orr_command_buffer* commands,
                                struct orri_transient_sends* transients,
                                transient_send_record* record, const void* value)
{
    if (value == NULL || record->info->info.size == 0) {
        return true;
    }
    const orr_type_info* info = &record->info->info;
    if (record->info->plain) {
        return transient_send_keep_plain(commands, transients, record, value);
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

orr_result orri_transient_send_add(orr_command_buffer* commands, orri_command_kind kind,
                                   orr_entity entity, const orri_type* info, const void* value)
{
    struct orri_transient_sends* transients = transient_send_of(commands);
    transient_send_record record = {.kind = kind, .entity = entity, .info = info};
    if (transients == NULL ||
        !ORRI_RESERVE(&commands->world->env, ORR_MEMORY_MESSAGE, &transients->records,
                      &transients->capacity, transients->count + 1) ||
        !transient_send_keep(commands, transients, &record, value)) {
        return orri_command_buffer_refuse_memory(commands);
    }
    transients->records[transients->count++] = record;
    return ORR_OK;
}

orr_entity orri_transient_send_create(orr_command_buffer* commands)
{
    uint64_t position = commands->base + commands->create_count;
    orr_entity entity = {0};
    if (ORR_UNLIKELY(commands->command_buffers->transient_ids)) {
        entity = orri_command_buffer_id(commands, NULL, 0);
    } else if (position <= UINT32_MAX) {
        entity = orri_transient_nth(commands->world, (uint32_t)position);
    }
    if (entity.id == 0) {
        (void)orri_refuse_ids(commands, "orr_send_create", 1);
    } else if (orri_transient_send_add(commands, ORRI_COMMAND_CREATE, entity, NULL, NULL) ==
               ORR_OK) {
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
                       "%s: system '%s' belongs to a spectator, and entity %s belongs to the "
                       "simulation; a spectator may destroy transient entities only",
                       call, commands->rights->name, name.text);
}

// ---- waiting ------------------------------------------------------------------------------------

void orri_transient_sends_close(struct orri_command_buffers* command_buffers,
                                orr_command_buffer* commands)
{
    struct orri_transient_sends* transients = commands->transients;
    commands->transients = NULL;
    transients->rights = commands->rights;
    transients->unit = commands->unit;
    commands->rights->counts.sent += transients->count;
    *(command_buffers->transient_last != NULL ? &command_buffers->transient_last->next
                                              : &command_buffers->transient_first) = transients;
    command_buffers->transient_last = transients;
}

// Destructs and frees the value of a command.
static void transient_send_forget(orr_world* world, transient_send_record* record)
{
    if (record->value != NULL) {
        orri_rows_destruct(record->info, record->value, 1);
        orri_free(&world->env, ORR_MEMORY_MESSAGE, record->value, record->info->info.size,
                  ORRI_BLOCK_ALIGN);
        record->value = NULL;
    }
}

void orri_transient_sends_free(orr_world* world, struct orri_transient_sends* transients)
{
    for (uint32_t i = transients->done; i < transients->count; i++) {
        transient_send_forget(world, &transients->records[i]);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, transients->records, transients->capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, transients->cells, transients->cell_capacity);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, struct orri_transient_sends, transients, 1);
}

static void transient_send_pop(orr_world* world, struct orri_command_buffers* command_buffers)
{
    struct orri_transient_sends* transients = command_buffers->transient_first;
    command_buffers->transient_first = transients->next;
    command_buffers->transient_last = transients->next != NULL ? command_buffers->transient_last
                                                               : NULL;
    orri_transient_sends_free(world, transients);
}

void orri_transient_sends_abandon(orr_world* world, struct orri_command_buffers* command_buffers,
                                  bool counted)
{
    while (command_buffers->transient_first != NULL) {
        const struct orri_transient_sends* transients = command_buffers->transient_first;
        if (counted) {
            transients->rights->counts.dropped += transients->count - transients->done;
        }
        transient_send_pop(world, command_buffers);
    }
}

// ---- applying -----------------------------------------------------------------------------------

// The reason why a command has no effect, with its result; NULL: it has one.
static const char* transient_send_obstacle(const orr_world* world, const orri_rights* rights,
                                           const transient_send_record* record, const void* value,
                                           orr_result* result)
{
    if (record->kind == ORRI_COMMAND_CREATE) {
        return NULL;
    }
    *result = ORR_ERR_ENTITY;
    if (orri_transient_find(world, record->entity) == NULL) {
        return "the entity is dead";
    }
    bool needs = record->kind == ORRI_COMMAND_CHANGE || record->kind == ORRI_COMMAND_ENABLE ||
                 record->kind == ORRI_COMMAND_DISABLE;
    const void* old = NULL;
    if (record->info != NULL) {
        const orri_pool* pool = orri_pool_find(world, (orr_type){record->info->id});
        old = orri_pool_get(pool, orri_id_index(record->entity));
    }
    if (needs && old == NULL) {
        *result = ORR_ERR_ABSENT;
        return "the entity does not have this component";
    }
    if (record->kind == ORRI_COMMAND_ADD && old != NULL &&
        orri_is_foreign(rights->foreign, record->info->id - world->schema.type_base)) {
        return "the entity already has it, and another pipeline owns the type";
    }
    return value != NULL && orri_value_refers(world, record->info, old, value) != ORRI_REFERS_ALIVE
               ? "its value refers to a dead entity"
               : NULL;
}

static orr_result transient_send_create(orr_world* world, const char* call, orr_entity entity)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    if (ORR_LIKELY(!command_buffers->transient_ids)) {
        return orri_transient_create(world, call, entity);
    }
    orri_command_ids_return_transient(world, entity);
    orr_result result = orri_transient_create(world, call, entity);
    orri_command_ids_end_transient(world, command_buffers, entity, result == ORR_OK);
    return result;
}

static orr_result transient_send_do(orr_world* world, const transient_send_record* record,
                                    const void* value)
{
    const char* call = "the commit";
    switch (record->kind) {
    case ORRI_COMMAND_CREATE:
        return transient_send_create(world, call, record->entity);
    case ORRI_COMMAND_DESTROY:
        orri_transient_destroy(world, record->entity);
        return ORR_OK;
    case ORRI_COMMAND_ADD:
    case ORRI_COMMAND_CHANGE:
        return orri_pinned_set(world, call, record->entity, record->info, value);
    case ORRI_COMMAND_ADD_PRESET:
        return orri_pinned_add(world, call, record->entity, record->info);
    case ORRI_COMMAND_REMOVE:
        return orri_pinned_remove(world, call, record->entity, record->info);
    default:
        return orri_pinned_enable(world, call, record->entity, record->info,
                                  record->kind == ORRI_COMMAND_ENABLE);
    }
}

// Applies one command, or counts and logs it as dropped.
static orr_result transient_send_commit_one(orr_world* world,
                                            struct orri_transient_sends* transients,
                                            transient_send_record* record)
{
    bool plain = record->info != NULL && record->info->plain && record->info->info.size > 0 &&
                 (record->kind == ORRI_COMMAND_ADD || record->kind == ORRI_COMMAND_CHANGE);
    const void* value = plain ? transients->cells[record->cell].bytes : record->value;
    orr_result result = ORR_OK;
    const char* why = transient_send_obstacle(world, transients->rights, record, value, &result);
    if (why != NULL) {
        orr_type type = {record->info != NULL ? record->info->id : 0};
        orri_rights_note_dropped(world, transients->rights, type, 1,
                                 orri_drop_order(transients->unit, transients->done), result);
        orri_log_drop(world, transients->rights, orri_command_kind_name(record->kind), type,
                      record->entity, why);
        return ORR_OK;
    }
    return transient_send_do(world, record, value);
}

orr_result orri_transient_sends_commit(orr_world* world)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    while (command_buffers->transient_first != NULL) {
        struct orri_transient_sends* transients = command_buffers->transient_first;
        for (; transients->done < transients->count; transients->done++) {
            transient_send_record* record = &transients->records[transients->done];
            orr_result result = orri_check_open(world, "the commit");
            result = result == ORR_OK ? transient_send_commit_one(world, transients, record)
                                      : result;
            if (result != ORR_OK) {
                return orri_refuse_commit(world, transients->rights, false);
            }
            transient_send_forget(world, record);
        }
        transient_send_pop(world, command_buffers);
    }
    return ORR_OK;
}
