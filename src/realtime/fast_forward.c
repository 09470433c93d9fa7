// SPDX-License-Identifier: MIT
// Ticks that run at a meeting of real time: the world goes ahead, on the clock of lockstep. Whoever holds the meeting does for each pipeline what that one's
// thread would, one after the other, in the order of lockstep: earliest due first. No clock is looked at, so that a replay, which comes to the same call at
// the same meeting, runs the same ticks: no turns are recorded for them. Spectators stand; they hear of all of it afterwards.
#include "realtime/realtime.h"

static orri_pipeline* fast_forward_next(const struct orri_schedule* schedule)
{
    orri_pipeline* next = schedule->pipelines[0];
    for (uint32_t i = 1; i < schedule->pipeline_count; i++) {
        orri_pipeline* pipe = schedule->pipelines[i];
        next = !pipe->spectator && pipe->due_ns < next->due_ns ? pipe : next;
    }
    return next;
}

// From a call at a meeting to where ticks run, with the floor free; and back.
static void fast_forward_leave(orri_realtime* rt)
{
    orri_schema_freeze(&rt->world->schema);
    rt->schedule->inside = true;
    rt->ahead = true;
    orri_turn_leave(rt->schedule->pipelines[0]);
}

static void fast_forward_return(orri_realtime* rt)
{
    orri_turn_enter_between(rt->schedule->pipelines[0]);
    rt->ahead = false;
    orri_this_thread.at_sync_point = true;
    rt->schedule->inside = false;
    orri_realtime_unhold(rt);
    orri_command_buffers_use(rt->world, rt->schedule->pipelines[0]->moment->command_buffers);
    orri_schema_thaw(&rt->world->schema);
}

static orr_result fast_forward_tick(orri_realtime* rt, orri_pipeline* pipe)
{
    uint64_t before = pipe->tick;
    orri_turn_enter_between(pipe);
    orr_result result = orri_tick(pipe, pipe->interval);
    bool open = pipe->stage != ORRI_STAGE_DONE || pipe->moment->driven.copied;
    orri_turn_release(pipe);
    if (open) { // As in any tick: it goes on when there is memory, in the next run.
        orri_realtime_log_refused(rt, pipe);
        orri_realtime_fail(rt, result);
    } else if (pipe->tick != before) {
        orri_realtime_lock(rt);
        pipe->moment->stats.ticks++;
        orri_pipeline_ticked(pipe);
        rt->ended_ns = rt->schedule->time_ns;
        orri_realtime_unlock(rt);
    }
    orri_turn_leave(pipe);
    return result;
}

// After a tick, where the run would have met: for what is remembered, and for plans that have to be made anew.
static orr_result fast_forward_meet(orri_realtime* rt, bool wanted)
{
    fast_forward_return(rt);
    if (wanted) {
        rt->world->tick_hooks.synced(rt->world);
    }
    orr_result result = orri_realtime_stale(rt) ? orri_realtime_ready(rt) : ORR_OK;
    fast_forward_leave(rt);
    return result;
}

static orr_result fast_forward_run(orri_realtime* rt, uint64_t tick)
{
    orr_world* world = rt->world;
    orr_result result = orri_realtime_ready(rt); // What calls changed.
    fast_forward_leave(rt);
    while (result == ORR_OK && world->tick < tick) {
        orri_pipeline* pipe = fast_forward_next(rt->schedule);
        result = fast_forward_tick(rt, pipe);
        bool wanted = pipe->index == 0 && world->tick_hooks.sync_wanted != NULL &&
                      world->tick_hooks.sync_wanted(world);
        if (result == ORR_OK && (wanted || orri_realtime_stale(rt))) {
            result = fast_forward_meet(rt, wanted);
        }
    }
    fast_forward_return(rt);
    return result;
}

// Spectators with a rate would be late by all that was gone ahead.
static void fast_forward_clocks(orri_realtime* rt)
{
    orri_realtime_lock(rt);
    orri_history_detach_time_scale(rt);
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        orri_pipeline* pipe = rt->schedule->pipelines[i];
        if (pipe->spectator && pipe->due_ns < rt->schedule->time_ns) {
            orri_pipeline_anew(pipe);
        }
    }
    orri_realtime_unlock(rt);
}

orr_result orri_realtime_fast_forward(orr_world* world, uint64_t tick)
{
    orri_realtime* rt = world->schedule->realtime;
    orri_pipeline* first = rt->schedule->pipelines[0];
    bool over = !world->realtime; // It is a call that was left when the run ended.
    if (over) {
        orri_realtime_open(rt, false);
        orri_turn_enter_between(first);
    }
    rt->schedule->time_ns = orri_history_detach_time(rt->schedule); // In a replay the same.
    orr_result result = fast_forward_run(rt, tick);
    fast_forward_clocks(rt);
    if (over) {
        orri_schedule_leave(
            world); // What was shown is gone again, and what is new to whom is as in lockstep.
        orri_turn_leave(first);
        orri_realtime_open(rt, true);
        orri_command_buffers_use(world, NULL);
    }
    return result;
}
