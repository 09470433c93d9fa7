// SPDX-License-Identifier: MIT
// Observation of locks, step by step: waits, the trace, the log of grants; and grants that follow a
// log.
#include "lock/lock_kit.h"

// ---- statistics ---------------------------------------------------------------------------------

ORR_TEST(waits_are_measured_and_only_they_read_the_clock)
{
    lock_kit kit;
    kit_init(&kit);
    kit.fake.now_ns = 1000;
    CHECK(ASK(kit.h[0], {2, X}, {4, I}));
    orri_lock_upgrade(kit.h[0]);
    CHECK_EQ(kit.fake.clock_reads, 0);
    CHECK(!ASK(kit.h[1], {1, X}, {2, R}));
    kit.fake.now_ns = 1700;
    orri_lock_release(kit.h[0]);
    orri_lock_wait(kit.h[1]);
    CHECK_EQ(kit.fake.clock_reads, 3); // Enqueue, the release it waits for, return.
    orri_lock_stats stats;
    orri_lock_stats_get(kit.h[1], &stats);
    CHECK_EQ(stats.takes, 1);
    CHECK_EQ(stats.upgrades, 0);
    CHECK_EQ(stats.waits, 1);
    CHECK_EQ(stats.waited_ns, 700);
    CHECK_EQ(stats.longest_ns, 700);
    CHECK_EQ(stats.longest_resource, 2);
    CHECK(!ASK(kit.h[0],
               {1, R})); // h0 now waits for h1, a shorter time; then behind h2, a longer time.
    kit.fake.now_ns += 50;
    orri_lock_release(kit.h[1]);
    orri_lock_wait(kit.h[0]);
    CHECK(!ASK(kit.h[2], {1, X}, {3, X}));
    CHECK(!ASK(kit.h[1], {3, X})); // 3 is free, but h2 waits for it.
    kit.fake.now_ns += 900;
    orri_lock_release(kit.h[0]);
    orri_lock_wait(kit.h[2]);
    orri_lock_release(kit.h[2]);
    orri_lock_wait(kit.h[1]);
    orri_lock_release(kit.h[1]);
    orri_lock_stats_get(kit.h[1], &stats);
    CHECK_EQ(stats.waits, 2);
    CHECK_EQ(stats.waited_ns, 1600);
    CHECK_EQ(stats.longest_ns, 900);
    CHECK_EQ(stats.longest_resource, 3);
    orri_lock_stats_get(kit.h[0], &stats);
    CHECK_EQ(stats.takes, 2);
    CHECK_EQ(stats.upgrades, 1);
    CHECK_EQ(stats.waits, 1);
    CHECK_EQ(stats.waited_ns, 50);
    orri_lock_stats_reset(kit.h[0]);
    orri_lock_stats_get(kit.h[0], &stats);
    CHECK_EQ(stats.takes + stats.upgrades + stats.waits + stats.waited_ns + stats.longest_ns, 0);
    kit_free(&kit);
}

// ---- trace --------------------------------------------------------------------------------------

static void name_resource(void* user, uint32_t number, orri_text* out)
{
    const char* const* names = user;
    orri_text_add(out, "%s", names[number]);
}

ORR_TEST(trace_shows_plan_grants_and_locks_in_one_order)
{
    lock_kit kit;
    kit_init(&kit);
    orri_lock_note(kit.h[0], 7, SET({1, R}), ORRI_LOCK_PLANNED); // There is no trace: no effect.
    CHECK_OK(orri_locks_trace(kit.locks, 16));
    static const orri_lock set[] = {{0, R}, {4, I}, {5, R}};
    orri_lock_note(kit.h[0], 7, SET({4, R}, {6, X}), ORRI_LOCK_PLANNED);
    orri_lock_take(kit.h[0], 8, set, 3);
    CHECK(!orri_lock_ask(kit.h[1], 9, SET({5, X})));
    orri_lock_reads_end(kit.h[0]);
    orri_lock_upgrade(kit.h[0]);
    orri_lock_release(kit.h[0]);
    orri_lock_note(kit.h[0], 7, SET({4, R}, {6, X}), ORRI_LOCK_RELEASED);
    orri_lock_release(kit.h[1]);
    static const char* const names[] = {"registry", "1", "2", "3", "Body", "Bone", "Skin"};
    orri_lock_names by = {.user = (void*)(uintptr_t)names, .resource = name_resource};
    char text[2048];
    size_t length = orri_locks_trace_print(kit.locks, &by, text, sizeof text);
    CHECK_STR(text, "#1 holder 1, requester 7: Body read granted by plan\n"
                    "#2 holder 1, requester 7: Skin exclusive granted by plan\n"
                    "#3 holder 1, requester 8: registry read taken\n"
                    "#4 holder 1, requester 8: Body inclusive taken\n"
                    "#5 holder 1, requester 8: Bone read taken\n"
                    "#6 holder 1, requester 8: Bone read released\n"
                    "#7 holder 2, requester 9: Bone exclusive taken\n"
                    "#8 holder 1, requester 8: Body exclusive upgraded\n"
                    "#9 holder 1, requester 8: registry read released\n"
                    "#10 holder 1, requester 8: Body exclusive released\n"
                    "#11 holder 1, requester 7: Body read released\n"
                    "#12 holder 1, requester 7: Skin exclusive released\n"
                    "#13 holder 2, requester 9: Bone exclusive released\n");
    CHECK_EQ(length, strlen(text));
    CHECK_EQ(orri_locks_trace_print(kit.locks, NULL, text, 26), length + 2 * 2 + 11 * 6);
    CHECK_STR(text, "#1 holder 1, requester 7:");
    orri_lock_record records[16];
    CHECK_EQ(orri_locks_trace_read(kit.locks, records, 16), 13);
    CHECK_EQ(records[6].sequence, 7);
    CHECK_EQ(records[6].holder, 2);
    CHECK_EQ(records[6].requester, 9);
    CHECK_EQ(records[6].resource, 5);
    CHECK_EQ(records[6].mode, X);
    CHECK_EQ(records[6].event, ORRI_LOCK_TAKEN);
    CHECK_OK(orri_locks_trace(kit.locks, 0));
    CHECK_EQ(orri_locks_trace_read(kit.locks, records, 16), 0);
    CHECK_EQ(orri_locks_trace_print(kit.locks, NULL, text, sizeof text), 0);
    CHECK_STR(text, "");
    kit_free(&kit);
}

