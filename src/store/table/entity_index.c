// SPDX-License-Identifier: MIT
// The entity index: from id to place. Records are 8 bytes, in pages that can be shared
// copy-on-write. Dead records form a last-in-first-out list through `place`; the list is state, so
// that replays give out the same ids.
//
// Giving out and ending ids never fails: reserve and prepare do before what may fail (a new page, a
// copy of a shared one).
#include "store/cow/row_log.h"
#include "store/world/commit_scope.h"
#include <stdio.h>

#define INDEX_PAGE_BYTES (sizeof(orri_record) * ORRI_PAGE_SIZE)
#define INDEX_RUN        16 // Ids of the free list that are given out together.

orr_result orri_index_init(orr_world* world)
{
    world->index = (orri_index){.free_first = ORRI_INDEX_NONE};
    return ORR_OK;
}

// Bytes of the list of pages, which starts with the pages of transient entities.
static size_t index_list_bytes(const orr_world* world)
{
    return ((size_t)world->transient.page_capacity + world->index.page_capacity) *
           sizeof(orri_record*);
}

bool orri_index_pages(orr_world* world, uint32_t before, uint32_t after)
{
    orri_record** list =
        orri_retire_reserve(world)
            ? ORRI_ALLOC(&world->env, ORR_MEMORY_INDEX, orri_record*, (size_t)before + after)
            : NULL;
    if (list == NULL) {
        return false;
    }
    list += before;
    uint32_t transient = world->transient.page_count;
    if (transient + world->index.page_count > 0) {
        memcpy(list - transient, world->hot.pages - transient,
               (transient + world->index.page_count) * sizeof *list);
    }
    // Running systems may read records of their rows at this moment: through this list, or through
    // the old one.
    orri_record** old = world->hot.pages;
    __atomic_store_n(&world->hot.pages, list, __ATOMIC_RELEASE);
    if (old != NULL) {
        orri_retire(world, ORR_MEMORY_INDEX, old - world->transient.page_capacity,
                    index_list_bytes(world), _Alignof(orri_record*));
    }
    world->transient.page_capacity = before;
    world->index.page_capacity = after;
    return true;
}

void orri_index_term(orr_world* world)
{
    orri_index* index = &world->index;
    for (uint32_t i = 0; i < index->page_count; i++) {
        ORR_ASSERT(index->metas[i].share == NULL);
        orri_free(&world->env, ORR_MEMORY_INDEX, world->hot.pages[i], INDEX_PAGE_BYTES,
                  ORRI_BLOCK_ALIGN);
    }
    if (world->hot.pages != NULL) {
        orri_free(&world->env, ORR_MEMORY_INDEX, world->hot.pages - world->transient.page_capacity,
                  index_list_bytes(world), _Alignof(orri_record*));
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_INDEX, index->metas, index->meta_capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_INDEX, index->samples, index->sample_capacity);
    *index = (orri_index){.free_first = ORRI_INDEX_NONE};
}

// Adds a page. False when refused (silent).
static bool index_add_page(orr_world* world)
{
    orri_index* index = &world->index;
    uint32_t needed = index->page_count + 1;
    uint32_t room = index->page_capacity > 0 ? index->page_capacity * 2 : 8;
    if ((needed > index->page_capacity &&
         !orri_index_pages(world, world->transient.page_capacity, room)) ||
        !ORRI_RESERVE(&world->env, ORR_MEMORY_INDEX, &index->metas, &index->meta_capacity,
                      needed)) {
        return false;
    }
    // The list of metas may have moved, and attached shares point into it.
    for (uint32_t i = 0; index->share_count > 0 && i < index->page_count; i++) {
        if (index->metas[i].share != NULL) {
            index->metas[i].share->attached = &index->metas[i].share;
        }
    }
    orri_record* page =
        orri_alloc(&world->env, ORR_MEMORY_INDEX, INDEX_PAGE_BYTES, ORRI_BLOCK_ALIGN);
    if (page == NULL) {
        return false;
    }
    world->hot.pages[index->page_count] = page;
    index->metas[index->page_count] = (orri_page_meta){0};
    index->page_count++;
    return true;
}

