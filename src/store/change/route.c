// SPDX-License-Identifier: MIT
// Finds the routes of a change set. One pass over the entities of a group finds their places. A
// second pass goes over them chunk by chunk: all rows of one cluster have the same route. Then room
// for incoming rows is made, once per target cluster.
#include "store/change/change_detail.h"
#include "store/world/commit_scope.h"

#define ROUTE_AHEAD 16 // Distance, in entities, at which records are prefetched.
#define ROUTE_FEW   8u // In lists up to this length, entities are compared pair by pair.

// ---- walking ------------------------------------------------------------------------------------

orri_walk orri_walk_begin(orri_change* c, uint32_t g)
{
    const orri_group_work* work = &c->work[g];
    for (uint32_t r = work->route_first; r < work->route_first + work->route_count; r++) {
        c->routes[r].used = 0;
        if (c->routes[r].from != NULL) {
            c->routes[r].from->batch_route = r + 1;
        }
    }
    return (orri_walk){.change = c,
                       .group = orri_change_group(c, g),
                       .work = work,
                       .route = c->routes + work->route_first};
}

bool orri_walk_next(orri_walk* walk)
{
    const orri_change* c = walk->change;
    if (walk->at == walk->group->count) {
        return false;
    }
    walk->entity = orri_change_entity(c, walk->group, walk->at);
    walk->at++;
    if (walk->work->route_count == 0) { // Only pinned values: see route_needless().
        return true;
    }
    if (walk->work->places != NULL) {
        walk->place = walk->work->places[walk->at - 1];
        const orri_cluster* from = orri_place_chunk(c->world, walk->place)->cluster;
        walk->route = c->routes + (from->batch_route - 1);
    }
    walk->row = walk->route->base + walk->route->used++;
    return true;
}

// ---- finding routes -----------------------------------------------------------------------------

// Lists a cluster whose scratch fields are used from now on. In real time the cluster joins the
// commit scope. False when refused.
static bool route_list(orri_change* c, orri_cluster* cluster)
{
    if (cluster->batch_listed) {
        return true;
    }
    if (!orri_commit_scope_touch(c->world, cluster) ||
        !ORRI_CHANGE_ADD(c, c->clusters, c->cluster_count, c->cluster_capacity)) {
        return false;
    }
    c->clusters[c->cluster_count++] = cluster;
    cluster->batch_listed = true;
    return true;
}

// Adds the route of the rows of a group that come from `from` (NULL: that are created).
static orr_result route_add(orri_change* c, uint32_t g, orri_cluster* from, orr_entity entity)
{
    orri_route route = {.group = g, .from = from};
    if (!ORRI_CHANGE_ADD(c, c->routes, c->route_count, c->route_capacity) ||
        (from != NULL && !route_list(c, from))) {
        return ORR_ERR_MEMORY;
    }
    if (orri_change_group(c, g)->kind != ORRI_CHANGE_KIND_DESTROY) {
        orr_result result = orri_change_target(c, g, entity, &route);
        if (result != ORR_OK) {
            return result;
        }
        if (!route_list(c, route.to)) {
            return ORR_ERR_MEMORY;
        }
    }
    c->routes[c->route_count++] = route;
    c->work[g].route_count++;
    c->work[g].moves = c->work[g].moves || route.to != from;
    if (from != NULL) {
        from->batch_route = c->route_count;
    }
    return ORR_OK;
}

