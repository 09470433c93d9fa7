// SPDX-License-Identifier: MIT
// Gives an entity a decoded state from inside a system: the differences that codec finds are
// sent as messages, if the system declared all of them.
#include "history/entity_history.h"

// The first type that the system has not declared; null: none.
static orr_type state_undeclared(const orri_entity_apply* c, const orri_rights* rights)
{
    const orr_world* world = c->decoded->world;
    uint32_t counts[] = {c->given_count, c->taken_count, c->instance_count, c->enable_count};
    for (uint32_t list = 0; list < ORRI_COUNT(counts); list++) {
        for (uint32_t i = 0; i < counts[list]; i++) {
            orr_type type = list == 0   ? c->given[i].type
                            : list == 1 ? c->taken[i]
                            : list == 2 ? c->instances[i].type
                                        : c->enables[i].type;
            if (type.id != 0 &&
                !orri_right(rights->changes, rights, orri_type_index(world, type))) {
                return type;
            }
        }
    }
    return (orr_type){0};
}

static orr_result state_send_types(const orri_entity_apply* c, orr_run* run)
{
    orr_result result = ORR_OK;
    for (uint32_t i = 0; result == ORR_OK && i < c->given_count; i++) {
        const uint8_t* now;
        const orr_component_id* ids;
        orr_type type = c->given[i].type;
        const orri_type* known = orri_type_at(&c->decoded->world->schema, type);
        bool has = orri_decoded_current(c->decoded->world, c->entity, known, &now, &ids) > 0;
        result = has ? orr_send_change_type(run, c->entity, type, 0, c->given[i].values)
                     : orr_send_add_type(run, c->entity, type, c->given[i].values, NULL);
    }
    for (uint32_t i = 0; result == ORR_OK && i < c->taken_count; i++) {
        result = orr_send_remove_type(run, c->entity, c->taken[i], 0);
    }
    return result;
}

// True if the instance that instances[index] adds is enabled or disabled, so that its id is needed.
static bool state_send_names(const orri_entity_apply* c, uint32_t index)
{
    bool names = false;
    for (uint32_t i = 0; i < c->enable_count && !names; i++) {
        names = c->enables[i].added1 == index + 1;
    }
    return names;
}

// `ids` receives the ids of instances that are added and named later.
static orr_result state_send_instances(const orri_entity_apply* c, orr_run* run,
                                       orr_component_id* ids)
{
    orr_result result = ORR_OK;
    for (uint32_t i = 0; result == ORR_OK && i < c->instance_count; i++) {
        const orri_instance_change* change = &c->instances[i];
        result = change->removed ? orr_send_remove_type(run, c->entity, change->type, change->id)
                 : change->id != 0
                     ? orr_send_change_type(run, c->entity, change->type, change->id, change->value)
                     : orr_send_add_type(run, c->entity, change->type, change->value,
                                         state_send_names(c, i) ? &ids[i] : NULL);
    }
    return result;
}

static orr_result state_send_rest(const orri_entity_apply* c, orr_run* run,
                                  const orr_component_id* ids)
{
    orr_result result = ORR_OK;
    for (uint32_t i = 0; result == ORR_OK && i < c->tag_on_count; i++) {
        result = orr_send_tag(run, c->entity, c->tags_on[i], true);
    }
    for (uint32_t i = 0; result == ORR_OK && i < c->tag_off_count; i++) {
        result = orr_send_tag(run, c->entity, c->tags_off[i], false);
    }
    for (uint32_t i = 0; result == ORR_OK && i < c->enable_count; i++) {
        orri_enable_change change = c->enables[i];
        orr_component_id id = change.added1 != 0 ? ids[change.added1 - 1] : change.id;
        result = orr_send_enable_type(run, c->entity, change.type, id, change.on);
    }
    return result;
}

static orr_result state_send(const orri_entity_apply* c, orr_run* run)
{
    orri_env* env = &c->decoded->world->env;
    orr_component_id* ids = ORRI_ALLOC(env, ORR_MEMORY_TEMP, orr_component_id, c->instance_count);
    if (ids == NULL) {
        return orri_refuse_memory(env, "changing an entity");
    }
    orr_result result = state_send_types(c, run);
    if (result == ORR_OK) {
        result = state_send_instances(c, run, ids);
    }
    if (result == ORR_OK) {
        result = state_send_rest(c, run, ids);
    }
    ORRI_FREE(env, ORR_MEMORY_TEMP, orr_component_id, ids, c->instance_count);
    return result;
}

orr_result orri_decoded_send(const orri_decoded* decoded, orr_run* run, orr_entity entity,
                             orr_type* undeclared)
{
    orri_entity_apply changes;
    orr_result result = orri_entity_apply_find(&changes, decoded, entity) ? ORR_OK : ORR_ERR_MEMORY;
    *undeclared = (orr_type){0};
    if (result == ORR_OK) {
        *undeclared = state_undeclared(&changes, orri_command_buffer_rights(run->commands));
        result = undeclared->id == 0 ? state_send(&changes, run) : ORR_ERR_TYPE;
    }
    orri_entity_apply_free(&changes);
    return result;
}
