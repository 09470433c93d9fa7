// SPDX-License-Identifier: MIT
// Calls for many entities at once: destroy, add, remove, move. Each of them is a change set with one
// group (change/change_set.h), so rows move in runs and gaps close once, and a snapshot logs the
// rows in question only.
#include "store/change/change_set.h"
#include "store/pool/pool.h"
#include "store/world/access.h"

static orr_result batch_apply(orr_world* world, const char* call, const orri_group* group)
{
    return orri_change_set_apply(
        world, &(orri_change_set_desc){.call = call, .groups = group, .count = 1});
}

// Checks the arguments that all batches have.
static orr_result batch_check(const orr_world* world, const char* call, orr_type type,
                              const orr_entity* entities, uint32_t count)
{
    static const orr_entity no_entity = {0};
    orr_result result = orri_check_open_of(world, call, type,
                                           entities != NULL && count > 0 ? entities[0] : no_entity);
    if (result == ORR_OK && entities == NULL && count > 0) {
        result = orri_refuse_argument(world, call, "entities is NULL");
    }
    return result;
}

// The same, and checks that the type is pinned or of a kind that clusters store.
static orr_result batch_check_type(orr_world* world, const char* call, orr_type type,
                                   const orr_entity* entities, uint32_t count)
{
    orr_result result = batch_check(world, call, type, entities, count);
    const orri_type* found = orri_type_at(&world->schema, type);
    return result != ORR_OK || (found != NULL && orri_type_pinned(found))
               ? result
               : orri_check_storable(world, call, type);
}

orr_result orri_destroy_list(orr_world* world, const char* call, const orr_entity* entities,
                             uint32_t count, void (*before)(void* user), void* user)
{
    orri_group group = {
        .kind = ORRI_CHANGE_KIND_DESTROY, .entities = entities, .count = count, .as_call = true};
    return orri_change_set_apply(
        world, &(orri_change_set_desc){
                   .call = call, .groups = &group, .count = 1, .before = before, .user = user});
}

orr_result orr_destroy_many(orr_world* world, const orr_entity* entities, uint32_t count)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_destroy_many";
    orr_result result = batch_check(world, call, (orr_type){0}, entities, count);
    return result != ORR_OK || count == 0
               ? result
               : orri_destroy_list(world, call, entities, count, NULL, NULL);
}

orr_result orr_component_add_many(orr_world* world, const orr_entity* entities, uint32_t count,
                                  orr_type type, const void* values)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_component_add_many";
    orr_result result = batch_check_type(world, call, type, entities, count);
    if (result == ORR_OK && values != NULL && count > 0) {
        result = orri_check_references(world, call, orri_type_at(&world->schema, type), entities,
                                       values, count);
    }
    if (result != ORR_OK || count == 0) {
        return result;
    }
    orri_given given = {type, values};
    return batch_apply(world, call,
                       &(orri_group){.kind = ORRI_CHANGE_KIND_CHANGE,
                                     .entities = entities,
                                     .count = count,
                                     .as_call = true,
                                     .given = &given,
                                     .given_count = 1,
                                     .keeps = values == NULL});
}

orr_result orr_component_remove_many(orr_world* world, const orr_entity* entities, uint32_t count,
                                     orr_type type)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_component_remove_many";
    orr_result result = batch_check_type(world, call, type, entities, count);
    return result != ORR_OK || count == 0
               ? result
               : batch_apply(world, call,
                             &(orri_group){.kind = ORRI_CHANGE_KIND_CHANGE,
                                           .entities = entities,
                                           .count = count,
                                           .as_call = true,
                                           .taken = &type,
                                           .taken_count = 1});
}

orr_result orri_rows_move_range(orr_world* world, const char* call,
                                const orri_transition* transition, uint32_t first, uint32_t count)
{
    uint32_t* places = ORRI_ALLOC(&world->env, ORR_MEMORY_TEMP, uint32_t, count);
    orr_result result = places != NULL ? ORR_OK
                                       : orri_refuse_memory(&world->env, "starting a batch");
    for (uint32_t i = 0; result == ORR_OK && i < count; i++) {
        uint32_t row = first + i;
        places[i] =
            orri_place_make(orri_cluster_chunk_of(transition->from, row), row & ORRI_SLOT_MASK);
    }
    if (result == ORR_OK) {
        result = batch_apply(world, call,
                             &(orri_group){.kind = ORRI_CHANGE_KIND_CHANGE,
                                           .count = count,
                                           .places = places,
                                           .cluster = orri_cluster_handle(transition->to)});
    }
    ORRI_FREE(&world->env, ORR_MEMORY_TEMP, uint32_t, places, count);
    return result;
}
