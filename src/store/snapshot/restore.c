// SPDX-License-Identifier: MIT
// Going back to a snapshot. Ready makes all that may be refused: clusters and chunks that are gone, copies for who holds what is there now, pages and
// room in tables. Back puts it in place: what nobody wrote since stays as it is; other blocks get the values that the snapshot kept, moved, not copied, so
// that no hook is asked, and the snapshot shares them again.
//
// Order matters. What goes, goes first (chunks, then clusters), with records and lists as they are now; then numbers and ids are free for what comes. What
// is derived (links, names, the order, free chunk ids) is found anew at the end.
#include "store/cow/row_log.h"
#include "store/relation/entity_name.h"
#include "store/relation/relation.h"
#include "store/snapshot/snapshot_detail.h"

// Where a cluster of the snapshot is now.
typedef struct restore_cluster {
    orri_cluster* cluster;
    bool fresh;        // It was gone.
    bool told;         // Queries are to match it anew.
    orri_chunk** made; // [chunk_count of the node]; NULL: the chunk is there.
    orri_chunk**
        spare; // Likewise: chunks that hold nothing but enable bits, for those that lack them now.
} restore_cluster;

// A copy of values that a frozen holder keeps where they are.
typedef struct restore_copy {
    const orri_share* share;
    void* data;
} restore_copy;

struct orri_restore {
    orri_snapshot* snapshot;
    restore_cluster* clusters;
    uint32_t cluster_count;
    restore_copy* copies;
    uint32_t copy_count, copy_capacity;
    orri_tag_list tags;
    bool relations; // Links are to be found anew.
    bool names;     // Likewise.
};

// ---- what is there ----------------------------------------------------------------------------------------------

static bool restore_chunk_there(const orri_cluster* cluster, const orri_cluster_node* node,
                                uint32_t i)
{
    const orri_chunk_node* then = i < node->chunk_count ? node->chunks[i] : NULL;
    const orri_chunk* now = i < cluster->chunk_count ? cluster->chunks[i] : NULL;
    return now != NULL && then != NULL && now->id == then->id && now->capacity == then->capacity;
}

// True when a column holds what it held then.
static bool restore_column_kept(const orri_chunk* chunk, uint32_t column, const orri_share* share)
{
    return share == NULL || (chunk->columns[column].share == share && orri_share_clean(share));
}

static bool restore_related(const orri_cluster* cluster, uint32_t column)
{
    return column == cluster->type_count
               ? cluster->indexed
               : column < cluster->type_count && cluster->columns[column].table->relation != NULL;
}

// True when it needs no copy to become what it was: rows of logs are put back. (Indexed references are read before.)
static bool restore_column_turns(const orri_chunk* chunk, uint32_t column, const orri_share* share)
{
    const orri_share* now = chunk->columns[column].share;
    return now != NULL && !restore_related(chunk->cluster, column) &&
           orri_row_log_can_rewind(share, now);
}

// ---- ready: memory ------------------------------------------------------------------------------------------------

// A frozen holder keeps its values where they are: others are made for the world.
static bool restore_ready_copy(orr_world* world, orri_restore* way, const orri_share* share)
{
    if (share == NULL || share->kind != ORRI_SHARE_FROZEN || share->type == NULL ||
        share->type->plain) {
        return true;
    }
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_SHARE, &way->copies, &way->copy_capacity,
                      way->copy_count + 1)) {
        return false;
    }
    void* data = orri_alloc(&world->env, ORR_MEMORY_SHARE, share->size, ORRI_BLOCK_ALIGN);
    if (data == NULL || !orri_cells_copy(orri_share_cells(share, data),
                                         orri_share_cells(share, share->data), share->rows)) {
        orri_free(&world->env, ORR_MEMORY_SHARE, data, share->size, ORRI_BLOCK_ALIGN);
        return false;
    }
    way->copies[way->copy_count++] = (restore_copy){share, data};
    return true;
}

