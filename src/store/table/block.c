// SPDX-License-Identifier: MIT
// Memory of blocks. A source hands out blocks of one size from extents that grow with the number of
// blocks in use, so that iterating a column rarely jumps in memory; a jump costs more than the
// bookkeeping of a chunk.
//
// Two kinds of sources exist: one per column of a cluster (full blocks), and one per type and level
// (small blocks of first chunks, so that thousands of tiny clusters lie close together).
#include "store/world/world.h"

#define BLOCK_EXTENT_MAX ((size_t)64 << 20) // Largest extent in bytes, unless one block is larger.
#define BLOCK_SMALL_MAX  ((size_t)64 << 10) // The same for blocks of up to BLOCK_SMALL bytes.
#define BLOCK_SMALL      ((size_t)4 << 10)
// Up to this number of blocks a new extent doubles what exists; from then on it adds an eighth.
#define BLOCK_DOUBLE_UNTIL 64u

// Free blocks are linked through their first bytes.
static void* block_next_free(const void* block)
{
    void* next;
    memcpy(&next, block, sizeof next);
    return next;
}

// Address of a block within its extent.
static uint8_t* block_address(const orri_extent* extent, uint32_t index)
{
    return (uint8_t*)(uintptr_t)extent + extent->offset + index * extent->block_size;
}

// Enters an extent into its source's list of extents that have a free block.
static void block_partial_link(orri_extent* extent)
{
    orri_source* source = extent->source;
    extent->partial_prev = NULL;
    extent->partial_next = source->partial;
    if (source->partial != NULL) {
        source->partial->partial_prev = extent;
    }
    source->partial = extent;
}

static void block_partial_unlink(orri_extent* extent)
{
    if (extent->partial_prev != NULL) {
        extent->partial_prev->partial_next = extent->partial_next;
    } else {
        extent->source->partial = extent->partial_next;
    }
    if (extent->partial_next != NULL) {
        extent->partial_next->partial_prev = extent->partial_prev;
    }
    extent->partial_prev = extent->partial_next = NULL;
}

// True when every block of the extent is in use.
static bool block_extent_full(const orri_extent* extent)
{
    return extent->block_used == extent->block_count && extent->block_free == 0;
}

// Number of blocks of the next extent. Doubling keeps small clusters in few extents; adding an
// eighth keeps the memory of large clusters within 12.5% of what they use.
static uint32_t block_extent_count(const orri_source* source, uint32_t wanted)
{
    size_t live = source->block_live;
    size_t count = live < BLOCK_DOUBLE_UNTIL ? live : live / 8;
    size_t most = source->block_size <= BLOCK_SMALL ? BLOCK_SMALL_MAX : BLOCK_EXTENT_MAX;
    if (count * source->block_size > most) {
        count = most / source->block_size;
    }
    if (count < wanted) {
        count = wanted;
    }
    return count == 0 ? 1 : (uint32_t)count;
}

void* orri_block_take_alone(orri_env* env, size_t bytes, orri_extent** out)
{
    size_t offset = (sizeof(orri_extent) + ORRI_BLOCK_ALIGN - 1) & ~(size_t)(ORRI_BLOCK_ALIGN - 1);
    orri_extent* extent = orri_alloc(env, ORR_MEMORY_COLUMN, offset + bytes, ORRI_BLOCK_ALIGN);
    if (extent == NULL) {
        return NULL;
    }
    *extent = (orri_extent){.size = offset + bytes,
                            .block_size = bytes,
                            .offset = (uint32_t)offset,
                            .block_count = 1,
                            .block_used = 1};
    ORRI_POISON((uint8_t*)extent + offset, bytes);
    *out = extent;
    return block_address(extent, 0);
}

