// SPDX-License-Identifier: MIT
// What readers are told, worked out by hand: every kind, every cause, who gets what, in which order, and what it costs in
// memory.
#include "message/tell_kit.h"
#include "test.h"
#include <orrery/schedule.h>

#include <stdlib.h>

typedef struct stage {
    kit k;
    orr_world* world;
} stage;

static orr_world* stage_begin(stage* s)
{
    *s = (stage){0};
    s->world = kit_begin(&s->k, NULL);
    ORR_REGISTER(s->world, Position, Velocity, Health, Padded, Tiny, Label, Frozen, Token, Shot,
                 Note, Body, Sign, Seen, Parent);
    return s->world;
}

static void stage_end(stage* s)
{
    kit_end(&s->k);
}

#define TELLS(reader, text) CHECK_STR(tell_kit_tell(w, reader), text)
#define TAKES(reader, text) CHECK_STR(tell_kit_take(reader), text)

static const orr_entity world_scope = {0};

// ---- the five kinds ---------------------------------------------------------------------------------------------

ORR_TEST(entities_that_appear_are_told_with_what_the_reader_tracks) /* N0-41 */
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Velocity, ?Health");
    TELLS(r, "");
    orr_entity a = orr_create(w), b = orr_create(w);
    orr_set(w, a, Velocity, {1, 2});
    orr_set(w, a, Position, {9, 9, 9});
    orr_set(w, b, Velocity, {3, 4});
    orr_set(w, b, Health, {5, 6});
    (void)orr_create(w);
    TELLS(r, "EntityAdded created 0v1 {Position Velocity} Velocity: {x: 1, y: 2}\n"
             "EntityAdded created 1v1 {Velocity Health} Velocity: {x: 3, y: 4} Health: {value: 5, "
             "armour: 6}\n");
    TELLS(r, "");
    stage_end(&s);
}

ORR_TEST(components_that_come_change_and_go_are_told_by_type) /* N0-37 N0-38 N0-39 */
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Velocity, ?Health, ?Frozen");
    orr_entity a = orr_create(w), b = orr_create(w);
    orr_set(w, a, Velocity, {1, 2});
    orr_set(w, b, Velocity, {3, 4});
    TELLS(r, "EntityAdded created 0v1 1v1 {Velocity} Velocity: {x: 1, y: 2}, {x: 3, y: 4}\n");
    orr_set(w, a, Health, {5, 6});
    orr_set(w, b, Health, {7, 8});
    orr_set(w, b, Velocity, {0, 0});
    orr_add(w, b, Frozen);
    TELLS(r, "ComponentAdded component Health 0v1 {value: 5, armour: 6}\n"
             "ComponentAdded component Health 1v1 {value: 7, armour: 8}\n"
             "ComponentAdded component Frozen 1v1\n"
             "ComponentChanged written Velocity 1v1 {x: 0, y: 0}\n");
    orr_remove(w, a, Health);
    orr_remove(w, b, Frozen);
    TELLS(r, "ComponentRemoved component Health 0v1\n"
             "ComponentRemoved component Frozen 1v1\n");
    stage_end(&s);
}

ORR_TEST(entities_that_go_are_told_in_order_of_index) /* N0-40 */
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Tiny");
    orr_entity ids[4];
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny), 4, NULL, 0, ids));
    TELLS(r, "EntityAdded created 0v1 1v1 2v1 3v1 {Tiny} Tiny: {value: 0}, {value: 0}, {value: 0}, "
             "{value: 0}\n");
    CHECK_OK(orr_destroy_many(w, (orr_entity[]){ids[3], ids[0], ids[2]}, 3));
    TELLS(r, "EntityRemoved destroyed 0v1 2v1 3v1\n");
    stage_end(&s);
}

ORR_TEST(messages_of_one_tell_come_in_order_of_kinds) /* N0-42 */
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Tiny, ?Velocity, ?Health");
    orr_entity ids[4];
    orr_type tiny = KIT_TYPE(w, Tiny);
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny), 4, NULL, 0, ids));
    orr_add(w, ids[3], Health);
    (void)tell_kit_tell(w, r);
    CHECK_OK(orr_destroy(w, ids[0]));
    orr_remove(w, ids[3], Health);
    orr_set(w, ids[1], Tiny, {7});
    orr_set(w, ids[2], Velocity, {1, 1});
    CHECK_OK(orr_component_add(w, orr_create(w), tiny));
    TELLS(r, "EntityAdded created 0v2 {Tiny} Tiny: {value: 0}\n"
             "ComponentAdded component Velocity 2v1 {x: 1, y: 1}\n"
             "ComponentChanged written Tiny 1v1 {value: 7}\n"
             "ComponentRemoved component Health 3v1\n"
             "EntityRemoved destroyed 0v1\n");
    stage_end(&s);
}

// ---- only what differs ----------------------------------------------------------------------------------------------

ORR_TEST(value_written_with_what_it_was_is_no_change)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Position");
    orr_entity a = orr_create(w);
    orr_set(w, a, Position, {1, 2, 3});
    (void)tell_kit_tell(w, r);
    orr_set(w, a, Position, {1, 2, 3});
    TELLS(r, "");
    orr_set(w, a, Position, {4, 2, 3});
    orr_set(w, a, Position, {1, 2, 3});
    TELLS(r, "");
    orr_remove(w, a, Position);
    orr_set(w, a, Position, {1, 2, 3});
    TELLS(r, "");
    orr_add(w, a, Velocity);
    TELLS(r, "");
    stage_end(&s);
}

ORR_TEST(padding_is_no_difference)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Padded");
    orr_entity a = orr_create(w);
    orr_set(w, a, Padded, {1, 2, 3});
    (void)tell_kit_tell(w, r);
    Padded* value = orr_edit(w, a, Padded);
    memset(value, 0x77, sizeof *value);
    value->a = 1;
    value->b = 2;
    value->c = 3;
    TELLS(r, "");
    value = orr_edit(w, a, Padded);
    value->c = 4;
    TELLS(r, "ComponentChanged written Padded 0v1 {a: 1, b: 2, c: 4}\n");
    stage_end(&s);
}

ORR_TEST(component_messages_reach_only_readers_of_the_type) /* N0-45 N0-24 */
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* position = tell_kit_reader(w, "Position");
    orri_reader* optional = tell_kit_reader(w, "Position, ?Health");
    orri_reader* without = tell_kit_reader(w, "Position, !Frozen");
    orr_entity a = orr_create(w);
    orr_set(w, a, Position, {1, 0, 0});
    (void)tell_kit_tell(w, position);
    (void)tell_kit_take(optional);
    (void)tell_kit_take(without);
    orr_set(w, a, Health, {1, 1});
    TELLS(position, "");
    TAKES(optional, "ComponentAdded component Health 0v1 {value: 1, armour: 1}\n");
    TAKES(without, "");
    orr_set(w, a, Health, {2, 1});
    TELLS(position, "");
    TAKES(optional, "ComponentChanged written Health 0v1 {value: 2, armour: 1}\n");
    orr_remove(w, a, Health);
    orr_add(w, a, Frozen);
    TELLS(position, "");
    TAKES(optional, "ComponentRemoved component Health 0v1\n");
    TAKES(without, "EntityRemoved component 0v1\n");
    stage_end(&s);
}

