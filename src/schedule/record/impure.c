// SPDX-License-Identifier: MIT
// Inputs of a run: the effects of impure systems. They are recorded after each call; a replay
// applies them where the system would have been called, without calling it. Effects of a call are:
// the commands in its buffers, the blocks it wrote, its state and exports, its requests to enable
// systems or to pause, and which messages it took. Each pipeline has bytes of its own, in the order
// of its calls: only its thread writes them, outside its turn.
#include "schedule/record/recording.h"
#include "store/pool/pool.h"

// ---- which systems ------------------------------------------------------------------------------

// The lockstep log; NULL: neither recorded nor replayed, or real time.
static orri_lockstep_log* impure_log(const orri_system* system)
{
    const orr_world* world = system->pipe->world;
    return world->realtime ? NULL : world->schedule->lockstep_log;
}

bool orri_impure_replays(const orri_system* system)
{
    const orri_pipeline* pipe = system->pipe;
    const orri_lockstep_log* log = impure_log(system);
    bool replays = pipe->world->realtime ? pipe->driven->replays
                                         : log != NULL && log->replay != NULL;
    return system->desc.impure && !pipe->spectator && replays;
}

bool orri_impure_records(const orri_system* system)
{
    const orri_pipeline* pipe = system->pipe;
    const orri_lockstep_log* log = impure_log(system);
    bool records = pipe->world->realtime
                       ? pipe->driven->records
                       : log != NULL && !pipe->spectator && orri_lockstep_log_records(log);
    return system->desc.impure && records;
}

bool orri_impure_any(const orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    for (uint32_t i = first; i < point; i++) {
        const orri_system* system = pipe->steps[i].system;
        if (system->due && (orri_impure_replays(system) || orri_impure_records(system))) {
            return true;
        }
    }
    return false;
}

// Where inputs of the system are recorded to; where they are replayed from; and the position there.
static orri_command_bytes* impure_to(const orri_system* system)
{
    const orri_lockstep_log* log = impure_log(system);
    return log != NULL ? &log->record->inputs[0] : system->pipe->driven->recorded;
}

static const orri_command_bytes* impure_from(const orri_system* system)
{
    const orri_lockstep_log* log = impure_log(system);
    return log != NULL ? &log->replay->inputs[0] : system->pipe->driven->replayed;
}

static size_t* impure_at(const orri_system* system)
{
    orri_lockstep_log* log = impure_log(system);
    return log != NULL ? &log->impure_at : &system->pipe->driven->replay_at;
}

static bool impure_diverged(const orri_system* system)
{
    const orri_lockstep_log* log = impure_log(system);
    return log != NULL ? log->diverged : atomic_load(system->pipe->driven->diverged);
}

static void impure_diverge(const orri_system* system)
{
    orri_lockstep_log* log = impure_log(system);
    if (log != NULL) {
        log->diverged = true;
    } else {
        system->pipe->world->schedule->driver->diverge(system->pipe);
    }
}

// True when the system may change a type with strings, arrays or hooks: copying the bytes of such
// values is not enough.
static bool impure_more_than_bytes(const orri_system* system, uint32_t type_index)
{
    const orr_world* world = system->pipe->world;
    const orri_rights* rights = &system->rights;
    const orr_type_info* info = &world->schema.types[type_index]->info;
    bool sends = orri_right(rights->creates, rights, type_index) ||
                 orri_right(rights->adds, rights, type_index) ||
                 orri_right(rights->changes, rights, type_index);
    bool writes = system->desc.kind == ORR_DIRECT &&
                  orri_touches(world, system, type_index, NULL) >= ORRI_TOUCH_ATOMIC;
    return (sends || writes) && (info->has_owned || info->has_hooks);
}

// ---- what cannot be recorded --------------------------------------------------------------------

orr_result orri_impure_check(orr_world* world, const char* call)
{
    for (const orri_system* system = world->schedule->first; system != NULL;
         system = system->next) {
        bool counts = system->desc.impure && !system->removed && system->resolved &&
                      !system->pipe->spectator;
        for (uint32_t i = 0; counts && i < world->schema.type_count; i++) {
            if (impure_more_than_bytes(system, i)) {
                return orri_refuse(
                    &world->env, ORR_ERR_TYPE, ORR_LOG_ID_CALL_REFUSED,
                    "%s: system '%s' is impure and changes %s, which has strings, arrays or hooks: "
                    "such values cannot be recorded; let it send plain values to a system that is "
                    "not impure, which changes the type",
                    call, system->desc.name, world->schema.types[i]->info.name);
            }
        }
    }
    return ORR_OK;
}

