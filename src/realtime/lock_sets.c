// SPDX-License-Identifier: MIT
// Decides which locks a group of systems or a commit takes in real time: on structure, on rows by
// cluster, on the values of locked types by cluster, and on things outside the world.
#include "realtime/realtime.h"
#include <stdlib.h>

// In the lock trace: a grant of the plan, with the type's index. Not a resource of the lock table.
#define LOCK_SETS_PLANNED 0x80000000u
#define LOCK_SETS_NONE    UINT32_MAX // No lock.
// A group of own-row systems locks up to this many clusters one by one.
#define LOCK_SETS_CLUSTERS 64u

// ---- what a system needs ------------------------------------------------------------------------

// The lock mode of a system on the values of a type. Direct systems read, or write exclusively.
// Indirect systems only change values when they have run: inclusive until then.
static uint32_t lock_sets_mode(const orr_world* world, const orri_system* system,
                               uint32_t type_index, bool* any)
{
    orri_touch touch = orri_touches(world, system, type_index, any);
    bool sends = orri_right(system->rights.changes, &system->rights, type_index);
    *any |= sends;
    if (system->desc.kind == ORR_INDIRECT) {
        return sends || touch == ORRI_TOUCH_WRITES ? ORRI_LOCK_INCLUSIVE : LOCK_SETS_NONE;
    }
    if (touch >= ORRI_TOUCH_ATOMIC || sends) {
        return ORRI_LOCK_EXCLUSIVE;
    }
    return touch == ORRI_TOUCH_READS ? ORRI_LOCK_READ : LOCK_SETS_NONE;
}

// True when the system sends changes of types with indexed fields: the reference index changes.
static bool lock_sets_changes_references(const orr_world* world, const orri_system* system)
{
    for (uint32_t i = 0; system->sends_changes && i < world->schema.type_count; i++) {
        if (world->schema.types[i]->indexed_count > 0 &&
            orri_right(system->rights.changes, &system->rights, i)) {
            return true;
        }
    }
    return false;
}

// Systems that make strings, update an order or change references hold structure exclusively.
static bool lock_sets_exclusive(const orr_world* world, const orri_system* system)
{
    return system->access.owns || system->desc.alone ||
           (system->query != NULL && system->query->order != NULL) ||
           lock_sets_changes_references(world, system);
}

// The stronger of two modes.
static uint32_t lock_sets_stronger(uint32_t mode, uint32_t other)
{
    return mode == LOCK_SETS_NONE || (other != LOCK_SETS_NONE && other > mode) ? other : mode;
}

// ---- resources ----------------------------------------------------------------------------------

// The resource with number `*number1` - 1; made if `*number1` is 0. LOCK_SETS_NONE: memory is
// refused.
static uint32_t lock_sets_resource(orri_realtime* rt, uint32_t* number1)
{
    uint32_t first;
    if (*number1 == 0) {
        if (orri_locks_add(rt->locks, 1, ORRI_LOCK_LIVE, &first) != ORR_OK) {
            return LOCK_SETS_NONE;
        }
        *number1 = first + 1;
    }
    return *number1 - 1;
}

// Adds a lock to the set. LOCK_SETS_NONE as resource reports refused memory.
static bool lock_sets_push(orri_pipeline_run* run, uint32_t resource, uint32_t mode)
{
    orri_env* env = &run->rt->world->env;
    if (resource == LOCK_SETS_NONE ||
        !ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &run->set, &run->set_capacity, run->set_count + 1)) {
        (void)orri_refuse_memory(env, "taking locks");
        return false;
    }
    run->set[run->set_count++] = (orri_lock){resource, mode};
    return true;
}

// ---- sets ---------------------------------------------------------------------------------------

// The mode that the systems of a group need on a type in a cluster; cluster NULL: pinned values.
static uint32_t lock_sets_of_cluster(const orri_pipeline* pipe, uint32_t first, uint32_t point,
                                     uint32_t type_index, const orri_cluster* cluster)
{
    uint32_t mode = LOCK_SETS_NONE;
    for (uint32_t i = first; i < point; i++) {
        const orri_system* system = pipe->steps[i].system;
        bool any;
        uint32_t other = lock_sets_mode(pipe->world, system, type_index, &any);
        if (other != LOCK_SETS_NONE &&
            (cluster == NULL || any || orri_entries_find(system->query, cluster) != UINT32_MAX)) {
            mode = lock_sets_stronger(mode, other);
        }
    }
    return mode;
}

