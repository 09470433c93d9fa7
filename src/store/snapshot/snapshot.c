// SPDX-License-Identifier: MIT
// Takes, releases, compares and measures snapshots. Restoring is in restore.c.
//
// The node that the newest snapshot has of a chunk is still valid if all its shares are attached
// and clean: nothing was written since. So a snapshot of a world that did not change costs one
// comparison for each column, and memory for lists only.
#include "store/cow/row_log.h"
#include "store/snapshot/blocks.h"
#include "store/snapshot/snapshot_detail.h"
#include "store/world/access.h"

// ---- nodes of chunks ----------------------------------------------------------------------------

static size_t snapshot_chunk_bytes(uint32_t column_count)
{
    return sizeof(orri_chunk_node) + column_count * sizeof(orri_column_node);
}

// Drops a reference; the last one frees the node and its shares. NULL is allowed, here and below.
static void snapshot_chunk_release(orr_world* world, orri_chunk_node* node)
{
    if (node == NULL || --node->refs > 0) {
        return;
    }
    for (uint32_t c = 0; c < node->column_count; c++) {
        if (node->columns[c].share != NULL) {
            orri_share_release(world, node->columns[c].share);
        }
    }
    if (world->cow.snapshots->chunks[node->id] == node) {
        world->cow.snapshots->chunks[node->id] = NULL;
    }
    orri_free(&world->env, ORR_MEMORY_SHARE, node, snapshot_chunk_bytes(node->column_count),
              _Alignof(orri_chunk_node));
}

static bool snapshot_column_same(const orri_column_node* node, const orri_chunk* chunk, uint32_t c)
{
    const orri_column* column = &chunk->columns[c];
    bool memory = orri_chunk_cold(chunk)[c].extent != NULL;
    return node->tick == column->tick && memory == (node->share != NULL) &&
           (!memory || (node->share == column->share && orri_share_clean(column->share)));
}

// Writes of the current epoch may come after the snapshot.
static uint64_t snapshot_epoch(const orr_world* world)
{
    return world->epoch - 1;
}

// True when the node (NULL allowed) describes the chunk as it is. Columns of which no block of the
// cluster was written since are not looked at, unless a share was ever lost: a write that loses the
// share of its block may then be refused, so that the block is not stamped.
static bool snapshot_chunk_same(const orr_world* world, orri_chunk_node* node,
                                const orri_chunk* chunk)
{
    const orri_cluster* cluster = chunk->cluster;
    if (node == NULL || node->sequence != cluster->sequence || node->number != chunk->number ||
        node->capacity != chunk->capacity) {
        return false;
    }
    for (uint32_t c = 0; c < cluster->column_count; c++) {
        if ((cluster->columns[c].version > node->epoch || world->cow.losses != 0) &&
            !snapshot_column_same(&node->columns[c], chunk, c)) {
            return false;
        }
    }
    bool bits = node->has_bits || cluster->has_bits;
    for (uint32_t c = cluster->column_count; bits && c < node->column_count; c++) {
        if (!snapshot_column_same(&node->columns[c], chunk, c)) {
            return false;
        }
    }
    node->epoch = snapshot_epoch(world);
    return true;
}

// The node of a chunk: the newest one if it is still valid, otherwise a new one. NULL when refused
// (reported).
static orri_chunk_node* snapshot_chunk_take(orr_world* world, orri_chunk* chunk)
{
    orri_chunk_node** newest = &world->cow.snapshots->chunks[chunk->id];
    if (snapshot_chunk_same(world, *newest, chunk)) {
        (*newest)->refs++;
        return *newest;
    }
    orri_chunk_node* node = orri_alloc_zero(&world->env, ORR_MEMORY_SHARE,
                                            snapshot_chunk_bytes(chunk->column_count),
                                            _Alignof(orri_chunk_node));
    if (node == NULL) {
        (void)orri_refuse_memory(&world->env, "taking a snapshot of a chunk");
        return NULL;
    }
    node->refs = 1;
    node->id = chunk->id;
    node->number = chunk->number;
    node->capacity = chunk->capacity;
    node->sequence = chunk->cluster->sequence;
    node->column_count = chunk->column_count;
    node->has_bits = chunk->cluster->has_bits;
    node->epoch = snapshot_epoch(world);
    for (uint32_t c = 0; c < chunk->column_count; c++) {
        node->columns[c].tick = chunk->columns[c].tick;
        if (orri_chunk_cold(chunk)[c].extent != NULL) {
            orri_share* share = orri_share_column(world, chunk, c, ORRI_SHARE_HISTORY);
            if (share == NULL) {
                snapshot_chunk_release(world, node);
                return NULL;
            }
            node->columns[c].share = share;
        }
    }
    *newest = node;
    return node;
}

