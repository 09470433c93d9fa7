// SPDX-License-Identifier: MIT
// Locks with real threads. They guard plain data, so TSan reports accesses that the locks do not
// separate.
#include "lock/lock_kit.h"

static orr_thread start(void (*run)(void*), void* arg)
{
    const orr_platform* platform = orr_platform_default();
    orr_thread thread;
    if (platform->thread_create(platform->user, "holder", run, arg, &thread) != 0) {
        test_skip("no threads");
    }
    return thread;
}

static void join(orr_thread thread)
{
    orr_platform_default()->thread_join(NULL, thread);
}

static void kit_init_real(lock_kit* kit)
{
    kit_init(kit);
    kit->fake.table = *orr_platform_default();
}

// Each thread adds one: reads, gives the other thread time to read too, writes.
typedef struct lost {
    orri_lock_holder* holder; // NULL: without the lock.
    _Atomic uint32_t *value, *read;
    uint32_t rounds;
} lost;

static void lost_run(void* arg)
{
    lost* l = arg;
    static const orri_lock set[] = {{4, I}};
    for (uint32_t round = 1; round <= l->rounds; round++) {
        if (l->holder != NULL) {
            orri_lock_take(l->holder, 0, set, 1);
        }
        uint32_t value = atomic_load(l->value);
        atomic_fetch_add(l->read, 1);
        // With the lock the other thread cannot get here, so the wait has an end.
        for (uint32_t i = 0; atomic_load(l->read) < 2 * round && (l->holder == NULL || i < 50);
             i++) {
            orr_platform_default()->thread_yield(NULL);
        }
        if (l->holder != NULL) {
            orri_lock_upgrade(l->holder);
        }
        atomic_store(l->value, value + 1);
        if (l->holder != NULL) {
            orri_lock_release(l->holder);
        }
    }
}

static uint32_t lost_sum(lock_kit* kit, bool locked, uint32_t rounds)
{
    _Atomic uint32_t value = 0, read = 0;
    lost writers[2];
    orr_thread threads[2];
    for (uint32_t i = 0; i < 2; i++) {
        writers[i] = (lost){locked ? kit->h[i] : NULL, &value, &read, rounds};
        threads[i] = start(lost_run, &writers[i]);
    }
    join(threads[0]);
    join(threads[1]);
    return value;
}

/* N0-46 */
ORR_TEST(two_writers_lose_an_update_without_locks_and_none_with_them)
{
    lock_kit kit;
    kit_init_real(&kit);
    CHECK_EQ(lost_sum(&kit, false, 1), 1); // Both read 0.
    CHECK_EQ(lost_sum(&kit, true, 1), 2);
    CHECK_EQ(lost_sum(&kit, true, 200), 400);
    kit_free(&kit);
}

// Plain values under locks, read and written as the modes allow: TSan reports accesses that are not
// excluded. A written value depends on the order of all writes, so two runs in the same order end
// with the same values.
typedef struct stress {
    lock_kit* kit;
    uint64_t values[8];
    uint64_t seen[KIT_HOLDERS]; // Hash of the values that each holder read.
    uint32_t rounds;
    uint64_t seed;
} stress;

typedef struct stress_thread {
    stress* of;
    uint32_t number;
} stress_thread;

static uint32_t stress_set(uint64_t* random, orri_lock* set)
{
    uint32_t count = 0;
    *random = orri_hash_word(*random, 1);
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t dice = (uint32_t)(*random >> (8 * i)) & 15;
        if (dice < (i < 4 ? 3u : 5u)) {
            set[count++] = (orri_lock){i, dice < 2 ? R : dice < 3 ? X : I};
        }
    }
    return count;
}

static void stress_touch(stress* s, uint32_t number, const orri_lock* set, uint32_t count,
                         bool upgraded, uint64_t round)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t* value = &s->values[set[i].resource];
        if (set[i].mode == X || (set[i].mode == I && upgraded)) {
            *value = orri_hash_word(*value, number + round * 8);
        } else if (!upgraded) {
            s->seen[number] = orri_hash_word(s->seen[number], *value);
        }
    }
}

