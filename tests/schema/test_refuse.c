// SPDX-License-Identifier: MIT
// Invalid descs: each is refused once, with a result and a text that names type and field, and
// leaves the schema unchanged.
#include "fixture.h"
#include <math.h>

ORR_STRUCT(Vec3, (float, x), (float, y), (float, z))
ORR_STRUCT(Story, (orr_string, text))
ORR_MARKER(Frozen)

static void refuse(const orr_type_desc* desc, const char* result, const char* part)
{
    fixture f;
    fixture_begin(&f);
    orr_type out = {77};
    orr_result got = orri_type_register(&f.schema, desc, &out);
    CHECK_STR(orr_result_name(got), result);
    CHECK_EQ(f.refusals, 1);
    CHECK_EQ(f.last, got);
    CHECK_CONTAINS(f.env.error_text, part);
    CHECK_EQ(out.id, 77);
    CHECK_EQ(f.schema.type_count, 0);
    f.refusals = 0;
    fixture_end(&f);
}

static void refuse_field(orr_field_desc field, const char* result, const char* part)
{
    orr_type_desc desc = {.name = "T", .fields = &field, .field_count = 1};
    refuse(&desc, result, part);
}

ORR_TEST(type_register_with_null_arguments_is_refused)
{
    fixture f;
    fixture_begin(&f);
    orr_type out = {0};
    CHECK_RESULT(orri_type_register(&f.schema, NULL, &out), ORR_ERR_ARGUMENT);
    CHECK_REFUSED(&f, ORR_ERR_ARGUMENT, "desc is NULL");
    CHECK_RESULT(orri_type_register(&f.schema, ORR_TYPE(Vec3), NULL), ORR_ERR_ARGUMENT);
    CHECK_REFUSED(&f, ORR_ERR_ARGUMENT, "out is NULL");
    fixture_end(&f);
    refuse(&(orr_type_desc){.name = "T", .field_count = 1}, "ORR_ERR_ARGUMENT",
           "type T: fields is NULL but field_count is 1");
    refuse(&(orr_type_desc){.name = "T", .kind = ORR_KIND_ENUM, .size = 4, .label_count = 1},
           "ORR_ERR_ARGUMENT", "labels is NULL");
    refuse_field((orr_field_desc){.name = "x"}, "ORR_ERR_ARGUMENT",
                 "type T, field x: type is NULL");
}

ORR_TEST(type_with_invalid_names_is_refused)
{
    refuse(&(orr_type_desc){0}, "ORR_ERR_NAME", "type (no name)");
    refuse(&(orr_type_desc){.name = ""}, "ORR_ERR_NAME", "the name '' of a type");
    refuse(&(orr_type_desc){.name = "1st"}, "ORR_ERR_NAME", "'1st'");
    refuse(&(orr_type_desc){.name = "a b"}, "ORR_ERR_NAME", "'a b'");
    char name[ORR_NAME_MAX + 2];
    memset(name, 'n', sizeof name);
    name[ORR_NAME_MAX + 1] = '\0';
    refuse(&(orr_type_desc){.name = name}, "ORR_ERR_NAME", "1 to 63");
    refuse_field((orr_field_desc){.name = name, .type = ORR_TYPE(int)}, "ORR_ERR_NAME",
                 "of a field is not allowed");
    name[ORR_NAME_MAX] = '\0';
    fixture f;
    fixture_begin(&f);
    fixture_type(&f, &(orr_type_desc){.name = name});
    fixture_end(&f);
    refuse_field((orr_field_desc){.type = ORR_TYPE(int)}, "ORR_ERR_NAME", "a field has no name");
    refuse_field((orr_field_desc){.name = "a.b", .type = ORR_TYPE(int)}, "ORR_ERR_NAME",
                 "must not contain '.' or ':'");
    refuse_field((orr_field_desc){.name = "a:b", .type = ORR_TYPE(int)}, "ORR_ERR_NAME",
                 "must not contain '.' or ':'");
    orr_label label = {"no good", 1};
    refuse(
        &(orr_type_desc){
            .name = "T", .kind = ORR_KIND_ENUM, .size = 4, .labels = &label, .label_count = 1},
        "ORR_ERR_NAME", "of a label");
    label.name = NULL;
    refuse(
        &(orr_type_desc){
            .name = "T", .kind = ORR_KIND_MASK, .size = 4, .labels = &label, .label_count = 1},
        "ORR_ERR_NAME", "a label has no name");
}

