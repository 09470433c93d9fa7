// SPDX-License-Identifier: MIT
// A world with systems travels back and repeats its ticks: pipelines of several rates, queues,
// waiting events and transactions, states, exports, `changed` terms, enabled and disabled systems,
// calls between ticks that were not reported yet; with any number of workers. Systems keep what
// they receive in their states, so the hash covers it.
#include "schedule/schedule.h"
#include "schedule/schedule_kit.h"
#include "support/memory_kit.h"
#include "support/pinned_kit.h"

#include <orrery/history.h>
#include <stdlib.h>

ORR_STRUCT(Received, (uint64_t, hash), (uint64_t, messages))
ORR_STRUCT(Boom, (orr_entity, at), (int32_t, power))
ORR_STRUCT(Score, (int64_t, points))
ORR_STRUCT(Heat, (float, sum), (uint32_t, rows))
ORR_STRUCT(Kicked, (int32_t, times))

enum {
    STEPS = 20,
    MEMORIES = 6
};

// ---- systems ------------------------------------------------------------------------------------

static void move(orr_run* run)
{
    Position* p = orr_write(run, Position);
    const Velocity* v = orr_read(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        uint64_t random = orr_run_random(run, orr_iter_entity(run, i));
        p[i].x += v[i].x * run->dt + (float)(random % 8);
    }
}

static void heat(orr_run* run)
{
    const Position* p = orr_read(run, Position);
    Heat* part = orr_export(run, Heat);
    for (uint32_t i = 0; i < run->count; i++) {
        part->sum += p[i].x;
    }
    part->rows += run->count;
}

static void heat_combine(void* into, const void* part)
{
    Heat* a = into;
    const Heat* b = part;
    a->sum += b->sum;
    a->rows += b->rows;
}

static void spawn(orr_run* run)
{
    Received* own = orr_state(run, Received);
    const Heat* h = orr_import(run, "heat", Heat);
    own->messages++;
    own->hash ^= h->rows;
    for (uint64_t i = 0; i < own->messages % 3; i++) {
        orr_entity made = orr_send_create(run);
        CHECK_OK(orr_send_add(run, made, Position, {h->sum, (float)i, 0}));
        CHECK_OK(orr_send_add(run, made, Velocity, {(float)i, 1}));
        if (i == 1) {
            CHECK_OK(orr_send_add(run, made, Kicked, {0}));
            CHECK_OK(orr_send_add(run, made, Body, {1, 2}));
        }
    }
}

static void cull(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        uint64_t random = orr_run_random(run, orr_iter_entity(run, i)) % 64;
        if (random == 0) {
            CHECK_OK(orr_send_destroy(run, orr_iter_entity(run, i)));
        } else if (random < 4) {
            CHECK_OK(orr_send_event(run, Boom, {orr_iter_entity(run, i), (int32_t)random}));
        }
    }
}

static void receive(orr_run* run)
{
    Received* received = orr_state(run, Received);
    ORR_MESSAGES(m, run)
    {
        char text[2048];
        size_t size = orr_message_print(m, 50, text, sizeof text);
        received->hash =
            orr_hash(text, size < sizeof text ? size : sizeof text, received->hash + m->tick);
        received->messages++;
    }
}

static void receive_events(orr_run* run)
{
    Received* received = orr_state(run, Received);
    uint32_t count;
    const Boom* booms = orr_events(run, Boom, &count);
    for (uint32_t i = 0; i < count; i++) {
        received->hash = received->hash * 31 + booms[i].at.id + (uint64_t)booms[i].power;
        received->messages++;
    }
}

// Values changed since the last run.
static void look(orr_run* run)
{
    Health* health = orr_write(run, Health);
    for (uint32_t i = 0; i < run->count; i++) {
        health[i].value++;
    }
}

