// SPDX-License-Identifier: MIT
// Shares of a pool's blocks for snapshots, and restoring a pool. A pinned value never moves, so
// before a write the share gets the copy. Restoring moves the values of the copy back into the
// block, and the share is attached again.
#include "store/pool/pool.h"
#include "store/world/access.h"

// ---- copies -------------------------------------------------------------------------------------

// Free list links of a block's slots.
static uint32_t* pool_share_links(const orri_pool* pool, uint32_t number)
{
    return pool->links + ((size_t)number << pool->slot_bits);
}

// Advances `*slot` to the next slot with an owner. Returns how many such slots follow each other;
// 0: none.
static uint32_t pool_share_run(const uint32_t* owners, uint32_t used, uint32_t* slot)
{
    uint32_t run = 0;
    while (*slot < used && owners[*slot] == ORRI_INDEX_NONE) {
        ++*slot;
    }
    while (*slot + run < used && owners[*slot + run] != ORRI_INDEX_NONE) {
        run++;
    }
    return run;
}

static void pool_share_destruct(const orri_type* type, uint8_t* values, const uint32_t* owners,
                                uint32_t used)
{
    uint32_t run;
    for (uint32_t slot = 0; !type->plain && (run = pool_share_run(owners, used, &slot)) > 0;
         slot += run) {
        orri_rows_destruct(type, values + (size_t)slot * type->info.size, run);
    }
}

static bool pool_share_copy_values(const orri_pool_share* share, uint8_t* to,
                                   const orri_pool_block* block)
{
    const orri_type* type = share->pool->type;
    uint32_t run;
    for (uint32_t slot = 0; (run = pool_share_run(block->owners, share->used, &slot)) > 0;
         slot += run) {
        size_t offset = (size_t)slot * type->info.size;
        if (!orri_rows_copy(type, to + offset, block->data + offset, run)) {
            pool_share_destruct(type, to, block->owners, slot);
            return false;
        }
    }
    return true;
}

static size_t pool_share_round_up(size_t bytes)
{
    return (bytes + ORRI_BLOCK_ALIGN - 1) & ~(size_t)(ORRI_BLOCK_ALIGN - 1);
}

size_t orri_pool_share_bytes(const orri_pool_share* share)
{
    size_t words = (share->used + 63) / 64;
    return pool_share_round_up((size_t)share->used * share->pool->size) + words * sizeof(uint64_t) +
           2 * sizeof(uint32_t) * (size_t)share->used;
}

// Copies values, enable bits, owners and links into one allocation.
static bool pool_share_copy(orr_world* world, orri_pool_share* share)
{
    const orri_pool* pool = share->pool;
    const orri_pool_block* block = &pool->blocks[share->number];
    size_t bytes = orri_pool_share_bytes(share), words = (share->used + 63) / 64;
    uint8_t* memory = orri_alloc(&world->env, ORR_MEMORY_SHARE, bytes, ORRI_BLOCK_ALIGN);
    if (memory == NULL) {
        orri_refusal_uncount(&world->env);
        return false;
    }
    if (!pool_share_copy_values(share, memory, block)) {
        orri_free(&world->env, ORR_MEMORY_SHARE, memory, bytes, ORRI_BLOCK_ALIGN);
        return false;
    }
    uint64_t* bits =
        (uint64_t*)(void*)(memory + pool_share_round_up((size_t)share->used * pool->size));
    share->bytes = bytes;
    share->values = memory;
    share->owners = (uint32_t*)(void*)(bits + words);
    share->links = share->owners + share->used;
    share->enabled = block->enabled != NULL ? bits : NULL;
    if (block->enabled != NULL) {
        memcpy(bits, block->enabled, words * sizeof *bits);
    }
    memcpy(share->owners, block->owners, share->used * sizeof *share->owners);
    memcpy(share->links, pool_share_links(pool, share->number), share->used * sizeof *share->links);
    return true;
}

