// SPDX-License-Identifier: MIT
// Published values of multiple and pinned types in random order, compared with full copies of the
// world that the test keeps: values, instances and pinned values are added and removed, rows move,
// chunks change cluster, several views pin at any time. Once with memory, and once with every
// allocation of every publisher call refused in turn.
#include "store/api/reading_kit.h"
#include "store/publish/publish.h"
#include "support/pinned_kit.h"
#include <orrery/query.h>

ORR_STRUCT_EX(Shot, (.multiplicity = ORR_MULTIPLE), (int32_t, number), (int32_t, twice))
ORR_STRUCT_EX(Charm, (.multiplicity = ORR_MULTIPLE, .hooks = &kit_token_hooks), (TokenCell, cell))
ORR_STRUCT_EX(Note, (.multiplicity = ORR_MULTIPLE), (orr_string, text), (int32_t, number))

typedef struct Mark Mark; // A marker.
ORR_MAYBE_UNUSED static const orr_type_desc orr_desc_Mark = {
    .name = "Mark", .align = 1, .settings = {.multiplicity = ORR_MULTIPLE}};
ORR_DESCRIBED(Mark)

enum {
    MOST = 260,
    TYPES = 9, // Published: from MULTIPLE on multiple, before that pinned.
    MULTIPLE = 5,
    KINDS = 11, // With Velocity and Health, which are not published.
    VIEWS = 3,
    FULL = 12, // Instances.
};

// The values of one type on an entity. A key is the slot of a pinned value, or an instance's id.
typedef struct cell {
    uint32_t count;
    uint32_t keys[FULL];
    int32_t values[FULL];
} cell;

typedef struct world_copy {
    cell cells[TYPES][MOST];
} world_copy;

typedef struct watcher {
    orri_view* view;
    uint32_t mask; // Types.
    bool pinned;
    world_copy seen;
} watcher;

typedef struct model {
    kit k;
    orr_world* world;
    orri_publisher* publisher;
    orr_type types[KINDS];
    orr_query *bodies, *shots;
    orr_entity ids[MOST]; // Null: free.
    world_copy live, newest, pending;
    uint32_t added; // Types.
    bool waits[TYPES], dirty, refuse_memory;
    watcher watchers[VIEWS];
    uint64_t seed, draws, tick, refused;
    reading r;
} model;

static uint32_t below(model* m, uint32_t count)
{
    return (uint32_t)orr_random_below(orr_random(m->seed, ++m->draws, 0, 0), count);
}

// ---- values -------------------------------------------------------------------------------------

typedef union any_value {
    Body body;
    Ghost ghost;
    Sign sign;
    Shot shot;
    Charm charm;
    Note note;
    Huge huge;
} any_value;

static const void* value_of(const model* m, uint32_t t, int32_t number, any_value* out)
{
    char text[32];
    snprintf(text, sizeof text, "text %d", (int)(number % 20));
    switch (t) {
    case 0:
        out->body = (Body){number, -number};
        break;
    case 1:
        out->ghost = KIT_GHOST((uint32_t)number);
        break;
    case 2:
        out->sign = (Sign){orr_string_make(m->world, text), number};
        break;
    case 3:
        return NULL;
    case 4:
        memset(out, 0, sizeof *out);
        out->huge.words[0] = out->huge.words[8191] = (uint64_t)number;
        break;
    case 5:
        out->shot = (Shot){number, 2 * number};
        break;
    case 6:
        out->charm.cell = kit_token((uint32_t)number).cell;
        break;
    case 7:
        out->note = (Note){orr_string_make(m->world, text), number};
        break;
    default:
        return NULL;
    }
    return out;
}

static void check_text(const model* m, orr_string string, int32_t number)
{
    char text[32];
    snprintf(text, sizeof text, "text %d", (int)(number % 20));
    if (number != 0) {
        CHECK_STR(orr_string_text(m->world, string), text);
    }
}

static int32_t number_of(const model* m, uint32_t t, const void* value)
{
    switch (t) {
    case 0:
        CHECK_EQ(((const Body*)value)->speed, -((const Body*)value)->mass);
        return ((const Body*)value)->mass;
    case 1:
    case 6:
        CHECK(kit_token_sound(value));
        return (int32_t)((const Token*)value)->cell.payload;
    case 2:
        check_text(m, ((const Sign*)value)->text, ((const Sign*)value)->number);
        return ((const Sign*)value)->number;
    case 4:
        CHECK(((const Huge*)value)->words[0] == ((const Huge*)value)->words[8191]);
        return (int32_t)((const Huge*)value)->words[0];
    case 5:
        CHECK_EQ(((const Shot*)value)->twice, 2 * ((const Shot*)value)->number);
        return ((const Shot*)value)->number;
    case 7:
        check_text(m, ((const Note*)value)->text, ((const Note*)value)->number);
        return ((const Note*)value)->number;
    default:
        return 1;
    }
}

