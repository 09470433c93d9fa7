// SPDX-License-Identifier: MIT
// Random orders: a serial run takes systems and chunks in any order that conflicts allow, and every
// tick has the same hash. A system that depends on something undeclared is found.
#define _POSIX_C_SOURCE 200809L // setenv
#include "scenarios/scenario.h"
#include "schedule/schedule.h"
#include "schedule/system_kit.h"
#include <stdlib.h>

#define TICKS 100u

ORR_STRUCT(Order, (uint64_t, digest), (uint32_t, count))

// ---- declared systems do not depend on the order ------------------------------------------------

typedef struct deal {
    const char* scenario;
    uint32_t scale, ticks;
    uint64_t hashes[TICKS]; // Hashes of the plain run.
} deal;

static void deal_run(deal* d, uint64_t seed, orr_access_check audit)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.seed = 11});
    orr_access_check_set(world, audit);
    orri_shuffle_set(world, seed);
    scenario_target target = scenario_target_world(world);
    scenario_run run;
    CHECK(scenario_begin(&run, scenario_find(d->scenario), &target, d->scale));
    for (uint32_t i = 0; i < d->ticks; i++) {
        CHECK(scenario_step(&run));
        uint64_t hash = orr_world_hash(world);
        d->hashes[i] = seed == 0 ? hash : d->hashes[i];
        if (hash != d->hashes[i]) {
            test_fail(__FILE__, __LINE__, "%s, seed %llu: tick %u differs", d->scenario,
                      (unsigned long long)seed, i);
        }
    }
    CHECK_OK(orr_world_validate(world));
    CHECK_STR(k.errors.text, "");
    scenario_end(&run);
    kit_end(&k);
}

static void deal_check(deal* d, uint32_t seeds)
{
    deal_run(d, 0, ORR_ACCESS_CHECK_CALLS);
    for (uint32_t i = 0; i < seeds; i++) {
        deal_run(d, test_random() | 1, i % 4 == 3 ? ORR_ACCESS_CHECK_FULL : ORR_ACCESS_CHECK_CALLS);
    }
}

/* N3-13 */
ORR_TEST(shuffled_run_has_the_hash_of_the_plain_one_in_every_tick)
{
    deal d = {.scenario = "working", .scale = 40, .ticks = test_slow() ? 20 : TICKS};
    deal_check(&d, test_rounds(8, 3, 60));
}

// All kinds of sends, by systems of which many are parallel: with one chunk for each cluster, and
// with several.
ORR_TEST(shuffled_churn_has_the_hash_of_the_plain_one_in_every_tick)
{
    deal one = {.scenario = "churn", .scale = 2, .ticks = test_slow() ? 20 : TICKS};
    deal_check(&one, test_rounds(8, 8, 200));
    deal many = {.scenario = "churn", .scale = 20, .ticks = test_slow() ? 5 : 25};
    deal_check(&many, test_rounds(4, 4, 100));
}

// ---- undeclared dependencies are found ----------------------------------------------------------

static char said[2048];

static void say(orr_run* run)
{
    size_t length = strlen(said);
    const char* name = orr_system_name(run->world, orr_run_self(run));
    snprintf(said + length, sizeof said - length, "%s ", name);
}

static orr_world* begin_shuffled(kit* k, uint64_t seed)
{
    said[0] = '\0';
    orr_world* world = kit_begin(k, NULL);
    ORR_REGISTER(world, Position, Velocity, Health, Frozen, Order);
    orri_shuffle_set(world, seed);
    return world;
}

static uint32_t place_of(const char* name)
{
    const char* at = strstr(said, name);
    CHECK(at != NULL);
    return (uint32_t)(at - said);
}

// Four systems: b after a because of their writes, d after c by name; the rest is free.
ORR_TEST(shuffled_systems_run_in_all_orders_that_conflicts_allow)
{
    char seen[64][64];
    uint32_t orders = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        kit k;
        orr_world* world = begin_shuffled(&k, seed);
        orr_entity one = orr_create(world);
        CHECK_OK(orr_set(world, one, Position, {0}));
        CHECK_OK(orr_set(world, one, Velocity, {0}));
        CHECK_OK(orr_set(world, one, Health, {0}));
        KIT_SYSTEM(world, .name = "a", .query = "write Position", .run = say);
        KIT_SYSTEM(world, .name = "b", .query = "Position", .run = say);
        KIT_SYSTEM(world, .name = "c", .query = "write Velocity", .run = say);
        KIT_SYSTEM(world, .name = "d", .query = "write Health", .run = say, .after = "c");
        KIT_STEP(world, 1);
        CHECK_EQ(strlen(said), 8);
        CHECK(place_of("a") < place_of("b") && place_of("c") < place_of("d"));
        uint32_t at = 0;
        while (at < orders && strcmp(seen[at], said) != 0) {
            at++;
        }
        if (at == orders) {
            snprintf(seen[orders++], sizeof seen[0], "%.60s", said);
        }
        kit_end(&k);
    }
    CHECK_EQ(orders, 6); // Of 24: a before b, c before d.
}

