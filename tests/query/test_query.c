// SPDX-License-Identifier: MIT
// Entities of a query and their order, compared with the result of testing every entity.
#include "query_kit.h"
#include "store/cow/share.h"
#include "test.h"

#define QUERY_MOST 20000u

static orr_entity query_expected[QUERY_MOST], query_found[QUERY_MOST];

// Compares all ways to read a query with the expected list.
static void query_check(orr_query* query, const orr_entity* expected, uint32_t count)
{
    uint32_t found = 0;
    ORR_EACH (it, query) {
        CHECK(it.count > 0);
        orr_iter_entities(&it, query_found + found);
        found += it.count;
    }
    CHECK_EQ(found, count);
    for (uint32_t i = 0; i < count && i < found; i++) {
        CHECK_EQ(query_found[i].id, expected[i].id);
    }
    CHECK_EQ(orr_query_count(query), count);
    CHECK_EQ(orr_query_first(query).id, count > 0 ? expected[0].id : 0);
    CHECK_EQ(orr_query_at(query, count).id, 0);
    if (count > 0) {
        CHECK_EQ(orr_query_at(query, count - 1).id, expected[count - 1].id);
        CHECK_EQ(orr_query_at(query, count / 2).id, expected[count / 2].id);
        CHECK(orr_query_has(query, expected[count / 3]));
    }
}

static orr_query* query_of(const query_kit* k, const orr_term* terms, uint32_t count,
                           orr_enable_state entities)
{
    orr_query* query = orr_query_create(
        k->world, &(orr_query_desc){.terms = terms, .term_count = count, .entities = entities});
    CHECK(query != NULL);
    return query;
}

// ---- by hand ------------------------------------------------------------------------------------

ORR_TEST(
    required_subtractive_optional_and_empty_terms_select_as_specified) /* N0-21 N0-22 N0-23 N0-25 */
{
    query_kit k;
    query_kit_begin(&k);
    orr_entity a = orr_create(k.world), b = orr_create(k.world), c = orr_create(k.world);
    orr_set(k.world, a, Position, {1, 0, 0});
    orr_set(k.world, b, Position, {2, 0, 0});
    orr_set(k.world, b, Velocity, {5, 0});
    orr_set(k.world, c, Position, {3, 0, 0});
    orr_add(k.world, c, Frozen);
    orr_query* all = orr_query_create(k.world, NULL);
    query_check(all, (orr_entity[]){a, b, c}, 3);
    orr_query* position =
        orr_query_create(k.world, &(orr_query_desc){ORR_TERMS(ORR_R(k.world, Position))});
    query_check(position, (orr_entity[]){a, b, c}, 3);
    orr_query* both = orr_query_create(
        k.world, &(orr_query_desc){ORR_TERMS(ORR_R(k.world, Position), ORR_R(k.world, Velocity))});
    query_check(both, &b, 1);
    orr_query* thawed =
        orr_query_create(k.world, &(orr_query_desc){ORR_TERMS(ORR_NOT(k.world, Frozen))});
    query_check(thawed, (orr_entity[]){a, b}, 2);
    orr_query* optional = orr_query_create(
        k.world,
        &(orr_query_desc){ORR_TERMS(ORR_W(k.world, Position), ORR_OPT(k.world, Velocity))});
    uint32_t with = 0, without = 0;
    ORR_EACH (it, optional) {
        Position* p = orr_write(&it, Position);
        const Velocity* v = orr_read(&it, Velocity);
        for (uint32_t i = 0; i < it.count; i++) {
            p[i].y = v != NULL ? v[i].x : -1;
            *(v != NULL ? &with : &without) += 1;
        }
    }
    CHECK_EQ(with, 1);
    CHECK_EQ(without, 2);
    CHECK_EQ(orr_get(k.world, b, Position)->y, 5);
    CHECK_EQ(orr_get(k.world, c, Position)->y, -1);
    query_kit_end(&k);
}

