// SPDX-License-Identifier: MIT
// Systems: added, refused, named, ordered, switched, removed; what they keep and what they show to others.
#include "schedule/schedule.h"
#include "schedule/schedule_kit.h"
#include "support/pinned_kit.h"

ORR_STRUCT(Count, (int32_t, value, (.preset = "7")), (int32_t, other))
ORR_STRUCT(Wind, (float, x, (.preset = "2")), (float, y))
ORR_STRUCT(Hit, (orr_entity, who), (int32_t, damage))
ORR_STRUCT(Spare, (uint8_t, a), (double, b))

static orr_world* begin(kit* k)
{
    kit_line[0] = '\0';
    orr_world* world = kit_begin(k, NULL);
    ORR_REGISTER(world, Position, Velocity, Health, Frozen, Hidden);
    return world;
}

static orr_entity make(orr_world* world, float x)
{
    orr_entity entity = orr_create(world);
    CHECK_OK(orr_set(world, entity, Position, {x, 0, 0}));
    return entity;
}

// ---- a function is enough -----------------------------------------------------------------------------------------

static void shift(orr_run* run)
{
    Position* p = orr_write(run, Position);
    const Velocity* v = orr_read(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += v[i].x;
        p[i].y += v[i].y;
    }
}

/* N1-05 N4-01 N2-02 */
ORR_TEST(system_of_a_plain_function_changes_the_columns_it_names)
{
    kit k;
    orr_world* world = begin(&k);
    orr_entity moving = make(world, 1), still = make(world, 5);
    CHECK_OK(orr_set(world, moving, Velocity, {2, 3}));
    orr_system system =
        KIT_SYSTEM(world, .name = "shift", .query = "write Position, Velocity", .run = shift);
    KIT_STEP(world, 3);
    CHECK_EQ(orr_get(world, moving, Position)->x, 7);
    CHECK_EQ(orr_get(world, moving, Position)->y, 9);
    CHECK_EQ(orr_get(world, still, Position)->x, 5);
    orr_system_stats stats = kit_stats(world, system);
    CHECK_EQ(stats.ticks, 3);
    CHECK_EQ(stats.runs, 3);
    CHECK_EQ(stats.rows, 3);
    CHECK_EQ(stats.breaches, 0);
    CHECK_EQ(orr_world_tick(world), 3);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

static void count_runs(orr_run* run)
{
    int32_t* total = orr_run_user(run);
    CHECK(run->count > 0 && run->count <= ORR_CHUNK_CAPACITY);
    *total += (int32_t)run->count;
}

ORR_TEST(system_is_called_for_every_run_of_rows)
{
    kit k;
    orr_world* world = begin(&k);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), 5000, NULL, 0, NULL));
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position, Health), 10, NULL, 0, NULL));
    int32_t total = 0;
    orr_system system =
        KIT_SYSTEM(world, .name = "count", .query = "Position", .run = count_runs, .user = &total);
    KIT_STEP(world, 1);
    CHECK_EQ(total, 5010);
    CHECK_EQ(kit_stats(world, system).runs, 4);
    CHECK_EQ(kit_stats(world, system).rows, 5010);
    kit_end(&k);
}

static void see_tick(orr_run* run)
{
    uint64_t* seen = orr_run_user(run);
    seen[0] = run->tick;
    seen[1] = (uint64_t)(run->dt * 1000.0f + 0.5f);
    CHECK(run->world != NULL);
}

ORR_TEST(system_sees_tick_and_dt)
{
    kit k;
    kit_line[0] = '\0';
    orr_world* world = kit_begin(&k, &(orr_world_desc){.rate_hz = 50});
    uint64_t seen[2] = {0};
    ORR_REGISTER(world, Position);
    KIT_SYSTEM(world, .name = "look", .query = "Position", .once = true, .run = see_tick,
               .user = seen);
    KIT_STEP(world, 4);
    CHECK_EQ(seen[0], 4);
    CHECK_EQ(seen[1], 20);
    kit_end(&k);
}

// ---- refused descs --------------------------------------------------------------------------------------------------

typedef struct bad_desc {
    orr_system_desc desc;
    orr_result result;
    const char* words;
} bad_desc;

static const orr_term missing_terms[1];

// Each with the words of its refusal. N0-26 is among them.
static const bad_desc bad_descs[] = {
    {{.run = kit_run, .query = "Position"}, ORR_ERR_NAME, "a system needs a name"},
    {{.name = "", .run = kit_run, .query = "Position"}, ORR_ERR_NAME, "a system needs a name"},
    {{.name = "two words", .run = kit_run, .query = "Position"},
     ORR_ERR_NAME,
     "this is no such: two words"},
    {{.name = "x", .query = "Position"},
     ORR_ERR_ARGUMENT,
     "system 'x': it has no function; set .run"},
    {{.name = "x", .kind = (orr_system_kind)9, .run = kit_run, .query = "Position"},
     ORR_ERR_ARGUMENT,
     "neither ORR_DIRECT nor ORR_INDIRECT"},
    {{.name = "x", .run = kit_run, .term_count = 1},
     ORR_ERR_ARGUMENT,
     ".term_count without .terms"},
    {{.name = "x", .run = kit_run, .query = "Position", .group = "a b"},
     ORR_ERR_ARGUMENT,
     ".group is no name"},
    {{.name = "x", .run = kit_run}, ORR_ERR_ARGUMENT, "needs required or optional terms"},
    {{.name = "x", .run = kit_run, .query = " \t"}, ORR_ERR_ARGUMENT, "needs required or optional"},
    {{.name = "x", .run = kit_run, .query = "Position", .receives = "Health"},
     ORR_ERR_ARGUMENT,
     "would be given the same events each time"},
    {{.name = "x", .run = kit_run, .query = "!Position"},
     ORR_ERR_ARGUMENT,
     "has nothing to work on"},
    {{.name = "x", .run = kit_run, .query = "#17"}, ORR_ERR_ARGUMENT, "has nothing to work on"},
    {{.name = "x", .kind = ORR_INDIRECT, .run = kit_run, .any = "Position"},
     ORR_ERR_ARGUMENT,
     ".any is for direct ones"},
    {{.name = "x", .kind = ORR_INDIRECT, .run = kit_run, .parallel = true},
     ORR_ERR_ARGUMENT,
     "can be .parallel"},
    {{.name = "x", .run = kit_run, .query = "Position", .once = true, .parallel = true},
     ORR_ERR_ARGUMENT,
     "can be .parallel"},
    {{.name = "x", .run = kit_run, .query = "write Position", .parallel = true, .any = "Position"},
     ORR_ERR_ARGUMENT,
     "may not reach Position of any entity and write it"},
    {{.name = "x", .run = kit_run, .query = "Health", .parallel = true, .any = "write Position"},
     ORR_ERR_ARGUMENT,
     "may not reach Position of any entity and write it"},
    {{.name = "x", .kind = ORR_INDIRECT, .run = kit_run, .query = "changed Position"},
     ORR_ERR_ARGUMENT,
     "no 'changed' terms"},
    {{.name = "x", .run = kit_run, .query = "Position, Position"},
     ORR_ERR_PARSE,
     "system 'x', .query"},
    {{.name = "x", .run = kit_run, .query = "Position &"}, ORR_ERR_PARSE, "system 'x', .query"},
    {{.name = "x", .run = kit_run, .query = "Position", .any = "!Health"},
     ORR_ERR_ARGUMENT,
     ".any is a list of types and tags"},
    {{.name = "x", .run = kit_run, .query = "Position", .adds = "write Health"},
     ORR_ERR_PARSE,
     ".adds is a list of types: \"write Health\" is more than that"},
    {{.name = "x", .run = kit_run, .query = "Position", .removes = "?Health"},
     ORR_ERR_PARSE,
     ".removes is a list of types"},
    {{.name = "x", .run = kit_run, .query = "Position", .creates = "#17"},
     ORR_ERR_PARSE,
     ".creates is a list of types"},
    {{.name = "x", .run = kit_run, .query = "Position", .switches = "disabled Health"},
     ORR_ERR_PARSE,
     ".switches is a list of types"},
    {{.name = "x", .run = kit_run, .query = "Position", .tags = "Health"},
     ORR_ERR_ARGUMENT,
     ".tags is a list of tags"},
    {{.name = "x", .run = kit_run, .query = "Position", .tags = "!#17"},
     ORR_ERR_ARGUMENT,
     ".tags is a list of tags"},
    {{.name = "x", .run = kit_run, .query = "Position", .state = ORR_TYPE(Label)},
     ORR_ERR_UNSUPPORTED,
     ".state is Label, which has owned strings"},
    {{.name = "x", .run = kit_run, .query = "Position", .exports = ORR_TYPE(Token)},
     ORR_ERR_UNSUPPORTED,
     ".exports is Token, which has owned strings"},
    {{.name = "x", .run = kit_run, .terms = missing_terms, .term_count = ORR_TERMS_MAX + 1},
     ORR_ERR_ARGUMENT,
     "more than ORR_TERMS_MAX terms"},
};

