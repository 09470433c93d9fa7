// SPDX-License-Identifier: MIT
// Inboxes: the read position of each system in each queue it receives, and showing it the unread
// events.
#include "message/event/event.h"

// ---- creating and destroying --------------------------------------------------------------------

static orri_cursor* event_cursor_find(orri_event_cursors* inbox, orr_type type)
{
    for (uint32_t i = 0; i < inbox->count; i++) {
        if (inbox->cursors[i].queue->type.id == type.id) {
            return &inbox->cursors[i];
        }
    }
    return NULL;
}

static orri_event_cursors* event_cursor_allocate(orr_world* world, uint32_t capacity)
{
    size_t size = sizeof(orri_event_cursors) + (size_t)capacity * sizeof(orri_cursor);
    orri_event_cursors* inbox =
        orri_alloc_zero(&world->env, ORR_MEMORY_MESSAGE, size, _Alignof(orri_event_cursors));
    if (inbox == NULL) {
        (void)orri_refuse_memory(&world->env, "creating the event inbox of a system");
        return NULL;
    }
    inbox->capacity = capacity;
    return inbox;
}

// Adds a cursor to the inbox. Its queue does not list it yet, but has room. A type that is named
// twice gets one cursor.
static bool event_cursor_prepare(orr_world* world, orri_event_cursors* inbox, orr_type type)
{
    if (orri_event_check(world, "receives", type) != ORR_OK) {
        return false;
    }
    if (event_cursor_find(inbox, type) != NULL) {
        return true;
    }
    orri_event_queue* queue = orri_event_queue_of(world, type);
    if (queue == NULL) {
        return false;
    }
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &queue->cursors, &queue->cursor_capacity,
                      queue->cursor_count + 1)) {
        (void)orri_refuse_memory(&world->env, "creating the event inbox of a system");
        return false;
    }
    inbox->cursors[inbox->count++] = (orri_cursor){.queue = queue, .inbox = inbox};
    return true;
}

// Lists the inbox in the world and its cursors in their queues.
static void event_cursor_link(struct orri_events* events, orri_event_cursors* inbox)
{
    for (uint32_t i = 0; i < inbox->count; i++) {
        orri_event_queue* queue = inbox->cursors[i].queue;
        queue->cursors[queue->cursor_count++] = &inbox->cursors[i];
    }
    inbox->serial = ++events->serials;
    inbox->prev = events->last;
    *(events->last != NULL ? &events->last->next : &events->first) = inbox;
    events->last = inbox;
}

orri_event_cursors* orri_event_cursors_create(orr_world* world, const orr_type* types,
                                              uint32_t count)
{
    struct orri_events* events = orri_events_of(world);
    orri_event_cursors* inbox = events != NULL ? event_cursor_allocate(world, count) : NULL;
    if (inbox == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!event_cursor_prepare(world, inbox, types[i])) {
            orri_event_cursors_free(world, inbox);
            return NULL;
        }
    }
    event_cursor_link(events, inbox);
    return inbox;
}

void orri_event_cursors_name(orri_event_cursors* inbox, const char* name)
{
    inbox->name = name;
}

void orri_event_cursors_spectator(orri_event_cursors* inbox)
{
    inbox->spectator = true;
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

void orri_event_cursors_destroy(orr_world* world, orri_event_cursors* inbox)
{
    if (inbox == NULL) {
        return;
    }
    orri_event_cursors_enable(world, inbox, false);
    for (uint32_t i = 0; i < inbox->count; i++) {
        event_cursor_leave(&inbox->cursors[i]);
    }
    struct orri_events* events = world->messages->events;
    *(inbox->prev != NULL ? &inbox->prev->next : &events->first) = inbox->next;
    *(inbox->next != NULL ? &inbox->next->prev : &events->last) = inbox->prev;
    orri_event_cursors_free(world, inbox);
}

void orri_event_cursors_enable(orr_world* world, orri_event_cursors* inbox, bool on)
{
    if (inbox == NULL || inbox->on == on) {
        return;
    }
    inbox->on = on;
    for (uint32_t i = 0; i < inbox->count; i++) {
        orri_cursor* cursor = &inbox->cursors[i];
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

// Events that the run was shown count as read.
static void event_cursor_advance(orri_cursor* cursor)
{
    orri_event_queue* queue = cursor->queue;
    // In real time events may have been dropped, or the inbox disabled, while the system ran.
    if (!cursor->inbox->on || cursor->shown < cursor->at) {
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

void orri_event_cursors_done(orr_world* world, orri_event_cursors* inbox)
{
    (void)world;
    for (uint32_t i = 0; inbox != NULL && i < inbox->count; i++) {
        if (inbox->cursors[i].asked) {
            event_cursor_advance(&inbox->cursors[i]);
        }
        inbox->cursors[i].copy_count = 0;
    }
}

// Number of unread events.
static size_t event_cursor_waiting(const orri_cursor* cursor)
{
    return cursor->inbox->on ? (size_t)(orri_event_end(cursor->queue) - cursor->at) : 0;
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

bool orri_event_cursors_take(orr_world* world, orri_event_cursors* inbox)
{
    for (uint32_t i = 0; inbox != NULL && i < inbox->count; i++) {
        ORR_ASSERT(inbox->cursors[i].copy_count == 0);
        if (!event_cursor_copy_room(world, &inbox->cursors[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; inbox != NULL && i < inbox->count; i++) {
        orri_cursor* cursor = &inbox->cursors[i];
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
    orri_cursor* cursor = rights->inbox != NULL ? event_cursor_find(rights->inbox, type) : NULL;
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
    if (!cursor->inbox->on) {
        // The inbox is disabled while its system starts or stops: nothing is kept for it.
        return NULL;
    }
    const orri_event_queue* queue = cursor->queue;
    if (!cursor->asked) {
        cursor->inbox->name = rights->name;
        cursor->asked = true;
        cursor->shown = orri_event_end(queue);
    }
    *count = (uint32_t)(cursor->shown - cursor->at);
    if (*count == 0) {
        return NULL;
    }
    return queue->info->info.size > 0 ? (const void*)orri_event_at(queue, cursor->at) : nothing;
}
