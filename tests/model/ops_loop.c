// SPDX-License-Identifier: MIT
// Loops that change values, nested loops, loops that are left early or left open, and calls that
// must be refused while a loop is open.
#include "model/ops_query.h"

#include "test.h"

#include <stdlib.h>

static _Alignas(64) uint8_t world_value[OPS_VALUE_MAX];
static _Alignas(64) uint8_t model_value[OPS_VALUE_MAX];

// ---- writing ------------------------------------------------------------------------------------

static void loop_write_pinned(ops* s, orr_iter* it, uint32_t type, const ops_listed* rows)
{
    uint32_t i = ops_below(s, it->count);
    void* value = orr_iter_pinned(it, s->types[type].desc, ORR_WRITE, i);
    oracle_component* component = oracle_component_of(rows[i].entity, type);
    MODEL_CHECK((value != NULL) == (component != NULL));
    if (component != NULL) {
        ops_write_through(s, type, value, component, 0);
    }
}

// Writes a row of a run. The block is stamped, so its first row counts as written too.
static void loop_write(ops* s, orr_iter* it, ops_field field, const ops_listed* rows)
{
    if (s->oracle.types[field.type].pinned) {
        loop_write_pinned(s, it, field.type, rows);
        return;
    }
    const orr_type_desc* desc = ops_chance(s, 3) ? NULL : s->types[field.type].desc;
    uint8_t* column = desc != NULL ? orr_iter_write(it, desc)
                                   : orr_iter_write_type(it, s->oracle.types[field.type].type);
    oracle_component* first = oracle_component_of(rows[0].entity, field.type);
    if (column == NULL) {
        if (first != NULL) {
            (void)ops_refused(s, ops_last_result(s)); // The copy of a shared block.
        }
        return;
    }
    MODEL_CHECK(first != NULL);
    oracle_component_written(&s->oracle, first);
    s->done++;
    uint32_t i = ops_below(s, it->count), capacity = 1;
    if (s->oracle.types[field.type].multiple) {
        capacity = orr_iter_instances(it, s->types[field.type].desc).capacity;
    }
    oracle_component* component = oracle_component_of(rows[i].entity, field.type);
    uint32_t k = ops_below(s, oracle_value_count(component));
    ops_write_through(s, field.type,
                      column + (i * capacity + k) * (size_t)s->oracle.types[field.type].world_size,
                      component, k);
}

static void loop_write_some(ops* s, const ops_query* q, orr_iter* it, const ops_listed* rows)
{
    ops_field fields[OPS_ASKED_MAX];
    uint32_t count = ops_spec_fields(s, &q->spec, fields);
    for (uint32_t f = 0; f < count; f++) {
        if (fields[f].access == ORR_WRITE && ops_chance(s, 2)) {
            loop_write(s, it, fields[f], rows);
        }
    }
}

// Values may be set by entity too.
static void loop_set(ops* s, const ops_listed* rows, uint32_t count)
{
    oracle_entity* entity = rows[ops_below(s, count)].entity;
    uint32_t type = ops_pick_type_of(s, entity);
    oracle_component* component = oracle_component_of(entity, type);
    if (component != NULL && !s->oracle.types[type].multiple &&
        ops_make(s, type, world_value, model_value) &&
        !ops_refused(
            s, orr_component_set(s->world, entity->id, s->oracle.types[type].type, world_value))) {
        oracle_component_set(&s->oracle, entity, type, model_value);
    }
}

// ---- calls that are refused meanwhile -----------------------------------------------------------

