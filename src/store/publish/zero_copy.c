// SPDX-License-Identifier: MIT
// Zero-copy publishing: of a type that a system overwrites completely, the edition shows the live
// block itself. Before the block is written again, the world gets another one.
//
//   1. writing:    live ──> block A
//   2. shown:      live ──> block A <── edition
//   3. reclaimed:  live ──> block B, any values, to be overwritten        edition ──> block A
//
// Every other writer of a block that is shown finds a frozen share (share.h) and copies the block
// first. Zero-copy is decided block by block, by what the first group of systems did that could
// write the block since it was shown. If it overwrote the block, it will again; otherwise zero-copy
// would only delay the copy, to a worse moment. Blocks that no edition has any more are kept as the
// next live blocks.
#include "store/cow/share.h"
#include "store/publish/publish_detail.h"

// ---- blocks that are kept -----------------------------------------------------------------------

// True when the memory of a share can become a live block: only this edition block has the share,
// the world uses another block, and the size is that of a full chunk.
static bool zero_copy_reusable(const orri_published_type* type, const orri_share* share)
{
    return type->zero_copy && share->refs == 1 && share->attached == NULL &&
           share->extent != NULL &&
           share->extent->block_size == orri_block_bytes(type->size, ORRI_LEVELS) &&
           type->spare_count < type->zero_copy_count;
}

// Takes the first spare share; there must be one.
static orri_share* zero_copy_spare_take(orri_published_type* type)
{
    orri_share* share = type->spare_shares;
    memcpy(&type->spare_shares, share->data, sizeof type->spare_shares);
    type->spare_count--;
    return share;
}

void orri_zero_copy_trim(orri_publisher* publisher, orri_published_type* type, uint32_t most)
{
    while (type->spare_count > most) {
        orri_share_release(publisher->world, zero_copy_spare_take(type));
    }
}

void orri_zero_copy_end(orri_publisher* publisher, orri_published_type* type,
                        orri_edition_block* block)
{
    orri_share* share = block->share;
    block->share = NULL;
    type->zero_copy_count--;
    if (zero_copy_reusable(type, share)) {
        memcpy(share->data, &type->spare_shares, sizeof type->spare_shares);
        type->spare_shares = share;
        type->spare_count++;
    } else {
        orri_share_unfreeze(publisher->world, share);
        orri_share_release(publisher->world, share);
        orri_zero_copy_trim(publisher, type, type->zero_copy_count);
    }
}

// ---- showing live blocks ------------------------------------------------------------------------

// Makes an edition block that shows the live block of a chunk. NULL when refused (not reported).
static orri_edition_block* zero_copy_block(orri_publisher* publisher, orri_published_type* type,
                                           orri_chunk* chunk, const orri_edition_block* old)
{
    orri_edition_block* block = orri_edition_block_take_zero_copy(publisher, type);
    if (block == NULL) {
        return NULL;
    }
    block->share = orri_share_freeze_column(publisher->world, chunk, old->column);
    if (block->share == NULL) {
        orri_edition_block_drop(publisher, type, block);
        return NULL;
    }
    type->zero_copy_count++;
    block->data = block->share->data;
    block->rows = block->share->rows;
    block->column = old->column;
    block->source = chunk->columns[old->column].version;
    block->zero_copy = true;
    return block;
}

// Adds all zero-copy blocks of a type to the edition in the making. False when refused (not
// reported).
static bool zero_copy_type(orri_publisher* publisher, orri_published_type* type)
{
    const orri_edition* newest = type->editions;
    for (uint32_t id = 0; type->zero_copy && id < newest->capacity; id++) {
        const orri_edition_block* old = newest->blocks[id];
        orri_chunk* chunk = old != NULL ? publisher->world->chunks.list[id] : NULL;
        if (old == NULL || chunk->columns[old->column].version == old->source ||
            !orri_zero_copy_wanted(type, old, publisher->world, chunk)) {
            continue;
        }
        if (type->making == NULL) {
            type->making = orri_edition_take(publisher, type, newest->capacity);
        }
        orri_edition_block* block =
            type->making != NULL ? zero_copy_block(publisher, type, chunk, old) : NULL;
        if (block == NULL) {
            return false;
        }
        block->next = type->making->fresh;
        type->making->fresh = block;
        type->making->blocks[id] = block;
    }
    return true;
}

