// SPDX-License-Identifier: MIT
// Functions by name: a file names a posted call, or the function of a transaction, since addresses
// change from run to run.
#include "schedule/record/recording.h"

// ---- finding ------------------------------------------------------------------------------------

// Two hash tables with open addressing, at most half full: by name, and by function. A slot has
// 1 + the number of an entry of `named`; 0: it is free.

static uint64_t call_registry_name_hash(const char* name)
{
    return orr_hash(name, strlen(name), 0);
}

static uint64_t call_registry_function_hash(orr_call call, orr_transaction transaction)
{
    return orri_hash_word(call != NULL, call != NULL ? (uint64_t)(uintptr_t)call
                                                     : (uint64_t)(uintptr_t)transaction);
}

// The entry with this name; NULL: none.
static const orri_named* call_registry_find_name(const orr_world* world, const char* name)
{
    const struct orri_schedule* schedule = world->schedule;
    if (schedule == NULL || schedule->named_size == 0) {
        return NULL;
    }
    uint32_t mask = schedule->named_size - 1;
    uint32_t slot = (uint32_t)call_registry_name_hash(name) & mask;
    for (uint32_t at1; (at1 = schedule->named_by_name[slot]) != 0; slot = (slot + 1) & mask) {
        if (strcmp(schedule->named[at1 - 1].name, name) == 0) {
            return &schedule->named[at1 - 1];
        }
    }
    return NULL;
}

// The entry with this call or transaction (the other is NULL); NULL: none.
static const orri_named* call_registry_find(const orr_world* world, orr_call call,
                                            orr_transaction transaction)
{
    const struct orri_schedule* schedule = world->schedule;
    if (schedule == NULL || schedule->named_size == 0) {
        return NULL;
    }
    uint32_t mask = schedule->named_size - 1;
    uint32_t slot = (uint32_t)call_registry_function_hash(call, transaction) & mask;
    for (uint32_t at1; (at1 = schedule->named_by_function[slot]) != 0; slot = (slot + 1) & mask) {
        const orri_named* named = &schedule->named[at1 - 1];
        if (named->call == call && named->transaction == transaction) {
            return named;
        }
    }
    return NULL;
}

const orri_named* orri_call_registered(const orr_world* world, orr_call call)
{
    return call != NULL ? call_registry_find(world, call, NULL) : NULL;
}

orr_result orri_call_check_size(orr_world* world, const char* by, orr_call call, size_t size)
{
    // Another thread may be making the schedule, or registering a call.
    struct orri_schedule* schedule = __atomic_load_n(&world->schedule, __ATOMIC_ACQUIRE);
    if (schedule == NULL) {
        return ORR_OK;
    }
    orri_mutex_lock(world->env.platform, &schedule->posting);
    const orri_named* there = orri_call_registered(world, call);
    orri_named named = there != NULL ? *there : (orri_named){.size = ORR_SIZE_ANY};
    orri_mutex_unlock(world->env.platform, &schedule->posting);
    return orri_named_accepts(&named, size)
               ? ORR_OK
               : orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                             "%s: the call '%s' is registered with %zu bytes of data, but %zu "
                             "bytes were passed; pass the registered size",
                             by, named.name, named.size, size);
}

const char* orri_transaction_name(const orr_world* world, orr_transaction function)
{
    const orri_named* named = function != NULL ? call_registry_find(world, NULL, function) : NULL;
    return named != NULL ? named->name : NULL;
}

const orri_named* orri_call_named(const orr_world* world, const char* name)
{
    const orri_named* named = call_registry_find_name(world, name);
    return named != NULL && named->call != NULL ? named : NULL;
}

orr_transaction orri_transaction_named(const orr_world* world, const char* name)
{
    const orri_named* named = call_registry_find_name(world, name);
    return named != NULL ? named->transaction : NULL;
}

// The declared size of the argument of a function of transactions, for struct orri_messages.
static bool call_registry_declared(const orr_world* world, orr_transaction function,
                                   const char** name, size_t* size)
{
    const orri_named* named = call_registry_find(world, NULL, function);
    if (named == NULL || named->size == ORR_SIZE_ANY) {
        return false;
    }
    *name = named->name;
    *size = named->size;
    return true;
}

// ---- registering --------------------------------------------------------------------------------

static void call_registry_tables_free(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    uint32_t size = schedule->named_size;
    ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, uint32_t, schedule->named_by_name, size);
    ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, uint32_t, schedule->named_by_function, size);
    schedule->named_by_name = schedule->named_by_function = NULL;
    schedule->named_size = 0;
}

static void call_registry_slot_fill(uint32_t* table, uint32_t size, uint64_t hash, uint32_t at1)
{
    uint32_t slot = (uint32_t)hash & (size - 1);
    while (table[slot] != 0) {
        slot = (slot + 1) & (size - 1);
    }
    table[slot] = at1;
}

// Enters an entry into both tables, which have room.
static void call_registry_enter(struct orri_schedule* schedule, uint32_t at)
{
    const orri_named* named = &schedule->named[at];
    uint32_t size = schedule->named_size;
    call_registry_slot_fill(schedule->named_by_name, size, call_registry_name_hash(named->name),
                            at + 1);
    call_registry_slot_fill(schedule->named_by_function, size,
                            call_registry_function_hash(named->call, named->transaction), at + 1);
}

