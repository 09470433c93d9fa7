// SPDX-License-Identifier: MIT
// Workers in trouble: without memory; with a pool of the program that calls never, too rarely or
// too often; with systems that do not return; with calls that would read what others write. The
// world continues with the hashes of the serial run, and reports each problem once.
#include "jobs/jobs_detail.h"
#include "schedule/system_kit.h"
#include "schedule/tick/overlap_kit.h"

#include <errno.h>
#include <stdlib.h>

#define ROWS 9000u
#define MS   UINT64_C(1000000)

// ---- a platform and an allocator that can fail, and a log that is counted -----------------------

typedef struct faulty {
    orr_platform table;
    size_t from, to;   // Requests of these sizes are refused.
    uint64_t ahead_ns; // The clock is ahead by this time.
    bool no_threads;
    _Atomic uint32_t fewer, stuck, missing, unasked, errors;
    char text[512]; // The last of these lines.
    char error[512];
} faulty;

static faulty* faulty_now; // Of the running test: an allocator has no user pointer.

static void* faulty_alloc(void* user, size_t size, size_t align)
{
    faulty* s = user;
    if (size >= s->from && size < s->to) {
        return NULL;
    }
    return aligned_alloc(align < 16 ? 16 : align, (size + 63) & ~(size_t)63);
}

static void faulty_free(void* user, void* ptr, size_t size, size_t align)
{
    (void)user, (void)size, (void)align;
    free(ptr);
}

static uint64_t faulty_clock(void* user)
{
    return orr_platform_default()->clock_ns(NULL) + ((faulty*)user)->ahead_ns;
}

static int faulty_create(void* user, const char* name, void (*run)(void* arg), void* arg,
                         orr_thread* out)
{
    return ((faulty*)user)->no_threads
               ? ENOTSUP
               : orr_platform_default()->thread_create(NULL, name, run, arg, out);
}

static void faulty_line(void* user, const orr_log_line* line)
{
    faulty* s = user;
    _Atomic uint32_t* count = line->id == ORR_LOG_ID_WORKERS_FEWER              ? &s->fewer
                              : line->id == ORR_LOG_ID_EXTERNAL_WORKERS_MISSING ? &s->missing
                              : line->id == ORR_LOG_ID_EXTERNAL_CALL_UNEXPECTED ? &s->unasked
                                                                                : NULL;
    // On a busy machine a quick system may be interrupted so long that it is named, too.
    if (line->id == ORR_LOG_ID_SYSTEM_STUCK && strstr(line->text, "'endless") != NULL) {
        count = &s->stuck;
    }
    if (count != NULL) {
        snprintf(s->text, sizeof s->text, "%s", line->text);
        atomic_fetch_add(count, 1);
    }
}

static void faulty_error(void* user, orr_world* world, const orr_error* error)
{
    (void)world;
    faulty* s = user;
    snprintf(s->error, sizeof s->error, "%s", error->text);
    atomic_fetch_add(&s->errors, 1);
}

static void faulty_init(faulty* s)
{
    *s = (faulty){.table = *orr_platform_default()};
    s->table.user = s;
    s->table.clock_ns = faulty_clock;
    s->table.thread_create = faulty_create;
    faulty_now = s;
}

static void need_threads(void)
{
    orr_thread thread;
    const orr_platform* platform = orr_platform_default();
    if (platform->thread_create(NULL, "any", (void (*)(void*))free, NULL, &thread) != 0) {
        test_skip("built without threads");
    }
    platform->thread_join(NULL, thread);
}

// ---- a small world with work for several workers ------------------------------------------------

static void move(orr_run* run)
{
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x = p[i].x * 0.5f + (float)i;
    }
}

static void heal(orr_run* run)
{
    Health* h = orr_write(run, Health);
    for (uint32_t i = 0; i < run->count; i++) {
        h[i].value += (int32_t)(run->tick + i);
    }
}

static orr_world* small_begin(faulty* s, const orr_world_desc* desc)
{
    orr_world_desc full = *desc;
    full.platform = &s->table;
    full.allocator = (orr_allocator){.user = s, .alloc = faulty_alloc, .free = faulty_free};
    full.log = (orr_log_desc){.level = ORR_LOG_WARNING, .sink = faulty_line, .user = s};
    full.on_error = faulty_error;
    full.on_error_user = s;
    orr_world* world = orr_world_create(&full);
    CHECK(world != NULL);
    ORR_REGISTER(world, Position, Velocity, Health);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position, Health), ROWS, NULL, 0, NULL));
    KIT_SYSTEM(world, .name = "move", .query = "write Position", .parallel = true, .run = move);
    KIT_SYSTEM(world, .name = "heal", .query = "write Health", .parallel = true, .run = heal);
    return world;
}

