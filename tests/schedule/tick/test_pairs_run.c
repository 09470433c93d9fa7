// SPDX-License-Identifier: MIT
// Cross products inside systems: the rows of a run with all rows of a query, on several workers.
#include "schedule/schedule.h"
#include "schedule/system_kit.h"

ORR_STRUCT(Force, (float, x), (float, y))
ORR_STRUCT(Pairs, (uint64_t, count), (uint64_t, self), (uint64_t, mix))

static orr_world* begin_with(kit* k, uint32_t workers)
{
    orr_world* world = kit_begin(k, &(orr_world_desc){.workers = workers});
    ORR_REGISTER(world, Position, Velocity, Health, Frozen, Hidden, Force, Body);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    if (workers > 0) {
        orri_parallel_share(world, ORRI_SHARE_ALL, 0);
    }
    return world;
}

// ---- forces between bodies ----------------------------------------------------------------------

static void pull(float* x, float* y, const Position* a, const Position* b)
{
    float dx = b->x - a->x, dy = b->y - a->y;
    float near = 1.0f / (dx * dx + dy * dy + 0.5f);
    *x += dx * near;
    *y += dy * near;
}

static void attract(orr_run* run)
{
    orr_query* bodies = (orr_query*)(uintptr_t)orr_run_settings(run);
    Force* force = orr_write(run, Force);
    memset(force, 0, run->count * sizeof *force);
    ORR_CROSS_RUN(pair, run, bodies, ORR_PAIRS_ORDERED)
    {
        const Position* a = orr_read(&pair.left, Position);
        const Position* b = orr_read(&pair.right, Position);
        for (uint32_t i = 0; i < pair.left.count; i++) {
            for (uint32_t j = 0; j < pair.right.count; j++) {
                if (!orr_cross_self(&pair, i, j)) {
                    pull(&force[i].x, &force[i].y, &a[i], &b[j]);
                }
            }
        }
    }
}

static void drift(orr_run* run)
{
    Position* p = orr_write(run, Position);
    const Force* force = orr_read(run, Force);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += force[i].x * run->dt;
        p[i].y += force[i].y * run->dt;
    }
}

static void make_bodies(orr_world* world, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        orr_entity entity = orr_create(world);
        uint64_t r = orr_random(7, i, 0, 0);
        CHECK_OK(orr_set(world, entity, Position, {(float)(r & 1023), (float)(r >> 54), 0}));
        CHECK_OK(orr_set(world, entity, Force, {0, 0}));
        if (i % 5 == 0) {
            CHECK_OK(orr_add(world, entity, Frozen));
        }
    }
}

// The force on one body, computed outside of systems, in the order of the query.
static void check_some(orr_world* world, const Position* all, uint32_t count, orr_query* bodies)
{
    uint32_t at = 0;
    ORR_EACH (it, bodies) {
        for (uint32_t i = 0; i < it.count; i++, at++) {
            if (at % 97 != 0) {
                continue;
            }
            Force expected = {0, 0};
            for (uint32_t j = 0; j < count; j++) {
                if (j != at) {
                    pull(&expected.x, &expected.y, &all[at], &all[j]);
                }
            }
            const Force* is = orr_get(world, orr_iter_entity(&it, i), Force);
            CHECK_EQ(memcmp(is, &expected, sizeof expected), 0);
        }
    }
}

/* N3-04 */
ORR_TEST(cross_of_a_parallel_system_gives_the_forces_of_the_serial_run)
{
    static const uint32_t workers[] = {0, 1, 2, 3, 8};
    uint32_t count = test_slow() ? 2500 : 4500;
    uint64_t expected[2] = {0};
    static Position all[4500];
    for (uint32_t w = 0; w < (test_slow() ? 3u : 5u); w++) {
        kit k;
        orr_world* world = begin_with(&k, workers[w]);
        make_bodies(world, count);
        orr_query* bodies = orr_query_text(world, "Position");
        uint32_t at = 0;
        ORR_EACH (it, bodies) {
            memcpy(all + at, orr_read(&it, Position), it.count * sizeof *all);
            at += it.count;
        }
        orr_system system = KIT_SYSTEM(world, .name = "attract", .query = "write Force, Position",
                                       .run = attract, .by_id = "Position", .settings = bodies,
                                       .parallel = true);
        KIT_SYSTEM(world, .name = "drift", .query = "write Position, Force", .run = drift,
                   .parallel = true);
        for (uint32_t tick = 0; tick < 2; tick++) {
            KIT_STEP(world, 1);
            if (w == 0) {
                expected[tick] = orr_world_hash(world);
            }
            CHECK_EQ(orr_world_hash(world), expected[tick]);
            if (tick == 0) {
                check_some(world, all, count, bodies);
            }
        }
        CHECK_EQ(kit_stats(world, system).rows, 2 * count);
        CHECK_EQ(k.errors.count, 0);
        orr_query_destroy(bodies);
        kit_end(&k);
    }
}

