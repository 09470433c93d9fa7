// SPDX-License-Identifier: MIT
// Pools of pinned values: one per pinned type. A value keeps its slot, and so its address, as long
// as it exists.
//
//   entity index ──> page: slot + 1 ──> block of slots: value, owner, enable bit
//
// A pool is created with the first value of its type, and keeps its memory until the world is
// destroyed.
#ifndef ORRI_STORE_POOL_POOL_H
#define ORRI_STORE_POOL_POOL_H

#include "store/table/transient.h"

// A block of slots, stamped as a whole, like a chunk with one column. Its memory never moves. It
// has ORR_CHUNK_CAPACITY slots, or fewer for a large type, so that the first value does not
// allocate a hundred megabytes.
typedef struct orri_pool_block {
    uint8_t* data;
    uint32_t* owners;              // Entity index by slot; ORRI_INDEX_NONE: free.
    uint64_t* enabled;             // One enable bit per slot, on for free slots; NULL: all are on.
    uint64_t version, tick;        // Of the last write to any slot, as in orri_column.
    uint64_t hash, hash_version;   // Valid if hash_version == version and not 0.
    struct orri_pool_share* share; // Attached share (pool_share.c); NULL: the block is not shared.
    uint64_t stamp;                // Epoch in which a slot last got or lost an owner.
} orri_pool_block;

struct orri_pool {
    const orri_type* type;
    orri_pool_block* blocks;
    // Free list, by slot: next free slot + 1. One flat array, since adding waits for this read.
    uint32_t* links;
    // Slot + 1 by entity index, in pages of ORRI_PAGE_SIZE; NULL: no owner in this page.
    uint32_t** pages;
    uint32_t page_capacity;
    uint32_t size;       // Of a value.
    uint32_t slot_count; // Slots ever used.
    uint32_t slot_room;  // Slots that blocks exist for.
    uint32_t free_first; // First of the free list: slot + 1, last in, first out. State.
    uint32_t live;       // Values.
    uint8_t slot_bits;   // A block has 1 << slot_bits slots.
    bool plain;          // The type is plain and not orr_name: values take the fast paths.
    bool small;          // 4, 8 or 16 bytes without padding.
    bool quick;          // Small and plain: adding and removing take the short path.
    bool is_name;        // The pool of orr_name, which only entity_name.c writes.
    uint32_t block_count, block_capacity, link_capacity;
    uint64_t version;           // Largest version of its blocks, ever.
    uint8_t preset[16];         // Preset of a small type.
    uint32_t** transient_pages; // As `pages`, for transient entities, by orri_transient_number().
    uint32_t transient_capacity;
};

// The pool of a pinned type; NULL for other types, and until the first value was added.
static inline orri_pool* orri_pool_find(const orr_world* world, orr_type type)
{
    uint32_t index = orri_type_index(world, type);
    return index < world->pinned.capacity ? world->pinned.pools[index] : NULL;
}

// Slow paths of the two functions below, for transient entities. (pool.c)
ORRI_COLD uint32_t* orri_pool_entry_transient(const orri_pool* pool, uint32_t index);
ORRI_COLD uint32_t orri_pool_slot1_transient(const orri_pool* pool, uint32_t index);
// Address of the page entry of an entity: its slot + 1; NULL: the page does not exist.
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

// True when the entity has a value and the value is enabled.
static inline bool orri_pool_enabled(const orri_pool* pool, uint32_t index)
{
    uint32_t slot1 = pool != NULL ? orri_pool_slot1(pool, index) : 0;
    if (slot1 == 0) {
        return false;
    }
    const uint64_t* enabled = orri_pool_block_of(pool, slot1 - 1)->enabled;
    return enabled == NULL || orri_bit_get(enabled, orri_pool_within(pool, slot1 - 1));
}

// Slots of a block that were ever used.
static inline uint32_t orri_pool_block_used(const orri_pool* pool, uint32_t number)
{
    uint32_t slots = 1u << pool->slot_bits, first = number << pool->slot_bits;
    uint32_t left = pool->slot_count > first ? pool->slot_count - first : 0;
    return left < slots ? left : slots;
}

// The entity that has a slot; ORRI_INDEX_NONE: it is free.
static inline uint32_t orri_pool_owner(const orri_pool* pool, uint32_t slot)
{
    return orri_pool_block_of(pool, slot)->owners[orri_pool_within(pool, slot)];
}

// The value of an entity, to be written: stamps its block. NULL: the entity has none.
uint8_t* orri_pool_write(orr_world* world, orri_pool* pool, uint32_t index);

// ---- pool.c: adding and removing values ---------------------------------------------------------

// The pool of a pinned type, created if missing. NULL when refused (reported).
orri_pool* orri_pool_obtain(orr_world* world, const orri_type* type);
// Makes sure that `count` more values can be added without failing. orri_pool_reserve_page() does
// so for the page of one owner. False: reported.
bool orri_pool_reserve(orr_world* world, orri_pool* pool, uint32_t count);
bool orri_pool_reserve_page(orr_world* world, orri_pool* pool, uint32_t index);