// Prepares shared blocks (copy-on-write) for writing: all columns of a row that leaves, otherwise
// the columns of the given values. Only the rows in question are prepared, so that a snapshot logs
// single rows instead of copying blocks (row_log.h).
static bool route_prepare_chunk(orri_change* c, const orri_route* route, orri_chunk* chunk,
                                const uint32_t* places, uint32_t count)
{
    if (ORR_LIKELY(chunk->share_count == 0)) {
        return true;
    }
    for (uint32_t i = 0; route->to != route->from && i < count; i++) {
        if (!orri_chunk_prepare_rows(c->world, chunk, orri_place_slot(places[i]), 1)) {
            return false;
        }
    }
    uint32_t given = route->to == route->from ? orri_change_group(c, route->group)->given_count : 0;
    for (uint32_t k = 0; k < given; k++) {
        uint32_t column = c->columns[route->columns + k];
        for (uint32_t i = 0; column != ORRI_GIVEN_NONE && i < count; i++) {
            if (!orri_rows_prepare(c->world, chunk, column & ~ORRI_GIVEN_HAS,
                                   orri_place_slot(places[i]), 1)) {
                return false;
            }
        }
    }
    return true;
}

// Finds or adds the route of some rows of a chunk, and prepares them. NULL when refused.
static orri_route* route_of(orri_change* c, uint32_t g, orri_chunk* chunk, orr_entity entity,
                            const uint32_t* places, uint32_t count, orr_result* result)
{
    orri_cluster* from = chunk->cluster;
    uint32_t at = from->batch_route;
    *result = at != 0 && c->routes[at - 1].group == g ? ORR_OK : route_add(c, g, from, entity);
    if (*result != ORR_OK) {
        return NULL;
    }
    orri_route* route = &c->routes[from->batch_route - 1];
    if (!route_prepare_chunk(c, route, chunk, places, count)) {
        *result = orri_env_result(&c->world->env);
        return NULL;
    }
    return route;
}

// Records the skipped changes of one entity, and prepares its record if the row moves.
ORRI_COLD static orr_result route_prepare_entity(orri_change* c, const orri_route* route,
                                                 orr_entity entity)
{
    for (uint32_t i = 0; i < route->skip_count; i++) {
        orri_skip skip = c->route_skips[route->skip_first + i];
        skip.group = route->group;
        skip.entity = entity;
        if (!orri_change_skip(c, skip)) {
            return ORR_ERR_MEMORY;
        }
    }
    return route->to == route->from || orri_index_prepare(c->world, orri_id_index(entity))
               ? ORR_OK
               : orri_refuse_memory(&c->world->env, "copying a shared page of the entity index");
}

// Refuses an entity that is dead or, if it is alive, listed twice.
ORRI_COLD static orr_result route_refuse_entity(orri_change* c, const orri_group* group,
                                                orr_entity entity)
{
    if (orri_record_find(c->world, entity) == NULL) {
        orr_type type = !group->as_call          ? (orr_type){0}
                        : group->given_count > 0 ? group->given[0].type
                        : group->taken_count > 0 ? group->taken[0]
                                                 : (orr_type){0};
        return orri_refuse_entity(c->world, c->desc->call, entity, type);
    }
    orri_id_text name = orri_entity_format(c->world, entity);
    return orri_refuse(&c->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_ENTITY_REFUSED,
                       "%s: entity %s is listed twice; list it once", c->desc->call, name.text);
}

// True when the i-th entity of a short list stands before in it. Short lists are compared, because
// a mark would have a snapshot log the record of an entity whose row stays.
static bool route_repeats(const orri_group* group, uint32_t i)
{
    bool repeats = false;
    for (uint32_t k = 0; k < i; k++) {
        repeats = repeats || group->entities[k].id == group->entities[i].id;
    }
    return repeats;
}

