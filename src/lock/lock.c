// SPDX-License-Identifier: MIT
// Grants sets and upgrades, and queues what cannot be granted. Everything is decided under one
// mutex that is held for a short time. A set is granted as a whole, or its holder enters the queue.
// A holder that releases something checks the queue from the front and grants what can be granted.
// A resource that a waiter further in front needs is not granted, except to readers that may
// overtake it (overtake.c). No request waits behind a request that it does not conflict with.
//
// There is no deadlock:
//
// 1. A holder that waits for a set holds nothing, so only waiters behind it in the queue wait for
//    it.
// 2. A holder that waits for an upgrade waits for readers of LIVE resources. Such a reader could
//    wait only for its own upgrade, and then it has released these reads.
// 3. So every chain of waiting ends at a holder that runs and will release.
#include "lock/lock_detail.h"

#define LOCK_BIT(mode) ((uint32_t)1 << (mode))
// A request overtakes a waiter only if it is expected to be held at most 1/4 as long as the set
// that the waiter waits for.
#define LOCK_OVERTAKE_FACTOR 4

// By wanted mode: the counts and flags of a resource's word that prevent a grant.
static const uint64_t lock_conflicts[ORRI_LOCK_MODES] = {
    [ORRI_LOCK_READ] = ORRI_LOCK_ANY(ORRI_LOCK_EXCLUSIVE) | ORRI_LOCK_ANY(ORRI_LOCK_WRITE_WITHIN) |
                       ORRI_LOCK_READERS_STOPPED,
    [ORRI_LOCK_INCLUSIVE] = ORRI_LOCK_ANY(ORRI_LOCK_INCLUSIVE) |
                            ORRI_LOCK_ANY(ORRI_LOCK_EXCLUSIVE) |
                            ORRI_LOCK_ANY(ORRI_LOCK_WRITE_WITHIN),
    [ORRI_LOCK_EXCLUSIVE] = ORRI_LOCK_COUNTS,
    [ORRI_LOCK_READ_WITHIN] = ORRI_LOCK_ANY(ORRI_LOCK_EXCLUSIVE),
    [ORRI_LOCK_WRITE_WITHIN] = ORRI_LOCK_ANY(ORRI_LOCK_READ) | ORRI_LOCK_ANY(ORRI_LOCK_INCLUSIVE) |
                               ORRI_LOCK_ANY(ORRI_LOCK_EXCLUSIVE),
};
// By wanted mode: the claims of waiters further in front that prevent a grant. Claims prevent more
// than held locks do: a wanted inclusive lock will become exclusive, so it queues behind readers
// (otherwise two alternating holders could block a holder that reads from both for ever). The low
// byte has claims that no request may overtake, the next byte claims that readers may overtake. A
// request that may overtake respects both bytes, except where it only reads.
#define LOCK_BOTH(bits)     ((uint32_t)(bits)*0x101)
#define LOCK_READ_CONFLICTS (LOCK_BIT(ORRI_LOCK_EXCLUSIVE) | LOCK_BIT(ORRI_LOCK_WRITE_WITHIN))
#define LOCK_WRITE_CONFLICTS                                          \
    [ORRI_LOCK_INCLUSIVE] = LOCK_BOTH(LOCK_BIT(ORRI_LOCK_MODES) - 1), \
    [ORRI_LOCK_EXCLUSIVE] = LOCK_BOTH(LOCK_BIT(ORRI_LOCK_MODES) - 1), \
    [ORRI_LOCK_WRITE_WITHIN] = LOCK_BOTH(                             \
        LOCK_BIT(ORRI_LOCK_READ) | LOCK_BIT(ORRI_LOCK_INCLUSIVE) | LOCK_BIT(ORRI_LOCK_EXCLUSIVE))
static const uint32_t lock_claim_conflicts[ORRI_LOCK_MODES] = {
    LOCK_WRITE_CONFLICTS,
    [ORRI_LOCK_READ] = LOCK_BOTH(LOCK_READ_CONFLICTS),
    [ORRI_LOCK_READ_WITHIN] = LOCK_BOTH(LOCK_BIT(ORRI_LOCK_EXCLUSIVE)),
};
static const uint32_t lock_claim_conflicts_overtaking[ORRI_LOCK_MODES] = {
    LOCK_WRITE_CONFLICTS,
    [ORRI_LOCK_READ] = LOCK_READ_CONFLICTS,
    [ORRI_LOCK_READ_WITHIN] = LOCK_BIT(ORRI_LOCK_EXCLUSIVE),
};

