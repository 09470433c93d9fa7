// SPDX-License-Identifier: MIT
// Entities with their own time, played back from their slots.
#include "history/entity_history_kit.h"
#include <orrery/history.h>

// x is 10 times the slot, health equals the slot; slots ascend.
static orr_entity make_stretched(orr_world* world, const uint64_t* slots, uint32_t count)
{
    orr_entity entity = kit_traveller(world, 0);
    for (uint32_t i = 0; i < count; i++) {
        float x = (float)slots[i] * 10;
        CHECK_OK(orr_set(world, entity, Position, {x, -x, 1}));
        CHECK_OK(orr_set(world, entity, Health, {(int32_t)x, 0}));
        CHECK_OK(orr_entity_remember(world, entity, slots[i]));
    }
    CHECK_OK(orr_entity_travel(world, entity, slots[0]));
    return entity;
}

static const uint64_t tens[] = {0, 10, 20};

static orr_world* begin_stretching(kit* k)
{
    orr_world* world = begin(k);
    ORR_REGISTER(world, Wheel, Body, Label, Link);
    kit_taken(world, orr_stretcher_add(world, NULL), __FILE__, __LINE__);
    return world;
}

static const orr_time_stretcher* stretcher_of(orr_world* world, orr_entity entity)
{
    return orr_get(world, entity, orr_time_stretcher);
}

static void check_at(orr_world* world, orr_entity entity, double position, float x, int32_t health)
{
    CHECK(stretcher_of(world, entity)->position == position);
    CHECK(orr_get(world, entity, Position)->x == x);
    CHECK(orr_get(world, entity, Position)->y == -x);
    CHECK_EQ(orr_get(world, entity, Health)->value, health);
    CHECK_EQ(orr_time_of(world, entity), (uint64_t)position);
    CHECK_EQ(stretcher_of(world, entity)->state, ORR_STRETCH_MOVES);
}

// No system would run for it, and it has no state at that time.
ORR_TEST(stretched_entity_travels_forward_to_slots_only)
{
    kit k = {0};
    orr_world* world = begin_stretching(&k);
    orr_entity a = make_stretched(world, tens, 3);
    CHECK_OK(orr_time_stretch(world, a, 1));
    CHECK_RESULT(orr_entity_travel(world, a, 15), ORR_ERR_STATE);
    KIT_ERROR(&k, ORR_ERR_STATE, "remove the stretcher");
    check_at(world, a, 0, 0, 0);
    CHECK_OK(orr_entity_travel(world, a, 20));
    check_at(world, a, 20, 200, 200);
    CHECK_OK(orr_remove(world, a, orr_time_stretcher));
    CHECK_OK(orr_entity_travel(world, a, 25)); // By running systems, of which there are none.
    CHECK_EQ(orr_time_of(world, a), 25);
    kit_end(&k);
}

