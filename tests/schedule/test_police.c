// SPDX-License-Identifier: MIT
// The police: planted breaches of all kinds, each of which must be refused, counted once and named with system, type and
// entity, without an effect; and the other way round, that everything declared is allowed.
#include "schedule/schedule_kit.h"
#include "support/pinned_kit.h"

ORR_STRUCT_EX(Cargo, (.multiplicity = ORR_MULTIPLE), (int32_t, weight, (.preset = "2")))
ORR_STRUCT(Follow,
           (orr_entity, whom, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_CLEAR)))
ORR_STRUCT(Unseen, (int32_t, value)) // Registered by nobody.
ORR_STRUCT(Hit, (orr_entity, who), (int32_t, damage))
ORR_STRUCT(Wind, (float, x, (.preset = "2")))
ORR_STRUCT(Count, (int32_t, value, (.preset = "7")))

// ---- the scene ----------------------------------------------------------------------------------------------------

// Who breaks the rules, and what it declared.
typedef enum flavour {
    STRANGER = 1, // Direct, of a type that bob lacks.
    READER = 2,   // Declared everything of bob, to read.
    WRITER = 4,   // And to write.
    ONCE = 8,     // Direct, called once, with something in .any.
    INDIRECT = 16,
    EVERYBODY = 31,
    NOT_READERS = STRANGER | ONCE | INDIRECT,
    NOT_WRITERS = NOT_READERS | READER,
} flavour;

#define BOBS_TYPES  "Position, Health, Cargo, Body, Follow, orr_name, orr_tags, orr_enabled"
#define BOBS_WRITES "write Position, write Health, write Cargo, write Body, Follow"

typedef struct scene {
    kit k;
    orr_world* world;
    orr_entity bob, eve, single;
    orr_type position, health, cargo, body, follow, velocity, tiny, hit;
    orr_component_id crate;
    orr_cluster cluster, other; // Of bob, and an empty one.
    orr_query *reading, *writing, *leaving_out, *tagged, *nothing;
    orr_bundle bundle;
    orr_address address;
    void (*breach)(orr_run* run);
} scene;

static scene s;

static void call_breach(orr_run* run)
{
    if (s.breach != NULL) {
        s.breach(run);
    }
}

static void make_bob(orr_world* world)
{
    s.bob = orr_create_named(world, "bob");
    CHECK_OK(orr_set(world, s.bob, Position, {1, 2, 3}));
    CHECK_OK(orr_set(world, s.bob, Health, {50, 1}));
    s.crate = orr_add_instance(world, s.bob, Cargo, {4});
    CHECK(orr_add_instance(world, s.bob, Cargo, {5}) != 0);
    CHECK_OK(orr_set(world, s.bob, Body, {.mass = 3}));
    CHECK_OK(orr_set(world, s.bob, Follow, {s.eve}));
    CHECK_OK(orr_tag_add(world, s.bob, 5));
}

static void make_queries(orr_world* world)
{
    s.reading = orr_query_text(world, "Position");
    s.writing = orr_query_text(world, "write Position");
    s.leaving_out = orr_query_text(world, "Velocity, !Position");
    s.tagged = orr_query_text(world, "Velocity, !#5");
    s.nothing = orr_query_text(world, "");
}

static orr_world* begin(void)
{
    memset(&s, 0, sizeof s);
    orr_world* world = s.world = kit_begin(&s.k, NULL);
    ORR_REGISTER(world, Position, Velocity, Health, Cargo, Body, Follow, Tiny, Frozen, Hit);
    s.eve = orr_create_named(world, "eve");
    CHECK_OK(orr_set(world, s.eve, Velocity, {1, 1}));
    make_bob(world);
    s.single = orr_world_entity(world);
    CHECK_OK(orr_set(world, s.single, Health, {9, 9}));
    s.position = KIT_TYPE(world, Position);
    s.health = KIT_TYPE(world, Health);
    s.cargo = KIT_TYPE(world, Cargo);
    s.body = KIT_TYPE(world, Body);
    s.follow = KIT_TYPE(world, Follow);
    s.velocity = KIT_TYPE(world, Velocity);
    s.tiny = KIT_TYPE(world, Tiny);
    s.hit = KIT_TYPE(world, Hit);
    s.cluster = orr_entity_cluster(world, s.bob);
    s.other = KIT_CLUSTER(world, Tiny);
    CHECK_OK(orr_bundle_register(world, "small", "Tiny", &s.bundle));
    CHECK_OK(orr_address_get(world, s.bob, &s.address));
    make_queries(world);
    CHECK_EQ(s.k.errors.count, 0);
    return world;
}

static orr_system add_culprit(orr_world* world, flavour who)
{
    orr_system_desc desc = {.name = "culprit", .query = "Velocity", .run = call_breach};
    switch (who) {
    case READER:
        desc.query = "Velocity, ?Position, ?Health, ?Cargo, ?Body, ?Follow";
        desc.any = BOBS_TYPES;
        break;
    case WRITER:
        desc.query = "Velocity, ?write Position, ?write Health, ?write Cargo, ?write Body, ?Follow";
        desc.any = BOBS_WRITES ", orr_name, orr_tags, orr_enabled";
        desc.changes = "Position, Health";
        break;
    case ONCE:
        desc.once = true;
        desc.any = "Velocity";
        break;
    case INDIRECT:
        desc.kind = ORR_INDIRECT;
        break;
    default:
        break;
    }
    KIT_SYSTEM(world, .name = "weather", .query = "Velocity", .once = true, .run = kit_run_nothing,
               .exports = ORR_TYPE(Wind), .state = ORR_TYPE(Count), .receives = "Hit");
    return kit_taken(world, orr_system_add(world, &desc), __FILE__, __LINE__);
}

// ---- reading ---------------------------------------------------------------------------------------------------------

