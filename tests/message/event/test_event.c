// SPDX-License-Identifier: MIT
// Event queues: each system gets each event once and in order, whatever the others do.
#include "message/event/event.h"
#include "support/pinned_kit.h"
#include "support/store_kit.h"
#include "test.h"

#include <stdlib.h>

ORR_STRUCT(Hit, (uint32_t, number))
ORR_STRUCT(Loud, (uint8_t, a), (double, b), (uint16_t, c)) // 13 bytes of 24 are padding.
ORR_STRUCT_EX(Several, (.multiplicity = ORR_MULTIPLE), (uint32_t, number))
ORR_STRUCT(Child, (orr_entity, parent, (.flags = ORR_FIELD_INDEXED)))
ORR_MARKER(Bell)

// A system that only reads events.
typedef struct receiver {
    orri_rights rights;
    orri_event_cursors* event_cursors;
    orr_run run;
} receiver;

static void receiver_open_types(orr_world* world, receiver* e, const char* name,
                                const orr_type* types, uint32_t count)
{
    *e = (receiver){.rights = {.name = name}};
    e->event_cursors = orri_event_cursors_create(world, types, count);
    CHECK(e->event_cursors != NULL);
    orri_event_cursors_name(e->event_cursors, name);
    orri_event_cursors_enable(world, e->event_cursors, true);
    e->rights.event_cursors = e->event_cursors;
}

// Receives Hit.
static void receiver_open(orr_world* world, receiver* e, const char* name)
{
    orr_type hit = KIT_TYPE(world, Hit);
    receiver_open_types(world, e, name, &hit, 1);
}

static void receiver_begin(orr_world* world, receiver* e)
{
    e->run = (orr_run){.world = world, .commands = orri_command_buffer_open(world, &e->rights, 0)};
}

static void receiver_end(orr_world* world, receiver* e)
{
    orri_event_cursors_done(world, e->event_cursors);
    orri_command_buffer_close(world, e->run.commands);
}

static void send(orr_world* world, uint32_t number)
{
    orr_type type = KIT_TYPE(world, Hit);
    CHECK(orri_events_reserve(world, type, 1, "sender"));
    orri_events_append(world, type, &(Hit){number}, 1);
}

// One run in which it asks and is shown first … first + count - 1.
static void receiver_expect(orr_world* world, receiver* e, uint32_t first, uint32_t count)
{
    receiver_begin(world, e);
    uint32_t got = 77;
    const Hit* hits = orr_events(&e->run, Hit, &got);
    CHECK_EQ(got, count);
    CHECK((hits != NULL) == (count > 0));
    for (uint32_t i = 0; i < count; i++) {
        CHECK_EQ(hits[i].number, first + i);
    }
    receiver_end(world, e);
}

static orri_event_queue* queue_of(orr_world* world)
{
    return orri_event_queue_of(world, KIT_TYPE(world, Hit));
}

ORR_TEST(events_reach_each_reader_once_and_in_order)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    receiver a, b;
    receiver_open(world, &a, "a");
    receiver_open(world, &b, "b");
    receiver_expect(world, &a, 0, 0);
    send(world, 1);
    send(world, 2);
    receiver_expect(world, &a, 1, 2);
    receiver_expect(world, &a, 0, 0);
    send(world, 3);
    receiver_expect(world, &a, 3, 1);
    receiver_expect(world, &b, 1, 3);
    CHECK_EQ(queue_of(world)->count, 0); // Read by all systems, so removed.
    receiver_expect(world, &b, 0, 0);
    CHECK_EQ(k.errors.count, 0);
    orri_event_cursors_destroy(world, a.event_cursors);
    orri_event_cursors_destroy(world, b.event_cursors);
    kit_end(&k);
}

ORR_TEST(event_sent_during_a_run_is_received_in_the_next_run)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    receiver a;
    receiver_open(world, &a, "a");
    send(world, 1);
    receiver_begin(world, &a);
    uint32_t count;
    CHECK_EQ(orr_events(&a.run, Hit, &count)->number, 1);
    // An event that it sends itself is in the queue before its read position advances.
    send(world, 2);
    CHECK_EQ(orr_events(&a.run, Hit, &count)->number, 1); // Asking again gives the same.
    CHECK_EQ(count, 1);
    receiver_end(world, &a);
    receiver_expect(world, &a, 2, 1);
    // The same when there was nothing at first.
    receiver_begin(world, &a);
    CHECK(orr_events(&a.run, Hit, &count) == NULL);
    send(world, 3);
    CHECK(orr_events(&a.run, Hit, &count) == NULL);
    CHECK_EQ(count, 0);
    receiver_end(world, &a);
    receiver_expect(world, &a, 3, 1);
    kit_end(&k); // Cursors that were not destroyed are freed with the world.
}