// Adds the locks of a locked type: one for pinned values, else one for each cluster that a system
// may touch.
static bool lock_sets_type(orri_pipeline* pipe, uint32_t first, uint32_t point, uint32_t type_index)
{
    orri_pipeline_run* run = pipe->run;
    orri_realtime* rt = run->rt;
    orr_world* world = pipe->world;
    orri_type_locks* locks = &rt->type_locks[type_index];
    if (orri_type_pinned(world->schema.types[type_index])) {
        uint32_t mode = lock_sets_of_cluster(pipe, first, point, type_index, NULL);
        return mode == LOCK_SETS_NONE ||
               lock_sets_push(run, lock_sets_resource(rt, &locks->whole1), mode);
    }
    if (type_index >= world->tables.capacity) {
        return true;
    }
    const orri_table* table = (const orri_table*)(const void*)world->tables.list[type_index];
    if (table == &orri_table_none) {
        return true; // No entity has the type.
    }
    uint32_t before = locks->cluster_capacity;
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_SYSTEM, &locks->clusters1, &locks->cluster_capacity,
                      world->clusters.slot_count)) {
        return lock_sets_push(run, LOCK_SETS_NONE, 0);
    }
    for (uint32_t c = before; c < locks->cluster_capacity; c++) {
        locks->clusters1[c] = 0;
    }
    const orri_table_cluster* entry;
    for (uint32_t c = 0; (entry = orri_table_next(table, &c)) != NULL;) {
        const orri_cluster* cluster = entry->cluster;
        uint32_t mode = lock_sets_of_cluster(pipe, first, point, type_index, cluster);
        if (mode != LOCK_SETS_NONE &&
            !lock_sets_push(run, lock_sets_resource(rt, &locks->clusters1[cluster->index]), mode)) {
            return false;
        }
    }
    return true;
}

static int lock_sets_compare(const void* a, const void* b)
{
    const orri_lock *x = a, *y = b;
    return (x->resource > y->resource) - (x->resource < y->resource);
}

// Sorts the set by resource. Mostly resources are made, and so come, in that order.
static void lock_sets_sort(orri_pipeline_run* run)
{
    bool sorted = true;
    for (uint32_t i = 1; sorted && i < run->set_count; i++) {
        sorted = run->set[i - 1].resource < run->set[i].resource;
    }
    if (!sorted) {
        qsort(run->set, run->set_count, sizeof *run->set, lock_sets_compare);
    }
}

static bool lock_sets_has(const orri_pipeline_run* run, uint32_t resource)
{
    uint32_t i = 0;
    while (i < run->set_count && run->set[i].resource != resource) {
        i++;
    }
    return i < run->set_count;
}

// Adds the locks on things outside the world that systems of other pipelines use, too: `user`
// pointers, and everything impure. The set has none of them yet.
static bool lock_sets_outside(orri_pipeline* pipe, const orri_system* system)
{
    orri_pipeline_run* run = pipe->run;
    uint32_t numbers1[2] = {system->user_lock1, system->desc.impure ? run->rt->impure_lock1 : 0};
    bool done = true;
    for (uint32_t i = 0; done && i < 2; i++) {
        done = numbers1[i] == 0 || lock_sets_has(run, numbers1[i] - 1) ||
               lock_sets_push(run, numbers1[i] - 1, ORRI_LOCK_EXCLUSIVE);
    }
    return done;
}

void orri_lock_set_one(orri_pipeline* pipe, uint32_t resource, orri_lock_mode mode)
{
    pipe->run->set[0] = (orri_lock){resource, mode};
    pipe->run->set_count = 1;
}

void orri_lock_set_structure(orri_pipeline* pipe, orri_lock_mode mode)
{
    orri_lock_set_one(pipe, pipe->run->rt->registry, mode);
    pipe->run->set[pipe->run->set_count++] = (orri_lock){pipe->run->rt->index, mode};
}

// ---- rows, by cluster ---------------------------------------------------------------------------

