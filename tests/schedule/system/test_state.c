// SPDX-License-Identifier: MIT
// State, exports and random numbers of systems.
#include "schedule/system_kit.h"

ORR_STRUCT(Spare, (uint8_t, a), (double, b))

// ---- state and exports --------------------------------------------------------------------------

static void count_up(orr_run* run)
{
    Count* count = orr_state(run, Count);
    count->value++;
}

ORR_TEST(system_state_begins_with_its_preset_and_is_hashed)
{
    kit k[2];
    uint64_t hashes[2];
    for (uint32_t i = 0; i < 2; i++) {
        orr_world* world = begin(&k[i]);
        make(world, 0);
        orr_system system = KIT_SYSTEM(world, .name = "counter", .query = "Position",
                                       .run = i == 0 ? count_up : kit_run_nothing,
                                       .state = ORR_TYPE(Count));
        KIT_STEP(world, 1);
        const Count* count = orr_system_state(world, system);
        CHECK_EQ(count->value, i == 0 ? 8 : 7);
        CHECK(orr_system_exports(world, system) == NULL);
        hashes[i] = orr_world_hash(world);
    }
    CHECK(hashes[0] != hashes[1]);
    KIT_STEP(k[0].world, 1);
    KIT_STEP(k[1].world, 1);
    CHECK(orr_world_hash(k[0].world) != orr_world_hash(k[1].world));
    kit_end(&k[0]);
    kit_end(&k[1]);
}

// The names of these systems are unknown when they are added: they are looked up by the next tick, a
// tick that is refused, and the plan as text. Only a tick that runs may change the hash.
ORR_TEST(system_state_appears_in_the_hash_when_the_system_is_added)
{
    static const char* const queries[] = {"Position, ?orr_tags", "Position, ?Spare",
                                          "Position, ?Spare, Unknown"};
    for (uint32_t i = 0; i < 3; i++) {
        kit k;
        orr_world* world = begin(&k);
        make(world, 0);
        orr_system system = KIT_SYSTEM(world, .name = "counter", .query = queries[i],
                                       .run = kit_run_nothing, .state = ORR_TYPE(Count),
                                       .exports = ORR_TYPE(Count));
        uint64_t before = orr_world_hash(world);
        if (i > 0) {
            ORR_REGISTER(world, Spare);
        }
        (void)orr_plan_print(world, NULL, 0);
        CHECK_EQ(orr_world_hash(world), before);
        orr_result result = orr_step(world, 1);
        CHECK_EQ(result, i == 2 ? ORR_ERR_TYPE : ORR_OK);
        CHECK_EQ(orr_world_hash(world) == before, i == 2);
        CHECK(i == 2 || ((const Count*)orr_system_state(world, system))->value == 7);
        k.errors = (kit_errors){0};
        kit_end(&k);
    }
}

// Padding of a state must not change the hash.
static void write_spare(orr_run* run)
{
    Spare* spare = orr_state(run, Spare);
    memset(spare, (int)(uintptr_t)orr_run_user(run), sizeof *spare);
    spare->a = 1;
    spare->b = 2;
}

ORR_TEST(system_state_is_hashed_without_its_padding)
{
    uint64_t hashes[2];
    for (uint32_t i = 0; i < 2; i++) {
        kit k;
        orr_world* world = begin(&k);
        make(world, 0);
        KIT_SYSTEM(world, .name = "s", .query = "Position", .run = write_spare,
                   .user = (void*)(uintptr_t)(0x11 + i), .state = ORR_TYPE(Spare));
        KIT_STEP(world, 1);
        hashes[i] = orr_world_hash(world);
        kit_end(&k);
    }
    CHECK_EQ(hashes[0], hashes[1]);
}

static void blow(orr_run* run)
{
    Wind* wind = orr_export(run, Wind);
    wind->x += 1;
}

static void feel(orr_run* run)
{
    const Wind* wind = orr_import(run, "weather", Wind);
    *(float*)orr_run_user(run) = wind != NULL ? wind->x : -1;
}

