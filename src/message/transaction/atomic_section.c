// SPDX-License-Identifier: MIT
// orr_atomic(): a system changes a component of another entity at once, while other systems may do
// the same. First everything is checked and the value is found; then the section runs, guarded by
// its stripe (atomic_section.h), with all other access to the world refused.
#include "message/transaction/atomic_section.h"
#include "base/htm.h"
#include "message/send/command_buffer.h"
#include "store/cow/share.h"
#include "store/pool/pool.h"
#include "store/world/access.h"

#define ATOMIC_SECTION_STRIPES 256u // A power of two.
#define ATOMIC_SECTION_LINE    64u
#define ATOMIC_SECTION_TRIES   4u // Attempts as a processor transaction before the mutex is taken.
#define ATOMIC_SECTION_WAITS   128u // Polls of a mutex that is locked, before each attempt.

// A mutex on a cache line of its own.
typedef struct atomic_section_stripe {
    orri_mutex mutex;
    uint8_t rest[ATOMIC_SECTION_LINE - sizeof(orri_mutex)];
} atomic_section_stripe;

struct orri_atomic_sections {
    atomic_section_stripe stripes[ATOMIC_SECTION_STRIPES];
    atomic_section_stripe blocks; // Guards copying and stamping a block.
    bool use_htm, counting;
    _Atomic uint64_t htm_count;
};

// The section that this thread is in.
typedef struct atomic_section_here {
    const orr_world* world; // NULL: none.
    orri_rights* rights;
    orr_type type;
    orr_entity target;
} atomic_section_here;

static _Thread_local atomic_section_here section_now;

// A checked section, ready to run.
typedef struct atomic_section_call {
    orr_world* world;
    const orri_type* type;
    uint8_t* value;
    orr_section function;
    void* user;
} atomic_section_call;

// ---- beginning and end --------------------------------------------------------------------------

bool orri_atomic_sections_begin(orr_world* world)
{
    struct orri_messages* messages = orri_messages_of(world);
    if (messages == NULL || messages->sections != NULL) {
        return messages != NULL;
    }
    messages->sections = orri_alloc_zero(&world->env, ORR_MEMORY_MESSAGE,
                                         sizeof(struct orri_atomic_sections), ATOMIC_SECTION_LINE);
    if (messages->sections == NULL) {
        (void)orri_refuse_memory(&world->env, "allocating the locks of atomic sections");
        return false;
    }
    messages->sections->use_htm = orri_htm_works() && world->env.platform->sched_point == NULL;
    return true;
}

void orri_atomic_sections_term(orr_world* world)
{
    if (world->messages->sections != NULL) {
        orri_free(&world->env, ORR_MEMORY_MESSAGE, world->messages->sections,
                  sizeof(struct orri_atomic_sections), ATOMIC_SECTION_LINE);
        world->messages->sections = NULL;
    }
}

bool orri_atomic_section_mode_set(orr_world* world, orri_atomic_section_mode mode)
{
    if (!orri_atomic_sections_begin(world)) {
        return false;
    }
    struct orri_atomic_sections* sections = world->messages->sections;
    sections->use_htm =
        mode != ORRI_ATOMIC_SECTION_MUTEX && orri_htm_works() &&
        (mode == ORRI_ATOMIC_SECTION_HTM || world->env.platform->sched_point == NULL);
    sections->counting = true;
    return true;
}

uint64_t orri_atomic_section_htm_count(const orr_world* world)
{
    return atomic_load_explicit(&world->messages->sections->htm_count, memory_order_relaxed);
}

bool orri_atomic_section_here(void)
{
    return section_now.world != NULL;
}

// ---- refusals -----------------------------------------------------------------------------------