static void kick(orr_run* run)
{
    Velocity* v = orr_write(run, Velocity);
    Kicked* kicked = orr_write(run, Kicked);
    for (uint32_t i = 0; i < run->count; i++) {
        v[i].y += 1;
        kicked[i].times++;
    }
}

// Pinned values.
static void fall(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_write_pinned(run, Body, i)->speed += (int32_t)(run->tick % 3);
    }
}

static void toggle(orr_run* run)
{
    orr_system target = orr_system_find(run->world, "listen_too");
    if (run->tick % 4 == 0) {
        CHECK_OK(orr_system_enable(run->world, target, !orr_system_enabled(run->world, target)));
    }
}

static void hit(orr_run* run)
{
    const orr_entity* target = orr_run_settings(run);
    Received* own = orr_state(run, Received);
    own->messages++;
    CHECK_OK(orr_transact(run, ORR_OP_ADD, *target, Score, points, (int64_t)own->messages));
}

static void double_score(orr_run* run)
{
    Score* score = orr_write(run, Score);
    for (uint32_t i = 0; i < run->count; i++) {
        score[i].points = score[i].points * 2 % 1000003;
    }
}

static void began(orr_run* run)
{
    orr_state(run, Received)->hash += 7;
    orr_entity made = orr_send_create(run);
    CHECK_OK(orr_send_add(run, made, Position, {1, 2, 0}));
}

// ---- a spectator that mirrors positions ---------------------------------------------------------

typedef struct watcher {
    orr_entity ids[4096];
    float xs[4096];
    uint32_t count, checked, seen;
    bool pending; // A change is pending until the next tick of the simulation.
} watcher;

static uint32_t watcher_find(const watcher* e, orr_entity id)
{
    uint32_t i = 0;
    while (i < e->count && e->ids[i].id != id.id) {
        i++;
    }
    return i;
}

static void watch(orr_run* run)
{
    watcher* e = orr_run_user(run);
    ORR_MESSAGES(m, run)
    {
        const Position* p = orr_values(m, Position);
        for (uint32_t i = 0; i < m->count; i++) {
            uint32_t at = watcher_find(e, m->entities[i]);
            if (m->kind == ORR_ENTITY_ADDED) {
                CHECK_EQ(at, e->count);
                e->ids[e->count++] = m->entities[i];
            } else {
                CHECK(at < e->count);
            }
            if (m->kind == ORR_ENTITY_REMOVED) {
                e->count--;
                e->ids[at] = e->ids[e->count];
                e->xs[at] = e->xs[e->count];
            } else if (p != NULL) {
                e->xs[at] = p[i].x;
            }
        }
    }
    e->seen = 0;
}

static void compare(orr_run* run)
{
    watcher* e = orr_run_user(run);
    const Position* p = orr_read(run, Position);
    for (uint32_t i = 0; i < run->count && !e->pending && e->count > 0; i++) {
        uint32_t at = watcher_find(e, orr_iter_entity(run, i));
        CHECK(at < e->count);
        CHECK(at < e->count && e->xs[at] == p[i].x);
        e->seen++;
    }
}

static void counted(orr_run* run)
{
    watcher* e = orr_run_user(run);
    if (!e->pending && e->count > 0) { // A starting reader receives it with the next tick.
        CHECK_EQ(e->seen, e->count);
        e->checked++;
    }
}

// ---- the world ----------------------------------------------------------------------------------

typedef struct past_test {
    kit k;
    orr_world* world;
    orr_entity target, first[100];
    watcher watcher;
    memory memories[MEMORIES];
    uint64_t hashes[STEPS + 1];
    uint32_t steps; // Since the start.
} past_test;

