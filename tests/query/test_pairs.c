// SPDX-License-Identifier: MIT
// Cross products: each pair once, or ordered, compared with a double loop.
#include "query/query_kit.h"
#include "test.h"

#define CROSS_MOST 300u

static uint8_t cross_seen[CROSS_MOST][CROSS_MOST]; // By entity index.

static void cross_run(orr_query* left, orr_query* right, orr_pairs pairs)
{
    memset(cross_seen, 0, sizeof cross_seen);
    ORR_CROSS (pair, left, right, pairs) {
        for (uint32_t i = 0; i < pair.left.count; i++) {
            for (uint32_t j = orr_cross_from(&pair, i); j < pair.right.count; j++) {
                if (!orr_cross_self(&pair, i, j)) {
                    uint32_t a = (uint32_t)orr_iter_entity(&pair.left, i).id;
                    uint32_t b = (uint32_t)orr_iter_entity(&pair.right, j).id;
                    CHECK(a < CROSS_MOST && b < CROSS_MOST && a != b);
                    cross_seen[a][b]++;
                }
            }
        }
    }
}

static void cross_check(const query_kit* k, orr_query* left, orr_query* right, orr_pairs pairs)
{
    cross_run(left, right, pairs);
    static orr_entity all[CROSS_MOST];
    uint32_t count = query_kit_all(k, all, CROSS_MOST);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < count; j++) {
            uint32_t a = (uint32_t)all[i].id, b = (uint32_t)all[j].id;
            bool forth = i != j && orr_query_has(left, all[i]) && orr_query_has(right, all[j]);
            bool back = i != j && orr_query_has(left, all[j]) && orr_query_has(right, all[i]);
            if (pairs == ORR_PAIRS_ORDERED) {
                CHECK_EQ(cross_seen[a][b], forth);
            } else {
                CHECK_EQ(cross_seen[a][b] + cross_seen[b][a], forth || back);
            }
        }
    }
}

ORR_TEST(cross_products_visit_each_pair_once_or_in_both_orders) /* N4-09 */
{
    uint64_t seed = test_seed();
    for (uint32_t round = 0; round < 30; round++) {
        query_kit k;
        query_kit_begin(&k);
        for (uint32_t step = 0; step < 120; step++) {
            query_kit_change(&k, orr_random(seed, round, step, 11));
        }
        orr_term terms[2][QUERY_KIT_TYPES + 1];
        orr_query* queries[2];
        for (uint32_t q = 0; q < 2; q++) {
            uint32_t count = query_kit_terms(&k, orr_random(seed, round, q, 12), terms[q]);
            queries[q] = orr_query_create(
                k.world, &(orr_query_desc){.terms = terms[q],
                                           .term_count = count,
                                           .entities = round % 2 == 0 ? ORR_EITHER : ORR_ENABLED});
            CHECK(queries[q] != NULL);
        }
        cross_check(&k, queries[0], queries[0], ORR_PAIRS_ONCE);
        cross_check(&k, queries[0], queries[0], ORR_PAIRS_ORDERED);
        cross_check(&k, queries[0], queries[1], ORR_PAIRS_ORDERED);
        uint32_t errors = k.store.errors.count;
        cross_run(queries[0], queries[1], ORR_PAIRS_ONCE);
        if (k.store.errors.count == errors) {
            cross_check(&k, queries[0], queries[1], ORR_PAIRS_ONCE);
        }
        query_kit_end(&k);
    }
}

ORR_TEST(two_overlapping_queries_of_whole_clusters_give_pairs_once)
{
    query_kit k;
    query_kit_begin(&k);
    static const uint32_t sizes[] = {3, 5, 2, 4};
    orr_cluster clusters[] = {
        KIT_CLUSTER(k.world, Position), KIT_CLUSTER(k.world, Position, Velocity),
        KIT_CLUSTER(k.world, Velocity), KIT_CLUSTER(k.world, Position, Velocity, Health)};
    for (uint32_t c = 0; c < 4; c++) {
        CHECK_OK(orr_create_many(k.world, clusters[c], sizes[c], NULL, 0, NULL));
    }
    orr_query* left =
        orr_query_create(k.world, &(orr_query_desc){ORR_TERMS(ORR_R(k.world, Position))});
    orr_query* right =
        orr_query_create(k.world, &(orr_query_desc){ORR_TERMS(ORR_R(k.world, Velocity))});
    cross_check(&k, left, right, ORR_PAIRS_ONCE);
    cross_check(&k, right, left, ORR_PAIRS_ONCE);
    CHECK_EQ(k.store.errors.count, 0);
    query_kit_end(&k);
}

ORR_TEST(cross_product_of_several_chunks_visits_every_pair)
{
    query_kit k;
    query_kit_begin(&k);
    orr_cluster cluster = KIT_CLUSTER(k.world, Position);
    CHECK_OK(orr_create_many(k.world, cluster, 5000, NULL, 0, NULL));
    orr_query* query =
        orr_query_create(k.world, &(orr_query_desc){ORR_TERMS(ORR_W(k.world, Position))});
    uint64_t pairs = 0;
    ORR_CROSS (pair, query, query, ORR_PAIRS_ONCE) {
        CHECK(pair.left.count <= ORR_CHUNK_CAPACITY && pair.right.count <= ORR_CHUNK_CAPACITY);
        for (uint32_t i = 0; i < pair.left.count; i++) {
            pairs += pair.right.count - orr_cross_from(&pair, i);
        }
    }
    CHECK_EQ(pairs, (uint64_t)5000 * 4999 / 2);
    // Left half-way: no iteration stays open.
    ORR_CROSS (pair, query, query, ORR_PAIRS_ORDERED) {
        CHECK_EQ(orr_create(k.world).id, 0);
        break;
    }
    CHECK(orr_create(k.world).id != 0);
    query_kit_end(&k);
}

#undef CROSS_MOST
