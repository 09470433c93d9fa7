// SPDX-License-Identifier: MIT
// Mistakes inside systems: orr_step() returns the first one, the tick runs to its end, the mistake
// is counted, and its text says what to do. Each row of the table provokes one mistake.
#include "base/util.h"
#include "schedule/schedule.h"
#include "schedule/system_kit.h"

#include <orrery/history.h>
#include <orrery/replay.h>

ORR_STRUCT(Fuel, (int32_t, liters, (.min = 0, .max = 100)), (float, share, (.min = -1, .max = 1)))

static orr_entity bob, dead;

static void create_three(orr_run* run)
{
    for (uint32_t i = 0; i < 3; i++) {
        (void)orr_send_create(run);
    }
}
static void add_undeclared(orr_run* run)
{
    (void)orr_send_add(run, bob, Velocity, {1, 2});
}
static void write_read_term(orr_run* run)
{
    CHECK(orr_write(run, Position) == NULL);
}
static void get_undeclared(orr_run* run)
{
    CHECK(orr_get(run->world, bob, Health) == NULL);
}
static void get_dead(orr_run* run)
{
    CHECK(orr_get(run->world, dead, Position) == NULL);
}
static void get_null_type(orr_run* run)
{
    CHECK(orr_component_get(run->world, bob, (orr_type){0}) == NULL);
}
static void edit_null_type(orr_run* run)
{
    CHECK(orr_component_edit(run->world, bob, (orr_type){0}) == NULL);
}
static void create_directly(orr_run* run)
{
    CHECK_EQ(orr_create(run->world).id, 0);
}
static void change_dead(orr_run* run)
{
    CHECK_OK(orr_send_change(run, dead, Position, {1, 2, 3}));
}
static void add_to_dead(orr_run* run)
{
    CHECK_OK(orr_send_add(run, dead, Velocity, {1, 2}));
}
static void destroy_dead(orr_run* run)
{
    CHECK_OK(orr_send_destroy(run, dead));
}
static void destroy_null(orr_run* run)
{
    CHECK_RESULT(orr_send_destroy(run, (orr_entity){0}), ORR_ERR_ARGUMENT);
}
static void tag_dead(orr_run* run)
{
    CHECK_OK(orr_send_tag(run, dead, (orr_tag)7, true));
}
static void disable_dead(orr_run* run)
{
    CHECK_OK(orr_send_enable(run, dead, Position, false));
}
static void change_absent(orr_run* run)
{
    CHECK_OK(orr_send_change(run, bob, Velocity, {1, 2}));
}
static void add_twice(orr_run* run)
{
    CHECK_OK(orr_send_add(run, bob, Position, {7, 8, 9}));
}
static void add_marker_twice(orr_run* run)
{
    CHECK_OK(orr_send_add_preset(run, bob, Frozen));
    CHECK_OK(orr_send_add_preset(run, bob, Frozen));
}
static void read_rows(orr_run* run)
{
    CHECK(orr_read(run, Position) == NULL);
}
static void transact_dead(orr_run* run)
{
    CHECK_OK(orr_transact(run, ORR_OP_ADD, dead, Health, value, 1));
}
static void transact_absent(orr_run* run)
{
    CHECK_OK(orr_transact(run, ORR_OP_ADD, bob, Health, value, 1));
}
static void take_name(orr_run* run)
{
    CHECK_OK(orr_send_name(run, bob, (orr_entity){0}, "tom"));
}
static void refer_to_dead(orr_run* run)
{
    CHECK_OK(orr_send_add(run, bob, Link, {.target = dead}));
}
static void add_too_much(orr_run* run)
{
    CHECK_RESULT(orr_send_add(run, bob, Fuel, {500, 0}), ORR_ERR_RANGE);
}
static void send_hit(orr_run* run)
{
    (void)orr_send_event(run, Hit, {.who = bob});
}
static void import_other(orr_run* run)
{
    CHECK(orr_import(run, "other", Wind) == NULL);
}

static void import_paused(orr_run* run)
{
    CHECK(orr_import(run, "paused", Wind) != NULL);
}

static void report(orr_run* run)
{
    CHECK_RESULT(orr_error_report(run->world, "file %s is missing", "a.txt"), ORR_ERR_FAILED);
}

