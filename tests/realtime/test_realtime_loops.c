// SPDX-License-Identifier: MIT
// Loops in real time. A loop that is not ended ends with its system or call. While a loop is open
// in a call from outside, structure does not change. Lockstep behaves alike.
#include "realtime/hard_kit.h"

ORR_STRUCT(Deep, (float, z))
ORR_STRUCT(Wide, (float, x))
ORR_STRUCT(Dent, (int32_t, depth))

static orr_query* loops_query;
static orr_iter loops_iter;
static _Atomic uint32_t loops_wrong, loops_looks;

static orr_world* loops_begin(kit* k, uint32_t workers)
{
    orr_world* world = hard_begin(k, workers);
    ORR_REGISTER(world, Deep, Wide);
    for (uint32_t i = 0; i < 50; i++) {
        orr_entity entity = orr_create(world);
        CHECK_OK(orr_set(world, entity, Deep, {0}));
        CHECK_OK(orr_set(world, entity, Wide, {0}));
    }
    loops_query = orr_query_create(
        world, &(orr_query_desc){ORR_TERMS(ORR_R(world, Deep)), .order_by = "Deep.z"});
    CHECK(loops_query != NULL);
    hard_pipe(world, "a", 300, false);
    loops_wrong = loops_looks = 0;
    return world;
}

static void loops_go(orr_world* world, bool realtime, uint32_t ticks)
{
    orr_result result = realtime ? orr_realtime(world, &(orr_realtime_desc){.ticks = ticks})
                                 : orr_step(world, ticks);
    CHECK(result == ORR_OK || result == ORR_ERR_STATE); // Loops may be refused.
}

// ---- loops that are not ended -------------------------------------------------------------------

static void loops_write(orr_run* run)
{
    Deep* d = orr_write(run, Deep);
    for (uint32_t i = 0; i < run->count; i++) {
        d[i].z = (float)(orr_run_random(run, orr_iter_entity(run, i)) % 1000);
    }
}

static void loops_leave(orr_run* run)
{
    (void)run;
    orr_iter it; // ORR_EACH would end the loop.
    orr_iter_begin(&it, loops_query, NULL);
    loops_wrong += !orr_iter_next(&it);
}

static void loops_check(orr_run* run)
{
    float last = -1;
    (void)run;
    loops_looks++;
    ORR_EACH (it, loops_query) {
        const Deep* d = orr_read(&it, Deep);
        for (uint32_t i = 0; i < it.count; i++) {
            loops_wrong += d[i].z < last;
            last = d[i].z;
        }
    }
}

// One system leaves a loop over a kept order open in every tick. The order that later systems see,
// in this pipeline and in another, is right.
static void loops_order(bool realtime, uint32_t workers)
{
    kit k;
    orr_world* world = loops_begin(&k, workers);
    KIT_SYSTEM(world, .name = "write", .query = "write Deep", .run = loops_write);
    KIT_SYSTEM(world, .name = "leave", .once = true, .alone = true, .by_id = "Deep",
               .run = loops_leave);
    KIT_SYSTEM(world, .name = "check", .once = true, .alone = true, .by_id = "Deep",
               .run = loops_check);
    KIT_SYSTEM(world, .name = "again", .once = true, .alone = true, .pipeline = "a",
               .by_id = "Deep", .run = loops_check);
    loops_go(world, realtime, 20);
    CHECK_EQ(loops_wrong, 0);
    CHECK(loops_looks >= 20);
    CHECK_OK(orr_query_count(loops_query) == 50 ? ORR_OK : ORR_ERR_STATE);
    CHECK(orr_create(world).id != 0); // No loop is open any more.
    CHECK_OK(orr_world_validate(world));
    hard_end(&k);
}

ORR_TEST(realtime_open_loop_over_an_order_ends_with_its_system)
{
    for (uint32_t workers = 0; workers <= 2; workers += 2) {
        loops_order(false, workers);
        loops_order(true, workers);
    }
}

static void loops_keep(orr_run* run)
{
    if (run->tick == 2) {
        orr_iter_begin(&loops_iter, orr_run_query(run), NULL);
        loops_wrong += !orr_iter_next(&loops_iter);
    } else if (run->tick == 4) {
        loops_looks++;
        loops_wrong += orr_iter_next(&loops_iter);
        orr_iter_end(&loops_iter);
    }
}

