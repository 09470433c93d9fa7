// SPDX-License-Identifier: MIT
// The end of a system: values that it sent as ComponentChanged are applied at once, where the
// entity has no pending structure. Plain values of unique types in chunks are written directly into
// their columns; all others go through the merge. Events are appended to their queues.
#include "message/deliver/baseline.h"
#include "message/send/command_buffer.h"
#include "store/pool/pool.h"

// Written rows are noted for the diff (dirty_rows.c) if they are fewer than one in this many
// entities.
#define VALUES_FEW 32u
// Distance of prefetching, in rows.
#define VALUES_SOON 16u

// The end of one system.
typedef struct values_work {
    orr_world* world;
    struct orri_command_buffers* command_buffers;
    const orri_rights* rights;
    orri_merge merge;
    bool changed;
    orri_baseline_type* noted; // Rows of the current array are noted; NULL: they are not.
    bool missed;               // Memory for a note was refused: some written rows are not noted.
} values_work;

// The next buffer of the system that was not handled yet; NULL: none.
static orr_command_buffer* values_next(const values_work* w, orr_command_buffer* commands)
{
    commands = commands == NULL ? w->command_buffers->unseen : commands->next;
    while (commands != NULL && (commands->rights != w->rights || commands->values_done)) {
        commands = commands->next;
    }
    return commands;
}

// True for changes outside of bundles.
static bool values_is_unbundled(const orri_command_array* array)
{
    return array->kind == ORRI_COMMAND_CHANGE && !array->bundled && array->next1 == 0 &&
           array->count > 0;
}

// True when values can be written directly into columns.
static bool values_is_direct(const orri_command_array* array)
{
    return array->info->plain && array->ids == NULL && !orri_type_pinned(array->info);
}

// True when a row must wait for the commit point: its entity has pending structure, or its value
// refers to an entity that will be created. It is marked, so that later changes of the entity wait
// too.
static bool values_waits(const values_work* w, const orri_command_array* array, uint32_t row)
{
    orr_entity entity = array->entities[row];
    uint32_t index = orri_id_index(entity);
    bool waits = w->command_buffers->marks_any &&
                 orri_pending_get(w->command_buffers->seen, w->command_buffers->mark_words, index);
    if (!waits && array->info->info.has_entities && w->command_buffers->marks_any) {
        const void* old = orri_value_find(w->world, entity, array->info);
        waits = orri_value_refers(w->world, array->info, old,
                                  array->values + (size_t)row * array->stride) ==
                ORRI_REFERS_CREATED;
    }
    if (waits) {
        orri_pending_mark(w->command_buffers, index);
    }
    return waits;
}

// ---- steps that may be refused ------------------------------------------------------------------

// Blocks are shared with snapshots: copies the rows, or the blocks, that will be written.
static bool values_prepare(const values_work* w, const orri_command_array* array)
{
    uint32_t type_index = orri_type_index(w->world, array->type), last = UINT32_MAX;
    for (uint32_t row = 0; w->world->cow.live > 0 && row < array->count; row++) {
        const orri_record* record = orri_record_find(w->world, array->entities[row]);
        uint32_t chunk = record != NULL ? record->place >> ORRI_SLOT_BITS : last;
        int32_t column = chunk != last ? orri_table_column(w->world, type_index, chunk) : -1;
        if (column < 0) {
            continue;
        }
        orri_chunk* there = w->world->chunks.list[chunk];
        if (!orri_rows_prepare(w->world, there, (uint32_t)column, orri_place_slot(record->place),
                               1)) {
            return false;
        }
        last = there->columns[column].share == NULL ? chunk : UINT32_MAX;
    }
    return true;
}

// Values that need the merge become items.
static bool values_collect(values_work* w, orri_command_array* array)
{
    for (uint32_t row = 0; row < array->count; row++) {
        if (array->entities[row].id != 0 && !values_waits(w, array, row) &&
            !orri_merge_item(&w->merge, array->order_index, row)) {
            (void)orri_refuse_memory(&w->world->env, "merging the commands of a system");
            return false;
        }
    }
    return true;
}