ORR_TEST(entity_enters_and_leaves_a_query_by_its_components_alone) /* N1-01 N4-02 */
{
    query_kit k;
    query_kit_begin(&k);
    orr_query* query = orr_query_create(
        k.world, &(orr_query_desc){ORR_TERMS(ORR_R(k.world, Position), ORR_R(k.world, Velocity))});
    orr_entity a = orr_create(k.world);
    orr_add(k.world, a, Position);
    query_check(query, NULL, 0);
    orr_add(k.world, a, Velocity);
    query_check(query, &a, 1);
    CHECK_EQ(orr_query_single(query).id, a.id);
    orr_remove(k.world, a, Position);
    query_check(query, NULL, 0);
    CHECK_EQ(orr_query_single(query).id, 0);
    CHECK_CONTAINS(k.store.errors.text, "matches 0 entities");
    query_kit_end(&k);
}

// ---- comparison with testing every entity -------------------------------------------------------

ORR_TEST(queries_equal_testing_every_entity) /* N4-08 */
{
    uint64_t seed = test_seed();
    for (uint32_t round = 0; round < (test_long() ? 200u : 20u); round++) {
        query_kit k;
        query_kit_begin(&k);
        orr_term terms[12][QUERY_KIT_TYPES + 1];
        uint32_t counts[12];
        orr_enable_state states[12];
        orr_query* queries[12] = {0};
        for (uint32_t step = 0; step < 400; step++) {
            uint64_t random = orr_random(seed, round, step, 1);
            query_kit_change(&k, random);
            uint32_t q = (uint32_t)(random >> 33) % 12;
            if (queries[q] == NULL || random >> 60 == 0) {
                orr_query_destroy(queries[q]);
                counts[q] = query_kit_terms(&k, orr_random(seed, round, step, 2), terms[q]);
                states[q] = (orr_enable_state)((random >> 45) % 8 < 3 ? (random >> 45) % 3 : 0);
                queries[q] = query_of(&k, terms[q], counts[q], states[q]);
            }
            uint32_t count =
                query_kit_brute(&k, terms[q], counts[q], states[q], query_expected, QUERY_MOST);
            query_check(queries[q], query_expected, count);
        }
        query_kit_end(&k);
    }
}

ORR_TEST(sets_equal_testing_every_entity) /* N4-08 */
{
    uint64_t seed = test_seed();
    for (uint32_t round = 0; round < (test_long() ? 400u : 40u); round++) {
        query_kit k;
        query_kit_begin(&k);
        orr_term terms[3][QUERY_KIT_TYPES + 1];
        uint32_t counts[3];
        for (uint32_t step = 0; step < 100; step++) {
            query_kit_change(&k, orr_random(seed, round, step, 3));
        }
        orr_query* leaf[3];
        for (uint32_t q = 0; q < 3; q++) {
            counts[q] = query_kit_terms(&k, orr_random(seed, round, q, 4), terms[q]);
            leaf[q] = query_of(&k, terms[q], counts[q], ORR_ENABLED);
        }
        orr_set_kind first = (orr_set_kind)(1 + round % 3),
                     second = (orr_set_kind)(1 + round / 3 % 3);
        orr_query* pair = orr_query_create(
            k.world, &(orr_query_desc){.set = first, .left = leaf[0], .right = leaf[1]});
        orr_query* all = orr_query_create(
            k.world, &(orr_query_desc){.set = second, .left = pair, .right = leaf[2]});
        CHECK(pair != NULL && all != NULL);
        orr_query_destroy(leaf[0]); // A set has its own copies.
        orr_query_destroy(pair);
        for (uint32_t step = 0; step < 30; step++) {
            query_kit_change(&k, orr_random(seed, round, step, 5));
            uint32_t count = query_kit_all(&k, query_expected, QUERY_MOST), kept = 0;
            for (uint32_t i = 0; i < count; i++) {
                bool in[3];
                for (uint32_t q = 0; q < 3; q++) {
                    in[q] =
                        query_kit_matches(&k, query_expected[i], terms[q], counts[q], ORR_ENABLED);
                }
                bool ab = first == ORR_UNION          ? in[0] || in[1]
                          : first == ORR_INTERSECTION ? in[0] && in[1]
                                                      : in[0] && !in[1];
                bool abc = second == ORR_UNION          ? ab || in[2]
                           : second == ORR_INTERSECTION ? ab && in[2]
                                                        : ab && !in[2];
                if (abc) {
                    query_expected[kept++] = query_expected[i];
                }
            }
            query_check(all, query_expected, kept);
        }
        query_kit_end(&k);
    }
}

