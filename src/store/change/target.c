// SPDX-License-Identifier: MIT
// Finds the target cluster of an entity of a change set. Its types are those the entity has, plus
// the added types and all types they require, minus the removed types that no remaining type
// requires. For multiple types the search also finds how many instances a row must have room for.
#include "store/change/target.h"
#include "store/table/required_types.h"

static bool target_listed(const orr_type* types, uint32_t count, orr_type type)
{
    for (uint32_t i = 0; i < count; i++) {
        if (types[i].id == type.id) {
            return true;
        }
    }
    return false;
}

// True when the group gives values of the type.
static bool target_given(const orri_group* group, orr_type type)
{
    for (uint32_t k = 0; k < group->given_count; k++) {
        if (group->given[k].type.id == type.id) {
            return true;
        }
    }
    return false;
}

bool orri_target_skip(orri_target* t, orri_skip_reason why, orr_type type, orr_type other,
                      uint32_t number)
{
    orri_change* c = t->change;
    if (!ORRI_CHANGE_ADD(c, c->route_skips, c->route_skip_count, c->route_skip_capacity)) {
        return false;
    }
    c->route_skips[c->route_skip_count++] =
        (orri_skip){.why = why, .type = type, .other = other, .number = number};
    t->route->skip_count++;
    return true;
}

// ---- added types --------------------------------------------------------------------------------

// How many types adding a type would add: itself and the required types that are missing.
static uint32_t target_growth(const orri_target* t, orr_type type)
{
    uint32_t count = 0, growth = 1;
    const orr_type* needs = orri_required_types_of(t->change->world, type, &count);
    for (uint32_t i = 0; needs != NULL && i < count; i++) {
        growth += !target_listed(t->types, t->type_count, needs[i]);
    }
    return growth;
}

// Adds a type with all types it requires. `*fits` is false when the type is skipped because there
// would be too many types.
static orr_result target_add_type(orri_target* t, orr_type type, bool* fits)
{
    orr_world* world = t->change->world;
    *fits = true;
    if (target_listed(t->types, t->type_count, type)) {
        return ORR_OK;
    }
    orr_result result = orri_check_storable(world, t->change->desc->call, type);
    if (result == ORR_OK) {
        result = orri_required_types_resolve(world, t->change->desc->call, type);
    }
    // Required types have requirements of their own. These must be resolved too, for the case that
    // a required type stays and this type is removed.
    uint32_t count = 0;
    const orr_type* needs = result == ORR_OK ? orri_required_types_of(world, type, &count) : NULL;
    for (uint32_t i = 0; result == ORR_OK && needs != NULL && i < count; i++) {
        result = orri_required_types_resolve(world, t->change->desc->call, needs[i]);
        needs = orri_required_types_of(world, type, &count); // The list may have moved.
    }
    if (result != ORR_OK) {
        return result;
    }
    if (t->type_count + target_growth(t, type) > t->types_limit) {
        *fits = false;
        return orri_target_skip(t, ORRI_SKIP_TYPES_MAX, type, type, 0) ? ORR_OK : ORR_ERR_MEMORY;
    }
    t->type_count = orri_types_insert(t->types, t->type_count, type);
    t->type_count = orri_required_types_close(world, type, t->types, t->type_count);
    return ORR_OK;
}

// Adds all given types that are stored in columns. A multiple type that the entity has already is
// skipped: it is not clear which instance the value is for.
static orr_result target_add_given(orri_target* t)
{
    orr_world* world = t->change->world;
    for (uint32_t k = 0; k < t->group->given_count; k++) {
        orr_type type = t->group->given[k].type;
        const orri_type* found = orri_type_at(&world->schema, type);
        if (found == NULL) {
            return orri_refuse_type(world, t->change->desc->call, type);
        }
        if (found->info.multiplicity == ORR_MULTIPLE && !t->creates &&
            orri_target_base_has(t, type) &&
            !orri_target_skip(t, ORRI_SKIP_MULTIPLE, type, type, 0)) {
            return ORR_ERR_MEMORY;
        }
        bool fits;
        orr_result result = orri_type_pinned(found) ? ORR_OK : target_add_type(t, type, &fits);
        if (result != ORR_OK) {
            return result;
        }
    }
    return ORR_OK;
}

