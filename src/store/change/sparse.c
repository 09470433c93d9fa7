// SPDX-License-Identifier: MIT
// The parts of a change set that are not whole columns of rows: pinned values, instances of
// multiple types, names and enable bits. They are staged like column values, and applied once every
// row is in its target cluster. A new pinned value stays in the slot in which it was made, so
// values are added in the order of making, all of them before any value is removed.
#include "store/change/change_detail.h"
#include "store/relation/entity_name.h"

static const orri_type* sparse_type(const orri_change* c, orr_type type)
{
    return orri_type_at(&c->world->schema, type);
}

// True for a group with entities that are alive after the set.
static bool sparse_applies(const orri_group* group)
{
    return group->kind != ORRI_CHANGE_KIND_DESTROY && group->count > 0;
}

// The type if it is pinned; NULL otherwise.
static const orri_type* sparse_pinned(const orri_change* c, orr_type type)
{
    const orri_type* found = sparse_type(c, type);
    return found != NULL && orri_type_pinned(found) ? found : NULL;
}

// ---- pinned values ------------------------------------------------------------------------------

// Finds or adds the entry of a pool that gets values. NULL when refused (reported).
static orri_pool_fill* sparse_pool_fill(orri_change* c, orri_pool* pool)
{
    for (uint32_t i = 0; i < c->pool_fill_count; i++) {
        if (c->pool_fills[i].pool == pool) {
            return &c->pool_fills[i];
        }
    }
    if (!ORRI_CHANGE_ADD(c, c->pool_fills, c->pool_fill_count, c->pool_fill_capacity)) {
        return NULL;
    }
    c->pool_fills[c->pool_fill_count] = (orri_pool_fill){.pool = pool};
    return &c->pool_fills[c->pool_fill_count++];
}

// The given value of the i-th entity; NULL: the preset.
static const void* sparse_value(const orri_given* given, const orri_pool* pool, uint32_t i)
{
    return given->values == NULL ? NULL
           : pool->size > 0      ? given->values + (size_t)i * pool->size
                                 : orri_marker_byte;
}

// Counts the entities that lack the value and reserves their pages in the pool. Values of the name
// component are skipped.
static orr_result sparse_count_given(orri_change* c, uint32_t g, const orri_type* type)
{
    const orri_group* group = &c->desc->groups[g];
    orri_pool* pool = orri_pool_obtain(c->world, type);
    orri_pool_fill* fill = pool != NULL ? sparse_pool_fill(c, pool) : NULL;
    if (fill == NULL) {
        return orri_env_result(&c->world->env);
    }
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t index = orri_id_index(group->entities[i]);
        if (pool->is_name && group->as_call) {
            bool creates = group->kind == ORRI_CHANGE_KIND_CREATE;
            return orri_refuse_name_write(c->world, c->desc->call,
                                          creates ? (orr_entity){0} : group->entities[i]);
        }
        if (pool->is_name) {
            orri_skip skip = {.why = ORRI_SKIP_NAME_TYPE,
                              .group = g,
                              .entity = group->entities[i],
                              .type = {type->id}};
            if (!orri_change_skip(c, skip)) {
                return ORR_ERR_MEMORY;
            }
        } else if (orri_pool_slot1(pool, index) == 0) {
            fill->count++;
            if (!orri_pool_reserve_page(c->world, pool, index)) {
                return orri_env_result(&c->world->env);
            }
        }
    }
    return ORR_OK;
}

// Makes the values of entities that lack the type, in their slots. Plain values are copied later:
// no hook can refuse them.
static bool sparse_make_given(orri_change* c, const orri_group* group, const orri_given* given)
{
    orri_pool* pool = orri_pool_find(c->world, given->type);
    orri_pool_fill* fill = sparse_pool_fill(c, pool);
    for (uint32_t i = 0; !pool->plain && !pool->is_name && i < group->count; i++) {
        if (orri_pool_slot1(pool, orri_id_index(group->entities[i])) != 0) {
            continue;
        }
        uint32_t slot = orri_pool_cursor_next(pool, &fill->cursor);
        if (!orri_pool_make(pool, slot, sparse_value(given, pool, i))) {
            return false;
        }
        fill->made++;
    }
    return true;
}