// ---- spans --------------------------------------------------------------------------------------

ORR_TEST(many_chunks_come_as_runs_with_every_row_once) /* N3-03 N4-17 */
{
    query_kit k;
    query_kit_begin(&k);
    orr_cluster cluster = KIT_CLUSTER(k.world, Position, Velocity);
    static orr_entity made[15000];
    CHECK_OK(orr_create_many(k.world, cluster, 15000, NULL, 0, made));
    orr_query* query = orr_query_create(
        k.world, &(orr_query_desc){ORR_TERMS(ORR_W(k.world, Position), ORR_W(k.world, Velocity))});
    uint32_t row = 0, runs = 0;
    ORR_EACH (it, query) {
        Position* p = orr_write(&it, Position);
        Velocity* v = orr_write(&it, Velocity);
        for (uint32_t i = 0; i < it.count; i++, row++) {
            p[i].x = (float)row;
            v[i].x = (float)row * 2;
            CHECK_EQ(orr_iter_entity(&it, i).id, made[row].id);
        }
        runs++;
    }
    CHECK_EQ(row, 15000);
    CHECK_EQ(runs, 8); // One run per chunk, independent of memory addresses.
    for (uint32_t i = 0; i < 15000; i++) {
        CHECK_EQ(orr_get(k.world, made[i], Position)->x, i);
        CHECK_EQ(orr_get(k.world, made[i], Velocity)->x, 2 * i);
    }
    query_check(query, made, 15000);
    query_kit_end(&k);
}

ORR_TEST(write_term_stamps_requested_blocks_only)
{
    query_kit k;
    query_kit_begin(&k);
    orr_cluster cluster = KIT_CLUSTER(k.world, Position, Velocity);
    CHECK_OK(orr_create_many(k.world, cluster, 5000, NULL, 0, NULL));
    orr_query* query = orr_query_create(
        k.world, &(orr_query_desc){ORR_TERMS(ORR_W(k.world, Position), ORR_W(k.world, Velocity))});
    orr_tick_advance(k.world);
    orr_tick_advance(k.world);
    ORR_EACH (it, query) {
        (void)orr_write(&it, Position);
        (void)orr_read(&it, Velocity);
    }
    for (uint32_t chunk = 0; chunk < 3; chunk++) {
        CHECK_EQ(orr_column_tick(k.world, cluster, chunk, k.types[0]), 2);
        CHECK_EQ(orr_column_tick(k.world, cluster, chunk, k.types[1]), 0);
    }
    query_kit_end(&k);
}

// The same history, once by loops and once by raw columns.
static uint64_t query_history(bool by_query)
{
    query_kit k;
    query_kit_begin(&k);
    orr_cluster clusters[] = {KIT_CLUSTER(k.world, Position),
                              KIT_CLUSTER(k.world, Position, Velocity),
                              KIT_CLUSTER(k.world, Position, Health)};
    for (uint32_t c = 0; c < 3; c++) {
        CHECK_OK(orr_create_many(k.world, clusters[c], 3000 * c + 5, NULL, 0, NULL));
    }
    orr_query* query = orr_query_create(
        k.world,
        &(orr_query_desc){ORR_TERMS(ORR_W(k.world, Position), ORR_OPT(k.world, Velocity))});
    for (uint32_t tick = 0; tick < 12; tick++) {
        orr_tick_advance(k.world);
        if (by_query) {
            ORR_EACH (it, query) {
                if (orr_read(&it, Velocity) != NULL || tick % 3 != 0) {
                    orr_write(&it, Position)[0].x += 1;
                }
            }
        }
        for (uint32_t c = 0; !by_query && c < 3; c++) {
            for (uint32_t chunk = 0; chunk < kit_info(k.world, clusters[c]).chunk_count; chunk++) {
                if (c == 1 || tick % 3 != 0) {
                    Position* p = orr_column_write(k.world, clusters[c], chunk, k.types[0]);
                    p[0].x += 1;
                }
            }
        }
        if (tick % 4 == 1) { // Structural changes while stamps are deferred.
            CHECK(orr_create_in(k.world, clusters[tick % 3]).id != 0);
        }
    }
    uint64_t hash = orr_world_hash(k.world);
    query_kit_end(&k);
    return hash;
}

