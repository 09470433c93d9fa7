// SPDX-License-Identifier: MIT
// Entity histories and the time of entities.
#include "history/entity_history_kit.h"

// ---- time ---------------------------------------------------------------------------------------

ORR_TEST(time_of_an_entity_is_ticks_since_it_was_created) /* N3-36 */
{
    kit k = {0};
    orr_world* world = begin(&k);
    KIT_STEP(world, 3);
    orr_entity a = orr_create(world);
    CHECK_OK(orr_add(world, a, orr_time));
    CHECK_EQ(orr_time_of(world, a), 0);
    KIT_STEP(world, 5);
    orr_entity b;
    orr_cluster cluster = KIT_CLUSTER(world, orr_time, Position);
    CHECK_OK(orr_create_many(world, cluster, 1, NULL, 0, &b));
    CHECK_EQ(orr_time_of(world, a), 5);
    CHECK_EQ(orr_time_of(world, b), 0);
    KIT_STEP(world, 2);
    CHECK_EQ(orr_time_of(world, a), 7);
    CHECK_EQ(orr_time_of(world, b), 2);
    kit_end(&k);
}

ORR_TEST(time_of_a_copy_starts_at_0)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity a = kit_traveller(world, 1);
    KIT_STEP(world, 4);
    CHECK_OK(orr_entity_remember(world, a, 4));
    orr_entity b = orr_copy(world, a);
    KIT_STEP(world, 1);
    CHECK_EQ(orr_time_of(world, a), 5);
    CHECK_EQ(orr_time_of(world, b), 1);
    CHECK_EQ(orr_entity_slots(world, b, NULL, 0), 1); // Slots are copied with it.
    CHECK_OK(orr_entity_travel(world, b, 4));
    CHECK_EQ(orr_time_of(world, b), 4);
    kit_end(&k);
}

static void spawn(orr_run* run)
{
    if (run->tick == 2) {
        orr_entity entity = orr_send_create(run);
        CHECK_OK(orr_send_add_preset(run, entity, orr_time_traveller));
    }
}

static void ask_time(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        CHECK_EQ(orr_time_of(run->world, orr_iter_entity(run, i)), 0);
    }
}

// It returned 0 and the tick ORR_OK, whether the type was registered or not.
ORR_TEST(time_of_an_entity_without_time_is_refused_in_a_system)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.rate_hz = 4});
    ORR_REGISTER(world, Position);
    (void)make(world, 1);
    orr_system system = KIT_SYSTEM(world, .name = "ask", .query = "Position", .run = ask_time);
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_ABSENT);
    KIT_ERROR(&k, ORR_ERR_ABSENT, "orr_time_of: entity 0v1 has no orr_time; add it");
    orr_add(world, orr_create(world), orr_time);
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_STATE); // Not in its .by_id.
    KIT_ERROR(&k, ORR_ERR_STATE, "orr_time_of: system 'ask' accesses orr_time");
    CHECK_OK(orr_system_remove(world, system));
    KIT_SYSTEM(world, .name = "again", .query = "Position", .by_id = "orr_time", .run = ask_time);
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_ABSENT);
    KIT_ERROR(&k, ORR_ERR_ABSENT, "orr_time_of: entity 0v1 has no orr_time; add it");
    kit_end(&k);
}

ORR_TEST(time_of_an_entity_created_by_a_system_starts_in_its_tick)
{
    kit k = {0};
    orr_world* world = begin(&k);
    ORR_REGISTER(world, orr_time_traveller);
    KIT_SYSTEM(world, .name = "spawn", .once = true, .run = spawn, .creates = "orr_time_traveller");
    orr_query* query = orr_query_text(world, "orr_time");
    KIT_STEP(world, 2);
    orr_entity made = orr_query_single(query);
    CHECK_EQ(orr_time_of(world, made), 0);
    KIT_STEP(world, 3);
    CHECK_EQ(orr_time_of(world, made), 3);
    kit_end(&k);
}

ORR_TEST(time_of_an_entity_without_time_is_refused)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity a = orr_create(world);
    CHECK_EQ(orr_time_of(world, a), 0);
    KIT_ERROR(&k, ORR_ERR_ABSENT, "has no orr_time");
    CHECK_OK(orr_destroy(world, a));
    CHECK_EQ(orr_time_of(world, a), 0);
    CHECK(k.errors.count > 0);
    kit_end(&k);
}

// ---- requirements of a traveller ----------------------------------------------------------------

ORR_TEST(traveller_added_requires_time) /* N3-37 */
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity a = orr_create(world);
    CHECK_OK(orr_add(world, a, orr_time_traveller));
    CHECK(orr_has(world, a, orr_time));
    CHECK_RESULT(orr_remove(world, a, orr_time), ORR_ERR_STATE);
    KIT_ERROR(&k, ORR_ERR_STATE, "orr_time");
    orr_entity b = orr_create(world);
    CHECK_OK(orr_add(world, b, orr_time_stretcher));
    CHECK(orr_has(world, b, orr_time) && orr_has(world, b, orr_time_traveller));
    kit_end(&k);
}

