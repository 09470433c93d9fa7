// SPDX-License-Identifier: MIT
// The frame of the interpreter: bytes, picking, expected refusals, the table of operations.
#include "model/ops.h"

#include "store/world/world.h"

#include "test.h"

#include <stdlib.h>

// ---- bytes --------------------------------------------------------------------------------------

static uint32_t ops_byte(ops* s)
{
    if (s->data_used >= s->data_size) {
        s->ended = true;
        return 0;
    }
    return s->data[s->data_used++];
}

static uint64_t ops_random(ops* s)
{
    return s->separate ? orr_random(s->shape->separate_seed, s->separate_used++, 1, 0)
                       : orr_random(s->seed, s->seed_used++, 0, 0);
}

uint32_t ops_below(ops* s, uint32_t count)
{
    if (count <= 1) {
        return 0;
    }
    if (s->data == NULL) {
        return (uint32_t)orr_random_below(ops_random(s), count);
    }
    uint32_t number = ops_byte(s);
    if (count > 256) {
        number = number << 8 | ops_byte(s);
    }
    return number % count;
}

bool ops_chance(ops* s, uint32_t one_in)
{
    return ops_below(s, one_in) == 0;
}

// A fuzzer supplies one byte per value, so that most of its bytes are used for decisions.
void ops_bytes(ops* s, void* out, size_t size)
{
    uint64_t state = s->data == NULL ? ops_random(s) : ops_byte(s) * 0x9E3779B97F4A7C15u;
    for (size_t i = 0; i < size; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((uint8_t*)out)[i] = (uint8_t)(state >> 24);
    }
}

// ---- picking ------------------------------------------------------------------------------------

oracle_entity* ops_pick(ops* s)
{
    uint32_t count = s->oracle.live_count;
    return count > 0 ? s->oracle.live[ops_below(s, count)] : NULL;
}

uint32_t ops_pick_type(ops* s)
{
    return ops_below(s, s->oracle.type_count);
}

uint32_t ops_pick_chunk_type(ops* s)
{
    uint32_t type = ops_pick_type(s);
    while (s->oracle.types[type].pinned) {
        type = (type + 1) % s->oracle.type_count;
    }
    return type;
}

uint32_t ops_pick_type_of(ops* s, const oracle_entity* entity)
{
    return entity->component_count > 0 && !ops_chance(s, 6)
               ? entity->components[ops_below(s, entity->component_count)].type
               : ops_pick_type(s);
}

orr_tag ops_pick_tag(ops* s)
{
    return s->tags[ops_below(s, s->shape->tags)];
}

uint32_t ops_pick_many(ops* s, oracle_entity** out, orr_entity* ids, uint32_t count)
{
    uint32_t live = s->oracle.live_count;
    count = count < live ? count : live;
    if (count == 0) {
        return 0;
    }
    // From a random place on, in steps: different entities without a search.
    uint32_t first = ops_below(s, live), step = 1 + ops_below(s, 3);
    uint32_t taken = 0;
    for (uint32_t i = 0; i < live && taken < count; i += step) {
        oracle_entity* entity = s->oracle.live[(first + i) % live];
        out[taken] = entity;
        ids[taken++] = entity->id;
    }
    return taken;
}

bool ops_room_for(const ops* s, uint32_t count)
{
    return s->oracle.live_count + count <= s->shape->entities_max;
}

static bool ops_cluster_same(orr_cluster a, orr_cluster b)
{
    return a.id == b.id && a.generation == b.generation;
}

void ops_cluster_seen(ops* s, orr_cluster cluster)
{
    if (cluster.id == 0) {
        return;
    }
    for (uint32_t i = 0; i < s->cluster_count; i++) {
        if (ops_cluster_same(s->clusters[i], cluster)) {
            return;
        }
    }
    if (s->cluster_count < sizeof s->clusters / sizeof s->clusters[0]) {
        s->clusters[s->cluster_count++] = cluster;
    }
}

