// SPDX-License-Identifier: MIT
// The mutex under the controlled scheduler: every schedule with a few preemptions, and random ones.
// Bugs planted into a copy of the mutex are found.
#include "../support/controlled.h"
#include "../test.h"

#include "base/sync.h"

// A copy of the mutex into which bugs can be planted.
typedef enum planted {
    PLANTED_NOTHING,    // The library's mutex.
    PLANTED_NO_WAKE,    // Unlocking wakes no thread.
    PLANTED_TAKES_AS_1, // A thread that slept takes the mutex in state 1.
    PLANTED_NO_STORE,   // A thread that goes to sleep does not set state 2.
    PLANTED_TWO_STEPS,  // Checks that the mutex is free, then takes it in a second step.
} planted;

typedef struct lock {
    const orr_platform* platform;
    orri_mutex mutex;
    planted bug;
    uint32_t inside, entered;
    uint32_t rounds;
} lock;

static void planted_lock(lock* l)
{
    const orr_platform* platform = l->platform;
    _Atomic uint32_t* word = &l->mutex.word;
    if (l->bug == PLANTED_TWO_STEPS) {
        ORRI_SCHED_POINT(platform, ORR_SCHED_LOAD, word);
        while (atomic_load(word) != 0) {
            ORRI_SCHED_POINT(platform, ORR_SCHED_SPIN, word);
        }
        ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, word);
        atomic_store(word, 1);
        return;
    }
    if (orri_mutex_try(platform, &l->mutex)) {
        return;
    }
    for (bool slept = false;; slept = true) {
        uint32_t take = (l->bug == PLANTED_TAKES_AS_1 && slept) || l->bug == PLANTED_NO_STORE ? 1
                                                                                              : 2;
        ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, word);
        uint32_t before = 0;
        if (atomic_compare_exchange_strong(word, &before, take)) {
            return;
        }
        if (l->bug != PLANTED_NO_STORE) {
            atomic_store(word, 2); // One step with the exchange above.
        }
        ORRI_SCHED_POINT(platform, ORR_SCHED_WAIT, word);
        platform->thread_wait(platform->user, word, l->bug == PLANTED_NO_STORE ? 1 : 2, UINT64_MAX);
    }
}

static void planted_unlock(lock* l)
{
    if (l->bug == PLANTED_NO_WAKE) {
        ORRI_SCHED_POINT(l->platform, ORR_SCHED_STORE, &l->mutex.word);
        atomic_store(&l->mutex.word, 0);
    } else {
        orri_mutex_unlock(l->platform, &l->mutex);
    }
}

static void lock_run(void* data)
{
    lock* l = data;
    for (uint32_t i = 0; i < l->rounds; i++) {
        if (l->bug == PLANTED_NOTHING) {
            orri_mutex_lock(l->platform, &l->mutex);
        } else {
            planted_lock(l);
        }
        controlled_check(l->inside++ == 0, "two are inside");
        ORRI_SCHED_POINT(l->platform, ORR_SCHED_LOAD, &l->inside);
        l->entered++;
        l->inside--;
        planted_unlock(l);
    }
}

typedef struct lock_case {
    uint32_t fibers, rounds;
    planted bug;
} lock_case;

static void lock_body(const orr_platform* platform, void* arg)
{
    const lock_case* of = arg;
    lock l = {.platform = platform, .bug = of->bug, .rounds = of->rounds};
    orr_thread threads[8];
    controlled_name(&l.mutex.word, "mutex");
    controlled_name(&l.inside, "inside");
    for (uint32_t i = 1; i < of->fibers; i++) {
        threads[i] = controlled_start(platform, "locker", lock_run, &l);
    }
    lock_run(&l);
    for (uint32_t i = 1; i < of->fibers; i++) {
        controlled_join(platform, threads[i]);
    }
    controlled_check(l.entered == of->fibers * of->rounds, "entered %u times", l.entered);
    controlled_check(l.mutex.word == 0, "mutex is left as %u", l.mutex.word);
}

static controlled_result lock_explore(lock_case of, controlled_desc desc)
{
    desc.name = "lock";
    desc.body = lock_body;
    desc.arg = &of;
    return controlled_explore(&desc);
}

ORR_TEST(mutex_of_two_fibers_excludes_and_wakes_under_all_schedules)
{
    controlled_result result = CONTROLLED_PASS(
        lock_explore((lock_case){2, 2, PLANTED_NOTHING}, (controlled_desc){.preemptions_max = 3}));
    CHECK(result.exhausted);
    CHECK(result.schedules > 200);
    result = CONTROLLED_PASS(
        lock_explore((lock_case){2, 2, PLANTED_NOTHING}, (controlled_desc){.spurious_max = 1}));
    CHECK(result.exhausted);
}

