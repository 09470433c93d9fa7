// SPDX-License-Identifier: MIT
// Operations on everything that an entity can have besides plain components: instances, names,
// indexed references, the world's own entity, references to components.
#include "model/ops.h"

#include "test.h"

#include <stdlib.h>

#define INSTANCES_MOST 40u // Of a type on one entity: capacities of 1 to 64 occur.

static _Alignas(64) uint8_t world_value[OPS_VALUE_MAX];
static _Alignas(64) uint8_t model_value[OPS_VALUE_MAX];

// ---- instances ----------------------------------------------------------------------------------

// A type that `wanted` accepts, starting at a random one; false if there is none.
static bool ops_kind_pick(ops* s, bool (*wanted)(const oracle_type*), uint32_t* out)
{
    uint32_t count = s->oracle.type_count, first = ops_pick_type(s);
    for (uint32_t i = 0; i < count; i++) {
        *out = (first + i) % count;
        if (wanted(&s->oracle.types[*out])) {
            return true;
        }
    }
    return false;
}

static bool ops_kind_multiple(const oracle_type* type)
{
    return type->multiple;
}

static bool ops_kind_indexed(const oracle_type* type)
{
    return type->reference_count > 0;
}

// Number of instances that the row of an entity has room for; 0 if it has none of the type.
static uint32_t ops_capacity(const ops* s, const oracle_entity* entity, uint32_t type)
{
    orr_cluster_info info = kit_info(s->world, orr_entity_cluster(s->world, entity->id));
    for (uint32_t i = 0; i < info.type_count; i++) {
        if (info.types[i].id == s->oracle.types[type].type.id) {
            return info.capacities[i];
        }
    }
    return 0;
}

static void op_instance_add(ops* s)
{
    oracle_entity* entity = ops_pick(s);
    uint32_t type;
    bool given = !ops_chance(s, 4);
    if (entity == NULL || !ops_kind_pick(s, ops_kind_multiple, &type) ||
        (given && !ops_make(s, type, world_value, model_value))) {
        return;
    }
    oracle_component* component = oracle_component_of(entity, type);
    uint32_t count = component != NULL ? component->instance_count : 0;
    uint32_t room = ops_capacity(s, entity, type);
    if (count >= INSTANCES_MOST) {
        return;
    }
    orr_component_id id = orr_instance_add(s->world, entity->id, s->oracle.types[type].type,
                                           given ? world_value : NULL);
    if (id == 0) {
        (void)ops_refused(s, ops_last_result(s));
        MODEL_CHECK(ops_capacity(s, entity, type) == room);
        return;
    }
    s->done++;
    oracle_instance_add(&s->oracle, entity, type, given ? model_value : NULL)->id = id;
    uint32_t expected = room == 0 ? 1 : count == room ? room * 2 : room;
    MODEL_CHECK(ops_capacity(s, entity, type) == expected);
    oracle_instances_learn(&s->oracle, s->world, entity, oracle_component_of(entity, type));
}

// A multiple component of some entity with known ids; NULL if none was found.
static oracle_component* ops_instances_pick(ops* s, oracle_entity** entity)
{
    for (uint32_t tries = 0; tries < 8; tries++) {
        *entity = ops_pick(s);
        uint32_t count = *entity != NULL ? (*entity)->component_count : 0;
        uint32_t first = ops_below(s, count);
        for (uint32_t i = 0; i < count; i++) {
            oracle_component* component = &(*entity)->components[(first + i) % count];
            if (component->instance_count > 0) {
                oracle_instances_learn(&s->oracle, s->world, *entity, component);
                return component;
            }
        }
    }
    return NULL;
}