ORR_TEST(stretcher_plays_slots_at_any_rate) /* N3-42, N3-44 */
{
    kit k = {0};
    orr_world* world = begin_stretching(&k);
    orr_entity a = make_stretched(world, tens, 3);
    CHECK_OK(orr_time_stretch(world, a, 0.5));
    KIT_STEP(world, 1);
    check_at(world, a, 0.5, 5, 0); // The integer stays until slot 10 is reached.
    KIT_STEP(world, 19);
    check_at(world, a, 10, 100, 100);
    CHECK_OK(orr_time_stretch(world, a, 2.5));
    KIT_STEP(world, 3);
    check_at(world, a, 17.5, 175, 100);
    CHECK_OK(orr_time_stretch(world, a, -4)); /* N3-45 */
    KIT_STEP(world, 2);
    check_at(world, a, 9.5, 95, 0);
    CHECK_OK(orr_time_stretch(world, a, 0));
    KIT_STEP(world, 7);
    check_at(world, a, 9.5, 95, 0);
    CHECK_OK(orr_time_stretch(world, a, -9.5));
    KIT_STEP(world, 1);
    check_at(world, a, 0, 0, 0);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(stretcher_without_enough_slots_reports_once_and_stays) /* N3-45 */
{
    kit k = {0};
    orr_world* world = begin_stretching(&k);
    orr_entity a = make_stretched(world, tens, 3);
    CHECK_OK(orr_name_set(world, a, (orr_entity){0}, "ball"));
    CHECK_OK(orr_entity_travel(world, a, 10));
    CHECK_OK(orr_time_stretch(world, a, -4));
    KIT_STEP(world, 2);
    check_at(world, a, 2, 20, 0);
    KIT_STEP_REFUSED(world, 5);
    CHECK_EQ(k.errors.count, 1);
    CHECK_CONTAINS(k.errors.text, "ball (0v1) cannot move from 2 to -2: its first slot is 0");
    CHECK_RESULT(k.errors.result, ORR_ERR_PAST);
    CHECK(stretcher_of(world, a)->position == 2);
    CHECK(orr_get(world, a, Position)->x == 20);
    CHECK_EQ(stretcher_of(world, a)->state, ORR_STRETCH_OUTSIDE_SLOTS);
    CHECK_EQ(orr_time_of(world, a), 2);      // Its time is kept.
    CHECK_OK(orr_time_stretch(world, a, 4)); // It continues as soon as it can.
    KIT_STEP(world, 4);
    check_at(world, a, 18, 180, 100);
    KIT_STEP_REFUSED(world, 5);
    CHECK_EQ(k.errors.count, 2);
    CHECK_CONTAINS(k.errors.text, "its last slot is 20");
    // With more slots it continues.
    CHECK_OK(orr_entity_remember(world, a, 30));
    KIT_STEP(world, 1);
    CHECK_EQ(stretcher_of(world, a)->state, ORR_STRETCH_MOVES);
    CHECK(stretcher_of(world, a)->position == 22);
    kit_end(&k);
}

ORR_TEST(stretcher_short_of_the_first_slot_travels_there_and_is_removed)
{
    kit k = {0};
    orr_world* world = begin_stretching(&k);
    orr_entity a = make_stretched(world, tens, 3);
    CHECK_OK(orr_entity_travel(world, a, 10));
    CHECK_OK(orr_time_stretch(world, a, -4));
    KIT_STEP_REFUSED(world, 3);
    CHECK_EQ(k.errors.count, 1);
    CHECK_OK(orr_entity_travel(world, a, 0)); // See ENTITY_TIME.md.
    CHECK_OK(orr_time_stretch(world, a, 0));
    KIT_STEP(world, 2);
    check_at(world, a, 0, 0, 0);
    CHECK_EQ(k.errors.count, 1);
    CHECK_OK(orr_time_stretch(world, a, 2.75));
    KIT_STEP(world, 1);
    CHECK_OK(orr_remove(world, a, orr_time_stretcher));
    CHECK(orr_get(world, a, Position)->x == 27.5f);
    KIT_STEP(world, 3);
    CHECK_EQ(orr_time_of(world, a), 5);
    CHECK(orr_get(world, a, Position)->x == 27.5f);
    CHECK_OK(orr_time_stretch(world, a, 1));
    CHECK(stretcher_of(world, a)->position == 5);
    kit_end(&k);
}

ORR_TEST(stretcher_without_slots_reports_it)
{
    kit k = {0};
    orr_world* world = begin_stretching(&k);
    orr_entity a = make(world, 1);
    KIT_STEP(world, 3);
    CHECK_OK(orr_time_stretch(world, a, 0)); // Rate 0: nothing to report.
    KIT_STEP(world, 3);
    CHECK_EQ(k.errors.count, 0);
    CHECK(stretcher_of(world, a)->position == 0);
    CHECK_EQ(orr_time_of(world, a), 0);
    CHECK_OK(orr_time_stretch(world, a, 1));
    KIT_STEP_REFUSED(world, 3);
    CHECK_EQ(orr_time_of(world, a), 0);
    CHECK_EQ(k.errors.count, 1);
    CHECK_CONTAINS(k.errors.text, "it has no used slots");
    CHECK(orr_get(world, a, Position)->x == 1);
    kit_end(&k);
}

ORR_TEST(stretcher_begins_at_the_time_of_its_entity)
{
    kit k = {0};
    orr_world* world = begin_stretching(&k);
    orr_entity a = make_stretched(world, tens, 3);
    KIT_STEP(world, 4);
    CHECK_OK(orr_time_stretch(world, a, 1));
    CHECK(stretcher_of(world, a)->position == 4);
    KIT_STEP(world, 1);
    check_at(world, a, 5, 50, 0);
    CHECK_OK(orr_entity_travel(world, a, 10)); // A travel moves the playback position, too.
    KIT_STEP(world, 1);
    check_at(world, a, 11, 110, 100);
    kit_end(&k);
}

ORR_TEST(stretch_with_an_invalid_rate_is_refused)
{
    kit k = {0};
    orr_world* world = begin_stretching(&k);
    orr_entity a = make_stretched(world, tens, 3);
    double inf = 1e300 * 1e300;
    uint64_t before = orr_world_hash(world);
    CHECK_RESULT(orr_time_stretch(world, a, inf), ORR_ERR_RANGE);
    CHECK_RESULT(orr_time_stretch(world, a, inf - inf), ORR_ERR_RANGE);
    CHECK_EQ(orr_world_hash(world), before);
    kit_end(&k);
}

// ---- structure ----------------------------------------------------------------------------------

ORR_TEST(stretcher_changes_components_tags_and_enable_bits_stepwise)
{
    kit k = {0};
    orr_world* world = begin_stretching(&k);
    orr_entity a = kit_traveller(world, 0);
    orr_type wheel = KIT_TYPE(world, Wheel);
    static char texts[4][1024];
    for (uint32_t i = 0; i < 4; i++) {
        switch (i) {
        case 1:
            CHECK_OK(orr_set(world, a, Label, {orr_string_make(world, "one"), 1}));
            CHECK_OK(orr_add(world, a, Frozen));
            CHECK_OK(orr_tag_add(world, a, 5));
            CHECK(orr_add_instance(world, a, Wheel, {1, 1}) != 0);
            CHECK(orr_add_instance(world, a, Wheel, {2, 2}) != 0);
            CHECK_OK(orr_set(world, a, Body, {7, 7}));
            break;
        case 2: {
            const orr_component_id* ids;
            (void)orr_instances_get(world, a, wheel, NULL, &ids);
            CHECK_OK(orr_instance_enable(world, a, wheel, ids[1], false));
            CHECK(orr_add_instance(world, a, Wheel, {3, 3}) != 0);
            (void)orr_instances_get(world, a, wheel, NULL, &ids);
            CHECK_OK(orr_instance_enable(world, a, wheel, ids[2], false));
            CHECK_OK(orr_enable(world, a, Position, false));
            CHECK_OK(orr_enable(world, a, Body, false));
            CHECK_OK(orr_tag_add(world, a, 6));
            CHECK_OK(orr_set(world, a, Label, {orr_string_make(world, "two"), 2}));
            break;
        }
        case 3:
            CHECK_OK(orr_remove(world, a, Label));
            CHECK_OK(orr_remove(world, a, Wheel));
            CHECK_OK(orr_remove(world, a, Body));
            CHECK_OK(orr_remove(world, a, Frozen));
            CHECK_OK(orr_tag_remove(world, a, 5));
            CHECK_OK(orr_enable(world, a, Position, true));
            break;
        default:
            break;
        }
        CHECK_OK(orr_entity_remember(world, a, i));
        kit_state(world, a, texts[i], sizeof texts[i]);
    }
    CHECK_OK(orr_entity_travel(world, a, 0));
    CHECK_OK(orr_time_stretch(world, a, 0.5));
    KIT_STATE(world, a, texts[0]);
    for (uint32_t i = 1; i <= 6; i++) {
        KIT_STEP(world, 1);
        if (i % 2 == 0) {
            KIT_STATE(world, a, texts[i / 2]);
        }
    }
    CHECK_OK(orr_time_stretch(world, a, -1));
    for (uint32_t i = 3; i-- > 0;) {
        KIT_STEP(world, 1);
        KIT_STATE(world, a, texts[i]);
    }
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(stretcher_of_undeclared_types_names_them_once)
{
    kit k = {0};
    orr_world* world = begin(&k);
    kit_taken(world, orr_stretcher_add(world, &(orr_stretcher_desc){.types = "Position"}), __FILE__,
              __LINE__);
    orr_entity a = make_stretched(world, tens, 3);
    CHECK_OK(orr_time_stretch(world, a, 5));
    KIT_STEP(world, 1);
    check_at(world, a, 5, 50, 0); // Health is equal in all slots.
    KIT_STEP_REFUSED(world, 4);
    CHECK_EQ(k.errors.count, 1);
    CHECK_CONTAINS(k.errors.text, "Health of entity 0v1 would change");
    CHECK_EQ(stretcher_of(world, a)->state, ORR_STRETCH_UNDECLARED_TYPE);
    CHECK_EQ(orr_time_of(world, a), 5);
    CHECK(orr_get(world, a, Position)->x == 50);
    kit_end(&k);
}

ORR_TEST(stretcher_system_is_added_once)
{
    kit k = {0};
    orr_world* world = begin_stretching(&k);
    CHECK_EQ(orr_stretcher_add(world, NULL).id, 0);
    CHECK(k.errors.count > 0);
    kit_end(&k);
}

static void count_line(void* user, const orr_log_line* line)
{
    *(uint32_t*)user += line->id == ORR_LOG_ID_STRETCHER_IDLE;
}

ORR_TEST(stretch_without_the_system_is_warned_of_once)
{
    for (uint32_t added = 0; added < 2; added++) {
        kit k = {0};
        uint32_t lines = 0;
        orr_world* world = kit_begin(
            &k, &(orr_world_desc){
                    .log = {.level = ORR_LOG_WARNING, .sink = count_line, .user = &lines}});
        ORR_REGISTER(world, Position, Health);
        if (added == 1) {
            kit_taken(world, orr_stretcher_add(world, NULL), __FILE__, __LINE__);
        }
        orr_entity a = make_stretched(world, tens, 3), b = make_stretched(world, tens, 3);
        CHECK_OK(orr_time_stretch(world, a, 0)); // Rate 0 does not move.
        CHECK_EQ(lines, 0);
        CHECK_OK(orr_time_stretch(world, a, 1));
        CHECK_EQ(lines, 1 - added);
        CHECK_OK(orr_time_stretch(world, b, 2));
        KIT_STEP(world, 2);
        CHECK_EQ(lines, 1 - added);
        CHECK_EQ(k.errors.count, 0);
        kit_end(&k);
    }
}

ORR_TEST(stretcher_of_too_many_types_requires_a_list)
{
    kit k = {0};
    orr_world* world = begin(&k);
    for (uint32_t i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "T%u", i);
        static const orr_field_desc field = {.name = "x", .type = ORR_TYPE(float)};
        orr_type type;
        CHECK_OK(orr_type_register(
            world, &(orr_type_desc){.name = name, .fields = &field, .field_count = 1}, &type));
    }
    CHECK_EQ(orr_stretcher_add(world, NULL).id, 0);
    KIT_ERROR(&k, ORR_ERR_CAPACITY, "orr_stretcher_desc.types");
    CHECK(orr_stretcher_add(world, &(orr_stretcher_desc){.types = "T3, T7"}).id != 0);
    KIT_STEP(world, 1);
    kit_end(&k);
}

// ---- derivatives --------------------------------------------------------------------------------

ORR_TEST(stretcher_is_a_velocity_and_may_be_driven_by_others) /* N3-43 */
{
    kit k = {0};
    orr_world* world = begin_stretching(&k);
    static const uint64_t slots[] = {0, 100};
    orr_entity ball = make_stretched(world, slots, 2);
    orr_entity acceleration = orr_create(world), jerk = orr_create(world);
    CHECK_OK(orr_time_stretch(world, ball, 1)); // derivate_traveller: of its own entity.
    CHECK_OK(orr_time_stretch(world, acceleration, 2));
    CHECK_OK(orr_time_stretch(world, jerk, 0.5));
    CHECK_OK(orr_time_derivate(world, acceleration, ball)); // derivate_stretcher
    CHECK_OK(orr_time_derivate(world, jerk, acceleration));
    // Position, velocity and acceleration at the start of each tick: all move by the old values.
    double position = 0, velocity = 1, pull = 2;
    for (uint32_t i = 0; i < 6; i++) {
        KIT_STEP(world, 1);
        position += velocity;
        velocity += pull;
        pull += 0.5;
        CHECK(stretcher_of(world, ball)->position == position);
        CHECK(stretcher_of(world, ball)->rate == velocity);
        CHECK(stretcher_of(world, acceleration)->rate == pull);
        CHECK(stretcher_of(world, ball)->push == pull - 0.5);
        CHECK(orr_get(world, ball, Position)->x == (float)(position * 10));
    }
    CHECK(position == 46);                                   // 6 * 1 + 2 * 15 + 0.5 * 20
    CHECK(stretcher_of(world, acceleration)->position == 0); // It drives no entity itself.
    CHECK_OK(orr_time_derivate(world, acceleration, (orr_entity){0}));
    KIT_STEP_REFUSED(world, 1);
    CHECK(stretcher_of(world, ball)->push == 0);
    CHECK(stretcher_of(world, ball)->rate == velocity);
    kit_end(&k);
}

ORR_TEST(stretcher_may_have_several_drivers_and_survives_them)
{
    kit k = {0};
    orr_world* world = begin_stretching(&k);
    static const uint64_t slots[] = {0, 100};
    orr_entity ball = make_stretched(world, slots, 2), a = orr_create(world), b = orr_create(world);
    CHECK_OK(orr_time_stretch(world, ball, 0));
    CHECK_OK(orr_time_stretch(world, a, 1.5));
    CHECK_OK(orr_time_stretch(world, b, -1));
    CHECK_OK(orr_time_derivate(world, a, ball));
    CHECK_OK(orr_time_derivate(world, b, ball));
    KIT_STEP(world, 2);
    CHECK(stretcher_of(world, ball)->rate == 1);
    CHECK_OK(orr_destroy(world, b));
    KIT_STEP(world, 1);
    CHECK(stretcher_of(world, ball)->rate == 2.5);
    CHECK_OK(orr_destroy(world, ball)); // The driven entity is gone.
    KIT_STEP(world, 3);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(stretchers_in_a_cycle_are_refused)
{
    kit k = {0};
    orr_world* world = begin_stretching(&k);
    orr_entity e[4];
    for (uint32_t i = 0; i < 4; i++) {
        e[i] = orr_create(world);
        CHECK_OK(orr_time_stretch(world, e[i], 1));
    }
    CHECK_OK(orr_time_derivate(world, e[0], e[1]));
    CHECK_OK(orr_time_derivate(world, e[1], e[2]));
    uint64_t before = orr_world_hash(world);
    CHECK_RESULT(orr_time_derivate(world, e[2], e[0]), ORR_ERR_ARGUMENT);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "which already drives it");
    CHECK_RESULT(orr_time_derivate(world, e[1], e[0]), ORR_ERR_ARGUMENT);
    CHECK_EQ(orr_world_hash(world), before);
    CHECK_OK(orr_time_derivate(world, e[2], e[3]));
    CHECK_OK(orr_time_derivate(world, e[0], e[0])); // Its own entity again.
    CHECK_OK(orr_time_derivate(world, e[2], e[0]));
    orr_entity none = orr_create(world);
    CHECK_RESULT(orr_time_derivate(world, none, e[0]), ORR_ERR_ABSENT);
    CHECK_RESULT(orr_time_derivate(world, e[0], none), ORR_ERR_ABSENT);
    kit_end(&k);
}

// ---- among others -------------------------------------------------------------------------------

static void drift(orr_run* run)
{
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += 1;
    }
}

