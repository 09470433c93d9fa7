// SPDX-License-Identifier: MIT
// Steps of random programs that change the world by calls between ticks, and wrong calls, which are
// refused without effect. A step chooses its entities by its dice and by the world alone.
#include "model/program_calls.h"
#include "test.h"

program_run* program_current;

static uint32_t roll(orr_rng* rng, uint32_t count)
{
    return (uint32_t)orr_rng_below(rng, count);
}

orr_entity program_pick(program_run* r, orr_rng* rng)
{
    uint64_t count = orr_query_count(r->all), at = orr_rng_next(rng);
    return count > 0 ? orr_query_at(r->all, at % count) : (orr_entity){0};
}

static orr_type type_of(program_run* r, const orr_type_desc* desc)
{
    return orr_type_of(r->world, desc);
}

#define TYPE(r, type) type_of(r, ORR_TYPE(type))

static Note note_make(program_run* r, uint32_t number)
{
    char text[40];
    uint32_t numbers[3] = {number, number + 1, 9};
    Note note = {.number = number};
    snprintf(text, sizeof text, "a note from outside: %u", number);
    MAKE(r, note.text, orr_string_make(r->world, text));
    MAKE(r, note.numbers, orr_array_make(r->world, numbers, 1 + number % 3, sizeof *numbers));
    return note;
}

// Types are registered when a file first names them, which allocates.
void program_steps_prepare(program_run* r)
{
    ORR_REGISTER(r->world, Spot, Speed, Fuel, Note, Orb, Root, Kin, Leash, Purse, Friend, Gift,
                 Weather, Calm, Glow);
    if (!r->p->golden) {
        ORR_REGISTER(r->world, Glaze, orr_time, orr_time_traveller, orr_time_stretcher);
    }
}

// ---- changes ------------------------------------------------------------------------------------

void program_set(program_run* r, orr_rng* rng, orr_entity entity)
{
    orr_entity other = program_pick(r, rng);
    uint32_t a = roll(rng, 40), b = roll(rng, 40);
    Note note;
    switch (roll(rng, r->p->golden ? 12 : 13)) {
    case 0:
    case 1:
        DO(r, orr_set(r->world, entity, Spot, {a, b}));
        break;
    case 2:
        DO(r, orr_set(r->world, entity, Speed, {a & 7}));
        break;
    case 3:
        DO(r, orr_set(r->world, entity, Fuel, {(float)a, b}));
        break;
    case 4:
        note = note_make(r, a);
        DO(r, orr_put(r->world, entity, Note, &note));
        break;
    case 5:
        DO(r, orr_set(r->world, entity, Root, {a}));
        break;
    case 6:
        DO(r, orr_set(r->world, entity, Kin, {other, b}));
        break;
    case 7:
        DO(r, orr_set(r->world, entity, Purse, {(int32_t)a, b}));
        break;
    case 8:
        DO(r, orr_set(r->world, entity, Friend, {other}));
        break;
    case 9:
        DO(r, orr_set(r->world, entity, Gift, {a}));
        break;
    case 10:
        DO(r, orr_add(r->world, entity, Calm));
        break;
    case 12:
        DO(r, orr_set(r->world, entity, Glaze, {a, b}));
        break;
    default:
        if (other.id != entity.id) {
            DO(r, orr_set(r->world, entity, Leash, {other}));
        }
        break;
    }
}

static void change_create(program_run* r, orr_rng* rng)
{
    orr_entity made;
    uint32_t x = roll(rng, 40), y = roll(rng, 40);
    MAKE(r, made, orr_create(r->world));
    DO(r, orr_set(r->world, made, Spot, {x, y}));
    for (uint32_t i = roll(rng, 5); i > 0; i--) {
        program_set(r, rng, made);
    }
}

static void change_many(program_run* r, orr_rng* rng)
{
    orr_cluster cluster;
    Spot spots[5];
    Purse purses[5];
    for (uint32_t i = 0; i < 5; i++) {
        spots[i] = (Spot){roll(rng, 30), i};
        purses[i] = (Purse){(int32_t)i, roll(rng, 30)};
    }
    orr_cluster_desc desc = {ORR_TYPES(r->world, Spot, Purse, Friend, Orb)};
    DO(r, orr_cluster_get(r->world, &desc, &cluster));
    orr_column_data data[] = {{TYPE(r, Spot), spots}, {TYPE(r, Purse), purses}};
    uint32_t count = 1 + roll(rng, 5);
    DO(r, orr_create_many(r->world, cluster, count, data, 2, NULL));
}

