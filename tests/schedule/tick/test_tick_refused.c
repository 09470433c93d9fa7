// SPDX-License-Identifier: MIT
// Ticks that cannot continue: half done when memory is refused, read, continued, abandoned; and
// calls that are refused meanwhile.
#include "schedule/tick/clock_kit.h"
#include "support/pinned_kit.h"

ORR_STRUCT(Count, (int32_t, value, (.preset = "7")), (int32_t, other))
ORR_STRUCT(Hit, (orr_entity, who), (int32_t, damage))

// ---- out of memory ------------------------------------------------------------------------------

// A world in which everything happens: entities created and destroyed, components added and
// removed, tags, enable bits, names, sends.
enum {
    BUSY_TICKS = 4,
    BUSY_ROWS = 24
};

static void busy_spawn(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i += 4) {
        orr_entity entity = orr_send_create(run);
        if (entity.id == 0) {
            continue; // No memory; the tick returns it.
        }
        (void)orr_send_add(run, entity, Position, {(float)i, (float)run->tick, 0});
        (void)orr_send_add(run, entity, Health, {(int32_t)(i + run->tick), 3});
        if (i % 8 == 0) {
            char name[32];
            snprintf(name, sizeof name, "n%u_%u", (unsigned)run->tick, i);
            (void)orr_send_name(run, entity, (orr_entity){0}, name);
        }
        (void)orr_send_event(run, Hit, {entity, (int32_t)i});
    }
}

static void busy_move(orr_run* run)
{
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += 1;
        orr_entity entity = orr_iter_entity(run, i);
        uint64_t random = orr_run_random(run, entity);
        if (random % 5 == 0) {
            (void)orr_send_add_preset(run, entity, Frozen);
            (void)orr_send_add(run, entity, Label, {.number = (int32_t)(random % 100)});
        } else if (random % 5 == 1) {
            (void)orr_send_tag(run, entity, 40 + random % 3, random % 2 == 0);
        } else if (random % 5 == 2) {
            (void)orr_send_add(run, entity, Body, {.mass = 3});
        }
    }
}

static void busy_thaw(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        if (orr_run_random(run, entity) % 2 == 0) {
            (void)orr_send_remove(run, entity, Frozen);
            (void)orr_send_enable(run, entity, Position, false);
        }
    }
}

static void busy_reap(orr_run* run)
{
    Health* h = orr_write(run, Health);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        h[i].value -= 1;
        if (orr_run_random(run, entity) % 7 == 0) {
            (void)orr_send_destroy(run, entity);
        } else if (orr_run_random(run, entity) % 7 == 1) {
            (void)orr_send_change(run, entity, Health, {9, 9});
        }
    }
}

static void busy_count(orr_run* run)
{
    Count* count = orr_state(run, Count);
    uint32_t hits = 0;
    const Hit* hit = orr_events(run, Hit, &hits);
    for (uint32_t i = 0; i < hits; i++) {
        count->value += hit[i].damage;
    }
    count->other += (int32_t)hits;
    ORR_EACH (it, orr_run_query(run)) {
        count->other += (int32_t)it.count;
    }
}

static void busy_started(orr_run* run)
{
    orr_entity entity = orr_send_create(run);
    if (entity.id != 0) {
        (void)orr_send_add(run, entity, Health, {77, 7});
    }
}

static void busy_receive(orr_run* run)
{
    Count* count = orr_state(run, Count);
    ORR_MESSAGES(m, run)
    { // Order and batches are hashed: neither may depend on refused memory.
        uint64_t words[4] = {(uint64_t)m->kind, m->count, m->entities[0].id,
                             (uint32_t)count->value};
        count->value = (int32_t)(orr_hash(words, sizeof words, 0) & 0xFFFFFF);
    }
}