// Makes room for one more entry. False when refused (silent).
static bool call_registry_reserve(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    orri_env* env = &world->env;
    if (!ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &schedule->named, &schedule->named_capacity,
                      schedule->named_count + 1)) {
        return false;
    }
    if ((schedule->named_count + 1) * 2 <= schedule->named_size) {
        return true;
    }
    uint32_t size = schedule->named_size == 0 ? 16 : schedule->named_size * 2;
    uint32_t* by_name = ORRI_ALLOC_ZERO(env, ORR_MEMORY_SYSTEM, uint32_t, size);
    uint32_t* by_function = ORRI_ALLOC_ZERO(env, ORR_MEMORY_SYSTEM, uint32_t, size);
    if (by_name == NULL || by_function == NULL) {
        ORRI_FREE(env, ORR_MEMORY_SYSTEM, uint32_t, by_name, size);
        ORRI_FREE(env, ORR_MEMORY_SYSTEM, uint32_t, by_function, size);
        return false;
    }
    call_registry_tables_free(world);
    schedule->named_by_name = by_name;
    schedule->named_by_function = by_function;
    schedule->named_size = size;
    for (uint32_t i = 0; i < schedule->named_count; i++) {
        call_registry_enter(schedule, i);
    }
    return true;
}

void orri_named_free(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    for (uint32_t i = 0; i < schedule->named_count; i++) {
        ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, char, schedule->named[i].name,
                  strlen(schedule->named[i].name) + 1);
    }
    call_registry_tables_free(world);
    ORRI_RELEASE(&world->env, ORR_MEMORY_SYSTEM, schedule->named, schedule->named_capacity);
    schedule->named = NULL;
    schedule->named_count = schedule->named_capacity = 0;
}

// Checks the arguments and the time of a registration. Reports.
static orr_result call_registry_check(orr_world* world, const char* call, const char* name,
                                      bool function)
{
    if (!function || name == NULL || !orri_name_valid(name)) {
        return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                           "%s: it needs a function, and a name of letters, digits, '_', '.' and "
                           "':'",
                           call);
    }
    if (orri_between_sync_points(world) || orri_system_here(world) != NULL) {
        return orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                           "%s: '%s' cannot be registered while systems run; register it before",
                           call, name);
    }
    return ORR_OK;
}

// Appends to the list. Holds `posting`: other threads that post look there.
static orr_result call_registry_append(orr_world* world, orri_named named)
{
    struct orri_schedule* schedule = world->schedule;
    size_t size = strlen(named.name) + 1;
    char* copy = ORRI_ALLOC(&world->env, ORR_MEMORY_SYSTEM, char, size);
    if (copy == NULL) {
        return orri_refuse_memory(&world->env, "naming a function");
    }
    memcpy(copy, named.name, size);
    named.name = copy;
    orri_mutex_lock(world->env.platform, &schedule->posting);
    bool room = call_registry_reserve(world);
    if (room) {
        schedule->named[schedule->named_count] = named;
        call_registry_enter(schedule, schedule->named_count++);
    }
    orri_mutex_unlock(world->env.platform, &schedule->posting);
    if (!room) {
        ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, char, copy, size);
        return orri_refuse_memory(&world->env, "naming a function");
    }
    world->messages->declared = call_registry_declared;
    return ORR_OK;
}

// Registers a function. The same name, function and size again are allowed.
static orr_result call_registry_add(orr_world* world, const char* call, const char* name,
                                    orr_call one, orr_transaction other, size_t data_size)
{
    orr_result result = call_registry_check(world, call, name, one != NULL || other != NULL);
    if (result != ORR_OK) {
        return result;
    }
    if (orri_schedule_of(world) == NULL) {
        return ORR_ERR_MEMORY;
    }
    const orri_named* there = call_registry_find_name(world, name);
    const orri_named* has = call_registry_find(world, one, other);
    if (there != NULL && there == has) {
        return there->size == data_size
                   ? ORR_OK
                   : orri_refuse(&world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
                                 "%s: '%s' is registered with another size of its data; register "
                                 "it once, or always with the same size",
                                 call, name);
    }
    if (there != NULL || has != NULL) {
        return orri_refuse(&world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
                           "%s: %s '%s'; a function has one name, and a name one function", call,
                           there != NULL ? "another function is" : "the function is",
                           there != NULL ? name : has->name);
    }
    return call_registry_append(world, (orri_named){(char*)(uintptr_t)name, one, other, data_size});
}

orr_result orr_call_register(orr_world* world, const char* name, orr_call call, size_t size)
{
    ORR_ASSERT(world != NULL);
    return call_registry_add(world, "orr_call_register", name, call, NULL, size);
}

orr_result orr_transaction_register(orr_world* world, const char* name, orr_transaction function,
                                    size_t size)
{
    ORR_ASSERT(world != NULL);
    return call_registry_add(world, "orr_transaction_register", name, NULL, function, size);
}
