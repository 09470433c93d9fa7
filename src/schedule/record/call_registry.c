// SPDX-License-Identifier: MIT
// Functions by name: in a file a call from outside, or the function of a transaction, is its name.
#include "schedule/record/recording.h"

static const orri_named* call_registry_find(const orr_world* world, const char* name, orr_call call,
                                            orr_transaction transaction)
{
    const struct orri_schedule* schedule = world->schedule;
    for (uint32_t i = 0; schedule != NULL && i < schedule->named_count; i++) {
        const orri_named* named = &schedule->named[i];
        if ((name != NULL && strcmp(named->name, name) == 0) ||
            (call != NULL && named->call == call) ||
            (transaction != NULL && named->transaction == transaction)) {
            return named;
        }
    }
    return NULL;
}

const char* orri_call_name(const orr_world* world, orr_call call)
{
    const orri_named* named = call != NULL ? call_registry_find(world, NULL, call, NULL) : NULL;
    return named != NULL ? named->name : NULL;
}

const char* orri_transaction_name(const orr_world* world, orr_transaction function)
{
    const orri_named* named = function != NULL ? call_registry_find(world, NULL, NULL, function)
                                               : NULL;
    return named != NULL ? named->name : NULL;
}

orr_call orri_call_named(const orr_world* world, const char* name)
{
    const orri_named* named = call_registry_find(world, name, NULL, NULL);
    return named != NULL ? named->call : NULL;
}

orr_transaction orri_transaction_named(const orr_world* world, const char* name)
{
    const orri_named* named = call_registry_find(world, name, NULL, NULL);
    return named != NULL ? named->transaction : NULL;
}

void orri_named_free(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    for (uint32_t i = 0; i < schedule->named_count; i++) {
        ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, char, schedule->named[i].name,
                  strlen(schedule->named[i].name) + 1);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_SYSTEM, schedule->named, schedule->named_capacity);
    schedule->named = NULL;
    schedule->named_count = schedule->named_capacity = 0;
}

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
                           "%s: '%s' is named while systems run; do it before", call, name);
    }
    return ORR_OK;
}

static orr_result call_registry_add(orr_world* world, const char* call, const char* name,
                                    orr_call one, orr_transaction other)
{
    orr_result result = call_registry_check(world, call, name, one != NULL || other != NULL);
    if (result != ORR_OK) {
        return result;
    }
    struct orri_schedule* schedule = orri_schedule_of(world);
    if (schedule == NULL) {
        return ORR_ERR_MEMORY;
    }
    const orri_named* there = call_registry_find(world, name, NULL, NULL);
    const orri_named* has = call_registry_find(world, NULL, one, other);
    if (there != NULL && there == has) {
        return ORR_OK;
    }
    if (there != NULL || has != NULL) {
        return orri_refuse(&world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
                           "%s: %s '%s'; a function has one name, and a name one function", call,
                           there != NULL ? "another function is" : "the function is",
                           there != NULL ? name : has->name);
    }
    size_t size = strlen(name) + 1;
    bool room = ORRI_RESERVE(&world->env, ORR_MEMORY_SYSTEM, &schedule->named,
                             &schedule->named_capacity, schedule->named_count + 1);
    char* copy = room ? ORRI_ALLOC(&world->env, ORR_MEMORY_SYSTEM, char, size) : NULL;
    if (copy == NULL) {
        return orri_refuse_memory(&world->env, "naming a function");
    }
    memcpy(copy, name, size);
    schedule->named[schedule->named_count++] = (orri_named){copy, one, other};
    return ORR_OK;
}

orr_result orr_call_register(orr_world* world, const char* name, orr_call call)
{
    ORR_ASSERT(world != NULL);
    return call_registry_add(world, "orr_call_register", name, call, NULL);
}

orr_result orr_transaction_register(orr_world* world, const char* name, orr_transaction function)
{
    ORR_ASSERT(world != NULL);
    return call_registry_add(world, "orr_transaction_register", name, NULL, function);
}
