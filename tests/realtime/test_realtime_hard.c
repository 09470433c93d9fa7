// SPDX-License-Identifier: MIT
// Hard cases of real time: several spectators that create, queues that overflow, sync points that
// change everything, readers that are enabled and disabled, exporters that are removed.
#include "realtime/hard_kit.h"

// ---- spectators that create ---------------------------------------------------------------------

ORR_STRUCT_EX(Spark, (.transient = true), (uint64_t, number), (uint64_t, life))
ORR_STRUCT_EX(Smoke, (.transient = true), (uint64_t, number), (uint64_t, life))

static void spark_make(orr_run* run)
{
    for (uint32_t i = 0; i < 3; i++) {
        orr_entity entity = orr_send_create(run);
        orr_send_add(run, entity, Spark, {run->tick, run->tick % 5});
    }
}

static void spark_fade(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        Spark* s = orr_write_pinned(run, Spark, i);
        HARD_CHECK(orr_alive(run->world, orr_iter_entity(run, i)), "a spark is dead");
        if (s->life-- == 0) {
            orr_send_destroy(run, orr_iter_entity(run, i));
        }
    }
}

static void smoke_make(orr_run* run)
{
    for (uint32_t i = 0; i < 2; i++) {
        orr_entity entity = orr_send_create(run);
        orr_send_add(run, entity, Smoke, {run->tick, run->tick % 3});
    }
}

static void smoke_fade(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        Smoke* s = orr_write_pinned(run, Smoke, i);
        if (s->life-- == 0) {
            orr_send_destroy(run, orr_iter_entity(run, i));
        }
    }
}

// Reads entities that the other spectator creates.
static void smoke_sees(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        const Spark* s = orr_read_pinned(run, Spark, i);
        HARD_CHECK(s->number > 0, "an empty spark");
    }
}

static orr_world* spectators_begin(kit* k, uint32_t workers)
{
    orr_world* world = hard_begin(k, workers);
    trees_add(world, 100);
    ORR_REGISTER(world, Spark, Smoke);
    hard_pipe(world, "o1", 0, true);
    hard_pipe(world, "o2", 350, true);
    KIT_SYSTEM(world, .name = "spark_fade", .pipeline = "o1", .query = "write Spark",
               .destroys = "Spark", .run = spark_fade);
    KIT_SYSTEM(world, .name = "spark_make", .pipeline = "o1", .once = true, .creates = "Spark",
               .creates_max = 3, .run = spark_make);
    KIT_SYSTEM(world, .name = "smoke_fade", .pipeline = "o2", .query = "write Smoke",
               .destroys = "Smoke", .run = smoke_fade);
    KIT_SYSTEM(world, .name = "smoke_make", .pipeline = "o2", .once = true, .creates = "Smoke",
               .creates_max = 2, .run = smoke_make);
    KIT_SYSTEM(world, .name = "smoke_sees", .pipeline = "o2", .query = "Spark", .run = smoke_sees);
    return world;
}

static uint64_t spectators_ticks(orr_world* world, const char* name)
{
    orr_pipeline_stats stats;
    CHECK_OK(orr_pipeline_stats_get(world, orr_pipeline_find(world, name), &stats));
    return stats.tick;
}

// From the fifth tick on as many entities fade as are created: there are nine sparks and four of
// smoke. On a busy machine a spectator may run fewer ticks.
static void spectators_look(orr_world* world, bool replays)
{
    (void)replays;
    bool settled = spectators_ticks(world, "o1") >= 5 && spectators_ticks(world, "o2") >= 5;
    CHECK(settled ? orr_transient_count(world) == 13 : orr_transient_count(world) <= 13);
    CHECK_OK(orr_world_validate(world));
    CHECK_OK(orr_step(world, 50));
    CHECK_EQ(orr_transient_count(world), 13);
}

ORR_TEST(realtime_two_spectators_create_in_one_run)
{
    hard_replays_with_workers(
        (hard_replay){.begin = spectators_begin, .ticks = 40, .look = spectators_look});
}

// ---- queues -------------------------------------------------------------------------------------

static void fall(orr_run* run)
{
    Count* c = orr_state(run, Count);
    for (uint32_t i = 0; i < 4; i++) {
        orr_send_event(run, Fallen, {++c->count});
    }
}

static void gather(orr_run* run)
{
    Count* c = orr_state(run, Count);
    uint32_t count;
    const Fallen* f = orr_events(run, Fallen, &count);
    for (uint32_t i = 0; i < count; i++) {
        HARD_CHECK(f[i].number > c->last, "event %u after %u", (unsigned)f[i].number,
                   (unsigned)c->last);
        c->last = f[i].number;
        c->count++;
    }
}

static void gather_slowly(orr_run* run)
{
    gather(run);
    hard_sleep(20000000);
}