// Rows may have moved: an iterator that outlives its system is refused when it is advanced.
ORR_TEST(realtime_iterator_that_outlives_its_system_is_refused)
{
    for (uint32_t i = 0; i < 4; i++) {
        kit k;
        orr_world* world = loops_begin(&k, 0);
        KIT_SYSTEM(world, .name = "keep", .once = true, .query = "Wide", .alone = i >= 2,
                   .run = loops_keep);
        loops_go(world, i % 2 == 1, 8);
        CHECK_EQ(loops_wrong, 0);
        CHECK_EQ(loops_looks, 1);
        KIT_ERROR(&k, ORR_ERR_STATE, "iteration ends here");
        hard_end(&k);
    }
}

static void loops_start(orr_run* run)
{
    loops_leave(run);
}

ORR_TEST(realtime_open_loop_of_a_callback_ends_with_the_callback)
{
    for (uint32_t i = 0; i < 2; i++) {
        kit k;
        orr_world* world = loops_begin(&k, 0);
        KIT_SYSTEM(world, .name = "write", .query = "write Deep", .run = loops_write);
        KIT_SYSTEM(world, .name = "leave", .once = true, .alone = true, .by_id = "Deep",
                   .start = loops_start, .run = kit_run_nothing);
        KIT_SYSTEM(world, .name = "check", .once = true, .alone = true, .by_id = "Deep",
                   .run = loops_check);
        loops_go(world, i == 1, 5);
        CHECK_EQ(loops_wrong, 0);
        CHECK_EQ(loops_looks, 5);
        hard_end(&k);
    }
}

// Only a system with .alone has exclusive structure in real time. A system that runs alone in its
// pipeline because it has a changed term does not.
ORR_TEST(realtime_loop_over_an_order_needs_alone)
{
    kit k;
    orr_world* world = loops_begin(&k, 0);
    KIT_SYSTEM(world, .name = "sloppy", .query = "changed Wide", .by_id = "Deep",
               .run = loops_check);
    loops_go(world, true, 3);
    KIT_ERROR(&k, ORR_ERR_STATE, "sloppy' loops over a query with an order");
    hard_end(&k);
}

// ---- calls from outside -------------------------------------------------------------------------

typedef struct loops_call {
    orr_query* query;
    uint32_t deeds; // Bits of loops_try().
    uint32_t done;
} loops_call;
static loops_call loops_results[8];
static uint32_t loops_calls;

// Makes all calls that change structure. @return bits of the calls that were not refused.
static uint32_t loops_try(orr_world* world, orr_entity entity)
{
    uint32_t done = 0;
    done |= (uint32_t)(orr_create(world).id != 0) << 0;
    done |= (uint32_t)(orr_destroy(world, entity) == ORR_OK) << 1;
    done |= (uint32_t)(orr_remove(world, entity, Wide) == ORR_OK) << 2;
    done |= (uint32_t)(orr_set(world, entity, Fruit, {1}) == ORR_OK) << 3;
    done |= (uint32_t)(orr_tag_add(world, entity, 7) == ORR_OK) << 4;
    return done;
}

static void loops_change(orr_world* world, void* data, size_t size)
{
    (void)size;
    loops_call* call = data;
    orr_entity entity = {0};
    ORR_EACH (it, call->query) {
        entity = orr_iter_entity(&it, 0);
        call->deeds |= loops_try(world, entity);
    }
    call->done = orr_set(world, entity, Dent, {1}) == ORR_OK;
    orr_iter left;
    orr_iter_begin(&left, call->query, NULL); // The loop stays open until this call ends.
    loops_wrong += !orr_iter_next(&left);
    loops_results[loops_calls++] = *call;
}

static bool loops_predicate(void* user, const orr_world* world, orr_cluster cluster)
{
    (void)cluster;
    *(uint32_t*)user += orr_create((orr_world*)(uintptr_t)world).id != 0;
    return true;
}

static void loops_ask(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    uint32_t created = 0;
    orr_query* query =
        orr_query_create(world, &(orr_query_desc){ORR_TERMS(ORR_R(world, Wide)),
                                                  .predicate = loops_predicate, .user = &created});
    loops_results[loops_calls++] = (loops_call){.deeds = created, .done = query != NULL};
    orr_query_destroy(query);
}

static void loops_post(orr_run* run)
{
    orr_world* world = run->world;
    loops_call call = {.query = loops_query};
    if (run->tick == 2) {
        for (uint32_t i = 0; i < 2; i++) {
            loops_wrong += orr_post(world, loops_change, &call, sizeof call) != ORR_OK;
            loops_wrong += orr_post_exclusive(world, loops_change, &call, sizeof call) != ORR_OK;
        }
        loops_wrong += orr_post(world, loops_ask, NULL, 0) != ORR_OK;
    }
}