static void op_instance_remove(ops* s)
{
    oracle_entity* entity;
    oracle_component* component = ops_instances_pick(s, &entity);
    if (component == NULL) {
        return;
    }
    uint32_t type = component->type, count = component->instance_count, i = ops_below(s, count);
    uint32_t room = ops_capacity(s, entity, type);
    orr_result result = orr_instance_remove(s->world, entity->id, s->oracle.types[type].type,
                                            component->instances[i].id);
    if (count == 1 && oracle_component_needed(&s->oracle, entity, type)) {
        ops_refused_as(s, result, ORR_ERR_STATE);
    } else if (!ops_refused(s, result)) {
        oracle_instance_remove(&s->oracle, entity, type, i);
        uint32_t expected = count == 1 ? 0 : (count - 1) * 4 <= room ? room / 2 : room;
        MODEL_CHECK(ops_capacity(s, entity, type) == expected);
        return;
    }
    MODEL_CHECK(ops_capacity(s, entity, type) == room);
}

static void op_instance_set(ops* s)
{
    oracle_entity* entity;
    oracle_component* component = ops_instances_pick(s, &entity);
    if (component == NULL || !ops_make(s, component->type, world_value, model_value)) {
        return;
    }
    uint32_t i = ops_below(s, component->instance_count);
    if (!ops_refused(s,
                     orr_instance_set(s->world, entity->id, s->oracle.types[component->type].type,
                                      component->instances[i].id, world_value))) {
        memcpy(component->instances[i].value, model_value, s->oracle.types[component->type].size);
        oracle_component_written(&s->oracle, component);
    }
}

static void op_instance_edit(ops* s)
{
    oracle_entity* entity;
    oracle_component* component = ops_instances_pick(s, &entity);
    if (component == NULL) {
        return;
    }
    uint32_t i = ops_below(s, component->instance_count);
    void* place = orr_instance_edit(s->world, entity->id, s->oracle.types[component->type].type,
                                    component->instances[i].id);
    if (place == NULL) {
        (void)ops_refused(s, ops_last_result(s));
        return;
    }
    ops_write_through(s, component->type, place, component, i);
}

static void op_instance_enable(ops* s)
{
    oracle_entity* entity;
    oracle_component* component = ops_instances_pick(s, &entity);
    if (component == NULL) {
        return;
    }
    uint32_t i = ops_below(s, component->instance_count);
    bool on = ops_chance(s, 2), all = ops_chance(s, 6);
    if (ops_refused(s,
                    orr_instance_enable(s->world, entity->id, s->oracle.types[component->type].type,
                                        all ? 0 : component->instances[i].id, on))) {
        return;
    }
    if (all) {
        oracle_component_switch(&s->oracle, component, on);
    } else {
        oracle_instance_switch(&s->oracle, component, i, on);
    }
}

static bool ops_instance_known(const oracle_component* component, orr_component_id id)
{
    for (uint32_t i = 0; component != NULL && i < component->instance_count; i++) {
        if (component->instances[i].id == id) {
            return true;
        }
    }
    return false;
}

// Ids that do not exist, and unique types, which have instance 0.
static void op_instance_absent(ops* s)
{
    oracle_entity* entity = ops_pick(s);
    uint32_t index = ops_pick_type(s);
    if (entity == NULL) {
        return;
    }
    const oracle_type* type = &s->oracle.types[index];
    oracle_component* component = oracle_component_of(entity, index);
    orr_component_id id = 1 + ops_below(s, 5000);
    if (component != NULL && type->multiple) {
        oracle_instances_learn(&s->oracle, s->world, entity, component);
    }
    if (ops_instance_known(component, id) || !ops_make(s, index, world_value, model_value)) {
        return;
    }
    orr_world* world = s->world;
    MODEL_CHECK(orr_instance_get(world, entity->id, type->type, id) == NULL);
    MODEL_CHECK(orr_instance_edit(world, entity->id, type->type, id) == NULL);
    MODEL_CHECK(!orr_instance_enabled(world, entity->id, type->type, id));
    ops_refused_as(s, orr_instance_remove(world, entity->id, type->type, id), ORR_ERR_ABSENT);
    ops_refused_as(s, orr_instance_set(world, entity->id, type->type, id, world_value),
                   ORR_ERR_ABSENT);
    ops_refused_as(s, orr_instance_enable(world, entity->id, type->type, id, false),
                   ORR_ERR_ABSENT);
    if (!type->multiple) {
        MODEL_CHECK(orr_instance_add(world, entity->id, type->type, world_value) == 0);
        ops_refused_as(s, ops_last_result(s), ORR_ERR_ARGUMENT);
        const void* values;
        const orr_component_id* ids;
        uint32_t count = orr_instances_get(world, entity->id, type->type, &values, &ids);
        MODEL_CHECK(count == (component != NULL));
        MODEL_CHECK(count == 0 ||
                    (ids[0] == 0 && values == orr_component_get(world, entity->id, type->type)));
    }
}

