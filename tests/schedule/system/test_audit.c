// SPDX-License-Identifier: MIT
// ORR_ACCESS_CHECK_FULL, which finds writes through pointers; and the opposite: everything that is
// declared is allowed.
#include "schedule/system/audit_kit.h"

// ---- writes through pointers --------------------------------------------------------------------

static Position* kept;
static Wind* kept_wind;
static Count* kept_count;

static void write_read_column(orr_run* run)
{
    Position* p = (Position*)(uintptr_t)orr_read(run, Position);
    p[0].y = 99;
}
static void write_got(orr_run* run)
{
    Position* p = (Position*)(uintptr_t)orr_get(run->world, s.bob, Position);
    p->z = 99;
}
static void write_got_pinned(orr_run* run)
{
    Body* b = (Body*)(uintptr_t)orr_get(run->world, s.bob, Body);
    b->speed = 99;
}
static void write_got_instance(orr_run* run)
{
    Cargo* c = (Cargo*)(uintptr_t)orr_instance_get(run->world, s.bob, s.cargo, s.crate);
    c->weight = 99;
}
static void write_kept(orr_run* run)
{
    (void)run;
    kept->x = 99;
}
static void write_kept_wind(orr_run* run)
{
    (void)run;
    kept_wind->x = 99;
}
static void write_kept_count(orr_run* run)
{
    (void)run;
    kept_count->value = 99;
}

typedef struct hidden_write {
    void (*function)(orr_run* run);
    const char* words;
    uint32_t flavours;
} hidden_write;

static const hidden_write hidden_writes[] = {
    {write_read_column, "system 'culprit' wrote Position of bob", READER},
    {write_got, "system 'culprit' wrote Position of bob", READER},
    {write_got_pinned, "system 'culprit' wrote Body of bob", READER},
    {write_got_instance, "system 'culprit' wrote Cargo of bob", READER},
    {write_kept, "system 'culprit' wrote Position of bob", ALL_FLAVOURS & ~(uint32_t)WRITER},
    {write_kept_wind, "system 'culprit' wrote Wind of system 'weather'", ALL_FLAVOURS},
    {write_kept_count, "system 'culprit' wrote Count of system 'weather'", ALL_FLAVOURS},
};

/* N2-05 */
ORR_TEST(full_access_checks_find_writes_through_pointers_and_undo_them)
{
    for (uint32_t flavour_bit = NO_MATCH; flavour_bit < ALL_FLAVOURS; flavour_bit *= 2) {
        for (size_t i = 0; i < sizeof hidden_writes / sizeof hidden_writes[0]; i++) {
            if ((hidden_writes[i].flavours & flavour_bit) == 0) {
                continue;
            }
            orr_world* world = begin();
            orr_access_check_set(world, ORR_ACCESS_CHECK_FULL);
            CHECK_OK(orr_set(world, s.bob, Velocity, {0})); // Bob is the only row of the system.
            CHECK_OK(orr_remove(world, s.eve, Velocity));
            orr_system culprit = add_culprit(world, (flavour)flavour_bit);
            orr_system weather = orr_system_find(world, "weather");
            KIT_STEP(world, 1);
            kept = orr_edit(world, s.bob, Position);
            kept_wind = (Wind*)(uintptr_t)orr_system_exports(world, weather);
            kept_count = (Count*)(uintptr_t)orr_system_state(world, weather);
            s.violation = hidden_writes[i].function;
            CHECK_RESULT(kit_run_refused(world, 1), ORR_ERR_STATE);
            CHECK_EQ(s.k.errors.count, 1);
            CHECK_EQ(s.k.errors.id, ORR_LOG_ID_ACCESS_VIOLATION);
            KIT_ERROR(&s.k, ORR_ERR_STATE, hidden_writes[i].words);
            CHECK_EQ(kit_stats(world, culprit).violations, 1);
            const Position* p = orr_get(world, s.bob, Position);
            CHECK(p->x == 1 && p->y == 2 && p->z == 3);
            CHECK_EQ(orr_get(world, s.bob, Body)->speed, 0);
            CHECK_EQ(((const Cargo*)orr_instance_get(world, s.bob, s.cargo, s.crate))->weight, 4);
            CHECK_EQ(kept_wind->x, 2);
            CHECK_EQ(kept_count->value, 7);
            kit_end(&s.k);
        }
    }
}

