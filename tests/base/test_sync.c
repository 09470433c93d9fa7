// SPDX-License-Identifier: MIT
// The mutex: excludes, wakes sleepers, makes no system call without sleepers, and has sched points.
#include "../test.h"

#include "base/spin.h"
#include "base/sync.h"
#include <errno.h>

enum {
    THREADS = 4,
    ROUNDS = 5000
};

// Counts the mutex's calls of the platform.
typedef struct watched {
    orr_platform table;
    _Atomic uint32_t waits, wakes;
} watched;

static void watched_wait(void* user, void* word, uint32_t expected, uint64_t timeout_ns)
{
    watched* platform = user;
    atomic_fetch_add(&platform->waits, 1);
    orr_platform_default()->thread_wait(NULL, word, expected, timeout_ns);
}

static void watched_wake(void* user, void* word, uint32_t count)
{
    watched* platform = user;
    atomic_fetch_add(&platform->wakes, 1);
    orr_platform_default()->thread_wake(NULL, word, count);
}

static void watched_init(watched* platform)
{
    memset(platform, 0, sizeof *platform);
    platform->table = *orr_platform_default();
    platform->table.user = platform;
    platform->table.thread_wait = watched_wait;
    platform->table.thread_wake = watched_wake;
}

typedef struct shared {
    const orr_platform* platform;
    orri_mutex mutex;
    uint64_t count; // Protected by the mutex: a race shows as lost counts and as a TSan report.
    bool inside;
    bool broken;
} shared;

static orr_thread thread_started(void (*run)(void*), void* arg)
{
    orr_thread thread = {0};
    if (orr_platform_default()->thread_create(NULL, "sync", run, arg, &thread) == ENOTSUP) {
        test_skip("built without threads");
    }
    CHECK(thread.handle != 0);
    return thread;
}

static void shared_run(void* data)
{
    shared* state = data;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        if (i % 7 != 0) {
            orri_mutex_lock(state->platform, &state->mutex);
        } else {
            while (!orri_mutex_try(state->platform, &state->mutex)) {
                state->platform->thread_yield(state->platform->user);
            }
        }
        state->broken |= state->inside;
        state->inside = true;
        if (i % 500 == 0) {
            state->platform->thread_yield(state->platform->user); // Makes the others wait.
        }
        state->count++;
        state->inside = false;
        orri_mutex_unlock(state->platform, &state->mutex);
    }
}

ORR_TEST(mutex_of_many_threads_admits_one_at_a_time)
{
    shared state = {.platform = orr_platform_default()};
    orr_thread threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        threads[i] = thread_started(shared_run, &state);
    }
    for (int i = 0; i < THREADS; i++) {
        orr_platform_default()->thread_join(NULL, threads[i]);
    }
    CHECK_EQ(state.count, THREADS * ROUNDS);
    CHECK(!state.broken);
    CHECK_EQ(state.mutex.word, 0);
}

ORR_TEST(mutex_without_contention_makes_no_system_call)
{
    watched platform;
    watched_init(&platform);
    orri_mutex mutex = {0};
    orri_mutex_lock(&platform.table, &mutex);
    CHECK_EQ(mutex.word, 1);
    CHECK(!orri_mutex_try(&platform.table, &mutex));
    CHECK_EQ(mutex.word, 1);
    orri_mutex_unlock(&platform.table, &mutex);
    CHECK_EQ(mutex.word, 0);
    CHECK(orri_mutex_try(&platform.table, &mutex));
    orri_mutex_unlock(&platform.table, &mutex);
    CHECK_EQ(platform.waits, 0);
    CHECK_EQ(platform.wakes, 0);
}

static void once_run(void* data)
{
    shared* state = data;
    orri_mutex_lock(state->platform, &state->mutex);
    state->count++;
    orri_mutex_unlock(state->platform, &state->mutex);
}

ORR_TEST(mutex_held_for_long_lets_others_sleep_and_wakes_them)
{
    watched platform;
    watched_init(&platform);
    shared state = {.platform = &platform.table};
    orr_thread threads[THREADS];
    orri_mutex_lock(&platform.table, &state.mutex);
    for (int i = 0; i < THREADS; i++) {
        threads[i] = thread_started(once_run, &state);
    }
    while (atomic_load(&platform.waits) < THREADS) {
        platform.table.thread_yield(NULL);
    }
    CHECK_EQ(state.mutex.word, 2);
    CHECK_EQ(state.count, 0);
    orri_mutex_unlock(&platform.table, &state.mutex);
    for (int i = 0; i < THREADS; i++) {
        platform.table.thread_join(NULL, threads[i]);
    }
    CHECK_EQ(state.count, THREADS);
    CHECK(platform.wakes >= THREADS); // By main, and by each thread that slept.
}

