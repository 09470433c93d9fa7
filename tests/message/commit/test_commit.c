// SPDX-License-Identifier: MIT
// Commits: structure at the commit point, commands without effect, senders, events, and lack of
// memory.
#include "message/commit/commit_kit.h"
#include "message/event/event.h"
#include "message/send/command_buffer.h"

// ---- commands without effect --------------------------------------------------------------------

ORR_TEST(commit_for_dead_entities_drops_counts_and_logs_once)
{
    commit_test t;
    begin(&t);
    orr_entity dead = orr_create(t.world);
    CHECK_OK(orr_destroy(t.world, dead));
    (void)sender_open(&t.a, 0);
    CHECK_OK(change(&t.a, dead, 1));
    CHECK_OK(change(&t.a, dead, 2));
    CHECK_OK(orr_send_add(&t.a.run, dead, Position, {1, 2, 3}));
    CHECK_OK(orr_send_tag(&t.a.run, dead, 1, true));
    CHECK_OK(orr_send_name(&t.a.run, dead, (orr_entity){0}, "ghost"));
    CHECK_OK(orr_send_destroy(&t.a.run, dead));
    CHECK_OK(orr_send_add(&t.a.run, t.eve, Velocity, {1, 2}));
    sender_commit(&t.a);
    CHECK_EQ(t.a.rights.counts.dropped, 6);
    CHECK_EQ(command_log_count(&t.k.log, ORR_LOG_ID_MESSAGE_DROPPED), 1);
    const char* text = command_log_text(&t.k.log, ORR_LOG_ID_MESSAGE_DROPPED);
    CHECK_CONTAINS(text, "system 'first' sent ");
    CHECK_CONTAINS(text, "for 2v1");
    CHECK_CONTAINS(text, "the entity is dead");
    CHECK(orr_has(t.world, t.eve, Velocity));
    (void)sender_open(&t.a, 0);
    CHECK_OK(change(&t.a, dead, 1));
    sender_commit(&t.a);
    CHECK_EQ(t.a.rights.counts.dropped, 7);
    CHECK_EQ(command_log_count(&t.k.log, ORR_LOG_ID_MESSAGE_DROPPED), 1);
    command_kit_end(&t.k);
}

ORR_TEST(commit_for_a_dead_id_does_not_reach_its_successor)
{
    commit_test t;
    begin(&t);
    orr_entity old = orr_create(t.world);
    CHECK_OK(orr_set(t.world, old, Count, {1}));
    CHECK_OK(orr_destroy(t.world, old));
    // The same index, created by this commit.
    (void)sender_open(&t.a, 4);
    CHECK_OK(orr_send_add(&t.a.run, old, Count, {7}));
    orr_entity fresh = orr_send_create(&t.a.run);
    CHECK_EQ((uint32_t)fresh.id, (uint32_t)old.id);
    CHECK_OK(orr_send_add(&t.a.run, fresh, Count, {8}));
    CHECK_OK(orr_send_destroy(&t.a.run, old));
    CHECK_OK(orr_send_add(&t.a.run, t.bob, Link, {fresh, 1}));
    CHECK_OK(orr_send_add(&t.a.run, t.eve, Link, {old, 1}));
    sender_commit(&t.a);
    CHECK(orr_alive(t.world, fresh));
    CHECK_EQ(count_of(&t, fresh), 8);
    CHECK(orr_has(t.world, t.bob, Link));
    CHECK(!orr_has(t.world, t.eve, Link)); // A reference to a dead entity is not stored.
    CHECK_EQ(t.a.rights.counts.dropped, 3);
    command_kit_end(&t.k);
}

