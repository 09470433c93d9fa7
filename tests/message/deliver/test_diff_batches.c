// SPDX-License-Identifier: MIT
// Batches of messages: shared by readers, few for many rows, in an order that depends on the world
// only.
#include "message/deliver/baseline.h"
#include "message/deliver/stage_kit.h"

// ---- sharing ------------------------------------------------------------------------------------

ORR_TEST(readers_of_the_same_rows_share_one_batch) /* N0-58 */
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* a = deliver_kit_reader(w, "Position, ?Velocity");
    orri_reader* b = deliver_kit_reader(w, "Position");
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Position, Velocity), 3, NULL, 0, NULL));
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    const orr_message *ma = orri_reader_next(a), *mb = orri_reader_next(b);
    CHECK(ma->entities == mb->entities && ma->count == 3 && mb->count == 3);
    CHECK_EQ(ma->column_count, 2);
    CHECK_EQ(mb->column_count, 1);
    CHECK(orr_values(ma, Position) == orr_values(mb, Position));
    CHECK(orr_values(mb, Velocity) == NULL);
    CHECK(orr_message_column_of(ma, KIT_TYPE(w, Velocity)) != NULL);
    CHECK(orr_message_column_of(mb, KIT_TYPE(w, Velocity)) == NULL);
    CHECK(orr_message_values(ma, ORR_TYPE(Crowd)) == NULL); // Not even registered.
    CHECK(!orr_message_is(ma, Position));
    stage_end(&s);
}

// Blocks in use, without spare batches.
static uint64_t stage_blocks(orr_world* w)
{
    orr_memory_stats stats;
    orri_spares_trim(w, w->messages->baseline, true);
    orr_world_memory_get(w, &stats);
    return stats.by_purpose[ORR_MEMORY_MESSAGE].blocks;
}

ORR_TEST(batch_is_freed_with_its_last_view) /* N0-58 */
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader *a = deliver_kit_reader(w, "Tiny"), *b = deliver_kit_reader(w, "Tiny");
    orr_entity e = orr_create(w);
    orr_set(w, e, Tiny, {1});
    (void)deliver_kit_diff(w, a);
    (void)deliver_kit_take(b);
    uint64_t before = stage_blocks(w);
    orr_set(w, e, Tiny, {2});
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    CHECK_EQ(stage_blocks(w), before + 1);
    CHECK(orri_reader_next(a) != NULL);
    CHECK(orri_reader_next(a) == NULL);
    CHECK_EQ(stage_blocks(w), before + 1); // The other reader has not taken it.
    const orr_message* m = orri_reader_next(b);
    CHECK(orr_message_is(m, Tiny) && orr_values(m, Tiny)->value == 2);
    CHECK_EQ(stage_blocks(w), before + 1); // The other reader reads it.
    orri_reader_done(b);
    CHECK_EQ(stage_blocks(w), before);
    orri_reader_done(b);
    // A reader that is destroyed releases its views.
    orr_set(w, e, Tiny, {3});
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    CHECK(orri_reader_next(a) != NULL);
    orri_reader_destroy(w, b);
    orri_reader_done(a);
    CHECK(stage_blocks(w) < before);
    stage_end(&s);
}

ORR_TEST(reader_that_gets_other_rows_gets_a_batch_of_its_own)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* on = deliver_kit_reader(w, "Tiny");
    orri_reader* too = deliver_kit_reader(w, "Tiny");
    orri_reader* all = deliver_kit_reader(w, "either *, Tiny");
    orri_reader* off = deliver_kit_reader(w, "disabled *, Tiny");
    orr_entity ids[4];
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny), 4, NULL, 0, ids));
    CHECK_OK(orr_entity_enable(w, ids[1], false));
    (void)deliver_kit_diff(w, on);
    (void)deliver_kit_take(too);
    TAKES(all, "EntityAdded created 0v1 1v1 2v1 3v1 {Tiny} Tiny: {value: 0}, {value: 0}, {value: "
               "0}, {value: 0}\n");
    TAKES(off, "EntityAdded created 1v1 {Tiny} Tiny: {value: 0}\n");
    Tiny* values = orr_column_write(w, orr_entity_cluster(w, ids[0]), 0, KIT_TYPE(w, Tiny));
    for (uint8_t i = 0; i < 4; i++) {
        values[i].value = 10 + i;
    }
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    const orr_message* a = orri_reader_next(on);
    const orr_message* b = orri_reader_next(too);
    CHECK_EQ(a->count, 3);
    CHECK(a->entities == b->entities && a->values == b->values);
    TAKES(all, "ComponentChanged written Tiny 0v1 {value: 10} 1v1 {value: 11} 2v1 {value: 12} 3v1 "
               "{value: 13}\n");
    TAKES(off, "ComponentChanged written Tiny 1v1 {value: 11}\n");
    CHECK(orri_reader_next(on) == NULL);
    stage_end(&s);
}

