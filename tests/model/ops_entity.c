// SPDX-License-Identifier: MIT
// Operations on one entity.
#include "model/ops.h"

#include "test.h"

static _Alignas(64) uint8_t world_value[OPS_VALUE_MAX];
static _Alignas(64) uint8_t model_value[OPS_VALUE_MAX];

static void op_create(ops* s)
{
    if (!ops_room_for(s, 1)) {
        return;
    }
    orr_entity id = orr_create(s->world);
    if (id.id == 0) {
        (void)ops_refused(s, ops_last_result(s));
        return;
    }
    s->done++;
    oracle_create(&s->oracle, id);
    ops_cluster_seen(s, orr_entity_cluster(s->world, id));
}

static void op_create_in(ops* s)
{
    orr_cluster cluster = ops_pick_cluster(s);
    orr_cluster_info info;
    if (!ops_room_for(s, 1) || orr_cluster_info_get(s->world, cluster, &info) != ORR_OK) {
        return;
    }
    orr_entity id = orr_create_in(s->world, cluster);
    if (id.id == 0) {
        (void)ops_refused(s, ops_last_result(s));
        return;
    }
    s->done++;
    ops_oracle_create_in(s, id, &info);
    orr_address address;
    MODEL_CHECK(orr_address_get(s->world, id, &address) == ORR_OK);
    MODEL_CHECK(address.row == info.row_count); // New rows go to the end.
}

static void op_destroy(ops* s)
{
    oracle_entity* entity = ops_pick(s);
    if (entity != NULL && !ops_refused(s, orr_destroy(s->world, entity->id))) {
        MODEL_CHECK(!orr_alive(s->world, entity->id));
        oracle_destroy(&s->oracle, entity);
    }
}

static void op_copy(ops* s)
{
    oracle_entity* entity = ops_pick(s);
    if (entity == NULL || !ops_room_for(s, 1)) {
        return;
    }
    orr_entity id = orr_copy(s->world, entity->id);
    if (id.id == 0) {
        (void)ops_refused(s, ops_last_result(s));
        return;
    }
    s->done++;
    oracle_copy(&s->oracle, entity, id);
}

static void op_set(ops* s)
{
    oracle_entity* entity = ops_pick(s);
    uint32_t type = ops_pick_type(s);
    if (entity == NULL || !ops_make(s, type, world_value, model_value)) {
        return;
    }
    if (s->oracle.types[type].multiple) {
        ops_refused_as(
            s, orr_component_set(s->world, entity->id, s->oracle.types[type].type, world_value),
            ORR_ERR_ARGUMENT);
        return;
    }
    if (!ops_refused(
            s, orr_component_set(s->world, entity->id, s->oracle.types[type].type, world_value))) {
        oracle_component_set(&s->oracle, entity, type, model_value);
        ops_cluster_seen(s, orr_entity_cluster(s->world, entity->id));
    }
}

static void op_add(ops* s)
{
    oracle_entity* entity = ops_pick(s);
    uint32_t type = ops_pick_type(s);
    if (entity != NULL &&
        !ops_refused(s, orr_component_add(s->world, entity->id, s->oracle.types[type].type))) {
        oracle_component_add(&s->oracle, entity, type);
    }
}

static void op_remove(ops* s)
{
    oracle_entity* entity = ops_pick(s);
    if (entity == NULL) {
        return;
    }
    uint32_t type = ops_pick_type_of(s, entity);
    orr_result result = orr_component_remove(s->world, entity->id, s->oracle.types[type].type);
    if (oracle_component_of(entity, type) != NULL &&
        oracle_component_needed(&s->oracle, entity, type)) {
        ops_refused_as(s, result, ORR_ERR_STATE);
    } else if (!ops_refused(s, result)) {
        oracle_component_remove(&s->oracle, entity, type);
    }
}

static void op_get(ops* s)
{
    oracle_entity* entity = ops_pick(s);
    if (entity == NULL) {
        return;
    }
    uint32_t index = ops_pick_type(s);
    orr_type type = s->oracle.types[index].type;
    const oracle_component* component = oracle_component_of(entity, index);
    const void* value = orr_component_get(s->world, entity->id, type);
    MODEL_CHECK((value != NULL) == (component != NULL));
    MODEL_CHECK(orr_component_has(s->world, entity->id, type) == (component != NULL));
    MODEL_CHECK(component == NULL || oracle_value_equal(&s->oracle, s->world, index, value,
                                                        oracle_value_at(component, 0)));
    MODEL_CHECK(orr_component_enabled(s->world, entity->id, type) ==
                (component != NULL && oracle_component_on(component)));
    orr_reader reader = orr_reader_make(s->world, type);
    MODEL_CHECK(orr_reader_get(&reader, entity->id) == value);
    orr_component_ref ref = {entity->id, type, 0};
    MODEL_CHECK(orr_ref_get(s->world, ref) == (s->oracle.types[index].multiple ? NULL : value));
}

