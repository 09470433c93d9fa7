// SPDX-License-Identifier: MIT
// Real time with worlds of every kind. A *part* is some types and systems of up to three pipelines that check each other: owned strings, hooks, instances,
// pinned values, switches, changed terms, orders, references, transactions, exports, readers … Each runs alone and with others, with workers
// and without; every run is recorded, and its replay comes to the same hash.
#include "schedule/schedule_kit.h"
#include "support/pinned_kit.h"

#include <orrery/orrery.h>
#include <stdatomic.h>
#include <stdlib.h>

// ---- faults ---------------------------------------------------------------------------------------------------------------

static _Atomic uint32_t odd_faults;

#define ODD_CHECK(condition, ...)                                   \
    do {                                                            \
        if (!(condition) && atomic_fetch_add(&odd_faults, 1) < 5) { \
            printf("    %s:%d: ", __FILE__, __LINE__);              \
            printf(__VA_ARGS__);                                    \
            printf("\n");                                           \
        }                                                           \
    } while (0)

// Where a part's systems are.
typedef struct odd_pipes {
    const char *a, *b, *c;
} odd_pipes;

typedef void (*odd_part)(orr_world* world, odd_pipes p);

enum {
    ODD_ROWS = 40
};

// What every entity has; nobody writes it.
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
        if (KIT_ADD(world, __VA_ARGS__).index1 == 0) {                                          \
            test_fail(__FILE__, __LINE__, "the system was refused: %s", orr_error_last(world)); \
        }                                                                                       \
    } while (0)

// ---- owned strings and arrays -----------------------------------------------------------------------------------------------

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
    ODD_SYSTEM(world, .name = "label_by_id", .pipeline = p.c, .query = "Core", .any = "Label",
               .run = label_by_id);
    ODD_SYSTEM(world, .name = "label_make", .pipeline = p.c, .query = "Core",
               .creates = "Label, List", .creates_max = 4, .run = label_make);
    ODD_SYSTEM(world, .name = "label_change", .pipeline = p.a, .query = "Core", .changes = "Label",
               .run = label_change);
    ODD_SYSTEM(world, .name = "label_drop", .pipeline = p.c, .query = "Label, !Core",
               .destroys = "Label", .run = label_drop);
}

// ---- hooks --------------------------------------------------------------------------------------------------------------------

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
    Sum* s = orr_own(run, Sum);
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

// ---- instances, pinned values ---------------------------------------------------------------------------------------------------

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
    Sum* s = orr_own(run, Sum);
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
    Sum* s = orr_own(run, Sum);
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
    ODD_SYSTEM(world, .name = "body_by_id", .pipeline = p.b, .query = "Core", .any = "Body",
               .run = body_by_id);
    ODD_SYSTEM(world, .name = "body_churn", .pipeline = p.c, .query = "Core", .adds = "Body",
               .removes = "Body", .run = body_churn);
}

// ---- tags, names, switches --------------------------------------------------------------------------------------------------------

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
    Sum* s = orr_own(run, Sum);
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
    Sum* s = orr_own(run, Sum);
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
    ODD_SYSTEM(world, .name = "lamp_names", .pipeline = p.b, .query = "Lamp", .any = "orr_name",
               .state = ORR_TYPE(Sum), .run = lamp_names);
    ODD_SYSTEM(world, .name = "lamp_switch", .pipeline = p.c, .query = "Bulb, either Lamp",
               .switches = "*, Lamp", .tags = "*", .renames = true, .run = lamp_switch);
    ODD_SYSTEM(world, .name = "lamp_wake", .pipeline = p.c,
               .query = "Bulb, either Lamp, disabled *", .switches = "*", .run = lamp_wake);
}

// ---- changed ---------------------------------------------------------------------------------------------------------------------

// One row for each cluster, so that a block is a row.
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
    Inks* s = orr_own(run, Inks);
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

// ---- orders, loops, references, singletons ------------------------------------------------------------------------------------------

ORR_STRUCT(Depth, (float, z), (uint32_t, tick))
ORR_STRUCT(Parent,
           (orr_entity, of, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_DESTROY)))
ORR_STRUCT(Gravity, (uint64_t, g), (uint64_t, twice))
ORR_STRUCT(Mass, (uint32_t, m))

static void depth_write(orr_run* run)
{
    Depth* d = orr_write(run, Depth);
    for (uint32_t i = 0; i < run->count; i++) {
        d[i].z = (float)(orr_run_random(run, orr_iter_entity(run, i)) % 1000);
        d[i].tick = (uint32_t)run->tick;
    }
}

static void depth_ordered(orr_run* run)
{
    orr_query* const* query = orr_run_settings(run);
    float last = -1;
    uint32_t tick = 0;
    Sum* s = orr_own(run, Sum);
    ORR_EACH (it, *query) {
        const Depth* d = orr_read(&it, Depth);
        for (uint32_t i = 0; i < it.count; i++) {
            ODD_CHECK(d[i].z >= last, "the order is wrong: %g after %g", (double)d[i].z,
                      (double)last);
            ODD_CHECK(tick == 0 || d[i].tick == 0 || d[i].tick == tick, "two ticks are seen");
            last = d[i].z;
            tick = d[i].tick != 0 ? d[i].tick : tick;
            s->sum = s->sum * 31 + (uint64_t)d[i].z;
        }
    }
}