static uint64_t small_expect(uint32_t ticks)
{
    faulty s;
    faulty_init(&s);
    orr_world* world = small_begin(&s, &(orr_world_desc){0});
    KIT_STEP(world, ticks);
    uint64_t hash = orr_world_hash(world);
    orr_world_destroy(world);
    return hash;
}

static void small_end(orr_world* world, uint32_t ticks)
{
    CHECK_EQ(orr_world_tick(world), ticks);
    CHECK_EQ(orr_world_hash(world), small_expect(ticks));
    CHECK_OK(orr_world_validate(world));
    orr_world_destroy(world);
}

// ---- no memory ----------------------------------------------------------------------------------

ORR_TEST(workers_without_memory_are_reported_once_and_start_when_there_is_some)
{
    need_threads();
    faulty s;
    faulty_init(&s);
    orr_world* world = small_begin(&s, &(orr_world_desc){.workers = 7});
    s.from = 7 * sizeof(orri_jobs_worker);
    s.to = s.from + 1;
    KIT_STEP(world, 30);
    CHECK_EQ(orr_worker_count(world), 1);
    CHECK_EQ(s.fewer, 1);
    CHECK_CONTAINS(s.text, "tick 1: 7 workers were requested and there is no memory for them");
    s.from = s.to = 0;
    KIT_STEP(world, 10);
    CHECK_EQ(orr_worker_count(world), 7);
    CHECK_EQ(s.fewer, 1);
    CHECK_EQ(s.errors, 0);
    small_end(world, 40);
}

// No memory for more systems than before: reported once, and again after memory was available in
// between.
ORR_TEST(workers_without_memory_for_a_larger_plan_are_reported_once_each_time)
{
    need_threads();
    faulty s;
    faulty_init(&s);
    orr_world* world = small_begin(&s, &(orr_world_desc){.workers = 3});
    orri_parallel_share(world, ORRI_SHARE_NOTHING, 0);
    KIT_STEP(world, 10);
    uint32_t ticks = 10;
    for (uint32_t round = 1; round <= 2; round++) {
        for (uint32_t i = 0; i < 64 * round; i++) {
            char name[20];
            snprintf(name, sizeof name, "idle_%u_%u", round, i);
            KIT_SYSTEM(world, .name = name, .once = true, .run = kit_run_nothing);
        }
        uint32_t capacity = 128 * round;
        s.from = (size_t)capacity * 3 * 64; // The memory of nodes.
        s.to = s.from + 30000;
        KIT_STEP(world, 10);
        CHECK_EQ(s.fewer, round);
        CHECK_CONTAINS(s.text, "no memory for what they need to share this work");
        s.from = s.to = 0;
        KIT_STEP(world, 10);
        CHECK_EQ(s.fewer, round);
        ticks += 20;
    }
    CHECK_EQ(s.errors, 0);
    CHECK_EQ(orr_world_tick(world), ticks);
    orr_world_destroy(world);
}

ORR_TEST(workers_above_the_maximum_are_reported_once_with_both_numbers)
{
    faulty s;
    faulty_init(&s);
    s.no_threads = true;
    orr_world* world = small_begin(&s, &(orr_world_desc){.workers = 9});
    KIT_STEP(world, 20);
    CHECK_EQ(s.fewer, 1);
    CHECK_CONTAINS(s.text, "workers requested: 9, available: 1");
    small_end(world, 20);

    need_threads();
    faulty_init(&s);
    world = small_begin(&s, &(orr_world_desc){.workers = 1000});
    KIT_STEP(world, 20);
    CHECK_EQ(s.fewer, 1);
    CHECK_CONTAINS(s.text, "workers requested: 1000, limit: 64");
    small_end(world, 20);
}

// ---- a pool that calls never or too often -------------------------------------------------------

typedef struct odd_pool {
    uint32_t promise; // At most this many of the calls it is asked for.
    uint32_t asked;
    uint32_t extra; // Additional calls beyond the promise, each on a thread that ends at once.
    bool calls;
    void (*help)(void* arg);
    void* args[4]; // Of the last worlds.
    uint32_t arg_count;
    orr_thread threads[4096];
    uint32_t thread_count;
} odd_pool;

static void odd_thread(odd_pool* pool, void* arg)
{
    CHECK(pool->thread_count < ORRI_COUNT(pool->threads));
    CHECK_EQ(orr_platform_default()->thread_create(NULL, "odd", pool->help, arg,
                                                   &pool->threads[pool->thread_count++]),
             0);
}

