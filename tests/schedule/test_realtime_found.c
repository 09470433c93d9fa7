// SPDX-License-Identifier: MIT
// What a review of real time found, or looked for: each test was a suspicion, and most of them were right.
#include "schedule/hard_kit.h"
#include <orrery/orrery.h>
#include <stdatomic.h>

static uint64_t now_ns(void)
{
    const orr_platform* p = orr_platform_default();
    return p->clock_ns(p->user);
}

// ---- 1: a lock set made before the wait for it, and clusters that came meanwhile --------------------------------------
ORR_STRUCT_EX(Cable, (.live = true), (uint64_t, x), (uint64_t, twice))
ORR_STRUCT(Other, (uint64_t, x))
ORR_MARKER(M0)
ORR_MARKER(M1)
ORR_MARKER(M2) ORR_MARKER(M3) ORR_MARKER(M4) static _Atomic uint64_t torn, reads, fresh;

static void cable_write(orr_run* run)
{
    Cable* c = orr_write(run, Cable);
    for (uint32_t i = 0; i < run->count; i++) {
        c[i].x++;
    }
    hard_sleep(3000000);
    for (uint32_t i = 0; i < run->count; i++) {
        c[i].twice = 2 * c[i].x;
    }
}
static void cable_read(orr_run* run)
{
    const Cable* c = orr_read(run, Cable);
    uint64_t x = c[0].x;
    torn += c[0].twice != 2 * x;
    reads++;
    hard_sleep(500000);
    torn += c[0].x != x;
}
static void idle_read(orr_run* run) // keeps structure read most of the time
{
    (void)run;
    hard_sleep(4000000);
}
static void cable_make(orr_run* run)
{
    uint32_t bits = (uint32_t)run->tick % 32;
    orr_entity e = orr_send_create(run);
    orr_send_add(run, e, Cable, {0, 0});
    orr_send_add(run, e, Other, {1});
    if (bits & 1)
        orr_send_add_preset(run, e, M0);
    if (bits & 2)
        orr_send_add_preset(run, e, M1);
    if (bits & 4)
        orr_send_add_preset(run, e, M2);
    if (bits & 8)
        orr_send_add_preset(run, e, M3);
    if (bits & 16)
        orr_send_add_preset(run, e, M4);
    fresh++;
}
static void cable_drop(orr_run* run) // those that were read once go: their clusters are empty again
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_send_destroy(run, orr_iter_entity(run, i));
    }
}
ORR_TEST(realtime_found_live_lock_of_a_cluster_that_came_while_it_waited)
{
    kit k = {0};
    torn = 0;
    for (uint32_t round = 0; round < 12; round++) {
        orr_world* world = kit_begin(&k, &(orr_world_desc){.rate_hz = 40});
        orr_police_set(world, ORR_POLICE_CALLS);
        ORR_REGISTER(world, Cable, Other, M0, M1, M2, M3, M4);
        orr_set(world, orr_create(world), Cable, {0, 0}); // without Other: only the writer is there
        hard_pipe(world, "a", 0, false);
        hard_pipe(world, "b", 0, false);
        hard_pipe(world, "c", 0, false);
        KIT_SYSTEM(world, .name = "make", .once = true,
                   .creates = "Cable, Other, M0, M1, M2, M3, M4", .creates_max = 1,
                   .run = cable_make);
        KIT_SYSTEM(world, .name = "w", .pipeline = "a", .query = "write Cable", .run = cable_write);
        // Reads only the newest kind of cluster: all with Other, in other clusters than the writer's first.
        KIT_SYSTEM(world, .name = "r", .pipeline = "b", .query = "Cable, Other", .run = cable_read);
        KIT_SYSTEM(world, .name = "i", .pipeline = "c", .query = "Other", .run = idle_read);
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 4}));
        kit_end(&k);
    }
    (void)cable_drop;
    printf("    torn %u of %u reads, %u clusters\n", (unsigned)torn, (unsigned)reads,
           (unsigned)fresh);
    CHECK_EQ(torn, 0);
}

// ---- 2: orr_world_tick() inside a system ------------------------------------------------------------------------------
static void tick_note(orr_run* run)
{
    Fruit* f = orr_write(run, Fruit);
    for (uint32_t i = 0; i < run->count; i++) {
        f[i].seen = f[i].seen * 31 + orr_world_tick(run->world);
    }
    hard_sleep(300000);
    f[0].seen += orr_world_tick(run->world);
}
static void doze(orr_run* run)
{
    (void)run;
    hard_sleep(200000);
}
static orr_world* tick_world(kit* k)
{
    orr_world* world = hard_begin(k, 0);
    ORR_REGISTER(world, Fruit, Tree);
    for (uint32_t i = 0; i < 3; i++)
        orr_set(world, orr_create(world), Fruit, {0});
    hard_pipe(world, "a", 700, false);
    KIT_SYSTEM(world, .name = "note", .query = "write Fruit", .run = tick_note);
    KIT_SYSTEM(world, .name = "doze", .pipeline = "a", .query = "Fruit", .run = doze);
    return world;
}
ORR_TEST(realtime_found_world_tick_in_a_system_replays)
{
    kit k;
    orr_recording* rec = orr_recording_create();
    orr_world* world = tick_world(&k);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 60, .record = rec, .hashes = true}));
    kit_end(&k);
    orr_result worst = ORR_OK;
    for (uint32_t i = 0; i < 5; i++) {
        world = tick_world(&k);
        orr_result result = orr_realtime(world, &(orr_realtime_desc){.replay = rec});
        if (result != ORR_OK) {
            worst = result;
            printf("    %s\n", k.errors.text);
        }
        k.errors = (kit_errors){0};
        kit_end(&k);
    }
    orr_recording_destroy(rec);
    CHECK_OK(worst);
}

