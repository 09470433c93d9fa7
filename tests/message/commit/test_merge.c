// SPDX-License-Identifier: MIT
// The merge table of the founding note, cell by cell: the result of two commands for the same
// entity and component in one commit. Each test begins with an entity that has what the first
// command needs, or lacks what it adds.
#include "message/command_kit.h"
#include "test.h"

typedef struct merge_test {
    command_kit k;
    orr_world* world;
    sender a, b; // Two systems, in this order.
    orr_entity bob;
} merge_test;

static void begin(merge_test* t)
{
    memset(t, 0, sizeof *t);
    t->world = command_kit_begin(&t->k, NULL);
    sender_begin_free(&t->a, t->world, "first", 1);
    sender_begin_free(&t->b, t->world, "second", 2);
    t->bob = orr_create_named(t->world, "bob");
    sender_open(&t->a, 16);
}

static void begin_with(merge_test* t, int32_t n)
{
    begin(t);
    CHECK_OK(orr_component_set(t->world, t->bob, t->k.count, &(Count){n}));
}

// The second system's turn.
static orr_run* then(merge_test* t)
{
    sender_close(&t->a);
    CHECK_OK(sender_end(&t->a));
    return sender_open(&t->b, 16);
}

static void commit(merge_test* t)
{
    sender_commit(&t->b);
    CHECK_OK(orr_world_validate(t->world));
}

static void end(merge_test* t)
{
    command_kit_end(&t->k);
}

static void check_count(merge_test* t, int32_t n)
{
    const Count* count = orr_get(t->world, t->bob, Count);
    CHECK(count != NULL);
    CHECK_EQ(count->n, n);
    CHECK_STR(command_log_text(&t->k.log, ORR_LOG_ID_MESSAGE_DROPPED), "");
}

static void check_none(merge_test* t)
{
    CHECK(orr_alive(t->world, t->bob));
    CHECK(!orr_has(t->world, t->bob, Count));
}

static uint32_t colliders(const merge_test* t, const Collider** values)
{
    const void* list = NULL;
    uint32_t count = orr_instances_get(t->world, t->bob, t->k.collider, &list, NULL);
    *values = list;
    return count;
}

#define ADD(t, s, n) \
    CHECK_OK(orr_send_add_type(&(t)->s.run, (t)->bob, (t)->k.count, &(Count){n}, NULL))
#define CHANGE(t, s, n) \
    CHECK_OK(orr_send_change_type(&(t)->s.run, (t)->bob, (t)->k.count, 0, &(Count){n}))
#define REMOVE(t, s)  CHECK_OK(orr_send_remove_type(&(t)->s.run, (t)->bob, (t)->k.count, 0))
#define DESTROY(t, s) CHECK_OK(orr_send_destroy(&(t)->s.run, (t)->bob))
// Structure of another kind, so that a change waits for the commit point.
#define HOLD(t, s) CHECK_OK(orr_send_tag(&(t)->s.run, (t)->bob, 7, true))

// ---- after ComponentChanged: N0-60 --------------------------------------------------------------

ORR_TEST(merge_changed_then_changed_applies_the_last) /* N0-60 */
{
    merge_test t;
    begin_with(&t, 1);
    HOLD(&t, a);
    CHANGE(&t, a, 2);
    then(&t);
    CHANGE(&t, b, 3);
    commit(&t);
    check_count(&t, 3);
    end(&t);
}

ORR_TEST(merge_changed_then_removed_applies) /* N0-60 */
{
    merge_test t;
    begin_with(&t, 1);
    HOLD(&t, a);
    CHANGE(&t, a, 2);
    then(&t);
    REMOVE(&t, b);
    commit(&t);
    check_none(&t);
    end(&t);
}

ORR_TEST(merge_changed_then_added_unique_sets_the_value_and_warns) /* N0-60 */
{
    merge_test t;
    begin_with(&t, 1);
    HOLD(&t, a);
    CHANGE(&t, a, 2);
    then(&t);
    ADD(&t, b, 3);
    commit(&t);
    check_count(&t, 3);
    CHECK_EQ(command_log_count(&t.k.log, ORR_LOG_ID_ADDED_TWICE), 1);
    const char* text = command_log_text(&t.k.log, ORR_LOG_ID_ADDED_TWICE);
    CHECK_CONTAINS(text, "second");
    CHECK_CONTAINS(text, "Count");
    CHECK_CONTAINS(text, "bob");
    end(&t);
}

