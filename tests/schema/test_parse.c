// SPDX-License-Identifier: MIT
// Reading values: the grammar, presets for missing fields, ranges, refusals with a column, and
// memory.
#include "fixture.h"
#include "schema/detail.h"
#include <math.h>
#include <stdlib.h>

ORR_ENUM(Mood, CALM, ANGRY)
ORR_MASK(Effects, BURN, FREEZE, POISON)
ORR_STRUCT(Vec3, (float, x), (float, y), (float, z))
ORR_STRUCT(Waypoint, (Vec3, at), (int8_t, kind, (.preset = "7")), (double, when))
ORR_STRUCT(Orc, (Vec3, position), (float, rotation, 4, (.preset = "[0, 0, 0, 1]")), (char, name, 8),
           (char, grade), (Mood, mood), (Effects, effects), (bool, alive), (orr_entity, target),
           (orr_string, story), (orr_array, path, (.element = ORR_TYPE(Waypoint))),
           (orr_array, scores, (.element = ORR_TYPE(int16_t), .min = 0, .max = 10)),
           (float, health, (.min = 0, .max = 100, .preset = "75")))

static const char* reprint(const orri_type* type, const char* text)
{
    static _Alignas(64) unsigned char value[4096];
    CHECK(type->info.size <= sizeof value);
    memset(value, 0xEE, sizeof value);
    // A copy of exactly the text's size: a sanitizer reports a read beyond it.
    char* copy = malloc(strlen(text) + 1);
    CHECK(copy != NULL);
    strcpy(copy, text);
    orr_result result = orr_value_parse(&type->info, copy, value);
    free(copy);
    if (result != ORR_OK) {
        test_fail(__FILE__, __LINE__, "%s: %s", text, type->schema->env->error_text);
    }
    return fixture_print(type, value);
}

ORR_TEST(parse_reads_what_print_writes)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Orc));
    const char* text =
        "{position: {x: 1, y: -2.5, z: 1e-09}, rotation: [0.5, 0, 0, -1], name: \"bob\", "
        "grade: \"A\", mood: ANGRY, effects: BURN|POISON|64, alive: true, target: 7v1s3, "
        "story: \"once\\nupon \\\"a\\\" \\x00time\", path: [{at: {x: 1, y: 2, z: 3}, kind: -4, "
        "when: 0.5}], scores: [1, 2, 10], health: 33.3}";
    CHECK_STR(reprint(type, text), text);
    fixture_end(&f);
}

ORR_TEST(parse_accepts_space_anywhere_and_fields_in_any_order)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Waypoint));
    CHECK_STR(reprint(type, "\n{ when :\t2 ,\vat:{\r\nz : 3,\fx:1 } }  "),
              "{at: {x: 1, y: 0, z: 3}, kind: 7, when: 2}");
    CHECK_STR(reprint(type, "{}"), "{at: {x: 0, y: 0, z: 0}, kind: 7, when: 0}");
    type = fixture_type(&f, ORR_TYPE(Orc));
    CHECK_STR(reprint(type, "{path: [ { } , {kind:1} ], scores:[ ], effects: BURN | FREEZE}"),
              "{position: {x: 0, y: 0, z: 0}, rotation: [0, 0, 0, 1], name: \"\", grade: \"\", "
              "mood: CALM, effects: BURN|FREEZE, alive: false, target: null, story: \"\", path: "
              "[{at: {x: 0, y: 0, z: 0}, kind: 7, when: 0}, {at: {x: 0, y: 0, z: 0}, kind: 1, "
              "when: 0}], scores: [], health: 75}");
    fixture_end(&f);
}

