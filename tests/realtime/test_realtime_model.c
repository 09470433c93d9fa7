// SPDX-License-Identifier: MIT
// Pipelines at the same time under the controlled scheduler. Threads switch at every lock, turn and
// wait, and in the middle of every row that a system writes or reads. Each schedule is recorded,
// and replayed on a fresh world under another schedule: the replay must have the recorded hash. A
// schedule also fails if a reader sees half a tick, if something is lost, or if no thread can run.
#include "realtime/explore_kit.h"
#include "scenarios/clocks.h"
#include <orrery/orrery.h>

ORR_STRUCT(Apple, (uint64_t, tick), (uint64_t, twice))
ORR_STRUCT(Berry, (uint64_t, seen))
ORR_STRUCT(Core, (uint64_t, value))
ORR_STRUCT_EX(Vine, (.live = true), (uint64_t, tick), (uint64_t, twice))
ORR_STRUCT(Dropped, (uint64_t, tick))
ORR_STRUCT(Count, (uint64_t, received), (uint64_t, last))

enum {
    ROWS = 2
};

typedef struct model {
    const orr_platform* platform;
    orr_world* world;
    uint64_t posted, done;
    bool
        // The first pipeline calls orr_stop() instead of a limit; the system that grows is impure
        // and overwrites.
        stops;
} model;

static model* model_now;

static void model_point(void)
{
    ORRI_SCHED_POINT(model_now->platform, ORR_SCHED_STORE, model_now);
}

// ---- systems ------------------------------------------------------------------------------------

// Every row is inconsistent until it is written completely.
static void grow(orr_run* run)
{
    Apple* a = orr_write(run, Apple);
    Vine* v = orr_write(run, Vine);
    for (uint32_t i = 0; i < run->count; i++) {
        a[i].tick = v[i].tick = run->tick;
        model_point();
        a[i].twice = v[i].twice = 2 * run->tick;
    }
    orr_send_event(run, Dropped, {run->tick});
}

static void look(orr_run* run)
{
    const Apple* a = orr_read(run, Apple);
    const Vine* v = orr_read(run, Vine);
    Berry* b = orr_write(run, Berry);
    for (uint32_t i = 0; i < run->count; i++) {
        uint64_t tick = a[i].tick, live = v[i].tick;
        model_point();
        controlled_check(a[i].tick == tick && a[i].twice == 2 * tick, "half a tick is seen");
        controlled_check(v[i].tick == live && v[i].twice == 2 * live,
                         "a live value changed under the lock");
        controlled_check(live >= tick, "the published value is newer than the live value");
        b[i].seen = b[i].seen * 31 + tick * 7 + live;
    }
}

static void receive(orr_run* run)
{
    uint32_t count;
    const Dropped* d = orr_events(run, Dropped, &count);
    Count* c = orr_state(run, Count);
    for (uint32_t i = 0; i < count; i++) {
        model_point();
        // One message for each cluster.
        controlled_check(d[i].tick == c->last + 1 || (d[i].tick == c->last && c->last > 0),
                         "event %u after %u", (unsigned)d[i].tick, (unsigned)c->last);
        c->last = d[i].tick;
        c->received++;
    }
}

static void add_one(orr_world* world, void* data, size_t size)
{
    (void)size;
    orr_entity entity = orr_create(world);
    orr_set(world, entity, Apple, {0, 0});
    orr_set(world, entity, Berry, {*(uint64_t*)data});
    orr_set(world, entity, Vine, {0, 0});
    model_now->done++;
}

static void hash_all(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    controlled_check(orr_world_hash(world) != 0, "no hash");
    controlled_check(orr_world_validate(world) == ORR_OK, "%s", orr_error_last(world));
    model_now->done++;
}

