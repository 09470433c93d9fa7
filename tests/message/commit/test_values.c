// SPDX-License-Identifier: MIT
// Sent values: written at the end of their system where no structure is pending, and neither
// earlier nor later.
#include "message/commit/commit_kit.h"
#include "store/cow/share.h"

ORR_TEST(values_of_entities_without_structure_are_set_at_the_systems_end)
{
    commit_test t;
    bool changed;
    begin(&t);
    (void)sender_open(&t.a, 0);
    CHECK_OK(change(&t.a, t.bob, 10));
    CHECK_OK(change(&t.a, t.bob, 11)); // The last one counts.
    CHECK_OK(orr_send_tag(&t.a.run, t.eve, 1, true));
    CHECK_OK(change(&t.a, t.eve, 20));
    sender_close(&t.a);
    CHECK_EQ(count_of(&t, t.bob), 1);
    CHECK_OK(orri_commit_values(t.world, &t.a.rights, &changed));
    CHECK(changed);
    CHECK_EQ(count_of(&t, t.bob), 11);
    CHECK_EQ(count_of(&t, t.eve), 2); // Her tag waits, so her value does.
    CHECK(orri_commit_pending(t.world));
    CHECK_OK(orri_commit_values(t.world, &t.a.rights, &changed));
    CHECK(!changed);
    CHECK_OK(orri_commit(t.world));
    CHECK_EQ(count_of(&t, t.eve), 20);
    CHECK(orr_tag_has(t.world, t.eve, 1));
    CHECK_EQ(t.a.rights.counts.sent, 4);
    CHECK_EQ(t.a.rights.counts.dropped, 0);
    command_kit_end(&t.k);
}

ORR_TEST(values_wait_for_structure_of_an_earlier_system)
{
    commit_test t;
    begin(&t);
    (void)sender_open(&t.a, 0);
    CHECK_OK(orr_send_remove(&t.a.run, t.bob, Count));
    sender_close(&t.a);
    CHECK_OK(sender_end(&t.a));
    (void)sender_open(&t.b, 0);
    CHECK_OK(change(&t.b, t.bob, 5));
    CHECK_OK(change(&t.b, t.eve, 6));
    sender_close(&t.b);
    CHECK_OK(sender_end(&t.b));
    CHECK_EQ(count_of(&t, t.bob), 1);
    CHECK_EQ(count_of(&t, t.eve), 6);
    CHECK_OK(orri_commit(t.world));
    CHECK(!orr_has(t.world, t.bob, Count));
    command_kit_end(&t.k);
}

ORR_TEST(values_of_a_run_wait_for_structure_of_a_later_run)
{
    commit_test t;
    begin(&t);
    (void)sender_open(&t.a, 0);
    CHECK_OK(change(&t.a, t.bob, 5));
    sender_close(&t.a);
    (void)sender_open(&t.a, 0);
    CHECK_OK(orr_send_tag(&t.a.run, t.bob, 1, true));
    sender_close(&t.a);
    CHECK_OK(sender_end(&t.a));
    CHECK_EQ(count_of(&t, t.bob), 1);
    CHECK_OK(orri_commit(t.world));
    CHECK_EQ(count_of(&t, t.bob), 5);
    command_kit_end(&t.k);
}

ORR_TEST(values_that_refer_to_a_new_entity_wait_and_keep_their_order)
{
    commit_test t;
    begin(&t);
    CHECK_OK(orr_set(t.world, t.bob, Link, {t.eve, 1}));
    CHECK_OK(orr_set(t.world, t.bob, Owner, {t.eve}));
    CHECK_OK(orr_set(t.world, t.eve, Owner, {t.bob}));
    (void)sender_open(&t.a, 4);
    orr_entity fresh = orr_send_create(&t.a.run);
    CHECK_OK(orr_send_change(&t.a.run, t.bob, Link, {fresh, 2}));
    CHECK_OK(orr_send_change(&t.a.run, t.bob, Link, {t.eve, 3}));
    CHECK_OK(orr_send_change(&t.a.run, t.eve, Owner, {fresh}));
    sender_close(&t.a);
    CHECK_OK(sender_end(&t.a));
    CHECK_EQ(orr_get(t.world, t.bob, Link)->weight, 1);
    CHECK_EQ(orr_get(t.world, t.eve, Owner)->of.id, t.bob.id);
    CHECK_OK(orr_world_validate(t.world));
    CHECK_OK(orri_commit(t.world));
    CHECK_EQ(orr_get(t.world, t.bob, Link)->weight, 3);
    CHECK_EQ(orr_get(t.world, t.eve, Owner)->of.id, fresh.id);
    CHECK_EQ(orr_referrers_get(t.world, fresh, t.k.owner, NULL, NULL, 0), 1);
    CHECK_EQ(t.a.rights.counts.dropped, 0);
    command_kit_end(&t.k);
}