// ---- instances ----------------------------------------------------------------------------------

// True when a group removes all instances of a type.
static bool target_removes_all(const orri_group* group, orr_type type)
{
    for (uint32_t d = 0; d < group->instance_count; d++) {
        const orri_instance_change* change = &group->instances[d];
        if (change->removed && change->id == 0 && change->type.id == type.id) {
            return true;
        }
    }
    return target_listed(group->taken, group->taken_count, type);
}

// Reserves one cleared mark for each existing instance.
static bool target_tally_marks(orri_change* c, orri_target_tally* tally)
{
    uint32_t needed = c->mark_count + tally->existing;
    if (needed > c->mark_capacity &&
        !orri_change_grow(c, (void**)&c->marks, &c->mark_capacity, needed, sizeof *c->marks)) {
        return false;
    }
    tally->marks = c->mark_count;
    for (; c->mark_count < needed; c->mark_count++) {
        c->marks[c->mark_count] = false;
    }
    return true;
}

// Finds or starts the count of a multiple type. NULL when refused (reported).
static orri_target_tally* target_tally_of(orri_target* t, orr_type type, const orri_type* info)
{
    for (uint32_t i = 0; i < t->tally_count; i++) {
        if (t->tallies[i].type.id == type.id) {
            return &t->tallies[i];
        }
    }
    // There is room: target_instance() drops the tallies of types that the entity never gets.
    ORR_ASSERT(t->tally_count < ORRI_TARGET_TYPES);
    orri_target_tally* tally = &t->tallies[t->tally_count++];
    *tally = (orri_target_tally){.type = type,
                                 .info = info,
                                 .capacity = 1,
                                 .removes_all = target_removes_all(t->group, type)};
    if (orri_target_base_has(t, type)) {
        tally->capacity = t->base->capacities[orri_cluster_find_column(t->base, type)];
        if (!t->creates) {
            tally->existing =
                orri_instances_of(t->change->world, orri_id_index(t->entity), type, &tally->ids);
        }
        tally->count = t->creates ? !tally->removes_all : tally->existing;
    } else if (target_given(t->group, type)) {
        tally->count = 1;
    }
    return target_tally_marks(t->change, tally) ? tally : NULL;
}

// The mark of an existing instance; NULL: there is no instance with this id.
static bool* target_tally_mark(const orri_target* t, const orri_target_tally* tally,
                               orr_component_id id)
{
    for (uint32_t i = 0; i < tally->existing; i++) {
        if (tally->ids[i] == id) {
            return &t->change->marks[tally->marks + i];
        }
    }
    return NULL;
}

// How many existing instances the group removes. Counted once, with the marks as scratch, so that
// an id that is listed twice counts once.
static uint32_t target_tally_removing(const orri_target* t, orri_target_tally* tally)
{
    bool* marks = t->change->marks + tally->marks;
    uint32_t removing1 = tally->removes_all ? tally->existing : 0;
    for (uint32_t d = 0;
         !tally->removes_all && tally->removing1 == 0 && d < t->group->instance_count; d++) {
        const orri_instance_change* change = &t->group->instances[d];
        bool* mark = change->removed && change->type.id == tally->type.id
                         ? target_tally_mark(t, tally, change->id)
                         : NULL;
        removing1 += mark != NULL && !*mark;
        if (mark != NULL) {
            *mark = true;
        }
    }
    if (tally->removing1 == 0) {
        memset(marks, 0, tally->existing * sizeof *marks);
        tally->removing1 = removing1 + 1;
    }
    return tally->removing1 - 1;
}

// Adds an instance. When the row is full, the capacity doubles as in single adds; at the limit the
// instance fits only if the group removes enough others.
static orr_result target_tally_add(orri_target* t, orri_target_tally* tally, uint32_t d)
{
    bool fits;
    orr_result result = target_add_type(t, tally->type, &fits);
    if (result != ORR_OK || !fits) {
        return result;
    }
    if (tally->count >= tally->capacity) {
        if (orri_instance_room_left(tally->info, tally->capacity)) {
            tally->capacity *= 2;
        } else if (tally->count - target_tally_removing(t, tally) >= tally->capacity) {
            return orri_target_skip(t, ORRI_SKIP_INSTANCES_MAX, tally->type, tally->type, 0)
                       ? ORR_OK
                       : ORR_ERR_MEMORY;
        }
    }
    tally->count++;
    tally->added++;
    t->instance_applies[d] = true;
    return ORR_OK;
}