// A chunk that is there: whoever else holds what will be overwritten gets a copy.
static bool restore_ready_kept(orr_world* world, orri_restore* way, orri_chunk* chunk,
                               const orri_chunk_node* then, orri_chunk** spare)
{
    for (uint32_t c = 0; c < then->column_count; c++) {
        orri_share* share = then->columns[c].share;
        if (restore_column_kept(chunk, c, share) || restore_column_turns(chunk, c, share)) {
            continue;
        }
        way->relations = way->relations || restore_related(chunk->cluster, c);
        if (!orri_row_log_materialize(world, share) ||
            !orri_share_try_detach_column(world, chunk, c) ||
            !restore_ready_copy(world, way, share)) {
            return false;
        }
        if (chunk->columns[c].data == NULL) { // Enable bits that are all on now.
            *spare = *spare != NULL ? *spare : orri_chunk_alloc(world, chunk->cluster);
            if (*spare == NULL || !orri_column_take(world, *spare, c, 1)) {
                return false;
            }
        }
    }
    return true;
}

// A chunk that is not there.
static bool restore_ready_made(orr_world* world, orri_restore* way, orri_cluster* cluster,
                               const orri_chunk_node* then, uint32_t wanted, orri_chunk** made)
{
    orri_chunk* chunk = *made = orri_chunk_alloc(world, cluster);
    way->relations = true;
    if (chunk == NULL || !orri_chunk_reserve_tables(world, cluster, then->id)) {
        return false;
    }
    chunk->id = then->id;
    chunk->number = then->number;
    chunk->capacity = then->capacity;
    for (uint32_t c = 0; c < chunk->column_count; c++) {
        orri_share* share = then->columns[c].share;
        bool wants = c < cluster->column_count || share != NULL;
        if ((share != NULL && !orri_share_materialize(world, share)) ||
            (wants && !orri_column_take(world, chunk, c, wanted)) ||
            !restore_ready_copy(world, way, share)) {
            return false;
        }
    }
    return true;
}

static bool restore_bits_differ(const orri_cluster* cluster, const orri_cluster_node* node)
{
    for (uint32_t c = 0; c <= node->type_count; c++) {
        if (cluster->columns[c].has_bits != node->has_bits[c]) {
            return true;
        }
    }
    return false;
}

static bool restore_ready_cluster(orr_world* world, orri_restore* way,
                                  const orri_cluster_node* node, restore_cluster* back)
{
    const orri_cluster_slot* slot =
        node->index < world->clusters.slot_count ? &world->clusters.slots[node->index] : NULL;
    orri_cluster* cluster = slot != NULL ? slot->cluster : NULL;
    back->fresh = cluster == NULL || cluster->sequence != node->sequence;
    if (back->fresh) {
        cluster = orri_cluster_revive(world, node->types, node->capacities, node->type_count,
                                      node->tags, node->tag_count, way->snapshot->cluster_count);
    }
    back->cluster = cluster;
    if (cluster == NULL) {
        return false;
    }
    back->told = back->fresh || restore_bits_differ(cluster, node);
    uint32_t count = node->chunk_count;
    back->made = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SHARE, orri_chunk*, count);
    back->spare = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SHARE, orri_chunk*, count);
    bool ok = back->made != NULL && back->spare != NULL &&
              ORRI_RESERVE(&world->env, ORR_MEMORY_CLUSTER, &cluster->chunks,
                           &cluster->chunk_capacity, count);
    for (uint32_t i = 0; ok && i < count; i++) {
        ok = !back->fresh && restore_chunk_there(cluster, node, i)
                 ? restore_ready_kept(world, way, cluster->chunks[i], node->chunks[i],
                                      &back->spare[i])
                 : restore_ready_made(world, way, cluster, node->chunks[i], count - i,
                                      &back->made[i]);
    }
    return ok;
}

// ---- ready: the rest -------------------------------------------------------------------------------------------------

