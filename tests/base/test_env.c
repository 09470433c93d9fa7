// SPDX-License-Identifier: MIT
// Initialising an env, and refusals with their texts.
#include "../test.h"

#include "../support/fake_platform.h"
#include "base/env.h"
#include "base/util.h"

typedef struct received {
    int count;
    orr_result result;
    orr_log_id id;
    char text[ORRI_ERROR_SIZE];
} received;

static void refusal_receive(void* owner, orr_result result, orr_log_id id, const char* text)
{
    received* note = owner;
    note->count++;
    note->result = result;
    note->id = id;
    snprintf(note->text, sizeof note->text, "%s", text);
}

static void line_receive(void* user, const orr_log_line* line)
{
    refusal_receive(user, ORR_OK, line->id, line->text);
}

ORR_TEST(env_defaults_are_filled_in)
{
    orri_env env;
    memset(&env, 0xEE, sizeof env);
    orri_env_init(&env, NULL, NULL, 0, NULL);
    CHECK(env.platform == orr_platform_default());
    CHECK(env.allocator.alloc != NULL && env.allocator.free != NULL);
    CHECK(env.sink != NULL);
    CHECK_EQ(env.lines_per_second, 16);
    CHECK_EQ(env.bytes_max, 0);
    CHECK_EQ(env.total.bytes, 0);
    CHECK_STR(env.error_text, "");
    for (int i = 0; i < ORR_LOG_CATEGORY_COUNT; i++) {
        CHECK_EQ(env.levels[i], ORR_LOG_INFO);
    }
}

ORR_TEST(env_settings_are_applied)
{
    fake_platform fake;
    fake_platform_init(&fake);
    received note = {0};
    orri_env env;
    orri_env_init(
        &env, &fake.table, &(orr_allocator){0}, 1000,
        &(orr_log_desc){
            .level = ORR_LOG_TRACE, .lines_per_second = 3, .sink = line_receive, .user = &note});
    CHECK(env.platform == &fake.table);
    CHECK(env.allocator.alloc == fake.table.memory_alloc && env.allocator.user == &fake);
    CHECK_EQ(env.bytes_max, 1000);
    CHECK_EQ(env.lines_per_second, 3);
    CHECK_EQ(env.levels[ORR_LOG_CATEGORY_STORE], ORR_LOG_TRACE);
    CHECK(env.sink == line_receive && env.sink_user == &note);
}

ORR_TEST(refusal_without_an_owner_goes_to_the_log)
{
    received note = {0};
    orri_env env;
    orri_env_init(&env, NULL, NULL, 0, &(orr_log_desc){.sink = line_receive, .user = &note});
    orr_result result =
        orri_refuse(&env, ORR_ERR_ENTITY, ORR_LOG_ID_ENTITY_REFUSED, "entity %d is dead, 100%%", 7);
    CHECK_RESULT(result, ORR_ERR_ENTITY);
    CHECK_EQ(note.count, 1);
    CHECK_EQ(note.id, ORR_LOG_ID_ENTITY_REFUSED);
    CHECK_STR(note.text, "entity 7 is dead, 100%");
    CHECK_STR(env.error_text, "entity 7 is dead, 100%");
}

ORR_TEST(refusal_with_an_owner_goes_only_to_the_owner)
{
    received owner = {0}, log = {0};
    orri_env env;
    orri_env_init(&env, NULL, NULL, 0, &(orr_log_desc){.sink = line_receive, .user = &log});
    env.on_refusal = refusal_receive;
    env.on_refusal_owner = &owner;
    CHECK_RESULT(orri_refuse_memory(&env, "growing the index"), ORR_ERR_MEMORY);
    CHECK_EQ(owner.count, 1);
    CHECK_EQ(log.count, 0);
    CHECK_RESULT(owner.result, ORR_ERR_MEMORY);
    CHECK_EQ(owner.id, ORR_LOG_ID_MEMORY_REFUSED);
    CHECK_STR(owner.text,
              "out of memory while growing the index; 0 bytes are in use and the allocator "
              "returned NULL");
    env.bytes_max = 4096;
    CHECK_RESULT(orri_refuse_memory(&env, "growing"), ORR_ERR_MEMORY);
    CHECK_STR(owner.text, "out of memory while growing; 0 of at most 4096 bytes are in use "
                          "(memory_bytes_max)");
}

ORR_TEST(refusal_may_quote_the_previous_refusal)
{
    received owner = {0};
    orri_env env;
    orri_env_init(&env, NULL, NULL, 0, NULL);
    env.on_refusal = refusal_receive;
    env.on_refusal_owner = &owner;
    CHECK_RESULT(orri_refuse(&env, ORR_ERR_FIELD, ORR_LOG_ID_VALUE_REFUSED, "no field \"q\""),
                 ORR_ERR_FIELD);
    CHECK_RESULT(
        orri_refuse(&env, ORR_ERR_PARSE, ORR_LOG_ID_VALUE_REFUSED, "line 3: %s", env.error_text),
        ORR_ERR_PARSE);
    CHECK_STR(env.error_text, "line 3: no field \"q\"");
}

ORR_TEST(refusal_too_long_is_cut_between_characters)
{
    received owner = {0};
    char name[700];
    orri_env env;
    orri_env_init(&env, NULL, NULL, 0, NULL);
    env.on_refusal = refusal_receive;
    env.on_refusal_owner = &owner;
    for (size_t i = 0; i + 2 < sizeof name; i += 2) {
        memcpy(name + i, "\xC3\xA9", 3); // é, two bytes.
    }
    CHECK_RESULT(orri_refuse(&env, ORR_ERR_NAME, ORR_LOG_ID_TYPE_REFUSED, "%s", name),
                 ORR_ERR_NAME);
    // 511 bytes of room: 508 of é, then 3 of the ellipsis.
    CHECK_EQ(strlen(env.error_text), 511);
    CHECK_STR(env.error_text + 506, "é…");
    CHECK_RESULT(orri_refuse(&env, ORR_ERR_NAME, ORR_LOG_ID_TYPE_REFUSED, "x%s", name),
                 ORR_ERR_NAME);
    CHECK_EQ(strlen(env.error_text), 510);
    CHECK_STR(env.error_text + 505, "é…");
}
