// SPDX-License-Identifier: MIT
// Transactions: every operation on every kind of number, by hand; which wait, which are dropped,
// which are refused; and at random against a model that sorts by target, buffer and call and
// applies one after the other.
#include "message/command_kit.h"
#include "message/transaction/transaction.h"
#include "store/cow/share.h"
#include "store/snapshot/snapshot.h"
#include "test.h"
#include <math.h>
#include <stdlib.h>

ORR_STRUCT(Inner, (float, x), (int16_t, y))
ORR_STRUCT(Wide, (int8_t, i8), (uint8_t, u8), (int16_t, i16), (uint16_t, u16), (int32_t, i32),
           (uint32_t, u32), (int64_t, i64), (uint64_t, u64), (float, f32), (double, f64),
           (bool, on), (Inner, inner), (int32_t, list, 3), (orr_entity, friend))

typedef struct transact_test {
    command_kit k;
    orr_world* world;
    sender a, b;
    uint64_t transacts[SENDER_WORDS];
    orr_type wide;
    orr_entity bob, eve;
} transact_test;

static void begin(transact_test* t)
{
    memset(t, 0, sizeof *t);
    t->world = command_kit_begin(&t->k, NULL);
    t->wide = KIT_TYPE(t->world, Wide);
    memset(t->transacts, 0xFF, sizeof t->transacts);
    sender_begin_free(&t->a, t->world, "first", 1);
    sender_begin_free(&t->b, t->world, "second", 2);
    t->a.rights.transacts = t->b.rights.transacts = t->transacts;
    t->bob = orr_create_named(t->world, "bob");
    t->eve = orr_create_named(t->world, "eve");
    CHECK_OK(orr_set(t->world, t->bob, Count, {1}));
    CHECK_OK(orr_set(t->world, t->eve, Count, {2}));
    CHECK_OK(orr_set(t->world, t->bob, Wide, {0}));
}

static orr_result transact(transact_test* t, bool early, bool* changed)
{
    return orri_transaction_commit(t->world, early, NULL, NULL, changed);
}

// Applies the posted transactions; there must be some.
static void done(transact_test* t)
{
    bool changed;
    sender_close(&t->a);
    CHECK_OK(transact(t, false, &changed));
    CHECK(changed);
    CHECK(!orri_transaction_pending(t->world));
    CHECK_OK(orr_world_validate(t->world));
}

static const Wide* wide(const transact_test* t)
{
    return orr_get(t->world, t->bob, Wide);
}

// ---- ops ----------------------------------------------------------------------------------------

#define POST(t, op, member, ...) \
    CHECK_OK(orr_transact(&(t)->a.run, op, (t)->bob, Wide, member, __VA_ARGS__))

ORR_TEST(transact_set_replaces_every_kind_of_field)
{
    transact_test t;
    begin(&t);
    (void)sender_open(&t.a, 0);
    POST(&t, ORR_OP_SET, i8, -7);
    POST(&t, ORR_OP_SET, u8, 200);
    POST(&t, ORR_OP_SET, i16, -3000);
    POST(&t, ORR_OP_SET, u16, 60000);
    POST(&t, ORR_OP_SET, i32, -70000);
    POST(&t, ORR_OP_SET, u32, 4000000000u);
    POST(&t, ORR_OP_SET, i64, INT64_MIN);
    POST(&t, ORR_OP_SET, u64, UINT64_MAX);
    POST(&t, ORR_OP_SET, f32, -1.5f);
    POST(&t, ORR_OP_SET, f64, 1e300);
    POST(&t, ORR_OP_SET, on, true);
    POST(&t, ORR_OP_SET, inner.y, 9);
    POST(&t, ORR_OP_SET, list[2], 33);
    POST(&t, ORR_OP_SET, friend, t.eve);
    done(&t);
    const Wide* w = wide(&t);
    CHECK_EQ(w->i8, -7);
    CHECK_EQ(w->u8, 200);
    CHECK_EQ(w->i16, -3000);
    CHECK_EQ(w->u16, 60000);
    CHECK_EQ(w->i32, -70000);
    CHECK_EQ(w->u32, 4000000000u);
    CHECK(w->i64 == INT64_MIN && w->u64 == UINT64_MAX);
    CHECK(w->f32 == -1.5f && w->f64 == 1e300 && w->on);
    CHECK_EQ(w->inner.y, 9);
    CHECK(w->inner.x == 0 && w->list[1] == 0);
    CHECK_EQ(w->list[2], 33);
    CHECK_EQ(w->friend.id, t.eve.id);
    CHECK_EQ(t.a.rights.counts.sent, 14);
    // Whole structs and arrays too; padding stays zero.
    (void)sender_open(&t.a, 0);
    Inner inner;
    memset(&inner, 0xFF, sizeof inner);
    inner.x = 2;
    inner.y = 3;
    CHECK_OK(orr_transact_field(&t.a.run, ORR_OP_SET, t.bob, t.wide, 0, offsetof(Wide, inner),
                                sizeof inner, &inner));
    POST(&t, ORR_OP_SET, list, {4, 5, 6});
    done(&t);
    CHECK(wide(&t)->inner.x == 2 && wide(&t)->inner.y == 3);
    CHECK(wide(&t)->list[0] == 4 && wide(&t)->list[1] == 5 && wide(&t)->list[2] == 6);
    command_kit_end(&t.k);
}

