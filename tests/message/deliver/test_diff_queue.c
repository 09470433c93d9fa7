// SPDX-License-Identifier: MIT
// Waiting messages: their sources, queues that overflow, their hash, and lack of memory.
#include "message/deliver/stage_kit.h"
#include <orrery/schedule.h>

// ---- after a system -----------------------------------------------------------------------------

ORR_TEST(written_columns_are_sent_with_their_system)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Velocity, ?Body, ?Shot, ?Health");
    orr_entity a = orr_create(w);
    orr_set(w, a, Velocity, {1, 1});
    orr_set(w, a, Body, {1, 1});
    orr_set(w, a, Health, {1, 1});
    (void)orr_add_instance(w, a, Shot, {1, 1});
    (void)deliver_kit_diff(w, r);
    orr_query* query =
        orr_query_text(w, "write Velocity, write Body, write Shot, Health, write Tiny");
    orr_set(w, a, Tiny, {1});
    (void)deliver_kit_diff(w, r);
    CHECK_OK(orri_diff_written(w, query, (orr_system){2, 1}));
    TAKES(r, "");
    ORR_EACH (it, query) {
        orr_write(&it, Velocity)[0].x = 2;
        orr_write(&it, Tiny)[0].value = 2;
        orr_write(&it, Shot)[0].power = 2;
        orr_write_pinned(&it, Body, 0)->mass = 2;
    }
    orr_set(w, a, Health, {2, 2}); // Not one of its write terms: sent by the next complete diff.
    CHECK_OK(orri_diff_written(w, query, (orr_system){2, 1}));
    TAKES(r, "ComponentChanged written by 2 Velocity 0v1 {x: 2, y: 1}\n"
             "ComponentChanged written by 2 Body 0v1 {mass: 2, speed: 1}\n"
             "ComponentChanged written by 2 Shot 0v1/1 {power: 2, range: 1}\n");
    RECEIVES(r, "ComponentChanged written Health 0v1 {value: 2, armour: 2}\n");
    CHECK_OK(orri_diff_written(w, orr_query_text(w, "write Tiny"), (orr_system){2, 1}));
    TAKES(r, "");
    stage_end(&s);
}

ORR_TEST(rows_that_are_new_are_left_to_the_complete_diff)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Velocity, ?Body");
    orr_query* query = orr_query_text(w, "write Velocity, ?write Body");
    orr_entity a = orr_create(w), b = orr_create(w);
    orr_set(w, a, Velocity, {1, 1});
    orr_set(w, b, Velocity, {2, 2});
    (void)deliver_kit_diff(w, r);
    orr_add(w, a, Frozen);
    CHECK_OK(orr_destroy(w, b));
    orr_entity c = orr_create(w);
    orr_set(w, c, Velocity, {3, 3});
    orr_set(w, c, Body, {3, 3});
    orr_set(w, a, Velocity, {4, 4});
    orri_reader* late = deliver_kit_reader_of(w, "Velocity", false, DELIVER_KIT_ALL);
    CHECK_OK(orri_diff_written(w, query, (orr_system){2, 1}));
    TAKES(r, "ComponentChanged written by 2 Velocity 0v1 {x: 4, y: 4}\n");
    TAKES(late, "");
    RECEIVES(r, "EntityAdded created 1v2 {Velocity} Velocity: {x: 3, y: 3} Body: {mass: 3, speed: "
                "3}\n"
                "EntityRemoved destroyed 1v1\n");
    stage_end(&s);
}

// Two systems that change every second entity each, and one that receives the changes.
static orr_entity sent_ids[4];
static char sent_text[1024];

static void sent_even(orr_run* run)
{
    (void)orr_send_add_preset(run, sent_ids[0], Frozen);
    (void)orr_send_add_preset(run, sent_ids[2], Frozen);
}

static void sent_odd(orr_run* run)
{
    (void)orr_send_add_preset(run, sent_ids[1], Frozen);
}

static void sent_receive(orr_run* run)
{
    orri_text out = {sent_text, sizeof sent_text, strlen(sent_text)};
    ORR_MESSAGES(m, run)
    {
        orri_text_add(&out, "%d %s:", (int)m->kind, orr_system_name(run->world, m->system));
        for (uint32_t i = 0; i < m->count; i++) {
            orri_text_add(&out, " %u", orri_id_index(m->entities[i]));
        }
        orri_text_add(&out, "\n");
    }
}