ORR_TEST(realtime_call_that_changes_structure_inside_its_loop_is_refused)
{
    kit k;
    orr_world* world = loops_begin(&k, 0);
    ORR_REGISTER(world, Dent, Fruit);
    loops_calls = 0;
    KIT_SYSTEM(world, .name = "post", .once = true, .run = loops_post);
    KIT_SYSTEM(world, .name = "write", .pipeline = "a", .query = "write Deep", .run = loops_write);
    loops_go(world, true, 5);
    CHECK_EQ(loops_wrong, 0);
    CHECK_EQ(loops_calls, 5);
    for (uint32_t i = 0; i < loops_calls; i++) {
        CHECK_EQ(loops_results[i].deeds, 0);
        CHECK_EQ(loops_results[i].done, 1);
    }
    KIT_ERROR(&k, ORR_ERR_STATE, "not allowed while a query is iterated");
    CHECK_EQ(orr_entity_count(world), 50);
    CHECK_OK(orr_world_validate(world));
    hard_end(&k);
}

// Calls that are left when the run ends run at a last sync point, one after another.
static void loops_post_last(orr_run* run)
{
    loops_call call = {.query = loops_query};
    if (run->tick == 3) {
        for (uint32_t i = 0; i < 3; i++) {
            loops_wrong += orr_post(run->world, loops_change, &call, sizeof call) != ORR_OK;
        }
        orr_stop(run->world);
    }
}

ORR_TEST(realtime_calls_at_the_end_of_a_run_leave_no_loop_open)
{
    kit k;
    orr_world* world = loops_begin(&k, 0);
    ORR_REGISTER(world, Dent, Fruit);
    loops_calls = 0;
    KIT_SYSTEM(world, .name = "post", .once = true, .run = loops_post_last);
    CHECK_RESULT(orr_realtime(world, NULL), ORR_ERR_STATE);
    CHECK_EQ(loops_calls, 3);
    for (uint32_t i = 0; i < loops_calls; i++) {
        CHECK_EQ(loops_results[i].deeds, 0);
        CHECK_EQ(loops_results[i].done, 1);
    }
    KIT_ERROR(&k, ORR_ERR_STATE, "not allowed while a query is iterated");
    CHECK(orr_create(world).id != 0);
    hard_end(&k);
}

// ---- the journal --------------------------------------------------------------------------------

static _Atomic uint32_t loops_found, loops_posted;

static void loops_journal(orr_run* run)
{
    orr_journal_entry entries[4];
    loops_found += orr_journal_get(run->world, (orr_entity){0}, entries, 4);
    loops_looks++;
}

static void loops_journal_call(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    orr_journal_entry entries[4];
    loops_posted += orr_journal_get(world, (orr_entity){0}, entries, 4) > 0;
}

static void loops_journal_post(orr_run* run)
{
    orr_send_add(run, orr_send_create(run), Dent, {(int32_t)run->tick});
    if (run->tick == 5) {
        loops_wrong += orr_post(run->world, loops_journal_call, NULL, 0) != ORR_OK;
        loops_wrong += orr_post_exclusive(run->world, loops_journal_call, NULL, 0) != ORR_OK;
    }
}

ORR_TEST(realtime_journal_read_by_systems_while_it_is_written_is_refused)
{
    kit k;
    orr_world* world = loops_begin(&k, 0);
    ORR_REGISTER(world, Dent);
    CHECK_OK(orr_journal_set(world, 100));
    loops_found = loops_posted = 0;
    KIT_SYSTEM(world, .name = "post", .once = true, .creates = "Dent", .run = loops_journal_post);
    KIT_SYSTEM(world, .name = "look", .once = true, .run = loops_journal);
    KIT_SYSTEM(world, .name = "parallel", .once = true, .pipeline = "a", .run = loops_journal);
    loops_go(world, true, 10);
    CHECK_EQ(loops_found, 0);
    CHECK_EQ(loops_posted, 2);
    CHECK_EQ(loops_wrong, 0);
    KIT_ERROR(&k, ORR_ERR_STATE, "orr_journal_get: not allowed while pipelines run");
    // Each tick created one entity with a Dent: no entry was lost, whichever systems ran at the
    // same time.
    CHECK_EQ(orr_journal_get(world, (orr_entity){0}, NULL, 0), 10);
    loops_go(world, false, 10); // In lockstep the journal can be read.
    CHECK(loops_found > 0);
    hard_end(&k);
}

// ---- texts of refusals --------------------------------------------------------------------------

ORR_STRUCT(Never, (int32_t, x))