ORR_TEST(readers_by_the_hundred_receive_messages)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* readers[130];
    for (uint32_t i = 0; i < 130; i++) {
        readers[i] = deliver_kit_reader(w, i % 3 == 0   ? "Tiny"
                                           : i % 3 == 1 ? "Tiny, !Frozen"
                                                        : "Frozen");
    }
    orr_entity a = orr_create(w);
    orr_set(w, a, Tiny, {1});
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    for (uint32_t i = 0; i < 130; i++) {
        TAKES(readers[i], i % 3 < 2 ? "EntityAdded created 0v1 {Tiny} Tiny: {value: 1}\n" : "");
    }
    orr_add(w, a, Frozen);
    orr_set(w, a, Tiny, {2});
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    for (uint32_t i = 0; i < 130; i++) {
        TAKES(readers[i], i % 3 == 0   ? "ComponentChanged written Tiny 0v1 {value: 2}\n"
                          : i % 3 == 1 ? "EntityRemoved component 0v1\n"
                                       : "EntityAdded component 0v1 {Tiny Frozen} Frozen:\n");
    }
    stage_end(&s);
}

// ---- order --------------------------------------------------------------------------------------

ORR_TEST(clusters_come_in_order_of_creation_and_rows_in_order)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Tiny");
    orr_cluster late, early = KIT_CLUSTER(w, Tiny, Frozen);
    late = KIT_CLUSTER(w, Tiny);
    CHECK_OK(orr_create_many(w, late, 2, NULL, 0, NULL));
    CHECK_OK(orr_create_many(w, early, 2, NULL, 0, NULL));
    RECEIVES(r, "EntityAdded created 2v1 3v1 {Tiny Frozen} Tiny: {value: 0}, {value: 0}\n"
                "EntityAdded created 0v1 1v1 {Tiny} Tiny: {value: 0}, {value: 0}\n");
    Tiny* values = orr_column_write(w, late, 0, KIT_TYPE(w, Tiny));
    values[0].value = values[1].value = 1;
    values = orr_column_write(w, early, 0, KIT_TYPE(w, Tiny));
    values[1].value = 2;
    // Small clusters with the same receivers share a message.
    RECEIVES(r, "ComponentChanged written Tiny 3v1 {value: 2} 0v1 {value: 1} 1v1 {value: 1}\n");
    stage_end(&s);
}

ORR_TEST(many_rows_are_a_few_messages)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Velocity");
    orr_cluster cluster = KIT_CLUSTER(w, Velocity);
    enum {
        MANY = 100000
    };
    CHECK_OK(orr_create_many(w, cluster, MANY, NULL, 0, NULL));
    orr_query* query = orr_query_text(w, "write Velocity");
    for (uint32_t round = 0; round < 3; round++) {
        uint32_t messages = 0, rows = 0;
        CHECK_OK(round == 0 ? orri_diff_run(w, (orr_system){0, 0}, false)
                            : orri_diff_written(w, query, (orr_system){4, 1}));
        CHECK_EQ(orri_reader_queued(r), round < 2 ? MANY : MANY / 7 + 1);
        for (const orr_message* m; (m = orri_reader_next(r)) != NULL; messages++) {
            CHECK(m->kind == (round == 0 ? ORR_ENTITY_ADDED : ORR_COMPONENT_CHANGED));
            CHECK_EQ(m->system.id, round == 0 ? 0 : 4);
            const Velocity* v = orr_values(m, Velocity);
            for (uint32_t i = 0; i < m->count; i++, rows++) {
                uint32_t row = round < 2 ? rows : rows * 7;
                CHECK_EQ(orri_id_index(m->entities[i]), row);
                CHECK_EQ(v[i].x, round == 0 ? 0 : row + round);
            }
        }
        CHECK_EQ(rows, round < 2 ? MANY : MANY / 7 + 1);
        CHECK_EQ(messages, 7); // Ranges of 16384 rows.
        uint32_t row = 0;
        ORR_EACH (it, query) {
            Velocity* v = orr_write(&it, Velocity);
            for (uint32_t i = 0; i < it.count; i++, row++) {
                v[i].x = round == 0 ? (float)(row + 1) : row % 7 == 0 ? v[i].x + 1 : v[i].x;
            }
        }
    }
    stage_end(&s);
}

