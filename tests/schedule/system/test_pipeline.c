// SPDX-License-Identifier: MIT
// Several pipelines in lockstep: the order of their ticks, what each sees of the others, which
// pipeline owns which type.
#include "schedule/system_kit.h"

#define MS UINT64_C(1000000)

static orr_pipeline pipeline(orr_world* world, const char* name, double rate_hz)
{
    orr_pipeline made =
        orr_pipeline_add(world, &(orr_pipeline_desc){.name = name, .rate_hz = rate_hz});
    if (made.id == 0) {
        test_fail(__FILE__, __LINE__, "no pipeline: %s", orr_error_last(world));
    }
    return made;
}

// A world whose first pipeline has a rate.
static orr_world* begin_at(kit* k, double rate_hz, uint32_t workers)
{
    kit_line[0] = '\0';
    orr_world* world = kit_begin(k, &(orr_world_desc){.rate_hz = rate_hz, .workers = workers});
    ORR_REGISTER(world, Position, Velocity, Health, Frozen, Hidden);
    make(world, 0);
    return world;
}

static orr_pipeline_stats pipe_stats(orr_world* world, const char* name)
{
    orr_pipeline_stats stats = {0};
    CHECK_OK(orr_pipeline_stats_get(world, orr_pipeline_find(world, name), &stats));
    return stats;
}

// ---- order --------------------------------------------------------------------------------------

ORR_TEST(pipelines_run_in_order_of_due_time_then_registration)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    pipeline(world, "fast", 120);
    pipeline(world, "slow", 30);
    NAMED(world, "s", .pipeline = "slow");
    NAMED(world, "f", .pipeline = "fast");
    NAMED(world, "m", .every = 1);
    // Due times in 60ths of a second: f at 0.5, 1, 1.5 …; m at 1, 2 …; s at 2, 4.
    KIT_STEP(world, 1);
    KIT_SAID("f m");
    KIT_STEP(world, 1);
    KIT_SAID("f f m");
    KIT_STEP(world, 2);
    KIT_SAID("f s f m f f m");
    kit_end(&k);
}

// Intervals that are no whole number of nanoseconds do not drift.
ORR_TEST(pipelines_tick_as_often_as_their_rates_in_a_minute)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    pipeline(world, "p120", 120);
    pipeline(world, "p90", 90);
    pipeline(world, "p7", 7);
    KIT_STEP(world, 3600);
    KIT_STEP(world, 1); // Ticks that are due with the last tick of a minute run after it.
    CHECK_EQ(pipe_stats(world, "main").tick, 3601);
    CHECK_EQ(pipe_stats(world, "p120").tick, 7201);
    CHECK_EQ(pipe_stats(world, "p90").tick, 5401);
    CHECK_EQ(pipe_stats(world, "p7").tick, 420);
    CHECK_EQ(orr_world_tick(world), 3601 + 7201 + 5401 + 420);
    kit_end(&k);
}

static void say_time(orr_run* run)
{
    char word[96];
    snprintf(word, sizeof word, "%s:%llu:%g", orr_system_name(run->world, orr_run_self(run)),
             (unsigned long long)run->tick, (double)run->dt);
    kit_say(word);
}

static void say_loop_time(orr_run* run)
{
    ORR_EACH (loop, orr_run_query(run)) {
        char word[96];
        snprintf(word, sizeof word, "loop:%llu:%g", (unsigned long long)loop.tick, (double)loop.dt);
        kit_say(word);
    }
}

ORR_TEST(pipeline_gives_its_systems_its_own_dt_and_tick)
{
    kit k;
    orr_world* world = begin_at(&k, 64, 0);
    pipeline(world, "fast", 128);
    CHECK(
        orr_pipeline_add(world, &(orr_pipeline_desc){.name = "free", .step_ns = 15625 * 1000}).id !=
        0);
    KIT_SYSTEM(world, .name = "f", .query = "Position", .run = say_time, .pipeline = "fast");
    KIT_SYSTEM(world, .name = "m", .query = "Position", .run = say_time);
    KIT_SYSTEM(world, .name = "c", .query = "Position", .run = say_time, .pipeline = "free");
    KIT_SYSTEM(world, .name = "l", .query = "Position", .run = say_loop_time, .once = true,
               .pipeline = "fast");
    KIT_STEP(world, 2);
    KIT_SAID("f:1:0.0078125 loop:1:0.0078125 m:1:0.015625 f:2:0.0078125 loop:2:0.0078125 "
             "c:1:0.015625 f:3:0.0078125 loop:3:0.0078125 m:2:0.015625");
    kit_end(&k);
}