ORR_TEST(reader_of_all_types_gets_every_type)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader_of(w, "", true, TELL_KIT_ALL);
    TELLS(r, "");
    CHECK(orri_tracked(w, KIT_TYPE(w, Health)));
    orr_entity a = orr_create(w);
    orr_set(w, a, Tiny, {3});
    orr_set(w, a, Body, {4, 5});
    TELLS(r, "EntityAdded created 0v1 {Tiny} Tiny: {value: 3} Body: {mass: 4, speed: 5}\n");
    orr_type late = {0}; // A type nobody knew when the reader came.
    CHECK_OK(orr_type_register(
        w,
        &(orr_type_desc){
            .name = "Late",
            .fields = &(orr_field_desc){.name = "n", .type = ORR_TYPE(int32_t), .offset = 0},
            .field_count = 1},
        &late));
    CHECK(orri_tracked(w, late));
    CHECK_OK(orr_component_set(w, a, late, &(int32_t){6}));
    TELLS(r, "ComponentAdded component Late 0v1 {n: 6}\n");
    stage_end(&s);
}

// ---- entering and leaving --------------------------------------------------------------------------------------------

ORR_TEST(causes_of_entering_and_leaving_are_told) /* N0-49 N0-34 */
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Tiny, !Frozen");
    orr_entity a = orr_create(w);
    TELLS(r, "");
    orr_set(w, a, Tiny, {1});
    TELLS(r, "EntityAdded component 0v1 {Tiny} Tiny: {value: 1}\n");
    orr_add(w, a, Frozen);
    TELLS(r, "EntityRemoved component 0v1\n");
    orr_set(w, a, Tiny, {2});
    TELLS(r, "");
    orr_remove(w, a, Frozen);
    TELLS(r, "EntityAdded component 0v1 {Tiny} Tiny: {value: 2}\n");
    CHECK_OK(orr_entity_enable(w, a, false));
    TELLS(r, "EntityRemoved enabled 0v1\n");
    CHECK_OK(orr_entity_enable(w, a, true));
    TELLS(r, "EntityAdded enabled 0v1 {Tiny} Tiny: {value: 2}\n");
    CHECK_OK(orr_component_enable(w, a, KIT_TYPE(w, Tiny), false));
    TELLS(r, "EntityRemoved enabled 0v1\n");
    CHECK_OK(orr_component_enable(w, a, KIT_TYPE(w, Tiny), true));
    TELLS(r, "EntityAdded enabled 0v1 {Tiny} Tiny: {value: 2}\n");
    CHECK_OK(orr_destroy(w, a));
    TELLS(r, "EntityRemoved destroyed 0v1\n");
    stage_end(&s);
}

ORR_TEST(entity_that_leaves_is_told_of_nothing_else)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Tiny, !Frozen, !Body, ?Shot, ?Health, ?Seen");
    orr_entity ids[3];
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny, Shot), 3, NULL, 0, ids));
    (void)tell_kit_tell(w, r);
    for (uint32_t i = 0; i < 3; i++) {
        orr_set(w, ids[i], Tiny, {(uint8_t)(i + 1)});
        orr_add(w, ids[i], Health);
        orr_add(w, ids[i], Seen);
        (void)orr_add_instance(w, ids[i], Shot, {1, 1});
    }
    orr_add(w, ids[0], Frozen);
    orr_add(w, ids[1], Body);
    CHECK_OK(orr_entity_enable(w, ids[2], false));
    // By index; the cluster with Frozen is the newest. What moved and was switched off moved.
    TELLS(r, "EntityRemoved component 1v1 2v1\nEntityRemoved component 0v1\n");
    orr_remove(w, ids[0], Frozen);
    orr_set(w, ids[0], Tiny, {9});
    TELLS(r, "EntityAdded component 0v1 {Health Tiny Shot} Health: {value: 100, armour: 0} Tiny: "
             "{value: 9} Shot: 1 {power: 0, range: 0} 4 {power: 1, range: 1} Seen:\n");
    stage_end(&s);
}

ORR_TEST(reader_switched_on_is_told_what_there_is)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* first = tell_kit_reader(w, "Tiny");
    orr_entity a = orr_create(w);
    orr_set(w, a, Tiny, {1});
    (void)tell_kit_tell(w, first);
    orri_reader* second = tell_kit_reader_of(w, "Tiny", false, TELL_KIT_ALL);
    orr_set(w, a, Tiny, {2}); // The first hears that it changed, the second that it is there.
    TELLS(first, "ComponentChanged written Tiny 0v1 {value: 2}\n");
    TAKES(second, "EntityAdded reader 0v1 {Tiny} Tiny: {value: 2}\n");
    orr_set(w, a, Tiny, {3});
    TELLS(first, "ComponentChanged written Tiny 0v1 {value: 3}\n");
    // Off: it forgets, its queue is emptied.
    CHECK_EQ(orri_reader_queued(second), 1);
    orri_reader_enable(w, second, false);
    CHECK_EQ(orri_reader_queued(second), 0);
    CHECK_OK(orr_destroy(w, a));
    orr_entity b = orr_create(w);
    orr_set(w, b, Tiny, {4});
    TELLS(first, "EntityAdded created 0v2 {Tiny} Tiny: {value: 4}\nEntityRemoved destroyed 0v1\n");
    TAKES(second, "");
    orri_reader_enable(w, second, true);
    orri_reader_enable(w, second, true);
    TELLS(second, "EntityAdded reader 0v2 {Tiny} Tiny: {value: 4}\n");
    TAKES(first, "");
    stage_end(&s);
}

ORR_TEST(nobody_to_tell_costs_nothing_and_forgets_everything)
{
    stage s;
    orr_world* w = stage_begin(&s);
    CHECK(!orri_has_readers(w) && !orri_tracked(w, KIT_TYPE(w, Tiny)));
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    orri_reader* r = tell_kit_reader(w, "Tiny");
    CHECK(orri_has_readers(w) && orri_tracked(w, KIT_TYPE(w, Tiny)));
    CHECK(!orri_tracked(w, KIT_TYPE(w, Health)));
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny), 5000, NULL, 0, NULL));
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
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
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    stage_end(&s);
}

ORR_TEST(index_given_again_is_another_entity)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Tiny");
    orr_entity a = orr_create(w);
    orr_set(w, a, Tiny, {1});
    (void)tell_kit_tell(w, r);
    CHECK_OK(orr_destroy(w, a));
    orr_entity b = orr_create(w);
    orr_set(w, b, Tiny, {1});
    TELLS(r, "EntityAdded created 0v2 {Tiny} Tiny: {value: 1}\nEntityRemoved destroyed 0v1\n");
    // Born and dead between two tells: nobody hears of it.
    CHECK_OK(orr_destroy(w, orr_create(w)));
    TELLS(r, "");
    stage_end(&s);
}

// ---- switches, tags, names ------------------------------------------------------------------------------------------