static orr_world* busy_begin(kit* k)
{
    orr_world* world = kit_begin(k, &(orr_world_desc){.seed = 3});
    KIT_SYSTEM(world, .name = "spawn", .query = "Velocity", .creates = "Position, Health",
               .renames = true, .sends = "Hit", .run = busy_spawn);
    KIT_SYSTEM(world, .name = "move", .query = "write Position, !Frozen",
               .adds = "Frozen, Label, Body", .tags = "*", .run = busy_move);
    KIT_SYSTEM(world, .name = "thaw", .query = "Frozen", .removes = "Frozen",
               .switches = "Position", .run = busy_thaw);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Health, ?Label, ?orr_name",
               .state = ORR_TYPE(Count), .run = busy_receive);
    KIT_SYSTEM(world, .name = "reap", .query = "write Health, ?Body", .changes = "Health",
               .destroys = "Health, !Velocity", .run = busy_reap);
    KIT_SYSTEM(world, .name = "count", .once = true, .query = "Health", .receives = "Hit",
               .state = ORR_TYPE(Count), .run = busy_count);
    KIT_SYSTEM(world, .name = "began", .once = true, .query = "Health", .creates = "Health",
               .start = busy_started, .run = kit_run_nothing);
    // After the systems, so all names are looked up when the first tick begins.
    ORR_REGISTER(world, Position, Velocity, Health, Frozen, Hidden, Label, Body, Hit);
    CHECK_OK(
        orr_create_many(world, KIT_CLUSTER(world, Velocity, Position), BUSY_ROWS, NULL, 0, NULL));
    return world;
}

// The result of tick `tick`, and of the ticks before it, when no memory is refused.
typedef struct busy_end {
    uint32_t tick;
    orr_result before, result;
    uint64_t hash;
} busy_end;

static busy_end busy_plain(uint32_t tick)
{
    kit k;
    orr_world* world = busy_begin(&k);
    busy_end end = {.tick = tick};
    end.before = kit_run_refused(world, tick - 1);
    end.result = kit_run_refused(world, 1);
    CHECK_OK(orr_world_validate(world));
    end.hash = orr_world_hash(world);
    CHECK_STR(k.errors.text, "");
    KIT_STEP_RESULT(world, 2, ORR_ERR_CONFLICT); // A name that is taken.
    kit_end(&k);
    return end;
}

typedef struct shortage {
    uint32_t unbegun, half, sends, unseen; // How often a refused allocation showed in which way.
} shortage;

// Runs the tick of `plain` with the Nth allocation refused. False when it needed fewer.
static bool busy_short(const busy_end* plain, uint64_t n, bool for_good, shortage* seen)
{
    kit k;
    uint32_t tick = plain->tick;
    orr_world* world = busy_begin(&k);
    KIT_STEP_RESULT(world, tick - 1, plain->before);
    failing_alloc_arm(&k.memory, n, for_good);
    orr_result result = orr_step(world, 1);
    bool refused = k.memory.refused > 0;
    failing_alloc_arm(&k.memory, 0, false);
    bool lost = result == ORR_ERR_MEMORY && k.errors.id == ORR_LOG_ID_SEND_REFUSED;
    if (!refused) {
        CHECK_RESULT(result, plain->result);
    } else if (result == plain->result) {
        seen->unseen++;
    } else if (lost) {
        // The tick ran to its end; what was lost was reported, and the world is whole.
        CHECK(!orr_tick_open(world));
        seen->sends++;
    } else {
        CHECK_RESULT(result, ORR_ERR_MEMORY);
        *(orr_tick_open(world) ? &seen->half : &seen->unbegun) += 1;
        CHECK_EQ(orr_world_tick(world), orr_tick_open(world) ? tick : tick - 1);
        result = orr_step(world, 1);
        lost = result == ORR_ERR_MEMORY && k.errors.id == ORR_LOG_ID_SEND_REFUSED;
        CHECK(result == plain->result || lost);
    }
    CHECK_EQ(orr_world_tick(world), tick);
    CHECK(!orr_tick_open(world));
    CHECK_OK(orr_world_validate(world));
    if (!lost && orr_world_hash(world) != plain->hash) {
        test_fail(__FILE__, __LINE__, "tick %u, allocation %u%s: another hash, after \"%s\"", tick,
                  (unsigned)n, for_good ? " and all after it" : "", k.errors.text);
    }
    KIT_STEP_RESULT(world, 2, ORR_ERR_CONFLICT); // The world continues.
    kit_end(&k);
    return refused;
}

