// SPDX-License-Identifier: MIT
// Operations on many entities at once. Each is all or nothing, so half of them are made invalid on
// purpose.
#include "model/ops.h"

#include "test.h"

#include <stdlib.h>

static oracle_entity* picked[OPS_BATCH_MAX];
static orr_entity picked_ids[OPS_BATCH_MAX + 1];
static _Alignas(64) uint8_t world_values[OPS_BATCH_MAX * OPS_VALUE_MAX / 4];
static _Alignas(64) uint8_t model_values[OPS_BATCH_MAX * OPS_VALUE_MAX / 4];

// Number of values of a type that fit into the buffers.
static uint32_t ops_batch_fit(const ops* s, uint32_t type, uint32_t count)
{
    const oracle_type* t = &s->oracle.types[type];
    size_t size = t->size > t->world_size ? t->size : t->world_size;
    size_t room = size > 0 ? sizeof world_values / size : OPS_BATCH_MAX;
    return count < room ? count : (uint32_t)room;
}

static bool ops_batch_values(ops* s, uint32_t type, uint32_t count)
{
    const oracle_type* t = &s->oracle.types[type];
    for (uint32_t i = 0; i < count; i++) {
        if (!ops_make(s, type, world_values + (size_t)i * t->world_size,
                      model_values + (size_t)i * t->size)) {
            return false;
        }
    }
    return true;
}

static void* ops_batch_value(ops* s, uint32_t type, uint32_t i)
{
    return model_values + (size_t)i * s->oracle.types[type].size;
}

static uint32_t ops_batch_count(ops* s)
{
    // Mostly few: many would make every run of the same size.
    uint32_t most = ops_chance(s, 8) ? s->shape->batch_max : 6;
    uint32_t count = 1 + ops_below(s, most);
    return count < OPS_BATCH_MAX ? count : OPS_BATCH_MAX;
}

// Values for up to three columns of a cluster, each in a third of the buffers.
enum {
    DATA_MAX = 3,
    DATA_BYTES = sizeof world_values / DATA_MAX / 64 * 64
};

static uint32_t ops_data_fit(const ops* s, uint32_t type, uint32_t count)
{
    const oracle_type* t = &s->oracle.types[type];
    size_t size = t->size > t->world_size ? t->size : t->world_size;
    return size == 0 || count <= DATA_BYTES / size ? count : (uint32_t)(DATA_BYTES / size);
}

// The number of columns with data; false when the world refused memory for a value.
static bool ops_data_make(ops* s, const orr_cluster_info* info, orr_column_data* data,
                          uint32_t* data_count, uint32_t* count)
{
    uint32_t wanted = ops_below(s, DATA_MAX + 1), first = ops_below(s, info->type_count);
    wanted = wanted < info->type_count ? wanted : info->type_count;
    for (uint32_t d = 0; d < wanted; d++) {
        data[d] = (orr_column_data){info->types[(first + d) % info->type_count],
                                    world_values + (size_t)d * DATA_BYTES};
        *count = ops_data_fit(s, oracle_type_index(&s->oracle, data[d].type), *count);
    }
    for (uint32_t d = 0; d < wanted; d++) {
        uint32_t type = oracle_type_index(&s->oracle, data[d].type);
        const oracle_type* t = &s->oracle.types[type];
        size_t offset = (size_t)d * DATA_BYTES;
        for (uint32_t i = 0; i < *count; i++) {
            if (!ops_make(s, type, world_values + offset + (size_t)i * t->world_size,
                          model_values + offset + (size_t)i * t->size)) {
                return false;
            }
        }
    }
    *data_count = wanted;
    return true;
}

static void op_create_many(ops* s)
{
    orr_cluster cluster = ops_pick_cluster(s);
    orr_cluster_info info;
    uint32_t count = ops_batch_count(s), data_count = 0;
    if (cluster.id == 0 || !ops_room_for(s, count)) {
        return;
    }
    MODEL_CHECK(orr_cluster_info_get(s->world, cluster, &info) == ORR_OK);
    orr_column_data data[DATA_MAX];
    if (!ops_data_make(s, &info, data, &data_count, &count)) {
        return;
    }
    memset(picked_ids, 0xEE, sizeof picked_ids[0] * count);
    if (ops_refused(s, orr_create_many(s->world, cluster, count, data, data_count, picked_ids))) {
        MODEL_CHECK(picked_ids[0].id == 0xEEEEEEEEEEEEEEEEu); // Outputs stay untouched.
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        oracle_entity* entity = ops_oracle_create_in(s, picked_ids[i], &info);
        for (uint32_t d = 0; d < data_count; d++) {
            uint32_t type = oracle_type_index(&s->oracle, data[d].type);
            oracle_component_set(&s->oracle, entity, type,
                                 model_values + (size_t)d * DATA_BYTES +
                                     (size_t)i * s->oracle.types[type].size);
        }
    }
}

static void op_destroy_many(ops* s)
{
    uint32_t count = ops_pick_many(s, picked, picked_ids, ops_batch_count(s));
    if (!ops_refused(s, orr_destroy_many(s->world, picked_ids, count))) {
        oracle_destroy_many(&s->oracle, picked, count);
    }
}