ORR_TEST(switches_are_told_to_who_names_them)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "either *, either Tiny, ?orr_enabled");
    orri_reader* plain = tell_kit_reader(w, "either *, either Tiny");
    orr_entity a = orr_create(w), b = orr_create(w);
    orr_set(w, a, Tiny, {1});
    orr_set(w, b, Tiny, {2});
    CHECK_OK(orr_entity_enable(w, b, false));
    CHECK_OK(orr_component_enable(w, b, KIT_TYPE(w, Tiny), false));
    TELLS(r, "EntityAdded created 0v1 1v1 {Tiny} Tiny: {value: 1}, {value: 2}\n"
             "ComponentChanged enabled orr_enabled 1v1 -*\n"
             "ComponentChanged enabled orr_enabled 1v1 -Tiny\n");
    TAKES(plain, "EntityAdded created 0v1 1v1 {Tiny} Tiny: {value: 1}, {value: 2}\n");
    CHECK_OK(orr_component_enable(w, b, KIT_TYPE(w, Tiny), true));
    CHECK_OK(orr_entity_enable(w, a, false));
    TELLS(r, "ComponentChanged enabled orr_enabled 0v1 -*\n"
             "ComponentChanged enabled orr_enabled 1v1 +Tiny\n");
    CHECK_OK(orr_entity_enable(w, a, true));
    CHECK_OK(orr_entity_enable(w, a, false));
    TELLS(r, "");
    CHECK_OK(orr_entity_enable(w, a, true));
    orr_add(w, a, Frozen); // Switches go with their entity.
    orr_add(w, b, Frozen);
    TELLS(r, "ComponentChanged enabled orr_enabled 0v1 +*\n");
    // A component that goes takes its switch along.
    CHECK_OK(orr_component_enable(w, a, KIT_TYPE(w, Tiny), false));
    TELLS(r, "ComponentChanged enabled orr_enabled 0v1 -Tiny\n");
    orr_remove(w, a, Tiny);
    orr_set(w, a, Tiny, {1});
    TELLS(r, "ComponentChanged enabled orr_enabled 0v1 +Tiny\n");
    TAKES(plain, "");
    stage_end(&s);
}

ORR_TEST(second_reader_of_switches_hears_what_is_off)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* first = tell_kit_reader(w, "either *, ?orr_enabled, ?Tiny");
    orr_entity a = orr_create(w);
    orr_set(w, a, Tiny, {1});
    CHECK_OK(orr_entity_enable(w, a, false));
    (void)tell_kit_tell(w, first);
    orri_reader* second = tell_kit_reader_of(w, "either *, ?orr_enabled", false, TELL_KIT_ALL);
    CHECK_OK(orr_component_enable(w, a, KIT_TYPE(w, Tiny), false));
    TELLS(second, "EntityAdded reader 0v1 {Tiny}\nComponentChanged enabled orr_enabled 0v1 -*\n");
    TAKES(first, "ComponentChanged enabled orr_enabled 0v1 -Tiny\n");
    CHECK_OK(orr_destroy(w, a));
    orr_entity b = orr_create(w); // The same index: nothing is off.
    orr_set(w, b, Tiny, {2});
    TELLS(first, "EntityAdded created 0v2 {Tiny} Tiny: {value: 2}\nEntityRemoved destroyed 0v1\n");
    stage_end(&s);
}

ORR_TEST(switches_of_instances_and_pinned_values_are_told)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "either *, ?Shot, ?Body, ?orr_enabled");
    orr_entity a = orr_create(w);
    orr_component_id one = orr_add_instance(w, a, Shot, {1, 1});
    orr_component_id two = orr_add_instance(w, a, Shot, {2, 2});
    CHECK_EQ(one + 1, two);
    CHECK_OK(orr_instance_enable(w, a, KIT_TYPE(w, Shot), two, false));
    orr_set(w, a, Body, {1, 1});
    CHECK_OK(orr_component_enable(w, a, KIT_TYPE(w, Body), false));
    TELLS(r, "EntityAdded created 0v1 {Shot} Shot: 1 {power: 1, range: 1} 2 {power: 2, range: 2} "
             "Body: {mass: 1, speed: 1}\n"
             "ComponentChanged enabled orr_enabled 0v1/2 -Shot\n"
             "ComponentChanged enabled orr_enabled 0v1 -Body\n");
    CHECK_OK(orr_instance_enable(w, a, KIT_TYPE(w, Shot), 0, true));
    CHECK_OK(orr_component_enable(w, a, KIT_TYPE(w, Body), true));
    TELLS(r, "ComponentChanged enabled orr_enabled 0v1/2 +Shot\n"
             "ComponentChanged enabled orr_enabled 0v1 +Body\n");
    // What was told to be off stays so by id, whatever goes before it.
    CHECK_OK(orr_instance_enable(w, a, KIT_TYPE(w, Shot), two, false));
    TELLS(r, "ComponentChanged enabled orr_enabled 0v1/2 -Shot\n");
    CHECK_OK(orr_instance_remove(w, a, KIT_TYPE(w, Shot), one));
    TELLS(r, "ComponentRemoved component Shot 0v1/1\n");
    CHECK_OK(orr_instance_enable(w, a, KIT_TYPE(w, Shot), two, true));
    TELLS(r, "ComponentChanged enabled orr_enabled 0v1/2 +Shot\n");
    // A new one that is off at once: it comes, then it is off, once.
    orr_component_id three = orr_add_instance(w, a, Shot, {3, 3});
    CHECK_OK(orr_instance_enable(w, a, KIT_TYPE(w, Shot), three, false));
    TELLS(r, "ComponentAdded component Shot 0v1/3 {power: 3, range: 3}\n"
             "ComponentChanged enabled orr_enabled 0v1/3 -Shot\n");
    orr_add(w, a, Frozen);
    TELLS(r, "");
    orr_remove(w, a, Body);
    TELLS(r, "ComponentRemoved component Body 0v1\n");
    stage_end(&s);
}

ORR_TEST(tags_are_told_to_who_names_them)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Tiny, ?orr_tags");
    orri_reader* tagged = tell_kit_reader(w, "#7");
    orr_entity a = orr_create(w), b = orr_create(w);
    orr_set(w, a, Tiny, {1});
    orr_set(w, b, Tiny, {2});
    CHECK_OK(orr_tag_add(w, b, 7));
    TELLS(r, "EntityAdded created 0v1 {Tiny} Tiny: {value: 1}\n"
             "EntityAdded created 1v1 {Tiny #7} Tiny: {value: 2}\n");
    TAKES(tagged, "EntityAdded created 1v1 {Tiny #7}\n");
    CHECK_OK(orr_tag_add(w, a, 7));
    CHECK_OK(orr_tag_add(w, b, 9));
    TELLS(r, "ComponentChanged component orr_tags 0v1 {#7}\n"
             "ComponentChanged component orr_tags 1v1 {#7 #9}\n");
    TAKES(tagged, "EntityAdded component 0v1 {Tiny #7}\n");
    CHECK_OK(orr_tag_remove(w, a, 7));
    CHECK_OK(orr_tag_add(w, a, 8));
    TELLS(r, "ComponentChanged component orr_tags 0v1 {#8}\n");
    TAKES(tagged, "EntityRemoved component 0v1\n");
    CHECK_OK(orr_tag_remove(w, b, 9));
    CHECK_OK(orr_tag_remove(w, b, 7));
    TELLS(r, "ComponentChanged component orr_tags 1v1 {}\n");
    TAKES(tagged, "EntityRemoved component 1v1\n");
    stage_end(&s);
}

