// SPDX-License-Identifier: MIT
// Which cluster an entity of a change set belongs to in the end: what it has, and what comes with what that needs, less what
// goes and is not needed by what stays; and, of multiple types, how much room its instances need then.
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

static bool target_gives(const orri_group* group, orr_type type)
{
    for (uint32_t k = 0; k < group->given_count; k++) {
        if (group->given[k].type.id == type.id) {
            return true;
        }
    }
    return false;
}

bool orri_target_leave(orri_target* m, orri_skipped_why why, orr_type type, orr_type other,
                       uint32_t number)
{
    orri_change* c = m->change;
    if (!ORRI_CHANGE_ADD(c, c->route_lefts, c->route_left_count, c->route_left_capacity)) {
        return false;
    }
    c->route_lefts[c->route_left_count++] =
        (orri_skipped){.why = why, .type = type, .other = other, .number = number};
    m->route->left_count++;
    return true;
}

// ---- what comes ----------------------------------------------------------------------------------------------

// How many types come with one, itself included.
static uint32_t target_growth(const orri_target* m, orr_type type)
{
    uint32_t count = 0, growth = 1;
    const orr_type* needs = orri_required_types_of(m->change->world, type, &count);
    for (uint32_t i = 0; needs != NULL && i < count; i++) {
        growth += !target_listed(m->types, m->type_count, needs[i]);
    }
    return growth;
}

// A type comes, with all it needs. `*fits` is false when it was left out: there would be too many.
static orr_result target_add_type(orri_target* m, orr_type type, bool* fits)
{
    orr_world* world = m->change->world;
    *fits = true;
    if (target_listed(m->types, m->type_count, type)) {
        return ORR_OK;
    }
    orr_result result = orri_check_storable(world, m->change->desc->call, type);
    if (result == ORR_OK) {
        result = orri_required_types_resolve(world, m->change->desc->call, type);
    }
    // What it needs has needs of its own, which must be known when it stays and this one goes.
    uint32_t count = 0;
    const orr_type* needs = result == ORR_OK ? orri_required_types_of(world, type, &count) : NULL;
    for (uint32_t i = 0; result == ORR_OK && needs != NULL && i < count; i++) {
        result = orri_required_types_resolve(world, m->change->desc->call, needs[i]);
        needs = orri_required_types_of(world, type, &count); // The list may have moved.
    }
    if (result != ORR_OK) {
        return result;
    }
    if (m->type_count + target_growth(m, type) > m->types_most) {
        *fits = false;
        return orri_target_leave(m, ORRI_SKIPPED_TYPES_MAX, type, type, 0) ? ORR_OK
                                                                           : ORR_ERR_MEMORY;
    }
    m->type_count = orri_types_insert(m->types, m->type_count, type);
    m->type_count = orri_required_types_close(world, type, m->types, m->type_count);
    return ORR_OK;
}

static orr_result target_add_given(orri_target* m)
{
    orr_world* world = m->change->world;
    for (uint32_t k = 0; k < m->group->given_count; k++) {
        orr_type type = m->group->given[k].type;
        const orri_type* found = orri_type_at(&world->schema, type);
        if (found == NULL) {
            return orri_refuse_type(world, m->change->desc->call, type);
        }
        if (found->info.multiplicity == ORR_MULTIPLE && !m->creates &&
            orri_target_base_has(m, type) &&
            !orri_target_leave(m, ORRI_SKIPPED_MULTIPLE, type, type, 0)) {
            return ORR_ERR_MEMORY;
        }
        bool fits;
        orr_result result = orri_type_pinned(found) ? ORR_OK : target_add_type(m, type, &fits);
        if (result != ORR_OK) {
            return result;
        }
    }
    return ORR_OK;
}

// ---- instances -----------------------------------------------------------------------------------------------