ORR_TEST(commit_drops_changes_and_enabling_of_absent_components)
{
    commit_test t;
    begin(&t);
    (void)sender_open(&t.a, 0);
    CHECK_OK(orr_send_change(&t.a.run, t.bob, Position, {1, 2, 3})); // At the system's end.
    CHECK_OK(orr_send_change(&t.a.run, t.bob, Anchor, {1, 2}));      // Pinned.
    CHECK_OK(orr_send_change_type(&t.a.run, t.bob, t.k.collider, 77, &(Collider){1}));
    CHECK_OK(orr_send_tag(&t.a.run, t.eve, 1, true));
    CHECK_OK(orr_send_change(&t.a.run, t.eve, Position, {1, 2, 3})); // At the commit.
    CHECK_OK(orr_send_enable(&t.a.run, t.eve, Position, false));
    CHECK_OK(orr_send_enable_type(&t.a.run, t.eve, t.k.collider, 5, false));
    CHECK_OK(orr_send_remove(&t.a.run, t.eve, Position)); // It has none: no effect.
    sender_commit(&t.a);
    CHECK_EQ(t.a.rights.counts.dropped, 6);
    CHECK_CONTAINS(command_log_text(&t.k.log, ORR_LOG_ID_MESSAGE_DROPPED),
                   "for bob (0v1), which has no effect: the entity does not have this component");
    command_kit_end(&t.k);
}

ORR_TEST(commit_drops_values_that_refer_to_dead_entities)
{
    commit_test t;
    begin(&t);
    orr_entity dead = orr_create(t.world);
    CHECK_OK(orr_set(t.world, t.eve, Link, {dead, 1}));
    CHECK_OK(orr_set(t.world, t.bob, Link, {t.eve, 1}));
    CHECK_OK(orr_destroy(t.world, dead));
    (void)sender_open(&t.a, 4);
    CHECK_OK(orr_send_change(&t.a.run, t.bob, Link, {dead, 2}));
    CHECK_OK(orr_send_change(&t.a.run, t.eve, Link,
                             {dead, 2})); // It was stored before: that stays allowed.
    orr_entity short_lived = orr_send_create(&t.a.run);
    CHECK_OK(orr_send_destroy(&t.a.run, short_lived));
    CHECK_OK(orr_send_add(&t.a.run, t.bob, Owner, {short_lived}));
    CHECK_OK(orr_send_add(&t.a.run, t.eve, Owner, {t.bob}));
    CHECK_OK(orr_send_name(&t.a.run, t.bob, dead, "nobody"));
    sender_commit(&t.a);
    CHECK_EQ(t.a.rights.counts.dropped, 3);
    CHECK_EQ(orr_get(t.world, t.bob, Link)->target.id, t.eve.id);
    CHECK_EQ(orr_get(t.world, t.eve, Link)->weight, 2);
    CHECK(!orr_has(t.world, t.bob, Owner) && orr_has(t.world, t.eve, Owner));
    CHECK_STR(orr_name_get(t.world, t.bob), "bob");
    command_kit_end(&t.k);
}

ORR_TEST(commit_logs_changes_that_the_store_left_out)
{
    commit_test t;
    begin(&t);
    (void)sender_open(&t.a, 0);
    CHECK_OK(orr_send_name(&t.a.run, t.bob, (orr_entity){0}, "eve"));
    sender_commit(&t.a);
    CHECK_EQ(t.a.rights.counts.dropped, 1);
    CHECK_STR(orr_name_get(t.world, t.bob), "bob");
    CHECK_CONTAINS(command_log_text(&t.k.log, ORR_LOG_ID_MESSAGE_DROPPED), "eve");
    command_kit_end(&t.k);
}

ORR_TEST(commit_drops_instances_past_the_limit)
{
    commit_test t;
    begin(&t);
    (void)sender_open(&t.a, 0);
    for (uint32_t i = 0; i < ORR_INSTANCES_MAX + 3; i++) {
        CHECK_OK(orr_send_add_type(&t.a.run, t.bob, t.k.collider, &(Collider){(int32_t)i}, NULL));
    }
    sender_commit(&t.a);
    CHECK_EQ(orr_instances_get(t.world, t.bob, t.k.collider, NULL, NULL), ORR_INSTANCES_MAX);
    CHECK_EQ(t.a.rights.counts.dropped, 3);
    command_kit_end(&t.k);
}

