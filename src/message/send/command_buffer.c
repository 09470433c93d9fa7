// SPDX-License-Identifier: MIT
// Command buffers: opened for a run, filled by sending (send.c), kept until their commands are
// applied. While its system runs, a buffer touches only its own memory. Free buffers are reused in
// the order in which they were used last, so that each run finds the memory that the same run
// needed in the last tick.
#include "message/send/command_buffer.h"

#define BUFFER_ROWS_MIN 16   // Of a new command array.
#define BUFFER_KEPT_MIN 4096 // Blocks of at most this many bytes are never trimmed.

// ---- error texts --------------------------------------------------------------------------------

const char* orri_command_kind_name(orri_command_kind kind)
{
    static const char* const names[] = {
        [ORRI_COMMAND_CREATE] = "EntityAdded",
        [ORRI_COMMAND_DESTROY] = "EntityRemoved",
        [ORRI_COMMAND_ADD] = "ComponentAdded",
        [ORRI_COMMAND_ADD_PRESET] = "ComponentAdded",
        [ORRI_COMMAND_CHANGE] = "ComponentChanged",
        [ORRI_COMMAND_REMOVE] = "ComponentRemoved",
        [ORRI_COMMAND_TAG_ADD] = "a tag",
        [ORRI_COMMAND_TAG_REMOVE] = "a tag removal",
        [ORRI_COMMAND_ENABLE] = "an enable command",
        [ORRI_COMMAND_DISABLE] = "a disable command",
        [ORRI_COMMAND_NAME] = "a name",
        [ORRI_COMMAND_EVENT] = "an event",
    };
    return names[kind];
}

orr_result orri_command_buffer_refuse_memory(orr_command_buffer* commands)
{
    commands->failed = true;
    return orri_refuse(&commands->world->env, ORR_ERR_MEMORY, ORR_LOG_ID_SEND_REFUSED,
                       "out of memory while system '%s' sent a command; this command and later "
                       "ones of the same run may be lost. Free memory or raise memory_bytes_max",
                       commands->rights->name);
}

orr_result orri_check_run(const orr_run* run, const char* call)
{
    if (run == NULL || run->world == NULL) {
        // There is no world to report to.
        ORR_ASSERT(run != NULL &&
                   "the run is NULL; pass the orr_run that the system's function received");
        return ORR_ERR_ARGUMENT;
    }
    if (ORR_LIKELY(run->commands != NULL && run->commands->open)) {
        return ORR_OK;
    }
    if (run->commands == NULL && orri_atomic_section_here()) {
        return orri_refuse(orri_env_of(run->world), ORR_ERR_STATE, ORR_LOG_ID_SEND_REFUSED,
                           "%s: an atomic section may use only its own value; make the call before "
                           "or after the section",
                           call);
    }
    return orri_refuse(orri_env_of(run->world), ORR_ERR_STATE, ORR_LOG_ID_SEND_REFUSED,
                       "%s: %s; pass the orr_run that the system's function received, while the "
                       "function runs. Between ticks use the calls of the store instead",
                       call,
                       run->commands == NULL ? "this is a query loop, not the run of a system"
                                             : "the system's function has returned");
}

orri_rights* orri_command_buffer_rights(const orr_command_buffer* commands)
{
    return commands->rights;
}

// ---- command arrays -----------------------------------------------------------------------------

// Bytes of a value; 0: the kind has no values.
static uint32_t buffer_stride(orri_command_kind kind, const orri_type* info)
{
    switch (kind) {
    case ORRI_COMMAND_ADD:
    case ORRI_COMMAND_CHANGE:
    case ORRI_COMMAND_EVENT:
        return info->info.size;
    case ORRI_COMMAND_TAG_ADD:
    case ORRI_COMMAND_TAG_REMOVE:
        return (uint32_t)sizeof(orr_tag);
    case ORRI_COMMAND_NAME:
        return (uint32_t)sizeof(orri_command_name);
    default:
        return 0;
    }
}

// Commands on instances of a multiple type carry an id.
static bool buffer_has_ids(const orri_command_array* array)
{
    return array->info != NULL && array->info->info.multiplicity == ORR_MULTIPLE &&
           array->kind != ORRI_COMMAND_EVENT;
}

static bool buffer_has_entities(const orri_command_array* array)
{
    return array->kind != ORRI_COMMAND_EVENT && !array->shares_entities;
}

