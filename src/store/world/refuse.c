// SPDX-License-Identifier: MIT
// Error texts of refused calls. Each names the call, the entity and the type, and says what to do.
#include "store/relation/entity_name.h"
#include "store/table/transient.h"
#include "store/world/access.h"
#include <stdio.h>

orri_id_text orri_id_format(orr_entity entity)
{
    orri_id_text out;
    (void)orr_id_print(entity, out.text, sizeof out.text);
    return out;
}

orri_id_text orri_entity_format(const orr_world* world, orr_entity entity)
{
    orri_id_text id = orri_id_format(entity), out;
    // A system with .own_rows reads nothing but its rows, so names are not looked up for it.
    bool may_read_name = !orri_access_checked(world) || !orri_access_of(world)->own_rows;
    const char* name = may_read_name && orri_record_find(world, entity) != NULL
                           ? orri_name_of(world, orri_id_index(entity))
                           : NULL;
    if (name == NULL) {
        return id;
    }
    char cut[64]; // A name may be half as long as an error text.
    orri_text text = {cut, sizeof cut, 0};
    orri_text_add(&text, "%s", name);
    orri_text_cut(&text);
    snprintf(out.text, sizeof out.text, "%s (%.40s)", cut, id.text);
    return out;
}

const char* orri_type_label(const orr_world* world, orr_type type)
{
    const orri_type* found = orri_type_at(&world->schema, type);
    return found != NULL ? found->info.name : "(no type)";
}

// Why an id is not alive, as far as it can be known.
static const char* refuse_entity_reason(const orr_world* world, orr_entity entity)
{
    if ((orri_id_generation(entity) & ORRI_DEAD) != 0) {
        return "is a provisional id of a creation, which only what its run sends may use (set "
               ".creates_max for ids that are final at once)";
    }
    if (((orri_id_generation(entity) ^ world->salt) & ~ORRI_GENERATION_MASK) != 0) {
        return "belongs to a world with another id_salt";
    }
    if (orri_transient_alive(world, entity)) {
        return "is transient, and this call is not for transient entities (orr_create_transient)";
    }
    if (orri_id_transient(entity)) {
        return orri_access_checked(world)
                   ? "is transient: dead, not created yet, or hidden from the "
                     "simulation"
                   : "was transient, and is dead";
    }
    if (orri_id_index(entity) >= world->hot.count) {
        return orri_access_checked(world)
                   ? "is not created yet: entities that were sent exist after the commit"
                   : "was never created in this world";
    }
    return "is dead";
}

orr_result orri_refuse_entity(const orr_world* world, const char* call, orr_entity entity,
                              orr_type type)
{
    orri_id_text name = orri_entity_format(world, entity);
    const char* reason = refuse_entity_reason(world, entity);
    if (entity.id == 0) {
        return orri_refuse(orri_env_of(world), ORR_ERR_ENTITY, ORR_LOG_ID_ENTITY_REFUSED,
                           "%s: the entity is null, so its %s cannot be accessed; was its creation "
                           "refused?",
                           call, type.id != 0 ? orri_type_label(world, type) : "components");
    }
    if (type.id == 0) {
        return orri_refuse(orri_env_of(world), ORR_ERR_ENTITY, ORR_LOG_ID_ENTITY_REFUSED,
                           "%s: entity %s %s; check with orr_alive()", call, name.text, reason);
    }
    return orri_refuse(orri_env_of(world), ORR_ERR_ENTITY, ORR_LOG_ID_ENTITY_REFUSED,
                       "%s: entity %s %s, so its %s cannot be accessed; check with orr_alive()",
                       call, name.text, reason, orri_type_label(world, type));
}

static orr_result refuse_starved(const orr_world* world, const char* call, const char* name)
{
    return orri_refuse(
        orri_env_of(world), ORR_ERR_MEMORY, ORR_LOG_ID_MEMORY_REFUSED,
        "%s: out of memory: the registration of %s was refused, so its type is null; "
        "register it again when there is memory (orr_type_of() or the next use of "
        "the C type does)",
        call, name);
}

orr_result orri_refuse_type(const orr_world* world, const char* call, orr_type type)
{
    const char* starved = orri_type_starved(&world->schema, NULL, 0);
    if (starved != NULL && (type.id == 0 || type.id == UINT32_MAX)) { // orr_pp_type_refused()
        return refuse_starved(world, call, starved);
    }
    if (type.id == 0) {
        return orri_refuse(orri_env_of(world), ORR_ERR_TYPE, ORR_LOG_ID_CALL_REFUSED,
                           "%s: the type is null; was its registration refused?", call);
    }
    return orri_refuse(
        orri_env_of(world), ORR_ERR_TYPE, ORR_LOG_ID_CALL_REFUSED,
        "%s: the type is not registered in this world (it may be of another world); register it "
        "here, since every world registers its own types",
        call);
}

