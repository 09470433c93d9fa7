// SPDX-License-Identifier: MIT
// Operations on clusters, rows and columns.
#include "model/ops.h"

#include "test.h"

typedef struct ops_set {
    orr_type types[OPS_TYPES_MAX];
    uint32_t type_count;
    uint16_t capacities[OPS_TYPES_MAX];
    orr_tag tags[OPS_TAGS_MAX];
    uint32_t tag_count;
} ops_set;

static orr_entity chunk_ids[ORR_CHUNK_CAPACITY];

static void ops_set_add(ops* s, ops_set* set, uint32_t type, bool closed)
{
    const oracle_type* t = &s->oracle.types[type];
    for (uint32_t i = 0; i < set->type_count; i++) {
        if (set->types[i].id == t->type.id) {
            return;
        }
    }
    set->capacities[set->type_count] = 1;
    set->types[set->type_count++] = t->type;
    for (uint32_t i = 0; closed && i < t->needs_count; i++) {
        ops_set_add(s, set, t->needs[i], closed);
    }
}

// A set in random order; `closed`: with all types that its types need.
static void ops_set_make(ops* s, ops_set* set, bool closed)
{
    set->type_count = set->tag_count = 0;
    uint32_t wanted = ops_below(s, 5);
    for (uint32_t i = 0; i < wanted; i++) {
        ops_set_add(s, set, ops_pick_chunk_type(s), closed);
    }
    for (uint32_t i = 0; i < set->type_count; i++) {
        if (s->oracle.types[oracle_type_index(&s->oracle, set->types[i])].multiple) {
            set->capacities[i] = (uint16_t)(1u << ops_below(s, 4));
        }
    }
    wanted = ops_below(s, s->shape->cluster_tags + 1);
    for (uint32_t i = 0; i < wanted; i++) {
        orr_tag tag = ops_pick_tag(s);
        bool there = false;
        for (uint32_t j = 0; j < set->tag_count; j++) {
            there |= set->tags[j] == tag;
        }
        if (!there) {
            set->tags[set->tag_count++] = tag;
        }
    }
}

static orr_cluster_desc ops_set_desc(const ops_set* set)
{
    return (orr_cluster_desc){set->types, set->type_count, set->tags, set->tag_count,
                              set->capacities};
}

static bool ops_set_closed(const ops* s, const ops_set* set)
{
    for (uint32_t i = 0; i < set->type_count; i++) {
        const oracle_type* t = &s->oracle.types[oracle_type_index(&s->oracle, set->types[i])];
        for (uint32_t n = 0; n < t->needs_count; n++) {
            bool there = false;
            for (uint32_t k = 0; k < set->type_count; k++) {
                there |= set->types[k].id == s->oracle.types[t->needs[n]].type.id;
            }
            if (!there) {
                return false;
            }
        }
    }
    return true;
}

static void op_cluster_get(ops* s)
{
    ops_set set;
    ops_set_make(s, &set, !ops_chance(s, 8));
    orr_cluster_desc desc = ops_set_desc(&set);
    if (!ops_set_closed(s, &set)) {
        orr_cluster none = {9, 9};
        ops_refused_as(s, orr_cluster_get(s->world, &desc, &none), ORR_ERR_ARGUMENT);
        MODEL_CHECK(none.id == 9 && orr_cluster_find(s->world, &desc).id == 0);
        return;
    }
    orr_cluster found = orr_cluster_find(s->world, &desc), cluster = {0, 0};
    if (ops_refused(s, orr_cluster_get(s->world, &desc, &cluster))) {
        MODEL_CHECK(cluster.id == 0);
        MODEL_CHECK(found.id == 0);
        MODEL_CHECK(orr_cluster_find(s->world, &desc).id == 0);
        return;
    }
    MODEL_CHECK(found.id == 0 ||
                (found.id == cluster.id && found.generation == cluster.generation));
    found = orr_cluster_find(s->world, &desc);
    MODEL_CHECK(found.id == cluster.id && found.generation == cluster.generation);
    orr_cluster_info info;
    MODEL_CHECK(orr_cluster_info_get(s->world, cluster, &info) == ORR_OK);
    MODEL_CHECK(info.type_count == set.type_count && info.tag_count == set.tag_count);
    ops_cluster_seen(s, cluster);
}