ORR_TEST(transact_add_wraps_integers_and_sums_floats_in_order)
{
    transact_test t;
    begin(&t);
    CHECK_OK(orr_set(t.world, t.bob, Wide,
                     {.i8 = 127,
                      .u8 = 255,
                      .i16 = -32768,
                      .u16 = 1,
                      .i32 = INT32_MAX,
                      .u32 = 5,
                      .i64 = INT64_MAX,
                      .u64 = 3,
                      .f32 = 1e8f,
                      .f64 = 0.5}));
    (void)sender_open(&t.a, 0);
    POST(&t, ORR_OP_ADD, i8, 1);
    POST(&t, ORR_OP_ADD, u8, 2);
    POST(&t, ORR_OP_ADD, i16, -1);
    POST(&t, ORR_OP_ADD, u16, 65535);
    POST(&t, ORR_OP_ADD, i32, 1);
    POST(&t, ORR_OP_ADD, u32, 10);
    POST(&t, ORR_OP_ADD, i64, 1);
    POST(&t, ORR_OP_ADD, u64, UINT64_MAX);
    POST(&t, ORR_OP_ADD, f32, 3.0f); // Lost in 1e8, where neighbouring numbers differ by 8;
    POST(&t, ORR_OP_ADD, f32, -1e8f);
    POST(&t, ORR_OP_ADD, f32, 3.0f); // not here.
    POST(&t, ORR_OP_ADD, f64, 0.25);
    done(&t);
    const Wide* w = wide(&t);
    CHECK_EQ(w->i8, -128);
    CHECK_EQ(w->u8, 1);
    CHECK_EQ(w->i16, 32767);
    CHECK_EQ(w->u16, 0);
    CHECK(w->i32 == INT32_MIN && w->u32 == 15);
    CHECK(w->i64 == INT64_MIN && w->u64 == 2);
    CHECK(w->f32 == 3.0f && w->f64 == 0.75);
    command_kit_end(&t.k);
}

ORR_TEST(transact_min_and_max_respect_signs_and_nan)
{
    transact_test t;
    begin(&t);
    CHECK_OK(orr_set(t.world, t.bob, Wide, {.i8 = -1, .u8 = 200, .i64 = 5, .u64 = 1, .f32 = NAN}));
    (void)sender_open(&t.a, 0);
    POST(&t, ORR_OP_MIN, i8, -2);
    POST(&t, ORR_OP_MIN, i8, 100);
    POST(&t, ORR_OP_MIN, u8, 100);
    POST(&t, ORR_OP_MAX, i16, -5);
    POST(&t, ORR_OP_MAX, i16, 7);
    POST(&t, ORR_OP_MAX, u16, 65535);
    POST(&t, ORR_OP_MIN, i32, -70000);
    POST(&t, ORR_OP_MAX, u32, 3000000000u);
    POST(&t, ORR_OP_MIN, i64, INT64_MIN);
    POST(&t, ORR_OP_MAX, u64, UINT64_MAX);
    POST(&t, ORR_OP_MIN, f32, NAN); // Both are NaN: the field stays.
    POST(&t, ORR_OP_MAX, f32, 2.0f);
    POST(&t, ORR_OP_MIN, f32, NAN);
    POST(&t, ORR_OP_MIN, f64, -0.0); // Equal: the field stays.
    done(&t);
    const Wide* w = wide(&t);
    CHECK(w->i8 == -2 && w->u8 == 100 && w->i16 == 7 && w->u16 == 65535);
    CHECK(w->i32 == -70000 && w->u32 == 3000000000u);
    CHECK(w->i64 == INT64_MIN && w->u64 == UINT64_MAX);
    CHECK(w->f32 == 2.0f && !signbit(w->f64));
    (void)sender_open(&t.a, 0);
    POST(&t, ORR_OP_MAX, f64, NAN);
    POST(&t, ORR_OP_MAX, f64, 4.0);
    POST(&t, ORR_OP_MIN, f32, -1.0f);
    POST(&t, ORR_OP_MAX, f32, -2.0f);
    done(&t);
    CHECK(wide(&t)->f32 == -1.0f && wide(&t)->f64 == 4.0);
    command_kit_end(&t.k);
}