// ---- conflicts ----------------------------------------------------------------------------------

bool orri_lock_conflict(uint32_t had, uint32_t wanted)
{
    return (lock_conflicts[wanted] & ORRI_LOCK_ONE(had)) != 0;
}

uint64_t orri_lock_round(orri_locks* locks)
{
    locks->overtake_max_ns = UINT64_MAX;
    return ++locks->round;
}

static uint32_t lock_first_conflict(const orri_locks* locks, const orri_lock* set, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && (locks->slots[set[i].resource].word & lock_conflicts[set[i].mode]) == 0) {
        i++;
    }
    return i;
}

uint32_t orri_lock_blocked(const orri_locks* locks, const orri_lock_holder* holder, uint64_t round)
{
    const orri_lock* set = holder->set;
    uint32_t count = holder->count;
    if (holder->state == ORRI_LOCK_UPGRADING) {
        for (uint32_t i = 0; i < count; i++) {
            if (set[i].mode == ORRI_LOCK_INCLUSIVE &&
                (locks->slots[set[i].resource].word & ORRI_LOCK_ANY(ORRI_LOCK_READ)) != 0) {
                return i;
            }
        }
        return count;
    }
    if (round == 0) {
        return lock_first_conflict(locks, set, count);
    }
    bool overtakes = LOCK_OVERTAKE_FACTOR * holder->hold_ns <= locks->overtake_max_ns;
    const uint32_t* conflicts = overtakes ? lock_claim_conflicts_overtaking : lock_claim_conflicts;
    for (uint32_t i = 0; i < count; i++) {
        const orri_lock_slot* slot = &locks->slots[set[i].resource];
        uint32_t mode = set[i].mode;
        if ((slot->word & lock_conflicts[mode]) != 0 ||
            (slot->claims >> 16 == round && (slot->claims & conflicts[mode]) != 0)) {
            return i;
        }
    }
    return count;
}

void orri_lock_claim(orri_locks* locks, const orri_lock_holder* holder, uint64_t round)
{
    uint32_t shift = 0;
    if (holder->blocker != NULL) {
        uint64_t max_ns = orri_lock_overtake_max_ns(locks, holder);
        locks->overtake_max_ns = max_ns < locks->overtake_max_ns ? max_ns : locks->overtake_max_ns;
        shift = 8;
    }
    // ORRI_LOCK_READERS_STOPPED already protects what an upgrade waits for. A followed log does not
    // use that flag; then claims protect it from unlogged holders.
    bool upgrades = holder->state == ORRI_LOCK_UPGRADING;
    for (uint32_t i = 0; (!upgrades || locks->follow != NULL) && i < holder->count; i++) {
        orri_lock_slot* slot = &locks->slots[holder->set[i].resource];
        bool kept = !upgrades || holder->set[i].mode == ORRI_LOCK_INCLUSIVE;
        uint32_t mode = upgrades ? ORRI_LOCK_EXCLUSIVE : holder->set[i].mode;
        slot->claims = (slot->claims >> 16 == round ? slot->claims : round << 16) |
                       (kept ? LOCK_BIT(mode) << shift : 0);
    }
}

void orri_lock_readers_stop(orri_locks* locks, const orri_lock_holder* holder, bool on)
{
    for (uint32_t i = 0; i < holder->count; i++) {
        if (holder->set[i].mode == ORRI_LOCK_INCLUSIVE) {
            uint64_t* word = &locks->slots[holder->set[i].resource].word;
            *word = on ? *word | ORRI_LOCK_READERS_STOPPED : *word & ~ORRI_LOCK_READERS_STOPPED;
        }
    }
}

// ---- granting -----------------------------------------------------------------------------------

static void lock_count(_Atomic uint64_t* count, uint64_t more)
{
    uint64_t now = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, now + more, memory_order_relaxed);
}

static void lock_grant_set(orri_locks* locks, orri_lock_holder* holder)
{
    holder->live = false;
    for (uint32_t i = 0; i < holder->count; i++) {
        uint64_t* word = &locks->slots[holder->set[i].resource].word;
        *word += ORRI_LOCK_ONE(holder->set[i].mode);
        holder->live |= (*word & ORRI_LOCK_IS_LIVE) != 0;
    }
    holder->granted_at = ++locks->grants;
    lock_count(&holder->takes, 1);
}