void ops_write_through(ops* s, uint32_t type, void* place, oracle_component* component, uint32_t i)
{
    void* value = oracle_value_at(component, i);
    if (s->types[type].plain) {
        ops_make(s, type, place, value);
    } else if (s->types[type].hooked) {
        ((Token*)place)->cell.payload = *(uint32_t*)value = ops_below(s, 256);
    }
    oracle_component_written(&s->oracle, component);
    s->done++;
}

// True for a type that is written in place, one value per entity.
static bool ops_editable(const ops* s, uint32_t type)
{
    return !s->oracle.types[type].multiple && s->oracle.types[type].reference_count == 0;
}

// The string is created first: creating it may need memory and must not move the value.
static void op_assign(ops* s)
{
    oracle_entity* entity = ops_pick(s);
    uint32_t type = ops_pick_type(s);
    oracle_component* component = entity != NULL ? oracle_component_of(entity, type) : NULL;
    if (component == NULL || !s->types[type].owned || !ops_editable(s, type) ||
        !ops_make(s, type, world_value, model_value)) {
        return;
    }
    void* place = orr_component_edit(s->world, entity->id, s->oracle.types[type].type);
    if (place == NULL) {
        (void)ops_refused(s, ops_last_result(s));
        return;
    }
    oracle_component_written(&s->oracle, component);
    if (strcmp(s->types[type].name, "Label") == 0 || strcmp(s->types[type].name, "Sign") == 0) {
        orr_string_assign(s->world, &((Label*)place)->text, ((Label*)world_value)->text);
        ((Label*)place)->number = ((Label*)world_value)->number;
    } else {
        // List and Crowd are one array each.
        orr_array_assign(s->world, place, *(orr_array*)(void*)world_value);
    }
    memcpy(component->value, model_value, s->oracle.types[type].size);
    s->done++;
}

static void op_edit(ops* s)
{
    oracle_entity* entity = ops_pick(s);
    if (entity == NULL) {
        return;
    }
    uint32_t type = ops_pick_type(s);
    oracle_component* component = oracle_component_of(entity, type);
    void* place = orr_component_edit(s->world, entity->id, s->oracle.types[type].type);
    if (place != NULL) {
        MODEL_CHECK(component != NULL && ops_editable(s, type));
        ops_write_through(s, type, place, component, 0);
    } else if (component != NULL && ops_editable(s, type)) {
        (void)ops_refused(s, ops_last_result(s));
    } else if (component != NULL) {
        ops_refused_in_place(s, type);
    }
}

static void op_address(ops* s)
{
    // The address kept from earlier is valid exactly while its entity stays there.
    orr_address now;
    bool alive = orr_address_get(s->world, s->address.entity, &now) == ORR_OK;
    bool there = alive && now.row == s->address.row && now.cluster.id == s->address.cluster.id &&
                 now.cluster.generation == s->address.cluster.generation;
    MODEL_CHECK(orr_address_valid(s->world, &s->address) == there);
    oracle_entity* entity = oracle_find(&s->oracle, s->address.entity);
    MODEL_CHECK((entity != NULL) == alive);
    uint32_t type = ops_pick_type(s);
    oracle_component* component = there ? oracle_component_of(entity, type) : NULL;
    orr_type world_type = s->oracle.types[type].type;
    const void* value = orr_address_read(s->world, &s->address, world_type);
    MODEL_CHECK((value != NULL) == (component != NULL));
    void* place = orr_address_write(s->world, &s->address, world_type);
    if (place != NULL) {
        MODEL_CHECK(component != NULL && ops_editable(s, type));
        ops_write_through(s, type, place, component, 0);
    } else if (component != NULL && ops_editable(s, type)) {
        (void)ops_refused(s, ops_last_result(s));
    } else if (component != NULL) {
        ops_refused_in_place(s, type);
    }
    oracle_entity* next = ops_pick(s);
    if (next != NULL) {
        MODEL_CHECK(orr_address_get(s->world, next->id, &s->address) == ORR_OK);
    }
}

