// SPDX-License-Identifier: MIT
// Messages and events that are handed to a running system while others continue; and which pipeline
// sends which types.
#include "message/deliver/baseline.h"
#include "message/deliver/stage_kit.h"
#include "message/event/event.h"
#include <orrery/schedule.h>

ORR_STRUCT(Hit, (uint32_t, number))
ORR_MARKER(Bell)

#define CHANGED(n) "ComponentChanged written Health 0v1 {value: " #n ", armour: 0}\n"

// ---- messages -----------------------------------------------------------------------------------

typedef struct listener {
    stage s;
    orr_world* world;
    orri_reader* reader;
    orri_counts counts;
    orr_entity bob;
} listener;

static void listener_begin(listener* h, uint64_t queue_max)
{
    memset(h, 0, sizeof *h);
    orr_world* w = h->world = stage_begin(&h->s);
    orr_query* query = orr_query_text(w, "Health");
    h->reader = orri_reader_create(
        w, &(orri_reader_desc){
               .name = "r", .query = query, .queue_max = queue_max, .counts = &h->counts});
    orri_reader_enable(w, h->reader, true);
    h->bob = orr_create(w);
    CHECK_OK(orr_set(w, h->bob, Health, {1, 0}));
    CHECK_OK(orri_diff_run(w, (orr_system){0}, false));
    (void)deliver_kit_take(h->reader);
    orri_reader_done(h->reader);
    h->counts.received = 0;
    w->realtime = true;
}

static void listener_end(listener* h)
{
    orri_reader_destroy(h->world, h->reader);
    h->world->realtime = false;
    stage_end(&h->s);
}

static void listener_change(listener* h, int32_t value)
{
    CHECK_OK(orr_set(h->world, h->bob, Health, {value, 0}));
    CHECK_OK(orri_diff_run(h->world, (orr_system){0}, false));
}

static int32_t value_of(const orr_message* m)
{
    return m != NULL ? ((const Health*)m->values)->value : -1;
}

ORR_TEST(reader_takes_only_messages_handed_to_it)
{
    listener h;
    listener_begin(&h, DELIVER_KIT_ALL);
    TAKES(h.reader, ""); // Nothing was handed to it.
    listener_change(&h, 2);
    listener_change(&h, 3);
    CHECK_EQ(orri_reader_queued(h.reader), 2);
    orri_reader_take(h.reader);
    CHECK_EQ(orri_reader_queued(h.reader), 0);
    const orr_message* first = orri_reader_next(h.reader);
    CHECK_EQ(value_of(first), 2);
    const Health* value = first->values;
    listener_change(&h, 4); // While it runs.
    CHECK_EQ(value_of(orri_reader_next(h.reader)), 3);
    CHECK_EQ(value->value, 2); // The batch stays until the reader is done.
    CHECK(orri_reader_next(h.reader) == NULL);
    CHECK_EQ(orri_reader_queued(h.reader), 1);
    CHECK_EQ(h.counts.received, 0); // Counted at the end of the run.
    orri_reader_done(h.reader);
    CHECK_EQ(h.counts.received, 2);
    CHECK(orri_reader_next(h.reader) == NULL);
    orri_reader_take(h.reader);
    TAKES(h.reader, CHANGED(4));
    orri_reader_done(h.reader);
    CHECK_EQ(h.counts.received, 3);
    // Nothing waits.
    orri_reader_take(h.reader);
    CHECK(orri_reader_next(h.reader) == NULL);
    orri_reader_done(h.reader);
    listener_end(&h);
}

ORR_TEST(messages_not_taken_are_received_first_in_the_next_run)
{
    listener h;
    listener_begin(&h, DELIVER_KIT_ALL);
    for (int32_t i = 2; i < 5; i++) {
        listener_change(&h, i);
    }
    orri_reader_take(h.reader);
    CHECK_EQ(value_of(orri_reader_next(h.reader)), 2);
    listener_change(&h, 5);
    uint64_t hash = orri_reader_hash(h.reader, 1);
    orri_reader_done(h.reader);
    CHECK_EQ(orri_reader_queued(h.reader), 3);
    CHECK(orri_reader_hash(h.reader, 1) != hash);
    orri_reader_take(h.reader);
    orri_reader_done(h.reader); // It took none.
    listener_change(&h, 6);
    CHECK_EQ(orri_reader_queued(h.reader), 4);
    orri_reader_take(h.reader);
    TAKES(h.reader, CHANGED(3) CHANGED(4) CHANGED(5) CHANGED(6));
    orri_reader_done(h.reader);
    CHECK_EQ(orri_reader_queued(h.reader), 0);
    CHECK_EQ(h.counts.received, 5);
    listener_end(&h);
}

