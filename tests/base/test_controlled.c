// SPDX-License-Identifier: MIT
// The controlled scheduler itself: it visits every schedule once, finds planted bugs, and repeats
// the failing schedules.
#include "../support/controlled.h"
#include "../test.h"

#include "base/sync.h"

// ---- counts -------------------------------------------------------------------------------------

typedef struct steps {
    const orr_platform* platform;
    uint32_t count;
    uint32_t word;
} steps;

static void steps_run(void* data)
{
    steps* s = data;
    for (uint32_t i = 0; i < s->count; i++) {
        ORRI_SCHED_POINT(s->platform, ORR_SCHED_STORE, &s->word);
    }
}

static void steps_body(const orr_platform* platform, void* arg)
{
    steps s = {platform, *(uint32_t*)arg, 0};
    orr_thread other = controlled_start(platform, "other", steps_run, &s);
    steps_run(&s);
    controlled_join(platform, other);
}

static uint64_t steps_schedules(uint32_t count, uint32_t preemptions)
{
    controlled_desc desc = {.name = "steps",
                            .body = steps_body,
                            .arg = &count,
                            .preemptions_max = preemptions == 0 ? CONTROLLED_NO_PREEMPTION
                                                                : preemptions};
    controlled_result result = CONTROLLED_PASS(controlled_explore(&desc));
    CHECK(result.exhausted);
    CHECK_EQ(result.distinct, result.schedules);
    return result.schedules;
}

// The body has n points and then joins; the other fiber has n points. Without a preemption the body
// runs to its join first: 1 schedule. One preemption can only be the body's, at any of its n
// points. Two: the body at one of n, then the other at one of n. Three: the body a second time, at
// a later point.
ORR_TEST(controlled_two_fibers_have_the_calculated_number_of_schedules)
{
    for (uint32_t n = 1; n <= 6; n++) {
        CHECK_EQ(steps_schedules(n, 0), 1);
        CHECK_EQ(steps_schedules(n, 1), 1 + n);
        CHECK_EQ(steps_schedules(n, 2), 1 + n + n * n);
        CHECK_EQ(steps_schedules(n, 3), 1 + n + n * n + n * (n - 1) / 2 * n);
    }
}

// Without a bound: n steps of the body after its first point, and n + 1 steps of the other, in
// every order.
ORR_TEST(controlled_without_bound_counts_all_interleavings)
{
    uint64_t all = 1;
    for (uint32_t n = 1; n <= 6; n++) {
        all = all * (2 * n) * (2 * n + 1) / n / (n + 1); // (2n + 1 over n)
        CHECK_EQ(steps_schedules(n, CONTROLLED_ANY_PREEMPTIONS), all);
    }
    CHECK_EQ(all, 1716);
}

typedef struct few {
    const orr_platform* platform;
    uint32_t word;
} few;

static void few_spin(void* data)
{
    few* f = data;
    ORRI_SCHED_POINT(f->platform, ORR_SCHED_SPIN, &f->word);
}

static void few_nothing(void* data)
{
    (void)data;
}

static void few_body(const orr_platform* platform, void* arg)
{
    few f = {platform, 0};
    bool yields = arg != NULL;
    orr_thread other = controlled_start(platform, "few", yields ? few_nothing : few_spin, &f);
    if (yields) {
        platform->thread_yield(platform->user);
    } else {
        ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &f.word);
    }
    controlled_join(platform, other);
}

// A yield: the other first, or the body. A spin of one round: begun after the store, when no other
// fiber can run; or before the store, and then it ends before or after it.
ORR_TEST(controlled_yield_and_spin_have_the_calculated_number_of_schedules)
{
    controlled_desc desc = {.name = "few", .body = few_body, .arg = &desc};
    CHECK_EQ(CONTROLLED_PASS(controlled_explore(&desc)).schedules, 2);
    desc.arg = NULL;
    CHECK_EQ(CONTROLLED_PASS(controlled_explore(&desc)).schedules, 3);
    desc.no_spin_out = true;
    CHECK_EQ(CONTROLLED_PASS(controlled_explore(&desc)).schedules, 2);
}

// ---- a lost update ------------------------------------------------------------------------------

typedef struct counter {
    const orr_platform* platform;
    _Atomic uint32_t count;
} counter;

