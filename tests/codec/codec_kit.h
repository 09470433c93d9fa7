// SPDX-License-Identifier: MIT
// Shared by the test and the fuzzer of decode.c: an entity with state of every kind, and a check of
// any bytes as an image.
#ifndef TEST_CODEC_KIT_H
#define TEST_CODEC_KIT_H

#include "codec/codec.h"
#include "support/pinned_kit.h"
#include "test.h"
#include <stdlib.h>

ORR_ENUM(Mood, CALM, ANGRY)
ORR_STRUCT(Lamp, (bool, on), (Mood, mood), (double, volts), (char, colour, 6), (bool, dims, 3))
ORR_STRUCT(Lamps, (orr_array, list, (.element = ORR_TYPE(Lamp))))
ORR_STRUCT_EX(Wheel, (.multiplicity = ORR_MULTIPLE), (float, radius), (int32_t, teeth))
ORR_STRUCT_EX(Note, (.multiplicity = ORR_MULTIPLE), (orr_string, text), (bool, read))

typedef struct codec_kit {
    kit base;
    orr_world* world;
    orr_entity source; // Has components of every kind. Its image is changed.
    orr_entity target; // Gets the decoded states.
    orri_bytes image;  // Of the source.
    orri_bytes first;  // The image of the target after a decoded state was applied,
    orri_bytes second; // and after that image was decoded and applied.
} codec_kit;

ORR_MAYBE_UNUSED static void codec_kit_fill(orr_world* world, orr_entity entity, orr_entity friend)
{
    const Lamp lamps[2] = {{true, ANGRY, 1.5, "red", {true, false, true}},
                           {false, CALM, -2, "blue", {false, false, false}}};
    CHECK_OK(orr_set(world, entity, Position, {1, 2, 3}));
    CHECK_OK(orr_set(world, entity, Health, {50, 7}));
    CHECK_OK(orr_set(world, entity, Padded, {1, 2, 3}));
    CHECK_OK(orr_set(world, entity, Lamp, {true, ANGRY, 230, "green", {false, true, true}}));
    CHECK_OK(orr_set(world, entity, Lamps, {orr_array_make(world, lamps, 2, sizeof lamps[0])}));
    CHECK_OK(orr_set(world, entity, Link, {friend, 3}));
    CHECK_OK(orr_set(world, entity, Label, {orr_string_make(world, "a label of the entity"), 4}));
    CHECK_OK(orr_set(world, entity, List, {{0}}));
    CHECK_OK(orr_set(world, entity, Crowd,
                     {orr_array_make(world, (orr_entity[]){entity, friend}, 2, 8)}));
    CHECK_OK(orr_set(world, entity, Body, {80, -1}));
    CHECK_OK(orr_set(world, entity, Sign, {orr_string_make(world, "exit"), 5}));
    CHECK_OK(orr_add(world, entity, Frozen));
    for (int32_t i = 0; i < 3; i++) {
        orr_component_id id = orr_add_instance(world, entity, Wheel, {(float)i, 10 * i});
        CHECK_OK(orr_instance_enable(world, entity, KIT_TYPE(world, Wheel), id, i != 1));
        CHECK(orr_add_instance(world, entity, Note,
                               {orr_string_make(world, i == 0 ? "" : "a note"), i == 2}) != 0);
    }
    CHECK_OK(orr_tag_add(world, entity, 3));
    CHECK_OK(orr_tag_add(world, entity, 70));
    CHECK_OK(orr_enable(world, entity, Health, false));
    CHECK_OK(orr_enable(world, entity, Body, false));
    CHECK_OK(orr_entity_enable(world, entity, false));
}

ORR_MAYBE_UNUSED static void codec_kit_begin(codec_kit* k)
{
    *k = (codec_kit){0};
    orr_world* world = k->world = kit_begin(&k->base, NULL);
    ORR_REGISTER(world, Position, Health, Padded, Lamp, Lamps, Link, Label, List, Crowd, Body, Sign,
                 Frozen, Wheel, Note);
    orr_entity friend = orr_create(world);
    k->source = orr_create(world);
    k->target = orr_create(world);
    codec_kit_fill(world, k->source, friend);
    k->image.env = k->first.env = k->second.env = &world->env;
    CHECK_OK(orri_entity_encode(world, "test", k->source, &k->image));
}

ORR_MAYBE_UNUSED static void codec_kit_end(codec_kit* k)
{
    orri_bytes* all[] = {&k->image, &k->first, &k->second};
    for (int i = 0; i < 3; i++) {
        ORRI_RELEASE(&k->world->env, ORR_MEMORY_SYSTEM, all[i]->data, all[i]->capacity);
    }
    kit_end(&k->base);
}

// Decodes an image and gives the target its state. Writes the image of the target to `out`.
ORR_MAYBE_UNUSED static orr_result codec_kit_decode(codec_kit* k, const uint8_t* image, size_t size,
                                                    orri_bytes* out)
{
    orri_decoded state;
    orr_result result = orri_entity_decode(
        k->world, "test", (orri_bytes_reader){.data = image, .count = size}, &state);
    if (result != ORR_OK) {
        return result;
    }
    CHECK_OK(orri_decoded_apply(&state, "test", k->target, NULL, 0));
    orri_decoded_free(&state);
    out->count = 0;
    CHECK_OK(orri_entity_encode(k->world, "test", k->target, out));
    return ORR_OK;
}

// Checks that bytes are refused with ORR_ERR_FORMAT, or give a valid state: it can be applied,
// printed and saved, and the saved image gives the same state again. Returns the result.
ORR_MAYBE_UNUSED static orr_result codec_kit_check(codec_kit* k, const uint8_t* bytes, size_t size)
{
    uint8_t* copy = malloc(size > 0 ? size : 1); // Exactly this size: ASan finds reads behind it.
    CHECK(copy != NULL);
    if (size > 0) {
        memcpy(copy, bytes, size);
    }
    uint64_t temp = k->world->env.by_purpose[ORR_MEMORY_TEMP].bytes;
    orr_result result = codec_kit_decode(k, copy, size, &k->first);
    if (result == ORR_OK) {
        char text[4096];
        (void)orr_entity_print(k->world, k->target, text, sizeof text);
        const Lamp* lamp = orr_get(k->world, k->target, Lamp);
        CHECK(lamp == NULL || lamp->on + lamp->dims[0] < 3); // UBSan: a bool is 0 or 1.
        CHECK_OK(codec_kit_decode(k, k->first.data, k->first.count, &k->second));
        CHECK_EQ(k->second.count, k->first.count);
        CHECK(memcmp(k->second.data, k->first.data, k->first.count) == 0);
        CHECK_OK(orr_world_validate(k->world));
    } else {
        CHECK_RESULT(result, ORR_ERR_FORMAT);
    }
    CHECK_EQ(k->world->env.by_purpose[ORR_MEMORY_TEMP].bytes, temp);
    orri_blobs_collect(&k->world->schema);
    free(copy);
    return result;
}

#endif