static void get(orr_run* run)
{
    CHECK(orr_get(run->world, s.bob, Position) == NULL);
}
static void get_pinned(orr_run* run)
{
    CHECK(orr_get(run->world, s.bob, Body) == NULL);
}
static void get_by_reader(orr_run* run)
{
    orr_reader reader = orr_reader_make(run->world, s.position);
    CHECK(orr_reader_get(&reader, s.bob) == NULL);
}
static void has(orr_run* run)
{
    CHECK(!orr_has(run->world, s.bob, Position));
}
static void enabled(orr_run* run)
{
    CHECK(!orr_enabled(run->world, s.bob, Position));
}
static void get_many(orr_run* run)
{
    Position out;
    CHECK_RESULT(orr_component_get_many(run->world, &s.bob, 1, s.position, &out), ORR_ERR_STATE);
}
static void address_get(orr_run* run)
{
    orr_address out;
    CHECK_RESULT(orr_address_get(run->world, s.bob, &out), ORR_ERR_STATE);
}
static void address_read(orr_run* run)
{
    CHECK(orr_address_read(run->world, &s.address, s.position) == NULL);
}
static void entity_cluster(orr_run* run)
{
    CHECK_EQ(orr_entity_cluster(run->world, s.bob).index1, 0);
}
static void chunk_entities(orr_run* run)
{
    orr_entity out[4];
    CHECK_EQ(orr_chunk_entities(run->world, s.cluster, 0, out, 4), 0);
}
static void column_read(orr_run* run)
{
    CHECK(orr_column_read(run->world, s.cluster, 0, s.position) == NULL);
}
static void column_tick(orr_run* run)
{
    CHECK_EQ(orr_column_tick(run->world, s.cluster, 0, s.position), 0);
}
static void column_version(orr_run* run)
{
    CHECK_EQ(orr_column_version(run->world, s.cluster, 0, s.position), 0);
}
static void column_enabled(orr_run* run)
{
    CHECK(orr_column_enabled(run->world, s.cluster, 0, s.position) == NULL);
}
static void column_enabled_entities(orr_run* run)
{
    CHECK(orr_column_enabled(run->world, s.cluster, 0, (orr_type){0}) == NULL);
}
static void column_instances(orr_run* run)
{
    CHECK_EQ(orr_column_instances(run->world, s.cluster, 0, s.cargo).capacity, 0);
}
static void span_read(orr_run* run)
{
    uint32_t count = 1;
    CHECK(orr_span_read(run->world, s.cluster, s.position, 0, &count) == NULL);
}
static void instance_get(orr_run* run)
{
    CHECK(orr_instance_get(run->world, s.bob, s.cargo, s.crate) == NULL);
}
static void instances_get(orr_run* run)
{
    CHECK_EQ(orr_instances_get(run->world, s.bob, s.cargo, NULL, NULL), 0);
}
static void instance_enabled(orr_run* run)
{
    CHECK(!orr_instance_enabled(run->world, s.bob, s.cargo, s.crate));
}
static void ref_get(orr_run* run)
{
    CHECK(orr_ref_get(run->world, (orr_component_ref){s.bob, s.health, 0}) == NULL);
}
static void singleton_get(orr_run* run)
{
    CHECK(orr_singleton(run->world, Health) == NULL);
}
static void referrers_get(orr_run* run)
{
    CHECK_EQ(orr_referrers_get(run->world, s.eve, s.follow, NULL, NULL, 0), 0);
}
static void pinned_count(orr_run* run)
{
    CHECK_EQ(orr_pinned_count(run->world, s.body), 0);
}
static void name_get(orr_run* run)
{
    CHECK_STR(orr_name_get(run->world, s.bob), "");
}
static void name_find(orr_run* run)
{
    CHECK_EQ(orr_find(run->world, (orr_entity){0}, "bob").id, 0);
}
static void path_print(orr_run* run)
{
    char text[64];
    CHECK_EQ(orr_path_print(run->world, s.bob, text, sizeof text), 0);
    CHECK_STR(text, "");
}
static void tag_has(orr_run* run)
{
    CHECK(!orr_tag_has(run->world, s.bob, 5));
}
static void entity_enabled(orr_run* run)
{
    CHECK(!orr_entity_enabled(run->world, s.bob));
}

// ---- asking queries ----------------------------------------------------------------------------------------------------

static void query_count(orr_run* run)
{
    (void)run;
    CHECK_EQ(orr_query_count(s.reading), 0);
}
static void query_has(orr_run* run)
{
    (void)run;
    CHECK(!orr_query_has(s.reading, s.bob));
}
static void query_first(orr_run* run)
{
    (void)run;
    CHECK_EQ(orr_query_first(s.reading).id, 0);
}
static void query_single(orr_run* run)
{
    (void)run;
    CHECK_EQ(orr_query_single(s.reading).id, 0);
}
static void query_at(orr_run* run)
{
    (void)run;
    CHECK_EQ(orr_query_at(s.reading, 0).id, 0);
}
static void query_entities(orr_run* run)
{
    (void)run;
    orr_entity out[4];
    CHECK_EQ(orr_query_entities(s.reading, 0, out, 4), 0);
}
static void query_loop(orr_run* run)
{
    (void)run;
    ORR_EACH (it, s.reading) {
        CHECK(false);
    }
}
static void query_cross(orr_run* run)
{
    (void)run;
    ORR_CROSS (pair, s.reading, s.reading, ORR_PAIRS_ONCE) {
        CHECK(false);
    }
}
static void query_leaving_out(orr_run* run)
{
    (void)run;
    ORR_EACH (it, s.leaving_out) {
        CHECK(false);
    }
}
static void query_tagged(orr_run* run)
{
    (void)run;
    CHECK_EQ(orr_query_count(s.tagged), 0);
}
static void query_everything(orr_run* run)
{
    (void)run;
    CHECK_EQ(orr_query_count(s.nothing), 0);
}
static void query_write_loop(orr_run* run)
{
    (void)run;
    ORR_EACH (it, s.writing) {
        CHECK(false);
    }
}

// ---- writing values -----------------------------------------------------------------------------------------------------

static void edit(orr_run* run)
{
    CHECK(orr_edit(run->world, s.bob, Position) == NULL);
}
static void edit_pinned(orr_run* run)
{
    CHECK(orr_edit(run->world, s.bob, Body) == NULL);
}
static void set(orr_run* run)
{
    CHECK_RESULT(orr_set(run->world, s.bob, Position, {7, 7, 7}), ORR_ERR_STATE);
}
static void set_pinned(orr_run* run)
{
    CHECK_RESULT(orr_set(run->world, s.bob, Body, {7, 7}), ORR_ERR_STATE);
}
static void set_many(orr_run* run)
{
    Position value = {7, 7, 7};
    CHECK_RESULT(orr_component_set_many(run->world, &s.bob, 1, s.position, &value), ORR_ERR_STATE);
}
static void address_write(orr_run* run)
{
    CHECK(orr_address_write(run->world, &s.address, s.position) == NULL);
}
static void column_write(orr_run* run)
{
    CHECK(orr_column_write(run->world, s.cluster, 0, s.position) == NULL);
}
static void span_write(orr_run* run)
{
    uint32_t count = 1;
    CHECK(orr_span_write(run->world, s.cluster, s.position, 0, &count) == NULL);
}
static void instance_set(orr_run* run)
{
    CHECK_RESULT(orr_instance_set(run->world, s.bob, s.cargo, s.crate, &(Cargo){9}), ORR_ERR_STATE);
}
static void instance_edit(orr_run* run)
{
    CHECK(orr_instance_edit(run->world, s.bob, s.cargo, s.crate) == NULL);
}
static void ref_edit(orr_run* run)
{
    CHECK(orr_ref_edit(run->world, (orr_component_ref){s.bob, s.health, 0}) == NULL);
}

// ---- changing structure ---------------------------------------------------------------------------------------------------

