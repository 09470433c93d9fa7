// SPDX-License-Identifier: MIT
// Commits against an oracle: random commands of several systems, runs and kinds. The oracle knows
// nothing of columns, bundles or groups: it applies one command after the other to a plain model,
// by the merge table. After every commit world and model are equal, whether memory was short
// meanwhile or not.
#include "message/command_kit.h"
#include "test.h"

enum {
    UNIQUE = 8, // Unique types.
    MOST = 96,  // Entities of the model, dead ones included.
    INSTANCES = 200,
    TAGS = 5,
    SYSTEMS = 3,
    RECORDS = 400,
};

// ---- the model ----------------------------------------------------------------------------------

typedef struct model_instance {
    uint32_t key; // Of the model's own.
    orr_component_id id;
    int32_t value;
    bool on;
} model_instance;

typedef struct model_entity {
    orr_entity id;
    bool alive, on;
    bool has[UNIQUE], enabled[UNIQUE];
    int32_t value[UNIQUE];
    model_instance instances[INSTANCES];
    uint32_t instance_count;
    bool tags[TAGS];
    int32_t name; // 0: none.
    // Of the current commit.
    bool destroyed;
    bool removed[UNIQUE + 1];
} model_entity;

typedef enum record_kind {
    RECORD_CREATE,
    RECORD_DESTROY,
    RECORD_ADD,
    RECORD_CHANGE,
    RECORD_REMOVE,
    RECORD_TAG,
    RECORD_SWITCH,
    RECORD_SWITCH_ENTITY,
    RECORD_NAME,
} record_kind;

typedef struct record {
    record_kind kind;
    uint32_t entity; // In the model.
    uint32_t type;   // UNIQUE: the multiple one.
    uint32_t key;    // Of an instance; 0: all of them.
    int32_t value;
    bool on, bad; // `bad`: refers to a dead entity.
    uint32_t system;
} record;

typedef struct model {
    command_kit k;
    orr_world* world;
    sender senders[SYSTEMS];
    orr_type types[UNIQUE];
    model_entity entities[MOST];
    uint32_t count;
    record records[RECORDS];
    uint32_t record_count;
    uint64_t dropped[SYSTEMS];
    uint32_t key_last;
    orr_entity dead; // No entity refers to it.
    orr_string texts[4];
    uint64_t random;
    bool short_memory; // Memory is short at times.
} model;

static uint32_t roll(model* m, uint32_t sides)
{
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(m->random >> 33) % sides;
}

static model_instance* instance_of(model_entity* e, uint32_t key)
{
    for (uint32_t i = 0; i < e->instance_count; i++) {
        if (e->instances[i].key == key) {
            return &e->instances[i];
        }
    }
    return NULL;
}

// ---- the oracle ---------------------------------------------------------------------------------

static void oracle_absent(model* m, const record* r, const model_entity* e)
{
    m->dropped[r->system] += !e->removed[r->type];
}

static void oracle_add(model* m, const record* r, model_entity* e)
{
    if (r->bad) {
        m->dropped[r->system]++;
    } else if (r->type < UNIQUE) {
        e->enabled[r->type] |= !e->has[r->type];
        e->has[r->type] = true;
        e->value[r->type] = r->value;
    } else {
        CHECK(e->instance_count < INSTANCES);
        e->instances[e->instance_count++] = (model_instance){r->key, 0, r->value, true};
    }
}

static void oracle_change(model* m, const record* r, model_entity* e)
{
    model_instance* instance = r->type == UNIQUE ? instance_of(e, r->key) : NULL;
    if (r->type < UNIQUE ? !e->has[r->type] : instance == NULL) {
        oracle_absent(m, r, e);
    } else if (r->bad) {
        m->dropped[r->system]++;
    } else if (r->type < UNIQUE) {
        e->value[r->type] = r->value;
    } else {
        instance->value = r->value;
    }
}

static void oracle_remove(const record* r, model_entity* e)
{
    if (r->type < UNIQUE || r->key == 0) {
        e->removed[r->type] = true;
    }
    if (r->type < UNIQUE) {
        e->has[r->type] = e->enabled[r->type] = false;
    } else if (r->key == 0) {
        e->instance_count = 0;
    } else {
        model_instance* instance = instance_of(e, r->key);
        if (instance != NULL) {
            e->removed[UNIQUE] = true;
            memmove(instance, instance + 1,
                    (size_t)(e->instances + --e->instance_count - instance) * sizeof *instance);
        }
    }
}

