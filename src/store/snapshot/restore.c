// SPDX-License-Identifier: MIT
// Restores a snapshot, in two steps.
//
// Prepare does everything that can be refused: it makes clusters and chunks that do not exist any
// more, gives other holders of current blocks their own copies, and reserves pages and room in
// tables.
//
// Restore puts everything in place. Blocks that were not written since stay. Other blocks get the
// values that the snapshot kept; these are moved, not copied, so that no hook can refuse, and the
// snapshot shares the block with the world again.
//
// Order of the restore:
//   1. pinned values
//   2. removal of chunks, then of clusters, that the snapshot does not have, while records and
//      lists are still the current ones
//   3. cluster numbers, clusters and chunks of the snapshot, which may reuse the numbers and ids
//      that step 2 freed
//   4. free chunk ids, records, counters, tag names
//   5. derived data: links of indexed references, names, queries
#include "store/cow/row_log.h"
#include "store/relation/entity_name.h"
#include "store/relation/relation.h"
#include "store/snapshot/snapshot_detail.h"

// The cluster that a cluster node is restored to.
typedef struct restore_cluster {
    orri_cluster* cluster;
    bool fresh;        // It did not exist any more, and is made for the restore.
    bool rematch;      // Queries must match it again: it is fresh, or its enable bits differ.
    orri_chunk** made; // [chunk_count of the node] New chunks; NULL: the chunk exists.
    // [chunk_count of the node] Headers with blocks for enable bits that a chunk lacks now; NULL:
    // none.
    orri_chunk** spare;
} restore_cluster;

// A copy of the values of a frozen share, for the world. The share keeps its memory, because its
// holder may have pointers to it.
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
    bool relations; // Links of indexed references must be rebuilt.
    bool names;     // The table of names must be rebuilt.
};

// ---- comparing the world with the snapshot ------------------------------------------------------

// True when the i-th chunk of the cluster is the i-th chunk of the node.
static bool restore_chunk_exists(const orri_cluster* cluster, const orri_cluster_node* node,
                                 uint32_t i)
{
    const orri_chunk_node* saved = i < node->chunk_count ? node->chunks[i] : NULL;
    const orri_chunk* now = i < cluster->chunk_count ? cluster->chunks[i] : NULL;
    return now != NULL && saved != NULL && now->id == saved->id && now->capacity == saved->capacity;
}

// True when a column was not written since the snapshot.
static bool restore_column_kept(const orri_chunk* chunk, uint32_t column, const orri_share* share)
{
    return share == NULL || (chunk->columns[column].share == share && orri_share_clean(share));
}

// True when writing the column can change links: it has indexed references, or row ids of a cluster
// that has some.
static bool restore_related(const orri_cluster* cluster, uint32_t column)
{
    return column == cluster->type_count
               ? cluster->indexed
               : column < cluster->type_count && cluster->columns[column].table->relation != NULL;
}

// True when a column can be restored by putting back the rows of logs (row_log.h), without a copy.
// Not for indexed references: preparing the links reads the complete values.
static bool restore_column_by_log(const orri_chunk* chunk, uint32_t column, const orri_share* share)
{
    const orri_share* now = chunk->columns[column].share;
    return now != NULL && !restore_related(chunk->cluster, column) &&
           orri_row_log_can_rewind(share, now);
}

// ---- prepare: blocks ----------------------------------------------------------------------------

// Copies the values of a frozen share that is not plain, for the world. False when refused (not
// reported), here and below.
static bool restore_prepare_copy(orr_world* world, orri_restore* restore, const orri_share* share)
{
    if (share == NULL || share->kind != ORRI_SHARE_FROZEN || share->type == NULL ||
        share->type->plain) {
        return true;
    }
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_SHARE, &restore->copies, &restore->copy_capacity,
                      restore->copy_count + 1)) {
        return false;
    }
    void* data = orri_alloc(&world->env, ORR_MEMORY_SHARE, share->size, ORRI_BLOCK_ALIGN);
    if (data == NULL || !orri_cells_copy(orri_share_cells(share, data),
                                         orri_share_cells(share, share->data), share->rows)) {
        orri_free(&world->env, ORR_MEMORY_SHARE, data, share->size, ORRI_BLOCK_ALIGN);
        return false;
    }
    restore->copies[restore->copy_count++] = (restore_copy){share, data};
    return true;
}

