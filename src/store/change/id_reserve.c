// SPDX-License-Identifier: MIT
// Predicted ids: a system that records a creation learns the id before the entity exists. Positions
// count along the free list, then along unused indexes. When the entities are created, the
// positions that were used move to the head of the queue, in the order of creation, and ids are
// assigned as usual.
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
    if (position - cursor->position >= ORRI_SAMPLE_STEP) {
        orri_free_samples_seek(world, cursor, position);
    }
    for (; cursor->position < position; cursor->position++) {
        cursor->next1 = orri_record_at(world, cursor->next1 - 1)->place + 1;
    }
    uint32_t number = cursor->next1 - 1;
    return orri_id_make(number, orri_record_at(world, number)->generation & ~ORRI_DEAD);
}

// Reads a run of free ids whose indexes ascend or descend within one page. In such a run the
// address of the next record does not depend on the record before, so the loads overlap.
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

// ---- promoting ids ------------------------------------------------------------------------------

// Ids that move to the head of the queue.
typedef struct id_reserve_request {
    orr_world* world;
    const orr_entity* ids;
    uint32_t count;
    orri_id_run* runs; // Positions of the ids; NULL: not known.
    uint32_t run_count;
    uint32_t free_count; // Ids of the request that are on the free list.
    uint64_t fresh_end;  // 1 + the largest unused index of the request, or hot.count.
} id_reserve_request;

// True when the ids are at the head of the queue already: the common case.
static bool id_reserve_is_head(const orr_world* world, const orr_entity* ids, uint32_t count)
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

ORRI_COLD static bool id_reserve_refuse(const id_reserve_request* request, orr_entity entity)
{
    orri_id_text name = orri_id_format(entity);
    (void)orri_refuse(&request->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_ENTITY_REFUSED,
                      "entity %s cannot be created: its id was not reserved, or is listed twice",
                      name.text);
    return false;
}

// Checks that all ids have the generation that their index has in the queue.
static bool id_reserve_check(id_reserve_request* request)
{
    const orr_world* world = request->world;
    request->fresh_end = world->hot.count;
    for (uint32_t i = 0; i < request->count; i++) {
        uint32_t index = orri_id_index(request->ids[i]),
                 generation = orri_id_generation(request->ids[i]);
        bool free = index < world->hot.count;
        uint32_t expected = free ? orri_record_at(world, index)->generation
                                 : ORRI_DEAD | world->salt | 1;
        if ((generation | ORRI_DEAD) != expected || generation == expected) {
            return id_reserve_refuse(request, request->ids[i]);
        }
        request->free_count += free;
        request->fresh_end = index >= request->fresh_end ? (uint64_t)index + 1 : request->fresh_end;
    }
    return true;
}

static void id_reserve_unmark(const id_reserve_request* request, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        orri_record_at(request->world, orri_id_index(request->ids[i]))->generation |= ORRI_DEAD;
    }
}

// Marks the ids by clearing the dead bits of their records, and makes the records of unused
// indexes. Nothing reads the records until the bits are set again. Returns false (reported) when an
// id is listed twice.
static bool id_reserve_mark(const id_reserve_request* request)
{
    orr_world* world = request->world;
    for (uint32_t i = world->hot.count; i < request->fresh_end; i++) {
        *orri_index_write(world, i) = (orri_record){ORRI_DEAD | world->salt | 1, ORRI_INDEX_NONE};
    }
    for (uint32_t i = 0; i < request->count; i++) {
        orri_record* record = orri_index_write(world, orri_id_index(request->ids[i]));
        if ((record->generation & ORRI_DEAD) == 0) {
            id_reserve_unmark(request, i);
            return id_reserve_refuse(request, request->ids[i]);
        }
        record->generation &= ~ORRI_DEAD;
    }
    return true;
}

