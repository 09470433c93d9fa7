// SPDX-License-Identifier: MIT
// The police: what a running system may reach by calls to the world. Calls that touch a component ask here; while no system
// runs, or none is watched, that is one compare. Reading by id is inline (store.h): it finds only the tables that the
// system may see, and comes here for the others.
#include "store/world/access.h"
#include <stdio.h>

_Thread_local orri_thread_context orri_this_thread;

const uint64_t* orri_clock_here(const orr_world* world)
{
    const orri_thread_context* here = &orri_this_thread;
    return here->world == world && here->clock != NULL ? here->clock : &world->tick;
}

// Of threads that run none of the systems, while systems run abreast.
static _Atomic uint64_t access_foreign_violations;
static const orri_access access_foreign = {.system = "of another thread",
                                           .violations = &access_foreign_violations};

const orri_access* orri_access_of(const orr_world* world)
{
    return world->running.parallel && orri_this_thread.world == world ? orri_this_thread.access
                                                                      : world->running.access;
}

bool orri_access_checked_far(const orr_world* world)
{
    return orri_access_of(world) != NULL;
}

const struct orri_view* orri_view_here_far(const orr_world* world)
{
    return orri_this_thread.world == world ? orri_this_thread.view : NULL;
}

static bool access_has(const orri_access* access, const uint64_t* bits, uint32_t type_index)
{
    return bits != NULL && type_index < access->type_count && orri_bit_get(bits, type_index);
}

// A thread of the program's own reaches for a world that runs in real time.
bool orri_access_foreign_thread(const orr_world* world, const char* call)
{
    if (!world->realtime || orri_access_of(world) != &access_foreign) {
        return false;
    }
    access_foreign_violations++;
    (void)orri_refuse(
        orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
        "%s: the world runs in real time, and belongs to its pipelines; post the call "
        "(orr_post; about the world as a whole orr_post_exclusive), or make it before "
        "orr_realtime() "
        "or after it has returned",
        call);
    return true;
}

ORRI_COLD static bool access_refuse(const orr_world* world, const char* call, const char* name,
                                    orr_entity entity, const char* prefix)
{
    if (orri_access_foreign_thread(world, call)) { // Who may not even look for the entity's name.
        return false;
    }
    const orri_access* access = orri_access_of(world);
    orri_id_text who = orri_entity_format(world, entity);
    const char* of = entity.id != 0 ? " of " : "";
    (*access->violations)++;
    if (access->indirect) {
        (void)orri_refuse(
            orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_BREACH,
            "%s: system '%s' is indirect: it does not reach the world, here %s%s%s; it hears by "
            "messages (orr_receive) and changes by messages (orr_send_…)",
            call, access->system, name, of, entity.id != 0 ? who.text : "");
        return false;
    }
    if (access->posted || access->section) {
        (void)orri_refuse(orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_BREACH,
                          "%s: %s of system '%s' reaches %s%s%s; its function has the "
                          "component it is about, and its "
                          "argument, and sees nothing else of the world",
                          call, access->section ? "an atomic section" : "a transaction",
                          access->system, name, of, entity.id != 0 ? who.text : "");
        return false;
    }
    (void)orri_refuse(
        orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_BREACH,
        "%s: system '%s' reaches %s%s%s, which it did not declare; put \"%s%s\" into its .by_id%s",
        call, access->system, name, of, entity.id != 0 ? who.text : "", prefix, name,
        access->own_rows ? ", and leave .own_rows out" : "");
    return false;
}

bool orri_access_reads_long(const orr_world* world, const char* call, orr_type type,
                            orr_entity entity)
{
    return access_has(orri_access_of(world), orri_access_of(world)->by_id_read,
                      orri_type_index(world, type)) ||
           access_refuse(world, call, orri_type_label(world, type), entity, "");
}

bool orri_access_writes_long(const orr_world* world, const char* call, orr_type type,
                             orr_entity entity)
{
    return access_has(orri_access_of(world), orri_access_of(world)->by_id_write,
                      orri_type_index(world, type)) ||
           access_refuse(world, call, orri_type_label(world, type), entity, "write ");
}

bool orri_access_builtin_long(const orr_world* world, const char* call, const char* name,
                              orr_entity entity)
{
    orr_type type = orri_type_find(&world->schema, name);
    return (type.id != 0 && access_has(orri_access_of(world), orri_access_of(world)->by_id_read,
                                       orri_type_index(world, type))) ||
           access_refuse(world, call, name, entity, "");
}

