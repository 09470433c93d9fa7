// SPDX-License-Identifier: MIT
// Pools of pinned values: one per pinned type. A value keeps its slot, and so its address, while it lives.
#ifndef ORRI_STORE_POOL_H
#define ORRI_STORE_POOL_H

#include "store/world.h"

// As a chunk of one column: ORR_CHUNK_CAPACITY slots, stamped as a whole. Its memory never moves.
typedef struct orri_pool_block {
    uint8_t* data;
    uint32_t* owners;       // Entity index by slot; ORRI_INDEX_NONE: free.
    uint64_t* enabled;      // One bit per slot; NULL: all are on.
    uint64_t version, tick; // Of the last write to any slot. As orri_column.
    uint64_t hash, hash_version;
} orri_pool_block;

struct orri_pool {
    const orri_type* type;
    orri_pool_block* blocks;
    uint32_t block_count, block_capacity;
    uint32_t slot_count; // Slots ever used.
    uint32_t free_first; // Slot + 1; LIFO, state. The link is kept beside the owners.
    uint32_t live;
    uint32_t**
        pages; // By entity index >> ORRI_PAGE_BITS: slot + 1 by the rest; NULL: no owner there.
    uint32_t page_capacity;
    uint64_t version; // The largest of its blocks, ever.
};

// The pool of a pinned type; NULL for other types, and until the first value was added.
orri_pool* orri_pool_find(const orr_world* world, orr_type type);

// Slot + 1 of an entity's value; 0: none. `index` may be any entity index.
static inline uint32_t orri_pool_slot1(const orri_pool* pool, uint32_t index)
{
    uint32_t page = index >> ORRI_PAGE_BITS;
    return page < pool->page_capacity && pool->pages[page] != NULL
               ? pool->pages[page][index & ORRI_PAGE_MASK]
               : 0;
}

static inline uint8_t* orri_pool_at(const orri_pool* pool, uint32_t slot)
{
    return pool->blocks[slot >> ORRI_SLOT_BITS].data +
           (size_t)(slot & ORRI_SLOT_MASK) * pool->type->info.size;
}

// Entity index of the owner; ORRI_INDEX_NONE: the slot is free.
static inline uint32_t orri_pool_owner(const orri_pool* pool, uint32_t slot)
{
    return pool->blocks[slot >> ORRI_SLOT_BITS].owners[slot & ORRI_SLOT_MASK];
}

// The value of an entity; NULL if it has none. `pool` may be NULL.
static inline uint8_t* orri_pool_get(const orri_pool* pool, uint32_t index)
{
    uint32_t slot1 = pool != NULL ? orri_pool_slot1(pool, index) : 0;
    return slot1 != 0 ? orri_pool_at(pool, slot1 - 1) : NULL;
}

// True when the entity has a value and it is switched on.
static inline bool orri_pool_enabled(const orri_pool* pool, uint32_t index)
{
    uint32_t slot1 = pool != NULL ? orri_pool_slot1(pool, index) : 0;
    if (slot1 == 0) {
        return false;
    }
    const uint64_t* enabled = pool->blocks[(slot1 - 1) >> ORRI_SLOT_BITS].enabled;
    return enabled == NULL || orri_bit_get(enabled, (slot1 - 1) & ORRI_SLOT_MASK);
}

// The value to write: stamps its block. NULL if the entity has none.
uint8_t* orri_pool_write(orr_world* world, orri_pool* pool, uint32_t index);

#endif