// ---- large groups -------------------------------------------------------------------------------

enum {
    LARGE = 60
};
static uint32_t large_place[LARGE], large_ran; // By system: its place in the tick, from 1.

static void large_run(orr_run* run)
{
    const char* name = orr_system_name(run->world, orr_run_self(run));
    uint32_t i = (uint32_t)strtoul(name + 1, NULL, 10);
    CHECK_EQ(large_place[i], 0);
    large_place[i] = ++large_ran;
}

// Systems of a group, systems after and before it, and systems that only read or also write. Some
// run in every other tick only: what waits for them then waits for what they wait for.
static void large_add(orr_world* world)
{
    for (uint32_t i = 0; i < LARGE; i++) {
        char name[8];
        snprintf(name, sizeof name, "s%u", i);
        orr_system_desc desc = {.name = name, .query = "Velocity", .run = large_run};
        desc.group = i < 20 ? "g" : NULL;
        desc.before = i >= 20 && i < 25 ? "g" : NULL;
        desc.after = i >= 25 && i < 45 ? "g" : NULL;
        desc.query = i < 45 ? "Velocity" : i % 5 == 0 ? "write Position" : "Position";
        desc.every = 1 + (i % 3 == 0);
        (void)kit_taken(world, orr_system_add(world, &desc), __FILE__, __LINE__);
    }
}

// Whether any two systems ran in another order than that of the plan.
static bool large_check(const orr_world* world)
{
    const orri_pipeline* pipe = world->schedule->pipelines[0];
    const orri_system* systems[LARGE] = {0};
    bool shuffled = false;
    CHECK_EQ(pipe->step_count, LARGE + 1); // All are in one group.
    for (uint32_t i = 0; i < LARGE; i++) {
        uint32_t place = large_place[strtoul(pipe->steps[i].system->desc.name + 1, NULL, 10)];
        CHECK_EQ(place != 0, pipe->steps[i].system->due);
        for (uint32_t p = place + 1; place != 0 && p <= LARGE; p++) { // Earlier, but ran later.
            const orri_system* other = systems[p - 1];
            CHECK(other == NULL || !orri_conflict(world, other, pipe->steps[i].system));
            shuffled |= other != NULL;
        }
        if (place != 0) {
            systems[place - 1] = pipe->steps[i].system;
        }
    }
    return shuffled;
}

ORR_TEST(shuffled_systems_of_a_large_group_keep_the_order_of_conflicts)
{
    uint32_t shuffled = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        kit k;
        orr_world* world = begin_shuffled(&k, seed);
        orr_entity one = orr_create(world);
        CHECK_OK(orr_set(world, one, Position, {0}));
        CHECK_OK(orr_set(world, one, Velocity, {0}));
        large_add(world);
        for (uint32_t tick = 0; tick < 4; tick++) {
            memset(large_place, 0, sizeof large_place);
            large_ran = 0;
            KIT_STEP(world, 1);
            CHECK_EQ(large_ran, tick % 2 == 0 ? LARGE : LARGE - LARGE / 3);
            shuffled += large_check(world);
        }
        kit_end(&k);
    }
    CHECK(shuffled >= 35);
}

ORR_TEST(shuffled_ticks_find_conflicts_once_per_plan)
{
    kit k;
    orr_world* world = begin_shuffled(&k, 3);
    CHECK_OK(orr_set(world, orr_create(world), Position, {0}));
    large_add(world);
    const struct orri_schedule* schedule = world->schedule;
    for (uint32_t tick = 0; tick < 6; tick++) {
        if (tick == 3) { // A new plan.
            KIT_SYSTEM(world, .name = "new", .query = "write Position", .run = kit_run_nothing);
        }
        uint64_t before = schedule->compared + schedule->set_lookups;
        memset(large_place, 0, sizeof large_place);
        KIT_STEP(world, 1);
        CHECK_EQ(schedule->compared + schedule->set_lookups > before, tick % 3 == 0);
    }
    kit_end(&k);
}

static uint64_t hidden; // State that a system must not have.

static void leave_something(orr_run* run)
{
    Velocity* v = orr_write(run, Velocity);
    hidden++;
    v[0].x = 1;
}

static void find_something(orr_run* run)
{
    orr_write(run, Position)[0].x = (float)hidden;
}

static void number_chunks(orr_run* run)
{
    Position* p = orr_write(run, Position);
    p[0].y = (float)hidden++;
}

