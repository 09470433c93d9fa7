// SPDX-License-Identifier: MIT
// Pipelines: systems with a clock of their own. A world begins with one, "main". Which types a
// pipeline owns is decided when its systems are added (type_owner.c).
#include "schedule/record/recording.h"

#define PIPELINE_FIRST "main"
// Default step of a continuous pipeline in lockstep: 1/60 s.
#define PIPELINE_STEP_NS UINT64_C(16666667)

// ---- time ---------------------------------------------------------------------------------------

// Computed from the count, not by adding rounded intervals: sixty ticks at 60 Hz are exactly a
// second, and 120 Hz is due when 60 Hz is.
uint64_t orri_pipeline_due(const orri_pipeline* pipe, uint64_t after)
{
    uint64_t count = pipe->ran + 1 + after, left = ORRI_TIME_MAX_NS - pipe->start_ns;
    ORR_ASSERT(pipe->start_ns <= ORRI_TIME_MAX_NS);
    if (pipe->rate_hz <= 0) {
        uint64_t ns;
        bool fits = !__builtin_mul_overflow(count, pipe->interval_ns, &ns) && ns <= left;
        return fits ? pipe->start_ns + ns : UINT64_MAX;
    }
    double ns = (double)count * 1e9 / pipe->rate_hz;
    return ns < (double)left ? pipe->start_ns + (uint64_t)ns : UINT64_MAX; // Never due.
}

bool orri_pipeline_clock_ended(const orri_pipeline* pipe)
{
    return ORR_UNLIKELY(pipe->due_ns > ORRI_TIME_MAX_NS) && pipe->stage == ORRI_STAGE_DONE &&
           // A second for the rounding of due times.
           pipe->world->schedule->time_ns > ORRI_TIME_MAX_NS - pipe->interval_ns - 1000000000;
}

// Sets rate and interval from the desc.
static void pipeline_rate_set(orri_pipeline* pipe, const orr_pipeline_desc* desc)
{
    pipe->rate_hz = desc->rate_hz;
    if (desc->rate_hz > 0) {
        double ns = 1e9 / desc->rate_hz + 0.5;
        double most = (double)ORRI_INTERVAL_MAX_NS;
        pipe->interval_ns = (uint64_t)(ns < most ? ns : most);
        pipe->interval = (float)(1.0 / desc->rate_hz);
    } else {
        pipe->interval_ns = desc->step_ns != 0 ? desc->step_ns : PIPELINE_STEP_NS;
        pipe->interval = desc->step_ns != 0 ? (float)((double)desc->step_ns * 1e-9) : 1.0f / 60.0f;
    }
}

void orri_pipeline_ticked(orri_pipeline* pipe)
{
    struct orri_schedule* schedule = pipe->world->schedule;
    uint64_t due_ns = pipe->due_ns < ORRI_TIME_MAX_NS ? pipe->due_ns : ORRI_TIME_MAX_NS;
    // Only the simulation moves the clock: the time it reads must not depend on spectators.
    if (!pipe->spectator && due_ns > schedule->time_ns) {
        schedule->time_ns = due_ns;
    }
    if (pipe->index == 0) {
        schedule->passed_ns = 0;
    }
    if (pipe->rate_hz <= 0) {
        // A continuous pipeline follows its caller: the next tick is a step after this one.
        pipe->start_ns = due_ns;
        pipe->ran = 0;
    } else {
        pipe->ran++;
    }
    pipe->due_ns = orri_pipeline_due(pipe, 0);
}

void orri_pipeline_clock_restart(orri_pipeline* pipe)
{
    pipe->start_ns = pipe->world->schedule->time_ns;
    pipe->ran = 0;
    pipe->due_ns = orri_pipeline_due(pipe, 0);
}

// ---- adding -------------------------------------------------------------------------------------