ORR_TEST(type_with_needs_that_are_no_list_of_names_is_refused)
{
    const char* wrong[] = {"A B", "A,,B", "A,", ",A", "A;B", "A, 9B", " ", "A, ", "A\vB", "A,\r\f"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        refuse(&(orr_type_desc){.name = "T", .settings.needs = wrong[i]}, "ORR_ERR_NAME", "type T");
    }
    char name[200];
    memset(name, 'n', sizeof name);
    name[199] = '\0';
    refuse(&(orr_type_desc){.name = "T", .settings.needs = name}, "ORR_ERR_NAME", "needed type");
    refuse(&(orr_type_desc){.name = "T", .settings.needs = "A, AB, A"}, "ORR_ERR_NAME",
           "needs has A twice; remove one");
}

ORR_TEST(type_with_unknown_settings_or_kinds_is_refused)
{
    refuse(&(orr_type_desc){.name = "T", .kind = (orr_kind)99}, "ORR_ERR_ARGUMENT", "kind 99");
    refuse(&(orr_type_desc){.name = "T", .settings.multiplicity = (orr_multiplicity)2},
           "ORR_ERR_ARGUMENT", "multiplicity 2");
    refuse(&(orr_type_desc){.name = "T", .settings.storage = (orr_storage)3}, "ORR_ERR_ARGUMENT",
           "storage 3");
    refuse(&(orr_type_desc){.name = "T",
                            .settings = {.multiplicity = ORR_MULTIPLE, .storage = ORR_PINNED}},
           "ORR_ERR_ARGUMENT", "pinned and multiple");
    refuse_field((orr_field_desc){.name = "x", .type = ORR_TYPE(int), .attributes.flags = 16},
                 "ORR_ERR_ARGUMENT", "unknown bit: 0x10");
    refuse_field((orr_field_desc){.name = "x",
                                  .type = ORR_TYPE(int),
                                  .attributes.interpolation = (orr_interpolation)3},
                 "ORR_ERR_ARGUMENT", "interpolation 3");
}

ORR_TEST(type_with_settings_of_another_kind_is_refused)
{
    orr_field_desc field = {.name = "x", .type = ORR_TYPE(int)};
    orr_label label = {"A", 1};
    orr_codec codec = {0};
    refuse(&(orr_type_desc){.name = "T", .kind = ORR_KIND_I32, .fields = &field, .field_count = 1},
           "ORR_ERR_ARGUMENT", "kind i32 takes no fields");
    refuse(&(orr_type_desc){.name = "T", .kind = ORR_KIND_I32, .labels = &label, .label_count = 1},
           "ORR_ERR_ARGUMENT", "kind i32 takes no labels");
    refuse(&(orr_type_desc){.name = "T", .codec = &codec}, "ORR_ERR_ARGUMENT",
           "kind struct takes no codec");
    refuse_field(
        (orr_field_desc){.name = "x", .type = ORR_TYPE(int), .attributes.element = ORR_TYPE(int)},
        "ORR_ERR_ARGUMENT", "field x: the attribute element is only for an orr_array");
}