// One instance less. The capacity halves when a quarter of the room or less is in use, as in single
// removals (api/instance.c), so that a change set and single calls lead to the same cluster.
static void target_tally_decrement(orri_target_tally* tally)
{
    if ((tally->count - 1) * 4 <= tally->capacity && tally->capacity > 1) {
        tally->capacity /= 2;
    }
    tally->count--;
}

// Removes an instance by id. With its last instance the entity loses the type.
static bool target_tally_remove(orri_target* t, orri_target_tally* tally, uint32_t d)
{
    orr_component_id id = t->group->instances[d].id;
    bool* mark = target_tally_mark(t, tally, id);
    if (mark == NULL || *mark) {
        return orri_target_skip(t, ORRI_SKIP_INSTANCE, tally->type, tally->type, id);
    }
    if (tally->count == 1) {
        tally->last_removed = true;
        tally->change_last = d;
        tally->capacity_last = tally->capacity;
        t->removed[t->removed_count++] = tally->type;
    }
    target_tally_decrement(tally);
    t->instance_applies[d] = *mark = true;
    return true;
}

// Changes the value of an instance, unless the group also removes the instance or its type.
static bool target_tally_change(orri_target* t, const orri_target_tally* tally, uint32_t d)
{
    orr_component_id id = t->group->instances[d].id;
    const bool* mark = target_tally_mark(t, tally, id);
    if (mark == NULL) {
        return orri_target_skip(t, ORRI_SKIP_INSTANCE, tally->type, tally->type, id);
    }
    t->instance_applies[d] = !*mark && !target_listed(t->removed, t->removed_count, tally->type);
    return true;
}

// Removes all existing instances. The added ones stay; without any, the type itself is removed.
static void target_tally_remove_existing(orri_target_tally* tally)
{
    for (uint32_t i = 0; tally->added > 0 && i < tally->existing; i++) {
        target_tally_decrement(tally);
    }
}

// Handles one instance change in its pass. Pass 0 adds, pass 1 removes, pass 2 changes values, once
// the removals are known.
static orr_result target_instance(orri_target* t, uint32_t d, int pass)
{
    const orri_instance_change* change = &t->group->instances[d];
    const orri_type* info = orri_type_at(&t->change->world->schema, change->type);
    int kind = change->removed ? 1 : change->id == 0 ? 0 : 2;
    if (info == NULL) {
        return orri_refuse_type(t->change->world, t->change->desc->call, change->type);
    }
    if (kind != pass) {
        return ORR_OK;
    }
    if (info->info.multiplicity != ORR_MULTIPLE) {
        return orri_target_skip(t, ORRI_SKIP_UNIQUE, change->type, change->type, 0)
                   ? ORR_OK
                   : ORR_ERR_MEMORY;
    }
    orri_target_tally* tally = target_tally_of(t, change->type, info);
    orr_result result = tally != NULL ? ORR_OK : ORR_ERR_MEMORY;
    if (tally == NULL) {
        return result;
    }
    if (pass == 0) {
        result = target_tally_add(t, tally, d);
    } else if (!tally->removes_all && change->id != 0) {
        bool ok = pass == 1 ? target_tally_remove(t, tally, d) : target_tally_change(t, tally, d);
        result = ok ? ORR_OK : ORR_ERR_MEMORY;
    }
    // A type that the entity never gets needs no tally.
    if (!target_listed(t->types, t->type_count, change->type) &&
        !orri_target_base_has(t, change->type)) {
        ORR_ASSERT(tally == &t->tallies[t->tally_count - 1]);
        t->tally_count--;
    }
    return result;
}