// ---- nodes of clusters --------------------------------------------------------------------------

static size_t snapshot_cluster_bytes(uint32_t chunks, uint32_t types, uint32_t tags)
{
    return sizeof(orri_cluster_node) + chunks * sizeof(orri_chunk_node*) + tags * sizeof(orr_tag) +
           types * (sizeof(orr_type) + sizeof(uint16_t)) + (types + 1) * sizeof(bool);
}

static void snapshot_cluster_release(orr_world* world, orri_cluster_node* node)
{
    if (node == NULL || --node->refs > 0) {
        return;
    }
    for (uint32_t i = 0; i < node->chunk_count; i++) {
        snapshot_chunk_release(world, node->chunks[i]);
    }
    if (world->cow.snapshots->clusters[node->index] == node) {
        world->cow.snapshots->clusters[node->index] = NULL;
    }
    orri_free(&world->env, ORR_MEMORY_SHARE, node,
              snapshot_cluster_bytes(node->chunk_count, node->type_count, node->tag_count),
              _Alignof(orri_cluster_node));
}

// A new node without chunks, its lists behind the struct in one allocation. NULL when refused
// (reported).
static orri_cluster_node* snapshot_cluster_make(orr_world* world, const orri_cluster* cluster)
{
    uint32_t types = cluster->type_count, tags = cluster->tag_count;
    uint32_t chunks = cluster->chunk_count;
    orri_cluster_node* node = orri_alloc_zero(&world->env, ORR_MEMORY_SHARE,
                                              snapshot_cluster_bytes(chunks, types, tags),
                                              _Alignof(orri_cluster_node));
    if (node == NULL) {
        (void)orri_refuse_memory(&world->env, "taking a snapshot of a cluster");
        return NULL;
    }
    *node = (orri_cluster_node){.refs = 1,
                                .index = cluster->index,
                                .generation = cluster->generation,
                                .sequence = cluster->sequence,
                                .row_count = cluster->row_count,
                                .type_count = types,
                                .tag_count = tags,
                                .chunk_count = chunks,
                                .chunks = (orri_chunk_node**)(void*)(node + 1)};
    node->tags = (orr_tag*)(void*)(node->chunks + chunks);
    node->types = (orr_type*)(void*)(node->tags + tags);
    node->capacities = (uint16_t*)(void*)(node->types + types);
    node->has_bits = (bool*)(void*)(node->capacities + types);
    if (tags > 0) {
        memcpy(node->tags, cluster->tags, tags * sizeof *node->tags);
    }
    for (uint32_t c = 0; c < types; c++) {
        node->types[c] = cluster->types[c];
        node->capacities[c] = cluster->capacities[c];
    }
    for (uint32_t c = 0; c <= types; c++) {
        node->has_bits[c] = cluster->columns[c].has_bits;
    }
    return node;
}

// True when the node (NULL allowed) describes the cluster and all its chunks as they are.
static bool snapshot_cluster_same(const orr_world* world, const orri_cluster_node* node,
                                  const orri_cluster* cluster)
{
    if (node == NULL || node->sequence != cluster->sequence ||
        node->row_count != cluster->row_count || node->chunk_count != cluster->chunk_count) {
        return false;
    }
    for (uint32_t c = 0; c <= node->type_count; c++) {
        if (node->has_bits[c] != cluster->columns[c].has_bits) {
            return false;
        }
    }
    for (uint32_t i = 0; i < node->chunk_count; i++) {
        if (node->chunks[i]->id != cluster->chunks[i]->id ||
            !snapshot_chunk_same(world, node->chunks[i], cluster->chunks[i])) {
            return false;
        }
    }
    return true;
}

// The node of a cluster: the newest one if it is still valid, otherwise a new one. NULL when
// refused (reported).
static orri_cluster_node* snapshot_cluster_take(orr_world* world, const orri_cluster* cluster)
{
    orri_cluster_node** newest = &world->cow.snapshots->clusters[cluster->index];
    if (snapshot_cluster_same(world, *newest, cluster)) {
        (*newest)->refs++;
        return *newest;
    }
    orri_cluster_node* node = snapshot_cluster_make(world, cluster);
    for (uint32_t i = 0; node != NULL && i < node->chunk_count; i++) {
        node->chunks[i] = snapshot_chunk_take(world, cluster->chunks[i]);
        if (node->chunks[i] == NULL) {
            snapshot_cluster_release(world, node);
            return NULL;
        }
    }
    if (node != NULL) {
        *newest = node;
    }
    return node;
}

