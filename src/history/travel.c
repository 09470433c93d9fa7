// SPDX-License-Identifier: MIT
// orr_time_travel(): restores a remembered tick, or runs ticks to reach a later one.
#include "history/history.h"
#include "realtime/realtime.h"
#include <stdio.h>

// Restores a memory: first all steps that may be refused, then all steps that cannot fail. If
// memory for notifying readers is refused, the travel is complete all the same: ticks and changes of
// the world are refused until readers are notified, so no caller can see the difference. (The
// messages cannot be made before the restore, since they are the difference between the restored
// world and the values that readers know.)
static orr_result travel_back(orr_world* world, const orri_memory* memory)
{
    orri_restore* restore = NULL;
    orr_result result = orri_schedule_restore_prepare(world, memory->schedule);
    result = result == ORR_OK ? orri_messages_restore_prepare(world, memory->messages) : result;
    if (result != ORR_OK) {
        return result;
    }
    result = orri_snapshot_restore_prepare(world, memory->store, &restore);
    if (result != ORR_OK) {
        orri_messages_restore_cancel(world);
        return result;
    }
    orri_realtime_unpublish(world);
    orri_snapshot_restore(world, restore);
    bool notified = orri_messages_restore(world, memory->messages);
    orri_schedule_restore(world, memory->schedule);
    world->timeline++;
    world->history->travels++;
    world->history->restored_number = memory->number;
    world->history->lost_tick1 = 0;
    orri_history_base_check(world);
    world->history->refused_epoch = 0;
    ORR_VALIDATE(orr_world_validate(world) == ORR_OK);
    if (ORR_UNLIKELY(!notified)) {
        orri_log(&world->env, ORR_LOG_ID_TRAVEL_PENDING,
                 "orr_time_travel: the world is at tick %llu, but memory to notify readers was "
                 "refused; they are notified before the next tick and before the world changes, "
                 "and until there is memory, such calls return ORR_ERR_MEMORY",
                 (unsigned long long)world->tick);
    }
    return ORR_OK;
}

// Writes the end of an error text: the nearest remembered ticks.
static void travel_nearest(const orr_world* world, uint64_t tick, char* out, size_t size)
{
    uint64_t before, after;
    orri_history_near(world, tick, &before, &after);
    if (before != UINT64_MAX && after != UINT64_MAX) {
        snprintf(out, size, "; the nearest remembered ticks are %llu and %llu",
                 (unsigned long long)before, (unsigned long long)after);
    } else if (before != UINT64_MAX || after != UINT64_MAX) {
        snprintf(out, size, "; the nearest remembered tick is %llu",
                 (unsigned long long)(before != UINT64_MAX ? before : after));
    } else {
        snprintf(out, size, "; no tick is remembered: call orr_remember(), or orr_history_set()");
    }
}

// True if several pipelines count ticks of the world, so that a caller may take ticks of one of them
// for ticks of the world.
static bool travel_counts_several(const orr_world* world)
{
    uint32_t count = 0;
    for (uint32_t i = 0; world->schedule != NULL && i < world->schedule->pipeline_count; i++) {
        count += !world->schedule->pipelines[i]->spectator;
    }
    return count > 1;
}

static orr_result travel_refuse(orr_world* world, uint64_t tick)
{
    char nearest[128];
    travel_nearest(world, tick, nearest, sizeof nearest);
    if (tick == world->tick) {
        return orri_refuse(
            &world->env, ORR_ERR_PAST, ORR_LOG_ID_CALL_REFUSED,
            "orr_time_travel: the snapshot of tick %llu, the current tick, was lost, "
            "because memory for a copy was refused%s",
            (unsigned long long)tick, nearest);
    }
    return orri_refuse(&world->env, ORR_ERR_PAST, ORR_LOG_ID_CALL_REFUSED,
                       "orr_time_travel: tick %llu is past (the world is at tick %llu%s) and not "
                       "remembered%s",
                       (unsigned long long)tick, (unsigned long long)world->tick,
                       travel_counts_several(world) ? ", counting the ticks of all pipelines" : "",
                       nearest);
}

