// SPDX-License-Identifier: MIT
// Records the order of grants, and makes grants in a recorded order. Takes and upgrades are
// sufficient: between two conflicting grants there is always a release, and a reader beside an
// inclusive holder read the old values if its take precedes the upgrade in the log, the new values
// if it follows.
//
// While a log is followed only the log decides, not the order of arrival and not a waiting upgrade:
// a holder may be faster than in the recording and ask for its upgrade early, and must then let the
// recorded readers go first.
#include "lock/lock_detail.h"

// ---- recording ----------------------------------------------------------------------------------

void orri_lock_log_grant(orri_locks* locks, const orri_lock_holder* holder, bool upgrade)
{
    orri_lock_log* log = locks->log;
    if (log->most != 0 && log->count >= log->most) {
        locks->log_result = ORR_ERR_CAPACITY;
    } else if (!ORRI_RESERVE(locks->env, ORR_MEMORY_SYSTEM, &log->grants, &log->capacity,
                             log->count + 1)) {
        locks->log_result = ORR_ERR_MEMORY;
    }
    if (locks->log_result != ORR_OK) {
        locks->log = NULL;
        return;
    }
    log->grants[log->count++] = holder->number << 1 | upgrade;
}

void orri_locks_record(orri_locks* locks, orri_lock_log* log)
{
    orri_locks_enter(locks);
    locks->log = log;
    locks->log_result = ORR_OK;
    orri_locks_leave(locks);
}

orr_result orri_locks_record_end(orri_locks* locks)
{
    orri_locks_enter(locks);
    orr_result result = locks->log_result;
    locks->log = NULL;
    locks->log_result = ORR_OK;
    orri_locks_leave(locks);
    return result == ORR_OK
               ? ORR_OK
               : orri_refuse(locks->env, result, ORR_LOG_ID_TRACE_REFUSED,
                             "recording the order of locks ended early: %s. A replay can follow "
                             "the recording only up to there",
                             result == ORR_ERR_MEMORY ? "out of memory" : "its limit was reached");
}

void orri_lock_log_free(orri_env* env, orri_lock_log* log)
{
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, log->grants, log->capacity);
    *log = (orri_lock_log){.most = log->most};
}

// ---- following ----------------------------------------------------------------------------------

// Ends following. Waiting upgrades stop new readers from now on, as they do without a log.
static void lock_log_follow_stop(orri_locks* locks, orr_result result)
{
    locks->follow = NULL;
    locks->follow_result = result;
    for (orri_lock_holder* h = locks->waiting; h != NULL; h = h->next) {
        if (h->state == ORRI_LOCK_UPGRADING) {
            orri_lock_readers_stop(locks, h, true);
        }
    }
}

orri_lock_holder** orri_lock_log_next(orri_locks* locks)
{
    if (locks->followed == locks->follow->count) {
        lock_log_follow_stop(locks, ORR_OK);
        return NULL;
    }
    uint32_t next = locks->follow->grants[locks->followed];
    for (orri_lock_holder** place = &locks->waiting; *place != NULL; place = &(*place)->next) {
        const orri_lock_holder* holder = *place;
        if (holder->number != next >> 1 || holder->unlogged) {
            continue;
        }
        if ((holder->state == ORRI_LOCK_UPGRADING) != (next & 1)) {
            lock_log_follow_stop(locks, ORR_ERR_CONFLICT);
            return NULL;
        }
        if (orri_lock_blocked(locks, holder, 0) != holder->count) {
            return NULL;
        }
        locks->followed++;
        return place;
    }
    return NULL;
}

void orri_locks_follow(orri_locks* locks, const orri_lock_log* log)
{
    orri_locks_enter(locks);
    locks->follow = log;
    locks->followed = 0;
    locks->follow_result = ORR_OK;
    orri_locks_leave(locks);
}

uint32_t orri_locks_followed(orri_locks* locks)
{
    orri_locks_enter(locks);
    uint32_t followed = locks->followed;
    orri_locks_leave(locks);
    return followed;
}

static orr_result lock_log_follow_end(orri_locks* locks, uint32_t* followed)
{
    orri_locks_enter(locks);
    *followed = locks->followed;
    if (locks->follow != NULL) {
        lock_log_follow_stop(locks, *followed < locks->follow->count ? ORR_ERR_STATE : ORR_OK);
    }
    orr_result result = locks->follow_result;
    locks->follow_result = ORR_OK;
    orri_lock_holder* granted = orri_lock_grant_waiting(locks);
    orri_locks_leave(locks);
    orri_lock_wake_granted(locks, granted, NULL);
    return result;
}

static orr_result lock_log_refuse(const orri_locks* locks, orr_result result, uint32_t followed)
{
    return orri_refuse(locks->env, result, ORR_LOG_ID_TRACE_REFUSED,
                       "the recorded order of locks was followed for %u grants only: %s",
                       (unsigned)followed,
                       result == ORR_ERR_STATE
                           ? "the replay was ended before the end of the recording"
                           : "a pipeline made another request than in the recording. Replay with "
                             "the program that made the recording");
}

orr_result orri_locks_follow_end(orri_locks* locks)
{
    uint32_t followed;
    orr_result result = lock_log_follow_end(locks, &followed);
    return result == ORR_OK ? ORR_OK : lock_log_refuse(locks, result, followed);
}

void orri_locks_follow_leave(orri_locks* locks)
{
    uint32_t followed;
    if (lock_log_follow_end(locks, &followed) == ORR_ERR_CONFLICT) {
        (void)lock_log_refuse(locks, ORR_ERR_CONFLICT, followed);
    }
}