ORR_TEST(reader_that_overflows_while_running_receives_everything_again)
{
    listener h;
    listener_begin(&h, 3);
    // Messages that it reads do not count as queued: the limit is for the rest.
    for (int32_t i = 2; i < 5; i++) {
        listener_change(&h, i);
    }
    orri_reader_take(h.reader);
    for (int32_t i = 5; i < 8; i++) {
        listener_change(&h, i);
    }
    CHECK_EQ(orri_reader_queued(h.reader), 3);
    CHECK_EQ(value_of(orri_reader_next(h.reader)), 2);
    CHECK_EQ(value_of(orri_reader_next(h.reader)), 3);
    CHECK_EQ(h.s.k.errors.count, 0);
    orri_reader_done(h.reader); // 4 is returned to the queue: too many.
    CHECK_EQ(h.s.k.errors.result, ORR_ERR_CAPACITY);
    CHECK(orri_reader_lost(h.reader));
    CHECK_EQ(orri_reader_queued(h.reader), 0);
    CHECK_OK(orri_diff_run(h.world, (orr_system){0}, false));
    orri_reader_take(h.reader);
    TAKES(h.reader, "EntityAdded reader 0v1 {Health} Health: {value: 7, armour: 0}\n");
    orri_reader_done(h.reader);
    // The queue overflows while the system runs: the rest of what was handed to it is discarded.
    listener_change(&h, 8);
    listener_change(&h, 9);
    orri_reader_take(h.reader);
    CHECK_EQ(value_of(orri_reader_next(h.reader)), 8);
    for (int32_t i = 10; i < 14; i++) {
        listener_change(&h, i);
    }
    CHECK(orri_reader_lost(h.reader));
    orri_reader_done(h.reader);
    CHECK_EQ(orri_reader_queued(h.reader), 0);
    CHECK_OK(orri_diff_run(h.world, (orr_system){0}, false));
    orri_reader_take(h.reader);
    TAKES(h.reader, "EntityAdded reader 0v1 {Health} Health: {value: 13, armour: 0}\n");
    orri_reader_done(h.reader);
    listener_end(&h);
}

ORR_TEST(reader_disabled_or_destroyed_releases_messages_handed_to_it)
{
    listener h;
    listener_begin(&h, DELIVER_KIT_ALL);
    orri_reader* other = deliver_kit_reader_of(h.world, "Health", false, DELIVER_KIT_ALL);
    CHECK_OK(orri_diff_run(h.world, (orr_system){0}, false));
    // Batches are shared; each reader releases its own view.
    listener_change(&h, 2);
    listener_change(&h, 3);
    orri_reader_take(h.reader);
    orri_reader_take(other);
    CHECK_EQ(value_of(orri_reader_next(h.reader)), 2);
    orri_reader_enable(h.world, h.reader, false);
    orri_reader_done(h.reader);
    CHECK_EQ(orri_reader_queued(h.reader), 0);
    CHECK(orri_reader_next(other)->kind == ORR_ENTITY_ADDED);
    CHECK_EQ(value_of(orri_reader_next(other)), 2);
    orri_reader_done(other);
    CHECK_EQ(orri_reader_queued(other), 1);
    orri_reader_take(other);
    orri_reader_destroy(h.world, other);
    orri_reader_enable(h.world, h.reader, true);
    listener_change(&h, 4);
    orri_reader_take(h.reader);
    listener_end(&h);
}

// ---- events -------------------------------------------------------------------------------------

typedef struct receiver {
    orri_rights rights;
    orri_event_cursors* event_cursors;
    orr_run run;
} receiver;

static void receiver_begin(orr_world* w, receiver* e, const char* name)
{
    orr_type types[] = {KIT_TYPE(w, Hit), KIT_TYPE(w, Bell)};
    *e = (receiver){.rights = {.name = name}};
    e->event_cursors = orri_event_cursors_create(w, types, 2);
    CHECK(e->event_cursors != NULL);
    orri_event_cursors_name(e->event_cursors, name);
    orri_event_cursors_enable(w, e->event_cursors, true);
    e->rights.event_cursors = e->event_cursors;
}

static void receiver_open(orr_world* w, receiver* e)
{
    CHECK(orri_event_cursors_take(w, e->event_cursors));
    e->run = (orr_run){.world = w, .commands = orri_command_buffer_open(w, &e->rights, 0)};
}

static void receiver_close(orr_world* w, receiver* e)
{
    orri_command_buffer_close(w, e->run.commands);
    orri_event_cursors_done(w, e->event_cursors);
    CHECK_OK(orri_events_validate(w));
}