static void report_long(orr_run* run)
{
    char text[2000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    CHECK_RESULT(orr_error_report(run->world, "%s", text), ORR_ERR_FAILED);
}

static void report_value(const orr_world* world, orr_entity target, void* value,
                         const void* argument, uint32_t size)
{
    (void)target, (void)value, (void)argument, (void)size;
    CHECK_RESULT(orr_error_report(world, "the value is odd"), ORR_ERR_FAILED);
}

static void read_world(const orr_world* world, orr_entity target, void* value, const void* argument,
                       uint32_t size)
{
    (void)value, (void)argument, (void)size;
    CHECK(orr_component_get(world, target, orr_type_find(world, "Position")) == NULL);
}

static void transact_report(orr_run* run)
{
    CHECK_OK(orr_transact_call(run, bob, KIT_TYPE(run->world, Position), 0, report_value, NULL, 0));
}

static void transact_read(orr_run* run)
{
    CHECK_OK(orr_transact_call(run, bob, KIT_TYPE(run->world, Position), 0, read_world, NULL, 0));
}

typedef struct mistake {
    const char* name;
    orr_system_desc desc;
    orr_result result;
    uint32_t refused, violations, dropped; // Counts.
    const char* text;                      // Of the error or of the log line.
    uint32_t added_twice, stale_imports;   // Counts of what is a warning.
} mistake;

static const mistake mistakes[] = {
    {"more than .creates_max",
     {.run = create_three, .creates = "Position", .creates_max = 1},
     ORR_ERR_CAPACITY,
     2,
     2,
     0,
     .text = "creates_max is 1"},
    {"undeclared send",
     {.run = add_undeclared},
     ORR_ERR_STATE,
     1,
     1,
     0,
     .text = "add Velocity to its .adds"},
    {"write to a read term",
     {.run = write_read_term},
     ORR_ERR_STATE,
     1,
     1,
     0,
     .text = "Position is a read term; make it a write term"},
    {"undeclared read by id",
     {.run = get_undeclared},
     ORR_ERR_STATE,
     1,
     1,
     0,
     .text = "put \"Health\" into its .by_id"},
    {"read of a dead entity",
     {.run = get_dead, .by_id = "Position"},
     ORR_ERR_ENTITY,
     1,
     0,
     0,
     .text = "is dead, so its Position cannot be accessed"},
    {"direct change of structure",
     {.run = create_directly},
     ORR_ERR_STATE,
     1,
     1,
     0,
     .text = "inside a system send the change"},
    {"change of a dead entity",
     {.run = change_dead, .changes = "Position"},
     ORR_ERR_ENTITY,
     0,
     0,
     1,
     .text = "sent ComponentChanged of Position for 2v1, which has no effect: the entity is dead"},
    {"addition to a dead entity",
     {.run = add_to_dead, .adds = "Velocity"},
     ORR_ERR_ENTITY,
     0,
     0,
     1,
     .text = "sent ComponentAdded of Velocity for 2v1, which has no effect: the entity is dead"},
    {"destruction of a dead entity",
     {.run = destroy_dead, .destroys = "*"},
     ORR_ERR_ENTITY,
     0,
     0,
     1,
     .text = "sent EntityRemoved for 2v1, which has no effect: the entity is dead"},
    {"destruction of null",
     {.run = destroy_null, .destroys = "*"},
     ORR_ERR_ARGUMENT,
     1,
     0,
     0,
     .text = "the entity is null; was its creation refused?"},
    {"tag for a dead entity",
     {.run = tag_dead, .tags = "*"},
     ORR_ERR_ENTITY,
     0,
     0,
     1,
     .text = "sent a tag for 2v1, which has no effect: the entity is dead"},
    {"disabling of a dead entity",
     {.run = disable_dead, .switches = "Position"},
     ORR_ERR_ENTITY,
     0,
     0,
     1,
     .text = "for 2v1, which has no effect: the entity is dead"},
    {"change of an absent component",
     {.run = change_absent, .changes = "Velocity"},
     ORR_ERR_ABSENT,
     0,
     0,
     1,
     .text = "for bob (0v1), which has no effect: the entity does not have this component"},
    {"transaction on a dead entity",
     {.run = transact_dead, .transacts = "Health"},
     ORR_ERR_ENTITY,
     0,
     0,
     1,
     .text = "sent a transaction of Health for 2v1, which has no effect: the entity is dead"},
    {"transaction that nothing can commit",
     {.run = transact_absent, .transacts = "Health"},
     ORR_ERR_ABSENT,
     0,
     0,
     1,
     .text = "sent a transaction of Health for bob (0v1), which has no effect: the entity does not "
             "have"},
    {"name that is taken",
     {.run = take_name, .renames = true},
     ORR_ERR_CONFLICT,
     0,
     0,
     1,
     .text = "the name 'tom' is taken in its scope"},
    {"reference to a dead entity",
     {.run = refer_to_dead, .adds = "Link"},
     ORR_ERR_ENTITY,
     0,
     0,
     1,
     .text = "its value refers to a dead entity"},
    {"value out of its range",
     {.run = add_too_much, .adds = "Fuel"},
     ORR_ERR_RANGE,
     1,
     0,
     0,
     .text = "orr_send_add: liters of Fuel of bob (0v1) is 500, but its range is 0 to 100"},
    {"rows of an indirect system",
     {.run = read_rows, .kind = ORR_INDIRECT},
     ORR_ERR_STATE,
     1,
     1,
     0,
     .text = "asks its run for Position, but the system is indirect and its run has no rows; read "
             "messages"},
    {"rows of a system that is called once",
     {.run = read_rows, .once = true},
     ORR_ERR_STATE,
     1,
     1,
     0,
     .text = "but the system is called once and its run has no rows; loop over its query"},
    {"undeclared import",
     {.run = import_other},
     ORR_ERR_STATE,
     1,
     1,
     0,
     .text = "add 'other' to its .imports"},
    {"null type",
     {.run = get_null_type},
     ORR_ERR_TYPE,
     1,
     1,
     0,
     .text = "orr_get: system 'culprit' passes a null type; was its registration refused?"},
    {"write of a null type",
     {.run = edit_null_type, .by_id = "write Health"},
     ORR_ERR_TYPE,
     1,
     1,
     0,
     .text = "orr_edit: system 'culprit' passes a null type; was its registration refused?"},
    {"failure that the system reports",
     {.run = report},
     ORR_ERR_FAILED,
     1,
     0,
     0,
     .text = "system 'culprit' failed: file a.txt is missing"},
    {"failure with a long text",
     {.run = report_long},
     ORR_ERR_FAILED,
     1,
     0,
     0,
     .text = "system 'culprit' failed: xxxx"},
    {"failure that a function of a transaction reports",
     {.run = transact_report, .transacts = "Position"},
     ORR_ERR_FAILED,
     1,
     0,
     0,
     .text = "a transaction of system 'culprit' failed: the value is odd"},
    {"refused call in a function of a transaction",
     {.run = transact_read, .transacts = "Position"},
     ORR_ERR_STATE,
     1,
     1,
     0,
     .text = "orr_get: a transaction of system 'culprit' accesses Position of bob"},
    // Warnings: nothing is lost.
    {"addition of a component that is there",
     {.run = add_twice, .adds = "Position"},
     ORR_OK,
     0,
     0,
     0,
     .text = "which already has it: the value is set, nothing is added",
     .added_twice = 1},
    {"addition of a marker that is there",
     {.run = add_marker_twice, .adds = "Frozen"},
     ORR_OK,
     0,
     0,
     0,
     .text = "which already has it: nothing is added. Exclude such entities by its .query "
             "(\"!Frozen\"), or check first",
     .added_twice = 1},
    {"import from a disabled system",
     {.run = import_paused, .imports = "other, paused"},
     ORR_OK,
     0,
     0,
     0,
     .text =
         "system 'culprit' imports Wind from 'paused', which is disabled: the value is that of its "
         "last tick. Enable 'paused', or disable 'culprit' too",
     .stale_imports = 1},
};

static char last_line[512];

static void keep_line(void* user, const orr_log_line* line)
{
    (void)user;
    snprintf(last_line, sizeof last_line, "%s", line->text);
}

// bob has a Position; tom has a name; `dead` is dead; "other" exports Wind, and so does "paused",
// which is disabled.
static orr_world* world_with(const orr_system_desc* desc, uint32_t workers, orr_system* out)
{
    last_line[0] = '\0';
    orr_world* world =
        orr_world_create(&(orr_world_desc){.workers = workers, .log = {.sink = keep_line}});
    CHECK(world != NULL);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    ORR_REGISTER(world, Position, Velocity, Health, Link, Hit, Fuel, Frozen);
    bob = orr_create_named(world, "bob");
    CHECK_OK(orr_set(world, bob, Position, {1, 2, 3}));
    CHECK(orr_create_named(world, "tom").id != 0);
    dead = orr_create(world);
    CHECK_OK(orr_destroy(world, dead));
    KIT_SYSTEM(world, .name = "other", .once = true, .exports = ORR_TYPE(Wind),
               .run = kit_run_nothing);
    KIT_SYSTEM(world, .name = "paused", .once = true, .exports = ORR_TYPE(Wind),
               .run = kit_run_nothing, .disabled = true);
    orr_system_desc full = *desc;
    full.name = "culprit";
    full.query = "Position";
    *out = orr_system_add(world, &full);
    CHECK(out->id != 0);
    return world;
}

ORR_TEST(step_returns_each_mistake_of_a_system_and_counts_and_explains_it)
{
    for (uint32_t i = 0; i < ORRI_COUNT(mistakes); i++) {
        const mistake* m = &mistakes[i];
        orr_system system;
        orr_world* world = world_with(&m->desc, 0, &system);
        orr_result result = kit_run_refused(world, 1);
        if (result != m->result) {
            test_fail(__FILE__, __LINE__, "%s: %s instead of %s", m->name, orr_result_name(result),
                      orr_result_name(m->result));
        }
        orr_system_stats stats = kit_stats(world, system);
        CHECK_EQ(stats.refused, m->refused);
        CHECK_EQ(stats.violations, m->violations);
        CHECK_EQ(stats.dropped, m->dropped);
        CHECK_EQ(stats.added_twice, m->added_twice);
        CHECK_EQ(stats.stale_imports, m->stale_imports);
        CHECK_CONTAINS(last_line, m->text);
        if (m->result == ORR_OK) {
            CHECK_EQ(strlen(orr_error_last(world)), 0);
        } else if (m->dropped == 0) { // The text has the error itself.
            CHECK_CONTAINS(orr_error_last(world),
                           "tick 1 ran, but system 'culprit' was refused something: ");
            CHECK_CONTAINS(orr_error_last(world), m->text);
            CHECK_CONTAINS(orr_error_last(world), orr_result_name(m->result));
        } else {
            CHECK_CONTAINS(orr_error_last(world),
                           "tick 1 ran, but system 'culprit' sent something");
            CHECK_CONTAINS(orr_error_last(world), orr_result_name(m->result));
        }
        // In every tick again, also in a call that runs several.
        CHECK_RESULT(kit_run_refused(world, 3), m->result);
        orr_world_destroy(world);
    }
}

// The value is set, so nothing is lost: it is counted and logged, but no error.
ORR_TEST(step_with_a_component_added_twice_sets_its_value_and_counts_it)
{
    orr_system system;
    orr_world* world =
        world_with(&(orr_system_desc){.run = add_twice, .adds = "Position"}, 0, &system);
    KIT_STEP(world, 2);
    CHECK_EQ(kit_stats(world, system).added_twice, 2);
    CHECK_EQ(kit_stats(world, system).dropped, 0);
    CHECK(orr_get(world, bob, Position)->x == 7);
    CHECK_CONTAINS(last_line, "which already has it: the value is set, nothing is added");
    orr_world_destroy(world);
}

// ---- imports from systems that are disabled -----------------------------------------------------

static _Atomic uint32_t stale_lines; // Workers log, too.

static void count_stale(void* user, const orr_log_line* line)
{
    (void)user;
    stale_lines += line->id == ORR_LOG_ID_IMPORT_STALE;
}

static void import_wind(orr_run* run)
{
    CHECK(orr_import(run, "weather", Wind) != NULL);
}

static void export_wind(orr_run* run)
{
    orr_export(run, Wind)->x = (float)run->tick;
}

// Logged once for each importer and time that the exporter is disabled, also by workers of a
// parallel system and although plans are made again; counted at each call.
ORR_TEST(import_from_a_disabled_system_is_logged_once_and_counted_for_any_number_of_workers)
{
    static const uint32_t workers[] = {0, 1, 2, 4, 8};
    for (uint32_t i = 0; i < 10; i++) {
        stale_lines = 0;
        orr_world* world = orr_world_create(
            &(orr_world_desc){.workers = workers[i % 5], .log = {.sink = count_stale}});
        ORR_REGISTER(world, Position);
        orri_parallel_share(world, i % 2 == 0 ? ORRI_SHARE_ALL : ORRI_SHARE_RANDOM, i);
        CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), 9000, NULL, 0, NULL));
        orr_system weather = KIT_SYSTEM(world, .name = "weather", .once = true, .run = export_wind,
                                        .exports = ORR_TYPE(Wind));
        orr_system wide = KIT_SYSTEM(world, .name = "wide", .query = "Position", .run = import_wind,
                                     .imports = "weather", .parallel = true);
        orr_system one = KIT_SYSTEM(world, .name = "one", .once = true, .run = import_wind,
                                    .imports = "weather");
        orr_system other = KIT_SYSTEM(world, .name = "z", .once = true, .run = kit_run_nothing);
        KIT_STEP(world, 3);
        CHECK_EQ(stale_lines, 0);
        for (uint32_t times = 1; times <= 2; times++) {
            uint64_t runs = kit_stats(world, wide).runs;
            CHECK_OK(orr_system_enable(world, weather, false));
            KIT_STEP(world, 1);
            CHECK_OK(orr_system_enable(world, other, times == 2)); // Plans are made again.
            KIT_STEP(world, 2);
            runs = kit_stats(world, wide).runs - runs;
            CHECK_EQ(kit_stats(world, wide).stale_imports, times * runs);
            CHECK_EQ(kit_stats(world, one).stale_imports, times * 3);
            CHECK_EQ(stale_lines, 2 * times);
            CHECK_OK(orr_system_enable(world, weather, true));
            KIT_STEP(world, 2);
            CHECK_EQ(kit_stats(world, one).stale_imports, times * 3);
        }
        orr_world_destroy(world);
    }
}

