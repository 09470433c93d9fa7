// SPDX-License-Identifier: MIT
// The schedule's part of a remembered tick. It contains states and exports of systems and their
// life cycle, clocks of pipelines, and which blocks are new to systems with `changed` terms. It
// does not contain spectators and systems that only receive messages (they are not part of the
// world's state), plans (they follow from the systems), and whether the world is paused (the user
// decides that).
#include "history/schedule_past.h"
#include "realtime/realtime.h"
#include "schedule/record/recording.h"
#include <stdlib.h>

typedef struct schedule_past_system {
    orr_system handle;
    // `tick_first` as in orri_system. `since`: version after its last run, for `changed` terms; 0
    // if it has not run.
    uint64_t tick_first, since;
    uint32_t state1, exports1; // Offset in `bytes`, plus 1. 0: it had none yet.
    // As in orri_system.
    bool created, started, removed, self_on, group_on, create_called, start_called;
} schedule_past_system;

typedef struct schedule_past_pipe {
    uint64_t name_hash, start_ns, ran, due_ns, tick;
    bool renewed;
} schedule_past_pipe;

// A block written after some system with a `changed` term last ran. Versions never go back when the
// world is restored; only the order of writes and runs is restored.
typedef struct schedule_past_block {
    uint64_t version;
    uint32_t cluster, chunk, column; // The cluster by its position in the list of clusters.
} schedule_past_block;

struct orri_schedule_past {
    uint64_t tick, time_ns, passed_ns; // The world's tick; clocks as in struct orri_schedule.
    bool stale;                        // Plans had to be rebuilt.
    schedule_past_system* systems;     // In order of registration.
    uint32_t system_count, system_capacity;
    schedule_past_pipe* pipes; // Without spectators. Empty if the world had no schedule yet.
    uint32_t pipe_count, pipe_capacity;
    uint8_t* bytes; // States and exports of all systems.
    uint32_t byte_count, byte_capacity;
    schedule_past_block* blocks; // Ascending by cluster.
    uint32_t block_count, block_capacity;
    uint64_t* since; // The different values of `since` other than 0, ascending.
    uint32_t since_count, since_capacity;
};

// True if the system is part of the world's state.
static bool schedule_past_includes(const orri_system* system)
{
    return !orri_system_outside(system);
}

// ---- remembering --------------------------------------------------------------------------------

static bool schedule_past_take_state(orri_env* env, orri_schedule_past* past,
                                     const orri_system_state* state, uint32_t* at1)
{
    *at1 = 0;
    if (state->data == NULL) {
        return true;
    }
    uint32_t size = state->type->info.size;
    if (!ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &past->bytes, &past->byte_capacity,
                      past->byte_count + size)) {
        return false;
    }
    *at1 = past->byte_count + 1;
    if (size > 0) {
        memcpy(past->bytes + past->byte_count, state->data, size);
        past->byte_count += size;
    }
    return true;
}

static bool schedule_past_take_system(orri_env* env, orri_schedule_past* past,
                                      const orri_system* system)
{
    schedule_past_system was = {.handle = system->handle,
                                .tick_first = system->tick_first,
                                .since = orri_history_detach_since(system),
                                .created = system->created,
                                .started = system->started,
                                .removed = system->removed,
                                .self_on = system->self_on,
                                .group_on = system->group_on,
                                .create_called = system->create_called,
                                .start_called = system->start_called};
    if (!schedule_past_take_state(env, past, &system->state, &was.state1) ||
        !schedule_past_take_state(env, past, &system->exports, &was.exports1)) {
        return false;
    }
    past->systems[past->system_count++] = was;
    return true;
}

static bool schedule_past_take(orr_world* world, orri_schedule_past* past)
{
    const struct orri_schedule* schedule = world->schedule;
    orri_env* env = &world->env;
    if (!ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &past->systems, &past->system_capacity,
                      schedule->system_count) ||
        !ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &past->pipes, &past->pipe_capacity,
                      schedule->pipeline_count)) {
        return false;
    }
    for (const orri_system* system = schedule->first; system != NULL; system = system->next) {
        if (schedule_past_includes(system) && !schedule_past_take_system(env, past, system)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        const orri_pipeline* pipe = schedule->pipelines[i];
        if (!pipe->spectator) {
            past->pipes[past->pipe_count++] =
                (schedule_past_pipe){pipe->name_hash, pipe->start_ns, pipe->ran,
                                     pipe->due_ns,    pipe->tick,     pipe->replanned};
        }
    }
    past->time_ns = orri_realtime_time_remembered(schedule);
    past->passed_ns = schedule->passed_ns;
    past->stale = schedule->stale;
    return true;
}