static size_t buffer_row_bytes(const orri_command_array* array)
{
    return array->stride + (buffer_has_entities(array) ? sizeof(orr_entity) : 0) +
           (buffer_has_ids(array) ? sizeof(orr_component_id) : 0);
}

// The layout of a block: values, then entities, then ids. The capacity must be a multiple of 8, so
// that each column begins aligned.
static void buffer_lay_out(orri_command_array* array, uint8_t* block, uint32_t capacity)
{
    uint8_t* entities = block + (size_t)capacity * array->stride;
    bool has = buffer_has_entities(array);
    uint8_t* ids = entities + (has ? (size_t)capacity * sizeof(orr_entity) : 0);
    array->values = block;
    array->entities = has ? (orr_entity*)(void*)entities : NULL;
    array->ids = buffer_has_ids(array) ? (orr_component_id*)(void*)ids : NULL;
    array->capacity = capacity;
}

// Lays out the block that the slot has kept, which may have held rows of another kind.
static void buffer_reuse_block(orri_command_array* array)
{
    size_t rows = array->block_size / (buffer_row_bytes(array) > 0 ? buffer_row_bytes(array) : 1);
    uint32_t capacity = rows < UINT32_MAX - 7 ? (uint32_t)rows & ~7u : UINT32_MAX & ~7u;
    buffer_lay_out(array, array->block, capacity);
}

// Moves the rows to a larger block; types with hooks are moved by their hook.
static void buffer_move_rows(orri_command_array* array, const orri_command_array* old)
{
    if (array->stride > 0 && array->info != NULL && !array->info->plain) {
        orri_rows_move(array->info, array->values, old->values, old->count);
    } else if (array->stride > 0) {
        memcpy(array->values, old->values, (size_t)old->count * array->stride);
    }
    if (array->entities != NULL) {
        memcpy(array->entities, old->entities, old->count * sizeof *array->entities);
    }
    if (array->ids != NULL) {
        memcpy(array->ids, old->ids, old->count * sizeof *array->ids);
    }
}

bool orri_command_array_reserve(orr_command_buffer* commands, orri_command_array* array,
                                uint32_t more)
{
    if (ORR_LIKELY(more <= array->capacity - array->count)) {
        return true;
    }
    uint64_t wanted = (uint64_t)array->capacity * 2;
    uint64_t needed = (uint64_t)array->count + more;
    wanted = wanted > needed ? wanted : (needed + 7) & ~(uint64_t)7;
    wanted = wanted > BUFFER_ROWS_MIN ? wanted : BUFFER_ROWS_MIN;
    size_t size = wanted <= UINT32_MAX - 7 ? orri_size_mul(buffer_row_bytes(array), (size_t)wanted)
                                           : SIZE_MAX;
    uint8_t* block = orri_alloc(&commands->world->env, ORR_MEMORY_MESSAGE, size, ORRI_BLOCK_ALIGN);
    if (block == NULL) {
        (void)orri_command_buffer_refuse_memory(commands);
        return false;
    }
    orri_command_array old = *array;
    buffer_lay_out(array, block, (uint32_t)wanted);
    if (old.count > 0) {
        buffer_move_rows(array, &old);
    }
    orri_free(&commands->world->env, ORR_MEMORY_MESSAGE, old.block, old.block_size,
              ORRI_BLOCK_ALIGN);
    array->block = block;
    array->block_size = size;
    return true;
}

uint32_t orri_command_array_sequence(const orri_command_array* array, uint32_t row)
{
    uint32_t low = 0, high = array->sequence_run_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (array->sequence_runs[middle].row <= row) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return array->sequence_runs[low].sequence + (row - array->sequence_runs[low].row);
}

uint32_t orri_command_buffer_records(const orr_command_buffer* commands)
{
    return commands->sequence +
           (commands->current != NULL ? commands->current->count - commands->run_first : 0);
}

bool orri_command_buffer_turn(orr_command_buffer* commands, orri_command_array* array)
{
    if (commands->current == array) {
        return true;
    }
    if (!ORRI_RESERVE(&commands->world->env, ORR_MEMORY_MESSAGE, &array->sequence_runs,
                      &array->sequence_run_capacity, array->sequence_run_count + 1)) {
        return false;
    }
    commands->sequence = orri_command_buffer_records(commands);
    commands->run_first = array->count;
    array->sequence_runs[array->sequence_run_count++] =
        (orri_sequence_run){array->count, commands->sequence};
    commands->current = array;
    return true;
}

