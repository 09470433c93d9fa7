// SPDX-License-Identifier: MIT
// A system sees whole ticks, whole values, all clusters and all changes of other pipelines while
// they run, and can query their systems.
#include "realtime/hard_kit.h"
#include "schedule/tick/overlap_kit.h"

// ---- live values of clusters that are created while a system waits for its locks ----------------

ORR_STRUCT_EX(Cable, (.live = true), (uint64_t, x), (uint64_t, twice))
ORR_STRUCT(Other, (uint64_t, x))

static _Atomic uint64_t cable_reads;

static void cable_write(orr_run* run)
{
    Cable* c = orr_write(run, Cable);
    for (uint32_t i = 0; i < run->count; i++) {
        c[i].x++;
    }
    hard_sleep(750000);
    for (uint32_t i = 0; i < run->count; i++) {
        c[i].twice = 2 * c[i].x;
    }
}

static void cable_read(orr_run* run)
{
    const Cable* c = orr_read(run, Cable);
    uint64_t x = c[0].x;
    HARD_CHECK(c[0].twice == 2 * x, "a cable is half written");
    hard_sleep(125000);
    HARD_CHECK(c[0].x == x, "a cable is written while it is read");
    cable_reads++;
}

// Holds structure for reading most of the time: systems that create wait, and systems queued behind
// them wait, too.
static void cable_linger(orr_run* run)
{
    (void)run;
    hard_sleep(1000000);
}

// Creates one entity of a new cluster in each tick.
static void cable_make(orr_run* run)
{
    orr_entity entity = orr_send_create(run);
    orr_send_add(run, entity, Cable, {0, 0});
    orr_send_add(run, entity, Other, {1});
    orr_send_tag(run, entity, (orr_tag){(uint32_t)run->tick}, true);
}

static void cable_round(void)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.rate_hz = 160});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    ORR_REGISTER(world, Cable, Other);
    orr_set(world, orr_create(world), Cable, {0, 0}); // Without Other: only the writer selects it.
    hard_pipe(world, "a", 0, false);
    hard_pipe(world, "b", 0, false);
    hard_pipe(world, "c", 0, false);
    KIT_SYSTEM(world, .name = "make", .once = true, .creates = "Cable, Other", .creates_max = 1,
               .tags = "*", .run = cable_make);
    KIT_SYSTEM(world, .name = "write", .pipeline = "a", .query = "write Cable", .run = cable_write);
    KIT_SYSTEM(world, .name = "read", .pipeline = "b", .query = "Cable, Other", .run = cable_read);
    KIT_SYSTEM(world, .name = "linger", .pipeline = "c", .query = "Other", .run = cable_linger);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 4}));
    CHECK_EQ(orr_entity_count(world), 5);
    hard_end(&k);
}

ORR_TEST(realtime_locks_include_clusters_created_while_the_system_waited)
{
    cable_reads = 0;
    for (uint32_t round = 0; round < test_rounds(12, 12, 100); round++) {
        cable_round();
    }
    CHECK(cable_reads > 0);
}

// ---- locks of many clusters ---------------------------------------------------------------------

ORR_STRUCT_EX(L1, (.live = true), (uint64_t, v))
ORR_STRUCT_EX(L2, (.live = true), (uint64_t, v))

enum {
    CLUSTERS = 1000,
    CLUSTER_TICKS = 6
};

static _Atomic uint64_t clusters_read, clusters_missed;

static void clusters_write(orr_run* run)
{
    L1* one = orr_write(run, L1);
    L2* two = orr_write(run, L2);
    for (uint32_t i = 0; i < run->count; i++) {
        one[i].v++;
        two[i].v += 2;
    }
}

static void clusters_read_first(orr_run* run)
{
    const L1* one = orr_read(run, L1);
    for (uint32_t i = 0; i < run->count; i++) {
        HARD_CHECK(one[i].v <= CLUSTER_TICKS, "%u", (unsigned)one[i].v);
        clusters_read++;
    }
}

static void clusters_read_second(orr_run* run)
{
    const L2* two = orr_read(run, L2);
    for (uint32_t i = 0; i < run->count; i++) {
        HARD_CHECK(two[i].v <= 2 * CLUSTER_TICKS && two[i].v % 2 == 0, "%u", (unsigned)two[i].v);
        clusters_read++;
    }
}

