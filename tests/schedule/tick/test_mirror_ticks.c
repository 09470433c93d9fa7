// SPDX-License-Identifier: MIT
// The mirror test: indirect systems rebuild the world from messages, while other systems write
// columns and send every kind of change, and the test calls the world between ticks. After every
// tick each mirror must equal what its query selects: entities, components, values, instances and
// their order, tags, enable bits, names.
#include "support/store_kit.h"
#include "test.h"
#include <orrery/orrery.h>
#include <stdlib.h>

ORR_STRUCT_EX(Orb, (.multiplicity = ORR_MULTIPLE), (uint32_t, size))
ORR_STRUCT_EX(Root, (.storage = ORR_PINNED), (uint32_t, depth))
ORR_STRUCT(Nudge, (uint32_t, amount))

#define MAX_INDEX     2048u
#define MAX_INSTANCES 16u
#define ENTITIES      48u

enum {
    POSITION,
    VELOCITY,
    PADDED,
    FROZEN,
    LABEL,
    ORB,
    ROOT,
    NAME,
    TYPE_COUNT
};

// ---- a mirror -----------------------------------------------------------------------------------

typedef struct cell {
    uint32_t count; // Instances; 1 for unique types.
    orr_component_id ids[MAX_INSTANCES];
    uint8_t values[MAX_INSTANCES][24];
    bool off[MAX_INSTANCES];
} cell;

typedef struct image {
    orr_entity entity; // Null: not selected.
    cell cells[TYPE_COUNT];
    orr_tag tags[4];
    uint32_t tag_count;
    bool off;
} image;

typedef struct mirror {
    const char* name;
    image images[MAX_INDEX];
    orr_query* query; // Selects the expected entities; made by the test.
    bool tracks[TYPE_COUNT];
    bool switches, tags;
    uint64_t messages;
} mirror;

typedef struct scene {
    kit k;
    orr_world* world;
    orr_type types[TYPE_COUNT];
    uint32_t sizes[TYPE_COUNT];
    orr_entity ids[MAX_INDEX]; // Known to the senders; some are dead.
    uint32_t id_count;
    uint64_t seed, counter;
} scene;

static scene* the_scene;

static uint32_t roll(uint32_t below)
{
    scene* s = the_scene;
    return (uint32_t)orr_random_below(orr_random(s->seed, s->counter++, 0, 0), below);
}

static image* image_of(mirror* m, orr_entity entity)
{
    uint32_t index = (uint32_t)entity.id;
    CHECK(index < MAX_INDEX);
    return &m->images[index];
}

static image* image_there(mirror* m, orr_entity entity)
{
    image* i = image_of(m, entity);
    if (i->entity.id != entity.id) {
        test_fail(__FILE__, __LINE__, "%s: a message about an entity it does not know", m->name);
    }
    return i;
}

static int type_number(orr_type type)
{
    for (int t = 0; t < TYPE_COUNT; t++) {
        if (the_scene->types[t].id == type.id) {
            return t;
        }
    }
    return -1;
}

// Value `i` of an array; NULL: there are none, as of a marker.
static const uint8_t* value_at(const void* values, uint32_t i, size_t size)
{
    return values != NULL ? (const uint8_t*)values + i * size : NULL;
}

static void cell_push(int t, cell* c, orr_component_id id, const void* value)
{
    CHECK(c->count < MAX_INSTANCES);
    memset(c->values[c->count], 0, sizeof c->values[0]);
    if (the_scene->sizes[t] > 0) {
        memcpy(c->values[c->count], value, the_scene->sizes[t]);
    }
    c->ids[c->count] = id;
    c->off[c->count] = false;
    c->count++;
}

static uint32_t cell_find(const cell* c, orr_component_id id)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (c->ids[i] == id) {
            return i;
        }
    }
    test_fail(__FILE__, __LINE__, "a message about an unknown instance");
}

static void take_added(mirror* m, const orr_message* message)
{
    for (uint32_t i = 0; i < message->count; i++) {
        image* there = image_of(m, message->entities[i]);
        // An entity with the same index that is about to be removed may still be there.
        *there = (image){.entity = message->entities[i], .tag_count = message->tag_count};
        CHECK(message->tag_count <= 4);
        if (message->tag_count > 0) {
            memcpy(there->tags, message->tags, message->tag_count * sizeof(orr_tag));
        }
    }
    for (uint32_t c = 0; c < message->column_count; c++) {
        const orr_message_column* column = &message->columns[c];
        int t = type_number(column->type);
        if (t < 0) {
            continue;
        }
        CHECK(m->tracks[t]);
        for (uint32_t i = 0; i < message->count; i++) {
            uint32_t first = column->firsts != NULL ? column->firsts[i] : i;
            uint32_t last = column->firsts != NULL ? column->firsts[i + 1] : i + 1;
            image* there = image_there(m, message->entities[i]);
            for (uint32_t v = first; v < last; v++) {
                cell_push(t, &there->cells[t], column->ids != NULL ? column->ids[v] : 0,
                          value_at(column->values, v, the_scene->sizes[t]));
            }
        }
    }
}

