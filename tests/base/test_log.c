// SPDX-License-Identifier: MIT
// The log: which lines pass, what a sink receives, and the rate limit.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../test.h"

#include "../support/fake_platform.h"
#include "base/env.h"
#include <errno.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

typedef struct page {
    orri_env* env; // If set, the sink logs one line into it, once.
    _Atomic uint32_t count;
    orr_log_line last;
    char text[ORRI_ERROR_SIZE];
} page;

static void page_write(void* user, const orr_log_line* line)
{
    page* lines = user;
    lines->last = *line;
    snprintf(lines->text, sizeof lines->text, "%s", line->text);
    lines->last.text = lines->text;
    atomic_fetch_add(&lines->count, 1);
    if (lines->env != NULL) {
        orri_env* env = lines->env;
        lines->env = NULL;
        orri_log(env, line->id, "from the sink");
    }
}

typedef struct setting {
    fake_platform fake;
    page lines;
    orri_env env;
} setting;

static void setting_init(setting* set, orr_log_level level, uint32_t lines_per_second)
{
    memset(&set->lines, 0, sizeof set->lines);
    fake_platform_init(&set->fake);
    orri_env_init(&set->env, &set->fake.table, NULL, 0,
                  &(orr_log_desc){.level = level,
                                  .lines_per_second = lines_per_second,
                                  .sink = page_write,
                                  .user = &set->lines});
}

static void log_at(orri_env* env, orr_log_id id, orr_log_level level, const char* format, ...)
    ORR_PRINTF(4, 5);

static void log_at(orri_env* env, orr_log_id id, orr_log_level level, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    orri_log_v(env, id, level, format, args);
    va_end(args);
}

ORR_TEST(log_line_has_level_category_and_id_of_its_item) /* N3-10 */
{
    setting set;
    setting_init(&set, ORR_LOG_DEFAULT, 0);
    orri_log(&set.env, ORR_LOG_ID_CLUSTER_REFUSED, "cluster %u is gone", 12u);
    CHECK_EQ(set.lines.count, 1);
    CHECK_EQ(set.lines.last.level, ORR_LOG_ERROR);
    CHECK_EQ(set.lines.last.category, ORR_LOG_CATEGORY_STORE);
    CHECK_EQ(set.lines.last.id, 3002);
    CHECK_EQ(set.lines.last.suppressed, 0);
    CHECK_STR(set.lines.text, "cluster 12 is gone");
}

ORR_TEST(log_ids_keep_their_numbers) /* N3-10 */
{
    CHECK_EQ(ORR_LOG_ID_MEMORY_REFUSED, 1001);
    CHECK_EQ(ORR_LOG_ID_LINES_SUPPRESSED, 1002);
    CHECK_EQ(ORR_LOG_ID_TYPE_REFUSED, 2001);
    CHECK_EQ(ORR_LOG_ID_VALUE_REFUSED, 2002);
    CHECK_EQ(ORR_LOG_ID_TYPE_REGISTERED, 2003);
    CHECK_EQ(ORR_LOG_ID_ENTITY_REFUSED, 3001);
    CHECK_EQ(ORR_LOG_ID_CALL_REFUSED, 3003);
    CHECK_EQ(ORR_LOG_ID_SHARE_LOST, 3004);
    CHECK_EQ(ORR_LOG_ID_WORLD_CORRUPT, 3005);
    CHECK_EQ(ORR_LOG_ID_LEAK, 3006);
    CHECK_EQ(ORR_LOG_ID_USER_LINE, 9001);
}