ORR_TEST(names_are_components_as_any_other)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Tiny, ?orr_name");
    orr_entity a = orr_create(w);
    orr_set(w, a, Tiny, {1});
    CHECK_OK(orr_name_set(w, a, world_scope, "bob"));
    TELLS(r, "EntityAdded created 0v1 {Tiny} Tiny: {value: 1} orr_name: {scope: null, text: "
             "\"bob\"}\n");
    CHECK_OK(orr_name_set(w, a, world_scope, "eve"));
    TELLS(r, "ComponentChanged written orr_name 0v1 {scope: null, text: \"eve\"}\n");
    CHECK_OK(orr_name_set(w, a, world_scope, "tom"));
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    CHECK_OK(orr_name_set(w, a, world_scope, NULL));
    orr_tick_advance(w); // The message still waits: its text is there.
    TELLS(r, "ComponentChanged written orr_name 0v1 {scope: null, text: \"tom\"}\n"
             "ComponentRemoved component orr_name 0v1\n");
    stage_end(&s);
}

ORR_TEST(types_behind_switches_and_tags_cannot_be_stored)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orr_query* query = orr_query_text(w, "orr_enabled, orr_tags, ?orr_name"); // Registers them.
    CHECK(query != NULL);
    orr_entity a = orr_create(w);
    CHECK_EQ(orr_query_count(query), 1); // Every entity counts as having them.
    orr_type enabled = KIT_TYPE(w, orr_enabled), tags = KIT_TYPE(w, orr_tags);
    CHECK_RESULT(orr_component_set(w, a, enabled, &(orr_enabled){{1}, 1}), ORR_ERR_TYPE);
    CHECK_CONTAINS(s.k.errors.text, "orr_component_enable()");
    CHECK_RESULT(orr_component_add(w, a, tags), ORR_ERR_TYPE);
    CHECK_CONTAINS(s.k.errors.text, "orr_tag_add()");
    CHECK_RESULT(orr_component_add_many(w, &a, 1, tags, NULL), ORR_ERR_TYPE);
    orr_cluster cluster;
    CHECK_RESULT(
        orr_cluster_get(w, &(orr_cluster_desc){.types = &enabled, .type_count = 1}, &cluster),
        ORR_ERR_TYPE);
    orr_bundle bundle;
    CHECK_OK(orr_bundle_register(w, "odd", "orr_tags", &bundle));
    CHECK_RESULT(orr_bundle_create(w, bundle, 1, NULL), ORR_ERR_TYPE);
    CHECK(!orr_component_has(w, a, enabled));
    CHECK(orr_query_text(w, "!orr_tags") == NULL);
    CHECK_CONTAINS(s.k.errors.text, "every entity counts as having it");
    CHECK(orr_query_text(w, "?write orr_enabled") == NULL);
    CHECK(orr_query_text(w, "Tiny|orr_tags") == NULL);
    stage_end(&s);
}

// ---- several of a kind, pinned, markers, texts, hooks ---------------------------------------------------------------------

ORR_TEST(instances_are_told_by_id)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Tiny, ?Shot");
    orr_type shot = KIT_TYPE(w, Shot);
    orr_entity a = orr_create(w);
    orr_set(w, a, Tiny, {1});
    TELLS(r, "EntityAdded created 0v1 {Tiny} Tiny: {value: 1}\n");
    for (int32_t i = 1; i <= 3; i++) {
        CHECK_EQ(orr_instance_add(w, a, shot, &(Shot){i, i}), i);
    }
    TELLS(r, "ComponentAdded component Shot 0v1/1 {power: 1, range: 1} 0v1/2 {power: 2, range: 2} "
             "0v1/3 {power: 3, range: 3}\n");
    CHECK_OK(orr_instance_remove(w, a, shot, 2));
    CHECK_OK(orr_instance_set(w, a, shot, 3, &(Shot){9, 9}));
    CHECK_EQ(orr_instance_add(w, a, shot, &(Shot){4, 4}), 4);
    TELLS(r, "ComponentAdded component Shot 0v1/4 {power: 4, range: 4}\n"
             "ComponentChanged written Shot 0v1/3 {power: 9, range: 9}\n"
             "ComponentRemoved component Shot 0v1/2\n");
    orr_remove(w, a, Shot);
    TELLS(r, "ComponentRemoved component Shot 0v1/1 0v1/3 0v1/4\n");
    stage_end(&s);
}

ORR_TEST(pinned_values_are_told)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Tiny, ?Body, ?Seen");
    orri_reader* with = tell_kit_reader(w, "Body");
    orri_reader* without = tell_kit_reader(w, "Tiny, !Body");
    orr_entity a = orr_create(w), b = orr_create(w);
    orr_set(w, a, Tiny, {1});
    orr_set(w, b, Tiny, {2});
    orr_set(w, a, Body, {5, 6});
    TELLS(r, "EntityAdded created 0v1 1v1 {Tiny} Tiny: {value: 1}, {value: 2} Body: {mass: 5, "
             "speed: 6}, -\n");
    TAKES(with, "EntityAdded created 0v1 {Tiny} Body: {mass: 5, speed: 6}\n");
    TAKES(without, "EntityAdded created 1v1 {Tiny} Tiny: {value: 2}\n");
    orr_edit(w, a, Body)->mass = 7;
    orr_add(w, b, Body);
    orr_add(w, b, Seen);
    TELLS(r, "ComponentAdded component Body 1v1 {mass: 10, speed: 0}\n"
             "ComponentAdded component Seen 1v1\n"
             "ComponentChanged written Body 0v1 {mass: 7, speed: 6}\n");
    TAKES(with, "EntityAdded component 1v1 {Tiny} Body: {mass: 10, speed: 0}\n"
                "ComponentChanged written Body 0v1 {mass: 7, speed: 6}\n");
    TAKES(without, "EntityRemoved component 1v1\n");
    // Slots change hands: who has one now, and who had it.
    orr_remove(w, a, Body);
    orr_remove(w, b, Body);
    orr_set(w, a, Body, {10, 0});
    TELLS(r, "ComponentChanged written Body 0v1 {mass: 10, speed: 0}\n"
             "ComponentRemoved component Body 1v1\n");
    TAKES(with, "ComponentChanged written Body 0v1 {mass: 10, speed: 0}\n"
                "EntityRemoved component 1v1\n");
    TAKES(without, "EntityAdded component 1v1 {Tiny} Tiny: {value: 2}\n");
    CHECK_OK(orr_component_enable(w, a, KIT_TYPE(w, Body), false));
    TELLS(with, "EntityRemoved enabled 0v1\n");
    CHECK_OK(orr_destroy(w, a));
    TELLS(with, "");
    stage_end(&s);
}

ORR_TEST(texts_in_messages_stay_readable)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Label, ?Sign, ?Note");
    orr_entity a = orr_create(w);
    orr_set(w, a, Label, {orr_string_make(w, "one"), 1});
    orr_set(w, a, Sign, {orr_string_make(w, "wood"), 1});
    (void)orr_add_instance(w, a, Note, {orr_string_make(w, "la"), 1});
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    orr_set(w, a, Label, {orr_string_make(w, "two"), 2});
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    CHECK_OK(orr_destroy(w, a));
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    orr_tick_advance(w);
    orr_world_stats stats;
    orr_world_stats_get(w, &stats);
    CHECK_EQ(stats.blobs, 4);
    TAKES(r,
          "EntityAdded created 0v1 {Label Note} Label: {text: \"one\", number: 1} Note: 1 {text: "
          "\"la\", number: 1} Sign: {text: \"wood\", number: 1}\n"
          "ComponentChanged written Label 0v1 {text: \"two\", number: 2}\n"
          "EntityRemoved destroyed 0v1\n");
    orr_tick_advance(w);
    orr_world_stats_get(w, &stats);
    CHECK_EQ(stats.blobs, 0); // With the last message the last text went.
    stage_end(&s);
}