// ---- each pair occurs as often as it should -----------------------------------------------------

typedef struct asked {
    orr_query* right;
    orr_pairs pairs;
} asked;

static uint64_t mix_of(orr_entity a, orr_entity b)
{
    uint64_t low = a.id < b.id ? a.id : b.id, high = a.id < b.id ? b.id : a.id;
    uint64_t mix = low * 0x9E3779B97F4A7C15u + high;
    return mix * (mix >> 29 | 1);
}

// The sum of a distinct number of each pair: no pair is missing, and none is replaced by another.
static void count_pairs(orr_run* run)
{
    const asked* ask = orr_run_settings(run);
    Pairs* part = orr_export(run, Pairs);
    ORR_CROSS_RUN(pair, run, ask->right, ask->pairs)
    {
        for (uint32_t i = 0; i < pair.left.count; i++) {
            for (uint32_t j = orr_cross_from(&pair, i); j < pair.right.count; j++) {
                if (orr_cross_self(&pair, i, j)) {
                    part->self++;
                    continue;
                }
                part->count++;
                part->mix +=
                    mix_of(orr_iter_entity(&pair.left, i), orr_iter_entity(&pair.right, j));
            }
        }
    }
}

static void combine_pairs(void* into, const void* part)
{
    Pairs* a = into;
    const Pairs* b = part;
    a->count += b->count;
    a->self += b->self;
    a->mix += b->mix;
}

// The same by two loops over lists of entities. Once: of a pair that could occur in both
// directions, one direction occurs.
static Pairs oracle_pairs(orr_query* left, orr_query* right, orr_pairs pairs)
{
    static orr_entity a[6000], b[6000];
    uint64_t a_count = orr_query_entities(left, 0, a, 6000);
    uint64_t b_count = orr_query_entities(right, 0, b, 6000);
    Pairs sum = {0, 0, 0};
    for (uint64_t i = 0; i < a_count; i++) {
        bool a_right = orr_query_has(right, a[i]);
        for (uint64_t j = 0; j < b_count; j++) {
            bool mirror = pairs == ORR_PAIRS_ONCE && a_right && a[i].id > b[j].id &&
                          orr_query_has(left, b[j]);
            if (a[i].id == b[j].id) {
                sum.self += pairs == ORR_PAIRS_ORDERED;
            } else if (!mirror) {
                sum.count++;
                sum.mix += mix_of(a[i], b[j]);
            }
        }
    }
    return sum;
}

static void check_pairs(uint32_t workers, const char* left, const char* right, orr_pairs pairs,
                        bool switched)
{
    kit k;
    orr_world* world = begin_with(&k, workers);
    uint32_t count = switched || test_slow() ? 700 : 3600; // 3600 rows: two chunks of a cluster.
    for (uint32_t i = 0; i < count; i++) {
        orr_entity entity = orr_create(world);
        CHECK_OK(orr_set(world, entity, Position, {0, 0, 0}));
        if (i % 4 == 0) {
            CHECK_OK(orr_set(world, entity, Health, {0, 0}));
        }
        if (i % 16 < 2) {
            CHECK_OK(orr_add(world, entity, Frozen));
        }
        if (switched && i % 9 < 4) {
            CHECK_OK(orr_entity_enable(world, entity, false));
        }
    }
    orr_query* outer = orr_query_text(world, left);
    asked ask = {right != NULL ? orr_query_text(world, right) : NULL, pairs};
    orr_system system = KIT_SYSTEM(world, .name = "pairs", .query = left, .run = count_pairs,
                                   .by_id = "Position, Health, Frozen", .settings = &ask,
                                   .exports = ORR_TYPE(Pairs), .combine = combine_pairs,
                                   .parallel = true);
    orr_query* own = orri_system_at(world, system)->query;
    orr_query* inner = right != NULL ? ask.right : own;
    ask.right = inner;
    KIT_STEP(world, 1);
    Pairs expected = oracle_pairs(outer, inner, pairs);
    const Pairs* is = orr_system_exports(world, system);
    CHECK_EQ(is->count, expected.count);
    CHECK_EQ(is->self, expected.self);
    CHECK_EQ(is->mix, expected.mix);
    CHECK(is->count > 1000);
    CHECK_STR(k.errors.text, "");
    orr_query_destroy(outer);
    if (right != NULL) {
        orr_query_destroy(inner);
    }
    kit_end(&k);
}

ORR_TEST(cross_of_a_run_selects_every_pair)
{
    for (uint32_t workers = 0; workers < 4; workers += 3) {
        for (uint32_t p = 0; p < 2; p++) {
            orr_pairs pairs = p == 0 ? ORR_PAIRS_ONCE : ORR_PAIRS_ORDERED;
            check_pairs(workers, "Position", "Position", pairs, false);
            check_pairs(workers, "Position", NULL, pairs, false); // The system's own query.
            check_pairs(workers, "Position", "Position, Health", pairs, false);
            check_pairs(workers, "Position, Frozen", "Position, Health", pairs, false);
            check_pairs(workers, "Position, Frozen", "Position, !Frozen", pairs, false);
            check_pairs(workers, "Position", NULL, pairs, true); // Rows chosen one by one.
        }
        check_pairs(workers, "Position", "Position, Health", ORR_PAIRS_ORDERED, true);
    }
}