static void oracle_switch(model* m, const record* r, model_entity* e)
{
    model_instance* instance = r->type == UNIQUE ? instance_of(e, r->key) : NULL;
    if (r->type < UNIQUE && e->has[r->type]) {
        e->enabled[r->type] = r->on;
    } else if (r->type == UNIQUE && r->key == 0 && e->instance_count > 0) {
        for (uint32_t i = 0; i < e->instance_count; i++) {
            e->instances[i].on = r->on;
        }
    } else if (instance != NULL) {
        instance->on = r->on;
    } else {
        oracle_absent(m, r, e);
    }
}

static void oracle_apply(model* m, const record* r)
{
    model_entity* e = &m->entities[r->entity];
    if (r->kind == RECORD_CREATE) {
        e->alive = e->on = true;
        return;
    }
    if (!e->alive) {
        m->dropped[r->system] += !e->destroyed;
        return;
    }
    switch (r->kind) {
    case RECORD_DESTROY:
        e->alive = false;
        e->destroyed = true;
        break;
    case RECORD_ADD:
        oracle_add(m, r, e);
        break;
    case RECORD_CHANGE:
        oracle_change(m, r, e);
        break;
    case RECORD_REMOVE:
        oracle_remove(r, e);
        break;
    case RECORD_TAG:
        e->tags[r->value] = r->on;
        break;
    case RECORD_SWITCH:
        oracle_switch(m, r, e);
        break;
    case RECORD_SWITCH_ENTITY:
        e->on = r->on;
        break;
    default:
        e->name = r->value;
        break;
    }
}

// ---- values -------------------------------------------------------------------------------------

typedef union any_value {
    Count count;
    Health health;
    Padded padded;
    Label label;
    Token token;
    Anchor anchor;
    Link link;
    Collider collider;
} any_value;

static void value_make(model* m, uint32_t type, int32_t value, bool bad, any_value* out)
{
    memset(out, 0x5A, sizeof *out); // Padding must not count.
    switch (type) {
    case 0:
        out->count = (Count){value};
        break;
    case 1:
        out->health = (Health){value, 1};
        break;
    case 2:
        out->padded.a = 1;
        out->padded.b = value;
        out->padded.c = 2;
        break;
    case 3:
        out->label = (Label){m->texts[value & 3], value};
        break;
    case 4:
        out->token = kit_token((uint32_t)value);
        break;
    case 5:
        out->anchor = (Anchor){value, value};
        break;
    case 6:
        out->link = (Link){bad ? m->dead : (orr_entity){0}, (uint32_t)value};
        break;
    case UNIQUE:
        out->collider = (Collider){value};
        break;
    default:
        break; // A marker.
    }
}

static int32_t value_read(model* m, uint32_t type, const void* value)
{
    switch (type) {
    case 0:
        return ((const Count*)value)->n;
    case 1:
        return ((const Health*)value)->value;
    case 2:
        return (int32_t)((const Padded*)value)->b;
    case 3: {
        const Label* label = value;
        CHECK_STR(orr_string_text(m->world, label->text),
                  orr_string_text(m->world, m->texts[label->number & 3]));
        return label->number;
    }
    case 4:
        CHECK(kit_token_sound(value));
        return (int32_t)((const Token*)value)->cell.payload;
    case 5:
        return ((const Anchor*)value)->y;
    case 6:
        return (int32_t)((const Link*)value)->weight;
    default:
        return 0;
    }
}

// ---- sending ------------------------------------------------------------------------------------

static record* note(model* m, record r)
{
    CHECK(m->record_count < RECORDS);
    m->records[m->record_count] = r;
    return &m->records[m->record_count++];
}

static void send_create(model* m, uint32_t system)
{
    orr_run* run = &m->senders[system].run;
    if (m->count + 2 > MOST) {
        return;
    }
    if (roll(m, 3) > 0) {
        m->entities[m->count] = (model_entity){.id = orr_send_create(run)};
        CHECK(m->entities[m->count].id.id != 0);
        (void)note(m, (record){.kind = RECORD_CREATE, .entity = m->count++, .system = system});
        return;
    }
    // Two at once, with values of one type and the preset of another.
    Count counts[2] = {{(int32_t)roll(m, 1000)}, {(int32_t)roll(m, 1000)}};
    orr_column_data data = {m->types[0], counts};
    orr_entity ids[2];
    CHECK_OK(orr_send_create_many(run, KIT_CLUSTER(m->world, Count, Health), 2, &data, 1, ids));
    for (uint32_t i = 0; i < 2; i++) {
        m->entities[m->count] = (model_entity){.id = ids[i]};
        record r = {.kind = RECORD_CREATE, .entity = m->count++, .system = system};
        (void)note(m, r);
        r.kind = RECORD_ADD;
        r.value = counts[i].n;
        (void)note(m, r);
        r.type = 1;
        r.value = 100;
        (void)note(m, r);
    }
}