static void depth_cross(orr_run* run)
{
    orr_query* const* query = orr_run_settings(run);
    Mass* m = orr_write(run, Mass);
    ORR_CROSS_RUN(pair, run, *query, ORR_PAIRS_ORDERED)
    {
        const Depth* d = orr_read(&pair.right, Depth);
        for (uint32_t j = 0; j < pair.right.count; j++) {
            m[0].m = m[0].m * 31 + (uint32_t)d[j].z;
        }
    }
}

static void depth_each(orr_run* run)
{
    orr_query* const* query = orr_run_settings(run);
    Sum* s = orr_own(run, Sum);
    orr_reader reader = orr_reader_make(run->world, orr_type_of(run->world, ORR_TYPE(Depth)));
    ORR_EACH (it, *query) {
        const Depth* d = orr_read(&it, Depth);
        for (uint32_t i = 0; i < it.count; i++) {
            const Depth* one = orr_get(run->world, orr_iter_entity(&it, i), Depth);
            const Depth* two = orr_reader_get(&reader, orr_iter_entity(&it, i));
            ODD_CHECK(one != NULL && one->z == d[i].z, "by id it is another");
            ODD_CHECK(two != NULL && two->z == d[i].z, "by reader it is another");
            s->sum = s->sum * 31 + (uint64_t)d[i].z;
        }
    }
    const Gravity* g = orr_singleton(run->world, Gravity);
    ODD_CHECK(g == NULL || g->twice == 2 * g->g, "a singleton is torn");
    s->rows += g != NULL ? g->g : 0;
}

static void depth_gravity(orr_run* run)
{
    Gravity* g = orr_write(run, Gravity);
    g[0].g = run->tick;
    g[0].twice = 2 * run->tick;
}

static orr_query* depth_queries[3]; // Of one world at a time.

static void part_orders(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Depth, Gravity, Mass, Core);
    odd_core(world);
    for (uint32_t i = 0; i < ODD_ROWS; i++) {
        orr_set(world, odd_entity(world, i), Depth, {0, 0});
        if (i < 3) {
            orr_set(world, odd_entity(world, i), Mass, {0});
        }
    }
    orr_set(world, orr_world_entity(world), Gravity, {0, 0});
    depth_queries[0] =
        orr_query_create(world, &(orr_query_desc){.text = "Depth", .order_by = "Depth.z"});
    depth_queries[1] = orr_query_text(world, "Depth");
    depth_queries[2] = orr_query_text(world, "Depth, Core");
    ODD_SYSTEM(world, .name = "depth_write", .pipeline = p.a, .query = "write Depth",
               .run = depth_write);
    ODD_SYSTEM(world, .name = "depth_gravity", .pipeline = p.a, .query = "write Gravity",
               .run = depth_gravity);
    ODD_SYSTEM(world, .name = "depth_ordered", .pipeline = p.b, .once = true, .any = "Depth",
               .alone = true, .state = ORR_TYPE(Sum), .settings = &depth_queries[0],
               .run = depth_ordered);
    ODD_SYSTEM(world, .name = "depth_cross", .pipeline = p.b, .query = "write Mass", .any = "Depth",
               .settings = &depth_queries[1], .run = depth_cross);
    ODD_SYSTEM(world, .name = "depth_each", .pipeline = p.c, .once = true,
               .any = "Depth, Core, Gravity", .state = ORR_TYPE(Sum), .settings = &depth_queries[2],
               .run = depth_each);
}

static void parent_change(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        uint64_t dice = orr_run_random(run, entity);
        const Parent* parent = orr_get(run->world, entity, Parent);
        if (dice % 8 == 0 && parent == NULL) {
            orr_entity child = orr_send_create(run);
            orr_send_add(run, child, Parent, {entity});
        } else if (dice % 8 == 1 && parent != NULL) {
            orr_send_change(run, entity, Parent, {{0}});
        } else if (dice % 16 == 2 && parent != NULL) {
            orr_send_destroy(run, entity);
        }
    }
}

static void parent_look(orr_run* run)
{
    Sum* s = orr_own(run, Sum);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i), out[8];
        uint32_t count = orr_referrers_get(run->world, entity,
                                           orr_type_of(run->world, ORR_TYPE(Parent)), "of", out, 8);
        s->sum = s->sum * 31 + count;
        for (uint32_t k = 0; k < count && k < 8; k++) {
            ODD_CHECK(orr_alive(run->world, out[k]), "a dead one refers");
        }
    }
}

