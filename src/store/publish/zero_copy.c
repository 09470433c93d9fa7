// SPDX-License-Identifier: MIT
// Types that a system overwrites as a whole are published without a copy: the live block itself is shown, and before it is written again the
// world gets another one.
//
//   live ══> block A                  live ══> block A, lent                   live ──> block B, any values, to be overwritten
//                                 shown ─────────^                          shown ──> block A
//
// Everything else that writes to a lent block finds a frozen share (share.h), and copies it first. Which blocks are lent is decided block by
// block, by what the first systems did that could write it since it was shown: if they overwrote it, they will again; otherwise lending only
// puts the copy off, to a worse place. Blocks that nobody sees any more are kept for the next time.
#include "store/cow/share.h"
#include "store/publish/publish_detail.h"

// ---- blocks that are kept -----------------------------------------------------------------------------------

// Nobody but this block has the share, and the world does not write there: full blocks are all of one size.
static bool zero_copy_keeps(const orri_published_type* type, const orri_share* share)
{
    return type->lends && share->refs == 1 && share->attached == NULL && share->extent != NULL &&
           share->extent->block_size == orri_block_bytes(type->size, ORRI_LEVELS) &&
           type->kept_count < type->lent_count;
}

static orri_share* zero_copy_kept_take(orri_published_type* type)
{
    orri_share* share = type->kept;
    memcpy(&type->kept, share->data, sizeof type->kept);
    type->kept_count--;
    return share;
}

void orri_zero_copy_trim(orri_publisher* publisher, orri_published_type* type, uint32_t most)
{
    while (type->kept_count > most) {
        orri_share_release(publisher->world, zero_copy_kept_take(type));
    }
}

void orri_zero_copy_end(orri_publisher* publisher, orri_published_type* type,
                        orri_edition_block* block)
{
    orri_share* share = block->share;
    block->share = NULL;
    type->lent_count--;
    if (zero_copy_keeps(type, share)) {
        memcpy(share->data, &type->kept, sizeof type->kept);
        type->kept = share;
        type->kept_count++;
    } else {
        orri_share_unfreeze(publisher->world, share);
        orri_share_release(publisher->world, share);
        orri_zero_copy_trim(publisher, type, type->lent_count);
    }
}

// ---- lending ------------------------------------------------------------------------------------------------

static orri_edition_block* zero_copy_block(orri_publisher* publisher, orri_published_type* type,
                                           orri_chunk* chunk, const orri_edition_block* old)
{
    orri_edition_block* block = orri_edition_block_take_lent(publisher, type);
    if (block == NULL) {
        return NULL;
    }
    block->share = orri_share_freeze_column(publisher->world, chunk, old->column);
    if (block->share == NULL) {
        orri_edition_block_drop(publisher, type, block);
        return NULL;
    }
    type->lent_count++;
    block->data = block->share->data;
    block->rows = block->share->rows;
    block->column = old->column;
    block->source = chunk->columns[old->column].version;
    block->lend = true;
    return block;
}

// Into the edition in the making, which is made if there is something. False when refused (silent).
static bool zero_copy_type(orri_publisher* publisher, orri_published_type* type)
{
    const orri_edition* newest = type->editions;
    for (uint32_t id = 0; type->lends && id < newest->capacity; id++) {
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

// What waits to be shown gets the lent blocks, too.
static void zero_copy_keep(orri_publisher* publisher, orri_published_type* type)
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
    orri_edition_undo(publisher, type);
}

orr_result orri_publish_lend(orri_publisher* publisher, const orr_type* types, uint32_t count)
{
    bool lent = true;
    for (uint32_t i = 0; lent && i < count; i++) {
        lent = zero_copy_type(publisher, orri_published_find(publisher, types[i]));
    }
    for (uint32_t i = 0; i < count; i++) {
        orri_published_type* type = orri_published_find(publisher, types[i]);
        if (lent) {
            zero_copy_keep(publisher, type);
        } else {
            orri_edition_undo(publisher, type);
        }
    }
    return lent ? ORR_OK : orri_refuse_memory(&publisher->world->env, "publishing values");
}

// ---- reclaiming ---------------------------------------------------------------------------------------------

static size_t zero_copy_open_bytes(const orri_chunk* chunk, uint32_t column)
{
    size_t bytes = (size_t)orri_chunk_rows(chunk) * chunk->cluster->columns[column].size;
    return (bytes + ORRI_BLOCK_ALIGN - 1) & ~(size_t)(ORRI_BLOCK_ALIGN - 1);
}

// Memory for a live block: one that is kept, or as ever. NULL when refused (silent).
static void* zero_copy_live_block(orri_publisher* publisher, orri_published_type* type,
                                  const orri_chunk* chunk, uint32_t column, orri_extent** extent)
{
    orr_world* world = publisher->world;
    void* block;
    if (type->kept_count > 0 && chunk->capacity == ORR_CHUNK_CAPACITY) {
        orri_share* share = zero_copy_kept_take(type);
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
        // Rows that are left out have any value, but not what memory happened to hold: addresses, say.
        ORRI_UNPOISON(block, zero_copy_open_bytes(chunk, column));
        memset(block, 0, zero_copy_open_bytes(chunk, column));
    }
    return block;
}

static bool zero_copy_reclaim_chunk(orri_publisher* publisher, orri_published_type* type,
                                    orri_chunk* chunk, uint32_t column, bool overwritten)
{
    if (!ORRI_RESERVE(&publisher->world->env, ORR_MEMORY_SHOWN, &publisher->reclaimed,
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
        newest->lend = newest->decided ? newest->lend : how == ORRI_RECLAIM_ANEW;
        newest->decided = true;
        if (chunk->columns[newest->column].share != NULL &&
            !zero_copy_reclaim_chunk(publisher, type, chunk, newest->column,
                                     how == ORRI_RECLAIM_ANEW)) {
            return orri_refuse_memory(&publisher->world->env,
                                      "going on beside what others see of a type");
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

// ---- which types --------------------------------------------------------------------------------------------

orr_result orri_publish_lends(orri_publisher* publisher, orr_type handle, bool on)
{
    orr_world* world = publisher->world;
    orri_published_type* type = orri_published_find(publisher, handle);
    ORR_ASSERT(type != NULL && (!on || type->type->plain));
    on &= type->size > 0 && type->kind == ORRI_PUBLISHED_ROWS;
    for (uint32_t id = 0; type->lends && !on && id < type->editions->capacity; id++) {
        const orri_edition_block* block = type->editions->blocks[id];
        if (block != NULL && !orri_column_prepare(world, world->chunks.list[id], block->column)) {
            return orri_env_result(&world->env);
        }
    }
    type->lends = on;
    orri_zero_copy_trim(publisher, type, on ? type->lent_count : 0);
    return ORR_OK;
}

bool orri_publish_lending(const orri_publisher* publisher, orr_type type)
{
    const orri_published_type* found = orri_published_find(publisher, type);
    return found != NULL && found->lends;
}

uint64_t orri_publish_copied(const orri_publisher* publisher)
{
    return atomic_load_explicit(&publisher->copied, memory_order_relaxed);
}

void orri_publish_count(orri_publisher* publisher, size_t bytes)
{
    atomic_fetch_add_explicit(&publisher->copied, bytes, memory_order_relaxed);
}
