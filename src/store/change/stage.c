// SPDX-License-Identifier: MIT
// Makes the values of a change set in advance, because constructors and copy hooks may refuse.
// Values of new columns are made in place, in rows that are not visible yet. Values that overwrite
// existing ones are copied outside the world and moved in later. Plain values of rows that move
// need neither: no hook can refuse, so they are copied together with the row.
#include "store/change/change_detail.h"

static const orri_type* stage_type(const orri_change* c, const orri_given* given)
{
    return orri_type_at(&c->world->schema, given->type);
}

// The value of item `i`; NULL: the preset.
static const uint8_t* stage_value(const orri_given* given, const orri_type* type, uint32_t i)
{
    return given->values == NULL ? NULL
           : type->info.size > 0 ? given->values + (size_t)i * type->info.size
                                 : orri_marker_byte;
}

// ---- in rows not visible yet --------------------------------------------------------------------

// Lists values that will be made in a column from row `first` on, for the case that they must be
// destructed; none is made yet.
static orri_made* stage_made_add(orri_change* c, orri_cluster* cluster, uint32_t column,
                                 uint32_t first)
{
    if (!ORRI_CHANGE_ADD(c, c->made, c->made_count, c->made_capacity)) {
        return NULL;
    }
    c->made[c->made_count] = (orri_made){cluster, column, first, 0};
    return &c->made[c->made_count++];
}

// Index of the given type whose values go to a new column of the target; -1: the column gets
// presets.
static int32_t stage_given_of(const orri_change* c, const orri_route* route, uint32_t column)
{
    for (uint32_t k = 0; k < orri_change_group(c, route->group)->given_count; k++) {
        if (c->columns[route->columns + k] == column) {
            return (int32_t)k;
        }
    }
    return -1;
}

// True when all instances of a new column are added by instance changes: the cell stays empty until
// sparse.c adds them.
static bool stage_by_instances(const orri_change* c, const orri_route* route, uint32_t column)
{
    const orri_group* group = orri_change_group(c, route->group);
    orr_type type = route->to->types[column];
    const orri_cluster* base = orri_cluster_at(c->world, group->cluster);
    bool based = route->from == NULL && base != NULL && orri_cluster_find_column(base, type) >= 0 &&
                 !orri_change_replaces_all(c, route->group, type);
    return route->to->columns[column].counts != 0 && !based &&
           orri_change_adds_instance(c, route->group, type);
}

static void stage_empty_cell(orri_cluster* cluster, uint32_t column, uint32_t row)
{
    orri_chunk* chunk = orri_cluster_chunk_of(cluster, row);
    uint32_t work[] = {column, cluster->columns[column].counts,
                       cluster->columns[column].counts + 1u};
    for (uint32_t i = 0; i < ORRI_COUNT(work); i++) {
        uint32_t size = cluster->sizes[work[i]];
        if (size > 0) {
            memset(chunk->columns[work[i]].data + (size_t)(row & ORRI_SLOT_MASK) * size, 0, size);
        }
    }
}

// Makes the values of one new column. Values given for moving rows are left to stage_new(), one by
// one, or, if plain, to execute.c.
static orr_result stage_column(orri_change* c, const orri_route* route, uint32_t column)
{
    const orri_group* group = orri_change_group(c, route->group);
    const orri_type* type = route->to->columns[column].type;
    int32_t k = stage_given_of(c, route, column);
    const void* values = k >= 0 ? stage_value(&group->given[k], type, 0) : NULL;
    if (values != NULL && route->from != NULL) {
        return ORR_OK;
    }
    if (k < 0 && stage_by_instances(c, route, column)) {
        stage_empty_cell(route->to, column, route->base);
        return ORR_OK;
    }
    orri_made* made = type->plain ? NULL : stage_made_add(c, route->to, column, route->base);
    if (made == NULL && !type->plain) {
        return ORR_ERR_MEMORY;
    }
    bool ok = values != NULL
                  ? orri_column_copy(route->to, column, route->base, route->count, values)
                  : orri_column_construct(route->to, column, route->base, route->count);
    if (ok && made != NULL) {
        made->count = route->count;
    }
    return ok ? ORR_OK : orri_refuse_hook(c->world, c->desc->call, type);
}

