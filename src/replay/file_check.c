// SPDX-License-Identifier: MIT
// Checks the numbers of a recording that was read from a file, before anything uses them: rates,
// times, and the lists of a run in real time, which must belong together. A replay relies on these
// checks. Limits that depend on the world are checked by the replay
// (schedule/record/time_bounds.c).
#include "replay/file.h"

#define FILE_CHECK_STEP_NS UINT64_C(1000000000000) // The longest step of a continuous pipeline.

// The rate of a pipeline in Hz; 0: it is continuous, or the file has no such pipeline.
static double file_check_rate(const orr_recording* recording, uint32_t number)
{
    const orri_lockstep_log_names* pipes = &recording->names[ORRI_LOCKSTEP_LOG_PIPELINES];
    double rate_hz = 0;
    if (number < pipes->count) {
        memcpy(&rate_hz, &pipes->names[number].word, sizeof rate_hz);
    }
    return rate_hz;
}

// The time between two ticks of a pipeline, at most.
static uint64_t file_check_interval(const orr_recording* recording, uint32_t number)
{
    double rate_hz = file_check_rate(recording, number);
    double ns = rate_hz > 0 ? 1e9 / rate_hz + 1 : (double)FILE_CHECK_STEP_NS;
    double most = (double)ORRI_INTERVAL_MAX_NS;
    return (uint64_t)(ns < most ? ns : most);
}

bool orri_file_rate_possible(uint64_t word)
{
    double rate_hz;
    memcpy(&rate_hz, &word, sizeof rate_hz);
    return rate_hz >= 0 && rate_hz <= 1e6;
}

static bool file_check_dt(const orr_recording* recording, uint32_t number, float dt)
{
    double rate_hz = file_check_rate(recording, number);
    return orri_recorded_dt_possible(dt, rate_hz > 0 ? (float)(1.0 / rate_hz) : 0);
}

// ---- lockstep -----------------------------------------------------------------------------------

const char* orri_file_check_tick(const orr_recording* recording, const orri_lockstep_entry* entry)
{
    uint64_t interval = file_check_interval(recording, entry->number);
    uint64_t first = file_check_interval(recording, 0);
    if (!file_check_dt(recording, entry->number, entry->dt)) {
        return "the dt of a tick is negative, too long or not a number";
    }
    return orri_recorded_due_possible(entry->due_ns, entry->time_ns, interval) &&
                   orri_recorded_due_possible(entry->first_ns, entry->time_ns, first)
               ? NULL
               : "a tick is due too far from the time of the world";
}

// ---- real time ----------------------------------------------------------------------------------

// Counts the turns that begin ticks and that run calls. Returns the first mistake as text; NULL:
// none.
static const char* file_check_turns(const orr_recording* r, uint64_t* begins, uint64_t* calls)
{
    uint32_t pipelines = r->names[ORRI_LOCKSTEP_LOG_PIPELINES].count;
    for (uint32_t i = 0; i < r->turn_count; i++) {
        uint32_t turn = r->turns[i] & 3, number = r->turns[i] >> 2;
        if (turn >= ORRI_TURN_NONE || number >= pipelines ||
            (turn == ORRI_TURN_CALLS && number != 0)) {
            return "a turn belongs to a pipeline that has no name";
        }
        if (turn == ORRI_TURN_BEGIN && *begins < r->dt_count &&
            !file_check_dt(r, number, r->dts[*begins])) {
            return "the dt of a tick is negative, too long or not a number";
        }
        *begins += turn == ORRI_TURN_BEGIN;
        *calls += turn == ORRI_TURN_CALLS;
    }
    return NULL;
}

// Exclusive calls run at sync points only.
static const char* file_check_calls(const orr_recording* r, uint64_t turns)
{
    uint64_t posts = 0;
    for (uint32_t i = 0; i < r->count_count; i++) {
        uint32_t count = r->call_counts[i] >> 1;
        for (uint64_t c = posts; c < posts + count && c < r->call_count; c++) {
            if (r->calls[c]->sync && (r->call_counts[i] & 1) == 0) {
                return "an exclusive call is not at a sync point";
            }
        }
        posts += count;
    }
    return turns == r->count_count && posts == r->call_count
               ? NULL
               : "the numbers of turns and calls do not match";
}

// The clocks after ticks. Which pipeline a clock belongs to is known in the replay only.
static const char* file_check_clocks(const orr_recording* r)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < r->names[ORRI_LOCKSTEP_LOG_PIPELINES].count; i++) {
        uint64_t interval = file_check_interval(r, i);
        longest = interval > longest ? interval : longest;
    }
    for (uint32_t i = 0; i < r->ended_count; i++) {
        const orri_realtime_log_clock* clock = &r->ended[i];
        if (!orri_recorded_due_possible(clock->due_ns, clock->time_ns, longest) ||
            clock->start_ns > ORRI_TIME_MAX_NS || clock->ran > ORRI_TIME_MAX_NS ||
            clock->dropped > ORRI_TIME_MAX_NS) {
            return "the clock after a tick is impossible: its next tick is due too far from the "
                   "time of the world, or its counts are too large";
        }
    }
    return NULL;
}

static const char* file_check_grants(const orr_recording* r)
{
    for (uint32_t i = 0; i < r->grants.count; i++) {
        if (r->grants.grants[i] >> 1 >= r->names[ORRI_LOCKSTEP_LOG_PIPELINES].count) {
            return "a lock is granted to a pipeline that has no name";
        }
    }
    return NULL;
}

// The lists have as many items as the turns need.
static const char* file_check_counts(const orr_recording* r, uint64_t begins)
{
    if (begins != r->dt_count || begins != r->ticks) {
        return "the numbers of turns and ticks do not match";
    }
    // Ticks of a fast-forward at a sync point have a hash, but no turn: there may be more hashes.
    if (r->hash_count > 0 && !r->hashed) {
        return "there are hashes, but the recording says that it has none";
    }
    return r->ended_count > begins ? "there are more clocks than ticks" : NULL;
}

const char* orri_file_check_realtime(const orr_recording* recording)
{
    uint64_t begins = 0, calls = 0;
    const char* wrong = file_check_turns(recording, &begins, &calls);
    wrong = wrong == NULL ? file_check_counts(recording, begins) : wrong;
    wrong = wrong == NULL ? file_check_calls(recording, calls) : wrong;
    wrong = wrong == NULL ? file_check_clocks(recording) : wrong;
    return wrong == NULL ? file_check_grants(recording) : wrong;
}

#undef FILE_CHECK_STEP_NS
