// SPDX-License-Identifier: MIT
// Runs a random program in one way, and compares its hashes with those of the straight run.
#include "model/program.h"
#include "test.h"

#include <stdarg.h>
#include <stdlib.h>

uint64_t program_reason;

void program_fail(program_run* r, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    program_reason = orr_hash(format, strlen(format), 0);
    int length = snprintf(
        r->failure, 1024, "%s, %u workers, after step %u (%s): ", r->way.name, r->way.workers,
        r->at, r->at < r->p->step_count ? program_op_name(r->p->steps[r->at].op) : "the end");
    vsnprintf(r->failure + length, 1024 - (size_t)length, format, args);
    va_end(args);
    if (r->threads) {
        r->died(r);
        abort();
    }
    longjmp(*r->failed, 1);
}

static bool ticks_refuse(const program_run* r)
{
    for (uint32_t i = 0; i < r->p->system_count; i++) {
        if (r->p->systems[i].kind == PROGRAM_STRETCH && !PROGRAM_REFUSE_IN_PLAYBACK) {
            return false;
        }
    }
    return true;
}

static void arm_within(program_run* r, uint32_t near, uint32_t far)
{
    if (r->way.refuse) {
        uint64_t dice = orr_random(r->p->seed, r->allocations_drawn++, 77, 0);
        failing_alloc_arm(&r->k.memory, 1 + dice % (dice >> 32 & 1 ? near : far), false);
    }
}

void program_arm(program_run* r)
{
    bool hashes = r->way.refuse && r->allocations_drawn % 4 == 0;
    r->armed_hash = hashes ? orr_world_hash(r->world) : 0;
    arm_within(r, 4, 40);
}

void program_unchanged(program_run* r, const char* call)
{
    PROGRAM_CHECK(r, r->armed_hash == 0 || r->armed_hash == orr_world_hash(r->world),
                  "a call that is refused for lack of memory changed the hash: %s", call);
}

void program_arm_tick(program_run* r)
{
    if (r->refuses_tick && ticks_refuse(r)) {
        arm_within(r, 20, 300);
    }
}

bool program_refused(program_run* r)
{
    bool refused = r->way.refuse && r->k.memory.refused > 0;
    if (r->way.refuse) {
        failing_alloc_arm(&r->k.memory, 0, false);
    }
    r->refusals += refused;
    return refused;
}

// ---- the world of a program ---------------------------------------------------------------------

static bool system_left_out(const program_run* r, const program_system* s)
{
    return r->way.no_spectators && r->p->pipelines[s->pipeline].spectator;
}

static void begin_systems(program_run* r)
{
    program_systems_prepare(r);
    program_steps_prepare(r);
    program_time_prepare(r);
    for (uint32_t i = 0; i < 2; i++) { // After the types of the simulation.
        r->mirrors[i] = program_mirror_make(r->world, r->p->golden);
        PROGRAM_CHECK(r, r->mirrors[i] != NULL, "no memory for a mirror");
    }
    for (uint32_t i = 1; i < r->p->pipeline_count; i++) {
        const program_pipeline* pipeline = &r->p->pipelines[i];
        orr_pipeline_desc desc = {
            .name = pipeline->name, .rate_hz = pipeline->rate_hz, .spectator = pipeline->spectator};
        PROGRAM_CHECK(r,
                      (pipeline->spectator && r->way.no_spectators) ||
                          orr_pipeline_add(r->world, &desc).id != 0,
                      "orr_pipeline_add: %s", r->k.errors.text);
    }
    for (uint32_t i = 0; i < r->p->system_count; i++) {
        const program_system* s = &r->p->systems[i];
        PROGRAM_CHECK(r, s->later || system_left_out(r, s) || program_system_add(r, i),
                      "orr_system_add: %s", r->k.errors.text);
    }
}