// Many entities, some played back, with systems that move the others. Returns the hash after each
// tick.
static uint64_t play(uint32_t workers, uint32_t ticks)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.workers = workers});
    ORR_REGISTER(world, Position, Velocity, Health, Frozen);
    KIT_SYSTEM(world, .name = "drift", .query = "write Position, !orr_time_stretcher", .run = drift,
               .parallel = true);
    kit_taken(world, orr_stretcher_add(world, NULL), __FILE__, __LINE__);
    KIT_SYSTEM(world, .name = "fade", .query = "write Velocity, Health", .run = kit_run_nothing,
               .parallel = true);
    orr_entity all[64];
    for (uint32_t i = 0; i < 64; i++) {
        uint64_t slots[] = {0, 3 + i % 5, 40 + i};
        all[i] = make_stretched(world, slots, 3);
        CHECK_OK(i % 3 == 0 ? orr_add(world, all[i], Frozen) : ORR_OK);
        CHECK_OK(orr_entity_remember(world, all[i], 20));
        CHECK_OK(orr_time_stretch(world, all[i], 0.125 * (double)(i % 7) - 0.25));
    }
    for (uint32_t i = 0; i < 5000; i++) {
        make(world, (float)i);
    }
    for (uint32_t i = 8; i < 64; i++) {
        CHECK_OK(orr_time_derivate(world, all[i], all[i / 8]));
    }
    uint64_t hash = 0;
    for (uint32_t i = 0; i < ticks; i++) {
        orr_result result = kit_run_refused(world, 1); // Some reach their last slot.
        CHECK(result == ORR_OK || result == ORR_ERR_PAST);
        hash = orr_random(hash, orr_world_hash(world), (uint64_t)result, 0);
    }
    kit_end(&k);
    return hash;
}