static void take_switch(mirror* m, const orr_message* message, uint32_t i)
{
    const orr_enabled* e = (const orr_enabled*)message->values + i;
    image* there = image_there(m, message->entities[i]);
    if (e->type.id == 0) {
        there->off = e->on == 0;
        return;
    }
    int t = type_number(e->type);
    if (t >= 0) {
        cell* c = &there->cells[t];
        c->off[cell_find(c, message->ids != NULL ? message->ids[i] : 0)] = e->on == 0;
    }
}

static void take_component(mirror* m, const orr_message* message)
{
    int t = type_number(message->type);
    for (uint32_t i = 0; i < message->count; i++) {
        image* there = image_there(m, message->entities[i]);
        if (orr_message_is(message, orr_tags)) {
            CHECK(m->tags);
            there->tag_count = message->tag_count;
            if (message->tag_count > 0) {
                memcpy(there->tags, message->tags, message->tag_count * sizeof(orr_tag));
            }
            continue;
        }
        if (orr_message_is(message, orr_enabled)) {
            CHECK(m->switches);
            take_switch(m, message, i);
            continue;
        }
        CHECK(t >= 0 && m->tracks[t]);
        cell* c = &there->cells[t];
        orr_component_id id = message->ids != NULL ? message->ids[i] : 0;
        const uint8_t* value = value_at(message->values, i, the_scene->sizes[t]);
        if (message->kind == ORR_COMPONENT_ADDED) {
            cell_push(t, c, id, value);
        } else if (message->kind == ORR_COMPONENT_CHANGED) {
            memcpy(c->values[cell_find(c, id)], value, the_scene->sizes[t]);
        } else {
            uint32_t at = cell_find(c, id);
            for (uint32_t k = at; k + 1 < c->count; k++) {
                c->ids[k] = c->ids[k + 1];
                c->off[k] = c->off[k + 1];
                memcpy(c->values[k], c->values[k + 1], sizeof c->values[k]);
            }
            c->count--;
        }
    }
}

static void watch(orr_run* run)
{
    mirror* m = orr_run_user(run);
    ORR_MESSAGES(message, run)
    {
        m->messages++;
        if (message->kind == ORR_ENTITY_ADDED) {
            take_added(m, message);
        } else if (message->kind == ORR_ENTITY_REMOVED) {
            for (uint32_t i = 0; i < message->count; i++) {
                image* there = image_of(m, message->entities[i]);
                if (there->entity.id == message->entities[i].id) {
                    *there = (image){0};
                }
            }
        } else {
            take_component(m, message);
        }
    }
}

static void begin(orr_run* run)
{
    mirror* m = orr_run_user(run);
    memset(m->images, 0, sizeof m->images);
}

// ---- comparing ----------------------------------------------------------------------------------

static void compare_cell(const mirror* m, orr_entity entity, int t, const cell* c)
{
    orr_world* world = the_scene->world;
    char name[160];
    (void)orr_entity_print(world, entity, name, sizeof name);
    const void* values = NULL;
    const orr_component_id* ids = NULL;
    uint32_t count = orr_instances_get(world, entity, the_scene->types[t], &values, &ids);
    if (!m->tracks[t]) {
        CHECK_EQ(c->count, 0);
        return;
    }
    if (count != c->count) {
        test_fail(__FILE__, __LINE__, "%s: tick %llu: %s has %u of type %d, the mirror %u", m->name,
                  (unsigned long long)orr_world_tick(world), name, count, t, c->count);
    }
    const orr_type_info* info = orr_type_info_get(world, the_scene->types[t]);
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t* value = (const uint8_t*)values + (size_t)i * info->size;
        orr_component_id id = t == ORB ? ids[i] : 0;
        CHECK_EQ(c->ids[i], id);
        if (info->size > 0 && orr_value_compare(info, value, c->values[i]) != 0) {
            test_fail(__FILE__, __LINE__,
                      "%s: tick %llu: %s, type %d: the mirror has another value", m->name,
                      (unsigned long long)orr_world_tick(world), name, t);
        }
        if (m->switches &&
            orr_instance_enabled(world, entity, the_scene->types[t], id) == c->off[i]) {
            test_fail(__FILE__, __LINE__, "%s: tick %llu: %s, type %d: the mirror has it %s",
                      m->name, (unsigned long long)orr_world_tick(world), name, t,
                      c->off[i] ? "off" : "on");
        }
    }
}