void program_begin(program_run* r, const program* p, const program_way* way)
{
    r->p = p;
    r->way = *way;
    program_current = r;
    atomic_store(&program_faults, 0);
    atomic_store(&program_missing, 0);
    r->world = kit_begin(&r->k, &(orr_world_desc){.rate_hz = p->rate_hz,
                                                  .workers = way->workers,
                                                  .seed = p->seed,
                                                  .atomic_sections = !p->golden});
    orr_access_check_set(r->world, way->watched ? ORR_ACCESS_CHECK_FULL : ORR_ACCESS_CHECK_CALLS);
    begin_systems(r);
    r->all = orr_query_text(r->world, "either *");
    PROGRAM_CHECK(r, r->all != NULL, "%s", r->k.errors.text);
    orr_result result = orr_tag_register(r->world, 3, "red");
    PROGRAM_CHECK(r, result == ORR_OK, "%s", r->k.errors.text);
    result = orr_bundle_register(r->world, "set", "Spot {x: 7}, Orb {size: 1}, Orb, Root, #red",
                                 &r->bundle);
    PROGRAM_CHECK(r, result == ORR_OK, "%s", r->k.errors.text);
    result = orr_call_register(r->world, "change", program_change, sizeof(program_step));
    PROGRAM_CHECK(r, result == ORR_OK, "%s", r->k.errors.text);
    if (way->watched) {
        result = orr_journal_set(r->world, 50);
        PROGRAM_CHECK(r, result == ORR_OK, "%s", r->k.errors.text);
    }
    if (way->window) {
        result = orr_history_set(r->world, &(orr_history_desc){.recent = 4, .every = 8});
        PROGRAM_CHECK(r, result == ORR_OK, "%s", r->k.errors.text);
    }
}

void program_end(program_run* r)
{
    orr_result result = orr_world_validate(r->world);
    PROGRAM_CHECK(r, result == ORR_OK, "orr_world_validate: %s", r->k.errors.text);
    orr_world_destroy(r->world);
    program_mirror_free(r->mirrors[0]);
    program_mirror_free(r->mirrors[1]);
    PROGRAM_CHECK(r, failing_alloc_leaks(&r->k.memory) == 0 && r->k.memory.mistakes == 0,
                  "memory was not freed as it was allocated");
}

// ---- ticks --------------------------------------------------------------------------------------

static bool step_ticks(const program_step* step)
{
    return step->op == PROGRAM_OP_TICK || step->op == PROGRAM_OP_UPDATE;
}

static bool step_changes(const program_step* step)
{
    return step->op > PROGRAM_OP_UPDATE && step->op < PROGRAM_OP_REMEMBER &&
           step->op != PROGRAM_OP_WRONG;
}

// The first step after the last tick of the first pipeline before `step`: systems are removed, and
// posted calls are done, when the next tick begins.
static uint32_t step_first(const program_run* r, uint32_t step)
{
    while (step > 0 && r->p->steps[step - 1].op != PROGRAM_OP_TICK) {
        step--;
    }
    return step;
}

// Posts the changes of the steps since the last tick. Not before orr_update(), which may run no tick
// of the first pipeline: the calls would wait, and be posted again after a travel back.
static void run_post(program_run* r)
{
    for (uint32_t i = step_first(r, r->at); r->p->posted && i < r->at; i++) {
        const program_step* step = &r->p->steps[i];
        bool systems = step->op >= PROGRAM_OP_SYSTEM_ADD;
        if (step_changes(step)) {
            orr_result result;
            PROGRAM_CALL(r, result,
                         systems ? orr_post_exclusive(r->world, program_change, step, sizeof *step)
                                 : orr_post(r->world, program_change, step, sizeof *step));
            PROGRAM_CHECK(r, result == ORR_OK, "orr_post: %s", r->k.errors.text);
        }
    }
}

bool program_ran(const program_run* r, orr_result result)
{
    // Playback that reaches no slot is ORR_ERR_PAST.
    return !orr_tick_open(r->world) && result != ORR_ERR_MEMORY && result != ORR_ERR_CORRUPT &&
           (result != ORR_ERR_PAST || !r->p->golden);
}

static uint64_t main_ticks(program_run* r)
{
    orr_pipeline_stats stats;
    orr_result result = orr_pipeline_stats_get(r->world, (orr_pipeline){1}, &stats);
    PROGRAM_CHECK(r, result == ORR_OK, "orr_pipeline_stats_get: %s", r->k.errors.text);
    return stats.tick;
}

