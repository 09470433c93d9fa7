// SPDX-License-Identifier: MIT
// The items of a bundle that a move of rows does not bring: pinned values, and instances after the
// first. They are made before the move, because hooks and memory may be refused: pinned values in
// free slots of their pool, instances outside the world. After the move they are put in their
// places, which cannot be refused.
#include "store/api/bundle.h"
#include "store/pool/pool.h"
#include "store/relation/entity_name.h"

// ---- which items --------------------------------------------------------------------------------

// True when item `i` is the first of its type.
static bool bundle_rest_first(const orri_bundle* bundle, uint32_t i)
{
    uint32_t first = 0;
    while (bundle->items[first].type != bundle->items[i].type) {
        first++;
    }
    return first == i;
}

bool orri_rest_has(const orri_bundle* bundle, uint32_t i)
{
    return orri_type_pinned(bundle->items[i].type) || !bundle_rest_first(bundle, i);
}

// True when item `i` is not brought by the move and the entity lacks its type.
static bool bundle_rest_wants(const orri_rest* rest, uint32_t i)
{
    orr_type type = {rest->bundle->items[i].type->id};
    if (!orri_rest_has(rest->bundle, i)) {
        return false;
    }
    if (rest->from == NULL) {
        return true;
    }
    return orri_type_pinned(rest->bundle->items[i].type)
               ? orri_pool_get(orri_pool_find(rest->world, type), rest->index) == NULL
               : orri_cluster_find_column(rest->from, type) < 0;
}

// Bytes of an item's values outside the world.
static size_t bundle_rest_bytes(const orri_rest* rest, uint32_t i)
{
    const orri_type* type = rest->bundle->items[i].type;
    size_t bytes = orri_type_pinned(type) ? 0 : orri_size_mul(type->info.size, rest->rows);
    return bundle_rest_wants(rest, i)
               ? (bytes + ORRI_BLOCK_ALIGN - 1) & ~(size_t)(ORRI_BLOCK_ALIGN - 1)
               : 0;
}

// ---- pinned values ------------------------------------------------------------------------------

// The index that the creation after that of `index` will get; ORRI_INDEX_NONE: the next creation.
// For a live entity: its own index.
static uint32_t bundle_rest_next_index(const orri_rest* rest, uint32_t index)
{
    const orr_world* world = rest->world;
    if (rest->from != NULL) {
        return rest->index;
    }
    if (index >= world->hot.count && index != ORRI_INDEX_NONE) {
        return index + 1;
    }
    uint32_t next = index == ORRI_INDEX_NONE ? world->index.free_first
                                             : orri_record_at(world, index)->place;
    return next != ORRI_INDEX_NONE ? next : world->hot.count;
}

// Destructs the first `rows` values of a pinned item.
static void bundle_rest_unmake_pinned(const orri_rest* rest, uint32_t i, uint32_t rows)
{
    const orri_pool* pool =
        orri_pool_find(rest->world, (orr_type){rest->bundle->items[i].type->id});
    orri_pool_cursor cursor = orri_pool_cursor_begin(pool);
    while (rows-- > 0) {
        orri_pool_unmake(pool, orri_pool_cursor_next(pool, &cursor));
    }
}

static orr_result bundle_rest_reserve_pinned(const orri_rest* rest, orri_pool* pool)
{
    if (pool == NULL || !orri_pool_reserve(rest->world, pool, rest->rows)) {
        return orri_env_result(&rest->world->env);
    }
    uint32_t index = ORRI_INDEX_NONE;
    for (uint32_t row = 0; row < rest->rows; row++) {
        index = bundle_rest_next_index(rest, index);
        if (!orri_pool_reserve_page(rest->world, pool, index)) {
            return orri_env_result(&rest->world->env);
        }
    }
    return ORR_OK;
}

static orr_result bundle_rest_make_pinned(const orri_rest* rest, uint32_t i)
{
    const orri_bundle_item* item = &rest->bundle->items[i];
    orri_pool* pool = orri_pool_obtain(rest->world, item->type);
    if (pool != NULL && pool->is_name) {
        return orri_refuse_name_write(rest->world, rest->call, rest->entity);
    }
    orr_result result = bundle_rest_reserve_pinned(rest, pool);
    if (result != ORR_OK) {
        return result;
    }
    const uint8_t* value = item->value != NULL && pool->size == 0 ? orri_marker_byte : item->value;
    orri_pool_cursor cursor = orri_pool_cursor_begin(pool);
    for (uint32_t row = 0; row < rest->rows; row++) {
        if (!orri_pool_make(pool, orri_pool_cursor_next(pool, &cursor), value)) {
            bundle_rest_unmake_pinned(rest, i, row);
            return orri_refuse_hook(rest->world, rest->call, item->type);
        }
    }
    return ORR_OK;
}

