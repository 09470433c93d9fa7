// SPDX-License-Identifier: MIT
// Access checks of running systems: the slow paths and error texts of access.h. Reads by id are
// inline (store.h): they use only the type tables that the system may read (orri_access_tables()),
// and come here for all other types.
#include "store/world/access.h"
#include <stdio.h>

_Thread_local orri_thread_context orri_this_thread;

const uint64_t* orri_clock_here(const orr_world* world)
{
    const orri_thread_context* here = &orri_this_thread;
    return here->world == world && here->clock != NULL ? here->clock : &world->tick;
}

// Access of threads that run no system while systems run in parallel: allows nothing.
static _Atomic uint64_t access_foreign_violations;
static const orri_access access_foreign = {.system = "of another thread",
                                           .violations = &access_foreign_violations};

const orri_access orri_access_pending = {.system = "none"};

const orri_access* orri_access_of(const orr_world* world)
{
    if (world->running.parallel && orri_this_thread.world == world) {
        return orri_this_thread.access;
    }
    return orri_access_none(world) ? NULL : world->running.access;
}

void orri_travel_pending_set(orr_world* world, orr_result (*notify)(orr_world* world))
{
    world->running.notify_travel = notify;
    if (orri_access_none(world)) {
        world->running.access = notify != NULL ? &orri_access_pending : NULL;
    }
}

// The caller reports the refusal.
static void access_silent(void* owner, orr_result result, orr_log_id id, const char* text)
{
    (void)owner, (void)result, (void)id, (void)text;
}

orr_result orri_travel_notify(const orr_world* world, const char* call)
{
    orri_refusal_redirect before = orri_redirect_here;
    orri_redirect_here = (orri_refusal_redirect){&world->env, access_silent, NULL};
    orr_result result = world->running.notify_travel((orr_world*)(uintptr_t)world);
    orri_redirect_here = before;
    return result == ORR_OK
               ? ORR_OK
               : orri_refuse(orri_env_of(world), result, ORR_LOG_ID_MEMORY_REFUSED,
                             "%s: out of memory while readers are notified of the last travel, "
                             "which happens before the world changes; nothing was changed; make "
                             "the call again when there is memory",
                             call);
}

bool orri_access_checked_slow(const orr_world* world)
{
    return orri_access_of(world) != NULL;
}

const struct orri_view* orri_view_here_slow(const orr_world* world)
{
    return orri_this_thread.world == world ? orri_this_thread.view : NULL;
}

// True when a set of types has one.
static bool access_has(const orri_access* access, const uint64_t* bits, uint32_t type_index)
{
    return bits != NULL && type_index < access->type_count && orri_bit_get(bits, type_index);
}

bool orri_access_foreign_thread(const orr_world* world, const char* call)
{
    if (!world->realtime || orri_access_of(world) != &access_foreign) {
        return false;
    }
    access_foreign_violations++;
    (void)orri_refuse(
        orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
        "%s: the world runs in real time, so only its pipelines may access it; post the call with "
        "orr_post() (orr_post_exclusive() if it is about the whole world), or make it before "
        "orr_realtime() or after it has returned",
        call);
    return true;
}

// Counts and reports a violation. `prefix`: text before the type's name in a declaration.
ORRI_COLD static bool access_refuse(const orr_world* world, const char* call, const char* name,
                                    orr_entity entity, const char* prefix)
{
    if (orri_access_foreign_thread(world, call)) { // Such a thread may not even read the name.
        return false;
    }
    const orri_access* access = orri_access_of(world);
    orri_id_text id = orri_entity_format(world, entity);
    const char* of = entity.id != 0 ? " of " : "";
    (*access->violations)++;
    if (access->indirect) {
        (void)orri_refuse(
            orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
            "%s: system '%s' is indirect and may not access the world, here %s%s%s; read messages "
            "with orr_receive() and send changes with orr_send_…",
            call, access->system, name, of, entity.id != 0 ? id.text : "");
        return false;
    }
    if (access->posted || access->section) {
        (void)orri_refuse(orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
                          "%s: %s of system '%s' accesses %s%s%s; its function may use only the "
                          "component it was called for, and its argument",
                          call, access->section ? "an atomic section" : "a transaction",
                          access->system, name, of, entity.id != 0 ? id.text : "");
        return false;
    }
    (void)orri_refuse(
        orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
        "%s: system '%s' accesses %s%s%s, which it did not declare; put \"%s%s\" into its .by_id%s",
        call, access->system, name, of, entity.id != 0 ? id.text : "", prefix, name,
        access->own_rows ? ", and remove .own_rows" : "");
    return false;
}

