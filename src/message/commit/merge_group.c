// SPDX-License-Identifier: MIT
// Makes groups of a change set from net changes. Neighbouring entities with the same net change
// share a group.
#include "message/commit/merge_entity.h"

// Limit of entities in a shared group, so that the values gathered for them stay in the cache.
#define MERGE_GROUP_MOST 4096

// ---- the group of one entity --------------------------------------------------------------------

// Adds a type to the given or the taken types of the group.
static bool merge_group_type(orri_merge* merge, const orri_net_change_part* part, orri_group* group)
{
    struct orri_net_change* change = merge->change;
    if (part->present && part->given) {
        if (!ORRI_NET_CHANGE_RESERVE(merge, &change->given, &change->given_capacity,
                                     group->given_count + 1)) {
            return false;
        }
        change->given[group->given_count++] = (orri_given){part->type, part->value};
    } else if (!part->present && part->had) {
        if (!ORRI_NET_CHANGE_RESERVE(merge, &change->taken, &change->taken_capacity,
                                     group->taken_count + 1)) {
            return false;
        }
        change->taken[group->taken_count++] = part->type;
    }
    // Removed and added again, a component is enabled, as if it were new.
    if (part->info->info.multiplicity == ORR_UNIQUE && part->had && part->removed &&
        part->present && !orr_component_enabled(merge->world, change->entity, part->type)) {
        for (uint32_t i = 0; i < change->enabled_count; i++) {
            if (change->enabled[i].type.id == part->type.id) {
                return true;
            }
        }
        return orri_net_change_enable(merge, part->type, true);
    }
    return true;
}

static bool merge_group_instance_change(orri_merge* merge, orri_group* group,
                                        orri_instance_change instance)
{
    struct orri_net_change* change = merge->change;
    if (!ORRI_NET_CHANGE_RESERVE(merge, &change->instance_changes,
                                 &change->instance_change_capacity, group->instance_count + 1)) {
        return false;
    }
    change->instance_changes[group->instance_count++] = instance;
    return true;
}

// All existing instances were removed and others were added: the existing ones are removed one by
// one.
static bool merge_group_cleared(orri_merge* merge, const orri_net_change_part* part,
                                orri_group* group)
{
    const orr_component_id* ids;
    uint32_t count = part->had && part->present && part->cleared &&
                             part->info->info.multiplicity == ORR_MULTIPLE
                         ? orri_net_change_instances(merge, part->type, &ids)
                         : 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!merge_group_instance_change(
                merge, group,
                (orri_instance_change){.type = part->type, .id = ids[i], .removed = true})) {
            return false;
        }
    }
    return true;
}

// Adds the change of one instance, if there is one.
static bool merge_group_instance(orri_merge* merge, orri_net_change_instance* instance,
                                 orri_group* group)
{
    bool fresh = instance->fresh;
    const orri_net_change_part* part = &merge->change->parts[instance->part];
    bool nothing = fresh ? instance->removed : !instance->removed && instance->value == NULL;
    if (nothing || (!fresh && (part->cleared || !part->present))) {
        return true;
    }
    instance->change_index = group->instance_count;
    return merge_group_instance_change(
        merge, group,
        (orri_instance_change){.type = instance->type,
                               .id = fresh ? 0 : instance->id,
                               .removed = instance->removed,
                               .value = instance->removed ? NULL : instance->value,
                               .new_id = fresh ? instance->id : 0});
}

static bool merge_group_enable(orri_merge* merge, orri_enable_change enable, orri_group* group)
{
    struct orri_net_change* change = merge->change;
    if (!ORRI_NET_CHANGE_RESERVE(merge, &change->enable_changes, &change->enable_change_capacity,
                                 group->enable_count + 1)) {
        return false;
    }
    change->enable_changes[group->enable_count++] = enable;
    return true;
}

// Components and the entity first, then instances. Each is named once, so that the order has no
// effect.
static bool merge_group_enabled(orri_merge* merge, orri_group* group)
{
    const struct orri_net_change* change = merge->change;
    bool ok = true;
    for (uint32_t i = 0; ok && i < change->enabled_count; i++) {
        const orri_net_change_enabled* s = &change->enabled[i];
        ok = merge_group_enable(merge, (orri_enable_change){.type = s->type, .on = s->on}, group);
    }
    for (uint32_t i = 0; ok && i < change->instance_count; i++) {
        const orri_net_change_instance* instance = &change->instances[i];
        if (instance->enable_set && !instance->removed) {
            orri_enable_change enable = {.type = instance->type, .on = instance->on};
            enable.id = instance->fresh ? 0 : instance->id;
            enable.added1 = instance->fresh ? instance->change_index + 1 : 0;
            ok = merge_group_enable(merge, enable, group);
        }
    }
    return ok;
}