// In its own pipeline, and in one that ticks more often, before the exporter's first tick.
ORR_TEST(import_from_a_disabled_system_of_another_pipeline_is_logged_in_lockstep_and_real_time)
{
    for (uint32_t realtime = 0; realtime < 2; realtime++) {
        stale_lines = 0;
        orr_world* world =
            orr_world_create(&(orr_world_desc){.rate_hz = 1000, .log = {.sink = count_stale}});
        CHECK(orr_pipeline_add(world, &(orr_pipeline_desc){.name = "slow", .rate_hz = 250}).id !=
              0);
        orr_system weather = KIT_SYSTEM(world, .name = "weather", .once = true, .run = export_wind,
                                        .exports = ORR_TYPE(Wind), .pipeline = "slow");
        orr_system far = KIT_SYSTEM(world, .name = "far", .once = true, .run = import_wind,
                                    .imports = "weather");
        orr_system near = KIT_SYSTEM(world, .name = "near", .once = true, .run = import_wind,
                                     .imports = "weather", .pipeline = "slow");
        for (uint32_t off = 0; off < 2; off++) {
            if (realtime != 0) {
                CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 12}));
            } else {
                KIT_STEP(world, 12);
            }
            CHECK_EQ(stale_lines, 2 * off);
            CHECK((kit_stats(world, far).stale_imports != 0) == (off != 0));
            CHECK((kit_stats(world, near).stale_imports != 0) == (off != 0));
            CHECK_OK(orr_system_enable(world, weather, false));
        }
        orr_world_destroy(world);
    }
}