ORR_TEST(values_of_every_kind_of_type_are_set_at_the_systems_end)
{
    commit_test t;
    begin(&t);
    orr_string text = orr_string_make(t.world, "new");
    Token one = kit_token(1), two = kit_token(2);
    CHECK_OK(orr_put(t.world, t.bob, Token, &one));
    CHECK_OK(orr_set(t.world, t.bob, Label, {{0}, 1}));
    CHECK_OK(orr_set(t.world, t.bob, Anchor, {1, 1}));
    CHECK_OK(orr_set(t.world, t.bob, Owner, {t.eve}));
    CHECK_OK(orr_add(t.world, t.bob, Frozen));
    orr_component_id id = orr_instance_add(t.world, t.bob, t.k.collider, &(Collider){1});
    (void)sender_open(&t.a, 0);
    CHECK_OK(orr_send_change_type(&t.a.run, t.bob, t.k.token, 0, &one));
    CHECK_OK(orr_send_change_type(&t.a.run, t.bob, t.k.token, 0, &two));
    CHECK_OK(orr_send_change(&t.a.run, t.bob, Label, {text, 2}));
    CHECK_OK(orr_send_change(&t.a.run, t.bob, Anchor, {2, 3}));
    CHECK_OK(orr_send_change(&t.a.run, t.bob, Owner, {t.bob}));
    CHECK_OK(orr_send_change_type(&t.a.run, t.bob, t.k.frozen, 0, NULL));
    CHECK_OK(orr_send_change_type(&t.a.run, t.bob, t.k.collider, id, &(Collider){5}));
    sender_close(&t.a);
    CHECK_OK(sender_end(&t.a));
    CHECK(!orri_commit_pending(t.world));
    CHECK_EQ(orr_get(t.world, t.bob, Token)->cell.payload, 2);
    CHECK_EQ(kit_tokens.live, 1);
    CHECK_STR(orr_string_text(t.world, orr_get(t.world, t.bob, Label)->text), "new");
    CHECK_EQ(orr_get(t.world, t.bob, Anchor)->y, 3);
    CHECK_EQ(orr_get(t.world, t.bob, Owner)->of.id, t.bob.id);
    CHECK_EQ(((const Collider*)orr_instance_get(t.world, t.bob, t.k.collider, id))->radius, 5);
    CHECK_EQ(t.a.rights.counts.dropped, 0);
    command_kit_end(&t.k);
}

ORR_TEST(values_sent_as_arrays_reach_all_chunks)
{
    commit_test t;
    begin(&t);
    enum {
        N = 7000
    };
    static orr_entity ids[N];
    static Count counts[N];
    CHECK_OK(orr_create_many(t.world, KIT_CLUSTER(t.world, Count, Position), N, NULL, 0, ids));
    orri_chunk* chunk = orri_cluster_at(t.world, KIT_CLUSTER(t.world, Count, Position))->chunks[1];
    orri_share* held = orri_share_column(
        t.world, chunk, (uint32_t)orri_cluster_find_column(chunk->cluster, t.k.count),
        ORRI_SHARE_FROZEN);
    CHECK(held != NULL);
    for (int32_t i = 0; i < N; i++) {
        counts[i].n = i;
    }
    (void)sender_open(&t.a, 0);
    CHECK_OK(orr_send_change_many(&t.a.run, t.k.count, ids, NULL, N, counts));
    CHECK_OK(orr_send_change_many(&t.a.run, t.k.count, ids, NULL, 0, NULL));
    sender_close(&t.a);
    CHECK_OK(sender_end(&t.a));
    for (int32_t i = 0; i < N; i++) {
        CHECK_EQ(count_of(&t, ids[i]), i);
    }
    orri_share_release(t.world, held);
    command_kit_end(&t.k);
}

// Values of another system wait for the end of that system.
ORR_TEST(values_of_another_system_wait_for_its_own_end)
{
    commit_test t;
    begin(&t);
    (void)sender_open(&t.a, 0);
    CHECK_OK(change(&t.a, t.bob, 5));
    sender_close(&t.a);
    (void)sender_open(&t.b, 0);
    CHECK_OK(change(&t.b, t.eve, 6));
    sender_close(&t.b);
    CHECK_OK(sender_end(&t.b));
    CHECK_EQ(count_of(&t, t.eve), 6);
    CHECK_EQ(count_of(&t, t.bob), 1);
    CHECK_OK(sender_end(&t.a));
    CHECK_EQ(count_of(&t, t.bob), 5);
    CHECK_OK(orri_commit(t.world));
    command_kit_end(&t.k);
}