void ops_cluster_gone(ops* s, orr_cluster cluster)
{
    for (uint32_t i = 0; i < s->cluster_count; i++) {
        if (ops_cluster_same(s->clusters[i], cluster)) {
            s->clusters[i] = s->clusters[--s->cluster_count];
        }
    }
    s->stale[s->stale_count++ % 64] = cluster;
    oracle_cluster_deleted(&s->oracle, cluster);
}

// Half of the time the cluster of some entity, so that full clusters occur; else a cluster seen
// before.
orr_cluster ops_pick_cluster(ops* s)
{
    oracle_entity* entity = ops_chance(s, 2) ? ops_pick(s) : NULL;
    if (entity != NULL) {
        orr_cluster cluster = orr_entity_cluster(s->world, entity->id);
        ops_cluster_seen(s, cluster);
        return cluster;
    }
    return s->cluster_count > 0 ? s->clusters[ops_below(s, s->cluster_count)] : (orr_cluster){0, 0};
}

// ---- refusals -----------------------------------------------------------------------------------

orr_result ops_last_result(const ops* s)
{
    return s->kit.errors.result;
}

static bool ops_refusal_planted(const ops* s, orr_result result)
{
    switch (result) {
    case ORR_ERR_MEMORY:
        // A hook that refuses to copy a shared block has the same effect for the caller.
        return (s->armed && s->kit.memory.refused > 0) ||
               (s->hooks_armed && (s->shape->shares || s->shape->history != 0));
    case ORR_ERR_HOOK:
        return s->hooks_armed;
    case ORR_ERR_CAPACITY:
        return s->shape->entities_hard > 0 || s->shape->clusters_hard > 0;
    default:
        return false;
    }
}

static _Noreturn void ops_fail_result(const ops* s, orr_result result, orr_result expected)
{
    char text[700];
    snprintf(text, sizeof text, "the call gave %s, expected %s; last error: %s",
             orr_result_name(result), orr_result_name(expected), s->kit.errors.text);
    model_fail(__FILE__, __LINE__, text);
}

bool ops_refused(ops* s, orr_result result)
{
    if (result == ORR_OK) {
        s->done++;
        return false;
    }
    if (!ops_refusal_planted(s, result)) {
        ops_fail_result(s, result, ORR_OK);
    }
    s->out_of_memory += result == ORR_ERR_MEMORY;
    s->refusals += result != ORR_ERR_MEMORY;
    return true;
}

void ops_refused_as(ops* s, orr_result result, orr_result expected)
{
    if (result != expected && (result == ORR_OK || !ops_refusal_planted(s, result))) {
        ops_fail_result(s, result, expected);
    }
    s->refusals++;
}

void ops_refused_in_place(ops* s, uint32_t type)
{
    ops_refused_as(s, ops_last_result(s),
                   s->oracle.types[type].multiple ? ORR_ERR_ARGUMENT : ORR_ERR_STATE);
}

// ---- the oracle's side of moves -----------------------------------------------------------------

static bool ops_info_has_type(const orr_cluster_info* info, orr_type type)
{
    for (uint32_t i = 0; i < info->type_count; i++) {
        if (info->types[i].id == type.id) {
            return true;
        }
    }
    return false;
}

void ops_oracle_move(ops* s, oracle_entity* entity, const orr_cluster_info* to)
{
    for (uint32_t i = entity->component_count; i > 0; i--) {
        uint32_t type = entity->components[i - 1].type;
        if (!s->oracle.types[type].pinned && !ops_info_has_type(to, s->oracle.types[type].type)) {
            oracle_component_remove(&s->oracle, entity, type);
        }
    }
    s->oracle.structure++;
    for (uint32_t i = 0; i < to->type_count; i++) {
        oracle_component_add(&s->oracle, entity, oracle_type_index(&s->oracle, to->types[i]));
    }
    entity->tag_count = 0;
    for (uint32_t i = 0; i < to->tag_count; i++) {
        oracle_tag_add(entity, to->tags[i]);
    }
}