ORR_TEST(every_counts_the_ticks_of_its_pipeline)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    pipeline(world, "fast", 180);
    NAMED(world, "m", .every = 1);
    NAMED(world, "third", .pipeline = "fast", .every = 3);
    KIT_STEP(world, 4);
    KIT_SAID("third m third m third m third m");
    kit_end(&k);
}

// One tick is 100 days, 120 ticks are 33 years.
ORR_TEST(pipelines_tick_at_their_rates_for_a_hundred_years)
{
    kit k;
    orr_world* world = begin_at(&k, 1 / 8.64e6, 0);
    pipeline(world, "half", 1 / 17.28e6);
    CHECK_OK(orr_step(world, 400));
    CHECK_EQ(pipe_stats(world, "main").tick, 400);
    CHECK_EQ(pipe_stats(world, "half").tick, 199);
    pipeline(world, "late", 1 / 8.64e6); // Due after 401 ticks, as main is.
    CHECK_OK(orr_step(world, 2));
    CHECK_EQ(pipe_stats(world, "half").tick, 200);
    CHECK_EQ(pipe_stats(world, "late").tick, 1);
    // orr_update() returns, also after a pipeline was added. It runs all that is due by then, also
    // ticks that are due together with the last of main.
    pipeline(world, "later", 1 / 8.64e6);
    CHECK_OK(orr_update(world, UINT64_C(8640000000000000)));
    CHECK_OK(orr_update(world, UINT64_C(8640000000000000)));
    CHECK_EQ(pipe_stats(world, "main").tick, 404);
    CHECK_EQ(pipe_stats(world, "half").tick, 202);
    CHECK_EQ(pipe_stats(world, "late").tick, 4);
    CHECK_EQ(pipe_stats(world, "later").tick, 2);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

// The clock counts nanoseconds in 63 bits: 292 years, which are nine ticks of 31.7 years.
ORR_TEST(pipelines_at_the_end_of_the_clock_are_refused_by_name)
{
    kit k;
    orr_world* world = begin_at(&k, 1e-9, 0);
    pipeline(world, "other", 1e-9);
    CHECK_OK(orr_step(world, 9));
    CHECK_OK(orr_step(world, 0));
    CHECK_EQ(orr_run_until(world, 9, NULL, NULL), ORR_OK);
    // After the ninth tick of main the ninth of "other" is still due.
    CHECK_EQ(orr_step(world, 1), ORR_ERR_CAPACITY);
    CHECK_CONTAINS(orr_error_last(world), "orr_step: the next tick of pipeline 'main'");
    CHECK_EQ(pipe_stats(world, "main").tick, 9);
    CHECK_EQ(pipe_stats(world, "other").tick, 9);
    uint64_t hash = orr_world_hash(world);
    CHECK_EQ(orr_step(world, 1), ORR_ERR_CAPACITY);
    CHECK_EQ(orr_update(world, UINT64_MAX), ORR_ERR_CAPACITY);
    CHECK_EQ(orr_update(world, 1), ORR_ERR_CAPACITY);
    CHECK_EQ(orr_run_until(world, 100, NULL, NULL), ORR_ERR_CAPACITY);
    CHECK(orr_world_hash(world) == hash);
    // A pipeline that still has a due time ticks until its clock ends, too.
    pipeline(world, "fast", 1e-8); // Three years.
    CHECK_EQ(orr_step(world, 1), ORR_ERR_CAPACITY);
    CHECK_EQ(pipe_stats(world, "fast").tick, 2);
    kit_end(&k);
}

ORR_TEST(pipeline_alone_ticks_on_after_the_end_of_the_clock)
{
    kit k;
    orr_world* world = begin_at(&k, 1e-9, 0);
    CHECK_OK(orr_step(world, 1000));
    CHECK_EQ(orr_world_tick(world), 1000);
    CHECK_OK(orr_run_until(world, 1010, NULL, NULL));
    CHECK_EQ(orr_world_tick(world), 1010);
    // Which ticks are due is a question to the clock.
    CHECK_EQ(orr_update(world, MS), ORR_ERR_CAPACITY);
    kit_end(&k);
}

ORR_TEST(pipeline_added_late_is_due_one_interval_later)
{
    kit k;
    orr_world* world = begin_at(&k, 64, 0);
    NAMED(world, "m", .every = 1);
    KIT_STEP(world, 10);
    kit_line[0] = '\0';
    pipeline(world, "twice", 128);
    NAMED(world, "t", .pipeline = "twice");
    KIT_STEP(world, 2);
    KIT_SAID("t m t t m");
    kit_end(&k);
}

// ---- orr_update() -------------------------------------------------------------------------------

ORR_TEST(update_runs_each_pipeline_as_often_as_its_rate)
{
    kit k;
    orr_world* world = begin_at(&k, 50, 0); // 20 ms
    pipeline(world, "fast", 200);           // 5 ms
    pipeline(world, "slow", 20);            // 50 ms
    NAMED(world, "m", .every = 1);
    NAMED(world, "f", .pipeline = "fast");
    NAMED(world, "s", .pipeline = "slow");
    CHECK_OK(orr_update(world, 4 * MS));
    KIT_SAID("");
    CHECK_OK(orr_update(world, 4 * MS));
    KIT_SAID("f");
    CHECK_OK(orr_update(world, 13 * MS)); // 21
    KIT_SAID("f f m f");
    CHECK_OK(orr_update(world, 30 * MS)); // 51
    KIT_SAID("f f f m f f f s");
    kit_end(&k);
}

ORR_TEST(update_after_a_long_stop_runs_the_first_pipeline_twice_and_drops_the_rest)
{
    kit k;
    orr_world* world = begin_at(&k, 50, 0);
    pipeline(world, "fast", 100);
    NAMED(world, "m", .every = 1);
    NAMED(world, "f", .pipeline = "fast");
    CHECK_OK(orr_update(world, 10 * 1000 * MS + 7 * MS)); // Counts as 27 ms + 20.
    KIT_SAID("f m f f m f");
    CHECK_OK(orr_update(world, 3 * MS)); // 50
    KIT_SAID("f");
    CHECK_OK(orr_update(world, UINT64_MAX));
    CHECK(pipe_stats(world, "main").tick <= 4);
    kit_end(&k);
}

ORR_TEST(update_of_a_continuous_first_pipeline_runs_others_that_are_due_before_it)
{
    kit k;
    orr_world* world = begin_at(&k, 0, 0);
    pipeline(world, "fixed", 100);
    KIT_SYSTEM(world, .name = "m", .query = "Position", .run = say_time);
    NAMED(world, "x", .pipeline = "fixed");
    CHECK_OK(orr_update(world, 25 * MS));
    KIT_SAID("x x m:1:0.025");
    CHECK_OK(orr_update(world, 4 * MS));
    KIT_SAID("m:2:0.004");
    CHECK_OK(orr_update(world, 1 * MS));
    KIT_SAID(
        // Due at the same time: the first pipeline runs first. The other runs when time has passed.
        "m:3:0.001 x");
    kit_end(&k);
}

ORR_TEST(update_of_a_continuous_first_pipeline_drops_time_of_a_long_stop)
{
    kit k;
    orr_world* world = begin_at(&k, 0, 0);
    pipeline(world, "fixed", 100);
    CHECK_OK(orr_update(world, UINT64_MAX));
    CHECK_EQ(pipe_stats(world, "fixed").tick, 25); // Ticks of a quarter of a second.
    CHECK_OK(orr_update(world, 10 * MS));
    CHECK_EQ(pipe_stats(world, "fixed").tick, 26);
    kit_end(&k);
}

ORR_TEST(run_until_counts_ticks_of_the_world)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    pipeline(world, "fast", 120);
    NAMED(world, "m", .every = 1);
    NAMED(world, "f", .pipeline = "fast");
    CHECK_OK(orr_run_until(world, 4, NULL, NULL));
    KIT_SAID("f m f f");
    kit_end(&k);
}