void orri_index_trim(orr_world* world)
{
    orri_index* index = &world->index;
    while (index->page_count > 0 &&
           (uint64_t)(index->page_count - 1) * ORRI_PAGE_SIZE >= world->hot.count &&
           index->metas[index->page_count - 1].share == NULL) {
        index->page_count--;
        orri_free(&world->env, ORR_MEMORY_INDEX, world->hot.pages[index->page_count],
                  INDEX_PAGE_BYTES, ORRI_BLOCK_ALIGN);
    }
}

bool orri_index_room(orr_world* world, uint32_t count)
{
    while ((uint64_t)world->index.page_count * ORRI_PAGE_SIZE < count) {
        if (!index_add_page(world)) {
            return false;
        }
    }
    return true;
}

bool orri_index_prepare(orr_world* world, uint32_t index)
{
    uint32_t page = index >> ORRI_PAGE_BITS;
    orri_share* share = world->index.metas[page].share;
    return share == NULL || orri_row_log_add(world, share, index & ORRI_PAGE_MASK, 1) ||
           orri_share_detach_page(world, page);
}

bool orri_index_prepare_all(orr_world* world)
{
    for (uint32_t page = 0; world->index.share_count > 0 && page < world->index.page_count;
         page++) {
        if (world->index.metas[page].share != NULL && !orri_share_detach_page(world, page)) {
            return false;
        }
    }
    return true;
}

// Prepares the records of the next ids. Called only when a page is shared.
static bool index_prepare_next(orr_world* world, uint32_t from_list, uint32_t fresh)
{
    uint32_t next = world->index.free_first;
    for (uint32_t i = 0; i < from_list; i++) {
        if (!orri_index_prepare(world, next)) {
            return false;
        }
        next = orri_record_at(world, next)->place;
    }
    for (uint32_t i = 0; i < fresh; i += ORRI_PAGE_SIZE) {
        if (!orri_index_prepare(world, world->hot.count + i)) {
            return false;
        }
    }
    return fresh == 0 || orri_index_prepare(world, world->hot.count + fresh - 1);
}

// Reports that memory for records was refused.
ORRI_COLD static orr_result index_refuse(orr_world* world, const char* call, uint32_t count)
{
    char doing[ORRI_ERROR_SIZE / 2];
    snprintf(doing, sizeof doing, "%s made records for %u more entities", call, count);
    return orri_refuse_memory(&world->env, doing);
}

orr_result orri_index_reserve(orr_world* world, const char* call, uint32_t count)
{
    orri_index* index = &world->index;
    uint32_t from_list = count < index->free_count ? count : index->free_count;
    uint32_t fresh = count - from_list;
    if (fresh > world->limits.entities - world->hot.count) {
        return orri_refuse(&world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_ENTITY_REFUSED,
                           "%s: the world's limit of %u entities is reached (%u alive); raise "
                           "entities_max of its desc",
                           call, world->limits.entities, index->live_count);
    }
    while ((uint64_t)index->page_count * ORRI_PAGE_SIZE < (uint64_t)world->hot.count + fresh) {
        if (!index_add_page(world)) {
            orri_index_trim(world);
            return index_refuse(world, call, fresh);
        }
    }
    if (index->share_count > 0 && !index_prepare_next(world, from_list, fresh)) {
        orri_index_trim(world);
        return orri_refuse_memory(&world->env, "copying a shared page of the entity index");
    }
    return ORR_OK;
}

