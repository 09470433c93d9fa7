// SPDX-License-Identifier: MIT
// A failed check in a fuzzer aborts, so that libFuzzer keeps the input.
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