// ---- owners of types ----------------------------------------------------------------------------

/* N0-19 */
ORR_TEST(type_written_by_a_second_pipeline_is_refused_and_both_systems_named)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    pipeline(world, "b", 30);
    KIT_SYSTEM(world, .name = "physics", .query = "write RigidBody, Position", .run = kit_run);
    CHECK_EQ(KIT_ADD(world, .name = "jiggle", .query = "write RigidBody", .run = kit_run,
                     .pipeline = "b")
                 .id,
             0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT,
              "system 'jiggle' of pipeline 'b' writes RigidBody, which pipeline 'main' owns since "
              "system 'physics' was added");
    // Reading is allowed, and so is writing in the same pipeline.
    KIT_SYSTEM(world, .name = "draw", .query = "RigidBody", .run = kit_run, .pipeline = "b");
    KIT_SYSTEM(world, .name = "jiggle", .query = "write RigidBody", .run = kit_run);
    kit_end(&k);
}

/* N0-20 */
ORR_TEST(type_owner_stays_when_its_system_is_removed)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    pipeline(world, "b", 30);
    orr_system first =
        KIT_SYSTEM(world, .name = "first", .query = "write Position", .run = kit_run);
    KIT_STEP(world, 1);
    CHECK_OK(orr_system_enable(world, first, false));
    KIT_STEP(world, 1);
    CHECK_EQ(
        KIT_ADD(world, .name = "x", .query = "write Position", .run = kit_run, .pipeline = "b").id,
        0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "since system 'first' was added");
    CHECK_OK(orr_system_remove(world, first));
    KIT_STEP(world, 2);
    CHECK_EQ(
        KIT_ADD(world, .name = "x", .query = "write Position", .run = kit_run, .pipeline = "b").id,
        0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "since system 'first' was added");
    kit_end(&k);
}

