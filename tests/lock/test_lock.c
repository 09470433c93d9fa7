// SPDX-License-Identifier: MIT
// The lock table, step by step: one thread makes the requests of several holders and checks which
// are granted.
#include "lock/lock_kit.h"

static const orri_lock read_1[] = {{1, R}}; // For loops: a set must exist while it is held.

// ---- modes --------------------------------------------------------------------------------------

// The row's mode is held, the column's mode is requested.
static void check_pairs(lock_kit* kit, uint32_t resource, const uint32_t* modes, uint32_t count,
                        const char* const* together)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < count; j++) {
            orri_lock first = {resource, modes[i]}, second = {resource, modes[j]};
            CHECK(orri_lock_ask(kit->h[0], 0, &first, 1));
            bool both = orri_lock_ask(kit->h[1], 0, &second, 1);
            if (both != (together[i][j] == '+')) {
                test_fail(__FILE__, __LINE__, "%s beside %s is %s",
                          orri_lock_mode_name((orri_lock_mode)modes[j]),
                          orri_lock_mode_name((orri_lock_mode)modes[i]),
                          both ? "granted" : "not granted");
            }
            CHECK_EQ(orri_lock_ready(kit->h[1]), both);
            CHECK_OK(orri_locks_validate(kit->locks));
            orri_lock_release(kit->h[0]);
            CHECK(orri_lock_ready(kit->h[1]));
            orri_lock_wait(kit->h[1]);
            orri_lock_release(kit->h[1]);
        }
    }
}

/* N0-01 N0-02 N0-03 */
ORR_TEST(modes_held_together_are_those_of_the_table)
{
    lock_kit kit;
    kit_init(&kit);
    static const char* const live[] = {"++.", "+..", "..."};
    check_pairs(&kit, 5, (const uint32_t[]){R, I, X}, 3, live);
    static const char* const plain[] = {"+.+.", "....", "+.++", "..++"};
    check_pairs(&kit, 2, (const uint32_t[]){R, X, RW, WW}, 4, plain);
    kit_free(&kit);
}

/* N0-01 */
ORR_TEST(readers_of_one_resource_are_unlimited)
{
    lock_kit kit;
    kit_init(&kit);
    for (uint32_t i = 0; i < KIT_HOLDERS - 1; i++) {
        CHECK(orri_lock_ask(kit.h[i], 0, read_1, 1));
    }
    CHECK(!ASK(kit.h[4], {1, X}));
    for (uint32_t i = 0; i < KIT_HOLDERS - 1; i++) {
        CHECK(!orri_lock_ready(kit.h[4]));
        orri_lock_release(kit.h[i]);
    }
    CHECK(orri_lock_ready(kit.h[4]));
    orri_lock_wait(kit.h[4]);
    orri_lock_release(kit.h[4]);
    kit_free(&kit);
}

/* N0-03 */
ORR_TEST(inclusive_holder_admits_all_readers_and_no_writer)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {4, I}));
    CHECK(ASK(kit.h[1], {4, R}));
    CHECK(ASK(kit.h[2], {4, R}));
    CHECK(!ASK(kit.h[3], {4, I}));
    CHECK(!ASK(kit.h[4], {4, X}));
    orri_lock_release(kit.h[1]);
    orri_lock_release(kit.h[2]);
    CHECK(!orri_lock_ready(kit.h[3]));
    orri_lock_release(kit.h[0]);
    CHECK(orri_lock_ready(kit.h[3]) && !orri_lock_ready(kit.h[4]));
    orri_lock_wait(kit.h[3]);
    orri_lock_release(kit.h[3]);
    orri_lock_wait(kit.h[4]);
    orri_lock_release(kit.h[4]);
    kit_free(&kit);
}