ORR_TEST(parse_of_integers_beyond_their_limits_is_refused)
{
    fixture f;
    fixture_begin(&f);
    static const struct {
        orr_kind kind;
        const char *least, *most, *under, *over;
    } cases[] = {
        {ORR_KIND_I8, "-128", "127", "-129", "128"},
        {ORR_KIND_I16, "-32768", "32767", "-32769", "32768"},
        {ORR_KIND_I32, "-2147483648", "2147483647", "-2147483649", "2147483648"},
        {ORR_KIND_I64, "-9223372036854775808", "9223372036854775807", "-9223372036854775809",
         "9223372036854775808"},
        {ORR_KIND_U8, "0", "255", "-1", "256"},
        {ORR_KIND_U16, "0", "65535", "-1", "65536"},
        {ORR_KIND_U32, "0", "4294967295", "-1", "4294967296"},
        {ORR_KIND_U64, "0", "18446744073709551615", "-1", "18446744073709551616"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        orr_type_desc desc = {.name = orr_kind_name(cases[i].kind), .kind = cases[i].kind};
        const orri_type* type = fixture_type(&f, &desc);
        CHECK_STR(reprint(type, cases[i].least), cases[i].least);
        CHECK_STR(reprint(type, cases[i].most), cases[i].most);
        uint64_t value = 4711;
        const char* wrong[] = {cases[i].under, cases[i].over, "99999999999999999999999999",
                               "-99999999999999999999999999"};
        for (uint32_t w = 0; w < 4; w++) {
            CHECK_RESULT(orr_value_parse(&type->info, wrong[w], &value), ORR_ERR_RANGE);
            CHECK_REFUSED(&f, ORR_ERR_RANGE, "does not fit");
        }
        const char* none[] = {"", "-", "x", "1.5", "1e3", "--1", "+1", "0x10", "1 2"};
        for (uint32_t w = 0; w < 9; w++) {
            CHECK_RESULT(orr_value_parse(&type->info, none[w], &value), ORR_ERR_PARSE);
            CHECK_REFUSED(&f, ORR_ERR_PARSE, "expected");
        }
        CHECK_EQ(value, 4711);
    }
    CHECK_STR(reprint(fixture_type(&f, ORR_TYPE(int)), "-00012"), "-12");
    fixture_end(&f);
}

ORR_TEST(parse_of_floats_accepts_every_form)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(double));
    static const char* const cases[][2] = {
        {"1", "1"},        {"-1.50", "-1.5"},
        {"1e3", "1000"},   {"1E3", "1000"},
        {"1e+3", "1000"},  {"25e-1", "2.5"},
        {"inf", "inf"},    {"-inf", "-inf"},
        {"nan", "nan"},    {"1e-999", "0"},
        {"-0.0", "-0"},    {"007", "7"},
        {"1e22", "1e+22"}, {"123456789012345678901234567890", "1.2345678901234568e+29"},
        {"0.1", "0.1"},    {"2.2250738585072011e-308", "2.225073858507201e-308"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_STR(reprint(type, cases[i][0]), cases[i][1]);
    }
    const char* none[] = {"",  "-",   ".5",   "5.", "1e", "1e+", "+1",       "infinity", "NaN",
                          "-", "- 1", "-nan", "x",  "0x", "1,5", "nan(123)", "-infx",    "1.e5"};
    double value = 4711;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        CHECK_RESULT(orr_value_parse(&type->info, none[i], &value), ORR_ERR_PARSE);
        CHECK_REFUSED(&f, ORR_ERR_PARSE, "expected");
    }
    CHECK_RESULT(orr_value_parse(&type->info, "1e999", &value), ORR_ERR_RANGE);
    CHECK_REFUSED(&f, ORR_ERR_RANGE, "1e999 does not fit f64");
    const orri_type* narrow = fixture_type(&f, ORR_TYPE(float));
    CHECK_RESULT(orr_value_parse(&narrow->info, "-1e39", &value), ORR_ERR_RANGE);
    CHECK_REFUSED(&f, ORR_ERR_RANGE, "-1e39 does not fit f32");
    CHECK(value == 4711);
    // More digits than any number needs are refused, not truncated.
    char digits[3000];
    memset(digits, '1', sizeof digits);
    digits[1000] = '\0';
    CHECK_RESULT(orr_value_parse(&type->info, digits, &value), ORR_ERR_RANGE);
    CHECK_REFUSED(&f, ORR_ERR_RANGE, "does not fit");
    digits[1] = '.';
    CHECK_OK(orr_value_parse(&type->info, digits, &value));
    digits[1000] = '1';
    digits[2999] = '\0';
    CHECK_RESULT(orr_value_parse(&type->info, digits, &value), ORR_ERR_RANGE);
    CHECK_REFUSED(&f, ORR_ERR_RANGE, "does not fit");
    // Rounded once: through a double the result would be 16777216.
    float once = 0;
    CHECK_OK(orr_value_parse(&narrow->info, "16777217.0000000001", &once));
    CHECK(once == 16777218);
    fixture_end(&f);
}

