// SPDX-License-Identifier: MIT
// Recordings of real time. Spectators are no part of them. A recording ends where a tick is
// refused, begins after a tick that was open, and replays keep their limits.
#include "realtime/hard_kit.h"
#include "realtime/rig_kit.h"

#include "realtime/realtime.h"

ORR_STRUCT_EX(Vine, (.live = true), (uint64_t, a), (uint64_t, twice))
// Read only by spectators.
ORR_STRUCT_EX(Moss, (.live = true), (uint64_t, age))
ORR_STRUCT(Lichen, (uint64_t, age))
ORR_STRUCT_EX(Spark, (.transient = true), (uint64_t, number))

// ---- a world with or without spectators ---------------------------------------------------------

static _Atomic uint32_t drawn, sync_points;
static bool in_steps; // In lockstep nothing can be posted.

static void vine_grow(orr_run* run)
{
    Vine* v = orr_write(run, Vine);
    for (uint32_t i = 0; i < run->count; i++) {
        v[i].a = run->tick;
        v[i].twice = 2 * run->tick;
    }
}

// Indirect: takes an inclusive lock on a type that others read, and upgrades it to write.
static void vine_receive(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        if (m->kind == ORR_ENTITY_ADDED) {
            orr_send_change(run, m->entities[0], Vine, {m->count, 2 * (uint64_t)m->count});
        }
    }
}

static void vine_count(orr_run* run)
{
    Fruit* f = orr_write(run, Fruit);
    const Vine* v = orr_read(run, Vine);
    for (uint32_t i = 0; i < run->count; i++) {
        f[i].seen = f[i].seen * 31 + v[i].a;
    }
}

static void moss_receive(orr_run* run)
{
    orr_state(run, Count)->count++;
    ORR_MESSAGES(m, run)
    {
        uint64_t age = orr_state(run, Count)->count;
        for (uint32_t i = 0; i < m->count && m->kind != ORR_ENTITY_REMOVED; i++) {
            orr_send_change(run, m->entities[i], Moss, {age});
            orr_transact(run, ORR_OP_ADD, m->entities[i], Moss, age, 1);
        }
    }
}

static void lichen_grow(orr_run* run)
{
    Lichen* l = orr_write(run, Lichen);
    for (uint32_t i = 0; i < run->count; i++) {
        l[i].age++;
    }
}

static orr_entity mossy[9];

// In another pipeline: sends transactions that the owner applies.
static void moss_touch(orr_run* run)
{
    for (uint32_t i = 0; i < 9; i++) {
        orr_transact(run, ORR_OP_ADD, mossy[i], Moss, age, run->tick);
    }
}

static void at_sync_point(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    HARD_CHECK(orr_world_validate(world) == ORR_OK, "at a sync point: %s", orr_error_last(world));
    HARD_CHECK(orr_world_hash(world) != 0, "no hash");
    sync_points++;
}

static void drop_in(orr_world* world, void* data, size_t size)
{
    (void)world, (void)size;
    (void)data;
}

static void add_tree(orr_world* world, void* data, size_t size)
{
    (void)size;
    orr_entity entity = orr_create(world);
    orr_set(world, entity, Tree, {0, 0});
    orr_set(world, entity, Fruit, {*(uint64_t*)data});
}

static void posts(orr_run* run)
{
    uint64_t tick = run->tick;
    if (in_steps) {
        return;
    }
    if (tick % 5 == 2) {
        (void)orr_post_exclusive(run->world, at_sync_point, NULL, 0);
    }
    if (tick % 3 == 1) {
        (void)orr_post(run->world, add_tree, &tick, sizeof tick);
    }
    if (tick % 7 == 3) {
        orr_system_enable(run->world, orr_system_find(run->world, "hear"), tick & 1);
    }
}

