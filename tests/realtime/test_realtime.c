// SPDX-License-Identifier: MIT
// Pipelines that run at the same time: what each pipeline sees of the others, which pipeline waits
// for which, calls from outside, the caller's thread.
#include "scenarios/clocks.h"
#include "schedule/system_kit.h"
#include <pthread.h>

#define RATE 1000.0 // Fast, to keep tests short; no test depends on it.

// Progress of the systems, and what the test waits for.
typedef struct progress {
    _Atomic uint64_t physics, draws, waits, wrong, newest;
    _Atomic bool inside; // The slow system is running.
    const orr_platform* platform;
    orr_entity first;
} progress;

static void nap(const progress* m)
{
    m->platform->sleep_ns(m->platform->user, 100000);
}

// Returns true when the counter reaches the value, false after ten seconds. No machine needs that
// long.
static bool wait_for(const progress* m, const _Atomic uint64_t* word, uint64_t value)
{
    for (uint32_t i = 0; i < 100000 && *word < value; i++) {
        nap(m);
    }
    return *word >= value;
}

static orr_world* begin_progress(kit* k, progress* m, const orr_world_desc* desc)
{
    orr_world* world = kit_begin(k, desc != NULL ? desc : &(orr_world_desc){.rate_hz = RATE});
    *m = (progress){.platform = orr_platform_default()};
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    ORR_REGISTER(world, Position, Velocity, Health, Hit);
    for (uint32_t i = 0; i < 3000; i++) { // Two chunks.
        orr_entity entity = make(world, 0);
        CHECK_OK(orr_set(world, entity, Velocity, {0, 0}));
        CHECK_OK(orr_set(world, entity, Health, {0, 0}));
        m->first = i == 0 ? entity : m->first;
    }
    return world;
}

static void add_pipeline(orr_world* world, const char* name, double rate_hz)
{
    CHECK(orr_pipeline_add(world, &(orr_pipeline_desc){.name = name, .rate_hz = rate_hz}).id != 0);
}

// Adds pipelines A with a rate and B with `rate_b` (0: no rate).
static orr_world* begin_two(kit* k, progress* m, double rate_b)
{
    orr_world* world = begin_progress(k, m, NULL);
    add_pipeline(world, "A", RATE);
    add_pipeline(world, "B", rate_b);
    return world;
}

static progress* progress_of(const orr_run* run)
{
    return (progress*)(uintptr_t)orr_run_settings(run);
}

// Runs the world in real time on another thread, as in a program that does other work meanwhile.
typedef struct realtime_go {
    orr_world* world;
    orr_realtime_desc desc;
    orr_result result;
    pthread_t thread;
} realtime_go;

static void* realtime_go_run(void* data)
{
    realtime_go* go = data;
    go->result = orr_realtime(go->world, &go->desc);
    return NULL;
}

static void count_posted(orr_world* world, void* data, size_t size)
{
    (void)world, (void)size;
    ++**(_Atomic uint64_t**)data;
}

// Returns when the world runs.
static void realtime_start(realtime_go* go, kit* k, const orr_realtime_desc* desc)
{
    _Atomic uint64_t posted = 0;
    _Atomic uint64_t* word = &posted;
    const orr_platform* platform = orr_platform_default();
    *go = (realtime_go){.world = k->world, .desc = desc != NULL ? *desc : (orr_realtime_desc){0}};
    CHECK(pthread_create(&go->thread, NULL, realtime_go_run, go) == 0);
    while (orr_post(k->world, count_posted, &word, sizeof word) != ORR_OK) {
        platform->sleep_ns(platform->user, 100000);
    }
    while (posted == 0) {
        platform->sleep_ns(platform->user, 100000);
    }
    k->errors = (kit_errors){0};
}

static orr_result realtime_end(realtime_go* go)
{
    CHECK(pthread_join(go->thread, NULL) == 0);
    return go->result;
}

// ---- N0-47: the case of the founding note -------------------------------------------------------

ORR_STRUCT(RigidBody, (float, x), (float, twice))