static void op_tag(ops* s)
{
    oracle_entity* entity = ops_pick(s);
    if (entity == NULL) {
        return;
    }
    orr_tag tag = ops_pick_tag(s);
    MODEL_CHECK(orr_tag_has(s->world, entity->id, tag) == oracle_tag_has(entity, tag));
    if (ops_chance(s, 2) && entity->tag_count < s->shape->cluster_tags) {
        if (!ops_refused(s, orr_tag_add(s->world, entity->id, tag))) {
            s->oracle.structure++;
            oracle_tag_add(entity, tag);
        }
        return;
    }
    if (entity->tag_count > 0) {
        tag = entity->tags[ops_below(s, entity->tag_count)];
    }
    if (!ops_refused(s, orr_tag_remove(s->world, entity->id, tag))) {
        s->oracle.structure++;
        oracle_tag_remove(entity, tag);
    }
}

static void op_enable_component(ops* s)
{
    oracle_entity* entity = ops_pick(s);
    if (entity == NULL) {
        return;
    }
    uint32_t type = ops_pick_type(s);
    bool on = ops_chance(s, 2);
    oracle_component* component = oracle_component_of(entity, type);
    orr_result result = orr_component_enable(s->world, entity->id, s->oracle.types[type].type, on);
    if (component == NULL) {
        ops_refused_as(s, result, ORR_ERR_ABSENT);
    } else if (!ops_refused(s, result)) {
        oracle_component_switch(&s->oracle, component, on);
    }
}

static void op_enable_entity(ops* s)
{
    oracle_entity* entity = ops_pick(s);
    bool on = ops_chance(s, 2);
    if (entity != NULL && !ops_refused(s, orr_entity_enable(s->world, entity->id, on))) {
        oracle_entity_switch(&s->oracle, entity, on);
    }
}

// Every call that takes an id, with an id that is not alive here.
static void op_dead_id(ops* s)
{
    orr_entity id = s->foreign_id;
    if (s->oracle.dead_count > 0 && !ops_chance(s, 4)) {
        uint64_t known = s->oracle.dead_count < ORACLE_DEAD_MAX ? s->oracle.dead_count
                                                                : ORACLE_DEAD_MAX;
        id = s->oracle.dead[ops_below(s, (uint32_t)known)];
    } else if (ops_chance(s, 4)) {
        id = (orr_entity){0};
    }
    orr_world* world = s->world;
    uint32_t type = ops_pick_type(s);
    orr_type world_type = s->oracle.types[type].type;
    orr_cluster cluster = ops_pick_cluster(s);
    orr_address address;
    memset(world_value, 0, sizeof world_value);
    MODEL_CHECK(!orr_alive(world, id));
    ops_refused_as(s, orr_destroy(world, id), ORR_ERR_ENTITY);
    ops_refused_as(s, orr_component_set(world, id, world_type, world_value), ORR_ERR_ENTITY);
    ops_refused_as(s, orr_component_add(world, id, world_type), ORR_ERR_ENTITY);
    ops_refused_as(s, orr_component_remove(world, id, world_type), ORR_ERR_ENTITY);
    ops_refused_as(s, orr_component_enable(world, id, world_type, false), ORR_ERR_ENTITY);
    ops_refused_as(s, orr_entity_enable(world, id, false), ORR_ERR_ENTITY);
    ops_refused_as(s, orr_tag_add(world, id, 1), ORR_ERR_ENTITY);
    ops_refused_as(s, orr_tag_remove(world, id, 1), ORR_ERR_ENTITY);
    ops_refused_as(s, orr_address_get(world, id, &address), ORR_ERR_ENTITY);
    if (cluster.id != 0) {
        ops_refused_as(s, orr_entity_move(world, id, cluster), ORR_ERR_ENTITY);
    }
    ops_refused_as(s, orr_name_set(world, id, (orr_entity){0}, "nobody"), ORR_ERR_ENTITY);
    ops_refused_as(s, orr_instance_set(world, id, world_type, 1, world_value), ORR_ERR_ENTITY);
    ops_refused_as(s, orr_instance_remove(world, id, world_type, 1), ORR_ERR_ENTITY);
    ops_refused_as(s, orr_instance_enable(world, id, world_type, 1, false), ORR_ERR_ENTITY);
    MODEL_CHECK(orr_instance_add(world, id, world_type, world_value) == 0);
    MODEL_CHECK(orr_instance_get(world, id, world_type, 1) == NULL);
    MODEL_CHECK(orr_instance_edit(world, id, world_type, 1) == NULL);
    MODEL_CHECK(!orr_instance_enabled(world, id, world_type, 1));
    MODEL_CHECK(orr_instances_get(world, id, world_type, NULL, NULL) == 0);
    MODEL_CHECK(orr_name_get(world, id)[0] == '\0');
    MODEL_CHECK(orr_ref_get(world, (orr_component_ref){id, world_type, 0}) == NULL);
    MODEL_CHECK(orr_ref_edit(world, (orr_component_ref){id, world_type, 0}) == NULL);
    MODEL_CHECK(orr_copy(world, id).id == 0);
    MODEL_CHECK(orr_component_get(world, id, world_type) == NULL);
    MODEL_CHECK(orr_component_edit(world, id, world_type) == NULL);
    MODEL_CHECK(!orr_component_has(world, id, world_type));
    MODEL_CHECK(!orr_component_enabled(world, id, world_type));
    MODEL_CHECK(!orr_entity_enabled(world, id));
    MODEL_CHECK(!orr_tag_has(world, id, 1));
}