static void create(orr_run* run)
{
    CHECK_EQ(orr_create(run->world).id, 0);
}
static void create_in(orr_run* run)
{
    CHECK_EQ(orr_create_in(run->world, s.other).id, 0);
}
static void create_many(orr_run* run)
{
    CHECK_RESULT(orr_create_many(run->world, s.other, 3, NULL, 0, NULL), ORR_ERR_STATE);
}
static void create_named(orr_run* run)
{
    CHECK_EQ(orr_create_named(run->world, "new").id, 0);
}
static void copy(orr_run* run)
{
    CHECK_EQ(orr_copy(run->world, s.bob).id, 0);
}
static void destroy(orr_run* run)
{
    CHECK_RESULT(orr_destroy(run->world, s.bob), ORR_ERR_STATE);
}
static void destroy_many(orr_run* run)
{
    CHECK_RESULT(orr_destroy_many(run->world, &s.bob, 1), ORR_ERR_STATE);
}
static void destroy_all(orr_run* run)
{
    CHECK_RESULT(orr_entities_destroy_all(run->world), ORR_ERR_STATE);
}
static void entity_move(orr_run* run)
{
    CHECK_RESULT(orr_entity_move(run->world, s.bob, s.other), ORR_ERR_STATE);
}
static void rows_move(orr_run* run)
{
    CHECK_RESULT(orr_rows_move(run->world, s.cluster, 0, 1, s.other), ORR_ERR_STATE);
}
static void rows_move_all(orr_run* run)
{
    CHECK_RESULT(orr_rows_move_all(run->world, s.cluster, s.other), ORR_ERR_STATE);
}
static void entity_enable(orr_run* run)
{
    CHECK_RESULT(orr_entity_enable(run->world, s.bob, false), ORR_ERR_STATE);
}
static void add(orr_run* run)
{
    CHECK_RESULT(orr_add(run->world, s.bob, Frozen), ORR_ERR_STATE);
}
static void add_again(orr_run* run) // It is there: nothing would happen.
{
    CHECK_RESULT(orr_add(run->world, s.bob, Position), ORR_ERR_STATE);
}
static void add_pinned(orr_run* run)
{
    CHECK_RESULT(orr_add(run->world, s.eve, Body), ORR_ERR_STATE);
}
static void take(orr_run* run)
{
    CHECK_RESULT(orr_remove(run->world, s.bob, Position), ORR_ERR_STATE);
}
static void take_pinned(orr_run* run)
{
    CHECK_RESULT(orr_remove(run->world, s.bob, Body), ORR_ERR_STATE);
}
static void enable(orr_run* run)
{
    CHECK_RESULT(orr_enable(run->world, s.bob, Position, false), ORR_ERR_STATE);
}
static void tag_add(orr_run* run)
{
    CHECK_RESULT(orr_tag_add(run->world, s.bob, 6), ORR_ERR_STATE);
}
static void tag_add_again(orr_run* run)
{
    CHECK_RESULT(orr_tag_add(run->world, s.bob, 5), ORR_ERR_STATE);
}
static void tag_remove(orr_run* run)
{
    CHECK_RESULT(orr_tag_remove(run->world, s.bob, 5), ORR_ERR_STATE);
}
static void add_many(orr_run* run)
{
    CHECK_RESULT(orr_component_add_many(run->world, &s.bob, 1, s.tiny, NULL), ORR_ERR_STATE);
}
static void take_many(orr_run* run)
{
    CHECK_RESULT(orr_component_remove_many(run->world, &s.bob, 1, s.position), ORR_ERR_STATE);
}
static void cluster_get(orr_run* run)
{
    orr_cluster out;
    CHECK_RESULT(orr_cluster_get(run->world,
                                 &(orr_cluster_desc){.types = &s.velocity,
                                                     .type_count = 1,
                                                     .tags = (const orr_tag[]){99},
                                                     .tag_count = 1},
                                 &out),
                 ORR_ERR_STATE);
}
static void cluster_clear(orr_run* run)
{
    CHECK_RESULT(orr_cluster_clear(run->world, s.cluster), ORR_ERR_STATE);
}
static void cluster_delete(orr_run* run)
{
    CHECK_RESULT(orr_cluster_delete(run->world, s.cluster), ORR_ERR_STATE);
}
static void clusters_delete(orr_run* run)
{
    CHECK_RESULT(orr_clusters_delete(run->world, &(orr_cluster_match){0}, NULL), ORR_ERR_STATE);
}
static void append(orr_run* run)
{
    orr_appender appender;
    CHECK_RESULT(orr_append_begin(run->world, s.other, &s.tiny, 1, &appender), ORR_ERR_STATE);
}
static void instance_add(orr_run* run)
{
    CHECK_EQ(orr_add_instance(run->world, s.bob, Cargo, {1}), 0);
}
static void instance_remove(orr_run* run)
{
    CHECK_RESULT(orr_instance_remove(run->world, s.bob, s.cargo, s.crate), ORR_ERR_STATE);
}
static void instance_enable(orr_run* run)
{
    CHECK_RESULT(orr_instance_enable(run->world, s.bob, s.cargo, s.crate, false), ORR_ERR_STATE);
}
static void name_set(orr_run* run)
{
    CHECK_RESULT(orr_name_set(run->world, s.bob, (orr_entity){0}, "rob"), ORR_ERR_STATE);
}
static void bundle_create(orr_run* run)
{
    CHECK_RESULT(orr_bundle_create(run->world, s.bundle, 1, NULL), ORR_ERR_STATE);
}
static void bundle_add(orr_run* run)
{
    CHECK_RESULT(orr_bundle_add(run->world, s.bob, s.bundle), ORR_ERR_STATE);
}
static void bundle_remove(orr_run* run)
{
    CHECK_RESULT(orr_bundle_remove(run->world, s.bob, s.bundle), ORR_ERR_STATE);
}
static void query_add(orr_run* run)
{
    (void)run;
    CHECK_RESULT(orr_query_add(s.reading, s.tiny, NULL), ORR_ERR_STATE);
}
static void query_remove(orr_run* run)
{
    (void)run;
    CHECK_RESULT(orr_query_remove(s.reading, s.position), ORR_ERR_STATE);
}
static void query_destroy_entities(orr_run* run)
{
    (void)run;
    CHECK_RESULT(orr_query_destroy_entities(s.reading), ORR_ERR_STATE);
}
static void set_absent(orr_run* run) // It may write Position of anybody; but eve has none.
{
    CHECK_RESULT(orr_set(run->world, s.eve, Position, {1, 1, 1}), ORR_ERR_STATE);
}
static void set_absent_pinned(orr_run* run)
{
    CHECK_RESULT(orr_set(run->world, s.eve, Body, {1, 1}), ORR_ERR_STATE);
}

// ---- registering, stepping ---------------------------------------------------------------------------------------------------

static void type_register(orr_run* run)
{
    orr_type out;
    CHECK_RESULT(orr_type_register(run->world, ORR_TYPE(Unseen), &out), ORR_ERR_STATE);
}
static void type_of(orr_run* run)
{
    CHECK_EQ(orr_type_of(run->world, ORR_TYPE(Unseen)).index1, 0);
}
static void tag_register(orr_run* run)
{
    CHECK_RESULT(orr_tag_register(run->world, 77, "seventy"), ORR_ERR_STATE);
}
static void bundle_register(orr_run* run)
{
    orr_bundle out;
    CHECK_RESULT(orr_bundle_register(run->world, "other", "Tiny", &out), ORR_ERR_STATE);
}
static void query_create(orr_run* run)
{
    CHECK(orr_query_create(run->world, NULL) == NULL);
}
static void query_text(orr_run* run)
{
    CHECK(orr_query_text(run->world, "Velocity") == NULL);
}
static void query_destroy(orr_run* run)
{
    (void)run;
    orr_query_destroy(s.reading);
}
static void change_mark(orr_run* run)
{
    CHECK_EQ(orr_change_mark(run->world), 0);
}
static void world_hash(orr_run* run)
{
    CHECK_EQ(orr_world_hash(run->world), 0);
}
static void tick_advance(orr_run* run)
{
    orr_tick_advance(run->world);
    CHECK_EQ(orr_world_tick(run->world), 1);
}
static void step(orr_run* run)
{
    CHECK_RESULT(orr_step(run->world, 1), ORR_ERR_STATE);
}
static void update(orr_run* run)
{
    CHECK_RESULT(orr_update(run->world, 1), ORR_ERR_STATE);
}
static void run_until(orr_run* run)
{
    CHECK_RESULT(orr_run_until(run->world, 9, NULL, NULL), ORR_ERR_STATE);
}
static void system_add(orr_run* run)
{
    CHECK_EQ(KIT_ADD(run->world, .name = "new", .query = "Velocity", .run = kit_run).index1, 0);
}
static void system_remove(orr_run* run)
{
    orr_system weather = orr_system_find(run->world, "weather");
    CHECK_RESULT(orr_system_remove(run->world, weather), ORR_ERR_STATE);
}
static void system_state(orr_run* run)
{
    CHECK(orr_system_state(run->world, orr_system_find(run->world, "weather")) == NULL);
}
static void system_exports(orr_run* run)
{
    CHECK(orr_system_exports(run->world, orr_system_find(run->world, "weather")) == NULL);
}
static void journal_set(orr_run* run)
{
    CHECK_RESULT(orr_journal_set(run->world, 10), ORR_ERR_STATE);
}
static void trace_set(orr_run* run)
{
    CHECK_RESULT(orr_trace_set(run->world, NULL), ORR_ERR_STATE);
}

