// SPDX-License-Identifier: MIT
// Readers: which changes of other systems they receive, with which source and when, over whole
// ticks.
#include "schedule/system_kit.h"

// ---- writes of direct systems are reported ------------------------------------------------------

static void write_both(orr_run* run)
{
    Position* p = orr_write(run, Position);
    Velocity* v = orr_write(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += (float)(i % 2); // Every other one.
        v[i].x += 1;
    }
}

static void receive(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        if (m->kind == ORR_COMPONENT_CHANGED) {
            CHECK(orr_message_is(m, Position));
            CHECK_EQ(m->system.id, orr_system_find(run->world, "write").id);
            *(uint32_t*)orr_run_user(run) += m->count;
        }
    }
}

/* N0-07 */
ORR_TEST(direct_writes_become_messages_of_tracked_types_where_they_differ)
{
    kit k;
    orr_world* world = begin(&k);
    for (uint32_t i = 0; i < 10; i++) {
        orr_entity e = orr_create(world);
        CHECK_OK(orr_set(world, e, Position, {0, 0, 0}));
        CHECK_OK(orr_set(world, e, Velocity, {0, 0}));
    }
    uint32_t received = 0;
    KIT_SYSTEM(world, .name = "write", .query = "write Position, write Velocity",
               .run = write_both);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Position", .run = receive,
               .user = &received);
    KIT_STEP(world, 1);
    CHECK_EQ(received, 5);
    KIT_STEP(world, 2);
    CHECK_EQ(received, 15);
    kit_end(&k);
}

static void listen(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        (*(int32_t*)orr_run_user(run))++;
    }
}

static void send_hits(orr_run* run)
{
    CHECK_OK(orr_send_event(run, Hit, {.damage = (int32_t)run->tick}));
}

static void take_hits(orr_run* run)
{
    uint32_t count;
    (void)orr_events(run, Hit, &count);
    *(uint32_t*)orr_run_user(run) += count;
}

static uint64_t hash_with_hits(bool listens, uint32_t ticks, uint32_t* received)
{
    kit k;
    orr_world* world = begin(&k);
    ORR_REGISTER(world, Hit);
    KIT_SYSTEM(world, .name = "send", .once = true, .sends = "?Hit", .run = send_hits);
    if (listens) {
        KIT_SYSTEM(world, .name = "sound", .kind = ORR_INDIRECT, .query = "Position",
                   .receives = "Hit", .run = take_hits, .user = received, .every = 4);
    }
    KIT_STEP(world, ticks);
    uint64_t hash = orr_world_hash(world);
    kit_end(&k);
    return hash;
}

ORR_TEST(events_that_wait_for_a_reader_outside_the_world_do_not_change_its_hash)
{
    for (uint32_t ticks = 1; ticks < 9; ticks++) {
        uint32_t received = 0;
        CHECK_EQ(hash_with_hits(true, ticks, &received), hash_with_hits(false, ticks, NULL));
        CHECK_EQ(received, (ticks - 1) / 4 * 4 + 1);
    }
}

ORR_TEST(reader_outside_the_world_does_not_change_its_hash)
{
    uint64_t hashes[2];
    for (int with = 0; with < 2; with++) {
        kit k;
        orr_world* world = begin_rows(&k);
        int32_t received = 0;
        if (with) {
            KIT_SYSTEM(world, .name = "window", .kind = ORR_INDIRECT, .query = "Position",
                       .run = listen, .user = &received);
        }
        KIT_SYSTEM(world, .name = "count", .query = "Position", .run = kit_run);
        KIT_STEP(world, 3);
        hashes[with] = orr_world_hash(world);
        CHECK_EQ(received > 0, with);
        kit_end(&k);
    }
    CHECK(hashes[0] == hashes[1]);
}

// ---- writes outside of the query ----------------------------------------------------------------

static orr_entity written;

