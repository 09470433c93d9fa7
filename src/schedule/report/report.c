// SPDX-License-Identifier: MIT
// What systems did, and what the next tick will do, in words and as a graph.
#include "schedule/schedule.h"
#include <stdio.h>

orr_result orr_system_stats_get(const orr_world* world, orr_system handle, orr_system_stats* out)
{
    ORR_ASSERT(world != NULL && out != NULL);
    if (orri_access_checked(world)) {
        *out = (orr_system_stats){0};
        return orri_refuse_running(world, "orr_system_stats_get");
    }
    const orri_system* system = orri_system_at(world, handle);
    if (system == NULL) {
        return orri_refuse(orri_env_of(world), ORR_ERR_ARGUMENT, ORR_LOG_ID_SYSTEM_REFUSED,
                           "orr_system_stats_get: %uv%u is no system of this world", handle.id,
                           handle.generation);
    }
    *out = system->stats;
    out->received = system->rights.counts.received;
    out->sent = system->rights.counts.sent;
    out->dropped = system->rights.counts.dropped;
    out->violations = system->rights.counts.violations;
    out->queued = system->rights.reader != NULL ? orri_reader_queued(system->rights.reader) : 0;
    return ORR_OK;
}

// ---- workers ------------------------------------------------------------------------------------------------------------

uint32_t orr_worker_count(const orr_world* world)
{
    ORR_ASSERT(world != NULL);
    return orri_parallel_workers(world);
}

orr_result orr_worker_stats_get(const orr_world* world, uint32_t worker, orr_worker_stats* out)
{
    ORR_ASSERT(world != NULL && out != NULL);
    *out = (orr_worker_stats){0};
    if (orri_access_checked(world)) {
        return orri_refuse_running(world, "orr_worker_stats_get");
    }
    uint32_t count = orr_worker_count(world);
    if (worker >= count) {
        return orri_refuse(orri_env_of(world), ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                           "orr_worker_stats_get: there is no worker %u, there are %u, from 0 on",
                           worker, count);
    }
    if (world->schedule != NULL) {
        *out = worker == 0 ? world->schedule->alone : *out;
        orri_parallel_stats(world, worker, out);
    }
    return ORR_OK;
}

static void report_workers(const orr_world* world, orri_text* text)
{
    orri_text_add(text, "%-24s %10s %10s %12s %10s %12s %12s %6s\n", "worker", "taken", "stolen",
                  "rows", "sleeps", "busy us", "waiting us", "busy");
    for (uint32_t i = 0; i < orr_worker_count(world); i++) {
        orr_worker_stats stats;
        if (orr_worker_stats_get(world, i, &stats) != ORR_OK) {
            return;
        }
        uint64_t all = stats.busy_ns + stats.waiting_ns;
        orri_text_add(text, "%-24u %10llu %10llu %12llu %10llu %12.1f %12.1f %5.0f%%\n", i,
                      (unsigned long long)stats.taken, (unsigned long long)stats.stolen,
                      (unsigned long long)stats.rows, (unsigned long long)stats.sleeps,
                      (double)stats.busy_ns / 1000.0, (double)stats.waiting_ns / 1000.0,
                      all > 0 ? (double)stats.busy_ns * 100.0 / (double)all : 0.0);
    }
}

size_t orr_stats_print(const orr_world* world, char* out, size_t out_size)
{
    ORR_ASSERT(world != NULL);
    if (orri_access_checked(world)) {
        (void)orri_refuse_running(world, "orr_stats_print");
        return 0;
    }
    orri_text text = {out, out_size, 0};
    orri_text_add(&text, "%-24s %10s %10s %12s %10s %10s %8s %8s %10s %10s\n", "system", "ticks",
                  "runs", "rows", "received", "sent", "dropped", "violations", "us/tick", "max us");
    for (orr_system s = orr_system_next(world, (orr_system){0}); s.id != 0;
         s = orr_system_next(world, s)) {
        orr_system_stats stats;
        (void)orr_system_stats_get(world, s, &stats);
        double each =
            stats.timed_ticks > 0 ? (double)stats.time_ns / 1000.0 / (double)stats.timed_ticks : 0;
        orri_text_add(&text, "%-24s %10llu %10llu %12llu %10llu %10llu %8llu %8llu %10.1f %10.1f\n",
                      orr_system_name(world, s), (unsigned long long)stats.ticks,
                      (unsigned long long)stats.runs, (unsigned long long)stats.rows,
                      (unsigned long long)stats.received, (unsigned long long)stats.sent,
                      (unsigned long long)stats.dropped, (unsigned long long)stats.violations, each,
                      (double)stats.time_max_ns / 1000.0);
    }
    if (orr_worker_count(world) > 1) {
        report_workers(world, &text);
    }
    return text.length;
}

// ---- the plan ---------------------------------------------------------------------------------------------------------

// One thing that makes a system wait for an earlier one.
typedef void (*report_edge)(void* user, const orri_system* from, const orri_system* to,
                            const char* why);