// ---- the columns of a run, what is kept --------------------------------------------------------------------------------------------

static void read_column(orr_run* run)
{
    CHECK(orr_read(run, Tiny) == NULL);
}
static void write_column(orr_run* run)
{
    CHECK(orr_write(run, Tiny) == NULL);
}
static void write_what_is_read(orr_run* run)
{
    CHECK(orr_write(run, Velocity) == NULL);
}
static void read_column_by_type(orr_run* run)
{
    CHECK(orr_iter_read_type(run, s.tiny) == NULL);
}
static void write_column_by_type(orr_run* run)
{
    CHECK(orr_iter_write_type(run, s.velocity) == NULL);
}
static void read_pinned(orr_run* run)
{
    CHECK(orr_read_pinned(run, Body, 0) == NULL);
}
static void write_pinned(orr_run* run)
{
    CHECK(orr_write_pinned(run, Body, 0) == NULL);
}
static void read_instances(orr_run* run)
{
    CHECK_EQ(orr_instances_of(run, Cargo).capacity, 0);
}
static void read_unregistered(orr_run* run)
{
    CHECK(orr_read(run, Unseen) == NULL);
}
static void read_without_rows(orr_run* run)
{
    CHECK(orr_read(run, Velocity) == NULL);
}
static void write_without_rows(orr_run* run)
{
    CHECK(orr_write(run, Velocity) == NULL);
}
static void cluster_without_rows(orr_run* run)
{
    CHECK_EQ(orr_iter_cluster(run, NULL).index1, 0);
}
static void own(orr_run* run)
{
    CHECK(orr_own(run, Count) == NULL);
}
static void export(orr_run* run)
{
    CHECK(orr_export(run, Wind) == NULL);
}
static void import(orr_run* run)
{
    CHECK(orr_import(run, "weather", Wind) == NULL);
}

// ---- sending ---------------------------------------------------------------------------------------------------------------------

static void send_create(orr_run* run)
{
    CHECK_EQ(orr_send_create(run).id, 0);
}
static void send_create_many(orr_run* run)
{
    orr_entity out[2];
    CHECK_RESULT(orr_send_create_many(run, s.other, 2, NULL, 0, out), ORR_ERR_STATE);
}
static void send_destroy(orr_run* run)
{
    CHECK_RESULT(orr_send_destroy(run, s.bob), ORR_ERR_STATE);
}
static void send_add(orr_run* run)
{
    CHECK_RESULT(orr_send_add(run, s.bob, Tiny, {1}), ORR_ERR_STATE);
}
static void send_add_preset(orr_run* run)
{
    CHECK_RESULT(orr_send_add_preset(run, s.bob, Tiny), ORR_ERR_STATE);
}
static void send_add_instance(orr_run* run)
{
    orr_component_id id;
    CHECK_RESULT(orr_send_add_type(run, s.bob, s.cargo, &(Cargo){1}, &id), ORR_ERR_STATE);
}
static void send_change(orr_run* run)
{
    CHECK_RESULT(orr_send_change(run, s.bob, Position, {1, 1, 1}), ORR_ERR_STATE);
}
static void send_change_many(orr_run* run)
{
    Position value = {1, 1, 1};
    CHECK_RESULT(orr_send_change_many(run, s.position, &s.bob, NULL, 1, &value), ORR_ERR_STATE);
}
static void send_remove(orr_run* run)
{
    CHECK_RESULT(orr_send_remove(run, s.bob, Position), ORR_ERR_STATE);
}
static void send_tag(orr_run* run)
{
    CHECK_RESULT(orr_send_tag(run, s.bob, 6, true), ORR_ERR_STATE);
}
static void send_untag(orr_run* run)
{
    CHECK_RESULT(orr_send_tag(run, s.bob, 5, false), ORR_ERR_STATE);
}
static void send_enable(orr_run* run)
{
    CHECK_RESULT(orr_send_enable(run, s.bob, Position, false), ORR_ERR_STATE);
}
static void send_enable_entity(orr_run* run)
{
    CHECK_RESULT(orr_send_enable_type(run, s.bob, (orr_type){0}, 0, false), ORR_ERR_STATE);
}
static void send_name(orr_run* run)
{
    CHECK_RESULT(orr_send_name(run, s.bob, (orr_entity){0}, "rob"), ORR_ERR_STATE);
}
static void send_event(orr_run* run)
{
    CHECK_RESULT(orr_send_event(run, Hit, {s.bob, 1}), ORR_ERR_STATE);
}
static void read_events(orr_run* run)
{
    uint32_t count = 7;
    CHECK(orr_events(run, Hit, &count) == NULL);
    CHECK_EQ(count, 0);
}
static void receive(orr_run* run)
{
    CHECK(orr_receive(run) == NULL);
}

// ---- the table ---------------------------------------------------------------------------------------------------------------------

typedef struct breach {
    const char* call; // In the error.
    void (*function)(orr_run* run);
    const char* type;   // In the error; NULL: it is not about one.
    const char* entity; // Likewise.
    uint32_t who;       // Of whom it is a breach.
} breach;

