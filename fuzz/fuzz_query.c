// SPDX-License-Identifier: MIT
// Feeds arbitrary text to the query parser. A text that parses must print, parse again to the same
// terms and print the same text. A text that does not parse must leave the terms unchanged and
// report a position. The parser never allocates.
#include "query/query.h"
#include <orrery/message.h>
#include <orrery/traveller.h>
#include <stdlib.h>

ORR_STRUCT(Position, (float, x))
ORR_STRUCT(Velocity, (float, x))
ORR_STRUCT(Health, (float, now))
ORR_STRUCT_EX(Body, (.storage = ORR_PINNED), (float, mass))
ORR_MARKER(Frozen)

static void fuzz_sink(void* user, const orr_log_line* line)
{
    (void)user, (void)line;
}

static void fuzz_check(bool ok)
{
    if (!ok) {
        abort();
    }
}

static orr_world* fuzz_world(void)
{
    orr_world* world =
        orr_world_create(&(orr_world_desc){.log = {.sink = fuzz_sink, .lines_per_second = 1}});
    fuzz_check(world != NULL);
    static const orr_type_desc words[] = {{.name = "write"}, {.name = "a.b:c_1"}, {.name = "read"}};
    const orr_type_desc* descs[] = {
        ORR_TYPE(Position), ORR_TYPE(Velocity), ORR_TYPE(Health), ORR_TYPE(Body), ORR_TYPE(Frozen),
        &words[0], &words[1], &words[2],
        // Naming them registers the types of the library.
        ORR_TYPE(orr_name), &orr_desc_orr_tags, &orr_desc_orr_enabled, &orr_desc_orr_time,
        &orr_desc_orr_time_traveller, &orr_desc_orr_time_stretcher};
    for (uint32_t i = 0; i < sizeof descs / sizeof descs[0]; i++) {
        fuzz_check(orr_type_of(world, descs[i]).id != 0);
    }
    fuzz_check(orr_tag_register(world, 7, "level1") == ORR_OK);
    fuzz_check(orr_tag_register(world, 0, "nought") == ORR_OK);
    return world;
}

typedef struct fuzz_terms {
    orr_term terms[ORR_TERMS_MAX];
    uint32_t count;
    orr_enable_state entities;
} fuzz_terms;

static orr_result fuzz_parse(orr_world* world, const char* text, fuzz_terms* out)
{
    return orri_terms_parse(world, "fuzz", text, out->terms, &out->count, &out->entities, false);
}

static char* fuzz_print(const orr_world* world, const fuzz_terms* terms)
{
    size_t length = orri_terms_print(world, terms->terms, terms->count, terms->entities, NULL, 0);
    char* text = malloc(length + 1);
    fuzz_check(text != NULL);
    fuzz_check(orri_terms_print(world, terms->terms, terms->count, terms->entities, text,
                                length + 1) == length);
    fuzz_check(strlen(text) == length);
    return text;
}

static void fuzz_equal(const fuzz_terms* a, const fuzz_terms* b)
{
    fuzz_check(a->count == b->count && a->entities == b->entities);
    for (uint32_t i = 0; i < a->count; i++) {
        const orr_term *x = &a->terms[i], *y = &b->terms[i];
        fuzz_check(x->type.id == y->type.id && x->tag == y->tag && x->kind == y->kind);
        fuzz_check(x->access == y->access && x->state == y->state && x->changed == y->changed);
        fuzz_check(x->group == y->group);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    static orr_world* world;
    world = world != NULL ? world : fuzz_world();
    char* text = malloc(size + 1); // Exactly this size: reads past the text are detected.
    fuzz_check(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    uint64_t bytes = world->env.total.bytes;
    fuzz_terms terms = {0}, again = {0};
    if (fuzz_parse(world, text, &terms) == ORR_OK) {
        char* first = fuzz_print(world, &terms);
        fuzz_check(fuzz_parse(world, first, &again) == ORR_OK);
        fuzz_equal(&terms, &again);
        char* second = fuzz_print(world, &again);
        fuzz_check(strcmp(first, second) == 0);
        free(second);
        free(first);
    } else {
        const char* error = orr_error_last(world);
        fuzz_check(terms.count == 0 && terms.entities == ORR_ENABLED);
        fuzz_check(strstr(error, "^ column ") != NULL || strstr(error, "at most 4096") != NULL);
    }
    fuzz_check(world->env.total.bytes == bytes);
    free(text);
    return 0;
}
