// SPDX-License-Identifier: MIT
// A small JSON checker: fails the test where a text is not JSON.
#ifndef TEST_JSON_KIT_H
#define TEST_JSON_KIT_H

#include "test.h"

ORR_MAYBE_UNUSED static const char* json_space(const char* at)
{
    return at + strspn(at, " \n\t\r");
}

ORR_MAYBE_UNUSED static const char* json_string(const char* at)
{
    CHECK_EQ(*at, '"');
    for (at++; *at != '"'; at++) {
        CHECK((unsigned char)*at >= 0x20 && (unsigned char)*at < 0x80);
        if (*at == '\\') {
            at++;
            CHECK(*at != '\0' && strchr("\"\\/bfnrtu", *at) != NULL);
            if (*at == 'u') {
                CHECK_EQ(strspn(at + 1, "0123456789abcdefABCDEF") >= 4, 1);
                at += 4;
            }
        }
    }
    return at + 1;
}

ORR_MAYBE_UNUSED static const char* json_number(const char* at)
{
    const char* start = at;
    at += *at == '-';
    at += strspn(at, "0123456789");
    if (*at == '.') {
        size_t digits = strspn(at + 1, "0123456789");
        CHECK(digits > 0);
        at += 1 + digits;
    }
    CHECK(at > start);
    return at;
}

// Returns the end of a value; fails the test if there is none.
ORR_MAYBE_UNUSED static const char* json_value(const char* at)
{
    at = json_space(at);
    if (*at == '"') {
        return json_string(at);
    }
    if (*at != '{' && *at != '[') {
        return json_number(at);
    }
    char close = *at == '{' ? '}' : ']';
    at = json_space(at + 1);
    while (*at != close) {
        if (close == '}') {
            at = json_space(json_string(at));
            CHECK_EQ(*at, ':');
            at++;
        }
        at = json_space(json_value(at));
        CHECK(*at == ',' || *at == close);
        at = *at == ',' ? json_space(at + 1) : at;
    }
    return at + 1;
}

#endif
