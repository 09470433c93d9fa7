// SPDX-License-Identifier: MIT
// Real time with many pipelines, with many entities, with memory that fails, and with calls that
// are refused to systems and to other threads.
#include "realtime/hard_kit.h"

// ---- many pipelines, many entities, none --------------------------------------------------------

static void tick_count(orr_run* run)
{
    orr_state(run, Count)->count++;
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

ORR_TEST(realtime_many_pipelines_run)
{
    many_run(1, false, 0);
    many_run(2, false, 0);
    many_run(16, true, 100);
    many_run(16, true, 0);
    many_run(64, true, 10);
    many_run(64, false, 0);
}

ORR_TEST(realtime_many_entities_run)
{
    kit k;
    orr_world* world = hard_begin(&k, 2);
    trees_add(world, 100000);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 10}));
    CHECK_EQ(orr_entity_count(world), 100000);
    hard_end(&k);
}

// Lockstep and real time in turn.
ORR_TEST(realtime_and_lockstep_alternate)
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

// ---- memory -------------------------------------------------------------------------------------

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

static void post_create(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
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
    if (run->tick % 3 == 1 && orr_post_exclusive(run->world, post_create, NULL, 0) == ORR_OK) {
        atomic_fetch_add(&hard_posted, 1);
    }
    orr_send_event(run, Fallen, {run->tick});
}

static void memory_receive(orr_run* run)
{
    uint32_t count;
    (void)orr_events(run, Fallen, &count);
    orr_state(run, Count)->count += count;
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
               .state = ORR_TYPE(Count), .run = memory_receive);
    return world;
}

static void memory_run(uint64_t n, bool for_good, bool steps, uint64_t* refused)
{
    kit k;
    orr_world* world = memory_begin(&k, n % 2 == 0 ? 2 : 0);
    atomic_store(&hard_posted, 0);
    atomic_store(&hard_done, 0);
    failing_alloc_arm(&k.memory, n, for_good);
    // The refused allocation may be of a tick of lockstep.
    orr_result result = n % 4 == 3 ? orr_step(world, 2)
                                   : orr_realtime(world, &(orr_realtime_desc){.ticks = 4});
    *refused = k.memory.refused + (n % 4 == 3);
    failing_alloc_arm(&k.memory, 0, false);
    // ORR_ERR_STATE: in lockstep the system may not post.
    CHECK(result == ORR_OK || kit_memory_short(result) || result == ORR_ERR_STATE);
    CHECK_EQ(atomic_load(&hard_posted), atomic_load(&hard_done));
    // A tick that continued returns at its end that something is missing.
    for (uint32_t i = 0; steps && i < 4; i++) {
        result = orr_step(world, 1);
        // The tick of a slow pipeline ends late.
        CHECK(result == ORR_OK || result == ORR_ERR_STATE || kit_memory_short(result));
    }
    result = kit_realtime_recover(world, 3);
    // ORR_ERR_STATE: it continued a tick of lockstep.
    if (result != ORR_OK && (steps || result != ORR_ERR_STATE)) {
        test_fail(__FILE__, __LINE__, "after allocation %llu: %s", (unsigned long long)n,
                  orr_error_last(world));
    }
    CHECK_EQ(atomic_load(&hard_posted), atomic_load(&hard_done));
    for (uint32_t i = 0; i < 8; i++) { // Until the slow pipeline has ended its tick, too.
        result = orr_step(world, 2);
        if (!kit_memory_short(result)) {
            break;
        }
    }
    if (result != ORR_OK && result != ORR_ERR_STATE) {
        test_fail(__FILE__, __LINE__, "after allocation %llu: %s", (unsigned long long)n,
                  orr_error_last(world));
    }
    CHECK_OK(orr_world_validate(world));
    k.errors = (kit_errors){0};
    hard_end(&k);
}

ORR_TEST(realtime_every_allocation_may_be_refused)
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

// ---- refusals of several threads at once --------------------------------------------------------