static const breach breaches[] = {
    {"orr_component_get", get, "Position", "bob", NOT_READERS},
    {"orr_component_get", get_pinned, "Body", "bob", NOT_READERS},
    {"orr_reader_get", get_by_reader, "Position", "bob", NOT_READERS},
    {"orr_component_has", has, "Position", "bob", NOT_READERS},
    {"orr_component_enabled", enabled, "Position", "bob", NOT_READERS},
    {"orr_component_get_many", get_many, "Position", "bob", NOT_READERS},
    {"orr_address_get", address_get, NULL, "bob", STRANGER | INDIRECT},
    {"orr_address_read", address_read, "Position", "bob", NOT_READERS},
    {"orr_entity_cluster", entity_cluster, NULL, "bob", STRANGER | INDIRECT},
    {"orr_chunk_entities", chunk_entities, NULL, NULL, STRANGER | INDIRECT},
    {"orr_column_read", column_read, "Position", NULL, NOT_READERS},
    {"orr_column_tick", column_tick, "Position", NULL, NOT_READERS},
    {"orr_column_version", column_version, "Position", NULL, NOT_READERS},
    {"orr_column_enabled", column_enabled, "Position", NULL, NOT_READERS},
    {"orr_column_enabled", column_enabled_entities, "orr_enabled", NULL, NOT_READERS},
    {"orr_column_instances", column_instances, "Cargo", NULL, NOT_READERS},
    {"orr_span_read", span_read, "Position", NULL, NOT_READERS},
    {"orr_instance_get", instance_get, "Cargo", "bob", NOT_READERS},
    {"orr_instances_get", instances_get, "Cargo", "bob", NOT_READERS},
    {"orr_instance_enabled", instance_enabled, "Cargo", "bob", NOT_READERS},
    {"orr_ref_get", ref_get, "Health", "bob", NOT_READERS},
    {"orr_singleton_get", singleton_get, "Health", NULL, NOT_READERS},
    {"orr_referrers_get", referrers_get, "Follow", "eve", NOT_READERS},
    {"orr_pinned_count", pinned_count, "Body", NULL, NOT_READERS},
    {"orr_name_get", name_get, "orr_name", "bob", NOT_READERS},
    {"orr_find", name_find, "orr_name", NULL, NOT_READERS},
    {"orr_path_print", path_print, "orr_name", "bob", NOT_READERS},
    {"orr_tag_has", tag_has, "orr_tags", "bob", NOT_READERS},
    {"orr_entity_enabled", entity_enabled, "orr_enabled", "bob", NOT_READERS},

    {"orr_query_count", query_count, "Position", NULL, NOT_READERS},
    {"orr_query_has", query_has, "Position", NULL, NOT_READERS},
    {"", query_first, "Position", NULL, NOT_READERS},
    {"", query_single, "Position", NULL, NOT_READERS},
    {"", query_at, "Position", NULL, NOT_READERS},
    {"", query_entities, "Position", NULL, NOT_READERS},
    {"ORR_EACH", query_loop, "Position", NULL, NOT_READERS},
    {"", query_cross, "Position", NULL, NOT_READERS},
    {"ORR_EACH", query_leaving_out, "Position", NULL, ONCE},
    {"orr_query_count", query_tagged, "#5", NULL, ONCE},
    {"orr_query_count", query_everything, NULL, NULL, STRANGER | INDIRECT},
    {"ORR_EACH", query_write_loop, "Position", NULL, NOT_WRITERS},

    {"orr_component_edit", edit, "Position", "bob", NOT_WRITERS},
    {"orr_component_edit", edit_pinned, "Body", "bob", NOT_WRITERS},
    {"orr_component_set", set, "Position", "bob", NOT_WRITERS},
    {"orr_component_set", set_pinned, "Body", "bob", NOT_WRITERS},
    {"orr_component_set_many", set_many, "Position", "bob", NOT_WRITERS},
    {"orr_address_write", address_write, "Position", "bob", NOT_WRITERS},
    {"orr_column_write", column_write, "Position", NULL, NOT_WRITERS},
    {"orr_span_write", span_write, "Position", NULL, NOT_WRITERS},
    {"orr_instance_set", instance_set, "Cargo", "bob", NOT_WRITERS},
    {"orr_instance_edit", instance_edit, "Cargo", "bob", NOT_WRITERS},
    {"orr_ref_edit", ref_edit, "Health", "bob", NOT_WRITERS},

    {"orr_create", create, NULL, NULL, EVERYBODY},
    {"orr_create_in", create_in, NULL, NULL, EVERYBODY},
    {"orr_create_many", create_many, NULL, NULL, EVERYBODY},
    {"orr_create_named", create_named, NULL, NULL, EVERYBODY},
    {"orr_copy", copy, NULL, "bob", EVERYBODY},
    {"orr_destroy", destroy, NULL, "bob", EVERYBODY},
    {"orr_destroy_many", destroy_many, NULL, "bob", EVERYBODY},
    {"orr_entities_destroy_all", destroy_all, NULL, NULL, EVERYBODY},
    {"orr_entity_move", entity_move, NULL, "bob", EVERYBODY},
    {"orr_rows_move", rows_move, NULL, NULL, EVERYBODY},
    {"orr_rows_move_all", rows_move_all, NULL, NULL, EVERYBODY},
    {"orr_entity_enable", entity_enable, NULL, "bob", EVERYBODY},
    {"orr_component_add", add, "Frozen", "bob", EVERYBODY},
    {"orr_component_add", add_again, "Position", "bob", EVERYBODY},
    {"orr_component_add", add_pinned, "Body", "eve", EVERYBODY},
    {"orr_component_remove", take, "Position", "bob", EVERYBODY},
    {"orr_component_remove", take_pinned, "Body", "bob", EVERYBODY},
    {"orr_component_enable", enable, "Position", "bob", EVERYBODY},
    {"orr_tag_add", tag_add, NULL, "bob", EVERYBODY},
    {"orr_tag_add", tag_add_again, NULL, "bob", EVERYBODY},
    {"orr_tag_remove", tag_remove, NULL, "bob", EVERYBODY},
    {"orr_component_add_many", add_many, "Tiny", "bob", EVERYBODY},
    {"orr_component_remove_many", take_many, "Position", "bob", EVERYBODY},
    {"orr_cluster_get", cluster_get, NULL, NULL, EVERYBODY},
    {"orr_cluster_clear", cluster_clear, NULL, NULL, EVERYBODY},
    {"orr_cluster_delete", cluster_delete, NULL, NULL, EVERYBODY},
    {"orr_clusters_delete", clusters_delete, NULL, NULL, EVERYBODY},
    {"orr_append_begin", append, NULL, NULL, EVERYBODY},
    {"orr_instance_add", instance_add, "Cargo", "bob", EVERYBODY},
    {"orr_instance_remove", instance_remove, "Cargo", "bob", EVERYBODY},
    {"orr_instance_enable", instance_enable, "Cargo", "bob", EVERYBODY},
    {"orr_name_set", name_set, NULL, "bob", EVERYBODY},
    {"orr_bundle_create", bundle_create, NULL, NULL, EVERYBODY},
    {"orr_bundle_add", bundle_add, NULL, "bob", EVERYBODY},
    {"orr_bundle_remove", bundle_remove, NULL, "bob", EVERYBODY},
    {"orr_query_add", query_add, "Tiny", NULL, EVERYBODY},
    {"orr_query_remove", query_remove, "Position", NULL, EVERYBODY},
    {"orr_query_destroy_entities", query_destroy_entities, NULL, NULL, EVERYBODY},
    {"orr_component_set", set_absent, "Position", "eve", WRITER},
    {"orr_component_set", set_absent_pinned, "Body", "eve", WRITER},

    {"orr_type_register", type_register, NULL, NULL, EVERYBODY},
    {"orr_type_of", type_of, "Unseen", NULL, EVERYBODY},
    {"orr_tag_register", tag_register, NULL, NULL, EVERYBODY},
    {"orr_bundle_register", bundle_register, NULL, NULL, EVERYBODY},
    {"orr_query_create", query_create, NULL, NULL, EVERYBODY},
    {"orr_query_text", query_text, NULL, NULL, EVERYBODY},
    {"orr_query_destroy", query_destroy, NULL, NULL, EVERYBODY},
    {"orr_change_mark", change_mark, NULL, NULL, EVERYBODY},
    {"orr_world_hash", world_hash, NULL, NULL, EVERYBODY},
    {"orr_tick_advance", tick_advance, NULL, NULL, EVERYBODY},
    {"orr_step", step, NULL, NULL, EVERYBODY},
    {"orr_update", update, NULL, NULL, EVERYBODY},
    {"orr_run_until", run_until, NULL, NULL, EVERYBODY},
    {"orr_system_add", system_add, NULL, NULL, EVERYBODY},
    {"orr_system_remove", system_remove, NULL, NULL, EVERYBODY},
    {"orr_system_state", system_state, NULL, NULL, EVERYBODY},
    {"orr_system_exports", system_exports, NULL, NULL, EVERYBODY},
    {"orr_journal_set", journal_set, NULL, NULL, EVERYBODY},
    {"orr_trace_set", trace_set, NULL, NULL, EVERYBODY},

    {"orr_read", read_column, "Tiny", "eve", STRANGER | READER | WRITER},
    {"orr_write", write_column, "Tiny", "eve", STRANGER | READER | WRITER},
    {"orr_write", write_what_is_read, "Velocity", "eve", STRANGER | READER | WRITER},
    {"orr_read", read_column_by_type, "Tiny", "eve", STRANGER | READER | WRITER},
    {"orr_write", write_column_by_type, "Velocity", "eve", STRANGER | READER | WRITER},
    {"orr_read_pinned", read_pinned, "Body", "eve", STRANGER},
    {"orr_write_pinned", write_pinned, "Body", "eve", STRANGER | READER},
    {"orr_instances_of", read_instances, "Cargo", "eve", STRANGER},
    {"orr_read", read_unregistered, "Unseen", "eve", STRANGER | READER | WRITER},
    {"", read_without_rows, "Velocity", NULL, ONCE | INDIRECT},
    {"", write_without_rows, "Velocity", NULL, ONCE | INDIRECT},
    {"", cluster_without_rows, NULL, NULL, ONCE | INDIRECT},
    {"orr_own", own, "Count", NULL, EVERYBODY},
    {"orr_export", export, "Wind", NULL, EVERYBODY},
    {"orr_import", import, "Wind", NULL, EVERYBODY},

    {"orr_send_create", send_create, NULL, NULL, EVERYBODY},
    {"orr_send_create_many", send_create_many, NULL, NULL, EVERYBODY},
    {"orr_send_destroy", send_destroy, NULL, "bob", EVERYBODY},
    {"orr_send_add", send_add, "Tiny", "bob", EVERYBODY},
    {"orr_send_add", send_add_preset, "Tiny", "bob", EVERYBODY},
    {"orr_send_add", send_add_instance, "Cargo", "bob", EVERYBODY},
    {"orr_send_change", send_change, "Position", "bob", NOT_WRITERS},
    {"orr_send_change_many", send_change_many, "Position", "bob", NOT_WRITERS},
    {"orr_send_remove", send_remove, "Position", "bob", EVERYBODY},
    {"orr_send_tag", send_tag, NULL, "bob", EVERYBODY},
    {"orr_send_tag", send_untag, NULL, "bob", EVERYBODY},
    {"orr_send_enable", send_enable, "Position", "bob", EVERYBODY},
    {"orr_send_enable", send_enable_entity, NULL, "bob", EVERYBODY},
    {"orr_send_name", send_name, NULL, "bob", EVERYBODY},
    {"orr_send_event", send_event, "Hit", NULL, EVERYBODY},
    {"", read_events, "Hit", NULL, EVERYBODY},
    {"orr_receive", receive, NULL, NULL, EVERYBODY & ~(uint32_t)INDIRECT},
};