static bool restore_page_kept(const orr_world* world, uint32_t page, const orri_share* share)
{
    return world->index.metas[page].share == share && orri_share_clean(share);
}

static bool restore_ready_index(orr_world* world, orri_restore* way)
{
    const orri_snapshot* then = way->snapshot;
    if (!orri_index_room(world, then->entity_count)) {
        return false;
    }
    way->relations = way->relations || then->entity_count != world->hot.count;
    for (uint32_t p = 0; p < then->page_count; p++) {
        if (!restore_page_kept(world, p, then->pages[p])) {
            way->relations = true;
            if (!orri_row_log_materialize(world, then->pages[p]) ||
                !orri_share_try_detach_page(world, p)) {
                return false;
            }
        }
    }
    // Others hold records there that none will be: who comes next must not take them for its own.
    for (uint32_t p = then->page_count; p < world->index.page_count; p++) {
        if (!orri_share_try_detach_page(world, p)) {
            return false;
        }
    }
    return true;
}

// Pages for the links of one column. Who is alive then is not asked: a page too many does no harm.
static bool restore_ready_links(orr_world* world, const orri_snapshot* then,
                                orri_relation* relation, const orri_share* values,
                                const uint32_t* ids)
{
    const orri_type* type = relation->type;
    for (uint32_t row = 0; row < values->rows; row++) {
        const uint8_t* value = (const uint8_t*)values->data + (size_t)row * type->info.size;
        for (uint32_t e = 0; e < type->indexed_count; e++) {
            orr_entity target;
            memcpy(&target, value + type->indexed[e].offset, sizeof target);
            uint32_t index = orri_id_index(target);
            if (target.id != 0 && index < then->entity_count &&
                !orri_relation_reserve(world, relation, e, ids[row], index)) {
                return false;
            }
        }
    }
    return true;
}

static bool restore_ready_relations(orr_world* world, const orri_restore* way)
{
    const orri_snapshot* then = way->snapshot;
    for (uint32_t i = 0; way->relations && i < then->cluster_count; i++) {
        const orri_cluster_node* node = then->clusters[i];
        const orri_cluster* cluster = way->clusters[i].cluster;
        for (uint32_t c = 0; c < node->type_count; c++) {
            orri_relation* relation = cluster->columns[c].table->relation;
            for (uint32_t k = 0; relation != NULL && k < node->chunk_count; k++) {
                const orri_chunk_node* chunk = node->chunks[k];
                const uint32_t* ids = chunk->columns[node->type_count].share->data;
                if (!restore_ready_links(world, then, relation, chunk->columns[c].share, ids)) {
                    return false;
                }
            }
        }
    }
    return true;
}

// The node of a pool; NULL: there was none, or nothing in it.
static const orri_pool_node* restore_pool_node(const orri_snapshot* then, const orri_pool* pool)
{
    for (uint32_t p = 0; p < then->pool_count; p++) {
        if (then->pools[p]->pool == pool) {
            return then->pools[p];
        }
    }
    return NULL;
}

static bool restore_ready_pools(orr_world* world, orri_restore* way)
{
    for (uint32_t p = 0; p < world->pinned.count; p++) {
        orri_pool* pool = world->pinned.list[p];
        const orri_pool_node* node = restore_pool_node(way->snapshot, pool);
        if (pool->type->info.transient) {
            continue;
        }
        if (!orri_pool_restore_prepare(world, pool, node) ||
            (pool->is_name && !orri_names_room(world, node != NULL ? node->live : 0))) {
            return false;
        }
    }
    return true;
}

// Transient chunks whose ids were another's then get others.
static bool restore_ready_ids(orr_world* world)
{
    uint32_t transient = world->transient.cluster != NULL ? world->transient.cluster->chunk_count
                                                          : 0;
    uint32_t needed = world->chunks.count + transient;
    return needed <= ORRI_CHUNKS_MAX + 1 &&
           ORRI_RESERVE(&world->env, ORR_MEMORY_WORLD, &world->chunks.list, &world->chunks.capacity,
                        needed) &&
           ORRI_RESERVE(&world->env, ORR_MEMORY_WORLD, &world->chunks.free,
                        &world->chunks.free_capacity, needed);
}

