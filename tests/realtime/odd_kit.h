// SPDX-License-Identifier: MIT
// Parts of worlds for tests of real time. A part has some types, and systems of up to three
// pipelines that check each other. The parts in this file test values: strings, hooks, instances,
// pinned values, enable bits, changed terms.
#ifndef TEST_ODD_KIT_H
#define TEST_ODD_KIT_H

#include "schedule/schedule_kit.h"
#include "support/pinned_kit.h"

#include <orrery/orrery.h>
#include <stdatomic.h>

// ---- faults -------------------------------------------------------------------------------------

static _Atomic uint32_t odd_faults;

#define ODD_CHECK(condition, ...)                                   \
    do {                                                            \
        if (!(condition) && atomic_fetch_add(&odd_faults, 1) < 5) { \
            printf("    %s:%d: ", __FILE__, __LINE__);              \
            printf(__VA_ARGS__);                                    \
            printf("\n");                                           \
        }                                                           \
    } while (0)

// The pipelines of a part's systems.
typedef struct odd_pipes {
    const char *a, *b, *c;
} odd_pipes;

typedef void (*odd_part)(orr_world* world, odd_pipes p);

enum {
    ODD_ROWS = 40
};

// Every entity has one; no system writes it.
ORR_STRUCT(Core, (uint64_t, number))

static void odd_core(orr_world* world)
{
    if (orr_find(world, (orr_entity){0}, "core_0").id != 0) {
        return;
    }
    for (uint32_t i = 0; i < ODD_ROWS; i++) {
        char name[24];
        snprintf(name, sizeof name, "core_%u", i);
        orr_set(world, orr_create_named(world, name), Core, {i});
    }
}

static orr_entity odd_entity(orr_world* world, uint32_t i)
{
    char name[24];
    snprintf(name, sizeof name, "core_%u", i);
    return orr_find(world, (orr_entity){0}, name);
}

#define ODD_SYSTEM(world, ...)                                                                  \
    do {                                                                                        \
        if (KIT_ADD(world, __VA_ARGS__).id == 0) {                                              \
            test_fail(__FILE__, __LINE__, "the system was refused: %s", orr_error_last(world)); \
        }                                                                                       \
    } while (0)

// ---- owned strings and arrays -------------------------------------------------------------------

static void label_text(char* out, size_t size, int32_t number)
{
    snprintf(out, size, "a text of some length with the number %d in it", (int)number);
}

static void label_write(orr_run* run)
{
    Label* l = orr_write(run, Label);
    List* n = orr_write(run, List);
    for (uint32_t i = 0; i < run->count; i++) {
        char text[80];
        if ((i + run->tick) % 3 == 0) {
            l[i].number = (int32_t)run->tick;
            label_text(text, sizeof text, l[i].number);
            orr_string_assign(run->world, &l[i].text, orr_string_make(run->world, text));
            int32_t numbers[3] = {l[i].number, 2 * l[i].number, 3 * l[i].number};
            orr_array_assign(run->world, &n[i].numbers,
                             orr_array_make(run->world, numbers, 3, sizeof *numbers));
        }
    }
}

static void label_look(orr_world* world, const Label* l)
{
    char text[80];
    label_text(text, sizeof text, l->number);
    const char* found = orr_string_text(world, l->text);
    ODD_CHECK(found != NULL && strcmp(found, text) == 0, "'%s' for '%s'", found ? found : "NULL",
              text);
}

static void label_read(orr_run* run)
{
    const Label* l = orr_read(run, Label);
    const List* n = orr_read(run, List);
    for (uint32_t i = 0; i < run->count; i++) {
        uint32_t count;
        label_look(run->world, &l[i]);
        const int32_t* numbers = orr_array_values(run->world, n[i].numbers, &count);
        ODD_CHECK(count == 0 || (count == 3 && numbers[2] == 3 * numbers[0]), "a list is torn");
    }
}

static void label_by_id(orr_run* run)
{
    const Core* c = orr_read(run, Core);
    (void)c;
    for (uint32_t i = 0; i < run->count; i++) {
        const Label* l = orr_get(run->world, orr_iter_entity(run, i), Label);
        if (l != NULL) {
            label_look(run->world, l);
        }
    }
}

static void label_make(orr_run* run)
{
    char text[80];
    int32_t number = -(int32_t)(run->tick % 100);
    label_text(text, sizeof text, number);
    orr_entity entity = orr_send_create(run);
    orr_send_add(run, entity, Label, {orr_string_make(run->world, text), number});
    orr_send_add_preset(run, entity, List);
}