ORR_TEST(text_that_is_the_same_again_is_no_change)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Label");
    orr_entity a = orr_create(w);
    orr_set(w, a, Label, {orr_string_make(w, "one"), 1});
    (void)tell_kit_tell(w, r);
    orr_set(w, a, Label, {orr_string_make(w, "two"), 1});
    orr_tick_advance(w);
    orr_set(w, a, Label, {orr_string_make(w, "one"), 1});
    TELLS(r, "");
    stage_end(&s);
}

ORR_TEST(values_with_hooks_are_told_as_bytes)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Token");
    orr_entity a = orr_create(w);
    Token value = kit_token(5);
    CHECK_OK(orr_component_set(w, a, KIT_TYPE(w, Token), &value));
    uint64_t made = kit_tokens.constructs + kit_tokens.copies;
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    const orr_message* m = orri_reader_next(r);
    CHECK(m != NULL && orr_values(m, Token)->cell.payload == 5);
    CHECK_EQ(kit_tokens.constructs + kit_tokens.copies, made); // No hook was called.
    CHECK(orri_reader_next(r) == NULL);
    stage_end(&s);
}

// ---- sharing -----------------------------------------------------------------------------------------------------------

ORR_TEST(readers_of_the_same_rows_share_one_batch) /* N0-58 */
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* a = tell_kit_reader(w, "Position, ?Velocity");
    orri_reader* b = tell_kit_reader(w, "Position");
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Position, Velocity), 3, NULL, 0, NULL));
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    const orr_message *ma = orri_reader_next(a), *mb = orri_reader_next(b);
    CHECK(ma->entities == mb->entities && ma->count == 3 && mb->count == 3);
    CHECK_EQ(ma->column_count, 2);
    CHECK_EQ(mb->column_count, 1);
    CHECK(orr_values(ma, Position) == orr_values(mb, Position));
    CHECK(orr_values(mb, Velocity) == NULL);
    CHECK(orr_message_column_of(ma, KIT_TYPE(w, Velocity)) != NULL);
    CHECK(orr_message_column_of(mb, KIT_TYPE(w, Velocity)) == NULL);
    CHECK(orr_message_values(ma, ORR_TYPE(Crowd)) == NULL); // Not even registered.
    CHECK(!orr_message_is(ma, Position));
    stage_end(&s);
}

static uint64_t stage_blocks(const orr_world* w)
{
    orr_memory_stats stats;
    orr_world_memory_get(w, &stats);
    return stats.by_purpose[ORR_MEMORY_MESSAGE].blocks;
}

ORR_TEST(batch_is_freed_when_its_last_reader_is_done) /* N0-58 */
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader *a = tell_kit_reader(w, "Tiny"), *b = tell_kit_reader(w, "Tiny");
    orr_entity e = orr_create(w);
    orr_set(w, e, Tiny, {1});
    (void)tell_kit_tell(w, a);
    (void)tell_kit_take(b);
    uint64_t before = stage_blocks(w);
    orr_set(w, e, Tiny, {2});
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    CHECK_EQ(stage_blocks(w), before + 1);
    CHECK(orri_reader_next(a) != NULL);
    CHECK(orri_reader_next(a) == NULL);
    CHECK_EQ(stage_blocks(w), before + 1); // The other has not had it.
    const orr_message* m = orri_reader_next(b);
    CHECK(orr_message_is(m, Tiny) && orr_values(m, Tiny)->value == 2);
    CHECK_EQ(stage_blocks(w), before + 1); // It reads it.
    orri_reader_done(b);
    CHECK_EQ(stage_blocks(w), before);
    orri_reader_done(b);
    // A reader that goes gives its part back.
    orr_set(w, e, Tiny, {3});
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    CHECK(orri_reader_next(a) != NULL);
    orri_reader_destroy(w, b);
    orri_reader_done(a);
    CHECK(stage_blocks(w) < before);
    stage_end(&s);
}

ORR_TEST(reader_that_gets_other_rows_gets_a_batch_of_its_own)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* on = tell_kit_reader(w, "Tiny");
    orri_reader* too = tell_kit_reader(w, "Tiny");
    orri_reader* all = tell_kit_reader(w, "either *, Tiny");
    orri_reader* off = tell_kit_reader(w, "disabled *, Tiny");
    orr_entity ids[4];
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny), 4, NULL, 0, ids));
    CHECK_OK(orr_entity_enable(w, ids[1], false));
    (void)tell_kit_tell(w, on);
    (void)tell_kit_take(too);
    TAKES(all, "EntityAdded created 0v1 1v1 2v1 3v1 {Tiny} Tiny: {value: 0}, {value: 0}, {value: "
               "0}, {value: 0}\n");
    TAKES(off, "EntityAdded created 1v1 {Tiny} Tiny: {value: 0}\n");
    Tiny* values = orr_column_write(w, orr_entity_cluster(w, ids[0]), 0, KIT_TYPE(w, Tiny));
    for (uint8_t i = 0; i < 4; i++) {
        values[i].value = 10 + i;
    }
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    const orr_message* a = orri_reader_next(on);
    const orr_message* b = orri_reader_next(too);
    CHECK_EQ(a->count, 3);
    CHECK(a->entities == b->entities && a->values == b->values);
    TAKES(all, "ComponentChanged written Tiny 0v1 {value: 10} 1v1 {value: 11} 2v1 {value: 12} 3v1 "
               "{value: 13}\n");
    TAKES(off, "ComponentChanged written Tiny 1v1 {value: 11}\n");
    CHECK(orri_reader_next(on) == NULL);
    stage_end(&s);
}

ORR_TEST(readers_by_the_hundred_are_told)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* readers[130];
    for (uint32_t i = 0; i < 130; i++) {
        readers[i] = tell_kit_reader(w, i % 3 == 0   ? "Tiny"
                                        : i % 3 == 1 ? "Tiny, !Frozen"
                                                     : "Frozen");
    }
    orr_entity a = orr_create(w);
    orr_set(w, a, Tiny, {1});
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    for (uint32_t i = 0; i < 130; i++) {
        TAKES(readers[i], i % 3 < 2 ? "EntityAdded created 0v1 {Tiny} Tiny: {value: 1}\n" : "");
    }
    orr_add(w, a, Frozen);
    orr_set(w, a, Tiny, {2});
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    for (uint32_t i = 0; i < 130; i++) {
        TAKES(readers[i], i % 3 == 0   ? "ComponentChanged written Tiny 0v1 {value: 2}\n"
                          : i % 3 == 1 ? "EntityRemoved component 0v1\n"
                                       : "EntityAdded component 0v1 {Tiny Frozen} Frozen:\n");
    }
    stage_end(&s);
}

// ---- order -----------------------------------------------------------------------------------------------------------

