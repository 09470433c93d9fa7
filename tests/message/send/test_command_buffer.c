// SPDX-License-Identifier: MIT
// Sending: stored commands, refusals and their texts, and reserved ids.
#include "message/command_kit.h"
#include "test.h"

typedef struct buffer_test {
    command_kit k;
    orr_world* world;
    sender s;
    orr_entity bob;
    orr_run* run;
} buffer_test;

// A system that may do nothing.
static void begin(buffer_test* t)
{
    memset(t, 0, sizeof *t);
    t->world = command_kit_begin(&t->k, NULL);
    t->bob = orr_create_named(t->world, "bob");
    sender_begin(&t->s, t->world, "move", 1);
    t->run = sender_open(&t->s, 4);
}

static void begin_free(buffer_test* t)
{
    begin(t);
    sender_close(&t->s);
    sender_begin_free(&t->s, t->world, "move", 1);
    t->run = sender_open(&t->s, 4);
}

static void end(buffer_test* t)
{
    sender_commit(&t->s);
    command_kit_end(&t->k);
}

// Refused, reported, counted; and nothing of it is stored.
static void check_violation(buffer_test* t, orr_result result, uint64_t violations,
                            const char* words)
{
    CHECK_RESULT(result, ORR_ERR_STATE);
    CHECK_EQ(t->s.rights.counts.violations, violations);
    CHECK_EQ(t->k.k.errors.id, ORR_LOG_ID_ACCESS_VIOLATION);
    CHECK_CONTAINS(t->k.k.errors.text, "system 'move'");
    CHECK_CONTAINS(t->k.k.errors.text, words);
}

// ---- undeclared sends ---------------------------------------------------------------------------

ORR_TEST(send_add_undeclared_names_system_type_entity_and_remedy) /* N0-48 */
{
    buffer_test t;
    begin(&t);
    orr_result result = orr_send_add_type(t.run, t.bob, t.k.frozen, NULL, NULL);
    check_violation(&t, result, 1,
                    "sends ComponentAdded of Frozen for bob (0v1), which it did not declare; add "
                    "Frozen to its .adds");
    end(&t);
    CHECK_EQ(t.s.rights.counts.sent, 0);
}

ORR_TEST(send_undeclared_of_every_kind_is_a_violation) /* N0-44 N0-48 N0-49 */
{
    buffer_test t;
    begin(&t);
    orr_run* run = t.run;
    orr_type none = {0};
    check_violation(
        &t, orr_send_change_type(run, t.bob, t.k.count, 0, &(Count){1}), 1,
        "ComponentChanged of Count for bob (0v1), which it did not declare; add Count to "
        "its .changes");
    check_violation(
        &t, orr_send_remove_type(run, t.bob, t.k.count, 0), 2,
        "ComponentRemoved of Count for bob (0v1), which it did not declare; add Count to "
        "its .removes");
    check_violation(&t, orr_send_destroy(run, t.bob), 3, "EntityRemoved for bob (0v1)");
    CHECK_CONTAINS(t.k.k.errors.text, ".destroys");
    CHECK_EQ(orr_send_create(run).id, 0);
    check_violation(&t, t.k.k.errors.result, 4, "EntityAdded");
    CHECK_CONTAINS(t.k.k.errors.text, ".creates");
    check_violation(&t, orr_send_tag(run, t.bob, 17, true), 5, "adds #17 for bob (0v1)");
    CHECK_CONTAINS(t.k.k.errors.text, "add #17 to its .tags");
    check_violation(&t, orr_send_enable_type(run, t.bob, t.k.count, 0, true), 6,
                    "enables or disables Count for bob (0v1)");
    check_violation(&t, orr_send_enable_type(run, t.bob, none, 0, true), 7,
                    "enables or disables an entity for bob (0v1)");
    CHECK_CONTAINS(t.k.k.errors.text, "add * to its .switches");
    check_violation(&t, orr_send_name(run, t.bob, (orr_entity){0}, "x"), 8, "sends a name for bob");
    CHECK_CONTAINS(t.k.k.errors.text, ".renames");
    check_violation(&t, orr_send_event_type(run, t.k.count, &(Count){1}), 9, "the event Count");
    CHECK_CONTAINS(t.k.k.errors.text, ".sends");
    orr_cluster cluster = KIT_CLUSTER(t.world, Count);
    check_violation(&t, orr_send_create_many(run, cluster, 1, NULL, 0, NULL), 10, "EntityAdded");
    check_violation(&t, orr_send_change_many(run, t.k.count, &t.bob, NULL, 1, &(Count){1}), 11,
                    "ComponentChanged of Count");
    end(&t);
}