// A slot that is not in use: one that held this kind and type before, else a new one. With more
// than 8 slots any free slot is preferred to a new one.
static orri_command_array* buffer_slot(orr_command_buffer* commands, orri_command_kind kind,
                                       orr_type type)
{
    orri_command_array* found = NULL;
    for (uint32_t i = 0; i < commands->array_count; i++) {
        orri_command_array* array = &commands->arrays[i];
        if (!array->used && array->kind == kind && array->type.id == type.id) {
            return array;
        }
        found = !array->used && commands->array_count > ORRI_COMMAND_BUFFER_RECENT ? array : found;
    }
    if (found != NULL) {
        return found;
    }
    size_t current = commands->current != NULL ? (size_t)(commands->current - commands->arrays) : 0;
    if (!ORRI_RESERVE(&commands->world->env, ORR_MEMORY_MESSAGE, &commands->arrays,
                      &commands->array_capacity, commands->array_count + 1)) {
        return NULL;
    }
    commands->current = commands->current != NULL ? commands->arrays + current : NULL;
    found = &commands->arrays[commands->array_count++];
    *found = (orri_command_array){.kind = kind};
    return found;
}

// Empties an array that was last used for the same kind and type, with the block and layout of then.
static void buffer_array_renew(orri_command_array* array, uint32_t order_index)
{
    array->count = 0;
    array->sequence_run_count = 0;
    array->order_index = order_index;
    array->next1 = 0;
    array->created_only = array->bundled = false;
    array->used = true;
}

// Puts a new array at the end of `order`. NULL when refused (reported).
static orri_command_array* buffer_array_make(orr_command_buffer* commands, orri_command_kind kind,
                                             orr_type type, const orri_type* info)
{
    orri_command_array* array = NULL;
    if (!commands->refuses_all &&
        ORRI_RESERVE(&commands->world->env, ORR_MEMORY_MESSAGE, &commands->order,
                     &commands->order_capacity, commands->order_count + 1)) {
        array = buffer_slot(commands, kind, type);
    }
    if (array == NULL) {
        (void)orri_command_buffer_refuse_memory(commands);
        return NULL;
    }
    bool spectates = commands->rights->spectator;
    uint32_t place = commands->order_count++;
    commands->order[place] = (uint32_t)(array - commands->arrays);
    if (array->block != NULL && array->kind == kind && array->type.id == type.id &&
        array->info == info && !array->bulk && !spectates && array->fast_append) {
        buffer_array_renew(array, place);
        return array;
    }
    *array = (orri_command_array){.kind = kind,
                                  .type = type,
                                  .info = info,
                                  .stride = buffer_stride(kind, info),
                                  .used = true,
                                  .order_index = place,
                                  .block = array->block,
                                  .block_size = array->block_size,
                                  .peak = array->peak,
                                  .sequence_runs = array->sequence_runs,
                                  .sequence_run_capacity = array->sequence_run_capacity};
    bool plain = array->stride == 0 || info == NULL ||
                 (info->plain && !info->info.has_padding && !info->has_range);
    array->plain_values = plain && !spectates;
    array->fast_append = array->plain_values && !buffer_has_ids(array);
    if (array->block != NULL) {
        buffer_reuse_block(array);
    }
    return array;
}

orri_command_array* orri_command_buffer_array(orr_command_buffer* commands, orri_command_kind kind,
                                              orr_type type, const orri_type* info)
{
    uint32_t* recent = &commands->recent[ORRI_COMMAND_BUFFER_RECENT_OF(kind, type)];
    orri_command_array* array = *recent != 0 ? &commands->arrays[*recent - 1] : NULL;
    if (array == NULL || array->kind != kind || array->type.id != type.id) {
        array = NULL;
        for (uint32_t i = commands->order_count; array == NULL && i-- > 0;) {
            orri_command_array* seen = &commands->arrays[commands->order[i]];
            bool same = seen->kind == kind && seen->type.id == type.id && !seen->bulk;
            array = same ? seen : NULL;
        }
        array = array != NULL ? array : buffer_array_make(commands, kind, type, info);
        if (array == NULL) {
            return NULL;
        }
        *recent = (uint32_t)(array - commands->arrays) + 1;
    }
    if (!orri_command_buffer_turn(commands, array)) {
        (void)orri_command_buffer_refuse_memory(commands);
        return NULL;
    }
    return array;
}

