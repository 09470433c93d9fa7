// SPDX-License-Identifier: MIT
// Owner lists: the instances or pinned entities whose values a published block of a multiple or
// pinned type has. All editions share one owner list, because a remap applies to all editions at
// once. So publishing copies values only, and remapping compares an owner list with the live
// owners.
#include "store/publish/publish_detail.h"

// ---- one owner list -----------------------------------------------------------------------------

// Bytes of an owner list: the struct, the instance ids or entities, the counts.
static size_t owners_bytes(uint32_t rows, uint8_t shift, bool pool)
{
    size_t owner_bytes = pool ? rows * sizeof(orr_entity)
                              : ((size_t)rows << shift) * sizeof(uint32_t);
    return sizeof(orri_owners) + owner_bytes + rows * sizeof(uint16_t);
}

orri_owners* orri_owners_make(orri_publisher* publisher, const orri_published_type* type,
                              uint32_t rows, uint8_t shift)
{
    bool pool = type->kind == ORRI_PUBLISHED_POOL;
    orri_owners* owners = orri_alloc(&publisher->world->env, ORR_MEMORY_PUBLISHED,
                                     owners_bytes(rows, shift, pool), _Alignof(orri_owners));
    if (owners != NULL) {
        *owners = (orri_owners){.rows = rows, .shift = shift};
        owners->entities = pool ? (orr_entity*)(void*)(owners + 1) : NULL;
        owners->ids = pool ? NULL : (uint32_t*)(void*)(owners + 1);
        owners->counts = pool ? (uint16_t*)(void*)(owners->entities + rows)
                              : (uint16_t*)(void*)(owners->ids + ((size_t)rows << shift));
    }
    return owners;
}

void orri_owners_free(orri_publisher* publisher, orri_owners* owners)
{
    if (owners != NULL) {
        orri_free(&publisher->world->env, ORR_MEMORY_PUBLISHED, owners,
                  owners_bytes(owners->rows, owners->shift, owners->entities != NULL),
                  _Alignof(orri_owners));
    }
}

// ---- values -------------------------------------------------------------------------------------

static orri_cells owners_cells(const orri_published_type* type, const orri_owners* owners,
                               uint8_t* data)
{
    return (orri_cells){type->type, data, owners->counts, type->size << owners->shift};
}

// Advances `*slot` to the next slot that has an owner, and returns how many adjacent slots have
// one; 0: none is left.
static uint32_t owners_run(const orri_owners* owners, uint32_t* slot, uint32_t end)
{
    uint32_t run = 0;
    while (*slot < end && owners->counts[*slot] == 0) {
        ++*slot;
    }
    while (*slot + run < end && owners->counts[*slot + run] != 0) {
        run++;
    }
    return run;
}

// Copies the values of all slots that have an owner.
static bool owners_copy_pool(const orri_published_type* type, const orri_owners* owners,
                             uint8_t* to, const uint8_t* from)
{
    uint32_t run;
    for (uint32_t slot = 0; (run = owners_run(owners, &slot, owners->rows)) > 0; slot += run) {
        size_t offset = (size_t)slot * type->size;
        if (type->type->plain) {
            memcpy(to + offset, from + offset, (size_t)run * type->size);
        } else if (!orri_rows_copy(type->type, to + offset, from + offset, run)) {
            orri_owners_destruct(type, owners, to, slot);
            return false;
        }
    }
    return true;
}

bool orri_owners_copy(const orri_published_type* type, const orri_owners* owners, uint8_t* to,
                      const uint8_t* from)
{
    if (owners->entities != NULL) {
        return owners_copy_pool(type, owners, to, from);
    }
    if (type->type->plain) {
        memcpy(to, from, (size_t)orri_owners_values(owners) * type->size);
        return true;
    }
    return orri_cells_copy(owners_cells(type, owners, to),
                           owners_cells(type, owners, (uint8_t*)(uintptr_t)from), owners->rows);
}

bool orri_owners_copy_one(const orri_published_type* type, uint8_t* to, const uint8_t* from)
{
    if (type->type->plain) {
        memcpy(to, from, type->size);
        return true;
    }
    return orri_rows_copy(type->type, to, from, 1);
}

void orri_owners_destruct(const orri_published_type* type, const orri_owners* owners, uint8_t* data,
                          uint32_t rows)
{
    orri_cells_destruct(owners_cells(type, owners, data), rows);
}

// ---- owner lists of a type ----------------------------------------------------------------------

bool orri_owner_lists_reserve(orri_publisher* publisher, orri_published_type* type,
                              uint32_t capacity)
{
    uint32_t old = type->owner_list_capacity;
    if (!ORRI_RESERVE(&publisher->world->env, ORR_MEMORY_PUBLISHED, &type->owner_lists,
                      &type->owner_list_capacity, capacity)) {
        return false;
    }
    if (type->owner_list_capacity > old) {
        memset(type->owner_lists + old, 0,
               (type->owner_list_capacity - old) * sizeof *type->owner_lists);
    }
    return true;
}

void orri_owner_lists_swap(orri_publisher* publisher, orri_published_type* type)
{
    for (uint32_t id = 0; id < type->owner_list_capacity; id++) {
        orri_owner_list* place = &type->owner_lists[id];
        if (place->changes) {
            orri_owners_free(publisher, place->now);
            *place = (orri_owner_list){.now = place->next};
        }
    }
}

void orri_owner_lists_discard(orri_publisher* publisher, orri_published_type* type)
{
    for (uint32_t id = 0; id < type->owner_list_capacity; id++) {
        orri_owner_list* place = &type->owner_lists[id];
        orri_owners_free(publisher, place->next);
        *place = (orri_owner_list){.now = place->now};
    }
}

void orri_owner_lists_free(orri_publisher* publisher, orri_published_type* type)
{
    for (uint32_t id = 0; id < type->owner_list_capacity; id++) {
        orri_owners_free(publisher, type->owner_lists[id].now);
    }
    if (type->owner_lists != NULL) {
        ORRI_RELEASE(&publisher->world->env, ORR_MEMORY_PUBLISHED, type->owner_lists,
                     type->owner_list_capacity);
    }
}
