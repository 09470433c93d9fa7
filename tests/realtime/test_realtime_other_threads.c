// SPDX-License-Identifier: MIT
// Other threads that call a world that runs in real time. Calls that are not allowed are refused
// wherever the pipelines are. Allowed calls have no bad effect at the beginning and end of runs.
// Also run under the thread sanitizer.
#include "realtime/hard_kit.h"
#include <pthread.h>

static struct {
    orr_world* world;
    orr_entity entity;
    orr_address address; // Of the entity.
    orr_type tree;
    _Atomic uint32_t refused; // Calls of the handler, on any thread.
    // The other thread makes its calls between `begins` and `over`.
    _Atomic bool begins, over;
    uint32_t calls, allowed;
    const char* first_allowed;
} st;

static void other_thread_error(void* user, orr_world* world, const orr_error* error)
{
    (void)user;
    (void)world;
    HARD_CHECK(error->text[0] != '\0', "the error has no text");
    st.refused++;
}

// ---- calls that are not allowed -----------------------------------------------------------------

static void other_thread_call(const char* name, bool refused)
{
    st.calls++;
    st.allowed += !refused;
    st.first_allowed = !refused && st.first_allowed == NULL ? name : st.first_allowed;
}

// Calls about places, tags and enable bits. They are refused before they read a record or a chunk,
// which threads of the world may be changing.
static void other_thread_looks(void)
{
    orr_world* world = st.world;
    orr_entity out;
    orr_cluster_info info;
    orr_type tree = st.tree;
    orr_cluster cluster = st.address.cluster;
    other_thread_call("orr_alive", !orr_alive(world, st.entity));
    other_thread_call("orr_entity_count", orr_entity_count(world) == 0);
    other_thread_call("orr_entity_cluster", orr_entity_cluster(world, st.entity).id == 0);
    other_thread_call("orr_address_valid", !orr_address_valid(world, &st.address));
    other_thread_call("orr_cluster_find",
                      orr_cluster_find(world, &(orr_cluster_desc){&tree, 1, NULL, 0, NULL}).id ==
                          0);
    other_thread_call("orr_cluster_next", orr_cluster_next(world, (orr_cluster){0}).id == 0);
    other_thread_call("orr_clusters_find",
                      orr_clusters_find(world, &(orr_cluster_match){0}, NULL, 0) == 0);
    other_thread_call("orr_cluster_info_get",
                      orr_cluster_info_get(world, cluster, &info) != ORR_OK);
    other_thread_call("orr_chunk_count", orr_chunk_count(world, cluster, 0) == 0);
    other_thread_call("orr_chunk_entities", orr_chunk_entities(world, cluster, 0, &out, 1) == 0);
    other_thread_call("orr_column_enabled", orr_column_enabled(world, cluster, 0, tree) == NULL);
    other_thread_call("orr_tag_has", !orr_tag_has(world, st.entity, 5));
    other_thread_call("orr_tag_add", orr_tag_add(world, st.entity, 5) != ORR_OK);
    other_thread_call("orr_tag_remove", orr_tag_remove(world, st.entity, 5) != ORR_OK);
    other_thread_call("orr_entity_enable", orr_entity_enable(world, st.entity, true) != ORR_OK);
    other_thread_call("orr_component_enable",
                      orr_component_enable(world, st.entity, tree, true) != ORR_OK);
    other_thread_call("orr_world_entity", orr_world_entity(world).id == 0);
}

// Calls from a single value to the whole world.
static void other_thread_calls(void)
{
    orr_world* world = st.world;
    orr_query* query = orr_query_create(world, &(orr_query_desc){ORR_TERMS(ORR_R(world, Tree))});
    other_thread_call("orr_create", orr_create(world).id == 0);
    other_thread_call("orr_set", orr_set(world, st.entity, Tree, {1, 3}) != ORR_OK);
    other_thread_call("orr_destroy", orr_destroy(world, st.entity) != ORR_OK);
    other_thread_call("orr_query_create", query == NULL);
    other_thread_call("orr_world_hash", orr_world_hash(world) == 0);
    other_thread_call("orr_world_validate", orr_world_validate(world) != ORR_OK);
    other_thread_call("orr_step", orr_step(world, 1) == ORR_ERR_STATE);
    other_thread_call("orr_update", orr_update(world, 1000000) == ORR_ERR_STATE);
    other_thread_call("orr_realtime", orr_realtime(world, NULL) == ORR_ERR_STATE);
    other_thread_call("orr_system_add",
                      KIT_ADD(world, .name = "x", .once = true, .run = tree_grow).id == 0);
    other_thread_call("orr_system_remove",
                      orr_system_remove(world, orr_system_find(world, "look")) != ORR_OK);
    other_thread_looks();
}

// An inline call that looks up the entity before it can be refused. The lookup races with a thread
// that creates, so it is only called where no thread creates.
static void other_thread_read(void)
{
    other_thread_call("orr_get", orr_get(st.world, st.entity, Tree) == NULL);
}

enum {
    OTHER_THREAD_ROUNDS = 20,
    OTHER_THREAD_CALLS = 29
};