static void counter_add(void* data)
{
    counter* c = data;
    ORRI_SCHED_POINT(c->platform, ORR_SCHED_LOAD, &c->count);
    uint32_t count = atomic_load(&c->count);
    ORRI_SCHED_POINT(c->platform, ORR_SCHED_STORE, &c->count);
    atomic_store(&c->count, count + 1);
}

static void counter_body(const orr_platform* platform, void* arg)
{
    counter c = {.platform = platform};
    (void)arg;
    controlled_name(&c.count, "count");
    orr_thread other = controlled_start(platform, "adder", counter_add, &c);
    counter_add(&c);
    controlled_join(platform, other);
    controlled_check(c.count == 2, "count is %u", c.count);
}

ORR_TEST(controlled_finds_a_lost_update_and_repeats_it)
{
    controlled_desc desc = {.name = "counter", .body = counter_body, .preemptions_max = 1};
    controlled_result found = controlled_explore(&desc);
    CHECK_EQ(found.outcome, CONTROLLED_CHECK_FAILED);
    CHECK(!found.exhausted);
    CHECK_CONTAINS(found.failure, "counter: check failed: ");
    CHECK_CONTAINS(found.failure, "c.count == 2 is false: count is 1");
    CHECK_CONTAINS(found.failure, "store    count");
    CHECK_CONTAINS(found.failure, "1 adder");
    // The body loads, the other starts, loads and stores, the body stores.
    CHECK_STR(found.choices, "0 1*3 0");
    CHECK_CONTAINS(found.failure, "ORR_SCHEDULE='counter:0 1*3 0'");

    char failure[4096];
    snprintf(failure, sizeof failure, "%s", found.failure);
    desc.choices = found.choices;
    controlled_result again = controlled_explore(&desc);
    CHECK_EQ(again.outcome, CONTROLLED_CHECK_FAILED);
    CHECK_EQ(again.schedules, 1);
    CHECK_STR(again.choices, "0 1*3 0");
    failure[strcspn(failure, "\n")] = 0;
    CHECK_CONTAINS(again.failure, failure);
}

ORR_TEST(controlled_random_strategies_find_a_lost_update_and_repeat_it)
{
    for (int i = 0; i < 2; i++) {
        controlled_desc desc = {.name = "counter",
                                .body = counter_body,
                                .strategy = i == 0 ? CONTROLLED_PRIORITIES : CONTROLLED_RANDOM};
        controlled_result found = controlled_explore(&desc);
        CHECK_EQ(found.outcome, CONTROLLED_CHECK_FAILED);
        CHECK_CONTAINS(found.failure, "of seed ");
        uint64_t schedules = found.schedules;
        found = controlled_explore(&desc);
        CHECK_EQ(found.schedules, schedules); // The same seed, the same schedules.
        desc.choices = found.choices;
        CHECK_EQ(controlled_explore(&desc).outcome, CONTROLLED_CHECK_FAILED);
    }
}

ORR_TEST(controlled_choices_that_do_not_fit_are_refused)
{
    controlled_desc desc = {.name = "counter", .body = counter_body, .choices = "0 1 1 1 1 1"};
    controlled_result result = controlled_explore(&desc);
    CHECK_EQ(result.outcome, CONTROLLED_DIVERGED);
    CHECK_CONTAINS(result.failure, "choice 5 of those given does not fit the program");
    desc.choices = "0 w1";
    CHECK_EQ(controlled_explore(&desc).outcome, CONTROLLED_DIVERGED);
    desc.choices = "0 1t";
    CHECK_EQ(controlled_explore(&desc).outcome, CONTROLLED_DIVERGED);
    desc.choices = ""; // Beyond the given choices there are no preemptions.
    CHECK_EQ(controlled_explore(&desc).outcome, CONTROLLED_PASSED);
}

// ---- an event -----------------------------------------------------------------------------------

typedef enum event_kind {
    EVENT_RIGHT,
    EVENT_STALE,  // Sleeps on the current value of the word, not on the value it read before.
    EVENT_NO_TURN // Correct, but checks once: a spurious wake-up is taken for the event.
} event_kind;

typedef struct event {
    const orr_platform* platform;
    _Atomic uint32_t turn; // Counts settings; the sleepers' word.
    _Atomic uint32_t set;
    event_kind kind;
} event;

static bool event_is_set(event* e)
{
    ORRI_SCHED_POINT(e->platform, ORR_SCHED_LOAD, &e->set);
    return atomic_load(&e->set) != 0;
}

