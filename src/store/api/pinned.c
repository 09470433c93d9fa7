// SPDX-License-Identifier: MIT
// The component calls on pinned types. The callers have checked what all types have in common: the
// entity, the type, references.
//
// A pinned value must be constructed at its address, not moved there. To set a value that is not
// plain:
//   1. Copy the new value outside the pool; a hook may refuse that.
//   2. Destruct the old value and copy the new one into its place.
//   3. Only if a hook refuses in step 2 what it accepted in step 1, move the copy into the place
//      instead.
#include "store/pool/pool.h"
#include "store/relation/entity_name.h"

orr_result orri_refuse_pinned(const orr_world* world, const char* call, orr_type type)
{
    return orri_refuse(orri_env_of(world), ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                       "%s: %s is pinned, and pinned types are not part of a cluster; add it to "
                       "the entities with orr_component_add_many(), or look for it with a query",
                       call, orri_type_label(world, type));
}

// ---- setting existing values --------------------------------------------------------------------

static void pinned_overwrite_plain(const orri_type* type, uint8_t* place, const void* value)
{
    memmove(place, value, type->info.size);
    if (type->info.has_padding) {
        orri_rows_clean(type, place, 1);
    }
}

// Steps 2 and 3: replaces the value at `place` by `copy`, which is raw afterwards.
void orri_pinned_overwrite(const orri_type* type, uint8_t* place, void* copy)
{
    orri_rows_destruct(type, place, 1);
    if (orri_rows_copy(type, place, copy, 1)) {
        orri_rows_destruct(type, copy, 1);
    } else {
        orri_rows_move(type, place, copy, 1);
    }
}

// Sets an existing value of a type that is not plain.
static orr_result pinned_set_hooked(orr_world* world, const char* call, orri_pool* pool,
                                    uint32_t index, const void* value)
{
    _Alignas(ORRI_BLOCK_ALIGN) uint8_t small[256];
    uint8_t* copy = small;
    if (pool->size > sizeof small) {
        copy = orri_alloc(&world->env, ORR_MEMORY_TEMP, pool->size, ORRI_BLOCK_ALIGN);
        if (copy == NULL) {
            return orri_refuse_memory(&world->env, "copying a value");
        }
    }
    bool made = orri_rows_copy(pool->type, copy, value, 1);
    if (made) {
        orri_pinned_overwrite(pool->type, orri_pool_write(world, pool, index), copy);
    }
    if (copy != small) {
        orri_free(&world->env, ORR_MEMORY_TEMP, copy, pool->size, ORRI_BLOCK_ALIGN);
    }
    return made ? ORR_OK : orri_refuse_hook(world, call, pool->type);
}

orr_result orri_pinned_set(orr_world* world, const char* call, orr_entity entity,
                           const orri_type* type, const void* value)
{
    orri_pool* pool = orri_pool_obtain(world, type);
    uint32_t index = orri_id_index(entity);
    if (ORR_UNLIKELY(pool == NULL)) {
        return orri_env_result(&world->env);
    }
    if (ORR_UNLIKELY(pool->is_name)) {
        return orri_refuse_name_write(world, call, entity);
    }
    if (orri_pool_slot1(pool, index) == 0) {
        return orri_pool_add(world, call, type, index, pool->size > 0 ? value : orri_marker_byte);
    }
    if (pool->size == 0) {
        return ORR_OK;
    }
    if (!pool->plain) {
        return pinned_set_hooked(world, call, pool, index, value);
    }
    pinned_overwrite_plain(type, orri_pool_write(world, pool, index), value);
    return ORR_OK;
}

// ---- one entity ---------------------------------------------------------------------------------

// Adds a value of a type that is not plain. The name component is such a type, and is refused here.
orr_result orri_pinned_add_hooked(orr_world* world, const char* call, orr_entity entity,
                                  const orri_type* type)
{
    orri_pool* pool = orri_pool_obtain(world, type);
    if (pool == NULL) {
        return orri_env_result(&world->env);
    }
    if (pool->is_name && orri_pool_slot1(pool, orri_id_index(entity)) == 0) {
        return orri_refuse_name_write(world, call, entity);
    }
    return orri_pool_add(world, call, type, orri_id_index(entity), NULL);
}

void* orri_pinned_edit(orr_world* world, const char* call, orr_entity entity, orr_type type)
{
    orri_pool* pool = orri_pool_find(world, type);
    if (pool == NULL) {
        return NULL;
    }
    if (ORR_UNLIKELY(pool->is_name)) {
        (void)orri_refuse_name_write(world, call, entity);
        return NULL;
    }
    return orri_pool_write(world, pool, orri_id_index(entity));
}

orr_result orri_pinned_enable(orr_world* world, const char* call, orr_entity entity,
                              const orri_type* type, bool on)
{
    orri_pool* pool = orri_pool_find(world, (orr_type){type->id});
    if (pool == NULL || orri_pool_slot1(pool, orri_id_index(entity)) == 0) {
        orri_id_text name = orri_entity_format(world, entity);
        return orri_refuse(&world->env, ORR_ERR_ABSENT, ORR_LOG_ID_ENTITY_REFUSED,
                           "%s: entity %s has no %s; add it first", call, name.text,
                           type->info.name);
    }
    return orri_pool_enable(world, pool, orri_id_index(entity), on);
}

