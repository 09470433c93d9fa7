// SPDX-License-Identifier: MIT
// Many commands at once: creations by columns, whose ids are taken as a range, and many commands
// for one entity. Tests the short paths, and the general path where they do not apply.
#include "message/command_kit.h"
#include "message/send/command_buffer.h"
#include "test.h"

typedef struct many {
    command_kit k;
    orr_world* world;
    sender s, other;
} many;

static void begin(many* t)
{
    memset(t, 0, sizeof *t);
    t->world = command_kit_begin(&t->k, NULL);
    sender_begin_free(&t->s, t->world, "many", 1);
    sender_begin_free(&t->other, t->world, "other", 2);
}

static void end(many* t)
{
    CHECK_OK(orr_world_validate(t->world));
    command_kit_end(&t->k);
}

enum {
    ROWS = 6000 // Several chunks and pages of records.
};

// Creates rows in several calls, so that columns grow between them.
static void send_rows(many* t, orr_cluster cluster, orr_entity* out)
{
    static Count counts[ROWS];
    static Position positions[ROWS];
    for (uint32_t i = 0; i < ROWS; i++) {
        counts[i].n = (int32_t)i;
        positions[i].x = (float)i;
    }
    for (uint32_t at = 0, run = 7; at < ROWS;
         at += run, run = run * 3 < ROWS - at ? run * 3 : ROWS - at) {
        orr_column_data data[] = {{t->k.count, counts + at}, {t->k.position, positions + at}};
        CHECK_OK(orr_send_create_many(&t->s.run, cluster, run, data, 2, out + at));
    }
}

static void check_rows(many* t, const orr_entity* ids)
{
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        const Count* count = orr_get(t->world, ids[i], Count);
        const Position* position = orr_get(t->world, ids[i], Position);
        wrong += count == NULL || count->n != (int32_t)i || position->x != (float)i;
    }
    CHECK_EQ(wrong, 0);
}

// With a free list that descends, ascends and has holes, then new ids: as they were reserved.
ORR_TEST(creations_get_their_reserved_ids_whatever_the_free_list)
{
    static orr_entity ids[ROWS], old[9000];
    for (uint32_t shape = 0; shape < 5; shape++) {
        many t;
        begin(&t);
        orr_cluster cluster = KIT_CLUSTER(t.world, Count, Position);
        CHECK_OK(orr_create_many(t.world, cluster, 9000, NULL, 0, old));
        for (uint32_t i = 0; i < 3000 && shape > 0; i++) {
            uint32_t which = shape == 1 ? i : shape == 2 ? 2999 - i : shape == 3 ? i ^ 5 : i * 3;
            CHECK_OK(orr_destroy(t.world, old[which]));
        }
        (void)sender_open(&t.s, ROWS);
        send_rows(&t, cluster, ids);
        sender_commit(&t.s);
        check_rows(&t, ids);
        end(&t);
    }
}

// Ids that others mention, and that are destroyed again, leave the range; the rest stays in it.
ORR_TEST(creations_that_others_mention_are_merged)
{
    static orr_entity ids[ROWS];
    many t;
    begin(&t);
    (void)sender_open(&t.s, ROWS);
    send_rows(&t, KIT_CLUSTER(t.world, Count, Position), ids);
    sender_close(&t.s);
    CHECK_OK(sender_end(&t.s));
    (void)sender_open(&t.other, 0);
    CHECK_OK(orr_send_destroy(&t.other.run, ids[100]));
    CHECK_OK(orr_send_change_type(&t.other.run, ids[101], t.k.count, 0, &(Count){-1}));
    CHECK_OK(orr_send_add_type(&t.other.run, ids[5000], t.k.health, &(Health){3, 4}, NULL));
    sender_commit(&t.other);
    CHECK(!orr_alive(t.world, ids[100]) && orr_alive(t.world, ids[99]));
    CHECK_EQ(orr_get(t.world, ids[101], Count)->n, -1);
    CHECK_EQ(orr_get(t.world, ids[5000], Health)->value, 3);
    CHECK_EQ(orr_get(t.world, ids[5000], Count)->n, 5000);
    CHECK_EQ(orr_get(t.world, ids[5001], Count)->n, 5001);
    end(&t);
}

// A commit that was refused keeps its ids, even when other entities die meanwhile and come before
// them in the free list.
ORR_TEST(creations_of_a_refused_commit_keep_their_ids)
{
    static orr_entity ids[ROWS];
    for (uint32_t destroyed = 0; destroyed < 3; destroyed++) {
        many t;
        begin(&t);
        orr_entity old[] = {orr_create(t.world), orr_create(t.world), orr_create(t.world)};
        CHECK_OK(orr_destroy(t.world, old[2]));
        (void)sender_open(&t.s, ROWS);
        send_rows(&t, KIT_CLUSTER(t.world, Count, Position), ids);
        sender_close(&t.s);
        CHECK_OK(sender_end(&t.s));
        uint64_t hash = orr_world_hash(t.world);
        for (uint64_t n = 1; n < 11; n++) {
            failing_alloc_arm(&t.k.k.memory, n, true);
            CHECK_EQ(orri_commit(t.world), ORR_ERR_MEMORY);
            failing_alloc_arm(&t.k.k.memory, 0, false);
            CHECK_EQ(orr_world_hash(t.world), hash);
        }
        for (uint32_t i = 0; i < destroyed; i++) {
            CHECK_OK(orr_destroy(t.world, old[i]));
        }
        CHECK_OK(orri_commit(t.world));
        check_rows(&t, ids);
        end(&t);
    }
}