// Counts and reserves for all groups, then makes all values.
static orr_result sparse_stage_pinned(orri_change* c)
{
    orr_result result = ORR_OK;
    for (uint32_t g = 0; g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        for (uint32_t k = 0; sparse_applies(group) && k < group->given_count; k++) {
            const orri_type* type = sparse_pinned(c, group->given[k].type);
            result = type != NULL ? sparse_count_given(c, g, type) : ORR_OK;
            if (result != ORR_OK) {
                return result;
            }
        }
    }
    for (uint32_t i = 0; i < c->pool_fill_count; i++) {
        if (!orri_pool_reserve(c->world, c->pool_fills[i].pool, c->pool_fills[i].count)) {
            return orri_env_result(&c->world->env);
        }
        c->pool_fills[i].cursor = orri_pool_cursor_begin(c->pool_fills[i].pool);
    }
    for (uint32_t g = 0; c->pool_fill_count > 0 && g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        for (uint32_t k = 0; sparse_applies(group) && k < group->given_count; k++) {
            const orri_type* type = sparse_pinned(c, group->given[k].type);
            if (type != NULL && !sparse_make_given(c, group, &group->given[k])) {
                return orri_refuse_hook(c->world, c->desc->call, type);
            }
        }
    }
    return ORR_OK;
}

static void sparse_unmake_pinned(orri_change* c)
{
    for (uint32_t i = 0; i < c->pool_fill_count; i++) {
        const orri_pool_fill* fill = &c->pool_fills[i];
        orri_pool_cursor cursor = orri_pool_cursor_begin(fill->pool);
        for (uint32_t made = 0; made < fill->made; made++) {
            orri_pool_unmake(fill->pool, orri_pool_cursor_next(fill->pool, &cursor));
        }
    }
}

// Overwrites the pinned value that the i-th entity has.
static void sparse_set_pinned(orri_change* c, uint32_t g, uint32_t k, orri_pool* pool, uint32_t i)
{
    const orri_group* group = &c->desc->groups[g];
    uint8_t* place = orri_pool_write(c->world, pool, orri_id_index(group->entities[i]));
    const void* value = sparse_value(&group->given[k], pool, i);
    if (pool->size == 0) {
        return;
    }
    if (!pool->plain) {
        orri_copies* copies = orri_change_copies(c, g, k);
        orri_pinned_overwrite(pool->type, place,
                              copies->data + (size_t)copies->used++ * pool->size);
    } else if (value != NULL) {
        memcpy(place, value, pool->size);
        orri_rows_clean(pool->type, place, 1);
    } else {
        orri_value_preset(pool->type, place, pool->size);
    }
}

// Sets or adds the pinned values of one given type.
static void sparse_put_pinned(orri_change* c, uint32_t g, uint32_t k)
{
    const orri_group* group = &c->desc->groups[g];
    orri_pool* pool = orri_pool_find(c->world, group->given[k].type);
    for (uint32_t i = 0; !pool->is_name && i < group->count; i++) {
        uint32_t index = orri_id_index(group->entities[i]);
        if (orri_pool_slot1(pool, index) != 0) {
            if (!group->keeps) {
                sparse_set_pinned(c, g, k, pool, i);
            }
        } else if (pool->plain) {
            orri_pool_enter_plain(c->world, pool, index, sparse_value(&group->given[k], pool, i));
        } else {
            orri_pool_enter(c->world, pool, index);
        }
    }
}

