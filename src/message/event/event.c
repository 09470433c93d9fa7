// SPDX-License-Identifier: MIT
// Event queues: events that some system has not read yet. Events are contiguous, so that a system
// gets them as an array. Events that all have read stay behind at the front of the memory. When the
// end of the memory is reached, the waiting events are moved to the front, but only if they are not
// more than those left behind. So an event is moved at most once for every dropped event, and a
// tick costs what was sent in it. A ring buffer would move nothing, but could not show its contents
// as one array.
#include "message/event/event.h"
#include "store/world/access.h"

#define EVENT_CAPACITY_MIN 64

// ---- queues -------------------------------------------------------------------------------------

// The events of the world; NULL: none.
static struct orri_events* event_kept(const orr_world* world)
{
    return world->messages != NULL ? world->messages->events : NULL;
}

struct orri_events* orri_events_of(orr_world* world)
{
    struct orri_messages* messages = orri_messages_of(world);
    if (messages == NULL || messages->events != NULL) {
        return messages != NULL ? messages->events : NULL;
    }
    messages->events = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_MESSAGE, struct orri_events, 1);
    if (messages->events == NULL) {
        (void)orri_refuse_memory(&world->env, "allocating the event queues of a world");
    }
    return messages->events;
}

// The queue of a type; NULL: none.
static orri_event_queue* event_find(const orr_world* world, orr_type type)
{
    const struct orri_events* events = event_kept(world);
    uint32_t index = orri_type_index(world, type);
    return events != NULL && index < events->capacity ? events->queues[index] : NULL;
}

static orri_event_queue* event_create(orr_world* world, orr_type type)
{
    orri_event_queue* queue = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_MESSAGE, orri_event_queue, 1);
    if (queue != NULL) {
        queue->type = type;
        queue->info = orri_type_at(&world->schema, type);
        queue->limit = ORR_EVENTS_MAX;
    }
    return queue;
}

// Grows the table of queues; new entries are NULL.
static bool event_table_reserve(orr_world* world, struct orri_events* events, uint32_t needed)
{
    uint32_t old = events->capacity;
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &events->queues, &events->capacity,
                      needed)) {
        return false;
    }
    for (uint32_t i = old; i < events->capacity; i++) {
        events->queues[i] = NULL;
    }
    return true;
}

orri_event_queue* orri_event_queue_of(orr_world* world, orr_type type)
{
    orri_event_queue* queue = event_find(world, type);
    if (ORR_LIKELY(queue != NULL)) {
        return queue;
    }
    ORR_ASSERT(orri_type_at(&world->schema, type) != NULL);
    struct orri_events* events = orri_events_of(world);
    if (events == NULL) {
        return NULL;
    }
    uint32_t index = orri_type_index(world, type);
    if (!event_table_reserve(world, events, index + 1) ||
        (queue = event_create(world, type)) == NULL) {
        (void)orri_refuse_memory(&world->env, "creating an event queue");
        return NULL;
    }
    events->queues[index] = queue;
    return queue;
}

// ---- which types can be events ------------------------------------------------------------------

// The reason why a type cannot be an event; NULL: it can.
static const char* event_unfit_reason(const orri_type* type)
{
    if (type->info.has_owned) {
        return "has owned strings or arrays; send the entity that has them, or use an inline "
               "string";
    }
    if (type->info.has_hooks) {
        return "has hooks; events are copied as plain bytes";
    }
    if (type->info.multiplicity != ORR_UNIQUE) {
        return "is a multiple type (ORR_MULTIPLE)";
    }
    if (type->info.storage != ORR_CHUNK) {
        return "is a pinned type (ORR_PINNED)";
    }
    return type->indexed_count != 0 ? "has indexed references, which events cannot have" : NULL;
}

orr_result orri_event_check(const orr_world* world, const char* call, orr_type type)
{
    const orri_type* found = orri_type_at(&world->schema, type);
    if (found == NULL) {
        return orri_refuse_type(world, call, type);
    }
    const char* why = event_unfit_reason(found);
    return why == NULL
               ? ORR_OK
               : orri_refuse(
                     orri_env_of(world), ORR_ERR_TYPE, ORR_LOG_ID_SEND_REFUSED,
                     "%s: %s cannot be an event: it %s. Declare a separate type for the event",
                     call, found->info.name, why);
}