static uint64_t hash_without_breach(flavour who)
{
    orr_world* world = begin();
    add_culprit(world, who);
    KIT_STEP(world, 1);
    CHECK_STR(s.k.errors.text, "");
    uint64_t hash = orr_world_hash(world);
    kit_end(&s.k);
    return hash;
}

// What is wrong with how a breach was dealt with; NULL: nothing.
static const char* verdict(const breach* b, orr_system culprit, uint64_t hash)
{
    orr_world* world = s.world;
    const char* text = s.k.errors.text;
    const char* wrong = s.k.errors.count == 0                              ? "not noticed"
                        : s.k.errors.count > 1                             ? "said more than once"
                        : kit_stats(world, culprit).breaches != 1          ? "not counted once"
                        : strstr(text, "'culprit'") == NULL                ? "without the system"
                        : strstr(text, b->call) == NULL                    ? "without the call"
                        : b->type != NULL && strstr(text, b->type) == NULL ? "without the type"
                        : b->entity != NULL && strstr(text, b->entity) == NULL
                            ? "without the entity"
                        : orr_world_hash(world) != hash ? "not without effect"
                                                        : NULL;
    return wrong;
}

/* N2-02 N2-03 N0-10 */
ORR_TEST(police_names_every_planted_breach)
{
    uint32_t planted = 0, missed = 0;
    for (uint32_t who = STRANGER; who < EVERYBODY; who *= 2) {
        uint64_t hash = hash_without_breach((flavour)who);
        for (size_t i = 0; i < sizeof breaches / sizeof breaches[0]; i++) {
            const breach* b = &breaches[i];
            if ((b->who & who) == 0) {
                continue;
            }
            orr_world* world = begin();
            orr_system culprit = add_culprit(world, (flavour)who);
            s.breach = b->function;
            KIT_STEP(world, 1);
            const char* wrong = verdict(b, culprit, hash);
            planted++;
            if (wrong != NULL) {
                missed++;
                printf("  breach %zu (%s, %s%s%s) of a system of flavour %u: %s: \"%s\"\n", i,
                       b->call, b->type != NULL ? b->type : "", b->entity != NULL ? " of " : "",
                       b->entity != NULL ? b->entity : "", who, wrong, s.k.errors.text);
            }
            kit_end(&s.k);
        }
    }
    printf("  %u breaches planted\n", planted);
    CHECK(planted >= 100);
    CHECK_EQ(missed, 0);
}

// A world without its own entity: asking for it would create it.
static void world_entity(orr_run* run)
{
    CHECK_EQ(orr_world_entity(run->world).id, 0);
}

ORR_TEST(police_does_not_let_a_system_create_the_worlds_entity)
{
    orr_world* world = begin();
    CHECK_OK(orr_destroy(world, s.single));
    orr_system culprit = add_culprit(world, WRITER);
    s.breach = world_entity;
    KIT_STEP(world, 1);
    CHECK_EQ(kit_stats(world, culprit).breaches, 1);
    KIT_ERROR(&s.k, ORR_ERR_STATE, "orr_world_entity: system 'culprit' changes structure directly");
    kit_end(&s.k);
}

// ---- declared, but not this -----------------------------------------------------------------------------------------

static orr_entity made;