ORR_TEST(tick_with_refused_memory_ends_with_the_hash_of_a_tick_without)
{
    shortage seen = {0};
    uint64_t stride = test_brief() ? 7 : test_slow() && !test_long() ? 3 : 1;
    for (uint32_t tick = 1; tick <= BUSY_TICKS; tick += tick) {
        busy_end plain = busy_plain(tick);
        for (uint32_t for_good = 0; for_good < 2; for_good++) {
            uint64_t n = 1;
            while (busy_short(&plain, n, for_good != 0, &seen)) {
                n += stride;
            }
        }
    }
    printf("  refused: %u before the tick, %u half done, %u sends lost, %u without effect\n",
           seen.unbegun, seen.half, seen.sends, seen.unseen);
    CHECK(seen.unbegun > 0);
    CHECK(seen.half > 0);
    CHECK(seen.sends > 0);
}

// Systems that loop over ordered and pinned queries of the program, and of their own. The queries
// grow in every tick, and the keys change between two loops of one tick.
enum {
    SORT_TICKS = 3,
    SORT_MORE = 70 // Rows that each tick adds: more than the smallest pinned set holds.
};

static orr_query *sort_by_health, *sort_bodies;

static void sort_spawn(orr_run* run)
{
    for (uint32_t i = 0; i < SORT_MORE; i++) {
        orr_entity entity = orr_send_create(run);
        if (entity.id != 0) {
            (void)orr_send_add(run, entity, Health, {(int32_t)(i * 31 % 17), 3});
            (void)orr_send_add(run, entity, Body, {.mass = (int32_t)i});
        }
    }
}

// Mixes the number of rows and their order into the state.
static void sort_mix(Count* count, orr_query* query)
{
    uint32_t rows = 0;
    ORR_EACH (it, query) {
        for (uint32_t i = 0; i < it.count; i++, rows++) {
            uint64_t words[2] = {orr_iter_entity(&it, i).id, (uint32_t)count->value};
            count->value = (int32_t)(orr_hash(words, sizeof words, 0) & 0xFFFFFF);
        }
    }
    count->other += (int32_t)rows;
}

static void sort_look(orr_run* run)
{
    Count* count = orr_state(run, Count);
    sort_mix(count, sort_by_health);
    sort_mix(count, sort_bodies);
    ORR_EACH (it, sort_by_health) {
        for (uint32_t i = 0; i < it.count; i++) {
            Health* h = orr_edit(run->world, orr_iter_entity(&it, i), Health);
            h->value = (h->value * 7 + count->value) % 23;
        }
    }
    sort_mix(count, sort_by_health);
}

static void sort_start(orr_run* run)
{
    sort_mix(orr_state(run, Count), sort_by_health);
    sort_mix(orr_state(run, Count), sort_bodies);
}

static void sort_own(orr_run* run)
{
    sort_mix(orr_state(run, Count), orr_run_query(run));
}

static orr_world* sort_begin(kit* k)
{
    orr_world* world = kit_begin(k, &(orr_world_desc){.seed = 3});
    ORR_REGISTER(world, Position, Velocity, Health, Frozen, Hidden, Label, Body, Hit);
    sort_by_health =
        orr_query_create(world, &(orr_query_desc){.text = "Health", .order_by = "Health.value"});
    sort_bodies = orr_query_text(world, "Body, Health");
    orr_entity first[5];
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Health), 5, NULL, 0, first));
    CHECK_OK(orr_component_add_many(world, first, 5, KIT_TYPE(world, Body), NULL));
    KIT_SYSTEM(world, .name = "spawn", .once = true, .creates = "Health, Body", .run = sort_spawn);
    KIT_SYSTEM(world, .name = "look", .once = true, .alone = true, .by_id = "write Health, Body",
               .state = ORR_TYPE(Count), .start = sort_start, .run = sort_look);
    KIT_SYSTEM(world, .name = "own", .once = true, .query = "Body", .state = ORR_TYPE(Count),
               .run = sort_own);
    return world;
}

static bool sort_short(uint32_t tick, uint64_t n, bool for_good, uint64_t hash, uint32_t* half)
{
    kit k;
    orr_world* world = sort_begin(&k);
    KIT_STEP(world, tick - 1);
    failing_alloc_arm(&k.memory, n, for_good);
    orr_result result = orr_step(world, 1);
    bool refused = k.memory.refused > 0;
    failing_alloc_arm(&k.memory, 0, false);
    bool lost = result != ORR_OK && k.errors.id == ORR_LOG_ID_SEND_REFUSED;
    if (result != ORR_OK && !lost) {
        CHECK_RESULT(result, ORR_ERR_MEMORY);
        *half += orr_tick_open(world);
        result = orr_step(world, 1);
        lost = result != ORR_OK && k.errors.id == ORR_LOG_ID_SEND_REFUSED;
        CHECK(result == ORR_OK || lost);
    }
    CHECK_EQ(orr_world_tick(world), tick);
    if (!lost && orr_world_hash(world) != hash) {
        test_fail(__FILE__, __LINE__, "tick %u, allocation %u%s: another hash, after \"%s\"", tick,
                  (unsigned)n, for_good ? " and all after it" : "", k.errors.text);
    }
    kit_end(&k);
    return refused;
}