// ---- state, exports, requests -------------------------------------------------------------------

static void impure_put_states(const orri_system* system, orri_bytes* out)
{
    const orri_system_state* states[2] = {&system->state, &system->exports};
    for (uint32_t i = 0; i < 2; i++) {
        size_t size = states[i]->data != NULL ? states[i]->type->info.size : 0;
        orri_bytes_put_word(out, size);
        orri_bytes_put(out, states[i]->data, size);
    }
    orri_bytes_put_word(out, system->request_count | (uint64_t)system->pause << 32);
    for (uint32_t i = 0; i < system->request_count; i++) {
        const orri_system_request* request = &system->requests[i];
        orri_bytes_put_word(out, request->target->name_hash);
        orri_bytes_put_word(out, (uint64_t)request->group << 1 | request->on);
    }
}

static orri_system* impure_target(const orr_world* world, uint64_t name_hash)
{
    orri_system* system = world->schedule->first;
    while (system != NULL && system->name_hash != name_hash) {
        system = system->next;
    }
    return system;
}

static bool impure_get_states(orri_system* system, orri_bytes_reader* in)
{
    orr_world* world = system->pipe->world;
    const orri_system_state* states[2] = {&system->state, &system->exports};
    for (uint32_t i = 0; i < 2; i++) {
        size_t size = orri_bytes_size(in, orri_bytes_word(in));
        const uint8_t* data = orri_bytes_take(in, size);
        if (data == NULL || size != (states[i]->data != NULL ? states[i]->type->info.size : 0)) {
            return false;
        }
        if (size > 0) {
            memcpy(states[i]->data, data, size);
        }
    }
    uint64_t word = orri_bytes_word(in);
    if (word >> 32 > ORRI_PAUSE_OFF) {
        return false;
    }
    system->pause = (uint8_t)(word >> 32);
    for (uint32_t i = 0; !in->failed && i < (uint32_t)word; i++) {
        orri_system* target = impure_target(world, orri_bytes_word(in));
        uint64_t how = orri_bytes_word(in);
        if (target == NULL || !ORRI_RESERVE(&world->env, ORR_MEMORY_SYSTEM, &system->requests,
                                            &system->request_capacity, system->request_count + 1)) {
            return false;
        }
        system->requests[system->request_count++] =
            (orri_system_request){target, how >> 1, how & 1};
    }
    return !in->failed;
}

// ---- values written in place --------------------------------------------------------------------

// True for the stamp of blocks that the system wrote.
static bool impure_stamped(const orri_system* system, uint64_t version)
{
    const orri_lockstep_log* log = impure_log(system);
    return log != NULL ? version >= log->epoch : version == system->pipe->driven->clock[1];
}

// Records blocks with the stamp of its group. If other systems of the group wrote before, that is
// more than the system wrote, which does no harm.
static void impure_put_columns(const orri_system* system, uint32_t type_index, orri_bytes* out)
{
    const orr_world* world = system->pipe->world;
    if (type_index >= world->tables.capacity) {
        return;
    }
    const orri_table* table = (const orri_table*)(const void*)world->tables.list[type_index];
    const orri_table_cluster* entry;
    for (uint32_t c = 0; (entry = orri_table_next(table, &c)) != NULL;) {
        const orri_cluster* cluster = entry->cluster;
        uint32_t column = entry->column;
        for (uint32_t i = 0; i < cluster->chunk_count; i++) {
            const orri_chunk* chunk = cluster->chunks[i];
            if (!impure_stamped(system, chunk->columns[column].version)) {
                continue;
            }
            size_t size = (size_t)orri_chunk_rows(chunk) * cluster->columns[column].size;
            orri_bytes_put_word(out, type_index + UINT64_C(1));
            orri_bytes_put_word(out, cluster->identity_hash);
            orri_bytes_put_word(out, cluster->index | (uint64_t)i << 32);
            orri_bytes_put_word(out, size);
            orri_bytes_put(out, chunk->columns[column].data, size);
        }
    }
}

static void impure_put_pool(const orri_system* system, uint32_t type_index, orri_bytes* out)
{
    const orr_world* world = system->pipe->world;
    const orri_pool* pool = type_index < world->pinned.capacity ? world->pinned.pools[type_index]
                                                                : NULL;
    for (uint32_t slot = 0; pool != NULL && slot < pool->slot_count; slot++) {
        uint32_t owner = orri_pool_owner(pool, slot);
        if (impure_stamped(system, orri_pool_block_of(pool, slot)->version) &&
            owner != ORRI_INDEX_NONE) {
            orri_bytes_put_word(out, type_index + UINT64_C(1));
            orri_bytes_put_word(out, owner);
            orri_bytes_put(out, orri_pool_at(pool, slot), pool->size);
        }
    }
}

