// SPDX-License-Identifier: MIT
// The table of locks, by hand: one thread asks for several holders and looks who was let in. With real threads: what they guard.
#include "lock_kit.h"

static const orri_lock read_1[] = {{1, R}}; // For loops: a set must last as long as it is held.

// ---- modes ----------------------------------------------------------------------------------------------------------------

// Rows have it, columns ask for it.
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
                          orri_lock_mode_name((orri_lock_mode)modes[i]), both ? "let in" : "not");
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
ORR_TEST(modes_fit_together_as_the_table_says)
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
ORR_TEST(readers_of_one_resource_are_any_number)
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
ORR_TEST(inclusive_holder_lets_all_readers_in_and_no_writer_of_either_kind)
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
    // 0 stands for 1 to 3. Two write different parts; who reads all waits for both; a part is read beside another's write.
    CHECK(ASK(kit.h[0], {0, WW}, {1, X}));
    CHECK(ASK(kit.h[1], {0, WW}, {2, X}));
    CHECK(ASK(kit.h[2], {0, RW}, {3, R}));
    CHECK(!ASK(kit.h[3], {0, R}));
    orri_lock_release(kit.h[2]);
    orri_lock_release(kit.h[0]);
    CHECK(!orri_lock_ready(kit.h[3]));
    CHECK(!ASK(kit.h[0], {0, WW}, {1, X})); // Behind the one that waits to read all.
    CHECK(ASK(kit.h[2], {0, RW}, {3, R}));  // With that one it has no quarrel.
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

// ---- sets and the line ------------------------------------------------------------------------------------------------------

ORR_TEST(set_that_cannot_be_had_whole_is_not_had_in_part)
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

ORR_TEST(line_is_served_by_coming)
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

ORR_TEST(newcomer_waits_behind_one_it_conflicts_with_and_passes_all_others)
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

ORR_TEST(release_lets_all_in_who_can)
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

ORR_TEST(empty_set_is_had_at_once_and_waits_for_nothing)
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

// ---- upgrade ----------------------------------------------------------------------------------------------------------------

ORR_TEST(upgrade_waits_for_readers_and_stops_new_ones_also_those_who_came_earlier)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {4, I}));
    CHECK(ASK(kit.h[1], {4, R}));
    CHECK(ASK(kit.h[2], {5, X}));
    CHECK(!ASK(kit.h[3], {4, R}, {5, R})); // In line for 5, before the upgrade.
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

ORR_TEST(upgrade_leaves_no_gap_for_one_in_line)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {4, I}, {5, I}, {6, X}));
    CHECK(!ASK(kit.h[1], {4, X}));
    CHECK(orri_lock_upgrade_ask(kit.h[0])); // Nobody reads: at once, past the line.
    CHECK(orri_lock_upgrade_ask(kit.h[0])); // Again: nothing.
    for (uint32_t i = 4; i < 7; i++) {
        CHECK_EQ(kit.locks->slots[i].word, ORRI_LOCK_IS_LIVE | ORRI_LOCK_ONE(X));
    }
    CHECK(!orri_lock_ready(kit.h[1]));
    orri_lock_release(kit.h[0]);
    CHECK(orri_lock_ready(kit.h[1]));
    orri_lock_release(kit.h[1]);
    kit_free(&kit);
}

ORR_TEST(reads_that_end_are_let_go_but_those_of_structure_are_kept)
{
    lock_kit kit;
    kit_init(&kit);
    CHECK(ASK(kit.h[0], {0, R}, {4, I}, {5, R}));
    CHECK(!ASK(kit.h[1], {5, X}));
    CHECK(!ASK(kit.h[2], {0, X}));
    orri_lock_reads_end(kit.h[0]);
    CHECK(orri_lock_ready(kit.h[1]) && !orri_lock_ready(kit.h[2]));
    orri_lock_reads_end(kit.h[0]); // Again: nothing.
    CHECK_OK(orri_locks_validate(kit.locks));
    CHECK(orri_lock_upgrade_ask(kit.h[0]));
    CHECK(!orri_lock_ready(kit.h[2]));
    orri_lock_release(kit.h[0]);
    CHECK(orri_lock_ready(kit.h[2]));
    orri_lock_release(kit.h[1]);
    orri_lock_release(kit.h[2]);
    kit_free(&kit);
}

ORR_TEST(upgrades_of_two_side_by_side_do_not_wait_for_each_other)
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

ORR_TEST(misuse_is_an_assertion_and_has_no_effect)
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
    orri_lock_take(kit.h[0], 0, SET({6, X})); // Adding to what it holds.
    CHECK_EQ(asserts, 3);
    orri_lock_upgrade(kit.h[0]); // It still reads.
    CHECK_EQ(asserts, 4);
    CHECK_EQ(kit.locks->slots[4].word, ORRI_LOCK_IS_LIVE | ORRI_LOCK_ONE(I));
    CHECK_EQ(kit.locks->slots[6].word, ORRI_LOCK_IS_LIVE);
    orr_assert_handler_set(before);
    orri_lock_release(kit.h[0]);
    kit_free(&kit);
}