// ---- names of tags ------------------------------------------------------------------------------

static void snapshot_tags_release(orr_world* world, orri_tags_node* node)
{
    if (node == NULL || --node->refs > 0) {
        return;
    }
    orri_tags_drop(world, &node->list);
    if (world->cow.snapshots->tags == node) {
        world->cow.snapshots->tags = NULL;
    }
    ORRI_FREE(&world->env, ORR_MEMORY_SHARE, orri_tags_node, node, 1);
}

static orri_tags_node* snapshot_tags_take(orr_world* world)
{
    orri_tags_node* last = world->cow.snapshots->tags;
    if (last != NULL && last->state == world->tags.state) {
        last->refs++;
        return last;
    }
    orri_tags_node* node = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SHARE, orri_tags_node, 1);
    if (node == NULL ||
        !orri_tags_copy(world, world->tags.entries, world->tags.count, &node->list)) {
        ORRI_FREE(&world->env, ORR_MEMORY_SHARE, orri_tags_node, node, 1);
        (void)orri_refuse_memory(&world->env, "taking a snapshot of tag names");
        return NULL;
    }
    node->refs = 1;
    node->state = world->tags.state;
    world->cow.snapshots->tags = node;
    return node;
}

// ---- newest nodes -------------------------------------------------------------------------------

// Grows a list of pointers; new entries are NULL.
static bool snapshot_grow(orr_world* world, void* list, uint32_t* capacity, uint32_t needed)
{
    void*** data = list;
    uint32_t old = *capacity;
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_SHARE, data, capacity, needed)) {
        return false;
    }
    for (uint32_t i = old; i < *capacity; i++) {
        (*data)[i] = NULL;
    }
    return true;
}

// Makes the lists of newest nodes large enough for the world. False when refused (not reported).
static bool snapshot_newest_reserve(orr_world* world)
{
    if (world->cow.snapshots == NULL) {
        world->cow.snapshots =
            ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SHARE, struct orri_snapshots, 1);
    }
    struct orri_snapshots* newest = world->cow.snapshots;
    return newest != NULL &&
           snapshot_grow(world, &newest->chunks, &newest->chunk_capacity, world->chunks.count) &&
           snapshot_grow(world, &newest->clusters, &newest->cluster_capacity,
                         world->clusters.slot_count) &&
           snapshot_grow(world, &newest->pools, &newest->pool_capacity, world->pinned.capacity);
}

// Frees the lists of newest nodes with the last snapshot.
static void snapshot_newest_drop(orr_world* world)
{
    struct orri_snapshots* newest = world->cow.snapshots;
    if (newest != NULL && newest->count == 0) {
        ORRI_RELEASE(&world->env, ORR_MEMORY_SHARE, newest->chunks, newest->chunk_capacity);
        ORRI_RELEASE(&world->env, ORR_MEMORY_SHARE, newest->clusters, newest->cluster_capacity);
        ORRI_RELEASE(&world->env, ORR_MEMORY_SHARE, newest->pools, newest->pool_capacity);
        ORRI_FREE(&world->env, ORR_MEMORY_SHARE, struct orri_snapshots, newest, 1);
        world->cow.snapshots = NULL;
    }
}

// ---- taking -------------------------------------------------------------------------------------

static uint32_t snapshot_pools_count(const orr_world* world)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < world->pinned.count; p++) {
        count += !world->pinned.list[p]->type->info.transient;
    }
    return count;
}

// Bytes of a snapshot: the struct, and its lists behind it in the same allocation.
static size_t snapshot_own_bytes(const orri_snapshot* counts)
{
    return sizeof *counts + counts->page_count * sizeof *counts->pages +
           counts->cluster_count * sizeof *counts->clusters +
           counts->pool_count * sizeof *counts->pools + counts->slot_count * sizeof *counts->slots;
}