static bool taken(kit* k, orr_system_desc desc)
{
    desc.name = "second";
    desc.run = kit_run;
    desc.pipeline = "b";
    orr_system second = orr_system_add(k->world, &desc);
    if (second.id == 0) {
        KIT_ERROR(k, ORR_ERR_CONFLICT, "since system 'first' was added");
        return false;
    }
    CHECK_OK(orr_system_remove(k->world, second));
    CHECK_OK(orr_step(k->world, 3));
    return true;
}

ORR_TEST(type_owner_is_set_by_every_way_to_write)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    pipeline(world, "b", 60);
    KIT_SYSTEM(world, .name = "first",
               .query = "write Position, write Velocity|read Health, !Frozen, ?Hidden",
               .run = kit_run);
    CHECK(!taken(&k, (orr_system_desc){.query = "write Position"}));
    CHECK(!taken(&k, (orr_system_desc){.query = "Health|write Velocity"}));
    CHECK(!taken(&k, (orr_system_desc){.query = " Health ,  ? write   changed Position "}));
    CHECK(!taken(&k, (orr_system_desc){.query = "Health", .by_id = "Frozen, write Position"}));
    CHECK(!taken(&k, (orr_system_desc){.query = "Health", .changes = "Frozen, Velocity"}));
    orr_term term = {.type = orr_type_find(world, "Position"), .access = ORR_WRITE};
    CHECK(!taken(&k, (orr_system_desc){.terms = &term, .term_count = 1}));
    CHECK(!taken(&k, (orr_system_desc){.kind = ORR_INDIRECT, .query = "write Velocity"}));
    // Types that it only reads, excludes or has as optional terms have no owner yet, and other
    // pipelines may read what it writes.
    CHECK(taken(&k, (orr_system_desc){.query = "Position|Velocity, !Frozen"}));
    CHECK(taken(&k, (orr_system_desc){.query = "read Position, write Health"}));
    CHECK(taken(&k, (orr_system_desc){.query = "Position", .by_id = "Velocity"}));
    CHECK(taken(&k, (orr_system_desc){.query = "Position",
                                      .transacts = "Position",
                                      .adds = "Velocity",
                                      .removes = "Position"}));
    kit_end(&k);
}

// A system that is refused for another reason owns nothing.
ORR_TEST(type_owner_is_not_set_by_a_refused_system)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    pipeline(world, "b", 30);
    CHECK_EQ(KIT_ADD(world, .name = "bad", .query = "write Position", .run = NULL).id, 0);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "it has no function");
    KIT_SYSTEM(world, .name = "v", .query = "write Velocity", .run = kit_run);
    // One of its types has another owner: it owns none of them.
    CHECK_EQ(KIT_ADD(world, .name = "half", .query = "write Health, write Velocity", .run = kit_run,
                     .pipeline = "b")
                 .id,
             0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "writes Velocity");
    KIT_SYSTEM(world, .name = "good", .query = "write Position", .run = kit_run, .pipeline = "b");
    KIT_SYSTEM(world, .name = "h", .query = "write Health", .run = kit_run);
    kit_end(&k);
}