static void send_beyond(orr_run* run)
{
    kit* k = &s.k;
    // It may destroy Tiny ones; bob is none. (A dead one is dropped at the commit.)
    CHECK_RESULT(orr_send_destroy(run, s.bob), ORR_ERR_STATE);
    KIT_ERROR(k, ORR_ERR_STATE, "let its .destroys select the entity");
    // What `creates` allows is allowed for those it creates alone.
    made = orr_send_create(run);
    CHECK(made.id != 0);
    CHECK_OK(orr_send_add(run, made, Tiny, {1}));
    CHECK_EQ(k->errors.count, 0);
    CHECK_RESULT(orr_send_add(run, made, Health, {1, 1}), ORR_ERR_STATE);
    KIT_ERROR(k, ORR_ERR_STATE, "Health");
    // Two were promised.
    CHECK(orr_send_create(run).id != 0);
    CHECK_EQ(orr_send_create(run).id, 0);
    KIT_ERROR(k, ORR_ERR_CAPACITY, "culprit");
    // Other tags, other types.
    CHECK_OK(orr_send_tag(run, s.bob, 6, true));
    CHECK_RESULT(orr_send_tag(run, s.bob, 7, true), ORR_ERR_STATE);
    KIT_ERROR(k, ORR_ERR_STATE, "bob");
    CHECK_OK(orr_send_enable(run, s.bob, Health, false));
    CHECK_RESULT(orr_send_enable(run, s.bob, Position, false), ORR_ERR_STATE);
    KIT_ERROR(k, ORR_ERR_STATE, "Position");
    CHECK_RESULT(orr_send_remove(run, s.bob, Health), ORR_ERR_STATE);
    KIT_ERROR(k, ORR_ERR_STATE, "Health");
}

ORR_TEST(police_refuses_sends_beyond_what_was_declared)
{
    orr_world* world = begin();
    orr_system culprit = KIT_SYSTEM(world, .name = "culprit", .once = true, .query = "Velocity",
                                    .run = call_breach, .creates = "Tiny", .creates_max = 2,
                                    .destroys = "Tiny", .tags = "#6", .switches = "Health",
                                    .removes = "Position");
    s.breach = send_beyond;
    KIT_STEP(world, 1);
    CHECK(kit_stats(world, culprit).breaches >= 5);
    CHECK_EQ(orr_entity_count(world), 5);
    CHECK(orr_has(world, made, Tiny) && !orr_has(world, made, Health));
    CHECK(orr_tag_has(world, s.bob, 6) && !orr_tag_has(world, s.bob, 7));
    CHECK(!orr_enabled(world, s.bob, Health) && orr_enabled(world, s.bob, Position));
    kit_end(&s.k);
}

// ---- writes through pointers ---------------------------------------------------------------------------------------------

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

typedef struct sneak {
    void (*function)(orr_run* run);
    const char* words;
    uint32_t who;
} sneak;

static const sneak sneaks[] = {
    {write_read_column, "system 'culprit' wrote Position of bob", READER},
    {write_got, "system 'culprit' wrote Position of bob", READER},
    {write_got_pinned, "system 'culprit' wrote Body of bob", READER},
    {write_got_instance, "system 'culprit' wrote Cargo of bob", READER},
    {write_kept, "system 'culprit' wrote Position of bob", EVERYBODY & ~(uint32_t)WRITER},
    {write_kept_wind, "system 'culprit' wrote Wind of system 'weather'", EVERYBODY},
    {write_kept_count, "system 'culprit' wrote Count of system 'weather'", EVERYBODY},
};

