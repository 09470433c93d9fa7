// SPDX-License-Identifier: MIT
// History in unusual orders: actions between travelling back and forward, from within calls, while
// recording, and with objects created later.
#include "history/history_kit.h"
#include <math.h>
#include <orrery/replay.h>
#include <orrery/traveller.h>

// ---- between travelling back and continuing -----------------------------------------------------

// At tick 0, with tick 5 remembered.
static orr_world* begin_back(kit* k)
{
    orr_world* world = begin_going(k);
    CHECK_OK(orr_remember(world));
    KIT_STEP(world, 5);
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_time_travel(world, 0));
    return world;
}

ORR_TEST(travel_forward_after_a_remembered_change_runs_the_new_timeline)
{
    kit k = {0};
    orr_world* world = begin_back(&k);
    CHECK_OK(orr_set(world, first, Position, {100, 0, 0}));
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_time_travel(world, 5));
    CHECK(x_of(world, first) == 105);
    kit_end(&k);
}

ORR_TEST(travel_forward_after_a_change_in_a_forgotten_tick_runs_the_new_timeline)
{
    kit k = {0};
    orr_world* world = begin_back(&k);
    CHECK_OK(orr_forget(world, 0));
    CHECK_OK(orr_set(world, first, Position, {100, 0, 0}));
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_time_travel(world, 5));
    CHECK(x_of(world, first) == 105);
    kit_end(&k);
}

ORR_TEST(remembering_an_unchanged_tick_keeps_later_ticks)
{
    kit k = {0};
    orr_world* world = begin_back(&k);
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_time_travel(world, 5));
    CHECK_EQ(stats_of(world).ticks_run, 0);
    CHECK(x_of(world, first) == 5);
    kit_end(&k);
}

static void put_hundred(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    CHECK_OK(orr_set(world, first, Position, {100, 0, 0}));
}

ORR_TEST(travel_forward_with_a_posted_call_runs_the_new_timeline)
{
    kit k = {0};
    orr_world* world = begin_back(&k);
    CHECK_OK(orr_post(world, put_hundred, NULL, 0));
    CHECK_OK(orr_time_travel(world, 5));
    CHECK(x_of(world, first) == 105);
    kit_end(&k);
}

ORR_TEST(travel_forward_after_a_system_was_disabled_runs_the_new_timeline)
{
    kit k = {0};
    orr_world* world = begin_back(&k);
    CHECK_OK(orr_system_enable(world, orr_system_find(world, "go"), false));
    CHECK_OK(orr_time_travel(world, 5));
    CHECK_EQ(orr_world_tick(world), 5);
    CHECK(x_of(world, first) == 0);
    kit_end(&k);
}

ORR_TEST(travel_forward_after_a_system_was_added_runs_it)
{
    kit k = {0};
    orr_world* world = begin_back(&k);
    KIT_SYSTEM(world, .name = "go_too", .query = "write Position", .run = go);
    CHECK_OK(orr_time_travel(world, 5));
    CHECK(x_of(world, first) == 10);
    kit_end(&k);
}

// ---- from within calls --------------------------------------------------------------------------

static orr_result call_results[4];

static void call_history(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    call_results[0] = orr_time_travel(world, 2);
    call_results[1] = orr_remember(world);
    call_results[2] = orr_forget(world, 2);
    call_results[3] = orr_history_set(world, &(orr_history_desc){.recent = 3});
}

ORR_TEST(travel_in_a_posted_call_in_lockstep_is_refused)
{
    kit k = {0};
    orr_world* world = begin_going(&k);
    KIT_STEP(world, 2);
    CHECK_OK(orr_remember(world));
    KIT_STEP(world, 3);
    CHECK_OK(orr_post(world, call_history, NULL, 0));
    (void)orr_step(world, 1);
    CHECK_RESULT(call_results[0], ORR_ERR_STATE);
    CHECK_EQ(orr_world_tick(world), 6);
    CHECK(x_of(world, first) == 6);
    k.errors = (kit_errors){0};
    kit_end(&k);
}

