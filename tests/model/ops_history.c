// SPDX-License-Identifier: MIT
// Takes snapshots of the world, forgets them and restores them. With each snapshot the oracle is
// copied in full, with everything that the interpreter knows of the world.
#include "model/ops.h"

#include "store/snapshot/snapshot_detail.h"
#include "test.h"

#include <stdlib.h>

#define HISTORY_ENTITIES_MAX 6000u // Copying larger oracles takes long: done seldom.

struct ops_memory {
    orri_snapshot* snapshot;
    oracle oracle;
    uint64_t hash, tick;
    orr_cluster clusters[4096];
    uint32_t cluster_count;
    orr_cluster stale[64];
    uint32_t stale_count;
    orr_address address;
    orr_component_ref refs[OPS_REFS_MAX];
    orr_entity singleton;
};

static void history_note(const ops* s, ops_memory* m)
{
    oracle_clone(&s->oracle, &m->oracle);
    memcpy(m->clusters, s->clusters, sizeof m->clusters);
    memcpy(m->stale, s->stale, sizeof m->stale);
    memcpy(m->refs, s->refs, sizeof m->refs);
    m->cluster_count = s->cluster_count;
    m->stale_count = s->stale_count;
    m->address = s->address;
    m->singleton = s->singleton;
    m->tick = orr_world_tick(s->world);
}

ops_memory* ops_remember(ops* s)
{
    uint64_t hash = s->shape->hash_seldom ? 0 : orr_world_hash(s->world);
    orri_snapshot* snapshot = orri_snapshot_take(s->world);
    MODEL_CHECK(s->shape->hash_seldom || orr_world_hash(s->world) == hash);
    if (snapshot == NULL) {
        (void)ops_refused(s, ops_last_result(s));
        return NULL;
    }
    MODEL_CHECK(!orri_snapshot_lost(snapshot));
    ops_memory* m = calloc(1, sizeof *m);
    MODEL_CHECK(m != NULL);
    m->snapshot = snapshot;
    m->hash = hash;
    history_note(s, m);
    return m;
}

void ops_forget(ops* s, ops_memory* m)
{
    orri_snapshot_release(s->world, m->snapshot);
    oracle_term(&m->oracle);
    free(m);
}

// Ids that were created since are dead.
static void history_check_ids(const ops* s, const oracle* now, const oracle* then)
{
    for (uint32_t i = 0; i < now->live_count; i++) {
        orr_entity id = now->live[i]->id;
        MODEL_CHECK(orr_alive(s->world, id) == (oracle_find(then, id) != NULL));
    }
}

static void history_restore(ops* s, ops_memory* m)
{
    history_check_ids(s, &s->oracle, &m->oracle);
    oracle_restore(&s->oracle, &m->oracle);
    memcpy(s->clusters, m->clusters, sizeof m->clusters);
    memcpy(s->stale, m->stale, sizeof m->stale);
    memcpy(s->refs, m->refs, sizeof m->refs);
    s->cluster_count = m->cluster_count;
    s->stale_count = m->stale_count;
    s->address = m->address;
    s->singleton = m->singleton;
}

bool ops_travel(ops* s, ops_memory* m)
{
    orri_restore* way = NULL;
    orr_result result = orri_snapshot_restore_prepare(s->world, m->snapshot, &way);
    if (ops_refused(s, result)) {
        return false;
    }
    orri_snapshot_restore(s->world, way);
    MODEL_CHECK(orri_snapshot_valid(m->snapshot));
    history_restore(s, m);
    s->travels++;
    MODEL_CHECK(orr_world_tick(s->world) == m->tick);
    MODEL_CHECK(s->shape->hash_seldom || orr_world_hash(s->world) == m->hash);
    if (orr_world_validate(s->world) != ORR_OK) {
        model_fail(__FILE__, __LINE__, s->kit.errors.text);
    }
    return true;
}

void ops_memories_release(ops* s)
{
    for (uint32_t i = 0; i < OPS_MEMORIES_MAX; i++) {
        if (s->memories[i] != NULL) {
            ops_forget(s, s->memories[i]);
            s->memories[i] = NULL;
        }
    }
    MODEL_CHECK(s->world->cow.snapshots == NULL);
}