static void part_references(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Parent, Core);
    odd_core(world);
    ODD_SYSTEM(world, .name = "parent_change", .pipeline = p.a, .query = "Parent|Core",
               .any = "Parent", .creates = "Parent", .creates_max = 64, .changes = "Parent",
               .destroys = "Parent, !Core", .run = parent_change);
    ODD_SYSTEM(world, .name = "parent_look", .pipeline = p.b, .query = "Core", .any = "Parent",
               .state = ORR_TYPE(Sum), .run = parent_look);
}

// ---- transactions ---------------------------------------------------------------------------------------------------------------------

ORR_STRUCT(Purse, (int64_t, gold), (int64_t, owned))
ORR_STRUCT_EX(Chest, (.live = true), (int64_t, gold))
ORR_STRUCT(Well, (int64_t, gold))
static _Atomic int64_t odd_gold[3];

static void purse_own(orr_run* run)
{
    Purse* p = orr_write(run, Purse);
    Chest* c = orr_write(run, Chest);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].owned++;
        c[i].gold = c[i].gold + 0;
    }
}

static void purse_read(orr_run* run)
{
    const Purse* p = orr_read(run, Purse);
    const Chest* c = orr_read(run, Chest);
    const Well* w = orr_read(run, Well);
    Sum* s = orr_own(run, Sum);
    for (uint32_t i = 0; i < run->count; i++) {
        s->sum = s->sum * 31 + (uint64_t)(p[i].gold + c[i].gold + w[i].gold);
    }
}

static void purse_double(const orr_world* world, orr_entity target, void* value,
                         const void* argument)
{
    (void)world;
    (void)target;
    ((Well*)value)->gold += *(const int64_t*)argument;
}

static void purse_pay(orr_run* run)
{
    const Core* c = orr_read(run, Core);
    (void)c;
    int64_t sum = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        int64_t amount = (int64_t)(orr_run_random(run, entity) % 10);
        orr_transact(run, ORR_OP_ADD, entity, Purse, gold, amount);
        orr_transact(run, ORR_OP_ADD, entity, Chest, gold, amount);
        orr_transact_call(run, entity, orr_type_of(run->world, ORR_TYPE(Well)), 0, purse_double,
                          &amount, sizeof amount);
        sum += amount;
    }
    if (run->tick % 4 == 0) {
        orr_entity fresh = orr_send_create(run);
        orr_send_add_preset(run, fresh, Purse);
        orr_send_add_preset(run, fresh, Chest);
        orr_send_add_preset(run, fresh, Well);
        orr_transact(run, ORR_OP_ADD, fresh, Purse, gold, 1);
        orr_transact(run, ORR_OP_ADD, fresh, Chest, gold, 1);
        orr_transact(run, ORR_OP_ADD, fresh, Well, gold, 1);
        sum++;
    }
    for (uint32_t i = 0; i < 3; i++) {
        atomic_fetch_add(&odd_gold[i], sum);
    }
}

static void part_transactions(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Purse, Chest, Well, Core);
    odd_core(world);
    for (uint32_t i = 0; i < ODD_ROWS; i++) {
        orr_set(world, odd_entity(world, i), Purse, {0, 0});
        orr_set(world, odd_entity(world, i), Chest, {0});
        orr_set(world, odd_entity(world, i), Well, {0});
    }
    for (uint32_t i = 0; i < 3; i++) {
        atomic_store(&odd_gold[i], 0);
    }
    ODD_SYSTEM(world, .name = "purse_own", .pipeline = p.a, .query = "write Purse, write Chest",
               .run = purse_own);
    ODD_SYSTEM(world, .name = "purse_read", .pipeline = p.b, .query = "Purse, Chest, Well",
               .state = ORR_TYPE(Sum), .run = purse_read);
    ODD_SYSTEM(world, .name = "purse_pay", .pipeline = p.c, .query = "Core",
               .transacts = "Purse, Chest, Well", .creates = "Purse, Chest, Well", .creates_max = 2,
               .parallel = true, .run = purse_pay);
    ODD_SYSTEM(world, .name = "purse_pay_too", .pipeline = p.b, .query = "Core",
               .transacts = "Purse, Chest, Well", .creates = "Purse, Chest, Well", .creates_max = 2,
               .run = purse_pay);
}

static void odd_count_gold(orr_world* world)
{
    if (orr_system_find(world, "purse_pay").index1 == 0) {
        return;
    }
    int64_t sums[3] = {0};
    orr_query* query = orr_query_text(world, "Purse, Chest, Well");
    ORR_EACH (it, query) {
        for (uint32_t i = 0; i < it.count; i++) {
            sums[0] += orr_read(&it, Purse)[i].gold;
            sums[1] += orr_read(&it, Chest)[i].gold;
            sums[2] += orr_read(&it, Well)[i].gold;
        }
    }
    orr_query_destroy(query);
    for (uint32_t i = 0; i < 3; i++) {
        ODD_CHECK(sums[i] == atomic_load(&odd_gold[i]), "gold of type %u: %lld of %lld", i,
                  (long long)sums[i], (long long)atomic_load(&odd_gold[i]));
    }
}

// ---- exports -------------------------------------------------------------------------------------------------------------------------