static bool restore_ready_all(orr_world* world, orri_restore* way)
{
    orri_snapshot* then = way->snapshot;
    way->clusters =
        ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SHARE, restore_cluster, then->cluster_count);
    if (way->clusters == NULL || !restore_ready_ids(world)) {
        return false;
    }
    uint32_t told = 0;
    for (uint32_t i = 0; i < then->cluster_count; i++) {
        way->cluster_count++;
        if (!restore_ready_cluster(world, way, then->clusters[i], &way->clusters[i])) {
            return false;
        }
        told += way->clusters[i].told;
    }
    if (!restore_ready_index(world, way)) {
        return false;
    }
    way->relations = way->relations && world->relations.count != 0;
    return restore_ready_relations(world, way) && restore_ready_pools(world, way) &&
           (world->tags.state == then->tags->state ||
            orri_tags_copy(world, then->tags->list.entries, then->tags->list.count, &way->tags)) &&
           (told == 0 || world->listener.cluster_room == NULL ||
            world->listener.cluster_room(world, told));
}

static orr_result restore_check(orr_world* world, const orri_snapshot* snapshot)
{
    const char* call = "going back to what is remembered";
    orr_result result = orri_check_open(world, call);
    if (result == ORR_OK && orri_snapshot_lost(snapshot)) {
        return orri_refuse(
            &world->env, ORR_ERR_PAST, ORR_LOG_ID_CALL_REFUSED,
            "%s: what was remembered of tick %llu is lost, there was no memory for a "
            "copy; give the world more memory or remember less",
            call, (unsigned long long)snapshot->tick);
    }
    return result;
}

orr_result orri_snapshot_restore_prepare(orr_world* world, orri_snapshot* snapshot,
                                         orri_restore** out)
{
    orr_result result = restore_check(world, snapshot);
    if (result != ORR_OK) {
        return result;
    }
    orri_world_settle(world);
    orri_restore* way = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SHARE, orri_restore, 1);
    if (way == NULL) {
        return orri_refuse_memory(&world->env, "going back to what is remembered");
    }
    way->snapshot = snapshot;
    if (!restore_ready_all(world, way)) {
        orri_snapshot_restore_cancel(world, way);
        return orri_refuse_memory(&world->env, "going back to what is remembered");
    }
    *out = way;
    return ORR_OK;
}

// ---- not after all -------------------------------------------------------------------------------------------------

static void restore_give_chunks(orr_world* world, orri_chunk** list, uint32_t count)
{
    for (uint32_t i = 0; list != NULL && i < count; i++) {
        if (list[i] != NULL) {
            orri_chunk_give(world, list[i]);
        }
    }
    ORRI_FREE(&world->env, ORR_MEMORY_SHARE, orri_chunk*, list, count);
}

// What was not used goes. Copies that went into columns were taken out of the list.
static void restore_end(orr_world* world, orri_restore* way)
{
    for (uint32_t i = 0; i < way->cluster_count; i++) {
        restore_cluster* back = &way->clusters[i];
        uint32_t count = way->snapshot->clusters[i]->chunk_count;
        restore_give_chunks(world, back->made, count);
        restore_give_chunks(world, back->spare, count);
        if (back->fresh && back->cluster != NULL) {
            orri_cluster_abandon(world, back->cluster);
        }
    }
    for (uint32_t i = 0; i < way->copy_count; i++) {
        const orri_share* share = way->copies[i].share;
        if (way->copies[i].data != NULL) {
            orri_cells_destruct(orri_share_cells(share, way->copies[i].data), share->rows);
            orri_free(&world->env, ORR_MEMORY_SHARE, way->copies[i].data, share->size,
                      ORRI_BLOCK_ALIGN);
        }
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_SHARE, way->copies, way->copy_capacity);
    orri_tags_drop(world, &way->tags);
    ORRI_FREE(&world->env, ORR_MEMORY_SHARE, restore_cluster, way->clusters,
              way->clusters != NULL ? way->snapshot->cluster_count : 0);
    ORRI_FREE(&world->env, ORR_MEMORY_SHARE, orri_restore, way, 1);
}

