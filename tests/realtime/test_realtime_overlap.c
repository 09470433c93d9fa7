// SPDX-License-Identifier: MIT
// Which systems overlap in real time, for resources outside of the world that systems of several
// pipelines use, and where a pipeline can wait without delaying other pipelines.
#include "realtime/hard_kit.h"
#include "schedule/tick/overlap_kit.h"

// ---- a resource outside of the world ------------------------------------------------------------

static room overlap_room;
static rendezvous overlap_both;
static _Atomic uint32_t overlap_begun, overlap_others;

static void overlap_visit(orr_run* run)
{
    (void)run;
    visit(&overlap_room);
}

static void overlap_visit_too(orr_run* run)
{
    (void)run;
    visit(&overlap_room);
    overlap_others++;
}

// Each system waits ten times, after all three systems have begun. A system that begins needs
// exclusive structure.
static void overlap_wait_for_other(orr_run* run)
{
    uint32_t* waited = orr_run_user(run);
    overlap_begun += run->tick == 1;
    if (overlap_begun == 3 && *waited < 10) {
        ++*waited;
        rendezvous_wait(&overlap_both);
    }
}

static orr_world* overlap_begin(kit* k)
{
    orr_world* world = hard_begin(k, 0);
    hard_pipe(world, "a", 0, false);
    hard_pipe(world, "b", 0, true);
    overlap_room = (room){0};
    overlap_both = (rendezvous){0};
    overlap_begun = overlap_others = 0;
    return world;
}

static void overlap_stop(orr_run* run)
{
    uint32_t others = overlap_others; // Each of the two systems runs at least 20 times.
    if (others >= 20 && overlap_room.visits >= others + 20) {
        orr_stop(run->world);
    }
}

static const char* overlap_trace(kit* k)
{
    static char text[200000];
    (void)orr_lock_trace_print(k->world, text, sizeof text);
    return text;
}

ORR_TEST(overlap_systems_of_two_pipelines_with_one_user_never_overlap)
{
    kit k;
    uint32_t shared = 0, other = 0;
    orr_world* world = overlap_begin(&k);
    KIT_SYSTEM(world, .name = "stop", .once = true, .user = &other, .run = overlap_stop);
    KIT_SYSTEM(world, .name = "one", .once = true, .pipeline = "a", .user = &shared,
               .run = overlap_visit);
    KIT_SYSTEM(world, .name = "two", .once = true, .pipeline = "b", .user = &shared,
               .run = overlap_visit_too);
    KIT_SYSTEM(world, .name = "three", .once = true, .pipeline = "b", .user = &shared,
               .run = overlap_visit_too);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.lock_trace = 50}));
    CHECK_EQ(overlap_room.overlaps, 0);
    CHECK_CONTAINS(overlap_trace(&k), "a, one: .user of one exclusive taken");
    CHECK_CONTAINS(overlap_trace(&k), "b, two: .user of one exclusive taken");
    CHECK(strstr(overlap_trace(&k), ".user of stop") == NULL); // No other system has this .user.
    hard_end(&k);
}

ORR_TEST(overlap_impure_systems_of_two_pipelines_never_overlap)
{
    kit k;
    orr_world* world = overlap_begin(&k);
    ORR_REGISTER(world, Tree);
    KIT_SYSTEM(world, .name = "stop", .once = true, .run = overlap_stop);
    KIT_SYSTEM(world, .name = "one", .once = true, .pipeline = "a", .impure = true,
               .run = overlap_visit);
    KIT_SYSTEM(world, .name = "two", .once = true, .impure = true, .run = overlap_visit_too);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.lock_trace = 50}));
    CHECK_EQ(overlap_room.overlaps, 0);
    CHECK_CONTAINS(overlap_trace(&k), "a, one: impure systems exclusive taken");
    hard_end(&k);
}

// The locks of .user need memory, too. Without memory the run is refused; a second call continues.
ORR_TEST(overlap_without_memory_is_refused_and_begins_when_called_again)
{
    uint64_t refused = 1, ended = 0;
    for (uint64_t n = 1; refused > 0; n++) {
        kit k;
        uint32_t shared[3] = {0};
        orr_world* world = overlap_begin(&k);
        static const char* const names[] = {"one", "two", "three", "four", "five", "six"};
        static const char* const pipes[] = {"main", "a", "b"};
        for (uint32_t i = 0; i < 6; i++) {
            KIT_SYSTEM(world, .name = names[i], .once = true, .pipeline = pipes[i % 3],
                       .user = &shared[i % 2], .impure = i % 3 != 2, .run = kit_run_nothing);
        }
        failing_alloc_arm(&k.memory, n, n % 2 == 0);
        orr_result result = orr_realtime(world, &(orr_realtime_desc){.ticks = 1});
        refused = k.memory.refused;
        failing_alloc_arm(&k.memory, 0, false);
        CHECK(result == ORR_OK || (result == ORR_ERR_MEMORY && refused > 0));
        ended += result != ORR_OK;
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 1}));
        k.errors = (kit_errors){0};
        hard_end(&k);
    }
    CHECK(ended > 10);
}

