// SPDX-License-Identifier: MIT
// Shared by tests of hard cases of real time: a small world in which pipeline a writes, pipeline b
// reads, and the first pipeline creates and destroys.
#ifndef TEST_HARD_KIT_H
#define TEST_HARD_KIT_H

#include "schedule/schedule_kit.h"

#include <orrery/orrery.h>
#include <stdatomic.h>
#include <stdlib.h>

ORR_STRUCT(Tree, (uint64_t, tick), (uint64_t, twice))
ORR_STRUCT(Fruit, (uint64_t, seen))
ORR_STRUCT(Text, (orr_string, text), (uint32_t, number))
ORR_STRUCT(Fallen, (uint64_t, number))
ORR_STRUCT(Count, (uint64_t, count), (uint64_t, last))

static _Atomic uint32_t hard_faults;
ORR_MAYBE_UNUSED static _Atomic uint32_t hard_done; // Posted calls that ran.

#define HARD_CHECK(condition, ...)                                   \
    do {                                                             \
        if (!(condition) && atomic_fetch_add(&hard_faults, 1) < 5) { \
            printf("    %s:%d: ", __FILE__, __LINE__);               \
            printf(__VA_ARGS__);                                     \
            printf("\n");                                            \
        }                                                            \
    } while (0)

ORR_MAYBE_UNUSED static void hard_end(kit* k)
{
    CHECK_EQ(atomic_exchange(&hard_faults, 0), 0);
    CHECK_STR(k->errors.text, "");
    kit_end(k);
}

ORR_MAYBE_UNUSED static orr_world* hard_begin(kit* k, uint32_t workers)
{
    *k = (kit){0};
    orr_world* world = kit_begin(k, &(orr_world_desc){.rate_hz = 200, .workers = workers});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    CHECK_OK(orr_time_scale_set(world, 5));
    return world;
}

ORR_MAYBE_UNUSED static void hard_pipe(orr_world* world, const char* name, double rate_hz,
                                       bool spectator)
{
    orr_pipeline_desc desc = {.name = name, .rate_hz = rate_hz, .spectator = spectator};
    CHECK(orr_pipeline_add(world, &desc).id != 0);
}

// Number of ticks of a pipeline in the last run.
ORR_MAYBE_UNUSED static uint64_t hard_ticks(orr_world* world, const char* pipeline)
{
    orr_wait_stats stats;
    CHECK_OK(orr_wait_stats_get(world, orr_pipeline_find(world, pipeline), &stats));
    return stats.ticks;
}

ORR_MAYBE_UNUSED static void hard_sleep(uint64_t ns)
{
    const orr_platform* platform = orr_platform_default();
    platform->sleep_ns(platform->user, ns);
}

// ---- record, replay, compare hashes -------------------------------------------------------------

typedef struct hard_replay {
    // Called for every run; must build the same world.
    orr_world* (*begin)(kit* k, uint32_t workers);
    uint32_t workers, ticks;
    uint32_t replays; // Default 1.
    orr_result
        refused; // Posted calls may be refused with this; then those of the replays are, too.
    void (*look)(orr_world* world, bool replays); // Called after each run; may be NULL.
} hard_replay;

// Every tick of every pipeline has the recorded hash, and so has the world at the end.
ORR_MAYBE_UNUSED static void hard_replays(const hard_replay* desc)
{
    kit k;
    uint64_t hash = 0;
    orr_result first = ORR_OK;
    orr_recording* recording = orr_recording_create();
    for (uint32_t i = 0; i <= (desc->replays != 0 ? desc->replays : 1); i++) {
        orr_world* world = desc->begin(&k, desc->workers);
        orr_realtime_desc record = {.ticks = desc->ticks, .record = recording, .hashes = true};
        orr_realtime_desc replay = {.replay = recording};
        orr_result result = orr_realtime(world, i == 0 ? &record : &replay);
        first = i == 0 ? result : first;
        if (result != first || (result != ORR_OK && result != desc->refused)) {
            test_fail(__FILE__, __LINE__, "run %u: %s", i, orr_error_last(world));
        }
        hash = i == 0 ? orr_world_hash(world) : hash;
        CHECK(orr_world_hash(world) == hash);
        if (desc->look != NULL) {
            desc->look(world, i > 0);
        }
        hard_end(&k);
    }
    orr_recording_destroy(recording);
}

// Without workers, then with two.
ORR_MAYBE_UNUSED static void hard_replays_with_workers(hard_replay desc)
{
    for (desc.workers = 0; desc.workers <= 2; desc.workers += 2) {
        hard_replays(&desc);
    }
}

// ---- a small world: a writes, b reads, the first pipeline creates and destroys ------------------

static void tree_grow(orr_run* run)
{
    Tree* t = orr_write(run, Tree);
    for (uint32_t i = 0; i < run->count; i++) {
        t[i].tick = run->tick;
        t[i].twice = 2 * run->tick;
    }
}

static void tree_look(orr_run* run)
{
    const Tree* t = orr_read(run, Tree);
    Fruit* f = orr_write(run, Fruit);
    for (uint32_t i = 0; i < run->count; i++) {
        HARD_CHECK(t[i].twice == 2 * t[i].tick, "a tree is torn");
        f[i].seen = f[i].seen * 31 + t[i].tick;
    }
}

static void tree_churn(orr_run* run)
{
    const Tree* t = orr_read(run, Tree);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        if (orr_random(run->tick, entity.id, 0, 0) % 50 == 0) {
            HARD_CHECK(t[i].twice == 2 * t[i].tick, "a tree is torn");
            orr_send_destroy(run, entity);
            orr_entity fresh = orr_send_create(run);
            orr_send_add(run, fresh, Tree, {0, 0});
            orr_send_add(run, fresh, Fruit, {entity.id});
        }
    }
}

static void tree_receive(orr_run* run)
{
    Count* c = orr_state(run, Count);
    ORR_MESSAGES(m, run)
    {
        c->count += m->count;
    }
}

// Without the system that creates and destroys.
ORR_MAYBE_UNUSED static void trees_add_still(orr_world* world, uint32_t rows)
{
    ORR_REGISTER(world, Tree, Fruit);
    hard_pipe(world, "a", 400, false);
    hard_pipe(world, "b", 300, false);
    orr_cluster cluster = KIT_CLUSTER(world, Tree, Fruit);
    CHECK_OK(orr_create_many(world, cluster, rows, NULL, 0, NULL));
    KIT_SYSTEM(world, .name = "grow", .pipeline = "a", .query = "write Tree", .run = tree_grow);
    KIT_SYSTEM(world, .name = "look", .pipeline = "b", .query = "Tree, write Fruit",
               .run = tree_look);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .pipeline = "b", .query = "Tree",
               .state = ORR_TYPE(Count), .run = tree_receive);
}

ORR_MAYBE_UNUSED static void trees_add(orr_world* world, uint32_t rows)
{
    trees_add_still(world, rows);
    KIT_SYSTEM(world, .name = "churn", .query = "Tree, Fruit", .creates = "Tree, Fruit",
               .destroys = "Tree", .run = tree_churn);
}

#endif
