// SPDX-License-Identifier: MIT
// Shares of blocks and index pages. share.h states the contract and the states of a share.
#include "store/cow/row_log.h"

#include "store/publish/publish.h"

// Sets the kind, and counts frozen shares: only these can make a write fail.
static void share_set_kind(orr_world* world, orri_share* share, orri_share_kind kind)
{
    world->cow.frozen += (uint64_t)(kind == ORRI_SHARE_FROZEN) -
                         (uint64_t)(share->kind == ORRI_SHARE_FROZEN);
    share->kind = kind;
}

// One holder more for a share whose block was not written since.
static orri_share* share_acquire(orr_world* world, orri_share* share, orri_share_kind kind)
{
    share->refs++;
    // A frozen holder may keep a pointer, so frozen overrides history.
    if (kind == ORRI_SHARE_FROZEN) {
        share_set_kind(world, share, kind);
        share->frozen++;
    }
    return share;
}

// A new share, attached. A share that is attached already has a log, and leans on the new one.
static orri_share* share_make(orr_world* world, orri_share_kind kind, orri_share** attach,
                              uint32_t* counter, uint32_t rows)
{
    orri_share* share = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SHARE, orri_share, 1);
    if (share == NULL) {
        return NULL;
    }
    share->refs = 1;
    share->rows = rows;
    share_set_kind(world, share, kind);
    share->frozen = kind == ORRI_SHARE_FROZEN;
    if (*attach != NULL) {
        orri_row_log_supersede(world, *attach, share);
    } else {
        share->attached = attach;
        share->counter = counter;
        *attach = share;
        (*counter)++;
    }
    world->cow.live++;
    // Blocks stamped in this epoch are now shared: later writes must stamp again, and so find the
    // share.
    orri_epoch_end(world);
    return share;
}

// A share for a holder: the attached one if nothing was written since, otherwise a new one.
static orri_share* share_create(orr_world* world, orri_share_kind kind, orri_share** attach,
                                uint32_t* counter, uint32_t rows)
{
    orri_share* share = *attach;
    if (share != NULL && orri_share_clean(share)) {
        ORR_ASSERT(share->attached == attach);
        return share_acquire(world, share, kind);
    }
    // An open appender may still undo its rows, which no snapshot may contain.
    if (orri_check_open(world, "sharing a block") != ORR_OK) {
        return NULL;
    }
    share = share_make(world, kind, attach, counter, rows);
    if (share == NULL) {
        (void)orri_refuse_memory(&world->env, "sharing a block");
    }
    return share;
}

// Copies the instance counts, so that the share knows how many values to destruct. Releases the
// share and returns false when memory is refused.
static bool share_keep_counts(orr_world* world, orri_share* share, const orri_chunk* chunk,
                              uint32_t column)
{
    if (share->type == NULL || share->type->plain || chunk->cluster->columns[column].counts == 0) {
        return true;
    }
    share->counts = ORRI_ALLOC(&world->env, ORR_MEMORY_SHARE, uint16_t, share->rows);
    if (share->counts == NULL) {
        orri_share_release(world, share);
        (void)orri_refuse_memory(&world->env, "sharing a block");
        return false;
    }
    memcpy(share->counts, orri_cells_at(chunk, column, 0).counts,
           share->rows * sizeof *share->counts);
    return true;
}

orri_share* orri_share_column(orr_world* world, orri_chunk* chunk, uint32_t column,
                              orri_share_kind kind)
{
    ORR_ASSERT(column < chunk->column_count);
    orri_column* entry = &chunk->columns[column];
    orri_share* share =
        share_create(world, kind, &entry->share, &chunk->share_count, orri_chunk_rows(chunk));
    if (share != NULL && share->refs == 1) {
        uint32_t columns = chunk->cluster->column_count;
        const orri_cluster_column* info = &chunk->cluster->columns[column % columns];
        share->data = entry->data;
        if (column < columns) {
            share->type = info->type;
            share->row_size = info->size;
            share->size = (size_t)share->rows * info->size;
        } else {
            share->size = entry->data != NULL ? orri_bits_bytes(info) : 0;
        }
        orri_row_log_set_limit(world, share);
        if (!share_keep_counts(world, share, chunk, column)) {
            return NULL;
        }
    }
    return share;
}