ORR_TEST(commit_changes_are_sent_with_their_sender)
{
    stage s;
    orr_world* w = stage_begin(&s);
    sent_text[0] = '\0';
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny), 4, NULL, 0, sent_ids));
    orr_system_add(w, &(orr_system_desc){.name = "receiver",
                                         .kind = ORR_INDIRECT,
                                         .query = "Tiny, ?Frozen",
                                         .run = sent_receive});
    orr_system_add(
        w, &(orr_system_desc){
               .name = "even", .query = "Tiny", .once = true, .run = sent_even, .adds = "Frozen"});
    orr_system_add(
        w, &(orr_system_desc){
               .name = "odd", .query = "Tiny", .once = true, .run = sent_odd, .adds = "Frozen"});
    CHECK_OK(orr_step(w, 2));
    CHECK_STR(sent_text, "0 : 0 1 2 3\n1 even: 0 2\n1 odd: 1\n");
    stage_end(&s);
}

// ---- the queue ----------------------------------------------------------------------------------

ORR_TEST(queue_that_overflows_is_emptied_and_refilled)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader_of(w, "Tiny", false, 4);
    orri_reader* other = deliver_kit_reader(w, "Tiny");
    orr_entity ids[3];
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny), 3, NULL, 0, ids));
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    CHECK_EQ(orri_reader_queued(r), 3);
    CHECK(!orri_reader_lost(r));
    orr_edit(w, ids[0], Tiny)->value = 1;
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    CHECK_EQ(orri_reader_queued(r), 4);
    orr_edit(w, ids[1], Tiny)->value = 1;
    uint32_t errors = s.k.errors.count;
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    CHECK_EQ(s.k.errors.count, errors + 1);
    CHECK(s.k.errors.id == ORR_LOG_ID_QUEUE_FULL && s.k.errors.result == ORR_ERR_CAPACITY);
    CHECK_CONTAINS(s.k.errors.text, "'Tiny' would hold 5 entities, but its limit is 4");
    CHECK_CONTAINS(s.k.errors.text, "messages_max");
    CHECK(orri_reader_lost(r));
    CHECK(!orri_reader_lost(r));
    TAKES(r, "");
    RECEIVES(r, "EntityAdded reader 0v1 1v1 2v1 {Tiny} Tiny: {value: 1}, {value: 1}, {value: 0}\n");
    TAKES(other, "EntityAdded created 0v1 1v1 2v1 {Tiny} Tiny: {value: 0}, {value: 0}, {value: 0}\n"
                 "ComponentChanged written Tiny 0v1 {value: 1}\n"
                 "ComponentChanged written Tiny 1v1 {value: 1}\n");
    stage_end(&s);
}

ORR_TEST(taken_messages_are_counted_and_the_rest_waits)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_counts counts = {0};
    orr_query* query = orr_query_text(w, "Tiny");
    orri_reader* r = orri_reader_create(
        w, &(orri_reader_desc){.name = "r", .query = query, .queue_max = 100, .counts = &counts});
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    orri_reader_enable(w, r, true);
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny), 3, NULL, 0, NULL));
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    orri_rights rights = {.name = "r", .reader = r};
    orr_run run = {.world = w, .commands = (struct orr_command_buffer*)(void*)&rights};
    if (orri_command_buffer_rights(run.commands) == &rights) { // Until the command buffer exists.
        ORR_MESSAGES(m, &run)
        {
            CHECK_EQ(m->count, 3);
        }
        CHECK_EQ(counts.received, 3);
        rights.reader = NULL;
        CHECK(orr_receive(&run) == NULL);
        CHECK_CONTAINS(s.k.errors.text, "'r' is direct");
        CHECK_EQ(rights.counts.violations, 1);
    }
    stage_end(&s);
}

ORR_TEST(hash_of_waiting_messages_depends_on_their_rows_only)
{
    uint64_t hashes[2][6];
    for (uint32_t round = 0; round < 2; round++) {
        stage s;
        orr_world* w = stage_begin(&s);
        if (round == 1) { // Numbers of types and blobs differ.
            orr_type other;
            CHECK_OK(orr_type_register(w, ORR_TYPE(Crowd), &other));
            (void)orr_string_make(w, "before");
        }
        orri_reader* r = deliver_kit_reader(
            w, "either *, ?Tiny, ?Padded, ?Label, ?Shot, ?Body, ?orr_enabled, ?orr_tags");
        orr_entity a = orr_create(w);
        uint32_t n = 0;
        orr_set(w, a, Tiny, {1});
        orr_set(w, a, Label, {orr_string_make(w, "text"), 1});
        orr_set(w, a, Body, {1, 1});
        (void)orr_add_instance(w, a, Shot, {1, 1});
        CHECK_EQ(orri_reader_hash(r, 5), 5);
        CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
        hashes[round][n++] = orri_reader_hash(r, 5);
        orr_set(w, a, Tiny, {2});
        CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
        hashes[round][n++] = orri_reader_hash(r, 5);
        CHECK_OK(orr_entity_enable(w, a, false));
        CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
        hashes[round][n++] = orri_reader_hash(r, 5);
        CHECK_OK(orr_tag_add(w, a, 3));
        CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
        hashes[round][n++] = orri_reader_hash(r, 5);
        orr_remove(w, a, Label);
        CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
        hashes[round][n++] = orri_reader_hash(r, 5);
        CHECK_OK(orr_destroy(w, a));
        CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
        hashes[round][n++] = orri_reader_hash(r, 5);
        for (uint32_t i = 0; i < n; i++) {
            CHECK(hashes[round][i] == hashes[0][i]);
            CHECK(i == 0 || hashes[round][i] != hashes[round][i - 1]);
        }
        stage_end(&s);
    }
}