ORR_TEST(event_not_read_waits)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type types[] = {KIT_TYPE(world, Hit), KIT_TYPE(world, Loud), KIT_TYPE(world, Hit)};
    receiver a;
    receiver_open_types(world, &a, "a", types, 3); // Named twice is received once.
    CHECK_EQ(a.event_cursors->count, 2);
    send(world, 1);
    receiver_begin(world, &a);
    uint32_t count;
    CHECK(orr_events(&a.run, Loud, &count) == NULL);
    receiver_end(world, &a);
    send(world, 2);
    receiver_expect(world, &a, 1, 2);
    kit_end(&k);
}

ORR_TEST(events_of_several_runs_of_a_system_are_the_same)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    receiver a;
    receiver_open(world, &a, "a");
    send(world, 1);
    for (uint32_t run = 0; run < 3; run++) {
        uint32_t count;
        receiver_begin(world, &a);
        CHECK_EQ(orr_events(&a.run, Hit, &count)->number, 1);
        CHECK_EQ(count, 1);
        orri_command_buffer_close(world, a.run.commands);
    }
    orri_event_cursors_done(world, a.event_cursors);
    receiver_expect(world, &a, 0, 0);
    kit_end(&k);
}

ORR_TEST(event_marker_is_counted)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type bell = KIT_TYPE(world, Bell);
    receiver a;
    receiver_open_types(world, &a, "a", &bell, 1);
    CHECK(orri_events_reserve(world, bell, 3, "sender"));
    orri_events_append(world, bell, NULL, 3);
    receiver_begin(world, &a);
    uint32_t count;
    CHECK(orr_events_type(&a.run, bell, &count) != NULL);
    CHECK_EQ(count, 3);
    uint64_t three = orri_events_hash(world, 1);
    receiver_end(world, &a);
    CHECK(orri_events_hash(world, 1) != three);
    kit_end(&k);
}

ORR_TEST(event_types_that_are_not_plain_are_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    static const struct {
        const orr_type_desc* desc;
        const char* word;
    } cases[] = {
        {ORR_TYPE(Label), "has owned strings"}, {ORR_TYPE(List), "has owned strings or arrays"},
        {ORR_TYPE(Token), "has hooks"},         {ORR_TYPE(Several), "ORR_MULTIPLE"},
        {ORR_TYPE(Body), "ORR_PINNED"},         {ORR_TYPE(Seen), "ORR_PINNED"},
        {ORR_TYPE(Child), "indexed"},
    };
    for (uint32_t i = 0; i < ORRI_COUNT(cases); i++) {
        orr_type type = orr_type_of(world, cases[i].desc);
        CHECK_RESULT(orri_event_check(world, "sends", type), ORR_ERR_TYPE);
        CHECK_CONTAINS(k.errors.text, cases[i].word);
        CHECK_CONTAINS(k.errors.text, cases[i].desc->name);
        CHECK_EQ(k.errors.id, ORR_LOG_ID_SEND_REFUSED);
        CHECK(orri_event_cursors_create(world, &type, 1) == NULL);
        CHECK_RESULT(orr_events_limit(world, type, 5), ORR_ERR_TYPE);
    }
    CHECK_RESULT(orri_event_check(world, "sends", (orr_type){0}), ORR_ERR_TYPE);
    CHECK_OK(orri_event_check(world, "sends", KIT_TYPE(world, Link))); // References are plain.
    CHECK_OK(orri_event_check(world, "sends", KIT_TYPE(world, Bell)));
    kit_end(&k);
}