ORR_TEST(send_add_declared_by_creates_is_for_new_entities_only)
{
    buffer_test t;
    begin(&t);
    t.s.rights.may_create = true;
    sender_may(&t.s, t.s.creates, t.k.count);
    sender_close(&t.s);
    t.run = sender_open(&t.s, 4);
    for (int i = 0; i < 3; i++) {
        orr_entity fresh = orr_send_create(t.run);
        CHECK_OK(orr_send_add_type(t.run, fresh, t.k.count, &(Count){i}, NULL));
        CHECK_OK(orr_send_destroy(t.run, fresh)); // It may destroy what it created.
    }
    check_violation(&t, orr_send_add_type(t.run, t.bob, t.k.count, &(Count){1}, NULL), 1,
                    "ComponentAdded of Count for bob");
    check_violation(&t, orr_send_destroy(t.run, t.bob), 2, "EntityRemoved for bob");
    end(&t);
}

ORR_TEST(send_create_many_needs_all_types_and_tags_declared)
{
    buffer_test t;
    begin(&t);
    sender_close(&t.s);
    t.s.rights.may_create = true;
    sender_may(&t.s, t.s.creates, t.k.count);
    t.run = sender_open(&t.s, 4);
    orr_cluster both = KIT_CLUSTER(t.world, Count, Position), tagged,
                one = KIT_CLUSTER(t.world, Count);
    CHECK_OK(orr_cluster_get(
        t.world,
        &(orr_cluster_desc){
            .types = &t.k.count, .type_count = 1, .tags = (const orr_tag[]){5}, .tag_count = 1},
        &tagged));
    check_violation(&t, orr_send_create_many(t.run, both, 1, NULL, 0, NULL), 1, "Position");
    check_violation(&t, orr_send_create_many(t.run, tagged, 1, NULL, 0, NULL), 2, "#5");
    CHECK_OK(orr_send_create_many(t.run, one, 2, NULL, 0, NULL));
    end(&t);
}

ORR_TEST(send_destroy_checks_the_declared_targets)
{
    buffer_test t;
    begin(&t);
    orr_query* query = orr_query_text(t.world, "Count, !Frozen");
    t.s.rights.destroys = query;
    orr_entity one = orr_create(t.world), two = orr_create(t.world);
    CHECK_OK(orr_set(t.world, one, Count, {1}));
    CHECK_OK(orr_set(t.world, two, Count, {1}));
    CHECK_OK(orr_add(t.world, two, Frozen));
    CHECK_OK(orr_send_destroy(t.run, one));
    check_violation(&t, orr_send_destroy(t.run, two), 1, "EntityRemoved for 2v1");
    check_violation(&t, orr_send_destroy(t.run, t.bob), 2, "EntityRemoved for bob (0v1)");
    sender_commit(&t.s);
    CHECK(!orr_alive(t.world, one) && orr_alive(t.world, two) && orr_alive(t.world, t.bob));
    orr_query_destroy(query);
    command_kit_end(&t.k);
}

ORR_TEST(send_tag_checks_the_declared_list)
{
    buffer_test t;
    begin(&t);
    CHECK_OK(orr_tag_register(t.world, 30, "level3"));
    static const orr_tag tags[] = {3, 10, 20};
    t.s.rights.tags = tags;
    t.s.rights.tag_count = 3;
    CHECK_OK(orr_send_tag(t.run, t.bob, 3, true));
    CHECK_OK(orr_send_tag(t.run, t.bob, 10, true));
    CHECK_OK(orr_send_tag(t.run, t.bob, 20, false));
    check_violation(&t, orr_send_tag(t.run, t.bob, 11, true), 1, "#11");
    check_violation(&t, orr_send_tag(t.run, t.bob, 30, false), 2, "removes #level3");
    end(&t);
    CHECK_EQ(t.s.rights.counts.sent, 3);
}

// ---- mistakes -----------------------------------------------------------------------------------