static _Atomic uint32_t refusal_count;

static void refusal_note(void* user, orr_world* world, const orr_error* error)
{
    (void)user;
    (void)world;
    HARD_CHECK(error->text[0] != '\0', "the error has no text");
    atomic_fetch_add(&refusal_count, 1);
}

ORR_STRUCT(Never, (uint64_t, a))

// All calls that no system and no other thread may make while systems run.
static void abuse(orr_world* world, orr_entity entity)
{
    static const char* const name = "abuse";
    orr_type type;
    orr_cluster cluster;
    orr_entity out[2];
    orr_appender appender;
    orr_type tree = orr_type_find(world, "Tree");
    orr_type fruit = orr_type_find(world, "Fruit");
    char text[64];
    (void)orr_create(world);
    (void)orr_create_named(world, name);
    (void)orr_create_transient(world);
    (void)orr_destroy(world, entity);
    (void)orr_destroy_many(world, &entity, 1);
    (void)orr_copy(world, entity);
    (void)orr_entity_enable(world, entity, false);
    (void)orr_component_add(world, entity, orr_type_find(world, "Text"));
    (void)orr_component_remove(world, entity, tree);
    (void)orr_component_enable(world, entity, tree, false);
    (void)orr_component_set(world, entity, tree, &(Tree){1, 3});
    (void)orr_component_edit(world, entity, tree);
    (void)orr_component_set_many(world, &entity, 1, tree, &(Tree){1, 3});
    (void)orr_component_add_many(world, &entity, 1, orr_type_find(world, "Text"), NULL);
    (void)orr_component_remove_many(world, &entity, 1, tree);
    (void)orr_tag_add(world, entity, (orr_tag){77});
    (void)orr_tag_remove(world, entity, (orr_tag){77});
    (void)orr_name_set(world, entity, (orr_entity){0}, name);
    orr_result orr_tag_register_result = orr_tag_register(world, (orr_tag){78}, "abused");
    (void)orr_world_entity(world);
    orr_result orr_type_register_result = orr_type_register(world, ORR_TYPE(Never), &type);
    orr_cluster_desc desc = {.types = (const orr_type[]){fruit}, .type_count = 1};
    if (orr_cluster_get(world, &desc, &cluster) == ORR_OK) {
        HARD_CHECK(false, "a cluster was made");
    }
    cluster = orr_cluster_next(world, (orr_cluster){0});
    (void)orr_create_in(world, cluster);
    (void)orr_create_many(world, cluster, 2, NULL, 0, out);
    (void)orr_cluster_clear(world, cluster);
    (void)orr_cluster_delete(world, cluster);
    (void)orr_entities_destroy_all(world);
    (void)orr_entity_move(world, entity, cluster);
    (void)orr_rows_move_all(world, cluster, cluster);
    orr_result orr_append_begin_result = orr_append_begin(world, cluster, NULL, 0, &appender);
    (void)orr_column_write(world, cluster, 0, tree);
    orr_tick_advance(world);
    orr_query* query = orr_query_text(world, "Tree");
    HARD_CHECK(query == NULL, "a query was made");
    orr_bundle bundle;
    orr_result orr_bundle_register_result = orr_bundle_register(world, "abuse", "Tree", &bundle);
    HARD_CHECK(orr_tag_register_result != ORR_OK && orr_type_register_result != ORR_OK &&
                   orr_append_begin_result != ORR_OK && orr_bundle_register_result != ORR_OK,
               "allowed %d %d %d %d", orr_tag_register_result, orr_type_register_result,
               orr_append_begin_result, orr_bundle_register_result);
    (void)orr_change_mark(world);
    (void)orr_world_hash(world);
    (void)orr_world_validate(world);
    (void)orr_step(world, 1);
    (void)orr_update(world, 1);
    (void)orr_realtime(world, NULL);
    (void)orr_tick_abandon(world);
    (void)orr_system_add(world,
                         &(orr_system_desc){.name = "x", .once = true, .run = kit_run_nothing});
    (void)orr_system_remove(world, orr_system_find(world, "hear"));
    (void)orr_pipeline_add(world, &(orr_pipeline_desc){.name = "y"});
    (void)orr_journal_set(world, 10);
    (void)orr_events_limit(world, tree, 3);
    orr_access_check_set(world, ORR_ACCESS_CHECK_OFF);
    orr_stats_time_all(world, true);
    (void)orr_trace_set(world, NULL);
    (void)orr_plan_print(world, text, sizeof text);
    (void)orr_stats_print(world, text, sizeof text);
}

