// SPDX-License-Identifier: MIT
// Which systems run at the same time: compatible systems do, others never, and other systems see
// all writes of a system or none.
#include "scenarios/scenario.h"
#include "schedule/schedule.h"
#include "schedule/system_kit.h"
#include "schedule/tick/overlap_kit.h"

#define TICKS 12u

static rendezvous both;
static room shared;

static void wait_for_other(orr_run* run)
{
    (void)run;
    rendezvous_wait(&both);
}

static void visit_shared(orr_run* run)
{
    (void)run;
    visit(&shared);
}

static orr_world* begin_with(kit* k, uint32_t workers)
{
    orr_world* world = kit_begin(k, &(orr_world_desc){.workers = workers});
    ORR_REGISTER(world, Position, Velocity, Health, Frozen, Hidden);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    if (workers > 0) {
        // Small systems would be batched on one worker.
        orri_parallel_share(world, ORRI_SHARE_NOTHING, 0);
    }
    atomic_store(&both.arrived, 0);
    atomic_store(&both.timeouts, 0);
    atomic_store(&shared.overlaps, 0);
    atomic_store(&shared.visits, 0);
    return world;
}

// Two systems that are called once a tick; each has one row.
static void add_two(orr_world* world, const char* first, const char* second,
                    void (*run)(orr_run* run))
{
    orr_entity one = orr_create(world);
    CHECK_OK(orr_set(world, one, Position, {0}));
    CHECK_OK(orr_set(world, one, Velocity, {0}));
    KIT_SYSTEM(world, .name = "first", .query = first, .run = run);
    KIT_SYSTEM(world, .name = "second", .query = second, .run = run);
}

