// SPDX-License-Identifier: MIT
// Readers: the types they track, and the queues of messages that wait for them.
#include "message/deliver/baseline.h"

_Static_assert(sizeof(orr_enabled) == 8 && offsetof(orr_enabled, on) == 4,
               "must match the desc of orr_enabled in the store");

// ---- tracked types ------------------------------------------------------------------------------

// True when a field of its query has the type.
static bool reader_names(const orri_reader* reader, orr_type type)
{
    for (uint32_t f = 0; f < reader->query->field_count; f++) {
        if (reader->query->fields[f].type.id == type.id) {
            return true;
        }
    }
    return false;
}

static bool reader_names_desc(const orri_reader* reader, const orr_type_desc* desc)
{
    orr_type type = orr_type_find(reader->world, desc->name);
    return type.id != 0 && reader_names(reader, type);
}

bool orri_reader_tracks(const orri_reader* reader, orr_type type)
{
    const orri_type* found = orri_type_at(&reader->world->schema, type);
    // Transient types belong to spectators: no reader is notified of them.
    return found != NULL && !orri_type_pseudo(found) && !found->info.transient &&
           (reader->all_types || reader_names(reader, type));
}

bool orri_reader_names(const orri_reader* reader, orr_type type)
{
    const orr_query* query = reader->query;
    for (uint32_t l = 0; l < query->leaf_count; l++) {
        for (uint32_t t = 0; t < query->leaves[l].term_count; t++) {
            if (query->leaves[l].terms[t].type.id == type.id) {
                return true;
            }
        }
    }
    return false;
}

void orri_reader_match(orri_reader* reader, const orri_cluster* cluster)
{
    uint32_t entry = orri_entries_find(reader->query, cluster);
    reader->match = ORRI_MATCH_NONE;
    if (entry != UINT32_MAX) {
        reader->match = orri_entry_match(reader->query, entry);
        reader->map = orri_entry_map(reader->query, entry);
    }
}

// ---- the queue ----------------------------------------------------------------------------------

void orri_reader_empty(orri_reader* reader)
{
    while (reader->first != NULL) {
        orri_message_view* view = reader->first;
        reader->first = view->next;
        orri_batch_release(reader->world, view->batch);
    }
    reader->last = NULL;
    reader->queued = 0;
    reader->taken_void = reader->handed;
}

void orri_reader_forget(orri_reader* reader)
{
    if (reader->members.count > 0) {
        memset(reader->members.words, 0, reader->members.count * sizeof *reader->members.words);
    }
    reader->fresh = true;
    reader->world->messages->baseline->quiet_mark = 0;
}

// Empties the queue; the next diff sends everything again.
ORRI_COLD static void reader_overflow(orri_reader* reader, uint64_t wanted)
{
    orri_reader_empty(reader);
    orri_reader_forget(reader);
    reader->lost = reader->overflowed = true;
    (void)orri_refuse(
        &reader->world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_QUEUE_FULL,
        "the message queue of system '%s' would hold %llu entities, but its limit is %llu. It was "
        "emptied, and the system will receive everything it selects again. Let it run more often, "
        "take all messages in each run, or raise its messages_max",
        reader->name, (unsigned long long)wanted, (unsigned long long)reader->queue_max);
}

void orri_reader_deliver(orri_message_view* view)
{
    orri_reader* reader = view->reader;
    uint32_t count = view->batch->message.count;
    if (!reader->overflowed && count > reader->queue_max - reader->queued) {
        reader_overflow(reader, reader->queued + count);
    }
    if (reader->overflowed) {
        orri_batch_release(reader->world, view->batch);
        return;
    }
    view->next = NULL;
    if (reader->last != NULL) {
        reader->last->next = view;
    } else {
        reader->first = view;
    }
    reader->last = view;
    reader->queued += count;
}

// Messages that were handed to a system and not taken go back before those that came since.
static void reader_take_back(orri_reader* reader)
{
    orri_message_view *rest = reader->taken, *last = NULL;
    uint64_t count = 0;
    for (orri_message_view* view = rest; view != NULL; view = view->next) {
        count += view->batch->message.count;
        last = view;
    }
    reader->taken = NULL;
    reader->handed = false;
    if (last == NULL) {
        return;
    }
    last->next = reader->first;
    reader->first = rest;
    reader->last = reader->last != NULL ? reader->last : last;
    if (reader->taken_void) {
        orri_reader_empty(reader);
    } else if (count > reader->queue_max - reader->queued) {
        uint64_t wanted = reader->queued + count;
        reader_overflow(reader, wanted);
        reader->overflowed = false; // No delivery is under way.
    } else {
        reader->queued += count;
    }
}

