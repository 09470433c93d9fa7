// SPDX-License-Identifier: MIT
// Decides from declarations alone what pipelines see of each other in real time: when a run begins,
// and again when plans change. No system runs meanwhile.
//
// A type that one pipeline writes and another reads is published by the owner and read through the
// reader's view. A `live` type is locked instead, and read in place.
#include "realtime/realtime.h"
#include <stdlib.h>

// ---- what a pipeline reads ----------------------------------------------------------------------

// True when a direct system of the pipeline touches the type.
static bool visibility_reads(const orri_pipeline* pipe, uint32_t type_index)
{
    for (const orri_system* system = pipe->world->schedule->first; system != NULL;
         system = system->next) {
        if (system->pipe == pipe && !system->removed && system->resolved &&
            system->desc.kind == ORR_DIRECT &&
            orri_touches(pipe->world, system, type_index, NULL) != ORRI_TOUCH_NONE) {
            return true;
        }
    }
    return false;
}

// True when a direct system of a pipeline other than the owner touches the type.
static bool visibility_read_elsewhere(const orri_realtime* rt, const orri_pipeline* owner,
                                      uint32_t type_index)
{
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        const orri_pipeline* pipe = rt->schedule->pipelines[i];
        if (pipe != owner && visibility_reads(pipe, type_index)) {
            return true;
        }
    }
    return false;
}

// ---- types --------------------------------------------------------------------------------------

// Reserves the lists by type, and empties them.
static bool visibility_room(orri_realtime* rt)
{
    orri_env* env = &rt->world->env;
    uint32_t types = rt->world->schema.type_count, words = types / 64 + 1;
    uint32_t before = rt->type_lock_capacity;
    bool room =
        ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &rt->locked, &rt->locked_capacity, types) &&
        ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &rt->type_locks, &rt->type_lock_capacity, types) &&
        ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &rt->unlocked, &rt->unlocked_words, words);
    uint32_t watched = rt->published_words;
    room = room &&
           ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &rt->published, &rt->published_words, words);
    for (uint32_t w = watched; w < rt->published_words; w++) {
        rt->published[w] = 0;
    }
    for (uint32_t i = before; i < rt->type_lock_capacity; i++) {
        rt->type_locks[i] = (orri_type_locks){0};
    }
    for (uint32_t i = 0; room && i < rt->schedule->pipeline_count; i++) {
        orri_pipeline_run* run = rt->schedule->pipelines[i]->run;
        room = ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &run->published, &run->published_capacity,
                            types) &&
               ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &run->set, &run->set_capacity, types + 2);
        run->published_count = run->published_plain = 0;
    }
    if (!room) {
        (void)orri_refuse_memory(env, "beginning real time");
        return false;
    }
    rt->locked_count = 0;
    memset(rt->unlocked, 0, rt->unlocked_words * sizeof *rt->unlocked);
    return true;
}

// True when a system of the owner overwrites the type without reading it: its blocks are lent to
// readers instead of copied.
static bool visibility_overwritten(const orri_pipeline* owner, const orri_type* type,
                                   uint32_t type_index)
{
    for (const orri_system* system = owner->world->schedule->first; system != NULL;
         system = system->next) {
        if (system->pipe == owner && !system->removed && system->resolved &&
            orri_right(system->overwrites, &system->rights, type_index)) {
            return type->plain;
        }
    }
    return false;
}

// Adds a type to what the owner publishes.
static void visibility_publish(orri_pipeline_run* run, const orri_type* type)
{
    orr_type handle = {type->id};
    if (type->plain) { // Plain types come first.
        run->published[run->published_count++] = run->published[run->published_plain];
        run->published[run->published_plain++] = handle;
    } else {
        run->published[run->published_count++] = handle;
    }
}

// A type is read again after a time without readers: its published values are old, and are copied
// now.
static orr_result visibility_refresh(orri_realtime* rt, const orri_pipeline* owner, orr_type type)
{
    orr_result result = orri_publish_copy(rt->publisher, &type, 1);
    if (result == ORR_OK) {
        orri_publish_show(rt->publisher, &type, 1, orri_epoch_end(rt->world), owner->tick);
    }
    return result;
}