static void overlap_stop_after_20(orr_run* run)
{
    overlap_begun += run->tick == 1;
    if (overlap_both.arrived >= 20 || overlap_both.timeouts > 0) {
        orr_stop(run->world);
    }
}

// Each system has its own .user and only one system is impure. The systems overlap, and no lock is
// created for them.
ORR_TEST(overlap_systems_that_share_nothing_overlap)
{
    kit k;
    uint32_t one = 0, two = 0;
    orr_world* world = overlap_begin(&k);
    KIT_SYSTEM(world, .name = "stop", .once = true, .run = overlap_stop_after_20);
    KIT_SYSTEM(world, .name = "one", .once = true, .pipeline = "a", .user = &one, .impure = true,
               .run = overlap_wait_for_other);
    KIT_SYSTEM(world, .name = "two", .once = true, .pipeline = "b", .user = &two,
               .run = overlap_wait_for_other);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.lock_trace = 50}));
    CHECK_EQ(overlap_both.timeouts, 0);
    CHECK_EQ(overlap_both.arrived, 20);
    CHECK(strstr(overlap_trace(&k), ".user") == NULL);
    CHECK(strstr(overlap_trace(&k), "impure") == NULL);
    hard_end(&k);
}

// ---- a wait callback ----------------------------------------------------------------------------

// A gate stands for a screen: the wait callback blocks at the gate until the test opens it.
typedef struct overlap_gate {
    _Atomic uint32_t come, opened, late;
    _Atomic uint64_t commits, ticks, sync_points;
    _Atomic bool free; // The gate stays open.
    _Atomic bool ended;
    orr_world* world;
    _Atomic uint32_t elsewhere;
} overlap_gate;
static overlap_gate gate;

static bool overlap_until(const _Atomic uint64_t* word, uint64_t value)
{
    for (uint32_t i = 0; i < 100000 && *word < value; i++) {
        hard_sleep(100000);
    }
    return *word >= value;
}

// Blocks until the other pipelines have made 20 more commits and reached one more sync point. If
// the wait callback delayed them, both waits would time out.
static void overlap_screen(void* user)
{
    (void)user;
    uint64_t commits = gate.commits, sync_points = gate.sync_points;
    if (gate.come++ < 3) {
        gate.late += !overlap_until(&gate.commits, commits + 20);
        gate.late += !overlap_until(&gate.sync_points, sync_points + 1);
    }
}

static void overlap_at_sync_point(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    gate.late += orr_world_validate(world) != ORR_OK;
    gate.sync_points++;
}

static void overlap_churn(orr_run* run)
{
    gate.commits++;
    for (uint32_t i = 0; i < run->count && i < 3; i++) {
        orr_send_destroy(run, orr_iter_entity(run, i));
        orr_entity fresh = orr_send_create(run);
        orr_send_add(run, fresh, Tree, {run->tick, 2 * run->tick});
    }
    if (run->tick % 10 == 0) {
        gate.late += orr_post_exclusive(run->world, overlap_at_sync_point, NULL, 0) != ORR_OK;
    }
    if (gate.ticks >= 5) {
        orr_stop(run->world);
    }
}

static void overlap_draw(orr_run* run)
{
    const Tree* t = orr_read(run, Tree);
    for (uint32_t i = 0; i < run->count; i++) {
        HARD_CHECK(t[i].twice == 2 * t[i].tick, "a tree is torn");
    }
    gate.ticks = run->tick;
}

static orr_world* overlap_gated(kit* k, orr_pipeline_desc desc)
{
    gate = (overlap_gate){0};
    orr_world* world = hard_begin(k, 0);
    gate.world = world;
    ORR_REGISTER(world, Tree);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Tree), 100, NULL, 0, NULL));
    desc.name = "view";
    CHECK(orr_pipeline_add(world, &desc).id != 0);
    KIT_SYSTEM(world, .name = "churn", .query = "Tree", .creates = "Tree", .destroys = "Tree",
               .run = overlap_churn);
    KIT_SYSTEM(world, .name = "draw", .pipeline = "view", .query = "Tree", .run = overlap_draw);
    return world;
}