ORR_TEST(merge_changed_then_added_multiple_adds) /* N0-60 */
{
    merge_test t;
    begin(&t);
    orr_component_id id = orr_instance_add(t.world, t.bob, t.k.collider, &(Collider){1});
    HOLD(&t, a);
    CHECK_OK(orr_send_change_type(&t.a.run, t.bob, t.k.collider, id, &(Collider){2}));
    then(&t);
    CHECK_OK(orr_send_add_type(&t.b.run, t.bob, t.k.collider, &(Collider){3}, NULL));
    commit(&t);
    const Collider* list;
    CHECK_EQ(colliders(&t, &list), 2);
    CHECK_EQ(list[0].radius, 2);
    CHECK_EQ(list[1].radius, 3);
    CHECK_EQ(command_log_count(&t.k.log, ORR_LOG_ID_ADDED_TWICE), 0);
    end(&t);
}

ORR_TEST(merge_changed_then_entity_removed_applies) /* N0-60 */
{
    merge_test t;
    begin_with(&t, 1);
    HOLD(&t, a);
    CHANGE(&t, a, 2);
    then(&t);
    DESTROY(&t, b);
    commit(&t);
    CHECK(!orr_alive(t.world, t.bob));
    end(&t);
}

// ---- after ComponentRemoved: N0-61 --------------------------------------------------------------

ORR_TEST(merge_removed_then_changed_ignores) /* N0-61 */
{
    merge_test t;
    begin_with(&t, 1);
    REMOVE(&t, a);
    then(&t);
    CHANGE(&t, b, 3);
    commit(&t);
    check_none(&t);
    CHECK_EQ(t.b.rights.counts.dropped, 0);
    end(&t);
}

ORR_TEST(merge_removed_then_removed_ignores) /* N0-61 */
{
    merge_test t;
    begin_with(&t, 1);
    REMOVE(&t, a);
    then(&t);
    REMOVE(&t, b);
    commit(&t);
    check_none(&t);
    CHECK_EQ(t.b.rights.counts.dropped, 0);
    end(&t);
}

ORR_TEST(merge_removed_then_added_component_is_a_change) /* N0-43 N0-61 */
{
    merge_test t;
    begin_with(&t, 1);
    CHECK_OK(orr_set(t.world, t.bob, Position, {1, 2, 3}));
    orr_address before, after;
    CHECK_OK(orr_address_get(t.world, t.bob, &before));
    REMOVE(&t, a);
    then(&t);
    ADD(&t, b, 3);
    commit(&t);
    check_count(&t, 3);
    // The entity did not move.
    CHECK_OK(orr_address_get(t.world, t.bob, &after));
    CHECK_EQ(after.cluster.id, before.cluster.id);
    CHECK_EQ(command_log_count(&t.k.log, ORR_LOG_ID_ADDED_TWICE), 0);
    end(&t);
}

ORR_TEST(merge_removed_then_added_enables_a_disabled_component)
{
    merge_test t;
    begin_with(&t, 1);
    CHECK_OK(orr_enable(t.world, t.bob, Count, false));
    REMOVE(&t, a);
    then(&t);
    ADD(&t, b, 3);
    commit(&t);
    check_count(&t, 3);
    CHECK(orr_enabled(t.world, t.bob, Count));
    end(&t);
}

ORR_TEST(merge_disable_after_the_second_addition_counts)
{
    merge_test t;
    begin_with(&t, 1);
    CHECK_OK(orr_enable(t.world, t.bob, Count, false));
    REMOVE(&t, a);
    then(&t);
    ADD(&t, b, 3);
    CHECK_OK(orr_send_enable(&t.b.run, t.bob, Count, false));
    commit(&t);
    check_count(&t, 3);
    CHECK(!orr_enabled(t.world, t.bob, Count));
    end(&t);
}

