// SPDX-License-Identifier: MIT
// Systems: the fields of a desc, refusals, when and with which rows systems are called.
#include "schedule/system_kit.h"

// ---- a function is enough -----------------------------------------------------------------------

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
ORR_TEST(system_of_a_plain_function_writes_the_columns_it_names)
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
    CHECK_EQ(stats.violations, 0);
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

// ---- refused descs ------------------------------------------------------------------------------

typedef struct bad_desc {
    orr_system_desc desc;
    orr_result result;
    const char* words;
} bad_desc;

static const orr_term missing_terms[1];

// Each desc with the text of its refusal. N0-26 is among them.
static const bad_desc bad_descs[] = {
    {{.run = kit_run, .query = "Position"}, ORR_ERR_NAME, "a system needs a name"},
    {{.name = "", .run = kit_run, .query = "Position"}, ORR_ERR_NAME, "a system needs a name"},
    {{.name = "two words", .run = kit_run, .query = "Position"},
     ORR_ERR_NAME,
     "this is not a name: two words"},
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
     "would receive the same events each time"},
    {{.name = "x", .run = kit_run, .query = "!Position"}, ORR_ERR_ARGUMENT, "has no rows"},
    {{.name = "x", .run = kit_run, .query = "#17"}, ORR_ERR_ARGUMENT, "has no rows"},
    {{.name = "x", .kind = ORR_INDIRECT, .run = kit_run, .by_id = "Position"},
     ORR_ERR_ARGUMENT,
     ".by_id is for direct systems"},
    {{.name = "x", .kind = ORR_INDIRECT, .run = kit_run, .parallel = true},
     ORR_ERR_ARGUMENT,
     "can be .parallel"},
    {{.name = "x", .run = kit_run, .query = "Position", .once = true, .parallel = true},
     ORR_ERR_ARGUMENT,
     "can be .parallel"},
    {{.name = "x",
      .run = kit_run,
      .query = "write Position",
      .parallel = true,
      .by_id = "Position"},
     ORR_ERR_ARGUMENT,
     "may not write Position and reach it by id"},
    {{.name = "x", .run = kit_run, .query = "Health", .parallel = true, .by_id = "write Position"},
     ORR_ERR_ARGUMENT,
     "may not write Position and reach it by id"},
    {{.name = "x", .kind = ORR_INDIRECT, .run = kit_run, .query = "changed Position"},
     ORR_ERR_ARGUMENT,
     "no 'changed' terms"},
    {{.name = "x", .query = "changed Position", .once = true, .run = kit_run},
     ORR_ERR_ARGUMENT,
     "remove .once, or 'changed'"},
    {{.name = "x", .run = kit_run, .query = "Position, Position"},
     ORR_ERR_PARSE,
     "system 'x', .query"},
    {{.name = "x", .run = kit_run, .query = "Position &"}, ORR_ERR_PARSE, "system 'x', .query"},
    {{.name = "x", .run = kit_run, .query = "Position", .by_id = "!Health"},
     ORR_ERR_ARGUMENT,
     ".by_id is a list of types and tags, such as \"Position, write Health, #17\": \"!Health\" has "
     "more"},
    {{.name = "x", .run = kit_run, .query = "Position", .adds = "write Health"},
     ORR_ERR_PARSE,
     ".adds is a list of types: \"write Health\" has more than that"},
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
ORR_TEST(system_with_a_bad_desc_is_refused_with_a_reason)
{
    kit k;
    orr_world* world = begin(&k);
    KIT_STEP(world, 1);
    uint64_t hash = orr_world_hash(world);
    for (size_t i = 0; i < sizeof bad_descs / sizeof bad_descs[0]; i++) {
        k.errors = (kit_errors){0};
        orr_system system = orr_system_add(world, &bad_descs[i].desc);
        if (system.id != 0) {
            test_fail(__FILE__, __LINE__, "desc %zu was accepted, expected: %s", i,
                      bad_descs[i].words);
        }
        CHECK_EQ(k.errors.count, 1);
        KIT_ERROR(&k, bad_descs[i].result, bad_descs[i].words);
        CHECK_EQ(orr_system_next(world, (orr_system){0}).id, 0);
    }
    CHECK(orr_system_add(world, NULL).id == 0);
    CHECK_EQ(orr_world_hash(world), hash);
    KIT_STEP(world, 1);
    kit_end(&k);
}

static const bad_desc bad_impure[] = {
    {{.creates = "Position"}, ORR_ERR_ARGUMENT, "declare it .impure"},
    {{.destroys = "Position"}, ORR_ERR_ARGUMENT, "declare it .impure"},
    {{.adds = "Position"}, ORR_ERR_ARGUMENT, "declare it .impure"},
    {{.removes = "Position"}, ORR_ERR_ARGUMENT, "declare it .impure"},
    {{.switches = "Position"}, ORR_ERR_ARGUMENT, "declare it .impure"},
    {{.tags = "#1"}, ORR_ERR_ARGUMENT, "declare it .impure"},
    {{.renames = true}, ORR_ERR_ARGUMENT, "declare it .impure"},
    {{.query = "write Position"}, ORR_ERR_ARGUMENT, "declare it .impure"},
    {{.sends = "Hit"}, ORR_ERR_ARGUMENT, "declare it .impure"},
    {{.transacts = "Position"}, ORR_ERR_ARGUMENT, "declare it .impure"},
    // Only direct systems.
    {{.changes = "Position"}, ORR_ERR_ARGUMENT, "declare it .impure"},
    {{.by_id = "write Position"}, ORR_ERR_ARGUMENT, "declare it .impure"},
};

