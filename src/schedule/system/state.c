// SPDX-License-Identifier: MIT
// State, exports and imports of systems: values of schema types that are part of the world's state.
// Also the calls by which a running system accesses them.
#include "schedule/schedule.h"
#include <stdio.h>

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
    orri_refuse_undone(
        world, system,
        "system '%s' wrote %s, its state (undone); a parallel system may only read it. To count "
        "or sum up, export with .combine, or transact",
        system->desc.name, system->state.type->info.name);
}

// No call of the system is running any more, so orri_refusal_note() cannot know whose mistake it is.
void orri_refuse_undone(orr_world* world, orri_system* system, const char* format, ...)
{
    char buffer[ORRI_ERROR_SIZE];
    orri_text text = {buffer, sizeof buffer, 0};
    va_list args;
    va_start(args, format);
    orri_text_add_v(&text, format, args);
    va_end(args);
    orri_text_cut(&text);
    system->rights.counts.violations++;
    (void)orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION, "%s", buffer);
    orri_rights_note_refused(&system->rights, UINT32_MAX, ORR_ERR_STATE, buffer);
    atomic_store(&world->errors.noted, true);
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

static uint64_t state_random(const orr_run* run, orr_entity entity, const char* call)
{
    const orri_system* system = orri_run_self(run, call);
    return system != NULL ? orr_random(run->world->seed, run->tick, system->name_hash, entity.id)
                          : 0;
}

orr_rng orr_run_rng(const orr_run* run, orr_entity entity)
{
    return (orr_rng){.first = state_random(run, entity, "orr_run_rng")};
}

uint64_t orr_run_random(const orr_run* run, orr_entity entity)
{
    return state_random(run, entity, "orr_run_random");
}

ORRI_COLD static void state_refuse(orri_system* system, orr_world* world, const char* call,
                                   const char* type, const char* what)
{
    system->rights.counts.violations++;
    (void)orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
                      "%s: system '%s' asks for %s, %s", call, system->desc.name, type, what);
}

// `has` is the value of this field of the system's desc, which has no value of type `type`.
ORRI_COLD static void state_refuse_own(orri_system* system, orr_world* world, const char* call,
                                       const char* type, const orri_system_state* has,
                                       const char* field)
{
    char what[2 * ORR_NAME_MAX + 64];
    if (has->data == NULL) {
        snprintf(what, sizeof what, "but has no .%s; add .%s = ORR_TYPE(%s)", field, field, type);
    } else {
        snprintf(what, sizeof what, "which is not the type of its .%s: that is %s", field,
                 has->type->info.name);
    }
    state_refuse(system, world, call, type, what);
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
        state_refuse_own(system, run->world, "orr_state", desc->name, &system->state, "state");
        return NULL;
    }
    return system != NULL && desc != NULL ? system->state.data : NULL;
}

void* orr_run_export(orr_run* run, const orr_type_desc* desc)
{
    orri_system* system = orri_run_self(run, "orr_export");
    if (system != NULL && desc != NULL && !state_is(&system->exports, desc)) {
        state_refuse_own(system, run->world, "orr_export", desc->name, &system->exports, "exports");
        return NULL;
    }
    if (system != NULL && desc != NULL && system->reduces && run->unit != 0) {
        return orri_reduce_partial(system, run->unit - 1);
    }
    return system != NULL && desc != NULL ? system->exports.data : NULL;
}

// An import from a system that is disabled is legitimate, because pausing a system is, but not
// silent: counted at each call, logged once for each time that the other system is stopped.
ORRI_COLD static void state_import_stopped(orri_system* system, orr_world* world, uint32_t i,
                                           uint64_t stopped1)
{
    const orri_system* other = system->imports[i];
    atomic_fetch_add_explicit(&system->rights.counts.stale_imports, 1, memory_order_relaxed);
    if (atomic_exchange_explicit(&system->import_notes[i].logged, stopped1, memory_order_relaxed) ==
        stopped1) {
        return;
    }
    orri_log(&world->env, ORR_LOG_ID_IMPORT_STALE,
             "system '%s' imports %s from '%s', which is disabled: the value is that of its last "
             "tick. Enable '%s', or disable '%s' too (put both into one .group), or stop importing",
             system->desc.name, other->exports.type->info.name, other->desc.name, other->desc.name,
             system->desc.name);
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
                uint64_t stopped1 = ORR_UNLIKELY(run->world->realtime)
                                        ? system->import_notes[i].stopped1
                                        : orri_system_stop(other);
                if (ORR_UNLIKELY(stopped1 != 0)) {
                    state_import_stopped(system, run->world, i, stopped1);
                }
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
