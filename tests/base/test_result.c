// SPDX-License-Identifier: MIT
// Names, texts, the version, and assertions: the replaceable handler, and the default handler,
// which ends the process and is therefore tested in a child process.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

ORR_TEST(result_of_every_number_has_its_name_and_a_text)
{
    CHECK_STR(orr_result_name(ORR_OK), "ORR_OK");
    CHECK_STR(orr_result_text(ORR_OK), "ok");
    CHECK_STR(orr_result_name(ORR_ERR_MEMORY), "ORR_ERR_MEMORY");
    CHECK_STR(orr_result_text(ORR_ERR_ENTITY), "the entity is dead, null or of another world");
    CHECK_STR(orr_result_name(ORR_ERR_FAILED), "ORR_ERR_FAILED");
    for (int i = 0; i <= ORR_ERR_FAILED; i++) {
        CHECK_CONTAINS(orr_result_name((orr_result)i), "ORR_");
        CHECK(orr_result_text((orr_result)i)[0] != '\0');
    }
}

ORR_TEST(result_unknown_number_has_a_name_and_a_text)
{
    CHECK_STR(orr_result_name((orr_result)(ORR_ERR_FAILED + 1)), "?");
    CHECK_STR(orr_result_text((orr_result)-1), "not a result of this version");
}

ORR_TEST(version_is_that_of_the_header)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", ORR_VERSION_MAJOR, ORR_VERSION_MINOR,
             ORR_VERSION_PATCH);
    CHECK_STR(orr_version(), text);
}

ORR_TEST(memory_purpose_names_are_those_of_the_list)
{
    CHECK_STR(orr_memory_purpose_name(ORR_MEMORY_WORLD), "world");
    CHECK_STR(orr_memory_purpose_name(ORR_MEMORY_COLUMN), "column");
    CHECK_STR(orr_memory_purpose_name(ORR_MEMORY_TEMP), "temp");
    CHECK_STR(orr_memory_purpose_name(ORR_MEMORY_PURPOSE_COUNT), "?");
    CHECK_STR(orr_memory_purpose_name((orr_memory_purpose)-1), "?");
}

static const char* failed_condition;
static int failed_line, failed_count;

static void handler_note(const char* condition, const char* file, int line, const char* function)
{
    (void)file, (void)function;
    failed_condition = condition;
    failed_line = line;
    failed_count++;
}

ORR_TEST(assert_handler_receives_the_condition_and_the_call_continues)
{
    orr_assert_handler before = orr_assert_handler_set(handler_note);
    failed_count = 0;
    orr_assert_failed("one == two", "file.c", 7, "function");
    CHECK_EQ(failed_count, 1);
    CHECK_EQ(failed_line, 7);
    CHECK_STR(failed_condition, "one == two");
    CHECK(orr_assert_handler_set(before) == handler_note);
}

ORR_TEST(assert_macro_evaluates_once_and_only_when_on)
{
    orr_assert_handler before = orr_assert_handler_set(handler_note);
    int number = 0;
    failed_count = 0;
    (void)number;
    ORR_ASSERT(++number == 1);
    ORR_ASSERT(++number == 5);
    orr_assert_handler_set(before);
#ifdef ORR_NO_ASSERT
    CHECK_EQ(number, 0);
    CHECK_EQ(failed_count, 0);
#else
    CHECK_EQ(number, 2);
    CHECK_EQ(failed_count, 1);
    CHECK_STR(failed_condition, "++number == 5");
#endif
}

_Noreturn static void child_run(int output)
{
    dup2(output, STDERR_FILENO);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    signal(SIGABRT, SIG_DFL);
    orr_assert_handler_set(NULL);
    orr_assert_failed("rows > 0", "chunk.c", 12, "chunk_grow");
    _exit(0);
}

ORR_TEST(assert_default_handler_prints_and_aborts)
{
    int ends[2];
    char text[256] = "";
    CHECK_EQ(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        child_run(ends[1]);
    }
    close(ends[1]);
    ssize_t size = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(size > 0);
    CHECK_STR(text, "orrery: chunk.c:12: assertion failed in chunk_grow: rows > 0\n");
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