// Sets and adds all pinned values, then removes those of taken types.
static void sparse_execute_pinned(orri_change* c)
{
    for (uint32_t g = 0; c->pool_fill_count > 0 && g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        for (uint32_t k = 0; sparse_applies(group) && k < group->given_count; k++) {
            if (sparse_pinned(c, group->given[k].type) != NULL) {
                sparse_put_pinned(c, g, k);
            }
        }
    }
    for (uint32_t g = 0; c->world->pinned.count > 0 && g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        for (uint32_t k = 0; sparse_applies(group) && k < group->taken_count; k++) {
            orri_pool* pool = orri_pool_find(c->world, group->taken[k]);
            for (uint32_t i = 0; pool != NULL && i < group->count; i++) {
                orri_pool_remove(c->world, pool, orri_id_index(group->entities[i]));
            }
        }
    }
}

// ---- instances ----------------------------------------------------------------------------------

// True when instance change `d` applies and has a value.
static bool sparse_valued(const orri_change* c, const orri_group_work* work,
                          const orri_group* group, uint32_t d)
{
    return c->instance_applies[work->instance_first + d] && !group->instances[d].removed;
}

// Bytes of the staged values of one instance change: one value for each entity.
static uint64_t sparse_instance_bytes(const orri_type* type, const orri_group* group)
{
    uint64_t size = (uint64_t)type->info.size * group->count;
    return (size + ORRI_BLOCK_ALIGN - 1) & ~(uint64_t)(ORRI_BLOCK_ALIGN - 1);
}

static orr_result sparse_alloc_instances(orri_change* c)
{
    for (uint32_t g = 0; g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        for (uint32_t d = 0; sparse_applies(group) && d < group->instance_count; d++) {
            if (sparse_valued(c, &c->work[g], group, d)) {
                c->instance_size +=
                    sparse_instance_bytes(sparse_type(c, group->instances[d].type), group);
            }
        }
    }
    size_t size = c->instance_size < SIZE_MAX ? (size_t)c->instance_size : SIZE_MAX;
    c->instance_memory = orri_alloc(&c->world->env, ORR_MEMORY_TEMP, size, ORRI_BLOCK_ALIGN);
    return c->instance_memory != NULL
               ? ORR_OK
               : orri_refuse_memory(&c->world->env, "copying values of a change set");
}

// Makes the instance values of one group outside the world, and prepares the entity's cell for
// writing in case the row stays.
static orr_result sparse_stage_instances_of(orri_change* c, uint32_t g, uint64_t* used)
{
    const orri_group* group = &c->desc->groups[g];
    const orri_group_work* work = &c->work[g];
    for (uint32_t d = 0; d < group->instance_count; d++) {
        const orri_instance_change* change = &group->instances[d];
        const orri_type* type = sparse_type(c, change->type);
        if (!c->instance_applies[work->instance_first + d]) {
            continue;
        }
        if (group->kind == ORRI_CHANGE_KIND_CHANGE &&
            !orri_instances_prepare(c->world, orri_id_index(group->entities[0]), change->type)) {
            return orri_env_result(&c->world->env);
        }
        if (!change->removed) {
            uint8_t* values = c->instance_memory + *used;
            for (uint32_t i = 0; i < group->count; i++) {
                if (!orri_instance_make(type, values + (size_t)i * type->info.size,
                                        change->value)) {
                    orri_rows_destruct(type, values, i);
                    return orri_refuse_hook(c->world, c->desc->call, type);
                }
            }
            c->instance_values[work->instance_first + d] = values;
            *used += sparse_instance_bytes(type, group);
        }
    }
    return ORR_OK;
}

static orr_result sparse_stage_instances(orri_change* c)
{
    uint64_t used = 0;
    orr_result result = sparse_alloc_instances(c);
    for (uint32_t g = 0; result == ORR_OK && g < c->desc->count; g++) {
        if (sparse_applies(&c->desc->groups[g])) {
            result = sparse_stage_instances_of(c, g, &used);
        }
    }
    return result;
}

static void sparse_unmake_instances(orri_change* c)
{
    bool any = c->instance_count > 0 &&
               c->instance_values != NULL; // NULL: refused in change_set_alloc().
    for (uint32_t g = 0; any && g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        for (uint32_t d = 0; sparse_applies(group) && d < group->instance_count; d++) {
            void* value = c->instance_values[c->work[g].instance_first + d];
            if (value != NULL) {
                orri_rows_destruct(sparse_type(c, group->instances[d].type), value, group->count);
            }
        }
    }
}

