// SPDX-License-Identifier: MIT
// An entity of a change set for which there is no cluster, because the world has as many as it may have: it stays where it is.
#include "store/change/target.h"

static bool target_stay_types(orri_target* m)
{
    const orri_group* group = m->group;
    orri_schema* schema = &m->change->world->schema;
    bool ok = true;
    for (uint32_t k = 0; ok && k < group->given_count; k++) {
        orr_type type = group->given[k].type;
        const orri_type* found = orri_type_at(schema, type);
        bool has = orri_target_base_has(m, type);
        if (has && !m->creates && found->info.multiplicity == ORR_MULTIPLE) {
            ok = orri_target_leave(m, ORRI_SKIPPED_MULTIPLE, type, type, 0);
        } else if (!has && !orri_type_pinned(found)) {
            ok = orri_target_leave(m, ORRI_SKIPPED_CLUSTERS_MAX, type, type, 0);
        }
    }
    for (uint32_t k = 0; ok && k < group->taken_count; k++) {
        orr_type type = group->taken[k];
        ok = !orri_target_base_has(m, type) ||
             orri_target_leave(m, ORRI_SKIPPED_CLUSTERS_MAX, type, type, 0);
    }
    return ok;
}

static bool target_stay_deeds(orri_target* m)
{
    const orri_group* group = m->group;
    bool ok = true;
    for (uint32_t d = 0; ok && d < group->instance_count; d++) {
        const orri_instance_change* deed = &group->instances[d];
        const orr_component_id* ids = NULL;
        bool has = !m->creates && orri_target_base_has(m, deed->type);
        uint32_t count =
            has ? orri_instances_of(m->change->world, orri_id_index(m->entity), deed->type, &ids)
                : 0;
        for (uint32_t i = 0; deed->id != 0 && !deed->removed && i < count; i++) {
            m->deeds[d] = m->deeds[d] || ids[i] == deed->id;
        }
        ok = m->deeds[d] ||
             orri_target_leave(m, ORRI_SKIPPED_CLUSTERS_MAX, deed->type, deed->type, deed->id);
    }
    return ok;
}

static bool target_stay_tagged(const orri_target* m, orr_tag tag)
{
    for (uint32_t i = 0; m->base != NULL && i < m->base->tag_count; i++) {
        if (m->base->tags[i] == tag) {
            return true;
        }
    }
    return false;
}

static bool target_stay_tags(orri_target* m)
{
    const orri_group* group = m->group;
    orr_type none = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < group->tag_on_count; i++) {
        ok = target_stay_tagged(m, group->tags_on[i]) ||
             orri_target_leave(m, ORRI_SKIPPED_CLUSTERS_MAX, none, none, 0);
    }
    for (uint32_t i = 0; ok && i < group->tag_off_count; i++) {
        ok = !target_stay_tagged(m, group->tags_off[i]) ||
             orri_target_leave(m, ORRI_SKIPPED_CLUSTERS_MAX, none, none, 0);
    }
    return ok;
}

orr_result orri_target_stay(orri_target* m)
{
    orri_change* c = m->change;
    bool created = false;
    orri_target_begin(m);
    if (!target_stay_types(m) || !target_stay_deeds(m) || !target_stay_tags(m) ||
        !ORRI_CHANGE_ADD(c, c->created, c->created_count, c->created_capacity)) {
        return ORR_ERR_MEMORY;
    }
    m->route->to = m->base != NULL ? (orri_cluster*)(uintptr_t)m->base
                                   : orri_cluster_fallback(c->world, c->desc->call, &created);
    if (m->route->to == NULL) {
        return orri_env_result(&c->world->env);
    }
    if (created) {
        c->created[c->created_count++] = m->route->to;
    }
    return ORR_OK;
}