void orri_snapshot_restore_cancel(orr_world* world, orri_restore* way)
{
    restore_end(world, way);
    orri_index_trim(world);
}

// ---- what goes -------------------------------------------------------------------------------------------------------

static uint32_t restore_generation_then(const orri_snapshot* then, uint32_t index)
{
    if (index >= then->entity_count) {
        return 0;
    }
    const orri_record* records = then->pages[index >> ORRI_PAGE_BITS]->data;
    return records[index & ORRI_PAGE_MASK].generation;
}

// Transient values stay where they are, but for those of entities that are not the same then.
static void restore_drop_transient(orr_world* world, const orri_snapshot* then, orri_pool* pool)
{
    for (uint32_t slot = 0; slot < pool->slot_count; slot++) {
        uint32_t owner = orri_pool_owner(pool, slot);
        if (owner != ORRI_INDEX_NONE && !orri_index_transient(owner) &&
            orri_record_at(world, owner)->generation != restore_generation_then(then, owner)) {
            orri_pool_remove(world, pool, owner);
        }
    }
    for (uint32_t i = 0; i < pool->block_count; i++) {
        uint64_t* tick = &pool->blocks[i].tick;
        *tick = *tick < then->tick ? *tick : then->tick;
    }
}

static void restore_pools(orr_world* world, orri_restore* way)
{
    for (uint32_t p = 0; p < world->pinned.count; p++) {
        orri_pool* pool = world->pinned.list[p];
        if (pool->type->info.transient) {
            restore_drop_transient(world, way->snapshot, pool);
        } else {
            uint64_t version = pool->version;
            orri_pool_restore(world, pool, restore_pool_node(way->snapshot, pool));
            way->names = way->names || (pool->is_name && pool->version != version);
        }
    }
}

// Values that others will replace. Counts of instances are needed for it, so that all go before any come.
static void restore_clear_chunk(orri_chunk* chunk, const orri_chunk_node* then)
{
    const orri_cluster* cluster = chunk->cluster;
    uint32_t rows = orri_chunk_rows(chunk);
    for (uint32_t c = 0; !cluster->plain && c < cluster->type_count; c++) {
        if (!cluster->columns[c].type->plain &&
            !restore_column_kept(chunk, c, then->columns[c].share)) {
            orri_cells_destruct(orri_cells_at(chunk, c, 0), rows);
        }
    }
}

// Chunks that are not the same then go. Those that stay get closed up in the list later.
static void restore_clear_cluster(orr_world* world, const orri_cluster_node* node,
                                  restore_cluster* back)
{
    orri_cluster* cluster = back->cluster;
    for (uint32_t i = 0; i < cluster->chunk_count; i++) {
        if (restore_chunk_there(cluster, node, i)) {
            restore_clear_chunk(cluster->chunks[i], node->chunks[i]);
        } else {
            orri_chunk_drop(world, cluster->chunks[i]);
            cluster->chunks[i] = NULL;
        }
    }
}

// Clusters that were not there go, with all they have.
static void restore_clear_others(orr_world* world)
{
    for (orri_cluster *cluster = world->clusters.first, *next; cluster != NULL; cluster = next) {
        next = cluster->next;
        if (!cluster->clearing) {
            continue;
        }
        for (uint32_t i = 0; i < cluster->chunk_count; i++) {
            orri_chunk_drop(world, cluster->chunks[i]);
        }
        cluster->chunk_count = 0;
        cluster->row_count = 0;
        orri_cluster_expel(world, cluster);
    }
}