// ---- sched points, with a platform that acts as the other thread --------------------------------

typedef struct script {
    orr_platform table;
    orri_mutex* mutex;
    char steps[512]; // One letter per sched point or call.
    uint32_t count;
    uint32_t spins; // SPIN points passed.
    uint32_t release_at_spin;
} script;

static void script_note(script* play, char letter)
{
    if (play->count + 1 < sizeof play->steps) {
        play->steps[play->count++] = letter;
    }
}

static void script_point(void* user, orr_sched_kind kind, const void* word)
{
    script* play = user;
    CHECK(word == &play->mutex->word);
    if (kind != ORR_SCHED_SPIN) {
        script_note(play, "?LSPWK"[kind]);
    } else if (++play->spins == play->release_at_spin) {
        atomic_store(&play->mutex->word, 0);
    }
}

// The holder unlocks while the caller is about to sleep.
static void script_wait(void* user, void* word, uint32_t expected, uint64_t timeout_ns)
{
    script* play = user;
    CHECK(word == &play->mutex->word && expected == 2 && timeout_ns == UINT64_MAX);
    script_note(play, 'w');
    CHECK(atomic_exchange(&play->mutex->word, 0) == 2);
}

static void script_wake(void* user, void* word, uint32_t count)
{
    script* play = user;
    CHECK(word == &play->mutex->word && count == 1);
    script_note(play, 'k');
}

static void script_init(script* play, orri_mutex* mutex)
{
    memset(play, 0, sizeof *play);
    play->table = *orr_platform_default();
    play->table.user = play;
    play->table.sched_point = script_point;
    play->table.thread_wait = script_wait;
    play->table.thread_wake = script_wake;
    play->mutex = mutex;
}

ORR_TEST(mutex_has_a_sched_point_before_every_step)
{
    orri_mutex mutex = {0};
    script play;
    script_init(&play, &mutex);
    orri_mutex_lock(&play.table, &mutex);
    orri_mutex_unlock(&play.table, &mutex);
    CHECK_STR(play.steps, "SS");

    script_init(&play, &mutex);
    atomic_store(&mutex.word, 1); // Held by another thread.
    orri_mutex_lock(&play.table, &mutex);
    CHECK_STR(play.steps, "SSWwS"); // Try, mark as contended, sleep, take.
    CHECK(play.spins > 0);
    CHECK_EQ(mutex.word, 2);
    orri_mutex_unlock(&play.table, &mutex);
    CHECK_STR(play.steps, "SSWwSSKk");
    CHECK_EQ(mutex.word, 0);
}

ORR_TEST(mutex_freed_while_spinning_is_taken_without_sleep)
{
    orri_mutex mutex = {0};
    script play;
    script_init(&play, &mutex);
    play.release_at_spin = 3;
    atomic_store(&mutex.word, 1);
    orri_mutex_lock(&play.table, &mutex);
    CHECK_STR(play.steps, "SS");
    CHECK_EQ(play.spins, 3);
    CHECK_EQ(mutex.word, 1);
}

// ---- polling before sleeping --------------------------------------------------------------------

static uint32_t spin_one_core(void* user)
{
    (void)user;
    return 1;
}

ORR_TEST(spin_polls_less_after_waits_that_end_in_sleep_and_tries_again)
{
    watched platform;
    watched_init(&platform);
    orri_spin spin;
    orri_spin_init(&spin, &platform.table);
    spin.most = spin.polls = ORRI_SPIN_MOST; // On a machine with one core, too.
    CHECK_EQ(orri_spin_begin(&spin), ORRI_SPIN_MOST);
    uint32_t polls = 0, longest = 0;
    for (uint32_t i = 0; i < 4 * ORRI_SPIN_RETRY; i++) {
        orri_spin_end(&spin, true);
        uint32_t now = orri_spin_begin(&spin);
        polls += now;
        longest += now == ORRI_SPIN_MOST;
    }
    CHECK_EQ(longest, 4);
    CHECK(polls < 8 * ORRI_SPIN_MOST);
    orri_spin_end(&spin, false);
    CHECK_EQ(orri_spin_begin(&spin), ORRI_SPIN_MOST);
}

ORR_TEST(spin_polls_never_with_one_core)
{
    watched platform;
    watched_init(&platform);
    platform.table.thread_cores = spin_one_core;
    orri_spin spin;
    orri_spin_init(&spin, &platform.table);
    for (uint32_t i = 0; i < 2 * ORRI_SPIN_RETRY; i++) {
        CHECK_EQ(orri_spin_begin(&spin), 0);
        orri_spin_end(&spin, i % 2 == 0);
    }
}