orri_command_array* orri_command_buffer_array_bulk(orr_command_buffer* commands,
                                                   orri_command_kind kind, orr_type type,
                                                   const orri_type* info)
{
    orri_command_array* array = buffer_array_make(commands, kind, type, info);
    if (array == NULL) {
        return NULL;
    }
    array->bulk = true;
    array->fast_append = false;
    array->shares_entities = kind != ORRI_COMMAND_CREATE;
    if (array->block != NULL) {
        buffer_reuse_block(array);
    }
    return array;
}

uint32_t orri_command_buffer_text(orr_command_buffer* commands, const char* text)
{
    uint32_t size = (uint32_t)strlen(text) + 1, at = commands->text_count;
    if (commands->refuses_all ||
        !ORRI_RESERVE(&commands->world->env, ORR_MEMORY_MESSAGE, &commands->texts,
                      &commands->text_capacity, at + size)) {
        (void)orri_command_buffer_refuse_memory(commands);
        return 0;
    }
    memcpy(commands->texts + at, text, size);
    commands->text_count += size;
    return at + 1;
}

void orri_command_array_clear(orri_command_array* array)
{
    if (array->stride > 0 && array->info != NULL && !array->info->plain) {
        orri_rows_destruct(array->info, array->values, array->count);
    }
    size_t used = array->count * buffer_row_bytes(array);
    array->peak = used > array->peak ? used : array->peak;
    array->count = 0;
}

// ---- command buffers ----------------------------------------------------------------------------

// Removes all commands; memory stays.
static void buffer_empty(orr_command_buffer* commands)
{
    for (uint32_t i = 0; i < commands->order_count; i++) {
        orri_command_array* array = &commands->arrays[commands->order[i]];
        if (array->count > 0) {
            orri_command_array_clear(array);
        }
        array->used = false;
        array->sequence_run_count = 0;
    }
    memset(commands->recent, 0, sizeof commands->recent);
    commands->order_count = 0;
    commands->current = NULL;
    commands->sequence = commands->run_first = 0;
    commands->text_count = commands->bulk_first1 = commands->bulk_count = 0;
}

static void buffer_free_memory(orr_world* world, orr_command_buffer* commands)
{
    orri_env* env = &world->env;
    buffer_empty(commands);
    for (uint32_t i = 0; i < commands->array_count; i++) {
        orri_command_array* array = &commands->arrays[i];
        orri_free(env, ORR_MEMORY_MESSAGE, array->block, array->block_size, ORRI_BLOCK_ALIGN);
        ORRI_RELEASE(env, ORR_MEMORY_MESSAGE, array->sequence_runs, array->sequence_run_capacity);
    }
    ORRI_RELEASE(env, ORR_MEMORY_MESSAGE, commands->arrays, commands->array_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_MESSAGE, commands->order, commands->order_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_MESSAGE, commands->texts, commands->text_capacity);
    if (commands->transients != NULL) {
        orri_transient_sends_free(world, commands->transients);
    }
}

static void buffer_free(orr_world* world, orr_command_buffer* commands)
{
    buffer_free_memory(world, commands);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, orr_command_buffer, commands, 1);
}

// Allocates a set of command buffers: the world's own, or that of a pipeline. NULL when refused
// (reported).
static struct orri_command_buffers* buffer_make_all(orr_world* world,
                                                    struct orri_command_buffers_shared* shared)
{
    struct orri_command_buffers* command_buffers =
        ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_MESSAGE, struct orri_command_buffers, 1);
    if (command_buffers == NULL) {
        (void)orri_refuse_memory(&world->env, "allocating command buffers");
        return NULL;
    }
    command_buffers->spare.refuses_all = true;
    command_buffers->shared = shared;
    command_buffers->next = shared->all;
    shared->all = command_buffers;
    return command_buffers;
}