// The last step of detaching: a worker that finds no share here writes to the block at once.
static void pool_share_unhook(orri_pool_share* share)
{
    share->attached = false;
    __atomic_store_n(&share->pool->blocks[share->number].share, NULL, __ATOMIC_RELEASE);
}

void orri_pool_share_detach(orr_world* world, orri_pool_block* block)
{
    // Only the thread that has the turn, as in orri_share_detach_column().
    ORR_ASSERT(!world->realtime || orri_this_thread.world != world ||
               orri_this_thread.clock == NULL);
    // The first of several workers copies; the others wait.
    orri_mutex_lock(world->env.platform, &world->cow.mutex);
    orri_pool_share* share = __atomic_load_n(&block->share, __ATOMIC_RELAXED);
    bool lost = share != NULL && !pool_share_copy(world, share);
    if (lost) {
        share->lost = true;
        world->cow.losses++;
    }
    if (share != NULL) {
        pool_share_unhook(share);
    }
    orri_mutex_unlock(world->env.platform, &world->cow.mutex);
    if (lost) {
        orri_log(&world->env, ORR_LOG_ID_SHARE_LOST,
                 "a snapshot lost %u values of %s: out of memory for their copy; give the world "
                 "more memory (memory_bytes_max) or keep fewer snapshots",
                 share->used, share->pool->type->info.name);
    }
}

bool orri_pool_share_try_detach(orr_world* world, orri_pool_block* block)
{
    if (block->share != NULL) {
        if (!pool_share_copy(world, block->share)) {
            return false;
        }
        pool_share_unhook(block->share);
    }
    return true;
}

// ---- sharing ------------------------------------------------------------------------------------

orri_pool_share* orri_pool_share_take(orr_world* world, orri_pool* pool, uint32_t number)
{
    orri_pool_share* share = pool->blocks[number].share;
    if (share != NULL) {
        share->refs++;
        return share;
    }
    share = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SHARE, orri_pool_share, 1);
    if (share == NULL) {
        (void)orri_refuse_memory(&world->env, "sharing pinned values");
        return NULL;
    }
    *share = (orri_pool_share){.pool = pool,
                               .number = number,
                               .refs = 1,
                               .used = orri_pool_block_used(pool, number),
                               .attached = true};
    pool->blocks[number].share = share;
    world->cow.live++;
    orri_epoch_end(world); // As in share_make(): later writes must stamp again.
    return share;
}

void orri_pool_share_release(orr_world* world, orri_pool_share* share)
{
    ORR_ASSERT(share->refs > 0);
    if (--share->refs > 0) {
        return;
    }
    if (share->attached) {
        pool_share_unhook(share);
    } else if (!share->lost) {
        pool_share_destruct(share->pool->type, share->values, share->owners, share->used);
        orri_free(&world->env, ORR_MEMORY_SHARE, share->values, share->bytes, ORRI_BLOCK_ALIGN);
    }
    world->cow.live--;
    ORRI_FREE(&world->env, ORR_MEMORY_SHARE, orri_pool_share, share, 1);
}

// ---- a pool at one moment -----------------------------------------------------------------------

static size_t pool_node_bytes(uint32_t block_count)
{
    return sizeof(orri_pool_node) + block_count * sizeof(*((orri_pool_node*)NULL)->blocks);
}

bool orri_pool_node_same(const orri_pool_node* node, const orri_pool* pool)
{
    bool same = node->pool == pool && node->slot_count == pool->slot_count &&
                node->free_first == pool->free_first && node->live == pool->live;
    for (uint32_t i = 0; same && i < node->block_count; i++) {
        same = pool->blocks[i].share == node->blocks[i].share &&
               pool->blocks[i].tick == node->blocks[i].tick;
    }
    return same;
}