static void lock_grant_upgrade(orri_locks* locks, orri_lock_holder* holder)
{
    orri_lock_readers_stop(locks, holder, false);
    for (uint32_t i = 0; i < holder->count; i++) {
        if (holder->set[i].mode == ORRI_LOCK_INCLUSIVE) {
            locks->slots[holder->set[i].resource].word += ORRI_LOCK_ONE(ORRI_LOCK_EXCLUSIVE) -
                                                          ORRI_LOCK_ONE(ORRI_LOCK_INCLUSIVE);
        }
    }
    lock_count(&holder->upgrades, 1);
}

static void lock_grant(orri_locks* locks, orri_lock_holder* holder)
{
    bool upgrade = holder->state == ORRI_LOCK_UPGRADING;
    if (upgrade) {
        lock_grant_upgrade(locks, holder);
    } else {
        lock_grant_set(locks, holder);
    }
    if (holder->records != NULL) {
        orri_lock_traced(holder, upgrade ? ORRI_LOCK_UPGRADED : ORRI_LOCK_TAKEN, false);
    }
    if (ORR_UNLIKELY(holder->unlogged)) {
        atomic_fetch_add(&locks->unlogged_holders, !upgrade);
    } else if (locks->log != NULL) {
        orri_lock_log_grant(locks, holder, upgrade);
    }
    holder->upgraded = upgrade;
    holder->state = ORRI_LOCK_HELD;
}

// Grants the request at a place in the queue, removes it and appends it to the list of granted
// holders. Returns the new end of that list.
static orri_lock_holder** lock_grant_at(orri_locks* locks, orri_lock_holder** place,
                                        orri_lock_holder** granted_end)
{
    orri_lock_holder* holder = *place;
    *place = holder->next;
    if (holder->next == NULL) {
        locks->waiting_end = place;
    }
    holder->next = NULL;
    bool set = holder->state == ORRI_LOCK_ASKING;
    lock_grant(locks, holder);
    if (set) {
        holder->granted_ns_at = holder->granted_at;
        holder->granted_ns = locks->now_ns;
    }
    *granted_end = holder;
    return &holder->next;
}

orri_lock_holder* orri_lock_grant_waiting(orri_locks* locks)
{
    orri_lock_holder* granted = NULL;
    orri_lock_holder** end = &granted;
    orri_lock_holder** next;
    while (locks->follow != NULL && (next = orri_lock_log_next(locks)) != NULL) {
        end = lock_grant_at(locks, next, end);
    }
    bool follows = locks->follow != NULL;
    uint64_t round = orri_lock_round(locks);
    for (orri_lock_holder** place = &locks->waiting; *place != NULL;) {
        orri_lock_holder* holder = *place;
        uint32_t blocked = orri_lock_blocked(locks, holder, round);
        if (blocked == holder->count && (!follows || holder->unlogged)) {
            end = lock_grant_at(locks, place, end);
            continue;
        }
        if (holder->waits_for == ORRI_LOCK_TURN && (!follows || holder->unlogged)) {
            holder->waits_for = holder->set[blocked].resource;
        }
        orri_lock_claim(locks, holder, round);
        place = &holder->next;
    }
    return granted;
}

// A holder may be destroyed as soon as its word is cleared, so only the address of the word is used
// after that.
bool orri_lock_wake_granted(orri_locks* locks, orri_lock_holder* granted,
                            const orri_lock_holder* self)
{
    const orr_platform* platform = locks->platform;
    bool found = false;
    while (granted != NULL) {
        _Atomic uint32_t* word = &granted->word;
        bool is_self = granted == self;
        granted = granted->next;
        ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, word);
        bool sleeps = atomic_exchange(word, 0) == 2;
        if (!is_self && sleeps) {
            ORRI_SCHED_POINT(platform, ORR_SCHED_WAKE, word);
            platform->thread_wake(platform->user, word, 1);
        }
        found |= is_self;
    }
    return found;
}

// ---- waiting ------------------------------------------------------------------------------------

bool orri_lock_ready(orri_lock_holder* holder)
{
    ORRI_SCHED_POINT(holder->locks->platform, ORR_SCHED_LOAD, &holder->word);
    return atomic_load(&holder->word) == 0;
}