ORR_TEST(commit_drops_commands_for_ids_that_never_existed)
{
    commit_test t;
    begin(&t);
    orr_entity wild = {0x00000001FFFFFF00u};
    (void)sender_open(&t.a, 0);
    CHECK_OK(orr_send_tag(&t.a.run, wild, 1, true));
    CHECK_OK(orr_send_add(&t.a.run, wild, Count, {1}));
    CHECK_OK(change(&t.a, wild, 1));
    CHECK_OK(orr_send_destroy(&t.a.run, wild));
    CHECK_OK(orr_send_add(&t.a.run, t.bob, Link, {wild, 1}));
    sender_commit(&t.a);
    CHECK_EQ(t.a.rights.counts.dropped, 5);
    CHECK(!orr_has(t.world, t.bob, Link));
    command_kit_end(&t.k);
}

ORR_TEST(commit_without_the_end_of_a_system_takes_its_changes)
{
    commit_test t;
    begin(&t);
    (void)sender_open(&t.a, 0);
    CHECK_OK(change(&t.a, t.bob, 5));
    CHECK_OK(change(&t.a, t.eve, 6));
    CHECK_OK(orr_send_tag(&t.a.run, t.bob, 1, true));
    sender_close(&t.a);
    (void)sender_open(&t.b, 0);
    CHECK_OK(change(&t.b, t.eve, 7));
    sender_close(&t.b);
    CHECK_OK(orri_commit(t.world));
    CHECK_EQ(count_of(&t, t.bob), 5);
    CHECK_EQ(count_of(&t, t.eve), 7);
    CHECK_EQ(t.a.rights.counts.dropped + t.b.rights.counts.dropped, 0);
    command_kit_end(&t.k);
}

ORR_TEST(commit_marks_outlive_the_growth_of_the_world)
{
    commit_test t;
    begin(&t);
    (void)sender_open(&t.a, 0);
    CHECK_OK(orr_send_tag(&t.a.run, t.bob, 1, true));
    sender_close(&t.a);
    CHECK_OK(sender_end(&t.a));
    // Ids for many more entities than there was room for.
    (void)sender_open(&t.b, 3000000);
    orr_entity fresh = orr_send_create(&t.b.run);
    CHECK_OK(orr_send_add(&t.b.run, fresh, Count, {3}));
    CHECK_OK(change(&t.b, t.bob, 9));
    sender_close(&t.b);
    CHECK_OK(sender_end(&t.b));
    CHECK_EQ(count_of(&t, t.bob), 1); // It waits.
    CHECK_OK(orri_commit(t.world));
    CHECK_EQ(count_of(&t, t.bob), 9);
    CHECK_EQ(count_of(&t, fresh), 3);
    (void)sender_open(&t.a, 0);
    CHECK_OK(orr_send_tag(&t.a.run, t.eve, 1, true));
    sender_commit(&t.a);
    CHECK(orr_tag_has(t.world, t.eve, 1));
    command_kit_end(&t.k);
}

// ---- columns stay columns -----------------------------------------------------------------------

// Number of groups that the commit of the waiting commands would make.
static uint32_t groups_of(orr_world* world)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    CHECK(orri_pending_begin(world));
    for (orr_command_buffer* commands = command_buffers->first; commands != NULL;
         commands = commands->next) {
        orri_pending_add(command_buffers, commands);
    }
    orri_merge merge = orri_merge_begin(world);
    for (orr_command_buffer* commands = command_buffers->first; commands != NULL;
         commands = commands->next) {
        CHECK(orri_merge_buffer_add(&merge, commands) && orri_merge_records(&merge));
    }
    CHECK(orri_merge_items(&merge));
    uint32_t count = merge.group_count;
    orri_merge_end(&merge);
    return count;
}