// Duplicates are refused wherever a set is passed.
static void op_cluster_double(ops* s)
{
    ops_set set;
    ops_set_make(s, &set, true);
    if (set.type_count == 0) {
        return;
    }
    uint32_t double_of = ops_below(s, set.type_count);
    set.types[set.type_count] = set.types[double_of];
    set.capacities[set.type_count++] = set.capacities[double_of];
    orr_cluster cluster = {9, 9};
    orr_cluster_desc desc = ops_set_desc(&set);
    ops_refused_as(s, orr_cluster_get(s->world, &desc, &cluster), ORR_ERR_ARGUMENT);
    MODEL_CHECK(cluster.id == 9 && cluster.generation == 9);
}

static orr_entity row_ids[OPS_BATCH_MAX * 4];
static oracle_entity* row_entities[OPS_BATCH_MAX * 4];

// The entities of a cluster, for later operations on them.
static uint32_t ops_cluster_list(ops* s, orr_cluster cluster)
{
    uint32_t count = kit_rows(s->world, cluster);
    MODEL_CHECK(count <= OPS_BATCH_MAX * 4);
    ops_rows_read(s, cluster, 0, count, row_ids);
    for (uint32_t i = 0; i < count; i++) {
        row_entities[i] = oracle_find(&s->oracle, row_ids[i]);
        MODEL_CHECK(row_entities[i] != NULL);
    }
    return count;
}

static void op_cluster_clear(ops* s)
{
    orr_cluster cluster = ops_pick_cluster(s);
    orr_cluster_info info;
    if (cluster.id == 0 || !ops_chance(s, s->shape->calm)) {
        return;
    }
    uint32_t count = ops_cluster_list(s, cluster);
    if (!ops_refused(s, orr_cluster_clear(s->world, cluster))) {
        oracle_destroy_many(&s->oracle, row_entities, count);
        MODEL_CHECK(orr_cluster_info_get(s->world, cluster, &info) == ORR_OK);
        MODEL_CHECK(info.row_count == 0 && info.chunk_count == 0);
    }
}

static void ops_cluster_delete(ops* s, orr_cluster cluster)
{
    orr_cluster_info info;
    MODEL_CHECK(orr_cluster_info_get(s->world, cluster, &info) == ORR_OK);
    // The info's arrays are freed with the cluster.
    ops_set set = {.type_count = info.type_count, .tag_count = info.tag_count};
    memcpy(set.types, info.types, sizeof set.types[0] * info.type_count);
    memcpy(set.capacities, info.capacities, sizeof set.capacities[0] * info.type_count);
    memcpy(set.tags, info.tags, sizeof set.tags[0] * info.tag_count);
    uint32_t count = ops_cluster_list(s, cluster);
    if (!ops_refused(s, orr_cluster_delete(s->world, cluster))) {
        oracle_destroy_many(&s->oracle, row_entities, count);
        ops_cluster_gone(s, cluster);
        orr_cluster_desc desc = ops_set_desc(&set);
        MODEL_CHECK(orr_cluster_find(s->world, &desc).id == 0);
    }
}

static void op_cluster_delete(ops* s)
{
    orr_cluster cluster = ops_pick_cluster(s);
    if (cluster.id != 0 && ops_chance(s, s->shape->calm)) {
        ops_cluster_delete(s, cluster);
    }
}

// Near the limit every call would be refused: most empty clusters are deleted.
static void op_cluster_sweep(ops* s)
{
    orr_world_stats stats;
    orr_world_stats_get(s->world, &stats);
    if (s->shape->clusters_hard == 0 || stats.clusters < s->shape->clusters_hard * 7 / 8) {
        return;
    }
    orr_cluster cluster = orr_cluster_next(s->world, (orr_cluster){0, 0}), next;
    for (; cluster.id != 0; cluster = next) {
        next = orr_cluster_next(s->world, cluster);
        if (ops_chance(s, 4) || kit_rows(s->world, cluster) == 0) {
            ops_cluster_delete(s, cluster);
        }
    }
}

