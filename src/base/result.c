// SPDX-License-Identifier: MIT
// Names and texts of results and memory purposes, the version, and the assertion handler. The
// handler is the only state of the library that belongs to the process instead of a world, because
// an assertion has no world.
#include <orrery/base.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define RESULT_TEXT_OF(x) #x
#define RESULT_TEXT(x)    RESULT_TEXT_OF(x)

static _Atomic(orr_assert_handler) result_assert_handler;

const char* orr_version(void)
{
    return RESULT_TEXT(ORR_VERSION_MAJOR) "." RESULT_TEXT(ORR_VERSION_MINOR) "." RESULT_TEXT(
        ORR_VERSION_PATCH);
}

const char* orr_result_name(orr_result result)
{
    switch (result) {
#define X(name, text) \
    case ORR_##name:  \
        return "ORR_" #name;
        ORR_RESULTS(X)
#undef X
    }
    return "?";
}

const char* orr_result_text(orr_result result)
{
    switch (result) {
#define X(name, text) \
    case ORR_##name:  \
        return text;
        ORR_RESULTS(X)
#undef X
    }
    return "not a result of this version";
}

const char* orr_memory_purpose_name(orr_memory_purpose purpose)
{
    static const char* const names[] = {
#define X(name, text) text,
        ORR_MEMORY_PURPOSES(X)
#undef X
    };
    return (unsigned)purpose < ORR_MEMORY_PURPOSE_COUNT ? names[purpose] : "?";
}

orr_assert_handler orr_assert_handler_set(orr_assert_handler handler)
{
    return atomic_exchange(&result_assert_handler, handler);
}

void orr_assert_failed(const char* condition, const char* file, int line, const char* function)
{
    orr_assert_handler handler = atomic_load(&result_assert_handler);
    if (handler != NULL) {
        handler(condition, file, line, function);
        return;
    }
    fprintf(stderr, "orrery: %s:%d: assertion failed in %s: %s\n", file, line, function, condition);
    abort();
}

#undef RESULT_TEXT_OF
#undef RESULT_TEXT