// ---- copies of the world ------------------------------------------------------------------------

// As the caller sees it now.
static cell cell_now(const model* m, uint32_t t, uint32_t i)
{
    cell out = {0};
    uint32_t index = orri_id_index(m->ids[i]);
    if (t < MULTIPLE) {
        const void* value = orr_component_get(m->world, m->ids[i], m->types[t]);
        const orri_pool* pool = orri_pool_find(m->world, m->types[t]);
        out.count = value != NULL;
        out.keys[0] = pool != NULL ? orri_pool_slot1(pool, index) : 0;
        out.values[0] = value != NULL ? number_of(m, t, value) : 0;
        return out;
    }
    const void* values;
    const orr_component_id* ids;
    out.count = orr_instances_get(m->world, m->ids[i], m->types[t], &values, &ids);
    size_t size = orr_type_info_get(m->world, m->types[t])->size;
    CHECK(out.count <= FULL);
    for (uint32_t k = 0; k < out.count; k++) {
        out.keys[k] = ids[k];
        out.values[k] = number_of(m, t, (const uint8_t*)values + k * size);
        CHECK(orr_instance_get(m->world, m->ids[i], m->types[t], ids[k]) ==
              (const uint8_t*)values + k * size);
    }
    return out;
}

static void world_copy_take(const model* m, world_copy* out)
{
    for (uint32_t i = 0; i < MOST; i++) {
        for (uint32_t t = 0; t < TYPES; t++) {
            out->cells[t][i] = m->ids[i].id != 0 ? cell_now(m, t, i) : (cell){0};
        }
    }
}

// A value that still exists keeps its published value; a new one has the live value.
static void cell_remap(cell* seen, const cell* live)
{
    cell had = *seen;
    *seen = *live;
    for (uint32_t k = 0; k < live->count; k++) {
        for (uint32_t h = 0; h < had.count; h++) {
            if (had.keys[h] == live->keys[k]) {
                seen->values[k] = had.values[h];
            }
        }
    }
}

static void world_copy_remap(const model* m, world_copy* seen)
{
    for (uint32_t t = 0; t < m->added; t++) {
        for (uint32_t i = 0; i < MOST; i++) {
            cell_remap(&seen->cells[t][i], &m->live.cells[t][i]);
        }
    }
}

static void model_forget(model* m, uint32_t i)
{
    m->ids[i] = (orr_entity){0};
    for (uint32_t t = 0; t < TYPES; t++) {
        m->live.cells[t][i] = m->newest.cells[t][i] = m->pending.cells[t][i] = (cell){0};
        for (uint32_t v = 0; v < VIEWS; v++) {
            m->watchers[v].seen.cells[t][i] = (cell){0};
        }
    }
}

// ---- reading through views ----------------------------------------------------------------------

static void check_cell(const cell* is, const cell* should)
{
    CHECK_EQ(is->count, should->count);
    for (uint32_t k = 0; k < should->count; k++) {
        CHECK_EQ(is->keys[k], should->keys[k]);
        CHECK_EQ(is->values[k], should->values[k]);
    }
}

static int64_t sum_of(const world_copy* p, uint32_t t)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < MOST; i++) {
        for (uint32_t k = 0; k < p->cells[t][i].count; k++) {
            sum += p->cells[t][i].values[k];
        }
    }
    return sum;
}

static void check_queries(const model* m, const world_copy* seen, uint32_t mask)
{
    int64_t bodies = 0, shots = 0;
    ORR_EACH (it, m->bodies) {
        for (uint32_t i = 0; i < it.count; i++) {
            bodies += orr_read_pinned(&it, Body, i)->mass;
        }
    }
    ORR_EACH (it, m->shots) {
        orr_instances in = orr_instances_of(&it, Shot);
        const Shot* values = orr_read(&it, Shot);
        for (uint32_t i = 0; i < it.count; i++) {
            for (uint32_t k = 0; k < in.counts[i]; k++) {
                shots += values[i * in.capacity + k].number;
            }
        }
    }
    CHECK_EQ(bodies, sum_of((mask & 1) != 0 ? seen : &m->live, 0));
    CHECK_EQ(shots, sum_of((mask >> MULTIPLE & 1) != 0 ? seen : &m->live, MULTIPLE));
}