ORR_TEST(resource_that_stands_for_many_is_read_whole_or_written_in_parts)
{
    lock_kit kit;
    kit_init(&kit);
    // 0 stands for 1 to 3. Two holders write different parts. A reader of the whole waits for both.
    // A part is read beside the write of another part.
    CHECK(ASK(kit.h[0], {0, WW}, {1, X}));
    CHECK(ASK(kit.h[1], {0, WW}, {2, X}));
    CHECK(ASK(kit.h[2], {0, RW}, {3, R}));
    CHECK(!ASK(kit.h[3], {0, R}));
    orri_lock_release(kit.h[2]);
    orri_lock_release(kit.h[0]);
    CHECK(!orri_lock_ready(kit.h[3]));
    CHECK(!ASK(kit.h[0], {0, WW}, {1, X})); // Behind the waiter that reads all.
    CHECK(ASK(kit.h[2], {0, RW}, {3, R}));  // No conflict with that waiter.
    orri_lock_release(kit.h[1]);
    CHECK(orri_lock_ready(kit.h[3]));
    orri_lock_wait(kit.h[3]);
    orri_lock_release(kit.h[2]);
    CHECK(!orri_lock_ready(kit.h[0]));
    orri_lock_release(kit.h[3]);
    CHECK(orri_lock_ready(kit.h[0]));
    orri_lock_wait(kit.h[0]);
    orri_lock_release(kit.h[0]);
    kit_free(&kit);
}

// ---- sets and the queue -------------------------------------------------------------------------

ORR_TEST(set_that_cannot_be_granted_whole_is_not_granted_in_part)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {1, X}));
    CHECK(!ASK(kit.h[1], {0, X}, {1, R}, {2, X}));
    CHECK_EQ(kit.locks->slots[0].word, 0);
    CHECK_EQ(kit.locks->slots[1].word, ORRI_LOCK_ONE(X));
    CHECK_EQ(kit.locks->slots[2].word, 0);
    CHECK_OK(orri_locks_validate(kit.locks));
    orri_lock_release(kit.h[0]);
    CHECK(orri_lock_ready(kit.h[1]));
    CHECK_EQ(kit.locks->slots[0].word, ORRI_LOCK_ONE(X));
    CHECK_EQ(kit.locks->slots[1].word, ORRI_LOCK_ONE(R));
    CHECK_EQ(kit.locks->slots[2].word, ORRI_LOCK_ONE(X));
    orri_lock_wait(kit.h[1]);
    orri_lock_release(kit.h[1]);
    kit_free(&kit);
}

ORR_TEST(queue_is_served_in_order_of_arrival)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {1, X}));
    CHECK(!ASK(kit.h[1], {1, R}));
    CHECK(!ASK(kit.h[2], {1, X}));
    CHECK(!ASK(kit.h[3], {1, R}));
    orri_lock_release(kit.h[0]);
    CHECK(orri_lock_ready(kit.h[1]));
    CHECK(!orri_lock_ready(kit.h[2]));
    CHECK(!orri_lock_ready(kit.h[3])); // It could read beside h1, but h2 came first.
    orri_lock_wait(kit.h[1]);
    orri_lock_release(kit.h[1]);
    CHECK(orri_lock_ready(kit.h[2]) && !orri_lock_ready(kit.h[3]));
    orri_lock_wait(kit.h[2]);
    orri_lock_release(kit.h[2]);
    orri_lock_wait(kit.h[3]);
    orri_lock_release(kit.h[3]);
    kit_free(&kit);
}

ORR_TEST(newcomer_waits_behind_conflicting_waiters_and_passes_all_others)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {0, X}));
    CHECK(!ASK(kit.h[1], {0, X}, {1, R}));
    CHECK(ASK(kit.h[2], {1, R})); // Both read 1.
    orri_lock_release(kit.h[2]);
    CHECK(!ASK(kit.h[2], {1, X}));         // Free, but h1 waits for it.
    CHECK(!ASK(kit.h[3], {1, R}, {2, R})); // Behind h2, though not behind h1.
    CHECK(ASK(kit.h[4], {2, R}));
    CHECK_OK(orri_locks_validate(kit.locks));
    orri_lock_release(kit.h[0]);
    CHECK(orri_lock_ready(kit.h[1]) && !orri_lock_ready(kit.h[2]) && !orri_lock_ready(kit.h[3]));
    orri_lock_wait(kit.h[1]);
    orri_lock_release(kit.h[1]);
    CHECK(orri_lock_ready(kit.h[2]) && !orri_lock_ready(kit.h[3]));
    orri_lock_wait(kit.h[2]);
    orri_lock_release(kit.h[2]);
    orri_lock_wait(kit.h[3]);
    orri_lock_release(kit.h[3]);
    orri_lock_release(kit.h[4]);
    kit_free(&kit);
}

