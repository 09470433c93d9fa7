// SPDX-License-Identifier: MIT
// Where two runs part is found and named.
#include "schedule/schedule_kit.h"
#include <orrery/orrery.h>
#include <stdlib.h>

ORR_STRUCT(Vec, (float, x), (float, y))
ORR_STRUCT(Place, (Vec, at), (uint32_t, steps, 4))
ORR_STRUCT(Drift, (float, x), (float, y))
ORR_STRUCT_EX(Rock, (.storage = ORR_PINNED), (uint64_t, weight))
ORR_STRUCT(Tally, (uint64_t, sum))
ORR_STRUCT(Spark, (uint32_t, left))

enum {
    ENTITIES = 100,
};

// What goes wrong, in one of two worlds.
typedef enum wrong {
    WRONG_NOT,
    WRONG_BIT,    // In a field of a component, written in place.
    WRONG_PINNED, // By id.
    WRONG_STATE,  // Of a system.
    WRONG_SEND,   // Another value is sent with what is created.
    WRONG_MORE,   // More is created.
} wrong;
typedef struct fault {
    wrong what;
    uint64_t tick;
} fault;

static bool fault_now(const orr_run* run, wrong what)
{
    const fault* f = orr_run_settings(run);
    return f->what == what && run->tick == f->tick;
}

static void drift(orr_run* run)
{
    Place* place = orr_write(run, Place);
    const Drift* d = orr_read(run, Drift);
    for (uint32_t i = 0; i < run->count; i++) {
        place[i].at.x += d[i].x * run->dt;
        place[i].at.y += d[i].y * run->dt;
        place[i].steps[run->tick % 4]++;
        if (fault_now(run, WRONG_BIT) && place[i].steps[0] > 0 && i == 42) {
            place[i].steps[2] ^= 1u << 9;
        }
    }
}

static void settle(
    orr_run* run) // Spreads what is there over all, so that a fault is everywhere at once.
{
    Drift* d = orr_write(run, Drift);
    const Place* place = orr_read(run, Place);
    float x = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        x += (float)(place[i].steps[2] % 16) + place[i].at.x / 1024;
    }
    for (uint32_t i = 0; i < run->count; i++) {
        d[i].x = x / 1024 - (float)(i % 3);
    }
}

static orr_entity rock_of; // The same in all worlds.
static void roll(orr_run* run)
{
    Rock* rock = orr_edit(run->world, rock_of, Rock);
    if (rock != NULL) {
        rock->weight += fault_now(run, WRONG_PINNED) ? 3 : 2;
    }
}

static void tally(orr_run* run)
{
    orr_own(run, Tally)->sum += fault_now(run, WRONG_STATE) ? 5 : 1;
}

static void spark(orr_run* run)
{
    uint32_t count = fault_now(run, WRONG_MORE) ? 3 : 2;
    for (uint32_t i = 0; i < count; i++) {
        orr_entity entity = orr_send_create(run);
        orr_send_add(run, entity, Spark, {fault_now(run, WRONG_SEND) && i == 1 ? 4 : 3});
    }
}

static void burn(orr_run* run)
{
    Spark* s = orr_write(run, Spark);
    for (uint32_t i = 0; i < run->count; i++) {
        if (s[i].left-- == 0) {
            orr_send_destroy(run, orr_iter_entity(run, i));
        }
    }
}

static void call_shove(orr_world* world, void* data)
{
    Drift* d = orr_edit(world, (orr_entity){*(uint64_t*)data}, Drift);
    if (d != NULL) {
        d->y += 1;
    }
}

typedef struct run_of {
    kit k;
    orr_world* world;
    orr_entity entities[ENTITIES];
    fault wrong;
    orr_recording* recording;
} run_of;

static void run_build(run_of* r, uint32_t workers)
{
    orr_world* world = r->world =
        kit_begin(&r->k, &(orr_world_desc){.rate_hz = 60, .workers = workers});
    const void* f = &r->wrong;
    ORR_REGISTER(world, Place, Drift, Rock, Tally, Spark);
    KIT_SYSTEM(world, .name = "drift", .query = "write Place, Drift", .run = drift, .settings = f,
               .parallel = true);
    KIT_SYSTEM(world, .name = "settle", .query = "write Drift, Place", .run = settle,
               .settings = f);
    KIT_SYSTEM(world, .name = "roll", .once = true, .any = "write Rock", .run = roll,
               .settings = f);
    KIT_SYSTEM(world, .name = "tally", .once = true, .run = tally, .settings = f,
               .state = ORR_TYPE(Tally));
    KIT_SYSTEM(world, .name = "spark", .once = true, .run = spark, .creates = "Spark",
               .settings = f);
    KIT_SYSTEM(world, .name = "burn", .query = "write Spark", .run = burn, .destroys = "Spark",
               .settings = f);
    for (uint32_t i = 0; i < ENTITIES; i++) {
        r->entities[i] = orr_create(world);
        CHECK_OK(orr_set(world, r->entities[i], Place, {{(float)i, 0}, {0}}));
        CHECK_OK(orr_set(world, r->entities[i], Drift, {1, (float)i}));
    }
    rock_of = r->entities[7];
    CHECK_OK(orr_set(world, rock_of, Rock, {1}));
}

static void run_go(run_of* r, uint32_t ticks, uint32_t hash_every, uint64_t odd_call)
{
    r->recording = orr_recording_create();
    CHECK_OK(orr_record(r->world, r->recording, &(orr_record_desc){.hash_every = hash_every}));
    for (uint64_t i = 1; i <= ticks; i++) {
        if (i % 100 == 50 || i == odd_call) {
            CHECK_OK(orr_post(r->world, call_shove, &r->entities[i % ENTITIES].id, 8));
        }
        CHECK_OK(orr_step(r->world, 1));
    }
    CHECK_OK(orr_record_end(r->world));
}