static void write_by_id(orr_run* run)
{
    Position* p = orr_edit(run->world, written, Position);
    CHECK(p != NULL);
    p->x += 1;
}

static void send_by_id(orr_run* run)
{
    CHECK_OK(orr_send_change(run, written, Position, {(float)run->tick, 5, 5}));
}

// Reported in the same tick, with the system that wrote: not only by the diff of the next tick.
ORR_TEST(reader_receives_writes_by_id_in_the_same_tick)
{
    static const struct {
        orr_system_desc desc;
    } ways[] = {
        {{.once = true, .by_id = "write Position", .run = write_by_id}},
        {{.once = true, .query = "Health", .by_id = "write Position", .run = write_by_id}},
        {{.query = "Velocity", .by_id = "write Position", .run = write_by_id}},
        {{.kind = ORR_INDIRECT, .query = "write Position, Velocity", .run = send_by_id}},
        {{.once = true, .query = "Velocity", .changes = "Position", .run = send_by_id}},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        kit k;
        orr_world* world = begin(&k);
        written = make(world, 0);
        CHECK_OK(orr_set(world, orr_create(world), Velocity, {1, 1}));
        KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Position",
                   .run = kit_note_messages, .after = "write");
        orr_system_desc desc = ways[i].desc;
        desc.name = "write";
        kit_taken(world, orr_system_add(world, &desc), __FILE__, __LINE__);
        KIT_STEP(world, 1);
        KIT_SAID("EntityAdded:reader:1: ComponentChanged:Position:1:write");
        KIT_STEP(world, 1);
        KIT_SAID("ComponentChanged:Position:1:write");
        CHECK_EQ(k.errors.count, 0);
        kit_end(&k);
    }
}

static void write_in_loop(orr_run* run)
{
    ORR_EACH (it, orr_run_query(run)) {
        orr_write(&it, Position)->x += 1;
    }
}

static void write_in_query_of_its_own(orr_run* run)
{
    ORR_EACH (it, (orr_query*)orr_run_user(run)) {
        orr_write(&it, Position)->x += 1;
    }
}

ORR_TEST(reader_receives_writes_of_loops_in_the_same_tick)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_query* query = orr_query_text(world, "write Position");
    KIT_SYSTEM(world, .name = "own", .once = true, .query = "write Position", .run = write_in_loop);
    KIT_SYSTEM(world, .name = "other", .once = true, .by_id = "write Position",
               .run = write_in_query_of_its_own, .user = query, .impure = true);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Position",
               .run = kit_note_messages);
    KIT_STEP(world, 1);
    KIT_SAID("EntityAdded:reader:1: ComponentChanged:Position:1:own "
             "ComponentChanged:Position:1:other");
    kit_end(&k);
}

// A type that a reader excludes, and receives no messages about, still decides which entities it
// selects.
ORR_TEST(reader_receives_entities_that_get_or_lose_an_excluded_type)
{
    static const char* const queries[] = {"Position, !Body", "Position, !Frozen", "Position, !#7"};
    for (uint32_t i = 0; i < 3; i++) {
        kit k;
        orr_world* world = begin(&k);
        ORR_REGISTER(world, Body);
        orr_entity bob = make(world, 1);
        make(world, 2);
        KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = queries[i],
                   .run = kit_note_messages);
        KIT_STEP(world, 1);
        KIT_SAID("EntityAdded:reader:2:");
        CHECK_OK(i == 0   ? orr_set(world, bob, Body, {1, 1})
                 : i == 1 ? orr_add(world, bob, Frozen)
                          : orr_tag_add(world, bob, 7));
        KIT_STEP(world, 1);
        KIT_SAID("EntityRemoved:component:1:");
        CHECK_OK(i == 0   ? orr_remove(world, bob, Body)
                 : i == 1 ? orr_remove(world, bob, Frozen)
                          : orr_tag_remove(world, bob, 7));
        KIT_STEP(world, 1);
        KIT_SAID("EntityAdded:component:1:");
        kit_end(&k);
    }
}