// ---- references to components -------------------------------------------------------------------

static oracle_component* ops_ref_find(const ops* s, orr_component_ref ref, uint32_t* instance)
{
    oracle_entity* entity = oracle_find(&s->oracle, ref.entity);
    uint32_t type = oracle_type_index(&s->oracle, ref.type);
    oracle_component* component = entity != NULL ? oracle_component_of(entity, type) : NULL;
    *instance = 0;
    if (component == NULL || !s->oracle.types[type].multiple) {
        return ref.id == 0 ? component : NULL;
    }
    oracle_instances_learn(&s->oracle, s->world, entity, component);
    while (*instance < component->instance_count && component->instances[*instance].id != ref.id) {
        ++*instance;
    }
    return *instance < component->instance_count ? component : NULL;
}

static void op_ref(ops* s)
{
    uint32_t place = ops_below(s, OPS_REFS_MAX), instance;
    orr_component_ref* ref = &s->refs[place];
    if (ref->type.id != 0) {
        oracle_component* component = ops_ref_find(s, *ref, &instance);
        const void* value = orr_ref_get(s->world, *ref);
        MODEL_CHECK((value != NULL) == (component != NULL));
        MODEL_CHECK(component == NULL ||
                    oracle_value_equal(&s->oracle, s->world, component->type, value,
                                       oracle_value_at(component, instance)));
        bool by_set = component != NULL && s->oracle.types[component->type].reference_count > 0;
        void* edited = by_set ? NULL : orr_ref_edit(s->world, *ref);
        MODEL_CHECK(edited == NULL || component != NULL);
        if (edited != NULL) {
            ops_write_through(s, component->type, edited, component, instance);
        } else if (component != NULL && !by_set) {
            (void)ops_refused(s, ops_last_result(s));
        }
    }
    oracle_entity* entity = ops_pick(s);
    if (entity != NULL && (ref->type.id == 0 || ops_chance(s, 4))) {
        uint32_t type = ops_pick_type_of(s, entity);
        oracle_component* component = oracle_component_of(entity, type);
        *ref = (orr_component_ref){entity->id, s->oracle.types[type].type, 0};
        if (component != NULL && component->instance_count > 0) {
            oracle_instances_learn(&s->oracle, s->world, entity, component);
            ref->id = component->instances[ops_below(s, component->instance_count)].id;
        }
    }
}

// ---- indexed references -------------------------------------------------------------------------

static int ops_id_compare(const void* a, const void* b)
{
    uint32_t x = (uint32_t)((const orr_entity*)a)->id, y = (uint32_t)((const orr_entity*)b)->id;
    return (x > y) - (x < y);
}

static bool ops_refers(const ops* s, const oracle_entity* entity, uint32_t type, orr_entity target,
                       int32_t field)
{
    const oracle_component* component = oracle_component_of(entity, type);
    const oracle_type* t = &s->oracle.types[type];
    for (uint32_t i = 0; component != NULL && i < t->reference_count; i++) {
        orr_entity reference;
        memcpy(&reference, (const char*)component->value + t->references[i].offset,
               sizeof reference);
        if (reference.id == target.id && (field < 0 || (uint32_t)field == i)) {
            return true;
        }
    }
    return false;
}