ORR_TEST(log_every_item_writes_its_own_line){
#define X(number, name, item_level, item_category)                           \
    {                                                                        \
        setting set;                                                         \
        setting_init(&set, ORR_LOG_TRACE, 0);                                \
        orri_log(&set.env, ORR_LOG_ID_##name, "text");                       \
        CHECK_EQ(set.lines.count, 1);                                        \
        CHECK_EQ(set.lines.last.id, number);                                 \
        CHECK_EQ(set.lines.last.level, ORR_LOG_##item_level);                \
        CHECK_EQ(set.lines.last.category, ORR_LOG_CATEGORY_##item_category); \
        CHECK_EQ(set.env.rates[ORRI_LOG_INDEX_##name].lines, 1);             \
        CHECK_STR(orr_log_id_name((orr_log_id)number), #name);               \
    }
    ORR_LOG_ITEMS(X)
#undef X
}

ORR_TEST(log_names_are_never_null)
{
    CHECK_STR(orr_log_level_name(ORR_LOG_DEFAULT), "default");
    CHECK_STR(orr_log_level_name(ORR_LOG_TRACE), "trace");
    CHECK_STR(orr_log_level_name(ORR_LOG_WARNING), "warning");
    CHECK_STR(orr_log_level_name(ORR_LOG_OFF), "off");
    CHECK_STR(orr_log_level_name((orr_log_level)(ORR_LOG_OFF + 1)), "?");
    CHECK_STR(orr_log_category_name(ORR_LOG_CATEGORY_BASE), "base");
    CHECK_STR(orr_log_category_name(ORR_LOG_CATEGORY_USER), "user");
    CHECK_STR(orr_log_category_name(ORR_LOG_CATEGORY_COUNT), "?");
    CHECK_STR(orr_log_id_name(ORR_LOG_ID_ENTITY_REFUSED), "ENTITY_REFUSED");
    CHECK_STR(orr_log_id_name(ORR_LOG_ID_USER_LINE), "USER_LINE");
    CHECK_STR(orr_log_id_name((orr_log_id)5), "?");
}

ORR_TEST(log_below_the_level_is_dropped_and_reads_no_clock) /* N3-10 */
{
    setting set;
    setting_init(&set, ORR_LOG_DEFAULT, 0);
    orri_log(&set.env, ORR_LOG_ID_TYPE_REGISTERED, "debug, below info");
    CHECK_EQ(set.lines.count, 0);
    CHECK_EQ(set.fake.clock_reads, 0);
    orri_log(&set.env, ORR_LOG_ID_USER_LINE, "info");
    CHECK_EQ(set.lines.count, 1);
    setting_init(&set, ORR_LOG_TRACE, 0);
    orri_log(&set.env, ORR_LOG_ID_TYPE_REGISTERED, "debug, above trace");
    CHECK_EQ(set.lines.count, 1);
    setting_init(&set, ORR_LOG_OFF, 0);
    orri_log(&set.env, ORR_LOG_ID_WORLD_CORRUPT, "error");
    CHECK_EQ(set.lines.count, 0);
}

ORR_TEST(log_levels_of_categories_are_independent) /* N3-10 */
{
    setting set;
    setting_init(&set, ORR_LOG_DEFAULT, 0);
    set.env.levels[ORR_LOG_CATEGORY_SCHEMA] = ORR_LOG_DEBUG;
    set.env.levels[ORR_LOG_CATEGORY_STORE] = ORR_LOG_OFF;
    orri_log(&set.env, ORR_LOG_ID_TYPE_REGISTERED, "debug of schema");
    CHECK_EQ(set.lines.count, 1);
    orri_log(&set.env, ORR_LOG_ID_WORLD_CORRUPT, "error of store");
    CHECK_EQ(set.lines.count, 1);
    orri_log(&set.env, ORR_LOG_ID_MEMORY_REFUSED, "error of base");
    CHECK_EQ(set.lines.count, 2);
}

ORR_TEST(log_level_of_a_call_replaces_that_of_the_item)
{
    setting set;
    setting_init(&set, ORR_LOG_WARNING, 0);
    orri_log(&set.env, ORR_LOG_ID_USER_LINE, "info");
    CHECK_EQ(set.lines.count, 0);
    log_at(&set.env, ORR_LOG_ID_USER_LINE, ORR_LOG_ERROR, "number %d", 3);
    CHECK_EQ(set.lines.count, 1);
    CHECK_EQ(set.lines.last.level, ORR_LOG_ERROR);
    CHECK_STR(set.lines.text, "number 3");
    log_at(&set.env, ORR_LOG_ID_USER_LINE, ORR_LOG_OFF, "a threshold, no level");
    CHECK_EQ(set.lines.count, 1);
}

ORR_TEST(log_of_an_unknown_id_is_a_user_line)
{
    setting set;
    setting_init(&set, ORR_LOG_DEFAULT, 0);
    orri_log(&set.env, (orr_log_id)4242, "who?");
    CHECK_EQ(set.lines.count, 1);
    CHECK_EQ(set.lines.last.id, ORR_LOG_ID_USER_LINE);
    CHECK_EQ(set.lines.last.category, ORR_LOG_CATEGORY_USER);
    CHECK_EQ(set.lines.last.level, ORR_LOG_INFO);
}

// ---- the rate limit -----------------------------------------------------------------------------

ORR_TEST(log_over_the_rate_is_counted_and_reported_by_the_next_line) /* N3-10 */
{
    setting set;
    setting_init(&set, ORR_LOG_DEFAULT, 3);
    set.fake.now_ns = 5 * SECOND;
    for (int i = 0; i < 10; i++) {
        orri_log(&set.env, ORR_LOG_ID_ENTITY_REFUSED, "line %d", i);
    }
    CHECK_EQ(set.lines.count, 3);
    CHECK_STR(set.lines.text, "line 2");
    orri_log(&set.env, ORR_LOG_ID_CALL_REFUSED, "another id has its own budget");
    CHECK_EQ(set.lines.count, 4);
    CHECK_EQ(set.lines.last.suppressed, 0);
    set.fake.now_ns += SECOND - 1;
    orri_log(&set.env, ORR_LOG_ID_ENTITY_REFUSED, "line %d", 10);
    CHECK_EQ(set.lines.count, 4);
    set.fake.now_ns += 1;
    orri_log(&set.env, ORR_LOG_ID_ENTITY_REFUSED, "next second");
    CHECK_EQ(set.lines.count, 5);
    CHECK_STR(set.lines.text, "next second");
    CHECK_EQ(set.lines.last.suppressed, 8);
    orri_log(&set.env, ORR_LOG_ID_ENTITY_REFUSED, "written once");
    CHECK_EQ(set.lines.last.suppressed, 0);
    CHECK_EQ(set.lines.count, 6);
}

ORR_TEST(log_window_begins_with_its_first_line)
{
    setting set;
    setting_init(&set, ORR_LOG_DEFAULT, 2);
    set.fake.now_ns = SECOND * 9 / 10;
    orri_log(&set.env, ORR_LOG_ID_LEAK, "0.9");
    orri_log(&set.env, ORR_LOG_ID_LEAK, "0.9");
    set.fake.now_ns = SECOND * 11 / 10;
    orri_log(&set.env, ORR_LOG_ID_LEAK, "1.1"); // 0.2 s later
    CHECK_EQ(set.lines.count, 2);
    set.fake.now_ns = SECOND * 5;
    orri_log(&set.env, ORR_LOG_ID_LEAK, "5.0");
    set.fake.now_ns = SECOND * 59 / 10;
    orri_log(&set.env, ORR_LOG_ID_LEAK, "5.9");
    orri_log(&set.env, ORR_LOG_ID_LEAK, "5.9");
    CHECK_EQ(set.lines.count, 4);
}

// A flood of one error does not hide another error with the same id.
ORR_TEST(log_writes_the_first_line_of_a_kind_over_the_rate)
{
    setting set;
    setting_init(&set, ORR_LOG_DEFAULT, 3);
    for (int i = 0; i < 20; i++) {
        orri_log(&set.env, ORR_LOG_ID_ACCESS_VIOLATION, "system 'a', entity %dv1", i);
        orri_log(&set.env, ORR_LOG_ID_ACCESS_VIOLATION, "system 'a', entity %dv1", i);
    }
    CHECK_EQ(set.lines.count, 3);
    orri_log(&set.env, ORR_LOG_ID_ACCESS_VIOLATION, "system 'b', entity %dv1", 7);
    CHECK_EQ(set.lines.count, 4);
    CHECK_STR(set.lines.text, "system 'b', entity 7v1");
    CHECK_EQ(set.lines.last.suppressed, 37);
    orri_log(&set.env, ORR_LOG_ID_ACCESS_VIOLATION, "system 'b', entity %dv1", 8);
    CHECK_EQ(set.lines.count, 4);
    // Texts that differ in each line, such as names, are limited too.
    for (int i = 0; i < 100; i++) {
        orri_log(&set.env, ORR_LOG_ID_ACCESS_VIOLATION, "%c%c", 'a' + i % 26, 'a' + i / 26);
    }
    CHECK_EQ(set.lines.count, 2 + ORRI_LOG_KINDS);
    set.fake.now_ns += SECOND; // The next second begins anew.
    orri_log(&set.env, ORR_LOG_ID_ACCESS_VIOLATION, "zz");
    CHECK_EQ(set.lines.count, 3 + ORRI_LOG_KINDS);
}

ORR_TEST(log_default_rate_is_16)
{
    setting set;
    setting_init(&set, ORR_LOG_DEFAULT, 0);
    for (int i = 0; i < 100; i++) {
        orri_log(&set.env, ORR_LOG_ID_USER_LINE, "again");
    }
    CHECK_EQ(set.lines.count, 16);
}

ORR_TEST(log_flush_reports_lines_dropped_since_the_last_report) /* N3-10 */
{
    setting set;
    setting_init(&set, ORR_LOG_DEFAULT, 1);
    orri_log_flush(&set.env);
    CHECK_EQ(set.lines.count, 0);
    for (int i = 0; i < 5; i++) {
        orri_log(&set.env, ORR_LOG_ID_MEMORY_REFUSED, "a");
        orri_log(&set.env, ORR_LOG_ID_LEAK, "b");
    }
    orri_log(&set.env, ORR_LOG_ID_LEAK, "b");
    CHECK_EQ(set.lines.count, 2);
    orri_log_flush(&set.env);
    CHECK_EQ(set.lines.count, 3);
    CHECK_EQ(set.lines.last.id, ORR_LOG_ID_LINES_SUPPRESSED);
    CHECK_EQ(set.lines.last.level, ORR_LOG_WARNING);
    CHECK_STR(set.lines.text, "lines suppressed by the rate limit: MEMORY_REFUSED 4, LEAK 5");
    orri_log_flush(&set.env);
    CHECK_EQ(set.lines.count, 3);
    orri_log(&set.env, ORR_LOG_ID_LEAK, "b");
    set.env.levels[ORR_LOG_CATEGORY_BASE] = ORR_LOG_ERROR;
    orri_log_flush(&set.env);
    CHECK_EQ(set.lines.count, 3);
}

static void log_run(void* data)
{
    for (int i = 0; i < 500; i++) {
        orri_log(data, ORR_LOG_ID_USER_LINE, "line %d", i);
    }
}

static void page_count(void* user, const orr_log_line* line)
{
    (void)line;
    atomic_fetch_add((_Atomic uint32_t*)user, 1);
}

ORR_TEST(log_from_many_threads_keeps_the_rate_and_counts_the_rest)
{
    fake_platform fake;
    fake_platform_init(&fake);
    _Atomic uint32_t count = 0;
    orri_env env;
    orri_env_init(&env, &fake.table, NULL, 0,
                  &(orr_log_desc){.lines_per_second = 10, .sink = page_count, .user = &count});
    orr_thread threads[4];
    for (int i = 0; i < 4; i++) {
        if (fake.table.thread_create(NULL, "log", log_run, &env, &threads[i]) == ENOTSUP) {
            test_skip("built without threads");
        }
    }
    for (int i = 0; i < 4; i++) {
        fake.table.thread_join(NULL, threads[i]);
    }
    CHECK_EQ(count, 10);
    CHECK_EQ(env.rates[ORRI_LOG_INDEX_USER_LINE].suppressed, 4 * 500 - 10);
}

// ---- text ---------------------------------------------------------------------------------------

ORR_TEST(log_newlines_at_the_end_are_removed)
{
    setting set;
    setting_init(&set, ORR_LOG_DEFAULT, 0);
    orri_log(&set.env, ORR_LOG_ID_USER_LINE, "two\nlines\n\n");
    CHECK_STR(set.lines.text, "two\nlines");
    orri_log(&set.env, ORR_LOG_ID_USER_LINE, "%s", "\n");
    CHECK_STR(set.lines.text, "");
}

ORR_TEST(log_long_text_is_cut_with_an_ellipsis)
{
    setting set;
    setting_init(&set, ORR_LOG_DEFAULT, 0);
    orri_log(&set.env, ORR_LOG_ID_USER_LINE, "%511s", "x");
    CHECK_EQ(strlen(set.lines.text), 511);
    CHECK_STR(set.lines.text + 509, " x");
    orri_log(&set.env, ORR_LOG_ID_USER_LINE, "%512s", "x");
    CHECK_EQ(strlen(set.lines.text), 511);
    CHECK_STR(set.lines.text + 507, " …");
}

ORR_TEST(log_sink_may_log)
{
    setting set;
    setting_init(&set, ORR_LOG_DEFAULT, 0);
    set.lines.env = &set.env;
    orri_log(&set.env, ORR_LOG_ID_USER_LINE, "first");
    CHECK_EQ(set.lines.count, 2);
    CHECK_STR(set.lines.text, "from the sink");
}

// The text that the default sink writes to stderr for a line.
static void stderr_catch(const orr_log_line* line, char* text, size_t size)
{
    FILE* file = tmpfile();
    CHECK(file != NULL);
    fflush(stderr);
    int before = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    orri_log_sink_stderr(NULL, line);
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

ORR_TEST(log_default_sink_writes_one_line) /* N3-10 */
{
    char text[256];
    orr_log_line line = {ORR_LOG_ERROR, ORR_LOG_CATEGORY_STORE, ORR_LOG_ID_ENTITY_REFUSED,
                         "entity 7 is dead", 0};
    stderr_catch(&line, text, sizeof text);
    CHECK_STR(text, "orrery: error: entity 7 is dead [store 3001]\n");
    line.suppressed = 41;
    stderr_catch(&line, text, sizeof text);
    CHECK_STR(text, "orrery: error: entity 7 is dead [store 3001] (41 more suppressed)\n");
}