ORR_TEST(stretchers_give_the_same_world_with_any_number_of_workers)
{
    uint64_t alone = play(0, 40);
    CHECK_EQ(play(2, 40), alone);
    CHECK_EQ(play(8, 40), alone);
}

ORR_TEST(stretcher_without_memory_stays_and_continues_later)
{
    kit k = {0};
    orr_world* world = begin_stretching(&k);
    orr_entity a = make_stretched(world, tens, 3);
    CHECK_OK(orr_time_stretch(world, a, 1));
    KIT_STEP(world, 1);
    for (uint64_t n = 1;; n++) {
        double before = stretcher_of(world, a)->position;
        failing_alloc_arm(&k.memory, n, false);
        orr_result result = orr_step(world, 1);
        bool refused = k.memory.refused > 0;
        failing_alloc_arm(&k.memory, 0, false);
        while (orr_tick_open(world)) {
            result = orr_step(world, 0) == ORR_OK ? orr_step(world, 1) : result;
        }
        CHECK_OK(orr_world_validate(world));
        double after = stretcher_of(world, a)->position;
        CHECK(after == before || after == before + 1);
        CHECK(orr_get(world, a, Position)->x == (float)(after * 10));
        CHECK_EQ(orr_time_of(world, a), (uint64_t)after);
        if (!refused) {
            CHECK_OK(result);
            break;
        }
        CHECK_OK(orr_entity_travel(world, a, 0));
        KIT_STEP(world, 1);
        check_at(world, a, 1, 10, 0);
    }
    kit_end(&k);
}

