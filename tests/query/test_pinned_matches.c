// SPDX-License-Identifier: MIT
// Queries over pinned types: pinned sets follow every add, remove, enable and disable, and every
// move of their entities.
#include "query/query_kit.h"
#include "test.h"

#define WORKING_MOST 4000u

ORR_STRUCT_EX(Body, (.storage = ORR_PINNED), (float, mass), (uint32_t, number))
ORR_STRUCT_EX(Shape, (.storage = ORR_PINNED), (float, radius))

static orr_entity working_expected[WORKING_MOST];

typedef struct pinned_fixture {
    query_kit k;
    orr_type body, shape;
} pinned_fixture;

static void pinned_begin(pinned_fixture* f)
{
    query_kit_begin(&f->k);
    f->body = KIT_TYPE(f->k.world, Body);
    f->shape = KIT_TYPE(f->k.world, Shape);
}

static void pinned_change(pinned_fixture* f, uint64_t random)
{
    query_kit_change(&f->k, random);
    orr_world* world = f->k.world;
    uint32_t count = query_kit_all(&f->k, working_expected, WORKING_MOST);
    if (count == 0) {
        return;
    }
    orr_entity entity = working_expected[(random >> 13) % count];
    orr_type type = random >> 50 & 1 ? f->body : f->shape;
    switch (random >> 52 & 7) {
    case 0:
    case 1:
    case 2:
        CHECK_OK(orr_component_add(world, entity, type));
        break;
    case 3:
        CHECK_OK(orr_component_remove(world, entity, type));
        break;
    case 4:
    case 5:
        if (orr_component_has(world, entity, type)) {
            CHECK_OK(orr_component_enable(world, entity, type, random >> 58 & 1));
        }
        break;
    default:
        break;
    }
}

static void pinned_check(const pinned_fixture* f, orr_query* query, const orr_term* terms,
                         uint32_t term_count)
{
    uint32_t count =
        query_kit_brute(&f->k, terms, term_count, ORR_ENABLED, working_expected, WORKING_MOST);
    uint32_t found = 0;
    ORR_EACH (it, query) {
        for (uint32_t i = 0; i < it.count; i++, found++) {
            CHECK(found < count);
            orr_entity entity = orr_iter_entity(&it, i);
            CHECK_EQ(entity.id, working_expected[found].id);
            CHECK_EQ(orr_read_pinned(&it, Body, i), orr_get(f->k.world, entity, Body));
        }
    }
    CHECK_EQ(found, count);
    CHECK_EQ(orr_query_count(query), count);
}

// Values of types that are not required are added and removed without a change of the pinned set.
ORR_TEST(optional_pinned_values_of_a_pinned_set_are_current)
{
    pinned_fixture f;
    pinned_begin(&f);
    orr_world* world = f.k.world;
    orr_entity entity = orr_create(world);
    CHECK_OK(orr_set(world, entity, Body, {1, 2}));
    orr_query* optional = orr_query_text(world, "Body, ?Shape");
    orr_query* any = orr_query_text(world, "Body, Shape|Position");
    CHECK_OK(orr_set(world, entity, Position, {0, 0, 0}));
    for (uint32_t round = 0; round < 6; round++) {
        ORR_EACH (it, optional) {
            CHECK(orr_read_pinned(&it, Shape, 0) ==
                  (round % 2 == 1 ? orr_get(world, entity, Shape) : NULL));
        }
        ORR_EACH (it, any) {
            CHECK(orr_read_pinned(&it, Shape, 0) ==
                  (round % 2 == 1 ? orr_get(world, entity, Shape) : NULL));
        }
        if (round % 2 == 0) {
            CHECK_OK(orr_set(world, entity, Shape, {3}));
        } else {
            CHECK_OK(orr_remove(world, entity, Shape));
        }
    }
    query_kit_end(&f.k);
}

ORR_TEST(query_over_a_pinned_type_equals_testing_every_entity) /* N4-12 */
{
    uint64_t seed = test_seed();
    for (uint32_t round = 0; round < 30; round++) {
        pinned_fixture f;
        pinned_begin(&f);
        orr_term sets[6][3] = {
            {{.type = f.body}},
            {{.type = f.body}, {.type = f.shape}},
            {{.type = f.body}, {.type = f.shape, .kind = ORR_WITHOUT}, {.type = f.k.types[0]}},
            {{.type = f.body, .kind = ORR_OPTIONAL}, {.type = f.shape, .kind = ORR_WITHOUT}},
            {{.type = f.body, .state = ORR_DISABLED}, {.type = f.k.types[1], .kind = ORR_WITHOUT}},
            {{.type = f.body, .kind = ORR_ANY}, {.type = f.k.types[2], .kind = ORR_ANY}}};
        static const uint32_t counts[6] = {1, 2, 3, 2, 2, 2};
        orr_query* queries[6] = {0};
        for (uint32_t step = 0; step < 200; step++) {
            uint64_t random = orr_random(seed, round, step, 31);
            pinned_change(&f, random);
            uint32_t q = (uint32_t)(random >> 5) % 6;
            if (queries[q] == NULL) {
                queries[q] = orr_query_create(
                    f.k.world, &(orr_query_desc){.terms = sets[q], .term_count = counts[q]});
                CHECK(queries[q] != NULL);
            }
            pinned_check(&f, queries[q], sets[q], counts[q]);
        }
        query_kit_end(&f.k);
    }
}

ORR_TEST(pinned_values_are_written_through_a_write_term_and_stamped)
{
    pinned_fixture f;
    pinned_begin(&f);
    orr_world* world = f.k.world;
    orr_entity made[100];
    for (uint32_t i = 0; i < 100; i++) {
        made[i] = orr_create(world);
        orr_add(world, made[i], Position);
        if (i % 3 == 0) {
            orr_set(world, made[i], Body, {1, i});
        }
    }
    orr_query* query = orr_query_text(world, "write Body, write Position");
    CHECK(query != NULL);
    uint64_t hash = orr_world_hash(world);
    uint32_t rows = 0;
    ORR_EACH (it, query) {
        Position* p = orr_write(&it, Position);
        for (uint32_t i = 0; i < it.count; i++, rows++) {
            Body* body = orr_write_pinned(&it, Body, i);
            body->mass += 1;
            p[i].x = (float)body->number;
        }
    }
    CHECK_EQ(rows, 34);
    CHECK(orr_world_hash(world) != hash);
    for (uint32_t i = 0; i < 100; i += 3) {
        CHECK_EQ(orr_get(world, made[i], Body)->mass, 2);
        CHECK_EQ(orr_get(world, made[i], Position)->x, i);
    }
    query_kit_end(&f.k);
}

#undef WORKING_MOST