static void lock_count_wait(orri_lock_holder* holder, uint64_t wait_ns)
{
    lock_count(&holder->wait_count, 1);
    lock_count(&holder->waited_ns, wait_ns);
    if (wait_ns >= atomic_load_explicit(&holder->longest_ns, memory_order_relaxed)) {
        atomic_store_explicit(&holder->longest_ns, wait_ns, memory_order_relaxed);
        atomic_store_explicit(&holder->longest_resource, holder->waits_for, memory_order_relaxed);
    }
}

#ifdef ORR_NO_THREADS
// No other thread exists that could release anything: a mistake of the owner. The request is
// granted all the same, since the counts can represent it and waiting would never end.
static void lock_sleep(orri_lock_holder* holder)
{
    orri_locks* locks = holder->locks;
    ORR_ASSERT(holder->word == 0 &&
               "a pipeline waits for a lock, but the library was built without threads");
    orri_lock_holder** place = &locks->waiting;
    while (*place != holder) {
        place = &(*place)->next;
    }
    orri_lock_holder* granted = NULL;
    lock_grant_at(locks, place, &granted);
    atomic_store(&holder->word, 0);
}
#else
static void lock_sleep(orri_lock_holder* holder)
{
    const orr_platform* platform = holder->locks->platform;
    uint32_t now = 1;
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &holder->word);
    if (atomic_compare_exchange_strong(&holder->word, &now, 2) || now == 2) {
        ORRI_SCHED_POINT(platform, ORR_SCHED_WAIT, &holder->word);
        platform->thread_wait(platform->user, &holder->word, 2, UINT64_MAX);
    }
}
#endif

// Polls for a while: systems that hold a lock often run for a few microseconds only. (A controlled
// scheduler gains nothing from it.)
static void lock_spin(orri_lock_holder* holder)
{
    if (holder->locks->platform->sched_point == NULL) {
        bool waits = true;
        for (uint32_t i = orri_spin_begin(&holder->spin); i > 0 && waits; i--) {
            orri_spin_pause();
            waits = atomic_load(&holder->word) != 0;
        }
        orri_spin_end(&holder->spin, waits);
    }
}

void orri_lock_wait(orri_lock_holder* holder)
{
    if (!holder->waiting) {
        return;
    }
    lock_spin(holder);
    while (!orri_lock_ready(holder)) {
        lock_sleep(holder);
    }
    holder->waiting = false;
    uint64_t now = orri_lock_now(holder->locks);
    lock_count_wait(holder, now > holder->asked_ns ? now - holder->asked_ns : 0);
}

// Grants the request in the holder's state, or queues it. Called under the mutex; leaves the mutex.
// True: granted. An upgrade goes to the front of the queue, because other waiters wait for what it
// holds.
static bool lock_request(orri_locks* locks, orri_lock_holder* holder)
{
    if (locks->follow == NULL && (locks->waiting == NULL || holder->state == ORRI_LOCK_UPGRADING) &&
        orri_lock_blocked(locks, holder, 0) == holder->count) {
        lock_grant(locks, holder);
        orri_locks_leave(locks);
        return true;
    }
    orri_lock_holder** place = locks->waiting_end;
    if (holder->state == ORRI_LOCK_UPGRADING) {
        place = &locks->waiting;
        if (locks->follow == NULL || holder->unlogged) {
            orri_lock_readers_stop(locks, holder, true);
        }
    }
    holder->next = *place;
    *place = holder;
    if (holder->next == NULL) {
        locks->waiting_end = &holder->next;
    }
    holder->waits_for = ORRI_LOCK_TURN;
    orri_lock_overtake_enqueued(locks, holder);
    atomic_store(&holder->word, 1);
    orri_lock_holder* granted = orri_lock_grant_waiting(locks);
    orri_locks_leave(locks);
    if (orri_lock_wake_granted(locks, granted, holder)) {
        return true;
    }
    holder->waiting = true;
    return false;
}

// ---- taking and releasing -----------------------------------------------------------------------

#ifdef ORR_VALIDATE_ON
static bool lock_set_valid(const orri_locks* locks, const orri_lock* set, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t mode = set[i].mode;
        if (set[i].resource >= locks->count || mode >= ORRI_LOCK_MODES ||
            (i > 0 && set[i].resource <= set[i - 1].resource)) {
            return false;
        }
        bool live = (locks->slots[set[i].resource].word & ORRI_LOCK_IS_LIVE) != 0;
        if (live ? mode > ORRI_LOCK_EXCLUSIVE : mode == ORRI_LOCK_INCLUSIVE) {
            return false;
        }
    }
    return true;
}
#endif