// A chunk that exists: other holders of the blocks that will be overwritten get copies.
static bool restore_prepare_kept(orr_world* world, orri_restore* restore, orri_chunk* chunk,
                                 const orri_chunk_node* saved, orri_chunk** spare)
{
    for (uint32_t c = 0; c < saved->column_count; c++) {
        orri_share* share = saved->columns[c].share;
        if (restore_column_kept(chunk, c, share) || restore_column_by_log(chunk, c, share)) {
            continue;
        }
        restore->relations = restore->relations || restore_related(chunk->cluster, c);
        if (!orri_row_log_materialize(world, share) ||
            !orri_share_try_detach_column(world, chunk, c) ||
            !restore_prepare_copy(world, restore, share)) {
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

// A chunk that does not exist any more: makes it, with blocks for all columns.
static bool restore_prepare_made(orr_world* world, orri_restore* restore, orri_cluster* cluster,
                                 const orri_chunk_node* saved, uint32_t wanted, orri_chunk** made)
{
    orri_chunk* chunk = *made = orri_chunk_alloc(world, cluster);
    restore->relations = true;
    if (chunk == NULL || !orri_chunk_reserve_tables(world, cluster, saved->id)) {
        return false;
    }
    chunk->id = saved->id;
    chunk->number = saved->number;
    chunk->capacity = saved->capacity;
    for (uint32_t c = 0; c < chunk->column_count; c++) {
        orri_share* share = saved->columns[c].share;
        bool wants = c < cluster->column_count || share != NULL;
        if ((share != NULL && !orri_share_materialize(world, share)) ||
            (wants && !orri_column_take(world, chunk, c, wanted)) ||
            !restore_prepare_copy(world, restore, share)) {
            return false;
        }
    }
    return true;
}

// True when other columns have enable bits now.
static bool restore_bits_differ(const orri_cluster* cluster, const orri_cluster_node* node)
{
    for (uint32_t c = 0; c <= node->type_count; c++) {
        if (cluster->columns[c].has_bits != node->has_bits[c]) {
            return true;
        }
    }
    return false;
}

// Finds the cluster of a node by its sequence, or makes it, and prepares all its chunks.
static bool restore_prepare_cluster(orr_world* world, orri_restore* restore,
                                    const orri_cluster_node* node, restore_cluster* entry)
{
    const orri_cluster_slot* slot =
        node->index < world->clusters.slot_count ? &world->clusters.slots[node->index] : NULL;
    orri_cluster* cluster = slot != NULL ? slot->cluster : NULL;
    entry->fresh = cluster == NULL || cluster->sequence != node->sequence;
    if (entry->fresh) {
        cluster = orri_cluster_revive(world, node->types, node->capacities, node->type_count,
                                      node->tags, node->tag_count,
                                      restore->snapshot->cluster_count);
    }
    entry->cluster = cluster;
    if (cluster == NULL) {
        return false;
    }
    entry->rematch = entry->fresh || restore_bits_differ(cluster, node);
    uint32_t count = node->chunk_count;
    entry->made = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SHARE, orri_chunk*, count);
    entry->spare = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SHARE, orri_chunk*, count);
    bool ok = entry->made != NULL && entry->spare != NULL &&
              ORRI_RESERVE(&world->env, ORR_MEMORY_CLUSTER, &cluster->chunks,
                           &cluster->chunk_capacity, count);
    for (uint32_t i = 0; ok && i < count; i++) {
        ok = !entry->fresh && restore_chunk_exists(cluster, node, i)
                 ? restore_prepare_kept(world, restore, cluster->chunks[i], node->chunks[i],
                                        &entry->spare[i])
                 : restore_prepare_made(world, restore, cluster, node->chunks[i], count - i,
                                        &entry->made[i]);
    }
    return ok;
}

// ---- prepare: index, links, pools ---------------------------------------------------------------

// True when an index page was not written since the snapshot.
static bool restore_page_kept(const orr_world* world, uint32_t page, const orri_share* share)
{
    return world->index.metas[page].share == share && orri_share_clean(share);
}

// Makes pages for all records of the snapshot, and copies for other holders of pages that will be
// overwritten.
static bool restore_prepare_index(orr_world* world, orri_restore* restore)
{
    const orri_snapshot* snapshot = restore->snapshot;
    if (!orri_index_room(world, snapshot->entity_count)) {
        return false;
    }
    restore->relations = restore->relations || snapshot->entity_count != world->hot.count;
    for (uint32_t p = 0; p < snapshot->page_count; p++) {
        if (!restore_page_kept(world, p, snapshot->pages[p])) {
            restore->relations = true;
            if (!orri_row_log_materialize(world, snapshot->pages[p]) ||
                !orri_share_try_detach_page(world, p)) {
                return false;
            }
        }
    }
    // Pages beyond the snapshot have no records afterwards. Their shares are detached, so that
    // later records there do not write to them.
    for (uint32_t p = snapshot->page_count; p < world->index.page_count; p++) {
        if (!orri_share_try_detach_page(world, p)) {
            return false;
        }
    }
    return true;
}

// Makes pages for the links of one column. Whether the targets are alive in the snapshot is not
// checked: a superfluous page is harmless.
static bool restore_prepare_links(orr_world* world, const orri_snapshot* snapshot,
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
            if (target.id != 0 && index < snapshot->entity_count &&
                !orri_relation_reserve(world, relation, e, ids[row], index)) {
                return false;
            }
        }
    }
    return true;
}

