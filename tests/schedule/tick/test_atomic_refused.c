// SPDX-License-Identifier: MIT
// Atomic sections that are refused, by name and without effect: nested, with access to more than
// their value, not declared, not allowed, out of memory.
#include "schedule/tick/atomic_kit.h"
#include "store/cow/share.h"

// ---- one section at a time ----------------------------------------------------------------------

typedef struct nest {
    orr_run* run;
    orr_entity bob, eve;
    orr_world* other;
    orr_result inner;
    int32_t calls;
} nest;

static nest n;

static void count_call(void* value, void* user)
{
    (void)value;
    ((nest*)user)->calls++;
}

static void begin_another(void* value, void* user)
{
    nest* at = user;
    (void)value;
    at->inner = orr_atomic_on(at->run, at->eve, Score, count_call, at);
    ((Health*)value)->value--;
}

static void nest_run(orr_run* run)
{
    n.run = run;
    CHECK_OK(orr_atomic_on(run, n.bob, Health, begin_another, &n));
    // The section has ended: another may begin.
    CHECK_OK(orr_atomic_on(run, n.eve, Score, count_call, &n));
}

static orr_world* nest_begin(kit* k, uint32_t workers)
{
    orr_world* world = begin(k, &(orr_world_desc){.workers = workers});
    n = (nest){.bob = orr_create_named(world, "bob"), .eve = orr_create_named(world, "eve")};
    CHECK_OK(orr_set(world, n.bob, Health, {100, 0}));
    CHECK_OK(orr_set(world, n.eve, Score, {0}));
    CHECK_OK(orr_set(world, n.eve, Velocity, {0}));
    return world;
}

ORR_TEST(atomic_section_within_a_section_is_refused_and_both_are_named) /* N3-25 */
{
    for (uint32_t workers = 0; workers <= 2; workers += 2) {
        kit k;
        orr_world* world = nest_begin(&k, workers);
        orri_parallel_share(world, ORRI_SHARE_NOTHING, 0);
        orr_system system = KIT_SYSTEM(world, .name = "nest", .query = "Velocity",
                                       .atomics = "Health, Score", .run = nest_run);
        KIT_SYSTEM(world, .name = "beside", .query = "Health", .run = kit_run_nothing);
        KIT_STEP_REFUSED(world, 1);
        KIT_ERROR(&k, ORR_ERR_STATE,
                  "system 'nest' is in an atomic section on Health of bob (0v1) and begins another "
                  "one on Score of eve (1v1)");
        CHECK_RESULT(n.inner, ORR_ERR_STATE);
        CHECK_EQ(n.calls, 1);
        CHECK_EQ(orr_get(world, n.bob, Health)->value, 99);
        CHECK_EQ(kit_stats(world, system).violations, 1);
        kit_end(&k);
    }
}

static void shot_in_another_world(orr_run* run)
{
    const orr_entity* target = orr_run_settings(run);
    int32_t power = 1;
    n.inner = orr_atomic_on(run, *target, Score, add_points, &power);
}

static void step_another(void* value, void* user)
{
    (void)value;
    (void)user;
    (void)orr_step(n.other, 1);
}

static void nest_worlds(orr_run* run)
{
    CHECK_OK(orr_atomic_on(run, n.bob, Health, step_another, NULL));
}

ORR_TEST(atomic_section_within_a_section_of_another_world_is_refused) /* N3-25 */
{
    kit k, other;
    orr_world* world = nest_begin(&k, 0);
    orr_world* there = begin(&other, NULL);
    static orr_entity joe;
    joe = orr_create_named(there, "joe");
    CHECK_OK(orr_set(there, joe, Score, {0}));
    KIT_SYSTEM(there, .name = "inner", .once = true, .atomics = "Score", .settings = &joe,
               .run = shot_in_another_world);
    n.other = there;
    KIT_SYSTEM(world, .name = "nest", .query = "Velocity", .atomics = "Health", .run = nest_worlds);
    KIT_STEP(world, 1);
    KIT_ERROR(&other, ORR_ERR_STATE,
              "system 'nest' is in an atomic section on Health of bob (0v1) and begins another one "
              "on Score of joe (0v1)");
    CHECK_RESULT(n.inner, ORR_ERR_STATE);
    CHECK_EQ(orr_get(there, joe, Score)->points, 0);
    KIT_STEP(there, 1);
    CHECK_EQ(orr_get(there, joe, Score)->points, 1);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
    kit_end(&other);
}