// True when all marked ids are on the free list. An id whose generations are used up is not.
static bool id_reserve_listed(const id_reserve_request* request)
{
    const orr_world* world = request->world;
    uint32_t found = 0;
    for (uint32_t i = world->index.free_first; i != ORRI_INDEX_NONE && found < request->free_count;
         i = orri_record_at(world, i)->place) {
        found += (orri_record_at(world, i)->generation & ORRI_DEAD) == 0;
    }
    return found == request->free_count;
}

// Takes the marked ids out of the free list.
static void id_reserve_unlink(const id_reserve_request* request)
{
    orr_world* world = request->world;
    world->index.sample_count = request->free_count > 0 ? 0 : world->index.sample_count;
    uint32_t* link = &world->index.free_first;
    for (uint32_t found = 0; found < request->free_count;) {
        orri_record* record = orri_index_write(world, *link);
        if ((record->generation & ORRI_DEAD) == 0) {
            *link = record->place;
            found++;
        } else {
            link = &record->place;
        }
    }
}

// How many ids at the end of the request may stay unused indexes, because these come next after the
// others anyway. That holds only if the free list is otherwise empty, since free ids come before
// unused indexes.
static uint32_t id_reserve_tail(const id_reserve_request* request)
{
    const orr_world* world = request->world;
    uint32_t fresh = request->count - request->free_count, tail = 0;
    if (world->index.free_first != ORRI_INDEX_NONE ||
        fresh != request->fresh_end - world->hot.count) {
        return 0;
    }
    while (tail < fresh && orri_id_index(request->ids[request->count - 1 - tail]) ==
                               request->fresh_end - 1 - tail) {
        tail++;
    }
    return tail;
}

// Builds the new free list: the ids of the request, then unused indexes that were skipped, then the
// rest of the old list.
static void id_reserve_link(const id_reserve_request* request)
{
    orr_world* world = request->world;
    uint32_t tail = id_reserve_tail(request), head = world->index.free_first;
    uint32_t end = (uint32_t)request->fresh_end - tail;
    for (uint32_t i = end; i-- > world->hot.count;) {
        orri_record* record = orri_record_at(world, i);
        if ((record->generation & ORRI_DEAD) != 0) {
            record->place = head;
            head = i;
        }
    }
    for (uint32_t i = request->count - tail; i-- > 0;) {
        uint32_t index = orri_id_index(request->ids[i]);
        orri_record* record = orri_record_at(world, index);
        *record = (orri_record){record->generation | ORRI_DEAD, head};
        head = index;
    }
    world->index.free_first = head;
    world->index.free_count += end - world->hot.count;
    world->hot.count = end;
}

// ---- promoting ids whose positions are known ----------------------------------------------------

// The link that leads to the first id of a run: of the record before it, or the head of the list.
static uint32_t* id_reserve_link_to(orr_world* world, const orri_id_run* run)
{
    return run->before1 != 0 ? &orri_index_write(world, run->before1 - 1)->place
                             : &world->index.free_first;
}

// Finds and prepares the records before the runs. False when memory is refused (silent).
static bool id_reserve_runs_find(const id_reserve_request* request)
{
    orr_world* world = request->world;
    orri_index_cursor cursor = {0};
    for (uint32_t r = 0; r < request->run_count; r++) {
        orri_id_run* run = &request->runs[r];
        run->before1 = 0;
        if (run->position > 0 && orri_id_run_listed(world, run) > 0) {
            (void)orri_index_nth(world, &cursor, run->position - 1);
            run->before1 = cursor.next1;
            if (world->index.share_count > 0 && !orri_index_prepare(world, run->before1 - 1)) {
                return false;
            }
        }
    }
    return true;
}

// True when the runs have all marked ids of the free list and no others.
static bool id_reserve_runs_fit(const id_reserve_request* request)
{
    const orr_world* world = request->world;
    uint32_t found = 0;
    for (uint32_t r = 0; r < request->run_count; r++) {
        const orri_id_run* run = &request->runs[r];
        uint32_t next = run->before1 != 0 ? orri_record_at(world, run->before1 - 1)->place
                                          : world->index.free_first;
        for (uint32_t i = orri_id_run_listed(world, run); i > 0; i--, found++) {
            if ((orri_record_at(world, next)->generation & ORRI_DEAD) != 0) {
                return false;
            }
            next = orri_record_at(world, next)->place;
        }
    }
    return found == request->free_count;
}