/* N0-33 */
ORR_TEST(system_with_a_taken_name_is_refused_in_any_pipeline)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    pipeline(world, "b", 30);
    NAMED(world, "one", .every = 1);
    CHECK_EQ(KIT_ADD(world, .name = "one", .query = "Position", .run = kit_run, .pipeline = "b").id,
             0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT,
              "there is a system 'one' already, in pipeline 'main'; give this one another name");
    kit_end(&k);
}

ORR_TEST(pipelines_have_names_and_bad_descs_are_refused)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    static const orr_pipeline_desc wrong[] = {
        {.name = NULL},
        {.name = "two words"},
        {.name = "neg", .rate_hz = -1},
        {.name = "nan", .rate_hz = 0.0 / 0.0},
        {.name = "fast", .rate_hz = 2e6},
        {.name = "both", .rate_hz = 60, .step_ns = 5},
        {.name = "long", .step_ns = UINT64_MAX},
        {.name = "main"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_EQ(orr_pipeline_add(world, &wrong[i]).id, 0);
        CHECK(k.errors.count == i + 1);
    }
    CHECK_EQ(orr_pipeline_add(world, NULL).id, 0);
    k.errors = (kit_errors){0};
    CHECK_EQ(orr_pipeline_count(world), 1);
    CHECK_EQ(orr_pipeline_find(world, "physics").id, 0);
    CHECK_EQ(orr_pipeline_find(world, NULL).id, 0);
    CHECK_EQ(orr_pipeline_find(world, "main").id, 1);
    pipeline(world, "physics", 30);
    CHECK_EQ(orr_pipeline_count(world), 2);
    CHECK_EQ(
        KIT_ADD(world, .name = "a", .query = "Position", .run = kit_run, .pipeline = "phisics").id,
        0);
    KIT_ERROR(&k, ORR_ERR_NAME, "there is no pipeline 'phisics'");
    orr_pipeline_stats stats;
    CHECK_RESULT(orr_pipeline_stats_get(world, (orr_pipeline){9}, &stats), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_pipeline_stats_get(world, (orr_pipeline){0}, &stats), ORR_ERR_ARGUMENT);
    k.errors = (kit_errors){0};
    NAMED(world, "a", .pipeline = "physics");
    stats = pipe_stats(world, "physics");
    CHECK_STR(stats.name, "physics");
    CHECK_EQ(stats.systems, 1);
    CHECK_EQ(stats.interval_ns, 33333333);
    CHECK_EQ(stats.due_ns, 33333333);
    kit_end(&k);
}

static void add_one(orr_run* run)
{
    CHECK_EQ(orr_pipeline_add(run->world, &(orr_pipeline_desc){.name = "late"}).id, 0);
}

ORR_TEST(pipeline_main_is_counted_from_the_beginning)
{
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    orr_wait_stats waits = {.ticks = 7};
    CHECK_OK(orr_wait_stats_get(world, (orr_pipeline){1}, &waits));
    CHECK_EQ(waits.ticks, 0);
    CHECK_EQ(orr_pipeline_count(world), 1);
    CHECK_EQ(orr_pipeline_find(world, "main").id, 1);
    CHECK_EQ(orr_pipeline_count(world), 1);
    kit_end(&k);
}

ORR_TEST(pipeline_added_within_a_tick_is_refused)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    KIT_SYSTEM(world, .name = "a", .query = "Position", .run = add_one);
    KIT_STEP_REFUSED(world, 1);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "pipeline 'late': a tick is under way; add it between ticks");
    kit_end(&k);
}

ORR_TEST(order_between_systems_of_two_pipelines_is_refused)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    pipeline(world, "b", 30);
    NAMED(world, "one", .group = "g");
    NAMED(world, "two", .group = "g", .pipeline = "b");
    CHECK_EQ(KIT_ADD(world, .name = "three", .query = "Position", .run = kit_run, .after = "one",
                     .pipeline = "b")
                 .id,
             0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT,
              "system 'three' of pipeline 'b', .after: 'one' is in pipeline 'main'");
    // Of a group, members in the same pipeline are meant.
    NAMED(world, "zero", .before = "g", .pipeline = "b");
    KIT_STEP(world, 3);
    KIT_SAID("one one zero two one"); // b is due with the second tick of main, and runs after it.
    kit_end(&k);
}

// ---- values and messages of other pipelines -----------------------------------------------------

static void move_one(orr_run* run)
{
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += 1;
    }
}

