// SPDX-License-Identifier: MIT
// Changes of all matching entities in one call, and pairs of all matching entities.
#include "model/ops_query.h"

#include "test.h"

#include <stdlib.h>

#define PAIRS_MOST 6000u

static _Alignas(64) uint8_t world_value[OPS_VALUE_MAX];
static _Alignas(64) uint8_t model_value[OPS_VALUE_MAX];

// ---- bulk changes -------------------------------------------------------------------------------

// Mostly queries that match a part of the world: with all of it a run would soon be over.
static ops_query* bulk_pick(ops* s, ops_answer* expected)
{
    ops_query* q = ops_query_pick(s);
    if (q == NULL || s->shape->separate) {
        return NULL;
    }
    ops_answer_make(s, &q->spec, NULL, expected);
    (void)orr_query_print(q->query, model_at.detail, sizeof model_at.detail);
    if (expected->count > s->shape->batch_max / 2 && !ops_chance(s, 12)) {
        ops_answer_free(expected);
        return NULL;
    }
    return q;
}

// Rather often a type that needs others: then several clusters may move to one.
static uint32_t bulk_pick_type(ops* s)
{
    uint32_t type = ops_pick_type(s);
    for (uint32_t tries = 0; tries < 8 && s->oracle.types[type].needs_count == 0; tries++) {
        type = ops_chance(s, 2) ? ops_pick_type(s) : type;
    }
    return type;
}

static void op_query_add(ops* s)
{
    ops_answer expected;
    ops_query* q = bulk_pick(s, &expected);
    uint32_t type = bulk_pick_type(s);
    if (q == NULL) {
        return;
    }
    bool given = ops_chance(s, 2) && ops_make(s, type, world_value, model_value);
    if (!ops_refused(
            s, orr_query_add(q->query, s->oracle.types[type].type, given ? world_value : NULL))) {
        for (uint32_t i = 0; i < expected.count; i++) {
            oracle_entity* entity = expected.list[i].entity;
            if (oracle_component_of(entity, type) == NULL) {
                oracle_component_add(&s->oracle, entity, type);
                if (given) {
                    oracle_component_set(&s->oracle, entity, type, model_value);
                }
            }
        }
        s->oracle.structure++;
    }
    ops_answer_free(&expected);
    ops_query_compare(s, q);
}

static void op_query_remove(ops* s)
{
    ops_answer expected;
    ops_query* q = bulk_pick(s, &expected);
    if (q == NULL) {
        return;
    }
    const oracle_entity* some =
        expected.count > 0 ? expected.list[ops_below(s, expected.count)].entity : NULL;
    uint32_t type = some != NULL ? ops_pick_type_of(s, some) : ops_pick_type(s);
    orr_result result = orr_query_remove(q->query, s->oracle.types[type].type);
    bool needed = false;
    for (uint32_t i = 0; i < expected.count; i++) {
        oracle_entity* entity = expected.list[i].entity;
        needed |= oracle_component_of(entity, type) != NULL &&
                  oracle_component_needed(&s->oracle, entity, type);
    }
    if (needed) {
        ops_refused_as(s, result, ORR_ERR_STATE);
    } else if (!ops_refused(s, result)) {
        for (uint32_t i = 0; i < expected.count; i++) {
            oracle_component_remove(&s->oracle, expected.list[i].entity, type);
        }
        s->oracle.structure++;
    }
    ops_answer_free(&expected);
    ops_query_compare(s, q);
}

static void op_query_destroy_entities(ops* s)
{
    ops_answer expected;
    ops_query* q = bulk_pick(s, &expected);
    if (q == NULL) {
        return;
    }
    oracle_entity** list = malloc(sizeof *list * (expected.count + 1));
    MODEL_CHECK(list != NULL);
    for (uint32_t i = 0; i < expected.count; i++) {
        list[i] = expected.list[i].entity;
    }
    if (ops_chance(s, s->shape->calm) && !ops_refused(s, orr_query_destroy_entities(q->query))) {
        oracle_destroy_many(&s->oracle, list, expected.count);
    }
    free(list);
    ops_answer_free(&expected);
    ops_query_compare(s, q);
}

// ---- pairs --------------------------------------------------------------------------------------

typedef struct bulk_pair {
    uint64_t a, b;
} bulk_pair;

typedef struct bulk_pairs {
    bulk_pair* list;
    uint32_t count, capacity;
} bulk_pairs;

static int bulk_pair_compare(const void* a, const void* b)
{
    const bulk_pair *x = a, *y = b;
    return x->a != y->a ? (x->a > y->a ? 1 : -1) : (x->b > y->b) - (x->b < y->b);
}