ORR_TEST(remember_by_an_entity_without_traveller_is_refused)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity a = make(world, 1);
    CHECK_RESULT(orr_entity_remember(world, a, 0), ORR_ERR_ABSENT);
    KIT_ERROR(&k, ORR_ERR_ABSENT, "orr_time_traveller; add it first");
    CHECK_RESULT(orr_entity_travel(world, a, 0), ORR_ERR_ABSENT);
    CHECK_RESULT(orr_entity_forget(world, a, 0), ORR_ERR_ABSENT);
    CHECK_EQ(orr_entity_slots(world, a, NULL, 0), 0);
    CHECK_OK(orr_destroy(world, a));
    CHECK(orr_entity_remember(world, a, 0) != ORR_OK);
    kit_end(&k);
}

ORR_TEST(remember_of_a_type_without_schema_is_refused_by_name) /* N3-37 */
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity a = kit_traveller(world, 1);
    Token token = kit_token(7);
    CHECK_OK(orr_put(world, a, Token, &token));
    uint64_t before = orr_world_hash(world);
    CHECK_RESULT(orr_entity_remember(world, a, 0), ORR_ERR_TYPE);
    KIT_ERROR(&k, ORR_ERR_TYPE, "Token");
    CHECK_EQ(orr_world_hash(world), before);
    CHECK_OK(orr_remove(world, a, Token));
    CHECK_OK(orr_entity_remember(world, a, 0));
    kit_end(&k);
}

static size_t cell_print(void* user, const void* value, char* out, size_t size)
{
    (void)user;
    (void)value;
    return (size_t)snprintf(out, size, "x");
}

static bool cell_parse(void* user, const char* text, void* out)
{
    (void)user;
    (void)text;
    memset(out, 0, 4);
    return true;
}

static const orr_codec cell_codec = {.print = cell_print, .parse = cell_parse};
typedef struct Cell {
    uint32_t raw;
} Cell;
static const orr_type_desc orr_desc_Cell = {
    .name = "Cell", .kind = ORR_KIND_OPAQUE, .size = 4, .align = 4, .codec = &cell_codec};
ORR_DESCRIBED(Cell)
ORR_STRUCT(Battery, (int32_t, charge), (Cell, cell))

ORR_TEST(remember_of_an_opaque_field_is_refused_by_name)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity a = kit_traveller(world, 1);
    CHECK_OK(orr_set(world, a, Battery, {.charge = 3}));
    CHECK_RESULT(orr_entity_remember(world, a, 0), ORR_ERR_TYPE);
    KIT_ERROR(&k, ORR_ERR_TYPE, "Battery of entity");
    kit_end(&k);
}

static orr_entity inside;

static void call_inside(orr_run* run)
{
    orr_world* world = run->world;
    orr_result result = run->tick == 1   ? orr_entity_remember(world, inside, 0)
                        : run->tick == 2 ? orr_entity_forget(world, inside, 0)
                        : run->tick == 3 ? orr_entity_travel(world, inside, 9)
                        : run->tick == 4 ? orr_time_stretch(world, inside, 1)
                                         : orr_time_derivate(world, inside, inside);
    CHECK_RESULT(result, ORR_ERR_STATE);
}

ORR_TEST(time_calls_inside_a_system_are_refused)
{
    static const orr_access_check checks[] = {ORR_ACCESS_CHECK_CALLS, ORR_ACCESS_CHECK_OFF};
    for (uint32_t i = 0; i < 2; i++) {
        kit k = {0};
        orr_world* world = begin(&k); // Without the types of time.
        orr_access_check_set(world, checks[i]);
        inside = make(world, 1);
        KIT_SYSTEM(world, .name = "busy", .query = "Position", .run = call_inside);
        for (uint32_t tick = 1; tick <= 5; tick++) {
            KIT_STEP_REFUSED(world, 1);
            CHECK_CONTAINS(k.errors.text, "'busy'");
            KIT_ERROR(&k, ORR_ERR_STATE, "inside a system");
        }
        kit_end(&k);
    }
}

// ---- remember, forget, travel -------------------------------------------------------------------