bool orri_history_is_current(orr_world* world, const orri_memory* memory)
{
    const struct orri_history* history = world->history;
    return history->restored_number == memory->number &&
           orri_schedule_same(world, memory->schedule) &&
           (orri_snapshot_same(world, memory->store) ||
            (history->refused_epoch != 0 &&
             orri_snapshot_same_since(world, memory->store, history->refused_epoch)));
}

const orri_memory* orri_history_current(orr_world* world)
{
    const orri_memory* here = orri_history_at(world, world->tick);
    const orri_memory* base = &world->history->base;
    here = here == NULL && base->number != 0 && base->tick == world->tick ? base : here;
    return here != NULL && orri_history_is_current(world, here) ? here : NULL;
}

// The latest memory ahead of the world, up to `tick`. NULL if there is none, or if the world was
// changed since it travelled back: then the memories ahead are not its future.
static const orri_memory* travel_ahead(orr_world* world, uint64_t tick)
{
    const struct orri_history* history = world->history;
    if (history == NULL) {
        return NULL;
    }
    uint32_t end = orri_history_find(history, tick + 1);
    const orri_memory* last = end > 0 ? &history->memories[end - 1] : NULL;
    if (last == NULL || last->tick <= world->tick) {
        return NULL;
    }
    // The world must stand, unchanged, at a tick that it was restored to.
    return orri_history_current(world) != NULL ? last : NULL;
}

orr_result orr_time_travel(orr_world* world, uint64_t tick)
{
    ORR_ASSERT(world != NULL);
    orr_result result = orri_step_between(world, "orr_time_travel");
    if (result != ORR_OK) {
        return result;
    }
    if (world->schedule != NULL && world->schedule->calling) {
        return orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                           "orr_time_travel: not allowed in a posted call in lockstep, nor in "
                           "on_tick of a replay; travel after it returned");
    }
    if (world->history != NULL) {
        orri_history_sweep(world);
    }
    if (tick > world->tick && tick - world->tick > UINT32_MAX) {
        return orri_refuse(
            &world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
            "orr_time_travel: tick %llu is %llu ticks ahead; at most 4294967295 can be run. Check "
            "whether the tick was computed as a difference below 0",
            (unsigned long long)tick, (unsigned long long)(tick - world->tick));
    }
    // In a world without systems, changes since the last tick belong to that tick, so they are kept
    // with it. With systems they are an input of the next tick.
    bool keeps_now = tick > world->tick &&
                     (world->schedule == NULL || world->schedule->system_count == 0);
    if ((tick < world->tick && orr_remembered(world, tick)) ||
        (keeps_now && travel_ahead(world, tick) == NULL)) {
        orri_history_keep_now(world);
    }
    const orri_memory* memory = tick > world->tick ? travel_ahead(world, tick)
                                                   : orri_history_at(world, tick);
    bool lost = tick == world->tick && world->history != NULL &&
                world->history->lost_tick1 == tick + 1;
    if (memory == NULL && (tick < world->tick || lost)) {
        return travel_refuse(world, tick);
    }
    if (memory != NULL) {
        bool current = orri_history_current(world) != NULL;
        result = travel_back(world, memory);
        if (ORR_UNLIKELY(result != ORR_OK) && current) {
            // The preparation ended the sharing with this memory, but the world is unchanged:
            // remember the epoch, so that the memories ahead stay reachable.
            world->history->refused_epoch = orri_epoch_end(world);
        }
    }
    uint64_t from = world->tick;
    if (result == ORR_OK && tick > from) {
        result = orri_realtime_runs(world) ? orri_realtime_fast_forward(world, tick)
                                           : orri_step_to(world, tick);
        if (world->history != NULL) {
            world->history->ticks_run += world->tick - from;
        }
    }
    return result;
}