void orri_reader_take(orri_reader* reader)
{
    ORR_ASSERT(!reader->handed && reader->taken == NULL && reader->reading == NULL);
    reader->taken = reader->first;
    reader->handed = true;
    reader->taken_void = false;
    reader->first = reader->last = NULL;
    reader->queued = 0;
}

void orri_reader_done(orri_reader* reader)
{
    while (reader->reading != NULL) {
        orri_message_view* view = reader->reading;
        reader->reading = view->next;
        if (reader->handed && reader->counts != NULL) {
            reader->counts->received += view->batch->message.count;
        }
        orri_batch_release(reader->world, view->batch);
    }
    if (ORR_UNLIKELY(reader->handed)) {
        reader_take_back(reader);
    }
}

// Makes a view the message that the system sees.
static const orr_message* reader_show(orri_reader* reader, orri_message_view* view)
{
    view->next = reader->reading;
    reader->reading = view;
    reader->message = view->batch->message;
    reader->message.columns = view->column_count > 0 ? view->columns : NULL;
    reader->message.column_count = view->column_count;
    return &reader->message;
}

// In real time messages arrive while the system runs: it takes only those that were handed to it.
static const orr_message* reader_next_handed(orri_reader* reader)
{
    orri_message_view* view = reader->taken;
    if (view == NULL) {
        return NULL;
    }
    reader->taken = view->next;
    return reader_show(reader, view);
}

const orr_message* orri_reader_next(orri_reader* reader)
{
    if (ORR_UNLIKELY(reader->world->realtime)) {
        return reader_next_handed(reader);
    }
    // Batches are shared: while systems run in parallel, they are released after all of them.
    if (ORR_LIKELY(!reader->world->running.parallel)) {
        orri_reader_done(reader);
    }
    orri_message_view* view = reader->first;
    if (view == NULL) {
        return NULL;
    }
    reader->first = view->next;
    if (reader->first == NULL) {
        reader->last = NULL;
    }
    (void)reader_show(reader, view);
    reader->queued -= reader->message.count;
    if (reader->counts != NULL) {
        reader->counts->received += reader->message.count;
    }
    return &reader->message;
}

uint64_t orri_reader_queued(const orri_reader* reader)
{
    return reader->queued;
}

bool orri_reader_lost(orri_reader* reader)
{
    bool lost = reader->lost;
    reader->lost = false;
    return lost;
}

uint64_t orri_reader_hash(const orri_reader* reader, uint64_t hash)
{
    for (const orri_message_view* view = reader->first; view != NULL; view = view->next) {
        hash = orri_message_view_hash(reader->world, view, hash);
    }
    return hash;
}

// ---- creating, enabling, destroying -------------------------------------------------------------

static orri_reader* reader_make(orr_world* world, const orri_reader_desc* desc)
{
    orri_reader* reader = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_MESSAGE, orri_reader, 1);
    size_t size = strlen(desc->name) + 1;
    char* name = reader != NULL ? orri_alloc(&world->env, ORR_MEMORY_MESSAGE, size, 1) : NULL;
    if (name == NULL) {
        ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, orri_reader, reader, 1);
        (void)orri_refuse_memory(&world->env, "creating a reader of messages");
        return NULL;
    }
    memcpy(name, desc->name, size);
    reader->world = world;
    reader->name = name;
    reader->query = desc->query;
    reader->all_types = desc->all_types;
    reader->queue_max = desc->queue_max;
    reader->counts = desc->counts;
    reader->fresh = true;
    reader->outside = desc->outside;
    reader->tracks_enabled = reader_names_desc(reader, &orr_desc_orr_enabled);
    reader->tracks_tags = reader_names_desc(reader, &orr_desc_orr_tags);
    return reader;
}