// ---- memory that is refused ---------------------------------------------------------------------

// Everything at once, with the Nth allocation refused, for all N; then repeated until it succeeds.
static void stage_short_memory(bool for_good)
{
    for (uint64_t n = 1, refused = 1; refused > 0; n++) {
        stage s;
        orr_world* w = stage_begin(&s);
        mirror* mirrors[3] = {
            mirror_make(w, "either *, ?Tiny, ?Label, ?Shot, ?Body, ?orr_enabled, ?orr_tags", false,
                        DELIVER_KIT_ALL),
            mirror_make(w, "", true, DELIVER_KIT_ALL),
            mirror_make(w, "Tiny, !Body", false, DELIVER_KIT_ALL)};
        orr_entity ids[40];
        CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny), 40, NULL, 0, ids));
        refused = 0;
        for (uint32_t round = 0; round < 3; round++) {
            failing_alloc_arm(&s.k.memory, n, for_good);
            orr_result result = orri_diff_run(w, (orr_system){0, 0}, false);
            CHECK((result == ORR_OK) == (s.k.memory.refused == 0));
            CHECK(result == ORR_OK || result == ORR_ERR_MEMORY);
            refused += s.k.memory.refused;
            failing_alloc_arm(&s.k.memory, 0, false);
            for (uint32_t i = 0; result != ORR_OK && i < 3; i++) {
                mirror_take(mirrors[i]); // Delivered messages are final.
            }
            CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
            for (uint32_t i = 0; i < 3; i++) {
                mirror_take(mirrors[i]);
                mirror_compare(mirrors[i]);
            }
            for (uint32_t i = round; i < 40; i++) {
                if (!orr_alive(w, ids[i])) {
                    continue;
                }
                orr_set(w, ids[i], Tiny, {(uint8_t)(i + round)});
                if (i % 4 == 0) {
                    orr_set(w, ids[i], Label, {orr_string_make(w, "t1"), 1});
                    orr_set(w, ids[i], Body, {(int32_t)round, 1});
                    (void)orr_instance_add(w, ids[i], KIT_TYPE(w, Shot), &(Shot){1, (int32_t)i});
                    CHECK_OK(orr_instance_enable(w, ids[i], KIT_TYPE(w, Shot), 0, round == 0));
                } else if (i % 4 == 1) {
                    CHECK_OK(orr_entity_enable(w, ids[i], round == 1));
                    CHECK_OK(orr_tag_add(w, ids[i], 7 + round));
                    CHECK_OK(orr_component_enable(w, ids[i], KIT_TYPE(w, Tiny), round == 1));
                } else if (i % 4 == 2) {
                    CHECK_OK(orr_destroy(w, ids[i]));
                }
            }
        }
        CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
        for (uint32_t i = 0; i < 3; i++) {
            mirror_take(mirrors[i]);
            mirror_compare(mirrors[i]);
            mirror_free(mirrors[i]);
        }
        stage_end(&s);
    }
}

ORR_TEST(memory_refused_during_a_diff_loses_nothing)
{
    stage_short_memory(false);
    stage_short_memory(true);
}

ORR_TEST(memory_refused_while_a_reader_is_created_leaves_none)
{
    for (uint64_t n = 1;; n++) {
        stage s;
        orr_world* w = stage_begin(&s);
        orr_query* query = orr_query_text(w, "Tiny");
        failing_alloc_arm(&s.k.memory, n, false);
        orri_reader* r =
            orri_reader_create(w, &(orri_reader_desc){.name = "r", .query = query, .queue_max = 1});
        bool refused = s.k.memory.refused > 0;
        CHECK((r == NULL) == refused);
        failing_alloc_arm(&s.k.memory, 0, false);
        CHECK(!orri_has_readers(w));
        stage_end(&s);
        if (!refused) {
            break;
        }
    }
}