// ---- many entities ------------------------------------------------------------------------------

// Values that are not plain are copied outside the pool before any is set: a hook may refuse.
orr_result orri_pinned_set_many(orr_world* world, const char* call, const orr_entity* entities,
                                uint32_t count, const orri_type* type, const void* values)
{
    orri_pool* pool = orri_pool_find(world, (orr_type){type->id});
    if (pool == NULL || count == 0) {
        return ORR_OK; // No entity has the type, so the list is empty.
    }
    if (pool->is_name) {
        return orri_refuse_name_write(world, call, entities[0]);
    }
    size_t bytes = pool->plain ? 0 : orri_size_mul(pool->size, count);
    uint8_t* copies = orri_alloc(&world->env, ORR_MEMORY_TEMP, bytes, ORRI_BLOCK_ALIGN);
    orr_result result = copies != NULL ? ORR_OK : orri_refuse_memory(&world->env, "copying values");
    for (uint32_t i = 0; result == ORR_OK && !pool->plain && i < count; i++) {
        size_t at = (size_t)i * pool->size;
        if (!orri_rows_copy(type, copies + at, (const uint8_t*)values + at, 1)) {
            orri_rows_destruct(type, copies, i);
            result = orri_refuse_hook(world, call, type);
        }
    }
    for (uint32_t i = 0; result == ORR_OK && pool->size > 0 && i < count; i++) {
        uint8_t* place = orri_pool_write(world, pool, orri_id_index(entities[i]));
        size_t at = (size_t)i * pool->size;
        if (pool->plain) {
            pinned_overwrite_plain(type, place, (const uint8_t*)values + at);
        } else {
            orri_pinned_overwrite(type, place, copies + at);
        }
    }
    orri_free(&world->env, ORR_MEMORY_TEMP, copies, bytes, ORRI_BLOCK_ALIGN);
    return result;
}

// ---- orr_copy -----------------------------------------------------------------------------------

// True when the copy of an entity gets the value of this pool: names and transient values are not
// copied.
static bool pinned_copied(const orri_pool* pool, uint32_t from)
{
    return !pool->is_name && !pool->type->info.transient && orri_pool_slot1(pool, from) != 0;
}

// The slot of the next value.
static uint32_t pinned_next_slot(const orri_pool* pool)
{
    orri_pool_cursor cursor = orri_pool_cursor_begin(pool);
    return orri_pool_cursor_next(pool, &cursor);
}

static orr_result pinned_copy_one(orr_world* world, const char* call, orri_pool* pool,
                                  uint32_t from, uint32_t to)
{
    if (!orri_pool_reserve(world, pool, 1) || !orri_pool_reserve_page(world, pool, to) ||
        (!orri_pool_enabled(pool, from) &&
         !orri_pool_reserve_bits(world, pool, pinned_next_slot(pool)))) {
        return orri_env_result(&world->env);
    }
    const uint8_t* value = orri_pool_get(pool, from);
    return orri_pool_make(pool, pinned_next_slot(pool), value)
               ? ORR_OK
               : orri_refuse_hook(world, call, pool->type);
}

static void pinned_copy_unmake(orr_world* world, uint32_t from, uint32_t pool_count)
{
    while (pool_count-- > 0) {
        const orri_pool* pool = world->pinned.list[pool_count];
        if (pinned_copied(pool, from)) {
            orri_pool_unmake(pool, pinned_next_slot(pool));
        }
    }
}

orr_result orri_pinned_copy_make(orr_world* world, const char* call, uint32_t from, uint32_t to)
{
    for (uint32_t p = 0; world->pinned.live > 0 && p < world->pinned.count; p++) {
        orri_pool* pool = world->pinned.list[p];
        orr_result result = pinned_copied(pool, from) ? pinned_copy_one(world, call, pool, from, to)
                                                      : ORR_OK;
        if (result != ORR_OK) {
            pinned_copy_unmake(world, from, p);
            return result;
        }
    }
    return ORR_OK;
}

void orri_pinned_copy_abandon(orr_world* world, uint32_t from)
{
    pinned_copy_unmake(world, from, world->pinned.count);
}

void orri_pinned_copy_enter(orr_world* world, uint32_t from, uint32_t to)
{
    for (uint32_t p = 0; world->pinned.live > 0 && p < world->pinned.count; p++) {
        orri_pool* pool = world->pinned.list[p];
        if (!pinned_copied(pool, from)) {
            continue;
        }
        uint32_t slot = pinned_next_slot(pool);
        orri_pool_enter(world, pool, to); // Stamps the block, so the bits may be written after it.
        if (!orri_pool_enabled(pool, from)) {
            orri_bit_set(orri_pool_block_of(pool, slot)->enabled, orri_pool_within(pool, slot),
                         false);
        }
    }
}