static void simulation(orr_world* world)
{
    trees_add(world, 60);
    orr_cluster cluster = KIT_CLUSTER(world, Vine, Fruit);
    CHECK_OK(orr_create_many(world, cluster, 20, NULL, 0, NULL));
    hard_pipe(world, "c", 250, false);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Moss, Lichen), 9, NULL, 0, mossy));
    KIT_SYSTEM(world, .name = "moss", .kind = ORR_INDIRECT, .pipeline = "c", .query = "write Moss",
               .transacts = "Moss", .state = ORR_TYPE(Count), .run = moss_receive);
    KIT_SYSTEM(world, .name = "lichen", .pipeline = "c", .query = "write Lichen",
               .run = lichen_grow);
    KIT_SYSTEM(world, .name = "moss_touch", .once = true, .by_id = "Tree", .transacts = "Moss",
               .run = moss_touch);
    KIT_SYSTEM(world, .name = "posts", .once = true, .by_id = "Tree", .run = posts);
    KIT_SYSTEM(world, .name = "vines", .pipeline = "a", .query = "write Vine", .run = vine_grow);
    KIT_SYSTEM(world, .name = "vine_hear", .kind = ORR_INDIRECT, .pipeline = "a",
               .query = "write Vine", .run = vine_receive);
    KIT_SYSTEM(world, .name = "vine_count", .pipeline = "b", .query = "Vine, write Fruit",
               .run = vine_count);
}

static void draw(orr_run* run)
{
    const Tree* t = orr_read(run, Tree);
    for (uint32_t i = 0; i < run->count; i++) {
        HARD_CHECK(t[i].twice == 2 * t[i].tick, "a spectator sees half a tick");
    }
    drawn++;
}

static void draw_moss(orr_run* run)
{
    const Moss* m = orr_read(run, Moss);
    const Lichen* l = orr_read(run, Lichen);
    drawn += m[0].age + l[0].age > 0;
}

static void draw_vines(orr_run* run)
{
    const Vine* v = orr_read(run, Vine);
    for (uint32_t i = 0; i < run->count; i++) {
        HARD_CHECK(v[i].twice == 2 * v[i].a, "a spectator sees half a vine");
    }
}

static void sparks(orr_run* run)
{
    orr_entity spark = orr_send_create(run);
    orr_send_add(run, spark, Spark, {run->tick});
    if (!in_steps) {
        orr_post(run->world, drop_in, NULL, 0); // In a replay the recording has its own posts.
        hard_sleep(50000);
    }
}

static void sparks_die(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_send_destroy(run, orr_iter_entity(run, i));
    }
}

static void listens(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        drawn += m->count > 0;
    }
}

enum {
    NONE,
    EYES,  // After the pipelines of the simulation.
    OTHER, // Between them, with other rates.
};

static orr_world* watched_begin(kit* k, int spectators)
{
    orr_world* world = hard_begin(k, 0);
    ORR_REGISTER(world, Tree, Fruit, Vine, Moss, Lichen);
    if (spectators == OTHER) {
        hard_pipe(world, "other", 150, true);
        hard_pipe(world, "more", 0, true);
        KIT_SYSTEM(world, .name = "listens", .kind = ORR_INDIRECT, .pipeline = "other",
                   .query = "Tree", .run = listens);
        KIT_SYSTEM(world, .name = "draw_vines", .pipeline = "more", .query = "Vine",
                   .run = draw_vines);
    }
    simulation(world);
    if (spectators == EYES) {
        ORR_REGISTER(world, Spark);
        hard_pipe(world, "eyes", 0, true);
        hard_pipe(world, "slow", 70, true);
        KIT_SYSTEM(world, .name = "draw", .pipeline = "eyes", .query = "Tree", .run = draw);
        KIT_SYSTEM(world, .name = "draw_vines", .pipeline = "eyes", .query = "Vine",
                   .run = draw_vines);
        KIT_SYSTEM(world, .name = "draw_moss", .pipeline = "eyes", .query = "Moss, Lichen",
                   .run = draw_moss);
        KIT_SYSTEM(world, .name = "sparks", .pipeline = "eyes", .once = true, .by_id = "Spark",
                   .creates = "Spark", .run = sparks);
        KIT_SYSTEM(world, .name = "sparks_die", .pipeline = "slow", .query = "Spark",
                   .destroys = "Spark", .run = sparks_die);
    }
    return world;
}

