// SPDX-License-Identifier: MIT
// Statistics of systems and workers; and the plan of the next tick as text and as a graph, with
// reasons.
#include "schedule/report/waits.h"

orr_result orr_system_stats_get(const orr_world* world, orr_system handle, orr_system_stats* out)
{
    ORR_ASSERT(world != NULL && out != NULL);
    if (orri_access_checked(world)) {
        return orri_refuse_running(world, "orr_system_stats_get");
    }
    const orri_system* system = orri_system_at(world, handle);
    if (system == NULL) {
        return orri_refuse(
            orri_env_of(world), ORR_ERR_ARGUMENT, ORR_LOG_ID_SYSTEM_REFUSED,
            "orr_system_stats_get: %uv%u is not a system of this world; it may have been removed",
            handle.id, handle.generation);
    }
    *out = system->stats;
    out->received = system->rights.counts.received;
    out->sent = system->rights.counts.sent;
    out->dropped = system->rights.counts.dropped;
    out->added_twice = system->rights.counts.added_twice;
    out->stale_imports = system->rights.counts.stale_imports;
    out->refused = system->rights.counts.refused;
    out->violations = system->rights.counts.violations;
    out->queued = system->rights.reader != NULL ? orri_reader_queued(system->rights.reader) : 0;
    return ORR_OK;
}

// ---- workers ------------------------------------------------------------------------------------

uint32_t orr_worker_count(const orr_world* world)
{
    ORR_ASSERT(world != NULL);
    return orri_parallel_workers(world);
}

orr_result orr_worker_stats_get(const orr_world* world, uint32_t worker, orr_worker_stats* out)
{
    ORR_ASSERT(world != NULL && out != NULL);
    if (orri_access_checked(world)) {
        return orri_refuse_running(world, "orr_worker_stats_get");
    }
    uint32_t count = orr_worker_count(world);
    if (worker >= count) {
        return orri_refuse(
            orri_env_of(world), ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
            "orr_worker_stats_get: there is no worker %u; there are %u, numbered from 0", worker,
            count);
    }
    *out = (orr_worker_stats){0};
    if (world->schedule != NULL) {
        *out = worker == 0 ? world->schedule->serial_stats : *out;
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
    orri_text_add(&text, "%-24s %10s %10s %12s %10s %10s %8s %8s %10s %10s %10s\n", "system",
                  "ticks", "runs", "rows", "received", "sent", "dropped", "refused", "violations",
                  "us/tick", "max us");
    for (orr_system s = orr_system_next(world, (orr_system){0}); s.id != 0;
         s = orr_system_next(world, s)) {
        orr_system_stats stats = {0};
        (void)orr_system_stats_get(world, s, &stats);
        double each =
            stats.timed_ticks > 0 ? (double)stats.time_ns / 1000.0 / (double)stats.timed_ticks : 0;
        orri_text_add(
            &text, "%-24s %10llu %10llu %12llu %10llu %10llu %8llu %8llu %10llu %10.1f %10.1f\n",
            orr_system_name(world, s), (unsigned long long)stats.ticks,
            (unsigned long long)stats.runs, (unsigned long long)stats.rows,
            (unsigned long long)stats.received, (unsigned long long)stats.sent,
            (unsigned long long)stats.dropped, (unsigned long long)stats.refused,
            (unsigned long long)stats.violations, each, (double)stats.time_max_ns / 1000.0);
    }
    if (orr_worker_count(world) > 1) {
        report_workers(world, &text);
    }
    return text.length;
}

// ---- the plan -----------------------------------------------------------------------------------

// Prints the reason of a point: "'spawn' may create entities with Position, which 'draw' names".
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

// A reason as a line of text.
static void report_line(void* user, const orri_system* from, const orri_system* to, const char* why)
{
    (void)to;
    orri_text_add(user, "        after %s: %s\n", from->desc.name, why);
}

// "1000 systems", "1000 systems of group 'physics'".
static void report_count(const orri_waits_set* set, orri_text* out)
{
    orri_text_add(out, "%u systems", set->count);
    if (set->kind == ORRI_WAITS_GROUP) {
        orri_text_add(out, " of group '%.*s'", (int)set->name_size, set->name);
    }
}

// A reason that many systems have as a line of text, with the names of the first of them.
static void report_line_many(void* user, const orri_plan_waits* waits, orri_waits_set* set,
                             const orri_system* to, const char* why)
{
    (void)to;
    orri_text_add(user, "        after each of ");
    report_count(set, user);
    for (uint32_t i = 0; i < ORRI_WAITS_SHOWN; i++) {
        orri_text_add(user, "%s%s", i == 0 ? " (" : ", ",
                      waits->pipe->steps[set->first[i]].system->desc.name);
    }
    orri_text_add(user, ", …): %s\n", why);
}

// A system with its declarations.
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
    const char* const lists[][2] = {
        {"by_id", d->by_id},         {"creates", d->creates}, {"destroys", d->destroys},
        {"adds", d->adds},           {"removes", d->removes}, {"changes", d->changes},
        {"transacts", d->transacts}, {"atomics", d->atomics}, {"overwrites", d->overwrites},
        {"switches", d->switches},   {"tags", d->tags},       {"sends", d->sends},
        {"receives", d->receives},   {"imports", d->imports}};
    for (uint32_t i = 0; i < ORRI_COUNT(lists); i++) {
        if (lists[i][1] != NULL) {
            orri_text_add(out, "%s%s %s", out->length > length ? "; " : "", lists[i][0],
                          lists[i][1]);
        }
    }
    if (d->renames) {
        orri_text_add(out, "%srenames", out->length > length ? "; " : "");
    }
}

