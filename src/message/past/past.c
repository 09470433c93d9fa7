// SPDX-License-Identifier: MIT
// Messages as part of the state of a moment. Batches are never changed, so that a queue is recorded
// by holding its views; events and transactions are copied. The baseline is not recorded: it equals
// the world, except for what readers had not received yet (baseline_past.c).
#include "message/past/past.h"
#include "message/past/past_parts.h"
#include "store/world/access.h"

// A reader of the moment.
typedef struct past_reader {
    uint64_t serial;
    uint32_t first, count; // In `views`.
    bool on, fresh, lost;
} past_reader;

struct orri_messages_past {
    uint32_t refs; // That of the owner, and one while the travel to this past is not settled.
    past_reader* readers;
    uint32_t reader_count;
    orri_message_view** views; // Each holds a reference to its batch.
    uint32_t view_count;
    orri_events_past* events;
    struct orri_posts* posts;
    orri_baseline_past* baseline;
};

static struct orri_baseline* past_baseline(const orr_world* world)
{
    return world->messages != NULL ? world->messages->baseline : NULL;
}

// ---- queues -------------------------------------------------------------------------------------

static void past_count(const struct orri_baseline* baseline, uint32_t* readers, uint32_t* views)
{
    *readers = *views = 0;
    for (const orri_reader* reader = baseline != NULL ? baseline->first : NULL; reader != NULL;
         reader = reader->next) {
        *readers += !reader->outside;
        for (const orri_message_view* view = reader->outside ? NULL : reader->first; view != NULL;
             view = view->next) {
            (*views)++;
        }
    }
}

static void past_queue(orri_messages_past* past, const orri_reader* reader)
{
    ORR_ASSERT(reader->reading == NULL && !reader->handed);
    uint32_t first = past->view_count;
    for (orri_message_view* view = reader->first; view != NULL; view = view->next) {
        view->batch->refs++;
        past->views[past->view_count++] = view;
    }
    past->readers[past->reader_count++] = (past_reader){.serial = reader->serial,
                                                        .first = first,
                                                        .count = past->view_count - first,
                                                        .on = reader->on,
                                                        .fresh = reader->fresh,
                                                        .lost = reader->lost};
}

// Records the queues of all readers that are part of the state. False when refused (reported).
static bool past_queues(orr_world* world, orri_messages_past* past)
{
    const struct orri_baseline* baseline = past_baseline(world);
    orri_env* env = &world->env;
    uint32_t readers, views;
    past_count(baseline, &readers, &views);
    if (readers == 0) {
        return true;
    }
    past->readers = ORRI_ALLOC(env, ORR_MEMORY_MESSAGE, past_reader, readers);
    past->views = ORRI_ALLOC(env, ORR_MEMORY_MESSAGE, orri_message_view*, views);
    if (past->readers == NULL || past->views == NULL) {
        ORRI_FREE(env, ORR_MEMORY_MESSAGE, past_reader, past->readers, readers);
        ORRI_FREE(env, ORR_MEMORY_MESSAGE, orri_message_view*, past->views, views);
        past->readers = NULL;
        past->views = NULL;
        (void)orri_refuse_memory(env, "recording message queues");
        return false;
    }
    for (const orri_reader* reader = baseline->first; reader != NULL; reader = reader->next) {
        if (!reader->outside) {
            past_queue(past, reader);
        }
    }
    return true;
}

// Releases a reference; the last one frees everything.
static void past_release(orr_world* world, orri_messages_past* past)
{
    if (--past->refs > 0) {
        return;
    }
    for (uint32_t i = 0; i < past->view_count; i++) {
        orri_batch_release(world, past->views[i]->batch);
    }
    orri_env* env = &world->env;
    if (past->readers != NULL) {
        ORRI_FREE(env, ORR_MEMORY_MESSAGE, past_reader, past->readers, past->reader_count);
        ORRI_FREE(env, ORR_MEMORY_MESSAGE, orri_message_view*, past->views, past->view_count);
    }
    orri_events_forget(world, past->events);
    orri_posts_free(world, past->posts);
    orri_baseline_past_free(world, past->baseline);
    ORRI_FREE(env, ORR_MEMORY_MESSAGE, orri_messages_past, past, 1);
}

// ---- recording ----------------------------------------------------------------------------------

orri_messages_past* orri_messages_remember(orr_world* world)
{
    if (orri_messages_settle(world) != ORR_OK) {
        return NULL;
    }
    orri_messages_past* past =
        ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_MESSAGE, orri_messages_past, 1);
    if (past == NULL) {
        (void)orri_refuse_memory(&world->env, "recording messages");
        return NULL;
    }
    past->refs = 1;
    const struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    if (!past_queues(world, past) || !orri_events_remember(world, &past->events) ||
        (command_buffers != NULL &&
         !orri_posts_copy(world, command_buffers->shared->posted, false, &past->posts)) ||
        !orri_baseline_remember(world, &past->baseline)) {
        past_release(world, past);
        return NULL;
    }
    return past;
}

void orri_messages_forget(orr_world* world, orri_messages_past* past)
{
    if (past != NULL) {
        past_release(world, past);
    }
}