// An event that no system receives is refused when the plan is made; "?Hit" allows it.
ORR_TEST(step_with_an_event_without_a_receiver_is_refused_before_the_tick)
{
    orr_system system;
    orr_world* world = world_with(&(orr_system_desc){.run = send_hit, .sends = "Hit"}, 0, &system);
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_STATE);
    CHECK_CONTAINS(last_line, "system 'culprit' sends events Hit, which no system receives");
    CHECK_EQ(orr_world_tick(world), 0);
    orr_world_destroy(world);
    world = world_with(&(orr_system_desc){.run = send_hit, .sends = "?Hit"}, 0, &system);
    KIT_STEP(world, 2);
    orr_world_destroy(world);
}

// ---- which one is the first ---------------------------------------------------------------------

enum {
    ROWS = 9000
};

// In its third chunk and in all later ones it asks for an undeclared type; in the last one, which
// is often done first, it sends an undeclared change before.
static void wrong_in_chunks(orr_run* run)
{
    uint32_t row = (uint32_t)orr_iter_entity(run, 0).id; // Index: entities were created in order.
    if (row >= 8192) {
        (void)orr_send_destroy(run, (orr_entity){0}); // ORR_ERR_ARGUMENT.
    } else if (row >= 4096) {
        (void)orr_get(run->world, dead, Health); // ORR_ERR_ENTITY.
    }
}

