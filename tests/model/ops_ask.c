// SPDX-License-Identifier: MIT
// Evaluates queries and compares the results with the oracle: counts, single entities, loops with
// all their columns, nested and abandoned loops, and calls that must be refused meanwhile.
#include "model/ops_query.h"

#include "test.h"

#include <stdlib.h>

// ---- columns ------------------------------------------------------------------------------------

// True for types that the inline functions, by desc, support.
static const orr_type_desc* ask_desc(ops* s, uint32_t type)
{
    return type != UINT32_MAX && ops_chance(s, 2) ? s->types[type].desc : NULL;
}

static const void* ask_read(ops* s, orr_iter* it, uint32_t type)
{
    const orr_type_desc* desc = ask_desc(s, type);
    return desc != NULL ? orr_iter_read(it, desc)
                        : orr_iter_read_type(it, s->oracle.types[type].type);
}

static void ask_check_pinned(ops* s, orr_iter* it, uint32_t type, const ops_listed* rows)
{
    for (uint32_t i = 0; type != UINT32_MAX && i < it->count; i++) {
        const void* expected =
            orr_component_has(s->world, rows[i].entity->id, s->oracle.types[type].type)
                ? orr_component_get(s->world, rows[i].entity->id, s->oracle.types[type].type)
                : NULL;
        MODEL_CHECK((expected != NULL) == (oracle_component_of(rows[i].entity, type) != NULL));
        MODEL_CHECK(orr_iter_pinned(it, s->types[type].desc, ORR_READ, i) == expected);
    }
}

static void ask_check_instances(ops* s, orr_iter* it, uint32_t type, const char* column,
                                const ops_listed* rows)
{
    orr_instances n = orr_iter_instances(it, s->types[type].desc);
    size_t size = s->oracle.types[type].world_size;
    MODEL_CHECK((column != NULL) == (n.counts != NULL));
    for (uint32_t i = 0; column != NULL && i < it->count; i++) {
        oracle_component* component = oracle_component_of(rows[i].entity, type);
        MODEL_CHECK(component != NULL && n.counts[i] == component->instance_count);
        oracle_instances_learn(&s->oracle, s->world, rows[i].entity, component);
        for (uint32_t k = 0; k < component->instance_count; k++) {
            MODEL_CHECK(n.ids[i * n.capacity + k] == component->instances[k].id);
            MODEL_CHECK(orr_iter_instance_on(it, &n, i, k) == component->instances[k].on);
            MODEL_CHECK(orr_instance_get(s->world, rows[i].entity->id, s->oracle.types[type].type,
                                         component->instances[k].id) ==
                        column + (i * n.capacity + k) * size);
        }
    }
}

// One field of a run: the value of each row is at the address that the entity's row says.
static void ask_check_field(ops* s, orr_iter* it, ops_field field, const ops_listed* rows)
{
    if (field.type == UINT32_MAX || s->oracle.types[field.type].pinned) {
        ask_check_pinned(s, it, field.type, rows);
        return;
    }
    const oracle_type* type = &s->oracle.types[field.type];
    const char* column = ask_read(s, it, field.type);
    bool there = oracle_component_of(rows[0].entity, field.type) != NULL;
    MODEL_CHECK((column != NULL) == there);
    if (type->multiple) {
        ask_check_instances(s, it, field.type, column, rows);
        return;
    }
    for (uint32_t i = 0; there && type->world_size > 0 && i < it->count; i++) {
        MODEL_CHECK(orr_component_get(s->world, rows[i].entity->id, type->type) ==
                    column + i * type->world_size);
    }
}

// A run: consecutive rows of one cluster, with these entities.
void ops_query_check_run(ops* s, const ops_query* q, orr_iter* it, const ops_listed* rows)
{
    uint32_t row = 0;
    orr_cluster cluster = orr_iter_cluster(it, &row);
    MODEL_CHECK(it->count > 0 && it->count <= ORR_CHUNK_CAPACITY);
    MODEL_CHECK(row / ORR_CHUNK_CAPACITY == (row + it->count - 1) / ORR_CHUNK_CAPACITY);
    for (uint32_t i = 0; i < it->count; i++) {
        MODEL_CHECK(orr_iter_entity(it, i).id == rows[i].entity->id.id);
        MODEL_CHECK(rows[i].cluster.id == cluster.id && rows[i].row == row + i);
    }
    MODEL_CHECK(orr_iter_group(it) == (q->spec.grouped ? ops_group_of(s->world, cluster) : 0));
    ops_field fields[OPS_ASKED_MAX];
    uint32_t count = ops_spec_fields(s, &q->spec, fields);
    for (uint32_t f = 0; f < count; f++) {
        ask_check_field(s, it, fields[f], rows);
    }
}

// ---- calls without a loop -----------------------------------------------------------------------

static void ask_single(ops* s, ops_query* q, const ops_answer* expected)
{
    uint32_t errors = s->kit.errors.count;
    orr_entity single = orr_query_single(q->query);
    if (expected->count == 1) {
        MODEL_CHECK(single.id == expected->list[0].entity->id.id);
        MODEL_CHECK(s->kit.errors.count == errors);
    } else {
        MODEL_CHECK(single.id == 0 && s->kit.errors.count == errors + 1);
    }
}