static void call_ahead(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    call_results[0] = orr_time_travel(world, orr_world_tick(world) + 2);
}

ORR_TEST(travel_forward_in_a_posted_call_is_refused)
{
    kit k = {0};
    orr_world* world = begin_going(&k);
    KIT_STEP(world, 2);
    CHECK_OK(orr_post(world, call_ahead, NULL, 0));
    KIT_STEP_REFUSED(world, 1);
    CHECK_RESULT(call_results[0], ORR_ERR_STATE);
    CHECK_EQ(orr_world_tick(world), 3);
    k.errors = (kit_errors){0};
    kit_end(&k);
}

static bool show_travels(void* user, orr_world* world)
{
    (void)user;
    if (orr_world_tick(world) == 5) {
        call_history(world, NULL, 0);
    }
    return true;
}

ORR_TEST(history_in_on_tick_of_a_replay_is_safe)
{
    kit k = {0}, k2 = {0};
    orr_recording* recording = orr_recording_create();
    orr_world* world = begin_going(&k);
    CHECK_OK(orr_record(world, recording, &(orr_record_desc){.hash_every = 1}));
    KIT_STEP(world, 2);
    CHECK_OK(orr_post(world, put_hundred, NULL, 0));
    KIT_STEP(world, 8);
    CHECK_OK(orr_record_end(world));
    kit_end(&k);
    orr_world* again = begin_going(&k2);
    CHECK_OK(orr_history_set(again, &(orr_history_desc){.recent = 100}));
    orr_replay_report report;
    orr_result result =
        orr_replay(again, recording, &(orr_replay_desc){.on_tick = show_travels}, &report);
    CHECK_OK(result);
    CHECK_RESULT(call_results[0], ORR_ERR_STATE);
    CHECK_EQ(orr_world_tick(again), 10);
    CHECK_EQ(report.ticks, 10);
    k2.errors = (kit_errors){0};
    kit_end(&k2);
    orr_recording_destroy(recording);
}

// ---- recordings ---------------------------------------------------------------------------------

// A continuous pipeline and a second one.
static orr_world* begin_two(kit* k)
{
    orr_world* world = begin_going(k);
    CHECK(orr_pipeline_add(world, &(orr_pipeline_desc){.name = "slow", .rate_hz = 90}).id != 0);
    CHECK_OK(orr_set(world, first, Velocity, {0}));
    KIT_SYSTEM(world, .name = "slow_go", .pipeline = "slow", .query = "Velocity",
               .run = kit_run_nothing);
    return world;
}

ORR_TEST(recording_of_a_continuous_world_that_travelled_back_is_complete)
{
    kit k = {0}, k2 = {0};
    orr_recording* recording = orr_recording_create();
    orr_world* world = begin_two(&k);
    CHECK_OK(orr_record(world, recording, &(orr_record_desc){.hash_every = 1}));
    uint64_t then = 0;
    for (uint32_t i = 0; i < 10; i++) {
        if (i == 3) {
            CHECK_OK(orr_remember(world));
            then = orr_world_tick(world);
        }
        CHECK_OK(orr_update(world, 1000000 * (i + 1)));
    }
    CHECK_OK(orr_time_travel(world, then));
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_OK(orr_update(world, 3000000 * (i + 1)));
    }
    CHECK_OK(orr_record_end(world));
    orr_recording_stats stats;
    orr_recording_stats_get(recording, &stats);
    CHECK(!stats.changed);
    kit_end(&k);
    world = begin_two(&k2);
    CHECK_OK(orr_replay(world, recording, NULL, NULL));
    kit_end(&k2);
    orr_recording_destroy(recording);
}

