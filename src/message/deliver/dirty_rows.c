// SPDX-License-Identifier: MIT
// Touches: which rows of a block the values that systems sent were written to. A tell that finds a new version compares all rows of the
// block with what was told, since any of them may have been written; where a hundred of two thousand were, and it is known which, it
// looks at these alone. Nothing depends on a touch being there: without one (memory) all rows are compared.
//
// Who notes has an epoch to itself. So a block whose version is that of its touch was written by nobody else since, and if the version
// it had before was told, only the rows of the touch can differ.
#include "message/deliver/baseline.h"

// Where the number of a chunk's touch stands; NULL when there was no memory.
static uint32_t* dirty_rows_place(orr_world* world, orri_baseline_type* type, uint32_t chunk)
{
    uint32_t old = type->touched_capacity;
    if (ORR_LIKELY(chunk < old)) {
        return &type->touched1[chunk];
    }
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &type->touched1, &type->touched_capacity,
                      chunk + 1)) {
        return NULL;
    }
    memset(type->touched1 + old, 0, (type->touched_capacity - old) * sizeof *type->touched1);
    return &type->touched1[chunk];
}

static orri_dirty_rows_note* dirty_rows_add(orr_world* world, orri_baseline_type* type,
                                            uint32_t* place, uint32_t chunk)
{
    struct orri_baseline* told = world->messages->told;
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &told->touches, &told->touch_capacity,
                      told->touch_count + 1)) {
        return NULL;
    }
    orri_dirty_rows_note* touch = &told->touches[told->touch_count++];
    *place = told->touch_count;
    touch->type_index = (uint32_t)(type - told->types);
    touch->chunk = chunk;
    touch->version = 0;
    return touch;
}

orri_dirty_rows_note* orri_dirty_rows_begin(orr_world* world, orri_baseline_type* type,
                                            const orri_chunk* chunk, uint32_t column)
{
    uint64_t version = chunk->columns[column].version;
    uint64_t next = orri_version_now(world, &chunk->columns[column]);
    uint32_t* place = dirty_rows_place(world, type, chunk->id);
    if (place == NULL) {
        return NULL;
    }
    orri_dirty_rows_note* touch = *place != 0 ? &world->messages->told->touches[*place - 1] : NULL;
    if (touch != NULL && touch->version == version) {
        touch->version = next;
        return touch;
    }
    if (version == next) {
        return NULL; // Some rows were written before there was memory.
    }
    touch = touch != NULL ? touch : dirty_rows_add(world, type, place, chunk->id);
    if (touch != NULL) {
        touch->before = version;
        touch->version = next;
        touch->rows = touch->words = 0;
        memset(touch->bits, 0, sizeof touch->bits);
    }
    return touch;
}

const orri_dirty_rows_note* orri_dirty_rows_of(const struct orri_baseline* told,
                                               const orri_baseline_type* type,
                                               const orri_chunk* chunk, uint32_t column,
                                               uint64_t seen)
{
    uint32_t number1 = chunk->id < type->touched_capacity ? type->touched1[chunk->id] : 0;
    const orri_dirty_rows_note* touch = number1 != 0 ? &told->touches[number1 - 1] : NULL;
    bool whole = touch != NULL && touch->version == chunk->columns[column].version &&
                 touch->before <= seen;
    // Where many were written, comparing them all as arrays is faster.
    return whole && touch->rows <= ORR_CHUNK_CAPACITY / 16 ? touch : NULL;
}

void orri_dirty_rows_clear(struct orri_baseline* told)
{
    for (uint32_t i = 0; i < told->touch_count; i++) {
        const orri_dirty_rows_note* touch = &told->touches[i];
        orri_baseline_type* type = &told->types[touch->type_index];
        if (touch->chunk < type->touched_capacity) {
            type->touched1[touch->chunk] = 0;
        }
    }
    told->touch_count = 0;
}