ORR_TEST(loops_over_sorted_queries_see_all_rows_or_the_tick_stops_before_them)
{
    uint32_t half = 0;
    uint64_t stride = test_brief() ? 5 : test_slow() && !test_long() ? 3 : 1;
    for (uint32_t tick = 1; tick <= SORT_TICKS; tick++) {
        kit k;
        orr_world* world = sort_begin(&k);
        KIT_STEP(world, tick);
        uint64_t hash = orr_world_hash(world);
        kit_end(&k);
        for (uint32_t for_good = 0; for_good < 2; for_good++) {
            uint64_t n = 1;
            while (sort_short(tick, n, for_good != 0, hash, &half)) {
                n += stride;
            }
        }
    }
    CHECK(half > 0);
}

// A call that returns a refusal to the system: the step returns it too, though the system ignores
// it.
static void label_write(orr_run* run)
{
    Label* label = orr_write(run, Label);
    for (uint32_t i = 0; i < run->count; i++) {
        char text[64];
        snprintf(text, sizeof text, "another text in every tick: %u", (unsigned)run->tick);
        orr_string_assign(run->world, &label[i].text, orr_string_make(run->world, text));
    }
}

ORR_TEST(step_returns_refusals_of_calls_that_a_system_ignored)
{
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    ORR_REGISTER(world, Position, Velocity, Health, Frozen, Hidden, Label, Body, Hit);
    KIT_SYSTEM(world, .name = "label", .query = "write Label", .run = label_write);
    CHECK_OK(orr_add(world, orr_create(world), Label));
    KIT_STEP(world, 1); // The plan is made.
    uint32_t seen = 0;
    for (uint64_t n = 1;; n++) {
        failing_alloc_arm(&k.memory, n, false);
        orr_result result = orr_step(world, 1);
        bool refused = k.memory.refused > 0;
        failing_alloc_arm(&k.memory, 0, false);
        if (!refused) {
            CHECK_OK(result);
            break;
        }
        if (result != ORR_OK && !orr_tick_open(world)) {
            CHECK_CONTAINS(orr_error_last(world), "system 'label'");
            seen++;
        }
        CHECK(result == ORR_ERR_MEMORY || k.errors.count == 0);
        k.errors = (kit_errors){0};
        while (orr_tick_open(world)) {
            KIT_STEP(world, 1);
        }
    }
    CHECK(seen > 0);
    kit_end(&k);
}

// A type is registered while a reader of all types exists. The Nth allocation of the next tick is
// refused, and the tick continued.
ORR_STRUCT(Arrival, (int32_t, value))

static void late_receive(orr_run* run)
{
    Count* count = orr_state(run, Count);
    ORR_MESSAGES(m, run)
    {
        const Arrival* values = m->kind == ORR_COMPONENT_ADDED || m->kind == ORR_COMPONENT_CHANGED
                                    ? orr_values(m, Arrival)
                                    : NULL;
        for (uint32_t i = 0; values != NULL && i < m->count; i++) {
            count->value += values[i].value;
            count->other++;
        }
    }
}

static bool late_short(uint64_t n, uint64_t* hash)
{
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    KIT_SYSTEM(world, .name = "late", .kind = ORR_INDIRECT, .query = "", .state = ORR_TYPE(Count),
               .run = late_receive);
    orr_entity bob = orr_create(world);
    KIT_STEP(world, 1);
    CHECK_OK(orr_set(world, bob, Arrival, {5}));
    failing_alloc_arm(&k.memory, n, false);
    orr_result result = orr_step(world, 1);
    bool refused = n > 0 && k.memory.refused > 0;
    failing_alloc_arm(&k.memory, 0, false);
    if (result != ORR_OK) {
        CHECK(refused);
        KIT_STEP(world, 1);
    }
    CHECK_OK(orr_set(world, bob, Arrival, {6}));
    KIT_STEP(world, 1);
    if (n == 0) {
        *hash = orr_world_hash(world);
    } else if (orr_world_hash(world) != *hash) {
        test_fail(__FILE__, __LINE__, "allocation %u: another hash, after \"%s\"", (unsigned)n,
                  k.errors.text);
    }
    kit_end(&k);
    return refused;
}

