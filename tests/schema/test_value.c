// SPDX-License-Identifier: MIT
// Values through their schema: printed, compared, hashed, set to default, found by path.
#include "fixture.h"
#include "schema/detail.h"
#include <float.h>
#include <locale.h>
#include <math.h>

ORR_ENUM(Mood, CALM, ANGRY)
ORR_MASK(Effects, BURN, FREEZE, POISON)
ORR_STRUCT(Vec3, (float, x), (float, y), (float, z))
ORR_STRUCT(Waypoint, (Vec3, at), (int8_t, kind), (double, when))
ORR_STRUCT(Orc, (Vec3, position), (float, rotation, 4, (.flags = ORR_FIELD_QUATERNION)),
           (char, name, 8), (char, grade), (Mood, mood), (Effects, effects), (bool, alive),
           (orr_entity, target), (orr_entity, friends, 2), (orr_string, story),
           (orr_array, path, (.element = ORR_TYPE(Waypoint))), (Waypoint, points, 2),
           (float, health, (.min = 0, .max = 100, .preset = "75")))
ORR_STRUCT(Numbers, (int8_t, i8), (int16_t, i16), (int32_t, i32), (int64_t, i64), (uint8_t, u8),
           (uint16_t, u16), (uint32_t, u32), (uint64_t, u64))

// ---- printing -----------------------------------------------------------------------------------

ORR_TEST(print_of_every_kind_has_its_text)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Orc));
    Waypoint path[2] = {{.at = {1, 2, 3}, .kind = -4, .when = 0.5}, {.when = 1e300}};
    orr_string array = {0};
    CHECK(orri_blob_make(&f.schema, path, sizeof path, sizeof path[0], &array));
    Orc orc = {
        .position = {1, -2.5f, 1e-9f},
        .rotation = {0, 0, 0, 1},
        .name = "bob",
        .grade = 'A',
        .mood = ANGRY,
        .effects = BURN | POISON,
        .alive = true,
        .target = {(uint64_t)1 << 32 | 7},
        .friends = {{0}, {(uint64_t)5 << 56 | (uint64_t)2 << 32 | 9}},
        .story = fixture_string(&f, "once\nupon"),
        .path = {array.id, array.generation},
        .health = 33.3f,
    };
    CHECK_STR(fixture_print(type, &orc),
              "{position: {x: 1, y: -2.5, z: 1e-09}, rotation: [0, 0, 0, 1], name: \"bob\", "
              "grade: \"A\", mood: ANGRY, effects: BURN|POISON, alive: true, target: 7v1, "
              "friends: [null, 9v2s5], story: \"once\\nupon\", "
              "path: [{at: {x: 1, y: 2, z: 3}, kind: -4, when: 0.5}, "
              "{at: {x: 0, y: 0, z: 0}, kind: 0, when: 1e+300}], "
              "points: [{at: {x: 0, y: 0, z: 0}, kind: 0, when: 0}, "
              "{at: {x: 0, y: 0, z: 0}, kind: 0, when: 0}], health: 33.3}");
    fixture_end(&f);
}

ORR_TEST(print_of_integers_at_their_limits_is_exact)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Numbers));
    Numbers least = {INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN, 0, 0, 0, 0};
    CHECK_STR(fixture_print(type, &least),
              "{i8: -128, i16: -32768, i32: -2147483648, i64: -9223372036854775808, u8: 0, u16: 0, "
              "u32: 0, u64: 0}");
    Numbers most = {INT8_MAX,  INT16_MAX,  INT32_MAX,  INT64_MAX,
                    UINT8_MAX, UINT16_MAX, UINT32_MAX, UINT64_MAX};
    CHECK_STR(fixture_print(type, &most),
              "{i8: 127, i16: 32767, i32: 2147483647, i64: 9223372036854775807, u8: 255, "
              "u16: 65535, u32: 4294967295, u64: 18446744073709551615}");
    fixture_end(&f);
}