// Allocates a snapshot with empty lists. NULL when refused (not reported).
static orri_snapshot* snapshot_make(orr_world* world)
{
    orri_snapshot counts = {
        .world = world,
        .losses = world->cow.losses,
        .page_count = (world->hot.count + ORRI_PAGE_SIZE - 1) / ORRI_PAGE_SIZE,
        .cluster_count = world->clusters.count,
        .slot_count = world->clusters.slot_count,
        .pool_count = snapshot_pools_count(world),
    };
    orri_snapshot* snapshot = snapshot_newest_reserve(world)
                                  ? orri_alloc_zero(&world->env, ORR_MEMORY_SHARE,
                                                    snapshot_own_bytes(&counts),
                                                    _Alignof(orri_snapshot))
                                  : NULL;
    if (snapshot == NULL) {
        return NULL;
    }
    *snapshot = counts;
    snapshot->pages = (orri_share**)(void*)(snapshot + 1);
    snapshot->clusters = (orri_cluster_node**)(void*)(snapshot->pages + counts.page_count);
    snapshot->pools = (orri_pool_node**)(void*)(snapshot->clusters + counts.cluster_count);
    snapshot->slots = (orri_saved_slot*)(void*)(snapshot->pools + counts.pool_count);
    world->cow.snapshots->count++;
    return snapshot;
}

// Copies the counters and small lists that are state.
static void snapshot_note(orri_snapshot* snapshot, const orr_world* world)
{
    snapshot->tick = world->tick;
    snapshot->singleton = world->singleton;
    snapshot->instance_last = world->instance_last;
    snapshot->instance_sent = world->instance_sent;
    snapshot->entity_count = world->hot.count;
    snapshot->free_first = world->index.free_first;
    snapshot->free_count = world->index.free_count;
    snapshot->live_count = world->index.live_count;
    snapshot->slot_free = world->clusters.slot_free;
    for (uint32_t i = 0; i < world->clusters.slot_count; i++) {
        const orri_cluster_slot* slot = &world->clusters.slots[i];
        snapshot->slots[i] = (orri_saved_slot){slot->generation, slot->free_next};
    }
}

static bool snapshot_take_pools(orri_snapshot* snapshot, orr_world* world)
{
    uint32_t taken = 0;
    for (uint32_t p = 0; p < world->pinned.count; p++) {
        orri_pool* pool = world->pinned.list[p];
        uint32_t index = orri_type_index(world, (orr_type){pool->type->id});
        if (pool->type->info.transient) {
            continue;
        }
        orri_pool_node** newest = &world->cow.snapshots->pools[index];
        orri_pool_node* node = orri_pool_node_take(world, pool, *newest);
        if (node == NULL) {
            return false;
        }
        *newest = snapshot->pools[taken++] = node;
    }
    return true;
}

// Takes shares of all pages and nodes of all clusters, tags and pools. False when refused
// (reported).
static bool snapshot_take_all(orri_snapshot* snapshot, orr_world* world)
{
    for (uint32_t p = 0; p < snapshot->page_count; p++) {
        snapshot->pages[p] = orri_share_page(world, p, ORRI_SHARE_HISTORY);
        if (snapshot->pages[p] == NULL) {
            return false;
        }
    }
    uint32_t i = 0;
    for (const orri_cluster* cluster = world->clusters.first; cluster != NULL;
         cluster = cluster->next) {
        snapshot->clusters[i] = snapshot_cluster_take(world, cluster);
        if (snapshot->clusters[i++] == NULL) {
            return false;
        }
    }
    snapshot->tags = snapshot_tags_take(world);
    return snapshot->tags != NULL && snapshot_take_pools(snapshot, world);
}

orri_snapshot* orri_snapshot_take(orr_world* world)
{
    if (orri_check_open(world, "taking a snapshot") != ORR_OK) {
        return NULL;
    }
    orri_world_settle(world);
    orri_snapshot* snapshot = snapshot_make(world);
    if (snapshot == NULL) {
        snapshot_newest_drop(world);
        (void)orri_refuse_memory(&world->env, "taking a snapshot");
        return NULL;
    }
    snapshot_note(snapshot, world);
    if (!snapshot_take_all(snapshot, world)) {
        orri_snapshot_release(world, snapshot);
        return NULL;
    }
    return snapshot;
}