// Selects no row of the type, but could: its lock set holds all clusters of the type, together with
// those of the other system of its group.
static void clusters_miss(orr_run* run)
{
    clusters_missed += run->count;
}

static void clusters_make(orr_world* world)
{
    for (uint32_t i = 0; i < CLUSTERS; i++) {
        orr_entity entity = orr_create(world);
        orr_set(world, entity, L1, {0});
        orr_set(world, entity, L2, {0});
        CHECK_OK(orr_tag_add(world, entity, (orr_tag){i + 1}));
    }
    orr_set(world, orr_create(world), Tree, {0, 0});
}

// `backwards`: the clusters with the higher numbers are asked for first.
static void clusters_run(bool backwards)
{
    kit k = {0};
    clusters_read = clusters_missed = 0;
    orr_world* world = kit_begin(&k, &(orr_world_desc){.rate_hz = 100});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    ORR_REGISTER(world, L1, L2, Tree);
    clusters_make(world);
    hard_pipe(world, "p", 400, false);
    KIT_SYSTEM(world, .name = "write", .query = "write L1, write L2", .run = clusters_write);
    KIT_SYSTEM(world, .name = "read", .pipeline = "p", .query = backwards ? "L2" : "L1",
               .run = backwards ? clusters_read_second : clusters_read_first);
    KIT_SYSTEM(world, .name = "miss", .pipeline = "p",
               .query = backwards ? "Tree, ?L1" : "Tree, ?L2", .run = clusters_miss);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = CLUSTER_TICKS}));
    uint32_t rows = 0;
    orr_query* query = orr_query_text(world, "L1, L2");
    ORR_EACH (it, query) {
        for (uint32_t i = 0; i < it.count; i++) {
            CHECK_EQ(orr_read(&it, L1)[i].v, CLUSTER_TICKS);
            CHECK_EQ(orr_read(&it, L2)[i].v, 2 * CLUSTER_TICKS);
            rows++;
        }
    }
    CHECK_EQ(rows, CLUSTERS);
    CHECK(hard_ticks(world, "p") > 0);
    CHECK_EQ(clusters_read, hard_ticks(world, "p") * CLUSTERS);
    CHECK_EQ(clusters_missed, hard_ticks(world, "p"));
    hard_end(&k);
}

ORR_TEST(realtime_locks_of_many_clusters_in_any_order_do_not_deadlock)
{
    clusters_run(false);
    clusters_run(true);
}

// ---- .alone -------------------------------------------------------------------------------------

static room alone_room;

static void alone_visit(orr_run* run)
{
    (void)run;
    visit(&alone_room);
    hard_sleep(500000);
}

ORR_TEST(realtime_alone_systems_never_overlap)
{
    kit k;
    alone_room = (room){0};
    orr_world* world = hard_begin(&k, 0);
    ORR_REGISTER(world, Tree);
    orr_set(world, orr_create(world), Tree, {0, 0});
    hard_pipe(world, "a", 200, false);
    KIT_SYSTEM(world, .name = "x", .once = true, .by_id = "Tree", .alone = true,
               .run = alone_visit);
    KIT_SYSTEM(world, .name = "y", .pipeline = "a", .once = true, .by_id = "Tree", .alone = true,
               .run = alone_visit);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 30}));
    CHECK(alone_room.visits > 30); // Both systems ran.
    CHECK_EQ(alone_room.overlaps, 0);
    hard_end(&k);
}

// ---- one query of pinned types, looped over by two pipelines ------------------------------------

ORR_STRUCT_EX(Pin, (.storage = ORR_PINNED), (uint64_t, v))

static orr_query* pins_query;
static _Atomic uint64_t pins, pins_wrong;

static void pins_loop(orr_run* run)
{
    (void)run;
    ORR_EACH (it, pins_query) {
        for (uint32_t i = 0; i < it.count; i++) {
            const Pin* pin = orr_read_pinned(&it, Pin, i);
            pins += pin != NULL;
            pins_wrong += pin == NULL || pin->v != 7;
        }
    }
}

