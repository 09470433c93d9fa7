// SPDX-License-Identifier: MIT
// The order of grants, recorded and followed. Takes and upgrades are enough: whatever conflicts has a release between, and a
// reader beside an inclusive holder saw the values of before if its take stands before the upgrade, of after if behind.
//
// While a log is followed nothing else decides, neither who came first nor that an upgrade waits: a holder may be faster than it
// was, ask for its upgrade early, and has to see the readers pass that passed.
#include "lock/lock_detail.h"

// ---- recording ------------------------------------------------------------------------------------------------------------

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
                             "the record of the order in which pipelines had their locks ended "
                             "early, for want of %s: a replay can follow it only so far",
                             result == ORR_ERR_MEMORY ? "memory" : "room");
}

void orri_lock_log_free(orri_env* env, orri_lock_log* log)
{
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, log->grants, log->capacity);
    *log = (orri_lock_log){.most = log->most};
}

// ---- following ------------------------------------------------------------------------------------------------------------

static void lock_log_leave(orri_locks* locks, orr_result result)
{
    locks->follow = NULL;
    locks->follow_result = result;
    for (orri_lock_holder* h = locks->waiting; h != NULL; h = h->next) {
        if (h->state == ORRI_LOCK_UPGRADING) {
            orri_lock_stop(locks, h, true);
        }
    }
}

orri_lock_holder** orri_lock_turn(orri_locks* locks)
{
    if (locks->followed == locks->follow->count) {
        lock_log_leave(locks, ORR_OK);
        return NULL;
    }
    uint32_t next = locks->follow->grants[locks->followed];
    for (orri_lock_holder** place = &locks->waiting; *place != NULL; place = &(*place)->next) {
        const orri_lock_holder* holder = *place;
        if (holder->number != next >> 1 || holder->aside) {
            continue;
        }
        if ((holder->state == ORRI_LOCK_UPGRADING) != (next & 1)) {
            lock_log_leave(locks, ORR_ERR_CONFLICT);
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

static orr_result lock_log_end(orri_locks* locks, uint32_t* followed)
{
    orri_locks_enter(locks);
    *followed = locks->followed;
    if (locks->follow != NULL) {
        lock_log_leave(locks, *followed < locks->follow->count ? ORR_ERR_STATE : ORR_OK);
    }
    orr_result result = locks->follow_result;
    locks->follow_result = ORR_OK;
    orri_lock_holder* granted = orri_lock_serve(locks);
    orri_locks_leave(locks);
    orri_lock_tell(locks, granted, NULL);
    return result;
}

static orr_result lock_log_refuse(const orri_locks* locks, orr_result result, uint32_t followed)
{
    return orri_refuse(locks->env, result, ORR_LOG_ID_TRACE_REFUSED,
                       "the recorded order of locks was followed for %u grants and no "
                       "further: %s",
                       (unsigned)followed,
                       result == ORR_ERR_STATE ? "it was ended there"
                                               : "a pipeline asked for something else than "
                                                 "it did when it was recorded");
}

orr_result orri_locks_follow_end(orri_locks* locks)
{
    uint32_t followed;
    orr_result result = lock_log_end(locks, &followed);
    return result == ORR_OK ? ORR_OK : lock_log_refuse(locks, result, followed);
}

void orri_locks_follow_leave(orri_locks* locks)
{
    uint32_t followed;
    if (lock_log_end(locks, &followed) == ORR_ERR_CONFLICT) {
        (void)lock_log_refuse(locks, ORR_ERR_CONFLICT, followed);
    }
}