static void label_change(orr_run* run)
{
    char text[80];
    int32_t number = -(int32_t)(run->tick % 100);
    label_text(text, sizeof text, number);
    const Core* c = orr_read(run, Core);
    for (uint32_t i = 0; i < run->count; i++) {
        if ((c[i].number + run->tick) % 7 == 0) {
            orr_send_change(run, orr_iter_entity(run, i), Label,
                            {orr_string_make(run->world, text), number});
        }
    }
}

static void label_drop(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        if (orr_run_random(run, entity) % 3 == 0) {
            orr_send_destroy(run, entity);
        }
    }
}

static void part_strings(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Label, List, Core);
    odd_core(world);
    for (uint32_t i = 0; i < ODD_ROWS; i++) {
        char text[80];
        label_text(text, sizeof text, 0);
        orr_set(world, odd_entity(world, i), Label, {orr_string_make(world, text), 0});
        orr_add(world, odd_entity(world, i), List);
    }
    ODD_SYSTEM(world, .name = "label_write", .pipeline = p.a, .query = "write Label, write List",
               .run = label_write);
    ODD_SYSTEM(world, .name = "label_read", .pipeline = p.b, .query = "Label, List",
               .run = label_read);
    ODD_SYSTEM(world, .name = "label_by_id", .pipeline = p.c, .query = "Core", .by_id = "Label",
               .run = label_by_id);
    ODD_SYSTEM(world, .name = "label_make", .pipeline = p.c, .query = "Core",
               .creates = "Label, List", .creates_max = 4, .run = label_make);
    ODD_SYSTEM(world, .name = "label_change", .pipeline = p.a, .query = "Core", .changes = "Label",
               .run = label_change);
    ODD_SYSTEM(world, .name = "label_drop", .pipeline = p.c, .query = "Label, !Core",
               .destroys = "Label", .run = label_drop);
}

// ---- hooks --------------------------------------------------------------------------------------

static void token_write(orr_run* run)
{
    Token* t = orr_write(run, Token);
    for (uint32_t i = 0; i < run->count; i++) {
        t[i].cell.payload = (uint32_t)run->tick;
    }
}

ORR_STRUCT(Sum, (uint64_t, rows), (uint64_t, sum))

static void token_read(orr_run* run)
{
    const Token* t = orr_read(run, Token);
    Sum* s = orr_state(run, Sum);
    for (uint32_t i = 0; i < run->count; i++) {
        s->sum += t[i].cell.payload;
        s->rows++;
    }
}

static void token_churn(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        switch (orr_run_random(run, entity) % 8) {
        case 0:
            orr_send_add_preset(run, entity, Token);
            break;
        case 1:
            orr_send_remove(run, entity, Token);
            break;
        default:
            break;
        }
    }
}

static void part_hooks(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Token, Core);
    odd_core(world);
    for (uint32_t i = 0; i < ODD_ROWS; i += 2) {
        orr_add(world, odd_entity(world, i), Token);
    }
    ODD_SYSTEM(world, .name = "token_write", .pipeline = p.a, .query = "write Token",
               .run = token_write);
    ODD_SYSTEM(world, .name = "token_read", .pipeline = p.b, .query = "Token",
               .state = ORR_TYPE(Sum), .run = token_read);
    ODD_SYSTEM(world, .name = "token_churn", .pipeline = p.c, .query = "Core", .adds = "Token",
               .removes = "Token", .run = token_churn);
}

// ---- instances, pinned values -------------------------------------------------------------------

ORR_STRUCT_EX(Wheel, (.multiplicity = ORR_MULTIPLE), (uint32_t, turn), (uint32_t, twice))

static void wheel_write(orr_run* run)
{
    Wheel* w = orr_write(run, Wheel);
    orr_instances in = orr_instances_of(run, Wheel);
    for (uint32_t i = 0; i < run->count; i++) {
        for (uint32_t k = 0; k < in.counts[i]; k++) {
            Wheel* one = &w[i * in.capacity + k];
            one->turn = (uint32_t)run->tick;
            one->twice = 2 * one->turn;
        }
    }
}

static void wheel_read(orr_run* run)
{
    const Wheel* w = orr_read(run, Wheel);
    orr_instances in = orr_instances_of(run, Wheel);
    Sum* s = orr_state(run, Sum);
    for (uint32_t i = 0; i < run->count; i++) {
        for (uint32_t k = 0; k < in.counts[i]; k++) {
            const Wheel* one = &w[i * in.capacity + k];
            ODD_CHECK(one->twice == 2 * one->turn, "a wheel is torn");
            s->sum += one->turn;
            s->rows++;
        }
    }
}