ORR_TEST(type_with_invalid_size_or_alignment_is_refused)
{
    refuse(&(orr_type_desc){.name = "T", .kind = ORR_KIND_I32, .size = 8}, "ORR_ERR_ARGUMENT",
           "kind i32 has 4 bytes and alignment 4, not 8 and 0");
    refuse(&(orr_type_desc){.name = "T", .kind = ORR_KIND_I32, .size = 4, .align = 2},
           "ORR_ERR_ARGUMENT", "not 4 and 2");
    refuse(&(orr_type_desc){.name = "T", .align = 3}, "ORR_ERR_ARGUMENT", "alignment 3");
    refuse(&(orr_type_desc){.name = "T", .align = 128}, "ORR_ERR_ARGUMENT", "alignment 128");
    refuse(&(orr_type_desc){.name = "T", .size = 6, .align = 4}, "ORR_ERR_ARGUMENT",
           "the size 6 is not a multiple of the alignment 4");
    refuse(&(orr_type_desc){.name = "T", .size = 8}, "ORR_ERR_ARGUMENT",
           "it has 8 bytes but no fields");
    refuse(&(orr_type_desc){.name = "T", .size = ORR_VALUE_SIZE_MAX + 1}, "ORR_ERR_CAPACITY",
           "65537 bytes exceed the limit");
    orr_field_desc field = {.name = "x", .type = ORR_TYPE(int64_t)};
    refuse(&(orr_type_desc){.name = "T", .size = 8, .align = 4, .fields = &field, .field_count = 1},
           "ORR_ERR_ARGUMENT", "the alignment 4 is less than a field's, 8");
    field.type = ORR_TYPE(int32_t);
    refuse(&(orr_type_desc){.name = "T", .size = 6, .fields = &field, .field_count = 1},
           "ORR_ERR_ARGUMENT", "the size 6 is not a multiple of the alignment 4");
    const uint32_t sizes[] = {0, 3, 5, 16};
    for (uint32_t i = 0; i < 4; i++) {
        refuse(&(orr_type_desc){.name = "T", .kind = ORR_KIND_MASK, .size = sizes[i]},
               "ORR_ERR_ARGUMENT", "1, 2, 4 or 8");
    }
    refuse(&(orr_type_desc){.name = "T", .kind = ORR_KIND_ENUM, .size = 4, .align = 2},
           "ORR_ERR_ARGUMENT", "the alignment of an enum");
}

ORR_TEST(type_with_misplaced_or_repeated_fields_is_refused)
{
    orr_field_desc two[] = {{.name = "a", .type = ORR_TYPE(int32_t), .offset = 0},
                            {.name = "b", .type = ORR_TYPE(int32_t), .offset = 4}};
    orr_type_desc desc = {.name = "T", .size = 8, .align = 4, .fields = two, .field_count = 2};
    two[1].offset = 2;
    refuse(&desc, "ORR_ERR_ARGUMENT", "type T: field b at offset 2 is not aligned to 4");
    two[1].offset = 8;
    refuse(&desc, "ORR_ERR_ARGUMENT", "field b ends at byte 12, beyond the size 8");
    two[1].offset = 0xFFFFFFFCu;
    refuse(&desc, "ORR_ERR_ARGUMENT", "field b ends at byte 4294967296");
    two[1].offset = 0;
    refuse(&desc, "ORR_ERR_ARGUMENT", "fields a and b overlap");
    two[0].offset = 4;
    two[1] = (orr_field_desc){.name = "b", .type = ORR_TYPE(int16_t), .offset = 0, .count = 3};
    refuse(&desc, "ORR_ERR_ARGUMENT", "fields b and a overlap");
    two[1].name = "a";
    refuse(&desc, "ORR_ERR_ARGUMENT", "type T, field a: two fields of T have this name");
}

ORR_TEST(type_with_sizes_or_counts_above_the_limits_is_refused)
{
    static orr_field_desc fields[ORR_FIELDS_MAX + 1];
    static char names[ORR_FIELDS_MAX + 1][8];
    for (uint32_t i = 0; i <= ORR_FIELDS_MAX; i++) {
        snprintf(names[i], sizeof names[i], "f%u", i);
        fields[i] = (orr_field_desc){.name = names[i], .type = ORR_TYPE(double)};
    }
    orr_type_desc desc = {.name = "T", .fields = fields, .field_count = ORR_FIELDS_MAX + 1};
    refuse(&desc, "ORR_ERR_CAPACITY", "257 fields exceed the limit of 256; nest structs");
    desc.field_count = ORR_FIELDS_MAX;
    fixture f;
    fixture_begin(&f);
    CHECK_EQ(fixture_type(&f, &desc)->info.size, 8 * ORR_FIELDS_MAX);
    fixture_end(&f);
    fields[200].count = 8000;
    refuse(&desc, "ORR_ERR_CAPACITY", "the fields exceed the limit of a value, 65536 bytes");
    fields[200].count = 8193;
    refuse(&desc, "ORR_ERR_CAPACITY", "type T, field f200: 65544 bytes exceed the limit");
    fields[200].count = UINT32_MAX;
    refuse(&desc, "ORR_ERR_CAPACITY", "field f200");
    // The last byte of padding counts too.
    orr_field_desc edge[] = {{.name = "a", .type = ORR_TYPE(uint8_t), .count = ORR_VALUE_SIZE_MAX}};
    desc = (orr_type_desc){.name = "T", .fields = edge, .field_count = 1};
    fixture_begin(&f);
    CHECK_EQ(fixture_type(&f, &desc)->info.size, ORR_VALUE_SIZE_MAX);
    fixture_end(&f);
    orr_field_desc over[] = {
        {.name = "a", .type = ORR_TYPE(double)},
        {.name = "b", .type = ORR_TYPE(uint8_t), .count = ORR_VALUE_SIZE_MAX - 9},
        {.name = "c", .type = ORR_TYPE(uint8_t)}};
    desc = (orr_type_desc){.name = "T", .align = 64, .fields = over, .field_count = 3};
    fixture_begin(&f);
    CHECK_EQ(fixture_type(&f, &desc)->info.size, ORR_VALUE_SIZE_MAX);
    fixture_end(&f);
    over[1].count = ORR_VALUE_SIZE_MAX - 8;
    refuse(&desc, "ORR_ERR_CAPACITY", "the fields exceed the limit");
}