// Memory is refused at every allocation of sending: a refused command is absent, a sent one is
// there.
ORR_TEST(creations_refused_while_sending_keep_earlier_ones)
{
    uint32_t refused = 0;
    for (uint64_t n = 1; n < 40; n++) {
        many t;
        begin(&t);
        orr_cluster cluster = KIT_CLUSTER(t.world, Count, Collider);
        static Count counts[900];
        orr_entity first[20], second[900];
        for (int32_t i = 0; i < 900; i++) {
            counts[i].n = i;
        }
        orr_column_data data = {t.k.count, counts};
        (void)sender_open(&t.s, 1000);
        CHECK_OK(orr_send_create_many(&t.s.run, cluster, 20, &data, 1, first));
        failing_alloc_arm(&t.k.k.memory, n, false);
        orr_result result = orr_send_create_many(&t.s.run, cluster, 900, &data, 1, second);
        failing_alloc_arm(&t.k.k.memory, 0, false);
        refused += result != ORR_OK;
        if (n % 2 == 0 || result == ORR_OK) { // The next one continues with the rest.
            result = result == ORR_OK
                         ? result
                         : orr_send_create_many(&t.s.run, cluster, 900, &data, 1, second);
            CHECK_OK(result);
        }
        sender_commit(&t.s);
        CHECK_EQ(orr_get(t.world, first[19], Count)->n, 19);
        CHECK_EQ(orr_instances_get(t.world, first[7], t.k.collider, NULL, NULL), 1);
        CHECK_EQ(result == ORR_OK ? orr_get(t.world, second[899], Count)->n : 899, 899);
        end(&t);
    }
    CHECK(refused > 2);
}

// Adds that stay in columns, of entities whose ids and rows are consecutive, or not.
static void add_everywhere(bool twice)
{
    static orr_entity ids[ROWS];
    many t;
    begin(&t);
    CHECK_OK(orr_create_many(t.world, KIT_CLUSTER(t.world, Position), ROWS, NULL, 0, ids));
    for (uint32_t i = 1000; i < 1500; i += 3) { // Here ids and rows are mixed.
        CHECK_OK(orr_set(t.world, ids[i], Tiny, {1}));
        CHECK_OK(orr_component_remove(t.world, ids[i], t.k.tiny));
    }
    CHECK_OK(orr_destroy(t.world, ids[3000]));
    CHECK_OK(orr_set(t.world, ids[4000], Count, {-1}));
    (void)sender_open(&t.s, 0);
    for (uint32_t i = 0; i < ROWS; i++) {
        CHECK_OK(orr_send_add_type(&t.s.run, ids[i], t.k.count, &(Count){(int32_t)i}, NULL));
    }
    for (uint32_t i = 5000; twice && i < ROWS; i += 70) {
        CHECK_OK(orr_send_add_type(&t.s.run, ids[i], t.k.health, &(Health){7, 8}, NULL));
    }
    sender_commit(&t.s);
    CHECK_EQ(t.s.rights.counts.dropped, 1);
    CHECK_EQ(command_log_count(&t.k.log, ORR_LOG_ID_ADDED_TWICE), 1);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        const Count* count = orr_get(t.world, ids[i], Count);
        wrong += (count == NULL) != (i == 3000) || (count != NULL && count->n != (int32_t)i);
        wrong += orr_has(t.world, ids[i], Health) != (twice && i >= 5000 && (i - 5000) % 70 == 0);
    }
    CHECK_EQ(wrong, 0);
    end(&t);
}

ORR_TEST(adds_in_any_order_reach_their_entities)
{
    add_everywhere(false);
    add_everywhere(true); // Some are mentioned twice.
}

// ---- one entity ---------------------------------------------------------------------------------

static uint32_t colliders(const many* t, orr_entity entity, const Collider** values,
                          const orr_component_id** ids)
{
    const void* list = NULL;
    uint32_t count = orr_instances_get(t->world, entity, t->k.collider, &list, ids);
    *values = list;
    return count;
}