ORR_TEST(travel_to_a_slot_loads_its_state) /* N3-38, N3-40 */
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity a = kit_traveller(world, 1);
    orr_entity other = make(world, 50);
    CHECK_OK(orr_entity_remember(world, a, 0));
    KIT_STEP(world, 10);
    CHECK_OK(orr_set(world, a, Position, {9, 8, 7}));
    CHECK_OK(orr_set(world, other, Position, {60, 0, 0}));
    CHECK_OK(orr_entity_remember(world, a, 10));
    CHECK_OK(orr_entity_travel(world, a, 0));
    CHECK(orr_get(world, a, Position)->x == 1);
    CHECK_EQ(orr_time_of(world, a), 0);
    CHECK(orr_get(world, other, Position)->x == 60); // The rest of the world is unchanged.
    CHECK_EQ(orr_world_tick(world), 10);
    KIT_STEP(world, 2);
    CHECK_EQ(orr_time_of(world, a), 2);
    CHECK_OK(orr_entity_travel(world, a, 10));
    CHECK(orr_get(world, a, Position)->y == 8);
    CHECK_EQ(orr_time_of(world, a), 10);
    uint64_t slots[4] = {0};
    CHECK_EQ(orr_entity_slots(world, a, slots, 4), 2);
    CHECK(slots[0] == 0 && slots[1] == 10);
    kit_end(&k);
}

ORR_TEST(remember_in_any_slot_is_plain_storage) /* N3-38 */
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity a = kit_traveller(world, 1);
    static const uint64_t slots[] = {1000000, 7, UINT64_MAX, 0, 1ull << 63};
    for (uint32_t i = 0; i < 5; i++) {
        CHECK_OK(orr_set(world, a, Position, {(float)i, 0, 0}));
        CHECK_OK(orr_entity_remember(world, a, slots[i]));
    }
    CHECK_OK(orr_set(world, a, Position, {70, 0, 0}));
    CHECK_OK(orr_entity_remember(world, a, 7)); // Replaces the old slot.
    for (uint32_t i = 0; i < 5; i++) {
        CHECK_OK(orr_entity_travel(world, a, slots[i]));
        CHECK(orr_get(world, a, Position)->x == (i == 1 ? 70 : (float)i));
        CHECK(orr_time_of(world, a) == slots[i]);
    }
    uint64_t out[5];
    CHECK_EQ(orr_entity_slots(world, a, out, 5), 5);
    CHECK(out[0] == 0 && out[1] == 7 && out[2] == 1000000 && out[3] == 1ull << 63 &&
          out[4] == UINT64_MAX);
    kit_end(&k);
}

ORR_TEST(forget_deletes_a_slot) /* N3-39, N3-40 */
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity a = kit_traveller(world, 1);
    KIT_STEP(world, 9);
    CHECK_OK(orr_entity_remember(world, a, 3));
    CHECK_OK(orr_entity_forget(world, a, 3));
    uint64_t empty = orr_world_hash(world);
    CHECK_OK(orr_entity_remember(world, a, 3));
    CHECK_OK(orr_entity_remember(world, a, 5));
    CHECK_OK(orr_entity_remember(world, a, 8));
    CHECK_OK(orr_entity_forget(world, a, 5));
    uint64_t before = orr_world_hash(world);
    CHECK_RESULT(orr_entity_travel(world, a, 5), ORR_ERR_PAST);
    KIT_ERROR(&k, ORR_ERR_PAST, "slot 5; its nearest slots are 3 and 8");
    CHECK_RESULT(orr_entity_forget(world, a, 5), ORR_ERR_PAST);
    CHECK_RESULT(orr_entity_travel(world, a, 2), ORR_ERR_PAST);
    KIT_ERROR(&k, ORR_ERR_PAST, "its first slot is 3");
    CHECK_EQ(orr_world_hash(world), before);
    CHECK_OK(orr_entity_forget(world, a, 3));
    CHECK_OK(orr_entity_forget(world, a, 8));
    CHECK_RESULT(orr_entity_travel(world, a, 3), ORR_ERR_PAST);
    KIT_ERROR(&k, ORR_ERR_PAST, "it has no used slots");
    CHECK_EQ(orr_world_hash(world), empty);
    kit_end(&k);
}

ORR_TEST(travel_to_a_time_that_wrapped_around_is_refused)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity a = kit_traveller(world, 1);
    KIT_STEP(world, 5);
    uint64_t before = orr_world_hash(world);
    CHECK_RESULT(orr_entity_travel(world, a, orr_time_of(world, a) - 10), ORR_ERR_ARGUMENT);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "ticks ahead of its time, 5; at most 4294967295");
    CHECK_RESULT(orr_entity_travel(world, a, 5 + (1ull << 32)), ORR_ERR_ARGUMENT);
    CHECK_EQ(orr_world_hash(world), before);
    CHECK_OK(orr_entity_remember(world, a, UINT64_MAX - 4)); // The slot is within range.
    CHECK_OK(orr_entity_travel(world, a, UINT64_MAX - 4));
    kit_end(&k);
}

ORR_TEST(slots_are_part_of_the_hash)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity a = kit_traveller(world, 1);
    CHECK_OK(orr_entity_remember(world, a, 1));
    uint64_t one = orr_world_hash(world);
    CHECK_OK(orr_entity_forget(world, a, 1));
    CHECK_OK(orr_entity_remember(world, a, 2));
    CHECK(orr_world_hash(world) != one);
    CHECK_OK(orr_entity_forget(world, a, 2));
    CHECK_OK(orr_entity_remember(world, a, 1));
    CHECK_EQ(orr_world_hash(world), one);
    kit_end(&k);
}