// Moves the zero-copy blocks from the edition in the making to the pending one, or makes it the
// pending one.
static void zero_copy_enter(orri_publisher* publisher, orri_published_type* type)
{
    orri_edition *making = type->making, *pending = type->pending;
    if (making == NULL) {
        return;
    }
    if (pending == NULL) {
        orri_edition_complete(publisher, type);
        type->pending = making;
        type->making = NULL;
        return;
    }
    for (uint32_t id = 0; id < making->capacity; id++) {
        orri_edition_block* block = making->blocks[id];
        if (block != NULL) {
            orri_edition_block_drop(publisher, type, pending->blocks[id]);
            pending->blocks[id] = block;
            making->blocks[id] = NULL;
            block->next = pending->fresh;
            pending->fresh = block;
        }
    }
    making->fresh = NULL;
    orri_edition_discard(publisher, type);
}

orr_result orri_publish_zero_copy(orri_publisher* publisher, const orr_type* types, uint32_t count)
{
    bool added = true;
    for (uint32_t i = 0; added && i < count; i++) {
        added = zero_copy_type(publisher, orri_published_find(publisher, types[i]));
    }
    for (uint32_t i = 0; i < count; i++) {
        orri_published_type* type = orri_published_find(publisher, types[i]);
        if (added) {
            zero_copy_enter(publisher, type);
        } else {
            orri_edition_discard(publisher, type);
        }
    }
    return added ? ORR_OK : orri_refuse_memory(&publisher->world->env, "publishing values");
}

// ---- reclaiming ---------------------------------------------------------------------------------

// Bytes of the rows of a chunk, in whole cache lines: the accessible part of a block.
static size_t zero_copy_open_bytes(const orri_chunk* chunk, uint32_t column)
{
    size_t bytes = (size_t)orri_chunk_rows(chunk) * chunk->cluster->columns[column].size;
    return (bytes + ORRI_BLOCK_ALIGN - 1) & ~(size_t)(ORRI_BLOCK_ALIGN - 1);
}

// Memory for a live block: a spare share's, or a new block. NULL when refused (not reported).
static void* zero_copy_live_block(orri_publisher* publisher, orri_published_type* type,
                                  const orri_chunk* chunk, uint32_t column, orri_extent** extent)
{
    orr_world* world = publisher->world;
    void* block;
    if (type->spare_count > 0 && chunk->capacity == ORR_CHUNK_CAPACITY) {
        orri_share* share = zero_copy_spare_take(type);
        block = share->data;
        *extent = share->extent;
        share->data = NULL;
        orri_share_release(world, share);
        ORRI_POISON(block, (*extent)->block_size);
        ORRI_UNPOISON(block, zero_copy_open_bytes(chunk, column));
        return block;
    }
    block = orri_chunk_block(world, chunk, column, 1, extent);
    if (block != NULL) {
        // Rows that a system does not write keep these bytes, so they must not depend on what the
        // memory held before.
        ORRI_UNPOISON(block, zero_copy_open_bytes(chunk, column));
        memset(block, 0, zero_copy_open_bytes(chunk, column));
    }
    return block;
}

