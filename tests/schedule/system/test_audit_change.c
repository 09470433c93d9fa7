// SPDX-License-Identifier: MIT
// Access checks: systems that change structure directly, register, step, or send what they did not
// declare. Each violation must be refused, counted once and named with system, type and entity,
// without effect.
#include "schedule/system/audit_kit.h"

// ---- changing structure -------------------------------------------------------------------------

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
static void add_again(orr_run* run) // It exists: the call would have no effect.
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
// A dead entity: refused before its record is read.
static const orr_entity dead = {UINT64_C(1) << 32 | 5000};
static void entity_enable_dead(orr_run* run)
{
    CHECK_RESULT(orr_entity_enable(run->world, dead, false), ORR_ERR_STATE);
}
static void tag_add_dead(orr_run* run)
{
    CHECK_RESULT(orr_tag_add(run->world, dead, 6), ORR_ERR_STATE);
}
static void tag_remove_dead(orr_run* run)
{
    CHECK_RESULT(orr_tag_remove(run->world, dead, 5), ORR_ERR_STATE);
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
static void set_absent(orr_run* run) // The system may write Position of all entities; eve has none.
{
    CHECK_RESULT(orr_set(run->world, s.eve, Position, {1, 1, 1}), ORR_ERR_STATE);
}
static void set_absent_pinned(orr_run* run)
{
    CHECK_RESULT(orr_set(run->world, s.eve, Body, {1, 1}), ORR_ERR_STATE);
}

// ---- registering, stepping ----------------------------------------------------------------------

static void type_register(orr_run* run)
{
    orr_type out;
    CHECK_RESULT(orr_type_register(run->world, ORR_TYPE(Unseen), &out), ORR_ERR_STATE);
}
static void type_of(orr_run* run)
{
    CHECK_EQ(orr_type_of(run->world, ORR_TYPE(Unseen)).id, 0);
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
    CHECK_EQ(KIT_ADD(run->world, .name = "new", .query = "Velocity", .run = kit_run).id, 0);
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

// ---- sending ------------------------------------------------------------------------------------

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

// ---- the table ----------------------------------------------------------------------------------

static const violation violations[] = {
    {"orr_create", create, NULL, NULL, ALL_FLAVOURS},
    {"orr_create_in", create_in, NULL, NULL, ALL_FLAVOURS},
    {"orr_create_many", create_many, NULL, NULL, ALL_FLAVOURS},
    {"orr_create_named", create_named, NULL, NULL, ALL_FLAVOURS},
    {"orr_copy", copy, NULL, "bob", ALL_FLAVOURS},
    {"orr_destroy", destroy, NULL, "bob", ALL_FLAVOURS},
    {"orr_destroy_many", destroy_many, NULL, "bob", ALL_FLAVOURS},
    {"orr_entities_destroy_all", destroy_all, NULL, NULL, ALL_FLAVOURS},
    {"orr_entity_move", entity_move, NULL, "bob", ALL_FLAVOURS},
    {"orr_rows_move", rows_move, NULL, NULL, ALL_FLAVOURS},
    {"orr_rows_move_all", rows_move_all, NULL, NULL, ALL_FLAVOURS},
    {"orr_entity_enable", entity_enable, NULL, "bob", ALL_FLAVOURS},
    {"orr_add", add, "Frozen", "bob", ALL_FLAVOURS},
    {"orr_add", add_again, "Position", "bob", ALL_FLAVOURS},
    {"orr_add", add_pinned, "Body", "eve", ALL_FLAVOURS},
    {"orr_remove", take, "Position", "bob", ALL_FLAVOURS},
    {"orr_remove", take_pinned, "Body", "bob", ALL_FLAVOURS},
    {"orr_enable", enable, "Position", "bob", ALL_FLAVOURS},
    {"orr_tag_add", tag_add, NULL, "bob", ALL_FLAVOURS},
    {"orr_tag_add", tag_add_again, NULL, "bob", ALL_FLAVOURS},
    {"orr_tag_remove", tag_remove, NULL, "bob", ALL_FLAVOURS},
    {"orr_entity_enable", entity_enable_dead, NULL, NULL, ALL_FLAVOURS},
    {"orr_tag_add", tag_add_dead, NULL, NULL, ALL_FLAVOURS},
    {"orr_tag_remove", tag_remove_dead, NULL, NULL, ALL_FLAVOURS},
    {"orr_component_add_many", add_many, "Tiny", "bob", ALL_FLAVOURS},
    {"orr_component_remove_many", take_many, "Position", "bob", ALL_FLAVOURS},
    {"orr_cluster_get", cluster_get, NULL, NULL, ALL_FLAVOURS},
    {"orr_cluster_clear", cluster_clear, NULL, NULL, ALL_FLAVOURS},
    {"orr_cluster_delete", cluster_delete, NULL, NULL, ALL_FLAVOURS},
    {"orr_clusters_delete", clusters_delete, NULL, NULL, ALL_FLAVOURS},
    {"orr_append_begin", append, NULL, NULL, ALL_FLAVOURS},
    {"orr_instance_add", instance_add, "Cargo", "bob", ALL_FLAVOURS},
    {"orr_instance_remove", instance_remove, "Cargo", "bob", ALL_FLAVOURS},
    {"orr_instance_enable", instance_enable, "Cargo", "bob", ALL_FLAVOURS},
    {"orr_name_set", name_set, NULL, "bob", ALL_FLAVOURS},
    {"orr_bundle_create", bundle_create, NULL, NULL, ALL_FLAVOURS},
    {"orr_bundle_add", bundle_add, NULL, "bob", ALL_FLAVOURS},
    {"orr_bundle_remove", bundle_remove, NULL, "bob", ALL_FLAVOURS},
    {"orr_query_add", query_add, "Tiny", NULL, ALL_FLAVOURS},
    {"orr_query_remove", query_remove, "Position", NULL, ALL_FLAVOURS},
    {"orr_query_destroy_entities", query_destroy_entities, NULL, NULL, ALL_FLAVOURS},
    {"orr_set", set_absent, "Position", "eve", WRITER},
    {"orr_set", set_absent_pinned, "Body", "eve", WRITER},

    {"orr_type_register", type_register, NULL, NULL, ALL_FLAVOURS},
    {"orr_type_of", type_of, "Unseen", NULL, ALL_FLAVOURS},
    {"orr_tag_register", tag_register, NULL, NULL, ALL_FLAVOURS},
    {"orr_bundle_register", bundle_register, NULL, NULL, ALL_FLAVOURS},
    {"orr_query_create", query_create, NULL, NULL, ALL_FLAVOURS},
    {"orr_query_text", query_text, NULL, NULL, ALL_FLAVOURS},
    {"orr_query_destroy", query_destroy, NULL, NULL, ALL_FLAVOURS},
    {"orr_change_mark", change_mark, NULL, NULL, ALL_FLAVOURS},
    {"orr_world_hash", world_hash, NULL, NULL, ALL_FLAVOURS},
    {"orr_tick_advance", tick_advance, NULL, NULL, ALL_FLAVOURS},
    {"orr_step", step, NULL, NULL, ALL_FLAVOURS},
    {"orr_update", update, NULL, NULL, ALL_FLAVOURS},
    {"orr_run_until", run_until, NULL, NULL, ALL_FLAVOURS},
    {"orr_system_add", system_add, NULL, NULL, ALL_FLAVOURS},
    {"orr_system_remove", system_remove, NULL, NULL, ALL_FLAVOURS},
    {"orr_system_state", system_state, NULL, NULL, ALL_FLAVOURS},
    {"orr_system_exports", system_exports, NULL, NULL, ALL_FLAVOURS},
    {"orr_journal_set", journal_set, NULL, NULL, ALL_FLAVOURS},
    {"orr_trace_set", trace_set, NULL, NULL, ALL_FLAVOURS},

    {"orr_send_create", send_create, NULL, NULL, ALL_FLAVOURS},
    {"orr_send_create_many", send_create_many, NULL, NULL, ALL_FLAVOURS},
    {"orr_send_destroy", send_destroy, NULL, "bob", ALL_FLAVOURS},
    {"orr_send_add", send_add, "Tiny", "bob", ALL_FLAVOURS},
    {"orr_send_add", send_add_preset, "Tiny", "bob", ALL_FLAVOURS},
    {"orr_send_add", send_add_instance, "Cargo", "bob", ALL_FLAVOURS},
    {"orr_send_change", send_change, "Position", "bob", NOT_WRITERS},
    {"orr_send_change_many", send_change_many, "Position", "bob", NOT_WRITERS},
    {"orr_send_remove", send_remove, "Position", "bob", ALL_FLAVOURS},
    {"orr_send_tag", send_tag, NULL, "bob", ALL_FLAVOURS},
    {"orr_send_tag", send_untag, NULL, "bob", ALL_FLAVOURS},
    {"orr_send_enable", send_enable, "Position", "bob", ALL_FLAVOURS},
    {"orr_send_enable", send_enable_entity, NULL, "bob", ALL_FLAVOURS},
    {"orr_send_name", send_name, NULL, "bob", ALL_FLAVOURS},
    {"orr_send_event", send_event, "Hit", NULL, ALL_FLAVOURS},
    {"", read_events, "Hit", NULL, ALL_FLAVOURS},
    {"orr_receive", receive, NULL, NULL, ALL_FLAVOURS & ~(uint32_t)INDIRECT},
};

/* N2-02 N2-03 N0-10 */
ORR_TEST(access_checks_report_every_violation_of_changing_and_sending)
{
    CHECK(check_violations(violations, sizeof violations / sizeof violations[0]) >= 100);
}

// A world without its own entity: a query for it would create it.
static void world_entity(orr_run* run)
{
    CHECK_EQ(orr_world_entity(run->world).id, 0);
}

ORR_TEST(access_checks_refuse_creation_of_the_worlds_entity_by_a_system)
{
    orr_world* world = begin();
    CHECK_OK(orr_destroy(world, s.single));
    orr_system culprit = add_culprit(world, WRITER);
    s.violation = world_entity;
    KIT_STEP_REFUSED(world, 1);
    CHECK_EQ(kit_stats(world, culprit).violations, 1);
    KIT_ERROR(&s.k, ORR_ERR_STATE, "orr_world_entity: system 'culprit' changes structure directly");
    kit_end(&s.k);
}

// ---- sends beyond the declaration ---------------------------------------------------------------

static orr_entity made;

static void send_beyond(orr_run* run)
{
    kit* k = &s.k;
    // It may destroy entities with Tiny; bob has none. (A dead entity is dropped at the commit.)
    CHECK_RESULT(orr_send_destroy(run, s.bob), ORR_ERR_STATE);
    KIT_ERROR(k, ORR_ERR_STATE, "let its .destroys select the entity; \"Tiny\" does not: ");
    // `creates` allows changes only of entities that the system creates.
    made = orr_send_create(run);
    CHECK(made.id != 0);
    CHECK_OK(orr_send_add(run, made, Tiny, {1}));
    CHECK_EQ(k->errors.count, 0);
    CHECK_RESULT(orr_send_add(run, made, Health, {1, 1}), ORR_ERR_STATE);
    KIT_ERROR(k, ORR_ERR_STATE, "Health");
    // Two were declared.
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

ORR_TEST(access_checks_refuse_sends_beyond_what_was_declared)
{
    orr_world* world = begin();
    orr_system culprit = KIT_SYSTEM(world, .name = "culprit", .once = true, .query = "Velocity",
                                    .run = call_violation, .creates = "Tiny", .creates_max = 2,
                                    .destroys = "Tiny", .tags = "#6", .switches = "Health",
                                    .removes = "Position");
    s.violation = send_beyond;
    KIT_STEP_REFUSED(world, 1);
    CHECK(kit_stats(world, culprit).violations >= 5);
    CHECK_EQ(orr_entity_count(world), 5);
    CHECK(orr_has(world, made, Tiny) && !orr_has(world, made, Health));
    CHECK(orr_tag_has(world, s.bob, 6) && !orr_tag_has(world, s.bob, 7));
    CHECK(!orr_enabled(world, s.bob, Health) && orr_enabled(world, s.bob, Position));
    kit_end(&s.k);
}

// A list of types where alternatives are meant is an easy mistake: the error has to name it.
static void destroy_either(orr_run* run)
{
    CHECK_RESULT(orr_send_destroy(run, s.bob), ORR_ERR_STATE);
    KIT_ERROR(&s.k, ORR_ERR_STATE,
              "; \"Health, Tiny\" does not: ',' means and, '|' means or, \"*\" is any entity");
}

static void destroy_undeclared(orr_run* run)
{
    CHECK_RESULT(orr_send_destroy(run, s.bob), ORR_ERR_STATE);
    KIT_ERROR(&s.k, ORR_ERR_STATE,
              "let its .destroys select the entity: \"A\" if it has A, \"A|B\" if it has A or B");
}

ORR_TEST(destruction_that_is_not_selected_is_refused_with_the_terms)
{
    static const struct {
        const char* destroys;
        void (*violation)(orr_run* run);
    } cases[] = {{"Health, Tiny", destroy_either}, {NULL, destroy_undeclared}};
    for (uint32_t i = 0; i < 2; i++) {
        orr_world* world = begin();
        (void)KIT_SYSTEM(world, .name = "culprit", .once = true, .query = "Velocity",
                         .run = call_violation, .destroys = cases[i].destroys);
        s.violation = cases[i].violation;
        KIT_STEP_REFUSED(world, 1);
        CHECK(orr_alive(world, s.bob));
        kit_end(&s.k);
    }
}