// ---- 3: the world's hash at a meeting, replayed ---------------------------------------------------------------------------
static uint64_t met[2][16];
static uint32_t met_count[2], met_run;
static void meet_hash(orr_world* world, void* data)
{
    (void)data;
    if (met_count[met_run] < 16)
        met[met_run][met_count[met_run]++] = orr_world_hash(world);
}
static void ask_meeting(orr_run* run)
{
    hard_sleep(500000);
    if (run->tick % 5 == 0)
        (void)orr_post_meeting(run->world, meet_hash, NULL, 0);
}
static orr_world* meet_world(kit* k, double rate)
{
    *k = (kit){0};
    orr_world* world = kit_begin(k, &(orr_world_desc){.rate_hz = rate});
    orr_police_set(world, ORR_POLICE_CALLS);
    trees_add(world, 20);
    KIT_SYSTEM(world, .name = "ask", .once = true, .any = "Fruit", .run = ask_meeting);
    return world;
}
static void hashes_met(double rate)
{
    kit k;
    orr_recording* rec = orr_recording_create();
    memset(met_count, 0, sizeof met_count);
    met_run = 0;
    orr_world* world = meet_world(&k, rate);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 40, .record = rec, .hashes = true}));
    uint64_t end = orr_world_hash(world);
    kit_end(&k);
    met_run = 1;
    world = meet_world(&k, rate);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.replay = rec}));
    CHECK(orr_world_hash(world) == end);
    kit_end(&k);
    orr_recording_destroy(rec);
    CHECK_EQ(met_count[0], met_count[1]);
    uint32_t same = 0;
    for (uint32_t i = 0; i < met_count[0]; i++)
        same += met[0][i] == met[1][i];
    printf("    %u of %u hashes at meetings are the same\n", same, met_count[0]);
    CHECK_EQ(same, met_count[0]);
}
ORR_TEST(realtime_found_hash_at_a_meeting_replays_continuous)
{
    hashes_met(0);
}
ORR_TEST(realtime_found_hash_at_a_meeting_replays_late)
{
    hashes_met(4000);
}

// ---- 4: giving up a tick that was refused in real time --------------------------------------------------------------------
static bool refuse_copy;
typedef struct Nosy {
    int32_t value;
} Nosy;
static bool nosy_copy(void* user, const orr_type_info* info, void* to, const void* from,
                      size_t count)
{
    (void)user;
    if (refuse_copy)
        return false;
    memcpy(to, from, info->size * count);
    return true;
}
ORR_STRUCT(Plain, (uint64_t, words, 16))
static kit* abandon_kit;
static void make_plain(orr_run* run)
{
    for (uint32_t i = 0; i < 64; i++) {
        orr_entity e = orr_send_create(run);
        orr_send_add(run, e, Plain, {{1}});
    }
    if (run->tick == 3)
        failing_alloc_arm(&abandon_kit->memory, 1, true);
}
static void abandon_world(kit* k, const char* pipe)
{
    *k = (kit){0};
    abandon_kit = k;
    orr_world* world = kit_begin(k, &(orr_world_desc){.rate_hz = 200});
    orr_police_set(world, ORR_POLICE_CALLS);
    ORR_REGISTER(world, Plain);
    hard_pipe(world, "a", 200, false);
    KIT_SYSTEM(world, .name = "make", .pipeline = pipe, .once = true, .creates = "Plain",
               .creates_max = 64, .run = make_plain);
}
ORR_TEST(realtime_found_abandon_after_a_refusal_in_real_time)
{
    for (int i = 0; i < 2; i++) {
        kit k;
        abandon_world(&k, i == 0 ? "main" : "a");
        CHECK_RESULT(orr_realtime(k.world, NULL), ORR_ERR_MEMORY);
        CHECK(orr_tick_open(k.world));
        uint64_t before = orr_entity_count(k.world);
        CHECK_OK(orr_tick_abandon(k.world));
        failing_alloc_arm(&k.memory, 0, false);
        orr_system make = orr_system_find(k.world, "make");
        // The rest of the tick that was given up: nothing of it is made.
        orr_result result = orr_step(k.world, 1);
        orr_system_stats stats = kit_stats(k.world, make);
        printf("    %s; entities %u -> %u, make ran %u times, dropped %u\n",
               orr_result_name(result), (unsigned)before, (unsigned)orr_entity_count(k.world),
               (unsigned)stats.ticks, (unsigned)stats.dropped);
        CHECK_EQ(orr_entity_count(k.world), 64 * (stats.ticks - 1));
        k.errors = (kit_errors){0};
        kit_end(&k);
    }
    (void)nosy_copy;
}

