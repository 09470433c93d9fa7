// SPDX-License-Identifier: MIT
// The journal: which system changed what, by tick and entity. A reader of everything receives
// messages as any other; they become small entries in a ring, and the values are dropped.
#include "schedule/schedule.h"

#define JOURNAL_CAPACITY_MAX (1u << 30) // Positions may be up to twice the capacity.

struct orri_journal {
    orr_query* query;
    orri_reader* reader;
    orri_counts counts; // Required by the reader; not read.
    orr_journal_entry* ring;
    uint32_t capacity, count;
    uint32_t next; // Where the next entry goes.
};

// ---- filling ------------------------------------------------------------------------------------

static void journal_put(orri_journal* journal, const orr_journal_entry* entry)
{
    journal->ring[journal->next] = *entry;
    journal->next = journal->next + 1 < journal->capacity ? journal->next + 1 : 0;
    journal->count += journal->count < journal->capacity;
}

void orri_journal_add(orri_journal* journal, const orr_message* message)
{
    if (message->cause == ORR_CAUSE_READER) {
        return; // Entities that existed when the journal began are no changes.
    }
    orr_journal_entry entry;
    memset(&entry, 0, sizeof entry); // Padding too: entries are compared.
    entry.tick = message->tick;
    entry.system = message->system;
    entry.kind = message->kind;
    entry.type = message->type;
    // Of more than the ring holds, only the last ones.
    uint32_t first = message->count > journal->capacity ? message->count - journal->capacity : 0;
    for (uint32_t i = first; i < message->count; i++) {
        entry.entity = message->entities[i];
        entry.id = message->ids != NULL ? message->ids[i] : 0;
        journal_put(journal, &entry);
    }
}

orr_result orri_journal_received(orr_world* world, orr_result result)
{
    if (world->schedule->journal != NULL) {
        orri_journal_drain(world, world->schedule->journal);
    }
    return result;
}

void orri_journal_drain(orr_world* world, orri_journal* journal)
{
    // In real time readers see messages only after they were taken.
    if (ORR_UNLIKELY(world->realtime)) {
        orri_reader_take(journal->reader);
    }
    for (const orr_message* m; (m = orri_reader_next(journal->reader)) != NULL;) {
        orri_journal_add(journal, m);
    }
    orri_reader_done(journal->reader);
}

// ---- begin and end ------------------------------------------------------------------------------

static void journal_ring_free(orr_world* world, orr_journal_entry* ring, uint32_t capacity)
{
    ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orr_journal_entry, ring, capacity);
}

void orri_journal_destroy(orr_world* world, orri_journal* journal)
{
    if (journal == NULL) {
        return;
    }
    if (journal->reader != NULL) {
        orri_reader_destroy(world, journal->reader);
    }
    orr_query_destroy(journal->query);
    journal_ring_free(world, journal->ring, journal->capacity);
    ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_journal, journal, 1);
}

static bool journal_listen(orr_world* world, orri_journal* journal)
{
    journal->query = orr_query_create(
        world,
        &(orr_query_desc){.name = "the journal", .text = "either *, ?orr_tags, ?orr_enabled"});
    if (journal->query == NULL) {
        return false;
    }
    journal->reader = orri_reader_create(world, &(orri_reader_desc){.name = "the journal",
                                                                    .query = journal->query,
                                                                    .all_types = true,
                                                                    .queue_max = UINT64_MAX,
                                                                    .counts = &journal->counts,
                                                                    .outside = true});
    return journal->reader != NULL;
}

static orr_journal_entry* journal_ring_make(orr_world* world, uint32_t capacity)
{
    orr_journal_entry* ring =
        ORRI_ALLOC(&world->env, ORR_MEMORY_SYSTEM, orr_journal_entry, capacity);
    if (ring == NULL) {
        (void)orri_refuse_memory(&world->env, "making room for the journal");
    }
    return ring;
}

static orri_journal* journal_create(orr_world* world, uint32_t capacity)
{
    orr_journal_entry* ring = journal_ring_make(world, capacity);
    if (ring == NULL) {
        return NULL;
    }
    orri_journal* journal = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SYSTEM, orri_journal, 1);
    if (journal == NULL) {
        journal_ring_free(world, ring, capacity);
        (void)orri_refuse_memory(&world->env, "beginning the journal");
        return NULL;
    }
    journal->ring = ring;
    journal->capacity = capacity;
    if (!journal_listen(world, journal)) {
        orri_journal_destroy(world, journal);
        return NULL;
    }
    return journal;
}

// Begins the journal. The reader first receives everything that exists, which is no change: at
// once, if there is no other reader. Otherwise with the next tick, so that a journal does not
// change the messages of others; then changes before that tick are not reported.
static bool journal_begin(orr_world* world, orri_journal* journal)
{
    bool alone = !orri_has_readers(world);
    orri_reader_enable(world, journal->reader, true);
    if (alone && orri_diff_run(world, (orr_system){0, 0}, false) != ORR_OK) {
        return false;
    }
    orri_journal_drain(world, journal);
    return true;
}

