// SPDX-License-Identifier: MIT
// The police: what a running system may reach by calls to the world. Calls that touch a component ask here; while no system
// runs, or none is watched, that is one compare. Reading by id is inline (store.h): it finds only the tables that the
// system may see, and comes here for the others.
#include "store/guard.h"
#include <stdio.h>

_Thread_local orri_here orri_here_now;

const uint64_t* orri_clock_here(const orr_world* world)
{
    const orri_here* here = &orri_here_now;
    return here->world == world && here->clock != NULL ? here->clock : &world->tick;
}

// Of threads that run none of the systems, while systems run abreast.
static _Atomic uint64_t guard_strangers;
static const orri_guard guard_stranger = {.system = "of another thread",
                                          .breaches = &guard_strangers};

const orri_guard* orri_guard_of(const orr_world* world)
{
    return world->abreast && orri_here_now.world == world ? orri_here_now.guard : world->guard;
}

bool orri_watched_far(const orr_world* world)
{
    return orri_guard_of(world) != NULL;
}

const struct orri_view* orri_view_here_far(const orr_world* world)
{
    return orri_here_now.world == world ? orri_here_now.view : NULL;
}

static bool guard_has(const orri_guard* guard, const uint64_t* bits, uint32_t type_index)
{
    return bits != NULL && type_index < guard->type_count && orri_bit_get(bits, type_index);
}

// A thread of the program's own reaches for a world that runs in real time.
bool orri_guard_strange(const orr_world* world, const char* call)
{
    if (!world->realtime || orri_guard_of(world) != &guard_stranger) {
        return false;
    }
    guard_strangers++;
    (void)orri_refuse(
        orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
        "%s: the world runs in real time, and belongs to its pipelines; post the call "
        "(orr_post; about the world as a whole orr_post_meeting), or make it before orr_realtime() "
        "or after it has returned",
        call);
    return true;
}

ORRI_COLD static bool guard_refuse(const orr_world* world, const char* call, const char* name,
                                   orr_entity entity, const char* access)
{
    if (orri_guard_strange(world, call)) { // Who may not even look for the entity's name.
        return false;
    }
    const orri_guard* guard = orri_guard_of(world);
    orri_id_text who = orri_entity_format(world, entity);
    const char* of = entity.id != 0 ? " of " : "";
    (*guard->breaches)++;
    if (guard->indirect) {
        (void)orri_refuse(
            orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_BREACH,
            "%s: system '%s' is indirect: it does not reach the world, here %s%s%s; it hears by "
            "messages (orr_receive) and changes by messages (orr_send_…)",
            call, guard->system, name, of, entity.id != 0 ? who.text : "");
        return false;
    }
    if (guard->posted || guard->section) {
        (void)orri_refuse(orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_BREACH,
                          "%s: %s of system '%s' reaches %s%s%s; its function has the "
                          "component it is about, and its "
                          "argument, and sees nothing else of the world",
                          call, guard->section ? "an atomic section" : "a transaction",
                          guard->system, name, of, entity.id != 0 ? who.text : "");
        return false;
    }
    (void)orri_refuse(
        orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_BREACH,
        "%s: system '%s' reaches %s%s%s, which it did not declare; put \"%s%s\" into its .any%s",
        call, guard->system, name, of, entity.id != 0 ? who.text : "", access, name,
        guard->own_rows ? ", and leave .own_rows out" : "");
    return false;
}

bool orri_guard_reads_long(const orr_world* world, const char* call, orr_type type,
                           orr_entity entity)
{
    return guard_has(orri_guard_of(world), orri_guard_of(world)->any_read,
                     orri_type_index(world, type)) ||
           guard_refuse(world, call, orri_type_label(world, type), entity, "");
}

bool orri_guard_writes_long(const orr_world* world, const char* call, orr_type type,
                            orr_entity entity)
{
    return guard_has(orri_guard_of(world), orri_guard_of(world)->any_write,
                     orri_type_index(world, type)) ||
           guard_refuse(world, call, orri_type_label(world, type), entity, "write ");
}

bool orri_guard_builtin_long(const orr_world* world, const char* call, const char* name,
                             orr_entity entity)
{
    orr_type type = orri_type_find(&world->schema, name);
    return (type.index1 != 0 && guard_has(orri_guard_of(world), orri_guard_of(world)->any_read,
                                          orri_type_index(world, type))) ||
           guard_refuse(world, call, name, entity, "");
}

bool orri_guard_tags_long(const orr_world* world, const char* call, orr_tag tag)
{
    const orri_guard* guard = orri_guard_of(world);
    for (uint32_t i = 0; i < guard->any_tag_count; i++) {
        if (guard->any_tags[i] == tag) {
            return true;
        }
    }
    orr_type all = orri_type_find(&world->schema, "orr_tags");
    if (all.index1 != 0 && guard_has(guard, guard->any_read, orri_type_index(world, all))) {
        return true;
    }
    char name[ORR_NAME_MAX + 24];
    const char* known = orr_tag_name(world, tag);
    if (known != NULL) {
        snprintf(name, sizeof name, "#%s", known);
    } else {
        snprintf(name, sizeof name, "#%llu", (unsigned long long)tag);
    }
    return guard_refuse(world, call, name, (orr_entity){0}, "");
}

