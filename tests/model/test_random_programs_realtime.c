// SPDX-License-Identifier: MIT
// Random programs (program.h) in real time: each pipeline on its thread, steps posted by two other
// threads, travels at sync points, spectators. Every run is recorded; its replay, with or without
// spectators, reaches the same hash. At rest the copies that readers built from messages equal the
// world. A program that fails is reduced: each smaller program runs several times, because its
// failure may depend on timing. `--seed N` repeats the program, not its timing.
#include "model/program.h"
#include "replay/desync.h"
#include "test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CHILD_SECONDS = 240 // That a program may take; it takes less than one.
};

// ---- calls at sync points -----------------------------------------------------------------------

static void realtime_check(const program_run* r, bool good, const char* call)
{
    if (!good) {
        program_fault("%s at a sync point: %s", call, orr_error_last(r->world));
    }
}

static void realtime_back(program_run* r, uint32_t slot)
{
    uint64_t tick = r->slots[slot].tick;
    if (!r->slots[slot].there || tick > orr_world_tick(r->world)) {
        return;
    }
    bool there = orr_remembered(r->world, tick);
    uint64_t now = orr_world_tick(r->world);
    orr_result result = orr_time_travel(r->world, tick);
    realtime_check(
        r, result == ORR_OK || result == ORR_ERR_CONFLICT || (result == ORR_ERR_PAST && !there),
        "orr_time_travel");
    realtime_check(r, orr_world_tick(r->world) == (result == ORR_OK ? tick : now),
                   "the tick after orr_time_travel");
    r->slots[slot].there = result == ORR_OK;
}

// Remembers, forgets, goes back, runs ahead.
static void realtime_history(orr_world* world, void* data, size_t size)
{
    (void)size;
    program_run* r = program_current;
    program_step step;
    memcpy(&step, data, sizeof step);
    uint64_t tick = orr_world_tick(world);
    switch (step.op) {
    case PROGRAM_OP_REMEMBER:
        realtime_check(r, orr_remember(world) == ORR_OK, "orr_remember");
        r->slots[step.number].there = true;
        r->slots[step.number].tick = tick;
        break;
    case PROGRAM_OP_FORGET:
        (void)orr_forget_range(world, 0, tick, 2);
        break;
    case PROGRAM_OP_BACK:
        realtime_back(r, step.number);
        break;
    default:
        realtime_check(r, orr_time_travel(world, tick + 1 + step.dice % 6) == ORR_OK,
                       "orr_time_travel ahead");
        break;
    }
    realtime_check(r, orr_world_validate(world) == ORR_OK, "orr_world_validate");
    realtime_check(r, orr_world_hash(world) != 0, "orr_world_hash");
}

// ---- threads that post --------------------------------------------------------------------------

typedef struct poster {
    program_run* r;
    uint32_t number; // Posts every second step.
    _Atomic uint32_t* left;
    pthread_t thread;
} poster;

static void post(const poster* p, const program_step* step)
{
    orr_world* world = p->r->world;
    bool history = step->op >= PROGRAM_OP_REMEMBER;
    if (history) {
        (void)orr_post_exclusive(world, realtime_history, step, sizeof *step);
    } else if (step->op >= PROGRAM_OP_SYSTEM_ADD) {
        (void)orr_post_exclusive(world, program_change, step, sizeof *step);
    } else if (step->op > PROGRAM_OP_UPDATE && step->op != PROGRAM_OP_WRONG) {
        (void)orr_post(world, program_change, step, sizeof *step);
    }
}

static void* poster_run(void* arg)
{
    poster* p = arg;
    const orr_platform* platform = orr_platform_default();
    while (!orr_running(p->r->world)) {
        platform->sleep_ns(platform->user, 50000);
    }
    for (uint32_t i = p->number; i < p->r->p->step_count; i += 2) {
        post(p, &p->r->p->steps[i]);
        post(p, &(program_step){.op = PROGRAM_OP_CULL});
        platform->sleep_ns(platform->user, 800000);
    }
    if (atomic_fetch_sub(p->left, 1) == 1) {
        orr_stop(p->r->world);
    }
    return NULL;
}