static void op_stale_cluster(ops* s)
{
    orr_cluster stale = {0, 0};
    uint32_t known = s->stale_count < 64 ? s->stale_count : 64;
    if (known > 0) {
        stale = s->stale[ops_below(s, known)];
    }
    orr_cluster_info info;
    orr_type type = s->oracle.types[ops_pick_type(s)].type;
    uint32_t count = 7;
    orr_entity out[1];
    ops_refused_as(s, orr_cluster_info_get(s->world, stale, &info), ORR_ERR_CLUSTER);
    ops_refused_as(s, orr_cluster_clear(s->world, stale), ORR_ERR_CLUSTER);
    ops_refused_as(s, orr_cluster_delete(s->world, stale), ORR_ERR_CLUSTER);
    ops_refused_as(s, orr_create_many(s->world, stale, 1, NULL, 0, NULL), ORR_ERR_CLUSTER);
    MODEL_CHECK(orr_create_in(s->world, stale).id == 0);
    ops_refused_as(s, ops_last_result(s), ORR_ERR_CLUSTER);
    oracle_entity* entity = ops_pick(s);
    orr_cluster good = ops_pick_cluster(s);
    if (entity != NULL) {
        ops_refused_as(s, orr_entity_move(s->world, entity->id, stale), ORR_ERR_CLUSTER);
    }
    if (good.id != 0) {
        ops_refused_as(s, orr_rows_move(s->world, stale, 0, 1, good), ORR_ERR_CLUSTER);
        ops_refused_as(s, orr_rows_move_all(s->world, good, stale), ORR_ERR_CLUSTER);
    }
    MODEL_CHECK(orr_chunk_count(s->world, stale, 0) == 0);
    MODEL_CHECK(orr_chunk_entities(s->world, stale, 0, out, 1) == 0);
    MODEL_CHECK(orr_column_read(s->world, stale, 0, type) == NULL);
    MODEL_CHECK(orr_column_write(s->world, stale, 0, type) == NULL);
    MODEL_CHECK(orr_span_read(s->world, stale, type, 0, &count) == NULL && count == 0);
}

// ---- moves --------------------------------------------------------------------------------------

static void op_entity_move(ops* s)
{
    oracle_entity* entity = ops_pick(s);
    orr_cluster to = ops_pick_cluster(s);
    orr_cluster_info info;
    if (entity == NULL || to.id == 0) {
        return;
    }
    MODEL_CHECK(orr_cluster_info_get(s->world, to, &info) == ORR_OK);
    orr_result result = orr_entity_move(s->world, entity->id, to);
    if (!ops_fits(s, entity, &info)) {
        ops_refused_as(s, result, ORR_ERR_CAPACITY);
    } else if (!ops_refused(s, result)) {
        ops_oracle_move(s, entity, &info);
    }
}

// The ids of rows first … first + count - 1.
void ops_rows_read(ops* s, orr_cluster cluster, uint32_t first, uint32_t count, orr_entity* out)
{
    uint32_t done = 0;
    while (done < count) {
        uint32_t chunk = (first + done) / ORR_CHUNK_CAPACITY;
        uint32_t slot = (first + done) % ORR_CHUNK_CAPACITY;
        uint32_t rows = orr_chunk_entities(s->world, cluster, chunk, chunk_ids, ORR_CHUNK_CAPACITY);
        MODEL_CHECK(rows > slot);
        for (; slot < rows && done < count; slot++) {
            out[done++] = chunk_ids[slot];
        }
    }
}

static bool ops_rows_fit(const ops* s, uint32_t count, const orr_cluster_info* to)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!ops_fits(s, oracle_find(&s->oracle, row_ids[i]), to)) {
            return false;
        }
    }
    return true;
}

static void ops_rows_moved(ops* s, orr_result result, uint32_t count, const orr_cluster_info* to)
{
    if (!ops_rows_fit(s, count, to)) {
        ops_refused_as(s, result, ORR_ERR_CAPACITY);
    } else if (!ops_refused(s, result)) {
        for (uint32_t i = 0; i < count; i++) {
            ops_oracle_move(s, oracle_find(&s->oracle, row_ids[i]), to);
        }
    }
}

static void op_rows_move(ops* s)
{
    orr_cluster from = ops_pick_cluster(s), to = ops_pick_cluster(s);
    orr_cluster_info from_info, to_info;
    if (from.id == 0 || to.id == 0) {
        return;
    }
    MODEL_CHECK(orr_cluster_info_get(s->world, from, &from_info) == ORR_OK);
    MODEL_CHECK(orr_cluster_info_get(s->world, to, &to_info) == ORR_OK);
    uint32_t first = ops_below(s, from_info.row_count + 1);
    uint32_t most = from_info.row_count - first;
    most = most < s->shape->batch_max ? most : s->shape->batch_max;
    uint32_t count = ops_below(s, most + 1);
    if (ops_chance(s, 16)) { // Beyond the end.
        ops_refused_as(s, orr_rows_move(s->world, from, first, from_info.row_count - first + 1, to),
                       ORR_ERR_ARGUMENT);
        return;
    }
    ops_rows_read(s, from, first, count, row_ids);
    ops_rows_moved(s, orr_rows_move(s->world, from, first, count, to), count, &to_info);
}