// A system writes a type that is never written in place: no declaration would allow it.
ORRI_COLD static bool access_refuse_in_place(const orr_world* world, const char* call,
                                             const orri_type* type, orr_entity entity)
{
    const orri_access* access = orri_access_of(world);
    orri_id_text id = orri_entity_format(world, entity);
    (*access->violations)++;
    (void)orri_refuse(orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
                      "%s: system '%s' writes %s%s%s: %s %s", call, access->system, type->info.name,
                      entity.id != 0 ? " of " : "", entity.id != 0 ? id.text : "", type->info.name,
                      orri_in_place_hint(type, true));
    return false;
}

// True while a system runs whose desc could declare more access: not an indirect system, a
// transaction or an atomic section.
static bool access_declares(const orr_world* world)
{
    const orri_access* access = orri_access_of(world);
    return access != &access_foreign && !access->indirect && !access->posted && !access->section;
}

// A system passes a null type, most often because the registration of the type was refused: there is
// nothing to declare.
ORRI_COLD static bool access_refuse_null(const orr_world* world, const char* call)
{
    if (orri_type_starved(&world->schema, NULL, 0) != NULL) {
        (void)orri_refuse_type(world, call, (orr_type){0});
        return false;
    }
    const orri_access* access = orri_access_of(world);
    (*access->violations)++;
    (void)orri_refuse(orri_env_of(world), ORR_ERR_TYPE, ORR_LOG_ID_CALL_REFUSED,
                      "%s: system '%s' passes a null type; was its registration refused?", call,
                      access->system);
    return false;
}

bool orri_access_reads_slow(const orr_world* world, const char* call, orr_type type,
                            orr_entity entity)
{
    if (type.id == 0 && access_declares(world)) {
        return access_refuse_null(world, call);
    }
    return access_has(orri_access_of(world), orri_access_of(world)->by_id_read,
                      orri_type_index(world, type)) ||
           access_refuse(world, call, orri_type_label(world, type), entity, "");
}

bool orri_access_writes_slow(const orr_world* world, const char* call, orr_type type,
                             orr_entity entity)
{
    if (!orri_access_checked(world)) {
        return orri_travel_notified(world, call) == ORR_OK;
    }
    if (type.id == 0 && access_declares(world)) {
        return access_refuse_null(world, call);
    }
    if (access_has(orri_access_of(world), orri_access_of(world)->by_id_write,
                   orri_type_index(world, type))) {
        return true;
    }
    const orri_type* found = orri_type_at(&world->schema, type);
    return found != NULL && orri_type_written_by_set(found) && access_declares(world)
               ? access_refuse_in_place(world, call, found, entity)
               : access_refuse(world, call, orri_type_label(world, type), entity, "write ");
}

bool orri_access_builtin_slow(const orr_world* world, const char* call, const char* name,
                              orr_entity entity)
{
    orr_type type = orri_type_find(&world->schema, name);
    return (type.id != 0 && access_has(orri_access_of(world), orri_access_of(world)->by_id_read,
                                       orri_type_index(world, type))) ||
           access_refuse(world, call, name, entity, "");
}

bool orri_access_tags_slow(const orr_world* world, const char* call, orr_tag tag)
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

