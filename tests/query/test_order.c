// SPDX-License-Identifier: MIT
// Sorted iteration and groups: orders that are cached and repaired.
#include "query/query.h"
#include "query_kit.h"
#include "test.h"
#include <math.h>

#define ORDER_MOST 20000u

ORR_STRUCT_EX(Shard, (.multiplicity = ORR_MULTIPLE), (int32_t, size))

static orr_entity order_expected[ORDER_MOST], order_found[ORDER_MOST];

static orr_query* order_query(const query_kit* k, const char* by, bool descending)
{
    orr_query* query = orr_query_create(
        k->world, &(orr_query_desc){ORR_TERMS(ORR_R(k->world, Position), ORR_NOT(k->world, Frozen)),
                                    .order_by = by, .order_descending = descending});
    CHECK(query != NULL);
    return query;
}

static uint32_t order_collect(orr_query* query)
{
    uint32_t found = 0;
    ORR_EACH (it, query) {
        orr_iter_entities(&it, order_found + found);
        const Position* p = orr_read(&it, Position);
        for (uint32_t i = 0; i < it.count; i++) {
            CHECK_EQ(orr_get(orr_query_world(query), order_found[found + i], Position), p + i);
        }
        found += it.count;
    }
    return found;
}

static bool order_less(const query_kit* k, orr_entity a, orr_entity b, bool descending)
{
    float x = orr_get(k->world, a, Position)->x, y = orr_get(k->world, b, Position)->x;
    return x != y ? (descending ? x > y : x < y) : (uint32_t)a.id < (uint32_t)b.id;
}

// Insertion sort over entities: slow and simple.
static void order_check(const query_kit* k, orr_query* query, bool descending)
{
    orr_term terms[] = {{.type = k->types[0]}, {.type = k->types[4], .kind = ORR_WITHOUT}};
    uint32_t count = query_kit_brute(k, terms, 2, ORR_ENABLED, order_expected, ORDER_MOST);
    for (uint32_t i = 1; i < count; i++) {
        for (uint32_t j = i;
             j > 0 && order_less(k, order_expected[j], order_expected[j - 1], descending); j--) {
            orr_entity swap = order_expected[j];
            order_expected[j] = order_expected[j - 1];
            order_expected[j - 1] = swap;
        }
    }
    CHECK_EQ(order_collect(query), count);
    for (uint32_t i = 0; i < count; i++) {
        CHECK_EQ(order_found[i].id, order_expected[i].id);
    }
}

ORR_TEST(sorted_iteration_follows_the_key_through_every_change)
{
    uint64_t seed = test_seed();
    for (uint32_t round = 0; round < 10; round++) {
        query_kit k;
        query_kit_begin(&k);
        bool descending = round % 2 == 1;
        orr_query* query = order_query(&k, "Position.x", descending);
        for (uint32_t step = 0; step < 150; step++) {
            uint64_t random = orr_random(seed, round, step, 7);
            query_kit_change(&k, random);
            orr_entity entity = orr_query_at(query, random >> 20 & 31);
            if (entity.id != 0) {
                float x = (float)(random >> 40 & 15) - 8;
                orr_put(k.world, entity, Position, (&(Position){x, 0, 0}));
            }
            if (step % 3 == 0) {
                order_check(&k, query, descending);
            }
        }
        query_kit_end(&k);
    }
}

// Keys written in a loop take effect in the next loop. A nested loop over the same query must not
// sort under the outer one.
ORR_TEST(order_is_not_repaired_while_a_loop_over_it_is_open)
{
    query_kit k;
    query_kit_begin(&k);
    orr_cluster cluster = KIT_CLUSTER(k.world, Position);
    orr_entity entities[40];
    CHECK_OK(orr_create_many(k.world, cluster, 40, NULL, 0, entities));
    orr_query* query = orr_query_create(
        k.world, &(orr_query_desc){ORR_TERMS(ORR_W(k.world, Position)), .order_by = "Position.x"});
    uint32_t seen = 0;
    ORR_EACH (it, query) {
        for (uint32_t i = 0; i < it.count; i++) {
            CHECK_EQ(orr_iter_entity(&it, i).id, entities[seen].id); // As at the start of the loop.
            // Reverses the order and requests it.
            CHECK_OK(orr_set(k.world, entities[seen], Position, {-(float)seen, 0, 0}));
            CHECK_EQ(orr_query_first(query).id, entities[0].id);
            seen++;
        }
    }
    CHECK_EQ(seen, 40);
    CHECK_EQ(orr_query_first(query).id, entities[39].id);
    // A loop left open ends with the tick; then the order is updated again.
    orr_iter left_open;
    CHECK(orr_iter_next(orr_iter_begin(&left_open, query, NULL)));
    orr_tick_advance(k.world);
    CHECK_OK(orr_set(k.world, entities[20], Position, {-100, 0, 0}));
    CHECK_EQ(orr_query_first(query).id, entities[20].id);
    query_kit_end(&k);
}

