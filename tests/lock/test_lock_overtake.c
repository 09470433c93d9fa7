// SPDX-License-Identifier: MIT
// Which requests overtake a waiter: step by step, and in a simulation of pipelines with a fake
// clock, where every wait is known to the nanosecond.
#include "lock/lock_kit.h"

// ---- step by step -------------------------------------------------------------------------------

static void kit_give(lock_kit* kit, uint32_t h)
{
    orri_lock_wait(kit->h[h]);
    orri_lock_release(kit->h[h]);
    CHECK_OK(orri_locks_validate(kit->locks));
}

ORR_TEST(reader_overtakes_a_commit_while_a_holder_it_found_remains)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {0, R}));
    CHECK(ASK(kit.h[1], {0, R}, {4, X}));
    CHECK(!ASK(kit.h[2], {0, X}));
    CHECK(ASK(kit.h[3], {0, R})); // It overtakes; again, and while one of the two is left.
    kit_give(&kit, 3);
    CHECK(ASK(kit.h[3], {0, R}));
    kit_give(&kit, 1);
    CHECK(ASK(kit.h[4], {0, R}));
    kit_give(&kit, 4);
    kit_give(&kit, 0);
    CHECK(!orri_lock_ready(
        kit.h[2])); // h3 still reads. It overtook, so it is not a holder that was found.
    CHECK(!ASK(kit.h[4], {0, R}));
    CHECK(!ASK(kit.h[0], {0, R}));
    CHECK_OK(orri_locks_validate(kit.locks));
    kit_give(&kit, 3);
    CHECK(orri_lock_ready(kit.h[2]) && !orri_lock_ready(kit.h[4]));
    kit_give(&kit, 2);
    kit_give(&kit, 4);
    kit_give(&kit, 0);
    kit_free(&kit);
}

ORR_TEST(holder_that_takes_again_counts_as_a_new_holder)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {0, R}));
    CHECK(ASK(kit.h[1], {0, R}));
    CHECK(!ASK(kit.h[2], {0, X}));
    kit_give(&kit, 0);
    CHECK(ASK(kit.h[0], {0, R})); // h1 was found: h0 overtakes.
    kit_give(&kit, 1);
    CHECK(!ASK(kit.h[1], {0, R})); // h0 was found too, but has released since.
    kit_give(&kit, 0);
    kit_give(&kit, 2);
    kit_give(&kit, 1);
    kit_free(&kit);
}

ORR_TEST(overtaking_needs_only_reads)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {0, R}, {4, R}));
    CHECK(!ASK(kit.h[1], {0, X}, {4, X}, {5, R}));
    CHECK(!ASK(kit.h[2], {0, X}));         // A writer queues in order of arrival.
    CHECK(!ASK(kit.h[3], {0, R}, {5, X})); // It reads 0, but would write 5, which h1 waits for.
    CHECK(ASK(kit.h[4], {0, R}, {4, R}, {6, X}));
    kit_give(&kit, 4);
    CHECK(!ASK(kit.h[4], {4, I}));
    kit_give(&kit, 0);
    CHECK(orri_lock_ready(kit.h[1]));
    CHECK(!orri_lock_ready(kit.h[2]) && !orri_lock_ready(kit.h[3]) && !orri_lock_ready(kit.h[4]));
    kit_give(&kit, 1);
    CHECK(orri_lock_ready(kit.h[2]) && !orri_lock_ready(kit.h[3]) && orri_lock_ready(kit.h[4]));
    kit_give(&kit, 2);
    kit_give(&kit, 3);
    kit_give(&kit, 4);
    kit_free(&kit);
}

// An inclusive lock becomes exclusive by the upgrade: two alternating holders would starve a waiter
// that reads what both change.
ORR_TEST(inclusive_request_waits_behind_a_waiting_reader)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {4, I}));
    orri_lock_upgrade(kit.h[0]);
    CHECK(!ASK(kit.h[1], {4, R}, {5, R}));
    CHECK(!ASK(kit.h[2], {5, I})); // 5 is free.
    kit_give(&kit, 0);
    CHECK(orri_lock_ready(kit.h[1]) &&
          orri_lock_ready(kit.h[2])); // Inclusive is compatible with a reader that holds it.
    kit_give(&kit, 1);
    kit_give(&kit, 2);
    kit_free(&kit);
}

