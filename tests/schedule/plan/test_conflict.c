// SPDX-License-Identifier: MIT
// When conflicts are computed: again when a cluster appears or the systems of the plan change, and
// never otherwise. The tests count the compared pairs of systems, so each expectation is a number
// computed by hand.
#include "schedule/system_kit.h"

#include "schedule/schedule.h"

ORR_STRUCT(Late, (uint32_t, count))
ORR_STRUCT(Later, (uint32_t, count))

enum {
    PAIRS = 3 // Pairs of the three systems of a group; none conflicts with another.
};

static orr_entity marked; // The entity that "mover" changes.
static orr_type wanted;   // The type it adds in the next tick; null: none.

static void conflict_write(orr_run* run)
{
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += 1;
    }
}

static void conflict_hurt(orr_run* run)
{
    Health* h = orr_write(run, Health);
    for (uint32_t i = 0; i < run->count; i++) {
        h[i].value--;
    }
}

// Creates, destroys, adds, removes, enables and disables, within existing clusters.
static void conflict_move(orr_run* run)
{
    orr_entity e = orr_send_create(run);
    orr_send_add(run, e, Velocity, {1, 2});
    orr_send_enable(run, marked, Velocity, run->tick & 1);
    if ((run->tick & 1) != 0) {
        orr_send_add_preset(run, marked, Frozen);
    } else {
        orr_send_remove(run, marked, Frozen);
    }
    if (wanted.id != 0) {
        orr_send_add_preset(run, marked, Late);
        wanted.id = 0;
    }
}

static orr_world* conflict_begin(kit* k)
{
    wanted.id = 0;
    orr_world* world = kit_begin(k, &(orr_world_desc){.workers = 2});
    ORR_REGISTER(world, Position, Velocity, Health, Frozen, Late);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    orri_parallel_share(world, ORRI_SHARE_NOTHING, 0); // Computes conflicts in every tick.
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), 10, NULL, 0, NULL));
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Health), 10, NULL, 0, NULL));
    (void)KIT_CLUSTER(world, Velocity, Frozen);
    (void)KIT_CLUSTER(world, Position, Health);
    marked = orr_create(world);
    CHECK_OK(orr_set(world, marked, Velocity, {0}));
    KIT_SYSTEM(world, .name = "write", .query = "write Position", .run = conflict_write);
    KIT_SYSTEM(world, .name = "hurt", .query = "write Health", .run = conflict_hurt);
    KIT_SYSTEM(world, .name = "move", .once = true, .creates = "Velocity", .creates_max = 1,
               .adds = "Frozen, Late", .removes = "Frozen", .switches = "Velocity",
               .run = conflict_move);
    return world;
}

// The number of pairs compared in `ticks` ticks.
static uint64_t pairs_compared(orr_world* world, uint32_t ticks)
{
    uint64_t before = world->schedule->compared;
    KIT_STEP(world, ticks);
    return world->schedule->compared - before;
}

// Conflicts are computed in the next tick, and only there. "write" and "hurt" conflict in clusters
// that have both types; there are none here.
#define CHECK_RECOMPUTED(world, pairs)             \
    do {                                           \
        CHECK_EQ(pairs_compared(world, 1), pairs); \
        CHECK_EQ(pairs_compared(world, 3), 0);     \
    } while (0)

