// SPDX-License-Identifier: MIT
// Calls in an unusual order: a world destroyed from within, or during a tick that cannot continue;
// more workers than work.
#include "schedule/schedule.h"
#include "schedule/system_kit.h"

static const uint32_t worker_counts[] = {0, 1, 2, 8};

// ---- a type whose creation can be refused, with a hook that calls the world ---------------------

static struct {
    orr_world* world;
    bool refuse, destroys;
    uint32_t made;
} fuse;

static bool fuse_construct(void* user, void* rows, uint32_t count)
{
    (void)user, (void)rows;
    fuse.made += count;
    if (fuse.destroys) {
        orr_world_destroy(fuse.world);
    }
    return !fuse.refuse;
}

static const orr_hooks fuse_hooks = {.construct = fuse_construct};

ORR_STRUCT_EX(Fuse, (.hooks = &fuse_hooks), (int32_t, length))

static void light(orr_run* run)
{
    (void)orr_send_add_preset(run, orr_iter_entity(run, 0), Fuse);
}

static void grow(orr_run* run)
{
    Health* h = orr_write(run, Health);
    for (uint32_t i = 0; i < run->count; i++) {
        h[i].value++;
    }
}

static orr_world* begin_with(kit* k, const orr_world_desc* desc)
{
    orr_world* world = kit_begin(k, desc);
    memset(&fuse, 0, sizeof fuse);
    fuse.world = world;
    ORR_REGISTER(world, Position, Velocity, Health, Fuse);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    orri_parallel_share(world, ORRI_SHARE_ALL, 0);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position, Health), 5000, NULL, 0, NULL));
    make(world, 1);
    KIT_SYSTEM(world, .name = "light", .query = "Position, !Health", .adds = "Fuse", .run = light);
    KIT_SYSTEM(world, .name = "grow", .query = "write Health", .parallel = true, .run = grow);
    return world;
}

// ---- destroying a world during another call -----------------------------------------------------

static void destroy_on_error(void* user, orr_world* world, const orr_error* error)
{
    kit_on_error(user, world, error);
    if (strstr(error->text, "orr_world_destroy") == NULL) {
        orr_world_destroy(world);
    }
}

// Between ticks, in a system on any worker, and in a commit.
ORR_TEST(world_is_not_destroyed_by_its_error_handler)
{
    for (uint32_t i = 0; i < ORRI_COUNT(worker_counts); i++) {
        kit k;
        orr_world* world = begin_with(&k, &(orr_world_desc){.workers = worker_counts[i]});
        world->errors.handler = destroy_on_error;
        CHECK_RESULT(orr_destroy(world, (orr_entity){0}), ORR_ERR_ENTITY);
        CHECK_CONTAINS(k.errors.text, "orr_world_destroy: not allowed in an error handler");
        fuse.refuse = true;
        CHECK(orr_step(world, 1) != ORR_OK);
        CHECK_CONTAINS(k.errors.text, "orr_world_destroy: not allowed in an error handler");
        CHECK(orr_tick_open(world));
        fuse.refuse = false;
        k.errors.count = 0;
        KIT_STEP(world, 1);
        CHECK_EQ(k.errors.count, 0);
        kit_end(&k);
    }
}

ORR_TEST(world_is_not_destroyed_by_a_hook_in_its_tick)
{
    for (uint32_t i = 0; i < ORRI_COUNT(worker_counts); i++) {
        kit k;
        orr_world* world = begin_with(&k, &(orr_world_desc){.workers = worker_counts[i]});
        fuse.destroys = true;
        KIT_STEP(world, 1);
        CHECK_EQ(fuse.made, 1);
        // A commit that succeeds calls no handler.
        CHECK_CONTAINS(orr_error_last(world), "orr_world_destroy: a tick is under way");
        fuse.destroys = false;
        kit_end(&k);
    }
}

static void destroy_in_call(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    orr_world_destroy(world);
}

static bool destroy_when_done(void* user, orr_world* world)
{
    (void)user;
    orr_world_destroy(world);
    return true;
}

