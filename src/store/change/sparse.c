// SPDX-License-Identifier: MIT
// What of a change set is not a matter of rows: pinned values, instances of multiple types, names, enable bits. Staged as all
// else; then, once every row is where it belongs, given. Pinned values get the slots in which they were made, so they come
// in the order of making, all before any goes.
#include "store/change/change_detail.h"
#include "store/relation/entity_name.h"

static const orri_type* sparse_type(const orri_change* c, orr_type type)
{
    return orri_type_at(&c->world->schema, type);
}

// The groups that have extras at all.
static bool sparse_changes(const orri_group* group)
{
    return group->deed != ORRI_CHANGE_KIND_DESTROY && group->count > 0;
}

static const orri_type* sparse_pinned(const orri_change* c, orr_type type)
{
    const orri_type* found = sparse_type(c, type);
    return found != NULL && orri_type_pinned(found) ? found : NULL;
}

// ---- pinned values -------------------------------------------------------------------------------------------

static orri_filling* sparse_filling(orri_change* c, orri_pool* pool)
{
    for (uint32_t i = 0; i < c->filling_count; i++) {
        if (c->fillings[i].pool == pool) {
            return &c->fillings[i];
        }
    }
    if (!ORRI_CHANGE_ADD(c, c->fillings, c->filling_count, c->filling_capacity)) {
        return NULL;
    }
    c->fillings[c->filling_count] = (orri_filling){.pool = pool};
    return &c->fillings[c->filling_count++];
}

static const void* sparse_value(const orri_given* given, const orri_pool* pool, uint32_t i)
{
    return given->values == NULL ? NULL
           : pool->size > 0      ? given->values + (size_t)i * pool->size
                                 : orri_marker_byte;
}

// Counts who lacks the value, and makes their pages. Names are not given this way.
static orr_result sparse_count_given(orri_change* c, uint32_t g, const orri_type* type)
{
    const orri_group* group = &c->desc->groups[g];
    orri_pool* pool = orri_pool_obtain(c->world, type);
    orri_filling* filling = pool != NULL ? sparse_filling(c, pool) : NULL;
    if (filling == NULL) {
        return orri_env_result(&c->world->env);
    }
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t index = orri_id_index(group->entities[i]);
        if (pool->is_name) {
            orri_skipped left = {.why = ORRI_SKIPPED_NAME_TYPE,
                                 .group = g,
                                 .entity = group->entities[i],
                                 .type = {type->id}};
            if (!orri_change_leave(c, left)) {
                return ORR_ERR_MEMORY;
            }
        } else if (orri_pool_slot1(pool, index) == 0) {
            filling->count++;
            if (!orri_pool_reserve_page(c->world, pool, index)) {
                return orri_env_result(&c->world->env);
            }
        }
    }
    return ORR_OK;
}

static bool sparse_make_given(orri_change* c, const orri_group* group, const orri_given* given)
{
    orri_pool* pool = orri_pool_find(c->world, given->type);
    orri_filling* filling = sparse_filling(c, pool);
    for (uint32_t i = 0; !pool->plain && !pool->is_name && i < group->count; i++) {
        if (orri_pool_slot1(pool, orri_id_index(group->entities[i])) != 0) {
            continue;
        }
        uint32_t slot = orri_pool_cursor_next(pool, &filling->cursor);
        if (!orri_pool_make(pool, slot, sparse_value(given, pool, i))) {
            return false;
        }
        filling->made++;
    }
    return true;
}