/* N0-26 */
ORR_TEST(system_with_a_bad_desc_is_refused_in_words)
{
    kit k;
    orr_world* world = begin(&k);
    KIT_STEP(world, 1);
    uint64_t hash = orr_world_hash(world);
    for (size_t i = 0; i < sizeof bad_descs / sizeof bad_descs[0]; i++) {
        k.errors = (kit_errors){0};
        orr_system system = orr_system_add(world, &bad_descs[i].desc);
        if (system.index1 != 0) {
            test_fail(__FILE__, __LINE__, "desc %zu was taken, expected: %s", i,
                      bad_descs[i].words);
        }
        CHECK_EQ(k.errors.count, 1);
        KIT_ERROR(&k, bad_descs[i].result, bad_descs[i].words);
        CHECK_EQ(orr_system_next(world, (orr_system){0}).index1, 0);
    }
    CHECK(orr_system_add(world, NULL).index1 == 0);
    CHECK_EQ(orr_world_hash(world), hash);
    KIT_STEP(world, 1);
    kit_end(&k);
}

static const bad_desc bad_impure[] = {
    {{.creates = "Position"}, ORR_ERR_ARGUMENT, "say .impure"},
    {{.destroys = "Position"}, ORR_ERR_ARGUMENT, "say .impure"},
    {{.adds = "Position"}, ORR_ERR_ARGUMENT, "say .impure"},
    {{.removes = "Position"}, ORR_ERR_ARGUMENT, "say .impure"},
    {{.switches = "Position"}, ORR_ERR_ARGUMENT, "say .impure"},
    {{.tags = "#1"}, ORR_ERR_ARGUMENT, "say .impure"},
    {{.renames = true}, ORR_ERR_ARGUMENT, "say .impure"},
    {{.query = "write Position"}, ORR_ERR_ARGUMENT, "say .impure"},
    {{.sends = "Hit"}, ORR_ERR_ARGUMENT, "say .impure"},
};