ORR_TEST(type_registered_late_is_delivered_after_refused_memory)
{
    uint64_t hash = 0, n = 1;
    CHECK(!late_short(0, &hash));
    while (late_short(n, &hash)) {
        n++;
    }
    CHECK(n > 3);
}

// A world whose tick is half done because a commit was refused memory.
static orr_world* half_done(kit* k)
{
    for (uint64_t n = 1;; n++) {
        orr_world* world = busy_begin(k);
        failing_alloc_arm(&k->memory, n, false);
        (void)orr_step(world, 1);
        CHECK(k->memory.refused > 0);
        failing_alloc_arm(&k->memory, 0, false);
        if (orr_tick_open(world) && orr_entity_count(world) == BUSY_ROWS) {
            k->errors = (kit_errors){0};
            return world;
        }
        kit_end(k);
    }
}

ORR_TEST(tick_half_done_can_be_read_but_not_changed)
{
    kit k;
    orr_world* world = half_done(&k);
    orr_entity entities[BUSY_ROWS];
    orr_query* every = orr_query_text(world, "Velocity");
    if (every != NULL) {
        CHECK_EQ(orr_query_entities(every, 0, entities, BUSY_ROWS), BUSY_ROWS);
        CHECK(orr_get(world, entities[0], Position) != NULL);
    }
    k.errors = (kit_errors){0};
    const char* words =
        "the tick is half done; call orr_step() again to continue it when there is memory";
    CHECK_EQ(orr_create(world).id, 0);
    KIT_ERROR(&k, ORR_ERR_STATE, words);
    CHECK_RESULT(orr_destroy(world, entities[0]), ORR_ERR_STATE);
    KIT_ERROR(&k, ORR_ERR_STATE, words);
    CHECK_RESULT(orr_add(world, entities[0], Frozen), ORR_ERR_STATE);
    KIT_ERROR(&k, ORR_ERR_STATE, words);
    CHECK_RESULT(orr_remove(world, entities[0], Position), ORR_ERR_STATE);
    KIT_ERROR(&k, ORR_ERR_STATE, words);
    CHECK_RESULT(orr_tag_add(world, entities[0], 5), ORR_ERR_STATE);
    KIT_ERROR(&k, ORR_ERR_STATE, words);
    CHECK_RESULT(orr_entity_enable(world, entities[0], false), ORR_ERR_STATE);
    KIT_ERROR(&k, ORR_ERR_STATE, words);
    CHECK_RESULT(orr_name_set(world, entities[0], (orr_entity){0}, "bob"), ORR_ERR_STATE);
    KIT_ERROR(&k, ORR_ERR_STATE, words);
    CHECK_RESULT(orr_entities_destroy_all(world), ORR_ERR_STATE);
    KIT_ERROR(&k, ORR_ERR_STATE, words);
    orr_tick_advance(world);
    KIT_ERROR(&k, ORR_ERR_STATE, words);
    CHECK_EQ(KIT_ADD(world, .name = "new", .query = "Position", .run = kit_run_nothing).id, 0);
    KIT_ERROR(&k, ORR_ERR_STATE, "system 'new' cannot be added while a tick is under way;");
    CHECK_RESULT(orr_system_remove(world, orr_system_find(world, "move")), ORR_ERR_STATE);
    KIT_ERROR(&k, ORR_ERR_STATE, "cannot be removed while a tick is under way");
    CHECK_EQ(orr_world_tick(world), 1);
    KIT_STEP(world, 1);
    CHECK_EQ(orr_world_tick(world), 1);
    CHECK_EQ(orr_world_hash(world), busy_plain(1).hash);
    CHECK(orr_create(world).id != 0);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

// The printed plan is the plan of the open tick, and stays, also when systems were enabled or
// disabled meanwhile.
ORR_TEST(tick_half_done_keeps_its_plan_when_it_is_printed)
{
    kit k;
    orr_world* world = half_done(&k);
    char before[4096], after[4096];
    orr_plan_print(world, before, sizeof before);
    for (orr_system s = orr_system_next(world, (orr_system){0}); s.id != 0;
         s = orr_system_next(world, s)) {
        CHECK_OK(orr_system_enable(world, s, false));
    }
    orr_plan_print(world, after, sizeof after);
    CHECK_STR(after, before);
    for (orr_system s = orr_system_next(world, (orr_system){0}); s.id != 0;
         s = orr_system_next(world, s)) {
        CHECK_OK(orr_system_enable(world, s, true));
    }
    KIT_STEP(world, 1);
    CHECK_EQ(orr_world_hash(world), busy_plain(1).hash);
    kit_end(&k);
}

ORR_TEST(tick_half_done_continues_by_run_until_and_update_too)
{
    uint64_t hash = busy_plain(1).hash;
    kit k;
    orr_world* world = half_done(&k);
    CHECK_OK(orr_run_until(world, 1, NULL, NULL));
    CHECK_EQ(orr_world_hash(world), hash);
    kit_end(&k);
    world = half_done(&k);
    CHECK_OK(orr_update(world, 1));
    CHECK_EQ(orr_world_tick(world), 1);
    CHECK_EQ(orr_world_hash(world), hash);
    kit_end(&k);
}

ORR_TEST(tick_half_done_ends_with_its_world)
{
    kit k;
    half_done(&k);
    kit_end(&k);
}

// ---- with a rate: a refused tick is not counted twice -------------------------------------------

static void one_creation(orr_run* run)
{
    at.ticks++;
    for (uint32_t i = 0; i < 64; i++) {
        (void)orr_send_add(run, orr_send_create(run), Big, {{i}});
    }
}

ORR_TEST(tick_half_done_of_a_fixed_world_continues_with_the_next_update)
{
    bool seen = false;
    for (uint64_t n = 1; !seen; n++) {
        orr_world* world = begin(100);
        ORR_REGISTER(world, Big);
        KIT_SYSTEM(world, .name = "create", .once = true, .by_id = "Position", .creates = "Big",
                   .run = one_creation);
        failing_alloc_arm(&at.k.memory, n, false);
        (void)orr_update(world, 14 * MS);
        CHECK(at.k.memory.refused > 0);
        failing_alloc_arm(&at.k.memory, 0, false);
        seen = orr_tick_open(world);
        if (seen) {
            at.ticks = 0;
            CHECK_OK(orr_update(world, 5 * MS)); // 9 ms are due: the open tick ends, none begins.
            CHECK(!orr_tick_open(world));
            CHECK_EQ(orr_world_tick(world), 1);
            CHECK_OK(orr_update(world, 1 * MS));
            CHECK_EQ(orr_world_tick(world), 2);
        }
        kit_end(&at.k);
    }
}

static bool never_asked(void* user, orr_world* world)
{
    CHECK(!orr_tick_open(world));
    ++*(uint32_t*)user;
    return true;
}

ORR_TEST(run_until_does_not_check_its_condition_in_an_open_tick)
{
    kit k;
    orr_world* world = half_done(&k);
    uint32_t asked = 0;
    failing_alloc_arm(&k.memory, 1, true);
    CHECK(orr_run_until(world, 3, never_asked, &asked) != ORR_OK);
    CHECK(orr_tick_open(world));
    CHECK_EQ(asked, 0);
    failing_alloc_arm(&k.memory, 0, false);
    CHECK_OK(orr_run_until(world, 3, never_asked, &asked));
    CHECK_EQ(asked, 1);
    CHECK_EQ(orr_world_tick(world), 1);
    kit_end(&k);
}

static void send_hits(orr_run* run)
{
    uint32_t most = *(uint32_t*)orr_run_user(run);
    for (uint32_t i = 0; i < most; i++) {
        CHECK_OK(orr_send_event(run, Hit, {{0}, (int32_t)i}));
    }
}

// There is no reader: the event that exceeds the capacity is dropped, and the tick reports it once.
ORR_TEST(step_that_dropped_events_returns_it)
{
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    ORR_REGISTER(world, Hit);
    CHECK_OK(orr_events_limit(world, KIT_TYPE(world, Hit), 4));
    uint32_t most = 4;
    orr_system send = KIT_SYSTEM(world, .name = "send", .once = true, .sends = "Hit",
                                 .run = send_hits, .user = &most, .impure = true);
    KIT_SYSTEM(world, .name = "deaf", .once = true, .receives = "Hit", .run = kit_run_nothing);
    KIT_STEP(world, 1); // Exactly full.
    CHECK_EQ(k.errors.count, 0);
    most = 1;
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_CAPACITY);
    KIT_ERROR(&k, ORR_ERR_CAPACITY,
              "4 events Hit wait and system 'send' sent 1 more, but at most 4 may wait");
    CHECK_CONTAINS(orr_error_last(world), "tick 2 ran, but an event queue was full: ");
    CHECK(!orr_tick_open(world));
    CHECK_EQ(kit_stats(world, send).dropped, 1);
    most = 0;
    KIT_STEP(world, 1);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

// ---- changes that can never be applied ----------------------------------------------------------

static void tag_too_often(orr_run* run)
{
    ORR_EACH (it, orr_run_query(run)) {
        for (uint32_t i = 0; i < ORR_CLUSTER_TAGS_MAX + 3 && run->tick == 1; i++) {
            CHECK_OK(orr_send_tag(run, orr_iter_entity(&it, 0), 100 + i, true));
        }
    }
}

ORR_TEST(tags_past_the_maximum_are_dropped_and_counted)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Position, {0, 0, 0}));
    orr_system system = KIT_SYSTEM(world, .name = "tag", .query = "Position", .once = true,
                                   .run = tag_too_often, .tags = "*");
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_CAPACITY);
    CHECK(orr_tag_has(world, bob, 100) && orr_tag_has(world, bob, 99 + ORR_CLUSTER_TAGS_MAX));
    CHECK(!orr_tag_has(world, bob, 100 + ORR_CLUSTER_TAGS_MAX));
    CHECK_EQ(kit_stats(world, system).dropped, 3);
    kit_end(&k);
}

