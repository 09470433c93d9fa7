// SPDX-License-Identifier: MIT
// Pools of pinned values: one per pinned type. A value keeps its slot, and so its address, while it lives.
//
//   entity index ──> page: slot + 1 ──> block of slots: value, owner, enable bit
//
// Who names a type that has no pool yet gets NULL: nobody has a value. A pool keeps its memory until the world ends.
#ifndef ORRI_STORE_POOL_POOL_H
#define ORRI_STORE_POOL_POOL_H

#include "store/table/transient.h"

// As a chunk of one column: slots stamped as a whole. Its memory never moves. It has ORR_CHUNK_CAPACITY slots, or fewer
// of a large type, so that one value does not take a hundred megabytes.
typedef struct orri_pool_block {
    uint8_t* data;
    uint32_t* owners;       // Entity index by slot; ORRI_INDEX_NONE: free.
    uint64_t* enabled;      // One bit per slot, on for free ones; NULL: all are on.
    uint64_t version, tick; // Of the last write to any slot. As orri_column.
    uint64_t hash, hash_version;
    struct orri_pool_share*
        share;      // Somebody holds the block as it is (pool_share.c); NULL: nobody.
    uint64_t stamp; // Epoch in which a slot got or lost its owner last.
} orri_pool_block;

struct orri_pool {
    const orri_type* type;
    orri_pool_block* blocks;
    uint32_t* links; // By slot, of free ones: the next free slot + 1. Flat: adding waits for this.
    uint32_t**
        pages; // By entity index >> ORRI_PAGE_BITS: slot + 1 by the rest; NULL: no owner there.
    uint32_t page_capacity;
    uint32_t size;       // Of a value.
    uint32_t slot_count; // Slots ever used.
    uint32_t slot_room;  // Slots there are blocks for.
    uint32_t free_first; // Slot + 1; LIFO, state.
    uint32_t live;
    uint8_t slot_bits; // A block has 1 << slot_bits slots.
    bool plain;        // The type is, and nobody else keeps book of it: values go the short way.
    bool small;        // 4, 8 or 16 bytes without padding.
    bool is_name;      // Of orr_name: written by entity_name.c only.
    uint32_t block_count, block_capacity, link_capacity;
    uint64_t version;           // The largest of its blocks, ever.
    uint8_t preset[16];         // Of a small type.
    uint32_t** transient_pages; // As `pages`, of transient entities, by their number (transient.h).
    uint32_t transient_capacity;
};

// The pool of a pinned type; NULL for other types, and until the first value was added.
static inline orri_pool* orri_pool_find(const orr_world* world, orr_type type)
{
    uint32_t index = orri_type_index(world, type);
    return index < world->pinned.capacity ? world->pinned.pools[index] : NULL;
}

// Of transient entities. (pool.c)
ORRI_COLD uint32_t* orri_pool_entry_transient(const orri_pool* pool, uint32_t index);
ORRI_COLD uint32_t orri_pool_slot1_transient(const orri_pool* pool, uint32_t index);
// The place of an entity's slot + 1; NULL: there is no page.
static inline uint32_t* orri_pool_entry(const orri_pool* pool, uint32_t index)
{
    uint32_t page = index >> ORRI_PAGE_BITS;
    if (ORR_LIKELY(page < pool->page_capacity)) {
        return pool->pages[page] != NULL ? &pool->pages[page][index & ORRI_PAGE_MASK] : NULL;
    }
    return ORR_UNLIKELY(orri_index_transient(index)) ? orri_pool_entry_transient(pool, index)
                                                     : NULL;
}

// Slot + 1 of an entity's value; 0: none. `index` may be any entity index.
static inline uint32_t orri_pool_slot1(const orri_pool* pool, uint32_t index)
{
    uint32_t page = index >> ORRI_PAGE_BITS;
    if (ORR_LIKELY(page < pool->page_capacity)) {
        return pool->pages[page] != NULL ? pool->pages[page][index & ORRI_PAGE_MASK] : 0;
    }
    return ORR_UNLIKELY(orri_index_transient(index)) ? orri_pool_slot1_transient(pool, index) : 0;
}

static inline orri_pool_block* orri_pool_block_of(const orri_pool* pool, uint32_t slot)
{
    return &pool->blocks[slot >> pool->slot_bits];
}