orri_reader* orri_reader_create(orr_world* world, const orri_reader_desc* desc)
{
    ORR_ASSERT(desc->name != NULL && desc->query != NULL && desc->query->world == world);
    struct orri_baseline* baseline = orri_baseline_of(world);
    orri_reader* reader = NULL;
    // Room in the list of enabled readers, so that enabling cannot fail.
    if (baseline != NULL) {
        if (!ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &baseline->on, &baseline->on_capacity,
                          baseline->reader_count + 1)) {
            (void)orri_refuse_memory(&world->env, "creating a reader of messages");
            return NULL;
        }
        reader = reader_make(world, desc);
    }
    if (reader != NULL) {
        reader->serial = ++baseline->serials;
        baseline->reader_count++;
        reader->prev = baseline->last;
        if (baseline->last != NULL) {
            baseline->last->next = reader;
        } else {
            baseline->first = reader;
        }
        baseline->last = reader;
    }
    return reader;
}

// Enters a reader into the list of enabled readers, or takes it out. The list is in the order of
// creation, not of enabling.
static void reader_list(struct orri_baseline* baseline, orri_reader* reader)
{
    uint32_t low = 0, high = baseline->on_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (baseline->on[middle]->serial < reader->serial) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    orri_reader** at = baseline->on + low;
    uint32_t after = baseline->on_count - low;
    if (reader->on) {
        memmove(at + 1, at, after * sizeof *at);
        *at = reader;
        baseline->on_count++;
    } else {
        ORR_ASSERT(after > 0 && *at == reader);
        memmove(at, at + 1, (after - 1) * sizeof *at);
        baseline->on_count--;
    }
    baseline->stale = true;
    reader->world->messages->readers = baseline->on_count;
}

void orri_reader_enable(orr_world* world, orri_reader* reader, bool on)
{
    struct orri_baseline* baseline = world->messages->baseline;
    if (reader->on == on) {
        return;
    }
    orri_diff_deliver(baseline, false); // Batches of a refused diff.
    reader->on = on;
    reader->lost = false;
    orri_reader_empty(reader);
    orri_reader_forget(reader);
    reader_list(baseline, reader);
    if (baseline->on_count == 0) {
        orri_baseline_forget(world, baseline);
    }
}

void orri_reader_free(orr_world* world, orri_reader* reader)
{
    struct orri_baseline* baseline = world->messages->baseline;
    orri_reader_empty(reader);
    orri_reader_done(reader);
    if (reader->prev != NULL) {
        reader->prev->next = reader->next;
    } else {
        baseline->first = reader->next;
    }
    if (reader->next != NULL) {
        reader->next->prev = reader->prev;
    } else {
        baseline->last = reader->prev;
    }
    baseline->reader_count--;
    orri_bitset_free(world, &reader->members);
    orri_free(&world->env, ORR_MEMORY_MESSAGE, reader->name, strlen(reader->name) + 1, 1);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, orri_reader, reader, 1);
}

void orri_reader_destroy(orr_world* world, orri_reader* reader)
{
    // When the world is destroyed, messages and readers end before systems do.
    if (reader != NULL && world->messages != NULL && world->messages->baseline != NULL) {
        orri_reader_enable(world, reader, false);
        orri_reader_free(world, reader);
    }
}

bool orri_reader_fresh(const orri_reader* reader)
{
    return reader->on && reader->fresh;
}

bool orri_state_readers_fresh(const orr_world* world)
{
    const struct orri_baseline* baseline = orri_has_readers(world) ? world->messages->baseline
                                                                   : NULL;
    bool fresh = false;
    for (uint32_t r = 0; baseline != NULL && !fresh && r < baseline->on_count; r++) {
        fresh = baseline->on[r]->fresh && !baseline->on[r]->outside;
    }
    return fresh;
}

bool orri_readers_fresh(const orr_world* world)
{
    const struct orri_baseline* baseline = orri_has_readers(world) ? world->messages->baseline
                                                                   : NULL;
    bool fresh = baseline != NULL && baseline->stale; // The sets of readers are not current.
    for (uint32_t r = 0; baseline != NULL && !fresh && r < baseline->on_count; r++) {
        fresh = baseline->on[r]->fresh;
    }
    return fresh;
}

bool orri_tracked(const orr_world* world, orr_type type)
{
    if (!orri_has_readers(world)) {
        return false;
    }
    const struct orri_baseline* baseline = world->messages->baseline;
    uint32_t index = orri_type_index(world, type);
    if (!baseline->stale && index < baseline->type_count) {
        return baseline->types[index].tracked;
    }
    bool tracked = false;
    for (uint32_t r = 0; r < baseline->on_count && !tracked; r++) {
        tracked = orri_reader_tracks(baseline->on[r], type);
    }
    return tracked;
}
