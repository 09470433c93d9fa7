// SPDX-License-Identifier: MIT
// The tokenizer: characters, words, lists, numbers, and the "found" part of error texts.
#include "../test.h"

#include "base/scan.h"

// Bytes outside ASCII, which belong to no set of characters.
static const char bytes_outside[] = "\x80\xA0\xC3\xA9\xFF";

// ---- characters ---------------------------------------------------------------------------------

static bool one_of(char c, const char* set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

ORR_TEST(scan_character_of_any_byte_is_in_its_sets_only)
{
    for (int i = 0; i < 256; i++) {
        char c = (char)i;
        CHECK_EQ(orri_scan_is_blank(c), one_of(c, " \t\r\n\v\f"));
        CHECK_EQ(orri_scan_is_digit(c), one_of(c, "0123456789"));
        const char* names = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
        CHECK_EQ(orri_scan_identifier((char[]){c, '\0'}), one_of(c, names));
        CHECK_EQ(orri_scan_word((char[]){c, '\0'}), one_of(c, names) || one_of(c, ".:"));
        const char *lower = "0123456789abcdef", *upper = "0123456789ABCDEF";
        uint32_t value = one_of(c, lower)   ? (uint32_t)(strchr(lower, c) - lower)
                         : one_of(c, upper) ? (uint32_t)(strchr(upper, c) - upper)
                                            : 16;
        CHECK_EQ(orri_scan_digit_value(c), value);
    }
}

// ---- tokens -------------------------------------------------------------------------------------

ORR_TEST(scan_blanks_of_every_kind_are_skipped)
{
    CHECK_STR(orri_scan_blanks(" \t\r\n\v\f a "), "a ");
    CHECK_STR(orri_scan_blanks("a"), "a");
    CHECK_STR(orri_scan_blanks(" \f"), "");
    CHECK_STR(orri_scan_blanks(""), "");
    CHECK_STR(orri_scan_blanks("\xC2\xA0"), "\xC2\xA0"); // A no-break space is no blank.
}

ORR_TEST(scan_token_ends_before_the_first_other_character)
{
    CHECK_EQ(orri_scan_word("game::Health.max_2 x"), 18);
    CHECK_EQ(orri_scan_word("7v1|"), 3);
    CHECK_EQ(orri_scan_word("-a"), 0);
    CHECK_EQ(orri_scan_word(""), 0);
    CHECK_EQ(orri_scan_identifier("max_2: 1"), 5);
    CHECK_EQ(orri_scan_identifier("a.b"), 1);
    CHECK_EQ(orri_scan_identifier(":"), 0);
    CHECK_EQ(orri_scan_digits("0129a"), 4);
    CHECK_EQ(orri_scan_digits("a0"), 0);
    CHECK_EQ(orri_scan_token("a-b, c", ",|"), 3);
    CHECK_EQ(orri_scan_token("a-b\vc,", ",|"), 3);
    CHECK_EQ(orri_scan_token("|a", ",|"), 0);
    CHECK_EQ(orri_scan_token("all", ""), 3);
    CHECK_EQ(orri_scan_token("", ","), 0);
}

ORR_TEST(scan_token_of_bytes_outside_ascii_ends_words_only)
{
    char text[] = "ab1?";
    for (const char* c = bytes_outside; *c != '\0'; c++) {
        text[3] = *c;
        CHECK_EQ(orri_scan_word(text), 3);
        CHECK_EQ(orri_scan_identifier(text), 3);
        CHECK_EQ(orri_scan_digits(text + 2), 1);
        CHECK_EQ(orri_scan_token(text, ","), 4);
    }
}

ORR_TEST(scan_word_of_another_size_is_not_equal)
{
    CHECK(orri_scan_equals("write Health", 5, "write"));
    CHECK(!orri_scan_equals("write Health", 4, "write"));
    CHECK(!orri_scan_equals("writes", 6, "write"));
    CHECK(!orri_scan_equals("wrote", 5, "write"));
    CHECK(orri_scan_equals("", 0, ""));
}

// ---- lists --------------------------------------------------------------------------------------

// The items of a list, each in brackets.
static const char* items_of(const char* text)
{
    static char buffer[64];
    orri_text out = {buffer, sizeof buffer, 0};
    const char* item;
    size_t size;
    orri_text_add(&out, "%s", "");
    while (orri_scan_item(&text, &item, &size)) {
        orri_text_add(&out, "[%.*s]", (int)size, item);
    }
    CHECK_STR(text, "");
    return buffer;
}

ORR_TEST(scan_item_has_no_blanks_around_it)
{
    CHECK_STR(items_of("a"), "[a]");
    CHECK_STR(items_of("a,b"), "[a][b]");
    CHECK_STR(items_of(" \v write a | b \r\n,\f?c\t"), "[write a | b][?c]");
    CHECK_STR(items_of("\xC3\xA9 , *"), "[\xC3\xA9][*]");
}

ORR_TEST(scan_item_empty_is_skipped)
{
    CHECK_STR(items_of(""), "");
    CHECK_STR(items_of(" \n"), "");
    CHECK_STR(items_of(",, ,"), "");
    CHECK_STR(items_of(",a"), "[a]");
    CHECK_STR(items_of("a,, ,b"), "[a][b]");
    CHECK_STR(items_of("a,"), "[a]");
    CHECK_STR(items_of("a , "), "[a]");
}

ORR_TEST(scan_copy_of_63_bytes_fits_and_of_64_becomes_empty)
{
    char name[65], copy[ORRI_NAME_MAX + 1];
    memset(name, 'n', sizeof name);
    orri_scan_copy(copy, name, 63);
    CHECK_EQ(strlen(copy), 63);
    CHECK_EQ(memcmp(copy, name, 63), 0);
    orri_scan_copy(copy, name, 64);
    CHECK_STR(copy, "");
    orri_scan_copy(copy, "Health|", 6);
    CHECK_STR(copy, "Health");
    orri_scan_copy(copy, "Health", 0);
    CHECK_STR(copy, "");
}

// ---- numbers ------------------------------------------------------------------------------------

static void check_number(orri_scan_number number, uint64_t value, bool fits, const char* rest)
{
    CHECK_EQ(number.value, value);
    CHECK_EQ(number.fits, fits);
    CHECK_STR(number.end, rest);
}

ORR_TEST(scan_decimal_ends_after_its_last_digit)
{
    check_number(orri_scan_decimal("0", UINT64_MAX), 0, true, "");
    check_number(orri_scan_decimal("0017v1", UINT64_MAX), 17, true, "v1");
    check_number(orri_scan_decimal("0x1F", UINT64_MAX), 0, true, "x1F");
    check_number(orri_scan_decimal("12\xB2", UINT64_MAX), 12, true, "\xB2");
    check_number(orri_scan_decimal("", UINT64_MAX), 0, true, "");
    check_number(orri_scan_decimal("-1", UINT64_MAX), 0, true, "-1");
}

ORR_TEST(scan_number_above_the_largest_does_not_fit)
{
    check_number(orri_scan_decimal("18446744073709551615", UINT64_MAX), UINT64_MAX, true, "");
    check_number(orri_scan_decimal("18446744073709551616", UINT64_MAX), UINT64_MAX, false, "");
    check_number(orri_scan_decimal("18446744073709551620", UINT64_MAX), UINT64_MAX, false, "");
    check_number(orri_scan_decimal("184467440737095516150,", UINT64_MAX), UINT64_MAX, false, ",");
    check_number(orri_scan_decimal("000000000000000000000000255", 255), 255, true, "");
    check_number(orri_scan_decimal("256]", 255), 255, false, "]");
    check_number(orri_scan_decimal("2550", 255), 255, false, "");
    check_number(orri_scan_decimal("2", 2), 2, true, "");
    check_number(orri_scan_decimal("9", 2), 2, false, "");
    check_number(orri_scan_decimal("30", 2), 2, false, "");
    check_number(orri_scan_decimal("00", 0), 0, true, "");
    check_number(orri_scan_decimal("1", 0), 0, false, "");
    check_number(orri_scan_decimal_or_hex("0xFFFFFFFFFFFFFFFF", UINT64_MAX), UINT64_MAX, true, "");
    check_number(orri_scan_decimal_or_hex("0x10000000000000000", UINT64_MAX), UINT64_MAX, false,
                 "");
    check_number(orri_scan_decimal_or_hex("0x00FFFFFFFFFFFFFFFFg", UINT64_MAX), UINT64_MAX, true,
                 "g");
}

ORR_TEST(scan_hex_without_digits_ends_at_the_wrong_character)
{
    check_number(orri_scan_decimal_or_hex("0x1F", UINT64_MAX), 31, true, "");
    check_number(orri_scan_decimal_or_hex("0XaBcz", UINT64_MAX), 0xABC, true, "z");
    check_number(orri_scan_decimal_or_hex("17", UINT64_MAX), 17, true, "");
    check_number(orri_scan_decimal_or_hex("1F", UINT64_MAX), 1, true, "F");
    check_number(orri_scan_decimal_or_hex("0xg", UINT64_MAX), 0, true, "g");
    check_number(orri_scan_decimal_or_hex("0x", UINT64_MAX), 0, true, "x");
    check_number(orri_scan_decimal_or_hex("0x,", UINT64_MAX), 0, true, "x,");
    check_number(orri_scan_decimal_or_hex("0", UINT64_MAX), 0, true, "");
    check_number(orri_scan_decimal_or_hex("", UINT64_MAX), 0, true, "");
}

// ---- errors -------------------------------------------------------------------------------------

ORR_TEST(scan_found_shows_at_most_32_bytes)
{
    char found[ORRI_SCAN_FOUND_SIZE];
    CHECK_STR(orri_scan_found("", 0, found), ", found the end");
    CHECK_STR(orri_scan_found("ab,c", 2, found), ", found 'ab'");
    CHECK_STR(orri_scan_found(", b", 0, found), ", found ','");
    CHECK_STR(orri_scan_found("12345678901234567890123456789012", 32, found),
              ", found '12345678901234567890123456789012'");
    CHECK_STR(orri_scan_found("123456789012345678901234567890123", 33, found),
              ", found '12345678901234567890123456789012'");
}

ORR_TEST(scan_found_of_a_character_that_is_not_printable_is_empty)
{
    char found[ORRI_SCAN_FOUND_SIZE];
    CHECK_STR(orri_scan_found("\x01", 0, found), "");
    CHECK_STR(orri_scan_found("\x1F", 0, found), "");
    CHECK_STR(orri_scan_found(" ", 0, found), ", found ' '");
    CHECK_STR(orri_scan_found("~", 0, found), ", found '~'");
    CHECK_STR(orri_scan_found("\x7F", 0, found), "");
    for (const char* c = bytes_outside; *c != '\0'; c++) {
        CHECK_STR(orri_scan_found(c, 0, found), "");
    }
    CHECK_STR(orri_scan_found("\xC3\xA9", 2, found), ", found '\xC3\xA9'");
}