static void compare_tags(const mirror* m, orr_entity entity, const image* there)
{
    orr_cluster_info info;
    CHECK_OK(orr_cluster_info_get(the_scene->world, orr_entity_cluster(the_scene->world, entity),
                                  &info));
    if (m->tags) {
        CHECK_EQ(there->tag_count, info.tag_count);
        CHECK(info.tag_count == 0 ||
              memcmp(there->tags, info.tags, info.tag_count * sizeof(orr_tag)) == 0);
    }
}

static void compare(mirror* m)
{
    static bool seen[MAX_INDEX];
    memset(seen, 0, sizeof seen);
    ORR_EACH (it, m->query) {
        for (uint32_t i = 0; i < it.count; i++) {
            orr_entity entity = orr_iter_entity(&it, i);
            image* there = image_of(m, entity);
            if (there->entity.id != entity.id) {
                test_fail(__FILE__, __LINE__,
                          "%s: tick %llu: %uv%u is selected, and not in the mirror", m->name,
                          (unsigned long long)orr_world_tick(the_scene->world), (uint32_t)entity.id,
                          (uint32_t)(entity.id >> 32));
            }
            seen[(uint32_t)entity.id] = true;
            for (int t = 0; t < TYPE_COUNT; t++) {
                compare_cell(m, entity, t, &there->cells[t]);
            }
            compare_tags(m, entity, there);
            if (m->switches) {
                CHECK_EQ(there->off, !orr_entity_enabled(the_scene->world, entity));
            }
        }
    }
    for (uint32_t i = 0; i < MAX_INDEX; i++) {
        if (m->images[i].entity.id != 0 && !seen[i]) {
            test_fail(__FILE__, __LINE__, "%s: tick %llu: the mirror has %u, which is not selected",
                      m->name, (unsigned long long)orr_world_tick(the_scene->world), i);
        }
    }
}

// ---- systems that change the world --------------------------------------------------------------

static orr_entity random_entity(void)
{
    return the_scene->ids[roll(the_scene->id_count)];
}

static void keep_id(orr_entity entity)
{
    scene* s = the_scene;
    uint32_t at = s->id_count < ENTITIES ? s->id_count++ : roll(ENTITIES);
    s->ids[at] = entity;
}

// A value of any type; `buffer` has 24 bytes.
static void any_value(int t, uint8_t* buffer)
{
    memset(buffer, 0, 24);
    if (t == LABEL) {
        char text[8];
        snprintf(text, sizeof text, "t%u", roll(5));
        Label l = {orr_string_make(the_scene->world, text), (int32_t)roll(3)};
        memcpy(buffer, &l, sizeof l);
        return;
    }
    if (t == PADDED) {
        Padded p;
        memset(&p, (int)roll(256), sizeof p); // Padding must not matter.
        p.a = (uint8_t)roll(3);
        p.b = roll(3);
        p.c = (uint16_t)roll(3);
        memcpy(buffer, &p, sizeof p);
        return;
    }
    float f[3] = {(float)roll(4), (float)roll(4), (float)roll(4)};
    memcpy(buffer, f, the_scene->sizes[t] < sizeof f ? the_scene->sizes[t] : sizeof f);
}

static void send_one(orr_run* run, orr_entity entity)
{
    scene* s = the_scene;
    uint8_t value[24];
    int t = (int)roll(NAME);
    switch (roll(10)) {
    case 0:
    case 1:
        any_value(t, value);
        (void)orr_send_add_type(run, entity, s->types[t], roll(4) == 0 ? NULL : value, NULL);
        break;
    case 2:
    case 3:
        any_value(t, value);
        if (t != FROZEN) {
            orr_component_id id = t == ORB ? 1 + roll(400) : 0;
            (void)orr_send_change_type(run, entity, s->types[t], id, value);
        }
        break;
    case 4:
        (void)orr_send_remove_type(run, entity, s->types[t], t == ORB ? roll(400) : 0);
        break;
    case 5:
        (void)orr_send_tag(run, entity, 1 + roll(3), roll(2) == 0);
        break;
    case 6:
        (void)orr_send_enable_type(run, entity, roll(3) == 0 ? (orr_type){0} : s->types[t], 0,
                                   roll(2) == 0);
        break;
    case 7:
        if (roll(2) == 0) {
            (void)orr_send_destroy(run, entity);
        }
        break;
    case 8: {
        char name[8];
        snprintf(name, sizeof name, "n%u", roll(20));
        (void)orr_send_name(run, entity, (orr_entity){0}, roll(3) == 0 ? NULL : name);
        break;
    }
    default: {
        orr_component_id id = 0;
        any_value(ORB, value);
        (void)orr_send_add_type(run, entity, s->types[ORB], value, &id);
        if (roll(2) == 0) {
            any_value(ORB, value);
            (void)orr_send_change_type(run, entity, s->types[ORB], id, value);
        } else if (roll(2) == 0) {
            (void)orr_send_remove_type(run, entity, s->types[ORB], id);
        }
        break;
    }
    }
}