// Looks up the places of all entities of a group. In the long list of a call each record is marked
// as dead meanwhile: then an entity that is listed twice is not found the second time.
static orr_result route_find_places(orri_change* c, const orri_group* group, uint32_t* places)
{
    orr_world* world = c->world;
    const orr_entity* entities = group->entities;
    uint32_t count = group->count, i = 0;
    bool few = group->as_call && count <= ROUTE_FEW, marks = group->as_call && !few;
    bool prepares = marks && world->index.share_count > 0, prepared = true;
    bool rare = few || prepares;
    for (; i < count; i++) {
        if (i + ROUTE_AHEAD < count) {
            uint32_t ahead = orri_id_index(entities[i + ROUTE_AHEAD]);
            if (ahead < world->hot.count) {
                __builtin_prefetch(orri_record_at(world, ahead), 1);
            }
        }
        orri_record* record = orri_record_find(world, entities[i]);
        if (ORR_UNLIKELY(record == NULL)) {
            break;
        }
        if (ORR_UNLIKELY(rare)) {
            prepared = !prepares || orri_index_prepare(world, orri_id_index(entities[i]));
            if (!prepared || (few && route_repeats(group, i))) {
                break;
            }
            record = orri_record_at(world, orri_id_index(entities[i]));
        }
        places[i] = record->place;
        if (marks) {
            record->generation |= ORRI_DEAD;
        }
    }
    for (uint32_t k = 0; marks && k < i; k++) {
        orri_record_at(world, orri_id_index(entities[k]))->generation &= ~ORRI_DEAD;
    }
    return i == count ? ORR_OK
           : !prepared
               ? orri_refuse_memory(&world->env, "copying a shared page of the entity index")
               : route_refuse_entity(c, group, entities[i]);
}

// Finds the routes of a group of live entities, run by run of entities in the same chunk.
static orr_result route_collect(orri_change* c, uint32_t g)
{
    orr_world* world = c->world;
    const orri_group* group = orri_change_group(c, g);
    const uint32_t* places = c->work[g].places;
    const orri_cluster* cluster = NULL; // Of `route`.
    orri_route* route = NULL;
    bool prepares = false;
    orr_result result = ORR_OK;
    for (uint32_t i = 0, end; i < group->count; i = end) {
        uint32_t chunk = places[i] >> ORRI_SLOT_BITS;
        for (end = i + 1; end < group->count && places[end] >> ORRI_SLOT_BITS == chunk;) {
            end++;
        }
        orri_chunk* from = world->chunks.list[chunk];
        if (ORR_UNLIKELY(from->cluster != cluster || from->share_count != 0)) {
            route =
                route_of(c, g, from, orri_change_entity(c, group, i), places + i, end - i, &result);
            if (route == NULL) {
                return result;
            }
            cluster = from->cluster;
            prepares = world->index.share_count > 0 || route->skip_count > 0;
        }
        route->count += end - i;
        for (uint32_t k = i; ORR_UNLIKELY(prepares) && result == ORR_OK && k < end; k++) {
            result = route_prepare_entity(c, route, orri_change_entity(c, group, k));
        }
        if (result != ORR_OK) {
            return result;
        }
    }
    return ORR_OK;
}

// True for a call that gives or takes a pinned type: whatever their clusters, all rows stay.
static bool route_needless(const orri_change* c, const orri_group* group)
{
    const orri_given* given = group->given_count > 0 ? group->given : NULL;
    return group->as_call && group->cluster.id == 0 && group->kind == ORRI_CHANGE_KIND_CHANGE &&
           orri_type_pinned(
               orri_type_at(&c->world->schema, given != NULL ? given->type : group->taken[0]));
}

// Counts the rows that leave and enter each cluster, and assigns the first target row of each
// route.
static orr_result route_count(orri_change* c, uint32_t g)
{
    const orri_group_work* work = &c->work[g];
    for (uint32_t r = work->route_first; r < work->route_first + work->route_count; r++) {
        orri_route* route = &c->routes[r];
        if (route->from == route->to) {
            continue;
        }
        if (route->from != NULL) {
            route->from->batch_count += route->count;
        }
        if (route->to != NULL) {
            uint64_t end = (uint64_t)route->to->row_count + route->to->batch_incoming;
            if (end + route->count > UINT32_MAX) {
                return orri_refuse_room(c->world, c->desc->call);
            }
            route->base = (uint32_t)end;
            route->to->batch_incoming += route->count;
        }
    }
    return ORR_OK;
}