// One enabled instance makes the component enabled: the change shows in a count, not in an enable
// bit.
ORR_TEST(order_follows_an_instance_added_to_disabled_instances)
{
    query_kit k;
    query_kit_begin(&k);
    orr_type shard = KIT_TYPE(k.world, Shard);
    orr_entity entity = orr_create_in(k.world, KIT_CLUSTER(k.world, Position));
    orr_component_id first = orr_instance_add(k.world, entity, shard, NULL);
    orr_component_id second = orr_instance_add(k.world, entity, shard, NULL);
    CHECK(orr_instance_add(k.world, entity, shard, NULL) != 0); // Capacity for one more.
    CHECK_OK(orr_component_enable(k.world, entity, shard, false));
    orr_query* query = orr_query_create(
        k.world, &(orr_query_desc){ORR_TERMS(ORR_R(k.world, Position), ORR_R(k.world, Shard)),
                                   .order_by = "Position.x"});
    CHECK_EQ(orr_query_first(query).id, 0);
    orr_component_id third = orr_instance_add(k.world, entity, shard, NULL);
    CHECK(third != 0);
    CHECK_EQ(orr_query_count(query), 1);
    CHECK_EQ(orr_query_first(query).id, entity.id);
    CHECK_OK(orr_instance_remove(k.world, entity, shard, third));
    CHECK_EQ(orr_query_first(query).id, 0);
    CHECK_OK(orr_instance_enable(k.world, entity, shard, second, true));
    CHECK_EQ(orr_query_first(query).id, entity.id);
    CHECK_OK(orr_instance_remove(k.world, entity, shard, first));
    CHECK_EQ(orr_query_first(query).id, entity.id);
    query_kit_end(&k);
}

ORR_TEST(order_is_kept_without_changes_and_repaired_by_chunk)
{
    query_kit k;
    query_kit_begin(&k);
    orr_cluster cluster = KIT_CLUSTER(k.world, Position);
    static orr_entity made[8192];
    static Position values[8192];
    for (uint32_t i = 0; i < 8192; i++) {
        values[i].x = (float)(i * 7919 % 8192);
    }
    orr_column_data data = {k.types[0], values};
    CHECK_OK(orr_create_many(k.world, cluster, 8192, &data, 1, made));
    orr_query* query = order_query(&k, "Position.x", false);
    CHECK_EQ(order_collect(query), 8192);
    for (uint32_t i = 0; i < 8192; i++) {
        CHECK_EQ(orr_get(k.world, order_found[i], Position)->x, i);
    }
    uint64_t mark = query->order->mark;
    CHECK_EQ(order_collect(query), 8192);
    CHECK_EQ(query->order->mark, mark); // Unchanged: no work was done.
    orr_set(k.world, made[3000], Position, {-1, 0, 0});
    CHECK_EQ(orr_query_first(query).id, made[3000].id);
    // Only the second chunk was read again.
    uint32_t clean = 0;
    for (uint32_t chunk = 0; chunk < 64; chunk++) {
        clean += orri_bit_get(query->order->clean, chunk);
    }
    CHECK_EQ(clean, 3);
    query_kit_end(&k);
}

ORR_STRUCT(Sortable, (int8_t, i8), (uint16_t, u16), (int32_t, i32), (uint64_t, u64), (double, f64),
           (float, f32), (bool, yes), (char, letter), (orr_entity, target), (orr_string, text),
           (float, list, 3))