static void check_watcher(model* m, const watcher* w)
{
    reading_begin(&m->r, m->world, w->view, 0);
    for (uint32_t i = 0; i < MOST; i++) {
        for (uint32_t t = 0; m->ids[i].id != 0 && t < m->added; t++) {
            const world_copy* seen = (w->mask >> t & 1) != 0 ? &w->seen : &m->live;
            cell is = cell_now(m, t, i);
            check_cell(&is, &seen->cells[t][i]);
        }
    }
    check_queries(m, &w->seen, w->mask);
    reading_end(&m->r, m->world);
}

static void model_check(model* m)
{
    CHECK_OK(orri_publisher_validate(m->publisher));
    for (uint32_t v = 0; v < VIEWS && !m->dirty; v++) {
        if (m->watchers[v].pinned) {
            check_watcher(m, &m->watchers[v]);
        }
    }
    CHECK_EQ(kit_tokens.broken, 0);
}

#define HOOKS_MOST 12 // The hook that is refused is one of the first of a call.
#include "store/publish/publish_calls_kit.h"

// ---- steps --------------------------------------------------------------------------------------

static void step_remap(model* m)
{
    world_copy_take(m, &m->live);
    call_through(m, call_remap, 0);
    CHECK(orri_publish_remapped(m->publisher));
    world_copy_remap(m, &m->newest);
    world_copy_remap(m, &m->pending);
    for (uint32_t v = 0; v < VIEWS; v++) {
        if (m->watchers[v].pinned) {
            world_copy_remap(m, &m->watchers[v].seen);
        }
    }
    m->dirty = false;
}

static bool give(model* m, uint32_t i, uint32_t t)
{
    any_value value;
    const void* given = value_of(m, t, (int32_t)below(m, 100000), &value);
    if (t >= MULTIPLE) {
        return orr_instance_add(m->world, m->ids[i], m->types[t], given) != 0;
    }
    return (given != NULL ? orr_component_set(m->world, m->ids[i], m->types[t], given)
                          : orr_component_add(m->world, m->ids[i], m->types[t])) == ORR_OK;
}

static void step_write(model* m)
{
    for (uint32_t n = below(m, 30); n > 0; n--) {
        uint32_t i = below(m, MOST), t = below(m, TYPES);
        cell now = m->ids[i].id != 0 ? cell_now(m, t, i) : (cell){0};
        if (now.count == 0 || m->waits[t]) {
            continue;
        }
        any_value value;
        const void* given = value_of(m, t, (int32_t)below(m, 100000), &value);
        if (given != NULL && t < MULTIPLE) {
            CHECK_OK(orr_component_set(m->world, m->ids[i], m->types[t], given));
        } else if (given != NULL) {
            CHECK_OK(orr_instance_set(m->world, m->ids[i], m->types[t],
                                      now.keys[below(m, now.count)], given));
        }
    }
    if (!m->dirty) {
        world_copy_take(m, &m->live);
    }
}

static void step_create(model* m)
{
    uint32_t wanted = below(m, 10) == 0 ? 1 + below(m, 120) : 1 + below(m, 6);
    for (uint32_t i = 0; i < MOST && wanted > 0; i++) {
        if (m->ids[i].id == 0) {
            model_forget(m, i);
            m->ids[i] = orr_create(m->world);
            for (uint32_t n = below(m, 4); n > 0; n--) {
                uint32_t t = below(m, TYPES);
                CHECK(give(m, i, t == 4 ? 0 : t));
            }
            wanted--;
            m->dirty = true;
        }
    }
}

static void step_destroy(model* m)
{
    uint32_t count = below(m, 10) == 0 ? 80 : below(m, 12);
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
    for (uint32_t n = below(m, 16); n > 0; n--) {
        uint32_t i = below(m, MOST), t = below(m, KINDS);
        if (m->ids[i].id == 0 || (t == 4 && below(m, 8) != 0)) {
            continue;
        }
        m->dirty = true;
        if (t >= TYPES) {
            bool has = orr_component_has(m->world, m->ids[i], m->types[t]);
            CHECK_OK(has ? orr_component_remove(m->world, m->ids[i], m->types[t])
                         : orr_component_add(m->world, m->ids[i], m->types[t]));
            continue;
        }
        cell now = cell_now(m, t, i);
        bool more = now.count == 0 || (t >= MULTIPLE && now.count < FULL && below(m, 2) == 0);
        if (more) {
            CHECK(give(m, i, t));
        } else if (t >= MULTIPLE) {
            CHECK_OK(orr_instance_remove(m->world, m->ids[i], m->types[t],
                                         now.keys[below(m, now.count)]));
        } else {
            CHECK_OK(orr_component_remove(m->world, m->ids[i], m->types[t]));
        }
    }
}

