// SPDX-License-Identifier: MIT
// Published values in random order, compared with copies of every edition that the test keeps by
// entity: writes, creations, destructions, types added and removed, chunks that change cluster,
// several views that pin at any time. Once with memory, and once with every allocation of every
// call refused in turn.
#include "store/publish/publish.h"
#include "support/store_kit.h"
#include "test.h"

enum {
    MOST = 1200,
    TYPES = 4, // Published: Health, Token, Frozen, Label.
    KINDS = 6, // With Velocity and Big, which are not published.
    VIEWS = 3,
    NONE = -1
};

typedef struct map {
    int32_t values[TYPES][MOST];
} map;

typedef struct watcher {
    orri_view* view;
    uint32_t mask; // Types.
    bool pinned;
    map seen;
} watcher;

typedef struct model {
    kit k;
    orr_world* world;
    orri_publisher* publisher;
    orr_type types[KINDS];
    orr_entity ids[MOST]; // Null: free.
    map live, newest, pending;
    uint32_t added; // Types.
    bool waits[TYPES], dirty, refuse_memory;
    watcher watchers[VIEWS];
    uint64_t seed, draws, tick, refused;
} model;

static uint32_t below(model* m, uint32_t count)
{
    return (uint32_t)orr_random_below(orr_random(m->seed, ++m->draws, 0, 0), count);
}

// ---- values -------------------------------------------------------------------------------------

static orr_result model_set(model* m, orr_entity entity, uint32_t t, int32_t number)
{
    Health health = {number, 1};
    Token token = kit_token((uint32_t)number);
    char text[32];
    snprintf(text, sizeof text, "text %d", (int)(number % 20));
    Label label = {t == 3 ? orr_string_make(m->world, text) : (orr_string){0}, number};
    Velocity velocity = {(float)number, 0};
    Big big = {{(uint64_t)number}};
    const void* values[KINDS] = {&health, &token, NULL, &label, &velocity, &big};
    return orr_component_set(m->world, entity, m->types[t], values[t]);
}

static int32_t model_read(const model* m, uint32_t t, const void* value)
{
    if (value == NULL) {
        return NONE;
    }
    if (t == 1) {
        CHECK(kit_token_sound(value));
        return (int32_t)((const Token*)value)->cell.payload;
    }
    if (t == 3) {
        const Label* label = value;
        char text[32];
        snprintf(text, sizeof text, "text %d", (int)(label->number % 20));
        if (label->number != 0) {
            CHECK_STR(orr_string_text(m->world, label->text), text);
        }
        return label->number;
    }
    return t == 0 ? ((const Health*)value)->value : 1;
}

// ---- expected values ----------------------------------------------------------------------------

static void model_remap(const model* m, map* seen, uint32_t t)
{
    for (uint32_t i = 0; i < MOST; i++) {
        int32_t live = m->ids[i].id != 0 ? m->live.values[t][i] : NONE;
        int32_t* value = &seen->values[t][i];
        *value = live == NONE || *value == NONE ? live : *value;
    }
}

static void model_forget(model* m, uint32_t i)
{
    m->ids[i] = (orr_entity){0};
    for (uint32_t t = 0; t < TYPES; t++) {
        m->live.values[t][i] = m->newest.values[t][i] = m->pending.values[t][i] = NONE;
        for (uint32_t v = 0; v < VIEWS; v++) {
            m->watchers[v].seen.values[t][i] = NONE;
        }
    }
}

static const void* model_at(const model* m, const watcher* w, uint32_t t, uint32_t i)
{
    uint32_t place = orri_record_at(m->world, orri_id_index(m->ids[i]))->place;
    const orri_chunk* chunk = orri_place_chunk(m->world, place);
    int32_t column = orri_cluster_find_column(chunk->cluster, m->types[t]);
    uint32_t size = orr_type_info_get(m->world, m->types[t])->size;
    const uint8_t* data = NULL;
    if (w != NULL) {
        const orr_hot_table* table = orri_view_table(w->view, m->types[t]);
        const orri_column* columns = orri_view_columns(w->view, chunk);
        data = chunk->id < table->capacity ? table->data[chunk->id] : NULL;
        CHECK(column < 0 ? data == NULL : columns[column].data == data);
    } else {
        data = column >= 0 ? orri_published_block(m->publisher, m->types[t], chunk) : NULL;
    }
    return data != NULL ? data + (size_t)orri_place_slot(place) * size : NULL;
}

