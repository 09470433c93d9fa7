// SPDX-License-Identifier: MIT
// What the files of the lock table share: lock.c (who has what, who waits), log.c (the order of grants), trace.c.
#ifndef ORRI_LOCK_LOCK_DETAIL_H
#define ORRI_LOCK_LOCK_DETAIL_H

#include "base/util.h"
#include "lock/lock.h"

// A resource is one word: how many hold it in each mode, side by side, so that whether a mode fits is one AND with the modes
// that refuse it. Holders are at most what a field can count.
#define ORRI_LOCK_FIELD     12
#define ORRI_LOCK_HOLDERS   (((uint32_t)1 << ORRI_LOCK_FIELD) - 1)
#define ORRI_LOCK_ONE(mode) ((uint64_t)1 << ((mode)*ORRI_LOCK_FIELD))
#define ORRI_LOCK_ANY(mode) (ORRI_LOCK_ONE(mode) * ORRI_LOCK_HOLDERS)
#define ORRI_LOCK_COUNTS    (((uint64_t)1 << ORRI_LOCK_MODES * ORRI_LOCK_FIELD) - 1)
// Who holds it inclusively waits to upgrade: no new readers.
#define ORRI_LOCK_STOP    ((uint64_t)1 << 60)
#define ORRI_LOCK_IS_LIVE ((uint64_t)1 << 61)

typedef struct orri_lock_slot {
    uint64_t word;
    // Of those who wait and stand before whoever is looked at: round << 16 | bits of modes << 8 that readers may pass | bits
    // of modes that nobody may.
    uint64_t claims;
} orri_lock_slot;

typedef enum orri_lock_state {
    ORRI_LOCK_FREE,
    ORRI_LOCK_ASKING, // In line; holds nothing.
    ORRI_LOCK_HELD,
    ORRI_LOCK_UPGRADING, // In line; holds its set.
} orri_lock_state;

struct orri_lock_holder {
    orri_locks* locks;
    uint32_t number;
    bool aside; // In no log, and bound to none.
    // Under the table's mutex; also read by the holder's thread while it is not in line, for nobody else writes then.
    orri_lock_state state;
    bool reads_ended, upgraded;
    uint32_t who;
    uint32_t count;
    const orri_lock* set;
    uint32_t waits_for;     // A resource; ORRI_LOCK_TURN: none yet.
    orri_lock_holder* next; // In line, or among those just granted.
    // By the table's count of grants: when it came in line, and when it got its set.
    uint64_t came, granted;
    // In line for a set: one that has had something it cannot have beside it since before it came. NULL: nobody passes it.
    const orri_lock_holder* blocker;
    // While others wait clocks are read, too: when it got its set, and of which grant that is; how long it has it lately.
    uint64_t since_ns, since_grant, lasts_ns;
    uint64_t asked_ns;
    // 1 while it waits. Set under the mutex, cleared by who granted it, after the mutex.
    _Atomic uint32_t word;
    // Of its thread alone.
    bool waits;
    // Written by its thread, read by anybody.
    _Atomic uint64_t takes, upgrades, wait_count, waited_ns, longest_ns;
    _Atomic uint32_t longest_resource;
    // A ring; NULL: no trace.
    orri_lock_record* records;
    orri_lock_record* fresh; // While the trace is changed: the ring to come.
    uint64_t recorded;
    uint64_t reading; // While it is read: the next.

    orri_lock_holder* next_holder;
};

struct orri_locks {
    orri_env* env;
    const orr_platform* platform;
    orri_mutex mutex; // Around all that follows, slots and holders.
    orri_lock_slot* slots;
    uint32_t count, capacity;
    uint64_t round;       // Of looking at who waits.
    uint64_t grants;      // Of sets.
    uint64_t patience_ns; // In a round: how long whoever passes may last.
    uint64_t now_ns;      // When somebody came in line, or gave something back while others waited.
    // In line: upgrades first, then by coming.
    orri_lock_holder* waiting;
    orri_lock_holder** waiting_end;
    // The log being written and the one being followed; NULL: none.
    orri_lock_log* log;
    orr_result log_result;
    const orri_lock_log* follow;
    uint32_t followed;
    orr_result follow_result;
    _Atomic uint32_t
        beside; // Holders that are aside and hold something, or have not told yet who waited for it.

