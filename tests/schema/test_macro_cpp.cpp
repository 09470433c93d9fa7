// SPDX-License-Identifier: MIT
// The macros of schema.h in C++17: the same declarations, the same layout.
#define _Noreturn [[noreturn]]
extern "C" {
#include "test.h"
}
#include <orrery/orrery.h>

ORR_ENUM(Mood, CALM, ANGRY)
ORR_MASK(Effects, BURN, FREEZE, B2, B3, B4, B5, B6, B7, B8, B9, B10, B11, B12, B13, B14, B15, B16,
         B17, B18, B19, B20, B21, B22, B23, B24, B25, B26, B27, B28, B29, B30, B31)
ORR_STRUCT(Vec3, (float, x), (float, y), (float, z))
ORR_STRUCT(Orc, (Vec3, position, (.flags = ORR_FIELD_SPATIAL_KEY, .unit = "m")),
           (float, rotation, 4, (.flags = ORR_FIELD_QUATERNION)), (char, name, 32), (Mood, mood),
           (Effects, effects), (bool, alive), (orr_entity, target), (orr_string, story),
           (orr_array, path, (.element = ORR_TYPE(Vec3))),
           (float, health, (.min = 0, .max = 100, .preset = "100")))
ORR_STRUCT_EX(Set, (.version = 4, .needs = "Vec3"), (Vec3, v))
ORR_MARKER(Frozen)

namespace game {
ORR_ENUM(State, IDLE, BUSY)
ORR_MASK(Locks, DOOR, CHEST)
namespace ui {
ORR_STRUCT(Panel, (Vec3, place), (State, state), (Locks, locks))
} // namespace ui
namespace {
ORR_STRUCT(Hidden, (int, value))
ORR_MARKER(HiddenToo)
} // namespace
} // namespace game
namespace {
ORR_STRUCT(Unnamed, (int, value))
}
extern "C" {
ORR_STRUCT(FromHeader, (int, value))
}
namespace very_long_name_of_a_namespace_to_fill_up_the_sixty_two {
ORR_MARKER(Fits)
}

ORR_TEST(macro_in_cpp_names_types_with_their_namespaces)
{
    CHECK_STR(game::orr_desc_State.name, "game::State");
    CHECK_STR(game::orr_desc_Locks.name, "game::Locks");
    CHECK_STR(game::ui::orr_desc_Panel.name, "game::ui::Panel");
    CHECK_STR(game::ui::orr_desc_Panel.fields[0].type->name, "Vec3");
    CHECK_STR(game::ui::orr_desc_Panel.fields[1].type->name, "game::State");
    CHECK_STR(game::orr_desc_Hidden.name, "game::Hidden");
    CHECK_STR(game::orr_desc_HiddenToo.name, "game::HiddenToo");
    CHECK_STR(orr_desc_Unnamed.name, "Unnamed");
    CHECK_STR(orr_desc_FromHeader.name, "FromHeader");
    const char* longest =
        very_long_name_of_a_namespace_to_fill_up_the_sixty_two::orr_desc_Fits.name;
    CHECK_STR(longest, "very_long_name_of_a_namespace_to_fill_up_the_sixty_two::Fits");
}

ORR_TEST(macro_in_cpp_describes_the_struct)
{
    const orr_type_desc* desc = ORR_TYPE(Orc);
    CHECK_STR(desc->name, "Orc");
    CHECK_EQ(desc->kind, ORR_KIND_STRUCT);
    CHECK_EQ(desc->size, sizeof(Orc));
    CHECK_EQ(desc->align, alignof(Orc));
    CHECK_EQ(desc->field_count, 10);
    CHECK_STR(desc->fields[0].attributes.unit, "m");
    CHECK_EQ(desc->fields[0].attributes.flags, ORR_FIELD_SPATIAL_KEY);
    CHECK_EQ(desc->fields[1].count, 4);
    CHECK_EQ(desc->fields[2].count, 32);
    CHECK_EQ(desc->fields[7].offset, offsetof(Orc, story));
    CHECK(desc->fields[8].attributes.element == ORR_TYPE(Vec3));
    CHECK(desc->fields[9].attributes.max == 100);
    CHECK_STR(desc->fields[9].attributes.preset, "100");
    CHECK(desc->fields[3].attributes.preset == nullptr);
    CHECK(desc->labels == nullptr && desc->codec == nullptr && desc->settings.hooks == nullptr);
}

ORR_TEST(macro_in_cpp_describes_enums_masks_markers_and_settings)
{
    CHECK_EQ(orr_desc_Mood.kind, ORR_KIND_ENUM);
    CHECK_EQ(orr_desc_Mood.label_count, 2);
    CHECK_STR(orr_desc_Mood.labels[1].name, "ANGRY");
    CHECK_EQ(orr_desc_Effects.kind, ORR_KIND_MASK);
    CHECK_EQ(orr_desc_Effects.size, 4);
    CHECK_EQ(orr_desc_Effects.label_count, 32);
    CHECK_EQ(orr_desc_Effects.labels[31].value, 0x80000000);
    CHECK_EQ(FREEZE, 2);
    CHECK_EQ(orr_desc_Frozen.size, 0);
    CHECK_EQ(orr_desc_Frozen.field_count, 0);
    CHECK_EQ(orr_desc_Set.settings.version, 4);
    CHECK_STR(orr_desc_Set.settings.needs, "Vec3");
    CHECK(orr_desc_bool.kind == ORR_KIND_BOOL && ORR_TYPE(uint64_t)->size == 8);
}
