// SPDX-License-Identifier: MIT
// Sending by the short paths too: every command is checked like the first of its kind, and calls of
// one run do not mix.
#include "message/command_kit.h"
#include "test.h"

typedef struct send_test {
    command_kit k;
    orr_world* world;
    sender s;
    orr_entity bob, eve;
    orr_run* run;
} send_test;

static void begin(send_test* t)
{
    memset(t, 0, sizeof *t);
    t->world = command_kit_begin(&t->k, NULL);
    t->bob = orr_create_named(t->world, "bob");
    t->eve = orr_create_named(t->world, "eve");
    sender_begin_free(&t->s, t->world, "send", 1);
    t->run = sender_open(&t->s, 16);
}

static void end(send_test* t)
{
    sender_commit(&t->s);
    command_kit_end(&t->k);
}

// ---- one by one ---------------------------------------------------------------------------------

// The second of a kind takes the short path.
ORR_TEST(send_repeated_is_checked_like_the_first)
{
    send_test t;
    begin(&t);
    orr_entity null = {0};
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_OK(orr_send_add_type(t.run, t.bob, t.k.count, &(Count){1}, NULL));
        CHECK_RESULT(orr_send_add_type(t.run, null, t.k.count, &(Count){1}, NULL),
                     ORR_ERR_ARGUMENT);
        CHECK_OK(orr_send_change_type(t.run, t.bob, t.k.count, 0, &(Count){2}));
        CHECK_RESULT(orr_send_change_type(t.run, null, t.k.count, 0, &(Count){2}),
                     ORR_ERR_ARGUMENT);
        CHECK_RESULT(orr_send_change_type(t.run, t.bob, t.k.count, 0, NULL), ORR_ERR_ARGUMENT);
        CHECK_OK(orr_send_remove_type(t.run, t.bob, t.k.velocity, 0));
        CHECK_RESULT(orr_send_remove_type(t.run, null, t.k.velocity, 0), ORR_ERR_ARGUMENT);
    }
    CHECK_EQ(orri_command_buffer_rights(t.run->commands)->counts.violations, 0);
    sender_commit(&t.s);
    CHECK_EQ(t.s.rights.counts.sent, 9);
    CHECK_EQ(orr_get(t.world, t.bob, Count)->n, 2);
    command_kit_end(&t.k);
}

ORR_STRUCT(Percent, (int32_t, value, (.min = 0, .max = 100)))

ORR_TEST(send_repeated_outside_of_the_range_is_refused)
{
    send_test t;
    begin(&t);
    orr_type percent = KIT_TYPE(t.world, Percent);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_OK(orr_send_add_type(t.run, t.bob, percent, &(Percent){50}, NULL));
        CHECK_RESULT(orr_send_add_type(t.run, t.bob, percent, &(Percent){101}, NULL),
                     ORR_ERR_RANGE);
        CHECK_OK(orr_send_change_type(t.run, t.bob, percent, 0, &(Percent){60}));
        CHECK_RESULT(orr_send_change_type(t.run, t.bob, percent, 0, &(Percent){-1}), ORR_ERR_RANGE);
    }
    sender_commit(&t.s);
    CHECK_EQ(orr_get(t.world, t.bob, Percent)->value, 60);
    command_kit_end(&t.k);
}

#define PRESETS 40

