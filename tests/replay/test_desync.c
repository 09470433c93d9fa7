// SPDX-License-Identifier: MIT
// The search for the first difference between two runs.
#include "schedule/schedule_kit.h"
#include <orrery/orrery.h>
#include <stdlib.h>

ORR_STRUCT(Vec, (float, x), (float, y))
ORR_STRUCT(Place, (Vec, at), (uint32_t, steps, 4))
ORR_STRUCT(Drift, (float, x), (float, y))
ORR_STRUCT_EX(Rock, (.storage = ORR_PINNED), (uint64_t, weight))
ORR_STRUCT(Tally, (uint64_t, sum))
ORR_STRUCT(Spark, (uint32_t, left))
ORR_STRUCT_EX(Arm, (.multiplicity = ORR_MULTIPLE), (uint32_t, length), (uint32_t, force))
ORR_STRUCT(Score, (uint32_t, hits), (uint32_t, deeds))

enum {
    ENTITIES = 100,
};

// The fault in one of two worlds.
typedef enum wrong {
    WRONG_NOT,
    WRONG_BIT,      // In a field of a component, written in place.
    WRONG_PINNED,   // By id.
    WRONG_STATE,    // State of a system.
    WRONG_SEND,     // A created entity gets another value.
    WRONG_MORE,     // More entities are created.
    WRONG_POST,     // A transaction with another number.
    WRONG_TARGET,   // A transaction on another entity.
    WRONG_ARGUMENT, // A transaction function with another argument.
    WRONG_FUNCTION, // A transaction function with another effect.
    WRONG_NAME,     // Another name is sent.
    WRONG_ARM,      // In the second of several instances.
    WRONG_ARMS,     // One more instance.
} wrong;
typedef struct fault {
    wrong what;
    uint64_t tick;
} fault;

static const fault fault_none;
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

static void settle(orr_run* run) // Spreads values over all rows, and so the fault.
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
    orr_state(run, Tally)->sum += fault_now(run, WRONG_STATE) ? 5 : 1;
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

static orr_entity targets[ENTITIES]; // The same in all worlds.
static bool function_wrong;          // Outside the world: a transaction must not depend on it.
static void raise_score(const orr_world* world, orr_entity target, void* value,
                        const void* argument, uint32_t size)
{
    (void)world, (void)target, (void)size;
    ((Score*)value)->deeds += ((const Score*)argument)->deeds + function_wrong;
}

static void raise_score_right(const orr_world* world, orr_entity target, void* value,
                              const void* argument, uint32_t size)
{
    (void)world, (void)target, (void)size;
    ((Score*)value)->deeds += ((const Score*)argument)->deeds;
}

// On an entity that has other transactions, too.
static void hit(orr_run* run)
{
    function_wrong = fault_now(run, WRONG_FUNCTION);
    Score word = {0, fault_now(run, WRONG_ARGUMENT) ? 9 : 7};
    (void)orr_transact(run, ORR_OP_ADD, targets[fault_now(run, WRONG_TARGET) ? 4 : 3], Score, hits,
                       fault_now(run, WRONG_POST) ? 2 : 1);
    (void)orr_transact_call(run, targets[5], orr_type_of(run->world, ORR_TYPE(Score)), 0,
                            raise_score, &word, sizeof word);
}

static void praise(orr_run* run)
{
    Score word = {0, 3}; // The same function and target, after the faulty one.
    (void)orr_transact_call(run, targets[5], orr_type_of(run->world, ORR_TYPE(Score)), 0,
                            raise_score_right, &word, sizeof word);
    (void)orr_transact(run, ORR_OP_ADD, targets[3], Score, hits, 10);
    (void)orr_transact(run, ORR_OP_ADD, targets[5], Score, deeds, 10);
    (void)orr_send_name(run, targets[6], (orr_entity){0},
                        fault_now(run, WRONG_NAME) ? "eva" : "ada");
}

static void lift(orr_run* run)
{
    Arm* arms = orr_write(run, Arm);
    orr_instances of = orr_instances_of(run, Arm);
    for (uint32_t i = 0; i < run->count; i++) {
        for (uint32_t k = 0; k < of.counts[i]; k++) {
            arms[i * of.capacity + k].force += fault_now(run, WRONG_ARM) && i == 1 && k == 1 ? 2
                                                                                             : 1;
        }
    }
    if (fault_now(run, WRONG_ARMS)) {
        (void)orr_send_add(run, orr_iter_entity(run, 1), Arm, {7, 7});
    }
}