ORR_TEST(transact_sets_and_adds_are_applied_in_order_of_buffers_and_calls)
{
    transact_test t;
    bool changed;
    begin(&t);
    // Buffers are closed in the order of systems, whichever sent first.
    (void)sender_open(&t.a, 0);
    (void)sender_open(&t.b, 0);
    CHECK_OK(orr_transact(&t.b.run, ORR_OP_ADD, t.bob, Count, n, 1));
    CHECK_OK(orr_transact(&t.b.run, ORR_OP_SET, t.eve, Count, n, 40));
    CHECK_OK(orr_transact(&t.b.run, ORR_OP_ADD, t.eve, Count, n, 2));
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, t.bob, Count, n, 1000));
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_SET, t.bob, Count, n, 10));
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, t.eve, Count, n, 1000));
    CHECK_EQ(orr_get(t.world, t.bob, Count)->n, 1);
    sender_close(&t.a);
    sender_close(&t.b);
    CHECK_OK(transact(&t, true, &changed));
    CHECK(changed);
    CHECK_EQ(orr_get(t.world, t.bob, Count)->n, 11);
    CHECK_EQ(orr_get(t.world, t.eve, Count)->n, 42);
    CHECK_EQ(orri_transaction_source(t.world).id, 0); // Several.
    (void)sender_open(&t.b, 0);
    CHECK_OK(orr_transact(&t.b.run, ORR_OP_ADD, t.bob, Count, n, 1));
    sender_close(&t.b);
    CHECK_OK(transact(&t, true, &changed));
    CHECK_EQ(orri_transaction_source(t.world).id, 2);
    CHECK_OK(transact(&t, true, &changed));
    CHECK(!changed);
    command_kit_end(&t.k);
}

// ---- functions ----------------------------------------------------------------------------------

typedef struct blow {
    int32_t factor, plus;
} blow;

static uint64_t called_entity;
static uint32_t called_count;

static void strike(const orr_world* world, orr_entity target, void* value, const void* argument,
                   uint32_t size)
{
    (void)size;
    const blow* b = argument;
    Count* count = value;
    count->n = count->n * b->factor + b->plus;
    called_entity = target.id;
    called_count += orr_alive(world, target);
    CHECK_EQ((uintptr_t)argument % 16, 0);
}

static void doubled(const orr_world* world, orr_entity target, void* value, const void* argument,
                    uint32_t size)
{
    (void)world, (void)size;
    (void)argument;
    ((Anchor*)value)->x *= 2;
    called_entity = target.id;
}

static void nosy(const orr_world* world, orr_entity target, void* value, const void* argument,
                 uint32_t size)
{
    (void)argument, (void)size;
    (void)value;
    // No access to the world: another value, and structure.
    CHECK(orr_get((orr_world*)(uintptr_t)world, target, Velocity) == NULL);
    CHECK(orr_destroy((orr_world*)(uintptr_t)world, target) != ORR_OK);
}

ORR_TEST(transact_functions_run_in_order_with_a_copy_of_their_argument)
{
    transact_test t;
    begin(&t);
    called_count = 0;
    (void)sender_open(&t.a, 0);
    blow b = {10, 1};
    CHECK_OK(orr_transact_call(&t.a.run, t.bob, t.k.count, 0, strike, &b, sizeof b));
    b = (blow){2, 5};
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, t.bob, Count, n, 100));
    CHECK_OK(orr_transact_call(&t.a.run, t.bob, t.k.count, 0, strike, &b, sizeof b));
    b = (blow){0, 0};
    done(&t);
    CHECK_EQ(orr_get(t.world, t.bob, Count)->n, ((1 * 10 + 1) + 100) * 2 + 5);
    CHECK_EQ(called_entity, t.bob.id);
    CHECK_EQ(called_count, 2);
    // Pinned, without an argument.
    CHECK_OK(orr_set(t.world, t.eve, Anchor, {21, 1}));
    (void)sender_open(&t.a, 0);
    CHECK_OK(orr_transact_call(&t.a.run, t.eve, t.k.anchor, 0, doubled, NULL, 0));
    done(&t);
    CHECK_EQ(orr_get(t.world, t.eve, Anchor)->x, 42);
    CHECK_EQ(called_entity, t.eve.id);
    command_kit_end(&t.k);
}

ORR_TEST(transact_functions_have_no_access_to_the_world)
{
    transact_test t;
    begin(&t);
    CHECK_OK(orr_set(t.world, t.bob, Velocity, {1, 1}));
    (void)sender_open(&t.a, 0);
    CHECK_OK(orr_transact_call(&t.a.run, t.bob, t.k.count, 0, nosy, NULL, 0));
    done(&t);
    CHECK_EQ(t.a.rights.counts.violations, 2);
    CHECK(orr_alive(t.world, t.bob));
    CHECK(orr_get(t.world, t.bob, Velocity) != NULL);
    command_kit_end(&t.k);
}

// ---- types of every kind ------------------------------------------------------------------------