ORR_TEST(event_past_the_limit_is_refused_with_the_remedy)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type hit = KIT_TYPE(world, Hit);
    receiver quick, slow;
    receiver_open(world, &quick, "quick");
    receiver_open(world, &slow, "slow");
    CHECK_OK(orr_events_limit(world, hit, 5));
    CHECK(!orri_events_reserve(world, hit, 6, "sender")); // Reading would not help.
    CHECK_STR(k.errors.text,
              "system 'sender' sent 6 events Hit in one tick, but at most 5 may wait: all of "
              "them are dropped. Send fewer, or raise the limit with orr_events_limit()");
    for (uint32_t i = 0; i < 4; i++) {
        send(world, i);
    }
    receiver_expect(world, &quick, 0, 4);
    uint64_t hash = orri_events_hash(world, 1);
    CHECK(!orri_events_reserve(world, hit, 2, "sender"));
    CHECK_RESULT(k.errors.result, ORR_ERR_CAPACITY);
    CHECK_EQ(k.errors.id, ORR_LOG_ID_QUEUE_FULL);
    CHECK_STR(
        k.errors.text,
        "4 events Hit wait and system 'sender' sent 2 more, but at most 5 may wait; system 'slow' "
        "has not read 4 of them. Let it run and call orr_events() in every run, disable it, send "
        "fewer, or "
        "raise the limit with orr_events_limit()");
    CHECK_EQ(orri_events_hash(world, 1), hash);
    send(world, 4);                            // One more has room.
    CHECK_OK(orr_events_limit(world, hit, 2)); // Below the number that waits: nothing is lost.
    CHECK(!orri_events_reserve(world, hit, 1, "sender"));
    receiver_expect(world, &slow, 0, 5);
    CHECK(!orri_events_reserve(world, hit, 2, "sender")); // `quick` has one left.
    CHECK_CONTAINS(k.errors.text, "quick");
    receiver_expect(world, &quick, 4, 1);
    send(world, 5);
    CHECK_OK(orr_events_limit(world, hit, 0));
    CHECK_EQ(queue_of(world)->limit, ORR_EVENTS_MAX);
    kit_end(&k);
}

ORR_TEST(event_not_declared_is_a_violation)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    receiver deaf = {.rights = {.name = "deaf"}}, other;
    receiver_open(world, &other, "other");
    receiver_begin(world, &deaf);
    uint32_t count = 7;
    CHECK(orr_events(&deaf.run, Hit, &count) == NULL);
    CHECK_EQ(count, 0);
    CHECK_STR(k.errors.text, "orr_events: system 'deaf' reads events Hit, which it did not "
                             "declare; add .receives = \"Hit\"");
    CHECK_EQ(k.errors.id, ORR_LOG_ID_ACCESS_VIOLATION);
    receiver_begin(world, &other);
    CHECK(orr_events(&other.run, Loud, &count) == NULL);
    CHECK_CONTAINS(k.errors.text, "system 'other' reads events Loud");
    CHECK(orr_events_type(&other.run, (orr_type){0}, &count) == NULL);
    CHECK_RESULT(k.errors.result, ORR_ERR_TYPE);
    CHECK_EQ(deaf.rights.counts.violations, 1);
    CHECK_EQ(other.rights.counts.violations, 1);
    CHECK(orr_events(&(orr_run){.world = world}, Hit, &count) == NULL); // Not in a system.
    CHECK_EQ(k.errors.count, 4);
    receiver_end(world, &deaf);
    receiver_end(world, &other);
    kit_end(&k);
}

ORR_TEST(event_without_a_receiver_is_not_kept)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    send(world, 1);
    receiver a;
    receiver_open(world, &a, "a");
    receiver_expect(world, &a, 0, 0);                                // From now on.
    orri_events_append(world, KIT_TYPE(world, Loud), &(Loud){0}, 1); // The type has no queue.
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(event_does_not_wait_for_a_disabled_receiver)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    receiver a, b;
    receiver_open(world, &a, "a");
    receiver_open(world, &b, "b");
    send(world, 1);
    receiver_expect(world, &b, 1, 1);
    CHECK_EQ(queue_of(world)->count, 1);
    orri_event_cursors_enable(world, a.event_cursors, false);
    orri_event_cursors_enable(world, a.event_cursors, false); // Twice does no harm.
    CHECK_EQ(queue_of(world)->count, 0);
    receiver_expect(world, &a, 0, 0);
    send(world, 2);
    receiver_expect(world, &b, 2, 1);
    orri_event_cursors_enable(world, a.event_cursors, true);
    receiver_expect(world, &a, 0, 0);
    send(world, 3);
    receiver_expect(world, &a, 3, 1);
    orri_event_cursors_enable(world, a.event_cursors, false);
    orri_event_cursors_enable(world, b.event_cursors, false);
    CHECK_EQ(queue_of(world)->count, 0);
    send(world, 4); // All are off: that is no mistake, and it is not kept.
    CHECK_EQ(k.errors.count, 0);
    orri_event_cursors_enable(world, b.event_cursors, true);
    receiver_expect(world, &b, 0, 0);
    // Destroyed cursors are not waited for either.
    send(world, 5);
    orri_event_cursors_destroy(world, b.event_cursors);
    CHECK_EQ(queue_of(world)->count, 0);
    orri_event_cursors_destroy(world, NULL);
    kit_end(&k);
}

