// SPDX-License-Identifier: MIT
// Cursor sets: the read position of each system in each queue it receives; showing it the unread
// events.
#include "message/event/event.h"

// ---- creating and destroying --------------------------------------------------------------------

static orri_cursor* event_cursor_find(orri_event_cursors* set, orr_type type)
{
    for (uint32_t i = 0; i < set->count; i++) {
        if (set->cursors[i].queue->type.id == type.id) {
            return &set->cursors[i];
        }
    }
    return NULL;
}

static orri_event_cursors* event_cursor_allocate(orr_world* world, uint32_t capacity)
{
    size_t size = sizeof(orri_event_cursors) + (size_t)capacity * sizeof(orri_cursor);
    orri_event_cursors* set =
        orri_alloc_zero(&world->env, ORR_MEMORY_MESSAGE, size, _Alignof(orri_event_cursors));
    if (set == NULL) {
        (void)orri_refuse_memory(&world->env, "creating the event cursors of a system");
        return NULL;
    }
    set->capacity = capacity;
    return set;
}

// Adds a cursor to the set. Its queue does not list it yet, but has room. A type that is named
// twice gets one cursor.
static bool event_cursor_prepare(orr_world* world, orri_event_cursors* set, orr_type type)
{
    if (orri_event_check(world, "receives", type) != ORR_OK) {
        return false;
    }
    if (event_cursor_find(set, type) != NULL) {
        return true;
    }
    orri_event_queue* queue = orri_event_queue_of(world, type);
    if (queue == NULL) {
        return false;
    }
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &queue->cursors, &queue->cursor_capacity,
                      queue->cursor_count + 1)) {
        (void)orri_refuse_memory(&world->env, "creating the event cursors of a system");
        return false;
    }
    set->cursors[set->count++] = (orri_cursor){.queue = queue, .set = set};
    return true;
}

// Lists the cursor set in the world and its cursors in their queues.
static void event_cursor_link(struct orri_events* events, orri_event_cursors* set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        orri_event_queue* queue = set->cursors[i].queue;
        queue->cursors[queue->cursor_count++] = &set->cursors[i];
    }
    set->serial = ++events->serials;
    set->prev = events->last;
    *(events->last != NULL ? &events->last->next : &events->first) = set;
    events->last = set;
}

orri_event_cursors* orri_event_cursors_create(orr_world* world, const orr_type* types,
                                              uint32_t count)
{
    struct orri_events* events = orri_events_of(world);
    orri_event_cursors* set = events != NULL ? event_cursor_allocate(world, count) : NULL;
    if (set == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!event_cursor_prepare(world, set, types[i])) {
            orri_event_cursors_free(world, set);
            return NULL;
        }
    }
    event_cursor_link(events, set);
    return set;
}

void orri_event_cursors_name(orri_event_cursors* set, const char* name)
{
    set->name = name;
}

void orri_event_cursors_spectator(orri_event_cursors* set)
{
    set->spectator = true;
}

// Removes a cursor from its queue; the order of the others stays.
static void event_cursor_leave(orri_cursor* cursor)
{
    orri_event_queue* queue = cursor->queue;
    uint32_t i = 0;
    while (queue->cursors[i] != cursor) {
        i++;
    }
    queue->cursor_count--;
    memmove(&queue->cursors[i], &queue->cursors[i + 1],
            (queue->cursor_count - i) * sizeof queue->cursors[0]);
}

void orri_event_cursors_destroy(orr_world* world, orri_event_cursors* set)
{
    if (set == NULL) {
        return;
    }
    orri_event_cursors_enable(world, set, false);
    for (uint32_t i = 0; i < set->count; i++) {
        event_cursor_leave(&set->cursors[i]);
    }
    struct orri_events* events = world->messages->events;
    *(set->prev != NULL ? &set->prev->next : &events->first) = set->next;
    *(set->next != NULL ? &set->next->prev : &events->last) = set->prev;
    orri_event_cursors_free(world, set);
}

void orri_event_cursors_enable(orr_world* world, orri_event_cursors* set, bool on)
{
    if (set == NULL || set->on == on) {
        return;
    }
    set->on = on;
    for (uint32_t i = 0; i < set->count; i++) {
        orri_cursor* cursor = &set->cursors[i];
        orri_event_queue* queue = cursor->queue;
        // In real time the system may be running: then `asked` belongs to its thread.
        if (!world->realtime) {
            cursor->asked = false;
        }
        if (on) {
            cursor->at = orri_event_end(queue);
            queue->on_count++;
            queue->at_base += cursor->at == queue->base;
        } else {
            queue->on_count--;
            orri_event_trim(queue);
        }
    }
}

// ---- reading ------------------------------------------------------------------------------------