// ---- calls inside a section ---------------------------------------------------------------------

static void section_access_world(void* value, void* user)
{
    nest* at = user;
    (void)value;
    at->calls = 0;
    at->calls += orr_get(at->run->world, at->eve, Score) == NULL;
    at->calls += orr_set(at->run->world, at->eve, Score, {.points = 9}) == ORR_ERR_STATE;
    at->calls += orr_destroy(at->run->world, at->eve) == ORR_ERR_STATE;
    at->calls += orr_send_add_preset(at->run, at->eve, Frozen) == ORR_ERR_STATE;
    at->calls += orr_transact(at->run, ORR_OP_ADD, at->eve, Score, points, 1) == ORR_ERR_STATE;
    at->calls += orr_alive(at->run->world, at->eve); // This call is allowed.
}

static void section_run(orr_run* run)
{
    n.run = run;
    CHECK_OK(orr_atomic_on(run, n.bob, Health, section_access_world, &n));
    CHECK_EQ(orr_get(run->world, n.eve, Score)->points, 0); // Allowed again.
    CHECK_OK(orr_transact(run, ORR_OP_ADD, n.eve, Score, points, 1));
}

ORR_TEST(atomic_section_that_accesses_more_than_its_value_is_refused) /* N3-25 */
{
    for (uint32_t workers = 0; workers <= 2; workers += 2) {
        kit k;
        orr_world* world = nest_begin(&k, workers);
        orri_parallel_share(world, ORRI_SHARE_NOTHING, 0);
        orr_system system = KIT_SYSTEM(
            world, .name = "reach", .query = "Velocity", .by_id = "write Score", .adds = "Frozen",
            .transacts = "Score", .atomics = "Health", .run = section_run);
        KIT_SYSTEM(world, .name = "beside", .query = "Aim", .run = kit_run_nothing);
        KIT_STEP_REFUSED(world, 1);
        CHECK_EQ(n.calls, 6);
        CHECK_EQ(k.errors.count, 5);
        CHECK_CONTAINS(k.errors.text, "an atomic section may use only its own value");
        CHECK_EQ(kit_stats(world, system).violations, 3);
        CHECK_EQ(orr_get(world, n.eve, Score)->points, 1);
        CHECK(!orr_has(world, n.eve, Frozen));
        kit_end(&k);
    }
}

ORR_TEST(atomic_section_that_accesses_more_than_its_value_is_named)
{
    kit k;
    orr_world* world = nest_begin(&k, 0);
    KIT_SYSTEM(world, .name = "reach", .query = "Velocity", .by_id = "write Score",
               .atomics = "Health", .adds = "Frozen", .transacts = "Score", .run = section_run);
    struct orri_messages* messages = world->messages;
    CHECK(messages->sections != NULL);
    KIT_STEP_REFUSED(world, 1);
    CHECK_EQ(k.errors.count, 5);
    kit_end(&k);
}

// ---- refusals -----------------------------------------------------------------------------------

typedef struct refusal {
    orr_system_desc desc;
    orr_result result;
    const char* words;
} refusal;