// ---- 5: what was posted when the run ends with an open tick -----------------------------------------------------------------
static uint32_t post_ran, post_made;
static void post_make(orr_world* world, void* data)
{
    (void)data;
    failing_alloc_arm(&abandon_kit->memory, 0, false); // There is memory again.
    orr_entity e = orr_create(world);
    post_ran++;
    post_made += e.id != 0;
}
static void make_plain_post(orr_run* run)
{
    if (run->tick == 3)
        (void)orr_post(run->world, post_make, NULL, 0);
    make_plain(run);
}
ORR_TEST(realtime_found_posted_call_at_the_end_with_an_open_tick_is_not_lost)
{
    kit k = {0};
    abandon_kit = &k;
    post_ran = post_made = 0;
    orr_world* world = kit_begin(&k, &(orr_world_desc){.rate_hz = 1});
    orr_police_set(world, ORR_POLICE_CALLS);
    ORR_REGISTER(world, Plain);
    hard_pipe(world, "a", 200, false);
    // The first pipeline is in its tick, so that the call waits.
    KIT_SYSTEM(world, .name = "make", .once = true, .creates = "Plain", .creates_max = 64,
               .run = make_plain_post);
    (void)orr_time_wish(world, 100);
    CHECK_RESULT(orr_realtime(world, NULL), ORR_ERR_MEMORY);
    printf("    ran %u, made %u; open %d; %s\n", post_ran, post_made, orr_tick_open(world),
           k.errors.text);
    CHECK_EQ(post_ran, 1);
    CHECK_EQ(post_made, 1);
    k.errors = (kit_errors){0};
    (void)orr_step(world, 1);
    CHECK_OK(orr_world_validate(world));
    k.errors = (kit_errors){0};
    kit_end(&k);
}

// ---- 6: recorded while it is replayed -----------------------------------------------------------------------------------------

// ---- 7: orr_stop() in a replay -------------------------------------------------------------------------------------------------
static void slow(orr_run* run)
{
    (void)run;
    hard_sleep(10000000);
}
static orr_world* slow_world(kit* k)
{
    orr_world* world = hard_begin(k, 0);
    ORR_REGISTER(world, Tree);
    orr_set(world, orr_create(world), Tree, {0, 0});
    hard_pipe(world, "a", 100, false);
    KIT_SYSTEM(world, .name = "slow", .query = "Tree", .run = slow);
    return world;
}
static void stop_soon(void* world)
{
    hard_sleep(100000000);
    orr_stop(world);
}
ORR_TEST(realtime_found_stop_ends_a_replay)
{
    kit k;
    orr_recording* rec = orr_recording_create();
    orr_world* world = slow_world(&k);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 100, .record = rec}));
    kit_end(&k);
    world = slow_world(&k);
    orr_thread thread;
    const orr_platform* p = orr_platform_default();
    CHECK_EQ(p->thread_create(p->user, "stop", stop_soon, world, &thread), 0);
    uint64_t begun = now_ns();
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.replay = rec}));
    uint64_t ms = (now_ns() - begun) / 1000000;
    p->thread_join(p->user, thread);
    printf("    %u ms\n", (unsigned)ms);
    kit_end(&k);
    orr_recording_destroy(rec);
    CHECK(ms < 500);
}

// ---- 8: .alone, the same .user, two impure ones ------------------------------------------------------------------------------------
static _Atomic uint32_t inside, beside;
static void alone(orr_run* run)
{
    (void)run;
    beside += atomic_fetch_add(&inside, 1) != 0;
    hard_sleep(1000000);
    atomic_fetch_sub(&inside, 1);
}
static void overlap(bool say_alone, void* user)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    ORR_REGISTER(world, Tree, Fruit);
    orr_set(world, orr_create(world), Tree, {0, 0});
    hard_pipe(world, "a", 200, false);
    beside = 0;
    KIT_SYSTEM(world, .name = "x", .once = true, .any = "Tree", .alone = say_alone, .user = user,
               .run = alone);
    KIT_SYSTEM(world, .name = "y", .pipeline = "a", .once = true, .any = "Tree", .alone = say_alone,
               .user = user, .run = alone);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 30}));
    printf("    %u times beside the other\n", (unsigned)beside);
    kit_end(&k);
    CHECK_EQ(beside, 0);
}
ORR_TEST(realtime_found_alone_is_alone)
{
    overlap(true, NULL);
}