ORR_TEST(print_of_labels_gives_names_and_of_other_values_numbers)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* mood = fixture_type(&f, ORR_TYPE(Mood));
    int32_t number = -7;
    CHECK_STR(fixture_print(mood, &number), "-7");
    const orri_type* effects = fixture_type(&f, ORR_TYPE(Effects));
    uint32_t bits = 0;
    CHECK_STR(fixture_print(effects, &bits), "0");
    bits = 0x48;
    CHECK_STR(fixture_print(effects, &bits), "72");
    bits = 0x4A;
    CHECK_STR(fixture_print(effects, &bits), "FREEZE|72");
    // Labels of several bits, and one of none: each is shown where it adds a bit.
    orr_label labels[] = {{"NONE", 0}, {"LOW", 3}, {"MID", 6}, {"TOP", INT64_MIN}};
    orr_type_desc desc = {
        .name = "Wide", .kind = ORR_KIND_MASK, .size = 8, .labels = labels, .label_count = 4};
    const orri_type* wide = fixture_type(&f, &desc);
    uint64_t mask = 7;
    CHECK_STR(fixture_print(wide, &mask), "LOW|MID");
    mask = 3;
    CHECK_STR(fixture_print(wide, &mask), "LOW");
    mask = UINT64_MAX;
    CHECK_STR(fixture_print(wide, &mask), "LOW|MID|TOP|9223372036854775800");
    mask = 0;
    CHECK_STR(fixture_print(wide, &mask), "0");
    fixture_end(&f);
}

ORR_TEST(print_of_entities_shows_generation_and_salt)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(orr_entity));
    orr_entity e = {0};
    CHECK_STR(fixture_print(type, &e), "null");
    e.id = UINT64_MAX;
    CHECK_STR(fixture_print(type, &e), "4294967295v16777215s255");
    e.id = (uint64_t)1 << 32;
    CHECK_STR(fixture_print(type, &e), "0v1");
    e.id = (uint64_t)127 << 56;
    CHECK_STR(fixture_print(type, &e), "0v0s127");
    fixture_end(&f);
}

ORR_TEST(print_of_strings_escapes_only_where_necessary)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(orr_string));
    static const struct {
        const char* bytes;
        const char* text;
    } cases[] = {
        {"", "\"\""},
        {"plain", "\"plain\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\n\t\r\x01\x7F", "\"\\n\\t\\x0D\\x01\\x7F\""},
        {"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", "\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\""},
        {"\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF\xE0\xA0\x80\xF0\x90\x80\x80",
         "\"\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF\xE0\xA0\x80\xF0\x90\x80\x80\""},
        // Invalid UTF-8: a lone byte, truncated, overlong, a surrogate, beyond the last code point.
        {"\x80", "\"\\x80\""},
        {"\xC3", "\"\\xC3\""},
        {"\xE2\x82", "\"\\xE2\\x82\""},
        {"\xE2z\x82", "\"\\xE2z\\x82\""},
        {"\xC0\xAF", "\"\\xC0\\xAF\""},
        {"\xE0\x9F\xBF", "\"\\xE0\\x9F\\xBF\""},
        {"\xED\xA0\x80", "\"\\xED\\xA0\\x80\""},
        {"\xF0\x8F\xBF\xBF", "\"\\xF0\\x8F\\xBF\\xBF\""},
        {"\xF4\x90\x80\x80", "\"\\xF4\\x90\\x80\\x80\""},
        {"\xF5\x80\x80\x80", "\"\\xF5\\x80\\x80\\x80\""},
        {"\xFF", "\"\\xFF\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        orr_string string = fixture_string(&f, cases[i].bytes);
        CHECK_STR(fixture_print(type, &string), cases[i].text);
        orr_string back = {0};
        CHECK_OK(orr_value_parse(&type->info, cases[i].text, &back));
        CHECK(back.id == string.id && back.generation == string.generation);
    }
    orr_string gone = {7, 7};
    CHECK_STR(fixture_print(type, &gone), "\"\"");
    fixture_end(&f);
}

ORR_TEST(print_of_an_inline_string_without_a_zero_ends_with_its_field)
{
    fixture f;
    fixture_begin(&f);
    orr_field_desc field = {.name = "n", .type = ORR_TYPE(char), .count = 4};
    orr_type_desc desc = {.name = "N", .fields = &field, .field_count = 1};
    const orri_type* type = fixture_type(&f, &desc);
    char full[4] = {'a', 'b', 'c', 'd'};
    CHECK_STR(fixture_print(type, full), "{n: \"abcd\"}");
    fixture_end(&f);
}