// Runs one pass over the instance changes of the group.
static orr_result target_instances(orri_target* t, int pass)
{
    orr_result result = ORR_OK;
    for (uint32_t d = 0; result == ORR_OK && d < t->group->instance_count; d++) {
        result = target_instance(t, d, pass);
    }
    for (uint32_t i = 0; pass == 0 && i < t->tally_count; i++) {
        if (t->tallies[i].removes_all) {
            target_tally_remove_existing(&t->tallies[i]);
        }
    }
    return result;
}

bool orri_change_adds_instance(const orri_change* c, uint32_t g, orr_type type)
{
    const orri_group* group = orri_change_group(c, g);
    for (uint32_t d = 0; d < group->instance_count; d++) {
        const orri_instance_change* change = &group->instances[d];
        if (change->id == 0 && !change->removed && change->type.id == type.id &&
            c->instance_applies[c->work[g].instance_first + d]) {
            return true;
        }
    }
    return false;
}

bool orri_change_replaces_all(const orri_change* c, uint32_t g, orr_type type)
{
    return target_removes_all(orri_change_group(c, g), type) &&
           orri_change_adds_instance(c, g, type);
}

// ---- removed types ------------------------------------------------------------------------------

static orri_target_tally* target_tally_find(orri_target* t, orr_type type)
{
    for (uint32_t i = 0; i < t->tally_count; i++) {
        if (t->tallies[i].type.id == type.id) {
            return &t->tallies[i];
        }
    }
    return NULL;
}

// Lists a type for removal, unless the group adds instances of it, which stay.
static void target_remove_type(orri_target* t, orr_type type)
{
    const orri_target_tally* tally = target_tally_find(t, type);
    if (target_listed(t->types, t->type_count, type) && t->removed_count < ORR_CLUSTER_TYPES_MAX &&
        !target_listed(t->removed, t->removed_count, type) &&
        (tally == NULL || tally->added == 0)) {
        t->removed[t->removed_count++] = type;
    }
}

// The first type that stays and requires `type`. Null: none.
static orr_type target_dependent(const orri_target* t, orr_type type)
{
    for (uint32_t i = 0; i < t->type_count; i++) {
        uint32_t count;
        const orr_type* needs = orri_required_types_of(t->change->world, t->types[i], &count);
        if (target_listed(needs, count, type) &&
            !target_listed(t->removed, t->removed_count, t->types[i])) {
            return t->types[i];
        }
    }
    return (orr_type){0};
}

// Takes the i-th type off the list of removals. If its last instance was removed by id, that
// instance stays.
static void target_unremove(orri_target* t, uint32_t i)
{
    orri_target_tally* tally = target_tally_find(t, t->removed[i]);
    if (tally != NULL && tally->last_removed) {
        t->instance_applies[tally->change_last] = false;
        *target_tally_mark(t, tally, t->group->instances[tally->change_last].id) = false;
        tally->capacity = tally->capacity_last;
        tally->count = 1;
    }
    memmove(t->removed + i, t->removed + i + 1, (t->removed_count - i - 1) * sizeof *t->removed);
    t->removed_count--;
}

// Skips removals of types that a remaining type requires, until there are none. False when refused
// (reported).
static bool target_keep_needed(orri_target* t)
{
    for (uint32_t i = 0; i < t->removed_count;) {
        orr_type type = t->removed[i];
        uint32_t index = orri_type_index(t->change->world, type);
        orr_type dependent = orri_required_types_needed(t->change->world, index)
                                 ? target_dependent(t, type)
                                 : (orr_type){0};
        if (dependent.id == 0) {
            i++;
            continue;
        }
        target_unremove(t, i);
        if (!orri_target_skip(t, ORRI_SKIP_NEEDED, type, dependent, 0)) {
            return false;
        }
        i = 0; // The type stays, and may require others on the list.
    }
    return true;
}

// Takes the types on the list of removals out of `types`. Changes of their instances are obsolete.
static void target_drop_removed(orri_target* t)
{
    uint32_t count = 0;
    for (uint32_t i = 0; t->removed_count > 0 && i < t->type_count; i++) {
        if (!target_listed(t->removed, t->removed_count, t->types[i])) {
            t->types[count++] = t->types[i];
        }
    }
    t->removed_types = t->removed_count > 0 ? t->type_count - count : 0;
    t->type_count -= t->removed_types;
    for (uint32_t d = 0; d < t->group->instance_count; d++) {
        if (target_listed(t->removed, t->removed_count, t->group->instances[d].type)) {
            t->instance_applies[d] = false; // Removed with the column.
        }
    }
}

