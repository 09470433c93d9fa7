// SPDX-License-Identifier: MIT
// Ids given ahead: who creates later can name its entities now. Positions count along the free list, then along indexes never
// used. At the time of creation the positions that were used are put in line, in the order of creation; then ids are given as
// always.
#include "store/change/change_set.h"

orr_entity orri_index_nth(const orr_world* world, orri_index_cursor* cursor, uint32_t position)
{
    const orri_index* index = &world->index;
    if (position >= index->free_count) {
        uint64_t fresh = (uint64_t)world->hot.count + (position - index->free_count);
        return fresh < world->limits.entities ? orri_id_make((uint32_t)fresh, world->salt | 1)
                                              : (orr_entity){0};
    }
    if (cursor->next1 == 0 || cursor->position > position) {
        *cursor = (orri_index_cursor){0, index->free_first + 1};
    }
    for (; cursor->position < position; cursor->position++) {
        cursor->next1 = orri_record_at(world, cursor->next1 - 1)->place + 1;
    }
    uint32_t number = cursor->next1 - 1;
    return orri_id_make(number, orri_record_at(world, number)->generation & ~ORRI_DEAD);
}

// Ids from the free list that lie one after another, up or down, in one page: there the next record need not wait for this one.
static uint32_t id_reserve_run(const orr_world* world, uint32_t* next, orr_entity* out,
                               uint32_t count)
{
    uint32_t first = *next & ~ORRI_PAGE_MASK, offset = *next & ORRI_PAGE_MASK, i = 0;
    const orri_record* records = orri_record_at(world, first);
    uint32_t step = records[offset].place - *next;
    do {
        out[i] = orri_id_make(first + offset, records[offset].generation & ~ORRI_DEAD);
        *next = records[offset].place;
        offset += step;
        i++;
    } while (i < count && offset < ORRI_PAGE_SIZE && *next == first + offset);
    return i;
}

bool orri_index_next(const orr_world* world, orri_index_cursor* cursor, uint32_t position,
                     orr_entity* out, uint32_t count)
{
    const orri_index* index = &world->index;
    uint32_t listed = position < index->free_count ? index->free_count - position : 0, i = 0;
    listed = listed < count ? listed : count;
    uint64_t fresh = (uint64_t)world->hot.count + position + listed - index->free_count;
    if (listed < count && fresh + (count - listed) > world->limits.entities) {
        return false;
    }
    if (listed > 0) {
        (void)orri_index_nth(world, cursor, position);
        for (uint32_t next = cursor->next1 - 1; i < listed;) {
            i += id_reserve_run(world, &next, out + i, listed - i);
        }
        *cursor = (orri_index_cursor){position + listed - 1, orri_id_index(out[listed - 1]) + 1};
    }
    uint64_t id = orri_id_make((uint32_t)fresh, world->salt | 1).id - i;
    for (; i < count; i++) {
        out[i].id = id + i;
    }
    return true;
}

bool orri_reserved_ids_has(const orr_world* world, orr_entity entity)
{
    const orri_reserved_ids* ahead = world->change.reserved_ids;
    uint32_t index = orri_id_index(entity);
    if (index >= ahead->end || !orri_bit_get(ahead->bits, index)) {
        return false;
    }
    uint32_t generation = index < world->hot.count
                              ? orri_record_at(world, index)->generation & ~ORRI_DEAD
                              : world->salt | 1;
    return orri_id_generation(entity) == generation;
}

// ---- putting ids in line ---------------------------------------------------------------------------------

// A list of ids on its way to the head of the line.
typedef struct id_reserve_line {
    orr_world* world;
    const orr_entity* ids;
    uint32_t count;
    uint32_t free_count; // Of them: on the free list.
    uint64_t fresh_end;  // Behind the largest that was never given.
} id_reserve_line;

// True when the ids are those that will be given anyhow: the common case.
static bool id_reserve_in_line(const orr_world* world, const orr_entity* ids, uint32_t count)
{
    uint32_t next = world->index.free_first, i = 0;
    for (; i < count && next != ORRI_INDEX_NONE; i++) {
        const orri_record* record = orri_record_at(world, next);
        if (ids[i].id != orri_id_make(next, record->generation & ~ORRI_DEAD).id) {
            return false;
        }
        next = record->place;
    }
    uint64_t fresh = orri_id_make(world->hot.count, world->salt | 1).id, differs = 0;
    for (uint32_t k = 0; i + k < count; k++) {
        differs |= ids[i + k].id ^ (fresh + k);
    }
    return differs == 0;
}

ORRI_COLD static bool id_reserve_refuse(const id_reserve_line* line, orr_entity entity)
{
    orri_id_text name = orri_id_format(entity);
    (void)orri_refuse(&line->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_ENTITY_REFUSED,
                      "entity %s cannot be created: its id was not given ahead, or stands twice",
                      name.text);
    return false;
}

