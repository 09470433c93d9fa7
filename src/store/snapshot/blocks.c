// SPDX-License-Identifier: MIT
// The walk over all blocks. A step first tries pages, then columns, then pools; a part that has
// ended returns false after one comparison.
#include "store/snapshot/blocks.h"
#include "store/snapshot/snapshot_detail.h"

// ---- pages --------------------------------------------------------------------------------------

static bool blocks_next_page(orri_blocks* walk)
{
    const orr_world* world = walk->world;
    uint32_t page = walk->page;
    if (walk->snapshot != NULL) {
        if (page == walk->snapshot->page_count) {
            return false;
        }
        orri_share* share = walk->snapshot->pages[page];
        walk->block.rows = share->rows;
        walk->block.share = share;
    } else {
        // In 64 bits: past the last page of a full index the product exceeds 32 bits.
        if ((uint64_t)page * ORRI_PAGE_SIZE >= world->hot.count) {
            return false;
        }
        walk->block.rows = orri_page_rows(world, page);
        walk->block.data = world->hot.pages[page];
        walk->block.share = world->index.metas[page].share;
    }
    walk->block.kind = ORRI_BLOCK_PAGE;
    walk->block.number = page;
    walk->block.bytes = (size_t)walk->block.rows * sizeof(orri_record);
    walk->page++;
    return true;
}

// ---- columns ------------------------------------------------------------------------------------

// The kind of a column. `columns` does not count the enable bits, as in orri_cluster.
static orri_block_kind blocks_kind(uint32_t column, uint32_t types, uint32_t columns)
{
    if (column >= columns) {
        return ORRI_BLOCK_BITS;
    }
    if (column <= types) {
        return column < types ? ORRI_BLOCK_VALUES : ORRI_BLOCK_ROW_IDS;
    }
    return (column - types) % 2 != 0 ? ORRI_BLOCK_COUNTS : ORRI_BLOCK_INSTANCE_IDS;
}

// Moves the position to the next column of a chunk, or to the next chunk.
static void blocks_advance_column(orri_blocks* walk, uint32_t column_count)
{
    walk->column++;
    if (walk->column == column_count) {
        walk->column = 0;
        walk->chunk++;
    }
}

// The cluster after one (NULL: the first). The cluster of transient entities is in no list.
static const orri_cluster* blocks_cluster_after(const orri_blocks* walk, const orri_cluster* last)
{
    const orri_cluster* next = last != NULL ? last->next : walk->world->clusters.first;
    bool ends = next == NULL && walk->transient && (last == NULL || !last->transient);
    return ends ? walk->world->transient.cluster : next;
}

static bool blocks_next_column(orri_blocks* walk)
{
    const orri_cluster* cluster = walk->cluster;
    while (cluster != NULL && walk->chunk == cluster->chunk_count) {
        cluster = walk->cluster = blocks_cluster_after(walk, cluster);
        walk->chunk = 0;
    }
    if (cluster == NULL) {
        return false;
    }
    const orri_chunk* chunk = cluster->chunks[walk->chunk];
    uint32_t c = walk->column;
    const orri_cluster_column* column = &cluster->columns[c % cluster->column_count];
    orri_block* block = &walk->block;
    block->kind = blocks_kind(c, cluster->type_count, cluster->column_count);
    block->cluster = cluster->index;
    block->chunk = chunk;
    block->number = chunk->number;
    block->column = c;
    block->rows = orri_chunk_rows(chunk);
    block->type = column->type;
    block->tick = chunk->columns[c].tick;
    if (orri_chunk_cold(chunk)[c].extent != NULL) {
        block->bytes = block->kind == ORRI_BLOCK_BITS ? orri_bits_bytes(column)
                                                      : (size_t)block->rows * column->size;
        block->data = chunk->columns[c].data;
        block->share = chunk->columns[c].share;
    }
    blocks_advance_column(walk, chunk->column_count);
    return true;
}

// Rows of a chunk, as orri_chunk_rows().
static uint32_t blocks_node_rows(const orri_cluster_node* node, const orri_chunk_node* chunk)
{
    uint32_t left = node->row_count - (chunk->number << ORRI_SLOT_BITS);
    return left < ORR_CHUNK_CAPACITY ? left : ORR_CHUNK_CAPACITY;
}