ORR_TEST(step_returns_the_first_mistake_by_system_and_chunk_for_any_number_of_workers)
{
    static const uint32_t workers[] = {0, 1, 2, 4, 8};
    for (uint32_t i = 0; i < 40; i++) {
        orr_world* world = orr_world_create(
            &(orr_world_desc){.workers = workers[i % 5], .log = {.level = ORR_LOG_OFF}});
        ORR_REGISTER(world, Position, Velocity, Health);
        orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
        orri_parallel_share(world, i % 2 == 0 ? ORRI_SHARE_ALL : ORRI_SHARE_RANDOM, i);
        orri_shuffle_set(world, i % 3 == 2 ? i : 0);
        CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), ROWS, NULL, 0, NULL));
        dead = orr_create(world);
        CHECK_OK(orr_destroy(world, dead));
        orr_system second = KIT_SYSTEM(world, .name = "second", .query = "Position",
                                       .by_id = "Health", .destroys = "*", .parallel = true,
                                       .run = wrong_in_chunks);
        // Registered last and first in the plan.
        orr_system first = KIT_SYSTEM(world, .name = "first", .query = "write Position",
                                      .before = "second", .parallel = true, .run = kit_run_nothing);
        CHECK_RESULT(kit_run_refused(world, 2), ORR_ERR_ENTITY);
        CHECK_CONTAINS(orr_error_last(world), "system 'second'");
        CHECK_CONTAINS(orr_error_last(world), "is dead, so its Health cannot be accessed");
        CHECK_EQ(kit_stats(world, first).refused, 0);
        CHECK_EQ(kit_stats(world, second).refused, 2 * 3);
        orr_world_destroy(world);
    }
}

