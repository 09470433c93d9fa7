// SPDX-License-Identifier: MIT
// Registration: the info of a type, layouts, conflicts, presets, lookups. Refusals are in
// test_refuse.c.
#include "fixture.h"

ORR_ENUM(Mood, CALM, ANGRY)
ORR_MASK(Effects, BURN, FREEZE)
ORR_STRUCT(Vec3, (float, x), (float, y), (float, z))
ORR_STRUCT(Waypoint, (Vec3, at), (double, when))
ORR_STRUCT_EX(Orc, (.version = 3, .needs = "Vec3, Waypoint"),
              (Vec3, position, (.flags = ORR_FIELD_SPATIAL_KEY, .unit = "m")),
              (float, rotation, 4,
               (.flags = ORR_FIELD_QUATERNION, .interpolation = ORR_INTERPOLATION_LINEAR)),
              (char, name, 32), (Mood, mood), (Effects, effects), (orr_entity, target),
              (orr_entity, friends, 3), (orr_string, story, (.flags = ORR_FIELD_UNSAVED)),
              (orr_array, path, (.element = ORR_TYPE(Waypoint))), (bool, alive),
              (float, health, (.min = 0, .max = 100, .preset = "75")))
ORR_MARKER(Frozen)

/* N3-31: baked reflection per type: names, field offsets, kinds. */
ORR_TEST(type_registered_info_has_every_field_by_name_kind_and_offset)
{
    fixture f;
    fixture_begin(&f);
    const orr_type_info* info = &fixture_type(&f, ORR_TYPE(Orc))->info;
    CHECK_STR(info->name, "Orc");
    CHECK_EQ(info->kind, ORR_KIND_STRUCT);
    CHECK_EQ(info->size, sizeof(Orc));
    CHECK_EQ(info->align, _Alignof(Orc));
    CHECK_EQ(info->field_count, 11);
    static const struct {
        const char* name;
        orr_kind kind;
        size_t offset;
        uint32_t count;
    } expected[] = {
        {"position", ORR_KIND_STRUCT, offsetof(Orc, position), 0},
        {"rotation", ORR_KIND_F32, offsetof(Orc, rotation), 4},
        {"name", ORR_KIND_CHAR, offsetof(Orc, name), 32},
        {"mood", ORR_KIND_ENUM, offsetof(Orc, mood), 0},
        {"effects", ORR_KIND_MASK, offsetof(Orc, effects), 0},
        {"target", ORR_KIND_ENTITY, offsetof(Orc, target), 0},
        {"friends", ORR_KIND_ENTITY, offsetof(Orc, friends), 3},
        {"story", ORR_KIND_STRING, offsetof(Orc, story), 0},
        {"path", ORR_KIND_ARRAY, offsetof(Orc, path), 0},
        {"alive", ORR_KIND_BOOL, offsetof(Orc, alive), 0},
        {"health", ORR_KIND_F32, offsetof(Orc, health), 0},
    };
    for (uint32_t i = 0; i < 11; i++) {
        CHECK_STR(info->fields[i].name, expected[i].name);
        CHECK_EQ(info->fields[i].type->kind, expected[i].kind);
        CHECK_EQ(info->fields[i].offset, expected[i].offset);
        CHECK_EQ(info->fields[i].count, expected[i].count);
    }
    fixture_end(&f);
}

ORR_TEST(type_registered_info_has_attributes_settings_and_nested_types)
{
    fixture f;
    fixture_begin(&f);
    const orr_type_info* info = &fixture_type(&f, ORR_TYPE(Orc))->info;
    const orr_field_info* fields = info->fields;
    CHECK_EQ(info->version, 3);
    CHECK_STR(info->needs, "Vec3, Waypoint");
    CHECK_EQ(info->multiplicity, ORR_UNIQUE);
    CHECK_EQ(info->storage, ORR_CHUNK);
    CHECK_EQ(fields[0].attributes.flags, ORR_FIELD_SPATIAL_KEY);
    CHECK_STR(fields[0].attributes.unit, "m");
    CHECK_EQ(fields[1].attributes.flags, ORR_FIELD_QUATERNION);
    CHECK_EQ(fields[1].attributes.interpolation, ORR_INTERPOLATION_LINEAR);
    CHECK_EQ(fields[7].attributes.flags, ORR_FIELD_UNSAVED);
    CHECK(fields[8].attributes.element == NULL);
    CHECK_STR(fields[8].element->name, "Waypoint");
    CHECK_STR(fields[8].element->fields[0].type->fields[2].name, "z");
    CHECK_EQ(fields[8].element->fields[1].offset, 16);
    CHECK(fields[10].attributes.max == 100);
    CHECK_STR(fields[10].attributes.preset, "75");
    CHECK_STR(fields[3].type->labels[1].name, "ANGRY");
    CHECK_EQ(fields[3].type->labels[1].value, 1);
    CHECK_EQ(fields[4].type->labels[1].value, 2);
    CHECK(info->has_padding && info->has_floats && info->has_entities && info->has_owned);
    CHECK(!info->has_hooks);
    const orr_type_info* vec3 = fields[0].type;
    CHECK(!vec3->has_padding && vec3->has_floats && !vec3->has_entities && !vec3->has_owned);
    CHECK_EQ(orri_type_at(&f.schema, (orr_type){1})->id, 1);
    fixture_end(&f);
}