orri_pool_node* orri_pool_node_take(orr_world* world, orri_pool* pool, orri_pool_node* last)
{
    if (last != NULL && orri_pool_node_same(last, pool)) {
        last->refs++;
        return last;
    }
    uint32_t slots = 1u << pool->slot_bits, count = (pool->slot_count + slots - 1) / slots;
    orri_pool_node* node = orri_alloc_zero(&world->env, ORR_MEMORY_SHARE, pool_node_bytes(count),
                                           _Alignof(orri_pool_node));
    if (node == NULL) {
        (void)orri_refuse_memory(&world->env, "sharing pinned values");
        return NULL;
    }
    node->pool = pool;
    node->refs = 1;
    node->slot_count = pool->slot_count;
    node->free_first = pool->free_first;
    node->live = pool->live;
    node->block_count = count;
    for (uint32_t i = 0; i < count; i++) {
        node->blocks[i].tick = pool->blocks[i].tick;
        node->blocks[i].share = orri_pool_share_take(world, pool, i);
        if (node->blocks[i].share == NULL) {
            (void)orri_pool_node_release(world, node);
            return NULL;
        }
    }
    return node;
}

bool orri_pool_node_release(orr_world* world, orri_pool_node* node)
{
    if (--node->refs > 0) {
        return false;
    }
    for (uint32_t i = 0; i < node->block_count; i++) {
        if (node->blocks[i].share != NULL) {
            orri_pool_share_release(world, node->blocks[i].share);
        }
    }
    orri_free(&world->env, ORR_MEMORY_SHARE, node, pool_node_bytes(node->block_count),
              _Alignof(orri_pool_node));
    return true;
}

// ---- restoring ----------------------------------------------------------------------------------

// The share of block `i` in a node; NULL: the block had no used slot.
static orri_pool_share* pool_restore_share(const orri_pool_node* node, uint32_t i)
{
    return node != NULL && i < node->block_count ? node->blocks[i].share : NULL;
}

// True when a block is unchanged.
static bool pool_restore_kept(const orri_pool* pool, const orri_pool_node* node, uint32_t i)
{
    const orri_pool_share* share = pool_restore_share(node, i);
    return share != NULL ? share->attached : orri_pool_block_used(pool, i) == 0;
}

bool orri_pool_restore_prepare(orr_world* world, orri_pool* pool, const orri_pool_node* node)
{
    for (uint32_t i = 0; i < pool->block_count; i++) {
        const orri_pool_share* share = pool_restore_share(node, i);
        if (pool_restore_kept(pool, node, i)) {
            continue;
        }
        if (!orri_pool_share_try_detach(world, &pool->blocks[i]) ||
            (share != NULL && share->enabled != NULL &&
             !orri_pool_reserve_bits(world, pool, i << pool->slot_bits))) {
            return false;
        }
        for (uint32_t slot = 0; share != NULL && slot < share->used; slot++) {
            if (share->owners[slot] != ORRI_INDEX_NONE &&
                !orri_pool_reserve_page(world, pool, share->owners[slot])) {
                return false;
            }
        }
    }
    return true;
}

static bool pool_restore_bit(const uint64_t* bits, uint32_t slot)
{
    return bits == NULL || orri_bit_get(bits, slot);
}

// Notifies the listener of entities that get, lose, enable or disable a value by the restore.
static void pool_restore_notify(orr_world* world, const orri_pool* pool, uint32_t i,
                                const orri_pool_share* share)
{
    const orri_pool_block* block = &pool->blocks[i];
    uint32_t slots = 1u << pool->slot_bits;
    for (uint32_t slot = 0; world->listener.pinned_changed != NULL && slot < slots; slot++) {
        uint32_t now = block->owners[slot];
        uint32_t then = share != NULL && slot < share->used ? share->owners[slot] : ORRI_INDEX_NONE;
        bool same = now == then &&
                    (now == ORRI_INDEX_NONE || pool_restore_bit(block->enabled, slot) ==
                                                   pool_restore_bit(share->enabled, slot));
        if (!same && now != ORRI_INDEX_NONE) {
            world->listener.pinned_changed(world, pool, now);
        }
        if (!same && then != ORRI_INDEX_NONE && then != now) {
            world->listener.pinned_changed(world, pool, then);
        }
    }
}

