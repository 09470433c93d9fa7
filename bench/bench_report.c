// SPDX-License-Identifier: MIT
// Report: a table for people and bench.json for programs.
#define _POSIX_C_SOURCE 200809L // popen
#include "bench.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The build defines the compiler flags. Otherwise only the optimisation state is known.
#ifndef ORR_BENCH_FLAGS
#ifdef __OPTIMIZE__
#define ORR_BENCH_FLAGS "optimised"
#else
#define ORR_BENCH_FLAGS "not optimised"
#endif
#endif

#if defined(__clang__)
#define REPORT_COMPILER "clang " __clang_version__
#else
#define REPORT_COMPILER "gcc " __VERSION__
#endif

void bench_param_text(const bench_row* row, const bench_figures* figures, char out[32])
{
    out[0] = '\0';
    if (row->clusters != 0) {
        snprintf(out, 32, "clusters=%" PRIu32, row->clusters);
    } else if (figures->workers != 0) {
        snprintf(out, 32, "workers=%" PRIu32, figures->workers);
    } else if (figures->tick_items != 0) { // Half of two_pipelines' messages.
        snprintf(out, 32, "changes=%" PRIu32, figures->tick_items / 2);
    }
}

// Formats a number with thousands separators, as in the table of goals.
static void report_number(uint32_t number, char out[16])
{
    char digits[12];
    int length = snprintf(digits, sizeof digits, "%" PRIu32, number), used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            out[used++] = ',';
        }
        out[used++] = digits[i];
    }
    out[used] = '\0';
}

// The commit of the working directory; a benchmark runs where it was built.
static const char* report_commit(void)
{
    static char commit[64];
    const char* given = getenv("ORR_COMMIT");
    if (given != NULL) {
        snprintf(commit, sizeof commit, "%s", given);
    }
    if (commit[0] == '\0') {
        FILE* git = popen("git describe --always --dirty 2>/dev/null", "r");
        if (git != NULL) {
            if (fgets(commit, sizeof commit, git) != NULL) {
                commit[strcspn(commit, "\r\n\"\\")] = '\0';
            }
            pclose(git);
        }
    }
    return commit[0] != '\0' ? commit : "unknown";
}

void bench_head_print(uint32_t repeats)
{
    printf("Orrery %s at %s, benchmarks compiled with %s\n", orr_version(), report_commit(),
           REPORT_COMPILER);
    printf("flags of this program (both sides): %s\n", ORR_BENCH_FLAGS);
    printf("best of %" PRIu32
           " repeats, ours and the limit alternating; ns of thread time per item\n\n",
           repeats);
}

void bench_table_head_print(void)
{
    printf("%-22s %10s  %-13s %9s %9s %7s %7s\n", "workload", "n", "param", "ours", "limit",
           "ratio", "goal");
    fflush(stdout);
}

void bench_table_row_print(const bench_row* row, const bench_figures* figures)
{
    char n[16], param[32], goal[16] = "-";
    report_number(row->n, n);
    bench_param_text(row, figures, param);
    if (row->goal > 0) {
        snprintf(goal, sizeof goal, "%.4g", row->goal);
    }
    printf("%-22s %10s  %-13s %9.3f %9.3f %7.3f %7s  %s\n", row->work->name, n, param, figures->ns,
           figures->limit_ns, figures->ratio, goal,
           row->goal <= 0                ? ""
           : figures->ratio <= row->goal ? "met"
                                         : "MISSED");
    if (figures->tick_items != 0) {
        double rate = 1e9 / figures->ns;
        printf("%22s %.3g million a second, in %.0f ticks of each pipeline\n", "", rate / 1e6,
               rate / figures->tick_items);
    }
    fflush(stdout);
}

void bench_json_write(const char* path, const bench_row* rows, const bench_figures* figures,
                      uint32_t count)
{
    FILE* file = fopen(path, "w");
    if (file == NULL) {
        bench_die("cannot write %s", path);
    }
    fprintf(file, "[");
    for (uint32_t i = 0; i < count; i++) {
        char param[32];
        bench_param_text(&rows[i], &figures[i], param);
        fprintf(file,
                "%s\n  {\"workload\": \"%s\", \"n\": %" PRIu32 ", \"param\": \"%s\", "
                "\"ns_per_item\": %.4f, \"limit_ns_per_item\": %.4f, \"ratio\": %.4f, "
                "\"commit\": \"%s\", \"compiler\": \"%s\", \"flags\": \"%s\"}",
                i == 0 ? "" : ",", rows[i].work->name, rows[i].n, param, figures[i].ns,
                figures[i].limit_ns, figures[i].ratio, report_commit(), REPORT_COMPILER,
                ORR_BENCH_FLAGS);
    }
    fprintf(file, "\n]\n");
    if (ferror(file) != 0 || fclose(file) != 0) {
        bench_die("cannot write %s", path);
    }
}
