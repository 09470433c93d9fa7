// SPDX-License-Identifier: MIT
// Pools of pinned values. Adding takes the slot that was freed last, or the next one that was never
// used; no other value moves. The order of the free slots is state: runs with equal histories put
// the same values into the same blocks, and stamp the same blocks.
//
// Everything that may be refused (memory, hooks) is done first and has no visible effect; entering
// and removing values cannot fail.
#include "store/pool/pool.h"
#include "store/relation/entity_name.h"
#include "store/world/access.h"

#define POOL_BLOCK_BYTES 32768u // Largest size of a block's values, unless one value is larger.
#define POOL_PAGE_BYTES  (sizeof(uint32_t) * ORRI_PAGE_SIZE)

// ---- memory -------------------------------------------------------------------------------------

static uint32_t pool_block_slots(const orri_pool* pool)
{
    return 1u << pool->slot_bits;
}

// Bytes of a block's values. A block is one allocation: the values, then the owners.
static size_t pool_values_bytes(const orri_pool* pool)
{
    size_t bytes = (size_t)pool->size << pool->slot_bits;
    return (bytes + ORRI_BLOCK_ALIGN - 1) & ~(size_t)(ORRI_BLOCK_ALIGN - 1);
}

static size_t pool_block_bytes(const orri_pool* pool)
{
    return pool_values_bytes(pool) + sizeof(uint32_t) * pool_block_slots(pool);
}

static size_t pool_bits_words(const orri_pool* pool)
{
    return (pool_block_slots(pool) + 63) / 64;
}

static bool pool_add_block(orr_world* world, orri_pool* pool)
{
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_COLUMN, &pool->blocks, &pool->block_capacity,
                      pool->block_count + 1) ||
        !ORRI_RESERVE(&world->env, ORR_MEMORY_COLUMN, &pool->links, &pool->link_capacity,
                      pool->slot_room + pool_block_slots(pool))) {
        return false;
    }
    uint8_t* memory =
        orri_alloc(&world->env, ORR_MEMORY_COLUMN, pool_block_bytes(pool), ORRI_BLOCK_ALIGN);
    if (memory == NULL) {
        return false;
    }
    size_t values = pool_values_bytes(pool);
    uint32_t* owners = (uint32_t*)(void*)(memory + values);
    memset(owners, 0xFF, sizeof(uint32_t) * pool_block_slots(pool)); // ORRI_INDEX_NONE.
    ORRI_POISON(memory, values);
    pool->blocks[pool->block_count++] = (orri_pool_block){.data = memory, .owners = owners};
    pool->slot_room += pool_block_slots(pool);
    return true;
}

static void pool_free_block(orr_world* world, orri_pool* pool, orri_pool_block* block)
{
    ORRI_UNPOISON(block->data, pool_values_bytes(pool));
    orri_free(&world->env, ORR_MEMORY_COLUMN, block->data, pool_block_bytes(pool),
              ORRI_BLOCK_ALIGN);
    ORRI_FREE(&world->env, ORR_MEMORY_COLUMN, uint64_t, block->enabled, pool_bits_words(pool));
}

static void pool_free(orr_world* world, orri_pool* pool)
{
    for (uint32_t i = 0; i < pool->block_count; i++) {
        pool_free_block(world, pool, &pool->blocks[i]);
    }
    for (uint32_t i = 0; i < pool->page_capacity; i++) {
        orri_free(&world->env, ORR_MEMORY_INDEX, pool->pages[i], POOL_PAGE_BYTES, ORRI_BLOCK_ALIGN);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_COLUMN, pool->blocks, pool->block_capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_COLUMN, pool->links, pool->link_capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_INDEX, pool->pages, pool->page_capacity);
    for (uint32_t i = 0; i < pool->transient_capacity; i++) {
        orri_free(&world->env, ORR_MEMORY_INDEX, pool->transient_pages[i], POOL_PAGE_BYTES,
                  ORRI_BLOCK_ALIGN);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_INDEX, pool->transient_pages, pool->transient_capacity);
    ORRI_FREE(&world->env, ORR_MEMORY_WORLD, orri_pool, pool, 1);
}

void orri_pools_term(orr_world* world)
{
    ORR_ASSERT(world->pinned.live == 0);
    for (uint32_t i = 0; i < world->pinned.count; i++) {
        pool_free(world, world->pinned.list[i]);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_WORLD, world->pinned.pools, world->pinned.capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_WORLD, world->pinned.list, world->pinned.list_capacity);
    world->pinned.pools = world->pinned.list = NULL;
    world->pinned.capacity = world->pinned.count = world->pinned.list_capacity = 0;
}