// An instance that the entity has, or that this run has added; 0 and false: none.
static bool choose_instance(model* m, uint32_t entity, uint32_t first,
                            const orr_component_id* given, uint32_t* key, orr_component_id* id)
{
    const model_entity* e = &m->entities[entity];
    uint32_t start = roll(m, RECORDS);
    for (uint32_t i = 0; i < RECORDS && m->record_count > first; i++) {
        uint32_t at = first + (start + i) % (m->record_count - first);
        const record* r = &m->records[at];
        if (r->kind == RECORD_ADD && r->type == UNIQUE && r->entity == entity && roll(m, 2) == 0) {
            *key = r->key;
            *id = given[at];
            return true;
        }
    }
    if (e->instance_count == 0) {
        return false;
    }
    const model_instance* instance = &e->instances[roll(m, e->instance_count)];
    *key = instance->key;
    *id = instance->id;
    return *id != 0;
}

// A few entities are chosen much more often than the others, so that a commit has several commands
// for one entity.
static uint32_t choose_entity(model* m)
{
    return roll(m, 3) > 0 && m->count > 4 ? m->count - 1 - roll(m, 4) : roll(m, m->count);
}

// A command about a component. `given` has the ids of instances sent in this run, by command.
static void send_component(model* m, uint32_t system, record_kind kind, uint32_t first,
                           orr_component_id* given)
{
    orr_run* run = &m->senders[system].run;
    record r = {.kind = kind, .entity = choose_entity(m), .system = system};
    r.type = roll(m, 4) == 0 ? UNIQUE : roll(m, UNIQUE);
    r.value = (int32_t)roll(m, 1000);
    r.on = roll(m, 2) == 0;
    r.bad = r.type == 6 && roll(m, 4) == 0;
    orr_entity entity = m->entities[r.entity].id;
    orr_type type = r.type < UNIQUE ? m->types[r.type] : m->k.collider;
    orr_component_id id = 0;
    any_value value;
    value_make(m, r.type, r.type == 7 ? 0 : r.value, r.bad, &value);
    r.value = r.type == 7 ? 0 : r.value;
    bool all = kind != RECORD_CHANGE && roll(m, 4) == 0;
    if (r.type == UNIQUE && kind != RECORD_ADD && !all &&
        !choose_instance(m, r.entity, first, given, &r.key, &id)) {
        return;
    }
    switch (kind) {
    case RECORD_ADD:
        r.key = r.type == UNIQUE ? ++m->key_last : 0;
        CHECK_OK(orr_send_add_type(run, entity, type, &value, &id));
        given[m->record_count] = id;
        break;
    case RECORD_CHANGE:
        CHECK_OK(orr_send_change_type(run, entity, type, id, &value));
        break;
    case RECORD_REMOVE:
        CHECK_OK(orr_send_remove_type(run, entity, type, id));
        break;
    default:
        CHECK_OK(orr_send_enable_type(run, entity, type, id, r.on));
        break;
    }
    (void)note(m, r);
}

static void send_other(model* m, uint32_t system, record_kind kind)
{
    orr_run* run = &m->senders[system].run;
    record r = {.kind = kind, .entity = choose_entity(m), .system = system};
    orr_entity entity = m->entities[r.entity].id;
    r.on = roll(m, 2) == 0;
    if (kind == RECORD_DESTROY) {
        CHECK_OK(orr_send_destroy(run, entity));
    } else if (kind == RECORD_TAG) {
        r.value = (int32_t)roll(m, TAGS);
        CHECK_OK(orr_send_tag(run, entity, (orr_tag)r.value + 1, r.on));
    } else if (kind == RECORD_SWITCH_ENTITY) {
        CHECK_OK(orr_send_enable_type(run, entity, (orr_type){0}, 0, r.on));
    } else {
        char name[32];
        r.value = r.on ? (int32_t)(r.entity * 8 + roll(m, 8)) + 1 : 0;
        snprintf(name, sizeof name, "n%d", r.value);
        CHECK_OK(orr_send_name(run, entity, (orr_entity){0}, r.on ? name : NULL));
    }
    (void)note(m, r);
}