ORR_TEST(world_that_travelled_back_plays_back_to_the_same_state)
{
    kit k = {0};
    orr_world* world = begin_stretching(&k);
    orr_entity a = make_stretched(world, tens, 3), pedal = orr_create(world);
    CHECK_OK(orr_time_stretch(world, a, 0.25));
    CHECK_OK(orr_time_stretch(world, pedal, 0.125));
    CHECK_OK(orr_time_derivate(world, pedal, a));
    uint64_t hashes[30];
    for (uint32_t i = 0; i < 30; i++) { // Reaches its last slot at 16 and stays.
        hashes[i] = orr_world_hash(world);
        CHECK_OK(i == 5 || i == 14 ? orr_remember(world) : ORR_OK);
        KIT_STEP_RESULT(world, 1, i == 16 ? ORR_ERR_PAST : ORR_OK);
    }
    CHECK_EQ(stretcher_of(world, a)->state, ORR_STRETCH_OUTSIDE_SLOTS);
    static const uint64_t ticks[] = {14, 5, 14, 29, 5, 27};
    for (uint32_t i = 0; i < 6; i++) {
        CHECK_RESULT(orr_time_travel(world, ticks[i]), ticks[i] > 16 ? ORR_ERR_PAST : ORR_OK);
        CHECK_EQ(orr_world_hash(world), hashes[ticks[i]]);
    }
    kit_end(&k);
}