static void restore_clear(orr_world* world, orri_restore* way)
{
    for (orri_cluster* cluster = world->clusters.first; cluster != NULL; cluster = cluster->next) {
        cluster->clearing = true;
    }
    for (uint32_t i = 0; i < way->cluster_count; i++) {
        if (!way->clusters[i].fresh) {
            way->clusters[i].cluster->clearing = false;
            restore_clear_cluster(world, way->snapshot->clusters[i], &way->clusters[i]);
        }
    }
    restore_clear_others(world);
}

// ---- what comes ------------------------------------------------------------------------------------------------------

// Numbers, generations, free list and order of clusters.
static void restore_slots(orr_world* world, orri_restore* way)
{
    const orri_snapshot* then = way->snapshot;
    orri_cluster* last = NULL;
    uint32_t now = world->clusters.slot_count;
    world->clusters.slot_count = then->slot_count;
    world->clusters.slot_free = then->slot_free;
    for (uint32_t i = 0; i < then->slot_count; i++) {
        orri_cluster* cluster = i < now ? world->clusters.slots[i].cluster : NULL;
        world->clusters.slots[i] =
            (orri_cluster_slot){cluster, then->slots[i].generation, then->slots[i].free_next};
    }
    for (uint32_t i = 0; i < way->cluster_count; i++) {
        orri_cluster* cluster = way->clusters[i].cluster;
        const orri_cluster_node* node = then->clusters[i];
        if (way->clusters[i].fresh) {
            cluster->index = node->index;
            cluster->generation = node->generation;
            cluster->sequence = node->sequence;
            orri_cluster_admit(world, cluster);
        }
        cluster->prev = last;
        cluster->next = NULL;
        *(last != NULL ? &last->next : &world->clusters.first) = cluster;
        last = cluster;
    }
    if (last == NULL) {
        world->clusters.first = NULL;
    }
    world->clusters.last = last;
}

// The values of a frozen holder's share, made for the world. NULL: they are the holder's own to give.
static void* restore_copy_of(orri_restore* way, const orri_share* share)
{
    for (uint32_t i = 0; share->kind == ORRI_SHARE_FROZEN && i < way->copy_count; i++) {
        if (way->copies[i].share == share && way->copies[i].data != NULL) {
            void* data = way->copies[i].data;
            way->copies[i].data = NULL;
            return data;
        }
    }
    return NULL;
}

// One column gets what it had.
static void restore_column(orr_world* world, orri_restore* way, orri_chunk* chunk, uint32_t c,
                           orri_share* share)
{
    if (restore_column_turns(chunk, c, share)) {
        orri_row_log_rewind(world, share, chunk->columns[c].share);
        return;
    }
    uint8_t* to = chunk->columns[c].data;
    void* copy = restore_copy_of(way, share);
    if (share->type != NULL && !share->type->plain) {
        orri_cells_move(orri_share_cells(share, to),
                        orri_share_cells(share, copy != NULL ? copy : share->data), share->rows);
    } else {
        memcpy(to, share->data, share->size);
    }
    if (copy != NULL) {
        orri_free(&world->env, ORR_MEMORY_SHARE, copy, share->size, ORRI_BLOCK_ALIGN);
    }
    if (share->kind == ORRI_SHARE_HISTORY) {
        orri_share_reattach_column(world, share, chunk, c);
    }
}

static void restore_stamp(orr_world* world, orri_chunk* chunk, uint32_t c, uint64_t tick)
{
    chunk->columns[c].tick = tick;
    chunk->columns[c].version = world->epoch;
    orri_chunk_cold(chunk)[c].hash_version = 0;
    if (c < chunk->cluster->column_count) {
        chunk->cluster->columns[c].version = world->epoch;
    }
}