static void past_test_systems(past_test* t)
{
    orr_world* world = t->world;
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "slow", .rate_hz = 20});
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "fast", .rate_hz = 90});
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "view", .rate_hz = 60, .spectator = true});
    KIT_SYSTEM(world, .name = "move", .query = "write Position, Velocity", .run = move,
               .parallel = true);
    KIT_SYSTEM(world, .name = "heat", .query = "Position", .run = heat, .parallel = true,
               .exports = ORR_TYPE(Heat), .combine = heat_combine);
    KIT_SYSTEM(world, .name = "spawn", .once = true, .run = spawn, .state = ORR_TYPE(Received),
               .imports = "heat", .creates = "Position, Velocity, Kicked, Body");
    KIT_SYSTEM(world, .name = "cull", .query = "Position, !Score", .run = cull,
               .destroys = "Position", .sends = "Boom", .parallel = true);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Position, ?Label, ?Health",
               .run = receive, .state = ORR_TYPE(Received), .every = 3);
    KIT_SYSTEM(world, .name = "look", .query = "changed Velocity, write Health", .run = look);
    KIT_SYSTEM(world, .name = "kick", .query = "write Velocity, write Kicked", .run = kick,
               .every = 2);
    KIT_SYSTEM(world, .name = "fall", .query = "write Body", .run = fall);
    KIT_SYSTEM(world, .name = "toggle", .once = true, .run = toggle);
    KIT_SYSTEM(world, .name = "listen_too", .once = true, .run = receive_events, .receives = "Boom",
               .state = ORR_TYPE(Received), .start = began, .creates = "Position");
    KIT_SYSTEM(world, .name = "listen", .once = true, .run = receive_events, .receives = "Boom",
               .state = ORR_TYPE(Received), .pipeline = "slow");
    KIT_SYSTEM(world, .name = "lazy", .kind = ORR_INDIRECT, .query = "Position, ?Kicked, ?Body",
               .run = receive, .state = ORR_TYPE(Received), .pipeline = "slow");
    KIT_SYSTEM(world, .name = "double", .query = "write Score", .run = double_score,
               .pipeline = "slow");
    KIT_SYSTEM(world, .name = "hit", .once = true, .run = hit, .state = ORR_TYPE(Received),
               .settings = &t->target, .transacts = "Score", .pipeline = "fast");
    KIT_SYSTEM(world, .name = "watch", .kind = ORR_INDIRECT, .query = "Position", .run = watch,
               .user = &t->watcher, .pipeline = "view");
    KIT_SYSTEM(world, .name = "compare", .query = "Position", .run = compare, .user = &t->watcher,
               .pipeline = "view", .after = "watch");
    KIT_SYSTEM(world, .name = "counted", .once = true, .run = counted, .user = &t->watcher,
               .pipeline = "view", .after = "compare");
}

static void past_test_begin(past_test* t, uint32_t workers, uint64_t seed)
{
    t->world = kit_begin(&t->k, &(orr_world_desc){.workers = workers, .seed = seed});
    orr_world* world = t->world;
    ORR_REGISTER(world, Position, Velocity, Health, Label, Received, Boom, Score, Heat, Kicked,
                 Body);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    orri_parallel_share(world, ORRI_SHARE_ALL, seed);
    t->target = orr_create(world);
    CHECK_OK(orr_set(world, t->target, Score, {3}));
    for (uint32_t i = 0; i < ORRI_COUNT(t->first); i++) {
        orr_entity e = t->first[i] = orr_create(world);
        CHECK_OK(orr_set(world, e, Position, {(float)i, 0, 0}));
        CHECK_OK(orr_set(world, e, Velocity, {1, (float)i}));
        if (i % 2 == 0) {
            CHECK_OK(orr_set(world, e, Health, {(int32_t)i, 100}));
        }
        if (i % 3 == 0) {
            CHECK_OK(orr_set(world, e, Label, {orr_string_make(world, "named"), (int32_t)i}));
        }
        if (i % 7 == 0) {
            CHECK_OK(orr_set(world, e, Body, {(int32_t)i, 0}));
        }
        if (i % 5 == 0) {
            CHECK_OK(orr_set(world, e, Kicked, {0}));
        }
    }
    past_test_systems(t);
}