orr_result orr_events_limit(orr_world* world, orr_type type, uint32_t most)
{
    ORR_ASSERT(world != NULL);
    if (orri_access_checked(world)) {
        return orri_refuse_running(world, "orr_events_limit");
    }
    orr_result result = orri_event_check(world, "orr_events_limit", type);
    if (result != ORR_OK) {
        return result;
    }
    orri_event_queue* queue = orri_event_queue_of(world, type);
    if (queue == NULL) {
        return orri_env_result(&world->env);
    }
    queue->limit = most != 0 ? most : ORR_EVENTS_MAX;
    return ORR_OK;
}

// ---- waiting events -----------------------------------------------------------------------------

// Under AddressSanitizer only waiting events are accessible, so that an array kept beyond its run
// is detected.
static void event_poison(const orri_event_queue* queue, bool all)
{
    size_t size = queue->info->info.size;
    ORRI_POISON(queue->data, queue->capacity * size);
    if (queue->data != NULL) {
        ORRI_UNPOISON(all ? queue->data : orri_event_at(queue, queue->base),
                      (all ? queue->capacity : queue->count) * size);
    }
}

void orri_event_trim(orri_event_queue* queue)
{
    uint64_t least = orri_event_end(queue);
    for (uint32_t i = 0; i < queue->cursor_count; i++) {
        const orri_cursor* cursor = queue->cursors[i];
        least = cursor->set->on && cursor->at < least ? cursor->at : least;
    }
    uint32_t dropped = (uint32_t)(least - queue->base);
    queue->count -= dropped;
    queue->first = queue->count > 0 ? queue->first + dropped : 0;
    queue->base = least;
    queue->at_base = 0;
    for (uint32_t i = 0; i < queue->cursor_count; i++) {
        queue->at_base += queue->cursors[i]->set->on && queue->cursors[i]->at == least;
    }
    event_poison(queue, false);
}

// A cursor with the most unread events. At least one cursor is enabled.
static const orri_cursor* event_slowest(const orri_event_queue* queue)
{
    for (uint32_t i = 0; i < queue->cursor_count; i++) {
        if (queue->cursors[i]->set->on && queue->cursors[i]->at == queue->base) {
            return queue->cursors[i];
        }
    }
    ORR_ASSERT(queue->on_count == 0);
    return NULL;
}

// Drops all unread events of spectators, so that they never affect the simulation. True when an
// enabled system of the simulation receives the type.
ORRI_COLD static bool event_drop_spectators(orr_world* world, orri_event_queue* queue)
{
    bool others = false;
    for (uint32_t i = 0; i < queue->cursor_count; i++) {
        orri_cursor* cursor = queue->cursors[i];
        orri_event_cursors* set = cursor->set;
        others |= set->on && !set->spectator;
        if (!set->on || !set->spectator) {
            continue;
        }
        cursor->at = orri_event_end(queue);
        // In real time the system may be running: then `asked` belongs to its thread.
        if (!world->realtime) {
            cursor->asked = false;
        }
        if (!set->drop_logged) {
            set->drop_logged = true;
            orri_log(&world->env, ORR_LOG_ID_SPECTATOR_LATE,
                     "spectator '%s' lost unread events %s: more than %u would wait; let it run "
                     "more often, or raise the limit with orr_events_limit()",
                     set->name != NULL ? set->name : "", queue->info->info.name, queue->limit);
        }
    }
    orri_event_trim(queue);
    return others;
}

ORRI_COLD static bool event_refuse_full(orr_world* world, const orri_event_queue* queue,
                                        uint32_t count, const char* sender)
{
    if (count > queue->limit) { // No reader could make room for them.
        (void)orri_refuse(&world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_QUEUE_FULL,
                          "system '%s' sent %u events %s in one tick, but at most %u may wait: all "
                          "of them are dropped. Send fewer, or raise the limit with "
                          "orr_events_limit()",
                          sender, count, queue->info->info.name, queue->limit);
        return false;
    }
    const orri_cursor* slowest = event_slowest(queue);
    const char* name = slowest->set->name;
    (void)orri_refuse(&world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_QUEUE_FULL,
                      "%u events %s wait and system '%s' sent %u more, but at most %u may wait; "
                      "system '%s' has not read %u of them. Let it run and call orr_events() in "
                      "every run, disable it, send fewer, or raise the limit with "
                      "orr_events_limit()",
                      queue->count, queue->info->info.name, sender, count, queue->limit,
                      name != NULL ? name : "(without a name)", queue->count);
    return false;
}