// Lists all removals, skips the impossible ones and carries out the others.
static orr_result target_remove_types(orri_target* t)
{
    for (uint32_t i = 0; i < t->group->taken_count; i++) {
        const orri_type* found = orri_type_at(&t->change->world->schema, t->group->taken[i]);
        if (found == NULL) {
            return orri_refuse_type(t->change->world, t->change->desc->call, t->group->taken[i]);
        }
        target_remove_type(t, t->group->taken[i]);
    }
    for (uint32_t i = 0; i < t->tally_count; i++) {
        if (t->tallies[i].removes_all) {
            target_remove_type(t, t->tallies[i].type);
        }
    }
    if (!target_keep_needed(t)) {
        return ORR_ERR_MEMORY;
    }
    target_drop_removed(t);
    return ORR_OK;
}

// ---- tags ---------------------------------------------------------------------------------------

// Adds a tag in order; a tag beyond the limit is skipped. False when refused (reported).
static bool target_add_tag(orri_target* t, orr_tag tag)
{
    uint32_t at = t->tag_count;
    while (at > 0 && t->tags[at - 1] > tag) {
        at--;
    }
    if (at > 0 && t->tags[at - 1] == tag) {
        return true;
    }
    if (t->tag_count == ORR_CLUSTER_TAGS_MAX) {
        return orri_target_skip(t, ORRI_SKIP_TAGS_MAX, (orr_type){0}, (orr_type){0}, 0);
    }
    memmove(t->tags + at + 1, t->tags + at, (t->tag_count - at) * sizeof *t->tags);
    t->tags[at] = tag;
    t->tag_count++;
    return true;
}

static bool target_change_tags(orri_target* t)
{
    const orri_group* group = t->group;
    // Removals first, so that an entity at the limit of tags has room.
    for (uint32_t i = 0; i < group->tag_off_count; i++) {
        for (uint32_t k = 0; k < t->tag_count; k++) {
            if (t->tags[k] == group->tags_off[i]) {
                memmove(t->tags + k, t->tags + k + 1, (t->tag_count - k - 1) * sizeof *t->tags);
                t->tag_count--;
            }
        }
    }
    bool added = true;
    for (uint32_t i = 0; added && i < group->tag_on_count; i++) {
        added = target_add_tag(t, group->tags_on[i]);
    }
    return added;
}

// ---- the cluster --------------------------------------------------------------------------------

// Finds how many instances of each type a row must have room for.
static void target_size(orri_target* t)
{
    for (uint32_t i = 0; i < t->type_count; i++) {
        int32_t column = t->base != NULL ? orri_cluster_find_column(t->base, t->types[i]) : -1;
        const orri_target_tally* tally = target_tally_find(t, t->types[i]);
        t->capacities[i] = tally != NULL ? (uint16_t)tally->capacity
                           : column >= 0 ? t->base->capacities[column]
                                         : 1;
    }
}

// True when types, capacities and tags are those of `base`.
static bool target_is_base(const orri_target* t)
{
    const orri_cluster* base = t->base;
    return base != NULL && t->type_count == base->type_count && t->tag_count == base->tag_count &&
           memcmp(t->types, base->types, t->type_count * sizeof *t->types) == 0 &&
           memcmp(t->capacities, base->capacities, t->type_count * sizeof *t->capacities) == 0 &&
           memcmp(t->tags, base->tags, t->tag_count * sizeof *t->tags) == 0;
}

// Finds or creates the target cluster.
static orr_result target_obtain(orri_target* t)
{
    orri_change* c = t->change;
    bool created;
    if (!ORRI_CHANGE_ADD(c, c->created, c->created_count, c->created_capacity)) {
        return ORR_ERR_MEMORY;
    }
    t->route->to = orri_cluster_obtain_sized(c->world, c->desc->call, t->types, t->capacities,
                                             t->type_count, t->tags, t->tag_count, &created);
    if (t->route->to == NULL) {
        return orri_env_result(&c->world->env);
    }
    if (created) {
        c->created[c->created_count++] = t->route->to;
    }
    return ORR_OK;
}