// True when a group takes all instances of a type.
static bool target_takes_all(const orri_group* group, orr_type type)
{
    for (uint32_t d = 0; d < group->instance_count; d++) {
        const orri_instance_change* deed = &group->instances[d];
        if (deed->removed && deed->id == 0 && deed->type.id == type.id) {
            return true;
        }
    }
    return target_listed(group->taken, group->taken_count, type);
}

// Room for marks of the instances there are.
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

// NULL when refused (reported).
static orri_target_tally* target_tally_of(orri_target* m, orr_type type, const orri_type* info)
{
    for (uint32_t i = 0; i < m->tally_count; i++) {
        if (m->tallies[i].type.id == type.id) {
            return &m->tallies[i];
        }
    }
    // Those of types that the entity will never have are taken back.
    ORR_ASSERT(m->tally_count < ORRI_TARGET_TYPES);
    orri_target_tally* tally = &m->tallies[m->tally_count++];
    *tally = (orri_target_tally){
        .type = type, .info = info, .capacity = 1, .all = target_takes_all(m->group, type)};
    if (orri_target_base_has(m, type)) {
        tally->capacity = m->base->capacities[orri_cluster_find_column(m->base, type)];
        if (!m->creates) {
            tally->existing =
                orri_instances_of(m->change->world, orri_id_index(m->entity), type, &tally->ids);
        }
        tally->count = m->creates ? !tally->all : tally->existing;
    } else if (target_gives(m->group, type)) {
        tally->count = 1;
    }
    return target_tally_marks(m->change, tally) ? tally : NULL;
}

// The mark of an instance that is there; NULL: it is not.
static bool* target_tally_mark(const orri_target* m, const orri_target_tally* tally,
                               orr_component_id id)
{
    for (uint32_t i = 0; i < tally->existing; i++) {
        if (tally->ids[i] == id) {
            return &m->change->marks[tally->marks + i];
        }
    }
    return NULL;
}

// How many of the instances there are will go.
static uint32_t target_tally_going(const orri_target* m, orri_target_tally* tally)
{
    bool* marks = m->change->marks + tally->marks;
    uint32_t going = tally->all ? tally->existing : 0;
    for (uint32_t d = 0; !tally->all && tally->going == 0 && d < m->group->instance_count; d++) {
        const orri_instance_change* deed = &m->group->instances[d];
        bool* mark = deed->removed && deed->type.id == tally->type.id
                         ? target_tally_mark(m, tally, deed->id)
                         : NULL;
        going += mark != NULL && !*mark;
        if (mark != NULL) {
            *mark = true;
        }
    }
    if (tally->going == 0) {
        memset(marks, 0, tally->existing * sizeof *marks);
        tally->going = going + 1;
    }
    return tally->going - 1;
}

static orr_result target_tally_add(orri_target* m, orri_target_tally* tally, uint32_t d)
{
    bool fits;
    orr_result result = target_add_type(m, tally->type, &fits);
    if (result != ORR_OK || !fits) {
        return result;
    }
    if (tally->count >= tally->capacity) {
        if (orri_instance_room_left(tally->info, tally->capacity)) {
            tally->capacity *= 2;
        } else if (tally->count - target_tally_going(m, tally) >= tally->capacity) {
            return orri_target_leave(m, ORRI_SKIPPED_INSTANCES_MAX, tally->type, tally->type, 0)
                       ? ORR_OK
                       : ORR_ERR_MEMORY;
        }
    }
    tally->count++;
    tally->added++;
    m->deeds[d] = true;
    return ORR_OK;
}

static void target_tally_one_less(orri_target_tally* tally)
{
    if ((tally->count - 1) * 4 <= tally->capacity && tally->capacity > 1) {
        tally->capacity /= 2;
    }
    tally->count--;
}