// Checks a desc. Reports.
static orr_result pipeline_check(orr_world* world, const orr_pipeline_desc* desc)
{
    const char* wrong = NULL;
    if (desc == NULL || desc->name == NULL || !orri_name_valid(desc->name)) {
        wrong = "it needs a name of letters, digits, '_', '.' and ':'";
    } else if (!(desc->rate_hz >= 0 && desc->rate_hz <= 1e6)) {
        wrong = "rate_hz is negative, above 1,000,000 or not a number";
    } else if (desc->rate_hz > 0 && desc->step_ns != 0) {
        wrong = "step_ns is for continuous pipelines; this one has a rate_hz";
    } else if (desc->rate_hz > 0 && desc->wait != NULL) {
        wrong =
            "wait is for continuous pipelines; this one has a rate_hz, which says when it ticks";
    } else if (desc->step_ns > UINT64_C(1000000000000)) {
        wrong = "step_ns is above 1,000 seconds";
    } else if (orri_realtime_runs(world) || world->schedule->now != NULL) {
        wrong = orri_realtime_runs(world) ? "the world runs in real time; add it before the run"
                                          : "a tick is under way; add it between ticks";
    } else if (world->schedule->calling) { // A recording could not be replayed: it names them all.
        wrong = "not allowed in a posted call, nor in on_tick of a replay; add it between ticks";
    } else if (world->schedule->pipeline_count >= ORR_PIPELINES_MAX) {
        wrong = "there are ORR_PIPELINES_MAX pipelines already";
    }
    if (wrong != NULL) {
        return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SYSTEM_REFUSED,
                           "orr_pipeline_add: pipeline '%.80s': %s",
                           desc != NULL && desc->name != NULL ? desc->name : "", wrong);
    }
    if (orri_pipeline_named(world, desc->name) != NULL) {
        return orri_refuse(&world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_SYSTEM_REFUSED,
                           "orr_pipeline_add: there is a pipeline '%s' already%s", desc->name,
                           strcmp(desc->name, PIPELINE_FIRST) == 0 ? "; every world begins with it"
                                                                   : "");
    }
    return ORR_OK;
}

static void pipeline_free(orri_pipeline* pipe)
{
    orri_env* env = &pipe->world->env;
    if (pipe->driven != NULL) {
        pipe->world->schedule->driver->pipeline_free(pipe->world, pipe);
    }
    orri_conflicts_free(pipe);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, pipe->steps, pipe->step_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, pipe->foreign.bits, pipe->foreign.words);
    if (pipe->name != NULL) {
        ORRI_FREE(env, ORR_MEMORY_SYSTEM, char, pipe->name, strlen(pipe->name) + 1);
    }
    ORRI_FREE(env, ORR_MEMORY_SYSTEM, orri_pipeline, pipe, 1);
}

orri_pipeline* orri_pipeline_make(orr_world* world, const orr_pipeline_desc* desc)
{
    struct orri_schedule* schedule = world->schedule;
    orri_env* env = &world->env;
    size_t size = strlen(desc->name) + 1;
    bool room = ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &schedule->pipelines,
                             &schedule->pipeline_capacity, schedule->pipeline_count + 1);
    orri_pipeline* pipe = room ? ORRI_ALLOC_ZERO(env, ORR_MEMORY_SYSTEM, orri_pipeline, 1) : NULL;
    if (pipe != NULL) {
        pipe->world = world;
        pipe->name = ORRI_ALLOC(env, ORR_MEMORY_SYSTEM, char, size);
    }
    if (pipe == NULL || pipe->name == NULL) {
        if (pipe != NULL) {
            pipeline_free(pipe);
        }
        (void)orri_refuse_memory(env, "making a pipeline");
        return NULL;
    }
    memcpy(pipe->name, desc->name, size);
    pipe->name_hash = orr_hash(desc->name, size - 1, 0);
    pipe->stage = ORRI_STAGE_DONE;
    pipe->spectator = desc->spectator;
    pipe->wait = desc->wait;
    pipe->wait_user = desc->wait_user;
    pipe->wait_main = desc->wait_main;
    pipeline_rate_set(pipe, desc);
    pipe->start_ns = schedule->time_ns;
    pipe->due_ns = orri_pipeline_due(pipe, 0);
    pipe->index = schedule->pipeline_count;
    schedule->pipelines[schedule->pipeline_count++] = pipe;
    schedule->stale = true;
    return pipe;
}