ORR_TEST(transact_reaches_pinned_multiple_owned_hooked_and_indexed_types)
{
    transact_test t;
    begin(&t);
    orr_string text = orr_string_make(t.world, "hello");
    CHECK_OK(orr_set(t.world, t.bob, Anchor, {1, 2}));
    CHECK_OK(orr_set(t.world, t.eve, Anchor, {10, 20}));
    CHECK_OK(orr_set(t.world, t.bob, Label, {text, 5}));
    CHECK_OK(orr_set(t.world, t.bob, Link, {t.eve, 7}));
    CHECK_OK(orr_set(t.world, t.bob, Padded, {1, 2, 3}));
    orr_component_id one = orr_instance_add(t.world, t.bob, t.k.collider, &(Collider){100});
    orr_component_id two = orr_instance_add(t.world, t.bob, t.k.collider, &(Collider){200});
    (void)sender_open(&t.a, 0);
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, t.bob, Anchor, y, 5));
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_MAX, t.eve, Anchor, x, 11));
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, t.bob, Label, number, 1));
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, t.bob, Link, weight, 3));
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_SET, t.bob, Link, target, t.bob));
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, t.bob, Padded, c, 9));
    int32_t number = 1;
    for (uint32_t i = 0; i < 40; i++) { // More instances than are looked back for.
        CHECK_OK(orr_transact_field(&t.a.run, ORR_OP_ADD, t.bob, t.k.collider, i % 2 ? two : one, 0,
                                    4, &number));
    }
    done(&t);
    CHECK(orr_get(t.world, t.bob, Anchor)->x == 1 && orr_get(t.world, t.bob, Anchor)->y == 7);
    CHECK(orr_get(t.world, t.eve, Anchor)->x == 11);
    CHECK_EQ(orr_get(t.world, t.bob, Label)->number, 6);
    CHECK_STR(orr_string_text(t.world, orr_get(t.world, t.bob, Label)->text), "hello");
    CHECK_EQ(orr_get(t.world, t.bob, Link)->weight, 10);
    CHECK_EQ(orr_get(t.world, t.bob, Link)->target.id, t.bob.id);
    CHECK_EQ(orr_get(t.world, t.bob, Padded)->c, 12);
    const Collider* c = orr_instance_get(t.world, t.bob, t.k.collider, one);
    CHECK_EQ(c->radius, 120);
    c = orr_instance_get(t.world, t.bob, t.k.collider, two);
    CHECK_EQ(c->radius, 220);
    command_kit_end(&t.k);
}

// ---- transactions that wait or are dropped ------------------------------------------------------

ORR_TEST(transact_on_entities_with_structure_waits_for_the_commit)
{
    transact_test t;
    bool changed;
    begin(&t);
    (void)sender_open(&t.a, 4);
    orr_entity fresh = orr_send_create(&t.a.run);
    CHECK_OK(orr_send_add(&t.a.run, fresh, Count, {50}));
    CHECK_OK(orr_send_tag(&t.a.run, t.eve, 3, true));
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, t.bob, Count, n, 5));
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, fresh, Count, n, 5));
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_SET, t.eve, Count, n, 30));
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, t.bob, Wide, i32, 9));
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, t.eve, Count, n, 3));
    sender_close(&t.a);
    CHECK_OK(sender_end(&t.a));
    CHECK_OK(transact(&t, true, &changed));
    CHECK(changed);
    CHECK(orri_transaction_pending(t.world));
    CHECK_EQ(orr_get(t.world, t.bob, Count)->n, 6);
    CHECK_EQ(wide(&t)->i32, 9);
    CHECK_EQ(orr_get(t.world, t.eve, Count)->n, 2);
    // A later one on the same target waits after it.
    (void)sender_open(&t.b, 0);
    CHECK_OK(orr_transact(&t.b.run, ORR_OP_ADD, t.eve, Count, n, 100));
    sender_close(&t.b);
    CHECK_OK(transact(&t, true, &changed));
    CHECK(!changed);
    CHECK_OK(orri_commit(t.world));
    CHECK_OK(transact(&t, false, &changed));
    CHECK(changed);
    CHECK(!orri_transaction_pending(t.world));
    CHECK_EQ(orr_get(t.world, t.bob, Count)->n, 6);
    CHECK_EQ(wide(&t)->i32, 9);
    CHECK_EQ(orr_get(t.world, t.eve, Count)->n, 133);
    CHECK_EQ(orr_get(t.world, fresh, Count)->n, 55);
    CHECK_EQ(t.a.rights.counts.dropped, 0);
    command_kit_end(&t.k);
}