ORR_TEST(realtime_slow_receiver_delays_no_pipeline)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    ORR_REGISTER(world, Fallen, Count);
    hard_pipe(world, "slow", 0, false);
    CHECK_OK(orr_events_limit(world, KIT_TYPE(world, Fallen), 16));
    KIT_SYSTEM(world, .name = "fall", .once = true, .state = ORR_TYPE(Count), .sends = "Fallen",
               .run = fall);
    orr_system system = KIT_SYSTEM(world, .name = "gather", .pipeline = "slow", .once = true,
                                   .state = ORR_TYPE(Count), .receives = "Fallen",
                                   .run = gather_slowly);
    CHECK_RESULT(orr_realtime(world, &(orr_realtime_desc){.ticks = 100}), ORR_ERR_CAPACITY);
    KIT_ERROR(&k, ORR_ERR_CAPACITY, "but at most 16 may wait");
    const Count* c = orr_system_state(world, system);
    printf("    %llu of 400 events received\n", (unsigned long long)c->count);
    CHECK(c->count > 0 && c->count < 400);
    CHECK_OK(orr_system_enable(world, orr_system_find(world, "fall"), false));
    CHECK_OK(orr_step(world, 2));
    k.errors = (kit_errors){0};
    hard_end(&k);
}

// ---- sync points --------------------------------------------------------------------------------

ORR_STRUCT(Late, (uint64_t, ticks))
static orr_result sync_step_result, sync_realtime_result;
static uint32_t sync_pipe_index;

static void late_write(orr_run* run)
{
    Late* l = orr_write(run, Late);
    for (uint32_t i = 0; i < run->count; i++) {
        l[i].ticks++;
    }
}

static void late_read(orr_run* run)
{
    const Late* l = orr_read(run, Late);
    for (uint32_t i = 0; i < run->count; i++) {
        HARD_CHECK(l[i].ticks < 100000, "torn");
    }
}

static void sync_add(orr_world* world, void* data, size_t size)
{
    (void)size;
    uint32_t number = *(uint32_t*)data;
    char names[2][32];
    ORR_REGISTER(world, Late);
    orr_set(world, orr_create(world), Late, {0});
    snprintf(names[0], sizeof names[0], "late_write_%u", number);
    snprintf(names[1], sizeof names[1], "late_read_%u", number);
    HARD_CHECK(
        KIT_ADD(world, .name = names[0], .pipeline = "a", .query = "write Late", .run = late_write)
                .id != 0,
        "%s", orr_error_last(world));
    HARD_CHECK(
        KIT_ADD(world, .name = names[1], .pipeline = "b", .query = "Late", .run = late_read).id !=
            0,
        "%s", orr_error_last(world));
    atomic_fetch_add(&hard_done, 1);
}

static void sync_remove(orr_world* world, void* data, size_t size)
{
    (void)size;
    uint32_t number = *(uint32_t*)data;
    char name[32];
    snprintf(name, sizeof name, "late_write_%u", number);
    orr_system system = orr_system_find(world, name);
    HARD_CHECK(system.id != 0 && orr_system_remove(world, system) == ORR_OK, "not removed");
    snprintf(name, sizeof name, "late_read_%u", number);
    system = orr_system_find(world, name);
    HARD_CHECK(system.id != 0 && orr_system_remove(world, system) == ORR_OK, "not removed");
    HARD_CHECK(orr_world_validate(world) == ORR_OK, "%s", orr_error_last(world));
    HARD_CHECK(orr_world_hash(world) != 0, "no hash");
    atomic_fetch_add(&hard_done, 1);
}

static void sync_bundle(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    orr_bundle bundle = orr_bundle_find(world, "grove");
    if (bundle.id == 0) {
        HARD_CHECK(orr_bundle_register(world, "grove", "Tree {tick: 0}, Fruit", &bundle) == ORR_OK,
                   "%s", orr_error_last(world));
    }
    HARD_CHECK(orr_bundle_create(world, bundle, 3, NULL) == ORR_OK, "%s", orr_error_last(world));
    orr_system system = orr_system_find(world, "look");
    HARD_CHECK(orr_system_enable(world, system, !orr_system_enabled(world, system)) == ORR_OK, "%s",
               orr_error_last(world));
    atomic_fetch_add(&hard_done, 1);
}

// A type that the post registers, with entities.
ORR_STRUCT(Guest, (uint64_t, a))
static void post_type(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    ORR_REGISTER(world, Guest);
    for (uint32_t i = 0; i < 3; i++) {
        orr_set(world, orr_create(world), Guest, {i});
    }
    atomic_fetch_add(&hard_done, 1);
}

static void sync_wrong(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    sync_step_result = orr_step(world, 1);
    sync_realtime_result = orr_realtime(world, &(orr_realtime_desc){.ticks = 1});
    sync_pipe_index =
        orr_pipeline_add(world, &(orr_pipeline_desc){.name = "more", .rate_hz = 10}).id;
    atomic_fetch_add(&hard_done, 1);
}

