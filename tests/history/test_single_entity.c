// SPDX-License-Identifier: MIT
// Ticks for a single entity, and entity histories in worlds that travel back.
#include "history/entity_history_kit.h"
#include <orrery/history.h>

static void move(orr_run* run)
{
    Position* p = orr_write(run, Position);
    const Velocity* v = orr_read(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += v[i].x * run->dt;
        p[i].z = p[i].z * 2 + (float)run->tick;
    }
}

static void fall(orr_run* run)
{
    Velocity* v = orr_write(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        v[i].x += (float)(orr_run_random(run, orr_iter_entity(run, i)) % 100);
    }
}

static void age(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_write_pinned(run, Body, i)->mass += 3;
    }
}

static void weigh(orr_run* run)
{
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].y += (float)orr_read_pinned(run, Body, i)->mass;
    }
}

static orr_world* begin_moving(kit* k)
{
    kit_line[0] = '\0';
    orr_world* world = kit_begin(k, &(orr_world_desc){.rate_hz = 4});
    ORR_REGISTER(world, Position, Velocity, Body, Frozen);
    KIT_SYSTEM(world, .name = "move", .query = "write Position, Velocity", .run = move);
    KIT_SYSTEM(world, .name = "fall", .query = "write Velocity, !Frozen", .run = fall, .every = 3);
    KIT_SYSTEM(world, .name = "age", .query = "write Body", .run = age);
    KIT_SYSTEM(world, .name = "weigh", .query = "Body, write Position", .run = weigh);
    return world;
}

static orr_entity make_moving(orr_world* world)
{
    for (float x = 0; x < 3; x++) { // Some other rows.
        orr_entity other = make(world, x);
        CHECK_OK(orr_set(world, other, Velocity, {x, 1}));
        CHECK_OK(orr_set(world, other, Body, {100 * (int32_t)x, 0}));
    }
    orr_entity a = kit_traveller(world, 1);
    CHECK_OK(orr_set(world, a, Velocity, {2, 3}));
    CHECK_OK(orr_add(world, a, Body));
    orr_entity other = orr_copy(world, a);
    CHECK(other.id != 0);
    return a;
}

ORR_TEST(entity_travel_forward_equals_running_ticks) /* N3-41 */
{
    kit k = {0}, other = {0};
    orr_world *world = begin_moving(&k), *alone = begin_moving(&other);
    orr_entity a = make_moving(world), b = make_moving(alone);
    CHECK_EQ(a.id, b.id);
    KIT_STEP(world, 5);
    KIT_STEP(alone, 5);
    char text[1024], rest[1024], rest_now[1024];
    orr_entity beside = {a.id - 1};
    kit_state(alone, beside, rest, sizeof rest);
    for (uint32_t n = 1; n <= 8; n++) {
        KIT_STEP(world, n);
        CHECK_OK(orr_entity_travel(alone, b, orr_time_of(alone, b) + n));
        CHECK_EQ(orr_time_of(alone, b), orr_time_of(world, a));
        kit_state(world, a, text, sizeof text);
        KIT_STATE(alone, b, text);
        // Ticks and random numbers are those of the world, which catches up later.
        CHECK_STR(kit_state(alone, beside, rest_now, sizeof rest_now), rest);
        CHECK_OK(orr_destroy(alone, orr_create(alone)));
        for (uint32_t i = 0; i < n; i++) {
            KIT_STEP(alone, 1);
        }
        CHECK_OK(orr_entity_remember(world, a, 1000));
        KIT_STEP(world, 0);
        // The second effect of the steps on the entity is undone.
        CHECK_OK(orr_put(alone, b, Position, orr_get(world, a, Position)));
        CHECK_OK(orr_put(alone, b, Velocity, orr_get(world, a, Velocity)));
        CHECK_OK(orr_put(alone, b, Body, orr_get(world, a, Body)));
        CHECK_OK(orr_entity_remember(alone, b, orr_time_of(world, a)));
        CHECK_OK(orr_entity_travel(alone, b, orr_time_of(world, a)));
        kit_state(alone, beside, rest, sizeof rest);
    }
    kit_end(&k);
    kit_end(&other);
}

