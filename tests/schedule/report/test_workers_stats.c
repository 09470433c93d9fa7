// SPDX-License-Identifier: MIT
// Statistics of workers, and their rows in the trace.
#include "schedule/report/json_kit.h"
#include "schedule/system_kit.h"
#include "schedule/tick/overlap_kit.h"
#include <stdlib.h>

#define ROWS 5000u

static rendezvous both;

static void left(orr_run* run)
{
    (void)run;
    rendezvous_wait(&both);
}

static void right(orr_run* run)
{
    (void)run;
    rendezvous_wait(&both);
}

static void touch(orr_run* run)
{
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += 1;
    }
}

static orr_world* begin_with(kit* k, uint32_t workers)
{
    orr_world* world = kit_begin(k, &(orr_world_desc){.workers = workers});
    ORR_REGISTER(world, Position, Velocity, Health);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), ROWS, NULL, 0, NULL));
    make(world, 0);
    return world;
}

// Two systems that wait for each other, so that both workers run one; and one system for both.
static void add_all(orr_world* world)
{
    orri_parallel_share(world, ORRI_SHARE_NOTHING, 0);
    both.arrived = both.timeouts = 0;
    KIT_SYSTEM(world, .name = "left", .once = true, .run = left);
    KIT_SYSTEM(world, .name = "right", .once = true, .run = right);
    KIT_SYSTEM(world, .name = "touch", .query = "write Position", .run = touch, .parallel = true);
    KIT_SYSTEM(world, .name = "again", .query = "write Position", .run = touch);
}

// ---- statistics ---------------------------------------------------------------------------------

static orr_worker_stats stats_of(const orr_world* world, uint32_t worker)
{
    orr_worker_stats stats;
    CHECK_OK(orr_worker_stats_get(world, worker, &stats));
    return stats;
}

ORR_TEST(worker_stats_count_systems_and_units_of_each_worker)
{
    kit k;
    orr_world* world = begin_with(&k, 2);
    add_all(world);
    CHECK_EQ(stats_of(world, 0).taken, 0);
    KIT_STEP(world, 10); // The first tick is timed.
    CHECK_EQ(orr_worker_count(world), 2);
    orr_worker_stats a = stats_of(world, 0), b = stats_of(world, 1);
    CHECK_EQ(a.taken + b.taken, 40); // No system is split.
    CHECK(a.taken >= 10 && b.taken >= 10);
    CHECK_EQ(a.rows + b.rows, 2 * 10 * (ROWS + 1));
    CHECK(a.stolen + b.stolen == 0);
    CHECK(a.busy_ns > 0 && b.busy_ns > 0 && a.busy_ns + a.waiting_ns > 0);
    KIT_STEP(world, 6); // None of these ticks is timed.
    CHECK_EQ(stats_of(world, 0).busy_ns, a.busy_ns);
    CHECK_EQ(stats_of(world, 1).busy_ns, b.busy_ns);
    CHECK_EQ(stats_of(world, 1).waiting_ns, b.waiting_ns);
    orr_stats_time_all(world, true);
    KIT_STEP(world, 1);
    CHECK(stats_of(world, 0).busy_ns > a.busy_ns);
    CHECK(stats_of(world, 1).busy_ns > b.busy_ns);
    CHECK_EQ(both.timeouts, 0);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(worker_stats_of_units_count_all_rows)
{
    kit k;
    orr_world* world = begin_with(&k, 3);
    orri_parallel_share(world, ORRI_SHARE_ALL, 0);
    KIT_SYSTEM(world, .name = "touch", .query = "write Position", .run = touch, .parallel = true);
    KIT_STEP(world, 20);
    uint64_t rows = 0, taken = 0, stolen = 0;
    for (uint32_t i = 0; i < 3; i++) {
        rows += stats_of(world, i).rows;
        taken += stats_of(world, i).taken;
        stolen += stats_of(world, i).stolen;
    }
    CHECK_EQ(rows, 20 * (ROWS + 1));
    CHECK_EQ(taken, 20 * 3); // Chunk by chunk.
    CHECK(stolen <= taken);
    kit_end(&k);
}

ORR_TEST(worker_stats_without_workers_are_the_driving_threads)
{
    kit k;
    orr_world* world = begin_with(&k, 0);
    orr_worker_stats none;
    CHECK_EQ(orr_worker_count(world), 1);
    CHECK_EQ(stats_of(world, 0).taken, 0);
    KIT_SYSTEM(world, .name = "touch", .query = "write Position", .run = touch, .parallel = true);
    KIT_STEP(world, 4);
    orr_worker_stats stats = stats_of(world, 0);
    CHECK_EQ(stats.taken, 4);
    CHECK_EQ(stats.rows, 4 * (ROWS + 1));
    CHECK_EQ(stats.waiting_ns + stats.sleeps + stats.stolen, 0);
    CHECK(stats.busy_ns > 0);
    CHECK_RESULT(orr_worker_stats_get(world, 1, &none), ORR_ERR_ARGUMENT);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "there is no worker 1; there are 1, numbered from 0");
    kit_end(&k);
}