static void physics(orr_run* run)
{
    progress* m = progress_of(run);
    RigidBody* body = orr_write(run, RigidBody);
    m->inside = true;
    for (uint32_t i = 0; i < run->count; i++) {
        body[i].x = (float)run->tick;
    }
    // Physics blocks until the renderer has drawn 20 frames. A renderer that waited for physics
    // would never finish.
    uint64_t drawn = m->draws;
    m->waits += drawn > 0 && run->tick < 6 && !wait_for(m, &m->draws, drawn + 20);
    for (uint32_t i = 0; i < run->count; i++) {
        body[i].twice = 2 * body[i].x;
    }
    m->inside = false;
    m->physics = run->tick;
}

static void jiggle(orr_run* run)
{
    RigidBody* body = orr_write(run, RigidBody);
    for (uint32_t i = 0; i < run->count; i++) {
        body[i].x += 0.25f;
        body[i].twice += 0.5f;
    }
}

static void render(orr_run* run)
{
    progress* m = progress_of(run);
    const RigidBody* body = orr_read(run, RigidBody);
    for (uint32_t i = 0; i < run->count; i++) {
        m->wrong += body[i].twice != 2 * body[i].x || body[i].x != body[0].x;
    }
    m->draws++;
    m->newest = body[0].x > m->newest ? (uint64_t)body[0].x : m->newest;
    if (m->physics >= 6) {
        orr_stop(run->world);
    }
}

/* N0-47 */
ORR_TEST(realtime_renderer_never_waits_for_physics)
{
    kit k;
    progress m;
    orr_world* world = begin_progress(&k, &m, NULL);
    ORR_REGISTER(world, RigidBody);
    for (uint32_t i = 0; i < 3000; i++) {
        CHECK_OK(orr_set(world, orr_create(world), RigidBody, {0, 0}));
    }
    add_pipeline(world, "A", RATE);
    add_pipeline(world, "B", 0);
    KIT_SYSTEM(world, .name = "physics", .pipeline = "A", .query = "write RigidBody",
               .run = physics, .once = false, .settings = &m);
    // Jiggle bones of B are to write what physics of A writes: refused, and the error names both.
    CHECK(orr_system_add(world, &(orr_system_desc){.name = "jiggle",
                                                   .pipeline = "B",
                                                   .query = "write RigidBody",
                                                   .run = jiggle})
              .id == 0);
    CHECK(strstr(k.errors.text, "physics") != NULL && strstr(k.errors.text, "jiggle") != NULL);
    k.errors = (kit_errors){0};
    // In A they are accepted. B's renderer sees whole ticks of both systems and never waits.
    KIT_SYSTEM(world, .name = "jiggle", .pipeline = "A", .query = "write RigidBody", .run = jiggle);
    KIT_SYSTEM(world, .name = "render", .pipeline = "B", .query = "RigidBody", .run = render,
               .settings = &m);
    CHECK_OK(orr_realtime(world, NULL));
    CHECK(m.physics >= 6);
    CHECK(m.newest >= 3); // The renderer sees recent ticks, not only the first.
    CHECK_EQ(m.waits, 0);
    CHECK_EQ(m.wrong, 0);
    CHECK_STR(k.errors.text, "");
    kit_end(&k);
}

// ---- live types, and pipelines that share nothing -----------------------------------------------

ORR_STRUCT_EX(Cable, (.live = true), (float, x), (float, twice))

static void pull(orr_run* run)
{
    progress* m = progress_of(run);
    Cable* rope = orr_write(run, Cable);
    m->inside = true;
    rope[0].x += 1;
    nap(m);
    rope[0].twice = 2 * rope[0].x;
    m->inside = false;
    m->physics++;
}

static void feel(orr_run* run)
{
    progress* m = progress_of(run);
    const Cable* rope = orr_read(run, Cable);
    float x = rope[0].x;
    m->wrong += m->inside || rope[0].twice != 2 * x;
    nap(m);
    m->wrong += m->inside || rope[0].x != x;
    if (++m->draws > 20 && m->physics > 20) {
        orr_stop(run->world);
    }
}

/* N0-01, N0-02, N0-46 */
ORR_TEST(realtime_live_types_are_read_as_they_are_under_a_lock)
{
    kit k;
    progress m;
    orr_world* world = begin_progress(&k, &m, NULL);
    ORR_REGISTER(world, Cable);
    CHECK_OK(orr_set(world, orr_create(world), Cable, {0, 0}));
    add_pipeline(world, "A", RATE);
    add_pipeline(world, "B", RATE);
    KIT_SYSTEM(world, .name = "pull", .pipeline = "A", .query = "write Cable", .run = pull,
               .settings = &m);
    KIT_SYSTEM(world, .name = "feel", .pipeline = "B", .query = "Cable", .run = feel,
               .settings = &m);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.for_ns = UINT64_C(20000000000)}));
    CHECK(m.physics > 20 && m.draws > 20);
    CHECK_EQ(m.wrong, 0);
    kit_end(&k);
}