ORR_TEST(system_with_private_state_that_sends_must_say_impure)
{
    kit k;
    orr_world* world = begin(&k);
    ORR_REGISTER(world, Hit);
    int mine = 0;
    for (size_t i = 0; i < sizeof bad_impure / sizeof bad_impure[0]; i++) {
        orr_system_desc desc = bad_impure[i].desc;
        desc.name = "outside";
        desc.kind = ORR_INDIRECT;
        desc.run = kit_run_nothing;
        desc.user = &mine;
        k.errors = (kit_errors){0};
        if (orr_system_add(world, &desc).index1 != 0) {
            test_fail(__FILE__, __LINE__, "desc %zu was taken", i);
        }
        KIT_ERROR(&k, bad_impure[i].result, bad_impure[i].words);
        desc.impure = true;
        CHECK_OK(orr_system_remove(
            world, kit_taken(world, orr_system_add(world, &desc), __FILE__, __LINE__)));
        desc.impure = false;
        desc.user = NULL;
        CHECK_OK(orr_system_remove(
            world, kit_taken(world, orr_system_add(world, &desc), __FILE__, __LINE__)));
        KIT_STEP(world, 1);
    }
    // Who only listens need not say it.
    KIT_SYSTEM(world, .name = "listener", .kind = ORR_INDIRECT, .run = kit_run_nothing,
               .query = "Position", .user = &mine);
    KIT_STEP(world, 1);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(system_of_a_taken_name_is_refused)
{
    kit k;
    orr_world* world = begin(&k);
    orr_system first = KIT_SYSTEM(world, .name = "a", .query = "Position", .run = kit_run);
    CHECK_EQ(KIT_ADD(world, .name = "a", .query = "Health", .run = kit_run).index1, 0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "there is a system 'a' already");
    // Once it is removed its name is free at once, for another one.
    CHECK_OK(orr_system_remove(world, first));
    orr_system second = KIT_SYSTEM(world, .name = "a", .query = "Health", .run = kit_run);
    CHECK_EQ(orr_system_find(world, "a").index1, second.index1);
    KIT_STEP(world, 1);
    CHECK_STR(orr_system_name(world, first), "");
    CHECK_STR(orr_system_name(world, second), "a");
    kit_end(&k);
}

ORR_TEST(system_desc_is_copied)
{
    kit k;
    orr_world* world = begin(&k);
    make(world, 0);
    char name[] = "copied", query[] = "Position", group[] = "some", after[] = "first";
    orr_term term = {.type = KIT_TYPE(world, Health), .kind = ORR_OPTIONAL};
    KIT_SYSTEM(world, .name = name, .query = query, .terms = &term, .term_count = 1, .group = group,
               .after = after, .run = kit_run);
    memset(name, 'x', sizeof name - 1);
    memset(query, 'x', sizeof query - 1);
    memset(group, 'x', sizeof group - 1);
    memset(after, 'x', sizeof after - 1);
    memset(&term, 0xFF, sizeof term);
    KIT_SYSTEM(world, .name = "first", .query = "Position", .run = kit_run);
    KIT_STEP(world, 1);
    KIT_SAID("first copied");
    CHECK_OK(orr_group_enable(world, "some", false));
    KIT_STEP(world, 1);
    KIT_SAID("first");
    kit_end(&k);
}

// ---- names that are unknown when the tick begins ----------------------------------------------------------------------

typedef struct unknown {
    orr_system_desc desc;
    orr_result result;
    const char *words, *near;
} unknown;

static const unknown unknowns[] = {
    {{.query = "Positon"}, ORR_ERR_TYPE, "system 'x', .query", "Position"},
    {{.query = "Position, !Frosen"}, ORR_ERR_TYPE, "system 'x', .query", "Frozen"},
    {{.query = "Position, #leveel1"}, ORR_ERR_TYPE, "system 'x', .query", "level1"},
    {{.query = "Position", .any = "Healt"}, ORR_ERR_TYPE, "system 'x', .any", "Health"},
    {{.query = "Position", .creates = "Healt"}, ORR_ERR_TYPE, "system 'x', .creates", "Health"},
    {{.query = "Position", .destroys = "Healt"}, ORR_ERR_TYPE, "system 'x', .destroys", "Health"},
    {{.query = "Position", .adds = "Healt"}, ORR_ERR_TYPE, "system 'x', .adds", "Health"},
    {{.query = "Position", .removes = "Healt"}, ORR_ERR_TYPE, "system 'x', .removes", "Health"},
    {{.query = "Position", .switches = "Healt"}, ORR_ERR_TYPE, "system 'x', .switches", "Health"},
    {{.query = "Position", .tags = "#leveel1"}, ORR_ERR_TYPE, "system 'x', .tags", "level1"},
    {{.query = "Position", .sends = "Healt"}, ORR_ERR_TYPE, "system 'x', .sends", "Health"},
    {{.query = "Position", .once = true, .receives = "Healt"},
     ORR_ERR_TYPE,
     "system 'x', .receives",
     "Health"},
    {{.query = "Position", .before = "drow"},
     ORR_ERR_NAME,
     ".before: there is no system or group 'drow'",
     "draw"},
    {{.query = "Position", .after = "pictres"},
     ORR_ERR_NAME,
     ".after: there is no system or group 'pictres'",
     "pictures"},
    {{.query = "Position", .imports = "weathr"},
     ORR_ERR_NAME,
     ".imports: 'weathr' is no system",
     "weather"},
    {{.query = "Position", .imports = "draw"},
     ORR_ERR_NAME,
     ".imports: 'draw' exports nothing",
     "exports"},
};

ORR_TEST(system_with_unknown_names_keeps_the_tick_from_beginning_and_names_near_misses)
{
    for (size_t i = 0; i < sizeof unknowns / sizeof unknowns[0]; i++) {
        kit k;
        orr_world* world = begin(&k);
        CHECK_OK(orr_tag_register(world, 11, "level1"));
        make(world, 0);
        KIT_SYSTEM(world, .name = "draw", .group = "pictures", .query = "Position", .run = kit_run);
        KIT_SYSTEM(world, .name = "weather", .query = "Position", .run = kit_run,
                   .exports = ORR_TYPE(Wind));
        orr_system_desc desc = unknowns[i].desc;
        desc.name = "x";
        desc.run = kit_run;
        orr_system system = orr_system_add(world, &desc);
        if (system.index1 == 0) {
            test_fail(__FILE__, __LINE__, "desc %zu was refused at once: %s", i, k.errors.text);
        }
        // Twice: the refusal leaves nothing behind.
        for (uint32_t times = 0; times < 2; times++) {
            k.errors = (kit_errors){0};
            if (orr_step(world, 1) != unknowns[i].result) {
                test_fail(__FILE__, __LINE__, "desc %zu: %s", i, k.errors.text);
            }
            CHECK_CONTAINS(k.errors.text, unknowns[i].near);
            KIT_ERROR(&k, unknowns[i].result, unknowns[i].words);
            CHECK_EQ(orr_world_tick(world), 0);
            CHECK(!orr_tick_open(world));
        }
        KIT_SAID("");
        // Without it all is well.
        CHECK_OK(orr_system_remove(world, system));
        KIT_STEP(world, 1);
        KIT_SAID("draw weather");
        CHECK_EQ(k.errors.count, 0);
        kit_end(&k);
    }
}

ORR_TEST(system_names_types_and_systems_that_come_later)
{
    kit k;
    kit_line[0] = '\0';
    orr_world* world = kit_begin(&k, NULL);
    KIT_SYSTEM(world, .name = "late", .query = "Position", .after = "later", .imports = "later",
               .run = kit_run);
    CHECK(orr_step(world, 1) != ORR_OK);
    k.errors = (kit_errors){0};
    make(world, 0);
    KIT_SYSTEM(world, .name = "later", .query = "Position", .run = kit_run,
               .exports = ORR_TYPE(Wind));
    KIT_STEP(world, 1);
    KIT_SAID("later late");
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

// ---- order -----------------------------------------------------------------------------------------------------------

static orr_world* begin_rows(kit* k)
{
    orr_world* world = begin(k);
    make(world, 0);
    return world;
}

#define NAMED(world, system_name, ...) \
    KIT_SYSTEM(world, .name = system_name, .query = "Position", .run = kit_run, __VA_ARGS__)

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
    CHECK_EQ(orr_system_next(world, at).index1, 0);
    CHECK_EQ(orr_system_find(world, "mid").index1, at.index1);
    CHECK_EQ(orr_system_find(world, "none").index1, 0);
    CHECK_EQ(orr_system_find(world, NULL).index1, 0);
    CHECK_EQ(orr_system_next(world, (orr_system){77, 1}).index1, 0);
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
    // Of all that may come next the one registered first: c waits for nobody, b for d, a for c and d.
    KIT_SAID("c d a b");
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

// A group may be named by its own members: nobody waits for itself, whatever the lengths of the names.
ORR_TEST(system_after_its_own_group_does_not_wait_for_itself)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "tail", .group = "pack", .after = "pack"); // As long as its group's name.
    NAMED(world, "head", .group = "pack");
    NAMED(world, "longer", .group = "set", .before = "set");
    NAMED(world, "other", .group = "set");
    KIT_STEP(world, 1);
    KIT_SAID("head tail longer other");
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(systems_in_a_circle_are_refused_with_the_circle)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "a", .after = "b");
    CHECK_EQ(KIT_ADD(world, .name = "b", .query = "Position", .run = kit_run, .after = "a").index1,
             0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT,
              "systems wait for each other in a circle: 'a' after 'b' after 'a'; change .before or "
              ".after of one of them");
    // The circle of three goes through the last one added; the others stay.
    NAMED(world, "b", .after = "c");
    CHECK_EQ(KIT_ADD(world, .name = "c", .query = "Position", .run = kit_run, .after = "a").index1,
             0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "'a' after 'b' after 'c' after 'a'");
    // By itself.
    CHECK_EQ(
        KIT_ADD(world, .name = "me", .query = "Position", .run = kit_run, .after = "me").index1, 0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "'me' after 'me'");
    NAMED(world, "c", .every = 1);
    KIT_STEP(world, 1);
    KIT_SAID("c b a");
    kit_end(&k);
}