ORR_TEST(release_grants_all_waiters_that_fit)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {0, X}, {1, X}, {2, X}));
    CHECK(!ASK(kit.h[1], {0, R}));
    CHECK(!ASK(kit.h[2], {0, R}, {1, X}));
    CHECK(!ASK(kit.h[3], {1, R}));
    CHECK(!ASK(kit.h[4], {2, X}));
    orri_lock_release(kit.h[0]);
    CHECK(orri_lock_ready(kit.h[1]) && orri_lock_ready(kit.h[2]) && orri_lock_ready(kit.h[4]));
    CHECK(!orri_lock_ready(kit.h[3]));
    orri_lock_release(kit.h[2]);
    CHECK(orri_lock_ready(kit.h[3]));
    orri_lock_release(kit.h[1]);
    orri_lock_release(kit.h[3]);
    orri_lock_release(kit.h[4]);
    kit_free(&kit);
}

ORR_TEST(empty_set_is_granted_at_once)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {0, X}));
    CHECK(!ASK(kit.h[1], {0, X}));
    CHECK(orri_lock_ask(kit.h[2], 0, NULL, 0));
    orri_lock_upgrade(kit.h[2]);
    orri_lock_release(kit.h[2]);
    orri_lock_release(kit.h[0]);
    orri_lock_release(kit.h[1]);
    kit_free(&kit);
}

// ---- upgrade ------------------------------------------------------------------------------------

ORR_TEST(upgrade_waits_for_readers_and_stops_new_ones_even_earlier_waiters)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {4, I}));
    CHECK(ASK(kit.h[1], {4, R}));
    CHECK(ASK(kit.h[2], {5, X}));
    CHECK(!ASK(kit.h[3], {4, R}, {5, R})); // In the queue for 5, before the upgrade.
    CHECK(!orri_lock_upgrade_ask(kit.h[0]));
    CHECK_OK(orri_locks_validate(kit.locks));
    orri_lock_release(kit.h[2]);
    CHECK(!orri_lock_ready(kit.h[3]));
    CHECK(!ASK(kit.h[4], {4, R}));
    CHECK(!orri_lock_ready(kit.h[0]));
    orri_lock_release(kit.h[1]);
    CHECK(orri_lock_ready(kit.h[0]));
    CHECK(!orri_lock_ready(kit.h[3]) && !orri_lock_ready(kit.h[4]));
    CHECK_EQ(kit.locks->slots[4].word, ORRI_LOCK_IS_LIVE | ORRI_LOCK_ONE(X));
    orri_lock_wait(kit.h[0]);
    orri_lock_release(kit.h[0]);
    CHECK(orri_lock_ready(kit.h[3]) && orri_lock_ready(kit.h[4]));
    orri_lock_release(kit.h[3]);
    orri_lock_release(kit.h[4]);
    kit_free(&kit);
}

ORR_TEST(upgrade_leaves_no_gap_for_a_waiter)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {4, I}, {5, I}, {6, X}));
    CHECK(!ASK(kit.h[1], {4, X}));
    CHECK(orri_lock_upgrade_ask(kit.h[0])); // No reader: granted at once, ahead of the queue.
    CHECK(orri_lock_upgrade_ask(kit.h[0])); // Again: no effect.
    for (uint32_t i = 4; i < 7; i++) {
        CHECK_EQ(kit.locks->slots[i].word, ORRI_LOCK_IS_LIVE | ORRI_LOCK_ONE(X));
    }
    CHECK(!orri_lock_ready(kit.h[1]));
    orri_lock_release(kit.h[0]);
    CHECK(orri_lock_ready(kit.h[1]));
    orri_lock_release(kit.h[1]);
    kit_free(&kit);
}