bool orri_guard_places_long(const orr_world* world, const char* call, orr_entity entity)
{
    const orri_guard* guard = orri_guard_of(world);
    if (guard->any_read != NULL) {
        return true;
    }
    if (guard->query == NULL) {
        return guard_refuse(world, call, "the place", entity, "");
    }
    orri_id_text who = orri_entity_format(world, entity);
    (*guard->breaches)++;
    (void)orri_refuse(orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_BREACH,
                      "%s: system '%s' looks for the place%s%s, but reaches nothing by id; put the "
                      "types that it is about into its .any",
                      call, guard->system, entity.id != 0 ? " of " : "",
                      entity.id != 0 ? who.text : "");
    return false;
}

bool orri_guard_looks_long(const orr_world* world, const char* call, orr_entity entity)
{
    const orri_guard* guard = orri_guard_of(world);
    if (!guard->own_rows) {
        return true;
    }
    orri_id_text id = orri_id_format(entity);
    (*guard->breaches)++;
    (void)orri_refuse(orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_BREACH,
                      "%s: system '%s' looks beyond its rows%s%s, but says that it does not "
                      "(.own_rows); leave that out",
                      call, guard->system, entity.id != 0 ? ", here at " : "",
                      entity.id != 0 ? id.text : "");
    return false;
}

bool orri_guard_owns_long(const orr_world* world, const char* call)
{
    const orri_guard* guard = orri_guard_of(world);
    if (guard->owns) {
        return true;
    }
    if (orri_guard_strange(world, call)) {
        return false;
    }
    (*guard->breaches)++;
    (void)orri_refuse(
        orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_BREACH,
        "%s: system '%s' makes strings or arrays, but declares no type with any that it "
        "writes or sends; declare that type",
        call, guard->system);
    return false;
}

orr_result orri_refuse_structure(const orr_world* world, const char* call, orr_type type,
                                 orr_entity entity)
{
    if (orri_guard_strange(world, call)) {
        return ORR_ERR_STATE;
    }
    orri_id_text who = orri_entity_format(world, entity);
    bool typed = type.index1 != 0, about = entity.id != 0;
    (*orri_guard_of(world)->breaches)++;
    return orri_refuse(
        orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_BREACH,
        "%s: system '%s' changes structure directly%s%s%s%s; inside a system changes are sent "
        "(orr_send_create, orr_send_add …, message.h) and declared in its desc",
        call, orri_guard_of(world)->system, typed || about ? ", here " : "",
        typed ? orri_type_label(world, type) : "", typed && about ? " of " : "",
        about ? who.text : "");
}

orr_result orri_refuse_running(const orr_world* world, const char* call)
{
    bool watched = orri_watched(world);
    if (watched && orri_guard_strange(world, call)) {
        return ORR_ERR_STATE;
    }
    if (watched) {
        (*orri_guard_of(world)->breaches)++;
    }
    return orri_refuse(
        orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_BREACH, "%s: not %s%s%s%s; %s", call,
        watched || !world->realtime ? "inside a system" : "while pipelines run",
        watched ? " ('" : "", watched ? orri_guard_of(world)->system : "", watched ? "')" : "",
        world->realtime ? "post it for where all of them stand between ticks "
                          "(orr_post_meeting), or call it between runs"
                        : "call it between ticks");
}

void orri_guard_enter(orr_world* world, const orri_guard* guard, orr_hot_table** tables)
{
    ORR_ASSERT(world->guard == NULL);
    world->guard = guard;
    if (guard != NULL) {
        world->hot.tables = tables;
        world->hot.table_capacity = tables != NULL ? world->table_capacity : 0;
    }
}

void orri_guard_abreast(orr_world* world, bool watched, orr_hot_table** tables)
{
    ORR_ASSERT(!world->abreast);
    world->abreast = true;
    orri_guard_enter(world, watched ? &guard_stranger : NULL, tables);
}

void orri_guard_alone(orr_world* world)
{
    world->abreast = false;
    orri_guard_leave(world);
}

void orri_guard_leave(orr_world* world)
{
    world->guard = NULL;
    world->hot.tables = world->tables;
    world->hot.table_capacity = world->table_capacity;
}

void orri_guard_tables(const orr_world* world, const orri_guard* guard, orr_hot_table** tables)
{
    for (uint32_t i = 0; i < world->table_capacity; i++) {
        tables[i] = guard_has(guard, guard->any_read, i) ? world->tables[i] : &orri_table_none.hot;
    }
}
