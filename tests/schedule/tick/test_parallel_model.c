// SPDX-License-Identifier: MIT
// The executor under the controlled scheduler. Small worlds, whose systems conflict or do not, are
// split, tiled and batched, send and receive, run for some ticks with two and three workers: in
// schedules with at most two preemptions (as many as there is time for), then with random
// priorities. Between ticks the plan changes: systems are added, removed, enabled and disabled;
// clusters appear. A schedule fails if the hash of a tick differs from the serial run, if a thread
// reads a plan that no tick runs, if a commit point runs while a system runs, or if no thread can
// run. Every system stops in the middle of each row, after it read and before it writes it, so
// other threads can run there. Written values depend on the order: a system that runs too early,
// too late, twice or not at all changes the hash.
#include "test.h"

#include "base/util.h"
#include "jobs/jobs_detail.h"
#include "schedule/schedule.h"
#include "support/controlled.h"
#include <orrery/orrery.h>

ORR_STRUCT(Apple, (uint64_t, value))
ORR_STRUCT(Berry, (uint64_t, value))
ORR_STRUCT(Cherry, (uint64_t, value))
ORR_STRUCT(Picked, (orr_entity, from), (uint64_t, value)) // An event.
ORR_STRUCT(Basket, (uint64_t, digest), (uint64_t, count))

enum {
    MODEL_SYSTEMS = 6,
    MODEL_TICKS = 4
};

// OWN: the helpers are threads of the user. WATCHED: a sleep ends after a while, to check whether a
// system is stuck.
typedef struct model_plot {
    const char* name;
    uint32_t workers, ticks;
    orri_sharing sharing;
    void (*between)(orr_world* world, uint32_t tick); // Called after so many ticks; NULL: none.
    enum {
        PLAIN,
        OWN,
        WATCHED
    } kind;
    orr_system_desc systems[MODEL_SYSTEMS]; // Up to the first without a name.
} model_plot;

typedef struct model {
    const model_plot* plot;
    const orr_platform* scheduler; // NULL: the serial run.
    orr_platform table;            // The scheduler's table, with checks of this test.
    orr_world* world;
    uint32_t inside; // Systems in the middle of a row.
    orr_thread threads[4];
    uint32_t thread_count;
    struct {
        void (*help)(void* arg);
        void* arg;
    } calls[4];
} model;

// The model of the running schedule; systems and sched points use no other.
static model* model_now;
static uint64_t model_hashes[MODEL_TICKS]; // Of the serial run.

// ---- the systems --------------------------------------------------------------------------------

// In the middle of a row. Meanwhile no commit point may run: only the thread that drives the world
// runs one, when no system runs.
static void model_pause(void)
{
    model* m = model_now;
    if (m->scheduler != NULL) {
        m->inside++;
        (void)m->table.clock_ns(m->table.user); // Takes some time, so dividing the work pays.
        ORRI_SCHED_POINT(&m->table, ORR_SCHED_LOAD, &m->inside);
        m->inside--;
        controlled_check(m->world->running.in_system, "a commit point runs while a system runs");
    }
}

static uint64_t model_mix(uint64_t value, uint64_t with)
{
    return (value ^ with) * 0x9E3779B97F4A7C15u + (with << 7) + 1;
}

#define MODEL_WRITER(function, type, salt)          \
    static void function(orr_run* run)              \
    {                                               \
        type* rows = orr_write(run, type);          \
        for (uint32_t i = 0; i < run->count; i++) { \
            uint64_t value = rows[i].value;         \
            model_pause();                          \
            rows[i].value = model_mix(value, salt); \
        }                                           \
    }

MODEL_WRITER(apple_grow, Apple, 3)
MODEL_WRITER(apple_ripen, Apple, 5)
MODEL_WRITER(berry_grow, Berry, 7)

// Reads a type that one system writes, and writes a type that another reads.
static void berry_follow(orr_run* run)
{
    const Apple* apple = orr_read(run, Apple);
    Berry* berry = orr_write(run, Berry);
    for (uint32_t i = 0; i < run->count; i++) {
        uint64_t value = apple[i].value;
        model_pause();
        berry[i].value = model_mix(berry[i].value, value);
    }
}

// Sends a value, an event, and a new entity for every other row.
static void apple_send(orr_run* run)
{
    const Apple* apple = orr_read(run, Apple);
    for (uint32_t i = 0; i < run->count; i++) {
        uint64_t value = apple[i].value;
        orr_entity self = orr_iter_entity(run, i);
        model_pause();
        orr_send_event(run, Picked, {self, value});
        orr_send_change(run, self, Apple, {model_mix(value, 11)});
        if ((value & 1) != 0 && run->tick < 2) {
            orr_entity seed = orr_send_create(run);
            orr_send_add(run, seed, Apple, {value >> 3});
        }
    }
}