/* N2-04 */
ORR_TEST(system_reads_exports_of_another)
{
    kit k;
    orr_world* world = begin_rows(&k);
    float before = 0, after = 0;
    orr_system weather = KIT_SYSTEM(world, .name = "weather", .query = "Position", .run = blow,
                                    .exports = ORR_TYPE(Wind));
    KIT_SYSTEM(world, .name = "before", .query = "Position", .run = feel, .user = &before,
               .before = "weather", .imports = "weather");
    KIT_SYSTEM(world, .name = "after", .query = "Position", .run = feel, .user = &after,
               .imports = "weather");
    KIT_STEP(world, 2);
    CHECK_EQ(before, 3);
    CHECK_EQ(after, 4);
    CHECK_EQ(((const Wind*)orr_system_exports(world, weather))->x, 4);
    uint64_t hash = orr_world_hash(world);
    CHECK_OK(orr_system_enable(world, weather, false));
    CHECK(orr_world_hash(world) != hash); // Disabled systems are part of the state.
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

static void feel_both(orr_run* run)
{
    const Wind* wind = orr_import(run, "weather", Wind);
    const Count* count = orr_import(run, "counter", Count);
    CHECK(wind != NULL && count != NULL);
    *(float*)orr_run_user(run) = wind->x + (float)count->value;
}

static void count_exports(orr_run* run)
{
    orr_export(run, Count)->value += 10;
}

ORR_TEST(system_reads_exports_of_several_others)
{
    kit k;
    orr_world* world = begin_rows(&k);
    float sum = 0;
    KIT_SYSTEM(world, .name = "weather", .query = "Position", .run = blow,
               .exports = ORR_TYPE(Wind), .state = ORR_TYPE(Count));
    KIT_SYSTEM(world, .name = "counter", .query = "Position", .run = count_exports,
               .exports = ORR_TYPE(Count));
    KIT_SYSTEM(world, .name = "feel", .query = "Position", .run = feel_both, .user = &sum,
               .imports = "weather, counter");
    KIT_STEP(world, 1);
    CHECK_EQ(sum, 3 + 17);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

static void write_import(orr_run* run)
{
    Wind* wind = (Wind*)(uintptr_t)orr_import(run, "weather", Wind);
    wind->x = 1000;
}

/* N2-05 */
ORR_TEST(system_that_writes_an_import_is_reported_and_undone)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_access_check_set(world, ORR_ACCESS_CHECK_FULL);
    orr_system weather = KIT_SYSTEM(world, .name = "weather", .query = "Position", .run = blow,
                                    .exports = ORR_TYPE(Wind));
    orr_system bad = KIT_SYSTEM(world, .name = "bad", .query = "Position", .run = write_import,
                                .imports = "weather");
    CHECK_RESULT(kit_run_refused(world, 1), ORR_ERR_STATE);
    CHECK_EQ(k.errors.count, 1);
    KIT_ERROR(&k, ORR_ERR_STATE,
              "system 'bad' wrote Wind of system 'weather', which is not its own (undone)");
    CHECK_EQ(((const Wind*)orr_system_exports(world, weather))->x, 3);
    CHECK_EQ(kit_stats(world, bad).violations, 1);
    CHECK_EQ(kit_stats(world, weather).violations, 0);
    kit_end(&k);
}

static void ask_wrong(orr_run* run)
{
    kit* k = orr_run_user(run);
    CHECK(orr_state(run, Wind) == NULL);
    KIT_ERROR(
        k, ORR_ERR_STATE,
        "orr_state: system 'asker' asks for Wind, which is not the type of its .state: that is "
        "Count");
    CHECK(orr_export(run, Count) == NULL);
    KIT_ERROR(k, ORR_ERR_STATE,
              "orr_export: system 'asker' asks for Count, which is not the type of its .exports: "
              "that is Wind");
    CHECK(orr_import(run, "weather", Count) == NULL);
    KIT_ERROR(k, ORR_ERR_STATE,
              "orr_import: system 'asker' asks for Count, which is not what the system of that "
              "name exports");
    CHECK(orr_import(run, "secret", Wind) == NULL);
    KIT_ERROR(k, ORR_ERR_STATE,
              "orr_import: system 'asker' reads Wind of 'secret', which it did not declare; add "
              "'secret' to its .imports");
    CHECK(orr_import(run, NULL, Wind) == NULL);
    CHECK(orr_run_state(run, NULL) == NULL);
    CHECK(orr_run_export(run, NULL) == NULL);
    CHECK(orr_state(run, Count) != NULL);
    CHECK(orr_export(run, Wind) != NULL);
    CHECK(orr_import(run, "weather", Wind) != NULL);
}

ORR_TEST(system_that_requests_an_undeclared_state_or_export_is_refused)
{
    kit k;
    orr_world* world = begin_rows(&k);
    KIT_SYSTEM(world, .name = "weather", .query = "Position", .run = blow,
               .exports = ORR_TYPE(Wind));
    KIT_SYSTEM(world, .name = "secret", .query = "Position", .run = blow,
               .exports = ORR_TYPE(Wind));
    orr_system asker = KIT_SYSTEM(world, .name = "asker", .query = "Position", .run = ask_wrong,
                                  .user = &k, .imports = "weather", .state = ORR_TYPE(Count),
                                  .exports = ORR_TYPE(Wind));
    KIT_STEP_REFUSED(world, 1);
    CHECK_EQ(kit_stats(world, asker).violations, 4);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

static void ask_without(orr_run* run)
{
    CHECK(orr_state(run, Count) == NULL);
    CHECK(orr_export(run, Wind) == NULL);
}

ORR_TEST(system_without_state_or_export_that_requests_one_is_told_what_to_declare)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system asker = KIT_SYSTEM(world, .name = "asker", .query = "Position", .run = ask_without);
    KIT_STEP_REFUSED(world, 1);
    CHECK_CONTAINS(orr_error_last(world), "asks for Count, but has no .state; add .state = "
                                          "ORR_TYPE(Count)");
    KIT_ERROR(&k, ORR_ERR_STATE,
              "asks for Wind, but has no .exports; add .exports = ORR_TYPE(Wind)");
    CHECK_EQ(kit_stats(world, asker).violations, 2);
    kit_end(&k);
}

ORR_TEST(system_state_is_freed_with_its_system)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system a = KIT_SYSTEM(world, .name = "a", .query = "Position", .run = count_up,
                              .state = ORR_TYPE(Count));
    KIT_STEP(world, 3);
    CHECK_EQ(((const Count*)orr_system_state(world, a))->value, 10);
    CHECK_OK(orr_system_remove(world, a));
    KIT_STEP(world, 1);
    CHECK(orr_system_state(world, a) == NULL);
    a = KIT_SYSTEM(world, .name = "a", .query = "Position", .run = count_up,
                   .state = ORR_TYPE(Count));
    KIT_STEP(world, 1);
    CHECK_EQ(((const Count*)orr_system_state(world, a))->value, 8);
    kit_end(&k);
}

