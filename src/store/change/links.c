// SPDX-License-Identifier: MIT
// Indexed references (links) and cascades of a change set. Links are kept by entity index, not by
// row, so they are entered before any row moves. Then they describe the world after the set, and a
// cascade finds exactly the entities that must die. To undo them, the links are set again from the
// values in the rows.
#include "store/change/change_detail.h"

typedef enum links_step {
    LINKS_PREPARE, // Allocates pages for the links; can be refused.
    LINKS_ENTER,   // Sets the links of the new values. Cannot fail.
    LINKS_UNDO,    // Sets the links of the old values. Cannot fail.
} links_step;

// One step for one value: `value` replaces `old`; either may be NULL.
static bool links_one(orr_world* world, links_step step, orri_relation* relation, uint32_t index,
                      const void* value, const void* old)
{
    if (step == LINKS_PREPARE) {
        return value == NULL || orri_relation_prepare(world, relation, index, value);
    }
    orri_relation_set(world, relation, index, step == LINKS_ENTER ? value : old);
    return true;
}

// The staged value in a row of the target cluster.
static const void* links_value(const orri_cluster* cluster, uint32_t column, uint32_t row)
{
    return orri_cells_at(orri_cluster_chunk_of(cluster, row), column, row & ORRI_SLOT_MASK).data;
}

// The current value of the entity, in a column of its source cluster.
static const void* links_old(const orri_walk* walk, uint32_t column)
{
    const orri_chunk* chunk = orri_place_chunk(walk->change->world, walk->place);
    return orri_cells_at(chunk, column, orri_place_slot(walk->place)).data;
}

// Links of the columns that a row gets or loses.
static bool links_row(const orri_walk* walk, links_step step)
{
    const orri_route* route = walk->route;
    const orri_transition* transition = route->transition;
    orr_world* world = walk->change->world;
    uint32_t index = orri_id_index(walk->entity);
    uint32_t added = transition != NULL    ? transition->new_count
                     : route->from == NULL ? route->to->type_count
                                           : 0;
    bool ok = true;
    for (uint32_t i = 0; ok && i < added; i++) {
        uint32_t c = transition != NULL ? transition->added[i] : i;
        orri_relation* relation = route->to->columns[c].table->relation;
        if (relation != NULL) {
            ok =
                links_one(world, step, relation, index, links_value(route->to, c, walk->row), NULL);
        }
    }
    for (uint32_t i = 0; ok && transition != NULL && i < transition->dropped_count; i++) {
        uint32_t c = transition->dropped[i];
        orri_relation* relation = route->from->columns[c].table->relation;
        if (relation != NULL) {
            ok = links_one(world, step, relation, index, NULL, links_old(walk, c));
        }
    }
    return ok;
}

// Links of a given value that overwrites one of the entity.
static bool links_given(const orri_walk* walk, links_step step, uint32_t k, orri_copies* copies)
{
    const orri_route* route = walk->route;
    uint32_t column = walk->change->columns[route->columns + k];
    if (column == ORRI_GIVEN_NONE || (column & ORRI_GIVEN_HAS) == 0) {
        return true;
    }
    const orri_type* type = copies->type;
    orri_relation* relation = orri_table_relation(walk->change->world, type);
    int32_t from = orri_cluster_find_column(route->from, (orr_type){type->id});
    const void* value = copies->data + (size_t)copies->used++ * type->info.size;
    return links_one(walk->change->world, step, relation, orri_id_index(walk->entity), value,
                     links_old(walk, (uint32_t)from));
}

static bool links_group_given(orri_change* c, uint32_t g, links_step step)
{
    const orri_group* group = &c->desc->groups[g];
    bool ok = true;
    for (uint32_t k = 0; k < group->given_count; k++) {
        const orri_type* type = orri_type_at(&c->world->schema, group->given[k].type);
        orri_copies* copies = type->indexed_count > 0 ? orri_change_copies(c, g, k) : NULL;
        if (copies == NULL) {
            continue;
        }
        copies->used = 0;
        orri_walk walk = orri_walk_begin(c, g);
        while (ok && orri_walk_next(&walk)) {
            ok = links_given(&walk, step, k, copies);
        }
        copies->used = 0;
    }
    return ok;
}

// True when a route adds or removes columns with indexed references.
static bool links_route(const orri_route* route)
{
    return route->transition != NULL ? route->transition->indexed
                                     : route->from == NULL && route->to->indexed;
}

static bool links_group(orri_change* c, uint32_t g, links_step step)
{
    const orri_group_work* work = &c->work[g];
    bool any = false, ok = true;
    for (uint32_t r = work->route_first; r < work->route_first + work->route_count; r++) {
        any = any || links_route(&c->routes[r]);
    }
    orri_walk walk = orri_walk_begin(c, g);
    while (any && ok && orri_walk_next(&walk)) {
        ok = links_row(&walk, step);
    }
    return ok && (work->copies_count == 0 || links_group_given(c, g, step));
}

static bool links_all(orri_change* c, links_step step)
{
    bool ok = true;
    for (uint32_t g = 0; ok && g < c->desc->count; g++) {
        ok = c->desc->groups[g].kind == ORRI_CHANGE_KIND_DESTROY || links_group(c, g, step);
    }
    return ok;
}

// ---- entities that the set creates --------------------------------------------------------------