static void other_thread_main(void* arg)
{
    (void)arg;
    while (!st.begins) {
        hard_sleep(50000);
    }
    for (uint32_t i = 0; i < OTHER_THREAD_ROUNDS; i++) {
        other_thread_calls();
        other_thread_read();
    }
    st.over = true;
}

// The caller waits until the other thread has made all its calls.
static void other_thread_run_calls(void)
{
    st.begins = true;
    while (!st.over) {
        hard_sleep(50000);
    }
}

static void other_thread_begin(void)
{
    memset(&st, 0, sizeof st);
    st.world = orr_world_create(&(orr_world_desc){
        .rate_hz = 200, .on_error = other_thread_error, .log = {.level = ORR_LOG_OFF}});
    orr_access_check_set(st.world, ORR_ACCESS_CHECK_CALLS);
    CHECK_OK(orr_time_scale_set(st.world, 5));
    trees_add(st.world, 50);
    st.entity = orr_create(st.world);
    CHECK_OK(orr_set(st.world, st.entity, Tree, {0, 0}));
    CHECK_OK(orr_tag_add(st.world, st.entity, 5));
    CHECK_OK(orr_address_get(st.world, st.entity, &st.address));
    st.tree = orr_type_of(st.world, ORR_TYPE(Tree));
    CHECK(orr_world_entity(st.world).id != 0);
}

static void other_thread_run(void (*thread)(void* arg), const orr_realtime_desc* desc)
{
    const orr_platform* platform = orr_platform_default();
    orr_thread handle;
    CHECK_EQ(platform->thread_create(platform->user, "other", thread, NULL, &handle), 0);
    CHECK_OK(orr_realtime(st.world, desc));
    st.over = true;
    platform->thread_join(platform->user, handle);
}

// Refused calls had no effect.
static void other_thread_end(uint64_t entities)
{
    if (st.allowed != 0) {
        test_fail(__FILE__, __LINE__, "%u of %u calls were allowed, the first of them %s",
                  st.allowed, st.calls, st.first_allowed);
    }
    CHECK(orr_alive(st.world, st.entity));
    CHECK_EQ(orr_entity_count(st.world), entities);
    orr_result result = orr_step(st.world, 3); // Its system may make the same calls.
    CHECK(result == ORR_OK || result == ORR_ERR_STATE);
    CHECK_OK(orr_world_validate(st.world));
    CHECK_EQ(atomic_exchange(&hard_faults, 0), 0);
    orr_world_destroy(st.world);
}

static void other_thread_at_sync_point(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    other_thread_run_calls();
    HARD_CHECK(orr_world_hash(world) != 0, "a sync point is refused an exclusive call");
    orr_entity entity = orr_create(world);
    HARD_CHECK(orr_destroy(world, entity) == ORR_OK, "%s", orr_error_last(world));
}

static void other_thread_posted(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    other_thread_run_calls();
    orr_entity entity = orr_create(world);
    HARD_CHECK(orr_destroy(world, entity) == ORR_OK, "%s", orr_error_last(world));
}

static void other_thread_in_a_system(orr_run* run)
{
    if (run->tick == 4) {
        other_thread_run_calls();
    }
}

static void other_thread_posts_exclusive(orr_run* run)
{
    if (run->tick == 4) {
        (void)orr_post_exclusive(run->world, other_thread_at_sync_point, NULL, 0);
    }
}

static void other_thread_asks_to_post(orr_run* run)
{
    if (run->tick == 4) {
        (void)orr_post(run->world, other_thread_posted, NULL, 0);
    }
}

static void other_thread_is_refused(void (*run)(orr_run* run))
{
    other_thread_begin();
    KIT_SYSTEM(st.world, .name = "guide", .once = true, .run = run);
    other_thread_run(other_thread_main, &(orr_realtime_desc){.ticks = 8});
    CHECK_EQ(st.calls, OTHER_THREAD_ROUNDS * OTHER_THREAD_CALLS);
    CHECK_EQ(st.refused, st.calls); // Each refusal was reported.
    other_thread_end(52);
}

ORR_TEST(realtime_other_thread_is_refused_while_a_system_runs)
{
    other_thread_is_refused(other_thread_in_a_system);
}

ORR_TEST(realtime_other_thread_is_refused_during_a_sync_point)
{
    other_thread_is_refused(other_thread_posts_exclusive);
}

ORR_TEST(realtime_other_thread_is_refused_while_a_posted_call_runs)
{
    other_thread_is_refused(other_thread_asks_to_post);
}

// ---- at random moments --------------------------------------------------------------------------

static uint32_t loose_made;

static void loose_make(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    orr_entity entity = orr_create(world);
    HARD_CHECK(orr_set(world, entity, Fruit, {1}) == ORR_OK, "%s", orr_error_last(world));
    loose_made++;
}

static void loose_at_sync_point(orr_world* world, void* data, size_t size)
{
    (void)size;
    loose_make(world, data, 0);
    HARD_CHECK(orr_world_hash(world) != 0 && orr_world_validate(world) == ORR_OK, "%s",
               orr_error_last(world));
}