ORR_TEST(conflicts_are_kept_by_ticks_that_change_values_and_entities)
{
    kit k;
    orr_world* world = conflict_begin(&k);
    CHECK_RECOMPUTED(world, PAIRS);
    CHECK_EQ(world->schedule->plans, 1);
    uint64_t clusters = world->clusters.sequence;
    CHECK_EQ(pairs_compared(world, 50), 0);
    CHECK_EQ(world->clusters.sequence, clusters); // The test created no cluster.
    CHECK_EQ(world->schedule->plans, 1);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(conflicts_are_kept_by_changes_between_ticks)
{
    kit k;
    orr_world* world = conflict_begin(&k);
    CHECK_RECOMPUTED(world, PAIRS);
    // Within existing clusters, with enough entities for new chunks.
    orr_entity e = orr_create(world);
    CHECK_OK(orr_set(world, e, Position, {1, 2, 3}));
    CHECK_EQ(pairs_compared(world, 1), 0);
    CHECK_OK(orr_set(world, e, Health, {5, 6}));
    CHECK_EQ(pairs_compared(world, 1), 0);
    CHECK_OK(orr_enable(world, e, Health, false));
    CHECK_EQ(pairs_compared(world, 1), 0);
    CHECK_OK(orr_enable(world, e, Health, true));
    CHECK_OK(orr_remove(world, e, Health));
    CHECK_EQ(pairs_compared(world, 1), 0);
    CHECK_OK(orr_destroy(world, e));
    CHECK_EQ(pairs_compared(world, 1), 0);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), 3 * ORR_CHUNK_CAPACITY, NULL, 0,
                             NULL));
    CHECK_EQ(pairs_compared(world, 2), 0);
    // No new cluster and no other system.
    // It is enabled already.
    CHECK_OK(orr_system_enable(world, orr_system_find(world, "hurt"), true));
    CHECK_OK(orr_cluster_delete(world, KIT_CLUSTER(world, Position, Health)));
    CHECK_EQ(pairs_compared(world, 2), 0);
    CHECK_EQ(world->schedule->plans, 1);
    CHECK_OK(orr_name_set(world, marked, (orr_entity){0}, "marked"));
    CHECK_EQ(pairs_compared(world, 2), 0);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

// The plan is made anew, because a type can have reference fields that cascade. Conflicts stay.
ORR_TEST(conflicts_are_kept_when_a_type_is_registered)
{
    kit k;
    orr_world* world = conflict_begin(&k);
    CHECK_RECOMPUTED(world, PAIRS);
    ORR_REGISTER(world, Later);
    CHECK_EQ(pairs_compared(world, 2), 0);
    CHECK_EQ(world->schedule->plans, 2);
    kit_end(&k);
}

ORR_TEST(conflicts_are_computed_again_when_a_cluster_appears)
{
    kit k;
    orr_world* world = conflict_begin(&k);
    CHECK_RECOMPUTED(world, PAIRS);
    // An empty cluster between ticks.
    (void)KIT_CLUSTER(world, Position, Frozen);
    CHECK_RECOMPUTED(world, PAIRS);
    // A cluster created by an entity.
    orr_entity e = orr_create(world);
    CHECK_OK(orr_set(world, e, Late, {1}));
    CHECK_RECOMPUTED(world, PAIRS);
    // A cluster created by a system: it exists from the system's commit point on.
    wanted = KIT_TYPE(world, Late);
    CHECK_EQ(pairs_compared(world, 1), 0);
    CHECK_EQ(orr_has(world, marked, Late), true);
    uint64_t first = pairs_compared(world, 2), clusters = world->clusters.sequence;
    CHECK_EQ(first % PAIRS, 0);
    CHECK(first >= PAIRS && first <= 2 * PAIRS); // "Velocity, Late" and "Velocity, Late, Frozen".
    CHECK_EQ(pairs_compared(world, 4), 0);
    CHECK_EQ(world->clusters.sequence, clusters);
    CHECK_EQ(world->schedule->plans, 1);
    kit_end(&k);
}

ORR_TEST(conflicts_are_computed_again_when_systems_are_added_removed_enabled_or_disabled)
{
    kit k;
    orr_world* world = conflict_begin(&k);
    CHECK_RECOMPUTED(world, PAIRS);
    orr_system fourth = KIT_SYSTEM(world, .name = "fourth", .query = "Frozen, !Velocity",
                                   .run = kit_run_nothing, .before = "move");
    CHECK_RECOMPUTED(world, 6); // Pairs of the four systems of a group.
    CHECK_EQ(world->schedule->plans, 2);
    CHECK_OK(orr_system_enable(world, fourth, false));
    CHECK_RECOMPUTED(world, PAIRS);
    CHECK_OK(orr_system_enable(world, fourth, true));
    CHECK_RECOMPUTED(world, 6);
    CHECK_OK(orr_system_remove(world, fourth));
    CHECK_RECOMPUTED(world, PAIRS);
    CHECK_EQ(world->schedule->plans, 5);
    kit_end(&k);
}

#undef CHECK_RECOMPUTED