static void write_own(orr_run* run)
{
    orr_state(run, Count)->value = 99;
}

ORR_TEST(full_access_checks_find_a_parallel_system_that_writes_its_state)
{
    for (uint32_t parallel = 0; parallel < 2; parallel++) {
        orr_world* world = begin();
        orr_access_check_set(world, ORR_ACCESS_CHECK_FULL);
        orr_system culprit = KIT_SYSTEM(world, .name = "culprit", .query = "Velocity",
                                        .run = write_own, .state = ORR_TYPE(Count),
                                        .parallel = parallel != 0);
        CHECK_RESULT(kit_run_refused(world, 1), parallel != 0 ? ORR_ERR_STATE : ORR_OK);
        CHECK_EQ(kit_stats(world, culprit).violations, parallel);
        if (parallel != 0) {
            KIT_ERROR(
                &s.k, ORR_ERR_STATE,
                "system 'culprit' wrote Count, its state (undone); a parallel system may only "
                "read it");
        }
        CHECK_EQ(((const Count*)orr_system_state(world, culprit))->value, parallel != 0 ? 7 : 99);
        kit_end(&s.k);
    }
}

// ---- many rows, chunks and clusters -------------------------------------------------------------

enum {
    MANY = 2 * ORR_CHUNK_CAPACITY + 100
};

static orr_entity many[MANY];

static orr_world* begin_many(void)
{
    orr_world* world = begin();
    orr_access_check_set(world, ORR_ACCESS_CHECK_FULL);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), MANY, NULL, 0, many));
    return world;
}

// Whichever row is written: the error names it, and only its block is restored.
ORR_TEST(full_access_checks_name_the_row_that_was_written)
{
    static const uint32_t rows[] = {0, 1, ORR_CHUNK_CAPACITY - 1, ORR_CHUNK_CAPACITY, MANY - 1};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        orr_world* world = begin_many();
        CHECK_OK(orr_name_set(world, many[rows[i]], (orr_entity){0}, "victim"));
        kept = orr_edit(world, many[rows[i]], Position);
        KIT_SYSTEM(world, .name = "culprit", .query = "Velocity", .run = write_kept);
        CHECK_RESULT(kit_run_refused(world, 1), ORR_ERR_STATE);
        CHECK_EQ(s.k.errors.count, 1);
        KIT_ERROR(&s.k, ORR_ERR_STATE, "wrote Position of victim ");
        CHECK_EQ(kept->x, 0);
        kit_end(&s.k);
    }
}

// The system may write Position where there is Velocity, too; elsewhere that is a violation.
ORR_TEST(full_access_checks_allow_writes_only_in_selected_clusters)
{
    orr_world* world = begin();
    orr_access_check_set(world, ORR_ACCESS_CHECK_FULL);
    kept = orr_edit(world, s.bob, Position);
    CHECK_OK(orr_set(world, s.eve, Position, {0}));
    KIT_SYSTEM(world, .name = "culprit", .query = "write Position, Velocity", .run = write_kept);
    CHECK_RESULT(kit_run_refused(world, 1), ORR_ERR_STATE);
    CHECK_EQ(s.k.errors.count, 1);
    KIT_ERROR(&s.k, ORR_ERR_STATE, "which it did not declare to write");
    kit_end(&s.k);
}

static void write_position(orr_run* run)
{
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += 1;
    }
}

// That another system requested the block in the same tick does not matter.
ORR_TEST(full_access_checks_find_writes_to_blocks_another_system_requested)
{
    orr_world* world = begin();
    orr_access_check_set(world, ORR_ACCESS_CHECK_FULL);
    kept = orr_edit(world, s.bob, Position);
    KIT_SYSTEM(world, .name = "first", .query = "write Position", .run = write_position);
    KIT_SYSTEM(world, .name = "culprit", .query = "write Position", .run = write_kept);
    KIT_SYSTEM(world, .name = "third", .query = "write Position", .run = write_position);
    CHECK_RESULT(kit_run_refused(world, 1), ORR_ERR_STATE);
    CHECK_EQ(s.k.errors.count, 1);
    KIT_ERROR(&s.k, ORR_ERR_STATE, "through a pointer from an earlier tick or system");
    CHECK_EQ(orr_get(world, s.bob, Position)->x, 3);
    kit_end(&s.k);
}