// True when the system may write values of the type in place, and they can be copied as bytes.
// Types with indexed fields are changed by sends only.
static bool impure_writes(const orri_system* system, uint32_t type_index)
{
    const orr_world* world = system->pipe->world;
    return system->desc.kind == ORR_DIRECT && world->schema.types[type_index]->plain &&
           orri_touches(world, system, type_index, NULL) >= ORRI_TOUCH_ATOMIC;
}

static void impure_put_values(const orri_system* system, orri_bytes* out)
{
    const orr_world* world = system->pipe->world;
    uint32_t types = world->schema.type_count;
    if (!world->realtime) { // Deferred stamps are made now, because they are read here.
        if (system->in_units && system->query->units_cached) {
            orri_run_cache_mark_unstamped(system->query);
        }
        orri_world_settle(world);
    }
    for (uint32_t i = 0; i < types; i++) {
        if (!impure_writes(system, i)) {
            continue;
        }
        if (orri_type_pinned(world->schema.types[i])) {
            impure_put_pool(system, i, out);
        } else {
            impure_put_columns(system, i, out);
        }
    }
    orri_bytes_put_word(out, 0);
}

static bool impure_get_column(orr_world* world, orr_type type, orri_bytes_reader* in)
{
    uint64_t identity = orri_bytes_word(in), place = orri_bytes_word(in);
    size_t size = orri_bytes_size(in, orri_bytes_word(in));
    const uint8_t* data = orri_bytes_take(in, size);
    uint32_t index = (uint32_t)place, number = (uint32_t)(place >> 32);
    const orri_cluster* cluster = data != NULL && index < world->clusters.slot_count
                                      ? world->clusters.slots[index].cluster
                                      : NULL;
    int32_t column = cluster != NULL ? orri_cluster_find_column(cluster, type) : -1;
    if (column < 0 || cluster->identity_hash != identity || number >= cluster->chunk_count) {
        return false;
    }
    orri_chunk* chunk = cluster->chunks[number];
    if (size != (size_t)orri_chunk_rows(chunk) * cluster->columns[column].size) {
        return false;
    }
    uint8_t* to = orri_column_write(world, chunk, (uint32_t)column);
    if (to != NULL && size > 0) {
        memcpy(to, data, size);
    }
    return to != NULL;
}

static bool impure_get_pinned(orr_world* world, orr_type type, orri_bytes_reader* in)
{
    orri_pool* pool = orri_pool_find(world, type);
    uint32_t owner = (uint32_t)orri_bytes_word(in);
    const uint8_t* data = pool != NULL ? orri_bytes_take(in, pool->size) : NULL;
    uint8_t* to = data != NULL ? orri_pool_write(world, pool, owner) : NULL;
    if (to != NULL) {
        memcpy(to, data, pool->size);
    }
    return to != NULL;
}

static bool impure_get_values(const orri_system* system, orri_bytes_reader* in)
{
    orr_world* world = system->pipe->world;
    bool good = true;
    for (uint64_t type1 = orri_bytes_word(in); good && type1 != 0; type1 = orri_bytes_word(in)) {
        if (type1 > world->schema.type_count || !impure_writes(system, (uint32_t)(type1 - 1))) {
            return false;
        }
        const orri_type* type = world->schema.types[type1 - 1];
        orr_type handle = {type->id};
        good = orri_type_pinned(type) ? impure_get_pinned(world, handle, in)
                                      : impure_get_column(world, handle, in);
    }
    return good && !in->failed;
}

// ---- one call -----------------------------------------------------------------------------------

// The number of command buffers that is recorded for a callback, which has one; and for a run
// without rows, which has none.
#define IMPURE_CALLBACK   0u
#define IMPURE_NO_BUFFERS UINT32_MAX