static void stir(orr_run* run)
{
    for (uint32_t i = roll(6); i > 0; i--) {
        orr_entity entity = random_entity();
        if (roll(4) == 0) {
            entity = orr_send_create(run);
            keep_id(entity);
            for (uint32_t k = roll(4); k > 0; k--) {
                send_one(run, entity);
            }
        }
        send_one(run, entity);
    }
    if (roll(4) == 0) {
        orr_send_event(run, Nudge, {roll(3)});
    }
}

static void nudge(orr_run* run)
{
    uint32_t count;
    const Nudge* events = orr_events(run, Nudge, &count);
    for (uint32_t e = 0; e < count; e++) {
        ORR_EACH (it, orr_run_query(run)) {
            Position* p = orr_write(&it, Position);
            p[roll(it.count)].x += (float)events[e].amount;
        }
    }
}

static void shake(orr_run* run)
{
    Position* p = orr_write(run, Position);
    Velocity* v = orr_write(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        if (roll(3) == 0) {
            p[i].x += (float)roll(2);
        }
        if (v != NULL && roll(5) == 0) {
            v[i].y = (float)roll(4);
        }
    }
}

// Between ticks.
static void meddle(void)
{
    scene* s = the_scene;
    uint8_t value[24];
    orr_entity entity = random_entity();
    int t = (int)roll(ORB);
    switch (roll(8)) {
    case 0:
        keep_id(orr_create(s->world));
        break;
    case 1:
        if (orr_alive(s->world, entity)) {
            any_value(t, value);
            (void)orr_component_set(s->world, entity, s->types[t], value);
        }
        break;
    case 2:
        if (orr_alive(s->world, entity) && roll(4) == 0) {
            (void)orr_destroy(s->world, entity);
        }
        break;
    case 3:
        if (orr_alive(s->world, entity)) {
            keep_id(orr_copy(s->world, entity));
        }
        break;
    case 4:
        if (orr_alive(s->world, entity)) {
            (void)orr_entity_enable(s->world, entity, roll(2) == 0);
        }
        break;
    case 5:
        if (orr_alive(s->world, entity)) {
            (void)orr_tag_add(s->world, entity, 1 + roll(3));
        }
        break;
    case 6:
        if (orr_alive(s->world, entity)) {
            (void)orr_component_remove(s->world, entity, s->types[t]);
        }
        break;
    default:
        break;
    }
}

// ---- the test -----------------------------------------------------------------------------------

static const char* const ALL_TYPES = "Position, Velocity, Padded, Frozen, Label, Orb, Root";

static void add_system(const orr_system_desc* desc)
{
    if (orr_system_add(the_scene->world, desc).id == 0) {
        test_fail(__FILE__, __LINE__, "%s", the_scene->k.errors.text);
    }
}

static void add_stir(const char* name)
{
    add_system(
        &(orr_system_desc){.name = name,
                           .once = true,
                           .by_id = "write Position, write Velocity, write Padded, write Frozen, "
                                    "write Label, write Orb, write Root",
                           .run = stir,
                           .creates = ALL_TYPES,
                           .creates_max = 8,
                           .adds = ALL_TYPES,
                           .removes = ALL_TYPES,
                           .changes = "Position, Velocity, Padded, Label, Orb, Root",
                           .switches = "Position, Velocity, Padded, Frozen, Label, Orb, Root, *",
                           .destroys = "*",
                           .tags = "*",
                           .renames = true,
                           .sends = "Nudge"});
}