ORR_TEST(print_length_is_the_needed_length_for_any_buffer)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Vec3));
    Vec3 v = {1, 2, 3};
    const char* whole = "{x: 1, y: 2, z: 3}";
    CHECK_EQ(orr_value_print(&type->info, &v, NULL, 0), strlen(whole));
    CHECK_EQ(orr_value_print(&type->info, &v, NULL, 5), strlen(whole));
    for (size_t size = 1; size <= strlen(whole) + 2; size++) {
        char buffer[64];
        memset(buffer, '#', sizeof buffer);
        CHECK_EQ(orr_value_print(&type->info, &v, buffer, size), strlen(whole));
        size_t shown = size - 1 < strlen(whole) ? size - 1 : strlen(whole);
        CHECK_EQ(strlen(buffer), shown);
        CHECK(memcmp(buffer, whole, shown) == 0);
        CHECK(buffer[size] == '#');
    }
    fixture_end(&f);
}

// ---- floats -------------------------------------------------------------------------------------

static void check_float(fixture* f, const orri_type* type, float value, const char* text)
{
    CHECK_STR(fixture_print(type, &value), text);
    float back = 99;
    CHECK_OK(orr_value_parse(&type->info, text, &back));
    CHECK(memcmp(&back, &value, sizeof back) == 0);
    (void)f;
}

ORR_TEST(print_of_floats_is_the_shortest_text_that_reads_back)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(float));
    check_float(&f, type, 0.0f, "0");
    check_float(&f, type, -0.0f, "-0");
    check_float(&f, type, 0.1f, "0.1");
    check_float(&f, type, 1.0f / 3, "0.33333334");
    check_float(&f, type, 16777216.0f, "16777216");
    check_float(&f, type, 16777217.0f * 4, "67108864");
    check_float(&f, type, 3.14159274f, "3.1415927");
    check_float(&f, type, FLT_MAX, "3.4028235e+38");
    check_float(&f, type, FLT_MIN, "1.1754944e-38");
    check_float(&f, type, FLT_TRUE_MIN, "1e-45");
    check_float(&f, type, INFINITY, "inf");
    check_float(&f, type, -INFINITY, "-inf");
    const orri_type* wide = fixture_type(&f, ORR_TYPE(double));
    double d = 0.1;
    CHECK_STR(fixture_print(wide, &d), "0.1");
    d = 1.0 / 3;
    CHECK_STR(fixture_print(wide, &d), "0.3333333333333333");
    d = DBL_MAX;
    CHECK_STR(fixture_print(wide, &d), "1.7976931348623157e+308");
    d = 5e-324;
    CHECK_STR(fixture_print(wide, &d), "5e-324");
    fixture_end(&f);
}

ORR_TEST(print_of_nan_is_one_word_for_all_its_bits)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(float));
    const uint32_t nans[] = {0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF};
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_STR(fixture_print(type, &nans[i]), "nan");
    }
    uint32_t bits = 0;
    CHECK_OK(orr_value_parse(&type->info, "nan", &bits));
    CHECK_EQ(bits, 0x7FC00000);
    const orri_type* wide = fixture_type(&f, ORR_TYPE(double));
    uint64_t bits64 = 0;
    CHECK_OK(orr_value_parse(&wide->info, " nan ", &bits64));
    CHECK_EQ(bits64, 0x7FF8000000000000);
    fixture_end(&f);
}

ORR_TEST(print_and_parse_of_random_floats_keeps_every_bit)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* narrow = fixture_type(&f, ORR_TYPE(float));
    const orri_type* wide = fixture_type(&f, ORR_TYPE(double));
    for (uint32_t i = 0; i < 20000; i++) {
        uint64_t bits = test_random(), back = 0;
        double d;
        memcpy(&d, &bits, 8);
        if (!isnan(d)) {
            CHECK_OK(orr_value_parse(&wide->info, fixture_print(wide, &bits), &back));
            CHECK_EQ(back, bits);
        }
        uint32_t bits32 = (uint32_t)(bits >> 13), back32 = 0;
        float s;
        memcpy(&s, &bits32, 4);
        if (!isnan(s)) {
            CHECK_OK(orr_value_parse(&narrow->info, fixture_print(narrow, &bits32), &back32));
            CHECK_EQ(back32, bits32);
        }
    }
    fixture_end(&f);
}

