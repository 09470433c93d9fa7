// SPDX-License-Identifier: MIT
// In place of this module and of `lock`, in a build without real time (ORR_REALTIME=OFF): the
// functions that other modules call. No world has an orri_realtime, so that each is as in lockstep.
#ifdef ORR_NO_REALTIME
#include "realtime/realtime.h"

uint64_t orri_history_detach_since(const orri_system* system)
{
    return system->since;
}

uint64_t orri_realtime_time_remembered(const struct orri_schedule* schedule)
{
    return schedule->time_ns;
}

void orri_realtime_clock_restart(orri_realtime* rt)
{
    (void)rt;
}

void orri_realtime_lock(orri_realtime* rt)
{
    (void)rt;
}

void orri_realtime_unlock(orri_realtime* rt)
{
    (void)rt;
}

void orri_realtime_unpublish(orr_world* world)
{
    (void)world;
}

orr_result orri_realtime_fast_forward(orr_world* world, uint64_t tick)
{
    (void)world, (void)tick;
    return ORR_ERR_STATE;
}

void orri_realtime_log_budget(const orr_world* world, uint32_t choice)
{
    (void)world, (void)choice;
}

bool orri_replay_budget(const orr_world* world, uint32_t* choice)
{
    (void)world, (void)choice;
    return false;
}

void orri_lock_log_free(orri_env* env, orri_lock_log* log)
{
    (void)env, (void)log;
}
#endif
