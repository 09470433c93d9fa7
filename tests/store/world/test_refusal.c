// SPDX-License-Identifier: MIT
// Bad input of every public function: it returns an error or null, the text names entity and type,
// and the world is unchanged.
#include "support/store_kit.h"
#include "test.h"

#include <stdlib.h>

typedef struct refusal {
    kit k;
    orr_world* world;
    uint64_t hash;
    uint32_t errors;
    orr_entity bob, dead, foreign;
    orr_type position, health, unknown;
    orr_cluster cluster, stale;
} refusal;

static refusal r;

static void refusal_begin(void)
{
    memset(&r, 0, sizeof r);
    r.world = kit_begin(&r.k, &(orr_world_desc){.id_salt = 1});
    r.position = KIT_TYPE(r.world, Position);
    r.health = KIT_TYPE(r.world, Health);
    r.unknown = (orr_type){500};
    r.cluster = KIT_CLUSTER(r.world, Position);
    orr_tag tag = 1;
    r.stale = kit_cluster(r.world, &r.health, 1, &tag, 1);
    CHECK_OK(orr_cluster_delete(r.world, r.stale));
    r.bob = orr_create_in(r.world, r.cluster);
    r.dead = orr_create(r.world);
    CHECK_OK(orr_destroy(r.world, r.dead));
    r.foreign = (orr_entity){r.bob.id ^ ((uint64_t)3 << 56)};
    r.hash = orr_world_hash(r.world);
    r.errors = r.k.errors.count;
}

// The name of a call in texts: that of the macro that programs write, orr_set for
// orr_component_set. Batch calls have no macro.
static const char* refused_name(const char* call)
{
    static char name[64];
    size_t prefix = strlen("orr_component_");
    bool macro = strncmp(call, "orr_component_", prefix) == 0 && strstr(call, "_many") == NULL;
    (void)snprintf(name, sizeof name, "%s%s", macro ? "orr_" : "", call + (macro ? prefix : 0));
    return name;
}

// The last call must have been refused with this result and a text that has all of these names, and
// changed nothing.
static void refused(orr_result result, orr_result expected, const char* call, const char* name)
{
    CHECK_RESULT(result, expected);
    CHECK_EQ(r.k.errors.count, r.errors + 1);
    CHECK_RESULT(r.k.errors.result, expected);
    CHECK_CONTAINS(r.k.errors.text, refused_name(call));
    CHECK_CONTAINS(r.k.errors.text, name);
    CHECK_STR(orr_error_last(r.world), r.k.errors.text);
    CHECK_EQ(orr_world_hash(r.world), r.hash);
    r.errors = r.k.errors.count;
}

static void refusal_end(void)
{
    kit_end(&r.k);
}