ORR_TEST(number_text_never_has_the_point_of_the_locale)
{
    char text[ORRI_NUMBER_SIZE] = "-1,5e+10";
    orri_number_point_to_dot(text);
    CHECK_STR(text, "-1.5e+10");
    strcpy(text, "12\xD9\xAB"
                 "25"); // A decimal point of two bytes.
    orri_number_point_to_dot(text);
    CHECK_STR(text, "12.25");
    strcpy(text, "7,");
    orri_number_point_to_dot(text);
    CHECK_STR(text, "7.");
    CHECK(orri_number_dot_to_point("-1.5e3xxx", 6, ",", text, sizeof text));
    CHECK_STR(text, "-1,5e3");
    CHECK(orri_number_dot_to_point("1.5", 3, "\xD9\xAB", text, sizeof text));
    CHECK_STR(text, "1\xD9\xAB"
                    "5");
    CHECK(orri_number_dot_to_point("123", 3, ".", text, 4));
    CHECK(!orri_number_dot_to_point("123", 3, ".", text, 3));
    CHECK(!orri_number_dot_to_point("1.3", 3, ",,", text, 4));
}

ORR_TEST(number_text_is_the_same_under_a_locale_with_a_comma)
{
    static const char* names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8",
                                  "de_DE",       "fr_FR",      "ps_AF.UTF-8"};
    const char* set = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && set == NULL; i++) {
        set = setlocale(LC_NUMERIC, names[i]);
    }
    if (set == NULL) {
        test_skip("no locale with another decimal point is installed");
    }
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(double));
    double value = 1.25, back = 0;
    const char* text = fixture_print(type, &value);
    orr_result result = orr_value_parse(&type->info, "1.25", &back);
    setlocale(LC_NUMERIC, "C");
    CHECK_STR(text, "1.25");
    CHECK_OK(result);
    CHECK(back == 1.25);
    fixture_end(&f);
}

// ---- comparing and hashing ----------------------------------------------------------------------

// a < b in both directions, and each equal to itself.
static void check_less(const orri_type* type, const void* a, const void* b)
{
    CHECK(orr_value_compare(&type->info, a, b) < 0);
    CHECK(orr_value_compare(&type->info, b, a) > 0);
    CHECK_EQ(orr_value_compare(&type->info, a, a), 0);
    CHECK_EQ(orr_value_compare(&type->info, b, b), 0);
    CHECK(orr_value_hash(&type->info, a) != orr_value_hash(&type->info, b));
}

static void check_less_text(const orri_type* type, const char* a, const char* b)
{
    _Alignas(16) unsigned char values[2][512];
    CHECK(type->info.size <= sizeof values[0]);
    CHECK_OK(orr_value_parse(&type->info, a, values[0]));
    CHECK_OK(orr_value_parse(&type->info, b, values[1]));
    check_less(type, values[0], values[1]);
}

ORR_TEST(compare_orders_every_kind)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Numbers));
    check_less_text(type, "{i8: -1}", "{i8: 1}");
    check_less_text(type, "{i16: -300}", "{i16: 2}");
    check_less_text(type, "{i32: -1}", "{}");
    check_less_text(type, "{i64: -9223372036854775808}", "{i64: 9223372036854775807}");
    check_less_text(type, "{u8: 1}", "{u8: 200}");
    check_less_text(type, "{u16: 1}", "{u16: 40000}");
    check_less_text(type, "{u32: 1}", "{u32: 4294967295}");
    check_less_text(type, "{u64: 1}", "{u64: 18446744073709551615}");
    check_less_text(type, "{i8: 1, u64: 9}", "{i8: 2, u64: 1}"); // The first field decides.
    type = fixture_type(&f, ORR_TYPE(Orc));
    check_less_text(type, "{name: \"a\"}", "{name: \"ab\"}");
    check_less_text(type, "{name: \"b\"}", "{name: \"\xC3\xA4\"}");
    check_less_text(type, "{grade: \"a\"}", "{grade: \"\xE4\"}");
    check_less_text(type, "{mood: -3}", "{mood: CALM}");
    check_less_text(type, "{effects: BURN}", "{effects: 4000000000}");
    check_less_text(type, "{alive: false}", "{alive: true}");
    check_less_text(type, "{target: 9v1}", "{target: 1v2}");
    check_less_text(type, "{friends: [1v1, 2v1]}", "{friends: [1v1, 3v1]}");
    check_less_text(type, "{story: \"\"}", "{story: \"a\"}");
    check_less_text(type, "{story: \"ab\"}", "{story: \"b\"}");
    check_less_text(type, "{story: \"a\"}", "{story: \"a\\x00\"}");
    check_less_text(type, "{path: []}", "{path: [{}]}");
    check_less_text(type, "{path: [{kind: 1}]}", "{path: [{kind: 2}]}");
    check_less_text(type, "{path: [{kind: 1}]}", "{path: [{kind: 1}, {}]}");
    check_less_text(type, "{path: [{kind: 1}, {}]}", "{path: [{kind: 2}]}");
    check_less_text(type, "{points: [{kind: 1}, {kind: 2}]}", "{points: [{kind: 1}, {kind: 3}]}");
    check_less_text(type, "{rotation: [0, 0, 0, 1]}", "{rotation: [0, 0, 0.5, 0]}");
    fixture_end(&f);
}