static uint32_t event_turn(event* e)
{
    ORRI_SCHED_POINT(e->platform, ORR_SCHED_LOAD, &e->turn);
    return atomic_load(&e->turn);
}

static void event_wait(event* e)
{
    for (;;) {
        uint32_t turn = event_turn(e);
        if (event_is_set(e)) {
            return;
        }
        if (e->kind == EVENT_STALE) {
            turn = event_turn(e);
        }
        ORRI_SCHED_POINT(e->platform, ORR_SCHED_WAIT, &e->turn);
        e->platform->thread_wait(e->platform->user, &e->turn, turn, UINT64_MAX);
        if (e->kind == EVENT_NO_TURN) {
            return;
        }
    }
}

static void event_set(void* data)
{
    event* e = data;
    ORRI_SCHED_POINT(e->platform, ORR_SCHED_STORE, &e->set);
    atomic_store(&e->set, 1);
    ORRI_SCHED_POINT(e->platform, ORR_SCHED_STORE, &e->turn);
    atomic_fetch_add(&e->turn, 1);
    ORRI_SCHED_POINT(e->platform, ORR_SCHED_WAKE, &e->turn);
    e->platform->thread_wake(e->platform->user, &e->turn, UINT32_MAX);
}

static void event_body(const orr_platform* platform, void* arg)
{
    event e = {.platform = platform, .kind = *(event_kind*)arg};
    controlled_name(&e.turn, "turn");
    orr_thread other = controlled_start(platform, "setter", event_set, &e);
    event_wait(&e);
    controlled_check(e.set == 1, "went on before the event");
    controlled_join(platform, other);
}

ORR_TEST(controlled_finds_a_lost_wake_up)
{
    event_kind kind = EVENT_RIGHT;
    controlled_desc desc = {.name = "event", .body = event_body, .arg = &kind};
    desc.preemptions_max = CONTROLLED_ANY_PREEMPTIONS;
    CHECK(CONTROLLED_PASS(controlled_explore(&desc)).exhausted);
    kind = EVENT_STALE;
    desc.preemptions_max = 1;
    controlled_result result = controlled_explore(&desc);
    CHECK_EQ(result.outcome, CONTROLLED_DEADLOCK);
    CHECK_CONTAINS(result.failure, "0 body           sleeps on turn while it is 1\n");
    CHECK_CONTAINS(result.failure, "1 setter         done\n");
}

ORR_TEST(controlled_spurious_wake_ups_happen_when_allowed)
{
    event_kind kind = EVENT_NO_TURN;
    controlled_desc desc = {.name = "event", .body = event_body, .arg = &kind};
    CHECK(CONTROLLED_PASS(controlled_explore(&desc)).exhausted);
    desc.spurious_max = 1;
    controlled_result result = controlled_explore(&desc);
    CHECK_EQ(result.outcome, CONTROLLED_CHECK_FAILED);
    CHECK_CONTAINS(result.failure, "sleep    turn, for no reason");
    desc.choices = result.choices;
    desc.spurious_max = 0;
    CHECK_EQ(controlled_explore(&desc).outcome, CONTROLLED_CHECK_FAILED);
    kind = EVENT_RIGHT;
    desc.choices = NULL;
    desc.spurious_max = 2;
    CHECK(CONTROLLED_PASS(controlled_explore(&desc)).exhausted);
}

// ---- time ---------------------------------------------------------------------------------------

typedef struct waiter {
    const orr_platform* platform;
    _Atomic uint32_t word;
    uint64_t waited_ns;
} waiter;

static void waiter_run(void* data)
{
    waiter* w = data;
    uint64_t begin = w->platform->clock_ns(w->platform->user);
    w->platform->thread_wait(w->platform->user, &w->word, 0, 5000000);
    w->waited_ns = w->platform->clock_ns(w->platform->user) - begin;
}

static void waiter_body(const orr_platform* platform, void* arg)
{
    waiter w = {.platform = platform};
    orr_thread other = controlled_start(platform, "waiter", waiter_run, &w);
    ORRI_SCHED_POINT(platform, ORR_SCHED_WAKE, &w.word);
    if (arg != NULL) {
        platform->sleep_ns(platform->user, *(uint64_t*)arg);
        platform->thread_wake(platform->user, &w.word, 1);
    }
    controlled_join(platform, other);
    controlled_check(w.waited_ns < 5000000, "the timeout passed");
}

