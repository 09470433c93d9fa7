// SPDX-License-Identifier: MIT
// Shared by tests of systems: a line in which systems note that they ran, short ways to add systems
// and to read their statistics.
#ifndef TEST_SCHEDULE_KIT_H
#define TEST_SCHEDULE_KIT_H

#include "support/store_kit.h"
#include "test.h"
#include <orrery/schedule.h>

// ---- which systems ran, in order: "a b c" -------------------------------------------------------

ORR_MAYBE_UNUSED static char kit_line[4096];

ORR_MAYBE_UNUSED static void kit_say(const char* word)
{
    size_t length = strlen(kit_line);
    snprintf(kit_line + length, sizeof kit_line - length, "%s%s", length > 0 ? " " : "", word);
}

// The function of a system: notes its name.
ORR_MAYBE_UNUSED static void kit_run(orr_run* run)
{
    kit_say(orr_system_name(run->world, orr_run_self(run)));
}

ORR_MAYBE_UNUSED static void kit_say_of(orr_run* run, const char* what)
{
    char word[ORR_NAME_MAX + 32];
    snprintf(word, sizeof word, "%s.%s", orr_system_name(run->world, orr_run_self(run)), what);
    kit_say(word);
}

ORR_MAYBE_UNUSED static void kit_run_nothing(orr_run* run)
{
    (void)run;
}

// The function of an indirect system: notes its messages as kind:type:count:by. For entities added
// or removed the cause stands in place of the type.
ORR_MAYBE_UNUSED static void kit_note_messages(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        char word[3 * ORR_NAME_MAX];
        const char* by = orr_system_name(run->world, m->system);
        bool whole = m->kind == ORR_ENTITY_ADDED || m->kind == ORR_ENTITY_REMOVED;
        snprintf(word, sizeof word, "%s:%s:%u:%s", orr_message_kind_name(m->kind),
                 whole ? orr_cause_name(m->cause) : orr_type_info_get(run->world, m->type)->name,
                 m->count, by);
        kit_say(word);
    }
}

// Checks what was noted since the last check.
#define KIT_SAID(expected)             \
    do {                               \
        CHECK_STR(kit_line, expected); \
        kit_line[0] = '\0';            \
    } while (0)

// ---- systems ------------------------------------------------------------------------------------

#define KIT_ADD(world, ...) orr_system_add(world, &(orr_system_desc){__VA_ARGS__})

// Adds a system that must be accepted.
#define KIT_SYSTEM(world, ...) kit_taken(world, KIT_ADD(world, __VA_ARGS__), __FILE__, __LINE__)

ORR_MAYBE_UNUSED static orr_system kit_taken(orr_world* world, orr_system system, const char* file,
                                             int line)
{
    if (system.id == 0) {
        test_fail(file, line, "the system was refused: %s", orr_error_last(world));
    }
    return system;
}

ORR_MAYBE_UNUSED static orr_system_stats kit_stats(const orr_world* world, orr_system system)
{
    orr_system_stats stats;
    CHECK_OK(orr_system_stats_get(world, system, &stats));
    return stats;
}

// Runs ticks in which systems may make mistakes: all ticks run to their end. Returns the result of
// the step.
ORR_MAYBE_UNUSED static orr_result kit_run_refused(orr_world* world, uint32_t count)
{
    orr_pipeline_stats before, after;
    CHECK_OK(orr_pipeline_stats_get(world, (orr_pipeline){1}, &before));
    orr_result result = orr_step(world, count);
    CHECK(!orr_tick_open(world));
    CHECK_OK(orr_pipeline_stats_get(world, (orr_pipeline){1}, &after));
    CHECK_EQ(after.tick - before.tick, count);
    return result;
}
// Expects this result of ticks that all run to their end.
#define KIT_STEP_RESULT(world, count, expected) \
    CHECK_RESULT(kit_run_refused(world, count), expected)
// Expects that something is refused in these ticks.
#define KIT_STEP_REFUSED(world, count) CHECK(kit_run_refused(world, count) != ORR_OK)

#define KIT_STEP(world, count)                                                                \
    do {                                                                                      \
        if (orr_step(world, count) != ORR_OK) {                                               \
            test_fail(__FILE__, __LINE__, "orr_step was refused: %s", orr_error_last(world)); \
        }                                                                                     \
    } while (0)

// Checks an error and its text, then clears it.
#define KIT_ERROR(k, expected_result, part)                \
    do {                                                   \
        CHECK((k)->errors.count > 0);                      \
        CHECK_CONTAINS((k)->errors.text, part);            \
        CHECK_RESULT((k)->errors.result, expected_result); \
        (k)->errors = (kit_errors){0};                     \
    } while (0)

// One of some texts or NULL, for descs of random systems. The last of `texts` is NULL.
ORR_MAYBE_UNUSED static const char* kit_pick(const char* const* texts, uint32_t one_in)
{
    uint32_t count = 0;
    while (texts[count] != NULL) {
        count++;
    }
    return test_random() % one_in == 0 ? texts[test_random() % count] : NULL;
}

#define KIT_PICK(one_in, ...) kit_pick((const char* const[]){__VA_ARGS__, NULL}, one_in)

// The result of a tick that lacked memory when it began, and continued. ORR_ERR_CAPACITY: no ids
// could be reserved for a system that creates.
ORR_MAYBE_UNUSED static bool kit_memory_short(orr_result result)
{
    return result == ORR_ERR_MEMORY || result == ORR_ERR_CAPACITY;
}

// Runs in real time after a run that was refused memory. Each tick that stayed open returns at its
// end what it lacks. On a loaded machine the ticks of several pipelines end in several runs.
ORR_MAYBE_UNUSED static orr_result kit_realtime_recover(orr_world* world, uint64_t ticks)
{
    orr_result result = ORR_OK;
    for (uint32_t i = 0; i < 8; i++) {
        result = orr_realtime(world, &(orr_realtime_desc){.ticks = ticks});
        if (!kit_memory_short(result)) {
            break;
        }
    }
    return result;
}

#endif