void orri_snapshot_release(orr_world* world, orri_snapshot* snapshot)
{
    for (uint32_t p = 0; p < snapshot->page_count; p++) {
        if (snapshot->pages[p] != NULL) {
            orri_share_release(world, snapshot->pages[p]);
        }
    }
    for (uint32_t i = 0; i < snapshot->cluster_count; i++) {
        snapshot_cluster_release(world, snapshot->clusters[i]);
    }
    for (uint32_t p = 0; p < snapshot->pool_count; p++) {
        orri_pool_node* node = snapshot->pools[p];
        uint32_t index = node != NULL ? orri_type_index(world, (orr_type){node->pool->type->id})
                                      : 0;
        if (node != NULL && orri_pool_node_release(world, node) &&
            world->cow.snapshots->pools[index] == node) {
            world->cow.snapshots->pools[index] = NULL;
        }
    }
    snapshot_tags_release(world, snapshot->tags);
    orri_free(&world->env, ORR_MEMORY_SHARE, snapshot, snapshot_own_bytes(snapshot),
              _Alignof(orri_snapshot));
    world->cow.snapshots->count--;
    snapshot_newest_drop(world);
}

// ---- queries ------------------------------------------------------------------------------------

static bool snapshot_any_lost(const orri_snapshot* snapshot)
{
    bool lost = false;
    for (orri_blocks walk = orri_blocks_begin_snapshot(snapshot);
         !lost && orri_blocks_next(&walk);) {
        const orri_block* block = &walk.block;
        lost = (block->share != NULL && block->share->lost) ||
               (block->pool_share != NULL && block->pool_share->lost);
    }
    return lost;
}

bool orri_snapshot_lost(const orri_snapshot* snapshot)
{
    orri_snapshot* asked = (orri_snapshot*)(uintptr_t)snapshot; // To cache the answer.
    uint64_t losses = snapshot->world->cow.losses;
    if (!asked->lost && asked->losses != losses) {
        asked->lost = snapshot_any_lost(snapshot);
        asked->losses = losses;
    }
    return asked->lost;
}

// Checks the row logs of a share with a copy of its own, and of all shares that lean on it.
// Attached shares are checked by orr_world_validate().
static bool snapshot_share_valid(const orri_share* share)
{
    bool own = share != NULL && share->attached == NULL && share->base == NULL && !share->lost;
    return !own || orri_row_log_valid(share, UINT32_MAX);
}

bool orri_snapshot_valid(const orri_snapshot* snapshot)
{
    bool valid = true;
    for (orri_blocks walk = orri_blocks_begin_snapshot(snapshot);
         valid && orri_blocks_next(&walk);) {
        valid = snapshot_share_valid(walk.block.share);
    }
    return valid;
}

// A pool that was created after the snapshot does not count while it is empty.
static bool snapshot_pools_same(const orr_world* world, const orri_snapshot* snapshot)
{
    uint32_t seen = 0;
    for (uint32_t p = 0; p < world->pinned.count; p++) {
        const orri_pool* pool = world->pinned.list[p];
        if (pool->type->info.transient) {
            continue;
        }
        bool known = seen < snapshot->pool_count && snapshot->pools[seen]->pool == pool;
        if (known ? !orri_pool_node_same(snapshot->pools[seen], pool) : pool->slot_count > 0) {
            return false;
        }
        seen += known;
    }
    return seen == snapshot->pool_count;
}

// Compares the counters that are state.
static bool snapshot_numbers_same(const orr_world* world, const orri_snapshot* snapshot)
{
    return snapshot->tick == world->tick && snapshot->singleton.id == world->singleton.id &&
           snapshot->entity_count == world->hot.count &&
           snapshot->free_first == world->index.free_first &&
           snapshot->cluster_count == world->clusters.count &&
           snapshot->slot_count == world->clusters.slot_count &&
           snapshot->tags->state == world->tags.state;
}

// True when no column or enable bits of the cluster have a version after `mark`.
static bool snapshot_cluster_unwritten(const orri_cluster* cluster, uint64_t mark)
{
    bool unwritten = true;
    for (uint32_t c = 0; unwritten && c < cluster->column_count; c++) {
        unwritten = cluster->columns[c].version <= mark;
    }
    for (uint32_t i = 0; unwritten && cluster->has_bits && i < cluster->chunk_count; i++) {
        const orri_chunk* chunk = cluster->chunks[i];
        for (uint32_t c = cluster->column_count; unwritten && c < chunk->column_count; c++) {
            unwritten = chunk->columns[c].version <= mark;
        }
    }
    return unwritten;
}

bool orri_snapshot_same_since(orr_world* world, const orri_snapshot* snapshot, uint64_t mark)
{
    orri_world_settle(world);
    bool same = snapshot_numbers_same(world, snapshot);
    for (uint32_t p = 0; same && p < world->index.page_count; p++) {
        same = world->index.metas[p].version <= mark;
    }
    for (const orri_cluster* c = world->clusters.first; same && c != NULL; c = c->next) {
        same = snapshot_cluster_unwritten(c, mark);
    }
    for (uint32_t p = 0; same && p < world->pinned.count; p++) {
        same = world->pinned.list[p]->type->info.transient ||
               world->pinned.list[p]->version <= mark;
    }
    return same;
}