bool orri_pipelines_begin(orr_world* world)
{
    return orri_pipeline_make(world, &(orr_pipeline_desc){.name = PIPELINE_FIRST,
                                                          .rate_hz = world->settings.rate_hz}) !=
           NULL;
}

void orri_pipelines_free(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        pipeline_free(schedule->pipelines[i]);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_SYSTEM, schedule->pipelines, schedule->pipeline_capacity);
}

orri_pipeline* orri_pipeline_named(const orr_world* world, const char* name)
{
    const struct orri_schedule* schedule = world->schedule;
    for (uint32_t i = 0; schedule != NULL && i < schedule->pipeline_count; i++) {
        if (strcmp(schedule->pipelines[i]->name, name) == 0) {
            return schedule->pipelines[i];
        }
    }
    return NULL;
}

// With one pipeline its clock is not part of the state; with several it is. Spectators never are.
uint64_t orri_pipelines_hash(const orr_world* world, uint64_t hash)
{
    const struct orri_schedule* schedule = world->schedule;
    uint32_t count = 0;
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        count += !schedule->pipelines[i]->spectator;
    }
    for (uint32_t i = 0; count > 1 && i < schedule->pipeline_count; i++) {
        const orri_pipeline* pipe = schedule->pipelines[i];
        if (pipe->spectator) {
            continue;
        }
        hash = orri_hash_word(hash, pipe->name_hash);
        hash = orri_hash_word(hash, pipe->tick);
        hash = orri_hash_word(hash, pipe->due_ns);
    }
    return hash;
}

// ---- public calls -------------------------------------------------------------------------------

orr_pipeline orr_pipeline_add(orr_world* world, const orr_pipeline_desc* desc)
{
    ORR_ASSERT(world != NULL);
    if (orri_schedule_of(world) == NULL || pipeline_check(world, desc) != ORR_OK) {
        return (orr_pipeline){0};
    }
    const orri_pipeline* pipe = orri_pipeline_make(world, desc);
    return pipe != NULL ? (orr_pipeline){pipe->index + 1} : (orr_pipeline){0};
}

orr_pipeline orr_pipeline_find(orr_world* world, const char* name)
{
    ORR_ASSERT(world != NULL);
    const orri_pipeline* pipe =
        name != NULL && orri_schedule_of(world) != NULL ? orri_pipeline_named(world, name) : NULL;
    return pipe != NULL ? (orr_pipeline){pipe->index + 1} : (orr_pipeline){0};
}

uint32_t orr_pipeline_count(const orr_world* world)
{
    ORR_ASSERT(world != NULL);
    // A world without a schedule counts as one with only the first pipeline.
    return world->schedule != NULL ? world->schedule->pipeline_count : 1;
}

orr_result orr_pipeline_stats_get(orr_world* world, orr_pipeline pipeline, orr_pipeline_stats* out)
{
    ORR_ASSERT(world != NULL && out != NULL);
    const struct orri_schedule* schedule = orri_schedule_of(world);
    if (schedule == NULL) {
        return ORR_ERR_MEMORY;
    }
    if (orri_between_sync_points(world)) {
        return orri_refuse(
            &world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
            "orr_pipeline_stats_get: not allowed while pipelines run; call it at a sync point "
            "(orr_post_exclusive) or between runs. orr_wait_stats_get() may be called at any time");
    }
    if (pipeline.id == 0 || pipeline.id > schedule->pipeline_count) {
        return orri_refuse(
            &world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SYSTEM_REFUSED,
            "orr_pipeline_stats_get: there is no pipeline %u; pass a pipeline of this world",
            pipeline.id);
    }
    const orri_pipeline* pipe = schedule->pipelines[pipeline.id - 1];
    *out = (orr_pipeline_stats){.name = pipe->name,
                                .rate_hz = pipe->rate_hz,
                                .interval_ns = pipe->interval_ns,
                                .tick = pipe->tick,
                                .due_ns = pipe->due_ns,
                                .spectator = pipe->spectator};
    for (const orri_system* system = schedule->first; system != NULL; system = system->next) {
        out->systems += system->pipe == pipe && !system->removed;
    }
    return ORR_OK;
}

#undef PIPELINE_FIRST
#undef PIPELINE_STEP_NS