// ---- memory -------------------------------------------------------------------------------------

ORR_TEST(queue_memory_is_reused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    receiver a, late;
    receiver_open(world, &a, "a");
    receiver_open(world, &late, "late");
    uint32_t sent = 0, read = 0, read_late = 0;
    for (uint32_t tick = 0; tick < 3000; tick++) {
        for (uint32_t i = 0; i < 10 + tick % 7; i++) {
            send(world, sent++);
        }
        receiver_expect(world, &a, read, sent - read);
        read = sent;
        if (tick % 2 == 1) { // Reads what came up to the tick before: never all.
            receiver_begin(world, &late);
            uint32_t count;
            const Hit* hits = orr_events(&late.run, Hit, &count);
            CHECK_EQ(hits[0].number, read_late);
            CHECK_EQ(hits[count - 1].number, sent - 1);
            send(world, sent++);
            receiver_end(world, &late);
            read_late += count;
        }
        if (tick == 100) {
            failing_alloc_arm(&k.memory, 0, false);
        }
    }
    CHECK_EQ(k.memory.requests, 0); // The queue no longer grows.
    CHECK(queue_of(world)->capacity <= 128);
    CHECK(sent > 30000);
    kit_end(&k);
}

// Waiting events are not moved at every tick: the backlog of a slow system is moved when the memory
// doubles.
ORR_TEST(queue_that_is_not_read_grows_by_doubling)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    receiver a;
    receiver_open(world, &a, "a");
    uint32_t moves = 0;
    const uint8_t* data = NULL;
    for (uint32_t i = 0; i < 100000; i++) {
        send(world, i);
        moves += queue_of(world)->data != data;
        data = queue_of(world)->data;
    }
    CHECK(moves <= 12);
    receiver_expect(world, &a, 0, 100000);
    kit_end(&k);
}

ORR_TEST(event_out_of_memory_has_no_effect)
{
    for (uint64_t n = 1;; n++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        orr_type types[] = {KIT_TYPE(world, Hit), KIT_TYPE(world, Loud), KIT_TYPE(world, Tiny)};
        uint64_t hash = orr_world_hash(world);
        failing_alloc_arm(&k.memory, n, false);
        uint64_t refused = 0;
        orri_event_cursors* cursors;
        while ((cursors = orri_event_cursors_create(world, types, 2)) == NULL) {
            CHECK_EQ(++refused, k.memory.refused);
            CHECK_RESULT(k.errors.result, ORR_ERR_MEMORY);
            CHECK_OK(orr_world_validate(world));
            CHECK_EQ(orr_world_hash(world), hash);
        }
        orri_event_cursors_enable(world, cursors, true);
        for (uint32_t i = 0; i < 200; i++) {
            while (!orri_events_reserve(world, types[0], 1, "sender")) {
                CHECK_EQ(++refused, k.memory.refused);
                CHECK_CONTAINS(k.errors.text, "Hit");
                CHECK_EQ(orri_event_queue_of(world, types[0])->count, i);
                CHECK_OK(orri_events_validate(world));
            }
            orri_events_append(world, types[0], &(Hit){i}, 1);
        }
        while (orr_events_limit(world, types[2], 7) != ORR_OK) {
            refused++;
        }
        bool last = k.memory.refused == 0;
        CHECK_EQ(k.errors.count, last ? 0 : 1);
        orri_event_cursors_destroy(world, cursors);
        kit_end(&k);
        if (last) {
            CHECK(n > 6);
            break;
        }
    }
}

// ---- state --------------------------------------------------------------------------------------