static void receiver_expects(receiver* e, uint32_t first, uint32_t count)
{
    uint32_t got = 77;
    const Hit* hits = orr_events(&e->run, Hit, &got);
    CHECK_EQ(got, count);
    CHECK_EQ(hits != NULL, count > 0);
    for (uint32_t i = 0; i < count; i++) {
        CHECK_EQ(hits[i].number, first + i);
    }
}

static void hit(orr_world* w, uint32_t number)
{
    orr_type type = KIT_TYPE(w, Hit);
    CHECK(orri_events_reserve(w, type, 1, "sender"));
    orri_events_append(w, type, &(Hit){number}, 1);
}

static void ring(orr_world* w)
{
    orr_type type = KIT_TYPE(w, Bell);
    CHECK(orri_events_reserve(w, type, 1, "sender"));
    orri_events_append(w, type, &(Hit){0}, 1);
}

ORR_TEST(events_shown_are_those_of_the_start_of_the_system)
{
    stage s;
    orr_world* w = stage_begin(&s);
    receiver a, b;
    receiver_begin(w, &a, "a");
    receiver_begin(w, &b, "b");
    w->realtime = true;
    hit(w, 1);
    hit(w, 2);
    ring(w);
    receiver_open(w, &a);
    receiver_expects(&a, 1, 2);
    for (uint32_t i = 3; i < 300; i++) {
        hit(w, i); // The queue moves.
    }
    receiver_expects(&a, 1, 2); // And again.
    uint32_t rings = 0;
    CHECK(orr_events(&a.run, Bell, &rings) != NULL);
    CHECK_EQ(rings, 1);
    receiver_close(w, &a);
    receiver_open(w, &a);
    receiver_open(w, &b);
    receiver_expects(&a, 3, 297);
    receiver_expects(&b, 1, 299);
    CHECK(orr_events(&a.run, Bell, &rings) == NULL);
    CHECK_EQ(rings, 0);
    receiver_close(w, &b);
    receiver_close(w, &a);
    // Events that it does not ask for wait.
    receiver_open(w, &b);
    CHECK(orr_events(&b.run, Bell, &rings) != NULL);
    receiver_expects(&b, 0, 0);
    hit(w, 300);
    receiver_close(w, &b);
    receiver_open(w, &b);
    receiver_close(w, &b);
    receiver_open(w, &b);
    receiver_expects(&b, 300, 1);
    receiver_close(w, &b);
    receiver_open(w, &a);
    receiver_expects(&a, 300, 1);
    receiver_close(w, &a);
    CHECK_EQ(orri_event_queue_of(w, KIT_TYPE(w, Hit))->count, 0);
    orri_event_cursors_destroy(w, a.event_cursors);
    w->realtime = false;
    stage_end(&s);
}

ORR_TEST(events_dropped_while_a_system_runs_are_not_read_twice)
{
    stage s;
    orr_world* w = stage_begin(&s);
    receiver a, b;
    receiver_begin(w, &a, "a");
    receiver_begin(w, &b, "looks on");
    orri_event_cursors_spectator(b.event_cursors);
    CHECK_OK(orr_events_limit(w, KIT_TYPE(w, Hit), 4));
    w->realtime = true;
    hit(w, 1);
    hit(w, 2);
    receiver_open(w, &a);
    receiver_expects(&a, 1, 2);
    receiver_close(w, &a);
    receiver_open(w, &b);
    receiver_expects(&b, 1, 2);
    hit(w, 3);
    hit(w, 4);
    hit(w, 5); // Too many because of the spectator: it loses them.
    receiver_expects(&b, 1, 2);
    receiver_close(w, &b);
    receiver_open(w, &b);
    receiver_expects(&b, 5, 1);
    receiver_close(w, &b);
    // Disabled and enabled while it runs: earlier events are not for it.
    receiver_open(w, &a);
    receiver_expects(&a, 3, 3);
    orri_event_cursors_enable(w, a.event_cursors, false);
    CHECK_OK(orri_events_validate(w));
    orri_event_cursors_done(w, a.event_cursors);
    CHECK_OK(orri_events_validate(w));
    orri_command_buffer_close(w, a.run.commands);
    orri_event_cursors_enable(w, a.event_cursors, true);
    hit(w, 6);
    receiver_open(w, &a);
    receiver_expects(&a, 6, 1);
    orri_event_cursors_enable(w, a.event_cursors, false);
    orri_event_cursors_enable(w, a.event_cursors, true);
    receiver_close(w, &a);
    receiver_open(w, &a);
    receiver_expects(&a, 0, 0);
    receiver_close(w, &a);
    CHECK(orri_event_cursors_take(w, NULL));
    w->realtime = false;
    stage_end(&s);
}