static void report_no_plan(const orr_world* world, orri_text* out)
{
    orri_text_add(out, "no plan: %s\n", orr_error_last(world));
}

// The schedule with its plan made; NULL: there is none, and the reason is printed. While a tick is
// open the plan is taken as it is.
static const struct orri_schedule* report_plan(orr_world* world, orri_text* out)
{
    struct orri_schedule* schedule = orri_schedule_of(world);
    bool idle = schedule != NULL && !orri_between_sync_points(world) && schedule->now == NULL;
    if (schedule == NULL || (idle && orri_plan_make(world) != ORR_OK)) {
        report_no_plan(world, out);
        return NULL;
    }
    return schedule;
}

// Prints "pipeline physics, 120 a second:"; nothing if there is only one pipeline.
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

// Prints the steps of a pipeline, numbered on from `*number`. False when refused (reported).
static bool report_steps(const orri_pipeline* pipe, uint32_t* number, orri_text* out)
{
    orri_plan_waits waits = {.reason = report_line, .reason_many = report_line_many, .user = out};
    bool done = orri_waits_begin(&waits, pipe);
    for (uint32_t i = 0; done && i < pipe->step_count; i++) {
        const orri_step* step = &pipe->steps[i];
        if (step->system != NULL) {
            orri_text_add(out, "%4u  ", (*number)++);
            report_system(step->system, out);
            orri_text_add(out, "\n");
            done = orri_waits_step(&waits, i);
        } else {
            orri_text_add(out, step->commit ? "   -- commit: " : "   -- deliver: ");
            report_reason(pipe->world, &step->reason, out);
            orri_text_add(out, "\n");
        }
    }
    orri_waits_end(&waits);
    return done;
}

size_t orr_plan_print(orr_world* world, char* out, size_t out_size)
{
    ORR_ASSERT(world != NULL);
    orri_text text = {out, out_size, 0};
    const struct orri_schedule* schedule = report_plan(world, &text);
    uint32_t number = 1;
    bool done = true;
    for (uint32_t i = 0; schedule != NULL && done && i < schedule->pipeline_count; i++) {
        report_pipeline(schedule->pipelines[i], &text);
        done = report_steps(schedule->pipelines[i], &number, &text);
    }
    if (!done) {
        text.length = 0;
        report_no_plan(world, &text);
    }
    return text.length;
}

// A graph, with the numbers of its last commit point and join.
typedef struct report_graph {
    orri_text* out;
    uint32_t points, joins;
} report_graph;

// A reason as an edge of the graph.
static void report_arrow(void* user, const orri_system* from, const orri_system* to,
                         const char* why)
{
    const report_graph* graph = user;
    orri_text_add(graph->out, "    \"%s\" -> \"%s\" [label=\"%s\"];\n", from->desc.name,
                  to->desc.name, why);
}