// Reads another entity by id, while other systems write types that it may not read.
static void berry_look(orr_run* run)
{
    orr_entity other = *(const orr_entity*)orr_run_settings(run);
    Berry* berry = orr_write(run, Berry);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_reader reader = orr_reader_make(run->world, orr_type_of(run->world, ORR_TYPE(Cherry)));
        const Cherry* cherry = orr_get(run->world, other, Cherry);
        model_pause();
        controlled_check(cherry == orr_reader_get(&reader, other),
                         "the reader finds another value");
        berry[i].value = model_mix(berry[i].value, cherry->value);
    }
}

// The order of events is part of the digest.
static void basket_fill(orr_run* run)
{
    Basket* basket = orr_state(run, Basket);
    model_pause();
    uint32_t count = 0;
    const Picked* picked = orr_events(run, Picked, &count);
    for (uint32_t i = 0; i < count; i++) {
        basket->digest = model_mix(basket->digest, picked[i].value);
        basket->count++;
    }
}

// ---- a world ------------------------------------------------------------------------------------

// Each row in its own cluster, so each row is a unit.
static orr_entity model_third; // The same in every world.

static void model_populate(orr_world* world)
{
    (void)orr_type_of(world, ORR_TYPE(Picked));
    orr_entity a = orr_create(world), b = orr_create(world), c = orr_create(world);
    orr_set(world, a, Apple, {1});
    orr_set(world, b, Apple, {2});
    orr_set(world, b, Berry, {20});
    orr_set(world, c, Apple, {3});
    orr_set(world, c, Berry, {30});
    orr_set(world, c, Cherry, {300});
    model_third = c;
}

static void model_log(void* user, const orr_log_line* line)
{
    (void)user;
    controlled_check(false, "%s", line->text);
}

static void model_error(void* user, orr_world* world, const orr_error* error)
{
    (void)user, (void)world;
    controlled_check(false, "%s", error->text);
}

// Without a timeout: a lost wake-up stays lost, and the watch does not make up for it after some
// seconds.
static void model_wait(void* user, void* word, uint32_t expected, uint64_t timeout_ns)
{
    model_now->scheduler->thread_wait(user, word, expected,
                                      model_now->plot->kind == WATCHED ? timeout_ns : UINT64_MAX);
}

// Yields of workers are inside spins, which are scheduling choices already.
static void model_yield(void* user)
{
    (void)user;
}

// Between groups a helper may read the gate, but no plan: the next plan is being made.
static void model_point(void* user, orr_sched_kind kind, const void* word)
{
    model* m = model_now;
    m->scheduler->sched_point(user, kind, word);
    if (controlled_self() == 0 || m->world == NULL || m->world->running.parallel) {
        return;
    }
    const orri_jobs* jobs = orri_parallel_jobs(m->world); // NULL while the world ends.
    const orri_graph* graph = jobs != NULL ? jobs->graph : NULL;
    const char *room = graph != NULL ? (const char*)graph->memory : NULL, *at = word;
    controlled_check(room == NULL || at < room || at >= room + 4096,
                     "a thread reads a plan that no tick runs");
}

static void model_thread(void* arg)
{
    model* m = model_now;
    uint32_t call = (uint32_t)(uintptr_t)arg;
    m->calls[call].help(m->calls[call].arg);
}

static uint32_t model_start(void* user, uint32_t count, void (*help)(void* arg), void* arg)
{
    model* m = user;
    uint32_t started = 0;
    for (; started < count && m->thread_count < ORRI_COUNT(m->threads); started++) {
        uint32_t call = m->thread_count++;
        m->calls[call].help = help;
        m->calls[call].arg = arg;
        m->threads[call] = controlled_start(&m->table, "own", model_thread, (void*)(uintptr_t)call);
    }
    return started;
}

static void model_begin(model* m)
{
    const model_plot* plot = m->plot;
    bool serial = m->scheduler == NULL;
    m->world = NULL;
    m->world = orr_world_create(&(orr_world_desc){
        .platform = serial ? NULL : &m->table,
        .log = {.sink = model_log},
        .on_error = model_error,
        .seed = 5,
        .workers = serial ? 0 : plot->workers,
        .pool = {.user = m, .start = plot->kind == OWN && !serial ? model_start : NULL}});
    controlled_check(m->world != NULL, "no world");
    orr_access_check_set(m->world, ORR_ACCESS_CHECK_CALLS);
    model_populate(m->world);
    for (uint32_t i = 0; i < MODEL_SYSTEMS && plot->systems[i].name != NULL; i++) {
        controlled_check(orr_system_add(m->world, &plot->systems[i]).id != 0, "no system %u", i);
    }
    orr_stats_time_all(m->world, true);
    orri_parallel_share(m->world, plot->sharing, 1);
}

