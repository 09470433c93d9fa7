// SPDX-License-Identifier: MIT
// Counted memory: counts, refusals, and exact totals with several threads. Also the allocator that
// other tests use to refuse memory.
#include "../test.h"

#include "../support/failing_alloc.h"
#include "../support/fake_platform.h"
#include "base/env.h"
#include <errno.h>

static void env_with(orri_env* env, failing_alloc* memory, uint64_t bytes_max)
{
    orr_allocator allocator = failing_alloc_allocator(memory);
    orri_env_init(env, NULL, &allocator, bytes_max, NULL);
}

static orr_memory_stats stats_of(const orri_env* env)
{
    orr_memory_stats stats;
    memset(&stats, 0xEE, sizeof stats);
    orri_mem_stats(env, &stats);
    return stats;
}

ORR_TEST(mem_blocks_are_counted_by_purpose_and_in_total) /* N3-11 */
{
    failing_alloc memory = {0};
    orri_env env;
    env_with(&env, &memory, 0);
    void* a = orri_alloc(&env, ORR_MEMORY_SCHEMA, 100, 8);
    void* b = orri_alloc(&env, ORR_MEMORY_COLUMN, 64, 64);
    void* c = orri_alloc(&env, ORR_MEMORY_COLUMN, 36, 4);
    CHECK(a != NULL && b != NULL && c != NULL);
    CHECK_EQ((uintptr_t)b % 64, 0);
    orr_memory_stats stats = stats_of(&env);
    CHECK_EQ(stats.total.bytes, 200);
    CHECK_EQ(stats.total.blocks, 3);
    CHECK_EQ(stats.by_purpose[ORR_MEMORY_SCHEMA].bytes, 100);
    CHECK_EQ(stats.by_purpose[ORR_MEMORY_COLUMN].bytes, 100);
    CHECK_EQ(stats.by_purpose[ORR_MEMORY_COLUMN].blocks, 2);
    CHECK_EQ(stats.by_purpose[ORR_MEMORY_BLOB].bytes, 0);
    CHECK_EQ(stats.bytes_max, 0);
    CHECK_EQ(memory.live_bytes, 200);

    orri_free(&env, ORR_MEMORY_COLUMN, b, 64, 64);
    void* d = orri_alloc(&env, ORR_MEMORY_SCHEMA, 10, 1);
    stats = stats_of(&env);
    CHECK_EQ(stats.total.bytes, 146);
    CHECK_EQ(stats.total.bytes_peak, 200);
    CHECK_EQ(stats.by_purpose[ORR_MEMORY_COLUMN].bytes, 36);
    CHECK_EQ(stats.by_purpose[ORR_MEMORY_COLUMN].bytes_peak, 100);
    CHECK_EQ(stats.by_purpose[ORR_MEMORY_SCHEMA].bytes_peak, 110);

    orri_free(&env, ORR_MEMORY_SCHEMA, a, 100, 8);
    orri_free(&env, ORR_MEMORY_COLUMN, c, 36, 4);
    orri_free(&env, ORR_MEMORY_SCHEMA, d, 10, 1);
    stats = stats_of(&env);
    CHECK_EQ(stats.total.bytes, 0);
    CHECK_EQ(stats.total.blocks, 0);
    CHECK_EQ(stats.total.bytes_peak, 200);
    failing_alloc_check(&memory);
}

ORR_TEST(mem_refused_by_the_allocator_counts_nothing)
{
    failing_alloc memory = {.fail_at = 1};
    orri_env env;
    env_with(&env, &memory, 0);
    CHECK(orri_alloc(&env, ORR_MEMORY_WORLD, 1000, 16) == NULL);
    CHECK(memory.refused == 1);
    orr_memory_stats stats = stats_of(&env);
    CHECK_EQ(stats.total.bytes, 0);
    CHECK_EQ(stats.total.bytes_peak, 0);
    CHECK_EQ(stats.total.blocks, 0);
    CHECK_EQ(stats.by_purpose[ORR_MEMORY_WORLD].bytes_peak, 0);
    CHECK(orri_alloc_zero(&env, ORR_MEMORY_WORLD, SIZE_MAX, 1) == NULL);
    CHECK_EQ(memory.requests, 1);
}

