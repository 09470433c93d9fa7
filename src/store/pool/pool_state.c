// SPDX-License-Identifier: MIT
// The pools' part of the world's hash, and the check of invariant S14.
#include "store/pool/pool.h"

#define POOL_STATE_PIECE 256 // Slots hashed at once. Changing it changes the hash.

// ---- hash ---------------------------------------------------------------------------------------

// Owners, and the links of free slots: the free list is state.
static uint64_t pool_state_owners(const orri_pool_block* block, const uint32_t* links,
                                  uint32_t used)
{
    uint64_t words[POOL_STATE_PIECE], hash = used;
    for (uint32_t done = 0, piece; done < used; done += piece) {
        piece = used - done < POOL_STATE_PIECE ? used - done : POOL_STATE_PIECE;
        for (uint32_t i = 0; i < piece; i++) {
            uint32_t owner = block->owners[done + i];
            uint32_t link = owner == ORRI_INDEX_NONE ? links[done + i] : 0;
            words[i] = (uint64_t)owner << 32 | link;
        }
        hash = orr_hash(words, piece * sizeof *words, hash);
    }
    return hash;
}

// Values of slots with owners, in runs. Free slots have no value.
static uint64_t pool_state_values(const orri_pool* pool, const orri_pool_block* block,
                                  uint32_t used, uint64_t hash)
{
    for (uint32_t i = 0, run; i < used; i += run) {
        run = 1;
        if (block->owners[i] == ORRI_INDEX_NONE) {
            continue;
        }
        while (i + run < used && block->owners[i + run] != ORRI_INDEX_NONE) {
            run++;
        }
        hash = orri_rows_hash(pool->type, block->data + (size_t)i * pool->size, run, hash);
    }
    return hash;
}

// Enable bits. Bits that are all on hash like absent bits; bits of free slots are on.
static uint64_t pool_state_bits(const orri_pool_block* block, uint32_t used, uint64_t hash)
{
    if (block->enabled == NULL || orri_bits_all(block->enabled, 0, used)) {
        return hash;
    }
    for (uint32_t i = 0; i < used; i += 64) {
        uint64_t mask = used - i < 64 ? ((uint64_t)1 << (used - i)) - 1 : UINT64_MAX;
        hash = orri_hash_word(hash, block->enabled[i / 64] & mask);
    }
    return hash;
}

// Hash of a block, from the cache if it was not written since.
static uint64_t pool_state_block(orri_pool* pool, uint32_t number, uint32_t used)
{
    orri_pool_block* block = &pool->blocks[number];
    if (block->hash_version == 0 || block->hash_version != block->version) {
        uint64_t hash =
            pool_state_owners(block, pool->links + ((size_t)number << pool->slot_bits), used);
        hash = pool_state_values(pool, block, used, hash);
        block->hash = pool_state_bits(block, used, hash);
        block->hash_version = block->version;
    }
    return block->hash;
}

uint64_t orri_pool_hash(orri_pool* pool, uint64_t hash)
{
    hash = orri_hash_word(hash, pool->type->info.layout_hash);
    hash = orri_hash_word(hash, (uint64_t)pool->slot_count << 32 | pool->free_first);
    for (uint32_t i = 0; i < pool->block_count; i++) {
        uint32_t used = orri_pool_block_used(pool, i);
        if (used > 0) {
            hash = orri_hash_word(hash, pool_state_block(pool, i, used));
            hash = orri_hash_word(hash, pool->blocks[i].tick);
        }
    }
    return hash;
}

uint64_t orri_pools_hash(orr_world* world, uint64_t hash)
{
    for (uint32_t p = 0; p < world->pinned.count; p++) {
        orri_pool* pool = world->pinned.list[p];
        if (pool->slot_count != 0 && !pool->type->info.transient) {
            hash = orri_pool_hash(pool, hash);
        }
    }
    return hash;
}

// ---- validation ---------------------------------------------------------------------------------

static orr_result pool_state_fail(orr_world* world, const orri_pool* pool, const char* what,
                                  const char* number_name, uint32_t number)
{
    return orri_refuse(&world->env, ORR_ERR_CORRUPT, ORR_LOG_ID_WORLD_CORRUPT,
                       "orr_world_validate: invariant S14 (%s) of the pinned type %s does not "
                       "hold: %s %u",
                       what, pool->type->info.name, number_name, number);
}

