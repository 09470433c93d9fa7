// SPDX-License-Identifier: MIT
// The trace of locks, the statistics, and the check of the table. Each holder has its own ring of
// records, so that grants by a plan are recorded without a lock: by the holder's thread, or by the
// granting thread while the holder waits. A sequence number shared by all rings orders the records.
#include "lock/lock_detail.h"

// ---- writing ------------------------------------------------------------------------------------

static void lock_trace_add(orri_lock_holder* holder, uint32_t requester, uint32_t resource,
                           uint32_t mode, orri_lock_event event)
{
    orri_locks* locks = holder->locks;
    uint64_t sequence = atomic_fetch_add_explicit(&locks->sequence, 1, memory_order_relaxed) + 1;
    holder->records[holder->recorded++ % locks->trace_capacity] =
        (orri_lock_record){.sequence = sequence,
                           .holder = holder->number,
                           .requester = requester,
                           .resource = resource,
                           .mode = (uint16_t)mode,
                           .event = (uint16_t)event};
}

static bool lock_trace_concerns(const orri_lock_holder* holder, const orri_lock* lock,
                                orri_lock_event event, bool reads_only)
{
    if (event == ORRI_LOCK_UPGRADED) {
        return lock->mode == ORRI_LOCK_INCLUSIVE;
    }
    if (orri_lock_mode_now(holder, lock) == ORRI_LOCK_MODES) {
        return false;
    }
    return !reads_only || (lock->mode == ORRI_LOCK_READ &&
                           (holder->locks->slots[lock->resource].word & ORRI_LOCK_IS_LIVE) != 0);
}

void orri_lock_traced(orri_lock_holder* holder, orri_lock_event event, bool reads_only)
{
    for (uint32_t i = 0; i < holder->count; i++) {
        const orri_lock* lock = &holder->set[i];
        if (lock_trace_concerns(holder, lock, event, reads_only)) {
            uint32_t mode = event == ORRI_LOCK_UPGRADED ? ORRI_LOCK_EXCLUSIVE
                                                        : orri_lock_mode_now(holder, lock);
            lock_trace_add(holder, holder->requester, lock->resource, mode, event);
        }
    }
}

void orri_lock_note(orri_lock_holder* holder, uint32_t requester, const orri_lock* set,
                    uint32_t count, orri_lock_event event)
{
    for (uint32_t i = 0; holder->records != NULL && i < count; i++) {
        lock_trace_add(holder, requester, set[i].resource, set[i].mode, event);
    }
}

// ---- rings --------------------------------------------------------------------------------------

bool orri_lock_ring_create(orri_lock_holder* holder)
{
    uint32_t capacity = holder->locks->trace_capacity;
    if (capacity == 0) {
        return true;
    }
    holder->records = ORRI_ALLOC(holder->locks->env, ORR_MEMORY_SYSTEM, orri_lock_record, capacity);
    return holder->records != NULL;
}

void orri_lock_ring_free(orri_lock_holder* holder)
{
    orri_locks* locks = holder->locks;
    ORRI_FREE(locks->env, ORR_MEMORY_SYSTEM, orri_lock_record, holder->records,
              locks->trace_capacity);
    holder->records = NULL;
    holder->recorded = 0;
}

// Allocates all new rings first, so that a refusal leaves the old ones.
orr_result orri_locks_trace(orri_locks* locks, uint32_t capacity)
{
    orri_env* env = locks->env;
    bool made = true;
    for (orri_lock_holder* h = locks->holders; capacity > 0 && h != NULL; h = h->next_holder) {
        h->records_new = ORRI_ALLOC(env, ORR_MEMORY_SYSTEM, orri_lock_record, capacity);
        made &= h->records_new != NULL;
    }
    for (orri_lock_holder* h = locks->holders; h != NULL; h = h->next_holder) {
        if (made) {
            orri_lock_ring_free(h);
            h->records = h->records_new;
        } else {
            ORRI_FREE(env, ORR_MEMORY_SYSTEM, orri_lock_record, h->records_new, capacity);
        }
        h->records_new = NULL;
    }
    if (!made) {
        return orri_refuse_memory(env, "allocating the trace of locks");
    }
    locks->trace_capacity = capacity;
    atomic_store(&locks->sequence, 0);
    return ORR_OK;
}