ORR_TEST(commit_takes_many_adds_of_a_run_as_one_group)
{
    commit_test t;
    begin(&t);
    enum {
        N = 10000
    };
    static orr_entity ids[N];
    CHECK_OK(orr_create_many(t.world, KIT_CLUSTER(t.world, Count), N, NULL, 0, ids));
    (void)sender_open(&t.a, 0);
    for (int32_t i = 0; i < N; i++) {
        CHECK_OK(orr_send_add(&t.a.run, ids[i], Tiny, {(uint8_t)i}));
        CHECK_OK(orr_send_remove(&t.a.run, ids[i], Count));
    }
    sender_close(&t.a);
    CHECK_EQ(groups_of(t.world), 1);
    CHECK_OK(orri_commit(t.world));
    for (int32_t i = 0; i < N; i++) {
        CHECK_EQ(orr_get(t.world, ids[i], Tiny)->value, (uint8_t)i);
        CHECK(!orr_has(t.world, ids[i], Count));
    }
    // Entities that different systems mention twice still share a group.
    (void)sender_open(&t.a, 0);
    for (int32_t i = 0; i < N; i++) {
        CHECK_OK(orr_send_add(&t.a.run, ids[i], Count, {i}));
    }
    sender_close(&t.a);
    (void)sender_open(&t.b, 0);
    for (int32_t i = N; i-- > 0;) {
        CHECK_OK(orr_send_tag(&t.b.run, ids[i], 5, true));
    }
    sender_close(&t.b);
    CHECK_EQ(groups_of(t.world), 3); // Of 4096 at most.
    CHECK_OK(orri_commit(t.world));
    for (int32_t i = 0; i < N; i++) {
        CHECK_EQ(count_of(&t, ids[i]), i);
        CHECK(orr_tag_has(t.world, ids[i], 5));
    }
    command_kit_end(&t.k);
}

ORR_TEST(commit_takes_creations_with_their_components_as_one_group)
{
    commit_test t;
    begin(&t);
    (void)sender_open(&t.a, 5000);
    orr_entity ids[5000];
    for (int32_t i = 0; i < 5000; i++) {
        ids[i] = orr_send_create(&t.a.run);
        CHECK_OK(orr_send_add(&t.a.run, ids[i], Count, {i}));
        CHECK_OK(orr_send_add(&t.a.run, ids[i], Velocity, {1, 2}));
    }
    // One of them leaves the group.
    CHECK_OK(orr_send_tag(&t.a.run, ids[2500], 3, true));
    sender_close(&t.a);
    CHECK_EQ(groups_of(t.world), 3);
    CHECK_OK(orri_commit(t.world));
    for (int32_t i = 0; i < 5000; i++) {
        CHECK_EQ(count_of(&t, ids[i]), i);
        CHECK_EQ(orr_tag_has(t.world, ids[i], 3), i == 2500);
    }
    command_kit_end(&t.k);
}

// ---- senders ------------------------------------------------------------------------------------

