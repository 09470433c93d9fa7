// SPDX-License-Identifier: MIT
// A reader of messages in real time receives everything that it selects, whenever it begins: after
// the entities were created, after it was disabled for a while, or when its queue overflowed. In
// each test nothing structural happens any more when the reader begins: no commit of another
// pipeline notifies it by chance.
#include "realtime/hard_kit.h"

enum {
    READERS_ENTITIES = 50,
    READERS_QUEUE = 200, // Entities in the queue of the reader.
    READERS_TICKS = 8,   // Ticks of both pipelines after the last structural change, at least.
    READERS_FOR_MS = 20000
};

ORR_STRUCT(Leaf, (uint64_t, tick))
ORR_STRUCT(Nest, (uint64_t, eggs))

static _Atomic uint64_t readers_sent, readers_calm; // Ticks of the sender; of these after a change.
static _Atomic uint64_t readers_seen, readers_changes, readers_ticks;
static uint64_t readers_calm_first, readers_starts;
static _Atomic bool readers_growing;
static uint64_t readers_wanted, readers_starts_wanted; // The run ends when the reader has these.

static void readers_make(orr_run* run)
{
    for (uint32_t i = 0; run->tick == 1 && i < READERS_ENTITIES; i++) {
        orr_entity entity = orr_send_create(run);
        CHECK_OK(orr_send_add(run, entity, Leaf, {run->tick}));
        CHECK_OK(orr_send_add(run, entity, Nest, {i}));
    }
    readers_sent = run->tick;
    readers_calm += run->tick > 1;
}

// Changes values without changes of structure.
static void readers_grow(orr_run* run)
{
    Leaf* leaves = orr_write(run, Leaf);
    for (uint32_t i = 0; readers_growing && i < run->count; i++) {
        leaves[i].tick = run->tick;
    }
}

static void readers_read(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        readers_seen += m->kind == ORR_ENTITY_ADDED ? m->count : 0;
        readers_seen -= m->kind == ORR_ENTITY_REMOVED ? m->count : 0;
        readers_changes += m->kind == ORR_COMPONENT_CHANGED ? m->count : 0;
    }
    // Ends the run when the reader has ticked often enough while nothing was created, and has
    // everything. (Otherwise the run ends after READERS_FOR_MS.)
    readers_calm_first = readers_ticks == 0 ? readers_calm : readers_calm_first;
    if (++readers_ticks >= READERS_TICKS && readers_calm >= readers_calm_first + READERS_TICKS &&
        readers_seen >= readers_wanted && readers_starts >= readers_starts_wanted) {
        orr_stop(run->world);
    }
}

// The reader's copy of the world is built anew.
static void readers_start(orr_run* run)
{
    (void)run;
    readers_seen = 0;
    readers_starts++;
}

// Before each tick of the reader's pipeline: until the sender has ticked a few times.
static void readers_wait(void* user)
{
    (void)user;
    while (readers_sent < READERS_TICKS) {
        hard_sleep(200000);
    }
}

static void readers_clear(void)
{
    readers_sent = readers_calm = readers_seen = readers_changes = readers_ticks = 0;
    readers_starts = readers_calm_first = 0;
    readers_growing = true;
    readers_wanted = READERS_ENTITIES;
    readers_starts_wanted = 0;
}

static orr_world* readers_begin(kit* k, orr_pipeline_desc pipeline, uint32_t queue)
{
    *k = (kit){0};
    readers_clear();
    orr_world* world = kit_begin(k, &(orr_world_desc){.rate_hz = 500});
    ORR_REGISTER(world, Leaf, Nest);
    pipeline.name = "other";
    CHECK(orr_pipeline_add(world, &pipeline).id != 0);
    KIT_SYSTEM(world, .name = "make", .once = true, .creates = "Leaf, Nest",
               .creates_max = READERS_ENTITIES, .run = readers_make);
    KIT_SYSTEM(world, .name = "grow", .query = "write Leaf", .run = readers_grow);
    KIT_SYSTEM(world, .name = "read", .kind = ORR_INDIRECT, .pipeline = "other",
               .query = "Leaf, Nest", .messages_max = queue, .start = readers_start,
               .run = readers_read);
    return world;
}

static orr_result readers_realtime(orr_world* world)
{
    return orr_realtime(world, &(orr_realtime_desc){.for_ns = READERS_FOR_MS * UINT64_C(1000000)});
}

static void readers_run(kit* k, orr_world* world)
{
    CHECK_OK(readers_realtime(world));
    CHECK(readers_ticks >= READERS_TICKS);
    CHECK_EQ(readers_seen, READERS_ENTITIES);
    CHECK(readers_changes > 0);
    hard_end(k);
}

ORR_TEST(realtime_reader_that_begins_late_receives_all_entities)
{
    kit k;
    readers_run(&k, readers_begin(&k, (orr_pipeline_desc){.wait = readers_wait}, 0));
}

ORR_TEST(realtime_reader_with_a_rate_that_begins_late_receives_all_entities)
{
    kit k;
    readers_run(&k, readers_begin(&k, (orr_pipeline_desc){.rate_hz = 50}, 0));
}

ORR_TEST(realtime_spectator_that_begins_late_receives_all_entities)
{
    kit k;
    orr_pipeline_desc desc = {.wait = readers_wait, .spectator = true};
    readers_run(&k, readers_begin(&k, desc, 0));
}

// ---- overflow -----------------------------------------------------------------------------------

