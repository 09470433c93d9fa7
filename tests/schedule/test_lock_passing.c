// SPDX-License-Identifier: MIT
// Who passes one that waits: by hand, and in a play of pipelines in a time of our own, where every wait is known to the nanosecond.
#include "lock_kit.h"

// ---- a play ---------------------------------------------------------------------------------------------------------------------

enum {
    ACTORS = KIT_HOLDERS,
    US = 1000,
    MS = 1000000,
};

// A pipeline: in each tick it takes one set after the other, each for a while.
typedef struct actor {
    const char* name;
    uint64_t period_ns; // 0: the next tick begins a little after the last one.
    struct {
        orri_lock set[2];
        uint32_t count;
        uint64_t ns;
    } steps[2];
    uint32_t step_count;
    // While it plays.
    bool waits;
    uint32_t step;
    uint64_t begun, next, asked; // When its tick began, what it does next is due, it asked.
    uint64_t longest_ns;         // Wait.
    uint64_t longest_first_ns;   // Of its first step, and of its last.
    uint64_t longest_last_ns;
} actor;

static uint64_t chance; // Of how long things take: within a tenth.

static uint64_t about(uint64_t ns)
{
    chance = chance * UINT64_C(6364136223846793005) + 1442695040888963407;
    return ns - ns / 10 + (chance >> 33) % (ns / 5 + 1);
}

static void actor_granted(actor* a, uint64_t now)
{
    uint64_t waited = now - a->asked;
    uint64_t* of = a->step + 1 == a->step_count ? &a->longest_last_ns : &a->longest_first_ns;
    *of = waited > *of ? waited : *of;
    a->longest_ns = waited > a->longest_ns ? waited : a->longest_ns;
    a->waits = false;
    a->next = now + about(a->steps[a->step].ns);
    a->step++;
}

// What is due: it asks for its next set, or gives back what it has first.
static void actor_act(lock_kit* kit, actor* all, uint32_t i)
{
    actor* a = &all[i];
    uint64_t now = kit->fake.now_ns;
    if (a->step > 0) {
        orri_lock_release(kit->h[i]);
    }
    if (a->step == a->step_count) {
        a->step = 0;
        a->next = a->period_ns == 0 ? now + about(50 * US) : a->begun + a->period_ns;
        a->next = a->next < now ? now : a->next;
    } else {
        a->begun = a->step == 0 ? now : a->begun;
        a->asked = now;
        a->waits = !orri_lock_ask(kit->h[i], 0, a->steps[a->step].set, a->steps[a->step].count);
        if (!a->waits) {
            actor_granted(a, now);
        }
    }
}

static void play(actor* all, uint32_t count, uint64_t end_ns)
{
    lock_kit kit;
    kit_init(&kit);
    while (kit.fake.now_ns < end_ns) {
        uint32_t first = count;
        for (uint32_t i = 0; i < count; i++) {
            if (!all[i].waits && (first == count || all[i].next < all[first].next)) {
                first = i;
            }
        }
        CHECK(first < count);
        kit.fake.now_ns = all[first].next > kit.fake.now_ns ? all[first].next : kit.fake.now_ns;
        actor_act(&kit, all, first);
        for (uint32_t i = 0; i < count; i++) {
            if (all[i].waits && orri_lock_ready(kit.h[i])) {
                orri_lock_wait(kit.h[i]);
                actor_granted(&all[i], kit.fake.now_ns);
            }
        }
        CHECK_OK(orri_locks_validate(kit.locks));
    }
    for (uint32_t left = count;
         left > 0;) { // Whoever has something gives it back, until nobody waits.
        left = 0;
        for (uint32_t i = 0; i < count; i++) {
            left += kit.h[i]->state != ORRI_LOCK_FREE;
            if (kit.h[i]->state == ORRI_LOCK_HELD) {
                orri_lock_wait(kit.h[i]);
                orri_lock_release(kit.h[i]);
            }
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        printf("  %-8s longest waits: %9.3f ms, then %9.3f ms\n", all[i].name,
               (double)all[i].longest_first_ns / MS, (double)all[i].longest_last_ns / MS);
    }
    kit_free(&kit);
}

#define READS(ns)                       \
    {                                   \
        .set = {{0, R}}, .count = 1, ns \
    }
#define COMMITS(ns)                     \
    {                                   \
        .set = {{0, X}}, .count = 1, ns \
    }

static void play_writers(uint64_t writer_ns, uint64_t second_ns)
{
    actor all[ACTORS] = {
        {"reader", 16666667, {READS(20 * US)}, .step_count = 1},
        {"writer", 0, {READS(writer_ns)}, .step_count = 1},
        {"churn", 33333333, {READS(5 * US), COMMITS(30 * US)}, .step_count = 2},
        {"second", 0, {READS(second_ns)}, .step_count = 1},
    };
    for (uint32_t i = 0; i < ACTORS; i++) {
        all[i].next = i * 777 * US;
    }
    printf(" writers of %u and %u ms\n", (unsigned)(writer_ns / MS), (unsigned)(second_ns / MS));
    play(all, second_ns == 0 ? 3 : 4, UINT64_C(60000) * MS);
}

ORR_TEST(play_of_pipelines)
{
    play_writers(2 * MS, 0);
    play_writers(12 * MS, 0);
    play_writers(70 * MS, 0);
    play_writers(12 * MS, 12 * MS);
    play_writers(70 * MS, 70 * MS);
    play_writers(70 * MS, 12 * MS);
    play_writers(70 * MS, 30 * MS);
}
