// SPDX-License-Identifier: MIT
// Plausible rules for locks that Orrery does not use: the search of their states
// (lock_theory_kit.h) must find the flaw of each, and the shortest schedule that shows it.
#include "lock/lock_message_kit.h"

static const char* found_text(uint32_t deadlock, const char* const* names)
{
    static char text[1024];
    orri_text out = {text, sizeof text, 0};
    CHECK(deadlock != UINT32_MAX);
    print_path(deadlock, names, &out);
    printf("%s  and no system can continue\n", text);
    return text;
}

// Takes two resources exclusively, one by one, in the given order.
static void one_by_one(uint32_t system, const char* name, uint32_t first, uint32_t second)
{
    uint32_t one = (uint32_t)X << (2 * first), both = one | (uint32_t)X << (2 * second);
    m.names[system] = name;
    m.starts[system] = node_add(OP_TAKE, 0, one);
    node_add(OP_TAKE, one, both & ~one);
    node_add(OP_RELEASE, both, 0);
    node_add(OP_END, 0, 0);
}

/* N0-57 */
ORR_TEST(index_and_group_taken_in_two_orders_deadlock)
{
    // "Message processing" of note 000: removing a component locks the group, then
    // _entitiesLocations; removing an entity locks _entitiesLocations, then its group.
    static const char* const names[] = {"group", "index", "registry"};
    model_begin(2, OVERTAKE_BOUNDED);
    one_by_one(0, "component removed", 0, 1);
    one_by_one(1, "entity removed", 1, 0);
    CHECK_STR(found_text(search_all(NULL), names),
              "component removed takes group exclusive\n"
              "entity removed takes index exclusive\n"
              "component removed waits for index exclusive: entity removed has it exclusive\n"
              "entity removed waits for group exclusive: component removed has it exclusive\n");
    // In one common order, or as one set, they do not deadlock.
    model_begin(2, OVERTAKE_BOUNDED);
    one_by_one(0, "component removed", 1, 0);
    one_by_one(1, "entity removed", 1, 0);
    CHECK_EQ(search_all(NULL), UINT32_MAX);
    model_begin(2, OVERTAKE_BOUNDED);
    system_once(0, "component removed", MODES(X, X, N), 0, 7, RULES_OURS);
    system_once(1, "entity removed", MODES(X, X, N), 0, 7, RULES_OURS);
    CHECK_EQ(search_all(NULL), UINT32_MAX);
}

// The expected result, derived by hand: both hold their sets, one waits for what the other holds,
// and the other waits for that too or queues behind it. Or one holds its set, the other waits for
// it, and the first queues behind the other with its structural step.
static bool steps_deadlock_expected(uint32_t a, uint32_t step_a, uint32_t b, uint32_t step_b)
{
    bool a_waits = conflict[step_a][b], b_waits = conflict[step_b][a];
    bool both = (a_waits && b_waits) || ((a_waits || b_waits) && conflict[step_a][step_b]);
    return conflict[a][b] ? a_waits || b_waits : both;
}

// All pairs of direct systems with a structural step that takes any resources. Returns the number
// of pairs for which the search differs from the expected result.
static uint32_t pairs_that_keep_their_locks(void)
{
    static struct {
        uint8_t set, step;
    } all[26 * 7];
    uint32_t count = 0, dead = 0, wrong = 0;
    for (uint32_t set = 1; set < SETS; set++) {
        for (uint32_t bits = 1; raised[set] == set && bits < 8; bits++) {
            all[count].set = (uint8_t)set;
            all[count++].step = MODES((bits & 1) * X, (bits >> 1 & 1) * X, (bits >> 2) * X);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            model_begin(2, OVERTAKE_BOUNDED);
            system_once(0, "a", all[i].set, all[i].step, 7, RULES_STRUCTURE_KEPT);
            system_once(1, "b", all[j].set, all[j].step, 7, RULES_STRUCTURE_KEPT);
            bool stops = search_all(NULL) != UINT32_MAX;
            wrong += stops !=
                     steps_deadlock_expected(all[i].set, all[i].step, all[j].set, all[j].step);
            dead += stops;
        }
    }
    printf("  %u of %u pairs deadlock\n", (unsigned)dead, (unsigned)(count * (count + 1) / 2));
    return dead > 0 ? wrong : UINT32_MAX;
}