ORR_TEST(compare_orders_floats_with_nan_last)
{
    fixture f;
    fixture_begin(&f);
    static const char* ascending[] = {"-inf",  "-3e38", "-1",  "-1e-40", "-0",  "0",
                                      "1e-40", "0.5",   "1.5", "3e38",   "inf", "nan"};
    const orr_type_desc* descs[] = {ORR_TYPE(float), ORR_TYPE(double)};
    for (uint32_t d = 0; d < 2; d++) {
        const orri_type* type = fixture_type(&f, descs[d]);
        for (uint32_t i = 0; i < 12; i++) {
            for (uint32_t j = i + 1; j < 12; j++) {
                check_less_text(type, ascending[i], ascending[j]);
            }
        }
    }
    const orri_type* type = fixture_type(&f, ORR_TYPE(float));
    uint32_t a = 0x7FC00000, b = 0xFF800001;
    CHECK_EQ(orr_value_compare(&type->info, &a, &b), 0);
    CHECK_EQ(orr_value_hash(&type->info, &a), orr_value_hash(&type->info, &b));
    fixture_end(&f);
}

ORR_TEST(compare_and_hash_ignore_padding)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Waypoint));
    CHECK(type->info.has_padding);
    Waypoint a, b;
    memset(&a, 0x11, sizeof a);
    memset(&b, 0x22, sizeof b);
    a.at = b.at = (Vec3){1, 2, 3};
    a.kind = b.kind = 4;
    a.when = b.when = 5;
    CHECK_EQ(orr_value_compare(&type->info, &a, &b), 0);
    CHECK_EQ(orr_value_hash(&type->info, &a), orr_value_hash(&type->info, &b));
    b.kind = 5;
    check_less(type, &a, &b);
    fixture_end(&f);
}

ORR_TEST(hash_of_a_value_covers_owned_content_and_not_handles)
{
    fixture f, g;
    fixture_begin(&f);
    fixture_begin(&g);
    fixture_string(&g, "shifts"); // The same content gets other handles here.
    fixture_string(&g, "slots");
    const char* text = "{story: \"abc\", path: [{kind: 1, when: nan}]}";
    const orri_type *t = fixture_type(&f, ORR_TYPE(Orc)), *u = fixture_type(&g, ORR_TYPE(Orc));
    Orc a, b;
    CHECK_OK(orr_value_parse(&t->info, text, &a));
    CHECK_OK(orr_value_parse(&u->info, text, &b));
    CHECK(a.story.id != b.story.id);
    CHECK_EQ(orr_value_hash(&t->info, &a), orr_value_hash(&u->info, &b));
    CHECK_OK(orr_value_parse(&u->info, "{story: \"abd\", path: [{kind: 1, when: nan}]}", &b));
    CHECK(orr_value_hash(&t->info, &a) != orr_value_hash(&u->info, &b));
    CHECK_OK(orr_value_parse(&u->info, "{story: \"abc\", path: [{kind: 1, when: 0}]}", &b));
    CHECK(orr_value_hash(&t->info, &a) != orr_value_hash(&u->info, &b));
    fixture_end(&f);
    fixture_end(&g);
}

