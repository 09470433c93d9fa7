// SPDX-License-Identifier: MIT
// Rolls: whose values a published block of a multiple or pinned type has. One for all editions, since what comes and goes shows in all of them at
// once: so publishing copies values and nothing else, and following compares a roll with what is there.
#include "store/publish/publish_detail.h"

// ---- one roll -----------------------------------------------------------------------------------------------

static size_t owners_bytes(uint32_t rows, uint8_t shift, bool pool)
{
    size_t whose = pool ? rows * sizeof(orr_entity) : ((size_t)rows << shift) * sizeof(uint32_t);
    return sizeof(orri_owners) + whose + rows * sizeof(uint16_t);
}

orri_owners* orri_owners_make(orri_publisher* publisher, const orri_published_type* type,
                              uint32_t rows, uint8_t shift)
{
    bool pool = type->kind == ORRI_PUBLISHED_POOL;
    orri_owners* roll = orri_alloc(&publisher->world->env, ORR_MEMORY_SHOWN,
                                   owners_bytes(rows, shift, pool), _Alignof(orri_owners));
    if (roll != NULL) {
        *roll = (orri_owners){.rows = rows, .shift = shift};
        roll->owners = pool ? (orr_entity*)(void*)(roll + 1) : NULL;
        roll->ids = pool ? NULL : (uint32_t*)(void*)(roll + 1);
        roll->counts = pool ? (uint16_t*)(void*)(roll->owners + rows)
                            : (uint16_t*)(void*)(roll->ids + ((size_t)rows << shift));
    }
    return roll;
}

void orri_owners_free(orri_publisher* publisher, orri_owners* roll)
{
    if (roll != NULL) {
        orri_free(&publisher->world->env, ORR_MEMORY_SHOWN, roll,
                  owners_bytes(roll->rows, roll->shift, roll->owners != NULL),
                  _Alignof(orri_owners));
    }
}

// ---- values -------------------------------------------------------------------------------------------------

static orri_cells owners_cells(const orri_published_type* type, const orri_owners* roll,
                               uint8_t* data)
{
    return (orri_cells){type->type, data, roll->counts, type->size << roll->shift};
}

// The next slots with owners from `*slot` on; 0: there are none.
static uint32_t owners_run(const orri_owners* roll, uint32_t* slot, uint32_t end)
{
    uint32_t run = 0;
    while (*slot < end && roll->counts[*slot] == 0) {
        ++*slot;
    }
    while (*slot + run < end && roll->counts[*slot + run] != 0) {
        run++;
    }
    return run;
}

static bool owners_copy_pool(const orri_published_type* type, const orri_owners* roll, uint8_t* to,
                             const uint8_t* from)
{
    uint32_t run;
    for (uint32_t slot = 0; (run = owners_run(roll, &slot, roll->rows)) > 0; slot += run) {
        size_t offset = (size_t)slot * type->size;
        if (type->type->plain) {
            memcpy(to + offset, from + offset, (size_t)run * type->size);
        } else if (!orri_rows_copy(type->type, to + offset, from + offset, run)) {
            orri_owners_destruct(type, roll, to, slot);
            return false;
        }
    }
    return true;
}

bool orri_owners_copy(const orri_published_type* type, const orri_owners* roll, uint8_t* to,
                      const uint8_t* from)
{
    if (roll->owners != NULL) {
        return owners_copy_pool(type, roll, to, from);
    }
    if (type->type->plain) {
        memcpy(to, from, (size_t)orri_owners_values(roll) * type->size);
        return true;
    }
    return orri_cells_copy(owners_cells(type, roll, to),
                           owners_cells(type, roll, (uint8_t*)(uintptr_t)from), roll->rows);
}

bool orri_owners_copy_one(const orri_published_type* type, uint8_t* to, const uint8_t* from)
{
    if (type->type->plain) {
        memcpy(to, from, type->size);
        return true;
    }
    return orri_rows_copy(type->type, to, from, 1);
}

void orri_owners_destruct(const orri_published_type* type, const orri_owners* roll, uint8_t* data,
                          uint32_t rows)
{
    orri_cells_destruct(owners_cells(type, roll, data), rows);
}

// ---- those of a type ------------------------------------------------------------------------------------------

bool orri_owner_lists_reserve(orri_publisher* publisher, orri_published_type* type,
                              uint32_t capacity)
{
    uint32_t old = type->roll_capacity;
    if (!ORRI_RESERVE(&publisher->world->env, ORR_MEMORY_SHOWN, &type->rolls, &type->roll_capacity,
                      capacity)) {
        return false;
    }
    if (type->roll_capacity > old) {
        memset(type->rolls + old, 0, (type->roll_capacity - old) * sizeof *type->rolls);
    }
    return true;
}

void orri_owner_lists_swap(orri_publisher* publisher, orri_published_type* type)
{
    for (uint32_t id = 0; id < type->roll_capacity; id++) {
        orri_owners_place* place = &type->rolls[id];
        if (place->changes) {
            orri_owners_free(publisher, place->now);
            *place = (orri_owners_place){.now = place->next};
        }
    }
}

void orri_owner_lists_undo(orri_publisher* publisher, orri_published_type* type)
{
    for (uint32_t id = 0; id < type->roll_capacity; id++) {
        orri_owners_place* place = &type->rolls[id];
        orri_owners_free(publisher, place->next);
        *place = (orri_owners_place){.now = place->now};
    }
}

void orri_owner_lists_free(orri_publisher* publisher, orri_published_type* type)
{
    for (uint32_t id = 0; id < type->roll_capacity; id++) {
        orri_owners_free(publisher, type->rolls[id].now);
    }
    if (type->rolls != NULL) {
        ORRI_RELEASE(&publisher->world->env, ORR_MEMORY_SHOWN, type->rolls, type->roll_capacity);
    }
}