ORR_TEST(controlled_time_passes_when_no_fiber_can_run)
{
    uint64_t sleep_ns = 4000000;
    controlled_desc desc = {.name = "waiter", .body = waiter_body};
    CHECK_EQ(controlled_explore(&desc).outcome, CONTROLLED_CHECK_FAILED);
    desc.arg = &sleep_ns;
    // The body never sleeps as long as the waiter would, but may reach its sleep late.
    CHECK(CONTROLLED_PASS(controlled_explore(&desc)).exhausted);
    desc.timeouts_max = 1;
    controlled_result result = controlled_explore(&desc);
    CHECK_EQ(result.outcome, CONTROLLED_CHECK_FAILED);
    CHECK_CONTAINS(result.failure, "timeout passed");
    desc.choices = result.choices;
    CHECK_EQ(controlled_explore(&desc).outcome, CONTROLLED_CHECK_FAILED);
}

// ---- spins --------------------------------------------------------------------------------------

typedef struct spinner {
    const orr_platform* platform;
    _Atomic uint32_t flag, other;
    uint32_t rounds; // 0: spins without end.
    uint32_t gave_up;
    bool stores; // In each round.
} spinner;

static bool spinner_wait(spinner* s)
{
    for (uint32_t i = 0; s->rounds == 0 || i < s->rounds; i++) {
        ORRI_SCHED_POINT(s->platform, ORR_SCHED_SPIN, &s->flag);
        if (s->stores) {
            ORRI_SCHED_POINT(s->platform, ORR_SCHED_STORE, &s->other);
            atomic_fetch_add(&s->other, 1);
        }
        ORRI_SCHED_POINT(s->platform, ORR_SCHED_LOAD, &s->flag);
        if (atomic_load(&s->flag) != 0) {
            return true;
        }
    }
    return false;
}

static void spinner_run(void* data)
{
    spinner* s = data;
    s->gave_up += !spinner_wait(s);
}

static void spinner_body(const orr_platform* platform, void* arg)
{
    spinner s = *(spinner*)arg;
    s.platform = platform;
    s.gave_up = 0;
    orr_thread a = controlled_start(platform, "a", spinner_run, &s);
    orr_thread b = controlled_start(platform, "b", spinner_run, &s);
    ORRI_SCHED_POINT(platform, ORR_SCHED_LOAD, &s.other);
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &s.flag);
    atomic_store(&s.flag, 1);
    controlled_join(platform, a);
    controlled_join(platform, b);
    ((spinner*)arg)->gave_up |= 1u << s.gave_up;
}

static uint32_t spinner_ends(spinner s, controlled_desc desc)
{
    desc.name = "spinner";
    desc.body = spinner_body;
    desc.arg = &s;
    CHECK(CONTROLLED_PASS(controlled_explore(&desc)).exhausted);
    return s.gave_up;
}

ORR_TEST(controlled_spins_end_and_give_up_in_every_combination)
{
    // Bits: none, one or both of the two gave up.
    CHECK_EQ(spinner_ends((spinner){.rounds = 0}, (controlled_desc){0}), 1);
    CHECK_EQ(spinner_ends((spinner){.rounds = 64}, (controlled_desc){0}), 7);
    CHECK_EQ(spinner_ends((spinner){.rounds = 1}, (controlled_desc){0}), 7);
    CHECK_EQ(spinner_ends((spinner){.rounds = 64}, (controlled_desc){.no_spin_out = true}), 1);
}

// Two fibers that wake each other would keep the body from its store for ever.
ORR_TEST(controlled_spins_are_fair)
{
    CHECK_EQ(spinner_ends((spinner){.rounds = 0, .stores = true},
                          (controlled_desc){.preemptions_max = 1, .steps_max = 1000}),
             1);
}

// The last value a spin read may be old when it sleeps: the other fiber pushes between its last
// read and its sleep.
typedef struct idle {
    const orr_platform* platform;
    _Atomic uint32_t work, sleepy;
} idle;

static void idle_run(void* data)
{
    idle* w = data;
    for (uint32_t i = 0; i < 16; i++) {
        ORRI_SCHED_POINT(w->platform, ORR_SCHED_SPIN, &w->work);
        ORRI_SCHED_POINT(w->platform, ORR_SCHED_LOAD, &w->work);
        if (atomic_load(&w->work) != 0) {
            return;
        }
    }
    ORRI_SCHED_POINT(w->platform, ORR_SCHED_LOAD, &w->sleepy);
    uint32_t turn = atomic_load(&w->sleepy);
    ORRI_SCHED_POINT(w->platform, ORR_SCHED_WAIT, &w->sleepy);
    w->platform->thread_wait(w->platform->user, &w->sleepy, turn, UINT64_MAX);
}