ORR_TEST(removed_import_of_a_system_refuses_the_tick)
{
    kit k;
    orr_world* world = begin_rows(&k);
    float felt = 0;
    orr_system weather = KIT_SYSTEM(world, .name = "weather", .query = "Position", .run = blow,
                                    .exports = ORR_TYPE(Wind));
    KIT_SYSTEM(world, .name = "b", .query = "Position", .run = feel, .user = &felt,
               .imports = "weather");
    KIT_STEP(world, 1);
    CHECK_OK(orr_system_remove(world, weather));
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_NAME);
    KIT_ERROR(&k, ORR_ERR_NAME, "system 'b', .imports: 'weather' is no system");
    CHECK_EQ(orr_world_tick(world), 1);
    // Another system with that name is accepted.
    KIT_SYSTEM(world, .name = "weather", .query = "Position", .run = blow,
               .exports = ORR_TYPE(Wind));
    KIT_STEP(world, 1);
    CHECK_EQ(felt, 2); // The exporter is registered after its reader now.
    kit_end(&k);
}

// ---- which parts of systems are state -----------------------------------------------------------

static void take_all(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        CHECK(m->count > 0);
    }
}

static void send_hit(orr_run* run)
{
    CHECK_OK(orr_send_event(run, Hit, {{0}, 5}));
}

// A world after two ticks, in two variants that differ in one thing that matters for later ticks.
static uint64_t hash_of(uint32_t thing, bool other)
{
    kit k;
    orr_world* world = begin_rows(&k);
    ORR_REGISTER(world, Hit);
    orr_system_desc desc = {.name = "s", .query = "Position", .run = kit_run_nothing};
    desc.exports = thing == 0 ? ORR_TYPE(Count) : NULL;
    desc.run = thing == 0 && other ? count_exports : desc.run;
    desc.kind = thing == 1 ? ORR_INDIRECT : ORR_DIRECT;
    desc.run = thing == 1 && other ? take_all : desc.run;
    if (thing == 2) {
        desc.once = true;
        desc.sends = desc.receives = "Hit";
        desc.run = other ? send_hit : desc.run;
    }
    if (thing == 3 && other) { // First run in tick 2.
        KIT_STEP(world, 1);
    }
    orr_system system = kit_taken(world, orr_system_add(world, &desc), __FILE__, __LINE__);
    KIT_STEP(world, 1);
    if (thing == 4 && other) { // Stopped, or about to be.
        CHECK_OK(orr_system_enable(world, system, false));
    }
    if (thing != 3 || !other) {
        KIT_STEP(world, 1);
    }
    if (thing == 4 && !other) {
        CHECK_OK(orr_system_enable(world, system, false));
    }
    if (thing == 5 && other) {
        CHECK_OK(orr_system_remove(world, system));
    }
    if (thing == 6 && other) {
        CHECK_OK(orr_system_enable(world, system, false));
    }
    CHECK_EQ(orr_world_tick(world), 2);
    CHECK_EQ(k.errors.count, 0);
    uint64_t hash = orr_world_hash(world);
    kit_end(&k);
    return hash;
}