// Decides for each type: locked, published or private.
static orr_result visibility_types(orri_realtime* rt)
{
    const orr_world* world = rt->world;
    orr_result result = ORR_OK;
    for (uint32_t i = 0; result == ORR_OK && i < world->schema.type_count; i++) {
        const orri_type* type = world->schema.types[i];
        const orri_pipeline* owner = orri_type_owner_of(world, (orr_type){type->id});
        bool read = owner != NULL && visibility_read_elsewhere(rt, owner, i);
        // In a recorded run live types are locked even without a reader. Otherwise spectators would
        // decide which upgrades and transactions there are.
        bool locked = read || (owner != NULL && (rt->record != NULL || rt->replay != NULL));
        if (locked && type->info.live) {
            rt->locked[rt->locked_count++] = i;
            continue;
        }
        orri_bit_set(rt->unlocked, i, owner != NULL);
        bool again = read && orri_published(rt->publisher, (orr_type){type->id}) &&
                     !orri_bit_get(rt->published, i);
        orri_bit_set(rt->published, i, read);
        if (read) {
            visibility_publish(owner->run, type);
            result = again ? visibility_refresh(rt, owner, (orr_type){type->id})
                           : orri_publish_add(rt->publisher, (orr_type){type->id});
        }
        if (result == ORR_OK && orri_published(rt->publisher, (orr_type){type->id})) {
            bool lends = read && visibility_overwritten(owner, type, i);
            result = orri_zero_copy_enable(rt->publisher, (orr_type){type->id}, lends);
        }
    }
    return result;
}

// ---- views --------------------------------------------------------------------------------------

// Makes the view of a pipeline; takes over from the old one what the pipeline has seen.
static orr_result visibility_view(orri_realtime* rt, orri_pipeline* pipe)
{
    const orr_world* world = rt->world;
    orri_view* before = pipe->run->driven.view;
    uint32_t count = 0, most = world->schema.type_count;
    orr_type* types = ORRI_ALLOC(&rt->world->env, ORR_MEMORY_TEMP, orr_type, most);
    if (types == NULL) {
        return orri_refuse_memory(&rt->world->env, "beginning real time");
    }
    for (uint32_t i = 0; i < most; i++) {
        orr_type type = {world->schema.types[i]->id};
        if (orri_is_foreign(&pipe->foreign, i) && orri_published(rt->publisher, type) &&
            visibility_reads(pipe, i)) {
            types[count++] = type;
        }
    }
    orri_view* view = count > 0 ? orri_view_create(rt->publisher, types, count) : NULL;
    ORRI_FREE(&rt->world->env, ORR_MEMORY_TEMP, orr_type, types, most);
    if (count > 0 && view == NULL) {
        return orri_env_result(&rt->world->env);
    }
    orr_result result = view != NULL ? orri_view_pin(view) : ORR_OK;
    if (view != NULL && result == ORR_OK) {
        orri_view_inherit(view, before);
    }
    if (before != NULL) {
        orri_view_destroy(before);
    }
    pipe->run->driven.view = view;
    return result;
}

// ---- exports ------------------------------------------------------------------------------------

// True when a system of another pipeline imports from `from`.
static bool visibility_imported_elsewhere(const orri_system* from)
{
    for (const orri_system* system = from->pipe->world->schedule->first; system != NULL;
         system = system->next) {
        for (uint32_t i = 0; system->pipe != from->pipe && i < system->import_count; i++) {
            if (system->imports[i] == from) {
                return true;
            }
        }
    }
    return false;
}

static uint8_t* visibility_copy(orr_world* world, const orri_system_state* state)
{
    size_t size = state->type->info.size;
    uint8_t* copy = orri_alloc(&world->env, ORR_MEMORY_SYSTEM, size, ORRI_BLOCK_ALIGN);
    if (copy != NULL) {
        memcpy(copy, state->data, size);
    }
    return copy;
}