static void past_test_end(past_test* t)
{
    for (uint32_t i = 0; i < MEMORIES; i++) {
        memory_forget(t->world, &t->memories[i]);
    }
    kit_end(&t->k);
}

// Changes from outside before a step: the same each time. Some steps have none.
static void past_test_calls(past_test* t)
{
    orr_world* world = t->world;
    uint32_t n = t->steps;
    orr_entity e = t->first[n * 7 % ORRI_COUNT(t->first)];
    if (n % 3 != 1) {
        return;
    }
    t->watcher.pending = true;
    if (orr_alive(world, e)) {
        CHECK_OK(orr_set(world, e, Position, {1000, (float)n, 0}));
        CHECK_OK(orr_set(world, e, Label, {orr_string_make(world, "touched"), (int32_t)n}));
    }
    e = t->first[n * 11 % ORRI_COUNT(t->first)];
    if (orr_alive(world, e)) {
        CHECK_OK(orr_destroy(world, e));
    }
    e = orr_create(world);
    CHECK_OK(orr_set(world, e, Position, {(float)n, 5, 0}));
}

static void past_test_step(past_test* t)
{
    past_test_calls(t);
    KIT_STEP(t->world, 1);
    t->watcher.pending = false;
    t->steps++;
}

static void past_test_back(past_test* t, uint32_t number, uint32_t steps)
{
    CHECK_OK(memory_back(t->world, &t->memories[number]));
    t->steps = steps;
    t->watcher.pending = !orri_messages_past_whole(t->memories[number].messages);
    CHECK_EQ(orr_world_hash(t->world), t->hashes[steps]);
    CHECK_OK(orr_world_validate(t->world));
}

static void past_test_rerun(past_test* t)
{
    while (t->steps < STEPS) {
        past_test_step(t);
        CHECK_EQ(orr_world_hash(t->world), t->hashes[t->steps]);
    }
}

static void past_test_run(uint32_t workers)
{
    static const uint32_t at[MEMORIES] = {0, 1, 4, 9, 13, 19},
                          order[] = {3, 5, 0, 4, 1, 2, 0, 5, 3};
    past_test* t = calloc(1, sizeof *t);
    past_test_begin(t, workers, test_seed());
    t->hashes[0] = orr_world_hash(t->world);
    for (uint32_t i = 0, next = 0; i <= STEPS; i++) {
        if (next < MEMORIES && at[next] == t->steps) {
            CHECK(memory_take(t->world, &t->memories[next++]));
        }
        if (i < STEPS) {
            past_test_step(t);
            t->hashes[t->steps] = orr_world_hash(t->world);
        }
    }
    for (uint32_t i = 0; i < ORRI_COUNT(order); i++) {
        past_test_back(t, order[i], at[order[i]]);
        if (i % 3 != 2) { // Also from one tick to another without a tick in between.
            past_test_rerun(t);
        }
    }
    CHECK(t->watcher.checked > 2 * STEPS);
    past_test_end(t);
    free(t);
}

ORR_TEST(past_ticks_after_travelling_back_equal_the_first_ones)
{
    static const uint32_t workers[] = {0, 2, 8};
    for (uint32_t i = 0; i < ORRI_COUNT(workers); i++) {
        past_test_run(workers[i]);
    }
}

// Changes are made first; readers are notified in the next tick.
ORR_TEST(past_pending_notifications_are_delivered_after_travelling_back)
{
    past_test* t = calloc(1, sizeof *t);
    past_test_begin(t, 0, test_seed());
    for (uint32_t i = 0; i < 4; i++) {
        past_test_step(t);
    }
    past_test_calls(t); // Step 4 has changes.
    CHECK(t->watcher.pending);
    CHECK(memory_take(t->world, &t->memories[0]));
    CHECK(!orri_messages_past_whole(t->memories[0].messages));
    uint64_t hashes[6];
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 6; i++) {
            KIT_STEP(t->world, 1);
            t->watcher.pending = false;
            uint64_t hash = orr_world_hash(t->world);
            hashes[i] = round == 0 ? hash : hashes[i];
            CHECK_EQ(hash, hashes[i]);
        }
        CHECK_OK(memory_back(t->world, &t->memories[0]));
        t->watcher.pending = true;
    }
    past_test_end(t);
    free(t);
}