// Enable bits that are there and were not go; those that were and are not come. True when some went: who looks for what was switched looks at bits, if
// there are any, so that all columns count as written then.
static bool restore_bits(orr_world* world, orri_chunk* chunk, const orri_chunk_node* then,
                         orri_chunk* spare)
{
    bool gone = false;
    for (uint32_t c = chunk->column_count / 2; c < chunk->column_count; c++) {
        orri_column* column = &chunk->columns[c];
        if (then->columns[c].share == NULL && column->data != NULL) {
            orri_column_give(world, chunk, c);
            gone = true;
        } else if (then->columns[c].share != NULL && column->data == NULL) {
            column->data = spare->columns[c].data;
            orri_chunk_cold(chunk)[c].extent = orri_chunk_cold(spare)[c].extent;
            spare->columns[c].data = NULL;
            orri_chunk_cold(spare)[c].extent = NULL;
        }
    }
    return gone;
}

static void restore_chunk(orr_world* world, orri_restore* way, orri_chunk* chunk,
                          const orri_chunk_node* then, orri_chunk* spare, bool made)
{
    uint32_t rows = orri_chunk_rows(chunk);
    uint32_t ids = chunk->cluster->type_count;
    bool moved = made || !restore_column_kept(chunk, ids, then->columns[ids].share);
    if (moved) {
        orri_rows_close(chunk, 0, chunk->capacity);
        orri_rows_open(chunk, 0, rows);
        chunk->stamp = world->epoch;
    }
    bool all = restore_bits(world, chunk, then, spare) || moved;
    for (uint32_t c = 0; c < chunk->column_count; c++) {
        orri_share* share = then->columns[c].share;
        bool kept = !made && restore_column_kept(chunk, c, share);
        if (!kept && share != NULL) {
            restore_column(world, way, chunk, c, share);
        }
        if (!kept || all || chunk->columns[c].tick != then->columns[c].tick) {
            restore_stamp(world, chunk, c, then->columns[c].tick);
        }
    }
}

// What the flags of a cluster say of its enable bits.
static void restore_flags(orri_cluster* cluster, const orri_cluster_node* node)
{
    bool any = false;
    for (uint32_t c = 0; c <= node->type_count; c++) {
        cluster->columns[c].has_bits = node->has_bits[c];
        any = any || node->has_bits[c];
    }
    cluster->has_bits = any;
    cluster->direct = cluster->plain && !any;
    cluster->direct_new = cluster->direct && cluster->column_count == cluster->type_count + 1;
}

static void restore_cluster_fill(orr_world* world, orri_restore* way, const orri_cluster_node* node,
                                 restore_cluster* back)
{
    orri_cluster* cluster = back->cluster;
    bool rows = back->fresh || cluster->row_count != node->row_count;
    for (uint32_t i = 0; i < node->chunk_count; i++) {
        rows = rows || back->made[i] != NULL;
        cluster->chunks[i] = back->made[i] != NULL ? back->made[i] : cluster->chunks[i];
    }
    cluster->chunk_count = node->chunk_count;
    cluster->row_count = node->row_count;
    restore_flags(cluster, node);
    cluster->bits_added += back->told;
    for (uint32_t i = 0; i < node->chunk_count; i++) {
        orri_chunk* chunk = cluster->chunks[i];
        if (back->made[i] != NULL) {
            world->chunks.list[chunk->id] = chunk;
            orri_chunk_enter(chunk);
        }
        restore_chunk(world, way, chunk, node->chunks[i], back->spare[i], back->made[i] != NULL);
        back->made[i] = NULL;
    }
    for (uint32_t c = 0; rows && c < cluster->column_count; c++) {
        cluster->columns[c].version = world->epoch;
    }
    orri_cluster_trim(world, cluster); // What there is room for.
    back->fresh = false;
}

// ---- chunk ids and records ---------------------------------------------------------------------------------------------

// The chunks of transient entities have the ids that are left.
static void restore_apart_ids(orr_world* world, orri_chunk* chunk, uint32_t id)
{
    world->chunks.list[id] = chunk;
    if (chunk->id == id) {
        return;
    }
    chunk->id = id;
    for (uint32_t slot = 0; slot < orri_chunk_rows(chunk); slot++) {
        orri_record_at(world, orri_chunk_ids(chunk)[slot])->place = orri_place_make(chunk, slot);
    }
}