// ---- which drop is the first --------------------------------------------------------------------

typedef enum drop_kind {
    DROP_CHANGE,       // ORR_ERR_ABSENT, found when the system ends.
    DROP_DESTROY,      // ORR_ERR_ENTITY, found at the commit.
    DROP_TRANSACTION,  // ORR_ERR_ABSENT; the last of its chunk.
    DROP_SECTION,      // ORR_ERR_ABSENT, found by a worker while the system runs.
    DROP_SECTION_DEAD, // ORR_ERR_ENTITY
    DROP_KINDS
} drop_kind;

// The system sends `drop_first`, then `drop_second` in the third chunk, `drop_later` in later chunks.
static drop_kind drop_first, drop_second, drop_later;

static void section_nothing(void* value, void* user)
{
    (void)value, (void)user;
}

static void drop_send(orr_run* run, drop_kind kind)
{
    orr_type health = orr_type_of(run->world, ORR_TYPE(Health));
    switch (kind) {
    case DROP_CHANGE:
        CHECK_OK(orr_send_change(run, bob, Velocity, {1, 2}));
        break;
    case DROP_DESTROY:
        CHECK_OK(orr_send_destroy(run, dead));
        break;
    case DROP_TRANSACTION:
        CHECK_OK(orr_transact(run, ORR_OP_ADD, bob, Health, value, 1));
        break;
    case DROP_SECTION:
        CHECK_OK(orr_atomic(run, bob, health, 0, section_nothing, NULL));
        break;
    default:
        CHECK_OK(orr_atomic(run, dead, health, 0, section_nothing, NULL));
        break;
    }
}

static orr_result drop_result(drop_kind kind)
{
    return kind == DROP_DESTROY || kind == DROP_SECTION_DEAD ? ORR_ERR_ENTITY : ORR_ERR_ABSENT;
}

static void drop_in_chunks(orr_run* run)
{
    uint32_t row = (uint32_t)orr_iter_entity(run, 0).id; // Index: entities were created in order.
    if (row >= 8192) {
        drop_send(run, drop_later);
    } else if (row >= 4096 && row < 6144) {
        drop_send(run, drop_first);
        drop_send(run, drop_second);
    }
}

// By chunk and, in a chunk, by call; transactions come after the other sends of their chunk.
ORR_TEST(step_returns_the_first_drop_by_chunk_and_call_for_any_number_of_workers)
{
    static const uint32_t workers[] = {0, 1, 2, 4, 8};
    for (uint32_t i = 0; i < DROP_KINDS * DROP_KINDS * DROP_KINDS; i++) {
        drop_first = (drop_kind)(i % DROP_KINDS);
        drop_second = (drop_kind)(i / DROP_KINDS % DROP_KINDS);
        drop_later = (drop_kind)(i / DROP_KINDS / DROP_KINDS);
        drop_kind expected = drop_first == DROP_TRANSACTION ? drop_second : drop_first;
        orr_world* world = orr_world_create(&(orr_world_desc){
            .workers = workers[i % 5], .atomic_sections = true, .log = {.level = ORR_LOG_OFF}});
        ORR_REGISTER(world, Position, Velocity, Health);
        orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
        orri_parallel_share(world, i % 2 == 0 ? ORRI_SHARE_ALL : ORRI_SHARE_RANDOM, i);
        CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), ROWS, NULL, 0, NULL));
        bob = orr_create(world);
        dead = orr_create(world);
        CHECK_OK(orr_destroy(world, dead));
        KIT_SYSTEM(world, .name = "s", .query = "Position", .changes = "Velocity", .destroys = "*",
                   .transacts = "Health", .atomics = "Health", .parallel = true,
                   .run = drop_in_chunks);
        CHECK_RESULT(kit_run_refused(world, 1), drop_result(expected));
        orr_world_destroy(world);
    }
}