void program_orb(program_run* r, orr_rng* rng, orr_entity entity)
{
    const orr_component_id* ids = NULL;
    uint32_t count = orr_instances_get(r->world, entity, TYPE(r, Orb), NULL, &ids);
    orr_component_id id = count > 0 ? ids[roll(rng, count)] : 0;
    Orb value = {roll(rng, 20)};
    uint32_t kind = roll(rng, 5);
    if (count == 0 || (kind < 2 && count < 8)) {
        orr_component_id added;
        program_arm(r);
        added = orr_instance_add(r->world, entity, TYPE(r, Orb), &value);
        if (program_refused(r) && added == 0) {
            added = orr_instance_add(r->world, entity, TYPE(r, Orb), &value);
        }
        PROGRAM_CHECK(r, added != 0, "step %u: orr_instance_add: %s", r->at, r->k.errors.text);
    } else if (kind == 2) {
        DO(r, orr_instance_remove(r->world, entity, TYPE(r, Orb), id));
    } else if (kind == 3) {
        DO(r, orr_instance_enable(r->world, entity, TYPE(r, Orb), id, value.size % 2 == 0));
    } else {
        DO(r, orr_instance_set(r->world, entity, TYPE(r, Orb), id, &value));
    }
}

void program_switch(program_run* r, orr_rng* rng, orr_entity entity)
{
    bool on = roll(rng, 2) == 0;
    const orr_type_desc* const descs[] = {ORR_TYPE(Spot), ORR_TYPE(Speed), ORR_TYPE(Orb),
                                          ORR_TYPE(Root)};
    orr_type type = type_of(r, descs[roll(rng, 4)]);
    if (roll(rng, 2) == 0) {
        DO(r, orr_entity_enable(r->world, entity, on));
    } else if (orr_component_has(r->world, entity, type)) {
        DO(r, orr_component_enable(r->world, entity, type, on));
    }
}

static void change_remove(program_run* r, orr_rng* rng, orr_entity entity)
{
    const orr_type_desc* const descs[] = {ORR_TYPE(Spot),   ORR_TYPE(Speed), ORR_TYPE(Fuel),
                                          ORR_TYPE(Note),   ORR_TYPE(Orb),   ORR_TYPE(Root),
                                          ORR_TYPE(Kin),    ORR_TYPE(Leash), ORR_TYPE(Purse),
                                          ORR_TYPE(Friend), ORR_TYPE(Gift),  ORR_TYPE(Calm)};
    orr_type type = type_of(r, descs[roll(rng, 12)]);
    DO(r, orr_component_remove(r->world, entity, type));
}

static void change_name(program_run* r, orr_rng* rng, orr_entity entity)
{
    char name[16];
    snprintf(name, sizeof name, "n%u", roll(rng, 30));
    orr_entity there = orr_find(r->world, (orr_entity){0}, name);
    if (roll(rng, 4) == 0) {
        DO(r, orr_name_set(r->world, entity, (orr_entity){0}, NULL));
    } else if (there.id == 0 || there.id == entity.id) {
        DO(r, orr_name_set(r->world, entity, (orr_entity){0}, name));
    } else {
        orr_result result;
        PROGRAM_CALL(r, result, orr_name_set(r->world, entity, (orr_entity){0}, name));
        PROGRAM_CHECK(r, result == ORR_ERR_CONFLICT, "step %u: a name that is taken: %s", r->at,
                      orr_result_name(result));
    }
}

// Writes values in place, like a direct system.
static void change_write(program_run* r, orr_rng* rng)
{
    uint32_t by = roll(rng, 5);
    orr_query* query = orr_query_text(r->world, "write Spot, ?write Speed");
    PROGRAM_CHECK(r, query != NULL, "step %u: %s", r->at, r->k.errors.text);
    ORR_EACH (it, query) {
        Spot* s = orr_write(&it, Spot);
        Speed* v = orr_write(&it, Speed);
        for (uint32_t i = 0; i < it.count; i++) {
            s[i].y += by;
            if (v != NULL) {
                v[i].v ^= by;
            }
        }
    }
    orr_query_destroy(query);
}

