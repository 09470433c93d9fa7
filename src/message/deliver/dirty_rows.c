// SPDX-License-Identifier: MIT
// Notes of dirty rows: to which rows of a block sent values were written. A diff that finds a new
// version compares all rows of the block, since any of them may have been written. Where a hundred
// of two thousand were written, and it is known which, it compares only these. Nothing depends on a
// note: without one (memory) all rows are compared.
//
// The writer of a note has an epoch to itself. So if the version of a block is that of its note,
// no other code has written the block since, and if the version before the note was compared, only
// the noted rows can differ.
#include "message/deliver/baseline.h"

// The entry of a chunk in dirty_note1; NULL when memory is refused.
static uint32_t* dirty_rows_place(orr_world* world, orri_baseline_type* type, uint32_t chunk)
{
    uint32_t old = type->dirty_note1_capacity;
    if (ORR_LIKELY(chunk < old)) {
        return &type->dirty_note1[chunk];
    }
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &type->dirty_note1,
                      &type->dirty_note1_capacity, chunk + 1)) {
        return NULL;
    }
    memset(type->dirty_note1 + old, 0,
           (type->dirty_note1_capacity - old) * sizeof *type->dirty_note1);
    return &type->dirty_note1[chunk];
}

// Appends a note.
static orri_dirty_rows_note* dirty_rows_add(orr_world* world, orri_baseline_type* type,
                                            uint32_t* place, uint32_t chunk)
{
    struct orri_baseline* baseline = world->messages->baseline;
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &baseline->dirty_notes,
                      &baseline->dirty_note_capacity, baseline->dirty_note_count + 1)) {
        return NULL;
    }
    orri_dirty_rows_note* dirty = &baseline->dirty_notes[baseline->dirty_note_count++];
    *place = baseline->dirty_note_count;
    type->note1 = baseline->dirty_note_count;
    type->note_count++;
    dirty->type_index = (uint32_t)(type - baseline->types);
    dirty->chunk = chunk;
    dirty->version = 0;
    return dirty;
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
    orri_dirty_rows_note* dirty = *place != 0 ? &world->messages->baseline->dirty_notes[*place - 1]
                                              : NULL;
    if (dirty != NULL && dirty->version == version) {
        dirty->version = next;
        return dirty;
    }
    if (version == next) {
        return NULL; // Some rows were written in this epoch before there was memory for a note.
    }
    dirty = dirty != NULL ? dirty : dirty_rows_add(world, type, place, chunk->id);
    if (dirty != NULL) {
        dirty->before = version;
        dirty->version = next;
        dirty->rows = dirty->words = 0;
        memset(dirty->bits, 0, sizeof dirty->bits);
    }
    return dirty;
}

bool orri_dirty_rows_in_runs(const orri_dirty_rows_note* dirty)
{
    uint32_t runs = 0, most = dirty->rows / ORRI_DIRTY_ROWS_RUN;
    if ((uint32_t)__builtin_popcount(dirty->words) > most) {
        return false;
    }
    for (uint32_t words = dirty->words; words != 0 && runs <= most; words &= words - 1) {
        uint64_t bits = dirty->bits[__builtin_ctz(words)];
        runs += (uint32_t)__builtin_popcountll(bits & ~(bits << 1));
    }
    return runs <= most;
}

const orri_dirty_rows_note* orri_dirty_rows_of(const struct orri_baseline* baseline,
                                               const orri_baseline_type* type,
                                               const orri_chunk* chunk, uint32_t column,
                                               uint64_t seen)
{
    uint32_t number1 = chunk->id < type->dirty_note1_capacity ? type->dirty_note1[chunk->id] : 0;
    const orri_dirty_rows_note* dirty = number1 != 0 ? &baseline->dirty_notes[number1 - 1] : NULL;
    bool whole = dirty != NULL && dirty->version == chunk->columns[column].version &&
                 dirty->before <= seen;
    // With many scattered rows, comparing all rows as arrays is faster.
    bool few = whole && (dirty->rows <= ORR_CHUNK_CAPACITY / 16 || orri_dirty_rows_dense(dirty));
    return few ? dirty : NULL;
}

void orri_dirty_rows_clear(struct orri_baseline* baseline)
{
    for (uint32_t i = 0; i < baseline->dirty_note_count; i++) {
        const orri_dirty_rows_note* dirty = &baseline->dirty_notes[i];
        orri_baseline_type* type = &baseline->types[dirty->type_index];
        if (dirty->chunk < type->dirty_note1_capacity) {
            type->dirty_note1[dirty->chunk] = 0;
        }
        type->note_count = type->note1 = 0;
    }
    baseline->dirty_note_count = 0;
}