// Creates and destroys rows; in its second tick it posts a call.
static void turn(orr_run* run)
{
    orr_entity ids[ROWS + 2];
    if (run->tick == 1) {
        orr_iter_entities(run, ids);
        orr_entity entity = orr_send_create(run);
        orr_send_add(run, entity, Apple, {0, 0});
        orr_send_add(run, entity, Berry, {0});
        orr_send_add(run, entity, Vine, {0, 0});
        orr_send_add(run, entity, Core, {0});
        orr_send_destroy(run, ids[0]);
        uint64_t value = 5;
        model_now->posted += orr_post(run->world, add_one, &value, sizeof value) == ORR_OK;
    }
    if (run->tick == 2) {
        model_now->posted += orr_post_exclusive(run->world, hash_all, NULL, 0) == ORR_OK;
        if (model_now->stops) {
            orr_stop(run->world);
        }
    }
}

// ---- a world ------------------------------------------------------------------------------------

static void model_error(void* user, orr_world* world, const orr_error* error)
{
    (void)user;
    (void)world;
    controlled_check(false, "%s", error->text);
}

static void model_row(orr_world* world, uint64_t seen)
{
    orr_entity entity = orr_create(world);
    orr_set(world, entity, Apple, {0, 0});
    orr_set(world, entity, Berry, {seen});
    orr_set(world, entity, Vine, {0, 0});
    orr_set(world, entity, Core, {0});
}

static void model_systems(orr_world* world)
{
    const orr_system_desc systems[] = {
        {.name = "turn",
         .query = "Core",
         .run = turn,
         .creates = "Apple, Berry, Vine, Core",
         .creates_max = 1,
         .destroys = "Core"},
        {.name = "grow",
         .pipeline = "a",
         .query = "write Apple, write Vine",
         .overwrites = model_now->stops ? "Apple" : NULL,
         .impure = model_now->stops,
         .sends = "Dropped",
         .run = grow},
        {.name = "look", .pipeline = "b", .query = "Apple, Vine, write Berry", .run = look},
        {.name = "hear",
         .pipeline = "b",
         .once = true,
         .receives = "Dropped",
         .state = ORR_TYPE(Count),
         .run = receive},
    };
    for (uint32_t i = 0; i < ORRI_COUNT(systems); i++) {
        controlled_check(orr_system_add(world, &systems[i]).id != 0, "refused");
    }
}

static orr_world* model_build(const orr_platform* platform)
{
    orr_world* world = orr_world_create(
        &(orr_world_desc){.platform = platform, .rate_hz = 100, .on_error = model_error});
    ORR_REGISTER(world, Apple, Berry, Core, Vine, Dropped);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "a", .rate_hz = 200});
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "b", .rate_hz = 100});
    for (uint32_t i = 0; i < ROWS; i++) {
        model_row(world, i);
    }
    model_systems(world);
    return world;
}

static void model_body(const orr_platform* platform, void* arg)
{
    model m = {.platform = platform, .stops = *(const bool*)arg};
    model_now = &m;
    orr_recording* recording = orr_recording_create();
    orr_world* world = model_build(platform);
    orr_result result =
        orr_realtime(world, &(orr_realtime_desc){.ticks = 3, .record = recording, .hashes = true});
    controlled_check(result == ORR_OK, "%s", orr_error_last(world));
    controlled_check(m.posted == m.done && m.done >= 2, "%u of %u calls were done",
                     (unsigned)m.done, (unsigned)m.posted);
    controlled_check(orr_world_validate(world) == ORR_OK, "%s", orr_error_last(world));
    uint64_t hash = orr_world_hash(world);
    orr_world_destroy(world);
    world = model_build(platform);
    result = orr_realtime(world, &(orr_realtime_desc){.replay = recording});
    controlled_check(result == ORR_OK, "replay: %s", orr_error_last(world));
    controlled_check(orr_world_hash(world) == hash, "the replay has another hash");
    orr_world_destroy(world);
    orr_recording_destroy(recording);
}

ORR_TEST(realtime_replay_of_schedules_with_one_preemption_has_the_recorded_hash)
{
    explore("one preemption", model_body, &(bool){false}, CONTROLLED_DEPTH_FIRST,
            explore_share(5000, 40, 80000));
}

ORR_TEST(realtime_replay_of_schedules_with_random_priorities_has_the_recorded_hash)
{
    explore("priorities", model_body, &(bool){false}, CONTROLLED_PRIORITIES,
            explore_share(5000, 40, 80000));
}

