// SPDX-License-Identifier: MIT
// Shared by the files of the lock table: lock.c (granting and waiting), overtake.c (which requests
// may overtake a waiter), log.c (the recorded order of grants), trace.c (trace, statistics, check).
#ifndef ORRI_LOCK_LOCK_DETAIL_H
#define ORRI_LOCK_LOCK_DETAIL_H

#include "base/spin.h"
#include "base/util.h"
#include "lock/lock.h"

// The word of a resource counts its holders in each mode, 12 bits per mode, so that one AND with
// the conflicting modes decides whether a request fits. A table has at most as many holders as 12
// bits can count.
#define ORRI_LOCK_FIELD     12
#define ORRI_LOCK_HOLDERS   (((uint32_t)1 << ORRI_LOCK_FIELD) - 1)
#define ORRI_LOCK_ONE(mode) ((uint64_t)1 << ((mode)*ORRI_LOCK_FIELD)) // One holder in the mode.
#define ORRI_LOCK_ANY(mode) (ORRI_LOCK_ONE(mode) * ORRI_LOCK_HOLDERS) // Mask of the mode's count.
#define ORRI_LOCK_COUNTS    (((uint64_t)1 << ORRI_LOCK_MODES * ORRI_LOCK_FIELD) - 1)
// The inclusive holder waits to upgrade: no new readers are granted.
#define ORRI_LOCK_READERS_STOPPED ((uint64_t)1 << 60)
#define ORRI_LOCK_IS_LIVE         ((uint64_t)1 << 61) // The resource is ORRI_LOCK_LIVE.

typedef struct orri_lock_slot {
    uint64_t word;
    // Modes claimed by the waiters in front of the waiter that is checked: round << 16 | bits of
    // claims that readers may overtake << 8 | bits of claims that no request may overtake. A claim
    // of an earlier round is void.
    uint64_t claims;
} orri_lock_slot;

typedef enum orri_lock_state {
    ORRI_LOCK_FREE,      // Holds nothing and waits for nothing.
    ORRI_LOCK_ASKING,    // In the queue for a set; holds nothing.
    ORRI_LOCK_HELD,      // Holds its set.
    ORRI_LOCK_UPGRADING, // In the queue for an upgrade; holds its set.
} orri_lock_state;

struct orri_lock_holder {
    orri_locks* locks;
    uint32_t number; // Names the holder in traces and logs.
    bool unlogged;   // orri_lock_holder_set_unlogged(): its grants are in no log and follow none.
    // Under the table's mutex. The holder's thread also reads them while the holder is not in the
    // queue, since no other thread writes them then.
    orri_lock_state state;
    bool live;          // The set has LIVE resources. Written when the set is granted.
    bool reads_ended;   // Its read locks on LIVE resources were released.
    bool upgraded;      // Its inclusive locks are exclusive now.
    uint32_t requester; // For the trace.
    uint32_t count;     // Locks in `set`.
    const orri_lock* set;
    uint32_t waits_for;     // The first missing resource; ORRI_LOCK_TURN: none known yet.
    orri_lock_holder* next; // In the queue, or in the list of holders just granted.
    // Values of orri_locks.grants when it was queued and when its set was granted.
    uint64_t enqueued_at, granted_at;
    // While it waits for a set: a holder that already had a conflicting set when this one was
    // queued, and still has it. NULL: none; then no request overtakes this one.
    const orri_lock_holder* blocker;
    // The clock is read only while a request waits. When the set was granted, and the value of
    // granted_at which that time belongs to.
    uint64_t granted_ns, granted_ns_at;
    uint64_t hold_ns;  // How long it has held its sets recently.
    uint64_t asked_ns; // When it was queued.
    // 1 while it waits, 2 when its thread sleeps on this word or is about to. Set to 1 under the
    // mutex, to 2 by its thread, cleared after the mutex by the thread that granted the request.
    _Atomic uint32_t word;
    bool waiting;   // Used by its thread only: a request was queued and orri_lock_wait() is due.
    orri_spin spin; // Used by its thread only.
    // Statistics: written by its thread, read by any thread.
    _Atomic uint64_t takes, upgrades, wait_count, waited_ns, longest_ns;
    _Atomic uint32_t longest_resource;
    // The trace: a ring of orri_locks.trace_capacity records. NULL: no trace.
    orri_lock_record* records;
    orri_lock_record* records_new; // The replacement ring, while the capacity is changed.
    uint64_t recorded;             // Records written in all.
    uint64_t read_next;            // The next record to return, while the trace is read.

    orri_lock_holder* next_holder; // In orri_locks.holders.
};