// Moves the queue to memory for at least `needed` events. False when refused (reported).
static bool event_grow(orr_world* world, orri_event_queue* queue, uint32_t needed)
{
    uint64_t wanted = queue->capacity > 0 ? queue->capacity * 2ull : EVENT_CAPACITY_MIN;
    while (wanted < needed) {
        wanted *= 2;
    }
    uint32_t capacity = wanted < UINT32_MAX ? (uint32_t)wanted : needed;
    const orr_type_info* info = &queue->info->info;
    uint8_t* data = orri_alloc(&world->env, ORR_MEMORY_MESSAGE, orri_size_mul(info->size, capacity),
                               info->align);
    if (data == NULL) {
        char doing[160];
        orri_text text = {doing, sizeof doing, 0};
        orri_text_add(&text, "keeping %u unread events %s", needed, info->name);
        (void)orri_refuse_memory(&world->env, doing);
        return false;
    }
    if (queue->count > 0) {
        memcpy(data, orri_event_at(queue, queue->base), (size_t)queue->count * info->size);
    }
    event_poison(queue, true);
    orri_free(&world->env, ORR_MEMORY_MESSAGE, queue->data, (size_t)queue->capacity * info->size,
              info->align);
    queue->data = data;
    queue->capacity = capacity;
    queue->first = 0;
    event_poison(queue, false);
    return true;
}

// Room for `count` more events after the waiting ones.
static bool event_room(orr_world* world, orri_event_queue* queue, uint32_t count)
{
    if (ORR_LIKELY((uint64_t)queue->first + queue->count + count <= queue->capacity)) {
        return true;
    }
    uint32_t needed = queue->count + count; // The limit was checked, so that this fits.
    if (queue->first < queue->count || needed > queue->capacity) {
        return event_grow(world, queue, needed);
    }
    event_poison(queue, true);
    memcpy(queue->data, orri_event_at(queue, queue->base),
           (size_t)queue->count * queue->info->info.size);
    queue->first = 0;
    event_poison(queue, false);
    return true;
}

bool orri_event_room(orr_world* world, orri_event_queue* queue, uint32_t count)
{
    return count <= queue->capacity || event_grow(world, queue, count);
}

void orri_event_refill(orri_event_queue* queue, const void* values, uint32_t count)
{
    size_t size = queue->info->info.size;
    ORR_ASSERT(count <= queue->capacity);
    event_poison(queue, true);
    queue->base = orri_event_end(queue); // Numbers are never used again.
    queue->first = 0;
    queue->count = count;
    if (count * size > 0) {
        memcpy(queue->data, values, count * size);
    }
}

bool orri_events_reserve(orr_world* world, orr_type type, uint32_t count, const char* sender)
{
    orri_event_queue* queue = orri_event_queue_of(world, type);
    if (queue == NULL) {
        return false;
    }
    queue->skips = false;
    if (queue->on_count == 0) {
        return true; // No system receives them: they will not be kept.
    }
    if ((uint64_t)queue->count + count > queue->limit) {
        bool others = event_drop_spectators(world, queue);
        if ((uint64_t)queue->count + count > queue->limit) {
            queue->skips = !others;
            return !others || event_refuse_full(world, queue, count, sender);
        }
    }
    return event_room(world, queue, count);
}

void orri_events_append(orr_world* world, orr_type type, const void* values, uint32_t count)
{
    orri_event_queue* queue = event_find(world, type);
    if (queue == NULL || queue->on_count == 0 || queue->skips || count == 0) {
        return; // No system receives them.
    }
    bool room = (uint64_t)queue->first + queue->count + count <= queue->capacity;
    ORR_ASSERT(room); // orri_events_reserve() made room.
    if (!room) {
        return;
    }
    size_t size = queue->info->info.size;
    uint8_t* to = orri_event_at(queue, orri_event_end(queue));
    queue->count += count;
    event_poison(queue, false);
    if (size > 0) {
        memcpy(to, values, count * size);
        orri_rows_clean(queue->info, to, count);
    }
}

// ---- state --------------------------------------------------------------------------------------