ORR_TEST(clusters_come_in_order_of_creation_and_rows_in_order)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Tiny");
    orr_cluster late, early = KIT_CLUSTER(w, Tiny, Frozen);
    late = KIT_CLUSTER(w, Tiny);
    CHECK_OK(orr_create_many(w, late, 2, NULL, 0, NULL));
    CHECK_OK(orr_create_many(w, early, 2, NULL, 0, NULL));
    TELLS(r, "EntityAdded created 2v1 3v1 {Tiny Frozen} Tiny: {value: 0}, {value: 0}\n"
             "EntityAdded created 0v1 1v1 {Tiny} Tiny: {value: 0}, {value: 0}\n");
    Tiny* values = orr_column_write(w, late, 0, KIT_TYPE(w, Tiny));
    values[0].value = values[1].value = 1;
    values = orr_column_write(w, early, 0, KIT_TYPE(w, Tiny));
    values[1].value = 2;
    // Small clusters that go to the same readers share a message.
    TELLS(r, "ComponentChanged written Tiny 3v1 {value: 2} 0v1 {value: 1} 1v1 {value: 1}\n");
    stage_end(&s);
}

ORR_TEST(many_rows_are_a_few_messages)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Velocity");
    orr_cluster cluster = KIT_CLUSTER(w, Velocity);
    enum {
        MANY = 100000
    };
    CHECK_OK(orr_create_many(w, cluster, MANY, NULL, 0, NULL));
    orr_query* query = orr_query_text(w, "write Velocity");
    for (uint32_t round = 0; round < 3; round++) {
        uint32_t messages = 0, rows = 0;
        CHECK_OK(round == 0 ? orri_tell(w, (orr_system){0, 0}, false)
                            : orri_tell_written(w, query, (orr_system){4, 1}));
        CHECK_EQ(orri_reader_queued(r), round < 2 ? MANY : MANY / 7 + 1);
        for (const orr_message* m; (m = orri_reader_next(r)) != NULL; messages++) {
            CHECK(m->kind == (round == 0 ? ORR_ENTITY_ADDED : ORR_COMPONENT_CHANGED));
            CHECK_EQ(m->system.index1, round == 0 ? 0 : 4);
            const Velocity* v = orr_values(m, Velocity);
            for (uint32_t i = 0; i < m->count; i++, rows++) {
                uint32_t row = round < 2 ? rows : rows * 7;
                CHECK_EQ(orri_id_index(m->entities[i]), row);
                CHECK_EQ(v[i].x, round == 0 ? 0 : row + round);
            }
        }
        CHECK_EQ(rows, round < 2 ? MANY : MANY / 7 + 1);
        CHECK_EQ(messages, 7); // Sections of 16384 rows.
        uint32_t row = 0;
        ORR_EACH (it, query) {
            Velocity* v = orr_write(&it, Velocity);
            for (uint32_t i = 0; i < it.count; i++, row++) {
                v[i].x = round == 0 ? (float)(row + 1) : row % 7 == 0 ? v[i].x + 1 : v[i].x;
            }
        }
    }
    stage_end(&s);
}

ORR_TEST(rows_in_any_order_are_told_right)
{
    stage s;
    orr_world* w = stage_begin(&s);
    mirror* m = mirror_make(w, "Velocity, ?Health", false, TELL_KIT_ALL);
    enum {
        MANY = 5000
    };
    static orr_entity ids[MANY];
    orr_type health = KIT_TYPE(w, Health);
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Velocity), MANY, NULL, 0, ids));
    for (uint32_t round = 0; round < 4; round++) {
        for (uint32_t i = 0; i < MANY; i++) {
            orr_entity id = ids[(i * 7919u) % MANY];
            if (i % 3 == round) {
                CHECK_OK(orr_component_add(w, id, health));
            }
            if (i % 5 == round) {
                orr_edit(w, id, Velocity)->x += 1;
            }
        }
        CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
        mirror_take(m);
        mirror_compare(m);
    }
    CHECK_OK(orr_rows_move_all(w, orr_entity_cluster(w, ids[0]), KIT_CLUSTER(w, Velocity, Frozen)));
    CHECK_OK(orr_destroy_many(w, ids, MANY / 2));
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    mirror_take(m);
    mirror_compare(m);
    mirror_free(m);
    stage_end(&s);
}

// More runs than a piece holds, of every sort.
ORR_TEST(pieces_that_are_full_are_told_in_parts)
{
    stage s;
    orr_world* w = stage_begin(&s);
    enum {
        MANY = 10000
    };
    static orr_entity ids[MANY];
    mirror* m[2] = {
        mirror_make(w, "either *, Tiny, ?Body, ?Shot, ?orr_enabled", false, TELL_KIT_ALL),
        mirror_make(w, "Tiny, ?Body, ?Padded", false, TELL_KIT_ALL)};
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny, Shot, Padded), MANY, NULL, 0, ids));
    for (uint32_t round = 0; round < 4; round++) {
        CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
        for (uint32_t i = 0; i < 2; i++) {
            mirror_take(m[i]);
            mirror_compare(m[i]);
        }
        for (uint32_t i = 0; i < MANY; i++) {
            orr_entity id = ids[(i * 7919u) % MANY];
            if (round == 0) {
                orr_set(w, id, Body, {(int32_t)i, 1});
                (void)orr_instance_add(w, id, KIT_TYPE(w, Shot), NULL);
                CHECK_OK(orr_entity_enable(w, id, i % 3 != 0));
            } else if (round == 1) {
                orr_edit(w, id, Body)->speed = (int32_t)i;
                orr_edit(w, id, Padded)->c = (uint16_t)i;
                orr_add(w, id, Frozen);
            } else if (round == 2 && orri_id_index(id) % 2 == 0) {
                CHECK_OK(orr_destroy(w, id));
            }
        }
    }
    CHECK_EQ(orr_entity_count(w), MANY / 2);
    mirror_free(m[0]);
    mirror_free(m[1]);
    stage_end(&s);
}

ORR_TEST(rows_that_an_appender_takes_back_are_told_to_be_gone)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Tiny");
    orr_appender a;
    CHECK_OK(orr_append_begin(w, KIT_CLUSTER(w, Tiny), NULL, 0, &a));
    CHECK_EQ(orr_append(&a), 0);
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false)); // Rows made ahead count as entities.
    uint64_t ahead = orri_reader_queued(r);
    CHECK(ahead > 1 && ahead == orr_entity_count(w));
    (void)tell_kit_take(r);
    orr_append_end(&a);
    CHECK_EQ(orr_entity_count(w), 1);
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    CHECK_EQ(orri_reader_queued(r), ahead - 1);
    const orr_message* m = orri_reader_next(r);
    CHECK(m->kind == ORR_ENTITY_REMOVED && m->count == ahead - 1 &&
          m->entities[0].id == 1 + ((uint64_t)1 << 32));
    stage_end(&s);
}

ORR_TEST(relinked_chunks_are_told)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Velocity, ?Health, ?orr_tags");
    orr_entity ids[2];
    orr_cluster from = KIT_CLUSTER(w, Velocity);
    CHECK_OK(orr_create_many(w, from, 2, NULL, 0, ids));
    (void)tell_kit_tell(w, r);
    CHECK_OK(orr_rows_move_all(w, from, KIT_CLUSTER(w, Velocity, Health)));
    TELLS(r, "ComponentAdded component Health 0v1 {value: 100, armour: 0} 1v1 {value: 100, armour: "
             "0}\n");
    orr_query* query = orr_query_text(w, "Health");
    CHECK_OK(orr_query_remove(query, KIT_TYPE(w, Health)));
    TELLS(r, "ComponentRemoved component Health 0v1 1v1\n");
    orr_type velocity = KIT_TYPE(w, Velocity);
    orr_tag tag = 5;
    CHECK_OK(orr_rows_move_all(w, from, kit_cluster(w, &velocity, 1, &tag, 1)));
    TELLS(r, "ComponentChanged component orr_tags 0v1 1v1 {#5}\n");
    CHECK_OK(orr_clusters_delete(w, &(orr_cluster_match){.tags = &tag, .tag_count = 1}, NULL));
    TELLS(r, "EntityRemoved destroyed 0v1 1v1\n");
    stage_end(&s);
}

