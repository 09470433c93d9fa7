// SPDX-License-Identifier: MIT
// Systems that create entities: any number by default, with the same result for any number of
// workers; at most `.creates_max` if that is set.
#include "schedule/schedule.h"
#include "schedule/schedule_kit.h"
#include "support/store_kit.h"
#include "test.h"
#include <orrery/history.h>

ORR_STRUCT(Nest, (uint32_t, number), (uint32_t, brood))
ORR_STRUCT(Chick, (uint32_t, number))
ORR_STRUCT(Kin, (orr_entity, mother), (orr_entity, next), (orr_entity, all, 2))
ORR_STRUCT(Pair, (orr_entity, a), (orr_entity, b))
ORR_STRUCT(Lead, (orr_entity, to), (Pair, ends), (orr_entity, all, 3))
ORR_STRUCT(Tail, (orr_entity, to))
ORR_STRUCT(Hatched, (orr_entity, chick), (uint32_t, number))

// ---- a nest hatches more chicks than it has rows ------------------------------------------------

// Each nest creates `brood` chicks in a ring: references go forwards and backwards.
static void hatch(orr_run* run)
{
    const Nest* nests = orr_read(run, Nest);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity nest = orr_iter_entity(run, i);
        orr_entity first = {0}, last = {0};
        for (uint32_t n = 0; n < nests[i].brood; n++) {
            orr_entity chick = orr_send_create(run);
            CHECK(chick.id != 0 && !orr_alive(run->world, chick));
            CHECK_OK(orr_send_add(run, chick, Chick, {nests[i].number * 100 + n}));
            CHECK_OK(orr_send_add(run, chick, Kin, {nest, last, {last, chick}}));
            CHECK_OK(orr_send_event(run, Hatched, {chick, nests[i].number * 100 + n}));
            first = n == 0 ? chick : first;
            last = chick;
        }
        if (last.id != 0) {
            CHECK_OK(orr_send_change(run, first, Kin, {nest, last, {last, first}}));
            CHECK_OK(orr_send_change(run, nest, Tail, {last}));
            CHECK_OK(orr_send_add(run, last, Lead, {.to = {0}}));
            CHECK_OK(orr_transact(run, ORR_OP_SET, last, Lead, to, first));
            CHECK_OK(orr_transact(run, ORR_OP_SET, nest, Lead, to, last));
            CHECK_OK(orr_transact(run, ORR_OP_SET, nest, Lead, ends, {first, last}));
            CHECK_OK(orr_transact(run, ORR_OP_SET, nest, Lead, all, {nest, first, last}));
        }
    }
}

// Every third chick dies.
static void cull(orr_run* run)
{
    const Chick* chicks = orr_read(run, Chick);
    for (uint32_t i = 0; i < run->count; i++) {
        if (chicks[i].number % 3 == 0) {
            CHECK_OK(orr_send_destroy(run, orr_iter_entity(run, i)));
        }
    }
}

// Notes the events in the state: references in events must be those of the created entities.
static void count_hatched(orr_run* run)
{
    uint32_t count = 0;
    const Hatched* hatched = orr_events(run, Hatched, &count);
    Chick* sum = orr_run_state(run, ORR_TYPE(Chick));
    for (uint32_t i = 0; i < count; i++) {
        sum->number = sum->number * 31 + (uint32_t)hatched[i].chick.id + hatched[i].number;
    }
}

static orr_world* nests_begin(kit* k, uint32_t nests, uint32_t brood, uint32_t workers)
{
    *k = (kit){0};
    orr_world* world = kit_begin(k, &(orr_world_desc){.seed = 3, .workers = workers});
    ORR_REGISTER(world, Nest, Chick, Kin, Lead, Tail, Hatched);
    for (uint32_t i = 0; i < nests; i++) {
        orr_entity nest = orr_create(world);
        CHECK_OK(orr_set(world, nest, Nest, {i, i % 7 == 0 ? brood : 0}));
        CHECK_OK(orr_set(world, nest, Lead, {.to = {0}}));
        CHECK_OK(orr_set(world, nest, Tail, {{0}}));
    }
    return world;
}

static orr_system nests_systems(orr_world* world)
{
    orr_system system = KIT_SYSTEM(world, .name = "hatch", .query = "Nest", .parallel = true,
                                   .creates = "Chick, Kin, Lead", .changes = "Kin, Tail",
                                   .transacts = "Lead", .sends = "Hatched", .run = hatch);
    KIT_SYSTEM(world, .name = "cull", .query = "Chick", .parallel = true, .destroys = "Chick",
               .run = cull);
    KIT_SYSTEM(world, .name = "count", .kind = ORR_INDIRECT, .receives = "Hatched",
               .state = ORR_TYPE(Chick), .run = count_hatched);
    return system;
}