/* N2-05 */
ORR_TEST(police_in_full_finds_writes_through_pointers_and_undoes_them)
{
    for (uint32_t who = STRANGER; who < EVERYBODY; who *= 2) {
        for (size_t i = 0; i < sizeof sneaks / sizeof sneaks[0]; i++) {
            if ((sneaks[i].who & who) == 0) {
                continue;
            }
            orr_world* world = begin();
            orr_police_set(world, ORR_POLICE_FULL);
            CHECK_OK(orr_set(world, s.bob, Velocity, {0})); // Bob is among its rows, alone.
            CHECK_OK(orr_remove(world, s.eve, Velocity));
            orr_system culprit = add_culprit(world, (flavour)who);
            orr_system weather = orr_system_find(world, "weather");
            KIT_STEP(world, 1);
            kept = orr_edit(world, s.bob, Position);
            kept_wind = (Wind*)(uintptr_t)orr_system_exports(world, weather);
            kept_count = (Count*)(uintptr_t)orr_system_state(world, weather);
            s.breach = sneaks[i].function;
            KIT_STEP(world, 1);
            CHECK_EQ(s.k.errors.count, 1);
            CHECK_EQ(s.k.errors.id, ORR_LOG_ID_BREACH);
            KIT_ERROR(&s.k, ORR_ERR_STATE, sneaks[i].words);
            CHECK_EQ(kit_stats(world, culprit).breaches, 1);
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
    orr_own(run, Count)->value = 99;
}

ORR_TEST(police_in_full_finds_a_parallel_system_that_writes_its_state)
{
    for (uint32_t parallel = 0; parallel < 2; parallel++) {
        orr_world* world = begin();
        orr_police_set(world, ORR_POLICE_FULL);
        orr_system culprit = KIT_SYSTEM(world, .name = "culprit", .query = "Velocity",
                                        .run = write_own, .state = ORR_TYPE(Count),
                                        .parallel = parallel != 0);
        KIT_STEP(world, 1);
        CHECK_EQ(kit_stats(world, culprit).breaches, parallel);
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

// Bytes that were never written, between fields, are compared too: that must decide nothing.
static void write_padded(orr_run* run)
{
    Padded* p = orr_write(run, Padded);
    Padded value;
    value.a = 1;
    value.b = 2;
    value.c = 3;
    p[0] = value;
}

ORR_TEST(police_in_full_compares_padding_without_looking_at_it)
{
    orr_world* world = begin();
    orr_police_set(world, ORR_POLICE_FULL);
    CHECK_OK(orr_set(world, s.eve, Padded, {0}));
    KIT_SYSTEM(world, .name = "pad", .query = "write Padded", .run = write_padded);
    KIT_SYSTEM(world, .name = "other", .query = "Velocity", .run = kit_run_nothing);
    KIT_STEP(world, 3);
    CHECK_EQ(s.k.errors.count, 0);
    kit_end(&s.k);
}

ORR_TEST(police_in_full_looks_away_without_memory)
{
    for (uint64_t n = 1;; n++) {
        orr_world* world = begin();
        orr_police_set(world, ORR_POLICE_FULL);
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

// ---- the other way round: what is declared is allowed -----------------------------------------------------------------

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
    orr_string string = orr_string_make(world, "made inside");
    CHECK_STR(orr_string_text(world, string), "made inside");
    int32_t numbers[2] = {1, 2};
    uint32_t count;
    CHECK(orr_array_values(world, orr_array_make(world, numbers, 2, 4), &count) != NULL);
    CHECK_EQ(orr_type_of(world, ORR_TYPE(Position)).index1, s.position.index1);
    CHECK_EQ(orr_type_find(world, "Health").index1, s.health.index1);
    CHECK_STR(orr_type_info_get(world, s.position)->name, "Position");
    orr_cluster found = orr_cluster_find(world, &(orr_cluster_desc){&s.tiny, 1, NULL, 0, NULL});
    CHECK_EQ(found.index1, s.other.index1);
    orr_cluster_info info;
    CHECK_OK(orr_cluster_info_get(world, s.cluster, &info));
    CHECK(orr_cluster_next(world, (orr_cluster){0}).index1 != 0);
    CHECK(orr_clusters_find(world, &(orr_cluster_match){0}, NULL, 0) > 0);
    orr_tag tag;
    CHECK(!orr_tag_find(world, "none", &tag) && orr_tag_name(world, 5) == NULL);
    CHECK_EQ(orr_bundle_find(world, "small").index1, s.bundle.index1);
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
    CHECK(orr_stats_print(world, text, sizeof text) > 0);
    CHECK(orr_run_user(run) == NULL);
    CHECK_STR(orr_system_name(world, orr_run_system(run)), "culprit");
    CHECK(orr_system_enabled(world, orr_run_system(run)));
    kit_say("ran");
}

ORR_TEST(police_lets_everybody_do_what_is_free)
{
    for (uint32_t who = STRANGER; who < EVERYBODY; who *= 2) {
        orr_world* world = begin();
        orr_system culprit = add_culprit(world, (flavour)who);
        s.breach = free_for_all;
        kit_line[0] = '\0';
        KIT_STEP(world, 1);
        KIT_SAID("ran");
        CHECK_STR(s.k.errors.text, "");
        CHECK_EQ(kit_stats(world, culprit).breaches, 0);
        kit_end(&s.k);
    }
}

static void read_all(orr_run* run)
{
    orr_world* world = run->world;
    CHECK_EQ(orr_get(world, s.bob, Position)->x, 1);
    orr_reader reader = orr_reader_make(world, s.position);
    CHECK(reader.capacity > 0); // The inline way: no call is made for it.
    CHECK(orr_reader_get(&reader, s.bob) == orr_get(world, s.bob, Position));
    CHECK_EQ(orr_get(world, s.bob, Body)->mass, 3);
    CHECK(orr_get(world, s.eve, Position) == NULL); // Absent: no breach.
    CHECK(orr_has(world, s.bob, Health) && orr_enabled(world, s.bob, Health));
    Position out;
    CHECK_OK(orr_component_get_many(world, &s.bob, 1, s.position, &out));
    orr_address address;
    CHECK_OK(orr_address_get(world, s.bob, &address));
    CHECK(orr_address_read(world, &address, s.health) != NULL);
    CHECK_EQ(orr_entity_cluster(world, s.bob).index1, s.cluster.index1);
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

ORR_TEST(police_lets_a_system_do_what_it_declared)
{
    for (uint32_t writes = 0; writes < 2; writes++) {
        for (uint32_t mode = ORR_POLICE_OFF; mode <= ORR_POLICE_FULL; mode++) {
            orr_world* world = begin();
            orr_police_set(world, (orr_police)mode);
            orr_system culprit = add_culprit(world, writes != 0 ? WRITER : READER);
            s.breach = writes != 0 ? write_all : read_all;
            kit_line[0] = '\0';
            KIT_STEP(world, 1);
            KIT_SAID("read");
            CHECK_STR(s.k.errors.text, "");
            CHECK_EQ(kit_stats(world, culprit).breaches, 0);
            CHECK_EQ(orr_get(world, s.bob, Health)->value, writes != 0 ? 104 : 50);
            kit_end(&s.k);
        }
    }
}

// A change sent for what its query does not name reaches its entity, also from a system that is called once.
static void send_any(orr_run* run)
{
    CHECK_OK(orr_send_change(run, s.bob, Health, {77, 7}));
}

ORR_TEST(police_lets_changes_be_sent_that_are_declared)
{
    for (uint32_t once = 0; once < 2; once++) {
        orr_world* world = begin();
        KIT_SYSTEM(world, .name = "a", .query = "Velocity", .once = once != 0,
                   .any = "write Health", .changes = "Health", .run = send_any);
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
    CHECK_EQ(orr_iter_cluster(run, NULL).index1, s.cluster.index1);
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
    CHECK(orr_read(run, Tiny) == NULL); // Optional, and not there.
    kit_say("used");
}

ORR_TEST(police_lets_a_system_use_its_columns_without_any)
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
    CHECK_EQ(kit_stats(world, system).breaches, 0);
    kit_end(&s.k);
}

static void break_out_of_loops(orr_run* run)
{
    static orr_iter left_open;
    (void)orr_iter_begin(&left_open, orr_run_query(run), NULL);
    CHECK(orr_iter_next(&left_open));
    ORR_EACH (it, orr_run_query(run)) {
        break;
    }
}

ORR_TEST(police_ends_loops_that_a_system_left_open)
{
    orr_world* world = begin();
    KIT_SYSTEM(world, .name = "a", .query = "Velocity", .once = true, .run = break_out_of_loops);
    KIT_SYSTEM(world, .name = "b", .query = "Velocity", .adds = "Frozen", .run = kit_run_nothing);
    KIT_STEP(world, 2);
    CHECK(orr_create(world).id != 0);
    CHECK_EQ(s.k.errors.count, 0);
    kit_end(&s.k);
}

// ---- off ------------------------------------------------------------------------------------------------------------------

static void undeclared(orr_run* run)
{
    CHECK_EQ(orr_get(run->world, s.bob, Position)->x, 1);
    orr_edit(run->world, s.bob, Health)->value = 1;
    CHECK_EQ(orr_query_count(s.reading), 1);
    CHECK_STR(orr_name_get(run->world, s.bob), "bob");
    CHECK(orr_tag_has(run->world, s.bob, 5));
    // Structure is another matter: rows must not move under those who are at them.
    CHECK_EQ(orr_create(run->world).id, 0);
    KIT_ERROR(&s.k, ORR_ERR_STATE, "orr_create: a tick is under way");
    CHECK_RESULT(orr_destroy(run->world, s.bob), ORR_ERR_STATE);
    s.k.errors = (kit_errors){0};
    // Sends still need to be declared.
    CHECK_RESULT(orr_send_add(run, s.bob, Tiny, {1}), ORR_ERR_STATE);
    s.k.errors = (kit_errors){0};
    kit_say("ran");
}

ORR_TEST(police_off_lets_calls_through)
{
    for (uint32_t who = STRANGER; who < EVERYBODY; who *= 2) {
        orr_world* world = begin();
        orr_police_set(world, ORR_POLICE_OFF);
        orr_system culprit = add_culprit(world, (flavour)who);
        s.breach = undeclared;
        kit_line[0] = '\0';
        KIT_STEP(world, 1);
        KIT_SAID("ran");
        CHECK_EQ(s.k.errors.count, 0);
        CHECK_EQ(kit_stats(world, culprit).breaches, 1); // The send.
        CHECK_EQ(orr_get(world, s.bob, Health)->value, 1);
        CHECK_EQ(orr_entity_count(world), 3);
        kit_end(&s.k);
    }
}

ORR_TEST(police_is_gone_when_no_system_runs)
{
    orr_world* world = begin();
    add_culprit(world, INDIRECT);
    KIT_STEP(world, 1);
    CHECK_EQ(orr_get(world, s.bob, Position)->x, 1);
    CHECK_OK(orr_set(world, s.bob, Tiny, {1}));
    CHECK_EQ(orr_query_count(s.reading), 1);
    CHECK(orr_change_mark(world) != 0);
    orr_police_set(world, ORR_POLICE_DEFAULT);
    KIT_STEP(world, 1);
    CHECK_EQ(s.k.errors.count, 0);
    kit_end(&s.k);
}