#define REFUSED(call, expected, name)                                                         \
    do {                                                                                      \
        orr_result refused_result = (call);                                                   \
        char refused_call[64] = {0};                                                          \
        snprintf(refused_call, sizeof refused_call, "%.*s", (int)strcspn(#call, "("), #call); \
        refused(refused_result, expected, refused_call, name);                                \
    } while (0)
// For calls that return nothing of use: an id, a pointer.
#define REFUSED_NULL(call, expected, name)   \
    do {                                     \
        CHECK((call) == 0);                  \
        REFUSED_LAST(#call, expected, name); \
    } while (0)
#define REFUSED_LAST(text, expected, name)                                                  \
    do {                                                                                    \
        char refused_call[64] = {0};                                                        \
        snprintf(refused_call, sizeof refused_call, "%.*s", (int)strcspn(text, "("), text); \
        refused(r.k.errors.result, expected, refused_call, name);                           \
    } while (0)

ORR_TEST(dead_null_or_foreign_entity_is_refused_and_named)
{
    refusal_begin();
    orr_entity bad[] = {r.dead, r.foreign, {0}};
    const char* names[] = {"1v1s1", "0v1s2", "null"};
    Position value = {1, 2, 3};
    for (int i = 0; i < 3; i++) {
        orr_entity id = bad[i];
        const char* name = names[i];
        orr_address address = {{5, 5}, 5, {5}};
        CHECK(!orr_alive(r.world, id));
        REFUSED(orr_destroy(r.world, id), ORR_ERR_ENTITY, name);
        REFUSED(orr_destroy_many(r.world, &id, 1), ORR_ERR_ENTITY, name);
        REFUSED(orr_address_get(r.world, id, &address), ORR_ERR_ENTITY, name);
        CHECK_EQ(address.row, 5);
        REFUSED(orr_entity_move(r.world, id, r.cluster), ORR_ERR_ENTITY, name);
        REFUSED(orr_entity_enable(r.world, id, false), ORR_ERR_ENTITY, name);
        REFUSED(orr_tag_add(r.world, id, 1), ORR_ERR_ENTITY, name);
        REFUSED(orr_tag_remove(r.world, id, 1), ORR_ERR_ENTITY, name);
        REFUSED_NULL(orr_copy(r.world, id).id, ORR_ERR_ENTITY, name);
        REFUSED(orr_component_set(r.world, id, r.position, &value), ORR_ERR_ENTITY, name);
        CHECK_CONTAINS(r.k.errors.text, "Position");
        REFUSED(orr_component_add(r.world, id, r.position), ORR_ERR_ENTITY, name);
        CHECK_CONTAINS(r.k.errors.text, "Position");
        REFUSED(orr_component_remove(r.world, id, r.position), ORR_ERR_ENTITY, name);
        REFUSED(orr_component_enable(r.world, id, r.position, false), ORR_ERR_ENTITY, name);
        REFUSED(orr_component_add_many(r.world, &id, 1, r.health, NULL), ORR_ERR_ENTITY, name);
        REFUSED(orr_component_remove_many(r.world, &id, 1, r.position), ORR_ERR_ENTITY, name);
        REFUSED(orr_component_set_many(r.world, &id, 1, r.position, &value), ORR_ERR_ENTITY, name);
        REFUSED(orr_component_get_many(r.world, &id, 1, r.position, &value), ORR_ERR_ENTITY, name);
        REFUSED_NULL(orr_component_get(r.world, id, r.position), ORR_ERR_ENTITY, name);
        CHECK_CONTAINS(r.k.errors.text, "Position");
        REFUSED_NULL(orr_component_edit(r.world, id, r.position), ORR_ERR_ENTITY, name);
        // Queries for presence are allowed, and return false.
        CHECK(!orr_component_has(r.world, id, r.position));
        CHECK(!orr_component_enabled(r.world, id, r.position));
        CHECK(!orr_entity_enabled(r.world, id));
        CHECK(!orr_tag_has(r.world, id, 1));
        CHECK_EQ(orr_entity_cluster(r.world, id).id, 0);
        CHECK_EQ(r.k.errors.count, r.errors);
    }
    refusal_end();
}

ORR_TEST(type_of_another_world_is_refused)
{
    refusal_begin();
    // The last one has the number in its own world that Position has in ours.
    orr_world* other = orr_world_create(NULL);
    orr_type foreign = orr_type_of(other, ORR_TYPE(Position));
    orr_type bad[] = {r.unknown, {0}, {UINT32_MAX}, foreign};
    const char* names[] = {"another world", "null", "another world", "another world"};
    uint8_t value[16] = {0};
    CHECK(foreign.id != r.position.id);
    for (int i = 0; i < 4; i++) {
        orr_type type = bad[i];
        orr_cluster out = {6, 6};
        REFUSED(orr_component_set(r.world, r.bob, type, value), ORR_ERR_TYPE, names[i]);
        REFUSED(orr_component_add(r.world, r.bob, type), ORR_ERR_TYPE, names[i]);
        REFUSED(orr_component_remove(r.world, r.bob, type), ORR_ERR_TYPE, names[i]);
        REFUSED(orr_component_enable(r.world, r.bob, type, true), ORR_ERR_TYPE, names[i]);
        REFUSED(orr_component_add_many(r.world, &r.bob, 1, type, NULL), ORR_ERR_TYPE, names[i]);
        REFUSED(orr_component_remove_many(r.world, &r.bob, 1, type), ORR_ERR_TYPE, names[i]);
        REFUSED(orr_component_set_many(r.world, &r.bob, 1, type, value), ORR_ERR_TYPE, names[i]);
        REFUSED(orr_component_get_many(r.world, &r.bob, 1, type, value), ORR_ERR_TYPE, names[i]);
        orr_cluster_desc desc = {&type, 1, NULL, 0, NULL};
        REFUSED(orr_cluster_get(r.world, &desc, &out), ORR_ERR_TYPE, names[i]);
        CHECK_EQ(out.id, 6);
        orr_appender appender;
        REFUSED(orr_append_begin(r.world, r.cluster, &type, 1, &appender), ORR_ERR_TYPE, names[i]);
        orr_column_data data = {type, value};
        REFUSED(orr_create_many(r.world, r.cluster, 1, &data, 1, NULL), ORR_ERR_TYPE, names[i]);
        CHECK(!orr_component_has(r.world, r.bob, type));
        CHECK(orr_type_info_get(r.world, type) == NULL);
        CHECK(orr_component_get(r.world, r.bob, type) == NULL);
        CHECK_EQ(r.k.errors.result, ORR_ERR_TYPE);
        r.errors = r.k.errors.count;
        CHECK(orr_component_edit(r.world, r.bob, type) == NULL);
        orr_reader reader = orr_reader_make(r.world, type);
        CHECK(orr_reader_get(&reader, r.bob) == NULL);
    }
    orr_world_destroy(other);
    refusal_end();
}

ORR_TEST(stale_null_or_foreign_cluster_is_refused)
{
    refusal_begin();
    orr_cluster bad[] = {r.stale, {0, 0}, {999, 1}};
    const char* names[] = {"deleted", "null", "not belong to this world"};
    for (int i = 0; i < 3; i++) {
        orr_cluster cluster = bad[i];
        orr_cluster_info info = {.row_count = 44};
        orr_appender appender;
        REFUSED(orr_cluster_info_get(r.world, cluster, &info), ORR_ERR_CLUSTER, names[i]);
        CHECK_EQ(info.row_count, 44);
        REFUSED(orr_cluster_clear(r.world, cluster), ORR_ERR_CLUSTER, names[i]);
        REFUSED(orr_cluster_delete(r.world, cluster), ORR_ERR_CLUSTER, names[i]);
        REFUSED(orr_entity_move(r.world, r.bob, cluster), ORR_ERR_CLUSTER, names[i]);
        REFUSED(orr_rows_move(r.world, cluster, 0, 0, r.cluster), ORR_ERR_CLUSTER, names[i]);
        REFUSED(orr_rows_move(r.world, r.cluster, 0, 1, cluster), ORR_ERR_CLUSTER, names[i]);
        REFUSED(orr_rows_move_all(r.world, cluster, r.cluster), ORR_ERR_CLUSTER, names[i]);
        REFUSED(orr_rows_move_all(r.world, r.cluster, cluster), ORR_ERR_CLUSTER, names[i]);
        REFUSED(orr_create_many(r.world, cluster, 1, NULL, 0, NULL), ORR_ERR_CLUSTER, names[i]);
        REFUSED_NULL(orr_create_in(r.world, cluster).id, ORR_ERR_CLUSTER, names[i]);
        REFUSED(orr_append_begin(r.world, cluster, NULL, 0, &appender), ORR_ERR_CLUSTER, names[i]);
        CHECK_EQ(orr_chunk_count(r.world, cluster, 0), 0);
        CHECK(orr_column_read(r.world, cluster, 0, r.position) == NULL);
        CHECK(orr_column_write(r.world, cluster, 0, r.position) == NULL);
        uint32_t count = 4;
        CHECK(orr_span_write(r.world, cluster, r.position, 0, &count) == NULL);
        CHECK_EQ(count, 0);
    }
    refusal_end();
}

ORR_TEST(null_where_data_is_required_is_refused)
{
    refusal_begin();
    orr_cluster out;
    orr_type type;
    orr_cluster_desc lists[] = {{NULL, 1, NULL, 0, NULL}, {NULL, 0, NULL, 1, NULL}};
    REFUSED(orr_component_set(r.world, r.bob, r.position, NULL), ORR_ERR_ARGUMENT, "Position");
    CHECK_CONTAINS(r.k.errors.text, "0v1s1");
    REFUSED(orr_component_set(r.world, r.bob, r.health, NULL), ORR_ERR_ARGUMENT, "Health");
    REFUSED(orr_component_set_many(r.world, &r.bob, 1, r.position, NULL), ORR_ERR_ARGUMENT, "NULL");
    REFUSED(orr_component_set_many(r.world, NULL, 1, r.position, &r), ORR_ERR_ARGUMENT, "NULL");
    REFUSED(orr_component_get_many(r.world, &r.bob, 1, r.position, NULL), ORR_ERR_ARGUMENT, "NULL");
    REFUSED(orr_component_get_many(r.world, NULL, 1, r.position, &r.k), ORR_ERR_ARGUMENT, "NULL");
    REFUSED(orr_component_add_many(r.world, NULL, 1, r.health, NULL), ORR_ERR_ARGUMENT, "NULL");
    REFUSED(orr_component_remove_many(r.world, NULL, 1, r.position), ORR_ERR_ARGUMENT, "NULL");
    REFUSED(orr_destroy_many(r.world, NULL, 1), ORR_ERR_ARGUMENT, "NULL");
    REFUSED(orr_cluster_get(r.world, NULL, &out), ORR_ERR_ARGUMENT, "NULL");
    REFUSED(orr_cluster_get(r.world, &lists[0], &out), ORR_ERR_ARGUMENT, "NULL");
    REFUSED(orr_cluster_get(r.world, &lists[1], &out), ORR_ERR_ARGUMENT, "NULL");
    orr_cluster_desc nothing = {0};
    REFUSED(orr_cluster_get(r.world, &nothing, NULL), ORR_ERR_ARGUMENT, "NULL");
    REFUSED(orr_cluster_info_get(r.world, r.cluster, NULL), ORR_ERR_ARGUMENT, "NULL");
    REFUSED(orr_address_get(r.world, r.bob, NULL), ORR_ERR_ARGUMENT, "NULL");
    REFUSED(orr_type_register(r.world, NULL, &type), ORR_ERR_ARGUMENT, "NULL");
    REFUSED(orr_type_register(r.world, ORR_TYPE(Tiny), NULL), ORR_ERR_ARGUMENT, "NULL");
    REFUSED_NULL(orr_type_of(r.world, NULL).id, ORR_ERR_ARGUMENT, "NULL");
    REFUSED_NULL(orr_string_make(r.world, NULL).id, ORR_ERR_ARGUMENT, "NULL");
    REFUSED_NULL(orr_array_make(r.world, NULL, 2, 4).id, ORR_ERR_ARGUMENT, "NULL");
    REFUSED_NULL(orr_array_make(r.world, &r, 2, 0).id, ORR_ERR_ARGUMENT, "element_size is 0");
    REFUSED_NULL(orr_clusters_find(r.world, &(orr_cluster_match){.type_count = 1}, &out, 1),
                 ORR_ERR_ARGUMENT, "NULL");
    REFUSED_NULL(orr_clusters_find(r.world, NULL, NULL, 1), ORR_ERR_ARGUMENT, "NULL");
    REFUSED(orr_create_many(r.world, r.cluster, 2, NULL, 1, NULL), ORR_ERR_ARGUMENT, "NULL");
    CHECK(!orr_address_valid(r.world, NULL));
    CHECK(orr_address_read(r.world, NULL, r.position) == NULL);
    CHECK_EQ(orr_type_find(r.world, NULL).id, 0);
    CHECK(!orr_tag_find(r.world, NULL, NULL));
    CHECK_EQ(orr_chunk_entities(r.world, r.cluster, 0, NULL, 5), 0);
    refusal_end();
}

ORR_TEST(duplicates_in_lists_are_refused)
{
    refusal_begin();
    orr_cluster out;
    orr_type types[3] = {r.health, r.position, r.health};
    orr_tag tags[3] = {1, 2, 1};
    orr_cluster_desc by_type = {types, 3, NULL, 0, NULL}, by_tag = {NULL, 0, tags, 3, NULL};
    REFUSED(orr_cluster_get(r.world, &by_type, &out), ORR_ERR_ARGUMENT, "twice");
    REFUSED(orr_cluster_get(r.world, &by_tag, &out), ORR_ERR_ARGUMENT, "twice");
    orr_entity twice[2] = {r.bob, r.bob};
    REFUSED(orr_destroy_many(r.world, twice, 2), ORR_ERR_ARGUMENT, "0v1s1");
    REFUSED(orr_component_add_many(r.world, twice, 2, r.health, NULL), ORR_ERR_ARGUMENT, "0v1s1");
    REFUSED(orr_component_remove_many(r.world, twice, 2, r.position), ORR_ERR_ARGUMENT, "0v1s1");
    Position values[2] = {{0}};
    orr_column_data data[2] = {{r.position, values}, {r.position, values}};
    REFUSED(orr_create_many(r.world, r.cluster, 2, data, 2, NULL), ORR_ERR_ARGUMENT, "Position");
    refusal_end();
}

ORR_TEST(absent_component_is_refused_with_entity_and_type_named)
{
    refusal_begin();
    Health value = {1, 2};
    REFUSED(orr_component_enable(r.world, r.bob, r.health, false), ORR_ERR_ABSENT, "Health");
    CHECK_CONTAINS(r.k.errors.text, "0v1s1");
    REFUSED(orr_component_set_many(r.world, &r.bob, 1, r.health, &value), ORR_ERR_ABSENT, "Health");
    CHECK_CONTAINS(r.k.errors.text, "0v1s1");
    REFUSED(orr_component_get_many(r.world, &r.bob, 1, r.health, &value), ORR_ERR_ABSENT, "Health");
    orr_appender appender;
    REFUSED(orr_append_begin(r.world, r.cluster, &r.health, 1, &appender), ORR_ERR_ABSENT,
            "Health");
    orr_column_data data = {r.health, &value};
    REFUSED(orr_create_many(r.world, r.cluster, 1, &data, 1, NULL), ORR_ERR_ABSENT, "Health");
    CHECK(orr_component_get(r.world, r.bob, r.health) == NULL); // Absence, not an error.
    CHECK_EQ(r.k.errors.count, r.errors);
    refusal_end();
}

ORR_TEST(invalid_names_and_layouts_at_registration_are_refused)
{
    refusal_begin();
    char name[ORR_NAME_MAX + 2];
    memset(name, 'n', sizeof name);
    name[ORR_NAME_MAX + 1] = 0;
    orr_field_desc field = {.name = "x", .type = ORR_TYPE(float)};
    orr_type_desc desc = {.name = name, .fields = &field, .field_count = 1};
    orr_type out = {55};
    orr_world_stats before, after;
    orr_world_stats_get(r.world, &before);
    CHECK_RESULT(orr_type_register(r.world, &desc, &out), ORR_ERR_NAME);
    desc.name = "";
    CHECK_RESULT(orr_type_register(r.world, &desc, &out), ORR_ERR_NAME);
    desc.name = NULL;
    CHECK(orr_type_register(r.world, &desc, &out) != ORR_OK);
    desc.name = "Position";
    CHECK_RESULT(orr_type_register(r.world, &desc, &out), ORR_ERR_CONFLICT);
    CHECK_CONTAINS(r.k.errors.text, "Position");
    CHECK_RESULT(orr_tag_register(r.world, 1, name), ORR_ERR_NAME);
    CHECK_EQ(out.id, 55);
    orr_world_stats_get(r.world, &after);
    CHECK_EQ(after.types, before.types);
    CHECK_EQ(orr_world_hash(r.world), r.hash);
    refusal_end();
}

ORR_TEST(strings_and_arrays_that_are_too_long_are_refused)
{
    refusal_begin();
    REFUSED_NULL(orr_array_make(r.world, &r, ORR_BLOB_SIZE_MAX, 2).id, ORR_ERR_CAPACITY, "bytes");
    REFUSED_NULL(orr_array_make(r.world, &r, UINT32_MAX, UINT32_MAX).id, ORR_ERR_CAPACITY, "bytes");
    refusal_end();
}

ORR_TEST(unknown_fields_and_invalid_text_are_refused)
{
    refusal_begin();
    const orr_type_info* info = orr_type_info_get(r.world, r.position);
    Position value = {7, 7, 7};
    orr_field_place place;
    CHECK_RESULT(orr_value_parse(info, "{q: 1}", &value), ORR_ERR_FIELD);
    CHECK_RESULT(orr_value_parse(info, "{x: }", &value), ORR_ERR_PARSE);
    CHECK_RESULT(orr_field_find(info, "w", &place), ORR_ERR_FIELD);
    CHECK_EQ(value.x, 7);
    CHECK_EQ(orr_world_hash(r.world), r.hash);
    refusal_end();
}

// ---- programming errors are assertions ----------------------------------------------------------

#ifndef ORR_NO_ASSERT
#include <setjmp.h>

static jmp_buf assert_exit;
static uint32_t assert_count;

static void assert_jump(const char* condition, const char* file, int line, const char* function)
{
    (void)condition, (void)file, (void)line, (void)function;
    assert_count++;
    longjmp(assert_exit, 1);
}

static bool asserts(void (*call)(void))
{
    assert_count = 0;
    orr_assert_handler before = orr_assert_handler_set(assert_jump);
    if (setjmp(assert_exit) == 0) {
        call();
    }
    orr_assert_handler_set(before);
    return assert_count == 1;
}

static void span_without_count(void)
{
    (void)orr_span_read(r.world, r.cluster, r.position, 0, NULL);
}

static void end_of_another_appender(void)
{
    orr_appender other = {.world = r.world};
    orr_append_end(&other);
}

ORR_TEST(violated_contract_is_an_assertion)
{
    refusal_begin();
    CHECK(asserts(span_without_count));
    CHECK(asserts(end_of_another_appender));
    refusal_end();
}
#endif

#undef REFUSED
#undef REFUSED_NULL
#undef REFUSED_LAST