static void add_velocity(orr_run* run)
{
    if (run->tick == 1) {
        CHECK_OK(orr_send_add(run, orr_iter_entity(run, 0), Velocity, {1, 1}));
    }
}

ORR_TEST(clusters_past_the_maximum_leave_an_entity_in_its_cluster)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.clusters_max = 2});
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Position, {0, 0, 0})); // The empty cluster, and Position.
    ORR_REGISTER(world, Velocity);
    orr_system system = KIT_SYSTEM(world, .name = "add", .query = "Position", .run = add_velocity,
                                   .adds = "Velocity");
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_CAPACITY);
    CHECK(!orr_tick_open(world) && orr_alive(world, bob) && !orr_has(world, bob, Velocity));
    CHECK_EQ(kit_stats(world, system).dropped, 1);
    kit_end(&k);
}

static void add_token(orr_run* run)
{
    if (run->tick == 1) {
        Token token = kit_token(1);
        CHECK_OK(orr_send_add_type(run, orr_iter_entity(run, 0), KIT_TYPE(run->world, Token),
                                   &token, NULL));
        // The value in the command buffer is constructed, the values of the commit are not.
        kit_tokens.refuse_after = 1;
    }
}

ORR_TEST(tick_whose_commit_can_never_be_applied_is_abandoned)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Position, {0, 0, 0}));
    ORR_REGISTER(world, Token);
    orr_system system =
        KIT_SYSTEM(world, .name = "add", .query = "Position", .run = add_token, .adds = "Token");
    CHECK_EQ(orr_tick_abandon(world), ORR_ERR_STATE); // No tick is open.
    CHECK_EQ(orr_step(world, 1), ORR_ERR_HOOK);
    kit_tokens.refuse_after = 1;
    CHECK_EQ(orr_step(world, 1), ORR_ERR_HOOK);
    CHECK(orr_tick_open(world));
    CHECK_OK(orr_tick_abandon(world));
    kit_tokens.refuse_after = 0;
    CHECK_OK(orr_step(world, 2)); // The rest of this tick, and another.
    CHECK(!orr_tick_open(world) && orr_alive(world, bob) && !orr_has(world, bob, Token));
    CHECK_EQ(kit_stats(world, system).dropped, 1);
    kit_end(&k);
}

