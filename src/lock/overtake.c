// SPDX-License-Identifier: MIT
// Decides which requests may overtake a waiter. With strict order of arrival, every reader of
// structure would queue behind a waiting commit, and the commit itself waits for a system that runs
// long: the readers would wait for that system too, and the commit would gain nothing.
//
// 1. A holder that enters the queue notes a blocker: a holder that had its set before and conflicts
//    with the request.
// 2. While a waiter has a blocker, readers may overtake it. When its last blocker has released,
//    no request overtakes it any more. So a waiter waits for the holders it found, and at most for
//    one request that overtook it at the last moment.
// 3. That last request should be short. Hold times are measured while a request waits, and only a
//    request expected to be much shorter than the blocker overtakes. The bound of step 2 does not
//    depend on the measurement.
#include "lock/lock_detail.h"

// True if a lock that `has` holds prevents a lock that `wants` requests. Sets are sorted: each lock
// of the smaller set is searched in the larger one.
static bool lock_overtake_conflict(const orri_lock_holder* has, const orri_lock_holder* wants)
{
    bool more = has->count > wants->count;
    const orri_lock_holder* large = more ? has : wants;
    const orri_lock_holder* small = more ? wants : has;
    uint32_t from = 0;
    for (uint32_t i = 0; i < small->count; i++) {
        uint32_t resource = small->set[i].resource;
        for (uint32_t end = large->count; from < end;) {
            uint32_t middle = from + (end - from) / 2;
            bool below = large->set[middle].resource < resource;
            from = below ? middle + 1 : from;
            end = below ? end : middle;
        }
        if (from < large->count && large->set[from].resource == resource) {
            const orri_lock* had = more ? &large->set[from] : &small->set[i];
            const orri_lock* wanted = more ? &small->set[i] : &large->set[from];
            uint32_t mode = orri_lock_mode_now(has, had);
            if (mode != ORRI_LOCK_MODES && orri_lock_conflict(mode, wanted->mode)) {
                return true;
            }
        }
    }
    return false;
}

static bool lock_overtake_holds(const orri_lock_holder* holder)
{
    return holder->state == ORRI_LOCK_HELD || holder->state == ORRI_LOCK_UPGRADING;
}

// The blocker of a waiting holder: of all holders that had their set before it was queued and still
// conflict with it, the one with the longest hold time. NULL: none.
static const orri_lock_holder* lock_overtake_blocker(const orri_locks* locks,
                                                     const orri_lock_holder* holder)
{
    const orri_lock_holder* longest = NULL;
    for (const orri_lock_holder* h = locks->holders; h != NULL; h = h->next_holder) {
        if (lock_overtake_holds(h) && h->granted_at <= holder->enqueued_at &&
            (longest == NULL || h->hold_ns > longest->hold_ns) &&
            lock_overtake_conflict(h, holder)) {
            longest = h;
        }
    }
    return longest;
}

uint64_t orri_lock_now(const orri_locks* locks)
{
    return locks->platform->clock_ns(locks->platform->user);
}

// A set is released while requests wait: updates the hold time. If no request waited when the set
// was granted, its time is not known; it then counts from the first waiter's request.
static void lock_overtake_measure(const orri_locks* locks, orri_lock_holder* holder)
{
    uint64_t now = locks->now_ns, since = now;
    for (const orri_lock_holder* h = locks->waiting; h != NULL; h = h->next) {
        since = h->asked_ns < since ? h->asked_ns : since;
    }
    since = holder->granted_ns_at == holder->granted_at ? holder->granted_ns : since;
    uint64_t held_ns = now > since ? now - since : 0;
    uint64_t before = holder->hold_ns - holder->hold_ns / 8;
    holder->hold_ns = held_ns > before ? held_ns : before;
}

// A holder has released something: waiters that it blocked look for another blocker.
static void lock_overtake_update(const orri_locks* locks, const orri_lock_holder* holder)
{
    for (orri_lock_holder* h = locks->waiting; h != NULL; h = h->next) {
        if (h->blocker == holder) {
            h->blocker = lock_overtake_blocker(locks, h);
        }
    }
}

uint64_t orri_lock_overtake_max_ns(const orri_locks* locks, const orri_lock_holder* holder)
{
    uint64_t held_ns = holder->blocker->hold_ns;
    uint64_t waited = locks->now_ns > holder->asked_ns ? locks->now_ns - holder->asked_ns : 0;
    return waited > held_ns ? waited : held_ns;
}

void orri_lock_overtake_enqueued(orri_locks* locks, orri_lock_holder* holder)
{
    holder->enqueued_at = locks->grants;
    holder->asked_ns = locks->now_ns = orri_lock_now(locks);
    holder->blocker = holder->state == ORRI_LOCK_ASKING ? lock_overtake_blocker(locks, holder)
                                                        : NULL;
}

void orri_lock_overtake_released(orri_locks* locks, orri_lock_holder* holder, bool reads_only)
{
    locks->now_ns = orri_lock_now(locks);
    if (!reads_only) {
        lock_overtake_measure(locks, holder);
    }
    lock_overtake_update(locks, holder);
}