// Before the second tick of the reader: until more changes were sent than its queue takes.
static void overflow_wait(void* user)
{
    (void)user;
    uint64_t sent = readers_sent;
    while (readers_ticks == 1 && readers_sent < sent + 2 * READERS_QUEUE / READERS_ENTITIES) {
        hard_sleep(200000);
    }
    // From now on nothing changes that could fill the queue again.
    readers_growing = readers_ticks == 0;
    sent = readers_sent;
    while (readers_ticks == 1 && readers_sent < sent + 2) {
        hard_sleep(200000);
    }
}

static void overflow_run(bool spectator)
{
    kit k;
    orr_pipeline_desc desc = {.wait = overflow_wait, .spectator = spectator};
    orr_world* world = readers_begin(&k, desc, READERS_QUEUE);
    readers_starts_wanted = 2;
    orr_result result = readers_realtime(world);
    CHECK(result == ORR_OK || result == ORR_ERR_CAPACITY);
    CHECK_CONTAINS(k.errors.text, "message queue of system 'read'");
    k.errors = (kit_errors){0};
    CHECK(readers_ticks >= READERS_TICKS);
    CHECK_EQ(readers_starts, 2);
    CHECK_EQ(readers_seen, READERS_ENTITIES);
    hard_end(&k);
}

ORR_TEST(realtime_reader_whose_queue_overflowed_receives_all_entities_again)
{
    overflow_run(false);
}

ORR_TEST(realtime_spectator_whose_queue_overflowed_receives_all_entities_again)
{
    overflow_run(true);
}

// ---- changes that no tick makes -----------------------------------------------------------------

static void outside_create(orr_world* world)
{
    for (uint32_t i = 0; i < READERS_ENTITIES; i++) {
        orr_entity entity = orr_create(world);
        orr_set(world, entity, Leaf, {0});
        orr_set(world, entity, Nest, {i});
    }
}

static void between_run(bool spectator)
{
    kit k;
    orr_world* world = readers_begin(&k, (orr_pipeline_desc){.spectator = spectator}, 0);
    CHECK_OK(readers_realtime(world));
    CHECK_EQ(readers_seen, READERS_ENTITIES);
    outside_create(world);
    readers_clear();
    readers_growing = false;
    readers_seen = READERS_ENTITIES;
    readers_wanted = 2 * READERS_ENTITIES;
    CHECK_OK(readers_realtime(world));
    CHECK_EQ(readers_seen, 2 * READERS_ENTITIES);
    hard_end(&k);
}

ORR_TEST(realtime_reader_receives_entities_created_between_two_runs)
{
    between_run(false);
}

ORR_TEST(realtime_spectator_receives_entities_created_between_two_runs)
{
    between_run(true);
}

static bool calls_at_sync;

static void calls_create(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    outside_create(world);
    readers_growing = false;
}

// After the reader has received the first entities.
static void calls_post(orr_run* run)
{
    if (readers_seen == READERS_ENTITIES && readers_growing) {
        CHECK_OK(calls_at_sync ? orr_post_exclusive(run->world, calls_create, NULL, 0)
                               : orr_post(run->world, calls_create, NULL, 0));
        // The reader goes on as long as in a run that begins now.
        readers_ticks = 0;
        readers_growing = false;
    }
}

static void calls_run(bool spectator, bool at_sync)
{
    kit k;
    orr_world* world = readers_begin(&k, (orr_pipeline_desc){.spectator = spectator}, 0);
    KIT_SYSTEM(world, .name = "post", .once = true, .by_id = "Nest", .run = calls_post);
    calls_at_sync = at_sync;
    readers_wanted = 2 * READERS_ENTITIES;
    CHECK_OK(readers_realtime(world));
    CHECK_EQ(readers_seen, 2 * READERS_ENTITIES);
    hard_end(&k);
}

ORR_TEST(realtime_reader_receives_entities_created_by_posted_calls)
{
    calls_run(false, false);
    calls_run(false, true);
}

ORR_TEST(realtime_spectator_receives_entities_created_by_posted_calls)
{
    calls_run(true, false);
    calls_run(true, true);
}

// ---- readers that begin again -------------------------------------------------------------------

static void again_enable(orr_world* world, void* data, size_t size)
{
    (void)size;
    bool on = *(const bool*)data;
    orr_system_enable(world, orr_system_find(world, "read"), on);
    readers_ticks = 0;
}

// In ticks of the sender, long after the entities were created.
static void again_post(orr_run* run)
{
    if (run->tick == 20 || run->tick == 40) {
        bool on = run->tick == 40;
        CHECK_OK(orr_post_exclusive(run->world, again_enable, &on, sizeof on));
    }
    readers_ticks = run->tick <= 41 ? 0 : (uint64_t)readers_ticks;
}

static void again_run(bool spectator)
{
    kit k;
    orr_world* world = readers_begin(&k, (orr_pipeline_desc){.spectator = spectator}, 0);
    KIT_SYSTEM(world, .name = "post", .once = true, .by_id = "Nest", .run = again_post);
    readers_starts_wanted = 2;
    CHECK_OK(readers_realtime(world));
    CHECK_EQ(readers_starts, 2);
    CHECK_EQ(readers_seen, READERS_ENTITIES);
    hard_end(&k);
}

ORR_TEST(realtime_reader_that_is_enabled_again_receives_all_entities)
{
    again_run(false);
}

ORR_TEST(realtime_spectator_that_is_enabled_again_receives_all_entities)
{
    again_run(true);
}