// Conflicts over one type: a reader waits for the last writer, a writer for the last writer and all readers since; and likewise those
// with atomic sections.
static void report_type_edges(const orri_pipeline* pipe, uint32_t at, uint32_t index,
                              report_edge edge, void* user)
{
    const orr_world* world = pipe->world;
    const orri_system* to = pipe->steps[at].system;
    orri_touch mine = orri_touches(world, to, index, NULL);
    const char* name = orri_type_label(world, (orr_type){world->schema.type_base + index});
    for (uint32_t i = at; mine != ORRI_TOUCH_NONE && i-- > 0;) {
        const orri_system* from = pipe->steps[i].system;
        orri_touch theirs = from != NULL ? orri_touches(world, from, index, NULL) : ORRI_TOUCH_NONE;
        char why[160];
        if (theirs != ORRI_TOUCH_NONE && (theirs != mine || theirs == ORRI_TOUCH_WRITES)) {
            static const char* const deeds[] = {"", "reads", "changes (.atomics)", "writes"};
            snprintf(why, sizeof why, "%s %s, then this one %s it", deeds[theirs], name,
                     deeds[mine]);
            edge(user, from, to, why);
        }
        if (theirs == ORRI_TOUCH_WRITES) {
            return;
        }
    }
}

static void report_named_edges(const orri_pipeline* pipe, uint32_t at, report_edge edge, void* user)
{
    const orr_world* world = pipe->world;
    const orri_system* to = pipe->steps[at].system;
    for (uint32_t i = 0; i < at; i++) {
        const orri_system* from = pipe->steps[i].system;
        if (from == NULL) {
            continue;
        }
        if (orri_system_lists(to->desc.after, from)) {
            edge(user, from, to, "its .after");
        }
        if (orri_system_lists(from->desc.before, to)) {
            edge(user, from, to, "the other's .before");
        }
        if (orri_system_lists(to->desc.imports, from)) {
            edge(user, from, to, "exports, then this one imports");
        }
        if (orri_system_lists(from->desc.imports, to)) {
            edge(user, from, to, "imports, then this one exports");
        }
        for (uint32_t t = 0; t < world->schema.type_count; t++) {
            if (orri_right(from->rights.sends, &from->rights, t) &&
                orri_right(to->rights.receives, &to->rights, t)) {
                char why[160];
                snprintf(why, sizeof why, "sends events %s, then this one receives them",
                         orri_type_label(world, (orr_type){world->schema.type_base + t}));
                edge(user, from, to, why);
            }
        }
    }
}

static void report_edges(const orri_pipeline* pipe, uint32_t at, report_edge edge, void* user)
{
    report_named_edges(pipe, at, edge, user);
    for (uint32_t t = 0; t < pipe->world->schema.type_count; t++) {
        report_type_edges(pipe, at, t, edge, user);
    }
}

// "spawn may create entities with Position, which draw names"
static void report_reason(const orr_world* world, const orri_reason* reason, orri_text* out)
{
    if (reason->sender == NULL) {
        orri_text_add(out, "%s", reason->what);
        return;
    }
    orri_text_add(out, "'%s' %s", reason->sender->desc.name, reason->what);
    if (reason->reader == NULL) {
        return;
    }
    if (reason->type.id != 0) {
        orri_text_add(out, " %s, which '%s' names", orri_type_label(world, reason->type),
                      reason->reader->desc.name);
    } else {
        orri_text_add(out, " '%s' %s", reason->reader->desc.name, reason->rest);
    }
}

static void report_line(void* user, const orri_system* from, const orri_system* to, const char* why)
{
    (void)to;
    orri_text_add(user, "        after %s: %s\n", from->desc.name, why);
}

static void report_system(const orri_system* system, orri_text* out)
{
    orri_text_add(out, "%s (%s%s%s", system->desc.name,
                  system->desc.kind == ORR_DIRECT ? "direct" : "indirect",
                  system->desc.once ? ", once" : "", system->desc.parallel ? ", parallel" : "");
    if (system->desc.every > 1) {
        orri_text_add(out, ", every %u ticks", system->desc.every);
    }
    orri_text_add(out, "%s%s): ", system->desc.main_thread ? ", main thread" : "",
                  system->desc.own_rows ? ", own rows" : "");
    size_t length = out->length;
    orri_leaf_print(system->query, &system->query->leaves[0], out);
    const orr_system_desc* d = &system->desc;
    const char* const said[][2] = {
        {"by_id", d->by_id},         {"creates", d->creates}, {"destroys", d->destroys},
        {"adds", d->adds},           {"removes", d->removes}, {"changes", d->changes},
        {"transacts", d->transacts}, {"atomics", d->atomics}, {"overwrites", d->overwrites},
        {"switches", d->switches},   {"tags", d->tags},       {"sends", d->sends},
        {"receives", d->receives},   {"imports", d->imports}};
    for (uint32_t i = 0; i < ORRI_COUNT(said); i++) {
        if (said[i][1] != NULL) {
            orri_text_add(out, "%s%s %s", out->length > length ? "; " : "", said[i][0], said[i][1]);
        }
    }
    if (d->renames) {
        orri_text_add(out, "%srenames", out->length > length ? "; " : "");
    }
}