/* N2-07: component data can contain references to entities, single and as arrays. */
ORR_TEST(type_with_references_reports_them_single_fixed_nested_and_owned)
{
    fixture f;
    fixture_begin(&f);
    orr_type_desc holder = {.name = "Holder"};
    orr_field_desc single = {.name = "e", .type = ORR_TYPE(orr_entity)};
    orr_field_desc fixed = {.name = "e", .type = ORR_TYPE(orr_entity), .count = 4};
    orr_field_desc owned = {
        .name = "e", .type = ORR_TYPE(orr_array), .attributes.element = ORR_TYPE(orr_entity)};
    const orr_field_desc* kinds[] = {&single, &fixed, &owned};
    const char* names[] = {"A", "B", "C"};
    for (uint32_t i = 0; i < 3; i++) {
        orr_type_desc inner = {.name = "Inner", .fields = kinds[i], .field_count = 1};
        orr_field_desc outer = {.name = "inner", .type = &inner};
        holder.name = names[i];
        holder.fields = &outer;
        holder.field_count = 1;
        const orri_type* type = fixture_type(&f, &holder);
        CHECK(type->info.has_entities);
        CHECK(type->info.fields[0].type->has_entities);
    }
    fixture_end(&f);
}

/* N3-14: component types can be defined at run time without a C struct. */
ORR_TEST(type_without_size_is_laid_out_as_a_c_compiler_would)
{
    fixture f;
    fixture_begin(&f);
    struct twin {
        int8_t a;
        int64_t b;
        int16_t c[3];
        char d[5];
        double e;
        Vec3 v;
        bool g;
    };
    orr_field_desc fields[] = {
        {.name = "a", .type = ORR_TYPE(int8_t), .offset = 999}, // Ignored.
        {.name = "b", .type = ORR_TYPE(int64_t)},
        {.name = "c", .type = ORR_TYPE(int16_t), .count = 3},
        {.name = "d", .type = ORR_TYPE(char), .count = 5},
        {.name = "e", .type = ORR_TYPE(double)},
        {.name = "v", .type = ORR_TYPE(Vec3)},
        {.name = "g", .type = ORR_TYPE(bool)},
    };
    size_t offsets[] = {offsetof(struct twin, a), offsetof(struct twin, b),
                        offsetof(struct twin, c), offsetof(struct twin, d),
                        offsetof(struct twin, e), offsetof(struct twin, v),
                        offsetof(struct twin, g)};
    orr_type_desc desc = {.name = "Twin", .fields = fields, .field_count = 7};
    const orr_type_info* info = &fixture_type(&f, &desc)->info;
    for (uint32_t i = 0; i < 7; i++) {
        CHECK_EQ(info->fields[i].offset, offsets[i]);
    }
    CHECK_EQ(info->size, sizeof(struct twin));
    CHECK_EQ(info->align, _Alignof(struct twin));
    CHECK(info->has_padding);
    desc = (orr_type_desc){.name = "Wide", .align = 64, .fields = fields, .field_count = 1};
    info = &fixture_type(&f, &desc)->info;
    CHECK_EQ(info->size, 64);
    CHECK_EQ(info->align, 64);
    fixture_end(&f);
}