// ---- operations without cost --------------------------------------------------------------------

ORR_TEST(past_of_a_tick_keeps_nothing_per_entity)
{
    past_test* t = calloc(1, sizeof *t);
    past_test_begin(t, 0, 1);
    for (uint32_t i = 0; i < 12; i++) {
        KIT_STEP(t->world, 1);
        CHECK(memory_take(t->world, &t->memories[0]));
        CHECK(orri_messages_past_whole(t->memories[0].messages));
        CHECK(orri_schedule_past_bytes(t->memories[0].schedule) < 4096);
        memory_forget(t->world, &t->memories[0]);
    }
    past_test_end(t);
    free(t);
}

// ---- added and removed systems ------------------------------------------------------------------

ORR_TEST(past_with_other_systems_is_refused)
{
    kit k;
    memory m;
    orr_world* world = kit_begin(&k, NULL);
    ORR_REGISTER(world, Position, Velocity);
    orr_system first =
        KIT_SYSTEM(world, .name = "first", .query = "Position", .run = kit_run_nothing);
    KIT_STEP(world, 1);
    CHECK(memory_take(world, &m));
    orr_system late =
        KIT_SYSTEM(world, .name = "late", .query = "Position", .run = kit_run_nothing);
    CHECK_RESULT(memory_back(world, &m), ORR_ERR_CONFLICT);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "system 'late' was added after tick 1");
    CHECK_OK(orr_system_remove(world, late));
    KIT_STEP(world, 1);
    CHECK_OK(memory_back(world, &m));
    CHECK_EQ(orr_world_tick(world), 1);
    // Spectators and their pipelines do not count.
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "view", .rate_hz = 60, .spectator = true});
    KIT_SYSTEM(world, .name = "eye", .query = "Position", .run = kit_run_nothing,
               .pipeline = "view");
    KIT_STEP(world, 2);
    CHECK_OK(memory_back(world, &m));
    CHECK_OK(orr_system_remove(world, first));
    CHECK_RESULT(memory_back(world, &m), ORR_ERR_CONFLICT);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "system 'first' was removed after tick 1");
    KIT_STEP(world, 1);
    CHECK_RESULT(memory_back(world, &m), ORR_ERR_CONFLICT);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "was removed after tick 1");
    memory_forget(world, &m);
    CHECK(memory_take(world, &m));
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "slow", .rate_hz = 1});
    CHECK_RESULT(memory_back(world, &m), ORR_ERR_CONFLICT);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "pipeline 'slow' was added");
    memory_forget(world, &m);
    kit_end(&k);
}

// ---- refused memory -----------------------------------------------------------------------------