// The entry `back` entries before the newest.
static const orr_journal_entry* journal_at(const orri_journal* journal, uint32_t back)
{
    uint32_t last = journal->next + journal->capacity - 1 - back;
    return &journal->ring[last < journal->capacity ? last : last - journal->capacity];
}

static bool journal_resize(orr_world* world, orri_journal* journal, uint32_t capacity)
{
    orr_journal_entry* ring = journal_ring_make(world, capacity);
    if (ring == NULL) {
        return false;
    }
    uint32_t count = journal->count < capacity ? journal->count : capacity;
    for (uint32_t i = 0; i < count; i++) {
        ring[i] = *journal_at(journal, count - 1 - i);
    }
    journal_ring_free(world, journal->ring, journal->capacity);
    journal->ring = ring;
    journal->capacity = capacity;
    journal->count = count;
    journal->next = count < capacity ? count : 0;
    return true;
}

orr_result orr_journal_set(orr_world* world, uint32_t capacity)
{
    ORR_ASSERT(world != NULL);
    orr_result result = orri_check_between_ticks(world, "orr_journal_set");
    if (result != ORR_OK) {
        return result;
    }
    if (capacity > JOURNAL_CAPACITY_MAX) {
        return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                           "orr_journal_set: a journal of %u entries is too large; use at most %u",
                           capacity, JOURNAL_CAPACITY_MAX);
    }
    struct orri_schedule* schedule = orri_schedule_of(world);
    if (schedule == NULL) {
        return orri_env_result(&world->env);
    }
    if (capacity == 0) {
        orri_journal_destroy(world, schedule->journal);
        schedule->journal = NULL;
        schedule->stale = true; // Other types have readers now: points may move.
        return ORR_OK;
    }
    if (schedule->journal != NULL) {
        bool done = schedule->journal->capacity == capacity ||
                    journal_resize(world, schedule->journal, capacity);
        return done ? ORR_OK : orri_env_result(&world->env);
    }
    orri_journal* journal = journal_create(world, capacity);
    if (journal != NULL && !journal_begin(world, journal)) {
        orri_journal_destroy(world, journal);
        journal = NULL;
    }
    schedule->journal = journal;
    schedule->stale = true; // Other types have readers now: points may move.
    return journal != NULL ? ORR_OK : orri_env_result(&world->env);
}

// ---- reading ------------------------------------------------------------------------------------

uint32_t orr_journal_get(const orr_world* world, orr_entity entity, orr_journal_entry* out,
                         uint32_t out_count)
{
    ORR_ASSERT(world != NULL && (out != NULL || out_count == 0));
    // The pipeline that has the turn writes it.
    if (ORR_UNLIKELY(world->realtime) && orri_access_checked(world)) {
        (void)orri_refuse(orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                          "orr_journal_get: not allowed while pipelines run; call it in a posted "
                          "call (orr_post, orr_post_exclusive) or between runs");
        return 0;
    }
    const orri_journal* journal = world->schedule != NULL ? world->schedule->journal : NULL;
    uint32_t found = 0;
    for (uint32_t back = 0; journal != NULL && back < journal->count; back++) {
        const orr_journal_entry* entry = journal_at(journal, back);
        if (entity.id != 0 && entry->entity.id != entity.id) {
            continue;
        }
        if (found < out_count) {
            out[found] = *entry;
        }
        found++;
    }
    return found;
}

static void journal_print_system(const orr_world* world, orr_system system, orri_text* text)
{
    const char* name = system.id != 0 ? orr_system_name(world, system) : "(outside)";
    orri_text_add(text, "%s", name[0] != '\0' ? name : "(a removed system)");
}

size_t orr_journal_print(const orr_world* world, const orr_journal_entry* entry, char* out,
                         size_t out_size)
{
    static const struct {
        const char *verb, *joint;
    } words[] = {{"created", NULL},
                 {"added", "to"},
                 {"changed", "of"},
                 {"removed", "from"},
                 {"destroyed", NULL}};
    ORR_ASSERT(world != NULL && entry != NULL);
    orri_text text = {out, out != NULL ? out_size : 0, 0};
    orri_text_add(&text, "tick %llu: ", (unsigned long long)entry->tick);
    journal_print_system(world, entry->system, &text);
    bool known = (uint32_t)entry->kind < ORRI_COUNT(words);
    orri_text_add(&text, " %s ", known ? words[entry->kind].verb : "did something to");
    if (known && words[entry->kind].joint != NULL) {
        orri_text_add(&text, "%s ", orri_type_label(world, entry->type));
        if (entry->id != 0) {
            orri_text_add(&text, "#%u ", entry->id);
        }
        orri_text_add(&text, "%s ", words[entry->kind].joint);
    }
    orri_text_add(&text, "%s", orri_entity_format(world, entry->entity).text);
    return text.length;
}

#undef JOURNAL_CAPACITY_MAX