ORR_TEST(trace_keeps_the_last_records_of_each_holder)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK_OK(orri_locks_trace(kit.locks, 3));
    for (uint32_t i = 0; i < 5; i++) {
        CHECK(ASK(kit.h[i % 2], {i, X}));
        orri_lock_release(kit.h[i % 2]);
    }
    orri_lock_record records[8];
    CHECK_EQ(orri_locks_trace_read(kit.locks, records, 8), 6);
    static const uint64_t kept[] = {4, 6, 7, 8, 9, 10};
    for (uint32_t i = 0; i < 6; i++) {
        CHECK_EQ(records[i].sequence, kept[i]);
    }
    CHECK_EQ(orri_locks_trace_read(kit.locks, records, 2), 6);
    CHECK_STR(orri_lock_mode_name(ORRI_LOCK_MODES), "?");
    kit_free(&kit);
}

// ---- record and follow --------------------------------------------------------------------------

ORR_TEST(log_lists_takes_and_upgrades_in_order_of_grants)
{
    lock_kit kit;
    kit_init(&kit);
    orri_lock_log log = {0};
    orri_locks_record(kit.locks, &log);
    CHECK(ASK(kit.h[1], {4, I}));
    CHECK(ASK(kit.h[2], {4, R}));
    CHECK(!orri_lock_upgrade_ask(kit.h[1]));
    CHECK(!ASK(kit.h[0], {4, R}));
    orri_lock_release(kit.h[2]);
    orri_lock_release(kit.h[1]);
    orri_lock_reads_end(kit.h[0]);
    orri_lock_upgrade(kit.h[0]); // Nothing to upgrade: not listed.
    orri_lock_release(kit.h[0]);
    CHECK_OK(orri_locks_record_end(kit.locks));
    static const uint32_t grants[] = {4, 6, 5, 2};
    CHECK_EQ(log.count, 4);
    CHECK(memcmp(log.grants, grants, sizeof grants) == 0);
    CHECK(ASK(kit.h[0], {4, R}));
    orri_lock_release(kit.h[0]);
    CHECK_EQ(log.count, 4);
    orri_lock_log_free(&kit.env, &log);
    CHECK_EQ(log.count, 0);
    orri_locks_follow(kit.locks, &log); // An empty log.
    CHECK_OK(orri_locks_follow_end(kit.locks));
    kit_free(&kit);
}

static const orri_lock read_4[] = {{4, R}}; // For a loop: a set must exist while it is held.

ORR_TEST(log_that_runs_out_ends_and_reports_it)
{
    lock_kit kit;
    kit_init(&kit);
    orri_lock_log log = {.most = 2};
    orri_locks_record(kit.locks, &log);
    for (uint32_t i = 0; i < 4; i++) {
        CHECK(orri_lock_ask(kit.h[i], 0, read_4, 1));
    }
    CHECK_RESULT(orri_locks_record_end(kit.locks), ORR_ERR_CAPACITY);
    CHECK_EQ(log.count, 2);
    CHECK_EQ(log.grants[1], 4);
    CHECK_OK(orri_locks_record_end(kit.locks));
    orri_lock_log none = {0};
    orri_locks_record(kit.locks, &none);
    failing_alloc_arm(&kit.memory, 1, false);
    CHECK(ASK(kit.h[4], {4, R}));
    orri_lock_release(kit.h[4]);
    CHECK(ASK(kit.h[4], {4, R})); // Memory is available again: recording stays ended.
    CHECK_RESULT(orri_locks_record_end(kit.locks), ORR_ERR_MEMORY);
    CHECK_EQ(none.count, 0);
    for (uint32_t i = 0; i < KIT_HOLDERS; i++) {
        orri_lock_release(kit.h[i]);
    }
    orri_lock_log_free(&kit.env, &log);
    orri_lock_log_free(&kit.env, &none);
    kit_free(&kit);
}

