// SPDX-License-Identifier: MIT
// The journal: a ring of messages. In these tests the messages are made by hand.
#include "schedule/schedule.h"
#include "support/store_kit.h"
#include "test.h"

typedef struct writing {
    kit k;
    orr_world* world;
    orr_system move;
    orr_entity bob, eve;
} writing;

static void do_nothing(orr_run* run)
{
    (void)run;
}

static void begin(writing* w)
{
    memset(w, 0, sizeof *w);
    w->world = kit_begin(&w->k, NULL);
    w->move = orr_system_add(
        w->world, &(orr_system_desc){.name = "move", .query = "Position", .run = do_nothing});
    CHECK(w->move.id != 0);
    w->bob = orr_create_named(w->world, "bob");
    w->eve = orr_create(w->world);
}

static void end(writing* w)
{
    CHECK_OK(orr_journal_set(w->world, 0));
    kit_end(&w->k);
}

static void receive_message(writing* w, orr_message_kind kind, orr_system system, uint64_t tick,
                            orr_type type, const orr_entity* entities, uint32_t count)
{
    orr_message message = {.kind = kind,
                           .tick = tick,
                           .system = system,
                           .type = type,
                           .entities = entities,
                           .count = count,
                           .world = w->world};
    orri_journal_add(w->world->schedule->journal, &message);
}

static const char* line(const writing* w, const orr_journal_entry* entry)
{
    static char text[256];
    size_t length = orr_journal_print(w->world, entry, text, sizeof text);
    CHECK_EQ(length, strlen(text));
    char part[12];
    CHECK_EQ(orr_journal_print(w->world, entry, part, sizeof part), length);
    CHECK(strncmp(part, text, sizeof part - 1) == 0 && part[sizeof part - 1] == '\0');
    CHECK_EQ(orr_journal_print(w->world, entry, NULL, 0), length);
    return text;
}

ORR_TEST(journal_entry_prints_system_and_change)
{
    writing w;
    begin(&w);
    orr_journal_entry entry = {.tick = 7,
                               .system = w.move,
                               .kind = ORR_COMPONENT_CHANGED,
                               .entity = w.bob,
                               .type = KIT_TYPE(w.world, Position)};
    CHECK_STR(line(&w, &entry), "tick 7: move changed Position of bob (0v1)");
    entry.id = 12;
    CHECK_STR(line(&w, &entry), "tick 7: move changed Position #12 of bob (0v1)");
    entry = (orr_journal_entry){.tick = 3, .kind = ORR_ENTITY_ADDED, .entity = w.bob};
    CHECK_STR(line(&w, &entry), "tick 3: (outside) created bob (0v1)");
    entry.system = (orr_system){9, 9};
    entry.kind = ORR_ENTITY_REMOVED;
    CHECK_OK(orr_destroy(w.world, w.bob));
    CHECK_STR(line(&w, &entry), "tick 3: (a removed system) destroyed 0v1");
    entry = (orr_journal_entry){.system = w.move,
                                .kind = ORR_COMPONENT_ADDED,
                                .entity = w.eve,
                                .type = KIT_TYPE(w.world, Frozen)};
    CHECK_STR(line(&w, &entry), "tick 0: move added Frozen to 1v1");
    entry.kind = ORR_COMPONENT_REMOVED;
    CHECK_STR(line(&w, &entry), "tick 0: move removed Frozen from 1v1");
    entry.type = (orr_type){0};
    CHECK_STR(line(&w, &entry), "tick 0: move removed (no type) from 1v1");
    entry.kind = (orr_message_kind)77;
    CHECK_STR(line(&w, &entry), "tick 0: move did something to 1v1");
    end(&w);
}