orr_result orri_refuse_cluster(const orr_world* world, const char* call, orr_cluster cluster)
{
    return orri_refuse(orri_env_of(world), ORR_ERR_CLUSTER, ORR_LOG_ID_CLUSTER_REFUSED,
                       "%s: cluster %uv%u %s; get it again with orr_cluster_get()", call,
                       cluster.id, cluster.generation,
                       cluster.id == 0                           ? "is null"
                       : cluster.id > world->clusters.slot_count ? "does not belong to this world"
                                                                 : "was deleted");
}

orr_result orri_refuse_argument(const orr_world* world, const char* call, const char* what)
{
    return orri_refuse(orri_env_of(world), ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED, "%s: %s",
                       call, what);
}

orr_result orri_refuse_hook(const orr_world* world, const char* call, const orri_type* type)
{
    return orri_refuse(orri_env_of(world), ORR_ERR_HOOK, ORR_LOG_ID_CALL_REFUSED,
                       "%s: a construct or copy hook of %s refused; nothing was changed", call,
                       type->info.name);
}

const char* orri_in_place_hint(const orri_type* type, bool in_system)
{
    if (type->indexed_count == 0) {
        return in_system ? "is not written in place; send the name (orr_send_name) and set .renames"
                         : "is not written in place; use orr_name_set() after the loop";
    }
    return in_system ? "has indexed fields and is not written in place; send the change "
                       "(orr_send_change) and name the type in .changes"
                     : "has indexed fields and is not written in place; use orr_set() after "
                       "the loop";
}

orr_result orri_refuse_in_place(const orr_world* world, const char* call, const orri_type* type)
{
    return orri_refuse(orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                       "%s: %s has indexed fields, which are not written in place; use orr_set()",
                       call, type->info.name);
}

orr_result orri_refuse_room(const orr_world* world, const char* call)
{
    uint32_t chunks = orri_chunks_live(world);
    if (chunks >= ORRI_CHUNKS_MAX) {
        return orri_refuse(
            orri_env_of(world), ORR_ERR_CAPACITY, ORR_LOG_ID_CALL_REFUSED,
            "%s: the world has %u chunks, which is the limit; use fewer clusters with "
            "few rows",
            call, chunks);
    }
    char doing[ORRI_ERROR_SIZE / 2];
    snprintf(doing, sizeof doing, "%s made room in a cluster", call);
    return orri_refuse_memory(orri_env_of(world), doing);
}

orr_result orri_check_open(const orr_world* world, const char* call)
{
    if (ORR_LIKELY(orri_world_open(world))) {
        return ORR_OK;
    }
    if (ORR_UNLIKELY(world->realtime) && orri_access_checked(world)) {
        return orri_refuse_structure(world, call, (orr_type){0}, (orr_entity){0});
    }
    // Real time, not inside a system: this thread has the turn, and may change structure.
    bool in_handler = orri_in_error_handler(world);
    bool has_turn = ORR_UNLIKELY(world->realtime) && orri_this_thread.loops == 0 && !in_handler;
    if (world->append.open == NULL && !in_handler && (world->loops.iterating == 0 || has_turn)) {
        // Queries may have cached positions of rows: they drop them, and the call continues.
        if (world->loops.cached != 0) {
            world->listener.structure_change((orr_world*)(uintptr_t)world);
        }
        // Not orri_world_open(): a handler on another thread may begin or end at any moment.
        ORR_ASSERT((world->loops.iterating | world->loops.cached) == 0 || has_turn);
        return orri_travel_notified(world, call);
    }
    if (in_handler) {
        return orri_refuse(
            orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
            "%s: an error handler may read the world but not change it; make the call after "
            "the handler has returned",
            call);
    }
    if (orri_access_checked(world)) {
        return orri_refuse_structure(world, call, (orr_type){0}, (orr_entity){0});
    }
    if (world->context->busy != NULL) {
        return orri_refuse(orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED, "%s: %s",
                           call, world->context->busy);
    }
    if (world->append.open == NULL) {
        return orri_refuse(
            orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
            "%s: not allowed while a query is iterated: its rows would move. Collect the "
            "entities and make the call after the loop; orr_query_add(), orr_query_remove() and "
            "orr_query_destroy_entities() change all entities that match. (A loop left without "
            "orr_iter_end() stays open until the next tick)",
            call);
    }
    return orri_refuse(orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                       "%s: an appender is open on this world; call orr_append_end() first", call);
}