static void ask_inside(orr_run* run)
{
    orr_worker_stats stats = {.taken = 7};
    CHECK_RESULT(orr_worker_stats_get(run->world, 0, &stats), ORR_ERR_STATE);
    CHECK_EQ(stats.taken, 7);
}

ORR_TEST(worker_stats_are_printed_below_the_systems)
{
    char text[4096];
    kit k;
    orr_world* world = begin_with(&k, 2);
    KIT_SYSTEM(world, .name = "asks", .once = true, .run = ask_inside);
    size_t length = orr_stats_print(world, text, sizeof text);
    CHECK(length < sizeof text && strstr(text, "worker") == NULL); // There are no workers yet.
    KIT_STEP_REFUSED(world, 1);
    KIT_ERROR(&k, ORR_ERR_STATE, "orr_worker_stats_get: not allowed inside a system ('asks')");
    length = orr_stats_print(world, text, sizeof text);
    CHECK(length < sizeof text);
    CHECK_CONTAINS(text, "worker                        taken     stolen         rows     sleeps  "
                         "    busy us   waiting us   busy\n0   ");
    CHECK_CONTAINS(text, "%\n1     ");
    CHECK_EQ(text[length - 1], '\n');
    CHECK_EQ(orr_stats_print(world, NULL, 0), length);
    kit_end(&k);
}

// ---- the trace ----------------------------------------------------------------------------------

typedef struct span {
    char name[64], category[64];
    uint32_t thread;
    uint64_t begin, end; // Nanoseconds.
    uint32_t tick, chunk, chunks, rows;
} span;

#define SPANS_MAX 2000

static span spans[SPANS_MAX];
static uint32_t span_count;

static uint64_t number_after(const char* line, const char* key)
{
    const char* at = strstr(line, key);
    return at != NULL ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static uint64_t time_after(const char* line, const char* key)
{
    const char* at = strstr(line, key);
    CHECK(at != NULL);
    char* dot;
    uint64_t us = strtoull(at + strlen(key), &dot, 10);
    CHECK_EQ(*dot, '.');
    return us * 1000 + strtoull(dot + 1, NULL, 10);
}

static void span_read(const char* line)
{
    span* s = &spans[span_count++];
    CHECK(span_count < SPANS_MAX);
    CHECK_EQ(sscanf(line, "{\"name\": \"%63[^\"]\", \"cat\": \"%63[^\"]\"", s->name, s->category),
             2);
    s->thread = (uint32_t)number_after(line, "\"tid\": ");
    s->begin = time_after(line, "\"ts\": ");
    s->end = s->begin + time_after(line, "\"dur\": ");
    s->tick = (uint32_t)number_after(line, "\"tick\": ");
    s->chunk = (uint32_t)number_after(line, "\"first chunk\": ");
    s->chunks = (uint32_t)number_after(line, "\"chunks\": ");
    s->rows = (uint32_t)number_after(line, "\"rows\": ");
    if (s->chunks > 0) {
        char named[160];
        snprintf(named, sizeof named, "\"system\": \"%s\"", s->name);
        CHECK_CONTAINS(line, named);
    }
}

// Checks that the file is JSON, then reads its spans, one per line.
static void trace_read(const char* path)
{
    FILE* in = fopen(path, "rb");
    CHECK(in != NULL);
    char* text = calloc(1, 1 << 20);
    size_t size = fread(text, 1, (1 << 20) - 1, in);
    CHECK(size > 0 && size < (1 << 20) - 1);
    fclose(in);
    remove(path);
    CHECK_EQ(*json_space(json_value(text)), '\0');
    span_count = 0;
    for (char* line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strstr(line, "\"ph\": \"X\"") != NULL) {
            span_read(line);
        }
    }
    free(text);
}