static void violate(orr_run* run)
{
    abuse(run->world, orr_iter_entity(run, 0));
    (void)orr_get(run->world, orr_iter_entity(run, 0), Text);
    (void)orr_send_destroy(run, orr_iter_entity(run, 0));
    (void)orr_step(run->world, 1);
    (void)orr_realtime(run->world, NULL);
    (void)orr_world_hash(run->world);
    (void)orr_system_add(run->world, &(orr_system_desc){.name = "x", .once = true, .run = violate});
    (void)orr_error_last(run->world);
    orr_log(run->world, ORR_LOG_DEBUG, "tick %u", (unsigned)run->tick);
}

static orr_thread other_handle;
static orr_entity other_entity;

static void other_main(void* data)
{
    for (uint32_t i = 0; i < 30; i++) {
        abuse(data, other_entity);
    }
}

static void other_guide(orr_run* run)
{
    const orr_platform* platform = orr_platform_default();
    if (run->tick == 2) {
        int code =
            platform->thread_create(platform->user, "other", other_main, run->world, &other_handle);
        HARD_CHECK(code == 0, "no thread");
    } else if (run->tick == 8) {
        platform->thread_join(platform->user, other_handle);
    }
}

ORR_TEST(realtime_calls_of_other_threads_are_refused)
{
    orr_world* world =
        orr_world_create(&(orr_world_desc){.rate_hz = 200, .on_error = refusal_note});
    atomic_store(&refusal_count, 0);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    CHECK_OK(orr_time_scale_set(world, 5));
    trees_add(world, 50);
    ORR_REGISTER(world, Text);
    other_entity = orr_create(world);
    KIT_SYSTEM(world, .name = "guide", .once = true, .run = other_guide);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 10}));
    CHECK(atomic_load(&refusal_count) > 30 * 30);
    CHECK_EQ(orr_entity_count(world), 51);
    CHECK_OK(orr_world_validate(world));
    CHECK_EQ(atomic_exchange(&hard_faults, 0), 0);
    orr_world_destroy(world);
}

ORR_TEST(realtime_violations_of_several_pipelines_at_once_are_reported)
{
    for (orr_access_check audit = ORR_ACCESS_CHECK_OFF; audit <= ORR_ACCESS_CHECK_FULL; audit++) {
        orr_world* world =
            orr_world_create(&(orr_world_desc){.rate_hz = 200,
                                               .on_error = refusal_note,
                                               .workers = audit == ORR_ACCESS_CHECK_FULL ? 2 : 0});
        atomic_store(&refusal_count, 0);
        orr_access_check_set(world, audit);
        CHECK_OK(orr_time_scale_set(world, 5));
        trees_add(world, 5);
        ORR_REGISTER(world, Text);
        KIT_SYSTEM(world, .name = "violate_a", .pipeline = "a", .query = "Tree", .run = violate);
        KIT_SYSTEM(world, .name = "violate_b", .pipeline = "b", .query = "Tree", .run = violate);
        CHECK_RESULT(orr_realtime(world, &(orr_realtime_desc){.ticks = 10}), ORR_ERR_STATE);
        CHECK(atomic_load(&refusal_count) > 50);
        CHECK_OK(orr_world_validate(world));
        CHECK_EQ(atomic_exchange(&hard_faults, 0), 0);
        orr_world_destroy(world);
    }
}