ORR_TEST(recording_of_a_world_that_travelled_back_and_forward_is_complete)
{
    kit k = {0}, k2 = {0};
    orr_recording* recording = orr_recording_create();
    orr_world* world = begin_going(&k);
    CHECK_OK(orr_record(world, recording, &(orr_record_desc){.hash_every = 1}));
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 100}));
    KIT_STEP(world, 6);
    CHECK_OK(orr_time_travel(world, 2));
    CHECK_OK(orr_post(world, put_hundred, NULL, 0));
    CHECK_OK(orr_time_travel(world, 9));
    CHECK_OK(orr_record_end(world));
    CHECK(x_of(world, first) == 107);
    kit_end(&k);
    world = begin_going(&k2);
    CHECK_OK(orr_replay(world, recording, NULL, NULL));
    CHECK(x_of(world, first) == 107);
    kit_end(&k2);
    orr_recording_destroy(recording);
}

// ---- the budget ---------------------------------------------------------------------------------

ORR_STRUCT(Ledger, (uint64_t, sums, 4096))

static void keep_ledger(orr_run* run)
{
    orr_state(run, Ledger)->sums[run->tick % 4096]++;
}

ORR_TEST(budget_counts_states_of_systems)
{
    kit k = {0};
    orr_world* world = begin_going(&k);
    ORR_REGISTER(world, Ledger);
    KIT_SYSTEM(world, .name = "ledger", .once = true, .run = keep_ledger,
               .state = ORR_TYPE(Ledger));
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 1000, .bytes_max = 1 << 20}));
    KIT_STEP(world, 200);
    orr_history_stats stats = stats_of(world);
    CHECK(stats.ticks <= 33);
    CHECK(stats.ticks >= 10);
    kit_end(&k);
}

// ---- one entity ---------------------------------------------------------------------------------

static orr_world* begin_traveller(kit* k)
{
    orr_world* world = begin(k);
    first = make(world, 0);
    CHECK_OK(orr_add(world, first, orr_time_traveller));
    for (uint64_t i = 0; i < 3; i++) {
        CHECK_OK(orr_set(world, first, Position, {(float)i, 0, 0}));
        CHECK_OK(orr_entity_remember(world, first, i));
    }
    CHECK(orr_stretcher_add(world, NULL).id != 0);
    return world;
}

ORR_TEST(stretcher_with_a_nan_rate_stays_and_continues_later)
{
    kit k = {0};
    orr_world* world = begin_traveller(&k);
    const double rates[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 1e300, -1e300};
    for (uint32_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        CHECK_OK(orr_time_stretch(world, first, 0));
        orr_edit(world, first, orr_time_stretcher)->rate = rates[i];
        (void)orr_step(world, 3);
        CHECK(orr_get(world, first, orr_time_stretcher)->position == 0);
        CHECK_EQ(orr_get(world, first, orr_time_stretcher)->state, ORR_STRETCH_OUTSIDE_SLOTS);
        CHECK_OK(orr_world_validate(world));
    }
    orr_edit(world, first, orr_time_stretcher)->rate = 1;
    orr_edit(world, first, orr_time_stretcher)->push = 0;
    (void)orr_step(world, 1);
    CHECK(orr_get(world, first, orr_time_stretcher)->position == 1);
    k.errors = (kit_errors){0};
    kit_end(&k);
}

ORR_TEST(stretcher_at_the_maximum_slot_has_a_time)
{
    kit k = {0};
    orr_world* world = begin_traveller(&k);
    CHECK_OK(orr_entity_remember(world, first, UINT64_MAX));
    CHECK_OK(orr_time_stretch(world, first, 0x1p64));
    (void)orr_step(world, 1);
    CHECK(orr_get(world, first, orr_time_stretcher)->position == 0x1p64);
    CHECK(orr_time_of(world, first) == UINT64_MAX);
    kit_end(&k);
}

ORR_TEST(stretcher_that_drives_itself_or_a_dead_entity_is_safe)
{
    kit k = {0};
    orr_world* world = begin_traveller(&k);
    CHECK_OK(orr_time_stretch(world, first, 1));
    orr_entity dead = orr_create(world);
    CHECK_OK(orr_time_stretch(world, dead, 1));
    CHECK_OK(orr_time_derivate(world, first, dead));
    CHECK_OK(orr_destroy(world, dead));
    (void)orr_step(world, 2);
    orr_edit(world, first, orr_time_stretcher)->drives = first;
    (void)orr_step(world, 2);
    CHECK_OK(orr_world_validate(world));
    k.errors = (kit_errors){0};
    kit_end(&k);
}