ORR_TEST(compare_of_arrays_with_another_element_size_is_as_if_empty)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Orc));
    Orc a, b;
    orr_value_default(&type->info, &a);
    orr_value_default(&type->info, &b);
    orr_string wrong = {0};
    CHECK(orri_blob_make(&f.schema, "xxxx", 4, 4, &wrong));
    a.path = (orr_array){wrong.id, wrong.generation};
    CHECK_EQ(orr_value_compare(&type->info, &a, &b), 0);
    CHECK_EQ(orr_value_hash(&type->info, &a), orr_value_hash(&type->info, &b));
    CHECK_STR(fixture_print(type, &a), fixture_print(type, &b));
    fixture_end(&f);
}

/* Golden: equal on every machine and compiler. */
ORR_TEST(hash_of_a_value_is_stable)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Orc));
    Orc orc;
    CHECK_OK(orr_value_parse(&type->info,
                             "{position: {x: 1, y: nan}, name: \"bob\", target: 7v1, "
                             "story: \"abc\", path: [{kind: 1}]}",
                             &orc));
    CHECK_EQ(orr_value_hash(&type->info, &orc), (int64_t)0x839e6fa797e1be31);
    fixture_end(&f);
}

ORR_TEST(default_is_the_preset_or_zero)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Orc));
    Orc orc;
    memset(&orc, 0xFF, sizeof orc);
    orr_value_default(&type->info, &orc);
    CHECK(orc.health == 75 && orc.position.x == 0 && orc.name[7] == 0 && orc.target.id == 0);
    Vec3 v = {1, 2, 3};
    orr_value_default(type->info.fields[0].type, &v);
    CHECK(v.x == 0 && v.z == 0);
    fixture_end(&f);
}

// ---- paths --------------------------------------------------------------------------------------

ORR_TEST(find_reaches_every_place_of_a_value)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Orc));
    static const struct {
        const char* path;
        size_t offset;
        uint32_t count;
        orr_kind kind;
    } cases[] = {
        {"position", offsetof(Orc, position), 0, ORR_KIND_STRUCT},
        {"position.z", offsetof(Orc, position) + 8, 0, ORR_KIND_F32},
        {"rotation", offsetof(Orc, rotation), 4, ORR_KIND_F32},
        {"rotation[3]", offsetof(Orc, rotation) + 12, 0, ORR_KIND_F32},
        {"name[2]", offsetof(Orc, name) + 2, 0, ORR_KIND_CHAR},
        {"points[1].at.y", offsetof(Orc, points) + sizeof(Waypoint) + 4, 0, ORR_KIND_F32},
        {"path", offsetof(Orc, path), 0, ORR_KIND_ARRAY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        orr_field_place place = {0};
        CHECK_OK(orr_field_find(&type->info, cases[i].path, &place));
        CHECK_EQ(place.offset, cases[i].offset);
        CHECK_EQ(place.count, cases[i].count);
        CHECK_EQ(place.type->kind, cases[i].kind);
    }
    orr_field_place place = {0};
    CHECK_OK(orr_field_find(&type->info, "points[1].at.y", &place));
    CHECK_STR(place.field->name, "y");
    // A found field can be used as a value.
    Orc orc = {.points[1].at.y = 2.5f};
    char text[16];
    orr_value_print(place.type, (const char*)&orc + place.offset, text, sizeof text);
    CHECK_STR(text, "2.5");
    fixture_end(&f);
}