bool ops_fits(const ops* s, const oracle_entity* entity, const orr_cluster_info* to)
{
    for (uint32_t i = 0; i < to->type_count; i++) {
        const oracle_component* component =
            oracle_component_of(entity, oracle_type_index(&s->oracle, to->types[i]));
        if (component != NULL && component->instance_count > to->capacities[i]) {
            return false;
        }
    }
    return true;
}

oracle_entity* ops_oracle_create_in(ops* s, orr_entity id, const orr_cluster_info* info)
{
    oracle_entity* entity = oracle_create(&s->oracle, id);
    ops_oracle_move(s, entity, info);
    return entity;
}

// ---- running ------------------------------------------------------------------------------------

static const ops_entry* const ops_tables[] = {
    ops_entity_table, ops_cluster_table, ops_batch_table, ops_world_table,  ops_kind_table,
    ops_query_table,  ops_loop_table,    ops_bulk_table,  ops_bundle_table, ops_history_table};

static uint32_t ops_weight_total(const ops_entry* const* tables, size_t count)
{
    uint32_t total = 0;
    for (size_t t = 0; t < count; t++) {
        for (const ops_entry* entry = tables[t]; entry->name != NULL; entry++) {
            total += entry->weight;
        }
    }
    return total;
}

static const ops_entry* ops_choose_of(ops* s, const ops_entry* const* tables, size_t count)
{
    uint32_t left = ops_below(s, ops_weight_total(tables, count));
    for (size_t t = 0; t < count; t++) {
        for (const ops_entry* entry = tables[t]; entry->name != NULL; entry++) {
            if (left < entry->weight) {
                return entry;
            }
            left -= entry->weight;
        }
    }
    model_fail(__FILE__, __LINE__, "weights do not add up");
}

static const ops_entry* ops_choose(ops* s)
{
    static const ops_entry* const history[] = {ops_history_table};
    if (s->shape->history == 1 && ops_chance(s, 12)) {
        return ops_choose_of(s, history, 1);
    }
    return ops_choose_of(s, ops_tables, sizeof ops_tables / sizeof ops_tables[0]);
}

// Before some operations, memory or a hook is set to be refused.
static void ops_arm(ops* s)
{
    s->armed = s->shape->refuse_memory && ops_chance(s, 4);
    s->hooks_armed = s->shape->refuse_hooks && ops_chance(s, 24);
    if (s->armed) {
        uint64_t nth = 1 + ops_below(s, 6);
        failing_alloc_arm(&s->kit.memory, nth, ops_chance(s, 2));
    }
    kit_tokens.refuse_after = s->hooks_armed ? 1 + ops_below(s, 3) : 0;
}

static void ops_disarm(ops* s)
{
    failing_alloc_arm(&s->kit.memory, 0, false);
    kit_tokens.refuse_after = 0;
    s->armed = s->hooks_armed = false;
}

bool ops_step(ops* s)
{
    if (s->name_type.id == 0) {
        s->name_type = orr_type_find(s->world, "orr_name");
    }
    const ops_entry* entry = ops_choose(s);
    model_at = (model_context){
        .shape = s->shape->name, .operation = entry->name, .number = model_at.number + 1};
    // A refused call must leave the hash unchanged. Comparing each time would take too long.
    bool wanted = s->shape->refuse_memory || ops_chance(s, 16);
    bool look = ops_chance(s, 4) && wanted && !s->shape->hash_seldom;
    uint64_t hash = look ? orr_world_hash(s->world) : 0;
    uint64_t done = s->done, refusals = s->refusals + s->out_of_memory;
    ops_arm(s);
    entry->run(s);
    ops_disarm(s);
    if (s->oracle.live_count > s->live_peak) {
        s->live_peak = s->oracle.live_count;
    }
    if (look && s->done == done && s->refusals + s->out_of_memory > refusals) {
        MODEL_CHECK(orr_world_hash(s->world) == hash);
        ops_queries_check_one(s);
        s->checked_hash++;
    }
    return !s->ended;
}