// The same for consecutive entities: commands that stay in columns.
static void send_column(model* m, uint32_t system)
{
    orr_run* run = &m->senders[system].run;
    uint32_t first = roll(m, m->count), end = first + roll(m, 12);
    bool removes = roll(m, 3) == 0, tags = roll(m, 3) == 0;
    for (uint32_t i = first; i < end && i < m->count && m->record_count + 8 < RECORDS; i++) {
        record r = {.kind = RECORD_ADD, .entity = i, .value = (int32_t)i, .system = system};
        CHECK_OK(orr_send_add(run, m->entities[i].id, Count, {r.value}));
        (void)note(m, r);
        r.type = 1;
        if (removes) {
            r.kind = RECORD_REMOVE;
            CHECK_OK(orr_send_remove(run, m->entities[i].id, Health));
            (void)note(m, r);
        } else if (tags) {
            r.kind = RECORD_TAG;
            r.on = true;
            r.value = 3;
            CHECK_OK(orr_send_tag(run, m->entities[i].id, 4, true));
            (void)note(m, r);
        }
    }
}

static void send_run(model* m, uint32_t system)
{
    static const record_kind kinds[] = {RECORD_ADD,    RECORD_ADD,    RECORD_ADD,    RECORD_CHANGE,
                                        RECORD_CHANGE, RECORD_CHANGE, RECORD_REMOVE, RECORD_SWITCH};
    static const record_kind others[] = {RECORD_DESTROY, RECORD_TAG, RECORD_TAG,
                                         RECORD_SWITCH_ENTITY, RECORD_NAME};
    static orr_component_id given[RECORDS];
    uint32_t first = m->record_count, calls = roll(m, 16);
    (void)sender_open(&m->senders[system], 40);
    for (uint32_t i = 0; i < calls && m->record_count + 8 < RECORDS; i++) {
        uint32_t what = roll(m, 16);
        if (what < 2 || m->count == 0) {
            send_create(m, system);
        } else if (what < 4) {
            send_column(m, system);
        } else if (what < 12) {
            send_component(m, system, kinds[roll(m, ORRI_COUNT(kinds))], first, given);
        } else {
            send_other(m, system, others[roll(m, ORRI_COUNT(others))]);
        }
    }
    sender_close(&m->senders[system]);
}

// ---- comparing ----------------------------------------------------------------------------------

static void compare_instances(model* m, model_entity* e)
{
    const void* values = NULL;
    const orr_component_id* ids = NULL;
    uint32_t count = orr_instances_get(m->world, e->id, m->k.collider, &values, &ids);
    CHECK_EQ(count, e->instance_count);
    for (uint32_t i = 0; i < count; i++) {
        CHECK_EQ(((const Collider*)values)[i].radius, e->instances[i].value);
        CHECK_EQ(orr_instance_enabled(m->world, e->id, m->k.collider, ids[i]), e->instances[i].on);
        e->instances[i].id = ids[i];
    }
}

static void compare_entity(model* m, model_entity* e)
{
    CHECK_EQ(orr_alive(m->world, e->id), e->alive);
    if (!e->alive) {
        return;
    }
    for (uint32_t t = 0; t < UNIQUE; t++) {
        CHECK_EQ(orr_component_has(m->world, e->id, m->types[t]), e->has[t]);
        if (e->has[t]) {
            const void* value = orr_component_get(m->world, e->id, m->types[t]);
            CHECK_EQ(value_read(m, t, value), e->value[t]);
            CHECK_EQ(orr_component_enabled(m->world, e->id, m->types[t]), e->enabled[t]);
        }
    }
    compare_instances(m, e);
    for (uint32_t t = 0; t < TAGS; t++) {
        CHECK_EQ(orr_tag_has(m->world, e->id, t + 1), e->tags[t]);
    }
    CHECK_EQ(orr_entity_enabled(m->world, e->id), e->on);
    char name[32] = "";
    if (e->name != 0) {
        snprintf(name, sizeof name, "n%d", e->name);
    }
    CHECK_STR(orr_name_get(m->world, e->id), name);
}