ORRI_COLD static orr_result atomic_section_refuse_nested(const orr_run* run, orr_entity target,
                                                         orr_type type)
{
    const orr_world* world = run != NULL && run->world != NULL ? run->world : section_now.world;
    orri_id_text outer = orri_entity_format(section_now.world, section_now.target);
    orri_id_text inner = orri_entity_format(world, target);
    section_now.rights->counts.violations++;
    return orri_refuse(orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
                       "orr_atomic: system '%s' is in an atomic section on %s of %s and begins "
                       "another one on %s of %s; sections cannot be nested: begin the second when "
                       "the first has ended, or make one of them a transaction (orr_transact)",
                       section_now.rights->name,
                       orri_type_label(section_now.world, section_now.type), outer.text,
                       orri_type_label(world, type), inner.text);
}

ORRI_COLD static orr_result atomic_section_refuse(const orr_command_buffer* commands,
                                                  orr_result result, const char* what)
{
    return orri_refuse(&commands->world->env, result, ORR_LOG_ID_SEND_REFUSED,
                       "orr_atomic: system '%s': %s", commands->rights->name, what);
}

ORRI_COLD static orr_result atomic_section_refuse_id(const orr_command_buffer* commands,
                                                     const orri_type* type)
{
    bool multiple = type->info.multiplicity == ORR_MULTIPLE;
    return orri_refuse(&commands->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SEND_REFUSED,
                       "orr_atomic: system '%s': %s is %s, so its id %s", commands->rights->name,
                       type->info.name, multiple ? "a multiple type" : "a unique type",
                       multiple ? "must be that of an existing instance" : "must be 0");
}

// Everything that is refused before the target is looked up.
static orr_result atomic_section_check(const orr_command_buffer* commands, orr_entity target,
                                       orr_type type, orr_component_id id, orr_section function)
{
    const orri_type* info = orri_type_at(&commands->world->schema, type);
    if (ORR_UNLIKELY(function == NULL)) {
        return atomic_section_refuse(commands, ORR_ERR_ARGUMENT, "the function is NULL");
    }
    if (ORR_UNLIKELY(info == NULL)) {
        return orri_refuse_type(commands->world, "orr_atomic", type);
    }
    if (ORR_UNLIKELY(target.id == 0)) {
        return atomic_section_refuse(commands, ORR_ERR_ARGUMENT,
                                     "the target is null: a reference that was never set");
    }
    if (ORR_UNLIKELY(!orri_right(commands->rights->atomics, commands->rights,
                                 orri_type_index(commands->world, type)))) {
        return orri_refuse_right(commands->world, commands->rights, "orr_atomic", "atomics", type,
                                 target);
    }
    bool multiple = info->info.multiplicity == ORR_MULTIPLE;
    if (ORR_UNLIKELY(multiple ? id == 0 : id != 0)) {
        return atomic_section_refuse_id(commands, info);
    }
    // The lock of the error handler is held. A thread that waits for it may be in a section, so
    // that taking a stripe here could deadlock.
    if (ORR_UNLIKELY(orri_refusing_here(&commands->world->env))) {
        return atomic_section_refuse(commands, ORR_ERR_STATE,
                                     "an error handler may read the world, but not change it");
    }
    return ORR_OK;
}

// The entity died, or lost the component, before the system ran.
ORRI_COLD static orr_result atomic_section_drop(const orr_command_buffer* commands,
                                                orr_entity target, orr_type type, bool dead)
{
    orri_rights* rights = commands->rights;
    orri_rights_note_dropped(
        commands->world, rights, type, 1,
        orri_drop_order(orri_this_thread.unit, orri_command_buffer_records(commands)),
        dead ? ORR_ERR_ENTITY : ORR_ERR_ABSENT);
    if (!__atomic_exchange_n(&rights->drop_logged, true, __ATOMIC_RELAXED)) {
        orri_id_text id_text = orri_entity_format(commands->world, target);
        orri_log(&commands->world->env, ORR_LOG_ID_MESSAGE_DROPPED,
                 "system '%s': an atomic section on %s of %s has no effect: %s. Further drops are "
                 "counted (orr_system_stats), but not logged",
                 rights->name, orri_type_label(commands->world, type), id_text.text,
                 dead ? "the entity is dead" : "the entity does not have this component");
    }
    return ORR_OK;
}