ORR_TEST(transact_on_dead_entities_is_dropped_counted_and_logged_once)
{
    transact_test t;
    bool changed;
    begin(&t);
    orr_entity gone = orr_create(t.world);
    CHECK_OK(orr_destroy(t.world, gone));
    orr_component_id id = orr_instance_add(t.world, t.bob, t.k.collider, &(Collider){1});
    (void)sender_open(&t.a, 0);
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, gone, Count, n, 1));
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, t.eve, Wide, i8, 1)); // Eve has no Wide.
    // No entity has an Anchor.
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, t.eve, Anchor, x, 1));
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, (orr_entity){99}, Count, n, 1)); // No such entity.
    int32_t number = 4;
    CHECK_OK(orr_transact_field(&t.a.run, ORR_OP_ADD, t.bob, t.k.collider, id + 1, 0, 4, &number));
    CHECK_OK(orr_transact_field(&t.a.run, ORR_OP_ADD, t.eve, t.k.collider, id, 0, 4, &number));
    sender_close(&t.a);
    CHECK_OK(transact(&t, true, &changed));
    CHECK(!changed);
    CHECK_EQ(t.a.rights.counts.dropped, 6);
    CHECK_EQ(command_log_count(&t.k.log, ORR_LOG_ID_MESSAGE_DROPPED), 1);
    CHECK_CONTAINS(command_log_text(&t.k.log, ORR_LOG_ID_MESSAGE_DROPPED), "'first'");
    CHECK_CONTAINS(command_log_text(&t.k.log, ORR_LOG_ID_MESSAGE_DROPPED), "a transaction of ");
    // Dropped transactions are counted, unless the same commit destroys the entity or removes the
    // component: the sender could not know.
    (void)sender_open(&t.a, 0);
    CHECK_OK(orr_send_destroy(&t.a.run, t.eve));
    CHECK_OK(orr_send_remove(&t.a.run, t.bob, Count));
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, t.eve, Count, n, 1));
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, t.bob, Count, n, 1));
    sender_commit(&t.a);
    CHECK_OK(transact(&t, false, &changed));
    CHECK_EQ(t.a.rights.counts.dropped, 6);
    for (uint32_t early = 0; early < 2; early++) {
        (void)sender_open(&t.a, 0);
        CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, t.eve, Count, n, 1));
        sender_close(&t.a);
        if (early == 1) {
            CHECK_OK(orri_commit(t.world));
        }
        CHECK_OK(transact(&t, early == 0, &changed));
        CHECK_EQ(t.a.rights.counts.dropped, 7 + early);
    }
    // An abandoned commit counts its waiting transactions, not those that were applied.
    (void)sender_open(&t.a, 0);
    CHECK_OK(orr_send_tag(&t.a.run, t.bob, 1, true));
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, t.bob, Wide, i8, 1));
    CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, t.bob, Wide, i8, 1));
    sender_close(&t.a);
    CHECK_OK(sender_end(&t.a));
    CHECK_OK(transact(&t, true, &changed));
    orri_commit_abandon(t.world);
    CHECK(!orri_transaction_pending(t.world));
    CHECK_EQ(t.a.rights.counts.dropped, 8 + 3); // The tag and two transactions.
    command_kit_end(&t.k);
}

// ---- refusals -----------------------------------------------------------------------------------

static void refused(transact_test* t, orr_result result, orr_result expected, const char* words)
{
    CHECK_RESULT(result, expected);
    CHECK_CONTAINS(t->k.k.errors.text, words);
    t->k.k.errors = (kit_errors){0};
}

ORR_TEST(transact_on_a_type_that_no_entity_has_is_dropped)
{
    command_kit k = {0};
    orr_world* world = command_kit_begin(&k, NULL);
    orr_entity bare = orr_create(world);
    uint64_t transacts[SENDER_WORDS];
    memset(transacts, 0xFF, sizeof transacts);
    sender s;
    sender_begin_free(&s, world, "first", 1);
    s.rights.transacts = transacts;
    (void)sender_open(&s, 0);
    CHECK_OK(orr_transact(&s.run, ORR_OP_ADD, bare, Count, n, 1));
    sender_close(&s);
    bool changed;
    CHECK_OK(orri_transaction_commit(world, false, NULL, NULL, &changed));
    CHECK(!changed);
    CHECK_EQ(s.rights.counts.dropped, 1);
    command_kit_end(&k);
}