ORR_TEST(send_mistakes_are_refused_and_reported)
{
    buffer_test t;
    begin_free(&t);
    orr_run* run = t.run;
    orr_entity null = {0};
    orr_type none = {0}, name = KIT_TYPE(t.world, orr_name);
    CHECK_RESULT(orr_send_add_type(run, null, t.k.count, &(Count){1}, NULL), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(t.k.k.errors.text, "entity is null");
    CHECK_RESULT(orr_send_add_type(run, t.bob, none, NULL, NULL), ORR_ERR_TYPE);
    CHECK_RESULT(orr_send_change_type(run, t.bob, t.k.count, 0, NULL), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_send_change_type(run, null, t.k.count, 0, &(Count){1}), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_send_change_type(run, t.bob, t.k.count, 7, &(Count){1}), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(t.k.k.errors.text, "Count is a unique type");
    CHECK_RESULT(orr_send_change_type(run, t.bob, t.k.collider, 0, &(Collider){1}),
                 ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(t.k.k.errors.text, "must name an instance");
    CHECK_RESULT(orr_send_change_many(run, t.k.count, NULL, NULL, 1, &(Count){1}),
                 ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_send_remove_type(run, t.bob, t.k.count, 3), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_send_remove_type(run, t.bob, none, 0), ORR_ERR_TYPE);
    CHECK_RESULT(orr_send_destroy(run, null), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_send_tag(run, null, 1, true), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_send_enable_type(run, null, none, 0, true), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_send_enable_type(run, t.bob, none, 4, true), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_send_enable_type(run, t.bob, t.k.count, 4, true), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_send_name(run, null, null, "x"), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_send_name(run, t.bob, null, ""), ORR_ERR_NAME);
    CHECK_RESULT(orr_send_name(run, t.bob, null, "a/b"), ORR_ERR_NAME);
    CHECK_RESULT(orr_send_add_type(run, t.bob, name, NULL, NULL), ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(t.k.k.errors.text, "orr_send_name()");
    orr_type enabled = KIT_TYPE(t.world, orr_enabled);
    CHECK_RESULT(orr_send_add_type(run, t.bob, enabled, NULL, NULL), ORR_ERR_TYPE);
    CHECK_CONTAINS(t.k.k.errors.text, "orr_send_enable()");
    CHECK_RESULT(orr_send_event_type(run, t.k.count, NULL), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_send_event_type(run, t.k.label, &(Label){0}), ORR_ERR_TYPE);
    orr_string gone = {99, 1};
    CHECK_RESULT(orr_send_add_type(run, t.bob, t.k.label, &(Label){gone, 1}, NULL),
                 ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(t.k.k.errors.text, "Label.text");
    CHECK_EQ(t.s.rights.counts.violations, 0);
    end(&t);
    CHECK_EQ(t.s.rights.counts.sent, 0);
}

ORR_TEST(send_create_many_mistakes_are_refused_and_reported)
{
    buffer_test t;
    begin_free(&t);
    orr_cluster cluster = KIT_CLUSTER(t.world, Count);
    orr_column_data data[] = {{t.k.count, &(Count){1}}, {t.k.count, &(Count){1}}};
    orr_column_data other = {t.k.position, &(Position){0}}, empty = {t.k.count, NULL},
                    wild = {{0}, NULL};
    CHECK_RESULT(orr_send_create_many(t.run, (orr_cluster){0}, 1, NULL, 0, NULL), ORR_ERR_CLUSTER);
    CHECK_RESULT(orr_send_create_many(t.run, cluster, 1, NULL, 1, NULL), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_send_create_many(t.run, cluster, 1, data, 2, NULL), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_send_create_many(t.run, cluster, 1, &other, 1, NULL), ORR_ERR_ABSENT);
    CHECK_RESULT(orr_send_create_many(t.run, cluster, 1, &empty, 1, NULL), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_send_create_many(t.run, cluster, 1, &wild, 1, NULL), ORR_ERR_TYPE);
    CHECK_RESULT(orr_send_create_many(t.run, cluster, 5, NULL, 0, NULL), ORR_ERR_CAPACITY);
    CHECK_OK(orr_send_create_many(t.run, cluster, 0, NULL, 0, NULL));
    end(&t);
    CHECK_EQ(t.s.rights.counts.sent, 0);
}

static uint32_t asserted;
static void count_assert(const char* expression, const char* file, int line, const char* function)
{
    (void)expression, (void)file, (void)line, (void)function;
    asserted++;
}

ORR_TEST(send_outside_of_a_running_system_is_refused)
{
    buffer_test t;
    begin_free(&t);
    orr_query* query = orr_query_text(t.world, "either *");
    uint32_t loops = 0;
    ORR_EACH (it, query) {
        CHECK_RESULT(orr_send_destroy(&it, t.bob), ORR_ERR_STATE);
        CHECK_CONTAINS(t.k.k.errors.text, "a query loop, not the run of a system");
        loops++;
    }
    CHECK_EQ(loops, 1);
    orr_query_destroy(query);
    sender_close(&t.s);
    CHECK_RESULT(orr_send_change_type(t.run, t.bob, t.k.count, 0, &(Count){1}), ORR_ERR_STATE);
    CHECK_CONTAINS(t.k.k.errors.text, "has returned");
    CHECK_RESULT(orri_check_run(t.run, "orr_receive"), ORR_ERR_STATE);
    CHECK_EQ(orr_send_create(t.run).id, 0);
    CHECK_RESULT(orr_send_add_type(t.run, t.bob, t.k.count, NULL, NULL), ORR_ERR_STATE);
    CHECK_RESULT(orr_send_remove_type(t.run, t.bob, t.k.count, 0), ORR_ERR_STATE);
    CHECK_RESULT(orr_send_tag(t.run, t.bob, 1, true), ORR_ERR_STATE);
    CHECK_RESULT(orr_send_enable_type(t.run, t.bob, t.k.count, 0, true), ORR_ERR_STATE);
    CHECK_RESULT(orr_send_name(t.run, t.bob, t.bob, "x"), ORR_ERR_STATE);
    CHECK_RESULT(orr_send_event_type(t.run, t.k.count, &(Count){1}), ORR_ERR_STATE);
    CHECK_RESULT(orr_send_change_many(t.run, t.k.count, NULL, NULL, 0, NULL), ORR_ERR_STATE);
    CHECK_RESULT(orr_send_create_many(t.run, (orr_cluster){0}, 1, NULL, 0, NULL), ORR_ERR_STATE);
    orr_assert_handler_set(count_assert);
    CHECK_RESULT(orr_send_destroy(NULL, t.bob), ORR_ERR_ARGUMENT);
    orr_assert_handler_set(NULL);
    command_kit_end(&t.k);
}

// ---- ids ----------------------------------------------------------------------------------------

ORR_TEST(send_create_gives_ids_that_live_after_the_commit) /* N0-49 */
{
    buffer_test t;
    begin_free(&t);
    orr_entity ids[4];
    for (uint32_t i = 0; i < 4; i++) {
        ids[i] = orr_send_create(t.run);
        CHECK(ids[i].id != 0 && !orr_alive(t.world, ids[i]));
        CHECK_OK(orr_send_add_type(t.run, ids[i], t.k.count, &(Count){(int32_t)i}, NULL));
    }
    CHECK_EQ(orr_send_create(t.run).id, 0);
    CHECK_EQ(t.k.k.errors.result, ORR_ERR_CAPACITY);
    CHECK_CONTAINS(t.k.k.errors.text, ".creates_max is 4");
    sender_commit(&t.s);
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_EQ(orr_get(t.world, ids[i], Count)->n, (int32_t)i);
    }
    command_kit_end(&t.k);
}

ORR_TEST(send_create_ids_follow_runs_not_calls)
{
    buffer_test t;
    begin_free(&t);
    sender_close(&t.s);
    CHECK_OK(orri_commit(t.world)); // Ends the reservation of the run that was open.
    // Some free ids, the last one first.
    orr_entity old[3];
    for (uint32_t i = 0; i < 3; i++) {
        old[i] = orr_create(t.world);
    }
    CHECK_OK(orr_destroy_many(t.world, old, 3));
    // Three runs of two ids each; the second creates none. The ids of the others do not depend on
    // that.
    orr_entity a, b, c, d;
    t.run = sender_open(&t.s, 2);
    a = orr_send_create(t.run);
    sender_close(&t.s);
    t.run = sender_open(&t.s, 2);
    sender_close(&t.s);
    t.run = sender_open(&t.s, 2);
    b = orr_send_create(t.run);
    c = orr_send_create(t.run);
    CHECK_OK(orr_send_add_type(t.run, a, t.k.link, &(Link){c, 1}, NULL));
    sender_commit(&t.s);
    CHECK(orr_alive(t.world, a) && orr_alive(t.world, b) && orr_alive(t.world, c));
    CHECK_EQ((uint32_t)a.id, (uint32_t)old[2].id);     // Position 0,
    CHECK_EQ((uint32_t)b.id, (uint32_t)old[2].id + 2); // position 4: past the free list of three,
    CHECK_EQ((uint32_t)c.id, (uint32_t)old[2].id + 3); // and 5.
    CHECK_EQ(orr_get(t.world, a, Link)->target.id, c.id);
    // Unused ids are given later: new ones that were skipped, then those that were free before.
    d = orr_create(t.world);
    CHECK_EQ((uint32_t)d.id, (uint32_t)old[2].id + 1);
    d = orr_create(t.world);
    CHECK_EQ((uint32_t)d.id, (uint32_t)old[1].id);
    command_kit_end(&t.k);
}

ORR_TEST(send_create_without_a_commit_keeps_no_reservation)
{
    buffer_test t;
    begin_free(&t);
    orr_entity first = {0};
    for (int tick = 0; tick < 10; tick++) {
        sender_close(&t.s);
        CHECK_OK(sender_end(&t.s));
        CHECK_OK(orri_commit(t.world));
        t.run = sender_open(&t.s, 1000);
        first = first.id == 0 ? orr_send_create(t.run) : first;
        if (tick == 0) {
            CHECK_EQ((uint32_t)first.id, 1);
        }
    }
    orr_entity next = orr_send_create(t.run);
    CHECK_EQ((uint32_t)next.id, 2);
    end(&t);
}

ORR_TEST(send_create_past_the_worlds_limit_is_refused)
{
    buffer_test t;
    memset(&t, 0, sizeof t);
    t.world = command_kit_begin(&t.k, &(orr_world_desc){.entities_max = 3});
    sender_begin_free(&t.s, t.world, "move", 1);
    t.run = sender_open(&t.s, 10);
    for (int i = 0; i < 3; i++) {
        CHECK(orr_send_create(t.run).id != 0);
    }
    CHECK_EQ(orr_send_create(t.run).id, 0);
    CHECK_EQ(t.k.k.errors.result, ORR_ERR_CAPACITY);
    CHECK_CONTAINS(t.k.k.errors.text, "entities_max");
    CHECK_RESULT(orr_send_create_many(t.run, KIT_CLUSTER(t.world, Count), 1, NULL, 0, NULL),
                 ORR_ERR_CAPACITY);
    end(&t);
    CHECK_EQ(t.s.rights.counts.sent, 3);
}

// ---- values -------------------------------------------------------------------------------------

ORR_TEST(send_copies_values_and_gives_back_what_they_own)
{
    buffer_test t;
    begin_free(&t);
    orr_entity eve = orr_create(t.world);
    orr_string text = orr_string_make(t.world, "hello");
    Token token = kit_token(5);
    // Enough to make the command arrays grow, with values that must be moved by their hook.
    for (uint32_t i = 0; i < 100; i++) {
        CHECK_OK(orr_send_add_type(t.run, t.bob, t.k.token, &token, NULL));
        CHECK_OK(orr_send_add_type(t.run, eve, t.k.label, &(Label){text, (int32_t)i}, NULL));
    }
    sender_close(&t.s);
    CHECK_EQ(kit_tokens.live, 100);
    orr_tick_advance(t.world); // The command buffer holds the string.
    CHECK_STR(orr_string_text(t.world, text), "hello");
    CHECK_OK(sender_end(&t.s));
    CHECK_OK(orri_commit(t.world));
    CHECK_EQ(kit_tokens.live, 1);
    CHECK_EQ(kit_tokens.broken, 0);
    CHECK(kit_token_sound(orr_get(t.world, t.bob, Token)));
    CHECK_EQ(orr_get(t.world, eve, Label)->number, 99);
    CHECK_STR(orr_string_text(t.world, orr_get(t.world, eve, Label)->text), "hello");
    command_kit_end(&t.k);
}

ORR_TEST(send_refused_by_a_hook_has_no_effect)
{
    buffer_test t;
    begin_free(&t);
    Token token = kit_token(5);
    orr_cluster cluster = KIT_CLUSTER(t.world, Token, Label);
    Token two[2] = {kit_token(1), kit_token(2)};
    Label labels[2] = {{orr_string_make(t.world, "a"), 1}, {orr_string_make(t.world, "b"), 2}};
    orr_column_data data[] = {{t.k.token, two}, {t.k.label, labels}};
    kit_tokens.refuse_after = 1;
    CHECK_RESULT(orr_send_add_type(t.run, t.bob, t.k.token, &token, NULL), ORR_ERR_HOOK);
    kit_tokens.refuse_after = 1;
    CHECK_RESULT(orr_send_create_many(t.run, cluster, 2, data, 2, NULL), ORR_ERR_HOOK);
    kit_tokens.refuse_after = 0;
    CHECK_EQ(kit_tokens.live, 0);
    orr_entity made[2];
    CHECK_OK(orr_send_create_many(t.run, cluster, 2, data, 2, made));
    sender_commit(&t.s);
    CHECK_EQ(orr_get(t.world, made[1], Token)->cell.payload, 2);
    CHECK_STR(orr_string_text(t.world, orr_get(t.world, made[0], Label)->text), "a");
    CHECK(!orr_has(t.world, t.bob, Token));
    command_kit_end(&t.k);
}

ORR_TEST(send_cleans_padding)
{
    buffer_test t;
    begin_free(&t);
    orr_entity eve = orr_create(t.world);
    Padded one, two;
    memset(&one, 0x11, sizeof one);
    memset(&two, 0x22, sizeof two);
    one.a = two.a = 1;
    one.b = two.b = 2;
    one.c = two.c = 3;
    CHECK_OK(orr_send_add_type(t.run, t.bob, t.k.padded, &one, NULL));
    CHECK_OK(orr_send_add_type(t.run, eve, t.k.padded, &two, NULL));
    sender_commit(&t.s);
    CHECK(memcmp(orr_get(t.world, t.bob, Padded), orr_get(t.world, eve, Padded), sizeof one) == 0);
    // The change does not wait for structure, although there are two clusters.
    CHECK_OK(orr_set(t.world, eve, Position, {0}));
    t.run = sender_open(&t.s, 0);
    one.c = two.c = 4;
    CHECK_OK(orr_send_change_type(t.run, t.bob, t.k.padded, 0, &one));
    CHECK_OK(orr_send_change_type(t.run, eve, t.k.padded, 0, &two));
    sender_commit(&t.s);
    CHECK(memcmp(orr_get(t.world, t.bob, Padded), orr_get(t.world, eve, Padded), sizeof one) == 0);
    command_kit_end(&t.k);
}

ORR_TEST(send_of_presets_markers_instances_and_pinned_types_is_committed)
{
    buffer_test t;
    begin_free(&t);
    CHECK_OK(orr_send_add_preset(t.run, t.bob, Health));
    CHECK_OK(orr_send_add_preset(t.run, t.bob, Frozen));
    CHECK_OK(orr_send_add(t.run, t.bob, Count, {3}));
    orr_component_id id;
    CHECK_OK(orr_send_add_type(t.run, t.bob, t.k.collider, NULL, &id));
    CHECK((id & ORRI_INSTANCE_SENT) != 0);
    CHECK_OK(orr_send_add_type(t.run, t.bob, t.k.anchor, NULL, &id));
    CHECK_EQ(id, 0);
    sender_commit(&t.s);
    CHECK_EQ(orr_get(t.world, t.bob, Health)->value, 100);
    CHECK(orr_has(t.world, t.bob, Frozen) && orr_has(t.world, t.bob, Anchor));
    CHECK_EQ(orr_get(t.world, t.bob, Count)->n, 3);
    CHECK_EQ(orr_instances_get(t.world, t.bob, t.k.collider, NULL, NULL), 1);
    t.run = sender_open(&t.s, 0);
    CHECK_OK(orr_send_remove(t.run, t.bob, Frozen));
    CHECK_OK(orr_send_change(t.run, t.bob, Count, {4}));
    CHECK_OK(orr_send_enable(t.run, t.bob, Health, false));
    sender_commit(&t.s);
    CHECK(!orr_has(t.world, t.bob, Frozen));
    CHECK_EQ(orr_get(t.world, t.bob, Count)->n, 4);
    CHECK(!orr_enabled(t.world, t.bob, Health));
    command_kit_end(&t.k);
}

// ---- ids of sent instances ----------------------------------------------------------------------

ORR_TEST(sent_instance_ids_are_not_those_that_an_instance_of_the_entity_has)
{
    buffer_test t;
    begin_free(&t);
    orr_component_id id, again, other;
    CHECK_OK(orr_send_add_type(t.run, t.bob, t.k.collider, &(Collider){1}, &id));
    sender_commit(&t.s);
    uint32_t number = id & ~ORRI_INSTANCE_SENT;
    CHECK(t.world->instance_sent > number); // It is not given again.
    t.world->instance_sent = number;        // As after two billion ids.
    t.run = sender_open(&t.s, 0);
    CHECK_OK(orr_send_add_type(t.run, t.bob, t.k.collider, &(Collider){2}, &again));
    CHECK(again != id && again != 0);
    sender_commit(&t.s);
    CHECK_EQ(((const Collider*)orr_instance_get(t.world, t.bob, t.k.collider, id))->radius, 1);
    CHECK_EQ(((const Collider*)orr_instance_get(t.world, t.bob, t.k.collider, again))->radius, 2);
    // In real time the send does not check the id: the commit drops the instance and logs it.
    t.world->instance_sent = number;
    t.run = sender_open(&t.s, 0);
    t.world->realtime = true;
    CHECK_OK(orr_send_add_type(t.run, t.bob, t.k.collider, &(Collider){3}, &other));
    t.world->realtime = false;
    CHECK_EQ(other, id);
    sender_commit(&t.s);
    CHECK_EQ(t.s.rights.counts.dropped, 1);
    CHECK_EQ(orr_instances_get(t.world, t.bob, t.k.collider, NULL, NULL), 2);
    CHECK_EQ(((const Collider*)orr_instance_get(t.world, t.bob, t.k.collider, id))->radius, 1);
    command_kit_end(&t.k);
}

ORR_TEST(sent_instance_ids_end_with_those_reserved_for_the_run)
{
    buffer_test t;
    begin_free(&t);
    orr_component_id id = 0, last = 0;
    orr_result result = ORR_OK;
    uint32_t count = 0;
    for (; result == ORR_OK; count += result == ORR_OK) {
        last = id;
        result = orr_send_add_type(t.run, t.bob, t.k.collider, NULL, &id);
        CHECK(result != ORR_OK || id != last);
    }
    CHECK_RESULT(result, ORR_ERR_CAPACITY);
    CHECK(count > 100000);
    CHECK_CONTAINS(t.k.k.errors.text, "pass NULL as out_id");
    CHECK_OK(orr_send_add_type(t.run, t.bob, t.k.collider, NULL, NULL));
    CHECK_OK(orr_send_destroy(t.run, t.bob));
    t.k.k.errors = (kit_errors){0};
    sender_commit(&t.s);
    command_kit_end(&t.k);
}

// ---- create_many --------------------------------------------------------------------------------

ORR_TEST(send_create_many_makes_whole_columns)
{
    buffer_test t;
    begin_free(&t);
    sender_close(&t.s);
    enum {
        N = 5000
    };
    static Count counts[N];
    static orr_entity ids[2 * N];
    for (int32_t i = 0; i < N; i++) {
        counts[i].n = i;
    }
    orr_cluster cluster = KIT_CLUSTER(t.world, Count, Health), other = KIT_CLUSTER(t.world, Count);
    orr_column_data data = {t.k.count, counts};
    t.run = sender_open(&t.s, 3 * N);
    CHECK_OK(orr_send_create_many(t.run, cluster, N, &data, 1, ids));
    CHECK_OK(orr_send_create_many(t.run, cluster, N, &data, 1, ids + N));
    CHECK_OK(orr_send_create_many(t.run, other, 10, NULL, 0, NULL));
    // One of them is mentioned again, so that it is merged separately.
    CHECK_OK(orr_send_add_type(t.run, ids[7], t.k.frozen, NULL, NULL));
    CHECK_OK(orr_send_tag(t.run, ids[7], 9, true));
    sender_commit(&t.s);
    CHECK_EQ(orr_entity_count(t.world), 2 * N + 11);
    for (uint32_t i = 0; i < 2 * N; i++) {
        CHECK_EQ(orr_get(t.world, ids[i], Count)->n, (int32_t)(i % N));
        CHECK_EQ(orr_get(t.world, ids[i], Health)->value, 100);
        CHECK_EQ(orr_has(t.world, ids[i], Frozen), i == 7);
    }
    CHECK_EQ(kit_rows(t.world, cluster), 2 * N - 1);
    CHECK_EQ(kit_rows(t.world, other), 10);
    command_kit_end(&t.k);
}

ORR_TEST(send_create_many_of_a_cluster_with_tags_and_multiple_types)
{
    buffer_test t;
    begin_free(&t);
    orr_cluster cluster;
    orr_type types[] = {t.k.collider, t.k.count};
    CHECK_OK(orr_cluster_get(
        t.world,
        &(orr_cluster_desc){
            .types = types, .type_count = 2, .tags = (const orr_tag[]){5}, .tag_count = 1},
        &cluster));
    Collider radii[2] = {{7}, {8}};
    orr_column_data data = {t.k.collider, radii};
    orr_entity ids[4];
    CHECK_OK(orr_send_create_many(t.run, cluster, 2, &data, 1, ids));
    CHECK_OK(orr_send_create_many(t.run, cluster, 2, NULL, 0, ids + 2));
    sender_commit(&t.s);
    for (uint32_t i = 0; i < 4; i++) {
        const void* list;
        CHECK_EQ(orr_instances_get(t.world, ids[i], t.k.collider, &list, NULL), 1);
        CHECK_EQ(((const Collider*)list)->radius, i < 2 ? 7 + (int32_t)i : 0);
        CHECK(orr_tag_has(t.world, ids[i], 5) && orr_has(t.world, ids[i], Count));
    }
    command_kit_end(&t.k);
}

// ---- memory -------------------------------------------------------------------------------------

ORR_TEST(buffers_without_commands_cost_no_memory)
{
    buffer_test t;
    begin_free(&t);
    sender_close(&t.s);
    uint64_t bytes = t.k.k.memory.live_bytes;
    for (int i = 0; i < 500; i++) {
        (void)sender_open(&t.s, 10);
        sender_close(&t.s);
    }
    CHECK_EQ(t.k.k.memory.live_bytes, bytes);
    CHECK(!orri_commit_pending(t.world));
    CHECK_OK(sender_end(&t.s));
    command_kit_end(&t.k);
}

static void spend(buffer_test* t, uint32_t runs, uint32_t rows)
{
    for (uint32_t r = 0; r < runs; r++) {
        t->run = sender_open(&t->s, 0);
        for (uint32_t i = 0; i < rows; i++) {
            CHECK_OK(orr_send_tag(t->run, t->bob, i % 3, true));
        }
        sender_close(&t->s);
    }
    CHECK(orri_commit_pending(t->world));
    CHECK_OK(sender_end(&t->s));
    CHECK_OK(orri_commit(t->world));
}

ORR_TEST(buffers_keep_their_memory_and_shrink_after_a_spike)
{
    buffer_test t;
    begin_free(&t);
    sender_close(&t.s);
    spend(&t, 4, 100);
    uint64_t small = t.k.k.memory.live_bytes;
    spend(&t, 4, 100);
    CHECK_EQ(t.k.k.memory.live_bytes, small); // Nothing new.
    failing_alloc_arm(&t.k.k.memory, 0, false);
    spend(&t, 4, 100);
    spend(&t, 300, 3000);
    uint64_t large = t.k.k.memory.live_bytes;
    CHECK(large > 4 * small);
    for (int i = 0; i < 200; i++) {
        spend(&t, 4, 100);
    }
    CHECK(t.k.k.memory.live_bytes < small + 65536 * 2);
    command_kit_end(&t.k);
}

ORR_TEST(buffers_with_commands_are_freed_with_the_world)
{
    buffer_test t;
    begin_free(&t);
    orr_string text = orr_string_make(t.world, "never stored");
    Token token = kit_token(5);
    CHECK_OK(orr_send_add_type(t.run, t.bob, t.k.token, &token, NULL));
    CHECK_OK(orr_send_add_type(t.run, t.bob, t.k.label, &(Label){text, 1}, NULL));
    CHECK_OK(orr_send_name(t.run, t.bob, (orr_entity){0}, "robert"));
    sender_close(&t.s);
    command_kit_end(&t.k);
}

ORR_TEST(buffer_without_memory_refuses_everything)
{
    buffer_test t;
    begin_free(&t);
    CHECK_OK(orr_send_tag(t.run, t.bob, 1, true));
    sender_close(&t.s);
    failing_alloc_arm(&t.k.k.memory, 1, true);
    t.run = sender_open(&t.s, 4); // The other one waits.
    CHECK_RESULT(orr_send_tag(t.run, t.bob, 2, true), ORR_ERR_MEMORY);
    CHECK_CONTAINS(t.k.k.errors.text, "system 'move'");
    CHECK_RESULT(orr_send_name(t.run, t.bob, (orr_entity){0}, "x"), ORR_ERR_MEMORY);
    CHECK_EQ(orr_send_create(t.run).id, 0);
    CHECK_EQ(t.k.k.errors.result, ORR_ERR_MEMORY);
    sender_close(&t.s);
    failing_alloc_arm(&t.k.k.memory, 0, false);
    CHECK(orri_command_buffers_refused(t.world));
    t.run = sender_open(&t.s, 4);
    CHECK_OK(orr_send_tag(t.run, t.bob, 3, true));
    sender_commit(&t.s);
    CHECK(orr_tag_has(t.world, t.bob, 1) && !orr_tag_has(t.world, t.bob, 2));
    CHECK(orr_tag_has(t.world, t.bob, 3));
    command_kit_end(&t.k);
}

ORR_TEST(buffers_begin_with_the_messages_of_a_world)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    for (uint64_t n = 1; n < 5; n++) {
        failing_alloc_arm(&k.memory, n, false);
        if (orri_messages_of(world) != NULL) {
            CHECK(n > 1);
            break;
        }
        CHECK_EQ(k.errors.result, ORR_ERR_MEMORY);
    }
    failing_alloc_arm(&k.memory, 1, true);
    orri_rights rights = {.name = "mute"};
    orr_command_buffer* commands = orri_command_buffer_open(world, &rights, 1);
    CHECK(commands != NULL);
    orri_command_buffer_close(world, commands);
    failing_alloc_arm(&k.memory, 0, false);
    kit_end(&k);
}

// For every allocation of a run: a refused send has no effect and is reported, and the rest is as
// if it had not been made.
static orr_result send_script(buffer_test* t, uint32_t step)
{
    Token token = kit_token(step);
    Count count = {(int32_t)step};
    orr_column_data data[] = {{t->k.count, &count}, {t->k.token, &token}};
    switch (step % 8) {
    case 0:
        return orr_send_add_type(t->run, t->bob, t->k.token, &token, NULL);
    case 1:
        return orr_send_add_type(t->run, t->bob, t->k.collider, &(Collider){1}, NULL);
    case 2:
        return orr_send_tag(t->run, t->bob, step, true);
    case 3:
        return orr_send_name(t->run, t->bob, (orr_entity){0}, "robert");
    case 4:
        return orr_send_create(t->run).id != 0 ? ORR_OK : t->k.k.errors.result;
    case 5:
        return orr_send_change_type(t->run, t->bob, t->k.count, 0, &count);
    case 6:
        return orr_send_create_many(t->run, KIT_CLUSTER(t->world, Count, Token), 1, data, 2, NULL);
    default:
        return orr_send_event_type(t->run, t->k.count, &count);
    }
}

ORR_TEST(send_without_memory_has_no_effect)
{
    enum {
        STEPS = 160
    };
    for (uint64_t n = 1;; n++) {
        buffer_test t;
        begin_free(&t);
        sender_close(&t.s);
        CHECK_OK(orr_set(t.world, t.bob, Count, {0}));
        (void)KIT_CLUSTER(t.world, Count, Token);
        failing_alloc_arm(&t.k.k.memory, n, false);
        t.run = sender_open(&t.s, 100);
        uint32_t sent = 0, refused = 0;
        for (uint32_t step = 0; step < STEPS; step++) {
            orr_result result = send_script(&t, step);
            CHECK(result == ORR_OK || result == ORR_ERR_MEMORY);
            sent += result != ORR_OK ? 0 : step % 8 == 6 ? 3 : 1;
            refused += result != ORR_OK;
        }
        bool enough = t.k.k.memory.refused == 0;
        sender_close(&t.s);
        failing_alloc_arm(&t.k.k.memory, 0, false);
        CHECK_EQ(t.s.rights.counts.sent, sent);
        CHECK_EQ(orri_command_buffers_refused(t.world), refused > 0);
        CHECK(!orri_command_buffers_refused(t.world));
        CHECK_OK(sender_end(&t.s));
        CHECK_OK(orri_commit(t.world));
        CHECK_EQ(kit_tokens.broken, 0);
        command_kit_end(&t.k);
        if (enough) {
            CHECK_EQ(refused, 0);
            break;
        }
    }
}

ORR_TEST(messages_of_a_world_end_with_it)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    CHECK(orri_messages_of(world) != NULL);
    kit_end(&k);
}