ORR_TEST(entity_travel_too_far_forward_is_refused)
{
    kit k = {0};
    orr_world* world = begin_traveller(&k);
    CHECK_RESULT(orr_entity_travel(world, first, UINT64_MAX), ORR_ERR_ARGUMENT);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "ticks ahead");
    CHECK_EQ(orr_time_of(world, first), 0);
    kit_end(&k);
}

// ---- objects created later ----------------------------------------------------------------------

ORR_STRUCT(LateValue, (float, a), (orr_string, text))
ORR_STRUCT(LateLink, (orr_entity, to))

ORR_TEST(types_tags_names_and_clusters_of_later_ticks_are_undone)
{
    kit k = {0};
    orr_world* world = begin_going(&k);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Position",
               .run = kit_note_messages);
    KIT_STEP(world, 2);
    CHECK_OK(orr_remember(world));
    uint64_t hash = orr_world_hash(world);
    for (uint32_t round = 0; round < 3; round++) {
        ORR_REGISTER(world, LateValue, LateLink);
        orr_entity late = make(world, 4);
        CHECK_OK(orr_set(world, late, LateValue, {1, orr_string_make(world, "later")}));
        CHECK_OK(orr_set(world, late, LateLink, {first}));
        CHECK_OK(orr_name_set(world, late, (orr_entity){0}, "late"));
        CHECK_OK(orr_tag_register(world, 77, "late.tag"));
        CHECK_OK(orr_tag_add(world, late, 77));
        CHECK_OK(orr_set(world, orr_world_entity(world), LateValue, {2, {0}}));
        orr_query* query = orr_query_text(world, "LateValue");
        KIT_STEP(world, 2);
        CHECK_OK(orr_remember(world));
        uint64_t later = orr_world_hash(world);
        CHECK_OK(orr_clusters_delete(world, &(orr_cluster_match){0}, NULL));
        CHECK_OK(orr_time_travel(world, 4));
        CHECK(orr_world_hash(world) == later);
        CHECK(orr_get(world, late, LateValue)->a == 1);
        CHECK_OK(orr_time_travel(world, 2));
        CHECK(orr_world_hash(world) == hash);
        uint32_t count = 0;
        ORR_EACH (it, query) {
            count += it.count;
        }
        CHECK_EQ(count, 0);
        CHECK(!orr_alive(world, late));
        CHECK_OK(orr_time_travel(world, 4));
        CHECK(orr_world_hash(world) == later);
        CHECK_OK(orr_time_travel(world, 2));
        CHECK_OK(orr_world_validate(world));
        orr_query_destroy(query);
    }
    kit_end(&k);
}

ORR_TEST(world_with_memories_of_all_kinds_is_destroyed_cleanly)
{
    kit k = {0};
    orr_world* world = begin_traveller(&k);
    ORR_REGISTER(world, LateValue);
    CHECK_OK(orr_set(world, first, LateValue, {1, orr_string_make(world, "text")}));
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = UINT32_MAX, .every = 1}));
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Position",
               .run = kit_note_messages);
    for (uint32_t i = 0; i < 6; i++) {
        KIT_STEP(world, 1);
        CHECK_OK(orr_set(world, first, LateValue, {1, orr_string_make(world, "other")}));
    }
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 5, .bytes_max = 1}));
    CHECK_EQ(stats_of(world).ticks, 1);
    KIT_STEP(world, 3);
    CHECK_EQ(stats_of(world).ticks, 1);
    CHECK_OK(orr_time_travel(world, orr_world_tick(world)));
    kit_end(&k);
}

// ---- queries that outlive travels ---------------------------------------------------------------

enum {
    POOL = 600,
    QUERIES = 7
};