static void pins_churn(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        if (orr_random(run->tick, orr_iter_entity(run, i).id, 0, 0) % 4 == 0) {
            orr_send_destroy(run, orr_iter_entity(run, i));
            orr_entity entity = orr_send_create(run);
            orr_send_add(run, entity, Pin, {7});
            orr_send_add(run, entity, Tree, {0, 0});
        }
    }
}

ORR_TEST(realtime_two_pipelines_loop_over_one_query_of_pinned_values)
{
    kit k;
    pins = pins_wrong = 0;
    orr_world* world = hard_begin(&k, 0);
    ORR_REGISTER(world, Tree, Pin);
    for (uint32_t i = 0; i < 1000; i++) {
        orr_entity entity = orr_create(world);
        orr_set(world, entity, Pin, {7});
        orr_set(world, entity, Tree, {0, 0});
    }
    pins_query = orr_query_text(world, "Pin, Tree");
    CHECK(pins_query != NULL);
    hard_pipe(world, "a", 0, false);
    hard_pipe(world, "b", 0, false);
    KIT_SYSTEM(world, .name = "churn", .query = "Tree", .creates = "Pin, Tree", .destroys = "Tree",
               .run = pins_churn);
    KIT_SYSTEM(world, .name = "x", .pipeline = "a", .once = true, .by_id = "Pin, Tree",
               .alone = true, .run = pins_loop);
    KIT_SYSTEM(world, .name = "y", .pipeline = "b", .once = true, .by_id = "Pin, Tree",
               .alone = true, .run = pins_loop);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 60}));
    CHECK(pins > 0);
    CHECK_EQ(pins % 1000, 0); // Every pass selected all of them.
    CHECK_EQ(pins_wrong, 0);
    hard_end(&k);
}

// ---- queries about other systems and pipelines --------------------------------------------------

static _Atomic uint64_t looks, looks_on, looks_answered;
static uint32_t look_entries, look_sync_points;

static void look_around(orr_run* run)
{
    orr_pipeline_stats stats = {0};
    orr_journal_entry entries[4];
    looks++;
    looks_on += orr_system_enabled(run->world, orr_system_find(run->world, "switched"));
    looks_answered +=
        orr_pipeline_stats_get(run->world, orr_pipeline_find(run->world, "a"), &stats) == ORR_OK;
    looks_answered += orr_journal_get(run->world, (orr_entity){0}, entries, 4) != 0;
}

static void look_switch(orr_run* run)
{
    orr_system system = orr_system_find(run->world, "switched");
    HARD_CHECK(orr_system_enable(run->world, system, run->tick % 2 == 0) == ORR_OK, "refused");
}

static void look_at_sync_point(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    orr_pipeline_stats stats = {0};
    orr_journal_entry entry;
    HARD_CHECK(orr_pipeline_stats_get(world, orr_pipeline_find(world, "a"), &stats) == ORR_OK &&
                   stats.tick > 0,
               "no statistics at a sync point");
    look_entries = orr_journal_get(world, (orr_entity){0}, &entry, 1);
    look_sync_points++;
}

static void look_post(orr_run* run)
{
    if (run->tick == 40) {
        (void)orr_post_exclusive(run->world, look_at_sync_point, NULL, 0);
    }
}

// A system can ask whether another system is enabled. Statistics and journals change meanwhile and
// are refused: they can be read at sync points and after the run.
ORR_TEST(realtime_system_queries_systems_of_another_pipeline)
{
    kit k;
    looks = looks_on = looks_answered = 0;
    look_entries = look_sync_points = 0;
    orr_world* world = hard_begin(&k, 0);
    trees_add(world, 50);
    CHECK_OK(orr_journal_set(world, 1000000));
    hard_pipe(world, "c", 0, false);
    KIT_SYSTEM(world, .name = "switched", .pipeline = "a", .query = "Fruit",
               .run = kit_run_nothing);
    KIT_SYSTEM(world, .name = "switch", .pipeline = "a", .once = true, .by_id = "Fruit",
               .run = look_switch);
    KIT_SYSTEM(world, .name = "around", .pipeline = "c", .once = true, .by_id = "Fruit",
               .run = look_around);
    KIT_SYSTEM(world, .name = "ask", .once = true, .by_id = "Fruit", .run = look_post);
    CHECK_RESULT(orr_realtime(world, &(orr_realtime_desc){.ticks = 60}), ORR_ERR_STATE);
    CHECK(looks_on > 0 && looks_on < looks);
    CHECK_EQ(looks_answered, 0);
    CHECK_EQ(k.errors.count, 2 * looks);
    KIT_ERROR(&k, ORR_ERR_STATE, "not allowed while pipelines run; call it in a posted call");
    CHECK_EQ(look_sync_points, 1);
    CHECK(look_entries > 0);
    CHECK(orr_journal_get(world, (orr_entity){0}, NULL, 0) > look_entries);
    hard_end(&k);
}

