// SPDX-License-Identifier: MIT
// Random steps on entities with multiple types, compared with a plain list for each entity. Two
// worlds take the same steps with different instance counters: their hashes stay equal.
#include "store/cow/share.h"
#include "support/store_kit.h"
#include "test.h"
#include <orrery/kinds.h>

ORR_STRUCT_EX(Collider, (.multiplicity = ORR_MULTIPLE), (float, radius, (.preset = "1")))
ORR_STRUCT_EX(Charm, (.multiplicity = ORR_MULTIPLE, .hooks = &kit_token_hooks), (TokenCell, cell))
ORR_STRUCT_EX(Note, (.multiplicity = ORR_MULTIPLE), (orr_string, text), (int32_t, number))

enum {
    KINDS = 3,
    ENTITIES = 24,
    INSTANCES = 40,
    TAG = 5
};

typedef struct sim_instance {
    orr_component_id id;
    uint32_t payload;
    bool on;
} sim_instance;

typedef struct sim_entity {
    orr_entity id; // 0: none.
    bool health, tag;
    uint32_t counts[KINDS];
    sim_instance instances[KINDS][INSTANCES];
} sim_entity;

typedef struct sim {
    kit k;
    orr_world* world;
    orr_type types[KINDS], health;
    sim_entity entities[ENTITIES];
    orri_share* share;
    uint64_t seed, draws;
} sim;

static uint32_t sim_below(sim* s, uint32_t count)
{
    return (uint32_t)orr_random_below(orr_random(s->seed, s->draws++, 0, 0), count);
}

static uint32_t sim_preset(uint32_t kind)
{
    return kind == 0 ? 1 : 0;
}

// ---- values -------------------------------------------------------------------------------------

typedef union sim_value {
    Collider collider;
    Charm charm;
    Note note;
} sim_value;

static sim_value sim_value_make(sim* s, uint32_t kind, uint32_t payload)
{
    sim_value value;
    memset(&value, 0, sizeof value);
    char text[16];
    snprintf(text, sizeof text, "note %u", payload);
    if (kind == 0) {
        value.collider.radius = (float)payload;
    } else if (kind == 1) {
        value.charm.cell = kit_token(payload).cell;
    } else {
        value.note = (Note){orr_string_make(s->world, text), (int32_t)payload};
    }
    return value;
}

static void sim_value_check(const sim* s, uint32_t kind, const void* values, uint32_t i,
                            uint32_t payload)
{
    if (kind == 0) {
        CHECK(((const Collider*)values)[i].radius == (float)payload);
    } else if (kind == 1) {
        const Charm* charm = (const Charm*)values + i;
        CHECK(kit_token_sound((const Token*)(const void*)charm));
        CHECK_EQ(charm->cell.payload, payload);
    } else {
        const Note* note = (const Note*)values + i;
        char text[16];
        snprintf(text, sizeof text, "note %u", payload);
        CHECK_EQ(note->number, payload);
        CHECK_STR(orr_string_text(s->world, note->text), payload != 0 ? text : "");
    }
}

// ---- steps --------------------------------------------------------------------------------------

static sim_entity* sim_some(sim* s)
{
    return &s->entities[sim_below(s, ENTITIES)];
}

// The store has added a first instance to the entity.
static void sim_first(sim* s, sim_entity* e, uint32_t kind, uint32_t payload)
{
    const orr_component_id* ids;
    CHECK_EQ(orr_instances_get(s->world, e->id, s->types[kind], NULL, &ids), 1);
    e->counts[kind] = 1;
    e->instances[kind][0] = (sim_instance){ids[0], payload, true};
}

static void sim_step_create(sim* s, sim_entity* e)
{
    if (e->id.id != 0) {
        CHECK_OK(orr_destroy(s->world, e->id));
    }
    *e = (sim_entity){0};
    uint32_t kinds = sim_below(s, 1u << KINDS), count = 0;
    orr_type types[KINDS];
    uint16_t capacities[KINDS];
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        if ((kinds >> kind & 1) != 0) {
            types[count] = s->types[kind];
            capacities[count++] = (uint16_t)(1u << sim_below(s, 5));
        }
    }
    orr_cluster cluster;
    CHECK_OK(orr_cluster_get(s->world, &(orr_cluster_desc){types, count, NULL, 0, capacities},
                             &cluster));
    e->id = orr_create_in(s->world, cluster);
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        if ((kinds >> kind & 1) != 0) {
            sim_first(s, e, kind, sim_preset(kind));
        }
    }
}

static void sim_step_add(sim* s, sim_entity* e, uint32_t kind)
{
    if (e->counts[kind] == INSTANCES) {
        return;
    }
    uint32_t payload = 1 + sim_below(s, 90);
    bool preset = sim_below(s, 4) == 0;
    sim_value value = sim_value_make(s, kind, payload);
    orr_component_id id = orr_instance_add(s->world, e->id, s->types[kind], preset ? NULL : &value);
    CHECK(id != 0);
    e->instances[kind][e->counts[kind]++] =
        (sim_instance){id, preset ? sim_preset(kind) : payload, true};
}