#define TOGETHER 200u

// Continues when the other system has reached the same count. Both only finish if they run at the
// same time.
static void follow_draws(orr_run* run)
{
    progress* m = progress_of(run);
    Velocity* v = orr_write(run, Velocity);
    v[0].x += 1;
    m->waits += m->draws > 0 && m->draws < TOGETHER && !wait_for(m, &m->draws, m->physics + 1);
    m->physics++;
}

static void follow_physics(orr_run* run)
{
    progress* m = progress_of(run);
    Health* h = orr_write(run, Health);
    h[0].value += 1;
    uint64_t drawn = ++m->draws;
    m->waits += m->physics > 0 && drawn < TOGETHER && !wait_for(m, &m->physics, drawn - 1);
    if (drawn >= TOGETHER) {
        orr_stop(run->world);
    }
}

/* N0-14, N0-18 */
ORR_TEST(realtime_pipelines_that_share_nothing_never_wait_for_each_other)
{
    kit k;
    progress m;
    orr_world* world = begin_two(&k, &m, 0);
    KIT_SYSTEM(world, .name = "a", .pipeline = "A", .query = "write Velocity", .run = follow_draws,
               .settings = &m);
    KIT_SYSTEM(world, .name = "b", .pipeline = "B", .query = "write Health", .run = follow_physics,
               .settings = &m);
    CHECK_OK(orr_realtime(world, NULL));
    CHECK_EQ(m.waits, 0);
    kit_end(&k);
}

// ---- calls from outside -------------------------------------------------------------------------

enum {
    POSTERS = 4,
    POSTS = 50
};

typedef struct poster {
    orr_world* world;
    uint32_t number;
    uint32_t refused;
    progress* m;
} poster;

typedef struct posted {
    uint32_t number, count;
    progress* m;
} posted;

static uint32_t posts_seen[POSTERS];

// A posted call may use all calls of the store. The calls of each poster run in order.
static void on_post(orr_world* world, void* data, size_t size)
{
    (void)size;
    const posted* p = data;
    p->m->wrong += posts_seen[p->number] != p->count;
    posts_seen[p->number] = p->count + 1;
    orr_entity entity = orr_create(world);
    orr_set(world, entity, Position, {1, 2, 3});
    orr_set(world, entity, Velocity, {1, 2});
    if (p->count % 2 == 1) {
        p->m->wrong += orr_destroy(world, entity) != ORR_OK;
    }
    p->m->waits += p->m->inside; // No system runs.
}

static void* poster_run(void* data)
{
    poster* p = data;
    for (uint32_t i = 0; i < POSTS; i++) {
        posted call = {p->number, i, p->m};
        p->refused += orr_post(p->world, on_post, &call, sizeof call) != ORR_OK;
        nap(p->m);
    }
    return NULL;
}

static void busy(orr_run* run)
{
    progress* m = progress_of(run);
    Position* p = orr_write(run, Position);
    m->inside = true;
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += 1;
    }
    m->inside = false;
    m->physics++;
}

static orr_world* begin_busy(kit* k, progress* m)
{
    orr_world* world = begin_progress(k, m, NULL);
    add_pipeline(world, "A", RATE);
    KIT_SYSTEM(world, .name = "busy", .pipeline = "A", .query = "write Position", .run = busy,
               .settings = m);
    return world;
}

