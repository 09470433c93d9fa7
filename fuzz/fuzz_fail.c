// SPDX-License-Identifier: MIT
// What a failed check is in a fuzzer: the end, so that the input is kept.
#include "test.h"

#include <stdarg.h>
#include <stdlib.h>

_Noreturn void test_fail(const char* file, int line, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}
