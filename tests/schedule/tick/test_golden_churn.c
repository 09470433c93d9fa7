// SPDX-License-Identifier: MIT
// The scenario `churn` for every number of workers: after every tick the world has the hash of the
// serial run, whatever the compiler, optimization level, seed and content of fresh memory. The
// serial hashes are constants, so builds are compared with each other.
//
// When the scenario or the hash is changed on purpose, the first test fails and prints the new
// table. Put it there and state the reason in the commit.
#include "scenarios/scenario.h"
#include "schedule/schedule.h"
#include "support/store_kit.h"
#include "test.h"

#include <errno.h>

enum {
    SMALL = 2,   // Thousands of entities, for slow builds.
    MIDDLE = 20, // Several chunks in a cluster.
    LARGE = 100, // The size of the proof.
    TICKS = 300,
    TICKS_LONG = 10000
};

typedef struct churn_golden {
    uint32_t scale;
    uint64_t seed, digest; // Digest of the hashes after each of TICKS ticks.
} churn_golden;

static const churn_golden goldens[] = {
    {SMALL, 11, 0x36953437FFF9EA0Eu}, {SMALL, 12, 0x0BE6D0AA10E38970u},
    {SMALL, 13, 0x2B75F95E80F43D73u}, {LARGE, 11, 0x7ACBB713DBD9A0DBu},
    {LARGE, 12, 0x340734E3144B4CFBu}, {LARGE, 13, 0x13E09AE29D70972Du},
};

static const uint32_t worker_counts[] = {1, 2, 3, 4, 8, 32};
static const uint8_t fills[] = {0xAA, 0x55}; // Content of fresh memory.
static uint64_t expected[TICKS_LONG];        // The hashes of the serial run.

// Under sanitizers, which take ten times as long: fewer and smaller runs.
#ifdef __OPTIMIZE__
#define SANITIZED test_slow()
#else
#define SANITIZED false
#endif
#define COUNT(array) (uint32_t)(sizeof(array) / sizeof(array)[0])

typedef struct churn_test {
    uint32_t scale, workers;
    uint64_t seed;
    uint8_t fill;
    orri_sharing sharing;
    kit k;
    scenario_run run;
} churn_test;

static void churn_begin(churn_test* s)
{
    s->k.memory.fresh_byte = s->fill;
    orr_world* world = kit_begin(&s->k, &(orr_world_desc){.seed = s->seed, .workers = s->workers});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    orri_parallel_share(world, s->sharing, s->seed);
    scenario_target target = scenario_target_world(world);
    CHECK(scenario_begin(&s->run, scenario_find("churn"), &target, s->scale));
}

static uint64_t churn_tick(churn_test* s)
{
    if (!scenario_step(&s->run)) {
        test_fail(__FILE__, __LINE__, "tick %u with %u workers was refused: %s",
                  (unsigned)s->run.tick, s->workers, s->k.errors.text);
    }
    return orr_world_hash(s->k.world);
}

// As many entities are created as destroyed.
static void churn_end(churn_test* s)
{
    uint64_t entities = orr_entity_count(s->k.world), wanted = s->scale * 1010u;
    CHECK(entities > wanted - wanted / 20 && entities < wanted + wanted / 20);
    CHECK_STR(s->k.errors.text, "");
    scenario_end(&s->run);
    kit_end(&s->k);
}

static void serial_run(uint32_t scale, uint64_t seed, uint8_t fill, uint32_t ticks)
{
    churn_test serial = {.scale = scale, .seed = seed, .fill = fill};
    churn_begin(&serial);
    for (uint32_t i = 0; i < ticks; i++) {
        expected[i] = churn_tick(&serial);
    }
    churn_end(&serial);
}

static void check_same(churn_test s, uint32_t ticks)
{
    churn_begin(&s);
    for (uint32_t i = 0; i < ticks; i++) {
        if (churn_tick(&s) != expected[i]) {
            test_fail(__FILE__, __LINE__,
                      "scale %u, seed %llu, fill 0x%02x, %u workers, sharing %d: tick %u differs",
                      s.scale, (unsigned long long)s.seed, s.fill, s.workers, (int)s.sharing, i);
        }
    }
    churn_end(&s);
}

// The serial run against all numbers of workers and both fills.
static void check_workers(uint32_t scale, uint64_t seed, uint32_t ticks)
{
    serial_run(scale, seed, fills[0], ticks);
    check_same((churn_test){.scale = scale, .seed = seed, .fill = fills[1]}, ticks);
    for (uint32_t w = 0; w < COUNT(worker_counts); w++) {
        for (uint32_t f = 0; f < COUNT(fills); f++) {
            check_same((churn_test){.scale = scale,
                                    .workers = worker_counts[w],
                                    .seed = seed,
                                    .fill = fills[f],
                                    .sharing = f == 0 ? ORRI_SHARE_AUTO : ORRI_SHARE_RANDOM},
                       ticks);
        }
    }
}

/* N1-15 */
ORR_TEST(churn_serial_run_has_its_golden_hashes)
{
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < COUNT(goldens); i++) {
        const churn_golden* g = &goldens[i];
        bool first = g->seed == 11;
        bool worth = g->scale == SMALL ? first || !SANITIZED
                     : test_long()     ? !SANITIZED
                                       : first && !test_slow();
        if (!worth) {
            continue;
        }
        serial_run(g->scale, g->seed, fills[i % 2], TICKS);
        uint64_t digest = orr_hash(expected, sizeof *expected * TICKS, 0);
        if (digest != g->digest) {
            wrong++;
            fprintf(stderr, "    {%s, %u, 0x%016" PRIX64 "u},\n",
                    g->scale == LARGE ? "LARGE" : "SMALL", (unsigned)g->seed, digest);
        }
    }
    CHECK_EQ(wrong, 0);
}