ORR_TEST(deferred_stamps_equal_immediate_stamps)
{
    CHECK_EQ(query_history(true), query_history(false));
}

// A list of spans stores the addresses of columns. Writing to a shared block replaces the block
// although no row moves.
ORR_TEST(span_list_follows_a_shared_block_that_was_copied)
{
    query_kit k;
    query_kit_begin(&k);
    orr_cluster cluster = KIT_CLUSTER(k.world, Position);
    orr_entity entity = orr_create_in(k.world, cluster);
    orr_query* query = orr_query_text(k.world, "write Position");
    ORR_EACH (it, query) {
        orr_write(&it, Position)->x = 1;
    }
    orri_share* held = orri_share_column(k.world, orri_cluster_at(k.world, cluster)->chunks[0], 0,
                                         ORRI_SHARE_FROZEN);
    CHECK(held != NULL);
    CHECK_OK(orr_set(k.world, entity, Position, {2, 0, 0}));
    orri_share_release(k.world, held);
    ORR_EACH (it, query) {
        CHECK(orr_read(&it, Position) == orr_get(k.world, entity, Position));
        CHECK(orr_write(&it, Position)->x == 2);
    }
    query_kit_end(&k);
}

ORR_TEST(changed_terms_without_a_mark_match_all)
{
    query_kit k;
    query_kit_begin(&k);
    orr_entity plain = orr_create_in(k.world, KIT_CLUSTER(k.world, Position));
    orr_entity moving = orr_create_in(k.world, KIT_CLUSTER(k.world, Position, Velocity));
    orr_query* query = orr_query_text(k.world, "Position, ?changed Velocity");
    CHECK_EQ(orr_query_count(query), 2);
    CHECK_EQ(orr_query_at(query, 0).id, plain.id);
    CHECK_EQ(orr_query_at(query, 1).id, moving.id);
    CHECK_OK(orr_query_add(query, k.types[2], NULL)); // For both.
    CHECK(orr_component_has(k.world, plain, k.types[2]));
    CHECK_OK(orr_query_destroy_entities(query));
    CHECK_EQ(orr_entity_count(k.world), 0);
    query_kit_end(&k);
}

ORR_TEST(changed_terms_give_blocks_written_since_the_mark)
{
    query_kit k;
    query_kit_begin(&k);
    orr_cluster cluster = KIT_CLUSTER(k.world, Position);
    static orr_entity made[9000];
    CHECK_OK(orr_create_many(k.world, cluster, 9000, NULL, 0, made));
    orr_term term = {.type = k.types[0], .changed = true};
    orr_query* query = query_of(&k, &term, 1, ORR_ENABLED);
    uint32_t rows = 0;
    ORR_EACH (it, query) {
        rows += it.count;
    }
    CHECK_EQ(rows, 9000);
    uint64_t mark = orr_change_mark(k.world);
    ORR_EACH_OF (it, query, .since = mark) {
        CHECK(false);
    }
    orr_set(k.world, made[5000], Position, {7, 7, 7});
    rows = 0;
    ORR_EACH_OF (it, query, .since = mark) {
        CHECK_EQ(orr_iter_entity(&it, 0).id, made[4096].id);
        rows += it.count;
    }
    CHECK_EQ(rows, 2048);
    mark = orr_change_mark(k.world);
    (void)orr_world_hash(k.world);
    orr_tick_advance(k.world);
    ORR_EACH_OF (it, query, .since = mark) {
        CHECK(false);
    }
    query_kit_end(&k);
}