// Removes all instances of a type whose instances the group replaces.
static void sparse_remove_all(orri_change* c, uint32_t index, orr_type type)
{
    const orr_component_id* ids;
    while (orri_instances_of(c->world, index, type, &ids) > 0) {
        orri_instance_take(c->world, index, type, ids[0]);
    }
}

void orri_change_remove_instances(orri_change* c)
{
    for (uint32_t g = 0; c->instance_count > 0 && g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        bool changes = group->kind == ORRI_CHANGE_KIND_CHANGE && group->count > 0;
        // Type of the last new instance: its neighbours need no second look.
        orr_type replaced = {0};
        for (uint32_t d = 0; changes && d < group->instance_count; d++) {
            const orri_instance_change* change = &group->instances[d];
            uint32_t index = orri_id_index(group->entities[0]);
            if (!c->instance_applies[c->work[g].instance_first + d]) {
                continue;
            }
            if (change->removed) {
                orri_instance_take(c->world, index, change->type, change->id);
            } else if (change->type.id != replaced.id) {
                replaced = change->type;
                if (orri_change_replaces_all(c, g, change->type)) {
                    sparse_remove_all(c, index, change->type);
                }
            }
        }
    }
}

// Moves the staged instance values of a group into their cells.
static void sparse_put_instances(orri_change* c, uint32_t g)
{
    const orri_group* group = &c->desc->groups[g];
    for (uint32_t d = 0; d < group->instance_count; d++) {
        const orri_instance_change* change = &group->instances[d];
        uint8_t* value = c->instance_values[c->work[g].instance_first + d];
        for (uint32_t i = 0; value != NULL && i < group->count; i++) {
            uint32_t index = orri_id_index(group->entities[i]);
            if (change->id == 0) {
                orri_instance_put(c->world, index, change->type, change->new_id, value);
            } else {
                orri_instance_replace(c->world, index, change->type, change->id, value);
            }
            value += sparse_type(c, change->type)->info.size;
        }
    }
}

// ---- names --------------------------------------------------------------------------------------

static orri_skip sparse_skip_name(const orri_change* c, uint32_t g, orri_name_result why)
{
    return (orri_skip){.why = ORRI_SKIP_NAME,
                       .group = g,
                       .entity = c->desc->groups[g].entities[0],
                       .number = (uint32_t)why};
}

// True when the group assigns a name.
static bool sparse_renames(const orri_group* group)
{
    return sparse_applies(group) && group->renamed && group->name != NULL;
}

// Reserves room in the name table and makes the texts. Names that are not allowed are skipped.
static orr_result sparse_stage_names(orri_change* c)
{
    orr_result result = ORR_OK;
    if (c->text_count > 0) {
        result = orri_names_reserve(c->world, c->text_count);
    }
    for (uint32_t g = 0; result == ORR_OK && c->text_count > 0 && g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        if (!sparse_renames(group)) {
            continue;
        }
        if (!orri_name_allowed(group->name)) {
            result = orri_change_skip(c, sparse_skip_name(c, g, ORRI_NAME_INVALID))
                         ? ORR_OK
                         : ORR_ERR_MEMORY;
        } else if (!orri_name_stage(c->world, orri_id_index(group->entities[0]), group->name,
                                    &c->texts[c->work[g].text])) {
            result = orri_env_result(&c->world->env);
        }
    }
    return result;
}

// Assigns or removes the name of one entity. Whether the name is free is known only now.
static void sparse_rename(orri_change* c, uint32_t g)
{
    const orri_group* group = &c->desc->groups[g];
    if (group->name == NULL) {
        orri_name_drop(c->world, orri_id_index(group->entities[0]));
        return;
    }
    orr_string text = c->texts[c->work[g].text];
    orri_name_result why = text.id != 0
                               ? orri_name_put(c->world, group->entities[0], group->scope, text)
                               : ORRI_NAME_OK; // Not allowed, and recorded as skipped already.
    if (why != ORRI_NAME_OK) {
        (void)orri_change_skip(c, sparse_skip_name(c, g, why)); // There is room.
    }
}