// Makes the copies of exports that other pipelines import, and of imports.
static orr_result visibility_exports(orri_realtime* rt)
{
    orr_world* world = rt->world;
    for (orri_system* system = rt->schedule->first; system != NULL; system = system->next) {
        if (system->exports.data != NULL && visibility_imported_elsewhere(system)) {
            system->exports_published = visibility_copy(world, &system->exports);
            if (system->exports_published == NULL) {
                return orri_refuse_memory(&world->env, "beginning real time");
            }
        }
        if (system->import_count == 0) {
            continue;
        }
        system->imports_seen =
            ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SYSTEM, uint8_t*, system->import_count);
        for (uint32_t i = 0; system->imports_seen != NULL && i < system->import_count; i++) {
            const orri_system* from = system->imports[i];
            if (from->pipe != system->pipe && from->exports.data != NULL) {
                system->imports_seen[i] = visibility_copy(world, &from->exports);
                if (system->imports_seen[i] == NULL) {
                    return orri_refuse_memory(&world->env, "beginning real time");
                }
            }
        }
        if (system->imports_seen == NULL) {
            return orri_refuse_memory(&world->env, "beginning real time");
        }
    }
    return ORR_OK;
}

// Frees these copies; tables for reading by id are made again, with or without the view.
static void visibility_exports_free(orri_realtime* rt)
{
    for (orri_system* system = rt->schedule->first; system != NULL; system = system->next) {
        orri_exports_release(rt->world, system);
        system->table_changes = rt->world->tables.changes -
                                // Different from the world's: made again before the next call.
                                1;
    }
}

// ---- things outside the world -------------------------------------------------------------------

static bool visibility_counts(const orri_system* system)
{
    return !system->removed && system->resolved;
}

// A system with a `user`. Of several systems with the same pointer, the first one has the number of
// the lock, plus 1.
typedef struct visibility_share {
    orri_system* system;
    uint32_t number1;
} visibility_share;

static int visibility_compare(const void* a, const void* b)
{
    uintptr_t x = (uintptr_t)((const visibility_share*)a)->system->desc.user;
    uintptr_t y = (uintptr_t)((const visibility_share*)b)->system->desc.user;
    return (x > y) - (x < y);
}

// Systems whose pointer is used in several pipelines get the index of the first of them, plus 1, in
// user_lock1.
static void visibility_users_mark(visibility_share* shares, uint32_t count)
{
    qsort(shares, count, sizeof *shares, visibility_compare);
    for (uint32_t first = 0, end; first < count; first = end) {
        const orri_system* one = shares[first].system;
        bool several = false;
        for (end = first; end < count && shares[end].system->desc.user == one->desc.user; end++) {
            several |= shares[end].system->pipe != one->pipe;
        }
        for (uint32_t i = first; several && i < end; i++) {
            shares[i].system->user_lock1 = first + 1;
        }
    }
}

// Makes a lock if `*number1` is 0, and sets `*number1` to its number plus 1.
static bool visibility_lock_make(orri_realtime* rt, uint32_t* number1)
{
    uint32_t number;
    if (*number1 == 0) {
        if (orri_locks_add(rt->locks, 1, ORRI_LOCK_PLAIN, &number) != ORR_OK) {
            return false;
        }
        *number1 = number + 1;
    }
    return true;
}

// Replaces the indexes in user_lock1 by locks, in order of registration: the lock trace must not
// depend on addresses.
static bool visibility_users(orri_realtime* rt, visibility_share* shares, uint32_t count)
{
    uint32_t before = rt->user_lock_capacity;
    if (!ORRI_RESERVE(&rt->world->env, ORR_MEMORY_SYSTEM, &rt->user_locks1, &rt->user_lock_capacity,
                      count)) {
        return false;
    }
    for (uint32_t i = before; i < rt->user_lock_capacity; i++) {
        rt->user_locks1[i] = 0;
    }
    visibility_users_mark(shares, count);
    for (orri_system* system = rt->schedule->first; system != NULL; system = system->next) {
        visibility_share* first = system->user_lock1 != 0 ? &shares[system->user_lock1 - 1] : NULL;
        if (first != NULL && first->number1 == 0) {
            if (!visibility_lock_make(rt, &rt->user_locks1[rt->user_lock_count])) {
                return false;
            }
            first->number1 = rt->user_locks1[rt->user_lock_count++];
        }
        system->user_lock1 = first != NULL ? first->number1 : 0;
    }
    return true;
}