// Notes the ids that the set creates, so that references to them count as references to live
// entities.
static bool links_reserve_created(orri_change* c)
{
    uint32_t end = 0;
    for (uint32_t g = 0; g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        for (uint32_t i = 0; group->kind == ORRI_CHANGE_KIND_CREATE && i < group->count; i++) {
            uint32_t index = orri_id_index(group->entities[i]);
            end = index >= end ? index + 1 : end;
        }
    }
    if (end > c->world->limits.entities) {
        return true; // Not a predicted id: refused by change_set_promote().
    }
    c->reserved.bits = ORRI_ALLOC_ZERO(&c->world->env, ORR_MEMORY_TEMP, uint64_t, end / 64 + 1);
    if (c->reserved.bits == NULL) {
        return false;
    }
    c->reserved.end = end;
    for (uint32_t g = 0; g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        for (uint32_t i = 0; group->kind == ORRI_CHANGE_KIND_CREATE && i < group->count; i++) {
            orri_bit_set(c->reserved.bits, orri_id_index(group->entities[i]), true);
        }
    }
    return true;
}

// ---- cascades -----------------------------------------------------------------------------------

// Notes an entity that the set creates or changes and that a cascade destroys.
static bool links_add_destroyed_last(orri_change* c, const orri_walk* walk)
{
    orr_world* world = c->world;
    if (!ORRI_CHANGE_ADD(c, c->destroyed_last, c->destroyed_last_count,
                         c->destroyed_last_capacity)) {
        return false;
    }
    c->destroyed_last[c->destroyed_last_count++] = walk->entity;
    orri_cascade_unmark(world, orri_id_index(walk->entity));
    // The entity first moves to its new row and is then removed from it. Any row of the target
    // cluster may have to fill that gap.
    const orri_cluster* cluster = walk->route->to;
    bool ok = world->cow.live == 0 || orri_index_prepare_all(world);
    for (uint32_t i = 0; ok && world->cow.live > 0 && i < cluster->chunk_count; i++) {
        ok = orri_chunk_prepare(world, cluster->chunks[i]);
    }
    return ok;
}

// Splits the entities that the cascade found, all of them marked, in two: those that the set
// creates or changes, and the others, which become the group `cascaded`.
static bool links_split(orri_change* c)
{
    bool ok = true;
    for (uint32_t g = 0; g < c->desc->count; g++) {
        orri_walk walk = orri_walk_begin(c, g);
        while (ok && c->desc->groups[g].kind != ORRI_CHANGE_KIND_DESTROY && orri_walk_next(&walk)) {
            if (orri_cascade_marked(c->world, orri_id_index(walk.entity))) {
                ok = links_add_destroyed_last(c, &walk);
            }
        }
    }
    uint32_t count = c->cascade.count - c->cascade.given_count;
    orr_entity* cascaded = ORRI_ALLOC(&c->world->env, ORR_MEMORY_TEMP, orr_entity, count);
    c->cascaded_places = ORRI_ALLOC(&c->world->env, ORR_MEMORY_TEMP, uint32_t, count);
    c->cascaded = (orri_group){.kind = ORRI_CHANGE_KIND_DESTROY, .entities = cascaded};
    c->work[c->desc->count].places = c->cascaded_places;
    for (uint32_t i = c->cascade.given_count; ok && cascaded != NULL && i < c->cascade.count; i++) {
        if (orri_cascade_marked(c->world, orri_id_index(c->cascade.list[i]))) {
            cascaded[c->cascaded.count++] = c->cascade.list[i];
        }
    }
    return ok && cascaded != NULL && c->cascaded_places != NULL;
}

// Starts the cascade with the destroyed entities of the set.
static bool links_spread(orri_change* c)
{
    for (uint32_t g = 0; g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        for (uint32_t i = 0; group->kind == ORRI_CHANGE_KIND_DESTROY && i < group->count; i++) {
            if (!orri_cascade_add(&c->cascade, orri_id_index(group->entities[i]))) {
                return false;
            }
        }
    }
    c->cascade.given_count = c->cascade.count;
    return c->cascade.count == 0 || orri_cascade_spread(&c->cascade);
}

// Finds all entities that die by cascades and prepares their destruction.
static orr_result links_cascade(orri_change* c)
{
    bool ok = links_spread(c);
    if (ok && c->cascade.count > c->cascade.given_count) {
        ok = links_split(c);
    }
    for (uint32_t i = 0; i < c->cascade.count; i++) {
        orri_cascade_unmark(c->world, orri_id_index(c->cascade.list[i]));
    }
    if (!ok) {
        return orri_refuse_memory(&c->world->env,
                                  "collecting the entities that a cascade destroys");
    }
    if (!orri_cascade_prepare(&c->cascade)) {
        return orri_env_result(&c->world->env);
    }
    return c->cascaded.count > 0 ? orri_change_route_cascaded(c) : ORR_OK;
}

// ---- all of it ----------------------------------------------------------------------------------

orr_result orri_change_link(orri_change* c)
{
    orr_world* world = c->world;
    if (world->relations.count == 0 || c->desc->before != NULL) {
        return ORR_OK;
    }
    if (c->create_count > 0 && !links_reserve_created(c)) {
        return orri_refuse_memory(&world->env, "indexing entity references");
    }
    world->change.reserved_ids = &c->reserved;
    bool ok = links_all(c, LINKS_PREPARE);
    if (ok) {
        (void)links_all(c, LINKS_ENTER);
        c->linked = true;
    }
    world->change.reserved_ids = NULL;
    return ok ? links_cascade(c) : orri_refuse_memory(&world->env, "indexing entity references");
}

void orri_change_unlink(orri_change* c)
{
    if (c->linked) {
        (void)links_all(c, LINKS_UNDO);
    }
}