static void first_wrong(orr_run* run)
{
    (void)orr_send_add(run, bob, Velocity, {1, 2});
}

ORR_TEST(step_returns_the_mistake_of_the_first_tick_and_of_the_first_system)
{
    orr_system system;
    orr_world* world = world_with(
        &(orr_system_desc){.run = change_dead, .changes = "Position", .every = 2}, 0, &system);
    KIT_SYSTEM(world, .name = "later", .query = "Position", .run = first_wrong);
    CHECK_RESULT(kit_run_refused(world, 2), ORR_ERR_ENTITY); // Both, then only the later one.
    CHECK_RESULT(kit_run_refused(world, 1), ORR_ERR_ENTITY);
    CHECK_RESULT(kit_run_refused(world, 1), ORR_ERR_STATE);
    CHECK_OK(orr_system_enable(world, orr_system_find(world, "later"), false));
    CHECK_OK(orr_system_enable(world, system, false));
    KIT_STEP(world, 3); // Nothing is left over.
    orr_world_destroy(world);
}

// ---- other calls that run ticks -----------------------------------------------------------------

static void wrong_call(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    CHECK_RESULT(orr_destroy(world, dead), ORR_ERR_ENTITY);
}

ORR_TEST(update_run_until_travel_posted_calls_and_replays_return_the_first_mistake)
{
    orr_system system;
    orr_system_desc desc = {.run = change_dead, .changes = "Position"};
    orr_world* world = world_with(&desc, 0, &system);
    CHECK_RESULT(orr_update(world, 20000000), ORR_ERR_ENTITY);
    CHECK_RESULT(orr_run_until(world, 5, NULL, NULL), ORR_ERR_ENTITY);
    CHECK_EQ(orr_world_tick(world), 5);
    CHECK_RESULT(orr_time_travel(world, 9), ORR_ERR_ENTITY); // Forward: runs ticks, too.
    CHECK_EQ(orr_world_tick(world), 9);
    CHECK_CONTAINS(orr_error_last(world), "tick 6 ran, but system '");
    CHECK_OK(orr_system_enable(world, system, false));
    KIT_STEP(world, 1);
    CHECK_OK(orr_post(world, wrong_call, NULL, 0));
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_ENTITY);
    CHECK_CONTAINS(orr_error_last(world), "a posted call was refused something: orr_destroy: ");
    CHECK(strstr(orr_error_last(world), "orr_system_stats_get") == NULL); // It is no system's.
    KIT_STEP(world, 1);
    orr_world_destroy(world);

    orr_recording* recording = orr_recording_create();
    world = world_with(&desc, 0, &system);
    CHECK_OK(orr_record(world, recording, &(orr_record_desc){0}));
    CHECK_RESULT(orr_step(world, 4), ORR_ERR_ENTITY);
    CHECK_OK(orr_record_end(world));
    uint64_t hash = orr_world_hash(world);
    orr_world_destroy(world);
    world = world_with(&desc, 0, &system);
    orr_replay_report report;
    CHECK_RESULT(orr_replay(world, recording, NULL, &report), ORR_ERR_ENTITY);
    CHECK_EQ(report.ticks, 4);
    CHECK_EQ(orr_world_hash(world), hash);
    orr_world_destroy(world);
    orr_recording_destroy(recording);
}