// Prepares the replacement of one live block. False when refused (not reported).
static bool zero_copy_reclaim_chunk(orri_publisher* publisher, orri_published_type* type,
                                    orri_chunk* chunk, uint32_t column, bool overwritten)
{
    if (!ORRI_RESERVE(&publisher->world->env, ORR_MEMORY_PUBLISHED, &publisher->reclaimed,
                      &publisher->reclaimed_capacity, publisher->reclaimed_count + 1)) {
        return false;
    }
    orri_reclaimed item = {.chunk = chunk, .column = column, .overwritten = overwritten};
    item.block = zero_copy_live_block(publisher, type, chunk, column, &item.extent);
    if (item.block == NULL) {
        return false;
    }
    if (!overwritten) {
        const orri_share* share = chunk->columns[column].share;
        memcpy(item.block, share->data, share->size);
        orri_publish_count(publisher, share->size);
    }
    publisher->reclaimed[publisher->reclaimed_count++] = item;
    return true;
}

orr_result orri_reclaim(orri_publisher* publisher, orr_type handle, orri_reclaim_ask ask,
                        void* user)
{
    orri_published_type* type = orri_published_find(publisher, handle);
    const orri_cluster* asked = NULL;
    orri_reclaim_how how = ORRI_RECLAIM_NONE;
    for (uint32_t id = 0; id < type->editions->capacity; id++) {
        orri_edition_block* newest = type->editions->blocks[id];
        orri_chunk* chunk = newest != NULL ? publisher->world->chunks.list[id] : NULL;
        if (newest == NULL || (newest->decided && chunk->columns[newest->column].share == NULL)) {
            continue;
        }
        how = chunk->cluster != asked ? ask(user, chunk->cluster) : how;
        asked = chunk->cluster;
        if (how == ORRI_RECLAIM_NONE) {
            continue;
        }
        newest->zero_copy = newest->decided ? newest->zero_copy : how == ORRI_RECLAIM_OVERWRITE;
        newest->decided = true;
        if (chunk->columns[newest->column].share != NULL &&
            !zero_copy_reclaim_chunk(publisher, type, chunk, newest->column,
                                     how == ORRI_RECLAIM_OVERWRITE)) {
            return orri_refuse_memory(&publisher->world->env,
                                      "replacing live blocks that are published");
        }
    }
    return ORR_OK;
}

void orri_reclaim_end(orri_publisher* publisher, bool done)
{
    orr_world* world = publisher->world;
    for (uint32_t i = 0; i < publisher->reclaimed_count; i++) {
        const orri_reclaimed* item = &publisher->reclaimed[i];
        if (!done) {
            orri_block_give(item->extent, &world->env, item->block);
            continue;
        }
        orri_share_replace_column(world, item->chunk, item->column, item->block, item->extent);
        if (item->overwritten) {
            orri_column_stamp_one(world, item->chunk, item->column);
        }
    }
    publisher->reclaimed_count = 0;
}

// ---- which types --------------------------------------------------------------------------------

orr_result orri_zero_copy_enable(orri_publisher* publisher, orr_type handle, bool on)
{
    orr_world* world = publisher->world;
    orri_published_type* type = orri_published_find(publisher, handle);
    ORR_ASSERT(type != NULL && (!on || type->type->plain));
    on &= type->size > 0 && type->kind == ORRI_PUBLISHED_ROWS;
    for (uint32_t id = 0; type->zero_copy && !on && id < type->editions->capacity; id++) {
        const orri_edition_block* block = type->editions->blocks[id];
        if (block != NULL && !orri_column_prepare(world, world->chunks.list[id], block->column)) {
            return orri_env_result(&world->env);
        }
    }
    type->zero_copy = on;
    orri_zero_copy_trim(publisher, type, on ? type->zero_copy_count : 0);
    return ORR_OK;
}

bool orri_zero_copy_enabled(const orri_publisher* publisher, orr_type type)
{
    const orri_published_type* found = orri_published_find(publisher, type);
    return found != NULL && found->zero_copy;
}

uint64_t orri_publish_copied(const orri_publisher* publisher)
{
    return atomic_load_explicit(&publisher->copied, memory_order_relaxed);
}

void orri_publish_count(orri_publisher* publisher, size_t bytes)
{
    atomic_fetch_add_explicit(&publisher->copied, bytes, memory_order_relaxed);
}