// ---- refusals -----------------------------------------------------------------------------------

ORR_TEST(parse_of_wrong_text_refuses_with_column_and_reason_and_leaves_out_untouched)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Orc));
    static const struct {
        const char* text;
        orr_result result;
        const char* words;
    } cases[] = {
        {"", ORR_ERR_PARSE, "column 1: expected fields in { }, found the end"},
        {"  [", ORR_ERR_PARSE, "column 3: expected fields in { }, found '['"},
        {"{", ORR_ERR_PARSE, "column 2: expected the name of a field, found the end"},
        {"{,}", ORR_ERR_PARSE, "column 2: expected the name of a field, found ','"},
        {"{mood}", ORR_ERR_PARSE, "column 6: expected ':', found '}'"},
        {"{mood: CALM", ORR_ERR_PARSE, "column 12: expected ',' or '}', found the end"},
        {"{mood: CALM,}", ORR_ERR_PARSE, "column 13: expected the name of a field, found '}'"},
        {"{mood: CALM alive: true}", ORR_ERR_PARSE,
         "column 13: expected ',' or '}', found 'alive'"},
        {"{} {}", ORR_ERR_PARSE, "column 4: expected the end, found '{'"},
        {"{postion: {}}", ORR_ERR_FIELD,
         "column 2: no field 'postion' in Orc; did you mean 'position'?"},
        {"{position: {w: 1}}", ORR_ERR_FIELD, "column 13: no field 'w' in Vec3"},
        {"{health: 1, health: 1}", ORR_ERR_PARSE, "column 13: field health is given twice"},
        {"{health: 100.5}", ORR_ERR_RANGE, "column 10: 100.5 is outside 0 to 100"},
        {"{health: -0.01}", ORR_ERR_RANGE, "column 10: -0.01 is outside 0 to 100"},
        {"{health: nan}", ORR_ERR_RANGE, "column 10: nan is outside 0 to 100"},
        {"{scores: [1, 11]}", ORR_ERR_RANGE, "column 14: 11 is outside 0 to 10"},
        {"{scores: [1, -1]}", ORR_ERR_RANGE, "column 14: -1 is outside 0 to 10"},
        {"{scores: 1}", ORR_ERR_PARSE, "column 10: expected an array in [ ], found '1'"},
        {"{scores: [1", ORR_ERR_PARSE, "column 12: expected ',' or ']', found the end"},
        {"{scores: [1,]}", ORR_ERR_PARSE, "column 13: expected a whole number, found ']'"},
        {"{scores: [", ORR_ERR_PARSE, "column 11: expected a whole number, found the end"},
        {"{rotation: 1}", ORR_ERR_PARSE, "column 12: expected an array in [ ], found '1'"},
        {"{rotation: [1, 2, 3]}", ORR_ERR_PARSE, "column 20: expected 4 elements, found 3"},
        {"{rotation: []}", ORR_ERR_PARSE, "column 13: expected a number, found ']'"},
        {"{rotation: [1, 2, 3, 4, 5]}", ORR_ERR_PARSE,
         "column 23: expected 4 elements, found more"},
        {"{rotation: [1, 2 3, 4]}", ORR_ERR_PARSE, "column 18: expected ',' or ']', found '3'"},
        {"{rotation: [1, 2, 3, 4}", ORR_ERR_PARSE, "column 23: expected ']', found '}'"},
        {"{mood: ANGRI}", ORR_ERR_PARSE,
         "column 8: no label 'ANGRI' in Mood; did you mean 'ANGRY'?"},
        {"{mood: }", ORR_ERR_PARSE, "column 8: expected a label or a number, found '}'"},
        {"{mood: 2147483648}", ORR_ERR_RANGE, "column 8: 2147483648 does not fit enum of 4 bytes"},
        {"{effects: BURN|}", ORR_ERR_PARSE, "column 16: expected labels joined by |"},
        {"{effects: BURN|-1}", ORR_ERR_RANGE, "column 16: -1 does not fit mask of 4 bytes"},
        {"{effects: BURN|ICE}", ORR_ERR_PARSE, "column 16: no label 'ICE' in Effects"},
        {"{effects: 4294967296}", ORR_ERR_RANGE, "does not fit mask"},
        {"{alive: 1}", ORR_ERR_PARSE, "column 9: expected true or false, found '1'"},
        {"{alive: truely}", ORR_ERR_PARSE, "column 9: expected true or false, found 'truely'"},
        {"{target: 7}", ORR_ERR_PARSE, "column 11: expected an entity like 7v1, or null"},
        {"{target: v1}", ORR_ERR_PARSE, "column 10: expected an entity like 7v1"},
        {"{target: 7v}", ORR_ERR_PARSE, "column 11: expected an entity like 7v1"},
        {"{target: 7v1s}", ORR_ERR_PARSE, "column 13: expected an entity like 7v1"},
        {"{target: nulls}", ORR_ERR_PARSE, "column 10: expected an entity like 7v1"},
        {"{target: 4294967296v1}", ORR_ERR_RANGE,
         "column 10: the number is too large for an entity"},
        {"{target: 1v16777216}", ORR_ERR_RANGE, "column 11: the number is too large for an entity"},
        {"{target: 1v1s256}", ORR_ERR_RANGE, "column 13: the number is too large for an entity"},
        {"{name: bob}", ORR_ERR_PARSE, "column 8: expected a string in quotes, found 'bob'"},
        {"{name: \"12345678\"}", ORR_ERR_RANGE, "column 16: the string is longer than 7 bytes"},
        {"{name: \"a\\x00\"}", ORR_ERR_RANGE, "column 10: a zero byte would end the string here"},
        {"{name: \"abc", ORR_ERR_PARSE, "column 12: expected a closing quote, found the end"},
        {"{name: \"\\", ORR_ERR_PARSE, "expected one of \\\" \\\\ \\n \\t \\xNN, found the end"},
        {"{name: \"\\q\"}", ORR_ERR_PARSE, "column 10: expected one of"},
        {"{name: \"\\x4\"}", ORR_ERR_PARSE, "column 10: expected one of"},
        {"{name: \"\\xG0\"}", ORR_ERR_PARSE, "column 10: expected one of"},
        {"{name: \"\\x", ORR_ERR_PARSE, "column 10: expected one of"},
        {"{name: \"\\x4", ORR_ERR_PARSE, "column 10: expected one of"},
        {"{grade: \"ab\"}", ORR_ERR_RANGE, "column 11: the string is longer than 1 bytes"},
        {"{grade: 5}", ORR_ERR_PARSE, "column 9: expected a string in quotes"},
        {"{story: \"abc", ORR_ERR_PARSE, "column 13: expected a closing quote"},
        {"{story: 1}", ORR_ERR_PARSE, "column 9: expected a string in quotes"},
        {"{path: [{kind: 128}]}", ORR_ERR_RANGE, "column 16: 128 does not fit i8 of 1 bytes"},
        {"{story: \"made\", path: [{}], health: 101}", ORR_ERR_RANGE, "101 is outside"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char* copy = malloc(strlen(cases[i].text) + 1);
        CHECK(copy != NULL);
        strcpy(copy, cases[i].text);
        Orc orc, untouched;
        memset(&orc, 0xEE, sizeof orc);
        memset(&untouched, 0xEE, sizeof untouched);
        orr_result result = orr_value_parse(&type->info, copy, &orc);
        free(copy);
        if (result != cases[i].result || strstr(f.env.error_text, cases[i].words) == NULL) {
            test_fail(__FILE__, __LINE__, "%s: %s %s", cases[i].text, orr_result_name(result),
                      f.env.error_text);
        }
        CHECK(memcmp(&orc, &untouched, sizeof orc) == 0);
        CHECK_CONTAINS(f.env.error_text, "reading a value of Orc: column ");
        CHECK_EQ(f.refusals, 1);
        f.refusals = 0;
    }
    // Blobs created for refused values were young only.
    orri_blobs_collect(&f.schema);
    CHECK_EQ(f.schema.blob_live, 0);
    fixture_end(&f);
}