// Gives out fresh ids within one page: the loop of bulk creation.
static void index_give_fresh(orr_world* world, uint32_t place, uint32_t count, uint32_t* ids,
                             orr_entity* out)
{
    orri_index* index = &world->index;
    uint32_t first = world->hot.count;
    orri_record* records = orri_index_write(world, first);
    uint32_t generation = world->salt | 1;
    for (uint32_t i = 0; i < count; i++) {
        records[i] = (orri_record){generation, place + i};
        ids[i] = first + i;
    }
    if (out != NULL) {
        uint64_t id = orri_id_make(first, generation).id;
        for (uint32_t i = 0; i < count; i++) {
            out[i].id = id + i;
        }
    }
    world->hot.count += count;
    index->live_count += count;
}

// Gives out the next INDEX_RUN ids of the free list, if their numbers run up (`step` 1) or down (-1)
// from `number`, whose record is `record`, through one page. False: nothing was done. The two loops
// have no dependency between their rounds, so that the compiler makes vectors of them.
static inline bool index_give_run(orri_record* restrict record, int32_t step, uint32_t number,
                                  uint32_t place, uint32_t* restrict ids, orr_entity* restrict out)
{
    uint32_t wrong = 0;
    for (int32_t i = 0; i < INDEX_RUN; i++) {
        wrong |= record[i * step].place ^ (number + (uint32_t)((i + 1) * step));
    }
    for (int32_t i = 0; wrong == 0 && i < INDEX_RUN; i++) {
        uint32_t generation = record[i * step].generation & ~ORRI_DEAD;
        record[i * step] = (orri_record){generation, place + (uint32_t)i};
        ids[i] = number + (uint32_t)(i * step);
        out[i] = orri_id_make(number + (uint32_t)(i * step), generation);
    }
    return wrong == 0;
}

// Gives out runs as long as the list has them; `step` is 1 or -1. Returns the number of ids.
static uint32_t index_give_runs(orri_record* records, uint32_t step, uint32_t number,
                                uint32_t place, uint32_t count, uint32_t* ids, orr_entity* out)
{
    orr_entity none[INDEX_RUN];
    uint32_t done = 0, offset = number & ORRI_PAGE_MASK;
    uint32_t room = step == 1 ? ORRI_PAGE_SIZE - offset
                              : offset + 1; // Records up to the page's end.
    count = count < room ? count : room;
    bool given = true;
    while (given && count - done >= INDEX_RUN) {
        orr_entity* to = out != NULL ? out + done : none;
        orri_record* record = records + (int32_t)(offset + done * step);
        given = step == 1 ? index_give_run(record, 1, number + done, place + done, ids + done, to)
                          : index_give_run(record, -1, number - done, place + done, ids + done, to);
        done += given ? INDEX_RUN : 0;
    }
    return done;
}

// Gives out ids from the free list, as long as there are some. Usually the list runs up or down
// through a page, since entities were created and destroyed in rows: then the position of the next
// record is known before this one is read.
static uint32_t index_give_listed(orr_world* world, uint32_t place, uint32_t count, uint32_t* ids,
                                  orr_entity* out)
{
    orri_index* index = &world->index;
    uint32_t next = index->free_first, i = 0;
    while (i < count && next != ORRI_INDEX_NONE) {
        uint32_t first = next & ~ORRI_PAGE_MASK, offset = next & ORRI_PAGE_MASK;
        orri_record* records = orri_index_write(world, next) - offset;
        uint32_t step = records[offset].place - next;
        if (step == 1 || step == UINT32_MAX) {
            uint32_t run = index_give_runs(records, step, next, place + i, count - i, ids + i,
                                           out != NULL ? out + i : NULL);
            i += run;
            next += run * step;
            offset += run * step;
        }
        while (i < count && offset < ORRI_PAGE_SIZE && next == first + offset) {
            uint32_t generation = records[offset].generation & ~ORRI_DEAD;
            next = records[offset].place;
            records[offset] = (orri_record){generation, place + i};
            ids[i] = first + offset;
            if (out != NULL) {
                out[i] = orri_id_make(first + offset, generation);
            }
            offset += step;
            i++;
        }
    }
    index->free_first = next;
    index->free_count -= i;
    index->live_count += i;
    return i;
}

