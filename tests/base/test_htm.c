// SPDX-License-Identifier: MIT
// Transactional memory of the processor: detected only where it works, all or nothing, and never
// while another thread holds the lock. Where there is none, only the detection is tested.
#include "base/htm.h"
#include "test.h"
#include <stdatomic.h>

typedef struct two {
    uint32_t a, b;
    bool asks; // Makes a system call, which aborts every transaction.
} two;

static void add_both(void* user)
{
    two* t = user;
    t->a++;
    if (t->asks) {
        (void)remove("/nowhere/at/all");
    }
    t->b++;
}

// A transaction may be aborted for any reason: several tries.
static orri_htm_result try_often(const _Atomic uint32_t* word, two* t)
{
    orri_htm_result end = ORRI_HTM_NEVER;
    for (uint32_t i = 0; i < 64 && end != ORRI_HTM_DONE; i++) {
        end = orri_htm_try(word, add_both, t);
    }
    return end;
}

ORR_TEST(htm_detection_always_gives_the_same_result) /* N3-15 */
{
    bool works = orri_htm_works();
    printf("  transactional memory: %s\n", works ? "works" : "none, or not here");
    CHECK_EQ(orri_htm_works(), works);
}

ORR_TEST(htm_function_has_all_effects_or_none) /* N3-15 */
{
    _Atomic uint32_t word = 0;
    two t = {0};
    if (!orri_htm_works()) {
        test_skip("no transactional memory here");
    }
    CHECK_EQ(try_often(&word, &t), ORRI_HTM_DONE);
    CHECK_EQ(t.a, 1);
    CHECK_EQ(t.b, 1);
    t.asks = true;
    CHECK(try_often(&word, &t) != ORRI_HTM_DONE);
    CHECK_EQ(t.a, 1);
    CHECK_EQ(t.b, 1);
}

ORR_TEST(htm_with_the_lock_held_does_nothing) /* N3-15 */
{
    _Atomic uint32_t word = 1;
    two t = {0};
    if (!orri_htm_works()) {
        test_skip("no transactional memory here");
    }
    orri_htm_result end = ORRI_HTM_NEVER;
    for (uint32_t i = 0; i < 64; i++) {
        orri_htm_result now = orri_htm_try(&word, add_both, &t);
        CHECK(now != ORRI_HTM_DONE);
        end = now == ORRI_HTM_HELD ? now : end;
    }
    CHECK_EQ(end, ORRI_HTM_HELD);
    CHECK_EQ(t.a + t.b, 0);
}