static uint64_t hash_with(uint64_t seed, bool chunks)
{
    kit k;
    hidden = 0;
    orr_world* world = begin_shuffled(&k, seed);
    for (uint32_t i = 0; i < 4 * ORR_CHUNK_CAPACITY; i++) {
        orr_entity one = orr_create(world);
        CHECK_OK(orr_set(world, one, Position, {0}));
    }
    CHECK_OK(orr_set(world, orr_create(world), Velocity, {0}));
    if (chunks) {
        KIT_SYSTEM(world, .name = "number", .query = "write Position", .run = number_chunks,
                   .parallel = true);
    } else {
        KIT_SYSTEM(world, .name = "leave", .query = "write Velocity", .run = leave_something);
        KIT_SYSTEM(world, .name = "find", .query = "write Position", .run = find_something);
    }
    KIT_STEP(world, 3);
    uint64_t hash = orr_world_hash(world);
    kit_end(&k);
    return hash;
}

ORR_TEST(shuffled_run_shows_an_undeclared_dependency)
{
    for (uint32_t chunks = 0; chunks < 2; chunks++) {
        uint64_t plain = hash_with(0, chunks != 0);
        uint32_t differ = 0;
        for (uint64_t seed = 1; seed <= 10; seed++) {
            uint64_t hash = hash_with(seed, chunks != 0);
            CHECK_EQ(hash, hash_with(seed, chunks != 0)); // The result is reproducible.
            differ += hash != plain;
        }
        CHECK(differ >= 2);
    }
}

// ---- with other features ------------------------------------------------------------------------

static void digest_in_order(orr_run* run) // Not parallel: its chunks come in order.
{
    Order* order = orr_state(run, Order);
    uint64_t words[2] = {order->digest, orr_iter_entity(run, 0).id};
    order->digest = orr_hash(words, sizeof words, 0);
    order->count++;
}

ORR_TEST(shuffled_run_keeps_the_chunk_order_of_systems_that_are_not_parallel)
{
    uint64_t expected = 0;
    for (uint64_t seed = 0; seed < 6; seed++) {
        kit k;
        orr_world* world = begin_shuffled(&k, seed);
        CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), 5 * ORR_CHUNK_CAPACITY, NULL,
                                 0, NULL));
        orr_system system = KIT_SYSTEM(world, .name = "digest", .query = "Position",
                                       .run = digest_in_order, .state = ORR_TYPE(Order));
        KIT_STEP(world, 2);
        const Order* order = orr_system_state(world, system);
        CHECK_EQ(order->count, 10);
        expected = seed == 0 ? order->digest : expected;
        CHECK_EQ(order->digest, expected);
        CHECK_EQ(kit_stats(world, system).rows, 10 * ORR_CHUNK_CAPACITY);
        kit_end(&k);
    }
}

ORR_TEST(shuffled_run_without_memory_is_a_plain_one)
{
    for (uint64_t n = 1; n < 30; n++) {
        kit k;
        orr_world* world = begin_shuffled(&k, 5);
        CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), 3 * ORR_CHUNK_CAPACITY, NULL,
                                 0, NULL));
        orr_system a = KIT_SYSTEM(world, .name = "a", .query = "Position", .run = kit_run_nothing,
                                  .adds = "Health", .parallel = true);
        orr_system b = KIT_SYSTEM(world, .name = "b", .query = "Position", .run = kit_run_nothing);
        failing_alloc_arm(&k.memory, n, false);
        orr_result result = orr_step(world, 1);
        failing_alloc_arm(&k.memory, 0, false);
        while (result != ORR_OK) {
            result = orr_step(world, 1);
        }
        CHECK_EQ(kit_stats(world, a).rows, 3 * ORR_CHUNK_CAPACITY);
        CHECK_EQ(kit_stats(world, b).rows, 3 * ORR_CHUNK_CAPACITY);
        kit_end(&k);
    }
}

ORR_TEST(shuffle_seed_of_the_environment_is_a_number_or_a_word)
{
    CHECK_EQ(setenv("ORR_SHUFFLE", "77", 1), 0);
    CHECK_EQ(orri_shuffle_env(), 77);
    kit k;
    orr_world* world = begin(&k);
    KIT_STEP(world, 1);
#ifdef ORR_VALIDATE_ON
    CHECK_EQ(world->schedule->shuffle, 77);
#else
    CHECK_EQ(world->schedule->shuffle, 0);
#endif
    kit_end(&k);
    CHECK_EQ(setenv("ORR_SHUFFLE", "tuesday", 1), 0);
    CHECK(orri_shuffle_env() != 0);
    CHECK_EQ(setenv("ORR_SHUFFLE", "", 1), 0);
    CHECK_EQ(orri_shuffle_env(), 0);
    CHECK_EQ(unsetenv("ORR_SHUFFLE"), 0);
    CHECK_EQ(orri_shuffle_env(), 0);
}