// ---- creating a pool ----------------------------------------------------------------------------

// log2 of the slots per block, for values of a size.
static uint8_t pool_bits_for(uint32_t size)
{
    uint8_t bits = ORRI_SLOT_BITS;
    while (bits > 0 && (size_t)size << bits > POOL_BLOCK_BYTES) {
        bits--;
    }
    return bits;
}

static bool pool_reserve_lists(orr_world* world, uint32_t index)
{
    uint32_t old = world->pinned.capacity;
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_WORLD, &world->pinned.pools, &world->pinned.capacity,
                      index + 1) ||
        !ORRI_RESERVE(&world->env, ORR_MEMORY_WORLD, &world->pinned.list,
                      &world->pinned.list_capacity, world->pinned.count + 1)) {
        for (uint32_t i = old; i < world->pinned.capacity; i++) {
            world->pinned.pools[i] = NULL;
        }
        return false;
    }
    for (uint32_t i = old; i < world->pinned.capacity; i++) {
        world->pinned.pools[i] = NULL;
    }
    return true;
}

// Inserts the pool into the list, which ascends by type, whatever the order of first use: the hash
// walks it.
static void pool_list_enter(orr_world* world, orri_pool* pool)
{
    uint32_t i = world->pinned.count++;
    for (; i > 0 && world->pinned.list[i - 1]->type->id > pool->type->id; i--) {
        world->pinned.list[i] = world->pinned.list[i - 1];
    }
    world->pinned.list[i] = pool;
}

ORRI_COLD static orri_pool* pool_create(orr_world* world, const orri_type* type)
{
    uint32_t index = orri_type_index(world, (orr_type){type->id});
    orri_pool* pool = pool_reserve_lists(world, index)
                          ? ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_WORLD, orri_pool, 1)
                          : NULL;
    if (pool == NULL) {
        (void)orri_refuse_memory(&world->env, "making the pool of a pinned type");
        return NULL;
    }
    pool->type = type;
    pool->size = type->info.size;
    pool->slot_bits = pool_bits_for(pool->size);
    pool->is_name = strcmp(type->info.name, orr_desc_orr_name.name) == 0;
    pool->plain = type->plain && !pool->is_name;
    pool->small = !type->info.has_padding &&
                  (pool->size == 4 || pool->size == 8 || pool->size == sizeof pool->preset);
    pool->quick = pool->small && pool->plain;
    if (pool->small && type->preset != NULL) {
        memcpy(pool->preset, type->preset, pool->size);
    }
    world->pinned.pools[index] = pool;
    pool_list_enter(world, pool);
    return pool;
}

orri_pool* orri_pool_obtain(orr_world* world, const orri_type* type)
{
    orri_pool* pool = orri_pool_find(world, (orr_type){type->id});
    return ORR_LIKELY(pool != NULL) ? pool : pool_create(world, type);
}

// ---- making room --------------------------------------------------------------------------------

static bool pool_reserve_slots(orr_world* world, orri_pool* pool, uint32_t count)
{
    uint32_t free = pool->slot_count - pool->live;
    uint64_t wanted = (uint64_t)pool->slot_count + (count > free ? count - free : 0);
    while (pool->slot_room < wanted) {
        if (!pool_add_block(world, pool)) {
            (void)orri_refuse_memory(&world->env, "making room for pinned values");
            return false;
        }
    }
    return true;
}

bool orri_pool_reserve(orr_world* world, orri_pool* pool, uint32_t count)
{
    return pool_reserve_slots(world, pool, count);
}

// Makes sure that a list of pages has a page.
static bool pool_add_page(orr_world* world, uint32_t*** pages, uint32_t* capacity, uint32_t page)
{
    uint32_t old = *capacity;
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_INDEX, pages, capacity, page + 1)) {
        return false;
    }
    for (uint32_t i = old; i < *capacity; i++) {
        (*pages)[i] = NULL;
    }
    if ((*pages)[page] == NULL) {
        (*pages)[page] =
            orri_alloc_zero(&world->env, ORR_MEMORY_INDEX, POOL_PAGE_BYTES, ORRI_BLOCK_ALIGN);
    }
    return (*pages)[page] != NULL;
}

uint32_t* orri_pool_entry_transient(const orri_pool* pool, uint32_t index)
{
    uint32_t number = orri_transient_number(index), page = number >> ORRI_PAGE_BITS;
    return page < pool->transient_capacity && pool->transient_pages[page] != NULL
               ? &pool->transient_pages[page][number & ORRI_PAGE_MASK]
               : NULL;
}

