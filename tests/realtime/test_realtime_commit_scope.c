// SPDX-License-Identifier: MIT
// Commits while other systems loop. A commit waits only for systems that loop over the clusters in
// its commit scope. Values and messages that are read meanwhile are whole. A commit that needs more
// than the clusters in its scope gets them.
#include "realtime/hard_kit.h"
#include "schedule/tick/overlap_kit.h"

ORR_STRUCT(Rock, (uint64_t, value), (uint64_t, twice))
ORR_STRUCT(Dust, (uint64_t, value), (uint64_t, twice))
ORR_STRUCT(Spark, (uint64_t, value))
ORR_STRUCT(Glow, (uint64_t, value))
ORR_STRUCT(Mark0, (uint32_t, value))
ORR_STRUCT(Mark1, (uint32_t, value))
ORR_STRUCT(Mark2, (uint32_t, value))

static _Atomic uint32_t scope_commits; // Groups of the creating pipeline that began after a commit.
static _Atomic bool scope_inside;
static uint32_t scope_overlapped, scope_late;
static _Atomic uint32_t scope_rows;

static void scope_reset(void)
{
    scope_commits = 0;
    scope_inside = false;
    scope_overlapped = scope_late = 0;
    scope_rows = 0;
}

static orr_world* scope_begin(kit* k, uint32_t rocks)
{
    scope_reset();
    orr_world* world = hard_begin(k, 0);
    hard_pipe(world, "walk", 0, false);
    ORR_REGISTER(world, Rock, Dust, Spark, Glow, Mark0, Mark1, Mark2);
    for (uint32_t i = 0; i < rocks; i++) {
        CHECK_OK(orr_set(world, orr_create(world), Rock, {1, 2}));
    }
    return world;
}

static void scope_count(orr_run* run)
{
    scope_commits++;
    if (run->tick > 400) {
        orr_stop(run->world);
    }
}

static void scope_spark(orr_run* run)
{
    orr_send_add(run, orr_send_create(run), Spark, {run->tick});
}

// Keeps its rows until two more commits were made, if commits can be made meanwhile. The first
// commits cannot: their scope is not known yet.
static void scope_wait(orr_run* run)
{
    const orr_platform* platform = orr_platform_default();
    uint64_t patience = *(const uint64_t*)orr_run_settings(run);
    uint32_t before = scope_commits;
    if (before < 10) {
        return;
    }
    uint64_t until = platform->clock_ns(NULL) + patience;
    while (scope_commits < before + 3 && platform->clock_ns(NULL) < until) {
        platform->thread_yield(NULL);
    }
    if (scope_commits >= before + 3) {
        scope_overlapped++;
    } else {
        scope_late++;
    }
    if (scope_overlapped + scope_late >= 5) {
        orr_stop(run->world);
    }
}

static void scope_run_waiting(bool own_rows, const char* query, uint64_t patience_ns, kit* k)
{
    orr_world* world = scope_begin(k, 10);
    KIT_SYSTEM(world, .name = "spark", .once = true, .creates = "Spark", .creates_max = 1,
               .run = scope_spark);
    KIT_SYSTEM(world, .name = "count", .once = true, .by_id = "Spark", .run = scope_count);
    KIT_SYSTEM(world, .name = "wait", .pipeline = "walk", .query = query, .own_rows = own_rows,
               .settings = &patience_ns, .run = scope_wait);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.lock_trace = 200}));
}

static const char* scope_trace(const kit* k)
{
    static char text[1 << 22];
    (void)orr_lock_trace_print(k->world, text, sizeof text);
    return text;
}

/* N0-53 */
ORR_TEST(scoped_commit_does_not_wait_for_a_system_with_other_clusters)
{
    kit k;
    scope_run_waiting(true, "write Rock", RENDEZVOUS_TIMEOUT_NS, &k);
    CHECK_EQ(scope_overlapped, 5);
    const char* text = scope_trace(&k);
    CHECK_CONTAINS(text, "wait: registry read within taken");
    CHECK_CONTAINS(text, "wait: rows of cluster");
    CHECK_CONTAINS(text, "commit: registry write within taken");
    CHECK_CONTAINS(text, "commit: index exclusive taken");
    hard_end(&k);
}

// The opposite of the first test: shows that its result is no accident.
ORR_TEST(scoped_commit_waits_for_a_system_that_may_read_any_row)
{
    kit k;
    scope_run_waiting(false, "write Rock", 30000000, &k);
    CHECK_EQ(scope_overlapped, 0);
    hard_end(&k);
}

ORR_TEST(scoped_commit_waits_for_a_system_that_loops_over_its_cluster)
{
    kit k;
    scope_run_waiting(true, "Spark", 30000000, &k);
    CHECK_EQ(scope_overlapped, 0);
    CHECK(scope_late > 0);
    hard_end(&k);
}