static void steps(orr_world* world, uint32_t count)
{
    in_steps = true;
    KIT_STEP(world, count);
    in_steps = false;
}

static uint64_t record(int spectators, orr_recording* recording, uint64_t ticks)
{
    kit k;
    orr_world* world = watched_begin(&k, spectators);
    CHECK_OK(orr_realtime(
        world, &(orr_realtime_desc){.ticks = ticks, .record = recording, .hashes = true}));
    uint64_t hash = orr_world_hash(world), sum = 0;
    const char* const names[] = {"main", "a", "b", "c"};
    for (uint32_t i = 0; i < 4; i++) {
        orr_wait_stats stats;
        CHECK_OK(orr_wait_stats_get(world, orr_pipeline_find(world, names[i]), &stats));
        sum += stats.ticks;
    }
    orr_recording_stats stats;
    orr_recording_stats_get(recording, &stats);
    CHECK_EQ(stats.ticks, sum); // Ticks of other pipelines are not counted.
    CHECK(!stats.full && !stats.refused);
    hard_end(&k);
    return hash;
}

static orr_world* replayed(kit* k, int spectators, const orr_realtime_desc* desc)
{
    orr_world* world = watched_begin(k, spectators);
    if (orr_realtime(world, desc) != ORR_OK) {
        test_fail(__FILE__, __LINE__, "spectators %d: %s", spectators, k->errors.text);
    }
    CHECK_OK(orr_world_validate(world));
    return world;
}

ORR_TEST(recording_replays_with_other_spectators_and_without)
{
    uint64_t all_drawn = 0;
    for (int from = NONE; from <= OTHER; from++) {
        orr_recording* recording = orr_recording_create();
        uint64_t hash = record(from, recording, 25);
        for (int to = NONE; to <= OTHER; to++) {
            kit k;
            drawn = 0;
            orr_world* world = replayed(&k, to, &(orr_realtime_desc){.replay = recording});
            CHECK(orr_world_hash(world) == hash);
            CHECK(drawn == 0 || to != NONE);
            all_drawn += drawn;
            // The world continues after the replay, with its spectators.
            CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 3}));
            steps(world, 3);
            hard_end(&k);
        }
        orr_recording_destroy(recording);
    }
    CHECK(all_drawn > 0); // Spectators ran meanwhile.
}

// A spectator that waits for a new plan waits until the recording has a sync point.
static void flickers(orr_run* run)
{
    orr_system_enable(run->world, orr_system_find(run->world, "draw"), run->tick % 2 == 0);
}

ORR_TEST(recording_replays_with_a_spectator_that_enables_systems)
{
    kit k;
    orr_recording* recording = orr_recording_create();
    uint64_t hash = record(NONE, recording, 15);
    orr_world* world = watched_begin(&k, EYES);
    KIT_SYSTEM(world, .name = "flickers", .pipeline = "eyes", .once = true, .by_id = "Tree",
               .run = flickers);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.replay = recording}));
    CHECK(orr_world_hash(world) == hash);
    hard_end(&k);
    orr_recording_destroy(recording);
}

// Recordings number pipelines without spectators; texts name the pipelines of the world.
ORR_TEST(recording_pipeline_numbers_do_not_appear_in_the_lock_trace)
{
    kit k;
    static char text[200000];
    orr_world* world = watched_begin(&k, OTHER);
    bool all = false;
    for (uint32_t i = 0; !all && i < 100; i++) { // On a busy machine a thread may begin late.
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 5, .lock_trace = 1000}));
        size_t size = orr_lock_trace_print(world, text, sizeof text);
        CHECK(size > 0 && size < sizeof text);
        all = strstr(text, " a, grow:") != NULL && strstr(text, " b, look:") != NULL;
    }
    CHECK(all);
    CHECK(strstr(text, " main, churn:") != NULL);
    CHECK(strstr(text, " b, grow:") == NULL && strstr(text, "other, grow:") == NULL);
    hard_end(&k);
}

// ---- limits -------------------------------------------------------------------------------------

static uint64_t ticks_of(orr_world* world, const char* name)
{
    orr_pipeline_stats stats;
    CHECK_OK(orr_pipeline_stats_get(world, orr_pipeline_find(world, name), &stats));
    return stats.tick;
}

