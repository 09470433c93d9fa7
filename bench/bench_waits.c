// SPDX-License-Identifier: MIT
// Waiting times between pipelines in real time. A reader ticks 60 times a second while another
// pipeline has one system that writes the same type and takes 2, 12 or 70 ms.
// A reader of a published type (also multiple or pinned) should never wait for values. A reader of
// a `live` type waits for the system.
// `structure`: a third pipeline creates and destroys an entity 30 times a second. Its commits wait
// for the writer's system; the reader overtakes them while they wait.
// `two`: a second writer sleeps for the same time, so that at every moment some system runs.
// `rows`: the writer keeps to its rows, so that commits, which concern another cluster, do not wait
// for it.
#include "bench.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    WAITS_ROWS = 20000
};

ORR_STRUCT(WaitShown, (float, value))
ORR_STRUCT(WaitOther, (float, value))
ORR_STRUCT_EX(WaitLive, (.live = true), (float, value))
ORR_STRUCT_EX(WaitMultiple, (.multiplicity = ORR_MULTIPLE), (float, value))
ORR_STRUCT_EX(WaitPinned, (.storage = ORR_PINNED), (float, value))

typedef struct waits_case {
    const char* type;
    uint32_t ms;
    bool structure, two, rows;
} waits_case;

static _Atomic uint64_t waits_busy_ns;
static _Atomic uint64_t waits_sum;
static orr_entity waits_last;
static orr_type waits_type;

// Busy work for a while: sleeping would leave the processor to the reader.
static void waits_work(const orr_run* run)
{
    const orr_platform* platform = orr_platform_default();
    uint64_t end = platform->clock_ns(platform->user) + waits_busy_ns;
    while (platform->clock_ns(platform->user) < end) {
    }
    (void)run;
}

static void waits_write_pinned(orr_run* run)
{
    ORR_EACH (it, orr_run_query(run)) {
        for (uint32_t i = 0; i < it.count; i++) {
            orr_write_pinned(&it, WaitPinned, i)->value += 1;
        }
    }
    waits_work(run);
}

// Each row of a multiple type has one instance.
static void waits_write(orr_run* run)
{
    ORR_EACH (it, orr_run_query(run)) {
        float* values = orr_iter_write_type(&it, waits_type);
        for (uint32_t i = 0; i < it.count; i++) {
            values[i] += 1;
        }
    }
    waits_work(run);
}

// The same, one chunk after another.
static void waits_write_rows(orr_run* run)
{
    const orr_platform* platform = orr_platform_default();
    float* values = orr_iter_write_type(run, waits_type);
    uint64_t end = platform->clock_ns(platform->user) + waits_busy_ns * run->count / WAITS_ROWS;
    for (uint32_t i = 0; i < run->count; i++) {
        values[i] += 1;
    }
    while (platform->clock_ns(platform->user) < end) {
    }
}

// Writes no type and leaves the processor to the others.
static void waits_idle(orr_run* run)
{
    const orr_platform* platform = orr_platform_default();
    _Atomic uint32_t word = 0;
    platform->thread_wait(platform->user, &word, 0, waits_busy_ns + 1);
    (void)run;
}

static void waits_churn(orr_run* run)
{
    if (waits_last.id != 0) {
        orr_send_destroy(run, waits_last);
    }
    waits_last = orr_send_create(run);
    orr_send_add(run, waits_last, WaitOther, {0});
}

static void waits_read_pinned(orr_run* run)
{
    float sum = 0;
    ORR_EACH (it, orr_run_query(run)) {
        for (uint32_t i = 0; i < it.count; i++) {
            sum += orr_read_pinned(&it, WaitPinned, i)->value;
        }
    }
    waits_sum += sum > 0;
}

static void waits_read(orr_run* run)
{
    float sum = 0;
    ORR_EACH (it, orr_run_query(run)) {
        const float* values = orr_iter_read_type(&it, waits_type);
        for (uint32_t i = 0; i < it.count; i++) {
            sum += values[i];
        }
    }
    waits_sum += sum > 0;
}

static bool waits_is(const waits_case* of, const char* type)
{
    return strcmp(of->type, type) == 0;
}

static void waits_add(orr_world* world, const waits_case* of, orr_entity entity)
{
    if (waits_is(of, "WaitLive")) {
        orr_set(world, entity, WaitLive, {0});
    } else if (waits_is(of, "WaitMultiple")) {
        orr_add_instance(world, entity, WaitMultiple, {0});
    } else if (waits_is(of, "WaitPinned")) {
        orr_set(world, entity, WaitPinned, {0});
    } else {
        orr_set(world, entity, WaitShown, {0});
    }
}