bool orri_access_tags_long(const orr_world* world, const char* call, orr_tag tag)
{
    const orri_access* access = orri_access_of(world);
    for (uint32_t i = 0; i < access->by_id_tag_count; i++) {
        if (access->by_id_tags[i] == tag) {
            return true;
        }
    }
    orr_type all = orri_type_find(&world->schema, "orr_tags");
    if (all.id != 0 && access_has(access, access->by_id_read, orri_type_index(world, all))) {
        return true;
    }
    char name[ORR_NAME_MAX + 24];
    const char* known = orr_tag_name(world, tag);
    if (known != NULL) {
        snprintf(name, sizeof name, "#%s", known);
    } else {
        snprintf(name, sizeof name, "#%llu", (unsigned long long)tag);
    }
    return access_refuse(world, call, name, (orr_entity){0}, "");
}

bool orri_access_places_long(const orr_world* world, const char* call, orr_entity entity)
{
    const orri_access* access = orri_access_of(world);
    if (access->by_id_read != NULL) {
        return true;
    }
    if (access->query == NULL) {
        return access_refuse(world, call, "the place", entity, "");
    }
    orri_id_text who = orri_entity_format(world, entity);
    (*access->violations)++;
    (void)orri_refuse(orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_BREACH,
                      "%s: system '%s' looks for the place%s%s, but reaches nothing by id; put the "
                      "types that it is about into its .by_id",
                      call, access->system, entity.id != 0 ? " of " : "",
                      entity.id != 0 ? who.text : "");
    return false;
}

bool orri_access_looks_long(const orr_world* world, const char* call, orr_entity entity)
{
    const orri_access* access = orri_access_of(world);
    if (!access->own_rows) {
        return true;
    }
    orri_id_text id = orri_id_format(entity);
    (*access->violations)++;
    (void)orri_refuse(orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_BREACH,
                      "%s: system '%s' looks beyond its rows%s%s, but says that it does not "
                      "(.own_rows); leave that out",
                      call, access->system, entity.id != 0 ? ", here at " : "",
                      entity.id != 0 ? id.text : "");
    return false;
}

bool orri_access_owns_long(const orr_world* world, const char* call)
{
    const orri_access* access = orri_access_of(world);
    if (access->owns) {
        return true;
    }
    if (orri_access_foreign_thread(world, call)) {
        return false;
    }
    (*access->violations)++;
    (void)orri_refuse(
        orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_BREACH,
        "%s: system '%s' makes strings or arrays, but declares no type with any that it "
        "writes or sends; declare that type",
        call, access->system);
    return false;
}

orr_result orri_refuse_structure(const orr_world* world, const char* call, orr_type type,
                                 orr_entity entity)
{
    if (orri_access_foreign_thread(world, call)) {
        return ORR_ERR_STATE;
    }
    orri_id_text who = orri_entity_format(world, entity);
    bool typed = type.id != 0, about = entity.id != 0;
    (*orri_access_of(world)->violations)++;
    return orri_refuse(
        orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_BREACH,
        "%s: system '%s' changes structure directly%s%s%s%s; inside a system changes are sent "
        "(orr_send_create, orr_send_add …, message.h) and declared in its desc",
        call, orri_access_of(world)->system, typed || about ? ", here " : "",
        typed ? orri_type_label(world, type) : "", typed && about ? " of " : "",
        about ? who.text : "");
}

orr_result orri_refuse_running(const orr_world* world, const char* call)
{
    bool watched = orri_access_checked(world);
    if (watched && orri_access_foreign_thread(world, call)) {
        return ORR_ERR_STATE;
    }
    if (watched) {
        (*orri_access_of(world)->violations)++;
    }
    return orri_refuse(
        orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_BREACH, "%s: not %s%s%s%s; %s", call,
        watched || !world->realtime ? "inside a system" : "while pipelines run",
        watched ? " ('" : "", watched ? orri_access_of(world)->system : "", watched ? "')" : "",
        world->realtime ? "post it for where all of them stand between ticks "
                          "(orr_post_exclusive), or call it between runs"
                        : "call it between ticks");
}

void orri_access_enter(orr_world* world, const orri_access* access, orr_hot_table** tables)
{
    ORR_ASSERT(world->running.access == NULL);
    world->running.access = access;
    if (access != NULL) {
        world->hot.tables = tables;
        world->hot.table_capacity = tables != NULL ? world->tables.capacity : 0;
    }
}

void orri_access_parallel(orr_world* world, bool watched, orr_hot_table** tables)
{
    ORR_ASSERT(!world->running.parallel);
    world->running.parallel = true;
    orri_access_enter(world, watched ? &access_foreign : NULL, tables);
}

void orri_access_serial(orr_world* world)
{
    world->running.parallel = false;
    orri_access_leave(world);
}

void orri_access_leave(orr_world* world)
{
    world->running.access = NULL;
    world->hot.tables = world->tables.list;
    world->hot.table_capacity = world->tables.capacity;
}

void orri_access_tables(const orr_world* world, const orri_access* access, orr_hot_table** tables)
{
    for (uint32_t i = 0; i < world->tables.capacity; i++) {
        tables[i] = access_has(access, access->by_id_read, i) ? world->tables.list[i]
                                                              : &orri_table_none.hot;
    }
}