ORR_TEST(journal_keeps_an_entry_for_each_entity_and_component)
{
    writing w;
    begin(&w);
    orr_journal_entry got[8];
    orr_entity all[] = {w.bob, w.eve};
    orr_type position = KIT_TYPE(w.world, Position);
    CHECK_EQ(orr_journal_get(w.world, (orr_entity){0}, got, 8), 0); // There is no journal yet.
    CHECK_OK(orr_journal_set(w.world, 100));
    orri_journal_drain(w.world, w.world->schedule->journal); // There were no messages.
    CHECK_EQ(orr_journal_get(w.world, (orr_entity){0}, NULL, 0), 0);
    receive_message(&w, ORR_ENTITY_ADDED, (orr_system){0}, 1, (orr_type){0}, all, 2);
    receive_message(&w, ORR_COMPONENT_CHANGED, w.move, 2, position, all, 2);
    receive_message(&w, ORR_COMPONENT_CHANGED, w.move, 3, position, &w.bob, 1);
    // Messages that a new reader receives at its start are no changes of this tick.
    orr_message known = {.kind = ORR_ENTITY_ADDED,
                         .cause = ORR_CAUSE_READER,
                         .entities = all,
                         .count = 2,
                         .world = w.world};
    orri_journal_add(w.world->schedule->journal, &known);
    CHECK_EQ(orr_journal_get(w.world, (orr_entity){0}, got, 8), 5);
    CHECK_STR(line(&w, &got[0]), "tick 3: move changed Position of bob (0v1)");
    CHECK_STR(line(&w, &got[1]), "tick 2: move changed Position of 1v1");
    CHECK_STR(line(&w, &got[2]), "tick 2: move changed Position of bob (0v1)");
    CHECK_STR(line(&w, &got[3]), "tick 1: (outside) created 1v1");
    CHECK_STR(line(&w, &got[4]), "tick 1: (outside) created bob (0v1)");
    CHECK_EQ(orr_journal_get(w.world, w.bob, got, 8), 3);
    CHECK_EQ(got[0].tick, 3);
    CHECK_EQ(got[1].tick, 2);
    CHECK_EQ(got[2].tick, 1);
    memset(got, 0, sizeof got);
    CHECK_EQ(orr_journal_get(w.world, w.bob, got, 1), 3); // The number of entries; one fits.
    CHECK_EQ(got[0].tick, 3);
    CHECK_EQ(got[1].tick, 0);
    CHECK_EQ(orr_journal_get(w.world, (orr_entity){12345}, got, 8), 0);
    end(&w);
}

ORR_TEST(journal_of_instances_keeps_their_ids)
{
    writing w;
    begin(&w);
    CHECK_OK(orr_journal_set(w.world, 10));
    orr_component_id ids[] = {4, 5};
    orr_entity both[] = {w.eve, w.eve};
    orr_message message = {.kind = ORR_COMPONENT_REMOVED,
                           .tick = 1,
                           .type = KIT_TYPE(w.world, Tiny),
                           .entities = both,
                           .ids = ids,
                           .count = 2,
                           .world = w.world};
    orri_journal_add(w.world->schedule->journal, &message);
    orr_journal_entry got[2];
    CHECK_EQ(orr_journal_get(w.world, w.eve, got, 2), 2);
    CHECK_EQ(got[0].id, 5);
    CHECK_EQ(got[1].id, 4);
    end(&w);
}

// Compared with a plain list: the last `capacity` entries, whatever the sizes of messages and of
// the ring.
ORR_TEST(journal_of_any_size_keeps_the_newest_entries)
{
    writing w;
    begin(&w);
    uint64_t random = test_seed();
    uint32_t total = 0, capacity = 5, kept = 0;
    orr_entity batch[40];
    CHECK_OK(orr_journal_set(w.world, capacity));
    for (uint32_t step = 0; step < 2000; step++) {
        random = orr_random(random, step, 0, 0);
        if (random % 11 == 0) {
            capacity = 1 + (uint32_t)(random >> 8) % 30;
            CHECK_OK(orr_journal_set(w.world, capacity));
        } else {
            uint32_t count = (uint32_t)(random >> 8) % (random % 5 == 0 ? 40 : 6);
            for (uint32_t i = 0; i < count; i++) {
                batch[i] = (orr_entity){1000 + total++};
            }
            receive_message(&w, ORR_COMPONENT_CHANGED, w.move, step, (orr_type){1}, batch, count);
            kept += count;
        }
        kept = kept < capacity ? kept : capacity;
        orr_journal_entry got[64];
        CHECK_EQ(orr_journal_get(w.world, (orr_entity){0}, got, 64), kept);
        for (uint32_t i = 0; i < kept; i++) {
            CHECK_EQ(got[i].entity.id, 1000 + total - 1 - i);
        }
    }
    end(&w);
}