// ---- enable bits --------------------------------------------------------------------------------

static bool sparse_given(const orri_group* group, orr_type type)
{
    for (uint32_t k = 0; k < group->given_count; k++) {
        if (group->given[k].type.id == type.id) {
            return true;
        }
    }
    return false;
}

static bool sparse_taken(const orri_group* group, orr_type type)
{
    for (uint32_t k = 0; k < group->taken_count; k++) {
        if (group->taken[k].id == type.id) {
            return true;
        }
    }
    return false;
}

// True when the instance change at `place` adds an instance of the type.
static bool sparse_instance_added(const orri_change* c, uint32_t g, orr_type type, uint32_t place)
{
    const orri_group* group = &c->desc->groups[g];
    return place < group->instance_count && group->instances[place].id == 0 &&
           group->instances[place].type.id == type.id &&
           c->instance_applies[c->work[g].instance_first + place];
}

// Position in the instance changes of a group, and how many of them from there on add an instance
// of the type.
typedef struct sparse_added {
    orr_type type;
    uint32_t change, back;
} sparse_added;

// The id of the instance that an enable change is for, once all instances exist: the added ones are
// the last of the cell, in order. `last` is the position of the previous query. Queries mostly
// ascend, so that counting continues there.
static orr_component_id sparse_enable_id(const orri_change* c, uint32_t g,
                                         const orri_enable_change* s, sparse_added* last)
{
    const orri_group* group = &c->desc->groups[g];
    const orr_component_id* ids;
    if (s->added1 == 0) {
        return s->id;
    }
    uint32_t change = s->added1 - 1;
    uint32_t count = orri_instances_of(c->world, orri_id_index(group->entities[0]), s->type, &ids);
    if (last->type.id != s->type.id || last->change > change) {
        *last = (sparse_added){s->type, 0, 0};
        for (uint32_t d = 0; d < group->instance_count; d++) {
            last->back += sparse_instance_added(c, g, s->type, d);
        }
    }
    for (; last->change < change; last->change++) {
        last->back -= sparse_instance_added(c, g, s->type, last->change);
    }
    return ids[count - last->back];
}

// True when the entity has the instance and the group does not remove it.
static bool sparse_instance_stays(const orri_change* c, uint32_t g, orr_type type,
                                  orr_component_id id)
{
    const orri_group* group = &c->desc->groups[g];
    const orri_type* found = sparse_type(c, type);
    const orr_component_id* ids;
    if (found->info.multiplicity != ORR_MULTIPLE || group->kind != ORRI_CHANGE_KIND_CHANGE ||
        orri_change_replaces_all(c, g, type)) {
        return false;
    }
    for (uint32_t d = 0; d < group->instance_count; d++) {
        const orri_instance_change* change = &group->instances[d];
        if (c->instance_applies[c->work[g].instance_first + d] && change->removed &&
            change->id == id && change->type.id == type.id) {
            return false;
        }
    }
    uint32_t count = orri_instances_of(c->world, orri_id_index(group->entities[0]), type, &ids),
             i = 0;
    while (i < count && ids[i] != id) {
        i++;
    }
    return i < count;
}

// Reserves enable bits for the pinned value that the entity has, or for all values that the set
// adds to the pool.
static bool sparse_reserve_pool_bits(orri_change* c, orri_pool* pool, uint32_t index)
{
    uint32_t slot1 = orri_pool_slot1(pool, index);
    if (slot1 != 0) {
        return orri_pool_reserve_bits(c->world, pool, slot1 - 1);
    }
    orri_pool_fill* fill = sparse_pool_fill(c, pool);
    orri_pool_cursor cursor = orri_pool_cursor_begin(pool);
    for (uint32_t i = 0; !fill->bits_reserved && i < fill->count; i++) {
        if (!orri_pool_reserve_bits(c->world, pool, orri_pool_cursor_next(pool, &cursor))) {
            return false;
        }
    }
    fill->bits_reserved = true;
    return true;
}