ORR_TEST(type_with_too_many_labels_is_refused)
{
    static orr_label labels[ORR_LABELS_MAX + 1];
    static char names[ORR_LABELS_MAX + 1][8];
    for (uint32_t i = 0; i <= ORR_LABELS_MAX; i++) {
        snprintf(names[i], sizeof names[i], "L%u", i);
        labels[i] = (orr_label){names[i], i};
    }
    orr_type_desc desc = {.name = "T",
                          .kind = ORR_KIND_ENUM,
                          .size = 2,
                          .labels = labels,
                          .label_count = ORR_LABELS_MAX + 1};
    refuse(&desc, "ORR_ERR_CAPACITY", "1025 labels exceed the limit of 1024");
    desc.kind = ORR_KIND_MASK;
    desc.label_count = 65;
    refuse(&desc, "ORR_ERR_CAPACITY", "65 labels exceed the limit of 64");
    desc.kind = ORR_KIND_ENUM;
    desc.label_count = ORR_LABELS_MAX;
    fixture f;
    fixture_begin(&f);
    CHECK_EQ(fixture_type(&f, &desc)->info.label_count, ORR_LABELS_MAX);
    fixture_end(&f);
}

ORR_TEST(type_with_labels_that_repeat_or_do_not_fit_is_refused)
{
    orr_label labels[] = {{"A", 0}, {"B", 0}};
    orr_type_desc desc = {
        .name = "T", .kind = ORR_KIND_ENUM, .size = 1, .labels = labels, .label_count = 2};
    refuse(&desc, "ORR_ERR_ARGUMENT", "labels A and B have the same value 0");
    labels[1] = (orr_label){"A", 1};
    refuse(&desc, "ORR_ERR_ARGUMENT", "two labels are called A");
    labels[1] = (orr_label){"B", 128};
    refuse(&desc, "ORR_ERR_ARGUMENT", "label B = 128 does not fit 1 bytes");
    labels[1].value = -129;
    refuse(&desc, "ORR_ERR_ARGUMENT", "label B = -129");
    desc.kind = ORR_KIND_MASK;
    labels[1].value = 256;
    refuse(&desc, "ORR_ERR_ARGUMENT", "label B = 256");
    labels[1].value = -1;
    refuse(&desc, "ORR_ERR_ARGUMENT", "label B = -1");
    fixture f;
    fixture_begin(&f);
    labels[1].value = 255;
    fixture_type(&f, &desc);
    labels[0].value = 255; // A mask may have two names for one set of bits.
    desc.name = "U";
    fixture_type(&f, &desc);
    desc = (orr_type_desc){
        .name = "V", .kind = ORR_KIND_ENUM, .size = 1, .labels = labels, .label_count = 2};
    labels[0].value = -128;
    labels[1].value = 127;
    fixture_type(&f, &desc);
    desc.name = "W";
    desc.size = 8;
    labels[0].value = INT64_MIN;
    labels[1].value = INT64_MAX;
    fixture_type(&f, &desc);
    desc.name = "X";
    desc.kind = ORR_KIND_MASK;
    fixture_type(&f, &desc);
    fixture_end(&f);
}