static void check_overlap(const char* first, const char* second)
{
    kit k;
    orr_world* world = begin_with(&k, 2);
    add_two(world, first, second, wait_for_other);
    KIT_STEP(world, TICKS);
    CHECK_EQ(both.arrived, 2 * TICKS);
    CHECK_EQ(both.timeouts, 0);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

static void check_exclusive(const char* first, const char* second)
{
    kit k;
    orr_world* world = begin_with(&k, 3);
    add_two(world, first, second, visit_shared);
    KIT_STEP(world, TICKS);
    CHECK_EQ(shared.visits, 2 * TICKS);
    CHECK_EQ(shared.overlaps, 0);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

// ---- compatible systems -------------------------------------------------------------------------

/* N4-03 */
ORR_TEST(systems_that_share_no_type_run_at_the_same_time)
{
    check_overlap("write Position", "write Velocity");
    check_overlap("Position", "write Velocity");
    check_overlap("Position", "Velocity");
}

/* N4-04 */
ORR_TEST(systems_that_share_a_type_are_compatible_when_both_only_read_it)
{
    static const struct {
        const char *first, *second;
        bool compatible;
    } ways[4] = {{"Position", "Position", true},
                 {"Position", "write Position", false},
                 {"write Position", "Position", false},
                 {"write Position", "write Position", false}};
    for (uint32_t i = 0; i < 4; i++) {
        kit k;
        orr_world* world = begin_with(&k, 0);
        add_two(world, ways[i].first, ways[i].second, kit_run_nothing);
        KIT_STEP(world, 1);
        const orri_system* first = orri_system_named(world, "first", 5);
        const orri_system* second = orri_system_named(world, "second", 6);
        CHECK_EQ(orri_conflict(world, first, second), !ways[i].compatible);
        CHECK_EQ(orri_conflict(world, second, first), !ways[i].compatible);
        kit_end(&k);
        (ways[i].compatible ? check_overlap : check_exclusive)(ways[i].first, ways[i].second);
    }
    // Two types; each system writes the type that the other reads.
    check_exclusive("write Position, Velocity", "write Velocity, Position");
    check_overlap("Position, Velocity", "Velocity, Position");
}

/* N4-05 */
ORR_TEST(compatible_systems_overlap_and_others_never_do)
{
    kit k;
    orr_world* world = begin_with(&k, 4);
    add_two(world, "write Position", "write Velocity", wait_for_other);
    // Three more systems that write Health: one at a time, whichever other systems run.
    CHECK_OK(orr_set(world, orr_create(world), Health, {0}));
    KIT_SYSTEM(world, .name = "x", .query = "write Health", .run = visit_shared);
    KIT_SYSTEM(world, .name = "y", .query = "Health", .run = visit_shared, .after = "x");
    KIT_SYSTEM(world, .name = "z", .query = "write Health", .run = visit_shared);
    KIT_STEP(world, TICKS);
    CHECK_EQ(both.arrived, 2 * TICKS);
    CHECK_EQ(both.timeouts, 0);
    CHECK_EQ(shared.visits, 3 * TICKS);
    CHECK_EQ(shared.overlaps, 0);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(writers_of_a_type_on_different_clusters_run_at_the_same_time)
{
    kit k;
    orr_world* world = begin_with(&k, 2);
    orr_entity warm = make(world, 0), cold = make(world, 1);
    CHECK_OK(orr_add(world, cold, Frozen));
    CHECK(warm.id != 0);
    KIT_SYSTEM(world, .name = "a", .query = "write Position, Frozen", .run = wait_for_other);
    KIT_SYSTEM(world, .name = "b", .query = "write Position, !Frozen", .run = wait_for_other);
    KIT_STEP(world, TICKS);
    CHECK_EQ(both.timeouts, 0);
    kit_end(&k);
}

// ---- a system's writes are seen as a whole ------------------------------------------------------

static _Atomic uint32_t torn; // Rows that were seen half written.

static void write_slowly(orr_run* run)
{
    Health* health = orr_write(run, Health);
    for (uint32_t i = 0; i < run->count; i++) {
        health[i].value = (int32_t)run->tick;
        if (i % 256 == 0) {
            orr_platform_default()->thread_yield(NULL);
        }
    }
}

// Reads all rows, not only its own. The settings hold the query and how far behind the writer is.
typedef struct view {
    orr_query* query;
    int32_t behind;
} view;

static void read_all(orr_run* run)
{
    const view* v = orr_run_settings(run);
    ORR_EACH (it, v->query) {
        const Health* health = orr_read(&it, Health);
        for (uint32_t i = 0; i < it.count; i++) {
            torn += health[i].value != (int32_t)run->tick - v->behind;
        }
    }
}

/* N0-08 */
ORR_TEST(conflicting_system_sees_all_writes_of_another_or_none)
{
    static const uint32_t workers[] = {0, 2, 3, 8};
    for (uint32_t w = 0; w < 4; w++) {
        kit k;
        orr_world* world = begin_with(&k, workers[w]);
        if (workers[w] > 0) {
            orri_parallel_share(world, ORRI_SHARE_ALL, 0);
        }
        orr_cluster cluster = KIT_CLUSTER(world, Health, Position);
        CHECK_OK(orr_create_many(world, cluster, 5 * ORR_CHUNK_CAPACITY, NULL, 0, NULL));
        orr_query* query = orr_query_text(world, "Health");
        orr_query* all = orr_query_text(world, "write Health");
        ORR_EACH (it, all) {
            memset(orr_write(&it, Health), 0, it.count * sizeof(Health));
        }
        orr_query_destroy(all);
        view before = {query, 1}, after = {query, 0};
        torn = 0;
        KIT_SYSTEM(world, .name = "before", .query = "Position", .run = read_all, .by_id = "Health",
                   .settings = &before, .parallel = true);
        KIT_SYSTEM(world, .name = "write", .query = "write Health", .run = write_slowly,
                   .parallel = true);
        KIT_SYSTEM(world, .name = "after", .query = "Position", .run = read_all, .by_id = "Health",
                   .settings = &after, .parallel = true);
        KIT_STEP(world, 6);
        CHECK_EQ(torn, 0);
        CHECK_EQ(k.errors.count, 0);
        orr_query_destroy(query);
        kit_end(&k);
    }
}

// ---- two indirect systems that write one type ---------------------------------------------------

// One system adds one to the value in its message, the other doubles it; neither receives its own
// changes.
static void answer(orr_run* run, int32_t factor, int32_t more)
{
    ORR_MESSAGES(m, run)
    {
        const int32_t* values = NULL;
        if (m->kind == ORR_COMPONENT_CHANGED) {
            values = m->values;
        } else if (m->kind == ORR_ENTITY_ADDED) {
            values = m->columns[0].values;
        }
        bool own = m->system.id == orr_run_self(run).id;
        for (uint32_t i = 0; values != NULL && !own && i < m->count; i++) {
            int32_t value = ((const Health*)(const void*)values)[i].value;
            (void)orr_send_change(run, m->entities[i], Health, {value * factor + more, 0});
        }
    }
}

static void add_one(orr_run* run)
{
    answer(run, 1, 1);
}

static void twice(orr_run* run)
{
    answer(run, 2, 0);
}

/* N0-13 */
ORR_TEST(two_indirect_writers_of_a_type_run_in_declared_order_and_lose_nothing)
{
    static const uint32_t workers[] = {0, 1, 2, 3, 8};
    for (uint32_t w = 0; w < 5; w++) {
        kit k;
        orr_world* world = begin_with(&k, workers[w]);
        enum {
            COUNT = 3000
        };
        orr_entity all[COUNT];
        for (uint32_t i = 0; i < COUNT; i++) {
            all[i] = orr_create(world);
            CHECK_OK(orr_set(world, all[i], Health, {(int32_t)i, 0}));
        }
        KIT_SYSTEM(world, .name = "one", .kind = ORR_INDIRECT, .query = "write Health",
                   .run = add_one);
        KIT_SYSTEM(world, .name = "two", .kind = ORR_INDIRECT, .query = "write Health",
                   .run = twice);
        // In the first tick both systems receive the existing values, and the second also receives
        // the result of the first: its last message counts. From then on each tick turns n into (n
        // + 1) * 2.
        for (uint32_t tick = 0; tick < 4; tick++) {
            KIT_STEP(world, 1);
            for (uint32_t i = 0; i < COUNT; i++) {
                int32_t expected = (int32_t)i;
                for (uint32_t t = 0; t <= tick; t++) {
                    expected = (expected + 1) * 2;
                }
                CHECK_EQ(orr_get(world, all[i], Health)->value, expected);
            }
        }
        CHECK_EQ(k.errors.count, 0);
        kit_end(&k);
    }
}

// ---- repeated ticks -----------------------------------------------------------------------------

/* N3-13 */
ORR_TEST(same_state_ticked_sixteen_times_has_the_same_hash)
{
    uint64_t hashes[2] = {0};
    uint32_t before = test_slow() ? 10 : 30;
    for (uint32_t round = 0; round < 16; round++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, &(orr_world_desc){.seed = 5, .workers = 2});
        orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
        orri_parallel_share(world, ORRI_SHARE_ALL, 0);
        scenario_target target = scenario_target_world(world);
        scenario_run run;
        CHECK(scenario_begin(&run, scenario_find("working"), &target, 40));
        for (uint32_t i = 0; i < before; i++) {
            CHECK(scenario_step(&run));
        }
        uint64_t state = orr_world_hash(world);
        CHECK(scenario_step(&run));
        uint64_t next = orr_world_hash(world);
        hashes[0] = round == 0 ? state : hashes[0];
        hashes[1] = round == 0 ? next : hashes[1];
        CHECK_EQ(state, hashes[0]);
        CHECK_EQ(next, hashes[1]);
        CHECK(state != next);
        scenario_end(&run);
        kit_end(&k);
    }
}

// ---- .alone -------------------------------------------------------------------------------------

typedef struct ordered {
    orr_query* query;
    float last;
    uint32_t rows;
} ordered;

static void loop_in_order(orr_run* run)
{
    ordered* o = orr_run_user(run);
    o->last = -1;
    visit(&shared);
    ORR_EACH (it, o->query) {
        const Position* p = orr_read(&it, Position);
        for (uint32_t i = 0; i < it.count; i++) {
            CHECK(p[i].x >= o->last);
            o->last = p[i].x;
            o->rows++;
        }
    }
}

static void turn_over(orr_run* run)
{
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x = 100 - p[i].x;
    }
}

// A loop over a query with an order updates the order, also during a tick.
ORR_TEST(system_that_loops_over_a_query_with_an_order_needs_alone)
{
    for (uint32_t says = 0; says < 2; says++) {
        kit k;
        orr_world* world = begin_with(&k, 3);
        for (uint32_t i = 0; i < 20; i++) {
            CHECK_OK(orr_set(world, orr_create(world), Position, {.x = (float)(i * 7 % 20)}));
        }
        ordered o = {.query = orr_query_create(
                         world, &(orr_query_desc){.text = "Position", .order_by = "Position.x"})};
        KIT_SYSTEM(world, .name = "turn", .query = "write Position", .run = turn_over);
        orr_system loops = KIT_SYSTEM(world, .name = "loops", .once = true, .by_id = "Position",
                                      .run = loop_in_order, .user = &o, .alone = says == 1);
        KIT_SYSTEM(world, .name = "beside", .query = "Position", .run = visit_shared);
        KIT_STEP_RESULT(world, TICKS, says == 1 ? ORR_OK : ORR_ERR_STATE);
        CHECK_EQ(o.rows, says == 1 ? 20 * TICKS : 0);
        CHECK_EQ(kit_stats(world, loops).violations, says == 1 ? 0 : TICKS);
        if (says == 1) {
            CHECK_EQ(k.errors.count, 0);
            CHECK_EQ(shared.overlaps, 0);
        } else {
            KIT_ERROR(&k, ORR_ERR_STATE,
                      "ORR_EACH: system 'loops' loops over a query with an order or pinned types");
        }
        kit_end(&k);
    }
}