// ---- finding the value --------------------------------------------------------------------------

// Makes the block of a column writable in this epoch. The first of several threads copies it, if it
// is shared with a snapshot, and stamps its version. False when the copy was refused.
static bool atomic_section_own(orr_world* world, orri_chunk* chunk, uint32_t column)
{
    orri_column* entry = &chunk->columns[column];
    uint64_t epoch = orri_epoch(world);
    if (ORR_LIKELY(__atomic_load_n(&entry->version, __ATOMIC_ACQUIRE) == epoch)) {
        return true;
    }
    orri_mutex* mutex = &world->messages->sections->blocks.mutex;
    bool owned = true;
    orri_mutex_lock(world->env.platform, mutex);
    if (__atomic_load_n(&entry->version, __ATOMIC_RELAXED) != epoch) {
        owned = entry->share == NULL || orri_share_detach_column(world, chunk, column);
        if (owned) {
            entry->tick = orri_tick_now(world);
            __atomic_store_n(&chunk->cluster->columns[column].version, epoch, __ATOMIC_RELAXED);
            orri_written_note(world, epoch);
            // Last: a thread that sees this version skips the lock.
            __atomic_store_n(&entry->version, epoch, __ATOMIC_RELEASE);
        }
    }
    orri_mutex_unlock(world->env.platform, mutex);
    return owned;
}

// Index of the instance with an id in a row; UINT32_MAX: none. Reads nothing that a section may
// write.
static uint32_t atomic_section_instance(const orri_chunk* chunk, uint32_t column, uint32_t slot,
                                        orr_component_id id)
{
    const orri_cluster_column* entry = &chunk->cluster->columns[column];
    const uint16_t* counts = (const uint16_t*)(const void*)chunk->columns[entry->counts].data;
    const uint32_t* ids = (const uint32_t*)(const void*)chunk->columns[entry->counts + 1].data +
                          ((size_t)slot << entry->shift);
    for (uint32_t i = 0; i < counts[slot]; i++) {
        if (ids[i] == id) {
            return i;
        }
    }
    return UINT32_MAX;
}

// The value to change. NULL: the entity has none, or its block could not be copied (`*result`).
static uint8_t* atomic_section_value(orr_world* world, const orri_record* record, orr_entity target,
                                     const orri_type* type, orr_component_id id, orr_result* result)
{
    orr_type handle = {type->id};
    if (orri_type_pinned(type)) {
        orri_pool* pool = orri_pool_find(world, handle);
        return pool != NULL ? orri_pool_write(world, pool, orri_id_index(target)) : NULL;
    }
    orri_chunk* chunk = orri_place_chunk(world, record->place);
    int32_t column = orri_table_column(world, orri_type_index(world, handle), chunk->id);
    if (column < 0) {
        return NULL;
    }
    uint32_t slot = orri_place_slot(record->place);
    uint32_t number = id != 0 ? atomic_section_instance(chunk, (uint32_t)column, slot, id) : 0;
    if (number == UINT32_MAX) {
        return NULL;
    }
    if (ORR_UNLIKELY(!atomic_section_own(world, chunk, (uint32_t)column))) {
        *result = orri_refuse_memory(&world->env, "copying a shared block for an atomic section");
        return NULL;
    }
    return chunk->columns[column].data + (size_t)slot * chunk->cluster->columns[column].size +
           (size_t)number * type->info.size;
}

// ---- running the section ------------------------------------------------------------------------

// Calls the function and clears padding.
static void atomic_section_do(void* context)
{
    const atomic_section_call* call = context;
    call->function(call->value, call->user);
    if (call->type->info.has_padding) {
        orri_rows_clean(call->type, call->value, 1);
    }
}