ORR_TEST(merge_added_removed_added_adds_with_the_last_data) /* N0-43 */
{
    merge_test t;
    begin(&t);
    ADD(&t, a, 1);
    REMOVE(&t, a);
    then(&t);
    ADD(&t, b, 3);
    commit(&t);
    check_count(&t, 3);
    CHECK_EQ(command_log_count(&t.k.log, ORR_LOG_ID_ADDED_TWICE), 0);
    end(&t);
}

ORR_TEST(merge_removed_then_added_multiple_replaces_all)
{
    merge_test t;
    begin(&t);
    CHECK(orr_instance_add(t.world, t.bob, t.k.collider, &(Collider){1}) != 0);
    CHECK(orr_instance_add(t.world, t.bob, t.k.collider, &(Collider){2}) != 0);
    CHECK_OK(orr_send_remove_type(&t.a.run, t.bob, t.k.collider, 0));
    then(&t);
    CHECK_OK(orr_send_add_type(&t.b.run, t.bob, t.k.collider, &(Collider){3}, NULL));
    commit(&t);
    const Collider* list;
    CHECK_EQ(colliders(&t, &list), 1);
    CHECK_EQ(list[0].radius, 3);
    end(&t);
}

ORR_TEST(merge_removed_then_entity_removed_applies) /* N0-61 */
{
    merge_test t;
    begin_with(&t, 1);
    REMOVE(&t, a);
    then(&t);
    DESTROY(&t, b);
    commit(&t);
    CHECK(!orr_alive(t.world, t.bob));
    end(&t);
}

// ---- after ComponentAdded: N0-62 ----------------------------------------------------------------

ORR_TEST(merge_added_then_changed_adds_with_the_last_data) /* N0-62 */
{
    merge_test t;
    begin(&t);
    ADD(&t, a, 1);
    then(&t);
    CHANGE(&t, b, 3);
    commit(&t);
    check_count(&t, 3);
    end(&t);
}

ORR_TEST(merge_added_then_changed_of_a_multiple_type_finds_it_by_its_id) /* N0-62 */
{
    merge_test t;
    begin(&t);
    orr_component_id one = 0, two = 0;
    CHECK_OK(orr_send_add_type(&t.a.run, t.bob, t.k.collider, &(Collider){1}, &one));
    CHECK_OK(orr_send_add_type(&t.a.run, t.bob, t.k.collider, &(Collider){2}, &two));
    CHECK(one != two);
    CHECK_OK(orr_send_change_type(&t.a.run, t.bob, t.k.collider, two, &(Collider){5}));
    then(&t);
    commit(&t);
    const Collider* list;
    CHECK_EQ(colliders(&t, &list), 2);
    CHECK_EQ(list[0].radius, 1);
    CHECK_EQ(list[1].radius, 5);
    end(&t);
}

ORR_TEST(merge_instances_sent_by_several_runs_have_different_ids)
{
    merge_test t;
    begin(&t);
    orr_component_id one = 0, two = 0;
    CHECK_OK(orr_send_add_type(&t.a.run, t.bob, t.k.collider, &(Collider){1}, &one));
    then(&t);
    CHECK_OK(orr_send_add_type(&t.b.run, t.bob, t.k.collider, &(Collider){2}, &two));
    CHECK(one != two);
    CHECK_OK(orr_send_change_type(&t.b.run, t.bob, t.k.collider, two, &(Collider){5}));
    CHECK_OK(orr_send_change_type(&t.b.run, t.bob, t.k.collider, one, &(Collider){4}));
    commit(&t);
    const Collider* list;
    CHECK_EQ(colliders(&t, &list), 2);
    CHECK_EQ(list[0].radius, 4);
    CHECK_EQ(list[1].radius, 5);
    CHECK(orr_instance_get(t.world, t.bob, t.k.collider, one) == &list[0]);
    CHECK(orr_instance_get(t.world, t.bob, t.k.collider, two) == &list[1]);
    end(&t);
}