static void check_kin(orr_world* world, orr_query* query)
{
    uint32_t count = 0;
    ORR_EACH (it, query) {
        const Kin* kin = orr_read(&it, Kin);
        for (uint32_t i = 0; i < it.count; i++, count++) {
            CHECK(orr_has(world, kin[i].mother, Nest));
            CHECK(orr_has(world, kin[i].next, Chick));
            CHECK(orr_alive(world, kin[i].all[0]));
            CHECK_EQ(kin[i].all[1].id, orr_iter_entity(&it, i).id);
        }
    }
    CHECK(count > 0);
}

static void check_nests(orr_world* world, orr_query* query)
{
    ORR_EACH (it, query) {
        const Lead* lead = orr_read(&it, Lead);
        const Tail* tail = orr_read(&it, Tail);
        const Nest* nests = orr_read(&it, Nest);
        for (uint32_t i = 0; i < it.count && nests[i].brood > 0; i++) {
            CHECK(orr_has(world, tail[i].to, Chick));
            CHECK_EQ(lead[i].to.id, tail[i].to.id);
            orr_entity first = orr_get(world, tail[i].to, Lead)->to; // Of the last chick.
            CHECK_EQ(orr_get(world, first, Kin)->next.id, tail[i].to.id);
            CHECK_EQ(lead[i].ends.a.id, first.id);
            CHECK_EQ(lead[i].ends.b.id, tail[i].to.id);
            CHECK_EQ(lead[i].all[0].id, orr_iter_entity(&it, i).id);
            CHECK_EQ(lead[i].all[1].id, first.id);
            CHECK_EQ(lead[i].all[2].id, tail[i].to.id);
        }
    }
}

ORR_TEST(creates_have_no_limit_by_default_and_refer_to_each_other)
{
    kit k;
    orr_world* world = nests_begin(&k, 3, 90, 0); // 90 chicks from a chunk of 3 rows.
    orr_system system = KIT_SYSTEM(world, .name = "hatch", .query = "Nest",
                                   .creates = "Chick, Kin, Lead", .changes = "Kin, Tail",
                                   .transacts = "Lead", .sends = "?Hatched", .run = hatch);
    orr_query* query = orr_query_text(world, "Kin");
    orr_query* nests = orr_query_text(world, "Nest, Lead, Tail");
    for (uint32_t tick = 1; tick <= 3; tick++) {
        KIT_STEP(world, 1);
        CHECK_EQ(orr_entity_count(world), 3 + 90 * tick);
        CHECK_OK(orr_world_validate(world));
        check_kin(world, query);
        check_nests(world, nests);
    }
    CHECK_EQ(kit_stats(world, system).dropped, 0);
    CHECK_EQ(kit_stats(world, system).violations, 0);
    CHECK_EQ(k.errors.count, 0);
    orr_query_destroy(query);
    orr_query_destroy(nests);
    kit_end(&k);
}

#define NEST_TICKS 6u