ORR_TEST(type_registered_is_independent_of_its_desc)
{
    fixture f;
    fixture_begin(&f);
    char type_name[] = "Thing", field_name[] = "mood", label[] = "SAD", unit[] = "u",
         preset[] = "SAD", needs[] = "A";
    orr_label labels[] = {{label, 7}};
    orr_type_desc mood = {
        .name = "M", .kind = ORR_KIND_ENUM, .size = 2, .labels = labels, .label_count = 1};
    orr_field_desc field = {
        .name = field_name, .type = &mood, .attributes = {.unit = unit, .preset = preset}};
    orr_type_desc desc = {
        .name = type_name, .fields = &field, .field_count = 1, .settings.needs = needs};
    const orri_type* type = fixture_type(&f, &desc);
    memset(type_name, '#', 5);
    memset(field_name, '#', 4);
    memset(label, '#', 3);
    memset(unit, '#', 1);
    memset(preset, '#', 3);
    memset(needs, '#', 1);
    memset(labels, 0, sizeof labels);
    memset(&mood, 0, sizeof mood);
    memset(&field, 0, sizeof field);
    int16_t value;
    orr_value_default(&type->info, &value);
    CHECK_STR(fixture_print(type, &value), "{mood: SAD}");
    CHECK_STR(type->info.name, "Thing");
    CHECK_STR(type->info.needs, "A");
    CHECK_STR(type->info.fields[0].attributes.unit, "u");
    CHECK_STR(type->info.fields[0].attributes.preset, "SAD");
    fixture_end(&f);
}

ORR_TEST(type_marker_has_no_data)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Frozen));
    CHECK_EQ(type->info.size, 0);
    CHECK_EQ(type->info.align, 1);
    CHECK_EQ(type->info.field_count, 0);
    CHECK_EQ(type->info.version, 1);
    CHECK(type->plain && type->canonical_bytes && type->zero_preset && !type->info.has_padding);
    CHECK_STR(fixture_print(type, NULL), "{}");
    fixture_end(&f);
}

ORR_TEST(type_of_one_number_needs_no_struct)
{
    fixture f;
    fixture_begin(&f);
    orr_type_desc desc = {.name = "Score",
                          .kind = ORR_KIND_U32}; // Size and alignment from the kind.
    const orri_type* type = fixture_type(&f, &desc);
    CHECK_EQ(type->info.size, 4);
    CHECK_EQ(type->info.align, 4);
    uint32_t value = 17;
    CHECK_STR(fixture_print(type, &value), "17");
    type = fixture_type(&f, ORR_TYPE(orr_entity));
    CHECK_EQ(type->info.size, 8);
    CHECK(type->info.has_entities);
    fixture_end(&f);
}

/* N3-02: a plain C struct with no hooks moves by memcpy. */
ORR_TEST(type_flags_follow_from_fields_preset_and_hooks)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* vec3 = fixture_type(&f, ORR_TYPE(Vec3));
    CHECK(vec3->plain && vec3->zero_preset && !vec3->canonical_bytes && vec3->preset == NULL);
    const orri_type* effects = fixture_type(&f, ORR_TYPE(Effects));
    CHECK(effects->plain && effects->zero_preset && effects->canonical_bytes);
    const orri_type* orc = fixture_type(&f, ORR_TYPE(Orc));
    CHECK(!orc->plain && !orc->zero_preset && !orc->canonical_bytes && orc->preset != NULL);
    const orri_type* waypoint = fixture_type(&f, ORR_TYPE(Waypoint));
    CHECK(waypoint->plain && waypoint->info.has_padding && !waypoint->canonical_bytes);
    CHECK(waypoint->hooks.copy == NULL && waypoint->codec.print == NULL);
    orr_hooks hooks = {.user = &f};
    orr_type_desc desc = {.name = "NoHooks", .settings.hooks = &hooks};
    CHECK(fixture_type(&f, &desc)->plain); // Hooks without a function count as none.
    fixture_end(&f);
}

ORR_TEST(type_settings_are_stored)
{
    fixture f;
    fixture_begin(&f);
    orr_type_desc desc = {.name = "Buff", .settings = {.multiplicity = ORR_MULTIPLE, .needs = ""}};
    const orr_type_info* info = &fixture_type(&f, &desc)->info;
    CHECK_EQ(info->multiplicity, ORR_MULTIPLE);
    CHECK_EQ(info->storage, ORR_CHUNK);
    CHECK_STR(info->needs, "");
    desc = (orr_type_desc){.name = "Body", .settings.storage = ORR_PINNED};
    CHECK_EQ(fixture_type(&f, &desc)->info.storage, ORR_PINNED);
    desc = (orr_type_desc){.name = "Needy", .settings.needs = " A ,\tB.c:d,\nE_1 "};
    CHECK_STR(fixture_type(&f, &desc)->info.needs, " A ,\tB.c:d,\nE_1 ");
    fixture_end(&f);
}