ORR_TEST(systems_in_a_circle_through_groups_are_refused)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "spark", .group = "effects", .after = "pictures");
    NAMED(world, "frame", .group = "pictures");
    CHECK_EQ(KIT_ADD(world, .name = "fade", .query = "Position", .run = kit_run,
                     .group = "pictures", .after = "effects")
                 .index1,
             0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "'fade' after 'spark' after 'fade'");
    CHECK_EQ(KIT_ADD(world, .name = "glow", .query = "Position", .run = kit_run, .group = "effects",
                     .before = "pictures", .after = "frame")
                 .index1,
             0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "'frame' after 'glow' after 'frame'");
    KIT_STEP(world, 1);
    KIT_SAID("frame spark");
    kit_end(&k);
}

// A name that is not there yet may close a circle later.
ORR_TEST(systems_whose_circle_is_closed_by_a_later_one_are_refused_then)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "a", .after = "c");
    NAMED(world, "b", .after = "a");
    CHECK_EQ(
        KIT_ADD(world, .name = "c", .query = "Position", .run = kit_run, .group = "g", .after = "b")
            .index1,
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

// ---- when it runs --------------------------------------------------------------------------------------------------------

ORR_TEST(system_every_nth_tick_counts_from_its_first)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "each", .every = 1);
    KIT_STEP(world, 2);
    KIT_SAID("each each");
    orr_system third = NAMED(world, "third", .every = 3);
    KIT_STEP(world, 7);
    KIT_SAID("each third each each each third each each each third");
    CHECK_EQ(kit_stats(world, third).ticks, 3);
    kit_end(&k);
}

ORR_TEST(system_called_once_loops_over_its_query)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system once = NAMED(world, "once", .once = true);
    KIT_STEP(world, 2);
    KIT_SAID("once once");
    CHECK_EQ(kit_stats(world, once).runs, 2);
    CHECK_EQ(kit_stats(world, once).rows, 0);
    // Also without rows.
    CHECK_OK(orr_entities_destroy_all(world));
    NAMED(world, "rows", .every = 1);
    KIT_STEP(world, 1);
    KIT_SAID("once");
    kit_end(&k);
}

static void add_in_loop(orr_run* run)
{
    CHECK(orr_run_query(run) != NULL);
    ORR_EACH (it, orr_run_query(run)) {
        Position* p = orr_write(&it, Position);
        for (uint32_t i = 0; i < it.count; i++) {
            p[i].x += 1;
        }
    }
}

ORR_TEST(system_called_once_writes_through_its_query)
{
    kit k;
    orr_world* world = begin(&k);
    orr_entity bob = make(world, 3);
    KIT_SYSTEM(world, .name = "loop", .query = "write Position", .once = true, .run = add_in_loop);
    KIT_STEP(world, 4);
    CHECK_EQ(orr_get(world, bob, Position)->x, 7);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

static void implicit(orr_run* run)
{
    *(int32_t*)orr_run_user(run) += (int32_t)run->count;
    if (orr_write(run, Health) != NULL) {
        kit_say("wrote");
    }
    // Not named: not even to read.
    CHECK(orr_read(run, Position) == NULL);
}

/* N0-27 */
ORR_TEST(system_without_required_terms_writes_through_optional_ones_only)
{
    kit k;
    orr_world* world = begin(&k);
    make(world, 1);
    CHECK_OK(orr_set(world, orr_create(world), Health, {1, 1}));
    int32_t rows = 0;
    orr_system system =
        KIT_SYSTEM(world, .name = "all", .query = "?write Health", .run = implicit, .user = &rows);
    KIT_STEP(world, 1);
    CHECK_EQ(rows, 2);
    KIT_SAID("wrote");
    CHECK_EQ(kit_stats(world, system).breaches, 2);
    KIT_ERROR(&k, ORR_ERR_STATE, "system 'all'");
    kit_end(&k);
}

// ---- switching, removing ---------------------------------------------------------------------------------------------------

static void switch_other(orr_run* run)
{
    kit_run(run);
    if (run->tick == 2) {
        CHECK_OK(orr_system_enable(run->world, orr_system_find(run->world, "b"), false));
        CHECK(!orr_system_enabled(run->world, orr_system_find(run->world, "b")));
        CHECK_OK(orr_group_enable(run->world, "off", true));
    }
}

/* N0-35 */
ORR_TEST(system_switched_from_inside_takes_effect_at_the_next_tick)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "z", .group = "off");
    CHECK_OK(orr_group_enable(world, "off", false));
    KIT_SYSTEM(world, .name = "a", .query = "Position", .run = switch_other);
    NAMED(world, "b", .every = 1);
    KIT_STEP(world, 3);
    KIT_SAID("a b a b z a");
    kit_end(&k);
}

/* N0-35 */
ORR_TEST(system_added_switched_and_removed_between_ticks)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system a = NAMED(world, "a", .group = "g");
    orr_system b = NAMED(world, "b", .group = "g", .disabled = true);
    CHECK(orr_system_enabled(world, a) && !orr_system_enabled(world, b));
    KIT_STEP(world, 1);
    KIT_SAID("a");
    CHECK_OK(orr_system_enable(world, b, true));
    CHECK_OK(orr_system_enable(world, b, true));
    KIT_STEP(world, 1);
    KIT_SAID("a b");
    CHECK_OK(orr_group_enable(world, "g", false));
    KIT_STEP(world, 1);
    KIT_SAID("");
    CHECK_OK(orr_group_enable(world, "g", true));
    CHECK_OK(orr_system_remove(world, a));
    CHECK(!orr_system_enabled(world, a));
    CHECK_STR(orr_system_name(world, a), "a"); // Until the tick begins.
    CHECK_EQ(orr_system_find(world, "a").index1, 0);
    CHECK_EQ(orr_system_next(world, (orr_system){0}).index1, b.index1);
    KIT_STEP(world, 1);
    KIT_SAID("b");
    CHECK_STR(orr_system_name(world, a), "");
    CHECK_EQ(k.errors.count, 0);

    CHECK_RESULT(orr_system_remove(world, a), ORR_ERR_ARGUMENT);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "is no system of this world; it may have been removed");
    CHECK_RESULT(orr_system_enable(world, a, true), ORR_ERR_ARGUMENT);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "orr_system_enable");
    CHECK_RESULT(orr_system_enable(world, (orr_system){0}, true), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_group_enable(world, "nobody", true), ORR_ERR_ARGUMENT);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "no system is in a group 'nobody'");
    CHECK_RESULT(orr_group_enable(world, NULL, true), ORR_ERR_ARGUMENT);
    orr_system_stats stats;
    CHECK_RESULT(orr_system_stats_get(world, a, &stats), ORR_ERR_ARGUMENT);
    k.errors = (kit_errors){0};
    // A slot is used again; the old handle stays stale.
    orr_system c = NAMED(world, "c", .every = 1);
    CHECK_EQ(c.index1, a.index1);
    CHECK(c.generation != a.generation);
    CHECK_STR(orr_system_name(world, a), "");
    kit_end(&k);
}