static void idle_body(const orr_platform* platform, void* arg)
{
    idle w = {.platform = platform};
    (void)arg;
    controlled_name(&w.sleepy, "sleepy");
    orr_thread other = controlled_start(platform, "idle", idle_run, &w);
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &w.work);
    atomic_store(&w.work, 1);
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &w.sleepy);
    atomic_fetch_add(&w.sleepy, 1);
    ORRI_SCHED_POINT(platform, ORR_SCHED_WAKE, &w.sleepy);
    platform->thread_wake(platform->user, &w.sleepy, 1);
    controlled_join(platform, other);
}

ORR_TEST(controlled_finds_work_pushed_after_the_last_read)
{
    controlled_desc desc = {.name = "idle", .body = idle_body};
    controlled_result result = controlled_explore(&desc);
    CHECK_EQ(result.outcome, CONTROLLED_DEADLOCK);
    CHECK_CONTAINS(result.failure, "sleeps on sleepy while it is 1");
    desc.choices = result.choices;
    CHECK_EQ(controlled_explore(&desc).outcome, CONTROLLED_DEADLOCK);
    desc.choices = NULL;
    desc.strategy = CONTROLLED_PRIORITIES;
    desc.schedules_max = 100000;
    CHECK_EQ(controlled_explore(&desc).outcome, CONTROLLED_DEADLOCK);
}

// All values that a thread reads while it spins, gives up, reads again and sleeps, as one number.
// Random schedules make choices at other places than the search does; the search must reach every
// number that they reach.
typedef struct reader {
    const orr_platform* platform;
    _Atomic uint32_t flag, turn;
    uint32_t seen;
} reader;

static uint32_t reader_load(reader* s, _Atomic uint32_t* word)
{
    ORRI_SCHED_POINT(s->platform, ORR_SCHED_LOAD, word);
    return atomic_load(word);
}

static void reader_store(reader* s, _Atomic uint32_t* word, uint32_t value)
{
    ORRI_SCHED_POINT(s->platform, ORR_SCHED_STORE, word);
    atomic_store(word, value);
}

static void reader_run(void* data)
{
    reader* s = data;
    uint32_t turn = 0, flag = 0, round = 0;
    for (; round < 3 && flag == 0; round++) {
        ORRI_SCHED_POINT(s->platform, ORR_SCHED_SPIN, &s->flag);
        turn = reader_load(s, &s->turn);
        flag = reader_load(s, &s->flag);
    }
    uint32_t again = reader_load(s, &s->turn);
    // The round is not included: a round in which nothing was written equals waiting.
    s->seen = turn << 2 | flag << 4 | again << 6;
    if (flag == 0) {
        s->platform->thread_wait(s->platform->user, &s->turn, turn, UINT64_MAX);
        s->seen |= reader_load(s, &s->flag) << 8 | reader_load(s, &s->turn) << 10;
    }
}

static void reader_writer_run(void* data)
{
    reader* s = data;
    for (uint32_t i = 1; i <= 2; i++) {
        reader_store(s, &s->turn, i);
        ORRI_SCHED_POINT(s->platform, ORR_SCHED_WAKE, &s->turn);
        s->platform->thread_wake(s->platform->user, &s->turn, 1);
    }
}

typedef struct reader_results {
    bool reached[1 << 12];
    uint32_t count;
} reader_results;

static void reader_body(const orr_platform* platform, void* arg)
{
    reader s = {.platform = platform};
    reader_results* set = arg;
    orr_thread a = controlled_start(platform, "look", reader_run, &s);
    orr_thread b = controlled_start(platform, "turn", reader_writer_run, &s);
    reader_store(&s, &s.flag, 1);
    controlled_join(platform, b);
    // Wakes fibers that slept after the last turn.
    while (reader_load(&s, &s.turn) == 2 && controlled_sleepers(&s.turn) > 0) {
        platform->thread_wake(platform->user, &s.turn, 1);
    }
    reader_store(&s, &s.turn, 3);
    platform->thread_wake(platform->user, &s.turn, 1);
    controlled_join(platform, a);
    set->count += !set->reached[s.seen];
    set->reached[s.seen] = true;
}