static void loose_post(orr_run* run)
{
    (void)orr_post(run->world, loose_make, NULL, 0);
    (void)orr_post_exclusive(run->world, loose_at_sync_point, NULL, 0);
    st.begins = true;
    if (run->tick > 10 && st.over) {
        orr_stop(run->world);
    }
}

static void loose_thread(void* arg)
{
    (void)arg;
    while (!st.begins) {
        hard_sleep(50000);
    }
    for (uint32_t i = 0; i < test_rounds(300, 100, 3000); i++) {
        other_thread_calls();
    }
    st.over = true;
}

// Ticks, calls and sync points run meanwhile; the other thread is refused at every moment.
ORR_TEST(realtime_other_thread_is_refused_at_any_moment)
{
    other_thread_begin();
    loose_made = 0;
    KIT_SYSTEM(st.world, .name = "ask", .once = true, .run = loose_post);
    other_thread_run(loose_thread, NULL);
    CHECK(loose_made > 0 && st.refused == st.calls);
    other_thread_end(52 + loose_made);
}

// ---- allowed calls at the beginning and end of runs ---------------------------------------------

static void edge_thread(void* arg)
{
    (void)arg;
    for (uint32_t i = 0; !st.over; i++) {
        orr_pause(st.world, i % 4 == 0);
        CHECK_OK(orr_time_scale_set(st.world, 1 + i % 7));
        if (i % 3 == 0) {
            orr_stop(st.world);
        }
        (void)orr_time_scale(st.world);
        orr_platform_default()->thread_yield(NULL);
    }
    orr_pause(st.world, false);
}

// Runs of one tick or none, one after another, while another thread pauses, stops and sets the time
// scale without checking whether the world runs.
ORR_TEST(realtime_pause_time_scale_and_stop_of_another_thread_around_begin_and_end_of_runs)
{
    const orr_platform* platform = orr_platform_default();
    orr_thread handle;
    other_thread_begin();
    CHECK_EQ(platform->thread_create(platform->user, "edge", edge_thread, NULL, &handle), 0);
    for (uint32_t i = 0; i < test_rounds(150, 60, 2000); i++) {
        CHECK_OK(orr_realtime(st.world, &(orr_realtime_desc){.ticks = 1 + i % 2}));
        CHECK(hard_ticks(st.world, "main") <= 1 + i % 2);
    }
    st.over = true;
    platform->thread_join(platform->user, handle);
    // Only settings that outlast runs remain.
    CHECK(!orr_paused(st.world));
    CHECK_OK(orr_time_scale_set(st.world, 5));
    CHECK(orr_time_scale(st.world) == 5);
    CHECK_OK(orr_realtime(st.world, &(orr_realtime_desc){.ticks = 3}));
    CHECK_EQ(hard_ticks(st.world, "main"), 3);
    CHECK_EQ(st.refused, 0);
    other_thread_end(52);
}

// ---- calls posted while real time begins --------------------------------------------------------

static struct {
    orr_world* world;
    uint32_t at, points; // Real time begins at this one of the poster's points.
    _Atomic bool go;     // Real time may begin.
    _Atomic uint32_t done;
} eager;
static _Thread_local bool eager_posts;

static void eager_point(void* user, orr_sched_kind kind, const void* word)
{
    (void)user, (void)kind, (void)word;
    if (!eager_posts || ++eager.points != eager.at) {
        return;
    }
    eager.go = true;
    for (uint32_t i = 0; i < 100 && !orr_running(eager.world);
         i++) { // It cannot begin while the poster holds a lock.
        hard_sleep(500000);
    }
}

static void eager_call(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    eager.done++;
    orr_stop(world);
}

static void* eager_post(void* data)
{
    (void)data;
    eager_posts = true;
    HARD_CHECK(orr_post(eager.world, eager_call, NULL, 0) == ORR_OK, "not posted");
    eager_posts = false;
    eager.go = true;
    return NULL;
}

// Wherever the poster is when real time begins, the posted call runs in that run.
ORR_TEST(realtime_call_posted_while_a_run_begins_is_run)
{
    orr_platform platform = *orr_platform_default();
    platform.sched_point = eager_point;
    memset(&eager, 0, sizeof eager);
    do {
        kit k;
        pthread_t thread;
        eager.world = kit_begin(&k, &(orr_world_desc){.rate_hz = 200, .platform = &platform});
        eager.at++;
        eager.points = 0;
        eager.done = 0;
        eager.go = false;
        KIT_SYSTEM(eager.world, .name = "idle", .once = true, .run = kit_run_nothing);
        CHECK(pthread_create(&thread, NULL, eager_post, NULL) == 0);
        while (!eager.go) {
            hard_sleep(100000);
        }
        CHECK_OK(orr_realtime(eager.world, &(orr_realtime_desc){.for_ns = 3000000000}));
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK_EQ(eager.done, 1);
        kit_end(&k);
    } while (eager.points >= eager.at);
    CHECK(eager.at > 3);
}