ORR_TEST(journal_that_is_disabled_frees_its_memory)
{
    writing w;
    begin(&w);
    ORR_REGISTER(w.world, orr_tags, orr_enabled); // Types stay.
    CHECK_OK(orr_journal_set(w.world, 0));        // There was no journal.
    uint64_t bytes = w.k.memory.live_bytes;
    CHECK_OK(orr_journal_set(w.world, 1000));
    CHECK_OK(orr_journal_set(w.world, 1000));
    receive_message(&w, ORR_ENTITY_ADDED, (orr_system){0}, 1, (orr_type){0}, &w.bob, 1);
    CHECK_OK(orr_journal_set(w.world, 0));
    CHECK_EQ(orr_journal_get(w.world, (orr_entity){0}, NULL, 0), 0);
    CHECK(w.k.memory.live_bytes < bytes + 1000); // The query module keeps its own memory.
    orri_journal_destroy(w.world, NULL);
    CHECK_RESULT(orr_journal_set(w.world, UINT32_MAX), ORR_ERR_ARGUMENT);
    end(&w);
}

ORR_TEST(journal_set_inside_a_tick_is_refused)
{
    writing w;
    begin(&w);
    w.world->context->busy = "a tick is under way";
    CHECK_RESULT(orr_journal_set(w.world, 10), ORR_ERR_STATE);
    CHECK_STR(w.k.errors.text, "orr_journal_set: not now, a tick is under way");
    CHECK_RESULT(orr_trace_set(w.world, "x"), ORR_ERR_STATE);
    _Atomic uint64_t violations = 0;
    orri_access access = {.system = "move", .violations = &violations};
    w.world->running.access = &access;
    CHECK_RESULT(orr_journal_set(w.world, 10), ORR_ERR_STATE);
    CHECK_CONTAINS(w.k.errors.text, "'move'");
    CHECK_EQ(w.k.errors.id, ORR_LOG_ID_ACCESS_VIOLATION);
    CHECK_EQ(violations, 1);
    w.world->running.access = NULL;
    w.world->context->busy = NULL;
    end(&w);
}

ORR_TEST(journal_out_of_memory_has_no_effect)
{
    for (uint64_t n = 1;; n++) {
        writing w;
        begin(&w);
        failing_alloc_arm(&w.k.memory, n, false);
        uint32_t tries = 0;
        while (orr_journal_set(w.world, 10) != ORR_OK) {
            tries++;
            CHECK_RESULT(w.k.errors.result, ORR_ERR_MEMORY);
            CHECK(w.world->schedule == NULL || w.world->schedule->journal == NULL);
        }
        receive_message(&w, ORR_ENTITY_ADDED, (orr_system){0}, 1, (orr_type){0}, &w.bob, 1);
        while (orr_journal_set(w.world, 20) != ORR_OK) {
            tries++;
            CHECK_EQ(orr_journal_get(w.world, w.bob, NULL, 0), 1);
        }
        CHECK_EQ(orr_journal_get(w.world, w.bob, NULL, 0), 1);
        CHECK_EQ(tries, w.k.memory.refused);
        bool last = w.k.memory.refused == 0;
        end(&w);
        if (last) {
            CHECK(n > 5);
            break;
        }
    }
}

// ---- with systems -------------------------------------------------------------------------------

static void step_right(orr_run* run)
{
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += 1;
    }
}

static void step_freeze(orr_run* run)
{
    if (run->tick == 2) {
        (void)orr_send_add_type(run, orr_iter_entity(run, 0), KIT_TYPE(run->world, Frozen), NULL,
                                NULL);
    } else if (run->tick == 3) {
        (void)orr_send_destroy(run, orr_iter_entity(run, 0));
    }
}

// The newest entry first, one per line.
static const char* entries_text(const orr_world* world, orr_entity entity)
{
    static char text[2000];
    orr_journal_entry got[32];
    uint32_t count = orr_journal_get(world, entity, got, 32);
    orri_text out = {text, sizeof text, 0};
    text[0] = '\0';
    for (uint32_t i = 0; i < count && i < 32; i++) {
        char one[200];
        (void)orr_journal_print(world, &got[i], one, sizeof one);
        orri_text_add(&out, "%s\n", one);
    }
    return text;
}

