// SPDX-License-Identifier: MIT
// Access checks: systems that read or write what they did not declare, by id, in columns, through
// queries. Each violation must be refused, counted once and named with system, type and entity,
// without effect.
#include "schedule/system/audit_kit.h"

// ---- reading ------------------------------------------------------------------------------------

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
    CHECK_EQ(orr_entity_cluster(run->world, s.bob).id, 0);
}
static void chunk_entities(orr_run* run)
{
    orr_entity out[4];
    CHECK_EQ(orr_chunk_entities(run->world, s.cluster, 0, out, 4), 0);
}
static void chunk_entities_beyond(orr_run* run) // Refused before the chunk is looked for.
{
    CHECK_EQ(orr_chunk_entities(run->world, s.cluster, 99, NULL, 0), 0);
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
    CHECK_EQ(count, 0);
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

// ---- asking queries -----------------------------------------------------------------------------

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

// ---- writing values -----------------------------------------------------------------------------

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
    CHECK_EQ(count, 0);
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

// ---- the columns of a run, state and exports ----------------------------------------------------

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
    CHECK_EQ(orr_iter_cluster(run, NULL).id, 0);
}
static void own(orr_run* run)
{
    CHECK(orr_state(run, Count) == NULL);
}
static void export(orr_run* run)
{
    CHECK(orr_export(run, Wind) == NULL);
}
static void import(orr_run* run)
{
    CHECK(orr_import(run, "weather", Wind) == NULL);
}

// ---- the table ----------------------------------------------------------------------------------

static const violation violations[] = {
    {"orr_get", get, "Position", "bob", NOT_READERS},
    {"orr_get", get_pinned, "Body", "bob", NOT_READERS},
    {"orr_reader_get", get_by_reader, "Position", "bob", NOT_READERS},
    {"orr_has", has, "Position", "bob", NOT_READERS},
    {"orr_enabled", enabled, "Position", "bob", NOT_READERS},
    {"orr_component_get_many", get_many, "Position", "bob", NOT_READERS},
    {"orr_address_get", address_get, NULL, "bob", NO_MATCH | INDIRECT},
    {"orr_address_read", address_read, "Position", "bob", NOT_READERS},
    {"orr_entity_cluster", entity_cluster, NULL, "bob", NO_MATCH | INDIRECT},
    {"orr_chunk_entities", chunk_entities, NULL, NULL, NO_MATCH | INDIRECT},
    {"orr_chunk_entities", chunk_entities_beyond, NULL, NULL, NO_MATCH | INDIRECT},
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
    {"orr_singleton", singleton_get, "Health", NULL, NOT_READERS},
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
    {"orr_query_count", query_everything, NULL, NULL, NO_MATCH | INDIRECT},
    {"ORR_EACH", query_write_loop, "Position", NULL, NOT_WRITERS},

    {"orr_edit", edit, "Position", "bob", NOT_WRITERS},
    {"orr_edit", edit_pinned, "Body", "bob", NOT_WRITERS},
    {"orr_set", set, "Position", "bob", NOT_WRITERS},
    {"orr_set", set_pinned, "Body", "bob", NOT_WRITERS},
    {"orr_component_set_many", set_many, "Position", "bob", NOT_WRITERS},
    {"orr_address_write", address_write, "Position", "bob", NOT_WRITERS},
    {"orr_column_write", column_write, "Position", NULL, NOT_WRITERS},
    {"orr_span_write", span_write, "Position", NULL, NOT_WRITERS},
    {"orr_instance_set", instance_set, "Cargo", "bob", NOT_WRITERS},
    {"orr_instance_edit", instance_edit, "Cargo", "bob", NOT_WRITERS},
    {"orr_ref_edit", ref_edit, "Health", "bob", NOT_WRITERS},

    {"orr_read", read_column, "Tiny", "eve", NO_MATCH | READER | WRITER},
    {"orr_write", write_column, "Tiny", "eve", NO_MATCH | READER | WRITER},
    {"orr_write", write_what_is_read, "Velocity", "eve", NO_MATCH | READER | WRITER},
    {"orr_read", read_column_by_type, "Tiny", "eve", NO_MATCH | READER | WRITER},
    {"orr_write", write_column_by_type, "Velocity", "eve", NO_MATCH | READER | WRITER},
    {"orr_read_pinned", read_pinned, "Body", "eve", NO_MATCH},
    {"orr_write_pinned", write_pinned, "Body", "eve", NO_MATCH | READER},
    {"orr_instances_of", read_instances, "Cargo", "eve", NO_MATCH},
    {"orr_read", read_unregistered, "Unseen", "eve", NO_MATCH | READER | WRITER},
    {"", read_without_rows, "Velocity", NULL, ONCE | INDIRECT},
    {"", write_without_rows, "Velocity", NULL, ONCE | INDIRECT},
    {"", cluster_without_rows, NULL, NULL, ONCE | INDIRECT},
    {"orr_state", own, "Count", NULL, ALL_FLAVOURS},
    {"orr_export", export, "Wind", NULL, ALL_FLAVOURS},
    {"orr_import", import, "Wind", NULL, ALL_FLAVOURS},
};

/* N2-02 N2-03 N0-10 */
ORR_TEST(access_checks_report_every_violation_of_reading_and_writing)
{
    CHECK(check_violations(violations, sizeof violations / sizeof violations[0]) >= 100);
}