ORR_TEST(overlap_wait_callback_delays_no_commit_and_no_sync_point)
{
    for (uint32_t i = 0; i < 4; i++) {
        kit k;
        orr_world* world = overlap_gated(&k, (orr_pipeline_desc){.spectator = i % 2 == 0,
                                                                 .wait = overlap_screen,
                                                                 .wait_main = i >= 2});
        CHECK_OK(orr_realtime(world, NULL));
        CHECK_EQ(gate.late, 0);
        CHECK(gate.come >= gate.ticks); // One call before each tick.
        CHECK(gate.come <= gate.ticks + 1);
        hard_end(&k);
    }
}

static void overlap_stand(void* user)
{
    (void)user;
    gate.come++;
    while (!gate.free && gate.opened < gate.come) {
        hard_sleep(100000);
    }
}

static bool overlap_comes(uint32_t count)
{
    for (uint32_t i = 0; i < 100000 && gate.come < count; i++) {
        hard_sleep(100000);
    }
    return gate.come == count;
}

static void overlap_guide(void* data)
{
    orr_world* world = data;
    uint64_t commits;
    gate.late += !overlap_comes(1);
    orr_pause(world, true); // Does not wait for the callback.
    gate.opened = 1;
    while (!orr_paused(world)) {
        hard_sleep(100000);
    }
    // The callback has returned and the world is paused: no tick begins.
    for (uint32_t i = 0; i < 20; i++) {
        hard_sleep(100000);
    }
    gate.late += gate.ticks != 0 || gate.come != 1;
    orr_pause(world, false);
    gate.late += !overlap_until(&gate.ticks, 1) || !overlap_comes(2);
    commits = gate.commits;
    gate.late += !overlap_until(&gate.commits, commits + 5);
    orr_stop(world); // orr_stop() returns after the wait callback has returned.
    for (uint32_t i = 0; i < 20; i++) {
        hard_sleep(100000);
    }
    gate.late += gate.ended || !orr_running(world) || gate.ticks != 1;
    gate.free = true;
}

ORR_TEST(overlap_pause_and_stop_during_a_wait_callback_take_effect_when_it_returns)
{
    for (uint32_t i = 0; i < 2; i++) {
        kit k;
        orr_world* world =
            overlap_gated(&k, (orr_pipeline_desc){.wait = overlap_stand, .wait_main = i == 1});
        const orr_platform* platform = orr_platform_default();
        orr_thread guide;
        CHECK(platform->thread_create(NULL, "guide", overlap_guide, world, &guide) == 0);
        CHECK_OK(orr_realtime(world, NULL));
        gate.ended = true;
        platform->thread_join(NULL, guide);
        CHECK_EQ(gate.late, 0);
        CHECK_EQ(gate.ticks, 1); // Stopped during the wait callback: no other tick began.
        hard_end(&k);
    }
}

static _Thread_local bool overlap_here;

static void overlap_where(void* user)
{
    gate.come++;
    gate.elsewhere += overlap_here != (user != NULL);
    // A wait callback has no access to the world: every call is refused.
    gate.late += orr_create(gate.world).id != 0;
    if (gate.come >= 5) {
        orr_stop(gate.world);
    }
}

ORR_TEST(overlap_wait_is_called_on_the_requested_thread_and_has_no_access_to_the_world)
{
    overlap_here = true;
    for (uint32_t i = 0; i < 2; i++) {
        kit k;
        orr_world* world =
            overlap_gated(&k, (orr_pipeline_desc){.wait = overlap_where,
                                                  .wait_main = i == 1,
                                                  .wait_user = i == 1 ? &gate : NULL});
        CHECK_OK(orr_step(world, 3)); // Lockstep does not call it.
        CHECK_EQ(gate.come, 0);
        gate.ticks = 0;
        CHECK_OK(orr_realtime(world, NULL));
        CHECK(gate.come >= 5);
        CHECK_EQ(gate.elsewhere, 0);
        CHECK_EQ(gate.late, 0);
        KIT_ERROR(&k, ORR_ERR_STATE, "orr_create: the world runs in real time");
        hard_end(&k);
    }
}

ORR_TEST(overlap_wait_of_a_pipeline_with_a_rate_is_refused)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    CHECK_EQ(orr_pipeline_add(
                 world, &(orr_pipeline_desc){.name = "view", .rate_hz = 60, .wait = overlap_stand})
                 .id,
             0);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "'view': wait is for continuous pipelines");
    hard_end(&k);
}