// ---- everything at once -------------------------------------------------------------------------

static void storm_walk(orr_run* run)
{
    Rock* rocks = orr_write(run, Rock);
    for (uint32_t i = 0; i < run->count; i++) {
        HARD_CHECK(rocks[i].twice == 2 * rocks[i].value, "a rock is torn");
        HARD_CHECK(orr_iter_entity(run, i).id != 0, "a rock without an id");
        rocks[i].value++;
        rocks[i].twice += 2;
    }
    scope_rows += run->count;
}

// Reads published values of other pipelines, in clusters that commits touch and in others.
static void storm_look(orr_run* run)
{
    const Rock* rocks = orr_read(run, Rock);
    const Dust* dust = orr_read(run, Dust);
    for (uint32_t i = 0; i < run->count; i++) {
        HARD_CHECK(rocks == NULL || rocks[i].twice == 2 * rocks[i].value, "a rock is seen torn");
        HARD_CHECK(dust == NULL || dust[i].twice == 2 * dust[i].value, "dust is seen torn");
    }
}

static void storm_stir(orr_run* run)
{
    Dust* dust = orr_write(run, Dust);
    for (uint32_t i = 0; i < run->count; i++) {
        dust[i].value += i;
        dust[i].twice = 2 * dust[i].value;
    }
}

// Creates entities, now and then in a new cluster.
static void storm_create(orr_run* run)
{
    uint64_t random = orr_run_random(run, (orr_entity){0});
    uint32_t count = random % 7 == 0 ? 600 : 3;
    for (uint32_t i = 0; i < count; i++) {
        orr_entity entity = orr_send_create(run);
        orr_send_add(run, entity, Dust, {i, 2 * i});
        if (random % 11 == 0) {
            orr_send_add(run, entity, Mark0, {i});
        }
        if (random % 13 == 0) {
            orr_send_add(run, entity, Mark1, {i});
        }
        if (random % 17 == 0) {
            // Into clusters that other systems loop over.
            orr_send_add(run, entity, Rock, {i, 2 * i});
        }
    }
    if (run->tick == *(const uint64_t*)orr_run_settings(run)) {
        orr_stop(run->world);
    }
}

static void storm_change(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        uint64_t random = orr_run_random(run, entity);
        if (random % 64 == 0) {
            orr_send_destroy(run, entity);
        } else if (random % 64 == 1) {
            orr_send_add(run, entity, Mark2, {1});
        } else if (random % 64 == 2) {
            orr_send_remove(run, entity, Mark2);
        } else if (random % 1024 == 3) {
            orr_send_enable_type(run, entity, (orr_type){0}, 0, false);
        }
    }
}

// A mirror built from messages: which entities are alive, and the sum of their values.
typedef struct storm_mirror {
    uint32_t living;
    uint64_t received;
    uint32_t generations[1 << 18]; // By index; the generation of a live entity, or 0.
} storm_mirror;

static void storm_mirror_note(storm_mirror* mirror, const orr_run* run, const orr_message* m)
{
    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t index = (uint32_t)m->entities[i].id & ((1 << 18) - 1);
        uint32_t generation = (uint32_t)(m->entities[i].id >> 32);
        uint32_t* known = &mirror->generations[index];
        bool adds = m->kind == ORR_ENTITY_ADDED;
        HARD_CHECK(*known == (adds ? 0 : generation),
                   "tick %u: entity %u is reported as %s (cause %u, %u of them), it was %u then",
                   (unsigned)run->tick, (unsigned)index, adds ? "new" : "gone", (unsigned)m->cause,
                   (unsigned)m->count, (unsigned)*known);
        *known = adds ? generation : 0;
    }
    mirror->living += m->kind == ORR_ENTITY_ADDED ? m->count : 0;
    mirror->living -= m->kind == ORR_ENTITY_REMOVED ? m->count : 0;
}

// Works also after its queue overflowed, which may happen when its pipeline is late: then it
// receives everything again.
static void storm_receive_again(orr_run* run)
{
    memset(orr_run_user(run), 0, sizeof(storm_mirror));
}

static void storm_receive(orr_run* run)
{
    storm_mirror* mirror = orr_run_user(run);
    ORR_MESSAGES(m, run)
    {
        if (m->kind == ORR_ENTITY_ADDED || m->kind == ORR_ENTITY_REMOVED) {
            storm_mirror_note(mirror, run, m);
        }
        const Rock* rocks = orr_values(m, Rock);
        for (uint32_t i = 0; rocks != NULL && i < m->count; i++) {
            HARD_CHECK(rocks[i].twice == 2 * rocks[i].value, "a message has a torn rock");
        }
        mirror->received += m->count;
    }
}

static uint64_t storm_entities(orr_world* world, const char* text)
{
    orr_query* query = orr_query_text(world, text);
    uint64_t count = orr_query_count(query);
    orr_query_destroy(query);
    return count;
}

