// SPDX-License-Identifier: MIT
// Records random programs, replays the recordings, and cuts and continues them.
#include "model/program.h"
#include "test.h"

#include <stdlib.h>
#ifndef __wasi__
#include <unistd.h>
#else
#define getpid() 1
#endif

// ---- files --------------------------------------------------------------------------------------

static void save_and_load(program_run* r, const orr_recording* from, orr_recording* to)
{
    char path[100];
    snprintf(path, sizeof path, "/tmp/orr_program_%ld", (long)getpid());
    orr_result result = orr_recording_save(r->world, from, path);
    PROGRAM_CHECK(r, result == ORR_OK, "orr_recording_save: %s", r->k.errors.text);
    result = orr_recording_load(r->world, to, path);
    PROGRAM_CHECK(r, result == ORR_OK, "orr_recording_load: %s", r->k.errors.text);
    (void)remove(path);
}

void program_save_and_load(program_run* r, orr_recording* recording)
{
    save_and_load(r, recording, recording);
}

// ---- replay -------------------------------------------------------------------------------------

typedef struct watcher { // Compares the mirrors after each tick of the first pipeline.
    program_run* r;
    uint64_t main_tick;
} watcher;

static bool replay_watch(void* user, orr_world* world)
{
    watcher* w = user;
    orr_pipeline_stats stats;
    orr_result result = orr_pipeline_stats_get(world, (orr_pipeline){1}, &stats);
    PROGRAM_CHECK(w->r, result == ORR_OK, "orr_pipeline_stats_get: %s", w->r->k.errors.text);
    if (stats.tick != w->main_tick) {
        w->main_tick = stats.tick;
        program_compare(w->r);
    }
    return true;
}

// Replays up to a tick (0: to the end). @return false if memory was refused to something that the
// replay needed.
static bool replay(program_run* r, const orr_recording* recording, uint64_t until)
{
    watcher w = {.r = r};
    orr_replay_report report = {0};
    orr_replay_desc desc = {.until_tick = until, .on_tick = replay_watch, .user = &w};
    r->refuses_tick = true;
    program_arm_tick(r);
    orr_result result = orr_replay(r->world, recording, &desc, &report);
    r->refuses_tick = false;
    for (uint32_t i = 0; i < 3 && program_refused(r) && result == ORR_ERR_MEMORY &&
                         !strstr(r->k.errors.text, "replay from the beginning");
         i++) {
        result = orr_replay(r->world, recording, &desc, &report);
    }
    if (r->way.refuse && (atomic_load(&program_missing) > 0 || result == ORR_ERR_MEMORY)) {
        return false;
    }
    PROGRAM_CHECK(r, program_ran(r, result) && report.differs_tick == 0, "orr_replay is %s: %s",
                  orr_result_name(result), r->k.errors.text);
    PROGRAM_CHECK(r, r->gifts == 0, "a replay called an impure system");
    return true;
}

static void run_replay(program_run* r, const program* p, const program_way* way,
                       program_track* track, orr_recording* recording)
{
    program_begin(r, p, way);
    if (p->seed % 2 == 0) {
        program_save_and_load(r, recording);
    }
    if (replay(r, recording, 0)) {
        r->at = p->step_count - 1;
        PROGRAM_CHECK(r, orr_world_hash(r->world) == track->hashes[r->at],
                      "the replayed hash differs from the straight run");
        program_check(r, track, false);
        program_rest(r);
    }
    program_end(r);
}

// ---- cut and continued --------------------------------------------------------------------------

// A step that ends with a tick of the first pipeline: nothing that a step posted is left. No
// orr_update() comes later: a recording does not have the time that passed between its ticks, so
// after a cut other ticks may be due. @return the number of steps if there is none.
static uint32_t cut_step(const program* p)
{
    uint32_t from = (uint32_t)(orr_random(p->seed, 31, 0, 0) % p->step_count), first = 0;
    for (uint32_t i = 0; i < p->step_count; i++) {
        first = p->steps[i].op == PROGRAM_OP_UPDATE ? i : first;
    }
    for (uint32_t i = 0; i < p->step_count; i++) {
        uint32_t step = (from + i) % p->step_count;
        if (p->steps[step].op == PROGRAM_OP_TICK && step >= first) {
            return step;
        }
    }
    return p->step_count;
}