static bool id_reserve_check(id_reserve_line* line)
{
    const orr_world* world = line->world;
    line->fresh_end = world->hot.count;
    for (uint32_t i = 0; i < line->count; i++) {
        uint32_t index = orri_id_index(line->ids[i]), generation = orri_id_generation(line->ids[i]);
        bool free = index < world->hot.count;
        uint32_t expected = free ? orri_record_at(world, index)->generation
                                 : ORRI_DEAD | world->salt | 1;
        if ((generation | ORRI_DEAD) != expected || generation == expected) {
            return id_reserve_refuse(line, line->ids[i]);
        }
        line->free_count += free;
        line->fresh_end = index >= line->fresh_end ? (uint64_t)index + 1 : line->fresh_end;
    }
    return true;
}

static void id_reserve_unmark(const id_reserve_line* line, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        orri_record_at(line->world, orri_id_index(line->ids[i]))->generation |= ORRI_DEAD;
    }
}

// Marks the ids by clearing their dead bits: nobody looks until they are set again. Records never given are made. False
// when one stands twice, or is on no list.
static bool id_reserve_mark(const id_reserve_line* line)
{
    orr_world* world = line->world;
    for (uint32_t i = world->hot.count; i < line->fresh_end; i++) {
        *orri_index_write(world, i) = (orri_record){ORRI_DEAD | world->salt | 1, ORRI_INDEX_NONE};
    }
    for (uint32_t i = 0; i < line->count; i++) {
        orri_record* record = orri_index_write(world, orri_id_index(line->ids[i]));
        if ((record->generation & ORRI_DEAD) == 0) {
            id_reserve_unmark(line, i);
            return id_reserve_refuse(line, line->ids[i]);
        }
        record->generation &= ~ORRI_DEAD;
    }
    uint32_t found = 0;
    for (uint32_t i = world->index.free_first; i != ORRI_INDEX_NONE && found < line->free_count;
         i = orri_record_at(world, i)->place) {
        found += (orri_record_at(world, i)->generation & ORRI_DEAD) == 0;
    }
    if (found < line->free_count) {
        id_reserve_unmark(line, line->count);
        return id_reserve_refuse(line,
                                 line->ids[0]); // Generations used up: such an index is on no list.
    }
    return true;
}

// Takes the marked ones out of the free list.
static void id_reserve_unlink(const id_reserve_line* line)
{
    orr_world* world = line->world;
    uint32_t* link = &world->index.free_first;
    for (uint32_t found = 0; found < line->free_count;) {
        orri_record* record = orri_index_write(world, *link);
        if ((record->generation & ORRI_DEAD) == 0) {
            *link = record->place;
            found++;
        } else {
            link = &record->place;
        }
    }
}

// How many of the last ids may stay what they are, never given: those that are next after all others. Only where nothing is
// left on the list, which is given first.
static uint32_t id_reserve_tail(const id_reserve_line* line)
{
    const orr_world* world = line->world;
    uint32_t fresh = line->count - line->free_count, tail = 0;
    if (world->index.free_first != ORRI_INDEX_NONE || fresh != line->fresh_end - world->hot.count) {
        return 0;
    }
    while (tail < fresh &&
           orri_id_index(line->ids[line->count - 1 - tail]) == line->fresh_end - 1 - tail) {
        tail++;
    }
    return tail;
}

// The list anew: the given ones, then skipped ones that were never given, then the rest.
static void id_reserve_link(const id_reserve_line* line)
{
    orr_world* world = line->world;
    uint32_t tail = id_reserve_tail(line), head = world->index.free_first;
    uint32_t end = (uint32_t)line->fresh_end - tail;
    for (uint32_t i = end; i-- > world->hot.count;) {
        orri_record* record = orri_record_at(world, i);
        if ((record->generation & ORRI_DEAD) != 0) {
            record->place = head;
            head = i;
        }
    }
    for (uint32_t i = line->count - tail; i-- > 0;) {
        uint32_t index = orri_id_index(line->ids[i]);
        orri_record* record = orri_record_at(world, index);
        *record = (orri_record){record->generation | ORRI_DEAD, head};
        head = index;
    }
    world->index.free_first = head;
    world->index.free_count += end - world->hot.count;
    world->hot.count = end;
}

bool orri_index_promote(orr_world* world, const orr_entity* ids, uint32_t count)
{
    const char* call = "creating entities with ids given ahead";
    if (id_reserve_in_line(world, ids, count)) {
        return orri_index_reserve(world, call, count) == ORR_OK;
    }
    id_reserve_line line = {.world = world, .ids = ids, .count = count};
    if (!id_reserve_check(&line)) {
        return false;
    }
    // All of the list, since records before the last one that is taken out may be written.
    uint64_t needed = world->index.free_count + (line.fresh_end - world->hot.count);
    if (orri_index_reserve(world, call, needed < UINT32_MAX ? (uint32_t)needed : UINT32_MAX) !=
        ORR_OK) {
        return false;
    }
    for (uint32_t i = 0; world->index.share_count > 0 && i < count; i++) {
        if (!orri_index_prepare(world, orri_id_index(ids[i]))) {
            orri_index_trim(world);
            (void)orri_refuse_memory(&world->env, "copying a held page of the entity index");
            return false;
        }
    }
    if (!id_reserve_mark(&line)) {
        orri_index_trim(world);
        return false;
    }
    id_reserve_unlink(&line);
    id_reserve_link(&line);
    return true;
}