static void op_referrers(ops* s)
{
    // Listed by hand: the paths of the indexed references, in order.
    static const struct {
        const char* type;
        const char* paths[4];
    } known[] = {{"Holder", {"owner"}},
                 {"Aimer", {"targets[0]", "targets[1]", "targets[2]"}},
                 {"Memoir", {"about"}},
                 {"Knot", {"first", "rest[0]", "rest[1]"}}};
    oracle_entity* target = ops_pick(s);
    uint32_t type;
    if (target == NULL || !ops_kind_pick(s, ops_kind_indexed, &type)) {
        return;
    }
    int32_t field = ops_chance(s, 2) ? -1
                                     : (int32_t)ops_below(s, s->oracle.types[type].reference_count);
    const char* path = NULL;
    for (uint32_t i = 0; field >= 0 && i < 4; i++) {
        path = strcmp(known[i].type, s->types[type].name) == 0 ? known[i].paths[field] : path;
    }
    uint32_t expected = 0, room = ops_below(s, 12);
    orr_entity* all = malloc(sizeof *all * (s->oracle.live_count + 1));
    MODEL_CHECK(all != NULL);
    for (uint32_t i = 0; i < s->oracle.live_count; i++) {
        if (ops_refers(s, s->oracle.live[i], type, target->id, field)) {
            all[expected++] = s->oracle.live[i]->id;
        }
    }
    qsort(all, expected, sizeof *all, ops_id_compare);
    orr_entity out[12] = {{0}};
    MODEL_CHECK(orr_referrers_get(s->world, target->id, s->oracle.types[type].type, path, out,
                                  room) == expected);
    for (uint32_t i = 0; i < room; i++) {
        MODEL_CHECK(out[i].id == (i < expected ? all[i].id : 0));
    }
    free(all);
}

// ---- names --------------------------------------------------------------------------------------

static void ops_name_make(ops* s, char* out)
{
    uint32_t length = 1 + ops_below(s, 2);
    for (uint32_t i = 0; i < length; i++) {
        out[i] = (char)('a' + ops_below(s, 6));
    }
    out[length] = '\0';
}

// True if the scope is the entity itself or is named somewhere below it.
static bool ops_scope_below(const ops* s, orr_entity scope, const oracle_entity* entity)
{
    for (oracle_entity* at = oracle_find(&s->oracle, scope); at != NULL;
         at = at->name[0] != '\0' ? oracle_find(&s->oracle, at->scope) : NULL) {
        if (at == entity) {
            return true;
        }
    }
    return false;
}

static orr_entity ops_scope_pick(ops* s)
{
    if (ops_chance(s, 2)) {
        return (orr_entity){0};
    }
    if (s->oracle.dead_count > 0 && ops_chance(s, 12)) {
        return s->oracle.dead[(s->oracle.dead_count - 1) % ORACLE_DEAD_MAX];
    }
    oracle_entity* scope = ops_pick(s);
    return scope != NULL ? scope->id : (orr_entity){0};
}

static void op_name(ops* s)
{
    oracle_entity* entity = ops_pick(s);
    if (entity == NULL || !s->shape->names) {
        return;
    }
    char name[ORACLE_NAME_MAX] = "";
    ops_name_make(s, name);
    orr_entity scope = ops_scope_pick(s);
    orr_result result = orr_name_set(s->world, entity->id, scope, name);
    oracle_entity* taken = oracle_named(&s->oracle, scope, name);
    if (scope.id != 0 && oracle_find(&s->oracle, scope) == NULL) {
        ops_refused_as(s, result, ORR_ERR_ENTITY);
    } else if (ops_scope_below(s, scope, entity)) {
        ops_refused_as(s, result, ORR_ERR_ARGUMENT);
    } else if (taken != NULL && taken != entity) {
        ops_refused_as(s, result, ORR_ERR_CONFLICT);
    } else if (!ops_refused(s, result)) {
        memcpy(entity->name, name, sizeof name);
        entity->scope = scope;
    }
}