bool orri_command_buffers_begin(orr_world* world)
{
    struct orri_messages* messages = orri_messages_of(world);
    if (messages == NULL || messages->command_buffers != NULL) {
        return messages != NULL;
    }
    struct orri_command_buffers_shared* shared =
        ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_MESSAGE, struct orri_command_buffers_shared, 1);
    if (shared == NULL) {
        (void)orri_refuse_memory(&world->env, "allocating command buffers");
        return false;
    }
    messages->command_buffers = buffer_make_all(world, shared);
    if (messages->command_buffers == NULL) {
        ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, struct orri_command_buffers_shared, shared, 1);
    }
    return messages->command_buffers != NULL;
}

struct orri_command_buffers* orri_command_buffers_make(orr_world* world)
{
    struct orri_command_buffers* command_buffers =
        orri_command_buffers_begin(world)
            ? buffer_make_all(world, orri_command_buffers_at(world)->shared)
            : NULL;
    if (command_buffers != NULL) {
        command_buffers->withholds = true;
        // The list begins with the newest set.
        uint32_t older = command_buffers->next->instance_offset;
        command_buffers->instance_offset = older + ORRI_INSTANCE_RANGE;
    }
    return command_buffers;
}

void orri_command_buffers_use(orr_world* world, struct orri_command_buffers* command_buffers)
{
    world->context->commands = command_buffers;
}

// A free buffer, a new one, or the stand-in that refuses everything.
static orr_command_buffer* buffer_obtain(orr_world* world,
                                         struct orri_command_buffers* command_buffers)
{
    orr_command_buffer* commands = command_buffers->free;
    if (ORR_LIKELY(commands != NULL)) {
        command_buffers->free = commands->next;
        return commands;
    }
    commands = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_MESSAGE, orr_command_buffer, 1);
    return commands != NULL ? commands : &command_buffers->spare;
}

// Reserves the ids of a buffer of a system that may create. Transient entities have no provisional
// ids.
static void buffer_reserve_ids(orr_command_buffer* commands, uint32_t ids)
{
    const orri_rights* rights = commands->rights;
    struct orri_command_buffers* command_buffers = commands->command_buffers;
    commands->creates_max = rights->creates_max != 0 ? rights->creates_max
                            : rights->spectator      ? ids
                                                     : UINT32_MAX;
    commands->id_count = ids < commands->creates_max ? ids : commands->creates_max;
    commands->provisional_half =
        commands->creates_max > commands->id_count ? orri_provisional_half(commands) : 0;
    command_buffers->reserved += commands->id_count;
    if (commands->id_count > 0 && commands->base <= UINT32_MAX && !command_buffers->withholds) {
        orri_free_samples_extend(commands->world, (uint32_t)commands->base);
    }
}

orr_command_buffer* orri_command_buffer_open(orr_world* world, orri_rights* rights, uint32_t ids)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    if (ORR_UNLIKELY(command_buffers == NULL)) {
        if (!orri_command_buffers_begin(world)) {
            return NULL;
        }
        command_buffers = orri_command_buffers_at(world);
    }
    orr_command_buffer* commands = buffer_obtain(world, command_buffers);
    ORR_ASSERT(!commands->open && commands->order_count == 0);
    commands->world = world;
    commands->command_buffers = command_buffers;
    commands->rights = rights;
    commands->unit = 0;
    commands->next = NULL;
    commands->open = true;
    commands->marked = commands->values_done = commands->failed = false;
    commands->base = command_buffers->reserved;
    commands->cursor = command_buffers->cursor;
    commands->create_count = commands->creates_max = commands->id_count = 0;
    commands->later_base = ORRI_PROVISIONAL_OPEN;
    commands->provisional_half = 0;
    if (rights->may_create) {
        buffer_reserve_ids(commands, ids);
    }
    commands->instance_base = commands->instance_max = commands->instance_count = 0;
    if (rights->adds != NULL || rights->creates != NULL) {
        orri_command_ids_reserve_instances(commands);
    }
    if (rights->transacts != NULL) {
        orri_posts_open(command_buffers, commands);
    }
    return commands;
}

bool orri_command_buffer_end(orr_command_buffer* commands)
{
    commands->open = false;
    return commands->order_count != 0 || (commands->failed && !commands->refuses_all) ||
           commands->transients != NULL || orri_posts_any(commands->posts);
}

bool orri_command_buffer_real(const orr_command_buffer* commands)
{
    return commands != NULL && !commands->refuses_all;
}

void orri_command_buffer_unit_set(orr_command_buffer* commands, uint32_t unit)
{
    if (orri_command_buffer_real(commands)) {
        commands->unit = unit;
    }
}