static bool values_prepare_buffer(values_work* w, orr_command_buffer* commands)
{
    commands->note = (orri_command_buffer_note){0};
    if (!orri_merge_buffer_add(&w->merge, commands)) {
        (void)orri_refuse_memory(&w->world->env, "merging the commands of a system");
        return false;
    }
    for (uint32_t i = 0; i < commands->order_count; i++) {
        orri_command_array* array = &commands->arrays[commands->order[i]];
        if (values_is_unbundled(array) &&
            !(values_is_direct(array) ? values_prepare(w, array) : values_collect(w, array))) {
            return false;
        }
    }
    return true;
}

// Room in the queue of a type for the events of all buffers of the system. ORR_ERR_CAPACITY: the
// queue is full, and the events are to be dropped.
static orr_result values_reserve_events(values_work* w, orr_type type)
{
    uint64_t count = 0;
    for (orr_command_buffer* commands = values_next(w, NULL); commands != NULL;
         commands = values_next(w, commands)) {
        for (uint32_t i = 0; i < commands->order_count; i++) {
            const orri_command_array* array = &commands->arrays[commands->order[i]];
            bool of = array->kind == ORRI_COMMAND_EVENT && array->type.id == type.id;
            count += of ? array->count : 0;
        }
    }
    if (count == 0 || (count <= UINT32_MAX &&
                       orri_events_reserve(w->world, type, (uint32_t)count, w->rights->name))) {
        return ORR_OK;
    }
    return count > UINT32_MAX ? ORR_ERR_CAPACITY : orri_env_result(&w->world->env);
}

// Drops and counts the events of a type.
static void values_drop_events(values_work* w, orr_type type)
{
    for (orr_command_buffer* commands = values_next(w, NULL); commands != NULL;
         commands = values_next(w, commands)) {
        for (uint32_t i = 0; i < commands->order_count; i++) {
            orri_command_array* array = &commands->arrays[commands->order[i]];
            if (array->kind == ORRI_COMMAND_EVENT && array->type.id == type.id) {
                commands->rights->counts.dropped += array->count;
                orri_command_array_clear(array);
            }
        }
    }
}

// Reserves room in all event queues that the system may send to.
static orr_result values_prepare_events(values_work* w)
{
    const uint64_t* sends = w->rights->sends;
    for (uint32_t t = 0; sends != NULL && t < w->rights->type_words * 64; t++) {
        if (sends[t >> 6] == 0) {
            t |= 63;
            continue;
        }
        orr_type type = {w->world->hot.type_base + t};
        orr_result result = orri_bit_get(sends, t) ? values_reserve_events(w, type) : ORR_OK;
        if (result == ORR_ERR_CAPACITY) {
            w->command_buffers->overflowed = true;
            values_drop_events(w, type);
        } else if (result != ORR_OK) {
            return result;
        }
    }
    return ORR_OK;
}

// ---- steps that cannot be refused ---------------------------------------------------------------

// The column of a type in a chunk, stamped with the current version; NULL if the chunk has none.
// The rows were prepared, so that nothing is refused.
static uint8_t* values_column(values_work* w, uint32_t type_index, uint32_t chunk,
                              orri_dirty_rows_note** dirty)
{
    orr_world* world = w->world;
    int32_t column = orri_table_column(world, type_index, chunk);
    if (column < 0) {
        return NULL;
    }
    if (w->noted != NULL) {
        *dirty =
            orri_dirty_rows_begin(world, w->noted, world->chunks.list[chunk], (uint32_t)column);
        w->missed = w->missed || *dirty == NULL;
    }
    uint8_t* data = orri_column_mark(world, world->chunks.list[chunk], (uint32_t)column);
    if (*dirty != NULL) {
        (*dirty)->data = data;
    }
    return data;
}

// Finds the place of an entity. False if it is dead or (with `marks`) marked.
static inline bool values_place(orri_record* const* pages, uint32_t ids, const uint64_t* marks,
                                uint64_t id, uint32_t* place)
{
    uint64_t index = id & ORR_HOT_ID_MASK;
    if (ORR_UNLIKELY(index >= ids || (marks != NULL && orri_bit_get(marks, (uint32_t)index)))) {
        return false;
    }
    orri_record record = pages[index >> ORRI_PAGE_BITS][index & ORRI_PAGE_MASK];
    *place = record.place;
    return ORR_LIKELY(record.generation == id >> 32);
}