ORR_TEST(parse_refusal_of_a_long_text_is_cut_and_still_has_the_column)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Orc));
    char text[2000];
    memset(text, 'x', sizeof text);
    text[0] = '{';
    text[1999] = '\0';
    Orc orc;
    CHECK_RESULT(orr_value_parse(&type->info, text, &orc), ORR_ERR_FIELD);
    CHECK_REFUSED(&f, ORR_ERR_FIELD, "column 2: no field 'xxxxxxx");
    memcpy(text, "{mood:", 6);
    CHECK_RESULT(orr_value_parse(&type->info, text, &orc), ORR_ERR_PARSE);
    CHECK_REFUSED(&f, ORR_ERR_PARSE, "column 7: no label 'xxxxxxx");
    memcpy(text, "{alive:", 7);
    CHECK_RESULT(orr_value_parse(&type->info, text, &orc), ORR_ERR_PARSE);
    CHECK_REFUSED(&f, ORR_ERR_PARSE, "column 8: expected true or false, found 'xxxxxxx");
    fixture_end(&f);
}

// ---- ranges -------------------------------------------------------------------------------------

ORR_TEST(range_is_exact_beyond_the_precision_of_a_double)
{
    const double two53 = 9007199254740992.0, two63 = 9223372036854775808.0;
    CHECK(orri_range_has_i64(0, two53, 9007199254740992));
    CHECK(!orri_range_has_i64(0, two53, 9007199254740993));
    CHECK(!orri_range_has_i64(-two53, 0, -9007199254740993));
    CHECK(orri_range_has_i64(-two63, two63, INT64_MIN));
    CHECK(orri_range_has_i64(-two63, two63, INT64_MAX));
    CHECK(orri_range_has_i64(-1e300, 1e300, INT64_MIN));
    CHECK(!orri_range_has_i64(two63, 1e300, INT64_MAX));
    CHECK(!orri_range_has_i64(-1e300, -1e299, INT64_MIN));
    CHECK(orri_range_has_i64(0.5, 1.5, 1) && !orri_range_has_i64(0.5, 1.5, 0));
    CHECK(!orri_range_has_i64(0.5, 1.5, 2));
    CHECK(orri_range_has_i64(-1.5, -0.5, -1) && !orri_range_has_i64(-1.5, -0.5, -2));
    CHECK(!orri_range_has_i64(-1.5, -0.5, 0));
    CHECK(orri_range_has_u64(0, two53, 9007199254740992));
    CHECK(!orri_range_has_u64(0, two53, 9007199254740993));
    CHECK(orri_range_has_u64(-5, 2 * two63, UINT64_MAX));
    CHECK(orri_range_has_u64(two63, 1e300, UINT64_MAX));
    CHECK(!orri_range_has_u64(two63, 1e300, INT64_MAX));
    CHECK(!orri_range_has_u64(2 * two63, 1e300, UINT64_MAX));
    CHECK(!orri_range_has_u64(-5, -1, 0));
    CHECK(orri_range_has_u64(0.5, 1.5, 1) && !orri_range_has_u64(0.5, 1.5, 0));
    CHECK(!orri_range_has_u64(0.5, 1.5, 2));
    CHECK(orri_range_has_u64(-1, 0.5, 0));
}