orri_share* orri_share_freeze_column(orr_world* world, orri_chunk* chunk, uint32_t column)
{
    orri_column* entry = &chunk->columns[column];
    const orri_cluster_column* info = &chunk->cluster->columns[column];
    ORR_ASSERT(world->append.open == NULL && info->type->plain && info->size > 0);
    if (entry->share != NULL && orri_share_clean(entry->share)) {
        return share_acquire(world, entry->share, ORRI_SHARE_FROZEN);
    }
    orri_share* share = share_make(world, ORRI_SHARE_FROZEN, &entry->share, &chunk->share_count,
                                   orri_chunk_rows(chunk));
    if (share != NULL) {
        share->data = entry->data;
        share->type = info->type;
        share->row_size = info->size;
        share->size = (size_t)share->rows * info->size;
        orri_row_log_set_limit(world, share);
    }
    return share;
}

void orri_share_unfreeze(orr_world* world, orri_share* share)
{
    ORR_ASSERT(share->frozen > 0 && share->kind == ORRI_SHARE_FROZEN);
    if (--share->frozen == 0) {
        share_set_kind(world, share, ORRI_SHARE_HISTORY);
    }
}

orri_share* orri_share_page(orr_world* world, uint32_t page, orri_share_kind kind)
{
    ORR_ASSERT(page < world->index.page_count);
    orri_share* share = share_create(world, kind, &world->index.metas[page].share,
                                     &world->index.share_count, orri_page_rows(world, page));
    if (share != NULL && share->refs == 1) {
        share->data = world->hot.pages[page];
        share->row_size = sizeof(orri_record);
        share->size = share->rows * sizeof(orri_record);
        orri_row_log_set_limit(world, share);
    }
    return share;
}

// Ends the attachment. The share must have values of its own, or none.
static void share_unhook(orri_share* share)
{
    *share->attached = NULL;
    // Atomic: systems that run in parallel may detach other columns of the same chunk.
    __atomic_fetch_sub(share->counter, 1, __ATOMIC_RELAXED);
    share->attached = NULL;
    share->counter = NULL;
}

// Destructs the values of a detached share and frees their memory.
static void share_free_data(orr_world* world, orri_share* share)
{
    if (share->data == NULL) {
        return;
    }
    if (share->type != NULL && share->size > 0) {
        orri_cells_destruct(orri_share_cells(share, share->data), share->rows);
    }
    if (share->extent != NULL) {
        orri_block_give(share->extent, &world->env, share->data);
    } else if (share->owned_size > 0) {
        orri_free(&world->env, share->purpose, share->data, share->owned_size, share->align);
    }
}

static void share_free(orr_world* world, orri_share* share)
{
    if (share->attached != NULL) {
        share_unhook(share);
    } else {
        share_free_data(world, share);
    }
    orri_row_log_drop(world, share);
    world->cow.live--;
    if (share->counts != NULL) {
        ORRI_FREE(&world->env, ORR_MEMORY_SHARE, uint16_t, share->counts, share->rows);
    }
    ORRI_FREE(&world->env, ORR_MEMORY_SHARE, orri_share, share, 1);
}

void orri_share_collect(orr_world* world, orri_share* share)
{
    while (share != NULL && share->refs == 0 &&
           (share->lean_first == NULL || orri_row_log_fold(world, share))) {
        orri_share* base = share->base;
        orri_row_log_unlink(share);
        share_free(world, share);
        share = base;
    }
}

void orri_share_release(orr_world* world, orri_share* share)
{
    ORR_ASSERT(share->refs > 0);
    if (--share->refs == 0) {
        // No holder keeps a pointer any more, so the share may log for those that lean on it.
        share->frozen = 0;
        share_set_kind(world, share, ORRI_SHARE_HISTORY);
        orri_share_collect(world, share);
    }
}