static void run_end(run_of* r)
{
    orr_recording_destroy(r->recording);
    kit_end(&r->k);
}

static orr_desync find(run_of* a, run_of* b)
{
    orr_desync found;
    CHECK_OK(orr_desync_find(a->world, a->recording, b->world, b->recording, &found));
    return found;
}

// The proof of the issue: one wrong bit in 10,000 ticks.
ORR_TEST(desync_of_one_bit_in_10000_ticks_is_found_and_named)
{
    for (uint32_t sparse = 0; sparse < 2; sparse++) {
        run_of a = {0}, b = {.wrong = {WRONG_BIT, 7391}};
        run_build(&a, 0);
        run_build(&b, 2);
        CHECK_OK(orr_history_set(a.world, &(orr_history_desc){.every = 256}));
        CHECK_OK(orr_history_set(b.world, &(orr_history_desc){.every = 256}));
        run_go(&a, 10000, sparse ? 256 : 1, 0);
        run_go(&b, 10000, sparse ? 256 : 1, 0);
        orr_desync found = find(&a, &b);
        CHECK(found.differ);
        CHECK_EQ(found.tick, 7391);
        CHECK_EQ(found.agreed_tick, sparse ? 7168 : 7390);
        CHECK_STR(found.system, "drift");
        CHECK_STR(found.component, "Place");
        CHECK_STR(found.field, "steps[2]");
        CHECK_EQ(found.entity.id, a.entities[42].id);
        CHECK_EQ(found.chunk, 0);
        CHECK_EQ(strtoull(found.value_a, NULL, 10) ^ strtoull(found.value_b, NULL, 10), 1u << 9);
        CHECK(found.ticks_a <= 256 && found.ticks_b <= 256);
        CHECK_EQ(found.ticks_a, 7391 - 7168);
        char text[512];
        orr_desync_print(&found, text, sizeof text);
        CHECK_CONTAINS(text, "system 'drift' when it ran");
        CHECK_CONTAINS(text, "Place.steps[2]");
        run_end(&a);
        run_end(&b);
    }
}

ORR_TEST(desync_of_every_kind_is_named)
{
    static const struct {
        wrong what;
        const char *system, *component, *field, *said;
    } cases[] = {
        {WRONG_PINNED, "roll", "Rock", "weight", "a pinned value"},
        {WRONG_STATE, "tally", "Tally", "sum", "the state of a system"},
        {WRONG_SEND, "spark", "Spark", "left", "a value"},
        {WRONG_MORE, "spark", "", "", "an entity that only the second has"},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run_of a = {0}, b = {.wrong = {cases[i].what, 61}};
        run_build(&a, 0);
        run_build(&b, 0);
        run_go(&a, 100, 10, 0);
        run_go(&b, 100, 10, 0);
        orr_desync found;
        CHECK_RESULT(orr_desync_find(a.world, a.recording, b.world, b.recording, &found),
                     ORR_ERR_PAST);
        CHECK_CONTAINS(a.k.errors.text, "orr_history_set()");
        kit_end(&a.k); // Worlds that are built anew.
        kit_end(&b.k);
        run_build(&a, 0);
        run_build(&b, 2);
        found = find(&a, &b);
        CHECK_EQ(found.tick, 61);
        CHECK_EQ(found.agreed_tick, 60);
        CHECK_STR(found.system, cases[i].system);
        CHECK_STR(found.component, cases[i].component);
        CHECK_STR(found.field, cases[i].field);
        CHECK_STR(found.what, cases[i].said);
        CHECK_EQ(found.ticks_a, 61);
        run_end(&a);
        run_end(&b);
    }
}

ORR_TEST(desync_by_another_call_is_before_systems_ran)
{
    run_of a = {0}, b = {0};
    run_build(&a, 0);
    run_build(&b, 0);
    run_go(&a, 40, 1, 0);
    run_go(&b, 40, 1, 31);
    kit_end(&a.k);
    kit_end(&b.k);
    run_build(&a, 0);
    run_build(&b, 0);
    orr_desync found = find(&a, &b);
    CHECK_EQ(found.tick, 31);
    CHECK_STR(found.system, "");
    CHECK_CONTAINS(found.when, "calls");
    run_end(&a);
    run_end(&b);
}

ORR_TEST(desync_of_equal_runs_is_none)
{
    run_of a = {0}, b = {0};
    run_build(&a, 0);
    run_build(&b, 2);
    run_go(&a, 50, 5, 0);
    run_go(&b, 60, 5, 0);
    orr_desync found = find(&a, &b);
    CHECK(!found.differ);
    CHECK_EQ(found.agreed_tick, 50);
    CHECK_EQ(found.ticks_a, 0);
    run_end(&a);
    run_end(&b);
}

// The fault is gone when it is run again: the recording does not tell all.
ORR_TEST(desync_that_does_not_happen_again_is_said)
{
    run_of a = {0}, b = {.wrong = {WRONG_BIT, 20}};
    run_build(&a, 0);
    run_build(&b, 0);
    run_go(&a, 40, 10, 0);
    run_go(&b, 40, 10, 0);
    kit_end(&a.k);
    kit_end(&b.k);
    b.wrong.what = WRONG_NOT;
    run_build(&a, 0);
    run_build(&b, 0);
    orr_desync found;
    CHECK_RESULT(orr_desync_find(a.world, a.recording, b.world, b.recording, &found),
                 ORR_ERR_CONFLICT);
    CHECK_CONTAINS(b.k.errors.text, "second world");
    run_end(&a);
    run_end(&b);
}