// Each pair once: a pair has no order.
static void bulk_pair_add(bulk_pairs* pairs, orr_entity a, orr_entity b, bool once)
{
    bool swap = once && a.id > b.id;
    pairs->list = oracle_grow(pairs->list, &pairs->capacity, pairs->count + 1, sizeof *pairs->list);
    pairs->list[pairs->count++] = (bulk_pair){swap ? b.id : a.id, swap ? a.id : b.id};
}

static void bulk_pairs_sort(bulk_pairs* pairs, bool distinct)
{
    uint32_t kept = 0;
    if (pairs->count > 0) {
        qsort(pairs->list, pairs->count, sizeof *pairs->list, bulk_pair_compare);
    }
    for (uint32_t i = 0; i < pairs->count; i++) {
        if (!distinct || kept == 0 ||
            bulk_pair_compare(&pairs->list[kept - 1], &pairs->list[i]) != 0) {
            pairs->list[kept++] = pairs->list[i];
        }
    }
    pairs->count = kept;
}

static void bulk_pairs_expect(const ops_answer* left, const ops_answer* right, bool once,
                              bulk_pairs* out)
{
    for (uint32_t i = 0; i < left->count; i++) {
        for (uint32_t k = 0; k < right->count; k++) {
            if (left->list[i].entity != right->list[k].entity) {
                bulk_pair_add(out, left->list[i].entity->id, right->list[k].entity->id, once);
            }
        }
    }
    bulk_pairs_sort(out, once);
}

// False when refused, which is allowed only for unordered pairs of two different queries.
static bool bulk_pairs_visit(ops* s, ops_query* left, ops_query* right, orr_pairs pairs,
                             bulk_pairs* out)
{
    uint32_t errors = s->kit.errors.count;
    ORR_CROSS (pair, left->query, right->query, pairs) {
        for (uint32_t i = 0; i < pair.left.count; i++) {
            orr_entity a = orr_iter_entity(&pair.left, i);
            for (uint32_t k = orr_cross_from(&pair, i); k < pair.right.count; k++) {
                orr_entity b = orr_iter_entity(&pair.right, k);
                MODEL_CHECK(orr_cross_self(&pair, i, k) == (a.id == b.id));
                if (a.id != b.id) {
                    bulk_pair_add(out, a, b, pairs == ORR_PAIRS_ONCE);
                }
            }
        }
        if (ops_chance(s, 200)) {
            out->count = UINT32_MAX; // Left early: nothing to compare, nothing open.
            break;
        }
    }
    if (s->kit.errors.count != errors) {
        MODEL_CHECK(pairs == ORR_PAIRS_ONCE && left != right &&
                    ops_last_result(s) == ORR_ERR_ARGUMENT);
        return false;
    }
    return out->count != UINT32_MAX;
}

static void op_query_cross(ops* s)
{
    ops_separate_begin(s);
    ops_query *left = ops_query_pick(s), *right = ops_chance(s, 2) ? left : ops_query_pick(s);
    if (left != NULL) {
        orr_pairs pairs = ops_chance(s, 2) ? ORR_PAIRS_ONCE : ORR_PAIRS_ORDERED;
        bool once = pairs == ORR_PAIRS_ONCE;
        failing_alloc_arm(&s->kit.memory, 0, false);
        ops_answer a, b;
        ops_answer_make(s, &left->spec, NULL, &a);
        ops_answer_make(s, &right->spec, NULL, &b);
        bulk_pairs expected = {0}, found = {0};
        if ((uint64_t)a.count * b.count <= PAIRS_MOST &&
            bulk_pairs_visit(s, left, right, pairs, &found)) {
            bulk_pairs_expect(&a, &b, once, &expected);
            bulk_pairs_sort(&found, false);
            MODEL_CHECK(found.count == expected.count);
            for (uint32_t i = 0; i < found.count; i++) {
                MODEL_CHECK(bulk_pair_compare(&found.list[i], &expected.list[i]) == 0);
            }
            s->pairs += found.count;
        }
        free(expected.list);
        free(found.list);
        ops_answer_free(&a);
        ops_answer_free(&b);
    }
    ops_separate_end(s);
}

const ops_entry ops_bulk_table[] = {
    {"query_add", 10, op_query_add},
    {"query_remove", 10, op_query_remove},
    {"query_destroy_entities", 2, op_query_destroy_entities},
    {"query_cross", 8, op_query_cross},
    {NULL, 0, NULL},
};