// `*there`: the entity has the pinned value after the set.
static orr_result sparse_stage_pinned_enable(orri_change* c, uint32_t g,
                                             const orri_enable_change* s, bool* there)
{
    const orri_group* group = &c->desc->groups[g];
    orri_pool* pool = orri_pool_find(c->world, s->type);
    uint32_t index = orri_id_index(group->entities[0]);
    bool added = sparse_given(group, s->type) && pool != NULL && !pool->is_name;
    *there = s->id == 0 && pool != NULL && !sparse_taken(group, s->type) &&
             (added || orri_pool_slot1(pool, index) != 0);
    return !*there || s->on || sparse_reserve_pool_bits(c, pool, index)
               ? ORR_OK
               : orri_env_result(&c->world->env);
}

// Makes enable bits for a column of the target cluster, and prepares them for writing.
static orr_result sparse_stage_bits(orri_change* c, uint32_t g, uint32_t column, bool on)
{
    const orri_route* route = &c->routes[c->work[g].route_first];
    if (!on && !route->to->columns[column].has_bits &&
        !orri_cluster_add_bits(c->world, route->to, column)) {
        return orri_refuse_memory(&c->world->env, "making enable bits");
    }
    if (route->to == route->from) {
        orri_chunk* chunk = orri_place_chunk(c->world, c->work[g].places[0]);
        if (!orri_column_prepare(c->world, chunk, chunk->column_count / 2 + column)) {
            return orri_env_result(&c->world->env);
        }
    }
    return ORR_OK;
}

// Reserves what one enable change needs, or skips the change.
static orr_result sparse_stage_enable(orri_change* c, uint32_t g, uint32_t i)
{
    const orri_group* group = &c->desc->groups[g];
    const orri_enable_change* s = &group->enables[i];
    const orri_cluster* to = c->routes[c->work[g].route_first].to;
    const orri_type* type = s->type.id != 0 ? sparse_type(c, s->type) : NULL;
    bool* there = &c->enable_applies[c->work[g].enable_first + i];
    orr_result result = ORR_OK;
    if (s->type.id == 0) {
        *there = true;
        result = sparse_stage_bits(c, g, to->type_count, s->on);
    } else if (type == NULL) {
        result = orri_refuse_type(c->world, c->desc->call, s->type);
    } else if (orri_type_pinned(type)) {
        result = sparse_stage_pinned_enable(c, g, s, there);
    } else {
        int32_t column = orri_cluster_find_column(to, s->type);
        bool named = s->added1 != 0 ? sparse_instance_added(c, g, s->type, s->added1 - 1)
                                    : s->id == 0 || sparse_instance_stays(c, g, s->type, s->id);
        *there = column >= 0 && named;
        result = *there ? sparse_stage_bits(c, g, (uint32_t)column, s->on) : ORR_OK;
    }
    if (result == ORR_OK && !*there) {
        orri_skip skip = {.why = s->id != 0 || s->added1 != 0 ? ORRI_SKIP_INSTANCE
                                                              : ORRI_SKIP_COMPONENT,
                          .group = g,
                          .entity = group->entities[0],
                          .type = s->type,
                          .number = s->id};
        result = orri_change_skip(c, skip) ? ORR_OK : ORR_ERR_MEMORY;
    }
    return result;
}

static orr_result sparse_stage_enables(orri_change* c)
{
    orr_result result = ORR_OK;
    for (uint32_t g = 0; c->enable_count > 0 && g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        for (uint32_t i = 0; sparse_applies(group) && i < group->enable_count; i++) {
            result = sparse_stage_enable(c, g, i);
            if (result != ORR_OK) {
                return result;
            }
        }
    }
    return result;
}