static void total_add(void* into, const void* part)
{
    Sum* a = into;
    const Sum* b = part;
    a->rows += b->rows;
    a->sum += b->sum;
}

static void total_make(orr_run* run)
{
    const Core* c = orr_read(run, Core);
    Sum* s = orr_export(run, Sum);
    for (uint32_t i = 0; i < run->count; i++) {
        s->sum += c[i].number * run->tick;
        s->rows += run->tick;
    }
}

static void total_read(orr_run* run)
{
    const Sum* s = orr_import(run, "total_make", Sum);
    Sum* own = orr_own(run, Sum);
    ODD_CHECK(s->rows % ODD_ROWS == 0, "half an export: %u", (unsigned)s->rows);
    ODD_CHECK(s->sum == s->rows / ODD_ROWS * (ODD_ROWS * (ODD_ROWS - 1) / 2), "torn");
    own->sum = own->sum * 31 + s->sum;
    own->rows++;
}

static void part_exports(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Core);
    odd_core(world);
    ODD_SYSTEM(world, .name = "total_make", .pipeline = p.a, .query = "Core, orr_name",
               .exports = ORR_TYPE(Sum), .combine = total_add, .run = total_make);
    ODD_SYSTEM(world, .name = "total_read", .pipeline = p.b, .once = true, .imports = "total_make",
               .state = ORR_TYPE(Sum), .run = total_read);
    ODD_SYSTEM(world, .name = "total_too", .pipeline = p.c, .once = true, .imports = "total_make",
               .state = ORR_TYPE(Sum), .run = total_read);
}

// ---- readers ------------------------------------------------------------------------------------------------------------------------

ORR_STRUCT(Leaf, (uint64_t, tick))
enum {
    MIRROR = 2048
};
ORR_STRUCT(Mirror, (uint64_t, ids, MIRROR), (uint64_t, ticks, MIRROR), (uint64_t, hears))

static void leaf_grow(orr_run* run)
{
    Leaf* l = orr_write(run, Leaf);
    for (uint32_t i = 0; i < run->count; i++) {
        if (orr_run_random(run, orr_iter_entity(run, i)) % 2 == 0) {
            l[i].tick = run->tick;
        }
    }
}

static void leaf_churn(orr_run* run)
{
    if (run->tick % 2 == 0) {
        orr_entity entity = orr_send_create(run);
        orr_send_add(run, entity, Leaf, {run->tick});
    }
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        if (orr_run_random(run, entity) % (2 * ODD_ROWS) == 0) {
            orr_send_destroy(run, entity);
        }
    }
}

static void mirror_set(Mirror* m, orr_entity entity, uint64_t tick, bool there)
{
    uint32_t at = (uint32_t)(entity.id % MIRROR);
    if (!there && m->ids[at] != entity.id) {
        return; // Its place was taken in the same commit, of which that was told first.
    }
    m->ids[at] = there ? entity.id : 0;
    m->ticks[at] = there ? tick : 0;
}

static void leaf_mirror(orr_run* run)
{
    Mirror* mirror = orr_own(run, Mirror);
    const uint32_t* every = orr_run_settings(run);
    if (run->tick % *every != 0) {
        return; // It does not listen.
    }
    ORR_MESSAGES(m, run)
    {
        const Leaf* l = m->kind == ORR_ENTITY_REMOVED || m->kind == ORR_COMPONENT_REMOVED
                            ? NULL
                            : orr_values(m, Leaf);
        mirror->hears += m->kind == ORR_COMPONENT_CHANGED;
        for (uint32_t i = 0; i < m->count; i++) {
            mirror_set(mirror, m->entities[i], l != NULL ? l[i].tick : 0,
                       m->kind != ORR_ENTITY_REMOVED);
        }
    }
}

static const uint32_t leaf_every[2] = {1, 7};

static void part_readers(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Leaf);
    for (uint32_t i = 0; i < ODD_ROWS; i++) {
        orr_set(world, orr_create(world), Leaf, {0});
    }
    ODD_SYSTEM(world, .name = "leaf_grow", .pipeline = p.a, .query = "write Leaf",
               .run = leaf_grow);
    ODD_SYSTEM(world, .name = "leaf_churn", .pipeline = p.c, .query = "Leaf", .creates = "Leaf",
               .creates_max = 2, .destroys = "Leaf", .run = leaf_churn);
    ODD_SYSTEM(world, .name = "leaf_mirror", .kind = ORR_INDIRECT, .pipeline = p.b, .query = "Leaf",
               .state = ORR_TYPE(Mirror), .settings = &leaf_every[0], .run = leaf_mirror);
    ODD_SYSTEM(world, .name = "leaf_lazy", .kind = ORR_INDIRECT, .pipeline = p.b, .query = "Leaf",
               .messages_max = 100, .state = ORR_TYPE(Mirror), .settings = &leaf_every[1],
               .run = leaf_mirror);
}