// A random change of one chunk: of a value, an enable bit of a value or one of an entity. Returns
// true if "changed Position, ?changed Velocity" asks for it.
static bool query_change_chunk(query_kit* k, orr_cluster cluster, uint32_t chunk,
                               const orr_entity* made, uint64_t random)
{
    orr_entity entity = made[chunk * ORR_CHUNK_CAPACITY + (random >> 8) % ORR_CHUNK_CAPACITY];
    switch (random % 6) {
    case 0:
        orr_set(k->world, entity, Position, {1, 2, 3});
        return true;
    case 1:
        return orr_column_write(k->world, cluster, chunk, k->types[1]) != NULL;
    case 2:
        orr_set(k->world, entity, Health, {9, 0});
        return false;
    case 3:
        CHECK_OK(orr_enable(k->world, entity, Velocity,
                            !orr_component_enabled(k->world, entity, k->types[1])));
        return true;
    case 4:
        CHECK_OK(orr_entity_enable(k->world, entity, !orr_entity_enabled(k->world, entity)));
        return true;
    default:
        (void)orr_get(k->world, entity, Position);
        return false;
    }
}

ORR_TEST(changed_terms_find_exactly_the_written_chunks_of_many)
{
    enum {
        CHUNKS = 40
    };
    static orr_entity made[CHUNKS * ORR_CHUNK_CAPACITY];
    query_kit k;
    query_kit_begin(&k);
    orr_cluster cluster = KIT_CLUSTER(k.world, Position, Velocity, Health);
    CHECK_OK(orr_create_many(k.world, cluster, CHUNKS * ORR_CHUNK_CAPACITY, NULL, 0, made));
    orr_term terms[] = {
        {.type = k.types[0], .changed = true},
        {.type = k.types[1], .kind = ORR_OPTIONAL, .changed = true, .state = ORR_EITHER},
        {.type = k.types[3], .kind = ORR_OPTIONAL, .changed = true}};
    orr_query* query = query_of(&k, terms, 3, ORR_EITHER);
    for (uint32_t round = 0; round < 60; round++) {
        bool written[CHUNKS] = {false};
        uint64_t mark = orr_change_mark(k.world), random = orr_random(test_seed(), round, 0, 41);
        for (uint32_t i = (uint32_t)random % (2 * CHUNKS); i > 0; i--) {
            uint64_t change = orr_random(random, i, 0, 42);
            // In the first rounds there are no enable bits.
            change = round < 20 ? change - change % 6 + change % 3 : change;
            uint32_t chunk = (uint32_t)(change >> 40) % CHUNKS;
            written[chunk] |= query_change_chunk(&k, cluster, chunk, made, change);
        }
        uint32_t next = 0;
        ORR_EACH_OF (it, query, .since = mark) {
            while (next < CHUNKS && !written[next]) {
                next++;
            }
            CHECK(next < CHUNKS);
            CHECK_EQ(orr_iter_entity(&it, 0).id, made[next++ * ORR_CHUNK_CAPACITY].id);
            CHECK_EQ(it.count, ORR_CHUNK_CAPACITY);
        }
        while (next < CHUNKS) {
            CHECK(!written[next++]);
        }
    }
    query_kit_end(&k);
}

static uint32_t query_asserts;

static void query_count_assert(const char* condition, const char* file, int line,
                               const char* function)
{
    (void)file, (void)line, (void)function;
    query_asserts += strstr(condition, "refused") != NULL;
}

ORR_TEST(loop_over_a_refused_query_reports_an_error_and_runs_no_round)
{
    query_asserts = 0;
    orr_assert_handler before = orr_assert_handler_set(query_count_assert);
    ORR_EACH (it, NULL) {
        CHECK(false);
    }
    orr_assert_handler_set(before);
#ifndef ORR_NO_ASSERT
    CHECK_EQ(query_asserts, 1);
#endif
}

static bool query_changes_structure(void* user, const orr_world* world, orr_cluster cluster)
{
    (void)cluster;
    orr_world* own = (orr_world*)(uintptr_t)world;
    orr_result* result = user;
    *result = orr_cluster_delete(own, cluster);
    return orr_create(own).id == 0;
}

ORR_TEST(structure_is_refused_in_a_predicate)
{
    query_kit k;
    query_kit_begin(&k);
    orr_entity a = orr_create(k.world);
    orr_add(k.world, a, Position);
    orr_result result = ORR_OK;
    orr_query* query = orr_query_create(
        k.world, &(orr_query_desc){ORR_TERMS(ORR_R(k.world, Position)),
                                   .predicate = query_changes_structure, .user = &result});
    CHECK_EQ(result, ORR_ERR_STATE);
    query_check(query, &a, 1);
    query_kit_end(&k);
}