ORR_TEST(mem_limit_is_reached_exactly_and_never_exceeded) /* N3-11 */
{
    failing_alloc memory = {0};
    orri_env env;
    env_with(&env, &memory, 100);
    CHECK(orri_alloc(&env, ORR_MEMORY_WORLD, 101, 1) == NULL);
    void* a = orri_alloc(&env, ORR_MEMORY_WORLD, 60, 1);
    CHECK(a != NULL);
    CHECK(orri_alloc(&env, ORR_MEMORY_BLOB, 41, 1) == NULL);
    void* b = orri_alloc(&env, ORR_MEMORY_BLOB, 40, 1);
    CHECK(b != NULL);
    CHECK(orri_alloc(&env, ORR_MEMORY_BLOB, 1, 1) == NULL);
    CHECK_EQ(memory.requests, 2);
    orr_memory_stats stats = stats_of(&env);
    CHECK_EQ(stats.total.bytes_peak, 100);
    CHECK_EQ(stats.bytes_max, 100);
    env.bytes_max = 50; // Below the bytes in use: refused until enough is freed.
    orri_free(&env, ORR_MEMORY_BLOB, b, 40, 1);
    CHECK(orri_alloc(&env, ORR_MEMORY_BLOB, 1, 1) == NULL);
    orri_free(&env, ORR_MEMORY_WORLD, a, 60, 1);
    a = orri_alloc(&env, ORR_MEMORY_BLOB, 50, 1);
    CHECK(a != NULL);
    orri_free(&env, ORR_MEMORY_BLOB, a, 50, 1);
    failing_alloc_check(&memory);
}

ORR_TEST(mem_of_no_bytes_is_not_null_and_not_allocated)
{
    failing_alloc memory = {.fail_at = 1, .fail_for_good = true};
    orri_env env;
    env_with(&env, &memory, 1);
    void* a = orri_alloc(&env, ORR_MEMORY_TEMP, 0, 64);
    void* b = orri_alloc_zero(&env, ORR_MEMORY_TEMP, 0, 1);
    CHECK(a != NULL && b != NULL);
    CHECK_EQ((uintptr_t)a % 64, 0);
    orri_free(&env, ORR_MEMORY_TEMP, a, 0, 64);
    orri_free(&env, ORR_MEMORY_TEMP, b, 0, 1);
    orri_free(&env, ORR_MEMORY_TEMP, NULL, 10, 1);
    CHECK_EQ(memory.requests, 0);
    CHECK_EQ(stats_of(&env).total.blocks, 0);
}

ORR_TEST(mem_alloc_zero_is_zero_whatever_the_allocator_returns)
{
    failing_alloc memory = {.fill = true, .fresh_byte = 0xAA, .freed_byte = 0x55};
    orri_env env;
    env_with(&env, &memory, 0);
    uint64_t* words = ORRI_ALLOC_ZERO(&env, ORR_MEMORY_TEMP, uint64_t, 9);
    for (int i = 0; i < 9; i++) {
        CHECK_EQ(words[i], 0);
    }
    ORRI_FREE(&env, ORR_MEMORY_TEMP, uint64_t, words, 9);
    uint8_t* bytes = ORRI_ALLOC(&env, ORR_MEMORY_TEMP, uint8_t, 3);
    CHECK(bytes[0] == 0xAA && bytes[2] == 0xAA);
    ORRI_FREE(&env, ORR_MEMORY_TEMP, uint8_t, bytes, 3);
    failing_alloc_check(&memory);
}

ORR_TEST(mem_size_that_overflows_is_refused)
{
    typedef struct big {
        char bytes[1u << 20];
    } big;
    failing_alloc memory = {0};
    orri_env env;
    env_with(&env, &memory, 0);
    CHECK_EQ(orri_size_mul(3, 5), 15);
    CHECK(orri_size_mul(SIZE_MAX / 2, 3) == SIZE_MAX);
    CHECK(orri_size_mul(0, SIZE_MAX) == 0);
    CHECK(ORRI_ALLOC(&env, ORR_MEMORY_TEMP, big, SIZE_MAX / 2) == NULL);
    CHECK(ORRI_ALLOC(&env, ORR_MEMORY_TEMP, char, SIZE_MAX / 2 + 1) == NULL);
    CHECK_EQ(memory.requests, 0);
    void* data = &memory;
    uint32_t capacity = 3;
    CHECK(!orri_array_reserve(&env, ORR_MEMORY_TEMP, &data, &capacity, 4, SIZE_MAX / 4, 1));
    CHECK(data == &memory && capacity == 3);
}

ORR_TEST(mem_platform_memory_is_used_when_no_allocator_is_given)
{
    orri_env env;
    orri_env_init(&env, NULL, NULL, 0, NULL);
    CHECK(env.allocator.alloc == orr_platform_default()->memory_alloc);
    void* data = orri_alloc(&env, ORR_MEMORY_TEMP, 100, 128);
    CHECK(data != NULL && (uintptr_t)data % 128 == 0);
    memset(data, 1, 100);
    orri_free(&env, ORR_MEMORY_TEMP, data, 100, 128);
    CHECK_EQ(stats_of(&env).total.bytes, 0);
}