// ---- 9: one query of pinned types, looped over by two pipelines ----------------------------------------------------------------------
ORR_STRUCT_EX(Pin, (.storage = ORR_PINNED), (uint64_t, v))
static orr_query* shared;
static _Atomic uint64_t pins, pins_wrong;
static void pin_loop(orr_run* run)
{
    (void)run;
    uint64_t n = 0;
    ORR_EACH (it, shared) {
        for (uint32_t i = 0; i < it.count; i++) {
            const Pin* p = orr_read_pinned(&it, Pin, i);
            n += p != NULL;
            pins_wrong += p != NULL && p->v != 7;
        }
    }
    pins += n;
}
static void pin_churn(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        if (orr_random(run->tick, orr_iter_entity(run, i).id, 0, 0) % 4 == 0) {
            orr_send_destroy(run, orr_iter_entity(run, i));
            orr_entity e = orr_send_create(run);
            orr_send_add(run, e, Pin, {7});
            orr_send_add(run, e, Tree, {0, 0});
        }
    }
}
ORR_TEST(realtime_found_shared_query_of_pinned_types)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    ORR_REGISTER(world, Tree, Pin);
    for (uint32_t i = 0; i < 3000; i++) {
        orr_entity e = orr_create(world);
        orr_set(world, e, Pin, {7});
        orr_set(world, e, Tree, {0, 0});
    }
    shared = orr_query_text(world, "Pin, Tree");
    CHECK(shared != NULL);
    hard_pipe(world, "a", 0, false);
    hard_pipe(world, "b", 0, false);
    KIT_SYSTEM(world, .name = "churn", .query = "Tree", .creates = "Pin, Tree", .destroys = "Tree",
               .run = pin_churn);
    KIT_SYSTEM(world, .name = "x", .pipeline = "a", .once = true, .any = "Pin, Tree", .alone = true,
               .run = pin_loop);
    KIT_SYSTEM(world, .name = "y", .pipeline = "b", .once = true, .any = "Pin, Tree", .alone = true,
               .run = pin_loop);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 100}));
    printf("    %u pins, %u wrong; %s\n", (unsigned)pins, (unsigned)pins_wrong, k.errors.text);
    kit_end(&k);
}

// ---- 10: looking at others from a system ---------------------------------------------------------------------------------------------
static void look_enabled(orr_run* run)
{
    orr_system s = orr_system_find(run->world, "doze");
    reads += orr_system_enabled(run->world, s);
    orr_pipeline_stats stats = {0};
    (void)orr_pipeline_stats_get(run->world, orr_pipeline_find(run->world, "a"), &stats);
    reads += stats.tick;
    orr_journal_entry entries[4];
    reads += orr_journal_get(run->world, (orr_entity){0}, entries, 4);
}
static void toggle(orr_run* run)
{
    (void)orr_system_enable(run->world, orr_system_find(run->world, "doze"), run->tick % 2 == 0);
}
ORR_TEST(realtime_found_system_looks_at_others)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    trees_add(world, 50);
    CHECK_OK(orr_journal_set(world, 100));
    hard_pipe(world, "c", 0, false);
    KIT_SYSTEM(world, .name = "doze", .pipeline = "a", .query = "Fruit", .run = doze);
    KIT_SYSTEM(world, .name = "toggle", .pipeline = "a", .once = true, .any = "Fruit",
               .run = toggle);
    KIT_SYSTEM(world, .name = "lookat", .pipeline = "c", .once = true, .any = "Fruit",
               .run = look_enabled);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 60}));
    printf("    %s\n", k.errors.text);
    k.errors = (kit_errors){0};
    kit_end(&k);
}

// ---- 11: a replay that differs in a pinned value, or in a state --------------------------------------------------------------
static uint64_t outside_number;
static void differ_pin(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++)
        orr_write_pinned(run, Pin, i)->v = outside_number++;
}
static void differ_state(orr_run* run)
{
    orr_own(run, Count)->count = outside_number++;
}
static void differ_tree(orr_run* run)
{
    orr_write(run, Tree)[0].tick = outside_number++;
}
static orr_world* differ_world(kit* k, int what)
{
    orr_world* world = hard_begin(k, 0);
    ORR_REGISTER(world, Tree, Pin, Count);
    orr_entity e = orr_create(world);
    orr_set(world, e, Tree, {0, 0});
    orr_set(world, e, Pin, {0});
    hard_pipe(world, "a", 100, false);
    if (what == 0)
        KIT_SYSTEM(world, .name = "d", .query = "write Tree", .run = differ_tree);
    if (what == 1)
        KIT_SYSTEM(world, .name = "d", .query = "write Pin", .run = differ_pin);
    if (what == 2)
        KIT_SYSTEM(world, .name = "d", .query = "Tree", .state = ORR_TYPE(Count),
                   .run = differ_state);
    return world;
}
static void differs(int what)
{
    kit k;
    orr_recording* rec = orr_recording_create();
    outside_number = 1;
    orr_world* world = differ_world(&k, what);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 10, .record = rec, .hashes = true}));
    uint64_t hash = orr_world_hash(world);
    kit_end(&k);
    world = differ_world(&k, what);
    orr_result result = orr_realtime(world, &(orr_realtime_desc){.replay = rec});
    printf("    %s, end %s\n", orr_result_name(result),
           orr_world_hash(world) == hash ? "same" : "differs");
    k.errors = (kit_errors){0};
    kit_end(&k);
    orr_recording_destroy(rec);
    CHECK_RESULT(result, ORR_ERR_CONFLICT);
}
ORR_TEST(realtime_found_replay_that_differs_is_found)
{
    differs(0);
}
ORR_TEST(realtime_found_replay_that_differs_in_a_pinned_value_is_found)
{
    differs(1);
}
ORR_TEST(realtime_found_replay_that_differs_in_a_state_is_found)
{
    differs(2);
}