ORR_TEST(events_without_memory_are_shown_later)
{
    stage s;
    orr_world* w = stage_begin(&s);
    receiver a;
    receiver_begin(w, &a, "a");
    w->realtime = true;
    for (uint32_t i = 0; i < 200; i++) {
        hit(w, i);
    }
    ring(w);
    failing_alloc_arm(&s.k.memory, 1, false);
    CHECK(!orri_event_cursors_take(w, a.event_cursors));
    CHECK_EQ(s.k.errors.result, ORR_ERR_MEMORY);
    failing_alloc_arm(&s.k.memory, 0, false);
    a.run = (orr_run){.world = w, .commands = orri_command_buffer_open(w, &a.rights, 0)};
    receiver_expects(&a, 0, 0);
    receiver_close(w, &a);
    receiver_open(w, &a);
    receiver_expects(&a, 0, 200);
    receiver_close(w, &a);
    failing_alloc_arm(&s.k.memory, 1, true); // The memory is kept.
    hit(w, 7);
    receiver_open(w, &a);
    receiver_expects(&a, 7, 1);
    receiver_close(w, &a);
    failing_alloc_arm(&s.k.memory, 0, false);
    w->realtime = false;
    stage_end(&s);
}

// ---- which pipeline sends which types -----------------------------------------------------------

typedef struct owners {
    uint64_t bits[2][ORR_TYPES_MAX / 64];
    orri_foreign foreign[2]; // 0 writes Velocity and Body, 1 writes Health and Shot.
} owners;

static void owners_begin(orr_world* w, owners* o)
{
    *o = (owners){0};
    orri_bit_set(o->bits[1], orri_type_index(w, KIT_TYPE(w, Velocity)), true);
    orri_bit_set(o->bits[1], orri_type_index(w, KIT_TYPE(w, Body)), true);
    orri_bit_set(o->bits[0], orri_type_index(w, KIT_TYPE(w, Health)), true);
    orri_bit_set(o->bits[0], orri_type_index(w, KIT_TYPE(w, Shot)), true);
    for (uint32_t i = 0; i < 2; i++) {
        o->foreign[i] = (orri_foreign){o->bits[i], ORR_TYPES_MAX / 64};
    }
}

#define OWNER_DIFF(which, structure) \
    CHECK_OK(orri_diff_own(w, (orr_system){(which) + 1, 1}, false, &o.foreign[which], structure))

ORR_TEST(values_are_sent_by_the_owner_of_the_type)
{
    stage s;
    orr_world* w = stage_begin(&s);
    owners o;
    owners_begin(w, &o);
    orri_reader* r = deliver_kit_reader(w, "Velocity, ?Health, ?Body, ?Shot");
    orr_entity a = orr_create(w);
    CHECK_OK(orr_set(w, a, Velocity, {1, 1}));
    CHECK_OK(orr_set(w, a, Health, {1, 1}));
    CHECK_OK(orr_set(w, a, Body, {1, 1}));
    orr_component_id shot = orr_add_instance(w, a, Shot, {1, 1});
    (void)deliver_kit_diff(w, r);
    CHECK_OK(orr_set(w, a, Velocity, {2, 2}));
    CHECK_OK(orr_set(w, a, Health, {2, 2}));
    CHECK_OK(orr_set(w, a, Body, {2, 2}));
    CHECK_OK(orr_instance_set(w, a, KIT_TYPE(w, Shot), shot, &(Shot){2, 2}));
    OWNER_DIFF(0, false);
    TAKES(r, "ComponentChanged written by 1 Velocity 0v1 {x: 2, y: 2}\n"
             "ComponentChanged written by 1 Body 0v1 {mass: 2, speed: 2}\n");
    OWNER_DIFF(0, false);
    TAKES(r, "");
    OWNER_DIFF(1, false);
    TAKES(r, "ComponentChanged written by 2 Health 0v1 {value: 2, armour: 2}\n"
             "ComponentChanged written by 2 Shot 0v1/1 {power: 2, range: 2}\n");
    // Structure, by the first pipeline: rows, destroyed entities, and its own values. Values of the
    // other wait.
    CHECK_OK(orr_set(w, a, Health, {3, 3}));
    CHECK_OK(orr_set(w, a, Velocity, {3, 3}));
    orr_entity b = orr_create(w);
    CHECK_OK(orr_set(w, b, Velocity, {4, 4}));
    CHECK_OK(orr_set(w, b, Health, {4, 4}));
    OWNER_DIFF(0, true);
    TAKES(r,
          "EntityAdded created by 1 1v1 {Velocity Health} Velocity: {x: 4, y: 4} Health: {value: "
          "4, armour: 4}\n"
          "ComponentChanged written by 1 Velocity 0v1 {x: 3, y: 3}\n");
    CHECK_OK(orr_set(w, b, Health, {5, 5}));
    CHECK_OK(orr_destroy(w, a));
    OWNER_DIFF(0, true);
    TAKES(r, "EntityRemoved destroyed by 1 0v1\n");
    OWNER_DIFF(1, false);
    TAKES(r, "ComponentChanged written by 2 Health 1v1 {value: 5, armour: 5}\n");
    RECEIVES(r, "");
    stage_end(&s);
}