// ---- runs ---------------------------------------------------------------------------------------

// Continuous pipelines of the simulation would run as fast as they can, and outgrow the mirrors.
static void realtime_make(program* p, uint64_t seed)
{
    program_make(p, seed);
    for (uint32_t i = 0; i < p->pipeline_count; i++) {
        bool continuous = p->pipelines[i].rate_hz == 0 && !p->pipelines[i].spectator;
        p->pipelines[i].rate_hz = continuous ? 90 : p->pipelines[i].rate_hz;
    }
    p->rate_hz = p->pipelines[0].rate_hz;
}

static void realtime_begin(program_run* r, const program* p, const program_way* way)
{
    program_begin(r, p, way);
    orr_result result =
        orr_call_register(r->world, "history", realtime_history, sizeof(program_step));
    PROGRAM_CHECK(r, result == ORR_OK, "%s", r->k.errors.text);
    result = orr_time_scale_set(r->world, 10);
    PROGRAM_CHECK(r, result == ORR_OK, "%s", r->k.errors.text);
}

static void realtime_result(program_run* r, orr_result result)
{
    r->threads = false;
    PROGRAM_CHECK(r, program_ran(r, result), "orr_realtime is %s: %s", orr_result_name(result),
                  r->k.errors.text);
    PROGRAM_CHECK(r, atomic_load(&program_faults) == 0, "%s", program_fault_text);
    result = orr_world_validate(r->world);
    PROGRAM_CHECK(r, result == ORR_OK, "orr_world_validate: %s", r->k.errors.text);
}

static void realtime_run(program_run* r, const program* p, orr_recording* recording)
{
    _Atomic uint32_t left = 2;
    poster posters[2] = {{.r = r, .number = 0, .left = &left},
                         {.r = r, .number = 1, .left = &left}};
    realtime_begin(r, p, &(program_way){.name = "real time", .workers = (uint32_t)(p->seed % 3)});
    r->threads = true;
    for (uint32_t i = 0; i < 2; i++) {
        CHECK(pthread_create(&posters[i].thread, NULL, poster_run, &posters[i]) == 0);
    }
    orr_result result = orr_realtime(
        r->world, &(orr_realtime_desc){.record = recording, .hashes = p->seed % 2 == 0});
    for (uint32_t i = 0; i < 2; i++) {
        CHECK(pthread_join(posters[i].thread, NULL) == 0);
    }
    realtime_result(r, result);
}

// Fails with the first difference of two worlds that should be equal.
static void realtime_compare(program_run* recorded, program_run* replayed)
{
    uint64_t hash = orr_world_hash(recorded->world);
    if (orr_world_hash(replayed->world) == hash) {
        return;
    }
    orr_desync found = {.what = "nothing that can be named"};
    (void)orri_world_diff(recorded->world, replayed->world, "", &found);
    program_fail(replayed,
                 "the replayed hash differs: %s, %s %s %s, entity %s, at first %s, then %s",
                 found.what, found.system, found.component, found.field, found.entity_text,
                 found.value_a, found.value_b);
}

static void realtime_replay(program_run* r, const program* p, orr_recording* recording)
{
    realtime_begin(r, p,
                   &(program_way){.name = "replay of real time",
                                  .workers = (uint32_t)(p->seed % 2 * 2),
                                  .no_spectators = p->seed % 3 == 0});
    if (p->seed % 2 == 0) {
        program_save_and_load(r, recording);
    }
    r->threads = true;
    orr_result result = orr_realtime(r->world, &(orr_realtime_desc){.replay = recording});
    PROGRAM_CHECK(r, strstr(orr_error_last(r->world), "the replay differs") == NULL, "%s",
                  orr_error_last(r->world));
    realtime_result(r, result);
    PROGRAM_CHECK(r, r->gifts == 0, "a replay called an impure system");
}