orr_result orri_change_route(orri_change* c, uint32_t g, uint32_t* places)
{
    const orri_group* group = orri_change_group(c, g);
    c->work[g].route_first = c->route_count;
    if (group->count == 0) {
        return ORR_OK;
    }
    orr_result result;
    if (group->kind == ORRI_CHANGE_KIND_CREATE) {
        result = route_add(c, g, NULL, group->entities[0]);
        if (result == ORR_OK) {
            orri_route* route = &c->routes[c->route_count - 1];
            route->count = group->count;
            for (uint32_t i = 0; result == ORR_OK && route->skip_count > 0 && i < group->count;
                 i++) {
                orri_route noted = *route;
                noted.from = noted.to; // No record exists yet that must be prepared.
                result = route_prepare_entity(c, &noted, group->entities[i]);
            }
        }
    } else {
        result = places != NULL ? route_find_places(c, group, places) : ORR_OK;
        if (result == ORR_OK && !route_needless(c, group)) {
            result = route_collect(c, g);
        }
    }
    return result == ORR_OK ? route_count(c, g) : result;
}

// ---- making room --------------------------------------------------------------------------------

// Prepares the rows at the end of a cluster that may fill gaps: their blocks and records, if they
// are shared.
static bool route_prepare_tail(orr_world* world, const orri_cluster* cluster)
{
    uint64_t end = (uint64_t)cluster->row_count + cluster->batch_incoming - cluster->batch_count;
    for (uint64_t row = end; world->cow.live > 0 && row < cluster->row_count; row++) {
        orri_chunk* chunk = orri_cluster_chunk_of(cluster, (uint32_t)row);
        uint32_t slot = (uint32_t)row & ORRI_SLOT_MASK;
        if (!orri_chunk_prepare_rows(world, chunk, slot, 1) ||
            !orri_index_prepare(world, orri_chunk_ids(chunk)[slot])) {
            return false;
        }
    }
    return true;
}

static bool route_prepare_tails(orri_change* c)
{
    for (uint32_t i = 0; i < c->cluster_count; i++) {
        if (!route_prepare_tail(c->world, c->clusters[i])) {
            return false;
        }
    }
    return true;
}

// Makes room for the incoming rows of a cluster, and prepares these rows.
static bool route_reserve_cluster(orr_world* world, orri_cluster* to)
{
    if (to->batch_incoming == 0) {
        return true;
    }
    if (!orri_cluster_reserve(world, to, to->batch_incoming)) {
        return false;
    }
    uint32_t end = to->row_count + to->batch_incoming;
    for (uint32_t row = to->row_count, stop; row < end; row = stop) {
        orri_chunk* chunk = orri_cluster_chunk_of(to, row);
        stop = (row | ORRI_SLOT_MASK) + 1;
        stop = stop < end ? stop : end;
        if (!orri_chunk_prepare_rows(world, chunk, row & ORRI_SLOT_MASK, stop - row)) {
            return false;
        }
        orri_rows_open(chunk, row & ORRI_SLOT_MASK, stop - row);
    }
    return true;
}

orr_result orri_change_reserve(orri_change* c)
{
    for (uint32_t i = 0; i < c->cluster_count; i++) {
        if (!route_reserve_cluster(c->world, c->clusters[i])) {
            return orri_refuse_room(c->world, c->desc->call);
        }
    }
    for (uint32_t r = 0; r < c->route_count; r++) {
        if (c->routes[r].transition != NULL &&
            !orri_transition_prepare_bits(c->world, c->routes[r].transition)) {
            return orri_refuse_memory(&c->world->env, "making enable bits");
        }
    }
    return route_prepare_tails(c) ? ORR_OK
                                  : orri_refuse_memory(&c->world->env, "preparing rows to move");
}

orr_result orri_change_route_cascaded(orri_change* c)
{
    orr_result result = orri_change_route(c, c->desc->count, c->cascaded_places);
    if (result == ORR_OK && !route_prepare_tails(c)) {
        result = orri_refuse_memory(&c->world->env, "preparing rows to move");
    }
    return result;
}

#undef ROUTE_AHEAD
#undef ROUTE_FEW