// ---- tokens -------------------------------------------------------------------------------------

static uint64_t history_pool_tokens(orri_pool_share* share, uint64_t round)
{
    uint64_t count = 0;
    bool counted = share->round == round;
    share->round = round;
    if (counted || share->attached || share->lost || !share->pool->type->info.has_hooks) {
        return 0;
    }
    for (uint32_t i = 0; i < share->used; i++) {
        count += share->owners[i] != ORRI_INDEX_NONE;
    }
    return count;
}

static uint64_t history_tokens(const orri_snapshot* snapshot, uint64_t round)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < snapshot->cluster_count; i++) {
        const orri_cluster_node* cluster = snapshot->clusters[i];
        for (uint32_t k = 0; k < cluster->chunk_count; k++) {
            const orri_chunk_node* chunk = cluster->chunks[k];
            for (uint32_t c = 0; c < chunk->column_count; c++) {
                orri_share* share = chunk->columns[c].share;
                count += share != NULL ? ops_share_tokens(share, round) : 0;
            }
        }
    }
    for (uint32_t p = 0; p < snapshot->pool_count; p++) {
        for (uint32_t b = 0; b < snapshot->pools[p]->block_count; b++) {
            count += history_pool_tokens(snapshot->pools[p]->blocks[b].share, round);
        }
    }
    return count;
}

uint64_t ops_memories_tokens(const ops* s, uint64_t round)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < OPS_MEMORIES_MAX; i++) {
        count += s->memories[i] != NULL ? history_tokens(s->memories[i]->snapshot, round) : 0;
    }
    return count;
}

// ---- operations ---------------------------------------------------------------------------------

static bool history_wanted(ops* s)
{
    uint32_t one_in = s->shape->history * (s->oracle.live_count > HISTORY_ENTITIES_MAX ? 8 : 1);
    return s->shape->history != 0 && ops_chance(s, one_in);
}

static void op_remember(ops* s)
{
    uint32_t place = ops_below(s, OPS_MEMORIES_MAX);
    if (history_wanted(s) && s->memories[place] == NULL) {
        s->memories[place] = ops_remember(s);
    }
}

static void op_forget(ops* s)
{
    uint32_t place = ops_below(s, OPS_MEMORIES_MAX);
    if (history_wanted(s) && s->memories[place] != NULL) {
        ops_forget(s, s->memories[place]);
        s->memories[place] = NULL;
    }
}

static void op_travel(ops* s)
{
    uint32_t place = ops_below(s, OPS_MEMORIES_MAX);
    ops_memory* m = s->memories[place];
    bool whole = ops_chance(s, 8);
    if (!history_wanted(s) || m == NULL) {
        return;
    }
    if (orri_snapshot_lost(m->snapshot)) {
        MODEL_CHECK(s->shape->refuse_memory || s->shape->refuse_hooks);
        orri_restore* way = NULL;
        ops_refused_as(s, orri_snapshot_restore_prepare(s->world, m->snapshot, &way), ORR_ERR_PAST);
        s->memories_lost++;
        s->memories[place] = NULL;
        ops_forget(s, m);
        return;
    }
    if (ops_travel(s, m) && whole) {
        ops_check(s);
    }
}

// Prepared, but not restored.
static void op_stay(ops* s)
{
    const ops_memory* m = s->memories[ops_below(s, OPS_MEMORIES_MAX)];
    if (!history_wanted(s) || m == NULL || orri_snapshot_lost(m->snapshot)) {
        return;
    }
    orri_restore* way = NULL;
    uint64_t hash = s->shape->hash_seldom ? 0 : orr_world_hash(s->world);
    if (!ops_refused(s, orri_snapshot_restore_prepare(s->world, m->snapshot, &way))) {
        orri_snapshot_restore_cancel(s->world, way);
    }
    MODEL_CHECK(s->shape->hash_seldom || orr_world_hash(s->world) == hash);
}

const ops_entry ops_history_table[] = {
    {"remember", 6, op_remember}, {"forget", 2, op_forget}, {"travel", 6, op_travel},
    {"stay", 1, op_stay},         {NULL, 0, NULL},
};

#undef HISTORY_ENTITIES_MAX