ORR_TEST(followed_log_decides_the_order)
{
    lock_kit kit;
    kit_init(&kit);
    orri_lock_log log = {.grants = (uint32_t[]){4, 2, 6}, .count = 3};
    orri_lock_log again = {0};
    orri_locks_follow(kit.locks, &log);
    orri_locks_record(kit.locks, &again);
    CHECK(!ASK(kit.h[0], {1, X})); // It is free, but not its turn.
    CHECK(!ASK(kit.h[2], {2, X})); // Although it conflicts with nothing.
    CHECK_OK(orri_locks_validate(kit.locks));
    CHECK(ASK(kit.h[1], {1, X}));
    CHECK(!orri_lock_ready(kit.h[0]));
    CHECK(!orri_lock_ready(kit.h[2]));
    CHECK_EQ(orri_locks_followed(kit.locks), 1);
    orri_lock_release(kit.h[1]);
    CHECK(orri_lock_ready(kit.h[0]) && orri_lock_ready(kit.h[2]));
    CHECK_EQ(orri_locks_followed(kit.locks), 3);
    CHECK(!ASK(kit.h[1], {2, R})); // As without a log.
    orri_lock_release(kit.h[0]);
    orri_lock_release(kit.h[2]);
    CHECK(orri_lock_ready(kit.h[1]));
    orri_lock_wait(kit.h[1]);
    orri_lock_release(kit.h[1]);
    CHECK_OK(orri_locks_follow_end(kit.locks));
    CHECK_OK(orri_locks_record_end(kit.locks));
    CHECK_EQ(again.count, 4);
    CHECK(memcmp(again.grants, log.grants, 3 * sizeof(uint32_t)) == 0);
    orri_lock_stats stats;
    orri_lock_stats_get(kit.h[1], &stats);
    CHECK_EQ(stats.longest_resource, 2);
    orri_lock_log_free(&kit.env, &again);
    kit_free(&kit);
}

ORR_TEST(followed_log_lets_a_reader_precede_an_early_upgrade)
{
    lock_kit kit;
    kit_init(&kit);
    // Recorded: h0 takes inclusive, h1 reads and releases, h0 upgrades. Now h0 is faster and asks
    // before h1.
    orri_lock_log log = {.grants = (uint32_t[]){2, 4, 3, 6}, .count = 4};
    orri_locks_follow(kit.locks, &log);
    CHECK(ASK(kit.h[0], {4, I}));
    CHECK(!orri_lock_upgrade_ask(kit.h[0])); // No holder reads yet, but h1 is next.
    CHECK(!ASK(kit.h[2], {4, R}));
    CHECK(ASK(kit.h[1], {4, R}));
    CHECK(!orri_lock_ready(kit.h[0]));
    orri_lock_release(kit.h[1]);
    CHECK(orri_lock_ready(kit.h[0]) && !orri_lock_ready(kit.h[2]));
    orri_lock_wait(kit.h[0]);
    orri_lock_release(kit.h[0]);
    CHECK(orri_lock_ready(kit.h[2]));
    orri_lock_release(kit.h[2]);
    CHECK_OK(orri_locks_follow_end(kit.locks));
    kit_free(&kit);
}

ORR_TEST(followed_log_with_another_request_ends_and_waiters_continue)
{
    lock_kit kit;
    kit_init(&kit);
    orri_lock_log log = {.grants = (uint32_t[]){2, 2, 4}, .count = 3};
    orri_locks_follow(kit.locks, &log);
    CHECK(ASK(kit.h[0], {4, I}));
    CHECK(!ASK(kit.h[1], {4, R})); // Its turn comes after another take of h0.
    CHECK(orri_lock_upgrade_ask(
        kit.h[0])); // h0 upgrades instead: following ends, and an upgrade goes first.
    CHECK(!orri_lock_ready(kit.h[1]));
    orri_lock_release(kit.h[0]);
    CHECK(orri_lock_ready(kit.h[1]));
    CHECK_RESULT(orri_locks_follow_end(kit.locks), ORR_ERR_CONFLICT);
    CHECK_CONTAINS(kit.env.error_text, "followed for 1 grants");
    orri_lock_release(kit.h[1]);
    CHECK_OK(orri_locks_follow_end(kit.locks));
    kit_free(&kit);
}