ORR_TEST(realtime_stop_loses_nothing_in_any_schedule)
{
    explore("stopped", model_body, &(bool){true}, CONTROLLED_RANDOM,
            explore_share(2000, 40, 40000));
}

// ---- spectators ---------------------------------------------------------------------------------

// The messages of a reader that is part of the state, in the order in which they come.
static void note(orr_run* run)
{
    Count* c = orr_state(run, Count);
    ORR_MESSAGES(m, run)
    {
        const Apple* a = m->kind != ORR_ENTITY_REMOVED ? orr_values(m, Apple) : NULL;
        c->received += m->count;
        for (uint32_t i = 0; i < m->count; i++) {
            c->last = c->last * 31 + m->entities[i].id * 8 + (uint64_t)m->kind;
            c->last = c->last * 31 + (a != NULL ? a[i].tick : 0);
        }
    }
}

static void bump(orr_run* run)
{
    Apple* a = orr_write(run, Apple);
    for (uint32_t i = 0; i < run->count; i++) {
        a[i].tick += run->tick;
        model_point();
    }
}

static void watch(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        model_now->done += m->kind == ORR_ENTITY_ADDED ? m->count : 0;
    }
}

// Replaces the first entity, so that messages show when readers were notified.
static void replace(orr_world* world, void* data, size_t size)
{
    (void)size;
    orr_destroy(world, *(orr_entity*)data);
    model_row(world, 9);
}

// `writes`: a third pipeline writes values meanwhile, which leaves fewer schedules for the rest.
static orr_world* spectated_build(const orr_platform* platform, bool spectated, bool writes)
{
    orr_world* world = orr_world_create(
        &(orr_world_desc){.platform = platform, .rate_hz = 100, .on_error = model_error});
    ORR_REGISTER(world, Apple, Berry, Core, Vine);
    if (writes) {
        orr_system_desc bumps = {
            .name = "bump", .pipeline = "a", .query = "write Apple", .run = bump};
        orr_pipeline_add(world, &(orr_pipeline_desc){.name = "a", .rate_hz = 200});
        controlled_check(orr_system_add(world, &bumps).id != 0, "refused");
    }
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "b", .rate_hz = 100});
    orr_system_desc noted = {.name = "note",
                             .pipeline = "b",
                             .kind = ORR_INDIRECT,
                             .query = "Apple",
                             .state = ORR_TYPE(Count),
                             .run = note};
    controlled_check(orr_system_add(world, &noted).id != 0, "refused");
    if (spectated) {
        orr_pipeline_desc desc = {.name = "s", .rate_hz = 100, .spectator = true};
        orr_system_desc watched = {
            .name = "watch", .pipeline = "s", .kind = ORR_INDIRECT, .query = "Apple", .run = watch};
        controlled_check(orr_pipeline_add(world, &desc).id != 0 &&
                             orr_system_add(world, &watched).id != 0,
                         "refused");
    }
    return world;
}

// A spectator's reader begins while one of the simulation does. The replay has no spectator.
static void spectated_body(const orr_platform* platform, void* arg)
{
    const bool* writes = arg;
    model m = {.platform = platform};
    model_now = &m;
    orr_recording* recording = orr_recording_create();
    uint64_t hashes[2];
    for (uint32_t i = 0; i < 2; i++) {
        orr_world* world = spectated_build(platform, i == 0, *writes);
        orr_entity first = orr_create(world);
        orr_set(world, first, Apple, {0, 0});
        model_row(world, 1);
        controlled_check(orr_call_register(world, "replace", replace, sizeof first) == ORR_OK &&
                             (i == 1 || orr_post(world, replace, &first, sizeof first) == ORR_OK),
                         "%s", orr_error_last(world));
        orr_realtime_desc record = {.ticks = 3, .record = recording, .hashes = true};
        orr_realtime_desc replay = {.replay = recording};
        controlled_check(orr_realtime(world, i == 0 ? &record : &replay) == ORR_OK, "run %u: %s",
                         (unsigned)i, orr_error_last(world));
        hashes[i] = orr_world_hash(world);
        orr_world_destroy(world);
    }
    controlled_check(hashes[0] == hashes[1], "the replay has another hash");
    orr_recording_destroy(recording);
}