// Writes rows from `row` on until one is not clear: its entity is dead, lacks the type, is null, or
// (with `marks`) is marked. All the loop needs is in local variables, because values are written
// through byte pointers, which may alias everything.
static inline uint32_t values_run(values_work* w, const orri_command_array* array, uint32_t row,
                                  uint32_t size, const uint64_t* marks)
{
    orr_world* world = w->world;
    const orr_entity* entities = array->entities;
    const uint8_t* values = array->values;
    orri_record* const* pages = world->hot.pages;
    uint32_t count = array->count, type_index = orri_type_index(world, array->type);
    uint32_t ids = world->hot.count, last = UINT32_MAX;
    uint8_t* data = NULL;
    orri_dirty_rows_note* dirty = NULL;
    for (; row < count; row++) {
        uint32_t place;
        if (!values_place(pages, ids, marks, entities[row].id, &place)) {
            break;
        }
        uint32_t chunk = place >> ORRI_SLOT_BITS, slot = orri_place_slot(place);
        if (ORR_UNLIKELY(chunk != last)) {
            data = values_column(w, type_index, chunk, &dirty);
            last = chunk;
            if (data == NULL) {
                break;
            }
        }
        memcpy(data + (size_t)slot * size, values + (size_t)row * size, size);
    }
    return row;
}

// Number of rows from `row` on, at most 64, whose entities and places both are consecutive, in one
// word of a note: callers often send to the same entities in the order of creation.
static inline uint32_t values_sequence(const orr_entity* entities, const orri_record* records,
                                       uint32_t count)
{
    uint32_t n = 1, most = 64 - (records[0].place & 63);
    uint32_t room = ORRI_PAGE_SIZE - ((uint32_t)entities[0].id & ORRI_PAGE_MASK);
    most = most < room ? most : room;
    most = most < count ? most : count;
    while (n < most &&
           entities[n].id ==
               ((uint64_t)records[n].generation << 32 | ((uint32_t)entities[0].id + n)) &&
           records[n].place == records[0].place + n) {
        n++;
    }
    return n;
}

// The same with noting rows. Most rows are next to the row before, or in another chunk whose note
// was begun already.
static uint32_t values_run_noted(values_work* w, const orri_command_array* array, uint32_t row,
                                 const uint64_t* marks)
{
    orr_world* world = w->world;
    const orr_entity* entities = array->entities;
    const uint8_t* values = array->values;
    orri_record* const* pages = world->hot.pages;
    const orri_baseline_type* noted = w->noted;
    uint32_t count = array->count, size = array->stride, ids = world->hot.count;
    orri_dirty_rows_list dirty_notes = orri_dirty_rows_list_of(world, w->noted);
    for (uint32_t n; row < count; row += n) {
        uint32_t place;
        if (!values_place(pages, ids, marks, entities[row].id, &place)) {
            break;
        }
        n = 1;
        if (marks == NULL && row + 1 < count && entities[row + 1].id == entities[row].id + 1) {
            uint32_t index = (uint32_t)entities[row].id;
            n = values_sequence(entities + row,
                                &pages[index >> ORRI_PAGE_BITS][index & ORRI_PAGE_MASK],
                                count - row);
        } else {
            // Prefetch the index record of a later entity, and the baseline value of this one: the
            // diff compares it soon, and it is elsewhere in memory. (Not in a function of its own:
            // gcc would take that for one without effect.)
            uint64_t ahead = entities[row + VALUES_SOON < count ? row + VALUES_SOON : row].id;
            ahead &= ORR_HOT_ID_MASK;
            ahead = ahead < ids ? ahead : 0;
            __builtin_prefetch(&pages[ahead >> ORRI_PAGE_BITS][ahead & ORRI_PAGE_MASK]);
            __builtin_prefetch(orri_baseline_at(noted, (uint32_t)entities[row].id), 1);
        }
        uint32_t chunk = place >> ORRI_SLOT_BITS, slot = orri_place_slot(place);
        orri_dirty_rows_note* dirty = orri_dirty_rows_open(&dirty_notes, chunk);
        uint8_t* data = ORR_LIKELY(dirty != NULL) ? dirty->data : NULL;
        if (ORR_UNLIKELY(dirty == NULL)) {
            data = values_column(w, orri_type_index(world, array->type), chunk, &dirty);
            dirty_notes = orri_dirty_rows_list_of(world, w->noted);
            if (data == NULL) {
                break;
            }
        }
        if (ORR_LIKELY(dirty != NULL)) {
            orri_dirty_rows_note_rows(dirty, slot, n);
        }
        const uint8_t* from = values + (size_t)row * size;
        if (n == 1) {
            orri_value_move(data + (size_t)slot * size, from, size);
        } else {
            memcpy(data + (size_t)slot * size, from, (size_t)n * size);
        }
    }
    return row;
}