ORR_TEST(merge_added_then_removed_leaves_nothing) /* N0-62 */
{
    merge_test t;
    begin(&t);
    ADD(&t, a, 1);
    then(&t);
    REMOVE(&t, b);
    commit(&t);
    check_none(&t);
    end(&t);
}

ORR_TEST(merge_added_then_removed_of_a_multiple_type_leaves_the_others) /* N0-62 */
{
    merge_test t;
    begin(&t);
    orr_component_id one = 0;
    CHECK_OK(orr_send_add_type(&t.a.run, t.bob, t.k.collider, &(Collider){1}, &one));
    CHECK_OK(orr_send_add_type(&t.a.run, t.bob, t.k.collider, &(Collider){2}, NULL));
    CHECK_OK(orr_send_remove_type(&t.a.run, t.bob, t.k.collider, one));
    then(&t);
    commit(&t);
    const Collider* list;
    CHECK_EQ(colliders(&t, &list), 1);
    CHECK_EQ(list[0].radius, 2);
    end(&t);
}

ORR_TEST(merge_added_then_added_unique_sets_the_value_and_warns) /* N0-62 */
{
    merge_test t;
    begin(&t);
    ADD(&t, a, 1);
    then(&t);
    ADD(&t, b, 3);
    commit(&t);
    check_count(&t, 3);
    CHECK_EQ(command_log_count(&t.k.log, ORR_LOG_ID_ADDED_TWICE), 1);
    end(&t);
}

ORR_TEST(merge_added_then_added_multiple_adds_both) /* N0-62 */
{
    merge_test t;
    begin(&t);
    CHECK_OK(orr_send_add_type(&t.a.run, t.bob, t.k.collider, &(Collider){1}, NULL));
    then(&t);
    CHECK_OK(orr_send_add_type(&t.b.run, t.bob, t.k.collider, &(Collider){2}, NULL));
    commit(&t);
    const Collider* list;
    CHECK_EQ(colliders(&t, &list), 2);
    CHECK_EQ(list[0].radius, 1);
    CHECK_EQ(list[1].radius, 2);
    CHECK_EQ(command_log_count(&t.k.log, ORR_LOG_ID_ADDED_TWICE), 0);
    end(&t);
}

ORR_TEST(merge_added_then_entity_removed_applies) /* N0-62 */
{
    merge_test t;
    begin(&t);
    ADD(&t, a, 1);
    then(&t);
    DESTROY(&t, b);
    commit(&t);
    CHECK(!orr_alive(t.world, t.bob));
    end(&t);
}

// ---- after EntityRemoved: N0-63 -----------------------------------------------------------------

ORR_TEST(merge_entity_removed_then_changed_ignores) /* N0-63 */
{
    merge_test t;
    begin_with(&t, 1);
    DESTROY(&t, a);
    then(&t);
    CHANGE(&t, b, 2);
    commit(&t);
    CHECK(!orr_alive(t.world, t.bob));
    CHECK_EQ(t.b.rights.counts.dropped, 0);
    end(&t);
}

ORR_TEST(merge_entity_removed_then_removed_ignores) /* N0-63 */
{
    merge_test t;
    begin_with(&t, 1);
    DESTROY(&t, a);
    then(&t);
    REMOVE(&t, b);
    commit(&t);
    CHECK(!orr_alive(t.world, t.bob));
    CHECK_EQ(t.b.rights.counts.dropped, 0);
    end(&t);
}

ORR_TEST(merge_entity_removed_then_added_ignores) /* N0-63 */
{
    merge_test t;
    begin(&t);
    DESTROY(&t, a);
    then(&t);
    ADD(&t, b, 2);
    CHECK_OK(orr_send_add_type(&t.b.run, t.bob, t.k.collider, &(Collider){2}, NULL));
    commit(&t);
    CHECK(!orr_alive(t.world, t.bob));
    CHECK_EQ(t.b.rights.counts.dropped, 0);
    end(&t);
}

ORR_TEST(merge_entity_removed_then_entity_removed_ignores) /* N0-63 */
{
    merge_test t;
    begin(&t);
    DESTROY(&t, a);
    then(&t);
    DESTROY(&t, b);
    commit(&t);
    CHECK(!orr_alive(t.world, t.bob));
    CHECK_EQ(t.b.rights.counts.dropped, 0);
    end(&t);
}