ORR_TEST(referrers_that_die_along_are_told)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Parent");
    orr_entity a = orr_create(w), b = orr_create(w), c = orr_create(w);
    orr_set(w, b, Parent, {a});
    orr_set(w, c, Parent, {b});
    TELLS(r, "EntityAdded created 1v1 2v1 {Parent} Parent: {entity: 0v1}, {entity: 1v1}\n");
    CHECK_OK(orr_destroy(w, a));
    TELLS(r, "EntityRemoved destroyed 1v1 2v1\n");
    stage_end(&s);
}

// ---- after a system ----------------------------------------------------------------------------------------------------

ORR_TEST(written_columns_are_told_with_their_system)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Velocity, ?Body, ?Shot, ?Health");
    orr_entity a = orr_create(w);
    orr_set(w, a, Velocity, {1, 1});
    orr_set(w, a, Body, {1, 1});
    orr_set(w, a, Health, {1, 1});
    (void)orr_add_instance(w, a, Shot, {1, 1});
    (void)tell_kit_tell(w, r);
    orr_query* query =
        orr_query_text(w, "write Velocity, write Body, write Shot, Health, write Tiny");
    orr_set(w, a, Tiny, {1});
    (void)tell_kit_tell(w, r);
    CHECK_OK(orri_tell_written(w, query, (orr_system){2, 1}));
    TAKES(r, "");
    ORR_EACH (it, query) {
        orr_write(&it, Velocity)[0].x = 2;
        orr_write(&it, Tiny)[0].value = 2;
        orr_write(&it, Shot)[0].power = 2;
        orr_write_pinned(&it, Body, 0)->mass = 2;
    }
    orr_set(w, a, Health, {2, 2}); // Not one of its write terms: told by the next whole tell.
    CHECK_OK(orri_tell_written(w, query, (orr_system){2, 1}));
    TAKES(r, "ComponentChanged written by 2 Velocity 0v1 {x: 2, y: 1}\n"
             "ComponentChanged written by 2 Body 0v1 {mass: 2, speed: 1}\n"
             "ComponentChanged written by 2 Shot 0v1/1 {power: 2, range: 1}\n");
    TELLS(r, "ComponentChanged written Health 0v1 {value: 2, armour: 2}\n");
    CHECK_OK(orri_tell_written(w, orr_query_text(w, "write Tiny"), (orr_system){2, 1}));
    TAKES(r, "");
    stage_end(&s);
}

ORR_TEST(rows_that_are_new_are_left_to_the_whole_tell)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader(w, "Velocity, ?Body");
    orr_query* query = orr_query_text(w, "write Velocity, ?write Body");
    orr_entity a = orr_create(w), b = orr_create(w);
    orr_set(w, a, Velocity, {1, 1});
    orr_set(w, b, Velocity, {2, 2});
    (void)tell_kit_tell(w, r);
    orr_add(w, a, Frozen);
    CHECK_OK(orr_destroy(w, b));
    orr_entity c = orr_create(w);
    orr_set(w, c, Velocity, {3, 3});
    orr_set(w, c, Body, {3, 3});
    orr_set(w, a, Velocity, {4, 4});
    orri_reader* late = tell_kit_reader_of(w, "Velocity", false, TELL_KIT_ALL);
    CHECK_OK(orri_tell_written(w, query, (orr_system){2, 1}));
    TAKES(r, "ComponentChanged written by 2 Velocity 0v1 {x: 4, y: 4}\n");
    TAKES(late, "");
    TELLS(r, "EntityAdded created 1v2 {Velocity} Velocity: {x: 3, y: 3} Body: {mass: 3, speed: "
             "3}\n"
             "EntityRemoved destroyed 1v1\n");
    stage_end(&s);
}

// Two systems that change every second entity each, and one that hears of it.
static orr_entity sent_ids[4];
static char sent_text[1024];

static void sent_even(orr_run* run)
{
    (void)orr_send_add_preset(run, sent_ids[0], Frozen);
    (void)orr_send_add_preset(run, sent_ids[2], Frozen);
}

static void sent_odd(orr_run* run)
{
    (void)orr_send_add_preset(run, sent_ids[1], Frozen);
}

static void sent_heard(orr_run* run)
{
    orri_text out = {sent_text, sizeof sent_text, strlen(sent_text)};
    ORR_MESSAGES(m, run)
    {
        orri_text_add(&out, "%d %s:", (int)m->kind, orr_system_name(run->world, m->system));
        for (uint32_t i = 0; i < m->count; i++) {
            orri_text_add(&out, " %u", orri_id_index(m->entities[i]));
        }
        orri_text_add(&out, "\n");
    }
}

ORR_TEST(what_a_commit_did_is_told_by_who_sent_it)
{
    stage s;
    orr_world* w = stage_begin(&s);
    sent_text[0] = '\0';
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny), 4, NULL, 0, sent_ids));
    orr_system_add(
        w, &(orr_system_desc){
               .name = "heard", .kind = ORR_INDIRECT, .query = "Tiny, ?Frozen", .run = sent_heard});
    orr_system_add(
        w, &(orr_system_desc){
               .name = "even", .query = "Tiny", .once = true, .run = sent_even, .adds = "Frozen"});
    orr_system_add(
        w, &(orr_system_desc){
               .name = "odd", .query = "Tiny", .once = true, .run = sent_odd, .adds = "Frozen"});
    CHECK_OK(orr_step(w, 2));
    CHECK_STR(sent_text, "0 : 0 1 2 3\n1 even: 0 2\n1 odd: 1\n");
    stage_end(&s);
}

// ---- the queue ------------------------------------------------------------------------------------------------------------

ORR_TEST(queue_that_overflows_is_emptied_and_told_anew)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = tell_kit_reader_of(w, "Tiny", false, 4);
    orri_reader* other = tell_kit_reader(w, "Tiny");
    orr_entity ids[3];
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny), 3, NULL, 0, ids));
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    CHECK_EQ(orri_reader_queued(r), 3);
    CHECK(!orri_reader_lost(r));
    orr_edit(w, ids[0], Tiny)->value = 1;
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    CHECK_EQ(orri_reader_queued(r), 4);
    orr_edit(w, ids[1], Tiny)->value = 1;
    uint32_t errors = s.k.errors.count;
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    CHECK_EQ(s.k.errors.count, errors + 1);
    CHECK(s.k.errors.id == ORR_LOG_ID_QUEUE_FULL && s.k.errors.result == ORR_ERR_CAPACITY);
    CHECK_CONTAINS(s.k.errors.text, "'Tiny' would hold 5 entities, its limit is 4");
    CHECK_CONTAINS(s.k.errors.text, "messages_max");
    CHECK(orri_reader_lost(r));
    CHECK(!orri_reader_lost(r));
    TAKES(r, "");
    TELLS(r, "EntityAdded reader 0v1 1v1 2v1 {Tiny} Tiny: {value: 1}, {value: 1}, {value: 0}\n");
    TAKES(other, "EntityAdded created 0v1 1v1 2v1 {Tiny} Tiny: {value: 0}, {value: 0}, {value: 0}\n"
                 "ComponentChanged written Tiny 0v1 {value: 1}\n"
                 "ComponentChanged written Tiny 1v1 {value: 1}\n");
    stage_end(&s);
}

