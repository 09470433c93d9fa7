// SPDX-License-Identifier: MIT
// Runs a random program in all ways.
#include "model/program.h"
#include "test.h"

#include <stdlib.h>
// ---- all ways -----------------------------------------------------------------------------------

void program_verify_way(program_run* r, const program* p, const program_way* way,
                        program_track* track, bool first, program_result* out)
{
    program_begin(r, p, way);
    if (way->record) {
        orr_record_desc desc = {.hash_every = 1 + (uint32_t)(p->seed % 3)};
        orr_result result = orr_record(r->world, r->recording, &desc);
        PROGRAM_CHECK(r, result == ORR_OK, "orr_record: %s", r->k.errors.text);
    }
    program_run_steps(r, track, first, out);
    if (way->record) {
        orr_result result = orr_record_end(r->world);
        PROGRAM_CHECK(r, result == ORR_OK, "orr_record_end: %s", r->k.errors.text);
    }
    out->refusals += r->refusals;
    program_rest(r);
    program_end(r);
}

static void verify_all(const program* p, uint32_t ways, program_result* out, jmp_buf* failed)
{
    static const uint32_t counts[] = {1, 2, 4, 8};
    uint32_t workers = counts[p->seed % 4];
    const program_way list[] = {
        {.name = "straight"},
        {.name = "with workers", .workers = workers},
        {.name = "back and ahead", .workers = p->seed % 2 == 0 ? 0 : workers, .wander = true},
        {.name = "recorded", .workers = workers, .record = true},
        {.name = "with refused memory", .refuse = true},
        {.name = "with journal and full checks", .workers = 2, .watched = true, .wander = true},
        {.name = "back and ahead, recorded", .wander = true, .record = true},
        {.name = "back and ahead, with refused memory",
         .workers = p->seed % 2 == 0 ? workers : 0,
         .wander = true,
         .refuse = true},
        {.name = "without spectators, with a window",
         .workers = workers,
         .no_spectators = true,
         .wander = true,
         .window = true},
        // In long runs each program runs with all numbers of workers.
        {.name = "with 1 worker", .workers = 1},
        {.name = "with 2 workers", .workers = 2},
        {.name = "with 4 workers", .workers = 4},
        {.name = "with 8 workers", .workers = 8},
    };
    const uint32_t count = sizeof list / sizeof *list - (test_long() ? 0 : 4);
    program_track* track = calloc(1, sizeof *track);
    CHECK(track != NULL);
    for (uint32_t i = 0; i < count && (ways == 0 || i < ways); i++) {
        if (list[i].record) {
            if (p->posted) {
                program_verify_recorded(p, &list[i], track, out, failed);
            }
            continue;
        }
        program_run* r = calloc(1, sizeof *r);
        CHECK(r != NULL);
        r->failed = failed;
        r->failure = out->text;
        program_verify_way(r, p, &list[i], track, i == 0, out);
        free(r);
    }
    out->ticks = track->ticks[p->step_count - 1];
    out->hash = orr_hash(track->hashes, p->step_count * sizeof track->hashes[0], 0);
    free(track);
}

static jmp_buf* verify_failed;
static char* verify_text;

static void verify_assert(const char* condition, const char* file, int line, const char* function)
{
    snprintf(verify_text, 1024, "%s:%d: assertion in %s: %s", file, line, function, condition);
    program_reason = orr_hash(condition, strlen(condition), 0);
    longjmp(*verify_failed, 1);
}

// A failed run is left as it is: its memory is not freed.
void program_verify(const program* p, uint32_t ways, program_result* out)
{
    jmp_buf failed;
    memset(out, 0, sizeof *out);
    verify_failed = &failed;
    verify_text = out->text;
    orr_assert_handler_set(verify_assert);
    if (p->step_count == 0) {
        return;
    }
    if (setjmp(failed) == 0) {
        verify_all(p, ways, out, &failed);
    } else {
        out->failed = true;
        out->reason = program_reason;
    }
}