// A reference to a dead entity is refused, in a field and inside an owned array. A reference that
// was stored before its target died may be set again.
static bool ops_refers_to(const ops* s, orr_entity entity, orr_entity target)
{
    orr_type link_type = orr_type_find(s->world, "Link"),
             crowd_type = orr_type_find(s->world, "Crowd");
    const Link* link = link_type.id != 0 ? orr_component_get(s->world, entity, link_type) : NULL;
    const Crowd* crowd = crowd_type.id != 0 ? orr_component_get(s->world, entity, crowd_type)
                                            : NULL;
    if (link != NULL && link->target.id == target.id) {
        return true;
    }
    uint32_t count = 0;
    const orr_entity* members = crowd != NULL ? orr_array_values(s->world, crowd->members, &count)
                                              : NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (members[i].id == target.id) {
            return true;
        }
    }
    return false;
}

static void op_dead_reference(ops* s)
{
    oracle_entity* entity = ops_pick(s);
    if (entity == NULL || s->oracle.dead_count == 0) {
        return;
    }
    orr_entity dead = s->oracle.dead[(s->oracle.dead_count - 1) % ORACLE_DEAD_MAX];
    if (ops_refers_to(s, entity->id, dead)) {
        return;
    }
    orr_type type = orr_type_find(s->world, "Link");
    if (type.id != 0) {
        Link link = {dead, 1};
        ops_refused_as(s, orr_component_set(s->world, entity->id, type, &link), ORR_ERR_ENTITY);
    }
    type = orr_type_find(s->world, "Crowd");
    if (type.id != 0) {
        orr_entity members[2] = {entity->id, dead};
        Crowd crowd = {orr_array_make(s->world, members, 2, sizeof members[0])};
        if (crowd.members.id != 0) {
            s->done++; // The array, which is freed with the tick.
            ops_refused_as(s, orr_component_set(s->world, entity->id, type, &crowd),
                           ORR_ERR_ENTITY);
        }
    }
}

static void op_print(ops* s)
{
    oracle_entity* entity = ops_pick(s);
    char text[64];
    if (entity != NULL) {
        size_t length = orr_entity_print(s->world, entity->id, text, sizeof text);
        MODEL_CHECK(length > 0);
        MODEL_CHECK(strlen(text) == (length < sizeof text ? length : sizeof text - 1));
    }
}

const ops_entry ops_entity_table[] = {
    {"create", 30, op_create},
    {"create_in", 30, op_create_in},
    {"destroy", 30, op_destroy},
    {"copy", 10, op_copy},
    {"set", 80, op_set},
    {"add", 30, op_add},
    {"remove", 40, op_remove},
    {"get", 20, op_get},
    {"edit", 30, op_edit},
    {"assign", 30, op_assign},
    {"address", 20, op_address},
    {"tag", 40, op_tag},
    {"enable_component", 30, op_enable_component},
    {"enable_entity", 15, op_enable_entity},
    {"dead_id", 6, op_dead_id},
    {"dead_reference", 4, op_dead_reference},
    {"print", 2, op_print},
    {NULL, 0, NULL},
};