// Notes for each given type which column of the target its values go to.
static orr_result target_columns(orri_change* c, orri_route* route)
{
    const orri_group* group = orri_change_group(c, route->group);
    uint32_t needed = c->column_count + group->given_count;
    if (needed > c->column_capacity &&
        !orri_change_grow(c, (void**)&c->columns, &c->column_capacity, needed,
                          sizeof *c->columns)) {
        return ORR_ERR_MEMORY;
    }
    route->columns = c->column_count;
    for (uint32_t k = 0; k < group->given_count; k++) {
        const orri_given* given = &group->given[k];
        int32_t column = orri_cluster_find_column(route->to, given->type);
        bool has = route->from != NULL && orri_cluster_find_column(route->from, given->type) >= 0;
        bool skip = column < 0 || (has && (group->keeps || route->to->columns[column].counts != 0));
        c->columns[c->column_count++] = skip  ? ORRI_GIVEN_NONE
                                        : has ? (uint16_t)((uint32_t)column | ORRI_GIVEN_HAS)
                                              : (uint16_t)column;
        c->work[route->group].overwrites |= has && !skip;
    }
    return ORR_OK;
}

// ---- groups that need no search -----------------------------------------------------------------

// Values for a multiple type are refused for an entity that has it: it is not clear which instance
// they are for.
static orr_result target_refuse_instances(const orri_change* c, orr_entity entity, orr_type type)
{
    orri_id_text name = orri_entity_format(c->world, entity);
    return orri_refuse(&c->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_ENTITY_REFUSED,
                       "%s: entity %s has %s already; add one more with orr_instance_add() or set "
                       "one with orr_instance_set()",
                       c->desc->call, name.text, orri_type_label(c->world, type));
}

// The one type that the group gives or takes leads along an edge (transition.c), as in a single
// call.
static orr_result target_follow(orri_change* c, const orri_group* group, orr_entity entity,
                                orri_route* route)
{
    bool gives = group->given_count > 0, created;
    orr_type type = gives ? group->given[0].type : group->taken[0];
    const orri_type* found = orri_type_at(&c->world->schema, type);
    bool has = orri_cluster_find_column(route->from, type) >= 0;
    route->to = route->from;
    if (gives && has && !group->keeps && found->info.multiplicity == ORR_MULTIPLE) {
        return target_refuse_instances(c, entity, type);
    }
    if (has == gives) {
        return ORR_OK;
    }
    orri_transition* transition = orri_transition_edge(c->world, c->desc->call, route->from, type,
                                                       gives ? ORRI_EDGE_ADD : ORRI_EDGE_REMOVE,
                                                       &created);
    if (transition == NULL) {
        return orri_env_result(&c->world->env);
    }
    if (created && !ORRI_CHANGE_ADD(c, c->created, c->created_count, c->created_capacity)) {
        orri_cluster_undo(c->world, transition->to);
        return ORR_ERR_MEMORY;
    }
    route->transition = transition;
    route->to = transition->to;
    if (created) {
        c->created[c->created_count++] = route->to;
    }
    return ORR_OK;
}

// ---- the route ----------------------------------------------------------------------------------

void orri_target_begin(orri_target* t)
{
    const orri_cluster* base = t->base;
    t->type_count = base != NULL ? base->type_count : 0;
    t->tag_count = base != NULL ? base->tag_count : 0;
    t->removed_count = t->tally_count = t->removed_types = 0;
    t->change->mark_count = 0;
    if (base != NULL) {
        memcpy(t->types, base->types, t->type_count * sizeof *t->types);
        memcpy(t->tags, base->tags, t->tag_count * sizeof *t->tags);
    }
    for (uint32_t d = 0; d < t->group->instance_count; d++) {
        t->instance_applies[d] = false;
    }
    t->change->route_skip_count = t->route->skip_first;
    t->route->skip_count = 0;
}