// The bytes of an entity's slots; of the first page.
static const uint8_t* bytes_of(orr_world* world, orr_entity entity, uint32_t* size)
{
    orr_array page = orr_get(world, entity, orr_time_traveller)->memory[0];
    return (const uint8_t*)orr_array_values(world, page, size);
}

ORR_TEST(slots_of_equal_states_have_equal_bytes)
{
    kit k[2] = {{0}, {0}};
    orr_world* worlds[2];
    orr_entity a[2];
    static const uint32_t nans[2] = {0x7FC00000u, 0xFFC12345u};
    for (uint32_t i = 0; i < 2; i++) {
        worlds[i] = kit_begin(&k[i], NULL);
        if (i == 1) { // Other ids of types and strings.
            ORR_REGISTER(worlds[i], Tiny, Padded, Label, Health);
            CHECK(orr_string_make(worlds[i], "other").id != 0);
        }
        a[i] = kit_traveller(worlds[i], 1);
        Velocity velocity = {0, 1};
        memcpy(&velocity.x, &nans[i], 4);
        CHECK_OK(orr_put(worlds[i], a[i], Velocity, &velocity));
        Padded padded;
        memset(&padded, i == 0 ? 0xAA : 0x55, sizeof padded);
        padded.a = 1;
        padded.b = 2;
        padded.c = 3;
        CHECK_OK(orr_put(worlds[i], a[i], Padded, &padded));
        CHECK_OK(orr_set(worlds[i], a[i], Label, {orr_string_make(worlds[i], "x"), 1}));
        CHECK_OK(orr_entity_remember(worlds[i], a[i], 9));
    }
    uint32_t sizes[2];
    const uint8_t* bytes[2] = {bytes_of(worlds[0], a[0], &sizes[0]),
                               bytes_of(worlds[1], a[1], &sizes[1])};
    CHECK_EQ(sizes[0], sizes[1]);
    CHECK(memcmp(bytes[0], bytes[1], sizes[0]) == 0);
    kit_end(&k[0]);
    kit_end(&k[1]);
}

// ---- the whole state ----------------------------------------------------------------------------

static void add_components(orr_world* world, orr_entity a, orr_entity friend)
{
    orr_type wheel = KIT_TYPE(world, Wheel);
    CHECK_OK(orr_set(world, a, Padded, {1, 2.5, 3}));
    CHECK_OK(orr_set(world, a, Label, {orr_string_make(world, "hello"), 4}));
    static const int32_t numbers[] = {1, 2, 3};
    CHECK_OK(orr_set(world, a, List, {orr_array_make(world, numbers, 3, 4)}));
    CHECK_OK(orr_set(world, a, Link, {friend, 5}));
    CHECK_OK(orr_set(world, a, Crowd, {orr_array_make(world, (orr_entity[]){a, friend}, 2, 8)}));
    CHECK_OK(orr_add(world, a, Frozen));
    CHECK_OK(orr_set(world, a, Body, {11, 12}));
    CHECK_OK(orr_set(world, a, Sign, {orr_string_make(world, "stop"), 1}));
    CHECK_OK(orr_add(world, a, Seen));
    orr_component_id ids[3];
    for (int32_t i = 0; i < 3; i++) {
        Wheel value = {0.5f * (float)i, i};
        ids[i] = orr_instance_add(world, a, wheel, &value);
        CHECK(ids[i] != 0);
    }
    CHECK_OK(orr_instance_enable(world, a, wheel, ids[1], false));
    CHECK_OK(orr_enable(world, a, Padded, false));
    CHECK_OK(orr_enable(world, a, Body, false));
    CHECK_OK(orr_tag_add(world, a, 17));
    CHECK_OK(orr_tag_add(world, a, 4));
    CHECK_OK(orr_entity_enable(world, a, false));
}

static void remove_components(orr_world* world, orr_entity a)
{
    CHECK_OK(orr_remove(world, a, Padded));
    CHECK_OK(orr_remove(world, a, Label));
    CHECK_OK(orr_remove(world, a, List));
    CHECK_OK(orr_remove(world, a, Crowd));
    CHECK_OK(orr_remove(world, a, Frozen));
    CHECK_OK(orr_remove(world, a, Body));
    CHECK_OK(orr_remove(world, a, Seen));
    CHECK_OK(orr_remove(world, a, Wheel));
    CHECK_OK(orr_set(world, a, Sign, {orr_string_make(world, "go"), 2}));
    CHECK_OK(orr_set(world, a, Velocity, {1, 2}));
    CHECK_OK(orr_set(world, a, Loose, {1, 2, 3}));
    CHECK_OK(orr_tag_remove(world, a, 17));
    CHECK_OK(orr_tag_add(world, a, 5));
    CHECK_OK(orr_entity_enable(world, a, true));
}

