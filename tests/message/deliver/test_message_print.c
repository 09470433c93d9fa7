// SPDX-License-Identifier: MIT
#include "message/message.h"
#include "support/store_kit.h"
#include "test.h"

#include <orrery/kinds.h>

ORR_STRUCT_EX(Collider, (.multiplicity = ORR_MULTIPLE), (float, radius))

// The same layout as the library's own types: the print finds them by name.
ORR_MAYBE_UNUSED static const orr_field_desc enabled_fields[] = {
    {.name = "type", .type = ORR_TYPE(uint32_t), .offset = offsetof(orr_enabled, type)},
    {.name = "on", .type = ORR_TYPE(uint32_t), .offset = offsetof(orr_enabled, on)}};
static const orr_type_desc desc_enabled = {.name = "orr_enabled",
                                           .size = sizeof(orr_enabled),
                                           .align = _Alignof(orr_enabled),
                                           .fields = enabled_fields,
                                           .field_count = 2};
static const orr_type_desc desc_tags = {.name = "orr_tags", .align = 1};

static const char* name_of(const orr_world* world, orr_system system)
{
    (void)world;
    return system.id == 3 ? "move" : "";
}

static kit k;
static orr_world* world;
static orr_entity bob, eve;
static char text[512];

static void begin(void)
{
    world = kit_begin(&k, NULL);
    CHECK(orri_messages_of(world) != NULL);
    world->messages->system_name = name_of;
    bob = orr_create_named(world, "bob");
    eve = orr_create(world);
}

static const char* print(const orr_message* message, uint32_t most)
{
    size_t length = orr_message_print(message, most, text, sizeof text);
    CHECK_EQ(length, strlen(text));
    // Truncated anywhere it is a terminated prefix; without a buffer the length is the same.
    char part[sizeof text];
    for (size_t size = 1; size <= length; size += 3) {
        memset(part, 'x', sizeof part);
        CHECK_EQ(orr_message_print(message, most, part, size), length);
        CHECK_EQ(strlen(part), size - 1);
        CHECK(memcmp(part, text, size - 1) == 0);
        CHECK_EQ(part[size], 'x');
    }
    CHECK_EQ(orr_message_print(message, most, NULL, 0), length);
    return text;
}

ORR_TEST(message_kinds_and_causes_have_names)
{
    CHECK_STR(orr_message_kind_name(ORR_ENTITY_ADDED), "EntityAdded");
    CHECK_STR(orr_message_kind_name(ORR_COMPONENT_ADDED), "ComponentAdded");
    CHECK_STR(orr_message_kind_name(ORR_COMPONENT_CHANGED), "ComponentChanged");
    CHECK_STR(orr_message_kind_name(ORR_COMPONENT_REMOVED), "ComponentRemoved");
    CHECK_STR(orr_message_kind_name(ORR_ENTITY_REMOVED), "EntityRemoved");
    CHECK_STR(orr_message_kind_name((orr_message_kind)99), "(no message)");
    CHECK_STR(orr_cause_name(ORR_CAUSE_WRITTEN), "written");
    CHECK_STR(orr_cause_name(ORR_CAUSE_CREATED), "created");
    CHECK_STR(orr_cause_name(ORR_CAUSE_DESTROYED), "destroyed");
    CHECK_STR(orr_cause_name(ORR_CAUSE_COMPONENT), "component");
    CHECK_STR(orr_cause_name(ORR_CAUSE_ENABLED), "enabled");
    CHECK_STR(orr_cause_name(ORR_CAUSE_READER), "reader");
    CHECK_STR(orr_cause_name((orr_cause)99), "(no cause)");
}

// Type, then (entity, component id, data).
ORR_TEST(message_of_components_prints_type_system_and_values)
{
    begin();
    orr_entity entities[] = {bob, eve, {0}};
    Velocity values[] = {{1, 2}, {3, 4.5f}, {0, 0}};
    orr_message message = {.kind = ORR_COMPONENT_CHANGED,
                           .system = {3, 1},
                           .count = 3,
                           .entities = entities,
                           .type = KIT_TYPE(world, Velocity),
                           .values = values,
                           .world = world};
    CHECK_STR(print(&message, 9), "ComponentChanged Velocity by move: bob (0v1) {x: 1, y: 2}, 1v1 "
                                  "{x: 3, y: 4.5}, null {x: 0, y: 0}");
    CHECK_STR(print(&message, 1),
              "ComponentChanged Velocity by move: bob (0v1) {x: 1, y: 2}, … (2 more)");
    CHECK_STR(print(&message, 0), "ComponentChanged Velocity by move: … (3 entities)");
    message.kind = ORR_COMPONENT_ADDED;
    message.cause = ORR_CAUSE_COMPONENT;
    message.system = (orr_system){0, 0};
    message.count = 1;
    CHECK_STR(print(&message, 9), "ComponentAdded Velocity (component): bob (0v1) {x: 1, y: 2}");
    message.kind = ORR_COMPONENT_REMOVED;
    message.system = (orr_system){4, 1};
    message.values = NULL;
    CHECK_STR(print(&message, 9),
              "ComponentRemoved Velocity by a removed system (component): bob (0v1)");
    message.kind = ORR_COMPONENT_ADDED; // A marker has no values.
    message.type = KIT_TYPE(world, Frozen);
    message.system = (orr_system){3, 1};
    CHECK_STR(print(&message, 9), "ComponentAdded Frozen by move (component): bob (0v1)");
    kit_end(&k);
}