ORR_TEST(reader_in_another_pipeline_is_notified_at_its_next_tick)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    pipeline(world, "slow", 20);
    KIT_SYSTEM(world, .name = "move", .query = "write Position", .run = move_one);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Position",
               .run = kit_note_messages, .pipeline = "slow");
    KIT_STEP(world, 3);
    KIT_SAID("");
    KIT_STEP(world, 3);
    KIT_SAID("EntityAdded:reader:1:"); // The reader starts with its first tick.
    KIT_STEP(world, 1);
    KIT_SAID("ComponentChanged:Position:1:move ComponentChanged:Position:1:move "
             "ComponentChanged:Position:1:move");
    kit_end(&k);
}

static void send_hit(orr_run* run)
{
    CHECK_OK(orr_send_event(run, Hit, {.damage = (int32_t)run->tick}));
}

static void take_hit(orr_run* run)
{
    uint32_t count;
    const Hit* hits = orr_events(run, Hit, &count);
    for (uint32_t i = 0; i < count; i++) {
        char word[32];
        snprintf(word, sizeof word, "hit%d", hits[i].damage);
        kit_say(word);
    }
}

ORR_TEST(events_go_from_one_pipeline_to_another)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    ORR_REGISTER(world, Hit);
    pipeline(world, "slow", 30);
    KIT_SYSTEM(world, .name = "take", .once = true, .receives = "Hit", .run = take_hit,
               .pipeline = "slow");
    KIT_SYSTEM(world, .name = "send", .once = true, .sends = "Hit", .run = send_hit);
    KIT_STEP(world, 5);
    KIT_SAID("hit1 hit2 hit3 hit4");
    kit_end(&k);
}

static void export_tick(orr_run* run)
{
    orr_export(run, Count)->value = (int32_t)run->tick;
}

static void import_tick(orr_run* run)
{
    char word[32];
    snprintf(word, sizeof word, "%d", orr_import(run, "out", Count)->value);
    kit_say(word);
}

ORR_TEST(exports_of_another_pipeline_are_those_of_its_last_tick)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    pipeline(world, "fast", 120);
    KIT_SYSTEM(world, .name = "out", .once = true, .exports = ORR_TYPE(Count), .run = export_tick,
               .pipeline = "fast");
    KIT_SYSTEM(world, .name = "in", .once = true, .imports = "out", .run = import_tick);
    KIT_STEP(world, 3);
    KIT_SAID("1 3 5");
    kit_end(&k);
}

static orr_entity target_of_hits;

static void hit_it(orr_run* run)
{
    CHECK_OK(orr_transact(run, ORR_OP_ADD, target_of_hits, Health, value, -1));
}

static void say_health(orr_run* run)
{
    char word[32];
    snprintf(word, sizeof word, "hp%d", (int)orr_read(run, Health)[0].value);
    kit_say(word);
}

// The owner of a type applies transactions of other pipelines when its tick begins. Until then they
// are part of the state.
ORR_TEST(transaction_on_a_type_of_another_pipeline_waits_for_its_owner)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    pipeline(world, "owner", 20);
    target_of_hits = orr_create(world);
    CHECK_OK(orr_set(world, target_of_hits, Health, {100, 0}));
    KIT_SYSTEM(world, .name = "own", .query = "write Health", .run = say_health,
               .pipeline = "owner");
    orr_system hit =
        KIT_SYSTEM(world, .name = "hit", .once = true, .transacts = "Health", .run = hit_it);
    KIT_STEP(world, 1);
    uint64_t one = orr_world_hash(world);
    CHECK_EQ(orr_get(world, target_of_hits, Health)->value, 100);
    KIT_STEP(world, 1);
    CHECK_EQ(orr_get(world, target_of_hits, Health)->value, 100);
    CHECK(orr_world_hash(world) != one);
    KIT_STEP(world, 2); // The owner's tick is between the two: three were sent before it.
    KIT_SAID("hp97");
    CHECK_EQ(orr_get(world, target_of_hits, Health)->value, 97);
    CHECK_EQ(kit_stats(world, hit).sent, 4);
    // The sender is removed: its waiting transactions are removed with it.
    CHECK_OK(orr_system_remove(world, hit));
    KIT_STEP(world, 3);
    KIT_SAID("hp97");
    kit_end(&k);
}

static void add_health(orr_run* run)
{
    CHECK_OK(orr_send_add(run, target_of_hits, Health, {5, 0}));
}