static void storm_add(orr_world* world, const uint64_t* ticks, storm_mirror* mirrors)
{
    hard_pipe(world, "draw", 0, true);
    hard_pipe(world, "hear", 100, false);
    KIT_SYSTEM(world, .name = "create", .once = true, .creates = "Dust, Mark0, Mark1, Rock",
               .creates_max = 600, .settings = ticks, .run = storm_create);
    KIT_SYSTEM(world, .name = "stir", .query = "write Dust", .run = storm_stir);
    KIT_SYSTEM(world, .name = "change", .query = "Dust", .destroys = "Dust", .adds = "Mark2",
               .removes = "Mark2", .switches = "*", .run = storm_change);
    KIT_SYSTEM(world, .name = "walk", .pipeline = "walk", .query = "write Rock", .own_rows = true,
               .parallel = true, .run = storm_walk);
    KIT_SYSTEM(world, .name = "look", .pipeline = "draw", .query = "?Rock, ?Dust, !Mark2",
               .own_rows = true, .run = storm_look);
    KIT_SYSTEM(world, .name = "look_dust", .pipeline = "draw", .query = "Dust, ?Rock",
               .own_rows = true, .run = storm_look);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .pipeline = "hear",
               .query = "?Rock, ?Dust", .user = &mirrors[0], .start = storm_receive_again,
               .run = storm_receive);
    KIT_SYSTEM(world, .name = "hear_rocks", .kind = ORR_INDIRECT, .pipeline = "hear",
               .query = "Rock, !Mark2", .user = &mirrors[1], .start = storm_receive_again,
               .run = storm_receive);
}

static void storm_run(uint32_t workers, uint32_t rocks, uint64_t ticks)
{
    kit k;
    static storm_mirror mirrors[2];
    memset(mirrors, 0, sizeof mirrors);
    scope_reset();
    orr_world* world = hard_begin(&k, workers);
    hard_pipe(world, "walk", 0, false);
    ORR_REGISTER(world, Rock, Dust, Spark, Glow, Mark0, Mark1, Mark2);
    for (uint32_t i = 0; i < rocks; i++) {
        CHECK_OK(orr_set(world, orr_create(world), Rock, {i, 2 * (uint64_t)i}));
    }
    storm_add(world, &ticks, mirrors);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.lock_trace = 5000}));
    if (strstr(k.errors.text, "the message queue of system 'hear") != NULL) {
        k.errors = (kit_errors){0}; // On a busy machine: see storm_receive_again().
    }
    CHECK_OK(orr_world_validate(world));
    CHECK(scope_rows > 0);
    CHECK_CONTAINS(scope_trace(&k), "commit: registry write within taken");
    // In lockstep, with no more sends, all waiting messages are delivered.
    CHECK_OK(orr_system_enable(world, orr_system_find(world, "create"), false));
    CHECK_OK(orr_system_enable(world, orr_system_find(world, "change"), false));
    CHECK_OK(orr_step(world, 10));
    CHECK_EQ(mirrors[0].living, storm_entities(world, "?Rock, ?Dust"));
    CHECK_EQ(mirrors[1].living, storm_entities(world, "Rock, !Mark2"));
    hard_end(&k);
}

ORR_TEST(scoped_commits_during_loops_leave_a_consistent_world)
{
    static const uint32_t workers[] = {0, 2, 3};
    for (uint32_t i = 0; i < 3; i++) {
        storm_run(workers[i], 3000, test_rounds(300, 60, 3000));
    }
}

// Lists that systems read grow meanwhile: pages of the index (at 32,768 entities) and chunks that
// views hold.
ORR_TEST(scoped_commits_grow_clusters_that_running_systems_read)
{
    storm_run(0, 32000, test_rounds(120, 60, 1000));
}

// ---- refusals -----------------------------------------------------------------------------------

static void scope_glow(orr_run* run)
{
    Glow* glow = orr_write(run, Glow);
    for (uint32_t i = 0; i < run->count; i++) {
        glow[i].value++;
    }
}

