// SPDX-License-Identifier: MIT
// State, exports and imports of systems: values of schema types that are part of the world's state.
// And what a running system can ask about itself.
#include "schedule/schedule.h"

bool orri_system_state_make(orr_world* world, orri_system_state* state, const orri_type* type)
{
    size_t size = type->info.size;
    uint8_t* data = orri_alloc_zero(&world->env, ORR_MEMORY_SYSTEM, size, ORRI_BLOCK_ALIGN);
    if (data == NULL) {
        (void)orri_refuse_memory(&world->env, "making the state of a system");
        return false;
    }
    orr_value_default(&type->info, data);
    *state = (orri_system_state){type, data};
    return true;
}

void orri_system_state_free(orr_world* world, orri_system_state* state)
{
    if (state->data != NULL) {
        orri_free(&world->env, ORR_MEMORY_SYSTEM, state->data, state->type->info.size,
                  ORRI_BLOCK_ALIGN);
    }
    *state = (orri_system_state){0};
}

void orri_system_state_copy(orri_system* system)
{
    memcpy(system->state_before.data, system->state.data, system->state.type->info.size);
}

// Workers would write the state in any order, over each other: a write must not last.
void orri_system_state_check(orr_world* world, orri_system* system)
{
    size_t size = system->state.type->info.size;
    if (ORR_LIKELY(memcmp(system->state_before.data, system->state.data, size) == 0)) {
        return;
    }
    memcpy(system->state.data, system->state_before.data, size);
    system->rights.counts.violations++;
    (void)orri_refuse(
        &world->env, ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
        "system '%s' wrote %s, its state (undone); a parallel system may only read it. To count "
        "or sum up, export with .combine, or transact",
        system->desc.name, system->state.type->info.name);
}

// ---- calls of a running system ------------------------------------------------------------------

orri_system* orri_run_self(const orr_run* run, const char* call)
{
    if (orri_check_run(run, call) != ORR_OK) {
        return NULL;
    }
    return orri_system_at(run->world, orri_command_buffer_rights(run->commands)->system);
}

orr_query* orr_run_query(const orr_run* run)
{
    const orri_system* system = orri_run_self(run, "orr_run_query");
    bool none = system == NULL || system->desc.kind != ORR_DIRECT ||
                system->query->leaves[0].term_count == 0;
    return none ? NULL : system->query;
}

orr_system orr_run_self(const orr_run* run)
{
    const orri_system* system = orri_run_self(run, "orr_run_self");
    return system != NULL ? system->handle : (orr_system){0};
}

void* orr_run_user(const orr_run* run)
{
    const orri_system* system = orri_run_self(run, "orr_run_user");
    return system != NULL ? system->desc.user : NULL;
}

const void* orr_run_settings(const orr_run* run)
{
    const orri_system* system = orri_run_self(run, "orr_run_settings");
    return system != NULL ? system->desc.settings : NULL;
}

uint64_t orr_run_random(const orr_run* run, orr_entity entity)
{
    const orri_system* system = orri_run_self(run, "orr_run_random");
    return system != NULL ? orr_random(run->world->seed, run->tick, system->name_hash, entity.id)
                          : 0;
}

ORRI_COLD static void state_refuse(orri_system* system, orr_world* world, const char* call,
                                   const char* type, const char* what)
{
    system->rights.counts.violations++;
    (void)orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
                      "%s: system '%s' asks for %s, %s", call, system->desc.name, type, what);
}

// True when the value has the type of `desc`.
static bool state_is(const orri_system_state* state, const orr_type_desc* desc)
{
    return state->data != NULL && strcmp(state->type->info.name, desc->name) == 0;
}

void* orr_run_state(orr_run* run, const orr_type_desc* desc)
{
    orri_system* system = orri_run_self(run, "orr_state");
    if (system != NULL && desc != NULL && !state_is(&system->state, desc)) {
        state_refuse(system, run->world, "orr_state", desc->name,
                     "which is not the type of its .state");
        return NULL;
    }
    return system != NULL && desc != NULL ? system->state.data : NULL;
}

void* orr_run_export(orr_run* run, const orr_type_desc* desc)
{
    orri_system* system = orri_run_self(run, "orr_export");
    if (system != NULL && desc != NULL && !state_is(&system->exports, desc)) {
        state_refuse(system, run->world, "orr_export", desc->name,
                     "which is not the type of its .exports");
        return NULL;
    }
    if (system != NULL && desc != NULL && system->reduces && run->unit1 != 0) {
        return orri_reduce_partial(system, run->unit1 - 1);
    }
    return system != NULL && desc != NULL ? system->exports.data : NULL;
}

const void* orr_run_import(orr_run* run, const char* name, const orr_type_desc* desc)
{
    orri_system* system = orri_run_self(run, "orr_import");
    if (system == NULL || name == NULL || desc == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < system->import_count; i++) {
        const orri_system* other = system->imports[i];
        if (strcmp(other->desc.name, name) == 0) {
            if (state_is(&other->exports, desc)) {
                bool far = system->imports_seen != NULL && system->imports_seen[i] != NULL;
                return ORR_UNLIKELY(far) ? system->imports_seen[i] : other->exports.data;
            }
            state_refuse(system, run->world, "orr_import", desc->name,
                         "which is not what the system of that name exports");
            return NULL;
        }
    }
    system->rights.counts.violations++;
    (void)orri_refuse(&run->world->env, ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
                      "orr_import: system '%s' reads %s of '%s', which it did not declare; add "
                      "'%s' to its .imports",
                      system->desc.name, desc->name, name, name);
    return NULL;
}

// ---- calls from outside -------------------------------------------------------------------------

const void* orr_system_state(const orr_world* world, orr_system handle)
{
    ORR_ASSERT(world != NULL);
    const orri_system* system = orri_system_at(world, handle);
    if (orri_access_checked(world)) {
        (void)orri_refuse_running(world, "orr_system_state");
        return NULL;
    }
    return system != NULL ? system->state.data : NULL;
}

const void* orr_system_exports(const orr_world* world, orr_system handle)
{
    ORR_ASSERT(world != NULL);
    const orri_system* system = orri_system_at(world, handle);
    if (orri_access_checked(world)) {
        (void)orri_refuse_running(world, "orr_system_exports");
        return NULL;
    }
    return system != NULL ? system->exports.data : NULL;
}

void orri_exports_release(orr_world* world, orri_system* system)
{
    orri_env* env = &world->env;
    if (system->exports_published != NULL) {
        orri_free(env, ORR_MEMORY_SYSTEM, system->exports_published,
                  system->exports.type->info.size, ORRI_BLOCK_ALIGN);
        system->exports_published = NULL;
    }
    for (uint32_t i = 0; system->imports_seen != NULL && i < system->import_count; i++) {
        if (system->imports_seen[i] != NULL) {
            orri_free(env, ORR_MEMORY_SYSTEM, system->imports_seen[i],
                      system->imports[i]->exports.type->info.size, ORRI_BLOCK_ALIGN);
        }
    }
    ORRI_FREE(env, ORR_MEMORY_SYSTEM, uint8_t*, system->imports_seen, system->import_count);
    system->imports_seen = NULL;
}
