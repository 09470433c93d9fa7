// SPDX-License-Identifier: MIT
// Limits of the times in a recording. A file may contain any: a due time far from the time of the
// world would let a pipeline wait for years, or let others run the ticks of years first.
#include "schedule/record/recording.h"

#define TIME_BOUNDS_EARLY_NS UINT64_C(60000000000)         // A minute.
#define TIME_BOUNDS_LATE_NS  (1440 * TIME_BOUNDS_EARLY_NS) // A day.
#define TIME_BOUNDS_SECONDS  ((double)ORRI_TIME_MAX_NS * 1e-9)

bool orri_recorded_dt_possible(float dt, float interval)
{
    return (dt >= 0 && (double)dt <= TIME_BOUNDS_SECONDS) || (interval > 0 && dt == interval);
}

bool orri_recorded_due_possible(uint64_t due_ns, uint64_t time_ns, uint64_t interval_ns)
{
    if (time_ns > ORRI_TIME_MAX_NS) {
        return false;
    }
    uint64_t last = time_ns + 2 * interval_ns + TIME_BOUNDS_EARLY_NS;
    if (due_ns > ORRI_TIME_MAX_NS) {
        // The clock ends before it.
        return due_ns == UINT64_MAX &&
               (last > ORRI_TIME_MAX_NS || interval_ns >= ORRI_INTERVAL_MAX_NS);
    }
    return (due_ns <= last || interval_ns >= ORRI_INTERVAL_MAX_NS) &&
           time_ns <= due_ns + 2 * interval_ns + TIME_BOUNDS_LATE_NS;
}

bool orri_recorded_time_possible(const orr_world* world, uint64_t time_ns)
{
    const struct orri_schedule* schedule = world->schedule;
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        const orri_pipeline* pipe = schedule->pipelines[i];
        uint64_t due_ns = pipe->due_ns < ORRI_TIME_MAX_NS ? pipe->due_ns : ORRI_TIME_MAX_NS;
        if (!pipe->spectator && time_ns > due_ns + 2 * pipe->interval_ns + TIME_BOUNDS_LATE_NS) {
            return false;
        }
    }
    return time_ns <= ORRI_TIME_MAX_NS && schedule->time_ns <= time_ns;
}

bool orri_recorded_step_possible(const orr_world* world, uint64_t time_ns, bool first)
{
    const struct orri_schedule* schedule = world->schedule;
    uint64_t most = first ? TIME_BOUNDS_LATE_NS : TIME_BOUNDS_EARLY_NS, longest = 0;
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        const orri_pipeline* pipe = schedule->pipelines[i];
        longest = !pipe->spectator && pipe->interval_ns > longest ? pipe->interval_ns : longest;
    }
    most = longest < ORRI_INTERVAL_MAX_NS ? most + 2 * longest : ORRI_TIME_MAX_NS;
    return time_ns <= ORRI_TIME_MAX_NS && time_ns <= schedule->time_ns + most &&
           schedule->time_ns <= time_ns + most;
}

orr_result orri_recorded_time_refuse(orr_world* world, const char* call, const char* pipeline,
                                     uint64_t time_ns)
{
    return orri_refuse(&world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
                       "%s: the recording continues at %llu ns in pipeline '%s', too far from the "
                       "time of the world, %llu ns: it was made by another world, or it is "
                       "damaged; build the world as it was recorded",
                       call, (unsigned long long)time_ns, pipeline,
                       (unsigned long long)world->schedule->time_ns);
}

#undef TIME_BOUNDS_EARLY_NS
#undef TIME_BOUNDS_LATE_NS
#undef TIME_BOUNDS_SECONDS