// Several ticks, several chunks and clusters, by rows and in an own loop.
ORR_TEST(full_access_checks_allow_requested_writes)
{
    orr_world* world = begin_many();
    orr_system a =
        KIT_SYSTEM(world, .name = "rows", .query = "write Position", .run = write_position);
    orr_system b =
        KIT_SYSTEM(world, .name = "both", .query = "write Position, Health", .run = write_position);
    KIT_STEP(world, 10);
    CHECK_STR(s.k.errors.text, "");
    CHECK_EQ(kit_stats(world, a).violations + kit_stats(world, b).violations, 0);
    CHECK_EQ(orr_get(world, many[MANY - 1], Position)->x, 10);
    CHECK_EQ(orr_get(world, s.bob, Position)->x, 21);
    kit_end(&s.k);
}

// A system with a changed term requests its writes as any other.
ORR_TEST(full_access_checks_allow_writes_of_a_system_with_changed_terms)
{
    orr_world* world = begin();
    orr_access_check_set(world, ORR_ACCESS_CHECK_FULL);
    orr_system system = KIT_SYSTEM(world, .name = "follow", .query = "changed write Position",
                                   .run = write_position);
    for (uint32_t i = 0; i < 5; i++) {
        CHECK_OK(orr_set(world, s.bob, Position, {10, 0, 0}));
        KIT_STEP(world, 2);
        CHECK_STR(s.k.errors.text, "");
        CHECK_EQ(orr_get(world, s.bob, Position)->x, 11);
    }
    CHECK_EQ(kit_stats(world, system).violations, 0);
    kit_end(&s.k);
}

// Padding between fields, which is never written, must not matter.
static void write_padded(orr_run* run)
{
    Padded* p = orr_write(run, Padded);
    Padded value;
    value.a = 1;
    value.b = 2;
    value.c = 3;
    p[0] = value;
}

ORR_TEST(full_access_checks_ignore_padding)
{
    orr_world* world = begin();
    orr_access_check_set(world, ORR_ACCESS_CHECK_FULL);
    CHECK_OK(orr_set(world, s.eve, Padded, {0}));
    KIT_SYSTEM(world, .name = "pad", .query = "write Padded", .run = write_padded);
    KIT_SYSTEM(world, .name = "other", .query = "Velocity", .run = kit_run_nothing);
    KIT_STEP(world, 3);
    CHECK_EQ(s.k.errors.count, 0);
    kit_end(&s.k);
}

ORR_TEST(full_access_checks_are_skipped_without_memory)
{
    for (uint64_t n = 1;; n++) {
        orr_world* world = begin();
        orr_access_check_set(world, ORR_ACCESS_CHECK_FULL);
        orr_system culprit = add_culprit(world, WRITER);
        KIT_STEP(world, 1);
        failing_alloc_arm(&s.k.memory, n, false);
        KIT_STEP(world, 1);
        bool refused = s.k.memory.refused > 0;
        failing_alloc_arm(&s.k.memory, 0, false);
        CHECK_EQ(kit_stats(world, culprit).ticks, 2);
        kit_end(&s.k);
        if (!refused) {
            break;
        }
    }
}

// ---- declared accesses are allowed --------------------------------------------------------------

static void make_strings(orr_run* run)
{
    orr_world* world = run->world;
    bool may = orr_run_settings(run) != NULL;
    orr_string string = orr_string_make(world, "made inside");
    CHECK_STR(orr_string_text(world, string), may ? "made inside" : "");
    int32_t numbers[2] = {1, 2};
    uint32_t count;
    CHECK_EQ(orr_array_values(world, orr_array_make(world, numbers, 2, 4), &count) != NULL, may);
}