ORR_TEST(realtime_calls_of_many_threads_are_done_in_order_and_none_is_lost)
{
    kit k;
    progress m;
    orr_world* world = begin_progress(&k, &m, NULL);
    memset(posts_seen, 0, sizeof posts_seen);
    add_pipeline(world, "A", RATE);
    KIT_SYSTEM(world, .name = "busy", .pipeline = "A", .query = "write Position", .run = busy,
               .settings = &m);
    poster posters[POSTERS];
    pthread_t threads[POSTERS + 1];
    orr_world_stats before, after;
    orr_world_stats_get(world, &before);
    realtime_go go;
    realtime_start(&go, &k, &(orr_realtime_desc){.for_ns = 0});
    for (uint32_t i = 0; i < POSTERS; i++) {
        posters[i] = (poster){world, i, 0, &m};
        CHECK(pthread_create(&threads[i], NULL, poster_run, &posters[i]) == 0);
    }
    for (uint32_t i = 0; i < POSTERS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK_EQ(posters[i].refused, 0);
    }
    orr_stop(world);
    CHECK_OK(realtime_end(&go));
    for (uint32_t i = 0; i < POSTERS; i++) {
        // Calls that were waiting ran before orr_realtime() returned.
        CHECK_EQ(posts_seen[i], POSTS);
    }
    CHECK_EQ(m.wrong, 0);
    CHECK_EQ(m.waits, 0);
    orr_world_stats_get(world, &after);
    CHECK_EQ(after.entities, before.entities + POSTERS * POSTS / 2);
    kit_end(&k);
}

// ---- sync points --------------------------------------------------------------------------------

static _Atomic uint64_t late_runs;

static void late(orr_run* run)
{
    (void)run;
    late_runs++;
}

static void count_draws(orr_run* run)
{
    progress_of(run)->draws++;
}

static void on_sync_point(orr_world* world, void* data, size_t size)
{
    (void)size;
    progress* m = *(progress**)data;
    m->wrong += orr_world_hash(world) == 0 || orr_world_validate(world) != ORR_OK;
    m->wrong += m->inside;
    m->waits++;
    if (m->waits == 1) {
        m->wrong += orr_system_add(world, &(orr_system_desc){.name = "late",
                                                             .pipeline = "A",
                                                             .query = "write Velocity",
                                                             .run = late,
                                                             .settings = m})
                        .id == 0;
    }
}

ORR_TEST(realtime_sync_points_see_the_whole_world_and_add_systems)
{
    kit k;
    progress m;
    orr_world* world = begin_two(&k, &m, 0);
    KIT_SYSTEM(world, .name = "busy", .pipeline = "A", .query = "write Position", .run = busy,
               .settings = &m);
    KIT_SYSTEM(world, .name = "look", .pipeline = "B", .query = "Position", .run = count_draws,
               .settings = &m);
    realtime_go go;
    realtime_start(&go, &k, NULL);
    progress* self = &m;
    for (uint32_t i = 0; i < 20; i++) {
        CHECK_OK(orr_post_exclusive(world, on_sync_point, &self, sizeof self));
        nap(&m);
    }
    CHECK(wait_for(&m, &m.waits, 20));
    // The added system runs, and no other system may write its type.
    CHECK(wait_for(&m, &late_runs, 5));
    orr_stop(world);
    CHECK_OK(realtime_end(&go));
    CHECK_EQ(m.wrong, 0);
    CHECK_STR(k.errors.text, "");
    kit_end(&k);
}

ORR_TEST(realtime_registration_is_refused_while_it_runs)
{
    kit k;
    progress m;
    orr_world* world = begin_busy(&k, &m);
    realtime_go go;
    realtime_start(&go, &k, NULL);
    CHECK(wait_for(&m, &m.physics, 3));
    CHECK_EQ(
        orr_system_add(world, &(orr_system_desc){.name = "x", .query = "Position", .run = busy}).id,
        0);
    CHECK(strstr(k.errors.text, "orr_post_exclusive") != NULL);
    CHECK_EQ(orr_pipeline_add(world, &(orr_pipeline_desc){.name = "late"}).id, 0);
    CHECK(orr_system_remove(world, orr_system_find(world, "busy")) == ORR_ERR_STATE);
    // Other changes from this thread are refused, too.
    k.errors = (kit_errors){0};
    CHECK_EQ(orr_create(world).id, 0);
    CHECK(strstr(k.errors.text, "post the call") != NULL);
    CHECK(orr_set(world, m.first, Position, {1, 1, 1}) != ORR_OK);
    CHECK(orr_get(world, m.first, Position) == NULL);
    CHECK(orr_world_hash(world) == 0);
    CHECK(orr_step(world, 1) == ORR_ERR_STATE);
    CHECK(orr_realtime(world, NULL) == ORR_ERR_STATE);
    orr_stop(world);
    CHECK_OK(realtime_end(&go));
    kit_end(&k);
}