ORR_TEST(events_unread_are_part_of_the_state)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type types[] = {KIT_TYPE(world, Hit), KIT_TYPE(world, Loud)};
    receiver a, b;
    receiver_open_types(world, &a, "a", types, 2);
    receiver_open_types(world, &b, "b", types, 2);
    uint64_t none = orri_events_hash(world, 1);
    CHECK_EQ(none, 1);
    send(world, 1);
    uint64_t one = orri_events_hash(world, 1);
    CHECK(one != none);
    receiver_expect(world, &a, 1, 1);
    uint64_t read_by_a = orri_events_hash(world, 1);
    CHECK(read_by_a != one);
    receiver_expect(world, &b, 1, 1);
    CHECK_EQ(orri_events_hash(world, 1), none);
    // The same events wait again: the number of earlier events does not matter.
    send(world, 1);
    CHECK_EQ(orri_events_hash(world, 1), one);
    receiver_expect(world, &b, 1, 1);
    CHECK(orri_events_hash(world, 1) != read_by_a); // Another one has read it.
    receiver_expect(world, &a, 1, 1);
    send(world, 2);
    CHECK(orri_events_hash(world, 1) != one);
    orri_event_cursors_enable(world, a.event_cursors, false);
    orri_event_cursors_enable(world, b.event_cursors, false);
    CHECK_EQ(orri_events_hash(world, 1), none);
    kit_end(&k);
}

static void send_loud(orr_world* world, uint8_t fill, uint8_t a, double b, uint16_t c)
{
    Loud value;
    memset(&value, fill, sizeof value);
    value.a = a, value.b = b, value.c = c;
    orr_type type = KIT_TYPE(world, Loud);
    CHECK(orri_events_reserve(world, type, 1, "sender"));
    orri_events_append(world, type, &value, 1);
}

ORR_TEST(event_padding_is_clean_and_order_counts)
{
    kit k[3] = {0};
    uint64_t hashes[3];
    for (uint32_t i = 0; i < 3; i++) {
        orr_world* world = kit_begin(&k[i], NULL);
        orr_type loud = KIT_TYPE(world, Loud);
        receiver a;
        receiver_open_types(world, &a, "a", &loud, 1);
        uint8_t fill = i == 1 ? 0xFF : 0x00, second = i == 2;
        send_loud(world, fill, (uint8_t)(1 + second), 2, 3);
        send_loud(world, fill, (uint8_t)(2 - second), 2, 3);
        hashes[i] = orri_events_hash(world, 1);
        receiver_begin(world, &a);
        uint32_t count;
        const uint8_t* bytes = (const uint8_t*)orr_events(&a.run, Loud, &count);
        for (uint32_t at = 1; at < offsetof(Loud, b); at++) {
            CHECK_EQ(bytes[at], 0);
        }
        receiver_end(world, &a);
        kit_end(&k[i]);
    }
    CHECK_EQ(hashes[0], hashes[1]);
    CHECK(hashes[0] != hashes[2]);
}

ORR_TEST(event_queue_with_a_wrong_count_is_reported)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    receiver a;
    receiver_open(world, &a, "a");
    send(world, 1);
    orri_event_queue* queue = queue_of(world);
    queue->at_base++;
    CHECK_RESULT(orri_events_validate(world), ORR_ERR_CORRUPT);
    CHECK_CONTAINS(k.errors.text, "the event queue of Hit has a wrong count of cursors");
    queue->at_base--;
    a.event_cursors->cursors[0].at += 2;
    CHECK_RESULT(orri_events_validate(world), ORR_ERR_CORRUPT);
    a.event_cursors->cursors[0].at -= 1, queue->at_base = 0;
    CHECK_RESULT(orri_events_validate(world), ORR_ERR_CORRUPT);
    CHECK_CONTAINS(k.errors.text, "keeps events that all systems have read");
    a.event_cursors->cursors[0].at -= 1, queue->at_base = 1;
    uint32_t capacity = queue->capacity;
    queue->capacity = 0;
    CHECK_RESULT(orri_events_validate(world), ORR_ERR_CORRUPT);
    queue->capacity = capacity;
    a.event_cursors->cursors[0].queue = NULL;
    CHECK_RESULT(orri_events_validate(world), ORR_ERR_CORRUPT);
    a.event_cursors->cursors[0].queue = queue;
    kit_end(&k);
}