bool orri_lock_ask(orri_lock_holder* holder, uint32_t requester, const orri_lock* set,
                   uint32_t count)
{
    orri_locks* locks = holder->locks;
    orri_locks_enter(locks);
    ORR_VALIDATE(lock_set_valid(locks, set, count));
    bool idle = holder->state == ORRI_LOCK_FREE;
    if (!idle) {
        orri_locks_leave(locks);
        ORR_ASSERT(idle && "a set is taken whole: release what is held before taking another");
        return true;
    }
    holder->requester = requester;
    holder->set = set;
    holder->count = count;
    holder->reads_ended = holder->upgraded = false;
    holder->state = ORRI_LOCK_ASKING;
    return lock_request(locks, holder);
}

void orri_lock_take(orri_lock_holder* holder, uint32_t requester, const orri_lock* set,
                    uint32_t count)
{
    if (!orri_lock_ask(holder, requester, set, count)) {
        orri_lock_wait(holder);
    }
}

// True if the holder's set has a LIVE resource in that mode.
static bool lock_holds_live(const orri_lock_holder* holder, uint32_t mode)
{
    for (uint32_t i = 0; i < holder->count; i++) {
        const orri_lock_slot* slot = &holder->locks->slots[holder->set[i].resource];
        if (holder->set[i].mode == mode && (slot->word & ORRI_LOCK_IS_LIVE) != 0) {
            return true;
        }
    }
    return false;
}

// True when the holder has a set without LIVE resources: there is nothing to end or to upgrade.
static bool lock_holds_plain(const orri_lock_holder* holder)
{
    return holder->state == ORRI_LOCK_HELD && !holder->live;
}

bool orri_lock_upgrade_ask(orri_lock_holder* holder)
{
    if (lock_holds_plain(holder)) {
        return true;
    }
    orri_locks* locks = holder->locks;
    orri_locks_enter(locks);
    bool held = holder->state == ORRI_LOCK_HELD;
    bool reads = held && !holder->reads_ended && lock_holds_live(holder, ORRI_LOCK_READ);
    if (!held || reads || holder->upgraded || !lock_holds_live(holder, ORRI_LOCK_INCLUSIVE)) {
        orri_locks_leave(locks);
        ORR_ASSERT(held && !reads && "reads end before an upgrade");
        return true;
    }
    holder->state = ORRI_LOCK_UPGRADING;
    return lock_request(locks, holder);
}

void orri_lock_upgrade(orri_lock_holder* holder)
{
    if (!orri_lock_upgrade_ask(holder)) {
        orri_lock_wait(holder);
    }
}

// Removes the holder's locks from the words; `reads_only`: only the reads of LIVE resources.
static void lock_remove(orri_locks* locks, orri_lock_holder* holder, bool reads_only)
{
    if (holder->records != NULL) {
        orri_lock_traced(holder, ORRI_LOCK_RELEASED, reads_only);
    }
    for (uint32_t i = 0; i < holder->count; i++) {
        orri_lock_slot* slot = &locks->slots[holder->set[i].resource];
        uint32_t mode = orri_lock_mode_now(holder, &holder->set[i]);
        bool ends = !reads_only ||
                    (mode == ORRI_LOCK_READ && (slot->word & ORRI_LOCK_IS_LIVE) != 0);
        if (ends && mode != ORRI_LOCK_MODES) {
            slot->word -= ORRI_LOCK_ONE(mode);
        }
    }
}

static void lock_release(orri_lock_holder* holder, bool reads_only)
{
    orri_locks* locks = holder->locks;
    orri_lock_holder* granted = NULL;
    orri_locks_enter(locks);
    bool held = holder->state == ORRI_LOCK_HELD;
    if (held) {
        lock_remove(locks, holder, reads_only);
        holder->reads_ended = true;
        holder->state = reads_only ? ORRI_LOCK_HELD : ORRI_LOCK_FREE;
        if (locks->waiting != NULL) {
            orri_lock_overtake_released(locks, holder, reads_only);
            granted = orri_lock_grant_waiting(locks);
        }
    }
    orri_locks_leave(locks);
    ORR_ASSERT(held && "nothing is held");
    orri_lock_wake_granted(locks, granted, NULL);
    if (ORR_UNLIKELY(holder->unlogged) && held && !reads_only) {
        atomic_fetch_sub(&locks->unlogged_holders, 1);
    }
}