static bool is(const span* s, const char* name)
{
    return strcmp(s->name, name) == 0;
}

// Two spans of one row are disjoint or nested; viewers need that.
static void check_drawable(void)
{
    for (uint32_t i = 0; i < span_count; i++) {
        for (uint32_t j = i + 1; j < span_count; j++) {
            const span *a = &spans[i], *b = &spans[j];
            bool disjoint = a->end <= b->begin || b->end <= a->begin;
            bool inside = (a->begin >= b->begin && a->end <= b->end) ||
                          (b->begin >= a->begin && b->end <= a->end);
            if (a->thread == b->thread && !disjoint && !inside) {
                test_fail(__FILE__, __LINE__, "row %u: '%s' and '%s' overlap in part", a->thread,
                          a->name, b->name);
            }
        }
    }
}

static void check_tick(uint32_t tick, uint32_t chunks)
{
    uint64_t parts = 0, rows = 0, touch_end = 0, again_begin = UINT64_MAX, others = 0;
    uint64_t begin[2] = {0}, end[2] = {UINT64_MAX, UINT64_MAX};
    uint32_t threads[2] = {9, 9};
    for (uint32_t i = 0; i < span_count; i++) {
        const span* s = &spans[i];
        if (s->tick != tick || strcmp(s->category, "system") != 0) {
            continue;
        }
        if (is(s, "touch")) {
            parts += s->chunks;
            rows += s->rows;
            touch_end = s->end > touch_end ? s->end : touch_end;
        } else if (is(s, "again")) {
            again_begin = s->begin;
            CHECK_EQ(s->rows, ROWS + 1);
            CHECK_EQ(s->chunks, chunks); // Never split, but reported in chunks.
        } else {
            uint32_t which = is(s, "right");
            begin[which] = s->begin;
            end[which] = s->end;
            threads[which] = s->thread;
            others++;
        }
    }
    CHECK_EQ(parts, chunks);
    CHECK_EQ(rows, ROWS + 1);
    CHECK(again_begin >= touch_end); // They conflict.
    CHECK_EQ(others, 2);
    CHECK(begin[0] < end[1] && begin[1] < end[0] && threads[0] != threads[1]);
}

ORR_TEST(trace_shows_workers_systems_chunks_and_waiting)
{
    kit k;
    orr_world* world = begin_with(&k, 2);
    add_all(world);
    KIT_STEP(world, 2);
    char path[64];
    snprintf(path, sizeof path, "/tmp/orr_test_workers_%llu.json",
             (unsigned long long)orr_platform_default()->clock_ns(NULL));
    CHECK_OK(orr_trace_set(world, path));
    KIT_STEP(world, 5);
    CHECK_OK(orr_trace_set(world, NULL));
    KIT_STEP(world, 2); // Waits that began before the trace are not in it.
    trace_read(path);
    check_drawable();
    for (uint32_t tick = 3; tick <= 7; tick++) {
        check_tick(tick, 3);
    }
    uint32_t waits = 0, ticks = 0, delivers = 0;
    for (uint32_t i = 0; i < span_count; i++) {
        bool waiting = is(&spans[i], "looks for work") || is(&spans[i], "sleeps");
        CHECK_EQ(waiting, strcmp(spans[i].category, "wait") == 0);
        waits += waiting && spans[i].thread == 1;
        ticks += is(&spans[i], "tick") && spans[i].thread == 0;
        delivers += is(&spans[i], "deliver") && spans[i].thread == 0;
    }
    CHECK_EQ(ticks, 5);
    CHECK_EQ(delivers, 5);
    CHECK(waits >= 4); // Worker 1 ran in five ticks; its wait before the first may be missing.
    CHECK_EQ(both.timeouts, 0);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}