static orr_result sparse_stage_pinned(orri_change* c)
{
    orr_result result = ORR_OK;
    for (uint32_t g = 0; g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        for (uint32_t k = 0; sparse_changes(group) && k < group->given_count; k++) {
            const orri_type* type = sparse_pinned(c, group->given[k].type);
            result = type != NULL ? sparse_count_given(c, g, type) : ORR_OK;
            if (result != ORR_OK) {
                return result;
            }
        }
    }
    for (uint32_t i = 0; i < c->filling_count; i++) {
        if (!orri_pool_reserve(c->world, c->fillings[i].pool, c->fillings[i].count)) {
            return orri_env_result(&c->world->env);
        }
        c->fillings[i].cursor = orri_pool_cursor_begin(c->fillings[i].pool);
    }
    for (uint32_t g = 0; c->filling_count > 0 && g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        for (uint32_t k = 0; sparse_changes(group) && k < group->given_count; k++) {
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
    for (uint32_t i = 0; i < c->filling_count; i++) {
        const orri_filling* filling = &c->fillings[i];
        orri_pool_cursor cursor = orri_pool_cursor_begin(filling->pool);
        for (uint32_t made = 0; made < filling->made; made++) {
            orri_pool_unmake(filling->pool, orri_pool_cursor_next(filling->pool, &cursor));
        }
    }
}

// Sets a value that is there.
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

static void sparse_give_pinned(orri_change* c, uint32_t g, uint32_t k)
{
    const orri_group* group = &c->desc->groups[g];
    orri_pool* pool = orri_pool_find(c->world, group->given[k].type);
    for (uint32_t i = 0; !pool->is_name && i < group->count; i++) {
        uint32_t index = orri_id_index(group->entities[i]);
        if (orri_pool_slot1(pool, index) != 0) {
            sparse_set_pinned(c, g, k, pool, i);
        } else if (pool->plain) {
            orri_pool_enter_plain(c->world, pool, index, sparse_value(&group->given[k], pool, i));
        } else {
            orri_pool_enter(c->world, pool, index);
        }
    }
}

static void sparse_make_all_pinned(orri_change* c)
{
    for (uint32_t g = 0; c->filling_count > 0 && g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        for (uint32_t k = 0; sparse_changes(group) && k < group->given_count; k++) {
            if (sparse_pinned(c, group->given[k].type) != NULL) {
                sparse_give_pinned(c, g, k);
            }
        }
    }
    for (uint32_t g = 0; c->world->pinned.count > 0 && g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        for (uint32_t k = 0; sparse_changes(group) && k < group->taken_count; k++) {
            orri_pool* pool = orri_pool_find(c->world, group->taken[k]);
            for (uint32_t i = 0; pool != NULL && i < group->count; i++) {
                orri_pool_remove(c->world, pool, orri_id_index(group->entities[i]));
            }
        }
    }
}

// ---- instances -----------------------------------------------------------------------------------------------

static bool sparse_valued(const orri_change* c, const orri_part* part, const orri_group* group,
                          uint32_t d)
{
    return c->deeds[part->deed_first + d] && !group->instances[d].removed;
}

static size_t sparse_instance_bytes(const orri_type* type)
{
    return ((size_t)type->info.size + ORRI_BLOCK_ALIGN - 1) & ~(size_t)(ORRI_BLOCK_ALIGN - 1);
}

static orr_result sparse_alloc_instances(orri_change* c)
{
    for (uint32_t g = 0; g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        for (uint32_t d = 0; sparse_changes(group) && d < group->instance_count; d++) {
            if (sparse_valued(c, &c->parts[g], group, d)) {
                c->instance_size += sparse_instance_bytes(sparse_type(c, group->instances[d].type));
            }
        }
    }
    c->instance_memory =
        orri_alloc(&c->world->env, ORR_MEMORY_TEMP, c->instance_size, ORRI_BLOCK_ALIGN);
    return c->instance_memory != NULL
               ? ORR_OK
               : orri_refuse_memory(&c->world->env, "keeping values of a change set");
}

// Values of one group, made outside; and all that its cell needs where it is, should it stay there.
static orr_result sparse_stage_instances_of(orri_change* c, uint32_t g, size_t* used)
{
    const orri_group* group = &c->desc->groups[g];
    const orri_part* part = &c->parts[g];
    for (uint32_t d = 0; d < group->instance_count; d++) {
        const orri_instance_change* deed = &group->instances[d];
        const orri_type* type = sparse_type(c, deed->type);
        if (!c->deeds[part->deed_first + d]) {
            continue;
        }
        if (group->deed == ORRI_CHANGE_KIND_CHANGE &&
            !orri_instances_prepare(c->world, orri_id_index(group->entities[0]), deed->type)) {
            return orri_env_result(&c->world->env);
        }
        if (!deed->removed) {
            uint8_t* value = c->instance_memory + *used;
            if (!orri_instance_make(type, value, deed->value)) {
                return orri_refuse_hook(c->world, c->desc->call, type);
            }
            c->instances[part->deed_first + d] = value;
            *used += sparse_instance_bytes(type);
        }
    }
    return ORR_OK;
}

static orr_result sparse_stage_instances(orri_change* c)
{
    size_t used = 0;
    orr_result result = sparse_alloc_instances(c);
    for (uint32_t g = 0; result == ORR_OK && g < c->desc->count; g++) {
        if (sparse_changes(&c->desc->groups[g])) {
            result = sparse_stage_instances_of(c, g, &used);
        }
    }
    return result;
}

static void sparse_unmake_instances(orri_change* c)
{
    bool any = c->deed_count > 0 && c->instances != NULL; // None: refused at the very beginning.
    for (uint32_t g = 0; any && g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        for (uint32_t d = 0; sparse_changes(group) && d < group->instance_count; d++) {
            void* value = c->instances[c->parts[g].deed_first + d];
            if (value != NULL) {
                orri_rows_destruct(sparse_type(c, group->instances[d].type), value, 1);
            }
        }
    }
}

// All that an entity has of a type that is replaced as a whole.
static void sparse_take_all(orri_change* c, uint32_t index, orr_type type)
{
    const orr_component_id* ids;
    while (orri_instances_of(c->world, index, type, &ids) > 0) {
        orri_instance_take(c->world, index, type, ids[0]);
    }
}

void orri_change_take_instances(orri_change* c)
{
    for (uint32_t g = 0; c->deed_count > 0 && g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        bool changes = group->deed == ORRI_CHANGE_KIND_CHANGE && group->count > 0;
        orr_type replaced = {0}; // Asked for once for neighbours of one type.
        for (uint32_t d = 0; changes && d < group->instance_count; d++) {
            const orri_instance_change* deed = &group->instances[d];
            uint32_t index = orri_id_index(group->entities[0]);
            if (!c->deeds[c->parts[g].deed_first + d]) {
                continue;
            }
            if (deed->removed) {
                orri_instance_take(c->world, index, deed->type, deed->id);
            } else if (deed->type.id != replaced.id) {
                replaced = deed->type;
                if (orri_change_takes_all(c, g, deed->type)) {
                    sparse_take_all(c, index, deed->type);
                }
            }
        }
    }
}

static void sparse_put_instances(orri_change* c, uint32_t g)
{
    const orri_group* group = &c->desc->groups[g];
    for (uint32_t d = 0; d < group->instance_count; d++) {
        const orri_instance_change* deed = &group->instances[d];
        void* value = c->instances[c->parts[g].deed_first + d];
        uint32_t index = orri_id_index(group->entities[0]);
        if (value != NULL && deed->id == 0) {
            orri_instance_put(c->world, index, deed->type, value);
        } else if (value != NULL) {
            orri_instance_replace(c->world, index, deed->type, deed->id, value);
        }
    }
}

// ---- names ---------------------------------------------------------------------------------------------------

static orri_skipped sparse_left_name(const orri_change* c, uint32_t g, orri_name_result why)
{
    return (orri_skipped){.why = ORRI_SKIPPED_NAME,
                          .group = g,
                          .entity = c->desc->groups[g].entities[0],
                          .number = (uint32_t)why};
}

static bool sparse_renames(const orri_group* group)
{
    return sparse_changes(group) && group->renamed && group->name != NULL;
}

static orr_result sparse_stage_names(orri_change* c)
{
    orr_result result = ORR_OK;
    if (c->text_count > 0) {
        result = orri_names_reserve(c->world, c->desc->call, c->text_count);
    }
    for (uint32_t g = 0; result == ORR_OK && c->text_count > 0 && g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        if (!sparse_renames(group)) {
            continue;
        }
        if (!orri_name_allowed(group->name)) {
            result = orri_change_leave(c, sparse_left_name(c, g, ORRI_NAME_INVALID))
                         ? ORR_OK
                         : ORR_ERR_MEMORY;
        } else if (!orri_name_stage(c->world, orri_id_index(group->entities[0]), group->name,
                                    &c->texts[c->parts[g].text])) {
            result = orri_env_result(&c->world->env);
        }
    }
    return result;
}

static void sparse_name(orri_change* c, uint32_t g)
{
    const orri_group* group = &c->desc->groups[g];
    if (group->name == NULL) {
        orri_name_drop(c->world, orri_id_index(group->entities[0]));
        return;
    }
    orr_string text = c->texts[c->parts[g].text];
    orri_name_result why = text.id != 0
                               ? orri_name_put(c->world, group->entities[0], group->scope, text)
                               : ORRI_NAME_OK; // No name, and said already.
    if (why != ORRI_NAME_OK) {
        (void)orri_change_leave(c, sparse_left_name(c, g, why)); // There is room.
    }
}

// ---- switches ------------------------------------------------------------------------------------------------

static bool sparse_gives(const orri_group* group, orr_type type)
{
    for (uint32_t k = 0; k < group->given_count; k++) {
        if (group->given[k].type.id == type.id) {
            return true;
        }
    }
    return false;
}

static bool sparse_takes(const orri_group* group, orr_type type)
{
    for (uint32_t k = 0; k < group->taken_count; k++) {
        if (group->taken[k].id == type.id) {
            return true;
        }
    }
    return false;
}

// True when a deed of the group, named by its place, adds an instance of the type.
static bool sparse_instance_comes(const orri_change* c, uint32_t g, orr_type type, uint32_t place)
{
    const orri_group* group = &c->desc->groups[g];
    return place < group->instance_count && group->instances[place].id == 0 &&
           group->instances[place].type.id == type.id && c->deeds[c->parts[g].deed_first + place];
}

// A deed that adds an instance, and how many that do so for its type come from it on.
typedef struct sparse_comer {
    orr_type type;
    uint32_t deed, back;
} sparse_comer;

// The id of an instance to be switched, now that all are there: those that came are the last ones, in order. `last` is the one
// that was asked for before: mostly it is the neighbour, so that counting goes on from there.
static orr_component_id sparse_switched(const orri_change* c, uint32_t g,
                                        const orri_enable_change* s, sparse_comer* last)
{
    const orri_group* group = &c->desc->groups[g];
    const orr_component_id* ids;
    if ((s->id & ORRI_PROVISIONAL) == 0) {
        return s->id;
    }
    uint32_t deed = s->id & ~ORRI_PROVISIONAL;
    uint32_t count = orri_instances_of(c->world, orri_id_index(group->entities[0]), s->type, &ids);
    if (last->type.id != s->type.id || last->deed > deed) {
        *last = (sparse_comer){s->type, 0, 0};
        for (uint32_t d = 0; d < group->instance_count; d++) {
            last->back += sparse_instance_comes(c, g, s->type, d);
        }
    }
    for (; last->deed < deed; last->deed++) {
        last->back -= sparse_instance_comes(c, g, s->type, last->deed);
    }
    return ids[count - last->back];
}

// True when an instance is there and stays.
static bool sparse_instance_stays(const orri_change* c, uint32_t g, orr_type type,
                                  orr_component_id id)
{
    const orri_group* group = &c->desc->groups[g];
    const orri_type* found = sparse_type(c, type);
    const orr_component_id* ids;
    if (found->info.multiplicity != ORR_MULTIPLE || group->deed != ORRI_CHANGE_KIND_CHANGE ||
        orri_change_takes_all(c, g, type)) {
        return false;
    }
    for (uint32_t d = 0; d < group->instance_count; d++) {
        const orri_instance_change* deed = &group->instances[d];
        if (c->deeds[c->parts[g].deed_first + d] && deed->removed && deed->id == id &&
            deed->type.id == type.id) {
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

// Bits for a value of a pool that is there, or for all that come.
static bool sparse_reserve_pool_bits(orri_change* c, orri_pool* pool, uint32_t index)
{
    uint32_t slot1 = orri_pool_slot1(pool, index);
    if (slot1 != 0) {
        return orri_pool_reserve_bits(c->world, pool, slot1 - 1);
    }
    orri_filling* filling = sparse_filling(c, pool);
    orri_pool_cursor cursor = orri_pool_cursor_begin(pool);
    for (uint32_t i = 0; !filling->switched && i < filling->count; i++) {
        if (!orri_pool_reserve_bits(c->world, pool, orri_pool_cursor_next(pool, &cursor))) {
            return false;
        }
    }
    filling->switched = true;
    return true;
}

static orr_result sparse_stage_pinned_switch(orri_change* c, uint32_t g,
                                             const orri_enable_change* s, bool* there)
{
    const orri_group* group = &c->desc->groups[g];
    orri_pool* pool = orri_pool_find(c->world, s->type);
    uint32_t index = orri_id_index(group->entities[0]);
    bool comes = sparse_gives(group, s->type) && pool != NULL && !pool->is_name;
    *there = s->id == 0 && pool != NULL && !sparse_takes(group, s->type) &&
             (comes || orri_pool_slot1(pool, index) != 0);
    return !*there || s->on || sparse_reserve_pool_bits(c, pool, index)
               ? ORR_OK
               : orri_env_result(&c->world->env);
}

// Enable bits for a column of the cluster the entity will be in.
static orr_result sparse_stage_bits(orri_change* c, uint32_t g, uint32_t column, bool on)
{
    const orri_route* route = &c->routes[c->parts[g].route_first];
    if (!on && !route->to->columns[column].has_bits &&
        !orri_cluster_add_bits(c->world, route->to, column)) {
        return orri_refuse_memory(&c->world->env, "making enable bits");
    }
    if (route->to == route->from) {
        orri_chunk* chunk = orri_place_chunk(c->world, c->parts[g].places[0]);
        if (!orri_column_prepare(c->world, chunk, chunk->column_count / 2 + column)) {
            return orri_env_result(&c->world->env);
        }
    }
    return ORR_OK;
}

static orr_result sparse_stage_switch(orri_change* c, uint32_t g, uint32_t i)
{
    const orri_group* group = &c->desc->groups[g];
    const orri_enable_change* s = &group->switches[i];
    const orri_cluster* to = c->routes[c->parts[g].route_first].to;
    const orri_type* type = s->type.id != 0 ? sparse_type(c, s->type) : NULL;
    bool* there = &c->switches[c->parts[g].switch_first + i];
    orr_result result = ORR_OK;
    if (s->type.id == 0) {
        *there = true;
        result = sparse_stage_bits(c, g, to->type_count, s->on);
    } else if (type == NULL) {
        result = orri_refuse_type(c->world, c->desc->call, s->type);
    } else if (orri_type_pinned(type)) {
        result = sparse_stage_pinned_switch(c, g, s, there);
    } else {
        int32_t column = orri_cluster_find_column(to, s->type);
        bool comes = (s->id & ORRI_PROVISIONAL) != 0 &&
                     sparse_instance_comes(c, g, s->type, s->id & ~ORRI_PROVISIONAL);
        *there = column >= 0 &&
                 (s->id == 0 || comes || sparse_instance_stays(c, g, s->type, s->id));
        result = *there ? sparse_stage_bits(c, g, (uint32_t)column, s->on) : ORR_OK;
    }
    if (result == ORR_OK && !*there) {
        orri_skipped left = {.why = s->id != 0 ? ORRI_SKIPPED_INSTANCE : ORRI_SKIPPED_COMPONENT,
                             .group = g,
                             .entity = group->entities[0],
                             .type = s->type,
                             .number = s->id};
        result = orri_change_leave(c, left) ? ORR_OK : ORR_ERR_MEMORY;
    }
    return result;
}

static orr_result sparse_stage_switches(orri_change* c)
{
    orr_result result = ORR_OK;
    for (uint32_t g = 0; c->switch_count > 0 && g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        for (uint32_t i = 0; sparse_changes(group) && i < group->switch_count; i++) {
            result = sparse_stage_switch(c, g, i);
            if (result != ORR_OK) {
                return result;
            }
        }
    }
    return result;
}

// Nothing of it can be refused any more.
static void sparse_switch(orri_change* c, uint32_t g)
{
    const orri_group* group = &c->desc->groups[g];
    sparse_comer last = {{0}, 0, 0};
    for (uint32_t i = 0; i < group->switch_count; i++) {
        const orri_enable_change* s = &group->switches[i];
        if (!c->switches[c->parts[g].switch_first + i]) {
            continue;
        }
        orr_result result = s->type.id == 0
                                ? orr_entity_enable(c->world, group->entities[0], s->on)
                                : orr_instance_enable(c->world, group->entities[0], s->type,
                                                      sparse_switched(c, g, s, &last), s->on);
        ORR_ASSERT(result == ORR_OK);
        (void)result;
    }
}

// ---- all of it -----------------------------------------------------------------------------------------------

orr_result orri_change_stage_extras(orri_change* c)
{
    orr_result result = sparse_stage_pinned(c);
    if (result == ORR_OK && c->deed_count > 0) {
        result = sparse_stage_instances(c);
    }
    if (result == ORR_OK) {
        result = sparse_stage_names(c);
    }
    if (result == ORR_OK) {
        result = sparse_stage_switches(c);
    }
    // Whether a name is free is not known before it is given: what has to be said then has room.
    if (result == ORR_OK && c->text_count > 0 && c->left_count + c->text_count > c->left_capacity &&
        !orri_change_grow(c, (void**)&c->lefts, &c->left_capacity, c->left_count + c->text_count,
                          sizeof *c->lefts)) {
        result = ORR_ERR_MEMORY;
    }
    return result;
}

void orri_change_unstage_extras(orri_change* c)
{
    sparse_unmake_pinned(c);
    sparse_unmake_instances(c);
}

static bool sparse_name_before(const orri_change* c, uint32_t a, uint32_t b)
{
    uint64_t rank_a = c->desc->groups[a].name_rank, rank_b = c->desc->groups[b].name_rank;
    return rank_a != rank_b ? rank_a < rank_b : a < b;
}

// A heap with the last one on top: in place, without memory.
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

static void sparse_name_all(orri_change* c)
{
    uint32_t count = 0;
    for (uint32_t g = 0; c->name_count > 0 && g < c->desc->count; g++) {
        if (sparse_changes(&c->desc->groups[g]) && c->desc->groups[g].renamed) {
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
        sparse_name(c, c->names[i]);
    }
}

void orri_change_make_extras(orri_change* c)
{
    for (uint32_t g = 0; c->deed_count > 0 && g < c->desc->count; g++) {
        if (sparse_changes(&c->desc->groups[g])) {
            sparse_put_instances(c, g);
        }
    }
    sparse_make_all_pinned(c);
    sparse_name_all(c);
    for (uint32_t g = 0; c->switch_count > 0 && g < c->desc->count; g++) {
        if (sparse_changes(&c->desc->groups[g])) {
            sparse_switch(c, g);
        }
    }
}