// The bytes of a call: hash of the system's name; number of bytes that follow; number of command
// buffers; then everything above.
void orri_impure_record(orri_system* system, const orr_command_buffer* commands)
{
    orri_command_bytes* kept = impure_to(system);
    orri_bytes* out = &kept->bytes;
    const orri_lockstep_log* log = impure_log(system);
    if (log != NULL && orri_impure_check(system->pipe->world, "recording") != ORR_OK) {
        log->record->refused = true; // The system was added after the recording began.
        return;
    }
    uint32_t begin = out->count;
    uint32_t command_buffers = system->command_buffer_count - system->command_buffer_ahead;
    orri_bytes_put_word(out, system->name_hash);
    orri_bytes_put_word(out, 0);
    orri_bytes_put_word(out, commands != NULL       ? IMPURE_CALLBACK
                             : command_buffers == 0 ? IMPURE_NO_BUFFERS
                                                    : command_buffers);
    impure_put_states(system, out);
    if (commands != NULL) {
        orri_command_buffer_put(commands, kept);
    } else {
        for (uint32_t i = 0; i < command_buffers; i++) {
            orri_command_buffer_put(system->command_buffers[system->command_buffer_ahead + i],
                                    kept);
        }
        orri_received_put(system->pipe->world, &system->rights, out);
        impure_put_values(system, out);
    }
    if (out->failed) {
        out->count = begin; // No memory: the recording ends with the next turn.
        return;
    }
    uint64_t size = out->count - begin - 2 * sizeof(uint64_t);
    memcpy(out->data + begin + sizeof size, &size, sizeof size);
}

// Reads the head of the next input, if it is the system's and, `callback`, of that kind. False: it
// is not.
static bool impure_next(const orri_system* system, bool callback, orri_bytes_reader* in,
                        uint32_t* command_buffers)
{
    const orri_command_bytes* kept = impure_from(system);
    size_t* at = impure_at(system);
    orri_bytes_reader from = {kept->bytes.data, kept->bytes.count, *at, false};
    uint64_t name = orri_bytes_word(&from), size = orri_bytes_word(&from);
    if (from.failed || impure_diverged(system)) {
        return false; // The recording is at its end.
    }
    size_t bytes = orri_bytes_size(&from, size);
    *in = (orri_bytes_reader){from.data + from.at, bytes, 0, from.failed};
    *command_buffers = (uint32_t)orri_bytes_word(in);
    bool own = name == system->name_hash && !in->failed &&
               callback == (*command_buffers == IMPURE_CALLBACK);
    if (own) {
        *command_buffers = *command_buffers == IMPURE_NO_BUFFERS ? 0 : *command_buffers;
        *at = from.at + bytes;
    } else if (!callback) {
        impure_diverge(system);
    }
    return own;
}

bool orri_impure_callback_recorded(orri_system* system)
{
    size_t at = *impure_at(system);
    orri_bytes_reader in;
    uint32_t command_buffers;
    bool waits = impure_next(system, true, &in, &command_buffers);
    *impure_at(system) = at;
    return waits;
}

void orri_impure_replay_callback(orri_system* system, orr_command_buffer* commands)
{
    orri_bytes_reader in;
    uint32_t command_buffers;
    bool good = impure_next(system, true, &in, &command_buffers) &&
                impure_get_states(system, &in) &&
                orri_command_buffer_get(commands, &in, impure_from(system));
    if (!good) {
        impure_diverge(system);
    }
}

static bool impure_get(orri_system* system, orri_bytes_reader* in, uint32_t command_buffers)
{
    const orri_command_bytes* kept = impure_from(system);
    if (command_buffers != system->command_buffer_count - system->command_buffer_ahead ||
        !impure_get_states(system, in)) {
        return false;
    }
    for (uint32_t i = 0; i < command_buffers; i++) {
        if (!orri_command_buffer_get(system->command_buffers[system->command_buffer_ahead + i], in,
                                     kept)) {
            return false;
        }
    }
    orri_received_get(system->pipe->world, &system->rights, in);
    return impure_get_values(system, in);
}

// Applies the recorded input of a call.
static void impure_put_in(orri_system* system)
{
    orri_bytes_reader in;
    uint32_t command_buffers;
    const orri_env* env = &system->pipe->world->env;
    uint64_t refusals = env->refusals;
    if (impure_next(system, false, &in, &command_buffers) &&
        !impure_get(system, &in, command_buffers)) {
        impure_diverge(system);
        orri_lockstep_log* log = impure_log(system);
        if (log != NULL) {
            log->memory_refused |= env->refusals != refusals;
        }
    }
    for (uint32_t i = system->command_buffer_ahead; i < system->command_buffer_count; i++) {
        (void)orri_command_buffer_end(system->command_buffers[i]);
    }
}

void orri_impure_replay(orri_system* system)
{
    orri_driven* driven = system->pipe->driven;
    if (impure_log(system) != NULL) {
        impure_put_in(system); // The caller has entered the system.
        return;
    }
    orri_thread_context before =
        orri_this_thread_enter(system->pipe->world, &system->access, system, NULL);
    orri_this_thread.clock = driven->clock;
    orri_this_thread.view = driven->view;
    impure_put_in(system);
    orri_this_thread_leave(before);
}