ORR_TEST(key_of_every_kind_of_number_sorts)
{
    query_kit k;
    query_kit_begin(&k);
    orr_type type = KIT_TYPE(k.world, Sortable);
    orr_entity made[4];
    for (uint32_t i = 0; i < 4; i++) {
        made[i] = orr_create(k.world);
        int sign = i % 2 == 0 ? -1 : 1;
        int value = sign * (int)(i + 1); // -1, 2, -3, 4
        Sortable s = {.i8 = (int8_t)value,
                      .u16 = (uint16_t)(40000u + i),
                      .i32 = value * 100000,
                      .u64 = (uint64_t)1 << (60 + i),
                      .f64 = value * 1.5,
                      .f32 = i == 3 ? 0.0f / 1.0f : (float)value,
                      .yes = i < 2,
                      .letter = (char)('a' + i)};
        CHECK_OK(orr_component_set(k.world, made[i], type, &s));
    }
    const char* rising[] = {"Sortable.i8", "Sortable.i32", "Sortable.f64"};
    for (uint32_t q = 0; q < 3; q++) {
        orr_query* query = orr_query_create(
            k.world, &(orr_query_desc){ORR_TERMS(ORR_R(k.world, Sortable)), .order_by = rising[q]});
        static const uint32_t expected[] = {2, 0, 1, 3};
        for (uint32_t i = 0; i < 4; i++) {
            CHECK_EQ(orr_query_at(query, i).id, made[expected[i]].id);
        }
    }
    const char* plain[] = {"Sortable.u16", "Sortable.u64", "Sortable.letter"};
    for (uint32_t q = 0; q < 3; q++) {
        orr_query* query = orr_query_create(
            k.world, &(orr_query_desc){ORR_TERMS(ORR_R(k.world, Sortable)), .order_by = plain[q]});
        for (uint32_t i = 0; i < 4; i++) {
            CHECK_EQ(orr_query_at(query, i).id, made[i].id);
        }
    }
    const char* refused[] = {"Sortable.text", "Sortable.nothing", "Sortable", "Position.x",
                             "Sortable.list"};
    for (uint32_t q = 0; q < 5; q++) {
        CHECK(orr_query_create(k.world, &(orr_query_desc){ORR_TERMS(ORR_R(k.world, Sortable)),
                                                          .order_by = refused[q]}) == NULL);
    }
    query_kit_end(&k);
}

ORR_TEST(nans_come_last_in_both_directions)
{
    query_kit k;
    query_kit_begin(&k);
    float values[] = {NAN, 1, -INFINITY, INFINITY, 0};
    orr_entity made[5];
    for (uint32_t i = 0; i < 5; i++) {
        made[i] = orr_create(k.world);
        orr_put(k.world, made[i], Position, (&(Position){values[i], 0, 0}));
    }
    static const uint32_t orders[2][5] = {{2, 4, 1, 3, 0}, {3, 1, 4, 2, 0}};
    for (uint32_t d = 0; d < 2; d++) {
        orr_query* query = order_query(&k, "Position.x", d == 1);
        for (uint32_t i = 0; i < 5; i++) {
            CHECK_EQ(orr_query_at(query, i).id, made[orders[d][i]].id);
        }
    }
    query_kit_end(&k);
}

static uint64_t order_by_tag(void* user, const orr_world* world, orr_cluster cluster)
{
    (void)user;
    orr_cluster_info info;
    if (orr_cluster_info_get(world, cluster, &info) != ORR_OK || info.tag_count == 0) {
        return 0;
    }
    return info.tags[0];
}

ORR_TEST(groups_come_in_key_order_and_can_be_iterated_alone)
{
    query_kit k;
    query_kit_begin(&k);
    orr_query* query = orr_query_create(
        k.world, &(orr_query_desc){ORR_TERMS(ORR_R(k.world, Position)), .group_by = order_by_tag});
    static const orr_tag tags[] = {30, 10, 20, 10, 30};
    orr_entity made[5];
    for (uint32_t i = 0; i < 5; i++) {
        made[i] = orr_create(k.world);
        orr_add(k.world, made[i], Position);
        CHECK_OK(orr_tag_add(k.world, made[i], tags[i]));
        if (i == 3) {
            orr_add(k.world, made[i], Velocity); // Another cluster of the same group.
        }
    }
    static const uint32_t expected[] = {1, 3, 2, 0, 4};
    for (uint32_t i = 0; i < 5; i++) {
        CHECK_EQ(orr_query_at(query, i).id, made[expected[i]].id);
    }
    uint64_t last = 0;
    ORR_EACH (it, query) {
        CHECK(orr_iter_group(&it) >= last);
        last = orr_iter_group(&it);
    }
    CHECK_EQ(last, 30);
    uint32_t rows = 0;
    ORR_EACH_OF (it, query, .only_group = true, .group = 10) {
        CHECK_EQ(orr_iter_group(&it), 10);
        rows += it.count;
    }
    CHECK_EQ(rows, 2);
    CHECK_OK(orr_cluster_delete(k.world, orr_entity_cluster(k.world, made[1])));
    CHECK_EQ(orr_query_first(query).id, made[3].id);
    query_kit_end(&k);
}

#undef ORDER_MOST