// Walks the slots that the next values will get, in order, without taking them.
typedef struct orri_pool_cursor {
    uint32_t free1, fresh; // Next of the free list, slot + 1; next slot that was never used.
} orri_pool_cursor;
static inline orri_pool_cursor orri_pool_cursor_begin(const orri_pool* pool)
{
    return (orri_pool_cursor){pool->free_first, pool->slot_count};
}
uint32_t orri_pool_cursor_next(const orri_pool* pool, orri_pool_cursor* cursor);
// Constructs a value in a free slot: a copy of `value` or, if NULL, the preset. False when a hook
// refuses (silent).
bool orri_pool_make(const orri_pool* pool, uint32_t slot, const void* value);
// Undoes orri_pool_make().
void orri_pool_unmake(const orri_pool* pool, uint32_t slot);
// Gives the entity the next slot, in which its value was constructed. Everything must be reserved.
// Stamps.
void orri_pool_enter(orr_world* world, orri_pool* pool, uint32_t index);
// The same for a plain type, and constructs the value: `value` or, if NULL, the preset.
void orri_pool_enter_plain(orr_world* world, orri_pool* pool, uint32_t index, const void* value);
// Copies a value of 4, 8 or 16 bytes through registers.
static inline void orri_pool_write_small(uint8_t* to, const void* from, uint32_t size)
{
    if (size == 4) {
        memcpy(to, from, 4);
    } else if (size == 8) {
        memcpy(to, from, 8);
    } else {
        memcpy(to, from, 16);
    }
}
// Puts a slot on the free list. Its value must be destructed.
static inline void orri_pool_give_back(orri_pool* pool, uint32_t slot)
{
    orri_pool_block* block = orri_pool_block_of(pool, slot);
    uint32_t within = orri_pool_within(pool, slot);
    if (ORR_UNLIKELY(block->enabled != NULL)) {
        orri_bit_set(block->enabled, within, true);
    }
    ORRI_POISON(block->data + (size_t)within * pool->size, pool->size);
    pool->links[slot] = pool->free_first;
    pool->free_first = slot + 1;
}

// The page entry of an entity, for the two short paths below. NULL: the general path decides, since
// the entity is dead or transient, its page is missing, the type is not quick, a listener must be
// notified, or the world is not open.
static inline uint32_t* orri_pool_entry_quick(const orr_world* world, const orri_pool* pool,
                                              orr_entity entity)
{
    uint32_t index = orri_id_index(entity), page = index >> ORRI_PAGE_BITS;
    if (!pool->quick || world->listener.pinned_changed != NULL || world->running.access != NULL ||
        !orri_world_open(world) || page >= pool->page_capacity || pool->pages[page] == NULL ||
        orri_record_find(world, entity) == NULL) {
        return NULL;
    }
    return &pool->pages[page][index & ORRI_PAGE_MASK];
}
// Adds the preset, if nothing can be refused and the block was stamped in this epoch. False: nothing
// was done.
static inline bool orri_pool_add_quick(orr_world* world, orri_pool* pool, orr_entity entity)
{
    uint32_t* entry = orri_pool_entry_quick(world, pool, entity);
    bool fresh = pool->free_first == 0;
    uint32_t slot1 = fresh ? pool->slot_count + 1 : pool->free_first;
    if (entry == NULL || *entry != 0 || slot1 > pool->slot_room) {
        return false;
    }
    orri_pool_block* block = orri_pool_block_of(pool, slot1 - 1);
    if (block->version != world->epoch) {
        return false;
    }
    uint32_t within = orri_pool_within(pool, slot1 - 1);
    if (fresh) {
        pool->slot_count = slot1;
    } else {
        pool->free_first = pool->links[slot1 - 1];
    }
    block->stamp = world->epoch;
    block->owners[within] = orri_id_index(entity);
    *entry = slot1;
    pool->live++;
    world->pinned.live++;
    uint8_t* data = block->data + (size_t)within * pool->size;
    ORRI_UNPOISON(data, pool->size);
    orri_pool_write_small(data, pool->preset, pool->size);
    return true;
}
// Removes the value of an entity under the same conditions.
static inline bool orri_pool_remove_quick(orr_world* world, orri_pool* pool, orr_entity entity)
{
    uint32_t* entry = orri_pool_entry_quick(world, pool, entity);
    if (entry == NULL || *entry == 0) {
        return false;
    }
    uint32_t slot = *entry - 1;
    orri_pool_block* block = orri_pool_block_of(pool, slot);
    if (block->version != world->epoch) {
        return false;
    }
    block->stamp = world->epoch;
    block->owners[orri_pool_within(pool, slot)] = ORRI_INDEX_NONE;
    *entry = 0;
    pool->live--;
    world->pinned.live--;
    orri_pool_give_back(pool, slot);
    return true;
}
// Adds a value to an entity; nothing happens if it has one already. `value` NULL: the preset.
orr_result orri_pool_add(orr_world* world, const char* call, const orri_type* type, uint32_t index,
                         const void* value);