// Prints a join: a node that stands for the members of a set. If an earlier join stands for some of
// them, an edge leads from it to the new one; the members that entered the set since then get edges
// of their own. So each member has one edge.
static void report_join(report_graph* graph, const orri_plan_waits* waits, orri_waits_set* set)
{
    uint32_t join = ++graph->joins;
    orri_text_add(graph->out, "    \"join %u\" [shape=ellipse, label=\"", join);
    report_count(set, graph->out);
    orri_text_add(graph->out, "\"];\n");
    if (set->join != 0) {
        orri_text_add(graph->out, "    \"join %u\" -> \"join %u\";\n", set->join, join);
    }
    for (uint32_t link1 = set->last1; link1 != set->joined1;) {
        const orri_waits_link* link = &waits->links[link1 - 1];
        orri_text_add(graph->out, "    \"%s\" -> \"join %u\";\n",
                      waits->pipe->steps[link->step].system->desc.name, join);
        link1 = link->before1;
    }
    set->join = join;
    set->joined1 = set->last1;
}

// A reason that many systems have as an edge from their join.
static void report_arrow_many(void* user, const orri_plan_waits* waits, orri_waits_set* set,
                              const orri_system* to, const char* why)
{
    report_graph* graph = user;
    if (set->joined1 != set->last1) {
        report_join(graph, waits, set);
    }
    orri_text_add(graph->out, "    \"join %u\" -> \"%s\" [label=\"%s\"];\n", set->join,
                  to->desc.name, why);
}

// Prints a commit point after the system `before` (may be NULL) as a diamond.
static void report_diamond(const orr_world* world, const orri_step* step, const orri_system* before,
                           uint32_t number, orri_text* out)
{
    orri_text_add(out, "    \"commit %u\" [shape=diamond, label=\"commit %u\\n", number, number);
    report_reason(world, &step->reason, out);
    orri_text_add(out, "\"];\n");
    if (before != NULL) {
        orri_text_add(out, "    \"%s\" -> \"commit %u\" [style=dashed];\n", before->desc.name,
                      number);
    }
    if (step->reason.reader != NULL) {
        orri_text_add(out, "    \"commit %u\" -> \"%s\" [style=dashed];\n", number,
                      step->reason.reader->desc.name);
    }
}

// Prints steps as boxes and commit points as diamonds. False when refused (reported).
static bool report_boxes(const orri_pipeline* pipe, report_graph* graph)
{
    orri_plan_waits waits = {
        .reason = report_arrow, .reason_many = report_arrow_many, .user = graph};
    const orri_system* before = NULL;
    bool done = orri_waits_begin(&waits, pipe);
    for (uint32_t i = 0; done && i < pipe->step_count; i++) {
        const orri_step* step = &pipe->steps[i];
        if (step->system != NULL) {
            orri_text_add(graph->out, "    \"%s\"%s;\n", step->system->desc.name,
                          step->system->desc.kind == ORR_INDIRECT ? " [style=rounded]" : "");
            done = orri_waits_step(&waits, i);
            before = step->system;
        } else if (step->commit) {
            report_diamond(pipe->world, step, before, ++graph->points, graph->out);
        }
    }
    orri_waits_end(&waits);
    return done;
}

// Prints the boxes of all pipelines. False when refused (reported).
static bool report_all_boxes(const struct orri_schedule* schedule, orri_text* out)
{
    report_graph graph = {.out = out};
    bool done = true;
    for (uint32_t i = 0; done && i < schedule->pipeline_count; i++) {
        bool several = schedule->pipeline_count > 1;
        if (several) {
            orri_text_add(out, "    subgraph cluster_%u {\n    label=\"%s\";\n", i,
                          schedule->pipelines[i]->name);
        }
        done = report_boxes(schedule->pipelines[i], &graph);
        orri_text_add(out, several ? "    }\n" : "");
    }
    return done;
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
    size_t head = text.length;
    if (schedule != NULL && !report_all_boxes(schedule, &text)) {
        text.length = head;
        report_no_plan(world, &why);
        schedule = NULL;
    }
    if (schedule == NULL) {
        orri_text_add(&text, "/* %s*/\n", words);
    }
    orri_text_add(&text, "}\n");
    return text.length;
}