ORR_TEST(recording_replay_ends_at_the_given_tick)
{
    kit k;
    orr_recording* recording = orr_recording_create();
    uint64_t hash = record(EYES, recording, 20), before = 0;
    for (uint64_t ticks = 1; ticks <= 21; ticks += ticks < 19 ? 6 : 1) {
        orr_world* world =
            replayed(&k, NONE, &(orr_realtime_desc){.replay = recording, .ticks = ticks});
        CHECK_EQ(ticks_of(world, "main"), ticks < 20 ? ticks : 20);
        CHECK(ticks_of(world, "a") >= before);
        before = ticks_of(world, "a");
        // All of it, if the limit is the recorded number of ticks or more.
        CHECK((orr_world_hash(world) == hash) == (ticks >= 20));
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 2}));
        steps(world, 2);
        hard_end(&k);
    }
    orr_world* world = replayed(&k, NONE, &(orr_realtime_desc){.replay = recording, .for_ns = 1});
    CHECK(ticks_of(world, "main") <= 20);
    steps(world, 2);
    hard_end(&k);
    orr_recording_destroy(recording);
}

// Dropped ticks and the state of clocks, with a clock of the test.
static void late_once(orr_run* run, rig_line* line)
{
    (void)line;
    rig_sleep(run->tick % 4 == 2 ? 73 * MS : 0);
}

static orr_recording* late_recording;
static orr_wait_stats late_stats[2];
static uint64_t late_due[2], late_hash[2];

static void late_run(const orr_platform* platform, bool replay)
{
    rig_open(platform, 100);
    rig_line* first = rig_add(NULL, 2 * MS, NULL);
    rig_line* late = rig_add(&(orr_pipeline_desc){.name = "late", .rate_hz = 50}, MS, late_once);
    orr_realtime_desc desc = {.ticks = 60,
                              .record = replay ? NULL : late_recording,
                              .replay = replay ? late_recording : NULL};
    EXPECT_OK(orr_realtime(r.world, &desc));
    EXPECT_EQ(first->count, 60);
    late_stats[replay] = rig_stats(late);
    orr_pipeline_stats stats;
    EXPECT_OK(orr_pipeline_stats_get(r.world, late->pipeline, &stats));
    late_due[replay] = stats.due_ns;
    late_hash[replay] = orr_world_hash(r.world);
    rig_close();
}

RIG_TEST(recording_replay_leaves_out_as_many_ticks, 0)
{
    late_recording = orr_recording_create();
    late_run(platform, false);
    EXPECT(late_stats[0].dropped > 0);
    late_run(platform, true);
    EXPECT_EQ(late_stats[1].dropped, late_stats[0].dropped);
    EXPECT_EQ(late_stats[1].ticks, late_stats[0].ticks);
    EXPECT_EQ(late_due[1], late_due[0]);
    EXPECT_EQ(late_hash[1], late_hash[0]);
    orr_recording_destroy(late_recording);
}

// ---- refusals -----------------------------------------------------------------------------------

// Memory is refused once, at every moment of a run: the recording up to there is right.
ORR_TEST(recording_of_a_run_with_refused_memory_replays)
{
    uint32_t refusals = 0, ends = 0;
    uint64_t step = test_long() ? 1 : 7;
    bool reached = true;
    for (uint64_t n = 1; reached && n < 3000; n += step) {
        kit k;
        orr_recording* recording = orr_recording_create();
        orr_world* world = watched_begin(&k, n % 2 == 0 ? EYES : NONE);
        failing_alloc_arm(&k.memory, n, false);
        orr_result result = orr_realtime(
            world, &(orr_realtime_desc){.ticks = 6, .record = recording, .hashes = true});
        reached = k.memory.refused > 0;
        failing_alloc_arm(&k.memory, 0, false);
        CHECK(result == ORR_OK || result == ORR_ERR_MEMORY);
        orr_recording_stats stats;
        orr_recording_stats_get(recording, &stats);
        bool whole = result == ORR_OK && !stats.refused && !stats.full;
        uint64_t hash = whole ? orr_world_hash(world) : 0;
        kit_errors said = k.errors;
        k.errors = (kit_errors){0};
        hard_end(&k);
        refusals += reached;
        ends += stats.refused;
        world = watched_begin(&k, NONE);
        orr_result again = stats.ticks > 0
                               ? orr_realtime(world, &(orr_realtime_desc){.replay = recording})
                               : ORR_OK;
        if (again != ORR_OK) {
            test_fail(__FILE__, __LINE__, "refused at %u: %s (%s): %s", (unsigned)n,
                      orr_result_name(result), said.text, k.errors.text);
        }
        CHECK(!whole || orr_world_hash(world) == hash);
        steps(world, 2); // The world is between ticks.
        hard_end(&k);
        orr_recording_destroy(recording);
    }
    CHECK(refusals > 10 && ends > 3);
}