// ---- after EntityAdded: N0-64 -------------------------------------------------------------------

static void begin_created(merge_test* t)
{
    begin(t);
    t->bob = orr_send_create(&t->a.run);
    CHECK(t->bob.id != 0);
    CHECK(!orr_alive(t->world, t->bob));
}

ORR_TEST(merge_entity_added_then_added_creates_with_it) /* N0-64 */
{
    merge_test t;
    begin_created(&t);
    ADD(&t, a, 1);
    then(&t);
    CHECK_OK(orr_send_add_type(&t.b.run, t.bob, t.k.collider, &(Collider){2}, NULL));
    commit(&t);
    check_count(&t, 1);
    const Collider* list;
    CHECK_EQ(colliders(&t, &list), 1);
    CHECK_EQ(list[0].radius, 2);
    end(&t);
}

// Created by one call with a cluster, the entity has something to change or to lose.
static void begin_created_in(merge_test* t)
{
    begin(t);
    orr_cluster cluster = KIT_CLUSTER(t->world, Count, Position);
    orr_column_data data = {t->k.count, &(Count){1}};
    CHECK_OK(orr_send_create_many(&t->a.run, cluster, 1, &data, 1, &t->bob));
}

ORR_TEST(merge_entity_added_then_changed_creates_with_the_last_data) /* N0-64 */
{
    merge_test t;
    begin_created_in(&t);
    then(&t);
    CHANGE(&t, b, 3);
    commit(&t);
    check_count(&t, 3);
    CHECK(orr_has(t.world, t.bob, Position));
    end(&t);
}

ORR_TEST(merge_entity_added_then_removed_creates_without) /* N0-64 */
{
    merge_test t;
    begin_created_in(&t);
    then(&t);
    REMOVE(&t, b);
    commit(&t);
    check_none(&t);
    CHECK(orr_has(t.world, t.bob, Position));
    end(&t);
}

ORR_TEST(merge_entity_added_then_entity_removed_leaves_a_dead_id) /* N0-64 */
{
    merge_test t;
    begin_created(&t);
    uint64_t count = orr_entity_count(t.world);
    ADD(&t, a, 1);
    then(&t);
    DESTROY(&t, b);
    commit(&t);
    CHECK(!orr_alive(t.world, t.bob));
    CHECK_EQ(orr_entity_count(t.world), count);
    // The id was given, so that it never comes back.
    CHECK(orr_create(t.world).id != t.bob.id);
    end(&t);
}

// ---- EntityAdded after anything -----------------------------------------------------------------

ORR_TEST(merge_anything_then_entity_added_cannot_be_sent) /* N0-60 N0-61 N0-62 N0-63 N0-64 */
{
    merge_test t;
    begin_with(&t, 1);
    // A creation takes no id as argument: it gives one that no entity had before, live or dead or
    // created in the same commit.
    orr_entity dead = orr_create(t.world);
    CHECK_OK(orr_destroy(t.world, dead));
    sender_close(&t.a);
    sender_open(&t.a, 16);
    CHANGE(&t, a, 2);
    CHECK_OK(orr_send_destroy(&t.a.run, dead));
    orr_entity one = orr_send_create(&t.a.run), two = orr_send_create(&t.a.run);
    CHECK_OK(orr_send_destroy(&t.a.run, one));
    orr_entity three = orr_send_create(&t.a.run);
    then(&t);
    orr_entity four = orr_send_create(&t.b.run);
    orr_entity all[] = {t.bob, dead, one, two, three, four};
    for (uint32_t i = 0; i < 6; i++) {
        for (uint32_t j = 0; j < i; j++) {
            CHECK(all[i].id != all[j].id);
        }
    }
    commit(&t);
    CHECK(orr_alive(t.world, t.bob) && !orr_alive(t.world, dead) && !orr_alive(t.world, one));
    CHECK(orr_alive(t.world, two) && orr_alive(t.world, three) && orr_alive(t.world, four));
    end(&t);
}