static void compare(model* m)
{
    uint64_t alive = 0;
    for (uint32_t i = 0; i < m->record_count; i++) {
        oracle_apply(m, &m->records[i]);
    }
    m->record_count = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        model_entity* e = &m->entities[i];
        compare_entity(m, e);
        alive += e->alive;
        e->destroyed = false;
        memset(e->removed, 0, sizeof e->removed);
    }
    CHECK_EQ(orr_entity_count(m->world), alive);
    for (uint32_t s = 0; s < SYSTEMS; s++) {
        CHECK_EQ(m->senders[s].rights.counts.dropped, m->dropped[s]);
    }
    CHECK_EQ(kit_tokens.broken, 0);
}

// Dead entities are removed from the model from time to time.
static void remove_dead(model* m)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        if (m->entities[i].alive || roll(m, 3) == 0) {
            m->entities[kept] = m->entities[i];
            // Names depend on the position in the model.
            if (kept != i && m->entities[kept].alive && m->entities[kept].name != 0) {
                CHECK_OK(orr_name_set(m->world, m->entities[kept].id, (orr_entity){0}, NULL));
                m->entities[kept].name = 0;
            }
            kept++;
        }
    }
    m->count = kept;
}

// ---- the whole ----------------------------------------------------------------------------------

static void model_begin(model* m, uint64_t seed, bool short_memory)
{
    memset(m, 0, sizeof *m);
    m->random = seed;
    m->short_memory = short_memory;
    m->world = command_kit_begin(&m->k, NULL);
    orr_type types[UNIQUE] = {m->k.count, m->k.health, m->k.padded, m->k.label,
                              m->k.token, m->k.anchor, m->k.link,   m->k.frozen};
    memcpy(m->types, types, sizeof types);
    static const char* const names[SYSTEMS] = {"a", "b", "c"};
    for (uint32_t s = 0; s < SYSTEMS; s++) {
        sender_begin_free(&m->senders[s], m->world, names[s], s + 1);
    }
    m->dead = orr_create(m->world);
    for (uint32_t i = 0; i < 4; i++) {
        char text[16];
        snprintf(text, sizeof text, "text %u", i);
        m->texts[i] = orr_string_make(m->world, text);
    }
    CHECK_OK(orr_destroy(m->world, m->dead));
}

// Repeats until it succeeds; memory is short now and then.
static void repeat_until_ok(model* m, sender* s)
{
    for (;;) {
        uint64_t before = orr_world_hash(m->world);
        if (m->short_memory && roll(m, 2) == 0) {
            failing_alloc_arm(&m->k.k.memory, 1 + roll(m, 12), roll(m, 2) == 0);
        }
        orr_result result = s != NULL ? sender_end(s) : orri_commit(m->world);
        failing_alloc_arm(&m->k.k.memory, 0, false);
        if (result == ORR_OK) {
            return;
        }
        CHECK_RESULT(result, ORR_ERR_MEMORY);
        CHECK_EQ(orr_world_hash(m->world), before);
    }
}

static void model_run(uint64_t seed, uint32_t ticks, bool short_memory)
{
    static model m;
    model_begin(&m, seed, short_memory);
    for (uint32_t tick = 0; tick < ticks; tick++) {
        bool each = roll(&m, 4) == 0; // A commit point after each system.
        for (uint32_t s = 0; s < SYSTEMS; s++) {
            for (uint32_t runs = roll(&m, 4); runs > 0; runs--) {
                send_run(&m, s);
            }
            repeat_until_ok(&m, &m.senders[s]);
            if (each || s + 1 == SYSTEMS) {
                repeat_until_ok(&m, NULL);
                compare(&m);
            }
        }
        if (tick % 8 == 0) {
            CHECK_OK(orr_world_validate(m.world));
        }
        remove_dead(&m);
    }
    command_kit_end(&m.k);
}

ORR_TEST(commit_equals_commands_applied_one_by_one)
{
    uint32_t worlds = test_rounds(30, 10, 400);
    for (uint32_t i = 0; i < worlds; i++) {
        model_run(test_random(), 60, false);
    }
}

ORR_TEST(commit_with_short_memory_equals_commands_applied_one_by_one)
{
    uint32_t worlds = test_rounds(15, 5, 200);
    for (uint32_t i = 0; i < worlds; i++) {
        model_run(test_random(), 60, true);
    }
}