static void wheel_churn(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        orr_type type = orr_type_of(run->world, ORR_TYPE(Wheel));
        switch (orr_run_random(run, entity) % 16) {
        case 0:
        case 1:
            orr_send_add_type(run, entity, type, &(Wheel){1, 2}, NULL);
            break;
        case 2:
            orr_send_remove_type(run, entity, type, 0);
            break;
        case 3:
            orr_send_enable_type(run, entity, type, 0, run->tick % 2 == 0);
            break;
        default:
            break;
        }
    }
}

static void part_multiple(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Wheel, Core);
    odd_core(world);
    for (uint32_t i = 0; i < ODD_ROWS; i += 3) {
        orr_add_instance(world, odd_entity(world, i), Wheel, {0, 0});
        orr_add_instance(world, odd_entity(world, i), Wheel, {0, 0});
    }
    ODD_SYSTEM(world, .name = "wheel_write", .pipeline = p.a, .query = "write Wheel",
               .run = wheel_write);
    ODD_SYSTEM(world, .name = "wheel_read", .pipeline = p.b, .query = "Wheel",
               .state = ORR_TYPE(Sum), .run = wheel_read);
    ODD_SYSTEM(world, .name = "wheel_churn", .pipeline = p.c, .query = "Core", .adds = "Wheel",
               .removes = "Wheel", .switches = "Wheel", .run = wheel_churn);
}

static void body_write(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        Body* b = orr_write_pinned(run, Body, i);
        b->mass = (int32_t)run->tick;
        b->speed = 2 * b->mass;
    }
}

static void body_read(orr_run* run)
{
    Sum* s = orr_state(run, Sum);
    for (uint32_t i = 0; i < run->count; i++) {
        const Body* b = orr_read_pinned(run, Body, i);
        ODD_CHECK(b->speed == 2 * b->mass, "a body is torn");
        s->sum += (uint32_t)b->mass;
        s->rows++;
    }
}

static void body_by_id(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        const Body* b = orr_get(run->world, orr_iter_entity(run, i), Body);
        ODD_CHECK(b == NULL || b->speed == 2 * b->mass, "a body is torn");
    }
}

static void body_churn(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        switch (orr_run_random(run, entity) % 16) {
        case 0:
        case 1:
            orr_send_add(run, entity, Body, {3, 6});
            break;
        case 2:
            orr_send_remove(run, entity, Body);
            break;
        default:
            break;
        }
    }
}

static void part_pinned(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Body, Core);
    odd_core(world);
    for (uint32_t i = 0; i < ODD_ROWS; i += 3) {
        orr_set(world, odd_entity(world, i), Body, {0, 0});
    }
    ODD_SYSTEM(world, .name = "body_write", .pipeline = p.a, .query = "write Body",
               .run = body_write);
    ODD_SYSTEM(world, .name = "body_read", .pipeline = p.b, .query = "Body", .state = ORR_TYPE(Sum),
               .run = body_read);
    ODD_SYSTEM(world, .name = "body_by_id", .pipeline = p.b, .query = "Core", .by_id = "Body",
               .run = body_by_id);
    ODD_SYSTEM(world, .name = "body_churn", .pipeline = p.c, .query = "Core", .adds = "Body",
               .removes = "Body", .run = body_churn);
}

// ---- tags, names, enable bits -------------------------------------------------------------------

ORR_STRUCT(Lamp, (uint32_t, lit))
ORR_STRUCT(Bulb, (uint64_t, number))

static void lamp_write(orr_run* run)
{
    Lamp* l = orr_write(run, Lamp);
    for (uint32_t i = 0; i < run->count; i++) {
        l[i].lit = (uint32_t)run->tick;
    }
}

static void lamp_count(orr_run* run)
{
    const Lamp* l = orr_read(run, Lamp);
    Sum* s = orr_state(run, Sum);
    for (uint32_t i = 0; i < run->count; i++) {
        s->sum = s->sum * 31 + l[i].lit;
        s->rows++;
    }
}

static void lamp_switch(orr_run* run)
{
    const Bulb* c = orr_read(run, Bulb);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        uint64_t dice = orr_run_random(run, entity);
        bool on = dice >> 32 & 1;
        char name[40];
        switch (dice % 24) {
        case 0:
            orr_send_tag(run, entity, (orr_tag){700}, on);
            break;
        case 1:
            orr_send_enable(run, entity, Lamp, on);
            break;
        case 2:
            orr_send_enable_type(run, entity, (orr_type){0}, 0, false);
            break;
        case 3:
            snprintf(name, sizeof name, "lamp_%u", (unsigned)c[i].number);
            orr_send_name(run, entity, (orr_entity){0}, on ? name : NULL);
            break;
        default:
            break;
        }
    }
}

static void lamp_wake(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_send_enable_type(run, orr_iter_entity(run, i), (orr_type){0}, 0, true);
    }
}