static orr_world* waits_begin(const waits_case* of, char* write, size_t size)
{
    orr_world* world = orr_world_create(&(orr_world_desc){.rate_hz = 60});
    ORR_REGISTER(world, WaitShown, WaitOther, WaitLive, WaitMultiple, WaitPinned);
    bool pinned = waits_is(of, "WaitPinned");
    waits_type = orr_type_find(world, of->type);
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "writer"});
    snprintf(write, size, "write %s", of->type);
    orr_system_add(world, &(orr_system_desc){.name = "writes",
                                             .pipeline = "writer",
                                             .once = !of->rows,
                                             .own_rows = of->rows,
                                             .query = write,
                                             .run = of->rows ? waits_write_rows
                                                    : pinned ? waits_write_pinned
                                                             : waits_write});
    if (of->structure) {
        orr_pipeline_add(world, &(orr_pipeline_desc){.name = "churn", .rate_hz = 30});
        orr_system_add(world, &(orr_system_desc){.name = "churns",
                                                 .pipeline = "churn",
                                                 .once = true,
                                                 .creates = "WaitOther",
                                                 .creates_max = 1,
                                                 .destroys = "WaitOther",
                                                 .run = waits_churn});
    }
    if (of->two) {
        orr_pipeline_add(world, &(orr_pipeline_desc){.name = "idler"});
        orr_system_add(world,
                       &(orr_system_desc){
                           .name = "idles", .pipeline = "idler", .once = true, .run = waits_idle});
    }
    orr_system_add(world, &(orr_system_desc){.name = "reads",
                                             .once = true,
                                             .query = of->type,
                                             .run = pinned ? waits_read_pinned : waits_read});
    for (uint32_t i = 0; i < WAITS_ROWS; i++) {
        waits_add(world, of, orr_create(world));
    }
    return world;
}

static void waits_case_print(const waits_case* of, uint32_t ticks)
{
    char write[64];
    orr_world* world = waits_begin(of, write, sizeof write);
    orr_wait_stats stats, churn = {0};
    waits_last = (orr_entity){0};
    waits_busy_ns = 0;
    orr_realtime(world, &(orr_realtime_desc){.ticks = 3}); // Starting systems changes structure.
    waits_busy_ns = of->ms * UINT64_C(1000000);
    orr_realtime(world, &(orr_realtime_desc){.ticks = ticks});
    orr_wait_stats_get(world, orr_pipeline_find(world, "main"), &stats);
    if (of->structure) {
        orr_wait_stats_get(world, orr_pipeline_find(world, "churn"), &churn);
    }
    printf("  %-10s %4u ms %-15s %6llu %12.4f %12.4f %11.4f %14.4f %12.4f\n",
           waits_is(of, "WaitLive")       ? "live"
           : waits_is(of, "WaitMultiple") ? "multiple"
           : waits_is(of, "WaitPinned")   ? "pinned"
                                          : "published",
           of->ms,
           of->rows        ? "structure, rows"
           : of->two       ? "structure, two"
           : of->structure ? "structure"
                           : "",
           (unsigned long long)stats.lock_waits, (double)stats.lock_longest_ns * 1e-6,
           (double)stats.turn_longest_ns * 1e-6,
           (double)(stats.lock_waited_ns + stats.turn_waited_ns) * 1e-6 / (double)stats.ticks,
           (double)churn.lock_longest_ns * 1e-6,
           churn.ticks > 0 ? (double)churn.lock_waited_ns * 1e-6 / (double)churn.ticks : 0.0);
    orr_world_destroy(world);
}

void bench_waits_print(uint32_t ticks)
{
    static const waits_case kinds[] = {{.type = "WaitShown"},
                                       {.type = "WaitMultiple"},
                                       {.type = "WaitPinned"},
                                       {.type = "WaitLive"},
                                       {.type = "WaitShown", .structure = true},
                                       {.type = "WaitShown", .structure = true, .two = true},
                                       {.type = "WaitShown", .structure = true, .rows = true}};
    static const uint32_t ms[] = {2, 12, 70};
    printf("Waiting times of a reader at 60 Hz with a writer of the same %u rows, in %u of its "
           "ticks\n\n"
           "  type       writer  what else         waits longest lock longest turn  a tick, ms "
           "longest commit  a commit, ms\n",
           (unsigned)WAITS_ROWS, (unsigned)ticks);
    for (uint32_t i = 0; i < 3 * sizeof kinds / sizeof kinds[0]; i++) {
        waits_case of = kinds[i / 3];
        of.ms = ms[i % 3];
        waits_case_print(&of, ticks);
    }
}