uint32_t orri_pool_slot1_transient(const orri_pool* pool, uint32_t index)
{
    const uint32_t* entry = orri_pool_entry_transient(pool, index);
    return entry != NULL ? *entry : 0;
}

bool orri_pool_reserve_page(orr_world* world, orri_pool* pool, uint32_t index)
{
    if (ORR_LIKELY(orri_pool_entry(pool, index) != NULL)) {
        return true;
    }
    bool added =
        orri_index_transient(index)
            ? pool_add_page(world, &pool->transient_pages, &pool->transient_capacity,
                            orri_transient_number(index) >> ORRI_PAGE_BITS)
            : pool_add_page(world, &pool->pages, &pool->page_capacity, index >> ORRI_PAGE_BITS);
    if (added) {
        return true;
    }
    (void)orri_refuse_memory(&world->env, "making room for the owners of pinned values");
    return false;
}

bool orri_pool_reserve_bits(orr_world* world, orri_pool* pool, uint32_t slot)
{
    orri_pool_block* block = orri_pool_block_of(pool, slot);
    if (block->enabled == NULL) {
        size_t words = pool_bits_words(pool);
        block->enabled = ORRI_ALLOC(&world->env, ORR_MEMORY_COLUMN, uint64_t, words);
        if (block->enabled == NULL) {
            (void)orri_refuse_memory(&world->env, "making enable bits of a pinned type");
            return false;
        }
        memset(block->enabled, 0xFF, words * sizeof(uint64_t));
    }
    return true;
}

// ---- values -------------------------------------------------------------------------------------

// Call it before anything of a block is written. Workers may write values of the same block at the
// same time, each its own values, and stamp it with the same epoch. The version is stored last: a
// worker that finds the block stamped knows that its share, if any, has its copy.
static inline void pool_stamp(orr_world* world, orri_pool* pool, orri_pool_block* block)
{
    uint64_t epoch = orri_epoch(world);
    if (ORR_UNLIKELY(__atomic_load_n(&block->version, __ATOMIC_ACQUIRE) != epoch)) {
        if (ORR_UNLIKELY(__atomic_load_n(&block->share, __ATOMIC_ACQUIRE) != NULL)) {
            orri_pool_share_detach(world, block);
        }
        __atomic_store_n(&block->tick, orri_tick_now(world), __ATOMIC_RELAXED);
        __atomic_store_n(&block->version, epoch, __ATOMIC_RELEASE);
        __atomic_store_n(&pool->version, epoch, __ATOMIC_RELAXED);
        orri_written_note(world, epoch);
    }
}

uint8_t* orri_pool_write(orr_world* world, orri_pool* pool, uint32_t index)
{
    uint32_t slot1 = orri_pool_slot1(pool, index);
    if (slot1 == 0) {
        return NULL;
    }
    pool_stamp(world, pool, orri_pool_block_of(pool, slot1 - 1));
    return orri_pool_at(pool, slot1 - 1);
}

uint32_t orri_pool_cursor_next(const orri_pool* pool, orri_pool_cursor* cursor)
{
    if (cursor->free1 == 0) {
        return cursor->fresh++;
    }
    uint32_t slot = cursor->free1 - 1;
    cursor->free1 = pool->links[slot];
    return slot;
}

bool orri_pool_make(const orri_pool* pool, uint32_t slot, const void* value)
{
    uint8_t* data = orri_pool_at(pool, slot);
    ORRI_UNPOISON(data, pool->size);
    bool made = value != NULL ? orri_rows_copy(pool->type, data, value, 1)
                              : orri_rows_construct(pool->type, data, 1);
    if (!made) {
        ORRI_POISON(data, pool->size);
    }
    return made;
}

void orri_pool_unmake(const orri_pool* pool, uint32_t slot)
{
    uint8_t* data = orri_pool_at(pool, slot);
    orri_rows_destruct(pool->type, data, 1);
    ORRI_POISON(data, pool->size);
}

// True when queries are notified of pinned values.
static inline bool pool_has_listener(const orr_world* world)
{
    return world->listener.pinned_changed != NULL;
}

// The page entry of an entity whose page was reserved.
static inline uint32_t* pool_entry_reserved(const orri_pool* pool, uint32_t index)
{
    return ORR_UNLIKELY(orri_index_transient(index))
               ? orri_pool_entry_transient(pool, index)
               : &pool->pages[index >> ORRI_PAGE_BITS][index & ORRI_PAGE_MASK];
}