// ---- 12: imports looked up anew in a meeting -----------------------------------------------------------------------------------
static void exports(orr_run* run)
{
    orr_export(run, Count)->count = run->tick;
}
static void imports(orr_run* run)
{
    reads += orr_import(run, "exp", Count)->count;
}
static void remove_and_print(orr_world* world, void* data)
{
    static char text[4096];
    (void)data;
    (void)orr_system_remove(world, orr_system_find(world, "exp"));
    (void)orr_plan_print(world, text, sizeof text);
}
static void post_remove(orr_run* run)
{
    if (run->tick == 5)
        (void)orr_post_meeting(run->world, remove_and_print, NULL, 0);
}
ORR_TEST(realtime_found_plan_made_in_a_meeting_leaks_nothing)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    ORR_REGISTER(world, Tree, Count);
    orr_set(world, orr_create(world), Tree, {0, 0});
    hard_pipe(world, "a", 100, false);
    KIT_SYSTEM(world, .name = "exp", .query = "Tree", .exports = ORR_TYPE(Count), .run = exports);
    KIT_SYSTEM(world, .name = "imp", .pipeline = "a", .query = "Tree", .imports = "exp",
               .run = imports);
    KIT_SYSTEM(world, .name = "post", .once = true, .any = "Tree", .run = post_remove);
    orr_result result = orr_realtime(world, &(orr_realtime_desc){.ticks = 10});
    printf("    %s: %s\n", orr_result_name(result), k.errors.text);
    k.errors = (kit_errors){0};
    kit_end(&k);
}

// ---- 13: every allocation of a beginning, with everything there is; and recordings that are full ------------------------------------
static void vine_grow(orr_run* run)
{
    Cable* c = orr_write(run, Cable);
    for (uint32_t i = 0; i < run->count; i++) {
        c[i].x = run->tick;
        c[i].twice = 2 * run->tick;
    }
}
static void vine_look(orr_run* run)
{
    const Cable* c = orr_read(run, Cable);
    Other* o = orr_write(run, Other);
    for (uint32_t i = 0; i < run->count; i++)
        o[i].x = o[i].x * 31 + c[i].x;
    reads += orr_import(run, "exp", Count)->count;
}
static orr_world* all_world(kit* k)
{
    orr_world* world = hard_begin(k, 0);
    trees_add(world, 30);
    ORR_REGISTER(world, Cable, Other, Count);
    for (uint32_t i = 0; i < 5; i++) {
        orr_entity e = orr_create(world);
        orr_set(world, e, Cable, {0, 0});
        orr_set(world, e, Other, {0});
    }
    KIT_SYSTEM(world, .name = "exp", .query = "Tree", .exports = ORR_TYPE(Count), .run = exports);
    KIT_SYSTEM(world, .name = "vine", .pipeline = "a", .query = "write Cable", .run = vine_grow);
    KIT_SYSTEM(world, .name = "vlook", .pipeline = "b", .query = "Cable, write Other",
               .imports = "exp", .run = vine_look);
    return world;
}
ORR_TEST(realtime_found_beginnings_refused)
{
    uint32_t full = 0, wrong = 0, ok = 0;
    bool refused = true;
    for (uint64_t n = 1; refused && n < 900; n++) {
        kit k;
        orr_recording* rec = orr_recording_create();
        orr_world* world = all_world(&k);
        failing_alloc_arm(&k.memory, n, false);
        orr_result result = orr_realtime(
            world,
            &(orr_realtime_desc){.ticks = 6, .record = rec, .hashes = true, .lock_trace = 50});
        refused = k.memory.refused > 0;
        failing_alloc_arm(&k.memory, 0, false);
        CHECK(result == ORR_OK || result == ORR_ERR_MEMORY);
        ok += result == ORR_OK;
        k.errors = (kit_errors){0};
        orr_result again = orr_realtime(world, &(orr_realtime_desc){.ticks = 2});
        if (again != ORR_OK)
            printf("    after %u: %s\n", (unsigned)n, k.errors.text);
        CHECK_OK(orr_world_validate(world));
        k.errors = (kit_errors){0};
        kit_end(&k);
        orr_recording_stats stats;
        orr_recording_stats_get(rec, &stats);
        if (stats.full) {
            full++;
            world = all_world(&k);
            orr_result replay = orr_realtime(world, &(orr_realtime_desc){.replay = rec});
            if (replay != ORR_OK) {
                wrong++;
                printf("    %u full, replay: %s %s\n", (unsigned)n, orr_result_name(replay),
                       k.errors.text);
            }
            k.errors = (kit_errors){0};
            kit_end(&k);
        }
        orr_recording_destroy(rec);
    }
    printf("    %u ok, %u full, %u of them do not replay\n", ok, full, wrong);
    CHECK_EQ(wrong, 0);
}