static void nests_run(uint32_t workers, orri_sharing sharing, uint64_t* hashes)
{
    kit k;
    orr_world* world = nests_begin(&k, 5000, 23, workers); // 3 chunks, 3.3 chicks a row.
    orri_parallel_share(world, sharing, 5);
    (void)nests_systems(world);
    for (uint32_t i = 0; i < NEST_TICKS; i++) {
        KIT_STEP(world, 1);
        hashes[i] = orr_world_hash(world);
    }
    CHECK_OK(orr_world_validate(world));
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(creates_beyond_the_rows_are_the_same_for_any_number_of_workers)
{
    uint64_t serial[NEST_TICKS], hashes[NEST_TICKS];
    nests_run(0, ORRI_SHARE_AUTO, serial);
    for (uint32_t workers = test_brief() ? 4 : 1; workers <= 8; workers *= 2) {
        for (uint32_t s = test_brief() ? 2 : 0; s < 3; s++) {
            nests_run(workers,
                      (orri_sharing[]){ORRI_SHARE_AUTO, ORRI_SHARE_ALL, ORRI_SHARE_RANDOM}[s],
                      hashes);
            for (uint32_t i = 0; i < NEST_TICKS; i++) {
                CHECK(hashes[i] == serial[i]);
            }
        }
    }
}

ORR_TEST(creates_beyond_the_rows_are_the_same_after_a_travel)
{
    kit k;
    orr_world* world = nests_begin(&k, 30, 40, 2);
    (void)nests_systems(world);
    KIT_STEP(world, 2);
    CHECK_OK(orr_remember(world));
    uint64_t tick = orr_world_tick(world), hashes[4];
    for (uint32_t i = 0; i < 4; i++) {
        KIT_STEP(world, 1);
        hashes[i] = orr_world_hash(world);
    }
    CHECK_OK(orr_time_travel(world, tick));
    for (uint32_t i = 0; i < 4; i++) {
        KIT_STEP(world, 1);
        CHECK(orr_world_hash(world) == hashes[i]);
        CHECK_OK(orr_world_validate(world));
    }
    kit_end(&k);
}

// ---- the limit ----------------------------------------------------------------------------------

static void hatch_some(orr_run* run)
{
    const Nest* nests = orr_read(run, Nest);
    for (uint32_t i = 0; i < run->count; i++) {
        for (uint32_t n = 0; n < nests[i].brood; n++) {
            orr_entity chick = orr_send_create(run);
            if (chick.id != 0) {
                CHECK_OK(orr_send_add(run, chick, Chick, {nests[i].number}));
            }
        }
    }
}

// Runs a limited system over 3 chunks, each of which asks for more than the limit.
static uint64_t limited_run(uint32_t workers)
{
    kit k;
    orr_world* world = nests_begin(&k, 5000, 2, workers);
    orri_parallel_share(world, ORRI_SHARE_ALL, 0);
    orr_system system = KIT_SYSTEM(world, .name = "hatch", .query = "Nest", .parallel = true,
                                   .creates = "Chick", .creates_max = 100, .run = hatch_some);
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_CAPACITY);
    uint32_t asked = 2 * ((5000 + 6) / 7);
    CHECK_EQ(orr_entity_count(world), 5000 + 300);
    CHECK_EQ(kit_stats(world, system).violations, asked - 300);
    CHECK_EQ(k.errors.count, asked - 300);
    CHECK_CONTAINS(k.errors.text, ".creates_max is 100; raise it, or leave it out");
    KIT_ERROR(&k, ORR_ERR_CAPACITY, "system 'hatch' has created 100 entities in this run");
    CHECK_CONTAINS(orr_error_last(world), "tick 1 ran, but system 'hatch' was refused");
    uint64_t hash = orr_world_hash(world);
    kit_end(&k);
    return hash;
}

ORR_TEST(creates_beyond_creates_max_are_refused_and_counted)
{
    uint64_t serial = limited_run(0);
    for (uint32_t workers = 1; workers <= 8; workers *= 2) {
        CHECK(limited_run(workers) == serial);
    }
}

// ---- the limit of the world ---------------------------------------------------------------------

static void fill(orr_run* run)
{
    uint32_t* made = orr_run_user(run);
    for (uint32_t i = 0; i < 3000; i++) {
        *made += orr_send_create(run).id != 0;
    }
}

ORR_TEST(creates_by_one_run_reach_the_limit_of_the_world)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.entities_max = 2000});
    ORR_REGISTER(world, Chick);
    uint32_t made = 0;
    KIT_SYSTEM(world, .name = "fill", .once = true, .creates = "Chick", .run = fill, .user = &made,
               .impure = true);
    (void)orr_step(world, 1);
    CHECK_EQ(made, 2000);
    CHECK_EQ(orr_entity_count(world), 2000);
    CHECK_EQ(k.errors.count, 1000);
    KIT_ERROR(&k, ORR_ERR_CAPACITY, "the world may have at most 2000 entities");
    kit_end(&k);
}

static void fill_half(orr_run* run)
{
    for (uint32_t i = 0; i < 1500; i++) {
        (void)orr_send_create(run);
    }
}

// Neither run knows what the other creates. Together they create too many: nothing is created.
ORR_TEST(creates_by_several_runs_beyond_the_limit_of_the_world_refuse_the_commit)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.entities_max = 2600});
    ORR_REGISTER(world, Chick);
    orr_system a =
        KIT_SYSTEM(world, .name = "a", .once = true, .creates = "Chick", .run = fill_half);
    KIT_SYSTEM(world, .name = "b", .once = true, .creates = "Chick", .run = fill_half);
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_CAPACITY);
    KIT_ERROR(&k, ORR_ERR_CAPACITY, "at most 2600 entities");
    CHECK_EQ(orr_entity_count(world), 0);
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_CAPACITY); // Everything still waits.
    CHECK_OK(orr_tick_abandon(world));
    CHECK_OK(orr_system_enable(world, a, false));
    CHECK_OK(orr_step(world, 2));
    CHECK_EQ(orr_entity_count(world), 1500);
    kit_end(&k);
}