// The last command counts for each tag, and tags that were mentioned first have room first.
ORR_TEST(tags_sent_many_times_keep_the_last_state_and_the_first_position)
{
    many t;
    begin(&t);
    orr_entity bob = orr_create(t.world);
    orr_tag high = (orr_tag)1 << 40; // As different in the upper half as in the lower.
    (void)sender_open(&t.s, 0);
    for (uint32_t round = 0; round < 5; round++) {
        for (uint32_t i = 0; i < 200; i++) {
            orr_tag tag = i % 2 == 0 ? high * (200 - i) : 1000 - i;
            CHECK_OK(orr_send_tag(&t.s.run, bob, tag, (i + round) % 4 < 2));
        }
    }
    sender_commit(&t.s);
    uint32_t wanted = 0, wrong = 0;
    for (uint32_t i = 0; i < 200; i++) {
        orr_tag tag = i % 2 == 0 ? high * (200 - i) : 1000 - i;
        bool on = (i + 4) % 4 < 2;
        wrong += orr_tag_has(t.world, bob, tag) != (on && wanted < ORR_CLUSTER_TAGS_MAX);
        wanted += on;
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(t.s.rights.counts.dropped, wanted - ORR_CLUSTER_TAGS_MAX);
    end(&t);
}

// An entity with the maximum of instances: removed ones make room for added ones.
ORR_TEST(instances_removed_make_room_for_added_ones)
{
    many t;
    begin(&t);
    orr_entity bob = orr_create(t.world);
    const Collider* values;
    const orr_component_id* ids;
    (void)sender_open(&t.s, 0);
    for (int32_t i = 0; i < (int32_t)ORR_INSTANCES_MAX; i++) {
        CHECK_OK(orr_send_add_type(&t.s.run, bob, t.k.collider, &(Collider){i}, NULL));
    }
    sender_commit(&t.s);
    CHECK_EQ(colliders(&t, bob, &values, &ids), ORR_INSTANCES_MAX);
    CHECK_EQ(values[1023].radius, 1023);
    (void)sender_open(&t.s, 0); // Removes ten and adds eleven.
    for (uint32_t i = 0; i < 11; i++) {
        if (i < 10) {
            CHECK_OK(orr_send_remove_type(&t.s.run, bob, t.k.collider, ids[i]));
        }
        CHECK_OK(
            orr_send_add_type(&t.s.run, bob, t.k.collider, &(Collider){2000 + (int32_t)i}, NULL));
    }
    sender_commit(&t.s);
    CHECK_EQ(t.s.rights.counts.dropped, 1);
    CHECK_EQ(colliders(&t, bob, &values, &ids), ORR_INSTANCES_MAX);
    CHECK_EQ(values[0].radius, 10);
    CHECK_EQ(values[1023].radius, 2009);
    // Many of each kind; some are enabled and disabled, some are destroyed at once.
    (void)sender_open(&t.s, 0);
    CHECK_OK(orr_send_remove_type(&t.s.run, bob, t.k.collider, 0));
    for (int32_t i = 0; i < (int32_t)ORR_INSTANCES_MAX; i++) {
        orr_component_id id;
        CHECK_OK(orr_send_add_type(&t.s.run, bob, t.k.collider, &(Collider){-i}, &id));
        if (i % 3 == 0) {
            CHECK_OK(orr_send_enable_type(&t.s.run, bob, t.k.collider, id, false));
        } else if (i % 3 == 1) {
            CHECK_OK(orr_send_remove_type(&t.s.run, bob, t.k.collider, id));
        }
    }
    sender_commit(&t.s);
    uint32_t count = colliders(&t, bob, &values, &ids), wrong = 0;
    CHECK_EQ(count, 683);
    for (uint32_t i = 0; i < count; i++) {
        int32_t sent = (int32_t)(i / 2 * 3 + i % 2 * 2);
        wrong += values[i].radius != -sent;
        wrong += orr_instance_enabled(t.world, bob, t.k.collider, ids[i]) != (sent % 3 != 0);
    }
    CHECK_EQ(wrong, 0);
    end(&t);
}

// Two buffers mention the same instances, and new ones of their own.
ORR_TEST(instances_of_several_buffers_are_kept_apart)
{
    many t;
    begin(&t);
    orr_entity bob = orr_create(t.world);
    orr_component_id old = orr_instance_add(t.world, bob, t.k.collider, &(Collider){1}), id[2];
    sender* senders[] = {&t.s, &t.other};
    for (uint32_t i = 0; i < 2; i++) {
        orr_run* run = sender_open(senders[i], 0);
        CHECK_OK(orr_send_enable_type(run, bob, t.k.collider, 0, i == 0)); // All there are by now.
        CHECK_OK(orr_send_add_type(run, bob, t.k.collider, &(Collider){10 + (int32_t)i}, &id[i]));
        CHECK_OK(orr_send_change_type(run, bob, t.k.collider, id[i], &(Collider){20 + (int32_t)i}));
        CHECK_OK(orr_send_change_type(run, bob, t.k.collider, old, &(Collider){2 + (int32_t)i}));
        sender_close(senders[i]);
        CHECK_OK(sender_end(senders[i]));
    }
    CHECK(id[0] != id[1]);
    CHECK_OK(orri_commit(t.world));
    const Collider* values;
    const orr_component_id* ids;
    CHECK_EQ(colliders(&t, bob, &values, &ids), 3);
    CHECK(values[0].radius == 3 && values[1].radius == 20 && values[2].radius == 21);
    CHECK(ids[1] == id[0] && ids[2] == id[1]);
    CHECK(!orr_instance_enabled(t.world, bob, t.k.collider, ids[0]));
    CHECK(!orr_instance_enabled(t.world, bob, t.k.collider, ids[1]));
    CHECK(orr_instance_enabled(t.world, bob, t.k.collider, ids[2]));
    end(&t);
}