// Makes the values of all new columns of a route.
static orr_result stage_route(orri_change* c, const orri_route* route)
{
    uint32_t count = route->transition != NULL ? route->transition->new_count
                                               : route->to->type_count;
    orr_result result = ORR_OK;
    for (uint32_t i = 0; result == ORR_OK && i < count; i++) {
        result =
            stage_column(c, route, route->transition != NULL ? route->transition->added[i] : i);
    }
    return result;
}

// ---- one by one ---------------------------------------------------------------------------------

// Makes one value of a new column in the row that the entity will have.
static bool stage_one_new(const orri_walk* walk, const orri_given* given, uint32_t column,
                          orri_made* made)
{
    orri_cluster* to = walk->route->to;
    const orri_type* type = to->columns[column].type;
    if (!orri_cells_make(orri_cluster_chunk_of(to, walk->row), column, walk->row & ORRI_SLOT_MASK,
                         1, stage_value(given, type, walk->at - 1))) {
        return false;
    }
    made->count++;
    return true;
}

// Makes the given values of a type, not plain, for the entities of a group that lack it.
static orr_result stage_new(orri_change* c, uint32_t g, uint32_t k, const orri_type* type)
{
    const orri_group_work* work = &c->work[g];
    const orri_given* given = &orri_change_group(c, g)->given[k];
    uint32_t made_first = c->made_count;
    for (uint32_t r = work->route_first; r < work->route_first + work->route_count; r++) {
        const orri_route* route = &c->routes[r];
        if (stage_made_add(c, route->to, c->columns[route->columns + k], route->base) == NULL) {
            return ORR_ERR_MEMORY;
        }
    }
    orri_walk walk = orri_walk_begin(c, g);
    while (orri_walk_next(&walk)) {
        uint32_t column = c->columns[walk.route->columns + k];
        uint32_t r = (uint32_t)(walk.route - c->routes) - work->route_first;
        if ((column & ORRI_GIVEN_HAS) == 0 &&
            !stage_one_new(&walk, given, column, &c->made[made_first + r])) {
            return orri_refuse_hook(c->world, c->desc->call, type);
        }
    }
    return ORR_OK;
}

// ---- outside of the world -----------------------------------------------------------------------

// True when the current entity of a walk has the given type already.
static bool stage_has(const orri_walk* walk, const orri_pool* pool, uint32_t k)
{
    if (pool != NULL) {
        return orri_pool_slot1(pool, orri_id_index(walk->entity)) != 0;
    }
    uint32_t column = walk->change->columns[walk->route->columns + k];
    return column != ORRI_GIVEN_NONE && (column & ORRI_GIVEN_HAS) != 0;
}

static uint32_t stage_count(orri_change* c, uint32_t g, uint32_t k, const orri_pool* pool)
{
    uint32_t count = 0;
    orri_walk walk = orri_walk_begin(c, g);
    while (orri_walk_next(&walk)) {
        count += stage_has(&walk, pool, k);
    }
    return count;
}

static bool stage_one_copy(orri_copies* copies, const uint8_t* value)
{
    uint8_t* copy = copies->data + (size_t)copies->count * copies->type->info.size;
    bool made = value != NULL ? orri_rows_copy(copies->type, copy, value, 1)
                              : orri_rows_construct(copies->type, copy, 1);
    copies->count += made;
    return made;
}