ORR_TEST(controlled_search_reaches_all_results_of_random_schedules)
{
    static reader_results found, drawn;
    controlled_desc desc = {.name = "reader",
                            .body = reader_body,
                            .arg = &found,
                            .preemptions_max = test_slow() ? 3 : CONTROLLED_ANY_PREEMPTIONS};
    memset(&found, 0, sizeof found);
    memset(&drawn, 0, sizeof drawn);
    CHECK(CONTROLLED_PASS(controlled_explore(&desc)).exhausted);
    desc.arg = &drawn;
    // Mostly two rounds are enough; one seed in some hundreds needs more.
    for (uint32_t i = 0; i < 8 && !test_slow() && (i < 2 || drawn.count * 10 <= found.count * 9);
         i++) {
        desc.strategy = i % 2 == 0 ? CONTROLLED_RANDOM : CONTROLLED_PRIORITIES;
        desc.schedules_max = 50000u << i / 2;
        CONTROLLED_PASS(controlled_explore(&desc));
    }
    for (uint32_t i = 0; i < sizeof found.reached; i++) {
        CHECK(found.reached[i] || !drawn.reached[i]);
    }
    CHECK(found.count > 20);
    CHECK(test_slow() || drawn.count * 10 > found.count * 9);
}

static void alone_body(const orr_platform* platform, void* arg)
{
    spinner s = *(spinner*)arg;
    s.platform = platform;
    controlled_name(&s.flag, "flag");
    spinner_wait(&s);
}

ORR_TEST(controlled_spin_that_never_ends_is_a_deadlock)
{
    spinner s = {.rounds = 0};
    controlled_desc desc = {.name = "alone", .body = alone_body, .arg = &s};
    controlled_result result = controlled_explore(&desc);
    CHECK_EQ(result.outcome, CONTROLLED_DEADLOCK);
    CHECK_CONTAINS(result.failure, "spins at flag, which no fiber changes");
    s.stores = true;
    result = controlled_explore(&desc);
    CHECK_EQ(result.outcome, CONTROLLED_LIVELOCK);
    CHECK_CONTAINS(result.failure, "alone: livelock: too many steps");
}

// ---- yields -------------------------------------------------------------------------------------

static void yield_run(void* data)
{
    spinner* s = data;
    while (atomic_load(&s->flag) == 0) {
        s->platform->thread_yield(s->platform->user);
    }
}

static void yield_body(const orr_platform* platform, void* arg)
{
    spinner s = {.platform = platform};
    (void)arg;
    orr_thread a = controlled_start(platform, "a", yield_run, &s);
    orr_thread b = controlled_start(platform, "b", yield_run, &s);
    platform->thread_yield(platform->user);
    atomic_store(&s.flag, 1);
    controlled_join(platform, a);
    controlled_join(platform, b);
}

ORR_TEST(controlled_yields_end)
{
    controlled_desc desc = {.name = "yield", .body = yield_body, .steps_max = 1000};
    controlled_result result = CONTROLLED_PASS(controlled_explore(&desc));
    CHECK(result.exhausted);
    CHECK(result.schedules > 4);
}

// ---- which fiber is woken -----------------------------------------------------------------------

typedef struct crowd {
    const orr_platform* platform;
    _Atomic uint32_t word;
    char order[4];
    uint32_t count;
} crowd;

static void crowd_run(void* data)
{
    crowd* w = data;
    w->platform->thread_wait(w->platform->user, &w->word, 0, UINT64_MAX);
    w->order[w->count++] = (char)('0' + controlled_self());
}

static void crowd_body(const orr_platform* platform, void* arg)
{
    crowd w = {.platform = platform};
    orr_thread threads[3];
    for (int i = 0; i < 3; i++) {
        threads[i] = controlled_start(platform, "sleeper", crowd_run, &w);
    }
    while (controlled_sleepers(&w.word) < 3) {
        platform->thread_yield(platform->user);
    }
    for (int i = 0; i < 3; i++) {
        platform->thread_wake(platform->user, &w.word, 1);
        controlled_join(platform, threads[w.count == (uint32_t)i ? w.count : 0]);
        controlled_check(w.count > 0, "no sleeper was woken");
    }
    (void)arg;
}