static void call_shove(orr_world* world, void* data, size_t size)
{
    (void)size;
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
    const char* fine; // Name of a second pipeline, twice as fast; NULL: none.
    orr_recording* recording;
} run_of;

static void run_build(run_of* r, uint32_t workers)
{
    orr_world* world = r->world =
        kit_begin(&r->k, &(orr_world_desc){.rate_hz = 60, .workers = workers});
    const void* f = &r->wrong;
    ORR_REGISTER(world, Place, Drift, Rock, Tally, Spark, Score, Arm);
    KIT_SYSTEM(world, .name = "drift", .query = "write Place, Drift", .run = drift, .settings = f,
               .parallel = true);
    KIT_SYSTEM(world, .name = "settle", .query = "write Drift, Place", .run = settle,
               .settings = f);
    KIT_SYSTEM(world, .name = "roll", .once = true, .by_id = "write Rock", .run = roll,
               .settings = f);
    if (r->fine != NULL) {
        CHECK(orr_pipeline_add(world, &(orr_pipeline_desc){.name = r->fine, .rate_hz = 120}).id !=
              0);
    }
    KIT_SYSTEM(world, .name = "tally", .once = true, .run = tally, .settings = f,
               .state = ORR_TYPE(Tally), .pipeline = r->fine);
    KIT_SYSTEM(world, .name = "spark", .once = true, .run = spark, .creates = "Spark",
               .settings = f);
    KIT_SYSTEM(world, .name = "burn", .query = "write Spark", .run = burn, .destroys = "Spark",
               .settings = f);
    KIT_SYSTEM(world, .name = "praise_first", .once = true, .run = praise, .settings = &fault_none,
               .transacts = "Score", .renames = true);
    KIT_SYSTEM(world, .name = "hit", .once = true, .run = hit, .settings = f, .transacts = "Score");
    KIT_SYSTEM(world, .name = "praise", .once = true, .run = praise, .settings = f,
               .transacts = "Score", .renames = true);
    KIT_SYSTEM(world, .name = "lift", .query = "write Arm", .run = lift, .settings = f,
               .adds = "Arm");
    for (uint32_t i = 0; i < ENTITIES; i++) {
        r->entities[i] = targets[i] = orr_create(world);
        CHECK_OK(orr_set(world, r->entities[i], Score, {0, 0}));
        CHECK_OK(orr_set(world, r->entities[i], Place, {{(float)i, 0}, {0}}));
        CHECK_OK(orr_set(world, r->entities[i], Drift, {1, (float)i}));
    }
    for (uint32_t i = 0; i < 9; i++) {
        CHECK(orr_add_instance(world, r->entities[i / 3], Arm, {i, 0}) != 0);
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

// One wrong bit in 10,000 ticks, with a hash of every tick and of every 256th; slow builds test the
// latter only.
ORR_TEST(desync_of_one_bit_in_10000_ticks_is_found_and_named)
{
    for (uint32_t sparse = test_slow() && !test_long(); sparse < 2; sparse++) {
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
        CHECK_CONTAINS(text, "tick 7391 differs");
        CHECK_CONTAINS(text, ": system 'drift' when it ran");
        CHECK_CONTAINS(text, "Place.steps[2]");
        run_end(&a);
        run_end(&b);
    }
}

ORR_TEST(desync_of_every_kind_is_found_and_named)
{
    static const struct {
        wrong what;
        const char *system, *component, *field, *said, *when;
    } cases[] = {
        {WRONG_PINNED, "roll", "Rock", "weight", "a pinned value", "when it ran"},
        {WRONG_STATE, "tally", "Tally", "sum", "the state of a system", "when it ran"},
        {WRONG_SEND, "spark", "Spark", "left", "a value", "when it ran"},
        {WRONG_MORE, "spark", "", "", "an entity that only the second has", "when it ran"},
        {WRONG_POST, "hit", "Score", "hits", "a value", "when it ran"},
        {WRONG_TARGET, "hit", "Score", "hits", "a value", "when it ran"},
        {WRONG_ARGUMENT, "hit", "Score", "deeds", "a value", "when it ran"},
        {WRONG_FUNCTION, "hit", "Score", "deeds", "a value",
         "when a function of its transactions was called"},
        {WRONG_ARM, "lift", "Arm", "[1].force", "a value", "when it ran"},
        {WRONG_ARMS, "lift", "Arm", "", "the number of instances of a component", "when it ran"},
        {WRONG_NAME, "praise", "orr_name", "text", "a pinned value", "when it ran"},
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
        kit_end(&a.k); // Fresh worlds.
        kit_end(&b.k);
        run_build(&a, 0);
        run_build(&b, 2);
        found = find(&a, &b);
        CHECK_EQ(found.tick, 61);
        CHECK_EQ(found.agreed_tick, 60);
        CHECK_STR(found.pipeline, "main");
        CHECK_EQ(found.pipeline_tick, 61);
        CHECK_STR(found.system, cases[i].system);
        CHECK_STR(found.component, cases[i].component);
        CHECK_STR(found.field, cases[i].field);
        CHECK_STR(found.what, cases[i].said);
        CHECK_STR(found.when, cases[i].when);
        char text[512];
        orr_desync_print(&found, text, sizeof text);
        CHECK_CONTAINS(text, cases[i].what == WRONG_ARM    ? "Arm[1].force of "
                             : cases[i].what == WRONG_MORE ? "only the second has: "
                             : cases[i].what == WRONG_NAME ? " of ada ("
                                                           : cases[i].component);
        CHECK_EQ(found.ticks_a, 61);
        run_end(&a);
        run_end(&b);
    }
}

ORR_TEST(desync_in_a_pipeline_is_named_by_its_tick)
{
    run_of a = {.fine = "fine"}, b = {.wrong = {WRONG_STATE, 61}, .fine = "fine"};
    run_build(&a, 0);
    run_build(&b, 0);
    CHECK_OK(orr_history_set(a.world, &(orr_history_desc){.every = 16}));
    CHECK_OK(orr_history_set(b.world, &(orr_history_desc){.every = 16}));
    run_go(&a, 60, 10, 0);
    run_go(&b, 60, 10, 0);
    orr_desync found = find(&a, &b);
    CHECK_STR(found.system, "tally");
    CHECK_STR(found.pipeline, "fine");
    CHECK_EQ(found.pipeline_tick, 61);
    CHECK(found.tick > 61); // Tick of the world: the sum of both pipelines.
    char text[512];
    orr_desync_print(&found, text, sizeof text);
    CHECK_CONTAINS(text, ", tick 61 of pipeline 'fine': system 'tally' when it ran");
    run_end(&a);
    run_end(&b);
}

ORR_TEST(desync_by_a_posted_call_is_found_before_systems_run)
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
    CHECK_STR(found.component, "Drift"); // The write of the call, not its later effects.
    CHECK_STR(found.field, "y");
    CHECK_EQ(found.entity.id, a.entities[31].id);
    CHECK_STR(found.value_a, "31");
    CHECK_STR(found.value_b, "32");
    run_end(&a);
    run_end(&b);
}

ORR_TEST(desync_of_equal_runs_finds_nothing)
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

// The fault does not occur in the repetition: the recording does not contain its cause.
ORR_TEST(desync_that_does_not_repeat_is_reported)
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

ORR_TEST(desync_without_memory_is_refused_and_reported)
{
    run_of a = {0}, b = {0};
    run_build(&a, 0);
    run_build(&b, 0);
    run_go(&a, 12, 4, 0);
    run_go(&b, 12, 4, 7);
    kit_end(&a.k);
    kit_end(&b.k);
    uint32_t refusals = 0;
    for (uint32_t second = 0; second < 2; second++) {
        uint64_t refused = 1;
        for (uint64_t n = 1; refused > 0; n += test_brief()                  ? 7
                                               : test_slow() && !test_long() ? 3
                                                                             : 1) {
            orr_desync found;
            run_build(&a, 0);
            run_build(&b, 0);
            run_of* poor = second ? &b : &a;
            failing_alloc_arm(&poor->k.memory, n, false);
            orr_result result = orr_desync_find(a.world, a.recording, b.world, b.recording, &found);
            refused = poor->k.memory.refused;
            failing_alloc_arm(&poor->k.memory, 0, false);
            CHECK(result == ORR_OK || (result == ORR_ERR_MEMORY && refused > 0));
            CHECK(found.looked == (result == ORR_OK));
            CHECK(refused > 0 || (found.tick == 7 && strcmp(found.component, "Drift") == 0));
            refusals += result == ORR_ERR_MEMORY;
            kit_end(&a.k);
            kit_end(&b.k);
        }
    }
    CHECK(refusals > 10);
    orr_recording_destroy(a.recording);
    orr_recording_destroy(b.recording);
}