bool orri_snapshot_same(orr_world* world, const orri_snapshot* snapshot)
{
    orri_world_settle(world);
    const orri_index* index = &world->index;
    bool same = snapshot_numbers_same(world, snapshot);
    for (uint32_t p = 0; same && p < snapshot->page_count; p++) {
        same = index->metas[p].share == snapshot->pages[p] && orri_share_clean(snapshot->pages[p]);
    }
    uint32_t i = 0;
    for (const orri_cluster* cluster = world->clusters.first; same && cluster != NULL;
         cluster = cluster->next, i++) {
        same = snapshot_cluster_same(world, snapshot->clusters[i], cluster);
    }
    return same && snapshot_pools_same(world, snapshot);
}

// Sums of orri_snapshot_bytes().
typedef struct snapshot_sum {
    uint64_t round, own, shared;
} snapshot_sum;

// True when a node was counted in this round already; marks it as counted.
static bool snapshot_counted(snapshot_sum* sum, uint64_t* round)
{
    bool counted = *round == sum->round;
    *round = sum->round;
    return counted;
}

static void snapshot_sum_one(snapshot_sum* sum, orri_share* share)
{
    if (snapshot_counted(sum, &share->round)) {
        return;
    }
    sum->own += sizeof *share + orri_row_log_bytes(share) +
                (share->counts != NULL ? share->rows * sizeof *share->counts : 0);
    if (share->attached != NULL) {
        sum->shared += share->size;
    } else if (!share->lost && share->base == NULL) {
        sum->own += share->size;
    }
}

// Counts a share and the shares it leans on that no snapshot has (refs 0), which exist only for
// those that lean on them.
static void snapshot_sum_share(snapshot_sum* sum, orri_share* share)
{
    for (orri_share* at = share; at != NULL && (at == share || at->refs == 0); at = at->base) {
        snapshot_sum_one(sum, at);
    }
}

static void snapshot_sum_cluster(snapshot_sum* sum, orri_cluster_node* node)
{
    if (snapshot_counted(sum, &node->round)) {
        return;
    }
    sum->own += snapshot_cluster_bytes(node->chunk_count, node->type_count, node->tag_count);
    for (uint32_t i = 0; i < node->chunk_count; i++) {
        orri_chunk_node* chunk = node->chunks[i];
        if (snapshot_counted(sum, &chunk->round)) {
            continue;
        }
        sum->own += snapshot_chunk_bytes(chunk->column_count);
        for (uint32_t c = 0; c < chunk->column_count; c++) {
            snapshot_sum_share(sum, chunk->columns[c].share);
        }
    }
}

static void snapshot_sum_pool(snapshot_sum* sum, orri_pool_node* node)
{
    if (snapshot_counted(sum, &node->round)) {
        return;
    }
    sum->own += sizeof *node + node->block_count * sizeof node->blocks[0];
    for (uint32_t i = 0; i < node->block_count; i++) {
        orri_pool_share* share = node->blocks[i].share;
        if (!snapshot_counted(sum, &share->round)) {
            sum->own += sizeof *share + share->bytes;
            sum->shared += share->attached ? orri_pool_share_bytes(share) : 0;
        }
    }
}

void orri_snapshot_bytes(const orri_snapshot* snapshot, uint64_t round, uint64_t* own,
                         uint64_t* shared)
{
    snapshot_sum sum = {.round = round};
    sum.own = snapshot_own_bytes(snapshot);
    for (uint32_t p = 0; p < snapshot->page_count; p++) {
        snapshot_sum_share(&sum, snapshot->pages[p]);
    }
    for (uint32_t i = 0; i < snapshot->cluster_count; i++) {
        snapshot_sum_cluster(&sum, snapshot->clusters[i]);
    }
    for (uint32_t p = 0; p < snapshot->pool_count; p++) {
        snapshot_sum_pool(&sum, snapshot->pools[p]);
    }
    if (!snapshot_counted(&sum, &snapshot->tags->round)) {
        sum.own += sizeof *snapshot->tags +
                   snapshot->tags->list.capacity * sizeof *snapshot->tags->list.entries;
    }
    *own = sum.own;
    *shared = sum.shared;
}