// A pinned value that a call at a sync point added, and that its owner writes and removes before
// structure is compared.
ORR_TEST(pinned_values_come_and_go_with_structure)
{
    stage s;
    orr_world* w = stage_begin(&s);
    owners o;
    owners_begin(w, &o);
    orri_reader* r = deliver_kit_reader(w, "Velocity, ?Body");
    orri_reader* bodies = deliver_kit_reader(w, "Body");
    orr_entity a = orr_create(w), b = orr_create(w);
    CHECK_OK(orr_set(w, a, Velocity, {1, 1}));
    CHECK_OK(orr_set(w, b, Velocity, {2, 2}));
    CHECK_OK(orr_set(w, b, Body, {2, 2}));
    (void)deliver_kit_diff(w, r);
    (void)deliver_kit_take(bodies);
    CHECK_OK(orr_set(w, a, Body, {1, 1}));
    OWNER_DIFF(0, false);
    TAKES(r, ""); // Structure is reported first.
    CHECK_OK(orr_set(w, a, Body, {3, 3}));
    CHECK_OK(orr_set(w, b, Body, {4, 4}));
    OWNER_DIFF(0, false);
    TAKES(r, "ComponentChanged written by 1 Body 1v1 {mass: 4, speed: 4}\n");
    TAKES(bodies, "ComponentChanged written by 1 Body 1v1 {mass: 4, speed: 4}\n");
    CHECK_OK(orr_remove(w, a, Body));
    OWNER_DIFF(0, false);
    OWNER_DIFF(0, true);
    TAKES(r, "");
    CHECK_OK(orr_set(w, a, Body, {5, 5}));
    OWNER_DIFF(0, false);
    OWNER_DIFF(1, true);
    TAKES(r, "ComponentAdded component by 2 Body 0v1 {mass: 5, speed: 5}\n");
    CHECK_OK(orr_remove(w, a, Body));
    OWNER_DIFF(0, false);
    OWNER_DIFF(1, true);
    TAKES(r, "ComponentRemoved component by 2 Body 0v1\n");
    TAKES(bodies, "EntityAdded component by 2 0v1 {Velocity} Body: {mass: 5, speed: 5}\n"
                  "EntityRemoved component by 2 0v1\n");
    stage_end(&s);
}

ORR_TEST(reader_enabled_later_receives_what_all_readers_know)
{
    stage s;
    orr_world* w = stage_begin(&s);
    owners o;
    owners_begin(w, &o);
    orri_reader* r = deliver_kit_reader(w, "Health");
    orr_entity a = orr_create(w);
    CHECK_OK(orr_set(w, a, Health, {1, 1}));
    CHECK_OK(orr_set(w, a, Velocity, {1, 1}));
    (void)deliver_kit_diff(w, r);
    CHECK_OK(orr_set(w, a, Health, {2, 2}));
    orri_reader* late = deliver_kit_reader_of(w, "Health, ?Velocity", false, DELIVER_KIT_ALL);
    OWNER_DIFF(0, false);
    TAKES(late, ""); // Structure is reported first.
    OWNER_DIFF(0, true);
    TAKES(r, "");
    TAKES(late, "EntityAdded reader 0v1 {Velocity Health} Velocity: {x: 1, y: 1} Health: "
                "{value: 1, armour: 1}\n");
    // Back to the old value, which both know.
    CHECK_OK(orr_set(w, a, Health, {1, 1}));
    OWNER_DIFF(1, false);
    TAKES(r, "");
    TAKES(late, "");
    CHECK_OK(orr_set(w, a, Health, {3, 3}));
    OWNER_DIFF(1, false);
    TAKES(r, "ComponentChanged written by 2 Health 0v1 {value: 3, armour: 3}\n");
    TAKES(late, "ComponentChanged written by 2 Health 0v1 {value: 3, armour: 3}\n");
    stage_end(&s);
}