// Memory is refused to a scoped commit or to the publisher. The tick stays open and continues when
// it is called again.
ORR_TEST(scoped_commits_without_memory_lose_nothing)
{
    uint32_t refusals = 0, most = test_rounds(150, 40, 1500);
    for (uint32_t n = 1; n <= most; n++) {
        kit k;
        orr_world* world = scope_begin(&k, 5);
        hard_pipe(world, "draw", 0, true);
        KIT_SYSTEM(world, .name = "spark", .once = true, .creates = "Spark, Glow", .creates_max = 1,
                   .run = scope_spark);
        KIT_SYSTEM(world, .name = "glow", .query = "write Glow", .run = scope_glow);
        KIT_SYSTEM(world, .name = "wait", .pipeline = "walk", .query = "write Rock",
                   .own_rows = true, .run = kit_run_nothing);
        KIT_SYSTEM(world, .name = "look", .pipeline = "draw", .query = "Rock", .own_rows = true,
                   .run = kit_run_nothing);
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 3}));
        failing_alloc_arm(&k.memory, n, n % 3 == 0);
        orr_result result = orr_realtime(world, &(orr_realtime_desc){.ticks = 5});
        uint64_t lost = k.memory.refused > 0 ? 5 : 0; // Sends that are refused.
        refusals += lost > 0;
        failing_alloc_arm(&k.memory, 0, false);
        CHECK(result == ORR_OK || result == ORR_ERR_MEMORY);
        CHECK_OK(kit_realtime_recover(world, 1));
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 3}));
        CHECK_OK(orr_world_validate(world));
        // One entity for each tick that began and whose send was not refused.
        orr_pipeline_stats stats;
        CHECK_OK(orr_pipeline_stats_get(world, orr_pipeline_find(world, "main"), &stats));
        CHECK(storm_entities(world, "Spark") + lost >= stats.tick);
        k.errors = (kit_errors){0};
        hard_end(&k);
    }
    CHECK(refusals > 10);
}

// ---- calls that are refused to systems with own_rows --------------------------------------------

static orr_entity scope_other;
static orr_address scope_address;

static void scope_peek(orr_run* run)
{
    const char* what = orr_run_settings(run);
    if (strcmp(what, "alive") == 0) {
        CHECK(!orr_alive(run->world, scope_other));
    } else if (strcmp(what, "count") == 0) {
        CHECK_EQ(orr_entity_count(run->world), 0);
    } else if (strcmp(what, "print") == 0) {
        char text[64];
        orr_entity_print(run->world, scope_other, text, sizeof text);
        CHECK_CONTAINS(text, "not readable here");
    } else if (strcmp(what, "clusters") == 0) {
        CHECK_EQ(orr_clusters_find(run->world, &(orr_cluster_match){0}, NULL, 0), 0);
    } else if (strcmp(what, "next") == 0) {
        CHECK_EQ(orr_cluster_next(run->world, (orr_cluster){0}).id, 0);
    } else if (strcmp(what, "find") == 0) {
        orr_type rock = orr_type_of(run->world, ORR_TYPE(Rock));
        CHECK_EQ(orr_cluster_find(run->world, &(orr_cluster_desc){&rock, 1, NULL, 0, NULL}).id, 0);
    } else if (strcmp(what, "address") == 0) {
        CHECK(!orr_address_valid(run->world, &scope_address));
    } else {
        CHECK(orr_get(run->world, scope_other, Rock) == NULL);
    }
}

ORR_TEST(own_rows_system_that_reads_other_rows_is_named)
{
    static const char* const peeks[] = {"alive", "count", "print",   "get",
                                        "next",  "find",  "address", "clusters"};
    for (uint32_t i = 0; i < ORRI_COUNT(peeks); i++) {
        kit k;
        orr_world* world = scope_begin(&k, 2);
        scope_other = orr_create(world);
        CHECK_OK(orr_address_get(world, scope_other, &scope_address));
        KIT_SYSTEM(world, .name = "peek", .query = "Rock", .own_rows = true, .settings = peeks[i],
                   .run = scope_peek);
        CHECK_RESULT(orr_step(world, 1), ORR_ERR_STATE);
        CHECK_CONTAINS(k.errors.text, "system 'peek'");
        orr_system_stats stats;
        CHECK_OK(orr_system_stats_get(world, orr_system_find(world, "peek"), &stats));
        CHECK(stats.violations > 0);
        k.errors = (kit_errors){0};
        hard_end(&k);
    }
}

ORR_TEST(own_rows_system_that_sends_or_declares_by_id_is_refused)
{
    kit k;
    orr_world* world = scope_begin(&k, 1);
    const orr_system_desc wrong[] = {
        {.name = "a", .query = "Rock", .own_rows = true, .by_id = "Dust", .run = kit_run_nothing},
        {.name = "b", .query = "Rock", .own_rows = true, .creates = "Dust", .run = kit_run_nothing},
        {.name = "c", .query = "Rock", .own_rows = true, .once = true, .run = kit_run_nothing},
        {.name = "d",
         .query = "Rock",
         .own_rows = true,
         .kind = ORR_INDIRECT,
         .run = kit_run_nothing}};
    for (uint32_t i = 0; i < ORRI_COUNT(wrong); i++) {
        k.errors = (kit_errors){0};
        CHECK_EQ(orr_system_add(world, &wrong[i]).id, 0);
        CHECK_CONTAINS(k.errors.text, "remove .own_rows");
    }
    k.errors = (kit_errors){0};
    hard_end(&k);
}