ORR_TEST(type_registered_twice_with_the_same_declaration_is_the_same_type)
{
    fixture f;
    fixture_begin(&f);
    char preset[] = "1", unit[] = "m", needs[] = "Y"; // The texts count, not their addresses.
    orr_field_desc field = {.name = "x",
                            .type = ORR_TYPE(int32_t),
                            .attributes = {.preset = preset, .unit = unit, .min = -2, .max = 9}};
    orr_type_desc desc = {.name = "X",
                          .fields = &field,
                          .field_count = 1,
                          .settings = {.version = 2, .needs = needs}};
    const orri_type* first = fixture_type(&f, &desc);
    field.type = ORR_TYPE(int); // The same kind under another name.
    field.attributes.preset = "1";
    field.attributes.unit = "m";
    desc.settings.needs = "Y";
    desc.size = 4;
    desc.align = 4;
    const orri_type* again = fixture_type(&f, &desc);
    CHECK(first == again);
    CHECK_EQ(f.schema.type_count, 1);
    orr_type_desc plain = {.name = "P"}, version1 = {.name = "P", .settings.version = 1};
    CHECK(fixture_type(&f, &plain) == fixture_type(&f, &version1)); // 0 is the default, 1.
    fixture_end(&f);
}

static void conflict(fixture* f, const orr_type_desc* desc, const char* part)
{
    orr_type out = {77};
    uint32_t count = f->schema.type_count;
    CHECK_RESULT(orri_type_register(&f->schema, desc, &out), ORR_ERR_CONFLICT);
    CHECK_EQ(out.id, 77);
    CHECK_EQ(f->schema.type_count, count);
    CHECK_CONTAINS(f->env.error_text, "type T: the name is used");
    CHECK_REFUSED(f, ORR_ERR_CONFLICT, part);
}

ORR_TEST(type_registered_twice_with_another_layout_names_the_difference)
{
    fixture f;
    fixture_begin(&f);
    orr_label labels[] = {{"A", 0}, {"B", 1}};
    orr_type_desc mood = {
        .name = "M", .kind = ORR_KIND_ENUM, .size = 4, .labels = labels, .label_count = 2};
    orr_field_desc fields[] = {
        {.name = "x", .type = ORR_TYPE(int32_t), .offset = 0},
        {.name = "m", .type = &mood, .offset = 4},
        {.name = "v", .type = ORR_TYPE(Vec3), .offset = 8},
        {.name = "a",
         .type = ORR_TYPE(orr_array),
         .offset = 24,
         .attributes.element = ORR_TYPE(Vec3)},
        {.name = "n", .type = ORR_TYPE(char), .offset = 32, .count = 8},
    };
    orr_type_desc desc = {.name = "T", .size = 64, .align = 8, .fields = fields, .field_count = 5};
    fixture_type(&f, &desc);

    fields[0].type = ORR_TYPE(float);
    conflict(&f, &desc, "field x: kind is f32 and was i32");
    fields[0].type = ORR_TYPE(int32_t);
    fields[0].name = "y";
    conflict(&f, &desc, "field is y and was x");
    fields[0].name = "x";
    labels[1].value = 5;
    conflict(&f, &desc, "field m: label B is 5 and was 1");
    labels[1] = (orr_label){"C", 1};
    conflict(&f, &desc, "field m: label is C and was B");
    mood.label_count = 1;
    conflict(&f, &desc, "field m: the number of labels is 1 and was 2");
    labels[1] = (orr_label){"B", 1};
    mood.label_count = 2;
    mood.name = "N";
    conflict(&f, &desc, "field m: type is N and was M");
    mood.name = "M";
    mood.size = 2;
    conflict(&f, &desc, "field m: size is 2 and was 4");
    mood.size = 4;
    fields[4].count = 9;
    conflict(&f, &desc, "field n: count is 9 and was 8");
    fields[4].count = 8;
    fields[4].offset = 33;
    conflict(&f, &desc, "field n: offset is 33 and was 32");
    fields[4].offset = 32;
    fields[3].attributes.element = ORR_TYPE(float);
    conflict(&f, &desc, "field a: element: kind is f32 and was struct");
    fields[3].attributes.element = ORR_TYPE(Vec3);
    orr_field_desc inner = {.name = "x", .type = ORR_TYPE(float)};
    orr_type_desc vec = {.name = "Vec3", .fields = &inner, .field_count = 1};
    fields[2].type = &vec;
    conflict(&f, &desc, "field v: the number of fields is 1 and was 3");
    fields[2].type = ORR_TYPE(Vec3);
    desc.field_count = 4;
    conflict(&f, &desc, "the number of fields is 4 and was 5");
    desc.field_count = 5;
    desc.size = 128;
    conflict(&f, &desc, "size is 128 and was 64");
    desc.size = 64;
    desc.align = 16;
    conflict(&f, &desc, "alignment is 16 and was 8");
    desc.align = 8;
    fixture_type(&f, &desc); // The original layout: accepted.
    fixture_end(&f);
}