static orr_result pool_state_check_owners(orr_world* world, const orri_pool* pool)
{
    uint32_t live = 0;
    for (uint32_t slot = 0; slot < pool->slot_count; slot++) {
        uint32_t owner = orri_pool_owner(pool, slot);
        if (owner == ORRI_INDEX_NONE) {
            const uint64_t* bits = orri_pool_block_of(pool, slot)->enabled;
            if (bits != NULL && !orri_bit_get(bits, orri_pool_within(pool, slot))) {
                return pool_state_fail(world, pool, "bits of free slots", "slot", slot);
            }
            continue;
        }
        live++;
        bool transient = orri_index_transient(owner);
        uint32_t number = transient ? orri_transient_number(owner) : owner;
        if (number >= (transient ? world->transient.count : world->hot.count) ||
            (transient && !pool->type->info.transient) ||
            (orri_record_at(world, owner)->generation & ORRI_DEAD) != 0) {
            return pool_state_fail(world, pool, "owners are alive", "slot", slot);
        }
        if (orri_pool_slot1(pool, owner) != slot + 1) {
            return pool_state_fail(world, pool, "owner and page agree", "slot", slot);
        }
    }
    return live == pool->live ? ORR_OK : pool_state_fail(world, pool, "live count", "found", live);
}

// Every page entry leads to a slot with this owner. Together with the check of the owners, pages
// and owners agree.
static orr_result pool_state_check_pages(orr_world* world, const orri_pool* pool, bool transient)
{
    uint32_t* const* pages = transient ? pool->transient_pages : pool->pages;
    for (uint32_t page = 0; page < (transient ? pool->transient_capacity : pool->page_capacity);
         page++) {
        for (uint32_t i = 0; pages[page] != NULL && i < ORRI_PAGE_SIZE; i++) {
            uint32_t slot1 = pages[page][i], number = page << ORRI_PAGE_BITS | i;
            uint32_t index = transient ? orri_transient_index(number) : number;
            if (slot1 != 0 &&
                (slot1 > pool->slot_count || orri_pool_owner(pool, slot1 - 1) != index)) {
                return pool_state_fail(world, pool, "page and owner agree", "entity index", index);
            }
        }
    }
    return ORR_OK;
}

static orr_result pool_state_check_free(orr_world* world, const orri_pool* pool)
{
    uint32_t count = 0, most = pool->slot_count - pool->live;
    for (uint32_t slot1 = pool->free_first; slot1 != 0; count++) {
        if (slot1 > pool->slot_count || count == most ||
            orri_pool_owner(pool, slot1 - 1) != ORRI_INDEX_NONE) {
            return pool_state_fail(world, pool, "free list", "slot", slot1 - 1);
        }
        slot1 = pool->links[slot1 - 1];
    }
    return count == most ? ORR_OK : pool_state_fail(world, pool, "free count", "found", count);
}

static orr_result pool_state_check_blocks(orr_world* world, const orri_pool* pool)
{
    for (uint32_t i = 0; i < pool->block_count; i++) {
        const orri_pool_block* block = &pool->blocks[i];
        if (block->version > world->epoch || block->version > pool->version ||
            block->version > world->written || block->tick > world->tick) {
            return pool_state_fail(world, pool, "stamps", "block", i);
        }
        if (block->share != NULL && (!block->share->attached || block->share->pool != pool ||
                                     block->share->number != i || block->version == world->epoch)) {
            return pool_state_fail(world, pool, "share of a block", "block", i);
        }
        if ((uintptr_t)block->data % ORRI_BLOCK_ALIGN != 0) {
            return pool_state_fail(world, pool, "alignment", "block", i);
        }
    }
    return pool->slot_room == pool->block_count << pool->slot_bits &&
                   pool->slot_count <= pool->slot_room
               ? ORR_OK
               : pool_state_fail(world, pool, "room", "slots", pool->slot_room);
}

orr_result orri_pools_validate(orr_world* world)
{
    uint64_t live = 0;
    orr_result result = ORR_OK;
    for (uint32_t p = 0; p < world->pinned.count && result == ORR_OK; p++) {
        const orri_pool* pool = world->pinned.list[p];
        if (orri_pool_find(world, (orr_type){pool->type->id}) != pool ||
            (p > 0 && world->pinned.list[p - 1]->type->id >= pool->type->id)) {
            result = pool_state_fail(world, pool, "order of pools", "pool", p);
        }
        result = result == ORR_OK ? pool_state_check_blocks(world, pool) : result;
        result = result == ORR_OK ? pool_state_check_owners(world, pool) : result;
        result = result == ORR_OK ? pool_state_check_pages(world, pool, false) : result;
        result = result == ORR_OK ? pool_state_check_pages(world, pool, true) : result;
        result = result == ORR_OK ? pool_state_check_free(world, pool) : result;
        live += pool->live;
        if (result == ORR_OK && p + 1 == world->pinned.count && live != world->pinned.live) {
            result = pool_state_fail(world, pool, "count of all pools", "found", (uint32_t)live);
        }
    }
    return result;
}

#undef POOL_STATE_PIECE