// ---- reading ------------------------------------------------------------------------------------

// The record with the lowest sequence of all rings; NULL: no more.
static const orri_lock_record* lock_trace_next(orri_locks* locks)
{
    const orri_lock_record* best_record = NULL;
    orri_lock_holder* best_holder = NULL;
    for (orri_lock_holder* h = locks->holders; h != NULL; h = h->next_holder) {
        if (h->read_next < h->recorded) {
            const orri_lock_record* record = &h->records[h->read_next % locks->trace_capacity];
            if (best_record == NULL || record->sequence < best_record->sequence) {
                best_record = record;
                best_holder = h;
            }
        }
    }
    if (best_holder != NULL) {
        best_holder->read_next++;
    }
    return best_record;
}

static void lock_trace_rewind(orri_locks* locks)
{
    for (orri_lock_holder* h = locks->holders; h != NULL; h = h->next_holder) {
        uint64_t capacity = locks->trace_capacity;
        h->read_next = h->recorded > capacity ? h->recorded - capacity : 0;
    }
}

uint32_t orri_locks_trace_read(orri_locks* locks, orri_lock_record* out, uint32_t capacity)
{
    uint32_t count = 0;
    lock_trace_rewind(locks);
    for (const orri_lock_record* record; (record = lock_trace_next(locks)) != NULL; count++) {
        if (count < capacity) {
            out[count] = *record;
        }
    }
    return count;
}

const char* orri_lock_mode_name(orri_lock_mode mode)
{
    static const char* const names[ORRI_LOCK_MODES] = {"read", "inclusive", "exclusive",
                                                       "read within", "write within"};
    return mode < ORRI_LOCK_MODES ? names[mode] : "?";
}

static void lock_trace_name(void (*name)(void* user, uint32_t number, orri_text* out),
                            const orri_lock_names* names, const char* word, uint32_t number,
                            orri_text* out)
{
    if (name != NULL) {
        name(names->user, number, out);
    } else {
        orri_text_add(out, "%s %u", word, (unsigned)number);
    }
}

size_t orri_locks_trace_print(orri_locks* locks, const orri_lock_names* names, char* buffer,
                              size_t size)
{
    static const char* const events[] = {"granted by plan", "taken", "upgraded", "released"};
    orri_text out = {buffer, size, 0};
    orri_lock_names none = {0};
    names = names != NULL ? names : &none;
    orri_text_add(&out, "%s", ""); // Terminates the text even if there is no record.
    lock_trace_rewind(locks);
    for (const orri_lock_record* r; (r = lock_trace_next(locks)) != NULL;) {
        orri_text_add(&out, "#%llu ", (unsigned long long)r->sequence);
        lock_trace_name(names->holder, names, "holder", r->holder, &out);
        orri_text_add(&out, ", ");
        lock_trace_name(names->requester, names, "requester", r->requester, &out);
        orri_text_add(&out, ": ");
        lock_trace_name(names->resource, names, "resource", r->resource, &out);
        orri_text_add(&out, " %s %s\n", orri_lock_mode_name((orri_lock_mode)r->mode),
                      events[r->event]);
    }
    return out.length;
}

// ---- statistics ---------------------------------------------------------------------------------