ORR_TEST(type_that_contains_itself_is_refused)
{
    static orr_type_desc a, b;
    static orr_field_desc to_b = {.name = "b", .type = &b}, to_a = {.name = "a", .type = &a};
    a = (orr_type_desc){.name = "A", .fields = &to_b, .field_count = 1};
    b = (orr_type_desc){.name = "B", .fields = &to_a, .field_count = 1};
    refuse(&a, "ORR_ERR_ARGUMENT", "type A, field b.a: A contains itself");
    to_b.type = &a;
    to_b.name = "me";
    refuse(&a, "ORR_ERR_ARGUMENT", "type A, field me: A contains itself");
    to_b = (orr_field_desc){.name = "all", .type = ORR_TYPE(orr_array), .attributes.element = &a};
    refuse(&a, "ORR_ERR_ARGUMENT", "type A, field all: A contains itself");
}

ORR_TEST(type_nested_too_deep_is_refused)
{
    static orr_type_desc descs[ORR_DEPTH_MAX + 1];
    static orr_field_desc fields[ORR_DEPTH_MAX + 1][2];
    for (uint32_t i = 0; i <= ORR_DEPTH_MAX; i++) {
        fields[i][0] =
            (orr_field_desc){.name = "in", .type = i > 0 ? &descs[i - 1] : ORR_TYPE(int8_t)};
        descs[i] = (orr_type_desc){.name = "S", .fields = fields[i], .field_count = 1};
    }
    fixture f;
    fixture_begin(&f);
    fixture_type(&f, &descs[ORR_DEPTH_MAX - 1]);
    fixture_end(&f);
    refuse(&descs[ORR_DEPTH_MAX], "ORR_ERR_CAPACITY", "structs are nested deeper than 16");
    // Also if the deep type was built before, at a place where it was not too deep.
    orr_field_desc shallow[] = {{.name = "first", .type = &descs[ORR_DEPTH_MAX - 2]},
                                {.name = "second", .type = &descs[0]}};
    orr_field_desc inner = {.name = "deep", .type = &descs[ORR_DEPTH_MAX - 2]};
    orr_type_desc wrap = {.name = "Wrap", .fields = &inner, .field_count = 1};
    shallow[1].type = &wrap;
    orr_type_desc root = {.name = "Root", .fields = shallow, .field_count = 2};
    refuse(&root, "ORR_ERR_CAPACITY",
           "type Root, field second.deep: structs are nested deeper than 16");
}

ORR_TEST(type_with_a_quaternion_not_of_four_floats_is_refused)
{
    orr_field_desc field = {
        .name = "q", .type = ORR_TYPE(float), .count = 3, .attributes.flags = ORR_FIELD_QUATERNION};
    refuse_field(field, "ORR_ERR_ARGUMENT", "field q: a quaternion is four floats");
    field.count = 0;
    refuse_field(field, "ORR_ERR_ARGUMENT", "a quaternion is four floats");
    field.type = ORR_TYPE(int);
    field.count = 4;
    refuse_field(field, "ORR_ERR_ARGUMENT", "a quaternion is four floats");
    field.type = ORR_TYPE(Vec3);
    field.count = 0;
    refuse_field(field, "ORR_ERR_ARGUMENT", "a quaternion is four floats");
    orr_field_desc mixed[] = {{.name = "a", .type = ORR_TYPE(double)},
                              {.name = "b", .type = ORR_TYPE(float), .count = 4}};
    orr_type_desc mix = {.name = "Mix", .fields = mixed, .field_count = 2};
    field.type = &mix;
    refuse_field(field, "ORR_ERR_ARGUMENT", "a quaternion is four floats");

    orr_field_desc parts[] = {{.name = "v", .type = ORR_TYPE(Vec3)},
                              {.name = "w", .type = ORR_TYPE(float)}};
    orr_type_desc quaternion = {.name = "Quat", .fields = parts, .field_count = 2};
    fixture f;
    fixture_begin(&f);
    field.type = &quaternion;
    orr_type_desc desc = {.name = "T", .fields = &field, .field_count = 1};
    fixture_type(&f, &desc);
    field.type = ORR_TYPE(double);
    field.count = 4;
    desc.name = "U";
    fixture_type(&f, &desc);
    fixture_end(&f);
}