static int schedule_past_compare(const void* a, const void* b)
{
    uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
    return (x > y) - (x < y);
}

// Sorts the values of `since`, so that a restore finds ranks without comparing all systems.
static bool schedule_past_take_since(orri_env* env, orri_schedule_past* past)
{
    if (!ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &past->since, &past->since_capacity,
                      past->system_count)) {
        return false;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < past->system_count; i++) {
        past->since[count] = past->systems[i].since;
        count += past->systems[i].since != 0;
    }
    if (count > 0) {
        qsort(past->since, count, sizeof *past->since, schedule_past_compare);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || past->since[i] != past->since[i - 1]) {
            past->since[past->since_count++] = past->since[i];
        }
    }
    return true;
}

// ---- blocks that are new to systems with `changed` terms ----------------------------------------

// True if the system has a `changed` term and has run.
static bool schedule_past_has_changed(const orri_system* system)
{
    return schedule_past_includes(system) && system->query != NULL && system->query->has_changed &&
           system->since != 0;
}

// The smallest `since` of all systems with `changed` terms; UINT64_MAX if there is none.
static uint64_t schedule_past_since_min(const struct orri_schedule* schedule)
{
    uint64_t least = UINT64_MAX;
    for (const orri_system* system = schedule->first; system != NULL; system = system->next) {
        uint64_t since = schedule_past_has_changed(system) ? orri_history_detach_since(system)
                                                           : UINT64_MAX;
        least = since < least ? since : least;
    }
    return least;
}

// True if a system has a `changed` term of this type.
static bool schedule_past_names_changed(const struct orri_schedule* schedule, orr_type type)
{
    bool asked = false;
    for (const orri_system* system = schedule->first; system != NULL && !asked;
         system = system->next) {
        const orri_leaf* leaf = schedule_past_has_changed(system) ? &system->query->leaves[0]
                                                                  : NULL;
        for (uint32_t t = 0; leaf != NULL && t < leaf->term_count && !asked; t++) {
            asked = leaf->terms[t].changed && leaf->terms[t].type.id == type.id;
        }
    }
    return asked;
}

static bool schedule_past_take_column(orr_world* world, orri_schedule_past* past,
                                      const orri_cluster* cluster, schedule_past_block at,
                                      uint64_t least)
{
    for (at.chunk = 0; at.chunk < cluster->chunk_count; at.chunk++) {
        at.version = cluster->chunks[at.chunk]->columns[at.column].version;
        if (at.version <= least) {
            continue;
        }
        if (!ORRI_RESERVE(&world->env, ORR_MEMORY_SYSTEM, &past->blocks, &past->block_capacity,
                          past->block_count + 1)) {
            return false;
        }
        past->blocks[past->block_count++] = at;
    }
    return true;
}

// Saves the blocks of values and of enable bits of each type with a `changed` term and, if there is
// one, those of the entities' enable bits.
static bool schedule_past_take_cluster(orr_world* world, orri_schedule_past* past,
                                       const orri_cluster* cluster, uint32_t number, uint64_t least)
{
    uint32_t half = cluster->column_count;
    bool any = false, done = true;
    for (uint32_t c = 0; done && c < cluster->type_count; c++) {
        if (schedule_past_names_changed(world->schedule, cluster->types[c])) {
            schedule_past_block at = {.cluster = number, .column = c};
            schedule_past_block bits = {.cluster = number, .column = half + c};
            done = schedule_past_take_column(world, past, cluster, at, least) &&
                   (!cluster->has_bits ||
                    schedule_past_take_column(world, past, cluster, bits, least));
            any = true;
        }
    }
    schedule_past_block entities = {.cluster = number,
                                    .column = half + orri_cluster_entity_column(cluster)};
    return done && (!any || !cluster->has_bits ||
                    schedule_past_take_column(world, past, cluster, entities, least));
}