// ---- the caller's thread ------------------------------------------------------------------------

static pthread_t main_thread;

static void on_main(orr_run* run)
{
    progress* m = progress_of(run);
    m->wrong += !pthread_equal(main_thread, pthread_self());
    m->draws++;
}

static void off_main(orr_run* run)
{
    progress* m = progress_of(run);
    m->wrong += pthread_equal(main_thread, pthread_self()) != 0;
    m->physics++;
}

ORR_TEST(realtime_main_thread_systems_run_on_the_thread_that_called)
{
    kit k;
    progress m;
    orr_world* world = begin_two(&k, &m, RATE);
    main_thread = pthread_self();
    KIT_SYSTEM(world, .name = "windows", .pipeline = "A", .once = true, .query = "Position",
               .main_thread = true, .run = on_main, .settings = &m);
    KIT_SYSTEM(world, .name = "more", .pipeline = "B", .query = "Position", .main_thread = true,
               .run = on_main, .settings = &m);
    KIT_SYSTEM(world, .name = "else", .pipeline = "B", .query = "write Velocity", .run = off_main,
               .settings = &m);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 50}));
    CHECK(m.draws > 20 && m.physics > 20);
    CHECK_EQ(m.wrong, 0);
    kit_end(&k);
}

// ---- the scenario -------------------------------------------------------------------------------

typedef struct three {
    kit k;
    clocks c;
} three;

static orr_world* three_begin(three* t, uint32_t workers, uint32_t size)
{
    *t = (three){0};
    orr_world* world =
        kit_begin(&t->k, &(orr_world_desc){.rate_hz = CLOCKS_LOGIC_HZ, .workers = workers});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    if (!clocks_build(&t->c, world, &(clocks_desc){.size = size})) {
        test_fail(__FILE__, __LINE__, "clocks was refused: %s", orr_error_last(world));
    }
    CHECK_OK(orr_time_scale_set(world, 10));
    return world;
}

static void three_end(three* t)
{
    for (uint32_t i = 0; i < CLOCKS_FAULTS; i++) {
        if (t->c.found[i] != 0) {
            test_fail(__FILE__, __LINE__, "%llu faults: %s", (unsigned long long)t->c.found[i],
                      clocks_fault_name((clocks_fault)i));
        }
    }
    CHECK_STR(t->k.errors.text, "");
    kit_end(&t->k);
}

ORR_TEST(realtime_clocks_scenario_finds_no_fault)
{
    for (uint32_t workers = 0; workers <= 2; workers += 2) {
        three t;
        orr_world* world = three_begin(&t, workers, 2000);
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = test_long()    ? 1000
                                                                   : test_brief() ? 40
                                                                                  : 100}));
        CHECK(t.c.moved > 0 && t.c.looked > 0 && t.c.drawn > 0 && t.c.born > 0 && t.c.kicks > 0);
        CHECK(t.c.hits > 0 && t.c.heard > 0 && t.c.probed > 0 && t.c.felt > 0 && t.c.ached > 0);
        three_end(&t);
    }
}

ORR_TEST(realtime_replay_of_clocks_has_the_recorded_hashes)
{
    three t;
    orr_recording* recording = orr_recording_create();
    orr_world* world = three_begin(&t, 0, 500);
    CHECK_OK(orr_realtime(world,
                          &(orr_realtime_desc){.ticks = 60, .record = recording, .hashes = true}));
    uint64_t hash = orr_world_hash(world);
    three_end(&t);
    for (uint32_t i = 0; i < 3; i++) {
        world = three_begin(&t, i, 500);
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.replay = recording}));
        CHECK(orr_world_hash(world) == hash);
        three_end(&t);
    }
    // A replay on another world is refused before it begins.
    world = three_begin(&t, 0, 400);
    CHECK(orr_realtime(world, &(orr_realtime_desc){.replay = recording}) == ORR_ERR_CONFLICT);
    CHECK(strstr(t.k.errors.text, "differs from the one the recording began with") != NULL);
    t.k.errors = (kit_errors){0};
    three_end(&t);
    orr_recording_destroy(recording);
}

// ---- memory -------------------------------------------------------------------------------------

