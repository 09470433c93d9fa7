// SPDX-License-Identifier: MIT
// Step 1 of a diff: destroyed entities. A head whose generation is not that of the index record
// belongs to an entity that is gone. Index pages that were not written since the last diff need no
// look.
#include "message/deliver/baseline.h"

// Releases the baseline values of one type.
static void diff_destroyed_forget_type(orri_diff* diff, orr_type type, const orri_run* run)
{
    orri_baseline_type* found =
        orri_baseline_tracked(diff->baseline, orri_type_index(diff->world, type));
    bool kept = found != NULL && (found->multiple || found->present.count + found->off.count > 0);
    for (uint32_t i = 0; kept && i < run->count; i++) {
        orri_baseline_drop(diff->world, found, run->index + i);
    }
}

static void diff_destroyed_forget_types(orri_diff* diff, const orri_shape* shape,
                                        const orri_run* run)
{
    for (uint32_t c = 0; c < shape->type_count; c++) {
        diff_destroyed_forget_type(diff, shape->types[c], run);
    }
    for (uint32_t p = 0; p < diff->world->pinned.count; p++) {
        diff_destroyed_forget_type(diff, (orr_type){diff->world->pinned.list[p]->type->id}, run);
    }
}

// Removes the entities of a run from the baseline.
static void diff_destroyed_keep_run(orri_diff* diff, const orri_run* run, const uint64_t* before)
{
    struct orri_baseline* baseline = diff->baseline;
    orri_shape* shape = orri_shape_at(baseline, run->shape1);
    diff_destroyed_forget_types(diff, shape, run);
    for (uint32_t r = 0; r < baseline->on_count; r++) {
        if (orri_bit_get(before, r)) {
            orri_bits_fill(baseline->on[r]->members.words, run->index, run->count, false);
        }
    }
    for (uint32_t i = 0; baseline->off.count > 0 && i < run->count; i++) {
        orri_bitset_put(&baseline->off, run->index + i, false);
    }
    memset(orri_head_at(baseline, run->index), 0, run->count * sizeof(orri_head));
    *orri_heads_known(baseline, run->index) -= run->count;
    orri_shape_release(diff->world, baseline, shape, run->count);
}

// Dispatches the run list and updates the baseline. False when refused (reported).
static bool diff_destroyed_flush(orri_diff* diff)
{
    struct orri_baseline* baseline = diff->baseline;
    orri_runs* run_list = &baseline->run_list;
    size_t words = (size_t)run_list->run_count * baseline->words;
    memcpy(run_list->to, run_list->before, words * sizeof *run_list->to);
    if (!orri_runs_dispatch(diff, &(orri_dispatch){.kind = ORR_ENTITY_REMOVED, .forced = -1})) {
        return false;
    }
    for (uint32_t i = 0; i < run_list->run_count; i++) {
        diff_destroyed_keep_run(diff, &run_list->runs[i],
                                run_list->before + (size_t)i * baseline->words);
    }
    orri_runs_keep(diff);
    return true;
}

// Finds the readers that know `count` entities. False: a reader knows some of them and not the
// others.
static bool diff_destroyed_members(const struct orri_baseline* baseline, uint32_t index,
                                   uint32_t count, uint64_t* before)
{
    memset(before, 0, baseline->words * sizeof *before);
    for (uint32_t r = 0; r < baseline->on_count; r++) {
        const orri_bitset* members = &baseline->on[r]->members;
        if (orri_bitset_has(members, index)) {
            orri_bit_set(before, r, true);
            if (count > 1 && !orri_bits_all(members->words, index, count)) {
                return false;
            }
        }
        for (uint32_t i = 1; i < count && !orri_bit_get(before, r); i++) {
            if (orri_bitset_has(members, index + i)) {
                return false;
            }
        }
    }
    return true;
}