static const refusal refusals[] = {
    {{.kind = ORR_INDIRECT, .query = "Aim", .atomics = "Score"},
     ORR_ERR_ARGUMENT,
     "an indirect system does not access the world"},
    {{.query = "Aim, Score", .atomics = "Score", .parallel = true},
     ORR_ERR_ARGUMENT,
     "may not have atomic sections on Score and read or write it"},
    {{.query = "Aim, ?write Score", .atomics = "Health, Score", .parallel = true},
     ORR_ERR_ARGUMENT,
     "may not have atomic sections on Score and read or write it"},
    {{.query = "Aim", .by_id = "Score", .atomics = "Score", .parallel = true},
     ORR_ERR_ARGUMENT,
     "may not have atomic sections on Score and read or write it"},
    {{.query = "Aim", .atomics = "Label"}, ORR_ERR_TYPE, "Label has owned strings"},
    {{.query = "Aim", .atomics = "Token"}, ORR_ERR_TYPE, "Token has owned strings, arrays, hooks"},
    {{.query = "Aim", .atomics = "Follow"}, ORR_ERR_TYPE, "or indexed fields"},
    {{.query = "Aim", .atomics = "Frozen"}, ORR_ERR_TYPE, "Frozen has no fields"},
    {{.query = "Aim", .atomics = "write Score"}, ORR_ERR_PARSE, ".atomics is a list of types"},
    {{.query = "Aim", .atomics = "Score", .user = &n}, ORR_ERR_ARGUMENT, ".impure"},
};

ORR_TEST(atomic_sections_that_cannot_work_are_refused_when_the_system_is_added) /* N3-15 */
{
    for (size_t i = 0; i < ORRI_COUNT(refusals); i++) {
        kit k;
        orr_world* world = begin(&k, NULL);
        orr_system_desc desc = refusals[i].desc;
        desc.name = "x";
        desc.run = kit_run_nothing;
        if (orr_system_add(world, &desc).id != 0) {
            test_fail(__FILE__, __LINE__, "desc %zu was accepted", i);
        }
        CHECK_CONTAINS(k.errors.text, "system 'x'");
        KIT_ERROR(&k, refusals[i].result, refusals[i].words);
        KIT_STEP(world, 1);
        kit_end(&k);
    }
}

ORR_TEST(atomic_sections_are_refused_in_a_world_that_does_not_allow_them) /* N3-15 */
{
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    ORR_REGISTER(world, Aim, Score);
    CHECK_EQ(KIT_ADD(world, .name = "shoot", .query = "Aim", .atomics = "Score", .run = shoot).id,
             0);
    KIT_ERROR(&k, ORR_ERR_STATE, "system 'shoot' has atomic sections (.atomics)");
    CHECK(world->messages->sections == NULL);
    KIT_STEP(world, 1);
    kit_end(&k);
}

ORR_TEST(atomic_sections_on_an_unknown_type_refuse_the_tick)
{
    kit k;
    orr_world* world = begin(&k, NULL);
    orr_system system =
        KIT_SYSTEM(world, .name = "x", .query = "Aim", .atomics = "Scroe", .run = shoot);
    CHECK(orr_step(world, 1) != ORR_OK);
    CHECK_CONTAINS(k.errors.text, "Score");
    KIT_ERROR(&k, ORR_ERR_TYPE, "system 'x', .atomics");
    CHECK_OK(orr_system_remove(world, system));
    KIT_STEP(world, 1);
    // Likewise a type of the library that was not named before.
    system = KIT_SYSTEM(world, .name = "y", .query = "Aim", .atomics = "orr_name", .run = shoot);
    CHECK(orr_step(world, 1) != ORR_OK);
    KIT_ERROR(&k, ORR_ERR_TYPE, "system 'y', .atomics: orr_name is a built-in type");
    CHECK_OK(orr_system_remove(world, system));
    KIT_STEP(world, 1);
    kit_end(&k);
}