ORR_TEST(reads_end_releases_live_reads_and_keeps_plain_reads)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {0, R}, {4, I}, {5, R}));
    CHECK(!ASK(kit.h[1], {5, X}));
    CHECK(!ASK(kit.h[2], {0, X}));
    orri_lock_reads_end(kit.h[0]);
    CHECK(orri_lock_ready(kit.h[1]) && !orri_lock_ready(kit.h[2]));
    orri_lock_reads_end(kit.h[0]); // Again: no effect.
    CHECK_OK(orri_locks_validate(kit.locks));
    CHECK(orri_lock_upgrade_ask(kit.h[0]));
    CHECK(!orri_lock_ready(kit.h[2]));
    orri_lock_release(kit.h[0]);
    CHECK(orri_lock_ready(kit.h[2]));
    orri_lock_release(kit.h[1]);
    orri_lock_release(kit.h[2]);
    kit_free(&kit);
}

ORR_TEST(upgrades_of_two_holders_do_not_wait_for_each_other)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {0, R}, {4, I}, {5, R}));
    CHECK(ASK(kit.h[1], {0, R}, {4, R}, {5, I}));
    orri_lock_reads_end(kit.h[0]);
    CHECK(!orri_lock_upgrade_ask(kit.h[0])); // h1 reads 4.
    orri_lock_reads_end(kit.h[1]);
    CHECK(orri_lock_ready(kit.h[0]));
    CHECK(orri_lock_upgrade_ask(kit.h[1]));
    orri_lock_release(kit.h[0]);
    orri_lock_release(kit.h[1]);
    kit_free(&kit);
}

static uint32_t asserts;

static void assert_count(const char* condition, const char* file, int line, const char* function)
{
    (void)condition, (void)file, (void)line, (void)function;
    asserts++;
}

ORR_TEST(misuse_is_an_assertion_without_effect)
{
    lock_kit kit;
    kit_init(&kit);
    asserts = 0;
    orr_assert_handler before = orr_assert_handler_set(assert_count);
    orri_lock_release(kit.h[0]); // It holds nothing.
    CHECK_EQ(asserts, 1);
    orri_lock_upgrade(kit.h[0]);
    CHECK_EQ(asserts, 2);
    CHECK(ASK(kit.h[0], {4, I}, {5, R}));
    orri_lock_take(kit.h[0], 0, SET({6, X})); // A second take.
    CHECK_EQ(asserts, 3);
    orri_lock_upgrade(kit.h[0]); // It still reads.
    CHECK_EQ(asserts, 4);
    CHECK_EQ(kit.locks->slots[4].word, ORRI_LOCK_IS_LIVE | ORRI_LOCK_ONE(I));
    CHECK_EQ(kit.locks->slots[6].word, ORRI_LOCK_IS_LIVE);
    orr_assert_handler_set(before);
    orri_lock_release(kit.h[0]);
    kit_free(&kit);
}

// ---- table --------------------------------------------------------------------------------------

ORR_TEST(table_grows_while_locks_are_held_and_waited_for)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {1, X}));
    CHECK(!ASK(kit.h[1], {1, R}));
    uint32_t first = 0;
    CHECK_OK(orri_locks_add(kit.locks, 5000, ORRI_LOCK_LIVE, &first));
    CHECK_EQ(first, 8);
    CHECK_EQ(orri_locks_count(kit.locks), 5008);
    CHECK(ASK(kit.h[2], {5007, I}));
    CHECK_RESULT(orri_locks_add(kit.locks, UINT32_MAX - 5008, ORRI_LOCK_LIVE, &first),
                 ORR_ERR_MEMORY);
    CHECK_EQ(orri_locks_count(kit.locks), 5008);
    orri_lock_release(kit.h[0]);
    CHECK(orri_lock_ready(kit.h[1]));
    orri_lock_release(kit.h[1]);
    orri_lock_release(kit.h[2]);
    kit_free(&kit);
}

ORR_TEST(table_refused_memory_at_any_request_is_unchanged)
{
    for (uint64_t n = 1;; n++) {
        lock_kit kit;
        kit_init(&kit);
        orri_locks_destroy(kit.locks);
        failing_alloc_arm(&kit.memory, n, false);
        bool made = kit_fill(&kit);
        CHECK_EQ(made, kit.memory.refused == 0);
        if (!made) {
            CHECK_RESULT(orri_env_result(&kit.env), ORR_ERR_MEMORY);
        }
        orri_locks_destroy(kit.locks);
        failing_alloc_check(&kit.memory);
        if (made) {
            break;
        }
    }
}