static void model_tick(model* m, uint32_t tick)
{
    orr_result result = orr_step(m->world, 1);
    controlled_check(result == ORR_OK, "tick %u is refused", tick);
    controlled_check(m->inside == 0, "%u systems still run after tick %u", m->inside, tick);
    if (m->plot->between != NULL) {
        m->plot->between(m->world, tick);
    }
}

// Computes the expected hashes of the plot by a serial run.
static void model_serial(const model_plot* plot)
{
    model m = {.plot = plot};
    model_now = &m;
    model_begin(&m);
    for (uint32_t i = 0; i < plot->ticks; i++) {
        model_tick(&m, i);
        model_hashes[i] = orr_world_hash(m.world);
        CHECK(i == 0 || model_hashes[i] != model_hashes[i - 1]);
    }
    CHECK_OK(orr_world_validate(m.world));
    orr_world_destroy(m.world);
}

static void model_body(const orr_platform* platform, void* arg)
{
    model m = {.plot = arg, .scheduler = platform, .table = *platform};
    model_now = &m;
    m.table.sched_point = model_point;
    m.table.thread_wait = model_wait;
    m.table.thread_yield = model_yield;
    model_begin(&m);
    for (uint32_t i = 0; i < m.plot->ticks; i++) {
        model_tick(&m, i);
        uint64_t hash = orr_world_hash(m.world);
        controlled_check(hash == model_hashes[i], "tick %u differs from the serial run", i);
        // Takes time, so a late thread shows: a switch at a yield is no preemption.
        platform->thread_yield(platform->user);
    }
    orr_world_destroy(m.world);
    m.world = NULL;
    for (uint32_t i = 0; i < m.thread_count; i++) {
        platform->thread_join(platform->user, m.threads[i]);
    }
}

// ---- the plots ----------------------------------------------------------------------------------

#define GROW_APPLE                                                                        \
    {                                                                                     \
        .name = "grow_apple", .query = "write Apple", .parallel = true, .run = apple_grow \
    }
#define GROW_BERRY                                                                        \
    {                                                                                     \
        .name = "grow_berry", .query = "write Berry", .parallel = true, .run = berry_grow \
    }
#define RIPEN                                                                         \
    {                                                                                 \
        .name = "ripen", .query = "write Apple", .parallel = true, .run = apple_ripen \
    }
#define FOLLOW                                                                                 \
    {                                                                                          \
        .name = "follow", .query = "Apple, write Berry", .parallel = true, .run = berry_follow \
    }
#define SEND                                                                    \
    {                                                                           \
        .name = "send", .query = "Apple", .parallel = true, .creates = "Apple", \
        .changes = "Apple", .sends = "Picked", .run = apple_send                \
    }
#define FILL                                                                                   \
    {                                                                                          \
        .name = "fill", .kind = ORR_INDIRECT, .receives = "Picked", .state = ORR_TYPE(Basket), \
        .run = basket_fill                                                                     \
    }

// Runs only on the thread that drives the world, after a system without that limit.
#define HERE                                                                            \
    {                                                                                   \
        .name = "here", .query = "write Apple", .main_thread = true, .run = apple_ripen \
    }

static void between_plans(orr_world* world, uint32_t tick)
{
    orr_system ripen = orr_system_find(world, "ripen");
    switch (tick) {
    case 0:
        (void)orr_system_add(world, &(orr_system_desc)RIPEN);
        (void)orr_system_enable(world, orr_system_find(world, "grow_apple"), false);
        break;
    case 1:
        (void)orr_system_remove(world, ripen);
        (void)orr_system_enable(world, orr_system_find(world, "grow_apple"), true);
        break;
    }
}

// Two systems that shared nothing conflict in a new cluster.
static void between_clusters(orr_world* world, uint32_t tick)
{
    if (tick == 0) {
        orr_entity both = orr_create(world);
        orr_set(world, both, Apple, {4});
        orr_set(world, both, Cherry, {400});
    }
}

#define CONFLICT_LATER                                                          \
    {                                                                           \
        {.name = "grow", .query = "write Apple, Cherry", .run = apple_grow},    \
        {                                                                       \
            .name = "ripen", .query = "write Apple, !Berry", .run = apple_ripen \
        }                                                                       \
    }

#define LOOK                                                                         \
    {                                                                                \
        .name = "look", .query = "write Berry", .by_id = "Cherry", .parallel = true, \
        .settings = &model_third, .run = berry_look                                  \
    }