// Presets of plain, hooked and empty types, in turn and several after each other, so that they are
// appended by the short path, to an array that is not the current one, and by the long path.
ORR_TEST(send_presets_repeated_add_what_the_first_adds)
{
    send_test t;
    begin(&t);
    sender_close(&t.s);
    orr_entity ids[PRESETS];
    for (uint32_t i = 0; i < PRESETS; i++) {
        ids[i] = orr_create(t.world);
    }
    t.run = sender_open(&t.s, 0);
    for (uint32_t i = 0; i < PRESETS; i++) {
        const Velocity fast = {(float)i, 1};
        CHECK_OK(orr_send_add_type(t.run, ids[i], t.k.velocity, i % 5 == 0 ? &fast : NULL, NULL));
        CHECK_OK(orr_send_add_type(t.run, ids[i], t.k.frozen, i % 3 == 0 ? "" : NULL, NULL));
        CHECK_RESULT(orr_send_add_type(t.run, (orr_entity){0}, t.k.frozen, NULL, NULL),
                     ORR_ERR_ARGUMENT);
        if (i % 7 == 0) {
            CHECK_OK(orr_send_add_type(t.run, ids[i], t.k.token, NULL, NULL));
        }
    }
    for (uint32_t i = 0; i < PRESETS; i++) {
        CHECK_OK(orr_send_add_type(t.run, ids[i], t.k.label, NULL, NULL));
    }
    sender_commit(&t.s);
    CHECK_EQ(t.s.rights.counts.sent, 3 * PRESETS + (PRESETS + 6) / 7);
    CHECK_EQ(t.s.rights.counts.added_twice, 0);
    for (uint32_t i = 0; i < PRESETS; i++) {
        const Velocity* v = orr_get(t.world, ids[i], Velocity);
        CHECK(v != NULL && v->y == (i % 5 == 0 ? 1.0f : 0.0f));
        CHECK(v->x == (i % 5 == 0 ? (float)i : 0.0f));
        CHECK(orr_has(t.world, ids[i], Frozen) && orr_has(t.world, ids[i], Label));
        CHECK(orr_has(t.world, ids[i], Token) == (i % 7 == 0));
    }
    CHECK_OK(orr_world_validate(t.world));
    command_kit_end(&t.k);
}

// A type that the system may add to entities it creates only.
ORR_TEST(send_presets_repeated_are_checked_for_each_entity)
{
    send_test t;
    begin(&t);
    sender_close(&t.s);
    sender_begin(&t.s, t.world, "send", 1);
    t.s.rights.may_create = true;
    sender_may(&t.s, t.s.creates, t.k.velocity);
    t.run = sender_open(&t.s, 8);
    for (uint32_t i = 0; i < 3; i++) {
        orr_entity made = orr_send_create(t.run);
        CHECK_OK(orr_send_add_type(t.run, made, t.k.velocity, NULL, NULL));
        CHECK_RESULT(orr_send_add_type(t.run, t.bob, t.k.velocity, NULL, NULL), ORR_ERR_STATE);
    }
    CHECK_EQ(t.s.rights.counts.violations, 3);
    sender_commit(&t.s);
    CHECK(!orr_has(t.world, t.bob, Velocity));
    command_kit_end(&t.k);
}

ORR_TEST(send_add_of_a_unique_type_gives_no_id)
{
    send_test t;
    begin(&t);
    for (uint32_t i = 0; i < 3; i++) {
        orr_component_id id = 77;
        CHECK_OK(orr_send_add_type(t.run, t.bob, t.k.count, &(Count){1}, &id));
        CHECK_EQ(id, 0);
    }
    end(&t);
}

ORR_TEST(send_destroy_of_dead_entities_must_be_declared_too)
{
    send_test t;
    begin(&t);
    sender_close(&t.s);
    CHECK_OK(orr_destroy(t.world, t.eve));
    sender_begin(&t.s, t.world, "send", 1); // It may do nothing.
    t.run = sender_open(&t.s, 0);
    CHECK_RESULT(orr_send_destroy(t.run, t.eve), ORR_ERR_STATE);
    CHECK_EQ(t.s.rights.counts.violations, 1);
    end(&t);
}

ORR_TEST(send_name_of_255_bytes_is_the_longest)
{
    send_test t;
    begin(&t);
    char name[ORR_ENTITY_NAME_MAX + 2];
    memset(name, 'n', sizeof name);
    name[ORR_ENTITY_NAME_MAX + 1] = '\0';
    CHECK_RESULT(orr_send_name(t.run, t.bob, (orr_entity){0}, name), ORR_ERR_NAME);
    name[ORR_ENTITY_NAME_MAX] = '\0';
    CHECK_OK(orr_send_name(t.run, t.bob, (orr_entity){0}, name));
    CHECK_RESULT(orr_send_name(t.run, t.eve, (orr_entity){0}, ""), ORR_ERR_NAME);
    sender_commit(&t.s);
    CHECK_STR(orr_name_get(t.world, t.bob), name);
    CHECK_STR(orr_name_get(t.world, t.eve), "eve");
    command_kit_end(&t.k);
}

