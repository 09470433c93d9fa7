// SPDX-License-Identifier: MIT
// Who sees what of whom in real time, by declarations alone: made when pipelines begin, and anew when plans change. Nobody runs.
//
//   a type that one pipeline writes and another reads ──> published and in the other's view; or, if it is `live`, locked: read in place
#include "realtime/realtime.h"
#include <stdlib.h>

// ---- what a pipeline reads ---------------------------------------------------------------------------------------------

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

// ---- types ---------------------------------------------------------------------------------------------------------------

static bool visibility_room(orri_realtime* rt)
{
    orri_env* env = &rt->world->env;
    uint32_t types = rt->world->schema.type_count, words = types / 64 + 1;
    uint32_t before = rt->live_capacity;
    bool room = ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &rt->locked, &rt->locked_capacity, types) &&
                ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &rt->lives, &rt->live_capacity, types) &&
                ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &rt->free, &rt->free_words, words);
    uint32_t watched = rt->watched_words;
    room = room && ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &rt->watched, &rt->watched_words, words);
    for (uint32_t w = watched; w < rt->watched_words; w++) {
        rt->watched[w] = 0;
    }
    for (uint32_t i = before; i < rt->live_capacity; i++) {
        rt->lives[i] = (orri_live){0};
    }
    for (uint32_t i = 0; room && i < rt->schedule->pipeline_count; i++) {
        orri_moment* moment = rt->schedule->pipelines[i]->moment;
        room =
            ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &moment->shown, &moment->shown_capacity, types) &&
            ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &moment->set, &moment->set_capacity, types + 2);
        moment->shown_count = moment->shown_plain = 0;
    }
    if (!room) {
        (void)orri_refuse_memory(env, "beginning real time");
        return false;
    }
    rt->locked_count = 0;
    memset(rt->free, 0, rt->free_words * sizeof *rt->free);
    return true;
}

// Some system of its owner writes all of it without a look.
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

static void visibility_show(orri_moment* moment, const orri_type* type)
{
    orr_type handle = {type->id};
    if (type->plain) { // Plain ones come first.
        moment->shown[moment->shown_count++] = moment->shown[moment->shown_plain];
        moment->shown[moment->shown_plain++] = handle;
    } else {
        moment->shown[moment->shown_count++] = handle;
    }
}

// A type that others see again, after nobody did for a while: what there is of it is old.
static orr_result visibility_refresh(orri_realtime* rt, const orri_pipeline* owner, orr_type type)
{
    orr_result result = orri_publish_copy(rt->publisher, &type, 1);
    if (result == ORR_OK) {
        orri_publish_show(rt->publisher, &type, 1, orri_epoch_end(rt->world), owner->tick);
    }
    return result;
}