// The slot within its block.
static inline uint32_t orri_pool_within(const orri_pool* pool, uint32_t slot)
{
    return slot & ((1u << pool->slot_bits) - 1);
}

static inline uint8_t* orri_pool_at(const orri_pool* pool, uint32_t slot)
{
    return orri_pool_block_of(pool, slot)->data + (size_t)orri_pool_within(pool, slot) * pool->size;
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
    const uint64_t* enabled = orri_pool_block_of(pool, slot1 - 1)->enabled;
    return enabled == NULL || orri_bit_get(enabled, orri_pool_within(pool, slot1 - 1));
}

// The entity that has a slot; ORRI_INDEX_NONE: it is free.
static inline uint32_t orri_pool_owner(const orri_pool* pool, uint32_t slot)
{
    return orri_pool_block_of(pool, slot)->owners[orri_pool_within(pool, slot)];
}

// The value to write: stamps its block. NULL if the entity has none.
uint8_t* orri_pool_write(orr_world* world, orri_pool* pool, uint32_t index);

// ---- pool.c: values come and go ---------------------------------------------------------------------------

// The pool of a pinned type, made if missing. NULL when refused (reported).
orri_pool* orri_pool_obtain(orr_world* world, const orri_type* type);
// Everything that may be refused before `count` entities get values: listeners, slots. The pages of the entities
// come by orri_pool_reserve_page(). False: reported.
bool orri_pool_reserve(orr_world* world, orri_pool* pool, uint32_t count);
bool orri_pool_reserve_page(orr_world* world, orri_pool* pool, uint32_t index);

// The slots that the next values will get, in order, without taking them.
typedef struct orri_pool_cursor {
    uint32_t free1, fresh; // Next of the free list, slot + 1; next that was never used.
} orri_pool_cursor;
static inline orri_pool_cursor orri_pool_cursor_begin(const orri_pool* pool)
{
    return (orri_pool_cursor){pool->free_first, pool->slot_count};
}
uint32_t orri_pool_cursor_next(const orri_pool* pool, orri_pool_cursor* cursor);
// Makes a value in a slot nobody has: the preset, or a copy of `value`. False when a hook refuses (not reported).
bool orri_pool_make(const orri_pool* pool, uint32_t slot, const void* value);
// The opposite, for values nobody has seen.
void orri_pool_unmake(const orri_pool* pool, uint32_t slot);
// The entity gets the next slot, in which its value was made. All must be reserved. Stamps.
void orri_pool_enter(orr_world* world, orri_pool* pool, uint32_t index);
// The same for a plain type, whose value is made by the way: `value`, or NULL for the preset.
void orri_pool_enter_plain(orr_world* world, orri_pool* pool, uint32_t index, const void* value);
// Adds a value to an entity that may have one already (then nothing happens). `value` NULL: the preset.
orr_result orri_pool_add(orr_world* world, const char* call, const orri_type* type, uint32_t index,
                         const void* value);
// Removes the value of an entity, if it has one. The world must be open.
void orri_pool_remove(orr_world* world, orri_pool* pool, uint32_t index);
// Makes sure that a block has enable bits. False when refused (reported).
bool orri_pool_reserve_bits(orr_world* world, orri_pool* pool, uint32_t slot);
// Switches a value that is there.
orr_result orri_pool_enable(orr_world* world, orri_pool* pool, uint32_t index, bool on);
void orri_pools_term(orr_world* world);
// Invariant S14. Reports.
orr_result orri_pools_validate(orr_world* world);
// The part of the world's hash. Unchanged if no entity ever had a pinned value.
uint64_t orri_pools_hash(orr_world* world, uint64_t hash);
// Of one that has values.
uint64_t orri_pool_hash(orri_pool* pool, uint64_t hash);

// ---- pool_share.c: blocks held for snapshots --------------------------------------------------------------------

// A block as it was. Attached: nobody wrote to it since, and it has nothing of its own. The first write detaches it: it gets a copy of the values,
// owners, links and bits, for values never move; if that is refused it is lost, never the write.
typedef struct orri_pool_share {
    orri_pool* pool;
    uint32_t number;     // Of the block.
    uint32_t refs, used; // Holders; slots that had been used.
    bool attached, lost;
    uint64_t round; // As orri_share.
    // Detached: one piece of memory.
    size_t bytes;
    uint8_t* values;
    uint32_t *owners, *links;
    uint64_t* enabled; // NULL: all on.
} orri_pool_share;