// Memory of the recording itself is refused.
ORR_TEST(recording_without_memory_replays_up_to_its_end)
{
    uint32_t full = 0;
    for (uint64_t bytes = 8000; bytes < 60000; bytes = bytes * 5 / 4) {
        kit k;
        orr_recording* recording = orr_recording_create();
        recording->env.bytes_max = bytes;
        orr_world* world = watched_begin(&k, EYES);
        CHECK_OK(orr_realtime(
            world, &(orr_realtime_desc){.ticks = 30, .record = recording, .hashes = true}));
        k.errors = (kit_errors){0};
        hard_end(&k);
        orr_recording_stats stats;
        orr_recording_stats_get(recording, &stats);
        full += stats.full;
        CHECK(!stats.refused && stats.bytes <= bytes);
        world = replayed(&k, OTHER, &(orr_realtime_desc){.replay = recording});
        steps(world, 2);
        hard_end(&k);
        orr_recording_destroy(recording);
    }
    CHECK(full > 1);
}

// A refused tick, and a recording that begins then.
static kit* open_kit;
static bool open_armed;

static void open_make(orr_run* run)
{
    for (uint32_t i = 0; i < 64; i++) {
        orr_entity entity = orr_send_create(run);
        orr_send_add(run, entity, Tree, {run->tick, i});
    }
    if (run->tick == 3 && open_armed) {
        failing_alloc_arm(&open_kit->memory, 1, true);
    }
}

static orr_world* open_begin(kit* k, bool armed)
{
    open_kit = k;
    open_armed = armed;
    orr_world* world = hard_begin(k, 0);
    ORR_REGISTER(world, Tree);
    KIT_SYSTEM(world, .name = "make", .once = true, .creates = "Tree", .creates_max = 64,
               .run = open_make);
    return world;
}

ORR_TEST(recording_begins_after_an_open_tick)
{
    kit k;
    orr_recording* first = orr_recording_create();
    orr_recording* second = orr_recording_create();
    orr_world* world = open_begin(&k, true);
    CHECK_RESULT(orr_realtime(world, &(orr_realtime_desc){.record = first, .hashes = true}),
                 ORR_ERR_MEMORY);
    CHECK(orr_tick_open(world));
    // The tick cannot continue yet: nothing is recorded.
    CHECK_RESULT(orr_realtime(world, &(orr_realtime_desc){.ticks = 1, .record = second}),
                 ORR_ERR_MEMORY);
    failing_alloc_arm(&k.memory, 0, false);
    CHECK_OK(
        orr_realtime(world, &(orr_realtime_desc){.ticks = 4, .record = second, .hashes = true}));
    CHECK_EQ(ticks_of(world, "main"), 7);
    uint64_t hash = orr_world_hash(world);
    k.errors = (kit_errors){0};
    hard_end(&k);
    orr_recording_stats stats;
    orr_recording_stats_get(first, &stats);
    CHECK(stats.refused && stats.ticks == 3);
    world = open_begin(&k, false);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.replay = first}));
    CHECK_EQ(ticks_of(world, "main"), 3);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.replay = second}));
    CHECK(orr_world_hash(world) == hash);
    hard_end(&k);
    orr_recording_destroy(first);
    orr_recording_destroy(second);
}