// ---- arrays -------------------------------------------------------------------------------------

ORR_TEST(array_grows_by_doubling_and_keeps_its_items)
{
    failing_alloc memory = {.fill = true, .fresh_byte = 0xAA, .freed_byte = 0x55};
    orri_env env;
    env_with(&env, &memory, 0);
    uint32_t* items = NULL;
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        CHECK(ORRI_RESERVE(&env, ORR_MEMORY_WORLD, &items, &capacity, i + 1));
        items[i] = i * 3;
    }
    CHECK_EQ(capacity, 1024);
    CHECK_EQ(memory.requests, 8); // 8, 16 … 1024.
    for (uint32_t i = 0; i < 1000; i++) {
        CHECK_EQ(items[i], i * 3);
    }
    CHECK(ORRI_RESERVE(&env, ORR_MEMORY_WORLD, &items, &capacity, 5000));
    CHECK_EQ(capacity, 5000);
    CHECK_EQ(items[999], 2997);
    CHECK_EQ(stats_of(&env).total.bytes, 20000);
    ORRI_RELEASE(&env, ORR_MEMORY_WORLD, items, capacity);
    failing_alloc_check(&memory);
}

ORR_TEST(array_refused_memory_is_unchanged)
{
    failing_alloc memory = {0};
    orri_env env;
    env_with(&env, &memory, 0);
    uint64_t* items = NULL;
    uint32_t capacity = 0;
    failing_alloc_arm(&memory, 1, false);
    CHECK(!ORRI_RESERVE(&env, ORR_MEMORY_WORLD, &items, &capacity, 1));
    CHECK(items == NULL && capacity == 0);
    CHECK(ORRI_RESERVE(&env, ORR_MEMORY_WORLD, &items, &capacity, 9));
    items[8] = 77;
    const uint64_t* before = items;
    failing_alloc_arm(&memory, 1, true);
    CHECK(!ORRI_RESERVE(&env, ORR_MEMORY_WORLD, &items, &capacity, 10));
    CHECK(!ORRI_RESERVE(&env, ORR_MEMORY_WORLD, &items, &capacity, 20));
    CHECK(items == before && capacity == 9 && items[8] == 77);
    CHECK(ORRI_RESERVE(&env, ORR_MEMORY_WORLD, &items, &capacity, 9));
    CHECK(orri_array_reserve(&env, ORR_MEMORY_WORLD, NULL, &capacity, 9, 8, 8));
    ORRI_RELEASE(&env, ORR_MEMORY_WORLD, items, capacity);
    failing_alloc_check(&memory);
}

static void* nowhere_alloc(void* user, size_t size, size_t align)
{
    (void)align;
    *(size_t*)user = size;
    return NULL;
}

static void nowhere_free(void* user, void* ptr, size_t size, size_t align)
{
    (void)user, (void)ptr, (void)size, (void)align;
}

ORR_TEST(array_capacity_beyond_two_billion_does_not_wrap)
{
    size_t asked = 0;
    orri_env env;
    orri_env_init(&env, NULL, &(orr_allocator){nowhere_alloc, nowhere_free, &asked}, 0, NULL);
    void* data = NULL;
    uint32_t capacity = 3000000000u;
    CHECK(!orri_array_reserve(&env, ORR_MEMORY_TEMP, &data, &capacity, capacity + 1, 2, 1));
    CHECK_EQ(asked, UINT64_C(2) * UINT32_MAX);
    CHECK_EQ(capacity, 3000000000u);
}

// ---- threads ------------------------------------------------------------------------------------

enum {
    THREADS = 4,
    STEPS = 3000,
    LIMIT = 1000
};

typedef struct worker {
    orri_env* env;
    uint32_t index;
    uint32_t refused;
} worker;

static void worker_run(void* data)
{
    worker* self = data;
    void* blocks[8] = {0};
    size_t sizes[8] = {0};
    orr_memory_purpose purposes[8] = {0};
    for (uint64_t step = 0; step < STEPS; step++) {
        uint64_t random = orr_random(1, self->index, step, 0);
        uint32_t slot = random & 7;
        orri_free(self->env, purposes[slot], blocks[slot], sizes[slot], 8);
        sizes[slot] = 1 + (random >> 8) % 300;
        purposes[slot] = (orr_memory_purpose)((random >> 32) % ORR_MEMORY_PURPOSE_COUNT);
        blocks[slot] = orri_alloc(self->env, purposes[slot], sizes[slot], 8);
        self->refused += blocks[slot] == NULL;
    }
    for (int i = 0; i < 8; i++) {
        orri_free(self->env, purposes[i], blocks[i], sizes[i], 8);
    }
}

