// SPDX-License-Identifier: MIT
// Checks whether a recording that was read from a file can be replayed on a world: the numbers of
// types, pipelines and functions must mean the same in both.
#include "schedule/record/recording.h"

const char* orri_recording_function(const struct orr_recording* recording, uint32_t number,
                                    uint32_t index)
{
    const orri_lockstep_log_names* names = &recording->names[ORRI_LOCKSTEP_LOG_FUNCTIONS];
    for (uint32_t i = 0; i < names->count; i++) {
        if (names->names[i].word == number && index-- == 0) {
            return names->names[i].name;
        }
    }
    return NULL;
}

static orr_result compat_types(orr_world* world, const orr_recording* recording, const char* call)
{
    const orri_lockstep_log_names* types = &recording->names[ORRI_LOCKSTEP_LOG_TYPES];
    for (uint32_t i = 0; i < types->count && i < world->schema.type_count; i++) {
        const orr_type_info* info = &world->schema.types[i]->info;
        if (strcmp(info->name, types->names[i].name) != 0 ||
            info->layout_hash != types->names[i].word) {
            return orri_refuse(
                &world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
                "%s: type %u of the recording is '%s', here it is '%s'%s; register the same types "
                "in the same order",
                call, i, types->names[i].name, info->name,
                strcmp(info->name, types->names[i].name) == 0 ? " with another layout" : "");
        }
    }
    return ORR_OK;
}

static orr_result compat_pipelines(orr_world* world, const orr_recording* recording,
                                   const char* call)
{
    const orri_lockstep_log_names* pipes = &recording->names[ORRI_LOCKSTEP_LOG_PIPELINES];
    for (uint32_t i = 0; i < pipes->count; i++) {
        const orri_pipeline* pipe = orri_lockstep_log_pipeline(world, i);
        if (pipe == NULL || strcmp(pipe->name, pipes->names[i].name) != 0) {
            return orri_refuse(&world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
                               "%s: pipeline %u of the recording is '%s', here it is '%s'; add the "
                               "same pipelines in the same order",
                               call, i, pipes->names[i].name, pipe != NULL ? pipe->name : "(none)");
        }
    }
    return ORR_OK;
}

// The data of every recorded call has the size that is registered in this world.
static orr_result compat_sizes(orr_world* world, const orr_recording* recording, const char* call)
{
    const orri_named* named = NULL;
    orr_call last = NULL; // Mostly several calls in a row have the same function.
    for (uint32_t i = 0; i < recording->call_count; i++) {
        const orri_call* recorded = recording->calls[i];
        named = recorded->call == last ? named : orri_call_registered(world, recorded->call);
        last = recorded->call;
        if (!orri_named_accepts(named, recorded->size)) {
            return orri_refuse(&world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
                               "%s: call %u of the recording, '%s' has %u bytes of data, but is "
                               "registered with %zu bytes; replay with the program that made the "
                               "recording",
                               call, i, named->name, recorded->size, named->size);
        }
    }
    return ORR_OK;
}

// Every recorded call and transaction has a registered function.
static orr_result compat_calls(orr_world* world, const orr_recording* recording, const char* call)
{
    for (uint32_t i = 0; i < recording->call_count; i++) {
        if (recording->calls[i]->call == NULL) {
            return orri_refuse(&world->env, ORR_ERR_ABSENT, ORR_LOG_ID_CALL_REFUSED,
                               "%s: the call '%s' was not registered when the recording was "
                               "loaded; call orr_call_register(), then orr_recording_load() again",
                               call, recording->calls[i]->name);
        }
    }
    for (uint32_t p = 0; p < ORR_PIPELINES_MAX; p++) {
        const orri_command_bytes* kept = &recording->inputs[p];
        for (uint32_t i = 0; i < kept->function_count; i++) {
            if (kept->functions[i] == NULL) {
                return orri_refuse(
                    &world->env, ORR_ERR_ABSENT, ORR_LOG_ID_CALL_REFUSED,
                    "%s: the transaction '%s' was not registered when the recording was loaded; "
                    "call orr_transaction_register(), then orr_recording_load() again",
                    call, orri_recording_function(recording, p, i));
            }
        }
    }
    return ORR_OK;
}

orr_result orri_recording_fits(orr_world* world, const struct orr_recording* recording,
                               const char* call)
{
    orr_result result = compat_types(world, recording, call);
    result = result == ORR_OK ? compat_pipelines(world, recording, call) : result;
    result = result == ORR_OK ? compat_calls(world, recording, call) : result;
    return result == ORR_OK ? compat_sizes(world, recording, call) : result;
}