// ---- refusals -----------------------------------------------------------------------------------

static void loop_any(orr_run* run)
{
    ORR_CROSS_RUN(pair, run, (orr_query*)(uintptr_t)orr_run_settings(run), ORR_PAIRS_ONCE)
    {
        CHECK(false);
    }
}

static void loop_own(orr_run* run)
{
    ORR_CROSS_RUN(pair, run, orr_run_query(run), ORR_PAIRS_ONCE)
    {
        CHECK(false);
    }
}

static void each_own(orr_run* run)
{
    ORR_EACH (it, orr_run_query(run)) {
        CHECK(false);
    }
}

static void check_refused(const char* own, const char* other, const char* any,
                          void (*function)(orr_run*), const char* words)
{
    for (uint32_t workers = 0; workers < 3; workers += 2) {
        kit k;
        orr_world* world = begin_with(&k, workers);
        make_bodies(world, 10);
        CHECK_OK(orr_set(world, orr_create(world), Body, {1, 2}));
        orr_query* query = orr_query_text(world, other);
        orr_system system = KIT_SYSTEM(world, .name = "culprit", .query = own, .run = function,
                                       .by_id = any, .settings = query, .parallel = true);
        KIT_STEP_REFUSED(world, 1);
        KIT_ERROR(&k, ORR_ERR_STATE, words);
        CHECK(kit_stats(world, system).violations > 0);
        orr_query_destroy(query);
        kit_end(&k);
    }
}

ORR_TEST(cross_of_a_run_with_undeclared_types_is_a_violation)
{
    check_refused(
        "write Force", "Position", NULL, loop_any,
        "orr_cross_run: system 'culprit' accesses Position, which it did not declare; put "
        "\"Position\" into its .by_id");
    check_refused("write Force", "Position, Force", "Position", loop_any,
                  "orr_cross_run: system 'culprit' accesses Force, which it did not declare");
    check_refused("write Force", "Position", NULL, loop_own,
                  "orr_cross_run: system 'culprit' is parallel and loops over its own query, which "
                  "writes: another worker");
    check_refused("Force", "Position", NULL, each_own,
                  "ORR_EACH: system 'culprit' accesses Force, which it did not declare; put "
                  "\"Force\" into its .by_id");
    check_refused("write Force", "Position", NULL, each_own,
                  "ORR_EACH: system 'culprit' is parallel and loops over its own query");
    check_refused(
        "write Force", "Body", "Body", loop_any,
        "orr_cross_run: system 'culprit' loops over a query with an order or pinned types, which "
        "the loop updates, so no other system may run at the same time; remove .parallel and set "
        ".alone");
}

ORR_TEST(pairs_of_a_run_that_reads_by_id_what_it_writes_is_refused)
{
    kit k;
    orr_world* world = begin_with(&k, 0);
    CHECK_EQ(KIT_ADD(world, .name = "x", .query = "write Force, Position", .by_id = "Force",
                     .run = attract, .parallel = true)
                 .id,
             0);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "may not write Force and reach it by id");
    kit_end(&k);
}

static void cross_wrongly(orr_run* run)
{
    orr_query* query = (orr_query*)(uintptr_t)orr_run_settings(run);
    ORR_CROSS_RUN(pair, run, query, ORR_PAIRS_ORDERED)
    {
        CHECK(false);
    }
}

static void cross_as_nothing(orr_run* run)
{
    orr_query* query = (orr_query*)(uintptr_t)orr_run_settings(run);
    ORR_CROSS_RUN(pair, run, query, (orr_pairs)7)
    {
        CHECK(false);
    }
}

ORR_TEST(cross_of_a_run_without_rows_is_refused)
{
    kit k;
    orr_world* world = begin_with(&k, 0);
    make_bodies(world, 10);
    orr_query* query = orr_query_text(world, "Position");
    KIT_SYSTEM(world, .name = "once", .once = true, .run = cross_wrongly, .by_id = "Position",
               .settings = query);
    KIT_STEP_REFUSED(world, 1);
    KIT_ERROR(&k, ORR_ERR_STATE, "orr_cross_run: this run has no rows to pair");
    CHECK_OK(orr_system_remove(world, orr_system_find(world, "once")));
    KIT_SYSTEM(world, .name = "odd", .query = "Force", .run = cross_as_nothing, .by_id = "Position",
               .settings = query);
    KIT_STEP_REFUSED(world, 1);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "orr_cross_run: pairs is not a value of orr_pairs");
    CHECK_OK(orr_world_validate(world));
    CHECK(orr_create(world).id != 0); // No loop is open.
    orr_query_destroy(query);
    kit_end(&k);
}