ORR_TEST(commit_source_is_the_last_sender_for_an_entity)
{
    commit_test t;
    begin(&t);
    orr_entity other = orr_create(t.world);
    CHECK_EQ(orri_commit_source(t.world, 0).id, 0);
    (void)sender_open(&t.a, 0);
    CHECK_OK(orr_send_tag(&t.a.run, t.bob, 1, true));
    sender_commit(&t.a);
    CHECK_EQ(orri_commit_source(t.world, (uint32_t)t.bob.id).id, 1);
    CHECK_EQ(orri_commit_source(t.world, (uint32_t)t.eve.id).id, 0);
    (void)sender_open(&t.a, 0);
    CHECK_OK(orr_send_tag(&t.a.run, t.bob, 2, true));
    CHECK_OK(orr_send_tag(&t.a.run, t.eve, 2, true));
    sender_close(&t.a);
    CHECK_OK(sender_end(&t.a));
    CHECK_EQ(orri_commit_source(t.world, (uint32_t)t.bob.id).id, 0); // Something was sent.
    (void)sender_open(&t.b, 0);
    CHECK_OK(orr_send_tag(&t.b.run, t.eve, 3, true));
    sender_commit(&t.b);
    // With several senders the source is known only while there are readers.
    CHECK_EQ(orri_commit_source(t.world, (uint32_t)t.bob.id).id, 0);
    orr_query* query = orr_query_text(t.world, "Count");
    orri_counts counts = {0};
    orri_reader* reader = orri_reader_create(
        t.world, &(orri_reader_desc){
                     .name = "mirror", .query = query, .queue_max = 1000, .counts = &counts});
    CHECK(reader != NULL);
    orri_reader_enable(t.world, reader, true);
    (void)sender_open(&t.a, 4);
    CHECK_OK(orr_send_tag(&t.a.run, t.bob, 4, true));
    CHECK_OK(orr_send_tag(&t.a.run, t.eve, 4, true));
    orr_entity fresh = orr_send_create(&t.a.run);
    sender_close(&t.a);
    (void)sender_open(&t.b, 0);
    CHECK_OK(orr_send_tag(&t.b.run, t.eve, 5, true));
    sender_commit(&t.b);
    CHECK_EQ(orri_commit_source(t.world, (uint32_t)t.bob.id).id, 1);
    CHECK_EQ(orri_commit_source(t.world, (uint32_t)t.eve.id).id, 2);
    CHECK_EQ(orri_commit_source(t.world, (uint32_t)fresh.id).id, 1);
    CHECK_EQ(orri_commit_source(t.world, (uint32_t)other.id).id, 0);
    CHECK_EQ(orri_commit_source(t.world, 1000000).id, 0);
    CHECK_OK(orri_commit(t.world));
    CHECK_EQ(orri_commit_source(t.world, (uint32_t)t.bob.id).id, 0);
    orri_reader_destroy(t.world, reader);
    orr_query_destroy(query);
    command_kit_end(&t.k);
}

// ---- events -------------------------------------------------------------------------------------

ORR_TEST(events_go_to_their_queue_at_the_systems_end_in_order_of_runs)
{
    commit_test t;
    begin(&t);
    orri_event_cursors* cursors = orri_event_cursors_create(t.world, &t.k.count, 1);
    CHECK(cursors != NULL);
    orri_event_cursors_enable(t.world, cursors, true);
    uint64_t receives[SENDER_WORDS] = {0};
    sender_may(&t.b, receives, t.k.count);
    t.b.rights.receives = receives;
    t.b.rights.event_cursors = cursors;
    for (int32_t r = 0; r < 3; r++) {
        (void)sender_open(&t.a, 0);
        for (int32_t i = 0; i < 40; i++) {
            CHECK_OK(orr_send_event(&t.a.run, Count, {r * 40 + i}));
            CHECK_OK(change(&t.a, t.bob, i));
        }
        sender_close(&t.a);
    }
    CHECK_OK(sender_end(&t.a));
    CHECK(!orri_commit_pending(t.world));
    (void)sender_open(&t.b, 0);
    uint32_t count = 0;
    const Count* events = orr_events(&t.b.run, Count, &count);
    CHECK_EQ(count, 120);
    for (int32_t i = 0; i < 120; i++) {
        CHECK_EQ(events[i].n, i);
    }
    orri_event_cursors_done(t.world, cursors);
    sender_close(&t.b);
    // More than the queue takes: refused and dropped.
    CHECK_OK(orr_events_limit(t.world, t.k.count, 2));
    (void)sender_open(&t.a, 0);
    for (int32_t i = 0; i < 3; i++) {
        CHECK_OK(orr_send_event(&t.a.run, Count, {i}));
    }
    sender_close(&t.a);
    CHECK_OK(sender_end(&t.a));
    CHECK_EQ(t.a.rights.counts.dropped, 3);
    CHECK(!orri_commit_pending(t.world));
    t.b.rights.event_cursors = NULL;
    orri_event_cursors_destroy(t.world, cursors);
    command_kit_end(&t.k);
}

// ---- lack of memory -----------------------------------------------------------------------------