ORR_TEST(range_of_a_field_applies_to_every_element)
{
    fixture f;
    fixture_begin(&f);
    orr_field_desc fields[] = {
        {.name = "u",
         .type = ORR_TYPE(uint8_t),
         .count = 2,
         .attributes = {.min = 1, .max = 3, .preset = "[1, 1]"}},
        {.name = "d", .type = ORR_TYPE(double), .attributes = {.min = 0, .max = (double)INFINITY}},
    };
    orr_type_desc desc = {.name = "T", .fields = fields, .field_count = 2};
    const orri_type* type = fixture_type(&f, &desc);
    unsigned char value[16];
    CHECK_OK(orr_value_parse(&type->info, "{u: [1, 3], d: inf}", value));
    CHECK_RESULT(orr_value_parse(&type->info, "{u: [1, 4]}", value), ORR_ERR_RANGE);
    CHECK_REFUSED(&f, ORR_ERR_RANGE, "column 9: 4 is outside 1 to 3");
    CHECK_RESULT(orr_value_parse(&type->info, "{d: -inf}", value), ORR_ERR_RANGE);
    CHECK_REFUSED(&f, ORR_ERR_RANGE, "-inf is outside 0 to inf");
    // A preset outside the range is allowed: only text is checked.
    CHECK_STR(reprint(type, "{}"), "{u: [1, 1], d: 0}");
    fixture_end(&f);
}

