// SPDX-License-Identifier: MIT
// Feeds arbitrary text to the text parsers of a world. The first byte selects the parser: the items
// of a bundle, either the whole text or pieces divided by ';', so that later bundles can name
// earlier ones.
//
// An accepted text must print, be parsed again to the same bundle, and can be created, added and
// removed. A refused text must leave the world unchanged.
#include <orrery/kinds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ORR_ENUM(FuzzMood, CALM, ANGRY)
ORR_STRUCT(FuzzPlace, (float, x), (double, y))
ORR_STRUCT(FuzzLife, (int32_t, now, (.min = 0, .max = 100, .preset = "7")), (char, by, 4))
ORR_STRUCT(FuzzText, (orr_string, text), (orr_array, list, (.element = ORR_TYPE(FuzzPlace))))
ORR_STRUCT(FuzzLink, (orr_entity, to, (.flags = ORR_FIELD_INDEXED)), (orr_entity, others, 2))
ORR_STRUCT_EX(FuzzMotor, (.needs = "FuzzPlace"), (FuzzMood, mood))
ORR_MARKER(FuzzMark)

static void text_sink(void* user, const orr_log_line* line)
{
    (void)user, (void)line;
}

static void text_check(bool ok)
{
    if (!ok) {
        abort();
    }
}

static orr_world* text_world(void)
{
    orr_world* world =
        orr_world_create(&(orr_world_desc){.log = {.sink = text_sink, .lines_per_second = 1}});
    text_check(world != NULL);
    const orr_type_desc* const descs[] = {
        ORR_TYPE(FuzzMood), ORR_TYPE(FuzzPlace), ORR_TYPE(FuzzLife), ORR_TYPE(FuzzText),
        ORR_TYPE(FuzzLink), ORR_TYPE(FuzzMotor), ORR_TYPE(FuzzMark)};
    for (size_t i = 0; i < sizeof descs / sizeof descs[0]; i++) {
        text_check(orr_type_of(world, descs[i]).id != 0);
    }
    text_check(orr_tag_register(world, 17, "level") == ORR_OK);
    return world;
}

static void text_bundle_use(orr_world* world, orr_bundle bundle)
{
    orr_entity first = orr_create(world), out[2] = {{0}};
    uint64_t before = orr_world_hash(world);
    if (orr_bundle_create(world, bundle, 2, out) == ORR_OK) { // Unless it refers to a dead entity.
        text_check(orr_alive(world, out[0]) && orr_alive(world, out[1]));
        text_check(orr_bundle_add(world, out[0], bundle) == ORR_OK);
        text_check(orr_bundle_remove(world, out[1], bundle) == ORR_OK);
        text_check(orr_bundle_add(world, first, bundle) == ORR_OK);
    } else {
        text_check(orr_world_hash(world) == before);
    }
    text_check(orr_world_validate(world) == ORR_OK);
}

static void text_bundle(orr_world* world, uint32_t number, const char* items)
{
    char name[16];
    snprintf(name, sizeof name, "b%u", number);
    orr_bundle bundle, again;
    uint64_t before = orr_world_hash(world);
    orr_result result = orr_bundle_register(world, name, items, &bundle);
    text_check(orr_world_hash(world) == before);
    if (result != ORR_OK) {
        text_check(orr_bundle_find(world, name).id == 0);
        text_check(orr_error_last(world)[0] != '\0');
        return;
    }
    size_t length = orr_bundle_print(world, bundle, NULL, 0);
    char* text = malloc(length + 1);
    text_check(text != NULL && orr_bundle_print(world, bundle, text, length + 1) == length);
    text_check(strlen(text) == length);
    text_check(orr_bundle_register(world, name, text, &again) == ORR_OK);
    text_check(again.id == bundle.id);
    free(text);
    text_bundle_use(world, bundle);
}

// Each piece in memory of exactly its size, so that reads past it are detected.
static void text_bundles(orr_world* world, const char* data, size_t size, bool pieces)
{
    for (uint32_t number = 0; number < 16; number++) {
        const char* end = pieces && size > 0 ? memchr(data, ';', size) : NULL;
        size_t length = end != NULL ? (size_t)(end - data) : size;
        char* text = malloc(length + 1);
        text_check(text != NULL);
        memcpy(text, data, length);
        text[length] = '\0';
        text_bundle(world, number, text);
        free(text);
        if (end == NULL) {
            return;
        }
        data = end + 1;
        size -= length + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    orr_world* world = text_world();
    text_bundles(world, (const char*)data + 1, size - 1, (data[0] & 1) != 0);
    orr_world_destroy(world);
    return 0;
}