static bool schedule_past_take_blocks(orr_world* world, orri_schedule_past* past)
{
    uint64_t least = schedule_past_since_min(world->schedule);
    uint32_t number = 0;
    bool done = true;
    if (least == UINT64_MAX) {
        return true;
    }
    orri_world_settle(world);
    for (const orri_cluster* c = world->clusters.first; done && c != NULL; c = c->next, number++) {
        done = schedule_past_take_cluster(world, past, c, number, least);
    }
    return done;
}

orri_schedule_past* orri_schedule_remember(orr_world* world)
{
    orri_schedule_past* past =
        ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SYSTEM, orri_schedule_past, 1);
    bool done = past != NULL;
    if (done && world->schedule != NULL) {
        done = schedule_past_take(world, past) && schedule_past_take_since(&world->env, past) &&
               schedule_past_take_blocks(world, past);
    }
    if (!done) {
        orri_schedule_forget(world, past);
        (void)orri_refuse_memory(&world->env, "remembering the state of systems");
        return NULL;
    }
    past->tick = world->tick;
    return past;
}

void orri_schedule_forget(orr_world* world, orri_schedule_past* past)
{
    orri_env* env = &world->env;
    if (past == NULL) {
        return;
    }
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, past->systems, past->system_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, past->pipes, past->pipe_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, past->bytes, past->byte_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, past->blocks, past->block_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, past->since, past->since_capacity);
    ORRI_FREE(env, ORR_MEMORY_SYSTEM, orri_schedule_past, past, 1);
}

uint64_t orri_schedule_past_bytes(const orri_schedule_past* past)
{
    return sizeof *past + past->system_capacity * sizeof *past->systems +
           past->pipe_capacity * sizeof *past->pipes + past->byte_capacity +
           past->block_capacity * sizeof *past->blocks + past->since_capacity * sizeof *past->since;
}

// ---- checks before restoring --------------------------------------------------------------------

// The remembered state of a system; NULL: there is none. Systems are asked for in order of
// registration, in which they were remembered; so the search begins at `*next`, after the last
// system that was found.
static const schedule_past_system* schedule_past_find(const orri_schedule_past* past,
                                                      orr_system handle, uint32_t* next)
{
    for (uint32_t i = *next; i < past->system_count; i++) {
        if (past->systems[i].handle.id == handle.id &&
            past->systems[i].handle.generation == handle.generation) {
            *next = i + 1;
            return &past->systems[i];
        }
    }
    return NULL;
}

ORRI_COLD static orr_result schedule_past_refuse(orr_world* world, const orri_schedule_past* past,
                                                 const char* what, const char* name,
                                                 const char* since, const char* advice)
{
    return orri_refuse(&world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
                       "orr_time_travel: %s '%s' was %s after tick %llu was remembered; %s", what,
                       name, since, (unsigned long long)past->tick, advice);
}

static orr_result schedule_past_check_systems(orr_world* world, const orri_schedule_past* past)
{
    uint32_t found = 0, next = 0;
    for (const orri_system* system = world->schedule->first; system != NULL;
         system = system->next) {
        if (!schedule_past_includes(system)) {
            continue;
        }
        const schedule_past_system* was = schedule_past_find(past, system->handle, &next);
        if (was == NULL) {
            return schedule_past_refuse(
                world, past, "system", system->desc.name, "added",
                "remove it and run a tick, or forget the ticks before it was added");
        }
        if (system->removed && !was->removed) {
            return schedule_past_refuse(world, past, "system", system->desc.name, "removed",
                                        "forget the ticks before it was removed");
        }
        found++;
    }
    return found == past->system_count
               ? ORR_OK
               : schedule_past_refuse(world, past, "system", "(freed, name unknown)", "removed",
                                      "forget the ticks before it was removed");
}

static orr_result schedule_past_check_pipes(orr_world* world, const orri_schedule_past* past)
{
    const struct orri_schedule* schedule = world->schedule;
    uint32_t n = 0;
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        const orri_pipeline* pipe = schedule->pipelines[i];
        // The first pipeline always exists, also if the world had no schedule then.
        if (!pipe->spectator && n++ >= past->pipe_count && i > 0) {
            return schedule_past_refuse(world, past, "pipeline", pipe->name, "added",
                                        "forget the ticks before it was added");
        }
    }
    return ORR_OK;
}

