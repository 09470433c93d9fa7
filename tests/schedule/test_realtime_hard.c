// SPDX-License-Identifier: MIT
// Real time where it is hard: several observers that create, queues that run over, meetings in which everything changes, many pipelines, many entities,
// memory that fails, and runs that begin where another was refused.
#include "schedule/schedule_kit.h"

#include <orrery/orrery.h>
#include <stdatomic.h>
#include <stdlib.h>

ORR_STRUCT(Tree, (uint64_t, tick), (uint64_t, twice))
ORR_STRUCT(Fruit, (uint64_t, seen))
ORR_STRUCT(Text, (orr_string, text), (uint32_t, number))
ORR_STRUCT(Fallen, (uint64_t, number))
ORR_STRUCT(Count, (uint64_t, count), (uint64_t, last))

static _Atomic uint32_t hard_faults;

#define HARD_CHECK(condition, ...)                                   \
    do {                                                             \
        if (!(condition) && atomic_fetch_add(&hard_faults, 1) < 5) { \
            printf("    %s:%d: ", __FILE__, __LINE__);               \
            printf(__VA_ARGS__);                                     \
            printf("\n");                                            \
        }                                                            \
    } while (0)

static void hard_end(kit* k)
{
    CHECK_EQ(atomic_exchange(&hard_faults, 0), 0);
    CHECK_STR(k->errors.text, "");
    kit_end(k);
}

static orr_world* hard_begin(kit* k, uint32_t workers)
{
    *k = (kit){0};
    orr_world* world = kit_begin(k, &(orr_world_desc){.rate_hz = 200, .workers = workers});
    orr_police_set(world, ORR_POLICE_CALLS);
    CHECK_OK(orr_time_wish(world, 5));
    return world;
}

static void hard_pipe(orr_world* world, const char* name, double rate_hz, bool observer)
{
    orr_pipeline_desc desc = {.name = name, .rate_hz = rate_hz, .observer = observer};
    CHECK(orr_pipeline_add(world, &desc).index1 != 0);
}

static void hard_sleep(uint64_t ns)
{
    const orr_platform* platform = orr_platform_default();
    platform->sleep_ns(platform->user, ns);
}

// ---- a small world: a writes, b reads, the first one creates and destroys -----------------------------------------------------

static void tree_grow(orr_run* run)
{
    Tree* t = orr_write(run, Tree);
    for (uint32_t i = 0; i < run->count; i++) {
        t[i].tick = run->tick;
        t[i].twice = 2 * run->tick;
    }
}

static void tree_look(orr_run* run)
{
    const Tree* t = orr_read(run, Tree);
    Fruit* f = orr_write(run, Fruit);
    for (uint32_t i = 0; i < run->count; i++) {
        HARD_CHECK(t[i].twice == 2 * t[i].tick, "a tree is torn");
        f[i].seen = f[i].seen * 31 + t[i].tick;
    }
}

static void tree_churn(orr_run* run)
{
    const Tree* t = orr_read(run, Tree);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        if (orr_random(run->tick, entity.id, 0, 0) % 50 == 0) {
            HARD_CHECK(t[i].twice == 2 * t[i].tick, "a tree is torn");
            orr_send_destroy(run, entity);
            orr_entity fresh = orr_send_create(run);
            orr_send_add(run, fresh, Tree, {0, 0});
            orr_send_add(run, fresh, Fruit, {entity.id});
        }
    }
}

static void tree_hear(orr_run* run)
{
    Count* c = orr_own(run, Count);
    ORR_MESSAGES(m, run)
    {
        c->count += m->count;
    }
}

static void trees_add(orr_world* world, uint32_t rows)
{
    ORR_REGISTER(world, Tree, Fruit);
    hard_pipe(world, "a", 400, false);
    hard_pipe(world, "b", 300, false);
    orr_cluster cluster = KIT_CLUSTER(world, Tree, Fruit);
    CHECK_OK(orr_create_many(world, cluster, rows, NULL, 0, NULL));
    KIT_SYSTEM(world, .name = "churn", .query = "Tree, Fruit", .creates = "Tree, Fruit",
               .destroys = "Tree", .run = tree_churn);
    KIT_SYSTEM(world, .name = "grow", .pipeline = "a", .query = "write Tree", .run = tree_grow);
    KIT_SYSTEM(world, .name = "look", .pipeline = "b", .query = "Tree, write Fruit",
               .run = tree_look);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .pipeline = "b", .query = "Tree",
               .state = ORR_TYPE(Count), .run = tree_hear);
}

// ---- observers that create ------------------------------------------------------------------------------------------------------

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