ORR_TEST(upgrade_that_waits_is_overtaken_by_no_reader)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {0, R}, {4, I}));
    CHECK(ASK(kit.h[1], {4, R}));
    CHECK(!ASK(kit.h[2], {0, X}));
    CHECK(!orri_lock_upgrade_ask(kit.h[0]));
    CHECK(!ASK(kit.h[3], {0, R}, {4, R})); // It may overtake the commit, but not the upgrade.
    CHECK(ASK(kit.h[4], {0, R}, {5, R}));
    kit_give(&kit, 4);
    kit_give(&kit, 1);
    CHECK(orri_lock_ready(kit.h[0]));
    CHECK(!orri_lock_ready(kit.h[3]));
    kit_give(&kit, 0);
    CHECK(orri_lock_ready(kit.h[2]) && !orri_lock_ready(kit.h[3]));
    kit_give(&kit, 2);
    kit_give(&kit, 3);
    kit_free(&kit);
}

ORR_TEST(reads_released_block_no_holder)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {4, R}, {5, X}));
    CHECK(ASK(kit.h[1], {6, X}));
    CHECK(!ASK(kit.h[2], {4, X}, {6, R})); // It found h0 and h1.
    CHECK(ASK(kit.h[3], {4, R}));
    orri_lock_reads_end(kit.h[0]);
    CHECK(ASK(kit.h[4], {4, R})); // h1 is left.
    kit_give(&kit, 1);
    CHECK(!ASK(kit.h[1], {4, R})); // h0 still holds 5, which does not conflict.
    kit_give(&kit, 3);
    kit_give(&kit, 4);
    CHECK(orri_lock_ready(kit.h[2]));
    kit_give(&kit, 2);
    kit_give(&kit, 1);
    kit_give(&kit, 0);
    kit_free(&kit);
}

ORR_TEST(holder_with_long_hold_times_does_not_overtake_a_short_wait)
{
    lock_kit kit;
    kit_init(&kit);
    // h1 holds its set for 100 while others wait.
    CHECK(ASK(kit.h[1], {0, R}));
    CHECK(!ASK(kit.h[2], {0, X}));
    kit.fake.now_ns += 100;
    kit_give(&kit, 1);
    kit_give(&kit, 2);
    CHECK(ASK(kit.h[0], {0, R}));
    CHECK(!ASK(kit.h[2], {0, X}));
    CHECK(!ASK(kit.h[1], {0, R})); // The hold time of h0 is unknown: h1 would hold longer.
    CHECK(ASK(kit.h[3], {0, R}));  // The hold time of h3 is unknown.
    kit.fake.now_ns += 399;
    kit_give(&kit, 3);
    CHECK(!orri_lock_ready(kit.h[1]));
    kit.fake.now_ns += 1; // h0 holds four times as long as h1 did: h1 overtakes at the next event.
    CHECK(!ASK(kit.h[3], {0, X}));
    CHECK(orri_lock_ready(kit.h[1]));
    kit_give(&kit, 1);
    kit_give(&kit, 0);
    kit_give(&kit, 2);
    kit_give(&kit, 3);
    kit_free(&kit);
}

ORR_TEST(validate_finds_an_invalid_blocker)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {0, R}));
    CHECK(!ASK(kit.h[1], {0, X}));
    CHECK(ASK(kit.h[2], {0, R}));
    CHECK_OK(orri_locks_validate(kit.locks));
    for (uint32_t wrong = 2; wrong < 4; wrong++) { // h2 came later, h3 holds nothing.
        kit.h[1]->blocker = kit.h[wrong];
        CHECK_RESULT(orri_locks_validate(kit.locks), ORR_ERR_CORRUPT);
        CHECK_CONTAINS(kit.env.error_text, "L3");
    }
    kit.h[1]->blocker = kit.h[0];
    kit_give(&kit, 2);
    kit_give(&kit, 0);
    kit_give(&kit, 1);
    kit_free(&kit);
}

// Thousands of locks in one set, one of which conflicts.
ORR_TEST(blocker_is_found_in_large_sets)
{
    static orri_lock large[3000];
    lock_kit kit;
    kit_init(&kit);
    uint32_t first;
    CHECK_OK(orri_locks_add(kit.locks, 6000, ORRI_LOCK_LIVE, &first));
    for (uint32_t i = 0; i < ORRI_COUNT(large); i++) {
        large[i] = (orri_lock){first + 2 * i, R};
    }
    for (uint32_t i = 0; i < 6000; i += 499) {
        orri_lock one = {first + i, X}, read = {first + i, R};
        CHECK(orri_lock_ask(kit.h[0], 0, large, ORRI_COUNT(large)));
        bool free = orri_lock_ask(kit.h[1], 0, &one, 1);
        CHECK_EQ(free, i % 2 == 1);
        CHECK_EQ(orri_lock_ask(kit.h[2], 0, &read, 1), !free); // It overtakes.
        kit_give(&kit, 0);
        if (free) {
            kit_give(&kit, 1);
            kit_give(&kit, 2);
        } else {
            kit_give(&kit, 2);
            kit_give(&kit, 1);
        }
        // The other way round: the large set waits.
        CHECK(orri_lock_ask(kit.h[0], 0, &one, 1));
        CHECK_EQ(orri_lock_ask(kit.h[1], 0, large, ORRI_COUNT(large)), free);
        CHECK_EQ(kit.h[1]->blocker == kit.h[0], !free);
        kit_give(&kit, 0);
        kit_give(&kit, 1);
    }
    kit_free(&kit);
}