ORR_TEST(system_hash_contains_everything_that_later_ticks_depend_on)
{
    static const char* const things[] = {
        "exports", "messages that wait", "events that wait", "first tick", "started", "removed",
        "wanted"};
    for (uint32_t i = 0; i < sizeof things / sizeof things[0]; i++) {
        CHECK_EQ(hash_of(i, false), hash_of(i, false));
        if (hash_of(i, false) == hash_of(i, true)) {
            test_fail(__FILE__, __LINE__, "the hash does not contain: %s", things[i]);
        }
    }
}

// An impure system with state outside of the world that sends: its existence is state, messages
// that wait for it are not.
ORR_TEST(impure_system_is_state_but_its_waiting_messages_are_not)
{
    uint64_t hashes[3];
    for (uint32_t i = 0; i < 3; i++) {
        kit k;
        orr_world* world = begin_rows(&k);
        int mine = 0;
        if (i < 2) {
            KIT_SYSTEM(world, .name = "outside", .kind = ORR_INDIRECT, .query = "Position",
                       .run = i == 0 ? take_all : kit_run_nothing, .user = &mine, .impure = true);
        }
        KIT_STEP(world, 2);
        hashes[i] = orr_world_hash(world);
        kit_end(&k);
    }
    CHECK(hashes[0] == hashes[1]);
    CHECK(hashes[0] != hashes[2]);
}

// ---- random numbers -----------------------------------------------------------------------------

static void draw(orr_run* run)
{
    uint64_t* out = orr_run_user(run);
    for (uint32_t i = 0; i < run->count; i++) {
        *out++ = orr_run_random(run, orr_iter_entity(run, i));
    }
}

ORR_TEST(system_random_numbers_depend_on_tick_system_and_entity)
{
    uint64_t first[2][2] = {{0}}, other[2] = {0}, later[2] = {0};
    for (uint32_t i = 0; i < 2; i++) {
        kit k;
        orr_world* world = kit_begin(&k, &(orr_world_desc){.seed = 5});
        orr_entity a = make(world, 0), b = make(world, 0);
        // Neither the order of systems nor other systems matter.
        if (i == 1) {
            KIT_SYSTEM(world, .name = "else", .query = "Position", .run = kit_run_nothing);
        }
        orr_system s =
            KIT_SYSTEM(world, .name = "dice", .query = "Position", .run = draw, .user = first[i]);
        KIT_STEP(world, 1);
        CHECK(first[i][0] != first[i][1]);
        uint64_t hash = orr_hash("dice", 4, 0);
        CHECK(first[i][0] == orr_random(5, 1, hash, a.id));
        CHECK(first[i][1] == orr_random(5, 1, hash, b.id));
        if (i == 0) {
            CHECK_OK(orr_system_remove(world, s));
            KIT_SYSTEM(world, .name = "dice", .query = "Position", .run = draw, .user = later);
            KIT_SYSTEM(world, .name = "cards", .query = "Position", .run = draw, .user = other);
            KIT_STEP(world, 1);
            CHECK(later[0] != first[0][0]);
            CHECK(later[0] != other[0]);
        }
        kit_end(&k);
    }
    CHECK(first[0][0] == first[1][0] && first[0][1] == first[1][1]);
}

// Two numbers per row and tick, from a stream.
static void throw_two(orr_run* run)
{
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_rng rng = orr_run_rng(run, orr_iter_entity(run, i));
        orr_rng again = orr_run_rng(run, orr_iter_entity(run, i));
        CHECK(rng.first == orr_run_random(run, orr_iter_entity(run, i)));
        CHECK(orr_rng_next(&again) == rng.first);
        p[i].x = orr_rng_float(&rng);
        p[i].y = orr_rng_float(&rng);
    }
}

ORR_TEST(system_rng_draws_the_same_numbers_with_any_number_of_workers)
{
    uint64_t hashes[3];
    for (uint32_t workers = 0; workers < 3; workers++) {
        kit k;
        orr_world* world = kit_begin(&k, &(orr_world_desc){.seed = 5, .workers = workers});
        orr_entity first = make(world, 0);
        for (uint32_t i = 0; i < 3000; i++) {
            make(world, 0);
        }
        KIT_SYSTEM(world, .name = "dice", .query = "write Position", .parallel = true,
                   .run = throw_two);
        KIT_STEP(world, 1);
        uint64_t number = orr_random(5, 1, orr_hash("dice", 4, 0), first.id);
        const Position* p = orr_get(world, first, Position);
        CHECK(p->x == orr_random_float(number));
        CHECK(p->y == orr_random_float(orr_random(number, 1, 0, 0)));
        hashes[workers] = orr_world_hash(world);
        kit_end(&k);
    }
    CHECK(hashes[0] == hashes[1] && hashes[0] == hashes[2]);
}