// ---- against an oracle --------------------------------------------------------------------------

enum {
    RECEIVERS = 6,
    KINDS = 3,
    SENT_MAX = 200000
};

typedef struct listening {
    kit k;
    orr_world* world;
    orr_type types[KINDS]; // Of 4, 4 and 8 bytes.
    receiver receivers[RECEIVERS];
    bool there[RECEIVERS], on[RECEIVERS], asked[RECEIVERS][KINDS];
    uint32_t next[RECEIVERS][KINDS];  // The first event it has not read.
    uint32_t shown[RECEIVERS][KINDS]; // The end of the events it was shown.
    uint32_t sent[KINDS];
    uint64_t random;
} listening;

static uint32_t pick(listening* l, uint32_t below)
{
    l->random = orr_random(l->random, 1, 2, 3);
    return (uint32_t)orr_random_below(l->random, below);
}

static void listening_send(listening* l)
{
    uint32_t kind = pick(l, KINDS), count = pick(l, pick(l, 8) == 0 ? 400 : 12);
    uint64_t values[400];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = l->sent[kind]++;
        if (kind == 2) {
            values[i] = number;
        } else {
            memcpy((uint32_t*)(void*)values + i, &number, sizeof number);
        }
    }
    CHECK(orri_events_reserve(l->world, l->types[kind], count, "sender"));
    orri_events_append(l->world, l->types[kind], values, count);
}

static void listening_read(listening* l, uint32_t e, uint32_t kind)
{
    uint32_t count;
    const uint8_t* values = orr_events_type(&l->receivers[e].run, l->types[kind], &count);
    if (!l->on[e]) {
        CHECK_EQ(count, 0);
        return;
    }
    if (!l->asked[e][kind]) {
        l->asked[e][kind] = true;
        l->shown[e][kind] = l->sent[kind];
    }
    CHECK_EQ(count, l->shown[e][kind] - l->next[e][kind]);
    size_t size = kind == 2 ? 8 : 4;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number;
        memcpy(&number, values + i * size, sizeof number);
        CHECK_EQ(number, l->next[e][kind] + i);
    }
}

static void listening_run(listening* l, uint32_t e)
{
    receiver_begin(l->world, &l->receivers[e]);
    for (uint32_t step = pick(l, 5); step > 0; step--) {
        if (pick(l, 4) == 0) {
            listening_send(l);
        } else {
            listening_read(l, e, pick(l, KINDS));
        }
    }
    receiver_end(l->world, &l->receivers[e]);
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        if (l->asked[e][kind]) {
            l->next[e][kind] = l->shown[e][kind];
        }
        l->asked[e][kind] = false;
    }
}

static void listening_switch(listening* l, uint32_t e, bool on)
{
    orri_event_cursors_enable(l->world, l->receivers[e].event_cursors, on);
    if (on && !l->on[e]) {
        memcpy(l->next[e], l->sent, sizeof l->sent);
    }
    l->on[e] = on;
}

static void listening_step(listening* l)
{
    uint32_t e = pick(l, RECEIVERS), what = pick(l, 20);
    if (what < 8) {
        listening_send(l);
    } else if (!l->there[e]) {
        receiver_open_types(l->world, &l->receivers[e], "receiver", l->types, KINDS);
        l->there[e] = l->on[e] = true;
        memcpy(l->next[e], l->sent, sizeof l->sent);
    } else if (what < 18) {
        listening_run(l, e);
    } else if (what == 18) {
        listening_switch(l, e, pick(l, 2) != 0);
    } else {
        orri_event_cursors_destroy(l->world, l->receivers[e].event_cursors);
        l->there[e] = l->on[e] = false;
    }
}

ORR_TEST(events_at_random_equal_the_oracle)
{
    listening* l = calloc(1, sizeof *l);
    l->world = kit_begin(&l->k, NULL);
    l->random = test_seed();
    l->types[0] = KIT_TYPE(l->world, Hit);
    l->types[1] = KIT_TYPE(l->world, uint32_t);
    l->types[2] = KIT_TYPE(l->world, uint64_t);
    for (uint32_t step = 0; step < 20000; step++) {
        listening_step(l);
        if (step % 64 == 0) {
            CHECK_OK(orri_events_validate(l->world));
        }
    }
    CHECK(l->sent[0] > 1000);
    kit_end(&l->k);
    free(l);
}