// ---- a simulation -------------------------------------------------------------------------------

enum {
    PIPELINES = KIT_HOLDERS,
    STEPS = 2,
    US = 1000,
    MS = 1000000,
};

typedef struct pipeline_step {
    orri_lock set[2];
    uint32_t count;
    uint64_t ns; // Approximately.
} pipeline_step;

// A pipeline: in each tick it takes one set after the other, each for some time.
typedef struct pipeline {
    const char* name;
    uint64_t period_ns; // 0: the next tick begins shortly after the last one.
    pipeline_step steps[STEPS];
    uint32_t step_count;
    // While the simulation runs.
    bool waits;
    uint32_t step;
    uint64_t begun, next, asked; // When its tick began, when its next action is due, when it asked.
    uint64_t longest_ns[STEPS];  // Longest wait, by step.
    // The bound of the wait: the sum of the hold times of the holders it found, of the longest
    // request that overtook it, and of the waiters ahead of it in the queue.
    uint64_t found_ns, later_ns, before_ns;
    uint32_t before;
} pipeline;

typedef struct simulation {
    lock_kit kit;
    pipeline all[PIPELINES];
    uint32_t count;
    uint64_t chance;
    uint64_t waits;
} simulation;

static uint64_t any(simulation* s, uint64_t below)
{
    s->chance = s->chance * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (s->chance >> 33) % below;
}

// Within a tenth.
static uint64_t about(simulation* s, uint64_t ns)
{
    return ns - ns / 10 + any(s, ns / 5 + 1);
}

static void pipeline_granted(simulation* s, uint32_t i)
{
    pipeline* a = &s->all[i];
    uint64_t now = s->kit.fake.now_ns, waited = now - a->asked;
    if (a->waits) {
        CHECK(waited <= a->found_ns + a->later_ns + a->before_ns);
        s->waits++;
    }
    a->longest_ns[a->step] = waited > a->longest_ns[a->step] ? waited : a->longest_ns[a->step];
    a->waits = false;
    uint64_t lasts = about(s, a->steps[a->step++].ns);
    a->next = now + lasts;
    for (uint32_t j = 0; j < s->count; j++) {
        pipeline* other = &s->all[j];
        if (other->waits && (other->before >> i & 1) != 0) {
            other->before_ns += lasts;
            other->before &= ~(1u << i);
        } else if (other->waits && lasts > other->later_ns) {
            other->later_ns = lasts;
        }
    }
}

static void pipeline_ask(simulation* s, uint32_t i)
{
    pipeline* a = &s->all[i];
    const pipeline_step* step = &a->steps[a->step];
    uint64_t now = s->kit.fake.now_ns;
    a->begun = a->step == 0 ? now : a->begun;
    a->asked = now;
    a->found_ns = a->later_ns = a->before_ns = a->before = 0;
    for (uint32_t j = 0; j < s->count; j++) {
        const pipeline* other = &s->all[j];
        a->before |= (uint32_t)other->waits << j;
        if (!other->waits && other->step > 0 && j != i && other->next - now > a->found_ns) {
            a->found_ns = other->next - now;
        }
    }
    if (orri_lock_ask(s->kit.h[i], 0, step->set, step->count)) {
        pipeline_granted(s, i);
    } else {
        a->waits = true;
    }
}

// Performs the action that is due: releases its set, then asks for the next set or ends its tick.
static void pipeline_act(simulation* s, uint32_t i)
{
    pipeline* a = &s->all[i];
    uint64_t now = s->kit.fake.now_ns;
    if (a->step > 0) {
        orri_lock_release(s->kit.h[i]);
    }
    if (a->step < a->step_count) {
        pipeline_ask(s, i);
    } else {
        a->step = 0;
        a->next = a->period_ns == 0 ? now + about(s, 50 * US) : a->begun + a->period_ns;
        a->next = a->next < now ? now : a->next;
    }
}

// Every holder releases, until no holder waits.
static void simulation_drain(simulation* s)
{
    for (bool left = true; left;) {
        left = false;
        for (uint32_t i = 0; i < s->count; i++) {
            left |= s->kit.h[i]->state != ORRI_LOCK_FREE;
            if (s->kit.h[i]->state == ORRI_LOCK_HELD) {
                kit_give(&s->kit, i);
            }
        }
    }
    kit_free(&s->kit);
}