// ---- table ------------------------------------------------------------------------------------------------------------------

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

ORR_TEST(table_refused_memory_at_any_request_is_as_before)
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

ORR_TEST(growth_and_trace_refused_leave_the_old_ones)
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
    failing_alloc_arm(&kit.memory, 2, false); // Its ring.
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

ORR_TEST(holders_beyond_what_a_word_counts_are_refused)
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

ORR_TEST(validate_finds_what_is_broken)
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
    kit.h[0]->state = ORRI_LOCK_FREE; // As if a release had served nobody.
    kit.locks->slots[1].word = 0;
    CHECK_RESULT(orri_locks_validate(kit.locks), ORR_ERR_CORRUPT);
    CHECK_CONTAINS(kit.env.error_text, "L3");
    kit.h[0]->state = ORRI_LOCK_HELD;
    kit.locks->slots[1].word = ORRI_LOCK_ONE(X);
    orri_lock_release(kit.h[0]);
    orri_lock_release(kit.h[1]);
    kit_free(&kit);
}

// ---- statistics -------------------------------------------------------------------------------------------------------------

ORR_TEST(waits_are_measured_and_the_clock_is_read_for_them_alone)
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
    CHECK_EQ(kit.fake.clock_reads, 2);
    orri_lock_stats stats;
    orri_lock_stats_get(kit.h[1], &stats);
    CHECK_EQ(stats.takes, 1);
    CHECK_EQ(stats.upgrades, 0);
    CHECK_EQ(stats.waits, 1);
    CHECK_EQ(stats.waited_ns, 700);
    CHECK_EQ(stats.longest_ns, 700);
    CHECK_EQ(stats.longest_resource, 2);
    CHECK(
        !ASK(kit.h[0], {1, R})); // h0 now waits for h1, for less long; then behind h2, for longer.
    kit.fake.now_ns += 50;
    orri_lock_release(kit.h[1]);
    orri_lock_wait(kit.h[0]);
    CHECK(!ASK(kit.h[2], {1, X}, {3, X}));
    CHECK(!ASK(kit.h[1], {3, R})); // 3 is free, but h2 waits for it.
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

// ---- trace ------------------------------------------------------------------------------------------------------------------

static void name_resource(void* user, uint32_t number, orri_text* out)
{
    const char* const* names = user;
    orri_text_add(out, "%s", names[number]);
}

ORR_TEST(trace_shows_plan_grants_and_locks_in_one_order)
{
    lock_kit kit;
    kit_init(&kit);
    orri_lock_note(kit.h[0], 7, SET({1, R}), ORRI_LOCK_PLANNED); // There is no trace: nothing.
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
    CHECK_STR(text, "#1 holder 1, who 7: Body read granted by plan\n"
                    "#2 holder 1, who 7: Skin exclusive granted by plan\n"
                    "#3 holder 1, who 8: registry read taken\n"
                    "#4 holder 1, who 8: Body inclusive taken\n"
                    "#5 holder 1, who 8: Bone read taken\n"
                    "#6 holder 1, who 8: Bone read released\n"
                    "#7 holder 2, who 9: Bone exclusive taken\n"
                    "#8 holder 1, who 8: Body exclusive upgraded\n"
                    "#9 holder 1, who 8: registry read released\n"
                    "#10 holder 1, who 8: Body exclusive released\n"
                    "#11 holder 1, who 7: Body read released\n"
                    "#12 holder 1, who 7: Skin exclusive released\n"
                    "#13 holder 2, who 9: Bone exclusive released\n");
    CHECK_EQ(length, strlen(text));
    CHECK_EQ(orri_locks_trace_print(kit.locks, NULL, text, 20), length + 2 * 2 + 11 * 6);
    CHECK_STR(text, "#1 holder 1, who 7:");
    orri_lock_record records[16];
    CHECK_EQ(orri_locks_trace_read(kit.locks, records, 16), 13);
    CHECK_EQ(records[6].sequence, 7);
    CHECK_EQ(records[6].holder, 2);
    CHECK_EQ(records[6].who, 9);
    CHECK_EQ(records[6].resource, 5);
    CHECK_EQ(records[6].mode, X);
    CHECK_EQ(records[6].event, ORRI_LOCK_TAKEN);
    CHECK_OK(orri_locks_trace(kit.locks, 0));
    CHECK_EQ(orri_locks_trace_read(kit.locks, records, 16), 0);
    CHECK_EQ(orri_locks_trace_print(kit.locks, NULL, text, sizeof text), 0);
    CHECK_STR(text, "");
    kit_free(&kit);
}

ORR_TEST(trace_keeps_the_last_of_each_holder)
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

// ---- record and follow ------------------------------------------------------------------------------------------------------