// ---- further instances --------------------------------------------------------------------------

static orr_result bundle_rest_make_instances(const orri_rest* rest, uint32_t i, uint8_t* values)
{
    const orri_bundle_item* item = &rest->bundle->items[i];
    size_t size = item->type->info.size;
    for (uint32_t row = 0; row < rest->rows; row++) {
        if (!orri_instance_make(item->type, values + row * size, item->value)) {
            orri_rows_destruct(item->type, values, row);
            return orri_refuse_hook(rest->world, rest->call, item->type);
        }
    }
    return ORR_OK;
}

// ---- all of it ----------------------------------------------------------------------------------

// Destructs the values of the first `count` items.
static void bundle_rest_unmake(orri_rest* rest, uint32_t count)
{
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        const orri_type* type = rest->bundle->items[i].type;
        if (bundle_rest_wants(rest, i) && orri_type_pinned(type)) {
            bundle_rest_unmake_pinned(rest, i, rest->rows);
        } else if (bundle_rest_wants(rest, i)) {
            orri_rows_destruct(type, rest->values + at, rest->rows);
        }
        at += bundle_rest_bytes(rest, i);
    }
    orri_free(&rest->world->env, ORR_MEMORY_TEMP, rest->values, rest->size, ORRI_BLOCK_ALIGN);
    rest->values = NULL;
}

orr_result orri_rest_make(orri_rest* rest)
{
    orr_world* world = rest->world;
    const orri_bundle* bundle = rest->bundle;
    for (uint32_t i = 0; i < bundle->item_count; i++) {
        rest->size += bundle_rest_bytes(rest, i);
    }
    rest->values = orri_alloc(&world->env, ORR_MEMORY_TEMP, rest->size, ORRI_BLOCK_ALIGN);
    if (rest->values == NULL) {
        return orri_refuse_memory(&world->env, "making the values of a bundle");
    }
    size_t at = 0;
    for (uint32_t i = 0; i < bundle->item_count; i++) {
        const orri_bundle_item* item = &bundle->items[i];
        orr_result result = ORR_OK;
        if (bundle_rest_wants(rest, i) && item->value != NULL) {
            result =
                orri_check_value(world, rest->call, item->type, (orr_entity){0}, NULL, item->value);
        }
        if (bundle_rest_wants(rest, i) && result == ORR_OK) {
            result = orri_type_pinned(item->type)
                         ? bundle_rest_make_pinned(rest, i)
                         : bundle_rest_make_instances(rest, i, rest->values + at);
        }
        if (result != ORR_OK) {
            bundle_rest_unmake(rest, i);
            return result;
        }
        at += bundle_rest_bytes(rest, i);
    }
    return ORR_OK;
}

void orri_rest_abandon(orri_rest* rest)
{
    bundle_rest_unmake(rest, rest->bundle->item_count);
}

// bundle_rest_wants() still gives the answers of before the move: `from` is the cluster of before,
// and each pinned type has one item, so that putting one item does not change the answer for a
// later one.
void orri_rest_put(orri_rest* rest, const orr_entity* entities)
{
    orr_world* world = rest->world;
    size_t at = 0;
    for (uint32_t i = 0; i < rest->bundle->item_count; i++) {
        const orri_type* type = rest->bundle->items[i].type;
        orr_type handle = {type->id};
        bool wants = bundle_rest_wants(rest, i);
        size_t bytes = bundle_rest_bytes(rest, i);
        for (uint32_t row = 0; wants && row < rest->rows; row++) {
            uint32_t index = orri_id_index(entities[row]);
            if (orri_type_pinned(type)) {
                orri_pool_enter(world, orri_pool_find(world, handle), index);
            } else {
                orri_instance_put(world, index, handle, 0,
                                  rest->values + at + (size_t)row * type->info.size);
            }
        }
        at += bytes;
    }
    orri_free(&world->env, ORR_MEMORY_TEMP, rest->values, rest->size, ORRI_BLOCK_ALIGN);
    rest->values = NULL;
}