ORR_TEST(entity_travel_forward_gives_the_computed_state)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.rate_hz = 4});
    ORR_REGISTER(world, Position, Velocity);
    KIT_SYSTEM(world, .name = "move", .query = "write Position, Velocity", .run = move);
    orr_entity a = kit_traveller(world, 1);
    CHECK_OK(orr_set(world, a, Velocity, {8, 0}));
    CHECK_OK(orr_entity_travel(world, a, 3)); // 3 ticks of a quarter of a second.
    CHECK(orr_get(world, a, Position)->x == 7);
    CHECK(orr_get(world, a, Position)->z == 11); // ((0 * 2 + 1) * 2 + 2) * 2 + 3
    CHECK_EQ(orr_time_of(world, a), 3);
    CHECK_EQ(orr_world_tick(world), 0);
    CHECK_OK(orr_entity_travel(world, a, 3)); // To its own time: no work.
    CHECK(orr_get(world, a, Position)->x == 7);
    CHECK_RESULT(orr_entity_travel(world, a, 2), ORR_ERR_PAST);
    KIT_STEP(world, 1);
    CHECK_EQ(orr_time_of(world, a), 4);
    CHECK(orr_get(world, a, Position)->x == 9);
    kit_end(&k);
}

ORR_TEST(travel_forward_of_a_disabled_entity_only_advances_time)
{
    kit k = {0};
    orr_world* world = begin_moving(&k);
    orr_entity a = make_moving(world);
    CHECK_OK(orr_entity_enable(world, a, false));
    char text[1024];
    kit_state(world, a, text, sizeof text);
    CHECK_OK(orr_entity_travel(world, a, 5));
    KIT_STATE(world, a, text);
    CHECK_EQ(orr_time_of(world, a), 5);
    kit_end(&k);
}

// A system that does more than update its own rows prevents a single-entity travel forward.
static void refused(const orr_system_desc* desc, const char* words)
{
    kit k = {0};
    orr_world* world = begin(&k);
    ORR_REGISTER(world, Hit, Count, Wind);
    orr_entity a = kit_traveller(world, 1);
    CHECK_OK(orr_set(world, a, Velocity, {1, 1}));
    KIT_SYSTEM(world, .name = "fine", .query = "write Position, Velocity", .run = move);
    kit_taken(world, orr_system_add(world, desc), __FILE__, __LINE__);
    KIT_SYSTEM(world, .name = "ears", .kind = ORR_INDIRECT, .query = "?Position",
               .run = kit_note_messages, .receives = "Hit");
    uint64_t before = orr_world_hash(world);
    CHECK_RESULT(orr_entity_travel(world, a, 2), ORR_ERR_STATE);
    CHECK_CONTAINS(k.errors.text, "cannot be run alone: system 'more'");
    CHECK_CONTAINS(k.errors.text, words);
    CHECK_EQ(orr_world_hash(world), before);
    orr_system more = orr_system_find(world, "more");
    CHECK_OK(orr_system_enable(world, more, false));
    CHECK_OK(orr_entity_travel(world, a, 2));
    kit_end(&k);
}