ORR_TEST(followed_log_can_be_ended_while_holders_wait_for_their_turn)
{
    lock_kit kit;
    kit_init(&kit);
    orri_lock_log log = {.grants = (uint32_t[]){2, 10, 3}, .count = 3};
    orri_locks_follow(kit.locks, &log);
    CHECK(ASK(kit.h[0], {4, I}));
    CHECK(!ASK(kit.h[1], {4, R}));
    CHECK(!ASK(kit.h[2], {5, X}));
    CHECK(!orri_lock_upgrade_ask(kit.h[0])); // Number 5, h4, never comes.
    CHECK_RESULT(orri_locks_follow_end(kit.locks), ORR_ERR_STATE);
    CHECK(orri_lock_ready(kit.h[0]) && !orri_lock_ready(kit.h[1]) && orri_lock_ready(kit.h[2]));
    orri_lock_release(kit.h[0]);
    CHECK(orri_lock_ready(kit.h[1]));
    orri_lock_release(kit.h[1]);
    orri_lock_release(kit.h[2]);
    kit_free(&kit);
}

// ---- holders excluded from the log --------------------------------------------------------------

// Holder 5 is in no log. While a log is followed it is granted free locks, but not ahead of a
// waiter for the same.
ORR_TEST(log_ignores_excluded_holders)
{
    lock_kit kit;
    orri_lock_log log = {0};
    kit_init(&kit);
    orri_lock_holder* excluded = kit.h[4];
    orri_lock_holder_set_unlogged(excluded);
    orri_locks_record(kit.locks, &log);
    CHECK(ASK(excluded, {1, R}, {4, R}));
    CHECK(orri_locks_unlogged_active(kit.locks));
    CHECK(ASK(kit.h[0], {1, R}, {4, I}));
    orri_lock_release(excluded);
    CHECK(!orri_locks_unlogged_active(kit.locks));
    orri_lock_upgrade(kit.h[0]);
    orri_lock_release(kit.h[0]);
    CHECK(ASK(kit.h[1], {1, X}));
    orri_lock_release(kit.h[1]);
    CHECK_OK(orri_locks_record_end(kit.locks));
    CHECK_EQ(log.count, 3); // Taken, upgraded, taken.

    orri_locks_follow(kit.locks, &log);
    CHECK(ASK(excluded, {1, R}, {4, R})); // The first holder of the log has not come.
    CHECK(!ASK(kit.h[1], {1, X}));        // It is not its turn,
    CHECK(ASK(kit.h[0], {1, R}, {4, I}));
    orri_lock_release(excluded);
    CHECK(!ASK(excluded, {1, R})); // but it waits: no excluded holder precedes it.
    CHECK_OK(orri_locks_validate(kit.locks));
    orri_lock_upgrade(kit.h[0]);
    orri_lock_release(kit.h[0]);
    CHECK(orri_lock_ready(kit.h[1]));
    CHECK(!orri_lock_ready(excluded));
    orri_lock_release(kit.h[1]);
    CHECK(orri_lock_ready(excluded));
    CHECK(orri_locks_unlogged_active(kit.locks));
    orri_lock_release(excluded);
    CHECK_OK(orri_locks_follow_end(kit.locks));
    orri_lock_log_free(&kit.env, &log);
    kit_free(&kit);
}

// An upgrade that waits for its turn in a log admits the recorded readers; an excluded holder waits
// for the upgrade.
ORR_TEST(log_followed_upgrade_stops_new_excluded_readers)
{
    lock_kit kit;
    uint32_t grants[] = {1 << 1, 1 << 1 | 1, 2 << 1};
    orri_lock_log log = {.grants = grants, .count = 3};
    kit_init(&kit);
    orri_lock_holder* excluded = kit.h[4];
    orri_lock_holder_set_unlogged(excluded);
    orri_locks_follow(kit.locks, &log);
    CHECK(ASK(kit.h[0], {4, I}));
    CHECK(ASK(excluded, {4, R}));
    CHECK(!orri_lock_upgrade_ask(kit.h[0])); // It waits for the reader,
    orri_lock_holder* late = kit.h[3];
    orri_lock_holder_set_unlogged(late);
    CHECK(!ASK(late, {4, R})); // and no other reader is admitted.
    orri_lock_release(excluded);
    CHECK(orri_lock_ready(kit.h[0]));
    CHECK(!orri_lock_ready(late));
    orri_lock_wait(kit.h[0]);
    orri_lock_release(kit.h[0]);
    CHECK(orri_lock_ready(late));
    orri_lock_release(late);
    CHECK(ASK(kit.h[1], {4, R}));
    orri_lock_release(kit.h[1]);
    orri_locks_follow_leave(kit.locks);
    kit_free(&kit);
}