static uint64_t lock_trace_peek(const _Atomic uint64_t* word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

void orri_lock_stats_get(const orri_lock_holder* holder, orri_lock_stats* out)
{
    *out = (orri_lock_stats){
        .takes = lock_trace_peek(&holder->takes),
        .upgrades = lock_trace_peek(&holder->upgrades),
        .waits = lock_trace_peek(&holder->wait_count),
        .waited_ns = lock_trace_peek(&holder->waited_ns),
        .longest_ns = lock_trace_peek(&holder->longest_ns),
        .longest_resource = atomic_load_explicit(&holder->longest_resource, memory_order_relaxed)};
}

void orri_lock_stats_reset(orri_lock_holder* holder)
{
    _Atomic uint64_t* counts[] = {&holder->takes, &holder->upgrades, &holder->wait_count,
                                  &holder->waited_ns, &holder->longest_ns};
    for (uint32_t i = 0; i < ORRI_COUNT(counts); i++) {
        atomic_store_explicit(counts[i], 0, memory_order_relaxed);
    }
    atomic_store_explicit(&holder->longest_resource, 0, memory_order_relaxed);
}

// ---- checking -----------------------------------------------------------------------------------

// Subtracts what a holder holds from the words, or adds it again.
static void lock_trace_uncount(orri_locks* locks, const orri_lock_holder* holder, bool out)
{
    bool holds = holder->state == ORRI_LOCK_HELD || holder->state == ORRI_LOCK_UPGRADING;
    for (uint32_t i = 0; holds && i < holder->count; i++) {
        uint32_t mode = orri_lock_mode_now(holder, &holder->set[i]);
        uint64_t one = mode == ORRI_LOCK_MODES ? 0 : ORRI_LOCK_ONE(mode);
        locks->slots[holder->set[i].resource].word += out ? 0 - one : one;
    }
}

// L1: the words count exactly what the holders hold.
static bool lock_trace_words_agree(orri_locks* locks)
{
    bool agree = true;
    for (const orri_lock_holder* h = locks->holders; h != NULL; h = h->next_holder) {
        lock_trace_uncount(locks, h, true);
    }
    for (uint32_t i = 0; i < locks->count; i++) {
        agree &= (locks->slots[i].word & ORRI_LOCK_COUNTS) == 0;
    }
    for (const orri_lock_holder* h = locks->holders; h != NULL; h = h->next_holder) {
        lock_trace_uncount(locks, h, false);
    }
    return agree;
}

// L2: no resource is held in conflicting modes.
static bool lock_trace_compatible(const orri_locks* locks)
{
    for (uint32_t i = 0; i < locks->count; i++) {
        uint64_t counts = locks->slots[i].word & ORRI_LOCK_COUNTS;
        uint64_t inclusive = counts & ORRI_LOCK_ANY(ORRI_LOCK_INCLUSIVE);
        bool read = (counts & ORRI_LOCK_ANY(ORRI_LOCK_READ)) != 0;
        bool writes_within = (counts & ORRI_LOCK_ANY(ORRI_LOCK_WRITE_WITHIN)) != 0;
        if (((counts & ORRI_LOCK_ANY(ORRI_LOCK_EXCLUSIVE)) != 0 &&
             counts != ORRI_LOCK_ONE(ORRI_LOCK_EXCLUSIVE)) ||
            inclusive > ORRI_LOCK_ONE(ORRI_LOCK_INCLUSIVE) ||
            (writes_within && (read || inclusive != 0))) {
            return false;
        }
    }
    return true;
}

// L3: no waiting request could be granted, and each blocker still holds a set it had before.
static bool lock_trace_blocker_valid(const orri_lock_holder* holder)
{
    const orri_lock_holder* blocker = holder->blocker;
    return blocker == NULL ||
           ((blocker->state == ORRI_LOCK_HELD || blocker->state == ORRI_LOCK_UPGRADING) &&
            blocker->granted_at <= holder->enqueued_at);
}

static bool lock_trace_waiting_valid(orri_locks* locks)
{
    uint64_t round = orri_lock_round(locks);
    for (orri_lock_holder* h = locks->waiting; h != NULL; h = h->next) {
        if ((h->state != ORRI_LOCK_ASKING && h->state != ORRI_LOCK_UPGRADING) ||
            ((locks->follow == NULL || h->unlogged) &&
             orri_lock_blocked(locks, h, round) == h->count) ||
            (h->next == NULL && locks->waiting_end != &h->next) || !lock_trace_blocker_valid(h)) {
            return false;
        }
        orri_lock_claim(locks, h, round);
    }
    return locks->waiting != NULL || locks->waiting_end == &locks->waiting;
}

orr_result orri_locks_validate(orri_locks* locks)
{
    orri_locks_enter(locks);
    const char* broken = !lock_trace_words_agree(locks)     ? "L1"
                         : !lock_trace_compatible(locks)    ? "L2"
                         : !lock_trace_waiting_valid(locks) ? "L3"
                                                            : NULL;
    orri_locks_leave(locks);
    return broken == NULL
               ? ORR_OK
               : orri_refuse(locks->env, ORR_ERR_CORRUPT, ORR_LOG_ID_WORLD_CORRUPT,
                             "locks: invariant %s (src/lock/README.md) is violated", broken);
}