static void check_impure(kit* k, orr_world* world, orr_system_desc desc, const bad_desc* bad)
{
    int mine = 0;
    desc.name = "outside";
    desc.run = kit_run_nothing;
    desc.user = &mine;
    k->errors = (kit_errors){0};
    if (orr_system_add(world, &desc).id != 0) {
        test_fail(__FILE__, __LINE__, "desc %d was accepted", (int)(bad - bad_impure));
    }
    KIT_ERROR(k, bad->result, bad->words);
    desc.impure = true;
    CHECK_OK(orr_system_remove(world,
                               kit_taken(world, orr_system_add(world, &desc), __FILE__, __LINE__)));
    desc.impure = false;
    desc.user = NULL;
    desc.settings = &mine;
    CHECK_OK(orr_system_remove(world,
                               kit_taken(world, orr_system_add(world, &desc), __FILE__, __LINE__)));
    KIT_STEP(world, 1);
}

ORR_TEST(system_with_outside_state_that_sends_must_be_impure)
{
    kit k;
    orr_world* world = begin(&k);
    ORR_REGISTER(world, Hit);
    int mine = 0;
    for (size_t i = 0; i < sizeof bad_impure / sizeof bad_impure[0]; i++) {
        orr_system_desc desc = bad_impure[i].desc;
        desc.once = desc.query == NULL;
        check_impure(&k, world, desc, &bad_impure[i]);
        if (desc.changes == NULL && desc.by_id == NULL) {
            desc.kind = ORR_INDIRECT;
            desc.once = false;
            check_impure(&k, world, desc, &bad_impure[i]);
        }
    }
    // A system that only receives need not be impure.
    KIT_SYSTEM(world, .name = "listener", .kind = ORR_INDIRECT, .run = kit_run_nothing,
               .query = "Position", .user = &mine);
    KIT_SYSTEM(world, .name = "watcher", .query = "Position", .run = kit_run_nothing,
               .user = &mine);
    KIT_STEP(world, 1);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(system_with_a_taken_name_is_refused)
{
    kit k;
    orr_world* world = begin(&k);
    orr_system first = KIT_SYSTEM(world, .name = "a", .query = "Position", .run = kit_run);
    CHECK_EQ(KIT_ADD(world, .name = "a", .query = "Health", .run = kit_run).id, 0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "there is a system 'a' already");
    // After its removal its name can be used at once.
    CHECK_OK(orr_system_remove(world, first));
    orr_system second = KIT_SYSTEM(world, .name = "a", .query = "Health", .run = kit_run);
    CHECK_EQ(orr_system_find(world, "a").id, second.id);
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

// ---- when it runs -------------------------------------------------------------------------------

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

// ---- preparation of calls -----------------------------------------------------------------------

static orr_entity asked;

static void get_health(orr_run* run)
{
    const Health* health = orr_get(run->world, asked, Health);
    kit_say(health == NULL ? "none" : health->value == 3 ? "three" : "other");
}

// Reading by id finds types whose first entity was created after the system's first tick, and types
// whose place in the tables moved because many types were registered.
ORR_TEST(system_reads_by_id_types_registered_later)
{
    kit k;
    orr_world* world = begin(&k);
    asked = make(world, 0);
    KIT_SYSTEM(world, .name = "get", .query = "Position", .by_id = "Health", .run = get_health);
    KIT_STEP(world, 1);
    CHECK_OK(orr_set(world, asked, Health, {3, 0}));
    KIT_STEP(world, 1);
    for (uint32_t i = 0; i < 300; i++) {
        char name[16];
        orr_type type;
        snprintf(name, sizeof name, "Late%u", i);
        CHECK_OK(orr_type_register(world, &(orr_type_desc){.name = name}, &type));
        if (i % 50 == 0) {
            CHECK_OK(orr_component_add(world, asked, type));
            KIT_STEP(world, 1);
        }
    }
    KIT_SAID("none three three three three three three three");
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

static void create_three(orr_run* run)
{
    uint32_t made = 0;
    for (uint32_t i = 0; i < 3; i++) {
        made += orr_send_create(run).id != 0;
    }
    *(uint32_t*)orr_run_user(run) += made;
}

ORR_TEST(system_creates_at_most_its_declared_number_in_a_run)
{
    static const uint32_t most[] = {0, 1, 2, 3, 4}, expected[] = {3, 1, 2, 3, 3};
    for (uint32_t i = 0; i < 5; i++) {
        kit k;
        orr_world* world = begin_rows(&k); // One row, and no limit by default.
        uint32_t made = 0;
        orr_system create = KIT_SYSTEM(world, .name = "create", .query = "Position",
                                       .creates = "Position", .creates_max = most[i],
                                       .run = create_three, .user = &made, .impure = true);
        KIT_STEP_RESULT(world, 1, expected[i] < 3 ? ORR_ERR_CAPACITY : ORR_OK);
        CHECK_EQ(made, expected[i]);
        CHECK_EQ(orr_entity_count(world), 1 + expected[i]);
        CHECK_EQ(k.errors.count, 3 - expected[i]);
        CHECK_EQ(kit_stats(world, create).violations, 3 - expected[i]);
        kit_end(&k);
    }
}

static void implicit(orr_run* run)
{
    *(int32_t*)orr_run_user(run) += (int32_t)run->count;
    if (orr_write(run, Health) != NULL) {
        kit_say("wrote");
    }
    // Not named, so not readable.
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
    orr_system system = KIT_SYSTEM(world, .name = "all", .query = "?write Health", .run = implicit,
                                   .user = &rows, .impure = true);
    KIT_STEP_REFUSED(world, 1);
    CHECK_EQ(rows, 2);
    KIT_SAID("wrote");
    CHECK_EQ(kit_stats(world, system).violations, 2);
    KIT_ERROR(&k, ORR_ERR_STATE, "system 'all'");
    kit_end(&k);
}

// ---- direct and indirect ------------------------------------------------------------------------

static void no_rows(orr_run* run)
{
    CHECK(orr_run_query(run) == NULL);
    CHECK_EQ(run->count, 0);
    kit_run(run);
}

ORR_TEST(indirect_system_has_no_rows_and_runs_each_tick)
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

ORR_TEST(system_called_once_needs_no_query)
{
    kit k;
    orr_world* world = begin_rows(&k);
    KIT_SYSTEM(world, .name = "alone", .once = true, .run = kit_run, .state = ORR_TYPE(Count));
    KIT_STEP(world, 2);
    KIT_SAID("alone alone");
    kit_end(&k);
}

static void say_dt(orr_run* run)
{
    ORR_EACH (it, orr_run_query(run)) {
        CHECK(it.dt == run->dt && it.tick == run->tick);
    }
    kit_say("looped");
}

ORR_TEST(loop_inside_a_system_has_its_tick)
{
    kit k;
    orr_world* world = begin_rows(&k);
    KIT_SYSTEM(world, .name = "loop", .query = "Position", .once = true, .run = say_dt);
    KIT_STEP(world, 1);
    KIT_SAID("looped");
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
    // As orr_value_print(): returns the full length, and writes as much as fits.
    char small[20];
    CHECK_EQ(orr_stats_print(world, small, sizeof small), length);
    CHECK_EQ(strlen(small), sizeof small - 1);
    CHECK_EQ(orr_stats_print(world, NULL, 0), length);
    kit_end(&k);
}

static orr_entity born[3];

static void create_and_tag(orr_run* run)
{
    for (uint32_t i = 0; i < 3; i++) {
        born[i] = orr_send_create(run);
    }
    for (uint32_t i = 0; i < 3; i++) {
        orr_send_add(run, born[i], Position, {.x = (float)i});
        (void)orr_send_tag(run, born[i], 4, true);
    }
}

// Ids that are reused are given in another order than that of their indices.
ORR_TEST(system_that_changes_created_entities_twice_keeps_their_values_separate)
{
    kit k;
    orr_world* world = begin(&k);
    orr_entity low = orr_create(world), middle = orr_create(world), high = orr_create(world);
    CHECK_OK(orr_destroy(world, middle));
    CHECK_OK(orr_destroy(world, high));
    CHECK_OK(orr_destroy(world, low));
    KIT_SYSTEM(world, .name = "create", .once = true, .creates = "Position", .tags = "#4",
               .run = create_and_tag);
    KIT_STEP(world, 1);
    CHECK((uint32_t)born[0].id < (uint32_t)born[2].id &&
          (uint32_t)born[2].id < (uint32_t)born[1].id);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_EQ(orr_get(world, born[i], Position)->x, i);
    }
    kit_end(&k);
}

ORR_TEST(system_with_empty_destroys_is_refused)
{
    for (uint32_t i = 0; i < 2; i++) {
        kit k;
        orr_world* world = begin(&k);
        make(world, 0);
        (void)orr_system_add(world, &(orr_system_desc){.name = "die",
                                                       .query = "Position",
                                                       .run = kit_run_nothing,
                                                       .destroys = i == 0 ? "" : "  "});
        (void)orr_step(world, 1);
        CHECK_CONTAINS(k.errors.text, "'die'");
        CHECK_CONTAINS(k.errors.text, ".destroys is empty; name the types of the entities that it "
                                      "may destroy, write \"*\" for any entity, or leave "
                                      ".destroys out");
        k.errors = (kit_errors){0};
        kit_end(&k);
    }
}
