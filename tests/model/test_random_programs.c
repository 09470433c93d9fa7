// SPDX-License-Identifier: MIT
// Random programs over the public API (program.h): systems of all kinds, several pipelines, changes
// between ticks, travels in time, recordings, refused memory and wrong calls. All ways to run a
// program (with `.workers = ` 1, 2, 4 and 8, among others) have the hashes of the straight run without
// workers. A failure prints the program, reduced if that is possible, and `--seed N` repeats it: the
// first program of a test has the seed of the run.
#include "model/program.h"
#include "test.h"

#include <stdlib.h>

static void verify_all_ways(const program* p, program_result* out)
{
    program_verify(p, 0, out);
}

static void programs_check(uint64_t seed, uint32_t count)
{
    program* p = malloc(sizeof *p);
    program_result* result = malloc(2 * sizeof *result);
    uint32_t done = 0;
    uint64_t ticks = 0, travels = 0, refusals = 0, replays = 0;
    CHECK(p != NULL && result != NULL);
    uint64_t start_ns = program_clock();
    for (; program_next(done, count, seed + done, start_ns); done++) {
        program_make(p, seed + done);
        program_verify(p, 0, result);
        if (result->failed) {
            fprintf(stderr, "  seed %" PRIu64 ": %s\n", p->seed, result->text);
            program_reduce(p, result, verify_all_ways, 400);
            program_print(p);
            test_fail(__FILE__, __LINE__, "the program of seed %" PRIu64 ", reduced: %s", p->seed,
                      result->text);
        }
        ticks += result->ticks;
        travels += result->travels;
        refusals += result->refusals;
        replays += result->replays;
    }
    printf("  %u programs: %" PRIu64 " ticks, %" PRIu64 " travels, %" PRIu64
           " refused allocations, %" PRIu64 " replays\n",
           done, ticks, travels, refusals, replays);
    free(p);
    free(result);
}

ORR_TEST(random_programs_have_the_same_hashes_in_all_ways)
{
    programs_check(test_seed(), test_rounds(300, 30, 2000));
}

// Stands for a bug that needs a playback step and a tick after it.
static void fails_after_stretch(const program* p, program_result* out)
{
    memset(out, 0, sizeof *out);
    bool stretched = false;
    for (uint32_t i = 0; i < p->step_count; i++) {
        stretched = stretched || p->steps[i].op == PROGRAM_OP_STRETCH;
        out->failed = out->failed || (stretched && p->steps[i].op == PROGRAM_OP_TICK);
    }
}

ORR_TEST(failed_program_is_reduced_to_the_steps_that_it_needs)
{
    program* p = malloc(sizeof *p);
    CHECK(p != NULL);
    for (uint64_t seed = 1; seed < 40; seed++) {
        program_result result;
        program_make(p, seed);
        fails_after_stretch(p, &result);
        if (result.failed) {
            program_reduce(p, &result, fails_after_stretch, 400);
            CHECK_EQ(p->step_count, 2);
            CHECK_EQ(p->steps[0].op, PROGRAM_OP_STRETCH);
            CHECK_EQ(p->steps[1].op, PROGRAM_OP_TICK);
        }
    }
    free(p);
}