// Workers mostly use AUTO, with systems that seem to take long: everything is split and tiled,
// nothing is batched.
// clang-format off
static const model_plot plots[] = {
    {"beside", 2, 2, ORRI_SHARE_NOTHING, NULL, PLAIN, {GROW_APPLE, GROW_BERRY, FOLLOW}},
    {"split", 2, 3, ORRI_SHARE_AUTO, NULL, PLAIN, {GROW_APPLE}},
    {"split and beside", 2, 2, ORRI_SHARE_AUTO, NULL, PLAIN, {GROW_APPLE, GROW_BERRY}},
    {"tiled", 2, 2, ORRI_SHARE_ALL, NULL, PLAIN, {GROW_APPLE, RIPEN, FOLLOW}},
    {"sent", 2, 3, ORRI_SHARE_AUTO, NULL, PLAIN, {SEND, FILL, GROW_APPLE}},
    {"by chance", 2, 3, ORRI_SHARE_RANDOM, NULL, PLAIN, {GROW_APPLE, GROW_BERRY, SEND, FILL, FOLLOW}},
    {"by id", 2, 2, ORRI_SHARE_NOTHING, NULL, PLAIN, {GROW_APPLE, LOOK}},
    {"for the caller", 2, 3, ORRI_SHARE_AUTO, NULL, PLAIN, {GROW_APPLE, HERE, GROW_BERRY}},
    {"plans", 2, 4, ORRI_SHARE_AUTO, between_plans, PLAIN, {GROW_APPLE, GROW_BERRY}},
    {"clusters", 2, 3, ORRI_SHARE_NOTHING, between_clusters, PLAIN, CONFLICT_LATER},
    {"own threads", 2, 3, ORRI_SHARE_AUTO, NULL, OWN, {GROW_APPLE, FOLLOW}},
    {"watched", 2, 2, ORRI_SHARE_AUTO, NULL, WATCHED, {GROW_APPLE, GROW_BERRY}},
    {"three: beside", 3, 2, ORRI_SHARE_NOTHING, NULL, PLAIN, {GROW_APPLE, GROW_BERRY, FOLLOW}},
    {"three: split", 3, 2, ORRI_SHARE_AUTO, NULL, PLAIN, {GROW_APPLE, RIPEN}},
    {"three: by chance", 3, 3, ORRI_SHARE_RANDOM, between_plans, PLAIN, {GROW_APPLE, SEND, FILL, FOLLOW}},
    {"three: own threads", 3, 2, ORRI_SHARE_AUTO, NULL, OWN, {GROW_APPLE, GROW_BERRY}},
};
// clang-format on

// `--long` runs about two million schedules of all plots, besides the ten million of the model of
// the worker pool.
static uint64_t model_share(uint64_t fast, uint64_t slow, uint64_t most)
{
    return test_long() && !test_slow() ? most : test_slow() ? slow : fast;
}

// At most `schedules` of each plot; 0 preemptions: random priorities.
static uint64_t model_explore(uint32_t preemptions, uint64_t schedules)
{
    uint64_t all = 0;
    controlled_thread_local(&orri_this_thread, sizeof orri_this_thread);
    controlled_thread_local(&orri_refused_last, sizeof orri_refused_last);
    for (uint32_t i = 0; i < ORRI_COUNT(plots); i++) {
        model_serial(&plots[i]);
        // One core: with more, workers spin a thousand times before they sleep.
        controlled_result result = controlled_explore(&(controlled_desc){
            .name = plots[i].name,
            .body = model_body,
            .arg = (void*)(uintptr_t)&plots[i],
            .strategy = preemptions > 0 ? CONTROLLED_DEPTH_FIRST : CONTROLLED_PRIORITIES,
            .preemptions_max = preemptions,
            .timeouts_max = plots[i].kind == WATCHED ? 2 : 0,
            .cores = 1,
            .clock_step_ns = 100000,
            .schedules_max = schedules});
        CONTROLLED_PASS(result);
        printf("  %-28s %8" PRIu64 " schedules, %8" PRIu64 " distinct%s\n", plots[i].name,
               result.schedules, result.distinct, result.exhausted ? ", exhaustive" : "");
        // There would be few schedules if workers had nothing to do.
        CHECK(result.distinct >= model_share(500, 20, 500));
        all += result.schedules;
    }
    return all;
}

// Few schedules, to find faults early; for most plots these are all there are.
ORR_TEST(parallel_run_in_schedules_of_one_preemption_is_the_serial_run)
{
    uint64_t all = model_explore(1, model_share(3000, 100, 100000));
    CHECK(all >= model_share(20000, 1000, 250000));
}

ORR_TEST(parallel_run_in_schedules_of_two_preemptions_is_the_serial_run)
{
    uint64_t all = model_explore(2, model_share(3000, 100, 100000));
    CHECK(all >= model_share(40000, 1000, 900000));
}

ORR_TEST(parallel_run_with_random_priorities_is_the_serial_run)
{
    uint64_t all = model_explore(0, model_share(3000, 100, 50000));
    CHECK(all >= model_share(40000, 1000, 500000));
}