static bool target_tally_remove(orri_target* m, orri_target_tally* tally, uint32_t d)
{
    orr_component_id id = m->group->instances[d].id;
    bool* mark = target_tally_mark(m, tally, id);
    if (mark == NULL || *mark) {
        return orri_target_leave(m, ORRI_SKIPPED_INSTANCE, tally->type, tally->type, id);
    }
    if (tally->count == 1) {
        tally->gone = true;
        tally->deed_last = d;
        tally->capacity_last = tally->capacity;
        m->goes[m->goes_count++] = tally->type;
    }
    target_tally_one_less(tally);
    m->deeds[d] = *mark = true;
    return true;
}

static bool target_tally_change(orri_target* m, const orri_target_tally* tally, uint32_t d)
{
    orr_component_id id = m->group->instances[d].id;
    const bool* mark = target_tally_mark(m, tally, id);
    if (mark == NULL) {
        return orri_target_leave(m, ORRI_SKIPPED_INSTANCE, tally->type, tally->type, id);
    }
    m->deeds[d] = !*mark && !target_listed(m->goes, m->goes_count, tally->type);
    return true;
}

// What is there goes, what comes stays.
static void target_tally_all(orri_target_tally* tally)
{
    for (uint32_t i = 0; tally->added > 0 && i < tally->existing; i++) {
        target_tally_one_less(tally);
    }
}

// In three passes: what comes; what goes; and, once that is known, what changes.
static orr_result target_deed(orri_target* m, uint32_t d, int pass)
{
    const orri_instance_change* deed = &m->group->instances[d];
    const orri_type* info = orri_type_at(&m->change->world->schema, deed->type);
    int kind = deed->removed ? 1 : deed->id == 0 ? 0 : 2;
    if (info == NULL) {
        return orri_refuse_type(m->change->world, m->change->desc->call, deed->type);
    }
    if (kind != pass) {
        return ORR_OK;
    }
    if (info->info.multiplicity != ORR_MULTIPLE) {
        return orri_target_leave(m, ORRI_SKIPPED_UNIQUE, deed->type, deed->type, 0)
                   ? ORR_OK
                   : ORR_ERR_MEMORY;
    }
    orri_target_tally* tally = target_tally_of(m, deed->type, info);
    orr_result result = tally != NULL ? ORR_OK : ORR_ERR_MEMORY;
    if (tally == NULL) {
        return result;
    }
    if (pass == 0) {
        result = target_tally_add(m, tally, d);
    } else if (!tally->all && deed->id != 0) {
        bool ok = pass == 1 ? target_tally_remove(m, tally, d) : target_tally_change(m, tally, d);
        result = ok ? ORR_OK : ORR_ERR_MEMORY;
    }
    // What the entity will never have need not be counted further.
    if (!target_listed(m->types, m->type_count, deed->type) &&
        !orri_target_base_has(m, deed->type)) {
        ORR_ASSERT(tally == &m->tallies[m->tally_count - 1]);
        m->tally_count--;
    }
    return result;
}

static orr_result target_deeds(orri_target* m, int pass)
{
    orr_result result = ORR_OK;
    for (uint32_t d = 0; result == ORR_OK && d < m->group->instance_count; d++) {
        result = target_deed(m, d, pass);
    }
    for (uint32_t i = 0; pass == 0 && i < m->tally_count; i++) {
        if (m->tallies[i].all) {
            target_tally_all(&m->tallies[i]);
        }
    }
    return result;
}

bool orri_change_adds_instance(const orri_change* c, uint32_t g, orr_type type)
{
    const orri_group* group = orri_change_group(c, g);
    for (uint32_t d = 0; d < group->instance_count; d++) {
        const orri_instance_change* deed = &group->instances[d];
        if (deed->id == 0 && !deed->removed && deed->type.id == type.id &&
            c->deeds[c->parts[g].deed_first + d]) {
            return true;
        }
    }
    return false;
}

bool orri_change_takes_all(const orri_change* c, uint32_t g, orr_type type)
{
    return target_takes_all(orri_change_group(c, g), type) && orri_change_adds_instance(c, g, type);
}

// ---- what goes -----------------------------------------------------------------------------------------------