ORR_TEST(journal_names_the_system_of_each_change)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity eve = orr_create(world);
    orr_set(world, eve, Position, {0, 0, 0});
    CHECK_OK(orr_journal_set(world, 100)); // Eve exists already.
    (void)KIT_TYPE(world, Frozen);
    (void)orr_system_add(
        world, &(orr_system_desc){.name = "right", .query = "write Position", .run = step_right});
    (void)orr_system_add(world, &(orr_system_desc){.name = "freeze",
                                                   .query = "Position, Velocity",
                                                   .run = step_freeze,
                                                   .adds = "Frozen",
                                                   .destroys = "Position"});
    orr_entity bob = orr_create_named(world, "bob");
    orr_set(world, bob, Position, {5, 0, 0});
    orr_set(world, bob, Velocity, {1, 1});
    CHECK_OK(orr_step(world, 1));
    CHECK_STR(entries_text(world, bob), "tick 1: right changed Position of bob (1v1)\n"
                                        "tick 1: (outside) created bob (1v1)\n");
    CHECK_STR(entries_text(world, eve), "tick 1: right changed Position of 0v1\n");
    CHECK_OK(orr_step(world, 1));
    orr_remove(world, bob, Velocity);
    orr_set(world, bob, Velocity, {2, 2}); // The last value counts.
    CHECK_OK(orr_step(world, 1));
    CHECK_STR(entries_text(world, bob), "tick 3: freeze destroyed 1v1\n"
                                        "tick 3: right changed Position of 1v1\n"
                                        "tick 3: (outside) changed Velocity of 1v1\n"
                                        "tick 2: freeze added Frozen to 1v1\n"
                                        "tick 2: right changed Position of 1v1\n"
                                        "tick 1: right changed Position of 1v1\n"
                                        "tick 1: (outside) created 1v1\n");
    CHECK_EQ(k.errors.count, 0);
    uint64_t hash = orr_world_hash(world);
    CHECK_OK(orr_journal_set(world, 0));
    CHECK_EQ(orr_world_hash(world), hash); // A journal is not part of the state.
    CHECK_OK(orr_step(world, 1));
    CHECK_STR(entries_text(world, eve), "");
    kit_end(&k);
}

// An index that is used again: entries of the earlier entity are not entries of the later one.
ORR_TEST(journal_of_an_entity_leaves_out_earlier_entities_of_its_index)
{
    writing w;
    begin(&w);
    ORR_REGISTER(w.world, Position);
    CHECK_OK(orr_journal_set(w.world, 100));
    orr_entity first = orr_create(w.world);
    CHECK_OK(orr_step(w.world, 1));
    CHECK_OK(orr_destroy(w.world, first));
    CHECK_OK(orr_step(w.world, 1));
    orr_entity second = orr_create(w.world);
    CHECK_EQ((uint32_t)second.id, (uint32_t)first.id);
    CHECK_OK(orr_step(w.world, 1));
    orr_journal_entry entries[4];
    CHECK_EQ(orr_journal_get(w.world, second, entries, 4), 1);
    CHECK_EQ(entries[0].tick, 3);
    CHECK_EQ(orr_journal_get(w.world, first, entries, 4), 2);
    end(&w);
}

static void receive(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        *(uint32_t*)orr_run_user(run) += m->count;
    }
}

// Beginning a journal is no diff: readers receive earlier changes in their tick.
ORR_TEST(journal_begun_between_ticks_changes_nothing_for_readers)
{
    writing w;
    begin(&w);
    ORR_REGISTER(w.world, Position);
    uint32_t received = 0;
    orr_system reader = orr_system_add(
        w.world, &(orr_system_desc){
                     .name = "hear", .kind = ORR_INDIRECT, .run = receive, .user = &received});
    CHECK_OK(orr_step(w.world, 1));
    CHECK_EQ(received, 2);
    orr_create(w.world);
    CHECK_OK(orr_journal_set(w.world, 10));
    orr_system_stats stats;
    CHECK_OK(orr_system_stats_get(w.world, reader, &stats));
    CHECK_EQ(stats.queued, 0);
    CHECK_OK(orr_step(w.world, 1));
    CHECK_EQ(received, 3);
    end(&w);
}