// One attempt to find the types and tags after the change.
static orr_result target_gather(orri_target* t)
{
    orri_target_begin(t);
    orr_result result = target_add_given(t);
    for (int pass = 0; result == ORR_OK && pass < 3; pass++) {
        result = pass == 2 ? target_remove_types(t) : ORR_OK;
        result = result == ORR_OK ? target_instances(t, pass) : result;
    }
    if (result == ORR_OK && !target_change_tags(t)) {
        return ORR_ERR_MEMORY;
    }
    return result;
}

// Upper bound of the types that the group removes. Additions come first, so that many types above
// the limit are allowed in between.
static uint32_t target_removable(const orri_group* group)
{
    uint32_t count = group->taken_count < ORR_CLUSTER_TYPES_MAX ? group->taken_count
                                                                : ORR_CLUSTER_TYPES_MAX;
    for (uint32_t d = 0; count < ORR_CLUSTER_TYPES_MAX && d < group->instance_count; d++) {
        count += group->instances[d].removed;
    }
    return count;
}

// Finds the types and tags after the change. The first attempt allows for all removals that may
// happen. If too many types remain, the second attempt allows only for the removals of the first
// one. If those were of types that are now skipped, the third attempt allows for no removals.
static orr_result target_collect(orri_target* t)
{
    t->types_limit = ORR_CLUSTER_TYPES_MAX + target_removable(t->group);
    orr_result result = target_gather(t);
    for (int attempt = 0; result == ORR_OK && t->type_count > ORR_CLUSTER_TYPES_MAX; attempt++) {
        t->types_limit = ORR_CLUSTER_TYPES_MAX + (attempt == 0 ? t->removed_types : 0);
        result = target_gather(t);
    }
    return result;
}

// Finds the target cluster: the base itself, an existing or new one, or the base because no cluster
// may be created.
static orr_result target_search(orri_target* t)
{
    orr_result result = target_collect(t);
    if (result != ORR_OK) {
        return result;
    }
    target_size(t);
    if (target_is_base(t)) {
        t->route->to = (orri_cluster*)(uintptr_t)t->base;
    } else if (ORR_UNLIKELY(orri_cluster_over_limit(t->change->world, t->types, t->capacities,
                                                    t->type_count, t->tags, t->tag_count))) {
        result = orri_target_stay(t);
    } else {
        result = target_obtain(t);
    }
    return result;
}

// Finds the target by the types, tags and instances that the group changes.
static orr_result target_find(orri_change* c, uint32_t g, orr_entity entity, orri_route* route)
{
    orri_target t; // Large, so it is not zeroed: orri_target_begin() sets all that is read.
    t.change = c;
    t.group = orri_change_group(c, g);
    t.creates = route->from == NULL;
    t.base = t.creates ? orri_cluster_at(c->world, t.group->cluster) : route->from;
    t.entity = entity;
    // No offset from NULL, where no group has instances.
    t.instance_applies =
        t.group->instance_count > 0 ? c->instance_applies + c->work[g].instance_first : NULL;
    t.route = route;
    if (t.creates && t.base == NULL && t.group->cluster.id != 0) {
        return orri_refuse_cluster(c->world, c->desc->call, t.group->cluster);
    }
    return target_search(&t);
}

orr_result orri_change_target(orri_change* c, uint32_t g, orr_entity entity, orri_route* route)
{
    const orri_group* group = orri_change_group(c, g);
    orr_result result = ORR_OK;
    route->skip_first = c->route_skip_count;
    if (group->cluster.id != 0 && (route->from != NULL || group->as_call)) {
        route->to = orri_cluster_at(c->world, group->cluster);
        ORR_ASSERT(route->to != NULL);
        for (uint32_t d = 0; d < group->instance_count; d++) {
            c->instance_applies[c->work[g].instance_first + d] = true;
        }
    } else if (route->from != NULL && group->as_call) {
        result = target_follow(c, group, entity, route);
    } else {
        result = target_find(c, g, entity, route);
    }
    if (result == ORR_OK && route->from != NULL && route->to != route->from &&
        route->transition == NULL) {
        route->transition = orri_transition_pair_get(c->world, route->from, route->to);
        result = route->transition != NULL ? ORR_OK : orri_env_result(&c->world->env);
    }
    return result == ORR_OK ? target_columns(c, route) : result;
}