ORR_TEST(rows_in_any_order_are_sent_correctly)
{
    stage s;
    orr_world* w = stage_begin(&s);
    mirror* m = mirror_make(w, "Velocity, ?Health", false, DELIVER_KIT_ALL);
    enum {
        MANY = 5000
    };
    static orr_entity ids[MANY];
    orr_type health = KIT_TYPE(w, Health);
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Velocity), MANY, NULL, 0, ids));
    for (uint32_t round = 0; round < 4; round++) {
        for (uint32_t i = 0; i < MANY; i++) {
            orr_entity id = ids[(i * 7919u) % MANY];
            if (i % 3 == round) {
                CHECK_OK(orr_component_add(w, id, health));
            }
            if (i % 5 == round) {
                orr_edit(w, id, Velocity)->x += 1;
            }
        }
        CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
        mirror_take(m);
        mirror_compare(m);
    }
    CHECK_OK(orr_rows_move_all(w, orr_entity_cluster(w, ids[0]), KIT_CLUSTER(w, Velocity, Frozen)));
    CHECK_OK(orr_destroy_many(w, ids, MANY / 2));
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    mirror_take(m);
    mirror_compare(m);
    mirror_free(m);
    stage_end(&s);
}

// Neighbouring entities that come to the same cluster from several, and of which a reader knew some.
// With one mirror nothing but their old cluster separates them.
static void neighbours_move(uint32_t mirrors)
{
    static const char* const queries[] = {"Velocity, ?Health, ?Position",
                                          "Velocity, Position, ?Health", "Velocity, !Health"};
    enum {
        MANY = 300
    };
    static orr_entity ids[MANY];
    stage s;
    orr_world* w = stage_begin(&s);
    mirror* m[3];
    for (uint32_t i = 0; i < mirrors; i++) {
        m[i] = mirror_make(w, queries[i], false, DELIVER_KIT_ALL);
    }
    orr_type position = KIT_TYPE(w, Position);
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Velocity), MANY, NULL, 0, ids));
    for (uint32_t round = 0; round < 6; round++) {
        CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
        for (uint32_t i = 0; i < mirrors; i++) {
            mirror_take(m[i]);
            mirror_compare(m[i]);
        }
        for (uint32_t i = 0; i < MANY; i++) {
            if ((round == 0 && i % 7 < 3) || (round == 1 && i % 7 >= 3)) {
                CHECK_OK(orr_set(w, ids[i], Position, {(float)i, 1, 2}));
            } else if (round == 2) {
                CHECK_OK(orr_component_enable(w, ids[i], position, i % 5 != 0));
            } else if (round == 3) {
                CHECK_OK(orr_remove(w, ids[i], Position)); // The second reader knew four of five.
            } else if (round == 4) {
                CHECK_OK(orr_set(w, ids[i], Health, {(int32_t)i, 1}));
            }
        }
        for (uint32_t i = 0; round == 1 && i < MANY; i++) {
            CHECK_OK(orr_add(w, ids[i], Frozen)); // All come to one cluster; readers knew two.
        }
    }
    for (uint32_t i = 0; i < mirrors; i++) {
        mirror_free(m[i]);
    }
    stage_end(&s);
}

ORR_TEST(neighbours_that_moved_are_sent_with_what_they_had)
{
    neighbours_move(1);
    neighbours_move(3);
}