static void op_rows_move_all(ops* s)
{
    orr_cluster from = ops_pick_cluster(s), to = ops_pick_cluster(s);
    orr_cluster_info from_info, to_info;
    if (from.id == 0 || to.id == 0) {
        return;
    }
    MODEL_CHECK(orr_cluster_info_get(s->world, from, &from_info) == ORR_OK);
    MODEL_CHECK(orr_cluster_info_get(s->world, to, &to_info) == ORR_OK);
    uint32_t count = from_info.row_count;
    if (count > OPS_BATCH_MAX * 4) {
        return;
    }
    ops_rows_read(s, from, 0, count, row_ids);
    ops_rows_moved(s, orr_rows_move_all(s->world, from, to), count, &to_info);
}

// ---- columns ------------------------------------------------------------------------------------

// Writes some rows of a column, given its start, values per row and the entities. The block is
// stamped, so all its rows count as written.
static void ops_column_fill(ops* s, uint32_t type, void* column, uint32_t capacity,
                            const orr_entity* ids, uint32_t count)
{
    size_t size = s->oracle.types[type].world_size;
    uint32_t writes = 1 + ops_below(s, 8);
    for (uint32_t i = 0; i < writes && s->types[type].plain; i++) {
        uint32_t slot = ops_below(s, count);
        oracle_component* component = oracle_component_of(oracle_find(&s->oracle, ids[slot]), type);
        MODEL_CHECK(component != NULL);
        uint32_t instance = ops_below(s, oracle_value_count(component));
        ops_make(s, type, (uint8_t*)column + (slot * capacity + instance) * size,
                 oracle_value_at(component, instance));
        oracle_component_written(&s->oracle, component);
    }
    oracle_component* first = oracle_component_of(oracle_find(&s->oracle, ids[0]), type);
    oracle_component_written(&s->oracle, first);
    s->done++;
}

static void op_column_write(ops* s)
{
    orr_cluster cluster = ops_pick_cluster(s);
    orr_cluster_info info;
    if (cluster.id == 0) {
        return;
    }
    MODEL_CHECK(orr_cluster_info_get(s->world, cluster, &info) == ORR_OK);
    uint32_t chunk = ops_below(s, info.chunk_count + 1);
    uint32_t type = info.type_count > 0 && !ops_chance(s, 8)
                        ? oracle_type_index(&s->oracle, info.types[ops_below(s, info.type_count)])
                        : ops_pick_type(s);
    orr_type world_type = s->oracle.types[type].type;
    const void* before = orr_column_read(s->world, cluster, chunk, world_type);
    void* column = orr_column_write(s->world, cluster, chunk, world_type);
    MODEL_CHECK(before != NULL || column == NULL);
    if (column == NULL) {
        if (before != NULL && s->oracle.types[type].reference_count > 0) {
            ops_refused_in_place(s, type);
        } else if (before != NULL) {
            (void)ops_refused(s, ops_last_result(s));
        }
        return;
    }
    MODEL_CHECK(s->oracle.types[type].reference_count == 0);
    MODEL_CHECK(orr_column_tick(s->world, cluster, chunk, world_type) == orr_world_tick(s->world));
    uint32_t count = orr_chunk_entities(s->world, cluster, chunk, chunk_ids, ORR_CHUNK_CAPACITY);
    MODEL_CHECK(count > 0 && count == orr_chunk_count(s->world, cluster, chunk));
    ops_column_fill(s, type, column,
                    orr_column_instances(s->world, cluster, chunk, world_type).capacity, chunk_ids,
                    count);
}

static void op_span_write(ops* s)
{
    orr_cluster cluster = ops_pick_cluster(s);
    orr_cluster_info info;
    if (cluster.id == 0) {
        return;
    }
    MODEL_CHECK(orr_cluster_info_get(s->world, cluster, &info) == ORR_OK);
    if (info.type_count == 0 || info.row_count == 0) {
        return;
    }
    orr_type world_type = info.types[ops_below(s, info.type_count)];
    uint32_t type = oracle_type_index(&s->oracle, world_type);
    // At most the rest of the chunk, so that the operation does not depend on the position of
    // blocks.
    uint32_t row = ops_below(s, info.row_count);
    uint32_t most = ORR_CHUNK_CAPACITY - row % ORR_CHUNK_CAPACITY;
    most = most < info.row_count - row ? most : info.row_count - row;
    uint32_t count = most;
    void* span = orr_span_write(s->world, cluster, world_type, row, &count);
    if (s->oracle.types[type].multiple || s->oracle.types[type].reference_count > 0) {
        MODEL_CHECK(span == NULL && count == 0);
        ops_refused_in_place(s, type);
        return;
    }
    if (span == NULL) {
        (void)ops_refused(s, ops_last_result(s));
        return;
    }
    MODEL_CHECK(count == most);
    // A run ends at the end of a chunk or of the cluster.
    MODEL_CHECK((row + count) % ORR_CHUNK_CAPACITY == 0 || row + count == info.row_count);
    count = count < OPS_BATCH_MAX ? count : OPS_BATCH_MAX;
    ops_rows_read(s, cluster, row, count, row_ids);
    ops_column_fill(s, type, span, 1, row_ids, count);
}

