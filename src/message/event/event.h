// SPDX-License-Identifier: MIT
// Queues of events, and who has read how far. For event.c and event_cursor.c alone.
//
//   append ──> data: │ read by all │ first … first + count │ free │
//                                     base       end          numbers of events, ever growing
//
// Vocabulary: a *queue* keeps the events of one type that somebody has yet to read, one after another; a *cursor* is where
// one system has read to in one queue; an *inbox* is all cursors of a system.
#ifndef ORRI_MESSAGE_EVENT_EVENT_H
#define ORRI_MESSAGE_EVENT_EVENT_H

#include "message/message.h"

typedef struct orri_event_queue orri_event_queue;

typedef struct orri_cursor {
    orri_event_queue* queue;
    orri_event_cursors* inbox;
    uint64_t at; // Number of the first event it has not read. Means nothing while the inbox is off.
    uint64_t shown; // It was shown what comes before; counts while `asked`.
    bool asked;     // Since the system's function was called.
    // In real time: what it is shown, copied from the queue before the system ran. Kept.
    uint8_t* copy;
    size_t copy_size;
    uint32_t copy_count; // Events.
} orri_cursor;

struct orri_event_cursors {
    orri_event_cursors *prev, *next; // All inboxes of the world, in order of creation.
    const char* name;                // Of the system; NULL: not known yet.
    uint64_t birth;                  // Its number among all that ever were.
    bool on;
    // Of a spectator: what waits for it is no state, and rather than be in anybody's way it is dropped.
    bool aside;
    bool drop_said; // One line for each.
    uint32_t count, capacity;
    orri_cursor cursors[]; // [capacity]
};

// Invariants: `base` is the least `at` of the cursors that are on, of which `at_base` are there; without one that is on the
// queue is empty. An empty queue begins at the start of its memory.
struct orri_event_queue {
    orr_type type;
    const orri_type* info;
    uint8_t* data;
    uint32_t capacity;     // Of `data`, in events.
    uint32_t first, count; // Events that wait: data[first …].
    uint32_t limit;        // Of `count`.
    uint64_t base;         // Number of the first one that waits.
    orri_cursor** cursors; // In order of inboxes.
    uint32_t cursor_count, cursor_capacity;
    uint32_t on_count, at_base;
    bool skips; // What was reserved last is not kept: too much, and only for those aside.
};

// world->messages->events.
struct orri_events {
    orri_event_queue** queues; // By type index; NULL: none.
    uint32_t capacity;
    orri_event_cursors *first, *last;
    uint64_t births; // Inboxes that ever were.
};

static inline uint64_t orri_event_end(const orri_event_queue* queue)
{
    return queue->base + queue->count;
}

static inline uint8_t* orri_event_at(const orri_event_queue* queue, uint64_t number)
{
    size_t index = queue->first + (size_t)(number - queue->base);
    return queue->data + index * queue->info->info.size;
}

// What the world keeps for events, made at first use; NULL when refused (reported).
struct orri_events* orri_events_of(orr_world* world);
// The queue of a type that may be an event, made if missing; NULL when refused (reported).
orri_event_queue* orri_event_queue_of(orr_world* world, orr_type type);
// Drops what all have read. To be called when the last cursor leaves `base`.
void orri_event_trim(orri_event_queue* queue);
// Room for so many events, all in all. False when refused (reported).
bool orri_event_room(orr_world* world, orri_event_queue* queue, uint32_t count);
// These are all that wait; there is room. Cursors are to be set, and orri_event_trim() to be called.
void orri_event_refill(orri_event_queue* queue, const void* values, uint32_t count);
// Gives back an inbox; its cursors are in no queue any more.
void orri_event_cursors_free(orr_world* world, orri_event_cursors* inbox);

#endif
