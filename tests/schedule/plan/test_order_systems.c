// SPDX-License-Identifier: MIT
// The order of systems: registration, before and after, groups, cycles.
#include "schedule/system_kit.h"

ORR_TEST(systems_run_in_order_of_registration)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "zeta", .every = 1);
    NAMED(world, "alpha", .every = 0);
    NAMED(world, "mid", .every = 1);
    KIT_STEP(world, 2);
    KIT_SAID("zeta alpha mid zeta alpha mid");
    orr_system at = orr_system_next(world, (orr_system){0});
    CHECK_STR(orr_system_name(world, at), "zeta");
    at = orr_system_next(world, at);
    CHECK_STR(orr_system_name(world, at), "alpha");
    at = orr_system_next(world, at);
    CHECK_STR(orr_system_name(world, at), "mid");
    CHECK_EQ(orr_system_next(world, at).id, 0);
    CHECK_EQ(orr_system_find(world, "mid").id, at.id);
    CHECK_EQ(orr_system_find(world, "none").id, 0);
    CHECK_EQ(orr_system_find(world, NULL).id, 0);
    CHECK_EQ(orr_system_next(world, (orr_system){77, 1}).id, 0);
    kit_end(&k);
}

ORR_TEST(systems_before_and_after_win_over_registration)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "a", .after = "c");
    NAMED(world, "b", .every = 1);
    NAMED(world, "c", .every = 1);
    NAMED(world, "d", .before = " b , a ");
    KIT_STEP(world, 1);
    // Among the systems that may come next, the one registered first comes first: c waits for none,
    // b for d, a for c and d.
    KIT_SAID("c d a b");
    kit_end(&k);
}

// Names are compared whole.
ORR_TEST(systems_whose_names_share_a_prefix_are_distinguished)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "a", .after = "move");
    NAMED(world, "mover", .group = "moves", .after = "a");
    NAMED(world, "b", .after = "mo");
    NAMED(world, "move", .group = "mo");
    KIT_STEP(world, 1);
    KIT_SAID("move a mover b");
    kit_end(&k);
}

ORR_TEST(systems_of_a_group_are_ordered_together)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "last", .after = "effects");
    NAMED(world, "spark", .group = "effects");
    NAMED(world, "smoke", .group = "effects");
    NAMED(world, "first", .before = "effects");
    KIT_STEP(world, 1);
    KIT_SAID("first spark smoke last");
    kit_end(&k);
}

// A system may name its own group: it does not wait for itself, whatever the lengths of the names.
ORR_TEST(system_after_its_own_group_does_not_wait_for_itself)
{
    kit k;
    orr_world* world = begin_rows(&k);
    // The name is as long as the group's name.
    NAMED(world, "tail", .group = "pack", .after = "pack");
    NAMED(world, "head", .group = "pack");
    NAMED(world, "longer", .group = "set", .before = "set");
    NAMED(world, "other", .group = "set");
    KIT_STEP(world, 1);
    KIT_SAID("head tail longer other");
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(systems_in_a_cycle_are_refused_with_the_cycle)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "a", .after = "b");
    CHECK_EQ(KIT_ADD(world, .name = "b", .query = "Position", .run = kit_run, .after = "a").id, 0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT,
              "systems wait for each other in a cycle: 'a' after 'b' after 'a'; change .before or "
              ".after of one of them");
    // The cycle of three contains the last system added; the others stay.
    NAMED(world, "b", .after = "c");
    CHECK_EQ(KIT_ADD(world, .name = "c", .query = "Position", .run = kit_run, .after = "a").id, 0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "'a' after 'b' after 'c' after 'a'");
    // A cycle of one.
    CHECK_EQ(KIT_ADD(world, .name = "me", .query = "Position", .run = kit_run, .after = "me").id,
             0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "'me' after 'me'");
    NAMED(world, "c", .every = 1);
    KIT_STEP(world, 1);
    KIT_SAID("c b a");
    kit_end(&k);
}

ORR_TEST(systems_in_a_cycle_through_groups_are_refused)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "spark", .group = "effects", .after = "pictures");
    NAMED(world, "frame", .group = "pictures");
    CHECK_EQ(KIT_ADD(world, .name = "fade", .query = "Position", .run = kit_run,
                     .group = "pictures", .after = "effects")
                 .id,
             0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "'fade' after 'spark' after 'fade'");
    CHECK_EQ(KIT_ADD(world, .name = "glow", .query = "Position", .run = kit_run, .group = "effects",
                     .before = "pictures", .after = "frame")
                 .id,
             0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "'frame' after 'glow' after 'frame'");
    KIT_STEP(world, 1);
    KIT_SAID("frame spark");
    kit_end(&k);
}

// A name that is not registered yet may close a cycle later.
ORR_TEST(system_that_closes_a_cycle_of_earlier_systems_is_refused)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "a", .after = "c");
    NAMED(world, "b", .after = "a");
    CHECK_EQ(
        KIT_ADD(world, .name = "c", .query = "Position", .run = kit_run, .group = "g", .after = "b")
            .id,
        0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "'a' after 'c' after 'b' after 'a'");
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_NAME);
    KIT_ERROR(&k, ORR_ERR_NAME, "there is no system or group 'c'");
    kit_end(&k);
}

static void write_value(orr_run* run)
{
    Health* h = orr_write(run, Health);
    for (uint32_t i = 0; i < run->count; i++) {
        h[i].value = h[i].value * 2 + 1;
    }
}

static void write_sum(orr_run* run)
{
    Health* h = orr_write(run, Health);
    for (uint32_t i = 0; i < run->count; i++) {
        h[i].value += 10;
    }
}

static void read_value(orr_run* run)
{
    const Health* h = orr_read(run, Health);
    *(int32_t*)orr_run_user(run) = h[0].value;
}

/* N2-28 */
ORR_TEST(system_ordered_after_all_writers_reads_what_all_wrote)
{
    kit k;
    orr_world* world = begin(&k);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Health, {5, 0}));
    int32_t seen = 0;
    KIT_SYSTEM(world, .name = "reader", .query = "Health", .run = read_value, .user = &seen,
               .after = "writers");
    KIT_SYSTEM(world, .name = "double", .group = "writers", .query = "write Health",
               .run = write_value);
    KIT_SYSTEM(world, .name = "sum", .group = "writers", .query = "write Health", .run = write_sum);
    KIT_STEP(world, 1);
    CHECK_EQ(seen, 21);
    kit_end(&k);
}

ORR_TEST(system_name_with_a_question_mark_may_be_missing)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "a", .after = "?b, ?nobody");
    orr_system b = NAMED(world, "b", .every = 1);
    KIT_STEP(world, 1);
    KIT_SAID("b a");
    CHECK_OK(orr_system_remove(world, b));
    KIT_STEP(world, 1);
    kit_end(&k);
}