// After all were told: the mirror is the world.
static void odd_compare_mirror(orr_world* world)
{
    orr_system system = orr_system_find(world, "leaf_mirror");
    const Mirror* m = system.index1 != 0 ? orr_system_state(world, system) : NULL;
    if (m == NULL) {
        return;
    }
    uint64_t there = 0, seen = 0;
    orr_query* query = orr_query_text(world, "Leaf");
    ORR_EACH (it, query) {
        for (uint32_t i = 0; i < it.count; i++) {
            uint32_t at = (uint32_t)(orr_iter_entity(&it, i).id % MIRROR);
            ODD_CHECK(m->ids[at] == orr_iter_entity(&it, i).id, "an entity is not in the mirror");
            ODD_CHECK(m->ticks[at] == orr_read(&it, Leaf)[i].tick, "its value is another");
            there++;
        }
    }
    orr_query_destroy(query);
    for (uint32_t i = 0; i < MIRROR; i++) {
        seen += m->ids[i] != 0;
    }
    ODD_CHECK(there == seen, "%u are mirrored, %u are there", (unsigned)seen, (unsigned)there);
}

// ---- atomic sections ---------------------------------------------------------------------------------------------------------------

ORR_STRUCT(Pot, (uint64_t, soup), (uint64_t, twice))

static void pot_fill(void* value, void* user)
{
    Pot* pot = value;
    pot->soup += *(const uint64_t*)user;
    pot->twice = 2 * pot->soup;
}

static void pot_cook(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        uint64_t more = orr_run_random(run, orr_iter_entity(run, i)) % 10;
        orr_atomic_on(run, orr_iter_entity(run, i), Pot, pot_fill, &more);
    }
}

static void pot_taste(orr_run* run)
{
    const Pot* pot = orr_read(run, Pot);
    Sum* s = orr_own(run, Sum);
    for (uint32_t i = 0; i < run->count; i++) {
        ODD_CHECK(pot[i].twice == 2 * pot[i].soup, "a pot is torn");
        s->sum = s->sum * 31 + pot[i].soup;
    }
}

static void part_sections(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Pot, Core);
    odd_core(world);
    for (uint32_t i = 0; i < ODD_ROWS; i++) {
        orr_set(world, odd_entity(world, i), Pot, {0, 0});
    }
    ODD_SYSTEM(world, .name = "pot_cook", .pipeline = p.a, .query = "Core", .atomics = "Pot",
               .run = pot_cook);
    ODD_SYSTEM(world, .name = "pot_cook_too", .pipeline = p.a, .query = "Core", .atomics = "Pot",
               .parallel = true, .run = pot_cook);
    ODD_SYSTEM(world, .name = "pot_taste", .pipeline = p.b, .query = "Pot", .state = ORR_TYPE(Sum),
               .run = pot_taste);
}

// ---- parallel systems of two pipelines, printing -----------------------------------------------------------------------------------------

ORR_STRUCT(Ant, (uint64_t, steps), (uint64_t, twice))
ORR_STRUCT(Bee, (uint64_t, seen), (uint64_t, twice))

static void ant_walk(orr_run* run)
{
    Ant* a = orr_write(run, Ant);
    const Bee* b = orr_read(run, Bee);
    for (uint32_t i = 0; i < run->count; i++) {
        ODD_CHECK(b[i].twice == 2 * b[i].seen, "a bee is torn");
        a[i].steps += 1 + b[i].seen % 3;
        a[i].twice = 2 * a[i].steps;
    }
}

static void bee_fly(orr_run* run)
{
    Bee* b = orr_write(run, Bee);
    const Ant* a = orr_read(run, Ant);
    for (uint32_t i = 0; i < run->count; i++) {
        ODD_CHECK(a[i].twice == 2 * a[i].steps, "an ant is torn");
        b[i].seen = b[i].seen * 31 + a[i].steps;
        b[i].twice = 2 * b[i].seen;
    }
}

static void bee_print(orr_run* run)
{
    char text[400];
    for (uint32_t i = 0; i < run->count && i < 2; i++) {
        ODD_CHECK(orr_entity_print(run->world, orr_iter_entity(run, i), text, sizeof text) > 0,
                  "nothing is printed");
    }
}

static void part_parallel(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Ant, Bee);
    orr_cluster cluster = KIT_CLUSTER(world, Ant, Bee);
    CHECK_OK(orr_create_many(world, cluster, 6000, NULL, 0, NULL));
    ODD_SYSTEM(world, .name = "ant_walk", .pipeline = p.a, .query = "write Ant, Bee",
               .parallel = true, .run = ant_walk);
    ODD_SYSTEM(world, .name = "bee_fly", .pipeline = p.b, .query = "write Bee, Ant",
               .parallel = true, .run = bee_fly);
    ODD_SYSTEM(world, .name = "bee_print", .pipeline = p.b, .query = "Bee", .run = bee_print);
}

// ---- switching systems -------------------------------------------------------------------------------------------------------------------

static void switch_others(orr_run* run)
{
    orr_system other = orr_system_find(run->world, "switched");
    orr_system_enable(run->world, other, run->tick % 3 != 0);
    orr_group_enable(run->world, "switched_group", run->tick % 5 != 0);
}