static void sim_step_remove(sim* s, sim_entity* e, uint32_t kind)
{
    uint32_t count = e->counts[kind];
    if (count == 0) {
        return;
    }
    uint32_t i = sim_below(s, count);
    sim_instance* instances = e->instances[kind];
    CHECK_OK(orr_instance_remove(s->world, e->id, s->types[kind], instances[i].id));
    memmove(instances + i, instances + i + 1, (count - i - 1) * sizeof *instances);
    e->counts[kind]--;
}

static void sim_step_set(sim* s, sim_entity* e, uint32_t kind)
{
    if (e->counts[kind] == 0) {
        return;
    }
    sim_instance* instance = &e->instances[kind][sim_below(s, e->counts[kind])];
    instance->payload = 1 + sim_below(s, 90);
    sim_value value = sim_value_make(s, kind, instance->payload);
    CHECK_OK(orr_instance_set(s->world, e->id, s->types[kind], instance->id, &value));
}

static void sim_step_enable(sim* s, sim_entity* e, uint32_t kind)
{
    bool on = sim_below(s, 2) == 0;
    if (e->counts[kind] == 0) {
        return;
    }
    if (sim_below(s, 4) == 0) {
        CHECK_OK(orr_component_enable(s->world, e->id, s->types[kind], on));
        for (uint32_t i = 0; i < e->counts[kind]; i++) {
            e->instances[kind][i].on = on;
        }
        return;
    }
    sim_instance* instance = &e->instances[kind][sim_below(s, e->counts[kind])];
    CHECK_OK(orr_instance_enable(s->world, e->id, s->types[kind], instance->id, on));
    instance->on = on;
}

static void sim_step_unique(sim* s, sim_entity* e)
{
    if (sim_below(s, 2) == 0) {
        e->health = !e->health;
        CHECK_OK(e->health ? orr_component_add(s->world, e->id, s->health)
                           : orr_component_remove(s->world, e->id, s->health));
    } else {
        e->tag = !e->tag;
        CHECK_OK(e->tag ? orr_tag_add(s->world, e->id, TAG) : orr_tag_remove(s->world, e->id, TAG));
    }
}

static void sim_step_copy(sim* s, sim_entity* e)
{
    sim_entity* to = sim_some(s);
    if (to == e) {
        return;
    }
    if (to->id.id != 0) {
        CHECK_OK(orr_destroy(s->world, to->id));
    }
    *to = *e;
    to->id = orr_copy(s->world, e->id);
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        const orr_component_id* ids;
        CHECK_EQ(orr_instances_get(s->world, to->id, s->types[kind], NULL, &ids), to->counts[kind]);
        for (uint32_t i = 0; i < to->counts[kind]; i++) {
            to->instances[kind][i].id = ids[i];
        }
    }
}

// Adds Health to all entities without it, or removes it from all that have it; or adds or removes a
// multiple type.
static void sim_step_many(sim* s, bool values)
{
    orr_entity ids[ENTITIES];
    sim_value made[ENTITIES];
    uint8_t packed[ENTITIES * sizeof(sim_value)];
    sim_entity* taking[ENTITIES];
    uint32_t kind = sim_below(s, KINDS), count = 0;
    bool add = sim_below(s, 2) == 0;
    size_t size = orr_type_info_get(s->world, s->types[kind])->size;
    for (uint32_t i = 0; i < ENTITIES; i++) {
        sim_entity* e = &s->entities[i];
        if (e->id.id != 0 && (e->counts[kind] == 0) == add && sim_below(s, 3) == 0) {
            made[count] = sim_value_make(s, kind, i + 1);
            memcpy(packed + count * size, &made[count], size);
            taking[count] = e;
            ids[count++] = e->id;
        }
    }
    CHECK_OK(
        add ? orr_component_add_many(s->world, ids, count, s->types[kind], values ? packed : NULL)
            : orr_component_remove_many(s->world, ids, count, s->types[kind]));
    for (uint32_t i = 0; i < count; i++) {
        taking[i]->counts[kind] = 0;
        if (add) {
            sim_first(s, taking[i], kind,
                      values ? (uint32_t)(taking[i] - s->entities) + 1 : sim_preset(kind));
        }
    }
}

// To a cluster of the same set with other capacities. It may be refused, with an error.
static void sim_step_move(sim* s, sim_entity* e, bool all)
{
    orr_cluster from = orr_entity_cluster(s->world, e->id), to;
    orr_cluster_info info = kit_info(s->world, from);
    uint16_t capacities[KINDS + 1];
    for (uint32_t i = 0; i < info.type_count; i++) {
        bool multiple = orr_type_info_get(s->world, info.types[i])->multiplicity == ORR_MULTIPLE;
        bool change = multiple && sim_below(s, 2) == 0;
        capacities[i] = info.capacities[i];
        if (change) {
            capacities[i] = (uint16_t)(1u << sim_below(s, 6));
        }
    }
    CHECK_OK(orr_cluster_get(
        s->world,
        &(orr_cluster_desc){info.types, info.type_count, info.tags, info.tag_count, capacities},
        &to));
    bool fits = true;
    for (uint32_t n = 0; n < ENTITIES; n++) {
        const sim_entity* other = &s->entities[n];
        bool moves = all ? other->id.id != 0 &&
                               orr_entity_cluster(s->world, other->id).id == from.id
                         : other == e;
        for (uint32_t i = 0; moves && i < info.type_count; i++) {
            fits = fits && orr_instances_get(s->world, other->id, info.types[i], NULL, NULL) <=
                               capacities[i];
        }
    }
    orr_result result = all ? orr_rows_move_all(s->world, from, to)
                            : orr_entity_move(s->world, e->id, to);
    CHECK_RESULT(result, fits ? ORR_OK : ORR_ERR_CAPACITY);
}