// ---- a process for each program -----------------------------------------------------------------

// A program that fails may leave threads behind that wait for each other. So it runs in a process of
// its own, which sends the failure through a pipe; its reduced programs do, too.
static int child_out = -1;
static char child_text[1024];

_Noreturn static void child_end(bool failed)
{
    program_result result = {.failed = failed, .reason = program_reason};
    memcpy(result.text, child_text, sizeof child_text);
    bool sent = write(child_out, &result, sizeof result) == (ssize_t)sizeof result;
    fflush(NULL);
    if (failed || !sent) {
        _exit(1);
    }
    exit(0); // Sanitizers report leaks and races.
}

static void child_died(program_run* r)
{
    (void)r;
    child_end(true);
}

static void child_assert(const char* condition, const char* file, int line, const char* function)
{
    snprintf(child_text, sizeof child_text, "%s:%d: assertion in %s: %s", file, line, function,
             condition);
    program_reason = orr_hash(condition, strlen(condition), 0);
    child_end(true);
}

_Noreturn static void child_run(const program* p)
{
    jmp_buf failed;
    orr_assert_handler_set(child_assert);
    (void)alarm(CHILD_SECONDS); // A program that hangs fails.
    orr_recording* recording = orr_recording_create();
    program_run* r = calloc(2, sizeof *r);
    if (recording == NULL || r == NULL) {
        _exit(2);
    }
    for (uint32_t i = 0; i < 2; i++) {
        r[i].failed = &failed;
        r[i].failure = child_text;
        r[i].died = child_died;
    }
    if (setjmp(failed) != 0) {
        child_end(true);
    }
    realtime_run(&r[0], p, recording);
    realtime_replay(&r[1], p, recording);
    realtime_compare(&r[0], &r[1]);
    for (uint32_t i = 0; i < 2; i++) {
        program_rest(&r[i]);
        program_end(&r[i]);
    }
    orr_recording_destroy(recording);
    free(r);
    child_end(false);
}

// A process that ended without a word crashed, hung, or was ended by a sanitizer.
static void child_result(int status, bool reported, program_result* out)
{
    bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (reported && (out->failed || good)) {
        return;
    }
    out->failed = true;
    out->reason = 1 + (uint64_t)status;
    snprintf(out->text, sizeof out->text, "its process ended with %s %d",
             WIFSIGNALED(status) ? "signal" : "exit code",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void realtime_once(const program* p, program_result* out)
{
    int ends[2], status = 0;
    memset(out, 0, sizeof *out);
    fflush(NULL);
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        (void)close(ends[0]);
        child_out = ends[1];
        child_run(p);
    }
    (void)close(ends[1]);
    bool reported = read(ends[0], out, sizeof *out) == (ssize_t)sizeof *out;
    (void)close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child);
    child_result(status, reported, out);
}

// A failure may depend on timing: a program that succeeds runs again.
static void realtime_trial(const program* p, program_result* out)
{
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < 5 && p->step_count > 0 && !out->failed; i++) {
        realtime_once(p, out);
    }
}

ORR_TEST(random_programs_in_real_time_replay_to_the_same_hash)
{
    uint32_t count = test_rounds(100, 20, 1000), done = 0;
    uint64_t seed = test_seed(), start_ns = program_clock();
    for (; program_next(done, count, seed + done, start_ns); done++) {
        static program p;
        static program_result result;
        realtime_make(&p, seed + done);
        realtime_once(&p, &result);
        if (result.failed) {
            fprintf(stderr, "  seed %" PRIu64 ": %s\n", p.seed, result.text);
            program_print(&p);
            fprintf(stderr, "  reduced:\n");
            program_reduce(&p, &result, realtime_trial, 100);
            program_print(&p);
            test_fail(__FILE__, __LINE__, "the program of seed %" PRIu64 ", reduced: %s", p.seed,
                      result.text);
        }
    }
}