// A refused orr_remember() changes nothing. A refused travel changes nothing or is complete; then
// the following ticks are equal, even if readers could not be notified at once.
ORR_TEST(past_refused_memory_changes_nothing)
{
    past_test* t = calloc(1, sizeof *t);
    past_test_begin(t, 0, 5);
    for (uint32_t i = 0; i < 7; i++) {
        past_test_step(t);
    }
    past_test_calls(t);
    uint64_t then = orr_world_hash(t->world), after[3], now = 0;
    bool taken = false;
    for (uint64_t n = 1; !taken; n++) {
        failing_alloc_arm(&t->k.memory, n, false);
        taken = memory_take(t->world, &t->memories[0]);
        CHECK(taken || t->k.memory.refused > 0);
        failing_alloc_arm(&t->k.memory, 0, false);
        CHECK_EQ(orr_world_hash(t->world), then);
    }
    for (uint32_t i = 0; i < 3; i++) {
        KIT_STEP(t->world, 1);
        t->watcher.pending = false;
        after[i] = orr_world_hash(t->world);
    }
    now = after[2];
    for (uint64_t n = 1, refused = 1; refused > 0; n++) {
        failing_alloc_arm(&t->k.memory, n, n % 2 == 0);
        orr_result result = memory_back(t->world, &t->memories[0]);
        refused = t->k.memory.refused;
        failing_alloc_arm(&t->k.memory, 0, false);
        CHECK_EQ(orr_world_hash(t->world), result == ORR_OK ? then : now);
        if (result == ORR_OK) {
            t->watcher.pending = true;
            for (uint32_t i = 0; i < 3; i++) {
                KIT_STEP(t->world, 1);
                t->watcher.pending = false;
                CHECK_EQ(orr_world_hash(t->world), after[i]);
            }
        }
        CHECK_OK(orr_world_validate(t->world));
    }
    t->k.errors = (kit_errors){0};
    past_test_end(t);
    free(t);
}

// ---- time ---------------------------------------------------------------------------------------

static void pass(orr_run* run)
{
    Received* own = orr_state(run, Received);
    own->messages++;
    own->hash = own->hash * 31 + (uint64_t)(run->dt * 1e6f) + run->tick;
}

static uint64_t pass_time(orr_world* world, const uint64_t* elapsed, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        CHECK_OK(orr_update(world, elapsed[i]));
    }
    return orr_world_hash(world);
}

// Time that was added but not run yet is kept.
ORR_TEST(past_clocks_continue_from_their_restored_time)
{
    static const uint64_t elapsed[] = {7000000, 30000000, 1000000, 90000000, 16000000, 5000000};
    static const double rates[] = {0, 50};
    for (uint32_t i = 0; i < ORRI_COUNT(rates); i++) {
        kit k;
        memory m;
        orr_world* world = kit_begin(&k, &(orr_world_desc){.rate_hz = rates[i]});
        ORR_REGISTER(world, Position, Received);
        orr_pipeline_add(world, &(orr_pipeline_desc){.name = "slow", .rate_hz = 30});
        orr_pipeline_add(world,
                         &(orr_pipeline_desc){.name = "view", .rate_hz = 60, .spectator = true});
        KIT_SYSTEM(world, .name = "pass", .once = true, .run = pass, .state = ORR_TYPE(Received));
        KIT_SYSTEM(world, .name = "slow", .once = true, .run = pass, .state = ORR_TYPE(Received),
                   .pipeline = "slow");
        orr_system view = KIT_SYSTEM(world, .name = "view", .once = true, .run = kit_run_nothing,
                                     .pipeline = "view");
        (void)pass_time(world, elapsed, 3);
        CHECK(memory_take(world, &m));
        uint64_t then = orr_world_hash(world), after = pass_time(world, elapsed, 6);
        uint64_t runs = kit_stats(world, view).runs;
        for (uint32_t round = 0; round < 2; round++) {
            CHECK_OK(memory_back(world, &m));
            CHECK_EQ(orr_world_hash(world), then);
            CHECK_EQ(pass_time(world, elapsed, 6), after);
            // A spectator does not wait until its old due time.
            CHECK(kit_stats(world, view).runs > runs);
            runs = kit_stats(world, view).runs;
        }
        memory_forget(world, &m);
        kit_end(&k);
    }
}

// ---- in real time -------------------------------------------------------------------------------

static uint32_t sync_call_count;