ORR_TEST(access_checks_allow_strings_only_for_declared_systems)
{
    for (uint32_t may = 0; may < 2; may++) {
        orr_world* world = begin();
        ORR_REGISTER(world, Label);
        orr_system maker = KIT_SYSTEM(world, .name = "maker", .query = "Velocity",
                                      .adds = may ? "Label" : NULL, .run = make_strings,
                                      .settings = may ? &s : NULL);
        KIT_STEP_RESULT(world, 1, may ? ORR_OK : ORR_ERR_STATE);
        CHECK_EQ(kit_stats(world, maker).violations, may ? 0 : 2);
        if (!may) {
            CHECK_CONTAINS(s.k.errors.text,
                           "orr_array_make: system 'maker' makes strings or arrays");
        }
        kit_end(&s.k);
    }
}

static void free_for_all(orr_run* run)
{
    orr_world* world = run->world;
    CHECK(orr_alive(world, s.bob));
    CHECK(!orr_alive(world, (orr_entity){0}));
    char text[512];
    CHECK(orr_entity_print(world, s.bob, text, sizeof text) > 0);
    CHECK_CONTAINS(text, "bob: ");
    CHECK_CONTAINS(text, "Position {x: 1, y: 2, z: 3}");
    CHECK_CONTAINS(text, "Body {mass: 3");
    CHECK_EQ(orr_type_of(world, ORR_TYPE(Position)).id, s.position.id);
    CHECK_EQ(orr_type_find(world, "Health").id, s.health.id);
    CHECK_STR(orr_type_info_get(world, s.position)->name, "Position");
    orr_cluster found = orr_cluster_find(world, &(orr_cluster_desc){&s.tiny, 1, NULL, 0, NULL});
    CHECK_EQ(found.id, s.other.id);
    orr_cluster_info info;
    CHECK_OK(orr_cluster_info_get(world, s.cluster, &info));
    CHECK(orr_cluster_next(world, (orr_cluster){0}).id != 0);
    CHECK(orr_clusters_find(world, &(orr_cluster_match){0}, NULL, 0) > 0);
    orr_tag tag;
    CHECK(!orr_tag_find(world, "none", &tag) && orr_tag_name(world, 5) == NULL);
    CHECK_EQ(orr_bundle_find(world, "small").id, s.bundle.id);
    CHECK_EQ(orr_world_entity(world).id, s.single.id);
    (void)orr_run_random(run, s.bob);
    CHECK_EQ(orr_world_tick(world), run->tick);
    (void)orr_world_seed(world);
    CHECK(orr_entity_count(world) >= 3);
    orr_world_stats stats;
    orr_world_stats_get(world, &stats);
    CHECK(orr_query_print(s.reading, text, sizeof text) > 0);
    CHECK(orr_query_world(s.reading) == world);
    CHECK(orr_plan_print(world, text, sizeof text) > 0);
    CHECK(orr_run_user(run) == NULL);
    CHECK_STR(orr_system_name(world, orr_run_self(run)), "culprit");
    CHECK(orr_system_enabled(world, orr_run_self(run)));
    kit_say("ran");
}

ORR_TEST(access_checks_allow_unrestricted_calls_for_every_system)
{
    for (uint32_t flavour_bit = NO_MATCH; flavour_bit < ALL_FLAVOURS; flavour_bit *= 2) {
        orr_world* world = begin();
        orr_system culprit = add_culprit(world, (flavour)flavour_bit);
        s.violation = free_for_all;
        kit_line[0] = '\0';
        KIT_STEP(world, 1);
        KIT_SAID("ran");
        CHECK_STR(s.k.errors.text, "");
        CHECK_EQ(kit_stats(world, culprit).violations, 0);
        kit_end(&s.k);
    }
}