ORR_TEST(find_of_an_unknown_path_is_refused_with_similar_names)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Orc));
    static const struct {
        const char* path;
        const char* words;
    } cases[] = {
        {"postion", "no field 'postion' in Orc; did you mean 'position'?"},
        {"position.w", "no field 'w' in Vec3; did you mean 'x' or 'y' or 'z'?"},
        {"qqqqqq", "no field 'qqqqqq' in Orc"},
        {"", "no field '' in Orc"},
        {".x", "no field '' in Orc"},
        {"position.", "no field '' in Vec3"},
        {"rotation[4]", "rotation has elements 0 to 3"},
        {"rotation[99999999999999999999]", "rotation has elements 0 to 3"},
        {"rotation[]", "[ must be followed by an index and ]"},
        {"rotation[1", "[ must be followed by an index and ]"},
        {"rotation[-1]", "[ must be followed by an index and ]"},
        {"rotation[1]x", "expected '.' or the end after ]"},
        {"rotation[1][0]", "rotation is not a fixed array"},
        {"rotation.x", "float has no fields before an element is chosen by [index]"},
        {"health.x", "float has no fields"},
        {"health[0]", "health is not a fixed array"},
        {"path[0]", "the elements of an orr_array are not inside the value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        orr_field_place place = {.offset = 4711};
        CHECK_RESULT(orr_field_find(&type->info, cases[i].path, &place), ORR_ERR_FIELD);
        CHECK_EQ(place.offset, 4711);
        CHECK_CONTAINS(f.env.error_text, "of Orc: ");
        CHECK_REFUSED(&f, ORR_ERR_FIELD, cases[i].words);
    }
    orr_field_place place;
    CHECK_RESULT(orr_field_find(type->info.fields[12].type, "x", &place), ORR_ERR_FIELD);
    CHECK_REFUSED(&f, ORR_ERR_FIELD, "float has no fields");
    char path[300];
    memset(path, 'p', sizeof path);
    path[299] = '\0';
    CHECK_RESULT(orr_field_find(&type->info, path, &place), ORR_ERR_FIELD);
    CHECK_REFUSED(&f, ORR_ERR_FIELD, "no field 'pppp");
    fixture_end(&f);
}

// ---- invalid input ------------------------------------------------------------------------------

static uint32_t asserted;

static void assert_count(const char* condition, const char* file, int line, const char* function)
{
    (void)condition, (void)file, (void)line, (void)function;
    asserted++;
}

ORR_TEST(value_calls_with_null_refuse_or_assert_and_continue)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Vec3));
    orr_field_place place;
    Vec3 v = {1, 2, 3};
    CHECK_RESULT(orr_field_find(NULL, "x", &place), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_field_find(&type->info, NULL, &place), ORR_ERR_ARGUMENT);
    CHECK_REFUSED(&f, ORR_ERR_ARGUMENT, "path is NULL");
    CHECK_RESULT(orr_field_find(&type->info, "x", NULL), ORR_ERR_ARGUMENT);
    CHECK_REFUSED(&f, ORR_ERR_ARGUMENT, "out is NULL");
    CHECK_RESULT(orr_value_parse(NULL, "{}", &v), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_value_parse(&type->info, NULL, &v), ORR_ERR_ARGUMENT);
    CHECK_REFUSED(&f, ORR_ERR_ARGUMENT, "reading a value of Vec3: text is NULL");
    CHECK_RESULT(orr_value_parse(&type->info, "{}", NULL), ORR_ERR_ARGUMENT);
    CHECK_REFUSED(&f, ORR_ERR_ARGUMENT, "out is NULL");
    asserted = 0;
    orr_assert_handler before = orr_assert_handler_set(assert_count);
    char text[8] = "#";
    CHECK_EQ(orr_value_print(NULL, &v, text, sizeof text), 0);
    CHECK_STR(text, "");
    CHECK_EQ(orr_value_print(&type->info, NULL, text, sizeof text), 0);
    CHECK_EQ(orr_value_compare(NULL, &v, &v), 0);
    CHECK_EQ(orr_value_compare(&type->info, NULL, &v), 0);
    CHECK_EQ(orr_value_compare(&type->info, &v, NULL), 0);
    orr_value_default(NULL, &v);
    orr_value_default(&type->info, NULL);
    CHECK_EQ(orr_value_hash(NULL, &v), 0);
    CHECK_EQ(orr_value_hash(&type->info, NULL), 0);
    orr_assert_handler_set(before);
#ifndef ORR_NO_ASSERT
    CHECK_EQ(asserted, 9);
#endif
    CHECK(v.x == 1);
    fixture_end(&f);
}

ORR_MARKER(Frozen)

ORR_TEST(value_of_a_marker_is_empty)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Frozen));
    CHECK_OK(orr_value_parse(&type->info, " { } ", NULL));
    CHECK_EQ(orr_value_compare(&type->info, NULL, NULL), 0);
    orr_value_default(&type->info, NULL);
    CHECK_EQ(orr_value_hash(&type->info, NULL), orr_value_hash(&type->info, &f));
    fixture_end(&f);
}