// values_run() with the sizes 8 and 16 as constants.
static uint32_t values_run_sized(values_work* w, const orri_command_array* array, uint32_t row,
                                 const uint64_t* marks)
{
    if (w->noted != NULL) {
        return values_run_noted(w, array, row, marks);
    }
    switch (array->stride) {
    case 8:
        return values_run(w, array, row, 8, marks);
    case 16:
        return values_run(w, array, row, 16, marks);
    default:
        return values_run(w, array, row, array->stride, marks);
    }
}

// Handles a row at which values_run() stopped, or any row of a type with references. True if it
// must wait.
static bool values_write_one(values_work* w, orr_command_buffer* commands,
                             orri_command_array* array, uint32_t row)
{
    orr_entity entity = array->entities[row];
    const orri_record* record = orri_record_find(w->world, entity);
    const void* value = array->values + (size_t)row * array->stride;
    if (entity.id == 0) {
        return false;
    }
    if (values_waits(w, array, row)) {
        return true;
    }
    const void* old = orri_value_find(w->world, entity, array->info);
    if (old == NULL) {
        orri_note_drop(commands, array, row, record == NULL ? ORR_ERR_ENTITY : ORR_ERR_ABSENT,
                       record == NULL ? orri_dead_reason(entity)
                                      : "the entity does not have this component");
    } else if (orri_value_refers(w->world, array->info, old, value) == ORRI_REFERS_DEAD) {
        orri_note_drop(commands, array, row, ORR_ERR_ENTITY, "its value refers to a dead entity");
    } else {
        orri_dirty_rows_note* dirty = NULL;
        uint32_t slot = orri_place_slot(record->place);
        uint8_t* data = values_column(w, orri_type_index(w->world, array->type),
                                      record->place >> ORRI_SLOT_BITS, &dirty);
        if (dirty != NULL) {
            orri_dirty_rows_row(dirty, slot);
        }
        orri_value_move(data + (size_t)slot * array->stride, value, array->stride);
        w->changed = true;
    }
    return false;
}

// Writes an array. Rows that must wait stay; if there are marks, the others become null.
static void values_write(values_work* w, orr_command_buffer* commands, orri_command_array* array)
{
    const uint64_t* marks = w->command_buffers->marks_any ? w->command_buffers->seen : NULL;
    bool refers = array->info->info.has_entities;
    uint32_t waiting = 0;
    for (uint32_t row = 0, end; row < array->count; row = end + 1) {
        end = refers ? row : values_run_sized(w, array, row, marks);
        w->changed |= end > row;
        bool waits = end < array->count && values_write_one(w, commands, array, end);
        waiting += waits;
        for (uint32_t done = row; marks != NULL && done < end + !waits && done < array->count;
             done++) {
            array->entities[done].id = 0;
        }
    }
    if (waiting == 0) {
        orri_command_array_clear(array);
    }
}

// Notes the written rows if readers track the type and the rows are few. The writes then have an
// epoch of their own.
static void values_write_array(values_work* w, orr_command_buffer* commands,
                               orri_command_array* array)
{
    bool few = orri_has_readers(w->world) && array->count <= w->world->hot.count / VALUES_FEW;
    w->noted = few ? orri_baseline_tracked(w->world->messages->baseline,
                                           orri_type_index(w->world, array->type))
                   : NULL;
    if (w->noted == NULL) {
        values_write(w, commands, array);
        return;
    }
    // Earlier writes of systems get their version now, before the new epoch.
    orr_world* world = w->world;
    orri_world_settle(world);
    orri_epoch_end(world);
    w->missed = world->realtime; // There other threads may write at the same time.
    uint64_t written = w->missed ? 0 : world->written;
    values_write(w, commands, array);
    if (!w->missed) { // All writes of this epoch are noted.
        world->noted = world->epoch;
        world->written = written;
    }
    orri_epoch_end(world);
}