ORR_TEST(remember_covers_the_whole_state) /* N3-37 */
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity friend = make(world, 3), a = kit_traveller(world, 1);
    CHECK_OK(orr_name_set(world, a, (orr_entity){0}, "bob"));
    add_components(world, a, friend);
    char before[4096], after[4096];
    kit_state(world, a, before, sizeof before);
    CHECK_OK(orr_entity_remember(world, a, 0));
    orr_cluster cluster = orr_entity_cluster(world, a);
    remove_components(world, a);
    KIT_STEP(world, 2); // Unused strings are released.
    CHECK_OK(orr_entity_remember(world, a, 1));
    CHECK_OK(orr_name_set(world, a, (orr_entity){0}, "bert"));
    kit_state(world, a, after, sizeof after);
    CHECK_OK(orr_entity_travel(world, a, 0));
    char now[4096];
    kit_state(world, a, now, sizeof now);
    CHECK(strncmp(now, "bert", 4) == 0); // The name is not part of the state.
    CHECK_STR(now + 4, before + 3);
    CHECK_EQ(orr_entity_cluster(world, a).id, cluster.id);
    CHECK_OK(orr_entity_travel(world, a, 1));
    KIT_STATE(world, a, after);
    CHECK_OK(orr_entity_travel(world, a, 0));
    CHECK_STR(kit_state(world, a, now, sizeof now) + 4, before + 3);
    kit_end(&k);
}

ORR_TEST(travel_keeps_ids_of_instances_by_position)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity a = kit_traveller(world, 1);
    orr_type wheel = KIT_TYPE(world, Wheel);
    orr_component_id first = orr_add_instance(world, a, Wheel, {1, 1});
    orr_component_id second = orr_add_instance(world, a, Wheel, {2, 2});
    CHECK_OK(orr_entity_remember(world, a, 0));
    CHECK_OK(orr_instance_remove(world, a, wheel, second));
    Wheel other = {9, 9};
    CHECK_OK(orr_instance_set(world, a, wheel, first, &other));
    CHECK_OK(orr_entity_remember(world, a, 1));
    CHECK_OK(orr_entity_travel(world, a, 0));
    CHECK(((const Wheel*)orr_instance_get(world, a, wheel, first))->radius == 1);
    CHECK_EQ(orr_instances_get(world, a, wheel, NULL, NULL), 2);
    CHECK_OK(orr_entity_travel(world, a, 1));
    CHECK_EQ(orr_instances_get(world, a, wheel, NULL, NULL), 1);
    CHECK(((const Wheel*)orr_instance_get(world, a, wheel, first))->radius == 9);
    kit_end(&k);
}

ORR_STRUCT(Master, (orr_entity, who, (.flags = ORR_FIELD_INDEXED)))

ORR_TEST(travel_sets_references_to_dead_entities_to_null)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity a = kit_traveller(world, 1), friend = make(world, 2), other = make(world, 3);
    orr_type master = KIT_TYPE(world, Master);
    CHECK_OK(orr_set(world, a, Link, {friend, 5}));
    CHECK_OK(orr_set(world, a, Master, {friend}));
    CHECK_OK(
        orr_set(world, a, Crowd, {orr_array_make(world, (orr_entity[]){friend, other}, 2, 8)}));
    CHECK_OK(orr_entity_remember(world, a, 0));
    CHECK_OK(orr_set(world, a, Link, {other, 6}));
    CHECK_OK(orr_set(world, a, Master, {other}));
    CHECK_EQ(orr_referrers_get(world, friend, master, NULL, NULL, 0), 0);
    CHECK_OK(orr_entity_travel(world, a, 0));
    CHECK(orr_get(world, a, Link)->target.id == friend.id);
    CHECK_EQ(orr_referrers_get(world, friend, master, NULL, NULL, 0), 1);
    CHECK_OK(orr_destroy(world, friend));
    CHECK_OK(orr_set(world, a, Link, {other, 6}));
    CHECK_OK(orr_entity_travel(world, a, 0));
    CHECK_EQ(orr_get(world, a, Link)->target.id, 0);
    CHECK_EQ(orr_get(world, a, Link)->weight, 5);
    uint32_t count;
    const orr_entity* members = orr_array_values(world, orr_get(world, a, Crowd)->members, &count);
    CHECK_EQ(count, 2);
    CHECK(members[0].id == 0 && members[1].id == other.id);
    kit_end(&k);
}