// Of a tag that was sent several times, the first entry gets the state of the last. Sorted by tag
// and order: comparing every pair would be quadratic for a sender of thousands.
static bool merge_group_merge_tags(orri_merge* merge)
{
    struct orri_net_change* change = merge->change;
    uint32_t count = change->tag_count;
    orri_ranked* ranked = count > 1 ? orri_merge_take(merge, 2 * (size_t)count * sizeof *ranked)
                                    : NULL;
    if (count <= 1 || ranked == NULL) {
        return count <= 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        ranked[i] = (orri_ranked){change->tags[i].tag, i, 0};
    }
    orri_ranked_sort(ranked, count, ranked + count);
    for (uint32_t i = 0, first = 0; i < count; i++) {
        orri_net_change_tag* tag = &change->tags[ranked[i].index];
        tag->again = i > 0 && tag->tag == change->tags[ranked[first].index].tag;
        first = tag->again ? first : i;
        change->tags[ranked[first].index].on = tag->on;
    }
    return true;
}

static bool merge_group_tag(orri_merge* merge, orri_net_change_tag tag, orri_group* group)
{
    struct orri_net_change* change = merge->change;
    if (tag.again) {
        return true;
    }
    if (tag.on) {
        if (!ORRI_NET_CHANGE_RESERVE(merge, &change->tags_on, &change->tag_on_capacity,
                                     group->tag_on_count + 1)) {
            return false;
        }
        change->tags_on[group->tag_on_count++] = tag.tag;
        return true;
    }
    if (change->created) {
        return true; // A new entity never had the tag.
    }
    if (!ORRI_NET_CHANGE_RESERVE(merge, &change->tags_off, &change->tag_off_capacity,
                                 group->tag_off_count + 1)) {
        return false;
    }
    change->tags_off[group->tag_off_count++] = tag.tag;
    return true;
}

// Fills the arrays of the work space with the parts of the group.
static bool merge_group_fill(orri_merge* merge, orri_group* group)
{
    struct orri_net_change* change = merge->change;
    bool ok = true;
    for (uint32_t i = 0; ok && i < change->part_count; i++) {
        ok = merge_group_type(merge, &change->parts[i], group) &&
             merge_group_cleared(merge, &change->parts[i], group);
    }
    for (uint32_t i = 0; ok && i < change->instance_count; i++) {
        ok = merge_group_instance(merge, &change->instances[i], group);
    }
    ok = ok && merge_group_enabled(merge, group) && merge_group_merge_tags(merge);
    for (uint32_t i = 0; ok && i < change->tag_count; i++) {
        ok = merge_group_tag(merge, change->tags[i], group);
    }
    group->renamed = change->renamed;
    group->name_rank = change->name_rank;
    if (change->renamed && change->name.text1 != 0) {
        group->scope = change->name.scope;
        group->name = change->name_commands->texts + (change->name.text1 - 1);
    }
    group->given = change->given;
    group->taken = change->taken;
    group->tags_on = change->tags_on;
    group->tags_off = change->tags_off;
    group->instances = change->instance_changes;
    group->enables = change->enable_changes;
    return ok;
}

// ---- sharing groups -----------------------------------------------------------------------------

static const void* merge_group_keep(orri_merge* merge, const void* data, size_t size, bool* ok)
{
    if (size == 0) {
        return NULL;
    }
    void* kept = orri_merge_take(merge, size);
    *ok = *ok && kept != NULL;
    return kept != NULL ? memcpy(kept, data, size) : NULL;
}

// Copies the arrays of a group out of the work space, which is reused for the next entity.
static bool merge_group_keep_all(orri_merge* merge, orri_group* g)
{
    bool ok = true;
    g->given = merge_group_keep(merge, g->given, g->given_count * sizeof *g->given, &ok);
    g->taken = merge_group_keep(merge, g->taken, g->taken_count * sizeof *g->taken, &ok);
    g->tags_on = merge_group_keep(merge, g->tags_on, g->tag_on_count * sizeof *g->tags_on, &ok);
    g->tags_off = merge_group_keep(merge, g->tags_off, g->tag_off_count * sizeof *g->tags_off, &ok);
    g->instances =
        merge_group_keep(merge, g->instances, g->instance_count * sizeof *g->instances, &ok);
    g->enables = merge_group_keep(merge, g->enables, g->enable_count * sizeof *g->enables, &ok);
    return ok;
}

// True when the group can be shared. Values that are not plain must be copied from where they are,
// so that their group has one entity.
static bool merge_group_shares(const orri_merge* merge, const orri_group* g)
{
    bool shares = g->instance_count == 0 && g->enable_count == 0 && !g->renamed;
    for (uint32_t i = 0; shares && i < g->given_count; i++) {
        shares = g->given[i].values == NULL ||
                 orri_type_at(&merge->world->schema, g->given[i].type)->plain;
    }
    return shares;
}