// A world with some of everything, and two systems that send some of everything.
static void send_all(commit_test* t)
{
    orr_string text = orr_string_make(t->world, "text");
    Token token = kit_token(9);
    (void)sender_open(&t->a, 40);
    CHECK_OK(change(&t->a, t->bob, 5));
    for (int32_t i = 0; i < 30; i++) {
        orr_entity fresh = orr_send_create(&t->a.run);
        CHECK_OK(orr_send_add(&t->a.run, fresh, Count, {i}));
        CHECK_OK(orr_send_add(&t->a.run, fresh, Link, {fresh, 1}));
        if (i % 10 == 0) {
            CHECK_OK(orr_send_add_type(&t->a.run, fresh, t->k.token, &token, NULL));
            CHECK_OK(orr_send_add(&t->a.run, t->bob, Owner, {fresh}));
            CHECK_OK(orr_send_add_type(&t->a.run, fresh, t->k.collider, &(Collider){i}, NULL));
        }
        if (i == 7) {
            CHECK_OK(orr_send_destroy(&t->a.run, fresh));
        }
    }
    sender_close(&t->a);
    (void)sender_open(&t->b, 10);
    CHECK_OK(orr_send_add(&t->b.run, t->bob, Label, {text, 3}));
    CHECK_OK(orr_send_change(&t->b.run, t->eve, Anchor, {7, 8}));
    CHECK_OK(orr_send_change(&t->b.run, t->eve, Label, {text, 4}));
    CHECK_OK(orr_send_enable(&t->b.run, t->bob, Count, false));
    CHECK_OK(orr_send_name(&t->b.run, t->bob, t->eve, "robert"));
    CHECK_OK(orr_send_add(&t->b.run, t->bob, Anchor, {1, 2}));
    CHECK_OK(orr_send_tag(&t->b.run, t->bob, 77, true));
    sender_close(&t->b);
}

static void begin_all(commit_test* t)
{
    begin(t);
    CHECK_OK(orr_set(t->world, t->eve, Anchor, {1, 1}));
    CHECK_OK(orr_set(t->world, t->eve, Label, {orr_string_make(t->world, "old"), 1}));
    send_all(t);
}

static orr_result commit_all(commit_test* t)
{
    orr_result result = sender_end(&t->a);
    result = result == ORR_OK ? sender_end(&t->b) : result;
    return result == ORR_OK ? orri_commit(t->world) : result;
}

ORR_TEST(commit_without_memory_does_nothing_and_can_be_repeated)
{
    commit_test t;
    begin_all(&t);
    CHECK_OK(commit_all(&t));
    uint64_t wanted = orr_world_hash(t.world);
    uint64_t dropped = t.a.rights.counts.dropped;
    command_kit_end(&t.k);
    for (int for_good = 0; for_good < 2; for_good++) {
        for (uint64_t n = 1;; n++) {
            begin_all(&t);
            // Each of the three steps is refused as a whole.
            orr_result (*steps[])(sender*) = {sender_end, sender_end, NULL};
            sender* senders[] = {&t.a, &t.b, NULL};
            uint64_t refused = 0;
            failing_alloc_arm(&t.k.k.memory, n, for_good != 0);
            for (uint32_t i = 0; i < 3; i++) {
                uint64_t before = orr_world_hash(t.world);
                orr_result result = steps[i] != NULL ? steps[i](senders[i]) : orri_commit(t.world);
                if (result != ORR_OK) {
                    CHECK_RESULT(result, ORR_ERR_MEMORY);
                    CHECK_EQ(t.k.k.errors.id, ORR_LOG_ID_COMMIT_REFUSED);
                    CHECK_CONTAINS(t.k.k.errors.text, i == 1 ? "'second'" : "'first'");
                    CHECK_CONTAINS(t.k.k.errors.text, "call again");
                    CHECK_EQ(orr_world_hash(t.world), before);
                    refused = t.k.k.memory.refused;
                    failing_alloc_arm(&t.k.k.memory, 0, false);
                    CHECK_OK(orr_world_validate(t.world));
                    i--;
                }
            }
            refused += t.k.k.memory.refused;
            failing_alloc_arm(&t.k.k.memory, 0, false);
            CHECK_EQ(orr_world_hash(t.world), wanted);
            CHECK_EQ(t.a.rights.counts.dropped, dropped);
            command_kit_end(&t.k);
            if (refused == 0) {
                break;
            }
        }
    }
}