static void loop_refuse_entities(ops* s, const oracle_entity* entity, orr_cluster cluster)
{
    orr_world* world = s->world;
    orr_appender appender;
    MODEL_CHECK(orr_create(world).id == 0 && ops_last_result(s) == ORR_ERR_STATE);
    MODEL_CHECK(orr_create_in(world, cluster).id == 0 && ops_last_result(s) == ORR_ERR_STATE);
    MODEL_CHECK(orr_create_named(world, "zz").id == 0 && ops_last_result(s) == ORR_ERR_STATE);
    MODEL_CHECK(orr_copy(world, entity->id).id == 0 && ops_last_result(s) == ORR_ERR_STATE);
    ops_refused_as(s, orr_create_many(world, cluster, 2, NULL, 0, NULL), ORR_ERR_STATE);
    ops_refused_as(s, orr_append_begin(world, cluster, NULL, 0, &appender), ORR_ERR_STATE);
    ops_refused_as(s, orr_destroy(world, entity->id), ORR_ERR_STATE);
    ops_refused_as(s, orr_destroy_many(world, &entity->id, 1), ORR_ERR_STATE);
    ops_refused_as(s, orr_entities_destroy_all(world), ORR_ERR_STATE);
    ops_refused_as(s, orr_entity_enable(world, entity->id, !entity->on), ORR_ERR_STATE);
    ops_refused_as(s, orr_name_set(world, entity->id, (orr_entity){0}, "zz"), ORR_ERR_STATE);
    ops_refused_as(s, orr_tag_add(world, entity->id, 4711), ORR_ERR_STATE);
}

static void loop_refuse_clusters(ops* s, const oracle_entity* entity, orr_cluster cluster)
{
    orr_world* world = s->world;
    orr_tag tag = 4711;
    orr_cluster got;
    // (Using a new cluster, or creating a string, would change the following operations.)
    orr_cluster other = s->shape->separate ? cluster : ops_pick_cluster(s);
    uint32_t count = 0;
    ops_refused_as(s,
                   orr_cluster_get(world, &(orr_cluster_desc){.tags = &tag, .tag_count = 1}, &got),
                   ORR_ERR_STATE);
    ops_refused_as(s, orr_cluster_clear(world, cluster), ORR_ERR_STATE);
    ops_refused_as(s, orr_cluster_delete(world, cluster), ORR_ERR_STATE);
    ops_refused_as(s, orr_clusters_delete(world, &(orr_cluster_match){0}, &count), ORR_ERR_STATE);
    ops_refused_as(s, orr_entity_move(world, entity->id, other), ORR_ERR_STATE);
    ops_refused_as(s, orr_rows_move(world, cluster, 0, 1, other), ORR_ERR_STATE);
    ops_refused_as(s, orr_rows_move_all(world, cluster, other), ORR_ERR_STATE);
}

static void loop_refuse_components(ops* s, oracle_entity* entity)
{
    orr_world* world = s->world;
    uint32_t index = ops_pick_type_of(s, entity);
    const oracle_type* type = &s->oracle.types[index];
    oracle_component* component = oracle_component_of(entity, index);
    if (component == NULL) {
        ops_refused_as(s, orr_component_add(world, entity->id, type->type), ORR_ERR_STATE);
        ops_refused_as(s, orr_component_add_many(world, &entity->id, 1, type->type, NULL),
                       ORR_ERR_STATE);
        if (!type->multiple && !s->shape->separate &&
            ops_make(s, index, world_value, model_value)) {
            ops_refused_as(s, orr_component_set(world, entity->id, type->type, world_value),
                           ORR_ERR_STATE);
        }
    } else {
        ops_refused_as(s, orr_component_remove(world, entity->id, type->type), ORR_ERR_STATE);
        ops_refused_as(s, orr_component_remove_many(world, &entity->id, 1, type->type),
                       ORR_ERR_STATE);
        ops_refused_as(s, orr_component_enable(world, entity->id, type->type, false),
                       ORR_ERR_STATE);
    }
    if (type->multiple) {
        MODEL_CHECK(orr_instance_add(world, entity->id, type->type, NULL) == 0 &&
                    ops_last_result(s) == ORR_ERR_STATE);
    }
    if (type->multiple && component != NULL) {
        oracle_instances_learn(&s->oracle, world, entity, component);
        orr_component_id id = component->instances[0].id;
        ops_refused_as(s, orr_instance_remove(world, entity->id, type->type, id), ORR_ERR_STATE);
        ops_refused_as(s, orr_instance_enable(world, entity->id, type->type, id, false),
                       ORR_ERR_STATE);
    }
}