static void meddle(void* user, orr_world* world, const orr_error* error)
{
    (void)error;
    uint32_t* results = user;
    results[0] += orr_create(world).id == 0;
    results[1] += orr_step(world, 1) == ORR_ERR_STATE;
    results[2]++;
}

static void send_one(orr_run* run)
{
    orr_entity e = orr_send_create(run);
    if (e.id != 0) {
        (void)orr_send_add(run, e, Position, {1, 0, 0});
    }
}

ORR_TEST(error_handler_may_read_but_not_change)
{
    // Every allocation of a tick is refused in turn: the error handler calls the world.
    for (uint64_t n = 1; n < 60; n++) {
        failing_alloc memory = {0};
        uint32_t results[3] = {0};
        orr_world* world =
            orr_world_create(&(orr_world_desc){.allocator = failing_alloc_allocator(&memory),
                                               .log = {.level = ORR_LOG_OFF},
                                               .on_error = meddle,
                                               .on_error_user = results});
        ORR_REGISTER(world, Position);
        CHECK(KIT_ADD(world, .name = "send", .once = true, .run = send_one, .creates = "Position")
                  .id != 0);
        failing_alloc_arm(&memory, n, false);
        (void)orr_step(world, 1);
        failing_alloc_arm(&memory, 0, false);
        while (orr_tick_open(world)) {
            CHECK_OK(orr_step(world, 1));
        }
        CHECK_EQ(results[0], results[2]);
        CHECK_EQ(results[1], results[2]);
        CHECK_OK(orr_world_validate(world));
        orr_world_destroy(world);
    }
}