static void remember_here(orr_world* world, void* data, size_t size)
{
    (void)size;
    orr_entity entity;
    memcpy(&entity, data, sizeof entity);
    CHECK_OK(orr_entity_remember(world, entity, 5000));
    CHECK_OK(orr_entity_travel(world, entity, 64));
}

static void look(orr_run* run)
{
    const Position* p = orr_read(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        CHECK(p[i].y == -p[i].x); // Complete states only.
        if (run->tick == 1) {
            orr_entity entity = orr_iter_entity(run, i);
            CHECK_OK(orr_post(run->world, remember_here, &entity, sizeof entity));
        }
    }
}

ORR_TEST(stretcher_in_real_time_runs_concurrently_with_other_pipelines)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.rate_hz = 500, .workers = 2});
    ORR_REGISTER(world, Position, Health, Velocity, Label);
    CHECK(orr_pipeline_add(world, &(orr_pipeline_desc){.name = "log", .rate_hz = 900}).id != 0);
    kit_taken(world, orr_stretcher_add(world, NULL), __FILE__, __LINE__);
    KIT_SYSTEM(world, .name = "look", .query = "Position", .run = look, .pipeline = "log");
    static const uint64_t slots[] = {0, 64, 128};
    orr_entity a = make_stretched(world, slots, 3);
    CHECK_OK(orr_time_stretch(world, a, 0.5));
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 60}));
    double position =
        stretcher_of(world, a)->position; // The time when it reached slot 64 depends on timing.
    CHECK(position >= 64 && position <= 94);
    CHECK(orr_get(world, a, Position)->x == (float)(position * 10));
    CHECK_EQ(orr_entity_slots(world, a, NULL, 0), 4);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}