// The removal of a name has no scope, whatever is passed.
ORR_TEST(send_name_removal_ignores_the_scope)
{
    send_test t;
    begin(&t);
    orr_entity dead = orr_create(t.world);
    CHECK_OK(orr_destroy(t.world, dead));
    CHECK_OK(orr_send_name(t.run, t.bob, dead, NULL));
    sender_commit(&t.s);
    CHECK_STR(orr_name_get(t.world, t.bob), "");
    CHECK_EQ(t.s.rights.counts.dropped, 0);
    command_kit_end(&t.k);
}

// ---- by the array -------------------------------------------------------------------------------

ORR_TEST(send_change_many_changes_the_instances_it_names)
{
    send_test t;
    begin(&t);
    orr_entity entities[40];
    orr_component_id ids[40];
    Collider values[40];
    for (uint32_t i = 0; i < 40; i++) {
        entities[i] = i % 2 == 0 ? t.bob : t.eve;
        ids[i] = orr_instance_add(t.world, entities[i], t.k.collider, &(Collider){0});
        values[i] = (Collider){(int32_t)(100 + i)};
    }
    // One by one past the capacity of a new command array, then the rest at once.
    for (uint32_t i = 0; i < 20; i++) {
        CHECK_OK(orr_send_change_type(t.run, entities[i], t.k.collider, ids[i], &values[i]));
    }
    CHECK_OK(orr_send_change_many(t.run, t.k.collider, entities + 20, ids + 20, 20, values + 20));
    sender_commit(&t.s);
    for (uint32_t i = 0; i < 40; i++) {
        const Collider* c = orr_instance_get(t.world, entities[i], t.k.collider, ids[i]);
        CHECK_EQ(c->radius, 100 + (int32_t)i);
    }
    command_kit_end(&t.k);
}

// A string that no longer exists is found in every row, and nothing is sent.
ORR_TEST(send_many_checks_the_strings_of_all_rows)
{
    for (uint32_t bad = 0; bad < 3; bad++) {
        send_test t;
        begin(&t);
        orr_string gone = orr_string_make(t.world, "gone");
        orr_tick_advance(t.world);
        orr_tick_advance(t.world);
        CHECK_OK(orr_set(t.world, t.bob, Label, {orr_string_make(t.world, "old"), 0}));
        Label labels[3];
        for (uint32_t i = 0; i < 3; i++) {
            labels[i] = (Label){i == bad ? gone : orr_string_make(t.world, "here"), 7};
        }
        orr_entity entities[3] = {t.bob, t.bob, t.bob};
        CHECK_RESULT(orr_send_change_many(t.run, t.k.label, entities, NULL, 3, labels),
                     ORR_ERR_ARGUMENT);
        CHECK_CONTAINS(t.k.k.errors.text, "Label.text holds an owned string");
        orr_column_data data = {t.k.label, labels};
        CHECK_RESULT(orr_send_create_many(t.run, KIT_CLUSTER(t.world, Label), 3, &data, 1, NULL),
                     ORR_ERR_ARGUMENT);
        sender_commit(&t.s);
        CHECK_EQ(t.s.rights.counts.sent, 0);
        CHECK_EQ(orr_get(t.world, t.bob, Label)->number, 0);
        command_kit_end(&t.k);
    }
}

// ---- creations by the array ---------------------------------------------------------------------

// Every type of the cluster must be declared, by .adds or by .creates.
ORR_TEST(send_create_many_checks_every_type_of_the_cluster)
{
    send_test t;
    begin(&t);
    sender_close(&t.s);
    orr_type types[3] = {t.k.position, t.k.health, t.k.count};
    orr_cluster cluster = kit_cluster(t.world, types, 3, NULL, 0);
    for (uint32_t missing = 0; missing < 4; missing++) {
        sender_begin(&t.s, t.world, "send", 1);
        t.s.rights.may_create = true;
        for (uint32_t i = 0; i < 3; i++) {
            if (i != missing) {
                sender_may(&t.s, i == 1 ? t.s.adds : t.s.creates, types[i]);
            }
        }
        t.run = sender_open(&t.s, 1);
        CHECK_RESULT(orr_send_create_many(t.run, cluster, 1, NULL, 0, NULL),
                     missing < 3 ? ORR_ERR_STATE : ORR_OK);
        CHECK_EQ(t.s.rights.counts.violations, missing < 3);
        sender_commit(&t.s);
    }
    CHECK_EQ(kit_rows(t.world, cluster), 1);
    command_kit_end(&t.k);
}