ORR_TEST(transact_on_bytes_that_are_no_number_field_is_refused)
{
    transact_test t;
    begin(&t);
    int64_t number = 1;
    orr_run* run = sender_open(&t.a, 0);
#define FIELD(op, type, id, offset, size) \
    orr_transact_field(run, op, t.bob, type, id, offset, size, &number)
    refused(&t, FIELD(ORR_OP_ADD, t.wide, 0, 1000, 4), ORR_ERR_FIELD, "not a field");
    refused(&t, FIELD(ORR_OP_ADD, t.wide, 0, offsetof(Wide, i32), 2), ORR_ERR_FIELD, "i32");
    refused(&t, FIELD(ORR_OP_ADD, t.wide, 0, offsetof(Wide, i32) + 2, 4), ORR_ERR_FIELD,
            "not a field");
    refused(&t, FIELD(ORR_OP_ADD, t.wide, 0, offsetof(Wide, i32), 0), ORR_ERR_FIELD, "not a field");
    refused(&t, FIELD(ORR_OP_ADD, t.wide, 0, offsetof(Wide, on), 1), ORR_ERR_FIELD, "ORR_OP_SET");
    refused(&t, FIELD(ORR_OP_MIN, t.wide, 0, offsetof(Wide, list), 12), ORR_ERR_FIELD, "list");
    refused(&t, FIELD(ORR_OP_ADD, t.wide, 0, offsetof(Wide, inner), sizeof(Inner)), ORR_ERR_FIELD,
            "not a number");
    refused(&t, FIELD(ORR_OP_SET, t.k.label, 0, 0, 8), ORR_ERR_FIELD, "owned");
    refused(&t, FIELD(ORR_OP_SET, t.k.owner, 0, 0, 8), ORR_ERR_FIELD, "indexed");
    refused(&t, FIELD((orr_op)9, t.wide, 0, 0, 1), ORR_ERR_ARGUMENT, "op");
    refused(&t, FIELD(ORR_OP_ADD, t.wide, 3, 0, 1), ORR_ERR_ARGUMENT, "unique");
    refused(&t, FIELD(ORR_OP_ADD, t.k.collider, 0, 0, 4), ORR_ERR_ARGUMENT, "multiple");
    refused(&t, FIELD(ORR_OP_ADD, (orr_type){0}, 0, 0, 4), ORR_ERR_TYPE, "");
    refused(&t, FIELD(ORR_OP_ADD, t.k.frozen, 0, 0, 4), ORR_ERR_FIELD, "not a field");
    refused(&t, orr_transact_field(run, ORR_OP_ADD, t.bob, t.wide, 0, 0, 1, NULL), ORR_ERR_ARGUMENT,
            "NULL");
    refused(&t, orr_transact(run, ORR_OP_ADD, (orr_entity){0}, Count, n, 1), ORR_ERR_ARGUMENT,
            "null");
    refused(&t, orr_transact_call(run, t.bob, t.k.label, 0, strike, NULL, 0), ORR_ERR_TYPE,
            "Label");
    refused(&t, orr_transact_call(run, t.bob, t.k.count, 0, NULL, NULL, 0), ORR_ERR_ARGUMENT,
            "function");
    refused(&t, orr_transact_call(run, t.bob, t.k.count, 0, strike, NULL, 4), ORR_ERR_ARGUMENT,
            "argument");
    orr_type name = orr_type_of(t.world, &orr_desc_orr_name);
    refused(&t, FIELD(ORR_OP_ADD, name, 0, 0, 4), ORR_ERR_TYPE, "built-in types");
#undef FIELD
    sender_close(&t.a);
    CHECK(!orri_transaction_pending(t.world));
    refused(&t, orr_transact(run, ORR_OP_ADD, t.bob, Count, n, 1), ORR_ERR_STATE, "has returned");
    refused(&t, orr_transact_call(run, t.bob, t.k.count, 0, strike, NULL, 0), ORR_ERR_STATE,
            "has returned");
    sender poor;
    sender_begin(&poor, t.world, "poor", 3);
    (void)sender_open(&poor, 0);
    refused(&t, orr_transact(&poor.run, ORR_OP_ADD, t.bob, Count, n, 1), ORR_ERR_STATE,
            "system 'poor' transacts on Count for bob");
    CHECK_EQ(poor.rights.counts.violations, 1);
    sender_close(&poor);
    command_kit_end(&t.k);
}

// ---- out of memory ------------------------------------------------------------------------------

static void short_post(transact_test* t, uint32_t* taken)
{
    int32_t number = 1;
    blow b = {1, 1};
    for (uint32_t i = 0; i < 200; i++) {
        *taken += orr_transact(&t->a.run, ORR_OP_ADD, t->bob, Count, n, 1) == ORR_OK;
        *taken += orr_transact_call(&t->a.run, t->bob, t->k.count, 0, strike, &b, sizeof b) ==
                  ORR_OK;
        if (i % 8 == 0) {
            *taken += 1000u * (orr_transact_field(&t->a.run, ORR_OP_ADD, t->bob, t->wide, 0,
                                                  offsetof(Wide, i32), 4, &number) == ORR_OK);
        }
    }
}

// A snapshot shares the values: they are copied before they are written.
static orri_share* hold(transact_test* t, orr_type type)
{
    orri_chunk* chunk = orri_place_chunk(t->world, orri_record_find(t->world, t->bob)->place);
    int32_t column = orri_table_column(t->world, orri_type_index(t->world, type), chunk->id);
    return orri_share_column(t->world, chunk, (uint32_t)column, ORRI_SHARE_FROZEN);
}

ORR_TEST(transact_refused_for_lack_of_memory_has_no_effect)
{
    uint64_t refused_count = 1;
    for (uint64_t n = 1; refused_count > 0; n++) {
        transact_test t;
        bool changed;
        uint32_t taken = 0;
        begin(&t);
        orri_share* held[2] = {hold(&t, t.k.count), hold(&t, t.wide)};
        CHECK(held[0] != NULL && held[1] != NULL);
        CHECK(orri_messages_of(t.world) != NULL);
        failing_alloc_arm(&t.k.k.memory, n, false);
        (void)sender_open(&t.a, 0);
        short_post(&t, &taken);
        sender_close(&t.a);
        orr_result result = transact(&t, false, &changed);
        refused_count = t.k.k.memory.refused;
        if (result != ORR_OK) {
            CHECK_RESULT(result, ORR_ERR_MEMORY);
            CHECK_EQ(orr_get(t.world, t.bob, Count)->n, 1);
            CHECK_EQ(wide(&t)->i32, 0);
            CHECK_OK(transact(&t, false, &changed));
        }
        CHECK_EQ(changed, taken > 0);
        CHECK_EQ((uint32_t)(orr_get(t.world, t.bob, Count)->n - 1), taken % 1000);
        CHECK_EQ((uint32_t)wide(&t)->i32, taken / 1000);
        // The holder of the shared block sees the old value.
        CHECK_EQ(((const Count*)held[0]->data)->n, 1);
        CHECK(refused_count > 0 || taken == 25400);
        orri_share_release(t.world, held[0]);
        orri_share_release(t.world, held[1]);
        command_kit_end(&t.k);
    }
}