    // Changed while it is quiet.
    orri_lock_holder* holders;
    uint32_t holder_count;
    uint32_t trace_capacity;
    _Atomic uint64_t sequence;
};

static inline void orri_locks_enter(orri_locks* locks)
{
    orri_mutex_lock(locks->platform, &locks->mutex);
}

static inline void orri_locks_leave(orri_locks* locks)
{
    orri_mutex_unlock(locks->platform, &locks->mutex);
}

// The mode in which a holder has one of its set; ORRI_LOCK_MODES: it let it go.
static inline uint32_t orri_lock_mode_now(const orri_lock_holder* holder, const orri_lock* lock)
{
    if (lock->mode == ORRI_LOCK_READ && holder->reads_ended) {
        bool live = (holder->locks->slots[lock->resource].word & ORRI_LOCK_IS_LIVE) != 0;
        return live ? ORRI_LOCK_MODES : ORRI_LOCK_READ;
    }
    return lock->mode == ORRI_LOCK_INCLUSIVE && holder->upgraded ? ORRI_LOCK_EXCLUSIVE : lock->mode;
}

// ---- lock.c: all under the mutex ------------------------------------------------------------------------------------------

// Begins to look at who waits, from the front: for each orri_lock_blocked, then orri_lock_claim if it goes on waiting.
uint64_t orri_lock_round(orri_locks* locks);
// The first of what it waits for that cannot be had; `count` if all can. In round 0 nobody else waits.
uint32_t orri_lock_blocked(const orri_locks* locks, const orri_lock_holder* holder, uint64_t round);
// Notes for the rest of a round that it waits for its set.
void orri_lock_claim(orri_locks* locks, const orri_lock_holder* holder, uint64_t round);
// Whether one mode keeps off another.
bool orri_lock_apart(uint32_t had, uint32_t wanted);
// Keeps new readers off what it holds inclusively, or no longer.
void orri_lock_stop(orri_locks* locks, const orri_lock_holder* holder, bool on);
// Grants what can be granted now. Returns those who got it, for orri_lock_tell.
orri_lock_holder* orri_lock_serve(orri_locks* locks);
// After the mutex: they may go on. True if `self` is one of them.
bool orri_lock_tell(orri_locks* locks, orri_lock_holder* granted, const orri_lock_holder* self);

// ---- overtake.c: under the mutex, while somebody waits -------------------------------------------------------------------------

uint64_t orri_lock_now(const orri_locks* locks);
// How long the one lasts that it waits for.
uint64_t orri_lock_patience(const orri_locks* locks, const orri_lock_holder* holder);
// It goes in line.
void orri_lock_comes(orri_locks* locks, orri_lock_holder* holder);
// It has given back its set, or its reads; the line is not served yet.
void orri_lock_goes(orri_locks* locks, orri_lock_holder* holder, bool reads_only);

// ---- log.c: under the mutex --------------------------------------------------------------------------------------------

void orri_lock_log_grant(orri_locks* locks, const orri_lock_holder* holder, bool upgrade);
// Where in line the one stands whose turn it is, if it can have what it asks for; NULL otherwise, or if nothing is
// followed any more.
orri_lock_holder** orri_lock_turn(orri_locks* locks);

// ---- trace.c -----------------------------------------------------------------------------------------------------------

// Of real locks, under the mutex, before the holder's flags change: what of its set the event is about, or only reads that end.
void orri_lock_traced(orri_lock_holder* holder, orri_lock_event event, bool reads_only);
// A ring for a new holder. False: no memory.
bool orri_lock_ring_create(orri_lock_holder* holder);
void orri_lock_ring_free(orri_lock_holder* holder);

#endif