ORR_TEST(travel_without_a_free_cluster_leaves_the_entity_unchanged)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.clusters_max = 8});
    orr_entity a = kit_traveller(world, 1);
    CHECK_OK(orr_tag_add(world, a, 1));
    CHECK_OK(orr_entity_remember(world, a, 0));
    CHECK_OK(orr_set(world, a, Position, {5, 5, 5}));
    orr_cluster old = orr_entity_cluster(world, a);
    CHECK_OK(orr_tag_remove(world, a, 1));
    CHECK_OK(orr_cluster_delete(world, old));
    for (uint64_t i = 0; i < 20; i++) {
        (void)orr_tag_add(world, orr_create(world), 100 + i); // Until no cluster is left.
    }
    k.errors = (kit_errors){0};
    uint64_t before = orr_world_hash(world);
    CHECK_RESULT(orr_entity_travel(world, a, 0), ORR_ERR_CAPACITY);
    KIT_ERROR(&k, ORR_ERR_CAPACITY, "clusters_max");
    CHECK_EQ(orr_world_hash(world), before);
    CHECK_OK(orr_world_validate(world));
    kit_end(&k);
}

ORR_TEST(remember_beyond_the_limit_is_refused)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity a = kit_traveller(world, 1);
    static char text[3u << 20];
    memset(text, 'x', sizeof text - 1);
    CHECK_OK(orr_set(world, a, Label, {orr_string_make(world, text), 0}));
    for (uint64_t slot = 0; slot < 5; slot++) {
        CHECK_OK(orr_entity_remember(world, a, slot));
    }
    CHECK_RESULT(orr_entity_remember(world, a, 5), ORR_ERR_CAPACITY);
    KIT_ERROR(&k, ORR_ERR_CAPACITY, "slot 5");
    CHECK_EQ(orr_entity_slots(world, a, NULL, 0), 5);
    CHECK_OK(orr_entity_remember(world, a, 4));
    kit_end(&k);
}

// ---- many slots ---------------------------------------------------------------------------------

#define MANY 700u

// Remembers a slot with a value derived from it, or forgets the slot.
static void many_set(orr_world* world, orr_entity a, bool* known, uint64_t slot, bool on)
{
    if (on) {
        CHECK_OK(orr_set(world, a, Position, {(float)slot, 0, 0}));
        CHECK_OK(orr_entity_remember(world, a, slot));
    } else {
        CHECK_OK(orr_entity_forget(world, a, slot));
    }
    known[slot] = on;
}

static void many_check(orr_world* world, orr_entity a, const bool* known)
{
    static uint64_t slots[MANY];
    uint32_t count = orr_entity_slots(world, a, slots, MANY), at = 0;
    for (uint64_t slot = 0; slot < MANY; slot++) {
        if (known[slot]) {
            CHECK(at < count && slots[at] == slot);
            CHECK_OK(orr_entity_travel(world, a, slot));
            CHECK(orr_get(world, a, Position)->x == (float)slot);
            at++;
        }
    }
    CHECK_EQ(at, count);
    // No page holds much more than its share.
    uint64_t total = 0, largest = 0;
    for (uint32_t i = 0; i < ORR_TRAVELLER_PAGES; i++) {
        uint32_t size;
        (void)orr_array_values(world, orr_get(world, a, orr_time_traveller)->memory[i], &size);
        total += size;
        largest = size > largest ? size : largest;
    }
    CHECK(largest < 5000 || largest <= total / 4);
    CHECK_OK(orr_world_validate(world));
    orr_tick_advance(world);
}

ORR_TEST(slots_set_and_forgotten_in_any_order_are_found)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity a = kit_traveller(world, 0);
    CHECK_OK(orr_add(world, a, Big)); // 240 bytes
    static bool known[MANY];
    memset(known, 0, sizeof known);
    for (uint64_t i = 0; i < MANY; i++) { // In ascending order, with a window of 400 slots.
        many_set(world, a, known, i, true);
        if (i >= 400) {
            many_set(world, a, known, i - 400, false);
        }
    }
    many_check(world, a, known);
    for (uint64_t i = MANY; i-- > 0;) { // In descending order.
        many_set(world, a, known, i, true);
    }
    many_check(world, a, known);
    for (uint32_t i = 0; i < 2000; i++) {
        uint64_t slot = test_random() % MANY;
        many_set(world, a, known, slot, !known[slot]);
    }
    many_check(world, a, known);
    for (uint64_t i = 0; i < MANY; i++) {
        if (known[i]) {
            many_set(world, a, known, i, false);
        }
    }
    CHECK_EQ(orr_entity_slots(world, a, NULL, 0), 0);
    many_check(world, a, known);
    kit_end(&k);
}

#undef MANY