// Of equal entities that are destroyed together, those that the reader knew are reported.
ORR_TEST(reader_receives_the_destroy_of_known_entities)
{
    for (uint32_t known = 1; known < 16; known++) {
        kit k;
        orr_world* world = begin(&k);
        orr_entity e[4];
        uint32_t count = 0;
        for (uint32_t i = 0; i < 4; i++) {
            e[i] = make(world, 1);
            count += known >> i & 1;
        }
        for (uint32_t i = 0; i < 4; i++) {
            CHECK_OK(orr_enable(world, e[i], Position, (known >> i & 1) != 0));
        }
        KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Position",
                   .run = kit_note_messages);
        KIT_STEP(world, 1);
        char expected[64];
        snprintf(expected, sizeof expected, "EntityAdded:reader:%u:", count);
        KIT_SAID(expected);
        CHECK_OK(orr_destroy_many(world, e, 4));
        KIT_STEP(world, 1);
        snprintf(expected, sizeof expected, "EntityRemoved:destroyed:%u:", count);
        KIT_SAID(expected);
        kit_end(&k);
    }
}

// ---- disabled readers, queue overflow -----------------------------------------------------------

ORR_TEST(reader_disabled_receives_nothing_and_everything_after)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system reader = KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Position",
                                   .run = kit_note_messages, .every = 2);
    KIT_STEP(world, 1);
    KIT_SAID("EntityAdded:reader:1:");
    make(world, 1);
    KIT_STEP(world, 1);
    CHECK_EQ(kit_stats(world, reader).queued, 1); // Not due.
    CHECK_OK(orr_system_enable(world, reader, false));
    KIT_STEP(world, 1);
    CHECK_EQ(kit_stats(world, reader).queued, 0); // Waiting messages are discarded,
    make(world, 2);
    KIT_STEP(world, 2);
    CHECK_EQ(kit_stats(world, reader).queued, 0); // and no more are queued.
    KIT_SAID("");
    CHECK_OK(orr_system_enable(world, reader, true));
    KIT_STEP(world, 2);
    KIT_SAID("EntityAdded:reader:3:");
    kit_end(&k);
}

// After a queue overflow the system is stopped and started again, then receives everything.
ORR_TEST(reader_receives_everything_again_after_a_queue_overflow)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system reader = KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Position",
                                   .run = kit_note_messages, .messages_max = 3, .every = 3,
                                   WITH_LIFE);
    KIT_STEP(world, 1);
    KIT_SAID("hear.create hear.start EntityAdded:reader:1:");
    make(world, 1);
    make(world, 2);
    KIT_STEP(world, 1);
    CHECK_EQ(kit_stats(world, reader).queued, 2);
    CHECK_EQ(k.errors.count, 0);
    CHECK_OK(orr_entities_destroy_all(world));
    KIT_STEP(world, 1); // Two new entities and one known entity are destroyed: five in all.
    KIT_ERROR(&k, ORR_ERR_CAPACITY, "the message queue of system 'hear' would hold");
    CHECK_EQ(kit_stats(world, reader).queued, 0);
    make(world, 3);
    KIT_STEP(world, 1);
    KIT_SAID("hear.stop hear.start EntityAdded:reader:1:");
    KIT_STEP(world, 3); // Once.
    KIT_SAID("");
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

// Disabled after an overflow, before it ran: it starts once.
ORR_TEST(reader_enabled_after_a_queue_overflow_receives_everything_once)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system reader = KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Position",
                                   .run = kit_note_messages, .messages_max = 2, .every = 5,
                                   WITH_LIFE);
    KIT_STEP(world, 1);
    KIT_SAID("hear.create hear.start EntityAdded:reader:1:");
    for (uint32_t i = 0; i < 3; i++) {
        make(world, 1);
    }
    KIT_STEP(world, 1);
    KIT_ERROR(&k, ORR_ERR_CAPACITY, "the message queue of system 'hear' would hold 3 entities");
    CHECK_OK(orr_entities_destroy_all(world));
    make(world, 2);
    CHECK_OK(orr_system_enable(world, reader, false));
    KIT_STEP(world, 1);
    KIT_SAID("hear.stop");
    CHECK_OK(orr_system_enable(world, reader, true));
    KIT_STEP(world, 3);
    KIT_SAID("hear.start EntityAdded:reader:1:");
    kit_end(&k);
}