static void send_undeclared(orr_run* run)
{
    const targets* t = orr_run_settings(run);
    orr_type score = orr_type_of(run->world, ORR_TYPE(Score));
    orr_type cargo = orr_type_of(run->world, ORR_TYPE(Cargo));
    kit* k = orr_run_user(run);
    CHECK_RESULT(orr_atomic_on(run, t->bob, Health, hurt, NULL), ORR_ERR_STATE);
    KIT_ERROR(k, ORR_ERR_STATE,
              "system 'reach' has an atomic section on Health for bob (0v1), which it did not "
              "declare; add Health to its .atomics");
    CHECK_RESULT(orr_atomic(run, t->bob, score, 0, NULL, NULL), ORR_ERR_ARGUMENT);
    KIT_ERROR(k, ORR_ERR_ARGUMENT, "'reach': the function is NULL");
    CHECK_RESULT(orr_atomic(run, (orr_entity){0}, score, 0, add_one, NULL), ORR_ERR_ARGUMENT);
    KIT_ERROR(k, ORR_ERR_ARGUMENT, "'reach': the target is null");
    CHECK_RESULT(orr_atomic(run, t->bob, score, 1, add_one, NULL), ORR_ERR_ARGUMENT);
    KIT_ERROR(k, ORR_ERR_ARGUMENT, "Score is a unique type, so its id must be 0");
    CHECK_RESULT(orr_atomic(run, t->bob, cargo, 0, add_one, NULL), ORR_ERR_ARGUMENT);
    KIT_ERROR(k, ORR_ERR_ARGUMENT, "Cargo is a multiple type");
    CHECK_RESULT(orr_atomic(run, t->bob, (orr_type){0}, 0, add_one, NULL), ORR_ERR_TYPE);
    k->errors = (kit_errors){0};
}

ORR_TEST(atomic_section_that_is_not_declared_is_refused_and_named) /* N3-15 */
{
    kit k;
    orr_world* world = begin(&k, NULL);
    static targets t;
    t.bob = orr_create_named(world, "bob");
    CHECK_OK(orr_set(world, t.bob, Health, {100, 0}));
    CHECK_OK(orr_set(world, t.bob, Score, {0}));
    orr_system system = KIT_SYSTEM(world, .name = "reach", .query = "Health",
                                   .atomics = "Score, Cargo", .settings = &t, .user = &k,
                                   .impure = true, .run = send_undeclared);
    KIT_STEP_REFUSED(world, 1);
    CHECK_EQ(kit_stats(world, system).violations, 1);
    CHECK_EQ(kit_stats(world, system).dropped, 0);
    CHECK_EQ(orr_get(world, t.bob, Health)->value, 100);
    CHECK_EQ(orr_get(world, t.bob, Score)->points, 0);
    // Between ticks there is no run.
    orr_query* query = orr_query_text(world, "Health");
    orr_iter loop;
    (void)orr_iter_begin(&loop, query, NULL);
    CHECK(orr_iter_next(&loop));
    CHECK_RESULT(orr_atomic_on(&loop, t.bob, Score, add_one, NULL), ORR_ERR_STATE);
    orr_iter_end(&loop);
    KIT_ERROR(&k, ORR_ERR_STATE, "this is a query loop, not the run of a system");
    orr_query_destroy(query);
    kit_end(&k);
}

static orr_run* handled;
static orr_result in_handler;

static void shoot_from_handler(void* user, orr_world* world, const orr_error* error)
{
    int32_t power = 1;
    (void)error;
    kit_on_error(user, world, error);
    if (handled != NULL) {
        orr_run* run = handled;
        handled = NULL;
        in_handler = orr_atomic_on(run, n.eve, Score, add_points, &power);
    }
}

static void provoke(orr_run* run)
{
    handled = run;
    (void)orr_atomic(run, n.eve, orr_type_of(run->world, ORR_TYPE(Score)), 0, NULL, NULL);
}