ORR_TEST(traveller_prints_slots_and_not_bytes)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity a = kit_traveller(world, 1);
    CHECK_OK(orr_entity_remember(world, a, 3));
    CHECK_OK(orr_entity_remember(world, a, 12));
    char text[512];
    (void)orr_entity_print(world, a, text, sizeof text);
    CHECK_CONTAINS(
        text, "orr_time_traveller {slots: [3, 12], count: 2, bytes: 184}, orr_time {origin: 0}");
    for (uint64_t i = 20; i < 60; i++) {
        CHECK_OK(orr_entity_remember(world, a, i));
    }
    (void)orr_entity_print(world, a, text, sizeof text);
    CHECK_CONTAINS(text, "{slots: [3, 12, 20, 21, 22, 23, 24, …, 59], count: 42");
    kit_end(&k);
}

// ---- damaged states -----------------------------------------------------------------------------

ORR_TEST(travel_to_a_damaged_state_is_refused_or_harmless)
{
    kit k = {0};
    orr_world* world = begin(&k);
    ORR_REGISTER(world, Token, orr_name);
    orr_entity friend = make(world, 3), a = kit_traveller(world, 1);
    add_components(world, a, friend);
    CHECK_OK(orr_entity_remember(world, a, 0));
    uint32_t size, refused = 0;
    const uint8_t* bytes = bytes_of(world, a, &size);
    static uint8_t good[8192], bad[8192];
    CHECK(size <= sizeof good);
    memcpy(good, bytes, size);
    uint32_t rounds = test_rounds(3000, 300, 100000);
    for (uint32_t i = 0; i < rounds; i++) {
        memcpy(bad, good, size);
        for (uint64_t n = test_random() % 3 + 1; n > 0; n--) {
            uint64_t r = test_random();
            bad[r % size] = (uint8_t)(r & 1u << 20 ? r >> 32 : bad[r % size] ^ 1u << (r >> 40 & 7));
        }
        uint32_t part = test_random() % 8 == 0 ? (uint32_t)(test_random() % size) : size;
        orr_time_traveller value = {{orr_array_make(world, bad, part, 1)}};
        CHECK_OK(orr_put(world, a, orr_time_traveller, &value));
        uint64_t before = orr_world_hash(world), slot = 0;
        if (orr_entity_slots(world, a, &slot, 1) > 0 && slot <= 1000) {
            orr_result result = orr_entity_travel(world, a, slot);
            CHECK(result == ORR_OK || orr_world_hash(world) == before);
            refused += result != ORR_OK;
        }
        if (i % 16 == 0) {
            CHECK_OK(orr_world_validate(world));
            orr_tick_advance(world);
        }
    }
    CHECK(refused > rounds / 100);
    kit_end(&k);
}

// ---- failing memory -----------------------------------------------------------------------------

typedef orr_result (*attempt)(orr_world* world, orr_entity entity);

static void move(orr_run* run)
{
    Position* p = orr_write(run, Position);
    const Velocity* v = orr_read(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += v[i].x;
    }
}

static orr_result attempt_remember(orr_world* world, orr_entity entity)
{
    return orr_entity_remember(world, entity, 2);
}

static orr_result attempt_forget(orr_world* world, orr_entity entity)
{
    return orr_entity_forget(world, entity, 0);
}

static orr_result attempt_travel(orr_world* world, orr_entity entity)
{
    return orr_entity_travel(world, entity, 0);
}

static orr_result attempt_forward(orr_world* world, orr_entity entity)
{
    return orr_entity_travel(world, entity, 7);
}

static orr_result attempt_stretch(orr_world* world, orr_entity entity)
{
    return orr_time_stretch(world, entity, -0.5);
}

static void call_without_memory(attempt call, bool for_good)
{
    kit k = {0};
    orr_world* world = begin(&k);
    KIT_SYSTEM(world, .name = "move", .query = "write Position, Velocity", .run = move);
    orr_entity friend = make(world, 3), a = kit_traveller(world, 1);
    add_components(world, a, friend);
    CHECK_OK(orr_entity_remember(world, a, 0));
    remove_components(world, a);
    CHECK_OK(orr_set(world, a, Velocity, {1, 1}));
    CHECK_OK(orr_entity_remember(world, a, 1));
    uint64_t before = orr_world_hash(world);
    orr_result result = ORR_ERR_MEMORY;
    for (uint64_t n = 1; result != ORR_OK; n++) {
        failing_alloc_arm(&k.memory, n, for_good);
        result = call(world, a);
        failing_alloc_arm(&k.memory, 0, false);
        if (result != ORR_OK) {
            CHECK_RESULT(result, ORR_ERR_MEMORY);
            CHECK_EQ(orr_world_hash(world), before);
            CHECK_OK(orr_world_validate(world));
        }
    }
    CHECK(orr_world_hash(world) != before);
    kit_end(&k);
}

ORR_TEST(travel_without_memory_has_no_effect)
{
    static const attempt calls[] = {attempt_remember, attempt_forget, attempt_travel,
                                    attempt_forward, attempt_stretch};
    for (uint32_t i = 0; i < 5; i++) {
        call_without_memory(calls[i], false);
        call_without_memory(calls[i], true);
    }
}

// ---- random travels, compared with plain copies -------------------------------------------------