ORR_TEST(realtime_spectator_does_not_decide_when_readers_of_the_simulation_are_notified)
{
    for (uint32_t i = 0; i < 2; i++) {
        bool writes = i == 1;
        explore("spectated, one preemption", spectated_body, &writes, CONTROLLED_DEPTH_FIRST,
                explore_share(3000, 40, 40000));
        explore("spectated, priorities", spectated_body, &writes, CONTROLLED_PRIORITIES,
                explore_share(3000, 40, 20000));
    }
}

// ---- commits while systems without structure loop -----------------------------------------------

static uint64_t scope_commits; // Of all schedules.

static void scope_spawn(orr_run* run)
{
    orr_entity entity = orr_send_create(run);
    orr_send_add(run, entity, Core, {run->tick});
    if (run->tick == 3) {
        orr_send_add(run, entity, Berry, {1}); // A cluster that no commit touched yet.
    }
}

static void scope_grow(orr_run* run)
{
    Apple* a = orr_write(run, Apple);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        a[i].tick = run->tick;
        model_point();
        a[i].twice = 2 * run->tick;
        controlled_check(entity.id == orr_iter_entity(run, i).id, "a row moved");
    }
}

static void scope_look(orr_run* run)
{
    const Apple* a = orr_read(run, Apple);
    for (uint32_t i = 0; i < run->count; i++) {
        uint64_t tick = a[i].tick;
        model_point();
        controlled_check(a[i].tick == tick && a[i].twice == 2 * tick, "half a tick is seen");
    }
}

static void scope_body(const orr_platform* platform, void* arg)
{
    (void)arg;
    model m = {.platform = platform};
    model_now = &m;
    orr_world* world = orr_world_create(
        &(orr_world_desc){.platform = platform, .rate_hz = 100, .on_error = model_error});
    ORR_REGISTER(world, Apple, Berry, Core);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "a", .rate_hz = 100});
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "b", .rate_hz = 100, .spectator = true});
    for (uint32_t i = 0; i < ROWS; i++) {
        orr_set(world, orr_create(world), Apple, {0, 0});
    }
    const orr_system_desc systems[] = {
        {.name = "spawn",
         .once = true,
         .creates = "Core, Berry",
         .creates_max = 1,
         .run = scope_spawn},
        {.name = "grow",
         .pipeline = "a",
         .query = "write Apple",
         .own_rows = true,
         .run = scope_grow},
        {.name = "look", .pipeline = "b", .query = "Apple", .own_rows = true, .run = scope_look},
    };
    for (uint32_t i = 0; i < ORRI_COUNT(systems); i++) {
        controlled_check(orr_system_add(world, &systems[i]).id != 0, "refused");
    }
    orr_result result = orr_realtime(world, &(orr_realtime_desc){.ticks = 4, .lock_trace = 100});
    controlled_check(result == ORR_OK, "%s", orr_error_last(world));
    controlled_check(orr_world_validate(world) == ORR_OK, "%s", orr_error_last(world));
    controlled_check(orr_entity_count(world) == ROWS + 4, "something is lost");
    static char text[100000];
    (void)orr_lock_trace_print(world, text, sizeof text);
    scope_commits += strstr(text, "commit: registry write within taken") != NULL;
    orr_world_destroy(world);
}