static void stress_run(void* arg)
{
    stress_thread* me = arg;
    stress* s = me->of;
    orri_lock_holder* holder = s->kit->h[me->number];
    uint64_t random = orri_hash_word(s->seed, me->number);
    for (uint32_t round = 0; round < s->rounds; round++) {
        orri_lock set[8], structure[] = {{me->number % 4, X}};
        uint32_t count = stress_set(&random, set);
        orri_lock_note(holder, round, set, count, ORRI_LOCK_PLANNED);
        orri_lock_take(holder, round, set, count);
        stress_touch(s, me->number, set, count, false, round);
        if (round % 8 == me->number) { // Others enter the queue meanwhile.
            orr_platform_default()->thread_yield(NULL);
        }
        orri_lock_reads_end(holder);
        orri_lock_upgrade(holder);
        stress_touch(s, me->number, set, count, true, round);
        orri_lock_release(holder);
        if (round % 4 == 0) {
            orri_lock_take(holder, round, structure, 1);
            stress_touch(s, me->number, structure, 1, false, round);
            orri_lock_release(holder);
        }
    }
}

static void stress_all(stress* s)
{
    stress_thread all[KIT_HOLDERS];
    orr_thread threads[KIT_HOLDERS];
    for (uint32_t i = 0; i < KIT_HOLDERS; i++) {
        all[i] = (stress_thread){s, i};
        threads[i] = start(stress_run, &all[i]);
    }
    for (uint32_t i = 0; i < KIT_HOLDERS; i++) {
        join(threads[i]);
    }
    CHECK_OK(orri_locks_validate(s->kit->locks));
    orri_lock_stats sum = {0}, one;
    for (uint32_t i = 0; i < KIT_HOLDERS; i++) {
        orri_lock_stats_get(s->kit->h[i], &one);
        orri_lock_stats_reset(s->kit->h[i]);
        sum.takes += one.takes;
        sum.upgrades += one.upgrades;
        sum.waits += one.waits;
    }
    printf("  %" PRIu64 " takes, %" PRIu64 " upgrades, %" PRIu64 " waits\n", sum.takes,
           sum.upgrades, sum.waits);
    CHECK_EQ(sum.takes, KIT_HOLDERS * (s->rounds + (s->rounds + 3) / 4));
    CHECK(sum.waits > 0);
}

ORR_TEST(five_threads_exclude_each_other_and_a_replay_reads_the_same)
{
    lock_kit kit;
    kit_init_real(&kit);
    stress first = {.kit = &kit, .rounds = test_rounds(4000, 600, 200000), .seed = test_seed()};
    stress second = first;
    orri_lock_log log = {0}, again = {0};
    CHECK_OK(orri_locks_trace(kit.locks, 100));
    orri_locks_record(kit.locks, &log);
    stress_all(&first);
    CHECK_OK(orri_locks_record_end(kit.locks));
    CHECK_EQ(orri_locks_trace_read(kit.locks, NULL, 0), 100 * KIT_HOLDERS);
    CHECK_OK(orri_locks_trace(kit.locks, 0));
    orri_locks_follow(kit.locks, &log);
    orri_locks_record(kit.locks, &again);
    stress_all(&second);
    CHECK_OK(orri_locks_record_end(kit.locks));
    CHECK_OK(orri_locks_follow_end(kit.locks));
    CHECK_EQ(again.count, log.count);
    CHECK(memcmp(again.grants, log.grants, log.count * sizeof *log.grants) == 0);
    CHECK(memcmp(first.values, second.values, sizeof first.values) == 0);
    CHECK(memcmp(first.seen, second.seen, sizeof first.seen) == 0);
    orri_lock_log_free(&kit.env, &log);
    orri_lock_log_free(&kit.env, &again);
    kit_free(&kit);
}