static orri_target_tally* target_tally_find(orri_target* m, orr_type type)
{
    for (uint32_t i = 0; i < m->tally_count; i++) {
        if (m->tallies[i].type.id == type.id) {
            return &m->tallies[i];
        }
    }
    return NULL;
}

static void target_take(orri_target* m, orr_type type)
{
    const orri_target_tally* tally = target_tally_find(m, type);
    if (target_listed(m->types, m->type_count, type) && m->goes_count < ORR_CLUSTER_TYPES_MAX &&
        !target_listed(m->goes, m->goes_count, type) && (tally == NULL || tally->added == 0)) {
        m->goes[m->goes_count++] = type;
    }
}

// The first type that stays and needs another. Null: none.
static orr_type target_dependent(const orri_target* m, orr_type type)
{
    for (uint32_t i = 0; i < m->type_count; i++) {
        uint32_t count;
        const orr_type* needs = orri_required_types_of(m->change->world, m->types[i], &count);
        if (target_listed(needs, count, type) &&
            !target_listed(m->goes, m->goes_count, m->types[i])) {
            return m->types[i];
        }
    }
    return (orr_type){0};
}

// A type stays after all; of its instances, the last one.
static void target_stays(orri_target* m, uint32_t i)
{
    orri_target_tally* tally = target_tally_find(m, m->goes[i]);
    if (tally != NULL && tally->gone) {
        m->deeds[tally->deed_last] = false;
        *target_tally_mark(m, tally, m->group->instances[tally->deed_last].id) = false;
        tally->capacity = tally->capacity_last;
        tally->count = 1;
    }
    memmove(m->goes + i, m->goes + i + 1, (m->goes_count - i - 1) * sizeof *m->goes);
    m->goes_count--;
}

// Until nothing goes that is needed by what stays.
static bool target_keep_needed(orri_target* m)
{
    for (uint32_t i = 0; i < m->goes_count;) {
        orr_type type = m->goes[i];
        uint32_t index = orri_type_index(m->change->world, type);
        orr_type dependent = orri_required_types_needed(m->change->world, index)
                                 ? target_dependent(m, type)
                                 : (orr_type){0};
        if (dependent.id == 0) {
            i++;
            continue;
        }
        target_stays(m, i);
        if (!orri_target_leave(m, ORRI_SKIPPED_NEEDED, type, dependent, 0)) {
            return false;
        }
        i = 0; // It may need others that were to go.
    }
    return true;
}

static void target_remove(orri_target* m)
{
    uint32_t count = 0;
    for (uint32_t i = 0; m->goes_count > 0 && i < m->type_count; i++) {
        if (!target_listed(m->goes, m->goes_count, m->types[i])) {
            m->types[count++] = m->types[i];
        }
    }
    m->gone_count = m->goes_count > 0 ? m->type_count - count : 0;
    m->type_count -= m->gone_count;
    for (uint32_t d = 0; d < m->group->instance_count; d++) {
        if (target_listed(m->goes, m->goes_count, m->group->instances[d].type)) {
            m->deeds[d] = false; // It goes with the column.
        }
    }
}

static orr_result target_take_all(orri_target* m)
{
    for (uint32_t i = 0; i < m->group->taken_count; i++) {
        const orri_type* found = orri_type_at(&m->change->world->schema, m->group->taken[i]);
        if (found == NULL) {
            return orri_refuse_type(m->change->world, m->change->desc->call, m->group->taken[i]);
        }
        target_take(m, m->group->taken[i]);
    }
    for (uint32_t i = 0; i < m->tally_count; i++) {
        if (m->tallies[i].all) {
            target_take(m, m->tallies[i].type);
        }
    }
    if (!target_keep_needed(m)) {
        return ORR_ERR_MEMORY;
    }
    target_remove(m);
    return ORR_OK;
}

// ---- tags ----------------------------------------------------------------------------------------------------