static void model_check(model* m)
{
    CHECK_OK(orri_publisher_validate(m->publisher));
    for (uint32_t i = 0; i < MOST && !m->dirty; i++) {
        for (uint32_t t = 0; m->ids[i].id != 0 && t < m->added; t++) {
            CHECK_EQ(model_read(m, t, orr_component_get(m->world, m->ids[i], m->types[t])),
                     m->live.values[t][i]);
            CHECK_EQ(model_read(m, t, model_at(m, NULL, t, i)), m->newest.values[t][i]);
            for (uint32_t v = 0; v < VIEWS; v++) {
                const watcher* w = &m->watchers[v];
                if (w->pinned && (w->mask >> t & 1) != 0) {
                    CHECK_EQ(model_read(m, t, model_at(m, w, t, i)), w->seen.values[t][i]);
                }
            }
        }
    }
    CHECK_EQ(kit_tokens.broken, 0);
}

#define HOOKS_MOST 4 // The hook that is refused is one of the first of a call.
#include "store/publish/publish_calls_kit.h"

// ---- steps --------------------------------------------------------------------------------------

static void step_remap(model* m)
{
    call_through(m, call_remap, 0);
    for (uint32_t t = 0; t < m->added; t++) {
        model_remap(m, &m->newest, t);
        model_remap(m, &m->pending, t);
        for (uint32_t v = 0; v < VIEWS; v++) {
            if (m->watchers[v].pinned) {
                model_remap(m, &m->watchers[v].seen, t);
            }
        }
    }
    m->dirty = false;
}

static void step_write(model* m)
{
    for (uint32_t n = below(m, 20); n > 0; n--) {
        uint32_t i = below(m, MOST), t = below(m, TYPES);
        if (m->ids[i].id != 0 && m->live.values[t][i] != NONE && t != 2 && !m->waits[t]) {
            m->live.values[t][i] = (int32_t)below(m, 100000);
            CHECK_OK(model_set(m, m->ids[i], t, m->live.values[t][i]));
        }
    }
}

static void note_created(model* m, uint32_t i, orr_entity entity)
{
    model_forget(m, i);
    m->ids[i] = entity;
    for (uint32_t t = 0; t < TYPES; t++) {
        m->live.values[t][i] = model_read(m, t, orr_component_get(m->world, entity, m->types[t]));
    }
}

static orr_cluster any_cluster(model* m)
{
    orr_type types[KINDS];
    uint32_t count = 0, mask = below(m, 1 << KINDS);
    for (uint32_t t = 0; t < KINDS; t++) {
        if ((mask >> t & 1) != 0) {
            types[count++] = m->types[t];
        }
    }
    return kit_cluster(m->world, types, count, NULL, 0);
}

static void step_create(model* m)
{
    uint32_t wanted = below(m, 10) == 0 ? 1 + below(m, 600) : 1 + below(m, 6), count = 0;
    static uint32_t slots[MOST];
    static orr_entity made[MOST];
    for (uint32_t i = 0; i < MOST && count < wanted; i++) {
        if (m->ids[i].id == 0) {
            slots[count++] = i;
        }
    }
    if (count > 0) {
        CHECK_OK(orr_create_many(m->world, any_cluster(m), count, NULL, 0, made));
        for (uint32_t i = 0; i < count; i++) {
            note_created(m, slots[i], made[i]);
        }
        m->dirty = true;
    }
}

static void step_destroy(model* m)
{
    uint32_t count = below(m, 10) == 0 ? 400 : below(m, 12);
    for (uint32_t n = 0; n < count; n++) {
        uint32_t i = below(m, MOST);
        if (m->ids[i].id != 0) {
            CHECK_OK(orr_destroy(m->world, m->ids[i]));
            model_forget(m, i);
            m->dirty = true;
        }
    }
}

static void step_alter(model* m)
{
    for (uint32_t n = below(m, 12); n > 0; n--) {
        uint32_t i = below(m, MOST), t = below(m, KINDS);
        if (m->ids[i].id == 0) {
            continue;
        }
        bool has = orr_component_has(m->world, m->ids[i], m->types[t]);
        if (has) {
            CHECK_OK(orr_component_remove(m->world, m->ids[i], m->types[t]));
        } else {
            CHECK_OK(orr_component_add(m->world, m->ids[i], m->types[t]));
        }
        if (t < TYPES) {
            m->live.values[t][i] =
                has ? NONE : model_read(m, t, orr_component_get(m->world, m->ids[i], m->types[t]));
        }
        m->dirty = true;
    }
}