/* Golden: the layout hash is saved with data, so it may never change. */
ORR_TEST(type_layout_hash_is_stable)
{
    fixture f;
    fixture_begin(&f);
    CHECK_EQ(fixture_type(&f, ORR_TYPE(Vec3))->info.layout_hash, (int64_t)0x53f8edef9636835);
    CHECK_EQ(fixture_type(&f, ORR_TYPE(Mood))->info.layout_hash, (int64_t)0x6a6812f7a41d26c);
    CHECK_EQ(fixture_type(&f, ORR_TYPE(Orc))->info.layout_hash, (int64_t)0xeddd3b5932494022);
    CHECK_EQ(fixture_type(&f, ORR_TYPE(Frozen))->info.layout_hash, (int64_t)0x332379c435784a78);
    fixture_end(&f);
}

ORR_TEST(type_layout_hash_ignores_attributes_and_settings)
{
    fixture f, g;
    fixture_begin(&f);
    fixture_begin(&g);
    orr_field_desc field = {.name = "x", .type = ORR_TYPE(float)};
    orr_type_desc desc = {.name = "X", .fields = &field, .field_count = 1};
    uint64_t plain = fixture_type(&f, &desc)->info.layout_hash;
    field.attributes = (orr_field_attributes){
        .flags = ORR_FIELD_UNSAVED, .unit = "s", .min = 1, .max = 2, .preset = "1.5"};
    desc.settings = (orr_type_settings){.version = 4, .storage = ORR_PINNED};
    CHECK_EQ(fixture_type(&g, &desc)->info.layout_hash, plain);
    desc.name = "Y";
    CHECK(fixture_type(&g, &desc)->info.layout_hash != plain);
    fixture_end(&f);
    fixture_end(&g);
}

// ---- presets ------------------------------------------------------------------------------------

ORR_STRUCT(Inner, (int32_t, a, (.preset = "5")), (int32_t, b))
ORR_STRUCT(Outer, (Inner, one), (Inner, two, (.preset = "{b: 8}")), (Inner, three, 2),
           (Inner, four, 2, (.preset = "[{a: 1}, {b: 2}]")), (char, name, 8, (.preset = "\"bob\"")),
           (orr_string, text, (.preset = "\"owned\"")), (orr_entity, e, (.preset = "3v1")),
           (orr_array, list, (.element = ORR_TYPE(Inner), .preset = "[{}, {b: 1}]")))

ORR_TEST(type_presets_nest_and_may_be_overridden_by_the_outer_field)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Outer));
    Outer value;
    orr_value_default(&type->info, &value);
    CHECK_STR(fixture_print(type, &value),
              "{one: {a: 5, b: 0}, two: {a: 5, b: 8}, three: [{a: 5, b: 0}, {a: 5, b: 0}], "
              "four: [{a: 1, b: 0}, {a: 5, b: 2}], name: \"bob\", text: \"owned\", e: 3v1, "
              "list: [{a: 5, b: 0}, {a: 5, b: 1}]}");
    fixture_end(&f);
}

ORR_TEST(type_presets_keep_their_owned_strings)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Outer));
    CHECK_EQ(f.schema.blob_live, 2);
    orri_blobs_collect(&f.schema);
    CHECK_EQ(f.schema.blob_live, 2);
    Outer value;
    orr_value_default(&type->info, &value);
    CHECK_STR(orri_blob_at(&f.schema, value.text)->data, "owned");
    fixture_end(&f);
}

ORR_TEST(type_preset_that_is_all_zero_counts_as_none)
{
    fixture f;
    fixture_begin(&f);
    orr_field_desc field = {.name = "x", .type = ORR_TYPE(float), .attributes.preset = " 0.0 "};
    orr_type_desc desc = {.name = "X", .fields = &field, .field_count = 1};
    CHECK(fixture_type(&f, &desc)->zero_preset);
    field.attributes.preset = "-0";
    desc.name = "Y";
    const orri_type* type = fixture_type(&f, &desc);
    CHECK(!type->zero_preset);
    float value;
    orr_value_default(&type->info, &value);
    CHECK_STR(fixture_print(type, &value), "{x: -0}");
    fixture_end(&f);
}

