// SPDX-License-Identifier: MIT
// Systems on several workers: every tick has the hash of the serial run, however the work is
// divided.
#include "scenarios/scenario.h"
#include "schedule/schedule.h"
#include "support/store_kit.h"
#include "test.h"

#define TICKS 150u

typedef struct colony {
    kit k;
    orr_world* world;
    scenario_run run;
} colony;

static void colony_begin(colony* c, uint32_t workers, orri_sharing sharing, uint64_t seed)
{
    *c = (colony){0};
    c->world = kit_begin(&c->k, &(orr_world_desc){.seed = 11, .workers = workers});
    orr_access_check_set(c->world, ORR_ACCESS_CHECK_CALLS);
    orri_parallel_share(c->world, sharing, seed);
    scenario_target target = scenario_target_world(c->world);
    CHECK(scenario_begin(&c->run, scenario_find("working"), &target, 40));
}

static void colony_end(colony* c)
{
    CHECK_STR(c->k.errors.text, "");
    scenario_end(&c->run);
    kit_end(&c->k);
}

// The hash of the serial run after each tick: the oracle of the following tests.
static void serial_hashes(uint64_t* hashes, uint32_t ticks)
{
    colony serial;
    colony_begin(&serial, 0, ORRI_SHARE_AUTO, 0);
    for (uint32_t i = 0; i < ticks; i++) {
        CHECK(scenario_step(&serial.run));
        hashes[i] = orr_world_hash(serial.world);
    }
    colony_end(&serial);
}

static void check_same(const uint64_t* hashes, uint32_t ticks, uint32_t workers,
                       orri_sharing sharing, uint64_t seed)
{
    colony many;
    colony_begin(&many, workers, sharing, seed);
    for (uint32_t i = 0; i < ticks; i++) {
        CHECK(scenario_step(&many.run));
        if (orr_world_hash(many.world) != hashes[i]) {
            test_fail(__FILE__, __LINE__, "%u workers, sharing %d, seed %llu: tick %u differs",
                      workers, (int)sharing, (unsigned long long)seed, i);
        }
    }
    CHECK_OK(orr_world_validate(many.world));
    colony_end(&many);
}

// Under a sanitizer that slows the run down, fewer ticks: a race shows in any of them.
/* N3-04 N3-13 */
ORR_TEST(parallel_run_every_tick_has_the_hash_of_the_serial_run)
{
    static const uint32_t workers[] = {1, 2, 3, 4, 8, 32};
    uint64_t hashes[TICKS];
    uint32_t ticks = test_brief() ? 10 : test_slow() ? 25 : TICKS;
    serial_hashes(hashes, ticks);
    for (uint32_t i = 0; i < sizeof workers / sizeof workers[0]; i++) {
        check_same(hashes, ticks, workers[i], ORRI_SHARE_AUTO, 0);
        check_same(hashes, ticks, workers[i], ORRI_SHARE_NOTHING, 0);
        check_same(hashes, ticks, workers[i], ORRI_SHARE_ALL, 0);
        for (uint64_t seed = 1; seed <= (test_long() ? 20u : 2u); seed++) {
            check_same(hashes, ticks, workers[i], ORRI_SHARE_RANDOM, seed + test_seed());
        }
    }
}

// ---- reading by id ------------------------------------------------------------------------------

typedef struct reading {
    orr_entity other;
    uint32_t found, right;
} reading;

// Each system has its own `reading` as user pointer.
static void read_by_id(orr_run* run)
{
    reading* r = orr_run_user(run);
    orr_type type = KIT_TYPE(run->world, Health);
    orr_reader reader = orr_reader_make(run->world, type);
    for (uint32_t i = 0; i < run->count; i++) {
        const Health* ways[2] = {orr_component_get(run->world, r->other, type),
                                 orr_reader_get(&reader, r->other)};
        for (uint32_t k = 0; k < 2; k++) {
            r->found += ways[k] != NULL;
            r->right += ways[k] != NULL && ways[k]->value == 77;
        }
    }
}

static uint64_t violations_of(const orr_world* world, orr_system system)
{
    orr_system_stats stats;
    CHECK_OK(orr_system_stats_get(world, system, &stats));
    return stats.violations;
}

// Two systems at the same time, or (`beside` false) one alone.
static void check_reading(bool beside)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.workers = 2});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    reading may = {orr_create(world), 0, 0}, must_not = may;
    CHECK_OK(orr_set(world, may.other, Health, {77, 0}));
    orr_entity rows[2] = {orr_create(world), orr_create(world)};
    CHECK_OK(orr_set(world, rows[0], Position, {1, 2, 3}));
    CHECK_OK(orr_set(world, rows[1], Velocity, {1, 2}));
    orr_system two = orr_system_add(world, &(orr_system_desc){.name = "must_not",
                                                              .query = "Velocity",
                                                              .by_id = "Position",
                                                              .disabled = !beside,
                                                              .user = &must_not,
                                                              .run = read_by_id});
    orr_system one = orr_system_add(world, &(orr_system_desc){.name = "may",
                                                              .query = "Position",
                                                              .by_id = "Health",
                                                              .user = &may,
                                                              .run = read_by_id});
    orri_parallel_share(world, ORRI_SHARE_NOTHING, 0);
    CHECK_RESULT(orr_step(world, 3), beside ? ORR_ERR_STATE : ORR_OK);
    CHECK_EQ(may.found, 6);
    CHECK_EQ(may.right, 6);
    CHECK_EQ(must_not.found, 0);
    CHECK_EQ(violations_of(world, one), 0);
    CHECK_EQ(violations_of(world, two), beside ? 6 : 0);
    CHECK_EQ(k.errors.count, beside ? 6u : 0u);
    kit_end(&k);
}

ORR_TEST(parallel_run_reading_by_id_uses_the_declaration_of_the_running_system)
{
    check_reading(true);
    check_reading(false);
}