void orri_lock_reads_end(orri_lock_holder* holder)
{
    if (!lock_holds_plain(holder)) {
        lock_release(holder, true);
    }
}

void orri_lock_release(orri_lock_holder* holder)
{
    lock_release(holder, false);
}

// ---- table and holders --------------------------------------------------------------------------

orri_locks* orri_locks_create(orri_env* env)
{
    orri_locks* locks = ORRI_ALLOC_ZERO(env, ORR_MEMORY_SYSTEM, orri_locks, 1);
    if (locks == NULL) {
        orri_refuse_memory(env, "creating the lock table");
        return NULL;
    }
    locks->env = env;
    locks->platform = env->platform;
    locks->waiting_end = &locks->waiting;
    return locks;
}

void orri_locks_destroy(orri_locks* locks)
{
    if (locks == NULL) {
        return;
    }
    while (locks->holders != NULL) {
        orri_lock_holder_destroy(locks->holders);
    }
    orri_env* env = locks->env;
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, locks->slots, locks->capacity);
    ORRI_FREE(env, ORR_MEMORY_SYSTEM, orri_locks, locks, 1);
}

orr_result orri_locks_add(orri_locks* locks, uint32_t count, orri_lock_kind kind,
                          uint32_t* out_first)
{
    orri_locks_enter(locks);
    uint32_t first = locks->count;
    bool room =
        count < UINT32_MAX - first && // UINT32_MAX is ORRI_LOCK_TURN.
        ORRI_RESERVE(locks->env, ORR_MEMORY_SYSTEM, &locks->slots, &locks->capacity, first + count);
    for (uint32_t i = first; room && i < first + count; i++) {
        locks->slots[i] = (orri_lock_slot){kind == ORRI_LOCK_LIVE ? ORRI_LOCK_IS_LIVE : 0, 0};
    }
    locks->count += room ? count : 0;
    orri_locks_leave(locks);
    if (!room) {
        return orri_refuse_memory(locks->env, "adding resources to the lock table");
    }
    *out_first = first;
    return ORR_OK;
}

uint32_t orri_locks_count(orri_locks* locks)
{
    orri_locks_enter(locks);
    uint32_t count = locks->count;
    orri_locks_leave(locks);
    return count;
}

orr_result orri_lock_holder_create(orri_locks* locks, uint32_t number, orri_lock_holder** out)
{
    orri_env* env = locks->env;
    if (locks->holder_count == ORRI_LOCK_HOLDERS) {
        return orri_refuse(env, ORR_ERR_CAPACITY, ORR_LOG_ID_PLAN_REFUSED,
                           "orr_realtime: too many pipelines; at most %u can share the locks of a "
                           "world",
                           (unsigned)ORRI_LOCK_HOLDERS);
    }
    orri_lock_holder* holder = ORRI_ALLOC_ZERO(env, ORR_MEMORY_SYSTEM, orri_lock_holder, 1);
    if (holder != NULL) {
        holder->locks = locks;
        holder->number = number;
        orri_spin_init(&holder->spin, env->platform);
    }
    if (holder == NULL || !orri_lock_ring_create(holder)) {
        ORRI_FREE(env, ORR_MEMORY_SYSTEM, orri_lock_holder, holder, 1);
        return orri_refuse_memory(env, "creating a lock holder for a pipeline");
    }
    holder->next_holder = locks->holders;
    locks->holders = holder;
    locks->holder_count++;
    *out = holder;
    return ORR_OK;
}

void orri_lock_holder_set_unlogged(orri_lock_holder* holder)
{
    holder->unlogged = true;
}

bool orri_locks_unlogged_active(const orri_locks* locks)
{
    return atomic_load(&locks->unlogged_holders) > 0;
}

void orri_lock_holder_destroy(orri_lock_holder* holder)
{
    orri_locks* locks = holder->locks;
    ORR_ASSERT(holder->state == ORRI_LOCK_FREE);
    orri_lock_holder** place = &locks->holders;
    while (*place != holder) {
        place = &(*place)->next_holder;
    }
    *place = holder->next_holder;
    locks->holder_count--;
    orri_lock_ring_free(holder);
    ORRI_FREE(locks->env, ORR_MEMORY_SYSTEM, orri_lock_holder, holder, 1);
}

#undef LOCK_BIT
#undef LOCK_OVERTAKE_FACTOR
#undef LOCK_BOTH
#undef LOCK_READ_CONFLICTS
#undef LOCK_WRITE_CONFLICTS