static void switched(orr_run* run)
{
    orr_own(run, Sum)->rows += run->tick;
}

static void part_systems(orr_world* world, odd_pipes p)
{
    ODD_SYSTEM(world, .name = "switch_others", .pipeline = p.a, .once = true, .run = switch_others);
    ODD_SYSTEM(world, .name = "switched", .pipeline = p.b, .once = true, .state = ORR_TYPE(Sum),
               .run = switched);
    ODD_SYSTEM(world, .name = "switched_1", .pipeline = p.b, .group = "switched_group",
               .once = true, .state = ORR_TYPE(Sum), .run = switched);
    ODD_SYSTEM(world, .name = "switched_2", .pipeline = p.a, .group = "switched_group",
               .once = true, .state = ORR_TYPE(Sum), .run = switched);
}

// ---- live types, indirect writers, the caller's thread ----------------------------------------------------------------------------------------

ORR_STRUCT_EX(Vine, (.live = true), (uint64_t, tick), (uint64_t, twice))
ORR_STRUCT(Moss, (uint64_t, tick), (uint64_t, twice))
ORR_STRUCT(Stone, (uint64_t, seen))

static void vine_grow(orr_run* run)
{
    const Place* n = orr_read(run, Place);
    if (orr_random(run->tick, n[0].number, 6, 0) % 4 == 0) {
        Vine* v = orr_write(run, Vine);
        v[0].tick = run->tick;
        v[0].twice = 2 * run->tick;
    }
}

static void vine_changed(orr_run* run)
{
    const Place* n = orr_read(run, Place);
    const Vine* v = orr_read(run, Vine);
    Inks* s = orr_own(run, Inks);
    for (uint32_t i = 0; i < run->count; i++) {
        uint32_t at = n[i].number;
        ODD_CHECK(v[i].twice == 2 * v[i].tick, "a vine is torn");
        ODD_CHECK(s->given[at] == 0 || s->last[at] != v[i].tick, "vine %u is seen twice at %u",
                  (unsigned)v[i].tick, at);
        s->last[at] = v[i].tick;
        s->given[at]++;
    }
}

static void moss_spread(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        const Moss* values = m->kind <= ORR_COMPONENT_CHANGED ? orr_values(m, Moss) : NULL;
        for (uint32_t i = 0; values != NULL && i < m->count; i++) {
            if (values[i].tick < run->tick) {
                orr_send_change(run, m->entities[i], Moss, {run->tick, 2 * run->tick});
            }
        }
    }
}

static void moss_look(orr_run* run)
{
    const Moss* moss = orr_read(run, Moss);
    Stone* stone = orr_write(run, Stone);
    for (uint32_t i = 0; i < run->count; i++) {
        ODD_CHECK(moss[i].twice == 2 * moss[i].tick, "moss is torn");
        stone[i].seen = stone[i].seen * 31 + moss[i].tick;
    }
}

static void part_live(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Vine, Place, Moss, Stone);
    for (uint32_t i = 0; i < INKS; i++) {
        orr_entity entity = orr_create(world);
        orr_set(world, entity, Vine, {0, 0});
        orr_set(world, entity, Place, {i});
        orr_set(world, entity, Moss, {0, 0});
        orr_set(world, entity, Stone, {0});
        orr_tag_add(world, entity, (orr_tag){900 + i});
    }
    ODD_SYSTEM(world, .name = "vine_grow", .pipeline = p.a, .query = "write Vine, Place",
               .main_thread = true, .run = vine_grow);
    ODD_SYSTEM(world, .name = "vine_changed", .pipeline = p.b, .query = "changed Vine, Place",
               .state = ORR_TYPE(Inks), .run = vine_changed);
    ODD_SYSTEM(world, .name = "moss_spread", .kind = ORR_INDIRECT, .pipeline = p.a,
               .query = "write Moss", .run = moss_spread);
    ODD_SYSTEM(world, .name = "moss_look", .pipeline = p.b, .query = "Moss, write Stone",
               .main_thread = true, .run = moss_look);
}

// ---- runs ---------------------------------------------------------------------------------------------------------------------------------

typedef struct odd_desc {
    uint32_t workers;
    orr_police police;
    uint32_t ticks;
    uint64_t seed;
    uint32_t pipes;    // Besides the first. 0: 2.
    uint64_t parts;    // Bits.
    const char* trace; // A file.
    bool journal;
} odd_desc;

static const struct {
    const char* name;
    odd_part part;
} odd_parts[] = {
    {"strings", part_strings},
    {"hooks", part_hooks},
    {"multiple", part_multiple},
    {"pinned", part_pinned},
    {"switches", part_switches},
    {"changed", part_changed},
    {"orders", part_orders},
    {"references", part_references},
    {"transactions", part_transactions},
    {"exports", part_exports},
    {"readers", part_readers},
    {"sections", part_sections},
    {"parallel", part_parallel},
    {"systems", part_systems},   {"live", part_live},
};
enum {
    ODD_PARTS = sizeof odd_parts / sizeof *odd_parts,
    ODD_UNRECORDED = 1 << 11 // Atomic sections of a parallel system.
};