// Adds the lock on the rows of a cluster, unless the set has it.
static bool lock_sets_cluster(orri_pipeline* pipe, uint32_t index, uint32_t mode)
{
    orri_realtime* rt = pipe->run->rt;
    uint32_t before = rt->cluster_capacity, first;
    if (!ORRI_RESERVE(&rt->world->env, ORR_MEMORY_SYSTEM, &rt->clusters1, &rt->cluster_capacity,
                      rt->world->clusters.slot_count)) {
        return lock_sets_push(pipe->run, LOCK_SETS_NONE, 0);
    }
    for (uint32_t c = before; c < rt->cluster_capacity; c++) {
        rt->clusters1[c] = 0;
    }
    if (rt->clusters1[index] == 0) {
        if (orri_locks_add(rt->locks, 1, ORRI_LOCK_PLAIN, &first) != ORR_OK) {
            return lock_sets_push(pipe->run, LOCK_SETS_NONE, 0);
        }
        rt->clusters1[index] = first + 1;
    }
    return lock_sets_has(pipe->run, rt->clusters1[index] - 1) ||
           lock_sets_push(pipe->run, rt->clusters1[index] - 1, mode);
}

bool orri_lock_set_commit_scope(orri_pipeline* pipe, const orri_commit_scope* scope)
{
    orri_lock_set_structure(pipe, ORRI_LOCK_EXCLUSIVE);
    pipe->run->set[0].mode = ORRI_LOCK_WRITE_WITHIN;
    bool done = true;
    for (uint32_t c = 0; done && c < scope->words * 64 && c < pipe->world->clusters.slot_count;
         c++) {
        done = !orri_commit_scope_has(scope, c) || lock_sets_cluster(pipe, c, ORRI_LOCK_EXCLUSIVE);
    }
    lock_sets_sort(pipe->run);
    return done;
}

bool orri_lock_set_own_rows(const orri_system* system)
{
    bool own = system->desc.own_rows && system->by_rows && !system->ordered && !system->may_send;
    for (uint32_t f = 0; own && f < system->query->field_count; f++) {
        const orri_type* type =
            orri_type_at(&system->pipe->world->schema, system->query->fields[f].type);
        own = type != NULL && type->plain && type->info.multiplicity != ORR_MULTIPLE &&
              !orri_type_pinned(type);
    }
    return own;
}

// If all systems of a group touch only own rows: locks these clusters instead of the registry, and
// nothing of the index. False: a system touches more, or there are too many clusters.
static bool lock_sets_rows(orri_pipeline* pipe, uint32_t first, uint32_t point, bool* done)
{
    uint32_t count = 0;
    for (uint32_t i = first; i < point; i++) {
        const orri_system* system = pipe->steps[i].system;
        count += system->query != NULL ? system->query->entry_count : 0;
        if (count > LOCK_SETS_CLUSTERS || !orri_lock_set_own_rows(system)) {
            return false;
        }
    }
    orri_lock_set_one(pipe, pipe->run->rt->registry, ORRI_LOCK_READ_WITHIN);
    for (uint32_t i = first; *done && i < point; i++) {
        const orr_query* query = pipe->steps[i].system->query;
        for (uint32_t e = 0; *done && e < query->entry_count; e++) {
            const orri_cluster* cluster = query->entries[e].cluster;
            *done = cluster == NULL || cluster->transient ||
                    lock_sets_cluster(pipe, cluster->index, ORRI_LOCK_READ);
        }
    }
    return true;
}

bool orri_lock_set_group(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    const orri_realtime* rt = pipe->run->rt;
    bool alone = false, done = true;
    for (uint32_t i = first; i < point; i++) {
        alone |= lock_sets_exclusive(pipe->world, pipe->steps[i].system);
    }
    if (alone || !lock_sets_rows(pipe, first, point, &done)) {
        orri_lock_set_structure(pipe, alone ? ORRI_LOCK_EXCLUSIVE : ORRI_LOCK_READ);
    }
    for (uint32_t i = first; done && (rt->user_lock_count | rt->impure_lock1) != 0 && i < point;
         i++) {
        done = lock_sets_outside(pipe, pipe->steps[i].system);
    }
    for (uint32_t l = 0; done && l < rt->locked_count; l++) {
        done = lock_sets_type(pipe, first, point, rt->locked[l]);
    }
    lock_sets_sort(pipe->run);
    return done;
}

void orri_lock_sets_free(orri_realtime* rt)
{
    orri_env* env = &rt->world->env;
    for (uint32_t i = 0; i < rt->type_lock_capacity; i++) {
        ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, rt->type_locks[i].clusters1,
                     rt->type_locks[i].cluster_capacity);
    }
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, rt->type_locks, rt->type_lock_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, rt->clusters1, rt->cluster_capacity);
}

// ---- the lock trace -----------------------------------------------------------------------------