// Looks at what the other one makes.
static void smoke_sees(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        const Spark* s = orr_read_pinned(run, Spark, i);
        HARD_CHECK(s->number > 0, "an empty spark");
    }
}

static orr_world* observers_begin(kit* k, uint32_t workers)
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

ORR_TEST(realtime_two_observers_create)
{
    kit k;
    for (uint32_t workers = 0; workers <= 2; workers += 2) {
        orr_recording* recording = orr_recording_create();
        orr_world* world = observers_begin(&k, workers);
        CHECK_OK(orr_realtime(
            world, &(orr_realtime_desc){.ticks = 40, .record = recording, .hashes = true}));
        CHECK(orr_transient_count(world) > 0 && orr_transient_count(world) < 50);
        CHECK_OK(orr_world_validate(world));
        uint64_t hash = orr_world_hash(world), transient = orr_transient_count(world);
        CHECK_OK(orr_step(world, 5));
        hard_end(&k);
        world = observers_begin(&k, workers);
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.replay = recording}));
        CHECK(orr_world_hash(world) == hash);
        CHECK_EQ(orr_transient_count(world), transient);
        hard_end(&k);
        orr_recording_destroy(recording);
    }
}

// ---- queues ------------------------------------------------------------------------------------------------------------------------

static void fall(orr_run* run)
{
    Count* c = orr_own(run, Count);
    for (uint32_t i = 0; i < 4; i++) {
        orr_send_event(run, Fallen, {++c->count});
    }
}

static void gather(orr_run* run)
{
    Count* c = orr_own(run, Count);
    uint32_t count;
    const Fallen* f = orr_events(run, Fallen, &count);
    for (uint32_t i = 0; i < count; i++) {
        HARD_CHECK(f[i].number > c->last, "event %u after %u", (unsigned)f[i].number,
                   (unsigned)c->last);
        c->last = f[i].number;
        c->count++;
    }
    hard_sleep(20000000);
}

ORR_TEST(realtime_a_slow_receiver_holds_nobody_up)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    ORR_REGISTER(world, Fallen, Count);
    hard_pipe(world, "slow", 0, false);
    CHECK_OK(orr_events_limit(world, KIT_TYPE(world, Fallen), 16));
    KIT_SYSTEM(world, .name = "fall", .once = true, .state = ORR_TYPE(Count), .sends = "Fallen",
               .run = fall);
    orr_system system = KIT_SYSTEM(world, .name = "gather", .pipeline = "slow", .once = true,
                                   .state = ORR_TYPE(Count), .receives = "Fallen", .run = gather);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 100}));
    KIT_ERROR(&k, ORR_ERR_CAPACITY, "events of it were dropped");
    const Count* c = orr_system_state(world, system);
    printf("    %llu of 400 events heard\n", (unsigned long long)c->count);
    CHECK(c->count > 0 && c->count < 400);
    CHECK_OK(orr_system_enable(world, orr_system_find(world, "fall"), false));
    CHECK_OK(orr_step(world, 2));
    k.errors = (kit_errors){0};
    hard_end(&k);
}

// ---- meetings ------------------------------------------------------------------------------------------------------------------------

ORR_STRUCT(Late, (uint64_t, ticks))
static _Atomic uint32_t hard_done;
static orr_result meet_step_result, meet_realtime_result;
static uint32_t meet_pipe_index;

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

static void meet_add(orr_world* world, void* data)
{
    uint32_t number = *(uint32_t*)data;
    char names[2][32];
    ORR_REGISTER(world, Late);
    orr_set(world, orr_create(world), Late, {0});
    snprintf(names[0], sizeof names[0], "late_write_%u", number);
    snprintf(names[1], sizeof names[1], "late_read_%u", number);
    HARD_CHECK(
        KIT_ADD(world, .name = names[0], .pipeline = "a", .query = "write Late", .run = late_write)
                .index1 != 0,
        "%s", orr_error_last(world));
    HARD_CHECK(KIT_ADD(world, .name = names[1], .pipeline = "b", .query = "Late", .run = late_read)
                       .index1 != 0,
               "%s", orr_error_last(world));
    atomic_fetch_add(&hard_done, 1);
}

static void meet_remove(orr_world* world, void* data)
{
    uint32_t number = *(uint32_t*)data;
    char name[32];
    snprintf(name, sizeof name, "late_write_%u", number);
    orr_system system = orr_system_find(world, name);
    HARD_CHECK(system.index1 != 0 && orr_system_remove(world, system) == ORR_OK, "not removed");
    snprintf(name, sizeof name, "late_read_%u", number);
    system = orr_system_find(world, name);
    HARD_CHECK(system.index1 != 0 && orr_system_remove(world, system) == ORR_OK, "not removed");
    HARD_CHECK(orr_world_validate(world) == ORR_OK, "%s", orr_error_last(world));
    HARD_CHECK(orr_world_hash(world) != 0, "no hash");
    atomic_fetch_add(&hard_done, 1);
}