static const char* odd_pipe(char* out, const odd_desc* desc, uint64_t dice)
{
    uint32_t pipes = desc->pipes != 0 ? desc->pipes : 2;
    uint32_t at = (uint32_t)(dice % (pipes + 1));
    snprintf(out, 16, "pipe_%u", at);
    return at == 0 ? "main" : out;
}

static orr_world* odd_begin(kit* k, const odd_desc* desc)
{
    orr_world* world = kit_begin(k, &(orr_world_desc){.rate_hz = 200,
                                                      .workers = desc->workers,
                                                      .seed = desc->seed,
                                                      .atomic_sections = true});
    orr_police_set(world, desc->police != ORR_POLICE_DEFAULT ? desc->police : ORR_POLICE_CALLS);
    uint32_t pipes = desc->pipes != 0 ? desc->pipes : 2;
    for (uint32_t i = 1; i <= pipes; i++) {
        char name[16];
        snprintf(name, sizeof name, "pipe_%u", i);
        double rate = desc->seed == 0 ? 200 + 100 * i
                                      : (double)(50 + orr_random(desc->seed, i, 1, 0) % 500);
        bool continuous = desc->seed != 0 && orr_random(desc->seed, i, 2, 0) % 5 == 0;
        orr_pipeline_desc pipe = {.name = name, .rate_hz = continuous ? 0 : rate};
        CHECK(orr_pipeline_add(world, &pipe).index1 != 0);
    }
    for (uint32_t i = 0; i < ODD_PARTS; i++) {
        if ((desc->parts >> i & 1) != 0) {
            char names[3][16];
            uint64_t dice = desc->seed != 0 ? orr_random(desc->seed, i, 3, 0) : i;
            odd_pipes p = {odd_pipe(names[0], desc, dice), odd_pipe(names[1], desc, dice + 1),
                           odd_pipe(names[2], desc, dice + 2 + (dice >> 32 & 1))};
            odd_parts[i].part(world, p);
        }
    }
    if (desc->journal) {
        CHECK_OK(orr_journal_set(world, 500));
        orr_stats_time_all(world, true);
    }
    if (desc->trace != NULL) {
        CHECK_OK(orr_trace_set(world, desc->trace));
    }
    CHECK_STR(k->errors.text, "");
    return world;
}

static void odd_end(kit* k)
{
    if (atomic_load(&odd_faults) != 0) {
        test_fail(__FILE__, __LINE__, "%u faults", (unsigned)atomic_load(&odd_faults));
        atomic_store(&odd_faults, 0);
    }
    if (strstr(k->errors.text, "the queue of system 'leaf_lazy'") == NULL) {
        CHECK_STR(k->errors.text, "");
    }
    kit_end(k);
}

// Until everything that was sent has arrived.
static void odd_settle(orr_world* world)
{
    static const char* const names[] = {"purse_pay", "purse_pay_too", "leaf_grow", "leaf_churn"};
    for (uint32_t i = 0; i < 4; i++) {
        orr_system system = orr_system_find(world, names[i]);
        if (system.index1 != 0) {
            CHECK_OK(orr_system_enable(world, system, false));
        }
    }
    CHECK_OK(orr_step(world, 40));
}

static void odd_run(const odd_desc* desc)
{
    kit k = {0};
    orr_recording* recording = orr_recording_create();
    uint32_t ticks = desc->ticks != 0 ? desc->ticks : 30;
    kit_tokens_reset();
    orr_world* world = odd_begin(&k, desc);
    CHECK_OK(orr_time_wish(world, 5));
    CHECK_OK(orr_realtime(
        world, &(orr_realtime_desc){.ticks = ticks, .record = recording, .hashes = true}));
    CHECK_OK(orr_world_validate(world));
    uint64_t hash = orr_world_hash(world);
    orr_system mirror = orr_system_find(world, "leaf_mirror");
    if (mirror.index1 != 0) {
        CHECK(((const Mirror*)orr_system_state(world, mirror))->hears > 0);
    }
    odd_settle(world);
    odd_count_gold(world);
    odd_compare_mirror(world);
    odd_end(&k);
    for (uint32_t i = 0; i < 2 && (desc->parts & ODD_UNRECORDED) == 0; i++) {
        kit_tokens_reset();
        k = (kit){0};
        world = odd_begin(&k, desc);
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.replay = recording}));
        CHECK(orr_world_hash(world) == hash);
        odd_end(&k);
    }
    orr_recording_destroy(recording);
}

ORR_TEST(realtime_odd_parts_alone)
{
    const char* only = getenv("ODD_PART");
    for (uint32_t i = 0; i < ODD_PARTS; i++) {
        if (only != NULL && strcmp(only, odd_parts[i].name) != 0) {
            continue;
        }
        for (uint32_t workers = 0; workers <= 4; workers += 2) {
            printf("    %s, %u workers\n", odd_parts[i].name, workers);
            odd_run(&(odd_desc){.workers = workers, .parts = UINT64_C(1) << i});
        }
    }
}