// ---- ids that are kept --------------------------------------------------------------------------

static orr_entity kept_id; // Null: none.

static void keep(orr_run* run)
{
    if (kept_id.id == 0) {
        for (uint32_t i = 0; i < 1025; i++) {
            kept_id = orr_send_create(run); // Beyond the 1024 reserved ids: provisional.
        }
    } else {
        CHECK(!orr_alive(run->world, kept_id));
        for (uint32_t i = 0; i < 1025; i++) {
            CHECK(orr_send_create(run).id != kept_id.id);
        }
        CHECK_OK(orr_send_add(run, kept_id, Chick, {1}));
        CHECK_OK(orr_send_destroy(run, kept_id));
        kept_id = (orr_entity){0};
    }
}

ORR_TEST(creates_provisional_ids_of_another_run_name_no_entity)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    ORR_REGISTER(world, Chick);
    orr_system system = KIT_SYSTEM(world, .name = "keep", .once = true, .creates = "Chick",
                                   .run = keep, .impure = true);
    KIT_STEP_REFUSED(world, 4);
    CHECK_EQ(orr_entity_count(world), 4 * 1025);
    CHECK_EQ(kit_stats(world, system).dropped, 4);
    kit_end(&k);
}

// ---- provisional ids where they are not replaced ------------------------------------------------

typedef struct placed {
    uint32_t number, padding;
    orr_entity entity;
} placed;

static void placed_call(const orr_world* world, orr_entity target, void* value,
                        const void* argument, uint32_t size)
{
    (void)world, (void)target, (void)size;
    ((Chick*)value)->number += ((const placed*)argument)->entity.id != 0;
}

static uint32_t place_final; // As many ids as these are final.

static void place(orr_run* run)
{
    orr_entity made = {0};
    for (uint32_t i = 0; i < 1025; i++) {
        made = orr_send_create(run);
    }
    bool final = place_final > 1024;
    orr_result expected = final ? ORR_OK : ORR_ERR_ENTITY;
    placed argument = {1, 0, made};
    orr_type chick = orr_type_of(run->world, ORR_TYPE(Chick));
    CHECK_RESULT(orr_transact_call(run, kept_id, chick, 0, placed_call, &argument, sizeof argument),
                 expected);
    orr_array array = orr_array_make(run->world, &made, 1, sizeof made);
    CHECK_RESULT(orr_send_add(run, made, Crowd, {array}), expected);
    if (!final) {
        CHECK(orr_get(run->world, made, Chick) == NULL);
        CHECK_CONTAINS(orr_error_last(run->world), "is a provisional id of a creation");
    }
    // Other ids are taken, and fields of values are replaced.
    argument.entity = kept_id;
    CHECK_OK(orr_transact_call(run, kept_id, chick, 0, placed_call, &argument, sizeof argument));
    CHECK_OK(orr_send_add(run, made, Link, {.target = made}));
}

ORR_TEST(creates_provisional_ids_in_arrays_and_arguments_are_refused)
{
    for (place_final = 1024; place_final <= 1025; place_final++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        ORR_REGISTER(world, Chick, Crowd, Link);
        kept_id = orr_create(world);
        CHECK_OK(orr_set(world, kept_id, Chick, {0}));
        KIT_SYSTEM(world, .name = "place", .once = true, .creates = "Crowd, Link",
                   .creates_max = place_final > 1024 ? place_final : 0, .transacts = "Chick",
                   .by_id = "Chick", .run = place);
        if (place_final > 1024) {
            KIT_STEP(world, 1);
            CHECK_EQ(orr_get(world, kept_id, Chick)->number, 2);
        } else {
            CHECK_RESULT(orr_step(world, 1), ORR_ERR_ENTITY);
            CHECK_CONTAINS(orr_error_last(world), "the argument has the provisional id");
            CHECK_CONTAINS(orr_error_last(world), "set .creates_max");
            CHECK_EQ(orr_get(world, kept_id, Chick)->number, 1);
            CHECK_EQ(kit_stats(world, orr_system_find(world, "place")).dropped, 0);
            k.errors = (kit_errors){0};
        }
        CHECK_EQ(orr_entity_count(world), 1026);
        CHECK_OK(orr_world_validate(world));
        kit_end(&k);
    }
    kept_id = (orr_entity){0};
}