static void meet_bundle(orr_world* world, void* data)
{
    (void)data;
    orr_bundle bundle = orr_bundle_find(world, "grove");
    if (bundle.index1 == 0) {
        HARD_CHECK(orr_bundle_register(world, "grove", "Tree {tick: 0}, Fruit", &bundle) == ORR_OK,
                   "%s", orr_error_last(world));
    }
    HARD_CHECK(orr_bundle_create(world, bundle, 3, NULL) == ORR_OK, "%s", orr_error_last(world));
    orr_system system = orr_system_find(world, "look");
    HARD_CHECK(orr_system_enable(world, system, !orr_system_enabled(world, system)) == ORR_OK, "%s",
               orr_error_last(world));
    atomic_fetch_add(&hard_done, 1);
}

// A type that the post brings, with entities.
ORR_STRUCT(Guest, (uint64_t, a))
static void post_type(orr_world* world, void* data)
{
    (void)data;
    ORR_REGISTER(world, Guest);
    for (uint32_t i = 0; i < 3; i++) {
        orr_set(world, orr_create(world), Guest, {i});
    }
    atomic_fetch_add(&hard_done, 1);
}

static void meet_wrong(orr_world* world, void* data)
{
    (void)data;
    meet_step_result = orr_step(world, 1);
    meet_realtime_result = orr_realtime(world, &(orr_realtime_desc){.ticks = 1});
    meet_pipe_index =
        orr_pipeline_add(world, &(orr_pipeline_desc){.name = "more", .rate_hz = 10}).index1;
    atomic_fetch_add(&hard_done, 1);
}

static void meet_ask(orr_run* run)
{
    uint32_t number = (uint32_t)run->tick / 6;
    orr_world* world = run->world;
    switch (run->tick % 6) {
    case 0:
        (void)orr_post_meeting(world, meet_add, &number, sizeof number);
        break;
    case 2:
        (void)orr_post(world, post_type, NULL, 0);
        break;
    case 3:
        (void)orr_post(world, meet_bundle, NULL, 0);
        break;
    case 5:
        if (number > 0) {
            (void)orr_post_meeting(world, meet_remove, &number, sizeof number);
        }
        break;
    default:
        break;
    }
}

static orr_world* meet_begin(kit* k, uint32_t workers)
{
    orr_world* world = hard_begin(k, workers);
    trees_add(world, 200);
    KIT_SYSTEM(world, .name = "ask", .once = true, .run = meet_ask);
    return world;
}

ORR_TEST(realtime_systems_and_types_come_and_go_in_meetings)
{
    kit k;
    for (uint32_t workers = 0; workers <= 2; workers += 2) {
        orr_recording* recording = orr_recording_create();
        orr_world* world = meet_begin(&k, workers);
        atomic_store(&hard_done, 0);
        CHECK_OK(orr_realtime(
            world, &(orr_realtime_desc){.ticks = 40, .record = recording, .hashes = true}));
        CHECK(atomic_load(&hard_done) > 15);
        CHECK_OK(orr_world_validate(world));
        uint64_t hash = orr_world_hash(world);
        hard_end(&k);
        world = meet_begin(&k, workers);
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.replay = recording}));
        CHECK(orr_world_hash(world) == hash);
        k.errors = (kit_errors){0}; // Its own posts were refused.
        hard_end(&k);
        orr_recording_destroy(recording);
    }
}

static void meet_ask_wrong(orr_run* run)
{
    if (run->tick == 3) {
        (void)orr_post_meeting(run->world, meet_wrong, NULL, 0);
    }
}

ORR_TEST(realtime_a_meeting_refuses_what_would_run_ticks)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    trees_add(world, 10);
    KIT_SYSTEM(world, .name = "ask", .once = true, .run = meet_ask_wrong);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 10}));
    CHECK_RESULT(meet_step_result, ORR_ERR_STATE);
    CHECK_RESULT(meet_realtime_result, ORR_ERR_STATE);
    CHECK_EQ(meet_pipe_index, 0);
    CHECK(k.errors.count == 3);
    k.errors = (kit_errors){0};
    hard_end(&k);
}

// ---- many, none ------------------------------------------------------------------------------------------------------------------