static void ask_without_loop(ops* s, ops_query* q, const ops_answer* expected)
{
    orr_query* query = q->query;
    uint32_t count = expected->count;
    MODEL_CHECK(orr_query_count(query) == count);
    MODEL_CHECK(orr_query_first(query).id == (count > 0 ? expected->list[0].entity->id.id : 0));
    MODEL_CHECK(orr_query_at(query, count).id == 0);
    ask_single(s, q, expected);
    orr_entity some[7];
    uint32_t first = ops_below(s, count + 1);
    uint32_t written = (uint32_t)orr_query_entities(query, first, some, 7);
    MODEL_CHECK(written == (count - first < 7 ? count - first : 7));
    for (uint32_t i = 0; i < written; i++) {
        MODEL_CHECK(some[i].id == expected->list[first + i].entity->id.id);
        MODEL_CHECK(orr_query_has(query, some[i]));
        MODEL_CHECK(orr_query_at(query, first + i).id == some[i].id);
    }
    const ops_answer* all = ops_listing(s);
    for (uint32_t i = 0; i < 8 && all->count > 0; i++) {
        const ops_listed* listed = &all->list[ops_below(s, all->count)];
        MODEL_CHECK(orr_query_has(query, listed->entity->id) ==
                    ops_spec_matches(s, &q->spec, listed));
    }
    if (s->oracle.dead_count > 0) {
        MODEL_CHECK(
            !orr_query_has(query, s->oracle.dead[(s->oracle.dead_count - 1) % ORACLE_DEAD_MAX]));
    }
}

// ---- loops --------------------------------------------------------------------------------------

static void ask_loop(ops* s, ops_query* q, const ops_answer* expected)
{
    uint32_t done = 0;
    ORR_EACH (it, q->query) {
        MODEL_CHECK(done + it.count <= expected->count);
        ops_query_check_run(s, q, &it, expected->list + done);
        done += it.count;
    }
    MODEL_CHECK(done == expected->count);
    s->matched += done;
}

// Without group_by all clusters are in group 0.
static uint64_t ask_group_of(ops* s, const ops_query* q, const ops_answer* expected, uint32_t at)
{
    return q->spec.grouped ? ops_group_of(s->world, expected->list[at].cluster) : 0;
}

// Only clusters of one key, in the same order as among all.
static void ask_one_group(ops* s, ops_query* q, const ops_answer* expected)
{
    uint64_t group = 3 + ops_below(s, 3);
    uint32_t at = 0;
    ORR_EACH_OF (it, q->query, .only_group = true, .group = group) {
        for (uint32_t i = 0; i < it.count; i++) {
            while (at < expected->count && ask_group_of(s, q, expected, at) != group) {
                at++;
            }
            MODEL_CHECK(at < expected->count &&
                        orr_iter_entity(&it, i).id == expected->list[at].entity->id.id);
            at++;
        }
    }
    while (at < expected->count && ask_group_of(s, q, expected, at) != group) {
        at++;
    }
    MODEL_CHECK(at == expected->count);
}

// True if some row of an entity's chunk was written since.
static bool ask_chunk_written(const ops_answer* written, const ops_listed* listed)
{
    for (uint32_t i = 0; i < written->count; i++) {
        const ops_listed* other = &written->list[i];
        if (other->cluster.id == listed->cluster.id &&
            other->row / ORR_CHUNK_CAPACITY == listed->row / ORR_CHUNK_CAPACITY) {
            return true;
        }
    }
    return false;
}

// Everything that the oracle knows to be written since the mark must be returned, in order. If
// nothing moved and nothing was refused since, only rows of the same chunks may be returned in
// addition.
static void ask_changed(ops* s, ops_query* q, const ops_answer* expected)
{
    ops_answer must, written;
    ops_answer_make(s, &q->spec, &q->clock, &must);
    // Rows that do not match mark their chunk as written too.
    ops_spec all = q->spec;
    all.entities = ORR_EITHER;
    all.predicate = all.ordered = all.grouped = false;
    all.touched = true;
    for (uint32_t t = 0; t < all.term_count; t++) {
        all.terms[t].kind = ORR_OPTIONAL;
    }
    ops_answer_make(s, &all, &q->clock, &written);
    bool strict = q->structure == s->oracle.structure &&
                  q->refusals == s->refusals + s->out_of_memory;
    uint32_t at = 0, wanted = 0;
    ORR_EACH_OF (it, q->query, .since = q->mark) {
        for (uint32_t i = 0; i < it.count; i++, at++) {
            orr_entity id = orr_iter_entity(&it, i);
            while (at < expected->count && expected->list[at].entity->id.id != id.id) {
                at++;
            }
            MODEL_CHECK(at < expected->count); // In order, and none that does not match.
            MODEL_CHECK(!strict || ask_chunk_written(&written, &expected->list[at]));
            wanted += wanted < must.count && must.list[wanted].entity->id.id == id.id;
        }
    }
    MODEL_CHECK(wanted == must.count); // None is missing.
    ops_answer_free(&must);
    ops_answer_free(&written);
}

void ops_query_compare(ops* s, ops_query* q)
{
    failing_alloc_arm(&s->kit.memory, 0, false);
    (void)orr_query_print(q->query, model_at.detail, sizeof model_at.detail);
    ops_answer expected;
    ops_answer_make(s, &q->spec, NULL, &expected);
    ask_without_loop(s, q, &expected);
    ask_loop(s, q, &expected);
    if (q->spec.grouped || ops_chance(s, 8)) {
        ask_one_group(s, q, &expected);
    }
    if (ops_spec_changed(&q->spec)) {
        ask_changed(s, q, &expected);
    }
    ops_answer_free(&expected);
    model_at.detail[0] = '\0';
    s->asked++;
}