typedef struct lives {
    orr_world* world;
    orr_query* queries[QUERIES];
    orr_query* changed; // Blocks written since `mark` update the mirror.
    uint64_t mark;
    float mirror[POOL * 8];
    orr_entity made[POOL];
    uint32_t made_count;
} lives;

static uint64_t lives_key(void* user, const orr_world* world, orr_cluster cluster)
{
    (void)user;
    orr_cluster_info info;
    CHECK_OK(orr_cluster_info_get(world, cluster, &info));
    return info.type_count % 2;
}

static orr_query* lives_query(orr_world* world, uint32_t i)
{
    static const char* const texts[QUERIES] = {"Position",          "Position", "Position, !Frozen",
                                               "disabled Position", "either *", "Position, #9",
                                               "Velocity|Health"};
    orr_query_desc desc = {.text = texts[i]};
    desc.order_by = i == 1 ? "Position.x" : NULL;
    desc.group_by = i == 2 ? lives_key : NULL;
    orr_query* query = orr_query_create(world, &desc);
    CHECK(query != NULL);
    return query;
}

static orr_entity lives_some(const lives* l)
{
    orr_entity some = l->made_count > 0 ? l->made[test_random() % l->made_count] : (orr_entity){0};
    return orr_alive(l->world, some) ? some : (orr_entity){0};
}

static void lives_make(lives* l)
{
    for (uint32_t i = 0; i < 1 + test_random() % 40; i++) {
        orr_entity entity = make(l->world, (float)(test_random() % 50));
        l->made[l->made_count < POOL ? l->made_count++ : test_random() % POOL] = entity;
    }
}

static void lives_change(lives* l)
{
    orr_world* world = l->world;
    orr_entity some = lives_some(l);
    uint64_t what = test_random() % 16;
    if (what == 0) {
        lives_make(l);
    } else if (what == 1) {
        CHECK_OK(orr_query_add(l->queries[2], orr_type_of(world, ORR_TYPE(Frozen)), NULL));
    } else if (what == 2 && test_random() % 4 == 0) {
        CHECK_OK(orr_query_destroy_entities(l->queries[6]));
    } else if (what == 3) {
        (void)orr_create_transient(world);
    }
    if (some.id == 0) {
        return;
    }
    bool has = orr_has(world, some, Position);
    if (what == 4) {
        CHECK_OK(orr_destroy(world, some));
    } else if (what == 5 && has) {
        orr_edit(world, some, Position)->x = (float)(test_random() % 50);
    } else if (what == 6) {
        CHECK_OK(orr_add(world, some, Velocity));
    } else if (what == 7 && orr_has(world, some, Velocity)) {
        CHECK_OK(orr_remove(world, some, Velocity));
    } else if (what == 8 && has) {
        CHECK_OK(orr_enable(world, some, Position, test_random() % 2));
    } else if (what == 9) {
        CHECK_OK(orr_entity_enable(world, some, test_random() % 2));
    } else if (what == 10) {
        CHECK_OK(orr_tag_add(world, some, 9));
    } else if (what == 11) {
        CHECK_OK(orr_set(world, some, Health, {1, 0}));
    } else if (what == 12) {
        CHECK(orr_copy(world, some).id != 0);
    } else if (what == 13 && test_random() % 8 == 0) {
        CHECK_OK(orr_cluster_delete(world, orr_entity_cluster(world, some)));
    } else if (what == 14 && has) {
        CHECK_OK(orr_remove(world, some, Position));
    } else if (what == 15 && orr_has(world, some, Frozen)) {
        CHECK_OK(orr_remove(world, some, Frozen));
    }
}