ORR_TEST(travel_forward_through_systems_that_do_more_is_refused_by_name) /* N3-41 */
{
#define REFUSED(words, ...) \
    refused(&(orr_system_desc){.name = "more", .run = kit_run_nothing, __VA_ARGS__}, words)
    REFUSED(".once", .query = "Position", .once = true);
    REFUSED(".by_id", .query = "Position", .by_id = "Health");
    REFUSED(".creates", .query = "Position", .creates = "Position");
    REFUSED(".destroys", .query = "Position", .destroys = "Health");
    REFUSED(".adds", .query = "Position", .adds = "Health");
    REFUSED(".removes", .query = "Position", .removes = "Health");
    REFUSED(".changes", .query = "Position", .changes = "Health");
    REFUSED(".transacts", .query = "Position", .transacts = "Health");
    REFUSED(".switches", .query = "Position", .switches = "Health");
    REFUSED(".tags", .query = "Position", .tags = "#7");
    REFUSED(".renames", .query = "Position", .renames = true);
    REFUSED(".sends", .query = "Position", .sends = "Hit");
    REFUSED(".state", .query = "Position", .state = ORR_TYPE(Count));
    REFUSED(".exports", .query = "Position", .exports = ORR_TYPE(Wind));
    REFUSED(".user", .query = "Position", .user = &kit_line);
    REFUSED("has 'changed' terms in its query", .query = "changed Position");
    REFUSED("has not begun", .query = "Position", .start = on_start);
    // Systems that do not select it, but may change it by id.
    REFUSED("may change its Velocity by id", .query = "Health", .transacts = "Velocity");
    REFUSED("may change its Position by id", .once = true, .by_id = "write Position");
    REFUSED("may change its Position by id", .kind = ORR_INDIRECT, .query = "write Position");
#undef REFUSED
}

ORR_TEST(travel_forward_through_another_pipeline_is_refused_by_name)
{
    kit k = {0};
    orr_world* world = begin(&k);
    CHECK(orr_pipeline_add(world, &(orr_pipeline_desc){.name = "physics", .rate_hz = 10}).id != 0);
    orr_entity a = kit_traveller(world, 1);
    KIT_SYSTEM(world, .name = "step", .query = "write Position", .run = kit_run_nothing,
               .pipeline = "physics");
    CHECK_RESULT(orr_entity_travel(world, a, 1), ORR_ERR_STATE);
    KIT_ERROR(&k, ORR_ERR_STATE, "system 'step' is in a pipeline");
    kit_end(&k);
}

static void violate(orr_run* run)
{
    orr_write(run, Position)->x += 1;
    if (run->tick == 3) {
        (void)orr_send_destroy(run, orr_iter_entity(run, 0)); // Not declared.
    }
}

ORR_TEST(travel_forward_with_a_violation_leaves_the_entity_unchanged)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity a = kit_traveller(world, 1);
    KIT_SYSTEM(world, .name = "breach", .query = "write Position", .run = violate);
    CHECK_OK(orr_entity_travel(world, a, 2));
    CHECK(orr_get(world, a, Position)->x == 3);
    CHECK_RESULT(orr_entity_travel(world, a, 5), ORR_ERR_STATE);
    KIT_ERROR(&k, ORR_ERR_STATE, "system 'breach' violated its declarations");
    CHECK(orr_get(world, a, Position)->x == 3);
    CHECK_EQ(orr_time_of(world, a), 2);
    kit_end(&k);
}

static void scribble(orr_run* run)
{
    Label* l = orr_write(run, Label);
    for (uint32_t i = 0; i < run->count; i++) {
        l[i].number++;
        orr_string_assign(run->world, &l[i].text, (orr_string){0});
    }
}

// The entity drives another one, and refers to a dead one: both stay.
static orr_entity make_driver(orr_world* world)
{
    orr_entity a = kit_traveller(world, 1), driven = make(world, 2), dead = make(world, 3);
    CHECK_OK(orr_set(world, a, Body, {7, 0}));
    CHECK_OK(orr_set(world, a, Label, {orr_string_make(world, "a text of its own"), 3}));
    CHECK_OK(orr_set(world, a, Link, {dead, 1}));
    CHECK_OK(orr_time_stretch(world, driven, 1));
    CHECK_OK(orr_time_stretch(world, a, 0.25));
    CHECK_OK(orr_time_derivate(world, a, driven));
    orr_time_stretcher s = *orr_get(world, a, orr_time_stretcher);
    s.position = 0.75;
    CHECK_OK(orr_put(world, a, orr_time_stretcher, &s));
    CHECK_OK(orr_destroy(world, dead));
    return a;
}