// ---- opaque values ------------------------------------------------------------------------------

// Three bytes written as hexadecimal; 'long' prints 999 times.
typedef struct colour {
    uint8_t rgb[3];
} colour;

static size_t colour_print(void* user, const void* value, char* out, size_t size)
{
    const colour* c = value;
    if (c->rgb[0] == 0xFF) { // Long texts too.
        size_t written = 0;
        for (; written < 999; written++) {
            if (written + 1 < size) {
                out[written] = 'f';
            }
        }
        out[size > 999 ? 999 : size - 1] = '\0';
        return 999;
    }
    (*(int*)user)++;
    return (size_t)snprintf(out, size, "#%02x%02x%02x", c->rgb[0], c->rgb[1], c->rgb[2]);
}

static bool colour_parse(void* user, const char* text, void* out)
{
    (void)user;
    unsigned r, g, b;
    colour* c = out;
    if (strlen(text) != 7 || sscanf(text, "#%02x%02x%02x", &r, &g, &b) != 3) {
        return false;
    }
    *c = (colour){{(uint8_t)r, (uint8_t)g, (uint8_t)b}};
    return true;
}

static int colour_compare(void* user, const void* a, const void* b)
{
    (void)user;
    return (int)((const colour*)a)->rgb[1] - (int)((const colour*)b)->rgb[1];
}

static uint64_t colour_hash(void* user, const void* value)
{
    (void)user;
    return ((const colour*)value)->rgb[1];
}

ORR_TEST(opaque_values_go_through_their_codec)
{
    fixture f;
    fixture_begin(&f);
    int printed = 0;
    orr_codec codec = {.print = colour_print, .parse = colour_parse, .user = &printed};
    orr_type_desc opaque = {
        .name = "Colour", .kind = ORR_KIND_OPAQUE, .size = 3, .align = 1, .codec = &codec};
    orr_field_desc fields[] = {{.name = "n", .type = ORR_TYPE(uint8_t)},
                               {.name = "c", .type = &opaque, .attributes.preset = "\"#010203\""},
                               {.name = "d", .type = &opaque, .count = 2}};
    orr_type_desc desc = {.name = "Paint", .fields = fields, .field_count = 3};
    const orri_type* type = fixture_type(&f, &desc);
    codec = (orr_codec){0}; // Was copied.
    CHECK_STR(reprint(type, "{n: 5}"), "{n: 5, c: \"#010203\", d: [\"#000000\", \"#000000\"]}");
    CHECK_EQ(printed, 3);
    CHECK_STR(reprint(type, "{d: [\"#aabbcc\", \"#\\x30\\x30ff00\"]}"),
              "{n: 0, c: \"#010203\", d: [\"#aabbcc\", \"#00ff00\"]}");
    const char* wrong[] = {"{c: \"red\"}", "{c: red}", "{c: \"#010203\\x00\"}", "{c: \"#01"};
    unsigned char value[10] = {0}, other[10] = {0};
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_RESULT(orr_value_parse(&type->info, wrong[i], value), ORR_ERR_PARSE);
        CHECK_REFUSED(&f, ORR_ERR_PARSE, i % 2 == 0 ? "the codec of Colour refused" : "expected");
    }
    other[2] = 1;
    CHECK(orr_value_compare(&type->info, value, other) < 0); // By bytes.
    CHECK(orr_value_hash(&type->info, value) != orr_value_hash(&type->info, other));
    fixture_end(&f);
}

ORR_TEST(opaque_values_compare_and_hash_by_their_codec)
{
    fixture f;
    fixture_begin(&f);
    orr_codec codec = {colour_print, colour_parse, colour_compare, colour_hash, NULL};
    orr_type_desc opaque = {
        .name = "Colour", .kind = ORR_KIND_OPAQUE, .size = 3, .align = 1, .codec = &codec};
    const orri_type* type = fixture_type(&f, &opaque);
    CHECK(!type->canonical_bytes && type->plain);
    colour a = {{1, 2, 3}}, b = {{9, 2, 9}}, c = {{1, 3, 3}};
    CHECK_EQ(orr_value_compare(&type->info, &a, &b), 0);
    CHECK_EQ(orr_value_hash(&type->info, &a), orr_value_hash(&type->info, &b));
    CHECK(orr_value_compare(&type->info, &a, &c) < 0);
    CHECK(orr_value_hash(&type->info, &a) != orr_value_hash(&type->info, &c));
    fixture_end(&f);
}