// More runs than a run list holds, of every kind.
ORR_TEST(run_lists_that_are_full_are_sent_in_parts)
{
    stage s;
    orr_world* w = stage_begin(&s);
    enum {
        MANY = 10000
    };
    static orr_entity ids[MANY];
    mirror* m[2] = {
        mirror_make(w, "either *, Tiny, ?Body, ?Shot, ?orr_enabled", false, DELIVER_KIT_ALL),
        mirror_make(w, "Tiny, ?Body, ?Padded", false, DELIVER_KIT_ALL)};
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Tiny, Shot, Padded), MANY, NULL, 0, ids));
    for (uint32_t round = 0; round < 4; round++) {
        CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
        for (uint32_t i = 0; i < 2; i++) {
            mirror_take(m[i]);
            mirror_compare(m[i]);
        }
        for (uint32_t i = 0; i < MANY; i++) {
            orr_entity id = ids[(i * 7919u) % MANY];
            if (round == 0) {
                orr_set(w, id, Body, {(int32_t)i, 1});
                (void)orr_instance_add(w, id, KIT_TYPE(w, Shot), NULL);
                CHECK_OK(orr_entity_enable(w, id, i % 3 != 0));
            } else if (round == 1) {
                orr_edit(w, id, Body)->speed = (int32_t)i;
                orr_edit(w, id, Padded)->c = (uint16_t)i;
                orr_add(w, id, Frozen);
            } else if (round == 2 && orri_id_index(id) % 2 == 0) {
                CHECK_OK(orr_destroy(w, id));
            }
        }
    }
    CHECK_EQ(orr_entity_count(w), MANY / 2);
    mirror_free(m[0]);
    mirror_free(m[1]);
    stage_end(&s);
}

ORR_TEST(rows_taken_back_by_an_appender_are_sent_as_removed)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Tiny");
    orr_appender a;
    CHECK_OK(orr_append_begin(w, KIT_CLUSTER(w, Tiny), NULL, 0, &a));
    CHECK_EQ(orr_append(&a), 0);
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false)); // Rows made ahead count as entities.
    uint64_t ahead = orri_reader_queued(r);
    CHECK(ahead > 1 && ahead == orr_entity_count(w));
    (void)deliver_kit_take(r);
    orr_append_end(&a);
    CHECK_EQ(orr_entity_count(w), 1);
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    CHECK_EQ(orri_reader_queued(r), ahead - 1);
    const orr_message* m = orri_reader_next(r);
    CHECK(m->kind == ORR_ENTITY_REMOVED && m->count == ahead - 1 &&
          m->entities[0].id == 1 + ((uint64_t)1 << 32));
    stage_end(&s);
}

ORR_TEST(chunks_transferred_are_sent)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Velocity, ?Health, ?orr_tags");
    orr_entity ids[2];
    orr_cluster from = KIT_CLUSTER(w, Velocity);
    CHECK_OK(orr_create_many(w, from, 2, NULL, 0, ids));
    (void)deliver_kit_diff(w, r);
    CHECK_OK(orr_rows_move_all(w, from, KIT_CLUSTER(w, Velocity, Health)));
    RECEIVES(r,
             "ComponentAdded component Health 0v1 {value: 100, armour: 0} 1v1 {value: 100, armour: "
             "0}\n");
    orr_query* query = orr_query_text(w, "Health");
    CHECK_OK(orr_query_remove(query, KIT_TYPE(w, Health)));
    RECEIVES(r, "ComponentRemoved component Health 0v1 1v1\n");
    orr_type velocity = KIT_TYPE(w, Velocity);
    orr_tag tag = 5;
    CHECK_OK(orr_rows_move_all(w, from, kit_cluster(w, &velocity, 1, &tag, 1)));
    RECEIVES(r, "ComponentChanged component orr_tags 0v1 1v1 {#5}\n");
    CHECK_OK(orr_clusters_delete(w, &(orr_cluster_match){.tags = &tag, .tag_count = 1}, NULL));
    RECEIVES(r, "EntityRemoved destroyed 0v1 1v1\n");
    stage_end(&s);
}

ORR_TEST(entities_destroyed_by_a_cascade_are_sent)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Parent");
    orr_entity a = orr_create(w), b = orr_create(w), c = orr_create(w);
    orr_set(w, b, Parent, {a});
    orr_set(w, c, Parent, {b});
    RECEIVES(r, "EntityAdded created 1v1 2v1 {Parent} Parent: {entity: 0v1}, {entity: 1v1}\n");
    CHECK_OK(orr_destroy(w, a));
    RECEIVES(r, "EntityRemoved destroyed 1v1 2v1\n");
    stage_end(&s);
}