// Appends a run for the first of `count` destroyed entities of one shape, or for as many as the
// same readers know. Returns the number; 0: refused.
static uint32_t diff_destroyed_push(orri_diff* diff, uint32_t index, uint32_t count,
                                    uint32_t shape1)
{
    struct orri_baseline* baseline = diff->baseline;
    uint64_t* before = baseline->set + 2 * baseline->words;
    uint32_t room = ORRI_BASELINE_SIZE - (index & ORRI_BASELINE_MASK);
    count = diff->by_commit ? 1 : count < room ? count : room;
    if (!diff_destroyed_members(baseline, index, count, before)) {
        count = 1;
        (void)diff_destroyed_members(baseline, index, count, before);
    }
    if ((orri_diff_range_ends(diff, index / ORRI_DIFF_RANGE_ROWS) && !diff_destroyed_flush(diff)) ||
        !orri_runs_room(diff)) {
        return 0;
    }
    orri_runs_push(baseline,
                   &(orri_run){.index = index,
                               .count = count,
                               .shape1 = shape1,
                               .cause = ORR_CAUSE_DESTROYED,
                               .source = orri_diff_source(diff, index)},
                   before, before);
    return count;
}

// Number of entities from here on that are destroyed and had the same shape.
static uint32_t diff_destroyed_count(const orri_head* heads, const orri_record* records,
                                     uint32_t count)
{
    uint32_t n = 0;
    while (n < count && heads[n].generation != records[n].generation && heads[n].generation != 0 &&
           heads[n].shape1 == heads[0].shape1) {
        n++;
    }
    return n;
}

// Number of entities from here on, in steps of 16, that are unchanged or new: a loop without
// branches, since after a large creation this is all of them.
static uint32_t diff_destroyed_skip(const orri_head* heads, const orri_record* records,
                                    uint32_t count)
{
    uint32_t n = 0, any = 0;
    for (; n + 16 <= count && any == 0; n += 16) {
        for (uint32_t i = n; i < n + 16; i++) {
            uint32_t baseline = heads[i].generation;
            any |= (uint32_t)(baseline != records[i].generation) & (uint32_t)(baseline != 0);
        }
    }
    return any == 0 ? n : n - 16;
}

static bool diff_destroyed_page(orri_diff* diff, uint32_t page)
{
    const orri_record* records = diff->world->hot.pages[page];
    const orri_head* heads = diff->baseline->heads[page];
    uint32_t first = page << ORRI_PAGE_BITS, left = diff->world->hot.count - first;
    uint32_t count = left < ORRI_PAGE_SIZE ? left : ORRI_PAGE_SIZE;
    // Destroyed entities of one shape from here on: counted once, appended in parts.
    uint32_t n = 0;
    for (uint32_t i = 0, pushed = 0; i < count; i += pushed) {
        if (n == 0) {
            i += i % 16 == 0 ? diff_destroyed_skip(heads + i, records + i, count - i) : 0;
            n = diff_destroyed_count(heads + i, records + i, count - i);
        }
        pushed = n > 0 ? diff_destroyed_push(diff, first + i, n, heads[i].shape1) : 1;
        if (pushed == 0) {
            return false;
        }
        n -= n > 0 ? pushed : 0;
    }
    return true;
}

// Entities beyond the last index record: their ids were undone by a travel.
static bool diff_destroyed_undone(orri_diff* diff)
{
    const struct orri_baseline* baseline = diff->baseline;
    uint64_t end = (uint64_t)baseline->head_count << ORRI_PAGE_BITS;
    for (uint64_t i = diff->world->hot.count; i < end; i++) {
        const orri_head* head = orri_head_at(baseline, (uint32_t)i);
        if (head->generation != 0 && diff_destroyed_push(diff, (uint32_t)i, 1, head->shape1) == 0) {
            return false;
        }
    }
    return true;
}

bool orri_diff_destroyed(orri_diff* diff)
{
    struct orri_baseline* baseline = diff->baseline;
    const orri_index* index = &diff->world->index;
    uint32_t pages =
        (uint32_t)(((uint64_t)diff->world->hot.count + ORRI_PAGE_MASK) >> ORRI_PAGE_BITS);
    for (uint32_t page = 0; page < pages; page++) {
        if (index->metas[page].version > baseline->index_mark &&
            *orri_heads_known(baseline, page << ORRI_PAGE_BITS) > 0 &&
            !diff_destroyed_page(diff, page)) {
            return false;
        }
    }
    if ((pages < baseline->head_count ||
         (pages > 0 && index->metas[pages - 1].version > baseline->index_mark)) &&
        !diff_destroyed_undone(diff)) {
        return false;
    }
    if (baseline->run_list.run_count > 0 && !diff_destroyed_flush(diff)) {
        return false;
    }
    baseline->index_mark = diff->world->epoch;
    return true;
}