static void op_name_remove(ops* s)
{
    oracle_entity* entity = ops_pick(s);
    orr_type type = orr_type_find(s->world, "orr_name");
    if (entity == NULL || type.id == 0) {
        return;
    }
    bool by_component = ops_chance(s, 2);
    orr_result result = by_component ? orr_component_remove(s->world, entity->id, type)
                                     : orr_name_set(s->world, entity->id, (orr_entity){0}, NULL);
    if (!ops_refused(s, result)) {
        entity->name[0] = '\0';
        entity->scope = (orr_entity){0};
    }
    orr_name value = {0};
    ops_refused_as(s, orr_component_set(s->world, entity->id, type, &value), ORR_ERR_ARGUMENT);
}

static void op_create_named(ops* s)
{
    char name[ORACLE_NAME_MAX] = "";
    ops_name_make(s, name);
    if (!ops_room_for(s, 1) || !s->shape->names) {
        return;
    }
    orr_entity id = orr_create_named(s->world, name);
    if (oracle_named(&s->oracle, (orr_entity){0}, name) != NULL) {
        MODEL_CHECK(id.id == 0);
        ops_refused_as(s, ops_last_result(s), ORR_ERR_CONFLICT);
    } else if (id.id == 0) {
        (void)ops_refused(s, ops_last_result(s));
    } else {
        memcpy(oracle_create(&s->oracle, id)->name, name, sizeof name);
        ops_cluster_seen(s, orr_entity_cluster(s->world, id));
        s->done++;
    }
}

// The path of an entity finds it if all scopes up to the world are alive and have names.
static void op_path(ops* s)
{
    oracle_entity* entity = ops_pick(s);
    char path[256];
    if (entity == NULL || orr_path_print(s->world, entity->id, path, sizeof path) >= sizeof path) {
        return;
    }
    MODEL_CHECK((path[0] == '\0') == (entity->name[0] == '\0'));
    const oracle_entity* at = entity;
    while (at != NULL && at->name[0] != '\0' && at->scope.id != 0) {
        at = oracle_find(&s->oracle, at->scope);
    }
    if (at != NULL && at->name[0] != '\0') {
        MODEL_CHECK(orr_find(s->world, (orr_entity){0}, path).id == entity->id.id);
    }
    char name[ORACLE_NAME_MAX] = "";
    ops_name_make(s, name);
    const oracle_entity* found = oracle_named(&s->oracle, (orr_entity){0}, name);
    MODEL_CHECK(orr_find(s->world, (orr_entity){0}, name).id == (found != NULL ? found->id.id : 0));
}

// ---- the world's own entity ---------------------------------------------------------------------

static void op_singleton(ops* s)
{
    bool there = oracle_find(&s->oracle, s->singleton) != NULL;
    uint32_t type = ops_pick_type(s);
    const oracle_component* component =
        there ? oracle_component_of(oracle_find(&s->oracle, s->singleton), type) : NULL;
    const void* value = orr_singleton_get(s->world, s->oracle.types[type].type);
    MODEL_CHECK((value != NULL) == (component != NULL));
    if (!ops_chance(s, 4) || (!there && !ops_room_for(s, 1))) {
        return;
    }
    orr_entity id = orr_world_entity(s->world);
    if (id.id == 0) {
        (void)ops_refused(s, ops_last_result(s));
        return;
    }
    MODEL_CHECK(!there || id.id == s->singleton.id);
    if (!there) {
        s->singleton = id;
        oracle_create(&s->oracle, id);
        ops_cluster_seen(s, orr_entity_cluster(s->world, id));
        s->done++;
    }
}

const ops_entry ops_kind_table[] = {
    {"instance_add", 50, op_instance_add},
    {"instance_remove", 40, op_instance_remove},
    {"instance_set", 15, op_instance_set},
    {"instance_edit", 10, op_instance_edit},
    {"instance_enable", 15, op_instance_enable},
    {"instance_absent", 6, op_instance_absent},
    {"ref", 8, op_ref},
    {"referrers", 8, op_referrers},
    {"name", 20, op_name},
    {"name_away", 4, op_name_remove},
    {"create_named", 3, op_create_named},
    {"path", 3, op_path},
    {"singleton", 6, op_singleton},
    {NULL, 0, NULL},
};