static void orders_body(const orr_platform* platform, void* arg)
{
    crowd w = {.platform = platform};
    uint32_t* seen = arg;
    orr_thread a = controlled_start(platform, "a", crowd_run, &w);
    while (controlled_sleepers(&w.word) < 1) {
        platform->thread_yield(platform->user);
    }
    orr_thread b = controlled_start(platform, "b", crowd_run, &w);
    while (controlled_sleepers(&w.word) < 2) {
        platform->thread_yield(platform->user);
    }
    platform->thread_wake(platform->user, &w.word, 1);
    while (w.count == 0) {
        platform->thread_yield(platform->user);
    }
    *seen |= 1u << (w.order[0] - '0');
    platform->thread_wake(platform->user, &w.word, 2);
    controlled_join(platform, a);
    controlled_join(platform, b);
}

ORR_TEST(controlled_wake_may_reach_any_of_the_sleepers)
{
    uint32_t seen = 0;
    controlled_desc desc = {.name = "orders", .body = orders_body, .arg = &seen};
    CHECK(CONTROLLED_PASS(controlled_explore(&desc)).exhausted);
    CHECK_EQ(seen, 6);
    // Joins a sleeper that may not be the woken one.
    desc = (controlled_desc){.name = "crowd", .body = crowd_body};
    controlled_result result = controlled_explore(&desc);
    CHECK_EQ(result.outcome, CONTROLLED_DEADLOCK);
    CHECK_CONTAINS(result.choices, "w");
    desc.choices = result.choices;
    CHECK_EQ(controlled_explore(&desc).outcome, CONTROLLED_DEADLOCK);
}

// ---- other failures -----------------------------------------------------------------------------

static void early_body(const orr_platform* platform, void* arg)
{
    steps* s = arg;
    s->platform = platform;
    controlled_start(platform, "left", steps_run, s);
}

ORR_TEST(controlled_body_that_does_not_join_fails)
{
    steps s = {NULL, 1, 0};
    controlled_desc desc = {.name = "early", .body = early_body, .arg = &s};
    controlled_result result = controlled_explore(&desc);
    CHECK_EQ(result.outcome, CONTROLLED_RETURNED_EARLY);
    CHECK_CONTAINS(result.failure, "1 left           stands before start");
}

static void leak_body(const orr_platform* platform, void* arg)
{
    void* kept = platform->memory_alloc(platform->user, 100, 64);
    void* back = platform->memory_alloc(platform->user, 10, 1);
    controlled_check(kept != NULL && back != NULL, "no memory");
    controlled_check(((uintptr_t)kept & 63) == 0, "not aligned");
    memset(kept, 1, 100);
    memset(back, 1, 10);
    platform->memory_free(platform->user, back, 10, 1);
    controlled_check(arg == NULL, "dropped with memory in hand");
}

ORR_TEST(controlled_memory_of_the_table_is_checked_and_freed)
{
    controlled_desc desc = {.name = "leak", .body = leak_body};
    controlled_result result = controlled_explore(&desc);
    CHECK_EQ(result.outcome, CONTROLLED_LEAK);
    CHECK_CONTAINS(result.failure, "100 bytes in 1 blocks");
    desc.leaks_allowed = true;
    CONTROLLED_PASS(controlled_explore(&desc));
    desc.arg = &desc;
    CHECK_EQ(controlled_explore(&desc).outcome, CONTROLLED_CHECK_FAILED);
}

static void assert_body(const orr_platform* platform, void* arg)
{
    orri_mutex mutex = {0};
    (void)arg;
    orri_mutex_unlock(platform, &mutex);
}

ORR_TEST(controlled_assertion_of_the_library_fails_the_schedule)
{
#ifdef ORR_NO_ASSERT
    test_skip("assertions are compiled out");
#endif
    controlled_desc desc = {.name = "assert", .body = assert_body};
    controlled_result result = controlled_explore(&desc);
    CHECK_EQ(result.outcome, CONTROLLED_CHECK_FAILED);
    CHECK_CONTAINS(result.failure, "before != 0 is false: assertion in orri_mutex_unlock");
}

static void varying_body(const orr_platform* platform, void* arg)
{
    uint32_t* runs = arg;
    steps s = {platform, 3 - (*runs)++ % 2, 0};
    orr_thread other = controlled_start(platform, "other", steps_run, &s);
    if (*runs % 3 == 0) {
        controlled_join(platform, other);
        return;
    }
    orr_thread third = controlled_start(platform, "third", steps_run, &s);
    steps_run(&s);
    controlled_join(platform, other);
    controlled_join(platform, third);
}