ORR_TEST(structural_commit_that_keeps_its_locks_deadlocks)
{
    static const char* const names[] = {"cluster", "Position", "Health"};
    for (rules rule = RULES_OURS; rule <= RULES_STRUCTURE_KEPT; rule += RULES_STRUCTURE_KEPT) {
        model_begin(2, OVERTAKE_BOUNDED);
        system_once(0, "move", MODES(R, X, N), MODES(X, N, N), 1, rule);
        system_once(1, "heal", MODES(R, N, X), MODES(X, N, N), 1, rule);
        uint32_t deadlock = search_all(NULL);
        if (rule == RULES_OURS) {
            CHECK_EQ(deadlock, UINT32_MAX);
        } else {
            CHECK_STR(found_text(deadlock, names),
                      "move takes cluster read, Position exclusive\n"
                      "heal takes cluster read, Health exclusive\n"
                      "move waits for cluster exclusive: heal has it read\n"
                      "heal waits for cluster exclusive: move has it read\n");
        }
    }
    CHECK_EQ(pairs_that_keep_their_locks(), 0);
}

// The expected result: two groups block each other if each reads what the other holds inclusively,
// and nothing else excludes one of them.
static bool deadlock_expected(uint32_t a, uint32_t b)
{
    bool first = false, second = false;
    for (uint32_t r = 0; r < RESOURCES; r++) {
        first |= mode_of(a, r) == I && mode_of(b, r) == R;
        second |= mode_of(a, r) == R && mode_of(b, r) == I;
    }
    return first && second && !conflict[a][b];
}

ORR_TEST(upgrade_that_keeps_its_reads_deadlocks)
{
    static const char* const names[] = {"Body", "Bone", "Skin"};
    model_begin(2, OVERTAKE_BOUNDED);
    system_once(0, "physics", MODES(I, R, N), 0, 0, RULES_READS_KEPT);
    system_once(1, "jiggle", MODES(R, I, N), 0, 0, RULES_READS_KEPT);
    CHECK_STR(found_text(search_all(NULL), names),
              "physics takes Body inclusive, Bone read\n"
              "jiggle takes Body read, Bone inclusive\n"
              "physics waits for Body exclusive: jiggle has it read\n"
              "jiggle waits for Bone exclusive: physics has it read\n");
    // Of all pairs exactly the expected ones deadlock; with reads released none, with plain reads
    // kept none.
    uint32_t dead = 0;
    for (uint32_t a = 1; a < SETS; a++) {
        for (uint32_t b = 1; b < SETS; b++) {
            model_begin(2, OVERTAKE_BOUNDED);
            system_once(0, "a", a, 0, 0, RULES_READS_KEPT);
            system_once(1, "b", b, 0, 0, RULES_READS_KEPT);
            bool stops = search_all(NULL) != UINT32_MAX;
            CHECK_EQ(stops, deadlock_expected(a, b));
            dead += stops;
        }
    }
    // Two modes are compatible in 10 ways; of the 10^3 combinations on three resources, those with
    // both (I, R) and (R, I).
    CHECK_EQ(dead, 1000 - 729 - 729 + 512);
}

ORR_TEST(sets_taken_one_by_one_in_no_common_order_deadlock)
{
    static const char* const names[] = {"a", "b", "c"};
    model_begin(3, OVERTAKE_BOUNDED);
    one_by_one(0, "one", 0, 1);
    one_by_one(1, "two", 1, 2);
    one_by_one(2, "three", 2, 0);
    CHECK_STR(found_text(search_all(NULL), names),
              "one takes a exclusive\n"
              "two takes b exclusive\n"
              "one waits for b exclusive: two has it exclusive\n"
              "three takes c exclusive\n"
              "two waits for c exclusive: three has it exclusive\n"
              "three waits for a exclusive: one has it exclusive\n");
    model_begin(3, OVERTAKE_BOUNDED);
    one_by_one(0, "one", 0, 1);
    one_by_one(1, "two", 1, 2);
    one_by_one(2, "three", 0, 2);
    CHECK_EQ(search_all(NULL), UINT32_MAX);
}
