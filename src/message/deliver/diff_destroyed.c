// SPDX-License-Identifier: MIT
// Telling, first step: who died. A head whose generation is no longer that of its record was another entity. Index pages that
// were not written since have nobody new among the dead.
#include "message/deliver/baseline.h"

static void diff_destroyed_forget_type(orri_diff* tell, orr_type type, const orri_run* run)
{
    orri_baseline_type* found =
        orri_baseline_tracked(tell->told, orri_type_index(tell->world, type));
    bool kept = found != NULL && (found->multiple || found->held.count + found->off.count > 0);
    for (uint32_t i = 0; kept && i < run->count; i++) {
        orri_baseline_drop(tell->world, found, run->index + i);
    }
}

static void diff_destroyed_forget_types(orri_diff* tell, const orri_shape* shape,
                                        const orri_run* run)
{
    for (uint32_t c = 0; c < shape->type_count; c++) {
        diff_destroyed_forget_type(tell, shape->types[c], run);
    }
    for (uint32_t p = 0; p < tell->world->pinned.count; p++) {
        diff_destroyed_forget_type(tell, (orr_type){tell->world->pinned.list[p]->type->id}, run);
    }
}

static void diff_destroyed_keep_run(orri_diff* tell, const orri_run* run, const uint64_t* before)
{
    struct orri_baseline* told = tell->told;
    orri_shape* shape = orri_shape_at(told, run->shape1);
    diff_destroyed_forget_types(tell, shape, run);
    for (uint32_t r = 0; r < told->on_count; r++) {
        if (orri_bit_get(before, r)) {
            orri_bits_fill(told->on[r]->members.words, run->index, run->count, false);
        }
    }
    for (uint32_t i = 0; told->off.count > 0 && i < run->count; i++) {
        orri_bitset_put(&told->off, run->index + i, false);
    }
    memset(orri_head_at(told, run->index), 0, run->count * sizeof(orri_head));
    *orri_heads_known(told, run->index) -= run->count;
    orri_shape_release(tell->world, told, shape, run->count);
}

static bool diff_destroyed_flush(orri_diff* tell)
{
    struct orri_baseline* told = tell->told;
    orri_runs* piece = &told->piece;
    size_t words = (size_t)piece->run_count * told->words;
    memcpy(piece->to, piece->before, words * sizeof *piece->to);
    if (!orri_runs_deal(tell, &(orri_deal){.kind = ORR_ENTITY_REMOVED, .forced = -1})) {
        return false;
    }
    for (uint32_t i = 0; i < piece->run_count; i++) {
        diff_destroyed_keep_run(tell, &piece->runs[i], piece->before + (size_t)i * told->words);
    }
    orri_runs_keep(tell);
    return true;
}

// Who was told of some entities: of all of them, or (false) of some and not of others.
static bool diff_destroyed_members(const struct orri_baseline* told, uint32_t index, uint32_t count,
                                   uint64_t* before)
{
    memset(before, 0, told->words * sizeof *before);
    for (uint32_t r = 0; r < told->on_count; r++) {
        const orri_bitset* members = &told->on[r]->members;
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

// Tells of the first of `count` dead ones with the same shape, or of all at once. @return how many; 0: refused.
static uint32_t diff_destroyed_push(orri_diff* tell, uint32_t index, uint32_t count,
                                    uint32_t shape1)
{
    struct orri_baseline* told = tell->told;
    uint64_t* before = told->set + 2 * told->words;
    uint32_t room = ORRI_BASELINE_SIZE - (index & ORRI_BASELINE_MASK);
    count = tell->by_commit ? 1 : count < room ? count : room;
    if (!diff_destroyed_members(told, index, count, before)) {
        count = 1;
        (void)diff_destroyed_members(told, index, count, before);
    }
    if ((orri_section_ends(tell, index / ORRI_SECTION_ROWS) && !diff_destroyed_flush(tell)) ||
        !orri_runs_room(tell)) {
        return 0;
    }
    orri_runs_push(told,
                   &(orri_run){.index = index,
                               .count = count,
                               .shape1 = shape1,
                               .cause = ORR_CAUSE_DESTROYED,
                               .source = orri_diff_source(tell, index)},
                   before, before);
    return count;
}

// How many from here on are dead, and were told to have the same shape.
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

// How many from here on, in steps of 16, are as they were told, or are new. After a commit that created many this is all of them:
// a loop without branches.
static uint32_t diff_destroyed_skip(const orri_head* heads, const orri_record* records,
                                    uint32_t count)
{
    uint32_t n = 0, any = 0;
    for (; n + 16 <= count && any == 0; n += 16) {
        for (uint32_t i = n; i < n + 16; i++) {
            uint32_t told = heads[i].generation;
            any |= (uint32_t)(told != records[i].generation) & (uint32_t)(told != 0);
        }
    }
    return any == 0 ? n : n - 16;
}

static bool diff_destroyed_page(orri_diff* tell, uint32_t page)
{
    const orri_record* records = tell->world->hot.pages[page];
    const orri_head* heads = tell->told->heads[page];
    uint32_t first = page << ORRI_PAGE_BITS, left = tell->world->hot.count - first;
    uint32_t count = left < ORRI_PAGE_SIZE ? left : ORRI_PAGE_SIZE;
    uint32_t n = 0; // Dead ones of one shape from here on: counted once, told in parts.
    for (uint32_t i = 0, told = 0; i < count; i += told) {
        if (n == 0) {
            i += i % 16 == 0 ? diff_destroyed_skip(heads + i, records + i, count - i) : 0;
            n = diff_destroyed_count(heads + i, records + i, count - i);
        }
        told = n > 0 ? diff_destroyed_push(tell, first + i, n, heads[i].shape1) : 1;
        if (told == 0) {
            return false;
        }
        n -= n > 0 ? told : 0;
    }
    return true;
}

// Past the last record: ids that were undone.
static bool diff_destroyed_undone(orri_diff* tell)
{
    const struct orri_baseline* told = tell->told;
    uint64_t end = (uint64_t)told->head_count << ORRI_PAGE_BITS;
    for (uint64_t i = tell->world->hot.count; i < end; i++) {
        const orri_head* head = orri_head_at(told, (uint32_t)i);
        if (head->generation != 0 && diff_destroyed_push(tell, (uint32_t)i, 1, head->shape1) == 0) {
            return false;
        }
    }
    return true;
}

bool orri_diff_dead(orri_diff* tell)
{
    struct orri_baseline* told = tell->told;
    const orri_index* index = &tell->world->index;
    uint32_t pages =
        (uint32_t)(((uint64_t)tell->world->hot.count + ORRI_PAGE_MASK) >> ORRI_PAGE_BITS);
    for (uint32_t page = 0; page < pages; page++) {
        if (index->metas[page].version > told->index_mark &&
            *orri_heads_known(told, page << ORRI_PAGE_BITS) > 0 &&
            !diff_destroyed_page(tell, page)) {
            return false;
        }
    }
    if ((pages < told->head_count ||
         (pages > 0 && index->metas[pages - 1].version > told->index_mark)) &&
        !diff_destroyed_undone(tell)) {
        return false;
    }
    if (told->piece.run_count > 0 && !diff_destroyed_flush(tell)) {
        return false;
    }
    told->index_mark = tell->world->epoch;
    return true;
}