// The copy of a history share was refused memory: the share, and all that lean on it, are lost.
static void share_lose(orr_world* world, orri_share* share)
{
    world->cow.losses++;
    share->lost = true;
    share->data = NULL;
    share_unhook(share);
    orri_log(&world->env, ORR_LOG_ID_SHARE_LOST,
             "a snapshot lost %u rows: out of memory for their copy; give the world more memory "
             "(memory_bytes_max) or keep fewer snapshots",
             share->rows);
    orri_row_log_drop(world, share);
    orri_row_log_lose(world, share);
    orri_share_collect(world, share);
}

// Copies values. Several workers may copy at the same time, each its own column. Hooks and the
// counts of blobs are not thread-safe, so columns that are not plain are copied under the mutex.
static bool share_copy_values(orr_world* world, const orri_share* share, void* to)
{
    if (share->type == NULL) {
        memcpy(to, share->data, share->size);
        return true;
    }
    orri_cells cells = orri_share_cells(share, to), from = orri_share_cells(share, share->data);
    if (share->type->plain) {
        return orri_cells_copy(cells, from, share->rows);
    }
    orri_mutex_lock(world->env.platform, &world->cow.mutex);
    bool copied = orri_cells_copy(cells, from, share->rows);
    orri_mutex_unlock(world->env.platform, &world->cow.mutex);
    return copied;
}

// Makes a history share OWNED: copies its rows, with the logged rows as they were.
static bool share_copy_out(orr_world* world, orri_share* share)
{
    void* copy = orri_alloc(&world->env, ORR_MEMORY_SHARE, share->size, ORRI_BLOCK_ALIGN);
    if (copy == NULL) {
        orri_refusal_uncount(&world->env);
        return false;
    }
    if (share->log != NULL) {
        orri_row_log_read(share, copy);
        orri_row_log_drop(world, share);
    } else if (!share_copy_values(world, share, copy)) {
        orri_free(&world->env, ORR_MEMORY_SHARE, copy, share->size, ORRI_BLOCK_ALIGN);
        return false;
    }
    share->data = copy;
    share->owned_size = share->size;
    share->align = ORRI_BLOCK_ALIGN;
    share->purpose = ORR_MEMORY_SHARE;
    return true;
}

void orri_share_replace_column(orr_world* world, orri_chunk* chunk, uint32_t column, void* block,
                               orri_extent* extent)
{
    orri_column* entry = &chunk->columns[column];
    orri_column_cold* cold = &orri_chunk_cold(chunk)[column];
    orri_share* share = entry->share;
    share->extent = cold->extent;
    cold->extent = extent;
    entry->data = block;
    share_unhook(share);
    orri_chunk_refresh_column(chunk, column);
    if (ORR_UNLIKELY(world->publisher != NULL)) {
        orri_publish_moved_column(world->publisher, chunk, column);
    }
}

// Copies the rows into a new block for the world; the frozen share keeps the old block.
static bool share_copy_live(orr_world* world, orri_chunk* chunk, uint32_t column)
{
    orri_share* share = chunk->columns[column].share;
    orri_extent* extent;
    void* block = orri_chunk_block(world, chunk, column, 1, &extent);
    if (block == NULL) {
        return false;
    }
    size_t open = (share->size + ORRI_BLOCK_ALIGN - 1) & ~(size_t)(ORRI_BLOCK_ALIGN - 1);
    ORRI_UNPOISON(block, open);
    if (share->type == NULL) {
        memcpy(block, share->data, share->size);
    } else if (!orri_cells_copy(orri_share_cells(share, block),
                                orri_share_cells(share, share->data), share->rows)) {
        orri_block_give(extent, &world->env, block);
        return false;
    }
    orri_share_replace_column(world, chunk, column, block, extent);
    if (ORR_UNLIKELY(world->publisher != NULL)) {
        orri_publish_count(world->publisher, share->size);
    }
    return true;
}

bool orri_share_detach_column(orr_world* world, orri_chunk* chunk, uint32_t column)
{
    orri_share* share = chunk->columns[column].share;
    // In real time only the thread that has the turn changes shares. The blocks that a system
    // writes were reclaimed before the system began (zero_copy.c).
    ORR_ASSERT(!world->realtime || orri_this_thread.world != world ||
               orri_this_thread.clock == NULL);
    if (share->size == 0 || orri_chunk_cold(chunk)[column].extent == NULL) {
        share->data = NULL;
        share_unhook(share);
    } else if (share->kind == ORRI_SHARE_FROZEN) {
        return share_copy_live(world, chunk, column);
    } else if (share_copy_out(world, share)) {
        share_unhook(share);
    } else {
        share_lose(world, share);
    }
    return true;
}

