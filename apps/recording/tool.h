// SPDX-License-Identifier: MIT
// The command-line tool for recordings as a function. main.c and the test call it.
#ifndef RECORDING_TOOL_H
#define RECORDING_TOOL_H

#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Exit codes.
enum {
    TOOL_OK = 0,
    TOOL_DIFFERENT = 1, // `compare`: the recordings or their lengths differ. `check`: truncated.
    TOOL_WRONG = 2,     // The arguments are wrong.
    TOOL_BAD = 3,       // A file cannot be read or written, or is damaged.
};

static const char tool_help[] =
    "orrery-recording: inspects recordings of worlds (docs/REPLAY.md)\n"
    "\n"
    "  info FILE                    prints a summary: ticks, calls, types, pipelines, systems\n"
    "  list FILE [--from T --to T]  prints the ticks: pipeline, dt, calls with sizes, bytes of\n"
    "                               impure systems, hash\n"
    "  check FILE                   reads the whole file and verifies its checksums\n"
    "  cut FILE TICK OUT            writes the recording up to a tick of the world to OUT\n"
    "  compare A B                  prints the first tick whose inputs or hashes differ\n"
    "  --help                       prints this text\n"
    "\n"
    "Exit codes:\n"
    "  0  success\n"
    "  1  compare: the recordings differ, or one has more ticks than the other;\n"
    "     check: the file is truncated\n"
    "  2  wrong arguments\n"
    "  3  a file cannot be read or written, or is damaged\n";

typedef struct tool {
    FILE *out, *err;
    orr_world* world; // Empty: files contain the names they need.
    orr_recording *a, *b;
} tool;

static void tool_on_error(void* user, orr_world* world, const orr_error* error)
{
    const tool* t = user;
    (void)world;
    fprintf(t->err, "orrery-recording: %s\n", error->text);
}

static int tool_wrong(const tool* t, const char* why)
{
    fprintf(t->err, "orrery-recording: %s; try --help\n", why);
    return TOOL_WRONG;
}

// Decimal digits only, at most 19 of them.
static bool tool_number(const char* text, uint64_t* out)
{
    char* end;
    bool digits = text[0] >= '0' && text[0] <= '9';
    *out = digits ? strtoull(text, &end, 10) : 0;
    return digits && *end == '\0' && strlen(text) < 20;
}

// ---- commands -----------------------------------------------------------------------------------

static int tool_info(const tool* t)
{
    size_t size = orr_recording_print(t->a, NULL, 0) + 1;
    char* text = malloc(size);
    if (text == NULL) {
        return TOOL_BAD;
    }
    orr_recording_print(t->a, text, size);
    fputs(text, t->out);
    free(text);
    return TOOL_OK;
}

static void tool_print_tick(const tool* t, const orr_recorded_tick* tick)
{
    fprintf(t->out, "%10" PRIu64 "  %-12s dt %.9g", tick->tick, tick->pipeline, (double)tick->dt);
    for (uint32_t i = 0; i < tick->call_count; i++) {
        orr_recorded_call call;
        if (orr_recording_call(t->a, tick->call_first + i, &call)) {
            fprintf(t->out, "%s %s(%u)", i == 0 ? "  calls" : "", call.name, call.size);
        }
    }
    if (tick->input_size > 0) {
        fprintf(t->out, "  impure %u", tick->input_size);
    }
    if (tick->hashed) {
        fprintf(t->out, "  hash %016" PRIx64, tick->hash);
    }
    fputc('\n', t->out);
}

static int tool_list(const tool* t, int argc, char** argv)
{
    uint64_t from = 0, to = UINT64_MAX;
    for (int i = 0; i < argc; i += 2) {
        bool is_from = strcmp(argv[i], "--from") == 0;
        if ((!is_from && strcmp(argv[i], "--to") != 0) || i + 1 >= argc ||
            !tool_number(argv[i + 1], is_from ? &from : &to)) {
            return tool_wrong(t, "list FILE [--from TICK] [--to TICK]");
        }
    }
    orr_recording_stats stats;
    orr_recording_stats_get(t->a, &stats);
    if (stats.realtime) {
        return tool_wrong(t,
                          "ticks of a real-time recording overlap and cannot be listed; use info");
    }
    from = from > stats.tick_first ? from : stats.tick_first + 1;
    to = to < stats.tick_last ? to : stats.tick_last;
    for (uint64_t at = from; at <= to; at++) {
        orr_recorded_tick tick;
        if (orr_recording_tick(t->a, at, &tick)) {
            tool_print_tick(t, &tick);
        }
    }
    return TOOL_OK;
}