static void sim_step_hold(sim* s, const sim_entity* e)
{
    if (s->share != NULL) {
        orri_share_release(s->world, s->share);
        s->share = NULL;
        return;
    }
    const orri_cluster* cluster = orri_cluster_at(s->world, orr_entity_cluster(s->world, e->id));
    orri_chunk* chunk = cluster->chunks[0];
    s->share = orri_share_column(s->world, chunk, sim_below(s, chunk->column_count),
                                 sim_below(s, 2) == 0 ? ORRI_SHARE_FROZEN : ORRI_SHARE_HISTORY);
    CHECK(s->share != NULL);
}

static void sim_step(sim* s)
{
    sim_entity* e = sim_some(s);
    uint32_t kind = sim_below(s, KINDS), what = sim_below(s, 100);
    if (e->id.id == 0 || what < 3) {
        sim_step_create(s, e);
    } else if (what < 38) {
        sim_step_add(s, e, kind);
    } else if (what < 58) {
        sim_step_remove(s, e, kind);
    } else if (what < 66) {
        sim_step_set(s, e, kind);
    } else if (what < 74) {
        sim_step_enable(s, e, kind);
    } else if (what < 82) {
        sim_step_unique(s, e);
    } else if (what < 86) {
        sim_step_copy(s, e);
    } else if (what < 90) {
        sim_step_many(s, what < 88);
    } else if (what < 95) {
        sim_step_move(s, e, what < 92);
    } else if (what < 98) {
        sim_step_hold(s, e);
    } else {
        orr_tick_advance(s->world);
    }
}

// ---- checking -----------------------------------------------------------------------------------

static void sim_check_entity(const sim* s, const sim_entity* e)
{
    CHECK_EQ(orr_component_has(s->world, e->id, s->health), e->health);
    CHECK_EQ(orr_tag_has(s->world, e->id, TAG), e->tag);
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        const void* values;
        const orr_component_id* ids;
        uint32_t count = orr_instances_get(s->world, e->id, s->types[kind], &values, &ids);
        bool any = false;
        CHECK_EQ(count, e->counts[kind]);
        for (uint32_t i = 0; i < count; i++) {
            const sim_instance* wanted = &e->instances[kind][i];
            CHECK_EQ(ids[i], wanted->id);
            CHECK_EQ(orr_instance_enabled(s->world, e->id, s->types[kind], ids[i]), wanted->on);
            sim_value_check(s, kind, values, i, wanted->payload);
            any = any || wanted->on;
        }
        CHECK_EQ(orr_component_enabled(s->world, e->id, s->types[kind]), any);
    }
}

static void sim_check(sim* s)
{
    for (uint32_t i = 0; i < ENTITIES; i++) {
        if (s->entities[i].id.id != 0) {
            sim_check_entity(s, &s->entities[i]);
        }
    }
    if (orr_world_validate(s->world) != ORR_OK) {
        test_fail(__FILE__, __LINE__, "%s", s->k.errors.text);
    }
}

static void sim_begin(sim* s, uint64_t seed, uint32_t last)
{
    memset(s, 0, sizeof *s);
    s->world = kit_begin(&s->k, NULL);
    s->seed = seed;
    s->types[0] = KIT_TYPE(s->world, Collider);
    s->types[1] = KIT_TYPE(s->world, Charm);
    s->types[2] = KIT_TYPE(s->world, Note);
    s->health = KIT_TYPE(s->world, Health);
    s->world->instance_last = last;
}

static void sim_clear(sim* s)
{
    if (s->share != NULL) {
        orri_share_release(s->world, s->share);
    }
    CHECK_OK(orr_entities_destroy_all(s->world));
}

ORR_TEST(multiple_random_steps_agree_with_a_list_and_hash_without_ids)
{
    static sim a, b;
    uint64_t seed = test_random();
    sim_begin(&a, seed, 0);
    sim_begin(&b, seed, INT32_MAX - 700);
    uint32_t steps = test_long() ? 60000 : 6000;
    for (uint32_t i = 0; i < steps; i++) {
        sim_step(&a);
        sim_step(&b);
        if (i % 20 == 0) {
            sim_check(&a);
            sim_check(&b);
            CHECK(orr_world_hash(a.world) == orr_world_hash(b.world));
        }
    }
    CHECK(b.world->instance_last < INT32_MAX - 700); // It has wrapped.
    sim_clear(&a);
    sim_clear(&b);
    CHECK_EQ(kit_tokens.live, 0);
    kit_end(&a.k);
    kit_end(&b.k);
}