// One tag too many is left out. False when refused.
static bool target_add_tag(orri_target* m, orr_tag tag)
{
    uint32_t at = m->tag_count;
    while (at > 0 && m->tags[at - 1] > tag) {
        at--;
    }
    if (at > 0 && m->tags[at - 1] == tag) {
        return true;
    }
    if (m->tag_count == ORR_CLUSTER_TAGS_MAX) {
        return orri_target_leave(m, ORRI_SKIPPED_TAGS_MAX, (orr_type){0}, (orr_type){0}, 0);
    }
    memmove(m->tags + at + 1, m->tags + at, (m->tag_count - at) * sizeof *m->tags);
    m->tags[at] = tag;
    m->tag_count++;
    return true;
}

static bool target_change_tags(orri_target* m)
{
    const orri_group* group = m->group;
    // First those that go, so that a set at its limit has room.
    for (uint32_t i = 0; i < group->tag_off_count; i++) {
        for (uint32_t k = 0; k < m->tag_count; k++) {
            if (m->tags[k] == group->tags_off[i]) {
                memmove(m->tags + k, m->tags + k + 1, (m->tag_count - k - 1) * sizeof *m->tags);
                m->tag_count--;
            }
        }
    }
    bool added = true;
    for (uint32_t i = 0; added && i < group->tag_on_count; i++) {
        added = target_add_tag(m, group->tags_on[i]);
    }
    return added;
}

// ---- the cluster ---------------------------------------------------------------------------------------------

static void target_size(orri_target* m)
{
    for (uint32_t i = 0; i < m->type_count; i++) {
        int32_t column = m->base != NULL ? orri_cluster_find_column(m->base, m->types[i]) : -1;
        const orri_target_tally* tally = target_tally_find(m, m->types[i]);
        m->capacities[i] = tally != NULL ? (uint16_t)tally->capacity
                           : column >= 0 ? m->base->capacities[column]
                                         : 1;
    }
}

static bool target_is_base(const orri_target* m)
{
    const orri_cluster* base = m->base;
    return base != NULL && m->type_count == base->type_count && m->tag_count == base->tag_count &&
           memcmp(m->types, base->types, m->type_count * sizeof *m->types) == 0 &&
           memcmp(m->capacities, base->capacities, m->type_count * sizeof *m->capacities) == 0 &&
           memcmp(m->tags, base->tags, m->tag_count * sizeof *m->tags) == 0;
}

static orr_result target_obtain(orri_target* m)
{
    orri_change* c = m->change;
    bool created;
    if (!ORRI_CHANGE_ADD(c, c->created, c->created_count, c->created_capacity)) {
        return ORR_ERR_MEMORY;
    }
    m->route->to = orri_cluster_obtain_sized(c->world, c->desc->call, m->types, m->capacities,
                                             m->type_count, m->tags, m->tag_count, &created);
    if (m->route->to == NULL) {
        return orri_env_result(&c->world->env);
    }
    if (created) {
        c->created[c->created_count++] = m->route->to;
    }
    return ORR_OK;
}

// Where the values of the given types go.
static orr_result target_columns(orri_target* m)
{
    orri_change* c = m->change;
    const orri_group* group = m->group;
    uint32_t needed = c->column_count + group->given_count;
    if (needed > c->column_capacity &&
        !orri_change_grow(c, (void**)&c->columns, &c->column_capacity, needed,
                          sizeof *c->columns)) {
        return ORR_ERR_MEMORY;
    }
    m->route->columns = c->column_count;
    for (uint32_t k = 0; k < group->given_count; k++) {
        int32_t column = orri_cluster_find_column(m->route->to, group->given[k].type);
        bool has = !m->creates && orri_target_base_has(m, group->given[k].type);
        bool left = column < 0 || (has && m->route->to->columns[column].counts != 0);
        c->columns[c->column_count++] = left  ? ORRI_GIVEN_NONE
                                        : has ? (uint16_t)((uint32_t)column | ORRI_GIVEN_HAS)
                                              : (uint16_t)column;
    }
    return ORR_OK;
}