uint32_t orri_command_buffer_provisional(const orr_command_buffer* commands)
{
    return commands->create_count > commands->id_count ? commands->create_count - commands->id_count
                                                       : 0;
}

orri_ids_reserved orri_command_buffers_reserved(const orr_world* world)
{
    const struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    return (orri_ids_reserved){command_buffers->reserved, command_buffers->instances_reserved};
}

void orri_command_buffers_rewind(orr_world* world, orri_ids_reserved reserved)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    command_buffers->reserved = reserved.entities;
    command_buffers->instances_reserved = reserved.instances;
}

void orri_command_buffer_close(orr_world* world, orr_command_buffer* commands)
{
    (void)world;
    struct orri_command_buffers* command_buffers = commands->command_buffers;
    commands->open = false;
    if (commands->posts != NULL) {
        orri_posts_close(command_buffers, commands);
    }
    if (ORR_UNLIKELY(commands->transients != NULL)) {
        orri_transient_sends_close(command_buffers, commands);
    }
    if (ORR_LIKELY(commands->order_count == 0 && !commands->failed && !commands->refuses_all)) {
        commands->next = command_buffers->free;
        command_buffers->free = commands;
        return;
    }
    if (ORR_UNLIKELY(commands->failed)) {
        atomic_store_explicit(&command_buffers->refused, true, memory_order_relaxed);
    }
    if (commands->refuses_all) {
        return;
    }
    if (commands->create_count > 0) {
        command_buffers->cursor = commands->cursor;
    }
    if (commands->instance_count > 0) {
        command_buffers->instances_used = commands->instance_base + commands->instance_count;
    }
    commands->record_count = orri_command_buffer_records(commands);
    commands->rights->counts.sent += commands->record_count;
    if (commands->record_count == 0) {
        buffer_empty(commands);
        commands->next = command_buffers->free;
        command_buffers->free = commands;
        return;
    }
    if (command_buffers->last != NULL) {
        command_buffers->last->next = commands;
    } else {
        command_buffers->first = commands;
    }
    if (command_buffers->unseen == NULL) {
        command_buffers->unseen = commands;
        command_buffers->seen_last = command_buffers->last;
    }
    commands->number = command_buffers->closed++;
    command_buffers->provisional += orri_command_buffer_provisional(commands);
    command_buffers->last = commands;
    command_buffers->used_count++;
    command_buffers->used_peak = command_buffers->used_peak > command_buffers->used_count
                                     ? command_buffers->used_peak
                                     : command_buffers->used_count;
}

// True when commands of the buffer still wait.
static bool buffer_waits(const orr_command_buffer* commands)
{
    for (uint32_t i = 0; i < commands->order_count; i++) {
        if (commands->arrays[commands->order[i]].count > 0) {
            return true;
        }
    }
    return false;
}

void orri_command_buffers_release(struct orri_command_buffers* command_buffers, bool all)
{
    // Buffers before `unseen` were handled and wait. Walking them for every system would be
    // quadratic.
    orr_command_buffer* before = all ? NULL : command_buffers->seen_last;
    orr_command_buffer *freed = NULL, **freed_end = &freed;
    orr_command_buffer** link = before != NULL ? &before->next : &command_buffers->first;
    command_buffers->last = before;
    command_buffers->unseen = command_buffers->seen_last = NULL;
    while (*link != NULL) {
        orr_command_buffer* commands = *link;
        if (!all && buffer_waits(commands)) {
            // Not handled yet: a buffer of another system's callbacks.
            if (command_buffers->unseen == NULL && !commands->values_done) {
                command_buffers->unseen = commands;
                command_buffers->seen_last = command_buffers->last;
            }
            command_buffers->last = commands;
            link = &commands->next;
            continue;
        }
        *link = commands->next;
        buffer_empty(commands);
        command_buffers->used_count--;
        *freed_end = commands;
        freed_end = &commands->next;
    }
    // In the order of use, before buffers that were used earlier: the next run gets the memory that
    // the same run had.
    *freed_end = command_buffers->free;
    command_buffers->free = freed;
}

bool orri_commit_pending(const orr_world* world)
{
    const struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    return command_buffers != NULL &&
           (command_buffers->first != NULL || command_buffers->transient_first != NULL);
}