ORR_TEST(realtime_scoped_commits_are_whole_in_any_schedule)
{
    static const controlled_strategy strategies[] = {CONTROLLED_DEPTH_FIRST, CONTROLLED_PRIORITIES};
    controlled_thread_local(&orri_this_thread, sizeof orri_this_thread);
    controlled_thread_local(&orri_refused_last, sizeof orri_refused_last);
    controlled_thread_local(&orri_redirect_here, sizeof orri_redirect_here);
    for (uint32_t i = 0; i < ORRI_COUNT(strategies); i++) {
        scope_commits = 0;
        controlled_result result =
            controlled_explore(&(controlled_desc){.name = "commit scope",
                                                  .body = scope_body,
                                                  .strategy = strategies[i],
                                                  .preemptions_max = 1,
                                                  .timeouts_max = 3,
                                                  .cores = 1,
                                                  .clock_step_ns = 1000,
                                                  .schedules_max = explore_share(3000, 40, 80000)});
        CONTROLLED_PASS(result);
        printf("  %-28s %8" PRIu64 " schedules, %8" PRIu64 " distinct\n", "commits during systems",
               result.schedules, result.distinct);
        CHECK(scope_commits > result.schedules / 2);
    }
}

// ---- the scenario -------------------------------------------------------------------------------

static const orr_platform* clocks_platform;

// Other threads run while a value that they read in place is half written.
static void clocks_yield(void)
{
    clocks_platform->thread_yield(clocks_platform->user);
}

// The systems of the scenario find torn reads, half ticks and lost events themselves.
static orr_world* clocks_begin(const orr_platform* platform, clocks* c, double draw_hz)
{
    orr_world* world = orr_world_create(&(orr_world_desc){
        .platform = platform, .rate_hz = CLOCKS_LOGIC_HZ, .on_error = model_error});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    *c = (clocks){0};
    clocks_platform = platform;
    clocks_desc desc = {.size = 4, .draw_hz = draw_hz, .half = clocks_yield};
    controlled_check(clocks_build(c, world, &desc), "refused");
    return world;
}

static void clocks_end(orr_world* world, const clocks* c)
{
    for (uint32_t i = 0; i < CLOCKS_FAULTS; i++) {
        controlled_check(c->found[i] == 0, "%s", clocks_fault_name((clocks_fault)i));
    }
    orr_world_destroy(world);
}

static uint64_t clocks_looked, clocks_drawn; // Of all schedules.

static void clocks_body(const orr_platform* platform, void* arg)
{
    static clocks c;
    (void)arg;
    orr_recording* recording = orr_recording_create();
    orr_world* world = clocks_begin(platform, &c, 50);
    orr_result result =
        orr_realtime(world, &(orr_realtime_desc){.ticks = 3, .record = recording, .hashes = true});
    controlled_check(result == ORR_OK, "%s", orr_error_last(world));
    uint64_t hash = orr_world_hash(world);
    clocks_looked += c.looked;
    clocks_drawn += c.drawn;
    clocks_end(world, &c);
    world = clocks_begin(platform, &c, 80); // Spectators are no part of the recording.
    result = orr_realtime(world, &(orr_realtime_desc){.replay = recording});
    controlled_check(result == ORR_OK, "replay: %s", orr_error_last(world));
    controlled_check(orr_world_hash(world) == hash, "the replay has another hash");
    clocks_end(world, &c);
    orr_recording_destroy(recording);
}

ORR_TEST(realtime_clocks_scenario_finds_no_fault_in_any_schedule)
{
    uint64_t schedules = explore_share(1000, 20, 20000);
    controlled_thread_local(&orri_this_thread, sizeof orri_this_thread);
    controlled_thread_local(&orri_refused_last, sizeof orri_refused_last);
    for (uint32_t i = 0; i < 2; i++) {
        controlled_result result = controlled_explore(
            &(controlled_desc){.name = i == 0 ? "clocks, priorities" : "clocks, random",
                               .body = clocks_body,
                               .strategy = i == 0 ? CONTROLLED_PRIORITIES : CONTROLLED_RANDOM,
                               .timeouts_max = 3,
                               .steps_max = 200000,
                               .cores = 1,
                               .clock_step_ns = 1000,
                               .schedules_max = schedules});
        CONTROLLED_PASS(result);
        printf("  %-28s %8" PRIu64 " schedules, %8" PRIu64 " distinct\n",
               i == 0 ? "clocks, priorities" : "clocks, random", result.schedules, result.distinct);
        CHECK(clocks_looked > result.schedules && clocks_drawn > result.schedules);
    }
}