static void add_mirror(mirror* m, const char* name, const char* query, const char* tracks)
{
    *m = (mirror){.name = name};
    const char letters[] = "pvdflorn";
    for (int t = 0; t < TYPE_COUNT; t++) {
        m->tracks[t] = strchr(tracks, letters[t]) != NULL;
    }
    m->switches = strchr(tracks, 'S') != NULL;
    m->tags = strchr(tracks, 'T') != NULL;
    m->query = orr_query_text(the_scene->world, query);
    CHECK(m->query != NULL);
    add_system(&(orr_system_desc){.name = name,
                                  .kind = ORR_INDIRECT,
                                  .query = query,
                                  .run = watch,
                                  .start = begin,
                                  .user = m});
}

static void scene_begin(scene* s, uint64_t seed)
{
    *s = (scene){.seed = seed};
    the_scene = s;
    s->world = kit_begin(&s->k, NULL);
    const orr_type_desc* descs[TYPE_COUNT] = {
        ORR_TYPE(Position), ORR_TYPE(Velocity), ORR_TYPE(Padded), ORR_TYPE(Frozen),
        ORR_TYPE(Label),    ORR_TYPE(Orb),      ORR_TYPE(Root),   ORR_TYPE(orr_name)};
    for (int t = 0; t < TYPE_COUNT; t++) {
        s->types[t] = orr_type_of(s->world, descs[t]);
        s->sizes[t] = orr_type_info_get(s->world, s->types[t])->size;
    }
    ORR_REGISTER(s->world, Nudge, orr_enabled, orr_tags);
    keep_id(orr_create(s->world));
}

static void switch_changers(bool on)
{
    const char* names[] = {"stir_1", "stir_2", "shake", "nudge"};
    for (uint32_t i = 0; i < 4; i++) {
        orr_world* world = the_scene->world;
        CHECK_OK(orr_system_enable(world, orr_system_find(world, names[i]), on));
    }
}

static void step(void)
{
    // Many changes are for dead entities, or for components that they do not have.
    orr_result result = orr_step(the_scene->world, 1);
    if (orr_tick_open(the_scene->world) || !test_ticks_ran(result)) {
        test_fail(__FILE__, __LINE__, "%s", orr_error_last(the_scene->world));
    }
}

enum {
    MIRRORS = 6,
    EARLY = 5, // Runs before the systems that change: it receives their changes in its next tick.
};

static void mirrors_add(mirror* mirrors)
{
    add_mirror(&mirrors[EARLY], "early", "Position, ?Orb", "po");
    add_stir("stir_1");
    add_system(&(orr_system_desc){
        .name = "shake", .query = "write Position, ?write Velocity", .run = shake});
    add_stir("stir_2");
    add_system(&(orr_system_desc){.name = "nudge",
                                  .query = "write Position",
                                  .once = true,
                                  .run = nudge,
                                  .receives = "Nudge"});
    add_mirror(&mirrors[0], "all", "either *, ?orr_tags, ?orr_enabled", "pvdflornST");
    add_mirror(&mirrors[1], "moving", "Position, ?Velocity, !Frozen", "pv");
    add_mirror(&mirrors[2], "either", "either Position, ?orr_enabled, ?Root, ?Label", "prlS");
    add_mirror(&mirrors[3], "rooted", "Root, ?Orb, ?orr_name, Position|Velocity", "ronpv");
    add_mirror(&mirrors[4], "tagged", "#2, ?Padded, ?orr_tags", "dT");
}

static void mirrors_run(uint64_t seed, uint32_t ticks)
{
    static scene s;
    mirror* mirrors = calloc(MIRRORS, sizeof *mirrors);
    CHECK(mirrors != NULL);
    scene_begin(&s, seed);
    mirrors_add(mirrors);
    for (uint32_t tick = 0; tick < ticks; tick++) {
        step();
        for (uint32_t m = 0; m < EARLY; m++) {
            compare(&mirrors[m]);
        }
        if (tick % 16 == 15) { // A tick without changes.
            switch_changers(false);
            step();
            compare(&mirrors[EARLY]);
            switch_changers(true);
        }
        for (uint32_t i = roll(3); i > 0; i--) {
            meddle();
        }
        while (orr_entity_count(s.world) > 2 * ENTITIES) {
            CHECK_OK(orr_destroy(s.world, orr_query_at(mirrors[0].query, roll(ENTITIES))));
        }
    }
    for (uint32_t m = 0; m < MIRRORS; m++) {
        CHECK(mirrors[m].messages > 0);
        orr_query_destroy(mirrors[m].query);
    }
    CHECK_OK(orr_world_validate(s.world));
    kit_end(&s.k);
    free(mirrors);
}

ORR_TEST(mirrors_equal_the_world_after_every_tick) /* N0-10 N0-11 N0-45 */
{
    mirrors_run(test_seed(), test_rounds(2500, 500, 25000));
}