ORR_TEST(opaque_text_of_any_length_is_printed_and_its_beginning_without_memory)
{
    fixture f;
    fixture_begin(&f);
    orr_codec codec = {.print = colour_print, .parse = colour_parse};
    orr_type_desc opaque = {
        .name = "Colour", .kind = ORR_KIND_OPAQUE, .size = 3, .align = 1, .codec = &codec};
    const orri_type* type = fixture_type(&f, &opaque);
    colour c = {{0xFF, 0, 0}};
    CHECK_EQ(strspn(fixture_print(type, &c) + 1, "f"), 999);
    failing_alloc_arm(&f.memory, 1, false);
    CHECK_EQ(strspn(fixture_print(type, &c) + 1, "f"), 255);
    CHECK_REFUSED(&f, ORR_ERR_MEMORY, "printing an opaque value");
    fixture_end(&f);
}

// ---- sizes and memory ---------------------------------------------------------------------------

ORR_TEST(parse_of_large_values_needs_memory_only_while_it_runs)
{
    fixture f;
    fixture_begin(&f);
    orr_field_desc fields[] = {{.name = "a", .type = ORR_TYPE(uint8_t), .count = 60000},
                               {.name = "b", .type = ORR_TYPE(int)}};
    orr_type_desc desc = {.name = "Big", .fields = fields, .field_count = 2};
    const orri_type* type = fixture_type(&f, &desc);
    unsigned char* value = malloc(type->info.size);
    CHECK(value != NULL);
    uint64_t bytes = f.env.total.bytes;
    CHECK_OK(orr_value_parse(&type->info, "{b: 7}", value));
    CHECK_EQ(f.env.total.bytes, bytes);
    CHECK(value[59999] == 0 && value[60000] == 7);
    failing_alloc_arm(&f.memory, 1, false);
    value[60000] = 8;
    CHECK_RESULT(orr_value_parse(&type->info, "{b: 7}", value), ORR_ERR_MEMORY);
    CHECK_REFUSED(&f, ORR_ERR_MEMORY, "reading a value");
    CHECK(value[60000] == 8);
    free(value);
    fixture_end(&f);
}

ORR_TEST(parse_without_memory_leaves_out_untouched_at_any_allocation)
{
    const char* text = "{story: \"a story that is longer than one small buffer, so that it has to "
                       "grow on the way\", path: [{}, {}, {}, {}, {}, {}], scores: [1, 2, 3]}";
    for (int for_good = 0; for_good < 2; for_good++) {
        fixture f;
        fixture_begin(&f);
        const orri_type* type = fixture_type(&f, ORR_TYPE(Orc));
        uint64_t n = 1;
        for (;; n++) {
            Orc orc, untouched;
            memset(&orc, 0xEE, sizeof orc);
            memset(&untouched, 0xEE, sizeof untouched);
            failing_alloc_arm(&f.memory, n, for_good != 0);
            orr_result result = orr_value_parse(&type->info, text, &orc);
            bool refused = f.memory.refused > 0;
            failing_alloc_arm(&f.memory, 0, false);
            if (result == ORR_OK) {
                CHECK(!refused);
                break;
            }
            CHECK_RESULT(result, ORR_ERR_MEMORY);
            CHECK_REFUSED(&f, ORR_ERR_MEMORY, "reading a value");
            CHECK(memcmp(&orc, &untouched, sizeof orc) == 0);
            orri_blobs_collect(&f.schema);
            CHECK_EQ(f.schema.blob_live, 0);
        }
        CHECK(n > 8);
        CHECK_EQ(f.schema.blob_live, 3);
        fixture_end(&f);
    }
}

ORR_TEST(parse_into_the_value_that_the_text_was_printed_from_is_safe)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Orc));
    Orc orc;
    CHECK_OK(orr_value_parse(&type->info, "{name: \"x\", story: \"s\", scores: [4]}", &orc));
    const char* text = fixture_print(type, &orc);
    CHECK_OK(orr_value_parse(&type->info, text, &orc));
    CHECK_STR(fixture_print(type, &orc), text);
    fixture_end(&f);
}