static const orr_field_desc query_alias_fields[] = {
    {.name = "x", .type = ORR_TYPE(int32_t)},
    {.name = "y", .type = ORR_TYPE(int32_t), .offset = 4}};
static const orr_type_desc query_alias = {
    .name = "Velocity", .size = 8, .align = 4, .fields = query_alias_fields, .field_count = 2};

static void query_ignore_assert(const char* condition, const char* file, int line,
                                const char* function)
{
    (void)condition, (void)file, (void)line, (void)function;
}

ORR_TEST(loop_gives_no_column_for_another_layout_or_after_its_tick)
{
    query_kit k;
    query_kit_begin(&k);
    orr_entity a = orr_create(k.world);
    orr_add(k.world, a, Velocity);
    orr_query* query =
        orr_query_create(k.world, &(orr_query_desc){ORR_TERMS(ORR_W(k.world, Velocity))});
    orr_assert_handler before = orr_assert_handler_set(query_ignore_assert);
    ORR_EACH (it, query) {
        CHECK(orr_write(&it, Velocity) != NULL);
        CHECK(orr_iter_read(&it, &query_alias) == NULL);
        CHECK_CONTAINS(k.store.errors.text, "another layout");
        orr_tick_advance(k.world);
        CHECK(orr_write(&it, Velocity) == NULL);
        CHECK(orr_read(&it, Velocity) == NULL);
    }
    orr_assert_handler_set(before);
    uint32_t runs = 0;
    ORR_EACH_OF (it, query, .only_group = true, .group = 7) {
        runs++; // Without group_by all runs belong to group 0.
    }
    CHECK_EQ(runs, 0);
    ORR_CROSS (pair, query, query, (orr_pairs)7) {
        runs++;
    }
    CHECK_EQ(runs, 0);
    CHECK_CONTAINS(k.store.errors.text, "orr_pairs");
    query_kit_end(&k);
}

ORR_TEST(disabling_and_enabling_is_a_change)
{
    query_kit k;
    query_kit_begin(&k);
    orr_entity a = orr_create(k.world);
    orr_add(k.world, a, Health);
    orr_term term = {.type = k.types[2], .changed = true, .state = ORR_EITHER};
    orr_query* query = query_of(&k, &term, 1, ORR_EITHER);
    for (uint32_t round = 0; round < 4; round++) {
        uint64_t mark = orr_change_mark(k.world);
        ORR_EACH_OF (it, query, .since = mark) {
            CHECK(false);
        }
        CHECK_OK(round < 2 ? orr_enable(k.world, a, Health, round == 1)
                           : orr_entity_enable(k.world, a, round == 3));
        uint32_t rows = 0;
        ORR_EACH_OF (it, query, .since = mark) {
            rows += it.count;
        }
        CHECK_EQ(rows, 1);
    }
    query_kit_end(&k);
}

ORR_TEST(disabled_rows_are_skipped_few_or_many)
{
    static const uint32_t steps[] = {4999, 1500, 97, 13, 2, 1};
    for (uint32_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
        query_kit k;
        query_kit_begin(&k);
        static orr_entity made[5000];
        CHECK_OK(orr_create_many(k.world, KIT_CLUSTER(k.world, Position), 5000, NULL, 0, made));
        orr_term term = {.type = k.types[0], .access = ORR_WRITE};
        orr_query* query = query_of(&k, &term, 1, ORR_ENABLED);
        query_check(query, made, 5000);
        uint32_t left = 0;
        for (uint32_t i = 0; i < 5000; i++) {
            if (i % steps[s] == 0) {
                CHECK_OK(orr_enable(k.world, made[i], Position, false));
            } else {
                query_expected[left++] = made[i];
            }
        }
        query_check(query, query_expected, left);
        query_check(query, query_expected, left); // Again, from the cache.
        ORR_EACH (it, query) {
            Position* p = orr_write(&it, Position);
            for (uint32_t i = 0; i < it.count; i++) {
                p[i].x += 1;
            }
        }
        for (uint32_t i = 0; i < 5000; i++) {
            CHECK_EQ(orr_get(k.world, made[i], Position)->x, i % steps[s] != 0);
            CHECK_OK(orr_enable(k.world, made[i], Position, true));
        }
        query_check(query, made, 5000);
        query_kit_end(&k);
    }
}