// ---- lookups ------------------------------------------------------------------------------------

ORR_TEST(type_static_is_registered_at_first_use_and_found_again)
{
    fixture f;
    fixture_begin(&f);
    orr_type orc = orri_type_static(&f.schema, ORR_TYPE(Orc));
    orr_type vec = orri_type_static(&f.schema, ORR_TYPE(Vec3));
    CHECK(orc.id == 1 && vec.id == 2);
    uint64_t requests = f.memory.requests;
    for (uint32_t i = 0; i < 10; i++) {
        CHECK_EQ(orri_type_static(&f.schema, ORR_TYPE(Orc)).id, 1);
        CHECK_EQ(orri_type_static(&f.schema, ORR_TYPE(Vec3)).id, 2);
    }
    CHECK_EQ(f.memory.requests, requests);
    // Another desc with the same name and layout, as another source file would have: the same type.
    static orr_type_desc twin;
    twin = orr_desc_Vec3;
    CHECK_EQ(orri_type_static(&f.schema, &twin).id, 2);
    static const orr_type_desc bad = {.name = "9"};
    CHECK_EQ(orri_type_static(&f.schema, &bad).id, 0);
    CHECK_REFUSED(&f, ORR_ERR_NAME, "9");
    CHECK_EQ(orri_type_static(&f.schema, NULL).id, 0);
    CHECK_REFUSED(&f, ORR_ERR_ARGUMENT, "NULL");
    fixture_end(&f);
}

ORR_TEST(type_among_many_is_found_by_name_index_and_desc)
{
    fixture f;
    fixture_begin(&f);
    static orr_type_desc descs[500];
    static char names[500][16];
    for (uint32_t i = 0; i < 500; i++) {
        snprintf(names[i], sizeof names[i], "Type%u", i);
        descs[i] = (orr_type_desc){.name = names[i]};
        CHECK_EQ(orri_type_static(&f.schema, &descs[i]).id, i + 1);
    }
    for (uint32_t i = 0; i < 500; i++) {
        CHECK_EQ(orri_type_find(&f.schema, names[i]).id, i + 1);
        CHECK_EQ(orri_type_static(&f.schema, &descs[i]).id, i + 1);
        CHECK_STR(orri_type_at(&f.schema, (orr_type){i + 1})->info.name, names[i]);
    }
    CHECK_EQ(orri_type_find(&f.schema, "Type500").id, 0);
    CHECK_EQ(orri_type_find(&f.schema, "").id, 0);
    CHECK_EQ(orri_type_find(&f.schema, NULL).id, 0);
    CHECK(orri_type_at(&f.schema, (orr_type){0}) == NULL);
    CHECK(orri_type_at(&f.schema, (orr_type){501}) == NULL);
    fixture_end(&f);
}

ORR_TEST(type_find_in_an_empty_schema_is_null)
{
    fixture f;
    fixture_begin(&f);
    CHECK_EQ(orri_type_find(&f.schema, "Orc").id, 0);
    CHECK(orri_type_at(&f.schema, (orr_type){1}) == NULL);
    fixture_end(&f);
}

ORR_TEST(type_registered_is_logged_at_debug)
{
    fixture f;
    fixture_begin(&f);
    fixture_type(&f, ORR_TYPE(Vec3));
    CHECK_CONTAINS(f.log, "2003 type Vec3: 12 bytes, 3 fields");
    fixture_end(&f);
}

ORR_TEST(kind_names_are_never_null)
{
    for (int kind = -1; kind <= ORR_KIND_COUNT; kind++) {
        CHECK(strlen(orr_kind_name((orr_kind)kind)) > 0);
    }
    CHECK_STR(orr_kind_name(ORR_KIND_F32), "f32");
    CHECK_STR(orr_kind_name(ORR_KIND_STRUCT), "struct");
    CHECK_STR(orr_kind_name((orr_kind)99), "?");
}

// ---- memory -------------------------------------------------------------------------------------

static orr_result register_static(fixture* f, const orr_type_desc* desc)
{
    return orri_type_static(&f->schema, desc).id != 0 ? ORR_OK : f->last;
}