// The queue holds exactly its capacity.
ORR_TEST(reader_receives_as_many_messages_as_the_queue_holds)
{
    kit k;
    orr_world* world = begin(&k);
    orr_system reader = KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Position",
                                   .run = kit_note_messages, .messages_max = 3);
    KIT_STEP(world, 1);
    make(world, 1);
    make(world, 2);
    make(world, 3);
    KIT_STEP(world, 1);
    KIT_SAID("EntityAdded:created:3:");
    CHECK_EQ(kit_stats(world, reader).received, 3);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

// ---- numbers of clusters ------------------------------------------------------------------------

static void see_types(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        for (uint32_t t = 0; m->kind == ORR_ENTITY_ADDED && t < m->type_count; t++) {
            kit_say(orr_type_info_get(run->world, m->types[t])->name);
        }
    }
}

// The number of a cluster is reused for another one.
ORR_TEST(reader_receives_types_of_a_cluster_with_a_reused_number)
{
    kit k;
    orr_world* world = begin(&k);
    KIT_SYSTEM(world, .name = "see", .kind = ORR_INDIRECT, .run = see_types);
    orr_cluster first = KIT_CLUSTER(world, Position, Health);
    CHECK_OK(orr_create_many(world, first, 1, NULL, 0, NULL));
    KIT_STEP(world, 1);
    KIT_SAID("Position Health");
    CHECK_OK(orr_cluster_clear(world, first));
    CHECK_OK(orr_cluster_delete(world, first));
    orr_cluster second = KIT_CLUSTER(world, Velocity, Frozen);
    CHECK_EQ(second.id, first.id);
    CHECK_OK(orr_create_many(world, second, 1, NULL, 0, NULL));
    KIT_STEP(world, 1);
    KIT_SAID("Velocity Frozen");
    kit_end(&k);
}

// ---- sources of changes, also after refused memory ----------------------------------------------

static void send_first(orr_run* run)
{
    orr_entity made = orr_send_create(run);
    if (made.id != 0) {
        (void)orr_send_add(run, made, Position, {1, 2, 3});
    }
}

// A change sent by a callback names its system as source, whichever allocation of the tick is
// refused.
ORR_TEST(reader_receives_the_sender_of_a_callback_also_after_a_memory_refusal)
{
    uint32_t half = 0;
    for (uint64_t n = 1;; n++) {
        kit k;
        orr_world* world = begin_rows(&k);
        KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Position",
                   .run = kit_note_messages);
        KIT_STEP(world, 1);
        kit_line[0] = '\0';
        KIT_SYSTEM(world, .name = "send", .once = true, .creates = "Position",
                   .run = kit_run_nothing, .start = send_first);
        failing_alloc_arm(&k.memory, n, false);
        orr_result result = orr_step(world, 1);
        uint64_t refused = k.memory.refused;
        failing_alloc_arm(&k.memory, 0, false);
        bool open = orr_tick_open(world);
        bool lost = result != ORR_OK && k.errors.id == ORR_LOG_ID_SEND_REFUSED;
        half += open;
        if (result != ORR_OK && (open || orr_world_tick(world) == 1)) {
            KIT_STEP(world, 1);
        }
        if (!lost) { // The send itself was not refused.
            KIT_SAID("EntityAdded:created:1:send");
        }
        kit_end(&k);
        if (refused == 0) {
            break;
        }
    }
    CHECK(half > 3);
}