static void loop_refuse_bulk(ops* s, ops_query* q)
{
    orr_type type = s->oracle.types[ops_pick_type(s)].type;
    ops_refused_as(s, orr_query_add(q->query, type, NULL), ORR_ERR_STATE);
    ops_refused_as(s, orr_query_remove(q->query, type), ORR_ERR_STATE);
    ops_refused_as(s, orr_query_destroy_entities(q->query), ORR_ERR_STATE);
    orr_query_destroy(q->query); // Refused: the query stays.
    MODEL_CHECK(ops_last_result(s) == ORR_ERR_STATE);
}

// Every structural change is refused, and nothing has changed.
static void loop_refuse_structure(ops* s, ops_query* q, const ops_listed* row)
{
    failing_alloc_arm(&s->kit.memory, 0, false);
    uint64_t hash = orr_world_hash(s->world);
    loop_refuse_entities(s, row->entity, row->cluster);
    loop_refuse_clusters(s, row->entity, row->cluster);
    loop_refuse_components(s, row->entity);
    loop_refuse_bulk(s, q);
    if (oracle_find(&s->oracle, s->singleton) == NULL) {
        MODEL_CHECK(orr_world_entity(s->world).id == 0 && ops_last_result(s) == ORR_ERR_STATE);
    }
    MODEL_CHECK(orr_world_hash(s->world) == hash);
}

// ---- loops --------------------------------------------------------------------------------------

// A nested loop. Over the same query it has the order of the outer loop, even if keys have changed.
static void loop_nested(ops* s, ops_query* q, const ops_answer* expected)
{
    ops_query* inner = ops_query_pick(s);
    uint32_t done = 0;
    if (inner != q || !q->spec.ordered) {
        if (s->oracle.live_count < 500) {
            ops_query_compare(s, inner);
        }
        return;
    }
    ORR_EACH (it, q->query) {
        MODEL_CHECK(done + it.count <= expected->count);
        ops_query_check_run(s, q, &it, expected->list + done);
        done += it.count;
    }
    MODEL_CHECK(done == expected->count);
}

// The operations at a run. True: the loop continues.
static bool loop_body(ops* s, ops_query* q, orr_iter* it, const ops_listed* rows,
                      const ops_answer* expected)
{
    ops_query_check_run(s, q, it, rows);
    switch (ops_below(s, 12)) {
    case 0:
        loop_refuse_structure(s, q, rows);
        break;
    case 1:
        if (!s->shape->separate) {
            loop_set(s, rows, it->count);
        }
        break;
    case 2:
        loop_nested(s, q, expected);
        ops_query_check_run(s, q, it, rows);
        break;
    case 3:
        return !ops_chance(s, 4);
    default:
        if (!s->shape->separate) {
            loop_write_some(s, q, it, rows);
        }
        break;
    }
    return true;
}

// The result is that of the beginning, even if keys are written meanwhile.
static void op_query_loop(ops* s)
{
    ops_separate_begin(s);
    ops_query* q = ops_query_pick(s);
    if (q != NULL && (s->oracle.live_count < 500 || ops_chance(s, 10))) {
        failing_alloc_arm(&s->kit.memory, 0, false);
        (void)orr_query_print(q->query, model_at.detail, sizeof model_at.detail);
        ops_answer expected;
        ops_answer_make(s, &q->spec, NULL, &expected);
        uint32_t done = 0;
        bool on = true;
        ORR_EACH (it, q->query) {
            MODEL_CHECK(done + it.count <= expected.count);
            on = loop_body(s, q, &it, expected.list + done, &expected);
            done += it.count;
            if (!on) {
                break;
            }
        }
        MODEL_CHECK(!on || done == expected.count);
        ops_answer_free(&expected);
        model_at.detail[0] = '\0';
    }
    ops_separate_end(s);
}