static void tick_count(orr_run* run)
{
    orr_own(run, Count)->count++;
}

static void many_run(uint32_t pipes, bool systems, uint32_t rows)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    ORR_REGISTER(world, Tree, Count);
    if (rows > 0) {
        CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Tree), rows, NULL, 0, NULL));
    }
    for (uint32_t i = 1; i < pipes; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%u", i);
        uint64_t dice = orr_random(pipes, i, 0, 0);
        hard_pipe(world, name, dice % 7 == 0 ? 0 : (double)(20 + dice % 400), dice % 5 == 1);
        if (systems && dice % 5 != 1) {
            char system[24];
            snprintf(system, sizeof system, "s%u", i);
            KIT_SYSTEM(world, .name = system, .pipeline = name, .query = "Tree",
                       .state = ORR_TYPE(Count), .run = tick_count);
        }
    }
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 20}));
    CHECK_OK(orr_step(world, 2));
    hard_end(&k);
}

ORR_TEST(realtime_many_pipelines)
{
    many_run(1, false, 0);
    many_run(2, false, 0);
    many_run(16, true, 100);
    many_run(16, true, 0);
    many_run(64, true, 10);
    many_run(64, false, 0);
}

ORR_TEST(realtime_many_entities)
{
    kit k;
    orr_world* world = hard_begin(&k, 2);
    trees_add(world, 100000);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 10}));
    CHECK_EQ(orr_entity_count(world), 100000);
    hard_end(&k);
}

// In lockstep, in real time, and again.
ORR_TEST(realtime_and_lockstep_by_turns)
{
    kit k;
    orr_world* world = hard_begin(&k, 2);
    trees_add(world, 300);
    for (uint32_t i = 0; i < 6; i++) {
        CHECK_OK(orr_step(world, 7));
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 7}));
        CHECK_OK(orr_world_validate(world));
    }
    hard_end(&k);
}

// ---- memory ------------------------------------------------------------------------------------------------------------------------

static void text_write(orr_run* run)
{
    Text* t = orr_write(run, Text);
    for (uint32_t i = 0; i < run->count; i++) {
        char text[60];
        snprintf(text, sizeof text, "a text with the number %u in it", (unsigned)run->tick);
        orr_string made = orr_string_make(run->world, text);
        if (orr_string_text(run->world, made)[0] != '\0') {
            orr_string_assign(run->world, &t[i].text, made);
            t[i].number = (uint32_t)run->tick;
        }
    }
}

static void text_read(orr_run* run)
{
    const Text* t = orr_read(run, Text);
    for (uint32_t i = 0; i < run->count; i++) {
        const char* text = orr_string_text(run->world, t[i].text);
        char wanted[60];
        snprintf(wanted, sizeof wanted, "a text with the number %u in it", t[i].number);
        HARD_CHECK(t[i].number == 0 || strcmp(text, wanted) == 0, "'%s' for %u", text, t[i].number);
    }
}

static void post_create(orr_world* world, void* data)
{
    (void)data;
    orr_entity entity = orr_create(world);
    if (entity.id != 0 && orr_set(world, entity, Fruit, {1}) != ORR_OK) {
        (void)orr_destroy(world, entity);
    }
    atomic_fetch_add(&hard_done, 1);
}

static _Atomic uint32_t hard_posted;

static void memory_post(orr_run* run)
{
    if (orr_post(run->world, post_create, NULL, 0) == ORR_OK) {
        atomic_fetch_add(&hard_posted, 1);
    }
    if (run->tick % 3 == 1 && orr_post_meeting(run->world, post_create, NULL, 0) == ORR_OK) {
        atomic_fetch_add(&hard_posted, 1);
    }
    orr_send_event(run, Fallen, {run->tick});
}

static void memory_hear(orr_run* run)
{
    uint32_t count;
    (void)orr_events(run, Fallen, &count);
    orr_own(run, Count)->count += count;
}

static orr_world* memory_begin(kit* k, uint32_t workers)
{
    orr_world* world = hard_begin(k, workers);
    trees_add(world, 60);
    ORR_REGISTER(world, Text, Fallen);
    for (uint32_t i = 0; i < 5; i++) {
        orr_add(world, orr_create(world), Text);
    }
    KIT_SYSTEM(world, .name = "post", .once = true, .sends = "Fallen", .run = memory_post);
    KIT_SYSTEM(world, .name = "text_write", .pipeline = "a", .query = "write Text",
               .run = text_write);
    KIT_SYSTEM(world, .name = "text_read", .pipeline = "b", .query = "Text", .run = text_read);
    KIT_SYSTEM(world, .name = "events", .pipeline = "b", .once = true, .receives = "Fallen",
               .state = ORR_TYPE(Count), .run = memory_hear);
    return world;
}