// Tries to run the section as a processor transaction. False: it did not run.
static bool atomic_section_htm(struct orri_atomic_sections* sections, orri_mutex* mutex,
                               atomic_section_call* call)
{
    for (uint32_t i = 0; sections->use_htm && i < ATOMIC_SECTION_TRIES; i++) {
        for (uint32_t wait = 0; wait < ATOMIC_SECTION_WAITS &&
                                atomic_load_explicit(&mutex->word, memory_order_relaxed) != 0;
             wait++) {
        }
        orri_htm_result end = orri_htm_try(&mutex->word, atomic_section_do, call);
        if (end == ORRI_HTM_DONE || end == ORRI_HTM_NEVER) {
            bool done = end == ORRI_HTM_DONE;
            if (ORR_UNLIKELY(sections->counting) && done) {
                atomic_fetch_add_explicit(&sections->htm_count, 1, memory_order_relaxed);
            }
            return done;
        }
    }
    return false;
}

// Runs the section under its stripe. Systems that run alone need no lock.
static void atomic_section_locked(atomic_section_call* call, orr_entity target, orr_component_id id)
{
    orr_world* world = call->world;
    if (!world->running.parallel) {
        atomic_section_do(call);
        return;
    }
    struct orri_atomic_sections* sections = world->messages->sections;
    uint64_t hash = orri_hash_word((uint64_t)call->type->id << 32 | id, orri_id_index(target));
    orri_mutex* mutex = &sections->stripes[hash & (ATOMIC_SECTION_STRIPES - 1)].mutex;
    if (!atomic_section_htm(sections, mutex, call)) {
        orri_mutex_lock(world->env.platform, mutex);
        atomic_section_do(call);
        orri_mutex_unlock(world->env.platform, mutex);
    }
}

// Runs the section; with access checks on, other access to the world is a violation.
static void atomic_section_checked(atomic_section_call* call, orri_rights* rights,
                                   orr_entity target, orr_component_id id)
{
    orr_world* world = call->world;
    const orri_access* before = world->running.access;
    const orri_access access = {
        .system = rights->name, .section = true, .violations = &rights->counts.violations};
    if (before == NULL) {
        atomic_section_locked(call, target, id);
    } else if (world->running.parallel) {
        orri_thread_context here =
            orri_this_thread_enter(world, &access, orri_this_thread.system, NULL);
        atomic_section_locked(call, target, id);
        orri_this_thread_leave(here);
    } else {
        orr_hot_table** tables = world->hot.tables;
        orri_access_leave(world);
        orri_access_enter(world, &access, NULL);
        atomic_section_locked(call, target, id);
        orri_access_leave(world);
        orri_access_enter(world, before, tables);
    }
}

orr_result orr_atomic(orr_run* run, orr_entity target, orr_type type, orr_component_id id,
                      orr_section section, void* user)
{
    if (ORR_UNLIKELY(section_now.world != NULL)) {
        return atomic_section_refuse_nested(run, target, type);
    }
    orr_result result = orri_check_run(run, "orr_atomic");
    result = result == ORR_OK ? atomic_section_check(run->commands, target, type, id, section)
                              : result;
    if (ORR_UNLIKELY(result != ORR_OK)) {
        return result;
    }
    orr_command_buffer* commands = run->commands;
    orr_world* world = commands->world;
    const orri_record* record = orri_record_find(world, target);
    if (ORR_UNLIKELY(record == NULL)) {
        return atomic_section_drop(commands, target, type, true);
    }
    atomic_section_call call = {.world = world,
                                .type = orri_type_at(&world->schema, type),
                                .function = section,
                                .user = user};
    call.value = atomic_section_value(world, record, target, call.type, id, &result);
    if (ORR_UNLIKELY(call.value == NULL)) {
        return result == ORR_OK ? atomic_section_drop(commands, target, type, false) : result;
    }
    // Meanwhile the run has no command buffer, so that sends are refused.
    section_now = (atomic_section_here){world, commands->rights, type, target};
    run->commands = NULL;
    atomic_section_checked(&call, commands->rights, target, id);
    run->commands = commands;
    section_now = (atomic_section_here){0};
    return ORR_OK;
}

#undef ATOMIC_SECTION_STRIPES
#undef ATOMIC_SECTION_LINE
#undef ATOMIC_SECTION_TRIES
#undef ATOMIC_SECTION_WAITS