ORR_TEST(type_with_an_empty_range_or_a_range_of_no_number_is_refused)
{
    orr_field_desc field = {
        .name = "x", .type = ORR_TYPE(float), .attributes = {.min = 2, .max = 1}};
    refuse_field(field, "ORR_ERR_ARGUMENT", "field x: min 2 is not below max 1");
    field.attributes.min = (double)NAN;
    refuse_field(field, "ORR_ERR_ARGUMENT", "field x: min");
    field.attributes = (orr_field_attributes){.min = 1, .max = (double)NAN};
    refuse_field(field, "ORR_ERR_ARGUMENT", "field x: min");
    field.attributes = (orr_field_attributes){.min = 1, .max = 5};
    refuse_field(field, "ORR_ERR_ARGUMENT",
                 "field x: its range is 1 to 5, but without a preset it begins as 0; add .preset");
    field.attributes = (orr_field_attributes){.min = 0, .max = 1};
    field.type = ORR_TYPE(bool);
    refuse_field(field, "ORR_ERR_ARGUMENT", "it has a range (min, max) but is not a number");
    field.type = ORR_TYPE(orr_array);
    field.attributes.element = ORR_TYPE(bool);
    refuse_field(field, "ORR_ERR_ARGUMENT", "it has a range (min, max) but is not a number");
}

ORR_TEST(type_with_presets_that_do_not_parse_is_refused)
{
    orr_field_desc field = {.name = "x", .type = ORR_TYPE(float), .attributes.preset = "abc"};
    refuse_field(field, "ORR_ERR_ARGUMENT",
                 "type T: the preset of field x of T cannot be read: column 1: expected a number");
    field.attributes = (orr_field_attributes){.preset = "7", .min = 1, .max = 2};
    refuse_field(field, "ORR_ERR_ARGUMENT", "7 is outside 1 to 2");
    field.attributes = (orr_field_attributes){.preset = "1 2"};
    refuse_field(field, "ORR_ERR_ARGUMENT", "expected the end");
    field.attributes.preset = "";
    refuse_field(field, "ORR_ERR_ARGUMENT", "found the end");
    field.type = ORR_TYPE(Vec3);
    field.attributes.preset = "{w: 1}";
    refuse_field(field, "ORR_ERR_ARGUMENT", "no field 'w' in Vec3");
    field.type = ORR_TYPE(orr_string);
    field.attributes.preset = "plain";
    refuse_field(field, "ORR_ERR_ARGUMENT", "expected a string in quotes");
}

ORR_TEST(type_with_invalid_array_elements_is_refused)
{
    orr_field_desc field = {.name = "a", .type = ORR_TYPE(orr_array)};
    refuse_field(
        field, "ORR_ERR_ARGUMENT",
        "field a: an orr_array needs the attribute element, the type of its elements, such as "
        "(.element = ORR_TYPE(orr_entity))");
    field.attributes.element = ORR_TYPE(orr_string);
    refuse_field(field, "ORR_ERR_ARGUMENT", "the element orr_string of an orr_array");
    field.attributes.element = ORR_TYPE(Story);
    refuse_field(field, "ORR_ERR_ARGUMENT", "the element Story of an orr_array");
    field.attributes.element = ORR_TYPE(orr_array);
    refuse_field(field, "ORR_ERR_ARGUMENT", "an orr_array must be a field of a struct");
    field.attributes.element = ORR_TYPE(Frozen);
    refuse_field(field, "ORR_ERR_ARGUMENT", "the element Frozen of an orr_array");
    orr_type_desc wide = {.name = "Wide",
                          .align = 32,
                          .fields = &(orr_field_desc){.name = "x", .type = ORR_TYPE(int)},
                          .field_count = 1};
    field.attributes.element = &wide;
    refuse_field(field, "ORR_ERR_ARGUMENT", "aligned to 32; the limit is 16");
    refuse(ORR_TYPE(orr_array), "ORR_ERR_ARGUMENT", "must be a field of a struct");
}