// Calls on whole queries and clusters.
static void change_bulk(program_run* r, orr_rng* rng, orr_entity entity)
{
    static const char* const texts[] = {"Spot, #2", "Calm", "disabled Spot", "Orb, !Speed"};
    orr_query* query = orr_query_text(r->world, texts[roll(rng, 4)]);
    orr_cluster cluster = orr_entity_cluster(r->world, entity);
    Speed speed = {roll(rng, 9)};
    PROGRAM_CHECK(r, query != NULL, "step %u: %s", r->at, r->k.errors.text);
    switch (roll(rng, 5)) {
    case 0:
        DO(r, orr_query_add(query, TYPE(r, Speed), &speed));
        break;
    case 1:
        DO(r, orr_query_remove(query, TYPE(r, Orb)));
        break;
    case 2:
        DO(r, orr_query_destroy_entities(query));
        break;
    case 3:
        DO(r, orr_cluster_clear(r->world, cluster));
        break;
    default:
        DO(r, orr_cluster_delete(r->world, cluster));
        break;
    }
    orr_query_destroy(query);
}

static void change_cull(program_run* r)
{
    while (orr_query_count(r->all) > 60) {
        orr_entity last = orr_query_at(r->all, orr_query_count(r->all) - 1);
        DO(r, orr_destroy(r->world, last));
    }
}

static void change_singleton(program_run* r, orr_rng* rng)
{
    orr_entity entity;
    uint32_t wind = roll(rng, 100);
    MAKE(r, entity, orr_world_entity(r->world));
    DO(r, orr_set(r->world, entity, Weather, {wind}));
}

static void change_transient(program_run* r, orr_rng* rng)
{
    orr_entity made, owner = program_pick(r, rng);
    uint32_t light = roll(rng, 9);
    MAKE(r, made, orr_create_transient(r->world));
    DO(r, orr_set(r->world, made, Glow, {light}));
    if (owner.id != 0) {
        DO(r, orr_set(r->world, owner, Glow, {light}));
    }
    if (roll(rng, 2) == 0) {
        DO(r, orr_destroy(r->world, made));
    }
}

static void change_bundle(program_run* r, orr_rng* rng, orr_entity entity)
{
    uint32_t count = 1 + roll(rng, 3);
    switch (roll(rng, 3)) {
    case 0:
        DO(r, orr_bundle_create(r->world, r->bundle, count, NULL));
        break;
    case 1:
        if (entity.id != 0) {
            DO(r, orr_bundle_add(r->world, entity, r->bundle));
        }
        break;
    default:
        if (entity.id != 0) {
            DO(r, orr_bundle_remove(r->world, entity, r->bundle));
        }
        break;
    }
}

bool program_group_exists(const program_run* r, const char* group)
{
    for (uint32_t i = 0; i < r->p->system_count; i++) {
        const program_system* s = &r->p->systems[i];
        if (s->group != NULL && s->kind != PROGRAM_LEDGER && strcmp(s->group, group) == 0 &&
            orr_system_find(r->world, s->name).id != 0) {
            return true;
        }
    }
    return false;
}

static void change_system(program_run* r, const program_step* step)
{
    orr_system system = orr_system_find(r->world, r->p->systems[step->number].name);
    if (step->op == PROGRAM_OP_GROUP_ENABLE) {
        const char* group = step->number % 2 == 0 ? "left" : "right";
        if (program_group_exists(r, group)) {
            DO(r, orr_group_enable(r->world, group, step->dice % 3 != 0));
        }
    } else if (step->op == PROGRAM_OP_SYSTEM_ADD) {
        bool added = system.id == 0 && program_system_add(r, step->number);
        PROGRAM_CHECK(r, added || system.id != 0, "step %u: orr_system_add: %s", r->at,
                      r->k.errors.text);
    } else if (system.id == 0) {
        return; // Not added yet, or removed.
    } else if (step->op == PROGRAM_OP_SYSTEM_REMOVE) {
        DO(r, orr_system_remove(r->world, system));
    } else {
        DO(r, orr_system_enable(r->world, system, step->dice % 2 == 0));
    }
}

static void change_entity(program_run* r, const program_step* step, orr_rng* rng, orr_entity entity)
{
    orr_entity made;
    orr_tag tag = 1 + step->dice % 3;
    switch (step->op) {
    case PROGRAM_OP_COPY:
        MAKE(r, made, orr_copy(r->world, entity));
        break;
    case PROGRAM_OP_SET:
        program_set(r, rng, entity);
        break;
    case PROGRAM_OP_REMOVE:
        change_remove(r, rng, entity);
        break;
    case PROGRAM_OP_TAG:
        if (roll(rng, 2) == 0) {
            DO(r, orr_tag_add(r->world, entity, tag));
        } else {
            DO(r, orr_tag_remove(r->world, entity, tag));
        }
        break;
    case PROGRAM_OP_SWITCH:
        program_switch(r, rng, entity);
        break;
    case PROGRAM_OP_NAME:
        change_name(r, rng, entity);
        break;
    case PROGRAM_OP_DESTROY:
        DO(r, orr_destroy(r->world, entity));
        break;
    case PROGRAM_OP_ORB:
        program_orb(r, rng, entity);
        break;
    case PROGRAM_OP_BULK:
        change_bulk(r, rng, entity);
        break;
    default:
        break;
    }
}