// The way back needs no memory, and restores every value as it was.
ORR_TEST(travel_forward_with_a_violation_and_without_memory_changes_nothing)
{
    for (uint32_t round = 0; round < 4; round++) {
        kit k = {0};
        orr_world* world = begin(&k);
        ORR_REGISTER(world, Position, Body, Label, Link, orr_time_stretcher);
        orr_entity a = make_driver(world);
        KIT_SYSTEM(world, .name = "age", .query = "write Body", .run = age);
        KIT_SYSTEM(world, .name = "scribble", .query = "write Label", .run = scribble);
        KIT_SYSTEM(world, .name = "breach", .query = "write Position", .run = violate);
        if (round >= 2) {
            CHECK_OK(orr_remember(world));
        }
        uint64_t before = orr_world_hash(world), refused = 1;
        for (uint64_t n = 1; refused > 0; n++) {
            failing_alloc_arm(&k.memory, n, round % 2 == 0);
            orr_result result = orr_entity_travel(world, a, 5);
            refused = k.memory.refused;
            failing_alloc_arm(&k.memory, 0, false);
            CHECK(result == ORR_ERR_STATE || result == ORR_ERR_MEMORY);
            CHECK_EQ(orr_world_hash(world), before);
            CHECK_OK(orr_world_validate(world));
        }
        kit_end(&k);
    }
}

static orr_entity travel_inside;
static orr_result travel_results[3];

static void travels(orr_run* run)
{
    travel_results[0] = orr_entity_travel(run->world, travel_inside, 0);
    travel_results[1] = orr_entity_remember(run->world, travel_inside, 0);
    travel_results[2] = orr_time_stretch(run->world, travel_inside, 1);
}

ORR_TEST(travel_inside_a_system_is_refused)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity a = kit_traveller(world, 1);
    CHECK_OK(orr_add(world, a, orr_time_stretcher));
    CHECK_OK(orr_entity_remember(world, a, 0));
    travel_inside = a;
    KIT_SYSTEM(world, .name = "travels", .once = true, .query = "Position", .run = travels);
    KIT_STEP_REFUSED(world, 1);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_RESULT(travel_results[i], ORR_ERR_STATE);
    }
    kit_end(&k);
}

// ---- travels of the world -----------------------------------------------------------------------

ORR_TEST(world_that_travels_back_restores_entity_histories)
{
    kit k = {0};
    orr_world* world = begin_moving(&k);
    orr_entity a = make_moving(world);
    KIT_STEP(world, 3);
    CHECK_OK(orr_entity_remember(world, a, 1));
    uint64_t hash = orr_world_hash(world), hashes[2][3];
    char text[1024];
    kit_state(world, a, text, sizeof text);
    CHECK_OK(orr_remember(world));
    for (uint32_t round = 0; round < 2; round++) {
        CHECK_OK(orr_entity_remember(world, a, 2));
        CHECK_OK(orr_entity_travel(world, a,
                                   9)); // Single: the world's memory is not written.
        hashes[round][0] = orr_world_hash(world);
        KIT_STEP(world, 4);
        CHECK_EQ(orr_time_of(world, a), 13);
        CHECK_OK(orr_entity_forget(world, a, 1));
        hashes[round][1] = orr_world_hash(world);
        CHECK_OK(orr_entity_travel(world, a, 2));
        KIT_STEP(world, 1);
        hashes[round][2] = orr_world_hash(world);
        CHECK_OK(orr_time_travel(world, 3));
        CHECK_EQ(orr_world_hash(world), hash);
        KIT_STATE(world, a, text);
        CHECK_EQ(orr_time_of(world, a), 3);
        uint64_t slot;
        CHECK(orr_entity_slots(world, a, &slot, 1) == 1 && slot == 1);
    }
    CHECK(memcmp(hashes[0], hashes[1], sizeof hashes[0]) == 0);
    CHECK_OK(orr_world_validate(world));
    kit_end(&k);
}