static bool hook_construct(void* user, void* rows, uint32_t count)
{
    (void)user, (void)rows, (void)count;
    return true;
}

static size_t codec_print(void* user, const void* value, char* out, size_t size)
{
    (void)user, (void)value;
    return (size_t)snprintf(out, size, "?");
}

static bool codec_parse(void* user, const char* text, void* out)
{
    (void)user, (void)text, (void)out;
    return true;
}

ORR_TEST(type_with_hooked_or_marker_fields_is_refused)
{
    orr_hooks hooks = {.construct = hook_construct};
    orr_field_desc x = {.name = "x", .type = ORR_TYPE(int)};
    orr_type_desc hooked = {
        .name = "Hooked", .fields = &x, .field_count = 1, .settings.hooks = &hooks};
    refuse_field((orr_field_desc){.name = "h", .type = &hooked}, "ORR_ERR_ARGUMENT",
                 "type T, field h: Hooked has hooks, which only whole components may have");
    refuse_field(
        (orr_field_desc){.name = "a", .type = ORR_TYPE(orr_array), .attributes.element = &hooked},
        "ORR_ERR_ARGUMENT", "the element Hooked");
    refuse_field((orr_field_desc){.name = "m", .type = ORR_TYPE(Frozen)}, "ORR_ERR_ARGUMENT",
                 "Frozen has no data, so it cannot be a field");
}

ORR_TEST(type_opaque_without_codec_size_or_alignment_is_refused)
{
    orr_codec codec = {.print = codec_print, .parse = codec_parse};
    orr_type_desc desc = {.name = "O", .kind = ORR_KIND_OPAQUE, .size = 8, .align = 8};
    refuse(&desc, "ORR_ERR_ARGUMENT", "an opaque type needs a codec with print and parse");
    desc.codec = &codec;
    codec.parse = NULL;
    refuse(&desc, "ORR_ERR_ARGUMENT", "a codec with print and parse");
    codec.parse = codec_parse;
    codec.print = NULL;
    refuse(&desc, "ORR_ERR_ARGUMENT", "a codec with print and parse");
    codec.print = codec_print;
    desc.align = 0;
    refuse(&desc, "ORR_ERR_ARGUMENT", "needs its size and alignment");
    desc.align = 8;
    desc.size = 0;
    refuse(&desc, "ORR_ERR_ARGUMENT", "needs its size and alignment");
    desc.size = 8;
    fixture f;
    fixture_begin(&f);
    fixture_type(&f, &desc);
    fixture_end(&f);
}

ORR_TEST(type_beyond_the_limit_of_the_world_is_refused)
{
    fixture f;
    fixture_begin_max(&f, 2);
    fixture_type(&f, ORR_TYPE(Vec3));
    fixture_type(&f, ORR_TYPE(Frozen));
    orr_type out = {0};
    CHECK_RESULT(orri_type_register(&f.schema, ORR_TYPE(Story), &out), ORR_ERR_CAPACITY);
    CHECK_REFUSED(&f, ORR_ERR_CAPACITY, "type Story: the world has 2 types, the limit");
    CHECK_OK(orri_type_register(&f.schema, ORR_TYPE(Vec3), &out)); // Known already: needs no space.
    CHECK_EQ(out.id, 1);
    fixture_end(&f);
}

ORR_TEST(type_refused_for_a_nested_type_names_the_path_to_it)
{
    orr_field_desc bad = {
        .name = "bad", .type = ORR_TYPE(float), .attributes = {.min = 3, .max = 2}};
    orr_type_desc inner = {.name = "Inner", .fields = &bad, .field_count = 1};
    orr_field_desc in = {.name = "in", .type = &inner};
    orr_type_desc middle = {.name = "Middle", .fields = &in, .field_count = 1};
    refuse_field((orr_field_desc){.name = "mid", .type = &middle}, "ORR_ERR_ARGUMENT",
                 "type T, field mid.in.bad: min 3 is not below max 2");
    bad.attributes = (orr_field_attributes){.preset = "x"};
    refuse_field((orr_field_desc){.name = "mid", .type = &middle}, "ORR_ERR_ARGUMENT",
                 "type T: the preset of field bad of Inner cannot be read");
}