// One tick of the first pipeline. An allocation may fail: the tick is continued, or was finished
// without a send that its system has repeated.
static void run_tick(program_run* r)
{
    uint64_t ticks = main_ticks(r);
    uint64_t refusals = r->refusals;
    r->refuses_tick = true;
    program_arm_tick(r);
    orr_result result = orr_step(r->world, 1);
    r->refuses_tick = false;
    (void)program_refused(r);
    bool refused = r->refusals > refusals;
    for (uint32_t i = 0; i < 3 && refused && result == ORR_ERR_MEMORY; i++) {
        bool done = main_ticks(r) == ticks + 1 && !orr_tick_open(r->world);
        result = done ? ORR_OK : orr_step(r->world, 1);
    }
    PROGRAM_CHECK(r, program_ran(r, result), "orr_step is %s: %s", orr_result_name(result),
                  r->k.errors.text);
    PROGRAM_CHECK(r, main_ticks(r) == ticks + 1, "orr_step made %u ticks",
                  (uint32_t)(main_ticks(r) - ticks));
}

// @return true if the last tick of the first pipeline ran now: then readers are notified. A travel
// ahead may restore it instead.
static bool run_ticks(program_run* r, const program_step* step, const program_track* track)
{
    orr_history_stats before, after;
    orr_result result;
    orr_history_stats_get(r->world, &before);
    if (step->op == PROGRAM_OP_TICK) {
        run_post(r);
    }
    if (step->op == PROGRAM_OP_UPDATE) {
        result = orr_update(r->world, step->dice % 60000000);
        PROGRAM_CHECK(r, program_ran(r, result), "orr_update is %s: %s", orr_result_name(result),
                      r->k.errors.text);
    } else if (r->way.wander && !r->way.refuse && step->dice % 3 == 1) {
        result = orr_run_until(r->world, track->ticks[r->at], NULL, NULL);
        PROGRAM_CHECK(r, program_ran(r, result), "orr_run_until is %s: %s", orr_result_name(result),
                      r->k.errors.text);
        return true;
    } else if (r->way.wander && !r->way.refuse && step->dice % 3 == 0 &&
               !orr_remembered(r->world, track->ticks[r->at])) {
        // Ahead in time. A remembered tick would be restored, with changes that later steps made.
        result = orr_time_travel(r->world, track->ticks[r->at]);
        PROGRAM_CHECK(r, program_ran(r, result), "orr_time_travel to tick %u is %s: %s",
                      (uint32_t)track->ticks[r->at], orr_result_name(result), r->k.errors.text);
        PROGRAM_CHECK(r, orr_world_tick(r->world) == track->ticks[r->at],
                      "orr_time_travel stopped at tick %u", (uint32_t)orr_world_tick(r->world));
    } else {
        for (uint32_t i = 0; i < step->number; i++) {
            run_tick(r);
        }
        return true;
    }
    orr_history_stats_get(r->world, &after);
    return step->op == PROGRAM_OP_TICK && after.ticks_run > before.ticks_run;
}

// After a tick of the first pipeline the last of its systems has received everything.
void program_compare(program_run* r)
{
    program_mirror_compare(r, r->mirrors[0], "watch");
    for (uint32_t i = 0; i < r->p->system_count; i++) {
        const program_system* s = &r->p->systems[i];
        if (s->kind == PROGRAM_LEDGER && s->pipeline == 0 && s->every == 1) {
            orr_system system = orr_system_find(r->world, s->name);
            const Ledger* l = system.id != 0 ? orr_system_state(r->world, system) : NULL;
            if (l != NULL && l->tick == main_ticks(r)) { // It ran in this tick.
                (void)program_ledger_compare(r, system);
            }
        }
    }
}

// ---- history ------------------------------------------------------------------------------------

static void slots_drop(program_run* r, uint32_t after_step, uint64_t tick)
{
    for (uint32_t i = 0; i < PROGRAM_SLOTS; i++) {
        if (r->slots[i].step > after_step || r->slots[i].tick == tick) {
            r->slots[i].there = false;
        }
    }
}

static void run_remember(program_run* r)
{
    orr_result result;
    PROGRAM_CALL(r, result, orr_remember(r->world));
    PROGRAM_CHECK(r, result == ORR_OK, "orr_remember is %s: %s", orr_result_name(result),
                  r->k.errors.text);
    slots_drop(r, UINT32_MAX, orr_world_tick(r->world));
}