ORR_TEST(system_calls_on_a_world_without_systems)
{
    kit k;
    orr_world* world = begin(&k);
    CHECK_EQ(orr_system_find(world, "a").index1, 0);
    CHECK_EQ(orr_system_next(world, (orr_system){0}).index1, 0);
    CHECK_STR(orr_system_name(world, (orr_system){1, 1}), "");
    CHECK(!orr_system_enabled(world, (orr_system){1, 1}));
    CHECK(orr_system_state(world, (orr_system){1, 1}) == NULL);
    CHECK(orr_system_exports(world, (orr_system){1, 1}) == NULL);
    CHECK_RESULT(orr_system_remove(world, (orr_system){1, 1}), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_group_enable(world, "g", true), ORR_ERR_ARGUMENT);
    orr_system_stats stats;
    CHECK_RESULT(orr_system_stats_get(world, (orr_system){1, 1}, &stats), ORR_ERR_ARGUMENT);
    kit_end(&k);
}

// ---- create, start, stop, destroy --------------------------------------------------------------------------------------------

static void on_create(orr_run* run)
{
    kit_say_of(run, "create");
}

static void on_start(orr_run* run)
{
    kit_say_of(run, "start");
}

static void on_stop(orr_run* run)
{
    kit_say_of(run, "stop");
}

static void on_destroy(orr_run* run)
{
    kit_say_of(run, "destroy");
}

#define WITH_LIFE .create = on_create, .start = on_start, .stop = on_stop, .destroy = on_destroy

ORR_TEST(system_life_is_told_by_callbacks_when_a_tick_begins)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system a = NAMED(world, "a", WITH_LIFE);
    orr_system b = NAMED(world, "b", WITH_LIFE, .disabled = true);
    KIT_SAID("");
    KIT_STEP(world, 1);
    KIT_SAID("a.create a.start b.create a");
    CHECK_OK(orr_system_enable(world, b, true));
    KIT_SAID("");
    KIT_STEP(world, 2);
    KIT_SAID("b.start a b a b");
    // Off and on again before a tick: nothing happened.
    CHECK_OK(orr_system_enable(world, a, false));
    CHECK_OK(orr_system_enable(world, a, true));
    KIT_STEP(world, 1);
    KIT_SAID("a b");
    CHECK_OK(orr_system_enable(world, a, false));
    KIT_STEP(world, 1);
    KIT_SAID("a.stop b");
    // Removed while off: no second stop. What ends, ends before what begins; the last one first.
    CHECK_OK(orr_system_remove(world, a));
    CHECK_OK(orr_system_remove(world, b));
    NAMED(world, "c", WITH_LIFE);
    KIT_STEP(world, 1);
    KIT_SAID("b.stop b.destroy a.destroy c.create c.start c");
    kit_end(&k);
    KIT_SAID("c.stop c.destroy");
}

ORR_TEST(system_life_ends_with_the_world_in_reverse_order)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "a", WITH_LIFE);
    NAMED(world, "b", WITH_LIFE, .disabled = true);
    NAMED(world, "c", WITH_LIFE);
    KIT_STEP(world, 1);
    NAMED(world, "never", WITH_LIFE);
    kit_line[0] = '\0';
    kit_end(&k);
    KIT_SAID("c.stop c.destroy b.destroy a.stop a.destroy");
}

static void disable_b(orr_run* run)
{
    CHECK_OK(orr_system_enable(run->world, orr_system_find(run->world, "b"), false));
}

// Switched off before it was started: it must not run.
ORR_TEST(system_switched_off_by_a_callback_does_not_run_without_its_start)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "a", .start = disable_b);
    NAMED(world, "b", WITH_LIFE);
    KIT_STEP(world, 2);
    KIT_SAID("b.create a a");
    kit_end(&k);
}

static void use_state_in_stop(orr_run* run)
{
    Count* count = orr_own(run, Count);
    CHECK(count != NULL);
    count->value += 100;
    const Wind* wind = orr_import(run, "weather", Wind);
    CHECK(wind != NULL);
    kit_say(wind->x == 2 ? "two" : "other");
}

// Both go at once: the other is still there when the first says farewell.
ORR_TEST(system_that_is_removed_can_read_what_it_imports_to_the_last)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system weather = NAMED(world, "weather", .exports = ORR_TYPE(Wind));
    orr_system b = NAMED(world, "b", .imports = "weather", .state = ORR_TYPE(Count),
                         .stop = use_state_in_stop, .destroy = use_state_in_stop);
    KIT_STEP(world, 1);
    CHECK_OK(orr_system_remove(world, weather));
    CHECK_OK(orr_system_remove(world, b));
    KIT_STEP(world, 1);
    KIT_SAID("weather b two two");
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

// What callbacks send is made before the first system runs, whatever it is.
static orr_entity sent_to;

static void send_all(orr_run* run)
{
    orr_entity made = orr_send_create(run);
    CHECK(made.id != 0);
    CHECK_OK(orr_send_add(run, made, Position, {42, 0, 0}));
    CHECK_OK(orr_send_change(run, sent_to, Health, {run->tick == 2 ? 1 : 2, 0}));
    CHECK_OK(orr_send_event(run, Hit, {sent_to, 5}));
}

static void hear_hits(orr_run* run)
{
    uint32_t count;
    const Hit* hits = orr_events(run, Hit, &count);
    int32_t* sum = orr_run_user(run);
    for (uint32_t i = 0; i < count; i++) {
        *sum += hits[i].damage;
    }
    ORR_EACH (it, orr_run_query(run)) {
        kit_say(orr_read(&it, Health)->value == 1 ? "one" : "two");
    }
}

static void hear_changes(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        if (m->kind == ORR_COMPONENT_CHANGED) {
            kit_say("changed");
        }
    }
}

ORR_TEST(system_callbacks_send_changes_and_events)
{
    kit k;
    orr_world* world = begin(&k);
    ORR_REGISTER(world, Hit);
    int32_t sum = 0;
    sent_to = orr_create(world);
    CHECK_OK(orr_set(world, sent_to, Health, {100, 0}));
    KIT_SYSTEM(world, .name = "hear", .query = "Health", .once = true, .receives = "Hit",
               .run = hear_hits, .user = &sum);
    KIT_SYSTEM(world, .name = "told", .kind = ORR_INDIRECT, .query = "Health", .run = hear_changes);
    KIT_STEP(world, 1);
    KIT_SAID("two");
    orr_system sender = KIT_SYSTEM(world, .name = "send", .once = true, .changes = "Health",
                                   .creates = "Position", .sends = "Hit", .run = kit_run_nothing,
                                   .start = send_all, .destroy = send_all);
    KIT_STEP(world, 1);
    KIT_SAID("one changed");
    CHECK_EQ(sum, 5);
    CHECK_EQ(orr_entity_count(world), 2);
    CHECK_EQ(kit_stats(world, sender).sent, 4);
    KIT_STEP(world, 1);
    KIT_SAID("one");
    // Its last words, when the system itself is as good as gone.
    CHECK_OK(orr_system_remove(world, sender));
    KIT_STEP(world, 1);
    KIT_SAID("two changed");
    CHECK_EQ(sum, 10);
    CHECK_EQ(orr_entity_count(world), 3);
    CHECK_STR(k.errors.text, "");
    // And at the world's end, when nobody hears them.
    KIT_SYSTEM(world, .name = "send", .once = true, .changes = "Health", .creates = "Position",
               .sends = "Hit", .run = kit_run_nothing, .stop = send_all);
    KIT_STEP(world, 1);
    kit_end(&k);
}