static orr_result register_desc(fixture* f, const orr_type_desc* desc)
{
    orr_type type = {0};
    orr_result result = orri_type_register(&f->schema, desc, &type);
    CHECK((result == ORR_OK) == (type.id != 0));
    return result;
}

// Registers with the Nth allocation refused, for every N; each refusal leaves the schema unchanged.
static void register_failing(orr_result (*call)(fixture*, const orr_type_desc*),
                             const orr_type_desc* desc, bool for_good)
{
    fixture f;
    fixture_begin(&f);
    uint64_t n = 1;
    for (;; n++) {
        failing_alloc_arm(&f.memory, n, for_good);
        orr_result result = call(&f, desc);
        bool refused = f.memory.refused > 0;
        failing_alloc_arm(&f.memory, 0, false);
        if (result == ORR_OK) {
            CHECK(!refused);
            break;
        }
        CHECK_RESULT(result, ORR_ERR_MEMORY);
        CHECK_REFUSED(&f, ORR_ERR_MEMORY, "out of memory");
        CHECK_EQ(f.schema.type_count, 0);
        CHECK_EQ(orri_type_find(&f.schema, desc->name).id, 0);
        orri_blobs_collect(&f.schema);
        CHECK_EQ(f.schema.blob_live, 0);
    }
    CHECK(n > 5);
    CHECK_EQ(f.schema.type_count, 1);
    fixture_end(&f);
}

ORR_TEST(type_register_without_memory_has_no_effect_at_any_allocation)
{
    for (int i = 0; i < 2; i++) {
        register_failing(register_desc, ORR_TYPE(Outer), i == 1);
        register_failing(register_desc, ORR_TYPE(Orc), i == 1);
        register_failing(register_static, ORR_TYPE(Outer), i == 1);
    }
}

// Long enough that nearly every copy needs its own block.
ORR_TEST(type_register_of_much_text_without_memory_has_no_effect_at_any_allocation)
{
    static char text[2100], quoted[2100], needs[2100];
    static orr_label labels[300];
    static char names[300][ORR_NAME_MAX + 1];
    memset(text, 'x', sizeof text - 1);
    memset(quoted, 'q', sizeof quoted - 1);
    quoted[0] = quoted[sizeof quoted - 2] = '"';
    for (uint32_t i = 0; i < 300; i++) {
        snprintf(names[i], sizeof names[i], "a_label_with_a_long_name_%u", i);
        labels[i] = (orr_label){names[i], i};
    }
    memset(needs, ' ', sizeof needs - 1);
    memcpy(needs, "A, B", 4);
    orr_type_desc mood = {.name = "M",
                          .kind = ORR_KIND_ENUM,
                          .size = 2,
                          .labels = labels,
                          .label_count = 300,
                          .settings.needs = needs};
    orr_field_desc inner[] = {
        {.name = "s", .type = ORR_TYPE(orr_string), .attributes = {.unit = text, .preset = quoted}},
        {.name = "m", .type = &mood, .count = 2000},
        {.name = "p", .type = ORR_TYPE(Waypoint), .count = 300}};
    orr_type_desc desc = {.name = "T", .fields = inner, .field_count = 3, .settings.needs = needs};
    register_failing(register_desc, &desc, false);
    register_failing(register_static, &desc, true);
}

ORR_TEST(type_tables_refused_memory_to_grow_keep_their_content)
{
    fixture f;
    fixture_begin(&f);
    static orr_type_desc descs[200];
    static char names[200][16];
    for (uint32_t i = 0; i < 200; i++) {
        snprintf(names[i], sizeof names[i], "T%u", i);
        descs[i] = (orr_type_desc){.name = names[i]};
        for (uint64_t n = 1;; n++) {
            failing_alloc_arm(&f.memory, n, true);
            orr_type type = orri_type_static(&f.schema, &descs[i]);
            failing_alloc_arm(&f.memory, 0, false);
            CHECK_EQ(f.schema.type_count, i + (type.id != 0));
            if (type.id != 0) {
                break;
            }
            CHECK_REFUSED(&f, ORR_ERR_MEMORY, "out of memory");
        }
        CHECK_EQ(orri_type_find(&f.schema, "T0").id, 1);
    }
    fixture_end(&f);
}

