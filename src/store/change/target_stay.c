// SPDX-License-Identifier: MIT
// An entity of a change set whose target cluster cannot be created, because the world has
// clusters_max clusters. The entity stays in its cluster, and every change that needs another
// cluster is skipped.
#include "store/change/target.h"

// Skips added and removed types. False when refused (reported), here and below.
static bool target_stay_types(orri_target* t)
{
    const orri_group* group = t->group;
    orri_schema* schema = &t->change->world->schema;
    bool ok = true;
    for (uint32_t k = 0; ok && k < group->given_count; k++) {
        orr_type type = group->given[k].type;
        const orri_type* found = orri_type_at(schema, type);
        bool has = orri_target_base_has(t, type);
        if (has && !t->creates && found->info.multiplicity == ORR_MULTIPLE) {
            ok = orri_target_skip(t, ORRI_SKIP_MULTIPLE, type, type, 0);
        } else if (!has && !orri_type_pinned(found)) {
            ok = orri_target_skip(t, ORRI_SKIP_CLUSTERS_MAX, type, type, 0);
        }
    }
    for (uint32_t k = 0; ok && k < group->taken_count; k++) {
        orr_type type = group->taken[k];
        ok = !orri_target_base_has(t, type) ||
             orri_target_skip(t, ORRI_SKIP_CLUSTERS_MAX, type, type, 0);
    }
    return ok;
}

// Skips added and removed instances. New values of existing instances still apply.
static bool target_stay_instances(orri_target* t)
{
    const orri_group* group = t->group;
    bool ok = true;
    for (uint32_t d = 0; ok && d < group->instance_count; d++) {
        const orri_instance_change* change = &group->instances[d];
        const orr_component_id* ids = NULL;
        bool has = !t->creates && orri_target_base_has(t, change->type);
        uint32_t count =
            has ? orri_instances_of(t->change->world, orri_id_index(t->entity), change->type, &ids)
                : 0;
        for (uint32_t i = 0; change->id != 0 && !change->removed && i < count; i++) {
            t->instance_applies[d] = t->instance_applies[d] || ids[i] == change->id;
        }
        ok = t->instance_applies[d] ||
             orri_target_skip(t, ORRI_SKIP_CLUSTERS_MAX, change->type, change->type, change->id);
    }
    return ok;
}

// True when the entity has the tag.
static bool target_stay_tagged(const orri_target* t, orr_tag tag)
{
    for (uint32_t i = 0; t->base != NULL && i < t->base->tag_count; i++) {
        if (t->base->tags[i] == tag) {
            return true;
        }
    }
    return false;
}

// Skips added and removed tags.
static bool target_stay_tags(orri_target* t)
{
    const orri_group* group = t->group;
    orr_type none = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < group->tag_on_count; i++) {
        ok = target_stay_tagged(t, group->tags_on[i]) ||
             orri_target_skip(t, ORRI_SKIP_CLUSTERS_MAX, none, none, 0);
    }
    for (uint32_t i = 0; ok && i < group->tag_off_count; i++) {
        ok = !target_stay_tagged(t, group->tags_off[i]) ||
             orri_target_skip(t, ORRI_SKIP_CLUSTERS_MAX, none, none, 0);
    }
    return ok;
}

orr_result orri_target_stay(orri_target* t)
{
    orri_change* c = t->change;
    bool created = false;
    orri_target_begin(t);
    if (!target_stay_types(t) || !target_stay_instances(t) || !target_stay_tags(t) ||
        !ORRI_CHANGE_ADD(c, c->created, c->created_count, c->created_capacity)) {
        return ORR_ERR_MEMORY;
    }
    t->route->to = t->base != NULL ? (orri_cluster*)(uintptr_t)t->base
                                   : orri_cluster_fallback(c->world, c->desc->call, &created);
    if (t->route->to == NULL) {
        return orri_env_result(&c->world->env);
    }
    if (created) {
        c->created[c->created_count++] = t->route->to;
    }
    return ORR_OK;
}