// Puts an id into the list for which the whole call must be refused. ORR_OK: not possible.
static orr_result ops_spoil(ops* s, uint32_t* count)
{
    if (*count == 0) {
        return ORR_OK;
    }
    uint32_t place = ops_below(s, *count);
    orr_entity moved = picked_ids[place];
    orr_entity spoiler = s->foreign_id;
    orr_result expected = ORR_ERR_ENTITY;
    switch (ops_below(s, 3)) {
    case 0:
        spoiler = picked_ids[ops_below(s, *count)];
        expected = ORR_ERR_ARGUMENT;
        break;
    case 1:
        if (s->oracle.dead_count > 0) {
            spoiler = s->oracle.dead[(s->oracle.dead_count - 1) % ORACLE_DEAD_MAX];
        }
        break;
    default:
        break;
    }
    picked_ids[*count] = moved;
    picked_ids[place] = spoiler;
    (*count)++;
    return expected;
}

static void op_destroy_many_spoilt(ops* s)
{
    uint32_t count = ops_pick_many(s, picked, picked_ids, ops_batch_count(s));
    orr_result expected = ops_spoil(s, &count);
    if (expected != ORR_OK) {
        ops_refused_as(s, orr_destroy_many(s->world, picked_ids, count), expected);
        for (uint32_t i = 0; i + 1 < count; i++) {
            MODEL_CHECK(orr_alive(s->world, picked[i]->id));
        }
    }
}

static uint32_t ops_batch_have(uint32_t count, uint32_t type)
{
    uint32_t have = 0;
    for (uint32_t i = 0; i < count; i++) {
        have += oracle_component_of(picked[i], type) != NULL;
    }
    return have;
}

static void op_add_many(ops* s)
{
    uint32_t type = ops_pick_type(s);
    orr_type world_type = s->oracle.types[type].type;
    uint32_t count = ops_batch_fit(s, type, ops_batch_count(s));
    count = ops_pick_many(s, picked, picked_ids, count);
    bool values = ops_chance(s, 2);
    if (count == 0 || (values && !ops_batch_values(s, type, count))) {
        return;
    }
    orr_result result = orr_component_add_many(s->world, picked_ids, count, world_type,
                                               values ? world_values : NULL);
    if (values && s->oracle.types[type].multiple && ops_batch_have(count, type) > 0) {
        ops_refused_as(s, result, ORR_ERR_ARGUMENT); // It is ambiguous which instance would be set.
    } else if (!ops_refused(s, result)) {
        for (uint32_t i = 0; i < count; i++) {
            oracle_component_add(&s->oracle, picked[i], type);
            if (values) {
                oracle_component_set(&s->oracle, picked[i], type, ops_batch_value(s, type, i));
            }
        }
    }
}

static void op_remove_many(ops* s)
{
    uint32_t type = ops_pick_type(s);
    uint32_t count = ops_pick_many(s, picked, picked_ids, ops_batch_count(s));
    orr_result result =
        orr_component_remove_many(s->world, picked_ids, count, s->oracle.types[type].type);
    for (uint32_t i = 0; i < count; i++) {
        if (oracle_component_of(picked[i], type) != NULL &&
            oracle_component_needed(&s->oracle, picked[i], type)) {
            ops_refused_as(s, result, ORR_ERR_STATE);
            return;
        }
    }
    if (!ops_refused(s, result)) {
        for (uint32_t i = 0; i < count; i++) {
            oracle_component_remove(&s->oracle, picked[i], type);
        }
    }
}

static void op_set_many(ops* s)
{
    uint32_t type = ops_pick_type(s), present = 0;
    uint32_t count = ops_batch_fit(s, type, ops_batch_count(s));
    count = ops_pick_many(s, picked, picked_ids, count);
    // Mostly only entities that have it; else the call must be refused.
    bool all = !ops_chance(s, 6);
    for (uint32_t i = 0; i < count && all; i++) {
        if (oracle_component_of(picked[i], type) != NULL) {
            picked_ids[present] = picked_ids[i];
            picked[present++] = picked[i];
        }
    }
    count = all ? present : count;
    if (count == 0 || !ops_batch_values(s, type, count)) {
        return;
    }
    orr_result result = orr_component_set_many(s->world, picked_ids, count,
                                               s->oracle.types[type].type, world_values);
    if (s->oracle.types[type].multiple) {
        ops_refused_as(s, result, ORR_ERR_ARGUMENT);
        return;
    }
    if (ops_batch_have(count, type) < count) {
        ops_refused_as(s, result, ORR_ERR_ABSENT);
        return;
    }
    // A marker has nothing to write.
    if (!ops_refused(s, result) && s->oracle.types[type].size > 0) {
        for (uint32_t i = 0; i < count; i++) {
            oracle_component_set(&s->oracle, picked[i], type, ops_batch_value(s, type, i));
        }
    }
}