ORR_TEST(table_and_trace_refused_memory_to_grow_are_unchanged)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK_OK(orri_locks_trace(kit.locks, 2));
    CHECK(ASK(kit.h[0], {1, X}));
    uint32_t first = 77;
    failing_alloc_arm(&kit.memory, 1, false);
    CHECK_RESULT(orri_locks_add(kit.locks, 100, ORRI_LOCK_LIVE, &first), ORR_ERR_MEMORY);
    CHECK_EQ(first, 77);
    CHECK_EQ(orri_locks_count(kit.locks), 8);
    for (uint64_t n = 1; n <= KIT_HOLDERS; n++) {
        failing_alloc_arm(&kit.memory, n, false);
        CHECK_RESULT(orri_locks_trace(kit.locks, 64), ORR_ERR_MEMORY);
        CHECK_EQ(orri_locks_trace_read(kit.locks, NULL, 0), 1);
    }
    orri_lock_holder *late, *later;
    failing_alloc_arm(&kit.memory, 2, false); // The ring.
    CHECK_RESULT(orri_lock_holder_create(kit.locks, 9, &late), ORR_ERR_MEMORY);
    failing_alloc_arm(&kit.memory, 0, false);
    CHECK_OK(orri_lock_holder_create(kit.locks, 9, &late));
    CHECK_OK(orri_lock_holder_create(kit.locks, 10, &later));
    CHECK(ASK(late, {2, X}));
    orri_lock_release(late);
    CHECK_EQ(orri_locks_trace_read(kit.locks, NULL, 0), 3);
    orri_lock_holder_destroy(late);
    CHECK_EQ(orri_locks_trace_read(kit.locks, NULL, 0), 1);
    orri_lock_release(kit.h[0]);
    kit_free(&kit);
}

ORR_TEST(holders_beyond_the_limit_of_a_word_are_refused)
{
    lock_kit kit;
    kit_init(&kit);
    orri_lock_holder* holder;
    for (uint32_t i = KIT_HOLDERS; i < ORRI_LOCK_HOLDERS; i++) {
        CHECK_OK(orri_lock_holder_create(kit.locks, i + 1, &holder));
        CHECK(orri_lock_ask(holder, 0, read_1, 1));
    }
    CHECK_RESULT(orri_lock_holder_create(kit.locks, 5000, &holder), ORR_ERR_CAPACITY);
    CHECK_OK(orri_locks_validate(kit.locks));
    for (holder = kit.locks->holders; holder->number > KIT_HOLDERS; holder = holder->next_holder) {
        orri_lock_release(holder);
    }
    kit_free(&kit);
}

ORR_TEST(validate_finds_violated_invariants)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {1, X}));
    kit.locks->slots[1].word += ORRI_LOCK_ONE(R);
    CHECK_RESULT(orri_locks_validate(kit.locks), ORR_ERR_CORRUPT);
    CHECK_CONTAINS(kit.env.error_text, "L1");
    kit.locks->slots[1].word -= ORRI_LOCK_ONE(R);
    CHECK(!ASK(kit.h[1], {1, R}));
    kit.h[1]->state = ORRI_LOCK_HELD;
    kit.locks->slots[1].word += ORRI_LOCK_ONE(R);
    CHECK_RESULT(orri_locks_validate(kit.locks), ORR_ERR_CORRUPT);
    CHECK_CONTAINS(kit.env.error_text, "L2");
    kit.h[1]->state = ORRI_LOCK_ASKING;
    kit.locks->slots[1].word -= ORRI_LOCK_ONE(R);
    CHECK_OK(orri_locks_validate(kit.locks));
    kit.h[0]->state = ORRI_LOCK_FREE; // As if a release had granted nothing.
    kit.locks->slots[1].word = 0;
    CHECK_RESULT(orri_locks_validate(kit.locks), ORR_ERR_CORRUPT);
    CHECK_CONTAINS(kit.env.error_text, "L3");
    kit.h[0]->state = ORRI_LOCK_HELD;
    kit.locks->slots[1].word = ORRI_LOCK_ONE(X);
    orri_lock_release(kit.h[0]);
    orri_lock_release(kit.h[1]);
    kit_free(&kit);
}