static void read_all(orr_run* run)
{
    orr_world* world = run->world;
    CHECK_EQ(orr_get(world, s.bob, Position)->x, 1);
    orr_reader reader = orr_reader_make(world, s.position);
    CHECK(reader.capacity > 0); // Inline: no call is made.
    CHECK(orr_reader_get(&reader, s.bob) == orr_get(world, s.bob, Position));
    CHECK_EQ(orr_get(world, s.bob, Body)->mass, 3);
    CHECK(orr_get(world, s.eve, Position) == NULL); // Absent: no violation.
    CHECK(orr_has(world, s.bob, Health) && orr_enabled(world, s.bob, Health));
    Position out;
    CHECK_OK(orr_component_get_many(world, &s.bob, 1, s.position, &out));
    orr_address address;
    CHECK_OK(orr_address_get(world, s.bob, &address));
    CHECK(orr_address_read(world, &address, s.health) != NULL);
    CHECK_EQ(orr_entity_cluster(world, s.bob).id, s.cluster.id);
    CHECK_EQ(orr_chunk_entities(world, s.cluster, 0, &(orr_entity){0}, 1), 1);
    CHECK(orr_column_read(world, s.cluster, 0, s.position) != NULL);
    CHECK(orr_column_enabled(world, s.cluster, 0, s.position) == NULL);
    CHECK(orr_column_enabled(world, s.cluster, 0, (orr_type){0}) == NULL);
    CHECK_EQ(orr_column_instances(world, s.cluster, 0, s.cargo).counts[0], 2);
    uint32_t count = 1;
    CHECK(orr_span_read(world, s.cluster, s.position, 0, &count) != NULL);
    CHECK_EQ(orr_instances_get(world, s.bob, s.cargo, NULL, NULL), 2);
    CHECK(orr_instance_get(world, s.bob, s.cargo, s.crate) != NULL);
    CHECK(orr_instance_enabled(world, s.bob, s.cargo, s.crate));
    CHECK(orr_ref_get(world, (orr_component_ref){s.bob, s.health, 0}) != NULL);
    CHECK_EQ(orr_singleton(world, Health)->value, 9);
    CHECK_EQ(orr_referrers_get(world, s.eve, s.follow, NULL, NULL, 0), 1);
    CHECK_EQ(orr_pinned_count(world, s.body), 1);
    CHECK_STR(orr_name_get(world, s.bob), "bob");
    CHECK_EQ(orr_find(world, (orr_entity){0}, "bob").id, s.bob.id);
    CHECK(orr_tag_has(world, s.bob, 5) && orr_entity_enabled(world, s.bob));
    CHECK_EQ(orr_query_count(s.reading), 1);
    CHECK(orr_query_has(s.reading, s.bob));
    CHECK_EQ(orr_query_single(s.reading).id, s.bob.id);
    uint32_t rows = 0;
    ORR_EACH (it, s.reading) {
        rows += it.count;
        CHECK(orr_read(&it, Position) != NULL);
    }
    CHECK_EQ(rows, 1);
    kit_say("read");
}

static void write_all(orr_run* run)
{
    orr_world* world = run->world;
    read_all(run);
    orr_edit(world, s.bob, Health)->value++;
    CHECK_OK(orr_set(world, s.bob, Health, {orr_get(world, s.bob, Health)->value + 1, 1}));
    orr_edit(world, s.bob, Body)->speed = 0;
    CHECK_OK(orr_component_set_many(world, &s.bob, 1, s.health, orr_get(world, s.bob, Health)));
    orr_address address;
    CHECK_OK(orr_address_get(world, s.bob, &address));
    CHECK(orr_address_write(world, &address, s.health) != NULL);
    CHECK(orr_column_write(world, s.cluster, 0, s.position) != NULL);
    CHECK_OK(orr_instance_set(world, s.bob, s.cargo, s.crate, &(Cargo){4}));
    CHECK(orr_instance_edit(world, s.bob, s.cargo, s.crate) != NULL);
    CHECK(orr_ref_edit(world, (orr_component_ref){s.bob, s.health, 0}) != NULL);
    ORR_EACH (it, s.writing) {
        CHECK(orr_write(&it, Position) != NULL);
    }
    CHECK_OK(orr_send_change(run, s.bob, Health, {orr_get(world, s.bob, Health)->value * 2, 1}));
}