orr_result orri_schedule_restore_prepare(orr_world* world, const orri_schedule_past* past)
{
    if (world->schedule == NULL) {
        ORR_ASSERT(past->system_count == 0);
        return ORR_OK;
    }
    orr_result result = schedule_past_check_systems(world, past);
    return result == ORR_OK ? schedule_past_check_pipes(world, past) : result;
}

bool orri_schedule_same(const orr_world* world, const orri_schedule_past* past)
{
    const struct orri_schedule* schedule = world->schedule;
    if (schedule == NULL) {
        return true;
    }
    uint32_t systems = 0, pipes = 0, next = 0;
    bool same = !schedule->posted && schedule->time_ns == past->time_ns &&
                schedule->passed_ns == past->passed_ns;
    for (const orri_system* system = schedule->first; same && system != NULL;
         system = system->next) {
        if (schedule_past_includes(system)) {
            const schedule_past_system* was = schedule_past_find(past, system->handle, &next);
            same = was != NULL && was->removed == system->removed &&
                   was->self_on == system->self_on && was->group_on == system->group_on;
            systems++;
        }
    }
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        pipes += !schedule->pipelines[i]->spectator;
    }
    // A world without a schedule counts as one with only the first pipeline.
    uint32_t were = past->pipe_count > 0 ? past->pipe_count : 1;
    return same && systems == past->system_count && pipes == were;
}

// ---- restoring ----------------------------------------------------------------------------------

static void schedule_past_put_state(const orri_schedule_past* past, const orri_system_state* state,
                                    uint32_t at1)
{
    if (state->data == NULL) {
        return;
    }
    if (at1 == 0) {
        orr_value_default(&state->type->info, state->data);
    } else if (state->type->info.size > 0) {
        memcpy(state->data, past->bytes + at1 - 1, state->type->info.size);
    }
}

// Restores one system. True if its life cycle or its enable flags differ, so that plans must be
// rebuilt.
static bool schedule_past_put_system(const orri_schedule_past* past,
                                     const schedule_past_system* was, orri_system* system)
{
    bool wanted = was->self_on && was->group_on;
    bool differs = system->created != was->created || system->started != was->started ||
                   system->wanted != wanted || system->removed != was->removed;
    system->tick_first = was->tick_first;
    system->created = was->created;
    if (system->started != was->started) {
        system->stopped1 = was->started ? 0 : ++system->pipe->world->schedule->stops;
    }
    system->started = was->started;
    system->removed = was->removed;
    system->create_called = was->create_called;
    system->start_called = was->start_called;
    __atomic_store_n(&system->self_on, was->self_on, __ATOMIC_RELAXED);
    __atomic_store_n(&system->group_on, was->group_on, __ATOMIC_RELAXED);
    system->wanted = wanted;
    schedule_past_put_state(past, &system->state, was->state1);
    schedule_past_put_state(past, &system->exports, was->exports1);
    if (system->exports_published != NULL) {
        memcpy(system->exports_published, system->exports.data, system->exports.type->info.size);
    }
    return differs;
}

static bool schedule_past_put_systems(const struct orri_schedule* schedule,
                                      const orri_schedule_past* past)
{
    bool differs = false;
    uint32_t next = 0;
    for (orri_system* system = schedule->first; system != NULL; system = system->next) {
        const schedule_past_system* was =
            schedule_past_includes(system) ? schedule_past_find(past, system->handle, &next) : NULL;
        if (was != NULL) {
            differs |= schedule_past_put_system(past, was, system);
        }
    }
    return differs;
}