static void lamp_names(orr_run* run)
{
    Sum* s = orr_state(run, Sum);
    for (uint32_t i = 0; i < run->count; i++) {
        const char* name = orr_name_get(run->world, orr_iter_entity(run, i));
        s->sum += name != NULL ? strlen(name) : 0;
    }
    char name[40];
    snprintf(name, sizeof name, "lamp_%u", (unsigned)(run->tick % ODD_ROWS));
    s->rows += orr_find(run->world, (orr_entity){0}, name).id != 0;
}

static void part_switches(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Lamp, Bulb);
    for (uint32_t i = 0; i < ODD_ROWS; i++) {
        orr_entity entity = orr_create(world);
        orr_set(world, entity, Lamp, {i});
        orr_set(world, entity, Bulb, {i});
    }
    ODD_SYSTEM(world, .name = "lamp_write", .pipeline = p.a, .query = "write Lamp",
               .run = lamp_write);
    ODD_SYSTEM(world, .name = "lamp_count", .pipeline = p.b, .query = "Lamp",
               .state = ORR_TYPE(Sum), .run = lamp_count);
    ODD_SYSTEM(world, .name = "lamp_tagged", .pipeline = p.b, .query = "Lamp, #700",
               .state = ORR_TYPE(Sum), .run = lamp_count);
    ODD_SYSTEM(world, .name = "lamp_dark", .pipeline = p.b, .query = "disabled Lamp",
               .state = ORR_TYPE(Sum), .run = lamp_count);
    ODD_SYSTEM(world, .name = "lamp_names", .pipeline = p.b, .query = "Lamp", .by_id = "orr_name",
               .state = ORR_TYPE(Sum), .run = lamp_names);
    ODD_SYSTEM(world, .name = "lamp_switch", .pipeline = p.c, .query = "Bulb, either Lamp",
               .switches = "*, Lamp", .tags = "*", .renames = true, .run = lamp_switch);
    ODD_SYSTEM(world, .name = "lamp_wake", .pipeline = p.c,
               .query = "Bulb, either Lamp, disabled *", .switches = "*", .run = lamp_wake);
}

// ---- changed terms ------------------------------------------------------------------------------

// One row for each cluster, so a block holds one row.
ORR_STRUCT(Ink, (uint64_t, tick))
ORR_STRUCT(Place, (uint32_t, number))
enum {
    INKS = 16
};
ORR_STRUCT(Inks, (uint64_t, last, INKS), (uint64_t, given, INKS))

static void ink_write(orr_run* run)
{
    const Place* n = orr_read(run, Place);
    if (orr_random(run->tick, n[0].number, 5, 0) % 4 == 0) {
        orr_write(run, Ink)[0].tick = run->tick;
    }
}

static void ink_changed(orr_run* run)
{
    const Place* n = orr_read(run, Place);
    const Ink* ink = orr_read(run, Ink);
    Inks* s = orr_state(run, Inks);
    for (uint32_t i = 0; i < run->count; i++) {
        uint32_t at = n[i].number;
        ODD_CHECK(s->given[at] == 0 || s->last[at] != ink[i].tick,
                  "%u is seen twice at %u (tick %u, given %u)", (unsigned)ink[i].tick, at,
                  (unsigned)run->tick, (unsigned)s->given[at]);
        s->last[at] = ink[i].tick;
        s->given[at]++;
    }
    *orr_export(run, Inks) = *s;
}

static void ink_all(orr_run* run)
{
    const Place* n = orr_read(run, Place);
    const Ink* ink = orr_read(run, Ink);
    const Inks* s = orr_import(run, "ink_changed", Inks);
    for (uint32_t i = 0; i < run->count; i++) {
        ODD_CHECK(s->last[n[i].number] == ink[i].tick, "%u is missed at %u", (unsigned)ink[i].tick,
                  n[i].number);
    }
}

static void part_changed(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Ink, Place);
    for (uint32_t i = 0; i < INKS; i++) {
        orr_entity entity = orr_create(world);
        orr_set(world, entity, Ink, {0});
        orr_set(world, entity, Place, {i});
        orr_tag_add(world, entity, (orr_tag){800 + i});
    }
    ODD_SYSTEM(world, .name = "ink_write", .pipeline = p.a, .query = "write Ink, Place",
               .run = ink_write);
    ODD_SYSTEM(world, .name = "ink_changed", .pipeline = p.b, .query = "changed Ink, Place",
               .state = ORR_TYPE(Inks), .exports = ORR_TYPE(Inks), .run = ink_changed);
    ODD_SYSTEM(world, .name = "ink_all", .pipeline = p.b, .query = "Ink, Place",
               .imports = "ink_changed", .run = ink_all);
}

#endif