// Events that the run received count as read.
static void event_cursor_advance(orri_cursor* cursor)
{
    orri_event_queue* queue = cursor->queue;
    // In real time events may have been dropped, or the cursor set disabled, while the system ran.
    if (!cursor->set->on || cursor->shown < cursor->at) {
        cursor->asked = false;
        return;
    }
    bool leaves = cursor->at == queue->base && cursor->shown != cursor->at;
    cursor->at = cursor->shown;
    cursor->asked = false;
    if (leaves && --queue->at_base == 0) {
        // Only the last cursor to leave trims: once per tick, however many systems read the queue.
        orri_event_trim(queue);
    }
}

void orri_event_cursors_done(orr_world* world, orri_event_cursors* set)
{
    (void)world;
    for (uint32_t i = 0; set != NULL && i < set->count; i++) {
        if (set->cursors[i].asked) {
            event_cursor_advance(&set->cursors[i]);
        }
        set->cursors[i].copy_count = 0;
    }
}

// Number of unread events.
static size_t event_cursor_waiting(const orri_cursor* cursor)
{
    return cursor->set->on ? (size_t)(orri_event_end(cursor->queue) - cursor->at) : 0;
}

static bool event_cursor_copy_room(orr_world* world, orri_cursor* cursor)
{
    size_t size = event_cursor_waiting(cursor) * cursor->queue->info->info.size, room = 256;
    if (size <= cursor->copy_size) {
        return true;
    }
    while (room < size) {
        room *= 2;
    }
    uint8_t* copy = orri_alloc(&world->env, ORR_MEMORY_MESSAGE, room, ORRI_BLOCK_ALIGN);
    if (copy == NULL) {
        (void)orri_refuse_memory(&world->env, "copying the events that a system receives");
        return false;
    }
    orri_free(&world->env, ORR_MEMORY_MESSAGE, cursor->copy, cursor->copy_size, ORRI_BLOCK_ALIGN);
    cursor->copy = copy;
    cursor->copy_size = room;
    return true;
}

bool orri_event_cursors_take(orr_world* world, orri_event_cursors* set)
{
    for (uint32_t i = 0; set != NULL && i < set->count; i++) {
        ORR_ASSERT(set->cursors[i].copy_count == 0);
        if (!event_cursor_copy_room(world, &set->cursors[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; set != NULL && i < set->count; i++) {
        orri_cursor* cursor = &set->cursors[i];
        size_t count = event_cursor_waiting(cursor), size = cursor->queue->info->info.size;
        cursor->copy_count = (uint32_t)count;
        cursor->asked = false;
        cursor->shown = cursor->at + count;
        if (count * size > 0) { // Events are plain bytes (orri_event_check()).
            memcpy(cursor->copy, orri_event_at(cursor->queue, cursor->at), count * size);
        }
    }
    return true;
}

ORRI_COLD static void event_cursor_refuse(const orr_world* world, orri_rights* rights,
                                          orr_type type)
{
    const char* name = orri_type_label(world, type);
    rights->counts.violations++;
    (void)orri_refuse(
        orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
        "orr_events: system '%s' reads events %s, which it did not declare; add .receives = \"%s\"",
        rights->name, name, name);
}

const void* orr_events_type(orr_run* run, orr_type type, uint32_t* count)
{
    static const uint64_t nothing[8]; // Valid address for types without a size.
    ORR_ASSERT(count != NULL);
    *count = 0; // Also when refused, so that a loop over the result is safe.
    if (orri_check_run(run, "orr_events") != ORR_OK) {
        return NULL;
    }
    if (orri_type_at(&run->world->schema, type) == NULL) {
        (void)orri_refuse_type(run->world, "orr_events", type);
        return NULL;
    }
    orri_rights* rights = orri_command_buffer_rights(run->commands);
    orri_cursor* cursor =
        rights->event_cursors != NULL ? event_cursor_find(rights->event_cursors, type) : NULL;
    if (cursor == NULL) {
        event_cursor_refuse(run->world, rights, type);
        return NULL;
    }
    if (ORR_UNLIKELY(run->world->realtime)) { // Events may arrive meanwhile: only the copy is read.
        cursor->asked = true;
        *count = cursor->copy_count;
        const void* copy = cursor->queue->info->info.size > 0 ? (const void*)cursor->copy : nothing;
        return *count > 0 ? copy : NULL;
    }
    if (!cursor->set->on) {
        // The cursor set is disabled while its system starts or stops: nothing is kept for it.
        return NULL;
    }
    const orri_event_queue* queue = cursor->queue;
    if (!cursor->asked) {
        cursor->set->name = rights->name;
        cursor->asked = true;
        cursor->shown = orri_event_end(queue);
    }
    *count = (uint32_t)(cursor->shown - cursor->at);
    if (*count == 0) {
        return NULL;
    }
    return queue->info->info.size > 0 ? (const void*)orri_event_at(queue, cursor->at) : nothing;
}