static bool restore_prepare_relations(orr_world* world, const orri_restore* restore)
{
    const orri_snapshot* snapshot = restore->snapshot;
    for (uint32_t i = 0; restore->relations && i < snapshot->cluster_count; i++) {
        const orri_cluster_node* node = snapshot->clusters[i];
        const orri_cluster* cluster = restore->clusters[i].cluster;
        for (uint32_t c = 0; c < node->type_count; c++) {
            orri_relation* relation = cluster->columns[c].table->relation;
            for (uint32_t k = 0; relation != NULL && k < node->chunk_count; k++) {
                const orri_chunk_node* chunk = node->chunks[k];
                const uint32_t* ids = chunk->columns[node->type_count].share->data;
                if (!restore_prepare_links(world, snapshot, relation, chunk->columns[c].share,
                                           ids)) {
                    return false;
                }
            }
        }
    }
    return true;
}

// The node of a pool; NULL: the snapshot has none, so the pool becomes empty.
static const orri_pool_node* restore_pool_node(const orri_snapshot* snapshot, const orri_pool* pool)
{
    for (uint32_t p = 0; p < snapshot->pool_count; p++) {
        if (snapshot->pools[p]->pool == pool) {
            return snapshot->pools[p];
        }
    }
    return NULL;
}

static bool restore_prepare_pools(orr_world* world, orri_restore* restore)
{
    for (uint32_t p = 0; p < world->pinned.count; p++) {
        orri_pool* pool = world->pinned.list[p];
        const orri_pool_node* node = restore_pool_node(restore->snapshot, pool);
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

// Room for chunk ids. A chunk of transient entities whose id belongs to a chunk of the snapshot
// gets another id.
static bool restore_prepare_ids(orr_world* world)
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

static bool restore_prepare_all(orr_world* world, orri_restore* restore)
{
    orri_snapshot* snapshot = restore->snapshot;
    restore->clusters =
        ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SHARE, restore_cluster, snapshot->cluster_count);
    if (restore->clusters == NULL || !restore_prepare_ids(world)) {
        return false;
    }
    uint32_t rematch = 0;
    for (uint32_t i = 0; i < snapshot->cluster_count; i++) {
        restore->cluster_count++;
        if (!restore_prepare_cluster(world, restore, snapshot->clusters[i],
                                     &restore->clusters[i])) {
            return false;
        }
        rematch += restore->clusters[i].rematch;
    }
    if (!restore_prepare_index(world, restore)) {
        return false;
    }
    restore->relations = restore->relations && world->relations.count != 0;
    return restore_prepare_relations(world, restore) && restore_prepare_pools(world, restore) &&
           (world->tags.state == snapshot->tags->state ||
            orri_tags_copy(world, snapshot->tags->list.entries, snapshot->tags->list.count,
                           &restore->tags)) &&
           (rematch == 0 || world->listener.cluster_room == NULL ||
            world->listener.cluster_room(world, rematch));
}

static orr_result restore_check(orr_world* world, const orri_snapshot* snapshot)
{
    const char* call = "restoring a snapshot";
    orr_result result = orri_check_open(world, call);
    if (result == ORR_OK && orri_snapshot_lost(snapshot)) {
        return orri_refuse(
            &world->env, ORR_ERR_PAST, ORR_LOG_ID_CALL_REFUSED,
            "%s: the snapshot of tick %llu is lost, because memory for a copy was refused; "
            "give the world more memory or remember fewer ticks",
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
    (void)orri_parked_release_all(world); // Chunks of the snapshot get their ids back.
    orri_restore* restore = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SHARE, orri_restore, 1);
    if (restore == NULL) {
        return orri_refuse_memory(&world->env, "restoring a snapshot");
    }
    restore->snapshot = snapshot;
    if (!restore_prepare_all(world, restore)) {
        orri_snapshot_restore_cancel(world, restore);
        return orri_refuse_memory(&world->env, "restoring a snapshot");
    }
    *out = restore;
    return ORR_OK;
}

// ---- cancel -------------------------------------------------------------------------------------

static void restore_give_chunks(orr_world* world, orri_chunk** list, uint32_t count)
{
    for (uint32_t i = 0; list != NULL && i < count; i++) {
        if (list[i] != NULL) {
            orri_chunk_give(world, list[i]);
        }
    }
    ORRI_FREE(&world->env, ORR_MEMORY_SHARE, orri_chunk*, list, count);
}

// Frees the restore and everything prepared that was not used.
static void restore_end(orr_world* world, orri_restore* restore)
{
    for (uint32_t i = 0; i < restore->cluster_count; i++) {
        restore_cluster* entry = &restore->clusters[i];
        uint32_t count = restore->snapshot->clusters[i]->chunk_count;
        restore_give_chunks(world, entry->made, count);
        restore_give_chunks(world, entry->spare, count);
        if (entry->fresh && entry->cluster != NULL) {
            orri_cluster_abandon(world, entry->cluster);
        }
    }
    for (uint32_t i = 0; i < restore->copy_count; i++) {
        const orri_share* share = restore->copies[i].share;
        if (restore->copies[i].data != NULL) {
            orri_cells_destruct(orri_share_cells(share, restore->copies[i].data), share->rows);
            orri_free(&world->env, ORR_MEMORY_SHARE, restore->copies[i].data, share->size,
                      ORRI_BLOCK_ALIGN);
        }
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_SHARE, restore->copies, restore->copy_capacity);
    orri_tags_drop(world, &restore->tags);
    ORRI_FREE(&world->env, ORR_MEMORY_SHARE, restore_cluster, restore->clusters,
              restore->clusters != NULL ? restore->snapshot->cluster_count : 0);
    ORRI_FREE(&world->env, ORR_MEMORY_SHARE, orri_restore, restore, 1);
}

void orri_snapshot_restore_cancel(orr_world* world, orri_restore* restore)
{
    restore_end(world, restore);
    orri_index_trim(world);
}

// ---- removal ------------------------------------------------------------------------------------

// The generation of an index in the snapshot; 0: it had no record.
static uint32_t restore_generation_then(const orri_snapshot* snapshot, uint32_t index)
{
    if (index >= snapshot->entity_count) {
        return 0;
    }
    const orri_record* records = snapshot->pages[index >> ORRI_PAGE_BITS]->data;
    return records[index & ORRI_PAGE_MASK].generation;
}

// Transient pinned values are not state and stay, except those of entities that are not alive in
// the snapshot. Their ticks must not be later than the world's.
static void restore_drop_transient(orr_world* world, const orri_snapshot* snapshot, orri_pool* pool)
{
    for (uint32_t slot = 0; slot < pool->slot_count; slot++) {
        uint32_t owner = orri_pool_owner(pool, slot);
        if (owner != ORRI_INDEX_NONE && !orri_index_transient(owner) &&
            orri_record_at(world, owner)->generation != restore_generation_then(snapshot, owner)) {
            orri_pool_remove(world, pool, owner);
        }
    }
    for (uint32_t i = 0; i < pool->block_count; i++) {
        uint64_t* tick = &pool->blocks[i].tick;
        *tick = *tick < snapshot->tick ? *tick : snapshot->tick;
    }
}

static void restore_pools(orr_world* world, orri_restore* restore)
{
    for (uint32_t p = 0; p < world->pinned.count; p++) {
        orri_pool* pool = world->pinned.list[p];
        if (pool->type->info.transient) {
            restore_drop_transient(world, restore->snapshot, pool);
        } else {
            uint64_t version = pool->version;
            orri_pool_restore(world, pool, restore_pool_node(restore->snapshot, pool));
            restore->names = restore->names || (pool->is_name && pool->version != version);
        }
    }
}

// Destructs the values that will be replaced. This needs the current counts of instances, so it is
// done for all columns before any is restored.
static void restore_clear_chunk(orri_chunk* chunk, const orri_chunk_node* saved)
{
    const orri_cluster* cluster = chunk->cluster;
    uint32_t rows = orri_chunk_rows(chunk);
    for (uint32_t c = 0; !cluster->plain && c < cluster->type_count; c++) {
        if (!cluster->columns[c].type->plain &&
            !restore_column_kept(chunk, c, saved->columns[c].share)) {
            orri_cells_destruct(orri_cells_at(chunk, c, 0), rows);
        }
    }
}

// Removes chunks that the node does not have at the same position. The list of chunks is completed
// later.
static void restore_clear_cluster(orr_world* world, const orri_cluster_node* node,
                                  restore_cluster* entry)
{
    orri_cluster* cluster = entry->cluster;
    for (uint32_t i = 0; i < cluster->chunk_count; i++) {
        if (restore_chunk_exists(cluster, node, i)) {
            restore_clear_chunk(cluster->chunks[i], node->chunks[i]);
        } else {
            orri_chunk_drop(world, cluster->chunks[i]);
            cluster->chunks[i] = NULL;
        }
    }
}

// Removes all clusters that the snapshot does not have.
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

static void restore_clear(orr_world* world, orri_restore* restore)
{
    for (orri_cluster* cluster = world->clusters.first; cluster != NULL; cluster = cluster->next) {
        cluster->clearing = true;
    }
    for (uint32_t i = 0; i < restore->cluster_count; i++) {
        if (!restore->clusters[i].fresh) {
            restore->clusters[i].cluster->clearing = false;
            restore_clear_cluster(world, restore->snapshot->clusters[i], &restore->clusters[i]);
        }
    }
    restore_clear_others(world);
}

// ---- clusters and chunks ------------------------------------------------------------------------

// Restores numbers, generations, free list and order of clusters.
static void restore_slots(orr_world* world, orri_restore* restore)
{
    const orri_snapshot* snapshot = restore->snapshot;
    orri_cluster* last = NULL;
    uint32_t now = world->clusters.slot_count;
    world->clusters.slot_count = snapshot->slot_count;
    world->clusters.slot_free = snapshot->slot_free;
    for (uint32_t i = 0; i < snapshot->slot_count; i++) {
        orri_cluster* cluster = i < now ? world->clusters.slots[i].cluster : NULL;
        world->clusters.slots[i] = (orri_cluster_slot){cluster, snapshot->slots[i].generation,
                                                       snapshot->slots[i].free_next};
    }
    for (uint32_t i = 0; i < restore->cluster_count; i++) {
        orri_cluster* cluster = restore->clusters[i].cluster;
        const orri_cluster_node* node = snapshot->clusters[i];
        if (restore->clusters[i].fresh) {
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

// Takes the prepared copy of a frozen share's values. NULL: there is none, and the values of the
// share itself are used.
static void* restore_copy_of(orri_restore* restore, const orri_share* share)
{
    for (uint32_t i = 0; share->kind == ORRI_SHARE_FROZEN && i < restore->copy_count; i++) {
        if (restore->copies[i].share == share && restore->copies[i].data != NULL) {
            void* data = restore->copies[i].data;
            restore->copies[i].data = NULL;
            return data;
        }
    }
    return NULL;
}

// Restores the values of one column.
static void restore_column(orr_world* world, orri_restore* restore, orri_chunk* chunk, uint32_t c,
                           orri_share* share)
{
    if (restore_column_by_log(chunk, c, share)) {
        orri_row_log_rewind(world, share, chunk->columns[c].share);
        return;
    }
    uint8_t* to = chunk->columns[c].data;
    void* copy = restore_copy_of(restore, share);
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

// Stamps a column as written now; its tick is that of the snapshot.
static void restore_stamp(orr_world* world, orri_chunk* chunk, uint32_t c, uint64_t tick)
{
    chunk->columns[c].tick = tick;
    chunk->columns[c].version = world->epoch;
    orri_chunk_cold(chunk)[c].hash_version = 0;
    if (c < chunk->cluster->column_count) {
        chunk->cluster->columns[c].version = world->epoch;
    }
}

// Adds and removes the memory of enable bits as in the snapshot. True when bits were removed: then
// all columns must count as written, because changed-since queries find changes of enable bits by
// the version of the bits, which do not exist any more.
static bool restore_bits(orr_world* world, orri_chunk* chunk, const orri_chunk_node* saved,
                         orri_chunk* spare)
{
    bool removed = false;
    for (uint32_t c = chunk->column_count / 2; c < chunk->column_count; c++) {
        orri_column* column = &chunk->columns[c];
        if (saved->columns[c].share == NULL && column->data != NULL) {
            orri_column_give(world, chunk, c);
            removed = true;
        } else if (saved->columns[c].share != NULL && column->data == NULL) {
            column->data = spare->columns[c].data;
            orri_chunk_cold(chunk)[c].extent = orri_chunk_cold(spare)[c].extent;
            spare->columns[c].data = NULL;
            orri_chunk_cold(spare)[c].extent = NULL;
        }
    }
    return removed;
}

// Restores all columns of a chunk and stamps those that differ. `made`: the chunk did not exist.
static void restore_chunk(orr_world* world, orri_restore* restore, orri_chunk* chunk,
                          const orri_chunk_node* saved, orri_chunk* spare, bool made)
{
    uint32_t rows = orri_chunk_rows(chunk);
    uint32_t ids = chunk->cluster->type_count;
    bool moved = made || !restore_column_kept(chunk, ids, saved->columns[ids].share);
    if (moved) {
        orri_rows_close(chunk, 0, chunk->capacity);
        orri_rows_open(chunk, 0, rows);
        chunk->stamp = world->epoch;
    }
    bool all = restore_bits(world, chunk, saved, spare) || moved;
    for (uint32_t c = 0; c < chunk->column_count; c++) {
        orri_share* share = saved->columns[c].share;
        bool kept = !made && restore_column_kept(chunk, c, share);
        if (!kept && share != NULL) {
            restore_column(world, restore, chunk, c, share);
        }
        if (!kept || all || chunk->columns[c].tick != saved->columns[c].tick) {
            restore_stamp(world, chunk, c, saved->columns[c].tick);
        }
    }
}

// Sets the flags of a cluster that follow from its enable bits.
static void restore_flags(orri_cluster* cluster, const orri_cluster_node* node)
{
    bool any = false;
    for (uint32_t c = 0; c <= node->type_count; c++) {
        cluster->columns[c].has_bits = node->has_bits[c];
        any = any || node->has_bits[c];
    }
    cluster->has_bits = any;
    orri_cluster_set_direct(cluster);
}

// Restores the chunks and rows of a cluster.
static void restore_cluster_fill(orr_world* world, orri_restore* restore,
                                 const orri_cluster_node* node, restore_cluster* entry)
{
    orri_cluster* cluster = entry->cluster;
    bool rows = entry->fresh || cluster->row_count != node->row_count;
    for (uint32_t i = 0; i < node->chunk_count; i++) {
        rows = rows || entry->made[i] != NULL;
        cluster->chunks[i] = entry->made[i] != NULL ? entry->made[i] : cluster->chunks[i];
    }
    cluster->chunk_count = node->chunk_count;
    cluster->row_count = node->row_count;
    restore_flags(cluster, node);
    cluster->bits_added += entry->rematch;
    for (uint32_t i = 0; i < node->chunk_count; i++) {
        orri_chunk* chunk = cluster->chunks[i];
        if (entry->made[i] != NULL) {
            world->chunks.list[chunk->id] = chunk;
            orri_chunk_enter(chunk);
        }
        restore_chunk(world, restore, chunk, node->chunks[i], entry->spare[i],
                      entry->made[i] != NULL);
        entry->made[i] = NULL;
    }
    for (uint32_t c = 0; rows && c < cluster->column_count; c++) {
        cluster->columns[c].version = world->epoch;
    }
    orri_cluster_trim(world, cluster); // Sets row_capacity.
    entry->fresh = false;
}

// ---- chunk ids and records ----------------------------------------------------------------------

// Gives a chunk of transient entities the chunk id `id`, and updates its records.
static void restore_transient_ids(orr_world* world, orri_chunk* chunk, uint32_t id)
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

// Takes the chunks of transient entities out of the directory while the chunks of the snapshot are
// entered.
static void restore_transient_leave(orr_world* world)
{
    const orri_cluster* transient = world->transient.cluster;
    for (uint32_t i = 0; transient != NULL && i < transient->chunk_count; i++) {
        world->chunks.list[transient->chunks[i]->id] = NULL;
    }
}

// Enters the chunks of transient entities again, under their old ids if these are free.
static void restore_transient_enter(orr_world* world)
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
        restore_transient_ids(world, transient->chunks[i], id);
    }
}

// Rebuilds the list of free chunk ids. Their order is not state; the lowest are used first.
static void restore_chunk_ids(orr_world* world)
{
    restore_transient_enter(world);
    world->chunks.free_count = 0;
    for (uint32_t id = world->chunks.count; id-- > 1;) {
        if (world->chunks.list[id] == NULL) {
            world->chunks.free[world->chunks.free_count++] = id;
        }
    }
}

// Restores the records and the free list.
static void restore_index(orr_world* world, const orri_snapshot* snapshot)
{
    orri_index* index = &world->index;
    for (uint32_t p = 0; p < snapshot->page_count; p++) {
        orri_share* share = snapshot->pages[p];
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
    world->hot.count = snapshot->entity_count;
    index->free_first = snapshot->free_first;
    index->free_count = snapshot->free_count;
    index->sample_count = 0; // The list is another one.
    index->live_count = snapshot->live_count;
}

// ---- restore ------------------------------------------------------------------------------------

// Lets queries match the clusters that are new or whose enable bits changed.
static void restore_notify(orr_world* world, const orri_restore* restore)
{
    for (uint32_t i = 0; world->listener.cluster_match != NULL && i < restore->cluster_count; i++) {
        if (restore->clusters[i].rematch) {
            bool matched = world->listener.cluster_match(world, restore->clusters[i].cluster);
            ORR_ASSERT(matched); // Room was reserved by cluster_room().
            (void)matched;
        }
    }
}

void orri_snapshot_restore(orr_world* world, orri_restore* restore)
{
    const orri_snapshot* snapshot = restore->snapshot;
    ORR_ASSERT(!orri_snapshot_lost(snapshot) && world->publisher == NULL);
    if (world->loops.cached != 0) {
        world->listener.structure_change(world);
    }
    orri_epoch_end(world);
    restore_pools(world, restore);
    restore_clear(world, restore);
    restore_transient_leave(world);
    restore_slots(world, restore);
    for (uint32_t i = 0; i < restore->cluster_count; i++) {
        restore_cluster_fill(world, restore, snapshot->clusters[i], &restore->clusters[i]);
    }
    restore_chunk_ids(world);
    restore_index(world, snapshot);
    world->tick = snapshot->tick;
    world->singleton = snapshot->singleton;
    world->instance_last = snapshot->instance_last;
    world->instance_sent = snapshot->instance_sent;
    if (world->tags.state != snapshot->tags->state) {
        orri_tags_put(world, &restore->tags, snapshot->tags->state);
    }
    if (restore->relations) {
        orri_relations_rebuild(world);
    }
    if (restore->names) {
        orri_names_rebuild(world);
    }
    // Invalidates data that is cached for the current set of clusters (schedule/tick/parallel.c).
    world->clusters.sequence++;
    restore_notify(world, restore);
    restore_end(world, restore);
    orri_written_note(world, world->epoch);
    // The blocks that were stamped are shared: a stamp of this epoch must not count as the right to
    // write (S8).
    orri_epoch_end(world);
}