// ---- 14: a handler that ends the run -------------------------------------------------------------------------------------------
static orr_platform few;
static _Atomic uint32_t few_left;
static int few_thread_create(void* user, const char* name, void (*run)(void* arg), void* arg,
                             orr_thread* out)
{
    const orr_platform* p = orr_platform_default();
    if (few_left == 0)
        return 11;
    few_left--;
    return p->thread_create(user, name, run, arg, out);
}
static void stop_on_error(void* user, orr_world* world, const orr_error* error)
{
    (void)user;
    (void)error;
    orr_stop(world);
}
ORR_TEST(realtime_found_handler_that_stops_when_a_thread_is_missing)
{
    few = *orr_platform_default();
    few.thread_create = few_thread_create;
    few_left = 1;
    orr_world* world = orr_world_create(
        &(orr_world_desc){.platform = &few, .rate_hz = 100, .on_error = stop_on_error});
    hard_pipe(world, "a", 100, false);
    CHECK_RESULT(orr_realtime(world, NULL), ORR_ERR_STATE);
    orr_world_destroy(world);
}
ORR_TEST(realtime_found_replay_with_a_missing_thread_ends)
{
    orr_recording* rec = orr_recording_create();
    few = *orr_platform_default();
    few.thread_create = few_thread_create;
    for (int i = 0; i < 2; i++) {
        few_left = i == 0 ? 10 : 1;
        orr_world* world = orr_world_create(&(orr_world_desc){.platform = &few, .rate_hz = 100});
        hard_pipe(world, "a", 100, false);
        orr_result result = orr_realtime(
            world, &(orr_realtime_desc){
                       .ticks = 5, .record = i == 0 ? rec : NULL, .replay = i == 0 ? NULL : rec});
        printf("    %s\n", orr_result_name(result));
        orr_world_destroy(world);
    }
    orr_recording_destroy(rec);
}

// ---- 15: impure systems are kept in recordings, says schedule.h ------------------------------------------------------------------

// ---- 16: the words of a replay that differs ----------------------------------------------------------------------------------------
ORR_TEST(realtime_found_last_error_of_a_replay_that_differs)
{
    kit k;
    orr_recording* rec = orr_recording_create();
    orr_world* world = differ_world(&k, 0);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 10, .record = rec, .hashes = true}));
    kit_end(&k);
    world = differ_world(&k, 0);
    CHECK_RESULT(orr_realtime(world, &(orr_realtime_desc){.replay = rec}), ORR_ERR_CONFLICT);
    printf("    orr_error_last: '%s'\n    handler, last: '%s'\n", orr_error_last(world),
           k.errors.text);
    k.errors = (kit_errors){0};
    kit_end(&k);
    orr_recording_destroy(rec);
}

// ---- 17: changed terms across runs and steps -----------------------------------------------------------------------------------------
static _Atomic uint64_t written_sum, changed_seen;
static void sometimes(orr_run* run)
{
    if (run->tick % 7 == 0) {
        Tree* t = orr_write(run, Tree);
        t[0].tick = run->tick;
        written_sum = run->tick;
    }
}
static void changed_look(orr_run* run)
{
    changed_seen = orr_read(run, Tree)[0].tick;
}
ORR_TEST(realtime_found_changed_across_runs_and_steps)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    ORR_REGISTER(world, Tree);
    orr_set(world, orr_create(world), Tree, {0, 0});
    hard_pipe(world, "a", 230, false);
    hard_pipe(world, "b", 190, false);
    KIT_SYSTEM(world, .name = "some", .pipeline = "a", .query = "write Tree", .run = sometimes);
    KIT_SYSTEM(world, .name = "chg", .pipeline = "b", .query = "changed Tree", .run = changed_look);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 150; i++) {
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 1 + i % 9}));
        uint64_t w = written_sum;
        // Two whole ticks of b later, with nothing written, it has to know.
        orr_system s = orr_system_find(world, "some");
        orr_system_enable(world, s, false);
        CHECK_OK(orr_step(world, 4));
        wrong += changed_seen != w;
        orr_system_enable(world, s, true);
        if (i % 3 == 0)
            CHECK_OK(orr_step(world, 1 + i % 5));
    }
    printf("    %u of 150 wrong\n", wrong);
    kit_end(&k);
    CHECK_EQ(wrong, 0);
}