// ---- from inside ------------------------------------------------------------------------------------------------------------

static void meddle(orr_run* run)
{
    orr_world* world = run->world;
    CHECK_EQ(KIT_ADD(world, .name = "new", .query = "Position", .run = kit_run).index1, 0);
    CHECK_CONTAINS(orr_error_last(world),
                   "system 'new' cannot be added while a tick is under way (in 'meddle')");
    CHECK_RESULT(orr_system_remove(world, orr_run_system(run)), ORR_ERR_STATE);
    CHECK_CONTAINS(orr_error_last(world),
                   "system 'meddle' cannot be removed while a tick is under way");
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_STATE);
    CHECK_CONTAINS(orr_error_last(world), "orr_step: not inside a system, here 'meddle'");
    CHECK_RESULT(orr_update(world, 1), ORR_ERR_STATE);
    CHECK_RESULT(orr_run_until(world, 100, NULL, NULL), ORR_ERR_STATE);
    char text[512];
    CHECK(orr_plan_print(world, text, sizeof text) > 0); // To look is allowed.
    kit_run(run);
}

ORR_TEST(system_adds_removes_and_steps_nothing_from_inside)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system system = KIT_SYSTEM(world, .name = "meddle", .query = "Position", .run = meddle);
    KIT_STEP(world, 1);
    KIT_SAID("meddle");
    CHECK_EQ(k.errors.count, 5);
    CHECK_EQ(kit_stats(world, system).breaches, 5);
    CHECK_EQ(orr_world_tick(world), 1);
    kit_end(&k);
}

// ---- state and exports --------------------------------------------------------------------------------------------------------

static void count_up(orr_run* run)
{
    Count* count = orr_own(run, Count);
    count->value++;
}

ORR_TEST(system_state_begins_with_its_preset_and_is_part_of_the_hash)
{
    kit k[2];
    uint64_t hashes[2];
    for (uint32_t i = 0; i < 2; i++) {
        orr_world* world = begin(&k[i]);
        make(world, 0);
        orr_system system = KIT_SYSTEM(world, .name = "counter", .query = "Position",
                                       .run = i == 0 ? count_up : kit_run_nothing,
                                       .state = ORR_TYPE(Count));
        KIT_STEP(world, 1);
        const Count* count = orr_system_state(world, system);
        CHECK_EQ(count->value, i == 0 ? 8 : 7);
        CHECK(orr_system_exports(world, system) == NULL);
        hashes[i] = orr_world_hash(world);
    }
    CHECK(hashes[0] != hashes[1]);
    KIT_STEP(k[0].world, 1);
    KIT_STEP(k[1].world, 1);
    CHECK(orr_world_hash(k[0].world) != orr_world_hash(k[1].world));
    kit_end(&k[0]);
    kit_end(&k[1]);
}

// Padding of a state must not decide about the hash.
static void write_spare(orr_run* run)
{
    Spare* spare = orr_own(run, Spare);
    memset(spare, (int)(uintptr_t)orr_run_user(run), sizeof *spare);
    spare->a = 1;
    spare->b = 2;
}

ORR_TEST(system_state_is_hashed_without_its_padding)
{
    uint64_t hashes[2];
    for (uint32_t i = 0; i < 2; i++) {
        kit k;
        orr_world* world = begin(&k);
        make(world, 0);
        KIT_SYSTEM(world, .name = "s", .query = "Position", .run = write_spare,
                   .user = (void*)(uintptr_t)(0x11 + i), .state = ORR_TYPE(Spare));
        KIT_STEP(world, 1);
        hashes[i] = orr_world_hash(world);
        kit_end(&k);
    }
    CHECK_EQ(hashes[0], hashes[1]);
}

static void blow(orr_run* run)
{
    Wind* wind = orr_export(run, Wind);
    wind->x += 1;
}

static void feel(orr_run* run)
{
    const Wind* wind = orr_import(run, "weather", Wind);
    *(float*)orr_run_user(run) = wind != NULL ? wind->x : -1;
}

/* N2-04 */
ORR_TEST(system_reads_what_another_exports)
{
    kit k;
    orr_world* world = begin_rows(&k);
    float before = 0, after = 0;
    orr_system weather = KIT_SYSTEM(world, .name = "weather", .query = "Position", .run = blow,
                                    .exports = ORR_TYPE(Wind));
    KIT_SYSTEM(world, .name = "before", .query = "Position", .run = feel, .user = &before,
               .before = "weather", .imports = "weather");
    KIT_SYSTEM(world, .name = "after", .query = "Position", .run = feel, .user = &after,
               .imports = "weather");
    KIT_STEP(world, 2);
    CHECK_EQ(before, 3);
    CHECK_EQ(after, 4);
    CHECK_EQ(((const Wind*)orr_system_exports(world, weather))->x, 4);
    uint64_t hash = orr_world_hash(world);
    CHECK_OK(orr_system_enable(world, weather, false));
    CHECK(orr_world_hash(world) != hash); // What is switched off is part of the state.
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

static void write_import(orr_run* run)
{
    Wind* wind = (Wind*)(uintptr_t)orr_import(run, "weather", Wind);
    wind->x = 1000;
}

/* N2-05 */
ORR_TEST(system_that_writes_anothers_export_is_caught_and_undone)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_police_set(world, ORR_POLICE_FULL);
    orr_system weather = KIT_SYSTEM(world, .name = "weather", .query = "Position", .run = blow,
                                    .exports = ORR_TYPE(Wind));
    orr_system bad = KIT_SYSTEM(world, .name = "bad", .query = "Position", .run = write_import,
                                .imports = "weather");
    KIT_STEP(world, 1);
    CHECK_EQ(k.errors.count, 1);
    KIT_ERROR(&k, ORR_ERR_STATE,
              "system 'bad' wrote Wind of system 'weather', which is not its own (undone)");
    CHECK_EQ(((const Wind*)orr_system_exports(world, weather))->x, 3);
    CHECK_EQ(kit_stats(world, bad).breaches, 1);
    CHECK_EQ(kit_stats(world, weather).breaches, 0);
    kit_end(&k);
}

