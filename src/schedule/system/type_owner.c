// SPDX-License-Identifier: MIT
// Owners of types: which pipeline writes which type. Entered by name when a system is added, since
// types may be registered later; never given up or passed on, also when the system is removed. So
// no two pipelines ever write the same values, and each can tick at its own rate.
#include "base/scan.h"
#include "schedule/schedule.h"

// A system that becomes owner of types.
typedef struct type_owner_ask {
    orr_world* world;
    const orri_system* system;
    bool enters; // Enters new owners; else only checks.
} type_owner_ask;

// ---- owners -------------------------------------------------------------------------------------

static orri_type_owner* type_owner_find(const struct orri_schedule* schedule, uint64_t hash)
{
    for (uint32_t i = 0; i < schedule->type_owner_count; i++) {
        if (schedule->type_owners[i].type_hash == hash) {
            return &schedule->type_owners[i];
        }
    }
    return NULL;
}

ORRI_COLD static bool type_owner_refuse(const type_owner_ask* ask, const orri_type_owner* owner,
                                        const char* type, size_t size)
{
    (void)orri_refuse(
        &ask->world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_SYSTEM_REFUSED,
        "orr_system_add: system '%s' of pipeline '%s' writes %.*s, which pipeline '%s' owns since "
        "system '%s' was added; put the system into that pipeline, or let it transact (.transacts)",
        ask->system->desc.name, ask->system->pipe->name, (int)size, type, owner->pipe->name,
        owner->system);
    return false;
}

// Enters the system's pipeline as owner of a type.
static bool type_owner_enter(const type_owner_ask* ask, uint64_t hash)
{
    struct orri_schedule* schedule = ask->world->schedule;
    orri_env* env = &ask->world->env;
    const char* name = ask->system->desc.name;
    size_t size = strlen(name) + 1;
    char* copy = ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &schedule->type_owners,
                              &schedule->type_owner_capacity, schedule->type_owner_count + 1)
                     ? ORRI_ALLOC(env, ORR_MEMORY_SYSTEM, char, size)
                     : NULL;
    if (copy == NULL) {
        (void)orri_refuse_memory(env, "adding a system");
        return false;
    }
    memcpy(copy, name, size);
    schedule->type_owners[schedule->type_owner_count++] =
        (orri_type_owner){hash, ask->system->pipe, copy};
    return true;
}

// Checks or enters one type, by name.
static bool type_owner_type(const type_owner_ask* ask, const char* type, size_t size)
{
    uint64_t hash = orr_hash(type, size, 0);
    const orri_type_owner* owner = type_owner_find(ask->world->schedule, hash);
    if (owner != NULL && owner->pipe != ask->system->pipe) {
        return type_owner_refuse(ask, owner, type, size);
    }
    return owner != NULL || !ask->enters || type_owner_enter(ask, hash);
}

// ---- types that a system writes -----------------------------------------------------------------

// Reads one member, "write Health", and returns the size of its name, the last word. `*at` moves to
// the sign after the member. `own`: there are words before the name; `writes`: one is "write".
static size_t type_owner_member(const char** at, const char** name, bool* own, bool* writes)
{
    *own = *writes = false;
    while (**at == '?' || orri_scan_is_blank(**at)) {
        ++*at;
    }
    for (;;) {
        size_t size = orri_scan_token(*at, "|,");
        *name = *at;
        *at = orri_scan_blanks(*at + size);
        if (orri_scan_token(*at, "|,") == 0) {
            return size;
        }
        *own = true;
        *writes |= orri_scan_equals(*name, size, "write");
    }
}

// One item: "write Health|read Armor". Words of its first member hold for members that have none.
static bool type_owner_item(const type_owner_ask* ask, const char* item, bool all)
{
    bool first_writes = all;
    for (const char* at = item;; at++) {
        const char *from = at, *name;
        bool own, writes;
        size_t size = type_owner_member(&at, &name, &own, &writes);
        writes = own ? writes || all : first_writes;
        first_writes = from == item ? writes : first_writes;
        bool type = size > 0 && strchr("!#*", *name) == NULL && *item != '!';
        if (type && writes && !type_owner_type(ask, name, size)) {
            return false;
        }
        if (*at != '|') {
            return true;
        }
    }
}

// All items of a text. `all`: all its types are written.
static bool type_owner_text(const type_owner_ask* ask, const char* text, bool all)
{
    const char *at = text != NULL ? text : "", *item;
    size_t size;
    bool had = true;
    while (had && orri_scan_item(&at, &item, &size)) {
        had = type_owner_item(ask, item, all);
    }
    return had;
}

// All types that the system writes: query, by_id, changes, atomics, terms.
static bool type_owner_all(const type_owner_ask* ask)
{
    const orr_system_desc* desc = &ask->system->desc;
    bool had = type_owner_text(ask, desc->query, false) &&
               type_owner_text(ask, desc->by_id, false) &&
               type_owner_text(ask, desc->changes, true) &&
               type_owner_text(ask, desc->atomics, true);
    for (uint32_t i = 0; had && i < desc->term_count; i++) {
        if (desc->terms[i].access == ORR_WRITE && desc->terms[i].kind != ORR_WITHOUT) {
            const char* name = orri_type_label(ask->world, desc->terms[i].type);
            had = type_owner_type(ask, name, strlen(name));
        }
    }
    return had;
}

bool orri_type_owners_take(orr_world* world, const orri_system* system)
{
    return type_owner_all(&(type_owner_ask){world, system, false}) &&
           type_owner_all(&(type_owner_ask){world, system, true});
}

// Fills the types that other pipelines own.
static void type_owner_foreign(orri_pipeline* pipe)
{
    const orr_world* world = pipe->world;
    memset(pipe->foreign.bits, 0, pipe->foreign.words * sizeof *pipe->foreign.bits);
    for (uint32_t i = 0; i < world->schema.type_count; i++) {
        const orri_pipeline* by =
            orri_type_owner_of(world, (orr_type){world->schema.type_base + i});
        orri_bit_set(pipe->foreign.bits, i, by != NULL && by != pipe);
    }
}

bool orri_type_owners_sort(orr_world* world)
{
    const struct orri_schedule* schedule = world->schedule;
    for (uint32_t i = 0; schedule->pipeline_count > 1 && i < schedule->pipeline_count; i++) {
        orri_pipeline* pipe = schedule->pipelines[i];
        if (!ORRI_RESERVE(&world->env, ORR_MEMORY_SYSTEM, &pipe->foreign.bits, &pipe->foreign.words,
                          world->schema.type_count / 64 + 1)) {
            (void)orri_refuse_memory(&world->env, "planning a tick");
            return false;
        }
        type_owner_foreign(pipe);
    }
    return true;
}

const orri_pipeline* orri_type_owner_of(const orr_world* world, orr_type type)
{
    const char* name = orri_type_label(world, type);
    const orri_type_owner* owner =
        type_owner_find(world->schedule, orr_hash(name, strlen(name), 0));
    return owner != NULL ? owner->pipe : NULL;
}

void orri_type_owners_free(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    for (uint32_t i = 0; i < schedule->type_owner_count; i++) {
        char* name = schedule->type_owners[i].system;
        ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, char, name, strlen(name) + 1);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_SYSTEM, schedule->type_owners,
                 schedule->type_owner_capacity);
}