bool orri_share_detach_page(orr_world* world, uint32_t page)
{
    orri_share* share = world->index.metas[page].share;
    size_t size = sizeof(orri_record) * ORRI_PAGE_SIZE;
    if (share->kind == ORRI_SHARE_FROZEN) {
        void* copy = orri_alloc(&world->env, ORR_MEMORY_INDEX, size, ORRI_BLOCK_ALIGN);
        if (copy == NULL) {
            return false;
        }
        memcpy(copy, share->data, share->size);
        share->owned_size = size;
        share->align = ORRI_BLOCK_ALIGN;
        share->purpose = ORR_MEMORY_INDEX;
        world->hot.pages[page] = copy;
        share_unhook(share);
    } else if (share_copy_out(world, share)) {
        share_unhook(share);
    } else {
        share_lose(world, share);
    }
    return true;
}

void orri_share_hand_over(orr_world* world, orri_chunk* chunk, uint32_t column)
{
    orri_column* entry = &chunk->columns[column];
    orri_column_cold* cold = &orri_chunk_cold(chunk)[column];
    orri_share* share = entry->share;
    if (cold->extent == NULL) {
        share->data = NULL;
    }
    if (share->log != NULL) { // The log also has rows that were removed since.
        ORRI_UNPOISON(share->data, share->size);
        orri_row_log_apply(world, share, share->data);
    }
    share->extent = cold->extent;
    cold->extent = NULL;
    entry->data = NULL;
    share_unhook(share);
}

// ---- restoring ----------------------------------------------------------------------------------

bool orri_share_try_detach_column(orr_world* world, orri_chunk* chunk, uint32_t column)
{
    orri_share* share = chunk->columns[column].share;
    if (share == NULL || share->kind == ORRI_SHARE_FROZEN || share->size == 0) {
        return share == NULL || orri_share_detach_column(world, chunk, column);
    }
    if (!share_copy_out(world, share)) {
        return false;
    }
    share_unhook(share);
    return true;
}

bool orri_share_try_detach_page(orr_world* world, uint32_t page)
{
    orri_share* share = world->index.metas[page].share;
    if (share == NULL || share->kind == ORRI_SHARE_FROZEN) {
        return share == NULL || orri_share_detach_page(world, page);
    }
    if (!share_copy_out(world, share)) {
        return false;
    }
    share_unhook(share);
    return true;
}

bool orri_share_materialize(orr_world* world, orri_share* share)
{
    if (share->attached == NULL || share->log == NULL) {
        return orri_row_log_materialize(world, share);
    }
    if (!share_copy_out(world, share)) {
        return false;
    }
    share_unhook(share);
    return true;
}

// Attaches an OWNED share whose values were moved to the world's block. Frees its memory without
// destructing.
static void share_reattach(orr_world* world, orri_share* share, void* data, orri_share** attach,
                           uint32_t* counter)
{
    ORR_ASSERT(share->attached == NULL && *attach == NULL && !share->lost && share->base == NULL);
    if (share->extent != NULL) {
        orri_block_give(share->extent, &world->env, share->data);
    } else if (share->owned_size > 0) {
        orri_free(&world->env, share->purpose, share->data, share->owned_size, share->align);
    }
    share->extent = NULL;
    share->owned_size = 0;
    share->data = data;
    share->attached = attach;
    share->counter = counter;
    *attach = share;
    (*counter)++;
}

void orri_share_reattach_column(orr_world* world, orri_share* share, orri_chunk* chunk,
                                uint32_t column)
{
    orri_column* entry = &chunk->columns[column];
    share_reattach(world, share, entry->data, &entry->share, &chunk->share_count);
}

void orri_share_reattach_page(orr_world* world, orri_share* share, uint32_t page)
{
    share_reattach(world, share, world->hot.pages[page], &world->index.metas[page].share,
                   &world->index.share_count);
}
