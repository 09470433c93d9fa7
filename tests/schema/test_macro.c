// SPDX-License-Identifier: MIT
// Declaring a struct and its schema in one line: the macros and their results.
#include "fixture.h"

#include <orrery/orrery.h>

ORR_ENUM(Mood, CALM, ANGRY, SAD)
ORR_MASK(Effects, BURN, FREEZE)
ORR_MASK(Bits32, B0, B1, B2, B3, B4, B5, B6, B7, B8, B9, B10, B11, B12, B13, B14, B15, B16, B17,
         B18, B19, B20, B21, B22, B23, B24, B25, B26, B27, B28, B29, B30, B31)
ORR_STRUCT(Vec3, (float, x), (float, y), (float, z))
ORR_STRUCT(One, (bool, only))
ORR_STRUCT(Forms, (int, two), (int, three, 5), (int, attributed, (.unit = "m")),
           (int, four, 5, (.unit = "s", .flags = ORR_FIELD_UNSAVED)))
ORR_STRUCT(Many, (int8_t, f0), (int8_t, f1), (int8_t, f2), (int8_t, f3), (int8_t, f4), (int8_t, f5),
           (int8_t, f6), (int8_t, f7), (int8_t, f8), (int8_t, f9), (int8_t, f10), (int8_t, f11),
           (int8_t, f12), (int8_t, f13), (int8_t, f14), (int8_t, f15), (int8_t, f16), (int8_t, f17),
           (int8_t, f18), (int8_t, f19), (int8_t, f20), (int8_t, f21), (int8_t, f22), (int8_t, f23),
           (int8_t, f24), (int8_t, f25), (int8_t, f26), (int8_t, f27), (int8_t, f28), (int8_t, f29),
           (int8_t, f30), (int8_t, f31))
ORR_STRUCT_EX(Set, (.version = 4, .multiplicity = ORR_MULTIPLE, .needs = "Vec3"), (Vec3, v))
ORR_MARKER(Frozen)
// The example at the top of schema.h.
ORR_STRUCT(Orc, (Vec3, position, (.flags = ORR_FIELD_SPATIAL_KEY, .unit = "m")),
           (float, rotation, 4, (.flags = ORR_FIELD_QUATERNION)), (char, name, 32), (Mood, mood),
           (orr_entity, target), (orr_string, story),
           (float, health, (.min = 0, .max = 100, .preset = "100")))
#define SIZE_FROM_A_MACRO 3
ORR_STRUCT(FromMacro, (int16_t, list, SIZE_FROM_A_MACRO))
// Every built-in type under each of its names.
ORR_STRUCT(Builtin, (bool, a), (_Bool, b), (char, c), (int8_t, d), (int16_t, e), (int32_t, f),
           (int64_t, g), (uint8_t, h), (uint16_t, i), (uint32_t, j), (uint64_t, k), (int, l),
           (float, m), (double, n), (orr_entity, o), (orr_string, p),
           (orr_array, q, (.element = ORR_TYPE(Mood))))

_Static_assert(sizeof(((Forms*)0)->three) == 5 * sizeof(int), "a count makes an array");
_Static_assert(B31 == INT32_MIN && B30 == 1 << 30 && FREEZE == 2 && SAD == 2,
               "labels are constants");

ORR_TEST(macro_fields_have_two_to_four_parts)
{
    CHECK_EQ(orr_desc_Forms.field_count, 4);
    const orr_field_desc* fields = orr_desc_Forms.fields;
    const uint32_t counts[] = {0, 5, 0, 5};
    for (uint32_t i = 0; i < 4; i++) {
        CHECK(fields[i].type == &orr_desc_int);
        CHECK_EQ(fields[i].count, counts[i]);
        CHECK((fields[i].attributes.unit != NULL) == (i >= 2));
    }
    CHECK_EQ(fields[3].offset, offsetof(Forms, four));
    CHECK_EQ(fields[3].attributes.flags, ORR_FIELD_UNSAVED);
    CHECK_EQ(orr_desc_FromMacro.fields[0].count, 3);
}

ORR_TEST(macro_takes_one_to_thirty_two_items)
{
    CHECK_EQ(orr_desc_One.field_count, 1);
    CHECK_EQ(orr_desc_Many.field_count, 32);
    CHECK_STR(orr_desc_Many.fields[31].name, "f31");
    CHECK_EQ(orr_desc_Many.fields[31].offset, 31);
    CHECK_EQ(orr_desc_Bits32.label_count, 32);
    CHECK_EQ(orr_desc_Bits32.labels[31].value, 0x80000000);
}

ORR_TEST(macro_settings_reach_the_type)
{
    CHECK_EQ(orr_desc_Set.settings.version, 4);
    CHECK_EQ(orr_desc_Set.settings.multiplicity, ORR_MULTIPLE);
    CHECK_STR(orr_desc_Set.settings.needs, "Vec3");
    CHECK_EQ(orr_desc_Vec3.settings.version, 0);
}

ORR_TEST(macro_types_register_print_and_parse)
{
    fixture f;
    fixture_begin(&f);
    const orr_type_desc* descs[] = {
        ORR_TYPE(Mood), ORR_TYPE(Effects), ORR_TYPE(Bits32), ORR_TYPE(Vec3),   ORR_TYPE(One),
        ORR_TYPE(Many), ORR_TYPE(Forms),   ORR_TYPE(Set),    ORR_TYPE(Frozen), ORR_TYPE(Orc)};
    for (uint32_t i = 0; i < 10; i++) {
        const orri_type* type = fixture_type(&f, descs[i]);
        CHECK_EQ(type->info.size, descs[i]->size);
    }
    const orri_type* type = fixture_type(&f, ORR_TYPE(Orc));
    Orc orc;
    const char* text = "{position: {x: 1, y: 2, z: 3}, rotation: [0, 0, 0, 1], name: \"Grom\", "
                       "mood: ANGRY, target: 7v1, story: \"long\", health: 12.5}";
    CHECK_OK(orr_value_parse(&type->info, text, &orc));
    CHECK_STR(fixture_print(type, &orc), text);
    CHECK(orc.health == 12.5f && orc.mood == ANGRY && strcmp(orc.name, "Grom") == 0);
    type = fixture_type(&f, ORR_TYPE(Bits32));
    Bits32 bits = (Bits32)B31 | B0;
    CHECK_STR(fixture_print(type, &bits), "B0|B31");
    fixture_end(&f);
}

ORR_TEST(macro_accepts_every_built_in_type)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Builtin));
    CHECK_EQ(type->info.size, sizeof(Builtin));
    static const orr_kind kinds[] = {
        ORR_KIND_BOOL, ORR_KIND_BOOL, ORR_KIND_CHAR,   ORR_KIND_I8,     ORR_KIND_I16,  ORR_KIND_I32,
        ORR_KIND_I64,  ORR_KIND_U8,   ORR_KIND_U16,    ORR_KIND_U32,    ORR_KIND_U64,  ORR_KIND_I32,
        ORR_KIND_F32,  ORR_KIND_F64,  ORR_KIND_ENTITY, ORR_KIND_STRING, ORR_KIND_ARRAY};
    for (uint32_t i = 0; i < 17; i++) {
        CHECK_EQ(type->info.fields[i].type->kind, kinds[i]);
        CHECK_EQ(type->info.fields[i].offset, orr_desc_Builtin.fields[i].offset);
    }
    CHECK(orr_desc_Builtin.fields[0].type->kind == ORR_TYPE(bool)->kind);
    fixture_end(&f);
}