// NULL when refused (reported).
orri_pool_share* orri_pool_share_take(orr_world* world, orri_pool* pool, uint32_t number);
void orri_pool_share_release(orr_world* world, orri_pool_share* share);
// The block is about to be written. From any thread that writes values.
ORRI_COLD void orri_pool_share_detach(orr_world* world, orri_pool_block* block);
// For going back: the same, but false when refused (silent), and nothing is lost.
bool orri_pool_share_try_detach(orr_world* world, orri_pool_block* block);
// Bytes that a block of the pool has in use.
size_t orri_pool_share_bytes(const orri_pool_share* share);

// A pool at one moment. Counted: snapshots that differ elsewhere have it together.
typedef struct orri_pool_node {
    orri_pool* pool;
    uint32_t refs;
    uint32_t slot_count, free_first, live, block_count;
    uint64_t round;
    struct {
        orri_pool_share* share;
        uint64_t tick;
    } blocks[];
} orri_pool_node;

// Of the pool as it is; `last` (may be NULL) if nothing has changed since. NULL when refused (reported).
orri_pool_node* orri_pool_node_take(orr_world* world, orri_pool* pool, orri_pool_node* last);
// True when this was the last holder: the node is gone.
bool orri_pool_node_release(orr_world* world, orri_pool_node* node);
bool orri_pool_node_lost(const orri_pool_node* node);
bool orri_pool_node_same(const orri_pool_node* node, const orri_pool* pool);
// Everything that may be refused (silent) before a pool is as it was; `node` NULL: when it was empty. Then that.
bool orri_pool_restore_prepare(orr_world* world, orri_pool* pool, const orri_pool_node* node);
void orri_pool_restore(orr_world* world, orri_pool* pool, const orri_pool_node* node);

// ---- pinned.c: component calls on pinned types; entities and types are checked ------------------------------

// Refuses a pinned type where only columns of clusters will do.
ORRI_COLD orr_result orri_refuse_pinned(const orr_world* world, const char* call, orr_type type);
static inline bool orri_type_pinned(const orri_type* type)
{
    return type->info.storage == ORR_PINNED;
}
orr_result orri_pinned_set(orr_world* world, const char* call, orr_entity entity,
                           const orri_type* type, const void* value);
orr_result orri_pinned_add_hooked(orr_world* world, const char* call, orr_entity entity,
                                  const orri_type* type);
static inline orr_result orri_pinned_add(orr_world* world, const char* call, orr_entity entity,
                                         const orri_type* type)
{
    return ORR_LIKELY(type->plain) ? orri_pool_add(world, call, type, orri_id_index(entity), NULL)
                                   : orri_pinned_add_hooked(world, call, entity, type);
}
orr_result orri_pinned_remove(orr_world* world, const char* call, orr_entity entity,
                              const orri_type* type);
void* orri_pinned_edit(orr_world* world, const char* call, orr_entity entity, orr_type type);
orr_result orri_pinned_enable(orr_world* world, const char* call, orr_entity entity,
                              const orri_type* type, bool on);
orr_result orri_pinned_add_many(orr_world* world, const char* call, const orr_entity* entities,
                                uint32_t count, const orri_type* type, const void* values);
orr_result orri_pinned_remove_many(orr_world* world, const char* call, const orr_entity* entities,
                                   uint32_t count, const orri_type* type);
// All have the type.
orr_result orri_pinned_set_many(orr_world* world, const char* call, const orr_entity* entities,
                                uint32_t count, const orri_type* type, const void* values);
// Sets a value that is not plain: `copy`, made for it, is raw afterwards.
void orri_pinned_overwrite(const orri_type* type, uint8_t* place, void* copy);
// Copies of the values of one entity for another that is about to be created with the index `to`: made, then entered once
// it lives, or abandoned. Names and transient values are not copied.
orr_result orri_pinned_copy_make(orr_world* world, const char* call, uint32_t from, uint32_t to);
void orri_pinned_copy_enter(orr_world* world, uint32_t from, uint32_t to);
void orri_pinned_copy_abandon(orr_world* world, uint32_t from);

#endif