// A loop that is not ended prevents structural changes until the tick advances.
static void op_query_left_open(ops* s)
{
    ops_separate_begin(s);
    ops_query* q = ops_query_pick(s);
    if (q != NULL && !s->shape->separate) {
        orr_iter it;
        failing_alloc_arm(&s->kit.memory, 0, false);
        orr_iter_begin(&it, q->query, NULL);
        uint32_t steps = ops_below(s, 3);
        bool open = true;
        for (uint32_t i = 0; i < steps && open; i++) {
            open = orr_iter_next(&it);
        }
        if (open) {
            MODEL_CHECK(orr_create(s->world).id == 0 && ops_last_result(s) == ORR_ERR_STATE);
            orr_tick_advance(s->world);
            s->done++;
            MODEL_CHECK(!orr_iter_next(&it) && ops_last_result(s) == ORR_ERR_STATE);
        }
        orr_iter_end(&it);
        orr_iter_end(&it);
    }
    ops_separate_end(s);
}

// A mark, some writes and enable changes, and then a query for changes: exactly their chunks.
static void op_query_changes(ops* s)
{
    ops_query* q = s->shape->separate ? NULL : ops_query_pick(s);
    uint32_t count = ops_below(s, 4);
    const ops_answer* all = ops_listing(s);
    if (q == NULL || !ops_spec_changed(&q->spec) || all->count == 0 ||
        (s->oracle.live_count > 500 && !ops_chance(s, 10))) {
        return;
    }
    failing_alloc_arm(&s->kit.memory, 0, false);
    kit_tokens.refuse_after = 0;
    ops_query_mark(s, q);
    for (uint32_t i = 0; i < count; i++) {
        oracle_entity* entity = all->list[ops_below(s, all->count)].entity;
        uint32_t type = ops_pick_type_of(s, entity);
        oracle_component* component = oracle_component_of(entity, type);
        bool on = ops_chance(s, 2);
        if (ops_chance(s, 8)) {
            MODEL_CHECK(orr_entity_enable(s->world, entity->id, on) == ORR_OK);
            oracle_entity_switch(&s->oracle, entity, on);
        } else if (component != NULL && ops_chance(s, 4)) {
            MODEL_CHECK(orr_component_enable(s->world, entity->id, s->oracle.types[type].type,
                                             on) == ORR_OK);
            oracle_component_switch(&s->oracle, component, on);
        } else {
            loop_set(s, &(ops_listed){.entity = entity}, 1);
        }
        s->done++;
    }
    ops_query_compare(s, q);
}

// Memory is refused while a loop begins: then there is no loop, or a complete one.
static void op_query_refused_memory(ops* s)
{
    ops_separate_begin(s);
    ops_query* q = ops_query_pick(s);
    if (q != NULL && s->armed && (s->oracle.live_count < 500 || ops_chance(s, 10))) {
        ops_answer expected;
        ops_answer_make(s, &q->spec, NULL, &expected);
        uint32_t errors = s->kit.errors.count, done = 0;
        ORR_EACH (it, q->query) {
            MODEL_CHECK(done + it.count <= expected.count);
            for (uint32_t i = 0; i < it.count; i++) {
                MODEL_CHECK(orr_iter_entity(&it, i).id == expected.list[done + i].entity->id.id);
            }
            done += it.count;
        }
        if (s->kit.errors.count != errors) {
            MODEL_CHECK(done == 0);
            (void)ops_refused(s, ops_last_result(s));
        } else {
            MODEL_CHECK(done == expected.count);
        }
        ops_answer_free(&expected);
        ops_query_compare(s, q);
    }
    ops_separate_end(s);
}

const ops_entry ops_loop_table[] = {
    {"query_loop", 40, op_query_loop},
    {"query_left_open", 3, op_query_left_open},
    {"query_refused_memory", 10, op_query_refused_memory},
    {"query_changes", 20, op_query_changes},
    {NULL, 0, NULL},
};