// Transient chunks step aside while others come.
static void restore_apart_leave(orr_world* world)
{
    const orri_cluster* transient = world->transient.cluster;
    for (uint32_t i = 0; transient != NULL && i < transient->chunk_count; i++) {
        world->chunks.list[transient->chunks[i]->id] = NULL;
    }
}

static void restore_apart_enter(orr_world* world)
{
    const orri_cluster* transient = world->transient.cluster;
    uint32_t next = 1;
    for (uint32_t i = 0; transient != NULL && i < transient->chunk_count; i++) {
        uint32_t id = transient->chunks[i]->id;
        if (world->chunks.list[id] != NULL) {
            while (next < world->chunks.count && world->chunks.list[next] != NULL) {
                next++;
            }
            id = next;
            world->chunks.count += id == world->chunks.count;
        }
        restore_apart_ids(world, transient->chunks[i], id);
    }
}

// Which ids are free does not show; the lowest are given first.
static void restore_chunk_ids(orr_world* world)
{
    restore_apart_enter(world);
    world->chunks.free_count = 0;
    for (uint32_t id = world->chunks.count; id-- > 1;) {
        if (world->chunks.list[id] == NULL) {
            world->chunks.free[world->chunks.free_count++] = id;
        }
    }
}

static void restore_index(orr_world* world, const orri_snapshot* then)
{
    orri_index* index = &world->index;
    for (uint32_t p = 0; p < then->page_count; p++) {
        orri_share* share = then->pages[p];
        if (restore_page_kept(world, p, share)) {
            continue;
        }
        memcpy(world->hot.pages[p], share->data, share->size);
        if (share->kind == ORRI_SHARE_HISTORY) {
            orri_share_reattach_page(world, share, p);
        }
        index->metas[p].version = world->epoch;
        index->metas[p].hash_version = 0;
    }
    world->hot.count = then->entity_count;
    index->free_first = then->free_first;
    index->free_count = then->free_count;
    index->live_count = then->live_count;
}

// ---- back ----------------------------------------------------------------------------------------------------------------

static void restore_tell(orr_world* world, const orri_restore* way)
{
    for (uint32_t i = 0; world->listener.cluster_match != NULL && i < way->cluster_count; i++) {
        if (way->clusters[i].told) {
            bool matched = world->listener.cluster_match(world, way->clusters[i].cluster);
            ORR_ASSERT(matched); // There was room.
            (void)matched;
        }
    }
}

void orri_snapshot_restore(orr_world* world, orri_restore* way)
{
    const orri_snapshot* then = way->snapshot;
    ORR_ASSERT(!orri_snapshot_lost(then) && world->publisher == NULL);
    if (world->loops.cached != 0) {
        world->listener.structure_change(world);
    }
    orri_epoch_end(world);
    restore_pools(world, way);
    restore_clear(world, way);
    restore_apart_leave(world);
    restore_slots(world, way);
    for (uint32_t i = 0; i < way->cluster_count; i++) {
        restore_cluster_fill(world, way, then->clusters[i], &way->clusters[i]);
    }
    restore_chunk_ids(world);
    restore_index(world, then);
    world->tick = then->tick;
    world->singleton = then->singleton;
    world->instance_last = then->instance_last;
    if (world->tags.state != then->tags->state) {
        orri_tags_put(world, &way->tags, then->tags->state);
    }
    if (way->relations) {
        orri_relations_rebuild(world);
    }
    if (way->names) {
        orri_names_rebuild(world);
    }
    // Who keeps something by the clusters there are (parallel.c) looks anew.
    world->clusters.sequence++;
    restore_tell(world, way);
    restore_end(world, way);
    // Blocks that were stamped are held: nobody may take the stamp for the right to write.
    orri_epoch_end(world);
}
