// SPDX-License-Identifier: MIT
// Systems on several workers: every tick has the hash of the serial run, however the work is shared out.
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

// The serial run's hash after each tick: the oracle of all that follows.
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

// Under a sanitizer that slows the run down, fewer ticks: what races does so in any of them.
/* N3-04 N3-13 */
ORR_TEST(abreast_every_tick_has_the_hash_of_the_serial_run)
{
    static const uint32_t workers[] = {1, 2, 3, 4, 8, 32};
    uint64_t hashes[TICKS];
    uint32_t ticks = test_slow() ? 25 : TICKS;
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