// Messages and the schedule can be remembered there. (The store shares no blocks while pipelines
// run by themselves.)
static void sync_call(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    CHECK_OK(orri_step_between(world, "here"));
    orri_messages_past* messages = orri_messages_remember(world);
    orri_schedule_past* schedule = orri_schedule_remember(world);
    CHECK(messages != NULL && schedule != NULL);
    CHECK_OK(orri_schedule_restore_prepare(world, schedule));
    uint64_t then = orr_world_hash(world);
    CHECK_OK(orri_messages_restore_prepare(world, messages));
    orri_messages_restore(world, messages);
    orri_schedule_restore(world, schedule);
    CHECK_EQ(orr_world_hash(world), then);
    orri_messages_forget(world, messages);
    orri_schedule_forget(world, schedule);
    sync_call_count++;
}

static void sync_call_post(orr_run* run)
{
    if (run->tick % 8 == 0) {
        (void)orr_post_exclusive(run->world, sync_call, NULL, 0);
    }
}

ORR_TEST(past_at_sync_points_changes_nothing)
{
    past_test* t = calloc(1, sizeof *t);
    past_test_begin(t, 2, 3);
    KIT_SYSTEM(t->world, .name = "post", .once = true, .run = sync_call_post);
    t->watcher.pending = true; // There it is notified at other times.
    sync_call_count = 0;
    CHECK_OK(orr_time_scale_set(t->world, 20));
    CHECK_OK(orr_realtime(t->world, &(orr_realtime_desc){.ticks = 40}));
    CHECK(sync_call_count > 0);
    CHECK_OK(orr_world_validate(t->world));
    KIT_STEP(t->world, 2);
    past_test_end(t);
    free(t);
}

// ---- outside sync points ------------------------------------------------------------------------

static void inside(orr_run* run)
{
    CHECK_RESULT(orri_step_between(run->world, "remembering"), ORR_ERR_STATE);
}

ORR_TEST(past_is_refused_inside_a_tick)
{
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    ORR_REGISTER(world, Position);
    CHECK_OK(orri_step_between(world, "remembering")); // Also without systems.
    orr_query* query = orr_query_text(world, "Position");
    CHECK_OK(orr_set(world, orr_create(world), Position, {1, 2, 3}));
    ORR_EACH (it, query) {
        CHECK_RESULT(orri_step_between(world, "remembering"), ORR_ERR_STATE);
        KIT_ERROR(&k, ORR_ERR_STATE, "remembering: not allowed while a query is iterated");
    }
    orr_appender a;
    CHECK_OK(orr_append_begin(world, orr_entity_cluster(world, orr_create(world)), NULL, 0, &a));
    CHECK_RESULT(orri_step_between(world, "remembering"), ORR_ERR_STATE);
    KIT_ERROR(&k, ORR_ERR_STATE, "remembering: an appender is open");
    orr_append_end(&a);
    KIT_SYSTEM(world, .name = "inside", .once = true, .run = inside);
    KIT_STEP_REFUSED(world, 1);
    KIT_ERROR(&k, ORR_ERR_STATE, "remembering: not allowed inside a system ('inside')");
    orr_access_check_set(world, ORR_ACCESS_CHECK_OFF);
    KIT_STEP_REFUSED(world, 1);
    KIT_ERROR(&k, ORR_ERR_STATE, "remembering: not allowed inside a system ('inside')");
    CHECK_OK(orri_step_between(world, "remembering"));
    orr_query_destroy(query);
    kit_end(&k);
}

// ---- tick hooks ---------------------------------------------------------------------------------

static char hook_line[256];

static void hook_begins(orr_world* world)
{
    size_t length = strlen(hook_line);
    CHECK_OK(orri_step_between(world, "here"));
    snprintf(hook_line + length, sizeof hook_line - length, "(%llu ",
             (unsigned long long)orr_world_tick(world));
}

static void hook_ended(orr_world* world)
{
    size_t length = strlen(hook_line);
    CHECK_OK(orri_step_between(world, "here"));
    snprintf(hook_line + length, sizeof hook_line - length, "%llu)",
             (unsigned long long)orr_world_tick(world));
}