#define SLOTS 12u

typedef struct oracle {
    orr_world* world;
    orr_entity entity, friends[4];
    char texts[SLOTS][2048]; // Remembered states; "": none.
} oracle;

static void change_types(oracle* o, uint64_t r)
{
    orr_world* world = o->world;
    orr_entity a = o->entity;
    float x = (float)(r >> 32 & 1023) / 8;
    switch (r % 10) {
    case 0:
        CHECK_OK(orr_set(world, a, Position, {x, 1, 2}));
        break;
    case 1:
        CHECK_OK(r & 1024 ? orr_set(world, a, Padded, {1, (double)x, 3})
                          : orr_remove(world, a, Padded));
        break;
    case 2:
        CHECK_OK(r & 1024 ? orr_set(world, a, Label,
                                    {orr_string_make(world, r & 2048 ? "one" : "two"), 3})
                          : orr_remove(world, a, Label));
        break;
    case 3:
        CHECK_OK(r & 1024 ? orr_set(world, a, Body, {(int32_t)x, 3}) : orr_remove(world, a, Body));
        break;
    case 4:
        CHECK_OK(r & 1024 ? orr_tag_add(world, a, r >> 20 & 3)
                          : orr_tag_remove(world, a, r >> 20 & 3));
        break;
    case 5:
        CHECK_OK(orr_entity_enable(world, a, r & 1024));
        break;
    case 6:
        CHECK_OK(orr_enable(world, a, Position, r & 1024));
        break;
    case 7:
        CHECK(orr_add_instance(world, a, Wheel, {x, 1}) != 0);
        break;
    case 8:
        CHECK_OK(orr_remove(world, a, Wheel));
        break;
    default:
        CHECK_OK(orr_set(world, a, Link, {o->friends[r >> 20 & 3], 1}));
    }
}

static void change_instance(const oracle* o, uint64_t r)
{
    const orr_component_id* ids;
    orr_type wheel = KIT_TYPE(o->world, Wheel);
    uint32_t count = orr_instances_get(o->world, o->entity, wheel, NULL, &ids);
    if (count > 0) {
        orr_component_id id = ids[r % count];
        CHECK_OK(r & 1024 ? orr_instance_remove(o->world, o->entity, wheel, id)
                          : orr_instance_enable(o->world, o->entity, wheel, id, r & 2048));
    }
}

static void act(oracle* o)
{
    uint64_t r = test_random(), slot = r >> 8 & 15;
    slot = slot < SLOTS ? slot : 0;
    bool known = o->texts[slot][0] != '\0';
    switch (r % 7) {
    case 0:
        CHECK_OK(orr_entity_remember(o->world, o->entity, slot));
        kit_state(o->world, o->entity, o->texts[slot], sizeof o->texts[slot]);
        break;
    case 1:
        CHECK_RESULT(orr_entity_forget(o->world, o->entity, slot), known ? ORR_OK : ORR_ERR_PAST);
        o->texts[slot][0] = '\0';
        break;
    case 2:
        if (known) {
            CHECK_OK(orr_entity_travel(o->world, o->entity, slot));
            KIT_STATE(o->world, o->entity, o->texts[slot]);
            CHECK_EQ(orr_time_of(o->world, o->entity), slot);
        }
        break;
    case 3:
        change_instance(o, r >> 16);
        break;
    default:
        change_types(o, test_random());
    }
}

ORR_TEST(random_travels_equal_plain_copies)
{
    uint32_t rounds = test_rounds(4000, 400, 100000);
    kit k = {0};
    static oracle o;
    memset(&o, 0, sizeof o);
    o.world = begin(&k);
    ORR_REGISTER(o.world, Padded, Label, Link, Wheel, Body);
    for (uint32_t i = 0; i < 4; i++) {
        o.friends[i] = make(o.world, (float)i);
        make(o.world, 3); // Other rows.
    }
    o.entity = kit_traveller(o.world, 1);
    for (uint32_t i = 0; i < rounds; i++) {
        act(&o);
        if (i % 64 == 0) {
            CHECK_OK(orr_world_validate(o.world));
            orr_tick_advance(o.world);
        }
        if (i % 200 == 199) { // A copy begins with the same slots.
            orr_entity twin = orr_copy(o.world, o.entity);
            CHECK_OK(orr_destroy(o.world, o.entity));
            o.entity = twin;
            for (uint32_t s = 0; s < SLOTS; s++) { // The id precedes the state.
                char* rest = strchr(o.texts[s], ':');
                if (rest != NULL) {
                    char text[2048], now[2048];
                    kit_state(o.world, twin, now, sizeof now);
                    snprintf(text, sizeof text, "%.*s%s", (int)(strchr(now, ':') - now), now, rest);
                    memcpy(o.texts[s], text, sizeof text);
                }
            }
        }
    }
    kit_end(&k);
}

#undef SLOTS