void program_step_change(program_run* r, const program_step* step)
{
    orr_rng rng = {.first = step->dice};
    orr_entity entity;
    switch (step->op) {
    case PROGRAM_OP_CREATE:
        change_create(r, &rng);
        break;
    case PROGRAM_OP_BUNDLE:
        change_bundle(r, &rng, program_pick(r, &rng));
        break;
    case PROGRAM_OP_MANY:
        change_many(r, &rng);
        break;
    case PROGRAM_OP_WRITE:
        change_write(r, &rng);
        break;
    case PROGRAM_OP_SINGLE:
        change_singleton(r, &rng);
        break;
    case PROGRAM_OP_CULL:
        change_cull(r);
        break;
    case PROGRAM_OP_TRANSIENT:
        change_transient(r, &rng);
        break;
    case PROGRAM_OP_SYSTEM_ADD:
    case PROGRAM_OP_SYSTEM_REMOVE:
    case PROGRAM_OP_SYSTEM_ENABLE:
    case PROGRAM_OP_GROUP_ENABLE:
        change_system(r, step);
        break;
    case PROGRAM_OP_SLOT:
    case PROGRAM_OP_RETURN:
    case PROGRAM_OP_AHEAD:
    case PROGRAM_OP_STRETCH:
        program_step_time(r, step);
        break;
    default:
        entity = program_pick(r, &rng);
        if (entity.id != 0) {
            change_entity(r, step, &rng, entity);
        }
        break;
    }
}

void program_change(orr_world* world, void* data, size_t size)
{
    (void)size;
    program_step step;
    memcpy(&step, data, sizeof step);
    (void)world;
    (void)program_refused(
        program_current); // Memory is refused to single calls, as outside of ticks.
    program_step_change(program_current, &step);
    program_arm_tick(program_current);
}

// ---- wrong calls --------------------------------------------------------------------------------

static orr_result wrong_call(program_run* r, orr_rng* rng, orr_result* expected)
{
    orr_entity some = program_pick(r, rng);
    orr_entity dead = {some.id + (UINT64_C(5) << 32)};
    Orb orb = {1};
    uint64_t tick = orr_world_tick(r->world);
    switch (roll(rng, tick > 0 && !orr_remembered(r->world, tick - 1) ? 10 : 9)) {
    case 0:
        *expected = ORR_ERR_ENTITY;
        return orr_set(r->world, dead, Spot, {1, 1});
    case 1:
        *expected = ORR_ERR_ENTITY;
        return orr_destroy(r->world, dead);
    case 2:
        *expected = ORR_ERR_ENTITY;
        return orr_tag_add(r->world, dead, 1);
    case 3:
        *expected = ORR_ERR_ABSENT;
        return orr_instance_set(r->world, some, TYPE(r, Orb), UINT32_MAX, &orb);
    case 4:
        *expected = ORR_ERR_ENTITY; // A value that refers to a dead entity.
        return orr_set(r->world, some, Kin, {dead, 1});
    case 5:
        *expected = ORR_ERR_PAST;
        return orr_forget(r->world, UINT64_MAX);
    case 6:
        *expected = ORR_ERR_NAME;
        return orr_name_set(r->world, some, (orr_entity){0}, "a/b");
    case 7:
        *expected = ORR_ERR_STATE;
        return orr_record_end(r->world);
    case 9:
        *expected = ORR_ERR_PAST;
        return orr_time_travel(r->world, tick - 1);
    default:
        *expected = ORR_OK;
        return orr_system_add(r->world, &(orr_system_desc){.name = "watch"}).id == 0 ? ORR_OK
                                                                                     : ORR_ERR_NAME;
    }
}

void program_step_wrong(program_run* r, const program_step* step)
{
    orr_rng rng = {.first = step->dice};
    orr_result expected;
    if (orr_query_count(r->all) == 0 || r->way.record) {
        return;
    }
    uint64_t before = orr_world_hash(r->world);
    orr_result result = wrong_call(r, &rng, &expected);
    PROGRAM_CHECK(r, result == expected, "step %u: a wrong call is %s, expected %s: %s", r->at,
                  orr_result_name(result), orr_result_name(expected), r->k.errors.text);
    PROGRAM_CHECK(r, orr_world_hash(r->world) == before,
                  "step %u: a call that is refused (%s) changed the hash", r->at,
                  orr_result_name(result));
}
