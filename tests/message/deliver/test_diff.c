// SPDX-License-Identifier: MIT
// The diff: the five kinds of messages, only differences, entering and leaving.
#include "message/deliver/stage_kit.h"

// ---- the five kinds -----------------------------------------------------------------------------

ORR_TEST(entities_created_are_sent_with_the_types_the_reader_tracks) /* N0-41 */
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Velocity, ?Health");
    RECEIVES(r, "");
    orr_entity a = orr_create(w), b = orr_create(w);
    orr_set(w, a, Velocity, {1, 2});
    orr_set(w, a, Position, {9, 9, 9});
    orr_set(w, b, Velocity, {3, 4});
    orr_set(w, b, Health, {5, 6});
    (void)orr_create(w);
    RECEIVES(r,
             "EntityAdded created 0v1 {Position Velocity} Velocity: {x: 1, y: 2}\n"
             "EntityAdded created 1v1 {Velocity Health} Velocity: {x: 3, y: 4} Health: {value: 5, "
             "armour: 6}\n");
    RECEIVES(r, "");
    stage_end(&s);
}

ORR_TEST(components_added_changed_and_removed_are_sent_by_type) /* N0-37 N0-38 N0-39 */
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Velocity, ?Health, ?Frozen");
    orr_entity a = orr_create(w), b = orr_create(w);
    orr_set(w, a, Velocity, {1, 2});
    orr_set(w, b, Velocity, {3, 4});
    RECEIVES(r, "EntityAdded created 0v1 1v1 {Velocity} Velocity: {x: 1, y: 2}, {x: 3, y: 4}\n");
    orr_set(w, a, Health, {5, 6});
    orr_set(w, b, Health, {7, 8});
    orr_set(w, b, Velocity, {0, 0});
    orr_add(w, b, Frozen);
    RECEIVES(r, "ComponentAdded component Health 0v1 {value: 5, armour: 6}\n"
                "ComponentAdded component Health 1v1 {value: 7, armour: 8}\n"
                "ComponentAdded component Frozen 1v1\n"
                "ComponentChanged written Velocity 1v1 {x: 0, y: 0}\n");
    orr_remove(w, a, Health);
    orr_remove(w, b, Frozen);
    RECEIVES(r, "ComponentRemoved component Health 0v1\n"
                "ComponentRemoved component Frozen 1v1\n");
    stage_end(&s);
}

ORR_TEST(entities_destroyed_are_sent_in_order_of_index) /* N0-40 */
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Tiny");
    orr_entity ids[4];
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny), 4, NULL, 0, ids));
    RECEIVES(r,
             "EntityAdded created 0v1 1v1 2v1 3v1 {Tiny} Tiny: {value: 0}, {value: 0}, {value: 0}, "
             "{value: 0}\n");
    CHECK_OK(orr_destroy_many(w, (orr_entity[]){ids[3], ids[0], ids[2]}, 3));
    RECEIVES(r, "EntityRemoved destroyed 0v1 2v1 3v1\n");
    stage_end(&s);
}

ORR_TEST(messages_of_one_diff_come_in_order_of_kinds) /* N0-42 */
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Tiny, ?Velocity, ?Health");
    orr_entity ids[4];
    orr_type tiny = KIT_TYPE(w, Tiny);
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny), 4, NULL, 0, ids));
    orr_add(w, ids[3], Health);
    (void)deliver_kit_diff(w, r);
    CHECK_OK(orr_destroy(w, ids[0]));
    orr_remove(w, ids[3], Health);
    orr_set(w, ids[1], Tiny, {7});
    orr_set(w, ids[2], Velocity, {1, 1});
    CHECK_OK(orr_component_add(w, orr_create(w), tiny));
    RECEIVES(r, "EntityAdded created 0v2 {Tiny} Tiny: {value: 0}\n"
                "ComponentAdded component Velocity 2v1 {x: 1, y: 1}\n"
                "ComponentChanged written Tiny 1v1 {value: 7}\n"
                "ComponentRemoved component Health 3v1\n"
                "EntityRemoved destroyed 0v1\n");
    stage_end(&s);
}

// ---- only differences ---------------------------------------------------------------------------

ORR_TEST(value_written_with_the_same_bytes_is_no_change)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Position");
    orr_entity a = orr_create(w);
    orr_set(w, a, Position, {1, 2, 3});
    (void)deliver_kit_diff(w, r);
    orr_set(w, a, Position, {1, 2, 3});
    RECEIVES(r, "");
    orr_set(w, a, Position, {4, 2, 3});
    orr_set(w, a, Position, {1, 2, 3});
    RECEIVES(r, "");
    orr_remove(w, a, Position);
    orr_set(w, a, Position, {1, 2, 3});
    RECEIVES(r, "");
    orr_add(w, a, Velocity);
    RECEIVES(r, "");
    stage_end(&s);
}