// Two files of a program may declare one name differently. That the layouts are equal must not hide
// it: the values of one file would begin with the presets of the other.
ORR_TEST(type_registered_twice_with_other_attributes_names_the_difference)
{
    fixture f;
    fixture_begin(&f);
    orr_field_desc inner = {.name = "x", .type = ORR_TYPE(float), .attributes.preset = "1"};
    orr_type_desc vec = {.name = "V", .size = 4, .fields = &inner, .field_count = 1};
    orr_field_desc fields[] = {
        {.name = "n", .type = ORR_TYPE(int32_t), .attributes = {.preset = "5", .unit = "m"}},
        {.name = "v", .type = &vec, .offset = 4},
        {.name = "e", .type = ORR_TYPE(orr_entity), .offset = 8},
        {.name = "a", .type = ORR_TYPE(orr_array), .offset = 16, .attributes.element = &vec},
    };
    orr_type_desc desc = {.name = "T", .size = 24, .align = 8, .fields = fields, .field_count = 4};
    fixture_type(&f, &desc);
    orr_field_attributes* n = &fields[0].attributes;
    const orr_field_attributes was = *n;

    n->preset = "6";
    conflict(&f, &desc, "field n: the preset is 6 and was 5");
    n->preset = NULL;
    conflict(&f, &desc, "field n: the preset is (none) and was 5");
    *n = was;
    n->unit = "km";
    conflict(&f, &desc, "field n: the unit is km and was m");
    *n = was;
    n->min = -0.5;
    conflict(&f, &desc, "field n: min is -0.5 and was 0");
    *n = was;
    n->max = 7;
    conflict(&f, &desc, "field n: max is 7 and was 0");
    *n = was;
    n->interpolation = ORR_INTERPOLATION_STEPWISE;
    conflict(&f, &desc, "field n: interpolation is 2 and was 0");
    *n = was;
    n->flags = ORR_FIELD_UNSAVED;
    conflict(&f, &desc, "field n: flags is 4 and was 0");
    *n = was;
    fields[2].attributes.flags = ORR_FIELD_INDEXED;
    fields[2].attributes.on_destroy = ORR_ON_DESTROY_CLEAR;
    conflict(&f, &desc, "field e: flags is 8 and was 0");
    fields[2].attributes = (orr_field_attributes){0};
    inner.attributes.preset = "2";
    conflict(&f, &desc, "field v: field x: the preset is 2 and was 1");
    inner.attributes.preset = "1";
    orr_field_desc other_inner = {.name = "x", .type = ORR_TYPE(float)};
    orr_type_desc other = {.name = "V", .size = 4, .fields = &other_inner, .field_count = 1};
    fields[3].attributes.element = &other;
    conflict(&f, &desc, "field a: element: field x: the preset is (none) and was 1");
    fields[3].attributes.element = &vec;
    CHECK(fixture_type(&f, &desc) != NULL);
    fixture_end(&f);
}

static bool twice_construct(void* user, void* rows, uint32_t count)
{
    (void)user, (void)rows, (void)count;
    return true;
}

static bool twice_construct_too(void* user, void* rows, uint32_t count)
{
    return twice_construct(user, rows, count);
}

ORR_TEST(type_registered_twice_with_other_settings_names_the_difference)
{
    fixture f;
    fixture_begin(&f);
    orr_hooks hooks = {.construct = twice_construct}, other = {.construct = twice_construct_too};
    orr_type_desc desc = {.name = "T", .settings = {.version = 2, .hooks = &hooks}};
    const orri_type* first = fixture_type(&f, &desc);
    const orr_type_settings was = desc.settings;

    desc.settings.version = 3;
    conflict(&f, &desc, "version is 3 and was 2");
    desc.settings = was;
    desc.settings.multiplicity = ORR_MULTIPLE;
    conflict(&f, &desc, "multiplicity is 1 and was 0");
    desc.settings = was;
    desc.settings.storage = ORR_PINNED;
    conflict(&f, &desc, "storage is 1 and was 0");
    desc.settings = was;
    desc.settings.needs = "Vec3";
    conflict(&f, &desc, "needs is Vec3 and was (none)");
    desc.settings = was;
    desc.settings.transient = true;
    conflict(&f, &desc, "storage is 1 and was 0");
    desc.settings = was;
    desc.settings.live = true;
    conflict(&f, &desc, "live is 1 and was 0");
    desc.settings = was;
    desc.settings.hooks = NULL;
    conflict(&f, &desc, "the construct hook is not set and was set");
    // A static function of a header has another address in each file.
    desc.settings.hooks = &other;
    CHECK(fixture_type(&f, &desc) == first);
    CHECK(first->hooks.construct == twice_construct);
    fixture_end(&f);
}