// Takes the ids of the runs out of the free list, the last run first: where two runs meet, the
// record before the second belongs to the first.
static void id_reserve_runs_unlink(const id_reserve_request* request)
{
    orr_world* world = request->world;
    for (uint32_t r = request->run_count; r-- > 0;) {
        const orri_id_run* run = &request->runs[r];
        uint32_t left = orri_id_run_listed(world, run);
        if (left > 0) {
            uint32_t* link = id_reserve_link_to(world, run);
            uint32_t next = *link;
            for (; left > 0; left--) {
                next = orri_record_at(world, next)->place;
            }
            *link = next;
        }
    }
    orri_free_samples_remove(world, request->runs, request->run_count);
}

// ---- promoting ----------------------------------------------------------------------------------

// Prepares the records of the ids, and of unused indexes that become free. False when memory is
// refused (silent).
static bool id_reserve_prepare_ids(const id_reserve_request* request)
{
    orr_world* world = request->world;
    for (uint32_t i = 0; world->index.share_count > 0 && i < request->count; i++) {
        if (!orri_index_prepare(world, orri_id_index(request->ids[i]))) {
            return false;
        }
    }
    for (uint64_t i = world->hot.count; world->index.share_count > 0 && i < request->fresh_end;
         i++) {
        if (!orri_index_prepare(world, (uint32_t)i)) {
            return false;
        }
    }
    return true;
}

// Makes room for the records of unused indexes, and prepares all records that will be written.
// False when refused (reported).
static bool id_reserve_prepare(const id_reserve_request* request)
{
    orr_world* world = request->world;
    const char* call = "creating entities with reserved ids";
    if (request->runs == NULL) {
        // The whole free list, because taking an id out of it writes the record before.
        uint64_t needed = world->index.free_count + (request->fresh_end - world->hot.count);
        if (orri_index_reserve(world, call, needed < UINT32_MAX ? (uint32_t)needed : UINT32_MAX) !=
            ORR_OK) {
            return false;
        }
    } else if (!orri_index_room(world, (uint32_t)request->fresh_end)) {
        (void)orri_refuse_memory(&world->env, call);
        return false;
    }
    if (!id_reserve_prepare_ids(request) ||
        (request->runs != NULL && !id_reserve_runs_find(request))) {
        (void)orri_refuse_memory(&world->env, "copying a shared page of the entity index");
        return false;
    }
    return true;
}

bool orri_index_promote(orr_world* world, const orr_entity* ids, uint32_t count, orri_id_run* runs,
                        uint32_t run_count)
{
    if (id_reserve_is_head(world, ids, count)) {
        return orri_index_reserve(world, "creating entities with reserved ids", count) == ORR_OK;
    }
    id_reserve_request request = {
        .world = world, .ids = ids, .count = count, .runs = runs, .run_count = run_count};
    if (!id_reserve_check(&request)) {
        return false;
    }
    if (request.fresh_end > world->limits.entities) {
        request.runs = NULL; // It is refused below.
    }
    if (!id_reserve_prepare(&request) || !id_reserve_mark(&request)) {
        orri_index_trim(world);
        return false;
    }
    if (request.runs != NULL && !id_reserve_runs_fit(&request)) {
        id_reserve_unmark(&request, count);
        return orri_index_promote(world, ids, count, NULL, 0);
    }
    if (request.runs == NULL && !id_reserve_listed(&request)) {
        id_reserve_unmark(&request, count);
        orri_index_trim(world);
        return id_reserve_refuse(&request, ids[0]);
    }
    if (request.runs != NULL) {
        id_reserve_runs_unlink(&request);
    } else {
        id_reserve_unlink(&request);
    }
    id_reserve_link(&request);
    return true;
}