static void op_span_read(ops* s)
{
    orr_cluster cluster = ops_pick_cluster(s);
    orr_cluster_info info;
    if (cluster.id == 0) {
        return;
    }
    MODEL_CHECK(orr_cluster_info_get(s->world, cluster, &info) == ORR_OK);
    if (info.type_count == 0) {
        return;
    }
    orr_type world_type = info.types[ops_below(s, info.type_count)];
    uint32_t type = oracle_type_index(&s->oracle, world_type);
    size_t size = s->oracle.types[type].world_size;
    uint32_t total = 0, count = UINT32_MAX;
    const uint8_t* span;
    while ((span = orr_span_read(s->world, cluster, world_type, total, &count)) != NULL) {
        MODEL_CHECK(count > 0);
        // The last row of the run is the row that its chunk says.
        uint32_t last = total + count - 1;
        const uint8_t* column =
            orr_column_read(s->world, cluster, last / ORR_CHUNK_CAPACITY, world_type);
        MODEL_CHECK(size == 0 ||
                    span + (count - 1) * size == column + last % ORR_CHUNK_CAPACITY * size);
        total += count;
    }
    MODEL_CHECK(total == (s->oracle.types[type].multiple ? 0 : info.row_count) && count == 0);
}

// ---- finding ------------------------------------------------------------------------------------

static bool ops_even(void* user, const orr_world* world, orr_cluster cluster)
{
    (void)user;
    orr_cluster_info info;
    return orr_cluster_info_get(world, cluster, &info) == ORR_OK && info.row_count % 2 == 0;
}

static bool ops_contains(const ops_set* set, const orr_cluster_info* info, bool all)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < info->type_count; i++) {
        for (uint32_t j = 0; j < set->type_count; j++) {
            found += info->types[i].id == set->types[j].id;
        }
    }
    for (uint32_t i = 0; i < info->tag_count; i++) {
        for (uint32_t j = 0; j < set->tag_count; j++) {
            found += info->tags[i] == set->tags[j];
        }
    }
    return all ? found == set->type_count + set->tag_count : found > 0;
}

static void op_clusters_find(ops* s)
{
    ops_set with, without;
    ops_set_make(s, &with, false);
    ops_set_make(s, &without, false);
    bool even = ops_chance(s, 3);
    orr_cluster_match match = {.types = with.types,
                               .type_count = with.type_count,
                               .tags = with.tags,
                               .tag_count = with.tag_count,
                               .without_types = without.types,
                               .without_type_count = without.type_count,
                               .without_tags = without.tags,
                               .without_tag_count = without.tag_count,
                               .predicate = even ? ops_even : NULL};
    orr_cluster found[8];
    uint32_t count = orr_clusters_find(s->world, &match, found, 8), expected = 0;
    orr_cluster cluster = orr_cluster_next(s->world, (orr_cluster){0, 0});
    for (; cluster.id != 0; cluster = orr_cluster_next(s->world, cluster)) {
        orr_cluster_info info;
        MODEL_CHECK(orr_cluster_info_get(s->world, cluster, &info) == ORR_OK);
        if (ops_contains(&with, &info, true) && !ops_contains(&without, &info, false) &&
            (!even || info.row_count % 2 == 0)) {
            MODEL_CHECK(expected >= 8 || (found[expected].id == cluster.id &&
                                          found[expected].generation == cluster.generation));
            expected++;
        }
    }
    MODEL_CHECK(count == expected);
}

const ops_entry ops_cluster_table[] = {
    {"cluster_get", 20, op_cluster_get},     {"cluster_double", 2, op_cluster_double},
    {"cluster_clear", 4, op_cluster_clear},  {"cluster_delete", 6, op_cluster_delete},
    {"cluster_sweep", 12, op_cluster_sweep}, {"stale_cluster", 4, op_stale_cluster},
    {"entity_move", 30, op_entity_move},     {"rows_move", 12, op_rows_move},
    {"rows_move_all", 8, op_rows_move_all},  {"column_write", 30, op_column_write},
    {"span_write", 15, op_span_write},       {"span_read", 4, op_span_read},
    {"clusters_find", 4, op_clusters_find},  {NULL, 0, NULL},
};