ORR_TEST(component_added_by_another_pipeline_to_an_entity_that_has_it_is_dropped)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    pipeline(world, "owner", 20);
    target_of_hits = orr_create(world);
    KIT_SYSTEM(world, .name = "own", .query = "write Health", .run = kit_run_nothing,
               .pipeline = "owner");
    orr_system add =
        KIT_SYSTEM(world, .name = "add", .once = true, .adds = "Health", .run = add_health);
    KIT_STEP(world, 1);
    CHECK_EQ(orr_get(world, target_of_hits, Health)->value, 5);
    CHECK_OK(orr_set(world, target_of_hits, Health, {70, 0}));
    KIT_STEP(world, 2);
    CHECK_EQ(orr_get(world, target_of_hits, Health)->value, 70);
    CHECK_EQ(kit_stats(world, add).dropped, 2);
    kit_end(&k);
}

// ---- starting and stopping systems --------------------------------------------------------------

ORR_TEST(systems_start_and_stop_with_ticks_of_their_own_pipeline)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    pipeline(world, "slow", 20);
    NAMED(world, "m", .every = 1);
    orr_system s = NAMED(world, "s", .pipeline = "slow", WITH_LIFE);
    KIT_STEP(world, 4);
    KIT_SAID("m m m s.create s.start s m");
    CHECK_OK(orr_system_enable(world, s, false));
    KIT_STEP(world, 2);
    KIT_SAID("m m");
    KIT_STEP(world, 1);
    KIT_SAID("s.stop m");
    CHECK_OK(orr_system_remove(world, s));
    KIT_STEP(world, 2);
    CHECK_EQ(orr_system_find(world, "s").id, 0);
    KIT_SAID("m m");
    KIT_STEP(world, 1);
    KIT_SAID("s.destroy m");
    kit_end(&k);
}

static void spawn_some(orr_run* run)
{
    for (uint32_t i = 0; i < 4; i++) {
        orr_entity e = orr_send_create(run);
        orr_send_add(run, e, Velocity, {1, 2});
    }
}

static uint64_t oom_run(uint64_t fail_at, uint32_t* refused, bool* lost)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    pipeline(world, "fast", 120);
    KIT_SYSTEM(world, .name = "spawn", .once = true, .creates = "Velocity", .creates_max = 8,
               .run = spawn_some, .pipeline = "fast");
    KIT_SYSTEM(world, .name = "move", .query = "write Position", .run = move_one);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Velocity",
               .run = kit_run_nothing, .pipeline = "fast");
    *refused = 0;
    *lost = false;
    if (fail_at > 0) {
        failing_alloc_arm(&k.memory, fail_at, false);
    }
    uint32_t rounds = 0;
    while (pipe_stats(world, "main").tick < 3 || orr_tick_open(world)) {
        orr_result result = orr_step(world, 1);
        *refused += result != ORR_OK;
        // The tick ran without the refused send.
        *lost |= result != ORR_OK && !orr_tick_open(world);
        CHECK(++rounds < 20);
    }
    k.errors = (kit_errors){0};
    uint64_t hash = orr_world_hash(world);
    kit_end(&k);
    return hash;
}

// A refused tick of any pipeline stays open, and continues.
ORR_TEST(refused_tick_of_a_second_pipeline_continues)
{
    uint32_t refused;
    bool lost;
    uint64_t whole = oom_run(0, &refused, &lost), seen = 0;
    CHECK_EQ(refused, 0);
    for (uint64_t at = 1; at < 200; at++) {
        uint64_t hash = oom_run(at, &refused, &lost);
        seen += refused > 0;
        CHECK(lost || hash == whole);
    }
    CHECK(seen > 5);
}

static double main_seconds;

static void add_up(orr_run* run)
{
    main_seconds += (double)run->dt;
}