// Systems that use the same thing outside the world must not overlap. Within a pipeline the plan
// takes care of that.
static orr_result visibility_external(orri_realtime* rt)
{
    orri_env* env = &rt->world->env;
    uint32_t most = rt->schedule->system_count + 1, count = 0;
    const orri_pipeline* impure = NULL;
    bool several = false;
    visibility_share* shares = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, visibility_share, most);
    if (shares == NULL) {
        return orri_refuse_memory(env, "beginning real time");
    }
    rt->user_lock_count = 0;
    for (orri_system* system = rt->schedule->first; system != NULL; system = system->next) {
        system->user_lock1 = 0;
        if (visibility_counts(system) && system->desc.user != NULL) {
            shares[count++].system = system;
        }
        if (visibility_counts(system) && system->desc.impure) {
            several |= impure != NULL && impure != system->pipe;
            impure = system->pipe;
        }
    }
    bool done = visibility_users(rt, shares, count) &&
                (!several || visibility_lock_make(rt, &rt->impure_lock1));
    ORRI_FREE(env, ORR_MEMORY_TEMP, visibility_share, shares, most);
    return done ? ORR_OK : orri_refuse_memory(env, "beginning real time");
}

// ---- commit scopes ------------------------------------------------------------------------------

static void visibility_scopes_free(orr_world* world, orri_pipeline_run* run)
{
    for (uint32_t i = 0; i < run->scope_count; i++) {
        orri_commit_scope_free(world, &run->scopes[i]);
    }
    ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_commit_scope, run->scopes, run->scope_count);
    run->scopes = NULL;
    run->scope_count = 0;
}

// Makes empty scopes: steps have new numbers, so the clusters that their commits touch are learned
// again. A recorded run uses no scopes: whether a scoped commit is possible depends on memory and
// on readers of spectators, and is not recorded.
static orr_result visibility_scopes(orri_realtime* rt, const orri_pipeline* pipe)
{
    orri_pipeline_run* run = pipe->run;
    visibility_scopes_free(rt->world, run);
    run->uses_scopes = false;
    for (const orri_system* s = rt->schedule->first; s != NULL && !pipe->spectator; s = s->next) {
        run->uses_scopes |= s->pipe != pipe && visibility_counts(s) && orri_lock_set_own_rows(s);
    }
    run->uses_scopes = run->uses_scopes && rt->record == NULL && rt->replay == NULL;
    if (run->uses_scopes && pipe->step_count > 0) {
        run->scopes = ORRI_ALLOC_ZERO(&rt->world->env, ORR_MEMORY_SYSTEM, orri_commit_scope,
                                      pipe->step_count);
        if (run->scopes == NULL) {
            return orri_refuse_memory(&rt->world->env, "beginning real time");
        }
        run->scope_count = pipe->step_count;
    }
    return ORR_OK;
}

// ---- making and freeing -------------------------------------------------------------------------

orr_result orri_visibility_make(orri_realtime* rt)
{
    visibility_exports_free(rt); // Before imports are looked up again.
    orr_result result = orri_plan_make(rt->world);
    if (result == ORR_OK && !visibility_room(rt)) {
        result = orri_env_result(&rt->world->env);
    }
    result = result == ORR_OK ? orri_publish_remap(rt->publisher) : result;
    result = result == ORR_OK ? visibility_types(rt) : result;
    result = result == ORR_OK ? visibility_exports(rt) : result;
    result = result == ORR_OK ? visibility_external(rt) : result;
    for (uint32_t i = 0; result == ORR_OK && i < rt->schedule->pipeline_count; i++) {
        result = visibility_view(rt, rt->schedule->pipelines[i]);
        result = result == ORR_OK ? visibility_scopes(rt, rt->schedule->pipelines[i]) : result;
    }
    return result;
}

void orri_visibility_free(orri_realtime* rt)
{
    orri_env* env = &rt->world->env;
    visibility_exports_free(rt);
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        orri_pipeline_run* run = rt->schedule->pipelines[i]->run;
        if (run == NULL) {
            continue;
        }
        if (run->driven.view != NULL) {
            orri_view_destroy(run->driven.view);
            run->driven.view = NULL;
        }
        visibility_scopes_free(rt->world, run);
        ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, run->published, run->published_capacity);
        ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, run->set, run->set_capacity);
        run->published = NULL;
        run->set = NULL;
        run->published_capacity = run->set_capacity = run->published_count = 0;
    }
    orri_retired_free(rt->world);
    orri_lock_sets_free(rt);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, rt->locked, rt->locked_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, rt->unlocked, rt->unlocked_words);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, rt->published, rt->published_words);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, rt->user_locks1, rt->user_lock_capacity);
}