ORR_TEST(controlled_program_that_is_not_deterministic_fails)
{
    uint32_t runs = 0;
    controlled_desc desc = {.name = "varying", .body = varying_body, .arg = &runs};
    controlled_result result = controlled_explore(&desc);
    CHECK_EQ(result.outcome, CONTROLLED_DIVERGED);
    CHECK_CONTAINS(result.failure, "it depends on more than the schedule");
}

static void check_end(void* arg)
{
    uint32_t* runs = arg;
    controlled_check(++*runs < 3, "third schedule");
}

static void nothing_body(const orr_platform* platform, void* arg)
{
    uint32_t count = 2;
    (void)arg;
    steps_body(platform, &count);
}

ORR_TEST(controlled_check_after_each_schedule_may_fail_it)
{
    uint32_t runs = 0;
    controlled_desc desc = {
        .name = "after", .body = nothing_body, .arg = &runs, .check = check_end};
    controlled_result result = controlled_explore(&desc);
    CHECK_EQ(result.outcome, CONTROLLED_CHECK_FAILED);
    CHECK_EQ(result.schedules, 3);
}

// ---- state of a thread --------------------------------------------------------------------------

static _Thread_local uint32_t own_number = 5;

typedef struct owner {
    const orr_platform* platform;
    uint32_t word;
} owner;

static void owner_run(void* data)
{
    owner* o = data;
    controlled_check(own_number == 5, "it is %u", own_number);
    own_number = 100 + controlled_self();
    ORRI_SCHED_POINT(o->platform, ORR_SCHED_LOAD, &o->word);
    controlled_check(own_number == 100 + controlled_self(), "it is %u", own_number);
#ifdef __x86_64__
    controlled_check((__builtin_ia32_stmxcsr() & 0x6000) == 0, "rounds to nearest at first");
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x2000 * (controlled_self() & 3));
    ORRI_SCHED_POINT(o->platform, ORR_SCHED_LOAD, &o->word);
    controlled_check((__builtin_ia32_stmxcsr() & 0x6000) == 0x2000 * (controlled_self() & 3),
                     "rounds as another does");
#endif
}

static void owner_body(const orr_platform* platform, void* arg)
{
    owner o = {platform, 0};
    orr_thread threads[3];
    (void)arg;
    controlled_check(platform->thread_cores(platform->user) == 6, "cores of the desc");
    for (int i = 0; i < 3; i++) {
        threads[i] = controlled_start(platform, "owner", owner_run, &o);
    }
    orr_thread none = {0};
    controlled_check(platform->thread_create(platform->user, "none", owner_run, &o, &none) != 0,
                     "one thread too many");
    owner_run(&o);
    for (int i = 0; i < 3; i++) {
        controlled_join(platform, threads[i]);
    }
}

ORR_TEST(controlled_fibers_have_their_own_rounding_and_thread_locals)
{
    controlled_thread_local(&own_number, sizeof own_number);
    controlled_desc desc = {
        .name = "owner", .body = owner_body, .cores = 6, .threads_max = 3, .preemptions_max = 1};
    CHECK(CONTROLLED_PASS(controlled_explore(&desc)).exhausted);
    CHECK_EQ(own_number, 5);
}

// ---- many schedules -----------------------------------------------------------------------------

static void many_body(const orr_platform* platform, void* arg)
{
    steps s = {platform, 20, 0};
    (void)arg;
    orr_thread a = controlled_start(platform, "a", steps_run, &s),
               b = controlled_start(platform, "b", steps_run, &s);
    steps_run(&s);
    controlled_join(platform, a);
    controlled_join(platform, b);
}

ORR_TEST(controlled_runs_a_hundred_thousand_schedules)
{
    uint64_t schedules = test_rounds(100000, 20000, 10000000);
    controlled_desc desc = {
        .name = "many", .body = many_body, .preemptions_max = 5, .schedules_max = schedules};
    CHECK_EQ(CONTROLLED_PASS(controlled_explore(&desc)).distinct, schedules);
    desc.strategy = CONTROLLED_PRIORITIES;
    desc.schedules_max = schedules / 10;
    CHECK(CONTROLLED_PASS(controlled_explore(&desc)).points >= desc.schedules_max * 60);
}