// The tick that called them uses the world afterwards.
ORR_TEST(world_is_not_destroyed_by_a_posted_call)
{
    for (uint32_t i = 0; i < ORRI_COUNT(worker_counts); i++) {
        kit k;
        orr_world* world = begin_with(&k, &(orr_world_desc){.workers = worker_counts[i]});
        KIT_STEP(world, 1);
        CHECK_OK(orr_post(world, destroy_in_call, NULL, 0));
        CHECK_RESULT(orr_step(world, 1), ORR_ERR_STATE);
        CHECK_CONTAINS(k.errors.text, "orr_world_destroy: not allowed in a posted call");
        k.errors.count = 0;
        KIT_STEP(world, 1);
        kit_end(&k);
    }
}

ORR_TEST(world_is_not_destroyed_by_done_of_run_until)
{
    kit k;
    orr_world* world = begin_with(&k, &(orr_world_desc){0});
    CHECK_OK(orr_run_until(world, 5, destroy_when_done, NULL));
    KIT_ERROR(&k, ORR_ERR_STATE, "orr_world_destroy: not allowed in a posted call");
    CHECK_EQ(orr_world_tick(world), 1);
    kit_end(&k);
}

static void nothing(orr_world* world, void* data, size_t size)
{
    (void)world, (void)data, (void)size;
}

static void post_at_the_end(orr_run* run)
{
    CHECK_OK(orr_post(run->world, nothing, NULL, 0));
}

// The call is never done, and its memory is freed with the world.
ORR_TEST(call_posted_while_the_world_ends_is_freed)
{
    kit k;
    orr_world* world = begin_with(&k, &(orr_world_desc){0});
    KIT_SYSTEM(world, .name = "end", .query = "Position", .run = light, .adds = "Fuse",
               .impure = true, .destroy = post_at_the_end);
    KIT_STEP(world, 1);
    kit_end(&k);
}

ORR_TEST(world_paused_in_a_refused_tick_is_destroyed)
{
    for (uint32_t i = 0; i < ORRI_COUNT(worker_counts); i++) {
        kit k;
        orr_world* world = begin_with(&k, &(orr_world_desc){.workers = worker_counts[i]});
        KIT_STEP(world, i); // Also in the first tick.
        if (i > 0) {
            make(world, 1);
        }
        fuse.refuse = true;
        CHECK(orr_step(world, 1) != ORR_OK);
        orr_pause(world, true);
        CHECK_OK(orr_run_until(world, 100, NULL, NULL));
        CHECK(orr_tick_open(world) && orr_paused(world));
        kit_end(&k);
    }
}

ORR_TEST(world_with_an_abandoned_tick_has_one_hash)
{
    uint64_t hashes[ORRI_COUNT(worker_counts)];
    for (uint32_t i = 0; i < ORRI_COUNT(worker_counts); i++) {
        kit k;
        orr_world* world = begin_with(&k, &(orr_world_desc){.workers = worker_counts[i]});
        for (uint32_t tick = 0; tick < 10; tick++) {
            fuse.refuse = tick % 3 == 0;
            if (orr_step(world, 1) != ORR_OK) {
                CHECK_OK(orr_tick_abandon(world));
                KIT_STEP(world, 1);
            }
        }
        hashes[i] = orr_world_hash(world);
        CHECK_EQ(hashes[i], hashes[0]);
        kit_end(&k);
    }
}

// ---- more workers than work ---------------------------------------------------------------------

ORR_TEST(world_of_one_chunk_with_64_workers_has_the_hash_of_one)
{
    uint64_t hashes[2];
    for (uint32_t i = 0; i < 2; i++) {
        kit k;
        orr_world* world = kit_begin(&k, &(orr_world_desc){.workers = i * 64});
        ORR_REGISTER(world, Health);
        orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
        orri_parallel_share(world, ORRI_SHARE_ALL, 0);
        CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Health), 3, NULL, 0, NULL));
        KIT_SYSTEM(world, .name = "grow", .query = "write Health", .parallel = true, .run = grow);
        KIT_SYSTEM(world, .name = "again", .query = "write Health", .parallel = true, .run = grow);
        KIT_STEP(world, 500);
        hashes[i] = orr_world_hash(world);
        kit_end(&k);
    }
    CHECK_EQ(hashes[0], hashes[1]);
}