// Each call, and the advice in its refusal.
static void loops_say(orr_world* world, const char* hash, const char* type)
{
    loops_wrong += orr_world_hash(world) != 0 || strstr(orr_error_last(world), hash) == NULL;
    loops_wrong += orr_world_validate(world) == ORR_OK ||
                   strstr(orr_error_last(world), hash) == NULL;
    loops_looks++;
    if (type != NULL) {
        loops_wrong += orr_type_of(world, ORR_TYPE(Never)).id != 0 ||
                       strstr(orr_error_last(world), type) == NULL;
        loops_wrong += orr_create(world).id != 0;
    }
}

static void loops_say_call(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    loops_say(world, "not allowed while pipelines run; post it with orr_post_exclusive()", NULL);
}

static void loops_say_at_sync_point(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    loops_wrong += orr_world_hash(world) == 0 || orr_world_validate(world) != ORR_OK;
    loops_looks++;
}

static void loops_other_thread(void* data)
{
    loops_say(data, "orr_post_exclusive", "post the call with orr_post()");
}

static void loops_say_run(orr_run* run)
{
    const orr_platform* platform = orr_platform_default();
    orr_thread thread;
    if (run->tick == 3) {
        loops_say(run->world, "post it with orr_post_exclusive(), or call it before orr_realtime()",
                  "is the first to use");
        loops_wrong +=
            platform->thread_create(NULL, "other", loops_other_thread, run->world, &thread) != 0;
        platform->thread_join(NULL, thread);
        loops_wrong += orr_post(run->world, loops_say_call, NULL, 0) != ORR_OK;
        loops_wrong += orr_post_exclusive(run->world, loops_say_at_sync_point, NULL, 0) != ORR_OK;
    }
}

static uint32_t loops_marks;

static void loops_mark_call(orr_world* world, void* data, size_t size)
{
    (void)world, (void)data, (void)size;
    loops_marks++;
}

ORR_TEST(realtime_refusals_say_what_to_do)
{
    kit k;
    orr_world* world = loops_begin(&k, 0);
    KIT_SYSTEM(world, .name = "say", .once = true, .run = loops_say_run);
    loops_go(world, true, 6);
    CHECK_EQ(loops_wrong, 0);
    CHECK_EQ(loops_looks, 4);
    k.errors = (kit_errors){0};
    // In lockstep the call waits for the next tick.
    CHECK_OK(orr_post(world, loops_mark_call, NULL, 0));
    CHECK_EQ(loops_marks, 0);
    CHECK_OK(orr_step(world, 1));
    CHECK_EQ(loops_marks, 1);
    k.errors = (kit_errors){0};
    CHECK_RESULT(orr_post_exclusive(world, NULL, NULL, 0), ORR_ERR_ARGUMENT);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "orr_post_exclusive: the call, or its data, is NULL");
    hard_end(&k);
}

// ---- the world's tick ---------------------------------------------------------------------------

static _Atomic uint64_t loops_newest;

// The world's tick that a system sees never decreases, and is not smaller than the system's own
// tick.
static void loops_tick(orr_run* run)
{
    uint64_t now = orr_world_tick(run->world), before = loops_newest;
    uint64_t* last = &orr_state(run, Count)->last;
    loops_wrong += now < *last || (orr_run_settings(run) != NULL && now < run->tick);
    *last = now;
    while (now > before && !atomic_compare_exchange_weak(&loops_newest, &before, now)) {
    }
}

ORR_TEST(realtime_world_tick_counts_begun_ticks_of_all_but_spectators)
{
    kit k;
    orr_world* world = loops_begin(&k, 0);
    hard_pipe(world, "b", 0, false);
    hard_pipe(world, "view", 0, true);
    loops_newest = 0;
    static const char* const names[] = {"main", "a", "b", "view"};
    for (uint32_t i = 0; i < 4; i++) {
        KIT_SYSTEM(world, .name = names[i], .pipeline = names[i], .once = true,
                   .state = ORR_TYPE(Count), .settings = i < 3 ? names[i] : NULL,
                   .run = loops_tick);
    }
    loops_go(world, true, 20);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 4; i++) {
        orr_pipeline_stats stats;
        CHECK_OK(orr_pipeline_stats_get(world, orr_pipeline_find(world, names[i]), &stats));
        sum += stats.spectator ? 0 : stats.tick;
    }
    CHECK_EQ(loops_wrong, 0);
    CHECK_EQ(orr_world_tick(world), sum);
    CHECK(loops_newest <= sum);
    hard_end(&k);
}