// Gives an entity the next slot, where its value was constructed or will be.
static inline uint32_t pool_take(orr_world* world, orri_pool* pool, uint32_t index, uint32_t* entry)
{
    uint32_t slot1 = pool->free_first;
    if (slot1 == 0) {
        slot1 = ++pool->slot_count;
    }
    orri_pool_block* block = orri_pool_block_of(pool, slot1 - 1);
    uint32_t within = orri_pool_within(pool, slot1 - 1);
    if (pool->free_first != 0) {
        pool->free_first = pool->links[slot1 - 1];
    }
    pool_stamp(world, pool, block);
    block->stamp = block->version;
    block->owners[within] = index;
    *entry = slot1;
    pool->live++;
    world->pinned.live++;
    return slot1 - 1;
}

void orri_pool_enter(orr_world* world, orri_pool* pool, uint32_t index)
{
    uint32_t* entry = pool_entry_reserved(pool, index);
    ORR_ASSERT(*entry == 0);
    uint32_t slot = pool_take(world, pool, index, entry);
    if (pool->is_name) {
        orri_name_enter(world, slot);
    }
    if (world->listener.pinned_changed != NULL) {
        world->listener.pinned_changed(world, pool, index);
    }
}

// Slow path of orri_pool_add(): with all checks, reservations, hooks and listeners.
ORRI_NOINLINE static orr_result pool_add_slow(orr_world* world, const char* call,
                                              const orri_type* type, uint32_t index,
                                              const void* value)
{
    orr_result result =
        orri_check_open_of(world, call, (orr_type){type->id},
                           orri_id_make(index, orri_record_at(world, index)->generation));
    if (result != ORR_OK) {
        return result;
    }
    orri_pool* pool = orri_pool_obtain(world, type);
    if (pool != NULL && orri_pool_slot1(pool, index) != 0) {
        return ORR_OK; // Only of a transient entity: orri_pool_add() has checked the others.
    }
    if (pool == NULL || !orri_pool_reserve(world, pool, 1) ||
        !orri_pool_reserve_page(world, pool, index)) {
        return orri_env_result(&world->env);
    }
    orri_pool_cursor cursor = orri_pool_cursor_begin(pool);
    if (!orri_pool_make(pool, orri_pool_cursor_next(pool, &cursor), value)) {
        return orri_refuse_hook(world, call, type);
    }
    orri_pool_enter(world, pool, index);
    return ORR_OK;
}

void orri_pool_enter_plain(orr_world* world, orri_pool* pool, uint32_t index, const void* value)
{
    uint32_t* entry = pool_entry_reserved(pool, index);
    uint8_t* data = orri_pool_at(pool, pool_take(world, pool, index, entry));
    ORRI_UNPOISON(data, pool->size);
    if (value == NULL) {
        orri_value_preset(pool->type, data, pool->size);
    } else {
        orri_value_move(data, value, pool->size);
        if (pool->type->info.has_padding) {
            orri_rows_clean(pool->type, data, 1);
        }
    }
    if (world->listener.pinned_changed != NULL) {
        world->listener.pinned_changed(world, pool, index);
    }
}

// Adds a value of a plain type, all reserved, and notifies the listener.
ORRI_NOINLINE static orr_result pool_add_plain(orr_world* world, orri_pool* pool, uint32_t index,
                                               const void* value)
{
    orri_pool_enter_plain(world, pool, index, value);
    return ORR_OK;
}

// The fast path, for small plain values without listener, calls no function. Everything else goes
// to slower paths.
orr_result orri_pool_add(orr_world* world, const char* call, const orri_type* type, uint32_t index,
                         const void* value)
{
    orri_pool* pool = orri_pool_find(world, (orr_type){type->id});
    uint32_t page = index >> ORRI_PAGE_BITS;
    if (ORR_UNLIKELY(pool == NULL || page >= pool->page_capacity || pool->pages[page] == NULL)) {
        return pool_add_slow(world, call, type, index, value);
    }
    uint32_t* entry = &pool->pages[page][index & ORRI_PAGE_MASK];
    if (*entry != 0) {
        return ORR_OK;
    }
    if (ORR_UNLIKELY(!pool->plain || !orri_world_open(world) ||
                     (pool->free_first == 0 && pool->slot_count == pool->slot_room))) {
        return pool_add_slow(world, call, type, index, value);
    }
    if (!pool->small || pool_has_listener(world)) {
        return pool_add_plain(world, pool, index, value);
    }
    uint8_t* data = orri_pool_at(pool, pool_take(world, pool, index, entry));
    ORRI_UNPOISON(data, pool->size);
    orri_pool_write_small(data, value != NULL ? value : pool->preset, pool->size);
    return ORR_OK;
}