// Allocates an extent: its header, the stagger, then the blocks.
static orri_extent* block_extent_create(orri_source* source, orri_env* env, uint32_t wanted)
{
    uint32_t count = block_extent_count(source, wanted);
    size_t head = (sizeof(orri_extent) + ORRI_BLOCK_ALIGN - 1) & ~(size_t)(ORRI_BLOCK_ALIGN - 1);
    size_t offset = head + source->stagger;
    if (source->block_size > (SIZE_MAX - offset) / count) {
        return NULL;
    }
    size_t size = offset + count * source->block_size;
    orri_extent* extent = orri_alloc(env, ORR_MEMORY_COLUMN, size, ORRI_BLOCK_ALIGN);
    if (extent == NULL) {
        return NULL;
    }
    *extent = (orri_extent){.source = source,
                            .next = source->first,
                            .size = size,
                            .block_size = source->block_size,
                            .offset = (uint32_t)offset,
                            .block_count = count};
    if (source->first != NULL) {
        source->first->prev = extent;
    }
    source->first = extent;
    block_partial_link(extent);
    ORRI_POISON((uint8_t*)extent + offset, size - offset);
    return extent;
}

static void block_extent_destroy(orri_extent* extent, orri_env* env)
{
    ORR_ASSERT(extent->block_used == extent->block_free);
    if (extent->source != NULL) {
        block_partial_unlink(extent);
        if (extent->prev != NULL) {
            extent->prev->next = extent->next;
        } else {
            extent->source->first = extent->next;
        }
        if (extent->next != NULL) {
            extent->next->prev = extent->prev;
        }
    }
    ORRI_UNPOISON(extent, extent->size);
    orri_free(env, ORR_MEMORY_COLUMN, extent, extent->size, ORRI_BLOCK_ALIGN);
}

void orri_source_init(orri_source* source, size_t block_size, uint32_t stagger)
{
    ORR_ASSERT(block_size % ORRI_BLOCK_ALIGN == 0 && stagger % ORRI_BLOCK_ALIGN == 0);
    *source = (orri_source){.block_size = block_size, .stagger = stagger};
}

void orri_source_term(orri_source* source, orri_env* env)
{
    orri_extent* next;
    for (orri_extent* extent = source->first; extent != NULL; extent = next) {
        next = extent->next;
        extent->source = NULL;
        extent->prev = extent->next = extent->partial_prev = extent->partial_next = NULL;
        if (extent->block_used == extent->block_free) {
            block_extent_destroy(extent, env);
        }
    }
    *source = (orri_source){.block_size = source->block_size, .stagger = source->stagger};
}

void* orri_block_take(orri_source* source, orri_env* env, uint32_t wanted, orri_extent** out)
{
    orri_extent* extent = source->partial;
    if (extent == NULL) {
        extent = block_extent_create(source, env, wanted);
        if (extent == NULL) {
            return NULL;
        }
    }
    void* block = extent->free_first;
    if (block != NULL) {
        ORRI_UNPOISON(block, sizeof(void*));
        extent->free_first = block_next_free(block);
        ORRI_POISON(block, sizeof(void*));
        extent->block_free--;
    } else {
        block = block_address(extent, extent->block_used++);
    }
    if (block_extent_full(extent)) {
        block_partial_unlink(extent);
    }
    source->block_live++;
    *out = extent;
    return block;
}

void orri_block_give(orri_extent* extent, orri_env* env, void* block)
{
    ORR_ASSERT(extent->block_used > extent->block_free);
    if (extent->source != NULL) {
        extent->source->block_live--;
        if (block_extent_full(extent)) {
            block_partial_link(extent);
        }
    }
    ORRI_UNPOISON(block, sizeof(void*));
    memcpy(block, &extent->free_first, sizeof extent->free_first);
    ORRI_POISON(block, extent->block_size);
    extent->free_first = block;
    extent->block_free++;
    if (extent->block_used == extent->block_free) {
        block_extent_destroy(extent, env);
    }
}

#undef BLOCK_EXTENT_MAX
#undef BLOCK_SMALL_MAX
#undef BLOCK_SMALL
#undef BLOCK_DOUBLE_UNTIL