ORR_TEST(mem_counters_of_many_threads_lose_nothing_and_keep_the_limit) /* N3-11 */
{
    const orr_platform* platform = orr_platform_default();
    orri_env env;
    orri_env_init(&env, NULL, NULL, LIMIT, NULL);
    worker workers[THREADS] = {0};
    orr_thread threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){.env = &env, .index = i};
        if (platform->thread_create(NULL, "mem", worker_run, &workers[i], &threads[i]) == ENOTSUP) {
            test_skip("built without threads");
        }
    }
    uint32_t refused = 0;
    for (int i = 0; i < 100; i++) {
        CHECK(stats_of(&env).total.bytes <= LIMIT); // Readable while they run.
        platform->thread_yield(NULL);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        platform->thread_join(NULL, threads[i]);
        refused += workers[i].refused;
    }
    orr_memory_stats stats = stats_of(&env);
    CHECK(refused > 0);
    CHECK(stats.total.bytes_peak <= LIMIT && stats.total.bytes_peak > LIMIT / 2);
    CHECK_EQ(stats.total.bytes, 0);
    CHECK_EQ(stats.total.blocks, 0);
    for (int i = 0; i < ORR_MEMORY_PURPOSE_COUNT; i++) {
        CHECK_EQ(stats.by_purpose[i].bytes, 0);
        CHECK_EQ(stats.by_purpose[i].blocks, 0);
        CHECK(stats.by_purpose[i].bytes_peak > 0);
    }
}

// ---- mistakes -----------------------------------------------------------------------------------

#ifndef ORR_NO_ASSERT
static int asserts_failed;

static void assert_count(const char* condition, const char* file, int line, const char* function)
{
    (void)condition, (void)file, (void)line, (void)function;
    asserts_failed++;
}

ORR_TEST(mem_mistakes_of_the_caller_assert)
{
    orri_env env;
    orri_env_init(&env, NULL, NULL, 0, NULL);
    orr_assert_handler before = orr_assert_handler_set(assert_count);
    asserts_failed = 0;
    void* data = orri_alloc(&env, ORR_MEMORY_TEMP, 0, 0);
    int after_align = asserts_failed;
    data = orri_alloc(&env, ORR_MEMORY_TEMP, 8, 8);
    orri_free(&env, ORR_MEMORY_WORLD, data, 8, 8); // Counted under another purpose.
    orr_assert_handler_set(before);
    CHECK_EQ(after_align, 1);
    CHECK_EQ(asserts_failed, 2);
}
#endif

ORR_TEST(failing_alloc_refuses_the_nth_request_once_or_permanently)
{
    failing_alloc memory = {0};
    orr_allocator allocator = failing_alloc_allocator(&memory);
    for (int good = 0; good < 2; good++) {
        failing_alloc_arm(&memory, 2, good);
        void* a = allocator.alloc(allocator.user, 1, 1);
        void* b = allocator.alloc(allocator.user, 1, 1);
        void* c = allocator.alloc(allocator.user, 1, 1);
        CHECK(a != NULL && b == NULL && (c == NULL) == good);
        CHECK_EQ(memory.refused, 1 + good);
        CHECK_EQ(memory.requests, 3);
        failing_alloc_reset(&memory);
        failing_alloc_check(&memory);
    }
}

ORR_TEST(failing_alloc_reports_wrong_sizes_overruns_and_leaks)
{
    failing_alloc memory = {.quiet = true};
    orr_allocator allocator = failing_alloc_allocator(&memory);
    unsigned char* a = allocator.alloc(allocator.user, 10, 32);
    unsigned char* b = allocator.alloc(allocator.user, 20, 1);
    unsigned char* c = allocator.alloc(allocator.user, 30, 4096);
    CHECK_EQ((uintptr_t)a % 32, 0);
    CHECK_EQ((uintptr_t)c % 4096, 0);
    CHECK_EQ(failing_alloc_leaks(&memory), 3);
    CHECK_EQ(memory.live_bytes, 60);
    allocator.free(allocator.user, b, 21, 1);
    CHECK_EQ(memory.mistakes, 1);
    allocator.free(allocator.user, c, 30, 8);
    CHECK_EQ(memory.mistakes, 2);
    a[10] = 0;
    allocator.free(allocator.user, a, 10, 32);
    CHECK_EQ(memory.mistakes, 3);
    CHECK_EQ(memory.live_blocks, 0);
    _Alignas(16) unsigned char foreign[256] = {0};
    allocator.free(allocator.user, foreign + 128, 8, 8);
    CHECK_EQ(memory.mistakes, 4);
}