/* N3-04 N3-13 */
ORR_TEST(churn_every_tick_with_workers_has_the_hash_of_the_serial_run)
{
    check_workers(SMALL, 11, SANITIZED ? 10 : test_slow() ? 50 : TICKS);
    if (!test_slow()) {
        serial_run(LARGE, 11, 0xAA, 60);
        check_same((churn_test){.scale = LARGE, .workers = 2, .seed = 11, .fill = 0x55}, 60);
    }
}

// So many chunks in every cluster that workers take and steal them. In race tests: the hundred
// thousand entities of the proof, for a few ticks.
ORR_TEST(churn_of_many_chunks_with_workers_has_the_hashes_of_the_serial_run)
{
    uint32_t scale = test_races() ? LARGE : MIDDLE, ticks = test_rounds(20, 6, 100);
    serial_run(scale, 11, 0xAA, ticks);
    if (!test_brief()) {
        check_same((churn_test){.scale = scale, .workers = 2, .seed = 11, .fill = 0x55}, ticks);
    }
    check_same(
        (churn_test){
            .scale = scale, .workers = 4, .seed = 11, .fill = 0xAA, .sharing = ORRI_SHARE_RANDOM},
        ticks);
}

// The whole matrix, with --long; compiler and level are those of the build.
ORR_TEST(churn_matrix_of_workers_seeds_and_memory_has_the_hashes_of_the_serial_run)
{
    for (uint64_t seed = 11; test_long() && seed <= 13; seed++) {
        check_workers(SMALL, seed + test_seed(), TICKS);
        if (test_slow() ? seed == 11 && !SANITIZED : true) {
            check_workers(LARGE, seed, test_slow() ? TICKS / 6 : TICKS);
        }
    }
}

// Many ticks with one compiler: other compilers are compared tick by tick above.
ORR_TEST(churn_of_many_ticks_keeps_its_size_and_has_the_hashes_of_the_serial_run)
{
#ifdef __clang__
    bool full = false;
#else
    bool full = test_long() && !test_slow();
#endif
    uint32_t scale = full ? LARGE : 1;
    uint32_t ticks = full ? TICKS_LONG : test_rounds(2000, 100, 2000);
    serial_run(scale, 11, 0xAA, ticks);
    check_same((churn_test){.scale = scale, .workers = 2, .seed = 11, .fill = 0x55}, ticks);
    check_same((churn_test){.scale = scale, .workers = 8, .seed = 11, .fill = 0xAA}, ticks);
}

ORR_TEST(churn_ticked_sixteen_times_from_one_state_has_one_hash)
{
    serial_run(SMALL, 5, 0xAA, 5);
    for (uint32_t i = 0; i < 16; i++) {
        check_same((churn_test){.scale = SMALL,
                                .workers = 2,
                                .seed = 5,
                                .fill = fills[i % 2],
                                .sharing = (orri_sharing)(i % 4)},
                   5);
    }
}

// ---- without threads ----------------------------------------------------------------------------

typedef struct fewer {
    uint32_t lines;
    char text[256]; // The last line.
} fewer;

static void fewer_write(void* user, const orr_log_line* line)
{
    fewer* f = user;
    if (line->id == ORR_LOG_ID_WORKERS_FEWER) {
        f->lines++;
        snprintf(f->text, sizeof f->text, "%s", line->text);
    }
}

static void fewer_nothing(void* arg)
{
    (void)arg;
}

// As on a machine without threads: a platform that refuses to create them.
static int fewer_refuse(void* user, const char* name, void (*run)(void* arg), void* arg,
                        orr_thread* out)
{
    (void)user, (void)name, (void)run, (void)arg, (void)out;
    return ENOTSUP;
}

static void fewer_check(const orr_platform* platform, uint32_t lines, uint32_t workers)
{
    enum {
        FEW = 20
    };
    serial_run(1, 5, 0xAA, FEW);
    fewer f = {0};
    churn_test s = {.scale = 1, .seed = 5, .workers = 4};
    orr_world* world = kit_begin(
        &s.k,
        &(orr_world_desc){.seed = s.seed,
                          .workers = s.workers,
                          .platform = platform,
                          .log = {.level = ORR_LOG_WARNING, .sink = fewer_write, .user = &f}});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    scenario_target target = scenario_target_world(world);
    CHECK(scenario_begin(&s.run, scenario_find("churn"), &target, s.scale));
    for (uint32_t i = 0; i < FEW; i++) {
        CHECK(churn_tick(&s) == expected[i]);
        CHECK_EQ(f.lines, lines); // Once, in the first tick.
    }
    CHECK_EQ(orr_worker_count(world), workers);
    if (lines > 0) {
        CHECK_CONTAINS(f.text, "workers requested: 4, available: 1");
    }
    churn_end(&s);
}

ORR_TEST(churn_without_threads_reports_once_and_continues)
{
    const orr_platform* platform = orr_platform_default();
    orr_thread thread;
    bool threads = platform->thread_create(NULL, "any", fewer_nothing, NULL, &thread) == 0;
    if (threads) {
        platform->thread_join(NULL, thread);
    }
    fewer_check(NULL, threads ? 0 : 1, threads ? 4 : 1);
    orr_platform none = *platform;
    none.thread_create = fewer_refuse;
    fewer_check(&none, 1, 1);
}

#undef COUNT
#undef SANITIZED
