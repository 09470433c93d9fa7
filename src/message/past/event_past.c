// SPDX-License-Identifier: MIT
// Waiting events of a moment: copies of the events that a system of the simulation had not read,
// and the number of unread events of each system.
#include "message/past/past_parts.h"

typedef struct event_past_set {
    uint64_t serial;
    bool on;
    uint32_t first; // Of `left`.
} event_past_set;

typedef struct event_past_queue {
    uint32_t type_index, count;
    size_t at; // Offset in the block.
} event_past_queue;

// One allocation: this struct, cursor sets, unread counts of cursors, queues, values.
struct orri_events_past {
    size_t bytes;
    uint32_t set_count, left_count, queue_count;
    event_past_set* sets;
    uint32_t* left;
    event_past_queue* queues;
};

static struct orri_events* event_past_kept(const orr_world* world)
{
    return world->messages != NULL ? world->messages->events : NULL;
}

// Unread events of a cursor.
static uint32_t event_past_left(const orri_cursor* cursor)
{
    return cursor->set->on ? (uint32_t)(orri_event_end(cursor->queue) - cursor->at) : 0;
}

// Events that a system of the simulation has not read.
static uint32_t event_past_waiting(const orri_event_queue* queue)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < queue->cursor_count; i++) {
        const orri_cursor* cursor = queue->cursors[i];
        uint32_t left = cursor->set->spectator ? 0 : event_past_left(cursor);
        most = left > most ? left : most;
    }
    return most;
}

static size_t event_past_round(size_t size)
{
    return (size + 15) & ~(size_t)15;
}

// Measures the allocation.
static orri_events_past event_past_measure(const struct orri_events* events)
{
    orri_events_past sizes = {.bytes = event_past_round(sizeof(orri_events_past))};
    for (const orri_event_cursors* set = events->first; set != NULL; set = set->next) {
        sizes.set_count += !set->spectator;
        sizes.left_count += set->spectator ? 0 : set->count;
    }
    for (uint32_t i = 0; i < events->capacity; i++) {
        uint32_t count = events->queues[i] != NULL ? event_past_waiting(events->queues[i]) : 0;
        sizes.queue_count += count > 0;
        sizes.bytes +=
            count > 0 ? event_past_round((size_t)count * events->queues[i]->info->info.size) : 0;
    }
    sizes.bytes += event_past_round(sizes.set_count * sizeof(event_past_set)) +
                   event_past_round(sizes.left_count * sizeof(uint32_t)) +
                   event_past_round(sizes.queue_count * sizeof(event_past_queue));
    return sizes;
}

static void event_past_fill_sets(const struct orri_events* events, orri_events_past* past)
{
    uint32_t n = 0, left = 0;
    for (const orri_event_cursors* set = events->first; set != NULL; set = set->next) {
        if (set->spectator) {
            continue;
        }
        past->sets[n++] = (event_past_set){set->serial, set->on, left};
        for (uint32_t i = 0; i < set->count; i++) {
            past->left[left++] = event_past_left(&set->cursors[i]);
        }
    }
}

static void event_past_fill(const struct orri_events* events, orri_events_past* past)
{
    size_t at = event_past_round(sizeof *past);
    past->sets = (event_past_set*)(void*)((uint8_t*)past + at);
    at += event_past_round(past->set_count * sizeof *past->sets);
    past->left = (uint32_t*)(void*)((uint8_t*)past + at);
    at += event_past_round(past->left_count * sizeof *past->left);
    past->queues = (event_past_queue*)(void*)((uint8_t*)past + at);
    at += event_past_round(past->queue_count * sizeof *past->queues);
    event_past_fill_sets(events, past);
    for (uint32_t i = 0, n = 0; i < events->capacity; i++) {
        const orri_event_queue* queue = events->queues[i];
        uint32_t count = queue != NULL ? event_past_waiting(queue) : 0;
        if (count == 0) {
            continue;
        }
        size_t size = (size_t)count * queue->info->info.size;
        past->queues[n++] = (event_past_queue){i, count, at};
        if (size > 0) {
            memcpy((uint8_t*)past + at, orri_event_at(queue, orri_event_end(queue) - count), size);
        }
        at += event_past_round(size);
    }
    ORR_ASSERT(at == past->bytes);
}

bool orri_events_remember(orr_world* world, orri_events_past** out)
{
    const struct orri_events* events = event_past_kept(world);
    *out = NULL;
    if (events == NULL || events->first == NULL) {
        return true;
    }
    orri_events_past sizes = event_past_measure(events);
    orri_events_past* past = orri_alloc(&world->env, ORR_MEMORY_MESSAGE, sizes.bytes, 16);
    if (past == NULL) {
        (void)orri_refuse_memory(&world->env, "recording waiting events");
        return false;
    }
    *past = sizes;
    event_past_fill(events, past);
    *out = past;
    return true;
}

void orri_events_forget(orr_world* world, orri_events_past* past)
{
    if (past != NULL) {
        orri_free(&world->env, ORR_MEMORY_MESSAGE, past, past->bytes, 16);
    }
}

size_t orri_events_past_bytes(const orri_events_past* past)
{
    return past != NULL ? past->bytes : 0;
}

bool orri_events_restore_prepare(orr_world* world, const orri_events_past* past)
{
    const struct orri_events* events = event_past_kept(world);
    for (uint32_t i = 0; past != NULL && i < past->queue_count; i++) {
        // Queues exist until the world is destroyed.
        if (!orri_event_room(world, events->queues[past->queues[i].type_index],
                             past->queues[i].count)) {
            return false;
        }
    }
    return true;
}

// The record of a cursor set; NULL: the cursor set was created later.
static const event_past_set* event_past_find(const orri_events_past* past, uint64_t serial)
{
    for (uint32_t i = 0; past != NULL && i < past->set_count; i++) {
        if (past->sets[i].serial == serial) {
            return &past->sets[i];
        }
    }
    return NULL;
}

// Sets the cursors after the queues were refilled. A cursor set that was created later is disabled.
static void event_past_put_set(orri_event_cursors* set, const orri_events_past* past)
{
    const event_past_set* was = set->spectator ? NULL : event_past_find(past, set->serial);
    set->on = set->spectator ? set->on : was != NULL && was->on;
    for (uint32_t i = 0; i < set->count; i++) {
        orri_cursor* cursor = &set->cursors[i];
        cursor->asked = false;
        cursor->at = orri_event_end(cursor->queue) - (was != NULL ? past->left[was->first + i] : 0);
        cursor->queue->on_count += set->on;
    }
}

void orri_events_restore(orr_world* world, const orri_events_past* past)
{
    struct orri_events* events = event_past_kept(world);
    for (uint32_t i = 0, n = 0; events != NULL && i < events->capacity; i++) {
        orri_event_queue* queue = events->queues[i];
        bool waits = past != NULL && n < past->queue_count && past->queues[n].type_index == i;
        if (queue != NULL) {
            orri_event_refill(queue, waits ? (const uint8_t*)past + past->queues[n].at : NULL,
                              waits ? past->queues[n].count : 0);
            queue->on_count = 0;
        }
        n += waits;
    }
    for (orri_event_cursors* set = events != NULL ? events->first : NULL; set != NULL;
         set = set->next) {
        event_past_put_set(set, past);
    }
    for (uint32_t i = 0; events != NULL && i < events->capacity; i++) {
        if (events->queues[i] != NULL) {
            orri_event_trim(events->queues[i]);
        }
    }
}