static void ask_wrong(orr_run* run)
{
    kit* k = orr_run_user(run);
    CHECK(orr_own(run, Wind) == NULL);
    KIT_ERROR(k, ORR_ERR_STATE,
              "orr_own: system 'asker' asks for Wind, which is not the type of its .state");
    CHECK(orr_export(run, Count) == NULL);
    KIT_ERROR(k, ORR_ERR_STATE,
              "orr_export: system 'asker' asks for Count, which is not the type of its .exports");
    CHECK(orr_import(run, "weather", Count) == NULL);
    KIT_ERROR(k, ORR_ERR_STATE,
              "orr_import: system 'asker' asks for Count, which the other does not export");
    CHECK(orr_import(run, "secret", Wind) == NULL);
    KIT_ERROR(k, ORR_ERR_STATE,
              "orr_import: system 'asker' reads Wind of 'secret', which it did not declare; add "
              "'secret' to its .imports");
    CHECK(orr_import(run, NULL, Wind) == NULL);
    CHECK(orr_run_state(run, NULL) == NULL);
    CHECK(orr_run_export(run, NULL) == NULL);
    CHECK(orr_own(run, Count) != NULL);
    CHECK(orr_export(run, Wind) != NULL);
    CHECK(orr_import(run, "weather", Wind) != NULL);
}

ORR_TEST(system_that_asks_for_what_it_did_not_declare_to_keep_is_refused)
{
    kit k;
    orr_world* world = begin_rows(&k);
    KIT_SYSTEM(world, .name = "weather", .query = "Position", .run = blow,
               .exports = ORR_TYPE(Wind));
    KIT_SYSTEM(world, .name = "secret", .query = "Position", .run = blow,
               .exports = ORR_TYPE(Wind));
    orr_system asker = KIT_SYSTEM(world, .name = "asker", .query = "Position", .run = ask_wrong,
                                  .user = &k, .imports = "weather", .state = ORR_TYPE(Count),
                                  .exports = ORR_TYPE(Wind));
    KIT_STEP(world, 1);
    CHECK_EQ(kit_stats(world, asker).breaches, 4);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(system_state_goes_with_its_system)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system a = KIT_SYSTEM(world, .name = "a", .query = "Position", .run = count_up,
                              .state = ORR_TYPE(Count));
    KIT_STEP(world, 3);
    CHECK_EQ(((const Count*)orr_system_state(world, a))->value, 10);
    CHECK_OK(orr_system_remove(world, a));
    KIT_STEP(world, 1);
    CHECK(orr_system_state(world, a) == NULL);
    a = KIT_SYSTEM(world, .name = "a", .query = "Position", .run = count_up,
                   .state = ORR_TYPE(Count));
    KIT_STEP(world, 1);
    CHECK_EQ(((const Count*)orr_system_state(world, a))->value, 8);
    kit_end(&k);
}

ORR_TEST(system_whose_import_is_removed_keeps_the_tick_from_beginning)
{
    kit k;
    orr_world* world = begin_rows(&k);
    float felt = 0;
    orr_system weather = KIT_SYSTEM(world, .name = "weather", .query = "Position", .run = blow,
                                    .exports = ORR_TYPE(Wind));
    KIT_SYSTEM(world, .name = "b", .query = "Position", .run = feel, .user = &felt,
               .imports = "weather");
    KIT_STEP(world, 1);
    CHECK_OK(orr_system_remove(world, weather));
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_NAME);
    KIT_ERROR(&k, ORR_ERR_NAME, "system 'b', .imports: 'weather' is no system");
    CHECK_EQ(orr_world_tick(world), 1);
    // Another of its name will do.
    KIT_SYSTEM(world, .name = "weather", .query = "Position", .run = blow,
               .exports = ORR_TYPE(Wind));
    KIT_STEP(world, 1);
    CHECK_EQ(felt, 2); // It is registered after its reader now.
    kit_end(&k);
}

// ---- random numbers ------------------------------------------------------------------------------------------------------------

static void draw(orr_run* run)
{
    uint64_t* out = orr_run_user(run);
    for (uint32_t i = 0; i < run->count; i++) {
        *out++ = orr_run_random(run, orr_iter_entity(run, i));
    }
}

ORR_TEST(system_random_numbers_are_of_tick_system_and_entity)
{
    uint64_t first[2][2] = {{0}}, other[2] = {0}, later[2] = {0};
    for (uint32_t i = 0; i < 2; i++) {
        kit k;
        orr_world* world = kit_begin(&k, &(orr_world_desc){.seed = 5});
        orr_entity a = make(world, 0), b = make(world, 0);
        // The order of systems does not matter, nor what else there is.
        if (i == 1) {
            KIT_SYSTEM(world, .name = "else", .query = "Position", .run = kit_run_nothing);
        }
        orr_system s =
            KIT_SYSTEM(world, .name = "dice", .query = "Position", .run = draw, .user = first[i]);
        KIT_STEP(world, 1);
        CHECK(first[i][0] != first[i][1]);
        uint64_t hash = orr_hash("dice", 4, 0);
        CHECK(first[i][0] == orr_random(5, 1, hash, a.id));
        CHECK(first[i][1] == orr_random(5, 1, hash, b.id));
        if (i == 0) {
            CHECK_OK(orr_system_remove(world, s));
            KIT_SYSTEM(world, .name = "dice", .query = "Position", .run = draw, .user = later);
            KIT_SYSTEM(world, .name = "cards", .query = "Position", .run = draw, .user = other);
            KIT_STEP(world, 1);
            CHECK(later[0] != first[0][0]);
            CHECK(later[0] != other[0]);
        }
        kit_end(&k);
    }
    CHECK(first[0][0] == first[1][0] && first[0][1] == first[1][1]);
}

// ---- direct and indirect --------------------------------------------------------------------------------------------------------

static void no_rows(orr_run* run)
{
    CHECK(orr_run_query(run) == NULL);
    CHECK_EQ(run->count, 0);
    kit_run(run);
}

ORR_TEST(system_that_is_indirect_has_no_rows_and_runs_each_tick)
{
    kit k;
    orr_world* world = begin(&k);
    orr_system all = KIT_SYSTEM(world, .name = "all", .kind = ORR_INDIRECT, .run = no_rows);
    KIT_SYSTEM(world, .name = "some", .kind = ORR_INDIRECT, .query = "Position, !Frozen",
               .run = no_rows);
    KIT_STEP(world, 2);
    KIT_SAID("all some all some");
    CHECK_EQ(kit_stats(world, all).runs, 2);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

// Types that came since the system was prepared are beyond what it may see by id.
typedef struct late_types {
    orr_entity entity;
    orr_type last;
} late_types;

static void read_late(orr_run* run)
{
    const late_types* late = orr_run_user(run);
    CHECK(orr_component_get(run->world, late->entity, late->last) == NULL);
    CHECK(orr_get(run->world, late->entity, Position) != NULL);
    kit_say_of(run, "stop");
}

ORR_TEST(system_callback_after_new_types_came_reads_by_id_what_it_declared_and_no_more)
{
    kit k;
    orr_world* world = begin(&k);
    late_types late = {.entity = make(world, 1)};
    orr_system system = KIT_SYSTEM(world, .name = "a", .query = "Position", .any = "Position",
                                   .run = kit_run, .stop = read_late, .user = &late);
    KIT_STEP(world, 1);
    for (uint32_t i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof name, "Late%u", i);
        orr_field_desc field = {.name = "value", .type = ORR_TYPE(int32_t)};
        CHECK_OK(orr_type_register(
            world, &(orr_type_desc){.name = name, .fields = &field, .field_count = 1}, &late.last));
        int32_t value = 5;
        if (i % 100 == 99) {
            CHECK_OK(orr_component_set(world, late.entity, late.last, &value));
        }
    }
    CHECK_OK(orr_system_enable(world, system, false));
    KIT_STEP(world, 1);
    KIT_SAID("a a.stop");
    KIT_ERROR(&k, ORR_ERR_STATE, "orr_component_get: system 'a' reaches Late299 of ");
    kit_end(&k);
}