static bool blocks_next_node_column(orri_blocks* walk)
{
    const orri_snapshot* snapshot = walk->snapshot;
    while (walk->cluster_number < snapshot->cluster_count &&
           walk->chunk == snapshot->clusters[walk->cluster_number]->chunk_count) {
        walk->cluster_number++;
        walk->chunk = 0;
    }
    if (walk->cluster_number == snapshot->cluster_count) {
        return false;
    }
    const orri_cluster_node* node = snapshot->clusters[walk->cluster_number];
    const orri_chunk_node* chunk = node->chunks[walk->chunk];
    uint32_t c = walk->column, columns = chunk->column_count / 2;
    orri_block* block = &walk->block;
    block->kind = blocks_kind(c, node->type_count, columns);
    block->cluster = node->index;
    block->number = chunk->number;
    block->column = c;
    block->rows = blocks_node_rows(node, chunk);
    block->type = c % columns < node->type_count
                      ? orri_type_at(&walk->world->schema, node->types[c % columns])
                      : NULL;
    block->tick = chunk->columns[c].tick;
    block->share = chunk->columns[c].share;
    block->bytes = block->share != NULL ? block->share->size : 0;
    blocks_advance_column(walk, chunk->column_count);
    return true;
}

// ---- pools --------------------------------------------------------------------------------------

// A block of a pool as the world has it.
static void blocks_set_pool(orri_block* block, const orri_pool* pool, uint32_t number)
{
    const orri_pool_block* now = &pool->blocks[number];
    block->data = now->data;
    block->owners = now->owners;
    block->links = pool->links + ((size_t)number << pool->slot_bits);
    block->enabled = now->enabled;
}

// Sets the fields that are the same for a block of the world and of a snapshot.
static void blocks_note_pool(orri_blocks* walk, const orri_pool* pool, uint32_t used)
{
    walk->block.kind = ORRI_BLOCK_POOL;
    walk->block.number = walk->pool_block++;
    walk->block.rows = used;
    walk->block.pool = pool;
    walk->block.type = pool->type;
    walk->block.bytes = (size_t)used * pool->size;
}

static bool blocks_next_pool(orri_blocks* walk)
{
    const orri_pinned_pools* pinned = &walk->world->pinned;
    for (; walk->pool < pinned->count; walk->pool++, walk->pool_block = 0) {
        const orri_pool* pool = pinned->list[walk->pool];
        uint32_t number = walk->pool_block, used = orri_pool_block_used(pool, number);
        if (used > 0 && (walk->transient || !pool->type->info.transient)) {
            blocks_note_pool(walk, pool, used);
            blocks_set_pool(&walk->block, pool, number);
            walk->block.tick = pool->blocks[number].tick;
            walk->block.pool_share = pool->blocks[number].share;
            return true;
        }
    }
    return false;
}

static bool blocks_next_node_pool(orri_blocks* walk)
{
    const orri_snapshot* snapshot = walk->snapshot;
    while (walk->pool < snapshot->pool_count &&
           walk->pool_block == snapshot->pools[walk->pool]->block_count) {
        walk->pool++;
        walk->pool_block = 0;
    }
    if (walk->pool == snapshot->pool_count) {
        return false;
    }
    const orri_pool_node* node = snapshot->pools[walk->pool];
    uint32_t number = walk->pool_block;
    orri_pool_share* share = node->blocks[number].share;
    blocks_note_pool(walk, node->pool, share->used);
    walk->block.tick = node->blocks[number].tick;
    walk->block.pool_share = share;
    if (share->attached) {
        blocks_set_pool(&walk->block, node->pool, number);
    } else {
        walk->block.data = share->values;
        walk->block.owners = share->owners;
        walk->block.links = share->links;
        walk->block.enabled = share->enabled;
    }
    return true;
}

// ---- the walk -----------------------------------------------------------------------------------

orri_blocks orri_blocks_begin(const orr_world* world)
{
    return (orri_blocks){.world = world, .cluster = world->clusters.first};
}

orri_blocks orri_blocks_begin_all(const orr_world* world)
{
    orri_blocks walk = {.world = world, .transient = true};
    walk.cluster = blocks_cluster_after(&walk, NULL);
    return walk;
}

orri_blocks orri_blocks_begin_snapshot(const orri_snapshot* snapshot)
{
    return (orri_blocks){.world = snapshot->world, .snapshot = snapshot};
}

// The next block of a snapshot. The data of a share: where all its values are in one place.
static bool blocks_next_node(orri_blocks* walk)
{
    bool found = blocks_next_page(walk) || blocks_next_node_column(walk);
    const orri_share* share = walk->block.share;
    if (share != NULL && share->log == NULL && share->base == NULL) {
        walk->block.data = share->data;
    }
    return found || blocks_next_node_pool(walk);
}

bool orri_blocks_next(orri_blocks* walk)
{
    walk->block = (orri_block){.cluster = ORRI_INDEX_NONE};
    return walk->snapshot != NULL
               ? blocks_next_node(walk)
               : blocks_next_page(walk) || blocks_next_column(walk) || blocks_next_pool(walk);
}