// ---- changed terms across runs and steps --------------------------------------------------------

static _Atomic uint64_t change_written, change_seen;

static void change_sometimes(orr_run* run)
{
    if (run->tick % 7 == 0) {
        orr_write(run, Tree)[0].tick = run->tick;
        change_written = run->tick;
    }
}

static void change_look(orr_run* run)
{
    change_seen = orr_read(run, Tree)[0].tick;
}

ORR_TEST(realtime_changed_terms_miss_nothing_across_runs_and_steps)
{
    kit k;
    change_written = change_seen = 0;
    orr_world* world = hard_begin(&k, 0);
    ORR_REGISTER(world, Tree);
    orr_set(world, orr_create(world), Tree, {0, 0});
    hard_pipe(world, "a", 230, false);
    hard_pipe(world, "b", 190, false);
    orr_system writes = KIT_SYSTEM(world, .name = "some", .pipeline = "a", .query = "write Tree",
                                   .run = change_sometimes);
    KIT_SYSTEM(world, .name = "look", .pipeline = "b", .query = "changed Tree", .run = change_look);
    for (uint32_t i = 0; i < test_rounds(45, 45, 300); i++) {
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 1 + i % 9}));
        CHECK_OK(orr_system_enable(world, writes, false));
        // Whole ticks of b in which nothing is written: b is up to date.
        CHECK_OK(orr_step(world, 4));
        CHECK_EQ(change_seen, change_written);
        CHECK_OK(orr_system_enable(world, writes, true));
        if (i % 3 == 0) {
            CHECK_OK(orr_step(world, 1 + i % 5));
        }
    }
    CHECK(change_written > 0);
    hard_end(&k);
}

// ---- a start callback during a tick of another pipeline -----------------------------------------

ORR_STRUCT(Pair, (uint64_t, a), (uint64_t, b))

static _Atomic uint32_t pair_starts;
static orr_entity pair_entity;

static void pair_first(orr_run* run)
{
    orr_write(run, Pair)[0].a = run->tick;
    hard_sleep(500000);
}

static void pair_second(orr_run* run)
{
    hard_sleep(500000);
    orr_write(run, Pair)[0].b = run->tick;
}

static void pair_start(orr_run* run)
{
    const Pair* pair = orr_get(run->world, pair_entity, Pair);
    HARD_CHECK(pair != NULL && pair->a == pair->b, "half a tick is seen");
    pair_starts++;
}

static void pair_switch(orr_run* run)
{
    orr_system system = orr_system_find(run->world, "look");
    HARD_CHECK(orr_system_enable(run->world, system, run->tick % 2 == 0) == ORR_OK, "refused");
}

// Two systems write one half each, with an .alone system between them: there `look` may start.
ORR_TEST(realtime_start_of_a_system_sees_whole_ticks_of_others)
{
    kit k;
    pair_starts = 0;
    orr_world* world = hard_begin(&k, 0);
    ORR_REGISTER(world, Pair, Tree);
    pair_entity = orr_create(world);
    orr_set(world, pair_entity, Pair, {0, 0});
    hard_pipe(world, "a", 0, false);
    hard_pipe(world, "b", 300, false);
    KIT_SYSTEM(world, .name = "first", .pipeline = "a", .query = "write Pair", .run = pair_first);
    KIT_SYSTEM(world, .name = "between", .pipeline = "a", .once = true, .alone = true,
               .by_id = "Pair", .run = kit_run_nothing);
    KIT_SYSTEM(world, .name = "second", .pipeline = "a", .query = "write Pair", .run = pair_second);
    KIT_SYSTEM(world, .name = "look", .pipeline = "b", .once = true, .by_id = "Pair",
               .run = kit_run_nothing, .start = pair_start);
    KIT_SYSTEM(world, .name = "switch", .once = true, .by_id = "Tree", .run = pair_switch);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 100}));
    CHECK(pair_starts > 0);
    hard_end(&k);
}

