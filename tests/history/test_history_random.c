// SPDX-License-Identifier: MIT
// Random remembering, forgetting, travelling and stepping in worlds whose systems use every
// feature. After each operation the world has the hash of a straight run in that tick, for any
// number of workers. State that a hash does not cover (message queues, baseline, due times) shows
// in the hashes of the following ticks.
#include "scenarios/clocks.h"
#include "scenarios/scenario.h"
#include "store/world/world.h"
#include "support/store_kit.h"
#include "test.h"
#include <orrery/history.h>

enum {
    TICKS = 400 // World ticks of the straight run.
};

typedef struct rig {
    kit k;
    clocks c;
    scenario_run run;
    bool clocks;
} rig;

// A change from outside before a given tick: the same in every run.
static void rig_poke(orr_world* world, uint64_t tick)
{
    orr_query* query = orr_query_text(world, "write Place");
    uint64_t seen = 0;
    ORR_EACH (it, query) {
        Place* place = orr_write(&it, Place);
        for (uint32_t i = 0; i < it.count; i++, seen++) {
            if (seen % 97 == tick % 97) {
                place[i].x += (float)tick;
            }
        }
    }
    orr_query_destroy(query);
}

static void rig_begin(rig* r, bool with_clocks, uint32_t workers, uint64_t seed)
{
    *r = (rig){.clocks = with_clocks};
    orr_world* world = kit_begin(
        &r->k, &(orr_world_desc){.rate_hz = CLOCKS_LOGIC_HZ, .workers = workers, .seed = seed});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    // Rows are logged regardless of block size, and logs of many lengths turn into copies.
    world->cow.row_log_least = 0;
    world->cow.row_log_shift = (uint32_t)(seed % 4);
    if (with_clocks) {
        CHECK(clocks_build(&r->c, world, &(clocks_desc){.size = 500}));
    } else {
        scenario_target target = scenario_target_world(world);
        CHECK(scenario_begin(&r->run, scenario_find("churn"), &target, 1));
    }
}

static void rig_end(rig* r)
{
    CHECK_STR(r->k.errors.text, "");
    if (!r->clocks) {
        scenario_end(&r->run);
    }
    kit_end(&r->k);
}

// By world tick; 0: the world does not stop there, because orr_step() runs several pipelines.
static uint64_t straight[TICKS + 16];
// Result of orr_step() from there. Not always ORR_OK: churn sends to entities that have died.
static orr_result straight_result[TICKS + 16];

// Runs one tick of the first pipeline, and ticks of others that are due before.
static orr_result rig_step(rig* r)
{
    orr_world* world = r->k.world;
    if (!r->clocks) {
        rig_poke(world, orr_world_tick(world));
    }
    orr_result result = orr_step(world, 1);
    if (result != ORR_OK) {
        CHECK(!r->clocks && test_ticks_ran(result));
        r->k.errors = (kit_errors){0};
    }
    return result;
}

static void rig_run_straight(bool with_clocks, uint64_t seed)
{
    rig r;
    memset(straight, 0, sizeof straight);
    rig_begin(&r, with_clocks, 0, seed);
    while (orr_world_tick(r.k.world) < TICKS) {
        uint64_t tick = orr_world_tick(r.k.world);
        straight[tick] = orr_world_hash(r.k.world);
        straight_result[tick] = rig_step(&r);
    }
    straight[orr_world_tick(r.k.world)] = orr_world_hash(r.k.world);
    rig_end(&r);
}

static void rig_check(rig* r, const char* after)
{
    uint64_t tick = orr_world_tick(r->k.world), hash = orr_world_hash(r->k.world);
    if (straight[tick] != hash) {
        test_fail(__FILE__, __LINE__, "after %s tick %llu differs from the straight run", after,
                  (unsigned long long)tick);
    }
}

// A random remembered tick. Not a later tick after an outside change: ticks run by the travel would
// lack that change.
static bool rig_pick(const rig* r, uint64_t* out)
{
    const orr_world* world = r->k.world;
    uint64_t end = r->clocks ? TICKS + 1 : orr_world_tick(world) + 1;
    uint64_t from = test_random() % end;
    for (uint64_t i = 0; i < end; i++) {
        *out = (from + i) % end;
        if (straight[*out] != 0 && orr_remembered(world, *out)) {
            return true;
        }
    }
    return false;
}

static void rig_act(rig* r)
{
    orr_world* world = r->k.world;
    uint64_t tick;
    switch (test_random() % 8) {
    case 0:
    case 1:
        CHECK_OK(orr_remember(world));
        rig_check(r, "remembering");
        break;
    case 2:
        if (rig_pick(r, &tick)) {
            CHECK_OK(orr_forget(world, tick));
            rig_check(r, "forgetting");
        }
        break;
    case 3:
        (void)orr_forget_range(world, test_random() % TICKS, test_random() % TICKS,
                               test_random() % 4);
        rig_check(r, "forgetting a range");
        break;
    case 4:
    case 5:
        if (rig_pick(r, &tick)) {
            CHECK_OK(orr_time_travel(world, tick));
            CHECK_EQ(orr_world_tick(world), tick);
            rig_check(r, "travelling");
        }
        break;
    default:
        for (uint64_t i = test_random() % 5; i > 0 && orr_world_tick(world) < TICKS - 8; i--) {
            tick = orr_world_tick(world);
            CHECK_EQ(rig_step(r), straight_result[tick]);
            rig_check(r, "a tick");
        }
    }
}

static void rig_random(bool with_clocks, uint32_t operations)
{
    uint64_t seed = test_random();
    static const uint32_t workers[] = {0, 2, 8};
    rig_run_straight(with_clocks, seed);
    for (uint32_t w = 0; w < 3; w++) {
        rig r;
        rig_begin(&r, with_clocks, workers[w], seed);
        if (test_random() % 2 == 0) {
            CHECK_OK(orr_history_set(r.k.world, &(orr_history_desc){.recent = 10, .every = 32}));
        }
        for (uint32_t i = 0; i < operations; i++) {
            rig_act(&r);
        }
        rig_end(&r);
    }
}

ORR_TEST(churn_with_random_travels_equals_a_straight_run)
{
    rig_random(false, test_rounds(400, 60, 10000));
}

ORR_TEST(clocks_with_random_travels_equal_a_straight_run)
{
    rig_random(true, test_rounds(400, 60, 10000));
}