// Notifies the name table and the listener while the value still exists, then destructs the value.
static void pool_leave(orr_world* world, orri_pool* pool, uint32_t index, uint32_t slot)
{
    if (pool->is_name) {
        orri_name_leave(world, slot);
    }
    if (world->listener.pinned_changed != NULL) {
        world->listener.pinned_changed(world, pool, index);
    }
    orri_rows_destruct(pool->type, orri_pool_at(pool, slot), 1);
}

// Removal of a value that has hooks, a name or a listener.
ORRI_NOINLINE static void pool_remove_notified(orr_world* world, orri_pool* pool, uint32_t index,
                                               uint32_t slot)
{
    pool_leave(world, pool, index, slot);
    orri_pool_give_back(pool, slot);
}

// Removes the value of an entity, if its page entry has one.
static inline void pool_remove_entry(orr_world* world, orri_pool* pool, uint32_t index,
                                     uint32_t* entry)
{
    uint32_t slot1 = *entry;
    if (slot1 == 0) {
        return;
    }
    orri_pool_block* block = orri_pool_block_of(pool, slot1 - 1);
    pool_stamp(world, pool, block);
    *entry = 0;
    block->stamp = block->version;
    block->owners[orri_pool_within(pool, slot1 - 1)] = ORRI_INDEX_NONE;
    pool->live--;
    world->pinned.live--;
    if (!pool->plain || pool_has_listener(world)) {
        pool_remove_notified(world, pool, index, slot1 - 1);
        return;
    }
    orri_pool_give_back(pool, slot1 - 1);
}

ORRI_COLD static void pool_remove_transient(orr_world* world, orri_pool* pool, uint32_t index)
{
    uint32_t* entry = orri_index_transient(index) ? orri_pool_entry_transient(pool, index) : NULL;
    if (entry != NULL) {
        pool_remove_entry(world, pool, index, entry);
    }
}

static inline void pool_remove(orr_world* world, orri_pool* pool, uint32_t index)
{
    uint32_t page = index >> ORRI_PAGE_BITS;
    if (page >= pool->page_capacity || pool->pages[page] == NULL) {
        pool_remove_transient(world, pool, index);
        return;
    }
    pool_remove_entry(world, pool, index, &pool->pages[page][index & ORRI_PAGE_MASK]);
}

void orri_pool_remove(orr_world* world, orri_pool* pool, uint32_t index)
{
    pool_remove(world, pool, index);
}

orr_result orri_pinned_remove(orr_world* world, const char* call, orr_entity entity,
                              const orri_type* type)
{
    orri_pool* pool = orri_pool_find(world, (orr_type){type->id});
    if (ORR_UNLIKELY(pool == NULL)) {
        return ORR_OK;
    }
    if (ORR_UNLIKELY(!orri_world_open(world)) &&
        orri_pool_slot1(pool, orri_id_index(entity)) != 0) {
        orr_result result = orri_check_open(world, call);
        if (result != ORR_OK) {
            return result;
        }
    }
    pool_remove(world, pool, orri_id_index(entity));
    return ORR_OK;
}

void orri_pinned_drop(orr_world* world, const uint32_t* indexes, uint32_t count)
{
    for (uint32_t p = 0; p < world->pinned.count; p++) {
        orri_pool* pool = world->pinned.list[p];
        for (uint32_t i = 0; pool->live > 0 && i < count; i++) {
            pool_remove(world, pool, indexes[i]);
        }
    }
}

orr_result orri_pool_enable(orr_world* world, orri_pool* pool, uint32_t index, bool on)
{
    uint32_t slot = orri_pool_slot1(pool, index) - 1;
    orri_pool_block* block = orri_pool_block_of(pool, slot);
    if (orri_pool_enabled(pool, index) == on) {
        return ORR_OK;
    }
    if (!orri_pool_reserve_bits(world, pool, slot)) {
        return orri_env_result(&world->env);
    }
    pool_stamp(world, pool, block);
    orri_bit_set(block->enabled, orri_pool_within(pool, slot), on);
    if (world->listener.pinned_changed != NULL) {
        world->listener.pinned_changed(world, pool, index);
    }
    return ORR_OK;
}

uint32_t orr_pinned_count(const orr_world* world, orr_type type)
{
    ORR_ASSERT(world != NULL);
    const orri_pool* pool = orri_pool_find(world, type);
    bool allowed = orri_access_reads(world, "orr_pinned_count", type, (orr_entity){0});
    return pool != NULL && allowed ? pool->live : 0;
}

#undef POOL_BLOCK_BYTES
#undef POOL_PAGE_BYTES