// Removes the value of an entity, if it has one. The world must be open.
void orri_pool_remove(orr_world* world, orri_pool* pool, uint32_t index);
// Makes sure that the block of a slot has enable bits. False when refused (reported).
bool orri_pool_reserve_bits(orr_world* world, orri_pool* pool, uint32_t slot);
// Enables or disables the value of an entity that has one.
orr_result orri_pool_enable(orr_world* world, orri_pool* pool, uint32_t index, bool on);
void orri_pools_term(orr_world* world);
// Invariant S14. Reports.
orr_result orri_pools_validate(orr_world* world);
// Adds all pools to the world's hash, except pools of transient types. Unchanged if no entity ever
// had a pinned value.
uint64_t orri_pools_hash(orr_world* world, uint64_t hash);
// Adds one pool.
uint64_t orri_pool_hash(orri_pool* pool, uint64_t hash);

// ---- pool_share.c: blocks shared with snapshots -------------------------------------------------

// A block as it was at one moment. Attached: it was not written since, and the share has no memory
// of its own. The first write detaches the share: the share gets a copy of values, owners, links
// and enable bits, since the world's values must not move. If the copy is refused the share is
// lost; the write never fails.
typedef struct orri_pool_share {
    orri_pool* pool;
    uint32_t number;     // Of the block.
    uint32_t refs, used; // Holders; slots of the block that had ever been used.
    bool attached, lost;
    uint64_t round; // As in orri_share.
    // Detached: the copy, in one allocation of `bytes`.
    size_t bytes;
    uint8_t* values;
    uint32_t *owners, *links;
    uint64_t* enabled; // NULL: all on.
} orri_pool_share;

// Shares a block. NULL when refused (reported).
orri_pool_share* orri_pool_share_take(orr_world* world, orri_pool* pool, uint32_t number);
void orri_pool_share_release(orr_world* world, orri_pool_share* share);
// The block is about to be written: detaches its share. Several threads may call it at the same
// time.
ORRI_COLD void orri_pool_share_detach(orr_world* world, orri_pool_block* block);
// For restoring: detaches the share and never loses it. False: the copy was refused memory
// (silent).
bool orri_pool_share_try_detach(orr_world* world, orri_pool_block* block);
// Bytes that a copy of the block takes.
size_t orri_pool_share_bytes(const orri_pool_share* share);

// A pool at one moment. Counted references: snapshots between which the pool did not change use the
// same node.
typedef struct orri_pool_node {
    orri_pool* pool;
    uint32_t refs;
    uint32_t slot_count, free_first, live, block_count; // As in orri_pool.
    uint64_t round;                                     // As in orri_share.
    struct {
        orri_pool_share* share;
        uint64_t tick;
    } blocks[];
} orri_pool_node;

// A node of the pool as it is; `last` (may be NULL) again if nothing has changed since. NULL when
// refused (reported).
orri_pool_node* orri_pool_node_take(orr_world* world, orri_pool* pool, orri_pool_node* last);
// One holder less. True: it was the last, and the node is freed.
bool orri_pool_node_release(orr_world* world, orri_pool_node* node);
// True when the pool is as the node has it.
bool orri_pool_node_same(const orri_pool_node* node, const orri_pool* pool);
// Restores a pool to a node (NULL: to an empty pool). Prepare does everything that may be refused
// (silent); restore cannot fail.
bool orri_pool_restore_prepare(orr_world* world, orri_pool* pool, const orri_pool_node* node);
void orri_pool_restore(orr_world* world, orri_pool* pool, const orri_pool_node* node);

// ---- api/pinned.c: component calls on pinned types. The caller has checked entities and types ---

// Refuses a pinned type in a call that works on columns of clusters.
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
// All entities have the type.
orr_result orri_pinned_set_many(orr_world* world, const char* call, const orr_entity* entities,
                                uint32_t count, const orri_type* type, const void* values);
// Replaces a value that is not plain by `copy`, which is raw afterwards.
void orri_pinned_overwrite(const orri_type* type, uint8_t* place, void* copy);
// Copies the pinned values of an entity for another that is about to be created with the index
// `to`. Make constructs the copies; enter adds them once the entity exists; abandon destructs them.
// Names and transient values are not copied.
orr_result orri_pinned_copy_make(orr_world* world, const char* call, uint32_t from, uint32_t to);
void orri_pinned_copy_enter(orr_world* world, uint32_t from, uint32_t to);
void orri_pinned_copy_abandon(orr_world* world, uint32_t from);

#endif