struct orri_locks {
    orri_env* env;
    const orr_platform* platform;
    orri_mutex mutex;      // Protects everything below, the slots and the holders.
    orri_lock_slot* slots; // One per resource.
    uint32_t count, capacity;
    uint64_t round;           // Number of the current pass over the queue.
    uint64_t grants;          // Sets granted so far.
    uint64_t overtake_max_ns; // In a pass: upper limit for the hold time of an overtaking request.
    uint64_t now_ns; // Time of the last enqueue, or of the last release while a request waited.
    // The queue: upgrades first, then sets in order of arrival.
    orri_lock_holder* waiting;
    orri_lock_holder** waiting_end; // Where the next holder is linked.
    // The log that is written and the log that is followed; NULL: none.
    orri_lock_log* log;
    orr_result log_result; // Why recording ended early; ORR_OK: it did not.
    const orri_lock_log* follow;
    uint32_t followed;        // Grants of `follow` made so far.
    orr_result follow_result; // Why following ended.
    // Unlogged holders that hold a set, or have released it and not yet woken the granted waiters.
    _Atomic uint32_t unlogged_holders;

    // Changed only while no holder holds or waits.
    orri_lock_holder* holders;
    uint32_t holder_count;
    uint32_t trace_capacity;   // Records per holder; 0: no trace.
    _Atomic uint64_t sequence; // Of the last trace record.
};

static inline void orri_locks_enter(orri_locks* locks)
{
    orri_mutex_lock(locks->platform, &locks->mutex);
}

static inline void orri_locks_leave(orri_locks* locks)
{
    orri_mutex_unlock(locks->platform, &locks->mutex);
}

// The mode in which a holder has a lock of its set now; ORRI_LOCK_MODES: it released the lock.
static inline uint32_t orri_lock_mode_now(const orri_lock_holder* holder, const orri_lock* lock)
{
    if (lock->mode == ORRI_LOCK_READ && holder->reads_ended) {
        bool live = (holder->locks->slots[lock->resource].word & ORRI_LOCK_IS_LIVE) != 0;
        return live ? ORRI_LOCK_MODES : ORRI_LOCK_READ;
    }
    return lock->mode == ORRI_LOCK_INCLUSIVE && holder->upgraded ? ORRI_LOCK_EXCLUSIVE : lock->mode;
}

// ---- lock.c: all under the mutex ----------------------------------------------------------------

// Begins a pass over the queue, from the front. For each waiter call orri_lock_blocked(), and
// orri_lock_claim() if it continues to wait.
uint64_t orri_lock_round(orri_locks* locks);
// Returns the position in the holder's set of the first lock that cannot be granted; `count` if all
// can. Round 0: no other request waits.
uint32_t orri_lock_blocked(const orri_locks* locks, const orri_lock_holder* holder, uint64_t round);
// Claims the holder's set for the rest of the pass: waiters behind it respect the claims.
void orri_lock_claim(orri_locks* locks, const orri_lock_holder* holder, uint64_t round);
// True if a lock held in mode `had` prevents a grant in mode `wanted`.
bool orri_lock_conflict(uint32_t had, uint32_t wanted);
// Stops new readers of what the holder holds inclusively, or admits them again.
void orri_lock_readers_stop(orri_locks* locks, const orri_lock_holder* holder, bool on);
// Grants every waiting request that can be granted now. Returns the list of granted holders, for
// orri_lock_wake_granted().
orri_lock_holder* orri_lock_grant_waiting(orri_locks* locks);
// Wakes the granted holders. Call after leaving the mutex. True if `self` is one of them.
bool orri_lock_wake_granted(orri_locks* locks, orri_lock_holder* granted,
                            const orri_lock_holder* self);

// ---- overtake.c: under the mutex, while a request waits -----------------------------------------

uint64_t orri_lock_now(const orri_locks* locks);
// How long the holder's blocker holds its sets, or how long the holder has waited if that is more.
uint64_t orri_lock_overtake_max_ns(const orri_locks* locks, const orri_lock_holder* holder);
// The holder enters the queue: notes the time and its blocker.
void orri_lock_overtake_enqueued(orri_locks* locks, orri_lock_holder* holder);
// The holder has released its set, or its reads; the queue was not checked yet.
void orri_lock_overtake_released(orri_locks* locks, orri_lock_holder* holder, bool reads_only);

// ---- log.c: under the mutex ---------------------------------------------------------------------

// Appends a grant to the log that is written.
void orri_lock_log_grant(orri_locks* locks, const orri_lock_holder* holder, bool upgrade);
// Returns the place in the queue of the holder that is next in the followed log, if its request can
// be granted. NULL otherwise, and when following has ended.
orri_lock_holder** orri_lock_log_next(orri_locks* locks);

// ---- trace.c ------------------------------------------------------------------------------------

// Records an event for the locks of the holder's set that it concerns; `reads_only`: for released
// reads only. Under the mutex, before the holder's flags change.
void orri_lock_traced(orri_lock_holder* holder, orri_lock_event event, bool reads_only);
// Allocates the ring of a new holder. False: memory was refused.
bool orri_lock_ring_create(orri_lock_holder* holder);
void orri_lock_ring_free(orri_lock_holder* holder);

#endif
