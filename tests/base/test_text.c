// SPDX-License-Identifier: MIT
// Text in buffers, names, and the edit distance of names.
#include "../test.h"

#include "base/scan.h"
#include "base/util.h"

ORR_TEST(text_add_appends_and_counts)
{
    char buffer[16] = "old";
    orri_text text = {buffer, sizeof buffer, 0};
    orri_text_add(&text, "a%d", 12);
    orri_text_add(&text, "%s", "");
    orri_text_bytes(&text, "b\0c", 3);
    CHECK_EQ(text.length, 6);
    CHECK_EQ(memcmp(buffer, "a12b\0c", 7), 0);
}

ORR_TEST(text_too_long_keeps_what_fits_and_counts_all)
{
    char buffer[6];
    orri_text text = {buffer, sizeof buffer, 0};
    orri_text_add(&text, "abcdefgh");
    CHECK_STR(buffer, "abcde");
    CHECK_EQ(text.length, 8);
    orri_text_add(&text, "%d", 123);
    orri_text_bytes(&text, "xyz", 3);
    CHECK_STR(buffer, "abcde");
    CHECK_EQ(text.length, 14);
    text = (orri_text){buffer, sizeof buffer, 0};
    orri_text_bytes(&text, "12345", 5);
    CHECK_STR(buffer, "12345");
    orri_text_bytes(&text, "6", 1);
    CHECK_STR(buffer, "12345");
    CHECK_EQ(text.length, 6);
    text.length = 3;
    orri_text_bytes(&text, "abcd", 4);
    CHECK_STR(buffer, "123ab");
}

ORR_TEST(text_without_a_buffer_only_counts)
{
    orri_text text = {NULL, 0, 0};
    orri_text_add(&text, "%d", 1234);
    orri_text_bytes(&text, "ab", 2);
    orri_text_bytes(&text, NULL, 0);
    orri_text_cut(&text);
    CHECK_EQ(text.length, 6);
    text = (orri_text){NULL, 100, 0}; // A size without a buffer.
    orri_text_add(&text, "%d", 1234);
    orri_text_bytes(&text, "ab", 2);
    orri_text_cut(&text);
    CHECK_EQ(text.length, 6);
    char one[1] = {'x'};
    text = (orri_text){one, 1, 0};
    orri_text_bytes(&text, "ab", 2);
    CHECK_EQ(one[0], '\0');
    orri_text_cut(&text);
    CHECK_EQ(text.length, 2);
}

static const char* cut_to(size_t size, const char* wanted)
{
    static char buffer[64];
    orri_text text = {buffer, size, 0};
    orri_text_add(&text, "%s", wanted);
    orri_text_cut(&text);
    CHECK_EQ(strlen(buffer), text.length);
    return buffer;
}

ORR_TEST(text_cut_leaves_what_fits_and_ends_the_rest_in_an_ellipsis)
{
    CHECK_STR(cut_to(8, "1234567"), "1234567");
    CHECK_STR(cut_to(8, "12345678"), "1234…");
    CHECK_STR(cut_to(4, "12345678"), "…");
}

ORR_TEST(text_cut_falls_between_characters)
{
    CHECK_STR(cut_to(9, "ä12€3456"), "ä12…"); // € would end at byte 7; 5 bytes fit.
    CHECK_STR(cut_to(9, "123€4567"), "123…");
    CHECK_STR(cut_to(9, "12€45678"), "12€…");
    CHECK_STR(cut_to(8, "a\xF0\x9F\x98\x80xyz"), "a…"); // Four bytes, of which three would fit.
    CHECK_STR(cut_to(8, "\x80\x80\x80\x80\x80\x80\x80\x80"),
              "\x80…"); // No UTF-8: three back at most.
    CHECK_STR(cut_to(6, "\x80\x80\x80\x80\x80\x80"), "…");
}

ORR_TEST(distance_of_known_pairs_has_its_value)
{
    CHECK_EQ(orri_text_distance("", "", 5), 0);
    CHECK_EQ(orri_text_distance("Position", "Position", 0), 0);
    CHECK_EQ(orri_text_distance("", "abc", 5), 3);
    CHECK_EQ(orri_text_distance("abc", "", 5), 3);
    CHECK_EQ(orri_text_distance("kitten", "sitting", 5), 3);
    CHECK_EQ(orri_text_distance("sitting", "kitten", 5), 3);
    CHECK_EQ(orri_text_distance("Positon", "Position", 2), 1);
    CHECK_EQ(orri_text_distance("Positions", "Position", 2), 1);
    CHECK_EQ(orri_text_distance("Positoin", "Position", 2), 2);
    CHECK_EQ(orri_text_distance("position", "Position", 2), 1);
    CHECK_EQ(orri_text_distance("flaw", "lawn", 5), 2);
}

ORR_TEST(distance_above_the_limit_is_the_limit_plus_one)
{
    CHECK_EQ(orri_text_distance("kitten", "sitting", 2), 3);
    CHECK_EQ(orri_text_distance("kitten", "sitting", 1), 2);
    CHECK_EQ(orri_text_distance("abcdefgh", "ABCDEFGH", 3), 4);
    CHECK_EQ(orri_text_distance("a", "abcdef", 2), 3);
    CHECK_EQ(orri_text_distance("a", "b", 0), 1);
}

ORR_TEST(distance_of_very_long_names_is_far)
{
    char a[200], b[200];
    memset(a, 'x', sizeof a);
    memset(b, 'x', sizeof b);
    a[127] = b[127] = '\0';
    b[60] = 'y';
    CHECK_EQ(orri_text_distance(a, b, 2), 1);
    a[127] = b[127] = 'x';
    a[128] = b[128] = '\0';
    CHECK_EQ(orri_text_distance(a, b, 2), 3);
    CHECK_EQ(orri_text_distance("x", b, 2), 3);
    CHECK_EQ(orri_text_distance(a, "x", 2), 3);
    CHECK_EQ(orri_text_distance(a, a, 2), 0);
}