static void lives_check(lives* l)
{
    static orr_entity a[POOL * 8], b[POOL * 8];
    for (uint32_t i = 0; i < QUERIES; i++) {
        orr_query* fresh = lives_query(l->world, i);
        uint64_t count = orr_query_entities(fresh, 0, a, POOL * 8);
        CHECK_EQ(orr_query_entities(l->queries[i], 0, b, POOL * 8), count);
        CHECK(memcmp(a, b, count * sizeof *a) == 0);
        orr_query_destroy(fresh);
    }
    ORR_EACH_OF (it, l->changed, .since = l->mark) {
        const Position* p = orr_read(&it, Position);
        for (uint32_t i = 0; i < it.count; i++) {
            l->mirror[(uint32_t)orr_iter_entity(&it, i).id % (POOL * 8)] = p[i].x;
        }
    }
    l->mark = orr_change_mark(l->world);
    orr_query* all = orr_query_text(l->world, "Position");
    ORR_EACH (it, all) {
        const Position* p = orr_read(&it, Position);
        for (uint32_t i = 0; i < it.count; i++) {
            CHECK(l->mirror[(uint32_t)orr_iter_entity(&it, i).id % (POOL * 8)] == p[i].x);
        }
    }
    orr_query_destroy(all);
}

// A remembered tick and its content.
typedef struct lives_past {
    uint64_t hash, at[QUERIES];
} lives_past;

static lives_past lives_now(const lives* l)
{
    static orr_entity list[POOL * 8];
    lives_past now = {.hash = orr_world_hash(l->world)};
    for (uint32_t i = 0; i < QUERIES; i++) {
        uint64_t count = orr_query_entities(l->queries[i], 0, list, POOL * 8);
        now.at[i] = orr_hash(list, count * sizeof *list, count);
    }
    return now;
}

static void lives_run(lives* l, uint32_t steps)
{
    static lives_past past[4096];
    orr_world* world = l->world;
    for (uint32_t i = 0; i < steps; i++) {
        uint64_t tick = orr_world_tick(world),
                 back = tick - test_random() % (tick < 12 ? tick + 1 : 12);
        for (uint32_t n = 0; n < test_random() % 6; n++) {
            lives_change(l);
        }
        switch (test_random() % 6) {
        case 0:
            CHECK_OK(orr_remember(world));
            past[tick] = lives_now(l);
            break;
        case 1:
            if (orr_remembered(world, back)) {
                CHECK_OK(orr_time_travel(world, back));
                lives_past now = lives_now(l);
                CHECK(memcmp(&now, &past[back], sizeof now) == 0);
            }
            break;
        case 2:
            (void)orr_forget_range(world, back, back, 0);
            break;
        default:
            KIT_STEP(world, 1);
        }
        lives_check(l);
    }
}

ORR_TEST(queries_after_travels_equal_new_queries)
{
    static lives l;
    for (uint32_t round = 0; round < 2; round++) {
        kit k = {0};
        memset(&l, 0, sizeof l);
        l.world = begin_going(&k);
        CHECK_OK(orr_tag_register(l.world, 9, "nine"));
        for (uint32_t i = 0; i < QUERIES; i++) {
            l.queries[i] = lives_query(l.world, i);
        }
        l.changed = orr_query_text(l.world, "changed Position");
        lives_run(&l, 400);
        CHECK_OK(orr_world_validate(l.world));
        CHECK_STR(k.errors.text, "");
        kit_end(&k);
    }
}

// ---- memory -------------------------------------------------------------------------------------

// Sends nothing: a refused send would lose data of the world.
static orr_world* begin_writing(kit* k)
{
    kit_line[0] = '\0';
    orr_world* world = kit_begin(k, &(orr_world_desc){.workers = 2, .rate_hz = 60});
    ORR_REGISTER(world, Position, Velocity);
    for (uint32_t i = 0; i < 6000; i++) {
        first = make(world, 0);
    }
    KIT_SYSTEM(world, .name = "go", .query = "write Position", .parallel = true, .run = go);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Position",
               .run = kit_run_nothing);
    return world;
}