ORR_TEST(transact_memory_no_longer_needed_is_freed)
{
    transact_test t;
    bool changed;
    begin(&t);
    for (uint32_t buffer = 0; buffer < 8; buffer++) {
        (void)sender_open(&t.a, 0);
        for (uint32_t i = 0; i < 20000; i++) {
            CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, t.bob, Count, n, 1));
        }
        sender_close(&t.a);
    }
    CHECK_OK(transact(&t, false, &changed));
    CHECK_EQ(orr_get(t.world, t.bob, Count)->n, 160001);
    uint64_t before = t.k.k.memory.live_bytes;
    for (uint32_t i = 0; i < 200; i++) {
        (void)sender_open(&t.a, 0);
        CHECK_OK(orr_transact(&t.a.run, ORR_OP_ADD, t.bob, Count, n, 1));
        sender_commit(&t.a);
        CHECK_OK(transact(&t, false, &changed));
    }
    CHECK(t.k.k.memory.live_bytes + 8u * 20000u * 16u < before);
    command_kit_end(&t.k);
}

// ---- anything, against a model ------------------------------------------------------------------

#define TARGETS      3000u
#define BUFFERS      40u
#define RANDOM_POSTS 4000u // Of a buffer: enough for other workers.

// A posted transaction; records are in the order of buffers and calls.
typedef struct record {
    uint32_t target, field, op, order;
    int64_t number;
} record;

typedef struct model {
    transact_test t;
    orr_entity ids[TARGETS];
    Count counts[TARGETS];
    Wide wides[TARGETS];
    bool dead[TARGETS], lacks[TARGETS]; // Destroyed; without Wide.
    record records[BUFFERS * RANDOM_POSTS];
    uint32_t record_count;
    uint64_t dropped; // Posts without effect so far.
    uint64_t seed, turn;
    uint32_t shared; // How often work was divided among workers.
} model;

static uint64_t roll(model* m, uint64_t below)
{
    return orr_random_below(orr_random(m->seed, m->turn++, 0, 0), below);
}

static int record_compare(const void* a, const void* b)
{
    const record *x = a, *y = b;
    return x->target != y->target ? (x->target < y->target ? -1 : 1)
                                  : (x->order < y->order ? -1 : x->order > y->order);
}

static void apply_number(uint32_t op, double* field, double number)
{
    bool least = op == ORR_OP_MIN && number < *field, most = op == ORR_OP_MAX && number > *field;
    *field = op == ORR_OP_ADD                    ? *field + number
             : op == ORR_OP_SET || least || most ? number
                                                 : *field;
}

static void apply(model* m, const record* r)
{
    double value;
    switch (r->field) {
    case 0: // Wraps.
        value = m->counts[r->target].n;
        if (r->op == ORR_OP_ADD) {
            m->counts[r->target].n =
                (int32_t)((uint32_t)m->counts[r->target].n + (uint32_t)r->number);
        } else {
            apply_number(r->op, &value, (double)(int32_t)r->number);
            m->counts[r->target].n = (int32_t)value;
        }
        break;
    case 1: { // Rounded after every step.
        value = m->wides[r->target].f32;
        apply_number(r->op, &value, (float)r->number);
        m->wides[r->target].f32 = (float)value;
        break;
    }
    case 2:
        apply_number(r->op, &m->wides[r->target].f64, (double)r->number);
        break;
    default:
        m->counts[r->target].n = (int32_t)((uint32_t)m->counts[r->target].n * 3u);
        break;
    }
}

static void triple(const orr_world* world, orr_entity target, void* value, const void* argument,
                   uint32_t size)
{
    (void)world, (void)size;
    (void)target;
    (void)argument;
    ((Count*)value)->n = (int32_t)((uint32_t)((Count*)value)->n * 3u);
}

static void post(model* m, orr_run* run, bool calls)
{
    uint64_t hot = roll(m, 4) == 0 ? 3 : TARGETS;
    record r = {.target = (uint32_t)roll(m, hot),
                .field = (uint32_t)roll(m, calls ? 4 : 3),
                .op = (uint32_t)roll(m, 4),
                .number = (int64_t)roll(m, 2000001) - 1000000,
                .order = m->record_count};
    orr_entity target = m->ids[r.target];
    orr_op op = (orr_op)r.op;
    if (r.field == 0) {
        CHECK_OK(orr_transact(run, op, target, Count, n, (int32_t)r.number));
    } else if (r.field == 1) {
        CHECK_OK(orr_transact(run, op, target, Wide, f32, (float)r.number));
    } else if (r.field == 2) {
        CHECK_OK(orr_transact(run, op, target, Wide, f64, (double)r.number));
    } else {
        CHECK_OK(orr_transact_call(run, target, m->t.k.count, 0, triple, NULL, 0));
    }
    m->records[m->record_count++] = r;
}