// Sets the enable bits of a group. Everything is reserved, so nothing can be refused.
static void sparse_enable(orri_change* c, uint32_t g)
{
    const orri_group* group = &c->desc->groups[g];
    sparse_added last = {{0}, 0, 0};
    for (uint32_t i = 0; i < group->enable_count; i++) {
        const orri_enable_change* s = &group->enables[i];
        if (!c->enable_applies[c->work[g].enable_first + i]) {
            continue;
        }
        orr_result result = s->type.id == 0
                                ? orr_entity_enable(c->world, group->entities[0], s->on)
                                : orr_instance_enable(c->world, group->entities[0], s->type,
                                                      sparse_enable_id(c, g, s, &last), s->on);
        ORR_ASSERT(result == ORR_OK);
        (void)result;
    }
}

// ---- all of it ----------------------------------------------------------------------------------

orr_result orri_change_stage_sparse(orri_change* c)
{
    orr_result result = sparse_stage_pinned(c);
    if (result == ORR_OK && c->instance_count > 0) {
        result = sparse_stage_instances(c);
    }
    if (result == ORR_OK) {
        result = sparse_stage_names(c);
    }
    if (result == ORR_OK) {
        result = sparse_stage_enables(c);
    }
    // Whether a name is free is known only when it is assigned: reserve room to record that it is
    // skipped.
    if (result == ORR_OK && c->text_count > 0 && c->skip_count + c->text_count > c->skip_capacity &&
        !orri_change_grow(c, (void**)&c->skips, &c->skip_capacity, c->skip_count + c->text_count,
                          sizeof *c->skips)) {
        result = ORR_ERR_MEMORY;
    }
    return result;
}

void orri_change_unstage_sparse(orri_change* c)
{
    sparse_unmake_pinned(c);
    sparse_unmake_instances(c);
}

// Order of renamings: by rank, then by group.
static bool sparse_name_before(const orri_change* c, uint32_t a, uint32_t b)
{
    uint64_t rank_a = c->desc->groups[a].name_rank, rank_b = c->desc->groups[b].name_rank;
    return rank_a != rank_b ? rank_a < rank_b : a < b;
}

// Sift-down of a heap sort with the last renaming on top: sorts in place, because memory could be
// refused.
static void sparse_name_sink(const orri_change* c, uint32_t at, uint32_t count)
{
    uint32_t* names = c->names;
    for (uint32_t child = 2 * at + 1; child < count; at = child, child = 2 * at + 1) {
        child += child + 1 < count && sparse_name_before(c, names[child], names[child + 1]);
        if (!sparse_name_before(c, names[at], names[child])) {
            return;
        }
        uint32_t name = names[at];
        names[at] = names[child];
        names[child] = name;
    }
}

// Applies all renamings in order.
static void sparse_rename_all(orri_change* c)
{
    uint32_t count = 0;
    for (uint32_t g = 0; c->name_count > 0 && g < c->desc->count; g++) {
        if (sparse_applies(&c->desc->groups[g]) && c->desc->groups[g].renamed) {
            c->names[count++] = g;
        }
    }
    for (uint32_t i = count / 2; i-- > 0;) {
        sparse_name_sink(c, i, count);
    }
    for (uint32_t last = count; last > 1; last--) {
        uint32_t name = c->names[0];
        c->names[0] = c->names[last - 1];
        c->names[last - 1] = name;
        sparse_name_sink(c, 0, last - 1);
    }
    for (uint32_t i = 0; i < count; i++) {
        sparse_rename(c, c->names[i]);
    }
}

void orri_change_execute_sparse(orri_change* c)
{
    for (uint32_t g = 0; c->instance_count > 0 && g < c->desc->count; g++) {
        if (sparse_applies(&c->desc->groups[g])) {
            sparse_put_instances(c, g);
        }
    }
    sparse_execute_pinned(c);
    sparse_rename_all(c);
    for (uint32_t g = 0; c->enable_count > 0 && g < c->desc->count; g++) {
        if (sparse_applies(&c->desc->groups[g])) {
            sparse_enable(c, g);
        }
    }
}
