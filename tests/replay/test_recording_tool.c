// SPDX-License-Identifier: MIT
// The recording tool, called as a function.
#define _GNU_SOURCE // fmemopen, truncate
#include "replay/replay_kit.h"

#include "../../apps/recording/tool.h"

static char output[1 << 16], error_output[4096];

static int tool_run(uint32_t count, char** words)
{
    char* argv[8] = {(char*)(uintptr_t) "orrery-recording"};
    memcpy(argv + 1, words, count * sizeof *words);
    FILE* out = fmemopen(output, sizeof output, "w");
    FILE* err = fmemopen(error_output, sizeof error_output, "w");
    CHECK(out != NULL && err != NULL);
    int code = tool_main((int)count + 1, argv, out, err);
    fclose(out);
    fclose(err);
    return code;
}

#define RUN(...)       tool_run(sizeof((char*[]){__VA_ARGS__}) / sizeof(char*), (char*[]){__VA_ARGS__})
#define ARGUMENT(text) ((char*)(uintptr_t)(text))

// Records a run that differs from others by the calls posted before tick `odd`.
static void tool_make(const char* path, uint32_t ticks, uint32_t odd)
{
    stage s;
    orr_recording* recording = orr_recording_create();
    stage_make(&s, &(orr_world_desc){.rate_hz = 90}, true);
    dev = (device){0};
    CHECK_OK(orr_record(s.world, recording, &(orr_record_desc){.hash_every = 5}));
    for (uint32_t i = 1; i <= ticks; i++) {
        if (i == odd) {
            uint32_t count = 3;
            CHECK_OK(orr_post(s.world, call_spawn, &count, sizeof count));
        }
        CHECK_OK(orr_run_until(s.world, i, NULL, NULL));
    }
    CHECK_OK(orr_record_end(s.world));
    CHECK_OK(orr_recording_save(s.world, recording, path));
    stage_end(&s);
    orr_recording_destroy(recording);
}

ORR_TEST(tool_shows_checks_cuts_and_compares_recordings)
{
    char a[200], b[200], c[200];
    snprintf(a, sizeof a, "%s", stage_path("a"));
    snprintf(b, sizeof b, "%s", stage_path("b"));
    snprintf(c, sizeof c, "%s", stage_path("c"));
    tool_make(a, 40, 11);
    tool_make(b, 40, 23);
    CHECK_EQ(RUN(ARGUMENT("--help")), TOOL_OK);
    CHECK_CONTAINS(output, "compare A B");
    CHECK_CONTAINS(output, "more ticks than the other"); // That is a difference, too.
    CHECK_EQ(RUN(ARGUMENT("info"), a), TOOL_OK);
    CHECK_CONTAINS(output, "lockstep");
    CHECK_CONTAINS(output, "40, from 0 to 40");
    CHECK_CONTAINS(output, "spawn 1");
    CHECK_CONTAINS(output, "physics (90 Hz)");
    CHECK_CONTAINS(output, "sense (impure)");
    CHECK_EQ(RUN(ARGUMENT("list"), a, ARGUMENT("--from"), ARGUMENT("10"), ARGUMENT("--to"),
                 ARGUMENT("12")),
             TOOL_OK);
    CHECK_CONTAINS(output, "spawn(4)");
    CHECK_CONTAINS(output, "hash ");
    CHECK(strstr(output, "        13  ") == NULL && strstr(output, "        12  ") != NULL);
    CHECK_EQ(RUN(ARGUMENT("check"), a), TOOL_OK);
    CHECK_CONTAINS(output, "complete");
    CHECK_EQ(RUN(ARGUMENT("compare"), a, a), TOOL_OK);
    CHECK_EQ(RUN(ARGUMENT("compare"), a, b), TOOL_DIFFERENT);
    CHECK_CONTAINS(output, "tick 11 differs: the calls before it");
    CHECK_EQ(RUN(ARGUMENT("cut"), b, ARGUMENT("10"), c), TOOL_OK);
    CHECK_EQ(RUN(ARGUMENT("compare"), a, c), TOOL_DIFFERENT);
    CHECK_CONTAINS(output, "equal up to tick 10");
    CHECK_EQ(RUN(ARGUMENT("cut"), b, ARGUMENT("41"), c), TOOL_BAD);
    CHECK_EQ(RUN(ARGUMENT("cut"), b, ARGUMENT("x"), c), TOOL_WRONG);
    CHECK_EQ(truncate(c, 900), 0);
    CHECK_EQ(RUN(ARGUMENT("check"), c), TOOL_DIFFERENT);
    CHECK_CONTAINS(output, "truncated");
    CHECK_EQ(RUN(ARGUMENT("info"), ARGUMENT("/nowhere")), TOOL_BAD);
    CHECK_CONTAINS(error_output, "/nowhere");
    CHECK_EQ(RUN(ARGUMENT("shred"), a), TOOL_WRONG);
    CHECK_EQ(RUN(ARGUMENT("info")), TOOL_WRONG);
    CHECK_EQ(remove(a) | remove(b) | remove(c), 0);
}
