// SPDX-License-Identifier: MIT
// Who may pass one that waits. First come, first served would have every reader of structure stand behind a commit that waits, and the
// commit itself waits for a system that takes long: so readers would wait for that system, though the commit gains nothing by it. So
// whoever comes in line notes that somebody is there who had its set before and keeps it off (its blocker). As long as there is such a
// one, readers pass; when the last of them is gone, nobody does. So it waits for those it found, and at most for one that passed
// at the last moment. That one should not take long: how long holders have their sets is measured while somebody waits, and only who is
// a good deal shorter than the blocker passes. The bound does not hang on that.
#include "lock/lock_detail.h"

// True if what one of them has keeps the other from what it wants. Sets are sorted: each of the smaller is looked for in the other.
static bool lock_overtake_keeps_off(const orri_lock_holder* has, const orri_lock_holder* wants)
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
            if (mode != ORRI_LOCK_MODES && orri_lock_apart(mode, wanted->mode)) {
                return true;
            }
        }
    }
    return false;
}

static bool lock_overtake_has(const orri_lock_holder* holder)
{
    return holder->state == ORRI_LOCK_HELD || holder->state == ORRI_LOCK_UPGRADING;
}

// One that had its set before this one came, and still has something that this one cannot have beside it: the longest.
static const orri_lock_holder* lock_overtake_blocker(const orri_locks* locks,
                                                     const orri_lock_holder* holder)
{
    const orri_lock_holder* longest = NULL;
    for (const orri_lock_holder* h = locks->holders; h != NULL; h = h->next_holder) {
        if (lock_overtake_has(h) && h->granted <= holder->came &&
            (longest == NULL || h->lasts_ns > longest->lasts_ns) &&
            lock_overtake_keeps_off(h, holder)) {
            longest = h;
        }
    }
    return longest;
}

uint64_t orri_lock_now(const orri_locks* locks)
{
    return locks->platform->clock_ns(locks->platform->user);
}

// A set is given back while others wait: how long it was had. If nobody waited when it was got, then since the first came.
static void lock_overtake_learn(const orri_locks* locks, orri_lock_holder* holder)
{
    uint64_t now = locks->now_ns, since = now;
    for (const orri_lock_holder* h = locks->waiting; h != NULL; h = h->next) {
        since = h->asked_ns < since ? h->asked_ns : since;
    }
    since = holder->since_grant == holder->granted ? holder->since_ns : since;
    uint64_t lasted = now > since ? now - since : 0;
    uint64_t before = holder->lasts_ns - holder->lasts_ns / 8;
    holder->lasts_ns = lasted > before ? lasted : before;
}

// Somebody has given something back: whom it blocked may have nobody left of those it found.
static void lock_overtake_unblock(const orri_locks* locks, const orri_lock_holder* holder)
{
    for (orri_lock_holder* h = locks->waiting; h != NULL; h = h->next) {
        if (h->blocker == holder) {
            h->blocker = lock_overtake_blocker(locks, h);
        }
    }
}

uint64_t orri_lock_patience(const orri_locks* locks, const orri_lock_holder* holder)
{
    uint64_t lasts = holder->blocker->lasts_ns;
    uint64_t waited = locks->now_ns > holder->asked_ns ? locks->now_ns - holder->asked_ns : 0;
    return waited > lasts ? waited : lasts;
}

void orri_lock_comes(orri_locks* locks, orri_lock_holder* holder)
{
    holder->came = locks->grants;
    holder->asked_ns = locks->now_ns = orri_lock_now(locks);
    holder->blocker = holder->state == ORRI_LOCK_ASKING ? lock_overtake_blocker(locks, holder)
                                                        : NULL;
}

void orri_lock_goes(orri_locks* locks, orri_lock_holder* holder, bool reads_only)
{
    locks->now_ns = orri_lock_now(locks);
    if (!reads_only) {
        lock_overtake_learn(locks, holder);
    }
    lock_overtake_unblock(locks, holder);
}
