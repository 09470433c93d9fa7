// SPDX-License-Identifier: MIT
// Measures how long systems take: in some ticks or all, for statistics and costs; and spans of
// everything, for a trace.
#include "schedule/schedule.h"
#include <stdio.h>

#define TIMING_STUCK_NS UINT64_C(10000000000) // Default of stuck_ns: 10 s.

static uint64_t timing_now(const orr_world* world)
{
    return world->env.platform->clock_ns(world->env.platform->user);
}

uint64_t orri_timing_stuck_ns(const orr_world* world)
{
    return world->settings.stuck_ns != 0 ? world->settings.stuck_ns : TIMING_STUCK_NS;
}

// Reports a slow system after its call, if no watchdog reports it while it runs.
ORRI_COLD static void timing_report_slow(orr_world* world, const orri_system* system,
                                         uint64_t spent)
{
    if (spent >= orri_timing_stuck_ns(world) && !world->schedule->watched) {
        uint64_t ms = spent / 1000000;
        orri_log(&world->env, ORR_LOG_ID_SYSTEM_STUCK,
                 "system '%s' took %u.%03u s in tick %llu; check whether it loops or waits for "
                 "something",
                 system->desc.name, (unsigned)(ms / 1000), (unsigned)(ms % 1000),
                 (unsigned long long)world->tick);
    }
}

void orri_timing_calibrate(orr_world* world)
{
    uint64_t best = UINT64_MAX, then = timing_now(world);
    for (uint32_t i = 0; i < 8; i++) {
        uint64_t now = timing_now(world);
        best = now - then < best ? now - then : best;
        then = now;
    }
    world->schedule->clock_cost_ns = best;
}

// Adds a time to the statistics. A quarter of the new cost is the last time, so that it follows a
// growing world. The cost of reading the clock is subtracted, since small systems take less.
static void timing_note(const orr_world* world, orri_system* system, uint64_t spent)
{
    orr_system_stats* stats = &system->stats;
    stats->timed_ticks++;
    stats->time_ns += spent;
    stats->time_max_ns = spent > stats->time_max_ns ? spent : stats->time_max_ns;
    uint64_t look = world->schedule->clock_cost_ns, net = spent > look ? spent - look : 0;
    uint64_t cost = (3 * (system->cost_ns != 0 ? system->cost_ns : net) + net) / 4 + 1;
    system->cost_ns = cost < UINT32_MAX ? (uint32_t)cost : UINT32_MAX;
}

void orri_timing_begin(orri_pipeline* pipe)
{
    if (ORR_UNLIKELY(pipe->timed)) {
        pipe->clock_ns = timing_now(pipe->world);
    }
}

// The row in the trace: in real time each pipeline has its own; workers have theirs.
static uint32_t timing_row(const orri_pipeline* pipe, uint32_t worker)
{
    return worker == 0 && pipe->world->realtime ? ORRI_TRACE_PIPELINES + pipe->index : worker;
}

// Writes a span with its tick, pipeline and rows.
static void timing_span(const orri_pipeline* pipe, const char* name, const char* category,
                        uint64_t then, uint64_t now, uint64_t rows)
{
    const struct orri_schedule* schedule = pipe->world->schedule;
    char words[128 + ORR_NAME_MAX];
    orri_text args = {words, sizeof words, 0};
    orri_text_add(&args, "\"tick\": %llu", (unsigned long long)pipe->tick);
    if (schedule->pipeline_count > 1) {
        orri_text_add(&args, ", \"pipeline\": \"%s\"", pipe->name);
    }
    if (rows > 0) {
        orri_text_add(&args, ", \"rows\": %llu", (unsigned long long)rows);
    }
    orri_trace_span(schedule->trace, name, category, timing_row(pipe, 0), then, now, words);
}

// The span since the last begin or end; the next span begins here.
void orri_timing_end(orri_pipeline* pipe, orri_system* system, const char* name,
                     const char* category)
{
    struct orri_schedule* schedule = pipe->world->schedule;
    if (ORR_LIKELY(!pipe->timed)) {
        return;
    }
    uint64_t now = timing_now(pipe->world), then = pipe->clock_ns;
    pipe->clock_ns = now;
    if (system != NULL) {
        uint64_t spent = now > then ? now - then : 0;
        schedule->serial_stats.busy_ns += spent;
        timing_note(pipe->world, system, spent);
        timing_report_slow(pipe->world, system, spent);
    }
    if (schedule->trace != NULL) {
        timing_span(pipe, name, category, then, now,
                    system != NULL ? system->stats.rows - pipe->rows_before : 0);
    }
}

// ---- workers ------------------------------------------------------------------------------------

uint64_t orri_timing_now(const orri_pipeline* pipe)
{
    return ORR_UNLIKELY(pipe->timed) ? timing_now(pipe->world) : 0;
}

void orri_timing_worked(orri_system* system, uint32_t worker, uint64_t begun, uint64_t rows,
                        orri_timing_units units)
{
    orr_world* world = system->pipe->world;
    uint64_t now = timing_now(world), spent = now > begun ? now - begun : 0;
    __atomic_fetch_add(&system->spent_ns, spent, __ATOMIC_RELAXED);
    timing_report_slow(world, system, spent);
    if (world->schedule->trace != NULL) {
        char args[192 + ORR_NAME_MAX], chunks[64] = "";
        if (units.count > 0) {
            snprintf(chunks, sizeof chunks, ", \"first chunk\": %u, \"chunks\": %u", units.first,
                     units.count);
        }
        snprintf(args, sizeof args, "\"tick\": %llu, \"system\": \"%s\"%s, \"rows\": %llu",
                 (unsigned long long)system->pipe->tick, system->desc.name, chunks,
                 (unsigned long long)rows);
        orri_trace_span(world->schedule->trace, system->desc.name, "system",
                        timing_row(system->pipe, worker), begun, now, args);
    }
}

void orri_timing_add(orri_system* system)
{
    orri_pipeline* pipe = system->pipe;
    if (ORR_LIKELY(!pipe->timed)) {
        return;
    }
    timing_note(pipe->world, system, system->spent_ns);
    system->spent_ns = 0;
    pipe->clock_ns = timing_now(pipe->world);
}

void orri_timing_waited(const orr_world* world, uint32_t worker, uint64_t begin_ns,
                        uint64_t sleep_ns, uint64_t end_ns)
{
    orri_trace* trace = world->schedule->trace;
    if (trace == NULL) {
        return;
    }
    orri_trace_span(trace, "looks for work", "wait", worker, begin_ns,
                    sleep_ns != 0 ? sleep_ns : end_ns, NULL);
    if (sleep_ns != 0) {
        orri_trace_span(trace, "sleeps", "wait", worker, sleep_ns, end_ns, NULL);
    }
}

void orri_timing_point(orri_pipeline* pipe, uint64_t begun)
{
    if (ORR_LIKELY(!pipe->timed)) {
        return;
    }
    pipe->clock_ns = timing_now(pipe->world);
    if (pipe->world->schedule->trace != NULL) {
        timing_span(pipe, "deliver", "deliver", begun, pipe->clock_ns, 0);
    }
}

#undef TIMING_STUCK_NS