static void ops_note_rows(ops* s)
{
    for (uint32_t i = 0; i < s->oracle.cluster_count; i++) {
        uint32_t rows = kit_rows(s->world, s->oracle.clusters[i]);
        s->rows_peak = rows > s->rows_peak ? rows : s->rows_peak;
    }
}

void ops_check(ops* s)
{
    oracle_compare(&s->oracle, s->world);
    ops_note_rows(s);
    ops_shares_check(s);
    ops_queries_check(s);
    if (orr_world_validate(s->world) != ORR_OK) {
        model_fail(__FILE__, __LINE__, s->kit.errors.text);
    }
    MODEL_CHECK(kit_tokens.broken == 0);
    static uint64_t round;
    round++;
    MODEL_CHECK(kit_tokens.live == ops_tokens_expected(s) + ops_shares_tokens(s, round) +
                                       ops_memories_tokens(s, round));
    orr_world_stats stats;
    orr_world_stats_get(s->world, &stats);
    MODEL_CHECK(stats.entities == s->oracle.live_count);
    bool named = orr_type_find(s->world, "orr_name").id != 0;
    MODEL_CHECK(stats.types == s->oracle.type_count + named);
    MODEL_CHECK(stats.clusters == s->oracle.cluster_count);
    MODEL_CHECK(stats.bytes == s->kit.memory.live_bytes);
    MODEL_CHECK(s->kit.memory.mistakes == 0);
}

static void ops_tags_begin(ops* s)
{
    // All 64 bits count, and 0 is a valid tag.
    for (uint32_t i = 0; i < OPS_TAGS_MAX; i++) {
        s->tags[i] = (i % 3 == 0) ? i : ~(orr_tag)0 - (orr_tag)i * 0x100000001u;
    }
}

void ops_begin(ops* s, const ops_shape* shape, uint64_t seed, const uint8_t* data, size_t size,
               uint8_t fill)
{
    memset(s, 0, sizeof *s);
    s->shape = shape;
    s->seed = seed;
    s->data = data;
    s->data_size = size;
    s->kit.memory.fresh_byte = fill;
    model_at = (model_context){.shape = shape->name, .operation = "begin"};
    s->foreign = orr_world_create(&(orr_world_desc){.id_salt = 3, .log.level = ORR_LOG_OFF});
    MODEL_CHECK(s->foreign != NULL);
    s->foreign_id = orr_create(s->foreign);
    MODEL_CHECK(s->foreign_id.id != 0);
    orr_world_desc desc = {.seed = 7,
                           .id_salt = 5,
                           .entities_max = shape->entities_hard,
                           .clusters_max = shape->clusters_hard};
    s->world = kit_begin(&s->kit, &desc);
    // Rows are logged for holders even with small blocks, and logs of many lengths become copies.
    s->world->cow.row_log_least = seed % 5 == 0 ? s->world->cow.row_log_least : 0;
    s->world->cow.row_log_shift = (uint32_t)(seed / 5 % 4);
    oracle_init(&s->oracle);
    ops_tags_begin(s);
    ops_types_begin(s);
    ops_queries_begin(s);
}

uint64_t ops_end(ops* s)
{
    model_at.operation = "end";
    ops_shares_check(s);
    ops_shares_release(s);
    ops_memories_release(s);
    orr_tick_advance(s->world);
    ops_check(s);
    orr_world_stats stats;
    orr_world_stats_get(s->world, &stats);
    MODEL_CHECK(stats.blobs == ops_blobs_expected(s));
    uint64_t hash = orr_world_hash(s->world);
    ops_queries_end(s);
    ops_bundles_end(s);
    kit_end(&s->kit);
    orr_world_destroy(s->foreign);
    oracle_term(&s->oracle);
    model_at.operation = NULL;
    return hash;
}