ORR_TEST(message_of_instances_prints_their_ids)
{
    begin();
    orr_entity entities[] = {bob, bob, eve};
    orr_component_id ids[] = {7, 8, 0};
    Collider values[] = {{1}, {2}, {3}};
    orr_message message = {.kind = ORR_COMPONENT_CHANGED,
                           .count = 3,
                           .entities = entities,
                           .ids = ids,
                           .type = KIT_TYPE(world, Collider),
                           .values = values,
                           .world = world};
    CHECK_STR(print(&message, 9), "ComponentChanged Collider: bob (0v1) #7 {radius: 1}, bob (0v1) "
                                  "#8 {radius: 2}, 1v1 {radius: 3}");
    kit_end(&k);
}

// The archetype, then each entity with its values.
ORR_TEST(message_of_entities_prints_archetype_and_columns)
{
    begin();
    CHECK_OK(orr_tag_register(world, 5, "level"));
    orr_entity entities[] = {bob, eve};
    orr_type types[] = {KIT_TYPE(world, Velocity), KIT_TYPE(world, Frozen),
                        KIT_TYPE(world, Collider)};
    orr_tag tags[] = {5, 17};
    Velocity velocities[] = {{1, 2}, {3, 4}};
    Collider colliders[] = {{1}, {2}};
    orr_message_column columns[] = {
        {.type = types[0], .values = velocities},
        {.type = types[1]},
        {.type = types[2], .values = colliders, .firsts = (const uint32_t[]){0, 2, 2}}};
    orr_message message = {.kind = ORR_ENTITY_ADDED,
                           .cause = ORR_CAUSE_CREATED,
                           .system = {3, 1},
                           .count = 2,
                           .entities = entities,
                           .types = types,
                           .type_count = 3,
                           .tags = tags,
                           .tag_count = 2,
                           .columns = columns,
                           .column_count = 3,
                           .world = world};
    CHECK_STR(print(&message, 9),
              "EntityAdded of Velocity, Frozen, Collider, #level, #17 by move (created): bob (0v1) "
              "{Velocity: {x: 1, y: 2}, Frozen, Collider: [{radius: 1}, {radius: 2}]}, 1v1 "
              "{Velocity: {x: 3, y: 4}, Frozen}");
    message.column_count = message.type_count = message.tag_count = 0;
    CHECK_STR(print(&message, 9), "EntityAdded by move (created): bob (0v1), 1v1");
    message.kind = ORR_ENTITY_REMOVED;
    message.cause = ORR_CAUSE_DESTROYED;
    CHECK_OK(orr_destroy(world, bob));
    world->messages->system_name = NULL;
    CHECK_STR(print(&message, 9), "EntityRemoved by a removed system (destroyed): 0v1, 1v1");
    kit_end(&k);
}

ORR_TEST(message_of_tags_and_enable_bits_prints_them)
{
    begin();
    orr_type enabled, tagged;
    CHECK_OK(orr_type_register(world, &desc_enabled, &enabled));
    CHECK_OK(orr_type_register(world, &desc_tags, &tagged));
    orr_entity entities[] = {bob, eve};
    orr_enabled values[] = {{{0}, 0}, {KIT_TYPE(world, Velocity), 1}};
    orr_tag tags[] = {5, 17};
    orr_message message = {.kind = ORR_COMPONENT_CHANGED,
                           .cause = ORR_CAUSE_ENABLED,
                           .count = 2,
                           .entities = entities,
                           .type = enabled,
                           .values = values,
                           .world = world};
    CHECK_STR(print(&message, 9),
              "ComponentChanged orr_enabled (enabled): bob (0v1) off, 1v1 Velocity on");
    message.type = tagged;
    message.cause = ORR_CAUSE_COMPONENT;
    message.values = NULL;
    message.tags = tags;
    message.tag_count = 2;
    CHECK_STR(print(&message, 1),
              "ComponentChanged orr_tags (component): bob (0v1) #5 #17, … (1 more)");
    message.tag_count = 0;
    CHECK_STR(print(&message, 9),
              "ComponentChanged orr_tags (component): bob (0v1) (no tags), 1v1 (no tags)");
    kit_end(&k);
}
