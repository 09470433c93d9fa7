// SPDX-License-Identifier: MIT
// Event queues and read positions. For event/ and past/ only.
//
//   append ──> data: │ read by all │ first … first + count │ free │
//                                     base       end          numbers of events, ever increasing
//
// Vocabulary:
//   queue   the events of one type that some system has yet to read, contiguous in memory
//   cursor  the read position of one system in one queue
//   set     all cursors of one system
#ifndef ORRI_MESSAGE_EVENT_EVENT_H
#define ORRI_MESSAGE_EVENT_EVENT_H

#include "message/message.h"

typedef struct orri_event_queue orri_event_queue;

typedef struct orri_cursor {
    orri_event_queue* queue;
    orri_event_cursors* set;
    uint64_t at;    // Number of the first unread event. Undefined while the cursor set is disabled.
    uint64_t shown; // End of the events that the current run received. Valid while `asked`.
    bool asked;     // The current run has called orr_events().
    // Real time: copy of the events that the current run receives. The memory is kept.
    uint8_t* copy;
    size_t copy_size;    // Bytes of memory.
    uint32_t copy_count; // Events.
} orri_cursor;

struct orri_event_cursors {
    orri_event_cursors *prev, *next; // All cursor sets of the world, in the order of creation.
    const char* name;                // Name of the system; NULL: not known yet.
    uint64_t serial;                 // Unique number of the cursor set in this world.
    bool on;                         // Enabled.
    bool spectator;   // Belongs to a spectator: not part of the state; loses unread events rather
                      // than let a queue be full for other systems.
    bool drop_logged; // A loss was logged already: one line per spectator.
    uint32_t count, capacity;
    orri_cursor cursors[]; // [capacity]
};

// Invariants: `base` is the smallest `at` of the enabled cursors, and `at_base` is the number of
// enabled cursors there. Without an enabled cursor the queue is empty. An empty queue begins at the
// start of its memory.
struct orri_event_queue {
    orr_type type;
    const orri_type* info;
    uint8_t* data;
    uint32_t capacity;     // Of `data`, in events.
    uint32_t first, count; // Waiting events: data[first …].
    uint32_t limit;        // Upper limit of `count`.
    uint64_t base;         // Number of the first waiting event.
    orri_cursor** cursors; // In the order of cursor sets.
    uint32_t cursor_count, cursor_capacity;
    uint32_t on_count, at_base; // Enabled cursors; enabled cursors at `base`.
    bool
        skips; // The events reserved last are not kept: too many, and only spectators receive them.
};

// world->messages->events.
struct orri_events {
    orri_event_queue** queues; // By type index; NULL: none.
    uint32_t capacity;
    orri_event_cursors *first, *last;
    uint64_t serials; // Serial numbers given to cursor sets so far.
};

// Number of the event that will be appended next.
static inline uint64_t orri_event_end(const orri_event_queue* queue)
{
    return queue->base + queue->count;
}

// Address of a waiting event.
static inline uint8_t* orri_event_at(const orri_event_queue* queue, uint64_t number)
{
    size_t index = queue->first + (size_t)(number - queue->base);
    return queue->data + index * queue->info->info.size;
}

// The event part of the world, allocated at first use. NULL when refused (reported).
struct orri_events* orri_events_of(orr_world* world);
// The queue of a type that may be an event, created if missing. NULL when refused (reported).
orri_event_queue* orri_event_queue_of(orr_world* world, orr_type type);
// Drops the events that every enabled cursor has read. To be called when the last cursor leaves
// `base`.
void orri_event_trim(orri_event_queue* queue);
// Room for `count` events in total. False when refused (reported).
bool orri_event_room(orr_world* world, orri_event_queue* queue, uint32_t count);
// Replaces the waiting events; there is room. The caller then sets the cursors and calls
// orri_event_trim().
void orri_event_refill(orri_event_queue* queue, const void* values, uint32_t count);
// Frees a cursor set whose cursors are in no queue any more.
void orri_event_cursors_free(orr_world* world, orri_event_cursors* set);

#endif