// Copies the given values of a type, not plain, for the entities of a group that have it already.
static orr_result stage_copies(orri_change* c, uint32_t g, uint32_t k, const orri_type* type)
{
    const orri_pool* pool = orri_pool_find(c->world, (orr_type){type->id});
    const orri_group* group = orri_change_group(c, g);
    if (group->keeps || (orri_type_pinned(type) && (pool == NULL || pool->is_name))) {
        return ORR_OK;
    }
    uint32_t count = stage_count(c, g, k, pool);
    if (count == 0) {
        return ORR_OK;
    }
    if (!ORRI_CHANGE_ADD(c, c->copies, c->copies_count, c->copies_capacity)) {
        return ORR_ERR_MEMORY;
    }
    orri_copies* copies = &c->copies[c->copies_count];
    *copies = (orri_copies){.given = k, .type = type, .capacity = count};
    copies->data = orri_alloc(&c->world->env, ORR_MEMORY_TEMP,
                              orri_size_mul(type->info.size, count), ORRI_BLOCK_ALIGN);
    if (copies->data == NULL) {
        return orri_refuse_memory(&c->world->env, "copying values of a change set");
    }
    c->copies_count++;
    c->work[g].copies_count++;
    orri_walk walk = orri_walk_begin(c, g);
    while (orri_walk_next(&walk)) {
        if (stage_has(&walk, pool, k) &&
            !stage_one_copy(copies, stage_value(&group->given[k], type, walk.at - 1))) {
            return orri_refuse_hook(c->world, c->desc->call, type);
        }
    }
    return ORR_OK;
}

orri_copies* orri_change_copies(orri_change* c, uint32_t g, uint32_t given)
{
    const orri_group_work* work = &c->work[g];
    for (uint32_t i = 0; i < work->copies_count; i++) {
        if (c->copies[work->copies_first + i].given == given) {
            return &c->copies[work->copies_first + i];
        }
    }
    return NULL;
}

// ---- all of it ----------------------------------------------------------------------------------

static orr_result stage_group(orri_change* c, uint32_t g)
{
    const orri_group* group = orri_change_group(c, g);
    orri_group_work* work = &c->work[g];
    orr_result result = ORR_OK;
    work->copies_first = c->copies_count;
    for (uint32_t r = 0; result == ORR_OK && r < work->route_count; r++) {
        const orri_route* route = &c->routes[work->route_first + r];
        if (route->from == NULL || route->transition != NULL) {
            result = stage_route(c, route);
        }
    }
    bool changes = group->kind == ORRI_CHANGE_KIND_CHANGE;
    for (uint32_t k = 0; result == ORR_OK && changes && k < group->given_count; k++) {
        const orri_type* type = stage_type(c, &group->given[k]);
        if (type->plain) {
            continue;
        }
        result = stage_copies(c, g, k, type);
        if (result == ORR_OK && group->given[k].values != NULL && !orri_type_pinned(type)) {
            result = stage_new(c, g, k, type);
        }
    }
    return result;
}

orr_result orri_change_stage(orri_change* c)
{
    orr_result result = ORR_OK;
    for (uint32_t g = 0; result == ORR_OK && g < c->desc->count; g++) {
        if (c->desc->groups[g].kind != ORRI_CHANGE_KIND_DESTROY) {
            result = stage_group(c, g);
        }
    }
    return result;
}

void orri_change_unstage(orri_change* c)
{
    for (uint32_t i = c->made_count; i-- > 0;) {
        const orri_made* made = &c->made[i];
        if (made->count > 0) {
            orri_column_destruct(made->cluster, made->column, made->first, made->count);
        }
    }
    for (uint32_t i = 0; i < c->copies_count; i++) {
        orri_rows_destruct(c->copies[i].type, c->copies[i].data, c->copies[i].count);
        c->copies[i].count = 0;
    }
}

void orri_change_overwrite(orri_change* c, uint32_t g, uint32_t given, orri_chunk* chunk,
                           uint32_t column, uint32_t slot, uint32_t i, uint32_t run)
{
    const orri_type* type = chunk->cluster->columns[column].type;
    const uint8_t* values = stage_value(&orri_change_group(c, g)->given[given], type, i);
    size_t size = type->info.size;
    uint8_t* data = orri_rows_write(c->world, chunk, column, slot, run);
    ORR_ASSERT(data != NULL);
    data += slot * size;
    if (!type->plain) {
        orri_copies* copies = orri_change_copies(c, g, given);
        orri_rows_destruct(type, data, run);
        orri_rows_move(type, data, copies->data + copies->used * size, run);
        copies->used += run;
    } else if (values == NULL) {
        (void)orri_rows_construct(type, data, run); // Plain: no refusal.
    } else if (size > 0) {
        memcpy(data, values, run * size);
        orri_rows_clean(type, data, run);
    }
}