// The plan, or NULL with the words why there is none.
static const struct orri_schedule* report_plan(orr_world* world, orri_text* out)
{
    struct orri_schedule* schedule = orri_schedule_of(world);
    bool stands = schedule != NULL && !orri_between_sync_points(world) && schedule->now == NULL;
    if (schedule == NULL || (stands && orri_plan_make(world) != ORR_OK)) {
        orri_text_add(out, "no plan: %s\n", orr_error_last(world));
        return NULL;
    }
    return schedule;
}

// "pipeline physics, 120 a second:"; nothing where there is but one.
static void report_pipeline(const orri_pipeline* pipe, orri_text* out)
{
    if (pipe->world->schedule->pipeline_count > 1) {
        orri_text_add(out, "pipeline %s, ", pipe->name);
        if (pipe->rate_hz > 0) {
            orri_text_add(out, "%g a second:\n", pipe->rate_hz);
        } else {
            orri_text_add(out, "continuous:\n");
        }
    }
}

static uint32_t report_steps(const orri_pipeline* pipe, uint32_t number, orri_text* out)
{
    for (uint32_t i = 0; i < pipe->step_count; i++) {
        const orri_step* step = &pipe->steps[i];
        if (step->system != NULL) {
            orri_text_add(out, "%4u  ", number++);
            report_system(step->system, out);
            orri_text_add(out, "\n");
            report_edges(pipe, i, report_line, out);
        } else {
            orri_text_add(out, step->commit ? "   -- commit: " : "   -- deliver: ");
            report_reason(pipe->world, &step->reason, out);
            orri_text_add(out, "\n");
        }
    }
    return number;
}

size_t orr_plan_print(orr_world* world, char* out, size_t out_size)
{
    ORR_ASSERT(world != NULL);
    orri_text text = {out, out_size, 0};
    const struct orri_schedule* schedule = report_plan(world, &text);
    uint32_t number = 1;
    for (uint32_t i = 0; schedule != NULL && i < schedule->pipeline_count; i++) {
        report_pipeline(schedule->pipelines[i], &text);
        number = report_steps(schedule->pipelines[i], number, &text);
    }
    return text.length;
}

static void report_arrow(void* user, const orri_system* from, const orri_system* to,
                         const char* why)
{
    orri_text_add(user, "    \"%s\" -> \"%s\" [label=\"%s\"];\n", from->desc.name, to->desc.name,
                  why);
}

// The steps of a pipeline as boxes, commit points as diamonds, numbered on from `points`.
static uint32_t report_boxes(const orri_pipeline* pipe, uint32_t points, orri_text* out)
{
    const orri_system* before = NULL;
    for (uint32_t i = 0; i < pipe->step_count; i++) {
        const orri_step* step = &pipe->steps[i];
        if (step->system != NULL) {
            orri_text_add(out, "    \"%s\"%s;\n", step->system->desc.name,
                          step->system->desc.kind == ORR_INDIRECT ? " [style=rounded]" : "");
            report_edges(pipe, i, report_arrow, out);
            before = step->system;
            continue;
        }
        if (!step->commit) {
            continue;
        }
        points++;
        orri_text_add(out, "    \"commit %u\" [shape=diamond, label=\"commit %u\\n", points,
                      points);
        report_reason(pipe->world, &step->reason, out);
        orri_text_add(out, "\"];\n");
        if (before != NULL) {
            orri_text_add(out, "    \"%s\" -> \"commit %u\" [style=dashed];\n", before->desc.name,
                          points);
        }
        if (step->reason.reader != NULL) {
            orri_text_add(out, "    \"commit %u\" -> \"%s\" [style=dashed];\n", points,
                          step->reason.reader->desc.name);
        }
    }
    return points;
}

size_t orr_plan_graph(orr_world* world, char* out, size_t out_size)
{
    ORR_ASSERT(world != NULL);
    orri_text text = {out, out_size, 0};
    char words[ORRI_ERROR_SIZE + 16];
    orri_text why = {words, sizeof words, 0};
    words[0] = '\0';
    const struct orri_schedule* schedule = report_plan(world, &why);
    orri_text_add(&text, "digraph plan {\n    rankdir=LR;\n    node [shape=box];\n");
    if (schedule == NULL) {
        orri_text_add(&text, "/* %s*/\n", words);
    }
    uint32_t points = 0;
    for (uint32_t i = 0; schedule != NULL && i < schedule->pipeline_count; i++) {
        bool several = schedule->pipeline_count > 1;
        if (several) {
            orri_text_add(&text, "    subgraph cluster_%u {\n    label=\"%s\";\n", i,
                          schedule->pipelines[i]->name);
        }
        points = report_boxes(schedule->pipelines[i], points, &text);
        orri_text_add(&text, several ? "    }\n" : "");
    }
    orri_text_add(&text, "}\n");
    return text.length;
}