// A call appends to the arrays of the last one only if it is about the same.
ORR_TEST(send_create_many_calls_do_not_mix)
{
    send_test t;
    begin(&t);
    orr_cluster both = KIT_CLUSTER(t.world, Health, Count);
    orr_cluster frozen = KIT_CLUSTER(t.world, Health, Count, Frozen);
    Health health[2] = {{1, 1}, {2, 2}};
    Count count[2] = {{11}, {12}};
    orr_column_data all[2] = {{t.k.health, health}, {t.k.count, count}};
    orr_entity made[10];
    CHECK_OK(orr_send_create_many(t.run, both, 2, all, 2, made));
    CHECK_OK(orr_send_create_many(t.run, both, 2, all, 1, made + 2));     // Without Count.
    CHECK_OK(orr_send_create_many(t.run, both, 2, all + 1, 1, made + 4)); // Without Health.
    CHECK_OK(orr_send_create_many(t.run, frozen, 2, all + 1, 1, made + 6));
    CHECK_OK(orr_send_create_many(t.run, both, 2, NULL, 0, made + 8));
    orr_entity bare = orr_send_create(t.run); // Of the same kind of record as the last call.
    sender_commit(&t.s);
    static const int32_t healths[10] = {1, 2, 1, 2, 100, 100, 100, 100, 100, 100};
    static const int32_t counts[10] = {11, 12, 0, 0, 11, 12, 11, 12, 0, 0};
    for (uint32_t i = 0; i < 10; i++) {
        CHECK_EQ(orr_get(t.world, made[i], Health)->value, healths[i]);
        CHECK_EQ(orr_get(t.world, made[i], Count)->n, counts[i]);
        CHECK_EQ(orr_has(t.world, made[i], Frozen), i == 6 || i == 7);
    }
    CHECK(orr_alive(t.world, bare) && !orr_has(t.world, bare, Health));
    command_kit_end(&t.k);
}

ORR_TEST(send_create_many_in_consecutive_runs_creates_all)
{
    send_test t;
    begin(&t);
    orr_cluster cluster = KIT_CLUSTER(t.world, Count);
    for (int32_t run = 0; run < 5; run++) {
        Count count[2] = {{run}, {run + 100}};
        orr_column_data data = {t.k.count, count};
        orr_entity made[2];
        CHECK_OK(orr_send_create_many(t.run, cluster, 2, &data, 1, made));
        sender_commit(&t.s);
        CHECK(orr_alive(t.world, made[0]) && orr_alive(t.world, made[1]));
        CHECK_EQ(orr_get(t.world, made[1], Count)->n, run + 100);
        t.run = sender_open(&t.s, 2);
    }
    end(&t);
}

// A hook refuses the second column: handles counted for the first are released.
ORR_TEST(send_create_many_refused_by_a_hook_releases_strings)
{
    send_test t;
    begin(&t);
    orr_string text = orr_string_make(t.world, "kept by nobody");
    Label label = {text, 1};
    Token token = kit_token(5);
    orr_column_data data[] = {{t.k.token, &token}, {t.k.label, &label}};
    kit_tokens.refuse_after = 1;
    CHECK_RESULT(orr_send_create_many(t.run, KIT_CLUSTER(t.world, Token, Label), 1, data, 2, NULL),
                 ORR_ERR_HOOK);
    kit_tokens.refuse_after = 0;
    sender_commit(&t.s);
    CHECK_STR(orr_string_text(t.world, text), "kept by nobody");
    orr_tick_advance(t.world);
    orr_tick_advance(t.world);
    CHECK_STR(orr_string_text(t.world, text), "");
    command_kit_end(&t.k);
}
