// SPDX-License-Identifier: MIT
// The test harness. A test registers itself; its name reads subject_condition_outcome:
//
//     ORR_TEST(queue_full_send_returns_capacity)
//     {
//         CHECK_EQ(orr_queue_send(...), ORR_ERR_CAPACITY);
//     }
//
// The test files of a module are one program, `tests_store`; a target of its own makes a program of
// one file, `test_batch`, for a debugger. Options of both:
//
//     NAME…              runs the tests whose name contains NAME
//     --file test_batch  runs the tests of that file only
//     --without NAME     leaves out the tests whose name contains NAME
//     --seed N           sets test_seed()
//     --long             runs more rounds
//     --times            prints how long each test took
//     --list             prints the names of the tests
//
// A failed check ends its test; the rest still run. Each file is run in a process of its own (./dev
// test, ctest), so that a crash, a handler or a changed locale concerns no other file.
#ifndef ORR_TEST_H
#define ORR_TEST_H

#include <inttypes.h>
#include <orrery/base.h>
#include <stdio.h>
#include <string.h>

// True for results of ticks that ran to their end although systems made mistakes, as those of random
// worlds do: they send changes for dead entities, absent components or null, names that are taken,
// and more than limits allow.
static inline bool test_ticks_ran(orr_result result)
{
    return result == ORR_OK || result == ORR_ERR_ENTITY || result == ORR_ERR_ABSENT ||
           result == ORR_ERR_CONFLICT || result == ORR_ERR_CAPACITY || result == ORR_ERR_ARGUMENT;
}

typedef struct test_case {
    const char* name;
    const char* file; // The .c file, also for a test that a header brings.
    void (*run)(void);
    struct test_case* next;
} test_case;

void test_register(test_case* test);
_Noreturn void test_fail(const char* file, int line, const char* format, ...) ORR_PRINTF(3, 4);
// The seed of this run: from --seed, from ORR_SEED, or from the clock; printed when a test that
// asked fails, and at the end if any asked.
uint64_t test_seed(void);
// A number from the seed, a new one with each call.
uint64_t test_random(void);
// True under --long (or ORR_LONG=1).
bool test_long(void);
// True where everything takes ten times as long: under sanitizers, and without optimisation. Also
// in `./dev test --quick` (ORR_QUICK=1), which wants few rounds.
bool test_slow(void);
// True under TSan, which finds races between threads and is the slowest build: code of a single
// thread is tested in the other builds.
bool test_races(void);
// True in the stages asan and tsan of a `./dev test` without --long (ORR_BRIEF=1): a test that
// repeats itself (other seeds, other numbers of workers, each refused allocation) repeats less
// often.
bool test_brief(void);
// Number of rounds: `usual`, `few` in slow builds (half of them in brief runs), `many` with --long
// (a tenth of them in slow builds).
uint32_t test_rounds(uint32_t usual, uint32_t few, uint32_t many);
// Ends the test as skipped with a reason that is printed.
_Noreturn void test_skip(const char* reason);

#define ORR_TEST(name)                                                 \
    static void name(void);                                            \
    static test_case name##_case = {#name, __BASE_FILE__, name, NULL}; \
    __attribute__((constructor)) static void name##_register(void)     \
    {                                                                  \
        test_register(&name##_case);                                   \
    }                                                                  \
    static void name(void)

#define CHECK(condition) \
    ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, "%s is false", #condition))
#define CHECK_EQ(actual, expected)                                                            \
    do {                                                                                      \
        long long check_a = (long long)(actual), check_e = (long long)(expected);             \
        if (check_a != check_e) {                                                             \
            test_fail(__FILE__, __LINE__, "%s is %lld (0x%llx), expected %s = %lld (0x%llx)", \
                      #actual, check_a, (unsigned long long)check_a, #expected, check_e,      \
                      (unsigned long long)check_e);                                           \
        }                                                                                     \
    } while (0)
#define CHECK_STR(actual, expected)                                                           \
    do {                                                                                      \
        const char *check_a = (actual), *check_e = (expected);                                \
        if (check_a == NULL || strcmp(check_a, check_e) != 0) {                               \
            test_fail(__FILE__, __LINE__, "%s is\n    \"%s\", expected\n    \"%s\"", #actual, \
                      check_a != NULL ? check_a : "(null)", check_e);                         \
        }                                                                                     \
    } while (0)
#define CHECK_CONTAINS(actual, part)                                                             \
    do {                                                                                         \
        const char *check_a = (actual), *check_p = (part);                                       \
        if (check_a == NULL || strstr(check_a, check_p) == NULL) {                               \
            test_fail(__FILE__, __LINE__, "%s is\n    \"%s\", which lacks\n    \"%s\"", #actual, \
                      check_a != NULL ? check_a : "(null)", check_p);                            \
        }                                                                                        \
    } while (0)
#define CHECK_OK(result)                                                                  \
    do {                                                                                  \
        orr_result check_r = (result);                                                    \
        if (check_r != ORR_OK) {                                                          \
            test_fail(__FILE__, __LINE__, "%s is %s", #result, orr_result_name(check_r)); \
        }                                                                                 \
    } while (0)
#define CHECK_RESULT(result, expected)                                      \
    do {                                                                    \
        orr_result check_r = (result);                                      \
        if (check_r != (expected)) {                                        \
            test_fail(__FILE__, __LINE__, "%s is %s, expected %s", #result, \
                      orr_result_name(check_r), orr_result_name(expected)); \
        }                                                                   \
    } while (0)

#endif