ORR_TEST(world_whose_history_has_no_memory_runs_unchanged)
{
    kit plain = {0}, k = {0};
    orr_world *world = begin_writing(&k), *other = begin_writing(&plain);
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 3}));
    uint32_t refused = 0;
    for (uint64_t n = 1; n < 60; n++) {
        KIT_STEP(other, 1);
        failing_alloc_arm(&k.memory, n, n % 2);
        orr_result result = orr_step(world, 1);
        refused += k.memory.refused != 0;
        failing_alloc_arm(&k.memory, 0, false);
        if (orr_tick_open(world)) {
            CHECK_RESULT(result, ORR_ERR_MEMORY);
            KIT_STEP(world, 1);
        }
        while (orr_world_tick(other) < orr_world_tick(world)) {
            KIT_STEP(other, 1);
        }
        while (orr_world_tick(world) < orr_world_tick(other)) {
            KIT_STEP(world, 1);
        }
        if (n % 5 == 0) {
            CHECK(orr_world_hash(world) == orr_world_hash(other));
            uint64_t tick = orr_world_tick(world), back = tick - test_random() % 3;
            if (orr_remembered(world, back)) {
                CHECK_OK(orr_time_travel(world, back));
                CHECK_OK(orr_time_travel(world, tick));
                CHECK(orr_world_hash(world) == orr_world_hash(other));
            }
        }
    }
    CHECK(refused > 10);
    CHECK_OK(orr_world_validate(world));
    k.errors = (kit_errors){0};
    kit_end(&k);
    kit_end(&plain);
}

// ---- runs of different programs -----------------------------------------------------------------

ORR_STRUCT(Purse, (uint64_t, sum))

static void keep_purse(orr_run* run)
{
    orr_state(run, Purse)->sum += 0;
}

// Records three ticks of a world whose system has a large or a small state.
static void desync_of(kit* k, orr_recording* recording, bool much)
{
    orr_world* world = begin_going(k);
    if (much) {
        KIT_SYSTEM(world, .name = "keeper", .once = true, .run = keep_ledger,
                   .state = ORR_TYPE(Ledger));
    } else {
        KIT_SYSTEM(world, .name = "keeper", .once = true, .run = keep_purse,
                   .state = ORR_TYPE(Purse));
    }
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_record(world, recording, &(orr_record_desc){.hash_every = 1}));
    KIT_STEP(world, 3);
    CHECK_OK(orr_record_end(world));
}

ORR_TEST(desync_of_worlds_with_different_states_is_safe)
{
    kit a = {0}, b = {0};
    orr_recording *first_run = orr_recording_create(), *second_run = orr_recording_create();
    desync_of(&a, first_run, true);
    desync_of(&b, second_run, false);
    orr_desync found;
    char text[1024];
    CHECK_OK(orr_desync_find(a.world, first_run, b.world, second_run, &found));
    CHECK(found.differ);
    orr_desync_print(&found, text, sizeof text);
    CHECK_CONTAINS(text, "differs");
    CHECK_CONTAINS(text, "the state of a system");
    kit_end(&a);
    kit_end(&b);
    orr_recording_destroy(first_run);
    orr_recording_destroy(second_run);
}

static void desync_at(orr_world* world, orr_world* other, const orr_recording* a,
                      const orr_recording* b, orr_result expected)
{
    orr_desync found;
    orr_result result = orr_desync_find(world, a, other, b, &found);
    CHECK_RESULT(result, expected);
}

ORR_TEST(desync_of_worlds_at_wrong_ticks_is_refused_or_found)
{
    kit a = {0}, b = {0};
    orr_recording *one = orr_recording_create(), *two = orr_recording_create();
    orr_recording* none = orr_recording_create();
    orr_world *world = begin_going(&a), *other = begin_going(&b);
    KIT_STEP(world, 3);
    KIT_STEP(other, 3);
    CHECK_OK(orr_record(world, one, &(orr_record_desc){.hash_every = 1}));
    CHECK_OK(orr_record(other, two, &(orr_record_desc){.hash_every = 1}));
    desync_at(world, other, one, two, ORR_ERR_STATE); // Still recording.
    KIT_STEP(world, 4);
    KIT_STEP(other, 2);
    CHECK_OK(orr_set(other, first, Position, {1, 2, 3}));
    KIT_STEP(other, 2);
    CHECK_OK(orr_record_end(world));
    CHECK_OK(orr_record_end(other));
    desync_at(world, other, one, none, ORR_ERR_STATE);
    desync_at(world, other, one, two, ORR_ERR_PAST); // Nothing is remembered.
    KIT_STEP(world, 5);
    desync_at(world, other, one, two, ORR_ERR_PAST);
    kit early = {0};
    orr_world* third = begin_going(&early); // At an earlier tick.
    desync_at(third, other, one, two, ORR_ERR_PAST);
    a.errors = b.errors = early.errors = (kit_errors){0};
    kit_end(&early);
    kit_end(&a);
    kit_end(&b);
    orr_recording_destroy(one);
    orr_recording_destroy(two);
    orr_recording_destroy(none);
}

