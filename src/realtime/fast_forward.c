// SPDX-License-Identifier: MIT
// Fast-forward: ticks that run at a sync point, on the clock of lockstep. The thread of the first
// pipeline runs the ticks of all pipelines, one after the other, in the order of lockstep: earliest
// due first. No clock is read, so a replay, which reaches the same call at the same sync point,
// runs the same ticks; no turns are recorded for them. Spectators do not tick meanwhile, and are
// notified of all changes afterwards.
#include "realtime/realtime.h"

// The pipeline that ticks next; never a spectator.
static orri_pipeline* fast_forward_next(const struct orri_schedule* schedule)
{
    orri_pipeline* next = schedule->pipelines[0];
    for (uint32_t i = 1; i < schedule->pipeline_count; i++) {
        orri_pipeline* pipe = schedule->pipelines[i];
        next = !pipe->spectator && pipe->due_ns < next->due_ns ? pipe : next;
    }
    return next;
}

// Leaves the call at the sync point, so that ticks can run and take turns; and returns to it.
static void fast_forward_leave(orri_realtime* rt)
{
    orri_schema_freeze(&rt->world->schema);
    rt->schedule->inside = true;
    rt->fast_forwards = true;
    orri_turn_leave(rt->schedule->pipelines[0]);
}

static void fast_forward_return(orri_realtime* rt)
{
    orri_turn_enter_between(rt->schedule->pipelines[0]);
    rt->fast_forwards = false;
    orri_this_thread.at_sync_point = true;
    rt->schedule->inside = false;
    orri_realtime_release_ids(rt);
    orri_command_buffers_use(rt->world, rt->schedule->pipelines[0]->run->command_buffers);
    orri_schema_thaw(&rt->world->schema);
}

// Runs one tick in a turn of its pipeline.
static orr_result fast_forward_tick(orri_realtime* rt, orri_pipeline* pipe)
{
    uint64_t before = pipe->tick;
    orri_turn_enter_between(pipe);
    orr_result result = orri_tick(pipe, pipe->interval);
    bool open = pipe->stage != ORRI_STAGE_DONE || pipe->run->driven.copied;
    orri_turn_release(pipe);
    if (open) { // As any half-done tick: it continues in the next run.
        orri_realtime_log_stop(rt, pipe);
        orri_realtime_fail(rt, result);
    } else if (pipe->tick != before) {
        orri_realtime_lock(rt);
        pipe->run->stats.ticks++;
        orri_pipeline_ticked(pipe);
        rt->ended_ns = rt->schedule->time_ns;
        orri_realtime_unlock(rt);
    }
    orri_turn_leave(pipe);
    return result;
}

// After a tick, where a run by the clock would hold a sync point: stores history (`wanted`), and
// makes plans again if they are stale.
static orr_result fast_forward_sync(orri_realtime* rt, bool wanted)
{
    fast_forward_return(rt);
    if (wanted) {
        rt->world->tick_hooks.synced(rt->world);
    }
    orr_result result = orri_realtime_stale(rt) ? orri_realtime_refresh(rt) : ORR_OK;
    fast_forward_leave(rt);
    return result;
}

static orr_result fast_forward_run(orri_realtime* rt, uint64_t tick)
{
    orr_world* world = rt->world;
    orr_result result = orri_realtime_refresh(rt); // Calls may have changed the world.
    fast_forward_leave(rt);
    while (result == ORR_OK && world->tick < tick) {
        orri_pipeline* pipe = fast_forward_next(rt->schedule);
        result = fast_forward_tick(rt, pipe);
        bool wanted = pipe->index == 0 && world->tick_hooks.sync_wanted != NULL &&
                      world->tick_hooks.sync_wanted(world);
        if (result == ORR_OK && (wanted || orri_realtime_stale(rt))) {
            result = fast_forward_sync(rt, wanted);
        }
    }
    fast_forward_return(rt);
    return result;
}

// Sets clocks after a fast-forward. Clocks of spectators restart: they would be late by all of it.
static void fast_forward_clocks(orri_realtime* rt)
{
    orri_realtime_lock(rt);
    orri_realtime_clock_restart(rt);
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        orri_pipeline* pipe = rt->schedule->pipelines[i];
        if (pipe->spectator && pipe->due_ns < rt->schedule->time_ns) {
            orri_pipeline_clock_restart(pipe);
        }
    }
    orri_realtime_unlock(rt);
}

orr_result orri_realtime_fast_forward(orr_world* world, uint64_t tick)
{
    orri_realtime* rt = world->schedule->realtime;
    // This time is the same in a replay; the wall clock is not.
    rt->schedule->time_ns = orri_realtime_time_remembered(rt->schedule);
    orr_result result = fast_forward_run(rt, tick);
    fast_forward_clocks(rt);
    return result;
}