// ---- 18: observers are no part of a recording ----------------------------------------------------------------------------------------

// ---- 19: a send that is refused is returned ---------------------------------------------------------------------------------------------
static void send_refused(orr_run* run)
{
    if (run->tick == 3)
        failing_alloc_arm(&abandon_kit->memory, 1, true);
    for (uint32_t i = 0; i < (run->tick == 3 ? 60000u : 100u); i++) {
        orr_entity e = orr_send_create(run);
        orr_send_add(run, e, Plain, {{1}});
    }
    if (run->tick == 3)
        failing_alloc_arm(&abandon_kit->memory, 0, false);
}
ORR_TEST(realtime_found_refused_send_is_returned)
{
    for (int i = 0; i < 2; i++) {
        kit k = {0};
        abandon_kit = &k;
        orr_world* world = kit_begin(&k, &(orr_world_desc){.rate_hz = 200});
        orr_police_set(world, ORR_POLICE_CALLS);
        ORR_REGISTER(world, Plain);
        hard_pipe(world, "a", 200, false);
        KIT_SYSTEM(world, .name = "s", .once = true, .creates = "Plain", .creates_max = 100000,
                   .every = 2, .run = send_refused);
        orr_result result = i == 0 ? orr_step(world, 5)
                                   : orr_realtime(world, &(orr_realtime_desc){.ticks = 5});
        printf("    %s: %s, %u entities, tick %u; %.100s\n", i == 0 ? "steps" : "real time",
               orr_result_name(result), (unsigned)orr_entity_count(world),
               (unsigned)orr_world_tick(world), k.errors.text);
        k.errors = (kit_errors){0};
        kit_end(&k);
    }
}

// ---- 20: a loop over a kept order that was left open ------------------------------------------------------------------------------
ORR_STRUCT(Deep, (float, z))
static orr_query* ordered;
static _Atomic uint32_t order_wrong, order_looked;
static void deep_write(orr_run* run)
{
    Deep* d = orr_write(run, Deep);
    for (uint32_t i = 0; i < run->count; i++)
        d[i].z = (float)(orr_run_random(run, orr_iter_entity(run, i)) % 1000);
}
static void deep_sloppy(orr_run* run)
{
    orr_iter it;
    if (run->tick == 2) {
        orr_iter_begin(&it, ordered, NULL);
        (void)orr_iter_next(
            &it); // "A loop left without orr_iter_end() stays open until the next tick."
    }
}
static void deep_check(orr_run* run)
{
    float last = -1;
    if (run->tick < 4)
        return;
    order_looked++;
    ORR_EACH (it, ordered) {
        const Deep* d = orr_read(&it, Deep);
        for (uint32_t i = 0; i < it.count; i++) {
            order_wrong += d[i].z < last;
            last = d[i].z;
        }
    }
}
ORR_TEST(realtime_found_loop_over_an_order_left_open)
{
    for (int i = 0; i < 2; i++) {
        kit k;
        orr_world* world = hard_begin(&k, 0);
        ORR_REGISTER(world, Deep);
        for (uint32_t e = 0; e < 50; e++)
            orr_set(world, orr_create(world), Deep, {0});
        ordered = orr_query_create(
            world, &(orr_query_desc){ORR_TERMS(ORR_R(world, Deep)), .order_by = "Deep.z"});
        CHECK(ordered != NULL);
        hard_pipe(world, "a", 100, false);
        KIT_SYSTEM(world, .name = "w", .query = "write Deep", .run = deep_write);
        KIT_SYSTEM(world, .name = "s", .once = true, .alone = true, .any = "Deep",
                   .run = deep_sloppy);
        KIT_SYSTEM(world, .name = "c", .once = true, .alone = true, .any = "Deep",
                   .run = deep_check);
        order_wrong = order_looked = 0;
        if (i == 0)
            CHECK_OK(orr_step(world, 20));
        else
            CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 20}));
        printf("    %s: %u wrong in %u looks; %s\n", i == 0 ? "steps" : "real time", order_wrong,
               order_looked, k.errors.text);
        k.errors = (kit_errors){0};
        kit_end(&k);
    }
}