// ---- access checks ------------------------------------------------------------------------------

ORR_TEST(structure_is_refused_during_a_loop_with_advice_and_allowed_after_break)
{
    query_kit k;
    query_kit_begin(&k);
    orr_entity a = orr_create(k.world), b = orr_create(k.world);
    orr_add(k.world, a, Position);
    orr_add(k.world, b, Position);
    orr_query* query =
        orr_query_create(k.world, &(orr_query_desc){ORR_TERMS(ORR_W(k.world, Position))});
    uint64_t hash = orr_world_hash(k.world);
    ORR_EACH (it, query) {
        CHECK_EQ(orr_create(k.world).id, 0);
        CHECK_EQ(orr_destroy(k.world, a), ORR_ERR_STATE);
        CHECK_CONTAINS(k.store.errors.text, "orr_query_destroy_entities");
        CHECK_EQ(orr_add(k.world, a, Velocity), ORR_ERR_STATE);
        CHECK_EQ(orr_remove(k.world, a, Position), ORR_ERR_STATE);
        CHECK_EQ(orr_tag_add(k.world, a, 4), ORR_ERR_STATE);
        CHECK_EQ(orr_enable(k.world, a, Position, false), ORR_ERR_STATE);
        CHECK_EQ(orr_entity_enable(k.world, a, false), ORR_ERR_STATE);
        CHECK_EQ(orr_query_add(query, k.types[1], NULL), ORR_ERR_STATE);
        CHECK_EQ(orr_query_destroy_entities(query), ORR_ERR_STATE);
        orr_query_destroy(query); // Refused.
        CHECK(orr_get(k.world, b, Position) != NULL);
        ORR_EACH (inner, query) { // Nested.
            CHECK_EQ(inner.count, 2);
            break;
        }
        CHECK_EQ(orr_destroy(k.world, a), ORR_ERR_STATE);
        break;
    }
    CHECK_EQ(orr_world_hash(k.world), hash);
    CHECK_OK(orr_destroy(k.world, a));
    query_check(query, &b, 1);
    query_kit_end(&k);
}

static bool query_left_by_return(orr_query* query)
{
    ORR_EACH (it, query) {
        return it.count > 0;
    }
    return false;
}

ORR_TEST(iteration_abandoned_leaks_nothing)
{
    query_kit k;
    query_kit_begin(&k);
    orr_entity a = orr_create(k.world);
    orr_add(k.world, a, Position);
    orr_query* query =
        orr_query_create(k.world, &(orr_query_desc){ORR_TERMS(ORR_W(k.world, Position))});
    orr_memory_stats before, after;
    CHECK(query_left_by_return(query)); // The query caches where rows are.
    orr_world_memory_get(k.world, &before);
    for (uint32_t i = 0; i < 100; i++) {
        CHECK(query_left_by_return(query));
    }
    orr_world_memory_get(k.world, &after);
    CHECK_EQ(after.total.bytes, before.total.bytes);
    CHECK_OK(orr_add(k.world, a, Velocity));
    // Opened by hand and never ended: the next tick ends it.
    orr_iter it;
    orr_iter_begin(&it, query, NULL);
    CHECK(orr_iter_next(&it));
    CHECK_EQ(orr_remove(k.world, a, Velocity), ORR_ERR_STATE);
    CHECK_CONTAINS(k.store.errors.text, "orr_iter_end");
    orr_tick_advance(k.world);
    CHECK_OK(orr_remove(k.world, a, Velocity));
    CHECK(!orr_iter_next(&it));
    orr_iter_end(&it);
    orr_iter_end(&it);
    CHECK_OK(orr_destroy(k.world, a));
    query_kit_end(&k);
}

#undef QUERY_MOST