static void hook_send(orr_run* run)
{
    CHECK_OK(orr_send_add(run, orr_send_create(run), Position, {1, 2, 3}));
}

ORR_TEST(past_hooks_report_begin_and_end_of_ticks)
{
    kit k;
    orr_world* world = kit_begin(&k, &(orr_world_desc){.rate_hz = 60});
    world->tick_hooks.begins = hook_begins;
    world->tick_hooks.ended = hook_ended;
    hook_line[0] = '\0';
    orr_tick_advance(world);
    CHECK_STR(hook_line, "0)(0 "); // Changes without systems belong to the tick that ends.
    hook_line[0] = '\0';
    orr_pipeline_add(world,
                     &(orr_pipeline_desc){.name = "view", .rate_hz = 240, .spectator = true});
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "other", .rate_hz = 60});
    KIT_STEP(world, 2);
    CHECK_STR(hook_line, "(1 2)(2 3)(3 4)");
    // A half-done tick has not ended and does not begin twice.
    hook_line[0] = '\0';
    ORR_REGISTER(world, Position);
    KIT_SYSTEM(world, .name = "sends", .once = true, .run = hook_send, .creates = "Position",
               .pipeline = "other");
    uint32_t stopped = 0;
    for (uint64_t n = 1; n < 200 && orr_world_tick(world) == 4; n++) {
        failing_alloc_arm(&k.memory, n, true);
        (void)orr_step(world, 1);
        failing_alloc_arm(&k.memory, 0, false);
        stopped += orr_tick_open(world);
    }
    CHECK(stopped > 0);
    CHECK_STR(hook_line, "(4 ");
    KIT_STEP(world, 1);
    CHECK_STR(hook_line, "(4 5)(5 6)");
    k.errors = (kit_errors){0};
    kit_end(&k);
}

// ---- systems with a user ------------------------------------------------------------------------

static void tally(orr_run* run)
{
    Received* received = orr_state(run, Received);
    ORR_MESSAGES(m, run)
    {
        received->messages++;
        *(uint32_t*)orr_run_user(run) += m->cause == ORR_CAUSE_TRAVEL;
    }
}

// One message at tick 0 (the entity is new). Tick 1 is remembered. Then a change, which is undone
// by travelling back. The state of the system was restored with the world, so it has no use for the
// difference: it has counted one message, as in a world that did not travel.
ORR_TEST(past_state_of_a_system_with_a_user_counts_each_change_once)
{
    uint64_t hashes[2];
    for (uint32_t travels = 0; travels < 2; travels++) {
        for (uint32_t workers = 0; workers < 3; workers += 2) {
            kit k;
            uint32_t differences = 0;
            orr_world* world = kit_begin(&k, &(orr_world_desc){.workers = workers});
            ORR_REGISTER(world, Position, Received);
            orr_system system =
                orr_system_add(world, &(orr_system_desc){.name = "tally",
                                                         .kind = ORR_INDIRECT,
                                                         .query = "Position",
                                                         .run = tally,
                                                         .user = &differences,
                                                         .state = ORR_TYPE(Received)});
            orr_entity entity = orr_create(world);
            CHECK_OK(orr_set(world, entity, Position, {1, 1, 1}));
            KIT_STEP(world, 1);
            if (travels == 1) {
                CHECK_OK(orr_remember(world));
                CHECK_OK(orr_set(world, entity, Position, {2, 2, 2}));
                KIT_STEP(world, 1);
                CHECK_EQ(((const Received*)orr_system_state(world, system))->messages, 2);
                CHECK_OK(orr_time_travel(world, 1));
            }
            KIT_STEP(world, 2);
            CHECK_EQ(((const Received*)orr_system_state(world, system))->messages, 1);
            CHECK_EQ(differences, 0);
            hashes[travels] = orr_world_hash(world);
            kit_end(&k);
        }
    }
    CHECK(hashes[0] == hashes[1]);
}
