// SPDX-License-Identifier: MIT
// Sparse rows: a few rows anywhere in some blocks, whose values were sent. As runs of one row each
// they would cost more to list and dispatch than to copy. So they are one run with a list of its
// rows. They are compared, copied and stored in short loops; everything else treats the run like
// any other.
#include "message/deliver/baseline.h"

_Static_assert(ORR_CHUNK_CAPACITY / 64 <= 32, "a note has a bit for each of its words");

// The common sizes are constants here, of types whose values are equal exactly if their bytes are.
static inline bool diff_sparse_differs(const orri_baseline_type* type, const uint8_t* a,
                                       const uint8_t* b, size_t size)
{
    if (!__builtin_constant_p(size)) {
        return orri_baseline_differs(type, a, b);
    }
    uint64_t any = 0, x, y;
    for (size_t at = 0; at + 8 <= size; at += 8) {
        memcpy(&x, a + at, 8);
        memcpy(&y, b + at, 8);
        any |= x ^ y;
    }
    if (size % 8 != 0) { // 4 bytes are left; the 4 bytes before were compared already.
        memcpy(&x, a + size - 8, 8);
        memcpy(&y, b + size - 8, 8);
        any |= x ^ y;
    }
    return any != 0;
}

// Lists the rows of a note whose values differ from the baseline, in the order of slots.
static inline uint32_t diff_sparse_list_sized(const orri_baseline_type* type,
                                              const orri_dirty_rows_note* dirty,
                                              const orri_chunk* chunk, const uint8_t* data,
                                              size_t size, orri_sparse_row* out)
{
    void* const* pages = type->pages;
    const uint32_t* ids = orri_chunk_ids(chunk);
    uint32_t count = 0;
    for (uint32_t words = dirty->words; words != 0; words &= words - 1) {
        uint32_t word = (uint32_t)__builtin_ctz(words);
        uint64_t left = dirty->bits[word];
        do {
            uint32_t slot = word * 64 + (uint32_t)__builtin_ctzll(left);
            uint32_t index = ids[slot], page = index >> ORRI_BASELINE_BITS;
            ORR_ASSERT(page < type->page_capacity && pages[page] != NULL);
            const uint8_t* value = data + slot * size;
            uint8_t* baseline = (uint8_t*)pages[page] + (index & ORRI_BASELINE_MASK) * size;
            out[count] = (orri_sparse_row){value, baseline, index};
            count += diff_sparse_differs(type, value, baseline, size);
            left &= left - 1;
        } while (left != 0);
    }
    return count;
}

static uint32_t diff_sparse_list(const orri_baseline_type* type, const orri_dirty_rows_note* dirty,
                                 const orri_chunk* chunk, uint32_t column, orri_sparse_row* out)
{
    const uint8_t* data = chunk->columns[column].data;
    uint32_t size = type->type->info.size;
    switch (type->exact ? size : 0) {
    case 8:
        return diff_sparse_list_sized(type, dirty, chunk, data, 8, out);
    case 12:
        return diff_sparse_list_sized(type, dirty, chunk, data, 12, out);
    case 16:
        return diff_sparse_list_sized(type, dirty, chunk, data, 16, out);
    default:
        return diff_sparse_list_sized(type, dirty, chunk, data, size, out);
    }
}

// The last run, if these rows can be appended to it.
static orri_run* diff_sparse_joined(const struct orri_baseline* baseline, const uint64_t* readers)
{
    const orri_runs* run_list = &baseline->run_list;
    uint32_t last = run_list->run_count - 1;
    bool joins =
        run_list->run_count > 0 && run_list->runs[last].listed &&
        orri_set_equal(run_list->after + (size_t)last * baseline->words, readers, baseline->words);
    return joins ? &run_list->runs[last] : NULL;
}

bool orri_sparse_rows_push(orri_diff* diff, const orri_baseline_type* type, orri_chunk* chunk,
                           uint32_t column, const orri_dirty_rows_note* dirty,
                           const uint64_t* readers)
{
    orri_runs* run_list = &diff->baseline->run_list;
    uint32_t first = run_list->sparse_row_count;
    ORR_ASSERT(!diff->by_commit && !type->owned);
    if (!ORRI_RESERVE(&diff->world->env, ORR_MEMORY_MESSAGE, &run_list->sparse_rows,
                      &run_list->sparse_row_capacity, first + dirty->rows)) {
        (void)orri_refuse_memory(&diff->world->env, "listing rows that changed");
        return false;
    }
    orri_sparse_row* rows = run_list->sparse_rows + first;
    uint32_t count = diff_sparse_list(type, dirty, chunk, column, rows);
    orri_run* joined = diff_sparse_joined(diff->baseline, readers);
    if (count > 0 && joined == NULL) {
        if (!orri_runs_room(diff)) {
            return false;
        }
        orri_run run = {.chunk = chunk,
                        .column = column,
                        .source = diff->source,
                        .item = first,
                        .alone = true,
                        .listed = true};
        orri_runs_push(diff->baseline, &run, NULL, readers);
        joined = &run_list->runs[run_list->run_count - 1];
    }
    if (count > 0) {
        joined->count += count;
        run_list->sparse_row_count += count;
    }
    return true;
}

void orri_sparse_rows_fill(const orri_diff* diff, const orri_run* run, uint32_t size,
                           orr_entity* entities, uint8_t* values)
{
    const orri_sparse_row* rows = diff->baseline->run_list.sparse_rows + run->item;
    orri_record* const* pages = diff->world->hot.pages;
    for (uint32_t i = 0, count = run->count; i < count; i++, values += size) {
        uint32_t index = rows[i].index;
        uint64_t generation = pages[index >> ORRI_PAGE_BITS][index & ORRI_PAGE_MASK].generation;
        entities[i].id = generation << 32 | index;
        orri_value_move(values, rows[i].value, size);
    }
}

void orri_sparse_rows_put(const orri_runs* run_list, const orri_run* run, uint32_t size)
{
    const orri_sparse_row* rows = run_list->sparse_rows + run->item;
    for (uint32_t i = 0, count = run->count; i < count; i++) {
        orri_value_move(rows[i].baseline, rows[i].value, size);
    }
}
