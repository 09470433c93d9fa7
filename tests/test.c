// SPDX-License-Identifier: MIT
// Runs the tests of one program, or of one file in it. Its own code, not cmocka: MSan needs every
// line instrumented, and a test should be named in one place.
#include "test.h"

#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

// WASI has no setjmp: there a failed check, or a test that skips itself, ends the program as failed.
#ifdef __wasi__
typedef int jmp_buf[1];
#define setjmp(buffer)     ((void)(buffer), 0)
#define longjmp(buffer, n) ((void)(buffer), exit(n))
#else
#include <setjmp.h>
#endif

static test_case* tests_first;
static test_case** tests_end = &tests_first;
static jmp_buf test_exit;
static int test_outcome; // 1 failed, 2 skipped.
static uint64_t seed_value, seed_state;
static bool seed_given, seed_asked, long_run, quick_run, times_shown, brief_run;
static const char* only_file; // NULL: all files of the program.
#define WITHOUT_MAX 32
static const char* without[WITHOUT_MAX]; // Parts of names of tests that are left out.
static int without_count;

void test_register(test_case* test)
{
    *tests_end = test;
    tests_end = &test->next;
}

void test_fail(const char* file, int line, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    test_outcome = 1;
    longjmp(test_exit, 1);
}

void test_skip(const char* reason)
{
    printf("  skipped: %s\n", reason);
    test_outcome = 2;
    longjmp(test_exit, 1);
}

uint64_t test_seed(void)
{
    seed_asked = true;
    return seed_value;
}

uint64_t test_random(void)
{
    seed_asked = true;
    return orr_random(seed_value, seed_state++, 0, 0);
}

#if defined(__has_feature)
#if __has_feature(memory_sanitizer) || __has_feature(address_sanitizer)
#define TEST_SLOW true
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#undef TEST_SLOW
#define TEST_SLOW true
#endif
#ifndef TEST_SLOW
#define TEST_SLOW false
#endif

bool test_slow(void)
{
    return TEST_SLOW || quick_run;
}

bool test_races(void)
{
#ifdef __SANITIZE_THREAD__
    return true;
#else
    return false;
#endif
}

bool test_long(void)
{
    return long_run;
}

bool test_brief(void)
{
    return brief_run;
}

uint32_t test_rounds(uint32_t usual, uint32_t few, uint32_t many)
{
    if (long_run) {
        return TEST_SLOW ? (many + 9) / 10 : many;
    }
    if (brief_run) {
        return (few + 1) / 2;
    }
    return test_slow() ? few : usual;
}

static void assert_handler(const char* condition, const char* file, int line, const char* function)
{
    test_fail(file, line, "assertion in %s: %s", function, condition);
}

// True if `path` is the file `name`: tests/store/api/test_batch.c is test_batch.
static bool file_is(const char* path, const char* name)
{
    const char* slash = strrchr(path, '/');
    const char* base = slash != NULL ? slash + 1 : path;
    size_t size = strlen(name);
    return strncmp(base, name, size) == 0 && (base[size] == '\0' || base[size] == '.');
}

static bool test_selected(const test_case* test, char** names, int name_count)
{
    if (only_file != NULL && !file_is(test->file, only_file)) {
        return false;
    }
    for (int i = 0; i < name_count; i++) {
        if (strstr(test->name, names[i]) != NULL) {
            return true;
        }
    }
    return name_count == 0;
}

static bool test_left_out(const test_case* test)
{
    for (int i = 0; i < without_count; i++) {
        if (strstr(test->name, without[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static double time_now(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// CPU seconds of the process: of the test and the threads it started. WASI has no such clock.
static double time_cpu(void)
{
#ifdef __wasi__
    return 0;
#else
    return (double)clock() / CLOCKS_PER_SEC;
#endif
}

static int test_run(const test_case* test)
{
    double start = time_now();
    double cpu_start = time_cpu();
    test_outcome = 0;
    seed_state = 0;
    orr_assert_handler_set(assert_handler);
    if (setjmp(test_exit) == 0) {
        test->run();
    }
    if (test_outcome == 1) {
        fprintf(stderr, "FAILED %s\n", test->name);
        if (seed_asked) {
            fprintf(stderr, "  repeat with: --seed %" PRIu64 " %s\n", seed_value, test->name);
        }
    }
    if (times_shown) {
        printf("took %.3f s, %.3f s CPU: %s\n", time_now() - start, time_cpu() - cpu_start,
               test->name);
        fflush(stdout); // A crash of the next test must not take it along.
    }
    return test_outcome;
}

int main(int argc, char** argv)
{
    char* names[64];
    int name_count = 0, passed = 0, failed = 0, skipped = 0, left_out = 0;
    bool list = false;
    const char* seed_text = getenv("ORR_SEED");
    long_run = getenv("ORR_LONG") != NULL && strcmp(getenv("ORR_LONG"), "0") != 0;
    quick_run = !long_run && getenv("ORR_QUICK") != NULL;
    brief_run = !long_run && getenv("ORR_BRIEF") != NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--list") == 0) {
            list = true;
        } else if (strcmp(argv[i], "--file") == 0 && i + 1 < argc) {
            only_file = argv[++i];
        } else if (strcmp(argv[i], "--without") == 0 && i + 1 < argc) {
            if (without_count < WITHOUT_MAX) {
                without[without_count++] = argv[++i];
            }
        } else if (strcmp(argv[i], "--times") == 0) {
            times_shown = true;
        } else if (strcmp(argv[i], "--long") == 0) {
            long_run = true;
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            seed_text = argv[++i];
        } else if (name_count < 64) {
            names[name_count++] = argv[i];
        }
    }
    seed_given = seed_text != NULL;
    seed_value = seed_given ? strtoull(seed_text, NULL, 0) : (uint64_t)time(NULL);
    for (const test_case* test = tests_first; test != NULL; test = test->next) {
        if (!test_selected(test, names, name_count)) {
            continue;
        }
        if (test_left_out(test)) {
            left_out++;
        } else if (list) {
            puts(test->name);
        } else {
            int outcome = test_run(test);
            passed += outcome == 0;
            failed += outcome == 1;
            skipped += outcome == 2;
        }
    }
    if (list) {
        return 0;
    }
    if (seed_asked) {
        printf("seed %" PRIu64 "\n", seed_value);
    }
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    // No test ran: a name is misspelt, unless --without left all of them out.
    return failed > 0 || passed + skipped + left_out == 0;
}