ORR_TEST(padding_is_no_difference)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Padded");
    orr_entity a = orr_create(w);
    orr_set(w, a, Padded, {1, 2, 3});
    (void)deliver_kit_diff(w, r);
    Padded* value = orr_edit(w, a, Padded);
    memset(value, 0x77, sizeof *value);
    value->a = 1;
    value->b = 2;
    value->c = 3;
    RECEIVES(r, "");
    value = orr_edit(w, a, Padded);
    value->c = 4;
    RECEIVES(r, "ComponentChanged written Padded 0v1 {a: 1, b: 2, c: 4}\n");
    stage_end(&s);
}

ORR_TEST(component_messages_reach_only_readers_of_the_type) /* N0-45 N0-24 */
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* position = deliver_kit_reader(w, "Position");
    orri_reader* optional = deliver_kit_reader(w, "Position, ?Health");
    orri_reader* without = deliver_kit_reader(w, "Position, !Frozen");
    orr_entity a = orr_create(w);
    orr_set(w, a, Position, {1, 0, 0});
    (void)deliver_kit_diff(w, position);
    (void)deliver_kit_take(optional);
    (void)deliver_kit_take(without);
    orr_set(w, a, Health, {1, 1});
    RECEIVES(position, "");
    TAKES(optional, "ComponentAdded component Health 0v1 {value: 1, armour: 1}\n");
    TAKES(without, "");
    orr_set(w, a, Health, {2, 1});
    RECEIVES(position, "");
    TAKES(optional, "ComponentChanged written Health 0v1 {value: 2, armour: 1}\n");
    orr_remove(w, a, Health);
    orr_add(w, a, Frozen);
    RECEIVES(position, "");
    TAKES(optional, "ComponentRemoved component Health 0v1\n");
    TAKES(without, "EntityRemoved component 0v1\n");
    stage_end(&s);
}

ORR_TEST(reader_of_all_types_gets_every_type)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader_of(w, "", true, DELIVER_KIT_ALL);
    RECEIVES(r, "");
    CHECK(orri_tracked(w, KIT_TYPE(w, Health)));
    orr_entity a = orr_create(w);
    orr_set(w, a, Tiny, {3});
    orr_set(w, a, Body, {4, 5});
    RECEIVES(r, "EntityAdded created 0v1 {Tiny} Tiny: {value: 3} Body: {mass: 4, speed: 5}\n");
    orr_type late = {0}; // A type that was not registered when the reader was created.
    CHECK_OK(orr_type_register(
        w,
        &(orr_type_desc){
            .name = "Late",
            .fields = &(orr_field_desc){.name = "n", .type = ORR_TYPE(int32_t), .offset = 0},
            .field_count = 1},
        &late));
    CHECK(orri_tracked(w, late));
    CHECK_OK(orr_component_set(w, a, late, &(int32_t){6}));
    RECEIVES(r, "ComponentAdded component Late 0v1 {n: 6}\n");
    stage_end(&s);
}

// ---- entering and leaving -----------------------------------------------------------------------

ORR_TEST(causes_of_entering_and_leaving_are_sent) /* N0-49 N0-34 */
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Tiny, !Frozen");
    orr_entity a = orr_create(w);
    RECEIVES(r, "");
    orr_set(w, a, Tiny, {1});
    RECEIVES(r, "EntityAdded component 0v1 {Tiny} Tiny: {value: 1}\n");
    orr_add(w, a, Frozen);
    RECEIVES(r, "EntityRemoved component 0v1\n");
    orr_set(w, a, Tiny, {2});
    RECEIVES(r, "");
    orr_remove(w, a, Frozen);
    RECEIVES(r, "EntityAdded component 0v1 {Tiny} Tiny: {value: 2}\n");
    CHECK_OK(orr_entity_enable(w, a, false));
    RECEIVES(r, "EntityRemoved enabled 0v1\n");
    CHECK_OK(orr_entity_enable(w, a, true));
    RECEIVES(r, "EntityAdded enabled 0v1 {Tiny} Tiny: {value: 2}\n");
    CHECK_OK(orr_component_enable(w, a, KIT_TYPE(w, Tiny), false));
    RECEIVES(r, "EntityRemoved enabled 0v1\n");
    CHECK_OK(orr_component_enable(w, a, KIT_TYPE(w, Tiny), true));
    RECEIVES(r, "EntityAdded enabled 0v1 {Tiny} Tiny: {value: 2}\n");
    CHECK_OK(orr_destroy(w, a));
    RECEIVES(r, "EntityRemoved destroyed 0v1\n");
    stage_end(&s);
}