static void values_write_buffer(values_work* w, orr_command_buffer* commands)
{
    for (uint32_t i = 0; i < commands->order_count; i++) {
        orri_command_array* array = &commands->arrays[commands->order[i]];
        if (values_is_unbundled(array) && values_is_direct(array)) {
            values_write_array(w, commands, array);
        } else if (array->kind == ORRI_COMMAND_EVENT && array->count > 0) {
            orri_events_append(w->world, array->type, array->values, array->count);
            orri_command_array_clear(array);
        }
    }
}

// Rows that went through the merge become null; arrays without remaining rows are emptied.
static void values_end_items(values_work* w)
{
    for (uint32_t i = 0; i < w->merge.item_count; i++) {
        const orri_ranked* item = &w->merge.items[i];
        w->merge.refs[item->index].array->entities[item->chunk].id = 0;
    }
    for (uint32_t r = 0; r < w->merge.ref_count && w->merge.item_count > 0; r++) {
        orri_command_array* array = w->merge.refs[r].array;
        uint32_t row = 0;
        while (values_is_unbundled(array) && row < array->count && array->entities[row].id == 0) {
            row++;
        }
        if (row == array->count) {
            orri_command_array_clear(array);
        }
    }
}

// ---- the end of a system ------------------------------------------------------------------------

// Marks the structure of the system's buffers. False when refused (reported).
static bool values_mark(const values_work* w)
{
    if (!orri_pending_begin(w->world)) {
        return false;
    }
    for (orr_command_buffer* commands = values_next(w, NULL); commands != NULL;
         commands = values_next(w, commands)) {
        if (!commands->marked) {
            orri_pending_add(w->command_buffers, commands);
        }
    }
    return true;
}

static bool values_prepare_all(values_work* w)
{
    for (orr_command_buffer* commands = values_next(w, NULL); commands != NULL;
         commands = values_next(w, commands)) {
        if (!values_prepare_buffer(w, commands)) {
            return false;
        }
    }
    if (!orri_merge_items(&w->merge)) {
        (void)orri_refuse_memory(&w->world->env, "merging the commands of a system");
        return false;
    }
    return true;
}

// Writes values and events, logs drops, and frees the buffers without remaining commands.
static void values_finish(values_work* w)
{
    w->changed = w->merge.group_count > 0;
    values_end_items(w);
    for (orr_command_buffer *commands = values_next(w, NULL), *next; commands != NULL;
         commands = next) {
        values_write_buffer(w, commands);
        orri_command_buffer_report(commands);
        next = values_next(w, commands);
    }
    for (orr_command_buffer* commands = w->command_buffers->unseen; commands != NULL;
         commands = commands->next) {
        commands->values_done |= commands->rights == w->rights;
    }
    orri_command_buffers_release(w->command_buffers, false);
}

static orr_result values_commit(values_work* w, orri_rights* rights, bool* changed)
{
    orr_result result = values_mark(w) && values_prepare_all(w) ? ORR_OK : ORR_ERR_MEMORY;
    result = result == ORR_OK ? values_prepare_events(w) : result;
    result = result == ORR_OK ? orri_merge_apply(&w->merge) : result;
    if (result == ORR_OK) {
        values_finish(w);
        *changed = w->changed;
    }
    orri_merge_end(&w->merge);
    return result == ORR_OK ? ORR_OK : orri_refuse_commit(w->world, rights, false);
}

orr_result orri_commit_values(orr_world* world, orri_rights* rights, bool* changed)
{
    *changed = false;
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    if (ORR_UNLIKELY(command_buffers != NULL && command_buffers->transient_first != NULL)) {
        orr_result result = orri_transient_sends_commit(world);
        if (result != ORR_OK) {
            return result;
        }
    }
    if (ORR_LIKELY(command_buffers == NULL || command_buffers->unseen == NULL)) {
        return ORR_OK;
    }
    if (ORR_UNLIKELY(!orri_provisional_ids_replace(world))) {
        return orri_refuse_commit(world, rights, false);
    }
    values_work w; // Most of it is the merge, which is not needed if nothing was sent.
    w.world = world;
    w.command_buffers = command_buffers;
    w.rights = rights;
    if (values_next(&w, NULL) == NULL) {
        return ORR_OK;
    }
    w.merge = orri_merge_begin(world);
    w.changed = w.missed = false;
    w.noted = NULL;
    return values_commit(&w, rights, changed);
}

#undef VALUES_FEW
#undef VALUES_SOON