static uint32_t odd_start(void* user, uint32_t count, void (*help)(void* arg), void* arg)
{
    odd_pool* pool = user;
    uint32_t promise = count < pool->promise ? count : pool->promise;
    pool->help = help;
    if (pool->arg_count == 0 || pool->args[pool->arg_count - 1] != arg) {
        CHECK(pool->arg_count < ORRI_COUNT(pool->args));
        pool->args[pool->arg_count++] = arg;
    }
    pool->asked += promise;
    for (uint32_t i = 0; pool->calls && i < promise + pool->extra; i++) {
        odd_thread(pool, arg);
    }
    return promise;
}

static void odd_join(odd_pool* pool)
{
    for (uint32_t i = 0; i < pool->thread_count; i++) {
        orr_platform_default()->thread_join(NULL, pool->threads[i]);
    }
    pool->thread_count = 0;
}

static odd_pool odd;

static orr_world* odd_begin(faulty* s, odd_pool pool, uint32_t workers)
{
    odd = pool;
    faulty_init(s);
    orr_world* world = small_begin(
        s, &(orr_world_desc){.workers = workers, .pool = {.user = &odd, .start = odd_start}});
    orri_parallel_share(world, ORRI_SHARE_ALL, 0);
    return world;
}

ORR_TEST(pool_that_never_calls_is_reported_once_after_some_time_and_ticks_continue)
{
    for (uint32_t promise = 0; promise <= 3; promise += 3) {
        faulty s;
        orr_world* world = odd_begin(&s, (odd_pool){.promise = promise}, 4);
        KIT_STEP(world, 100);
        CHECK_EQ(s.missing, 0); // The pool may be slow.
        s.ahead_ns = 2000 * MS;
        KIT_STEP(world, 50);
        CHECK_EQ(s.missing, 1);
        char text[128];
        snprintf(text, sizeof text, "promised %u calls of help() and made none", promise);
        CHECK_CONTAINS(s.text, text);
        s.ahead_ns = 9000 * MS;
        KIT_STEP(world, 50);
        CHECK_EQ(s.missing, 1);
        CHECK_EQ(odd.asked, promise); // Promised calls are not requested again.
        small_end(world, 200);
        for (uint32_t i = 0; i < promise; i++) {
            odd.help(odd.args[0]);
        }
    }
}

ORR_TEST(pool_that_gets_few_requests_is_not_reported)
{
    faulty s;
    orr_world* world = odd_begin(&s, (odd_pool){.promise = 0}, 4);
    for (uint32_t i = 0; i < 20; i++) {
        s.ahead_ns += 2000 * MS;
        KIT_STEP(world, 1);
    }
    CHECK_EQ(s.missing, 0);
    small_end(world, 20);
}

// One of three calls comes; the others never.
ORR_TEST(pool_that_calls_less_than_promised_is_not_waited_for)
{
    need_threads();
    faulty s;
    orr_world* world = odd_begin(&s, (odd_pool){.promise = 3}, 4);
    KIT_STEP(world, 1);
    odd_thread(&odd, odd.args[0]);
    odd_join(&odd);
    s.ahead_ns = 2000 * MS;
    KIT_STEP(world, 199);
    CHECK_EQ(s.missing, 0); // There was one call.
    CHECK_EQ(odd.asked, 4); // Another call was requested in its place.
    small_end(world, 200);
    CHECK_EQ(s.unasked, 0);
}

ORR_TEST(pool_that_calls_more_than_promised_is_reported_once_and_harmless)
{
    need_threads();
    for (uint32_t promise = 0; promise <= 3; promise++) {
        faulty s;
        orr_world* world =
            odd_begin(&s, (odd_pool){.promise = promise, .calls = true, .extra = 3}, 4);
        for (uint32_t i = 0; i < 50; i++) {
            KIT_STEP(world, 1);
            odd_join(&odd);
        }
        odd.help(odd.args[0]); // Between ticks.
        odd.help(odd.args[0]);
        CHECK_EQ(s.unasked, 1);
        CHECK_CONTAINS(s.text, "more often than requested or promised by start()");
        small_end(world, 50);
    }
}

static uint32_t overpromise_start(void* user, uint32_t count, void (*help)(void* arg), void* arg)
{
    return odd_start(user, count, help, arg) + 100;
}