// Hash of the waiting events, and of the number of unread events of each system; spectators do not
// count. The number of events ever sent is not hashed: two worlds with the same waiting events
// behave alike.
static uint64_t event_hash(const orri_event_queue* queue, uint64_t hash)
{
    uint64_t first = orri_event_end(queue);
    for (uint32_t i = 0; i < queue->cursor_count; i++) {
        const orri_cursor* cursor = queue->cursors[i];
        bool counts = cursor->set->on && !cursor->set->spectator;
        first = counts && cursor->at < first ? cursor->at : first;
    }
    uint32_t count = (uint32_t)(orri_event_end(queue) - first);
    if (count == 0) {
        return hash;
    }
    const orr_type_info* info = &queue->info->info;
    hash = orr_hash(info->name, strlen(info->name), hash);
    hash = orri_hash_word(hash, info->layout_hash);
    hash = orri_hash_word(hash, count);
    hash = orri_rows_hash(queue->info, orri_event_at(queue, first), count, hash);
    for (uint32_t i = 0; i < queue->cursor_count; i++) {
        const orri_cursor* cursor = queue->cursors[i];
        if (!cursor->set->spectator) {
            uint64_t left = orri_event_end(queue) - cursor->at;
            hash = orri_hash_word(hash, cursor->set->on ? left : UINT64_MAX);
        }
    }
    return hash;
}

uint64_t orri_events_hash(const orr_world* world, uint64_t hash)
{
    const struct orri_events* events = event_kept(world);
    for (uint32_t i = 0; events != NULL && i < events->capacity; i++) {
        if (events->queues[i] != NULL && events->queues[i]->count > 0) {
            hash = event_hash(events->queues[i], hash);
        }
    }
    return hash;
}

// The violated invariant of a queue; NULL: none.
static const char* event_wrong(const orri_event_queue* queue)
{
    uint32_t on = 0, at_base = 0;
    for (uint32_t i = 0; i < queue->cursor_count; i++) {
        const orri_cursor* cursor = queue->cursors[i];
        if (cursor->queue != queue) {
            return "has a cursor of another queue";
        }
        if (!cursor->set->on) {
            continue;
        }
        if (cursor->at < queue->base || cursor->at > orri_event_end(queue)) {
            return "has a cursor outside of its events";
        }
        on++;
        at_base += cursor->at == queue->base;
    }
    if (on != queue->on_count || at_base != queue->at_base) {
        return "has a wrong count of cursors";
    }
    if (queue->count > 0 && at_base == 0) {
        return "keeps events that all systems have read";
    }
    return (uint64_t)queue->first + queue->count > queue->capacity ? "is longer than its memory"
                                                                   : NULL;
}

orr_result orri_events_validate(orr_world* world)
{
    const struct orri_events* events = event_kept(world);
    for (uint32_t i = 0; events != NULL && i < events->capacity; i++) {
        const char* wrong = events->queues[i] != NULL ? event_wrong(events->queues[i]) : NULL;
        if (wrong != NULL) {
            return orri_refuse(&world->env, ORR_ERR_CORRUPT, ORR_LOG_ID_WORLD_CORRUPT,
                               "the event queue of %s %s", events->queues[i]->info->info.name,
                               wrong);
        }
    }
    return ORR_OK;
}

// ---- destroying ---------------------------------------------------------------------------------

static void event_destroy(orr_world* world, orri_event_queue* queue)
{
    const orr_type_info* info = &queue->info->info;
    event_poison(queue, true);
    orri_free(&world->env, ORR_MEMORY_MESSAGE, queue->data, (size_t)queue->capacity * info->size,
              info->align);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, queue->cursors, queue->cursor_capacity);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, orri_event_queue, queue, 1);
}

void orri_events_term(orr_world* world)
{
    struct orri_events* events = event_kept(world);
    if (events == NULL) {
        return;
    }
    for (uint32_t i = 0; i < events->capacity; i++) {
        if (events->queues[i] != NULL) {
            event_destroy(world, events->queues[i]);
        }
    }
    for (orri_event_cursors *set = events->first, *next; set != NULL; set = next) {
        next = set->next;
        orri_event_cursors_free(world, set);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, events->queues, events->capacity);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, struct orri_events, events, 1);
    world->messages->events = NULL;
}

void orri_event_cursors_free(orr_world* world, orri_event_cursors* set)
{
    size_t size = sizeof *set + set->capacity * sizeof set->cursors[0];
    for (uint32_t i = 0; i < set->count; i++) {
        orri_cursor* cursor = &set->cursors[i];
        orri_free(&world->env, ORR_MEMORY_MESSAGE, cursor->copy, cursor->copy_size,
                  ORRI_BLOCK_ALIGN);
    }
    orri_free(&world->env, ORR_MEMORY_MESSAGE, set, size, _Alignof(orri_event_cursors));
}

#undef EVENT_CAPACITY_MIN