void orri_index_give(orr_world* world, orri_chunk* chunk, uint32_t slot, uint32_t count,
                     orr_entity* out)
{
    uint32_t* ids = orri_chunk_ids(chunk);
    uint32_t place = orri_place_make(chunk, slot);
    uint32_t i = index_give_listed(world, place, count, ids + slot, out);
    while (i < count) {
        uint32_t room = ORRI_PAGE_SIZE - (world->hot.count & ORRI_PAGE_MASK);
        uint32_t run = count - i < room ? count - i : room;
        index_give_fresh(world, place + i, run, ids + slot + i, out != NULL ? out + i : NULL);
        i += run;
    }
}

void orri_index_undo(orr_world* world, const orri_chunk* chunk, uint32_t slot, uint32_t count,
                     uint32_t fresh_count)
{
    orri_index* index = &world->index;
    const uint32_t* ids = orri_chunk_ids(chunk);
    uint32_t fresh = fresh_count < count ? fresh_count : count;
    if (fresh > 0) { // The page gets shorter: a hash made in between is no longer valid.
        uint32_t last = world->hot.count - 1;
        orri_page_stamp(world, last - (fresh - 1));
        orri_page_stamp(world, last);
    }
    world->hot.count -= fresh;
    for (uint32_t i = count - fresh; i > 0; i--) {
        uint32_t number = ids[slot + i - 1];
        orri_record* record = orri_index_write(world, number);
        record->generation |= ORRI_DEAD;
        record->place = index->free_first;
        index->free_first = number;
        index->free_count++;
    }
    index->live_count -= count;
}

void orri_page_stamp(orr_world* world, uint32_t index)
{
    orri_page_meta* meta = &world->index.metas[index >> ORRI_PAGE_BITS];
    ORR_ASSERT(meta->share == NULL || orri_row_log_has(meta->share, index & ORRI_PAGE_MASK));
    orri_written_note(world, world->epoch);
    meta->version = world->epoch - (meta->share != NULL); // As orri_version_now().
}

// All generations are used up. An index that is never given out again costs 8 bytes; starting over
// would make an old id alive again.
void orri_index_retire(orri_record* record)
{
    *record = (orri_record){record->generation | ORRI_DEAD, ORRI_INDEX_NONE};
}

// Ends the entities from indexes[0] on whose records are in one page. Returns how many. A record is
// written as one word.
static uint32_t index_kill_run(orr_world* world, const uint32_t* indexes, uint32_t count)
{
    uint32_t first = indexes[0] & ~ORRI_PAGE_MASK, free_first = world->index.free_first;
    uint32_t i = 0, retired = 0;
    orri_record* records = orri_index_write(world, indexes[0]) - (indexes[0] - first);
    for (; i < count; i++) {
        uint32_t offset = indexes[i] - first;
        if (offset >= ORRI_PAGE_SIZE) {
            break;
        }
        uint32_t generation = records[offset].generation | ORRI_DEAD;
        if (ORR_UNLIKELY((generation & ORRI_GENERATION_MASK) == ORRI_GENERATION_MAX)) {
            orri_index_retire(&records[offset]);
            retired++;
            continue;
        }
        records[offset] = (orri_record){generation + 1, free_first};
        free_first = indexes[i];
    }
    world->index.free_first = free_first;
    world->index.free_count += i - retired;
    world->index.live_count -= i;
    return i;
}

void orri_index_kill(orr_world* world, const uint32_t* indexes, uint32_t count)
{
    if (ORR_UNLIKELY(world->pinned.live != 0)) {
        orri_pinned_drop(world, indexes, count);
    }
    for (uint32_t i = 0; i < count;) {
        i += index_kill_run(world, indexes + i, count - i);
    }
}

#undef INDEX_PAGE_BYTES
#undef INDEX_RUN