// True if systems may have been added or removed since a step. A removed system ends when its
// pipeline ticks next, which may be much later.
static bool systems_differ(const program_run* r, uint32_t since)
{
    for (uint32_t i = 0; i <= r->at; i++) {
        const program_step* step = &r->p->steps[i];
        bool late = i < since && r->p->systems[step->number].pipeline == 0;
        if ((step->op == PROGRAM_OP_SYSTEM_ADD && i >= since) ||
            (step->op == PROGRAM_OP_SYSTEM_REMOVE && !late)) {
            return true;
        }
    }
    return false;
}

// @return true if the world is at the tick of the slot.
static bool run_travel(program_run* r, uint32_t slot)
{
    orr_history_stats stats;
    orr_result result;
    uint64_t tick = orr_world_tick(r->world);
    program_arm(r);
    result = orr_time_travel(r->world, r->slots[slot].tick);
    if (program_refused(r) && result == ORR_ERR_MEMORY) {
        PROGRAM_CHECK(r, orr_world_tick(r->world) == tick,
                      "a refused orr_time_travel moved the world from tick %u to %u",
                      (uint32_t)tick, (uint32_t)orr_world_tick(r->world));
        program_unchanged(r, "orr_time_travel");
        result = orr_time_travel(r->world, r->slots[slot].tick);
    }
    orr_history_stats_get(r->world, &stats);
    bool lost = result == ORR_ERR_PAST && r->way.refuse && stats.lost > 0;
    bool differ = result == ORR_ERR_CONFLICT &&
                  systems_differ(r, step_first(r, r->slots[slot].step));
    PROGRAM_CHECK(r, result == ORR_OK || lost || differ, "orr_time_travel back is %s: %s",
                  orr_result_name(result), r->k.errors.text);
    return result == ORR_OK;
}

// @return the step after which the world is now.
static uint32_t run_back(program_run* r, uint32_t slot, program_result* out)
{
    if (!r->slots[slot].there || r->gone[r->at]) {
        return r->at;
    }
    r->gone[r->at] = true;
    if (!run_travel(r, slot)) {
        r->slots[slot].there = false;
        return r->at;
    }
    out->travels++;
    slots_drop(r, r->slots[slot].step, UINT64_MAX);
    return r->slots[slot].step;
}

// Goes back and at once ahead again, where a remembered tick is restored.
static void run_glance(program_run* r, uint32_t slot, const program_track* track,
                       program_result* out)
{
    uint64_t tick = orr_world_tick(r->world);
    if (!r->slots[slot].there || r->slots[slot].tick >= tick) {
        return;
    }
    run_remember(r);
    if (!run_travel(r, slot)) {
        r->slots[slot].there = false;
        return;
    }
    PROGRAM_CHECK(r, orr_world_hash(r->world) == track->hashes[r->slots[slot].step],
                  "the hash of step %u is not restored", r->slots[slot].step);
    program_arm(r);
    orr_result result = orr_time_travel(r->world, tick);
    if (program_refused(r) && result == ORR_ERR_MEMORY) {
        result = orr_time_travel(r->world, tick);
    }
    PROGRAM_CHECK(r, program_ran(r, result) && orr_world_tick(r->world) == tick,
                  "orr_time_travel ahead is %s: %s", orr_result_name(result), r->k.errors.text);
    out->travels += 2;
}

static uint32_t run_history(program_run* r, const program_step* step, const program_track* track,
                            program_result* out)
{
    uint32_t slot = step->number;
    switch (step->op) {
    case PROGRAM_OP_REMEMBER:
        run_remember(r);
        r->slots[slot].there = true;
        r->slots[slot].step = r->at;
        r->slots[slot].tick = orr_world_tick(r->world);
        return r->at;
    case PROGRAM_OP_FORGET:
        if (r->slots[slot].there && !r->way.refuse) {
            orr_result result = orr_forget(r->world, r->slots[slot].tick);
            PROGRAM_CHECK(r, result == ORR_OK, "orr_forget is %s", orr_result_name(result));
        }
        r->slots[slot].there = false;
        return r->at;
    case PROGRAM_OP_GLANCE:
        run_glance(r, slot, track, out);
        return r->at;
    default:
        return run_back(r, slot, out);
    }
}

// ---- a run --------------------------------------------------------------------------------------