// ---- calls of hooks -----------------------------------------------------------------------------

typedef struct Nosy {
    int32_t value;
} Nosy;

static orr_world* nosy_world; // NULL: the hook does nothing.
static uint32_t nosy_refused, nosy_taken;

static bool nosy_copy(void* user, void* to, const void* from, uint32_t count)
{
    (void)user;
    memcpy(to, from, count * sizeof(Nosy));
    if (nosy_world != NULL) {
        bool refused = orr_step(nosy_world, 1) == ORR_ERR_STATE &&
                       orr_update(nosy_world, 20 * MS) == ORR_ERR_STATE &&
                       orr_tick_abandon(nosy_world) == ORR_ERR_STATE;
        *(refused ? &nosy_refused : &nosy_taken) += 1;
    }
    return true;
}

static const orr_hooks nosy_hooks = {.copy = nosy_copy};
static const orr_field_desc nosy_fields[] = {{.name = "value", .type = ORR_TYPE(int32_t)}};
static const orr_type_desc orr_desc_Nosy = {.name = "Nosy",
                                            .size = sizeof(Nosy),
                                            .align = _Alignof(Nosy),
                                            .fields = nosy_fields,
                                            .field_count = 1,
                                            .settings = {.hooks = &nosy_hooks}};
ORR_DESCRIBED(Nosy)

static void send_nosy(orr_run* run)
{
    orr_world* world = nosy_world;
    nosy_world = NULL; // Only commits count here.
    orr_entity entity = orr_send_create(run);
    if (entity.id != 0 && run->tick == 1) {
        (void)orr_send_add(run, entity, Nosy, {7});
    }
    nosy_world = world;
}

// A hook that is called during a tick cannot run another one, whichever call continued the tick.
ORR_TEST(hook_cannot_step_the_world_that_calls_it)
{
    uint32_t gone_on = 0;
    for (uint64_t n = 1;; n++) {
        orr_world* world = begin(100);
        ORR_REGISTER(world, Nosy);
        KIT_SYSTEM(world, .name = "send", .once = true, .creates = "Nosy", .run = send_nosy);
        nosy_refused = nosy_taken = 0;
        nosy_world = world;
        failing_alloc_arm(&at.k.memory, n, false);
        (void)orr_update(world, 10 * MS);
        uint64_t refused = at.k.memory.refused;
        failing_alloc_arm(&at.k.memory, 0, false);
        if (orr_tick_open(world)) {
            nosy_refused = 0;
            CHECK_OK(orr_update(world, 1));
            CHECK_EQ(orr_world_tick(world), 1);
            gone_on += nosy_refused > 0;
        }
        nosy_world = NULL;
        CHECK_EQ(nosy_taken, 0);
        kit_end(&at.k);
        if (refused == 0) {
            CHECK(nosy_refused > 0);
            break;
        }
    }
    CHECK(gone_on > 0);
}