ORR_TEST(pool_that_promises_more_than_asked_owes_no_more)
{
    need_threads();
    faulty s;
    faulty_init(&s);
    odd = (odd_pool){.promise = 3, .calls = true};
    orr_world* world = small_begin(
        &s, &(orr_world_desc){.workers = 4, .pool = {.user = &odd, .start = overpromise_start}});
    orri_parallel_share(world, ORRI_SHARE_ALL, 0);
    KIT_STEP(world, 50);
    small_end(world, 50);
    odd_join(&odd);
}

// The memory is freed, and the place belongs to another world: a sanitizer would find an access to
// either.
ORR_TEST(pool_that_calls_after_the_world_ended_finds_no_work)
{
    faulty s, t;
    orr_world* first = odd_begin(&s, (odd_pool){.promise = 0}, 4);
    KIT_STEP(first, 3);
    orr_world_destroy(first);
    odd.help(odd.args[0]);
    CHECK_EQ(s.unasked, 0); // No world is left to report it.

    odd_pool kept = odd;
    orr_world* second = odd_begin(&t, kept, 4);
    KIT_STEP(second, 3);
    CHECK_EQ(odd.arg_count, 2);
    CHECK(odd.args[0] != odd.args[1]);
    for (uint32_t i = 0; i < 5; i++) {
        odd.help(odd.args[0]);
    }
    CHECK_EQ(t.unasked, 0);
    odd.help(odd.args[1]);
    CHECK_EQ(t.unasked, 1);
    small_end(second, 3);
    odd.help(odd.args[0]);
    odd.help(odd.args[1]);
}

// Two worlds with one pool, stepped in turn and at the same time.
static void step_world(void* arg)
{
    KIT_STEP((orr_world*)arg, 40);
}

ORR_TEST(pool_of_two_worlds_serves_both)
{
    need_threads();
    uint64_t hash = small_expect(80);
    static odd_pool pools[2];
    faulty s;
    faulty_init(&s);
    orr_world* worlds[2];
    orr_thread threads[2];
    for (uint32_t i = 0; i < 2; i++) {
        pools[i] =
            (odd_pool){.promise = 2, .calls = true}; // For counting; the world sees no difference.
        worlds[i] = small_begin(
            &s, &(orr_world_desc){.workers = 3, .pool = {.user = &pools[i], .start = odd_start}});
        orri_parallel_share(worlds[i], ORRI_SHARE_ALL, 0);
    }
    for (uint32_t i = 0; i < 2; i++) {
        KIT_STEP(worlds[i], 40);
    }
    // Also from another thread than the creating one.
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_EQ(orr_platform_default()->thread_create(NULL, "steps", step_world, worlds[i],
                                                       &threads[i]),
                 0);
    }
    for (uint32_t i = 0; i < 2; i++) {
        orr_platform_default()->thread_join(NULL, threads[i]);
        CHECK_EQ(orr_world_hash(worlds[i]), hash);
        orr_world_destroy(worlds[i]);
        odd_join(&pools[i]);
    }
    CHECK_EQ(s.unasked + s.errors + s.missing, 0);
}

// ---- a system that does not return --------------------------------------------------------------

// In the test it returns when it was noticed.
static void stuck_wait(orr_run* run)
{
    (void)run;
    while (atomic_load(&faulty_now->stuck) < *(uint32_t*)orr_run_user(run)) {
        orr_platform_default()->thread_yield(NULL);
    }
}

// So many that no worker is left.
static uint64_t stuck_run(uint32_t workers, uint32_t stuck, bool own, orr_access_check audit)
{
    faulty s;
    faulty_init(&s);
    odd = (odd_pool){.promise = 3, .calls = true};
    orr_world* world =
        small_begin(&s, &(orr_world_desc){.workers = workers,
                                          .stuck_ns = 5 * MS,
                                          .pool = {.user = &odd, .start = own ? odd_start : NULL}});
    orr_access_check_set(world, audit);
    orri_parallel_share(world, ORRI_SHARE_NOTHING, 0);
    uint32_t until[2] = {stuck, stuck}; // Two `user` pointers: systems with one never overlap.
    for (uint32_t i = 0; i < stuck; i++) {
        KIT_SYSTEM(world, .name = i == 0 ? "endless" : "endless_too", .once = true,
                   .by_id = "Velocity", .user = &until[i], .run = stuck_wait);
    }
    for (uint32_t i = 1; i <= 2; i++) {
        KIT_STEP(world, 1);
        CHECK_EQ(s.stuck, stuck * i);
        CHECK_CONTAINS(s.text, "system 'endless");
        CHECK_CONTAINS(s.text, "has been running for");
        until[0] += stuck;
        until[1] += stuck;
    }
    uint64_t hash = orr_world_hash(world);
    orr_world_destroy(world);
    odd_join(&odd);
    return hash;
}