bool orri_command_buffers_refused(orr_world* world)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    return command_buffers != NULL &&
           ORR_UNLIKELY(atomic_load_explicit(&command_buffers->refused, memory_order_relaxed)) &&
           atomic_exchange_explicit(&command_buffers->refused, false, memory_order_relaxed);
}

bool orri_events_lost(orr_world* world)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    bool lost = command_buffers != NULL && command_buffers->overflowed;
    if (lost) {
        command_buffers->overflowed = false;
    }
    return lost;
}

// ---- memory that is kept ------------------------------------------------------------------------

// Frees the blocks of a free buffer that were never a quarter full.
static void buffer_trim(orr_world* world, orr_command_buffer* commands)
{
    for (uint32_t i = 0; i < commands->array_count; i++) {
        orri_command_array* array = &commands->arrays[i];
        if (array->block_size > BUFFER_KEPT_MIN && array->peak < array->block_size / 4) {
            orri_free(&world->env, ORR_MEMORY_MESSAGE, array->block, array->block_size,
                      ORRI_BLOCK_ALIGN);
            array->block = NULL;
            array->block_size = 0;
        }
        array->peak = 0;
    }
}

void orri_command_buffers_trim(orr_world* world)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    // One more than waited at once: a run gets its buffer before it is known whether it sends.
    uint32_t kept = command_buffers->used_peak + 1;
    orr_command_buffer** link = &command_buffers->free;
    while (*link != NULL) {
        orr_command_buffer* commands = *link;
        if (kept > 0) {
            buffer_trim(world, commands);
            link = &commands->next;
            kept--;
        } else {
            *link = commands->next;
            buffer_free(world, commands);
        }
    }
    command_buffers->used_peak = command_buffers->used_count;
    if (command_buffers->item_peak < command_buffers->item_capacity / 4) {
        ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, command_buffers->items,
                     command_buffers->item_capacity);
        command_buffers->items = NULL;
        command_buffers->item_capacity = 0;
    }
    command_buffers->item_peak = 0;
    orri_commit_arena_trim(world, &command_buffers->arena);
    orri_posts_trim(world);
}

// Frees a set of command buffers; it is in no list any more.
static void buffer_free_all(orr_world* world, struct orri_command_buffers* command_buffers)
{
    orri_command_buffers_release(command_buffers, true);
    orri_transient_sends_abandon(world, command_buffers, false);
    for (orr_command_buffer* commands = command_buffers->free; commands != NULL;) {
        orr_command_buffer* next = commands->next;
        buffer_free(world, commands);
        commands = next;
    }
    orri_pending_term(world, command_buffers);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, command_buffers->items,
                 command_buffers->item_capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, command_buffers->withheld,
                 command_buffers->withheld_capacity);
    orri_commit_arena_term(world, &command_buffers->arena);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, struct orri_command_buffers, command_buffers, 1);
}

void orri_command_buffers_destroy(orr_world* world, struct orri_command_buffers* command_buffers)
{
    if (command_buffers == NULL) {
        return;
    }
    ORR_ASSERT(command_buffers != orri_command_buffers_at(world) && command_buffers->withholds);
    ORR_ASSERT(command_buffers->first == NULL && command_buffers->transient_first == NULL);
    if (command_buffers->withheld_count >
        0) { // A refusal was reported. Ids that cannot be returned are never given again.
        (void)orri_command_ids_free(world, command_buffers);
    }
    orri_posts_leave(command_buffers);
    struct orri_command_buffers** link = &command_buffers->shared->all;
    while (*link != command_buffers) {
        link = &(*link)->next;
    }
    *link = command_buffers->next;
    buffer_free_all(world, command_buffers);
}

void orri_command_buffers_term(orr_world* world)
{
    if (orri_command_buffers_at(world) == NULL) {
        return;
    }
    struct orri_command_buffers_shared* shared = orri_command_buffers_at(world)->shared;
    while (shared->all != NULL) {
        struct orri_command_buffers* command_buffers = shared->all;
        shared->all = command_buffers->next;
        buffer_free_all(world, command_buffers);
    }
    orri_posts_term(world, shared);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, struct orri_command_buffers_shared, shared, 1);
    world->messages->command_buffers = NULL;
}

#undef BUFFER_ROWS_MIN
#undef BUFFER_KEPT_MIN
