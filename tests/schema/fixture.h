// SPDX-License-Identifier: MIT
// A schema without a world: memory is checked and refusals are counted.
#ifndef ORR_SCHEMA_FIXTURE_H
#define ORR_SCHEMA_FIXTURE_H

#include "schema/schema.h"
#include "support/failing_alloc.h"
#include "test.h"

typedef struct fixture {
    failing_alloc memory;
    orri_env env;
    orri_schema schema;
    uint32_t refusals;
    orr_result last;
    char log[512]; // The last line of the log.
} fixture;

static inline void fixture_refused(void* owner, orr_result result, orr_log_id id, const char* text)
{
    fixture* f = owner;
    (void)id;
    (void)text;
    f->refusals++;
    f->last = result;
}

static inline void fixture_logged(void* user, const orr_log_line* line)
{
    fixture* f = user;
    snprintf(f->log, sizeof f->log, "%d %s", (int)line->id, line->text);
}

static inline void fixture_begin_max(fixture* f, uint32_t type_max)
{
    memset(f, 0, sizeof *f);
    f->memory.fill = true;
    f->memory.fresh_byte = 0xAA;
    f->memory.freed_byte = 0x55;
    orr_allocator allocator = failing_alloc_allocator(&f->memory);
    orr_log_desc log = {.level = ORR_LOG_DEBUG, .sink = fixture_logged, .user = f};
    orri_env_init(&f->env, NULL, &allocator, 0, &log);
    f->env.on_refusal = fixture_refused;
    f->env.on_refusal_owner = f;
    orri_schema_init(&f->schema, &f->env, type_max);
}

static inline void fixture_begin(fixture* f)
{
    fixture_begin_max(f, 4096);
}

// Checks that all memory was freed and that every refusal was expected.
static inline void fixture_end(fixture* f)
{
    CHECK_EQ(f->refusals, 0);
    CHECK_OK(orri_schema_validate(&f->schema));
    orri_schema_term(&f->schema);
    CHECK_EQ(f->env.total.bytes, 0);
    failing_alloc_check(&f->memory);
}

// Checks that there was exactly one refusal since the last check, with this text in it.
#define CHECK_REFUSED(f, result_, part)                  \
    do {                                                 \
        CHECK_EQ((f)->refusals, 1);                      \
        CHECK_STR(orr_result_name((f)->last), #result_); \
        CHECK_CONTAINS((f)->env.error_text, part);       \
        (f)->refusals = 0;                               \
    } while (0)

static inline const orri_type* fixture_type(fixture* f, const orr_type_desc* desc)
{
    orr_type type = {0};
    orr_result result = orri_type_register(&f->schema, desc, &type);
    if (result != ORR_OK) {
        test_fail(__FILE__, __LINE__, "%s: %s", orr_result_name(result), f->env.error_text);
    }
    return orri_type_at(&f->schema, type);
}

static inline orr_string fixture_string(fixture* f, const char* text)
{
    orr_string string = {0};
    CHECK(orri_blob_make(&f->schema, text, (uint32_t)strlen(text), 1, &string));
    return string;
}

// The text of a value, in a buffer that stays valid until the fourth call after.
static inline const char* fixture_print(const orri_type* type, const void* value)
{
    static char buffers[4][8192];
    static unsigned turn;
    char* buffer = buffers[turn++ % 4];
    size_t length = orr_value_print(&type->info, value, buffer, sizeof buffers[0]);
    CHECK(length < sizeof buffers[0]);
    CHECK_EQ(strlen(buffer), length);
    return buffer;
}

#endif