static void schedule_past_put_pipes(struct orri_schedule* schedule, const orri_schedule_past* past)
{
    for (uint32_t i = 0, n = 0; i < schedule->pipeline_count; i++) {
        orri_pipeline* pipe = schedule->pipelines[i];
        bool known = !pipe->spectator && n < past->pipe_count;
        schedule_past_pipe was = {.start_ns = past->time_ns};
        if (known) {
            was = past->pipes[n++];
            ORR_ASSERT(was.name_hash == pipe->name_hash);
        }
        uint64_t due = pipe->due_ns;
        if (!pipe->spectator) {
            pipe->tick = was.tick;
            pipe->replanned = was.renewed;
        }
        // The clock of a spectator that is due after the restored time restarts: otherwise it would
        // not tick until then.
        if (!pipe->spectator || due > past->time_ns) {
            pipe->start_ns = was.start_ns;
            pipe->ran = was.ran;
            pipe->due_ns = known ? was.due_ns : orri_pipeline_due(pipe, 0);
        }
        if (pipe->spectator && pipe->due_ns > due) {
            pipe->due_ns = due;
        }
    }
}

static void schedule_past_put_clocks(struct orri_schedule* schedule, const orri_schedule_past* past)
{
    orri_realtime* rt = schedule->realtime;
    if (rt != NULL) {
        // Other threads read these clocks (orr_phase()) and wait for due times.
        orri_realtime_lock(rt);
    }
    schedule->time_ns = past->time_ns;
    schedule->passed_ns = past->passed_ns;
    schedule_past_put_pipes(schedule, past);
    if (rt != NULL) {
        orri_realtime_clock_restart(rt);
        orri_realtime_unlock(rt);
    }
}

// Number of different `since` values below a version; with `up_to` also equal to it.
static uint64_t schedule_past_rank(const orri_schedule_past* past, uint64_t version, bool up_to)
{
    uint32_t low = 0, high = past->since_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        bool counts = past->since[middle] < version || (up_to && past->since[middle] == version);
        *(counts ? &low : &high) = middle + counts;
    }
    return low;
}

static void schedule_past_stamp(orri_cluster* cluster, const schedule_past_block* block,
                                uint64_t version)
{
    if (block->chunk >= cluster->chunk_count) {
        return;
    }
    orri_chunk* chunk = cluster->chunks[block->chunk];
    orri_column* column = &chunk->columns[block->column];
    orri_column_cold* cold = &orri_chunk_cold(chunk)[block->column];
    cold->hash_version = cold->hash_version == column->version ? version : cold->hash_version;
    column->version = version;
    if (block->column < cluster->column_count &&
        cluster->columns[block->column].version < version) {
        cluster->columns[block->column].version = version;
    }
}

// Gives blocks and systems new versions, above all versions there are, in the order in which they
// were written and run: system of rank r gets now + 2 r, a block written after it now + 2 r + 1.
static void schedule_past_put_changes(orr_world* world, const orri_schedule_past* past)
{
    orri_world_settle(world);
    uint64_t now = world->epoch, last = 0;
    uint32_t next = 0;
    for (orri_system* system = world->schedule->first; system != NULL; system = system->next) {
        const schedule_past_system* was =
            schedule_past_includes(system) ? schedule_past_find(past, system->handle, &next) : NULL;
        if (was != NULL) {
            uint64_t rank = schedule_past_rank(past, was->since, true);
            last = rank > last ? rank : last;
            system->since = was->since != 0 ? now + 2 * rank : 0;
        }
    }
    orri_cluster* cluster = world->clusters.first;
    for (uint32_t i = 0, number = 0; i < past->block_count; i++) {
        const schedule_past_block* block = &past->blocks[i];
        for (; cluster != NULL && number < block->cluster; number++) {
            cluster = cluster->next;
        }
        if (cluster != NULL) {
            schedule_past_stamp(cluster, block,
                                now + 2 * schedule_past_rank(past, block->version, false) + 1);
        }
    }
    world->epoch =
        now + 2 * last +
        4; // Neither the epoch nor epoch - 1 is one of these versions: the blocks may be shared.
    orri_written_note(world, world->epoch);
}

void orri_schedule_restore(orr_world* world, const orri_schedule_past* past)
{
    struct orri_schedule* schedule = world->schedule;
    if (schedule == NULL) {
        return;
    }
    bool differs = schedule_past_put_systems(schedule, past) || past->stale;
    schedule->stale |= differs;
    schedule->switched |= differs;
    schedule_past_put_clocks(schedule, past);
    if (schedule->lockstep_log != NULL) { // A recording compares hashes as of the end of a tick.
        schedule->lockstep_log->first_ns = schedule->pipelines[0]->due_ns;
    }
    schedule_past_put_changes(world, past);
}