// True when two groups do the same, except for the values.
static bool merge_group_same_shape(const orri_group* a, const orri_group* b)
{
    bool same = a->kind == b->kind && a->given_count == b->given_count &&
                a->taken_count == b->taken_count && a->tag_on_count == b->tag_on_count &&
                a->tag_off_count == b->tag_off_count;
    for (uint32_t i = 0; same && i < a->given_count; i++) {
        same = a->given[i].type.id == b->given[i].type.id &&
               (a->given[i].values == NULL) == (b->given[i].values == NULL);
    }
    for (uint32_t i = 0; same && i < a->taken_count; i++) {
        same = a->taken[i].id == b->taken[i].id;
    }
    for (uint32_t i = 0; same && i < a->tag_on_count; i++) {
        same = a->tags_on[i] == b->tags_on[i];
    }
    for (uint32_t i = 0; same && i < a->tag_off_count; i++) {
        same = a->tags_off[i] == b->tags_off[i];
    }
    return same;
}

// Copies the values of one type of all entities of the open group into one array.
static bool merge_group_gather(orri_merge* merge, uint32_t which, orri_given* given)
{
    const struct orri_net_change* change = merge->change;
    uint32_t size = orri_type_at(&merge->world->schema, given->type)->info.size;
    uint8_t* values = orri_merge_take(merge, (size_t)change->open.count * size);
    if (values == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < change->open.count; i++) {
        const uint8_t* value = change->values[(size_t)i * change->open.given_count + which];
        orri_value_move(values + (size_t)i * size, value, size);
    }
    given->values = values;
    return true;
}

bool orri_net_change_groups(orri_merge* merge)
{
    struct orri_net_change* change = merge->change;
    if (change == NULL || change->open.count == 0) {
        return true;
    }
    orri_group group = change->open;
    bool ok = true;
    group.entities =
        merge_group_keep(merge, change->entities, group.count * sizeof *change->entities, &ok);
    for (uint32_t i = 0; ok && group.count > 1 && i < group.given_count; i++) {
        orri_given* given = (orri_given*)(uintptr_t)&group.given[i];
        ok = given->values == NULL || merge_group_gather(merge, i, given);
    }
    change->open.count = change->value_count = 0;
    return ok && orri_merge_group(merge, &group, change->open_sender);
}

// Appends the entity to the open group.
static bool merge_group_join(orri_merge* merge, const orri_group* group)
{
    struct orri_net_change* change = merge->change;
    if (!ORRI_NET_CHANGE_RESERVE(merge, &change->entities, &change->entity_capacity,
                                 change->open.count + 1) ||
        !ORRI_NET_CHANGE_RESERVE(merge, &change->values, &change->value_capacity,
                                 change->value_count + group->given_count)) {
        return false;
    }
    change->entities[change->open.count++] = change->entity;
    for (uint32_t i = 0; i < group->given_count; i++) {
        change->values[change->value_count++] = group->given[i].values;
    }
    change->open_sender = change->commands->rights;
    return true;
}

// Joins the open group, or closes it and opens another.
static bool merge_group_emit(orri_merge* merge, orri_group* group)
{
    struct orri_net_change* change = merge->change;
    bool shares = merge_group_shares(merge, group);
    if (!(shares && change->open.count > 0 && change->open.count < MERGE_GROUP_MOST &&
          merge_group_same_shape(&change->open, group))) {
        if (!orri_net_change_groups(merge)) {
            return false;
        }
        // The description of the open group must survive the work space.
        change->open = *group;
        if (!merge_group_keep_all(merge, &change->open)) {
            return false;
        }
    }
    return merge_group_join(merge, group) && (shares || orri_net_change_groups(merge));
}

// ---- the end of an entity -----------------------------------------------------------------------

// True when the net change does nothing.
static bool merge_group_empty(const orri_group* g)
{
    return g->given_count + g->taken_count + g->tag_on_count + g->tag_off_count +
                   g->instance_count + g->enable_count ==
               0 &&
           !g->renamed;
}

bool orri_net_change_finish(orri_merge* merge)
{
    struct orri_net_change* change = merge->change;
    orri_group group = {.kind = change->created ? ORRI_CHANGE_KIND_CREATE
                                                : ORRI_CHANGE_KIND_CHANGE};
    if (change->destroyed && change->created) {
        // Its id was given to the sender, so that it must never come back: the entity is created
        // empty and destroyed.
        if (!ORRI_NET_CHANGE_RESERVE(merge, &merge->short_lived, &merge->short_lived_capacity,
                                     merge->short_lived_count + 1)) {
            return false;
        }
        merge->short_lived[merge->short_lived_count++] = change->entity;
    } else if (change->destroyed) {
        group.kind = ORRI_CHANGE_KIND_DESTROY;
    } else if (!merge_group_fill(merge, &group)) {
        return false;
    } else if (!change->created && merge_group_empty(&group)) {
        return true;
    }
    return merge_group_emit(merge, &group);
}

#undef MERGE_GROUP_MOST