static orr_result visibility_types(orri_realtime* rt)
{
    const orr_world* world = rt->world;
    orr_result result = ORR_OK;
    for (uint32_t i = 0; result == ORR_OK && i < world->schema.type_count; i++) {
        const orri_type* type = world->schema.types[i];
        const orri_pipeline* owner = orri_type_owner_of(world, (orr_type){type->id});
        bool read = owner != NULL && visibility_read_elsewhere(rt, owner, i);
        // Of a recording: whoever reads. Otherwise its spectators would decide which upgrades there are, and who does transactions.
        bool locked = read || (owner != NULL && (rt->record != NULL || rt->replay != NULL));
        if (locked && type->info.live) {
            rt->locked[rt->locked_count++] = i;
            continue;
        }
        orri_bit_set(rt->free, i, owner != NULL);
        bool again = read && orri_published(rt->publisher, (orr_type){type->id}) &&
                     !orri_bit_get(rt->watched, i);
        orri_bit_set(rt->watched, i, read);
        if (read) {
            visibility_show(owner->moment, type);
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

// ---- views ---------------------------------------------------------------------------------------------------------------

static orr_result visibility_view(orri_realtime* rt, orri_pipeline* pipe)
{
    const orr_world* world = rt->world;
    orri_view* before = pipe->moment->driven.view;
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
    pipe->moment->driven.view = view;
    return result;
}

// ---- exports ----------------------------------------------------------------------------------------------------------------

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

static uint8_t* visibility_copy(orr_world* world, const orri_system_state* keep)
{
    size_t size = keep->type->info.size;
    uint8_t* copy = orri_alloc(&world->env, ORR_MEMORY_SYSTEM, size, ORRI_BLOCK_ALIGN);
    if (copy != NULL) {
        memcpy(copy, keep->data, size);
    }
    return copy;
}

static orr_result visibility_exports(orri_realtime* rt)
{
    orr_world* world = rt->world;
    for (orri_system* system = rt->schedule->first; system != NULL; system = system->next) {
        if (system->exports.data != NULL && visibility_imported_elsewhere(system)) {
            system->exports_shown = visibility_copy(world, &system->exports);
            if (system->exports_shown == NULL) {
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

static void visibility_unkeep(orri_realtime* rt)
{
    for (orri_system* system = rt->schedule->first; system != NULL; system = system->next) {
        orri_exports_release(rt->world, system);
        system->table_changes = rt->world->tables.changes -
                                1; // Made anew, with the view or without.
    }
}

// ---- what is outside of the world ----------------------------------------------------------------------------------------------

static bool visibility_counts(const orri_system* system)
{
    return !system->removed && system->resolved;
}

// A system with a `user`, and at the first of those that have the same the lock on it.
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

// Those whose pointer is also one of another pipeline get the place of the first of them, plus 1.
static void visibility_mark(visibility_share* shares, uint32_t count)
{
    qsort(shares, count, sizeof *shares, visibility_compare);
    for (uint32_t first = 0, end; first < count; first = end) {
        const orri_system* one = shares[first].system;
        bool several = false;
        for (end = first; end < count && shares[end].system->desc.user == one->desc.user; end++) {
            several |= shares[end].system->pipe != one->pipe;
        }
        for (uint32_t i = first; several && i < end; i++) {
            shares[i].system->user1 = first + 1;
        }
    }
}

static bool visibility_number(orri_realtime* rt, uint32_t* number1)
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

// By registration: what a trace shows does not depend on addresses.
static bool visibility_users(orri_realtime* rt, visibility_share* shares, uint32_t count)
{
    uint32_t before = rt->user_capacity;
    if (!ORRI_RESERVE(&rt->world->env, ORR_MEMORY_SYSTEM, &rt->users1, &rt->user_capacity, count)) {
        return false;
    }
    for (uint32_t i = before; i < rt->user_capacity; i++) {
        rt->users1[i] = 0;
    }
    visibility_mark(shares, count);
    for (orri_system* system = rt->schedule->first; system != NULL; system = system->next) {
        visibility_share* first = system->user1 != 0 ? &shares[system->user1 - 1] : NULL;
        if (first != NULL && first->number1 == 0) {
            if (!visibility_number(rt, &rt->users1[rt->user_count])) {
                return false;
            }
            first->number1 = rt->users1[rt->user_count++];
        }
        system->user1 = first != NULL ? first->number1 : 0;
    }
    return true;
}

// Systems that reach the same thing outside of the world do not overlap: as in one pipeline, where the plan sees to it.
static orr_result visibility_outside(orri_realtime* rt)
{
    orri_env* env = &rt->world->env;
    uint32_t most = rt->schedule->system_count + 1, count = 0;
    const orri_pipeline* impure = NULL;
    bool several = false;
    visibility_share* shares = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, visibility_share, most);
    if (shares == NULL) {
        return orri_refuse_memory(env, "beginning real time");
    }
    rt->user_count = 0;
    for (orri_system* system = rt->schedule->first; system != NULL; system = system->next) {
        system->user1 = 0;
        if (visibility_counts(system) && system->desc.user != NULL) {
            shares[count++].system = system;
        }
        if (visibility_counts(system) && system->desc.impure) {
            several |= impure != NULL && impure != system->pipe;
            impure = system->pipe;
        }
    }
    bool done = visibility_users(rt, shares, count) &&
                (!several || visibility_number(rt, &rt->impure1));
    ORRI_FREE(env, ORR_MEMORY_TEMP, visibility_share, shares, most);
    return done ? ORR_OK : orri_refuse_memory(env, "beginning real time");
}

// ---- commits beside systems of others ----------------------------------------------------------------------------------------

static void visibility_unreach(orr_world* world, orri_moment* moment)
{
    for (uint32_t i = 0; i < moment->reach_count; i++) {
        orri_commit_scope_free(world, &moment->reach[i]);
    }
    ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_commit_scope, moment->reach,
              moment->reach_count);
    moment->reach = NULL;
    moment->reach_count = 0;
}

// Steps get new numbers: what their commits touch is learned anew. In a recording commits wait for all systems: what there is room for, and whether
// readers of spectators must be told anew, decides who waits for whom, and none of that is recorded.
static orr_result visibility_reach(orri_realtime* rt, const orri_pipeline* pipe)
{
    orri_moment* moment = pipe->moment;
    visibility_unreach(rt->world, moment);
    moment->beside = false;
    for (const orri_system* s = rt->schedule->first; s != NULL && !pipe->spectator; s = s->next) {
        moment->beside |= s->pipe != pipe && visibility_counts(s) && orri_lock_set_own_rows(s);
    }
    moment->beside = moment->beside && rt->record == NULL && rt->replay == NULL;
    if (moment->beside && pipe->step_count > 0) {
        moment->reach = ORRI_ALLOC_ZERO(&rt->world->env, ORR_MEMORY_SYSTEM, orri_commit_scope,
                                        pipe->step_count);
        if (moment->reach == NULL) {
            return orri_refuse_memory(&rt->world->env, "beginning real time");
        }
        moment->reach_count = pipe->step_count;
    }
    return ORR_OK;
}

// ---- all of it -----------------------------------------------------------------------------------------------------------------

orr_result orri_visibility_make(orri_realtime* rt)
{
    visibility_unkeep(rt); // Before imports are looked up anew.
    orr_result result = orri_plan_make(rt->world);
    if (result == ORR_OK && !visibility_room(rt)) {
        result = orri_env_result(&rt->world->env);
    }
    result = result == ORR_OK ? orri_publish_remap(rt->publisher) : result;
    result = result == ORR_OK ? visibility_types(rt) : result;
    result = result == ORR_OK ? visibility_exports(rt) : result;
    result = result == ORR_OK ? visibility_outside(rt) : result;
    for (uint32_t i = 0; result == ORR_OK && i < rt->schedule->pipeline_count; i++) {
        result = visibility_view(rt, rt->schedule->pipelines[i]);
        result = result == ORR_OK ? visibility_reach(rt, rt->schedule->pipelines[i]) : result;
    }
    return result;
}

void orri_visibility_free(orri_realtime* rt)
{
    orri_env* env = &rt->world->env;
    visibility_unkeep(rt);
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        orri_moment* moment = rt->schedule->pipelines[i]->moment;
        if (moment == NULL) {
            continue;
        }
        if (moment->driven.view != NULL) {
            orri_view_destroy(moment->driven.view);
            moment->driven.view = NULL;
        }
        visibility_unreach(rt->world, moment);
        ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, moment->shown, moment->shown_capacity);
        ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, moment->set, moment->set_capacity);
        moment->shown = NULL;
        moment->set = NULL;
        moment->shown_capacity = moment->set_capacity = moment->shown_count = 0;
    }
    orri_retired_free(rt->world);
    orri_lock_sets_free(rt);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, rt->locked, rt->locked_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, rt->free, rt->free_words);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, rt->watched, rt->watched_words);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, rt->users1, rt->user_capacity);
}