// Empties a block: destructs its values, and clears the page entries of their owners.
static void pool_restore_empty(orr_world* world, orri_pool* pool, uint32_t i, uint32_t used)
{
    orri_pool_block* block = &pool->blocks[i];
    uint32_t slots = 1u << pool->slot_bits;
    pool_share_destruct(pool->type, block->data, block->owners, used);
    for (uint32_t slot = 0; slot < used; slot++) {
        if (block->owners[slot] != ORRI_INDEX_NONE) {
            *orri_pool_entry(pool, block->owners[slot]) = 0;
        }
    }
    memset(block->owners, 0xFF, slots * sizeof *block->owners);
    if (block->enabled != NULL) {
        memset(block->enabled, 0xFF, (slots + 63) / 64 * sizeof *block->enabled);
    }
    ORRI_POISON(block->data, (size_t)slots * pool->size);
    block->version = pool->version = world->epoch;
    block->hash_version = 0;
    block->tick = 0;
}

// Moves the values of a share back into its block, and attaches the share.
static void pool_restore_fill(orr_world* world, orri_pool* pool, orri_pool_share* share)
{
    orri_pool_block* block = &pool->blocks[share->number];
    uint32_t run;
    for (uint32_t slot = 0; (run = pool_share_run(share->owners, share->used, &slot)) > 0;
         slot += run) {
        size_t offset = (size_t)slot * pool->size;
        ORRI_UNPOISON(block->data + offset, (size_t)run * pool->size);
        orri_rows_move(pool->type, block->data + offset, share->values + offset, run);
    }
    memcpy(block->owners, share->owners, share->used * sizeof *share->owners);
    memcpy(pool_share_links(pool, share->number), share->links, share->used * sizeof *share->links);
    if (share->enabled != NULL) {
        // Bits past the last used slot stay on, like those of free slots.
        for (uint32_t slot = 0; slot < share->used; slot++) {
            orri_bit_set(block->enabled, slot, orri_bit_get(share->enabled, slot));
        }
    }
    for (uint32_t slot = 0; slot < share->used; slot++) {
        if (share->owners[slot] != ORRI_INDEX_NONE) {
            *orri_pool_entry(pool, share->owners[slot]) = (share->number << pool->slot_bits) +
                                                          slot + 1;
        }
    }
    orri_free(&world->env, ORR_MEMORY_SHARE, share->values, share->bytes, ORRI_BLOCK_ALIGN);
    share->values = NULL;
    share->owners = share->links = NULL;
    share->enabled = NULL;
    share->bytes = 0;
    share->attached = true;
    block->share = share;
}

void orri_pool_restore(orr_world* world, orri_pool* pool, const orri_pool_node* node)
{
    // Empty all blocks before filling any: an entity may have had another slot.
    for (uint32_t i = 0; i < pool->block_count; i++) {
        if (!pool_restore_kept(pool, node, i)) {
            pool_restore_notify(world, pool, i, pool_restore_share(node, i));
            pool_restore_empty(world, pool, i, orri_pool_block_used(pool, i));
        }
    }
    for (uint32_t i = 0; node != NULL && i < node->block_count; i++) {
        if (!node->blocks[i].share->attached) {
            pool_restore_fill(world, pool, node->blocks[i].share);
            pool->blocks[i].tick = node->blocks[i].tick;
        }
    }
    world->pinned.live -= pool->live;
    pool->slot_count = node != NULL ? node->slot_count : 0;
    pool->free_first = node != NULL ? node->free_first : 0;
    pool->live = node != NULL ? node->live : 0;
    world->pinned.live += pool->live;
}