// ---- 21: sets of many clusters ---------------------------------------------------------------------------------------------------------
ORR_STRUCT_EX(L1, (.live = true), (uint64_t, v))
ORR_STRUCT_EX(L2, (.live = true), (uint64_t, v))
static void nothing(orr_run* run)
{
    (void)run;
}
ORR_TEST(realtime_found_sets_of_many_clusters)
{
    for (uint32_t clusters = 1000; clusters <= 4000; clusters *= 2) {
        for (int early = 0; early < 2; early++) {
            kit k = {0};
            orr_world* world = kit_begin(&k, &(orr_world_desc){.rate_hz = 10});
            orr_police_set(world, ORR_POLICE_CALLS);
            ORR_REGISTER(world, L1, L2, Tree);
            for (uint32_t i = 0; i < clusters; i++) {
                orr_entity e = orr_create(world);
                orr_set(world, e, L1, {0});
                orr_set(world, e, L2, {0});
                orr_tag_add(world, e, i + 1);
            }
            orr_set(world, orr_create(world), Tree, {0, 0});
            hard_pipe(world, "p", 400, false);
            hard_pipe(world, "z", 0, false);
            KIT_SYSTEM(world, .name = "w", .query = "write L1, write L2", .run = nothing);
            KIT_SYSTEM(world, .name = "p", .pipeline = "p", .query = early ? "L2" : "L1",
                       .run = nothing);
            KIT_SYSTEM(world, .name = "q", .pipeline = "p",
                       .query = early ? "Tree, ?L1" : "Tree, ?L2", .run = nothing);
            KIT_SYSTEM(world, .name = "z", .pipeline = "z", .query = "Tree", .run = nothing);
            orr_realtime(world, &(orr_realtime_desc){.ticks = 6});
            orr_wait_stats s;
            orr_wait_stats_get(world, orr_pipeline_find(world, "z"), &s);
            printf("    %u clusters, %s: a bystander waits %.2f ms for its turn at most\n",
                   clusters, early ? "L2 first" : "L1 first", (double)s.turn_longest_ns * 1e-6);
            k.errors = (kit_errors){0};
            kit_end(&k);
        }
    }
}

// ---- 22: a run that ended by a refusal, replayed ------------------------------------------------------------------------------------------
ORR_TEST(realtime_found_recording_of_a_run_that_was_refused)
{
    kit k = {0};
    orr_recording* rec = orr_recording_create();
    abandon_world(&k, "a");
    CHECK_RESULT(orr_realtime(k.world, &(orr_realtime_desc){.record = rec}), ORR_ERR_MEMORY);
    failing_alloc_arm(&k.memory, 0, false);
    k.errors = (kit_errors){0};
    kit_end(&k);
    orr_recording_stats stats;
    orr_recording_stats_get(rec, &stats);
    abandon_world(&k, "a");
    static kit unused;
    abandon_kit = &unused;
    orr_result result = orr_realtime(k.world, &(orr_realtime_desc){.replay = rec});
    printf("    %u ticks, full %d; replay: %s %s\n", (unsigned)stats.ticks, stats.full,
           orr_result_name(result), k.errors.text);
    k.errors = (kit_errors){0};
    kit_end(&k);
    orr_recording_destroy(rec);
}

// ---- 23: what a start callback sees of another pipeline's tick under way ---------------------------------------------------------------
ORR_STRUCT(Pair, (uint64_t, a), (uint64_t, b))
static _Atomic uint32_t half_seen, starts;
static orr_entity pair_entity;
static void pair_first(orr_run* run)
{
    orr_write(run, Pair)[0].a = run->tick;
    hard_sleep(500000);
}
static void pair_mid(orr_run* run)
{
    (void)run;
}
static void pair_second(orr_run* run)
{
    hard_sleep(500000);
    orr_write(run, Pair)[0].b = run->tick;
}
static void pair_start(orr_run* run)
{
    const Pair* p = orr_get(run->world, pair_entity, Pair);
    starts += p != NULL;
    half_seen += p != NULL && p->a != p->b;
}
static void pair_toggle(orr_run* run)
{
    (void)orr_system_enable(run->world, orr_system_find(run->world, "look"), run->tick % 2 == 0);
}
ORR_TEST(realtime_found_start_sees_whole_ticks)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    ORR_REGISTER(world, Pair, Tree);
    pair_entity = orr_create(world);
    orr_set(world, pair_entity, Pair, {0, 0});
    hard_pipe(world, "a", 0, false);
    hard_pipe(world, "b", 300, false);
    KIT_SYSTEM(world, .name = "first", .pipeline = "a", .query = "write Pair", .run = pair_first);
    KIT_SYSTEM(world, .name = "mid", .pipeline = "a", .once = true, .alone = true, .any = "Pair",
               .run = pair_mid);
    KIT_SYSTEM(world, .name = "second", .pipeline = "a", .query = "write Pair", .run = pair_second);
    KIT_SYSTEM(world, .name = "look", .pipeline = "b", .once = true, .any = "Pair", .run = nothing,
               .start = pair_start);
    KIT_SYSTEM(world, .name = "toggle", .once = true, .any = "Tree", .run = pair_toggle);
    orr_realtime(world, &(orr_realtime_desc){.ticks = 100});
    printf("    %u starts, %u saw half a tick; %s\n", starts, half_seen, k.errors.text);
    k.errors = (kit_errors){0};
    kit_end(&k);
}