// All rows of a cluster are moved or destroyed.
static void step_cluster(model* m)
{
    uint32_t i = below(m, MOST);
    if (m->ids[i].id == 0) {
        return;
    }
    orr_cluster from = orr_entity_cluster(m->world, m->ids[i]);
    m->dirty = true;
    if (below(m, 6) == 0) {
        CHECK_OK(orr_cluster_delete(m->world, from));
    } else {
        CHECK_OK(orr_rows_move_all(m->world, from, any_cluster(m)));
    }
    for (uint32_t e = 0; e < MOST; e++) {
        if (m->ids[e].id != 0 && !orr_alive(m->world, m->ids[e])) {
            model_forget(m, e);
        }
        for (uint32_t t = 0; m->ids[e].id != 0 && t < TYPES; t++) {
            const void* value = orr_component_get(m->world, m->ids[e], m->types[t]);
            m->live.values[t][e] = model_read(m, t, value);
        }
    }
}

static void step_copy(model* m)
{
    uint32_t mask = 1 + below(m, (1 << TYPES) - 1);
    call_through(m, call_copy, mask);
    for (uint32_t t = 0; t < TYPES; t++) {
        if ((mask >> t & 1) != 0) {
            m->waits[t] = true;
            memcpy(m->pending.values[t], m->live.values[t], sizeof m->live.values[t]);
        }
    }
}

static void step_show(model* m)
{
    orr_type types[TYPES];
    uint32_t count = 0;
    m->tick++;
    for (uint32_t t = 0; t < TYPES; t++) {
        if (m->waits[t] && below(m, 4) != 0) {
            types[count++] = m->types[t];
            memcpy(m->newest.values[t], m->pending.values[t], sizeof m->newest.values[t]);
            m->waits[t] = false;
        }
    }
    orri_publish_show(m->publisher, types, count, m->world->epoch, m->tick);
    for (uint32_t i = 0; i < count; i++) {
        CHECK_EQ(orri_published_tick(m->publisher, types[i]), m->tick);
    }
}

static void step_pin(model* m)
{
    uint32_t v = below(m, VIEWS);
    watcher* w = &m->watchers[v];
    if (w->view != NULL && below(m, 12) == 0) {
        orri_view_destroy(w->view);
        *w = (watcher){0};
        return;
    }
    if (w->view == NULL) {
        w->mask = 1 + below(m, (1 << TYPES) - 1);
        call_through(m, call_view, v);
    }
    call_through(m, call_pin, v);
    w->pinned = true;
    w->seen = m->newest;
}

static void model_step(model* m)
{
    static void (*const steps[])(model*) = {
        step_write, step_write, step_create, step_destroy, step_alter, step_alter, step_cluster,
        step_copy,  step_copy,  step_show,   step_show,    step_pin,   step_remap, step_write};
    uint32_t which = below(m, sizeof steps / sizeof *steps);
    bool quiet = steps[which] == step_copy || steps[which] == step_show || steps[which] == step_pin;
    if (quiet && m->dirty) {
        step_remap(m);
    }
    steps[which](m);
    if (below(m, 10) == 0) {
        orr_tick_advance(m->world);
    }
}

static void model_run(uint64_t seed, uint32_t round, uint32_t steps, bool refuse_memory)
{
    static model m;
    m = (model){.seed = orr_random(seed, round, refuse_memory, 0), .refuse_memory = refuse_memory};
    kit_tokens_reset();
    m.world = kit_begin(&m.k, NULL);
    const orr_type_desc* descs[KINDS] = {ORR_TYPE(Health), ORR_TYPE(Token),    ORR_TYPE(Frozen),
                                         ORR_TYPE(Label),  ORR_TYPE(Velocity), ORR_TYPE(Big)};
    for (uint32_t t = 0; t < KINDS; t++) {
        m.types[t] = orr_type_of(m.world, descs[t]);
    }
    for (uint32_t i = 0; i < MOST; i++) {
        model_forget(&m, i);
    }
    step_create(&m);
    step_alter(&m);
    m.publisher = orri_publisher_create(m.world);
    for (uint32_t t = 0; t < TYPES; t++) {
        call_through(&m, call_add, t);
        model_remap(&m, &m.newest, m.added++);
        step_remap(&m);
    }
    for (uint32_t s = 0; s < steps; s++) {
        model_step(&m);
        model_check(&m);
        if (s % 16 == 0) {
            CHECK_OK(orr_world_validate(m.world));
        }
    }
    CHECK((m.refused > 0) == refuse_memory);
    orri_publisher_destroy(m.publisher);
    kit_end(&m.k);
}

ORR_TEST(random_changes_are_read_as_published)
{
    uint64_t seed = test_seed();
    for (uint32_t round = 0; round < test_rounds(12, 2, 200); round++) {
        model_run(seed, round, 300, false);
    }
}

ORR_TEST(refused_calls_leave_editions_unchanged)
{
    uint64_t seed = test_seed();
    for (uint32_t round = 0; round < test_rounds(6, 1, 100); round++) {
        model_run(seed, round, 120, true);
    }
}