// The values before the first entity that is refused are copied, the rest is untouched.
static void op_get_many(ops* s)
{
    uint32_t type = ops_pick_type(s), copied = 0;
    size_t size = s->oracle.types[type].world_size;
    uint32_t count = ops_batch_fit(s, type, ops_batch_count(s));
    count = ops_pick_many(s, picked, picked_ids, count);
    bool multiple = s->oracle.types[type].multiple;
    if (count == 0) {
        return;
    }
    while (copied < count && !multiple && oracle_component_of(picked[copied], type) != NULL) {
        copied++;
    }
    memset(world_values, 0x5C, count * size);
    orr_result result = orr_component_get_many(s->world, picked_ids, count,
                                               s->oracle.types[type].type, world_values);
    if (copied < count) {
        ops_refused_as(s, result, multiple ? ORR_ERR_ARGUMENT : ORR_ERR_ABSENT);
    } else {
        MODEL_CHECK(result == ORR_OK);
    }
    for (uint32_t i = 0; i < copied; i++) {
        // A token's bytes outside the world are not a token; all others are compared directly.
        MODEL_CHECK(s->types[type].hooked ||
                    oracle_value_equal(&s->oracle, s->world, type, world_values + i * size,
                                       oracle_component_of(picked[i], type)->value));
    }
    for (size_t i = copied * size; i < count * size; i++) {
        MODEL_CHECK(world_values[i] == 0x5C);
    }
}

static void op_change_many_spoilt(ops* s)
{
    uint32_t type = ops_pick_type(s);
    orr_type world_type = s->oracle.types[type].type;
    uint32_t count = ops_batch_fit(s, type, ops_batch_count(s));
    count = ops_pick_many(s, picked, picked_ids, count > 1 ? count - 1 : 1);
    for (uint32_t i = 0; i < count; i++) { // So that each would move.
        if (oracle_component_of(picked[i], type) != NULL) {
            count = i;
        }
    }
    orr_result expected = ops_spoil(s, &count);
    if (expected == ORR_OK) {
        return;
    }
    ops_refused_as(s, orr_component_add_many(s->world, picked_ids, count, world_type, NULL),
                   expected);
    if (expected == ORR_ERR_ENTITY) {
        ops_refused_as(s, orr_component_remove_many(s->world, picked_ids, count, world_type),
                       expected);
        memset(world_values, 0, s->oracle.types[type].world_size * (size_t)count);
        orr_result result =
            orr_component_set_many(s->world, picked_ids, count, world_type, world_values);
        MODEL_CHECK(result == ORR_ERR_ENTITY || result == ORR_ERR_ABSENT ||
                    (result == ORR_ERR_ARGUMENT && s->oracle.types[type].multiple));
    }
}

// Up to three columns that an appender returns.
static uint32_t ops_append_types(const ops* s, const orr_cluster_info* info, orr_type* out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < info->type_count && count < 3; i++) {
        const oracle_type* t = &s->oracle.types[oracle_type_index(&s->oracle, info->types[i])];
        if (!t->multiple && t->reference_count == 0) {
            out[count++] = info->types[i];
        }
    }
    return count;
}

// Rows come in runs and the caller fills the columns; rows that were not taken never existed.
static void op_append(ops* s)
{
    orr_cluster cluster = ops_pick_cluster(s);
    orr_cluster_info info;
    uint32_t count = ops_below(s, ops_chance(s, 4) ? s->shape->batch_max : 8);
    count = count < OPS_BATCH_MAX ? count : OPS_BATCH_MAX;
    if (cluster.id == 0 || !ops_room_for(s, count)) {
        return;
    }
    MODEL_CHECK(orr_cluster_info_get(s->world, cluster, &info) == ORR_OK);
    orr_appender appender;
    orr_type types[3];
    uint32_t columns = ops_append_types(s, &info, types);
    if (ops_refused(s, orr_append_begin(s->world, cluster, types, columns, &appender))) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = orr_append(&appender);
        if (slot == ORR_APPEND_NONE) {
            (void)ops_refused(s, ops_last_result(s));
            break;
        }
        oracle_entity* entity = ops_oracle_create_in(s, appender.entities[slot], &info);
        for (uint32_t c = 0; c < columns; c++) {
            uint32_t type = oracle_type_index(&s->oracle, types[c]);
            if (s->types[type].plain && ops_chance(s, 2)) {
                size_t size = s->oracle.types[type].world_size;
                ops_make(s, type, (uint8_t*)appender.columns[c] + slot * size,
                         oracle_component_of(entity, type)->value);
            }
        }
    }
    MODEL_CHECK(count == 0 || orr_create(s->world).id == 0); // No other creation while it is open.
    orr_append_end(&appender);
    MODEL_CHECK(orr_entity_count(s->world) == s->oracle.live_count);
}

const ops_entry ops_batch_table[] = {
    {"create_many", 12, op_create_many},
    {"destroy_many", 12, op_destroy_many},
    {"destroy_many_spoilt", 4, op_destroy_many_spoilt},
    {"add_many", 10, op_add_many},
    {"remove_many", 8, op_remove_many},
    {"set_many", 10, op_set_many},
    {"get_many", 6, op_get_many},
    {"change_many_spoilt", 4, op_change_many_spoilt},
    {"append", 10, op_append},
    {NULL, 0, NULL},
};