// Workers that handle the items in reverse order: nothing may depend on it.
static void workers_backwards(void* user, uint32_t count,
                              void (*work)(void* context, uint32_t item), void* context)
{
    (*(uint32_t*)user)++;
    for (uint32_t i = count; i-- > 0;) {
        work(context, i);
    }
}

static void model_begin(model* m)
{
    begin(&m->t);
    for (uint32_t i = 0; i < TARGETS; i++) {
        m->ids[i] = orr_create(m->t.world);
        m->counts[i] = (Count){(int32_t)roll(m, 1000)};
        m->wides[i] = (Wide){.f32 = (float)roll(m, 1000), .f64 = 0.5};
        CHECK_OK(orr_put(m->t.world, m->ids[i], Count, &m->counts[i]));
        m->lacks[i] = roll(m, 50) == 0;
        if (!m->lacks[i]) {
            CHECK_OK(orr_put(m->t.world, m->ids[i], Wide, &m->wides[i]));
        }
        if (roll(m, 3) == 0) {
            CHECK_OK(orr_add(m->t.world, m->ids[i], Velocity)); // Another cluster.
        }
    }
    for (uint32_t i = 0; i < TARGETS; i++) {
        m->dead[i] = roll(m, 50) == 0;
        if (m->dead[i]) {
            CHECK_OK(orr_destroy(m->t.world, m->ids[i]));
        }
    }
}

static void model_check(const model* m)
{
    for (uint32_t i = 0; i < TARGETS; i++) {
        const Count* count = orr_get(m->t.world, m->ids[i], Count);
        const Wide* w = orr_get(m->t.world, m->ids[i], Wide);
        w = w != NULL ? w : &m->wides[i];
        if (m->dead[i]) {
            continue;
        }
        if (count->n != m->counts[i].n || w->f32 != m->wides[i].f32 || w->f64 != m->wides[i].f64) {
            test_fail(__FILE__, __LINE__, "seed %llu: target %u differs",
                      (unsigned long long)m->seed, i);
        }
    }
}

static void model_round(model* m, bool calls, bool several)
{
    uint32_t buffer_count = 1 + (uint32_t)roll(m, BUFFERS);
    m->record_count = 0;
    for (uint32_t buffer = 0; buffer < buffer_count; buffer++) {
        sender* s = buffer * 2 < buffer_count ? &m->t.a : &m->t.b;
        (void)sender_open(s, 0);
        for (uint64_t left = roll(m, RANDOM_POSTS); left > 0; left--) {
            post(m, &s->run, calls);
        }
        sender_close(s);
    }
    qsort(m->records, m->record_count, sizeof *m->records, record_compare);
    uint64_t dropped = m->dropped;
    for (uint32_t i = 0; i < m->record_count; i++) {
        const record* r = &m->records[i];
        bool wide = r->field == 1 || r->field == 2;
        if (m->dead[r->target] || (wide && m->lacks[r->target])) {
            m->dropped++;
        } else {
            apply(m, r);
        }
    }
    // With a snapshot all targets are found before the first post is applied.
    orri_snapshot* held = roll(m, 2) != 0 ? orri_snapshot_take(m->t.world) : NULL;
    uint64_t hash = orr_world_hash(m->t.world); // Of each block it keeps the hash and the version.
    bool changed;
    const orri_workers workers = {workers_backwards, &m->shared};
    CHECK_OK(orri_transaction_commit(m->t.world, roll(m, 2) != 0, NULL, several ? &workers : NULL,
                                     &changed));
    CHECK_EQ(changed, m->record_count > m->dropped - dropped);
    CHECK_EQ(m->t.a.rights.counts.dropped + m->t.b.rights.counts.dropped, m->dropped);
    model_check(m);
    CHECK(m->record_count < 100 || orr_world_hash(m->t.world) != hash);
    if (held != NULL) {
        CHECK(orri_snapshot_valid(held));
        orri_snapshot_release(m->t.world, held);
    }
}

ORR_TEST(transact_at_random_equals_the_model_that_sorts) /* N3-17 */
{
    uint32_t shared = 0;
    for (uint32_t n = 0; n < (test_long() ? 40u : 6u); n++) {
        model* m = calloc(1, sizeof *m);
        m->seed = test_seed() + n;
        model_begin(m);
        for (uint32_t i = 0; i < 4; i++) {
            model_round(m, n % 3 == 2, n % 2 == 1);
        }
        shared += m->shared;
        command_kit_end(&m->t.k);
        free(m);
    }
    CHECK(shared > 0);
}