ORR_TEST(entity_that_leaves_a_reader_gives_no_other_message)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Tiny, !Frozen, !Body, ?Shot, ?Health, ?Seen");
    orr_entity ids[3];
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny, Shot), 3, NULL, 0, ids));
    (void)deliver_kit_diff(w, r);
    for (uint32_t i = 0; i < 3; i++) {
        orr_set(w, ids[i], Tiny, {(uint8_t)(i + 1)});
        orr_add(w, ids[i], Health);
        orr_add(w, ids[i], Seen);
        (void)orr_add_instance(w, ids[i], Shot, {1, 1});
    }
    orr_add(w, ids[0], Frozen);
    orr_add(w, ids[1], Body);
    CHECK_OK(orr_entity_enable(w, ids[2], false));
    // By index; the cluster with Frozen is the newest. An entity that moved and was disabled counts
    // as moved.
    RECEIVES(r, "EntityRemoved component 1v1 2v1\nEntityRemoved component 0v1\n");
    orr_remove(w, ids[0], Frozen);
    orr_set(w, ids[0], Tiny, {9});
    RECEIVES(r,
             "EntityAdded component 0v1 {Health Tiny Shot} Health: {value: 100, armour: 0} Tiny: "
             "{value: 9} Shot: 1 {power: 0, range: 0} 4 {power: 1, range: 1} Seen:\n");
    stage_end(&s);
}

ORR_TEST(reader_enabled_receives_everything_it_selects)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* first = deliver_kit_reader(w, "Tiny");
    orr_entity a = orr_create(w);
    orr_set(w, a, Tiny, {1});
    (void)deliver_kit_diff(w, first);
    orri_reader* second = deliver_kit_reader_of(w, "Tiny", false, DELIVER_KIT_ALL);
    orr_set(w, a, Tiny, {2}); // The first receives a change, the second an addition.
    RECEIVES(first, "ComponentChanged written Tiny 0v1 {value: 2}\n");
    TAKES(second, "EntityAdded reader 0v1 {Tiny} Tiny: {value: 2}\n");
    orr_set(w, a, Tiny, {3});
    RECEIVES(first, "ComponentChanged written Tiny 0v1 {value: 3}\n");
    // Disabled: its queue is emptied and it knows nothing.
    CHECK_EQ(orri_reader_queued(second), 1);
    orri_reader_enable(w, second, false);
    CHECK_EQ(orri_reader_queued(second), 0);
    CHECK_OK(orr_destroy(w, a));
    orr_entity b = orr_create(w);
    orr_set(w, b, Tiny, {4});
    RECEIVES(first,
             "EntityAdded created 0v2 {Tiny} Tiny: {value: 4}\nEntityRemoved destroyed 0v1\n");
    TAKES(second, "");
    orri_reader_enable(w, second, true);
    orri_reader_enable(w, second, true);
    RECEIVES(second, "EntityAdded reader 0v2 {Tiny} Tiny: {value: 4}\n");
    TAKES(first, "");
    stage_end(&s);
}

ORR_TEST(diff_without_readers_costs_nothing_and_frees_the_baseline)
{
    stage s;
    orr_world* w = stage_begin(&s);
    CHECK(!orri_has_readers(w) && !orri_tracked(w, KIT_TYPE(w, Tiny)));
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    orri_reader* r = deliver_kit_reader(w, "Tiny");
    CHECK(orri_has_readers(w) && orri_tracked(w, KIT_TYPE(w, Tiny)));
    CHECK(!orri_tracked(w, KIT_TYPE(w, Health)));
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny), 5000, NULL, 0, NULL));
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    CHECK(!orri_tracked(w, KIT_TYPE(w, Health)));
    orr_memory_stats stats;
    orr_world_memory_get(w, &stats);
    CHECK(stats.by_purpose[ORR_MEMORY_MESSAGE].bytes > 100000);
    orri_reader_enable(w, r, false);
    CHECK(!orri_has_readers(w));
    orr_world_memory_get(w, &stats);
    CHECK(stats.by_purpose[ORR_MEMORY_MESSAGE].bytes < 10000);
    orri_reader_destroy(w, r);
    orri_reader_destroy(w, NULL);
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    stage_end(&s);
}

ORR_TEST(index_reused_is_another_entity)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Tiny");
    orr_entity a = orr_create(w);
    orr_set(w, a, Tiny, {1});
    (void)deliver_kit_diff(w, r);
    CHECK_OK(orr_destroy(w, a));
    orr_entity b = orr_create(w);
    orr_set(w, b, Tiny, {1});
    RECEIVES(r, "EntityAdded created 0v2 {Tiny} Tiny: {value: 1}\nEntityRemoved destroyed 0v1\n");
    // Created and destroyed between two diffs: no message.
    CHECK_OK(orr_destroy(w, orr_create(w)));
    RECEIVES(r, "");
    stage_end(&s);
}
