// SPDX-License-Identifier: MIT
// Entities as text.
#define _POSIX_C_SOURCE 200809L
#include "support/store_kit.h"
#include "test.h"
#include <orrery/kinds.h>

#include <unistd.h>

static const char* print(const orr_world* world, orr_entity entity)
{
    static char text[2000];
    size_t length = orr_entity_print(world, entity, text, sizeof text);
    CHECK_EQ(length, strlen(text));
    return text;
}

ORR_TEST(print_shows_components_and_tags_by_name)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_STR(print(world, bob), "0v1: (nothing)");
    CHECK_OK(orr_set(world, bob, Position, {1, 2.5f, -3}));
    CHECK_STR(print(world, bob), "0v1: Position {x: 1, y: 2.5, z: -3}");
    CHECK_OK(orr_add(world, bob, Frozen));
    CHECK_OK(orr_set(world, bob, Label, {orr_string_make(world, "hi"), 4}));
    CHECK_STR(print(world, bob),
              "0v1: Position {x: 1, y: 2.5, z: -3}, Frozen, Label {text: \"hi\", number: 4}");
    CHECK_OK(orr_remove(world, bob, Position));
    CHECK_OK(orr_remove(world, bob, Label));
    CHECK_OK(orr_tag_register(world, 5, "level1"));
    CHECK_OK(orr_tag_add(world, bob, 5));
    CHECK_OK(orr_tag_add(world, bob, 12));
    CHECK_STR(print(world, bob), "0v1: Frozen, #level1, #12");
    CHECK_OK(orr_remove(world, bob, Frozen));
    CHECK_STR(print(world, bob), "0v1: #level1, #12");
    kit_end(&k);
}

ORR_TEST(print_marks_disabled_components)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Tiny, {7}));
    CHECK_OK(orr_enable(world, bob, Tiny, false));
    CHECK_STR(print(world, bob), "0v1: Tiny {value: 7} (off)");
    CHECK_OK(orr_entity_enable(world, bob, false));
    CHECK_STR(print(world, bob), "0v1: (off) Tiny {value: 7} (off)");
    kit_end(&k);
}

ORR_TEST(print_of_references_and_dead_entities_shows_their_ids)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.id_salt = 9});
    orr_entity bob = orr_create(world), eve = orr_create(world);
    CHECK_STR(print(world, bob), "0v1s9: (nothing)");
    CHECK_OK(orr_set(world, eve, Link, {bob, 2}));
    CHECK_CONTAINS(print(world, eve), "Link {target: ");
    CHECK_OK(orr_destroy(world, bob));
    CHECK_STR(print(world, bob), "0v1s9: not alive");
    CHECK_STR(print(world, (orr_entity){0}), "null: not alive");
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(print_into_a_small_buffer_returns_the_length_and_terminates)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Position, {1, 2, 3}));
    CHECK_OK(orr_set(world, bob, Velocity, {4, 5}));
    CHECK_OK(orr_tag_add(world, bob, 77));
    char whole[200], part[200];
    size_t length = orr_entity_print(world, bob, whole, sizeof whole);
    CHECK_EQ(orr_entity_print(world, bob, NULL, 0), length);
    for (size_t size = 1; size <= length + 1; size++) {
        memset(part, '~', sizeof part);
        CHECK_EQ(orr_entity_print(world, bob, part, size), length);
        CHECK_EQ(part[size - 1], 0);
        CHECK_EQ(memcmp(part, whole, size - 1), 0);
        CHECK_EQ(part[size], '~');
    }
    kit_end(&k);
}

// The text that orr_print() writes to stdout.
static void print_captured(const orr_world* world, orr_entity entity, char* out, size_t out_size)
{
    fflush(stdout);
    FILE* file = tmpfile();
    CHECK(file != NULL);
    int kept = dup(1);
    CHECK(kept >= 0 && dup2(fileno(file), 1) == 1);
    orr_print(world, entity);
    fflush(stdout);
    CHECK_EQ(dup2(kept, 1), 1);
    close(kept);
    rewind(file);
    out[fread(out, 1, out_size - 1, file)] = 0;
    fclose(file);
}

ORR_TEST(print_to_stdout_writes_whole_lines_of_any_length)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    static char expected[4000], line[4000];
    print_captured(world, bob, line, sizeof line);
    CHECK_STR(line, "0v1: (nothing)\n");
    CHECK_OK(orr_add(world, bob, Big));
    for (orr_tag tag = 0; tag < 60; tag++) {
        CHECK_OK(orr_tag_add(world, bob, UINT64_MAX - tag));
    }
    size_t length = orr_entity_print(world, bob, expected, sizeof expected - 1);
    CHECK(length > 1024); // More than a buffer on the stack holds.
    print_captured(world, bob, line, sizeof line);
    CHECK_EQ(strlen(line), length + 1);
    CHECK_EQ(memcmp(line, expected, length), 0);
    failing_alloc_arm(&k.memory, 1, true);
    print_captured(world, bob, line, sizeof line); // Without memory: the part that fits.
    failing_alloc_arm(&k.memory, 0, false);
    size_t fits = strlen(line) - 1;
    CHECK(fits > 100 && fits < length);
    CHECK_EQ(memcmp(line, expected, fits), 0);
    kit_end(&k);
}

static const char* id_text(orr_entity entity)
{
    static char text[32];
    CHECK_EQ(orr_id_print(entity, text, sizeof text), strlen(text));
    return text;
}

ORR_TEST(print_of_an_id_is_the_same_in_all_texts)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.id_salt = 3});
    orr_entity dead = orr_create(world), bob = orr_create(world);
    CHECK_STR(id_text(dead), "0v1s3");
    CHECK_OK(orr_destroy(world, dead));
    orr_entity again = orr_create(world);
    CHECK_STR(id_text(again), "0v2s3");
    CHECK_STR(id_text((orr_entity){0}), "null");
    CHECK_STR(id_text((orr_entity){6 | (uint64_t)1 << 32}), "6v1");
    CHECK_STR(id_text((orr_entity){UINT64_MAX}), "4294967295v16777215s255"); // The longest.
    char cut[4];
    CHECK_EQ(orr_id_print(again, cut, sizeof cut), 5);
    CHECK_STR(cut, "0v2");

    CHECK_STR(print(world, again), "0v2s3: (nothing)");
    CHECK_OK(orr_set(world, bob, Link, {again, 1})); // As a value.
    CHECK_STR(print(world, bob), "1v1s3: Link {target: 0v2s3, weight: 1}");
    CHECK_OK(orr_name_set(world, bob, again, "bob")); // As a part of a path.
    char path[32];
    orr_path_print(world, bob, path, sizeof path);
    CHECK_STR(path, "0v2s3/bob");
    CHECK_OK(orr_destroy(world, again));
    CHECK_RESULT(orr_destroy(world, again), ORR_ERR_ENTITY); // In error texts.
    CHECK_CONTAINS(k.errors.text, "entity 0v2s3 is dead");
    CHECK_RESULT(orr_set(world, bob, Link, {dead, 2}), ORR_ERR_ENTITY);
    CHECK_CONTAINS(k.errors.text, "Link.target of bob (1v1s3) refers to entity 0v1s3, which");
    k.errors.count = 0;
    kit_end(&k);
}