ORR_TEST(mutex_of_three_fibers_excludes_and_wakes_under_all_schedules)
{
    controlled_result result =
        CONTROLLED_PASS(lock_explore((lock_case){3, 1, PLANTED_NOTHING}, (controlled_desc){0}));
    CHECK(result.exhausted);
    CHECK(result.schedules > 500);
    result =
        CONTROLLED_PASS(lock_explore((lock_case){3, 2, PLANTED_NOTHING},
                                     (controlled_desc){.schedules_max = test_slow() ? 5000 : 0}));
    CHECK(result.exhausted || test_slow());
}

ORR_TEST(mutex_of_four_fibers_survives_random_schedules)
{
    uint64_t schedules = test_rounds(20000, 500, 1000000);
    controlled_desc desc = {.strategy = CONTROLLED_PRIORITIES, .schedules_max = schedules};
    controlled_result result = lock_explore((lock_case){4, 2, PLANTED_NOTHING}, desc);
    CONTROLLED_PASS(result);
    CHECK_EQ(result.schedules, schedules);
    CHECK(result.distinct > schedules / 100);
    desc.strategy = CONTROLLED_RANDOM;
    desc.spurious_max = 2;
    CONTROLLED_PASS(lock_explore((lock_case){4, 2, PLANTED_NOTHING}, desc));
}

static void check_planted(lock_case of, controlled_outcome outcome)
{
    controlled_desc desc = {0};
    controlled_result result = lock_explore(of, desc);
    CHECK_EQ(result.outcome, outcome);
    if (outcome == CONTROLLED_DEADLOCK) {
        CHECK_CONTAINS(result.failure, "lock: deadlock: no thread can continue\n");
        CHECK_CONTAINS(result.failure, "sleeps on mutex while it is ");
    }
    // The text of the schedule repeats it, also without the bound under which it was found.
    desc.choices = result.choices;
    desc.preemptions_max = CONTROLLED_NO_PREEMPTION;
    result = lock_explore(of, desc);
    CHECK_EQ(result.outcome, outcome);
    CHECK_EQ(result.schedules, 1);
}

ORR_TEST(mutex_with_a_planted_bug_is_caught)
{
    check_planted((lock_case){2, 1, PLANTED_NO_WAKE}, CONTROLLED_DEADLOCK);
    check_planted((lock_case){3, 1, PLANTED_TAKES_AS_1}, CONTROLLED_DEADLOCK);
    check_planted((lock_case){2, 1, PLANTED_NO_STORE}, CONTROLLED_DEADLOCK);
    check_planted((lock_case){2, 1, PLANTED_TWO_STEPS}, CONTROLLED_CHECK_FAILED);
}

ORR_TEST(mutex_bug_that_needs_three_fibers_is_not_found_with_two)
{
    lock_case of = {2, 2, PLANTED_TAKES_AS_1};
    CHECK(CONTROLLED_PASS(lock_explore(of, (controlled_desc){0})).exhausted);
}

// ---- two mutexes in two orders ------------------------------------------------------------------

typedef struct pair {
    const orr_platform* platform;
    orri_mutex a, b;
} pair;

static void pair_run(void* data)
{
    pair* p = data;
    orri_mutex_lock(p->platform, &p->b);
    orri_mutex_lock(p->platform, &p->a);
    orri_mutex_unlock(p->platform, &p->a);
    orri_mutex_unlock(p->platform, &p->b);
}

static void pair_body(const orr_platform* platform, void* arg)
{
    pair p = {.platform = platform};
    bool same_order = arg != NULL;
    controlled_name(&p.a.word, "a");
    controlled_name_at(&p.b.word, "b", 7);
    orr_thread other = controlled_start(platform, "backwards", pair_run, &p);
    orri_mutex_lock(platform, same_order ? &p.b : &p.a);
    orri_mutex_lock(platform, same_order ? &p.a : &p.b);
    orri_mutex_unlock(platform, &p.a);
    orri_mutex_unlock(platform, &p.b);
    controlled_join(platform, other);
}

ORR_TEST(controlled_finds_two_mutexes_in_two_orders)
{
    controlled_desc desc = {.name = "pair", .body = pair_body, .preemptions_max = 1};
    controlled_result result = controlled_explore(&desc);
    CHECK_EQ(result.outcome, CONTROLLED_DEADLOCK);
    CHECK_CONTAINS(result.failure, "0 body           sleeps on b[7] while it is 2\n");
    CHECK_CONTAINS(result.failure, "1 backwards      sleeps on a while it is 2\n");
    desc.arg = &desc; // In one order.
    desc.preemptions_max = 2;
    CHECK(CONTROLLED_PASS(controlled_explore(&desc)).exhausted);
}