// A continuous first pipeline gets the time of a call that was refused before its turn.
ORR_TEST(update_refused_in_another_pipeline_loses_no_time)
{
    uint32_t seen = 0;
    for (uint64_t at = 1; at < 60; at++) {
        kit k;
        orr_world* world = begin_at(&k, 0, 0);
        pipeline(world, "physics", 100);
        main_seconds = 0;
        KIT_SYSTEM(world, .name = "sum", .once = true, .by_id = "Position", .run = add_up);
        KIT_SYSTEM(world, .name = "spawn", .once = true, .creates = "Velocity", .creates_max = 8,
                   .run = spawn_some, .pipeline = "physics");
        failing_alloc_arm(&k.memory, at, false);
        orr_result result = orr_update(world, 45 * MS);
        failing_alloc_arm(&k.memory, 0, false);
        // A half-done tick of the first pipeline only continues: the call's own time does not count.
        bool open = orr_tick_open(world) && pipe_stats(world, "main").tick == 0;
        seen += open;
        if (open) {
            CHECK(result != ORR_OK);
            CHECK_OK(orr_update(world, 10 * MS));
            CHECK_EQ(pipe_stats(world, "physics").tick, 5);
            CHECK(main_seconds > 0.0549 && main_seconds < 0.0551);
        }
        k.errors = (kit_errors){0};
        kit_end(&k);
    }
    CHECK(seen > 2);
}

// ---- hash and plan ------------------------------------------------------------------------------

static void stir(orr_run* run)
{
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity self = orr_iter_entity(run, i);
        p[i].x += (float)(orr_run_random(run, self) % 1000) * 0.001f * run->dt;
    }
}

static void follow(orr_run* run)
{
    Velocity* v = orr_write(run, Velocity);
    const Position* p = orr_read(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        v[i].x = 0.9f * v[i].x + 0.1f * p[i].x;
        if (orr_run_random(run, orr_iter_entity(run, i)) % 64 == 0) {
            (void)orr_send_destroy(run, orr_iter_entity(run, i));
        }
    }
}

static void refill(orr_run* run)
{
    for (uint32_t i = 0; i < 40; i++) {
        orr_entity e = orr_send_create(run);
        (void)orr_send_add(run, e, Position, {(float)i, 0, 0});
        (void)orr_send_add(run, e, Velocity, {0, 0});
    }
}

static void run_three(uint32_t workers, uint64_t* hashes, uint32_t ticks)
{
    kit k;
    orr_world* world = begin_at(&k, 60, workers);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    pipeline(world, "fast", 144);
    pipeline(world, "slow", 25);
    KIT_SYSTEM(world, .name = "stir", .query = "write Position", .run = stir, .parallel = true,
               .pipeline = "fast");
    KIT_SYSTEM(world, .name = "follow", .query = "write Velocity, Position", .run = follow,
               .parallel = true, .destroys = "Velocity");
    KIT_SYSTEM(world, .name = "refill", .once = true, .creates = "Position, Velocity",
               .creates_max = 64, .run = refill, .pipeline = "slow");
    for (uint32_t i = 0; i < 9000; i++) {
        CHECK_OK(orr_set(world, make(world, (float)i), Velocity, {0, 0}));
    }
    for (uint32_t i = 0; i < ticks; i++) {
        KIT_STEP(world, 1);
        hashes[i] = orr_world_hash(world);
    }
    kit_end(&k);
}

ORR_TEST(three_pipelines_give_the_same_hashes_with_any_number_of_workers)
{
    enum {
        TICKS = 40
    };
    uint64_t serial[TICKS], other[TICKS];
    run_three(0, serial, TICKS);
    static const uint32_t workers[] = {1, 2, 3, 8};
    for (size_t w = 0; w < sizeof workers / sizeof workers[0]; w++) {
        run_three(workers[w], other, TICKS);
        CHECK(memcmp(serial, other, sizeof serial) == 0);
    }
}

ORR_TEST(plan_prints_each_pipeline)
{
    kit k;
    orr_world* world = begin_at(&k, 60, 0);
    pipeline(world, "fast", 120);
    pipeline(world, "free", 0);
    KIT_SYSTEM(world, .name = "move", .query = "write Position", .run = move_one);
    KIT_SYSTEM(world, .name = "look", .query = "Position", .run = kit_run, .pipeline = "free");
    char out[1024];
    orr_plan_print(world, out, sizeof out);
    CHECK_STR(out, "pipeline main, 60 a second:\n"
                   "   1  move (direct): write Position\n"
                   "   -- commit: the tick ends\n"
                   "pipeline fast, 120 a second:\n"
                   "   -- commit: the tick ends\n"
                   "pipeline free, continuous:\n"
                   "   2  look (direct): Position\n"
                   "   -- commit: the tick ends\n");
    orr_plan_graph(world, out, sizeof out);
    CHECK_CONTAINS(out, "subgraph cluster_2 {\n    label=\"free\";\n    \"look\";");
    kit_end(&k);
}
