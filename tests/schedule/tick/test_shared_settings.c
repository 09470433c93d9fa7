// SPDX-License-Identifier: MIT
// Settings that all systems share: the pause, rounding, another world, settings of the tick. The
// result does not depend on the number of workers.
#include "schedule/schedule.h"
#include "schedule/system_kit.h"
#include <fenv.h>

static const uint32_t worker_counts[] = {0, 1, 2, 8};

static orr_world* begin_with(kit* k, uint32_t workers)
{
    orr_world* world = kit_begin(k, &(orr_world_desc){.workers = workers});
    ORR_REGISTER(world, Position, Velocity, Health);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    orri_parallel_share(world, ORRI_SHARE_NOTHING, 0);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position, Health), 5000, NULL, 0, NULL));
    return world;
}

// ---- the pause ----------------------------------------------------------------------------------

static void pause_at_10(orr_run* run)
{
    if (run->tick == 10) {
        bool before = orr_paused(run->world);
        orr_pause(run->world, true);
        CHECK_EQ(orr_paused(run->world), before); // Takes effect at the end of the tick.
    }
}

static void go_on(orr_run* run)
{
    if (run->tick == 10 || run->tick == 20) {
        orr_pause(run->world, run->tick == 20);
    }
}

ORR_TEST(pause_by_several_systems_is_decided_by_the_last_in_order)
{
    for (uint32_t i = 0; i < ORRI_COUNT(worker_counts); i++) {
        kit k;
        orr_world* world = begin_with(&k, worker_counts[i]);
        KIT_SYSTEM(world, .name = "first", .query = "Position", .once = true, .run = pause_at_10);
        KIT_SYSTEM(world, .name = "second", .query = "Health", .once = true, .run = go_on);
        CHECK_OK(orr_run_until(world, 100, NULL, NULL));
        CHECK_EQ(orr_world_tick(world), 20);
        CHECK(orr_paused(world));
        kit_end(&k);
    }
}

static void pause_in_parallel(orr_run* run)
{
    orr_pause(run->world, true);
}

ORR_TEST(parallel_system_cannot_pause)
{
    kit k;
    orr_world* world = begin_with(&k, 2);
    KIT_SYSTEM(world, .name = "x", .query = "Position", .parallel = true, .run = pause_in_parallel);
    KIT_STEP_REFUSED(world, 1);
    CHECK(!orr_paused(world));
    KIT_ERROR(&k, ORR_ERR_STATE, "orr_pause: system 'x' is parallel");
    kit_end(&k);
}

// ---- rounding -----------------------------------------------------------------------------------

static void round_upward(orr_run* run)
{
    (void)run;
    (void)fesetround(FE_UPWARD);
}

static void divide(orr_run* run)
{
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        volatile float ten = 10.0f, one = 1.0f;
        p[i].x += one / ten;
    }
}

ORR_TEST(rounding_changed_by_a_system_is_restored_before_the_next)
{
    uint64_t hashes[ORRI_COUNT(worker_counts) + 1];
    for (uint32_t i = 0; i <= ORRI_COUNT(worker_counts); i++) {
        kit k;
        bool changes_rounding =
            i < ORRI_COUNT(worker_counts); // No system changes rounding in the last run.
        orr_world* world = begin_with(&k, changes_rounding ? worker_counts[i] : 0);
        KIT_SYSTEM(world, .name = "round_upward", .query = "Health", .parallel = true,
                   .run = changes_rounding ? round_upward : kit_run_nothing);
        KIT_SYSTEM(world, .name = "divide", .query = "write Position", .parallel = true,
                   .run = divide);
        KIT_STEP(world, 5);
        hashes[i] = orr_world_hash(world);
        kit_end(&k);
    }
    for (uint32_t i = 0; i < ORRI_COUNT(worker_counts); i++) {
        CHECK_EQ(hashes[i], hashes[ORRI_COUNT(worker_counts)]);
    }
    CHECK_EQ(fegetround(), FE_TONEAREST);
}

// ---- a world within a system of another ---------------------------------------------------------

typedef struct nest {
    orr_world* inner;
    orr_entity one;
    uint32_t seen;
} nest;

static void step_inner(orr_run* run)
{
    nest* n = orr_run_user(run);
    CHECK_OK(orr_step(n->inner, 1));
    n->seen += orr_get(run->world, n->one, Health) != NULL;
}

ORR_TEST(system_that_steps_another_world_keeps_its_declarations)
{
    for (uint32_t i = 0; i < ORRI_COUNT(worker_counts); i++) {
        kit k, inner;
        orr_world* world = begin_with(&k, worker_counts[i]);
        nest n = {.inner = begin_with(&inner, worker_counts[i]), .one = orr_create(world)};
        CHECK_OK(orr_set(world, n.one, Health, {0}));
        KIT_SYSTEM(n.inner, .name = "divide", .query = "write Position", .parallel = true,
                   .run = divide);
        KIT_SYSTEM(world, .name = "beside", .query = "write Position", .run = divide);
        KIT_SYSTEM(world, .name = "outer", .once = true, .by_id = "Health", .run = step_inner,
                   .user = &n);
        KIT_STEP(world, 20);
        CHECK_EQ(n.seen, 20);
        CHECK_EQ(k.errors.count, 0);
        kit_end(&inner);
        kit_end(&k);
    }
}

// ---- settings of the tick -----------------------------------------------------------------------

static void meddle(orr_run* run)
{
    orr_system_stats stats = {.ticks = 7};
    orr_stats_time_all(run->world, true);
    orr_world_memory_limit(run->world, 1);
    CHECK_RESULT(orr_system_stats_get(run->world, orr_run_self(run), &stats), ORR_ERR_STATE);
    CHECK_EQ(stats.ticks, 7);
    CHECK_EQ(orr_stats_print(run->world, NULL, 0), 0);
    orr_access_check_set(run->world, ORR_ACCESS_CHECK_OFF);
}

ORR_TEST(settings_of_the_tick_are_refused_inside_systems)
{
    for (uint32_t i = 0; i < ORRI_COUNT(worker_counts); i++) {
        kit k;
        orr_world* world = begin_with(&k, worker_counts[i]);
        orr_system system =
            KIT_SYSTEM(world, .name = "meddle", .query = "Health", .once = true, .run = meddle);
        KIT_SYSTEM(world, .name = "beside", .query = "write Position", .run = divide);
        KIT_STEP_REFUSED(world, 2);
        CHECK_EQ(kit_stats(world, system).violations, 10);
        KIT_ERROR(&k, ORR_ERR_STATE,
                  "orr_access_check_set: not allowed inside a system ('meddle')");
        kit_end(&k);
    }
}

ORR_TEST(world_with_too_many_workers_gets_the_maximum)
{
    kit k;
    orr_world* world = begin_with(&k, 1000);
    KIT_SYSTEM(world, .name = "divide", .query = "write Position", .parallel = true, .run = divide);
    KIT_STEP(world, 1);
    CHECK_EQ(orr_worker_count(world), ORR_WORKERS_MAX);
    kit_end(&k);
}