// ---- a reader that is added after a gap ---------------------------------------------------------

static _Atomic uint64_t back_live, back_looks;

static void back_write(orr_run* run)
{
    Pair* pair = orr_write(run, Pair);
    pair[0].a = pair[0].b = run->tick;
}

static void back_look(orr_run* run)
{
    const Pair* pair = orr_get(run->world, pair_entity, Pair);
    HARD_CHECK(pair->a >= back_live, "tick %u is seen, %u was written before the reader was added",
               (unsigned)pair->a, (unsigned)back_live);
    if (back_live > 0) {
        back_looks++;
    }
}

static void back_add(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    back_live = orr_get(world, pair_entity, Pair)->a;
    KIT_SYSTEM(world, .name = "again", .pipeline = "b", .once = true, .by_id = "Pair",
               .run = back_look);
}

static void back_remove(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    HARD_CHECK(orr_system_remove(world, orr_system_find(world, "look")) == ORR_OK, "refused");
}

static void back_post(orr_run* run)
{
    if (run->tick == 5) {
        CHECK_OK(orr_post_exclusive(run->world, back_remove, NULL, 0));
    }
    if (run->tick == 40) {
        CHECK_OK(orr_post_exclusive(run->world, back_add, NULL, 0));
    }
}

// Between the two readers no other pipeline read the type, so it was not published.
ORR_TEST(realtime_reader_added_after_a_gap_sees_the_newest_tick)
{
    kit k;
    back_live = back_looks = 0;
    orr_world* world = hard_begin(&k, 0);
    ORR_REGISTER(world, Pair, Tree);
    pair_entity = orr_create(world);
    orr_set(world, pair_entity, Pair, {0, 0});
    hard_pipe(world, "a", 200, false);
    hard_pipe(world, "b", 0, false);
    KIT_SYSTEM(world, .name = "write", .pipeline = "a", .query = "write Pair", .run = back_write);
    KIT_SYSTEM(world, .name = "look", .pipeline = "b", .once = true, .by_id = "Pair",
               .run = kit_run_nothing);
    KIT_SYSTEM(world, .name = "post", .once = true, .by_id = "Tree", .run = back_post);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 80}));
    CHECK(back_live > 10 && back_looks > 10);
    hard_end(&k);
}

// ---- events for a system that has not ticked ----------------------------------------------------

ORR_STRUCT(Chime, (uint64_t, tick))

static uint64_t chime_first, chime_count;

static void chime_send(orr_run* run)
{
    CHECK_OK(orr_send_event(run, Chime, {run->tick}));
}

static void chime_take(orr_run* run)
{
    uint32_t count;
    const Chime* chimes = orr_events(run, Chime, &count);
    chime_first = chime_count == 0 && count > 0 ? chimes[0].tick : chime_first;
    chime_count += count;
}

// The system is added to a pipeline that is not due for a while. The other pipelines, in which no
// system begins, send meanwhile.
ORR_TEST(realtime_events_wait_for_a_system_whose_pipeline_has_not_ticked)
{
    kit k;
    orr_world* world = kit_begin(&k, &(orr_world_desc){.rate_hz = 50});
    chime_first = chime_count = 0;
    ORR_REGISTER(world, Chime);
    hard_pipe(world, "slow", 1, false);
    KIT_SYSTEM(world, .name = "send", .once = true, .sends = "?Chime", .run = chime_send);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 2}));
    KIT_SYSTEM(world, .name = "take", .pipeline = "slow", .once = true, .receives = "Chime",
               .run = chime_take);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 3}));
    KIT_STEP(world, 60);
    CHECK_EQ(chime_first, 3);
    CHECK(chime_count >= 3);
    kit_end(&k);
}