static void simulate(simulation* s, uint64_t end_ns)
{
    kit_init(&s->kit);
    while (s->kit.fake.now_ns < end_ns) {
        uint32_t first = s->count;
        for (uint32_t i = 0; i < s->count; i++) {
            if (!s->all[i].waits && (first == s->count || s->all[i].next < s->all[first].next)) {
                first = i;
            }
        }
        CHECK(first < s->count); // Some pipeline works.
        s->kit.fake.now_ns = s->all[first].next;
        pipeline_act(s, first);
        for (uint32_t i = 0; i < s->count; i++) {
            if (s->all[i].waits && orri_lock_ready(s->kit.h[i])) {
                orri_lock_wait(s->kit.h[i]);
                pipeline_granted(s, i);
            }
        }
        CHECK_OK(orri_locks_validate(s->kit.locks));
    }
    simulation_drain(s);
}

#define READS(ns)            \
    {                        \
        {{0, R}}, 1, (ns)*US \
    }
#define COMMITS(ns)          \
    {                        \
        {{0, X}}, 1, (ns)*US \
    }

// A reader at 60 Hz, one or two long readers, and a pipeline that commits 30 times a second.
// Returns the longest waits of the reader and of the commits.
static void simulate_commits(uint64_t writer_ms, uint64_t second_ms, uint64_t* reader,
                             uint64_t* commit)
{
    simulation s = {.count = second_ms == 0 ? 3 : 4, .chance = 5};
    s.all[0] = (pipeline){"reader", 16666667, {READS(20)}, .step_count = 1};
    s.all[1] = (pipeline){"churn", 33333333, {READS(5), COMMITS(30)}, .step_count = 2};
    s.all[2] = (pipeline){"writer", 0, {READS(writer_ms * 1000)}, .step_count = 1};
    s.all[3] = (pipeline){"second", 0, {READS(second_ms * 1000)}, .step_count = 1};
    for (uint32_t i = 0; i < s.count; i++) {
        s.all[i].next = i * 777 * US;
    }
    simulate(&s, UINT64_C(60000) * MS);
    *reader = s.all[0].longest_ns[0];
    *commit = s.all[1].longest_ns[1];
    printf("  beside %2u and %2u ms: longest wait of a reader %7.3f ms, of a commit %7.3f ms\n",
           (unsigned)writer_ms, (unsigned)second_ms, (double)*reader / MS, (double)*commit / MS);
}

ORR_TEST(reader_does_not_wait_for_long_systems_and_the_commit_waits_for_one_only)
{
    static const uint64_t both[][2] = {{2, 0}, {12, 0}, {70, 0}, {12, 12}, {70, 70}, {70, 30}};
    uint64_t reader, commit;
    for (uint32_t i = 0; i < ORRI_COUNT(both); i++) {
        simulate_commits(both[i][0], both[i][1], &reader, &commit);
        CHECK(reader < MS / 10);                             // For a commit, or not at all.
        CHECK(commit < both[i][0] * MS * 11 / 10 + MS / 10); // The rest of the longest.
    }
    // A quarter as long overtakes, and may be the last: the reader then waits for it.
    simulate_commits(70, 12, &reader, &commit);
    CHECK(reader < UINT64_C(12) * MS * 11 / 10 + MS / 10);
    CHECK(commit < UINT64_C(82) * MS * 11 / 10 + MS / 10);
}

// Any sets, any lengths: no wait is longer than the hold times of the holders it found, of the
// longest request that overtook it, and of the waiters ahead of it in the queue.
ORR_TEST(wait_is_never_longer_than_its_bound)
{
    simulation s = {.chance = test_seed()};
    uint64_t waits = 0;
    for (uint32_t round = 0; round < (test_slow() ? 20 : 400); round++) {
        s.count = 2 + (uint32_t)any(&s, PIPELINES - 1);
        for (uint32_t i = 0; i < s.count; i++) {
            pipeline* a = &s.all[i];
            *a = (pipeline){.name = "any", .step_count = 1 + (uint32_t)any(&s, STEPS)};
            a->period_ns = any(&s, 2) * (1 + any(&s, 40)) * 100 * US;
            a->next = any(&s, MS);
            for (uint32_t k = 0; k < a->step_count; k++) {
                pipeline_step* step = &a->steps[k];
                step->ns = (UINT64_C(10) * US) << any(&s, 10);
                step->count = 1 + (uint32_t)any(&s, 2);
                step->set[0] = (orri_lock){(uint32_t)any(&s, 2), any(&s, 3) == 0 ? X : R};
                step->set[1] = (orri_lock){2 + (uint32_t)any(&s, 2), any(&s, 3) == 0 ? X : R};
            }
        }
        s.waits = 0;
        simulate(&s, 100 * MS);
        waits += s.waits;
    }
    printf("  %" PRIu64 " waits\n", waits);
    CHECK(waits > 1000);
}