void orri_lock_set_note(orri_pipeline* pipe, uint32_t first, uint32_t point, orri_lock_event event)
{
    const orr_world* world = pipe->world;
    if (ORR_LIKELY(pipe->run->rt->desc.lock_trace == 0)) {
        return;
    }
    for (uint32_t i = first; i < point; i++) {
        const orri_system* system = pipe->steps[i].system;
        for (uint32_t t = 0; system->due && t < world->schema.type_count; t++) {
            bool any;
            orri_lock lock = {LOCK_SETS_PLANNED | t, lock_sets_mode(world, system, t, &any)};
            if (lock.mode != LOCK_SETS_NONE) {
                orri_lock_note(pipe->run->holder, system->handle.id, &lock, 1, event);
            }
        }
    }
}

static void lock_sets_name_holder(void* user, uint32_t number, orri_text* out)
{
    const orri_realtime* rt = user;
    uint32_t i = 0;
    while (rt->schedule->pipelines[i]->run->number != number) {
        i++;
    }
    orri_text_add(out, "%s", rt->schedule->pipelines[i]->name);
}

static void lock_sets_name_system(void* user, uint32_t number, orri_text* out)
{
    const orri_realtime* rt = user;
    const orri_system* system = number > 0 ? rt->schedule->slots[number - 1] : NULL;
    orri_text_add(out, "%s", number == 0 ? "commit" : system != NULL ? system->desc.name : "?");
}

static void lock_sets_name_resource(void* user, uint32_t number, orri_text* out)
{
    const orri_realtime* rt = user;
    const orr_world* world = rt->world;
    if (number == rt->registry || number == rt->index) {
        orri_text_add(out, "%s", number == rt->registry ? "registry" : "index");
        return;
    }
    for (uint32_t c = 0; c < rt->cluster_capacity; c++) {
        if (rt->clusters1[c] == number + 1) {
            orri_text_add(out, "rows of cluster %u", c);
            return;
        }
    }
    for (const orri_system* s = rt->schedule->first; s != NULL; s = s->next) {
        if (s->user_lock1 == number + 1) {
            orri_text_add(out, ".user of %s", s->desc.name);
            return;
        }
    }
    if (rt->impure_lock1 == number + 1) {
        orri_text_add(out, "impure systems");
        return;
    }
    for (uint32_t t = 0; t < world->schema.type_count && t < rt->type_lock_capacity; t++) {
        const orri_type_locks* locks = &rt->type_locks[t];
        bool found = (number & LOCK_SETS_PLANNED) != 0 ? (number & ~LOCK_SETS_PLANNED) == t
                                                       : locks->whole1 == number + 1;
        if (found) {
            orri_text_add(out, "%s", world->schema.types[t]->info.name);
            return;
        }
        for (uint32_t c = 0; c < locks->cluster_capacity; c++) {
            if (locks->clusters1[c] == number + 1) {
                orri_text_add(out, "%s of cluster %u", world->schema.types[t]->info.name, c);
                return;
            }
        }
    }
    orri_text_add(out, "?");
}

void orri_lock_set_save_trace(orri_realtime* rt)
{
    struct orri_schedule* schedule = rt->schedule;
    orri_env* env = &rt->world->env;
    const orri_lock_names names = {rt, lock_sets_name_holder, lock_sets_name_system,
                                   lock_sets_name_resource};
    if (schedule->lock_text != NULL) {
        ORRI_FREE(env, ORR_MEMORY_SYSTEM, char, schedule->lock_text, schedule->lock_text_size);
        schedule->lock_text = NULL;
    }
    if (rt->desc.lock_trace == 0) {
        return;
    }
    size_t size = orri_locks_trace_print(rt->locks, &names, NULL, 0) + 1;
    schedule->lock_text = ORRI_ALLOC(env, ORR_MEMORY_SYSTEM, char, size);
    if (schedule->lock_text != NULL) {
        schedule->lock_text_size = size;
        (void)orri_locks_trace_print(rt->locks, &names, schedule->lock_text, size);
    }
}

size_t orr_lock_trace_print(const orr_world* world, char* out, size_t out_size)
{
    ORR_ASSERT(world != NULL);
    orri_text text = {out, out_size, 0};
    const char* kept = world->schedule != NULL ? world->schedule->lock_text : NULL;
    orri_text_add(&text, "%s", kept != NULL ? kept : "");
    return text.length;
}

#undef LOCK_SETS_PLANNED
#undef LOCK_SETS_NONE
#undef LOCK_SETS_CLUSTERS