ORR_TEST(taken_messages_are_counted_and_the_rest_waits)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_counts counts = {0};
    orr_query* query = orr_query_text(w, "Tiny");
    orri_reader* r = orri_reader_create(
        w, &(orri_reader_desc){.name = "r", .query = query, .queue_max = 100, .counts = &counts});
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    orri_reader_enable(w, r, true);
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny), 3, NULL, 0, NULL));
    CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
    orri_rights rights = {.name = "r", .reader = r};
    orr_run run = {.world = w, .lane = (struct orr_lane*)(void*)&rights};
    if (orri_lane_rights(run.lane) == &rights) { // Until lanes are there.
        ORR_MESSAGES(m, &run)
        {
            CHECK_EQ(m->count, 3);
        }
        CHECK_EQ(counts.received, 3);
        rights.reader = NULL;
        CHECK(orr_receive(&run) == NULL);
        CHECK_CONTAINS(s.k.errors.text, "'r' is direct");
        CHECK_EQ(rights.counts.breaches, 1);
    }
    stage_end(&s);
}

ORR_TEST(hash_of_what_waits_depends_on_it_alone)
{
    uint64_t hashes[2][6];
    for (uint32_t round = 0; round < 2; round++) {
        stage s;
        orr_world* w = stage_begin(&s);
        if (round == 1) { // Numbers of types and blobs differ.
            orr_type other;
            CHECK_OK(orr_type_register(w, ORR_TYPE(Crowd), &other));
            (void)orr_string_make(w, "before");
        }
        orri_reader* r = tell_kit_reader(
            w, "either *, ?Tiny, ?Padded, ?Label, ?Shot, ?Body, ?orr_enabled, ?orr_tags");
        orr_entity a = orr_create(w);
        uint32_t n = 0;
        orr_set(w, a, Tiny, {1});
        orr_set(w, a, Label, {orr_string_make(w, "text"), 1});
        orr_set(w, a, Body, {1, 1});
        (void)orr_add_instance(w, a, Shot, {1, 1});
        CHECK_EQ(orri_reader_hash(r, 5), 5);
        CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
        hashes[round][n++] = orri_reader_hash(r, 5);
        orr_set(w, a, Tiny, {2});
        CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
        hashes[round][n++] = orri_reader_hash(r, 5);
        CHECK_OK(orr_entity_enable(w, a, false));
        CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
        hashes[round][n++] = orri_reader_hash(r, 5);
        CHECK_OK(orr_tag_add(w, a, 3));
        CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
        hashes[round][n++] = orri_reader_hash(r, 5);
        orr_remove(w, a, Label);
        CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
        hashes[round][n++] = orri_reader_hash(r, 5);
        CHECK_OK(orr_destroy(w, a));
        CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
        hashes[round][n++] = orri_reader_hash(r, 5);
        for (uint32_t i = 0; i < n; i++) {
            CHECK(hashes[round][i] == hashes[0][i]);
            CHECK(i == 0 || hashes[round][i] != hashes[round][i - 1]);
        }
        stage_end(&s);
    }
}

// ---- memory that is refused ------------------------------------------------------------------------------------------------

// Everything at once, told while the Nth allocation is refused, for all N; then told again until it succeeds.
static void stage_hunger(bool for_good)
{
    for (uint64_t n = 1, refused = 1; refused > 0; n++) {
        stage s;
        orr_world* w = stage_begin(&s);
        mirror* mirrors[3] = {
            mirror_make(w, "either *, ?Tiny, ?Label, ?Shot, ?Body, ?orr_enabled, ?orr_tags", false,
                        TELL_KIT_ALL),
            mirror_make(w, "", true, TELL_KIT_ALL),
            mirror_make(w, "Tiny, !Body", false, TELL_KIT_ALL)};
        orr_entity ids[40];
        CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny), 40, NULL, 0, ids));
        refused = 0;
        for (uint32_t round = 0; round < 3; round++) {
            failing_alloc_arm(&s.k.memory, n, for_good);
            orr_result result = orri_tell(w, (orr_system){0, 0}, false);
            CHECK((result == ORR_OK) == (s.k.memory.refused == 0));
            CHECK(result == ORR_OK || result == ORR_ERR_MEMORY);
            refused += s.k.memory.refused;
            failing_alloc_arm(&s.k.memory, 0, false);
            for (uint32_t i = 0; result != ORR_OK && i < 3; i++) {
                mirror_take(mirrors[i]); // What was told is told.
            }
            CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
            for (uint32_t i = 0; i < 3; i++) {
                mirror_take(mirrors[i]);
                mirror_compare(mirrors[i]);
            }
            for (uint32_t i = round; i < 40; i++) {
                if (!orr_alive(w, ids[i])) {
                    continue;
                }
                orr_set(w, ids[i], Tiny, {(uint8_t)(i + round)});
                if (i % 4 == 0) {
                    orr_set(w, ids[i], Label, {orr_string_make(w, "t1"), 1});
                    orr_set(w, ids[i], Body, {(int32_t)round, 1});
                    (void)orr_instance_add(w, ids[i], KIT_TYPE(w, Shot), &(Shot){1, (int32_t)i});
                    CHECK_OK(orr_instance_enable(w, ids[i], KIT_TYPE(w, Shot), 0, round == 0));
                } else if (i % 4 == 1) {
                    CHECK_OK(orr_entity_enable(w, ids[i], round == 1));
                    CHECK_OK(orr_tag_add(w, ids[i], 7 + round));
                    CHECK_OK(orr_component_enable(w, ids[i], KIT_TYPE(w, Tiny), round == 1));
                } else if (i % 4 == 2) {
                    CHECK_OK(orr_destroy(w, ids[i]));
                }
            }
        }
        CHECK_OK(orri_tell(w, (orr_system){0, 0}, false));
        for (uint32_t i = 0; i < 3; i++) {
            mirror_take(mirrors[i]);
            mirror_compare(mirrors[i]);
            mirror_free(mirrors[i]);
        }
        stage_end(&s);
    }
}

ORR_TEST(memory_refused_during_a_tell_loses_nothing)
{
    stage_hunger(false);
    stage_hunger(true);
}

ORR_TEST(memory_refused_while_a_reader_is_made_leaves_none)
{
    for (uint64_t n = 1;; n++) {
        stage s;
        orr_world* w = stage_begin(&s);
        orr_query* query = orr_query_text(w, "Tiny");
        failing_alloc_arm(&s.k.memory, n, false);
        orri_reader* r =
            orri_reader_create(w, &(orri_reader_desc){.name = "r", .query = query, .queue_max = 1});
        bool refused = s.k.memory.refused > 0;
        CHECK((r == NULL) == refused);
        failing_alloc_arm(&s.k.memory, 0, false);
        CHECK(!orri_has_readers(w));
        stage_end(&s);
        if (!refused) {
            break;
        }
    }
}