ORR_TEST(access_checks_allow_declared_calls)
{
    for (uint32_t writes = 0; writes < 2; writes++) {
        for (uint32_t mode = ORR_ACCESS_CHECK_OFF; mode <= ORR_ACCESS_CHECK_FULL; mode++) {
            orr_world* world = begin();
            orr_access_check_set(world, (orr_access_check)mode);
            orr_system culprit = add_culprit(world, writes != 0 ? WRITER : READER);
            s.violation = writes != 0 ? write_all : read_all;
            kit_line[0] = '\0';
            KIT_STEP(world, 1);
            KIT_SAID("read");
            CHECK_STR(s.k.errors.text, "");
            CHECK_EQ(kit_stats(world, culprit).violations, 0);
            CHECK_EQ(orr_get(world, s.bob, Health)->value, writes != 0 ? 104 : 50);
            kit_end(&s.k);
        }
    }
}

// A change sent for a type that the query does not name reaches its entity, also from a system that
// is called once.
static void send_any(orr_run* run)
{
    CHECK_OK(orr_send_change(run, s.bob, Health, {77, 7}));
}

ORR_TEST(access_checks_allow_declared_changes)
{
    for (uint32_t once = 0; once < 2; once++) {
        orr_world* world = begin();
        KIT_SYSTEM(world, .name = "a", .query = "Velocity", .once = once != 0,
                   .by_id = "write Health", .changes = "Health", .run = send_any);
        KIT_STEP(world, 1);
        CHECK_EQ(orr_get(world, s.bob, Health)->value, 77);
        CHECK_EQ(s.k.errors.count, 0);
        kit_end(&s.k);
    }
}

static void use_columns(orr_run* run)
{
    CHECK_EQ(run->count, 1);
    CHECK_EQ(orr_iter_entity(run, 0).id, s.bob.id);
    CHECK_EQ(orr_iter_cluster(run, NULL).id, s.cluster.id);
    CHECK_EQ(orr_read(run, Position)->x, 1);
    orr_write(run, Health)->armour = 5;
    CHECK_EQ(orr_read_pinned(run, Body, 0)->mass, 3);
    orr_write_pinned(run, Body, 0)->speed = 8;
    orr_instances cargo = orr_instances_of(run, Cargo);
    CHECK_EQ(cargo.counts[0], 2);
    CHECK_EQ(cargo.ids[0], s.crate);
    CHECK(orr_iter_instance_on(run, &cargo, 0, 1));
    CHECK_EQ(orr_read(run, Cargo)[1].weight, 5);
    CHECK(orr_iter_read_type(run, s.follow) != NULL);
    CHECK(orr_read(run, Tiny) == NULL); // Optional and absent.
    kit_say("used");
}

ORR_TEST(access_checks_allow_columns_without_by_id)
{
    orr_world* world = begin();
    orr_system system =
        KIT_SYSTEM(world, .name = "user", .run = use_columns,
                   .query = "Position, write Health, write Body, Cargo, Follow, ?Tiny");
    kit_line[0] = '\0';
    KIT_STEP(world, 1);
    KIT_SAID("used");
    CHECK_STR(s.k.errors.text, "");
    CHECK_EQ(orr_get(world, s.bob, Health)->armour, 5);
    CHECK_EQ(orr_get(world, s.bob, Body)->speed, 8);
    CHECK_EQ(kit_stats(world, system).violations, 0);
    kit_end(&s.k);
}

static void count_tagged(orr_run* run)
{
    *(uint64_t*)orr_run_user(run) = orr_query_count(s.tagged);
}

// Tags of a system's own queries are declared one by one, or all at once.
ORR_TEST(access_checks_allow_queries_for_declared_tags)
{
    static const struct {
        const char* by_id;
        bool allowed;
    } ways[] = {{"Velocity, #5", true},      {"Velocity, #4, #5", true},
                {"Velocity, #5, #4", true},  {"Velocity, orr_tags", true},
                {"Velocity, #4, #6", false}, {"Velocity", false}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        orr_world* world = begin();
        uint64_t count = 0;
        orr_system system = KIT_SYSTEM(world, .name = "ask", .once = true, .by_id = ways[i].by_id,
                                       .run = count_tagged, .user = &count);
        KIT_STEP_RESULT(world, 1, ways[i].allowed ? ORR_OK : ORR_ERR_STATE);
        CHECK_EQ(count, ways[i].allowed);
        CHECK_EQ(kit_stats(world, system).violations, !ways[i].allowed);
        if (!ways[i].allowed) {
            KIT_ERROR(&s.k, ORR_ERR_STATE, "put \"#5\" into its .by_id");
        }
        kit_end(&s.k);
    }
}