// Replays a copy of the recording up to the tick of a step, drops the rest, and records the steps
// after it anew.
static void continue_cut(program_run* r, const program_way* way, program_track* track,
                         const orr_recording* whole, orr_recording* copy, program_result* out)
{
    uint32_t step = cut_step(r->p);
    uint64_t tick = track->ticks[step];
    bool early = r->p->seed % 3 == 0; // Is cut before it is replayed.
    orr_result result;
    save_and_load(r, whole, copy);
    if (!early) {
        (void)replay(r, copy, tick);
    }
    result = orr_recording_cut(copy, tick);
    PROGRAM_CHECK(r, result == ORR_OK, "orr_recording_cut at tick %u is %s", (uint32_t)tick,
                  orr_result_name(result));
    if (early) {
        (void)replay(r, copy, 0);
    }
    r->at = step;
    program_check(r, track, false);
    program_compare(r);
    r->way = *way;
    r->recording = copy;
    PROGRAM_CALL(r, result,
                 orr_record(r->world, copy,
                            &(orr_record_desc){.append = true,
                                               .hash_every = 1 + (uint32_t)(r->p->seed % 2)}));
    PROGRAM_CHECK(r, result == ORR_OK, "orr_record, appending at tick %u, is %s: %s",
                  (uint32_t)tick, orr_result_name(result), r->k.errors.text);
    program_run_from(r, step + 1, track, false, out);
    result = orr_record_end(r->world);
    PROGRAM_CHECK(r, result == ORR_OK, "orr_record_end: %s", r->k.errors.text);
}

// The same inputs were recorded twice.
static void compare_recordings(program_run* r, const orr_recording* whole,
                               const orr_recording* copy)
{
    orr_recording_difference difference;
    orr_recording_stats a, b;
    orr_result result = orr_recording_compare(whole, copy, &difference);
    PROGRAM_CHECK(r, result == ORR_OK, "orr_recording_compare: %s", orr_result_name(result));
    PROGRAM_CHECK(r, !difference.differ, "a continued recording differs at tick %u: %s",
                  (uint32_t)difference.tick, difference.what);
    orr_recording_stats_get(whole, &a);
    orr_recording_stats_get(copy, &b);
    PROGRAM_CHECK(r, a.tick_last == b.tick_last, "a continued recording ends at tick %u, not %u",
                  (uint32_t)b.tick_last, (uint32_t)a.tick_last);
    PROGRAM_CHECK(r, !a.changed && !b.changed, "a recording missed a change of the world");
}

// ---- all of it ----------------------------------------------------------------------------------

static void run_continued(program_run* r, const program* p, const program_way* way,
                          program_track* track, const orr_recording* whole, orr_recording* copy,
                          program_result* out)
{
    program_way replayed = {.name = "replay before the cut", .workers = way->workers};
    program_way continued = {.name = "continued after the cut",
                             .workers = way->workers,
                             .record = true,
                             .wander = way->wander || p->seed % 5 == 0};
    program_begin(r, p, &replayed);
    continue_cut(r, &continued, track, whole, copy, out);
    compare_recordings(r, whole, copy);
    program_rest(r);
    program_end(r);
}

void program_verify_recorded(const program* p, const program_way* way, program_track* track,
                             program_result* out, jmp_buf* failed)
{
    orr_recording *recording = orr_recording_create(), *copy = orr_recording_create();
    program_run* r = calloc(4, sizeof *r);
    CHECK(recording != NULL && copy != NULL && r != NULL);
    for (uint32_t i = 0; i < 4; i++) {
        r[i].failed = failed;
        r[i].failure = out->text;
    }
    r[0].recording = recording;
    program_verify_way(&r[0], p, way, track, false, out);
    program_way again = {.name = "replay",
                         .workers = way->workers == 0 ? 4 : 0,
                         .no_spectators = p->seed % 3 == 0,
                         .refuse = p->seed % 4 == 1};
    run_replay(&r[1], p, &again, track, recording);
    out->replays++;
    if (cut_step(p) < p->step_count) {
        run_continued(&r[2], p, way, track, recording, copy, out);
        again.name = "replay of a continued recording";
        again.refuse = false;
        run_replay(&r[3], p, &again, track, copy);
        out->replays += 2;
    }
    orr_recording_destroy(recording);
    orr_recording_destroy(copy);
    free(r);
}