// `changed` is reported on every path.
ORR_TEST(values_end_reports_whether_anything_changed)
{
    commit_test t;
    begin(&t);
    CHECK_OK(orr_set(t.world, t.bob, Link, {t.eve, 1}));
    CHECK_OK(orr_set(t.world, t.bob, Padded, {1, 2, 3}));
    orr_component_id id = orr_instance_add(t.world, t.bob, t.k.collider, &(Collider){1});
    for (uint32_t way = 0; way < 6; way++) {
        bool changed = false;
        (void)sender_open(&t.a, 0);
        if (way == 1) {
            CHECK_OK(change(&t.a, t.bob, 5));
        } else if (way == 2) {
            CHECK_OK(orr_send_change(&t.a.run, t.bob, Link, {t.bob, 2}));
        } else if (way == 3) {
            CHECK_OK(orr_send_change(&t.a.run, t.bob, Padded, {4, 5, 6}));
        } else if (way == 4) {
            CHECK_OK(orr_send_change_type(&t.a.run, t.bob, t.k.collider, id, &(Collider){2}));
        } else if (way == 5) { // It has none.
            CHECK_OK(orr_send_change(&t.a.run, t.eve, Link, {t.bob, 2}));
        }
        sender_close(&t.a);
        CHECK_OK(orri_commit_values(t.world, &t.a.rights, &changed));
        CHECK_EQ(changed, way >= 1 && way <= 4);
        CHECK_OK(orri_commit(t.world));
    }
    CHECK_EQ(orr_get(t.world, t.bob, Link)->weight, 2);
    command_kit_end(&t.k);
}

// At the end of a system as at the commit: a reference to a dead entity is not written.
ORR_TEST(values_that_refer_to_dead_entities_are_dropped)
{
    commit_test t;
    begin(&t);
    orr_entity dead = orr_create(t.world);
    CHECK_OK(orr_destroy(t.world, dead));
    CHECK_OK(orr_set(t.world, t.bob, Link, {t.eve, 1}));
    (void)sender_open(&t.a, 0);
    CHECK_OK(orr_send_change(&t.a.run, t.bob, Link, {dead, 2}));
    sender_close(&t.a);
    CHECK_OK(sender_end(&t.a));
    CHECK_EQ(orr_get(t.world, t.bob, Link)->weight, 1);
    CHECK_EQ(t.a.rights.counts.dropped, 1);
    CHECK_CONTAINS(command_log_text(&t.k.log, ORR_LOG_ID_MESSAGE_DROPPED),
                   "refers to a dead entity");
    CHECK_OK(orri_commit(t.world));
    command_kit_end(&t.k);
}

enum {
    HELD_ROWS = 3 * ORR_CHUNK_CAPACITY
};

// A snapshot shares the blocks to be written, in every chunk: it stays as it was, and without
// memory for copies nothing is written.
ORR_TEST(values_in_shared_blocks_are_set_all_or_none)
{
    static orr_entity ids[HELD_ROWS];
    uint32_t refusals = 0;
    for (uint64_t n = 1;; n++) {
        commit_test t;
        begin(&t);
        orr_cluster cluster = KIT_CLUSTER(t.world, Count, Position);
        CHECK_OK(orr_create_many(t.world, cluster, HELD_ROWS, NULL, 0, ids));
        orri_share* held[3];
        for (uint32_t i = 0; i < 3; i++) {
            orri_chunk* chunk = orri_cluster_at(t.world, cluster)->chunks[i];
            int32_t column = orri_cluster_find_column(chunk->cluster, t.k.count);
            held[i] = orri_share_column(t.world, chunk, (uint32_t)column, ORRI_SHARE_FROZEN);
            CHECK(held[i] != NULL);
        }
        (void)sender_open(&t.a, 0);
        for (uint32_t i = 0; i < HELD_ROWS; i += 100) {
            CHECK_OK(change(&t.a, ids[i], 7));
        }
        sender_close(&t.a);
        failing_alloc_arm(&t.k.k.memory, n, true);
        orr_result result = sender_end(&t.a);
        bool refused = t.k.k.memory.refused > 0;
        failing_alloc_arm(&t.k.k.memory, 0, false);
        CHECK_RESULT(result, refused ? ORR_ERR_MEMORY : ORR_OK);
        for (uint32_t i = 0; i < HELD_ROWS; i += 100) {
            CHECK_EQ(count_of(&t, ids[i]), refused ? 0 : 7);
        }
        refusals += refused;
        CHECK_OK(sender_end(&t.a));
        CHECK_EQ(count_of(&t, ids[0]), 7);
        for (uint32_t i = 0; i < 3; i++) {
            CHECK_EQ(((const Count*)held[i]->data)[0].n, 0);
            orri_share_release(t.world, held[i]);
        }
        CHECK_OK(orri_commit(t.world));
        command_kit_end(&t.k);
        if (!refused) {
            break;
        }
    }
    CHECK(refusals >= 3);
}