static orr_iter left_open;

static void break_out_of_loops(orr_run* run)
{
    (void)orr_iter_begin(&left_open, orr_run_query(run), NULL);
    CHECK(orr_iter_next(&left_open));
    ORR_EACH (it, orr_run_query(run)) {
        break;
    }
}

ORR_TEST(access_checks_end_loops_that_a_system_left_open)
{
    orr_world* world = begin();
    KIT_SYSTEM(world, .name = "a", .query = "Velocity", .once = true, .run = break_out_of_loops);
    KIT_SYSTEM(world, .name = "b", .query = "Velocity", .adds = "Frozen", .run = kit_run_nothing);
    KIT_STEP(world, 2);
    CHECK(orr_create(world).id != 0);
    CHECK_EQ(s.k.errors.count, 0);
    // The loop has ended: advancing it selects nothing and has no effect.
    uint32_t rows = 0;
    ORR_EACH (it, s.reading) {
        CHECK(!orr_iter_next(&left_open));
        rows += it.count;
        CHECK_EQ(orr_create(world).id, 0); // This loop is still open.
    }
    CHECK_EQ(rows, 1);
    CHECK(orr_create(world).id != 0);
    kit_end(&s.k);
}

// ---- off ----------------------------------------------------------------------------------------

static void undeclared(orr_run* run)
{
    CHECK_EQ(orr_get(run->world, s.bob, Position)->x, 1);
    orr_edit(run->world, s.bob, Health)->value = 1;
    CHECK_EQ(orr_query_count(s.reading), 1);
    CHECK_STR(orr_name_get(run->world, s.bob), "bob");
    CHECK(orr_tag_has(run->world, s.bob, 5));
    // Structure is still protected: rows must not move while systems use them.
    CHECK_EQ(orr_create(run->world).id, 0);
    KIT_ERROR(&s.k, ORR_ERR_STATE, "orr_create: a tick is under way");
    CHECK_RESULT(orr_destroy(run->world, s.bob), ORR_ERR_STATE);
    s.k.errors = (kit_errors){0};
    // Sends still have to be declared.
    CHECK_RESULT(orr_send_add(run, s.bob, Tiny, {1}), ORR_ERR_STATE);
    s.k.errors = (kit_errors){0};
    kit_say("ran");
}

ORR_TEST(access_checks_off_allows_undeclared_access)
{
    for (uint32_t flavour_bit = NO_MATCH; flavour_bit < ALL_FLAVOURS; flavour_bit *= 2) {
        orr_world* world = begin();
        orr_access_check_set(world, ORR_ACCESS_CHECK_OFF);
        orr_system culprit = add_culprit(world, (flavour)flavour_bit);
        s.violation = undeclared;
        kit_line[0] = '\0';
        KIT_STEP_REFUSED(world, 1);
        KIT_SAID("ran");
        CHECK_EQ(s.k.errors.count, 0);
        CHECK_EQ(kit_stats(world, culprit).violations, 1); // The send.
        CHECK_EQ(orr_get(world, s.bob, Health)->value, 1);
        CHECK_EQ(orr_entity_count(world), 3);
        kit_end(&s.k);
    }
}

ORR_TEST(access_checks_end_when_no_system_runs)
{
    orr_world* world = begin();
    add_culprit(world, INDIRECT);
    KIT_STEP(world, 1);
    CHECK_EQ(orr_get(world, s.bob, Position)->x, 1);
    CHECK_OK(orr_set(world, s.bob, Tiny, {1}));
    CHECK_EQ(orr_query_count(s.reading), 1);
    CHECK(orr_change_mark(world) != 0);
    orr_access_check_set(world, ORR_ACCESS_CHECK_DEFAULT);
    KIT_STEP(world, 1);
    CHECK_EQ(s.k.errors.count, 0);
    kit_end(&s.k);
}
