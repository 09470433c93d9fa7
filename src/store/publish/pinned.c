// SPDX-License-Identifier: MIT
// Published values of pinned types: copies of a pool's blocks, by slot. A pinned value never leaves
// its slot. So a remap finds the slots whose owner changed: these get the live value, and all
// others keep the published one.
//
// Owners are compared with their generation. An entity that lost its value and got another one in
// the same slot, without a remap in between, counts as unchanged.
#include "store/publish/publish_detail.h"

// Slots of a block that were ever used.
static uint32_t publish_pinned_used(const orri_pool* pool, uint32_t number)
{
    uint32_t slots = 1u << pool->slot_bits, left = pool->slot_count - (number << pool->slot_bits);
    return left < slots ? left : slots;
}

uint32_t orri_published_pool_blocks(const orri_publisher* publisher,
                                    const orri_published_type* type)
{
    const orri_pool* pool = orri_pool_find(publisher->world, type->handle);
    return pool != NULL ? (pool->slot_count + (1u << pool->slot_bits) - 1) >> pool->slot_bits : 0;
}

// ---- owner lists --------------------------------------------------------------------------------

// True when the owners of a block changed since the last remap.
static bool publish_pinned_block_stale(const orri_pool* pool, const orri_published_type* type,
                                       uint32_t number)
{
    const orri_owners* owners = orri_owner_list_at(type, number);
    return owners == NULL || owners->stamp != pool->blocks[number].stamp;
}

bool orri_published_pool_stale(const orri_publisher* publisher, const orri_published_type* type)
{
    const orri_pool* pool = orri_pool_find(publisher->world, type->handle);
    uint32_t count = orri_published_pool_blocks(publisher, type), number = 0;
    while (number < count && !publish_pinned_block_stale(pool, type, number)) {
        number++;
    }
    return number < count;
}

// The entity with this index; null: the slot is free.
static orr_entity publish_pinned_owner(const orr_world* world, uint32_t index)
{
    return index != ORRI_INDEX_NONE ? orri_id_make(index, orri_record_at(world, index)->generation)
                                    : (orr_entity){0};
}

static orri_owners* publish_pinned_owners(orri_publisher* publisher,
                                          const orri_published_type* type, const orri_pool* pool,
                                          uint32_t number)
{
    const orri_pool_block* block = &pool->blocks[number];
    orri_owners* owners = orri_owners_make(publisher, type, publish_pinned_used(pool, number), 0);
    for (uint32_t s = 0; owners != NULL && s < owners->rows; s++) {
        owners->entities[s] = publish_pinned_owner(publisher->world, block->owners[s]);
        owners->counts[s] = block->owners[s] != ORRI_INDEX_NONE;
    }
    if (owners != NULL) {
        owners->stamp = block->stamp;
    }
    return owners;
}

bool orri_published_pool_agree(const orri_publisher* publisher, const orri_published_type* type,
                               uint32_t number, const orri_owners* owners)
{
    const orri_pool* pool = orri_pool_find(publisher->world, type->handle);
    bool same = owners != NULL && pool != NULL && owners->rows == publish_pinned_used(pool, number);
    for (uint32_t s = 0; same && s < owners->rows; s++) {
        uint32_t index = pool->blocks[number].owners[s];
        same = owners->entities[s].id == publish_pinned_owner(publisher->world, index).id &&
               owners->counts[s] == (index != ORRI_INDEX_NONE);
    }
    return same;
}

// ---- remap --------------------------------------------------------------------------------------

// Makes the owner lists of all blocks whose owners changed. False when refused (not reported).
static bool publish_pinned_owner_lists(orri_publisher* publisher, orri_published_type* type,
                                       const orri_pool* pool, uint32_t count)
{
    bool made = orri_owner_lists_reserve(publisher, type, count);
    for (uint32_t i = 0; made && i < count; i++) {
        if (publish_pinned_block_stale(pool, type, i)) {
            type->owner_lists[i].next = publish_pinned_owners(publisher, type, pool, i);
            made = type->owner_lists[i].changes = type->owner_lists[i].next != NULL;
        }
    }
    return made;
}

// Fills a rebuilt block: the old value for slots with the same owner, otherwise the live one. False
// when a hook refuses; then no value is left.
static bool publish_pinned_fill(const orri_published_type* type, const orri_pool_block* live,
                                const orri_edition_block* old, orri_edition_block* block)
{
    const orri_owners* owners = block->owners;
    bool all_live = true;
    for (uint32_t s = 0; s < owners->rows; s++) {
        size_t offset = (size_t)s * type->size;
        bool kept = old != NULL && s < old->owners->rows &&
                    old->owners->entities[s].id == owners->entities[s].id;
        if (owners->counts[s] == 0) {
            continue;
        }
        all_live = all_live && !kept;
        if (!orri_owners_copy_one(type, block->data + offset,
                                  (kept ? old->data : live->data) + offset)) {
            orri_owners_destruct(type, owners, block->data, s);
            return false;
        }
    }
    block->rows = owners->rows;
    block->source = all_live ? live->version : 0;
    return true;
}

static orri_edition_block* publish_pinned_block(orri_publisher* publisher,
                                                orri_published_type* type, const orri_pool* pool,
                                                const orri_edition* edition, uint32_t number)
{
    const orri_owners* owners = type->owner_lists[number].next;
    orri_edition_block* block = orri_edition_block_take(publisher, type, owners->rows);
    if (block == NULL) {
        (void)orri_refuse_memory(&publisher->world->env, "remapping published pinned values");
        return NULL;
    }
    const orri_edition_block* old = orri_edition_at(edition, number);
    block->owners = owners;
    block->tick = old != NULL ? old->tick : type->tick;
    if (!publish_pinned_fill(type, &pool->blocks[number], old, block)) {
        orri_edition_block_drop(publisher, type, block);
        (void)orri_refuse_hook(publisher->world, "remapping published pinned values", type->type);
        return NULL;
    }
    return block;
}

// Rebuilds all changed blocks of one edition. False when refused (reported).
static bool publish_pinned_edition(orri_publisher* publisher, orri_published_type* type,
                                   const orri_pool* pool, orri_edition* edition, uint32_t count)
{
    if (!orri_remap_reserve(publisher, edition, count, count)) {
        (void)orri_refuse_memory(&publisher->world->env, "remapping published pinned values");
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!type->owner_lists[i].changes) {
            continue;
        }
        orri_edition_block* block = publish_pinned_block(publisher, type, pool, edition, i);
        if (block == NULL) {
            return false;
        }
        orri_remap_add(publisher, edition, i, block);
    }
    return true;
}

bool orri_remap_build_pool(orri_publisher* publisher, orri_published_type* type)
{
    const orri_pool* pool = orri_pool_find(publisher->world, type->handle);
    uint32_t count = orri_published_pool_blocks(publisher, type);
    if (!orri_published_pool_stale(publisher, type)) {
        return true;
    }
    if (!publish_pinned_owner_lists(publisher, type, pool, count)) {
        (void)orri_refuse_memory(&publisher->world->env, "remapping published pinned values");
        return false;
    }
    bool built = type->pending == NULL ||
                 publish_pinned_edition(publisher, type, pool, type->pending, count);
    for (orri_edition* e = type->editions; built && e != NULL; e = e->next) {
        built = publish_pinned_edition(publisher, type, pool, e, count);
    }
    return built;
}