static void grow_rows(orr_run* run)
{
    for (uint32_t i = 0; i < 300; i++) {
        orr_entity entity = orr_send_create(run);
        orr_send_add(run, entity, Position, {1, 2, 3});
        orr_send_add(run, entity, Health, {1, 2});
    }
}

static void receive_all(orr_run* run)
{
    while (orr_receive(run) != NULL) {
    }
}

// Rows exist, but memory for their messages is refused. Published values must follow nevertheless
// (builds with checks compare them), and the tick continues.
ORR_TEST(realtime_commit_refused_halfway_leaves_published_values_whole)
{
    bool refused = true;
    for (uint64_t n = 1; refused && n < 100000; n += test_brief() ? 5 : 1) {
        kit k;
        orr_world* world = kit_begin(&k, &(orr_world_desc){.rate_hz = RATE});
        ORR_REGISTER(world, Position, Health);
        orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
        add_pipeline(world, "A", RATE);
        add_pipeline(world, "B", RATE);
        KIT_SYSTEM(world, .name = "grow", .once = true, .run = grow_rows,
                   .creates = "Position, Health", .creates_max = 300);
        KIT_SYSTEM(world, .name = "move", .pipeline = "A", .query = "write Position", .run = late);
        KIT_SYSTEM(world, .name = "look", .pipeline = "B", .query = "Position", .run = late);
        KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Position, Health",
                   .run = receive_all);
        failing_alloc_arm(&k.memory, n, false);
        orr_result result = orr_realtime(world, &(orr_realtime_desc){.ticks = 6});
        refused = k.memory.refused > 0;
        failing_alloc_arm(&k.memory, 0, false);
        CHECK(result == ORR_OK || result == ORR_ERR_MEMORY);
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 6}));
        orr_world_stats stats;
        orr_world_stats_get(world, &stats);
        CHECK(stats.entities > 0); // Sends that were refused are missing, and were reported.
        kit_end(&k);
    }
    CHECK(!refused);
}

// ---- the trace ----------------------------------------------------------------------------------

ORR_TEST(realtime_trace_has_a_row_for_each_pipeline)
{
    static const char path[] = "test_realtime.trace.json";
    static char text[1 << 20];
    kit k;
    progress m;
    orr_world* world = begin_busy(&k, &m);
    CHECK_OK(orr_trace_set(world, path));
    orr_wait_stats stats = {0};
    while (stats.ticks ==
           0) { // On a busy machine its thread may begin after the first pipeline has ended.
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 5}));
        CHECK_OK(orr_wait_stats_get(world, orr_pipeline_find(world, "A"), &stats));
    }
    CHECK_OK(orr_trace_set(world, NULL));
    FILE* file = fopen(path, "rb");
    CHECK(file != NULL);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    remove(path);
    CHECK_CONTAINS(text, "\"tid\": 4096, \"args\": {\"name\": \"pipeline main\"}");
    CHECK_CONTAINS(text, "\"tid\": 4097, \"args\": {\"name\": \"pipeline A\"}");
    const char* system = strstr(text, "{\"name\": \"busy\", \"cat\": \"system\"");
    CHECK(system != NULL);
    const char* row = strstr(system, "\"tid\": ");
    CHECK(row != NULL && strncmp(row, "\"tid\": 4097", 11) == 0);
    kit_end(&k);
}

// ---- recorded time ------------------------------------------------------------------------------

static void sum_dt(orr_run* run)
{
    Velocity* v = orr_write(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        v[i].x += run->dt;
    }
}

static uint64_t run_free(orr_recording* record, const orr_recording* replay)
{
    kit k;
    progress m;
    orr_world* world = begin_progress(&k, &m, NULL);
    add_pipeline(world, "free", 0);
    KIT_SYSTEM(world, .name = "sum", .pipeline = "free", .query = "write Velocity", .run = sum_dt);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = replay == NULL ? 20 : 0,
                                                      .record = record,
                                                      .replay = replay,
                                                      .hashes = true}));
    uint64_t hash = orr_world_hash(world);
    kit_end(&k);
    return hash;
}

ORR_TEST(realtime_replay_gives_a_continuous_pipeline_its_recorded_time)
{
    orr_recording* recording = orr_recording_create();
    uint64_t hash = run_free(recording, NULL);
    CHECK_EQ(run_free(NULL, recording), hash);
    orr_recording_destroy(recording);
}