// ---- recording while the history has no memory --------------------------------------------------

ORR_TEST(recording_continues_when_a_remembered_tick_is_lost)
{
    kit k = {0};
    orr_recording* recording = orr_recording_create();
    orr_world* world = begin_going(&k);
    uint64_t lost = 0;
    KIT_STEP(world, 2);
    for (uint64_t n = 1; n < 16 && lost == 0; n++) {
        CHECK_OK(orr_record(world, recording, NULL));
        CHECK_OK(orr_remember(world));
        failing_alloc_arm(&k.memory, n, false);
        CHECK_OK(orr_step(world, 1));
        failing_alloc_arm(&k.memory, 0, false);
        KIT_STEP(world, 2);
        CHECK_OK(orr_record_end(world));
        lost = stats_of(world).lost;
    }
    CHECK_EQ(lost, 1);
    orr_recording_stats stats;
    orr_recording_stats_get(recording, &stats);
    CHECK_EQ(stats.ticks, 3);
    CHECK(!stats.refused);
    k.errors = (kit_errors){0};
    kit_end(&k);
    orr_recording_destroy(recording);
}

// ---- mirrors ------------------------------------------------------------------------------------

// A copy of the world outside of it, by entity index alone.
typedef struct mirror {
    orr_entity by_index[64];
    uint32_t removed_first; // EntityRemoved before any EntityAdded of one travel.
    bool added;
} mirror;

static void mirror_receive(orr_run* run)
{
    mirror* m = orr_run_user(run);
    m->added = false;
    ORR_MESSAGES(message, run)
    {
        for (uint32_t i = 0; i < message->count; i++) {
            uint32_t index = (uint32_t)message->entities[i].id % 64;
            if (message->kind == ORR_ENTITY_ADDED) {
                m->by_index[index] = message->entities[i];
                m->added = true;
            } else if (message->kind == ORR_ENTITY_REMOVED) {
                m->by_index[index] = (orr_entity){0};
                m->removed_first += message->cause == ORR_CAUSE_TRAVEL && !m->added;
            }
        }
    }
}

ORR_TEST(travel_removes_an_entity_from_mirrors_before_it_adds_one_with_the_same_index)
{
    kit k = {0};
    mirror copy = {0};
    orr_world* world = kit_begin(&k, NULL);
    ORR_REGISTER(world, Position);
    KIT_SYSTEM(world, .name = "mirror", .kind = ORR_INDIRECT, .query = "Position", .user = &copy,
               .run = mirror_receive);
    orr_entity old[4];
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), 4, NULL, 0, old));
    KIT_STEP(world, 1);
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_destroy_many(world, old, 4));
    KIT_STEP(world, 1);
    orr_entity fresh[4];
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), 4, NULL, 0, fresh));
    KIT_STEP(world, 1);
    CHECK_OK(orr_remember(world));
    CHECK_EQ((uint32_t)fresh[0].id, (uint32_t)old[3].id); // The same indexes.
    CHECK_OK(orr_time_travel(world, 1));
    KIT_STEP(world, 1);
    for (uint32_t i = 0; i < 4; i++) {
        CHECK(orr_alive(world, old[i]));
        CHECK_EQ(copy.by_index[(uint32_t)old[i].id % 64].id, old[i].id);
    }
    CHECK_EQ(copy.removed_first, 4);
    kit_end(&k);
}