ORR_TEST(stuck_system_is_named_also_when_no_worker_is_left)
{
    need_threads();
    uint64_t hash = stuck_run(0, 1, false, ORR_ACCESS_CHECK_CALLS);
    for (uint32_t at = 0; at < 12; at++) {
        orr_access_check audit = at < 6 ? ORR_ACCESS_CHECK_CALLS : ORR_ACCESS_CHECK_FULL;
        CHECK_EQ(stuck_run(at / 2 % 3, 1, at % 2, audit), hash);
    }
    CHECK_EQ(stuck_run(2, 2, false, ORR_ACCESS_CHECK_CALLS),
             stuck_run(2, 2, true, ORR_ACCESS_CHECK_CALLS));
}

static void dawdle(orr_run* run)
{
    (void)run;
    orr_platform_default()->sleep_ns(NULL, 3 * MS);
}

ORR_TEST(slow_system_without_threads_is_named_when_it_returns)
{
    for (uint32_t workers = 0; workers <= 2; workers++) {
        faulty s;
        faulty_init(&s);
        s.no_threads = true;
        orr_world* world =
            small_begin(&s, &(orr_world_desc){.workers = workers, .stuck_ns = 1 * MS});
        KIT_SYSTEM(world, .name = "endless", .once = true, .run = dawdle);
        for (uint32_t i = 1; i <= 5; i++) {
            KIT_STEP(world, 1);
            CHECK_EQ(s.stuck, i);
            CHECK_CONTAINS(s.text, "system 'endless' took 0.0");
        }
        orr_world_destroy(world);
    }
}

// By default no thread is created, and only timed ticks are checked.
ORR_TEST(slow_system_is_named_by_default_in_timed_ticks)
{
    faulty s;
    faulty_init(&s);
    orr_world* world = small_begin(&s, &(orr_world_desc){0});
    KIT_SYSTEM(world, .name = "endless", .once = true, .run = dawdle);
    KIT_STEP(world, 5);
    CHECK_EQ(s.stuck, 0);
    CHECK_EQ(kit_stats(world, orr_system_find(world, "endless")).timed_ticks, 1);
    orr_world_destroy(world);
}

// ---- whole worlds are not read while systems run ------------------------------------------------

typedef struct reading {
    bool from_handler;
    _Atomic uint32_t refused;
} reading;

static reading reads;

static void read_all(orr_world* world)
{
    uint32_t refused = orr_world_validate(world) == ORR_ERR_STATE;
    refused += orr_world_hash(world) == 0;
    atomic_fetch_add(&reads.refused, refused);
}

static void read_on_error(void* user, orr_world* world, const orr_error* error)
{
    (void)user;
    if (strstr(error->text, "orr_world_") == NULL && reads.from_handler) {
        read_all(world);
    }
}

static void read_inside(orr_run* run)
{
    if (!reads.from_handler) {
        read_all(run->world);
        return;
    }
    // Refused: the system declares nothing.
    (void)orr_get(run->world, orr_iter_entity(run, 0), Health);
}

ORR_TEST(whole_world_calls_inside_systems_or_their_error_handlers_are_refused)
{
    static const uint32_t counts[] = {0, 1, 2, 8};
    for (uint32_t at = 0; at < 16; at++) {
        reads = (reading){.from_handler = at / 4 % 2};
        bool checked = at < 8;
        orr_world* world = orr_world_create(&(orr_world_desc){
            .workers = counts[at % 4], .on_error = read_on_error, .log = {.level = ORR_LOG_OFF}});
        ORR_REGISTER(world, Position, Velocity, Health);
        orr_access_check_set(world, checked ? ORR_ACCESS_CHECK_CALLS : ORR_ACCESS_CHECK_OFF);
        orri_parallel_share(world, ORRI_SHARE_NOTHING, 0);
        CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), ROWS, NULL, 0, NULL));
        orr_entity one = orr_create(world);
        CHECK_OK(orr_set(world, one, Velocity, {0}));
        KIT_SYSTEM(world, .name = "reads", .query = "Velocity", .run = read_inside);
        KIT_SYSTEM(world, .name = "beside", .query = "write Position", .parallel = true,
                   .run = move);
        bool refused = checked || !reads.from_handler;
        KIT_STEP_RESULT(world, 5, refused ? ORR_ERR_STATE : ORR_OK);
        CHECK_EQ(reads.refused, refused ? 10 : 0);
        CHECK_OK(orr_world_validate(world));
        orr_world_destroy(world);
    }
}