static void sync_post(orr_run* run)
{
    uint32_t number = (uint32_t)run->tick / 6;
    orr_world* world = run->world;
    switch (run->tick % 6) {
    case 0:
        (void)orr_post_exclusive(world, sync_add, &number, sizeof number);
        break;
    case 2:
        (void)orr_post(world, post_type, NULL, 0);
        break;
    case 3:
        (void)orr_post(world, sync_bundle, NULL, 0);
        break;
    case 5:
        if (number > 0) {
            (void)orr_post_exclusive(world, sync_remove, &number, sizeof number);
        }
        break;
    default:
        break;
    }
}

static orr_world* sync_begin(kit* k, uint32_t workers)
{
    orr_world* world = hard_begin(k, workers);
    trees_add(world, 200);
    KIT_SYSTEM(world, .name = "ask", .once = true, .run = sync_post);
    return world;
}

static void sync_look(orr_world* world, bool replays)
{
    (void)replays;
    CHECK(atomic_exchange(&hard_done, 0) > 15);
    CHECK_OK(orr_world_validate(world));
}

ORR_TEST(realtime_systems_and_types_are_added_and_removed_at_sync_points)
{
    atomic_store(&hard_done, 0);
    hard_replays_with_workers((hard_replay){.begin = sync_begin, .ticks = 40, .look = sync_look});
}

static void sync_post_wrong(orr_run* run)
{
    if (run->tick == 3) {
        (void)orr_post_exclusive(run->world, sync_wrong, NULL, 0);
    }
}

ORR_TEST(realtime_sync_point_refuses_calls_that_run_ticks)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    trees_add(world, 10);
    KIT_SYSTEM(world, .name = "ask", .once = true, .run = sync_post_wrong);
    CHECK_RESULT(orr_realtime(world, &(orr_realtime_desc){.ticks = 10}), ORR_ERR_STATE);
    CHECK_RESULT(sync_step_result, ORR_ERR_STATE);
    CHECK_RESULT(sync_realtime_result, ORR_ERR_STATE);
    CHECK_EQ(sync_pipe_index, 0);
    CHECK(k.errors.count == 3);
    k.errors = (kit_errors){0};
    hard_end(&k);
}

// ---- readers that are enabled and disabled ------------------------------------------------------

static void toggle(orr_run* run)
{
    orr_world* world = run->world;
    orr_system_enable(world, orr_system_find(world, "gather"), run->tick % 3 != 0);
    orr_system_enable(world, orr_system_find(world, "hear"), run->tick % 4 != 0);
    orr_send_event(run, Fallen, {run->tick});
}

static orr_world* toggle_begin(kit* k, uint32_t workers)
{
    orr_world* world = hard_begin(k, workers);
    trees_add(world, 100);
    ORR_REGISTER(world, Fallen);
    KIT_SYSTEM(world, .name = "toggle", .pipeline = "a", .once = true, .sends = "Fallen",
               .run = toggle);
    KIT_SYSTEM(world, .name = "gather", .pipeline = "b", .once = true, .state = ORR_TYPE(Count),
               .receives = "Fallen", .run = gather);
    return world;
}

ORR_TEST(realtime_readers_are_enabled_and_disabled)
{
    hard_replays_with_workers((hard_replay){.begin = toggle_begin, .ticks = 40});
}

// ---- removing an exporter -----------------------------------------------------------------------

static void export_count(orr_run* run)
{
    orr_export(run, Count)->count = run->tick;
}

static void import_count(orr_run* run)
{
    orr_state(run, Count)->count += orr_import(run, "lean_make", Count)->count;
}

static void export_remove(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    HARD_CHECK(orr_system_remove(world, orr_system_find(world, "lean_make")) == ORR_OK,
               "not removed");
}

static void export_post_removal(orr_run* run)
{
    if (run->tick == 4) {
        (void)orr_post_exclusive(run->world, export_remove, NULL, 0);
    }
}

ORR_TEST(realtime_removal_of_an_exporter_ends_the_run)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    trees_add(world, 20);
    KIT_SYSTEM(world, .name = "ask", .once = true, .run = export_post_removal);
    KIT_SYSTEM(world, .name = "lean_make", .pipeline = "a", .once = true,
               .exports = ORR_TYPE(Count), .run = export_count);
    orr_system on = KIT_SYSTEM(world, .name = "lean_on", .pipeline = "b", .once = true,
                               .imports = "lean_make", .state = ORR_TYPE(Count),
                               .run = import_count);
    orr_result result = orr_realtime(world, &(orr_realtime_desc){.ticks = 20});
    CHECK(result != ORR_OK);
    CHECK_CONTAINS(k.errors.text, "lean_make");
    CHECK(orr_realtime(world, &(orr_realtime_desc){.ticks = 20}) != ORR_OK);
    CHECK_OK(orr_system_remove(world, on));
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 5}));
    k.errors = (kit_errors){0};
    hard_end(&k);
}