ORR_TEST(realtime_odd_police)
{
    for (uint32_t i = 0; i < ODD_PARTS; i++) {
        for (orr_police police = ORR_POLICE_OFF; police <= ORR_POLICE_FULL; police += 2) {
            printf("    %s, police %u\n", odd_parts[i].name, (unsigned)police);
            odd_run(&(odd_desc){.workers = 2, .parts = UINT64_C(1) << i, .police = police});
        }
    }
}

ORR_TEST(realtime_odd_all_traced)
{
    odd_run(&(odd_desc){.workers = 2,
                        .parts = (UINT64_C(1) << ODD_PARTS) - 1,
                        .journal = true,
                        .trace = "realtime_odd.trace.json"});
    remove("realtime_odd.trace.json");
}

ORR_TEST(realtime_odd_pairs)
{
    for (uint32_t i = 0; i < ODD_PARTS; i++) {
        for (uint32_t k = 0; k < i; k++) {
            odd_desc desc = {.workers = (i + k) % 3 * 2,
                             .parts = UINT64_C(1) << i | UINT64_C(1) << k,
                             .ticks = 10};
            printf("    %s, %s\n", odd_parts[i].name, odd_parts[k].name);
            odd_run(&desc);
        }
    }
}

ORR_TEST(realtime_odd_random)
{
    uint64_t first = getenv("ODD_SEED") != NULL ? strtoull(getenv("ODD_SEED"), NULL, 10) : 1;
    uint64_t count = getenv("ODD_SEEDS") != NULL ? strtoull(getenv("ODD_SEEDS"), NULL, 10) : 12;
    for (uint64_t seed = first; seed < first + count; seed++) {
        uint64_t parts = orr_random(seed, 7, 0, 0) & orr_random(seed, 8, 0, 0);
        parts = (parts & ((UINT64_C(1) << ODD_PARTS) - 1) & ~(uint64_t)ODD_UNRECORDED) |
                1 << seed % 11;
        odd_desc desc = {.workers = (uint32_t)(seed % 3) * 2,
                         .seed = seed,
                         .parts = parts,
                         .pipes = 1 + (uint32_t)(orr_random(seed, 9, 0, 0) % 4)};
        printf("    seed %llu: parts %llx, %u pipelines, %u workers\n", (unsigned long long)seed,
               (unsigned long long)parts, desc.pipes + 1, desc.workers);
        odd_run(&desc);
    }
}

// Whatever is refused: the world stays whole, and goes on. (What a system sent or made may be missing: faults do not count.)
static uint64_t odd_memory(const odd_desc* desc, uint64_t n, bool for_good)
{
    kit k = {0};
    kit_tokens_reset();
    orr_world* world = odd_begin(&k, desc);
    CHECK_OK(orr_time_wish(world, 5));
    failing_alloc_arm(&k.memory, n, for_good);
    orr_result result = orr_realtime(world, &(orr_realtime_desc){.ticks = 3});
    uint64_t refused = k.memory.refused;
    failing_alloc_arm(&k.memory, 0, false);
    CHECK(result == ORR_OK || result == ORR_ERR_MEMORY);
    for (uint32_t i = 0; n % 2 == 0 && i < 8; i++) {
        result = orr_step(world, 1);
        CHECK(result == ORR_OK || (i < 7 && result == ORR_ERR_MEMORY));
    }
    result = orr_realtime(world, &(orr_realtime_desc){.ticks = 3});
    if (result != ORR_OK) {
        test_fail(__FILE__, __LINE__, "after allocation %llu: %s", (unsigned long long)n,
                  orr_error_last(world));
    }
    CHECK_OK(orr_world_validate(world));
    k.errors = (kit_errors){0};
    atomic_store(&odd_faults, 0);
    odd_end(&k);
    return refused;
}

ORR_TEST(realtime_odd_memory)
{
    const char* say = getenv("ODD_SAY");
    uint64_t from = getenv("ODD_FROM") != NULL ? strtoull(getenv("ODD_FROM"), NULL, 10) : 1;
    uint64_t step = getenv("ODD_STEP") != NULL ? strtoull(getenv("ODD_STEP"), NULL, 10) : 23;
    for (uint32_t i = 0; i <= ODD_PARTS; i++) {
        odd_desc desc = {.workers = i % 3, .parts = UINT64_C(1) << i};
        if (i == ODD_PARTS) {
            desc.parts = (UINT64_C(1) << ODD_PARTS) - 1;
        }
        uint64_t refused = 1;
        for (uint64_t n = from; refused > 0; n += step) {
            if (say != NULL) {
                printf("    %s, %llu\n", i < ODD_PARTS ? odd_parts[i].name : "all",
                       (unsigned long long)n);
                fflush(stdout);
            }
            refused = odd_memory(&desc, n, n % 3 == 0);
        }
    }
}
