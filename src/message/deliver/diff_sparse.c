// SPDX-License-Identifier: MIT
// Sparse rows: a few rows anywhere in some blocks, whose values were sent. As runs of one row each
// they would cost more to list and dispatch than to copy. So they are one run with a list of its
// rows. They are compared, copied and stored in short loops; everything else treats the run like
// any other.
#include "message/deliver/baseline.h"

_Static_assert(ORR_CHUNK_CAPACITY / 64 <= 32, "a note has a bit for each of its words");

// Compares with the common sizes as constants.
static inline bool diff_sparse_differs(const orri_baseline_type* type, const uint8_t* a,
                                       const uint8_t* b, size_t size)
{
    if (ORR_UNLIKELY(!type->exact)) {
        return orri_baseline_differs(type, a, b);
    }
    return size == 16   ? memcmp(a, b, 16) != 0
           : size == 12 ? memcmp(a, b, 12) != 0
           : size == 8  ? memcmp(a, b, 8) != 0
                        : memcmp(a, b, size) != 0;
}

// Lists the rows of a note, in the order of slots.
static uint32_t diff_sparse_list(const orri_dirty_rows_note* dirty, const uint32_t* ids,
                                 const uint8_t* data, size_t size, orri_sparse_row* out)
{
    uint32_t count = 0;
    for (uint32_t words = dirty->words; words != 0; words &= words - 1) {
        uint32_t word = (uint32_t)__builtin_ctz(words);
        uint64_t left = dirty->bits[word];
        do {
            uint32_t slot = word * 64 + (uint32_t)__builtin_ctzll(left);
            out[count].value = data + slot * size;
            out[count++].index = ids[slot];
            left &= left - 1;
        } while (ORR_UNLIKELY(left != 0));
    }
    return count;
}

// Keeps the rows whose values differ from the baseline.
static uint32_t diff_sparse_compare(const orri_baseline_type* type, orri_sparse_row* rows,
                                    uint32_t count)
{
    void* const* pages = type->pages;
    uint32_t kept = 0;
    size_t size = type->type->info.size;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = rows[i].index, page = index >> ORRI_BASELINE_BITS;
        ORR_ASSERT(page < type->page_capacity && pages[page] != NULL);
        const uint8_t* value = rows[i].value;
        uint8_t* baseline = (uint8_t*)pages[page] + (index & ORRI_BASELINE_MASK) * size;
        rows[kept] = (orri_sparse_row){value, baseline, index};
        kept += diff_sparse_differs(type, value, baseline, size);
    }
    return kept;
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
    uint32_t count = diff_sparse_list(dirty, orri_chunk_ids(chunk), chunk->columns[column].data,
                                      type->type->info.size, rows);
    count = diff_sparse_compare(type, rows, count);
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