ORR_TEST(log_lists_takes_and_upgrades_as_they_were_granted)
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
    orri_locks_follow(kit.locks, &log); // Nothing to follow.
    CHECK_OK(orri_locks_follow_end(kit.locks));
    kit_free(&kit);
}

ORR_TEST(log_that_runs_out_ends_and_says_so)
{
    lock_kit kit;
    kit_init(&kit);
    orri_lock_log log = {.most = 2};
    orri_locks_record(kit.locks, &log);
    for (uint32_t i = 0; i < 4; i++) {
        CHECK(orri_lock_ask(kit.h[i], 0, read_1, 1));
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
    CHECK(ASK(kit.h[4], {4, R})); // There would be memory again: it stays ended.
    CHECK_RESULT(orri_locks_record_end(kit.locks), ORR_ERR_MEMORY);
    CHECK_EQ(none.count, 0);
    for (uint32_t i = 0; i < KIT_HOLDERS; i++) {
        orri_lock_release(kit.h[i]);
    }
    orri_lock_log_free(&kit.env, &log);
    orri_lock_log_free(&kit.env, &none);
    kit_free(&kit);
}

ORR_TEST(followed_log_decides_who_is_next)
{
    lock_kit kit;
    kit_init(&kit);
    orri_lock_log log = {.grants = (uint32_t[]){4, 2, 6}, .count = 3};
    orri_lock_log again = {0};
    orri_locks_follow(kit.locks, &log);
    orri_locks_record(kit.locks, &again);
    CHECK(!ASK(kit.h[0], {1, X})); // Nobody has it, but it is not its turn.
    CHECK(!ASK(kit.h[2], {2, X})); // Though it conflicts with nobody.
    CHECK_OK(orri_locks_validate(kit.locks));
    CHECK(ASK(kit.h[1], {1, X}));
    CHECK(!orri_lock_ready(kit.h[0]));
    CHECK(!orri_lock_ready(kit.h[2]));
    CHECK_EQ(orri_locks_followed(kit.locks), 1);
    orri_lock_release(kit.h[1]);
    CHECK(orri_lock_ready(kit.h[0]) && orri_lock_ready(kit.h[2]));
    CHECK_EQ(orri_locks_followed(kit.locks), 3);
    CHECK(!ASK(kit.h[1], {2, R})); // As before the log.
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

ORR_TEST(followed_log_lets_a_reader_pass_an_upgrade_asked_for_early)
{
    lock_kit kit;
    kit_init(&kit);
    // As it was: h0 inclusive, h1 reads and is done, h0 upgrades. Now h0 is faster and asks before h1 came.
    orri_lock_log log = {.grants = (uint32_t[]){2, 4, 3, 6}, .count = 4};
    orri_locks_follow(kit.locks, &log);
    CHECK(ASK(kit.h[0], {4, I}));
    CHECK(!orri_lock_upgrade_ask(kit.h[0])); // Nobody reads, yet somebody will.
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

ORR_TEST(followed_log_that_does_not_fit_ends_and_all_go_on)
{
    lock_kit kit;
    kit_init(&kit);
    orri_lock_log log = {.grants = (uint32_t[]){2, 2, 4}, .count = 3};
    orri_locks_follow(kit.locks, &log);
    CHECK(ASK(kit.h[0], {4, I}));
    CHECK(!ASK(kit.h[1], {4, R})); // Its turn comes after another take of h0.
    CHECK(orri_lock_upgrade_ask(
        kit.h[0])); // Which upgrades instead: following is over, an upgrade goes first.
    CHECK(!orri_lock_ready(kit.h[1]));
    orri_lock_release(kit.h[0]);
    CHECK(orri_lock_ready(kit.h[1]));
    CHECK_RESULT(orri_locks_follow_end(kit.locks), ORR_ERR_CONFLICT);
    CHECK_CONTAINS(kit.env.error_text, "followed for 1 grants");
    orri_lock_release(kit.h[1]);
    CHECK_OK(orri_locks_follow_end(kit.locks));
    kit_free(&kit);
}

ORR_TEST(followed_log_can_be_ended_while_others_wait_for_their_turn)
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

// ---- real threads -----------------------------------------------------------------------------------------------------------

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

// Each adds one: reads, gives the other the time to read too, writes.
typedef struct lost {
    orri_lock_holder* holder; // NULL: the lock is planted out.
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
        // With the lock the other cannot come here, so the wait has an end.
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

// Plain values under locks, read and written as the modes allow: TSan sees what is not excluded. A written value depends on the
// order of all writes, so two runs in the same order end in the same values.
typedef struct stress {
    lock_kit* kit;
    uint64_t values[8];
    uint64_t seen[KIT_HOLDERS]; // What each holder read, folded.
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
        if (round % 8 == me->number) { // Others come to stand in line.
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

ORR_TEST(five_threads_exclude_each_other_and_a_replay_of_their_order_sees_the_same)
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