ORR_TEST(atomic_section_in_an_error_handler_is_refused)
{
    kit k;
    orr_world* world = nest_begin(&k, 0);
    world->errors.handler = shoot_from_handler;
    KIT_SYSTEM(world, .name = "provoke", .query = "Velocity", .atomics = "Score", .run = provoke);
    in_handler = ORR_OK;
    KIT_STEP_REFUSED(world, 1);
    CHECK_RESULT(in_handler, ORR_ERR_STATE);
    CHECK_EQ(orr_get(world, n.eve, Score)->points, 0);
    kit_end(&k);
}

// ---- out of memory ------------------------------------------------------------------------------

static orr_result held_result;

static void shoot_held(orr_run* run)
{
    int32_t power = 1;
    held_result = orr_atomic_on(run, n.eve, Score, add_points, &power);
}

ORR_TEST(atomic_section_on_a_shared_block_copies_it_first_or_has_no_effect)
{
    kit k;
    orr_world* world = nest_begin(&k, 0);
    KIT_SYSTEM(world, .name = "shoot", .query = "Velocity", .atomics = "Score", .run = shoot_held);
    KIT_STEP(world, 1);
    CHECK_OK(held_result);
    uint32_t index = orri_type_index(world, KIT_TYPE(world, Score));
    orri_chunk* chunk = orri_place_chunk(world, orri_record_find(world, n.eve)->place);
    int32_t column = orri_table_column(world, index, chunk->id);
    orri_share* share = orri_share_column(world, chunk, (uint32_t)column, ORRI_SHARE_FROZEN);
    CHECK(share != NULL);
    failing_alloc_arm(&k.memory, 1, true);
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_MEMORY);
    failing_alloc_arm(&k.memory, 0, false);
    CHECK_RESULT(held_result, ORR_ERR_MEMORY);
    CHECK_EQ(k.errors.count, 1);
    KIT_ERROR(&k, ORR_ERR_MEMORY, "copying a shared block for an atomic section");
    CHECK_CONTAINS(orr_error_last(world), "tick 2 ran, but system 'shoot' was refused something");
    CHECK_EQ(orr_get(world, n.eve, Score)->points, 1);
    KIT_STEP(world, 1);
    CHECK_OK(held_result);
    CHECK_EQ(orr_get(world, n.eve, Score)->points, 2);
    // The holder of the shared block sees the old value.
    CHECK_EQ(((const Score*)share->data)->points, 1);
    orri_share_release(world, share);
    kit_end(&k);
}

static void short_shot(orr_run* run)
{
    const Aim* aim = orr_read(run, Aim);
    for (uint32_t i = 0; i < run->count; i++) {
        int32_t power = aim[i].power;
        (void)orr_atomic_on(run, aim[i].target, Score, add_points, &power);
    }
}

// Whichever allocation is refused: the system is added or it is not, and its writes are whole.
ORR_TEST(atomic_sections_survive_every_refused_allocation)
{
    bool refused = true;
    for (uint64_t fail = 1; refused; fail++) {
        kit k;
        orr_world* world = begin(&k, &(orr_world_desc){.workers = fail % 2 == 0 ? 2 : 0});
        orr_entity bob = orr_create(world);
        CHECK_OK(orr_set(world, bob, Score, {0}));
        int64_t sum = senders(world, bob, 40);
        failing_alloc_arm(&k.memory, fail, false);
        orr_system_desc desc = {.name = "shoot",
                                .query = "Aim",
                                .atomics = "Score",
                                .run = short_shot,
                                .parallel = true};
        orr_system system = orr_system_add(world, &desc);
        refused = system.id == 0;
        if (refused) {
            CHECK_RESULT(k.errors.result, ORR_ERR_MEMORY);
            system = orr_system_add(world, &desc);
        }
        CHECK(system.id != 0);
        uint32_t tries = 0;
        while (orr_step(world, 1) != ORR_OK) {
            CHECK(++tries < 10);
            refused = true;
        }
        failing_alloc_arm(&k.memory, 0, false);
        KIT_STEP(world, 1);
        CHECK_EQ(orr_get(world, bob, Score)->points, 2 * sum);
        kit_end(&k);
    }
}