static void step_switch(model* m)
{
    uint32_t i = below(m, MOST), t = below(m, TYPES);
    cell now = m->ids[i].id != 0 ? cell_now(m, t, i) : (cell){0};
    if (now.count > 0) {
        orr_component_id id = t >= MULTIPLE ? now.keys[below(m, now.count)] : 0;
        CHECK_OK(orr_instance_enable(m->world, m->ids[i], m->types[t], id, true));
        m->dirty = true;
    }
}

// A whole cluster is moved or destroyed.
static void step_cluster(model* m)
{
    uint32_t i = below(m, MOST);
    if (m->ids[i].id == 0 || below(m, 4) != 0) {
        return;
    }
    orr_cluster from = orr_entity_cluster(m->world, m->ids[i]);
    const orri_cluster* old = orri_cluster_at(m->world, from);
    orr_tag tag = 7 + below(m, 2);
    orr_cluster to = {0};
    CHECK_OK(orr_cluster_get(m->world,
                             &(orr_cluster_desc){.types = old->types,
                                                 .type_count = old->type_count,
                                                 .capacities = old->capacities,
                                                 .tags = &tag,
                                                 .tag_count = 1},
                             &to));
    m->dirty = true;
    if (below(m, 4) == 0) {
        CHECK_OK(orr_cluster_delete(m->world, from));
    } else if (to.id != from.id) {
        CHECK_OK(orr_rows_move_all(m->world, from, to));
    }
    for (uint32_t e = 0; e < MOST; e++) {
        if (m->ids[e].id != 0 && !orr_alive(m->world, m->ids[e])) {
            model_forget(m, e);
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
            memcpy(m->pending.cells[t], m->live.cells[t], sizeof m->live.cells[t]);
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
            memcpy(m->newest.cells[t], m->pending.cells[t], sizeof m->newest.cells[t]);
            m->waits[t] = false;
        }
    }
    orri_publish_show(m->publisher, types, count, m->world->epoch, m->tick);
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
        step_copy,  step_copy,  step_show,   step_show,    step_pin,   step_remap, step_switch};
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

static void model_begin(model* m)
{
    kit_tokens_reset();
    m->world = kit_begin(&m->k, NULL);
    const orr_type_desc* descs[KINDS] = {ORR_TYPE(Body),     ORR_TYPE(Ghost), ORR_TYPE(Sign),
                                         ORR_TYPE(Seen),     ORR_TYPE(Huge),  ORR_TYPE(Shot),
                                         ORR_TYPE(Charm),    ORR_TYPE(Note),  ORR_TYPE(Mark),
                                         ORR_TYPE(Velocity), ORR_TYPE(Health)};
    for (uint32_t t = 0; t < KINDS; t++) {
        m->types[t] = orr_type_of(m->world, descs[t]);
    }
    m->bodies = orr_query_text(m->world, "Body");
    m->shots = orr_query_text(m->world, "Shot");
    CHECK(m->bodies != NULL && m->shots != NULL);
}

static void model_run(uint64_t seed, uint32_t round, uint32_t steps, bool refuse_memory)
{
    static model m;
    memset(&m, 0, sizeof m);
    m.seed = orr_random(seed, round, refuse_memory, 0);
    m.refuse_memory = refuse_memory;
    model_begin(&m);
    step_create(&m);
    step_alter(&m);
    m.publisher = orri_publisher_create(m.world);
    for (uint32_t t = 0; t < TYPES; t++) {
        call_through(&m, call_add, t);
        m.added++;
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

ORR_TEST(random_instances_and_pinned_values_are_read_as_published)
{
    uint64_t seed = test_seed();
    for (uint32_t round = 0; round < test_rounds(12, 2, 200); round++) {
        model_run(seed, round, 300, false);
    }
}

ORR_TEST(refused_calls_leave_instances_and_pinned_values_unchanged)
{
    uint64_t seed = test_seed();
    for (uint32_t round = 0; round < test_rounds(6, 1, 100); round++) {
        model_run(seed, round, 120, true);
    }
}