// A creation takes no id as argument: it gives a new one. So a creation after a command about an
// entity is about another entity.
static void check_entity_added_is_another(merge_test* t, bool alive)
{
    orr_entity eve = orr_send_create(then(t));
    CHECK(eve.id != 0 && eve.id != t->bob.id && !orr_alive(t->world, eve));
    commit(t);
    CHECK(orr_alive(t->world, eve));
    CHECK_EQ(orr_alive(t->world, t->bob), alive);
}

ORR_TEST(merge_changed_then_entity_added_is_another_entity) /* N0-60 */
{
    merge_test t;
    begin_with(&t, 1);
    CHANGE(&t, a, 2);
    check_entity_added_is_another(&t, true);
    check_count(&t, 2);
    end(&t);
}

ORR_TEST(merge_removed_then_entity_added_is_another_entity) /* N0-61 */
{
    merge_test t;
    begin_with(&t, 1);
    REMOVE(&t, a);
    check_entity_added_is_another(&t, true);
    check_none(&t);
    end(&t);
}

ORR_TEST(merge_added_then_entity_added_is_another_entity) /* N0-62 N0-54 */
{
    merge_test t;
    begin(&t);
    ADD(&t, a, 3);
    check_entity_added_is_another(&t, true);
    check_count(&t, 3);
    end(&t);
}

ORR_TEST(merge_entity_removed_then_entity_added_is_another_entity) /* N0-63 N0-55 */
{
    merge_test t;
    begin_with(&t, 1);
    DESTROY(&t, a);
    check_entity_added_is_another(&t, false);
    end(&t);
}

ORR_TEST(merge_entity_added_then_entity_added_is_another_entity) /* N0-64 N0-56 */
{
    merge_test t;
    begin_with(&t, 1);
    orr_entity one = orr_send_create(&t.a.run), two = orr_send_create(then(&t));
    CHECK(one.id != two.id);
    commit(&t);
    CHECK(orr_alive(t.world, one) && orr_alive(t.world, two));
    end(&t);
}

ORR_TEST(merge_names_are_given_in_the_order_sent)
{
    // A name is free once its owner has removed it, whatever the order of indexes.
    for (int round = 0; round < 2; round++) {
        merge_test t;
        begin(&t);
        orr_entity low = orr_create(t.world), high = orr_create(t.world);
        CHECK_OK(orr_name_set(t.world, low, (orr_entity){0}, "low"));
        CHECK_OK(orr_name_set(t.world, high, (orr_entity){0}, "high"));
        orr_entity first = round == 0 ? low : high, second = round == 0 ? high : low;
        CHECK_OK(orr_send_name(&t.a.run, first, (orr_entity){0}, "free"));
        CHECK_OK(orr_send_name(&t.a.run, second, (orr_entity){0}, round == 0 ? "low" : "high"));
        (void)then(&t);
        commit(&t);
        CHECK_STR(orr_name_get(t.world, first), "free");
        CHECK_STR(orr_name_get(t.world, second), round == 0 ? "low" : "high");
        end(&t);
    }
}

// ---- order --------------------------------------------------------------------------------------

ORR_TEST(merge_one_commit_has_the_order_of_the_notes) /* N0-42 */
{
    merge_test t;
    begin_with(&t, 1);
    orr_entity eve = orr_create(t.world);
    // A value may refer to an entity that the same commit creates, or destroys: creations come
    // first, destructions last.
    orr_entity fresh = orr_send_create(&t.a.run);
    CHECK_OK(orr_send_add_type(&t.a.run, t.bob, t.k.link, &(Link){fresh, 1}, NULL));
    CHECK_OK(orr_send_add_type(&t.a.run, fresh, t.k.link, &(Link){eve, 2}, NULL));
    CHECK_OK(orr_send_destroy(&t.a.run, eve));
    then(&t);
    commit(&t);
    CHECK(orr_get(t.world, t.bob, Link)->target.id == fresh.id);
    CHECK(orr_get(t.world, fresh, Link)->target.id == eve.id);
    CHECK(orr_alive(t.world, fresh) && !orr_alive(t.world, eve));
    CHECK_EQ(t.a.rights.counts.dropped, 0);
    end(&t);
}