ORR_TEST(name_of_letters_digits_and_three_signs_is_valid)
{
    CHECK(orri_name_valid("a"));
    CHECK(orri_name_valid("Position"));
    CHECK(orri_name_valid("game::Health.max_2"));
    CHECK(orri_name_valid("_"));
    CHECK(orri_name_valid(":x") && orri_name_valid(".x"));
    CHECK(orri_name_valid("azAZ09"));
    CHECK(!orri_name_valid(NULL));
    CHECK(!orri_name_valid(""));
    CHECK(!orri_name_valid("2nd") && !orri_name_valid("9") && !orri_name_valid("0"));
    const char* neighbours =
        "@[`{/;-# \n\x80\xC3"; // Neighbours of the allowed characters in ASCII, and others.
    for (const char* c = neighbours; *c != '\0'; c++) {
        CHECK(!orri_name_valid((char[]){'a', *c, '\0'}));
        CHECK(!orri_name_valid((char[]){*c, 'a', '\0'}));
    }
}

ORR_TEST(name_of_63_bytes_is_valid_and_of_64_is_not)
{
    char name[66];
    memset(name, 'n', sizeof name);
    name[63] = '\0';
    CHECK(orri_name_valid(name));
    name[63] = 'n';
    name[64] = '\0';
    CHECK(!orri_name_valid(name));
}

// ---- carets -------------------------------------------------------------------------------------

static const char* point_at(const char* source, size_t offset)
{
    static char buffer[ORRI_POINT_SIZE];
    orri_text text = {buffer, sizeof buffer, 0};
    orri_text_point(&text, source, offset);
    CHECK(text.length < ORRI_POINT_SIZE);
    return buffer;
}

ORR_TEST(point_puts_a_caret_below_the_character)
{
    CHECK_STR(point_at("", 0), "\n    \n    ^ column 1");
    CHECK_STR(point_at("ab c", 3), "\n    ab c\n       ^ column 4");
    CHECK_STR(point_at("a\tb\nc", 4), "\n    a b c\n        ^ column 5");
    CHECK_STR(point_at("äöü", 4), "\n    äöü\n      ^ column 3");
    CHECK_STR(point_at("a\x1B[0m", 1), "\n    a?[0m\n     ^ column 2");
    CHECK_STR(point_at("\xE2\x82 x", 3), "\n    ?? x\n       ^ column 4");
}

ORR_TEST(point_shows_a_part_of_a_long_text)
{
    char source[500];
    for (uint32_t i = 0; i < sizeof source; i++) {
        source[i] = (char)('0' + i % 10);
    }
    source[sizeof source - 1] = '\0';
    CHECK_STR(point_at(source, 5),
              "\n    012345678901234567890123456789012345678901234567890123456789"
              "…\n         ^ column 6");
    CHECK_STR(point_at(source, 123),
              "\n    …345678901234567890123456789012345678901234567890123456789012…\n"
              "                                             ^ column 124");
    CHECK_STR(point_at(source, 499),
              "\n    …901234567890123456789012345678901234567890123456789012345678\n"
              "                                                                 ^ column 500");
    // As long as the part itself: nothing is omitted.
    source[60] = '\0';
    CHECK_STR(point_at(source, 60),
              "\n    012345678901234567890123456789012345678901234567890123456789"
              "\n                                                                "
              "^ column 61");
    // Every place of a text of wide characters stays within the size.
    for (uint32_t i = 0; i < sizeof source; i++) {
        source[i] = "\xF0\x9F\x98\x80"[i % 4];
    }
    source[400] = '\0';
    for (uint32_t i = 0; i <= 400; i += 4) {
        CHECK_CONTAINS(point_at(source, i), "^ column ");
    }
}

static void near_check(const char* name, const char* other, const char* expected)
{
    char buffer[64] = "";
    orri_text text = {buffer, sizeof buffer, 0};
    orri_near near;
    orri_near_begin(&near, name, strlen(name));
    orri_near_offer(&near, other);
    orri_near_append(&near, &text);
    CHECK_STR(buffer, expected);
}

ORR_TEST(near_names_of_up_to_four_letters_differ_by_one_edit)
{
    near_check("Bdy", "Body", "; did you mean 'Body'?");
    near_check("Bod", "Bird", ""); // Two edits.
    near_check("Hunt", "Heat", "");
    near_check("Hunt", "Hurt", "; did you mean 'Hurt'?");
    near_check("Hilth", "Health", "; did you mean 'Health'?"); // Five letters: two edits.
}

// In C++ the name of a type begins with its namespaces, which are easily forgotten in a text.
ORR_TEST(near_name_without_its_namespaces_is_found)
{
    near_check("State", "game::State", "; did you mean 'game::State'?");
    near_check("Stat", "game::State", "; did you mean 'game::State'?");
    near_check("fx::Spark", "game::fx::Spark", "; did you mean 'game::fx::Spark'?");
    near_check("Spark", "game::fx::Spark", "; did you mean 'game::fx::Spark'?");
    near_check("Spark", "Spark::Heat", "");
    near_check("x", "game::", "");
    orri_near near;
    orri_near_begin(&near, "State", 5);
    orri_near_offer(&near, "Stage");
    orri_near_offer(&near, "game::State");
    orri_near_offer(&near, "physics::State");
    CHECK_EQ(near.count, 2);
    CHECK_STR(near.found[0], "game::State");
    CHECK_STR(near.found[1], "physics::State");
}
