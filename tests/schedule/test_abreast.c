// SPDX-License-Identifier: MIT
// Systems on several workers: every tick has the hash of the serial run, however the work is shared out.
#include "scenarios/scenario.h"
#include "schedule/schedule.h"
#include "support/store_kit.h"
#include "test.h"

#define TICKS 200u

typedef struct colony {
    kit k;
    orr_world* world;
    scenario_run run;
} colony;

static void colony_begin(colony* c, uint32_t workers, orri_sharing sharing, uint64_t seed)
{
    *c = (colony){0};
    c->world = kit_begin(&c->k, &(orr_world_desc){.seed = 11, .workers = workers});
    orr_police_set(c->world, ORR_POLICE_CALLS);
    orri_abreast_share(c->world, sharing, seed);
    scenario_target target = scenario_target_world(c->world);
    CHECK(scenario_begin(&c->run, scenario_find("working"), &target, 40));
}

static void colony_end(colony* c)
{
    CHECK_STR(c->k.errors.text, "");
    scenario_end(&c->run);
    kit_end(&c->k);
}

static void check_same(uint32_t workers, orri_sharing sharing, uint64_t seed)
{
    colony serial, many;
    colony_begin(&serial, 0, ORRI_SHARE_AUTO, 0);
    colony_begin(&many, workers, sharing, seed);
    for (uint32_t i = 0; i < TICKS; i++) {
        CHECK(scenario_step(&serial.run));
        CHECK(scenario_step(&many.run));
        uint64_t expected = orr_world_hash(serial.world), hash = orr_world_hash(many.world);
        if (hash != expected) {
            test_fail(__FILE__, __LINE__, "%u workers, sharing %d, seed %llu: tick %u differs",
                      workers, (int)sharing, (unsigned long long)seed, i);
        }
    }
    CHECK_OK(orr_world_validate(many.world));
    colony_end(&serial);
    colony_end(&many);
}

ORR_TEST(abreast_every_tick_has_the_hash_of_the_serial_run)
{
    static const uint32_t workers[] = {1, 2, 3, 4, 8, 32};
    for (uint32_t i = 0; i < sizeof workers / sizeof workers[0]; i++) {
        check_same(workers[i], ORRI_SHARE_AUTO, 0);
        check_same(workers[i], ORRI_SHARE_NOTHING, 0);
        check_same(workers[i], ORRI_SHARE_ALL, 0);
        for (uint64_t seed = 1; seed <= 3; seed++) {
            check_same(workers[i], ORRI_SHARE_RANDOM, seed + test_seed());
        }
    }
}