ORR_TEST(merge_tags_enabling_and_names_keep_the_last_command)
{
    merge_test t;
    begin_with(&t, 1);
    CHECK_OK(orr_send_tag(&t.a.run, t.bob, 7, true));
    CHECK_OK(orr_send_tag(&t.a.run, t.bob, 8, true));
    CHECK_OK(orr_send_enable_type(&t.a.run, t.bob, t.k.count, 0, false));
    CHECK_OK(orr_send_enable_type(&t.a.run, t.bob, (orr_type){0}, 0, true));
    CHECK_OK(orr_send_name(&t.a.run, t.bob, (orr_entity){0}, "robert"));
    then(&t);
    CHECK_OK(orr_send_tag(&t.b.run, t.bob, 7, false));
    CHECK_OK(orr_send_enable_type(&t.b.run, t.bob, (orr_type){0}, 0, false));
    CHECK_OK(orr_send_name(&t.b.run, t.bob, (orr_entity){0}, "rob"));
    commit(&t);
    CHECK(!orr_tag_has(t.world, t.bob, 7) && orr_tag_has(t.world, t.bob, 8));
    CHECK(!orr_enabled(t.world, t.bob, Count));
    CHECK(!orr_entity_enabled(t.world, t.bob));
    CHECK_STR(orr_name_get(t.world, t.bob), "rob");
    end(&t);
}

ORR_TEST(merge_disable_before_a_removal_does_not_outlive_it)
{
    merge_test t;
    begin_with(&t, 1);
    CHECK_OK(orr_send_enable_type(&t.a.run, t.bob, t.k.count, 0, false));
    REMOVE(&t, a);
    then(&t);
    ADD(&t, b, 2);
    commit(&t);
    check_count(&t, 2);
    CHECK(orr_enabled(t.world, t.bob, Count));
    end(&t);
}

ORR_TEST(merge_disable_of_a_new_instance_finds_it)
{
    merge_test t;
    begin(&t);
    orr_component_id old = orr_instance_add(t.world, t.bob, t.k.collider, &(Collider){1}), fresh;
    CHECK_OK(orr_send_add_type(&t.a.run, t.bob, t.k.collider, &(Collider){2}, NULL));
    CHECK_OK(orr_send_add_type(&t.a.run, t.bob, t.k.collider, &(Collider){3}, &fresh));
    CHECK_OK(orr_send_enable_type(&t.a.run, t.bob, t.k.collider, fresh, false));
    then(&t);
    CHECK_OK(orr_send_enable_type(&t.b.run, t.bob, t.k.collider, old, false));
    commit(&t);
    const orr_component_id* ids;
    CHECK_EQ(orr_instances_get(t.world, t.bob, t.k.collider, NULL, &ids), 3);
    CHECK(!orr_instance_enabled(t.world, t.bob, t.k.collider, ids[0]));
    CHECK(orr_instance_enabled(t.world, t.bob, t.k.collider, ids[1]));
    CHECK(!orr_instance_enabled(t.world, t.bob, t.k.collider, ids[2]));
    end(&t);
}

ORR_TEST(merge_pinned_components_follow_the_same_table)
{
    merge_test t;
    begin(&t);
    CHECK_OK(orr_send_add_type(&t.a.run, t.bob, t.k.anchor, &(Anchor){1, 1}, NULL));
    CHECK_OK(orr_send_change_type(&t.a.run, t.bob, t.k.anchor, 0, &(Anchor){2, 2}));
    then(&t);
    CHECK_OK(orr_send_remove_type(&t.b.run, t.bob, t.k.anchor, 0));
    CHECK_OK(orr_send_add_type(&t.b.run, t.bob, t.k.anchor, &(Anchor){3, 3}, NULL));
    commit(&t);
    CHECK_EQ(orr_get(t.world, t.bob, Anchor)->x, 3);
    end(&t);
}

#undef ADD
#undef CHANGE
#undef REMOVE
#undef DESTROY
#undef HOLD