ORR_TEST(system_stats_print_is_a_table)
{
    kit k;
    orr_world* world = begin_rows(&k);
    KIT_SYSTEM(world, .name = "keeper", .query = "Position", .run = kit_run);
    NAMED(world, "second", .every = 2);
    KIT_STEP(world, 3);
    char text[1024];
    size_t length = orr_stats_print(world, text, sizeof text);
    CHECK_EQ(length, strlen(text));
    CHECK_CONTAINS(text, "system ");
    CHECK_CONTAINS(text, "\nkeeper                            3          3            3");
    CHECK_CONTAINS(text, "\nsecond                            2          2            2");
    // As orr_value_print(): the length it would have, and as much as there is room for.
    char small[20];
    CHECK_EQ(orr_stats_print(world, small, sizeof small), length);
    CHECK_EQ(strlen(small), sizeof small - 1);
    CHECK_EQ(orr_stats_print(world, NULL, 0), length);
    kit_end(&k);
}

/* N0-35 */
ORR_TEST(group_and_own_switch_are_both_needed)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system a = NAMED(world, "a", .group = "g");
    NAMED(world, "b", .group = "g", .disabled = true);
    CHECK_OK(orr_group_enable(world, "g", false));
    orr_system c = NAMED(world, "c", .group = "g"); // As the others.
    CHECK(!orr_system_enabled(world, a) && !orr_system_enabled(world, c));
    KIT_STEP(world, 1);
    CHECK_OK(orr_group_enable(world, "g", true));
    KIT_STEP(world, 1);
    KIT_SAID("a c"); // b was off by itself.
    kit_end(&k);
}

ORR_TEST(system_called_once_needs_no_query)
{
    kit k;
    orr_world* world = begin_rows(&k);
    KIT_SYSTEM(world, .name = "alone", .once = true, .run = kit_run, .state = ORR_TYPE(Count));
    KIT_STEP(world, 2);
    KIT_SAID("alone alone");
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

static void destroy_world(orr_run* run)
{
    orr_world_destroy(run->world);
}

ORR_TEST(system_cannot_destroy_its_world)
{
    kit k;
    orr_world* world = begin_rows(&k);
    KIT_SYSTEM(world, .name = "end", .once = true, .run = destroy_world);
    KIT_STEP(world, 1);
    KIT_ERROR(&k, ORR_ERR_STATE, "orr_world_destroy: not inside a system ('end')");
    kit_end(&k);
}

static void say_dt(orr_run* run)
{
    ORR_EACH (it, orr_run_query(run)) {
        CHECK(it.dt == run->dt && it.tick == run->tick);
    }
    kit_say("looped");
}

ORR_TEST(loop_inside_a_system_knows_the_tick)
{
    kit k;
    orr_world* world = begin_rows(&k);
    KIT_SYSTEM(world, .name = "loop", .query = "Position", .once = true, .run = say_dt);
    KIT_STEP(world, 1);
    KIT_SAID("looped");
    kit_end(&k);
}

static void listen(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        (*(int32_t*)orr_run_user(run))++;
    }
}

ORR_TEST(reader_outside_the_world_does_not_change_its_hash)
{
    uint64_t hashes[2];
    for (int with = 0; with < 2; with++) {
        kit k;
        orr_world* world = begin_rows(&k);
        int32_t heard = 0;
        if (with) {
            KIT_SYSTEM(world, .name = "window", .kind = ORR_INDIRECT, .query = "Position",
                       .run = listen, .user = &heard);
        }
        KIT_SYSTEM(world, .name = "count", .query = "Position", .run = kit_run);
        KIT_STEP(world, 3);
        hashes[with] = orr_world_hash(world);
        CHECK_EQ(heard > 0, with);
        kit_end(&k);
    }
    CHECK(hashes[0] == hashes[1]);
}

// ---- what direct systems write is told -----------------------------------------------------------------------------

static void write_both(orr_run* run)
{
    Position* p = orr_write(run, Position);
    Velocity* v = orr_write(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += (float)(i % 2); // Every other one.
        v[i].x += 1;
    }
}

static void hear(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        if (m->kind == ORR_COMPONENT_CHANGED) {
            CHECK(orr_message_is(m, Position));
            CHECK_EQ(m->system.index1, orr_system_find(run->world, "write").index1);
            *(uint32_t*)orr_run_user(run) += m->count;
        }
    }
}

/* N0-07 */
ORR_TEST(direct_writes_become_messages_of_tracked_types_where_they_differ)
{
    kit k;
    orr_world* world = begin(&k);
    for (uint32_t i = 0; i < 10; i++) {
        orr_entity e = orr_create(world);
        CHECK_OK(orr_set(world, e, Position, {0, 0, 0}));
        CHECK_OK(orr_set(world, e, Velocity, {0, 0}));
    }
    uint32_t heard = 0;
    KIT_SYSTEM(world, .name = "write", .query = "write Position, write Velocity",
               .run = write_both);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Position", .run = hear,
               .user = &heard);
    KIT_STEP(world, 1);
    CHECK_EQ(heard, 5);
    KIT_STEP(world, 2);
    CHECK_EQ(heard, 15);
    kit_end(&k);
}

ORR_TEST(system_may_be_the_first_to_name_the_types_of_the_library)
{
    kit k;
    orr_world* world = begin(&k);
    // Two types short of a whole word of bits: a third would stand behind it.
    orr_world_stats stats;
    for (orr_world_stats_get(world, &stats); stats.types % 64 != 62;
         orr_world_stats_get(world, &stats)) {
        char name[32];
        snprintf(name, sizeof name, "Filler%u", (uint32_t)stats.types);
        orr_type type;
        CHECK_OK(orr_type_register(world, &(orr_type_desc){.name = name}, &type));
    }
    KIT_SYSTEM(world, .name = "x", .once = true, .run = kit_run_nothing, .adds = "orr_name",
               .removes = "orr_tags, orr_enabled");
    KIT_STEP(world, 1);
    kit_end(&k);
}

ORR_TEST(systems_of_a_world_end_with_it)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    CHECK(orri_schedule_of(world) != NULL);
    kit_end(&k);
}