static void memory_run(uint64_t n, bool for_good, bool steps, uint64_t* refused)
{
    kit k;
    orr_world* world = memory_begin(&k, n % 2 == 0 ? 2 : 0);
    atomic_store(&hard_posted, 0);
    atomic_store(&hard_done, 0);
    failing_alloc_arm(&k.memory, n, for_good);
    orr_result result = orr_realtime(world, &(orr_realtime_desc){.ticks = 4});
    *refused = k.memory.refused;
    failing_alloc_arm(&k.memory, 0, false);
    CHECK(result == ORR_OK || result == ORR_ERR_MEMORY);
    CHECK_EQ(atomic_load(&hard_posted), atomic_load(&hard_done));
    // Ticks that go on say in the end what of them was lost.
    for (uint32_t i = 0; steps && i < 4; i++) {
        result = orr_step(world, 1);
        CHECK(result == ORR_OK || (i < 3 && result == ORR_ERR_MEMORY));
    }
    result = orr_realtime(world, &(orr_realtime_desc){.ticks = 3});
    if (result != ORR_OK) {
        test_fail(__FILE__, __LINE__, "after allocation %llu: %s", (unsigned long long)n,
                  orr_error_last(world));
    }
    CHECK_EQ(atomic_load(&hard_posted), atomic_load(&hard_done));
    CHECK_OK(orr_step(world, 2));
    CHECK_OK(orr_world_validate(world));
    k.errors = (kit_errors){0};
    hard_end(&k);
}

ORR_TEST(realtime_every_allocation_may_fail)
{
    const char* from = getenv("HARD_FROM");
    const char* step = getenv("HARD_STEP");
    uint64_t by = step != NULL ? strtoull(step, NULL, 10) : 7, refused = 1;
    for (uint64_t n = from != NULL ? strtoull(from, NULL, 10) : 1; refused > 0; n += by) {
        if (getenv("HARD_SAY") != NULL) {
            printf("    %llu\n", (unsigned long long)n);
            fflush(stdout);
        }
        memory_run(n, n % 3 == 0, n % 5 < 2, &refused);
    }
}

// ---- refusals at once ------------------------------------------------------------------------------------------------------------

static _Atomic uint32_t breach_count;

static void breach_error(void* user, orr_world* world, const orr_error* error)
{
    (void)user;
    (void)world;
    HARD_CHECK(error->text[0] != '\0', "no words");
    atomic_fetch_add(&breach_count, 1);
}

static void breach(orr_run* run)
{
    (void)orr_create(run->world);
    (void)orr_get(run->world, orr_iter_entity(run, 0), Text);
    (void)orr_send_destroy(run, orr_iter_entity(run, 0));
    (void)orr_step(run->world, 1);
    (void)orr_realtime(run->world, NULL);
    (void)orr_world_hash(run->world);
    (void)orr_system_add(run->world, &(orr_system_desc){.name = "x", .once = true, .run = breach});
    (void)orr_error_last(run->world);
    orr_log(run->world, ORR_LOG_DEBUG, "tick %u", (unsigned)run->tick);
}

ORR_TEST(realtime_breaches_of_several_pipelines_at_once)
{
    for (orr_police police = ORR_POLICE_OFF; police <= ORR_POLICE_FULL; police++) {
        orr_world* world = orr_world_create(&(orr_world_desc){
            .rate_hz = 200, .on_error = breach_error, .workers = police == ORR_POLICE_FULL ? 2 : 0});
        atomic_store(&breach_count, 0);
        orr_police_set(world, police);
        CHECK_OK(orr_time_wish(world, 5));
        trees_add(world, 5);
        ORR_REGISTER(world, Text);
        KIT_SYSTEM(world, .name = "breach_a", .pipeline = "a", .query = "Tree", .run = breach);
        KIT_SYSTEM(world, .name = "breach_b", .pipeline = "b", .query = "Tree", .run = breach);
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 10}));
        CHECK(atomic_load(&breach_count) > 50);
        CHECK_OK(orr_world_validate(world));
        CHECK_EQ(atomic_exchange(&hard_faults, 0), 0);
        orr_world_destroy(world);
    }
}

ORR_TEST(realtime_exports_are_plain)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    orr_system system = KIT_ADD(world, .name = "x", .once = true, .exports = ORR_TYPE(Text),
                                .run = kit_run_nothing);
    CHECK_EQ(system.index1, 0);
    k.errors = (kit_errors){0};
    hard_end(&k);
}
