// SPDX-License-Identifier: MIT
// Main program: parses options, runs the selected rows and prints the report.
#include "bench.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAIN_ROWS_MAX 128

typedef struct main_options {
    const char* names[MAIN_ROWS_MAX]; // Empty: all workloads.
    uint32_t name_count;
    uint32_t repeats;
    uint32_t n; // 0: the sizes of the table.
    bool grow, waits, list, help;
    const char* out;
} main_options;

static const char main_help[] =
    "usage: orr_bench [options] [NAME…]\n"
    "Measures each workload and the same work on raw arrays alternately, and compares the\n"
    "results. "
    "Prints a table and writes bench.json. With NAME… runs only these workloads.\n"
    "\n"
    "  --quick       5 repeats instead of 20; all workloads take less than a minute\n"
    "  --repeats N   number of repeats, 1 to 1000. Default 20\n"
    "  --n N         number of items instead of the sizes of the table, 1000 to 50000000\n"
    "  --grow        cost per item for 1,000 to 10,000,000 entities, 1 to 4096 clusters\n"
    "                and 1 to 1000 systems\n"
    "  --waits       waiting times between pipelines in real time\n"
    "  --out FILE    path of the JSON file. Default bench.json\n"
    "  --list        list the workloads\n"
    "  --help        print this text\n"
    "\n"
    "Times are the best of all repeats. \"limit\" is the compiler's best loop on plain, warm\n"
    "arrays with an 8-byte record per entity. \"ratio\" is ours / limit. A missed goal is not an\n"
    "error: the exit code is 0.\n";

static _Noreturn void main_refuse(const char* what, const char* argument)
{
    fprintf(stderr, "orr_bench: %s \"%s\". Try --help or --list.\n", what, argument);
    exit(2);
}

static const bench_row* main_row_find(const char* name)
{
    for (const bench_row* row = bench_rows; row->work != NULL; row++) {
        if (strcmp(row->work->name, name) == 0) {
            return row;
        }
    }
    return NULL;
}

static uint32_t main_number(int argc, char** argv, int* at, uint32_t min, uint32_t max)
{
    const char* option = argv[*at];
    if (*at + 1 >= argc) {
        main_refuse("a number must follow", option);
    }
    const char* text = argv[++*at];
    char* end;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || value < min || value > max) {
        fprintf(stderr,
                "orr_bench: %s takes a number from %" PRIu32 " to %" PRIu32 ", not \"%s\".\n",
                option, min, max, text);
        exit(2);
    }
    return (uint32_t)value;
}

static void main_name_add(main_options* options, const char* name)
{
    if (name[0] == '-') {
        main_refuse("unknown option", name);
    }
    if (main_row_find(name) == NULL) {
        main_refuse("unknown workload", name);
    }
    if (options->name_count == MAIN_ROWS_MAX) {
        main_refuse("too many workloads at", name);
    }
    options->names[options->name_count++] = name;
}

static main_options main_options_read(int argc, char** argv)
{
    main_options options = {.repeats = 20, .out = "bench.json"};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            options.repeats = 5;
        } else if (strcmp(argv[i], "--repeats") == 0) {
            options.repeats = main_number(argc, argv, &i, 1, 1000);
        } else if (strcmp(argv[i], "--n") == 0) {
            options.n = main_number(argc, argv, &i, 1000, 50000000);
        } else if (strcmp(argv[i], "--out") == 0 && i + 1 < argc) {
            options.out = argv[++i];
        } else if (strcmp(argv[i], "--grow") == 0) {
            options.grow = true;
        } else if (strcmp(argv[i], "--waits") == 0) {
            options.waits = true;
        } else if (strcmp(argv[i], "--list") == 0) {
            options.list = true;
        } else if (strcmp(argv[i], "--help") == 0) {
            options.help = true;
        } else {
            main_name_add(&options, argv[i]);
        }
    }
    return options;
}

static void main_list_print(void)
{
    const bench_work* last = NULL;
    for (const bench_row* row = bench_rows; row->work != NULL; row++) {
        if (row->work != last) {
            printf("%-22s per %s\n", row->work->name, row->work->what);
        }
        last = row->work;
    }
}

static bool main_selected(const main_options* options, const bench_row* row)
{
    for (uint32_t i = 0; i < options->name_count; i++) {
        if (strcmp(options->names[i], row->work->name) == 0) {
            return true;
        }
    }
    return options->name_count == 0;
}

// Writes the selected rows with their sizes to `out` and returns their number. With --n, rows that
// differ only in n are merged.
static uint32_t main_rows_select(const main_options* options, bench_row* out)
{
    uint32_t count = 0;
    for (const bench_row* row = bench_rows; row->work != NULL; row++) {
        bool twin = options->n != 0 && count > 0 && out[count - 1].work == row->work &&
                    out[count - 1].clusters == row->clusters;
        if (main_selected(options, row) && !twin) {
            out[count] = *row;
            if (options->n != 0) {
                out[count].n = options->n;
                out[count].goal = 0; // Goals hold for the sizes of the table only.
            }
            count++;
        }
    }
    return count;
}

static void main_rows_run(const main_options* options)
{
    bench_row rows[MAIN_ROWS_MAX];
    bench_figures figures[MAIN_ROWS_MAX];
    uint32_t count = main_rows_select(options, rows), goals = 0, met = 0;
    bench_table_head_print();
    for (uint32_t i = 0; i < count; i++) {
        fprintf(stderr, "orr_bench: %" PRIu32 " of %" PRIu32 ": %s, n = %" PRIu32 " …\n", i + 1,
                count, rows[i].work->name, rows[i].n);
        figures[i] = bench_measure(rows[i].work, rows[i].n, rows[i].clusters, options->repeats);
        bench_table_row_print(&rows[i], &figures[i]);
        goals += rows[i].goal > 0;
        met += rows[i].goal > 0 && figures[i].ratio <= rows[i].goal;
    }
    bench_json_write(options->out, rows, figures, count);
    printf("\n%" PRIu32 " of %" PRIu32 " goals met; figures written to %s\n", met, goals,
           options->out);
}

// The program may be compiled for AVX2, see its flags. Exits on a machine without it instead of
// crashing on an instruction.
static void main_machine_check(void)
{
#ifdef __AVX2__
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi2")) {
        bench_die("compiled for x86-64-v3, which this machine lacks: build without -march");
    }
#endif
}

int main(int argc, char** argv)
{
    main_options options = main_options_read(argc, argv);
    if (options.help) {
        fputs(main_help, stdout);
        return 0;
    }
    if (options.list) {
        main_list_print();
        return 0;
    }
    main_machine_check();
    bench_heap_warm(true);
    bench_head_print(options.repeats);
    if (options.grow) {
        bench_grow_print(options.repeats < 8 ? options.repeats : 8);
    } else if (options.waits) {
        bench_waits_print(options.repeats < 20 ? 60 : 240);
    } else {
        main_rows_run(&options);
    }
    return 0;
}