void program_check(program_run* r, program_track* track, bool first)
{
    orr_result result = orr_world_validate(r->world);
    PROGRAM_CHECK(r, result == ORR_OK, "orr_world_validate: %s", r->k.errors.text);
    PROGRAM_CHECK(r, atomic_load(&program_faults) == 0, "%s", program_fault_text);
    uint64_t hash = orr_world_hash(r->world), tick = orr_world_tick(r->world);
    if (first) {
        track->hashes[r->at] = hash;
        track->ticks[r->at] = tick;
    }
    PROGRAM_CHECK(r, track->ticks[r->at] == tick, "the world is at tick %u, not %u", (uint32_t)tick,
                  (uint32_t)track->ticks[r->at]);
    PROGRAM_CHECK(r, track->hashes[r->at] == hash, "the hash differs from the straight run");
}

void program_run_steps(program_run* r, program_track* track, bool first, program_result* out)
{
    program_run_from(r, 0, track, first, out);
}

void program_run_from(program_run* r, uint32_t step_from, program_track* track, bool first,
                      program_result* out)
{
    for (r->at = step_from; r->at < r->p->step_count; r->at++) {
        const program_step* step = &r->p->steps[r->at];
        bool ticked = false;
        if (step_ticks(step)) {
            ticked = run_ticks(r, step, track);
        } else if (step->op == PROGRAM_OP_WRONG) {
            program_step_wrong(r, step);
        } else if (step_changes(step) && !r->p->posted) {
            program_step_change(r, step);
        } else if (!step_changes(step) && r->way.wander) {
            r->at = run_history(r, step, track, out);
        }
        if (r->way.refuse && atomic_load(&program_missing) > 0) {
            return;
        }
        program_check(r, track, first);
        if (ticked) {
            program_compare(r);
        }
    }
}

// Runs ticks until each pipeline has ticked, and then the first one, which has readers.
static void rest_ticks(program_run* r)
{
    uint64_t ticks[PROGRAM_PIPELINES_MAX] = {0};
    uint32_t count = orr_pipeline_count(r->world), late = count;
    for (uint32_t step = 0; step < 400 && (step < 24 || late > 0); step++) {
        orr_result result = orr_step(r->world, 1);
        PROGRAM_CHECK(r, program_ran(r, result), "orr_step: %s", r->k.errors.text);
        late = 0;
        for (uint32_t i = 0; i < count; i++) {
            orr_pipeline_stats stats;
            result = orr_pipeline_stats_get(r->world, (orr_pipeline){i + 1}, &stats);
            PROGRAM_CHECK(r, result == ORR_OK, "orr_pipeline_stats_get: %s", r->k.errors.text);
            ticks[i] = step == 0 ? stats.tick : ticks[i];
            late += stats.tick < ticks[i] + 2;
        }
    }
    PROGRAM_CHECK(r, late == 0, "a pipeline does not tick any more");
}

void program_rest(program_run* r)
{
    for (uint32_t i = 0; i < r->p->system_count; i++) {
        const program_system* s = &r->p->systems[i];
        orr_system system = orr_system_find(r->world, s->name);
        bool reads = s->kind == PROGRAM_LEDGER || s->kind == PROGRAM_WATCH ||
                     s->kind == PROGRAM_SPY;
        if (system.id != 0) {
            orr_result result = orr_system_enable(r->world, system, reads);
            PROGRAM_CHECK(r, result == ORR_OK, "orr_system_enable: %s", r->k.errors.text);
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        const char* group = i == 0 ? "left" : "right";
        PROGRAM_CHECK(
            r, !program_group_exists(r, group) || orr_group_enable(r->world, group, true) == ORR_OK,
            "orr_group_enable: %s", r->k.errors.text);
    }
    rest_ticks(r);
    program_mirror_compare(r, r->mirrors[0], "watch, at rest");
    if (!r->way.no_spectators && orr_system_find(r->world, "spy").id != 0) {
        program_mirror_compare(r, r->mirrors[1], "spy, at rest");
    }
    for (uint32_t i = 0; i < r->p->system_count; i++) {
        orr_system system = orr_system_find(r->world, r->p->systems[i].name);
        if (r->p->systems[i].kind == PROGRAM_LEDGER && system.id != 0) {
            (void)program_ledger_compare(r, system);
        }
    }
    PROGRAM_CHECK(r, atomic_load(&program_faults) == 0, "%s", program_fault_text);
}