bool orri_access_places_slow(const orr_world* world, const char* call, orr_entity entity)
{
    const orri_access* access = orri_access_of(world);
    if (access->by_id_read != NULL) {
        return true;
    }
    if (!access_declares(world)) {
        return access_refuse(world, call, "the position", entity, "");
    }
    orri_id_text id = orri_entity_format(world, entity);
    (*access->violations)++;
    (void)orri_refuse(
        orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
        "%s: system '%s' asks for the position%s%s, but accesses nothing by id; put the "
        "types that it needs into its .by_id",
        call, access->system, entity.id != 0 ? " of " : "", entity.id != 0 ? id.text : "");
    return false;
}

bool orri_access_looks_slow(const orr_world* world, const char* call, orr_entity entity)
{
    const orri_access* access = orri_access_of(world);
    if (!access->own_rows) {
        return !orri_access_foreign_thread(world, call);
    }
    orri_id_text id = orri_id_format(entity);
    (*access->violations)++;
    (void)orri_refuse(orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
                      "%s: system '%s' reads more than its own rows%s%s, but declares .own_rows; "
                      "remove .own_rows",
                      call, access->system, entity.id != 0 ? ", here of " : "",
                      entity.id != 0 ? id.text : "");
    return false;
}

bool orri_access_owns_slow(const orr_world* world, const char* call)
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
        orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
        "%s: system '%s' makes strings or arrays, but declares no type with owned fields that it "
        "writes or sends; name that type in .changes, .adds or .creates, or as a write term",
        call, access->system);
    return false;
}

orr_result orri_refuse_structure(const orr_world* world, const char* call, orr_type type,
                                 orr_entity entity)
{
    if (orri_access_foreign_thread(world, call)) {
        return ORR_ERR_STATE;
    }
    orri_id_text id = orri_entity_format(world, entity);
    bool typed = type.id != 0, about = entity.id != 0;
    (*orri_access_of(world)->violations)++;
    return orri_refuse(
        orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
        "%s: system '%s' changes structure directly%s%s%s%s; inside a system send the change "
        "(orr_send_create, orr_send_add …, message.h), and declare it in the system's desc",
        call, orri_access_of(world)->system, typed || about ? ", here " : "",
        typed ? orri_type_label(world, type) : "", typed && about ? " of " : "",
        about ? id.text : "");
}

orr_result orri_refuse_running(const orr_world* world, const char* call)
{
    bool checked = orri_access_checked(world);
    if (checked && orri_access_foreign_thread(world, call)) {
        return ORR_ERR_STATE;
    }
    if (checked) {
        (*orri_access_of(world)->violations)++;
    }
    return orri_refuse(
        orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
        "%s: not allowed %s%s%s%s; %s", call,
        checked || !world->realtime ? "inside a system" : "while pipelines run",
        checked ? " ('" : "", checked ? orri_access_of(world)->system : "", checked ? "')" : "",
        world->realtime ? "post it with orr_post_exclusive(), or call it before orr_realtime() or "
                          "after it has returned"
                        : "call it between ticks");
}

void orri_access_enter(orr_world* world, const orri_access* access, orr_hot_table** tables)
{
    ORR_ASSERT(orri_access_none(world));
    world->running.access = access;
    if (access != NULL) {
        world->hot.tables = tables;
        world->hot.table_capacity = tables != NULL ? world->tables.capacity : 0;
    }
}

void orri_access_parallel(orr_world* world, bool checked, orr_hot_table** tables)
{
    ORR_ASSERT(!world->running.parallel);
    world->running.parallel = true;
    // Threads that run no system get an access that allows nothing.
    orri_access_enter(world, checked ? &access_foreign : NULL, tables);
}

void orri_access_serial(orr_world* world)
{
    world->running.parallel = false;
    orri_access_leave(world);
}

void orri_access_leave(orr_world* world)
{
    world->running.access = world->running.notify_travel != NULL ? &orri_access_pending : NULL;
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