// ---- the route -----------------------------------------------------------------------------------------------

void orri_target_begin(orri_target* m)
{
    const orri_cluster* base = m->base;
    m->type_count = base != NULL ? base->type_count : 0;
    m->tag_count = base != NULL ? base->tag_count : 0;
    m->goes_count = m->tally_count = m->gone_count = 0;
    m->change->mark_count = 0;
    if (base != NULL) {
        memcpy(m->types, base->types, m->type_count * sizeof *m->types);
        memcpy(m->tags, base->tags, m->tag_count * sizeof *m->tags);
    }
    for (uint32_t d = 0; d < m->group->instance_count; d++) {
        m->deeds[d] = false;
    }
    m->change->route_left_count = m->route->left_first;
    m->route->left_count = 0;
}

static orr_result target_gather(orri_target* m)
{
    orri_target_begin(m);
    orr_result result = target_add_given(m);
    for (int pass = 0; result == ORR_OK && pass < 3; pass++) {
        result = pass == 2 ? target_take_all(m) : ORR_OK;
        result = result == ORR_OK ? target_deeds(m, pass) : result;
    }
    if (result == ORR_OK && !target_change_tags(m)) {
        return ORR_ERR_MEMORY;
    }
    return result;
}

// Types that may go: there is room for as many more, until it is known which do.
static uint32_t target_may_go(const orri_group* group)
{
    uint32_t count = group->taken_count < ORR_CLUSTER_TYPES_MAX ? group->taken_count
                                                                : ORR_CLUSTER_TYPES_MAX;
    for (uint32_t d = 0; count < ORR_CLUSTER_TYPES_MAX && d < group->instance_count; d++) {
        count += group->instances[d].removed;
    }
    return count;
}

// The set of types and tags. If too many types are left in the end, again, with room for no more than those that went; and if
// what went was brought by what is left out now, without any.
static orr_result target_set(orri_target* m)
{
    m->types_most = ORR_CLUSTER_TYPES_MAX + target_may_go(m->group);
    orr_result result = target_gather(m);
    for (int turn = 0; result == ORR_OK && m->type_count > ORR_CLUSTER_TYPES_MAX; turn++) {
        m->types_most = ORR_CLUSTER_TYPES_MAX + (turn == 0 ? m->gone_count : 0);
        result = target_gather(m);
    }
    return result;
}

static orr_result target_find(orri_target* m)
{
    orr_result result = target_set(m);
    if (result != ORR_OK) {
        return result;
    }
    target_size(m);
    if (target_is_base(m)) {
        m->route->to = (orri_cluster*)(uintptr_t)m->base;
    } else if (ORR_UNLIKELY(orri_cluster_over_limit(m->change->world, m->types, m->capacities,
                                                    m->type_count, m->tags, m->tag_count))) {
        result = orri_target_stay(m);
    } else {
        result = target_obtain(m);
    }
    return result == ORR_OK ? target_columns(m) : result;
}

orr_result orri_change_aim(orri_change* c, uint32_t g, orr_entity entity, orri_route* route)
{
    orri_target m; // Large: what counts is set by orri_target_begin().
    m.change = c;
    m.group = orri_change_group(c, g);
    m.creates = route->from == NULL;
    m.base = m.creates ? orri_cluster_at(c->world, m.group->cluster) : route->from;
    m.entity = entity;
    m.deeds = c->deeds + c->parts[g].deed_first;
    m.route = route;
    if (m.creates && m.base == NULL && m.group->cluster.id != 0) {
        return orri_refuse_cluster(c->world, c->desc->call, m.group->cluster);
    }
    route->left_first = c->route_left_count;
    orr_result result = target_find(&m);
    if (result == ORR_OK && !m.creates && route->to != route->from) {
        route->plan = orri_transition_pair_get(c->world, route->from, route->to);
        result = route->plan != NULL ? ORR_OK : orri_env_result(&c->world->env);
    }
    return result;
}