ORR_TEST(realtime_exports_are_plain_data)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    orr_system system = KIT_ADD(world, .name = "x", .once = true, .exports = ORR_TYPE(Text),
                                .run = kit_run_nothing);
    CHECK_EQ(system.id, 0);
    k.errors = (kit_errors){0};
    hard_end(&k);
}

// ---- a ring: each pipeline writes its own type, and reads the types of the next two -------------

enum {
    RING = 16,
    RING_ROWS = 70
};

typedef struct ring_link {
    orr_type types[3];
} ring_link;

static ring_link ring_links[RING];

static void ring_run(orr_run* run)
{
    const ring_link* link = orr_run_settings(run);
    uint64_t* own = orr_iter_write_type(run, link->types[0]);
    const uint64_t* next[2] = {orr_iter_read_type(run, link->types[1]),
                               orr_iter_read_type(run, link->types[2])};
    for (uint32_t i = 0; i < run->count; i++) {
        for (uint32_t k = 0; k < 2; k++) {
            HARD_CHECK(next[k][2 * i + 1] == 3 * next[k][2 * i], "a link is torn");
        }
        own[2 * i] += 1 + next[0][2 * i] % 5 + next[1][2 * i] % 3;
        own[2 * i + 1] = 3 * own[2 * i];
    }
}

static void ring_churn(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        if (orr_run_random(run, entity) % 40 == 0) {
            orr_send_destroy(run, entity);
            orr_entity fresh = orr_send_create(run);
            for (uint32_t k = 0; k < RING; k++) {
                orr_send_add_type(run, fresh, ring_links[k].types[0], NULL, NULL);
            }
        }
    }
}

static orr_world* ring_begin(kit* k, uint32_t workers)
{
    orr_world* world = hard_begin(k, workers);
    static const orr_field_desc fields[] = {{.name = "a", .type = ORR_TYPE(uint64_t)},
                                            {.name = "b", .type = ORR_TYPE(uint64_t)}};
    char names[RING][8], creates[RING * 8] = "";
    orr_type types[RING];
    for (uint32_t i = 0; i < RING; i++) {
        snprintf(names[i], sizeof names[i], "T%u", i);
        CHECK_OK(orr_type_register(
            world, &(orr_type_desc){.name = names[i], .fields = fields, .field_count = 2},
            &types[i]));
        snprintf(creates + strlen(creates), sizeof creates - strlen(creates), "%s%s",
                 i > 0 ? ", " : "", names[i]);
    }
    orr_cluster cluster = kit_cluster(world, types, RING, NULL, 0);
    CHECK_OK(orr_create_many(world, cluster, RING_ROWS, NULL, 0, NULL));
    KIT_SYSTEM(world, .name = "churn", .query = "T0", .creates = creates, .destroys = "T0",
               .run = ring_churn);
    for (uint32_t i = 0; i < RING; i++) {
        char pipe[8], system[8], query[40];
        snprintf(pipe, sizeof pipe, "p%u", i);
        snprintf(system, sizeof system, "s%u", i);
        snprintf(query, sizeof query, "write T%u, T%u, T%u", i, (i + 1) % RING, (i + 2) % RING);
        hard_pipe(world, pipe, 50 + (double)(orr_random(i, 1, 0, 0) % 400), false);
        for (uint32_t n = 0; n < 3; n++) {
            ring_links[i].types[n] = types[(i + n) % RING];
        }
        KIT_SYSTEM(world, .name = system, .pipeline = pipe, .query = query, .run = ring_run,
                   .parallel = i % 2 == 0, .settings = &ring_links[i]);
    }
    return world;
}

static void ring_look(orr_world* world, bool replays)
{
    (void)replays;
    CHECK_EQ(orr_entity_count(world), RING_ROWS);
}

ORR_TEST(realtime_ring_of_pipelines_reads_whole_ticks)
{
    hard_replays_with_workers((hard_replay){.begin = ring_begin, .ticks = 20, .look = ring_look});
}