static int tool_check(const tool* t, const char* path)
{
    orr_recording_stats stats;
    orr_recording_stats_get(t->a, &stats);
    fprintf(t->out, "%s: %" PRIu64 " ticks, %" PRIu64 " calls, %" PRIu64 " hashes; %s\n", path,
            stats.ticks, stats.calls, stats.hashes, stats.cut ? "truncated" : "complete");
    if (stats.cut) {
        fprintf(t->out, "ends after tick %" PRIu64 "\n", stats.tick_last);
    }
    return stats.cut ? TOOL_DIFFERENT : TOOL_OK;
}

static int tool_cut(const tool* t, const char* text, const char* out)
{
    uint64_t tick;
    if (!tool_number(text, &tick)) {
        return tool_wrong(t, "cut FILE TICK OUT, with a tick of the world");
    }
    if (orr_recording_cut(t->a, tick) != ORR_OK) {
        fprintf(t->err, "orrery-recording: the recording cannot be cut after tick %" PRIu64 "\n",
                tick);
        return TOOL_BAD;
    }
    return orr_recording_save(t->world, t->a, out) == ORR_OK ? TOOL_OK : TOOL_BAD;
}

static int tool_compare(const tool* t)
{
    orr_recording_difference difference;
    orr_recording_stats a, b;
    orr_recording_stats_get(t->a, &a);
    orr_recording_stats_get(t->b, &b);
    if (orr_recording_compare(t->a, t->b, &difference) != ORR_OK) {
        return tool_wrong(t, "only recordings of lockstep can be compared");
    }
    if (difference.differ) {
        fprintf(t->out, "tick %" PRIu64 " differs: %s\n", difference.tick, difference.what);
        if (difference.hash_a != difference.hash_b) {
            fprintf(t->out, "%016" PRIx64 " and %016" PRIx64 "\n", difference.hash_a,
                    difference.hash_b);
        }
        return TOOL_DIFFERENT;
    }
    if (a.ticks != b.ticks) {
        fprintf(t->out, "equal up to tick %" PRIu64 ", where one recording ends\n",
                a.tick_last < b.tick_last ? a.tick_last : b.tick_last);
        return TOOL_DIFFERENT;
    }
    fprintf(t->out, "equal: %" PRIu64 " ticks\n", a.ticks);
    return TOOL_OK;
}

// ---- running a command --------------------------------------------------------------------------

static int tool_do(const tool* t, int argc, char** argv)
{
    const char* command = argc > 1 ? argv[1] : "";
    bool info = strcmp(command, "info") == 0, list = strcmp(command, "list") == 0;
    bool check = strcmp(command, "check") == 0, cut = strcmp(command, "cut") == 0;
    bool compare = strcmp(command, "compare") == 0;
    int wanted = info || check ? 3 : cut ? 5 : compare ? 4 : list ? argc : -1;
    if (argc < 3 || argc != wanted) {
        return tool_wrong(t, argc > 1 ? "unknown command, or wrong arguments" : "no command");
    }
    if (orr_recording_load(t->world, t->a, argv[2]) != ORR_OK ||
        (compare && orr_recording_load(t->world, t->b, argv[3]) != ORR_OK)) {
        return TOOL_BAD;
    }
    return info    ? tool_info(t)
           : list  ? tool_list(t, argc - 3, argv + 3)
           : check ? tool_check(t, argv[2])
           : cut   ? tool_cut(t, argv[3], argv[4])
                   : tool_compare(t);
}

static int tool_main(int argc, char** argv, FILE* out, FILE* err)
{
    tool t = {.out = out, .err = err};
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(tool_help, out);
        return TOOL_OK;
    }
    t.world = orr_world_create(&(orr_world_desc){.on_error = tool_on_error, .on_error_user = &t});
    t.a = orr_recording_create();
    t.b = orr_recording_create();
    int code = TOOL_BAD;
    if (t.world == NULL || t.a == NULL || t.b == NULL) {
        fprintf(err, "orrery-recording: out of memory\n");
    } else {
        code = tool_do(&t, argc, argv);
    }
    orr_recording_destroy(t.a);
    orr_recording_destroy(t.b);
    if (t.world != NULL) {
        orr_world_destroy(t.world);
    }
    return code;
}

#endif