uint64_t orri_messages_past_bytes(const orri_messages_past* past)
{
    uint64_t bytes = sizeof *past + past->reader_count * sizeof *past->readers +
                     past->view_count * sizeof *past->views + orri_events_past_bytes(past->events) +
                     orri_posts_bytes(past->posts) + orri_baseline_past_bytes(past->baseline);
    for (uint32_t i = 0; i < past->view_count; i++) {
        // Others hold the batch too.
        bytes += past->views[i]->batch->bytes / past->views[i]->batch->refs;
    }
    return bytes;
}

bool orri_messages_past_whole(const orri_messages_past* past)
{
    return past->baseline == NULL;
}

// ---- restoring ----------------------------------------------------------------------------------

orr_result orri_messages_restore_prepare(orr_world* world, const orri_messages_past* past)
{
    if (world->messages == NULL) {
        return ORR_OK;
    }
    struct orri_posts* posts;
    if (!orri_events_restore_prepare(world, past->events) ||
        !orri_posts_copy(world, past->posts, true, &posts)) {
        return orri_env_result(&world->env);
    }
    ORR_ASSERT(world->messages->posts_ready == NULL);
    world->messages->posts_ready = posts;
    return ORR_OK;
}

void orri_messages_restore_cancel(orr_world* world)
{
    if (world->messages != NULL) {
        orri_posts_free(world, world->messages->posts_ready);
        world->messages->posts_ready = NULL;
    }
}

static const past_reader* past_find(const orri_messages_past* past, const orri_reader* reader)
{
    for (uint32_t i = 0; i < past->reader_count; i++) {
        if (past->readers[i].serial == reader->serial) {
            return &past->readers[i];
        }
    }
    return NULL;
}

// Restores a queue. A view belongs to one reader and is in no other list, so that it can be linked
// again.
static void past_fill(const orri_messages_past* past, const past_reader* was, orri_reader* reader)
{
    orri_reader_empty(reader);
    for (uint32_t i = 0; i < was->count; i++) {
        orri_message_view* view = past->views[was->first + i];
        ORR_ASSERT(view->reader == reader);
        view->batch->refs++;
        view->next = NULL;
        *(reader->last != NULL ? &reader->last->next : &reader->first) = view;
        reader->last = view;
        reader->queued += view->batch->message.count;
    }
    reader->lost = was->lost;
}

// Restores all queues. Readers that were created later are disabled.
static void past_refill(orr_world* world, const orri_messages_past* past)
{
    struct orri_baseline* baseline = past_baseline(world);
    for (orri_reader* reader = baseline != NULL ? baseline->first : NULL; reader != NULL;
         reader = reader->next) {
        const past_reader* was = reader->outside ? NULL : past_find(past, reader);
        if (!reader->outside) {
            orri_reader_enable(world, reader, was != NULL && was->on);
        }
        if (was != NULL) {
            past_fill(past, was, reader);
        }
    }
}

orr_result orri_messages_settle(orr_world* world)
{
    orri_messages_past* past = world->messages != NULL ? world->messages->unsettled : NULL;
    if (ORR_LIKELY(past == NULL)) {
        return ORR_OK;
    }
    orr_result result = orri_diff_travel(world);
    struct orri_baseline* baseline = past_baseline(world);
    // Readers that were fresh are fresh again.
    for (orri_reader* reader = baseline != NULL ? baseline->first : NULL;
         result == ORR_OK && reader != NULL; reader = reader->next) {
        const past_reader* was = reader->outside ? NULL : past_find(past, reader);
        if (was == NULL ? !reader->outside : was->fresh) {
            orri_reader_forget(reader);
        }
    }
    if (result == ORR_OK && !orri_baseline_restore(world, past->baseline)) {
        result = orri_env_result(&world->env);
    }
    if (result == ORR_OK) {
        world->messages->unsettled = NULL;
        past_release(world, past);
    }
    orri_travel_pending_set(world, result == ORR_OK ? NULL : orri_messages_settle);
    return result;
}

static void past_silent(void* owner, orr_result result, orr_log_id id, const char* text)
{
    (void)owner, (void)result, (void)id, (void)text;
}

bool orri_messages_restore(orr_world* world, orri_messages_past* past)
{
    struct orri_messages* messages = world->messages;
    if (messages == NULL) {
        return true;
    }
    if (messages->unsettled != NULL) {
        past_release(world, messages->unsettled);
    }
    past->refs++;
    messages->unsettled = past;
    orri_posts_restore(world, messages->posts_ready);
    messages->posts_ready = NULL;
    orri_events_restore(world, past->events);
    if (messages->baseline != NULL) {
        orri_spares_trim(world, messages->baseline, true); // Their ticks may be in the future now.
    }
    past_refill(world, past);
    // A refusal is no error of the travel, which is complete: it is not reported. The notification
    // is repeated before any later call can depend on it.
    orri_refusal_redirect before = orri_redirect_here;
    orri_redirect_here = (orri_refusal_redirect){&world->env, past_silent, NULL};
    bool settled = orri_messages_settle(world) == ORR_OK;
    orri_redirect_here = before;
    return settled;
}

void orri_messages_settled_term(orr_world* world)
{
    if (world->messages->unsettled != NULL) {
        past_release(world, world->messages->unsettled);
        world->messages->unsettled = NULL;
        orri_travel_pending_set(world, NULL);
    }
}