// In real time another pipeline may have destroyed the entity since: a drop is counted and no error.
// A refused call is an error.
ORR_TEST(realtime_returns_the_first_refused_call_and_not_drops)
{
    orr_system system;
    orr_world* world =
        world_with(&(orr_system_desc){.run = change_dead, .changes = "Position"}, 0, &system);
    orr_result result = orr_realtime(world, &(orr_realtime_desc){.ticks = 3});
    if (result == ORR_ERR_UNSUPPORTED) {
        orr_world_destroy(world);
        test_skip("built without threads");
    }
    CHECK_OK(result);
    CHECK_EQ(kit_stats(world, system).dropped, 3);
    orr_world_destroy(world);
    world = world_with(&(orr_system_desc){.run = add_undeclared}, 0, &system);
    CHECK_RESULT(orr_realtime(world, &(orr_realtime_desc){.ticks = 3}), ORR_ERR_STATE);
    CHECK_CONTAINS(orr_error_last(world), "system 'culprit' was refused");
    CHECK_EQ(kit_stats(world, system).refused, 3);
    KIT_STEP_REFUSED(world, 1);
    orr_world_destroy(world);
}

static void report_call(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    (void)orr_error_report(world, "no such level");
}

ORR_TEST(failure_reported_outside_of_systems_is_that_of_the_posted_call_or_of_none)
{
    orr_system system;
    orr_world* world = world_with(&(orr_system_desc){.run = kit_run_nothing}, 0, &system);
    CHECK_RESULT(orr_error_report(world, "level %d", 3), ORR_ERR_FAILED);
    CHECK_STR(orr_error_last(world), "level 3");
    CHECK_CONTAINS(last_line, "level 3");
    KIT_STEP(world, 1);
    CHECK_OK(orr_post(world, report_call, NULL, 0));
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_FAILED);
    CHECK_CONTAINS(orr_error_last(world), "a posted call failed: no such level");
    KIT_STEP(world, 1);
    orr_world_destroy(world);
    world = orr_world_create(NULL); // Without systems.
    CHECK_RESULT(orr_error_report(world, "odd"), ORR_ERR_FAILED);
    CHECK_STR(orr_error_last(world), "odd");
    orr_world_destroy(world);
}

// ---- posted calls in real time ------------------------------------------------------------------

static void wrong_get(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    CHECK(orr_get(world, (orr_entity){0}, Position) == NULL);
}

static void post_wrong(orr_run* run)
{
    if (run->tick == 2) {
        CHECK_OK(orr_post_exclusive(run->world, wrong_get, NULL, 0));
    }
    if (run->tick == 4) {
        CHECK_OK(orr_post(run->world, wrong_call, NULL, 0));
    }
}

static void nothing(orr_run* run)
{
    (void)run;
}

static void call_counted(orr_run* run)
{
    post_wrong(run);
    if (run->tick == 3) {
        add_undeclared(run);
    }
}

static const orr_call wrong_calls[] = {wrong_call, wrong_get};

// The first in turns counts: a call posted before the run and one posted within it; of a call and a
// system, the one that came first. A replay of the run returns the same.
ORR_TEST(realtime_returns_the_first_refused_posted_call)
{
    for (uint32_t i = 0; i < 4; i++) {
        orr_system system;
        orr_system_desc desc = {.run = i < 2    ? nothing
                                       : i == 2 ? post_wrong
                                                : call_counted,
                                .user = &system,
                                .impure = true};
        orr_world* world = world_with(&desc, 0, &system);
        orr_recording* recording = orr_recording_create();
        CHECK_OK(orr_call_register(world, "wrong_call", wrong_call, 0));
        CHECK_OK(orr_call_register(world, "wrong_get", wrong_get, 0));
        if (i < 2) { // Both ways to post.
            CHECK_OK((i == 0 ? orr_post : orr_post_exclusive)(world, wrong_calls[i], NULL, 0));
        }
        orr_result result =
            orr_realtime(world, &(orr_realtime_desc){.ticks = 12, .record = recording});
        if (result == ORR_ERR_UNSUPPORTED) {
            orr_world_destroy(world);
            orr_recording_destroy(recording);
            test_skip("built without threads");
        }
        const char* first = i == 0 ? "orr_destroy: " : "orr_get: ";
        CHECK_RESULT(result, ORR_ERR_ENTITY);
        CHECK_CONTAINS(orr_error_last(world), "a posted call was refused something: ");
        CHECK_CONTAINS(orr_error_last(world), first);
        KIT_STEP(world, 1);
        orr_world_destroy(world);
        world = world_with(&desc, 0, &system);
        CHECK_RESULT(orr_realtime(world, &(orr_realtime_desc){.replay = recording}),
                     ORR_ERR_ENTITY);
        CHECK_CONTAINS(orr_error_last(world), first);
        orr_world_destroy(world);
        orr_recording_destroy(recording);
    }
}
